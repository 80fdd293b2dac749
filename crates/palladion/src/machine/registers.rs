//! The loop over steps, for machines whose state is in registers.

use super::{DECRYPT, ENCRYPT, Machine, Rows, Work};
use crate::block::{Blocks, Vector, each};
use crate::memory::Direction;

/// The input or output of a step: the vectors of each row.
pub(crate) trait Step: Copy {
    /// A row.
    type V: Blocks;
    /// The number of rows.
    const ROWS: usize;
    /// Loads a step whose rows are `row` bytes apart.
    ///
    /// # Safety
    /// The CPU has the features of `V`; each row is readable.
    unsafe fn load(src: *const u8, row: usize) -> Self;
    /// Stores a step whose rows are `row` bytes apart.
    ///
    /// # Safety
    /// Each row is writable.
    unsafe fn store(self, dst: *mut u8, row: usize);
    /// Loads a step of which only the first `len` bytes from `src` exist; the rest becomes zero.
    /// `len` may be zero or exceed a step.
    ///
    /// # Safety
    /// The CPU has the features of `V`; `len` bytes are readable.
    unsafe fn load_partial(src: *const u8, row: usize, len: usize) -> Self;
    /// Stores the bytes of a step that lie within the first `len` from `dst`.
    ///
    /// # Safety
    /// `len` bytes are writable.
    unsafe fn store_partial(self, dst: *mut u8, row: usize, len: usize);
    /// Keeps the first `len` bytes and zeroes the rest.
    fn truncate(self, row: usize, len: usize) -> Self;
    /// Returns a step of as many of two vectors as there are rows.
    fn of(blocks: [Self::V; 2]) -> Self;
    /// Returns the rows; if there is one, twice.
    fn rows(self) -> [Self::V; 2];
    /// Returns the step unchanged, but not before `earlier` is ready: see [`Vector::after`].
    #[inline(always)]
    fn after(self, earlier: Self) -> Self {
        let ([first, second], [_, last]) = (self.rows(), earlier.rows());
        Self::of([first.after(last), second])
    }
}

/// Returns how many of `len` bytes are in row `i`.
#[inline(always)]
fn part<V: Blocks>(i: usize, row: usize, len: usize) -> usize {
    len.saturating_sub(i * row).min(16 * V::LANES)
}

/// Parts of a step with little code, for whoever wipes the stack after a kernel.
#[cfg(palladion_kernels)]
mod through_buffer {
    use core::mem::MaybeUninit;

    use super::{Step, part};
    use crate::block::Blocks;
    use crate::block::partial::copy_in_loops;

    type Buffer = MaybeUninit<[u8; 128]>;

    /// Copies the first `len` bytes of a step from rows to rows that are so many bytes apart.
    ///
    /// # Safety
    /// These bytes are readable at `src` and writable at `dst`.
    #[inline(always)]
    unsafe fn copy<V: Blocks, const N: usize>(
        (src, src_row): (*const u8, usize),
        (dst, dst_row): (*mut u8, usize),
        len: usize,
    ) {
        let row = src_row.max(dst_row); // that of the data: in the buffer, rows are adjacent
        // SAFETY: the caller promises the bytes, of which each row gets its part; if it has none,
        // its address is not accessed.
        unsafe {
            if src_row == dst_row {
                copy_in_loops(src, dst, len.min(N * row));
            } else {
                for i in 0..N {
                    let (from, to) = (src.wrapping_add(i * src_row), dst.wrapping_add(i * dst_row));
                    copy_in_loops(from, to, part::<V>(i, row, len));
                }
            }
        }
    }

    /// [`Step::load_partial`]
    ///
    /// # Safety
    /// The same as there.
    #[inline(always)]
    pub(super) unsafe fn load<V: Blocks, const N: usize>(
        src: *const u8,
        row: usize,
        len: usize,
    ) -> [V; N] {
        let (mut buffer, width) = (Buffer::uninit(), 16 * V::LANES);
        let buffer = buffer.as_mut_ptr().cast::<u8>();
        // SAFETY: the caller promises the CPU features and readable bytes. The buffer fits a step.
        unsafe {
            <[V; N]>::of([V::zero(); 2]).store(buffer, width);
            copy::<V, N>((src, row), (buffer, width), len);
            <[V; N]>::load(buffer, width)
        }
    }

    /// [`Step::store_partial`]
    ///
    /// # Safety
    /// The same as there.
    #[inline(always)]
    pub(super) unsafe fn store<V: Blocks, const N: usize>(
        step: [V; N],
        dst: *mut u8,
        row: usize,
        len: usize,
    ) {
        let (mut buffer, width) = (Buffer::uninit(), 16 * V::LANES);
        let buffer = buffer.as_mut_ptr().cast::<u8>();
        // SAFETY: the caller promises the writable bytes. The buffer has room for a step.
        unsafe {
            step.store(buffer, width);
            copy::<V, N>((buffer, width), (dst, row), len);
        }
    }
}

