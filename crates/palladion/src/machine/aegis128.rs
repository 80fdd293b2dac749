//! AEGIS-128 (RFC 10032 §3 and §5.4): eight words, two blocks per step.

use core::marker::PhantomData;

use super::order::{Arranged, Order};
use super::registers::{self, Batched, Steps};
use super::{FINAL_ROUNDS, Machine, Rows, Work, constants};
use crate::block::{Blocks, Vector, Word};

/// The words S0 to S7 of some lanes. `O` is the order of the instructions of a step.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Aegis128<W, O>(pub(super) [W; 8], PhantomData<O>);

impl<W: Word, O: Order> Aegis128<W, O> {
    #[inline(always)]
    pub(super) fn new(words: [W; 8]) -> Self {
        Self(words, PhantomData)
    }

    /// Init (§3.2.2, §5.4.2).
    #[inline(always)]
    fn init(k: W, n: W, c: [W; 2], ctx: W) -> Self {
        let mut s = Self::new(start128(k, n, c));
        // The standard adds the context to S3 and S7 before each of ten updates. As round keys of
        // their successors, they keep it for a second update.
        s.add_context(ctx);
        for _ in 0..5 {
            s.mix(s.0[3], s.0[7], n, k);
            s.mix(s.0[3].xor(ctx), s.0[7].xor(ctx), n, k);
        }
        s.add_context(ctx);
        s
    }

    #[inline(always)]
    fn add_context(&mut self, ctx: W) {
        self.0[3] = self.0[3].xor(ctx);
        self.0[7] = self.0[7].xor(ctx);
    }

    /// Update(M0, M1) (§3.2.3) in Init and Finalize. S4 is made of `s3`, S0 of `s7`.
    #[inline(always)]
    fn mix(&mut self, s3: W, s7: W, m0: W, m1: W) {
        let s = self.0;
        self.0 = O::mix([s7, s[0], s[1], s[2], s3, s[4], s[5], s[6]], s, [m0, m1]);
    }

    /// The words from which an update makes S0 to S7.
    #[inline(always)]
    fn round_inputs(s: [W; 8]) -> [W; 8] {
        [s[7], s[0], s[1], s[2], s[3], s[4], s[5], s[6]]
    }

    /// The lengths are absorbed as t = S2 ^ lengths (§3.2.7), in seven updates.
    #[inline(always)]
    fn finalize(&mut self, lengths: W) {
        let t = self.0[2].xor(lengths);
        for _ in 0..FINAL_ROUNDS {
            self.mix(self.0[3], self.0[7], t, t);
        }
    }

    /// The tag (§3.2.7).
    #[inline(always)]
    fn tag(&self, tag_len: usize) -> [W; 2] {
        let s = &self.0;
        if tag_len == 16 {
            return [s[0].xor3(s[1], s[2]).xor3(s[3], s[4]).xor3(s[5], s[6]); 2];
        }
        [s[0].xor3(s[1], s[2]).xor(s[3]), s[4].xor3(s[5], s[6]).xor(s[7])]
    }
}

/// The state before initialisation (§3.2.2).
#[inline(always)]
pub(crate) fn start128<W: Vector>(k: W, n: W, [c0, c1]: [W; 2]) -> [W; 8] {
    let (kn, kc0, kc1) = (k.xor(n), k.xor(c0), k.xor(c1));
    [kn, c1, c0, c1, kn, kc0, kc1, kc0]
}

impl<W: Word, O: Order> Steps for Aegis128<W, O> {
    type Step = [W::Blocks; 2];

    /// Absorb and Update (§3.2.3, §3.2.4).
    #[inline(always)]
    fn absorb(&mut self, [m0, m1]: [W::Blocks; 2]) {
        self.0 = O::update(Self::round_inputs(self.0), self.0, [W::new(m0), W::new(m1)]);
    }
    /// z0 and z1 of Enc and Dec (§3.2.5, §3.2.6).
    #[inline(always)]
    fn add_keystream(&self, [m0, m1]: [W::Blocks; 2]) -> [W::Blocks; 2] {
        let [_, s1, s2, s3, _, s5, s6, s7] = self.words();
        [m0.xor_and(s2, s3).xor3(s6, s1), m1.xor_and(s6, s7).xor3(s2, s5)]
    }
    /// Enc (§3.2.5): adds the key stream and absorbs the message, as the order arranges it.
    #[inline(always)]
    fn encrypt(&mut self, m: [W::Blocks; 2]) -> [W::Blocks; 2] {
        O::encrypt(self, m)
    }
    /// Dec (§3.2.6): adds the key stream and absorbs the result.
    #[inline(always)]
    fn decrypt(&mut self, c: [W::Blocks; 2]) -> [W::Blocks; 2] {
        O::decrypt(self, c)
    }
}

