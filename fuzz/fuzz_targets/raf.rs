//! Files with random access. Any sequence of operations must have the same effect as on a vector of
//! bytes. Whatever the storage contains, nothing may panic, allocate much memory or return bytes
//! that were not written. Older chunks are put back, which the Merkle tree must detect, and bits
//! are flipped under an open file.

#![no_main]

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Mutex;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use palladion::Buffer;
use palladion_fuzz::{AnyBackend, Flip, Seed, plant, planted};
use palladion_raf::merkle::{Sha256, Tree, tree_len};
use palladion_raf::{
    Algorithm, Cursor, Error, HEADER_LEN, Info, Memory, Options, Raf, ReadOnly, Shared, Storage,
    Stream, derive_master_key, probe,
};
use palladion_reference::raf as reference;

#[derive(Arbitrary, Debug)]
struct Input {
    backend: AnyBackend,
    algorithm: u8,
    chunk: u8,
    seed: Seed,
    /// The key is derived from another, with a context of this many bytes.
    context: Option<u8>,
    merkle: bool,
    /// How many chunks the Merkle tree has places for.
    places: u8,
    barriers: bool,
    /// Several threads may use the storage at once.
    shared: bool,
    /// Now and then, pieces so long that they are processed in groups.
    long: u8,
    steps: Vec<Step>,
    hostile: Hostile,
}

#[derive(Arbitrary, Clone, Debug)]
enum Step {
    Write {
        offset: Offset,
        len: u16,
    },
    Read {
        offset: Offset,
        len: u16,
    },
    Resize(Offset),
    Sync,
    Verify,
    Reopen {
        merkle: bool,
    },
    Long {
        offset: Offset,
        write: bool,
    },
    /// Keeps a copy of the file. Another is made before the second write or before a change that is
    /// made for it.
    Keep,
    /// Replaces a chunk, or the whole file, with that of the copy for a while.
    Rollback {
        chunk: u8,
    },
    RollbackAll,
    /// A bit of a chunk's record is flipped for a while.
    Damage {
        chunk: u8,
        flip: Flip,
        then: Then,
    },
    ReadOnly,
    Stream(Offset),
    Cursor(Vec<At>),
    /// A Merkle tree that knows nothing, and is rebuilt.
    Attach,
}

/// What is done while a chunk is damaged.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Then {
    Read,
    WritePart,
    WriteWhole,
    Cut,
    Verify,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum At {
    Read(u16),
    Write(u16),
    Start(Offset),
    End(i16),
    Current(i16),
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

/// What is done to the file in the end: by someone without the key or, for headers, with it.
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

const SIZES: [u32; 4] = [1024, 1040, 2048, 4096];
/// Chunks are processed in groups from this many bytes on.
const LONG: usize = 256 << 10;

/// A file in memory, for one thread or for several.
struct Disk {
    memory: Mutex<Memory>,
    shared: bool,
}

impl Disk {
    fn new(bytes: Vec<u8>, shared: bool) -> Self {
        Self { memory: Mutex::new(Memory(bytes)), shared }
    }
    fn memory(&mut self) -> &mut Memory {
        self.memory.get_mut().expect("nobody panics")
    }
    fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.memory().0
    }
}

impl Storage for Disk {
    fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.memory().read_at(buf, offset)
    }
    fn write_at(&mut self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.memory().write_at(buf, offset)
    }
    fn size(&mut self) -> io::Result<u64> {
        self.memory().size()
    }
    fn set_size(&mut self, size: u64) -> io::Result<()> {
        self.memory().set_size(size)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.memory().sync()
    }
    fn shared(&self) -> Option<&dyn Shared> {
        self.shared.then_some(self)
    }
}

impl Shared for Disk {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.memory.lock().expect("nobody panics").read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.memory.lock().expect("nobody panics").write_at(buf, offset)
    }
}

fn expect_room<T>(result: Result<T, Error>) -> T {
    result.expect("there is room, and nothing is damaged")
}

/// The expected state of the file.
struct Model {
    contents: Vec<u8>,
    key: Vec<u8>,
    chunk_size: usize,
    /// Whether there is a Merkle tree.
    places: Option<u64>,
}

impl Model {
    fn chunks(&self) -> usize {
        self.contents.len().div_ceil(self.chunk_size)
    }

    /// Where a chunk's contents are.
    fn place(&self, chunk: usize) -> std::ops::Range<usize> {
        let start = chunk * self.chunk_size;
        start..self.contents.len().min(start + self.chunk_size)
    }

