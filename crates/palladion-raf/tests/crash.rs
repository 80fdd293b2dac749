//! The process is killed, or the machine loses power, at any moment: after reopening the size is
//! one that was valid, and every chunk is an old one or a new one.

use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::Command;

use crate::disk::{Disk, World};
use crate::random::Random;
use palladion_raf::{Algorithm, Error, Memory, Options, Raf, Storage};

const CHUNK: usize = 1024;
const KEY: [u8; 32] = [5; 32];

#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, data: Vec<u8> },
    Resize(usize),
    Sync,
}

/// Changes that take a file through all that can happen to its size.
fn workload(seed: u64, len: usize) -> Vec<Change> {
    let mut random = Random(seed);
    let place = |random: &mut Random| match random.below(3) {
        0 => random.below(6) * CHUNK,
        1 => random.below(6 * CHUNK),
        _ => random.below(60),
    };
    (0..len)
        .map(|_| match random.below(8) {
            0..5 => {
                let (offset, len) = (place(&mut random), 1 + place(&mut random));
                Change::Write {
                    offset,
                    data: (0..len).map(|_| random.number() as u8 | 1).collect(),
                }
            }
            5 | 6 => Change::Resize(place(&mut random)),
            _ => Change::Sync,
        })
        .collect()
}

impl Change {
    fn make(&self, file: &mut Raf<&mut dyn Storage>) -> Result<(), Error> {
        match self {
            Self::Write { offset, data } => file.write_at(data, *offset as u64),
            Self::Resize(size) => file.set_size(*size as u64),
            Self::Sync => file.sync(),
        }
    }

    /// The same to a vector of bytes.
    fn model(&self, contents: &mut Vec<u8>) {
        match self {
            Self::Write { offset, data } => {
                contents.resize(contents.len().max(offset + data.len()), 0);
                contents[*offset..offset + data.len()].copy_from_slice(data);
            }
            Self::Resize(size) => contents.resize(*size, 0),
            Self::Sync => {}
        }
    }
}

fn create(storage: &mut dyn Storage) -> Raf<&mut dyn Storage> {
    let options = Options::default().algorithm(Algorithm::Aegis256).chunk_size(CHUNK as u32);
    options.create(storage, &KEY).unwrap()
}

/// Returns what of one of the contents would be in a chunk of a file of a size.
fn chunk(contents: &[u8], chunk: usize, size: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = contents.iter().copied().skip(chunk * CHUNK).take(CHUNK).collect();
    bytes.resize(CHUNK.min(size - chunk * CHUNK), 0);
    bytes
}

/// That a file is made of these contents: its size is that of one, and each chunk is that of one.
fn check(storage: &mut dyn Storage, versions: &[Vec<u8>], what: &str) {
    let mut file = Raf::open(storage, &KEY).unwrap();
    let size = file.size() as usize;
    assert!(versions.iter().any(|contents| contents.len() == size), "{what}: size {size}");
    for index in 0..size.div_ceil(CHUNK) {
        let mut buf = vec![0xee; CHUNK.min(size - index * CHUNK)];
        assert_eq!(
            file.read_at(&mut buf, (index * CHUNK) as u64).unwrap(),
            buf.len(),
            "{what}: chunk {index}"
        );
        assert!(
            versions.iter().any(|contents| chunk(contents, index, size) == buf),
            "{what}: chunk {index}"
        );
    }
    // And it goes on.
    file.write_at(b"on", size as u64).unwrap();
    file.verify().unwrap();
}

/// Counts what is done to a storage, and ends the process at some point.
struct Counting<'a> {
    storage: &'a mut dyn Storage,
    done: &'a Cell<usize>,
    last: usize,
}

impl Counting<'_> {
    fn count(&self) {
        if self.done.get() == self.last {
            std::process::abort();
        }
        self.done.set(self.done.get() + 1);
    }
}

impl Storage for Counting<'_> {
    fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.storage.read_at(buf, offset)
    }
    fn write_at(&mut self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.count();
        self.storage.write_at(buf, offset)
    }
    fn size(&mut self) -> io::Result<u64> {
        self.storage.size()
    }
    fn set_size(&mut self, size: u64) -> io::Result<()> {
        self.count();
        self.storage.set_size(size)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.storage.sync()
    }
    fn grows(&self) -> bool {
        self.storage.grows()
    }
}

const SEED: u64 = 20;
const CHANGES: usize = 14;
/// Tells the process that is to be killed when, and which file it is to work on.
const WHEN: &str = "PALLADION_RAF_KILL_AFTER";
const WHERE: &str = "PALLADION_RAF_KILL_FILE";

/// Not a test: the process that [`killed_at_every_write`] starts.
#[test]
fn victim() {
    let (Ok(when), Some(path)) = (std::env::var(WHEN), std::env::var_os(WHERE)) else { return };
    let mut storage = File::options().read(true).write(true).create_new(true).open(path).unwrap();
    let (storage, done) = (&mut storage, &Cell::new(0));
    let mut counting = Counting { storage, done, last: when.parse().unwrap() };
    let mut file = create(&mut counting);
    for change in workload(SEED, CHANGES) {
        change.make(&mut file).unwrap();
    }
}

