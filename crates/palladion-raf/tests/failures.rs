//! Whatever fails, and whenever: the file is as before or as it was to be, chunk by chunk, nothing
//! wrong is read, and the same change made again succeeds.

use std::io;

use palladion_raf::merkle::{Sha256, Tree, tree_len};
use palladion_raf::{Algorithm, Environment, Error, Info, Memory, Options, Raf, Storage};

use crate::disk::{Disk, On};

const CHUNK: usize = 1024;
const RECORD: usize = CHUNK + 48;
const KEY: [u8; 32] = [5; 32];
const PLACES: u64 = 13;
const OLD: usize = 2500;

const NEEDS: [On; 6] = [On::Read, On::Write, On::Size, On::SetSize, On::Sync, On::Random];

/// An environment with memory of its own for what is read, or without.
struct Own<const BULK: bool>(Disk);

impl<const BULK: bool> Environment for Own<BULK> {
    type Buffer = Vec<u8>;
    type Hasher = Sha256;
    const BULK: bool = BULK;

    fn random(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.0.random(bytes)
    }
}

type File<const BULK: bool> = Raf<Disk, Own<BULK>>;

fn room(info: &Info) -> Result<Vec<u8>, Error> {
    Ok(vec![0; info.record_len()])
}

fn data(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|i| ((i * 7) as u8 ^ seed) | 1).collect()
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Read(usize, usize),
    Write(usize, usize),
    Resize(usize),
    Sync,
    Verify,
    Rebuild,
    VerifyTree,
}

const STEPS: [Step; 17] = [
    Step::Read(0, 3000),
    Step::Read(1500, 10),
    Step::Write(10, 20),
    Step::Write(0, CHUNK),
    Step::Write(500, 1500),
    Step::Write(OLD, 10),
    Step::Write(2000, 3000),
    Step::Write(6000, 100),
    Step::Resize(2600),
    Step::Resize(5000),
    Step::Resize(2100),
    Step::Resize(1024),
    Step::Resize(0),
    Step::Sync,
    Step::Verify,
    Step::Rebuild,
    Step::VerifyTree,
];

impl Step {
    fn take<const BULK: bool>(self, file: &mut File<BULK>) -> Result<(), Error> {
        match self {
            Self::Read(offset, len) => {
                let mut buf = vec![0xee; len];
                let read = file.read_at(&mut buf, offset as u64);
                assert!(read.is_ok() || buf == vec![0; len], "unverified bytes were left");
                read.map(drop)
            }
            Self::Write(offset, len) => file.write_at(&data(len, 9), offset as u64),
            Self::Resize(size) => file.set_size(size as u64),
            Self::Sync => file.sync(),
            Self::Verify => file.verify(),
            Self::Rebuild => file.rebuild_tree(),
            Self::VerifyTree => file.verify_tree().map_err(|(_, error)| error),
        }
    }

    fn model(self, mut contents: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Write(offset, len) => {
                contents.resize(contents.len().max(offset + len), 0);
                contents[offset..offset + len].copy_from_slice(&data(len, 9));
            }
            Self::Resize(size) => contents.resize(size, 0),
            _ => {}
        }
        contents
    }
}

fn tree() -> Tree<Sha256, Vec<u8>> {
    let nodes = vec![0; tree_len(PLACES, Sha256::LEN).unwrap()];
    Tree::new(Sha256, nodes, PLACES, Sha256::LEN).unwrap()
}

fn commitment(bytes: &[u8]) -> Vec<u8> {
    let file = Raf::open(Memory(bytes.to_vec()), &KEY).unwrap();
    file.with_merkle(PLACES).unwrap().commitment().unwrap()
}

/// That a file is the old one or the new one, chunk by chunk; tells whether a chunk is damaged.
fn mixed<S: Storage, E: Environment>(file: &Raf<S, E>, versions: [&[u8]; 2], what: &str) -> bool {
    let size = file.size() as usize;
    assert!(versions.iter().any(|version| version.len() == size), "{what}: size {size}");
    let mut damaged = 0;
    for start in (0..size).step_by(CHUNK) {
        let mut buf = vec![0xee; CHUNK.min(size - start)];
        match file.read_at(&mut buf, start as u64) {
            Ok(n) => assert_eq!(n, buf.len(), "{what}"),
            Err(Error::DamagedChunk { .. }) => {
                damaged += 1;
                continue;
            }
            Err(e) => panic!("{what}: {e}"),
        }
        let is = |version: &[u8]| {
            let mut chunk: Vec<u8> = version.iter().copied().skip(start).take(buf.len()).collect();
            chunk.resize(buf.len(), 0);
            chunk == buf
        };
        assert!(versions.into_iter().any(is), "{what}: bytes from {start} on");
    }
    assert!(damaged <= 1, "{what}");
    damaged > 0
}

