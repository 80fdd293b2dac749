//! AEGIS-128L with two words per register, for AES instructions that work on two blocks. It takes
//! half as many of them.
//!
//! The registers are (S0, S4), (S1, S5), (S2, S6), (S3, S7). A step is one AES round on each
//! register, but the words of the last are exchanged on their way to the first: S7 goes to S0 and
//! S3 to S4. Exchanging halves takes three cycles. AESRound works on each half alike, so the
//! exchange can come before or after the round. After it, the exchange is next to the XOR with (S0,
//! S4), and the chain switches between AES and other instructions once instead of twice, which
//! saves a delay (docs/performance.md).

use super::registers::{self, Place, Steps};
use super::{DECRYPT, ENCRYPT, FINAL_ROUNDS, Machine, Rows, Work, constants};
use crate::block::{Blocks, Halves, Vector, Word};

/// A single block.
type Lane<W> = <<W as Word>::Blocks as Blocks>::Lane;

/// Joins two blocks in a register.
#[inline(always)]
fn join<W: Word>(low: Lane<W>, high: Lane<W>) -> W::Blocks {
    // SAFETY: a block exists, so the CPU has the features.
    unsafe { W::Blocks::from_lanes([low, high, low, high]) }
}

/// Joins two words in a register.
#[inline(always)]
fn pair<W: Word>(low: Lane<W>, high: Lane<W>) -> W {
    W::new(join::<W>(low, high))
}

/// The state of one lane.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Packed128<W>([W; 4]);

impl<W: Word + Halves> Packed128<W> {
    /// Update(M0, M1), with the message in one register. The message is always added last.
    #[inline(always)]
    fn update(&mut self, m: W) {
        let s = self.0;
        // SAFETY: `self` exists, so the CPU has the features.
        let zero = W::new(unsafe { W::Blocks::zero() });
        let last = s[3].aes(zero).fence();
        let s3 = s[2].aes(s[3]).fence();
        let s2 = s[1].aes(s[2]).fence();
        let s1 = s[0].aes(s[1]).fence();
        self.0 = [last.swap().xor3(s[0], m), s1, s2, s3];
    }

    /// Returns the words as blocks.
    #[inline(always)]
    fn plain(&self) -> [W::Blocks; 4] {
        let s = &self.0;
        [s[0].blocks(), s[1].blocks(), s[2].blocks(), s[3].blocks()]
    }
}

impl<W: Word + Halves> Steps for Packed128<W>
where
    W::Blocks: Halves,
    Lane<W>: Blocks<Lane = Lane<W>>,
{
    type Step = [W::Blocks; 1];

    #[inline(always)]
    fn absorb(&mut self, [m]: [W::Blocks; 1]) {
        self.update(W::new(m));
    }
    #[inline(always)]
    fn add_keystream(&self, [m]: [W::Blocks; 1], _: bool) -> [W::Blocks; 1] {
        let [_, s1, s2, s3] = self.plain();
        [m.xor_and(s2, s3).xor3(s2.swap(), s1)]
    }
    #[inline(always)]
    unsafe fn step(&mut self, work: Work, place: impl Place<[W::Blocks; 1]>) {
        let mut before = *self;
        // SAFETY: the caller promises the step. `self` exists, so the CPU has the features.
        unsafe {
            let input = place.load();
            match work {
                Work::Absorb => self.absorb(input),
                ENCRYPT => {
                    self.absorb(input);
                    before.0[2] = before.0[2].fence(); // compute the key stream last
                    place.store(before.add_keystream(input, false));
                }
                DECRYPT => {
                    let m = before.add_keystream(input, false);
                    self.absorb(m);
                    place.store(m);
                }
            }
        }
    }
}

// SAFETY: transparent over four words, whose type implements `Word`; there is nothing else in it.
unsafe impl<W: Word + Halves> Machine for Packed128<W>
where
    W::Blocks: Halves,
    Lane<W>: Blocks<Lane = Lane<W>>,
{
    type V = Lane<W>;
    type Lane = Self;
    const RATE: usize = 2;
    const SPILLS: bool = W::SPILLS;

    #[inline(always)]
    unsafe fn init(key: *const u8, nonce: *const u8, ctx: Lane<W>) -> Self {
        // SAFETY: the caller promises the CPU features and a readable key and nonce of 16 bytes.
        let (k, n, [c0, c1]) =
            unsafe { (Lane::<W>::load(key), Lane::<W>::load(nonce), constants::<W::Single>()) };
        let (c0, c1) = (c0.blocks(), c1.blocks());
        let odd = pair::<W>(c1, k.xor(c0));
        let mut s = Self([pair::<W>(k.xor(n), k.xor(n)), odd, pair::<W>(c0, k.xor(c1)), odd]);
        let (nk, ctx) = (pair::<W>(n, k), pair::<W>(ctx, ctx));
        for _ in 0..10 {
            s.0[3] = s.0[3].xor(ctx);
            s.update(nk);
        }
        s
    }
    #[inline(always)]
    unsafe fn run_steps(&mut self, work: Work, rows: Rows, steps: usize) {
        // SAFETY: the caller promises the same.
        unsafe { registers::run_steps::<_, 2>(self, work, rows, steps) };
    }
    #[inline(always)]
    unsafe fn run_last_step(&mut self, work: Work, rows: Rows, len: usize) {
        // SAFETY: the caller promises the same.
        unsafe { registers::run_last_step(self, work, rows, len) }
    }
    #[inline(always)]
    fn absorb_blocks(&mut self, [first, second]: [Lane<W>; 2]) {
        self.absorb([join::<W>(first, second)]);
    }
    #[inline(always)]
    unsafe fn keystream(&self, dst: *mut u8, row: usize) {
        // SAFETY: the caller promises the same.
        unsafe { registers::keystream(self, dst, row) }
    }
    #[inline(always)]
    fn finish(&mut self, lengths: Lane<W>, tag_len: usize) -> [Lane<W>; 2] {
        let t = self.0[2].blocks().first().xor(lengths);
        let t = pair::<W>(t, t);
        for _ in 0..FINAL_ROUNDS {
            self.update(t);
        }
        let s = &self.0;
        let sum = s[0].xor3(s[1], s[2]);
        if tag_len == 16 {
            return [sum.blocks().fold().xor(s[3].blocks().first()); 2];
        }
        let [first, second, ..] = sum.xor(s[3]).blocks().lanes();
        [first, second]
    }
    #[inline(always)]
    fn words(&self) -> [Lane<W>; 8] {
        let [a, b, c, d] = self.plain();
        let ([a, e, ..], [b, f, ..]) = (a.lanes(), b.lanes());
        let ([c, g, ..], [d, h, ..]) = (c.lanes(), d.lanes());
        [a, b, c, d, e, f, g, h]
    }
    #[inline(always)]
    unsafe fn from_words([a, b, c, d, e, f, g, h]: [Lane<W>; 8]) -> Self {
        Self([pair::<W>(a, e), pair::<W>(b, f), pair::<W>(c, g), pair::<W>(d, h)])
    }
}