#[test]
fn killed_at_every_write() {
    // What the file is after each change, and how much had been done to the storage by then.
    let (storage, done) = (&mut Memory::default(), &Cell::new(0));
    let mut counting = Counting { storage, done, last: usize::MAX };
    let mut file = create(&mut counting);
    let mut versions = vec![(done.get(), Vec::new())];
    for change in workload(SEED, CHANGES) {
        change.make(&mut file).unwrap();
        let mut contents = versions[versions.len() - 1].1.clone();
        change.model(&mut contents);
        versions.push((done.get(), contents));
    }
    let (all, _) = versions[versions.len() - 1];
    assert!(all > 30);

    let folder = std::env::temp_dir().join(format!("palladion-raf-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    for when in versions[0].0..=all {
        let path = folder.join(format!("{when}.raf"));
        let status = victim_of(&path, when);
        assert_eq!(status.success(), when == all, "{when}: {status}");
        let mut file = File::options().read(true).write(true).open(&path).unwrap();
        // The change in which it happened, or after which.
        let next = versions.iter().position(|(done, _)| *done > when).unwrap_or(versions.len() - 1);
        let candidates: Vec<_> =
            versions[next.saturating_sub(1)..=next].iter().map(|(_, c)| c.clone()).collect();
        check(&mut file, &candidates, &format!("killed after {when}"));
    }
    fs::remove_dir_all(folder).unwrap();
}

fn victim_of(path: &Path, when: usize) -> std::process::ExitStatus {
    let this = std::env::current_exe().unwrap();
    let mut command = Command::new(this);
    command.args(["--exact", "crash::victim"]).env(WHEN, when.to_string()).env(WHERE, path);
    command.output().unwrap().status
}

/// Goes through workloads and cuts the power often; gives what is left, and all contents since the
/// last sync.
fn power_cuts(
    barriers: bool,
    mut cut: impl FnMut(&World, &mut Random) -> Memory,
    mut look: impl FnMut(Memory, &[Vec<u8>], &str),
) {
    for seed in 0..150 {
        let mut random = Random(seed ^ 0xabcd);
        let mut disk = Disk { grows: true, ..Disk::default() };
        let watched = disk.clone();
        watched.world().synced = Some(Default::default());
        let mut file = create(&mut disk);
        file.set_barriers(barriers);
        file.sync().unwrap();
        let mut versions = vec![Vec::new()];
        for (i, change) in workload(seed, 12).iter().enumerate() {
            change.make(&mut file).unwrap();
            let mut contents = versions[versions.len() - 1].clone();
            change.model(&mut contents);
            if matches!(change, Change::Sync) {
                versions.clear();
            }
            versions.push(contents);
            for _ in 0..4 {
                let left = cut(&watched.world(), &mut random);
                look(left, &versions, &format!("workload {seed}, change {i}"));
            }
        }
    }
}

/// With barriers, whatever was lost of what was not synced.
#[test]
fn power_cut_with_barriers() {
    power_cuts(
        true,
        |disk, random| disk.cut(|_| random.below(2) == 0),
        |mut left, versions, what| check(&mut left, versions, what),
    );
}

/// Without barriers, if the storage keeps the order of what is done to it.
#[test]
fn power_cut_in_order() {
    power_cuts(
        false,
        |disk, random| {
            let done = disk.synced.as_ref().map_or(0, |(_, done)| done.len());
            let first_lost = random.below(done + 1);
            disk.cut(|i| i < first_lost)
        },
        |mut left, versions, what| check(&mut left, versions, what),
    );
}

/// Without barriers, and in any order, the size may be another, or records may be missing: but
/// never is anything given out that was not written (or zeros, where the file was longer or
/// shorter).
#[test]
fn power_cut_without_barriers() {
    let (mut damaged, mut truncated) = (0, 0);
    power_cuts(
        false,
        |disk, random| disk.cut(|_| random.below(2) == 0),
        |left, versions, what| {
            let file = match Raf::open(left, &KEY) {
                Ok(file) => file,
                Err(Error::Truncated { .. }) => {
                    truncated += 1;
                    return;
                }
                Err(e) => panic!("{what}: {e}"),
            };
            let size = file.size() as usize;
            assert!(versions.iter().any(|contents| contents.len() == size), "{what}: size {size}");
            for index in 0..size.div_ceil(CHUNK) {
                let mut buf = vec![0xee; CHUNK.min(size - index * CHUNK)];
                match file.read_at(&mut buf, (index * CHUNK) as u64) {
                    Ok(_) => {
                        assert!(
                            versions.iter().any(|c| chunk(c, index, size) == buf),
                            "{what}: chunk {index}"
                        );
                    }
                    Err(Error::DamagedChunk { index: i }) => {
                        assert_eq!(i, index as u64);
                        damaged += 1;
                    }
                    Err(e) => panic!("{what}: {e}"),
                }
            }
        },
    );
    // Otherwise this was no test.
    assert!(damaged > 10 && truncated > 10, "{damaged} {truncated}");
}
