//! Signals, full disks and closed pipes: nothing half-written stays.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::common::*;

/// Started, fed with some chunks, waiting for more, with an unfinished output beside `out`.
fn stuck(bench: &Bench, args: &str, input: &[u8]) -> Child {
    let before = bench.names().len();
    let mut child = bench.spawn(args);
    child.stdin.as_mut().unwrap().write_all(input).unwrap();
    wait_for("the output", || {
        let names = bench.names();
        let size =
            |name: &String| fs::metadata(bench.path(name)).map_or(0, |metadata| metadata.len());
        names.len() == before + 1
            && names.iter().any(|name| name.ends_with(".tmp") && size(name) > 1 << 20)
    });
    child
}

#[test]
fn signals() {
    let bench = Bench::new();
    bench.write("in", text(20 << 20));
    let sealed = bench.ok("encrypt -k key -o - in");
    let others = [("-QUIT", 3), ("-ALRM", 14), ("-USR1", 10), ("-USR2", 12), ("-XCPU", 24)];
    // The numbers differ between systems.
    let others = if cfg!(target_os = "linux") { &others[..] } else { &[] };
    for &(signal, number) in [("-INT", 2), ("-TERM", 15), ("-HUP", 1)].iter().chain(others) {
        if is_ignored(number) {
            continue;
        }
        for (args, input) in [
            ("encrypt -k key -o out", &bench.read("in")[..4 << 20]),
            ("decrypt -k key -o out", &sealed[..3 << 20]),
            ("raf import -k key - out", &bench.read("in")),
        ] {
            let mut child = stuck(&bench, args, input);
            kill(&child, signal);
            // Else `wait` would end the input, and the program might be done before the signal is.
            let _stdin = child.stdin.take();
            let run = finish(child);
            assert_eq!((run.status.signal(), run.status.core_dumped()), (Some(number), false));
            assert_eq!((&run.stderr[..], bench.names()), ("", vec!["in".into(), "key".into()]));
        }
    }
}

/// Both copies of the slots are written, or none.
#[test]
fn a_signal_while_slots_are_written() {
    let bench = Bench::new();
    bench.write("in", "secret");
    bench.ok("keygen -o eve");
    bench.ok("encrypt --slots -k key in");
    for round in 0..30 {
        let child = bench.spawn("rewrap -q -k key -k eve --to-key key --to-key eve --only in.pld");
        std::thread::sleep(Duration::from_micros(300 * round));
        kill(&child, "-INT");
        finish(child);
        bench.ok("slots in.pld");
    }
}

