//! Wiping the stack after kernels that spill secrets to it.
//!
//! Kernels with AES instructions keep their secrets in registers if the state fits. If it does not
//! (several lanes in sixteen registers, software rounds), the compiler puts parts of the state on
//! the stack. Such machines say so ([`Machine::SPILLS`](crate::machine::Machine::SPILLS)), and the
//! driver zeroes the stack below its own frame after the kernel has returned. Each backend has one
//! measured depth, and three times that for batches; `assurance/wiping.sh` checks that it is
//! enough. 32-bit x86, with eight registers, gets [`TIMES`] that: more than its kernels' frames.

use core::mem::MaybeUninit;

/// A function that zeroes the stack below the caller, if there is anything to zero.
pub(crate) type Scrub = Option<fn()>;

/// By how much the stack of kernels is deeper than the depth that was measured.
const TIMES: usize = if cfg!(target_arch = "x86") { 4 } else { 1 };

/// Returns a function that zeroes `N` bytes (32-bit x86: `TIMES * N`) below the caller.
///
/// Without an operating system it returns none, because the stack may be too small for more than a
/// kernel's frame. On WebAssembly it returns none, because programs cannot reach most of a frame.
pub(crate) const fn scrub<const N: usize>() -> Scrub {
    #[inline(never)]
    fn zero_stack<const N: usize>() {
        let mut stack = [[const { MaybeUninit::<u8>::uninit() }; N]; TIMES];
        let stack = stack.as_flattened_mut();
        #[cfg(all(target_arch = "powerpc64", target_endian = "little"))]
        return zero(stack);
        // On 64-bit ARM in pieces that the compiler zeroes with a few stores. Otherwise it calls
        // `memset`, which is faster on x86.
        #[cfg(not(all(target_arch = "powerpc64", target_endian = "little")))]
        for piece in stack.chunks_mut(if cfg!(target_arch = "aarch64") { 128 } else { TIMES * N }) {
            piece.fill(MaybeUninit::new(0));
            zeroize::optimization_barrier(piece);
        }
    }
    if N == 0 || cfg!(any(target_os = "none", target_family = "wasm")) {
        None
    } else {
        Some(zero_stack::<N>)
    }
}

/// Zeroes bytes. The compiler would call `memset`, which takes twice as many instructions here.
#[cfg(all(target_arch = "powerpc64", target_endian = "little"))]
#[inline(always)]
fn zero(stack: &mut [MaybeUninit<u8>]) {
    debug_assert!(!stack.is_empty() && stack.len().is_multiple_of(64));
    // SAFETY: these are stores to the array. Such CPUs have at least the instructions of POWER8.
    unsafe {
        core::arch::asm!(
            "xxlxor 0, 0, 0",
            "mtctr {turns}",
            "2:",
            "stxvd2x 0, 0, {at}",
            "stxvd2x 0, {a}, {at}",
            "stxvd2x 0, {b}, {at}",
            "stxvd2x 0, {c}, {at}",
            "addi {at}, {at}, 64",
            "bdnz 2b",
            at = inout(reg_nonzero) stack.as_mut_ptr() => _, turns = in(reg) stack.len() / 64,
            a = in(reg_nonzero) 16usize, b = in(reg_nonzero) 32usize, c = in(reg_nonzero) 48usize,
            out("f0") _, out("ctr") _, options(nostack)
        );
    }
}
