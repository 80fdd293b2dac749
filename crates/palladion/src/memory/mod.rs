//! Wiped memory, input and output buffers, and comparison in constant time.

mod equal;
mod inout;
pub mod secrecy;
mod wiped;

pub(crate) use equal::equal;
pub(crate) use inout::{Direction, InOut, LengthsDiffer};
pub use wiped::{Wiped, WipedBytes};
pub(crate) use wiped::{wipe, wipe_at};

/// Returns a number that the compiler does not know to be the same.
#[cfg(palladion_kernels)]
#[inline(always)]
pub(crate) fn hidden(mut number: usize) -> usize {
    // SAFETY: it contains no instruction.
    unsafe {
        core::arch::asm!(
            "/* {0} */", inlateout(reg) number, options(nomem, nostack, preserves_flags)
        );
    }
    number
}
