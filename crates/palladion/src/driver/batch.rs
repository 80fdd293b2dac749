//! Several messages at once, each in its own lanes.
//!
//! Each lane of a wide register, or each few lanes, works on a message of its own (the "comb
//! scheduler" of Bogdanov, Lauridsen and Tischhauser). All lanes do the same at every step. Keys,
//! nonces and data are gathered from all messages, and outputs are scattered to them.
//!
//! The messages of a group may have different lengths. As long as all have whole steps left,
//! nothing is special. From there to the end of the longest, every step checks what each message
//! has left, and a lane whose message has ended keeps its state. Such steps are slower, so the
//! caller groups messages of similar lengths (`src/batch.rs`).
//!
//! Branches and addresses depend only on lengths.

use core::ptr;

use super::message::{Input, Operation, run};
use super::state::FIRST_CONTEXTS;
use super::steps::Work;
use super::variant::{Parameters, Variant, check_tag};
use crate::block::{Blocks, MAX_LANES, ONES_THEN_ZEROS, Vector};
use crate::machine::Batched;
use crate::memory::{Direction, InOut};

/// The argument of a batch kernel. It uses the first [`Batch::messages`] entries of each array. Two
/// entries may be the same message; otherwise no memory that one writes is used by another. Each is
/// valid as [`Message`](super::Message) requires.
#[repr(C)]
pub(crate) struct Messages {
    pub(crate) key: [*const u8; MAX_LANES],
    pub(crate) nonce: [*const u8; MAX_LANES],
    pub(crate) ad: [*const u8; MAX_LANES],
    pub(crate) ad_len: [usize; MAX_LANES],
    pub(crate) src: [*const u8; MAX_LANES],
    pub(crate) dst: [*mut u8; MAX_LANES],
    pub(crate) len: [usize; MAX_LANES],
    pub(crate) tag: [*mut u8; MAX_LANES],
    pub(crate) tag_len: usize,
}

impl Messages {
    /// Returns no messages yet, with tags of `tag_len` bytes.
    pub(crate) fn none(tag_len: usize) -> Self {
        Self {
            key: [ptr::null(); MOST],
            nonce: [ptr::null(); MOST],
            ad: [ptr::null(); MOST],
            ad_len: [0; MOST],
            src: [ptr::null(); MOST],
            dst: [ptr::null_mut(); MOST],
            len: [0; MOST],
            tag: [ptr::null_mut(); MOST],
            tag_len,
        }
    }
}

/// The most batch kernels that a variant has.
pub(crate) const KERNELS: usize = 2;

/// The kernels of one backend and variant for one number of messages.
///
/// The caller of `seal` and `open` has checked the backend's CPU features, and the messages are
/// valid as [`Messages`] says. Both write the tags.
#[derive(Clone, Copy)]
pub(crate) struct Batch {
    /// The number of messages; 0 if there is no kernel.
    pub(crate) messages: usize,
    /// Whether all messages share one register, so that a lane without a message costs nothing.
    one_register: bool,
    /// Encrypts the messages and writes their tags.
    pub(crate) seal: unsafe fn(&Messages),
    /// Decrypts the messages and writes the tags that they should have.
    pub(crate) open: unsafe fn(&Messages),
}

impl Batch {
    /// Creates the kernels of `M` for messages of degree `D`.
    pub(crate) const fn new<M: Batched, const D: usize>(
        seal: unsafe fn(&Messages),
        open: unsafe fn(&Messages),
    ) -> Self {
        assert!(M::V::LANES.is_multiple_of(D) && M::V::LANES > D);
        Self { messages: M::V::LANES / D, one_register: M::V::REGISTERS == 1, seal, open }
    }
}

/// Pads a list of batch kernels with empty entries.
pub(crate) const fn list<const N: usize>(kernels: [Batch; N]) -> [Batch; KERNELS] {
    unsafe fn none(_: &Messages) {}
    let mut list = [Batch { messages: 0, one_register: false, seal: none, open: none }; KERNELS];
    let mut i = 0;
    while i < N {
        list[i] = kernels[i];
        i += 1;
    }
    list
}

