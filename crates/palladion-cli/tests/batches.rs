//! Many short files in one command, whose outputs are committed together.

use std::fs;
#[cfg(unix)]
use std::os::unix::{fs::symlink, process::ExitStatusExt};
#[cfg(unix)]
use std::process::Command;
#[cfg(unix)]
use std::time::{Duration, Instant};

use crate::common::*;

/// More than one batch.
const FILES: usize = 150;

/// Creates `000`, `001` and so on, and returns their names.
fn files(bench: &Bench, count: usize) -> Vec<String> {
    let names: Vec<_> = (0..count).map(|number| format!("{number:03}")).collect();
    for name in &names {
        bench.write(name, text(2000 + name.parse::<usize>().unwrap()));
    }
    names
}

fn encrypt(names: &[String]) -> String {
    format!("encrypt -k key {}", names.join(" "))
}

/// Every encrypted file is whole, and nothing unfinished is there.
fn all_are_whole(bench: &Bench) {
    let names = bench.names();
    assert_eq!(names.iter().find(|name| name.ends_with(".tmp")), None);
    let sealed: Vec<_> = names.into_iter().filter(|name| name.ends_with(".pld")).collect();
    let inputs = || sealed.iter().map(|name| bench.read(name.strip_suffix(".pld").unwrap()));
    let before: Vec<_> = inputs().collect();
    bench.ok(&format!("decrypt -k key -f {}", sealed.join(" ")));
    assert!(inputs().eq(before));
}

#[test]
fn there_and_back() {
    let bench = Bench::new();
    let mut names = files(&bench, FILES);
    fs::create_dir(bench.path("folder")).unwrap();
    for at in (0..FILES).step_by(3) {
        let moved = format!("folder/{}", names[at]);
        fs::rename(bench.path(&names[at]), bench.path(&moved)).unwrap();
        names[at] = moved;
    }
    let contents = || -> Vec<_> { names.iter().map(|name| bench.read(name)).collect() };
    let before = contents();
    bench.ok(&encrypt(&names));
    for name in &names {
        bench.write(name, "old");
    }
    bench.ok(&format!("decrypt -f -k key {}.pld", names.join(".pld ")));
    assert!(before == contents());
    assert_eq!(fs::read_dir(bench.path("folder")).unwrap().count(), 2 * FILES.div_ceil(3));
}

#[cfg(unix)]
#[test]
fn with_few_descriptors() {
    let bench = Bench::new();
    files(&bench, FILES);
    let run = bench.sh("ulimit -n 24; $P encrypt -k key [0-9]* && ls *.pld | wc -l");
    assert!(run.status.success() && run.stderr.is_empty(), "{run:?}");
    assert_eq!(run.stdout.trim_ascii(), FILES.to_string().as_bytes());
}

#[test]
fn messages_are_in_the_order_of_the_files() {
    let bench = Bench::new();
    let mut args = files(&bench, 20);
    for missing in ["003", "011"] {
        fs::remove_file(bench.path(missing)).unwrap();
    }
    bench.write("007.pld", "precious");
    // Its output is there only when its batch is committed.
    args.insert(6, "005".into());
    args.insert(14, "folder/".into());
    fs::create_dir(bench.path("folder")).unwrap();
    let run = bench.run(&encrypt(&args));
    assert_eq!(run.status.code(), Some(1));
    let errors: Vec<_> = run.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    let expected = [
        "error: cannot open \"003\"",
        "error: \"005.pld\" already exists",
        "error: \"007.pld\" already exists",
        "error: cannot open \"011\"",
        "error: \"folder/\" is a directory",
    ];
    assert_eq!(errors.len(), expected.len(), "{run:?}");
    for (error, expected) in errors.iter().zip(expected) {
        assert!(error.starts_with(expected), "{run:?}");
    }
    assert_eq!(bench.read("007.pld"), b"precious");
    fs::remove_file(bench.path("007.pld")).unwrap();
    all_are_whole(&bench);
    assert_eq!(bench.names().iter().filter(|name| name.ends_with(".pld")).count(), 20 - 3);
}

