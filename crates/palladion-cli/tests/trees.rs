//! Whole directories: `--recursive` and `--skip-existing`.
#![cfg(unix)]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::common::*;

const ENCRYPT: &str = "encrypt -k key --recursive tree -o";
const DECRYPT: &str = "decrypt -k key --recursive sealed -o";

type FixedHasher = BuildHasherDefault<DefaultHasher>;

/// What is in a directory, with everything that a copy should keep.
fn listing(folder: &Path) -> Vec<String> {
    fn add(list: &mut Vec<String>, root: &Path, path: &Path) {
        let found = fs::symlink_metadata(path).unwrap();
        let contents = if found.is_symlink() {
            format!("{:?}", fs::read_link(path).unwrap())
        } else if found.is_file() {
            format!("{:x}", FixedHasher::default().hash_one(fs::read(path).unwrap()))
        } else {
            String::new()
        };
        let within = path.strip_prefix(root).unwrap();
        let (mode, time) = (found.mode(), (found.mtime(), found.mtime_nsec()));
        list.push(format!("{within:?} {mode:o} {time:?} {contents}"));
        if found.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                add(list, root, &entry.unwrap().path());
            }
        }
    }
    let mut list = Vec::new();
    add(&mut list, folder, folder);
    list.sort();
    list
}

/// Sets the date of a file or directory to some seconds after a fixed one.
fn set_time(path: &Path, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_600_000_000 + seconds, 123_456_789);
    File::open(path).unwrap().set_modified(time).unwrap();
}

/// A folder with a directory `tree` that has something of everything.
fn planted() -> Bench {
    let bench = Bench::new();
    for folder in ["tree", "tree/a", "tree/a/deep", "tree/a/deep/er", "tree/empty"] {
        fs::create_dir(bench.path(folder)).unwrap();
    }
    let files = ["tree/one", "tree/a/two", "tree/a/deep/three", "tree/a/deep/er/private"];
    for (at, name) in files.into_iter().enumerate() {
        bench.write(name, text(1000 * at));
        set_time(&bench.path(name), at as u64);
    }
    bench.chmod("tree/one", 0o664);
    bench.chmod("tree/a/two", 0o755);
    bench.chmod("tree/a/deep/er/private", 0o600);
    symlink("two", bench.path("tree/a/link")).unwrap();
    symlink("/nowhere", bench.path("tree/dangling")).unwrap();
    for (folder, mode) in [
        ("tree/a/deep/er", 0o500),
        ("tree/a/deep", 0o755),
        ("tree/a", 0o1775),
        ("tree/empty", 0o700),
        ("tree", 0o750),
    ] {
        bench.chmod(folder, mode);
        set_time(&bench.path(folder), 1000 + u64::from(mode));
    }
    bench
}

/// Must end with this status and the note about counts, and no other line than those that `says`
/// begins.
fn ends(bench: &Bench, args: &str, status: i32, counts: &str, says: &[&str]) {
    let run = bench.run(args);
    assert_eq!(run.status.code(), Some(status), "{args:?}: {run:?}");
    let lines: Vec<_> = run.stderr.lines().filter(|line| !line.starts_with("hint: ")).collect();
    assert_eq!(lines.last(), Some(&&*format!("note: {counts}")), "{args:?}");
    assert_eq!(lines.len(), says.len() + 1, "{args:?}: {run:?}");
    for (line, begin) in lines.iter().zip(says) {
        assert!(line.starts_with(begin), "{args:?}: {run:?}");
    }
}

fn to(args: &str, output: &str, more: &str) -> String {
    format!("{args} {output} {more}")
}

