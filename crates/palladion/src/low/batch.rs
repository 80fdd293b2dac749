//! Several messages at once: each lane of a wide register, or each few lanes, works on a message of its own (the "comb
//! scheduler" of Bogdanov, Lauridsen and Tischhauser). What the lanes do is the same at every step; keys, nonces and
//! pieces of data are gathered from as many places as there are messages, and outputs are scattered to them.
//!
//! Messages of a group need not be equally long. While all have whole steps left, nothing is special; from there on to
//! the end of the longest every step looks at what each message has left, and a lane whose message is over keeps its
//! state. The last is slower, so the caller groups messages of similar lengths (`src/batch.rs`).
//!
//! Branches and addresses depend on lengths alone.

use core::ptr;

use super::blocks::{Blocks, MAX_LANES, ONES_THEN_ZEROS, Vector};
use super::dispatch::Variant;
use super::kernels::FIRST_CONTEXTS;
use super::machine::Batched;
use super::{Direction, InOut};
use crate::family::Family;
use crate::types::Tag;
use crate::{BackendError, Error};

/// What a batch kernel works on: the first [`Batch::messages`] of each count. Two of them may be the same message;
/// otherwise no memory that one writes is used by another.
pub(super) struct Messages {
    pub(super) key: [*const u8; MAX_LANES],
    pub(super) nonce: [*const u8; MAX_LANES],
    pub(super) ad: [*const u8; MAX_LANES],
    pub(super) ad_len: [usize; MAX_LANES],
    pub(super) src: [*const u8; MAX_LANES],
    pub(super) dst: [*mut u8; MAX_LANES],
    pub(super) len: [usize; MAX_LANES],
    pub(super) tag: [*mut u8; MAX_LANES],
    pub(super) tag_len: usize,
}

