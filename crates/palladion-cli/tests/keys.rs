//! Key files, passphrases and MACs.

use crate::common::*;

#[test]
fn key_files() {
    let bench = Bench::new();
    let key = String::from_utf8(bench.read("key")).unwrap();
    let (line, check) = key.split_once('\n').unwrap();
    assert!(line.starts_with("palladion-key-1:") && line.len() == 80, "{key}");
    assert!(check.starts_with("# check: ") && check.ends_with('\n') && check.len() == 18, "{key}");
    bench.fails(&["keygen", "-o", "key"], 1, "already exists");
    assert_eq!(bench.read("key"), key.as_bytes());
    let run = bench.run(&["keygen", "-o", "key", "--force"]);
    assert!(run.status.success() && run.stderr.contains("kept the old file as"), "{run:?}");
    assert_ne!(bench.read("key"), key.as_bytes());
    assert_eq!(bench.ok(&["keygen", "-o", "-"]).len(), 99);

    bench.write("in", "secret");
    // A wrong digit, which old readers take for another key.
    let digit = if &key[20..21] == "0" { "1" } else { "0" };
    let mistyped = format!("{}{digit}{}", &key[..20], &key[21..]);
    for wrong in ["", "nonsense", &key[..70], &format!("{key}{key}"), &mistyped] {
        bench.write("key", wrong);
        bench.fails(&["encrypt", "-k", "key", "-o", "-", "in"], 1, "\"key\": ");
    }
    bench.write("key", b"\xff\xfe");
    bench.fails(&["encrypt", "-k", "key", "-o", "-", "in"], 1, "not a text file");
    // With more around it; without the line that checks it, as older versions wrote it.
    for good in [format!("# mine\n\n  {key}\n"), format!("{line}\n")] {
        bench.write("key", good);
        bench.ok(&["encrypt", "-k", "key", "-o", "-", "in"]);
    }
}

