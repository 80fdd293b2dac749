//! A whole message in one call.

use core::mem::MaybeUninit;
use core::ptr;

use super::state::{init_group, process_at};
use super::steps::{CHUNK, Data, Group, Work, process_group};
use super::tag::{self, MacEnd};
use super::variant::{Parameters, Variant, check_memory};
use crate::block::Blocks;
use crate::machine::Machine;
use crate::memory::{Direction, InOut, WipedBytes, equal, wipe, wipe_at};

/// A message to encrypt, decrypt or authenticate in one call: the argument of kernels.
///
/// Lengths are in bytes. Where a length is zero, the pointer may have any value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Message {
    /// The key: readable, 16 or 32 bytes depending on the family.
    pub key: *const u8,
    /// The nonce: readable, as long as the key.
    pub nonce: *const u8,
    /// The associated data, or the input of a MAC: readable.
    pub ad: *const u8,
    /// The length of the associated data.
    pub ad_len: usize,
    /// The input: the message, or the ciphertext if it is to be decrypted. Readable.
    pub src: *const u8,
    /// The output: writable. It is equal to `src` (in place) or does not overlap the input, and
    /// overlaps neither key, nonce nor associated data: kernels read those again after writing.
    pub dst: *mut u8,
    /// The length of the input and of the output.
    pub len: usize,
    /// The tag: written when encrypting; when decrypting, only read, after the output was written.
    pub tag: *mut u8,
    /// The length of the tag: 16 or 32 bytes.
    pub tag_len: usize,
}

/// The operation on a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Seal,
    Open,
    Mac,
}

impl Operation {
    /// Returns what to do with the message after the associated data.
    #[inline(always)]
    fn work(self) -> Option<Work> {
        match self {
            Self::Seal => Some(Work::Crypt(Direction::Encrypt)),
            Self::Open => Some(Work::Crypt(Direction::Decrypt)),
            Self::Mac => None,
        }
    }
}

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
    unsafe fn process(self, state: &mut M, work: Work);

    /// Returns the lengths of associated data and message, as finalization absorbs them.
    ///
    /// # Safety
    /// The CPU has the machine's features.
    unsafe fn lengths(self, operation: Operation) -> M::V;
}

