//! HiAE in the crate `hiae`, as variant 6. It has no MAC.

use super::RawJob;

/// See [`super::job::Run`].
///
/// # Safety
///
/// The pointers in `job` must be valid for their lengths, and input and output distinct.
pub unsafe fn run(variant: u32, operation: u32, repeats: u64, job: &RawJob) -> i32 {
    for _ in 0..repeats {
        let j = std::hint::black_box(job);
        // SAFETY: the caller's promise.
        let (key, nonce, ad, input, output, tag) = unsafe {
            (
                &*j.key.cast::<[u8; 32]>(),
                &*j.nonce.cast::<[u8; 16]>(),
                std::slice::from_raw_parts(j.ad, j.ad_len),
                std::slice::from_raw_parts(j.input, j.len),
                std::slice::from_raw_parts_mut(j.output, j.len),
                &mut *j.tag.cast::<[u8; 16]>(),
            )
        };
        let done = match (variant, operation) {
            (6, 0) => hiae::encrypt_into(input, ad, key, nonce, output).map(|made| *tag = made),
            (6, 1) => hiae::decrypt_into(input, tag, ad, key, nonce, output),
            _ => return 2,
        };
        if done.is_err() {
            return 1;
        }
    }
    0
}
