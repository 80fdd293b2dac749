//! RAF, version 1: libaegis's format of encrypted files with random access.
//!
//! A file is a header of 64 bytes and a record for each chunk, and nothing else. Integers are
//! little-endian.
//!
//! | bytes of the header | |
//! |---|---|
//! | 0 to 7 | `AEGISRAF` |
//! | 8, 9 | the header's length: 64 |
//! | 10 | the version: 1 |
//! | 11 | the algorithm: 1 to 6, see [`aegis`] |
//! | 12 to 15 | bytes in a chunk: a multiple of 16 from 2^10 to 2^20 |
//! | 16 to 23 | bytes in the file, as the reader sees it |
//! | 24 to 47 | the file id |
//! | 48 to 63 | the MAC of all before |
//!
//! A record is a nonce, the ciphertext of a whole chunk, and a tag of 16 bytes. The last record is
//! as long as the others. Its chunk has zeros past the end of the file when it is written, but may
//! have any bytes there after the file was made shorter. Readers ignore these bytes and anything
//! after the last record.
//!
//! This module cannot change a file. [`write_file`] creates a whole one.

use crate::Aegis;
use crate::Family::{Aegis128, Aegis256};
use crate::hash::{sha256, turboshake};

/// Bytes in the header.
pub const HEADER_LEN: usize = 64;
/// Bytes in a tag.
pub const TAG_LEN: usize = 16;

/// The algorithm with a number.
pub fn aegis(algorithm: u8) -> Option<Aegis> {
    Some(match algorithm {
        1 => Aegis::new(Aegis128, 1),
        2 => Aegis::new(Aegis128, 2),
        3 => Aegis::new(Aegis128, 4),
        4 => Aegis::new(Aegis256, 1),
        5 => Aegis::new(Aegis256, 2),
        6 => Aegis::new(Aegis256, 4),
        _ => return None,
    })
}

/// TurboSHAKE128 where keys have 16 bytes, TurboSHAKE256 where they have 32.
fn kdf(key_len: usize, message: &[u8], len: usize) -> Vec<u8> {
    turboshake(if key_len == 16 { 168 } else { 136 }, message, 0x1f, len)
}

/// The key of the chunks and that of the header.
pub fn file_keys(master_key: &[u8], file_id: &[u8; 24]) -> (Vec<u8>, Vec<u8>) {
    let key_len = master_key.len();
    let mut chunks =
        kdf(key_len, &[b"aegis-raf-kdf-v1", master_key, file_id].concat(), 2 * key_len);
    let header = chunks.split_off(key_len);
    (chunks, header)
}

/// Derives a master key for one purpose from a key of the same length. Panics if the key does not
/// have 16 or 32 bytes, or if the context is longer than 120 or 72 bytes, so that the hash would
/// need a second block.
pub fn derive_master_key(key: &[u8], context: &[u8]) -> Vec<u8> {
    assert!(
        context.len() <= if key.len() == 16 { 120 } else { 72 },
        "a context of {} bytes",
        context.len()
    );
    assert!(matches!(key.len(), 16 | 32), "a key of {} bytes", key.len());
    let len = (context.len() as u64).to_le_bytes();
    kdf(key.len(), &[b"aegis-raf-master-key-v1", key, &len, context].concat(), key.len())
}

/// Why a file is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is shorter than a header.
    Short,
    /// It does not begin with `AEGISRAF`.
    Magic,
    /// It says that the header has another length.
    HeaderSize,
    /// It has another version.
    Version,
    /// There is no such algorithm.
    Algorithm,
    /// There are no such chunks.
    ChunkSize,
    /// Keys of its algorithm have another length.
    KeyLength,
    /// The header's MAC is wrong: another key, or another header.
    Mac,
    /// The length of all records together overflows.
    TooLarge,
    /// Some bytes of the records are missing.
    Truncated,
    /// The tag of this chunk is wrong.
    Chunk(u64),
}

