//! Files with key slots, which several secrets open.

use crate::common::*;
use crate::keys::chmod;

const NOTE: &str = "has key slots: anyone who can open it could have written it";
const LEN: usize = 2_000_000;

/// A folder with the keys `key`, `bob` and `eve`, a passphrase and a text, and a file `in.pld` for
/// `key`, `bob` and the passphrase.
fn bench() -> Bench {
    let bench = Bench::new();
    for name in ["bob", "eve"] {
        bench.ok(&["keygen", "-o", name]);
    }
    for (name, passphrase) in [("passphrase", "open sesame"), ("wrong", "Open sesame")] {
        bench.write(name, passphrase);
        chmod(&bench, name, 0o600);
    }
    bench.write("in", text(LEN));
    let secrets = ["-k", "key", "-k", "bob", "--passphrase-file", "passphrase"];
    let cost = ["--kdf-memory=64K", "--kdf-passes=1"];
    bench.ok(&[&["encrypt", "in"][..], &secrets, &cost].concat());
    bench
}

/// Runs a command that must succeed, on a file with slots. Returns what it says besides.
fn says(bench: &Bench, args: &[&str]) -> String {
    let run = bench.run(args);
    assert!(run.status.success(), "{args:?}: {run:?}");
    run.stderr
}

fn flip(bench: &Bench, name: &str, at: usize) {
    let mut file = bench.read(name);
    file[at] ^= 1;
    bench.write(name, file);
}

#[test]
fn each_secret_opens() {
    let bench = bench();
    let file = bench.read("in.pld");
    assert_eq!(file.len(), 2 * 4096 + LEN + 2 * 36);
    let secrets = [["-k", "key"], ["-k", "bob"], ["--passphrase-file", "passphrase"]];
    for secret in secrets {
        let run = |args: &[&str]| says(&bench, &[args, &secret[..]].concat());
        assert!(run(&["decrypt", "-o", "out", "-f", "in.pld"]).ends_with(&format!("{NOTE}\n")));
        assert_eq!(bench.read("out"), text(LEN));
        assert!(run(&["verify", "in.pld"]).contains(NOTE));
        assert!(run(&["cat", "--tail=9", "in.pld"]).contains(NOTE));
        assert_eq!(run(&["verify", "-q", "in.pld"]), "");
        let args = [&["decrypt", "-q"][..], &secret].concat();
        assert_eq!(bench.run_with_input(&args, &file).stdout, text(LEN));
    }
    // Among others, in any order.
    says(&bench, &["verify", "-k", "eve", "--passphrase-file=passphrase", "in.pld"]);
    for secret in [["-k", "eve"], ["--passphrase-file", "wrong"]] {
        let args = [&["decrypt", "-o", "new", "in.pld"][..], &secret].concat();
        bench.fails(&args, 3, "none of the file's key slots opens");
    }
    let args = ["decrypt", "--salvage", "-o", "new", "-k", "key", "in.pld"];
    bench.fails(&args, 1, "cannot be salvaged");
}

#[test]
fn one_secret_and_slots() {
    let bench = bench();
    bench.ok(&["encrypt", "--slots", "-k", "bob", "-o", "one.pld", "in"]);
    bench.ok(&["encrypt", "-k", "bob", "-o", "plain.pld", "in"]);
    assert_eq!(bench.read("plain.pld").len(), 128 + LEN + 2 * 36);
    assert!(!says(&bench, &["verify", "-k", "bob", "plain.pld"]).contains("slots"));
    says(&bench, &["verify", "-k", "bob", "one.pld"]);
    // The file's kind of secret decides, as for others.
    let wrong = ["decrypt", "--passphrase-file=passphrase", "-o", "new", "one.pld"];
    bench.fails(&wrong, 3, "with a key file, not with a passphrase");
    // The default key.
    let mut command = bench.command(&["verify", "-q", "one.pld"]);
    assert!(command.env("PALLADION_KEY_FILE", "bob").status().unwrap().success());
    // A key does not encrypt itself, the second no more than the first.
    let args = ["encrypt", "-k", "key", "-k", "bob", "-o", "new", "bob"];
    bench.fails(&args, 2, "that would encrypt it");
}

#[test]
fn costs_have_limits() {
    let bench = bench();
    bench.ok(&["encrypt", "--passphrase-file=passphrase", "--slots", "-o", "one.pld", "in"]);
    let args = ["decrypt", "--passphrase-file=passphrase", "-o", "new", "--max-kdf-memory=32K"];
    let stderr = bench.fails(&[&args[..], &["one.pld"]].concat(), 1, "would cost too much");
    assert!(stderr.contains("use --max-kdf-memory 64M"), "{stderr}");
    let args = ["verify", "-q", "-k", "key", "--max-kdf-memory=32K", "in.pld"];
    assert_eq!(says(&bench, &args), "");
}

#[test]
fn damage_to_a_copy_of_the_slots() {
    let bench = bench();
    let (whole, end) = (bench.read("in.pld"), bench.read("in.pld").len());
    // The data is there, and the user hears of the damage.
    flip(&bench, "in.pld", end - 4000);
    let said = says(&bench, &["decrypt", "-k", "key", "-o", "out", "in.pld"]);
    assert!(said.contains("warning: \"in.pld\": the second copy of the key slots"), "{said}");
    assert_eq!(bench.read("out"), text(LEN));
    let run = bench.run(&["verify", "-k", "key", "in.pld"]);
    assert_eq!(run.status.code(), Some(4));
    assert!(run.stderr.contains("rewrap --repair"), "{run:?}");
    // What can read at any offset uses the other copy.
    for at in [0, 70, 140, 200, 4000] {
        bench.write("in.pld", &whole);
        flip(&bench, "in.pld", at);
        says(&bench, &["cat", "-k", "bob", "--tail=9", "in.pld"]);
        let run = bench.run(&["decrypt", "-k", "key", "-o", "new", "in.pld"]);
        assert_eq!(run.status.code(), Some(4));
        assert!(at == 0 || run.stderr.contains("rewrap --repair"), "{run:?}");
    }
}

#[test]
fn what_info_says() {
    let bench = bench();
    let said = String::from_utf8(bench.ok(&["info", "in.pld"])).unwrap();
    for line in [
        "key slots:   3\n",
        "secret:      key, key, passphrase (Argon2id: memory 64 KiB, passes 1, lanes 4)\n",
        "size:        2000000\n",
        "chunks:      2\n",
    ] {
        assert!(said.contains(line), "{said}");
    }
    let json = String::from_utf8(bench.ok(&["info", "--json", "in.pld"])).unwrap();
    assert!(json.contains(r#""key_slots":3"#) || json.contains(r#""key_slots": 3"#), "{json}");
    assert!(json.contains(r#"[{"kind":"key"},{"kind":"key"},{"kind":"passphrase","#), "{json}");
    // A length that no such file has.
    let file = bench.read("in.pld");
    bench.write("short.pld", &file[..8192 + 35]);
    let run = bench.run(&["info", "short.pld"]);
    assert_eq!(run.status.code(), Some(4), "{run:?}");
}
