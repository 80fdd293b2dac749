//! Reads from the middle of a file give the plaintext, whatever the size of the file, the place and
//! the length, and read no more of the file than they need.

use std::io::{self, BufRead, Cursor, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::*;
use crate::random::{Random, with_new_seeds};
use palladion_file::sans_io::{Encoder, Layout, Opening};
use palladion_file::{
    Algorithm, ChunkSize, EncryptWriter, Encryptor, Error, KdfLimits, ReadAt, SeekReader,
};

/// Counts what is read from it.
struct Counting<S> {
    source: S,
    calls: AtomicU64,
    bytes: AtomicU64,
}

impl<S> Counting<S> {
    fn new(source: S) -> Self {
        Self { source, calls: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }

    /// The calls and bytes since it was last asked.
    fn taken(&self) -> (u64, u64) {
        (self.calls.swap(0, Ordering::Relaxed), self.bytes.swap(0, Ordering::Relaxed))
    }
}

impl<S: ReadAt> ReadAt for Counting<S> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        self.source.read_at(buffer, offset)
    }
    fn size(&self) -> io::Result<u64> {
        self.source.size()
    }
}

fn encrypt_in_chunks(size: ChunkSize, text: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    Encryptor::new(&key()).chunk_size(size).run(text, &mut file).unwrap();
    file
}

/// A place near a border of the file, or anywhere, and beyond the end too.
fn place(random: &mut Random, len: usize) -> usize {
    match random.below(4) {
        0 => random.below(len + 2000),
        1 => len.saturating_sub(3) + random.below(6),
        _ => (random.below(len / CHUNK + 2) * CHUNK + random.below(5)).saturating_sub(2),
    }
}

#[test]
fn fetch_says_what_is_read() {
    let text = text(20 * CHUNK + 7);
    let file = encrypt_in_chunks(ChunkSize::MIN, &text);
    let chunk = (CHUNK + 36) as u64;
    with_new_seeds(10, |random| {
        let reader = SeekReader::new(&key(), Counting::new(&file[..])).unwrap();
        for _ in 0..100 {
            let (start, len) = (place(random, text.len()), random.below(5 * CHUNK));
            let range = reader.fetch(start as u64..(start + len) as u64);
            reader.get_ref().taken();
            reader.read_at(&mut vec![0; len], start as u64).unwrap();
            let (_, read) = reader.get_ref().taken();
            // The last chunk of the range may be kept too.
            let fetched = range.end - range.start;
            assert!(read == fetched || read + chunk >= fetched && read < fetched, "{range:?}");
        }
    });
}

#[test]
fn fetch_leaves_out_what_is_kept() {
    let file = encrypt(&text(5 * CHUNK));
    let reader = SeekReader::new(&key(), &file[..]).unwrap();
    let chunk = |number: usize| (HEADER + number * (CHUNK + OVERHEAD)) as u64;
    let size = CHUNK as u64;
    assert_eq!(reader.fetch(100..200), chunk(0)..chunk(1));
    reader.read_at(&mut [0; 10], 50).unwrap();
    assert!(reader.fetch(100..200).is_empty() && reader.fetch(0..1).is_empty());
    assert!(reader.fetch(1..size).is_empty() && reader.fetch(9..9).is_empty());
    assert_eq!(reader.fetch(100..size + 1), chunk(1)..chunk(2));
    // Whole chunks are read all the same.
    assert_eq!(reader.fetch(0..size), chunk(0)..chunk(1));
    assert_eq!(reader.fetch(0..2 * size), chunk(0)..chunk(2));
}

/// Readers that take turns in a few distant chunks read each of them once.
#[test]
fn a_few_chunks_are_kept() {
    let file = encrypt(&text(9 * CHUNK));
    let source = Counting::new(&file[..]);
    let reader = SeekReader::new(&key(), &source).unwrap();
    source.taken();
    let byte = |chunk: usize| reader.read_at(&mut [0], (chunk * CHUNK) as u64).unwrap();
    for chunk in [0, 3, 5, 7, 0, 3, 5, 7, 7, 5, 3, 0] {
        byte(chunk);
    }
    assert_eq!(source.taken().0, 4);
    for chunk in 0..9 {
        byte(chunk);
    }
    byte(0);
    assert!(source.taken().0 >= 7, "more is kept than a few");
}

