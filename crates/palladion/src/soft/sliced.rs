//! The common part of state machines whose states are stored in planes, with one bit of every byte
//! in each.
//!
//! A layout says how a step works ([`Sliced`]). Initialisation, finalisation and partial steps are
//! written here once in terms of it. They go through vectors of blocks where that is simpler and
//! speed does not matter.

use core::mem::MaybeUninit;

use super::sbox::Bits;
use crate::block::{Blocks, MAX_LANES, Vector};
use crate::machine::{C0, C1, FINAL_ROUNDS, Machine, Rows, Work};
use crate::memory::{Direction, wipe_at};

/// The states of some lanes in planes. `BLOCKS` is the number of input blocks per step: 2 for
/// AEGIS-128, 1 for AEGIS-256.
///
/// # Safety
///
/// The same as for [`Machine`], except that no CPU features are needed beyond those that the whole
/// crate is compiled for and, for the vectors of `arch/arm.rs`, NEON.
pub(crate) unsafe trait Sliced: Copy {
    /// A vector with as many blocks as there are lanes.
    type Blocks: Blocks;
    /// The machine for one lane.
    type Lane: Machine<V = <Self::Blocks as Blocks>::Lane>;
    /// The input or output of a step, in the bit order of the layout.
    type Step: Copy;
    /// Blocks of input per lane and step.
    const BLOCKS: usize;

    /// Returns the state of all zeros.
    fn zero() -> Self;
    /// Returns a step of zeros.
    fn zeros() -> Self::Step;
    /// Loads a step of `BLOCKS` rows that are `row` bytes apart.
    ///
    /// # Safety
    /// Each row is readable: 16 bytes per lane.
    unsafe fn load(src: *const u8, row: usize) -> Self::Step;
    /// Stores a step.
    ///
    /// # Safety
    /// Each row is writable: 16 bytes per lane.
    unsafe fn store(step: Self::Step, dst: *mut u8, row: usize);
    /// XORs another state into this one.
    fn add(&mut self, other: &Self);
    /// Computes Update (RFC 10032 §3.2.3, §4.2.3).
    fn update(&mut self, m: &Self::Step);
    /// Whether initialisation and finalisation, where inputs recur, use `update_whole`.
    const WHOLE_INPUT: bool = false;
    /// Computes Update with an input for any words: a state that is added to the result.
    fn update_whole(&mut self, _input: &Self) {}
    /// Sets `self` to such an input: the sum of a state and of a step in its usual words.
    fn set_sum(&mut self, _state: &Self, _m: &Self::Step) {}

    /// Computes Update with each of some inputs, `turns` times, and adds the contexts before each.
    #[inline(always)]
    fn repeat<const I: usize>(
        &mut self,
        contexts: Option<&Self>,
        inputs: [Self::Step; I],
        turns: usize,
    ) {
        let add_contexts = |s: &mut Self| contexts.into_iter().for_each(|contexts| s.add(contexts));
        if !Self::WHOLE_INPUT {
            for _ in 0..turns {
                for m in &inputs {
                    add_contexts(self);
                    self.update(m);
                }
            }
            return;
        }
        // Each input contains the contexts for the next step.
        let zero = Self::zero();
        let mut wholes = [zero; I];
        for (whole, m) in wholes.iter_mut().zip(&inputs) {
            whole.set_sum(contexts.unwrap_or(&zero), m);
        }
        add_contexts(self);
        for _ in 0..turns {
            for whole in &wholes {
                self.update_whole(whole);
            }
        }
        add_contexts(self);
    }

    /// XORs the key stream of the next step (§3.2.5, §4.2.5) with a step.
    fn add_keystream(&self, m: &Self::Step) -> Self::Step;
    /// Returns word `at` of each lane and, with two blocks, word `at + 4`, as a step.
    fn words_at(&self, at: usize) -> Self::Step;
    /// XORs the blocks of a step into word `at` and, with two blocks, word `at + 4`.
    fn add_at(&mut self, step: &Self::Step, at: usize);
    /// Returns a state with the sum of the first half of the words in word 0, and the sum of the
    /// second half in the first word of that half. For AEGIS-128, unless `all`, the last word is
    /// left out. The other words of the result are meaningless.
    fn summed(&self, all: bool) -> Self;