fn everything_fails<const BULK: bool>() {
    let old = data(OLD, 3);
    let mut storage = Memory::default();
    let options = Options::default().algorithm(Algorithm::Aegis256).chunk_size(CHUNK as u32);
    options.create(&mut storage, &KEY).unwrap().write_at(&old, 0).unwrap();
    let mut failures = 0;
    for (step, need, torn, barriers, with_tree) in STEPS.into_iter().flat_map(|step| {
        let cases = NEEDS.into_iter().flat_map(|need| (0..8).map(move |bits| (need, bits)));
        cases.map(move |(need, bits)| (step, need, bits & 1 > 0, bits & 2 > 0, bits & 4 > 0))
    }) {
        if matches!(step, Step::Rebuild | Step::VerifyTree) && !with_tree {
            continue;
        }
        let new = step.model(old.clone());
        for left in 0.. {
            let what = format!("{step:?}, {need:?} {left}, torn {torn}, barriers {barriers}");
            let disk = Disk::default();
            disk.world().memory = storage.clone();
            let environment = Own::<BULK>(disk.clone());
            let found = palladion_raf::Found::new(disk.clone()).unwrap();
            let mut file = found.open_in(&KEY, environment, room).unwrap();
            file.set_barriers(barriers);
            if with_tree {
                file.attach(tree()).unwrap();
                file.rebuild_tree().unwrap();
            }
            disk.fail(need, left, torn);
            let result = step.take(&mut file);
            disk.work_again();
            if disk.world().fired.is_none() {
                result.unwrap();
                break;
            }
            failures += 1;
            let error = result.unwrap_err();
            assert!(matches!(error, Error::Io(_) | Error::NoRandomness(_)), "{what}");
            assert!(std::error::Error::source(&error).is_some(), "{what}");

            // Nothing wrong is read, and nothing wrong is attested.
            let damaged = mixed(&file, [&old, &new], &what);
            assert!(!damaged || torn && need == On::Write, "{what}");
            if with_tree {
                match file.commitment() {
                    // Every chunk is what it was, so this is the commitment of the old file.
                    Ok(hash) => assert_eq!(hash, commitment(&storage.0), "{what}"),
                    Err(Error::Poisoned) => assert!(file.is_poisoned(), "{what}"),
                    Err(e) => panic!("{what}: {e}"),
                }
            }
            // Opening the file now gives the same, unless a header was written in part.
            let bytes = disk.world().memory.0.clone();
            match Raf::open(Memory(bytes), &KEY) {
                Ok(other) => _ = mixed(&other, [&old, &new], &what),
                Err(Error::WrongKey) => assert!(torn && need == On::Write, "{what}"),
                Err(e) => panic!("{what}: {e}"),
            }

            // Once more.
            let mut is_cut = true;
            match step.take(&mut file) {
                Ok(()) => {}
                Err(Error::SyncFailed) => {
                    // Only opening the file again shows what is on the disk.
                    assert_eq!(need, On::Sync, "{what}");
                    file.verify().unwrap();
                    file = palladion_raf::Found::new(disk.clone())
                        .unwrap()
                        .open_in(&KEY, Own::<BULK>(disk.clone()), room)
                        .unwrap();
                    if with_tree {
                        file.attach(tree()).unwrap();
                        file.rebuild_tree().unwrap();
                    }
                    step.take(&mut file).unwrap();
                    // If the new header is there, nothing is left to do, and nobody knows of the
                    // bytes past the end.
                    is_cut = !(barriers && new.len() < OLD);
                }
                // There was no memory in which to keep what the storage wrote in part.
                Err(Error::DamagedChunk { index }) if damaged && !BULK => {
                    file.write_at(&[1; CHUNK], index * CHUNK as u64).unwrap();
                    continue;
                }
                // A tree that does not match is not verified.
                Err(Error::Poisoned) if with_tree => file.rebuild_tree().unwrap(),
                Err(e) => panic!("{what}, again: {e}"),
            }
            assert!(!file.is_poisoned(), "{what}");
            let mut found = vec![0xee; new.len() + 1];
            if damaged && !BULK {
                // The step need not have touched the chunk again.
                if file.read_at(&mut found, 0).is_err() {
                    continue;
                }
            }
            assert_eq!(file.read_at(&mut found, 0).unwrap(), new.len(), "{what}");
            assert!(found[..new.len()] == new, "{what}");
            let bytes = disk.world().memory.0.clone();
            let len = 64 + new.len().div_ceil(CHUNK) * RECORD;
            assert!(bytes.len() == len || !is_cut && bytes.len() > len, "{what}");
            let mut found = vec![0xee; new.len() + 1];
            let other = Raf::open(Memory(bytes.clone()), &KEY).unwrap();
            assert_eq!(other.read_at(&mut found, 0).unwrap(), new.len(), "{what}");
            assert!(found[..new.len()] == new, "{what}");
            if with_tree {
                match file.commitment() {
                    Ok(hash) => assert_eq!(hash, commitment(&bytes), "{what}"),
                    Err(Error::Poisoned) => {}
                    Err(e) => panic!("{what}: {e}"),
                }
                file.rebuild_tree().unwrap();
                file.verify_tree().unwrap();
                assert_eq!(file.commitment().unwrap(), commitment(&bytes), "{what}");
            }
            // Nothing that was cut off is left past the end of the last chunk: it comes back as
            // zeros if someone restores the header.
            if new.len() < OLD && !new.is_empty() && is_cut {
                let mut bytes = bytes;
                bytes[..64].copy_from_slice(&storage.0[..64]);
                bytes.resize(storage.0.len(), 0);
                let end = new.len().next_multiple_of(CHUNK).min(OLD);
                let mut tail = vec![0xee; end - new.len()];
                let other = Raf::open(Memory(bytes), &KEY).unwrap();
                other.read_at(&mut tail, new.len() as u64).unwrap();
                assert!(tail.iter().all(|byte| *byte == 0), "{what}");
            }
        }
    }
    assert!(failures > 300, "{failures}"); // otherwise this was no test
}