impl Messages {
    /// No messages, whose tags will have that length.
    pub(super) fn none(tag_len: usize) -> Self {
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

/// How many batch kernels a variant has at most.
pub(super) const KERNELS: usize = 2;

/// The kernels of one backend and variant for one number of messages.
///
/// For the functions: the caller has checked the backend's CPU features. Of each message, key and nonce have the
/// family's length, associated data and source are readable for their lengths, the destination is writable for the
/// source's length, and equal to the source or apart from it; the tag is writable for its length of 16 or 32 bytes,
/// which is that of all messages.
#[derive(Clone, Copy)]
pub(crate) struct Batch {
    /// How many messages there must be; 0 if this is no kernel.
    pub(super) messages: usize,
    /// Whether it takes one register for all messages, so that a lane without a message costs nothing.
    one_register: bool,
    /// Encrypts the messages and writes their tags.
    pub(super) seal: unsafe fn(&Messages),
    /// Decrypts the messages and writes the tags that the ciphertexts should have.
    pub(super) open: unsafe fn(&Messages),
}

impl Batch {
    /// Kernels that work with `M`, where each message has degree `D`.
    pub(super) const fn new<M: Batched, const D: usize>(
        seal: unsafe fn(&Messages),
        open: unsafe fn(&Messages),
    ) -> Self {
        assert!(M::V::LANES.is_multiple_of(D) && M::V::LANES > D);
        Self { messages: M::V::LANES / D, one_register: M::V::REGISTERS == 1, seal, open }
    }
}

/// The batch kernels of a variant, filled up with what is none.
pub(super) const fn list<const N: usize>(kernels: [Batch; N]) -> [Batch; KERNELS] {
    unsafe fn none(_: &Messages) {}
    let mut list = [Batch { messages: 0, one_register: false, seal: none, open: none }; KERNELS];
    let mut i = 0;
    while i < N {
        list[i] = kernels[i];
        i += 1;
    }
    list
}

// The kernels. Everything is inlined into the functions with the CPU features that `tables!` defines.

/// How many messages a vector holds.
#[inline(always)]
fn count<V: Blocks, const D: usize>() -> usize {
    V::LANES / D
}

/// Bytes of a message in one step.
#[inline(always)]
fn rate<M: Batched, const D: usize>() -> usize {
    16 * D * M::BLOCKS
}

/// The block at each of these addresses, in every lane of its message.
///
/// # Safety
/// The CPU features; 16 bytes readable at each.
#[inline(always)]
unsafe fn gather_blocks<V: Blocks, const D: usize>(src: &[*const u8; MAX_LANES], at: usize) -> V {
    // SAFETY: granted by the caller.
    unsafe {
        let mut lanes = [V::Lane::zero(); MAX_LANES];
        for i in 0..V::LANES {
            lanes[i] = V::Lane::load(src[i / D].add(at));
        }
        V::from_lanes(lanes)
    }
}

/// A step of each message.
///
/// # Safety
/// The CPU features; `rate` bytes from `at` on readable for each message.
#[inline(always)]
unsafe fn gather_step<M: Batched, const D: usize>(src: &[*const u8; MAX_LANES], at: usize) -> M::Step {
    // SAFETY: granted by the caller.
    unsafe {
        if M::BLOCKS == 2 {
            M::step(M::V::gather_two::<D>(src, at))
        } else {
            let blocks = M::V::gather::<D>(src, at);
            M::step([blocks, blocks])
        }
    }
}

/// Writes a step of each message.
///
/// # Safety
/// `rate` bytes from `at` on writable for each message.
#[inline(always)]
unsafe fn scatter_step<M: Batched, const D: usize>(step: M::Step, dst: &[*mut u8; MAX_LANES], at: usize) {
    let blocks = M::blocks(step);
    for (row, blocks) in blocks[..M::BLOCKS].iter().enumerate() {
        // Pinned, because the optimiser would rather take vector and key stream apart and add them piece by piece.
        // SAFETY: granted by the caller.
        unsafe { blocks.pin().scatter::<D>(dst, at + 16 * D * row) };
    }
}

/// Where in its message's step lane `lane` of vector `row` begins, and how many bytes are there if `left` are left.
#[inline(always)]
fn part<const D: usize>(row: usize, lane: usize, left: &[usize; MAX_LANES]) -> (usize, usize) {
    let start = 16 * (D * row + lane % D);
    (start, left[lane / D].saturating_sub(start).min(16))
}

/// The last bytes of each message, padded with zeros, and ones where there are bytes.
///
/// # Safety
/// The CPU features; `left` bytes from `at` on readable for each message. Where that is none, the address is not used.
#[inline(always)]
unsafe fn gather_parts<M: Batched, const D: usize>(
    src: &[*const u8; MAX_LANES],
    at: usize,
    left: &[usize; MAX_LANES],
) -> (M::Step, M::Step) {
    // SAFETY: granted by the caller; the mask's 16 bytes lie within its 128.
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

/// Writes the last bytes of each message.
///
/// # Safety
/// `left` bytes from `at` on writable for each message.
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
            // SAFETY: granted by the caller.
            unsafe { block.store_partial(dst[lane / D].wrapping_add(at + start), len) };
        }
    }
}

/// What is done with data.
const ABSORB: u8 = 0;
const ENCRYPT: u8 = 1;
const DECRYPT: u8 = 2;

