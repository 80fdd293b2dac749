//! The two state machines, AEGIS-128 and AEGIS-256, each written once, generic over the block
//! vector; and the trait that tells the driver what a machine can do.

pub(crate) mod aegis128;
pub(crate) mod aegis256;
pub(crate) mod packed128;

pub(crate) use aegis128::Aegis128;
pub(crate) use aegis256::Aegis256;
pub(crate) use packed128::Packed128;

use crate::block::{Blocks, Word};

/// The constants C0 and C1 (RFC 10032 §2): the Fibonacci sequence modulo 256.
pub(crate) const C0: [u8; 16] = [
    0x00, 0x01, 0x01, 0x02, 0x03, 0x05, 0x08, 0x0d, 0x15, 0x22, 0x37, 0x59, 0x90, 0xe9, 0x79, 0x62,
];
pub(crate) const C1: [u8; 16] = [
    0xdb, 0x3d, 0x18, 0x55, 0x6d, 0xc2, 0x2f, 0xf1, 0x20, 0x11, 0x31, 0x42, 0x73, 0xb5, 0x28, 0xdd,
];

/// Updates after the lengths are absorbed (§3.2.7, §4.2.7).
pub(crate) const FINAL_ROUNDS: usize = 7;

/// The states of `V::LANES` lanes, and what one step does to them.
///
/// # Safety
///
/// As for [`Blocks`]: a value is proof of the CPU features. Plain data of at most eight blocks a
/// lane, so that a state can rest in memory between calls.
pub(crate) unsafe trait Machine: Copy {
    /// The block vector.
    type V: Blocks;
    /// The same machine for one lane.
    type Lane: Machine<V = <Self::V as Blocks>::Lane>;
    /// One step's input or output of these lanes.
    type Step: Copy;
    /// A key or a nonce.
    type Key: Copy;
    /// Blocks of input per lane and step: 2 for AEGIS-128, 1 for AEGIS-256.
    const BLOCKS: usize;
    /// Whether there are more secrets than registers, so that the compiler puts some on the stack.
    const SPILLS: bool;
    /// Whether a step is so much code that one copy of it should serve for all kinds of work.
    const LARGE: bool;
    /// The first lane whose tag is absorbed by the MAC finalisation for a tag of `tag_len` bytes
    /// (§8).
    fn first_mac_lane(tag_len: usize) -> usize;

    /// Loads a step whose vectors lie `row` bytes apart.
    ///
    /// # Safety
    /// The CPU features; each vector readable.
    unsafe fn load(src: *const u8, row: usize) -> Self::Step;
    /// Stores a step, its vectors `row` bytes apart.
    ///
    /// # Safety
    /// Each vector writable.
    unsafe fn store(step: Self::Step, dst: *mut u8, row: usize);
    /// Loads a step of which only the first `len` bytes from `src` on exist; the rest is zero.
    /// `len` may be zero or more than a step.
    ///
    /// # Safety
    /// The CPU features; `len` bytes readable.
    unsafe fn load_partial(src: *const u8, row: usize, len: usize) -> Self::Step;
    /// Stores those bytes of a step that lie within the first `len` from `dst` on.
    ///
    /// # Safety
    /// `len` bytes writable.
    unsafe fn store_partial(step: Self::Step, dst: *mut u8, row: usize, len: usize);

    /// Keeps of a step, whose vectors lie `row` bytes apart, the first `len` bytes and makes the
    /// rest zero.
    fn truncate(step: Self::Step, row: usize, len: usize) -> Self::Step;

