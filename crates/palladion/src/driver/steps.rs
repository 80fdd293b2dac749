//! Going over data step by step.

use core::num::NonZeroUsize;

use crate::block::Blocks;
use crate::machine::Machine;
use crate::memory::Direction;

/// What is done with data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Absorb associated data or the input of a MAC.
    Absorb,
    /// Encrypt or decrypt a message.
    Crypt(Direction),
}

/// Input and output: `len` bytes are readable at `src` and, unless they are only absorbed, writable
/// at `dst`. The two are equal or do not overlap.
#[derive(Clone, Copy)]
pub(crate) struct Data {
    pub(crate) src: *const u8,
    pub(crate) dst: *mut u8,
    pub(crate) len: usize,
}

/// Which part of each step belongs to a group of lanes: its blocks lie side by side in each of the
/// step's rows.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub(super) number: usize,
    pub(super) degree: usize,
}

impl Group {
    /// Bytes from one row of a step to the next: a block of each lane.
    #[inline(always)]
    pub(super) fn row(self) -> usize {
        16 * self.degree
    }

    /// Where the group's blocks begin within a row.
    #[inline(always)]
    pub(super) fn column<M: Machine>(self) -> usize {
        16 * M::V::LANES * self.number
    }
}

/// Bytes of one step of all lanes. The type tells the compiler that it is never zero, so that
/// divisions need no check.
#[inline(always)]
pub(super) fn rate<M: Machine>(degree: usize) -> NonZeroUsize {
    NonZeroUsize::new(16 * degree * M::BLOCKS).unwrap_or(NonZeroUsize::MIN)
}

/// Works on the last step, of which only the bytes of the data exist. The rest counts as zeros.
///
/// # Safety
/// The CPU features; the data as [`Data`] says.
#[inline(always)]
unsafe fn process_last_step<M: Machine>(
    state: &mut M,
    work: Work,
    data: Data,
    end: usize,
    group: Group,
) {
    let (at, row) = (end + group.column::<M>(), group.row());
    let left = data.len.saturating_sub(at); // nothing if the group's blocks lie behind the end
    let (src, dst) = (data.src.wrapping_add(at), data.dst.wrapping_add(at));
    // SAFETY: `left` bytes exist. In place, all of a step is read before any of it is written.
    unsafe {
        let input = M::load_partial(src, row, left);
        let mut message = input;
        if let Work::Crypt(direction) = work {
            let output = M::xor(input, state.keystream());
            M::store_partial(output, dst, row, left);
            if direction == Direction::Decrypt {
                // The message padded with zeros is absorbed (DecPartial, §3.2.6).
                message = M::truncate(output, row, left);
            }
        }
        state.absorb(message);
    }
}

/// Works on the whole step that begins at `at`.
///
/// # Safety
/// The CPU features; the step lies within the data.
#[inline(always)]
unsafe fn process_step<M: Machine>(state: &mut M, work: Work, data: Data, at: usize, row: usize) {
    // SAFETY: the caller promises the step. In place, all of it is read before any is written.
    unsafe {
        let input = M::load(data.src.add(at), row);
        if M::LARGE {
            let mut message = input;
            if let Work::Crypt(direction) = work {
                let output = M::xor(input, state.keystream());
                M::store(output, data.dst.add(at), row);
                if direction == Direction::Decrypt {
                    message = output;
                }
            }
            return state.absorb(message);
        }
        match work {
            Work::Absorb => state.absorb(input),
            Work::Crypt(Direction::Encrypt) => {
                M::store(state.encrypt(input), data.dst.add(at), row);
            }
            Work::Crypt(Direction::Decrypt) => {
                M::store(state.decrypt(input), data.dst.add(at), row);
            }
        }
    }
}

/// Works on the whole steps from `start` to `stop` with one group.
///
/// # Safety
/// The CPU features; the range lies within the data; both ends are multiples of the rate.
#[inline(always)]
unsafe fn process_steps<M: Machine>(
    state: &mut M,
    work: Work,
    data: Data,
    group: Group,
    (start, stop): (usize, usize),
) {
    let (row, rate) = (group.row(), rate::<M>(group.degree).get());
    let mut s = *state; // a copy that the optimiser can keep in registers
    let mut at = start;
    if M::TWO_AT_ONCE && work == Work::Absorb {
        while stop - at >= 2 * rate {
            let src = data.src.wrapping_add(at + group.column::<M>());
            // SAFETY: two whole steps begin at `at`, and the group's columns lie within them.
            unsafe { s.absorb_two(M::load(src, row), M::load(src.add(rate), row)) };
            at += 2 * rate;
        }
    }
    while at < stop {
        // SAFETY: a whole step begins at `at`, and the group's columns lie within it.
        unsafe { process_step(&mut s, work, data, at + group.column::<M>(), row) };
        at += rate;
    }
    *state = s;
}

/// [`process_steps`] for one group among several, whose state comes from memory. WebAssembly needs
/// a function of its own: V8 allocates registers so badly where a function has several loops that
/// it takes twice as long.
///
/// # Safety
/// As for [`process_steps`].
#[cfg_attr(target_family = "wasm", inline(never))]
#[cfg_attr(not(target_family = "wasm"), inline(always))]
unsafe fn process_chunk<M: Machine>(
    state: &mut M,
    work: Work,
    data: Data,
    group: Group,
    range: (usize, usize),
) {
    // SAFETY: the caller's promise.
    unsafe { process_steps(state, work, data, group, range) }
}

/// Works on all of the data with one group, padding the last step with zeros.
///
/// # Safety
/// The CPU features; the data as [`Data`] says.
#[inline(always)]
pub(super) unsafe fn process_group<M: Machine>(
    state: &mut M,
    work: Work,
    data: Data,
    group: Group,
) {
    let end = data.len - data.len % rate::<M>(group.degree);
    // SAFETY: whole steps up to `end`, then what is left of the data.
    unsafe {
        process_steps(state, work, data, group, (0, end));
        if end < data.len {
            process_last_step(state, work, data, end, group);
        }
    }
}

/// Bytes that one group works on before the next takes over.
pub(super) const CHUNK: usize = 4096;

/// Works on all of the data with all groups, which take turns over chunks.
///
/// # Safety
/// The CPU features; the data as [`Data`] says.
#[inline(always)]
pub(super) unsafe fn process_groups<M: Machine, const G: usize>(
    groups: &mut [M],
    degree: usize,
    work: Work,
    data: Data,
) {
    let group = |number| Group { number, degree };
    // SAFETY: the chunks are multiples of the rate and lie within the data.
    unsafe {
        if G == 1
            && let [state] = groups
        {
            return process_group(state, work, data, group(0));
        }
        let rate = rate::<M>(degree);
        let end = data.len - data.len % rate;
        let chunk = (CHUNK / rate).max(1) * rate.get();
        let mut start = 0;
        while start < end {
            let stop = start + chunk.min(end - start);
            for (number, state) in groups.iter_mut().enumerate() {
                process_chunk(state, work, data, group(number), (start, stop));
            }
            start = stop;
        }
        if end < data.len {
            for (number, state) in groups.iter_mut().enumerate() {
                process_last_step(state, work, data, end, group(number));
            }
        }
    }
}