#[test]
fn there_and_back() {
    let bench = planted();
    let before = listing(&bench.path("tree"));
    let encrypt = to(ENCRYPT, "sealed", "");
    ends(&bench, &encrypt, 0, "encrypted: 4, symbolic links copied: 2", &[]);
    assert!(bench.path("sealed/a/deep/er/private.pld").exists());
    assert_eq!(bench.path("sealed/a/deep/er").metadata().unwrap().mode() & 0o7777, 0o500);
    ends(&bench, &to(DECRYPT, "back/", ""), 0, "decrypted: 4, symbolic links copied: 2", &[]);
    assert_eq!(listing(&bench.path("back")), before);

    // What key slots do not prove is said once.
    let slots = to(ENCRYPT, "sealed", "--slots --force");
    ends(&bench, &slots, 0, "encrypted: 4, up to date: 2", &[]);
    let counts = "decrypted: 4, up to date: 2, with key slots: 4";
    let says = ["note: \"sealed/a/deep/er/private.pld\": anyone who "];
    ends(&bench, &to(DECRYPT, "back", "--force"), 0, counts, &says);
    assert_eq!(listing(&bench.path("back")), before);

    // Other names, whatever the language, and what is no file.
    let odd = bench.path("tree").join(OsStr::from_bytes(b"\xff\xfe odd\n"));
    if fs::write(&odd, "odd").is_ok() {
        fs::hard_link(&odd, bench.path("tree/hard")).unwrap();
        let fifo = Command::new("mkfifo").arg(bench.path("tree/fifo")).status().unwrap();
        assert!(fifo.success());
        fs::remove_dir_all(bench.path("back")).unwrap();
        let counts =
            "encrypted: 2, up to date: 6, hard links made files of their own: 2, left out: 1";
        let says = ["note: \"tree/fifo\" is a pipe and was left out"];
        ends(&bench, &to(ENCRYPT, "sealed", "--skip-existing"), 0, counts, &says);
        assert!(bench.run(&to(DECRYPT, "back", "")).status.success());
        fs::remove_file(bench.path("tree/fifo")).unwrap();
        set_time(&bench.path("tree"), 0);
        set_time(&bench.path("back"), 0);
        assert_eq!(listing(&bench.path("back")), listing(&bench.path("tree")));
    }
}

#[test]
fn what_changed_is_done_again() {
    let bench = planted();
    let again = to(ENCRYPT, "sealed", "--skip-existing");
    ends(&bench, &again, 0, "encrypted: 4, symbolic links copied: 2", &[]);
    ends(&bench, &again, 0, "encrypted: 0, up to date: 6", &[]);
    // Without it, each file has its error, and nothing changes.
    let before = listing(&bench.path("sealed"));
    let says = ["error: \"sealed/", "error: \"sealed/", "error: \"sealed/", "error: \"sealed/"];
    let counts = "encrypted: 0, up to date: 2, failed: 4";
    ends(&bench, &to(ENCRYPT, "sealed", ""), 1, counts, &says);
    assert_eq!(listing(&bench.path("sealed")), before);

    bench.write("tree/a/two", "changed");
    bench.chmod("tree/one", 0o600); // its contents and its date stay
    bench.write("tree/empty/new", "new");
    fs::remove_file(bench.path("tree/dangling")).unwrap();
    symlink("elsewhere", bench.path("tree/dangling")).unwrap();
    let counts = "encrypted: 2, up to date: 4, symbolic links copied: 1";
    ends(&bench, &again, 0, counts, &[]);
    bench.run(&to(DECRYPT, "back", ""));
    assert_eq!(listing(&bench.path("back")), listing(&bench.path("tree")));

    // A file that was edited after it was decrypted stays.
    bench.write("back/a/two", "edited");
    let counts = "decrypted: 0, up to date: 6, kept because the output is newer: 1";
    let says = ["warning: \"back/a/two\" is newer than its source and was kept"];
    ends(&bench, &to(DECRYPT, "back", "--skip-existing"), 2, counts, &says);
    assert_eq!(bench.read("back/a/two"), b"edited");
    let counts = "decrypted: 1, up to date: 6";
    ends(&bench, &to(DECRYPT, "back", "--skip-existing --force"), 0, counts, &[]);
    let counts = "decrypted: 5, up to date: 2";
    ends(&bench, &to(DECRYPT, "back", "--force"), 0, counts, &[]);
    assert_eq!(listing(&bench.path("back")), listing(&bench.path("tree")));
}

