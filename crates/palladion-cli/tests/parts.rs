//! `cat`, `info` and `verify`: parts of files, what is known without a key, and checks.

use crate::common::*;

const CHUNK: usize = 1024;

#[test]
fn cat_writes_parts() {
    let bench = Bench::new();
    for len in [0, 1, CHUNK, CHUNK + 1, 100 * CHUNK + 7] {
        let text = text(len);
        bench.write("in", &text);
        bench.ok("encrypt -k key -f --chunk-size 1K in");
        let cat = |options: &str| bench.ok(&format!("cat -k key in.pld {options}"));
        assert!(cat("") == text, "{len}");
        for offset in [0, 1, CHUNK - 1, CHUNK, 2 * CHUNK + 5, len] {
            for length in [0, 2, CHUNK + 1, 1 << 20] {
                if offset <= len {
                    let part = &text[offset..len.min(offset + length)];
                    let options = format!("-t 2 --offset {offset} --length {length}");
                    assert!(cat(&options) == part, "{len} {options}");
                }
            }
        }
        let says = format!("the offset {} is past the end of \"in.pld\"", len + 1);
        bench.fails(&format!("cat -k key --offset {} in.pld", len + 1), 2, &says);
        assert!(cat("--tail 100") == text[len.saturating_sub(100)..]);
    }
    bench.fails("cat -k key --offset 8T in.pld", 2, "the offset");
    for option in ["--offset", "--length", "--tail"] {
        bench.fails(&format!("cat {option} -10 in.pld"), 2, "expected a number of bytes");
    }
    // Units, an output file, and chunks larger than a piece.
    let text = text(40 << 20);
    bench.write("in", &text);
    bench.ok("encrypt -k key -f --chunk-size 16M in");
    let cat = "cat -k key --offset 15M in.pld -o out";
    bench.ok(cat);
    assert!(bench.read("out") == text[15 << 20..]);
    bench.fails(cat, 1, "\"out\" already exists");
    bench.ok(&format!("{cat} -f --length 2k"));
    assert!(bench.read("out") == text[15 << 20..][..2048]);
    bench.fails("cat -k key in.pld -fo in.pld", 2, "both input and output");
    bench.fails("cat -k key in.pld -fo key", 2, "both key and output");
}

#[test]
fn cat_of_several_files() {
    let bench = Bench::new();
    bench.write("a", "first");
    bench.write("b", "second");
    bench.ok("encrypt -k key a b");
    bench.write("damaged", &bench.read("a.pld")[..150]);
    assert_eq!(bench.ok("cat -k key a.pld b.pld"), b"firstsecond");
    bench.ok("cat -k key --tail 2 a.pld b.pld -o out");
    assert_eq!(bench.read("out"), b"stnd");
    let run = bench.run("cat -k key a.pld damaged b.pld");
    assert_eq!((run.status.code(), &run.stdout[..]), (Some(4), &b"first"[..]), "{run:?}");
    // Standard input may be a file, but a key is no part of it.
    let open = || std::fs::File::open(bench.path("b.pld")).unwrap();
    for args in ["cat -k key", "cat -k key -"] {
        let run = finish(bench.command(args).stdin(open()).spawn().unwrap());
        assert_eq!(run.stdout, b"second", "{run:?}");
    }
    let mut read = open();
    std::io::Read::read_exact(&mut read, &mut [0]).unwrap();
    let run = finish(bench.command("cat -k key").stdin(read).spawn().unwrap());
    assert_eq!(run.status.code(), Some(2), "{run:?}");
    let run = finish(bench.command("cat -k - -").stdin(open()).spawn().unwrap());
    assert!(run.stderr.contains("cannot be both the key and the data"), "{run:?}");
}

