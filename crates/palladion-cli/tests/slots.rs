//! Files with key slots, which several secrets open.

use crate::common::*;

const NOTE: &str = "anyone who can open it could have written it";
const LEN: usize = 2_000_000;

/// A folder with the keys `key`, `bob` and `eve`, the identity `id`, a passphrase and a text, and a
/// file `in.pld` for `key`, `bob` and the passphrase.
fn bench() -> Bench {
    let bench = Bench::new();
    for name in ["bob", "eve"] {
        bench.ok(&format!("keygen -o {name}"));
    }
    bench.ok("keygen -q --identity -o id");
    bench.private("passphrase", "open sesame");
    bench.private("wrong", "Open sesame");
    bench.write("in", text(LEN));
    let secrets = "-k key -k bob --passphrase-file passphrase";
    bench.ok(&format!("encrypt in {secrets} --kdf-memory=64K --kdf-passes=1"));
    bench
}

/// Both copies are damaged, but a slot, a header and the chunks are intact.
#[test]
fn salvage_by_any_slot() {
    let bench = bench();
    bench.ok("encrypt -f -k key -i id -o two.pld in");
    let (whole, spare) = (bench.read("two.pld"), bench.read("two.pld").len() - 4096);
    let salvage = |secret| bench.run(&["decrypt", "--salvage", "-fo", "out", secret, "two.pld"]);
    for (head_bytes, spare_bytes, openers) in [
        (&[2000][..], &[2001][..], "-kkey -iid"),
        // Slot 1 in one, slot 2 in the other.
        (&[200], &[300], "-kkey -iid"),
        (&[300], &[200], "-kkey -iid"),
        (&[50, 300], &[60, 300], "-kkey"),
        (&[50, 60, 70], &[300], "-kkey"),
        (&[4095], &[50, 60, 70], "-kkey -iid"),
    ] {
        let mut file = whole.clone();
        head_bytes.iter().for_each(|at| file[*at] ^= 1);
        spare_bytes.iter().for_each(|at| file[spare + at] ^= 1);
        bench.write("two.pld", file);
        for command in ["slots", "cat -kkey", "rewrap --repair -kkey", "decrypt -o new -kkey"] {
            let stderr = bench.fails(&format!("{command} two.pld"), 4, "damaged");
            assert!(stderr.contains("decrypt --salvage -o OUT FILE saves"), "{stderr}");
        }
        for secret in ["-kkey", "-iid"] {
            let run = salvage(secret);
            assert_eq!(run.status.success(), openers.contains(secret), "{secret}: {run:?}");
            if run.status.success() {
                assert_eq!(bench.read("out"), text(LEN));
                assert!(run.stderr.contains("both copies of the key slots are damaged"), "{run:?}");
            }
        }
        let wrong = salvage("-kbob");
        assert!(wrong.stderr.contains("may be damaged in both copies"), "{wrong:?}");
        assert!(!wrong.status.success());
        let slot = bench.run("slots --extract=2 two.pld");
        assert!(slot.status.success() && slot.stderr.contains("so may be the slot"), "{slot:?}");
        assert!(slot.stdout.starts_with(b"age-encryption.org/v1\n"), "{slot:?}");
    }
    // One copy is enough for a slot to be verified, and from a pipe there is only one.
    let mut file = whole.clone();
    file[200] ^= 1;
    let run = bench.run_with_input("decrypt -kkey", &file);
    assert_eq!(run.status.code(), Some(4), "{run:?}");
    bench.write("two.pld", &whole);
    let run = bench.run_with_input("decrypt -kbob", &whole);
    assert_eq!(run.status.code(), Some(3), "{run:?}");
    assert!(run.stderr.contains("from a pipe, only the first of both copies"), "{run:?}");
    let stderr = bench.fails("decrypt -o new -kbob two.pld", 3, "none of the");
    assert!(!stderr.contains("pipe"), "{stderr}");
    // Who opens it with an identity knows who can have made it.
    assert!(bench.says("verify -kkey two.pld").contains("could have written it"));
    assert!(!bench.says("verify -iid two.pld").contains("could have written it"));
}

