//! Names of descriptors, and outputs that cannot be replaced: the rule of `palladion_output`.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::Path;

use crate::common::*;

/// Runs a script with `$P`, which must succeed silently; returns standard output.
fn sh(bench: &Bench, script: &str) -> Vec<u8> {
    let run = bench.sh(&format!("set -e; {script}"));
    assert!(run.status.success() && run.stderr.is_empty(), "{script}: {run:?}");
    run.stdout
}

/// Runs a script that must fail with this status and an error that says this.
fn sh_fails(bench: &Bench, script: &str, status: i32, message: &str) -> String {
    let run = bench.sh(script);
    assert_eq!(run.status.code(), Some(status), "{script}: {run:?}");
    assert!(run.stderr.contains(message), "{script}: {run:?}");
    run.stderr
}

fn opened(bench: &Bench, sealed: &[u8]) -> Vec<u8> {
    let run = bench.run_with_input("decrypt -k key", sealed);
    assert!(run.status.success(), "{run:?}");
    run.stdout
}

#[test]
fn outputs_that_are_descriptors() {
    let bench = Bench::new();
    bench.write("in", "secret");
    symlink("/dev/fd/3", bench.path("link")).unwrap();
    for name in ["/dev/fd/3", "/proc/self/fd/3", "/proc/thread-self/fd/3", "link"] {
        for force in ["", "-f"] {
            if !cfg!(target_os = "linux") && name.starts_with("/proc") {
                continue;
            }
            let script = format!(
                "{{ echo header >&3
                $P encrypt {force} -k key -o {name} in
                echo more >&3; }} 3> out"
            );
            sh(&bench, &script);
            let out = bench.read("out");
            let sealed = out.strip_prefix(b"header\n").and_then(|out| out.strip_suffix(b"more\n"));
            assert_eq!(opened(&bench, sealed.expect("header and more")), b"secret", "{name}");
        }
    }
    // Standard output by name, to a file and to a pipe.
    sh(&bench, "{ echo header; $P encrypt -k key -o /dev/stdout in; echo more; } > out");
    assert!(bench.read("out").starts_with(b"header\n\x89PLD"));
    assert!(bench.read("out").ends_with(b"more\n"));
    assert_eq!(opened(&bench, &sh(&bench, "$P encrypt -k key -o /dev/stdout in | cat")), b"secret");
    sh(&bench, "$P encrypt -k key -o /dev/stderr in 2> out");
    assert_eq!(opened(&bench, &bench.read("out")), b"secret");
    // Process substitution, with a FIFO to wait for its end.
    sh(&bench, "mkfifo done; $P encrypt -k key -o >(cat > out; echo > done) in; read -r < done");
    assert_eq!(opened(&bench, &bench.read("out")), b"secret");
    // Other commands.
    sh(&bench, "{ echo '# mine' >&3; $P keygen -o /dev/fd/3 2> warnings; } 3> other");
    assert!(bench.read("other").starts_with(b"# mine\npalladion-key-1:"));
    sh(&bench, "$P raf import -k key in f.raf; $P raf cat -k key -o /dev/fd/3 f.raf 3>> other");
    assert!(bench.read("other").ends_with(b"secret"));
    sh_fails(&bench, "$P raf import -k key in /dev/fd/3 3> g.raf", 2, "an open descriptor");
    // The file behind a descriptor may be an input, too.
    sh_fails(&bench, "$P encrypt -k key -o /dev/fd/3 in 3<> in", 2, "both input and output");
    sh_fails(&bench, "$P encrypt -k key -o /dev/fd/3 in 3<> key", 2, "both key and output");
    assert_eq!(bench.read("in"), b"secret");
}

#[test]
fn descriptors_of_a_user_who_is_not_root() {
    let bench = Bench::new();
    bench.write("in", "secret");
    let script = "set -e; id -u
        $P encrypt -k key -o /dev/stdout in > out.pld
        $P decrypt -k key -o /dev/stdout /dev/stdin < out.pld
        cat out.pld | $P decrypt -k /dev/fd/3 -o /dev/fd/4 /proc/self/fd/0 3< key 4>&1 | cat
        $P decrypt -k <(cat key) -o >(cat) <(cat out.pld) | cat";
    let run = finish(bench.shell_of_user(script).spawn().unwrap());
    assert!(run.status.success() && run.stderr.is_empty(), "{run:?}");
    let said = String::from_utf8(run.stdout).unwrap();
    let (user, said) = said.split_once('\n').unwrap();
    assert_ne!(user, "0");
    assert_eq!(said, "secret".repeat(3));
}

