//! `raf`, end to end.

use crate::common::*;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
/// Bytes in the header, and in a record of the default algorithm and chunk size.
const HEADER: usize = 64;
const RECORD: usize = 64 * KIB + 48;

const ALGORITHMS: [&str; 6] =
    ["AEGIS-128L", "aegis-128x2", "aegis-128x4", "aegis-256", "aegis-256X2", "aegis-256x4"];

/// A bench with `in` imported to `f.raf`.
fn imported(len: usize) -> (Bench, Vec<u8>) {
    let bench = Bench::new();
    let text = text(len);
    bench.write("in", &text);
    bench.ok(&["raf", "import", "-k", "key", "in", "f.raf"]);
    (bench, text)
}

fn private(bench: &Bench, name: &str, bytes: impl AsRef<[u8]>) {
    bench.write(name, bytes);
    #[cfg(unix)]
    {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(bench.path(name), permissions).unwrap();
    }
}

fn raw_info(bench: &Bench, args: &[&str]) -> String {
    String::from_utf8(bench.ok(&[&["raf", "info"], args].concat())).unwrap()
}

#[test]
fn files_of_all_sizes() {
    let bench = Bench::new();
    for len in [0, 1, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 20 * MIB + 12345] {
        let text = text(len);
        bench.write("in", &text);
        bench.ok(&["raf", "import", "-k", "key", "--force", "in", "f.raf"]);
        assert_eq!(bench.read("f.raf").len(), HEADER + RECORD * len.div_ceil(64 * KIB));
        bench.ok(&["raf", "export", "-k", "key", "--force", "f.raf", "out"]);
        assert!(bench.read("out") == text, "{len}");
        assert!(bench.ok(&["raf", "cat", "-k", "key", "f.raf"]) == text, "{len}");
        let run = bench.run_with_input(&["raf", "import", "-k", "key", "-f", "-", "f.raf"], &text);
        assert!(run.status.success() && run.stderr.is_empty(), "{run:?}");
        assert!(bench.ok(&["raf", "export", "-k", "key", "f.raf", "-"]) == text, "{len}");
        let verified = format!("\"f.raf\": OK, {} chunks\n", len.div_ceil(64 * KIB));
        assert_eq!(bench.ok(&["raf", "verify", "-k", "key", "f.raf"]), verified.as_bytes());
    }
    assert_eq!(bench.names(), ["f.raf", "in", "key", "out"]);
}

#[test]
fn algorithms_and_chunk_sizes() {
    let bench = Bench::new();
    let text = text(3 * MIB + 77);
    bench.write("in", &text);
    for (id, algorithm) in (1..).zip(ALGORITHMS) {
        // One chunk size that divides no buffer, and the smallest and the largest.
        for chunk_size in ["1040", "1K", "1M"] {
            let args = [
                "raf",
                "import",
                "-k",
                "key",
                "-f",
                "-a",
                algorithm,
                "--chunk-size",
                chunk_size,
                "in",
                "f.raf",
            ];
            bench.ok(&args);
            assert_eq!(bench.read("f.raf")[11], id);
            assert!(bench.ok(&["raf", "export", "-k", "key", "f.raf", "-"]) == text);
        }
        let info = raw_info(&bench, &["f.raf"]);
        assert!(
            info.contains(&algorithm.to_uppercase()) && info.contains("chunk size:  1048576\n"),
            "{info}"
        );
    }
}

#[test]
fn info() {
    let (bench, _) = imported(200_000);
    let file = bench.read("f.raf");
    let id: String = file[24..48].iter().map(|byte| format!("{byte:02x}")).collect();
    let expected = format!(
        "algorithm:   AEGIS-256X2\nchunk size:  65536\nsize:        200000\n\
         chunks:      4\non disk:     {}\n\
         file id:     {id}\nheader:      ",
        HEADER + 4 * RECORD
    );
    let unverified = "not verified (name the key with -k, or use -p)";
    assert_eq!(raw_info(&bench, &["f.raf"]), format!("{expected}{unverified}\n"));
    assert_eq!(raw_info(&bench, &["-k", "key", "f.raf"]), format!("{expected}verified\n"));
    for (key, verified) in [(&[][..], false), (&["-k", "key"], true)] {
        let expected = format!(
            "{{\"file\":\"f.raf\",\"algorithm\":\"AEGIS-256X2\",\"chunk_size\":65536,\
             \"size\":200000,\"chunks\":4,\"on_disk\":{},\"file_id\":\"{id}\",\
             \"header_verified\":{verified}}}\n",
            HEADER + 4 * RECORD
        );
        assert_eq!(raw_info(&bench, &[key, &["--json", "f.raf"]].concat()), expected);
    }
    // Without the key a false header looks as good as a true one.
    let mut changed = file;
    changed[16] ^= 1;
    bench.write("f.raf", changed);
    assert!(raw_info(&bench, &["f.raf"]).contains("200001\n"));
    bench.fails(&["raf", "info", "-k", "key", "f.raf"], 3, "the header of the file was changed");
}

