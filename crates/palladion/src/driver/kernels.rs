//! The kernels of a backend: their types, their contracts, and tables of them.

use crate::block::MAX_LANES;
use crate::machine::Work;
use crate::memory::Direction;

use super::scrub::Scrub;

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
pub(crate) enum Operation {
    Seal,
    Open,
    Mac,
}

impl Operation {
    /// Returns what to do with the message after the associated data.
    #[inline(always)]
    pub(super) fn work(self) -> Option<Work> {
        match self {
            Self::Seal => Some(Work::Crypt(Direction::Encrypt)),
            Self::Open => Some(Work::Crypt(Direction::Decrypt)),
            Self::Mac => None,
        }
    }
}

impl From<Direction> for Operation {
    #[inline(always)]
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Encrypt => Self::Seal,
            Direction::Decrypt => Self::Open,
        }
    }
}

/// Input and output: `len` bytes are readable at `src` and, unless they are only absorbed, writable
/// at `dst`. The two are equal or do not overlap.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Data {
    pub(crate) src: *const u8,
    pub(crate) dst: *mut u8,
    pub(crate) len: usize,
}

impl Message {
    /// Returns the data that a piece of work processes.
    #[inline(always)]
    pub(super) fn data(&self, work: Work) -> Data {
        match work {
            Work::Absorb => Data { src: self.ad, dst: core::ptr::null_mut(), len: self.ad_len },
            Work::Crypt(_) => Data { src: self.src, dst: self.dst, len: self.len },
        }
    }
}

/// The kernels of one backend for one family and one class of degrees.
#[derive(Clone, Copy)]
pub(crate) struct Kernels {
    /// For a whole message, if the number of groups is known.
    pub(crate) message: Option<MessageKernels>,
    /// For a state in memory.
    pub(crate) state: StateKernels,
    /// For several messages at once. The kernel for the most messages comes first.
    pub(crate) batch: [BatchKernels; BATCHES],
    /// Wipes the stack after the kernels of a message and of a state, if they spill.
    pub(crate) scrub: Scrub,
    /// Wipes the stack after the kernels of a batch.
    pub(crate) scrub_batch: Scrub,
}

/// Processes a whole message and returns whether its tag is right; only `open` can return false.
///
/// The caller has checked the CPU features, and the message is valid as [`Message`] requires.
pub(crate) type MessageKernel = unsafe fn(&Message) -> bool;

#[derive(Clone, Copy)]
pub(crate) struct MessageKernels {
    pub(crate) seal: MessageKernel,
    pub(crate) open: MessageKernel,
    pub(crate) mac: MessageKernel,
    /// The longest message and associated data, in bytes, for which these kernels are the fastest.
    pub(crate) longest: usize,
}

impl MessageKernels {
    #[inline(always)]
    pub(super) fn of(&self, operation: Operation) -> MessageKernel {
        match operation {
            Operation::Seal => self.seal,
            Operation::Open => self.open,
            Operation::Mac => self.mac,
        }
    }
}

/// Kernels that work on a state in memory.
///
/// The caller has checked the CPU features and passes the degree of this table. The state is memory
/// for `8 * degree` blocks, aligned to 64 bytes. Only `init` and `resume` accept uninitialised
/// memory. Key and nonce have the family's length.
#[derive(Clone, Copy)]
pub(crate) struct StateKernels {
    /// `init(state, degree, key, nonce, ctx)`. `ctx` is null for the standard's context, or 16
    /// bytes (degree 1 only).
    pub(crate) init: unsafe fn(*mut u8, usize, *const u8, *const u8, *const u8),
    /// `advance(state, degree, work, data)`: processes data, which is valid as [`Data`] says. If
    /// its length is not a multiple of the rate, the last step is padded with zeros.
    pub(crate) advance: unsafe fn(*mut u8, usize, Work, &Data),
    /// `keystream(state, degree, dst)`: writes one step's key stream, without changing the state.
    pub(crate) keystream: unsafe fn(*const u8, usize, *mut u8),
    /// `finalize(state, degree, ad_len, msg_len, tag, tag_len)`. Lengths are in bytes. Afterwards
    /// the state has its last words.
    pub(crate) finalize: unsafe fn(*mut u8, usize, u64, u64, *mut u8, usize),
    /// `finalize_mac(state, degree, data_len, tag, tag_len)`. Lengths are in bytes. The state is
    /// zeroed afterwards.
    pub(crate) finalize_mac: unsafe fn(*mut u8, usize, u64, *mut u8, usize),
    /// `words(state, degree, dst)`: writes all words, word by word and lane by lane: `WORDS *
    /// degree` blocks.
    pub(crate) words: unsafe fn(*const u8, usize, *mut u8),
    /// `resume(state, degree, src)`: restores a state from the output of `words`, of any backend.
    pub(crate) resume: unsafe fn(*mut u8, usize, *const u8),
}