#[test]
fn a_directory_that_cannot_be_synced() {
    let bench = Bench::new();
    bench.write("in", "secret");
    // Its user may create files, but not open the directory to sync it.
    let script = "mkdir -m 300 drop
        $P encrypt -k key -o drop/out in && $P decrypt -k key -o out drop/out && cat out
        s=$?; chmod 700 drop; exit $s";
    let run = finish(bench.shell_of_user(script).spawn().unwrap());
    assert_eq!((run.status.code(), &run.stdout[..]), (Some(0), &b"secret"[..]), "{run:?}");
    assert!(
        run.stderr.starts_with("warning: \"drop/out\" is complete, but a power failure may")
            && run.stderr.ends_with("its directory cannot be synced\n"),
        "{run:?}"
    );
}

#[test]
fn a_replaced_file_of_another_owner_or_group() {
    let bench = Bench::new();
    bench.write("in", "secret");
    bench.write("out", "old");
    if chown(bench.path("out"), Some(12345), Some(12345)).is_err() {
        eprintln!("not tested: only root can give a file away");
        return;
    }
    let owners = || {
        let out = fs::metadata(bench.path("out")).unwrap();
        (out.uid(), out.gid(), out.mode() & 0o777)
    };
    bench.chmod("out", 0o644);
    bench.ok("encrypt -k key -f -o out in");
    assert_eq!(owners(), (12345, 12345, 0o644));
    // A user cannot give it to a group that he is not in.
    for (mode, wanted) in [(0o664, 0o644), (0o640, 0o600), (0o604, 0o600)] {
        bench.write("out", "old");
        let mut shell = bench.shell_of_user("$P encrypt -k key -f -o out in");
        chown(bench.path("out"), None, Some(USER - 1)).unwrap();
        bench.chmod("out", mode);
        let run = finish(shell.spawn().unwrap());
        assert!(run.status.success(), "{run:?}");
        assert_eq!(owners(), (USER, USER, wanted), "{mode:o}");
    }
}

#[test]
fn inputs_that_are_descriptors() {
    let bench = Bench::new();
    bench.write("in", "header\nsecret");
    symlink("/dev/stdin", bench.path("link")).unwrap();
    // As with `-`: from the position on, and to standard output.
    for (name, from) in [("/dev/stdin", ""), ("link", ""), ("/dev/fd/3", "3"), ("/dev/fd/0", "")] {
        let read = match from {
            "" => "read -r line",
            _ => "read -r line <&3",
        };
        let script = format!("{{ {read}; $P encrypt -k key {name} > out.pld; }} {from}< in");
        sh(&bench, &script);
        assert_eq!(opened(&bench, &bench.read("out.pld")), b"secret", "{name}");
        let sealed = sh(&bench, &format!("cat in | $P encrypt -k key {name} {from}<&0"));
        assert_eq!(opened(&bench, &sealed), b"header\nsecret", "{name}");
    }
    assert!(!Path::new("/dev/stdin.pld").exists());
    assert_eq!(sh(&bench, "$P decrypt -k key /dev/stdin < out.pld"), b"secret");
    assert_eq!(sh(&bench, "$P decrypt -k key <(cat out.pld)"), b"secret");
    assert_eq!(
        sh(&bench, "$P mac -k key /dev/stdin < in | cut -c1-64"),
        sh(&bench, "$P mac -k key in | cut -c1-64")
    );
    sh(&bench, "$P raf import -k key /dev/stdin f.raf < in; $P raf cat -k key f.raf | cmp - in");
    // Secrets: from the position on, and without asking whether others can read a pipe.
    sh(&bench, "cat key | $P decrypt -k /dev/stdin -o - out.pld");
    sh(&bench, "$P decrypt -k /dev/fd/3 -o - out.pld 3< key");
    sh(&bench, "$P decrypt -k <(cat key) -o - out.pld");
    sh(&bench, "$P encrypt --passphrase-file <(echo word) -o p.pld in");
    sh(&bench, "echo word | $P decrypt --passphrase-file /dev/stdin -o - p.pld");
    // What is read is gone.
    for (script, message) in [
        ("$P encrypt -k /dev/stdin < key", "standard input cannot be both the key and the data"),
        ("$P encrypt -k - /dev/stdin < key", "standard input cannot be both the key and the data"),
        ("$P raf import -k - /dev/fd/0 g.raf < key", "standard input cannot be both"),
        ("$P encrypt -k /dev/fd/3 /dev/fd/3 3< key", "\"/dev/fd/3\" cannot be read twice"),
        ("$P encrypt -k key - /dev/stdin < in", "standard input cannot be read twice"),
    ] {
        sh_fails(&bench, script, 2, message);
    }
}