#[test]
fn cat_of_a_pipe_or_another_file() {
    let bench = Bench::new();
    bench.write("in", "secret");
    bench.ok("encrypt -k key in");
    bench.write("in.age", "age-encryption.org/v1\n-> X25519 \n");
    for args in ["cat -k key in.age", "raf cat -k key in.age"] {
        assert!(bench.fails(args, 4, "this is not a").contains("decrypt it with age -d"));
    }
    bench.ok("raf import -k key in in.raf");
    let stderr = bench.fails("cat -k key -", 2, "standard input does not allow random access");
    assert!(stderr.contains("palladion decrypt"), "{stderr}");
    bench.fails("cat -k key .", 1, "is a directory");
    bench.fails("cat -k key missing", 1, "cannot open \"missing\"");
    bench.fails("cat -k key in", 4, "not a Palladion file");
    bench.ok("keygen -o other");
    bench.fails("cat -k other in.pld", 3, "(tried key ");
    bench.ok("cat -k other -k key in.pld");
    // Each kind of file has commands of the same names.
    for command in ["cat", "info", "verify"] {
        let run = bench.run(&[command, "in.raf"]);
        let hint = format!("it is a RAF file: use palladion raf {command}\n");
        assert!(run.status.code() == Some(4) && run.stderr.ends_with(&hint), "{run:?}");
        let stderr = bench.fails(&["raf", command, "in.pld"], 4, "not a RAF file");
        assert!(stderr.contains("it is a Palladion file: use palladion decrypt, "), "{stderr}");
        assert!(stderr.contains(command), "{stderr}");
    }
}

#[test]
fn damaged_files() {
    let bench = Bench::new();
    let plain = text(3 * CHUNK + 5);
    bench.write("in", &plain);
    bench.ok("encrypt -k key --chunk-size 1K in");
    let sealed = bench.read("in.pld");
    for name in ["flipped", "header"] {
        bench.write(name, &sealed);
    }
    bench.flip("flipped", 128 + CHUNK + 36 + 500);
    bench.flip("header", 20);
    bench.write("cut", &sealed[..2000]);
    bench.write("longer", [&sealed[..], b"more"].concat());
    for (name, says) in [
        ("flipped", "chunk 1 (at byte 1188) fails"),
        ("cut", "it ends within chunk 1, after 2000 bytes"),
        ("longer", "data follows from byte"),
        ("header", "the header of the file is damaged"),
    ] {
        let run = bench.run(&["verify", "-k", "key", "in.pld", name, "in.pld"]);
        assert_eq!(run.status.code(), Some(4), "{run:?}");
        let lines = format!("in.pld: OK\n{name}: FAILED\nin.pld: OK\n");
        assert_eq!(String::from_utf8(run.stdout).unwrap(), lines);
        assert!(run.stderr.starts_with(&format!("error: \"{name}\": ")), "{}", run.stderr);
        assert!(run.stderr.contains(says), "{}", run.stderr);
        // A pipe gets what is before the damage, as from `decrypt`; a file appears not at all.
        let run = bench.run(&["cat", "-k", "key", name]);
        assert_eq!(run.status.code(), Some(4), "{run:?}");
        assert!(run.stderr.contains(says), "{}", run.stderr);
        let before = if name == "flipped" { CHUNK } else { 0 };
        assert!(run.stdout == plain[..before], "{name}");
        let run = bench.run(&["cat", "-k", "key", name, "-o", "out"]);
        assert_eq!(run.status.code(), Some(4), "{run:?}");
        assert!(!bench.path("out").exists());
    }
    // Damage elsewhere does not matter.
    let cat = ["cat", "-k", "key", "--offset", "2K", "flipped"];
    assert!(bench.ok(&cat) == plain[2 * CHUNK..]);
    assert!(bench.ok("cat -k key --length 1K flipped") == plain[..CHUNK]);
}

#[test]
fn verify_says_what_it_could_not_check() {
    let bench = Bench::new();
    bench.write("in", "secret");
    bench.ok("encrypt -k key in");
    bench.ok("keygen -o other");
    bench.ok("encrypt -k other in -o b.pld");
    let run = bench.run("verify -k key missing b.pld in.pld in");
    assert_eq!(run.status.code(), Some(1), "the first failure: {run:?}");
    let lines =
        b"missing: FAILED open or read\nb.pld: FAILED open or read\nin.pld: OK\nin: FAILED\n";
    assert_eq!(run.stdout, lines);
    assert_eq!(run.stderr.matches("error: ").count(), 3, "{}", run.stderr);
    assert_eq!(bench.run("verify -k key b.pld").status.code(), Some(3));
    // With -q only failures are printed. A file can come from standard input, and one of several
    // keys may open none of the files.
    assert!(bench.ok("verify -q -k key -k other in.pld b.pld").is_empty());
    let run = bench.run("verify -q -k key b.pld in.pld");
    assert_eq!(run.stdout, b"b.pld: FAILED open or read\n");
    for args in ["verify -k key", "verify -k key -"] {
        let run = bench.run_with_input(args, &bench.read("in.pld"));
        assert!(run.status.success() && run.stdout == b"-: OK\n", "{run:?}");
    }
    bench.fails("verify -k in in.pld in.pld", 1, "not a Palladion key");
    assert_eq!(bench.names(), ["b.pld", "in", "in.pld", "key", "other"]);
}

