//! The two state machines, AEGIS-128 and AEGIS-256, each written once and generic over the block
//! vector, and the trait through which the driver uses them.

pub(crate) mod aegis128;
pub(crate) mod aegis256;
pub(crate) mod packed128;
pub(crate) mod twin256;

pub(crate) use aegis128::Aegis128;
pub(crate) use aegis256::Aegis256;
pub(crate) use packed128::Packed128;
pub(crate) use twin256::Twin256;

use crate::block::{Blocks, Word};
use crate::memory::Direction;

/// The constants C0 and C1 (RFC 10032 §2): the Fibonacci sequence modulo 256.
pub(crate) const C0: [u8; 16] = [
    0x00, 0x01, 0x01, 0x02, 0x03, 0x05, 0x08, 0x0d, 0x15, 0x22, 0x37, 0x59, 0x90, 0xe9, 0x79, 0x62,
];
pub(crate) const C1: [u8; 16] = [
    0xdb, 0x3d, 0x18, 0x55, 0x6d, 0xc2, 0x2f, 0xf1, 0x20, 0x11, 0x31, 0x42, 0x73, 0xb5, 0x28, 0xdd,
];

/// Updates after the lengths are absorbed (§3.2.7, §4.2.7).
pub(crate) const FINAL_ROUNDS: usize = 7;

/// The states of `V::LANES` lanes, and the operations on them.
///
/// # Safety
///
/// The same as for [`Blocks`]: a value exists only if the CPU has the features. Plain data of at
/// most eight blocks per lane, so that a state can be kept in memory between calls.
pub(crate) unsafe trait Machine: Copy {
    /// The block vector.
    type V: Blocks;
    /// The same machine with one lane.
    type Lane: Machine<V = <Self::V as Blocks>::Lane>;
    /// The form of the machine in the unrolled loop over long data (see [`Word::Running`]).
    type Running: Machine<V = Self::V, Step = Self::Step>;
    /// Converts to the form in the unrolled loop.
    fn running(self) -> Self::Running;
    /// Converts from the form in the unrolled loop.
    fn resting(running: Self::Running) -> Self;
    /// The input or output of one step of these lanes.
    type Step: Copy;
    /// A key or a nonce.
    type Key: Copy;
    /// Blocks of input per lane and step: 2 for AEGIS-128, 1 for AEGIS-256.
    const BLOCKS: usize;
    /// Whether the secrets do not fit into registers, so that the compiler puts some on the stack.
    const SPILLS: bool;
    /// Whether a step is so much code that one copy of it should serve for all kinds of work.
    const LARGE: bool;
    /// The first lane whose tag the MAC finalisation absorbs, for a tag of `tag_len` bytes (§8).
    fn first_mac_lane(tag_len: usize) -> usize;

    /// Loads a step whose vectors are `row` bytes apart.
    ///
    /// # Safety
    /// The CPU has the machine's features; each vector is readable.
    unsafe fn load(src: *const u8, row: usize) -> Self::Step;
    /// Stores a step whose vectors are `row` bytes apart.
    ///
    /// # Safety
    /// Each vector is writable.
    unsafe fn store(step: Self::Step, dst: *mut u8, row: usize);
    /// Loads a step of which only the first `len` bytes from `src` exist; the rest becomes zero.
    /// `len` may be zero or exceed a step.
    ///
    /// # Safety
    /// The CPU has the machine's features; `len` bytes are readable.
    unsafe fn load_partial(src: *const u8, row: usize, len: usize) -> Self::Step;
    /// Stores the bytes of a step that lie within the first `len` from `dst`.
    ///
    /// # Safety
    /// `len` bytes are writable.
    unsafe fn store_partial(step: Self::Step, dst: *mut u8, row: usize, len: usize);

    /// Keeps the first `len` bytes of a step whose vectors are `row` bytes apart, and zeroes the
    /// rest.
    fn truncate(step: Self::Step, row: usize, len: usize) -> Self::Step;

