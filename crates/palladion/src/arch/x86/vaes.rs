//! CPUs with VAES and AVX2: up to two blocks in a YMM register.

#[cfg(target_arch = "x86")]
use core::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

use super::{
    V1, aes, fold_two, halfwise, halves, join, overlapping, register, two_blocks, two_lanes,
};
use crate::block::{Blocks, Halves, MAX_LANES, Vector, Word};
use crate::driver::features::features;
use crate::machine::Halfwise;

two_blocks! {
    /// Two blocks in a YMM register, with VAES and AVX2.
    V2 of V1
}
aes!(V2(__m256i) of V1, _mm256_aesenc_epi128, needs "avx2", ymm_reg);
halfwise!(V2(__m256i), ymm_reg, needs "avx2,aes,vaes",
    ["ymm0" "ymm1" "ymm2" "ymm3" "ymm4" "ymm5"] ["ymm6" "ymm7" "ymm8" "ymm9" "ymm10" "ymm11"]);
halves!(V2, needs "avx2", "vperm2i128");

features! {
    /// VAES and AVX2.
    Vaes: "avx2,aes,vaes", scrub 384
}