/// A copy of one file over another that stopped.
#[test]
fn one_file_over_another() {
    let bench = bench();
    let encrypt = |name: &str, text: &[u8], options: &str| {
        bench.write(name, text);
        bench.ok(&format!("encrypt --chunk-size=64K {options} {name}"));
        bench.read(&format!("{name}.pld"))
    };
    let (one, two): (Vec<_>, Vec<_>) = (text(LEN), text(LEN).into_iter().rev().collect());
    let over = encrypt("over", &one, "-kkey --slots");
    let under = encrypt("under", &two, "-kkey --slots");
    let other = encrypt("other", &two, "-kbob --slots");
    let plain = encrypt("plain", &one, "-kkey");
    let salvage = |file: &[u8], secrets: &str| {
        bench.write("mix.pld", file);
        bench.run(&format!("decrypt --salvage -fo out mix.pld {secrets}"))
    };
    let mix = |over: &[u8], cut: usize, under: &[u8]| [&over[..cut], &under[cut..]].concat();
    let rest = |text: &[u8]| text.last_chunk::<900_000>().copied();
    let (early, late) = (500_000, 1_500_000);

    // More is left of the last file, and then of the first. What is said of the other is true.
    let mixed = mix(&over, early, &under);
    let run = salvage(&mixed, "-kkey");
    assert_eq!(run.status.code(), Some(4), "{run:?}");
    let says = "one file and ends with another: the last of these is salvaged; 458752 bytes of the";
    assert!(run.stderr.contains(says) && run.stderr.contains("cut the last 4096 bytes"), "{run:?}");
    assert_eq!(rest(&bench.read("out")), rest(&two));
    salvage(&mixed[..mixed.len() - 4096], "-kkey");
    assert!(bench.read("out")[..458_752] == one[..458_752]);
    let mixed = mix(&over, late, &under);
    let run = salvage(&mixed, "-kkey");
    let says = "the first of these is salvaged; 492672 bytes of the other are intact; to get \
                those, run cp FILE COPY; tail -c 4096 FILE | dd of=COPY conv=notrunc, and \
                salvage that";
    assert!(run.stderr.contains(says), "{run:?}");
    assert!(bench.read("out")[..1_400_000] == one[..1_400_000]);
    let swapped = [&mixed[mixed.len() - 4096..], &mixed[4096..]].concat();
    salvage(&swapped, "-kkey");
    assert!(bench.read("out")[1_600_000..] == two[1_600_000..]);

    // Each with the secret that opens it, also if the first has no slots.
    let mixed = mix(&over, late, &other);
    let run = salvage(&mixed, "-kbob");
    assert!(run.stderr.contains("of these is salvaged; the other does not open"), "{run:?}");
    assert!(bench.read("out")[1_600_000..] == two[1_600_000..]);
    let run = salvage(&mixed, "-kbob -kkey");
    assert!(run.stderr.contains("the first of these is salvaged; 492672 bytes"), "{run:?}");
    assert_eq!(salvage(&mixed, "-keve").status.code(), Some(3));
    for under in [&under, &other] {
        let run = salvage(&mix(&plain, early, under), "-kbob -kkey");
        assert!(run.stderr.contains("the last of these is salvaged; 458752"), "{run:?}");
        assert_eq!(rest(&bench.read("out")), rest(&two));
    }
    // A complete file comes before a longer one.
    let short = encrypt("short", b"short", "-kkey");
    let run = salvage(&[&short[..], &under].concat(), "-kkey");
    assert!(run.stderr.contains("the first of these is salvaged; 2000000 bytes"), "{run:?}");
    assert_eq!(bench.read("out"), b"short");

    // Without --salvage, all commands say what it is.
    bench.write("mix.pld", mix(&over, early, &other));
    for (args, status) in [
        ("slots", 4),
        ("rewrap --repair -kkey", 4),
        ("rewrap --add -kkey --to-key=eve", 4),
        ("verify -q -kkey", 4),
        ("verify -q -keve", 3),
        ("cat -q -kkey", 4),
        ("cat -q -kbob", 4),
        ("decrypt -q -o new -kbob", 3),
        ("decrypt -q -o new -kkey", 4),
    ] {
        let run = bench.run(&format!("{args} mix.pld"));
        assert_eq!(run.status.code(), Some(status), "{args:?}: {run:?}");
        assert!(run.stderr.contains("ends with another, as if one had been copied"), "{run:?}");
        assert!(run.stderr.contains("decrypt --salvage -o OUT FILE"), "{run:?}");
    }
}

#[test]
fn a_file_that_cannot_be_written() {
    let bench = bench();
    let path = bench.path("in.pld");
    let before = std::fs::metadata(&path).unwrap().permissions();
    let mut read_only = before.clone();
    read_only.set_readonly(true);
    std::fs::set_permissions(&path, read_only).unwrap();
    // Not for root, who can.
    if std::fs::OpenOptions::new().write(true).open(&path).is_err() {
        bench.fails("rewrap -k key --add --to-key eve in.pld", 1, "cannot write \"in.pld\"");
    }
    std::fs::set_permissions(&path, before).unwrap(); // Windows deletes no such file
}

#[test]
fn each_secret_opens() {
    let bench = bench();
    let file = bench.read("in.pld");
    assert_eq!(file.len(), 2 * 4096 + LEN + 2 * 36);
    for secret in ["-k key", "-k bob", "--passphrase-file passphrase"] {
        let says = |command: &str| bench.says(&format!("{command} {secret}"));
        assert!(says("decrypt -o out -f in.pld").ends_with(&format!("{NOTE}\n")));
        assert_eq!(bench.read("out"), text(LEN));
        assert!(says("verify in.pld").contains(NOTE));
        assert!(says("cat --tail=9 in.pld").contains(NOTE));
        assert_eq!(says("verify -q in.pld"), "");
        let piped = bench.run_with_input(&format!("decrypt -q {secret}"), &file);
        assert_eq!(piped.stdout, text(LEN));
    }
    // Among others, in any order.
    bench.says("verify -k eve --passphrase-file=passphrase in.pld");
    for secret in ["-k eve", "--passphrase-file wrong"] {
        let message = "none of the file's key slots opens";
        bench.fails(&format!("decrypt -o new in.pld {secret}"), 3, message);
    }
}

