//! Tests of key slots: what opens, what is refused, and changes that are interrupted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::{Digest, Sha256};

use super::copies::Copies;
use super::open::Opening;
use super::*;
use crate::chunk::{Chunk, FRAME_LEN, OVERHEAD};
#[cfg(any(unix, windows))]
use crate::every_error::child;
use crate::random::Random;
use crate::{Algorithm, ChunkSize, Error, KdfLimits, KdfParams, MasterKey, Passphrase};

const H: usize = Head::MIN_LEN;

fn key(number: u8) -> MasterKey {
    MasterKey::from([number; 32])
}

fn with_key(number: u8) -> Keyring {
    Keyring::default().key(key(number))
}

fn cheap(passes: u32) -> KdfParams {
    KdfParams::new(8, passes, 1).unwrap()
}

fn file_key() -> FileKey {
    FileKey::from([0x55; 32])
}

fn head_for(slots: &[NewSlot<'_>]) -> Head {
    Head::create(&file_key(), Algorithm::default(), ChunkSize::MIN, slots).unwrap()
}

/// A file with this head and spare, and two chunks.
fn file(head: &Head) -> Vec<u8> {
    let cipher = head.verify(&file_key(), None).unwrap().unwrap();
    let mut file = head.as_bytes().to_vec();
    for (counter, len, last) in [(0, 1024, false), (1, 300, true)] {
        let mut chunk = vec![7; len + OVERHEAD];
        Chunk { counter, len, last }.seal(&cipher, &mut chunk).unwrap();
        assert_eq!(FRAME_LEN + len + 32, chunk.len());
        file.extend(chunk);
    }
    file.extend(head.as_bytes());
    file
}

fn open(file: &Vec<u8>, keyring: &Keyring) -> Result<FileKey, Error> {
    let limits = KdfLimits::default();
    let [head, spare] = Copies::read(file)?.open(&mut Opening::new(keyring, &limits));
    head.or(spare)
}

fn rewrap(file: &Vec<u8>, keyring: &Keyring) -> Result<Rewrap, Error> {
    Rewrap::new(file, keyring, &KdfLimits::default())
}

/// Fills a head, so that all its sectors differ from others'.
struct Filler(Vec<u8>);

impl Lock for Filler {
    fn lock(&self, _: &FileKey) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.0.clone())
    }
}

/// A plan for a slot with this key.
fn plan(file: &Vec<u8>, by: u8, to: u8, random: &mut Random) -> Plan {
    let rewrap = rewrap(file, &with_key(by)).unwrap();
    let filler = Filler(random.bytes(3700));
    let slots = [NewSlot::Key(&key(to)), NewSlot::Age(&filler)];
    rewrap.plan(slots.map(|slot| rewrap.lock(slot).unwrap()).to_vec()).unwrap()
}

/// How far a change came: all writes before the one with this number are on the disk, and of that
/// one the bytes that `is_written` says.
fn interrupt(
    file: &[u8],
    plan: &Plan,
    write: usize,
    is_written: impl Fn(usize) -> bool,
) -> Vec<u8> {
    let mut file = file.to_vec();
    for (number, offset) in plan.offsets().into_iter().enumerate().take(write + 1) {
        for (at, byte) in plan.head().as_bytes().iter().enumerate() {
            if number < write || is_written(at) {
                file[offset as usize + at] = *byte;
            }
        }
    }
    file
}

/// Which of these keys open the file.
fn openers(file: &Vec<u8>, keys: impl IntoIterator<Item = u8>) -> Vec<u8> {
    let copies = Copies::read(file).unwrap();
    let opens = |number: &u8| {
        let (keyring, limits) = (with_key(*number), KdfLimits::default());
        copies.open(&mut Opening::new(&keyring, &limits)).iter().any(Result::is_ok)
    };
    keys.into_iter().filter(opens).collect()
}

