//! Files with random access: any sequence of operations does what it does to a vector of bytes; and whatever is in the storage,
//! nothing panics, nothing large is allocated, and nothing comes out that was not written.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use palladion_fuzz::{AnyBackend, Flip, Seed, planted};
use palladion_raf::{Algorithm, Error, HEADER_LEN, Info, Memory, Options, Raf, Storage, probe};
use palladion_reference::raf as reference;

#[derive(Arbitrary, Debug)]
struct Input {
    backend: AnyBackend,
    algorithm: u8,
    chunk: u8,
    seed: Seed,
    merkle: bool,
    barriers: bool,
    steps: Vec<Step>,
    hostile: Hostile,
}

#[derive(Arbitrary, Clone, Debug)]
enum Step {
    Write { offset: Offset, len: u16 },
    Read { offset: Offset, len: u16 },
    Resize(Offset),
    Sync,
    Verify,
    Reopen { merkle: bool },
}

/// Mostly near the bounds of chunks.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Offset {
    chunk: u8,
    within: i16,
}

impl Offset {
    fn of(self, chunk_size: u32) -> u64 {
        let at = i64::from(self.chunk % 6) * i64::from(chunk_size) + i64::from(self.within % 1100);
        at.max(0) as u64
    }
}

/// What is done to the file in the end, by somebody who has not got the key (or, for a header, who has).
#[derive(Arbitrary, Clone, Debug)]
enum Hostile {
    Nothing,
    Bytes(Vec<u8>),
    Flips(Vec<Flip>),
    Cut(u16),
    Swap(u8, u8),
    /// Any fields, with a MAC that is right.
    Header {
        algorithm: u8,
        chunk_size: u32,
        size: u64,
    },
    /// The file of another size, with a MAC that is right.
    Size(i16),
}

/// How many chunks the Merkle tree has places for.
const PLACES: u64 = 16;
const SIZES: [u32; 4] = [1024, 1040, 2048, 4096];

fn expect_room<T>(result: Result<T, Error>) -> T {
    result.expect("there is room, and nothing is damaged")
}

fn check(input: &Input) {
    input.backend.set();
    let algorithm = Algorithm::ALL[usize::from(input.algorithm) % 6];
    let chunk_size = SIZES[usize::from(input.chunk) % 4];
    let key = input.seed.bytes(0, algorithm.key_len());
    let mut file = Options::default()
        .algorithm(algorithm)
        .chunk_size(chunk_size)
        .create(Memory::default(), &key)
        .expect("it can be made");
    if input.merkle {
        file = expect_room(file.with_merkle(PLACES));
    }
    file.set_barriers(input.barriers);
    let mut merkle = input.merkle;
    let mut model: Vec<u8> = Vec::new();
    for (i, step) in input.steps.iter().take(24).enumerate() {
        match step {
            Step::Write { offset, len } => {
                let offset = offset.of(chunk_size);
                let data = input.seed.bytes(i as u64 + 1, usize::from(*len % 5000));
                expect_room(file.write_at(&data, offset));
                let (start, end) = (offset as usize, offset as usize + data.len());
                if !data.is_empty() {
                    model.resize(model.len().max(end), 0);
                    model[start..end].copy_from_slice(&data);
                }
            }
            Step::Read { offset, len } => {
                let offset = offset.of(chunk_size);
                let mut buf = vec![0xee; usize::from(*len % 9000)];
                let n = expect_room(file.read_at(&mut buf, offset));
                let there = model.get(offset as usize..).unwrap_or(&[]);
                planted(&mut buf[..n]);
                assert_eq!(buf[..n], there[..buf.len().min(there.len())]);
                assert!(buf[n..].iter().all(|byte| *byte == 0xee), "written behind the end");
            }
            Step::Resize(size) => {
                let size = size.of(chunk_size);
                expect_room(file.set_size(size));
                model.resize(size as usize, 0);
            }
            Step::Sync => expect_room(file.sync()),
            Step::Verify => {
                expect_room(file.verify());
                match file.verify_tree() {
                    Ok(()) => assert!(merkle),
                    Err((_, e)) => assert!(!merkle && matches!(e, Error::NoTree), "{e}"),
                }
            }
            Step::Reopen { merkle: with } => {
                let before = merkle.then(|| expect_room(file.commitment()));
                file = expect_room(Raf::open(file.into_storage(), &key));
                if *with {
                    file = expect_room(file.with_merkle(PLACES));
                    let after = expect_room(file.commitment());
                    assert!(before.is_none_or(|before| before == after), "the commitment has changed");
                }
                merkle = *with;
            }
        }
        assert_eq!(file.size(), model.len() as u64);
    }
    let mut all = vec![0; model.len() + 1];
    assert_eq!(expect_room(file.read_at(&mut all, 0)), model.len());
    assert_eq!(all[..model.len()], model);
    let (info, bytes) = (file.info(), file.into_storage().0);
    let records = model.len().div_ceil(chunk_size as usize);
    assert_eq!(bytes.len(), HEADER_LEN + records * (chunk_size as usize + algorithm.key_len() + 16));
    hostile(&input.hostile, &key, info, bytes, &model);
}