/// Goes over data of every message, padding each to whole steps.
///
/// # Safety
/// The CPU features; for each message `lens` bytes are readable at `src` and, unless they are absorbed, writable at
/// `dst`, which is equal to `src` or apart from it.
#[inline(always)]
unsafe fn go<M: Batched, const D: usize, const WHAT: u8>(
    state: &mut M,
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
        // SAFETY: every message has a whole step there. In place, all of it is read before any of it is written.
        unsafe {
            let input = gather_step::<M, D>(src, at);
            match WHAT {
                ENCRYPT => scatter_step::<M, D>(s.encrypt(input), dst, at),
                DECRYPT => scatter_step::<M, D>(s.decrypt(input), dst, at),
                _ => s.absorb(input),
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
        // SAFETY: every message has so many bytes left, and none at all is touched of those that have ended. In place,
        // all of the step is read before any of it is written.
        unsafe {
            let (input, mask) = gather_parts::<M, D>(src, at, &left);
            match WHAT {
                ENCRYPT => scatter_parts::<M, D>(s.encrypt(input), dst, at, &left),
                DECRYPT => {
                    // What is absorbed is the message padded with zeros (DecPartial, §3.2.6).
                    let message = keep::<M>(M::xor(input, s.keystream()), mask);
                    s.absorb(message);
                    scatter_parts::<M, D>(message, dst, at, &left);
                }
                _ => s.absorb(input),
            }
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
    // SAFETY: a step is proof of the CPU features.
    let zero = unsafe { M::V::zero() };
    M::step([zero.xor_and(step[0], mask[0]), zero.xor_and(step[1], mask[1])])
}

/// Gives the lanes of messages that have nothing left the state they had before.
///
/// # Safety
/// The CPU features.
#[inline(always)]
unsafe fn keep_ended<M: Batched, const D: usize>(s: &mut M, before: &M, left: &[usize; MAX_LANES]) {
    // SAFETY: granted by the caller; the 16 bytes are the first of the table's ones or of its zeros.
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

/// Writes the tag of each message: the XOR of those of its lanes.
///
/// # Safety
/// The CPU features; 16 bytes writable, `at` bytes behind each pointer.
#[inline(always)]
unsafe fn store_tags<V: Blocks, const D: usize>(tags: V, dst: &[*mut u8; MAX_LANES], at: usize) {
    let lanes = tags.lanes();
    for i in 0..count::<V, D>() {
        let mut tag = lanes[D * i];
        for lane in &lanes[D * i + 1..D * (i + 1)] {
            tag = tag.xor(*lane);
        }
        // SAFETY: granted by the caller.
        unsafe { tag.store(dst[i].add(at)) };
    }
}

#[inline(always)]
unsafe fn crypt<M: Batched, const D: usize, const WHAT: u8>(m: &Messages) {
    // SAFETY: the contract is that of `Batch`.
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
        let mut s = M::init(M::key(key), M::key(nonce), ctx);

        go::<M, D, ABSORB>(&mut s, &m.ad, &m.dst, &m.ad_len);
        go::<M, D, WHAT>(&mut s, &m.src, &m.dst, &m.len);

        let mut lengths = [<M::V as Blocks>::Lane::zero(); MAX_LANES];
        for (i, lane) in lengths[..M::V::LANES].iter_mut().enumerate() {
            *lane = Blocks::splat_words((m.ad_len[i / D] as u64) << 3, (m.len[i / D] as u64) << 3);
        }
        s.finalize(M::V::from_lanes(lengths));
        let [first, second] = s.tag(m.tag_len);
        store_tags::<M::V, D>(first, &m.tag, 0);
        if m.tag_len != 16 {
            store_tags::<M::V, D>(second, &m.tag, 16);
        }
    }
}

#[inline(always)]
pub(super) unsafe fn seal<M: Batched, const D: usize>(messages: &Messages) {
    // SAFETY: the contract is that of `Batch`.
    unsafe { crypt::<M, D, ENCRYPT>(messages) }
}

#[inline(always)]
pub(super) unsafe fn open<M: Batched, const D: usize>(messages: &Messages) {
    // SAFETY: the contract is that of `Batch`.
    unsafe { crypt::<M, D, DECRYPT>(messages) }
}

// What the rest of the crate sees.

/// One message of a batch.
pub(crate) struct Item<'a, F: Family> {
    pub(crate) key: &'a F::Key,
    pub(crate) nonce: F::Nonce,
    pub(crate) ad: &'a [u8],
    pub(crate) io: InOut<'a>,
    pub(crate) result: Result<(), Error>,
}

/// What has an item of its own.
pub(crate) trait HasItem<'a, F: Family> {
    fn item(&mut self) -> &mut Item<'a, F>;
}

/// The most messages that any kernel takes.
pub(crate) const MOST: usize = MAX_LANES;

/// The batch kernels of a variant, in the backend in use.
pub(crate) struct BatchKernels<F: Family, const D: usize> {
    variant: Variant<F, D>,
}

impl<F: Family, const D: usize> BatchKernels<F, D> {
    #[inline(always)]
    pub(crate) fn new() -> Result<Self, BackendError> {
        Ok(Self { variant: Variant::new()? })
    }

    /// The kernels, the one for the most messages first.
    #[inline(always)]
    pub(crate) fn list(&self) -> &'static [Batch] {
        &self.variant.kernels().batch
    }

    /// Encrypts one message alone and makes its tag.
    #[inline(always)]
    pub(crate) fn seal_one<const T: usize>(
        &self,
        item: &Item<'_, F>,
        tag: &mut [u8; T],
    ) -> Result<(), Error> {
        super::seal::<F, D, T>(item.key, &item.nonce, item.ad, &item.io, tag)
    }

    /// Decrypts one message alone if its tag is right; else zeroes the output and fails.
    #[inline(always)]
    pub(crate) fn open_one<const T: usize>(&self, item: &Item<'_, F>, tag: &[u8; T]) -> Result<(), Error> {
        super::open::<F, D, T>(item.key, &item.nonce, item.ad, &item.io, tag)
    }

    /// Encrypts or decrypts the chosen jobs, which are as many as the kernel takes or fewer, and computes their tags.
    #[inline(always)]
    pub(crate) fn crypt<'a, J: HasItem<'a, F>, const T: usize>(
        &self,
        kernel: usize,
        jobs: &mut [J],
        chosen: &[usize],
        direction: Direction,
        tags: &mut [Tag<T>; MOST],
    ) where
        F: 'a,
    {
        const { super::check_tag(T) };
        let kernel = &self.variant.kernels().batch[kernel];
        assert!(!chosen.is_empty() && chosen.len() <= kernel.messages);
        for (n, a) in chosen.iter().enumerate() {
            assert!(chosen[..n].iter().all(|b| a != b), "a message is chosen once");
        }
        let mut messages = Messages::none(T);
        for (i, tag) in tags.iter_mut().enumerate().take(kernel.messages) {
            // Lanes that are left over do the first message again: they read the same and write the same.
            let item = jobs[chosen.get(i).copied().unwrap_or(chosen[0])].item();
            (messages.key[i], messages.nonce[i]) = super::key_and_nonce::<F>(item.key, &item.nonce);
            (messages.ad[i], messages.ad_len[i]) = (item.ad.as_ptr(), item.ad.len());
            (messages.src[i], messages.dst[i], messages.len[i]) =
                (item.io.src(), item.io.dst(), item.io.len());
            messages.tag[i] = tag.as_mut_bytes().as_mut_ptr();
        }
        let kernel = if direction == Direction::Encrypt { kernel.seal } else { kernel.open };
        // SAFETY: the table came from `dispatch`, which has checked the CPU, and is that of the family and the degree.
        // Keys and nonces have their length, slices and `InOut` promise theirs, the tags have one of the two lengths.
        // The jobs are borrowed exclusively and are different ones, and what a job writes to, it has borrowed
        // exclusively.
        unsafe { kernel(&messages) }
    }

    /// Wipes the stack below the caller, as deep as these kernels leave secrets there. Whoever calls `crypt`, any number of times, calls this
    /// in the end, from the same function.
    #[inline(always)]
    pub(crate) fn wipe_stack(&self) {
        self.variant.kernels().wipe_stack_of_batch();
    }
}