#[test]
fn parts() {
    let (bench, text) = imported(5 * MIB + 5);
    for (offset, length) in
        [(0, 0), (0, 1), (65535, 2), (65536, 65536), (100, 4 * MIB), (5 * MIB + 4, 1)]
    {
        let (from, len) = (offset.to_string(), length.to_string());
        let part =
            bench.ok(&["raf", "cat", "-k", "key", "--offset", &from, "--length", &len, "f.raf"]);
        assert!(part == text[offset..offset + length], "{offset} {length}");
    }
    let cat = |args: &[&str]| bench.ok(&[&["raf", "cat", "-k", "key", "f.raf"], args].concat());
    assert!(cat(&["--offset", "5M"]) == text[5 * MIB..]);
    assert!(cat(&["--offset", "5M", "--length", "1T"]) == text[5 * MIB..]);
    assert!(cat(&["--offset", "5242885"]).is_empty());
    assert!(
        cat(&["--length", "3K", "-o", "part"]).is_empty() && bench.read("part") == text[..3 * KIB]
    );
    let args = ["raf", "cat", "-k", "key", "--offset", "6M", "f.raf"];
    bench.fails(
        &args,
        2,
        "the offset 6291456 is past the end of \"f.raf\", which has 5242885 bytes",
    );
}

#[test]
fn changes() {
    let bench = Bench::new();
    bench.ok(&["raf", "create", "-k", "key", "--size", "300K", "f.raf"]);
    let mut model = vec![0; 300 * KIB];
    let check = |model: &[u8]| assert!(bench.ok(&["raf", "cat", "-k", "key", "f.raf"]) == model);
    check(&model);
    let patch = text(20 * MIB);
    let write = |args: &[&str], data: &[u8]| {
        let run = bench.run_with_input(&[&["raf", "write", "-k", "key"], args].concat(), data);
        assert!(run.status.success() && run.stderr.is_empty() && run.stdout.is_empty(), "{run:?}");
    };
    write(&["f.raf"], b"start");
    model[..5].copy_from_slice(b"start");
    check(&model);
    write(&["--offset", "65530", "f.raf", "-"], &patch[..100_000]);
    model[65530..165_530].copy_from_slice(&patch[..100_000]);
    check(&model);
    write(&["--append", "f.raf"], b"end");
    model.extend(b"end");
    check(&model);
    // Behind the end, larger than all buffers.
    bench.write("patch", &patch);
    bench.ok(&["raf", "write", "-k", "key", "--offset", "1000001", "f.raf", "patch"]);
    model.resize(1_000_001, 0);
    model.extend(&patch);
    check(&model);
    // Nothing is nothing, wherever.
    write(&["--offset", "1T", "f.raf"], b"");
    check(&model);
    for len in [10 * MIB + 1, MIB, 9 * MIB, 9 * MIB, 100, 0, 3] {
        bench.ok(&["raf", "truncate", "-k", "key", "f.raf", &len.to_string()]);
        model.resize(len, 0);
        check(&model);
        assert_eq!(bench.read("f.raf").len(), HEADER + RECORD * len.div_ceil(64 * KIB));
    }
    assert_eq!(bench.names(), ["f.raf", "key", "patch"]);
}

/// Pieces of input end where chunks end, so the first one is longer than the others at some
/// offsets.
#[test]
fn writes_at_all_offsets_with_all_chunk_sizes() {
    const LEN: usize = 5000;
    let bench = Bench::new();
    bench.write("in", text(LEN));
    for chunk_size in ["1024", "1040", "4000", "65536", "1048560", "1M"] {
        bench.ok(&["raf", "import", "-k", "key", "-f", "--chunk-size", chunk_size, "in", "f.raf"]);
        let mut model = text(LEN);
        for (i, offset) in
            [0, 1, 500, 1023, 1040, 4095, 4999, 5000, 50_001, 1_048_575].into_iter().enumerate()
        {
            let patch = text(if i % 2 == 0 { 1 } else { 2500 });
            let at = offset.to_string();
            let args = ["raf", "write", "-k", "key", "--offset", &at, "f.raf"];
            let run = bench.run_with_input(&args, &patch);
            assert!(
                run.status.success() && run.stderr.is_empty(),
                "{chunk_size}, {offset}: {run:?}"
            );
            model.resize(model.len().max(offset + patch.len()), 0);
            model[offset..offset + patch.len()].copy_from_slice(&patch);
        }
        assert!(bench.ok(&["raf", "export", "-k", "key", "f.raf", "-"]) == model, "{chunk_size}");
    }
}

#[test]
fn wrong_keys() {
    let (bench, _) = imported(1000);
    bench.ok(&["keygen", "-o", "other"]);
    private(&bench, "pass", "open sesame\n");
    let sealed = bench.read("f.raf");
    for args in [
        &["info"][..],
        &["cat"],
        &["write", "--append"],
        &["verify"],
        &["verify", "--commitment"],
        &["export", "--force"],
        &["truncate"],
    ] {
        let after: &[&str] = match args[0] {
            "export" => &["f.raf", "in"],
            "truncate" => &["f.raf", "0"],
            _ => &["f.raf"],
        };
        let keys = [
            &["-k", "other"][..],
            &["-k", "key", "--context", "x"],
            &["--passphrase-file", "pass"],
        ];
        // A passphrase takes long. It is read in one place for all commands.
        for key in &keys[..if args[0] == "info" { 3 } else { 2 }] {
            let args = [&["raf"], args, *key, after].concat();
            let stderr = bench.fails(&args, 3, "\"f.raf\": wrong key or passphrase");
            assert!(stderr.contains("\nhint: "));
        }
    }
    assert_eq!(bench.read("f.raf"), sealed);
    assert_eq!(bench.read("in"), text(1000));
}

