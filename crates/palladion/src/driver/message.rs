//! A whole message in one call.

use core::ptr;

use super::state::{State, init_group};
use super::steps::{CHUNK, Data, Group, Work, process_group};
use super::tag::{self, MacEnd};
use super::variant::{Parameters, Variant};
use crate::block::Blocks;
use crate::machine::Machine;
use crate::memory::{Direction, InOut, WipedBytes, equal, wipe};

/// A message that is encrypted, decrypted or authenticated in one call: what kernels are given.
///
/// The lengths are in bytes. Where a length is zero, the pointer may have any value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Message {
    /// The key: 16 or 32 readable bytes, as the family has it.
    pub key: *const u8,
    /// The nonce, as long as the key.
    pub nonce: *const u8,
    /// The associated data, or the input of a MAC.
    pub ad: *const u8,
    /// Bytes of associated data.
    pub ad_len: usize,
    /// The input: the message, or the ciphertext if it is decrypted.
    pub src: *const u8,
    /// The output, equal to `src` for work in place; otherwise the two do not overlap.
    pub dst: *mut u8,
    /// Bytes of input and of output.
    pub len: usize,
    /// Where the tag is written; or the tag to compare with, which is only read, after the output
    /// was written.
    pub tag: *mut u8,
    /// Bytes in the tag: 16 or 32.
    pub tag_len: usize,
}

/// What is done with a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Seal,
    Open,
    Mac,
}

impl Operation {
    /// What is done with the message's bytes, after the associated data.
    #[inline(always)]
    fn work(self) -> Option<Work> {
        match self {
            Self::Seal => Some(Work::Crypt(Direction::Encrypt)),
            Self::Open => Some(Work::Crypt(Direction::Decrypt)),
            Self::Mac => None,
        }
    }
}

/// Where the lanes of a machine find their input: in one message, or each in a message of its own.
pub(super) trait Input<M: Machine>: Copy {
    /// The state after initialization.
    ///
    /// # Safety
    /// The CPU features; keys and nonces readable.
    unsafe fn init(self) -> M;

    /// Goes over the associated data to absorb it, or over the message to encrypt or decrypt it.
    ///
    /// # Safety
    /// The CPU features; the data as [`Message`] says.
    unsafe fn process(self, state: &mut M, work: Work);

    /// The lengths of associated data and message, as finalization absorbs them.
    ///
    /// # Safety
    /// The CPU features.
    unsafe fn lengths(self, operation: Operation) -> M::V;
}

/// Goes from the key to the state that the tags are made from (RFC 10032 §3.1, §4.1, §5.4, §5.5 and
/// §8): Init, Absorb, Encrypt or Decrypt, Finalize.
///
/// # Safety
/// The CPU features; the input as [`Message`] says.
#[inline(always)]
pub(super) unsafe fn run<M: Machine>(operation: Operation, input: impl Input<M>) -> M {
    // SAFETY: granted by the caller.
    unsafe {
        let mut state = input.init();
        input.process(&mut state, Work::Absorb);
        if let Some(work) = operation.work() {
            input.process(&mut state, work);
        }
        state.finalize(input.lengths(operation));
        state
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
        // SAFETY: granted by the caller.
        unsafe { init_group(self.group, self.message.key, self.message.nonce, ptr::null()) }
    }
    #[inline(always)]
    unsafe fn process(self, state: &mut M, work: Work) {
        // SAFETY: granted by the caller.
        unsafe { process_group(state, work, self.message.data(work), self.group) }
    }
    #[inline(always)]
    unsafe fn lengths(self, operation: Operation) -> M::V {
        // SAFETY: granted by the caller.
        unsafe {
            tag::lengths(self.message.ad_len as u64, self.message.second_length(operation) as u64)
        }
    }
}

impl Message {
    /// What a piece of work goes over.
    #[inline(always)]
    fn data(&self, work: Work) -> Data {
        match work {
            Work::Absorb => Data { src: self.ad, dst: ptr::null_mut(), len: self.ad_len },
            Work::Crypt(_) => Data { src: self.src, dst: self.dst, len: self.len },
        }
    }

