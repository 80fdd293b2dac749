//! The same random operations on a file have the same effect in both crates, down to the bytes in
//! the storage.

#![cfg(feature = "raf")]

use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::rc::Rc;

use ours::raf as a;
use palladion_aegis_compare::Random;
use sha2::{Digest, Sha256};
use upstream::raf as b;

/// A storage in memory, which can be told to fail.
#[derive(Clone, Default)]
struct Memory {
    bytes: Rc<RefCell<Vec<u8>>>,
    syncs: Rc<Cell<usize>>,
    fails: Rc<Cell<bool>>,
}

impl Memory {
    fn check(&self) -> io::Result<()> {
        if self.fails.get() { Err(io::Error::from_raw_os_error(28)) } else { Ok(()) }
    }
}

/// The same numbers for both.
struct Numbers(Random);

/// SHA-256 in four ways, cut to some length.
struct Hash(usize);

impl Hash {
    fn hash(&self, out: &mut [u8], parts: &[&[u8]]) {
        assert_eq!(out.len(), self.0);
        let mut hash = Sha256::new();
        parts.iter().for_each(|part| hash.update(part));
        out.copy_from_slice(&hash.finalize()[..self.0]);
    }
}

macro_rules! implement {
    ($($name:ident)*) => { $(
        impl $name::RafIo for Memory {
            fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()> {
                self.check()?;
                let bytes = self.bytes.borrow();
                let there = bytes.get(offset as usize..).and_then(|rest| rest.get(..buf.len()));
                buf.copy_from_slice(there.ok_or(ErrorKind::UnexpectedEof)?);
                Ok(())
            }
            fn write_at(&mut self, buf: &[u8], offset: u64) -> io::Result<()> {
                self.check()?;
                let mut bytes = self.bytes.borrow_mut();
                let end = offset as usize + buf.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[offset as usize..end].copy_from_slice(buf);
                Ok(())
            }
            fn get_size(&mut self) -> io::Result<u64> {
                Ok(self.bytes.borrow().len() as u64)
            }
            fn set_size(&mut self, size: u64) -> io::Result<()> {
                self.check()?;
                self.bytes.borrow_mut().resize(size as usize, 0);
                Ok(())
            }
            fn sync(&mut self) -> io::Result<()> {
                self.syncs.set(self.syncs.get() + 1);
                Ok(())
            }
        }

        impl $name::RafRng for Numbers {
            fn fill(&mut self, buf: &mut [u8]) -> Result<(), $name::Error> {
                self.0.fill(buf);
                Ok(())
            }
        }

        impl $name::MerkleHasher for Hash {
            fn hash_len(&self) -> usize {
                self.0
            }
            fn hash_leaf(
                &self,
                out: &mut [u8],
                chunk: &[u8],
                index: u64,
            ) -> Result<(), $name::Error> {
                self.hash(out, &[b"leaf", &index.to_le_bytes(), chunk]);
                Ok(())
            }
            fn hash_parent(
                &self,
                out: &mut [u8],
                left: &[u8],
                right: &[u8],
                level: u32,
                index: u64,
            ) -> Result<(), $name::Error> {
                let place = [&level.to_le_bytes()[..], &index.to_le_bytes()].concat();
                self.hash(out, &[b"parent", &place, left, right]);
                Ok(())
            }
            fn hash_empty(
                &self,
                out: &mut [u8],
                level: u32,
                index: u64,
            ) -> Result<(), $name::Error> {
                self.hash(out, &[b"empty", &level.to_le_bytes(), &index.to_le_bytes()]);
                Ok(())
            }
            fn hash_commitment(
                &self,
                out: &mut [u8],
                root: &[u8],
                context: &[u8],
                size: u64,
            ) -> Result<(), $name::Error> {
                self.hash(out, &[b"commitment", root, context, &size.to_le_bytes()]);
                Ok(())
            }
        }
    )* };
}
implement!(a b);

/// Returns what a function returned, for any two types that print alike.
fn text(result: impl core::fmt::Debug) -> String {
    format!("{result:?}")
}

/// The same, without the value of a result that cannot be printed.
fn error<T, E: core::fmt::Debug>(result: Result<T, E>) -> String {
    text(result.map(drop))
}

