//! Encrypted files: whole ones by every way to make and to read them, with any number of threads;
//! runs that are cancelled, or whose reader or writer fails; damaged and hostile files, with
//! whatever a header may say; key files. What comes out is always a true beginning of what
//! went in.

#![no_main]

use std::io::{self, Read, Write};
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use palladion_file::sans_io::{Decoder, Encoder};
use palladion_file::{
    Algorithm, ChunkSize, DecryptReader, Decryptor, EncryptWriter, Encryptor, Error, HEADER_LEN,
    KdfLimits, KdfParams, MasterKey, Passphrase, Secret, SeekReader, needs_passphrase,
};
use palladion_fuzz::{AnyBackend, Flip, Seed, plant, planted};
use palladion_reference::hash::sha256;

#[derive(Arbitrary, Debug)]
enum Input {
    File(File),
    Header(Header),
    Bytes(Vec<u8>),
    KeyFile(String),
}

#[derive(Arbitrary, Debug)]
struct File {
    backend: AnyBackend,
    algorithm: u8,
    seed: Seed,
    len: u16,
    passphrase: bool,
    maker: Maker,
    threads: u8,
    stop: Option<Stop>,
    is_bound: bool,
    cuts: Vec<u16>,
    damage: Vec<Damage>,
}

impl File {
    fn threads(&self) -> NonZero<usize> {
        NonZero::new(1 + usize::from(self.threads % 4)).expect("it is one at least")
    }
    fn algorithm(&self) -> Algorithm {
        Algorithm::ALL[usize::from(self.algorithm) % 6]
    }
    fn encryptor<'a>(&self, secret: Secret<'a>) -> Encryptor<'a> {
        let encryptor = Encryptor::new(secret).algorithm(self.algorithm()).chunk_size(SIZE);
        encryptor.kdf(kdf()).threads(self.threads())
    }
}

/// What ends a run.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Stop {
    /// The flag is set once so many chunks are done.
    Cancel(u8),
    /// The reader, or the writer, fails after so many bytes.
    Read(u16),
    Write(u16),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Maker {
    Encoder,
    Encryptor,
    Writer,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Damage {
    Flip(Flip),
    /// Near the beginning, where header and first frame are.
    FlipHeader(u8, u8),
    Cut(u16),
    Extend(u8),
    /// A chunk is left out, or comes twice.
    Remove(u8),
    Repeat(u8),
    /// The checksum of the header is made right.
    Checksum,
}

/// Any header whose checksum is right.
#[derive(Arbitrary, Debug)]
struct Header {
    version: u8,
    algorithm: u8,
    source: u8,
    chunk: u8,
    reserved: [u8; 2],
    costs: [u32; 3],
    seed: Seed,
    rest: Vec<u8>,
}

/// So small that fuzzing is quick.
fn kdf() -> KdfParams {
    KdfParams::new(16, 1, 2).expect("such costs can be")
}

const LIMITS: KdfLimits = KdfLimits { memory_kib: 32, passes: 2, lanes: 4, work_kib: 48 };
const SIZE: ChunkSize = ChunkSize::MIN;
const SEALED: usize = 1024 + 36;

/// A reader and a writer that take as much at once as they were told, over and over, and fail after
/// so many bytes.
struct Cuts<'a, T> {
    inner: T,
    sizes: std::iter::Cycle<std::slice::Iter<'a, u16>>,
    good_for: Option<usize>,
}

impl<'a, T> Cuts<'a, T> {
    fn new(inner: T, sizes: &'a [u16]) -> Self {
        Self { inner, sizes: sizes.iter().cycle(), good_for: None }
    }
    fn good_for(self, good_for: Option<usize>) -> Self {
        Self { good_for, ..self }
    }
    fn next(&mut self, len: usize) -> io::Result<usize> {
        let n = self.sizes.next().map_or(len, |size| usize::from(size % 2100).max(1).min(len));
        let n = n.min(self.good_for.unwrap_or(n));
        if n == 0 && len > 0 { Err(io::Error::other(FAILURE)) } else { Ok(n) }
    }
    fn taken(&mut self, n: usize) -> usize {
        self.good_for = self.good_for.map(|good_for| good_for - n);
        n
    }
}