/// The most kernels for several messages that a variant has.
pub(crate) const BATCHES: usize = 2;

/// The kernels of one backend and variant for one number of messages.
///
/// The caller of `seal` and `open` has checked the backend's CPU features and passes as many
/// messages as the kernel takes. Each is valid as [`Message`] requires, no memory that one writes
/// is used by another, all have tags of one length, and all have the same number of steps of
/// message and of associated data.
#[derive(Clone, Copy)]
pub(crate) struct BatchKernels {
    /// The number of messages; 0 if there is no kernel.
    pub(crate) messages: usize,
    /// The longest message, in bytes, for which the kernels are faster than those for fewer
    /// messages.
    pub(crate) longest: usize,
    /// Whether the kernels put secrets on the stack.
    pub(super) spills: bool,
    /// Encrypts the messages and writes their tags.
    pub(crate) seal: BatchKernel,
    /// Decrypts the messages. Bit `i` of the result is set if the tag of message `i` is wrong.
    pub(crate) open: BatchKernel,
}

/// A kernel for several messages.
pub(crate) type BatchKernel = unsafe fn(&Pointers) -> u32;

/// The messages for a kernel, which uses as many of the pointers as it takes messages.
pub(crate) type Pointers = [*const Message; MAX_LANES];

impl BatchKernels {
    /// No kernels.
    pub(crate) const NONE: Self = {
        unsafe fn none(_: &Pointers) -> u32 {
            0
        }
        Self { messages: 0, longest: 0, spills: false, seal: none, open: none }
    };
}

impl Kernels {
    /// Wipes the stack below the caller after the kernels of a message or of a state, if they leave
    /// secrets there.
    #[inline(always)]
    pub(super) fn scrub(&self) {
        if let Some(scrub) = self.scrub {
            scrub();
        }
    }

    /// Wipes the stack below the caller after kernels for several messages.
    #[inline(always)]
    pub(super) fn scrub_batch(&self) {
        if let Some(scrub) = self.scrub_batch {
            scrub();
        }
    }
}

/// The kernels of a backend for one family, by the degree.
#[derive(Clone, Copy)]
pub(crate) struct Degrees {
    pub(crate) one: Kernels,
    pub(crate) two: Kernels,
    pub(crate) four: Kernels,
    /// For any degree.
    #[cfg(any(feature = "any-degree", palladion_one_backend))]
    pub(crate) any: Kernels,
}

impl Degrees {
    /// The same kernels for all degrees.
    pub(crate) const fn all(kernels: Kernels) -> Self {
        Self {
            one: kernels,
            two: kernels,
            four: kernels,
            #[cfg(any(feature = "any-degree", palladion_one_backend))]
            any: kernels,
        }
    }
}

/// The kernels of a backend.
#[derive(Clone, Copy)]
pub(crate) struct Tables {
    pub(crate) aegis128: Degrees,
    pub(crate) aegis256: Degrees,
}

impl Tables {
    /// Returns the kernels of a family, 0 for AEGIS-128 and 1 for AEGIS-256, and a degree.
    #[inline(always)]
    pub(crate) const fn of(&self, family: usize, degree: usize) -> &Kernels {
        let degrees = if family == 0 { &self.aegis128 } else { &self.aegis256 };
        match degree {
            1 => &degrees.one,
            2 => &degrees.two,
            #[cfg(any(feature = "any-degree", palladion_one_backend))]
            4 => &degrees.four,
            #[cfg(any(feature = "any-degree", palladion_one_backend))]
            _ => &degrees.any,
            #[cfg(not(any(feature = "any-degree", palladion_one_backend)))]
            _ => &degrees.four, // `check_degree` rejects others
        }
    }
}
