//! ARMv8 with the AES extension.

use core::arch::aarch64::*;

use super::aegis128::Aegis128;
use super::aegis256::Aegis256;
use super::blocks::{self, Blocks, MAX_LANES, Pair, Vector, Word};

/// One block in a NEON register.
#[derive(Clone, Copy)]
pub(crate) struct A1(uint8x16_t);

// SAFETY: each method is one or two instructions whose time does not depend on their operands; a value is proof that
// the CPU has them.
unsafe impl Vector for A1 {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: `self` is proof of the features.
        Self(unsafe { veorq_u8(self.0, other.0) })
    }
}

// SAFETY: likewise.
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
        // A function of its own, because the intrinsics want to be inlined where the feature is known. AESE adds its
        // key before SubBytes, the standard's round after MixColumns: the former gets zero.
        #[inline]
        #[target_feature(enable = "neon,aes")]
        fn round(block: uint8x16_t, round_key: uint8x16_t) -> uint8x16_t {
            veorq_u8(vaesmcq_u8(vaeseq_u8(block, vdupq_n_u8(0))), round_key)
        }
        // SAFETY: `self` is proof of the features.
        Self(unsafe { round(self.0, round_key.0) })
    }
}

// SAFETY: likewise.
unsafe impl Blocks for A1 {
    const LANES: usize = 1;
    type Lane = Self;

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: the caller grants the features and 16 bytes; no alignment needed.
        Self(unsafe { vld1q_u8(src) })
    }
    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: likewise.
        unsafe { vst1q_u8(dst, self.0) }
    }
    #[inline(always)]
    unsafe fn splat(block: *const u8) -> Self {
        // SAFETY: passed on.
        unsafe { Self::load(block) }
    }
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller grants the features.
        Self(unsafe { vdupq_n_u8(0) })
    }
    #[inline(always)]
    unsafe fn load_partial(src: *const u8, len: usize) -> Self {
        // SAFETY: passed on.
        unsafe { blocks::load_by_buffer(src, len) }
    }
    #[inline(always)]
    unsafe fn store_partial(self, dst: *mut u8, len: usize) {
        // SAFETY: passed on.
        unsafe { blocks::store_by_buffer(self, dst, len) }
    }
    #[inline(always)]
    fn truncate(self, len: usize) -> Self {
        // SAFETY: `self` is proof of the features.
        Self(unsafe { vandq_u8(self.0, blocks::mask_of_length::<Self>(len).0) })
    }
    #[inline(always)]
    fn xor_and(self, b: Self, c: Self) -> Self {
        // SAFETY: `self` is proof of the features.
        Self(unsafe { veorq_u8(self.0, vandq_u8(b.0, c.0)) })
    }
    #[inline(always)]
    fn first(self) -> Self {
        self
    }
    #[inline(always)]
    fn lanes(self) -> [Self; MAX_LANES] {
        [self; MAX_LANES]
    }
    #[inline(always)]
    fn fold(self) -> Self {
        self
    }
    #[inline(always)]
    unsafe fn from_lanes(lanes: [Self; MAX_LANES]) -> Self {
        lanes[0]
    }
}

super::kernels::tables! {
    #[target_feature(enable = "neon,aes")]
    aegis128: [
        Aegis128<A1>, 1, batch [Aegis128<Pair<A1>>]; Aegis128<Pair<A1>>, 1; Aegis128<Pair<A1>>, 2; Aegis128<A1>, 0;
    ]
    aegis256: [
        Aegis256<A1>, 1, batch [Aegis256<Pair<Pair<A1>>>, Aegis256<Pair<A1>>];
        Aegis256<Pair<A1>>, 1, batch [Aegis256<Pair<Pair<A1>>>]; Aegis256<Pair<Pair<A1>>>, 1; Aegis256<A1>, 0;
    ]
}
