//! The asynchronous readers and writers do what the others do, however often they have to wait.

use std::io::{self, Cursor, SeekFrom};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use ::tokio::io::{
    AsyncBufRead, AsyncRead, AsyncReadExt, AsyncSeek, AsyncSeekExt, AsyncWrite, AsyncWriteExt,
    ReadBuf,
};
use ::tokio::runtime::Builder;
use palladion_file::sans_io::Encoder;
use palladion_file::slots::NewSlot;
use palladion_file::tokio::{AsyncReadAt, DecryptReader, EncryptWriter, RangeReader, SeekReader};
use palladion_file::{
    Algorithm, ChunkSize, Encryptor, Error, KdfLimits, Keyring, Passphrase, ReadAt, Spare,
};

use crate::common::*;
use crate::random::{Random, with_new_seeds};

/// Runs a test, with threads to spare and without a runtime.
fn on_tokio<T>(test: impl Future<Output = T>) -> T {
    on(&Builder::new_multi_thread().worker_threads(1).build().unwrap(), test)
}

/// Bytes that are read and written in small pieces, and not at once.
struct Slow {
    bytes: Cursor<Vec<u8>>,
    random: Random,
    /// A read or seek has begun. Like tokio's `File`, it must end before the next seek.
    is_busy: bool,
    is_flushed: bool,
    is_shut_down: bool,
}

impl Slow {
    fn new(bytes: Vec<u8>) -> Self {
        Self {
            bytes: Cursor::new(bytes),
            random: Random(1),
            is_busy: false,
            is_flushed: false,
            is_shut_down: false,
        }
    }

    /// How much to do of something; `None` if it has to wait.
    fn part(&mut self, cx: &mut Context<'_>, len: usize) -> Option<usize> {
        if self.random.below(3) == 0 {
            cx.waker().wake_by_ref();
            return None;
        }
        Some(len.min(1 + self.random.below(3000)))
    }
}

impl AsyncRead for Slow {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let len = self.part(cx, buffer.remaining());
        self.is_busy = len.is_none();
        let Some(len) = len else { return Poll::Pending };
        let read = io::Read::read(&mut self.bytes, buffer.initialize_unfilled_to(len))?;
        buffer.advance(read);
        Poll::Ready(Ok(()))
    }
}

impl AsyncSeek for Slow {
    fn start_seek(mut self: Pin<&mut Self>, to: SeekFrom) -> io::Result<()> {
        if self.is_busy {
            return Err(io::Error::other("another operation is pending"));
        }
        self.is_busy = true;
        io::Seek::seek(&mut self.bytes, to).map(drop)
    }
    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        self.is_busy = self.is_busy && self.part(cx, 0).is_none();
        if self.is_busy { Poll::Pending } else { Poll::Ready(Ok(self.bytes.position())) }
    }
}

impl AsyncWrite for Slow {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Some(len) = self.part(cx, bytes.len()) else { return Poll::Pending };
        self.is_flushed = false;
        Poll::Ready(io::Write::write(&mut self.bytes, &bytes[..len]))
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.part(cx, 0).is_none() {
            return Poll::Pending;
        }
        self.is_flushed = true;
        Poll::Ready(Ok(()))
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.part(cx, 0).is_none() {
            return Poll::Pending;
        }
        self.is_shut_down = true;
        Poll::Ready(Ok(()))
    }
}

/// Some are worked on by the thread that polls, others by another.
fn sizes() -> [ChunkSize; 2] {
    [ChunkSize::MIN, ChunkSize::new(128 << 10).unwrap()]
}

async fn writer(size: ChunkSize) -> EncryptWriter<Slow> {
    let (algorithm, kdf) = (Algorithm::Aegis128X4, cheap());
    EncryptWriter::with(&key(), algorithm, size, kdf, Slow::new(Vec::new())).await.unwrap()
}

