//! Kernels for several messages at once, each in its own lane.
//!
//! Each lane of a wide register works on a message of its own (the "comb scheduler" of Bogdanov,
//! Lauridsen and Tischhauser). All lanes do the same at every step, so the messages have the same
//! number of steps. Keys, nonces and data are gathered from all messages, and outputs are scattered
//! to them.
//!
//! Branches and addresses depend only on lengths.

use super::message::{Input, run};
use super::tag;
use crate::block::{Blocks, MAX_LANES, Vector};
use crate::driver::kernels::{Operation, Pointers};
use crate::machine::registers::{Place, Step};
use crate::machine::{Batched, Work};
use crate::memory::Direction;
use crate::memory::secrecy::declassify;

/// Returns a field of each message. Places without a message repeat that of the first.
macro_rules! fields {
    ($messages:expr, $($field:tt)+) => {{
        let mut fields = [(*$messages[0]).$($field)+; MAX_LANES];
        for i in 1..M::V::LANES {
            fields[i] = (*$messages[i]).$($field)+;
        }
        fields
    }};
}

/// Where a step of each message is: this many bytes after its pointers.
#[derive(Clone, Copy)]
struct Lanes<'a> {
    src: &'a [*const u8; MAX_LANES],
    dst: &'a [*mut u8; MAX_LANES],
    at: usize,
}

impl<S: Step> Place<S> for Lanes<'_> {
    #[inline(always)]
    unsafe fn load(self) -> S {
        // SAFETY: the caller promises the CPU features and a readable step of each message.
        unsafe {
            if S::ROWS == 2 {
                S::of(S::V::gather_two(self.src, self.at))
            } else {
                let blocks = S::V::gather(self.src, self.at);
                S::of([blocks, blocks])
            }
        }
    }
    #[inline(always)]
    unsafe fn store(self, output: S) {
        // Pinned, because otherwise the optimiser splits vector and key stream and XORs the pieces.
        let [first, second] = output.rows();
        // SAFETY: the caller promises a writable step of each message.
        unsafe {
            if S::ROWS == 2 {
                S::V::scatter_two([first.pin(), second.pin()], self.dst, self.at);
            } else {
                first.pin().scatter(self.dst, self.at);
            }
        }
    }
}

/// Returns how many of the `left` bytes of a message are in block `row` of its step.
#[inline(always)]
fn part(row: usize, left: usize) -> usize {
    left.saturating_sub(16 * row).min(16)
}

/// Loads the last bytes of each message, padded with zeros.
///
/// # Safety
/// The CPU has the machine's features; `left` bytes from `at` on are readable for each message.
#[inline(always)]
unsafe fn gather_parts<M: Batched>(
    src: &[*const u8; MAX_LANES],
    at: usize,
    left: &[usize; MAX_LANES],
) -> M::Step {
    // SAFETY: the caller promises the CPU features and `left` readable bytes of each message.
    // Where a block has none, its address is not accessed.
    unsafe {
        let mut blocks = [M::V::zero(); 2];
        for (row, blocks) in blocks[..M::RATE].iter_mut().enumerate() {
            let mut lanes = [<M::V as Blocks>::Lane::zero(); MAX_LANES];
            for lane in 0..M::V::LANES {
                let src = src[lane].wrapping_add(at + 16 * row);
                lanes[lane] = Blocks::load_partial(src, part(row, left[lane]));
            }
            *blocks = M::V::from_lanes(lanes);
        }
        M::Step::of(blocks)
    }
}

/// Stores the last bytes of each message. Returns the step with zeros in place of all others.
///
/// # Safety
/// `left` bytes from `at` on are writable for each message.
#[inline(always)]
unsafe fn scatter_parts<M: Batched>(
    step: M::Step,
    dst: &[*mut u8; MAX_LANES],
    at: usize,
    left: &[usize; MAX_LANES],
) -> M::Step {
    let mut blocks = step.rows();
    for (row, blocks) in blocks[..M::RATE].iter_mut().enumerate() {
        let mut lanes = blocks.lanes();
        for (lane, block) in lanes[..M::V::LANES].iter_mut().enumerate() {
            let len = part(row, left[lane]);
            // SAFETY: the caller promises `left` writable bytes of each message. Where a block has
            // none, its address is not accessed.
            unsafe { block.store_partial(dst[lane].wrapping_add(at + 16 * row), len) };
            *block = block.truncate(len);
        }
        // SAFETY: a step exists, so the CPU has the features.
        *blocks = unsafe { M::V::from_lanes(lanes) };
    }
    M::Step::of(blocks)
}

