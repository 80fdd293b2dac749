//! Every variant of the error, produced by public calls.

#[path = "../../palladion/tests/common/child.rs"]
mod child;
#[path = "../../palladion/tests/common/every_error.rs"]
mod common;

use std::io;

use common::{Call, Came, check, variants};

use palladion_raf::merkle::{Sha256, Tree, tree_len};
use palladion_raf::{
    CHUNK_MIN, Environment, Error, Found, HEADER_LEN, Lock, Memory, Options, Raf, Result, Storage,
    derive_master_key, probe,
};

const KEY: &[u8] = &[0x42; 32];

/// A system with as many random bytes as are left, and with memory of any length.
struct Poor {
    random_bytes: usize,
}

impl Environment for Poor {
    type Buffer = Vec<u8>;
    type Hasher = Sha256;
    const BULK: bool = false;

    fn random(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.random_bytes = self
            .random_bytes
            .checked_sub(bytes.len())
            .ok_or(io::Error::other("the source is dry"))?;
        bytes.fill(7);
        Ok(())
    }
}

fn options() -> Options {
    Options::default().chunk_size(CHUNK_MIN)
}

/// A file with three chunks, in an environment that gives enough random bytes for that.
fn file() -> Raf<Memory, Poor> {
    let plenty = Poor { random_bytes: 1000 };
    let mut file = options()
        .create_in(Memory::default(), KEY, plenty, |info| Ok(vec![0; info.record_len()]))
        .unwrap();
    file.write_at(&[1; 2 * CHUNK_MIN as usize + 1], 0).unwrap();
    file
}

fn bytes() -> Vec<u8> {
    file().into_storage().0
}

fn open(bytes: &[u8]) -> Result<Raf<Memory>> {
    Raf::open(Memory(bytes.to_vec()), KEY)
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "no processes there")]
fn every_error() {
    let names = &variants(include_str!("../src/error.rs"), "Error");
    fn error<T>(result: Result<T>) -> Error {
        result.err().expect("it must fail")
    }
    let came = |error: Error| Came::new(&error);
    let good = bytes();
    let changed = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 0x81;
        bytes
    };
    // Without a chunk, and one random byte too few for the nonce of the first.
    let dry = |random_bytes| {
        let options = options().file_id([1; 24]);
        options
            .create_in(Memory::default(), KEY, Poor { random_bytes }, |info| {
                Ok(vec![0; info.record_len()])
            })
            .unwrap()
    };
    let no_nonce = error(dry(31).write_at(b"text", 0));
    // One nonce is there, for the first of two chunks.
    let mut poisoned = dry(32);
    let nodes = vec![0; tree_len(4, 32).unwrap()];
    poisoned.attach(Tree::new(Sha256, nodes, 4, 32).unwrap()).unwrap();
    error(poisoned.write_at(&[1; 2 * CHUNK_MIN as usize], 0));
    let mut busy = file().into_storage();
    let mut forgetful = options().create(Other { busy: false }, KEY).unwrap();
    error(forgetful.sync());
    let short = |len: usize| {
        error(
            options()
                .create_in(Memory::default(), KEY, Poor { random_bytes: 24 }, |_| Ok(vec![0; len])),
        )
    };
    let calls: &[Call<'_>] = &[
        ("Io", &["the disk is broken"], came(error(Found::new(Broken)))),
        ("NotRaf", &["not a RAF file"], came(error(probe(&mut Memory(vec![0; HEADER_LEN]))))),
        ("Unsupported", &["version", "128"], came(error(open(&changed(10))))),
        ("WrongKey", &["key is wrong"], came(error(Raf::open(Memory(good.clone()), &[0x43; 32])))),
        (
            "KeyLength",
            &["32 bytes", "has 5"],
            came(error(Raf::open(Memory(good.clone()), &[0x42; 5]))),
        ),
        ("KeyLength", &["16 bytes", "has 5"], came(error(derive_master_key(&[0x42; 5], b"")))),
        ("ContextLength", &["72 bytes", "has 73"], came(error(derive_master_key(KEY, &[0; 73])))),
        ("DamagedChunk", &["chunk 0"], {
            came(error(open(&changed(HEADER_LEN + 100)).unwrap().read_at(&mut [0; 10], 0)))
        }),
        (
            "Truncated",
            &["at least", &format!("has {}", good.len() - 1)],
            came(error(open(&good[..good.len() - 1]))),
        ),
        (
            "ChunkSize",
            &["multiple of 16", "not 17"],
            came(error(options().chunk_size(17).create(Memory::default(), KEY))),
        ),
        (
            "TooLarge",
            &["larger than the format allows"],
            came(error(file().write_at(b"text", u64::MAX))),
        ),
        ("Exists", &["is not empty"], came(error(options().create(Memory(vec![1]), KEY)))),
        ("NoRandomness", &["no random bytes", "the source is dry"], came(no_nonce)),
        ("Poisoned", &["open the file again"], came(error(poisoned.commitment()))),
        ("SyncFailed", &["may be lost", "open the file again"], came(error(forgetful.sync()))),
        ("Locked", &["in use"], came(error(options().create(Other { busy: true }, KEY)))),
        ("ChangingChunk", &["chunk 1", "read it again"], {
            let storage = Unsteady(std::mem::take(&mut busy.0), 0);
            let file = Raf::open_beside_writer(storage, KEY).unwrap();
            came(error(file.read_at(&mut [0; 10], CHUNK_MIN.into())))
        }),
        ("ReadOnly", &["opened read-only"], {
            came(error(
                Raf::open_read_only(Memory(good.clone()), KEY).unwrap().write_at(b"text", 0),
            ))
        }),
        ("NoTree", &["no Merkle tree"], came(error(file().commitment()))),
        ("TreeFull", &["room for 2 chunks"], came(error(open(&good).unwrap().with_merkle(2)))),
        ("TreeSize", &["room for 0 chunks"], came(error(open(&good).unwrap().with_merkle(0)))),
        ("TreeMismatch", &["chunk 0", "Merkle tree"], {
            // The tree of one file, and the storage of another with the same id and key.
            let mut file = open(&good).unwrap().with_merkle(4).unwrap();
            let mut other = open(&good).unwrap();
            other.write_at(b"text", 0).unwrap();
            *file.storage_mut() = other.into_storage();
            came(file.verify_tree().unwrap_err().1)
        }),
        (
            "HashLength",
            &["8 to 64", "not 7"],
            came(error(open(&good).unwrap().with_merkle_hasher(Sha256, 7, 4))),
        ),
        ("BufferLength", &["has 9"], came(short(9))),
        ("Cipher", &["PALLADION_BACKEND=\"nonsense\""], {
            let mut command = child::command(&[], "every_error::child");
            command.env("PALLADION_BACKEND", "nonsense");
            Came::from_child(&child::output(command))
        }),
    ];
    check(names, calls, &[]);
}