    /// A key or nonce, the same for all lanes.
    ///
    /// # Safety
    /// The CPU features; `src` readable for the key's length.
    unsafe fn load_key(src: *const u8) -> Self::Key;
    /// The state after initialisation with a key, a nonce and the lanes' context words.
    ///
    /// # Safety
    /// The CPU features.
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
    /// The key stream of the next step; changes nothing.
    fn keystream(&self) -> Self::Step;
    /// Encrypts a step and absorbs it.
    fn encrypt(&mut self, m: Self::Step) -> Self::Step;
    /// Decrypts a step and absorbs the result.
    fn decrypt(&mut self, c: Self::Step) -> Self::Step;
    /// XOR of two steps.
    fn xor(a: Self::Step, b: Self::Step) -> Self::Step;
    /// Absorbs the block with the lengths into every lane and mixes.
    fn finalize(&mut self, lengths: Self::V);
    /// The 128-bit tag of each lane.
    fn tag128(&self) -> Self::V;
    /// The two halves of the 256-bit tag of each lane.
    fn tag256(&self) -> (Self::V, Self::V);
    /// The tag of `tag_len` bytes of each lane, in blocks. A tag of 16 bytes has one; the second is
    /// of no use then.
    #[inline(always)]
    fn tag(&self, tag_len: usize) -> [Self::V; 2] {
        if tag_len == 16 {
            let tag = self.tag128();
            [tag, tag]
        } else {
            self.tag256().into()
        }
    }
    /// A step of the first `BLOCKS` of two vectors.
    fn step(blocks: [Self::V; 2]) -> Self::Step;
    /// Lane 0 alone.
    fn first(&self) -> Self::Lane;
    /// Stores the words of the state, in order, `stride` bytes apart.
    ///
    /// # Safety
    /// Each word writable.
    unsafe fn store_words(&self, dst: *mut u8, stride: usize);
    /// The state of words that `store_words` has stored.
    ///
    /// # Safety
    /// The CPU features; each word readable.
    unsafe fn load_words(src: *const u8, stride: usize) -> Self;
}

/// A machine whose lanes may belong to different messages (`batch.rs`).
///
/// # Safety
///
/// As for [`Machine`].
pub(crate) unsafe trait Batched: Machine {
    /// Blocks in a key: 1 for AEGIS-128, 2 for AEGIS-256.
    const KEY_BLOCKS: usize;
    /// A key or nonce from its first `KEY_BLOCKS` blocks.
    fn key(blocks: [Self::V; 2]) -> Self::Key;
    /// The vectors of a step. Of the two, the first `BLOCKS` count.
    fn blocks(step: Self::Step) -> [Self::V; 2];
    /// The words of the state, in order.
    fn words(&mut self) -> &mut [Self::V];
}

/// Lanes of a machine.
#[allow(dead_code)] // where there are no batch kernels
pub(crate) const fn lanes<M: Machine>() -> usize {
    M::V::LANES
}

/// Loads the vector at `offset` of which only the bytes before `len` exist.
///
/// # Safety
/// The CPU features; `len` bytes readable at `src`.
#[inline(always)]
pub(crate) unsafe fn load_at<V: Blocks>(src: *const u8, offset: usize, len: usize) -> V {
    let len = len.saturating_sub(offset).min(16 * V::LANES);
    // SAFETY: `len` bytes exist from `offset` on; where that is none, the address is not used.
    unsafe { V::load_partial(src.wrapping_add(offset), len) }
}

/// Stores those bytes of the vector at `offset` that lie before `len`.
///
/// # Safety
/// `len` bytes writable at `dst`.
#[inline(always)]
pub(crate) unsafe fn store_at<V: Blocks>(v: V, dst: *mut u8, offset: usize, len: usize) {
    let len = len.saturating_sub(offset).min(16 * V::LANES);
    // SAFETY: as for `load_at`.
    unsafe { v.store_partial(dst.wrapping_add(offset), len) }
}

/// What lies before `len` of the vector at `offset`.
#[inline(always)]
pub(crate) fn truncate_at<V: Blocks>(v: V, offset: usize, len: usize) -> V {
    v.truncate(len.saturating_sub(offset).min(16 * V::LANES))
}

/// Lane 0 of a word.
#[inline(always)]
#[allow(dead_code)] // where there is the bitsliced backend alone
pub(crate) fn first<W: Word, V: Blocks<Lane = W::Blocks>>(blocks: V) -> W {
    W::new(blocks.first())
}

/// `Machine::load_words` of words that lie in order: the blocks of the word at `i`.
///
/// # Safety
/// The CPU features; the word readable.
#[inline(always)]
pub(crate) unsafe fn load_word<V: Blocks>(src: *const u8, stride: usize, i: usize) -> V {
    // SAFETY: the caller grants it.
    unsafe { V::load(src.add(i * stride)) }
}

/// `Machine::store_words` of words that lie in order.
///
/// # Safety
/// Each word writable.
#[inline(always)]
pub(crate) unsafe fn store_all<V: Blocks>(words: &[V], dst: *mut u8, stride: usize) {
    for (i, word) in words.iter().enumerate() {
        // SAFETY: the caller grants it.
        unsafe { word.store(dst.add(i * stride)) };
    }
}
