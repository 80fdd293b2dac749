//! CPUs with VAES and AVX2: up to two blocks in a YMM register.

#[cfg(target_arch = "x86")]
use core::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

use super::aesni::avx;
use super::{
    aes, fold_two, halves, join, one_block, overlapping, register, two_blocks, two_lanes,
    update_256,
};
use crate::block::{Blocks, Halves, MAX_LANES, Vector, Word};
use crate::driver::table::Tables;
use crate::machine::{Aegis128, Aegis256, Packed128, Twin256};

one_block! {
    /// One block in an XMM register, with AES-NI and AVX. The compiler keeps the order of its
    /// instructions.
    V1
}
two_blocks! {
    /// Two blocks in a YMM register, with VAES and AVX2.
    V2 of V1
}
aes!(V1(__m128i) of V1, _mm_aesenc_si128, needs "sse2", xmm_reg,
    in_order true, three_way false);
aes!(V2(__m256i) of V1, _mm256_aesenc_epi128, needs "avx2", ymm_reg,
    in_order true, three_way false update_256! { __m256i, ymm_reg, "avx2,aes,vaes",
        ["ymm0" "ymm1" "ymm2" "ymm3" "ymm4" "ymm5"]
        ["ymm6" "ymm7" "ymm8" "ymm9" "ymm10" "ymm11"] });
halves!(V2, needs "avx2", "vperm2i128");

/// The kernels for Zen cores. Those of [`avx`] process one message of AEGIS-128L or AEGIS-256. With
/// one word per register, AEGIS-128L encrypts and absorbs faster there.
pub(crate) const TABLES_FOR_ZEN: Tables = {
    let mut tables = TABLES;
    tables[0][0] = avx::TABLES_FOR_ZEN[0][0].with_batch_of(&TABLES[0][0]);
    tables[0][1] = entry::table::<Aegis128<V2, true>, 1>(TABLES[0][1].batch);
    // For long data only. The code of whole messages would grow for a gain of 2 %.
    tables[0][2].state.process =
        entry::table::<Aegis128<V2, true>, 2>(TABLES[0][2].batch).state.process;
    tables[1][0] = avx::TABLES_FOR_ZEN[1][0].with_batch_of(&TABLES[1][0]);
    tables[1][1] = entry::table::<Aegis256<V2, true>, 1>(TABLES[1][1].batch);
    tables
};

crate::driver::table::tables! {
    #[target_feature(enable = "avx2,aes,vaes")]
    scrub: 384;
    aegis128: [
        Packed128<V2>, 1, batch [Aegis128<V2>]; Aegis128<V2>, 1; Aegis128<V2>, 2;] any Aegis128<V1>;
    aegis256: [
        Aegis256<V1>, 1, batch [Aegis256<V2>]; Aegis256<V2>, 1; Twin256<V2>, 1;]
        any Aegis256<V1>;
}
