//! CPUs with AES-NI: one block in an XMM register.

#[cfg(target_arch = "x86")]
use core::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

use super::{aes, one_block, overlapping, register, update_256};
use crate::block::{Blocks, MAX_LANES, Vector, Word};
use crate::machine::{Aegis128, Aegis256};

one_block! {
    /// One block in an XMM register, with AES-NI.
    X1
}
aes!(X1(__m128i) of X1, _mm_aesenc_si128, needs "sse2", xmm_reg, in_order false, three_way false);

// With AES-NI alone, two interleaved messages are slower than one after another (measured on a core
// with one AES unit), so there are no batch kernels.

/// The SSE encoding of AES-NI, for old and small CPUs without AVX. All degrees above 1 share
/// kernels.
pub(crate) mod sse {
    use super::{Aegis128, Aegis256, X1};
    crate::driver::table::tables! {
        #[target_feature(enable = "ssse3,aes")]
        scrub: 384;
        aegis128: [Aegis128<X1>, 1; Aegis128<X1>, 0; Aegis128<X1>, 0;] any Aegis128<X1>;
        aegis256: [Aegis256<X1>, 1; Aegis256<X1>, 0; Aegis256<X1>, 0;] any Aegis256<X1>;
    }
}

/// The three-operand encoding of AVX.
pub(crate) mod avx {
    use super::*;
    use crate::arch::x86::vaes::V1;
    use crate::driver::table::Tables;
    use crate::machine::Twin256;

    one_block! {
        /// One block in an XMM register, with AES-NI and AVX.
        A1
    }
    aes!(A1(__m128i) of A1, _mm_aesenc_si128, needs "sse2", xmm_reg,
        in_order false, three_way false update_256! { __m128i, xmm_reg, "avx,aes",
        ["xmm0" "xmm1" "xmm2" "xmm3" "xmm4" "xmm5"]
        ["xmm6" "xmm7" "xmm8" "xmm9" "xmm10" "xmm11"] });

    /// The kernels for Zen cores: loops that load the message twice have registers enough for two
    /// steps in one turn.
    pub(crate) const TABLES_FOR_ZEN: Tables = {
        let mut tables = TABLES;
        tables[0][0] = entry::table::<Aegis128<V1, true>, 1>(TABLES[0][0].batch)
            .with_mac_of(&super::sse::TABLES[0][0]);
        // This kernel learns the context at run time. In the order for Zen it would lack a register
        // for that, and the compiler would put the key on the stack.
        tables[0][0].state.init = TABLES[0][0].state.init;
        // For long data only: with two groups, short messages are slower.
        tables[0][1].state.process =
            entry::table::<Aegis128<V1, true>, 2>(TABLES[0][1].batch).state.process;
        tables[1][0] = entry::table::<Aegis256<V1, true>, 1>(TABLES[1][0].batch);
        tables
    };

    crate::driver::table::tables! {
        #[target_feature(enable = "avx,aes")]
        scrub: 384;
        aegis128: [Aegis128<A1>, 1; Aegis128<A1>, 2; Aegis128<A1>, 0;] any Aegis128<A1>;
        aegis256: [Aegis256<A1>, 1; Twin256<A1>, 1; Twin256<A1>, 2;] any Aegis256<A1>;
    }
}