/// Two places that are read in turns are read from the file once each.
#[test]
fn as_many_chunks_are_kept_as_were_used_at_once() {
    let file = encrypt(&text(5 * CHUNK));
    let source = Counting::new(&file[..]);
    let mut reader = SeekReader::new(&key(), &source).unwrap();
    reader.fill_buf().unwrap(); // holds the first chunk
    reader.read_at(&mut [0; 10], 3 * CHUNK as u64).unwrap();
    source.taken();
    let mut byte = [0];
    reader.seek(SeekFrom::Start(3 * CHUNK as u64)).unwrap();
    reader.read_exact(&mut byte).unwrap();
    reader.read_at(&mut byte, 1).unwrap();
    reader.read_at(&mut byte, 1).unwrap();
    assert_eq!(source.taken(), (0, 0));
}

#[test]
fn random_reads() {
    let reads = if cfg!(palladion_test_reduced) { 5 } else { 1000 };
    with_new_seeds(10, |random| {
        // Small files around every border, and one in which groups of chunks are read.
        for base in [0, CHUNK, 2 * CHUNK, 5 * CHUNK, 300 * CHUNK] {
            for more in [0, 1, CHUNK - 1, random.below(CHUNK)] {
                let text = random.bytes(base + more);
                let reader = SeekReader::new(&key(), encrypt(&text)).unwrap();
                assert_eq!(reader.len(), text.len() as u64);
                for _ in 0..reads {
                    let from = place(random, text.len());
                    let mut part = vec![1; place(random, text.len() - from.min(text.len()))];
                    let read = reader.read_at(&mut part, from as u64).unwrap();
                    let expected = &text[from.min(text.len())..][..read];
                    assert!(part[..read] == *expected, "{from} {}", part.len());
                    assert_eq!(read, part.len().min(text.len().saturating_sub(from)));
                    assert!(part[read..].iter().all(|byte| *byte == 1));
                }
            }
        }
    });
}

/// `Read`, `BufRead` and `Seek` do what those of a `Cursor` over the plaintext do.
#[test]
fn like_a_cursor() {
    with_new_seeds(20, |random| {
        let len = place(random, 4 * CHUNK);
        let text = random.bytes(len);
        let mut reader = SeekReader::new(&key(), encrypt(&text)).unwrap();
        let mut cursor = Cursor::new(text);
        for _ in 0..200 {
            match random.below(6) {
                0 => {
                    let to = match random.below(3) {
                        0 => SeekFrom::Start(place(random, len) as u64),
                        1 => SeekFrom::End(place(random, len) as i64 - len as i64),
                        _ => SeekFrom::Current(place(random, len) as i64 - len as i64),
                    };
                    let (ours, theirs) = (reader.seek(to), cursor.seek(to));
                    assert_eq!(ours.is_ok(), theirs.is_ok(), "{to:?}");
                    assert_eq!(reader.stream_position().unwrap(), cursor.position());
                }
                1 => {
                    let wanted = place(random, len);
                    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
                    reader.by_ref().take(wanted as u64).read_to_end(&mut ours).unwrap();
                    cursor.by_ref().take(wanted as u64).read_to_end(&mut theirs).unwrap();
                    assert!(ours == theirs);
                }
                2 => {
                    let buffered = reader.fill_buf().unwrap();
                    let theirs = cursor.fill_buf().unwrap();
                    assert!(theirs.starts_with(buffered));
                    assert_eq!(buffered.is_empty(), theirs.is_empty());
                    let consumed = random.below(buffered.len() + 1);
                    reader.consume(consumed);
                    cursor.consume(consumed);
                }
                3 if random.below(10) == 0 => {
                    let (mut ours, mut theirs) = (vec![3], vec![3]);
                    reader.read_to_end(&mut ours).unwrap();
                    cursor.read_to_end(&mut theirs).unwrap();
                    assert!(ours == theirs);
                }
                _ => {
                    let mut ours = vec![0; place(random, len)];
                    let read = reader.read(&mut ours).unwrap();
                    let mut theirs = vec![0; read];
                    cursor.read_exact(&mut theirs).unwrap();
                    assert!(ours[..read] == theirs);
                    let at_end = cursor.position() >= len as u64;
                    assert!(read > 0 || ours.is_empty() || at_end);
                }
            }
        }
    });
}