async fn decrypt_slowly(file: &[u8]) -> (Vec<u8>, Result<(), Error>) {
    let mut out = Vec::new();
    let result = match DecryptReader::new(&key(), Slow::new(file.to_vec())).await {
        Err(error) => Err(error),
        Ok(mut reader) => {
            assert_eq!(reader.algorithm().id(), file[9]);
            match reader.read_to_end(&mut out).await {
                Ok(_) => Ok(()),
                Err(error) => {
                    assert!(reader.read(&mut [0]).await.is_err(), "an error must stay");
                    Err(error.downcast().unwrap())
                }
            }
        }
    };
    (out, result)
}

/// What is written in any pieces, with flushes and cancelled writes between, is one file.
#[test]
fn written_and_read() {
    for size in sizes() {
        let chunk = size.bytes();
        with_new_seeds(3, |random| {
            for len in [0, 1, chunk - 1, chunk, chunk + 1, 3 * chunk, random.below(5 * chunk)] {
                let text = text(len);
                let file = on_tokio(async {
                    let (mut writer, mut rest) = (writer(size).await, &text[..]);
                    while !rest.is_empty() {
                        match random.below(4) {
                            0 => writer.flush().await.unwrap(),
                            1 => {
                                // A write that is not ready at once took nothing.
                                let written = ::tokio::select! {
                                    biased;
                                    written = writer.write(rest) => written.unwrap(),
                                    () = std::future::ready(()) => 0,
                                };
                                rest = &rest[written..];
                            }
                            _ => {
                                let (now, later) = rest.split_at(random.below(rest.len() + 1));
                                writer.write_all(now).await.unwrap();
                                rest = later;
                            }
                        }
                    }
                    writer.shutdown().await.unwrap();
                    writer.shutdown().await.unwrap();
                    writer.flush().await.unwrap();
                    assert!(writer.write(b"more").await.is_err());
                    assert!(writer.get_ref().is_shut_down);
                    writer.into_inner().bytes.into_inner()
                });
                assert!(decrypt(&file).0 == text);
                assert!(decrypt(&file).1.is_ok(), "{len}");
                let (out, result) = on_tokio(decrypt_slowly(&file));
                assert!(out == text && result.is_ok());
            }
        });
    }
}

/// Chunks of 64 KiB are opened by the thread that polls.
#[test]
fn short_chunks_are_opened_at_once() {
    let size = ChunkSize::new(64 << 10).unwrap();
    let mut file = Vec::new();
    Encryptor::new(&key()).chunk_size(size).run(&text(200_000)[..], &mut file).unwrap();
    let runtime = Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let mut seeking = SeekReader::new(&key(), Cursor::new(&file)).await.unwrap();
        let mut reading = DecryptReader::new(&key(), &file[..]).await.unwrap();
        // The only other thread is busy until the end.
        let (_end, waits) = std::sync::mpsc::channel::<()>();
        ::tokio::task::spawn_blocking(move || waits.recv());
        let is_ready = std::future::poll_fn(|cx| {
            let seeking = Pin::new(&mut seeking).poll_fill_buf(cx).is_ready();
            Poll::Ready((seeking, Pin::new(&mut reading).poll_fill_buf(cx).is_ready()))
        });
        assert_eq!(is_ready.await, (true, true));
    });
}

/// Without a runtime, everything is done on this thread.
#[test]
fn without_a_runtime() {
    let text = text(300_000);
    let mut context = Context::from_waker(std::task::Waker::noop());
    let mut file = Box::pin(async {
        let mut writer = writer(sizes()[1]).await;
        writer.write_all(&text).await.unwrap();
        writer.shutdown().await.unwrap();
        writer.into_inner().bytes.into_inner()
    });
    let file = loop {
        if let Poll::Ready(file) = file.as_mut().poll(&mut context) {
            break file;
        }
    };
    assert!(decrypt(&file).0 == text);
}

