//! 64-bit ARM, with the AES extension and without.

use core::arch::aarch64::*;

use crate::block::{Blocks, Pair, Vector, Word, one_lane};
use crate::machine::{Aegis128, Aegis256};
use crate::soft::permute::{Permute, Permuted};

/// What the CPU can do.
pub(crate) struct Features {
    pub(crate) neon: bool,
    pub(crate) aes: bool,
}

impl Features {
    #[cfg(feature = "std")]
    pub(crate) fn detect() -> Self {
        Self {
            neon: std::arch::is_aarch64_feature_detected!("neon"),
            aes: std::arch::is_aarch64_feature_detected!("aes"),
        }
    }

    /// Without an operating system there is no way to ask.
    #[cfg(not(feature = "std"))]
    pub(crate) fn detect() -> Self {
        Self { neon: cfg!(target_feature = "neon"), aes: cfg!(target_feature = "aes") }
    }
}

/// One block in a NEON register: for each use a type of its own, because a value is proof of the
/// CPU's features.
macro_rules! one_block {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name(uint8x16_t);

        // SAFETY: each method is one or two instructions whose time does not depend on their
        // operands; a value is proof that the CPU has them.
        unsafe impl Vector for $name {
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                // SAFETY: `self` is proof of the features.
                Self(unsafe { veorq_u8(self.0, other.0) })
            }
        }

        // SAFETY: 16 bytes are one lane, as they are in memory; each method is one or two
        // instructions, on all bytes alike.
        unsafe impl Blocks for $name {
            one_lane!();

            #[inline(always)]
            unsafe fn load(src: *const u8) -> Self {
                // SAFETY: the caller grants the features and 16 bytes; no alignment needed.
                Self(unsafe { vld1q_u8(src) })
            }
            #[inline(always)]
            unsafe fn store(self, dst: *mut u8) {
                // SAFETY: the caller grants 16 bytes; no alignment needed.
                unsafe { vst1q_u8(dst, self.0) }
            }
            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: the caller grants the features.
                Self(unsafe { vdupq_n_u8(0) })
            }
            #[inline(always)]
            fn truncate(self, len: usize) -> Self {
                // SAFETY: `self` is proof of the features.
                Self(unsafe { vandq_u8(self.0, crate::block::mask_of_length::<Self>(len).0) })
            }
            #[inline(always)]
            fn xor_and(self, b: Self, c: Self) -> Self {
                // SAFETY: `self` is proof of the features.
                Self(unsafe { veorq_u8(self.0, vandq_u8(b.0, c.0)) })
            }
        }
    };
}
one_block! {
    /// One block in a NEON register: the AES extension.
    A1
}
one_block! {
    /// One block in a NEON register: no AES extension.
    N1
}

// SAFETY: AESE and AESMC; a value is proof that the CPU has them.
unsafe impl Word for A1 {
    type Blocks = Self;
    type Single = Self;

    #[inline(always)]
    fn new(blocks: Self) -> Self {
        blocks
    }
    #[inline(always)]
    fn blocks(self) -> Self {
        self
    }
    #[inline(always)]
    fn aes(self, round_key: Self) -> Self {
        // A function of its own, because the intrinsics want to be inlined where the feature is
        // known. AESE adds its key before SubBytes, the standard's round after MixColumns: the
        // former gets zero.
        #[inline]
        #[target_feature(enable = "neon,aes")]
        fn round(block: uint8x16_t, round_key: uint8x16_t) -> uint8x16_t {
            veorq_u8(vaesmcq_u8(vaeseq_u8(block, vdupq_n_u8(0))), round_key)
        }
        // SAFETY: `self` is proof of the features.
        Self(unsafe { round(self.0, round_key.0) })
    }
}

// SAFETY: one or two instructions; a value is proof that the CPU has them.
unsafe impl Permute for N1 {
    /// Loops keep their tables in registers, of which there are enough. Left alone, the compiler
    /// would load most of them again for each step, as it could do so at any time; this hides from
    /// it where they come from.
    #[inline(always)]
    unsafe fn table(table: &'static [u8; 16]) -> Self {
        // SAFETY: the caller grants the features; the table is readable.
        Self(unsafe { hide(vld1q_u8(table.as_ptr())) })
    }
    #[inline(always)]
    fn lookup(self, index: Self) -> Self {
        // SAFETY: `self` is proof of the features.
        Self(unsafe { vqtbl1q_u8(self.0, index.0) })
    }
    #[inline(always)]
    fn nibbles(self) -> [Self; 2] {
        // SAFETY: `self` is proof of the features.
        unsafe { [Self(vandq_u8(self.0, hide(vdupq_n_u8(0x0f)))), Self(vshrq_n_u8::<4>(self.0))] }
    }
    #[inline(always)]
    fn after(self, earlier: Self) -> Self {
        #[inline]
        #[target_feature(enable = "neon")]
        fn after(mut x: uint8x16_t, earlier: uint8x16_t) -> uint8x16_t {
            // SAFETY: no instruction at all.
            unsafe {
                core::arch::asm!(
                    "/* {0:v} {1:v} */", inlateout(vreg) x, in(vreg) earlier,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            x
        }
        // SAFETY: `self` is proof of the features.
        Self(unsafe { after(self.0, earlier.0) })
    }
}

/// The same value, of unknown origin, but always the same for the same.
#[inline]
#[target_feature(enable = "neon")]
fn hide(mut x: uint8x16_t) -> uint8x16_t {
    // SAFETY: no instruction at all.
    unsafe {
        core::arch::asm!("/* {0:v} */", inlateout(vreg) x, options(pure, nomem, nostack, preserves_flags));
    }
    x
}

/// The AES extension.
pub(crate) mod aes {
    use super::{A1, Aegis128, Aegis256, Pair};
    crate::driver::table::tables! {
        #[target_feature(enable = "neon,aes")]
        scrub: 1024;
        aegis128: [
            Aegis128<A1>, 1, batch [Aegis128<Pair<A1>>]; Aegis128<Pair<A1>>, 1; Aegis128<Pair<A1>>, 2;] any Aegis128<A1>;
        aegis256: [
            Aegis256<A1>, 1, batch [Aegis256<Pair<Pair<A1>>>, Aegis256<Pair<A1>>]; Aegis256<Pair<A1>>, 1, batch [Aegis256<Pair<Pair<A1>>>]; Aegis256<Pair<Pair<A1>>>, 1;] any Aegis256<A1>;
    }
}

/// Byte shuffles.
pub(crate) mod neon {
    use super::{Aegis128, Aegis256, N1, Permuted};
    crate::driver::table::tables! {
        #[target_feature(enable = "neon")]
        scrub: 1024;
        aegis128: [
            Aegis128<Permuted<N1>>, 1; Aegis128<Permuted<N1>>, 2; Aegis128<Permuted<N1>>, 4;] any Aegis128<Permuted<N1>>;
        aegis256: [
            Aegis256<Permuted<N1>>, 1; Aegis256<Permuted<N1>>, 2; Aegis256<Permuted<N1>>, 4;] any Aegis256<Permuted<N1>>;
    }
}
