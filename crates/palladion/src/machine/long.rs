//! Machines that process long data in another form of the state.

use core::marker::PhantomData;

use super::registers::{self, Steps};
use super::{Machine, Rows, Work};

/// When a machine processes data in another form of the state, and in what loop.
pub(crate) trait LongLoop: Copy {
    /// Tells whether so many steps gain more than it costs to convert the state there and back.
    fn pays(work: Work, steps: usize) -> bool;
    /// Processes steps in the other form, and returns how many. The others are left.
    ///
    /// # Safety
    /// So many steps are readable and, unless they are only absorbed, writable.
    unsafe fn run_steps<L: Steps>(state: &mut L, work: Work, rows: Rows, steps: usize) -> usize;
}

/// Data that is only absorbed, if it has at least `MANY` steps.
#[derive(Clone, Copy)]
pub(crate) struct Absorbing<const MANY: usize>;

impl<const MANY: usize> LongLoop for Absorbing<MANY> {
    #[inline(always)]
    fn pays(work: Work, steps: usize) -> bool {
        work == Work::Absorb && steps >= MANY
    }
    #[inline(always)]
    unsafe fn run_steps<L: Steps>(state: &mut L, _: Work, rows: Rows, steps: usize) -> usize {
        // SAFETY: the caller promises the same.
        unsafe { state.run_steps(Work::Absorb, rows, steps) };
        steps
    }
}

/// All work, with `TURN` steps in a turn of the loop: as many as the state has words, because words
/// change registers from step to step, and are back in theirs after as many.
#[derive(Clone, Copy)]
pub(crate) struct Turns<const TURN: usize>;

impl<const TURN: usize> LongLoop for Turns<TURN> {
    #[inline(always)]
    fn pays(_: Work, steps: usize) -> bool {
        steps >= TURN
    }
    #[inline(always)]
    unsafe fn run_steps<L: Steps>(state: &mut L, work: Work, rows: Rows, steps: usize) -> usize {
        // SAFETY: the caller promises the same.
        unsafe { registers::run_steps::<L, TURN>(state, work, rows, steps) }
    }
}

/// [`Turns`], but for data that is only absorbed: where that is short as a rule, and code counts.
#[cfg(palladion_kernels)]
#[derive(Clone, Copy)]
pub(crate) struct Crypting<const TURN: usize>;

#[cfg(palladion_kernels)]
impl<const TURN: usize> LongLoop for Crypting<TURN> {
    #[inline(always)]
    fn pays(work: Work, steps: usize) -> bool {
        work != Work::Absorb && Turns::<TURN>::pays(work, steps)
    }
    #[inline(always)]
    unsafe fn run_steps<L: Steps>(state: &mut L, work: Work, rows: Rows, steps: usize) -> usize {
        // SAFETY: the caller promises the same.
        unsafe { Turns::<TURN>::run_steps(state, work, rows, steps) }
    }
}

/// The machine `M`, which processes long data as the machine `L` when `T` says so.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Long<M, L, T>(M, PhantomData<(L, T)>);

impl<M, L, T> Long<M, L, T> {
    #[inline(always)]
    fn new(machine: M) -> Self {
        Self(machine, PhantomData)
    }
}

// SAFETY: transparent over `M`, which has the properties required.
unsafe impl<M, L, T> Machine for Long<M, L, T>
where
    M: Machine,
    L: Steps<V = M::V>,
    T: LongLoop,
{
    type V = M::V;
    type Lane = M::Lane;
    const RATE: usize = M::RATE;
    const SPILLS: bool = M::SPILLS;

    #[inline(always)]
    unsafe fn run_steps(&mut self, work: Work, mut rows: Rows, mut steps: usize) {
        let mut s = self.0; // a copy that the optimiser can keep in registers
        // SAFETY: the caller promises the steps. `self` exists, so the CPU has the features.
        unsafe {
            if T::pays(work, steps) {
                let mut other = L::from_words(s.words());
                let done = T::run_steps(&mut other, work, rows, steps);
                s = M::from_words(other.words());
                (rows, steps) = (rows.at(rows.row * M::RATE * done), steps - done);
            }
            s.run_steps(work, rows, steps);
        }
        self.0 = s;
    }

    // The rest is that of `M`.

    #[inline(always)]
    unsafe fn init(key: *const u8, nonce: *const u8, ctx: M::V) -> Self {
        // SAFETY: the caller promises the same.
        Self::new(unsafe { M::init(key, nonce, ctx) })
    }
    #[inline(always)]
    unsafe fn run_last_step(&mut self, work: Work, rows: Rows, len: usize) {
        // SAFETY: the caller promises the same.
        unsafe { self.0.run_last_step(work, rows, len) }
    }
    #[inline(always)]
    fn absorb_blocks(&mut self, blocks: [M::V; 2]) {
        self.0.absorb_blocks(blocks);
    }
    #[inline(always)]
    unsafe fn keystream(&self, dst: *mut u8, row: usize) {
        // SAFETY: the caller promises the same.
        unsafe { self.0.keystream(dst, row) }
    }
    #[inline(always)]
    fn finish(&mut self, lengths: M::V, tag_len: usize) -> [M::V; 2] {
        self.0.finish(lengths, tag_len)
    }
    #[inline(always)]
    fn words(&self) -> [M::V; 8] {
        self.0.words()
    }
    #[inline(always)]
    unsafe fn from_words(words: [M::V; 8]) -> Self {
        // SAFETY: the caller promises the same.
        Self::new(unsafe { M::from_words(words) })
    }
}