    /// Applies a change that gives the file this length if it succeeds. Returns whether it did.
    fn changed(&self, result: Result<(), Error>, new_len: usize) -> bool {
        let chunks = new_len.max(self.contents.len()).div_ceil(self.chunk_size) as u64;
        match result {
            Ok(()) => assert!(
                self.places.is_none_or(|places| chunks <= places),
                "more chunks than places"
            ),
            Err(Error::TreeFull { max_chunks }) => {
                assert!(self.places == Some(max_chunks) && chunks > max_chunks, "there is room");
                return false;
            }
            Err(e) => panic!("{e}"),
        }
        true
    }

    fn write(&mut self, file: &mut Raf<Disk>, data: &[u8], offset: u64) {
        let (start, end) = (offset as usize, offset as usize + data.len());
        let result = file.write_at(data, offset);
        if data.is_empty() {
            expect_room(result);
        } else if self.changed(result, end) {
            self.written(data, start);
        }
    }

    fn written(&mut self, data: &[u8], start: usize) {
        let end = start + data.len();
        self.contents.resize(self.contents.len().max(end), 0);
        self.contents[start..end].copy_from_slice(data);
    }

    /// The expected result of a read.
    fn there(&self, offset: u64, len: usize) -> &[u8] {
        let there = self.contents.get(offset as usize..).unwrap_or(&[]);
        &there[..len.min(there.len())]
    }

    fn read(&self, file: &mut Raf<Disk>, offset: u64, len: usize) {
        let mut buf = vec![0xee; len];
        let n = expect_room(file.read_at(&mut buf, offset));
        planted("bit", &mut buf[..n]);
        if n >= LONG && plant("long") {
            buf[LONG - 1] ^= 1;
        }
        assert!(buf[..n] == *self.there(offset, len), "not what was written");
        assert!(buf[n..].iter().all(|byte| *byte == 0xee), "written behind the end");
    }

    fn header(&self, info: Info) -> reference::Header {
        let (algorithm, chunk_size) = (info.algorithm.id(), info.chunk_size);
        reference::Header {
            algorithm,
            chunk_size,
            size: self.contents.len() as u64,
            file_id: info.file_id,
        }
    }

    /// Checks that the tree matches the file and the commitment matches the reference.
    fn verify_tree(&self, file: &mut Raf<Disk>) {
        let Some(places) = self.places else {
            assert!(matches!(file.verify_tree(), Err((None, Error::NoTree))));
            return;
        };
        file.verify_tree().expect("nothing is damaged");
        // (The reference's hash function is slow.)
        if places < 100 {
            let expected =
                reference::merkle_commitment(&self.header(file.info()), places, &self.contents);
            assert_eq!(expect_room(file.commitment()), expected);
        }
    }

    /// What the reference finds in a record.
    fn open(&self, file: &Raf<Disk>, bytes: &[u8], chunk: usize) -> Option<Vec<u8>> {
        let record = file.info().record_len();
        let record = bytes.get(HEADER_LEN + chunk * record..HEADER_LEN + (chunk + 1) * record)?;
        let opened =
            reference::open_record(&self.header(file.info()), &self.key, chunk as u64, record);
        Some(opened.expect("it was written"))
    }
}