#[test]
fn an_input_that_is_an_output() {
    let bench = Bench::new();
    bench.write("a", "secret");
    bench.ok("encrypt -k key -o a.pld.pld a");
    let once = bench.read("a.pld.pld");
    bench.write("b.pld", &once);
    bench.ok("encrypt -k key -o b.pld.pld b.pld");
    bench.write("twice.pld.pld", bench.read("b.pld.pld"));
    bench.ok("decrypt -k key twice.pld.pld twice.pld");
    assert_eq!(bench.read("twice"), b"secret");
    // Not what was there before.
    bench.write("a", "other");
    bench.ok("encrypt -k key -f -o b.pld a");
    #[cfg(unix)]
    symlink("b.pld", bench.path("link.pld")).unwrap();
    let other = if cfg!(unix) { "link.pld" } else { "b.pld" };
    bench.ok(&["decrypt", "-k", "key", "-f", "b.pld.pld", other]);
    assert_eq!(bench.read(other.strip_suffix(".pld").unwrap()), b"secret");
}

#[test]
fn inputs_that_are_deleted() {
    let bench = Bench::new();
    let names = files(&bench, FILES);
    let before: Vec<_> = names.iter().map(|name| bench.read(name)).collect();
    bench.write("007.pld", "precious");
    // A file that has no output stays.
    let run = bench.run(&format!("{} --rm", encrypt(&names)));
    assert_eq!((run.status.code(), run.stderr.matches("error: ").count()), (Some(1), 1), "{run:?}");
    fs::remove_file(bench.path("007.pld")).unwrap();
    assert_eq!(bench.names().len(), FILES + 1);
    bench.ok("encrypt -k key --rm 007");
    let sealed: Vec<_> = names.iter().map(|name| format!("{name}.pld")).collect();
    assert_eq!(bench.names(), [&sealed[..], &["key".into()]].concat());
    bench.ok(&format!("decrypt -k key --rm {}", sealed.join(" ")));
    assert_eq!(bench.names(), [&names[..], &["key".into()]].concat());
    assert!(names.iter().map(|name| bench.read(name)).eq(before));

    // What must stay or has no name.
    let null = if cfg!(unix) { "-o /dev/null 000" } else { "-o NUL 000" };
    for (args, message) in [
        ("-o - 000", "needs an output file, which standard output is not"),
        (null, "needs an output file"),
        ("-o out", "regular files only, and standard input is none"),
        ("key", "--rm would delete \"key\""),
        ("000 ./000", "would both become"),
    ] {
        bench.fails(&format!("encrypt --rm -k key {args}"), 2, message);
    }
    // Links of one file.
    for name in ["b", "c"] {
        fs::hard_link(bench.path("001"), bench.path(name)).unwrap();
    }
    bench.ok("encrypt -k key --rm 001 b c");
    assert!(["001", "b", "c"].iter().all(|name| !bench.path(name).exists()));
}

#[cfg(unix)]
#[test]
fn inputs_that_cannot_be_deleted() {
    let bench = Bench::new();
    bench.write("000", "secret");
    symlink("000", bench.path("link")).unwrap();
    bench.fails("encrypt --rm -k key link", 2, "regular files only, and \"link\" is none");
    bench.fails("encrypt --rm -k key -o out /dev/null", 2, "regular files only");
    // A directory that takes no deletion (root may all the same).
    fs::create_dir(bench.path("fixed")).unwrap();
    bench.write("fixed/a", "secret");
    bench.chmod("fixed", 0o555);
    let run = bench.run("encrypt --rm -k key -o out fixed/a");
    bench.chmod("fixed", 0o755);
    if bench.path("fixed/a").exists() {
        assert_eq!(run.status.code(), Some(1));
        assert!(run.stderr.contains("cannot delete \"fixed/a\""), "{run:?}");
    }
    assert!(bench.path("out").exists());
}

