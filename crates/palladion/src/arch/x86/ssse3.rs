//! CPUs without AES instructions: byte shuffles of SSSE3, or of AVX2 on two blocks.

#[cfg(target_arch = "x86")]
use core::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

use super::{fold_two, join, one_block, overlapping, register, two_blocks, two_lanes};
use crate::block::{Blocks, MAX_LANES, Vector};
use crate::driver::features::features;
use crate::soft::permute::Permute;

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

features! {
    /// Byte shuffles on one block.
    Ssse3: "ssse3", scrub 1024
}
features! {
    /// Byte shuffles on two blocks.
    Avx2: "avx2", scrub 1536
}
