//! Files with random access, as Rust and as C have them. Any sequence of operations must have the
//! same effect as on a vector of bytes, even if what a file needs from outside fails, does half of
//! its work, or returns other bytes than were written. Older chunks are put back under an open
//! file, which the Merkle tree must detect. In the end the whole file is hostile: then nothing may
//! panic, allocate much memory or return bytes that were not written.
//!
//! The fuzz target and the tests of this crate and of the C library include this module, `disk` and
//! `rust` or `c`, with `fuzz/src/input.rs` as `input`.

#![allow(dead_code)] // each test uses a part

use std::sync::MutexGuard;

use arbitrary::{Arbitrary, Unstructured};
use palladion_raf::{Algorithm, HEADER_LEN};
use palladion_reference::raf as reference;

use super::disk::{Disk, Fault, Fired, How, On, World};
use super::input::{Buffer, Flip, Offset, Seed, plant, planted};

#[derive(Arbitrary, Debug)]
pub struct Input {
    pub through_c: bool,
    pub backend: u8,
    algorithm: u8,
    chunk: u8,
    seed: Seed,
    /// Where memory that C provides begins.
    pub at: Offset,
    tree: Option<(u8, u8)>,
    barriers: bool,
    /// Properties of the storage.
    shared: bool,
    grows: bool,
    /// Now and then, pieces so long that they are processed in groups.
    long: u8,
    /// Each with what goes wrong in it.
    steps: Vec<(Step, Option<Fault>)>,
    hostile: Hostile,
}

#[derive(Arbitrary, Clone, Debug)]
enum Step {
    Write(Place, u16),
    Read(Place, u16),
    Resize(Place),
    Sync,
    Verify,
    Rebuild,
    Reopen,
    /// Keeps a copy of the storage.
    Keep,
    /// Replaces a chunk, or everything, with that of the copy for a while.
    Rollback(Option<u8>),
}

/// Offsets, mostly near the bounds of chunks.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Place {
    chunk: u8,
    within: i16,
}

impl Place {
    fn of(self, chunk_size: usize) -> usize {
        let at = i64::from(self.chunk % 6) * chunk_size as i64 + i64::from(self.within % 1100);
        at.max(0) as usize
    }
}

/// What is done to the file in the end: by someone without the key or, for headers, with it.
#[derive(Arbitrary, Clone, Debug)]
enum Hostile {
    Nothing,
    Bytes(Vec<u8>),
    Flips(Vec<Flip>),
    Cut(u16),
    /// The storage claims to have this size.
    Claims(u64),
    /// Algorithm, size of chunks and size, with a MAC that is right.
    Header(u8, u32, u64),
    /// Another size, with a MAC that is right.
    Size(i16),
}

const MOST_STEPS: usize = 24;
const SIZES: [usize; 4] = [1024, 1040, 2048, 4096];
/// Chunks are processed in groups from this many bytes on.
const LONG: usize = 256 << 10;

/// An error: its number and, if an interface tells it, the chunk where it happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fail {
    pub number: i32,
    pub chunk: Option<u64>,
}

pub type Status = Result<(), Fail>;

fn number<T>(result: &Result<T, Fail>) -> Option<i32> {
    result.as_ref().err().map(|fail| fail.number)
}

/// What both languages can do with a file.
pub trait Interface {
    fn create(&mut self) -> Status;
    fn open(&mut self) -> Status;
    fn close(&mut self);
    fn size(&mut self) -> usize;
    fn read(&mut self, out: &mut [u8], offset: usize) -> Result<usize, Fail>;
    fn write(&mut self, data: &[u8], offset: usize) -> Status;
    fn set_size(&mut self, size: usize) -> Status;
    fn sync(&mut self) -> Status;
    /// Computes the Merkle tree, which is empty after opening.
    fn rebuild(&mut self) -> Status;
    /// Verifies the tree and returns the commitment.
    fn verify_tree(&mut self) -> Result<Vec<u8>, Fail>;
}