fn check(input: &Input) {
    input.backend.set();
    let algorithm = Algorithm::ALL[usize::from(input.algorithm) % 6];
    let chunk_size = SIZES[usize::from(input.chunk) % 4];
    let key = master_key(input, input.seed.bytes(0, algorithm.key_len()));
    let long_ones = input.long % 4 == 3;
    let places = if long_ones { 600 } else { [3, 7, 16][usize::from(input.places) % 3] };
    let disk = |bytes| Disk::new(bytes, input.shared);
    let options = Options::default().algorithm(algorithm).chunk_size(chunk_size);
    let mut file = options.create(disk(Vec::new()), &key).expect("it can be made");
    if input.merkle {
        file = expect_room(file.with_merkle(places));
    }
    file.set_barriers(input.barriers);
    let record = file.info().record_len();
    let mut model = Model {
        contents: Vec::new(),
        key,
        chunk_size: chunk_size as usize,
        places: input.merkle.then_some(places),
    };
    let mut kept: Option<(Vec<u8>, Vec<u8>)> = None;
    let mut long = 0;
    for (i, step) in input.steps.iter().take(if long_ones { 10 } else { 24 }).enumerate() {
        let data = |len: usize| input.seed.bytes(i as u64 + 1, len);
        match step {
            Step::Write { offset, len } => {
                if kept.is_none() && !model.contents.is_empty() {
                    kept = Some((file.storage_mut().bytes().clone(), model.contents.clone()));
                }
                model.write(&mut file, &data(usize::from(*len % 5000)), offset.of(chunk_size));
            }
            Step::Read { offset, len } => {
                model.read(&mut file, offset.of(chunk_size), usize::from(*len % 9000));
            }
            Step::Long { offset, write } => {
                if !long_ones || long == 2 {
                    continue;
                }
                long += 1;
                let (len, offset) = (LONG + 2 * chunk_size as usize + 5, offset.of(chunk_size));
                if *write {
                    model.write(&mut file, &data(len), offset);
                }
                model.read(&mut file, offset, len);
            }
            Step::Resize(size) => {
                let size = size.of(chunk_size);
                let result = file.set_size(size);
                if model.changed(result, size as usize) {
                    model.contents.resize(size as usize, 0);
                }
            }
            Step::Sync => expect_room(file.sync()),
            Step::Verify => {
                expect_room(file.verify());
                model.verify_tree(&mut file);
            }
            Step::Reopen { merkle: with } => {
                let before = model.places.map(|_| expect_room(file.commitment()));
                file = expect_room(Raf::open(file.into_storage(), &model.key));
                file.set_barriers(input.barriers);
                model.places = None;
                if *with && model.chunks() as u64 <= places {
                    file = expect_room(file.with_merkle(places));
                    let after = expect_room(file.commitment());
                    assert!(
                        before.is_none_or(|before| before == after),
                        "the commitment has changed"
                    );
                    model.places = Some(places);
                }
            }
            Step::Keep => kept = Some((file.storage_mut().bytes().clone(), model.contents.clone())),
            Step::Rollback { chunk } => {
                keep(&mut kept, &mut model, &mut file, usize::from(*chunk));
                if let Some((bytes, _)) = &kept {
                    let chunks = model.chunks().min((bytes.len() - HEADER_LEN) / record);
                    if let Some(chunk) = usize::from(*chunk).checked_rem(chunks) {
                        rollback(&model, &mut file, bytes, chunk);
                    }
                }
            }
            Step::RollbackAll => {
                keep(&mut kept, &mut model, &mut file, 0);
                if let Some((bytes, contents)) = kept.as_ref().filter(|_| !long_ones) {
                    rollback_all(&model, &mut file, bytes, contents);
                }
            }
            Step::Damage { chunk, flip, then } => {
                if let Some(chunk) = usize::from(*chunk).checked_rem(model.chunks()) {
                    damage(&mut model, &mut file, chunk, *flip, *then);
                }
            }
            Step::ReadOnly => read_only(&model, &mut file),
            Step::Stream(offset) => {
                let bytes = file.storage_mut().bytes().clone();
                let mut copy = expect_room(Raf::open(Stream(io::Cursor::new(bytes)), &model.key));
                let (data, offset) = (data(1500), offset.of(chunk_size));
                expect_room(copy.set_size(offset));
                expect_room(copy.write_at(&data, offset / 2));
                let mut expected = model.contents.clone();
                expected.resize(offset as usize, 0);
                let mut expected = Model { contents: expected, key: Vec::new(), ..model };
                expected.written(&data, offset as usize / 2);
                let copy = expect_room(Raf::open(copy.into_storage(), &model.key));
                let mut all = vec![0xee; expected.contents.len() + 1];
                assert_eq!(expect_room(copy.read_at(&mut all, 0)), expected.contents.len());
                all[0] ^= u8::from(plant("stream"));
                assert!(
                    all[..expected.contents.len()] == expected.contents,
                    "not what was written"
                );
            }
            Step::Cursor(steps) => file = cursor(&mut model, file, steps, &data(5000)),
            Step::Attach => {
                let len = tree_len(places, Sha256::LEN).expect("it is small");
                let mut nodes = Buffer::new(0, len).expect("it is small");
                nodes.fill(0xcc);
                let tree = expect_room(Tree::new(Sha256, nodes, places, Sha256::LEN));
                match file.attach(tree) {
                    Ok(()) => assert!(model.chunks() as u64 <= places, "more chunks than places"),
                    Err(Error::TreeFull { .. }) => {
                        assert!(model.chunks() as u64 > places, "there is room");
                        continue;
                    }
                    Err(e) => panic!("{e}"),
                }
                model.places = Some(places);
                match file.verify_tree() {
                    Ok(()) => assert!(model.contents.is_empty(), "an empty tree was taken"),
                    Err((Some(0), Error::TreeMismatch { chunk: Some(0) })) => {}
                    Err((_, e)) => panic!("{e}"),
                }
                expect_room(file.rebuild_tree());
                model.verify_tree(&mut file);
            }
        }
        assert_eq!(file.size(), model.contents.len() as u64);
        assert!(!file.is_poisoned());
    }
    model.read(&mut file, 0, model.contents.len() + 1);
    model.verify_tree(&mut file);
    let (info, mut disk) = (file.info(), file.into_storage());
    let bytes = std::mem::take(disk.bytes());
    assert_eq!(bytes.len(), HEADER_LEN + model.chunks() * record);
    if !long_ones {
        let read = reference::read_file(&bytes, &model.key);
        assert!(read.as_ref() == Ok(&model.contents), "the reference reads something else");
    }
    hostile(&input.hostile, &model.key, info, bytes, &model.contents);
}

