//! A file does what a vector of bytes does, whatever the order of operations; and what goes wrong is told.

use std::io;

use palladion_raf::{Algorithm, Error, HEADER_LEN, Memory, Options, Raf, Storage, Stream};
use proptest::prelude::*;

const CHUNK: u32 = 1024;

#[derive(Clone, Debug)]
enum Step {
    Write { offset: u64, len: usize, seed: u8 },
    Read { offset: u64, len: usize },
    Resize(u64),
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let offset = prop_oneof![0..6000_u64, (0..6_u64).prop_map(|n| n * 1024), 0..40_u64];
    let len = prop_oneof![0..50_usize, 0..3000_usize, (0..4_usize).prop_map(|n| n * 1024)];
    let step = prop_oneof![
        4 => (offset.clone(), len.clone(), any::<u8>())
            .prop_map(|(offset, len, seed)| Step::Write { offset, len, seed }),
        3 => (offset.clone(), len).prop_map(|(offset, len)| Step::Read { offset, len }),
        2 => offset.prop_map(Step::Resize),
        1 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 1..25)
}

fn key(algorithm: Algorithm) -> Vec<u8> {
    (0..algorithm.key_len() as u8).collect()
}

/// Any bytes, none of them zero.
fn data(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|i| ((i * 7) as u8 ^ seed) | 1).collect()
}

fn run<S: Storage>(algorithm: Algorithm, storage: S, steps: &[Step]) -> Raf<S> {
    let key = key(algorithm);
    let mut file = Options::default().algorithm(algorithm).chunk_size(CHUNK).create(storage, &key).unwrap();
    let mut model: Vec<u8> = Vec::new();
    for step in steps {
        match *step {
            Step::Write { offset, len, seed } => {
                let data = data(len, seed);
                file.write_at(&data, offset).unwrap();
                let (start, end) = (offset as usize, offset as usize + len);
                if len > 0 {
                    model.resize(model.len().max(end), 0);
                    model[start..end].copy_from_slice(&data);
                }
            }
            Step::Read { offset, len } => {
                let mut buf = vec![0xee; len];
                let n = file.read_at(&mut buf, offset).unwrap();
                let there = model.get(offset as usize..).unwrap_or(&[]);
                assert_eq!(buf[..n], there[..len.min(there.len())]);
                assert!(buf[n..].iter().all(|byte| *byte == 0xee));
            }
            Step::Resize(size) => {
                file.set_size(size).unwrap();
                model.resize(size as usize, 0);
            }
            Step::Reopen => file = Raf::open(file.into_storage(), &key).unwrap(),
        }
        assert_eq!(file.size(), model.len() as u64);
    }
    let mut all = vec![0; model.len() + 1];
    assert_eq!(file.read_at(&mut all, 0).unwrap(), model.len());
    assert_eq!(all[..model.len()], model);
    file.verify().unwrap();
    file
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn as_a_vector_of_bytes(steps in steps(), which in 0..6_usize) {
        let algorithm = Algorithm::ALL[which];
        let mut file = run(algorithm, Memory::default(), &steps);
        // As long as the format says.
        let records = file.size().div_ceil(CHUNK.into()) * (u64::from(CHUNK) + algorithm.key_len() as u64 + 16);
        prop_assert_eq!(file.storage_mut().size().unwrap(), HEADER_LEN as u64 + records);
        run(algorithm, Stream(io::Cursor::new(Vec::new())), &steps);
    }
}

fn file_of(len: usize) -> Vec<u8> {
    let mut file =
        Options::default().chunk_size(CHUNK).create(Memory::default(), &key(Algorithm::Aegis256X2)).unwrap();
    file.write_at(&data(len, 3), 0).unwrap();
    file.into_storage().0
}

fn open(bytes: Vec<u8>) -> Result<Raf<Memory>, Error> {
    Raf::open(Memory(bytes), &key(Algorithm::Aegis256X2))
}