/// Calls both builders alike.
macro_rules! builders {
    ($algorithm:ident, $seed:expr $(, $call:ident($($argument:expr),*))*) => {(
        a::RafBuilder::<a::$algorithm>::with_rng(Numbers(Random::seeded($seed)))
            $(.$call($($argument),*))*,
        b::RafBuilder::<b::$algorithm>::with_rng(Numbers(Random::seeded($seed)))
            $(.$call($($argument),*))*,
    )};
}

macro_rules! compare {
    ($($module:ident, $algorithm:ident, $len:literal;)*) => { $(
        mod $module {
            use super::*;

            #[test]
            fn operations() {
                let random = &mut Random::new();
                for _ in 0..60 {
                    history(random);
                }
            }

            fn history(random: &mut Random) {
                let (chunk, seed) = (1024 + 16 * random.below(64), random.number());
                let (key, hash) = (random.array::<$len>(), 8 + random.below(25));
                let most = 1 + random.below(20);
                let places = random.below(2) * (most + random.below(3));
                let [m, n] = [Memory::default(), Memory::default()];
                let (mut a, mut b) = builders!($algorithm, seed, chunk_size(chunk as u32));
                if places > 0 {
                    a = a.merkle(Hash(hash), places as u64);
                    b = b.merkle(Hash(hash), places as u64);
                }
                let mut a = a.create(m.clone(), &key).unwrap();
                let mut b = b.create(n.clone(), &key).unwrap();
                // The bytes in the storages are the same until there is a gap before what is
                // written, where upstream writes a chunk twice, with two nonces; or something is
                // cut off, which stays in upstream's last chunk.
                let mut same_bytes = true;
                for _ in 0..30 {
                    let len = random.below(3 * chunk);
                    let mut offset = random.below(most * chunk);
                    if random.below(4) > 0 {
                        offset = offset.min(random.below(a.size() as usize + 1)); // no gap
                    }
                    match random.below(8) {
                        0..=2 => {
                            let end = offset + len;
                            let data = random.bytes(len);
                            same_bytes &= len == 0 || offset as u64 <= a.size();
                            let [x, y] = [
                                text(a.write(&data, offset as u64)),
                                text(b.write(&data, offset as u64)),
                            ];
                            assert_eq!(x, y);
                            let full = places > 0 && end.div_ceil(chunk) > places && len > 0;
                            assert_eq!(x == "Err(Overflow)", full);
                        }
                        3 | 4 => {
                            let mut out = [vec![1; len], vec![1; len]];
                            let [x, y] = [
                                text(a.read(&mut out[0], offset as u64)),
                                text(b.read(&mut out[1], offset as u64)),
                            ];
                            assert_eq!(x, y);
                            assert_eq!(out[0], out[1]);
                        }
                        5 => {
                            let size = offset.min(places.wrapping_sub(1).min(most) * chunk);
                            same_bytes &= size as u64 >= a.size();
                            a.truncate(size as u64).unwrap();
                            b.truncate(size as u64).unwrap();
                        }
                        6 => {
                            let [mut a, mut b] = [
                                Box::new(a.cursor()) as Box<dyn Stream + '_>,
                                Box::new(b.cursor()) as Box<dyn Stream + '_>,
                            ];
                            let to = match random.below(3) {
                                0 => SeekFrom::Start(offset as u64),
                                1 => SeekFrom::End(-(len as i64)),
                                _ => SeekFrom::Current(len as i64),
                            };
                            let [x, y] = [a.seek(to).ok(), b.seek(to).ok()];
                            assert_eq!(x, y);
                            let mut out = [vec![], vec![]];
                            a.read_to_end(&mut out[0]).unwrap();
                            b.read_to_end(&mut out[1]).unwrap();
                            assert_eq!(out[0], out[1]);
                            a.flush().unwrap();
                            b.flush().unwrap();
                        }
                        _ => {
                            let mut out = [vec![1; hash], vec![1; hash]];
                            let [x, y] = [
                                text(a.merkle_commitment(&mut out[0])),
                                text(b.merkle_commitment(&mut out[1])),
                            ];
                            assert_eq!(x, y);
                            assert_eq!(out[0], out[1]);
                            assert_eq!(text(a.merkle_verify()), text(b.merkle_verify()));
                            assert_eq!(text(a.merkle_rebuild()), text(b.merkle_rebuild()));
                        }
                    }
                    assert_eq!(a.size(), b.size());
                    assert_eq!(m.bytes.borrow().len(), n.bytes.borrow().len());
                    assert!(!same_bytes || *m.bytes.borrow() == *n.bytes.borrow());
                    assert_eq!(m.syncs.get(), n.syncs.get());
                }
                let size = a.size();
                drop((a, b));
                assert_eq!(m.syncs.get(), n.syncs.get());
                exchange(random, &key, [m, n], size as usize, chunk);
            }

            /// Each reads what the other wrote, and both find the same damage.
            fn exchange(
                random: &mut Random,
                key: &[u8; $len],
                [m, n]: [Memory; 2],
                size: usize,
                chunk: usize,
            ) {
                let info = [
                    text(a::probe(&mut n.clone())),
                    text(b::probe(&mut m.clone())),
                ];
                assert_eq!(info[0], info[1]);
                for damaged in [false, true] {
                    let mut at = 0;
                    if damaged {
                        at = random.below(n.bytes.borrow().len());
                        *m.bytes.borrow_mut() = n.bytes.borrow().clone();
                        m.bytes.borrow_mut()[at] ^= 1 << random.below(8);
                        *n.bytes.borrow_mut() = m.bytes.borrow().clone();
                    }
                    let chunks = size.div_ceil(chunk).max(1) as u64;
                    let (a, b) = builders!($algorithm, 1, merkle(Hash(32), chunks));
                    let (a, b) = (a.open(n.clone(), key), b.open(m.clone(), key));
                    let (Ok(mut a), Ok(mut b)) = (a, b) else {
                        let (a, b) = builders!($algorithm, 1);
                        let [x, y] = [error(a.open(n.clone(), key)), error(b.open(m.clone(), key))];
                        assert_eq!(x, y);
                        assert!(damaged && at < 64);
                        continue;
                    };
                    let [x, y] = [text(a.merkle_rebuild()), text(b.merkle_rebuild())];
                    assert_eq!(x, y);
                    assert_eq!(x == "Ok(())", !damaged);
                    let mut out = [vec![1; size], vec![1; size]];
                    let [x, y] = [a.read(&mut out[0], 0).ok(), b.read(&mut out[1], 0).ok()];
                    assert_eq!(x, y);
                    if !damaged {
                        assert_eq!(out[0], out[1]);
                        let mut hash = [[0; 32]; 2];
                        a.merkle_commitment(&mut hash[0]).unwrap();
                        b.merkle_commitment(&mut hash[1]).unwrap();
                        assert_eq!(hash[0], hash[1]);
                    }
                }
            }

            /// Damage after the tree was made, and a storage that fails.
            #[test]
            fn faults() {
                let random = &mut Random::new();
                for _ in 0..60 {
                    let key = random.array::<$len>();
                    let [m, n] = [Memory::default(), Memory::default()];
                    let (a, b) = builders!($algorithm, 7, chunk_size(1024), merkle(Hash(20), 9));
                    let mut a = a.create(m.clone(), &key).unwrap();
                    let mut b = b.create(n.clone(), &key).unwrap();
                    let len = random.below(8000);
                    let data = random.bytes(len);
                    a.write(&data, 0).unwrap();
                    b.write(&data, 0).unwrap();
                    if random.below(2) == 0 && len > 0 {
                        let at = 64 + random.below(m.bytes.borrow().len() - 64);
                        for memory in [&m, &n] {
                            memory.bytes.borrow_mut()[at] ^= 1;
                        }
                        let [x, y] = [text(a.merkle_verify()), text(b.merkle_verify())];
                        assert_eq!(x, y);
                        assert!(x.starts_with("Ok(Some("));
                        continue;
                    }
                    // The first operation on the storage fails: nothing has changed.
                    for memory in [&m, &n] {
                        memory.fails.set(true);
                    }
                    let more = &data[..random.below(len + 1)];
                    let [x, y] = [text(a.write(more, 500)), text(b.write(more, 500))];
                    assert_eq!(x, y);
                    assert_eq!(x == "Ok(0)", more.is_empty());
                    drop((a, b));
                    for memory in [&m, &n] {
                        memory.fails.set(false);
                        let (a, b) = builders!($algorithm, 7);
                        assert_eq!(a.open(memory.clone(), &key).unwrap().size(), len as u64);
                        assert_eq!(b.open(memory.clone(), &key).unwrap().size(), len as u64);
                    }
                }
            }

            #[test]
            fn arguments() {
                let (key, other) = ([1; $len], [2; $len]);
                let both = || [Memory::default(), Memory::default()];
                for chunk in [0, 16, 1008, 1025, 1 << 21] {
                    let [m, n] = both();
                    let (a, b) = builders!($algorithm, 7, chunk_size(chunk));
                    assert_eq!(error(a.create(m, &key)), error(b.create(n, &key)));
                }
                let trees = [(0, 1), (7, 1), (65, 1), (8, 0), (8, u64::MAX), (64, 1 << 24)];
                for (hash, places) in trees {
                    let [m, n] = both();
                    let (a, b) = builders!($algorithm, 7, merkle(Hash(hash), places));
                    assert_eq!(error(a.create(m, &key)), error(b.create(n, &key)));
                }
                let [m, n] = both();
                let (a, b) = builders!($algorithm, 7, chunk_size(4096), truncate(false));
                a.create(m.clone(), &key).unwrap();
                b.create(n.clone(), &key).unwrap();
                let (a, b) = builders!($algorithm, 7);
                let [x, y] = [error(a.create(m.clone(), &key)), error(b.create(n.clone(), &key))];
                assert_eq!((&*x, &*y), ("Err(AlreadyExists)", "Err(AlreadyExists)"));
                let (a, b) = builders!($algorithm, 7);
                let [x, y] = [error(a.open(m.clone(), &other)), error(b.open(n.clone(), &other))];
                assert_eq!((&*x, &*y), ("Err(AuthenticationFailed)", "Err(AuthenticationFailed)"));
                for at in [0, 8, 10, 11, 12, 13, 16, 24, 63] {
                    for memory in [&m, &n] {
                        memory.bytes.borrow_mut()[at] ^= 0x80;
                    }
                    let (a, b) = builders!($algorithm, 7);
                    let [x, y] = [error(a.open(m.clone(), &key)), error(b.open(n.clone(), &key))];
                    assert_eq!(x, y, "byte {at}");
                    let [x, y] = [text(a::probe(&mut m.clone())), text(b::probe(&mut n.clone()))];
                    assert_eq!(x, y, "byte {at}");
                    for memory in [&m, &n] {
                        memory.bytes.borrow_mut()[at] ^= 0x80;
                    }
                }
                // Too short for a header: both fail with an error of the storage.
                for len in [63, 10, 0] {
                    m.bytes.borrow_mut().truncate(len);
                    let (a, b) = builders!($algorithm, 7);
                    assert!(matches!(a.open(m.clone(), &key), Err(a::Error::Io(_))));
                    assert!(matches!(b.open(m.clone(), &key), Err(b::Error::Io(_))));
                    assert!(matches!(a::probe(&mut m.clone()), Err(a::Error::Io(_))));
                    assert!(matches!(b::probe(&mut m.clone()), Err(b::Error::Io(_))));
                }
            }

            #[test]
            fn derived_keys() {
                let random = &mut Random::new();
                for len in 0..130 {
                    let (key, context) = (random.array::<$len>(), random.bytes(len));
                    let a = text(a::Raf::<a::$algorithm>::derive_master_key(&key, &context));
                    let b = text(b::Raf::<b::$algorithm>::derive_master_key(&key, &context));
                    assert_eq!(a, b);
                    assert_eq!(a, text(a::derive_key(&key, &context)));
                }
            }
        }
    )* };
}

/// What a cursor is.
trait Stream: Read + Write + Seek {}
impl<T: Read + Write + Seek> Stream for T {}

compare! {
    aegis128l, Aegis128L, 16;
    aegis128x2, Aegis128X2, 16;
    aegis128x4, Aegis128X4, 16;
    aegis256, Aegis256, 32;
    aegis256x2, Aegis256X2, 32;
    aegis256x4, Aegis256X4, 32;
}

#[test]
fn errors() {
    macro_rules! all {
        ($name:ident) => {{
            use $name::Error::*;
            [
                Io(ErrorKind::NotFound.into()),
                InvalidArgument("what"),
                AuthenticationFailed,
                AlreadyExists,
                NotFound,
                Overflow,
                MerkleNotEnabled,
                CorruptedChunk(7),
                Rng,
            ]
            .map(|e| (text(&e), e.to_string()))
        }};
    }
    assert_eq!(all!(a), all!(b));
    let (a, b) = (a::derive_key(&[0; 24], b""), b::derive_key(&[0; 24], b""));
    assert_eq!(text(a), text(b));
}