#[test]
fn raw_keys() {
    let bench = Bench::new();
    bench.write("in", "secret");
    let digits = |key: &[u8]| key.iter().map(|byte| format!("{byte:02X}")).collect::<String>();
    for (algorithm, len) in [("AEGIS-128X2", 16), ("AEGIS-256", 32)] {
        let key = text(len);
        private(&bench, "raw", &key);
        private(&bench, "hex", format!("{}\n", digits(&key)));
        bench.ok(&["raf", "import", "--raw-key", "raw", "-f", "-a", algorithm, "in", "f.raf"]);
        for name in ["raw", "hex"] {
            assert_eq!(bench.ok(&["raf", "cat", "--raw-key", name, "f.raf"]), b"secret");
        }
        // The library with the same key.
        let mut file = std::fs::File::open(bench.path("f.raf")).unwrap();
        assert_eq!(palladion_raf::probe(&mut file).unwrap().algorithm.name(), algorithm);
        let file = palladion_raf::Raf::open_read_only(file, &key).unwrap();
        let mut buf = [0; 10];
        assert_eq!(file.read_at(&mut buf, 0).unwrap(), 6);

        // Keys that are derived, as other programs do.
        let derived = palladion_raf::derive_master_key(&key, b"backup").unwrap();
        private(&bench, "derived", &derived);
        let args = [
            "raf",
            "import",
            "--raw-key",
            "raw",
            "--context",
            "backup",
            "-f",
            "-a",
            algorithm,
            "in",
            "g.raf",
        ];
        bench.ok(&args);
        assert_eq!(bench.ok(&["raf", "cat", "--raw-key", "derived", "g.raf"]), b"secret");
        bench.fails(&["raf", "cat", "--raw-key", "raw", "g.raf"], 3, "wrong key");
        bench.fails(
            &["raf", "cat", "--raw-key", "raw", "--context", "Backup", "g.raf"],
            3,
            "wrong key",
        );
        let long = "x".repeat(121);
        bench.fails(
            &["raf", "cat", "--raw-key", "raw", "--context", &long, "g.raf"],
            2,
            "the context has 121 bytes",
        );
    }
    private(&bench, "short", [1; 16]);
    bench.fails(
        &["raf", "cat", "--raw-key", "short", "f.raf"],
        3,
        "the key has 16 bytes, but AEGIS-256 has keys of 32",
    );
    bench.fails(&["raf", "create", "--raw-key", "short", "new"], 3, "AEGIS-256X2 has keys of 32");
    for wrong in [&b""[..], b"12345", &[7; 31], &[7; 33], &[b'a'; 30], &[7; 1000]] {
        private(&bench, "wrong", wrong);
        bench.fails(
            &["raf", "cat", "--raw-key", "wrong", "f.raf"],
            1,
            "\"wrong\" is not a raw key",
        );
    }
    let stderr = bench.fails(&["raf", "cat", "--raw-key", "key", "f.raf"], 1, "not a raw key");
    assert!(stderr.contains("use -k KEYFILE"), "{stderr}");
    let run = bench.run_with_input(&["raf", "cat", "--raw-key", "-", "f.raf"], &bench.read("raw"));
    assert_eq!(run.stdout, b"secret");

    // A key of 32 bytes that look like the digits of one with 16.
    private(&bench, "both", "0123456789abcdef0123456789ABCDEF");
    let create = |format: &[&'static str], algorithm| {
        [&["raf", "create", "--raw-key", "both", "-f", "-a", algorithm, "g.raf"], format].concat()
    };
    let (as_bytes, as_hex) = (&["--raw-key-format", "bytes"], &["--raw-key-format", "hex"]);
    bench.ok(&create(as_bytes, "AEGIS-256"));
    bench.fails(&create(as_bytes, "AEGIS-128L"), 3, "the key has 32 bytes");
    bench.ok(&create(as_hex, "AEGIS-128L"));
    bench.fails(&create(as_hex, "AEGIS-256"), 3, "the key has 16 bytes");
    bench.ok(&create(&[], "AEGIS-128L"));
    let hint = "if its 32 bytes are the key itself, use --raw-key-format bytes";
    let stderr = bench.fails(&create(&[], "AEGIS-256"), 3, "the key has 16 bytes");
    assert!(stderr.contains(hint), "{stderr}");
    // Digits and a line end can be nothing else.
    private(&bench, "both", "0123456789abcdef0123456789ABCDEF\n");
    let stderr = bench.fails(&create(&[], "AEGIS-256"), 3, "the key has 16 bytes");
    assert!(!stderr.contains(hint), "{stderr}");
    private(&bench, "both", [7; 32]);
    bench.fails(&create(as_hex, "AEGIS-256"), 1, "is not a raw key");
    private(&bench, "both", "ab".repeat(32));
    bench.fails(&create(as_bytes, "AEGIS-256"), 1, "is not a raw key");
    bench.fails(&["raf", "info", "-k", "key", "--raw-key-format", "hex", "f.raf"], 2, "--raw-key");
}

/// As docs/raf.md has it.
#[test]
fn keys_of_key_files() {
    let bench = Bench::new();
    bench.write("in", "secret");
    let key: Vec<u8> = (0..32).collect();
    let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    private(&bench, "key", format!("palladion-key-1:{digits}\n"));
    for (algorithm, purpose, len) in [
        ("AEGIS-128L", "palladion raf AEGIS-128", 16),
        ("AEGIS-256X4", "palladion raf AEGIS-256", 32),
    ] {
        bench.ok(&["raf", "import", "-k", "key", "-f", "-a", algorithm, "in", "f.raf"]);
        let derived = palladion_raf::derive_master_key(&key, purpose.as_bytes()).unwrap();
        private(&bench, "raw", &derived[..len]);
        assert_eq!(bench.ok(&["raf", "cat", "--raw-key", "raw", "f.raf"]), b"secret");
    }
    let run = bench.run_with_input(&["raf", "cat", "-k", "-", "f.raf"], &bench.read("key"));
    assert_eq!(run.stdout, b"secret");
}

