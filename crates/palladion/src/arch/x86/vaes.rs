//! CPUs with VAES and AVX2: up to two blocks in a YMM register.

#[cfg(target_arch = "x86")]
use core::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

use super::{
    aes, fold_two, halves, join, one_block, overlapping, register, two_blocks, two_lanes,
    update_256,
};
use crate::block::{Blocks, Halves, MAX_LANES, Vector, Word};
use crate::driver::table::Tables;
use crate::machine::{Aegis128, Aegis256, Packed128, Twin256};

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
    in_order true, three_way false update_256! { __m256i, ymm_reg, "avx2,aes,vaes",
        ["ymm0" "ymm1" "ymm2" "ymm3" "ymm4" "ymm5"]
        ["ymm6" "ymm7" "ymm8" "ymm9" "ymm10" "ymm11"] });
halves!(V2, needs "avx2", "vperm2i128");

/// The kernels for Zen cores: loops that load the message twice have registers enough for two steps
/// in one turn. AEGIS-128L has one word per register, which encrypts and absorbs faster there.
pub(crate) const TABLES_FOR_ZEN: Tables = {
    let mut tables = TABLES;
    tables[0][0] = entry::table::<Aegis128<V1, true>, 1>(TABLES[0][0].batch)
        .with_mac_of(&super::aesni::sse::TABLES[0][0]);
    // This kernel learns the context at run time. In the order for Zen it would lack a register for
    // that, and the compiler would put the key on the stack.
    tables[0][0].state.init = entry::table::<Aegis128<V1>, 1>(TABLES[0][0].batch).state.init;
    tables[0][1] = entry::table::<Aegis128<V2, true>, 1>(TABLES[0][1].batch);
    tables[1][0] = entry::table::<Aegis256<V1, true>, 1>(TABLES[1][0].batch);
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
