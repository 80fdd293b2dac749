//! The loop over the steps of some data.

use core::mem::MaybeUninit;
use core::num::NonZeroUsize;
use core::{ptr, slice};

use crate::block::{Blocks, MAX_LANES};
use crate::machine::Machine;
use crate::memory::{Direction, wipe};

/// What to do with data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Absorb associated data or the input of a MAC.
    Absorb,
    /// Encrypt or decrypt a message.
    Crypt(Direction),
}

impl Work {
    /// Returns the direction of encryption or decryption.
    #[inline(always)]
    fn direction(self) -> Option<Direction> {
        match self {
            Self::Absorb => None,
            Self::Crypt(direction) => Some(direction),
        }
    }
}

/// Input and output: `len` bytes are readable at `src` and, unless they are only absorbed, writable
/// at `dst`. The two are equal or do not overlap.
#[derive(Clone, Copy)]
pub(crate) struct Data {
    pub(crate) src: *const u8,
    pub(crate) dst: *mut u8,
    pub(crate) len: usize,
}

/// The position of a group of lanes within each step: its blocks are adjacent in each of the step's
/// rows.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub(super) number: usize,
    pub(super) degree: usize,
}

impl Group {
    /// The distance from one row of a step to the next, in bytes: one block per lane.
    #[inline(always)]
    pub(super) fn row(self) -> usize {
        16 * self.degree
    }

    /// The offset of the group's blocks within a row, in bytes.
    #[inline(always)]
    pub(super) fn column<M: Machine>(self) -> usize {
        16 * M::V::LANES * self.number
    }
}

/// Returns the number of bytes in one step of all lanes. The type tells the compiler that it is not
/// zero, so that divisions need no check.
#[inline(always)]
pub(super) fn rate<M: Machine>(degree: usize) -> NonZeroUsize {
    NonZeroUsize::new(16 * degree * M::BLOCKS).unwrap_or(NonZeroUsize::MIN)
}

/// Processes the step that starts at `at`: a whole one, or the last, whose missing bytes count as
/// zeros.
///
/// # Safety
/// The CPU has the machine's features; the data is valid as [`Data`] says; all of a whole step lies
/// within the data.
#[inline(always)]
unsafe fn process_step<M: Machine>(
    state: &mut M,
    work: Work,
    data: Data,
    at: usize,
    group: Group,
    whole: bool,
) {
    let (at, row) = (at + group.column::<M>(), group.row());
    let left = data.len.saturating_sub(at); // zero if the group's blocks are past the end
    let (src, dst) = (data.src.wrapping_add(at), data.dst.wrapping_add(at));
    // SAFETY: the caller promises the CPU features, and that a whole step, or `left` bytes at `at`,
    // lie within the data. In place, all of the step is read before any of it is written.
    unsafe {
        if let Work::Crypt(direction) = work
            && whole
            && !M::LARGE
        {
            let output = match direction {
                Direction::Encrypt => state.encrypt_at(src, row),
                Direction::Decrypt => state.decrypt_at(src, row),
            };
            return M::store(output, dst, row);
        }
        state.process_one(work.direction(), src, dst, row, left, whole);
    }
}

/// Returns the end of the data that [`process_steps`] accepts: of the whole steps or, if one copy
/// of a step serves for all, of all data.
#[inline(always)]
fn end_of_steps<M: Machine>(data: Data, degree: usize) -> usize {
    if M::LARGE && !M::IN_MEMORY { data.len } else { data.len - data.len % rate::<M>(degree) }
}

/// Processes `UNROLL` whole steps, at most eight, of which the first starts at `at`.
///
/// # Safety
/// The CPU has the machine's features; the steps lie within the data.
#[inline(always)]
unsafe fn process_turn<M: Machine>(state: &mut M, work: Work, data: Data, at: usize, group: Group) {
    const { assert!(M::UNROLL <= 8) };
    #[inline(always)]
    unsafe fn step<M: Machine, const I: usize>(
        state: &mut M,
        work: Work,
        data: Data,
        at: usize,
        group: Group,
    ) {
        if I < M::UNROLL {
            let at = at + I * rate::<M>(group.degree).get();
            // SAFETY: the caller promises whole steps within the data.
            unsafe { process_step(state, work, data, at, group, true) }
        }
    }
    // Not a loop: the compiler would not unroll it.
    // SAFETY: the caller promises whole steps within the data.
    unsafe {
        step::<M, 0>(state, work, data, at, group);
        step::<M, 1>(state, work, data, at, group);
        step::<M, 2>(state, work, data, at, group);
        step::<M, 3>(state, work, data, at, group);
        step::<M, 4>(state, work, data, at, group);
        step::<M, 5>(state, work, data, at, group);
        step::<M, 6>(state, work, data, at, group);
        step::<M, 7>(state, work, data, at, group);
    }
}