impl Batch {
    /// How many messages it takes; 0 if it is no kernel.
    #[inline(always)]
    pub(crate) fn messages(&self) -> usize {
        self.messages
    }

    /// What a step of all messages takes, and one that looks at what each has left, in quarters of a step of one message
    /// alone. Rounded up; without the masks of AVX-512 the latter branches for each block.
    #[inline(always)]
    pub(crate) fn costs(&self) -> (u64, u64) {
        match (self.messages, self.one_register) {
            (..=2, _) => (5, 24),
            (_, true) => (8, 16),
            (_, false) => (8, 48),
        }
    }

    /// The fewest messages that are worth it.
    #[inline(always)]
    pub(crate) fn fewest(&self) -> usize {
        if self.one_register { self.messages / 2 + 1 } else { self.messages }
    }
}

// Large, and slow to compile: not for emulators. It runs on every machine without one.
#[cfg(all(test, not(palladion_test_reduced)))]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::super::aegis128::Aegis128;
    use super::super::aegis256::Aegis256;
    use super::super::blocks::Pair;
    use super::super::portable::Soft;
    use super::*;

    type Two = Pair<Soft>;
    type Four = Pair<Pair<Soft>>;

    /// Any bytes, other ones for each `seed`.
    fn bytes(len: usize, seed: usize) -> Vec<u8> {
        (0..len).map(|i| (i * i + 7 * i * seed + 31 * seed) as u8).collect()
    }

    // Kernels are inlined into what calls them; they are large, and slow to compile.
    #[inline(never)]
    fn seal_all<M: Batched, const D: usize>(messages: &Messages) {
        // SAFETY: portable code, in place; all lengths are what they should be.
        unsafe { seal::<M, D>(messages) };
    }
    #[inline(never)]
    fn open_all<M: Batched, const D: usize>(messages: &Messages) {
        // SAFETY: likewise.
        unsafe { open::<M, D>(messages) };
    }

    /// A batch kernel against the kernels for one message. No backend needs to have it: it runs on every machine.
    fn check<F: Family, M: Batched, const D: usize, const T: usize>(lens: &[(usize, usize)]) {
        assert_eq!(lens.len(), count::<M::V, D>());
        let messages: Vec<_> = lens
            .iter()
            .enumerate()
            .map(|(i, &(ad, len))| {
                (bytes(F::KEY_LEN, i), bytes(F::KEY_LEN, i + 9), bytes(ad, i), bytes(len, i + 3))
            })
            .collect();
        let mut outputs: Vec<_> = messages.iter().map(|m| m.3.clone()).collect();
        let mut tags = [[0; T]; MOST];
        let pointers = |outputs: &mut [Vec<u8>], tags: &mut [[u8; T]; MOST]| {
            let mut all = Messages::none(T);
            for (i, ((message, output), tag)) in messages.iter().zip(outputs).zip(tags).enumerate() {
                (all.key[i], all.nonce[i]) = (message.0.as_ptr(), message.1.as_ptr());
                (all.ad[i], all.ad_len[i]) = (message.2.as_ptr(), message.2.len());
                (all.dst[i], all.len[i]) = (output.as_mut_ptr(), output.len());
                (all.src[i], all.tag[i]) = (all.dst[i], tag.as_mut_ptr());
            }
            all
        };
        seal_all::<M, D>(&pointers(&mut outputs, &mut tags));
        for ((message, output), tag) in messages.iter().zip(&outputs).zip(&tags) {
            let (mut expected, mut expected_tag) = (message.3.clone(), [0; T]);
            let key = F::Key::try_from(&message.0).ok().unwrap();
            let nonce = F::Nonce::try_from(&message.1).ok().unwrap();
            let io = InOut::in_place(&mut expected);
            super::super::seal::<F, D, T>(&key, &nonce, &message.2, &io, &mut expected_tag).unwrap();
            assert_eq!((output, tag), (&expected, &expected_tag), "{lens:?}");
        }
        let sealed = tags;
        open_all::<M, D>(&pointers(&mut outputs, &mut tags));
        assert!(outputs.iter().eq(messages.iter().map(|m| &m.3)) && tags == sealed, "{lens:?}");
    }

    fn both_tags<F: Family, M: Batched, const D: usize>(lens: &[(usize, usize)]) {
        check::<F, M, D, 16>(lens);
        check::<F, M, D, 32>(lens);
    }

    #[test]
    fn every_lane_has_its_own_message() {
        use crate::family::{Aegis128 as F128, Aegis256 as F256};
        let lens = [(0, 0), (1, 33), (64, 64), (31, 65), (16, 15), (48, 160), (100, 16), (32, 96), (0, 1)];
        for (i, &a) in lens.iter().enumerate() {
            for &b in &lens {
                both_tags::<F128, Aegis128<Two>, 1>(&[a, b]);
                both_tags::<F256, Aegis256<Two>, 1>(&[a, b]);
                both_tags::<F128, Aegis128<Four>, 2>(&[a, b]);
                both_tags::<F256, Aegis256<Four>, 2>(&[a, b]);
                let (c, d) = (lens[(i + 1) % lens.len()], lens[(i + 4) % lens.len()]);
                both_tags::<F128, Aegis128<Four>, 1>(&[a, b, c, d]);
                both_tags::<F256, Aegis256<Four>, 1>(&[a, d, c, b]);
            }
        }
    }
}