    /// The second of the lengths that finalization absorbs: that of the message, or of a MAC's tag.
    #[inline(always)]
    fn second_length(&self, operation: Operation) -> usize {
        if operation == Operation::Mac { self.tag_len } else { self.len }
    }

    /// The same in checked pieces. The tag's bytes are written only by `seal` and `mac`.
    #[inline(always)]
    fn new<V: Variant>(
        key: &[u8],
        nonce: &[u8],
        ad: &[u8],
        io: &InOut<'_>,
        tag: *mut u8,
        tag_len: usize,
    ) -> Self {
        let key_len = <V::Family as Parameters>::KEY_BYTES;
        assert!(key.len() == key_len && nonce.len() == key_len && matches!(tag_len, 16 | 32));
        Self {
            key: key.as_ptr(),
            nonce: nonce.as_ptr(),
            ad: ad.as_ptr(),
            ad_len: ad.len(),
            src: io.src(),
            dst: io.dst(),
            len: io.len(),
            tag,
            tag_len,
        }
    }
}

/// The body of the kernels for a whole message, for a state of `G` groups. Whether the tag was the
/// right one, which only `Open` can deny.
///
/// # Safety
/// The CPU features; the message as [`Message`] says.
#[inline(always)]
pub(super) unsafe fn process<M: Machine, const G: usize>(
    operation: Operation,
    message: &Message,
) -> bool {
    let degree = G * M::V::LANES;
    // SAFETY: granted by the caller.
    unsafe {
        // One group after the other, the first last, because the MAC goes on with it.
        let mut tags = [[M::V::zero(); 2]; G];
        let mut number = G;
        let first = loop {
            number -= 1;
            let state: M = run(operation, OneMessage { message, group: Group { number, degree } });
            tags[number] = state.tag(message.tag_len);
            if number == 0 {
                break state;
            }
        };
        if operation == Operation::Mac {
            let mut end = MacEnd::new(first.first());
            if degree > 1 {
                for (group, tags) in tags.into_iter().enumerate() {
                    end.absorb::<M>(group, tags, message.tag_len);
                }
            }
            end.write(degree, message.tag, message.tag_len);
            return true;
        }
        let mut sum = tags[0];
        for group in &tags[1..] {
            sum = tag::add(sum, *group);
        }
        if operation == Operation::Open {
            return tag::is_equal(sum, message.tag, message.tag_len);
        }
        tag::write(sum, message.tag, message.tag_len);
        true
    }
}

/// The longest data that a kernel of `groups` groups works on group by group. Beyond that the
/// groups take turns over chunks that stay in the first-level cache.
pub(super) const fn longest(groups: usize) -> usize {
    if groups == 1 { usize::MAX } else { 2 * CHUNK }
}

/// Works on a message with the kernels of a backend, and leaves no secret on the stack.
///
/// # Safety
/// The message as [`Message`] says.
#[inline(always)]
unsafe fn call<V: Variant>(variant: V, operation: Operation, message: &Message) -> bool {
    let kernels = variant.kernels();
    // SAFETY: the kernels come from a variant, so the CPU has their features; the rest is granted.
    unsafe {
        match &kernels.message {
            Some(kernel) if message.len <= kernel.longest && message.ad_len <= kernel.longest => {
                let right = kernel.get(operation)(message);
                kernels.scrub();
                right
            }
            _ => by_state(variant, operation, message),
        }
    }
}

