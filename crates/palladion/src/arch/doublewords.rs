//! One block in two general registers, in the order of bytes of vectors.

use crate::block::{Blocks, Vector, one_lane};

/// One block as two numbers whose highest bits are bytes 0 and 8. In memory, they have the order
/// that the instruction which loads two doublewords expects, whatever the order of bytes.
///
/// For CPUs whose vector registers stable Rust has no type for. Only kernels for the vectors of
/// POWER and IBM Z create values.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Doublewords(pub(crate) u64, pub(crate) u64);

// SAFETY: every CPU has XOR, and its time does not depend on its operands.
unsafe impl Vector for Doublewords {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0, self.1 ^ other.1)
    }
}

// SAFETY: a value exists only in kernels, so the CPU has their instructions. No branch or index
// depends on a value. `load` and `store` access 16 bytes in memory order.
unsafe impl Blocks for Doublewords {
    one_lane!();

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: the caller promises 16 readable bytes; arrays of bytes need no alignment.
        let [first, second] = unsafe { src.cast::<[[u8; 8]; 2]>().read() };
        Self(u64::from_be_bytes(first), u64::from_be_bytes(second))
    }
    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: the caller promises 16 writable bytes; arrays of bytes need no alignment.
        unsafe { dst.cast::<[[u8; 8]; 2]>().write([self.0.to_be_bytes(), self.1.to_be_bytes()]) }
    }
    #[inline(always)]
    unsafe fn zero() -> Self {
        Self(0, 0)
    }
    #[inline(always)]
    unsafe fn splat_words(first: u64, second: u64) -> Self {
        Self(first.swap_bytes(), second.swap_bytes())
    }
    #[inline(always)]
    fn xor_and(self, b: Self, c: Self) -> Self {
        Self(self.0 ^ (b.0 & c.0), self.1 ^ (b.1 & c.1))
    }
}