/// The key, or one that is derived from it.
fn master_key(input: &Input, key: Vec<u8>) -> Vec<u8> {
    let Some(len) = input.context else { return key };
    let max = if key.len() == 16 { 120 } else { 72 };
    let context = input.seed.bytes(200, usize::from(len));
    assert!(matches!(derive_master_key(&key[1..], &context), Err(Error::KeyLength { .. })));
    match derive_master_key(&key, &context) {
        Ok(mut derived) => {
            if plant("derived") {
                derived[3] ^= 1;
            }
            assert!(context.len() <= max, "a context that is too long");
            assert!(
                *derived == reference::derive_master_key(&key, &context),
                "another derived key"
            );
            derived.to_vec()
        }
        Err(Error::ContextLength { max: allowed, actual }) => {
            assert_eq!((allowed, actual), (max, context.len()));
            assert!(actual > max);
            key
        }
        Err(e) => panic!("{e}"),
    }
}

/// If there is no copy yet, makes one and changes a chunk.
fn keep(
    kept: &mut Option<(Vec<u8>, Vec<u8>)>,
    model: &mut Model,
    file: &mut Raf<Disk>,
    chunk: usize,
) {
    if let Some(chunk) = chunk.checked_rem(model.chunks()).filter(|_| kept.is_none()) {
        *kept = Some((file.storage_mut().bytes().clone(), model.contents.clone()));
        let start = chunk * model.chunk_size;
        let byte = [model.contents[start] ^ 1];
        model.write(file, &byte, start as u64);
    }
}

/// Checks that an older version of a chunk is read, since it is authentic, and that the tree
/// detects it.
fn rollback(model: &Model, file: &mut Raf<Disk>, older: &[u8], chunk: usize) {
    let record = file.info().record_len();
    let at = HEADER_LEN + chunk * record..HEADER_LEN + (chunk + 1) * record;
    let text = model.open(file, older, chunk).expect("it is there");
    let place = model.place(chunk);
    let differs = text[..place.len()] != model.contents[place.clone()];

    let now = file.storage_mut().bytes()[at.clone()].to_vec();
    file.storage_mut().bytes()[at.clone()].copy_from_slice(&older[at.clone()]);
    let mut buf = vec![0xee; place.len()];
    assert_eq!(expect_room(file.read_at(&mut buf, place.start as u64)), place.len());
    assert!(buf == text[..place.len()], "neither the present chunk nor the older one");
    if model.places.is_some() {
        let verdict = if plant("rollback") { Ok(()) } else { file.verify_tree() };
        match verdict {
            Ok(()) => assert!(!differs, "an older chunk was not noticed"),
            Err((Some(at), Error::TreeMismatch { chunk: Some(index) })) => {
                assert!(
                    differs && at == chunk as u64 && index == at,
                    "another chunk was complained of"
                );
            }
            Err((_, e)) => panic!("{e}"),
        }
    }
    file.storage_mut().bytes()[at].copy_from_slice(&now);
    model.verify_tree(file);
}