const FAILURE: &str = "as the input of the fuzzer wants it";

impl Read for Cuts<'_, &[u8]> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.next(buf.len())?;
        let n = self.inner.read(&mut buf[..n])?;
        Ok(self.taken(n))
    }
}

impl Write for Cuts<'_, Vec<u8>> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let n = self.next(buf.len())?;
        let n = self.inner.write(&buf[..n])?;
        Ok(self.taken(n))
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn make(file: &File, secret: Secret<'_>, text: &[u8]) -> Vec<u8> {
    let chunks = text.len().div_ceil(SIZE.bytes()).max(1);
    match file.maker {
        Maker::Encoder => {
            let salt = file.seed.bytes(9, 32).try_into().expect("32 bytes");
            let encoder = Encoder::with_salt(secret, file.algorithm(), SIZE, kdf(), &salt);
            let mut encoder = encoder.expect("no limit was passed");
            let (mut out, mut rest, mut cuts) = (Vec::new(), text, file.cuts.iter().cycle());
            while !encoder.is_complete() {
                let len = cuts.next().map_or(512, |cut| usize::from(cut % 3000).max(1));
                match encoder.push(&rest[..len.min(rest.len())]).expect("no error before") {
                    0 if rest.is_empty() => encoder.end().expect("all was taken"),
                    taken => rest = &rest[taken..],
                }
                let (at, len) = (out.len(), encoder.ready_len());
                out.resize(at + len, 0);
                encoder.take_into(&mut out[at..]).expect("no limit was passed");
            }
            out
        }
        Maker::Encryptor => {
            let (mut out, mut progress) = (Vec::new(), Vec::new());
            let encryptor = file.encryptor(secret).on_progress(|bytes| progress.push(bytes));
            let summary = encryptor.run(Cuts::new(text, &file.cuts), &mut out);
            let summary = summary.expect("memory cannot fail");
            assert_eq!((summary.bytes, summary.chunks), (text.len() as u64, chunks as u64));
            let expected = (1..=chunks).map(|n| text.len().min(n * SIZE.bytes()) as u64);
            assert!(progress.iter().copied().eq(expected), "progress: {progress:?}");
            out
        }
        Maker::Writer => {
            let out = Cuts::new(Vec::new(), &file.cuts);
            let writer = EncryptWriter::with(secret, file.algorithm(), SIZE, kdf(), out);
            let mut writer = writer.expect("memory cannot fail");
            let mut rest = text;
            for cut in file.cuts.iter().take(50) {
                let (part, after) = rest.split_at(rest.len().min(usize::from(cut % 3000)));
                writer.write_all(part).expect("memory cannot fail");
                rest = after;
            }
            writer.write_all(rest).expect("memory cannot fail");
            writer.finish().expect("memory cannot fail").inner
        }
    }
}