#[test]
fn one_change_torn_anywhere() {
    let random = &mut Random(1);
    let mut before = file(&head_for(&[NewSlot::Key(&key(1))]));
    let first = plan(&before, 1, 1, random); // so that its sectors differ too
    before = interrupt(&before, &first, 2, |_| true);
    let plan = plan(&before, 1, 2, random);
    let mut seen = BTreeMap::new();
    let mut look = |write, is_written: &dyn Fn(usize) -> bool| {
        let after = interrupt(&before, &plan, write, is_written);
        let openers = openers(&after, [1, 2, 3]);
        assert!(!openers.is_empty() && !openers.contains(&3));
        assert_eq!(after[H..after.len() - H], before[H..before.len() - H]);
        *seen.entry(openers).or_insert(0) += 1;
    };
    for write in 0..2 {
        for cut in 0..=H {
            look(write, &|at| at < cut);
        }
        for sectors in 0..1 << (H / 512) {
            look(write, &|at| sectors >> (at / 512) & 1 == 1);
        }
    }
    // Both, while one copy is old and the other new.
    assert!(seen[&vec![1]] > 4000 && seen[&vec![2]] > 4000 && seen[&vec![1, 2]] >= 4, "{seen:?}");
}

/// Up to three changes, each by any key that opens the file then, and each interrupted. The secret
/// of the caller or the new one opens the file after each, and the last change that is complete
/// leaves only its own.
#[test]
fn several_changes_torn_anywhere() {
    fn go(file: &Vec<u8>, next: u8, random: &mut Random, count: &mut usize) {
        for by in openers(file, 1..next) {
            let plan = plan(file, by, next, random);
            let done = interrupt(file, &plan, 2, |_| true);
            assert_eq!(openers(&done, 1..=next), [next]);
            assert!(rewrap(&done, &with_key(next)).unwrap().are_same());
            *count += 1;
            if next == 4 {
                // Torn in a sector, at a byte or at an end.
                for write in 0..2 {
                    for cut in [1, 130, 512, 1000, 4095, H] {
                        let torn = interrupt(file, &plan, write, |at| at < cut);
                        let openers = openers(&torn, [by, next]);
                        assert!(!openers.is_empty(), "{by} to {next}, write {write}, {cut}");
                        *count += 1;
                    }
                }
                continue;
            }
            let sectors = random.within(1..255);
            let is_there = |at: usize| sectors >> (at / 512) & 1 == 1;
            for torn in [
                interrupt(file, &plan, 0, is_there),
                interrupt(file, &plan, 0, |at| at < 300),
                interrupt(file, &plan, 0, |_| true),
                interrupt(file, &plan, 1, is_there),
                interrupt(file, &plan, 1, |at| at >= 300),
                done,
            ] {
                assert!(!openers(&torn, [by, next]).is_empty());
                go(&torn, next + 1, random, count);
            }
        }
    }
    let (mut random, mut count) = (Random(2), 0);
    let start = file(&head_for(&[NewSlot::Key(&key(1))]));
    go(&start, 2, &mut random, &mut count);
    assert!(count > 500, "{count}");
}

#[test]
fn damage_to_one_copy_is_repaired() {
    let whole = file(&head_for(&[NewSlot::Key(&key(1)), NewSlot::Key(&key(2))]));
    for at in (0..H).step_by(61).chain(whole.len() - H..whole.len()) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        let rewrap = rewrap(&damaged, &with_key(2)).unwrap();
        assert!(!rewrap.are_same());
        let plan = rewrap.plan(rewrap.slots().to_vec()).unwrap();
        let is_in_head = at < H;
        assert_eq!(plan.offsets()[0] == 0, is_in_head);
        let repaired = interrupt(&damaged, &plan, 2, |_| true);
        assert_eq!(openers(&repaired, [1, 2, 3]), [1, 2]);
        assert!(Copies::read(&repaired).unwrap().are_same());
    }
}

/// Where a damaged copy should be is known only if the last chunk is in its place.
#[test]
fn chunks_are_never_overwritten() {
    let whole = file(&head_for(&[NewSlot::Key(&key(1))]));
    let end = whole.len();
    let unsure = |file: &[&[u8]]| {
        let error = rewrap(&file.concat(), &with_key(1)).unwrap_err();
        assert!(matches!(error, Error::CannotChangeSlots(_)), "{error:?}");
    };
    for cut in [1, 100, 335, 336, 337, 1000, 1395, H - 1, H, H + 10] {
        if cut < H - 1396 + H {
            let file = &whole[..end - cut];
            match file.len() < 2 * H {
                true => drop(rewrap(&file.to_vec(), &with_key(1)).unwrap_err()),
                false => unsure(&[file]),
            }
        }
    }
    unsure(&[&whole, &[0]]);
    unsure(&[&whole, &[0; 1060]]);
    // The beginning is missing.
    unsure(&[&whole[1..]]);
    unsure(&[&whole[1060..]]);
    assert!(rewrap(&whole[H..].to_vec(), &with_key(1)).is_err());
}