#[test]
fn passphrases() {
    let bench = Bench::new();
    bench.write("in", "secret");
    for (name, passphrase) in
        [("good", "open sesame\nmore\n"), ("wrong", "Open sesame"), ("empty", "\n")]
    {
        private(&bench, name, passphrase);
    }
    bench.ok(&["raf", "import", "--passphrase-file", "good", "in", "f.raf"]);
    assert_eq!(bench.ok(&["raf", "cat", "--passphrase-file", "good", "f.raf"]), b"secret");
    bench.fails(
        &["raf", "cat", "--passphrase-file", "wrong", "f.raf"],
        3,
        "wrong key or passphrase",
    );
    bench.fails(&["raf", "cat", "--passphrase-file", "empty", "f.raf"], 3, "wrong key");
    bench.fails(&["raf", "create", "--passphrase-file", "empty", "g.raf"], 2, "empty");
    // Another file, another key.
    bench.ok(&["raf", "create", "--passphrase-file", "good", "-a", "AEGIS-128L", "g.raf"]);
    assert_ne!(bench.read("f.raf")[24..48], bench.read("g.raf")[24..48]);
    bench.ok(&["raf", "info", "--passphrase-file", "good", "g.raf"]);
    // Nothing is asked for in vain: this test has no terminal, and that is not the error.
    bench.fails(&["raf", "cat", "-p", "in"], 4, "not a RAF file");
    bench.fails(&["raf", "import", "-p", "in", "f.raf"], 1, "already exists");
}

#[test]
fn damage() {
    let (bench, text) = imported(40 * MIB);
    let sealed = bench.read("f.raf");
    let damage = |chunks: &[usize]| {
        let mut bytes = sealed.clone();
        for chunk in chunks {
            bytes[HEADER + chunk * RECORD + 1000] ^= 1;
        }
        bench.write("f.raf", bytes);
    };
    damage(&[3]);
    let named = "\"f.raf\": chunk 3 is damaged (bytes 196608 to 262143)";
    bench.fails(&["raf", "verify", "-k", "key", "f.raf"], 4, named);
    // One of several files.
    bench.ok(&["raf", "create", "-k", "key", "empty.raf"]);
    for (quiet, ok) in [(&[][..], &b"\"empty.raf\": OK, 0 chunks\n"[..]), (&["-q"], b"")] {
        let verify = ["raf", "verify", "-k", "key", "f.raf", "empty.raf"];
        let run = bench.run(&[&verify, quiet].concat());
        assert_eq!((run.status.code(), &run.stdout[..]), (Some(4), ok), "{run:?}");
        assert!(run.stderr.contains(named), "{run:?}");
    }
    let args = ["raf", "verify", "-k", "key", "--commitment", "f.raf", "empty.raf"];
    bench.fails(&args, 2, "are for one file");
    bench.fails(&["raf", "verify", "-k", "key", "--commitment", "f.raf"], 4, named);
    bench.fails(&["raf", "export", "-k", "key", "f.raf", "out"], 4, named);
    bench.fails(&["raf", "cat", "-k", "key", "-o", "out", "f.raf"], 4, named);
    // A pipe gets what is before it, and the rest can be had.
    let run = bench.run(&["raf", "export", "-k", "key", "f.raf", "-"]);
    assert_eq!(run.status.code(), Some(4));
    assert!(run.stdout == text[..192 * KIB]);
    assert!(
        bench.ok(&["raf", "cat", "-k", "key", "--offset", "256K", "f.raf"]) == text[256 * KIB..]
    );
    // It can be written anew, but not in part.
    bench.write("patch", &text[192 * KIB..256 * KIB]);
    bench.fails(
        &["raf", "write", "-k", "key", "--offset", "200K", "f.raf", "patch"],
        4,
        "chunk 3 is damaged",
    );
    bench.ok(&["raf", "write", "-k", "key", "--offset", "192K", "f.raf", "patch"]);
    assert!(bench.ok(&["raf", "cat", "-k", "key", "f.raf"]) == text);

    damage(&[0, 3, 4, 639]);
    for args in [
        &["raf", "verify", "-k", "key", "f.raf"][..],
        &["raf", "verify", "-k", "key", "--commitment", "f.raf"],
    ] {
        let stderr = bench.fails(args, 4, "\"f.raf\": 4 of 640 chunks are damaged");
        let chunks: Vec<_> = stderr.lines().filter(|line| line.contains(": chunk ")).collect();
        assert!(
            chunks.len() == 4
                && chunks[3].contains("chunk 639 is damaged (bytes 41877504 to 41943039)"),
            "{stderr}"
        );
    }
    // Chunks of the same file, exchanged.
    let mut bytes = sealed.clone();
    let (a, b) = bytes[HEADER..].split_at_mut(RECORD);
    a.swap_with_slice(&mut b[..RECORD]);
    bench.write("f.raf", bytes);
    bench.fails(&["raf", "verify", "-k", "key", "f.raf"], 4, "2 of 640");
}

