//! State machines whose states rest in planes, a bit of every byte in each: what they have in
//! common.
//!
//! A layout of the bits says how a step is done ([`Sliced`]); initialisation, finalisation and
//! parts of steps, written here once, are done in terms of that. They go through vectors of blocks
//! where that is simpler than fast.

use super::sbox::Bits;
use crate::block::{Blocks, MAX_LANES, Vector};
use crate::machine::{
    C0, C1, FINAL_ROUNDS, Machine, load_at, load_word, store_all, store_at, truncate_at,
};
use crate::memory::wipe;

/// The states of some lanes in planes: of AEGIS-128 with two `BLOCKS` of input in a step, of
/// AEGIS-256 with one.
///
/// # Safety
///
/// As for [`Machine`], but that no CPU features are needed beyond those that the whole crate is
/// compiled for.
pub(crate) unsafe trait Sliced: Copy {
    /// As many blocks as there are lanes.
    type Blocks: Blocks;
    /// The machine for one lane.
    type Lane: Machine<V = <Self::Blocks as Blocks>::Lane>;
    /// A step's input or output, taken apart into bits in a way of this layout.
    type Step: Copy;
    /// Blocks of input per lane and step.
    const BLOCKS: usize;

    /// All bits zero.
    fn zero() -> Self;
    /// A step of zeros.
    fn zeros() -> Self::Step;
    /// Loads a step whose rows, of which there are `BLOCKS`, lie `row` bytes apart.
    ///
    /// # Safety
    /// Each row, of as many blocks as there are lanes, readable.
    unsafe fn load(src: *const u8, row: usize) -> Self::Step;
    /// Stores a step.
    ///
    /// # Safety
    /// Each row writable.
    unsafe fn store(step: Self::Step, dst: *mut u8, row: usize);
    /// XOR of two steps.
    fn xor(a: Self::Step, b: Self::Step) -> Self::Step;
    /// XOR with another state.
    fn add(&mut self, other: &Self);
    /// Update (§3.2.3, §4.2.3).
    fn update(&mut self, m: &Self::Step);
    /// The key stream of the next step (§3.2.5, §4.2.5), added to a step's input.
    fn add_keystream(&self, m: &Self::Step) -> Self::Step;
    /// Of each lane, word `at` and (with two blocks) the fourth after it, as a step.
    fn words_at(&self, at: usize) -> Self::Step;
    /// Adds the blocks of a step to word `at` and (with two blocks) to the fourth after it.
    fn add_at(&mut self, step: &Self::Step, at: usize);
    /// A state with the sum of the first half of the words in word 0, and that of the second half
    /// in the first word of the second half; for AEGIS-128, if not `all`, without the last word.
    /// The others are of no use.
    fn summed(&self, all: bool) -> Self;
    /// The machine of lane 0 with these words.
    fn first(words: [Self::Blocks; 8]) -> Self::Lane;

    /// The vectors of a step; the second is of no use if there is but one.
    #[inline(never)]
    fn blocks(step: Self::Step) -> [Self::Blocks; 2] {
        let mut bytes = [0; 32 * MAX_LANES];
        let row = 16 * Self::Blocks::LANES;
        // SAFETY: two vectors have room; no CPU features are needed.
        let blocks = unsafe {
            Self::store(step, bytes.as_mut_ptr(), row);
            [Self::Blocks::load(bytes.as_ptr()), Self::Blocks::load(bytes.as_ptr().add(row))]
        };
        wipe(&mut bytes);
        blocks
    }

    /// The step of the first `BLOCKS` of two vectors.
    #[inline(never)]
    fn from_blocks(blocks: [Self::Blocks; 2]) -> Self::Step {
        let mut bytes = [0; 32 * MAX_LANES];
        let row = 16 * Self::Blocks::LANES;
        // SAFETY: two vectors have room.
        let step = unsafe {
            blocks[0].store(bytes.as_mut_ptr());
            blocks[1].store(bytes.as_mut_ptr().add(row));
            Self::load(bytes.as_ptr(), row)
        };
        wipe(&mut bytes);
        step
    }