/// A writer that is dropped, at any time, leaves a truncated file.
#[test]
fn unfinished_files_are_truncated() {
    for len in [0, 1, CHUNK, 5 * CHUNK, 5 * CHUNK + 3] {
        let file = on_tokio(async {
            let mut writer = writer(ChunkSize::MIN).await;
            writer.write_all(&text(len)).await.unwrap();
            writer.flush().await.unwrap();
            let below = writer.into_inner();
            assert!(below.is_flushed);
            below.bytes.into_inner()
        });
        let (out, result) = decrypt(&file);
        assert!(matches!(result, Err(Error::Truncated { .. })), "{len}");
        // What was written is there, but for the chunk that might be the last.
        assert!(out == text(len)[..len.saturating_sub(1) / CHUNK * CHUNK]);
    }
}

/// After an error of the writer below, there is no valid end.
#[test]
fn failed_writes_are_final() {
    struct Full(usize);
    impl AsyncWrite for Full {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            if self.0 == 0 {
                self.0 = usize::MAX; // there is room again
                return Poll::Ready(Err(io::ErrorKind::StorageFull.into()));
            }
            let written = bytes.len().min(self.0);
            self.0 -= written;
            Poll::Ready(Ok(written))
        }
        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }
    for room in [0, 5, 128, 1000, 3000] {
        on_tokio(async {
            let (key, size, kdf) = (key(), ChunkSize::MIN, cheap());
            let writer = EncryptWriter::with(&key, Algorithm::Aegis128L, size, kdf, Full(room));
            let mut writer = writer.await.unwrap();
            let written = writer.write_all(&text(5000)).await;
            let ended = writer.shutdown().await;
            let errors = [written, ended].map(|result| result.err().map(|error| error.kind()));
            assert!(errors.contains(&Some(io::ErrorKind::StorageFull)), "{room} {errors:?}");
            assert!(writer.shutdown().await.is_err() && writer.write(b"x").await.is_err());
        });
    }
}

/// The same errors as without tokio, and the same bytes before them.
#[test]
fn damage() {
    let text = text(2 * CHUNK + 100);
    let file = encrypt(&text);
    let mut damaged: Vec<_> = (0..file.len()).step_by(7).map(|cut| file[..cut].to_vec()).collect();
    damaged.extend((0..file.len()).step_by(5).map(|at| {
        let mut file = file.clone();
        file[at] ^= 1;
        file
    }));
    damaged.push([&file[..], b"x"].concat());
    damaged.push([&file[..], &file].concat());
    on_tokio(async {
        for file in damaged {
            let (out, result) = decrypt(&file);
            let (ours, error) = decrypt_slowly(&file).await;
            let expected = format!("{:?}", result.unwrap_err());
            assert_eq!((ours, format!("{:?}", error.unwrap_err())), (out, expected));

            let sync = palladion_file::SeekReader::new(&key(), &file[..]);
            let ours = SeekReader::new(&key(), Slow::new(file.clone())).await;
            let ranges = RangeReader::new(&key(), Object::new(file.clone())).await;
            let (sync, mut ours, ranges) = match (sync, ours, ranges) {
                (Ok(sync), Ok(ours), Ok(ranges)) => (sync, ours, ranges),
                (sync, ours, ranges) => {
                    let (sync, ours) = (sync.unwrap_err(), ours.unwrap_err());
                    assert_eq!(format!("{ours:?}"), format!("{sync:?}"));
                    assert_eq!(format!("{:?}", ranges.unwrap_err()), format!("{sync:?}"));
                    continue;
                }
            };
            for chunk in [2, 0, 1] {
                let mut part = [0; 10];
                let expected = sync.read_at(&mut part, chunk * CHUNK as u64);
                let expected = expected.map(|_| part).map_err(|error| format!("{error:?}"));
                ours.seek(SeekFrom::Start(chunk * CHUNK as u64)).await.unwrap();
                let result = ours.read_exact(&mut part).await.map(|_| part);
                let result =
                    result.map_err(|error| format!("{:?}", error.downcast::<Error>().unwrap()));
                assert_eq!(result, expected);
                let result = ranges.read_at(&mut part, chunk * CHUNK as u64).await.map(|_| part);
                assert_eq!(result.map_err(|error| format!("{error:?}")), expected);
            }
        }
    });
}

