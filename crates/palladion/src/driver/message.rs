//! A whole message in one call.

use core::mem::MaybeUninit;
use core::ptr;

use super::kernels::{Message, Operation};
use super::state::advance;
use super::variant::{Variant, check_memory};
use crate::machine::Work;
use crate::memory::{WipedBytes, equal, wipe, wipe_at};

/// Encrypts a message and writes its tag, verifies and decrypts it, or writes a MAC of the
/// associated data. Returns whether the tag is right; if not, the output is zeroed. Leaves no
/// secret on the stack.
///
/// Next: the kernel, a method of [`Features`](super::features::Features) with the body in
/// `kernel/message.rs`. The variant knows it from the backend's table.
///
/// # Safety
/// The message is valid as [`Message`] requires, with the key length of the variant. For a MAC, the
/// variant has this one.
#[inline(always)]
pub(crate) unsafe fn execute<V: Variant>(
    variant: V,
    operation: Operation,
    message: &Message,
) -> bool {
    let kernels = variant.kernels();
    // SAFETY: the kernels come from a variant, so the CPU has their features. The caller promises a
    // valid message.
    unsafe {
        let authentic = match &kernels.message {
            Some(kernel) if message.len <= kernel.longest && message.ad_len <= kernel.longest => {
                let authentic = kernel.of(operation)(message);
                kernels.scrub();
                authentic
            }
            _ => by_state(variant, operation, message),
        };
        // Nothing else can fail. The compiler then knows that `seal` needs no test.
        let forged = operation == Operation::Open && !authentic;
        if forged {
            wipe_output(message);
        }
        !forged
    }
}

/// Like [`execute`], through a state in memory: for a long message, over which several groups take
/// turns, or a degree without kernels for whole messages. Not inlined, so that other callers need
/// not align the stack for the state.
///
/// # Safety
/// The message is valid as [`Message`] requires.
#[inline(never)]
unsafe fn by_state<V: Variant>(variant: V, operation: Operation, message: &Message) -> bool {
    const { check_memory::<V>() };
    // Not zeroed first, which would be a call in WebAssembly.
    let mut memory = MaybeUninit::<V::Memory>::uninit();
    let state = memory.as_mut_ptr().cast::<u8>();
    let kernels = variant.kernels();
    let mut expected = [0; 32];
    let tag = if operation == Operation::Open { expected.as_mut_ptr() } else { message.tag };
    // SAFETY: the kernels come from a variant, so the CPU has their features, and the memory is
    // that of the variant's degree. `init` writes the state. The caller promises a valid message;
    // `expected` has room for either tag.
    unsafe {
        (kernels.state.init)(state, V::DEGREE, message.key, message.nonce, ptr::null());
        advance(variant, state, Work::Absorb, message.data(Work::Absorb));
        let (ad_len, len, tag_len) = (message.ad_len as u64, message.len as u64, message.tag_len);
        match operation.work() {
            Some(work) => {
                advance(variant, state, work, message.data(work));
                (kernels.state.finalize)(state, V::DEGREE, ad_len, len, tag, tag_len);
            }
            None => (kernels.state.finalize_mac)(state, V::DEGREE, ad_len, tag, tag_len),
        }
        kernels.scrub(); // here, because the kernels' frames are below this one
        wipe_at(state, V::Memory::LEN);
        if operation != Operation::Open {
            return true;
        }
        // Compares through pointers: slicing `expected` would check bounds, and firmware must not
        // contain a panic.
        let authentic = equal(
            core::slice::from_raw_parts(tag, message.tag_len),
            core::slice::from_raw_parts(message.tag, message.tag_len),
        );
        wipe(&mut expected);
        authentic
    }
}

/// Zeroes the output of a message whose tag is wrong.
///
/// # Safety
/// The output is writable.
#[cold]
#[inline(never)]
pub(super) unsafe fn wipe_output(message: &Message) {
    if message.len > 0 {
        // SAFETY: the caller promises `len` writable bytes.
        wipe(unsafe { core::slice::from_raw_parts_mut(message.dst, message.len) });
    }
}