    /// The state with these words.
    #[inline(never)]
    fn from_words(words: [Self::Blocks; 8]) -> Self {
        let mut s = Self::zero();
        for i in 0..if Self::BLOCKS == 2 { 4 } else { 6 } {
            s.add_at(&Self::from_blocks([words[i], words[(i + 4) % 8]]), i);
        }
        s
    }

    /// The words of the state; with one block, the last two are of no use.
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

    /// The sums of the first half of the words and of the second, and, for AEGIS-128, without the
    /// last word in it.
    #[inline(never)]
    fn sums(&self, all: bool) -> [Self::Blocks; 2] {
        let s = self.summed(all);
        let [first, second] = Self::blocks(s.words_at(0));
        if Self::BLOCKS == 2 { [first, second] } else { [first, Self::blocks(s.words_at(3))[0]] }
    }
}

/// Adds some words to as many others.
#[inline(always)]
pub(super) fn add_words<W: Bits>(words: &mut [W], others: &[W]) {
    for (x, y) in words.iter_mut().zip(others) {
        *x = *x ^ *y;
    }
}

// SAFETY: that of `Sliced`.
unsafe impl<S: Sliced> Machine for S {
    type V = S::Blocks;
    type Lane = S::Lane;
    type Step = S::Step;
    type Key = [S::Blocks; 2];
    const BLOCKS: usize = S::BLOCKS;
    const SPILLS: bool = true;
    const LARGE: bool = true;

    #[inline(always)]
    fn first_mac_lane(tag_len: usize) -> usize {
        if S::BLOCKS == 2 && tag_len == 16 { 0 } else { 1 }
    }

    #[inline(always)]
    unsafe fn load(src: *const u8, row: usize) -> Self::Step {
        // SAFETY: passed on.
        unsafe { <S as Sliced>::load(src, row) }
    }
    #[inline(always)]
    unsafe fn store(step: Self::Step, dst: *mut u8, row: usize) {
        // SAFETY: passed on.
        unsafe { <S as Sliced>::store(step, dst, row) }
    }
    #[inline(never)]
    unsafe fn load_partial(src: *const u8, row: usize, len: usize) -> Self::Step {
        // SAFETY: passed on.
        S::from_blocks(unsafe {
            [load_at(src, 0, len), load_at(src, row, if S::BLOCKS == 2 { len } else { 0 })]
        })
    }
    #[inline(never)]
    unsafe fn store_partial(step: Self::Step, dst: *mut u8, row: usize, len: usize) {
        let [first, second] = S::blocks(step);
        // SAFETY: passed on.
        unsafe {
            store_at(first, dst, 0, len);
            if S::BLOCKS == 2 {
                store_at(second, dst, row, len);
            }
        }
    }
    #[inline(never)]
    fn truncate(step: Self::Step, row: usize, len: usize) -> Self::Step {
        let [first, second] = S::blocks(step);
        S::from_blocks([truncate_at(first, 0, len), truncate_at(second, row, len)])
    }

    #[inline(always)]
    unsafe fn load_key(src: *const u8) -> Self::Key {
        // SAFETY: passed on: with two blocks a step, a key has one.
        unsafe {
            [
                S::Blocks::splat(src),
                S::Blocks::splat(if S::BLOCKS == 2 { src } else { src.add(16) }),
            ]
        }
    }
    #[inline(never)]
    unsafe fn init([k0, k1]: Self::Key, [n0, n1]: Self::Key, ctx: S::Blocks) -> Self {
        // SAFETY: no CPU features are needed.
        let (c0, c1) = unsafe { (S::Blocks::splat(C0.as_ptr()), S::Blocks::splat(C1.as_ptr())) };
        let (k0n0, k1n1) = (k0.xor(n0), k1.xor(n1));
        let (k0c0, k1c1) = (k0.xor(c0), k1.xor(c1));
        let mut contexts = Self::zero();
        let ctx = S::from_blocks([ctx, ctx]);
        contexts.add_at(&ctx, 3);
        if S::BLOCKS == 2 {
            let mut s = S::from_words([k0n0, c1, c0, c1, k0n0, k0c0, k1c1, k0c0]);
            let m = S::from_blocks([n0, k0]);
            for _ in 0..10 {
                s.add(&contexts);
                s.update(&m);
            }
            s
        } else {
            contexts.add_at(&ctx, 5);
            let mut s = S::from_words([k0n0, k1n1, c1, c0, k0c0, k1c1, c0, c0]);
            let inputs = [k0, k1, k0n0, k1n1].map(|m| S::from_blocks([m, m]));
            for _ in 0..4 {
                for m in &inputs {
                    s.add(&contexts);
                    s.update(m);
                }
            }
            s
        }
    }