// The bodies of the kernels.

/// Returns the number of messages in a vector.
#[inline(always)]
fn count<V: Blocks, const D: usize>() -> usize {
    V::LANES / D
}

/// Returns the number of bytes of a message in one step.
#[inline(always)]
fn rate<M: Batched, const D: usize>() -> usize {
    16 * D * M::BLOCKS
}

/// Loads the block at each of these addresses into every lane of its message.
///
/// # Safety
/// The CPU has the features of `V`; 16 bytes are readable at each address.
#[inline(always)]
unsafe fn gather_blocks<V: Blocks, const D: usize>(src: &[*const u8; MAX_LANES], at: usize) -> V {
    // SAFETY: the caller promises the CPU features and 16 readable bytes at each address.
    unsafe {
        let mut lanes = [V::Lane::zero(); MAX_LANES];
        for i in 0..V::LANES {
            lanes[i] = V::Lane::load(src[i / D].add(at));
        }
        V::from_lanes(lanes)
    }
}

/// Loads a step of each message.
///
/// # Safety
/// The CPU has the machine's features; `rate` bytes from `at` on are readable for each message.
#[inline(always)]
unsafe fn gather_step<M: Batched, const D: usize>(
    src: &[*const u8; MAX_LANES],
    at: usize,
) -> M::Step {
    // SAFETY: the caller promises the CPU features and `rate` readable bytes of each message.
    unsafe {
        if M::BLOCKS == 2 {
            M::step(M::V::gather_two::<D>(src, at))
        } else {
            let blocks = M::V::gather::<D>(src, at);
            M::step([blocks, blocks])
        }
    }
}

/// Stores a step of each message.
///
/// # Safety
/// `rate` bytes from `at` on are writable for each message.
#[inline(always)]
unsafe fn scatter_step<M: Batched, const D: usize>(
    step: M::Step,
    dst: &[*mut u8; MAX_LANES],
    at: usize,
) {
    let blocks = M::blocks(step);
    for (row, blocks) in blocks[..M::BLOCKS].iter().enumerate() {
        // Pinned, because otherwise the optimiser splits vector and key stream and XORs the pieces.
        // SAFETY: the caller promises `rate` writable bytes of each message.
        unsafe { blocks.pin().scatter::<D>(dst, at + 16 * D * row) };
    }
}

/// Returns the offset of lane `lane` of vector `row` in its message's step, and how many of the
/// `left` bytes it has.
#[inline(always)]
fn part<const D: usize>(row: usize, lane: usize, left: &[usize; MAX_LANES]) -> (usize, usize) {
    let start = 16 * (D * row + lane % D);
    (start, left[lane / D].saturating_sub(start).min(16))
}

/// Loads the last bytes of each message, padded with zeros, and a mask of ones for these bytes.
///
/// # Safety
/// The CPU has the machine's features; `left` bytes from `at` on are readable for each message.
/// Where `left` is zero, the address is not accessed.
#[inline(always)]
unsafe fn gather_parts<M: Batched, const D: usize>(
    src: &[*const u8; MAX_LANES],
    at: usize,
    left: &[usize; MAX_LANES],
) -> (M::Step, M::Step) {
    // SAFETY: the caller promises the CPU features and `left` readable bytes of each message. `len`
    // is at most 16, so the mask's 16 bytes lie within the table.
    unsafe {
        let mut blocks = [M::V::zero(); 2];
        let mut masks = blocks;
        for row in 0..M::BLOCKS {
            let zero = <M::V as Blocks>::Lane::zero();
            let (mut lanes, mut ones) = ([zero; MAX_LANES], [zero; MAX_LANES]);
            for lane in 0..M::V::LANES {
                let (start, len) = part::<D>(row, lane, left);
                lanes[lane] = Blocks::load_partial(src[lane / D].wrapping_add(at + start), len);
                ones[lane] = Blocks::load(ONES_THEN_ZEROS.as_ptr().add(64 - len));
            }
            (blocks[row], masks[row]) = (M::V::from_lanes(lanes), M::V::from_lanes(ones));
        }
        (M::step(blocks), M::step(masks))
    }
}