/// Processes data of every message, padding each to whole steps.
///
/// # Safety
/// The CPU has the machine's features. For each message, `lens` bytes are readable at `src` and,
/// unless they are only absorbed, writable at `dst`, which is equal to `src` or does not overlap
/// it. All have the same number of steps.
#[inline(always)]
unsafe fn advance_lanes<M: Batched>(
    state: &mut M,
    work: Work,
    src: &[*const u8; MAX_LANES],
    dst: &[*mut u8; MAX_LANES],
    lens: &[usize; MAX_LANES],
) {
    let (mut shortest, mut longest) = (lens[0], lens[0]);
    for len in &lens[1..M::V::LANES] {
        (shortest, longest) = (shortest.min(*len), longest.max(*len));
    }
    let rate = 16 * M::RATE;
    let common = shortest - shortest % rate;
    debug_assert!(longest - common <= rate);
    let mut s = *state; // a copy that the optimiser can keep in registers
    let mut at = 0;
    while at < common {
        // SAFETY: every message has a whole step at `at`. In place, all of it is read before any of
        // it is written.
        unsafe {
            s.step(work, Lanes { src, dst, at });
        }
        at += rate;
    }
    if at < longest {
        let mut left = [0; MAX_LANES];
        for (left, len) in left.iter_mut().zip(lens) {
            *left = len.saturating_sub(at);
        }
        // SAFETY: every message has `left` bytes at `at`, at most a step. In place, all of the step
        // is read before any of it is written.
        unsafe {
            let input = gather_parts::<M>(src, at, &left);
            let mut message = input;
            if let Work::Crypt(direction) = work {
                let output = scatter_parts::<M>(s.add_keystream(input, false), dst, at, &left);
                if direction == Direction::Decrypt {
                    // The message padded with zeros is absorbed (DecPartial, §3.2.6).
                    message = output;
                }
            }
            s.absorb(message);
        }
    }
    *state = s;
}

/// The lanes of several messages.
#[derive(Clone, Copy)]
struct SideBySide<'a>(&'a Pointers);

impl<M: Batched> Input<M> for SideBySide<'_> {
    #[inline(always)]
    unsafe fn init(self) -> M {
        // SAFETY: the caller promises the CPU features and readable keys and nonces.
        unsafe {
            let (keys, nonces) = (fields!(self.0, key), fields!(self.0, nonce));
            let (mut key, mut nonce) = ([M::V::zero(); 2], [M::V::zero(); 2]);
            for i in 0..if M::RATE == 2 { 1 } else { 2 } {
                key[i] = M::V::gather(&keys, 16 * i);
                nonce[i] = M::V::gather(&nonces, 16 * i);
            }
            M::from_keys(key, nonce, M::V::zero())
        }
    }
    #[inline(always)]
    unsafe fn advance(self, state: &mut M, work: Work) {
        // SAFETY: the caller promises the CPU features and valid messages.
        unsafe {
            let dst = fields!(self.0, dst);
            match work {
                Work::Absorb => {
                    let (src, len) = (fields!(self.0, ad), fields!(self.0, ad_len));
                    advance_lanes::<M>(state, work, &src, &dst, &len);
                }
                Work::Crypt(_) => {
                    let (src, len) = (fields!(self.0, src), fields!(self.0, len));
                    advance_lanes::<M>(state, work, &src, &dst, &len);
                }
            }
        }
    }
    #[inline(always)]
    unsafe fn lengths(self, _: Operation) -> M::V {
        // SAFETY: the caller promises the CPU features and messages.
        unsafe {
            let mut lengths = [<M::V as Blocks>::Lane::zero(); MAX_LANES];
            for (lane, message) in lengths[..M::V::LANES].iter_mut().zip(self.0) {
                *lane = tag::lengths((**message).ad_len as u64, (**message).len as u64);
            }
            M::V::from_lanes(lengths)
        }
    }
}

#[inline(always)]
pub(crate) unsafe fn seal_batch<M: Batched>(messages: &Pointers) -> u32 {
    // SAFETY: the caller keeps the contract of `BatchKernels`.
    unsafe { run_batch::<M>(Operation::Seal, messages) }
}

#[inline(always)]
pub(crate) unsafe fn open_batch<M: Batched>(messages: &Pointers) -> u32 {
    // SAFETY: the caller keeps the contract of `BatchKernels`.
    unsafe { run_batch::<M>(Operation::Open, messages) }
}

/// Returns a bit for each message whose tag is wrong; for `Seal`, none.
///
/// # Safety
/// The CPU has the machine's features, and the messages are as `BatchKernels` requires.
#[inline(always)]
unsafe fn run_batch<M: Batched>(operation: Operation, messages: &Pointers) -> u32 {
    // SAFETY: the caller keeps the contract of `BatchKernels`.
    unsafe {
        let tag_len = (*messages[0]).tag_len;
        let (_, [first, second]) = run::<M>(operation, SideBySide(messages), tag_len);
        if operation == Operation::Seal {
            let tags = fields!(messages, tag);
            first.scatter(&tags, 0);
            if tag_len != 16 {
                second.scatter(&tags, 16);
            }
            return 0;
        }
        let tags = fields!(messages, tag.cast_const());
        let mut difference = first.xor(M::V::gather(&tags, 0));
        if tag_len != 16 {
            // One decision about both halves; see `tag::is_equal`.
            let second = second.xor(M::V::gather(&tags, 16));
            // `difference | second`
            difference = difference.xor(second).xor_and(difference, second);
        }
        let mut wrong = 0;
        for (i, difference) in difference.lanes()[..M::V::LANES].iter().enumerate() {
            wrong |= u32::from(!declassify(difference.is_zero())) << i;
        }
        wrong
    }
}