/// Processes the steps from `start` to `stop` with one group.
///
/// # Safety
/// The CPU has the machine's features; the range lies within the data and ends at or before
/// [`end_of_steps`]; `start` and, except at the end, `stop` are multiples of the rate.
#[inline(always)]
unsafe fn process_steps<M: Machine>(
    state: &mut M,
    work: Work,
    data: Data,
    group: Group,
    (start, stop): (usize, usize),
) {
    let (row, rate) = (group.row(), rate::<M>(group.degree).get());
    if M::IN_MEMORY {
        let first = start + group.column::<M>();
        let (src, dst) = (data.src.wrapping_add(first), data.dst.wrapping_add(first));
        // SAFETY: these are whole steps, and the group's columns lie within them.
        return unsafe {
            state.process_all(work.direction(), src, dst, row, (stop - start) / rate)
        };
    }
    let mut s = *state; // a copy that the optimiser can keep in registers
    let mut at = start;
    if work == Work::Absorb && row == 16 {
        let src = data.src.wrapping_add(at);
        // SAFETY: these are whole steps, which follow each other if there is only one lane.
        at += rate * unsafe { s.absorb_many(src, (stop - at) / rate) };
    }
    if M::TWO_AT_ONCE && work == Work::Absorb {
        while stop - at >= 2 * rate {
            let src = data.src.wrapping_add(at + group.column::<M>());
            // SAFETY: two whole steps start at `at`, and the group's columns lie within them.
            unsafe { s.absorb_two(M::load(src, row), M::load(src.add(rate), row)) };
            at += 2 * rate;
        }
    }
    if M::Running::UNROLL > 1 && stop - at >= M::Running::UNROLL * rate {
        let mut running = s.running();
        while stop - at >= M::Running::UNROLL * rate {
            // SAFETY: `UNROLL` whole steps start at `at`.
            unsafe { process_turn(&mut running, work, data, at, group) };
            at += M::Running::UNROLL * rate;
        }
        s = M::resting(running);
    }
    while at < stop {
        // Large steps are compiled once, for whole ones and the last.
        let whole = !M::LARGE || data.len - at >= rate;
        // SAFETY: the caller promises valid data; steps are whole unless fewer bytes are left.
        unsafe { process_step(&mut s, work, data, at, group, whole) };
        at += rate;
    }
    *state = s;
}

/// Like [`process_steps`], for one group of several, whose state comes from memory. It is a
/// separate function for WebAssembly: V8 allocates registers badly in a function with several
/// loops, which then takes twice as long.
///
/// # Safety
/// The same as for [`process_steps`].
#[cfg_attr(target_family = "wasm", inline(never))]
#[cfg_attr(not(target_family = "wasm"), inline(always))]
unsafe fn process_chunk<M: Machine>(
    state: &mut M,
    work: Work,
    data: Data,
    group: Group,
    range: (usize, usize),
) {
    // SAFETY: the caller promises what `process_steps` requires.
    unsafe { process_steps(state, work, data, group, range) }
}

/// Processes all of the data with one group, padding the last step with zeros.
///
/// # Safety
/// The CPU has the machine's features; the data is valid as [`Data`] says.
#[inline(always)]
pub(super) unsafe fn process_group<M: Machine>(
    state: &mut M,
    work: Work,
    data: Data,
    group: Group,
) {
    let end = end_of_steps::<M>(data, group.degree);
    // SAFETY: the caller promises the CPU features and valid data.
    unsafe {
        process_steps(state, work, data, group, (0, end));
        process_last_step(state, work, data, group);
    }
}

