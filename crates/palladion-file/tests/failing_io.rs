//! Readers and writers that fail, stall or panic at any call: never a hang, never a wrong verdict.

use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use crate::common::*;
use palladion_file::{Algorithm, ChunkSize, Decryptor, EncryptWriter, Encryptor, Error};

const LEN: usize = 10 * CHUNK + 7;

/// Does what is asked at the n-th call.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Error,
    Panic,
    Interrupted,
}

struct Faulty<T> {
    inner: T,
    calls_left: usize,
    fault: Fault,
}

impl<T> Faulty<T> {
    fn tick(&mut self) -> io::Result<()> {
        self.calls_left = self.calls_left.wrapping_sub(1);
        match (self.calls_left, self.fault) {
            (usize::MAX, Fault::Error) => Err(io::Error::other("injected")),
            (usize::MAX, Fault::Panic) => panic!("injected"),
            (usize::MAX, Fault::Interrupted) => Err(io::ErrorKind::Interrupted.into()),
            _ => Ok(()),
        }
    }
}

impl<R: Read> Read for Faulty<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.tick()?;
        let len = buffer.len().min(700);
        self.inner.read(&mut buffer[..len])
    }
}

impl<W: Write> Write for Faulty<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.tick()?;
        self.inner.write(&bytes[..bytes.len().min(700)])
    }
    fn flush(&mut self) -> io::Result<()> {
        self.tick()?;
        self.inner.flush()
    }
}

/// Fails the test instead of waiting forever.
fn in_time<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(job()));
    receiver.recv_timeout(Duration::from_secs(60)).expect("hangs")
}

/// Encrypts and decrypts with a fault at every call of the reader, then of the writer.
fn at_every_call(fault: Fault, check: impl Fn(bool, bool, Option<Result<Vec<u8>, Error>>)) {
    let text = text(LEN);
    let file = encrypt(&text);
    for n in [1, 2, 4] {
        for reader_fails in [true, false] {
            for call in 0.. {
                let run = |encrypting: bool, input: Vec<u8>| {
                    in_time(move || {
                        let mut out = Vec::new();
                        let calls = |here: bool| if here { call } else { usize::MAX - 1 };
                        let input =
                            Faulty { inner: &input[..], calls_left: calls(reader_fails), fault };
                        let output =
                            Faulty { inner: &mut out, calls_left: calls(!reader_fails), fault };
                        let key = key();
                        let result = catch_unwind(AssertUnwindSafe(|| match encrypting {
                            true => {
                                let encryptor = Encryptor::new(&key).chunk_size(ChunkSize::MIN);
                                encryptor.threads(threads(n)).run(input, output)
                            }
                            false => Decryptor::new(&key).threads(threads(n)).run(input, output),
                        }));
                        (result.ok().map(|result| result.map(|_| ())), out)
                    })
                };
                let mut ended = true;
                for encrypting in [true, false] {
                    let (result, out) =
                        run(encrypting, if encrypting { text.clone() } else { file.clone() });
                    if !encrypting {
                        assert_eq!(out, text[..out.len()]);
                    }
                    ended &= matches!(result, Some(Ok(())));
                    check(encrypting, reader_fails, result.map(|result| result.map(|()| out)));
                }
                if (ended && fault != Fault::Interrupted) || call > 60 {
                    break;
                }
            }
        }
    }
}

#[test]
fn errors_at_every_call() {
    at_every_call(Fault::Error, |_, reader_fails, result| match result.unwrap() {
        Ok(_) => {}
        Err(Error::Read(error)) => assert!(reader_fails && error.to_string() == "injected"),
        Err(Error::Write(error)) => assert!(!reader_fails && error.to_string() == "injected"),
        Err(other) => panic!("{other:?}"),
    });
}

#[test]
fn interruptions_at_every_call() {
    at_every_call(Fault::Interrupted, |_, reader_fails, result| match result.unwrap() {
        Ok(_) => {}
        // `flush` is the one call that nobody repeats.
        Err(Error::Write(error)) if !reader_fails => {
            assert_eq!(error.kind(), io::ErrorKind::Interrupted)
        }
        Err(other) => panic!("{other:?}"),
    });
}

#[test]
fn panics_at_every_call() {
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = catch_unwind(|| {
        at_every_call(Fault::Panic, |_, _, result| assert!(!matches!(result, Some(Err(_)))))
    });
    std::panic::set_hook(quiet);
    result.unwrap();
}

