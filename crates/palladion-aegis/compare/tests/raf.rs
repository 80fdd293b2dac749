//! The same random operations on a file have the same effect in both crates, down to the bytes in
//! the storage. Crate aegis, which is libaegis in C, also passes the vectors of `vectors/raf.txt`.

#![cfg(feature = "raf")]

use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::rc::Rc;

use ours::raf as a;
use palladion_aegis_compare::Random;
use sha2::{Digest, Sha256};
use upstream::raf as b;

#[path = "../../../palladion-raf/tests/shared/vectors.rs"]
mod vectors;

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

/// Bytes that are given, and then random ones: the same for both.
struct Numbers(Vec<u8>, Random);

impl Numbers {
    fn fill(&mut self, bytes: &mut [u8]) {
        let given = self.0.len().min(bytes.len());
        bytes.iter_mut().zip(self.0.drain(..given)).for_each(|(to, from)| *to = from);
        self.1.fill(&mut bytes[given..]);
    }
}

/// SHA-256 as in pyaegis, cut to some length.
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
                Numbers::fill(self, buf);
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
                self.hash(out, &[&[0], &index.to_le_bytes(), chunk]);
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
                self.hash(out, &[&[1], &place, left, right]);
                Ok(())
            }
            fn hash_empty(
                &self,
                out: &mut [u8],
                level: u32,
                index: u64,
            ) -> Result<(), $name::Error> {
                self.hash(out, &[&[2], &level.to_le_bytes(), &index.to_le_bytes()]);
                Ok(())
            }
            fn hash_commitment(
                &self,
                out: &mut [u8],
                root: &[u8],
                context: &[u8],
                size: u64,
            ) -> Result<(), $name::Error> {
                self.hash(out, &[&[3], root, context, &size.to_le_bytes()]);
                Ok(())
            }
        }
    )* };
}
implement!(a b);

/// Evaluates an expression in which a name is each of the crates, and another a value for each.
macro_rules! both {
    ($raf:ident, $name:ident = [$a:expr, $b:expr]; $work:expr) => {{
        #[allow(unused_imports)]
        let a = {
            use ours::raf as $raf;
            let $name = $a;
            $work
        };
        #[allow(unused_imports)]
        let b = {
            use upstream::raf as $raf;
            let $name = $b;
            $work
        };
        (a, b)
    }};
}

/// The same, whose results must print alike. Returns what they print.
macro_rules! same {
    ($($work:tt)*) => {{
        let (a, b) = both!($($work)*);
        let [a, b] = [format!("{a:?}"), format!("{b:?}")];
        assert_eq!(a, b);
        a
    }};
}

