//! Streams that another program has made non-blocking.

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::AsFd;
use std::process::Stdio;
use std::thread::{self, sleep};
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::common::*;

const MIB: usize = 1 << 20;

/// A pipe whose ends both are non-blocking for those who inherit them.
fn non_blocking_pipe() -> (PipeReader, PipeWriter) {
    let (reader, writer) = pipe().unwrap();
    for end in [reader.as_fd(), writer.as_fd()] {
        fcntl_setfl(end, fcntl_getfl(end).unwrap() | OFlags::NONBLOCK).unwrap();
    }
    (reader, writer)
}

/// Writes to the other end of the program's input, with a pause before each piece.
fn feed(mut writer: PipeWriter, bytes: &[u8]) {
    for piece in bytes.chunks(bytes.len() / 3 + 1) {
        sleep(Duration::from_millis(20));
        let mut rest = piece;
        while !rest.is_empty() {
            match writer.write(rest) {
                Ok(len) => rest = &rest[len..],
                Err(error) => {
                    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
                    sleep(Duration::from_millis(1));
                }
            }
        }
    }
}

/// Reads the program's output after a pause, so that it has to wait.
fn drain(mut reader: PipeReader) -> Vec<u8> {
    sleep(Duration::from_millis(50));
    let mut bytes = Vec::new();
    loop {
        match reader.read_to_end(&mut bytes) {
            Ok(_) => return bytes,
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
                sleep(Duration::from_millis(1));
            }
        }
    }
}

/// Runs the program with non-blocking streams, and returns what it wrote.
fn run(bench: &Bench, args: &str, input: &[u8]) -> Vec<u8> {
    let ((stdin, feeder), (drainer, stdout)) = (non_blocking_pipe(), non_blocking_pipe());
    thread::scope(|scope| {
        let mut command = bench.command(args);
        let child = command.stdin(stdin).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
        drop(command); // and with it this process's ends of the pipes
        scope.spawn(move || feed(feeder, input));
        let output = scope.spawn(move || drain(drainer));
        let run = finish(child);
        assert!(run.status.success() && run.stderr.is_empty(), "{args:?}: {run:?}");
        output.join().unwrap()
    })
}

#[test]
fn every_command_waits() {
    let bench = Bench::new();
    let text = text(5 * MIB + 7);
    let sealed = run(&bench, "encrypt -k key", &text);
    assert!(run(&bench, "decrypt -k key", &sealed) == text);
    assert_eq!(run(&bench, "verify -k key", &sealed), b"-: OK\n");
    assert!(run(&bench, "info -", &sealed[..128]).starts_with(b"file:        -\n"));
    bench.write("sealed", &sealed);
    assert!(run(&bench, "cat -k key sealed", b"") == text);
    let line = run(&bench, "mac -k key", &text);
    bench.write("in", &text);
    assert_eq!(line[..64], bench.ok("mac -k key in")[..64]);
    bench.write("small", "x");
    let list = bench.ok("mac -k key small").repeat(20_000);
    let checked = run(&bench, "mac -k key --check", &list);
    assert_eq!(checked, b"small: OK\n".repeat(20_000));
    run(&bench, "raf import -k key - in.raf", &text);
    assert!(run(&bench, "raf cat -k key in.raf", b"") == text);
    assert!(run(&bench, "raf export -k key in.raf -", b"") == text);
    run(&bench, "raf write -k key --append in.raf", b"more");
    assert!(bench.ok("raf cat -k key in.raf").ends_with(b"more"));
    // Secrets from pipes.
    let key = bench.read("key");
    let sealed = run(&bench, "encrypt -k - -o - in", &key);
    bench.write("sealed", sealed);
    bench.ok("decrypt -k key -o out sealed");
    let args = "encrypt --passphrase-file - -o - -f in";
    assert!(run(&bench, args, b"open sesame\n").len() > text.len());
    let args = "raf create --raw-key - new.raf";
    run(&bench, args, &[0xa5; 32]);
    // More than a pipe holds.
    let page = run(&bench, "completions bash", b"");
    assert_eq!(page, bench.ok("completions bash"));
    assert_eq!(run(&bench, "man", b""), bench.ok("man"));
    assert_eq!(run(&bench, "--help", b""), bench.ok("--help"));
}
