//! What the tests share: a key, small files of several chunks, and the parts of a file.
#![allow(dead_code)] // Every test takes what it needs.

use std::num::NonZero;

use palladion_file::{
    Algorithm, ChunkSize, Decryptor, EncryptWriter, Encryptor, Error, KdfParams, MasterKey,
};

pub const HEADER: usize = 128;
pub const OVERHEAD: usize = 36;
pub const CHUNK: usize = 1024;

pub fn key() -> MasterKey {
    MasterKey::from([0x42; 32])
}

/// Runs a future on tokio. In a box, so that the runtime is compiled once.
#[cfg(feature = "tokio")]
pub fn on<T>(runtime: &tokio::runtime::Runtime, future: impl Future<Output = T>) -> T {
    let mut result = None;
    let boxed: std::pin::Pin<Box<dyn Future<Output = ()> + '_>> =
        Box::pin(async { result = Some(future.await) });
    runtime.block_on(boxed);
    result.unwrap()
}

pub fn threads(n: usize) -> NonZero<usize> {
    NonZero::new(n).unwrap()
}

/// The cheapest parameters there are.
pub fn cheap() -> KdfParams {
    KdfParams::new(8, 1, 1).unwrap()
}

/// Bytes without a pattern that chunks could share.
pub fn text(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
}

pub fn encrypt(text: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    Encryptor::new(&key())
        .chunk_size(ChunkSize::MIN)
        .threads(threads(2))
        .run(text, &mut file)
        .unwrap();
    file
}

pub fn encrypt_streaming(algorithm: Algorithm, text: &[u8]) -> Vec<u8> {
    let mut writer =
        EncryptWriter::with(&key(), algorithm, ChunkSize::MIN, cheap(), Vec::new()).unwrap();
    std::io::Write::write_all(&mut writer, text).unwrap();
    writer.finish().unwrap()
}

/// Returns what came out, and how it ended.
pub fn decrypt_with(key: &MasterKey, n: usize, file: &[u8]) -> (Vec<u8>, Result<(), Error>) {
    let mut out = Vec::new();
    let result = Decryptor::new(key).threads(threads(n)).run(file, &mut out).map(|_| ());
    (out, result)
}

pub fn decrypt(file: &[u8]) -> (Vec<u8>, Result<(), Error>) {
    decrypt_with(&key(), 1, file)
}

/// The sealed chunks of a file of full chunks and a last one.
pub fn chunks(file: &[u8]) -> Vec<&[u8]> {
    file[HEADER..].chunks(CHUNK + OVERHEAD).collect()
}

pub fn join(header: &[u8], chunks: &[&[u8]]) -> Vec<u8> {
    [&[&header[..HEADER]], chunks].concat().concat()
}

/// Puts the checksum right after a change to the header.
pub fn fix_checksum(file: &mut [u8]) {
    let sum: [u8; 32] = <sha2::Sha256 as sha2::Digest>::digest(&file[..96]).into();
    file[96..128].copy_from_slice(&sum);
}