/// The fields of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The algorithm's number.
    pub algorithm: u8,
    /// Bytes in a chunk.
    pub chunk_size: u32,
    /// Bytes in the file, as the reader sees it.
    pub size: u64,
    /// The file id.
    pub file_id: [u8; 24],
}

/// The MAC of a header's first 48 bytes, with a nonce of zeros.
pub fn header_mac(aegis: Aegis, header_key: &[u8], header: &[u8]) -> Vec<u8> {
    aegis.mac(header_key, &vec![0; aegis.key_len()], header, TAG_LEN)
}

impl Header {
    /// The cipher. Panics if the algorithm's number is unknown.
    pub fn aegis(&self) -> Aegis {
        aegis(self.algorithm).expect("an algorithm from 1 to 6")
    }

    /// The header without its MAC.
    pub fn fields(&self) -> Vec<u8> {
        let (chunk_size, size) = (self.chunk_size.to_le_bytes(), self.size.to_le_bytes());
        [&b"AEGISRAF"[..], &[64, 0, 1, self.algorithm], &chunk_size, &size, &self.file_id].concat()
    }

    /// The header.
    pub fn write(&self, master_key: &[u8]) -> Vec<u8> {
        let mut header = self.fields();
        let mac = header_mac(self.aegis(), &file_keys(master_key, &self.file_id).1, &header);
        header.extend(mac);
        header
    }

    /// The header of a file.
    pub fn read(file: &[u8], master_key: &[u8]) -> Result<Self, Refused> {
        let header = file.get(..HEADER_LEN).ok_or(Refused::Short)?;
        let number = |from: usize, to: usize| {
            header[from..to].iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))
        };
        let refuse = |when: bool, why: Refused| if when { Err(why) } else { Ok(()) };
        refuse(&header[..8] != b"AEGISRAF", Refused::Magic)?;
        refuse(number(8, 10) != 64, Refused::HeaderSize)?;
        refuse(header[10] != 1, Refused::Version)?;
        let aegis = aegis(header[11]).ok_or(Refused::Algorithm)?;
        let chunk_size = number(12, 16) as u32;
        refuse(
            !chunk_size.is_multiple_of(16) || !(1 << 10..=1 << 20).contains(&chunk_size),
            Refused::ChunkSize,
        )?;
        refuse(master_key.len() != aegis.key_len(), Refused::KeyLength)?;
        let file_id = header[24..48].try_into().unwrap();
        let mac = header_mac(aegis, &file_keys(master_key, &file_id).1, &header[..48]);
        refuse(header[48..] != mac, Refused::Mac)?;
        Ok(Header { algorithm: header[11], chunk_size, size: number(16, 24), file_id })
    }

    /// Returns how many chunks there are.
    pub fn chunks(&self) -> u64 {
        self.size.div_ceil(self.chunk_size.into())
    }

    /// Bytes in a record.
    pub fn record_len(&self) -> u64 {
        self.aegis().key_len() as u64 + u64::from(self.chunk_size) + TAG_LEN as u64
    }

    /// The associated data of a chunk.
    pub fn associated_data(&self, index: u64) -> Vec<u8> {
        [&self.file_id[..], &index.to_le_bytes(), &self.chunk_size.to_le_bytes()].concat()
    }
}

/// The record of a chunk. Panics if the chunk is not a whole one.
pub fn seal_record(
    header: &Header,
    master_key: &[u8],
    index: u64,
    nonce: &[u8],
    chunk: &[u8],
) -> Vec<u8> {
    assert_eq!(chunk.len(), header.chunk_size as usize);
    let (key, _) = file_keys(master_key, &header.file_id);
    let (ct, tag) =
        header.aegis().encrypt(&key, nonce, &header.associated_data(index), chunk, TAG_LEN);
    [nonce, &ct, &tag].concat()
}

/// The chunk of a record.
pub fn open_record(
    header: &Header,
    master_key: &[u8],
    index: u64,
    record: &[u8],
) -> Result<Vec<u8>, Refused> {
    let (key, _) = file_keys(master_key, &header.file_id);
    let (nonce, rest) = record.split_at(header.aegis().key_len());
    let (ct, tag) = rest.split_at(header.chunk_size as usize);
    let chunk = header.aegis().decrypt(&key, nonce, &header.associated_data(index), ct, tag);
    chunk.ok_or(Refused::Chunk(index))
}

