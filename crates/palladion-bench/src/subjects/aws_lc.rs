//! AWS-LC, through crate `aws-lc-rs`.

use std::hint::black_box;

use aws_lc_rs::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm as Aead, CHACHA20_POLY1305, LessSafeKey, Nonce,
    UnboundKey,
};
use aws_lc_rs::hmac;

use super::subject::{AWS_LC, Entry, Job, KEY, NONCE, Subject, TAG_LEN, check, version_of};
use crate::algorithm::{Algorithm, Operation};

pub fn entries() -> Result<Vec<Entry>, String> {
    let version =
        format!("aws-lc-rs {}, aws-lc-sys {}", version_of("aws-lc-rs"), version_of("aws-lc-sys"));
    let entry = |algorithm, subject| Entry::new(algorithm, AWS_LC, &version, subject);
    let aead = |algorithm: Algorithm, aead: &'static Aead| {
        let key = check(UnboundKey::new(aead, &KEY[..algorithm.key_len()]))?;
        Ok::<_, String>(entry(algorithm, Box::new(Cipher(LessSafeKey::new(key)))))
    };
    Ok(vec![
        aead(Algorithm::Aes128Gcm, &AES_128_GCM)?,
        aead(Algorithm::Aes256Gcm, &AES_256_GCM)?,
        aead(Algorithm::Chacha20Poly1305, &CHACHA20_POLY1305)?,
        entry(Algorithm::HmacSha256, Box::new(Hmac(hmac::Key::new(hmac::HMAC_SHA256, &KEY)))),
    ])
}

struct Cipher(LessSafeKey);

impl Subject for Cipher {
    fn run(&mut self, job: &mut Job, repeats: u64) -> Result<(), String> {
        let nonce: [u8; 12] = NONCE[..12].try_into().expect("length");
        for _ in 0..repeats {
            let job = black_box(&mut *job);
            let (nonce, ad) = (Nonce::assume_unique_for_key(nonce), Aad::from(job.ad));
            check(match job.operation {
                Operation::Encrypt => self.0.seal_out_of_place_scatter(
                    nonce,
                    ad,
                    job.input,
                    job.output,
                    &[],
                    &mut job.tag,
                ),
                _ => self.0.open_separate_gather(nonce, ad, job.input, &job.tag, job.output),
            })?;
        }
        Ok(())
    }
}

struct Hmac(hmac::Key);

impl Subject for Hmac {
    fn run(&mut self, job: &mut Job, repeats: u64) -> Result<(), String> {
        for _ in 0..repeats {
            let job = black_box(&mut *job);
            job.tag.copy_from_slice(&hmac::sign(&self.0, job.input).as_ref()[..TAG_LEN]);
        }
        Ok(())
    }
}