impl<W: Word, O: Order> Arranged for Aegis128<W, O> {
    #[inline(always)]
    fn begin(self) -> Self {
        Self::new(O::begin(Self::round_inputs(self.0), self.0))
    }
    #[inline(always)]
    fn end(self, before: Self, [m0, m1]: [W::Blocks; 2]) -> Self {
        Self::new(O::end(self.0, before.0, [W::new(m0), W::new(m1)]))
    }
    #[inline(always)]
    fn add_keystream_late(&self, [m0, m1]: [W::Blocks; 2]) -> [W::Blocks; 2] {
        let [_, s1, s2, s3, _, s5, s6, s7] = self.words();
        [s6.xor_and(s2, s3).xor3(m0, s1), s2.xor_and(s6, s7).xor3(m1, s5)]
    }
    #[inline(always)]
    fn fence(mut self) -> Self {
        (self.0[2], self.0[6]) = (self.0[2].fence(), self.0[6].fence());
        self
    }
}

// SAFETY: transparent over eight words, whose type implements `Word`; there is nothing else in it.
unsafe impl<W: Word, O: Order> Machine for Aegis128<W, O> {
    type V = W::Blocks;
    type Lane = Aegis128<W::Single, O>;
    const RATE: usize = 2;
    const SPILLS: bool = W::SPILLS;

    #[inline(always)]
    unsafe fn init(key: *const u8, nonce: *const u8, ctx: W::Blocks) -> Self {
        // SAFETY: the caller promises the CPU features and a readable key and nonce of 16 bytes.
        unsafe {
            let (k, n) = (W::Blocks::splat(key), W::Blocks::splat(nonce));
            Self::init(W::new(k), W::new(n), constants(), W::new(ctx))
        }
    }
    #[inline(always)]
    unsafe fn run_steps(&mut self, work: Work, rows: Rows, steps: usize) {
        // SAFETY: the caller promises the same.
        unsafe { O::run_steps(self, work, rows, steps) }
    }
    #[inline(always)]
    unsafe fn run_last_step(&mut self, work: Work, rows: Rows, len: usize) {
        // SAFETY: the caller promises the same.
        unsafe { registers::run_last_step(self, work, rows, len) }
    }
    #[inline(always)]
    fn absorb_blocks(&mut self, blocks: [W::Blocks; 2]) {
        self.absorb(blocks);
    }
    #[inline(always)]
    unsafe fn keystream(&self, dst: *mut u8, row: usize) {
        // SAFETY: the caller promises the same.
        unsafe { registers::keystream(self, dst, row) }
    }
    #[inline(always)]
    fn finish(&mut self, lengths: W::Blocks, tag_len: usize) -> [W::Blocks; 2] {
        self.finalize(W::new(lengths));
        let [first, second] = self.tag(tag_len);
        [first.blocks(), second.blocks()]
    }
    #[inline(always)]
    fn words(&self) -> [W::Blocks; 8] {
        let s = &self.0;
        let (s0, s1, s2, s3) = (s[0].blocks(), s[1].blocks(), s[2].blocks(), s[3].blocks());
        [s0, s1, s2, s3, s[4].blocks(), s[5].blocks(), s[6].blocks(), s[7].blocks()]
    }
    #[inline(always)]
    unsafe fn from_words([a, b, c, d, e, f, g, h]: [W::Blocks; 8]) -> Self {
        let (s0, s1, s2, s3) = (W::new(a), W::new(b), W::new(c), W::new(d));
        Self::new([s0, s1, s2, s3, W::new(e), W::new(f), W::new(g), W::new(h)])
    }
}

// SAFETY: the same as for `Machine`.
unsafe impl<V: Blocks + Word<Blocks = V>, O: Order> Batched for Aegis128<V, O> {
    #[inline(always)]
    unsafe fn from_keys([key, _]: [V; 2], [nonce, _]: [V; 2], ctx: V) -> Self {
        // SAFETY: the caller promises the CPU features.
        Self::init(key, nonce, unsafe { constants() }, ctx)
    }
}