#[test]
fn a_length_tells_too() {
    let bench = planted();
    let date = |name: &str| bench.path(name).metadata().unwrap().modified().unwrap();
    let encrypt = to(ENCRYPT, "sealed", "--skip-existing --slots");
    let decrypt = to(DECRYPT, "back", "--skip-existing");
    ends(&bench, &encrypt, 0, "encrypted: 4, symbolic links copied: 2", &[]);
    ends(&bench, &encrypt, 0, "encrypted: 0, up to date: 6", &[]);
    assert!(bench.run(&decrypt).status.success());
    // Other bytes of one length with the same date are not noticed, but a file that was cut is.
    for (name, args, counts) in [
        ("sealed/a/two.pld", &encrypt, "encrypted: 1, up to date: 5"),
        ("back/a/two", &decrypt, "decrypted: 1, up to date: 5"),
    ] {
        let (whole, modified) = (bench.read(name), date(name));
        bench.write(name, &whole[..whole.len() - 1]);
        File::open(bench.path(name)).unwrap().set_modified(modified).unwrap();
        let run = bench.run(args);
        assert!(run.status.success() && run.stderr.contains(counts), "{name}: {run:?}");
        assert_eq!((bench.read(name).len(), date(name)), (whole.len(), modified));
    }
    let one = "encrypt -k key --skip-existing tree/one";
    bench.write("tree/one.pld", "");
    File::open(bench.path("tree/one.pld")).unwrap().set_modified(date("tree/one")).unwrap();
    bench.ok(one);
    assert_eq!(bench.ok("decrypt -k key -o - tree/one.pld"), text(0));
}

#[test]
fn what_lost_its_source() {
    let bench = planted();
    let again = to(ENCRYPT, "sealed", "--skip-existing");
    let back = to(DECRYPT, "back", "--skip-existing");
    assert!(bench.run(&again).status.success() && bench.run(&back).status.success());
    // One is deleted, one renamed, and one becomes a directory.
    fs::remove_file(bench.path("tree/one")).unwrap();
    fs::rename(bench.path("tree/a/link"), bench.path("tree/a/new")).unwrap();
    fs::remove_file(bench.path("tree/a/two")).unwrap();
    fs::create_dir(bench.path("tree/a/two")).unwrap();
    bench.write("sealed/.palladion-0123456789abcdef.tmp", "");
    let says = [
        "warning: \"sealed/a/two.pld\" and \"sealed/a/two\" cannot both be decrypted",
        "note: without a source, and kept: 3 (\"sealed/a/link\", \"sealed/a/two.pld\", \
         \"sealed/one.pld\")",
    ];
    ends(&bench, &again, 0, "encrypted: 0, up to date: 3, symbolic links copied: 1", &says);
    for name in ["a/link", "a/two.pld", "one.pld", ".palladion-0123456789abcdef.tmp"] {
        fs::remove_file(bench.path("sealed").join(name)).unwrap();
    }
    ends(&bench, &again, 0, "encrypted: 0, up to date: 4", &[]);
    // The way back.
    let run = bench.run(&back);
    let says = "and kept: 3 (\"back/a/link\", \"back/a/two\", \"back/one\")\n";
    assert!(run.stderr.contains(says), "{run:?}");
    // Inputs that are skipped are not deleted, which is said.
    ends(&bench, &to(DECRYPT, "kept", ""), 0, "decrypted: 2, symbolic links copied: 2", &[]);
    let kept = to(DECRYPT, "kept", "--rm --skip-existing");
    let says = ["warning: 2 inputs are kept, because their outputs were there"];
    ends(&bench, &kept, 2, "decrypted: 0, up to date: 4", &says);
    // What --rm deletes is no source that was lost.
    let rm = to(DECRYPT, "new", "--rm");
    ends(&bench, &rm, 0, "decrypted: 2, symbolic links copied: 2", &[]);
}