#[test]
fn replaced_keys_are_kept() {
    let bench = Bench::new();
    bench.write("in", "secret");
    bench.ok(&["encrypt", "-k", "key", "in"]);
    let first = bench.read("key");
    let names = |bench: &Bench| bench.names().join(" ");
    assert!(bench.run(&["keygen", "-f", "-o", "key"]).status.success());
    let second = bench.read("key");
    bench.ok(&["keygen", "-q", "-f", "-o", "key"]);
    assert_eq!(names(&bench), "in in.pld key key.old-1 key.old-2");
    assert_eq!((bench.read("key.old-1"), bench.read("key.old-2")), (first, second));
    bench.ok(&["decrypt", "-k", "key.old-1", "-f", "in.pld"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(bench.path("key.old-1")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    // Whatever it is: it may be the key of another program. An empty file is nothing to keep.
    let age = format!("AGE-SECRET-KEY-1{}", "Q".repeat(200_000));
    bench.write("in", &age);
    assert!(bench.run(&["keygen", "-f", "-o", "in"]).status.success());
    assert!(bench.read("in.old-1") == age.as_bytes());
    bench.write("in", "");
    bench.ok(&["keygen", "-f", "-o", "in"]);
    assert_eq!(names(&bench), "in in.old-1 in.pld key key.old-1 key.old-2");
    // Also the default key.
    for _ in 0..2 {
        let run = bench.run(&["keygen", "-f"]);
        assert!(run.status.success() && run.stderr.contains("created the key file"), "{run:?}");
    }
    let default = if cfg!(windows) { "home/palladion" } else { "home/.config/palladion" };
    assert!(bench.path(default).join("key.old-1").exists());
}

/// Several at once, so that each key that was reported is in a file.
#[test]
fn keys_that_replace_each_other_are_kept() {
    let bench = Bench::new();
    for force in [false, true] {
        let args = ["keygen", "-f", "-o", "new"];
        let children: Vec<_> = (0..6)
            .map(|at| {
                let args = if force || at % 2 == 0 { &args[..] } else { &["keygen", "-o", "new"] };
                bench.command(args).spawn().unwrap()
            })
            .collect();
        let runs: Vec<_> = children.into_iter().map(finish).collect();
        let done = runs.iter().filter(|run| run.status.success()).count();
        assert!(done >= if force { 6 } else { 3 }, "{runs:?}");
        let mut keys: Vec<_> = bench.names();
        keys.retain(|name| name.starts_with("new"));
        let mut texts: Vec<_> = keys.iter().map(|name| bench.read(name)).collect();
        texts.sort();
        texts.dedup();
        assert_eq!((keys.len(), texts.len()), (done, done), "{runs:?}");
        for name in keys {
            std::fs::remove_file(bench.path(&name)).unwrap();
        }
    }
}

#[test]
fn a_key_does_not_encrypt_itself() {
    let bench = Bench::new();
    bench.write("in", "secret");
    bench.write("passphrase", "open sesame");
    chmod(&bench, "passphrase", 0o600);
    bench.write("copy", [b"# mine\n", &bench.read("key")[..]].concat());
    let says = "that would encrypt it";
    for input in ["key", "copy"] {
        let stderr = bench.fails(&["encrypt", "-k", "key", input], 2, says);
        assert!(stderr.contains("with a passphrase (-p)"), "{stderr}");
        bench.fails(&["raf", "import", "-k", "key", input, "f.raf"], 2, says);
        bench.ok(&["encrypt", "--passphrase-file", "passphrase", input]);
    }
    if cfg!(unix) {
        let args = ["encrypt", "--passphrase-file", "passphrase", "passphrase"];
        bench.fails(&args, 2, says);
    }
    // The others are encrypted all the same.
    let run = bench.run(&["encrypt", "-f", "-k", "key", "in", "key", "passphrase"]);
    assert_eq!((run.status.code(), run.stderr.matches("error: ").count()), (Some(2), 1), "{run:?}");
    assert!(bench.path("in.pld").exists() && bench.path("passphrase.pld").exists());
    bench.ok(&["keygen", "-o", "other"]);
    bench.ok(&["encrypt", "-f", "-k", "other", "key"]);
    assert_eq!(bench.ok(&["decrypt", "-k", "other", "-o", "-", "key.pld"]), bench.read("key"));
}

#[test]
fn fingerprints() {
    let bench = Bench::new();
    bench.write("in", "secret");
    bench.ok(&["encrypt", "-k", "key", "in"]);
    bench.ok(&["keygen", "-o", "other"]);
    let of = |name: &str| {
        let text = String::from_utf8(bench.read(name)).unwrap();
        text.trim_end()[text.len() - 9..].to_string()
    };
    let lines = String::from_utf8(bench.ok(&["fingerprint", "key", "other"])).unwrap();
    assert_eq!(lines, format!("{}  key\n{}  other\n", of("key"), of("other")));
    let run = bench.run_with_input(&["fingerprint", "-"], &bench.read("key"));
    assert_eq!(run.stdout, format!("{}  -\n", of("key")).as_bytes());
    bench.fails(&["fingerprint"], 2, "no default key file");
    bench.fails(&["fingerprint", "in"], 1, "not a Palladion key");
    let run = bench.run(&["fingerprint", "missing", "key"]);
    assert_eq!((run.status.code(), run.stdout.len()), (Some(1), 14), "{run:?}");

    // A new default key shows it, and messages name the key that was tried.
    let run = bench.run(&["keygen"]);
    let default = String::from_utf8(bench.ok(&["fingerprint"])).unwrap();
    assert!(
        run.stderr.contains(&format!("fingerprint of the key: {}\n", &default[..8])),
        "{run:?}"
    );
    let tried = format!("(tried key {})", of("other"));
    bench.fails(&["decrypt", "-k", "other", "-o", "-", "in.pld"], 3, &tried);
    bench.ok(&["raf", "import", "-k", "key", "in", "in.raf"]);
    bench.fails(&["raf", "verify", "-k", "other", "in.raf"], 3, &tried);
    bench.write("MACS", bench.ok(&["mac", "-k", "key", "in"]));
    let run = bench.run(&["mac", "-k", "other", "--check", "MACS"]);
    assert!(run.stderr.contains(&tried), "{run:?}");
}

#[cfg(unix)]
pub fn chmod(bench: &Bench, name: &str, mode: u32) {
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(bench.path(name), permissions).unwrap();
}

#[cfg(not(unix))]
pub fn chmod(_: &Bench, _: &str, _: u32) {}

#[test]
fn passphrases() {
    let bench = Bench::new();
    bench.write("in", "secret");
    for (name, passphrase) in [
        ("good", "open sesame\nmore\n"),
        ("same", "open sesame"),
        ("wrong", "Open sesame"),
        ("empty", "\n"),
    ] {
        bench.write(name, passphrase);
        chmod(&bench, name, 0o600);
    }
    bench.ok(&["encrypt", "--passphrase-file", "good", "-o", "sealed", "in"]);
    assert_eq!(bench.ok(&["decrypt", "--passphrase-file", "same", "-o", "-", "sealed"]), b"secret");
    bench.fails(
        &["decrypt", "--passphrase-file", "wrong", "-o", "out", "sealed"],
        3,
        "not the passphrase",
    );
    bench.fails(&["encrypt", "--passphrase-file", "empty", "-o", "-", "in"], 2, "empty");
    for (bad, message) in [
        (&b""[..], "the first line of \"bad\" is empty"),
        (b"\r\nopen sesame\n", "the first line of \"bad\" is empty"),
        (b"\xef\xbb\xbf\n", "the first line of \"bad\" is empty"),
        (b" \t \n", "is empty but for spaces"),
        (b"open\0sesame", "contains a zero byte"),
        (b"o\0p\0e\0n\0\n\0", "is it UTF-16?"),
        (b"caf\xe9\n", "is not UTF-8 text"),
        (b"age1ql3z7\n", "is a recipient"),
        (b"ssh-ed25519 AAAA bob\n", "is a recipient"),
        (b"# public key: age1ql3z7\nAGE-SECRET-KEY-1", "is an identity"),
        (&bench.read("key"), "is a key"),
    ] {
        bench.write("bad", bad);
        chmod(&bench, "bad", 0o600);
        bench.fails(&["encrypt", "--passphrase-file", "bad", "-o", "-", "in"], 2, message);
        bench.fails(&["raf", "create", "--passphrase-file", "bad", "new"], 2, message);
    }
    // Other programs may have used such a passphrase.
    bench.write("bad", b"caf\xe9\n");
    let mut file = Vec::new();
    let latin = palladion_file::Passphrase::new(*b"caf\xe9");
    palladion_file::Encryptor::new(&latin).run(&b"secret"[..], &mut file).unwrap();
    bench.write("latin", file);
    assert_eq!(bench.ok(&["decrypt", "--passphrase-file", "bad", "-o", "-", "latin"]), b"secret");
    bench.write("bad", b"age1ql3z7\n");
    let mut file = Vec::new();
    let recipient = palladion_file::Passphrase::new("age1ql3z7");
    palladion_file::Encryptor::new(&recipient).run(&b"secret"[..], &mut file).unwrap();
    bench.write("old", file);
    assert_eq!(bench.ok(&["decrypt", "--passphrase-file", "bad", "-o", "-", "old"]), b"secret");
    let stderr = bench.fails(&["encrypt", "--passphrase-file", "bad", "in"], 2, "could open");
    assert!(stderr.contains("use -r RECIPIENT or -R FILE"), "{stderr}");
    let stderr = bench.fails(
        &["decrypt", "-k", "key", "-o", "-", "sealed"],
        3,
        "with a passphrase, not with a key file",
    );
    assert!(stderr.contains("use -p or --passphrase-file"));
    bench.ok(&["encrypt", "-k", "key", "-o", "keyed", "in"]);
    bench.fails(
        &["decrypt", "--passphrase-file", "good", "-o", "-", "keyed"],
        3,
        "with a key file, not with a passphrase",
    );
}

#[test]
fn costs_of_a_passphrase() {
    let bench = Bench::new();
    bench.write("in", "secret");
    bench.write("passphrase", "open sesame");
    chmod(&bench, "passphrase", 0o600);
    let secret = ["--passphrase-file", "passphrase"];
    let run = |args: &[&'static str]| [args, &secret].concat();
    let costs = |memory: u32, passes: u32| [memory, passes, 4].map(u32::to_le_bytes).concat();
    for (options, expected) in [
        (&[][..], costs(64 << 10, 3)),
        (&["--kdf-passes", "1"], costs(64 << 10, 1)),
        (&["--kdf-memory", "1M", "--kdf-passes", "17"], costs(1024, 17)),
    ] {
        let made = bench.run(&run(&[&["encrypt", "-f", "in"], options].concat()));
        assert!(made.status.success(), "{made:?}");
        assert_eq!(bench.read("in.pld")[48..60], expected);
        let warns = made.stderr.starts_with("warning: ");
        assert_eq!(warns, expected == costs(1024, 17), "{made:?}");
        assert!(!warns || made.stderr.contains("--max-kdf-memory 4352K"), "{made:?}");
    }
    // Too many passes.
    let decrypt = run(&["decrypt", "-o", "-", "in.pld"]);
    let stderr = bench.fails(&decrypt, 1, "passes 17, at most 16 allowed");
    assert!(stderr.contains("--max-kdf-memory 4352K"), "{stderr}");
    // Before anyone is asked for it, which would fail without a terminal.
    for open in [&["decrypt", "-o", "-"][..], &["cat"], &["cat", "-p"]] {
        bench.fails(&[open, &["in.pld"]].concat(), 1, "passes 17, at most 16 allowed");
    }
    let verified = bench.run(&["verify", "in.pld"]);
    assert!(verified.stderr.contains("passes 17, at most 16 allowed"), "{verified:?}");
    assert_eq!(verified.stdout, b"in.pld: FAILED open or read\n");
    assert_eq!(bench.ok(&[&decrypt[..], &["--max-kdf-memory", "4352K"]].concat()), b"secret");
    bench.fails(&[&decrypt[..], &["--max-kdf-memory", "4M"]].concat(), 1, "times passes 17408");
    let args = ["encrypt", "-k", "key", "--kdf-passes", "4", "-o", "-", "in"];
    bench.fails(&args, 2, "are for a passphrase");
    for memory in ["8K", "100T"] {
        bench.fails(&run(&["encrypt", "--kdf-memory", memory, "in"]), 2, "from 32K to 4095G");
    }
}

#[cfg(unix)]
#[test]
fn secrets_that_others_can_read() {
    let bench = Bench::new();
    bench.write("in", "secret");
    for mode in [0o640, 0o604, 0o644, 0o660, 0o666] {
        chmod(&bench, "key", mode);
        let what = if mode & 0o022 == 0 { "read" } else { "read and change" };
        let says = format!("other users can {what} \"key\"");
        let stderr = bench.fails(&["encrypt", "-k", "key", "-o", "-", "in"], 1, &says);
        assert!(stderr.contains("chmod 600 FILE"), "{stderr}");
        bench.fails(
            &["encrypt", "--passphrase-file", "key", "-o", "-", "in"],
            1,
            "other users can read",
        );
        bench.fails(&["mac", "-k", "key", "in"], 1, "other users can read");
    }
    chmod(&bench, "key", 0o602);
    bench.fails(&["encrypt", "-k", "key", "-o", "-", "in"], 1, "other users can change \"key\"");
    // Who may read standard input is up to the shell.
    let key = std::fs::File::open(bench.path("key")).unwrap();
    let run =
        finish(bench.command(&["encrypt", "-k", "-", "-o", "-", "in"]).stdin(key).spawn().unwrap());
    assert!(run.status.success() && run.stderr.is_empty(), "{run:?}");
    // What the hint says, also if standard input is the data.
    let script = "$P encrypt -k /dev/fd/3 < in 3< key";
    let run = finish(bench.shell(script).spawn().unwrap());
    assert!(run.status.success() && run.stderr.is_empty(), "{run:?}");
    // What is no key at all needs no permissions.
    chmod(&bench, "in", 0o644);
    bench.fails(&["encrypt", "-k", "in", "-o", "-", "in"], 1, "not a Palladion key");
    // Secrets of services, which nobody may write.
    for mode in [0o400, 0o440, 0o444] {
        chmod(&bench, "key", mode);
        bench.ok(&["encrypt", "-k", "key", "-o", "-", "in"]);
    }
    // Others decide about theirs. (Only root can give a file away.)
    chmod(&bench, "key", 0o644);
    if std::os::unix::fs::chown(bench.path("key"), Some(12345), None).is_ok() {
        bench.ok(&["encrypt", "-k", "key", "-o", "-", "in"]);
    }
}

#[test]
fn macs() {
    let bench = Bench::new();
    bench.write("a", text(3_000_000));
    bench.write("b c", "");
    let sums = bench.ok(&["mac", "-k", "key", "a", "b c"]);
    let lines: Vec<_> = sums.split(|&byte| byte == b'\n').collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].ends_with(b"  a") && lines[0].len() == 67 && lines[1].ends_with(b"  b c"));
    bench.write("SUMS", &sums);
    assert_eq!(bench.ok(&["mac", "-k", "key", "--check", "SUMS"]), b"a: OK\nb c: OK\n");
    assert_eq!(bench.ok(&["mac", "-k", "key", "--check", "--quiet", "SUMS"]), b"");
    let run = bench.run_with_input(&["mac", "-k", "key", "--check"], &sums);
    assert_eq!((run.status.code(), &run.stdout[..]), (Some(0), &b"a: OK\nb c: OK\n"[..]));
    // The same bytes from a pipe.
    let run = bench.run_with_input(&["mac", "-k", "key"], &bench.read("a"));
    assert_eq!(run.stdout, [&lines[0][..64], b"  -\n"].concat());

    // A change, a missing file, another key, another algorithm.
    bench.write("b c", "x");
    let run = bench.run(&["mac", "-k", "key", "--check", "--quiet", "SUMS"]);
    assert_eq!((run.status.code(), &run.stdout[..]), (Some(1), &b"b c: FAILED\n"[..]));
    assert!(run.stderr.contains("1 file failed verification"), "{run:?}");
    std::fs::remove_file(bench.path("b c")).unwrap();
    let run = bench.run(&["mac", "-k", "key", "--check", "SUMS"]);
    assert_eq!(
        (run.status.code(), &run.stdout[..]),
        (Some(1), &b"a: OK\nb c: FAILED open or read\n"[..])
    );
    assert!(run.stderr.contains("cannot open \"b c\""), "{run:?}");
    // That says nothing about the key.
    assert!(run.stderr.ends_with("error: 1 file could not be read\n"), "{run:?}");
    bench.write("a", "x");
    let run = bench.run(&["mac", "-k", "key", "--check", "SUMS"]);
    assert!(run.stderr.contains("1 file failed verification, 1 file could not be read"), "{run:?}");
    bench.write("a", text(3_000_000));
    bench.ok(&["keygen", "-o", "other"]);
    assert_eq!(bench.run(&["mac", "-k", "other", "--check", "SUMS"]).status.code(), Some(1));
    let run = bench.run(&["mac", "-k", "key", "-a", "aegis-128l", "--check", "SUMS"]);
    assert_eq!(run.status.code(), Some(1));

    let run = bench.run(&["mac", "-k", "key", "missing", "a"]);
    assert_eq!(run.status.code(), Some(1));
    assert_eq!(run.stdout, [lines[0], b"\n"].concat());
    bench.write("SUMS", "nonsense\n");
    bench.fails(&["mac", "-k", "key", "--check", "SUMS"], 1, "\"SUMS\": line 1 is not a MAC");
}

#[test]
fn lists_with_something_wrong() {
    let bench = Bench::new();
    bench.write("a", "text");
    let line = bench.ok(&["mac", "-k", "key", "a"]);
    for empty in ["", "\n\r\n"] {
        bench.write("SUMS", empty);
        bench.fails(&["mac", "-k", "key", "--check", "SUMS"], 1, "\"SUMS\": the list is empty");
    }
    bench.write("SUMS", [b"nonsense\n", &line[..], b"more nonsense\n", &line[..]].concat());
    bench.write("LONG", [&line[..], &[b'x'; 70_000]].concat());
    let run = bench.run(&["mac", "-k", "key", "--check", "missing", "SUMS", "LONG"]);
    assert_eq!((run.status.code(), &run.stdout[..]), (Some(1), &b"a: OK\na: OK\na: OK\n"[..]));
    for message in [
        "cannot open \"missing\"",
        "\"SUMS\": line 1 is not a MAC",
        "\"SUMS\": 2 lines could not be checked",
        "\"LONG\": line 2 is too long",
        "3 lists could not be checked completely",
    ] {
        assert!(run.stderr.contains(message), "{message}: {run:?}");
    }
    bench.write("SUMS", [&line[..], b"\n"].concat());
    bench.ok(&["mac", "-k", "key", "--check", "SUMS"]);

    // A name may not command the terminal.
    bench.write("SUMS", format!("{}  \x1b[2Ja\u{9b}\n", "00".repeat(32)));
    let run = bench.run(&["mac", "-k", "key", "--check", "SUMS"]);
    assert_eq!(
        (run.status.code(), &run.stdout[..]),
        (Some(1), &b"\\u{1b}[2Ja\\u{9b}: FAILED open or read\n"[..])
    );
    assert!(!run.stderr.contains('\x1b'));
}

#[test]
fn secrets_that_are_too_long() {
    let bench = Bench::new();
    bench.write("long", "x".repeat(64 * 1024 + 1));
    bench.write("limit", "x".repeat(64 * 1024));
    for name in ["long", "limit"] {
        chmod(&bench, name, 0o600);
    }
    bench.fails(
        &["encrypt", "--passphrase-file", "long", "-o", "-", "key"],
        1,
        "\"long\" is longer than 64 KiB",
    );
    bench.fails(&["encrypt", "-k", "long", "-o", "-", "key"], 1, "\"long\" is longer than 64 KiB");
    bench.ok(&["encrypt", "--passphrase-file", "limit", "-o", "-", "key"]);
}

#[cfg(unix)]
#[test]
fn macs_of_files_with_strange_names() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    for name in [&b"new\nline"[..], b"back\\slash", b"\xff\xfe", b"\\n", b" lead", b"cr\r"] {
        let name = std::ffi::OsStr::from_bytes(name);
        std::fs::write(bench.dir().join(name), "x").unwrap();
        let run = finish(bench.command(&["mac", "-k", "key"]).arg(name).spawn().unwrap());
        assert_eq!(run.stdout.iter().filter(|&&byte| byte == b'\n').count(), 1);
        bench.write("SUMS", &run.stdout);
        let checked = bench.ok(&["mac", "-k", "key", "--check", "SUMS"]);
        assert!(checked.ends_with(b": OK\n"));
    }
}

#[test]
fn a_mark_before_the_text_is_ignored() {
    let bench = Bench::new();
    bench.write("in", "secret");
    let key = bench.read("key");
    let marked = |text: &[u8]| [b"\xef\xbb\xbf", text].concat();
    for (name, bytes) in [
        ("plain", b"open sesame\n".to_vec()),
        ("marked", marked(b"open sesame\r\n")),
        ("key2", marked(&key)),
    ] {
        bench.write(name, bytes);
        #[cfg(unix)]
        chmod(&bench, name, 0o600);
    }
    bench.ok(&["encrypt", "--passphrase-file", "plain", "-o", "sealed", "in"]);
    assert_eq!(
        bench.ok(&["decrypt", "--passphrase-file", "marked", "-o", "-", "sealed"]),
        b"secret"
    );
    bench.ok(&["encrypt", "-k", "key", "-f", "-o", "sealed", "in"]);
    assert_eq!(bench.ok(&["decrypt", "-k", "key2", "-o", "-", "sealed"]), b"secret");
    let list = bench.ok(&["mac", "-k", "key", "in"]);
    bench.write("MACS", [marked(&list), marked(&list)].concat());
    assert_eq!(bench.ok(&["mac", "-k", "key", "--check", "MACS"]), b"in: OK\nin: OK\n");
}

#[test]
fn utf16_gets_a_hint() {
    let bench = Bench::new();
    bench.write("in", "secret");
    let key = String::from_utf8(bench.read("key")).unwrap();
    let list = String::from_utf8(bench.ok(&["mac", "-k", "key", "in"])).unwrap();
    type Encode = fn(&str) -> Vec<u8>;
    let encodings: [Encode; 3] = [
        |text| {
            "\u{feff}".chars().chain(text.chars()).flat_map(|c| (c as u16).to_le_bytes()).collect()
        },
        |text| {
            "\u{feff}".chars().chain(text.chars()).flat_map(|c| (c as u16).to_be_bytes()).collect()
        },
        |text| text.chars().flat_map(|c| (c as u16).to_le_bytes()).collect(),
    ];
    for (number, encode) in encodings.into_iter().enumerate() {
        bench.write("wide", encode(&key));
        chmod(&bench, "wide", 0o600);
        let message = "\"wide\" is not a text file in UTF-8";
        let stderr = bench.fails(&["encrypt", "-k", "wide", "-o", "-", "in"], 1, message);
        assert!(stderr.contains("save it as UTF-8"), "{stderr}");
        bench.write("wide", encode("open sesame\r\n"));
        let (status, message) = if number < 2 { (1, message) } else { (2, "is it UTF-16?") };
        let args = ["encrypt", "--passphrase-file", "wide", "-o", "-", "in"];
        let stderr = bench.fails(&args, status, message);
        assert!(stderr.contains("UTF-8"), "{stderr}");
        bench.write("wide", encode(&list));
        let run = bench.run(&["mac", "-k", "key", "--check", "wide"]);
        assert_eq!((run.status.code(), run.stdout.len()), (Some(1), 0), "{run:?}");
        assert!(run.stderr.contains("\"wide\" is UTF-16 text\nhint: save it as UTF-8"), "{run:?}");
    }
}

#[test]
fn lists_from_windows() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("dir")).unwrap();
    bench.write("dir/a", "text");
    let line = String::from_utf8(bench.ok(&["mac", "-k", "key", "dir/a"])).unwrap();
    let tag = &line[..64];
    // As it is, and as this program wrote it there.
    for list in [format!("{tag}  dir\\a\r\n"), format!("\\{tag}  dir\\\\a\r\n")] {
        bench.write("MACS", list);
        let run = bench.run(&["mac", "-k", "key", "--check", "MACS"]);
        assert!(run.status.success() && run.stdout.ends_with(b": OK\n"), "{run:?}");
    }
    // A file that has this very name goes first.
    if cfg!(unix) {
        bench.write("dir\\a", "other");
        let run = bench.run(&["mac", "-k", "key", "--check", "MACS"]);
        assert_eq!(run.status.code(), Some(1), "{run:?}");
    }
}

#[test]
fn a_damaged_key_is_no_reason_to_make_a_new_one() {
    let bench = Bench::new();
    bench.write("in", "secret");
    bench.ok(&["encrypt", "-k", "key", "-o", "sealed", "in"]);
    let key = bench.read("key");
    for at in [2, 20] {
        let mut key = key.clone();
        key[at] = b'!';
        std::fs::remove_file(bench.path("key")).unwrap();
        bench.write("key", key);
        #[cfg(unix)]
        chmod(&bench, "key", 0o600);
        let stderr = bench.fails(&["decrypt", "-k", "key", "-o", "-", "sealed"], 1, "\"key\"");
        assert!(stderr.contains("use a copy of it") && !stderr.contains("keygen"), "{stderr}");
    }
}