/// Stores the last bytes of each message.
///
/// # Safety
/// `left` bytes from `at` on are writable for each message.
#[inline(always)]
unsafe fn scatter_parts<M: Batched, const D: usize>(
    step: M::Step,
    dst: &[*mut u8; MAX_LANES],
    at: usize,
    left: &[usize; MAX_LANES],
) {
    let blocks = M::blocks(step);
    for (row, blocks) in blocks[..M::BLOCKS].iter().enumerate() {
        let lanes = blocks.lanes();
        for (lane, block) in lanes[..M::V::LANES].iter().enumerate() {
            let (start, len) = part::<D>(row, lane, left);
            // SAFETY: the caller promises `left` writable bytes of each message.
            unsafe { block.store_partial(dst[lane / D].wrapping_add(at + start), len) };
        }
    }
}

/// Processes data of every message, padding each to whole steps.
///
/// # Safety
/// The CPU has the machine's features. For each message, `lens` bytes are readable at `src` and,
/// unless they are only absorbed, writable at `dst`, which is equal to `src` or does not overlap
/// it.
#[inline(always)]
unsafe fn process_data<M: Batched, const D: usize>(
    state: &mut M,
    work: Work,
    src: &[*const u8; MAX_LANES],
    dst: &[*mut u8; MAX_LANES],
    lens: &[usize; MAX_LANES],
) {
    let (mut shortest, mut longest) = (lens[0], lens[0]);
    for len in &lens[1..count::<M::V, D>()] {
        (shortest, longest) = (shortest.min(*len), longest.max(*len));
    }
    let rate = rate::<M, D>();
    let common = shortest - shortest % rate;
    let mut s = *state; // a copy that the optimiser can keep in registers
    let mut at = 0;
    while at < common {
        // SAFETY: every message has a whole step at `at`. In place, all of it is read before any of
        // it is written.
        unsafe {
            let input = gather_step::<M, D>(src, at);
            match work {
                Work::Absorb => s.absorb(input),
                Work::Crypt(Direction::Encrypt) => scatter_step::<M, D>(s.encrypt(input), dst, at),
                Work::Crypt(Direction::Decrypt) => scatter_step::<M, D>(s.decrypt(input), dst, at),
            }
        }
        at += rate;
    }
    while at < longest {
        let mut left = [0; MAX_LANES];
        for (left, len) in left.iter_mut().zip(lens) {
            *left = len.saturating_sub(at).min(rate);
        }
        let before = s;
        // SAFETY: every message has `left` bytes at `at`; nothing is accessed of those that have
        // ended. In place, all of the step is read before any of it is written.
        unsafe {
            let (input, mask) = gather_parts::<M, D>(src, at, &left);
            let mut message = input;
            if let Work::Crypt(direction) = work {
                let output = s.add_keystream(input);
                scatter_parts::<M, D>(output, dst, at, &left);
                if direction == Direction::Decrypt {
                    // The message padded with zeros is absorbed (DecPartial, §3.2.6).
                    message = keep::<M>(output, mask);
                }
            }
            s.absorb(message);
            keep_ended::<M, D>(&mut s, &before, &left);
        }
        at += rate;
    }
    *state = s;
}

/// `step & mask`
#[inline(always)]
fn keep<M: Batched>(step: M::Step, mask: M::Step) -> M::Step {
    let (step, mask) = (M::blocks(step), M::blocks(mask));
    // SAFETY: a step exists, so the CPU has the features.
    let zero = unsafe { M::V::zero() };
    M::step([zero.xor_and(step[0], mask[0]), zero.xor_and(step[1], mask[1])])
}