    /// Loads a key or nonce, which is the same for all lanes.
    ///
    /// # Safety
    /// The CPU has the machine's features; `src` is readable for the key's length.
    unsafe fn load_key(src: *const u8) -> Self::Key;
    /// Returns the state after initialisation with a key, a nonce and the lanes' context words.
    ///
    /// # Safety
    /// The CPU has the machine's features.
    unsafe fn init(key: Self::Key, nonce: Self::Key, ctx: Self::V) -> Self;
    /// Absorbs a step of associated data or MAC input.
    fn absorb(&mut self, m: Self::Step);
    /// Whether `absorb_two` is faster than `absorb` twice.
    const TWO_AT_ONCE: bool = false;
    /// Absorbs two steps.
    #[inline(always)]
    fn absorb_two(&mut self, m: Self::Step, n: Self::Step) {
        self.absorb(m);
        self.absorb(n);
    }
    /// How many steps the loop over long data computes in one turn.
    const UNROLL: usize = 1;
    /// Absorbs as many of `steps` steps, which follow each other at `src`, as gain from another
    /// form of the state. Returns how many.
    ///
    /// # Safety
    /// The steps are readable.
    #[inline(always)]
    unsafe fn absorb_many(&mut self, _src: *const u8, _steps: usize) -> usize {
        0
    }
    /// Whether `process_all` processes whole steps, because the state stays in memory.
    const IN_MEMORY: bool = false;
    /// If `IN_MEMORY`, encrypts, decrypts or, without a direction, absorbs `steps` steps whose
    /// vectors are `row` bytes apart.
    ///
    /// # Safety
    /// The steps are readable at `src` and, with a direction, writable at `dst`. The two are equal
    /// or do not overlap.
    unsafe fn process_all(
        &mut self,
        _direction: Option<Direction>,
        _src: *const u8,
        _dst: *mut u8,
        _row: usize,
        _steps: usize,
    ) {
    }
    /// If `IN_MEMORY`, adds `m` to block `i` of what the last step absorbed.
    fn add_to_last(&mut self, _i: usize, _m: Self::V) {}
    /// Adds the key stream of the next step to `m`, without changing the state.
    fn add_keystream(&self, m: Self::Step) -> Self::Step;
    /// Encrypts a step and absorbs it.
    fn encrypt(&mut self, m: Self::Step) -> Self::Step;
    /// Decrypts a step and absorbs the result.
    fn decrypt(&mut self, c: Self::Step) -> Self::Step;
    /// Encrypts the step at `src`, whose vectors are `row` bytes apart, and absorbs it.
    ///
    /// # Safety
    /// Each vector is readable.
    #[inline(always)]
    unsafe fn encrypt_at(&mut self, src: *const u8, row: usize) -> Self::Step {
        // SAFETY: the caller promises readable vectors. `self` exists, so the CPU has the features.
        self.encrypt(unsafe { Self::load(src, row) })
    }
    /// Decrypts the step at `src`, whose vectors are `row` bytes apart, and absorbs the result.
    ///
    /// # Safety
    /// Each vector is readable.
    #[inline(always)]
    unsafe fn decrypt_at(&mut self, src: *const u8, row: usize) -> Self::Step {
        // SAFETY: the caller promises readable vectors. `self` exists, so the CPU has the features.
        self.decrypt(unsafe { Self::load(src, row) })
    }
    /// Processes the step at `src`, whose vectors are `row` bytes apart: encrypts or decrypts it to
    /// `dst`, if there is a direction, and absorbs it. If it is not whole, only the first `len`
    /// bytes exist, and the others count as zeros.
    ///
    /// # Safety
    /// A whole step, or `len` bytes, are readable at `src` and, with a direction, writable at
    /// `dst`. The two are equal or do not overlap.
    #[inline(always)]
    unsafe fn process_one(
        &mut self,
        direction: Option<Direction>,
        src: *const u8,
        dst: *mut u8,
        row: usize,
        len: usize,
        whole: bool,
    ) {
        // SAFETY: the caller promises the same.
        unsafe {
            // WebAssembly gets one copy of the rounds, which keeps modules small. On x86 two copies
            // are faster.
            if direction.is_none() && cfg!(not(target_family = "wasm")) {
                return self.absorb(self.translate_one(None, src, dst, row, len, whole));
            }
            self.absorb(self.translate_one(direction, src, dst, row, len, whole));
        }
    }
    /// Does what `process_one` does before it absorbs, and returns the step to absorb: the message,
    /// padded with zeros.
    ///
    /// # Safety
    /// The same as for [`process_one`](Self::process_one).
    #[inline(always)]
    unsafe fn translate_one(
        &self,
        direction: Option<Direction>,
        src: *const u8,
        dst: *mut u8,
        row: usize,
        len: usize,
        whole: bool,
    ) -> Self::Step {
        // SAFETY: the caller promises these bytes. `self` exists, so the CPU has the features. In
        // place, all of the step is read before any of it is written.
        unsafe {
            let input =
                if whole { Self::load(src, row) } else { Self::load_partial(src, row, len) };
            let Some(direction) = direction else { return input };
            let output = self.add_keystream(input);
            if whole {
                Self::store(output, dst, row);
            } else {
                Self::store_partial(output, dst, row, len);
            }
            match direction {
                Direction::Encrypt => input,
                Direction::Decrypt if whole => output,
                // The message padded with zeros (DecPartial, §3.2.6).
                Direction::Decrypt => Self::truncate(output, row, len),
            }
        }
    }
    /// Absorbs the block of lengths into every lane and mixes.
    fn finalize(&mut self, lengths: Self::V);
    /// Returns the 128-bit tag of each lane.
    fn tag128(&self) -> Self::V;
    /// Returns the two halves of the 256-bit tag of each lane.
    fn tag256(&self) -> (Self::V, Self::V);
    /// Returns the tag of `tag_len` bytes of each lane, in blocks. For a tag of 16 bytes the second
    /// block is meaningless.
    #[inline(always)]
    fn tag(&self, tag_len: usize) -> [Self::V; 2] {
        if tag_len == 16 {
            let tag = self.tag128();
            [tag, tag]
        } else {
            self.tag256().into()
        }
    }
    /// Finalizes, and returns the tags.
    #[inline(always)]
    fn finish(&mut self, lengths: Self::V, tag_len: usize) -> [Self::V; 2] {
        self.finalize(lengths);
        self.tag(tag_len)
    }
    /// Returns a step of the first `BLOCKS` of two vectors.
    fn step(blocks: [Self::V; 2]) -> Self::Step;
    /// Returns lane 0.
    fn first(&self) -> Self::Lane;
    /// Stores the words of the state, in order, `stride` bytes apart.
    ///
    /// # Safety
    /// Each word is writable.
    unsafe fn store_words(&self, dst: *mut u8, stride: usize);
    /// Loads a state that `store_words` stored.
    ///
    /// # Safety
    /// The CPU has the machine's features; each word is readable.
    unsafe fn load_words(src: *const u8, stride: usize) -> Self;
}