macro_rules! builder {
    ($raf:ident, $algorithm:ident, $seed:expr) => {
        $raf::RafBuilder::<$raf::$algorithm>::with_rng(Numbers(vec![], Random::seeded($seed)))
    };
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
                let (mut a, mut b) = both!(raf, memory = [m.clone(), n.clone()]; {
                    let mut new = builder!(raf, $algorithm, seed).chunk_size(chunk as u32);
                    if places > 0 {
                        new = new.merkle(Hash(hash), places as u64);
                    }
                    new.create(memory, &key).unwrap()
                });
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
                            let data = random.bytes(len);
                            same_bytes &= len == 0 || offset as u64 <= a.size();
                            let written = same!(raf, file = [&mut a, &mut b];
                                file.write(&data, offset as u64));
                            let chunks = (offset + len).div_ceil(chunk);
                            let full = places > 0 && chunks > places && len > 0;
                            assert_eq!(written == "Err(Overflow)", full);
                        }
                        3 | 4 => {
                            same!(raf, file = [&mut a, &mut b]; {
                                let mut out = vec![1; len];
                                (file.read(&mut out, offset as u64), out)
                            });
                        }
                        5 => {
                            let size = offset.min(places.wrapping_sub(1).min(most) * chunk);
                            same_bytes &= size as u64 >= a.size();
                            let cut = same!(raf, file = [&mut a, &mut b];
                                file.truncate(size as u64));
                            assert_eq!(cut, "Ok(())");
                        }
                        6 => {
                            let to = match random.below(3) {
                                0 => SeekFrom::Start(offset as u64),
                                1 => SeekFrom::End(-(len as i64)),
                                _ => SeekFrom::Current(len as i64),
                            };
                            same!(raf, file = [a.cursor(), b.cursor()]; {
                                let (mut file, mut out) = (file, vec![]);
                                let sought = file.seek(to).ok();
                                file.read_to_end(&mut out).unwrap();
                                file.flush().unwrap();
                                (sought, out)
                            });
                        }
                        _ => {
                            same!(raf, file = [&mut a, &mut b]; {
                                let mut out = vec![1; hash];
                                let committed = file.merkle_commitment(&mut out);
                                (committed, out, file.merkle_verify(), file.merkle_rebuild())
                            });
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
                same!(raf, memory = [&mut n.clone(), &mut m.clone()]; raf::probe(memory));
                for damaged in [false, true] {
                    let mut at = 0;
                    if damaged {
                        at = random.below(n.bytes.borrow().len());
                        n.bytes.borrow_mut()[at] ^= 1 << random.below(8);
                        m.bytes.borrow_mut().clone_from(&n.bytes.borrow());
                    }
                    let chunks = size.div_ceil(chunk).max(1) as u64;
                    let opened = both!(raf, memory = [n.clone(), m.clone()];
                        builder!(raf, $algorithm, 1).merkle(Hash(32), chunks).open(memory, key));
                    let (Ok(mut a), Ok(mut b)) = opened else {
                        same!(raf, memory = [n.clone(), m.clone()];
                            builder!(raf, $algorithm, 1).open(memory, key).map(drop));
                        assert!(damaged && at < 64);
                        continue;
                    };
                    let rebuilt = same!(raf, file = [&mut a, &mut b]; file.merkle_rebuild());
                    assert_eq!(rebuilt == "Ok(())", !damaged);
                    same!(raf, file = [&mut a, &mut b]; {
                        let (mut out, mut hash) = (vec![1; size], [0; 32]);
                        let read = file.read(&mut out, 0).ok();
                        let committed = file.merkle_commitment(&mut hash).is_ok();
                        (read, (!damaged).then_some((committed, out, hash)))
                    });
                }
            }

            /// Damage after the tree was made, and a storage that fails.
            #[test]
            fn faults() {
                let random = &mut Random::new();
                for _ in 0..60 {
                    let key = random.array::<$len>();
                    let [m, n] = [Memory::default(), Memory::default()];
                    let len = random.below(8000);
                    let data = random.bytes(len);
                    let (mut a, mut b) = both!(raf, memory = [m.clone(), n.clone()]; {
                        let new = builder!(raf, $algorithm, 7).chunk_size(1024);
                        let mut file = new.merkle(Hash(20), 9).create(memory, &key).unwrap();
                        file.write(&data, 0).unwrap();
                        file
                    });
                    if random.below(2) == 0 && len > 0 {
                        let at = 64 + random.below(m.bytes.borrow().len() - 64);
                        for memory in [&m, &n] {
                            memory.bytes.borrow_mut()[at] ^= 1;
                        }
                        let found = same!(raf, file = [&mut a, &mut b]; file.merkle_verify());
                        assert!(found.starts_with("Ok(Some("));
                        continue;
                    }
                    // The first operation on the storage fails: nothing has changed.
                    for memory in [&m, &n] {
                        memory.fails.set(true);
                    }
                    let more = &data[..random.below(len + 1)];
                    let written = same!(raf, file = [&mut a, &mut b]; file.write(more, 500));
                    assert_eq!(written == "Ok(0)", more.is_empty());
                    drop((a, b));
                    for memory in [&m, &n] {
                        memory.fails.set(false);
                        let size = same!(raf, memory = [memory.clone(), memory.clone()];
                            builder!(raf, $algorithm, 7).open(memory, &key).unwrap().size());
                        assert_eq!(size, len.to_string());
                    }
                }
            }

            #[test]
            fn arguments() {
                let (key, other) = ([1; $len], [2; $len]);
                for chunk in [0, 16, 1008, 1025, 1 << 21] {
                    same!(raf, new = [Memory::default(), Memory::default()];
                        builder!(raf, $algorithm, 7).chunk_size(chunk).create(new, &key).map(drop));
                }
                let trees = [(0, 1), (7, 1), (65, 1), (8, 0), (8, u64::MAX), (64, 1 << 24)];
                for (hash, places) in trees {
                    same!(raf, new = [Memory::default(), Memory::default()];
                        builder!(raf, $algorithm, 7).merkle(Hash(hash), places).create(new, &key)
                            .map(drop));
                }
                let [m, n] = [Memory::default(), Memory::default()];
                let both = || [m.clone(), n.clone()];
                same!(raf, memory = [m.clone(), n.clone()]; {
                    let new = builder!(raf, $algorithm, 7).chunk_size(4096).truncate(false);
                    new.create(memory, &key).map(drop).unwrap()
                });
                let created = same!(raf, memory = [m.clone(), n.clone()];
                    builder!(raf, $algorithm, 7).create(memory, &key).map(drop));
                assert_eq!(created, "Err(AlreadyExists)");
                let opened = same!(raf, memory = [m.clone(), n.clone()];
                    builder!(raf, $algorithm, 7).open(memory, &other).map(drop));
                assert_eq!(opened, "Err(AuthenticationFailed)");
                for at in [0, 8, 10, 11, 12, 13, 16, 24, 63] {
                    both().iter().for_each(|memory| memory.bytes.borrow_mut()[at] ^= 0x80);
                    same!(raf, memory = [m.clone(), n.clone()];
                        builder!(raf, $algorithm, 7).open(memory, &key).map(drop));
                    same!(raf, memory = [&mut m.clone(), &mut n.clone()]; raf::probe(memory));
                    both().iter().for_each(|memory| memory.bytes.borrow_mut()[at] ^= 0x80);
                }
                // Too short for a header: both fail with an error of the storage.
                for len in [63, 10, 0] {
                    m.bytes.borrow_mut().truncate(len);
                    both!(raf, memory = [m.clone(), m.clone()]; {
                        assert!(matches!(raf::probe(&mut memory.clone()), Err(raf::Error::Io(_))));
                        let opened = builder!(raf, $algorithm, 7).open(memory, &key);
                        assert!(matches!(opened, Err(raf::Error::Io(_))));
                    });
                }
            }

            #[test]
            fn derived_keys() {
                let random = &mut Random::new();
                for len in 0..130 {
                    let (key, context) = (random.array::<$len>(), random.bytes(len));
                    let derived = same!(raf, key = [&key, &key];
                        raf::Raf::<raf::$algorithm>::derive_master_key(key, &context));
                    assert_eq!(derived, format!("{:?}", a::derive_key(&key, &context)));
                }
            }

            /// Crate aegis reads the files of `vectors/raf.txt`, refuses the invalid ones, writes
            /// the same bytes with the same nonces, and has the same keys and commitments.
            #[test]
            fn vectors() {
                let groups = vectors::parse();
                let group = groups.iter().find(|group| {
                    let name = group.algorithm.name().replace('-', "");
                    name.eq_ignore_ascii_case(stringify!($module))
                });
                let group = group.expect("every algorithm has vectors");
                let key = group.key[..].try_into().unwrap();
                let fill = |seed, len| vectors::fill(group.seed + seed, len);
                for (len, expected) in &group.derived {
                    let context = fill(120, *len);
                    let derived = b::Raf::<b::$algorithm>::derive_master_key(key, &context);
                    assert_eq!(derived.unwrap()[..], expected[..]);
                }
                for file in &group.files {
                    let storage = Memory::default();
                    if let Some(bytes) = &file.bytes {
                        storage.bytes.borrow_mut().clone_from(bytes);
                    }
                    let open = || builder!(b, $algorithm, 1).open(storage.clone(), key);
                    let (chunk_size, size) = match &file.kind {
                        vectors::Kind::Read { chunk_size, size } => (*chunk_size, *size),
                        vectors::Kind::Refused(reason) => {
                            let error = match reason.strip_prefix("chunk ") {
                                Some(_) => open().unwrap().read(&mut [0; 9999], 0).unwrap_err(),
                                None => open().map(drop).unwrap_err(),
                            };
                            let is_expected = match &**reason {
                                "short" => matches!(error, b::Error::Io(_)),
                                "too-large" => matches!(error, b::Error::Overflow),
                                "mac" | "chunk 0" => matches!(
                                    error,
                                    b::Error::AuthenticationFailed
                                        | b::Error::InvalidArgument("algorithm mismatch")
                                ),
                                _ => matches!(error, b::Error::InvalidArgument(_)),
                            };
                            assert!(is_expected, "{reason}: {error:?}");
                            continue;
                        }
                    };
                    let contents = fill(180, size);
                    if let Some(hash) = &file.sha256 {
                        let nonces = (0..size.div_ceil(chunk_size as usize))
                            .flat_map(|i| fill(60 + i, $len));
                        let given = group.file_id.iter().copied().chain(nonces).collect();
                        let numbers = Numbers(given, Random::seeded(0));
                        let new = b::RafBuilder::<b::$algorithm>::with_rng(numbers);
                        storage.bytes.borrow_mut().clear();
                        let new = new.chunk_size(chunk_size).create(storage.clone(), key);
                        assert_eq!(new.unwrap().write(&contents, 0).unwrap(), size);
                        let bytes = storage.bytes.borrow();
                        assert_eq!(Sha256::digest(&*bytes)[..], hash[..]);
                        assert!(file.bytes.as_ref().is_none_or(|expected| *bytes == *expected));
                    }
                    let mut found = vec![1; size + 1];
                    assert_eq!(open().unwrap().read(&mut found, 0).unwrap(), size);
                    assert_eq!(found[..size], contents);
                    for merkle in &file.merkle {
                        let file = builder!(b, $algorithm, 1).merkle(Hash(32), merkle.max_chunks);
                        let mut file = file.open(storage.clone(), key).unwrap();
                        let mut commitment = [0; 32];
                        file.merkle_rebuild().unwrap();
                        file.merkle_commitment(&mut commitment).unwrap();
                        assert_eq!(commitment[..], merkle.commitment[..]);
                    }
                }
            }
        }
    )* };
}

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
    same!(raf, kind = [ErrorKind::NotFound, ErrorKind::NotFound]; {
        use raf::Error::*;
        [
            Io(kind.into()),
            InvalidArgument("what"),
            AuthenticationFailed,
            AlreadyExists,
            NotFound,
            Overflow,
            MerkleNotEnabled,
            CorruptedChunk(7),
            Rng,
        ]
        .map(|e| (format!("{e:?}"), e.to_string()))
    });
    same!(raf, key = [[0; 24], [0; 24]]; raf::derive_key(&key, b""));
}