fn hostile(hostile: &Hostile, key: &[u8], info: Info, mut bytes: Vec<u8>, model: &[u8]) {
    let record = info.chunk_size as usize + key.len() + 16;
    match hostile {
        Hostile::Nothing => return,
        Hostile::Bytes(other) => bytes = other.clone(),
        Hostile::Flips(flips) => flips.iter().take(8).for_each(|flip| _ = flip.apply(&mut bytes)),
        Hostile::Cut(n) => bytes.truncate(bytes.len().saturating_sub(usize::from(*n))),
        Hostile::Swap(a, b) => {
            let records = (bytes.len() - HEADER_LEN) / record;
            if records > 0 {
                for i in 0..record {
                    let at = |chunk: &u8| HEADER_LEN + usize::from(*chunk) % records * record + i;
                    bytes.swap(at(a), at(b));
                }
            }
        }
        Hostile::Header { algorithm, chunk_size, size } => {
            let (algorithm, size) = (algorithm % 6 + 1, *size);
            let chunk_size = chunk_size % (1 << 20 | 1);
            let header = reference::Header { algorithm, chunk_size, size, file_id: info.file_id };
            if (key.len() == 16) != (algorithm <= 3) {
                return;
            }
            let header = header.write(key);
            bytes[..HEADER_LEN].copy_from_slice(&header[..HEADER_LEN]);
        }
        Hostile::Size(difference) => {
            let size = info.size.saturating_add_signed(i64::from(*difference));
            let (algorithm, chunk_size) = (info.algorithm.id(), info.chunk_size);
            let header = reference::Header { algorithm, chunk_size, size, file_id: info.file_id }.write(key);
            bytes[..HEADER_LEN].copy_from_slice(&header[..HEADER_LEN]);
        }
    }
    let _ = probe(&mut Memory(bytes.clone()));
    let mut file = match Raf::open(Memory(bytes.clone()), key) {
        Ok(file) => file,
        Err(e) => {
            let _ = e.to_string();
            return;
        }
    };
    // Whoever has the key may say what he wants of the size; what there is must be what was written.
    let honest = file.info() == info;
    let whole = file.verify().is_ok();
    let mut at = 0;
    let step = file.info().chunk_size as usize / 2 + 1;
    let end = (file.size() as usize).min(model.len() + 8000);
    while at < end {
        let mut buf = vec![0xee; step];
        match file.read_at(&mut buf, at as u64) {
            Ok(n) => {
                let there = model.get(at..).unwrap_or(&[]);
                let n = n.min(there.len());
                assert_eq!(buf[..n], there[..n], "something came out that was never written");
            }
            Err(e) => {
                assert!(!whole || !honest, "{e}");
                assert!(buf.iter().all(|b| *b == 0), "unverified bytes were left");
            }
        }
        at += step;
    }
    // It may be changed; what is damaged stays so, or is replaced.
    if file.size() < 100_000 {
        let _ = file.write_at(b"new", 5);
        let _ = file.set_size(file.size() / 2);
        let _ = file.verify();
        let poisoned = file.is_poisoned();
        let mut storage = file.into_storage();
        // (Where the header announces more than there is, making it half as large may be making it larger.)
        assert!(
            poisoned
                || !honest
                || storage.size().expect("it is memory") <= bytes.len() as u64 + record as u64
        );
        if let Ok(file) = Raf::open(storage, key) {
            let _ = file.with_merkle(PLACES).map(|mut file| file.verify_tree());
        }
    }
}

fuzz_target!(|input: Input| check(&input));