/// Creates a file. `nonce` returns the nonce of each chunk, which must be random except in tests.
pub fn write_file(
    algorithm: u8,
    chunk_size: u32,
    master_key: &[u8],
    file_id: [u8; 24],
    mut nonce: impl FnMut(u64) -> Vec<u8>,
    contents: &[u8],
) -> Vec<u8> {
    let header = Header { algorithm, chunk_size, size: contents.len() as u64, file_id };
    let mut file = header.write(master_key);
    for (index, piece) in (0..).zip(contents.chunks(chunk_size as usize)) {
        let mut chunk = piece.to_vec();
        chunk.resize(chunk_size as usize, 0);
        file.extend(seal_record(&header, master_key, index, &nonce(index), &chunk));
    }
    file
}

/// The contents of a file.
pub fn read_file(file: &[u8], master_key: &[u8]) -> Result<Vec<u8>, Refused> {
    let header = Header::read(file, master_key)?;
    let expected =
        header.chunks().checked_mul(header.record_len()).and_then(|len| len.checked_add(64));
    if (file.len() as u64) < expected.ok_or(Refused::TooLarge)? {
        return Err(Refused::Truncated);
    }
    let mut contents = Vec::new();
    let records = file[HEADER_LEN..].chunks_exact(header.record_len() as usize);
    for (index, record) in (0..header.chunks()).zip(records) {
        contents.extend(open_record(&header, master_key, index, record)?);
    }
    contents.truncate(header.size as usize);
    Ok(contents)
}

/// Returns where a node is in a Merkle tree: its level, from 0 for the leaves, and its index there,
/// as they are hashed.
fn place(level: u32, index: u64) -> Vec<u8> {
    [&level.to_le_bytes()[..], &index.to_le_bytes()].concat()
}

/// The root of the Merkle tree over a file's contents, with SHA-256, pyaegis's default. The tree
/// has room for `max_chunks` chunks, which must be at least the file's, and that number determines
/// its shape.
pub fn merkle_root(chunk_size: u32, max_chunks: u64, contents: &[u8]) -> [u8; 32] {
    let chunks: Vec<&[u8]> = contents.chunks(chunk_size as usize).collect();
    assert!(max_chunks > 0 && chunks.len() as u64 <= max_chunks, "a tree for {max_chunks} chunks");
    let empty = |level, index| sha256(&[&[2], &place(level, index)[..]].concat());
    let mut nodes: Vec<[u8; 32]> = (0..max_chunks)
        .map(|i| match chunks.get(i as usize) {
            Some(chunk) => sha256(&[&[0], &i.to_le_bytes()[..], chunk].concat()),
            None => empty(0, i),
        })
        .collect();
    let mut level = 0; // that of the children
    while nodes.len() > 1 {
        let parents = (0..).zip(nodes.chunks(2)).map(|(i, children)| {
            let right = children.get(1).copied().unwrap_or_else(|| empty(level, 2 * i + 1));
            sha256(&[&[1], &place(level, i)[..], &children[0], &right].concat())
        });
        nodes = parents.collect();
        level += 1;
    }
    nodes[0]
}

/// The commitment: a hash of the tree's root and the header's fields. Whoever keeps it in a safe
/// place can detect an older state of the file.
pub fn merkle_commitment(header: &Header, max_chunks: u64, contents: &[u8]) -> [u8; 32] {
    assert_eq!(contents.len() as u64, header.size);
    let root = merkle_root(header.chunk_size, max_chunks, contents);
    let (chunk_size, size) = (header.chunk_size.to_le_bytes(), header.size.to_le_bytes());
    let context = [&[1, header.algorithm], &chunk_size[..], &header.file_id, &[0, 0]].concat();
    sha256(&[&[3], &root[..], &context, &size].concat())
}