/// A machine whose lanes may belong to different messages (`batch.rs`).
///
/// # Safety
///
/// The same as for [`Machine`].
pub(crate) unsafe trait Batched: Machine {
    /// Blocks in a key: 1 for AEGIS-128, 2 for AEGIS-256.
    const KEY_BLOCKS: usize;
    /// Returns the key or nonce in the first `KEY_BLOCKS` of two vectors.
    fn key(blocks: [Self::V; 2]) -> Self::Key;
    /// Returns the vectors of a step; only the first `BLOCKS` of them count.
    fn blocks(step: Self::Step) -> [Self::V; 2];
}

/// Loads the vector at `offset`, of which only the bytes before `len` exist.
///
/// # Safety
/// The CPU has the features of `V`; `len` bytes are readable at `src`.
#[inline(always)]
pub(crate) unsafe fn load_at<V: Blocks>(src: *const u8, offset: usize, len: usize) -> V {
    let len = len.saturating_sub(offset).min(16 * V::LANES);
    // SAFETY: the caller promises `len` bytes at `src`, so the shortened `len` are readable at
    // `offset`. If there are none, the address is not accessed.
    unsafe { V::load_partial(src.wrapping_add(offset), len) }
}

/// Stores the bytes of the vector at `offset` that lie before `len`.
///
/// # Safety
/// `len` bytes are writable at `dst`.
#[inline(always)]
pub(crate) unsafe fn store_at<V: Blocks>(v: V, dst: *mut u8, offset: usize, len: usize) {
    let len = len.saturating_sub(offset).min(16 * V::LANES);
    // SAFETY: the caller promises `len` bytes at `dst`, so the shortened `len` are writable at
    // `offset`. If there are none, the address is not accessed.
    unsafe { v.store_partial(dst.wrapping_add(offset), len) }
}

/// Zeroes the bytes of the vector at `offset` that do not lie before `len`.
#[inline(always)]
pub(crate) fn truncate_at<V: Blocks>(v: V, offset: usize, len: usize) -> V {
    v.truncate(len.saturating_sub(offset).min(16 * V::LANES))
}

/// Returns lane 0 of a word.
#[inline(always)]
#[allow(dead_code)] // unused where the bitsliced backend is the only one
pub(crate) fn first<W: Word, V: Blocks<Lane = W::Blocks>>(blocks: V) -> W {
    W::new(blocks.first())
}

/// Loads word `i` of words that are stored in order, `stride` bytes apart.
///
/// # Safety
/// The CPU has the features of `V`; the word is readable.
#[inline(always)]
pub(crate) unsafe fn load_word<V: Blocks>(src: *const u8, stride: usize, i: usize) -> V {
    // SAFETY: the caller promises that the word is readable.
    unsafe { V::load(src.add(i * stride)) }
}

/// Stores words in order, `stride` bytes apart.
///
/// # Safety
/// Each word is writable.
#[inline(always)]
pub(crate) unsafe fn store_all<V: Blocks>(words: &[V], dst: *mut u8, stride: usize) {
    for (i, word) in words.iter().enumerate() {
        // SAFETY: the caller promises that each word is writable.
        unsafe { word.store(dst.add(i * stride)) };
    }
}