#[test]
fn salvage() {
    let (bench, text) = imported(5 * MIB + 7);
    let sealed = bench.read("f.raf");
    let export = ["raf", "export", "-k", "key", "--salvage", "-f", "f.raf", "out"];
    bench.ok(&export);
    assert!(bench.read("out") == text);
    // Nothing of the format covers what follows the last chunk.
    bench.write("f.raf", [&sealed[..], b"more"].concat());
    let run = bench.run(&["raf", "verify", "-k", "key", "f.raf"]);
    assert!(run.status.success() && run.stderr.contains("4 bytes follow the last"), "{run:?}");
    let mut damaged = sealed.clone();
    for chunk in [3, 4, 70] {
        damaged[HEADER + chunk * RECORD + 1000] ^= 1;
    }
    let cut = 71 * 64 * KIB;
    for (len, end) in [(sealed.len(), text.len()), (HEADER + 72 * RECORD - 1, cut)] {
        bench.write("f.raf", &damaged[..len]);
        let run = bench.run(&export);
        assert_eq!(run.status.code(), Some(4), "{run:?}");
        let mut expected = text.clone();
        // The last one goes on to the end that the header says.
        let last = if end < text.len() { text.len() } else { cut };
        for missing in [3 * 64 * KIB..5 * 64 * KIB, 70 * 64 * KIB..last] {
            let said = format!("bytes {} to {} are missing\n", missing.start, missing.end - 1);
            assert!(run.stderr.contains(&said), "{run:?}");
            expected[missing].fill(0);
        }
        assert!(bench.read("out") == expected);
        let piped = bench.run(&["raf", "export", "-k", "key", "--salvage", "f.raf", "-"]);
        assert!(piped.stdout == expected);
    }
    bench.write("f.raf", &sealed[..HEADER + 10]);
    let export = ["raf", "export", "-k", "key", "--salvage", "f.raf", "new"];
    let run = bench.run(&export);
    assert!(run.stderr.contains("nothing is intact") && !bench.path("new").exists(), "{run:?}");
    bench.ok(&["keygen", "-o", "other"]);
    let export = ["raf", "export", "-k", "other", "--salvage", "f.raf", "new"];
    bench.fails(&export, 3, "wrong key");
}

#[test]
fn files_that_are_none() {
    let (bench, _) = imported(200_000);
    let sealed = bench.read("f.raf");
    bench.ok(&["encrypt", "-k", "key", "-o", "in.pld", "in"]);
    let commands: [&[&str]; 5] = [
        &["info"],
        &["cat", "-k", "key"],
        &["verify", "-k", "key"],
        &["write", "-k", "key"],
        &["info", "-k", "key"],
    ];
    let fails = |change: &dyn Fn(&mut Vec<u8>), status, message: &str, hint: &str| {
        let mut bytes = sealed.clone();
        change(&mut bytes);
        bench.write("f.raf", &bytes);
        for command in commands {
            let run = bench.run(&[&["raf"], command, &["f.raf"]].concat());
            assert_eq!(run.status.code(), Some(status), "{command:?}: {run:?}");
            assert!(
                run.stderr.starts_with("error: \"f.raf\": ") && run.stderr.contains(message),
                "{run:?}"
            );
            assert!(run.stderr.contains("\nhint: ") && run.stderr.contains(hint), "{run:?}");
        }
        assert_eq!(bench.read("f.raf"), bytes);
    };
    fails(&|bytes| bytes[0] = b'a', 4, "this is not a RAF file", "check that it is the right file");
    fails(&|bytes| *bytes = bench.read("in"), 4, "this is not a RAF file", "raf import");
    fails(
        &|bytes| *bytes = bench.read("in.pld"),
        4,
        "this is not a RAF file",
        "use palladion decrypt",
    );
    fails(&|bytes| bytes.truncate(5), 4, "this is not a RAF file", "");
    fails(&|bytes| bytes.clear(), 4, "the file is empty", "");
    fails(&|bytes| bytes.truncate(40), 4, "truncated: it has 40 bytes, but should have 64", "");
    fails(
        &|bytes| bytes.truncate(100_000),
        4,
        "truncated: it has 100000 bytes, but should have 262400",
        "",
    );
    fails(&|bytes| bytes[10] = 2, 1, "the version 2, which is not supported", "newer version");
    fails(&|bytes| bytes[11] = 7, 1, "the algorithm 7, which is not supported", "newer version");
    let stderr =
        bench.fails(&["decrypt", "-k", "key", "-o", "out", "f.raf"], 4, "not a Palladion file");
    assert!(stderr.contains("palladion raf export"), "{stderr}");
    // What comes past the end does not matter.
    let mut longer = sealed;
    longer.extend([7; 1000]);
    bench.write("f.raf", longer);
    assert!(bench.ok(&["raf", "cat", "-k", "key", "f.raf"]) == bench.read("in"));
}

#[test]
fn nothing_is_overwritten() {
    let (bench, text) = imported(1000);
    let sealed = bench.read("f.raf");
    bench.write("out", "precious");
    for args in [
        &["raf", "create", "-k", "key", "f.raf"][..],
        &["raf", "import", "-k", "key", "out", "f.raf"],
        &["raf", "export", "-k", "key", "f.raf", "out"],
        &["raf", "cat", "-k", "key", "-o", "out", "f.raf"],
    ] {
        assert!(bench.fails(args, 1, "already exists").contains("--force"));
    }
    for args in [
        &["raf", "import", "-f", "-k", "key", "in", "in"][..],
        &["raf", "import", "-f", "-k", "key", "in", "key"],
        &["raf", "export", "-f", "-k", "key", "f.raf", "f.raf"],
        &["raf", "export", "-f", "-k", "key", "f.raf", "key"],
        &["raf", "create", "-f", "-k", "key", "key"],
    ] {
        if cfg!(unix) {
            bench.fails(args, 2, "is both ");
        }
    }
    if cfg!(unix) {
        bench.fails(&["raf", "write", "-k", "key", "f.raf", "f.raf"], 2, "is both ");
    }
    assert_eq!((bench.read("f.raf"), &bench.read("out")[..]), (sealed.clone(), &b"precious"[..]));
    bench.ok(&["raf", "export", "-k", "key", "--force", "f.raf", "out"]);
    assert_eq!(bench.read("out"), text);
    bench.ok(&["raf", "create", "-k", "key", "--force", "f.raf"]);
    assert_ne!(bench.read("f.raf")[24..48], sealed[24..48]);
    assert!(bench.ok(&["raf", "cat", "-k", "key", "f.raf"]).is_empty());
}