#[derive(Clone, Copy)]
pub struct Tree {
    pub places: u64,
    pub hash_len: usize,
}

/// What a file is created and opened with.
#[derive(Clone)]
pub struct Setup {
    pub disk: Disk,
    pub algorithm: Algorithm,
    pub chunk_size: usize,
    pub key: Vec<u8>,
    pub tree: Option<Tree>,
    pub barriers: bool,
}

/// A file, and the state that it should have.
struct Model {
    file: Box<dyn Interface>,
    setup: Setup,
    contents: Vec<u8>,
    /// Whether the tree is of these contents.
    tree_matches: bool,
    /// Whether the storage has to be as long as the format says.
    is_cut: bool,
    is_long: bool,
    kept: Option<Vec<u8>>,
}

impl Input {
    /// Makes choices of random bytes, with as many steps as are taken, and something going wrong in
    /// half of them or in none.
    pub fn random(bytes: &[u8]) -> arbitrary::Result<Self> {
        let source = &mut Unstructured::new(bytes);
        let (mut input, faults) = (Self::arbitrary(source)?, bool::arbitrary(source)?);
        let steps = (0..MOST_STEPS).map(|_| Arbitrary::arbitrary(source));
        input.steps = steps.collect::<arbitrary::Result<_>>()?;
        if !faults {
            input.steps.iter_mut().for_each(|(_, fault)| *fault = None);
        }
        Ok(input)
    }
}

/// Does what the input says with a file, which is of Rust or of C.
pub fn check(input: &Input, file: impl FnOnce(Setup) -> Box<dyn Interface>) {
    let algorithm = Algorithm::ALL[usize::from(input.algorithm) % 6];
    let is_long = input.long % 8 == 7 && !input.through_c;
    // Half of the trees have hashes as long as those of the reference.
    let tree = input.tree.map(|(places, hash)| Tree {
        places: if is_long { 600 } else { [3, 7, 16][usize::from(places) % 3] },
        hash_len: if hash < 128 { 32 } else { 8 + usize::from(hash) % 57 },
    });
    let disk = Disk { world: Default::default(), shared: input.shared, grows: input.grows };
    disk.world().random = u64::from(input.algorithm);
    let setup = Setup {
        disk,
        algorithm,
        chunk_size: SIZES[usize::from(input.chunk) % 4],
        key: input.seed.bytes(0, algorithm.key_len()),
        tree,
        barriers: input.barriers,
    };
    let mut model = Model {
        file: file(setup.clone()),
        setup,
        contents: Vec::new(),
        tree_matches: true,
        is_cut: true,
        is_long,
        kept: None,
    };
    // What goes wrong in the first step goes wrong here too, unless it is a lie.
    let fault = input.steps.first().and_then(|(_, fault)| *fault);
    model.arm(fault.filter(|fault| !matches!(fault.how, How::Lies(_))));
    let result = model.file.create();
    if model.unless_fired(result) != Some(Ok(())) {
        model.disk().memory.0.clear();
        assert_eq!(model.file.create(), Ok(()));
    }
    for (i, (step, fault)) in
        input.steps.iter().take(if is_long { 10 } else { MOST_STEPS }).enumerate()
    {
        model.arm(*fault);
        model.step(step, |len| input.seed.bytes(i as u64 + 1, len));
        model.fired();
        model.check_contents();
    }
    model.file.close();
    let bytes = model.bytes();
    let len = HEADER_LEN + model.chunks() * model.record_len();
    assert!(bytes.len() == len || !model.is_cut && bytes.len() > len);
    if !is_long {
        let read = reference::read_file(&bytes, &model.setup.key);
        assert!(read.as_ref() == Ok(&model.contents), "the reference reads something else");
    }
    model.hostile(&input.hostile);
}