/// Reads a file in all ways; checks that they agree, and returns what came out and how it ended.
fn read(
    bytes: &[u8],
    secret: Secret<'_>,
    cuts: &[u16],
    threads: NonZero<usize>,
) -> (Vec<u8>, Result<(), Error>) {
    // Whole chunks.
    let (mut out, mut progress) = (Vec::new(), vec![0]);
    let decryptor = Decryptor::new(secret).kdf_limits(LIMITS).threads(threads);
    let decryptor = decryptor.on_progress(|bytes| progress.push(bytes));
    let ended = decryptor.run(Cuts::new(bytes, cuts), &mut out).map(drop);
    let is_true = progress.is_sorted() && progress.last() == Some(&(out.len() as u64));
    assert!(is_true, "progress: {progress:?}");
    // As a reader.
    let mut read = Vec::new();
    let reader = DecryptReader::with_limits(secret, &LIMITS, Cuts::new(bytes, cuts));
    let by_reader = reader.and_then(|mut reader| {
        let mut sizes = cuts.iter().map(|size| usize::from(size % 1500).max(1)).cycle();
        loop {
            let mut buf = vec![0; sizes.next().unwrap_or(512)];
            match reader.read(&mut buf) {
                Ok(0) => return Ok(()),
                Ok(n) => read.extend_from_slice(&buf[..n]),
                Err(e) => {
                    assert!(reader.read(&mut buf).is_err(), "an error stays");
                    return Err(e.downcast().expect("an error of this crate"));
                }
            }
        }
    });
    assert_eq!(read, out);
    assert_eq!(format!("{by_reader:?}"), format!("{ended:?}"));
    // By hand.
    let mut opened = Vec::new();
    let by_hand = open(bytes, secret, cuts, &mut opened);
    assert_eq!(opened, out);
    assert_eq!(format!("{by_hand:?}"), format!("{ended:?}"));
    // From the middle: it opens only if the end is right, and then fails where the others do.
    match SeekReader::with_limits(secret, &LIMITS, bytes) {
        Ok(reader) => {
            let (mut read, mut cuts) = (vec![0; reader.len() as usize], cuts.iter().cycle());
            let mut at = 0;
            let by_seeking = loop {
                let len = cuts.next().map_or(512, |cut| usize::from(cut % 3000).max(1));
                let part = &mut read[at..reader.len().min((at + len) as u64) as usize];
                match reader.read_at(part, at as u64) {
                    Ok(0) => break Ok(()),
                    Ok(n) => at += n,
                    Err(e) => break Err(e),
                }
            };
            planted("seek", &mut read);
            assert_eq!(read[..at], out[..at]);
            assert_eq!(format!("{by_seeking:?}"), format!("{ended:?}"));
        }
        Err(_) => assert!(ended.is_err(), "a sound file does not open"),
    }
    if let Err(e) = &ended {
        let _ = (e.to_string(), e.hint());
    }
    (out, ended)
}

fn open(bytes: &[u8], secret: Secret<'_>, cuts: &[u16], out: &mut Vec<u8>) -> Result<(), Error> {
    let mut decoder = Decoder::new(secret, LIMITS)?;
    let (mut rest, mut cuts) = (bytes, cuts.iter().cycle());
    while !decoder.is_complete() {
        let len = cuts.next().map_or(512, |cut| usize::from(cut % 3000).max(1));
        match rest {
            [] => decoder.filled(0),
            _ => rest = &rest[decoder.push(&rest[..len.min(rest.len())])..],
        }
        let text = match decoder.text() {
            Ok(text) => text,
            Err(e) => {
                assert!(decoder.text().is_err() && decoder.room().is_empty(), "an error stays");
                return Err(e);
            }
        };
        assert!(text.len() <= SIZE.bytes(), "a chunk that is too long");
        out.extend_from_slice(text);
        let len = text.len();
        decoder.consume(len);
    }
    Ok(())
}

fn damage(bytes: &mut Vec<u8>, damage: Damage) {
    let chunks = bytes.len().saturating_sub(HEADER_LEN).div_ceil(SEALED);
    let chunk = |i: u8, len: usize| {
        let start = HEADER_LEN + usize::from(i) % chunks.max(1) * SEALED;
        start.min(len)..(start + SEALED).min(len)
    };
    match damage {
        Damage::Flip(flip) => _ = flip.apply(bytes),
        Damage::FlipHeader(at, bit) => {
            let at = usize::from(at) % (HEADER_LEN + 8);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << (bit % 8);
            }
        }
        Damage::Cut(n) => bytes.truncate(bytes.len().saturating_sub(usize::from(n % 3000))),
        Damage::Extend(n) => bytes.extend(std::iter::repeat_n(n, usize::from(n))),
        Damage::Remove(i) => drop(bytes.drain(chunk(i, bytes.len()))),
        Damage::Repeat(i) => {
            let copy = bytes[chunk(i, bytes.len())].to_vec();
            let at = chunk(i, bytes.len()).end;
            bytes.splice(at..at, copy);
        }
        Damage::Checksum => {
            if bytes.len() >= HEADER_LEN {
                let checksum = sha256(&bytes[..96]);
                bytes[96..HEADER_LEN].copy_from_slice(&checksum);
            }
        }
    }
}