/// Slots, plans and contents of another file are refused before anything is written.
#[test]
fn nothing_of_another_file() {
    fn refused<T>(result: Result<T, Error>) {
        assert!(matches!(result.map(drop), Err(Error::CannotChangeSlots(_))));
    }
    let whole = || file(&head_for(&[NewSlot::Key(&key(1))]));
    let (one, other) = (whole(), whole());
    let [here, there] = [&one, &other].map(|file| rewrap(file, &with_key(1)).unwrap());
    let locked = there.lock(NewSlot::Key(&key(1))).unwrap();
    for slots in [there.slots().to_vec(), vec![here.slots()[0].clone(), locked]] {
        refused(here.plan(slots.clone()));
        refused(here.copy(slots, &one, Vec::new()));
    }
    let mut written = Vec::new();
    refused(here.copy(here.slots().to_vec(), &other, &mut written));
    assert!(written.is_empty());
    // A slot of the same file, opened once more.
    let again = rewrap(&one, &with_key(1)).unwrap().lock(NewSlot::Key(&key(2))).unwrap();
    let plan = here.plan(vec![again]).unwrap();

    #[cfg(any(unix, windows))]
    {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file.pld");
        // The last has the header of the plan, but not the length.
        for before in [&other, &[&one[..], &[0]].concat()] {
            std::fs::write(&path, before).unwrap();
            let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
            refused(plan.carry_out(&file));
            assert_eq!(std::fs::read(&path).unwrap(), *before);
        }
        // A file that is open for appending, and one whose slots were changed since.
        std::fs::write(&path, &one).unwrap();
        refused(
            plan.carry_out(&std::fs::File::options().read(true).append(true).open(&path).unwrap()),
        );
        assert_eq!(std::fs::read(&path).unwrap(), one);
        let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        here.plan(here.slots().to_vec()).unwrap().carry_out(&file).unwrap();
        let changed = std::fs::read(&path).unwrap();
        refused(plan.carry_out(&file));
        assert_eq!(std::fs::read(&path).unwrap(), changed);
        std::fs::write(&path, &other).unwrap();
        let (ring, limits) = (with_key(1), KdfLimits::default());
        refused(Rewrap::in_place(&path, &ring, &limits, |_| Ok(plan)));
        assert_eq!(std::fs::read(&path).unwrap(), other);
    }
}

/// Not a cipher: the key is what the file says.
struct Plain(u8, usize);

impl Lock for Plain {
    fn lock(&self, key: &FileKey) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        let mut file = [&[self.0], &key.as_bytes()[..]].concat();
        file.resize(self.1, 0);
        Ok(file)
    }
}

struct Open(u8, Arc<AtomicUsize>);

impl Unlock for Open {
    fn unlock(
        &self,
        age_file: &[u8],
    ) -> Result<Option<FileKey>, Box<dyn std::error::Error + Send + Sync>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        match age_file[0] {
            0 => Err("no touch".into()),
            number if number == self.0 => {
                Ok(Some(FileKey::from(*age_file[1..].first_chunk().unwrap())))
            }
            _ => Ok(None),
        }
    }
}

#[test]
fn slots_of_all_kinds() {
    let words = Passphrase::new("words");
    let calls = Arc::new(AtomicUsize::new(0));
    let head = head_for(&[
        NewSlot::Age(&Plain(0, 33)),
        NewSlot::Age(&Plain(1, 33)),
        NewSlot::Passphrase(&words, cheap(1)),
        NewSlot::Key(&key(1)),
        NewSlot::Age(&Plain(2, 50)),
    ]);
    let kinds: Vec<_> = head.slots().iter().map(Slot::kind).collect();
    let phrase = SlotKind::Passphrase(cheap(1));
    assert_eq!(kinds, [SlotKind::Age, SlotKind::Age, phrase, SlotKind::Key, SlotKind::Age]);
    let file = file(&head);
    let age = |number| Keyring::default().unlock(Open(number, calls.clone()));
    for keyring in [with_key(1), Keyring::default().passphrase(words.clone()), age(1), age(2)] {
        assert!(open(&file, &keyring).unwrap() == file_key());
    }
    for keyring in
        [Keyring::default(), with_key(2), Keyring::default().passphrase(Passphrase::new("word"))]
    {
        assert!(matches!(open(&file, &keyring), Err(Error::NoSlot)));
    }
    // The spare is the same: an identity is asked for each slot once. The failure is not hidden.
    calls.store(0, Ordering::Relaxed);
    assert!(matches!(open(&file, &age(3)), Err(Error::NoSlot | Error::Slot(_))));
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    let error = head.open(&age(3), &KdfLimits::default()).unwrap_err();
    assert!(matches!(error, Error::Slot(_)) && error.to_string().contains("no touch"), "{error}");
}

