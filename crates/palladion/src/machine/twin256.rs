//! Two machines of AEGIS-256 side by side, for twice the lanes of a register.

use super::aegis256::{Aegis256, start256};
use super::order::Free;
use super::registers::{self, Place, Steps};
use super::{ENCRYPT, FINAL_ROUNDS, Machine, Rows, Work, constants, load_two};
use crate::block::{Blocks, Pair, Word};

/// Words of which two states fit into registers if each word has its own.
pub(crate) trait Halfwise: Word {
    /// Update(M) of the state with this number (0 or 1). The message is a round key, so that the
    /// chain from S0 to S0 is short.
    #[inline(always)]
    fn update<const I: usize>(s: [Self; 6], m: Self) -> [Self; 6] {
        let [t, s5, s4, s3, s2, s1] =
            Self::rounds([s[5], s[4], s[3], s[2], s[1], s[0]], [m, s[5], s[4], s[3], s[2], s[1]]);
        [t.xor(s[0]), s1, s2, s3, s4, s5]
    }
    /// Update(M) with S0 as round key. The message comes last, which is faster if it is known late.
    #[inline(always)]
    fn update_late<const I: usize>(s: [Self; 6], m: Self) -> [Self; 6] {
        Self::update::<I>(s, m)
    }
    /// Update(M) where S3 and S5 lack this context as inputs of rounds.
    #[inline(always)]
    fn update_with<const I: usize>(s: [Self; 6], m: Self, ctx: Self) -> [Self; 6] {
        let (from3, from5) = (s[3].xor(ctx), s[5].xor(ctx));
        let [t, s5, s4, s3, s2, s1] =
            Self::rounds([from5, s[4], from3, s[2], s[1], s[0]], [m, s[5], s[4], s[3], s[2], s[1]]);
        [t.xor(s[0]), s1, s2, s3, s4, s5]
    }
}

/// Two machines that take turns. Unlike one machine of [`Pair`]s, whose halves take turns at each
/// instruction, it needs the temporary registers of one half at a time. With twelve words in
/// sixteen registers, no secret goes to the stack; key and nonce are loaded whenever needed.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Twin256<W>(Aegis256<W, Free>, Aegis256<W, Free>);

/// Loads a block of a key or nonce, again each time.
///
/// # Safety
/// The CPU has the features of `W`; the blocks are readable.
#[inline(always)]
unsafe fn block<W: Word>(key: *const u8, number: usize) -> W {
    // SAFETY: the caller promises the CPU features and readable blocks.
    W::new(unsafe { W::Blocks::splat(W::Blocks::again(key.add(16 * number))) })
}

/// Finishes a tag before anything else begins. Otherwise the compiler initialises the next group
/// first, and puts the twelve words of this one on the stack.
#[inline(always)]
fn now<W: Word>(tag: W::Blocks) -> W::Blocks {
    W::new(tag).fence().blocks()
}

impl<W: Halfwise> Twin256<W> {
    /// Bytes of a row for each half.
    const HALF: usize = 16 * W::Blocks::LANES;

    #[inline(always)]
    fn update(&mut self, m: [W; 2]) {
        self.0.0 = W::update::<0>(self.0.0, m[0]);
        self.1.0 = W::update::<1>(self.1.0, m[1]);
    }
    #[inline(always)]
    fn update_with(&mut self, m: [W; 2], ctx: [W; 2]) {
        self.0.0 = W::update_with::<0>(self.0.0, m[0], ctx[0]);
        self.1.0 = W::update_with::<1>(self.1.0, m[1], ctx[1]);
    }
    #[inline(always)]
    fn absorb_half(&mut self, number: usize, [m]: [W::Blocks; 1]) {
        if number == 0 {
            self.0.0 = W::update_late::<0>(self.0.0, W::new(m));
        } else {
            self.1.0 = W::update_late::<1>(self.1.0, W::new(m));
        }
    }
}

impl<W: Halfwise> Steps for Twin256<W> {
    type Step = [Pair<W::Blocks>; 1];

    #[inline(always)]
    fn absorb(&mut self, [m]: Self::Step) {
        let [first, second] = m.halves();
        self.absorb_half(0, [first]);
        self.absorb_half(1, [second]);
    }
    #[inline(always)]
    fn add_keystream(&self, [m]: Self::Step, s1_last: bool) -> Self::Step {
        let [first, second] = m.halves();
        let [first] = self.0.add_keystream([first], s1_last);
        let [second] = self.1.add_keystream([second], s1_last);
        [Pair::new(first, second)]
    }
    #[inline(always)]
    unsafe fn step(&mut self, work: Work, place: impl Place<Self::Step>) {
        // SAFETY: the caller promises the step. `self` exists, so the CPU has the features.
        unsafe {
            let input = place.load();
            if work == Work::Absorb {
                return self.absorb(input);
            }
            let output = self.add_keystream(input, false);
            if work == ENCRYPT {
                let [first, second] = input[0].halves();
                self.update([W::new(first), W::new(second)]);
            } else {
                self.absorb(output);
            }
            place.store(output);
        }
    }
}

