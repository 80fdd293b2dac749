// The interface between the benchmark and the library. Both compile this file.

/// The library's only function, `palladion_bench_aegis_run`, which runs the job `repeats` times.
/// Variants are numbered 128L, 128X2, 128X4, 256, 256X2, 256X4, HiAE; operations are encrypt,
/// decrypt, MAC. Returns 0, or another number if a tag was wrong or an argument is invalid.
pub type Run =
    unsafe extern "C" fn(variant: u32, operation: u32, repeats: u64, job: &RawJob) -> i32;

/// The arguments of one call.
#[repr(C)]
pub struct RawJob {
    /// As long as the variant's keys: 16 or 32 bytes.
    pub key: *const u8,
    /// As long as the key.
    pub nonce: *const u8,
    /// Associated data.
    pub ad: *const u8,
    /// Its length.
    pub ad_len: usize,
    /// Message, ciphertext, or data for the MAC.
    pub input: *const u8,
    /// Ciphertext or message; unused for the MAC. May be `input`.
    pub output: *mut u8,
    /// The length of both.
    pub len: usize,
    /// 16 bytes: read by decryption, written by the others.
    pub tag: *mut u8,
}
