//! CPUs with VAES and AVX2: up to two blocks in a YMM register.

#[cfg(target_arch = "x86")]
use core::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

use super::{aes, fold_two, halves, join, one_block, overlapping, register, two_blocks, two_lanes};
use crate::block::{Blocks, Halves, MAX_LANES, Vector, Word};
use crate::machine::{Aegis128, Aegis256, Packed128, Twin};

one_block! {
    /// One block in an XMM register: AES-NI on CPUs with VAES.
    V1
}
two_blocks! {
    /// Two blocks in a YMM register, with VAES and AVX2.
    V2 of V1
}
aes!(V1(__m128i) of V1, _mm_aesenc_si128, needs "sse2", xmm_reg,
    in_order true, three_way false);
aes!(V2(__m256i) of V1, _mm256_aesenc_epi128, needs "avx2", ymm_reg,
    in_order true, three_way false);
halves!(V2, needs "avx2", "vperm2i128");

crate::driver::table::tables! {
    #[target_feature(enable = "avx2,aes,vaes")]
    scrub: 384;
    aegis128: [
        Packed128<V2>, 1, batch [Aegis128<V2>]; Aegis128<V2>, 1; Aegis128<V2>, 2;] any Aegis128<V1>;
    aegis256: [
        Aegis256<V1>, 1, batch [Aegis256<V2>]; Aegis256<V2>, 1; Twin<Aegis256<V2>>, 1;]
        any Aegis256<V1>;
}
