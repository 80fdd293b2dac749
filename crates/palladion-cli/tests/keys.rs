//! Key files, passphrases and MACs.

use std::collections::HashSet;

use crate::common::*;

#[test]
fn key_files() {
    let bench = Bench::new();
    let key = String::from_utf8(bench.read("key")).unwrap();
    let (line, check) = key.split_once('\n').unwrap();
    assert!(line.starts_with("palladion-key-1:") && line.len() == 80, "{key}");
    assert!(check.starts_with("# check: ") && check.ends_with('\n') && check.len() == 18, "{key}");
    bench.fails("keygen -o key", 1, "already exists");
    assert_eq!(bench.read("key"), key.as_bytes());
    assert!(bench.says("keygen -o key --force").contains("kept the old file as"));
    assert_ne!(bench.read("key"), key.as_bytes());
    assert_eq!(bench.ok("keygen -o -").len(), 99);

    bench.write("in", "secret");
    // A wrong digit, which old readers take for another key.
    let digit = if &key[20..21] == "0" { "1" } else { "0" };
    let mistyped = format!("{}{digit}{}", &key[..20], &key[21..]);
    let (twice, mark) = (key.repeat(2), format!("{}!{}", &key[..2], &key[3..]));
    let a_copy = "use a copy of it";
    for (wrong, message, hint) in [
        (&b""[..], "\"key\": ", ""),
        (b"nonsense", "\"key\": not a Palladion key", ""),
        (&key.as_bytes()[..70], "\"key\": ", a_copy),
        (twice.as_bytes(), "\"key\": ", ""),
        (mistyped.as_bytes(), "\"key\": ", a_copy),
        (mark.as_bytes(), "\"key\": ", a_copy),
        (b"\xff\xfe", "not a text file", ""),
        (&[b'x'; 64 * 1024 + 1], "\"key\" is longer than 64 KiB", ""),
    ] {
        bench.write("key", wrong);
        let stderr = bench.fails("encrypt -k key -o - in", 1, message);
        let is_damaged = hint == a_copy;
        assert!(stderr.contains(hint) && !(is_damaged && stderr.contains("keygen")), "{stderr}");
    }
    // With more around it; without the line that checks it, as older versions wrote it.
    for good in [format!("# mine\n\n  {key}\n"), format!("{line}\n")] {
        bench.write("key", good);
        bench.ok("encrypt -k key -o - in");
    }
}