#[test]
fn a_signal_between_files() {
    let bench = Bench::new();
    bench.write("in", "secret");
    let mut child = bench.spawn("encrypt -k key in -");
    wait_for("the first output", || bench.path("in.pld").exists());
    kill(&child, "-TERM");
    // Else `wait` would end the input.
    let _stdin = child.stdin.take();
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert_eq!(bench.names(), ["in", "in.pld", "key"]);
    assert_eq!(bench.ok("decrypt -k key -o - in.pld"), b"secret");
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_while_a_fifo_has_no_reader() {
    let bench = Bench::new();
    bench.write("in", "secret");
    assert!(bench.sh("mkfifo fifo").status.success());
    let mut child = bench.command("encrypt -k key -o fifo in").spawn().unwrap();
    // It has opened its key and its input, and sleeps. Only those with the right to trace it see
    // what it has opened.
    let [stat, fds] = ["stat", "fd"].map(|name| format!("/proc/{}/{name}", child.id()));
    wait_for("the wait", || {
        let has_opened = fs::read_dir(&fds).map_or(true, |fds| {
            let mut links = fds.flat_map(|fd| fs::read_link(fd.unwrap().path()));
            links.any(|link| link == bench.path("in").canonicalize().unwrap())
        });
        has_opened && fs::read_to_string(&stat).unwrap().contains(") S ")
    });
    kill(&child, "-TERM");
    wait_for("the end", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert_eq!(bench.names(), ["fifo", "in", "key"]);
}

#[test]
fn a_signal_that_was_ignored_stays_so() {
    let bench = Bench::new();
    let hide = "unshare -rm sh -c 'mount -t tmpfs none /proc && exec \"$0\" \"$@\"'";
    let can_hide = bench.sh(&format!("{hide} true")).status.success();
    for without_proc in ["", hide] {
        if !without_proc.is_empty() && !can_hide {
            eprintln!("not tested without /proc: no right to hide it");
            continue;
        }
        let script = format!("trap '' HUP; exec {without_proc} $P encrypt -k key -o out");
        let mut child = bench.shell(&script).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(&text(3 << 20)).unwrap();
        wait_for("the output", || bench.names().len() == 2);
        kill(&child, "-HUP");
        drop(child.stdin.take());
        let run = finish(child);
        assert!(run.status.success(), "{without_proc}: {run:?}");
        assert_eq!(bench.names(), ["key", "out"]);
        fs::remove_file(bench.path("out")).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn no_core_dumps() {
    use std::os::unix::fs::MetadataExt;
    let bench = Bench::new();
    let mut shell = bench.shell_of_user("exec $P encrypt -k key -o out");
    let mut child = shell.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(&text(3 << 20)).unwrap();
    wait_for("the output", || bench.names().iter().any(|name| name.ends_with(".tmp")));
    let limits = fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
    // Linux does not heed that limit if a program takes the dumps. The files here belong to root
    // instead of the process's user exactly if there is no dump at all.
    let owner = fs::metadata(format!("/proc/{}/limits", child.id())).unwrap().uid();
    assert_eq!(owner, 0);
    drop(child.stdin.take());
    assert!(finish(child).status.success());
}

#[test]
fn full_disk() {
    let bench = Bench::with_all_kinds();
    for args in ["encrypt -k key in", "decrypt -k key in.pld", "cat -k key in.pld"] {
        let message = "cannot write \"/dev/full\": No space left";
        bench.fails(&format!("{args} -o /dev/full"), 1, message);
    }
    for args in WRITERS {
        let run = bench.run_to(full(), args);
        assert_eq!(run.status.code(), Some(1), "{args}: {run:?}");
        assert!(run.stderr.contains("cannot write standard output: No space left"), "{run:?}");
        assert_eq!(run.stderr.matches("error: ").count(), 1, "{args}: {run:?}");
    }
}

#[test]
fn an_output_that_fails_while_the_input_stalls() {
    let bench = Bench::new();
    let mut command = bench.command("encrypt -k key");
    let mut child = command.stdin(Stdio::piped()).stdout(full()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let _ = stdin.write_all(&text(3 << 20));
    wait_for("the end", || child.try_wait().unwrap().is_some());
    assert!(finish(child).stderr.contains("No space left"));
}

#[test]
fn a_warning_that_nobody_can_read() {
    let bench = Bench::new();
    bench.write("other", "");
    bench.chmod("other", 0o644);
    assert!(bench.sh("$P keygen -o - > other 2> /dev/full").status.success());
    assert_eq!(bench.read("other").len(), 99);
}

#[test]
fn closed_pipe() {
    let bench = Bench::with_all_kinds();
    for args in ["encrypt -k key -o - in", "decrypt -k key -o - in.pld", "raf cat -k key f.raf"] {
        let mut child = bench.command(args).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 10]).unwrap();
        drop(stdout);
        let run = finish(child);
        assert_eq!((run.status.signal(), &run.stderr[..]), (Some(13), "")); // SIGPIPE
    }
}

#[test]
fn an_input_or_a_secret_and_the_output_the_same() {
    let bench = Bench::new();
    bench.write("in", "secret");
    let key = bench.read("key");
    bench.ok("encrypt -k key in");
    for name in ["in", "key"] {
        symlink(name, bench.path(&format!("{name}.link"))).unwrap();
        fs::hard_link(bench.path(name), bench.path(&format!("{name}.hard"))).unwrap();
        for out in [name, &format!("./{name}"), &format!("{name}.link"), &format!("{name}.hard")] {
            let is_both = |args: &str, what| {
                let message = format!("both {what} and output");
                bench.fails(&format!("{args} --force -o {out}"), 2, &message);
            };
            if name == "in" {
                is_both("encrypt -k key in", "input");
            } else {
                is_both("encrypt -k key in", "key");
                is_both("decrypt -k key in.pld", "key");
                is_both("encrypt --passphrase-file key in", "passphrase");
            }
        }
        let stdout = File::options().append(true).open(bench.path(name)).unwrap();
        assert_eq!(bench.run_to(stdout, "encrypt -k key -o - in").status.code(), Some(2));
    }
    assert_eq!((bench.read("in"), bench.read("key")), (b"secret".to_vec(), key));
}

#[test]
fn permissions_and_links() {
    let bench = Bench::new();
    let mode = |name: &str| fs::metadata(bench.path(name)).unwrap().permissions().mode() & 0o777;
    let sh = |umask: &str, args: &str| {
        assert!(bench.sh(&format!("umask {umask}; $P {args}")).status.success());
    };
    bench.write("in", "secret");
    sh("022", "encrypt -k key -o a in");
    sh("077", "decrypt -k key -o b a");
    sh("000", "keygen -o c");
    assert_eq!((mode("a"), mode("b"), mode("c")), (0o644, 0o600, 0o600));

    // Permissions and dates go along, as far as the umask allows.
    let date = |name: &str| fs::metadata(bench.path(name)).unwrap().modified().unwrap();
    let long_ago = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for (allowed, wanted) in [(0o600, 0o600), (0o4775, 0o755), (0o400, 0o400)] {
        bench.write("priv", "secret");
        File::open(bench.path("priv")).unwrap().set_modified(long_ago).unwrap();
        bench.chmod("priv", allowed);
        sh("022", "encrypt -k key --rm priv");
        assert_eq!((mode("priv.pld"), date("priv.pld")), (wanted, long_ago));
        sh("022", "cat -k key -o part priv.pld");
        sh("022", "decrypt -k key --rm priv.pld");
        assert_eq!((mode("part"), mode("priv"), date("priv")), (wanted, wanted, long_ago));
        sh("022", "raf import -k key priv f.raf");
        sh("022", "raf export -k key f.raf whole");
        assert_eq!((mode("f.raf"), mode("whole")), (wanted, wanted));
        for name in ["part", "priv", "f.raf", "whole"] {
            fs::remove_file(bench.path(name)).unwrap();
        }
    }

    // A temporary file is private.
    bench.write("old", "old");
    bench.chmod("old", 0o4644);
    let input = text(3 << 20);
    let mut child = stuck(&bench, "encrypt -k key -f -o old", &input);
    let temporary = bench.names().into_iter().find(|name| name.ends_with(".tmp")).unwrap();
    assert_eq!(mode(&temporary), 0o600);
    drop(child.stdin.take());
    assert!(finish(child).status.success());
    let all = fs::metadata(bench.path("old")).unwrap().permissions().mode();
    assert_eq!(all & 0o7777, 0o644);

    // What is replaced keeps its permissions, and a link stays a link. A key is private all the
    // same.
    bench.chmod("b", 0o640);
    symlink("b", bench.path("link")).unwrap();
    sh("022", "decrypt -k key --force -o link a");
    assert!(fs::symlink_metadata(bench.path("link")).unwrap().is_symlink());
    assert_eq!((mode("b"), &bench.read("b")[..]), (0o640, &b"secret"[..]));
    bench.chmod("c", 0o644);
    sh("022", "keygen --force -o c");
    assert_eq!(mode("c"), 0o600);
}

#[cfg(target_os = "linux")]
#[test]
fn little_memory() {
    let bench = Bench::new();
    bench.write("in", text(17 << 20)); // a single chunk would need less
    let sealed = bench.ok("encrypt --chunk-size 16M -k key -o - in");
    bench.write("sealed", sealed);
    for args in ["encrypt --chunk-size 16M -k key -f -o out in", "decrypt -k key -f -o out sealed"]
    {
        let mut refused = 0;
        // Somewhere above what the program itself takes there is no room for a chunk.
        for megabytes in (8..400).step_by(4) {
            bench.write("out", "old");
            let run = bench.sh(&format!("ulimit -v {megabytes}000; exec $P {args} -t 1"));
            let done = run.status.success();
            assert_eq!(done, bench.read("out") != b"old", "{run:?}");
            if run.stderr.contains("out of memory") {
                assert_eq!(run.status.code(), Some(1), "{run:?}");
                assert!(run.stderr.starts_with("error: cannot read \""), "{run:?}");
                assert_eq!(bench.names(), ["in", "key", "out", "sealed"]);
                refused += 1;
            } else if done {
                break;
            }
            // Below that, the program may be aborted and leave this, as its help says.
            for name in bench.names().iter().filter(|name| name.ends_with(".tmp")) {
                assert!(run.stderr.contains("memory allocation of"), "{run:?}");
                fs::remove_file(bench.path(name)).unwrap();
            }
        }
        assert!(refused > 0, "{args}");
    }
}