    #[inline(always)]
    fn absorb(&mut self, m: Self::Step) {
        self.update(&m);
    }
    #[inline(always)]
    fn keystream(&self) -> Self::Step {
        self.add_keystream(&S::zeros())
    }
    #[inline(always)]
    fn encrypt(&mut self, m: Self::Step) -> Self::Step {
        let c = self.add_keystream(&m);
        self.update(&m);
        c
    }
    #[inline(always)]
    fn decrypt(&mut self, c: Self::Step) -> Self::Step {
        let m = self.add_keystream(&c);
        self.update(&m);
        m
    }
    #[inline(always)]
    fn xor(a: Self::Step, b: Self::Step) -> Self::Step {
        <S as Sliced>::xor(a, b)
    }
    #[inline(never)]
    fn finalize(&mut self, lengths: S::Blocks) {
        let [t, _] = S::blocks(self.words_at(if S::BLOCKS == 2 { 2 } else { 3 }));
        let t = t.xor(lengths);
        let m = S::from_blocks([t, t]);
        for _ in 0..FINAL_ROUNDS {
            self.update(&m);
        }
    }
    #[inline(always)]
    fn tag128(&self) -> S::Blocks {
        let [first, second] = self.sums(S::BLOCKS == 1);
        first.xor(second)
    }
    #[inline(always)]
    fn tag256(&self) -> (S::Blocks, S::Blocks) {
        self.sums(true).into()
    }
    #[inline(always)]
    fn step(blocks: [S::Blocks; 2]) -> Self::Step {
        S::from_blocks(blocks)
    }
    #[inline(always)]
    fn first(&self) -> Self::Lane {
        <S as Sliced>::first(self.to_words())
    }
    #[inline(always)]
    unsafe fn store_words(&self, dst: *mut u8, stride: usize) {
        let words = self.to_words();
        // SAFETY: passed on.
        unsafe { store_all(&words[..if S::BLOCKS == 2 { 8 } else { 6 }], dst, stride) }
    }
    #[inline(always)]
    unsafe fn load_words(src: *const u8, stride: usize) -> Self {
        // SAFETY: no CPU features are needed.
        let mut words = [unsafe { S::Blocks::zero() }; 8];
        for (i, word) in words.iter_mut().enumerate().take(if S::BLOCKS == 2 { 8 } else { 6 }) {
            // SAFETY: the caller grants each word.
            *word = unsafe { load_word(src, stride, i) };
        }
        S::from_words(words)
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

    /// The S-box from its definition: inversion in GF(2^8), then the affine map.
    fn s_box() -> [u8; 256] {
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

    /// Blocks for eight words of as many lanes as there are, word by word.
    fn words<S: Sliced>(mut block: impl FnMut(usize, usize) -> Block) -> [S::Blocks; 8] {
        core::array::from_fn(|i| {
            let bytes: Vec<u8> = (0..S::Blocks::LANES).flat_map(|lane| block(i, lane)).collect();
            // SAFETY: as many bytes as there are in a vector.
            unsafe { S::Blocks::load(bytes.as_ptr()) }
        })
    }

    /// The blocks of the words that count, word by word and in each lane by lane.
    fn bytes<S: Sliced>(words: [S::Blocks; 8], count: usize) -> Vec<Block> {
        let store = |word: &S::Blocks| {
            let mut blocks = [[0; 16]; MAX_LANES];
            // SAFETY: no vector is wider.
            unsafe { word.store(blocks.as_mut_ptr().cast()) };
            blocks.into_iter().take(S::Blocks::LANES)
        };
        words[..count].iter().flat_map(store).collect()
    }

    /// A generator of bytes (xorshift).
    pub(crate) fn random() -> impl FnMut() -> u8 {
        let mut x = 0x9e37_79b9_7f4a_7c15_u64;
        move || {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (x >> 32) as u8
        }
    }

    /// The round is SubBytes, which circuits do to the bits of every byte alike, and then a linear
    /// map. So it is right if the S-box is for every value of every byte, and the map for every
    /// single bit; that it is linear is seen from its code, which has no operations but XOR,
    /// shifts, permutations and masks.
    pub(crate) fn round<S: Sliced>(rounds: fn(S) -> S, linear_map: fn(S) -> S) {
        let (count, lanes) = (if S::BLOCKS == 2 { 8 } else { 6 }, S::Blocks::LANES);
        let s_box = s_box();
        for first in 0..=255u8 {
            let value = |i: usize, lane: usize| -> Block {
                core::array::from_fn(|j| first.wrapping_add((37 * i + 101 * lane + j) as u8))
            };
            let out = rounds(S::from_words(words::<S>(value))).to_words();
            for (k, block) in bytes::<S>(out, count).into_iter().enumerate() {
                let (i, lane) = (k / lanes, k % lanes);
                assert_eq!(block, linear(value(i, lane).map(|x| s_box[usize::from(x)])));
            }
        }
        for bit in 0..128 * count * lanes {
            let one = |i: usize, lane: usize| -> Block {
                core::array::from_fn(|j| {
                    let at = 8 * (16 * (i * lanes + lane) + j);
                    if i < count && (at..at + 8).contains(&bit) { 1 << (bit - at) } else { 0 }
                })
            };
            let out = linear_map(S::from_words(words::<S>(one))).to_words();
            for (k, block) in bytes::<S>(out, count).into_iter().enumerate() {
                assert_eq!(block, linear(one(k / lanes, k % lanes)), "bit {bit}");
            }
        }
    }

    /// Steps of a state of any bytes: Update, the key stream, and the way of a message in and out.
    pub(crate) fn steps<S: Sliced>() {
        let lanes = S::Blocks::LANES;
        let count = if S::BLOCKS == 2 { 8 } else { 6 };
        let s_box = s_box();
        let mut random = random();
        let mut any = |n: usize| -> Vec<Block> {
            (0..n * lanes).map(|_| core::array::from_fn(|_| random())).collect()
        };
        let xor = |a: Block, b: Block| -> Block { core::array::from_fn(|j| a[j] ^ b[j]) };
        let mut before = any(count);
        let mut s = S::from_words(words::<S>(|i, lane| before[(i % count) * lanes + lane]));
        for _ in 0..100 {
            let m = any(S::BLOCKS);
            let row = 16 * lanes;
            // SAFETY: a message has `BLOCKS` rows.
            let step = unsafe { <S as Sliced>::load(m.as_ptr().cast(), row) };
            let mut back = std::vec![[0xee; 16]; S::BLOCKS * lanes];
            let mut keystream = back.clone();
            // SAFETY: likewise.
            unsafe {
                <S as Sliced>::store(step, back.as_mut_ptr().cast(), row);
                <S as Sliced>::store(s.keystream(), keystream.as_mut_ptr().cast(), row);
            }
            assert_eq!(back, m);
            s.absorb(step);

            let mut after = before.clone();
            for lane in 0..lanes {
                let at = |i: usize| before[i % count * lanes + lane];
                let and =
                    |i: usize, k: usize| -> Block { core::array::from_fn(|j| at(i)[j] & at(k)[j]) };
                let z = if S::BLOCKS == 2 {
                    [xor(xor(at(1), at(6)), and(2, 3)), xor(xor(at(2), at(5)), and(6, 7))]
                } else {
                    [xor(xor(at(1), xor(at(4), at(5))), and(2, 3)), [0; 16]]
                };
                for b in 0..S::BLOCKS {
                    assert_eq!(keystream[b * lanes + lane], z[b]);
                }
                for i in 0..count {
                    let round = linear(at(i + count - 1).map(|x| s_box[usize::from(x)]));
                    let message = if i % 4 == 0 && i / 4 < S::BLOCKS {
                        m[i / 4 * lanes + lane]
                    } else {
                        [0; 16]
                    };
                    after[i * lanes + lane] = xor(xor(at(i), round), message);
                }
            }
            before = after;
            assert_eq!(bytes::<S>(s.to_words(), count), before);
        }
    }
}