#[test]
fn everything_fails_once() {
    everything_fails::<true>();
}

/// As from C: the file has memory for one record only.
#[test]
fn everything_fails_once_without_memory() {
    everything_fails::<false>();
}

/// If only one write fails, the old header takes the place of one that was written in part, and a
/// program that ends then leaves a file that can be opened.
#[test]
fn a_torn_header() {
    for (size, left) in [10, 5000].into_iter().flat_map(|size| (0..4).map(move |left| (size, left)))
    {
        let disk = Disk::default();
        let options = Options::default().chunk_size(CHUNK as u32);
        let mut file = options.create(disk.clone(), &KEY).unwrap();
        file.write_at(&data(OLD, 3), 0).unwrap();
        disk.fail(On::Write, left, true);
        disk.world().stays = false;
        let result = file.set_size(size as u64);
        assert_eq!(result.is_err(), disk.world().fired.is_some());
        let expected = if result.is_ok() || size < OLD && left > 0 { size } else { OLD };
        assert_eq!(Raf::open(file.into_storage(), &KEY).unwrap().size(), expected as u64);
    }
}

/// Without random numbers, as in a test of libaegis: the size stays, and the file can be used.
#[test]
fn no_random_numbers() {
    let disk = Disk::default();
    let options = Options::default().algorithm(Algorithm::Aegis128L).chunk_size(CHUNK as u32);
    let mut file =
        options.create_in(disk.clone(), &KEY[..16], Own::<false>(disk.clone()), room).unwrap();
    file.write_at(b"text", 0).unwrap();
    disk.fail(On::Random, 0, false);
    assert!(matches!(file.set_size(5000), Err(Error::NoRandomness(_))));
    assert_eq!(file.size(), 4);
    assert!(matches!(file.write_at(b"x", 1), Err(Error::NoRandomness(_))));
    // A file can be emptied and synced all the same.
    file.sync().unwrap();
    let mut buf = [0; 9];
    assert_eq!((file.read_at(&mut buf, 0).unwrap(), &buf[..4]), (4, &b"text"[..]));
    disk.work_again();
    file.set_size(5000).unwrap();
    assert_eq!(file.size(), 5000);
}

/// A long write, part of which several threads do.
#[test]
fn long_writes() {
    let disk = Disk::default();
    let options = Options::default().chunk_size(CHUNK as u32);
    let mut file = options.create(disk.clone(), &KEY).unwrap();
    let len = 300 * CHUNK + 17;
    file.write_at(&data(len, 3), 0).unwrap();
    for (left, torn) in [(0, false), (1, false), (0, true), (1, true)] {
        disk.fail(On::Write, left, torn);
        assert!(matches!(file.write_at(&data(len, 9), 5), Err(Error::Io(_))));
        disk.work_again();
        file.write_at(&data(len, 9), 5).unwrap();
        let mut found = vec![0; len + 5];
        assert_eq!(file.read_at(&mut found, 0).unwrap(), len + 5);
        assert!(found[..5] == data(len, 3)[..5] && found[5..] == data(len, 9));
    }
}

/// With barriers, chunks that the header on disk may still promise are not given back, however
/// often one tries.
#[test]
fn nothing_is_cut_before_the_header_is_on_disk() {
    let disk = Disk::default();
    let options = Options::default().chunk_size(CHUNK as u32);
    let mut file = options.create(disk.clone(), &KEY).unwrap();
    file.write_at(&data(OLD, 3), 0).unwrap();
    file.set_barriers(true);
    let len = || disk.world().memory.size().unwrap();
    let before = len();
    disk.fail(On::Sync, 0, false);
    assert!(matches!(file.set_size(10), Err(Error::Io(_))));
    disk.work_again();
    for _ in 0..3 {
        assert!(matches!(file.recover(), Err(Error::SyncFailed)));
        assert!(matches!(file.sync(), Err(Error::SyncFailed)));
        assert!(matches!(file.write_at(b"x", 5), Err(Error::SyncFailed)));
        assert_eq!((len(), file.size()), (before, 10));
    }
    let mut file = Raf::open(file.into_storage(), &KEY).unwrap();
    file.set_barriers(true);
    file.set_size(5).unwrap();
    let mut found = [0; 10];
    assert_eq!(file.read_at(&mut found, 0).unwrap(), 5);
    assert_eq!(found[..5], data(OLD, 3)[..5]);
    assert_eq!(len(), 64 + RECORD as u64);
}
