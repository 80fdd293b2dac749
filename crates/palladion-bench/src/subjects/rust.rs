//! RustCrypto's AES-GCM and BLAKE3, which are Rust crates.

use std::hint::black_box;

use aes_gcm::aead::inout::InOutBuf;
use aes_gcm::{AeadInOut, KeyInit};

use super::subject::{Entry, Job, KEY, NONCE, Subject, TAG_LEN, check, version_of};
use crate::algorithm::{Algorithm, Operation};

pub const RUST_CRYPTO: &str = "RustCrypto";
pub const BLAKE3: &str = "BLAKE3";

pub fn aes_gcm<C: AeadInOut + KeyInit + 'static>(algorithm: Algorithm) -> Entry {
    let cipher = C::new_from_slice(&KEY[..algorithm.key_len()]).expect("length");
    let version = format!("aes-gcm {}", version_of("aes-gcm"));
    Entry::new(algorithm, RUST_CRYPTO, &version, Box::new(Cipher(cipher)))
}

pub fn blake3() -> Entry {
    let version = format!("blake3 {}", version_of("blake3"));
    Entry::new(Algorithm::Blake3, BLAKE3, &version, Box::new(Blake3))
}

struct Cipher<C>(C);

impl<C: AeadInOut> Subject for Cipher<C> {
    fn run(&mut self, job: &mut Job, repeats: u64) -> Result<(), String> {
        for _ in 0..repeats {
            let job = black_box(&mut *job);
            let nonce = check(NONCE[..12].try_into())?;
            let buf = check(InOutBuf::new(job.input, job.output))?;
            match job.operation {
                Operation::Decrypt => {
                    let tag = check(job.tag[..].try_into())?;
                    check(self.0.decrypt_inout_detached(nonce, job.ad, buf, tag))?;
                }
                _ => job
                    .tag
                    .copy_from_slice(&check(self.0.encrypt_inout_detached(nonce, job.ad, buf))?),
            }
        }
        Ok(())
    }
}

struct Blake3;

impl Subject for Blake3 {
    fn run(&mut self, job: &mut Job, repeats: u64) -> Result<(), String> {
        for _ in 0..repeats {
            let job = black_box(&mut *job);
            job.tag.copy_from_slice(&blake3::keyed_hash(&KEY, job.input).as_bytes()[..TAG_LEN]);
        }
        Ok(())
    }
}