/// A small read fetches the header and the last chunk once, and then the chunks that hold it.
#[test]
fn no_more_is_read_than_needed() {
    let size = ChunkSize::new(1 << 20).unwrap();
    let text = text(5 << 20 | 1234);
    let file = encrypt_in_chunks(size, &text);
    let sealed = size.bytes() as u64 + OVERHEAD as u64;
    let source = Counting::new(file);
    let mut reader = SeekReader::new(&key(), &source).unwrap();
    assert_eq!(source.taken(), (2, (HEADER + 4 + 1234 + OVERHEAD) as u64));
    let mut page = [0; 4096];
    reader.read_at(&mut page[..1000], text.len() as u64 - 1000).unwrap();
    assert_eq!(source.taken(), (0, 0), "the last chunk is kept");
    for (place, expected) in [
        (1 << 20, (1, sealed)),
        ((1 << 20) + 9, (0, 0)),
        ((3 << 20) - 1, (2, 2 * sealed)),
        (text.len() as u64 - 4096, (2, sealed + (1234 + OVERHEAD) as u64)),
    ] {
        reader.read_at(&mut page, place).unwrap();
        assert!(page == text[place as usize..][..4096]);
        let taken = source.taken();
        assert_eq!(taken, expected, "{place}");
    }
    // All at once, on several threads: each chunk once.
    let mut all = Vec::new();
    reader.read_to_end(&mut all).unwrap();
    assert!(all == text);
    assert_eq!(source.taken(), (6, source.size().unwrap() - HEADER as u64));
    // In small pieces: the same. (The threads above may have left chunks, so with a new reader.)
    let mut reader = SeekReader::new(&key(), &source).unwrap();
    source.taken();
    io::copy(&mut reader, &mut io::sink()).unwrap();
    assert_eq!(source.taken().1, source.size().unwrap() - HEADER as u64);
    // Small chunks are read in groups.
    let source = Counting::new(encrypt(&text));
    let reader = SeekReader::new(&key(), &source).unwrap();
    source.taken();
    let mut all = vec![0; text.len()];
    assert_eq!(reader.read_at(&mut all, 0).unwrap(), text.len());
    assert!(all == text && source.taken().0 <= 42);
}

#[test]
fn several_threads() {
    let text = text(40 * CHUNK + 7);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file.pld");
    std::fs::write(&path, encrypt(&text)).unwrap();
    let reader = SeekReader::new(&key(), std::fs::File::open(&path).unwrap()).unwrap();
    let mutex = SeekReader::new(&key(), Mutex::new(Cursor::new(encrypt(&text)))).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (reader, mutex, text) = (&reader, &mutex, &text);
            scope.spawn(move || {
                let mut random = Random(thread);
                let (mut own, mut part) = (reader.clone(), [0; 100]);
                for _ in 0..500 {
                    let from = random.below(text.len() - 100);
                    let expected = &text[from..][..100];
                    reader.read_at(&mut part, from as u64).unwrap();
                    assert!(part == expected);
                    mutex.read_at(&mut part, from as u64).unwrap();
                    assert!(part == expected);
                    own.seek(SeekFrom::Start(from as u64)).unwrap();
                    own.read_exact(&mut part).unwrap();
                    assert!(part == expected);
                }
            });
        }
    });
}

/// Of several damaged chunks, the first is named, however many threads read.
#[test]
fn first_error_on_threads() {
    let size = ChunkSize::new(1 << 16).unwrap();
    let text = text(4 << 20);
    let mut file = encrypt_in_chunks(size, &text);
    let layout = Layout::of_file(size, file.len() as u64).unwrap();
    for chunk in [9, 20, 21, 50] {
        file[layout.sealed(chunk..chunk + 1).start as usize + 50] ^= 1;
    }
    let reader = SeekReader::new(&key(), file).unwrap().threads(threads(4));
    let mut all = vec![1; text.len()];
    for _ in 0..20 {
        let error = reader.read_at(&mut all, 0).unwrap_err();
        assert!(matches!(error, Error::Damaged { chunk: 9, .. }), "{error:?}");
        assert!(all.iter().all(|byte| *byte == 0));
    }
    assert_eq!(reader.read_at(&mut all[..1 << 16], 22 << 16).unwrap(), 1 << 16);
    assert!(all[..1 << 16] == text[22 << 16..][..1 << 16]);
}