    /// Converts a step to vectors; with one block, the second is meaningless.
    #[inline(never)]
    fn blocks(step: Self::Step) -> [Self::Blocks; 2] {
        let mut bytes = [const { MaybeUninit::<u8>::uninit() }; 32 * MAX_LANES];
        let bytes = bytes.as_mut_ptr().cast::<u8>();
        let row = 16 * Self::Blocks::LANES;
        // SAFETY: `bytes` has room for two vectors, whose loads need no CPU features. With one
        // block, the second vector is zeroed.
        unsafe {
            if Self::BLOCKS == 1 {
                bytes.add(row).write_bytes(0, row);
            }
            Self::store(step, bytes, row);
            let blocks = [Self::Blocks::load(bytes), Self::Blocks::load(bytes.add(row))];
            wipe_at(bytes, 2 * row);
            blocks
        }
    }

    /// Converts the first `BLOCKS` of two vectors to a step.
    #[inline(never)]
    fn from_blocks(blocks: [Self::Blocks; 2]) -> Self::Step {
        let mut bytes = [const { MaybeUninit::<u8>::uninit() }; 32 * MAX_LANES];
        let bytes = bytes.as_mut_ptr().cast::<u8>();
        let row = 16 * Self::Blocks::LANES;
        // SAFETY: `bytes` has room for two vectors.
        unsafe {
            blocks[0].store(bytes);
            blocks[1].store(bytes.add(row));
            let step = Self::load(bytes, row);
            wipe_at(bytes, 2 * row);
            step
        }
    }

    /// Returns the state with these words: word `i` and, with two blocks, word `i + 4` are the
    /// blocks of step `i`.
    #[inline(always)]
    fn from_steps(steps: &[Self::Step]) -> Self {
        let mut s = Self::zero();
        for (i, step) in steps.iter().enumerate() {
            s.add_at(step, i);
        }
        s
    }

    /// Returns the state with these words.
    #[inline(never)]
    fn from_words(words: [Self::Blocks; 8]) -> Self {
        let mut steps = [Self::zeros(); 6];
        let steps = &mut steps[..if Self::BLOCKS == 2 { 4 } else { 6 }];
        for (i, step) in steps.iter_mut().enumerate() {
            *step = Self::from_blocks([words[i], words[(i + 4) % 8]]);
        }
        Self::from_steps(steps)
    }

    /// Returns the words of the state; with one block, the last two are meaningless.
    #[inline(never)]
    fn to_words(self) -> [Self::Blocks; 8] {
        // SAFETY: no CPU features are needed.
        let mut words = [unsafe { Self::Blocks::zero() }; 8];
        for i in 0..if Self::BLOCKS == 2 { 4 } else { 6 } {
            let [first, second] = Self::blocks(self.words_at(i));
            words[i] = first;
            if Self::BLOCKS == 2 {
                words[i + 4] = second;
            }
        }
        words
    }

    /// Returns the sums of the first and of the second half of the words. For AEGIS-128, unless
    /// `all`, the last word is left out.
    #[inline(never)]
    fn sums(&self, all: bool) -> [Self::Blocks; 2] {
        let s = self.summed(all);
        let [first, second] = Self::blocks(s.words_at(0));
        if Self::BLOCKS == 2 { [first, second] } else { [first, Self::blocks(s.words_at(3))[0]] }
    }
}

/// XORs words into as many others.
#[inline(always)]
pub(super) fn add_words<W: Bits>(words: &mut [W], others: &[W]) {
    for (x, y) in words.iter_mut().zip(others) {
        *x = *x ^ *y;
    }
}

/// Loads the first `len` bytes of a step and pads them with zeros.
///
/// # Safety
/// `len` bytes are readable.
#[inline(never)]
unsafe fn load_partial<S: Sliced>(src: *const u8, row: usize, len: usize) -> S::Step {
    // SAFETY: the caller promises `len` bytes. With one block, nothing is read from the second row.
    S::from_blocks(unsafe {
        let second = if S::BLOCKS == 2 { part::<S>(row, len) } else { 0 };
        [
            S::Blocks::load_partial(src, part::<S>(0, len)),
            S::Blocks::load_partial(src.wrapping_add(row), second),
        ]
    })
}