#[test]
fn nothing_outside_is_touched() {
    let bench = planted();
    fs::create_dir_all(bench.path("outside/deep")).unwrap();
    bench.write("outside/precious", "precious");
    bench.write("outside/two.pld", "precious");
    set_time(&bench.path("outside/precious"), 0);
    set_time(&bench.path("outside/two.pld"), 0);
    let outside = listing(&bench.path("outside"));
    // Links to a directory, to a file, to nothing, and a directory for a file.
    fs::create_dir_all(bench.path("sealed/a")).unwrap();
    symlink("../../outside/deep", bench.path("sealed/a/deep")).unwrap();
    symlink("../outside/precious", bench.path("sealed/one.pld")).unwrap();
    symlink("../../outside/new", bench.path("sealed/a/two.pld")).unwrap();
    symlink("../outside", bench.path("sealed/empty")).unwrap();
    for more in ["", "--force", "--skip-existing"] {
        let run = bench.run(&to(ENCRYPT, "sealed", more));
        assert_eq!(run.status.code(), Some(1), "{run:?}");
        for begin in [
            "error: \"sealed/a/deep\" is not a directory\n",
            "error: \"sealed/a/two.pld\" is there and is not a regular file\n",
            "error: \"sealed/empty\" is not a directory\n",
            "error: \"sealed/one.pld\" is there and is not a regular file\n",
        ] {
            assert!(run.stderr.contains(begin), "{begin}: {run:?}");
        }
        assert_eq!(listing(&bench.path("outside")), outside, "{more:?}");
    }
    // The way back, with a link for a file and with one for a directory.
    fs::remove_dir_all(bench.path("sealed")).unwrap();
    bench.run(&to(ENCRYPT, "sealed", ""));
    fs::create_dir(bench.path("back")).unwrap();
    symlink("../outside", bench.path("back/a")).unwrap();
    symlink("../outside/precious", bench.path("back/one")).unwrap();
    for more in ["", "--force", "--skip-existing"] {
        assert_eq!(bench.run(&to(DECRYPT, "back", more)).status.code(), Some(1));
        assert_eq!(listing(&bench.path("outside")), outside, "{more:?}");
    }
    // The directory itself may be a link.
    symlink("outside", bench.path("link")).unwrap();
    assert!(bench.run(&to(DECRYPT, "link", "")).status.success());
    assert!(bench.path("outside/a/deep/er/private").exists());
}

#[test]
fn beside_the_inputs() {
    let bench = planted();
    let before = listing(&bench.path("tree"));
    let encrypt = "encrypt -k key --recursive tree";
    ends(&bench, encrypt, 0, "encrypted: 4", &[]);
    assert_eq!(bench.path("tree/a/two.pld").metadata().unwrap().mode() & 0o777, 0o755);
    let passed = ["note: 4 files already end in .pld and were passed over"];
    let again = format!("{encrypt} --skip-existing");
    ends(&bench, &again, 0, "encrypted: 0, up to date: 4", &passed);
    let says = ["error: \"tree/a/deep/er/private.pld\" already exists", "error: ", "error: "];
    let says = [&says[..], &["error: "], &passed].concat();
    ends(&bench, encrypt, 1, "encrypted: 0, failed: 4", &says);

    // And away with them.
    let rm = format!("{encrypt} --force --rm");
    ends(&bench, &rm, 0, "encrypted: 4", &passed);
    assert!(!bench.path("tree/one").exists() && bench.path("tree/empty").exists());
    let decrypt = "decrypt -k key --recursive --rm tree";
    ends(&bench, decrypt, 0, "decrypted: 4", &[]);
    // Only the dates of directories are others.
    let files = |list: Vec<String>| -> Vec<_> {
        list.into_iter().filter(|line| line.contains(" 100")).collect()
    };
    assert_eq!(files(listing(&bench.path("tree"))), files(before));

    // The same for files that are named.
    let all = "encrypt -k key --skip-existing tree/one tree/a/two";
    assert!(bench.run(all).stderr.is_empty());
    let all = format!("{all} tree/one.pld tree/a/two.pld");
    let passed = ["note: 2 files already end in .pld and were passed over"];
    ends(&bench, &all, 0, "encrypted: 0, up to date: 2", &passed);
    let one = "encrypt -k key --skip-existing tree/one -o tree/one.pld";
    ends(&bench, one, 0, "encrypted: 0, up to date: 1", &[]);
}

