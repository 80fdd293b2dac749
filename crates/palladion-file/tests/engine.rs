//! The encoder and the decoder, once for all that are built on them: pieces of any length, damage,
//! what has to wait, memory; and a new front end.

use std::io::{self, ErrorKind, Read, Write};
use std::task::Poll;

use palladion_file::sans_io::{Decoder, Encoder};
use palladion_file::{Algorithm, ChunkSize, DecryptReader, Error, KdfLimits, Secret, Spare};

use crate::common::*;
use crate::random::{Random, with_new_seeds};

fn encoder(size: ChunkSize) -> Encoder {
    Encoder::new(&key(), Algorithm::Aegis128X2, size, cheap()).unwrap()
}

pub fn encode(random: &mut Random, mut encoder: Encoder, text: &[u8]) -> Vec<u8> {
    let (mut file, mut rest) = (Vec::new(), text);
    while !encoder.is_complete() {
        // What is not taken is pushed again, after something was taken.
        let piece = &rest[..random.below(rest.len() + 1).min(3000)];
        match random.below(3) {
            0 if rest.is_empty() => encoder.end().unwrap(),
            0 if !piece.is_empty() => {
                let room = encoder.room().unwrap();
                let len = piece.len().min(room.len());
                room[..len].copy_from_slice(&piece[..len]);
                encoder.filled(len);
                rest = &rest[len..];
            }
            _ => rest = &rest[encoder.push(piece).unwrap()..],
        }
        if random.below(2) == 0 {
            let (at, len) = (file.len(), encoder.ready_len());
            file.resize(at + len, 0);
            encoder.take_into(&mut file[at..]).unwrap();
        } else {
            let ready = encoder.ready().unwrap();
            let len = random.below(ready.len() + 1);
            file.extend_from_slice(&ready[..len]);
            encoder.consume(len);
        }
    }
    assert!(encoder.push(b"x").is_err() && encoder.ready().unwrap().is_empty());
    file
}

pub fn decode<'a>(
    random: &mut Random,
    secret: impl Into<Secret<'a>>,
    file: &[u8],
) -> (Vec<u8>, Result<Option<Spare>, Error>) {
    let mut decoder = Decoder::new(secret, KdfLimits::default()).unwrap();
    let (mut out, mut rest) = (Vec::new(), file);
    while !decoder.is_complete() {
        match random.below(3) {
            0 if rest.is_empty() => decoder.filled(0),
            0 => {
                let room = decoder.room();
                let len = room.len().min(rest.len());
                let len = if len == 0 { 0 } else { 1 + random.below(len) };
                room[..len].copy_from_slice(&rest[..len]);
                decoder.filled(len);
                rest = &rest[len..];
            }
            _ => rest = &rest[decoder.push(&rest[..random.below(rest.len() + 1)])..],
        }
        let taken = if random.below(2) == 0 {
            decoder.take_text().map(|taken| {
                let (buffer, text) = taken.unwrap_or((palladion_buffer(), 0..0));
                out.extend_from_slice(&buffer[text]);
            })
        } else {
            decoder.text().map(<[u8]>::to_vec).map(|text| {
                let len = random.below(text.len() + 1);
                out.extend_from_slice(&text[..len]);
                decoder.consume(len);
            })
        };
        if let Err(error) = taken {
            assert!(decoder.text().is_err() && decoder.push(b"x") == 0, "an error must stay");
            assert!(!decoder.is_complete());
            return (out, Err(error));
        }
    }
    assert!(decoder.text().unwrap().is_empty() && decoder.room().is_empty());
    (out, Ok(decoder.spare()))
}

fn palladion_buffer() -> palladion::Buffer {
    palladion::Buffer::new(0, 0).unwrap()
}

#[test]
fn any_pieces() {
    with_new_seeds(20, |random| {
        for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, random.below(5 * CHUNK)] {
            let text = text(len);
            let file = encode(random, encoder(ChunkSize::MIN), &text);
            let (out, result) = decrypt(&file);
            assert!(result.is_ok() && out == text, "{len}: {result:?}");
            let (out, result) = decode(random, &key(), &file);
            assert!(result.is_ok() && out == text, "{len}: {result:?}");
        }
    });
}

/// Cut, changed or extended anywhere: the same as from a `Decryptor`. Nothing comes out after it,
/// even if later chunks are intact.
#[test]
fn damage() {
    let file = encrypt(&text(2 * CHUNK + 100));
    with_new_seeds(1, |random| {
        let mut damaged: Vec<_> = (0..file.len()).map(|len| file[..len].to_vec()).collect();
        damaged.extend((0..file.len()).map(|at| {
            let mut file = file.clone();
            file[at] ^= 1 << random.below(8);
            file
        }));
        damaged.push([&file[..], b"x"].concat());
        damaged.push([&file[..], &file].concat());
        for file in damaged {
            let (expected, error) = decrypt(&file);
            let (out, result) = decode(random, &key(), &file);
            let errors =
                [error, result.map(drop)].map(|result| format!("{:?}", result.unwrap_err()));
            assert_eq!((out, &errors[0]), (expected, &errors[1]));
        }
    });
}