fn file(file: &File) {
    file.backend.set();
    let key = MasterKey::from(<[u8; 32]>::try_from(file.seed.bytes(1, 32)).expect("32 bytes"));
    let passphrase = Passphrase::new(file.seed.bytes(2, 12));
    let secret = if file.passphrase { Secret::from(&passphrase) } else { Secret::from(&key) };
    let bound = secret.bind("here");
    let secret = if file.is_bound { Secret::from(&bound) } else { secret };
    let text = file.seed.bytes(3, usize::from(file.len % 5000));
    let whole = make(file, secret, &text);
    let chunks = text.len().div_ceil(SIZE.bytes()).max(1);
    assert_eq!(whole.len(), HEADER_LEN + text.len() + 36 * chunks);
    assert_eq!(needs_passphrase(&whole).ok(), Some(file.passphrase));

    let mut bytes = whole.clone();
    for each in file.damage.iter().take(6) {
        damage(&mut bytes, *each);
        if bytes.len() > 20_000 {
            break;
        }
    }
    let (mut out, ended) = read(&bytes, secret, &file.cuts, file.threads());
    planted("bit", &mut out);
    assert!(text.starts_with(&out), "something came out that did not go in");
    assert_eq!(ended.is_ok(), bytes == whole, "whether it is damaged: {ended:?}");
    assert!(ended.is_err() || out == text, "it ended well without all of it");
    if let Some(stop) = file.stop {
        stopped(file, stop, secret, &text, &whole);
    }
    // Another place, or one too many.
    let (out, ended) = read(&bytes, (&secret.bind("there")).into(), &file.cuts, file.threads());
    assert!(out.is_empty() && ended.is_err(), "a wrong place opened it");
    // The other kind of secret, and another secret of this kind.
    let other = MasterKey::from([0x77; 32]);
    let another = Passphrase::new("another");
    if file.seed.bytes(1, 32) != [0x77; 32] {
        for secret in [Secret::from(&another), Secret::from(&other)] {
            let (out, ended) = read(&bytes, secret, &file.cuts, file.threads());
            assert!(out.is_empty() && ended.is_err(), "a wrong secret opened it");
        }
    }
}

/// A run that is ended in the middle: what was written before is a true beginning, and not taken
/// for all of it.
fn stopped(file: &File, stop: Stop, secret: Secret<'_>, text: &[u8], whole: &[u8]) {
    let chunks = text.len().div_ceil(SIZE.bytes()).max(1);
    for encrypt in [true, false] {
        let input = if encrypt { text } else { whole };
        let flag = AtomicBool::new(matches!(stop, Stop::Cancel(0)));
        let mut done = 0;
        let progress = |_| {
            done += 1;
            if matches!(stop, Stop::Cancel(after) if done == usize::from(after)) {
                flag.store(true, Ordering::Relaxed);
            }
        };
        let good_for = |n: u16, len: usize| Some(usize::from(n) % (len + 50));
        let given = if let Stop::Read(n) = stop { good_for(n, input.len()) } else { None };
        let reader = Cuts::new(input, &file.cuts).good_for(given);
        let expected_len = if encrypt { whole.len() } else { text.len() };
        let room = if let Stop::Write(n) = stop { good_for(n, expected_len) } else { None };
        let mut writer = Cuts::new(Vec::new(), &file.cuts).good_for(room);
        let ended = if encrypt {
            let encryptor = file.encryptor(secret).cancel(&flag);
            encryptor.on_progress(progress).run(reader, &mut writer)
        } else {
            let decryptor = Decryptor::new(secret).kdf_limits(LIMITS).threads(file.threads());
            decryptor.cancel(&flag).on_progress(progress).run(reader, &mut writer)
        };
        let mut out = writer.inner;
        match (stop, &ended) {
            // With several threads, all of the input may have been taken before the flag was set.
            (Stop::Cancel(after), Ok(_)) => {
                assert!(after > 0 && (file.threads().get() > 1 || usize::from(after) >= chunks));
            }
            (Stop::Cancel(after), Err(Error::Cancelled)) => {
                assert!(usize::from(after) <= chunks, "nobody has cancelled it");
                if file.threads().get() == 1 && !encrypt {
                    assert_eq!(out.len(), text.len().min(usize::from(after) * SIZE.bytes()));
                }
            }
            (Stop::Read(_), Ok(_)) => assert!(given > Some(input.len()), "it failed"),
            (Stop::Read(_), Err(Error::Read(e))) => {
                assert!(given <= Some(input.len()) && e.to_string() == FAILURE, "{e}");
            }
            (Stop::Write(_), Ok(_)) => assert!(room >= Some(expected_len), "it failed"),
            (Stop::Write(_), Err(Error::Write(e))) => {
                assert!(room < Some(expected_len) && e.to_string() == FAILURE, "{e}");
                assert_eq!(Some(out.len()), room);
            }
            _ => panic!("{stop:?} ended with {ended:?}"),
        }
        let complete = ended.is_ok();
        if encrypt {
            let (opened, opens) = read(&out, secret, &[], NonZero::<usize>::MIN);
            assert_eq!(opens.is_ok(), complete, "whether it is a complete file");
            out = opened;
        }
        if plant("stopped") && !out.is_empty() {
            out[0] ^= 1;
        }
        assert!(text.starts_with(&out), "something came out that did not go in");
        assert!(!complete || out == text, "it ended well without all of it");
    }
}