impl Model {
    fn disk(&self) -> MutexGuard<'_, World> {
        self.setup.disk.world()
    }

    fn bytes(&self) -> Vec<u8> {
        self.disk().memory.0.clone()
    }

    fn chunks(&self) -> usize {
        self.contents.len().div_ceil(self.setup.chunk_size)
    }

    fn record_len(&self) -> usize {
        self.setup.chunk_size + self.setup.key.len() + 16
    }

    /// Where a chunk's contents are.
    fn place(&self, chunk: usize) -> std::ops::Range<usize> {
        let start = chunk * self.setup.chunk_size;
        start..self.contents.len().min(start + self.setup.chunk_size)
    }

    /// Where a chunk's record is.
    fn record(&self, chunk: usize) -> std::ops::Range<usize> {
        let start = HEADER_LEN + chunk * self.record_len();
        start..start + self.record_len()
    }

    fn header(&self) -> reference::Header {
        reference::Header {
            algorithm: self.setup.algorithm.id(),
            chunk_size: self.setup.chunk_size as u32,
            size: self.contents.len() as u64,
            file_id: self.bytes()[24..48].try_into().expect("24 bytes"),
        }
    }

    /// The expected result of a read.
    fn there(&self, offset: usize, len: usize) -> &[u8] {
        let there = self.contents.get(offset..).unwrap_or(&[]);
        &there[..len.min(there.len())]
    }

    fn read(&mut self, offset: usize, len: usize) -> Result<Vec<u8>, Fail> {
        let mut out = Buffer::new(&vec![0xee; len], Offset(0));
        let result = self.file.read(out.bytes_mut(), offset);
        let (there, rest) = out.bytes().split_at(result.unwrap_or(0));
        let untouched = if result.is_ok() { 0xee } else { 0 };
        assert!(rest.iter().all(|b| *b == untouched), "unverified bytes, or bytes past the end");
        let mut there = there.to_vec();
        planted("bit", &mut there);
        result.map(|_| there)
    }

    fn check_contents(&mut self) {
        assert_eq!(self.file.size(), self.contents.len());
        let all = self.read(0, self.contents.len() + 1);
        let failed = all.as_ref().err();
        assert!(all.as_ref() == Ok(&self.contents), "not what was written, or {failed:?}");
    }

    /// Checks that the tree is of these contents. (The reference's hash function is slow.)
    fn check_tree(&mut self) {
        let (tree, hash) = (self.setup.tree.expect("there is one"), self.file.verify_tree());
        if tree.hash_len == 32 && !self.is_long {
            let hash_of_reference =
                reference::merkle_commitment(&self.header(), tree.places, &self.contents);
            assert_eq!(hash.as_deref(), Ok(&hash_of_reference[..]));
        }
        assert!(hash.is_ok(), "the tree of this file: {hash:?}");
    }

    fn arm(&mut self, fault: Option<Fault>) {
        let mut world = self.disk();
        let fault = fault.map(|fault| Fault { after: fault.after % 5, ..fault });
        (world.armed, world.calls) = (fault, 0);
    }

    /// Disarms, and returns what went wrong.
    fn fired(&mut self) -> Option<Fired> {
        let mut world = self.disk();
        world.armed = None;
        world.fired.take()
    }

    /// Returns the result of a call that changes nothing, or nothing if it failed as it had to.
    fn unless_fired<T>(&mut self, result: Result<T, Fail>) -> Option<Result<T, Fail>> {
        let Some(fired) = self.fired() else { return Some(result) };
        let lies = matches!(fired.fault.how, How::Lies(_));
        let actual = number(&result);
        assert!(actual == Some(fired.number) || lies && actual == Some(libc::EINVAL), "{actual:?}");
        None
    }

    fn open(&mut self) -> Status {
        self.tree_matches = self.contents.is_empty();
        self.file.open()
    }

    fn reopen(&mut self) {
        self.file.close();
        assert_eq!(self.open(), Ok(()), "opened again");
    }

    fn step(&mut self, step: &Step, data: impl Fn(usize) -> Vec<u8>) {
        let (chunk_size, is_long) = (self.setup.chunk_size, self.is_long);
        let has_tree = self.setup.tree.is_some();
        let len = |len: u16, limit: u16| {
            let long = LONG + 2 * chunk_size + 5;
            if is_long && len >= 0x8000 { long } else { (len % limit).into() }
        };
        match step {
            Step::Write(place, bytes) => {
                self.write(&data(len(*bytes, 5000)), place.of(chunk_size));
            }
            Step::Resize(place) => {
                let mut new = self.contents.clone();
                new.resize(place.of(chunk_size), 0);
                let result = self.file.set_size(new.len());
                self.changed(result, new);
            }
            Step::Read(place, bytes) => {
                let (offset, len) = (place.of(chunk_size), len(*bytes, 9000));
                let result = self.read(offset, len);
                if let Some(result) = self.unless_fired(result) {
                    let right = result.as_deref() == Ok(self.there(offset, len));
                    assert!(right, "not what was written");
                }
            }
            // It may have to finish a change that failed.
            Step::Sync => {
                let result = self.file.sync();
                self.changed(result, self.contents.clone());
            }
            Step::Rebuild if has_tree => {
                let result = self.file.rebuild();
                self.tree_matches = result.is_ok();
                self.changed(result, self.contents.clone());
                if self.tree_matches {
                    self.check_tree();
                }
            }
            Step::Verify if has_tree => {
                let result = self.file.verify_tree();
                match self.unless_fired(result) {
                    Some(Ok(_)) => self.check_tree(),
                    Some(Err(fail)) => {
                        assert!(!self.tree_matches && fail.number == libc::EBADMSG, "{fail:?}");
                    }
                    None => {}
                }
            }
            Step::Rebuild | Step::Verify => {}
            Step::Reopen => {
                let armed = self.disk().armed.take();
                self.file.close();
                self.disk().armed = armed;
                let result = self.open();
                match self.unless_fired(result) {
                    Some(result) => assert_eq!(result, Ok(())),
                    None => assert_eq!(self.open(), Ok(())),
                }
            }
            Step::Keep => self.kept = Some(self.bytes()),
            Step::Rollback(chunk) => {
                self.fired();
                self.rollback(*chunk);
            }
        }
    }

    fn write(&mut self, data: &[u8], start: usize) {
        let mut new = self.contents.clone();
        if !data.is_empty() {
            new.resize(new.len().max(start + data.len()), 0);
            new[start..start + data.len()].copy_from_slice(data);
        }
        let data = Buffer::new(data, Offset(0));
        let result = self.file.write(data.bytes(), start);
        self.changed(result, new);
    }

    /// Checks a call that makes the contents `new` if it succeeds.
    fn changed(&mut self, result: Status, new: Vec<u8>) {
        let fired = self.fired();
        let lie = fired.as_ref().and_then(Fired::lie);
        let chunks = new.len().div_ceil(self.setup.chunk_size) as u64;
        let is_full = self.setup.tree.is_some_and(|tree| chunks > tree.places);
        if result.is_ok() {
            assert!(!is_full, "more chunks than places");
            assert!(fired.is_none() || lie.is_some(), "{fired:?} was ignored");
            self.contents.clone_from(&new);
        }
        if let Some((at, flip)) = lie {
            if let Some(at) = at.checked_sub(HEADER_LEN).filter(|_| result.is_ok()) {
                self.damaged(at / self.record_len());
            }
            flip.apply(&mut self.disk().memory.0[at..=at]);
        }
        match (result, fired) {
            (Ok(()), _) => {}
            (Err(fail), None) => assert!(fail.number == libc::EOVERFLOW && is_full, "{fail:?}"),
            (Err(fail), Some(fired)) => {
                assert_eq!(fail.number, fired.number, "another error number");
                self.failed(&fired, new);
            }
        }
    }

    /// Checks the file after a change that failed in the middle. The size is the old or the new
    /// one, and every chunk has the old or the new contents, except one that was half written.
    fn failed(&mut self, fired: &Fired, mut new: Vec<u8>) {
        if fired.fault.on == On::Sync {
            // The storage may have lost what was written before, so nothing more is changed.
            self.is_cut = false;
            self.reopen();
        }
        let mut old = std::mem::take(&mut self.contents);
        let size = self.file.size();
        assert!(size == old.len() || size == new.len(), "neither the old nor the new size");
        old.resize(old.len().max(size), 0);
        new.resize(new.len().max(size), 0);
        for start in (0..size).step_by(self.setup.chunk_size) {
            let range = start..size.min(start + self.setup.chunk_size);
            match self.read(start, range.len()) {
                Ok(there) => {
                    let right = there == old[range.clone()] || there == new[range];
                    assert!(right && !plant("recovery"), "neither the old nor the new chunk");
                    self.contents.extend(there);
                }
                Err(fail) => {
                    assert_eq!(fail.number, libc::EBADMSG);
                    let half = matches!(fired.fault.how, How::Half(_));
                    let record = self.record(start / self.setup.chunk_size).start;
                    assert!(half && fired.place.contains(&record), "nobody cut it short");
                    let data = vec![0x33; range.len()];
                    assert_eq!(self.file.write(&data, start), Ok(()), "it is replaced as a whole");
                    self.contents.extend(data);
                }
            }
        }
        if fired.fault.reopen {
            self.reopen();
        } else if self.setup.tree.is_some() {
            match self.file.verify_tree() {
                Ok(_) => self.check_tree(),
                Err(fail) => assert!(fail.number == libc::EIO || !self.tree_matches, "{fail:?}"),
            }
            assert_eq!(self.file.rebuild(), Ok(()));
            self.tree_matches = true;
            self.check_tree();
        }
    }

    /// Checks that operations that need a damaged chunk fail and change nothing.
    fn damaged(&mut self, chunk: usize) {
        let (place, before) = (self.place(chunk), self.bytes());
        let is_damaged = |result: Status| {
            let fail = result.expect_err("a damaged chunk");
            let is_other = fail.chunk.is_some_and(|index| index != chunk as u64);
            assert!(fail.number == libc::EBADMSG && !is_other, "another error: {fail:?}");
        };
        for range in [0..self.contents.len(), place.clone(), place.start..place.start + 1] {
            is_damaged(self.read(range.start, range.len()).map(drop));
        }
        for range in [0..place.start, place.end..self.contents.len()] {
            let there = self.read(range.start, range.len());
            assert!(there.as_deref() == Ok(&self.contents[range]), "not what was written");
        }
        if self.setup.tree.is_some() && self.tree_matches {
            is_damaged(self.file.verify_tree().map(drop));
        }
        if place.len() > 1 {
            is_damaged(self.file.write(b"!", place.start));
            is_damaged(self.file.set_size(place.start + 1));
        }
        assert!(self.bytes() == before, "a call that failed wrote");
    }

    /// Puts back an older chunk, or everything. It is read, since it is authentic, and the tree
    /// detects it.
    fn rollback(&mut self, chunk: Option<u8>) {
        let chunks = self.chunks();
        let chunk = chunk.and_then(|chunk| usize::from(chunk).checked_rem(chunks));
        let Some(older) = self.kept.clone().filter(|_| !self.is_long || chunk.is_some()) else {
            return;
        };
        let now = self.bytes();
        let mut mixed = older.clone();
        if let Some(record) = chunk.map(|chunk| self.record(chunk)) {
            let Some(older) = older.get(record.clone()) else { return };
            mixed.clone_from(&now);
            mixed[record].copy_from_slice(older);
        }
        self.disk().memory.0.clone_from(&mixed);
        let header = self.header();
        let mut first = None;
        for chunk in 0..chunks {
            let (place, record) = (self.place(chunk), self.record(chunk));
            if mixed.get(record.clone()) == Some(&now[record.clone()]) {
                continue;
            }
            let text = mixed.get(record).and_then(|record| {
                reference::open_record(&header, &self.setup.key, chunk as u64, record).ok()
            });
            let text = text.map(|text| text[..place.len()].to_vec());
            let there = self.read(place.start, place.len());
            assert!(there.ok() == text, "neither the present chunk nor the older one");
            if text.as_deref() != Some(&self.contents[place]) {
                first.get_or_insert(chunk as u64);
            }
        }
        let checked = self.setup.tree.is_some() && self.tree_matches;
        if checked {
            let found = self.file.verify_tree().err().filter(|_| !plant("rollback"));
            let found = found.map(|fail| fail.chunk);
            assert_eq!(found, first.map(Some), "the first chunk that is another");
        }
        self.disk().memory.0 = now;
        if checked {
            self.check_tree();
        }
    }

    /// Checks that any storage gives errors or the bytes that were written.
    fn hostile(mut self, hostile: &Hostile) {
        let (mut header, key) = (self.header(), self.setup.key.clone());
        // Someone with the key can claim any size, but the bytes must be those that were written.
        let honest = !matches!(hostile, Hostile::Header(..) | Hostile::Size(_));
        let mut bytes = self.bytes();
        match hostile {
            Hostile::Nothing => return,
            Hostile::Bytes(other) => bytes.clone_from(other),
            Hostile::Flips(flips) => {
                flips.iter().take(8).for_each(|flip| _ = flip.apply(&mut bytes));
            }
            Hostile::Cut(n) => bytes.truncate(bytes.len().saturating_sub((*n).into())),
            Hostile::Claims(size) => self.disk().claimed = Some(*size),
            Hostile::Header(algorithm, chunk_size, size) => {
                header.algorithm = algorithm % 6 + 1;
                if (key.len() == 16) != (header.algorithm <= 3) {
                    return;
                }
                (header.chunk_size, header.size) = (chunk_size % (1 << 20 | 1), *size);
            }
            Hostile::Size(difference) => {
                header.size = header.size.saturating_add_signed((*difference).into());
            }
        }
        if !honest {
            bytes[..HEADER_LEN].copy_from_slice(&header.write(&key));
        }
        self.disk().memory.0 = bytes;
        if self.file.open().is_err() {
            return;
        }
        let whole = self.check_hostile(honest);
        let size = self.file.size();
        if size < 100_000 {
            let _ = self.file.rebuild();
            // It can be changed. Damaged chunks stay damaged or are replaced.
            if self.file.write(b"new", 5).is_ok() {
                let len = self.contents.len().max(8);
                self.contents.resize(len, 0);
                self.contents[5..8].copy_from_slice(b"new");
            }
            if self.file.set_size(size / 2).is_ok() {
                self.contents.truncate(size / 2);
            }
            let _ = self.file.verify_tree();
            self.file.close();
            // With another size in the header, other bytes may belong to the file.
            if self.file.open().is_ok() && honest {
                assert!(self.check_hostile(honest) || !whole);
            }
        }
        self.file.close();
    }

    /// Reads what there is, and returns whether all of it can be read.
    fn check_hostile(&mut self, honest: bool) -> bool {
        let size = self.file.size();
        assert!(!honest || size == self.contents.len());
        let step = self.setup.chunk_size / 2 + 1;
        let mut whole = true;
        for at in (0..size.min(self.contents.len() + 8000)).step_by(step) {
            let Ok(mut there) = self.read(at, step) else {
                whole = false;
                continue;
            };
            let expected = self.there(at, step);
            assert!(!honest || there.len() == expected.len());
            there.truncate(expected.len());
            planted("hostile", &mut there);
            let right = there == expected[..there.len()];
            assert!(right, "something came out that was never written");
        }
        whole
    }
}