impl<V: Blocks, const N: usize> Step for [V; N] {
    type V = V;
    const ROWS: usize = N;
    #[inline(always)]
    unsafe fn load(src: *const u8, row: usize) -> Self {
        // SAFETY: the caller promises the CPU features and readable rows.
        unsafe {
            let mut step = [V::load(src); N];
            if N == 2 {
                step[N - 1] = V::load(src.add(row));
            }
            step
        }
    }
    #[inline(always)]
    unsafe fn store(self, dst: *mut u8, row: usize) {
        // SAFETY: the caller promises writable rows.
        unsafe {
            self[0].store(dst);
            if N == 2 {
                self[N - 1].store(dst.add(row));
            }
        }
    }
    #[inline(always)]
    unsafe fn load_partial(src: *const u8, row: usize, len: usize) -> Self {
        #[cfg(palladion_kernels)]
        if !V::MASKS {
            // SAFETY: the caller promises the same.
            return unsafe { through_buffer::load(src, row, len) };
        }
        // SAFETY: the caller promises the CPU features and `len` readable bytes, of which each row
        // gets its part. If it has none, its address is not accessed.
        unsafe {
            let mut step = [V::load_partial(src, part::<V>(0, row, len)); N];
            if N == 2 {
                step[N - 1] = V::load_partial(src.wrapping_add(row), part::<V>(1, row, len));
            }
            step
        }
    }
    #[inline(always)]
    unsafe fn store_partial(self, dst: *mut u8, row: usize, len: usize) {
        #[cfg(palladion_kernels)]
        if !V::MASKS {
            // SAFETY: the caller promises the same.
            return unsafe { through_buffer::store(self, dst, row, len) };
        }
        // SAFETY: the caller promises `len` writable bytes, of which each row gets its part. If it
        // has none, its address is not accessed.
        unsafe {
            self[0].store_partial(dst, part::<V>(0, row, len));
            if N == 2 {
                self[N - 1].store_partial(dst.wrapping_add(row), part::<V>(1, row, len));
            }
        }
    }
    #[inline(always)]
    fn truncate(self, row: usize, len: usize) -> Self {
        let mut step = [self[0].truncate(part::<V>(0, row, len)); N];
        if N == 2 {
            step[N - 1] = self[N - 1].truncate(part::<V>(1, row, len));
        }
        step
    }
    #[inline(always)]
    fn of([first, second]: [V; 2]) -> Self {
        let mut step = [first; N];
        if N == 2 {
            step[N - 1] = second;
        }
        step
    }
    #[inline(always)]
    fn rows(self) -> [V; 2] {
        [self[0], self[N - 1]]
    }
}

/// Where the input of a step is, and where its output goes.
pub(crate) trait Place<S>: Copy {
    /// Loads the input.
    ///
    /// # Safety
    /// The CPU has the features of the step; it is readable.
    unsafe fn load(self) -> S;
    /// Returns the same place, whose input is loaded again. See [`Blocks::again`].
    #[inline(always)]
    fn again(self) -> Self {
        self
    }
    /// Stores the output.
    ///
    /// # Safety
    /// The step is writable.
    unsafe fn store(self, output: S);
}

impl<S: Step> Place<S> for Rows {
    #[inline(always)]
    unsafe fn load(self) -> S {
        // SAFETY: the caller promises the same.
        unsafe { S::load(self.src, self.row) }
    }
    #[inline(always)]
    fn again(self) -> Self {
        Self { src: S::V::again(self.src), ..self }
    }
    #[inline(always)]
    unsafe fn store(self, output: S) {
        // SAFETY: the caller promises the same.
        unsafe { output.store(self.dst, self.row) }
    }
}

/// The steps of a machine.
pub(crate) trait Steps: Machine {
    /// The input or output of a step.
    type Step: Step;
    /// Whether encryption and decryption share a loop.
    const ONE_LOOP: bool = false;
    /// Whether decryption takes two steps in a turn if encryption does.
    const DECRYPTS_TWO: bool = true;
    /// Whether a turn of two steps absorbs them at once.
    const OVERLAPS: bool = false;
    /// Absorbs a step.
    fn absorb(&mut self, m: Self::Step);
    /// Adds the key stream of the next step to `m`, without changing the state. `s1_last` is that
    /// of the order and makes no difference to the result.
    fn add_keystream(&self, m: Self::Step, s1_last: bool) -> Self::Step;
    /// Absorbs a step, or encrypts or decrypts it and absorbs the message. In place, all of a step
    /// is read before any of it is written.
    ///
    /// # Safety
    /// The step is readable and, unless it is only absorbed, writable.
    unsafe fn step(&mut self, work: Work, place: impl Place<Self::Step>);
    /// Absorbs two steps at once, if `OVERLAPS`.
    #[inline(always)]
    fn absorb_two(&mut self, m: Self::Step, n: Self::Step) {
        self.absorb(m);
        self.absorb(n);
    }
}