#[test]
fn replaced_keys_are_kept() {
    let bench = Bench::new();
    bench.write("in", "secret");
    bench.ok("encrypt -k key in");
    let first = bench.read("key");
    let names = |bench: &Bench| bench.names().join(" ");
    assert!(bench.run("keygen -f -o key").status.success());
    let second = bench.read("key");
    bench.ok("keygen -q -f -o key");
    assert_eq!(names(&bench), "in in.pld key key.old-1 key.old-2");
    assert_eq!((bench.read("key.old-1"), bench.read("key.old-2")), (first, second));
    bench.ok("decrypt -k key.old-1 -f in.pld");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(bench.path("key.old-1")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    // Whatever it is: it may be the key of another program. An empty file is nothing to keep.
    let age = format!("AGE-SECRET-KEY-1{}", "Q".repeat(200_000));
    bench.write("in", &age);
    assert!(bench.run("keygen -f -o in").status.success());
    assert!(bench.read("in.old-1") == age.as_bytes());
    bench.write("in", "");
    bench.ok("keygen -f -o in");
    assert_eq!(names(&bench), "in in.old-1 in.pld key key.old-1 key.old-2");
    // Also the default key.
    for _ in 0..2 {
        let run = bench.run("keygen -f");
        assert!(run.status.success() && run.stderr.contains("created the key file"), "{run:?}");
    }
    let default = if cfg!(windows) { "home/palladion" } else { "home/.config/palladion" };
    assert!(bench.path(default).join("key.old-1").exists());
}

/// Several at once, so that each key that was reported is in a file.
#[test]
fn keys_that_replace_each_other_are_kept() {
    let bench = Bench::new();
    for (other, at_least) in [("keygen -o new", 3), ("keygen -f -o new", 6)] {
        let both = [other, "keygen -f -o new"];
        let children: Vec<_> =
            (0..6).map(|at| bench.command(both[at % 2]).spawn().unwrap()).collect();
        let runs: Vec<_> = children.into_iter().map(finish).collect();
        let done = runs.iter().filter(|run| run.status.success()).count();
        assert!(done >= at_least, "{runs:?}");
        let keys: Vec<_> =
            bench.names().into_iter().filter(|name| name.starts_with("new")).collect();
        let texts: HashSet<_> = keys.iter().map(|name| bench.read(name)).collect();
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
    bench.private("passphrase", "open sesame");
    bench.write("copy", [b"# mine\n", &bench.read("key")[..]].concat());
    let says = "that would encrypt it";
    for input in ["key", "copy"] {
        let stderr = bench.fails(&["encrypt", "-k", "key", input], 2, says);
        assert!(stderr.contains("with a passphrase (-p)"), "{stderr}");
        bench.fails(&["raf", "import", "-k", "key", input, "f.raf"], 2, says);
        bench.ok(&format!("encrypt --passphrase-file passphrase {input}"));
    }
    if cfg!(unix) {
        bench.fails("encrypt --passphrase-file passphrase passphrase", 2, says);
    }
    // The others are encrypted all the same.
    let run = bench.run("encrypt -f -k key in key passphrase");
    assert_eq!((run.status.code(), run.stderr.matches("error: ").count()), (Some(2), 1), "{run:?}");
    assert!(bench.path("in.pld").exists() && bench.path("passphrase.pld").exists());
    bench.ok("keygen -o other");
    bench.ok("encrypt -f -k other key");
    assert_eq!(bench.ok("decrypt -k other -o - key.pld"), bench.read("key"));
}

#[test]
fn fingerprints() {
    let bench = Bench::new();
    bench.write("in", "secret");
    bench.ok("encrypt -k key in");
    bench.ok("keygen -o other");
    let of = |name: &str| {
        let text = String::from_utf8(bench.read(name)).unwrap();
        text.trim_end()[text.len() - 9..].to_string()
    };
    let lines = bench.shows("fingerprint key other");
    assert_eq!(lines, format!("{}  key\n{}  other\n", of("key"), of("other")));
    let run = bench.run_with_input("fingerprint -", &bench.read("key"));
    assert_eq!(run.stdout, format!("{}  -\n", of("key")).as_bytes());
    bench.fails("fingerprint", 2, "no default key file");
    bench.fails("fingerprint in", 1, "not a Palladion key");
    let run = bench.run("fingerprint missing key");
    assert_eq!((run.status.code(), run.stdout.len()), (Some(1), 14), "{run:?}");

    // A new default key shows it, and messages name the key that was tried.
    let run = bench.run("keygen");
    let default = bench.shows("fingerprint");
    let says = format!("fingerprint of the key: {}\n", &default[..8]);
    assert!(run.stderr.contains(&says), "{run:?}");
    let tried = format!("(tried key {})", of("other"));
    bench.fails("decrypt -k other -o - in.pld", 3, &tried);
    bench.ok("raf import -k key in in.raf");
    bench.fails("raf verify -k other in.raf", 3, &tried);
    bench.write("MACS", bench.ok("mac -k key in"));
    let run = bench.run("mac -k other --check MACS");
    assert!(run.stderr.contains(&tried), "{run:?}");
}

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
        bench.private(name, passphrase);
    }
    bench.ok("encrypt --passphrase-file good -o sealed in");
    assert_eq!(bench.ok("decrypt --passphrase-file same -o - sealed"), b"secret");
    bench.fails("decrypt --passphrase-file wrong -o out sealed", 3, "not the passphrase");
    bench.fails("encrypt --passphrase-file empty -o - in", 2, "empty");
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
        bench.private("bad", bad);
        bench.fails("encrypt --passphrase-file bad -o - in", 2, message);
        bench.fails("raf create --passphrase-file bad new", 2, message);
    }
    // Other programs may have used such a passphrase.
    for old in [&b"caf\xe9"[..], b"age1ql3z7"] {
        bench.write("bad", old);
        let mut file = Vec::new();
        let passphrase = palladion_file::Passphrase::new(old);
        palladion_file::Encryptor::new(&passphrase).run(&b"secret"[..], &mut file).unwrap();
        bench.write("old", file);
        assert_eq!(bench.shows("decrypt --passphrase-file bad -o - old"), "secret");
    }
    let stderr = bench.fails("encrypt --passphrase-file bad in", 2, "could open");
    assert!(stderr.contains("use -r RECIPIENT or -R FILE"), "{stderr}");
    let stderr =
        bench.fails("decrypt -k key -o - sealed", 3, "with a passphrase, not with a key file");
    assert!(stderr.contains("use -p or --passphrase-file"));
    bench.ok("encrypt -k key -o keyed in");
    let says = "with a key file, not with a passphrase";
    bench.fails("decrypt --passphrase-file good -o - keyed", 3, says);
    // The longest file, and a longer one.
    for (len, status) in [(64 << 10, 0), ((64 << 10) + 1, 1)] {
        bench.private("long", "x".repeat(len));
        let run = bench.run("encrypt --passphrase-file long -o - in");
        assert_eq!(run.status.code(), Some(status), "{}", run.stderr);
        assert_eq!(run.stderr.contains("\"long\" is longer than 64 KiB"), status == 1);
    }
}

