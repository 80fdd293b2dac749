//! Byte shuffles on a state in memory, for V8 (in Node 20). It starts all independent operations of
//! a block early, and would run out of registers. It moves none of them past a store that a later
//! load of a word waits for.

use core::mem::MaybeUninit;

use super::permute::{Permute, Permuted};
use crate::block::{Vector, Word};
use crate::machine::memory::Loops;
use crate::machine::{Rows, Work};
use crate::memory::Direction;

// SAFETY: the operations are those of `Permuted`.
unsafe impl<B: Permute, const N: usize> Loops<N> for Permuted<B>
where
    B::Lane: Permute<Lane = B::Lane>,
{
    type Blocks = B;
    type Single = Permuted<B::Lane>;

    #[inline(always)]
    fn new(blocks: B) -> Self {
        Word::new(blocks)
    }
    #[inline(always)]
    fn blocks(self) -> B {
        Word::blocks(self)
    }
    #[inline(always)]
    fn mix(state: &mut [Self; N], input: [Self; 4], ctx: Option<Self>, steps: usize) {
        let mut slots = Slots::new();
        let mut input = input;
        slots.enter(state);
        for _ in 0..steps {
            if let Some(ctx) = ctx {
                slots.set(3, slots.get(3).xor(ctx));
                slots.set(N - 1, slots.get(N - 1).xor(ctx));
            }
            slots.update([input[0], input[1]]);
            if N == 6 {
                input = [input[1], input[2], input[3], input[0]];
            }
        }
        slots.leave(state);
    }
    #[inline(always)]
    unsafe fn run_steps(state: &mut [Self; N], work: Work, rows: Rows, steps: usize) {
        let two = N == 8; // blocks in a step
        let Rows { mut src, mut dst, row } = rows;
        let mut slots = Slots::new();
        slots.enter(state);
        for _ in 0..steps {
            // SAFETY: the caller promises readable and writable steps. `state` exists, so the CPU
            // has the instructions.
            unsafe {
                let mut m = [B::load(src), if two { B::load(src.add(row)) } else { B::zero() }];
                if let Work::Crypt(direction) = work {
                    let output = slots.add_keystream(m);
                    output[0].store(dst);
                    if two {
                        output[1].store(dst.add(row));
                    }
                    if direction == Direction::Decrypt {
                        m = output;
                    }
                }
                slots
                    .update([Word::new(m[0]), if two { Word::new(m[1]) } else { Word::new(m[0]) }]);
            }
            src = src.wrapping_add(if two { 2 * row } else { row });
            dst = dst.wrapping_add(if two { 2 * row } else { row });
        }
        slots.leave(state);
    }
}

/// A state in memory: 8 words of AEGIS-128 or 6 of AEGIS-256. All accesses are volatile, so the
/// compiler keeps their order, and with it that of the rounds: two of them, then two stores. The
/// registers are left for the tables.
struct Slots<B, const N: usize>([MaybeUninit<Permuted<B>>; N]);

impl<B: Permute, const N: usize> Slots<B, N>
where
    B::Lane: Permute<Lane = B::Lane>,
{
    #[inline(always)]
    fn new() -> Self {
        const { assert!(N == 8 || N == 6) };
        Self([const { MaybeUninit::uninit() }; N])
    }
    /// Returns word `i`, after `enter`.
    #[inline(always)]
    fn get(&self, i: usize) -> Permuted<B> {
        // SAFETY: a reference is readable, and `enter` wrote all words.
        unsafe { (&raw const self.0[i]).cast::<Permuted<B>>().read_volatile() }
    }
    #[inline(always)]
    fn set(&mut self, i: usize, word: Permuted<B>) {
        // SAFETY: a reference is writable.
        unsafe { (&raw mut self.0[i]).write_volatile(MaybeUninit::new(word)) };
    }
    /// Writes all words.
    #[inline(always)]
    fn enter(&mut self, state: &[Permuted<B>; N]) {
        Self::each(|i| self.set(i, state[i]));
    }
    /// Returns all words and wipes the memory.
    #[inline(always)]
    fn leave(&mut self, state: &mut [Permuted<B>; N]) {
        // SAFETY: a word exists, so the CPU has the instructions.
        let zero = Word::new(unsafe { B::zero() });
        Self::each(|i| {
            state[i] = self.get(i);
            self.set(i, zero);
        });
    }
    /// Calls a function with the number of each word. Not a loop: for numbers that it does not
    /// know, the compiler would copy the state to another array, where it would stay.
    #[inline(always)]
    fn each(mut f: impl FnMut(usize)) {
        f(0);
        f(1);
        f(2);
        f(3);
        f(4);
        f(5);
        if N == 8 {
            f(6);
            f(7);
        }
    }

    /// Update(M0, M1), or Update(M0) of AEGIS-256.
    #[inline(always)]
    fn update(&mut self, m: [Permuted<B>; 2]) {
        let last = self.get(N - 1);
        if N == 8 {
            let (s5, s6) = (self.get(5), self.get(6));
            let (s7, s6) = (s6.aes(last), s5.aes(s6));
            self.set(7, s7);
            self.set(6, s6);
        }
        let (s3, s4, s5) = (self.get(3), self.get(4), if N == 8 { self.get(5) } else { last });
        let (s5, s4) = (s4.aes(s5), s3.aes(s4));
        self.set(5, s5);
        self.set(4, if N == 8 { s4.xor(m[1]) } else { s4 });
        let (s1, s2, s3) = (self.get(1), self.get(2), self.get(3));
        let (s3, s2) = (s2.aes(s3), s1.aes(s2));
        self.set(3, s3);
        self.set(2, s2);
        let (s0, s1) = (self.get(0), self.get(1));
        let (s1, s0) = (s0.aes(s1), last.aes(s0));
        self.set(1, s1);
        self.set(0, s0.xor(m[0]));
    }

    /// Adds the key stream to a step; with one block, the second is meaningless.
    #[inline(always)]
    fn add_keystream(&self, m: [B; 2]) -> [B; 2] {
        let (s2, s3) = (Word::blocks(self.get(2)), Word::blocks(self.get(3)));
        if N == 6 {
            let sum = self.get(1).xor(self.get(4)).xor(self.get(5));
            return [m[0].xor(Word::blocks(sum)).xor_and(s2, s3), m[1]];
        }
        let (s1, s5) = (Word::blocks(self.get(1)), Word::blocks(self.get(5)));
        let (s6, s7) = (Word::blocks(self.get(6)), Word::blocks(self.get(7)));
        [m[0].xor_and(s2, s3).xor3(s6, s1), m[1].xor_and(s6, s7).xor3(s2, s5)]
    }
}
