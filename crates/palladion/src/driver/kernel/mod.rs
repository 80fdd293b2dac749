//! The bodies of the kernels: generic over the machine, and inlined into functions that are
//! compiled for a CPU's features (`features.rs`).
//!
//! A state of degree D is kept as D / LANES *groups*, each with the words of `LANES` lanes. Lanes
//! are independent until the tag, so a short message is processed group by group. For a long one,
//! the groups take turns over chunks that stay in the first-level cache (the "periodic
//! synchronisation" of the 2023 paper, §6).

use core::num::NonZeroUsize;

use super::kernels::Data;
use crate::block::{Aligned, Blocks, MAX_LANES, Vector};
use crate::machine::{Machine, Rows, Work};

mod batch;
mod message;
mod state;
mod tag;

pub(crate) use batch::{open_batch, seal_batch};
pub(crate) use message::{mac, open, seal};
pub(crate) use state::{advance, finalize, finalize_mac, init, keystream, resume, words};

/// The position of a group of lanes within each step: its blocks are adjacent in each of the step's
/// rows.
#[derive(Clone, Copy)]
struct Group {
    number: usize,
    degree: usize,
}

impl Group {
    /// The distance from one row of a step to the next, in bytes: one block per lane.
    #[inline(always)]
    fn row(self) -> usize {
        16 * self.degree
    }

    /// The offset of the group's blocks within a row, in bytes.
    #[inline(always)]
    fn column<M: Machine>(self) -> usize {
        16 * M::V::LANES * self.number
    }

    /// The rows of data, from an offset on.
    #[inline(always)]
    fn rows<M: Machine>(self, data: Data, at: usize) -> Rows {
        Rows { src: data.src, dst: data.dst, row: self.row() }.at(at + self.column::<M>())
    }

    /// The number of bytes in a step of all lanes. The type tells the compiler that it is not zero,
    /// so that divisions need no check.
    #[inline(always)]
    fn rate<M: Machine>(self) -> NonZeroUsize {
        NonZeroUsize::new(self.row() * M::RATE).unwrap_or(NonZeroUsize::MIN)
    }
}

/// Processes all of the data with one group, padding the last step with zeros.
///
/// # Safety
/// The CPU has the machine's features; the data is valid as [`Data`] says.
#[inline(always)]
unsafe fn advance_group<M: Machine>(state: &mut M, work: Work, data: Data, group: Group) {
    // SAFETY: the caller promises the CPU features and valid data.
    unsafe {
        state.run_steps(work, group.rows::<M>(data, 0), data.len / group.rate::<M>());
        advance_last(state, work, data, group);
    }
}

/// Processes the last step, if it is not whole.
///
/// # Safety
/// The CPU has the machine's features; the data is valid as [`Data`] says.
#[inline(always)]
unsafe fn advance_last<M: Machine>(state: &mut M, work: Work, data: Data, group: Group) {
    let left = data.len % group.rate::<M>();
    if left > 0 {
        // Zero if the group's blocks are past the end.
        let len = left.saturating_sub(group.column::<M>());
        // SAFETY: the caller promises the CPU features and valid data.
        unsafe { state.run_last_step(work, group.rows::<M>(data, data.len - left), len) }
    }
}

/// The number of bytes that one group processes before the next group continues. More on POWER,
/// where the state is loaded and stored for each chunk.
const CHUNK: usize = if cfg!(target_arch = "powerpc64") { 8192 } else { 4096 };

/// The longest data that a kernel of `groups` groups processes group by group. For longer data, the
/// groups take turns over chunks that stay in the first-level cache.
pub(super) const fn longest(groups: usize) -> usize {
    if groups == 1 { usize::MAX } else { 2 * CHUNK }
}

/// Processes the data with all groups, which take turns over chunks.
///
/// # Safety
/// The CPU has the machine's features; the data is valid as [`Data`] says.
#[inline(always)]
unsafe fn advance_groups<M: Machine>(groups: &mut [M], degree: usize, work: Work, data: Data) {
    let group = |number| Group { number, degree };
    let rate = group(0).rate::<M>();
    let (steps, chunk) = (data.len / rate, (CHUNK / rate).max(1));
    let mut done = 0;
    // SAFETY: the caller promises the CPU features and valid data, in which the steps lie.
    unsafe {
        while done < steps {
            let count = chunk.min(steps - done);
            for (number, state) in groups.iter_mut().enumerate() {
                let rows = group(number).rows::<M>(data, done * rate.get());
                advance_chunk(state, work, rows, count);
            }
            done += count;
        }
        for (number, state) in groups.iter_mut().enumerate() {
            advance_last(state, work, data, group(number));
        }
    }
}

/// [`Machine::run_steps`] for one group of several. It is a separate function for WebAssembly: V8
/// allocates registers badly in a function with several loops, which then takes twice as long.
///
/// # Safety
/// The same as there.
#[cfg_attr(target_family = "wasm", inline(never))]
#[cfg_attr(not(target_family = "wasm"), inline(always))]
unsafe fn advance_chunk<M: Machine>(state: &mut M, work: Work, rows: Rows, steps: usize) {
    // SAFETY: the caller promises the same.
    unsafe { state.run_steps(work, rows, steps) }
}

/// The context words of lanes 0 to 3, without the degree (§5.4.2).
static FIRST_CONTEXTS: Aligned<[[u8; 16]; MAX_LANES]> = {
    let mut contexts = [[0; 16]; MAX_LANES];
    let mut i = 0;
    while i < MAX_LANES {
        contexts[i][0] = i as u8;
        i += 1;
    }
    Aligned(contexts)
};

/// Returns the state of one group after initialization. `ctx` is null for the standard's context.
///
/// # Safety
/// The CPU has the machine's features; key and nonce are readable; `ctx` is null or readable.
#[inline(always)]
unsafe fn init_group<M: Machine>(
    group: Group,
    key: *const u8,
    nonce: *const u8,
    ctx: *const u8,
) -> M {
    // SAFETY: the caller promises the CPU features, a readable key and nonce, and a `ctx` that is
    // null or readable. `FIRST_CONTEXTS` is as wide as the widest vector.
    unsafe {
        let ctx = if !ctx.is_null() {
            M::V::splat(ctx)
        } else if group.degree == 1 {
            M::V::zero()
        } else {
            // ctx[i] = i || D - 1 || 0..0. The number of the group's first lane is a multiple of
            // `LANES`, a power of two, so adding 0 to `LANES - 1` is an XOR.
            let common = (M::V::LANES * group.number) as u64 | ((group.degree - 1) as u64) << 8;
            M::V::load(FIRST_CONTEXTS.0.as_ptr().cast()).xor(M::V::splat_words(common, 0))
        };
        M::init(key, nonce, ctx)
    }
}