#[test]
fn costs_of_a_passphrase() {
    let bench = Bench::new();
    bench.write("in", "secret");
    bench.private("passphrase", "open sesame");
    let costs = |memory: u32, passes: u32| [memory, passes, 4].map(u32::to_le_bytes).concat();
    for (options, expected, warns) in [
        ("", costs(64 << 10, 3), false),
        ("--kdf-passes 1", costs(64 << 10, 1), false),
        ("--kdf-memory 1M --kdf-passes 17", costs(1024, 17), true),
    ] {
        let args = format!("encrypt -f in --passphrase-file passphrase {options}");
        let said = bench.says(&args);
        assert_eq!(bench.read("in.pld")[48..60], expected);
        assert_eq!(said.starts_with("warning: "), warns, "{said}");
        assert_eq!(said.contains("--max-kdf-memory 4352K"), warns, "{said}");
    }
    // Too many passes. That is said before anyone is asked for a passphrase, which would fail
    // without a terminal.
    let decrypt = "decrypt -o - --passphrase-file passphrase in.pld";
    for open in [decrypt, "decrypt -o - in.pld", "cat in.pld", "cat -p in.pld"] {
        let stderr = bench.fails(open, 1, "passes 17, at most 16 allowed");
        assert!(stderr.contains("--max-kdf-memory 4352K"), "{stderr}");
    }
    let verified = bench.run("verify in.pld");
    assert!(verified.stderr.contains("passes 17, at most 16 allowed"), "{verified:?}");
    assert_eq!(verified.stdout, b"in.pld: FAILED open or read\n");
    assert_eq!(bench.shows(&format!("{decrypt} --max-kdf-memory 4352K")), "secret");
    bench.fails(&format!("{decrypt} --max-kdf-memory 4M"), 1, "times passes 17408");
    bench.fails("encrypt -k key --kdf-passes 4 -o - in", 2, "are for a passphrase");
    for memory in ["8K", "100T"] {
        let args = format!("encrypt --passphrase-file passphrase --kdf-memory {memory} in");
        bench.fails(&args, 2, "from 32K to 4095G");
    }
}