#[test]
fn commitments() {
    let (bench, _) = imported(3 * MIB + 7);
    let commit = |args: &[&str]| {
        let out =
            bench.ok(&[&["raf", "verify", "-k", "key", "--commitment"], args, &["f.raf"]].concat());
        String::from_utf8(out).unwrap()
    };
    let line = commit(&[]);
    let (hash, room) = line.trim_end().split_once("  ").unwrap();
    assert_eq!((hash.len(), room), (64, "16384"));
    // That of the library.
    let file = std::fs::File::open(bench.path("f.raf")).unwrap();
    let key = String::from_utf8(bench.read("key")).unwrap();
    let key = key.trim_end().strip_prefix("palladion-key-1:").unwrap();
    let key: Vec<u8> =
        (0..32).map(|i| u8::from_str_radix(&key[2 * i..2 * i + 2], 16).unwrap()).collect();
    let key = palladion_raf::derive_master_key(&key, b"palladion raf AEGIS-256").unwrap();
    let file = palladion_raf::Raf::open_read_only(file, &key).unwrap().with_merkle(16384).unwrap();
    let digits: String =
        file.commitment().unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digits, hash);
    drop(file); // it is locked

    let expect = |expected: &str, args: &[&str]| {
        let out =
            bench
                .ok(&[&["raf", "verify", "-k", "key", "--expect", expected], args, &["f.raf"]]
                    .concat());
        assert_eq!(out, b"\"f.raf\": OK, as expected\n");
    };
    expect(hash, &[]);
    expect(&line, &[]);
    expect(&hash.to_uppercase(), &["--max-chunks", "16384"]);
    let small = commit(&["--max-chunks", "49"]);
    assert!(small.ends_with("  49\n") && !small.starts_with(hash));
    expect(&small, &[]);
    let stderr = bench.fails(
        &["raf", "verify", "-k", "key", "--max-chunks", "49", "--expect", hash, "f.raf"],
        4,
        "not the expected one",
    );
    assert!(stderr.contains(&small[..64]) && stderr.contains("older version"), "{stderr}");
    bench.fails(
        &["raf", "verify", "-k", "key", "--max-chunks", "50", "--expect", &small, "f.raf"],
        2,
        "--max-chunks says 50",
    );
    bench.fails(
        &["raf", "verify", "-k", "key", "--commitment", "--max-chunks", "48", "f.raf"],
        2,
        "less than the 49 chunks",
    );
    bench.fails(
        &["raf", "verify", "-k", "key", "--expect", "abc", "f.raf"],
        2,
        "64 hexadecimal digits",
    );

    // A change, and an old version brought back: as a whole, or a chunk of it.
    let old = bench.read("f.raf");
    bench.write("patch", "x");
    bench.ok(&["raf", "write", "-k", "key", "f.raf", "patch"]);
    bench.fails(
        &["raf", "verify", "-k", "key", "--expect", &line, "f.raf"],
        4,
        "not the expected one",
    );
    let newer = commit(&[]);
    expect(&newer, &[]);
    let new = bench.read("f.raf");
    for old in [old.clone(), [&old[..HEADER + RECORD], &new[HEADER + RECORD..]].concat()] {
        bench.write("f.raf", old);
        bench.ok(&["raf", "verify", "-k", "key", "f.raf"]);
        bench.fails(
            &["raf", "verify", "-k", "key", "--expect", &newer, "f.raf"],
            4,
            "not the expected one",
        );
    }

    // More chunks than there usually is room for.
    bench.ok(&["raf", "create", "-k", "key", "-f", "--chunk-size", "1K", "--size", "20M", "f.raf"]);
    assert!(commit(&[]).ends_with("  32768\n"));
}

#[test]
fn places_that_do_not_work() {
    let (bench, _) = imported(1000);
    std::fs::create_dir(bench.path("folder")).unwrap();
    for command in [&["info"][..], &["cat", "-k", "key"], &["write", "-k", "key"]] {
        bench.fails(&[&["raf"], command, &["missing"]].concat(), 1, "cannot open \"missing\"");
        bench.fails(&[&["raf"], command, &["folder"]].concat(), 1, "is a directory");
        bench.fails(&[&["raf"], command, &["-"]].concat(), 2, "does not allow random access");
    }
    bench.fails(&["raf", "import", "-k", "key", "in", "missing/f.raf"], 1, "no directory");
    bench.fails(
        &["raf", "import", "-k", "key", "in", "-"],
        2,
        "cannot be written to standard output",
    );
    bench.fails(&["raf", "create", "-k", "key", "-"], 2, "cannot be written to standard output");
    bench.fails(&["raf", "import", "-k", "-", "-", "new"], 2, "standard input cannot be both");
    bench.fails(&["raf", "write", "-k", "-", "f.raf"], 2, "standard input cannot be both");
    for args in [
        &["raf"][..],
        &["raf", "cat", "f.raf"], // no default key
        &["raf", "cat", "-k", "key", "--raw-key", "key", "f.raf"],
        &["raf", "info", "--context", "x", "f.raf"],
        &["raf", "write", "-k", "key", "--append", "--offset", "1", "f.raf"],
        &["raf", "truncate", "-k", "key", "f.raf"],
        &["raf", "truncate", "-k", "key", "f.raf", "-1"],
        &["raf", "truncate", "-k", "key", "f.raf", "8388608T"],
        &["raf", "create", "-k", "key", "--chunk-size", "1000", "new"],
        &["raf", "create", "-k", "key", "-a", "aes", "new"],
        &["raf", "verify", "-k", "key", "--max-chunks", "0", "f.raf"],
    ] {
        assert_eq!(bench.run(args).status.code(), Some(2), "{args:?}");
    }
    #[cfg(target_os = "linux")]
    {
        bench.fails(&["raf", "create", "-k", "key", "-f", "/dev/null"], 2, "is not a regular file");
        bench.fails(&["raf", "info", "/dev/null"], 2, "does not allow random access");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(bench.path("fifo"))
                .status()
                .unwrap()
                .success()
        );
        bench.fails(&["raf", "info", "fifo"], 2, "does not allow random access");
    }
}