// SAFETY: each half is an `Aegis256`, which has the properties required of `Machine`; there is
// nothing else in it.
unsafe impl<W: Halfwise> Machine for Twin256<W> {
    type V = Pair<W::Blocks>;
    type Lane = Aegis256<W::Single, Free>;
    const RATE: usize = 1;
    const SPILLS: bool = W::SPILLS;

    #[inline(always)]
    unsafe fn init(key: *const u8, nonce: *const u8, ctx: Pair<W::Blocks>) -> Self {
        let [first, second] = ctx.halves();
        let ctx = [W::new(first), W::new(second)];
        // SAFETY: the caller promises the CPU features and a readable key and nonce.
        unsafe {
            let start = Aegis256::new(start256(load_two(key), load_two(nonce), constants()));
            let mut s = Self(start, start);
            s.0.add_context(ctx[0]);
            s.1.add_context(ctx[1]);
            // The context stays for a second update; see `Aegis256::init`.
            for _ in 0..4 {
                s.update([block(key, 0); 2]);
                s.update_with([block(key, 1); 2], ctx);
                s.update([block::<W>(key, 0).xor(block(nonce, 0)); 2]);
                s.update_with([block::<W>(key, 1).xor(block(nonce, 1)); 2], ctx);
            }
            s.0.add_context(ctx[0]);
            s.1.add_context(ctx[1]);
            s
        }
    }
    #[inline(always)]
    unsafe fn run_steps(&mut self, work: Work, rows: Rows, steps: usize) {
        // SAFETY: the caller promises the same.
        unsafe { registers::run_steps::<_, 1>(self, work, rows, steps) };
    }
    #[inline(always)]
    unsafe fn run_last_step(&mut self, work: Work, rows: Rows, len: usize) {
        let (second, len1) = (rows.at(Self::HALF), len.saturating_sub(Self::HALF));
        // SAFETY: the caller promises these bytes. If there are none for the second half, its
        // address is not accessed.
        unsafe {
            let m = registers::crypt_last_step(&self.0, work, rows, len);
            self.absorb_half(0, m);
            let m = registers::crypt_last_step(&self.1, work, second, len1);
            self.absorb_half(1, m);
        }
    }
    #[inline(always)]
    fn absorb_blocks(&mut self, [m, _]: [Pair<W::Blocks>; 2]) {
        self.absorb([m]);
    }
    #[inline(always)]
    unsafe fn keystream(&self, dst: *mut u8, row: usize) {
        // SAFETY: the caller promises the same.
        unsafe { registers::keystream(self, dst, row) }
    }
    #[inline(always)]
    fn finish(&mut self, lengths: Pair<W::Blocks>, tag_len: usize) -> [Pair<W::Blocks>; 2] {
        let [first, second] = lengths.halves();
        let t = [self.0.0[3].xor(W::new(first)), self.1.0[3].xor(W::new(second))];
        for _ in 0..FINAL_ROUNDS {
            self.update(t);
        }
        let ([a, b], [c, d]) = (self.0.tag(tag_len), self.1.tag(tag_len));
        [Pair::new(now::<W>(a), now::<W>(c)), Pair::new(now::<W>(b), now::<W>(d))]
    }
    #[inline(always)]
    fn words(&self) -> [Pair<W::Blocks>; 8] {
        let (a, b) = (self.0.words(), self.1.words());
        let pair = Pair::new;
        let (s0, s1, s2) = (pair(a[0], b[0]), pair(a[1], b[1]), pair(a[2], b[2]));
        [s0, s1, s2, pair(a[3], b[3]), pair(a[4], b[4]), pair(a[5], b[5]), s0, s0]
    }
    #[inline(always)]
    unsafe fn from_words(words: [Pair<W::Blocks>; 8]) -> Self {
        let [s0, s1, s2, s3, s4, s5, ..] = words;
        let [[a0, b0], [a1, b1], [a2, b2]] = [s0.halves(), s1.halves(), s2.halves()];
        let [[a3, b3], [a4, b4], [a5, b5]] = [s3.halves(), s4.halves(), s5.halves()];
        // SAFETY: the caller promises the CPU features.
        unsafe {
            Self(
                Aegis256::from_words([a0, a1, a2, a3, a4, a5, a0, a0]),
                Aegis256::from_words([b0, b1, b2, b3, b4, b5, b0, b0]),
            )
        }
    }
}
