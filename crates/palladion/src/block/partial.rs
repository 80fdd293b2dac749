//! Blocks that exist in memory only in part.

use super::{Blocks, MAX_LANES};
use crate::memory::wipe;

/// The size of a buffer for one vector. On WebAssembly a block is the widest.
const BUFFER: usize = if cfg!(target_family = "wasm") { 16 } else { 16 * MAX_LANES };

/// Copies `len` bytes, at most `BUFFER`.
///
/// # Safety
/// `src` is readable and `dst` writable for `len` bytes; they do not overlap.
#[inline(always)]
unsafe fn copy(src: *const u8, dst: *mut u8, len: usize) {
    // SAFETY: the caller promises the memory. The pieces, whose sizes are the powers of two that
    // `len` is the sum of, add up to `len`.
    unsafe {
        if cfg!(not(target_family = "wasm")) {
            return core::ptr::copy_nonoverlapping(src, dst, len);
        }
        // Not `memory.copy`, which is a function call in V8. A loop over the sizes would not be
        // unrolled, and would call it.
        let mut at = 0;
        macro_rules! pieces {
            ($($size:literal)*) => {
                $(if len & $size != 0 {
                    core::ptr::copy_nonoverlapping(src.add(at), dst.add(at), $size);
                    at += $size;
                })*
            };
        }
        pieces!(16 8 4 2 1);
        debug_assert!(at == len);
    }
}

/// `load_partial` through a buffer.
///
/// # Safety
/// The same as for [`Blocks::load_partial`].
#[inline(always)]
pub(crate) unsafe fn load_by_buffer<V: Blocks>(src: *const u8, len: usize) -> V {
    debug_assert!(len <= 16 * V::LANES);
    const { assert!(16 * V::LANES <= BUFFER) }
    let mut buf = [0u8; BUFFER];
    // SAFETY: the caller promises the CPU features, and that `len` bytes are readable at `src`.
    // They fit into the buffer, which is as wide as the widest vector.
    unsafe {
        copy(src, buf.as_mut_ptr(), len);
        let blocks = V::load(buf.as_ptr());
        wipe(&mut buf);
        blocks
    }
}

/// `store_partial` through a buffer.
///
/// # Safety
/// The same as for [`Blocks::store_partial`].
#[inline(always)]
pub(crate) unsafe fn store_by_buffer<V: Blocks>(blocks: V, dst: *mut u8, len: usize) {
    debug_assert!(len <= 16 * V::LANES);
    const { assert!(16 * V::LANES <= BUFFER) }
    let mut buf = [0u8; BUFFER];
    // SAFETY: the buffer is as wide as the widest vector; the caller promises that `dst` is
    // writable for `len` bytes.
    unsafe {
        blocks.store(buf.as_mut_ptr());
        copy(buf.as_ptr(), dst, len);
    }
    wipe(&mut buf);
}

/// `len` bytes of ones from byte `64 - len` on, then zeros. Indexed by lengths, never by secrets.
static ONES_THEN_ZEROS: [u8; 128] = {
    let mut mask = [0; 128];
    let mut i = 0;
    while i < 64 {
        mask[i] = 0xff;
        i += 1;
    }
    mask
};

/// Returns a vector of `len` bytes of ones, then zeros, as a mask for `truncate`.
///
/// # Safety
/// The CPU has the features of the implementation.
#[inline(always)]
pub(crate) unsafe fn mask_of_length<V: Blocks>(len: usize) -> V {
    // SAFETY: the caller promises the CPU features. The offset is at most 64, so 64 bytes follow
    // it, and no vector is wider.
    unsafe { V::load(ONES_THEN_ZEROS.as_ptr().add(64usize.saturating_sub(len))) }
}

/// Implements the methods of [`Blocks`] that are the same for all single blocks which the CPU
/// cannot load or store in part.
macro_rules! one_lane {
    () => {
        const LANES: usize = 1;
        type Lane = Self;

        #[inline(always)]
        unsafe fn splat(block: *const u8) -> Self {
            // SAFETY: the caller promises the CPU features and 16 readable bytes.
            unsafe { Self::load(block) }
        }
        #[inline(always)]
        unsafe fn load_partial(src: *const u8, len: usize) -> Self {
            // SAFETY: the caller promises the CPU features and `len` readable bytes, at most 16.
            unsafe { $crate::block::partial::load_by_buffer(src, len) }
        }
        #[inline(always)]
        unsafe fn store_partial(self, dst: *mut u8, len: usize) {
            // SAFETY: the caller promises `len` writable bytes, at most 16.
            unsafe { $crate::block::partial::store_by_buffer(self, dst, len) }
        }
        #[inline(always)]
        fn first(self) -> Self {
            self
        }
        #[inline(always)]
        fn lanes(self) -> [Self; $crate::block::MAX_LANES] {
            [self; $crate::block::MAX_LANES]
        }
        #[inline(always)]
        fn fold(self) -> Self {
            self
        }
        #[inline(always)]
        unsafe fn from_lanes(lanes: [Self; $crate::block::MAX_LANES]) -> Self {
            lanes[0]
        }
    };
}
pub(crate) use one_lane;