#[test]
fn one_secret_and_slots() {
    let bench = bench();
    bench.ok("encrypt --slots -k bob -o one.pld in");
    bench.ok("encrypt -k bob -o plain.pld in");
    assert_eq!(bench.read("plain.pld").len(), 128 + LEN + 2 * 36);
    assert!(!bench.says("verify -k bob plain.pld").contains("slots"));
    bench.says("verify -k bob one.pld");
    // The file's kind of secret decides, as for others.
    let wrong = "decrypt --passphrase-file=passphrase -o new one.pld";
    bench.fails(wrong, 3, "with a key file, not with a passphrase");
    // The default key.
    assert!(bench.run_with("PALLADION_KEY_FILE", "bob", "verify -q one.pld").status.success());
    // A key does not encrypt itself, the second no more than the first.
    bench.fails("encrypt -k key -k bob -o new bob", 2, "that would encrypt it");
    // Costs have limits.
    bench.ok("encrypt --passphrase-file=passphrase --slots -f -o one.pld in");
    let args = "decrypt --passphrase-file=passphrase -o new --max-kdf-memory=32K one.pld";
    let stderr = bench.fails(args, 1, "would cost too much");
    assert!(stderr.contains("use --max-kdf-memory 64M"), "{stderr}");
    assert_eq!(bench.says("verify -q -k key --max-kdf-memory=32K in.pld"), "");
}

#[test]
fn damage_to_a_copy_of_the_slots() {
    let bench = bench();
    let (whole, end) = (bench.read("in.pld"), bench.read("in.pld").len());
    let decrypt = |copy: &str| {
        for option in ["", "--salvage"] {
            let said = bench.says(&format!("decrypt {option} -f -k key -o out in.pld"));
            let warning = format!("warning: \"in.pld\": the {copy} copy of the key slots");
            assert!(said.contains(&warning), "{option}: {said}");
            assert_eq!(bench.read("out"), text(LEN));
        }
        let run = bench.run("verify -k key in.pld");
        assert_eq!(run.status.code(), Some(4));
        run.stderr
    };
    // The data is there, and the user hears of the damage.
    bench.flip("in.pld", end - 4000);
    assert!(decrypt("second").contains("rewrap --repair"));
    // What can read at any offset uses the other copy.
    for at in [0, 70, 140, 200, 4000] {
        bench.write("in.pld", &whole);
        bench.flip("in.pld", at);
        bench.says("cat -k bob --tail=9 in.pld");
        let said = decrypt("first");
        assert!(said.contains("its data is complete and unchanged"), "{said}");
        assert!(said.contains("rewrap --repair"), "{said}");
        let run = bench.run("info in.pld");
        assert_eq!(run.status.code(), Some(4));
        assert!(String::from_utf8_lossy(&run.stdout).contains("size:        2000000"), "{run:?}");
        assert!(run.stderr.contains("is damaged, and the second intact"), "{run:?}");
        let run = bench.run_with_input("decrypt -k key", &bench.read("in.pld"));
        assert_eq!((run.status.code(), run.stdout.len()), (Some(4), 0));
        assert!(at == 0 || run.stderr.contains("second copy"), "{run:?}");
    }
    // A file that was cut, which --repair cannot mend.
    bench.write("in.pld", &whole[..end - 9]);
    assert!(decrypt("second").contains("; the file was cut or extended: decrypt it"));
    // A chunk, and the second copy.
    bench.flip("in.pld", 5000);
    let run = bench.run("decrypt --salvage -f -k key -o out in.pld");
    assert_eq!(run.status.code(), Some(4));
    assert!(run.stderr.contains("bytes 0 to 1048575 are missing"), "{run:?}");
    assert!(bench.read("out")[1 << 20..] == text(LEN)[1 << 20..]);
}

/// What `slots` prints of a file, without its name.
fn slots(bench: &Bench, name: &str) -> String {
    let said = bench.shows(&["slots", name]);
    said.split_once('\n').unwrap().1.replace("verified:    nothing (slots uses no key; ", "(")
}

fn opens(bench: &Bench, secret: &str) -> bool {
    let run = bench.run(&["verify", "-q", secret, "in.pld"]);
    assert!(matches!(run.status.code(), Some(0 | 3)), "{run:?}");
    run.status.success()
}

const EACH: [&str; 4] = ["--key=key", "--key=bob", "--key=eve", "--passphrase-file=passphrase"];

fn who_opens(bench: &Bench) -> [bool; 4] {
    EACH.map(|secret| opens(bench, secret))
}

