//! One block in general registers, for CPUs without vectors.

use super::{Blocks, Vector, one_lane};

/// One block, with byte 0 in the lowest bits.
#[derive(Clone, Copy)]
pub(crate) struct Soft(u128);

// SAFETY: no CPU features are needed, and no branch or index depends on a value.
unsafe impl Vector for Soft {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
}

// SAFETY: no CPU features are needed, and no branch or index depends on a value. `load` and `store`
// access 16 bytes in memory order.
unsafe impl Blocks for Soft {
    one_lane!();

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: the caller promises 16 readable bytes; an array of bytes needs no alignment.
        Self(u128::from_le_bytes(unsafe { src.cast::<[u8; 16]>().read() }))
    }
    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: the caller promises 16 writable bytes; an array of bytes needs no alignment.
        unsafe { dst.cast::<[u8; 16]>().write(self.0.to_le_bytes()) }
    }
    #[inline(always)]
    unsafe fn zero() -> Self {
        Self(0)
    }
    #[inline(always)]
    fn truncate(self, len: usize) -> Self {
        debug_assert!(len <= 16);
        Self(if len < 16 { self.0 & ((1 << (8 * len)) - 1) } else { self.0 })
    }
    #[inline(always)]
    fn xor_and(self, b: Self, c: Self) -> Self {
        Self(self.0 ^ (b.0 & c.0))
    }
}

#[cfg(test)]
impl From<u128> for Soft {
    fn from(block: u128) -> Self {
        Self(block)
    }
}

#[cfg(test)]
impl From<Soft> for u128 {
    fn from(block: Soft) -> Self {
        block.0
    }
}