/// A machine whose lanes may belong to different messages.
///
/// # Safety
///
/// The same as for [`Machine`].
pub(crate) unsafe trait Batched: Steps<Step: Step<V = Self::V>> {
    /// Returns the state after initialisation with a key and a nonce for each lane. AEGIS-128 takes
    /// only the first of each two blocks.
    ///
    /// # Safety
    /// The CPU has the machine's features.
    unsafe fn from_keys(key: [Self::V; 2], nonce: [Self::V; 2], ctx: Self::V) -> Self;
}

/// [`Machine::run_steps`], with `TURN` steps in each turn of the loop. Returns how many it did: all
/// if a turn has one or two, otherwise whole turns.
///
/// # Safety
/// The same as there.
#[inline(always)]
pub(super) unsafe fn run_steps<S: Steps, const TURN: usize>(
    state: &mut S,
    work: Work,
    rows: Rows,
    steps: usize,
) -> usize {
    let (done, rate) = (if TURN > 2 { steps - steps % TURN } else { steps }, rows.row * S::RATE);
    let (mut at, stop) = (0, rate * done);
    let mut s = *state; // a copy that the optimiser can keep in registers
    macro_rules! run {
        ($work:expr) => {{
            while if const { TURN == 2 } { stop - at >= 2 * rate } else { at < stop } {
                if const { TURN == 2 && S::OVERLAPS } && $work == Work::Absorb {
                    s.absorb_two(rows.at(at).load(), rows.at(at + rate).load());
                } else {
                    each!(i < TURN: s.step($work, rows.at(at + i * rate)));
                }
                at += TURN * rate;
            }
            if const { TURN == 2 } && at < stop {
                s.step($work, rows.at(at));
            }
        }};
    }
    // SAFETY: the caller promises the steps.
    unsafe {
        match work {
            // One step needs no copies.
            Work::Absorb if const { TURN == 2 && !S::OVERLAPS } => {
                return run_steps::<S, 1>(state, work, rows, steps);
            }
            DECRYPT if const { TURN == 2 && !S::DECRYPTS_TWO } => {
                return run_steps::<S, 1>(state, DECRYPT, rows, steps);
            }
            Work::Absorb => run!(Work::Absorb),
            Work::Crypt(_) if S::ONE_LOOP => run!(work),
            ENCRYPT => run!(ENCRYPT),
            DECRYPT => run!(DECRYPT),
        }
    }
    *state = s;
    done
}

/// [`Machine::run_last_step`]
///
/// # Safety
/// The same as there.
#[inline(always)]
pub(super) unsafe fn run_last_step<S: Steps>(state: &mut S, work: Work, rows: Rows, len: usize) {
    // Two copies of the step, unless it is large. One for all kinds of work is slower.
    // SAFETY: the caller promises the same.
    unsafe {
        if work == Work::Absorb && !S::SPILLS {
            return state.absorb(crypt_last_step(state, Work::Absorb, rows, len));
        }
        state.absorb(crypt_last_step(state, work, rows, len));
    }
}

/// Does what [`run_last_step`] does before it absorbs. Returns the message, padded with zeros.
///
/// # Safety
/// The same as there.
#[inline(always)]
pub(super) unsafe fn crypt_last_step<S: Steps>(
    state: &S,
    work: Work,
    rows: Rows,
    len: usize,
) -> S::Step {
    let Rows { src, dst, row } = rows;
    // SAFETY: the caller promises the bytes. `state` exists, so the CPU has the features.
    unsafe {
        let input = S::Step::load_partial(src, row, len);
        let Work::Crypt(direction) = work else { return input };
        let output = state.add_keystream(input, false);
        output.store_partial(dst, row, len);
        match direction {
            Direction::Encrypt => input,
            // (DecPartial, §3.2.6)
            Direction::Decrypt => output.truncate(row, len),
        }
    }
}

/// [`Machine::keystream`]
///
/// # Safety
/// The same as there.
#[inline(always)]
pub(super) unsafe fn keystream<S: Steps>(state: &S, dst: *mut u8, row: usize) {
    // SAFETY: the caller promises a writable step. `state` exists, so the CPU has the features.
    unsafe {
        let zero = <S::Step as Step>::V::zero();
        state.add_keystream(S::Step::of([zero; 2]), false).store(dst, row);
    }
}