#[cfg(unix)]
#[test]
fn secrets_that_others_can_read() {
    let bench = Bench::new();
    bench.write("in", "secret");
    for mode in [0o640, 0o604, 0o644, 0o660, 0o666] {
        bench.chmod("key", mode);
        let what = if mode & 0o022 == 0 { "read" } else { "read and change" };
        let says = format!("other users can {what} \"key\"");
        let stderr = bench.fails("encrypt -k key -o - in", 1, &says);
        assert!(stderr.contains("chmod 600 FILE"), "{stderr}");
        bench.fails("encrypt --passphrase-file key -o - in", 1, "other users can read");
        bench.fails("mac -k key in", 1, "other users can read");
    }
    bench.chmod("key", 0o602);
    bench.fails("encrypt -k key -o - in", 1, "other users can change \"key\"");
    // Who may read standard input is up to the shell.
    let key = std::fs::File::open(bench.path("key")).unwrap();
    let run = finish(bench.command("encrypt -k - -o - in").stdin(key).spawn().unwrap());
    assert!(run.status.success() && run.stderr.is_empty(), "{run:?}");
    // What the hint says, also if standard input is the data.
    let run = bench.sh("$P encrypt -k /dev/fd/3 < in 3< key");
    assert!(run.status.success() && run.stderr.is_empty(), "{run:?}");
    // What is no key at all needs no permissions.
    bench.chmod("in", 0o644);
    bench.fails("encrypt -k in -o - in", 1, "not a Palladion key");
    // Secrets of services, which nobody may write.
    for mode in [0o400, 0o440, 0o444] {
        bench.chmod("key", mode);
        bench.ok("encrypt -k key -o - in");
    }
    // Others decide about theirs. (Only root can give a file away.)
    bench.chmod("key", 0o644);
    if std::os::unix::fs::chown(bench.path("key"), Some(12345), None).is_ok() {
        bench.ok("encrypt -k key -o - in");
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
    assert_eq!(bench.ok("mac -k key --check SUMS"), b"a: OK\nb c: OK\n");
    assert_eq!(bench.ok("mac -k key --check --quiet SUMS"), b"");
    let run = bench.run_with_input("mac -k key --check", &sums);
    assert_eq!((run.status.code(), &run.stdout[..]), (Some(0), &b"a: OK\nb c: OK\n"[..]));
    // The same bytes from a pipe.
    let run = bench.run_with_input("mac -k key", &bench.read("a"));
    assert_eq!(run.stdout, [&lines[0][..64], b"  -\n"].concat());

    // A change, a missing file, another key, another algorithm.
    bench.write("b c", "x");
    let run = bench.run("mac -k key --check --quiet SUMS");
    assert_eq!((run.status.code(), &run.stdout[..]), (Some(1), &b"b c: FAILED\n"[..]));
    assert!(run.stderr.contains("1 file failed verification"), "{run:?}");
    std::fs::remove_file(bench.path("b c")).unwrap();
    let run = bench.run("mac -k key --check SUMS");
    assert_eq!(run.status.code(), Some(1));
    assert_eq!(run.stdout, b"a: OK\nb c: FAILED open or read\n");
    assert!(run.stderr.contains("cannot open \"b c\""), "{run:?}");
    // That says nothing about the key.
    assert!(run.stderr.ends_with("error: 1 file could not be read\n"), "{run:?}");
    bench.write("a", "x");
    let run = bench.run("mac -k key --check SUMS");
    assert!(run.stderr.contains("1 file failed verification, 1 file could not be read"), "{run:?}");
    bench.write("a", text(3_000_000));
    bench.ok("keygen -o other");
    assert_eq!(bench.run("mac -k other --check SUMS").status.code(), Some(1));
    assert_eq!(bench.run("mac -k key -a aegis-128l --check SUMS").status.code(), Some(1));

    let run = bench.run("mac -k key missing a");
    assert_eq!(run.status.code(), Some(1));
    assert_eq!(run.stdout, [lines[0], b"\n"].concat());
}

#[test]
fn lists_with_something_wrong() {
    let bench = Bench::new();
    bench.write("a", "text");
    let line = bench.ok("mac -k key a");
    for empty in ["", "\n\r\n"] {
        bench.write("SUMS", empty);
        bench.fails("mac -k key --check SUMS", 1, "\"SUMS\": the list is empty");
    }
    bench.write("SUMS", [b"nonsense\n", &line[..], b"more nonsense\n", &line[..]].concat());
    bench.write("LONG", [&line[..], &[b'x'; 70_000]].concat());
    let run = bench.run("mac -k key --check missing SUMS LONG");
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
    bench.ok("mac -k key --check SUMS");

    // A name may not command the terminal.
    bench.write("SUMS", format!("{}  \x1b[2Ja\u{9b}\n", "00".repeat(32)));
    let run = bench.run("mac -k key --check SUMS");
    assert_eq!(run.status.code(), Some(1));
    assert_eq!(run.stdout, b"\\u{1b}[2Ja\\u{9b}: FAILED open or read\n");
    assert!(!run.stderr.contains('\x1b'));
}

#[cfg(unix)]
#[test]
fn macs_of_files_with_strange_names() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    for name in [&b"new\nline"[..], b"back\\slash", b"\xff\xfe", b"\\n", b" lead", b"cr\r"] {
        let name = std::ffi::OsStr::from_bytes(name);
        std::fs::write(bench.dir().join(name), "x").unwrap();
        let run = finish(bench.command("mac -k key").arg(name).spawn().unwrap());
        assert_eq!(run.stdout.iter().filter(|&&byte| byte == b'\n').count(), 1);
        bench.write("SUMS", &run.stdout);
        let checked = bench.ok("mac -k key --check SUMS");
        assert!(checked.ends_with(b": OK\n"));
    }
}