#[test]
fn limits() {
    let (words, other) = (Passphrase::new("words"), Passphrase::new("other"));
    let new = |passphrase, passes| NewSlot::Passphrase(passphrase, cheap(passes));
    let head = head_for(&[new(&other, 1), new(&other, 2), new(&other, 1), new(&words, 3)]);
    let keyring = Keyring::default().passphrase(words.clone());
    let limits = |work_kib| KdfLimits { work_kib, ..KdfLimits::default() };
    // 8 KiB times 1 + 2 + 3 passes; the second slot with one pass costs nothing more.
    assert!(head.open(&keyring, &limits(48)).is_ok());
    let error = head.open(&keyring, &limits(47)).unwrap_err();
    assert!(matches!(error, Error::KdfTooCostly { value: 48, limit: 47, .. }), "{error:?}");
    // The sum is that of both copies.
    let spare = head_for(&[new(&other, 4)]);
    let (limits, wrong) = (limits(56), Keyring::default().passphrase(Passphrase::new("wrong")));
    let mut opening = Opening::new(&wrong, &limits);
    assert!(matches!(opening.open(&head), Err(Error::NoSlot)));
    assert!(matches!(opening.open(&spare), Err(Error::KdfTooCostly { value: 80, .. })));

    let rewrap = rewrap(&file(&head), &keyring).unwrap();
    let phrase = |_| rewrap.lock(new(&words, 1)).unwrap();
    let age = |_| rewrap.lock(NewSlot::Age(&Plain(1, 33))).unwrap();
    assert!(rewrap.plan((0..8).map(phrase).chain((0..8).map(age)).collect()).is_ok());
    for slots in [vec![], (0..9).map(phrase).collect(), (0..9).map(age).collect()] {
        assert!(matches!(rewrap.plan(slots), Err(Error::CannotChangeSlots(_))));
    }
    let long = rewrap.lock(NewSlot::Age(&Plain(1, 65535))).unwrap();
    let too_long = rewrap.lock(NewSlot::Age(&Plain(1, 65536)));
    assert!(matches!(too_long, Err(Error::NoRoomForSlots { needed: 65536, room: 65535 })));
    assert!(matches!(rewrap.plan(vec![long]), Err(Error::NoRoomForSlots { room: H, .. })));
}

#[test]
fn a_new_file_with_more_room() {
    let old = file(&head_for(&[NewSlot::Key(&key(1))]));
    let rewrap = rewrap(&old, &with_key(1)).unwrap();
    let mut slots = rewrap.slots().to_vec();
    slots.extend((2..40).map(|number| rewrap.lock(NewSlot::Key(&key(number))).unwrap()));
    assert!(matches!(rewrap.plan(slots.clone()), Err(Error::NoRoomForSlots { .. })));
    let mut new = Vec::new();
    let head = rewrap.copy(slots, &old, &mut new).unwrap();
    let len = head.as_bytes().len();
    assert_eq!((len, head.sequence()), (8192, 2));
    assert_eq!(new[len..new.len() - len], old[H..old.len() - H]);
    assert_eq!(openers(&new, 1..50), (1..40).collect::<Vec<_>>());
    assert!(self::rewrap(&new, &with_key(39)).unwrap().are_same());
}