/// Restores the previous state in the lanes of messages that have ended.
///
/// # Safety
/// The CPU has the machine's features.
#[inline(always)]
unsafe fn keep_ended<M: Batched, const D: usize>(s: &mut M, before: &M, left: &[usize; MAX_LANES]) {
    // SAFETY: the caller promises the CPU features. The 16 bytes are the first ones or the first
    // zeros of the table.
    let ended = unsafe {
        let mut lanes = [<M::V as Blocks>::Lane::zero(); MAX_LANES];
        for lane in 0..M::V::LANES {
            let ones = if left[lane / D] == 0 { 0 } else { 64 };
            lanes[lane] = Blocks::load(ONES_THEN_ZEROS.as_ptr().add(ones));
        }
        M::V::from_lanes(lanes)
    };
    let mut before = *before;
    for (word, before) in s.words().iter_mut().zip(before.words()) {
        *word = word.xor_and(word.xor(*before), ended);
    }
}

/// Writes the tag of each message: the XOR of its lanes' tags.
///
/// # Safety
/// 16 bytes are writable `at` bytes after each pointer.
#[inline(always)]
unsafe fn store_tags<V: Blocks, const D: usize>(tags: V, dst: &[*mut u8; MAX_LANES], at: usize) {
    let lanes = tags.lanes();
    for i in 0..count::<V, D>() {
        let mut tag = lanes[D * i];
        for lane in &lanes[D * i + 1..D * (i + 1)] {
            tag = tag.xor(*lane);
        }
        // SAFETY: the caller promises 16 writable bytes for each message.
        unsafe { tag.store(dst[i].add(at)) };
    }
}

/// The lanes of several messages.
#[derive(Clone, Copy)]
struct SideBySide<'a, const D: usize>(&'a Messages);

impl<M: Batched, const D: usize> Input<M> for SideBySide<'_, D> {
    #[inline(always)]
    unsafe fn init(self) -> M {
        let m = self.0;
        // SAFETY: the caller promises the CPU features and readable keys and nonces.
        unsafe {
            let (mut key, mut nonce) = ([M::V::zero(); 2], [M::V::zero(); 2]);
            for i in 0..M::KEY_BLOCKS {
                key[i] = gather_blocks::<M::V, D>(&m.key, 16 * i);
                nonce[i] = gather_blocks::<M::V, D>(&m.nonce, 16 * i);
            }
            let ctx = if D == 1 {
                M::V::zero()
            } else {
                // ctx[i] = i || D - 1 || 0..0 (§5.4.2), the same for every message.
                M::V::gather::<D>(&[FIRST_CONTEXTS.as_ptr().cast(); MAX_LANES], 0)
                    .xor(M::V::splat_words((D as u64 - 1) << 8, 0))
            };
            M::init(M::key(key), M::key(nonce), ctx)
        }
    }
    #[inline(always)]
    unsafe fn process(self, state: &mut M, work: Work) {
        let m = self.0;
        // SAFETY: the caller promises the CPU features and valid messages.
        unsafe {
            match work {
                Work::Absorb => process_data::<M, D>(state, work, &m.ad, &m.dst, &m.ad_len),
                Work::Crypt(_) => process_data::<M, D>(state, work, &m.src, &m.dst, &m.len),
            }
        }
    }
    #[inline(always)]
    unsafe fn lengths(self, _: Operation) -> M::V {
        let m = self.0;
        // SAFETY: the caller promises the CPU features.
        unsafe {
            let mut lengths = [<M::V as Blocks>::Lane::zero(); MAX_LANES];
            for (i, lane) in lengths[..M::V::LANES].iter_mut().enumerate() {
                *lane =
                    Blocks::splat_words((m.ad_len[i / D] as u64) << 3, (m.len[i / D] as u64) << 3);
            }
            M::V::from_lanes(lengths)
        }
    }
}