#[test]
fn info_without_a_key() {
    let bench = Bench::new();
    for (name, len, chunks, on_disk) in [
        ("0", 0, 1, 128 + 36),
        ("1", 1, 1, 128 + 37),
        ("1024", CHUNK, 1, 128 + CHUNK + 36),
        ("1025", CHUNK + 1, 2, 128 + CHUNK + 1 + 2 * 36),
    ] {
        bench.write(name, text(len));
        bench.ok(&format!("encrypt -k key --chunk-size 1K {name}"));
        let expected = format!(
            "file:        {name}.pld\nversion:     1\nalgorithm:   AEGIS-256X2\n\
             chunk size:  1024\nsecret:      key\nsize:        {len}\nchunks:      {chunks}\n\
             on disk:     {on_disk}\n\
             verified:    nothing (info uses no key; see palladion verify)\n"
        );
        assert_eq!(bench.shows(&format!("info {name}.pld")), expected);
    }
    // A passphrase and its cost, in JSON.
    bench.private("words", "open sesame");
    bench.ok("encrypt --passphrase-file words --kdf-memory 1M -a AEGIS-128L 1024 -o words.pld");
    // Windows has no such names.
    let name = if cfg!(windows) { "a b.pld" } else { "a \"b\".pld" };
    std::fs::rename(bench.path("words.pld"), bench.path(name)).unwrap();
    let json = bench.shows(&["info", "--json", name, "1.pld"]);
    let expected = concat!(
        r#","version":1,"algorithm":"AEGIS-128L","chunk_size":1048576,"#,
        r#""key_slots":null,"#,
        r#""secrets":[{"kind":"passphrase","kdf":"Argon2id","memory":1048576,"passes":3,"#,
        r#""lanes":4}],"bound":false,"size":1024,"chunks":1,"on_disk":1188,"verified":false}"#,
        "\n",
        r#"{"file":"1.pld","version":1,"algorithm":"AEGIS-256X2","chunk_size":1024,"#,
        r#""key_slots":null,"#,
        r#""secrets":[{"kind":"key"}],"bound":false,"size":1,"chunks":1,"on_disk":165,"#,
        r#""verified":false}"#,
        "\n",
    );
    let shown = name.replace('"', r#"\""#);
    assert_eq!(json, format!(r#"{{"file":"{shown}"{expected}"#));
    let text = bench.shows(&["info", name, "1.pld"]);
    let secret = "secret:      passphrase (Argon2id: memory 1 MiB, passes 3, lanes 4)\n";
    assert!(text.contains(secret) && text.contains("verify)\n\nfile:        1.pld\n"), "{text}");

    // From a pipe, whose length nobody knows.
    let start = &bench.read("1024.pld")[..128];
    let run = bench.run_with_input("info --json -", start);
    assert!(run.status.success(), "{run:?}");
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(text.contains(r#""size":null,"chunks":null,"on_disk":null"#), "{text}");

    // Lengths that no file has, and other files.
    bench.write("bad", &bench.read("1025.pld")[..128 + CHUNK + 36 + 36]);
    for (option, line) in [("-q", "size:        unknown\n"), ("--json", r#""size":null"#)] {
        let run = bench.run(&["info", option, "bad", "1.pld"]);
        let text = String::from_utf8(run.stdout).unwrap();
        assert!(text.contains(line) && text.contains("1.pld"), "{text}");
        assert_eq!(run.status.code(), Some(4));
        assert!(run.stderr.contains("no file has 1224 bytes"), "{}", run.stderr);
    }
    bench.write("bad", &bench.read("1.pld")[..127]);
    bench.fails("info bad", 4, "it ends within the header, after 127 bytes");
    bench.fails("info 1", 4, "not a Palladion file");
    bench.fails("info missing", 1, "cannot open");
    assert_eq!(bench.run("info").status.code(), Some(2));
}