/// Puts back the whole file as it was before. Its commitment differs, and the tree of an open file
/// detects it.
fn rollback_all(model: &Model, file: &mut Raf<Disk>, older: &[u8], contents: &[u8]) {
    let Some(places) = model.places else { return };
    let opened = expect_room(Raf::open(Disk::new(older.to_vec(), false), &model.key));
    match opened.with_merkle(places) {
        Ok(mut opened) => {
            let old = Model { contents: contents.to_vec(), key: model.key.clone(), ..*model };
            old.read(&mut opened, 0, contents.len() + 1);
            old.verify_tree(&mut opened);
            let same =
                opened.commitment().expect("there is a tree") == expect_room(file.commitment());
            assert_eq!(same, contents == model.contents, "whether it is the older file");
        }
        Err(Error::TreeFull { .. }) => {
            assert!(contents.len().div_ceil(model.chunk_size) as u64 > places)
        }
        Err(e) => panic!("{e}"),
    }

    let now = std::mem::replace(file.storage_mut().bytes(), older.to_vec());
    let first = (0..model.chunks()).find_map(|chunk| match model.open(file, older, chunk) {
        None => Some((chunk as u64, true)),
        Some(text) => {
            let place = model.place(chunk);
            (text[..place.len()] != model.contents[place]).then_some((chunk as u64, false))
        }
    });
    let found = match file.verify_tree() {
        Ok(()) => None,
        Err((Some(at), Error::TreeMismatch { chunk: Some(_) })) => Some((at, false)),
        Err((Some(at), Error::DamagedChunk { .. })) => Some((at, true)),
        Err((_, e)) => panic!("{e}"),
    };
    assert_eq!(found, first, "the first chunk that is another, and whether it is missing");
    *file.storage_mut().bytes() = now;
    model.verify_tree(file);
}

/// Damages a chunk. Operations that need it must fail and change nothing.
fn damage(model: &mut Model, file: &mut Raf<Disk>, chunk: usize, flip: Flip, then: Then) {
    let record = file.info().record_len();
    let at = HEADER_LEN + chunk * record..HEADER_LEN + (chunk + 1) * record;
    let place = model.place(chunk);
    flip.apply(&mut file.storage_mut().bytes()[at.clone()]);
    let before = file.storage_mut().bytes().clone();
    let damaged = |result: Result<(), Error>| match result {
        Err(Error::DamagedChunk { index }) => {
            assert!(index == chunk as u64 && !plant("damage"), "another chunk was complained of");
        }
        other => panic!("a damaged chunk, and {other:?}"),
    };
    match then {
        Then::Read => {
            for range in [0..model.contents.len(), place.clone(), place.start..place.start + 1] {
                let mut buf = vec![0xee; range.len()];
                damaged(file.read_at(&mut buf, range.start as u64).map(drop));
                assert!(buf.iter().all(|byte| *byte == 0), "unverified bytes were left");
            }
            model.read(file, 0, place.start);
            model.read(file, place.end as u64, model.contents.len());
        }
        Then::WriteWhole => {
            let data = vec![0x77; model.chunk_size];
            model.write(file, &data, place.start as u64);
            return;
        }
        Then::WritePart if place.len() > 1 => damaged(file.write_at(b"!", place.start as u64)),
        Then::Cut if place.len() > 1 => damaged(file.set_size(place.start as u64 + 1)),
        Then::WritePart | Then::Cut => {}
        Then::Verify => {
            damaged(file.verify());
            match (file.verify_tree(), model.places) {
                (Err((None, Error::NoTree)), None) => {}
                (Err((at, e)), Some(_)) => {
                    assert_eq!(at, Some(chunk as u64));
                    damaged(Err(e));
                }
                other => panic!("a damaged chunk, and {other:?}"),
            }
        }
    }
    assert!(*file.storage_mut().bytes() == before, "a call that failed wrote");
    flip.apply(&mut file.storage_mut().bytes()[at]);
}

fn read_only(model: &Model, file: &mut Raf<Disk>) {
    let bytes = file.storage_mut().bytes().clone();
    let opened = Raf::open_read_only(ReadOnly(io::Cursor::new(bytes)), &model.key);
    let mut opened = expect_room(opened);
    let len = model.contents.len();
    let mut buf = vec![0xee; len];
    assert_eq!(expect_room(opened.read_at(&mut buf, 0)), len);
    if plant("read-only") && len > 0 {
        buf[0] ^= 1;
    }
    assert!(buf == model.contents, "not what was written");
    for result in [
        opened.write_at(b"!", 0),
        opened.write_at(b"", 0),
        opened.write_at(b"!", len as u64),
        opened.set_size(0),
        opened.set_size(len as u64 + 1),
    ] {
        assert!(matches!(result, Err(Error::ReadOnly)), "{result:?}");
    }
    expect_room(opened.sync());
    if let Some(places) = model.places {
        let mut opened = expect_room(opened.with_merkle(places));
        assert_eq!(expect_room(opened.commitment()), expect_room(file.commitment()));
        opened.verify_tree().expect("nothing is damaged");
        assert!(matches!(opened.set_size(0), Err(Error::ReadOnly)), "it has forgotten");
    }
}

