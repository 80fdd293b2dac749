//! What users of `gzip`, `tar` and `age` expect: names, many files, a default key, a prompt.

use std::fs;

use crate::common::*;

#[test]
fn outputs_get_names() {
    let bench = Bench::new();
    bench.write("in", "secret");
    bench.ok("encrypt -k key in");
    assert!(bench.read("in.pld").starts_with(b"\x89PLD\r\n\x1a\n"));
    assert_eq!(bench.names(), ["in", "in.pld", "key"]);
    // Nothing is overwritten, not even when the decryption fails with --force.
    bench.write("in", "precious");
    for (args, says) in [
        ("encrypt -k key in", "\"in.pld\" already exists"),
        ("decrypt -k key in.pld", "\"in\" already exists"),
        ("encrypt -k key -o in key", "\"in\" already exists"),
        ("decrypt -k key -o in in.pld", "\"in\" already exists"),
    ] {
        assert!(bench.fails(args, 1, says).contains("--force"), "{args}");
    }
    bench.fails("decrypt -k key --force -o in key", 4, "not a Palladion file");
    assert_eq!(bench.read("in"), b"precious");
    bench.ok("decrypt -k key -f in.pld");
    assert_eq!(bench.read("in"), b"secret");
    bench.ok("encrypt -k key --force -o in.pld in");

    // In other folders, and without regard to case.
    fs::create_dir(bench.path("folder")).unwrap();
    fs::copy(bench.path("in.pld"), bench.path("folder/a b.PLD")).unwrap();
    bench.ok(&["decrypt", "-k", "key", "folder/a b.PLD"]);
    assert_eq!(bench.read("folder/a b"), b"secret");

    // Names that say nothing about the output.
    bench.fails("encrypt -k key in.pld", 2, "\"in.pld\" already ends in .pld");
    for name in ["sealed", ".pld"] {
        fs::copy(bench.path("in.pld"), bench.path(name)).unwrap();
        let stderr = bench.fails(&["decrypt", "-k", "key", name], 2, "does not end in .pld");
        assert!(stderr.contains("-o OUT") && stderr.contains("-o -"), "{stderr}");
    }
    bench.fails("decrypt -k key in", 4, "not a Palladion file");
    assert_eq!(bench.ok("decrypt -k key -o - sealed"), b"secret");
    #[cfg(unix)]
    bench.fails("encrypt -k key /dev/null", 2, "is not a regular file");
}

#[test]
fn several_files() {
    let bench = Bench::new();
    for name in ["a", "b", "c"] {
        bench.write(name, name);
    }
    bench.ok("encrypt -k key a b c");
    fs::remove_file(bench.path("a")).unwrap();
    fs::remove_file(bench.path("b")).unwrap();
    // A failure does not keep the others from being processed.
    let len = bench.read("a.pld").len();
    bench.flip("a.pld", len - 1);
    bench.write("c", "precious");
    let run = bench.run("decrypt -k key a.pld missing.pld b.pld c.pld");
    assert_eq!(run.status.code(), Some(4), "{run:?}");
    let errors: Vec<_> = run.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(
        matches!(errors[..], [a, missing, c] if a.contains("\"a.pld\": the file is damaged")
            && missing.contains("cannot open \"missing.pld\"")
            && c == "error: \"c\" already exists"),
        "{run:?}"
    );
    assert_eq!(bench.names(), ["a.pld", "b", "b.pld", "c", "c.pld", "key"]);
    assert_eq!((bench.read("b"), bench.read("c")), (b"b".to_vec(), b"precious".to_vec()));
    let run = bench.run("decrypt -k key missing.pld c.pld -f");
    assert_eq!((run.status.code(), &bench.read("c")[..]), (Some(1), &b"c"[..]));

    // A hint is given once.
    let stderr = bench.run("encrypt -k key a b c").stderr;
    assert_eq!((stderr.matches("error: ").count(), stderr.matches("hint: ").count()), (3, 1));

    // What is wrong with all of them is said once.
    bench.private("bad", "nonsense");
    let stderr = bench.fails("encrypt -k bad -f b c", 1, "\"bad\": ");
    assert_eq!(stderr.matches("error: ").count(), 1, "{stderr}");
    bench.fails("encrypt -k key -o out b c", 2, "cannot have one output");
    bench.fails("decrypt -k key -o - b c", 2, "cannot have one output");

    // One of them may be standard input, which goes to standard output.
    let run = bench.run_with_input("encrypt -k key -f b -", b"piped");
    assert!(run.status.success(), "{run:?}");
    assert!(bench.run_with_input("decrypt -k key", &run.stdout).stdout == b"piped");
    assert_eq!(bench.ok("decrypt -k key -o - b.pld"), b"b");
}