/// Computes the final state and the lanes' tags from a state after Init (RFC 10032 §3.1, §4.1,
/// §5.4, §5.5 and §8): Absorb, Encrypt or Decrypt, Finalize.
///
/// # Safety
/// The CPU has the machine's features; the input is valid as [`Message`] requires.
#[inline(always)]
pub(super) unsafe fn run<M: Machine>(
    operation: Operation,
    input: impl Input<M>,
    state: &mut M,
    tag_len: usize,
) -> [M::V; 2] {
    // SAFETY: the caller promises the CPU features and a valid input.
    unsafe {
        input.process(state, Work::Absorb);
        if let Some(work) = operation.work() {
            input.process(state, work);
        }
        state.finish(input.lengths(operation), tag_len)
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
    unsafe fn process(self, state: &mut M, work: Work) {
        // SAFETY: the caller promises the CPU features and valid data.
        unsafe { process_group(state, work, self.message.data(work), self.group) }
    }
    #[inline(always)]
    unsafe fn lengths(self, operation: Operation) -> M::V {
        // SAFETY: the caller promises the CPU features.
        unsafe {
            tag::lengths(self.message.ad_len as u64, self.message.second_length(operation) as u64)
        }
    }
}

impl Message {
    /// Returns the data that a piece of work processes.
    #[inline(always)]
    fn data(&self, work: Work) -> Data {
        match work {
            Work::Absorb => Data { src: self.ad, dst: ptr::null_mut(), len: self.ad_len },
            Work::Crypt(_) => Data { src: self.src, dst: self.dst, len: self.len },
        }
    }

    /// Returns the second length that finalization absorbs: that of the message, or of a MAC's tag.
    #[inline(always)]
    fn second_length(&self, operation: Operation) -> usize {
        if operation == Operation::Mac { self.tag_len } else { self.len }
    }

    /// Creates a message from slices of the right lengths. Only `seal` and `mac` write to `tag`.
    #[inline(always)]
    pub(crate) fn new<P: Parameters>(
        key: &[u8],
        nonce: &[u8],
        ad: &[u8],
        io: &InOut<'_>,
        tag: *mut u8,
        tag_len: usize,
    ) -> Self {
        let key_len = P::KEY_BYTES;
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

/// The body of the kernels for a whole message, for a state of `G` groups. Returns whether the tag
/// is right; for `Seal` and `Mac`, always true.
///
/// # Safety
/// The CPU has the machine's features; the message is valid as [`Message`] requires.
#[inline(always)]
pub(super) unsafe fn process<M: Machine, const G: usize>(
    operation: Operation,
    message: &Message,
) -> bool {
    let degree = G * M::V::LANES;
    // SAFETY: the caller promises the CPU features and a valid message.
    unsafe {
        // One group after another. The first comes last, because the MAC continues with it.
        let group = |number| OneMessage { message, group: Group { number, degree } };
        let mut tags = [[M::V::zero(); 2]; G];
        let mut state: M;
        if M::LARGE || M::IN_MEMORY || G > 2 {
            let mut number = G;
            loop {
                number -= 1;
                (state, tags[number]) = run_group(operation, group(number));
                if number == 0 {
                    break;
                }
            }
        } else {
            // A copy of the code for each group: the end of one and the beginning of the next are
            // then in one piece without branches, and the compiler mixes their instructions.
            if G == 2 {
                (_, tags[1]) = run_group::<M>(operation, group(1));
            }
            (state, tags[0]) = run_group(operation, group(0));
        }
        if operation == Operation::Mac {
            let mut end = MacEnd::new(state.first());
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

/// Processes a message with one group. Returns its final state and the tags of its lanes.
///
/// # Safety
/// The CPU has the machine's features; the message is valid as [`Message`] requires.
#[inline(always)]
unsafe fn run_group<M: Machine>(operation: Operation, input: OneMessage<'_>) -> (M, [M::V; 2]) {
    // SAFETY: the caller promises the CPU features and a valid message.
    unsafe {
        let mut state = input.init();
        let tags = run(operation, input, &mut state, input.message.tag_len);
        (state, tags)
    }
}

/// The longest data that a kernel of `groups` groups processes group by group. For longer data, the
/// groups take turns over chunks that stay in the first-level cache.
pub(super) const fn longest(groups: usize) -> usize {
    if groups == 1 { usize::MAX } else { 2 * CHUNK }
}

/// Processes a message with the kernels of a backend, and leaves no secret on the stack.
///
/// # Safety
/// The message is valid as [`Message`] requires.
#[inline(always)]
unsafe fn call<V: Variant>(variant: V, operation: Operation, message: &Message) -> bool {
    let kernels = variant.kernels();
    // SAFETY: the kernels come from a variant, so the CPU has their features. The caller promises a
    // valid message.
    unsafe {
        match &kernels.message {
            Some(kernel) if message.len <= kernel.longest && message.ad_len <= kernel.longest => {
                let authentic = kernel.get(operation)(message);
                kernels.scrub();
                authentic
            }
            _ => by_state(variant, operation, message),
        }
    }
}

/// Processes a message through a state in memory: a long one, over which several groups take turns,
/// or one of a degree without kernels for whole messages. Not inlined, so that other callers need
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
        process_at(variant, state, Work::Absorb, message.data(Work::Absorb));
        let (ad_len, len, tag_len) = (message.ad_len as u64, message.len as u64, message.tag_len);
        match operation.work() {
            Some(work) => {
                process_at(variant, state, work, message.data(work));
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

/// Encrypts a message and writes its tag.
///
/// # Safety
/// The message is valid as [`Message`] requires, with the key length of the variant.
#[inline(always)]
pub(crate) unsafe fn seal<V: Variant>(variant: V, message: &Message) {
    // SAFETY: the caller promises a valid message.
    unsafe { call(variant, Operation::Seal, message) };
}

/// Decrypts a message and returns whether its tag is right. If not, the output is zeroed.
///
/// # Safety
/// The message is valid as [`Message`] requires, with the key length of the variant.
#[inline(always)]
pub(crate) unsafe fn open<V: Variant>(variant: V, message: &Message) -> bool {
    // SAFETY: the caller promises a valid message, whose output is writable for `len` bytes.
    unsafe {
        let authentic = call(variant, Operation::Open, message);
        if !authentic {
            wipe_output(message);
        }
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

/// Computes the MAC of the associated data and writes it to the tag.
///
/// # Safety
/// The message is valid as [`Message`] requires, with the key length of the variant, and the
/// variant has this MAC.
#[inline(always)]
pub(crate) unsafe fn mac<V: Variant>(variant: V, message: &Message) {
    // SAFETY: the caller promises a valid message.
    unsafe { call(variant, Operation::Mac, message) };
}

/// Like [`seal`], for slices.
#[inline(always)]
pub(crate) fn seal_slices<V: Variant>(
    variant: V,
    [key, nonce, ad]: [&[u8]; 3],
    io: &InOut<'_>,
    tag: &mut [u8],
) {
    let message = Message::new::<V::Family>(key, nonce, ad, io, tag.as_mut_ptr(), tag.len());
    // SAFETY: the lengths were checked; slices and `InOut` are valid memory.
    unsafe { seal(variant, &message) }
}

/// Like [`open`], for slices.
#[inline(always)]
pub(crate) fn open_slices<V: Variant>(
    variant: V,
    [key, nonce, ad]: [&[u8]; 3],
    io: &InOut<'_>,
    tag: &[u8],
) -> bool {
    let message = Message::new::<V::Family>(key, nonce, ad, io, tag.as_ptr().cast_mut(), tag.len());
    // SAFETY: the lengths were checked; slices and `InOut` are valid memory; `open` only reads the
    // tag.
    unsafe { open(variant, &message) }
}

/// Like [`mac`], for slices.
#[inline(always)]
pub(crate) fn mac_slices<V: Variant, const T: usize>(
    variant: V,
    [key, nonce, data]: [&[u8]; 3],
    tag: &mut [u8; T],
) {
    const { super::variant::check_mac(<V::Family as Parameters>::INDEX, V::DEGREE, T) };
    let message =
        Message::new::<V::Family>(key, nonce, data, &InOut::in_place(&mut []), tag.as_mut_ptr(), T);
    // SAFETY: the lengths were checked, this MAC exists, and slices are valid memory.
    unsafe { mac(variant, &message) }
}
