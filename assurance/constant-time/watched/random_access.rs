//! Files with random access: crate `palladion-raf`. Their headers are public, but for the MAC.

use std::io::{self, Read, Seek, SeekFrom, Write};

use palladion::Algorithm;
use palladion_raf::merkle::{Hasher, Sha256, Tree, tree_len};
use palladion_raf::{
    Cursor, Error, Found, Info, Memory, Options, Raf, ReadOnly, Result, System, derive_master_key,
};

use super::calls::{call, shown};
use super::{flipped, hidden};

const CHUNK: u32 = 1024;

pub fn all() -> Result<()> {
    for algorithm in Algorithm::ALL {
        let key = call!(derive_master_key, &hidden(algorithm.key_len()), &hidden(30))?;
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
    let mut file = call!(Options::create::<Memory>, options, Memory::default(), key)?;
    call!(Raf::write_at, &mut file, &hidden(3000), 500)?;
    call!(Raf::set_size, &mut file, 2000)?;
    call!(Raf::set_size, &mut file, 2500)?;
    shown(&file);
    let mut cursor = call!(Cursor::new, file);
    call!(<Cursor<_> as Seek>::seek, &mut cursor, SeekFrom::Start(100)).map_err(Error::from)?;
    call!(<Cursor<_> as Write>::write, &mut cursor, &hidden(50)).map_err(Error::from)?;
    call!(<Cursor<_> as Write>::flush, &mut cursor).map_err(Error::from)?;
    call!(<Cursor<_> as Read>::read, &mut cursor, &mut [0; 50]).map_err(Error::from)?;
    call!(Raf::sync, call!(Cursor::get_mut, &mut cursor))?;
    let mut file = call!(Cursor::into_inner, cursor);
    call!(Raf::verify, &mut file)?;
    Ok(call!(Raf::into_storage, file))
}

/// With the right key and another one, as it is and damaged.
fn opening(storage: &Memory, key: &[u8]) -> Result<()> {
    let mut buffer = vec![0; 1500];
    let mut file = call!(Raf::open, storage.clone(), key)?;
    assert_eq!(call!(Raf::read_at, &mut file, &mut buffer, 100)?, 1500);
    let mut file = call!(Raf::open_read_only, ReadOnly(io::Cursor::new(&storage.0)), key)?;
    assert_eq!(file.read_at(&mut buffer, 1000)?, 1500);
    let found = call!(Found::new, storage.clone())?;
    call!(Found::open, found, key)?.verify()?;

    let other = flipped(key);
    assert!(matches!(call!(Raf::open, storage.clone(), &other), Err(Error::WrongKey)));
    assert!(matches!(call!(Raf::open_read_only, storage.clone(), &other), Err(Error::WrongKey)));
    assert!(matches!(
        call!(Found::open, Found::new(storage.clone())?, &other),
        Err(Error::WrongKey)
    ));
    let mut file = Raf::open(Memory(flipped(&storage.0)), key)?;
    assert!(matches!(
        call!(Raf::read_at, &mut file, &mut buffer, 2000),
        Err(Error::DamagedChunk { .. })
    ));
    assert!(matches!(call!(Raf::verify, &mut file), Err(Error::DamagedChunk { .. })));
    Ok(())
}

/// A Merkle tree: nodes are secret, as they tell of contents.
fn tree(storage: &Memory, key: &[u8]) -> Result<()> {
    let mut file = call!(Raf::with_merkle, Raf::open(storage.clone(), key)?, 5)?;
    call!(Raf::write_at, &mut file, &hidden(700), 1500)?;
    call!(Raf::commitment, &file)?;
    call!(Raf::commitment_into, &file, &mut [0; 32])?;
    call!(Raf::rebuild_tree, &mut file)?;
    assert!(call!(Raf::verify_tree, &mut file).is_ok());
    // An older version of the file.
    *call!(Raf::storage_mut, &mut file) = storage.clone();
    assert!(matches!(
        call!(Raf::verify_tree, &mut file),
        Err((Some(1), Error::TreeMismatch { .. }))
    ));

    // One that does not know the file yet, with nodes of the caller's own.
    let file = Raf::open(storage.clone(), key)?;
    let mut file = call!(Raf::with_merkle_hasher::<Sha256>, file, Sha256, Sha256::LEN, 4)?;
    let nodes = hidden(tree_len(4, Sha256::LEN).unwrap_or(0));
    let tree = call!(Tree::new, Sha256, nodes, 4, Sha256::LEN)?;
    call!(Raf::attach, &mut file, tree)?;
    assert!(matches!(
        call!(Raf::verify_tree, &mut file),
        Err((Some(0), Error::TreeMismatch { .. }))
    ));
    Ok(())
}

/// With memory of the caller's own.
fn environment(algorithm: Algorithm, key: &[u8]) -> Result<()> {
    let options = Options::default().algorithm(algorithm).chunk_size(CHUNK);
    // (Not a closure: those would be for one lifetime, where the function that they are for has a
    // name.)
    fn room(info: &Info) -> Result<Vec<u8>> {
        Ok(vec![0; info.record_len()])
    }
    let environment = System::<Sha256>::default();
    let mut file = call!(Options::create_in, options, Memory::default(), key, environment, room)?;
    file.write_at(&hidden(1500), 0)?;
    let found = Found::new(file.into_storage())?;
    let environment = System::<Sha256>::default();
    let mut file = call!(Found::open_in, found, key, environment, room)?;
    file.read_at(&mut [0; 300], 1000)?;
    Ok(())
}

/// As many as are worked on together.
fn many_chunks() -> Result<()> {
    let algorithm = Algorithm::Aegis128X2;
    let key = hidden(algorithm.key_len());
    let options = Options::default().algorithm(algorithm).chunk_size(64 << 10);
    let mut file = options.create(Memory::default(), &key)?;
    let mut data = hidden(5 * (64 << 10));
    call!(Raf::write_at, &mut file, &data, 0)?;
    call!(Raf::read_at, &mut file, &mut data, 0)?;
    let mut file = Raf::open(Memory(flipped(&file.into_storage().0)), &key)?;
    assert!(matches!(
        call!(Raf::read_at, &mut file, &mut data, 0),
        Err(Error::DamagedChunk { .. })
    ));
    Ok(())
}

fn hashes() -> std::io::Result<()> {
    let (mut hash, chunk, node) = ([0; 32], hidden(200), hidden(32));
    call!(<Sha256 as Hasher>::leaf, &Sha256, &mut hash, &chunk, 3)?;
    call!(<Sha256 as Hasher>::parent, &Sha256, &mut hash, &node, &node, 1, 3)?;
    call!(<Sha256 as Hasher>::empty, &Sha256, &mut hash, 1, 3)?;
    call!(<Sha256 as Hasher>::commitment, &Sha256, &mut hash, &node, &[0; 32], 200)
}