/// Stores the first `len` bytes of a step.
///
/// # Safety
/// `len` bytes are writable.
#[inline(never)]
unsafe fn store_partial<S: Sliced>(step: S::Step, dst: *mut u8, row: usize, len: usize) {
    let [first, second] = S::blocks(step);
    // SAFETY: the caller promises `len` bytes.
    unsafe {
        first.store_partial(dst, part::<S>(0, len));
        if S::BLOCKS == 2 {
            second.store_partial(dst.wrapping_add(row), part::<S>(row, len));
        }
    }
}

/// Keeps the first `len` bytes of a step, and zeroes the rest.
#[inline(never)]
fn truncate<S: Sliced>(step: S::Step, row: usize, len: usize) -> S::Step {
    let [first, second] = S::blocks(step);
    S::from_blocks([first.truncate(part::<S>(0, len)), second.truncate(part::<S>(row, len))])
}

/// Returns how many of the first `len` bytes are in the row at `offset`.
#[inline(always)]
fn part<S: Sliced>(offset: usize, len: usize) -> usize {
    len.saturating_sub(offset).min(16 * S::Blocks::LANES)
}

// SAFETY: the contract of `Sliced` contains that of `Machine`, and needs no CPU features.
unsafe impl<S: Sliced> Machine for S {
    type V = S::Blocks;
    type Lane = S::Lane;
    const RATE: usize = S::BLOCKS;
    const SPILLS: bool = true;