/// Processes what [`process_steps`] leaves, if anything: the last step, padded with zeros.
///
/// # Safety
/// The CPU has the machine's features; the data is valid as [`Data`] says.
#[inline(always)]
pub(super) unsafe fn process_last_step<M: Machine>(
    state: &mut M,
    work: Work,
    data: Data,
    group: Group,
) {
    let end = end_of_steps::<M>(data, group.degree);
    if end < data.len {
        // SAFETY: the caller promises the CPU features and valid data.
        unsafe {
            if M::IN_MEMORY && !M::LARGE {
                process_padded(state, work, data.src, data.dst, data.len, group);
            } else {
                process_step(state, work, data, end, group, false);
            }
        }
    }
}

/// Processes the last step in a buffer, as a whole one, for a machine whose state stays in memory.
/// Not inlined, because a kernel with this code saves many registers.
///
/// # Safety
/// The CPU has the machine's features; the data is valid as [`Data`] says.
#[inline(never)]
unsafe fn process_padded<M: Machine>(
    state: &mut M,
    work: Work,
    src: *const u8, // not `Data`, which would be stored for every message
    dst: *mut u8,
    len: usize,
    group: Group,
) {
    let size = 16 * M::V::LANES;
    let first = len - len % rate::<M>(group.degree) + group.column::<M>();
    let mut buffer = [const { MaybeUninit::<[u8; 16 * MAX_LANES]>::uninit() }; 2];
    let buffer = buffer.as_mut_ptr().cast::<u8>();
    // The bytes of each vector that exist: their number, and where they are in data and buffer.
    let parts = [0, 1].map(|i| {
        let at = first + i * group.row();
        (len.saturating_sub(at).min(size), at, i * size)
    });
    let parts = &parts[..M::BLOCKS];
    // SAFETY: the caller promises the CPU features and valid data, in which all parts lie. The
    // buffer has room for the step of a machine.
    unsafe {
        buffer.write_bytes(0, M::BLOCKS * size);
        for &(len, at, to) in parts.iter().filter(|part| part.0 > 0) {
            ptr::copy_nonoverlapping(src.wrapping_add(at), buffer.add(to), len);
        }
        let wipe = || wipe(slice::from_raw_parts_mut(buffer, M::BLOCKS * size));
        let Work::Crypt(direction) = work else {
            state.process_all(None, buffer, buffer, size, 1);
            return wipe();
        };
        state.process_all(Some(direction), buffer, buffer, size, 1);
        for &(len, at, from) in parts.iter().filter(|part| part.0 > 0) {
            ptr::copy_nonoverlapping(buffer.add(from), dst.wrapping_add(at), len);
        }
        if direction == Direction::Decrypt {
            // The message padded with zeros is absorbed (DecPartial, §3.2.6), but the padding was
            // decrypted too.
            for (i, &(len, _, from)) in parts.iter().enumerate() {
                buffer.add(from).write_bytes(0, len);
                state.add_to_last(i, M::V::load(buffer.add(from)));
            }
        }
        wipe();
    }
}

/// The number of bytes that one group processes before the next group continues. More on POWER,
/// where the state is loaded and stored for each chunk.
pub(super) const CHUNK: usize = if cfg!(target_arch = "powerpc64") { 8192 } else { 4096 };

/// Processes the data with all groups, which take turns over chunks. A single group leaves the last
/// step to the caller, so that one copy of it serves for all kinds of work.
///
/// # Safety
/// The CPU has the machine's features; the data is valid as [`Data`] says.
#[inline(always)]
pub(super) unsafe fn process_groups<M: Machine, const G: usize>(
    groups: &mut [M],
    degree: usize,
    work: Work,
    data: Data,
) {
    let group = |number| Group { number, degree };
    let end = end_of_steps::<M>(data, degree);
    // SAFETY: the caller promises the CPU features and valid data. Chunks are multiples of the rate
    // and lie within the data.
    unsafe {
        if G == 1
            && let [state] = groups
        {
            return process_steps(state, work, data, group(0), (0, end));
        }
        let rate = rate::<M>(degree);
        let chunk = (CHUNK / rate).max(1) * rate.get();
        let mut start = 0;
        while start < end {
            let stop = start + chunk.min(end - start);
            for (number, state) in groups.iter_mut().enumerate() {
                process_chunk(state, work, data, group(number), (start, stop));
            }
            start = stop;
        }
        for (number, state) in groups.iter_mut().enumerate() {
            process_last_step(state, work, data, group(number));
        }
    }
}
