//! Kernels for a state in memory. `G` is the number of groups, or 0 if it is known only at run
//! time. Inlining turns whatever follows from `G` into constants in the loops. The contracts are
//! those of `StateKernels`.

use super::{Group, advance_group, advance_groups, init_group, tag};
use crate::block::Blocks;
use crate::driver::kernels::Data;
use crate::machine::{Machine, Work};

/// Returns the degree, as a constant if `G` is known.
#[inline(always)]
fn constant_degree<M: Machine, const G: usize>(degree: usize) -> usize {
    debug_assert!(if G == 0 {
        degree.is_multiple_of(M::V::LANES)
    } else {
        degree == G * M::V::LANES
    });
    if G == 0 { degree } else { G * M::V::LANES }
}

/// Returns the number of groups. If there are several, the code for each is the same for Go, which
/// should have little.
#[inline(always)]
fn count_groups<M: Machine>(degree: usize) -> usize {
    let count = degree / M::V::LANES;
    #[cfg(palladion_kernels)]
    if count > 1 {
        return crate::memory::hidden(count);
    }
    count
}

/// Returns the groups of a state.
///
/// # Safety
/// `state` is exclusive, aligned memory for `degree` lanes, written by `init` with the same
/// machine.
#[inline(always)]
unsafe fn groups<'a, M: Machine>(state: *mut u8, degree: usize) -> &'a mut [M] {
    // SAFETY: the caller promises this memory; a group has `LANES` lanes.
    unsafe { core::slice::from_raw_parts_mut(state.cast(), count_groups::<M>(degree)) }
}

/// Zeroes the groups of a state: in the kernel, because it has the widest stores.
///
/// # Safety
/// `state` is exclusive memory for `degree` lanes.
#[inline(always)]
unsafe fn wipe_groups<M: Machine>(state: *mut u8, degree: usize) {
    // SAFETY: the caller promises this memory; a group has `LANES` lanes.
    unsafe { state.cast::<M>().write_bytes(0, degree / M::V::LANES) };
}

#[inline(always)]
pub(crate) unsafe fn init<M: Machine, const G: usize>(
    state: *mut u8,
    degree: usize,
    key: *const u8,
    nonce: *const u8,
    ctx: *const u8,
) {
    let degree = constant_degree::<M, G>(degree);
    for number in 0..count_groups::<M>(degree) {
        let group = Group { number, degree };
        // SAFETY: the caller keeps the contract of `StateKernels`.
        unsafe { state.cast::<M>().add(number).write(init_group(group, key, nonce, ctx)) };
    }
}

#[inline(always)]
pub(crate) unsafe fn advance<M: Machine, const G: usize>(
    state: *mut u8,
    degree: usize,
    work: Work,
    data: &Data,
) {
    let degree = constant_degree::<M, G>(degree);
    // SAFETY: the caller keeps the contract of `StateKernels`.
    unsafe {
        let groups = groups::<M>(state, degree);
        if G == 1
            && let [state] = groups
        {
            return advance_group(state, work, *data, Group { number: 0, degree });
        }
        advance_groups(groups, degree, work, *data);
    }
}

#[inline(always)]
pub(crate) unsafe fn keystream<M: Machine, const G: usize>(
    state: *const u8,
    degree: usize,
    dst: *mut u8,
) {
    let degree = constant_degree::<M, G>(degree);
    for number in 0..degree / M::V::LANES {
        let group = Group { number, degree };
        // SAFETY: the caller keeps the contract of `StateKernels`.
        unsafe {
            let s = state.cast::<M>().add(number).read();
            s.keystream(dst.add(group.column::<M>()), group.row());
        }
    }
}

#[inline(always)]
pub(crate) unsafe fn finalize<M: Machine, const G: usize>(
    state: *mut u8,
    degree: usize,
    ad_len: u64,
    msg_len: u64,
    tag: *mut u8,
    tag_len: usize,
) {
    let degree = constant_degree::<M, G>(degree);
    // SAFETY: the caller keeps the contract of `StateKernels`.
    unsafe {
        #[cfg(not(palladion_kernels))]
        let lengths = tag::lengths::<M::V>(ad_len, msg_len);
        #[cfg(palladion_kernels)] // in bits: see dispatch/exported.rs
        let lengths = M::V::splat_words(ad_len, msg_len);
        let mut sum = [M::V::zero(); 2];
        for s in groups::<M>(state, degree) {
            sum = tag::add(sum, s.finish(lengths, tag_len));
        }
        tag::write(sum, tag, tag_len);
    }
}

#[inline(always)]
pub(crate) unsafe fn finalize_mac<M: Machine, const G: usize>(
    state: *mut u8,
    degree: usize,
    data_len: u64,
    tag: *mut u8,
    tag_len: usize,
) {
    let degree = constant_degree::<M, G>(degree);
    // SAFETY: the caller keeps the contract of `StateKernels`.
    unsafe {
        let lengths = tag::lengths::<M::V>(data_len, tag_len as u64);
        let group = |number| state.cast::<M>().add(number);
        // The tags of a group take the place of its words, where they fit and are aligned.
        const { assert!(size_of::<M>() >= size_of::<[M::V; 2]>()) };
        const { assert!(size_of::<M>().is_multiple_of(align_of::<M::V>())) };
        let tags = |number| group(number).cast::<[M::V; 2]>();
        // The first group comes first, because the MAC continues with it: its rounds need not wait
        // for the others. The value here is replaced.
        let mut first = group(0).read();
        for number in 0..degree / M::V::LANES {
            let mut s = group(number).read(); // a copy that the optimiser can keep in registers
            tags(number).write(s.finish(lengths, tag_len));
            if number == 0 {
                first = s;
            }
        }
        tag::write_mac(&first, |number| tags(number).read(), degree, tag, tag_len);
        wipe_groups::<M>(state, degree);
    }
}

#[inline(always)]
pub(crate) unsafe fn words<M: Machine, const G: usize>(
    state: *const u8,
    degree: usize,
    dst: *mut u8,
) {
    let degree = constant_degree::<M, G>(degree);
    for number in 0..degree / M::V::LANES {
        let group = Group { number, degree };
        // SAFETY: the caller keeps the contract of `StateKernels`.
        unsafe {
            let words = state.cast::<M>().add(number).read().words();
            for (i, word) in words[..count::<M>()].iter().enumerate() {
                word.store(dst.add(group.column::<M>() + i * group.row()));
            }
        }
    }
}

#[inline(always)]
pub(crate) unsafe fn resume<M: Machine, const G: usize>(
    state: *mut u8,
    degree: usize,
    src: *const u8,
) {
    let degree = constant_degree::<M, G>(degree);
    for number in 0..degree / M::V::LANES {
        let group = Group { number, degree };
        // SAFETY: the caller keeps the contract of `StateKernels`.
        unsafe {
            let mut words = [M::V::zero(); 8];
            for (i, word) in words[..count::<M>()].iter_mut().enumerate() {
                *word = M::V::load(src.add(group.column::<M>() + i * group.row()));
            }
            state.cast::<M>().add(number).write(M::from_words(words));
        }
    }
}

/// Returns the number of words in a state.
#[inline(always)]
fn count<M: Machine>() -> usize {
    if M::RATE == 2 { 8 } else { 6 }
}