#[test]
fn a_failed_write_is_repeated_or_the_file_has_no_end() {
    /// Would block at its second call: the first writes the header.
    struct Blocking(Vec<u8>, usize);
    impl Write for Blocking {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1 += 1;
            if self.1 == 2 { Err(io::ErrorKind::WouldBlock.into()) } else { self.0.write(bytes) }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for repeat in [true, false] {
        let output = Blocking(Vec::new(), 0);
        let mut writer =
            EncryptWriter::with(&key(), Algorithm::default(), ChunkSize::MIN, cheap(), output)
                .unwrap();
        writer.write_all(&text(CHUNK)).unwrap();
        assert_eq!(writer.write(b"x").unwrap_err().kind(), io::ErrorKind::WouldBlock);
        if repeat {
            assert_eq!(writer.write(b"x").unwrap(), 1);
            assert_eq!(decrypt(&writer.finish().unwrap().0).0.len(), CHUNK + 1);
        } else {
            assert!(matches!(writer.finish(), Err(Error::Write(_))));
        }
    }
}

/// A caller that ignores an error and carries on must not get a file that looks complete but lacks
/// what was not written.
#[test]
fn after_a_failed_write_the_file_has_no_end() {
    let text = text(LEN);
    for fault in [Fault::Error, Fault::Panic] {
        for flushes in [false, true] {
            for calls_left in 1.. {
                let mut file = Vec::new();
                let output = Faulty { inner: &mut file, calls_left, fault };
                let (algorithm, size) = (Algorithm::default(), ChunkSize::MIN);
                // The header takes the first call.
                let mut writer =
                    EncryptWriter::with(&key(), algorithm, size, cheap(), output).unwrap();
                let mut failures = 0;
                for piece in text.chunks(100) {
                    let write = catch_unwind(AssertUnwindSafe(|| writer.write_all(piece)));
                    failures += usize::from(!matches!(write, Ok(Ok(()))));
                    if flushes {
                        let flush = catch_unwind(AssertUnwindSafe(|| writer.flush()));
                        failures += usize::from(!matches!(flush, Ok(Ok(()))));
                    }
                    assert!(failures == 0 || writer.write(b"x").is_err());
                    assert!(failures == 0 || writer.flush().is_err());
                }
                let finished = catch_unwind(AssertUnwindSafe(|| writer.finish().map(drop)));
                let finished = matches!(finished, Ok(Ok(())));
                assert!(!finished || failures == 0);
                let (out, result) = decrypt(&file);
                assert!(result.is_err() || out == text, "call {calls_left}: {failures} failures");
                if finished {
                    break;
                }
            }
        }
    }
}

#[test]
fn interrupted_writes_are_repeated() {
    struct EveryOther(Vec<u8>, bool);
    impl Write for EveryOther {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 { Err(io::ErrorKind::Interrupted.into()) } else { self.0.write(bytes) }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let output = EveryOther(Vec::new(), false);
    let (algorithm, size) = (Algorithm::default(), ChunkSize::MIN);
    let mut writer = EncryptWriter::with(&key(), algorithm, size, cheap(), output).unwrap();
    writer.write_all(&text(LEN)).unwrap();
    let (out, result) = decrypt(&writer.finish().unwrap().0);
    assert!(result.is_ok() && out == text(LEN), "{result:?}");
}

#[test]
fn a_writer_that_takes_nothing() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Ok(0)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let result = Encryptor::new(&key()).run(&text(LEN)[..], Full);
    assert!(matches!(result, Err(Error::Write(error)) if error.kind() == io::ErrorKind::WriteZero));
}

#[test]
fn cancelled() {
    for n in [1, 3] {
        let flag = AtomicBool::new(false);
        let text = text(LEN);
        let mut file = Vec::new();
        let result = Encryptor::new(&key())
            .chunk_size(ChunkSize::MIN)
            .threads(threads(n))
            .cancel(&flag)
            .on_progress(|done| flag.store(done >= 3 * CHUNK as u64, Ordering::Relaxed))
            .run(&text[..], &mut file);
        assert!(matches!(result, Err(Error::Cancelled)));
        assert!(file.len() < text.len());
        // What was written is a file that lacks its end.
        assert!(matches!(decrypt(&file).1, Err(Error::Truncated { .. })));
        assert!(matches!(
            Decryptor::new(&key()).cancel(&flag).run(&file[..], Vec::new()),
            Err(Error::Cancelled)
        ));
    }
}

/// What was written before an error is never a whole file: once all of it is there, there is
/// nothing to cancel.
#[test]
fn cancelled_at_the_end() {
    for n in [1, 3] {
        for len in [0, 1, CHUNK, 4 * CHUNK, LEN] {
            let flag = AtomicBool::new(false);
            let text = text(len);
            let mut file = Vec::new();
            let result = Encryptor::new(&key())
                .chunk_size(ChunkSize::MIN)
                .threads(threads(n))
                .cancel(&flag)
                .on_progress(|done| flag.store(done == len as u64, Ordering::Relaxed))
                .run(&text[..], &mut file);
            assert!(result.is_ok(), "{n} threads, {len} bytes: {result:?}");
            let (out, result) = decrypt(&file);
            assert!(result.is_ok() && out == text);
        }
    }
}

#[test]
fn chunks_before_an_error_are_released_whatever_the_number_of_threads() {
    let text = text(LEN);
    let mut file = encrypt(&text);
    file[HEADER + 7 * (CHUNK + OVERHEAD) + 50] ^= 1;
    for n in 1..6 {
        for _ in 0..50 {
            let (out, result) = decrypt_with(&key(), n, &file);
            assert!(matches!(result, Err(Error::Damaged { chunk: 7, .. })));
            assert_eq!(out.len(), 7 * CHUNK);
        }
    }
}