#[test]
fn every_bit_counts() {
    let intact = file_of(1500);
    let record = CHUNK as usize + 48;
    for bit in (0..8 * intact.len()).step_by(3) {
        let mut bytes = intact.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        match bit / 8 {
            0..8 => assert!(matches!(open(bytes), Err(Error::NotRaf))),
            8..HEADER_LEN => assert!(matches!(
                open(bytes),
                Err(Error::Unsupported { .. } | Error::WrongKey | Error::KeyLength { .. })
            )),
            at => {
                let mut file = open(bytes).unwrap();
                let index = ((at - HEADER_LEN) / record) as u64;
                assert!(matches!(file.verify(), Err(Error::DamagedChunk { index: i }) if i == index));
                let mut buf = [0xee; 1500];
                assert!(
                    matches!(file.read_at(&mut buf, 0), Err(Error::DamagedChunk { index: i }) if i == index)
                );
                assert_eq!(buf, [0; 1500]);
                // The other one can still be read, and written to.
                let other = 1024 * (1 - index);
                assert_eq!(file.read_at(&mut buf[..10], other).unwrap(), 10);
                file.write_at(b"new", other).unwrap();
            }
        }
    }
}

#[test]
fn every_length_counts() {
    let intact = file_of(1500);
    for len in 0..intact.len() {
        match open(intact[..len].to_vec()) {
            Err(Error::NotRaf) => assert!(len < HEADER_LEN),
            Err(Error::Truncated { expected, actual }) => {
                assert_eq!((expected, actual), (intact.len() as u64, len as u64))
            }
            other => panic!("{len} bytes: {other:?}"),
        }
    }
    // What is behind the last chunk does not matter.
    open([&intact[..], b"more"].concat()).unwrap().verify().unwrap();
}

#[test]
fn chunks_have_their_place() {
    let mut bytes = file_of(2048);
    let (first, second) = bytes[HEADER_LEN..].split_at_mut(CHUNK as usize + 48);
    first.swap_with_slice(second);
    assert!(matches!(open(bytes).unwrap().verify(), Err(Error::DamagedChunk { index: 0 })));
}

#[test]
fn keys_and_existing_files() {
    let bytes = file_of(10);
    assert!(matches!(Raf::open(Memory(bytes.clone()), &[9; 32]), Err(Error::WrongKey)));
    assert!(matches!(
        Raf::open(Memory(bytes.clone()), &[9; 16]),
        Err(Error::KeyLength { expected: 32, actual: 16 })
    ));
    let create = |overwrite| Options::default().overwrite(overwrite).create(Memory(bytes.clone()), &[1; 32]);
    assert!(matches!(create(false), Err(Error::Exists)));
    assert_eq!(create(true).unwrap().size(), 0);
    for size in [0, 1008, 1025, 1032, (1 << 20) + 16] {
        let made = Options::default().chunk_size(size).create(Memory::default(), &[1; 32]);
        assert!(matches!(made, Err(Error::ChunkSize(s)) if s == size));
    }
}

#[test]
fn too_large() {
    let mut file = Options::default().create(Memory::default(), &[1; 32]).unwrap();
    assert!(matches!(file.write_at(b"x", u64::MAX), Err(Error::TooLarge)));
    assert!(matches!(file.set_size(u64::MAX), Err(Error::TooLarge)));
    file.write_at(b"still works", 0).unwrap();
}

/// Nothing of what was cut off can be seen again, and no old plaintext stays in the last chunk.
#[test]
fn cut_off_is_gone() {
    let before = file_of(1500);
    let mut file = open(before.clone()).unwrap();
    file.set_size(1100).unwrap();
    // With the header of before, which is authentic, the end of the chunk can be seen: there are zeros.
    let mut bytes = file.into_storage().0;
    let header = bytes[..HEADER_LEN].to_vec();
    bytes[..HEADER_LEN].copy_from_slice(&before[..HEADER_LEN]);
    let mut end = [1; 400];
    let mut file = open(bytes).unwrap();
    assert_eq!((file.read_at(&mut end, 1100).unwrap(), end), (400, [0; 400]));

    let mut bytes = file.into_storage().0;
    bytes[..HEADER_LEN].copy_from_slice(&header);
    let mut file = open(bytes).unwrap();
    file.set_size(3000).unwrap();
    let mut buf = [1; 3000];
    assert_eq!(file.read_at(&mut buf, 0).unwrap(), 3000);
    assert_eq!((&buf[..1100], &buf[1100..]), (&data(1100, 3)[..], &[0; 1900][..]));
}

