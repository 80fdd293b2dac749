//! Kernels for a whole message: the sequence of the standard.

use core::ptr;

use super::tag;
use super::{Group, advance_group, init_group};
use crate::block::Blocks;
use crate::driver::kernels::{Message, Operation};
use crate::machine::{Machine, Work};

/// Where the lanes of a machine find their input: in one message, or each in its own.
pub(super) trait Input<M: Machine>: Copy {
    /// Returns the state after initialization.
    ///
    /// # Safety
    /// The CPU has the machine's features; keys and nonces are readable.
    unsafe fn init(self) -> M;

    /// Absorbs the associated data, or encrypts or decrypts the message.
    ///
    /// # Safety
    /// The CPU has the machine's features; the data is valid as [`Message`] requires.
    unsafe fn advance(self, state: &mut M, work: Work);

    /// Returns the lengths of associated data and message, as finalization absorbs them.
    ///
    /// # Safety
    /// The CPU has the machine's features.
    unsafe fn lengths(self, operation: Operation) -> M::V;
}

/// Init, Absorb, Encrypt or Decrypt, Finalize (RFC 10032 §3.1, §4.1, §5.4, §5.5 and §8). Returns
/// the final state and the lanes' tags.
///
/// # Safety
/// The CPU has the machine's features; the input is valid as [`Message`] requires.
#[inline(always)]
pub(super) unsafe fn run<M: Machine>(
    operation: Operation,
    input: impl Input<M>,
    tag_len: usize,
) -> (M, [M::V; 2]) {
    // SAFETY: the caller promises the CPU features and a valid input.
    unsafe {
        let mut state = input.init();
        input.advance(&mut state, Work::Absorb);
        if let Some(work) = operation.work() {
            input.advance(&mut state, work);
        }
        let tags = state.finish(input.lengths(operation), tag_len);
        (state, tags)
    }
}

/// The lanes of one group of one message.
#[derive(Clone, Copy)]
struct OneMessage<'a> {
    message: &'a Message,
    group: Group,
}

impl<M: Machine> Input<M> for OneMessage<'_> {
    #[inline(always)]
    unsafe fn init(self) -> M {
        // SAFETY: the caller promises the CPU features and a readable key and nonce.
        unsafe { init_group(self.group, self.message.key, self.message.nonce, ptr::null()) }
    }
    #[inline(always)]
    unsafe fn advance(self, state: &mut M, work: Work) {
        // SAFETY: the caller promises the CPU features and valid data.
        unsafe { advance_group(state, work, self.message.data(work), self.group) }
    }
    #[inline(always)]
    unsafe fn lengths(self, operation: Operation) -> M::V {
        // A MAC absorbs the length of its tag.
        let Message { ad_len, len, tag_len, .. } = *self.message;
        let second = if operation == Operation::Mac { tag_len } else { len };
        // SAFETY: the caller promises the CPU features.
        unsafe { tag::lengths(ad_len as u64, second as u64) }
    }
}

#[inline(always)]
pub(crate) unsafe fn seal<M: Machine, const G: usize>(message: &Message) -> bool {
    // SAFETY: the caller keeps the contract of `MessageKernel`.
    unsafe { run_groups::<M, G>(Operation::Seal, message) }
}

#[inline(always)]
pub(crate) unsafe fn open<M: Machine, const G: usize>(message: &Message) -> bool {
    // SAFETY: the caller keeps the contract of `MessageKernel`.
    unsafe { run_groups::<M, G>(Operation::Open, message) }
}

#[inline(always)]
pub(crate) unsafe fn mac<M: Machine, const G: usize>(message: &Message) -> bool {
    // SAFETY: the caller keeps the contract of `MessageKernel`.
    unsafe { run_groups::<M, G>(Operation::Mac, message) }
}

/// Processes a message with a state of `G` groups. Returns whether the tag is right; for `Seal` and
/// `Mac`, always true.
///
/// # Safety
/// The CPU has the machine's features; the message is valid as [`Message`] requires.
#[inline(always)]
unsafe fn run_groups<M: Machine, const G: usize>(operation: Operation, message: &Message) -> bool {
    let (degree, tag_len) = (G * M::V::LANES, message.tag_len);
    // SAFETY: the caller promises the CPU features and a valid message.
    unsafe {
        // One group after another. The first comes last, because the MAC continues with it.
        let group = |number| OneMessage { message, group: Group { number, degree } };
        // One copy of the code, and no array in the stack. With AEGIS-128 in wide registers that
        // would be a fifth slower.
        #[cfg(palladion_kernels)]
        if G > 1 && operation != Operation::Mac && (M::RATE, M::V::LANES) != (2, 2) {
            let mut number = crate::memory::hidden(G);
            let mut sum = [M::V::zero(); 2];
            while number > 0 {
                number -= 1;
                sum = tag::add(sum, run::<M>(operation, group(number), tag_len).1);
            }
            if operation == Operation::Open {
                return tag::is_equal(sum, message.tag, tag_len);
            }
            tag::write(sum, message.tag, tag_len);
            return true;
        }
        let mut tags = [[M::V::zero(); 2]; G];
        let mut state: M;
        if M::SPILLS || G > 2 {
            let mut number = G;
            loop {
                number -= 1;
                (state, tags[number]) = run(operation, group(number), tag_len);
                if number == 0 {
                    break;
                }
            }
        } else {
            // A copy of the code for each group: the end of one and the beginning of the next are
            // then in one piece without branches, and the compiler mixes their instructions.
            if G == 2 {
                (_, tags[1]) = run::<M>(operation, group(1), tag_len);
            }
            (state, tags[0]) = run(operation, group(0), tag_len);
        }
        if operation == Operation::Mac {
            tag::write_mac(&state, |number| tags[number], degree, message.tag, tag_len);
            return true;
        }
        let mut sum = tags[0];
        for tags in &tags[1..] {
            sum = tag::add(sum, *tags);
        }
        if operation == Operation::Open {
            return tag::is_equal(sum, message.tag, tag_len);
        }
        tag::write(sum, message.tag, tag_len);
        true
    }
}
