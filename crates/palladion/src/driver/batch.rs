//! Several messages at once.

use super::kernels::{BatchKernels, Pointers};
use super::message;
use super::variant::Variant;
use crate::memory::Direction;

/// Tells whether there are kernels for several messages: those of degree 1 can have them.
#[inline(always)]
pub(crate) fn has_kernels<V: Variant>(variant: V) -> bool {
    V::DEGREE == 1 && variant.kernels().batch[0].messages != 0
}

/// Returns the kernels that are worth while for messages of `len` bytes; those for the most
/// messages come first.
#[inline(always)]
pub(crate) fn kernels<V: Variant>(
    variant: V,
    len: usize,
) -> impl Iterator<Item = &'static BatchKernels> {
    let pays = move |batch: &&BatchKernels| batch.messages != 0 && len <= batch.longest;
    variant.kernels().batch.iter().filter(pays)
}

/// Encrypts or decrypts as many messages as a kernel takes. Call [`finish`] after the last.
///
/// Encryption writes the tags; decryption compares them, and zeroes the output of each message
/// whose tag is wrong. Returns a bit for each of those.
///
/// # Safety
/// The kernel comes from [`kernels`], and the messages are as [`BatchKernels`] requires.
#[inline(always)]
pub(crate) unsafe fn crypt_together(
    kernel: &BatchKernels,
    messages: &Pointers,
    direction: Direction,
) -> u32 {
    // SAFETY: the caller promises the kernel's CPU features and its messages.
    unsafe {
        if direction == Direction::Encrypt {
            return (kernel.seal)(messages);
        }
        let wrong = (kernel.open)(messages);
        if wrong != 0 {
            for (i, message) in messages[..kernel.messages].iter().enumerate() {
                if wrong >> i & 1 == 1 {
                    message::wipe_output(&**message);
                }
            }
        }
        wrong
    }
}

/// Wipes the stack after the kernels of a batch. Single messages do not need it.
#[inline(always)]
pub(crate) fn finish<V: Variant>(variant: V) {
    variant.kernels().scrub_batch();
}