/// A storage that fails at some operation, counted over all that change something.
struct Failing {
    memory: Memory,
    left: usize,
    /// Whether the write that fails is done by half.
    torn: bool,
}

impl Failing {
    fn next(&mut self) -> io::Result<()> {
        self.left = self.left.checked_sub(1).ok_or_else(|| io::Error::other("planned"))?;
        Ok(())
    }
}

impl Storage for Failing {
    fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.memory.read_at(buf, offset)
    }
    fn write_at(&mut self, buf: &[u8], offset: u64) -> io::Result<()> {
        if let Err(e) = self.next() {
            if self.torn {
                self.memory.write_at(&buf[..buf.len() / 2], offset)?;
            }
            return Err(e);
        }
        self.memory.write_at(buf, offset)
    }
    fn size(&mut self) -> io::Result<u64> {
        self.memory.size()
    }
    fn set_size(&mut self, size: u64) -> io::Result<()> {
        self.next()?;
        self.memory.set_size(size)
    }
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Stopped at any write, a file has the old size or the new one, and every chunk is what it was or what it was to be; if a
/// record was written by half, it alone is damaged, and says so.
#[test]
fn stopped_anywhere() {
    type Change = fn(&mut Raf<Failing>) -> Result<(), Error>;
    let changes: [(Change, u64); 4] = [
        (|file| file.write_at(&data(3000, 9), 500), 3500),
        (|file| file.write_at(b"far", 5000), 5003),
        (|file| file.set_size(700), 700),
        (|file| file.set_size(4096), 4096),
    ];
    let before = data(2500, 3);
    for (change, new_size) in changes {
        for torn in [false, true] {
            for left in 0.. {
                let storage = Failing { memory: Memory(file_of(2500)), left, torn };
                let mut file = Raf::open(storage, &key(Algorithm::Aegis256X2)).unwrap();
                let result = change(&mut file);
                if result.is_ok() {
                    break;
                }
                assert!(matches!(result, Err(Error::Io(_))));
                assert!(matches!(file.read_at(&mut [0], 0), Err(Error::Poisoned)));
                assert!(matches!(file.write_at(b"x", 0), Err(Error::Poisoned)));
                assert!(matches!(file.set_size(1), Err(Error::Poisoned)));
                let memory = file.into_storage().memory;
                let mut file = match Raf::open(memory, &key(Algorithm::Aegis256X2)) {
                    Ok(file) => file,
                    // A header that was written by half: nobody can help. (It has 64 bytes, less than a sector.)
                    Err(Error::WrongKey) if torn => continue,
                    Err(e) => panic!("{e}"),
                };
                let size = file.size();
                assert!(size == 2500 || size == new_size, "{size}");
                let mut damaged = 0;
                for start in (0..size).step_by(1024) {
                    let mut buf = vec![0xee; 1024.min(size - start) as usize];
                    match file.read_at(&mut buf, start) {
                        Ok(_) => {
                            for (i, byte) in buf.iter().enumerate() {
                                let at = start as usize + i;
                                let old = before.get(at).copied().unwrap_or(0);
                                let new = match new_size {
                                    3500 if (500..3500).contains(&at) => data(3000, 9)[at - 500],
                                    5003 if at >= 5000 => b"far"[at - 5000],
                                    700 if at >= 700 => 0,
                                    _ => old,
                                };
                                assert!(*byte == old || *byte == new, "byte {at}");
                            }
                        }
                        Err(Error::DamagedChunk { .. }) if torn => damaged += 1,
                        Err(e) => panic!("{e}"),
                    }
                }
                assert!(damaged <= 1);
            }
        }
    }
}
