//! What only Windows has.
#![cfg(windows)]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use crate::common::{Bench, WRITERS, finish, text};

#[test]
fn redirected_files_and_nul() {
    let bench = Bench::new();
    let text = text(100_000);
    bench.write("in", &text);
    let redirected = |args: &[&str], from: &str, to: &str| {
        let (from, to) = (File::open(bench.path(from)), File::create(bench.path(to)));
        let mut command = bench.command(args);
        assert!(command.stdin(from.unwrap()).stdout(to.unwrap()).status().unwrap().success());
    };
    redirected(&["encrypt", "-k", "key", "-o", "-"], "in", "sealed");
    redirected(&["decrypt", "-k", "key", "-o", "-"], "sealed", "out");
    assert!(bench.read("out") == text);
    redirected(&["cat", "-k", "key", "--offset", "1000", "--length", "10"], "sealed", "part");
    assert_eq!(bench.read("part"), text[1000..1010]);
    redirected(&["raf", "import", "-k", "key", "-", "f.raf"], "in", "none");
    redirected(&["raf", "write", "-k", "key", "--offset", "5", "f.raf"], "part", "none");
    redirected(&["raf", "cat", "-k", "key", "--length", "15", "f.raf"], "in", "part");
    assert_eq!(bench.read("part"), [&text[..5], &text[1000..1010]].concat());

    let before = bench.names();
    for name in ["NUL", "nul"] {
        bench.ok(&["decrypt", "-k", "key", "-o", name, "sealed"]);
    }
    assert_eq!(bench.names(), before);
    // `command` has NUL as standard input.
    let sealed = bench.ok("encrypt -k key -o -");
    assert_eq!(bench.run_with_input("decrypt -k key -o -", &sealed).stdout, b"");
}

#[test]
fn directories_are_named_as_such() {
    let bench = Bench::new();
    bench.write("in", "text");
    fs::create_dir_all(bench.path("folder/in.pld")).unwrap();
    bench.fails("encrypt -k key folder", 1, "\"folder\" is a directory");
    bench.fails("encrypt -k folder in", 1, "\"folder\" is a directory");
    let message = r#""folder\in.pld" is a directory"#;
    bench.fails(&["encrypt", "-k", "key", "-f", "-o", r"folder\", "in"], 1, message);
}

#[test]
fn one_file_under_two_names() {
    let bench = Bench::new();
    bench.write("in", "text");
    fs::hard_link(bench.path("key"), bench.path("hard")).unwrap();
    for (name, message) in [
        ("IN", "both input and output"),
        ("Key.", "both key and output"),
        ("hard", "both key and output"),
    ] {
        bench.fails(&["encrypt", "-k", "key", "-f", "-o", name, "in"], 2, message);
    }
    bench.ok("encrypt -k key in");
    fs::copy(bench.path("in.pld"), bench.path("in..pld")).unwrap();
    fs::create_dir(bench.path("folder")).unwrap();
    bench.fails("decrypt -k key -o folder in.pld in..pld", 2, "would both become");
}

#[test]
fn closed_pipe() {
    let bench = Bench::with_all_kinds();
    for command in ["encrypt -k key -o - in", "cat -k key in.pld", "raf cat -k key f.raf"] {
        let mut child = bench.command(command).spawn().unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0; 10]).unwrap();
        let run = finish(child);
        assert!(!run.status.success() && run.stderr.is_empty(), "{command}: {run:?}");
    }
}

#[test]
fn outputs_that_fail() {
    let bench = Bench::with_all_kinds();
    bench.write("other", "for reading alone");
    for args in WRITERS {
        let run = bench.run_to(File::open(bench.path("other")).unwrap(), args);
        assert_eq!(run.status.code(), Some(1), "{args}: {run:?}");
        assert!(run.stderr.contains("cannot write standard output"), "{args}: {run:?}");
    }
    // While the input stalls.
    let stdout = File::open(bench.path("other")).unwrap();
    let mut child = bench.command("encrypt -k key");
    let mut child = child.stdin(Stdio::piped()).stdout(stdout).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let _ = stdin.write_all(&text(3 << 20));
    assert!(finish(child).stderr.contains("cannot write standard output"));
}

/// What `trees.rs` tests on Unix, but for links and permissions.
#[test]
fn whole_directories() {
    let bench = Bench::new();
    let files = ["one", "a/two", "a/deep/three"];
    fs::create_dir_all(bench.path("tree/a/deep")).unwrap();
    fs::create_dir(bench.path("tree/empty")).unwrap();
    for (at, name) in files.into_iter().enumerate() {
        let name = format!("tree/{name}");
        bench.write(&name, text(1000 * at));
        let date = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000 + at as u64);
        let file = File::options().write(true).open(bench.path(&name)).unwrap();
        file.set_modified(date).unwrap();
    }
    let are_the_same = || {
        for name in files {
            let [tree, back] =
                ["tree", "back"].map(|folder| bench.read(&format!("{folder}/{name}")));
            assert!(tree == back, "{name}");
        }
        for name in files.iter().chain(&[".", "a", "a/deep", "empty"]) {
            let date = |folder| fs::metadata(bench.path(folder).join(name)).unwrap().modified();
            assert_eq!(date("tree").unwrap(), date("back").unwrap(), "{name}");
        }
    };
    let ends = |args: &str, counts: &str| {
        let run = bench.run(&args.split(' ').collect::<Vec<_>>());
        let says = format!("note: {counts}\n");
        assert!(run.status.success() && run.stderr == says, "{args}: {run:?}");
    };
    ends("encrypt -k key --recursive tree -o sealed", "encrypted: 3");
    ends("decrypt -k key --recursive sealed -o back", "decrypted: 3");
    are_the_same();

    let encrypt = "encrypt -k key --recursive tree -o sealed --skip-existing";
    let decrypt = "decrypt -k key --recursive sealed -o back --skip-existing";
    ends(encrypt, "encrypted: 0, up to date: 3");
    bench.write("tree/a/two", "changed");
    ends(encrypt, "encrypted: 1, up to date: 2");
    ends(decrypt, "decrypted: 1, up to date: 2");
    are_the_same();
    for (out, message) in
        [("TREE", "is both input and output"), (r"tree\new", "one is in the other")]
    {
        bench.fails(&["encrypt", "-k", "key", "--recursive", "tree", "-o", out], 2, message);
    }

    ends("encrypt -k key --recursive --rm tree", "encrypted: 3");
    assert!(!bench.path("tree/one").exists() && bench.path("tree/one.pld").exists());
    ends("decrypt -k key --recursive --rm tree", "decrypted: 3");
    assert!(bench.read("tree/a/two") == b"changed" && !bench.path("tree/one.pld").exists());
}