/// Answers requests late, and counts their bytes.
struct Object {
    bytes: Mutex<Vec<u8>>,
    requests: Mutex<Vec<(u64, usize)>>,
}

impl Object {
    fn new(bytes: Vec<u8>) -> Self {
        Self { bytes: Mutex::new(bytes), requests: Mutex::default() }
    }

    /// The requests since the last call: where, and how long.
    fn requests(&self) -> Vec<(u64, usize)> {
        std::mem::take(&mut *self.requests.lock().unwrap())
    }
}

impl AsyncReadAt for Object {
    async fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.requests.lock().unwrap().push((offset, buffer.len()));
        ::tokio::task::yield_now().await;
        self.bytes.lock().unwrap().read_at(buffer, offset)
    }
    async fn size(&self) -> io::Result<u64> {
        self.bytes.lock().unwrap().size()
    }
}

#[test]
fn ranges() {
    let text = text(9 * CHUNK + 100);
    let object = Arc::new(Object::new(encrypt(&text)));
    let (at, sealed) = (|chunk| (HEADER + chunk * (CHUNK + OVERHEAD)) as u64, CHUNK + OVERHEAD);
    on_tokio(async {
        let reader = RangeReader::new(&key(), Arc::clone(&object)).await.unwrap();
        assert_eq!((reader.len(), reader.chunk_size()), (text.len() as u64, ChunkSize::MIN));
        assert_eq!(object.requests(), [(0, HEADER + 4), (at(9), 100 + OVERHEAD)]);

        // Several chunks are one request, and a chunk that was read alone is kept.
        let reader = Arc::new(reader);
        let mut part = [0; CHUNK + 2];
        let (theirs, place) = (Arc::clone(&reader), CHUNK as u64 - 1);
        let read = async move { theirs.read_at(&mut part, place).await.map(|len| (len, part)) };
        let (len, part) = ::tokio::spawn(read).await.unwrap().unwrap();
        assert_eq!(part[..len], text[CHUNK - 1..][..CHUNK + 2]);
        assert_eq!(object.requests(), [(at(0), 3 * sealed)]);
        for (chunk, requests) in
            [(1, 1), (2, 1), (3, 1), (1, 0), (9, 0), (4, 1), (2, 1), (1, 0), (9, 0)]
        {
            let mut byte = [0];
            reader.read_at(&mut byte, (chunk * CHUNK + 9) as u64).await.unwrap();
            assert_eq!(byte[0], text[chunk * CHUNK + 9]);
            assert_eq!(object.requests(), vec![(at(chunk), sealed); requests], "{chunk}");
        }

        let mut random = Random(3);
        for _ in 0..2000 {
            let (start, len) = (random.below(text.len() + 50), random.below(4 * CHUNK));
            let mut part = vec![1; len];
            let read = reader.read_at(&mut part, start as u64).await.unwrap();
            let expected = &text[start.min(text.len())..text.len().min(start + len)];
            assert_eq!((&part[..read], read), (expected, expected.len()));
        }

        // What becomes shorter is truncated where it ends.
        let len = at(4) + 7;
        object.bytes.lock().unwrap().truncate(len as usize);
        let mut part = vec![1; 6 * CHUNK];
        let error = reader.read_at(&mut part, 0).await.unwrap_err();
        assert!(matches!(error, Error::Truncated { chunk: Some(4), offset } if offset == len));
        assert!(part.iter().all(|byte| *byte == 0));
    });
}

