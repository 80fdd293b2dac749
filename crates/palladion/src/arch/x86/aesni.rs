//! CPUs with AES-NI: one block in an XMM register.

#[cfg(target_arch = "x86")]
use core::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

use super::{aes, one_block, overlapping, register};
use crate::block::{Blocks, MAX_LANES, Vector, Word};
use crate::driver::features::features;

one_block! {
    /// One block in an XMM register, with AES-NI.
    X1
}
aes!(X1(__m128i) of X1, _mm_aesenc_si128, needs "sse2", xmm_reg);

features! {
    /// The SSE encoding of AES-NI, for old and small CPUs without AVX.
    Sse: "ssse3,aes", scrub 384
}
features! {
    /// The three-operand encoding of AVX.
    Avx: "avx,aes", scrub 384
}
