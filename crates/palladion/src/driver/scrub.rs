//! Wiping the stack after kernels that spill secrets to it.
//!
//! Kernels with AES instructions keep their secrets in registers where the state fits. Where it
//! does not (several lanes in sixteen registers, software rounds), the compiler puts parts of the
//! state on the stack. Such machines say so ([`Machine::SPILLS`](crate::machine::Machine::SPILLS)),
//! and the driver zeroes the stack below its own frame when the kernel has returned. Each backend
//! has one measured depth; `scripts/check-wiping.sh` shows whether it is enough.

use core::mem::MaybeUninit;

/// Zeroes the stack below the caller, if there is anything to zero.
pub(crate) type Scrub = Option<fn()>;

/// Zeroes `N` bytes below the caller.
///
/// On bare machines the stack is so small that a kernel's frame may be all there is, and
/// WebAssembly keeps most of a frame where no program can reach it: nothing is zeroed there.
pub(crate) const fn scrub<const N: usize>() -> Scrub {
    #[inline(never)]
    fn zero_stack<const N: usize>() {
        let mut stack = MaybeUninit::<[u8; N]>::uninit();
        zeroize::optimization_barrier(stack.write([0; N]));
    }
    if N == 0 || cfg!(any(target_os = "none", target_family = "wasm")) {
        None
    } else {
        Some(zero_stack::<N>)
    }
}