#[test]
fn help() {
    let bench = Bench::new();
    for command in ["create", "info", "cat", "write", "truncate", "verify", "import", "export"] {
        let help = String::from_utf8(bench.ok(&["raf", command, "--help"])).unwrap();
        assert!(
            help.contains(&format!("Usage: palladion raf {command} "))
                && help.contains("Examples:"),
            "{help}"
        );
    }
}

mod accidents {
    use super::*;

    use std::fs::File;
    #[cfg(unix)]
    use std::io::Read;
    use std::io::Write;
    #[cfg(unix)]
    use std::os::unix::process::ExitStatusExt;
    use std::process::Child;
    #[cfg(unix)]
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !condition() {
            assert!(begin.elapsed() < Duration::from_secs(30), "{what} does not happen");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The logical size in the header.
    fn size(bench: &Bench) -> u64 {
        u64::from_le_bytes(bench.read("f.raf")[16..24].try_into().unwrap())
    }

    /// A command that has written something and waits for more.
    fn waiting(bench: &Bench) -> Child {
        let mut child = bench.spawn(&["raf", "write", "-k", "key", "--append", "f.raf"]);
        child.stdin.as_mut().unwrap().write_all(&text(20 * MIB)).unwrap();
        // Locks may forbid reading it.
        let len = || std::fs::metadata(bench.path("f.raf")).unwrap().len();
        wait_for("the write", || len() >= 15 << 20);
        child
    }

    #[cfg(unix)]
    fn kill(child: &Child, signal: &str) {
        assert!(
            Command::new("kill")
                .args([signal, &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
    }

    #[cfg(unix)]
    #[test]
    fn signals_stop_between_steps() {
        for (signal, number) in [("-INT", 2), ("-TERM", 15)] {
            if crate::common::is_ignored(number) {
                continue;
            }
            let (bench, text_before) = imported(100_000);
            let mut child = waiting(&bench);
            kill(&child, signal);
            let stdin = child.stdin.take();
            let run = finish(child);
            drop(stdin);
            assert_eq!(run.status.signal(), Some(number), "{run:?}");
            let size = size(&bench);
            let told = format!(
                "stopped: wrote {} bytes to \"f.raf\", which now has {size} bytes\n",
                size - 100_000
            );
            assert_eq!(run.stderr, told);
            let expected = [text_before, text(20 * MIB)].concat();
            assert!(bench.ok(&["raf", "cat", "-k", "key", "f.raf"]) == expected[..size as usize]);
        }
    }

    #[test]
    fn killed() {
        let (bench, text_before) = imported(100_000);
        let mut child = waiting(&bench);
        child.kill().unwrap();
        let stdin = child.stdin.take();
        assert!(!finish(child).status.success());
        drop(stdin);
        let expected = [text_before, text(20 * MIB)].concat();
        let size = size(&bench) as usize;
        assert!(bench.ok(&["raf", "cat", "-k", "key", "f.raf"]) == expected[..size]);
        bench.ok(&["raf", "truncate", "-k", "key", "f.raf", "17"]);
        assert!(bench.ok(&["raf", "cat", "-k", "key", "f.raf"]) == expected[..17]);
    }

    #[test]
    fn nobody_else_writes_at_the_same_time() {
        let (bench, _) = imported(100_000);
        let mut child = waiting(&bench);
        for args in [
            &["info", "f.raf"][..],
            &["cat", "-k", "key", "f.raf"],
            &["write", "-k", "key", "f.raf"],
            &["truncate", "-k", "key", "f.raf", "0"],
            &["verify", "-k", "key", "f.raf"],
        ] {
            let stderr = bench.fails(&[&["raf"], args].concat(), 1, "\"f.raf\" is being ");
            assert!(stderr.contains("try again"), "{stderr}");
        }
        // Nor may it be replaced.
        for args in [
            &["raf", "import", "-k", "key", "-f", "in", "f.raf"][..],
            &["raf", "create", "-k", "key", "-f", "f.raf"],
            &["encrypt", "-k", "key", "-f", "-o", "f.raf", "in"],
        ] {
            let stderr = bench.fails(args, 1, "\"f.raf\" is being used by another program");
            assert!(stderr.contains("try again"), "{stderr}");
        }
        drop(child.stdin.take());
        assert!(finish(child).status.success());
        bench.ok(&["raf", "verify", "-k", "key", "f.raf"]);
        // Readers do not mind each other.
        let reader = File::open(bench.path("f.raf")).unwrap();
        reader.lock_shared().unwrap();
        bench.ok(&["raf", "verify", "-k", "key", "f.raf"]);
        bench.fails(
            &["raf", "truncate", "-k", "key", "f.raf", "0"],
            1,
            "is being used by another program",
        );
    }

    #[cfg(unix)]
    #[test]
    fn an_import_that_is_interrupted_leaves_nothing() {
        let bench = Bench::new();
        let mut child = bench.spawn(&["raf", "import", "-k", "key", "-", "f.raf"]);
        child.stdin.as_mut().unwrap().write_all(&text(20 * MIB)).unwrap();
        wait_for("the output", || bench.names().len() == 2);
        kill(&child, "-TERM");
        let stdin = child.stdin.take();
        let run = finish(child);
        drop(stdin);
        assert_eq!((run.status.signal(), &run.stderr[..]), (Some(15), ""));
        assert_eq!(bench.names(), ["key"]);
    }

    #[cfg(unix)]
    fn limited(bench: &Bench, args: &str) -> Run {
        // Units of 1024 bytes.
        let script = format!("ulimit -f 15000; exec {} {args}", env!("CARGO_BIN_EXE_palladion"));
        let mut command = Command::new("bash");
        let command = command.args(["-c", &script]).current_dir(bench.dir());
        finish(
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap(),
        )
    }

    #[cfg(unix)]
    #[test]
    fn no_room() {
        let (bench, text) = imported(20 * MIB);
        for args in [
            "raf import -k key in g.raf",
            "raf create -k key --size 20M g.raf",
            "raf export -k key f.raf g",
        ] {
            let run = limited(&bench, args);
            assert_eq!(run.status.code(), Some(1), "{run:?}");
            assert!(
                run.stderr.contains("cannot write \"g") && run.stderr.contains("File too large"),
                "{run:?}"
            );
            assert_eq!(bench.names(), ["f.raf", "in", "key"]);
        }
        // In place, the file keeps what fits, and the error says how much that is.
        let truncated = || bench.ok(&["raf", "truncate", "-k", "key", "f.raf", "1M"]);
        truncated();
        let run = limited(&bench, "raf write -k key --append f.raf in");
        assert_eq!(run.status.code(), Some(1), "{run:?}");
        let size = size(&bench);
        let says = format!("the file has {size} bytes");
        assert!(size > 1 << 20 && run.stderr.contains(&says), "{run:?}");
        let there = bench.ok(&["raf", "cat", "-k", "key", "f.raf"]);
        assert!(there.len() as u64 == size && there[..MIB] == text[..MIB]);
        // The part that was not finished is given back.
        assert_eq!(bench.read("f.raf").len(), HEADER + RECORD * (size as usize).div_ceil(64 * KIB));
        // Zeros that do not fit are given back.
        truncated();
        let before = bench.read("f.raf");
        for args in ["raf truncate -k key f.raf 30M", "raf write -k key --offset 30M f.raf in"] {
            let run = limited(&bench, args);
            assert_eq!(run.status.code(), Some(1), "{run:?}");
            assert!(run.stderr.contains("the file has 1048576 bytes again"), "{run:?}");
            assert_eq!(bench.read("f.raf").len(), before.len());
            assert!(bench.ok(&["raf", "cat", "-k", "key", "f.raf"]) == text[..MIB]);
        }
        // What no disk has room for is not begun.
        let before = bench.read("f.raf");
        for args in [
            &["raf", "truncate", "-k", "key", "f.raf", "4000T"][..],
            &["raf", "write", "-k", "key", "--offset", "4000T", "f.raf", "in"],
        ] {
            let stderr = bench.fails(args, 1, "\"f.raf\" would grow by ");
            assert!(stderr.contains("hint: free some space"), "{stderr}");
            assert!(bench.read("f.raf") == before);
        }
        for args in [["raf", "cat", "-k", "key", "f.raf"], ["raf", "verify", "-k", "key", "f.raf"]]
        {
            let stdout = File::options().write(true).open("/dev/full").unwrap();
            let run = finish(bench.command(&args).stdout(stdout).spawn().unwrap());
            assert_eq!(run.status.code(), Some(1));
            assert!(run.stderr.contains("cannot write standard output: No space left"), "{run:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn closed_pipe() {
        let (bench, _) = imported(20 * MIB);
        let mut child = bench.command(&["raf", "cat", "-k", "key", "f.raf"]).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 10]).unwrap();
        drop(stdout);
        let run = finish(child);
        assert_eq!((run.status.signal(), &run.stderr[..]), (Some(13), "")); // SIGPIPE
    }

    #[cfg(unix)]
    #[test]
    fn permissions() {
        let bench = Bench::new();
        private(&bench, "raw", [7; 32]);
        let chmod = |mode| {
            std::fs::set_permissions(
                bench.path("raw"),
                std::os::unix::fs::PermissionsExt::from_mode(mode),
            )
            .unwrap();
        };
        chmod(0o644);
        bench.fails(
            &["raf", "create", "--raw-key", "raw", "f.raf"],
            1,
            "other users can read \"raw\"",
        );
        chmod(0o600);
        bench.ok(&["raf", "create", "--raw-key", "raw", "f.raf"]);
        std::fs::set_permissions(
            bench.path("f.raf"),
            std::os::unix::fs::PermissionsExt::from_mode(0o444),
        )
        .unwrap();
        bench.ok(&["raf", "info", "--raw-key", "raw", "f.raf"]);
    }
}
