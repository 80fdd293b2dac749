//! `raf`, end to end.

use crate::common::*;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
/// Bytes in the header, and in a record of the default algorithm and chunk size.
const HEADER: usize = 64;
const RECORD: usize = 64 * KIB + 48;

/// A bench with `in` imported to `f.raf`.
fn imported(len: usize) -> (Bench, Vec<u8>) {
    let bench = Bench::new();
    let text = text(len);
    bench.write("in", &text);
    bench.ok("raf import -k key in f.raf");
    (bench, text)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn files_of_all_sizes() {
    let bench = Bench::new();
    for len in [0, 1, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 20 * MIB + 12345] {
        let text = text(len);
        bench.write("in", &text);
        bench.ok("raf import -k key --force in f.raf");
        let chunks = len.div_ceil(64 * KIB);
        assert_eq!(bench.read("f.raf").len(), HEADER + RECORD * chunks);
        bench.ok("raf export -k key --force f.raf out");
        assert!(bench.read("out") == text, "{len}");
        let run = bench.run_with_input("raf import -k key -f - f.raf", &text);
        assert!(run.status.success() && run.stderr.is_empty(), "{run:?}");
        assert!(bench.ok("raf export -k key f.raf -") == text, "{len}");
        let verified = format!("\"f.raf\": OK, {chunks} chunks\n");
        assert_eq!(bench.shows("raf verify -k key f.raf"), verified);
    }
    assert_eq!(bench.names(), ["f.raf", "in", "key", "out"]);
    // One chunk size that divides no buffer, and the smallest and the largest.
    for (id, (algorithm, chunk_size, bytes)) in (1..).zip([
        ("AEGIS-128L", "1040", 1040),
        ("aegis-128x2", "1K", 1024),
        ("aegis-128x4", "1M", 1 << 20),
        ("aegis-256", "1040", 1040),
        ("aegis-256X2", "1K", 1024),
        ("aegis-256x4", "1M", 1 << 20),
    ]) {
        bench
            .ok(&format!("raf import -k key -f -a {algorithm} --chunk-size {chunk_size} in f.raf"));
        assert_eq!(bench.read("f.raf")[11], id);
        assert!(bench.ok("raf export -k key f.raf -") == bench.read("in"));
        let info = bench.shows("raf info f.raf");
        assert!(info.contains(&algorithm.to_uppercase()), "{info}");
        assert!(info.contains(&format!("chunk size:  {bytes}\n")), "{info}");
    }
}

#[test]
fn info() {
    let (bench, _) = imported(200_000);
    let (id, on_disk) = (hex(&bench.read("f.raf")[24..48]), HEADER + 4 * RECORD);
    let expected = format!(
        "algorithm:   AEGIS-256X2\nchunk size:  65536\nsize:        200000\n\
         chunks:      4\non disk:     {on_disk}\nfile id:     {id}\nheader:      "
    );
    let unverified = "not verified (name the key with -k, or use -p)";
    assert_eq!(bench.shows("raf info f.raf"), format!("{expected}{unverified}\n"));
    assert_eq!(bench.shows("raf info -k key f.raf"), format!("{expected}verified\n"));
    for (key, verified) in [("", false), ("-k key", true)] {
        let expected = format!(
            "{{\"file\":\"f.raf\",\"algorithm\":\"AEGIS-256X2\",\"chunk_size\":65536,\
             \"size\":200000,\"chunks\":4,\"on_disk\":{on_disk},\"file_id\":\"{id}\",\
             \"header_verified\":{verified}}}\n"
        );
        assert_eq!(bench.shows(&format!("raf info {key} --json f.raf")), expected);
    }
    // Without the key a false header looks as good as a true one.
    bench.flip("f.raf", 16);
    assert!(bench.shows("raf info f.raf").contains("200001\n"));
    bench.fails("raf info -k key f.raf", 3, "the header of the file was changed");
}

/// The module for `cat` tests the same parts of encrypted files.
#[test]
fn parts() {
    let (bench, text) = imported(5 * MIB + 5);
    for (options, range) in [
        ("", 0..5 * MIB + 5),
        ("--offset 65535 --length 2", 65535..65537),
        ("--offset 5M --length 1T", 5 * MIB..5 * MIB + 5),
        ("--offset 100 --length 4M -o part", 100..4 * MIB + 100),
    ] {
        let part = bench.ok(&format!("raf cat -k key f.raf {options}"));
        let part = if options.ends_with("part") { bench.read("part") } else { part };
        assert!(part == text[range], "{options}");
    }
    let says = "the offset 6291456 is past the end of \"f.raf\", which has 5242885 bytes";
    bench.fails("raf cat -k key --offset 6M f.raf", 2, says);
}

#[test]
fn changes() {
    let bench = Bench::new();
    bench.ok("raf create -k key --size 300K f.raf");
    let mut model = vec![0; 300 * KIB];
    let check = |model: &[u8]| assert!(bench.ok("raf cat -k key f.raf") == model);
    check(&model);
    let patch = text(20 * MIB);
    // At the start, in the middle, at the end, behind it and larger than all buffers. Nothing is
    // nothing, wherever.
    for (options, offset, data) in [
        ("f.raf", 0, &b"start"[..]),
        ("--offset 65530 f.raf -", 65530, &patch[..100_000]),
        ("--append f.raf", 300 * KIB, b"end"),
        ("--offset 1000001 f.raf", 1_000_001, &patch),
        ("--offset 1T f.raf", 0, b""),
    ] {
        let run = bench.run_with_input(&format!("raf write -k key {options}"), data);
        assert!(run.status.success() && run.stderr.is_empty() && run.stdout.is_empty(), "{run:?}");
        model.resize(model.len().max(offset + data.len()), 0);
        model[offset..offset + data.len()].copy_from_slice(data);
        check(&model);
    }
    for len in [10 * MIB + 1, MIB, 9 * MIB, 9 * MIB, 100, 0, 3] {
        bench.ok(&format!("raf truncate -k key f.raf {len}"));
        model.resize(len, 0);
        check(&model);
        assert_eq!(bench.read("f.raf").len(), HEADER + RECORD * len.div_ceil(64 * KIB));
    }
    assert_eq!(bench.names(), ["f.raf", "key"]);
}

/// Pieces of input end where chunks end, so the first one is longer than the others at some
/// offsets.
#[test]
fn writes_at_all_offsets_with_all_chunk_sizes() {
    const LEN: usize = 5000;
    let bench = Bench::new();
    bench.write("in", text(LEN));
    for chunk_size in ["1024", "1040", "4000", "65536", "1048560", "1M"] {
        bench.ok(&format!("raf import -k key -f --chunk-size {chunk_size} in f.raf"));
        let mut model = text(LEN);
        for (offset, len) in [(1, 2500), (1040, 1), (4095, 2500), (5000, 1), (1_048_575, 2500)] {
            let args = format!("raf write -k key --offset {offset} f.raf");
            let run = bench.run_with_input(&args, &text(len));
            assert!(run.status.success() && run.stderr.is_empty(), "{chunk_size}: {args}: {run:?}");
            model.resize(model.len().max(offset + len), 0);
            model[offset..offset + len].copy_from_slice(&text(len));
        }
        assert!(bench.ok("raf export -k key f.raf -") == model, "{chunk_size}");
    }
}

#[test]
fn wrong_keys() {
    let (bench, _) = imported(1000);
    bench.ok("keygen -o other");
    let sealed = bench.read("f.raf");
    for command in [
        "info KEY f.raf",
        "cat KEY f.raf",
        "write KEY --append f.raf",
        "verify KEY f.raf",
        "verify KEY --commitment f.raf",
        "export KEY --force f.raf in",
        "export KEY --salvage f.raf new",
        "truncate KEY f.raf 0",
    ] {
        for key in ["-k other", "-k key --context x"] {
            let args = format!("raf {}", command.replace("KEY", key));
            let stderr = bench.fails(&args, 3, "\"f.raf\": wrong key or passphrase");
            assert!(stderr.contains("\nhint: "), "{stderr}");
        }
    }
    assert_eq!((bench.read("f.raf"), bench.read("in")), (sealed, text(1000)));
}

#[test]
fn raw_keys() {
    let bench = Bench::new();
    bench.write("in", "secret");
    for (algorithm, len) in [("AEGIS-128X2", 16), ("AEGIS-256", 32)] {
        let key = text(len);
        bench.private("raw", &key);
        bench.private("hex", format!("{}\n", hex(&key).to_uppercase()));
        bench.ok(&format!("raf import --raw-key raw -f -a {algorithm} in f.raf"));
        for name in ["raw", "hex"] {
            assert_eq!(bench.shows(&format!("raf cat --raw-key {name} f.raf")), "secret");
        }
        // The library with the same key.
        let mut file = std::fs::File::open(bench.path("f.raf")).unwrap();
        assert_eq!(palladion_raf::probe(&mut file).unwrap().algorithm.name(), algorithm);
        let file = palladion_raf::Raf::open_read_only(file, &key).unwrap();
        assert_eq!(file.read_at(&mut [0; 10], 0).unwrap(), 6);

        // Keys that are derived, as other programs do.
        bench.private("derived", palladion_raf::derive_master_key(&key, b"backup").unwrap());
        bench.ok(&format!("raf import --raw-key raw --context backup -f -a {algorithm} in g.raf"));
        assert_eq!(bench.shows("raf cat --raw-key derived g.raf"), "secret");
        bench.fails("raf cat --raw-key raw g.raf", 3, "wrong key");
        bench.fails("raf cat --raw-key raw --context Backup g.raf", 3, "wrong key");
        let long = format!("raf cat --raw-key raw --context {} g.raf", "x".repeat(121));
        bench.fails(&long, 2, "the context has 121 bytes");
    }
    let run = bench.run_with_input("raf cat --raw-key - f.raf", &bench.read("raw"));
    assert_eq!(run.stdout, b"secret");

    // What is no key, and a key of 32 bytes that look like the digits of one with 16. Digits and a
    // line end can be nothing else.
    let digits = "0123456789abcdef0123456789ABCDEF";
    let (line, long) = (format!("{digits}\n"), "ab".repeat(32));
    let (for_128, for_256) = ("-a AEGIS-128L", "-a AEGIS-256");
    let (as_bytes, as_hex) = ("--raw-key-format bytes", "--raw-key-format hex");
    let hint = "if its 32 bytes are the key itself, use --raw-key-format bytes";
    for (key, options, status, message, has_hint) in [
        (&b""[..], ["", ""], 1, "\"odd\" is not a raw key", false),
        (b"12345", ["", ""], 1, "\"odd\" is not a raw key", false),
        (&[7; 31], ["", ""], 1, "\"odd\" is not a raw key", false),
        (&[7; 33], ["", ""], 1, "\"odd\" is not a raw key", false),
        (&[b'a'; 30], ["", ""], 1, "\"odd\" is not a raw key", false),
        (&[7; 1000], ["", ""], 1, "\"odd\" is not a raw key", false),
        (&[1; 16], ["", ""], 3, "the key has 16 bytes, but AEGIS-256X2 has keys of 32", false),
        (digits.as_bytes(), [for_256, as_bytes], 0, "", false),
        (digits.as_bytes(), [for_128, as_bytes], 3, "the key has 32 bytes", false),
        (digits.as_bytes(), [for_128, as_hex], 0, "", false),
        (digits.as_bytes(), [for_256, as_hex], 3, "the key has 16 bytes", false),
        (digits.as_bytes(), [for_128, ""], 0, "", false),
        (digits.as_bytes(), [for_256, ""], 3, "the key has 16 bytes", true),
        (line.as_bytes(), [for_256, ""], 3, "the key has 16 bytes", false),
        (&[7; 32], [for_256, as_hex], 1, "is not a raw key", false),
        (long.as_bytes(), [for_256, as_bytes], 1, "is not a raw key", false),
    ] {
        bench.private("odd", key);
        let run = bench.run(&format!("raf create --raw-key odd -f {} new", options.join(" ")));
        assert_eq!(run.status.code(), Some(status), "{key:?} {options:?}: {run:?}");
        assert!(run.stderr.contains(message), "{key:?} {options:?}: {run:?}");
        assert_eq!(run.stderr.contains(hint), has_hint, "{key:?} {options:?}: {run:?}");
    }
    let stderr = bench.fails("raf cat --raw-key key f.raf", 1, "not a raw key");
    assert!(stderr.contains("use -k KEYFILE"), "{stderr}");
    bench.fails("raf info -k key --raw-key-format hex f.raf", 2, "--raw-key");
    #[cfg(unix)]
    {
        bench.chmod("raw", 0o644);
        bench.fails("raf cat --raw-key raw f.raf", 1, "other users can read \"raw\"");
        bench.chmod("raw", 0o600);
        bench.chmod("f.raf", 0o444);
        bench.ok("raf info --raw-key raw f.raf");
    }
}

/// As docs/raf.md has it.
#[test]
fn keys_of_key_files() {
    let bench = Bench::new();
    bench.write("in", "secret");
    let key: Vec<u8> = (0..32).collect();
    bench.private("key", format!("palladion-key-1:{}\n", hex(&key)));
    for (algorithm, purpose, len) in [
        ("AEGIS-128L", "palladion raf AEGIS-128", 16),
        ("AEGIS-256X4", "palladion raf AEGIS-256", 32),
    ] {
        bench.ok(&format!("raf import -k key -f -a {algorithm} in f.raf"));
        let derived = palladion_raf::derive_master_key(&key, purpose.as_bytes()).unwrap();
        bench.private("raw", &derived[..len]);
        assert_eq!(bench.shows("raf cat --raw-key raw f.raf"), "secret");
    }
    let run = bench.run_with_input("raf cat -k - f.raf", &bench.read("key"));
    assert_eq!(run.stdout, b"secret");
}

#[test]
fn passphrases() {
    let bench = Bench::new();
    bench.write("in", "secret");
    bench.private("good", "open sesame\nmore\n");
    bench.private("wrong", "Open sesame");
    bench.private("empty", "\n");
    bench.ok("raf import --passphrase-file good in f.raf");
    assert_eq!(bench.shows("raf cat --passphrase-file good f.raf"), "secret");
    bench.fails("raf cat --passphrase-file wrong f.raf", 3, "wrong key or passphrase");
    bench.fails("raf info --passphrase-file empty f.raf", 3, "wrong key or passphrase");
    bench.fails("raf create --passphrase-file empty g.raf", 2, "empty");
    // Another file, another key.
    bench.ok("raf create --passphrase-file good -a AEGIS-128L g.raf");
    assert_ne!(bench.read("f.raf")[24..48], bench.read("g.raf")[24..48]);
    bench.ok("raf info --passphrase-file good g.raf");
    // Nothing is asked for in vain: this test has no terminal, and that is not the error.
    bench.fails("raf cat -p in", 4, "not a RAF file");
    bench.fails("raf import -p in f.raf", 1, "already exists");
}

#[test]
fn damage() {
    let (bench, text) = imported(40 * MIB);
    let sealed = bench.read("f.raf");
    bench.flip("f.raf", HEADER + 3 * RECORD + 1000);
    let named = "\"f.raf\": chunk 3 is damaged (bytes 196608 to 262143)";
    // One of several files.
    bench.ok("raf create -k key empty.raf");
    for (quiet, ok) in [("", "\"empty.raf\": OK, 0 chunks\n"), ("-q", "")] {
        let run = bench.run(&format!("raf verify -k key f.raf empty.raf {quiet}"));
        assert_eq!((run.status.code(), &run.stdout[..]), (Some(4), ok.as_bytes()), "{run:?}");
        assert!(run.stderr.contains(named), "{run:?}");
    }
    bench.fails("raf verify -k key --commitment f.raf empty.raf", 2, "are for one file");
    for command in ["verify --commitment f.raf", "export f.raf out", "cat -o out f.raf"] {
        bench.fails(&format!("raf {command} -k key"), 4, named);
    }
    // A pipe gets what is before it, and the rest can be had.
    let run = bench.run("raf export -k key f.raf -");
    assert_eq!(run.status.code(), Some(4));
    assert!(run.stdout == text[..192 * KIB]);
    assert!(bench.ok("raf cat -k key --offset 256K f.raf") == text[256 * KIB..]);
    // It can be written anew, but not in part.
    bench.write("patch", &text[192 * KIB..256 * KIB]);
    bench.fails("raf write -k key --offset 200K f.raf patch", 4, "chunk 3 is damaged");
    bench.ok("raf write -k key --offset 192K f.raf patch");
    assert!(bench.ok("raf cat -k key f.raf") == text);

    bench.write("f.raf", sealed);
    for chunk in [0, 3, 4, 639] {
        bench.flip("f.raf", HEADER + chunk * RECORD + 1000);
    }
    for option in ["", "--commitment"] {
        let args = format!("raf verify -k key {option} f.raf");
        let stderr = bench.fails(&args, 4, "\"f.raf\": 4 of 640 chunks are damaged");
        let chunks: Vec<_> = stderr.lines().filter(|line| line.contains(": chunk ")).collect();
        let last = "chunk 639 is damaged (bytes 41877504 to 41943039)";
        assert!(chunks.len() == 4 && chunks[3].contains(last), "{stderr}");
    }
}

#[test]
fn salvage() {
    let (bench, text) = imported(5 * MIB + 7);
    let sealed = bench.read("f.raf");
    let export = "raf export -k key --salvage -f f.raf out";
    bench.ok(export);
    assert!(bench.read("out") == text);
    // Nothing of the format covers what follows the last chunk.
    bench.write("f.raf", [&sealed[..], b"more"].concat());
    assert!(bench.says("raf verify -k key f.raf").contains("4 bytes follow the last"));
    assert!(bench.ok("raf cat -k key f.raf") == text);
    let mut damaged = sealed.clone();
    for chunk in [3, 4, 70] {
        damaged[HEADER + chunk * RECORD + 1000] ^= 1;
    }
    let cut = 71 * 64 * KIB;
    for (len, end) in [(sealed.len(), text.len()), (HEADER + 72 * RECORD - 1, cut)] {
        bench.write("f.raf", &damaged[..len]);
        let run = bench.run(export);
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
        assert!(bench.run("raf export -k key --salvage f.raf -").stdout == expected);
    }
    bench.write("f.raf", &sealed[..HEADER + 10]);
    let run = bench.run("raf export -k key --salvage f.raf new");
    assert_eq!(run.status.code(), Some(4), "{run:?}");
    assert!(run.stderr.contains("nothing is intact") && !bench.path("new").exists(), "{run:?}");
}

#[test]
fn files_that_are_none() {
    let (bench, _) = imported(200_000);
    let sealed = bench.read("f.raf");
    bench.ok("encrypt -k key -o in.pld in");
    let changed = |at: usize, byte| {
        let mut file = sealed.clone();
        file[at] = byte;
        file
    };
    let (no_raf, cut) =
        ("this is not a RAF file", "truncated: it has 100000 bytes, but should have");
    for (bytes, status, message, hint) in [
        (changed(0, b'a'), 4, no_raf, "check that it is the right file"),
        (bench.read("in"), 4, no_raf, "raf import"),
        (bench.read("in.pld"), 4, no_raf, "use palladion decrypt"),
        (sealed[..5].to_vec(), 4, no_raf, ""),
        (vec![], 4, "the file is empty", ""),
        (sealed[..40].to_vec(), 4, "truncated: it has 40 bytes, but should have 64", ""),
        (sealed[..100_000].to_vec(), 4, cut, ""),
        (changed(10, 2), 1, "the version 2, which is not supported", "newer version"),
        (changed(11, 7), 1, "the algorithm 7, which is not supported", "newer version"),
    ] {
        bench.write("f.raf", &bytes);
        for command in ["info", "cat -k key", "verify -k key", "write -k key", "info -k key"] {
            let run = bench.run(&format!("raf {command} f.raf"));
            assert_eq!(run.status.code(), Some(status), "{command}: {run:?}");
            assert!(run.stderr.starts_with("error: \"f.raf\": "), "{run:?}");
            assert!(run.stderr.contains(message) && run.stderr.contains("\nhint: "), "{run:?}");
            assert!(run.stderr.contains(hint), "{run:?}");
        }
        assert_eq!(bench.read("f.raf"), bytes);
    }
    bench.write("f.raf", sealed);
    let stderr = bench.fails("decrypt -k key -o out f.raf", 4, "not a Palladion file");
    assert!(stderr.contains("palladion raf export"), "{stderr}");
}

#[test]
fn nothing_is_overwritten() {
    let (bench, text) = imported(1000);
    let sealed = bench.read("f.raf");
    bench.write("out", "precious");
    for args in ["create f.raf", "import out f.raf", "export f.raf out", "cat -o out f.raf"] {
        let stderr = bench.fails(&format!("raf {args} -k key"), 1, "already exists");
        assert!(stderr.contains("--force"), "{stderr}");
    }
    if cfg!(unix) {
        for args in [
            "import -f in in",
            "import -f in key",
            "export -f f.raf f.raf",
            "export -f f.raf key",
            "create -f key",
            "write f.raf f.raf",
        ] {
            bench.fails(&format!("raf {args} -k key"), 2, "is both ");
        }
    }
    assert_eq!((bench.read("f.raf"), &bench.read("out")[..]), (sealed.clone(), &b"precious"[..]));
    bench.ok("raf export -k key --force f.raf out");
    assert_eq!(bench.read("out"), text);
    bench.ok("raf create -k key --force f.raf");
    assert_ne!(bench.read("f.raf")[24..48], sealed[24..48]);
    assert!(bench.ok("raf cat -k key f.raf").is_empty());
}

#[test]
fn commitments() {
    let (bench, _) = imported(3 * MIB + 7);
    let commit = |args: &str| bench.shows(&format!("raf verify -k key --commitment {args} f.raf"));
    let line = commit("");
    let (hash, room) = line.trim_end().split_once("  ").unwrap();
    assert_eq!((hash.len(), room), (64, "16384"));
    // That of the library.
    let file = std::fs::File::open(bench.path("f.raf")).unwrap();
    let key = bench.read("key")["palladion-key-1:".len()..][..64].to_vec();
    let digits = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    let key: Vec<u8> = key.chunks(2).map(digits).collect();
    let key = palladion_raf::derive_master_key(&key, b"palladion raf AEGIS-256").unwrap();
    let file = palladion_raf::Raf::open_read_only(file, &key).unwrap().with_merkle(16384).unwrap();
    assert_eq!(hex(&file.commitment().unwrap()), hash);
    drop(file); // it is locked

    let verify = ["raf", "verify", "-k", "key", "f.raf", "--expect"];
    let small = commit("--max-chunks 49");
    assert!(small.ends_with("  49\n") && !small.starts_with(hash));
    for expected in [hash, &line, &hash.to_uppercase(), &small] {
        let said = bench.shows(&[&verify[..], &[expected]].concat());
        assert_eq!(said, "\"f.raf\": OK, as expected\n");
    }
    let room = |number| ["--max-chunks", number];
    let stderr =
        bench.fails(&[&verify[..], &[hash], &room("49")].concat(), 4, "not the expected one");
    assert!(stderr.contains(&small[..64]) && stderr.contains("older version"), "{stderr}");
    bench.fails(&[&verify[..], &[&small], &room("50")].concat(), 2, "--max-chunks says 50");
    bench.fails(&[&verify[..], &["abc"]].concat(), 2, "64 hexadecimal digits");
    let few = "raf verify -k key --commitment --max-chunks 48 f.raf";
    bench.fails(few, 2, "less than the 49 chunks");
    // A change.
    bench.write("patch", "x");
    bench.ok("raf write -k key f.raf patch");
    bench.fails(&[&verify[..], &[&line]].concat(), 4, "not the expected one");
    // More chunks than there usually is room for.
    bench.ok("raf create -k key -f --chunk-size 1K --size 20M f.raf");
    assert!(commit("").ends_with("  32768\n"));
}

#[test]
fn places_that_do_not_work() {
    let (bench, _) = imported(1000);
    std::fs::create_dir(bench.path("folder")).unwrap();
    for command in ["raf info", "raf cat -k key", "raf write -k key"] {
        bench.fails(&format!("{command} missing"), 1, "cannot open \"missing\"");
        bench.fails(&format!("{command} folder"), 1, "is a directory");
        bench.fails(&format!("{command} -"), 2, "does not allow random access");
    }
    let terminal = "cannot be written to standard output";
    for (args, status, message) in [
        ("import -k key in missing/f.raf", 1, "no directory"),
        ("import -k key in -", 2, terminal),
        ("create -k key -", 2, terminal),
        ("import -k - - new", 2, "standard input cannot be both"),
        ("write -k - f.raf", 2, "standard input cannot be both"),
        ("cat f.raf", 2, "no default key file"),
        ("cat -k key --raw-key key f.raf", 2, ""),
        ("info --context x f.raf", 2, ""),
        ("write -k key --append --offset 1 f.raf", 2, ""),
        ("truncate -k key f.raf", 2, ""),
        ("truncate -k key f.raf -1", 2, ""),
        ("truncate -k key f.raf 8388608T", 2, ""),
        ("create -k key --chunk-size 1000 new", 2, ""),
        ("create -k key -a aes new", 2, ""),
        ("verify -k key --max-chunks 0 f.raf", 2, ""),
    ] {
        bench.fails(&format!("raf {args}"), status, message);
    }
    assert_eq!(bench.run("raf").status.code(), Some(2));
    #[cfg(target_os = "linux")]
    {
        bench.fails("raf create -k key -f /dev/null", 2, "is not a regular file");
        assert!(bench.sh("mkfifo fifo").status.success());
        for name in ["/dev/null", "fifo"] {
            bench.fails(&format!("raf info {name}"), 2, "does not allow random access");
        }
    }
}

mod accidents {
    use super::*;

    use std::io::Write;
    #[cfg(unix)]
    use std::os::unix::process::ExitStatusExt;
    use std::process::Child;

    /// The logical size in the header.
    fn size(bench: &Bench) -> usize {
        u64::from_le_bytes(bench.read("f.raf")[16..24].try_into().unwrap()) as usize
    }

    /// A command that has written something and waits for more.
    fn waiting(bench: &Bench) -> Child {
        let mut child = bench.spawn("raf write -k key --append f.raf");
        child.stdin.as_mut().unwrap().write_all(&text(20 * MIB)).unwrap();
        // Locks may forbid reading it.
        let len = || std::fs::metadata(bench.path("f.raf")).unwrap().len();
        wait_for("the write", || len() >= 15 << 20);
        child
    }

    /// After the end of a command that was `waiting`, the file has what it says.
    fn is_sound(bench: &Bench, before: Vec<u8>) {
        let expected = [before, text(20 * MIB)].concat();
        assert!(bench.ok("raf cat -k key f.raf") == expected[..size(bench)]);
    }

    #[cfg(unix)]
    #[test]
    fn signals_stop_between_steps() {
        for (signal, number) in [("-INT", 2), ("-TERM", 15)] {
            if is_ignored(number) {
                continue;
            }
            let (bench, before) = imported(100_000);
            let mut child = waiting(&bench);
            kill(&child, signal);
            let _stdin = child.stdin.take();
            let run = finish(child);
            assert_eq!(run.status.signal(), Some(number), "{run:?}");
            let (size, wrote) = (size(&bench), size(&bench) - 100_000);
            let told =
                format!("stopped: wrote {wrote} bytes to \"f.raf\", which now has {size} bytes\n");
            assert_eq!(run.stderr, told);
            is_sound(&bench, before);
        }
    }

    #[test]
    fn killed() {
        let (bench, before) = imported(100_000);
        let mut child = waiting(&bench);
        child.kill().unwrap();
        let _stdin = child.stdin.take();
        assert!(!finish(child).status.success());
        is_sound(&bench, before.clone());
        bench.ok("raf truncate -k key f.raf 17");
        assert!(bench.ok("raf cat -k key f.raf") == before[..17]);
    }

    #[test]
    fn nobody_else_writes_at_the_same_time() {
        let (bench, _) = imported(100_000);
        let mut child = waiting(&bench);
        let replaced = "\"f.raf\" is being used by another program";
        for (args, message) in [
            ("raf info f.raf", "\"f.raf\" is being "),
            ("raf cat -k key f.raf", "\"f.raf\" is being "),
            ("raf write -k key f.raf", "\"f.raf\" is being "),
            ("raf truncate -k key f.raf 0", "\"f.raf\" is being "),
            ("raf verify -k key f.raf", "\"f.raf\" is being "),
            ("raf import -k key -f in f.raf", replaced),
            ("raf create -k key -f f.raf", replaced),
            ("encrypt -k key -f -o f.raf in", replaced),
        ] {
            assert!(bench.fails(args, 1, message).contains("try again"), "{args}");
        }
        drop(child.stdin.take());
        assert!(finish(child).status.success());
        bench.ok("raf verify -k key f.raf");
        // Readers do not mind each other.
        let reader = std::fs::File::open(bench.path("f.raf")).unwrap();
        reader.lock_shared().unwrap();
        bench.ok("raf verify -k key f.raf");
        bench.fails("raf truncate -k key f.raf 0", 1, "is being used by another program");
    }

    #[cfg(unix)]
    #[test]
    fn no_room() {
        let (bench, text) = imported(20 * MIB);
        // Units of 1024 bytes.
        let limited = |args: &str| {
            let run = bench.sh(&format!("ulimit -f 15000; exec $P {args}"));
            assert_eq!(run.status.code(), Some(1), "{run:?}");
            assert!(run.stderr.contains("File too large"), "{run:?}");
            run.stderr
        };
        for args in [
            "raf import -k key in g.raf",
            "raf create -k key --size 20M g.raf",
            "raf export -k key f.raf g",
            "encrypt -k key -o g in",
        ] {
            assert!(limited(args).contains("cannot write \"g"));
            assert_eq!(bench.names(), ["f.raf", "in", "key"]);
        }
        // In place, the file keeps what fits, and the error says how much that is. The part that
        // was not finished is given back.
        bench.ok("raf truncate -k key f.raf 1M");
        let stderr = limited("raf write -k key --append f.raf in");
        let size = size(&bench);
        assert!(size > MIB && stderr.contains(&format!("the file has {size} bytes")), "{stderr}");
        let there = bench.ok("raf cat -k key f.raf");
        assert!(there.len() == size && there[..MIB] == text[..MIB]);
        assert_eq!(bench.read("f.raf").len(), HEADER + RECORD * size.div_ceil(64 * KIB));
        // Zeros that do not fit are given back.
        bench.ok("raf truncate -k key f.raf 1M");
        let before = bench.read("f.raf");
        for args in ["raf truncate -k key f.raf 30M", "raf write -k key --offset 30M f.raf in"] {
            assert!(limited(args).contains("the file has 1048576 bytes again"));
            assert_eq!(bench.read("f.raf").len(), before.len());
            assert!(bench.ok("raf cat -k key f.raf") == text[..MIB]);
        }
        // What no disk has room for is not begun.
        let before = bench.read("f.raf");
        for args in ["raf truncate -k key f.raf 4000T", "raf write -k key --offset 4000T f.raf in"]
        {
            let stderr = bench.fails(args, 1, "\"f.raf\" would grow by ");
            assert!(stderr.contains("hint: free some space"), "{stderr}");
            assert!(bench.read("f.raf") == before);
        }
    }
}