#[test]
fn descriptors_that_are_closed() {
    let bench = Bench::new();
    bench.write("in", "secret");
    // The program itself opens files, which then have these numbers.
    for number in 3..12 {
        for script in [
            format!("$P encrypt -k key -o /dev/fd/{number} in"),
            format!("$P encrypt -k key /dev/fd/{number}"),
            format!("$P encrypt -k /dev/fd/{number} in"),
        ] {
            let script = format!("exec {number}>&-; {script}");
            sh_fails(&bench, &script, 1, &format!("cannot open \"/dev/fd/{number}\": Bad file"));
        }
    }
    for (script, name) in [
        ("$P encrypt -k key /dev/stdin <&-", "standard input"),
        ("$P encrypt -k key -o /dev/stdout in >&-", "standard output"),
        ("$P encrypt -k key -o /dev/fd/0 in <&-", "\"/dev/fd/0\""),
    ] {
        sh_fails(&bench, script, 1, &format!("cannot open {name}: it is closed"));
    }
    // Nobody sees the error.
    let run = bench.sh("$P encrypt -k key -o /dev/stderr in 2>&-");
    assert_eq!(run.status.code(), Some(1));
    assert_eq!(bench.names(), ["in", "key"]);
}

#[cfg(target_os = "linux")]
#[test]
fn files_that_cannot_be_replaced() {
    let bench = Bench::new();
    bench.write("in", "secret");
    bench.write("out", "old");
    let inside = |script: &str| {
        let inside = format!("mount --bind out out || exit 99; {script}");
        bench.shell(&format!("unshare -Urm bash -c '{inside}'")).spawn().map(finish).unwrap()
    };
    if !inside("true").status.success() {
        eprintln!("this system has no mount points for ordinary users");
        return;
    }
    for command in
        ["encrypt -k key -f -o out in", "raf import -k key -f in out", "keygen -f -o out"]
    {
        let run = inside(&format!("$P {command}"));
        assert_eq!(run.status.code(), Some(1), "{run:?}");
        assert!(run.stderr.contains("\"out\" cannot be replaced: it is a mount point"), "{run:?}");
        assert!(run.stderr.contains("\nhint: "), "{run:?}");
    }
    // The hint's way works.
    assert!(inside("$P encrypt -k key -o - in > out").status.success());
    assert_eq!(opened(&bench, &bench.read("out")), b"secret");
    assert_eq!(bench.names(), ["in", "key", "out"]);
}

#[cfg(target_os = "linux")]
#[test]
fn files_of_others_in_a_sticky_directory() {
    let bench = Bench::new();
    fs::create_dir(bench.path("folder")).unwrap();
    let mut shell = bench.shell_of_user("$P keygen -f -o folder/out");
    bench.write("folder/out", "old");
    bench.chmod("folder/out", 0o666);
    let folder_of_root = chown(bench.path("folder"), Some(0), Some(0));
    bench.chmod("folder", 0o1777);
    if folder_of_root.is_err() || chown(bench.path("folder/out"), Some(12345), None).is_err() {
        eprintln!("only root can give a file away");
        return;
    }
    let run = finish(shell.spawn().unwrap());
    assert_eq!(run.status.code(), Some(1), "{run:?}");
    assert!(run.stderr.contains("it belongs to another user"), "{run:?}");
    assert_eq!(bench.read("folder/out"), b"old");
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_deeper_than_paths_may_be() {
    let bench = Bench::new();
    let script = "
        name=$(printf 'x%.0s' {1..250})
        for n in {1..20}; do mkdir $name; cd $name; done
        echo secret > f; echo old > old; ln -s old link
        $P keygen -o key
        $P encrypt -k key f
        $P encrypt -k key -f -o old f
        $P encrypt -k key -f -o link f
        $P decrypt -k key -o - f.pld; $P decrypt -k key -o - old
        $P keygen -f -o key 2> said
        ls -a";
    let out = String::from_utf8(sh(&bench, script)).unwrap();
    assert_eq!(out, "secret\nsecret\n.\n..\nf\nf.pld\nkey\nkey.old-1\nlink\nold\nsaid\n");
    // Nobody else can remove it.
    sh(&bench, "rm -r x*");
}

#[cfg(target_os = "linux")]
#[test]
fn files_shorter_than_the_system_says() {
    let bench = Bench::new();
    let name = "/sys/kernel/mm/transparent_hugepage/enabled";
    let Ok(content) = fs::read(name) else { return };
    assert!(content.len() < fs::metadata(name).unwrap().len() as usize);
    let sealed = bench.ok(&["encrypt", "-k", "key", "-o", "-", name]);
    assert_eq!(opened(&bench, &sealed), content);
    bench.ok(&["mac", "-k", "key", name, "/proc/version"]);
    bench.ok(&["raf", "import", "-k", "key", name, "f.raf"]);
    assert_eq!(bench.ok("raf cat -k key f.raf"), content);
}
