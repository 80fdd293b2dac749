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
