//! Files for the keys of age: recipients and identities.

use crate::common::*;

/// A folder with the identities `bob`, `eve` and `pq`, their recipients in `bob.pub`, `eve.pub` and
/// `pq.pub`, two passphrases, a `key` and a text `in`.
fn bench() -> Bench {
    let bench = Bench::new();
    for (name, option) in [("bob", "-q"), ("eve", "-q"), ("pq", "--pq")] {
        let recipient = bench.ok(&format!("keygen --identity {option} -o {name}"));
        bench.write(&format!("{name}.pub"), recipient);
    }
    bench.private("passphrase", "open sesame");
    bench.private("wrong", "Open sesame");
    bench.write("in", "a text");
    bench
}

fn line(bench: &Bench, name: &str) -> String {
    String::from_utf8(bench.read(name)).unwrap().trim_end().to_string()
}

/// Which of these secrets open `in.pld`.
fn openers(bench: &Bench) -> Vec<&'static str> {
    let each = [("bob", "--identity=bob"), ("eve", "-ieve"), ("pq", "-ipq"), ("key", "-kkey")];
    let opens = |option| match bench.run(&["verify", "-q", option, "in.pld"]).status.code() {
        Some(0) => true,
        Some(3) => false,
        other => panic!("{option}: {other:?}"),
    };
    each.into_iter().filter(|(_, option)| opens(option)).map(|(name, _)| name).collect()
}

#[test]
fn identities_and_their_recipients() {
    let bench = bench();
    for name in ["bob", "pq"] {
        let (identity, recipient) = (line(&bench, name), line(&bench, &format!("{name}.pub")));
        let (comment, secret) = identity.split_once('\n').unwrap();
        assert_eq!(comment, format!("# public key: {recipient}"));
        assert!(secret.starts_with("AGE-SECRET-KEY-"));
        assert_eq!(bench.ok(&["recipient", name]), format!("{recipient}\n").as_bytes());
    }
    assert!(line(&bench, "bob.pub").starts_with("age1") && line(&bench, "bob.pub").len() == 62);
    assert!(line(&bench, "pq.pub").starts_with("age1pq1"));
    let two = bench.ok("recipient eve bob");
    assert_eq!(two, [bench.read("eve.pub"), bench.read("bob.pub")].concat());
    // An identity whose recipient cannot be printed is there all the same.
    #[cfg(target_os = "linux")]
    {
        let run = bench.sh("$P keygen --identity -f -o eve > /dev/full");
        assert_eq!(run.status.code(), Some(1), "{run:?}");
        assert!(run.stderr.contains("the new identity is in \"eve\""), "{run:?}");
        assert_ne!(bench.ok("recipient eve"), bench.read("eve.pub"));
        std::fs::rename(bench.path("eve.old-1"), bench.path("eve")).unwrap();
        assert_eq!(bench.ok("recipient eve"), bench.read("eve.pub"));
    }
    // To standard output, only the file.
    let shown = bench.shows("keygen --identity -o -");
    assert!(shown.lines().count() == 2 && shown.contains("\nAGE-SECRET-KEY-1"), "{shown}");
    let stderr = bench.fails("keygen --identity -o bob", 1, "already exists");
    assert!(stderr.contains("palladion recipient FILE prints its recipient"), "{stderr}");
    bench.fails("recipient", 2, "no default identity file");
    // Habits of age.
    let stderr = bench.fails("keygen --identity -pq -o new", 2, "-pq means -p -q");
    assert!(stderr.contains("use --pq"), "{stderr}");
    for option in ["-a", "--armor"] {
        let stderr = bench.fails(&["encrypt", option, "in"], 2, "pipe it through base64");
        assert!(!stderr.contains("--rm"), "{stderr}");
    }
    bench.fails("-r age1 in", 2, "palladion encrypt -r");
    bench.ok("-e -i bob -o e.pld in");
    assert_eq!(bench.ok("-d -i bob -o - e.pld"), b"a text");
    bench.fails("recipient key", 1, "line 1: not a valid identity");
}