#[test]
fn listed() {
    let bench = bench();
    let see = "(see palladion verify)\n";
    let cost = "(Argon2id: memory 64 KiB, passes 1, lanes 4)";
    let expected = format!(
        "sequence:    1\ncopies:      same\nslot 1:      key\nslot 2:      key\n\
         slot 3:      passphrase {cost}\n{see}"
    );
    assert_eq!(slots(&bench, "in.pld"), expected);
    let info = bench.shows("info in.pld");
    for line in [
        "key slots:   3\n",
        &format!("secret:      key, key, passphrase {cost}\n"),
        "size:        2000000\n",
        "chunks:      2\n",
    ] {
        assert!(info.contains(line), "{info}");
    }
    let json = bench.shows("slots --json in.pld");
    let start = r#"{"file":"in.pld","sequence":1,"copies":"same","slots":[{"kind":"key"},"#;
    assert!(json.starts_with(start), "{json}");
    let json = bench.shows("info --json in.pld");
    assert!(json.contains(r#""key_slots":3"#), "{json}");
    assert!(json.contains(r#"[{"kind":"key"},{"kind":"key"},{"kind":"passphrase","#), "{json}");
    // A length that no such file has, and files of other programs.
    bench.write("short.pld", &bench.read("in.pld")[..8192 + 35]);
    assert_eq!(bench.run("info short.pld").status.code(), Some(4));
    bench.ok("encrypt -k bob -o plain.pld in");
    bench.fails("slots plain.pld", 1, "has no key slots");
    bench.fails("slots in", 4, "not a Palladion file");
    bench.write("age", "age-encryption.org/v1\n".repeat(500));
    bench.write("empty", "");
    for name in ["age", "empty"] {
        for command in ["slots", "rewrap --add --key=key --to-key=eve"] {
            let stderr = bench.fails(&format!("{command} {name}"), 4, "");
            let (is_age, says) = (name == "age", "not a Palladion file");
            assert!(!is_age || stderr.contains(says) && stderr.contains("it is an age file"));
            assert!(!stderr.contains("key slots are"), "{stderr}");
        }
    }
}

/// Slots of others stay, whose secrets the user need not know.
#[test]
fn own_slots_are_replaced() {
    let bench = bench();
    let slots = |bench: &Bench| slots(bench, "in.pld").matches("\nslot ").count();
    let said = bench.says("rewrap --key=bob --key=eve --to-key=eve in.pld");
    let changes = "removed: key; added: key; kept: key, passphrase\n";
    assert!(said.starts_with(&format!("note: \"in.pld\": {changes}")), "{said}");
    assert_eq!(who_opens(&bench), [true, false, true, true]);
    // What was done once is not done again, and a given secret without a slot changes nothing.
    for given in ["--key=eve", "--key=bob --key=eve"] {
        let said = bench.says(&format!("rewrap {given} --to-key=eve in.pld"));
        assert!(said.contains("no slot was added or removed"), "{said}");
        assert_eq!((who_opens(&bench), slots(&bench)), ([true, false, true, true], 3));
    }
    // All that the secrets given open, and not only the first.
    let given = "--passphrase-file=passphrase --key=key --key=bob";
    let said = bench.says(&format!("rewrap {given} --to-key=bob in.pld"));
    assert!(said.contains("removed: key, passphrase; added: key; kept: key\n"), "{said}");
    assert!(said.contains("no passphrase opens it any longer"), "{said}");
    assert_eq!((who_opens(&bench), slots(&bench)), ([false, true, true, false], 2));
    let to = format!("--to-recipient={}", recipient(&bench));
    bench.says(&["rewrap", "-q", "--key=bob", "-iid", &to, "in.pld"]);
    // A secret that may open a slot, but cannot be tried.
    let file = bench.read("in.pld");
    bench.ok("rewrap -q --key=eve --add --to-passphrase-file=passphrase in.pld");
    let before = bench.read("in.pld");
    let args = "rewrap --key=eve --passphrase-file=passphrase --max-kdf-memory=32K --to-key=eve";
    let run = bench.run(&format!("{args} in.pld"));
    assert_eq!(run.status.code(), Some(1), "{run:?}");
    assert!(run.stderr.contains("cannot be tried on a slot, which would stay"), "{run:?}");
    assert!(run.stderr.starts_with("slot 3: ") && bench.read("in.pld") == before, "{run:?}");
    bench.write("in.pld", file);
    let said = bench.says(&["rewrap", "-iid", &to, "in.pld"]);
    let age = "age (X25519)";
    assert!(said.contains(&format!("removed: {age}; added: {age}; kept: key\n")), "{said}");
    assert_eq!((who_opens(&bench), slots(&bench)), ([false, false, true, false], 2));
}

/// It is named too, so its slot is replaced, whatever opens the file.
#[cfg(target_os = "linux")]
#[test]
fn a_passphrase_beside_a_key() {
    let bench = bench();
    let script = "\"$P\" rewrap -k key -p --to-key key in.pld";
    let words = String::from_utf8(bench.read("passphrase")).unwrap();
    let words = words.lines().next().unwrap();
    let dialog = [
        ("Passphrase for \"in.pld\": ", "wrong\n"),
        ("wrong passphrase, try again", &*format!("{words}\n")),
    ];
    let shown = crate::habits::at_a_terminal(&bench, script, &dialog);
    assert!(shown.contains("removed: passphrase; kept: key, key"), "{shown}");
    assert_eq!(who_opens(&bench), [true, true, false, false]);
}

#[test]
fn exactly_the_new_slots() {
    let bench = bench();
    let chunks = |bench: &Bench| bench.read("in.pld")[4096..][..LEN + 2 * 36].to_vec();
    let before = chunks(&bench);
    // A slot is added once.
    for said in ["added: key\n", "no slot was added or removed: all these secrets have one\n"] {
        let args = "rewrap --key=bob --add --to-key=eve in.pld";
        assert_eq!(bench.says(args), format!("note: \"in.pld\": {said}"));
        assert_eq!(who_opens(&bench), [true; 4]);
        assert!(!slots(&bench, "in.pld").contains("slot 5"));
    }
    let removed = "removed: key, key, passphrase, key; added: key";
    let none = "removed: key; added: key";
    for (sequence, removed) in [(4, removed), (5, none)] {
        let said = bench.says("rewrap --only --key=bob --key=eve --to-key=eve in.pld");
        assert!(said.contains("to lock someone out, encrypt again"), "{said}");
        let changes = format!("note: \"in.pld\": {removed}\n");
        assert!(said.contains(&changes), "{said}");
        assert_eq!(who_opens(&bench), [false, false, true, false]);
        assert!(slots(&bench, "in.pld").contains(&format!("sequence:    {sequence}\n")));
    }
    assert!(chunks(&bench) == before, "no chunk was written");
    // With a passphrase, at a cost.
    let to = "--to-key=eve --to-passphrase-file=passphrase --kdf-memory=32K --kdf-passes=2";
    bench.says(&format!("rewrap --key=eve {to} -q in.pld"));
    assert_eq!(who_opens(&bench), [false, false, true, true]);
    assert!(slots(&bench, "in.pld").contains("memory 32 KiB, passes 2"));
}

#[test]
fn whose_slots() {
    let bench = bench();
    bench.says(&format!("rewrap --key=key --add --to-recipient {} in.pld", recipient(&bench)));
    for (args, numbers) in [
        ("-kbob", &[2][..]),
        ("-kkey --passphrase-file=passphrase -iid", &[1, 3, 4]),
        ("-keve", &[]),
        ("--passphrase-file=wrong", &[]),
        ("", &[]),
    ] {
        let is_in_vain = numbers.is_empty() && !args.is_empty();
        let list = |option: &str| {
            let run = bench.run(&format!("slots {args} {option} in.pld"));
            assert_eq!(run.status.code(), Some(if is_in_vain { 3 } else { 0 }), "{run:?}");
            let says = run.stderr.contains("none of the file's key slots opens");
            assert_eq!(says, is_in_vain, "{run:?}");
            String::from_utf8(run.stdout).unwrap()
        };
        let text = list("");
        assert_eq!(text.contains("none of the secrets opens a slot"), is_in_vain, "{text}");
        for (number, line) in (1..).zip(text.lines().skip(3).take(4)) {
            assert_eq!(line.ends_with(", yours"), numbers.contains(&number), "{args}: {text}");
        }
        let json = list("--json");
        let yours = if args.is_empty() { "null".into() } else { format!("{numbers:?}") };
        let yours = format!("\"yours\":{yours}").replace(' ', "");
        assert!(json.replace(' ', "").contains(&yours), "{json}");
        let verified = if numbers.is_empty() { "null" } else { "\"slots\"" };
        assert!(json.ends_with(&format!("\"verified\":{verified}}}\n")), "{json}");
    }
    assert!(bench.shows("rewrap --help").contains("PALLADION_KEY_FILE"));
    assert!(!bench.shows("slots --help").contains("PALLADION_"));
    bench.fails("slots -kkey --extract=4 in.pld", 2, "uses no key");
}

fn recipient(bench: &Bench) -> String {
    bench.shows("recipient id").trim().into()
}

/// A slot of the user's own stays, whichever secret was tried first.
#[test]
fn what_is_lost() {
    let bench = bench();
    let one = "one slot is left";
    let said = bench.says("rewrap -kkey -kbob --remove=1 in.pld");
    assert!(!said.contains("warning"), "{said}");
    let file = bench.read("in.pld");
    bench.fails("rewrap -kbob -keve --remove=1 in.pld", 1, "would not open it afterwards");
    assert!(bench.read("in.pld") == file);
    let said = bench.says("rewrap -kbob --remove=2 in.pld");
    assert!(said.contains("warning: \"in.pld\": no passphrase opens it any longer"), "{said}");
    assert!(said.contains(one) && !said.contains("no key opens"), "{said}");
    // Each kind, and also without --remove.
    let to = recipient(&bench);
    let said = bench.says(&["rewrap", "-fkbob", "--to-recipient", &to, "in.pld"]);
    assert!(said.contains("warning: \"in.pld\": no key opens it any longer"), "{said}");
    let said = bench.says("rewrap -fiid --to-key=bob in.pld");
    assert!(said.contains("warning: \"in.pld\": no identity opens it any longer"), "{said}");
    assert!(!said.contains(one) && !said.contains("no key opens"), "{said}");
}

#[test]
fn secrets_given_twice() {
    let bench = bench();
    bench.private("copy", bench.read("key"));
    let twice = "note: a key or passphrase is given twice, and counts once\n";
    let secrets = "-kkey -kbob -kcopy --passphrase-file=passphrase --passphrase-file=passphrase";
    let args = format!("encrypt -f in {secrets} --kdf-memory=64K --kdf-passes=1");
    assert!(bench.says(&args).starts_with(twice));
    assert!(slots(&bench, "in.pld").contains("slot 3:      passphrase"));
    assert!(!slots(&bench, "in.pld").contains("slot 4"));
    let said = bench.says("rewrap --only -kkey --to-key=key --to-key=copy in.pld");
    assert!(said.contains(twice) && !slots(&bench, "in.pld").contains("slot 2"), "{said}");
    assert!(bench.says("encrypt -fkkey -kcopy in").starts_with(twice));
    bench.fails("slots in.pld", 1, "has no key slots");
}

#[test]
fn one_slot_removed() {
    let bench = bench();
    // One leaves, one joins, and nobody types the passphrase that stays.
    let said = bench.says("rewrap --key=key --remove=2 --to-key=eve in.pld");
    assert!(said.starts_with("note: \"in.pld\": removed: key; added: key\n"), "{said}");
    assert!(said.contains("to lock someone out, encrypt again"), "{said}");
    assert_eq!(who_opens(&bench), [true, false, true, true]);
    let said = bench.says("rewrap --key=eve --remove=1 --remove=2 in.pld");
    assert!(said.starts_with("note: \"in.pld\": removed: key, passphrase\n"), "{said}");
    assert_eq!(who_opens(&bench), [false, false, true, false]);

    // A slot that is not there, the own slot, the last one.
    let file = bench.read("in.pld");
    for (options, status, message) in [
        ("--remove=2", 2, "has no slot 2"),
        ("--remove=0", 2, "0 is not in 1..=255"),
        ("--remove=1", 1, "would not open it afterwards"),
        ("--remove=1 --to-key=bob", 1, "would not open it afterwards"),
        ("--remove=1 --force", 1, "nobody could open the file"),
    ] {
        bench.fails(&format!("rewrap --key=eve {options} in.pld"), status, message);
    }
    assert!(bench.read("in.pld") == file);
    bench.says("rewrap --key=eve --remove=1 --to-key=bob --key=bob in.pld");
    assert_eq!(who_opens(&bench), [false, true, false, false]);

    // Numbers are certain only if both copies are the same.
    bench.flip("in.pld", 200);
    bench.fails("rewrap --key=bob --remove=1 --to-key=key --force in.pld", 4, "are not the same");
}

/// A script could not be asked for it.
#[test]
fn a_default_identity_with_a_passphrase() {
    let bench = bench();
    bench.ok("keygen -q --identity --passphrase-file=passphrase");
    bench.says(&format!("rewrap --key=key --remove=2 --to-recipient {} in.pld", recipient(&bench)));
    assert_eq!(who_opens(&bench), [true, false, false, true]);
}

#[test]
fn nobody_locks_himself_out() {
    let bench = bench();
    let file = bench.read("in.pld");
    let stderr = bench.fails("rewrap --key=bob --to-key=eve in.pld", 2, "none of the secrets");
    assert!(stderr.contains("--add"), "{stderr}");
    bench.fails("rewrap --key=bob in.pld", 2, "expected what shall open the files");
    bench.fails("rewrap --key=eve --to-key=eve in.pld", 3, "none of the file's");
    bench.ok("encrypt -k bob -o plain.pld in");
    bench.fails("rewrap --key=bob --to-key=bob plain.pld", 1, "has no key slots");
    assert!(bench.read("in.pld") == file);
    // The default key is the user's own.
    let mut command = bench.command("rewrap -q --key=bob --to-key=eve in.pld");
    assert!(command.env("PALLADION_KEY_FILE", "eve").status().unwrap().success());
    bench.says("rewrap --force --key=eve --to-key=bob in.pld");
    assert_eq!(who_opens(&bench), [true, true, false, true]);
}

#[test]
fn repaired() {
    let bench = bench();
    let whole = bench.read("in.pld");
    let args = "rewrap --repair --key=bob in.pld";
    assert!(bench.says(args).contains("needs no repair"));
    assert!(bench.read("in.pld") == whole);
    for at in [0, 140, 4095, whole.len() - 4096, whole.len() - 1] {
        bench.write("in.pld", &whole);
        bench.flip("in.pld", at);
        let run = bench.run("slots in.pld");
        assert_eq!(run.status.code(), Some(4));
        assert!(run.stderr.contains("are not the same"), "{run:?}");
        bench.fails("rewrap --add --key=key --to-key=eve in.pld", 4, "not the same");
        assert!(bench.says(args).starts_with("note: \"in.pld\": repaired"));
        assert_eq!(who_opens(&bench), [true, true, false, true]);
        let repaired = bench.read("in.pld");
        assert!(repaired[4096..whole.len() - 4096] == whole[4096..whole.len() - 4096]);
    }
}

/// The second copy is not at the end of the file, so nothing is written.
#[test]
fn data_after_the_end() {
    let bench = bench();
    let longer = [&bench.read("in.pld")[..], b"more"].concat();
    bench.write("in.pld", &longer);
    for args in [["rewrap", "--repair"], ["rewrap", "--to-key=bob"]] {
        let args = [&args[..], &["-kbob", "in.pld"]].concat();
        let stderr = bench.fails(&args, 1, "the file was cut or extended");
        assert!(stderr.contains("palladion decrypt --salvage -o OUT FILE"), "{stderr}");
    }
    assert!(bench.read("in.pld") == longer);
    bench.says("decrypt --salvage -o out -kbob in.pld");
    assert_eq!(bench.read("out"), text(LEN));
}

#[test]
fn an_interrupted_change() {
    let bench = bench();
    let old = bench.read("in.pld");
    bench.says("rewrap -fq --only --key=bob --to-key=eve in.pld");
    // Only the second copy was written.
    let new = bench.read("in.pld");
    bench.write("in.pld", [&old[..4096], &new[4096..]].concat());
    let run = bench.run("slots in.pld");
    assert!(String::from_utf8_lossy(&run.stdout).contains("they differ"), "{run:?}");
    assert_eq!(bench.run("verify -k bob in.pld").status.code(), Some(4));
    for (key, open, removed) in [
        ("bob", [true, true, false, true], "key"),
        ("eve", [false, false, true, false], "key, key, passphrase"),
    ] {
        bench.write("in.pld", [&old[..4096], &new[4096..]].concat());
        bench.says(&["cat", "-k", key, "--tail=9", "in.pld"]);
        let said = bench.says(&["decrypt", "-f", "-k", key, "-o", "out", "in.pld"]);
        assert!(said.contains("a change was interrupted"), "{said}");
        assert_eq!(bench.read("out"), text(LEN));
        assert_eq!(bench.run(&["verify", "-k", key, "in.pld"]).status.code(), Some(4));
        let said = bench.says(&["rewrap", "--repair", "-k", key, "in.pld"]);
        assert!(said.starts_with(&format!("note: \"in.pld\": removed: {removed}\n")), "{said}");
        assert_eq!(said.contains("no passphrase opens it"), removed.contains("passphrase"));
        assert_eq!(who_opens(&bench), open);
    }
}

#[test]
fn slots_that_need_a_larger_file() {
    let bench = bench();
    let mut args = "rewrap --key=bob --add in.pld".to_string();
    for number in 0..50 {
        bench.ok(&format!("keygen -o key{number}"));
        args += &format!(" --to-key=key{number}");
    }
    let added = ["key"; 50].join(", ");
    assert_eq!(bench.says(&args), format!("note: \"in.pld\": added: {added}\n"));
    assert_eq!(bench.read("in.pld").len(), 2 * 16384 + LEN + 2 * 36);
    assert_eq!(who_opens(&bench), [true, true, false, true]);
    assert!(opens(&bench, "--key=key49"));
    assert!(slots(&bench, "in.pld").contains("slot 53:     key\n"));
}

/// Only the slots change, not what the date is of.
#[test]
fn dates() {
    use std::time::{Duration, SystemTime};
    let bench = bench();
    let time = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let set = |name: &str, seconds| {
        let file = std::fs::File::options().write(true).open(bench.path(name)).unwrap();
        file.set_modified(time(seconds)).unwrap();
    };
    let date = |name: &str| bench.path(name).metadata().unwrap().modified().unwrap();
    set("in", 1_000_000_000);
    set("in.pld", 1_000_000_000);
    let add = ["rewrap", "-q", "--add", "-kbob", "--to-key=eve", "in.pld"];
    bench.says(&add);
    assert_eq!(date("in.pld"), time(1_000_000_000));
    // It grows into a new file.
    let keys: Vec<_> = (0..50).map(|number| format!("--to-key=key{number}")).collect();
    keys.iter().for_each(|key| drop(bench.ok(&["keygen", "-o", &key[9..]])));
    bench.says(&[&add[..], &keys.iter().map(String::as_str).collect::<Vec<_>>()].concat());
    assert!(bench.read("in.pld").len() > LEN + 2 * 16384);
    assert_eq!(date("in.pld"), time(1_000_000_000));
    bench.ok(&["decrypt", "-q", "-kbob", "-o", "out", "in.pld"]);
    assert_eq!(date("out"), time(1_000_000_000));
    // An input that was changed before the slots were is encrypted again.
    bench.write("in", "changed");
    set("in", 1_000_000_001);
    bench.says(&["rewrap", "-q", "-kbob", "--to-key=bob", "in.pld"]);
    bench.says(&["encrypt", "-q", "--skip-existing", "-kbob", "in"]);
    assert_eq!(bench.ok(&["cat", "-q", "-kbob", "in.pld"]), b"changed");
}

/// The numbers of slots are those of one file.
#[test]
fn slots_of_several_files_are_not_removed() {
    let bench = bench();
    bench.write("two.pld", bench.read("in.pld"));
    let args = ["rewrap", "-kkey", "--remove=2", "in.pld", "two.pld"];
    let stderr = bench.fails(&args, 2, "--remove takes one file");
    assert!(stderr.contains("palladion slots"), "{stderr}");
    assert_eq!(bench.read("two.pld"), bench.read("in.pld"));
}

/// Whatever secret comes with a file that is two, it is told first.
#[test]
fn two_files_of_different_kinds() {
    let bench = bench();
    let encrypt = |name: &str, more: &[&str]| {
        bench.ok(&[&["encrypt", "-o", name, "in"], more].concat());
        bench.read(name)
    };
    let cost = ["--passphrase-file=passphrase", "--kdf-memory=64K", "--kdf-passes=1"];
    let with_passphrase = encrypt("a.pld", &[&cost[..], &["--slots"]].concat());
    let plain = encrypt("b.pld", &cost);
    let with_key = encrypt("c.pld", &["-kkey", "--slots"]);
    let bound = encrypt("d.pld", &["-kkey", "--slots", "--bind=here"]);
    let mix = |over: &[u8], under: &[u8]| [&over[..1_000_000], &under[1_000_000..]].concat();
    for (over, under, args) in [
        (&with_passphrase, &with_key, &["-kkey"][..]),
        (&plain, &with_key, &["-kkey"]),
        (&with_key, &bound, &["-kkey", "--bind=here"]),
        (&bound, &with_key, &["-kkey"]),
    ] {
        bench.write("mix.pld", mix(over, under));
        for command in ["verify", "cat"] {
            let run = bench.run(&[&[command, "mix.pld"], args].concat());
            let is_told = run.stderr.contains("it begins with one file and ends with another");
            // cat looks at the end only if the beginning says so.
            assert!(is_told || command == "cat" && over == &plain, "{args:?}: {run:?}");
        }
    }
    bench.write("mix.pld", mix(&with_key, &bound));
    let run = bench.run(&["decrypt", "--salvage", "-fo", "out", "-kkey", "mix.pld"]);
    assert!(run.stderr.contains("and needs its own --bind"), "{run:?}");
    bench.write("mix.pld", mix(&bound, &bound.iter().rev().copied().collect::<Vec<_>>()));
    bench.fails(&["decrypt", "--salvage", "-fo", "out", "-kkey", "mix.pld"], 3, "bound to a place");
}

/// Both copies are listed, so that the user can decide which to keep.
#[test]
fn both_copies_of_an_interrupted_change() {
    let bench = bench();
    let old = bench.read("in.pld");
    bench.says("rewrap -fq --only --key=bob --to-key=eve in.pld");
    let new = bench.read("in.pld");
    let interrupted = || bench.write("in.pld", [&old[..4096], &new[4096..]].concat());
    interrupted();
    let list = |args: &[&str]| {
        let run = bench.run(&[&["slots", "in.pld"], args].concat());
        assert_eq!(run.status.code(), Some(4), "{run:?}");
        String::from_utf8(run.stdout).unwrap()
    };
    let both = "copies:      they differ\nslot 1:      key, yours\nother copy:  sequence 1\n\
                slot 1:      key\nslot 2:      key, yours\nslot 3:      passphrase";
    let text = list(&["-kbob", "-keve"]);
    assert!(text.contains("sequence:    2\n") && text.contains(both), "{text}");
    assert!(list(&["-kbob"]).contains("verified:    the slots of the other copy"));
    assert!(!list(&[]).contains("yours"));
    let json = list(&["-kbob", "-keve", "--json"]).replace(' ', "");
    let other = r#""yours":[1],"other":{"sequence":1,"slots":[{"kind":"key"},{"kind":"key"},"#;
    assert!(json.contains(other) && json.contains(r#","yours":[2]},"verified""#), "{json}");
    let args = ["rewrap", "--add", "-kbob", "--to-key=key", "in.pld"];
    assert!(bench.fails(&args, 4, "are not the same").contains("palladion slots FILE lists both"));
    for (key, kept) in
        [("-kbob", "sequence 1, not that of 2"), ("-keve", "sequence 2, not that of 1")]
    {
        interrupted();
        let said = bench.says(&["rewrap", "--repair", key, "in.pld"]);
        assert!(said.contains(&format!("kept the copy of {kept}\n")), "{said}");
    }
    let json = String::from_utf8(bench.ok(&["slots", "--json", "in.pld"])).unwrap();
    assert!(json.contains(r#""other":null"#), "{json}");
}

#[test]
fn whole_directories() {
    let bench = bench();
    std::fs::create_dir_all(bench.path("tree/more")).unwrap();
    for name in ["tree/one.pld", "tree/more/two.pld"] {
        bench.write(name, bench.read("in.pld"));
    }
    bench.write("tree/notes", "not encrypted");
    bench.ok("rewrap -q -k key --add --to-key eve --recursive tree");
    bench.ok("verify -q -k eve --recursive tree");
    let args = "rewrap -k key --remove 1 --recursive tree";
    bench.fails(args, 2, "cannot be used with");
    let args = "rewrap -k key --add --to-key eve tree";
    assert!(bench.fails(args, 1, "is a directory").contains("--recursive"));
}