fn header(header: &Header) {
    let mut bytes = vec![0; 96];
    bytes[..8].copy_from_slice(b"\x89PLD\r\n\x1a\n");
    bytes[8..12].copy_from_slice(&[header.version, header.algorithm, header.source, header.chunk]);
    bytes[12] = header.reserved[0];
    bytes[63] = header.reserved[1];
    bytes[16..48].copy_from_slice(&header.seed.bytes(1, 32));
    for (field, cost) in bytes[48..60].chunks_exact_mut(4).zip(header.costs) {
        field.copy_from_slice(&cost.to_le_bytes());
    }
    bytes[64..].copy_from_slice(&header.seed.bytes(2, 32));
    bytes.extend(sha256(&bytes));
    bytes.extend_from_slice(&header.rest);
    let ended = refused(&bytes);
    // What costs more than the limits is refused before anything is spent: the fuzzer allows no
    // large allocation.
    let [memory, passes, lanes] = header.costs;
    let within = memory <= LIMITS.memory_kib
        && passes <= LIMITS.passes
        && lanes <= LIMITS.lanes
        && memory.saturating_mul(passes) <= LIMITS.work_kib;
    match ended {
        Error::WrongPassphrase => assert!(within),
        Error::KdfTooCostly { .. } => assert!(!within),
        Error::KdfMemory => panic!("memory was asked for that the limits do not allow"),
        _ => {}
    }
}

/// Checks that no secret opens what nobody made, and returns the error with a passphrase.
fn refused(bytes: &[u8]) -> Error {
    let _ = needs_passphrase(bytes);
    let (key, passphrase) = (MasterKey::from([7; 32]), Passphrase::new("x"));
    let [_, error] = [Secret::from(&key), Secret::from(&passphrase)].map(|secret| {
        let (out, ended) = read(bytes, secret, &[], NonZero::<usize>::MIN);
        assert!(out.is_empty(), "something came out of what nobody made");
        ended.expect_err("a file that nobody made")
    });
    error
}

fn key_file(text: &str) {
    for text in [
        text.to_owned(),
        format!("palladion-key-1:{text}"),
        format!("# {text}\npalladion-key-1:{}\n{text}", "a5".repeat(32)),
    ] {
        if let Ok(key) = MasterKey::from_key_file(&text) {
            let again = MasterKey::from_key_file(&key.to_key_file()).expect("its own text");
            assert_eq!(again.as_bytes(), key.as_bytes());
        }
    }
}

fuzz_target!(|input: Input| match &input {
    Input::File(it) => file(it),
    Input::Header(it) => header(it),
    Input::Bytes(it) => _ = refused(it),
    Input::KeyFile(text) => key_file(text),
});