#[test]
fn for_each_recipient() {
    let bench = bench();
    let bob = line(&bench, "bob.pub");
    for (args, expected) in [
        (&*format!("-r {bob}"), &["bob"][..]),
        ("-R bob.pub -i eve", &["bob", "eve"]),
        ("-i pq", &["pq"]),
        ("-k key -R pq.pub", &["pq", "key"]),
    ] {
        bench.says(&format!("encrypt -f in {args}"));
        assert_eq!(openers(&bench), expected, "{args}");
    }
    // From a pipe, to a pipe, in one slot.
    let encrypt = format!("encrypt -r {bob} -ieve -k key");
    let file = bench.run_with_input(&encrypt, b"pipe").stdout;
    assert_eq!(bench.run_with_input("decrypt -q -ibob", &file).stdout, b"pipe");
    bench.write("in.pld", file);
    assert_eq!(openers(&bench), ["bob", "eve", "key"]);
    for (args, says) in [
        ("slots", "slot 1:      key\nslot 2:      age (X25519, X25519)\n"),
        ("info", "secret:      key, age (X25519, X25519)\n"),
        ("info --json", r#"{"kind":"age","recipients":["X25519","X25519"]}"#),
    ] {
        let said = bench.shows(&format!("{args} in.pld"));
        assert!(said.contains(says), "{said}");
    }
    let said = bench.says("verify -kkey in.pld");
    let says = "anyone with the public key of a recipient could have written it";
    assert!(said.contains(says), "{said}");
    // The last part of a file, and the same command to pack and to unpack.
    assert_eq!(bench.ok("cat -q -i eve --tail=2 in.pld"), b"pe");
    assert_eq!(bench.ok("encrypt -d -q -R bob.pub -i bob -o - in.pld"), b"pipe");
}

#[test]
fn the_default_identity() {
    let bench = bench();
    let run = bench.run("keygen --identity");
    assert!(run.status.success() && run.stderr.contains("created the identity file"), "{run:?}");
    bench.write("own.pub", &run.stdout);
    bench.ok("encrypt -R own.pub in");
    assert_eq!(bench.ok("recipient"), run.stdout);
    // Not that of what standard input may have been meant to be.
    let asked = bench.sh("\"$P\" recipient < bob");
    assert_eq!((asked.status.code(), asked.stdout.len()), (Some(2), 0), "{asked:?}");
    assert!(asked.stderr.contains("use palladion recipient -"), "{asked:?}");
    assert_eq!(bench.sh("\"$P\" recipient - < bob").stdout, bench.read("bob.pub"));
    assert_eq!(bench.ok("decrypt -q -o - in.pld"), b"a text");
    let stderr = bench.fails("keygen --identity", 1, "already exists");
    assert!(stderr.contains("palladion recipient prints"), "{stderr}");
    // Another one, which the environment names.
    bench.ok("encrypt -f -R bob.pub in");
    bench.fails("decrypt -o new in.pld", 3, "none of the file's key slots");
    let run = bench.run_with("PALLADION_IDENTITY_FILE", "bob", "decrypt -q -o - in.pld");
    assert_eq!(run.stdout, b"a text");
    // It is not taken for files without slots for it, nor to encrypt.
    bench.ok("encrypt -f -k key in");
    bench.fails("decrypt -o new in.pld", 2, "no key given");
    let stderr = bench.fails("encrypt -o new in", 2, "no key given");
    assert!(stderr.contains("-i IDENTITYFILE for a public key"), "{stderr}");
}

/// Someone who was removed hears so before a passphrase is asked for.
#[test]
fn removed() {
    let bench = bench();
    let kdf = "--kdf-memory=64K --kdf-passes=1";
    bench.ok(&format!("encrypt -R bob.pub --passphrase-file=passphrase in {kdf}"));
    let tried = format!("(tried the identity of {})", line(&bench, "eve.pub"));
    let says =
        format!("\"in.pld\": none of the keys and identities opens it {tried}\nerror: no term");
    let run = bench.run_with("PALLADION_IDENTITY_FILE", "eve", "decrypt -o new in.pld");
    assert!(run.stderr.starts_with(&says), "{run:?}");
    let run = bench.run("decrypt -ieve -p -o new in.pld");
    assert!(run.stderr.starts_with(&says), "{run:?}");
}

/// With one passphrase, it may be that of the default identity, unless the file takes one too.
#[test]
fn the_passphrase_of_the_default_identity() {
    let bench = bench();
    let (right, wrong) = ("--passphrase-file=passphrase", "--passphrase-file=wrong");
    bench.run(&format!("keygen -q --identity {right}"));
    bench.fails("recipient", 1, "no terminal");
    bench.fails(&format!("recipient {wrong}"), 3, "wrong passphrase");
    bench.write("own.pub", bench.ok(&format!("recipient {right}")));
    assert_eq!(bench.ok(&format!("recipient {wrong} {right} bob")), bench.read("bob.pub"));
    bench.ok("encrypt -R own.pub -R bob.pub -kkey in");
    assert_eq!(bench.shows(&format!("cat -q {right} in.pld")), "a text");
    assert_eq!(bench.shows(&format!("cat -q {wrong} {right} in.pld")), "a text");
    bench.says(&format!("slots {right} in.pld"));
    bench.fails(&format!("cat -q {wrong} in.pld"), 3, "wrong passphrase");
    let none = "none of the file's key slots opens";
    bench.fails(&format!("cat -q -ieve {right} in.pld"), 3, none);
    bench.ok(&format!("encrypt -f -R own.pub {wrong} in --kdf-memory=64K --kdf-passes=1"));
    bench.fails(&format!("cat -q {right} in.pld"), 3, none);
    assert_eq!(bench.shows(&format!("cat -q {wrong} in.pld")), "a text");
}

#[test]
fn named_twice() {
    let bench = bench();
    let (bob, pub_file) = (line(&bench, "bob.pub"), bench.read("bob.pub"));
    bench.write("two.pub", [&pub_file[..], &pub_file].concat());
    let note = format!("note: a recipient is named twice, and counts once: {}…\n", &bob[..20]);
    let encrypt = ["encrypt", "-r", &bob, "-R", "two.pub", "-i", "bob", "-i", "eve", "in"];
    assert_eq!(bench.says(&encrypt), note.repeat(3));
    let slots = || bench.shows("slots in.pld");
    assert!(slots().contains("slot 1:      age (X25519, X25519)\nverified"), "{}", slots());
    assert_eq!(openers(&bench), ["bob", "eve"]);
    let to = ["--to-recipient", &bob, "--to-recipients-file", "two.pub"];
    assert!(bench.says(&[&["rewrap", "-ibob", "in.pld"][..], &to].concat()).contains(&note));
    assert!(slots().contains("slot 1:      age (X25519)\nverified"), "{}", slots());
}

#[test]
fn changed_recipients() {
    let bench = bench();
    bench.ok("encrypt -i bob in");
    let bob = line(&bench, "bob.pub");
    let add = "rewrap --add -i bob --to-recipients-file eve.pub in.pld";
    assert_eq!(bench.says(add), "note: \"in.pld\": added: age (X25519)\n");
    assert_eq!(openers(&bench), ["bob", "eve"]);
    let to_pq = "--to-recipients-file pq.pub in.pld";
    // Neither across slots nor within one.
    let message = "quantum-safe recipients (age1pq1…) cannot share a file with others";
    bench.fails(&format!("rewrap --add -i bob {to_pq}"), 1, message);
    bench.fails(&format!("rewrap -i bob --to-recipient {bob} {to_pq}"), 2, message);
    bench.fails("encrypt -i bob -i pq -o new in", 2, message);
    // Someone who also has the new identity is not locked out.
    let message = "none of the secrets that open the files now";
    bench.fails(&format!("rewrap -i bob {to_pq}"), 2, message);
    bench.says(&format!("rewrap --only -i bob -i pq {to_pq}"));
    assert_eq!(openers(&bench), ["pq"]);
    // Others that shared a slot have to be named again.
    bench.ok("encrypt -fq -i bob -i eve in");
    let said = bench.says(&format!("rewrap -i bob --to-recipient {bob} in.pld"));
    let shared = "\"in.pld\": the slot that was replaced was for 2 recipients";
    assert!(said.contains(&format!("warning: {shared}")), "{said}");
    bench.says("rewrap -i bob --add --to-recipients-file eve.pub in.pld");
    let said = bench.says(&format!("rewrap -i bob -i eve --to-recipient {bob} in.pld"));
    assert!(said.contains("removed: age (X25519), age (X25519)"), "{said}");
    assert!(!said.contains("warning"), "{said}");
    bench.ok("encrypt -fq -i bob -i eve in");
    let both = format!("--to-recipient {bob} --to-recipients-file eve.pub");
    let said = bench.says(&format!("rewrap -i bob {both} in.pld"));
    assert!(said.contains(&format!("note: {shared}")), "{said}");
    bench.ok("encrypt -fq -i pq in");
    bench.says(&format!("rewrap -ipq --to-key=key --to-recipient {bob} -f in.pld"));
    assert_eq!(openers(&bench), ["bob", "key"]);
}

#[test]
fn what_is_taken_for_something_else() {
    let bench = bench();
    let (bob, secret) = (line(&bench, "bob.pub"), line(&bench, "bob"));
    let secret = secret.lines().last().unwrap();
    bench.ok("encrypt -R bob.pub in");
    bench.ok("encrypt -k key -o plain.pld in");
    bench.chmod("eve", 0o644);
    bench.private("utf16", b"\xff\xfeA\0G\0E\0");
    // Any character may be missing in a random key, so the last one is changed.
    let changed = |text: &str, one: char, other: char| {
        let (rest, last) = text.trim_end().split_at(text.trim_end().len() - 1);
        format!("{rest}{}", if last.starts_with(one) { other } else { one })
    };
    bench.private("damaged", changed(secret, 'Q', 'P'));
    bench.write("twisted.pub", changed(&bob, 'q', 'p'));
    let encrypt = ["encrypt", "-o", "new", "in"];
    let decrypt = ["decrypt", "-o", "new", "in.pld"];
    let plain = ["decrypt", "-o", "new", "plain.pld"];
    for (command, args, status, message, hint) in [
        (encrypt, ["-r", secret], 2, "-r takes a recipient", "palladion recipient FILE"),
        (encrypt, ["-r", "bob.pub"], 2, "not a valid recipient: \"bob.pub\"", "use -R FILE"),
        (encrypt, ["-r", "age1qq"], 2, "not a valid recipient: \"age1qq\"", "begins with age1"),
        (encrypt, ["-R", "bob"], 1, "\"bob\": line 2: a secret identity", "use -i FILE"),
        (encrypt, ["-R", "key"], 1, "line 1: not a valid recipient", "use -k KEYFILE"),
        (encrypt, ["-R", "twisted.pub"], 1, "not a valid recipient", "compare it"),
        (encrypt, ["-k", "bob"], 1, "\"bob\"", "use -i IDENTITYFILE"),
        (encrypt, ["-k", "bob.pub"], 1, "\"bob.pub\"", "use -R FILE"),
        (encrypt, ["-k", &bob], 1, "cannot open", "use -r RECIPIENT"),
        (encrypt, ["-R", &bob], 1, "cannot open", "it is a recipient: use -r RECIPIENT"),
        (encrypt, ["-R", "ssh-rsa AAAA"], 1, "cannot open", "use -r RECIPIENT"),
        (decrypt, ["-i", "bob.pub"], 1, "line 1: a public recipient", "use -R FILE"),
        (decrypt, ["-i", &bob], 1, "cannot open", "use -r RECIPIENT"),
        (decrypt, ["-i", secret], 1, "cannot open \"AGE-SECRET-KEY-…\"", "history"),
        (decrypt, ["-i", "key"], 1, "\"key\": line 1", "use -k KEYFILE"),
        (decrypt, ["-i", "utf16"], 1, "not a text file in UTF-8", "UTF-16"),
        (decrypt, ["-i", "damaged"], 1, "line 1: not a valid identity", "compare it"),
        (decrypt, ["-i", "pq"], 3, "tried the identity of age1pq1", "palladion slots"),
        (decrypt, ["-k", "key"], 3, "none of the secrets given is of a kind", "use -i"),
        (plain, ["-i", "bob"], 3, "none of the secrets given is of a kind", "use -k KEYFILE"),
    ] {
        let stderr = bench.fails(&[&command[..], &args].concat(), status, message);
        assert!(stderr.contains("hint: ") && stderr.contains(hint), "{args:?}: {stderr}");
        assert!(!stderr.contains(&secret[20..]), "{stderr}");
    }
    // The options of rewrap have other names.
    let to = |option, value, status, hint| {
        let stderr = bench.fails(&["rewrap", "-i", "bob", option, value, "in.pld"], status, "");
        assert!(stderr.contains(hint), "{stderr}");
    };
    to("--to-recipient", "bob.pub", 2, "use --to-recipients-file FILE");
    to("--to-recipients-file", "bob", 1, "palladion recipient FILE prints its recipient");
    to("--to-recipients-file", "key", 1, "use --to-key KEYFILE");
    to("--to-recipients-file", &bob, 1, "use --to-recipient RECIPIENT");
    #[cfg(unix)]
    bench.fails(&[&decrypt[..], &["-i", "eve"]].concat(), 1, "other users can read \"eve\"");
    // An identity does not encrypt itself, and no output replaces it.
    bench.fails("encrypt -i bob -o new bob", 2, "that would encrypt it");
    bench.fails("decrypt -f -i bob -o bob in.pld", 2, "identity");
    // Under whatever name, and whoever else is a recipient.
    std::fs::copy(bench.path("bob"), bench.path("copy")).unwrap();
    let says = "holds the identity of a recipient";
    for args in [["-R", "bob.pub", "bob"], ["-r", &bob, "copy"], ["-i", "bob", "copy"]] {
        bench.fails(&[&["encrypt", "--rm"][..], &args].concat(), 2, says);
    }
    bench.write("other", line(&bench, "eve"));
    bench.ok("encrypt -R bob.pub other");
    bench.fails("encrypt -f -R bob.pub -o bob.pub in", 2, "recipients file");
}

/// Messages end up in logs.
#[test]
fn secrets_are_not_repeated() {
    let bench = bench();
    let key = line(&bench, "key").lines().next().unwrap().to_string();
    let bob = line(&bench, "bob").lines().last().unwrap().to_string();
    let pq = line(&bench, "pq").lines().last().unwrap().to_string();
    let blanks = format!(" \n{bob} ");
    for secret in [&key, &bob, &pq, &bob.to_lowercase(), &blanks, &key.to_uppercase()] {
        for args in [
            "encrypt -o new in -k",
            "encrypt -o new in -i",
            "encrypt -o new in -r",
            "encrypt -o new in -R",
            "encrypt -k key -o new",
            "rewrap -k key in --to-key",
            "rewrap -k key in --to-recipient",
            "fingerprint",
            "recipient",
        ] {
            let run = bench.run(&[args.args(), vec![secret]].concat());
            assert!(!run.status.success() && run.stderr.contains("history"), "{args:?}: {run:?}");
            assert!(!run.stderr.contains(&secret.trim()[..40]), "{args:?}: {run:?}");
        }
        for (variable, command) in
            [("PALLADION_KEY_FILE", "fingerprint"), ("PALLADION_IDENTITY_FILE", "recipient")]
        {
            let run = bench.run_with(variable, secret, command);
            assert!(run.stderr.contains(variable) && run.stderr.contains("history"), "{run:?}");
            assert!(!run.stderr.contains(&secret.trim()[..40]), "{run:?}");
        }
    }
    let ssh = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk";
    assert!(!bench.fails(&["encrypt", "-r", ssh, "in"], 2, "history").contains("b3Blbn"));
    // Nor as the name of an output.
    bench.write(&bob, "");
    let stderr = bench.fails(&["keygen", "-o", &bob], 1, "already exists");
    assert!(!stderr.contains(&bob[..40]), "{stderr}");
    // What is named like one is shown, and what ends with dots is none.
    let name = "age-secret-key-backup.txt";
    bench.fails(&["fingerprint", name], 1, name);
    assert!(!bench.fails("fingerprint notes…", 1, "notes…").contains("history"));
}

#[test]
fn a_slot_for_age() {
    let bench = bench();
    bench.ok("encrypt -k key -R bob.pub -i eve in");
    let slot = bench.ok("slots --extract 2 in.pld");
    assert!(slot.starts_with(b"age-encryption.org/v1\n-> X25519 "));
    bench.ok("slots --extract=2 -o slot.age in.pld");
    let stderr = bench.fails("slots --extract=2 -o slot.age in.pld", 1, "already exists");
    assert!(stderr.contains("--force") && !stderr.contains("--skip-existing"), "{stderr}");
    assert_eq!(bench.read("slot.age"), slot);
    bench.fails("slots --extract=1 in.pld", 2, "slot 1 of \"in.pld\" is not for recipients");
    bench.fails("slots --extract=3 in.pld", 2, "has no slot 3");
    bench.fails("slots --extract=2 in.pld in.pld", 2, "--extract takes one file");
}

/// A process that changes slots is killed: one of both secrets opens, and mends the file.
#[test]
fn killed() {
    let bench = bench();
    bench.ok("encrypt -k key --slots in");
    let to = [["--to-recipients-file", "bob.pub"], ["--to-key", "key"]];
    for round in 0..20 {
        let command = ["rewrap", "-q", "-k", "key", "-i", "bob", "in.pld"];
        let mut child = bench.spawn(&[&command[..], &to[round % 2]].concat());
        std::thread::sleep(std::time::Duration::from_micros(500 * round as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let opens = |secret: &&str| bench.run(&["cat", "-q", secret, "in.pld"]).stdout == b"a text";
        let secret = ["-kkey", "-ibob"].into_iter().find(opens).expect("one of both opens");
        bench.run(&["rewrap", "-q", "--repair", secret, "in.pld"]);
        assert_eq!(bench.ok(&["verify", "-q", secret, "in.pld"]), b"");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_identity_with_a_passphrase() {
    let bench = Bench::new();
    bench.write("in", "a text");
    let script = "\"$P\" keygen -q --identity -p -o id > pub; chmod 644 id; \
                  \"$P\" encrypt -R pub in; \"$P\" decrypt -q -i id -o - in.pld; echo; \
                  \"$P\" recipient id > again; cmp again pub && echo same";
    let dialog = [
        ("New passphrase", "open\n"),
        ("Confirm passphrase: ", "open\n"),
        ("Passphrase for \"id\": ", "Open\n"),
        ("\"id\": wrong passphrase, try again\r\nPassphrase for \"id\": ", "open\n"),
        ("a text\r\nPassphrase for \"id\": ", "open\n"),
    ];
    let shown = crate::habits::at_a_terminal(&bench, script, &dialog);
    assert!(shown.ends_with("same\r\n"), "{shown}");
}

#[test]
fn an_identity_with_a_passphrase_in_a_file() {
    let bench = Bench::new();
    bench.write("in", "a text");
    bench.private("passphrase", "open");
    bench.private("wrong", "Open");
    let keygen = "keygen -q --identity --passphrase-file=passphrase -o id";
    bench.write("pub", bench.ok(keygen));
    bench.chmod("id", 0o644);
    assert!(bench.read("id").starts_with(b"age-encryption.org/v1\n-> scrypt "));
    bench.ok("encrypt -R pub in");
    let stderr = bench.fails("decrypt -i id -o new in.pld", 1, "no terminal");
    assert!(stderr.contains("use --passphrase-file FILE"), "{stderr}");
    let decrypt = "decrypt -q -i id -o - in.pld";
    assert_eq!(bench.shows(&format!("{decrypt} --passphrase-file=passphrase")), "a text");
    assert_eq!(bench.shows("cat -q -i id --passphrase-file=passphrase in.pld"), "a text");
    let wrong = format!("{decrypt} --passphrase-file=wrong");
    bench.fails(&wrong, 3, "\"id\": wrong passphrase");
    // For a new file it makes a slot, so it would open the file without the identity.
    let encrypt = ["encrypt", "-i", "id", "--passphrase-file=passphrase", "in"];
    let stderr = bench.fails(&encrypt, 2, "does not open an identity file");
    assert!(stderr.contains("palladion recipient"), "{stderr}");
    // Before anyone is asked.
    bench.fails("keygen --identity -p -o id", 1, "already exists");
    let args = "keygen --identity -p -o another";
    assert!(bench.fails(args, 1, "no terminal").contains("use --passphrase-file FILE"));
    // Another secret opens it, without a question.
    bench.private("words", "some words");
    bench.ok("encrypt -f -R pub -k key --passphrase-file words in");
    for other in ["-k key", "--passphrase-file words"] {
        assert_eq!(bench.shows(&format!("{decrypt} {other}")), "a text");
    }
}

/// SSH keys are left to the program `age`. This one is a fake.
#[cfg(unix)]
#[test]
fn the_program_age() {
    let bench = bench();
    std::fs::create_dir(bench.path("bin")).unwrap();
    let fake = "#!/bin/sh\necho \"$@\" >> args; \
                case \"$1 $2 $3\" in\n\
                '-e -i batch') printf 'age-encryption.org/v1\\n-> scrypt AA 18\\nAAAA\\n--- '; \
                printf 'A%.0s' $(seq 43); echo; exec cat;;\n\
                '-e -i nothing') exec cat;;\n\
                -e*) printf 'age-encryption.org/v1\\n-> fake AA\\nAAAA\\n--- '; \
                printf 'A%.0s' $(seq 43); echo; printf 0123456789abcdef; cat; \
                printf 0123456789abcdef; exit;;\n\
                '-d -i ssh') echo touch >&2; tail -c 48 | head -c 32; exit;;\n\
                '-d -i locked') echo 'age: error: no terminal' >&2;;\n\
                '-d -i batch') echo 'age: error: batchpass plugin: incorrect passphrase' >&2;;\n\
                '-d -i mistyped') echo 'age: error: x509: decryption password incorrect' >&2;;\n\
                *) echo 'age: error: no identity matched any of the recipients' >&2;;\nesac\n\
                echo 'age: report unexpected or unhelpful errors' >&2\nexit 1\n";
    bench.write("bin/age", fake);
    bench.chmod("bin/age", 0o755);
    for name in ["ssh", "other", "locked", "batch", "mistyped", "nothing", "open"] {
        bench.private(name, "-----BEGIN OPENSSH PRIVATE KEY-----\n");
    }
    bench.chmod("open", 0o644);
    bench.write("ssh.pub", "# a comment\necdsa-sha2-nistp256 CCCC\n\n ssh-ed25519 AAAA\n");
    bench.write("ecdsa.pub", "sk-ssh-ed25519@openssh.com CCCC\n");
    let path = format!("{}:{}", bench.path("bin").display(), std::env::var("PATH").unwrap());
    let encrypt = ["encrypt", "-r", "ssh-rsa BBBB", "-R", "ssh.pub", "-i", "bob", "in"];
    let made = bench.run_with("PATH", &path, &encrypt);
    assert!(made.status.success(), "{made:?}");
    let warning = "warning: \"ssh.pub\": line 2: an ECDSA key of SSH is not supported";
    assert!(made.stderr.contains(warning), "{made:?}");
    for args in ["decrypt -q -i ssh -o - in.pld", "decrypt -q -i other -i ssh -o - in.pld"] {
        let opened = bench.run_with("PATH", &path, args);
        assert_eq!((&opened.stdout[..], &*opened.stderr), (&b"a text"[..], "touch\n"));
    }
    // It is asked for each slot once, and all that is named is tried.
    let rewrap = |args: &str| {
        let args = format!("rewrap {args} --force --to-key=key two.pld");
        bench.run_with("PATH", &path, &args)
    };
    let two = ["encrypt", "-q", "-k", "key", "-R", "ssh.pub", "-o", "two.pld", "in"];
    assert!(bench.run_with("PATH", &path, &two).status.success());
    let file = bench.read("two.pld");
    let refused = rewrap("-k key -i locked");
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(refused.stderr.contains("no terminal\nerror: \"two.pld\""), "{refused:?}");
    assert!(refused.stderr.contains("cannot be tried") && bench.read("two.pld") == file);
    let args = bench.read("args");
    bench.write("args", "");
    let done = rewrap("-i ssh");
    assert!(done.stderr.contains("removed: age (fake); kept: key"), "{done:?}");
    assert_eq!(bench.read("args").iter().filter(|byte| **byte == b'\n').count(), 1);
    bench.write("args", args);
    for (args, status, says) in [
        ("decrypt -i other -o - in.pld", 3, "none of the file's key slots opens"),
        // What could not be tried is not said to be wrong.
        ("decrypt -i locked -i other -o - in.pld", 1, "a key slot failed: age: no terminal"),
        ("decrypt -i batch -o - in.pld", 3, "incorrect passphrase"),
        ("decrypt -i mistyped -o - in.pld", 3, "password incorrect"),
        ("encrypt -i nothing --rm -o new in", 1, "something else than an age file"),
        ("encrypt -i batch -o new in", 1, "\"batch\" encrypts with a passphrase: use -p, not -i"),
        ("recipient ssh", 1, "is a key that only age knows"),
        ("recipient ssh", 1, "ssh-keygen -y -f FILE"),
        ("decrypt -i open -o - in.pld", 1, "other users can read \"open\""),
        ("encrypt -R ecdsa.pub -o new in", 1, "takes ssh-ed25519"),
    ] {
        let refused = bench.run_with("PATH", &path, args);
        assert_eq!(refused.status.code(), Some(status), "{args}: {refused:?}");
        assert!(refused.stderr.contains(says), "{args}: {refused:?}");
        assert!(!refused.stderr.contains("report unexpected"), "{refused:?}");
    }
    assert!(bench.path("in").exists() && !bench.path("new").exists());
    let bob = line(&bench, "bob.pub");
    let made = format!("-e -r ssh-rsa BBBB -r ssh-ed25519 AAAA -r {bob}\n-d -i ssh\n-d -i other\n");
    assert!(line(&bench, "args").starts_with(&made));
    bench.fails(&["encrypt", "-r", "ssh-dss AAAA", "-o", "new", "in"], 2, "a DSA key of SSH");
    let piped = bench.run_with_input("encrypt -i - -o new in", &bench.read("ssh"));
    assert_eq!(piped.status.code(), Some(1), "{piped:?}");
    assert!(piped.stderr.contains("must be in a file"), "{piped:?}");
    // Not because a file has such a slot, nor without the program.
    bench.fails("decrypt -i bob -o new in.pld", 3, "none of the file's");
    let mut command = bench.command("encrypt -R ssh.pub -o new in");
    let missing = finish(command.env("PATH", bench.path("home")).spawn().unwrap());
    assert_eq!(missing.status.code(), Some(1));
    assert!(missing.stderr.contains("age is needed, and it is not installed"), "{missing:?}");
}

#[test]
fn two_recipients_in_one_option() {
    let bench = bench();
    let (bob, eve) = (line(&bench, "bob.pub"), line(&bench, "eve.pub"));
    bench.ok(&["encrypt", "-k", "key", "--slots", "in"]);
    for between in ["\n", ",", ", ", " "] {
        let two = format!("{bob}{between}{eve}");
        let stderr = bench.fails(&["encrypt", "-fr", &two, "in"], 2, "-r takes one recipient");
        assert!(stderr.contains("its own -r") && stderr.contains("use -R FILE"), "{stderr}");
        let args = ["rewrap", "-kkey", "--add", "--to-recipient", &two, "in.pld"];
        let stderr = bench.fails(&args, 2, "--to-recipient takes one recipient");
        assert!(stderr.contains("use --to-recipients-file FILE"), "{stderr}");
    }
    bench.ok(&["encrypt", "-fr", &format!("{bob}\n"), "in"]);
}

/// Only the program `age` knows whether a recipient is that of an SSH key. This one is a fake.
#[cfg(unix)]
#[test]
fn own_recipients_that_only_age_knows() {
    let bench = bench();
    std::fs::create_dir(bench.path("bin")).unwrap();
    let fake = "#!/bin/sh\ncase \"$1 $3\" in\n\
                '-e ssh-ed25519 '*) printf 'age-encryption.org/v1\\n-> %s AA\\nAAAA\\n--- ' \
                \"${3##* }\"; printf 'A%.0s' $(seq 43); echo; printf 0123456789abcdef; cat; \
                printf 0123456789abcdef; exit;;\n\
                '-d '*) cat > slot; grep -qa -e \"-> $3 \" slot && \
                { tail -c 48 slot | head -c 32; exit; };;\nesac\n\
                echo 'age: error: no identity matched any of the recipients' >&2\nexit 1\n";
    bench.write("bin/age", fake);
    bench.chmod("bin/age", 0o755);
    for name in ["mine", "other"] {
        bench.write(name, "-----BEGIN OPENSSH PRIVATE KEY-----\n");
        bench.chmod(name, 0o600);
        bench.write(&format!("{name}.pub"), format!("ssh-ed25519 {name}\n"));
    }
    let path = format!("{}:{}", bench.path("bin").display(), std::env::var("PATH").unwrap());
    let run = |args: &[&str]| finish(bench.command(args).env("PATH", &path).spawn().unwrap());
    let made = run(&["encrypt", "-R", "mine.pub", "in"]);
    assert!(made.status.success(), "{made:?}");
    let rewrap = ["rewrap", "-q", "-i", "mine", "in.pld"];
    let to =
        |name, more: &[&str]| run(&[&rewrap[..], &["--to-recipients-file", name], more].concat());
    let refused = to("other.pub", &[]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(refused.stderr.contains("none of the secrets that open"), "{refused:?}");
    let refused = to("other.pub", &["--remove=1"]);
    assert!(refused.stderr.contains("would not open it afterwards"), "{refused:?}");
    for more in [&[][..], &["--remove=1"]] {
        let done = to("mine.pub", more);
        assert!(done.status.success(), "{done:?}");
        assert!(run(&["verify", "-q", "-i", "mine", "in.pld"]).status.success());
    }
    // Without the program, the file is named, and what to do.
    let mut command = bench.command(&["decrypt", "-i", "mine", "-o", "new", "in.pld"]);
    let missing = finish(command.env("PATH", bench.path("home")).spawn().unwrap());
    assert!(missing.stderr.contains("\"in.pld\": a key slot failed: for SSH"), "{missing:?}");
    assert!(missing.stderr.contains("hint: install age"), "{missing:?}");
    // The public key in place of the private one, and two passphrases.
    let stderr =
        bench.fails(&["decrypt", "-i", "mine.pub", "-o", "new", "in.pld"], 1, "a public recipient");
    assert!(stderr.contains("name the private key beside it"), "{stderr}");
    let stderr = bench.fails(&["decrypt", "-p", "-p", "in.pld"], 2, "multiple times");
    assert!(stderr.contains("use --passphrase-file, which can be repeated"), "{stderr}");
}