#[test]
fn what_cannot_be_done() {
    let bench = planted();
    fs::create_dir(bench.path("other")).unwrap();
    bench.write("file", "");
    let before = listing(&bench.path("tree"));
    for (args, message) in [
        ("--recursive", "--recursive needs a directory"),
        ("--recursive tree other -o out", "takes one directory"),
        ("--recursive file -o out", "takes one directory"),
        ("--recursive tree -o tree", "is both input and output"),
        ("--recursive tree -o ./tree/new/", "one is in the other"),
        ("--recursive tree -o .", "one is in the other"),
    ] {
        bench.fails(&format!("encrypt -k key {args}"), 2, message);
    }
    let missing = "encrypt -k key --recursive missing -o out";
    bench.fails(missing, 1, "cannot open \"missing\"");
    bench.fails(&to(ENCRYPT, "file", ""), 1, "\"file\" is not a directory");
    bench.fails(&to(ENCRYPT, "no/such", ""), 1, "there is no directory for");
    assert_eq!(listing(&bench.path("tree")), before);

    // Encrypted files in the directory are missing in the copy, and the key is not encrypted with
    // itself. The others are done.
    bench.write("tree/x.pld", "");
    fs::copy(bench.path("key"), bench.path("tree/key")).unwrap();
    bench.write("tree/.palladion-0123456789abcdef.tmp", "");
    let says = [
        "error: \"tree/key\" holds the key",
        "error: 1 file already ends in .pld and was passed over: \"tree/x.pld\"",
    ];
    let counts = "encrypted: 4, failed: 1, symbolic links copied: 2, \
                  unfinished .palladion-*.tmp left out: 1";
    ends(&bench, &to(ENCRYPT, "sealed", ""), 2, counts, &says);

    // A passphrase is for few files.
    fs::create_dir(bench.path("many")).unwrap();
    (0..101).for_each(|at| bench.write(&format!("many/{at}"), ""));
    bench.private("passphrase", "correct horse battery staple");
    let args = "--recursive many -q --kdf-memory 32K --kdf-passes 1 --passphrase-file passphrase";
    let said = bench.says(&format!("encrypt {args}"));
    assert_eq!(said.matches("warning: a passphrase takes its time for each file").count(), 1);
}

/// A command that a signal ends leaves whole files, and another one does the rest.
#[test]
fn killed_and_run_again() {
    let bench = Bench::new();
    for at in 0..600 {
        let folder = format!("tree/{}", at % 20);
        fs::create_dir_all(bench.path(&folder)).unwrap();
        bench.write(&format!("{folder}/{at}"), text(3000 + at));
    }
    let ended = |args: &str, signal: &str, folder: &str| {
        let mut child = bench.command(args).spawn().unwrap();
        let count = || fs::read_dir(bench.path(folder)).map_or(0, Iterator::count);
        let before = count();
        while child.try_wait().unwrap().is_none() && count() <= before + 2 {
            std::thread::sleep(Duration::from_millis(1));
        }
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        child.wait().unwrap();
        let find = format!("find {folder} -name '.palladion-*.tmp'");
        let unfinished = bench.sh(&find);
        assert!(signal == "-KILL" || unfinished.stdout.is_empty(), "{unfinished:?}");
    };
    for (args, folder) in [(ENCRYPT, "sealed"), (DECRYPT, "back")] {
        let args = to(args, folder, "--skip-existing");
        for signal in ["-TERM", "-TERM", "-KILL", "-KILL"] {
            ended(&args, signal, folder);
        }
        assert!(bench.run(&args).status.success());
    }
    assert!(bench.sh("find back sealed -name '.palladion-*.tmp' -delete").status.success());
    // Which changed the dates of directories.
    for (args, folder) in [(ENCRYPT, "sealed"), (DECRYPT, "back")] {
        assert!(bench.run(&to(args, folder, "--skip-existing")).status.success());
    }
    assert_eq!(listing(&bench.path("back")), listing(&bench.path("tree")));
}
