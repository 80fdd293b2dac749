//! AEGIS-256 in the crate `rscrypto`, as variant 3. It works in place, so it copies the input to
//! another buffer first, and has no MAC.

use super::RawJob;
use rscrypto::aead::Nonce256;
use rscrypto::aead::expert::AeadWithNonce;
use rscrypto::{Aegis256, Aegis256Key};

/// See [`super::job::Run`].
///
/// # Safety
///
/// The pointers in `job` must be valid for their lengths, and input and output distinct.
pub unsafe fn run(variant: u32, operation: u32, repeats: u64, job: &RawJob) -> i32 {
    for _ in 0..repeats {
        let j = std::hint::black_box(job);
        // SAFETY: the caller's promise.
        let (key, nonce, ad, buf, tag) = unsafe {
            j.input.copy_to_nonoverlapping(j.output, j.len);
            (
                &*j.key.cast::<[u8; 32]>(),
                &*j.nonce.cast::<[u8; 32]>(),
                std::slice::from_raw_parts(j.ad, j.ad_len),
                std::slice::from_raw_parts_mut(j.output, j.len),
                &mut *j.tag.cast::<[u8; 16]>(),
            )
        };
        let cipher = Aegis256::new(&Aegis256Key::from_bytes(*key));
        let nonce = Nonce256::from_bytes(*nonce);
        let done = match (variant, operation) {
            (3, 0) => match cipher.encrypt_in_place(&nonce, ad, buf) {
                Ok(made) => {
                    *tag = *made.as_bytes();
                    true
                }
                Err(_) => false,
            },
            (3, 1) => match Aegis256::tag_from_slice(tag) {
                Ok(tag) => cipher.decrypt_in_place(&nonce, ad, buf, &tag).is_ok(),
                Err(_) => false,
            },
            _ => return 2,
        };
        if !done {
            return 1;
        }
    }
    0
}