/// Processes all messages and writes their tags, also for `Open`.
#[inline(always)]
pub(super) unsafe fn process<M: Batched, const D: usize>(
    operation: Operation,
    messages: &Messages,
) {
    // SAFETY: the caller keeps the contract of `Batch`.
    unsafe {
        let state: M = run(operation, SideBySide::<D>(messages));
        let [first, second] = state.tag(messages.tag_len);
        store_tags::<M::V, D>(first, &messages.tag, 0);
        if messages.tag_len != 16 {
            store_tags::<M::V, D>(second, &messages.tag, 16);
        }
    }
}

// The interface for the rest of the crate.

/// A message that can be processed beside others.
pub(crate) trait Job {
    /// The key.
    fn key(&self) -> &[u8];
    /// The nonce.
    fn nonce(&self) -> &[u8];
    /// The associated data.
    fn ad(&self) -> &[u8];
    /// Input and output.
    fn io(&self) -> &InOut<'_>;
}

/// The most messages that any kernel takes.
pub(crate) const MOST: usize = MAX_LANES;

/// Encrypts or decrypts the chosen jobs, at most as many as the kernel takes, with one of the
/// variant's batch kernels, and computes their tags. Call [`finish`] after the last group.
#[inline(always)]
pub(crate) fn process_jobs<V: Variant, J: Job, const T: usize>(
    variant: V,
    kernel: usize,
    jobs: &mut [J],
    chosen: &[usize],
    direction: Direction,
    tags: &mut [[u8; T]; MOST],
) {
    const { check_tag(T) };
    let kernel = &variant.kernels().batch[kernel];
    assert!(!chosen.is_empty() && chosen.len() <= kernel.messages);
    for (n, a) in chosen.iter().enumerate() {
        assert!(chosen[..n].iter().all(|b| a != b), "a message is chosen twice");
    }
    let key_len = <V::Family as Parameters>::KEY_BYTES;
    let mut messages = Messages::none(T);
    for (i, tag) in tags.iter_mut().enumerate().take(kernel.messages) {
        // Lanes that are left over repeat the first message: they read and write the same bytes.
        let job = &jobs[chosen.get(i).copied().unwrap_or(chosen[0])];
        let (key, nonce, ad, io) = (job.key(), job.nonce(), job.ad(), job.io());
        assert!(key.len() == key_len && nonce.len() == key_len);
        (messages.key[i], messages.nonce[i]) = (key.as_ptr(), nonce.as_ptr());
        (messages.ad[i], messages.ad_len[i]) = (ad.as_ptr(), ad.len());
        (messages.src[i], messages.dst[i], messages.len[i]) = (io.src(), io.dst(), io.len());
        messages.tag[i] = tag.as_mut_ptr();
    }
    let kernel = match direction {
        Direction::Encrypt => kernel.seal,
        Direction::Decrypt => kernel.open,
    };
    // SAFETY: the kernels come from a variant, so the CPU has their features. Keys and nonces have
    // the family's length, slices and `InOut` are valid memory, and tags are 16 or 32 bytes long.
    // The jobs are distinct and borrowed exclusively, and each has borrowed its output exclusively.
    unsafe { kernel(&messages) }
}

/// Wipes the stack after the kernels of a batch.
#[inline(always)]
pub(crate) fn finish<V: Variant>(variant: V) {
    variant.kernels().scrub_batch();
}

impl Batch {
    /// Returns the number of messages; 0 if there is no kernel.
    #[inline(always)]
    pub(crate) fn messages(&self) -> usize {
        self.messages
    }

    /// Returns the costs of a step that all messages have, and of one that checks what each has
    /// left, in quarters of a step of a single message, rounded up. Without the masks of AVX-512,
    /// the latter branches for each block.
    #[inline(always)]
    pub(crate) fn costs(&self) -> (u64, u64) {
        match (self.messages, self.one_register) {
            (..=2, _) => (5, 24),
            (_, true) => (8, 16),
            (_, false) => (8, 48),
        }
    }

    /// Returns the smallest number of messages for which the kernel is worth using.
    #[inline(always)]
    pub(crate) fn fewest(&self) -> usize {
        if self.one_register { self.messages / 2 + 1 } else { self.messages }
    }
}
