//! Files that are bound to a place: `--bind`.

use crate::common::*;

const HERE: &str = "-q --bind reports/2026/january";
const THERE: &str = "-q --bind reports/2026/february";
const ANOTHER: &str = "is bound to another place";

/// A folder with the keys `key` and `bob`, a passphrase and a text.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.ok("keygen -q -o bob");
    bench.private("passphrase", "open sesame");
    bench.write("in", text(3000));
    bench
}

#[test]
fn every_command_wants_the_place() {
    let bench = bench();
    for (to, of) in [
        ("-k key", "-k key"),
        ("--passphrase-file passphrase --kdf-memory=64K", "--passphrase-file passphrase"),
        ("-k key -k bob", "-k bob"),
        ("-k key --slots", "-k key"),
    ] {
        bench.ok(&format!("encrypt -f in {to} {HERE}"));
        for command in [
            "decrypt -o new in.pld",
            "decrypt --salvage -o new in.pld",
            "encrypt -d -o new in.pld",
            "cat -o new in.pld",
            "cat --tail=9 in.pld",
        ] {
            bench.ok(&format!("{command} {of} {HERE}"));
            if command.contains("new") {
                assert_eq!(bench.read("new"), text(3000), "{command}");
                std::fs::remove_file(bench.path("new")).unwrap();
            }
            let hint = bench.fails(&format!("{command} {of}"), 3, "is bound to a place");
            assert!(hint.contains("use --bind TEXT"), "{hint}");
            bench.fails(&format!("{command} {of} {THERE}"), 4, ANOTHER);
        }
        for (place, status, says) in
            [(HERE, 0, ""), ("", 3, "is bound to a place"), (THERE, 4, ANOTHER)]
        {
            let run = bench.run(&format!("verify in.pld {of} {place}"));
            assert_eq!(run.status.code(), Some(status), "{run:?}");
            assert_eq!(run.stdout.starts_with(b"in.pld: FAILED"), status != 0, "{run:?}");
            assert!(run.stderr.contains(says), "{run:?}");
        }
        bench.ok(&format!("encrypt -f -o unbound.pld in {to}"));
        let args = format!("decrypt -o new unbound.pld {of} {HERE}");
        let hint = bench.fails(&args, 4, "is not bound to a place");
        assert!(hint.contains("leave out --bind"), "{hint}");
    }
    // A wrong key says nothing of the place. Of several keys, the right one does.
    bench.ok(&format!("encrypt -f -k key in {HERE}"));
    bench.fails(&format!("decrypt -o new -k bob in.pld {THERE}"), 3, "is not the key");
    bench.fails(&format!("decrypt -o new -k bob -k key in.pld {THERE}"), 4, ANOTHER);
    for command in ["encrypt", "decrypt"] {
        bench.fails(&[command, "-k", "key", "in", "--bind", ""], 2, "--bind <TEXT>");
        bench.fails(&format!("{command} -k key in --bind="), 2, "--bind <TEXT>");
    }
}

#[test]
fn changed_slots() {
    let bench = bench();
    bench.ok(&format!("encrypt --slots -k key in {HERE}"));
    let rewrap = "rewrap -k key --add --to-key bob in.pld";
    let verify = format!("verify -k bob in.pld {HERE}");
    bench.fails(rewrap, 3, "is bound to a place");
    bench.fails(&format!("{rewrap} {THERE}"), 4, ANOTHER);
    bench.ok(&format!("{rewrap} {HERE}"));
    bench.ok(&verify);
    // Again: the slot is there. And with more slots than there is room for, in a new file.
    bench.ok(&format!("{rewrap} {HERE}"));
    assert_eq!(bench.read("in.pld").len(), 2 * 4096 + 3000 + 36);
    let mut many = format!("rewrap -k key --to-key=key --to-key=bob in.pld {HERE}");
    for number in 0..39 {
        bench.ok(&format!("keygen -o key{number}"));
        many += &format!(" --to-key=key{number}");
    }
    bench.ok(&many);
    assert_eq!(bench.read("in.pld").len(), 2 * 16384 + 3000 + 36);
    bench.ok(&verify);
    // By the second copy.
    bench.flip("in.pld", 300);
    bench.ok(&format!("cat -k bob in.pld {HERE}"));
    bench.fails(&format!("cat -k bob in.pld {THERE}"), 4, ANOTHER);
    bench.ok(&format!("rewrap --repair -k bob in.pld {HERE}"));
    bench.ok(&verify);
}