/// Plaintext that was refused must come again: without it, the file has no end.
#[test]
fn refused_plaintext_is_owed() {
    for (header_first, chunk_taken) in [(true, false), (true, true), (false, false)] {
        let mut encoder = encoder(ChunkSize::MIN);
        if header_first {
            encoder.consume(encoder.ready_len());
        }
        assert_eq!(encoder.push(&text(CHUNK)).unwrap(), CHUNK);
        assert_eq!(encoder.push(b"x").unwrap(), 0);
        if chunk_taken {
            encoder.ready().unwrap();
            encoder.consume(usize::MAX);
        }
        assert!(encoder.end().is_err() && encoder.push(b"x").is_err() && !encoder.is_complete());
    }
}

/// The next byte would block every other time, or cannot be read.
struct EveryOther<'a>(&'a [u8], bool, ErrorKind);

impl Read for EveryOther<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        // The header, which is read by `new`, comes at once.
        if self.1 && self.0.len() < 3 * CHUNK {
            return Err(self.2.into());
        }
        let len = buffer.len().min(100);
        self.0.read(&mut buffer[..len])
    }
}

#[cfg(feature = "tokio")]
impl tokio::io::AsyncRead for EveryOther<'_> {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let len = self.read(buffer.initialize_unfilled())?;
        buffer.advance(len);
        Poll::Ready(Ok(()))
    }
}

/// A reader whose input fails loses nothing: the next read goes on.
#[test]
fn reads_that_fail_are_repeated() {
    let text = text(3 * CHUNK);
    let file = encrypt(&text);
    for kind in [ErrorKind::WouldBlock, ErrorKind::TimedOut] {
        let input = || EveryOther(&file, false, kind);
        let mut reader = DecryptReader::new(&key(), input()).unwrap();
        let mut read = |part: &mut [u8]| reader.read(part);
        read_all(&mut read, &text, kind);
        #[cfg(feature = "tokio")]
        {
            use tokio::io::AsyncReadExt;
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let key = key();
            let reader = palladion_file::tokio::DecryptReader::new(&key, input());
            let mut reader = on(&runtime, reader).unwrap();
            read_all(&mut |part| on(&runtime, reader.read(part)), &text, kind);
        }
    }
}

fn read_all(read: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>, text: &[u8], kind: ErrorKind) {
    let (mut out, mut waits, mut part) = (Vec::new(), 0, [0; 500]);
    loop {
        match read(&mut part) {
            Ok(0) => break,
            Ok(len) => out.extend_from_slice(&part[..len]),
            Err(error) => {
                assert_eq!(error.kind(), kind);
                waits += 1;
            }
        }
    }
    assert!(out == text && waits > 10);
}

/// A short file takes little memory, with chunks of any size.
#[test]
fn short_files_take_little_memory() {
    let mut encoder = encoder(ChunkSize::MAX);
    let mut file = encoder.ready().unwrap().to_vec();
    encoder.consume(file.len());
    let room = encoder.room().unwrap();
    assert!((100..100_000).contains(&room.len()), "{}", room.len());
    room[..100].copy_from_slice(&text(100));
    encoder.filled(100);
    encoder.end().unwrap();
    file.extend_from_slice(encoder.ready().unwrap());

    let mut decoder = Decoder::new(&key(), KdfLimits::default()).unwrap();
    let mut rest = &file[..];
    while decoder.text().unwrap().is_empty() {
        rest = &rest[decoder.push(rest)..];
    }
    let (buffer, place) = decoder.take_text().unwrap().unwrap();
    assert!(buffer.len() < 200 && buffer[place] == text(100));
}

/// A front end of its own: a `Sink`, as asynchronous programs have it.
struct Sink<W> {
    encoder: Encoder,
    output: W,
    item: Vec<u8>,
}

impl<W: FnMut(&[u8]) -> Poll<io::Result<usize>>> Sink<W> {
    /// Returns `Ready` once the last item was taken.
    fn poll_ready(&mut self) -> Poll<io::Result<()>> {
        loop {
            let taken = self.encoder.push(&self.item)?;
            self.item.drain(..taken);
            if self.encoder.ready_len() == 0 && self.item.is_empty() {
                return Poll::Ready(Ok(()));
            }
            std::task::ready!(self.encoder.poll_write(&mut self.output))?;
        }
    }

    fn start_send(&mut self, item: Vec<u8>) {
        self.item = item;
    }

    fn poll_close(&mut self) -> Poll<io::Result<()>> {
        std::task::ready!(self.poll_ready())?;
        self.encoder.end()?;
        while !self.encoder.is_complete() {
            std::task::ready!(self.encoder.poll_write(&mut self.output))?;
        }
        Poll::Ready(Ok(()))
    }
}

#[test]
fn another_front_end() {
    let (text, mut file, mut calls) = (text(5 * CHUNK), Vec::new(), 0);
    let mut sink = Sink {
        encoder: encoder(ChunkSize::MIN),
        output: |bytes: &[u8]| {
            calls += 1;
            match calls % 3 {
                0 => Poll::Pending,
                1 => Poll::Ready(Err(ErrorKind::WouldBlock.into())),
                _ => Poll::Ready(file.write(&bytes[..bytes.len().min(300)])),
            }
        },
        item: Vec::new(),
    };
    let wait = |poll: &mut dyn FnMut() -> Poll<io::Result<()>>| loop {
        match poll() {
            Poll::Ready(Ok(())) => return,
            Poll::Ready(Err(error)) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            Poll::Pending => {}
        }
    };
    for item in text.chunks(700) {
        wait(&mut || sink.poll_ready());
        sink.start_send(item.to_vec());
    }
    wait(&mut || sink.poll_close());
    assert!(decrypt(&file).1.is_ok() && decrypt(&file).0 == text);
}