#[test]
fn all_files_again() {
    let bench = Bench::new();
    for name in ["a", "b", "c"] {
        bench.write(name, name);
    }
    bench.ok("encrypt -k key a b");
    let run = bench.run("encrypt -k key a.pld b.pld c");
    assert_eq!(run.status.code(), Some(2), "{run:?}");
    let says =
        "error: 2 files already end in .pld and were passed over: \"a.pld\", \"b.pld\"\nhint: ";
    assert!(run.stderr.starts_with(says) && run.stderr.lines().count() == 2, "{run:?}");
    assert_eq!(bench.names(), ["a", "a.pld", "b", "b.pld", "c", "c.pld", "key"]);
    fs::remove_file(bench.path("c")).unwrap();
    let run = bench.run("decrypt -k key a c.pld");
    let says = "error: 1 file does not end in .pld and was passed over: \"a\"\nhint: ";
    assert!(run.status.code() == Some(2) && run.stderr.starts_with(says), "{run:?}");
    assert_eq!(bench.read("c"), b"c");
    // Then there is nothing to do, not even standard input.
    assert_eq!(bench.run("encrypt -k key a.pld b.pld").status.code(), Some(2));
}

#[test]
fn outputs_in_a_directory() {
    let bench = Bench::new();
    for dir in ["one", "two", "sealed"] {
        fs::create_dir(bench.path(dir)).unwrap();
    }
    for name in ["one/a", "two/b", "two/a"] {
        bench.write(name, name);
    }
    let in_sealed = || {
        let names = fs::read_dir(bench.path("sealed")).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    // Nothing is written if two would have the same name.
    let both = format!("would both become \"sealed{}a.pld\"", std::path::MAIN_SEPARATOR);
    let both = format!("\"one/a\" and \"two/a\" {both}");
    bench.fails("encrypt -k key -o sealed two/b one/a two/a", 2, &both);
    assert!(in_sealed().is_empty());
    bench.ok("encrypt -k key -o sealed two/b one/a");
    bench.fails("encrypt -k key -o sealed two/b", 1, "b.pld\" already exists");
    bench.ok("decrypt -k key -fo one/ sealed/a.pld sealed/b.pld");
    assert_eq!((bench.read("one/a"), bench.read("one/b")), (b"one/a".to_vec(), b"two/b".to_vec()));
    // What has no name.
    let message = "standard input gives no name for a file in \"sealed\"";
    bench.fails("encrypt -k key -o sealed", 2, message);
    assert_eq!(in_sealed(), ["a.pld", "b.pld"]);
}

#[test]
fn default_key() {
    let bench = Bench::new();
    bench.write("in", "secret");
    let default = if cfg!(windows) { "home/palladion/key" } else { "home/.config/palladion/key" };
    for args in ["encrypt in", "mac in", "raf create new"] {
        let stderr = bench.fails(args, 2, "no key given, and there is no default key file");
        assert!(stderr.contains("palladion keygen"), "{stderr}");
    }
    // A new key is no help for what is encrypted.
    bench.ok("encrypt -k key in");
    bench.ok("raf import -k key in some.raf");
    bench.write("MACS", bench.ok("mac -k key in"));
    for args in ["decrypt -o - in.pld", "mac --check MACS", "raf cat some.raf"] {
        let stderr = bench.fails(args, 2, "there is no default key file");
        assert!(stderr.contains("-k KEYFILE") && !stderr.contains("keygen"), "{stderr}");
    }
    // Each kind of secret that opens it.
    bench.ok("keygen --identity -q -o own");
    bench.ok("encrypt -f -k key -i own in");
    let stderr = bench.fails("decrypt -o - in.pld", 2, "no default key file");
    let both = stderr.contains("-k KEYFILE or PALLADION_KEY_FILE=KEYFILE, or use -i IDENTITYFILE");
    assert!(both, "{stderr}");
    bench.private("words", "open sesame");
    let add = "rewrap -q -k key --add --to-passphrase-file words in.pld";
    bench.ok(add);
    let stderr = bench.fails("decrypt -o - in.pld", 1, "no terminal");
    let all = "use --passphrase-file FILE, or use -k KEYFILE, or use -i IDENTITYFILE";
    assert!(stderr.contains(all), "{stderr}");
    fs::remove_file(bench.path("in.pld")).unwrap();
    let run = bench.run("keygen");
    assert!(run.status.success() && run.stdout.is_empty(), "{run:?}");
    assert!(run.stderr.starts_with("created the key file ") && run.stderr.contains("copy"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let mode = |name| fs::metadata(bench.path(name)).unwrap().mode() & 0o777;
        assert_eq!((mode(default), mode("home/.config/palladion")), (0o600, 0o700));
    }
    let key = bench.read(default);
    let stderr = bench.fails("keygen", 1, "already exists");
    assert!(stderr.contains("use it") && !stderr.contains("--force"), "{stderr}");
    assert_eq!(bench.read(default), key);

    // All commands use it.
    bench.ok("encrypt in");
    assert_eq!(bench.ok("decrypt -o - in.pld"), b"secret");
    fs::copy(bench.path(default), bench.path("copy")).unwrap();
    assert_eq!(bench.ok("decrypt -k copy -o - in.pld"), b"secret");
    bench.write("MACS", bench.ok("mac in"));
    assert_eq!(bench.ok("mac --check MACS"), b"in: OK\n");
    bench.ok("raf import in in.raf");
    assert_eq!(bench.ok("raf cat in.raf"), b"secret");
    // `raf info` needs no key, so it may be another one.
    bench.ok("raf create -k key other.raf");
    bench.ok("raf info other.raf");

    // An option goes before the variable, and the variable before the default.
    bench.ok("encrypt -k key -f in");
    bench.fails("decrypt -o - in.pld", 3, "not the key");
    let run = bench.run_with("PALLADION_KEY_FILE", "key", "decrypt -o - in.pld");
    assert_eq!(run.stdout, b"secret");
    let args = ["decrypt", "-k", "copy", "-o", "-", "in.pld"];
    assert_eq!(bench.run_with("PALLADION_KEY_FILE", "key", &args).status.code(), Some(3));
    let run = bench.run_with("PALLADION_KEY_FILE", "missing", "encrypt in");
    assert_eq!(run.status.code(), Some(2));
    let says = "PALLADION_KEY_FILE names a file that is not there: \"missing\"";
    assert!(run.stderr.contains(says), "{run:?}");
    // Whatever the problem, and whatever the command.
    for (variable, args) in [
        ("PALLADION_KEY_FILE", "encrypt in"),
        ("PALLADION_KEY_FILE", "fingerprint"),
        ("PALLADION_IDENTITY_FILE", "recipient"),
    ] {
        let run = bench.run_with(variable, "home", args);
        let says = format!("\"home\" is a directory (from {variable})");
        assert!(run.status.code() == Some(1) && run.stderr.contains(&says), "{run:?}");
    }
    assert!(bench.run_with("PALLADION_KEY_FILE", "new/key", "keygen").status.success());
    assert_eq!(bench.read("new/key").len(), 99);

    // The folder for settings; a relative path or none is as if it was not set.
    if cfg!(unix) {
        let elsewhere = bench.path("elsewhere");
        let elsewhere = elsewhere.to_str().unwrap();
        assert!(bench.run_with("XDG_CONFIG_HOME", elsewhere, "keygen").status.success());
        assert_eq!(bench.read("elsewhere/palladion/key").len(), 99);
        for value in ["relative", ""] {
            assert_eq!(bench.run_with("XDG_CONFIG_HOME", value, "keygen").status.code(), Some(1));
        }
    }
    assert!(bench.run("keygen -f").status.success());
    assert_ne!(bench.read(default), key);
}

#[test]
fn tips() {
    let bench = Bench::new();
    bench.write("in", "secret");
    let (unexpected, folder) = ("unexpected argument", "is a directory");
    for (args, status, message, hint, not) in [
        ("keygen new", 2, "unexpected argument 'new'", "use '-o new'", "as a value"),
        ("rewrap --nothing in.pld", 2, unexpected, "", "as a value"),
        ("encrypt --recursiv in", 2, unexpected, "--recursive", "as a value"),
        ("encrypt -k . in", 1, "\".\" is a directory", "name the key file in it", "tar"),
        ("encrypt --passphrase-file . in", 1, "\".\" is a directory", "passphrase", "tar"),
        ("encrypt -k key .", 1, folder, "tar", "key file in it"),
        ("encrypt -k key .", 1, folder, "each file in it with --recursive", "key file in it"),
        ("decrypt -k key .", 1, folder, "each file in it with --recursive", "key file in it"),
    ] {
        let stderr = bench.fails(args, status, message);
        assert!(stderr.contains(hint) && !stderr.contains(not), "{args}: {stderr}");
    }
    let run = bench.run("mac -k key --check .");
    assert!(run.stderr.contains("hint: name a list of MACs"), "{run:?}");
}

#[test]
fn tar_packs_and_unpacks() {
    let bench = Bench::new();
    let version = std::process::Command::new("tar").arg("--version").output();
    if !version.is_ok_and(|version| version.stdout.windows(3).any(|word| word == b"GNU")) {
        eprintln!("GNU tar is missing");
        return;
    }
    fs::create_dir(bench.path("folder")).unwrap();
    bench.write("folder/small", "secret");
    bench.write("folder/large", text(5 << 20));
    let script = "
        set -e
        pack='-I $P\\ encrypt\\ -k\\ key\\ --algorithm\\ AEGIS-128L'
        eval tar $pack -cf folder.tar.pld folder
        mv folder before
        eval tar $pack -xf folder.tar.pld
        diff -r before folder
        eval tar $pack -xf folder.tar.pld --occurrence=1 folder/small
        for unpack in decrypt -d; do
            tar -I \"$P $unpack -k key\" -xf folder.tar.pld
        done
        diff -r before folder";
    let run = bench.sh(script);
    assert!(run.status.success() && run.stderr.is_empty(), "{run:?}");
    let tar = bench.ok("decrypt -k key -o - folder.tar.pld");
    assert_eq!(tar[257..262], *b"ustar");
    // The same by the short name.
    assert!(bench.ok("-d -k key -o - folder.tar.pld") == tar);
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
#[test]
fn closed_standard_streams() {
    let bench = Bench::with_all_kinds();
    for args in WRITERS
        .into_iter()
        .map(|args| format!("{args} < in >&-"))
        .chain(["encrypt -k key <&-".into(), "decrypt -k key <&-".into()])
    {
        let run = bench.sh(&format!("$P {args}"));
        assert_eq!(run.status.code(), Some(1), "{args}: {run:?}");
        assert!(run.stderr.contains("it is closed"), "{args}: {run:?}");
        assert_eq!(run.stderr.matches("error: ").count(), 1, "{args}: {run:?}");
    }
    for (args, status) in [
        ("raf cat -k key in >&-", 4), // fails before it has an output
        // What needs no standard stream works without.
        ("decrypt -k key -o out in.pld <&- >&- 2>&-", 0),
        // Programs that discard the output open this for reading and writing too.
        ("decrypt -k key -o - in.pld 1<>/dev/null", 0),
    ] {
        let run = bench.sh(&format!("$P {args}"));
        assert_eq!(run.status.code(), Some(status), "{args}: {run:?}");
    }
    assert!(bench.read("out") == bench.read("in"));
}

/// Whoever can encrypt for the user could send anything to the terminal.
#[cfg(target_os = "linux")]
#[test]
fn what_a_terminal_shows() {
    let bench = Bench::new();
    for (text, is_shown) in [
        ("Grüße\tan\r\nalle\n", true),
        ("\u{1b}[2J", false),
        ("\u{9b}2J", false),
        ("nul\0", false),
        ("\x7f", false),
        ("a page\x0c\n", true),
    ] {
        bench.write("in", text);
        bench.ok("encrypt -qfk key in");
        let script = "\"$P\" decrypt -k key < in.pld; echo \"status $?\"";
        let shown = at_a_terminal(&bench, script, &[]);
        assert_eq!(shown.contains("status 0"), is_shown, "{text:?}: {shown:?}");
        assert_eq!(shown.contains("refusing to write binary data to a terminal"), !is_shown);
        let script = "\"$P\" decrypt -k key -o - < in.pld; echo \"status $?\"";
        assert!(at_a_terminal(&bench, script, &[]).contains("status 0"), "{text:?}");
    }
    // In two chunks: a control character, and a letter.
    for (last, is_shown) in [(b"\xc2\x9b2J", false), (b"\xc3\xa92J", true)] {
        bench.write("in", [&[b'a'; 1023][..], last].concat());
        bench.ok("encrypt -qfk key --chunk-size 1K in");
        let shown = at_a_terminal(&bench, "\"$P\" decrypt -k key < in.pld", &[]);
        assert_eq!(shown.contains("refusing to write binary data"), !is_shown, "{shown:?}");
    }
}

/// Runs a script at a terminal, and types each text as soon as the prompt before it appears.
#[cfg(target_os = "linux")]
pub fn at_a_terminal(bench: &Bench, script: &str, dialog: &[(&str, &str)]) -> String {
    use std::io::{Read, Write};
    use std::process::Stdio;
    // `script` makes a terminal; its own messages go to a file.
    let mut command = bench.shell("exec script -qec \"$SCRIPT\" /dev/null");
    command.env("SCRIPT", script).env("SHELL", "/bin/bash");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut shown = String::new();
    let mut seen = 0;
    for (prompt, answer) in dialog {
        while !shown[seen..].contains(prompt) {
            let mut byte = [0];
            stdout.read_exact(&mut byte).unwrap_or_else(|_| panic!("{shown:?}"));
            shown.push(byte[0].into());
        }
        seen = shown.len();
        stdin.write_all(answer.as_bytes()).unwrap();
    }
    let mut rest = Vec::new();
    stdout.read_to_end(&mut rest).unwrap();
    child.wait().unwrap();
    shown + &String::from_utf8_lossy(&rest)
}

#[cfg(target_os = "linux")]
#[test]
fn passphrases_at_the_prompt() {
    let bench = Bench::new();
    bench.write("in", "secret");
    let end = "; echo status=$?; stty -a | tr ' ;' '\\n\\n' | grep -x -e '-*echo' -e '-*isig'";
    let ask = format!("trap : INT QUIT; \"$P\" encrypt -p in{end}");
    let echo_is_on = |shown: &str| shown.ends_with("isig\r\necho\r\n");

    // Signals from the keyboard end the program, and the terminal is as before.
    let first = "New passphrase (empty: generate one): ";
    for (key, status) in [("\x1c", 131), ("\x03", 130)] {
        if is_ignored(status - 128) {
            continue;
        }
        let shown = at_a_terminal(&bench, &ask, &[(first, key)]);
        assert!(shown.contains(&format!("status={status}\r\n")) && echo_is_on(&shown), "{shown}");
    }
    let shown = at_a_terminal(&bench, &ask, &[(first, "\x04")]);
    assert!(shown.contains("no passphrase was given") && echo_is_on(&shown), "{shown}");
    // After the third typing error, it gives up.
    let dialog = [
        (first, "one\n"),
        ("Confirm passphrase: ", "two\n"),
        (
            "the two passphrases differ, try again\r\nNew passphrase (empty: generate one): ",
            "a\x1b[D\n",
        ),
        ("an arrow key, try again\r\nNew passphrase (empty: generate one): ", " \n"),
    ];
    let shown = at_a_terminal(&bench, &ask, &dialog);
    assert!(shown.contains("error: the passphrase is empty but for spaces"), "{shown}");
    assert!(shown.contains("status=2") && shown.matches(first).count() == 3, "{shown}");
    assert_eq!(bench.names(), ["in", "key"]);

    // It is not shown, and can be edited.
    let dialog = [
        (first, "one\n"),
        ("Confirm passphrase: ", "two\n"),
        (first, "opem\x7fn\n"),
        ("Confirm passphrase: ", "open\n"),
    ];
    let shown = at_a_terminal(&bench, &ask, &dialog);
    assert!(shown.contains("status=0") && echo_is_on(&shown), "{shown}");
    assert!(!shown.contains("ope"), "{shown}");

    // The file says that it needs one.
    let open = "\"$P\" decrypt -o - in.pld; echo; echo status=$?";
    let shown = at_a_terminal(&bench, open, &[("Passphrase for \"in.pld\": ", "open\n")]);
    assert!(shown.contains("secret\r\nstatus=0"), "{shown}");
    // It is asked for once for several files.
    fs::copy(bench.path("in.pld"), bench.path("more.pld")).unwrap();
    let open = "\"$P\" decrypt -f in.pld more.pld; echo status=$?";
    let shown = at_a_terminal(&bench, open, &[("Passphrase for \"in.pld\": ", "open\n")]);
    assert!(shown.contains("status=0"), "{shown}");
    assert_eq!(bench.read("more"), b"secret");
    let open = "\"$P\" verify -p more.pld in.pld; \"$P\" cat --offset 2 in.pld; echo";
    let dialog = [("for \"more.pld\": ", "open\n"), ("for \"in.pld\": ", "open\n")];
    let shown = at_a_terminal(&bench, open, &dialog);
    assert!(shown.contains("more.pld: OK\r\nin.pld: OK\r\n"), "{shown}");
    assert!(shown.ends_with("\r\ncret\r\n"), "{shown}");

    // A file with key slots, without the default key that could open it too. Who types the new
    // passphrase does not need --force.
    let script = "\"$P\" encrypt -q -k key -p -o s.pld in; \"$P\" decrypt -q -o - s.pld; echo; \
                  \"$P\" rewrap -q -p --to-passphrase s.pld; \"$P\" cat -q s.pld; echo";
    let dialog = [
        (first, "old\n"),
        ("Confirm passphrase: ", "old\n"),
        ("for \"s.pld\": ", "old\n"),
        ("for \"s.pld\": ", "old\n"),
        (first, "new\n"),
        ("Confirm passphrase: ", "new\n"),
        ("for \"s.pld\": ", "new\n"),
    ];
    let shown = at_a_terminal(&bench, script, &dialog);
    assert!(shown.matches("secret\r\n").count() == 2, "{shown}");
}

#[cfg(target_os = "linux")]
#[test]
fn generated_passphrases() {
    let bench = Bench::new();
    bench.write("in", "secret");
    let said = "Generated passphrase, to keep: ";
    let draw = || {
        let dialog = [("generate one): ", "\n")];
        let shown = at_a_terminal(&bench, "\"$P\" encrypt -f -p in 2> log", &dialog);
        assert_eq!(bench.read("log"), b"", "it belongs on the screen only");
        let words = &shown[shown.find(said).unwrap() + said.len()..];
        words.lines().next().unwrap().to_string()
    };
    let (first, second) = (draw(), draw());
    assert_ne!(first, second);
    assert_eq!((second.len(), second.split('-').count()), (29, 5));
    let run = bench.run_with_input("decrypt -o - --passphrase-file - in.pld", second.as_bytes());
    assert_eq!(run.stdout, b"secret");
}

#[test]
fn each_file_takes_the_secret_that_it_needs() {
    let bench = Bench::new();
    assert!(bench.run("keygen").status.success());
    bench.ok("keygen -o other");
    for name in ["one", "two", "wrong"] {
        bench.private(name, format!("passphrase {name}\n"));
    }
    for (name, secret) in [
        ("a", "-k key"),
        ("b", "-k other"),
        ("c", "--passphrase-file one"),
        ("d", "--passphrase-file two"),
        ("e", ""),
    ] {
        bench.write(name, name);
        bench.ok(&format!("encrypt {name} {secret}"));
    }
    let all = "-k key -k other --passphrase-file two --passphrase-file one";
    for files in ["a.pld b.pld c.pld d.pld", "d.pld c.pld b.pld a.pld"] {
        bench.ok(&format!("decrypt -f {files} {all}"));
    }
    assert_eq!(bench.ok("decrypt -k key -k other -o - b.pld"), b"b");
    bench.fails("decrypt -k key -k other -o - e.pld", 3, ", key ");
    bench.fails("decrypt -k key -o - c.pld", 3, "with a passphrase");
    let wrong = "decrypt --passphrase-file wrong --passphrase-file one -o - d.pld";
    bench.fails(wrong, 3, "not the passphrase");
    bench.fails("decrypt -k - --passphrase-file - -o - a.pld", 2, "only one");
    // Without an option: the default key, and a terminal, which this test has not.
    for files in ["c.pld e.pld", "e.pld c.pld"] {
        fs::remove_file(bench.path("e")).unwrap();
        let run = bench.run(&format!("decrypt -f {files}"));
        assert_eq!(run.status.code(), Some(1), "{run:?}");
        assert_eq!((&bench.read("e")[..], run.stderr.matches("error: ").count()), (&b"e"[..], 1));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn passphrases_of_several_files_at_the_prompt() {
    let bench = Bench::new();
    assert!(bench.run("keygen").status.success());
    bench.private("one", "one");
    bench.private("two", "two");
    for (name, secret) in [
        ("a", ""),
        ("b", "--passphrase-file one"),
        ("c", "--passphrase-file two"),
        ("d", "--passphrase-file one"),
    ] {
        bench.write(name, name);
        bench.ok(&format!("encrypt {name} {secret}"));
    }
    let decrypt = |files: &str| format!("\"$P\" decrypt -f {files}; echo status=$?");
    let end = ["a", "b", "c", "d"].map(|name| (name, name.as_bytes()));
    for files in ["a.pld b.pld c.pld d.pld", "b.pld a.pld d.pld c.pld"] {
        for (name, _) in end {
            bench.write(name, "");
        }
        let dialog = [
            ("Passphrase for \"b.pld\": ", "one\n"),
            ("\"c.pld\" has another passphrase\r\nPassphrase for \"c.pld\": ", "two\n"),
        ];
        let shown = at_a_terminal(&bench, &decrypt(files), &dialog);
        assert!(shown.contains("status=0"), "{shown}");
        for (name, text) in end {
            assert_eq!(bench.read(name), text);
        }
    }
    // Who does not know it is asked three times, and not for each file again.
    let wrong = ("Passphrase for \"b.pld\": ", "wrong\n");
    let again = ("wrong passphrase, try again\r\nPassphrase for \"b.pld\": ", "wrong\n");
    let shown = at_a_terminal(&bench, &decrypt("b.pld c.pld a.pld"), &[wrong, again, again]);
    assert!(shown.contains("status=3") && !shown.contains("has another"), "{shown}");
    assert_eq!((bench.read("a"), bench.read("b")), (b"a".to_vec(), b"b".to_vec()));
    // It may be that of another file.
    let two = ("Passphrase for \"b.pld\": ", "two\n");
    let again = ("wrong passphrase, try again\r\nPassphrase for \"b.pld\": ", "two\n");
    bench.write("c", "");
    let shown = at_a_terminal(&bench, &decrypt("b.pld c.pld"), &[two, again, again]);
    assert!(shown.contains("status=3"), "{shown}");
    assert_eq!(bench.read("c"), b"c");
    let import = "\"$P\" raf import -p a a.raf; \"$P\" raf cat -p a.raf; echo; echo status=$?";
    let dialog = [
        ("New passphrase (empty", "one\n"),
        ("Confirm passphrase: ", "one\n"),
        ("Passphrase for \"a.raf\": ", "oen\n"),
        ("\"a.raf\": wrong passphrase, try again\r\nPassphrase for \"a.raf\": ", "one\n"),
    ];
    let shown = at_a_terminal(&bench, import, &dialog);
    assert!(shown.contains("\na\r\nstatus=0"), "{shown}");
    // A mistake is forgiven, but not for ever.
    let first = "Passphrase for \"b.pld\": ";
    let again = "wrong passphrase, try again\r\nPassphrase for \"b.pld\": ";
    let dialog = [(first, "two\n"), (again, "\n"), (again, "one\n")];
    let shown = at_a_terminal(&bench, &decrypt("b.pld"), &dialog);
    assert!(shown.contains("status=0"), "{shown}");
    // What is typed while the passphrase is tried is not shown.
    let dialog = [(first, "x\n"), ("\r\n", "one\n")];
    let shown = at_a_terminal(&bench, &decrypt("b.pld"), &dialog);
    assert!(shown.contains("status=0") && !shown.contains("one"), "{shown}");
    let dialog = [(first, "x\n"), (again, "y\n"), (again, "\n")];
    let shown = at_a_terminal(&bench, &decrypt("b.pld"), &dialog);
    assert!(shown.contains("not the passphrase") && shown.contains("status=3"), "{shown}");
    assert!(shown.contains("(tried an empty passphrase)"), "{shown}");
    // The shell does not get it, either.
    let left = "\"$P\" decrypt -f b.pld; echo status=$?; read -t 0 && echo it is left";
    let shown = at_a_terminal(&bench, left, &[(first, "x\n"), (again, "y\n"), (again, "z\none\n")]);
    assert!(shown.contains("status=3") && !shown.contains("it is left"), "{shown}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_echo_is_off_again_after_a_stop() {
    let bench = Bench::new();
    bench.write("a", "a");
    let args = "encrypt --passphrase-file - --kdf-passes 16 a";
    assert!(bench.run_with_input(args, b"one").status.success());
    // One helper stops the program once Argon2 has its memory. The shell goes on with it, and the
    // other one looks at the terminal until the program ends.
    let script = r#"
        set -m
        {
            until awk '/VmRSS/ && $2 > 50000 { found = 1 } END { exit !found }' \
                "/proc/$(cat pid)/status"; do :; done
            kill -TSTP "$(cat pid)"
        } 2> /dev/null &
        bash -c 'echo $$ > pid; exec "$P" decrypt -f a.pld'
        stty echo
        {
            while kill -0 "$(cat pid)"; do
                stty -a | tr ' ;' '\n\n' | grep -qx -e -echo && { echo hidden; break; }
            done
        } < /dev/tty 2> /dev/null &
        fg %?decrypt
        echo status=$?
        wait
    "#;
    let shown = at_a_terminal(&bench, script, &[("Passphrase for \"a.pld\": ", "one\n")]);
    assert!(shown.contains("hidden\r\n") && shown.contains("status=0\r\n"), "{shown}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_new_key_at_a_terminal() {
    let bench = Bench::new();
    let shown = at_a_terminal(&bench, "\"$P\" keygen -o new; \"$P\" fingerprint new", &[]);
    let fingerprint = &shown[shown.find("fingerprint of the key: ").unwrap() + 24..][..8];
    assert!(shown.ends_with(&format!("{fingerprint}  new\r\n")), "{shown}");
    assert!(bench.read("new").ends_with(format!("# check: {fingerprint}\n").as_bytes()));
}