fn cursor(model: &mut Model, file: Raf<Disk>, steps: &[At], data: &[u8]) -> Raf<Disk> {
    let mut cursor = Cursor::new(file);
    let mut position = 0;
    for step in steps.iter().take(8) {
        let seek = match *step {
            At::Read(len) => {
                let mut buf = vec![0xee; usize::from(len % 9000)];
                let n = cursor.read(&mut buf).expect("nothing is damaged");
                assert!(buf[..n] == *model.there(position, buf.len()), "not what was written");
                position += n as u64;
                continue;
            }
            At::Write(len) => {
                let data = &data[..usize::from(len) % data.len()];
                let end = position as usize + data.len();
                match cursor.write(data) {
                    Ok(n) => {
                        assert_eq!(n, data.len());
                        if !data.is_empty() && model.changed(Ok(()), end) {
                            model.written(data, position as usize);
                        }
                        position += n as u64;
                    }
                    Err(e) => {
                        let e = e.downcast::<Error>().expect("an error of this crate");
                        assert!(!model.changed(Err(e), end));
                    }
                }
                cursor.flush().expect("nothing waits");
                continue;
            }
            At::Start(offset) => SeekFrom::Start(offset.of(model.chunk_size as u32)),
            At::End(by) => SeekFrom::End((by % 3000).into()),
            At::Current(by) => SeekFrom::Current((by % 3000).into()),
        };
        let to = match seek {
            SeekFrom::Start(to) => Some(to),
            SeekFrom::End(by) => (model.contents.len() as u64).checked_add_signed(by),
            SeekFrom::Current(by) => position.checked_add_signed(by),
        };
        match cursor.seek(seek) {
            Ok(at) => {
                assert_eq!(Some(at), to);
                position = at;
            }
            Err(e) => assert!(to.is_none() && e.kind() == io::ErrorKind::InvalidInput, "{e}"),
        }
        assert_eq!(cursor.get_mut().size(), model.contents.len() as u64);
    }
    cursor.rewind().expect("it is the start");
    let mut all = Vec::new();
    cursor.read_to_end(&mut all).expect("nothing is damaged");
    if plant("cursor") && !all.is_empty() {
        all[0] ^= 1;
    }
    assert!(all == model.contents, "not what was written");
    cursor.into_inner()
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
            let header =
                reference::Header { algorithm, chunk_size, size, file_id: info.file_id }.write(key);
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
    // Someone with the key can claim any size, but the bytes must be those that were written.
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
                assert!(buf[..n] == there[..n], "something came out that was never written");
            }
            Err(e) => {
                assert!(!whole || !honest, "{e}");
                assert!(buf.iter().all(|b| *b == 0), "unverified bytes were left");
            }
        }
        at += step;
    }
    // It can be changed. Damaged chunks stay damaged or are replaced.
    if file.size() < 100_000 {
        let mut changed = model.to_vec();
        if file.write_at(b"new", 5).is_ok() {
            changed.resize(changed.len().max(8), 0);
            changed[5..8].copy_from_slice(b"new");
        }
        let half = file.size() / 2;
        if file.set_size(half).is_ok() {
            changed.truncate(half as usize);
        }
        let _ = file.verify();
        let poisoned = file.is_poisoned();
        let mut storage = file.into_storage();
        // If the header claims more than there is, halving the size may still enlarge the file.
        assert!(
            poisoned
                || !honest
                || storage.size().expect("it is memory") <= bytes.len() as u64 + record as u64
        );
        if let Ok(file) = Raf::open(storage, key) {
            // With another size in the header, other bytes may belong to the file.
            if honest && !poisoned {
                assert_eq!(file.size(), changed.len() as u64);
                for at in (0..changed.len()).step_by(step) {
                    let mut buf = vec![0xee; step.min(changed.len() - at)];
                    match file.read_at(&mut buf, at as u64) {
                        Ok(_) => {
                            planted("hostile", &mut buf);
                            assert!(
                                buf == changed[at..at + buf.len()],
                                "something came out that was never written"
                            );
                        }
                        Err(e) => assert!(!whole, "{e}"),
                    }
                }
            }
            let _ = file.with_merkle(16).map(|file| file.verify_tree());
        }
    }
}

fuzz_target!(|input: Input| check(&input));