/// Works on a message by way of a state in memory: a long one that several groups take turns on, or
/// one of a degree that has no kernels for whole messages. A function of its own, so that the stack
/// of others need not be aligned for the state.
///
/// # Safety
/// As for [`call`].
#[inline(never)]
unsafe fn by_state<V: Variant>(variant: V, operation: Operation, message: &Message) -> bool {
    let mut memory = V::Memory::zeroed(); // wiped when it is dropped
    let mut state = State::new(&mut memory, variant);
    let mut expected = [0; 32];
    let tag = if operation == Operation::Open { expected.as_mut_ptr() } else { message.tag };
    // SAFETY: granted by the caller; `expected` has room for either tag.
    unsafe {
        state.init_at(message.key, message.nonce, ptr::null());
        state.process(Work::Absorb, message.data(Work::Absorb));
        match operation.work() {
            Some(work) => {
                state.process(work, message.data(work));
                state.finalize_to(message.ad_len as u64, message.len as u64, tag, message.tag_len);
            }
            None => state.finalize_mac_to(message.ad_len as u64, tag, message.tag_len),
        }
        variant.kernels().scrub(); // here, because the kernels' frames lie below this one
        // From pointers: a slice of `expected` would be checked, and firmware must not reach a
        // panic.
        let right = operation != Operation::Open
            || equal(
                core::slice::from_raw_parts(tag, message.tag_len),
                core::slice::from_raw_parts(message.tag, message.tag_len),
            );
        wipe(&mut expected);
        right
    }
}

/// Encrypts a message and writes its tag.
///
/// # Safety
/// The message as [`Message`] says, with the key length of the variant.
#[inline(always)]
pub(crate) unsafe fn seal<V: Variant>(variant: V, message: &Message) {
    // SAFETY: granted by the caller.
    unsafe { call(variant, Operation::Seal, message) };
}

/// Decrypts a message and tells whether its tag was right. If not, the output is zeroed.
///
/// # Safety
/// The message as [`Message`] says, with the key length of the variant.
#[inline(always)]
pub(crate) unsafe fn open<V: Variant>(variant: V, message: &Message) -> bool {
    /// # Safety
    /// `dst` writable for `len` bytes.
    #[cold]
    #[inline(never)]
    unsafe fn wipe_forgery(dst: *mut u8, len: usize) {
        if len > 0 {
            // SAFETY: granted by the caller.
            wipe(unsafe { core::slice::from_raw_parts_mut(dst, len) });
        }
    }
    // SAFETY: granted by the caller.
    unsafe {
        let right = call(variant, Operation::Open, message);
        if !right {
            wipe_forgery(message.dst, message.len);
        }
        right
    }
}

/// Writes the MAC of the associated data.
///
/// # Safety
/// The message as [`Message`] says, with the key length of the variant, for which this MAC exists.
#[inline(always)]
pub(crate) unsafe fn mac<V: Variant>(variant: V, message: &Message) {
    // SAFETY: granted by the caller.
    unsafe { call(variant, Operation::Mac, message) };
}

/// [`seal`] for slices.
#[inline(always)]
pub(crate) fn seal_slices<V: Variant>(
    variant: V,
    [key, nonce, ad]: [&[u8]; 3],
    io: &InOut<'_>,
    tag: &mut [u8],
) {
    let message = Message::new::<V>(key, nonce, ad, io, tag.as_mut_ptr(), tag.len());
    // SAFETY: the lengths were checked; slices and `InOut` promise their memory.
    unsafe { seal(variant, &message) }
}

/// [`open`] for slices.
#[inline(always)]
pub(crate) fn open_slices<V: Variant>(
    variant: V,
    [key, nonce, ad]: [&[u8]; 3],
    io: &InOut<'_>,
    tag: &[u8],
) -> bool {
    let message = Message::new::<V>(key, nonce, ad, io, tag.as_ptr().cast_mut(), tag.len());
    // SAFETY: the lengths were checked; slices and `InOut` promise their memory; the tag is only
    // read.
    unsafe { open(variant, &message) }
}

/// [`mac`] for slices.
#[inline(always)]
pub(crate) fn mac_slices<V: Variant, const T: usize>(
    variant: V,
    [key, nonce, data]: [&[u8]; 3],
    tag: &mut [u8; T],
) {
    const { super::variant::check_mac(<V::Family as Parameters>::INDEX, V::DEGREE, T) };
    let message =
        Message::new::<V>(key, nonce, data, &InOut::in_place(&mut []), tag.as_mut_ptr(), T);
    // SAFETY: the lengths were checked, and this MAC exists; slices promise their memory.
    unsafe { mac(variant, &message) }
}
