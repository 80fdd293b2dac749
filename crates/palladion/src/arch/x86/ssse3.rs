//! CPUs without AES instructions: byte shuffles of SSSE3, or of AVX2 on two blocks.

#[cfg(target_arch = "x86")]
use core::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

use super::{fold_two, join, one_block, overlapping, register, two_blocks, two_lanes};
use crate::block::{Blocks, MAX_LANES, Vector};
use crate::driver::table::Tables;
use crate::machine::{Aegis128, Aegis256};
use crate::soft::permute::{Permute, Permuted};

one_block! {
    /// One block in an XMM register, with SSSE3.
    P1
}
two_blocks! {
    /// Two blocks in a YMM register, with AVX2.
    P2 of P1
}
/// Implements [`Permute`] with the byte shuffle.
macro_rules! permute {
    ($name:ident: $shuffle:ident, $shift:ident, $and:ident) => {
        // SAFETY: a value exists only if the CPU has the features. Shuffles take the same time for
        // all indices.
        unsafe impl Permute for $name {
            #[inline(always)]
            fn lookup(self, index: Self) -> Self {
                // SAFETY: `self` exists, so the CPU has the features.
                Self(unsafe { $shuffle(self.0, index.0) })
            }
            #[inline(always)]
            fn nibbles(self) -> [Self; 2] {
                // SAFETY: `self` exists, so the CPU has the features.
                unsafe {
                    let low = Self::splat_words(LOW_NIBBLES, LOW_NIBBLES).0;
                    [Self($and(self.0, low)).pin(), Self($and($shift::<4>(self.0), low)).pin()]
                }
            }
        }
    };
}
const LOW_NIBBLES: u64 = 0x0f0f_0f0f_0f0f_0f0f;
permute!(P1: _mm_shuffle_epi8, _mm_srli_epi32, _mm_and_si128);
permute!(P2: _mm256_shuffle_epi8, _mm256_srli_epi32, _mm256_and_si256);

// There are no kernels for single degrees: steps are much code, and a call costs little in
// comparison.

crate::driver::table::tables! {
    #[target_feature(enable = "ssse3")]
    scrub: 1024;
    aegis128: [Aegis128<Permuted<P1>>, 0; Aegis128<Permuted<P1>>, 0; Aegis128<Permuted<P1>>, 0;]
        any Aegis128<Permuted<P1>>;
    aegis256: [Aegis256<Permuted<P1>>, 0; Aegis256<Permuted<P1>>, 0; Aegis256<Permuted<P1>>, 0;]
        any Aegis256<Permuted<P1>>;
}

/// Byte shuffles of AVX2, for an even number of lanes.
pub(crate) mod avx2 {
    use super::{Aegis128, Aegis256, P2, Permuted};
    crate::driver::table::tables! {
        #[target_feature(enable = "avx2")]
        scrub: 1536;
        aegis128: [Aegis128<Permuted<P2>>, 0; Aegis128<Permuted<P2>>, 0; Aegis128<Permuted<P2>>, 0;]
            any Aegis128<Permuted<P2>>;
        aegis256: [Aegis256<Permuted<P2>>, 0; Aegis256<Permuted<P2>>, 0; Aegis256<Permuted<P2>>, 0;]
            any Aegis256<Permuted<P2>>;
    }
}

/// The kernels for the few CPUs with AVX2 but no AES instructions: those of AVX2 for degrees 2 and
/// 4, those of SSSE3 for all others.
pub(crate) const TABLES_WITH_AVX2: Tables = {
    let mut tables = TABLES;
    let mut family = 0;
    while family < tables.len() {
        tables[family][1] = avx2::TABLES[family][1];
        tables[family][2] = avx2::TABLES[family][2];
        family += 1;
    }
    tables
};