#[test]
fn a_mark_before_the_text_is_ignored() {
    let bench = Bench::new();
    bench.write("in", "secret");
    let marked = |text: &[u8]| [b"\xef\xbb\xbf", text].concat();
    bench.private("plain", "open sesame\n");
    bench.private("marked", marked(b"open sesame\r\n"));
    bench.private("key2", marked(&bench.read("key")));
    for (one, other) in
        [("--passphrase-file plain", "--passphrase-file marked"), ("-k key", "-k key2")]
    {
        bench.ok(&format!("encrypt {one} -f -o sealed in"));
        assert_eq!(bench.shows(&format!("decrypt {other} -o - sealed")), "secret");
    }
    let list = bench.ok("mac -k key in");
    bench.write("MACS", [marked(&list), marked(&list)].concat());
    assert_eq!(bench.ok("mac -k key --check MACS"), b"in: OK\nin: OK\n");
}

#[test]
fn utf16_gets_a_hint() {
    let bench = Bench::new();
    bench.write("in", "secret");
    let key = String::from_utf8(bench.read("key")).unwrap();
    let list = bench.shows("mac -k key in");
    type Encode = fn(&str) -> Vec<u8>;
    let encodings: [Encode; 3] = [
        |text| format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect(),
        |text| format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_be_bytes).collect(),
        |text| text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
    ];
    for (number, encode) in encodings.into_iter().enumerate() {
        bench.private("wide", encode(&key));
        let message = "\"wide\" is not a text file in UTF-8";
        let stderr = bench.fails("encrypt -k wide -o - in", 1, message);
        assert!(stderr.contains("save it as UTF-8"), "{stderr}");
        bench.write("wide", encode("open sesame\r\n"));
        let (status, message) = if number < 2 { (1, message) } else { (2, "is it UTF-16?") };
        let stderr = bench.fails("encrypt --passphrase-file wide -o - in", status, message);
        assert!(stderr.contains("UTF-8"), "{stderr}");
        bench.write("wide", encode(&list));
        let run = bench.run("mac -k key --check wide");
        assert_eq!((run.status.code(), run.stdout.len()), (Some(1), 0), "{run:?}");
        assert!(run.stderr.contains("\"wide\" is UTF-16 text\nhint: save it as UTF-8"), "{run:?}");
    }
}

#[test]
fn lists_from_windows() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("dir")).unwrap();
    bench.write("dir/a", "text");
    let line = bench.shows("mac -k key dir/a");
    let tag = &line[..64];
    // As it is, and as this program wrote it there.
    for list in [format!("{tag}  dir\\a\r\n"), format!("\\{tag}  dir\\\\a\r\n")] {
        bench.write("MACS", list);
        let run = bench.run("mac -k key --check MACS");
        assert!(run.status.success() && run.stdout.ends_with(b": OK\n"), "{run:?}");
    }
    // A file that has this very name goes first.
    if cfg!(unix) {
        bench.write("dir\\a", "other");
        let run = bench.run("mac -k key --check MACS");
        assert_eq!(run.status.code(), Some(1), "{run:?}");
    }
}