/// Whatever a head says, as long as its checksum is right.
#[test]
fn hostile_heads() {
    let random = &mut Random(4);
    let words = Passphrase::new("words");
    let slots = [NewSlot::Key(&key(1)), NewSlot::Passphrase(&words, cheap(1))];
    let slots = [slots[0], slots[1], NewSlot::Age(&Plain(1, 33))];
    let good = head_for(&slots).as_bytes().to_vec();
    let calls = Arc::new(AtomicUsize::new(0));
    let keyring = with_key(1).passphrase(words.clone()).unlock(Open(1, calls));
    let limits = KdfLimits::with_memory(64);
    let (mut parsed, mut refused) = (0, 0);
    for _ in 0..5000 {
        let mut bytes = good.clone();
        for _ in 0..random.within(1..4) {
            let at = random.within(129..144 + 260);
            bytes[at] = if random.below(2) == 0 { random.number() as u8 } else { 0 };
        }
        let sum = Sha256::digest(&bytes[..H - 32]);
        bytes[H - 32..].copy_from_slice(&sum);
        match Head::parse(&bytes) {
            Ok(head) => {
                assert_eq!(head.as_bytes(), bytes);
                let opened = head.open(&keyring, &limits);
                assert!(bytes == good || opened.is_err(), "{head:?}");
                parsed += 1;
            }
            Err(Error::UnsupportedHeader { .. }) => refused += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    assert!(parsed > 1000 && refused > 100, "{parsed} {refused}");
}

#[test]
fn the_sequence_ends() {
    let head = head_for(&[NewSlot::Key(&key(1))]);
    let (header, slots) = (head.header().clone(), head.slots().to_vec());
    let last = Head::build(header, &file_key(), H, u64::MAX, slots).unwrap();
    let rewrap = rewrap(&file(&last), &with_key(1)).unwrap();
    let slots = rewrap.slots().to_vec();
    assert!(matches!(rewrap.plan(slots), Err(Error::CannotChangeSlots(_))));
}

/// Where the child process finds its file.
#[cfg(any(unix, windows))]
const PLACE: &str = "PALLADION_TEST_SLOTS";

/// A process that changes slots is killed at any moment.
#[test]
#[cfg(any(unix, windows))]
fn killed_a_hundred_times() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file.pld");
    std::fs::write(&path, file(&head_for(&[NewSlot::Key(&key(1))]))).unwrap();
    let random = &mut Random(3);
    let mut changes = 0;
    for _ in 0..100 {
        let mut command = child::command(&[], "slots::tests::child_that_changes_slots");
        command.env(PLACE, &path).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It has begun once it prints.
        let mut first = [0; 300];
        let output = child.stdout.as_mut().unwrap();
        while !String::from_utf8_lossy(&first).contains("<begun>") {
            assert!(std::io::Read::read(output, &mut first).unwrap() > 0);
        }
        std::thread::sleep(std::time::Duration::from_micros(random.within(0..3000) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let file = std::fs::read(&path).unwrap();
        let openers = openers(&file, [1, 2, 3]);
        assert!(!openers.is_empty() && !openers.contains(&3), "{openers:?}");
        let copies = Copies::read(&file).unwrap();
        let newest = [copies.head, copies.spare].into_iter().flatten().map(|head| head.sequence());
        changes = newest.max().unwrap();
    }
    assert!(changes > 0); // how many depends on the machine
}

#[test]
#[ignore = "run by another test"]
#[cfg(any(unix, windows))]
fn child_that_changes_slots() {
    let path = std::path::PathBuf::from(std::env::var_os(PLACE).unwrap());
    println!("<begun>");
    loop {
        for [by, to] in [[1, 2], [2, 1]] {
            // After a kill, both keys or one of them open the file.
            let keyring = Keyring::default().key(key(by)).key(key(to));
            Rewrap::in_place(&path, &keyring, &KdfLimits::default(), |rewrap| {
                rewrap.plan(vec![rewrap.lock(NewSlot::Key(&key(to)))?])
            })
            .unwrap();
        }
    }
}

/// A writer that waited for the lock changes the file that is there then.
#[test]
#[cfg(unix)]
fn the_file_is_replaced_while_a_writer_waits() {
    let directory = tempfile::tempdir().unwrap();
    let (path, new) = (directory.path().join("file.pld"), directory.path().join("new"));
    std::fs::write(&path, file(&head_for(&[NewSlot::Key(&key(1))]))).unwrap();
    std::fs::write(&new, file(&head_for(&[NewSlot::Key(&key(2))]))).unwrap();
    let old = std::fs::File::open(&path).unwrap();
    old.lock().unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let keyring = Keyring::default().key(key(1)).key(key(2));
            Rewrap::in_place(&path, &keyring, &KdfLimits::default(), |rewrap| {
                rewrap.plan(vec![rewrap.lock(NewSlot::Key(&key(3)))?])
            })
        });
        std::fs::rename(&new, &path).unwrap();
        drop(old);
        writer.join().unwrap().unwrap();
    });
    assert_eq!(openers(&std::fs::read(&path).unwrap(), [1, 2, 3]), [3]);
}