#[test]
fn like_a_cursor() {
    for size in sizes() {
        with_new_seeds(3, |random| {
            let len = random.below(9 * size.bytes());
            let text = text(len);
            let mut file = Vec::new();
            let (key, algorithm) = (key(), Algorithm::Aegis128X4);
            let encryptor = Encryptor::new(&key).algorithm(algorithm).chunk_size(size);
            encryptor.run(&text[..], &mut file).unwrap();
            on_tokio(async {
                let mut reader = SeekReader::new(&key, Slow::new(file)).await.unwrap();
                assert_eq!(reader.len(), len as u64);
                assert_eq!((reader.algorithm(), reader.chunk_size()), (algorithm, size));
                let mut cursor = Cursor::new(text);
                for _ in 0..200 {
                    let to = match random.below(3) {
                        0 => SeekFrom::Start(random.below(len + 100) as u64),
                        1 => SeekFrom::End(10 - random.below(len + 20) as i64),
                        _ => SeekFrom::Current(random.below(1000) as i64 - 500),
                    };
                    // Given up at some time, before another place is wanted or the same.
                    let mut ours = vec![0; random.below(3000)];
                    ::tokio::select! {
                        biased;
                        read = reader.read(&mut ours) => {
                            let position = cursor.position() + read.unwrap() as u64;
                            cursor.set_position(position);
                        }
                        () = ::tokio::task::yield_now() => {}
                    }
                    if random.below(4) > 0 {
                        let (ours, theirs) = (reader.seek(to).await, cursor.seek(to).await);
                        assert_eq!(ours.ok(), theirs.ok());
                    }
                    let read = reader.read(&mut ours).await.unwrap();
                    let mut theirs = vec![0; read];
                    cursor.read_exact(&mut theirs).await.unwrap();
                    assert!(ours[..read] == theirs);
                    assert!(read > 0 || ours.is_empty() || cursor.position() >= len as u64);
                }
            });
        });
    }
}

/// Counts the bytes that are read, and the seeks.
struct Counted<'a>(Slow, &'a AtomicU64, &'a AtomicU64);

impl AsyncRead for Counted<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.0).poll_read(cx, buffer);
        self.1.fetch_add((buffer.filled().len() - before) as u64, Ordering::Relaxed);
        read
    }
}

impl AsyncSeek for Counted<'_> {
    fn start_seek(mut self: Pin<&mut Self>, to: SeekFrom) -> io::Result<()> {
        self.2.fetch_add(1, Ordering::Relaxed);
        Pin::new(&mut self.0).start_seek(to)
    }
    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Pin::new(&mut self.0).poll_complete(cx)
    }
}

/// Reads that take turns in a few distant chunks read each of them once.
#[test]
fn a_few_chunks_are_kept() {
    let (text, bytes, seeks) = (text(9 * CHUNK), AtomicU64::new(0), AtomicU64::new(0));
    on_tokio(async {
        let input = Counted(Slow::new(encrypt(&text)), &bytes, &seeks);
        let mut reader = SeekReader::new(&key(), input).await.unwrap();
        bytes.store(0, Ordering::Relaxed);
        for (chunk, chunks_read) in
            [(0, 1), (3, 2), (5, 3), (7, 4), (0, 4), (3, 4), (5, 4), (7, 4), (1, 5), (7, 5), (0, 6)]
        {
            reader.seek(SeekFrom::Start((chunk * CHUNK + 9) as u64)).await.unwrap();
            assert_eq!(reader.read_u8().await.unwrap(), text[chunk * CHUNK + 9]);
            let expected = chunks_read * (CHUNK + OVERHEAD) as u64;
            assert_eq!(bytes.load(Ordering::Relaxed), expected, "{chunk}");
        }
    });
}

