//! Blocks that exist in memory only in part.

use core::mem::MaybeUninit;

use super::{Blocks, MAX_LANES};
use crate::memory::wipe_at;

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
        if cfg!(not(any(target_family = "wasm", target_arch = "powerpc64"))) {
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

/// Copies like [`copy`], with little code: words from the end, of which the last may overlap, or
/// bytes.
///
/// # Safety
/// The same as for [`copy`].
#[cfg(palladion_kernels)]
#[inline(always)]
pub(crate) unsafe fn copy_in_loops(src: *const u8, dst: *mut u8, len: usize) {
    // SAFETY: the caller promises the memory, in which each piece lies. The compiler would unroll
    // the loops, or call `memcpy`.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!(
            "sub {n}, 8",
            "jae 3f",
            "add {n}, 8",
            "je 5f",
            "2:",
            "movzx {t:e}, byte ptr [{src} + {n} - 1]",
            "mov byte ptr [{dst} + {n} - 1], {t:l}",
            "dec {n}",
            "jne 2b",
            "jmp 5f",
            "3:",
            "mov {t}, qword ptr [{src} + {n}]",
            "mov qword ptr [{dst} + {n}], {t}",
            "sub {n}, 8",
            "ja 3b",
            "mov {t}, qword ptr [{src}]",
            "mov qword ptr [{dst}], {t}",
            "5:",
            n = inout(reg) len => _, t = out(reg) _, src = in(reg) src, dst = in(reg) dst,
            options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!(
            "subs {n}, {n}, #8",
            "b.hs 3f",
            "adds {n}, {n}, #8",
            "b.eq 5f",
            "2:",
            "sub {n}, {n}, #1",
            "ldrb {t:w}, [{src}, {n}]",
            "strb {t:w}, [{dst}, {n}]",
            "cbnz {n}, 2b",
            "b 5f",
            "3:",
            "ldr {t}, [{src}, {n}]",
            "str {t}, [{dst}, {n}]",
            "subs {n}, {n}, #8",
            "b.hi 3b",
            "ldr {t}, [{src}]",
            "str {t}, [{dst}]",
            "5:",
            n = inout(reg) len => _, t = out(reg) _, src = in(reg) src, dst = in(reg) dst,
            options(nostack),
        );
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
    let mut buf = MaybeUninit::<[u8; BUFFER]>::uninit();
    let buf = buf.as_mut_ptr().cast::<u8>();
    // SAFETY: the caller promises the CPU features, and that `len` bytes are readable at `src`.
    // They fit into the buffer, which has room for the widest vector.
    unsafe {
        // Not an array of zeros: the compiler would zero only what `copy` leaves, by a call.
        V::zero().store(buf);
        copy(src, buf, len);
        let blocks = V::load(buf);
        wipe_at(buf, 16 * V::LANES);
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
    let mut buf = MaybeUninit::<[u8; BUFFER]>::uninit();
    let buf = buf.as_mut_ptr().cast::<u8>();
    // SAFETY: the buffer has room for the widest vector; the caller promises that `dst` is
    // writable for `len` bytes.
    unsafe {
        blocks.store(buf);
        copy(buf, dst, len);
        wipe_at(buf, 16 * V::LANES);
    }
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
