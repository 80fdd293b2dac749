//! Files with random access: crate `palladion-raf`. Headers are public except for their MAC.

use std::hint::black_box;
use std::io::{self, Read, Seek, SeekFrom, Write};

use palladion::{Algorithm, Buffer};
use palladion_raf::merkle::{Hasher, Input, Sha256, Tree, tree_len};
use palladion_raf::{
    Cursor, Error, Found, Info, Memory, Options, Raf, ReadOnly, Result, System, derive_master_key,
};

use crate::calls::flipped;
use crate::{hidden, shown};

const CHUNK: u32 = 1024;

pub fn all() -> Result<()> {
    for algorithm in Algorithm::ALL {
        let key = derive_master_key(&hidden(algorithm.key_len()), &hidden(30))?;
        let file = changes(algorithm, &key)?;
        opening(&file, &key)?;
        tree(&file, &key)?;
        environment(algorithm, &key)?;
    }
    many_chunks()?;
    hashes().map_err(Error::from)
}

fn changes(algorithm: Algorithm, key: &[u8]) -> Result<Memory> {
    let options = Options::default().algorithm(algorithm).chunk_size(CHUNK);
    let mut file = options.create(Memory::default(), key)?;
    file.write_at(&hidden(3000), 500)?;
    file.set_size(2000)?;
    file.set_size(2500)?;
    shown(&file);
    let mut cursor = Cursor::new(file);
    cursor.seek(SeekFrom::Start(100)).map_err(Error::from)?;
    cursor.write_all(&hidden(50)).map_err(Error::from)?;
    cursor.flush().map_err(Error::from)?;
    cursor.read_exact(&mut [0; 50]).map_err(Error::from)?;
    cursor.get_mut().sync()?;
    let file = cursor.into_inner();
    file.verify()?;
    Ok(file.into_storage())
}

/// Opens the file with the right and a wrong key, and a damaged file.
fn opening(storage: &Memory, key: &[u8]) -> Result<()> {
    let mut buffer = vec![0; 1500];
    let file = Raf::open(storage.clone(), key)?;
    assert_eq!(file.read_at(&mut buffer, 100)?, 1500);
    let file = Raf::open_read_only(ReadOnly(io::Cursor::new(&storage.0)), key)?;
    assert_eq!(file.read_at(&mut buffer, 1000)?, 1500);
    let found = Found::new(storage.clone())?;
    found.open(key)?.verify()?;

    let other = flipped(key);
    assert!(matches!(Raf::open(storage.clone(), &other), Err(Error::WrongKey)));
    assert!(matches!(Raf::open_read_only(storage.clone(), &other), Err(Error::WrongKey)));
    assert!(matches!(Found::new(storage.clone())?.open(&other), Err(Error::WrongKey)));
    let file = Raf::open(Memory(flipped(&storage.0)), key)?;
    assert!(matches!(file.read_at(&mut buffer, 2000), Err(Error::DamagedChunk { .. })));
    assert!(matches!(file.verify(), Err(Error::DamagedChunk { .. })));
    Ok(())
}

/// The nodes of a Merkle tree are secret, because they depend on the contents.
fn tree(storage: &Memory, key: &[u8]) -> Result<()> {
    let mut file = Raf::open(storage.clone(), key)?.with_merkle(5)?;
    file.write_at(&hidden(700), 1500)?;
    black_box(file.commitment()?);
    file.commitment_into(&mut [0; 32])?;
    file.rebuild_tree()?;
    assert!(file.verify_tree().is_ok());
    // An older version of the file.
    *file.storage_mut() = storage.clone();
    assert!(matches!(file.verify_tree(), Err((Some(1), Error::TreeMismatch { .. }))));

    // A tree of another file, in the caller's memory.
    let file = Raf::open(storage.clone(), key)?;
    let mut file = file.with_merkle_hasher::<Sha256>(Sha256, Sha256::LEN, 4)?;
    let mut nodes =
        Buffer::new(0, tree_len(4, Sha256::LEN).unwrap_or(0)).map_err(io::Error::from)?;
    let initial = hidden(nodes.len());
    nodes.copy_from_slice(&initial);
    let tree = Tree::new(Sha256, nodes, 4, Sha256::LEN)?;
    file.attach(tree)?;
    assert!(matches!(file.verify_tree(), Err((Some(0), Error::TreeMismatch { .. }))));
    Ok(())
}

/// Works in memory that the caller provides.
fn environment(algorithm: Algorithm, key: &[u8]) -> Result<()> {
    let options = Options::default().algorithm(algorithm).chunk_size(CHUNK);
    let room = |info: &Info| info.buffer(1);
    let environment = System::<Sha256>::default();
    let mut file = options.create_in(Memory::default(), key, environment, room)?;
    file.write_at(&hidden(1500), 0)?;
    let found = Found::new(file.into_storage())?;
    let environment = System::<Sha256>::default();
    let file = found.open_in(key, environment, room)?;
    file.read_at(&mut [0; 300], 1000)?;
    Ok(())
}

/// As many chunks as several threads share.
fn many_chunks() -> Result<()> {
    let algorithm = Algorithm::Aegis128X2;
    let key = hidden(algorithm.key_len());
    let options = Options::default().algorithm(algorithm).chunk_size(64 << 10);
    let mut file = options.create(Memory::default(), &key)?;
    let mut data = hidden(5 * (64 << 10));
    file.write_at(&data, 0)?;
    file.read_at(&mut data, 0)?;
    let file = Raf::open(Memory(flipped(&file.into_storage().0)), &key)?;
    assert!(matches!(file.read_at(&mut data, 0), Err(Error::DamagedChunk { .. })));
    Ok(())
}

fn hashes() -> std::io::Result<()> {
    let (mut hash, chunk, node) = ([0; 32], hidden(200), hidden(32));
    for input in [
        Input::Leaf { chunk: &chunk, index: 3 },
        Input::Parent { left: &node, right: &node, level: 1, index: 3 },
        Input::Empty { level: 1, index: 3 },
        Input::Commitment { root: &node, context: &[0; 32], size: 200 },
    ] {
        Sha256.hash(&mut hash, input)?;
    }
    Ok(())
}