/// A source that becomes shorter, and one that fails.
#[test]
fn failing_sources() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file.pld");
    std::fs::write(&path, encrypt(&text(10 * CHUNK))).unwrap();
    let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    let reader = SeekReader::new(&key(), &file).unwrap();
    file.set_len(3000).unwrap();
    let error = reader.read_at(&mut [0; 100], 5000).unwrap_err();
    assert!(matches!(error, Error::Truncated { chunk: Some(4), offset: 3000 }), "{error:?}");
    assert_eq!(reader.read_at(&mut [0; 100], 500).unwrap(), 100);
    // Of several chunks that are read at once, the first one that is incomplete is named.
    let error = reader.read_at(&mut [0; 8 * CHUNK], 0).unwrap_err();
    assert!(matches!(error, Error::Truncated { chunk: Some(2), offset: 3000 }), "{error:?}");

    // It becomes shorter while it is opened.
    struct Shrinks<'a>(&'a [u8], AtomicU64);
    impl ReadAt for Shrinks<'_> {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
            self.0.read_at(buffer, offset)
        }
        fn size(&self) -> io::Result<u64> {
            Ok(self.1.swap(self.0.len() as u64, Ordering::Relaxed))
        }
    }
    let whole = encrypt(&text(3 * CHUNK));
    let len = whole.len() as u64;
    for cut in [0, 100, HEADER, HEADER + 2 * (CHUNK + OVERHEAD) + 5] {
        let shrinks = Shrinks(&whole[..cut], AtomicU64::new(len));
        let error = SeekReader::new(&key(), shrinks).unwrap_err();
        assert!(matches!(error, Error::Truncated { .. }), "{cut}: {error:?}");
    }

    struct Broken;
    impl ReadAt for Broken {
        fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
            Err(io::Error::other("the disk is broken"))
        }
        fn size(&self) -> io::Result<u64> {
            Ok(1 << 40)
        }
    }
    assert!(matches!(SeekReader::new(&key(), Broken).unwrap_err(), Error::Read(_)));
}

/// Data after the end is noticed wherever it ends, and however much it is.
#[test]
fn appended() {
    for len in [0, 1, CHUNK, 2 * CHUNK + 100, 7 * CHUNK] {
        let file = encrypt(&text(len));
        for more in (1..CHUNK + 100).step_by(17).chain([36, 37, CHUNK + 36, 20 * CHUNK, 100_000]) {
            let longer = [&file[..], &vec![0x33; more]].concat();
            let error = SeekReader::new(&key(), longer).unwrap_err();
            let expected = file.len() as u64;
            assert!(
                matches!(error, Error::TrailingData { offset } if offset == expected),
                "{len} {more}: {error:?}"
            );
        }
    }
}

/// A frame that only says that its chunk is the last does not make the rest look appended. The
/// error is that of a reader from the start.
#[test]
fn a_false_end_in_a_cut_file() {
    let mut file = encrypt(&text(6 * CHUNK + 9));
    file[HEADER + 3 * (CHUNK + OVERHEAD) + 3] ^= 0x80;
    for cut in [file.len() - 1, HEADER + 4 * (CHUNK + OVERHEAD) + 20] {
        let error = SeekReader::new(&key(), &file[..cut]).unwrap_err();
        let expected = decrypt(&file[..cut]).1.unwrap_err();
        assert!(matches!(expected, Error::Damaged { chunk: 3, .. }));
        assert_eq!(format!("{error:?}"), format!("{expected:?}"));
    }
}

/// Every algorithm, and every size of chunks.
#[test]
fn every_kind_of_file() {
    let text = text(3 << 10 | 77);
    for algorithm in Algorithm::ALL {
        for log2 in 10..=24 {
            let size = ChunkSize::new(1 << log2).unwrap();
            let mut writer =
                EncryptWriter::with(&key(), algorithm, size, cheap(), Vec::new()).unwrap();
            io::Write::write_all(&mut writer, &text).unwrap();
            let reader = SeekReader::new(&key(), writer.finish().unwrap()).unwrap();
            assert_eq!((reader.algorithm(), reader.chunk_size()), (algorithm, size));
            let mut part = [0; 1500];
            assert_eq!(reader.read_at(&mut part, 1000).unwrap(), 1500);
            assert!(part == text[1000..2500]);
        }
    }
}

/// Bytes after a chunk do not matter, missing ones do.
#[test]
fn chunks_in_longer_and_shorter_buffers() {
    let text = text(2 * CHUNK + 100);
    let mut file = encrypt(&text);
    let (key, limits) = (key(), KdfLimits::default());
    let start = &file[..Opening::START_LEN];
    let opening = Opening::new(&key, &limits, start, file.len() as u64).unwrap();
    let wanted = opening.wants().unwrap().start as usize;
    let chunks = opening.give(&mut file[wanted..].to_vec()).unwrap().finish();
    for chunk in 0..3 {
        let range = chunks.layout().plaintext(chunk);
        let expected = &text[range.start as usize..range.end as usize];
        let sealed = &mut file[chunks.layout().sealed(chunk..chunk + 1).start as usize..];
        for more in [0, 1, 3000] {
            let mut longer = [&sealed[..expected.len() + OVERHEAD], &vec![1; more]].concat();
            let mut out = vec![1; expected.len()];
            chunks.open_into(chunk, &longer, &mut out).unwrap();
            assert!(out == expected);
            assert!(chunks.open(chunk, &mut longer).unwrap() == expected);
        }
        for len in [0, 3, 4, 36, expected.len() + OVERHEAD - 1] {
            let mut out = vec![1; expected.len()];
            let error = chunks.open_into(chunk, &sealed[..len], &mut out).unwrap_err();
            assert!(matches!(error, Error::Truncated { .. }), "{error:?}");
            assert!(out.iter().all(|byte| *byte == 0));
            let error = chunks.open(chunk, &mut sealed[..len]).unwrap_err();
            assert!(matches!(error, Error::Truncated { .. }), "{error:?}");
        }
    }
}

