//! Files that are bound to a place: `--bind`.

use crate::common::*;
use crate::keys::chmod;

const HERE: [&str; 3] = ["-q", "--bind", "reports/2026/january"];
const THERE: [&str; 3] = ["-q", "--bind", "reports/2026/february"];
const ANOTHER: &str = "is bound to another place";

/// A folder with the keys `key` and `bob`, a passphrase and a text.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.ok(&["keygen", "-q", "-o", "bob"]);
    bench.write("passphrase", "open sesame");
    chmod(&bench, "passphrase", 0o600);
    bench.write("in", text(3000));
    bench
}

fn with(parts: &[&[&'static str]]) -> Vec<&'static str> {
    parts.concat()
}

#[test]
fn every_command_wants_the_place() {
    let bench = bench();
    let phrase = ["--passphrase-file", "passphrase", "--kdf-memory=64K"];
    let secrets: [(&[&str], &[&str]); 4] = [
        (&["-k", "key"], &["-k", "key"]),
        (&phrase, &phrase[..2]),
        (&["-k", "key", "-k", "bob"], &["-k", "bob"]),
        (&["-k", "key", "--slots"], &["-k", "key"]),
    ];
    let commands: [&[&str]; 6] = [
        &["decrypt", "-o", "new", "in.pld"],
        &["decrypt", "--salvage", "-o", "new", "in.pld"],
        &["encrypt", "-d", "-o", "new", "in.pld"],
        &["cat", "-o", "new", "in.pld"],
        &["cat", "--tail=9", "in.pld"],
        &["verify", "in.pld"],
    ];
    for (to, of) in secrets {
        bench.ok(&with(&[&["encrypt", "-f", "in"], to, &HERE]));
        for command in commands {
            bench.ok(&with(&[command, of, &HERE]));
            if bench.names().contains(&"new".into()) {
                assert_eq!(bench.read("new"), text(3000), "{command:?}");
                std::fs::remove_file(bench.path("new")).unwrap();
            }
            if command[0] == "verify" {
                let verify = |place: &[&'static str]| bench.run(&with(&[command, of, place]));
                let (none, other) = (verify(&[]), verify(&THERE));
                assert!(
                    none.status.code() == Some(3) && none.stdout.starts_with(b"in.pld: FAILED")
                );
                assert_eq!(other.status.code(), Some(4));
                assert_eq!(other.stdout, b"in.pld: FAILED\n");
                assert!(other.stderr.contains(ANOTHER), "{other:?}");
                continue;
            }
            let hint = bench.fails(&with(&[command, of]), 3, "is bound to a place");
            assert!(hint.contains("use --bind TEXT"), "{hint}");
            bench.fails(&with(&[command, of, &THERE]), 4, ANOTHER);
        }
        bench.ok(&with(&[&["encrypt", "-f", "-o", "unbound.pld", "in"], to]));
        let args = with(&[&["decrypt", "-o", "new", "unbound.pld"], of, &HERE]);
        let hint = bench.fails(&args, 4, "is not bound to a place");
        assert!(hint.contains("leave out --bind"), "{hint}");
    }
    // A wrong key says nothing of the place.
    bench.ok(&with(&[&["encrypt", "-f", "-k", "key", "in"], &HERE]));
    let args = with(&[&["decrypt", "-o", "new", "-k", "bob", "in.pld"], &THERE]);
    bench.fails(&args, 3, "is not the key");
    // Of several keys, the right one does.
    let args = with(&[&["decrypt", "-o", "new", "-k", "bob", "-k", "key", "in.pld"], &THERE]);
    bench.fails(&args, 4, ANOTHER);
}

#[test]
fn changed_slots() {
    let bench = bench();
    bench.ok(&with(&[&["encrypt", "--slots", "-k", "key", "in"], &HERE]));
    let rewrap = ["rewrap", "-k", "key", "--add", "--to-key", "bob", "in.pld"];
    bench.fails(&rewrap, 3, "is bound to a place");
    bench.fails(&with(&[&rewrap, &THERE]), 4, ANOTHER);
    bench.ok(&with(&[&rewrap, &HERE]));
    bench.ok(&with(&[&["verify", "-k", "bob", "in.pld"], &HERE]));
    // Again: the slot is there. And with more slots than there is room for, in a new file.
    bench.ok(&with(&[&rewrap, &HERE]));
    assert_eq!(bench.read("in.pld").len(), 2 * 4096 + 3000 + 36);
    let keys: Vec<_> = (0..39).map(|number| format!("--to-key=key{number}")).collect();
    keys.iter().for_each(|key| drop(bench.ok(&["keygen", "-o", &key[9..]])));
    let mut many = with(&[&["rewrap", "-k", "key", "--to-key=key", "--to-key=bob"], &HERE]);
    many.extend(keys.iter().map(String::as_str));
    many.push("in.pld");
    bench.ok(&many);
    assert_eq!(bench.read("in.pld").len(), 2 * 16384 + 3000 + 36);
    bench.ok(&with(&[&["verify", "-k", "bob", "in.pld"], &HERE]));
    // By the second copy.
    let mut file = bench.read("in.pld");
    file[300] ^= 1;
    bench.write("in.pld", &file);
    bench.ok(&with(&[&["cat", "-k", "bob", "in.pld"], &HERE]));
    bench.fails(&with(&[&["cat", "-k", "bob", "in.pld"], &THERE]), 4, ANOTHER);
    bench.ok(&with(&[&["rewrap", "--repair", "-k", "bob", "in.pld"], &HERE]));
    bench.ok(&with(&[&["verify", "-k", "bob", "in.pld"], &HERE]));
}

#[test]
fn several_files_have_one_place() {
    let bench = bench();
    bench.write("two", "two");
    bench.ok(&with(&[&["encrypt", "-k", "key", "in", "two"], &HERE]));
    bench.ok(&with(&[&["verify", "-k", "key", "in.pld", "two.pld"], &HERE]));
    std::fs::rename(bench.path("in.pld"), bench.path("one.pld")).unwrap();
    bench.ok(&with(&[&["decrypt", "-k", "key", "one.pld"], &HERE]));
    // Through pipes.
    let file = bench.read("one.pld");
    let args = with(&[&["decrypt", "-k", "key"], &HERE]);
    assert_eq!(bench.run_with_input(&args, &file).stdout, text(3000));
}

#[test]
fn what_info_says() {
    let bench = bench();
    let info = |name: &str, json: bool| {
        let args = if json { &["info", "--json", name][..] } else { &["info", name] };
        String::from_utf8(bench.ok(args)).unwrap()
    };
    for slots in [None, Some("--slots")] {
        let encrypt = |place: &[&'static str]| {
            let slots: Vec<_> = slots.into_iter().collect();
            bench.ok(&with(&[&["encrypt", "-f", "-k", "key", "in"], &slots, place]));
        };
        encrypt(&HERE);
        let text = info("in.pld", false);
        assert!(text.contains("\nbound:       to a place (--bind)\n"), "{text}");
        assert!(info("in.pld", true).contains(r#""bound":true"#));
        assert!(!text.contains("january"));
        encrypt(&[]);
        assert!(!info("in.pld", false).contains("bound"));
        assert!(info("in.pld", true).contains(r#""bound":false"#));
    }
}

#[test]
fn an_empty_place_is_wrong_usage() {
    let bench = bench();
    for command in ["encrypt", "decrypt"] {
        bench.fails(&[command, "-k", "key", "in", "--bind", ""], 2, "--bind <TEXT>");
        bench.fails(&[command, "-k", "key", "in", "--bind="], 2, "--bind <TEXT>");
    }
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
    let bound = with(&[&all, &["--bind", "here"]]);
    let (not, is) = ("is not bound to a place and was kept; --force replaces it", "is bound to");

    assert_eq!(ends(&bench, &all, 0, "note: encrypted: 2", ""), 1);
    bench.write("tree/new", "new");
    let kept = "note: encrypted: 1, kept because the output is not bound: 2";
    assert_eq!(ends(&bench, &bound, 2, kept, not), 2);
    let counts = "note: encrypted: 2, up to date: 1";
    ends(&bench, &with(&[&bound, &["--force"]]), 0, counts, "");
    ends(&bench, &bound, 0, "note: encrypted: 0, up to date: 3", "");
    let decrypt = ["decrypt", "-k", "key", "--recursive", "sealed", "-o", "back", "--bind", "here"];
    ends(&bench, &decrypt, 0, "note: decrypted: 3", "");
    // Skipping plain files needs no place.
    let again = with(&[&decrypt[..6], &["back", "--skip-existing"]]);
    ends(&bench, &again, 0, "note: decrypted: 0, up to date: 3", "");

    // The reverse, and a file with key slots.
    let kept = "note: encrypted: 0, kept because the output is bound: 3";
    assert_eq!(ends(&bench, &all, 2, kept, is), 3);
    bench.ok(&with(&[&["encrypt", "-k", "key", "--slots", "in"], &HERE]));
    let one = ["encrypt", "-k", "key", "--skip-existing", "in"];
    assert_eq!(ends(&bench, &one, 2, &kept.replace('3', "1"), is), 1);
    // What is to be replaced anyway is replaced.
    bench.write("in", "changed");
    bench.ok(&one);
    bench.ok(&["decrypt", "-f", "-k", "key", "in.pld"]);
}