/// An input that changes while it is read is not deleted.
#[cfg(unix)]
#[test]
fn inputs_that_change_are_kept() {
    let bench = Bench::new();
    bench.write("in", text(3 << 20));
    // The program waits for the passphrase when both files are open.
    let script = "
        mkfifo pipe; exec 3<>pipe
        $P encrypt --rm --kdf-memory 1M --passphrase-file /dev/fd/3 in &
        until ls .palladion-*.tmp > list 2> errors; do sleep 0.01; done
        echo more >> in; echo open sesame >&3; wait $!";
    let run = bench.sh(script);
    assert_eq!(run.status.code(), Some(1), "{run:?}");
    let warning = format!("warning: \"in\" changed while it was read; {} bytes", (3 << 20) + 5);
    assert!(run.stderr.contains(&warning), "{run:?}");
    assert!(run.stderr.contains("\"in\" is kept: it changed while it was read"), "{run:?}");
    assert!(bench.path("in").exists() && bench.path("in.pld").exists());
}

#[cfg(unix)]
#[test]
fn signals_leave_whole_files() {
    let bench = Bench::new();
    let names = files(&bench, 400);
    for (signal, number) in [("-TERM", 15), ("-TERM", 15), ("-TERM", 15), ("-KILL", 9)] {
        let child = bench.command(&encrypt(&names)).spawn().unwrap();
        let begin = Instant::now();
        while !bench.path("000.pld").exists() {
            assert!(begin.elapsed() < Duration::from_secs(30), "no output appears");
            std::thread::yield_now();
        }
        kill(&child, signal);
        let run = finish(child);
        // It may have been done before.
        let killed = run.status.signal() == Some(number);
        assert!(killed || run.status.success(), "{run:?}");
        let of = |end: &str| bench.names().iter().filter(|name| name.ends_with(end)).count();
        assert_eq!(!killed, of(".pld") == names.len(), "{signal}");
        if signal == "-KILL" {
            for name in bench.names().iter().filter(|name| name.ends_with(".tmp")) {
                fs::remove_file(bench.path(name)).unwrap();
            }
        }
        all_are_whole(&bench);
        for name in names.iter().map(|name| format!("{name}.pld")) {
            let _ = fs::remove_file(bench.path(&name));
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_fills_up() {
    let bench = Bench::new();
    let names = files(&bench, 20);
    fs::create_dir(bench.path("disk")).unwrap();
    let script = format!(
        "unshare -Urm bash -c 'mount -t tmpfs -o size=128k tmpfs disk && cp {} disk || exit 99
        cd disk; $P encrypt -k ../key ???; status=$?; cp *.pld ..; ls -A; exit $status'",
        names.join(" ")
    );
    let run = bench.sh(&script);
    if run.status.code() == Some(99) || run.stderr.contains("unshare") {
        eprintln!("this system has no mount points for ordinary users");
        return;
    }
    assert_eq!(run.status.code(), Some(1), "{run:?}");
    assert!(run.stderr.contains("cannot write \"019.pld\": No space left"), "{run:?}");
    assert!(!String::from_utf8(run.stdout).unwrap().contains(".tmp"));
    all_are_whole(&bench);
    let of = bench.names().iter().filter(|name| name.ends_with(".pld")).count();
    assert!((3..20).contains(&of), "{of}");
}

#[cfg(unix)]
#[test]
fn a_fifo_among_files_is_refused() {
    let bench = Bench::new();
    bench.write("a", "secret");
    for name in ["b", "b.pld"] {
        assert!(Command::new("mkfifo").arg(bench.path(name)).status().unwrap().success());
    }
    bench.ok("encrypt -k key a");
    bench.write("list", format!("{}  b.pld\n{0}  /dev/zero\n", "00".repeat(32)));
    for (args, status, times) in [
        ("encrypt -k key -f b a", 2, 1),
        ("decrypt -k key -f b.pld a.pld", 2, 1),
        ("verify -k key b.pld a.pld", 2, 1),
        ("info b.pld a.pld", 2, 1),
        ("mac -k key b.pld a.pld", 1, 1),
        ("mac -k key -c list", 1, 2),
    ] {
        let run = bench.run(&args.split(' ').collect::<Vec<_>>());
        assert_eq!(run.status.code(), Some(status), "{args}: {run:?}");
        assert_eq!(run.stderr.matches("is not a regular file").count(), times, "{args}: {run:?}");
    }
}