/// The last chunk has the length that it had when the file was opened.
#[test]
fn another_last_chunk() {
    let sealed = |len: usize| {
        let (algorithm, size) = (Algorithm::default(), ChunkSize::MIN);
        let mut encoder = Encoder::with_salt(&key(), algorithm, size, cheap(), &[5; 32]).unwrap();
        encoder.push(&text(len)).unwrap();
        let header = encoder.ready().unwrap().to_vec();
        encoder.consume(HEADER);
        encoder.end().unwrap();
        (header, encoder.ready().unwrap().to_vec())
    };
    let (header, mut chunk) = sealed(100);
    let len = (HEADER + chunk.len()) as u64;
    let opening = Opening::new(&key(), &KdfLimits::default(), &header, len).unwrap();
    let chunks = opening.give(&mut chunk).unwrap().finish();
    let mut other = sealed(50).1;
    other.resize(chunk.len(), 0);
    let error = chunks.open(0, &mut other).unwrap_err();
    assert!(matches!(error, Error::Damaged { chunk: 0, .. }), "{error:?}");
}

/// An opening wants the first frame, if it did not get it, the last chunk, and a few frames if that
/// is not at the end.
#[test]
fn what_an_opening_wants() {
    let file = encrypt(&text(9 * CHUNK + 7));
    let new = |file: &[u8], start_len: usize| {
        let limits = KdfLimits::default();
        Opening::new(&key(), &limits, &file[..start_len], file.len() as u64).unwrap()
    };
    let part =
        |file: &[u8], range: Range<u64>| file[range.start as usize..range.end as usize].to_vec();

    let opening = new(&file, HEADER);
    assert_eq!(opening.wants(), Some(128..132));
    let opening = opening.give(&mut part(&file, 128..132)).unwrap();
    let last = (HEADER + 9 * (CHUNK + OVERHEAD)) as u64..file.len() as u64;
    assert_eq!((opening.chunk_size(), opening.wants()), (ChunkSize::MIN, Some(last.clone())));
    let opening = opening.give(&mut part(&file, last.clone())).unwrap();
    assert_eq!(opening.wants(), None);
    let chunks = opening.finish();
    assert_eq!(chunks.layout(), Layout::of_file(ChunkSize::MIN, file.len() as u64).unwrap());
    // More after a chunk does no harm, and less is an error.
    let mut two = part(&file, chunks.layout().sealed(3..5));
    assert!(chunks.open(3, &mut two).unwrap() == &text(10 * CHUNK)[3 * CHUNK..4 * CHUNK]);
    let begin = chunks.layout().sealed(3..4).start;
    let error = chunks.open(3, &mut [0; 100]).unwrap_err();
    let end = begin + 100;
    assert!(matches!(error, Error::Truncated { chunk: Some(3), offset } if offset == end));

    // The file became shorter in the meantime.
    let error = new(&file, Opening::START_LEN)
        .give(&mut part(&file, last.start..last.end - 1))
        .unwrap_err();
    let end = file.len() as u64 - 1;
    assert!(matches!(error, Error::Truncated { chunk: Some(9), offset } if offset == end));

    let longer = [&file[..], &[9; 5 * (CHUNK + OVERHEAD)]].concat();
    let (mut opening, mut frames) = (new(&longer, Opening::START_LEN), 0);
    let error = loop {
        let range = opening.wants().expect("it is not open");
        frames += u32::from(range.end - range.start == 4);
        match opening.give(&mut part(&longer, range)) {
            Ok(more) => opening = more,
            Err(error) => break error,
        }
    };
    let end = file.len() as u64;
    assert!(matches!(error, Error::TrailingData { offset } if offset == end));
    assert!((3..=4).contains(&frames), "{frames}");
}

#[test]
#[should_panic = "the file is not open"]
fn an_opening_does_not_finish_early() {
    let file = encrypt(b"text");
    let opening = Opening::new(&key(), &KdfLimits::default(), &file[..HEADER], file.len() as u64);
    let _ = opening.unwrap().finish();
}