/// A storage that someone else has locked, or that cannot be synced.
struct Other {
    busy: bool,
}

impl Storage for Other {
    fn read_at(&mut self, _: &mut [u8], _: u64) -> io::Result<()> {
        Ok(())
    }
    fn write_at(&mut self, _: &[u8], _: u64) -> io::Result<()> {
        Ok(())
    }
    fn size(&mut self) -> io::Result<u64> {
        Ok(0)
    }
    fn set_size(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }
    fn sync(&mut self) -> io::Result<()> {
        Err(io::Error::other("the disk is broken"))
    }
    fn set_lock(&mut self, _: Option<Lock>) -> io::Result<bool> {
        if self.busy { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(true) }
    }
}

/// A storage whose bytes past the first chunk are different at each read.
struct Unsteady(Vec<u8>, u8);

impl Storage for Unsteady {
    fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.1 = self.1.wrapping_add(1);
        Memory(self.0.clone()).read_at(buf, offset)?;
        if offset > HEADER_LEN as u64 {
            buf[100] = self.1;
        }
        Ok(())
    }
    fn write_at(&mut self, _: &[u8], _: u64) -> io::Result<()> {
        Ok(())
    }
    fn size(&mut self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
    fn set_size(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Fails at once.
struct Broken;

impl Storage for Broken {
    fn read_at(&mut self, _: &mut [u8], _: u64) -> io::Result<()> {
        Err(io::Error::other("the disk is broken"))
    }
    fn write_at(&mut self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::Error::other("the disk is broken"))
    }
    fn size(&mut self) -> io::Result<u64> {
        Err(io::Error::other("the disk is broken"))
    }
    fn set_size(&mut self, _: u64) -> io::Result<()> {
        Err(io::Error::other("the disk is broken"))
    }
    fn sync(&mut self) -> io::Result<()> {
        Err(io::Error::other("the disk is broken"))
    }
}

#[test]
#[ignore = "run by another test"]
fn child() {
    let error = options()
        .file_id([1; 24])
        .create(Memory::default(), KEY)
        .expect_err("there is no such backend");
    Came::new(&error).print();
    println!("<done>");
}
