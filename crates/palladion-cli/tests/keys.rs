//! Key files, passphrases and MACs.

use crate::common::*;

#[test]
fn key_files() {
    let bench = Bench::new();
    let key = String::from_utf8(bench.read("key")).unwrap();
    assert!(key.starts_with("palladion-key-1:") && key.ends_with('\n') && key.len() == 81);
    bench.fails(&["keygen", "-o", "key"], 1, "already exists");
    assert_eq!(bench.read("key"), key.as_bytes());
    bench.ok(&["keygen", "-o", "key", "--force"]);
    assert_ne!(bench.read("key"), key.as_bytes());
    assert_eq!(bench.ok(&["keygen", "-o", "-"]).len(), 81);

    bench.write("in", "secret");
    for wrong in ["", "nonsense", &key[..70], &format!("{key}{key}")] {
        bench.write("key", wrong);
        bench.fails(&["encrypt", "-k", "key", "-o", "-", "in"], 1, "\"key\": ");
    }
    bench.write("key", b"\xff\xfe");
    bench.fails(&["encrypt", "-k", "key", "-o", "-", "in"], 1, "not a text file");
    bench.write("key", format!("# mine\n\n  {key}\n"));
    bench.ok(&["encrypt", "-k", "key", "-o", "-", "in"]);
}

#[cfg(unix)]
fn chmod(bench: &Bench, name: &str, mode: u32) {
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(bench.path(name), permissions).unwrap();
}

#[cfg(not(unix))]
fn chmod(_: &Bench, _: &str, _: u32) {}

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
        assert!(stderr.contains("chmod 600 \"key\""), "{stderr}");
        bench.fails(
            &["encrypt", "--passphrase-file", "key", "-o", "-", "in"],
            1,
            "other users can read",
        );
        bench.fails(&["mac", "-k", "key", "in"], 1, "other users can read");
    }
    chmod(&bench, "key", 0o602);
    bench.fails(&["encrypt", "-k", "key", "-o", "-", "in"], 1, "other users can change \"key\"");
    let key = std::fs::File::open(bench.path("key")).unwrap();
    let run =
        finish(bench.command(&["encrypt", "-k", "-", "-o", "-", "in"]).stdin(key).spawn().unwrap());
    assert!(run.stderr.contains("hint: make the file private with chmod 600\n"), "{run:?}");
    // What is no key at all needs no permissions.
    chmod(&bench, "in", 0o644);
    bench.fails(&["encrypt", "-k", "in", "-o", "-", "in"], 1, "not a Palladion key");
    chmod(&bench, "key", 0o400);
    bench.ok(&["encrypt", "-k", "key", "-o", "-", "in"]);
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
    assert_eq!((run.status.code(), &run.stdout[..]), (Some(1), &b"a: OK\nb c: FAILED\n"[..]));
    assert!(run.stderr.contains("cannot open \"b c\""), "{run:?}");
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
        (Some(1), &b"\\u{1b}[2Ja\\u{9b}: FAILED\n"[..])
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