/// The input is placed only if it is not there already.
#[test]
fn chunks_that_follow_are_read_without_a_seek() {
    let (text, bytes, seeks) = (text(40 * CHUNK), AtomicU64::new(0), AtomicU64::new(0));
    on_tokio(async {
        let input = Counted(Slow::new(encrypt(&text)), &bytes, &seeks);
        let mut reader = SeekReader::new(&key(), input).await.unwrap();
        for start in [0, 3 * CHUNK + 9] {
            seeks.store(0, Ordering::Relaxed);
            reader.seek(SeekFrom::Start(start as u64)).await.unwrap();
            let mut read = Vec::new();
            reader.read_to_end(&mut read).await.unwrap();
            assert_eq!(read, text[start..]);
            assert_eq!(seeks.load(Ordering::Relaxed), 1);
        }
    });
}

/// Whoever gives up reading a damaged chunk, at any time, can read another.
#[test]
fn an_error_of_a_chunk_that_was_given_up_is_forgotten() {
    let size = ChunkSize::new(128 << 10).unwrap(); // another thread opens it
    let text = text(3 * size.bytes());
    let mut file = Vec::new();
    Encryptor::new(&key()).chunk_size(size).run(&text[..], &mut file).unwrap();
    file[1000] ^= 1;
    on_tokio(async {
        for polls in 0.. {
            let mut reader = SeekReader::new(&key(), Slow::new(file.clone())).await.unwrap();
            let mut left = polls;
            let mut byte = [0];
            let mut read = std::pin::pin!(reader.read(&mut byte));
            let given_up = std::future::poll_fn(|cx| match left {
                0 => Poll::Ready(Ok(())),
                _ => {
                    left -= 1;
                    read.as_mut().poll(cx).map_ok(drop)
                }
            });
            let ended = given_up.await.is_err();
            assert_eq!(reader.seek(SeekFrom::Start(200_000)).await.unwrap(), 200_000);
            assert_eq!(reader.read_u8().await.unwrap(), text[200_000]);
            if ended {
                break;
            }
        }
    });
}

#[test]
fn key_slots() {
    let keyring = Keyring::default().key(key()).open_slots();
    for size in sizes() {
        let text = text(3 * size.bytes() + 5);
        on_tokio(async {
            let algorithm = Algorithm::Aegis128X4;
            let encoder = Encoder::with_slots(&[NewSlot::Key(&key())], algorithm, size).unwrap();
            let mut writer = EncryptWriter::from_encoder(encoder, Slow::new(Vec::new()));
            writer.write_all(&text).await.unwrap();
            writer.shutdown().await.unwrap();
            let file = writer.into_inner().bytes.into_inner();
            let mut reader = DecryptReader::new(&keyring, Slow::new(file)).await.unwrap();
            let mut out = Vec::new();
            assert_eq!(reader.spare(), None);
            reader.read_to_end(&mut out).await.unwrap();
            assert_eq!(reader.spare(), Some(Spare::Same));
            assert!(out == text);
        });
    }
}

#[test]
fn passphrases() {
    let passphrase = Passphrase::new("correct horse");
    on_tokio(async {
        let (size, kdf) = (ChunkSize::MIN, cheap());
        let output = Slow::new(Vec::new());
        let writer = EncryptWriter::with(&passphrase, Algorithm::Aegis256, size, kdf, output);
        let mut writer = writer.await.unwrap();
        writer.write_all(b"text").await.unwrap();
        writer.shutdown().await.unwrap();
        let file = writer.into_inner().bytes.into_inner();
        let mut out = String::new();
        let reader = DecryptReader::new(&passphrase, &file[..]).await;
        reader.unwrap().read_to_string(&mut out).await.unwrap();
        assert_eq!(out, "text");
        let wrong = SeekReader::new(&Passphrase::new("x"), Cursor::new(&file)).await;
        assert!(matches!(wrong.unwrap_err(), Error::WrongPassphrase));
        let limits = KdfLimits { memory_kib: 7, ..KdfLimits::default() };
        let costly = DecryptReader::with_limits(&passphrase, &limits, &file[..]).await;
        assert!(matches!(costly.unwrap_err(), Error::KdfTooCostly { .. }));
    });
}