#[test]
fn several_files_have_one_place() {
    let bench = bench();
    bench.write("two", "two");
    bench.ok(&format!("encrypt -k key in two {HERE}"));
    bench.ok(&format!("verify -k key in.pld two.pld {HERE}"));
    std::fs::rename(bench.path("in.pld"), bench.path("one.pld")).unwrap();
    bench.ok(&format!("decrypt -k key one.pld {HERE}"));
    // Through pipes.
    let decrypt = format!("decrypt -k key {HERE}");
    assert_eq!(bench.run_with_input(&decrypt, &bench.read("one.pld")).stdout, text(3000));
}

#[test]
fn what_info_says() {
    let bench = bench();
    for slots in ["", "--slots"] {
        for (place, is_bound) in [(HERE, true), ("", false)] {
            bench.ok(&format!("encrypt -f -k key in {slots} {place}"));
            let text = bench.shows("info in.pld");
            assert_eq!(text.contains("\nbound:       to a place (--bind)\n"), is_bound, "{text}");
            assert!(text.contains("bound") == is_bound && !text.contains("january"), "{text}");
            let json = bench.shows("info --json in.pld");
            assert!(json.contains(&format!(r#""bound":{is_bound}"#)), "{json}");
        }
    }
}

fn joined(parts: &[&[&'static str]]) -> Vec<&'static str> {
    parts.concat()
}

/// Ends with this status and this last line, and returns how many lines of standard error hold
/// `says`.
fn ends(bench: &Bench, args: &[&str], status: i32, last: &str, says: &str) -> usize {
    let run = bench.run(args);
    assert_eq!(run.status.code(), Some(status), "{args:?}: {run:?}");
    assert_eq!(run.stderr.lines().last(), Some(last), "{args:?}: {run:?}");
    run.stderr.lines().filter(|line| line.contains(says)).count()
}

#[test]
fn what_is_bound_otherwise_is_not_up_to_date() {
    let bench = bench();
    std::fs::create_dir(bench.path("tree")).unwrap();
    bench.write("tree/one", "one");
    bench.write("tree/two", "two");
    let all = ["encrypt", "-k", "key", "--recursive", "tree", "-o", "sealed", "--skip-existing"];
    let bound = joined(&[&all, &["--bind", "here"]]);
    let (not, is) = ("is not bound to a place and was kept; --force replaces it", "is bound to");

    assert_eq!(ends(&bench, &all, 0, "note: encrypted: 2", ""), 1);
    bench.write("tree/new", "new");
    let kept = "note: encrypted: 1, kept because the output is for another key or place: 2";
    assert_eq!(ends(&bench, &bound, 2, kept, not), 2);
    let counts = "note: encrypted: 2, up to date: 1";
    ends(&bench, &joined(&[&bound, &["--force"]]), 0, counts, "");
    ends(&bench, &bound, 0, "note: encrypted: 0, up to date: 3", "");
    let decrypt = ["decrypt", "-k", "key", "--recursive", "sealed", "-o", "back", "--bind", "here"];
    ends(&bench, &decrypt, 0, "note: decrypted: 3", "");
    // Skipping plain files needs no place.
    let again = joined(&[&decrypt[..6], &["back", "--skip-existing"]]);
    ends(&bench, &again, 0, "note: decrypted: 0, up to date: 3", "");

    // The reverse, and a file with key slots.
    let kept = "note: encrypted: 0, kept because the output is for another key or place: 3";
    assert_eq!(ends(&bench, &all, 2, kept, is), 3);
    bench.ok(&joined(&[&["encrypt", "-k", "key", "--slots", "in"], &["-q", "--bind", "here"]]));
    let one = ["encrypt", "-k", "key", "--skip-existing", "in"];
    assert_eq!(ends(&bench, &one, 2, &kept.replace('3', "1"), is), 1);
    // What is to be replaced anyway is replaced.
    bench.write("in", "changed");
    bench.ok(&one);
    bench.ok(&["decrypt", "-f", "-k", "key", "in.pld"]);
}

/// A folder with a directory `tree` and its copy `sealed`, in which each file is bound to its path.
fn bound_to_paths() -> Bench {
    let bench = bench();
    std::fs::create_dir_all(bench.path("tree/2026 März/空")).unwrap();
    for name in FILES {
        bench.write(&format!("tree/{name}"), name);
    }
    let encrypt = ["-q", "encrypt", "-k", "key", "--recursive", "tree", "-o", "sealed"];
    bench.ok(&joined(&[&encrypt, &["--bind-to-path"]]));
    bench
}

const FILES: [&str; 4] = ["one", "two", "2026 März/no name.txt", "2026 März/空/ñ"];
const BACK: [&str; 8] =
    ["decrypt", "-k", "key", "--recursive", "sealed/", "-o", "back", "--bind-to-path"];

#[test]
fn each_file_of_a_directory_has_its_own_place() {
    let bench = bound_to_paths();
    ends(&bench, &BACK, 0, "note: decrypted: 4", "");
    for name in FILES {
        assert_eq!(bench.read(&format!("back/{name}")), name.as_bytes());
        // The same bytes as anyone else would bind the file to.
        let sealed = format!("sealed/{name}.pld");
        bench.ok(&["verify", "-k", "key", "--bind", &format!("{name}.pld"), &sealed]);
        bench.fails(&["cat", "-k", "key", "--bind", name, &sealed], 4, ANOTHER);
    }
    let again = ["encrypt", "-k", "key", "--recursive", "tree", "-o", "sealed", "--skip-existing"];
    let counts = "note: encrypted: 0, up to date: 4";
    ends(&bench, &joined(&[&again, &["--bind-to-path"]]), 0, counts, "");
    let counts = "note: encrypted: 0, kept because the output is for another key or place: 4";
    ends(&bench, &again, 2, counts, "");

    // With key slots, through -d, and beside the inputs.
    let slots = joined(&[&again[..7], &["--force", "--slots", "--bind-to-path"]]);
    ends(&bench, &slots, 0, "note: encrypted: 4", "");
    let args = joined(&[&["encrypt", "-d", "-f"], &BACK[1..]]);
    ends(&bench, &args, 0, "note: decrypted: 4, with key slots: 4", "");
    let beside = ["-qk", "key", "--rm", "--recursive", "back/.", "--bind-to-path"];
    bench.ok(&joined(&[&["encrypt"], &beside]));
    bench.ok(&["verify", "-k", "key", "--bind", "one.pld", "back/one.pld"]);
    bench.ok(&joined(&[&["decrypt"], &beside]));

    #[cfg(unix)]
    {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        // A name that is not text. Not every file system takes it.
        let odd = OsStr::from_bytes(b"\xff odd\n");
        if std::fs::write(bench.path("tree").join(odd), "odd").is_ok() {
            bench.ok(&joined(&[&["-q"], &again, &["--bind-to-path"]]));
            bench.ok(&joined(&[&BACK, &["-qf"]]));
            assert_eq!(std::fs::read(bench.path("back").join(odd)).unwrap(), b"odd");
        }
    }
}

#[test]
fn what_changed_its_path_is_refused() {
    let bench = bound_to_paths();
    let rename = |from: &str, to: &str| {
        std::fs::rename(bench.path("sealed").join(from), bench.path("sealed").join(to)).unwrap();
    };
    rename("one.pld", "three.pld");
    rename("two.pld", "one.pld");
    rename("three.pld", "two.pld");
    assert_eq!(ends(&bench, &BACK, 4, "note: decrypted: 2, failed: 2", ANOTHER), 2);
    assert!(!bench.path("back/one").exists() && !bench.path("back/two").exists());
    rename("2026 März/no name.txt.pld", "2026 März/no-name.txt.pld");
    rename("2026 März/空/ñ.pld", "ñ.pld");
    let all = joined(&[&BACK, &["--force"]]);
    assert_eq!(ends(&bench, &all, 4, "note: decrypted: 0, failed: 4", ANOTHER), 4);
    // Without its place, and with one for a file that is not bound.
    let hint = ends(&bench, &all[..7], 3, "note: decrypted: 0, failed: 4", "or for a directory");
    assert_eq!(hint, 1);
    bench.ok(&["encrypt", "-fk", "key", "in", "-o", "sealed/one.pld"]);
    let hint = ends(&bench, &all, 4, "note: decrypted: 0, failed: 4", "or --bind-to-path");
    assert_eq!(hint, 1);
}

#[test]
fn only_directories_have_paths_of_their_own() {
    let bench = bench();
    std::fs::create_dir(bench.path("tree")).unwrap();
    for (args, message) in [
        (&["in"][..], "--bind-to-path is for directories, with --recursive"),
        (&[], "--bind-to-path is for directories, with --recursive"),
        (&["--recursive", "tree", "in"], "\"in\" is not a directory, as --bind-to-path needs"),
        (&["--recursive", "-"], "\"-\" is not a directory"),
    ] {
        for command in ["encrypt", "decrypt"] {
            let args = joined(&[&[command, "-k", "key", "--bind-to-path"], args]);
            let hint = bench.fails(&args, 2, message);
            assert!(hint.contains("use --bind TEXT"), "{hint}");
        }
    }
    let both = ["encrypt", "-k", "key", "--recursive", "tree", "--bind-to-path", "--bind", "here"];
    bench.fails(&both, 2, "cannot be used with");
    bench.fails("encrypt -k key --recursive tree -o -", 2, "--recursive cannot write to a stream");
    // Files of two directories could have the same place.
    for args in ["encrypt", "decrypt", "verify", "rewrap --to-key=key"] {
        let args = format!("{args} -k key --recursive tree ./tree --bind-to-path");
        bench.fails(&args, 2, "--bind-to-path takes one directory");
    }
}

#[test]
fn keys_of_whole_directories() {
    let bench = bound_to_paths();
    bench.ok("encrypt -qfk key --slots --recursive tree -o sealed --bind-to-path");
    let rewrap = "rewrap -k key -k bob --to-key bob --recursive sealed";
    bench.fails(rewrap, 3, "is bound to a place");
    bench.says(&format!("{rewrap} --bind-to-path"));
    bench.ok("verify -qk bob --recursive sealed --bind-to-path");
    // Once more, with a slot that is there, and with one that has no room.
    let said = bench.says(&format!("{rewrap} --bind-to-path"));
    assert_eq!(said.matches("no slot was added or removed").count(), 4, "{said}");
    let mut many = format!("{rewrap} --bind-to-path");
    for number in 0..45 {
        bench.ok(&format!("keygen -o key{number}"));
        many += &format!(" --to-key=key{number}");
    }
    bench.says(&many);
    bench.ok("verify -qk key44 --recursive sealed --bind-to-path");
}

/// A file that nobody could open as expected is not taken for done.
#[test]
fn what_opens_otherwise_is_not_up_to_date() {
    let bench = bound_to_paths();
    let again = ["encrypt", "--recursive", "tree", "-o", "sealed", "--skip-existing"];
    let run = |key, more: &[&'static str], status, last: &str, says: &str| {
        let args = joined(&[&again, &["--bind-to-path", "-k", key], more]);
        ends(&bench, &args, status, last, says)
    };
    let kept = |count| {
        let kept = format!("kept because the output is for another key or place: {count}");
        let up_to_date = if count == 1 { "up to date: 3, " } else { "" };
        format!("note: encrypted: 0, {up_to_date}{kept}")
    };
    let key = "does not open with this key and was kept; --force replaces it";
    assert_eq!(run("bob", &[], 2, &kept(4), key), 4);
    let place = "is bound to another place and was kept; --force replaces it";
    std::fs::rename(bench.path("sealed/one.pld"), bench.path("sealed/three.pld")).unwrap();
    std::fs::rename(bench.path("tree/one"), bench.path("tree/three")).unwrap();
    assert_eq!(run("key", &[], 2, &kept(1), place), 1);
    run("key", &["--force"], 0, "note: encrypted: 1, up to date: 3", "");
    run("bob", &["--force", "--slots"], 0, "note: encrypted: 4", "");
    run("bob", &[], 0, "note: encrypted: 0, up to date: 4", "");
    assert_eq!(run("key", &[], 2, &kept(4), key), 4);
    let sealed = bench.path("sealed/two.pld");
    let date = sealed.metadata().unwrap().modified().unwrap();
    bench.flip("sealed/two.pld", 300);
    bench.flip("sealed/two.pld", std::fs::metadata(&sealed).unwrap().len() as usize - 300);
    std::fs::File::options().write(true).open(&sealed).unwrap().set_modified(date).unwrap();
    run("bob", &[], 0, "note: encrypted: 1, up to date: 3", "");
    // Another kind of secret, and slots that are missing.
    let args = joined(&[&again, &["--bind-to-path", "-kbob"]]);
    let [none, slots] = ["opens with no passphrase and was kept", "has no key slots and was kept"];
    bench.private("words", "words");
    let words = ["--passphrase-file", "words", "--kdf-memory=64K", "--kdf-passes=1"];
    assert_eq!(ends(&bench, &joined(&[&args, &words]), 2, &kept(4), none), 4);
    bench.ok("keygen -q --identity -o id");
    let recipient = joined(&[&again, &["--bind-to-path", "-iid"]]);
    assert_eq!(ends(&bench, &recipient, 2, &kept(4), "is for no recipient and was kept"), 4);
    run("bob", &["--force", "--slots"], 0, "note: encrypted: 1, up to date: 3", "");
    bench.ok("encrypt -qfkbob --recursive tree -o sealed --bind-to-path");
    assert_eq!(ends(&bench, &joined(&[&args, &["--slots"]]), 2, &kept(4), slots), 4);
    // With a passphrase, which would take long to try.
    let args = ["encrypt", "--recursive", "tree", "-o", "new", "--skip-existing"];
    ends(&bench, &joined(&[&args, &words]), 0, "note: encrypted: 4", "");
    ends(&bench, &joined(&[&args, &words]), 0, "note: encrypted: 0, up to date: 4", "");
    let how = "opens with no key and was kept";
    assert_eq!(ends(&bench, &joined(&[&args, &["-kkey"]]), 2, &kept(4), how), 4);
}

#[test]
fn whole_directories_are_verified() {
    let bench = bound_to_paths();
    let verify = "verify -k key --recursive sealed";
    let run = bench.run(&format!("{verify} --bind-to-path"));
    assert_eq!(run.stderr, "note: complete and unchanged: 4 of 4\n");
    let shown = String::from_utf8(run.stdout).unwrap();
    assert_eq!(shown.lines().filter(|line| line.ends_with(".pld: OK")).count(), 4, "{shown}");
    assert_eq!(bench.run(verify).status.code(), Some(3));
    std::fs::rename(bench.path("sealed/two.pld"), bench.path("sealed/three.pld")).unwrap();
    let run = bench.run(&format!("{verify} --bind-to-path"));
    assert_eq!(run.status.code(), Some(4), "{run:?}");
    assert!(run.stderr.contains("three.pld\": the file is bound to another place"), "{run:?}");
    assert!(run.stderr.contains("name the directory that was encrypted"), "{run:?}");
    for (args, message) in [
        ("verify -k key --recursive tree", "no file in \"tree\" ends in .pld"),
        ("verify -k key --recursive --bind-to-path in", "\"in\" is not a directory"),
        ("verify -k key --bind-to-path in", "--recursive"),
    ] {
        bench.fails(args, 2, message);
    }
}