    #[inline(never)]
    unsafe fn init(key: *const u8, nonce: *const u8, ctx: S::Blocks) -> Self {
        // SAFETY: the caller promises a readable key and nonce: 16 bytes with two blocks per step,
        // 32 with one. No CPU features are needed.
        let ([k0, k1], [n0, n1], c0, c1) = unsafe {
            let load = |src: *const u8| {
                let second = if S::BLOCKS == 2 { src } else { src.add(16) };
                [S::Blocks::splat(src), S::Blocks::splat(second)]
            };
            let (c0, c1) = (S::Blocks::splat(C0.as_ptr()), S::Blocks::splat(C1.as_ptr()));
            (load(key), load(nonce), c0, c1)
        };
        let (k0n0, k1n1) = (k0.xor(n0), k1.xor(n1));
        let (k0c0, k1c1) = (k0.xor(c0), k1.xor(c1));
        let mut contexts = Self::zero();
        let ctx = S::from_blocks([ctx, ctx]);
        contexts.add_at(&ctx, 3);
        if S::BLOCKS == 2 {
            let (s1, s2) = (S::from_blocks([c1, k0c0]), S::from_blocks([c0, k1c1]));
            let mut s = S::from_steps(&[S::from_blocks([k0n0, k0n0]), s1, s2, s1]);
            s.repeat(Some(&contexts), [S::from_blocks([n0, k0])], 10);
            s
        } else {
            contexts.add_at(&ctx, 5);
            let step = |m| S::from_blocks([m, m]);
            let (s0, s1) = (step(k0n0), step(k1n1));
            let mut s = S::from_steps(&[s0, s1, step(c1), step(c0), step(k0c0), step(k1c1)]);
            s.repeat(Some(&contexts), [step(k0), step(k1), s0, s1], 4);
            s
        }
    }
    #[inline(always)]
    unsafe fn run_steps(&mut self, work: Work, rows: Rows, steps: usize) {
        let Rows { src, dst, row } = rows;
        let rate = row * S::BLOCKS;
        let (mut at, stop) = (0, rate * steps);
        let mut s = *self;
        while at < stop {
            // SAFETY: the caller promises the steps. In place, all of a step is read before any of
            // it is written.
            unsafe {
                let mut m = S::load(src.wrapping_add(at), row);
                if let Work::Crypt(direction) = work {
                    let output = s.add_keystream(&m);
                    S::store(output, dst.wrapping_add(at), row);
                    if direction == Direction::Decrypt {
                        m = output;
                    }
                }
                s.update(&m);
            }
            at += rate;
        }
        *self = s;
    }
    #[inline(always)]
    unsafe fn run_last_step(&mut self, work: Work, rows: Rows, len: usize) {
        let Rows { src, dst, row } = rows;
        // SAFETY: the caller promises the bytes.
        unsafe {
            let mut m = load_partial::<Self>(src, row, len);
            if let Work::Crypt(direction) = work {
                let output = self.add_keystream(&m);
                store_partial::<Self>(output, dst, row, len);
                if direction == Direction::Decrypt {
                    m = truncate::<Self>(output, row, len); // (DecPartial, §3.2.6)
                }
            }
            self.update(&m);
        }
    }
    #[inline(always)]
    fn absorb_blocks(&mut self, blocks: [S::Blocks; 2]) {
        self.update(&S::from_blocks(blocks));
    }
    #[inline(always)]
    unsafe fn keystream(&self, dst: *mut u8, row: usize) {
        // SAFETY: the caller promises a writable step.
        unsafe { S::store(self.add_keystream(&S::zeros()), dst, row) }
    }
    #[inline(never)]
    fn finish(&mut self, lengths: S::Blocks, tag_len: usize) -> [S::Blocks; 2] {
        let [t, _] = S::blocks(self.words_at(if S::BLOCKS == 2 { 2 } else { 3 }));
        let t = t.xor(lengths);
        self.repeat(None, [S::from_blocks([t, t])], FINAL_ROUNDS);
        let [first, second] = self.sums(S::BLOCKS == 1 || tag_len != 16);
        if tag_len == 16 { [first.xor(second); 2] } else { [first, second] }
    }
    #[inline(always)]
    fn words(&self) -> [S::Blocks; 8] {
        self.to_words()
    }
    #[inline(always)]
    unsafe fn from_words(words: [S::Blocks; 8]) -> Self {
        <S as Sliced>::from_words(words)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::*;

    type Block = [u8; 16];

    fn double(x: u8) -> u8 {
        (x << 1) ^ if x >> 7 == 1 { 0x1b } else { 0 }
    }

    /// Computes the S-box from its definition: inversion in GF(2^8), then the affine map.
    pub(crate) fn s_box() -> [u8; 256] {
        let multiply = |a: u8, b: u8| {
            (0..8).rev().fold(0, |sum, i| double(sum) ^ if b >> i & 1 == 1 { a } else { 0 })
        };
        core::array::from_fn(|x| {
            let inverse = (0..=255).find(|&y| multiply(x as u8, y) == 1).unwrap_or(0);
            (0..5).fold(0x63, |sum, i| sum ^ inverse.rotate_left(i))
        })
    }

    /// ShiftRows and MixColumns of FIPS 197.
    fn linear(x: Block) -> Block {
        let a = |r: usize, c: usize| x[4 * ((c + r) % 4) + r % 4];
        core::array::from_fn(|i| {
            let (c, r) = (i / 4, i % 4);
            let column = |k: usize| a((r + k) % 4, c);
            double(column(0)) ^ double(column(1)) ^ column(1) ^ column(2) ^ column(3)
        })
    }

    /// Returns how many words a state has, and how many lanes.
    fn shape<S: Sliced>() -> [usize; 2] {
        [if S::BLOCKS == 2 { 8 } else { 6 }, S::Blocks::LANES]
    }

    /// Returns the state of these blocks, which are given word by word and lane by lane.
    fn state<S: Sliced>(blocks: &[Block]) -> S {
        let [count, lanes] = shape::<S>();
        S::from_words(core::array::from_fn(|i| {
            let word = &blocks[i % count * lanes..][..lanes];
            // SAFETY: `word` has 16 bytes per lane, as many as a vector.
            unsafe { S::Blocks::load(word.as_ptr().cast()) }
        }))
    }

    /// Returns the blocks of a state in the same order.
    fn blocks<S: Sliced>(state: S) -> Vec<Block> {
        let [count, lanes] = shape::<S>();
        let store = |word: &S::Blocks| {
            let mut blocks = [[0; 16]; MAX_LANES];
            // SAFETY: `blocks` has room for the widest vector.
            unsafe { word.store(blocks.as_mut_ptr().cast()) };
            blocks.into_iter().take(lanes)
        };
        state.to_words()[..count].iter().flat_map(store).collect()
    }

    /// A generator of pseudo-random bytes (xorshift).
    pub(crate) fn random() -> impl FnMut() -> u8 {
        let mut x = 0x9e37_79b9_7f4a_7c15_u64;
        move || {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (x >> 32) as u8
        }
    }

    /// Checks a round. It is SubBytes, which a circuit applies to all bytes alike, and then a
    /// linear map. So it is right if the S-box is right for every value of every byte, and the map
    /// for every single bit. The code shows that the map is linear: it has only XORs, shifts,
    /// permutations and masks.
    pub(crate) fn round<S: Sliced>(rounds: fn(S) -> S, linear_map: fn(S) -> S) {
        let of = |map: fn(S) -> S| move |input: &[Block]| blocks(map(state(input)));
        check_round(shape::<S>(), &of(rounds), &of(linear_map));
    }

    /// Not generic, so that it is compiled once.
    fn check_round(
        [count, lanes]: [usize; 2],
        rounds: &dyn Fn(&[Block]) -> Vec<Block>,
        linear_map: &dyn Fn(&[Block]) -> Vec<Block>,
    ) {
        let s_box = s_box();
        for first in 0..=255u8 {
            let value = |k: usize| -> Block {
                let (i, lane) = (k / lanes, k % lanes);
                core::array::from_fn(|j| first.wrapping_add((37 * i + 101 * lane + j) as u8))
            };
            let input: Vec<Block> = (0..count * lanes).map(value).collect();
            for (before, after) in input.iter().zip(rounds(&input)) {
                assert_eq!(after, linear(before.map(|x| s_box[usize::from(x)])));
            }
        }
        for bit in 0..128 * count * lanes {
            let mut input = std::vec![[0; 16]; count * lanes];
            input.as_flattened_mut()[bit / 8] = 1 << (bit % 8);
            for (before, after) in input.iter().zip(linear_map(&input)) {
                assert_eq!(after, linear(*before), "bit {bit}");
            }
        }
    }

    /// Checks Update, the key stream and loading and storing a message, on pseudo-random states.
    pub(crate) fn steps<S: Sliced>() {
        let row = 16 * S::Blocks::LANES;
        let mut s = None;
        check_steps(shape::<S>(), S::BLOCKS, &mut |before, m| {
            let s: &mut S = s.get_or_insert_with(|| state(before));
            // SAFETY: `m` has `BLOCKS` rows of `row` bytes.
            let step = unsafe { <S as Sliced>::load(m.as_ptr().cast(), row) };
            let mut back = std::vec![[0xee; 16]; m.len()];
            let mut keystream = back.clone();
            // SAFETY: `back` and `keystream` have `BLOCKS` rows of `row` bytes.
            unsafe {
                <S as Sliced>::store(step, back.as_mut_ptr().cast(), row);
                <S as Sliced>::store(
                    Sliced::add_keystream(s, &S::zeros()),
                    keystream.as_mut_ptr().cast(),
                    row,
                );
            }
            s.update(&step);
            [back, keystream, blocks(*s)]
        });
    }

    /// Takes a state, which it uses only in the first call, and a message. Returns the message, the
    /// key stream and the next state.
    type Step<'a> = dyn FnMut(&[Block], &[Block]) -> [Vec<Block>; 3] + 'a;

    /// Not generic, so that it is compiled once.
    fn check_steps([count, lanes]: [usize; 2], message_blocks: usize, step: &mut Step<'_>) {
        let s_box = s_box();
        let mut random = random();
        let mut any = |n: usize| -> Vec<Block> {
            (0..n * lanes).map(|_| core::array::from_fn(|_| random())).collect()
        };
        let xor = |a: Block, b: Block| -> Block { core::array::from_fn(|j| a[j] ^ b[j]) };
        let mut before = any(count);
        for _ in 0..100 {
            let m = any(message_blocks);
            let [back, keystream, found] = step(&before, &m);
            assert_eq!(back, m);

            let mut after = before.clone();
            for lane in 0..lanes {
                let at = |i: usize| before[i % count * lanes + lane];
                let and =
                    |i: usize, k: usize| -> Block { core::array::from_fn(|j| at(i)[j] & at(k)[j]) };
                let z = if message_blocks == 2 {
                    [xor(xor(at(1), at(6)), and(2, 3)), xor(xor(at(2), at(5)), and(6, 7))]
                } else {
                    [xor(xor(at(1), xor(at(4), at(5))), and(2, 3)), [0; 16]]
                };
                for b in 0..message_blocks {
                    assert_eq!(keystream[b * lanes + lane], z[b]);
                }
                for i in 0..count {
                    let round = linear(at(i + count - 1).map(|x| s_box[usize::from(x)]));
                    let message = if i % 4 == 0 && i / 4 < message_blocks {
                        m[i / 4 * lanes + lane]
                    } else {
                        [0; 16]
                    };
                    after[i * lanes + lane] = xor(xor(at(i), round), message);
                }
            }
            assert_eq!(found, after);
            before = after;
        }
    }
}
