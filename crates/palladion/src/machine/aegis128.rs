//! AEGIS-128 (RFC 10032 §3 and §5.4): eight words, two blocks per step.

use core::marker::PhantomData;

use super::order::{ABSORB, ABSORB_LATE, Chosen, MIX, Order, Output};
use super::registers::{self, Batched, Place, Step, Steps};
use super::{DECRYPT, ENCRYPT, FINAL_ROUNDS, Machine, Rows, Work, constants};
use crate::block::{Blocks, Vector, Word};

/// The words S0 to S7 of some lanes. `O` is the order of the instructions of a step.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Aegis128<W, O>(pub(super) [W; 8], PhantomData<O>);

type Late<O> = Chosen<O, ABSORB_LATE, 8>;

impl<W: Word, O: Order<8>> Aegis128<W, O> {
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
            s.mix(s, [n, k]);
            let mut from = s;
            from.add_context(ctx);
            s.mix(from, [n, k]);
        }
        s.add_context(ctx);
        s
    }

    #[inline(always)]
    fn add_context(&mut self, ctx: W) {
        self.0[3] = self.0[3].xor(ctx);
        self.0[7] = self.0[7].xor(ctx);
    }

    /// Update(M0, M1) (§3.2.3) in Init and Finalize. Words are made of `from`.
    #[inline(always)]
    fn mix(&mut self, from: Self, m: [W; 2]) {
        self.0 = Chosen::<O, MIX, 8>::update(from.0, self.0, m);
    }

    /// Returns the same state. Its key stream stays behind what comes before.
    #[inline(always)]
    fn fence(mut self) -> Self {
        (self.0[2], self.0[6]) = (self.0[2].fence(), self.0[6].fence());
        self
    }

    /// The lengths are absorbed as t = S2 ^ lengths (§3.2.7), in seven updates.
    #[inline(always)]
    fn finalize(&mut self, lengths: W) {
        let t = self.0[2].xor(lengths);
        for _ in 0..FINAL_ROUNDS {
            self.mix(*self, [t, t]);
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

impl<W: Word, O: Order<8>> Steps for Aegis128<W, O> {
    type Step = [W::Blocks; 2];

    const ONE_LOOP: bool = O::PLAN.one_loop;
    const DECRYPTS_TWO: bool = O::PLAN.turn[1] == 2;

    /// Absorb and Update (§3.2.3, §3.2.4).
    #[inline(always)]
    fn absorb(&mut self, [m0, m1]: [W::Blocks; 2]) {
        self.0 = Chosen::<O, ABSORB, 8>::update(self.0, self.0, [W::new(m0), W::new(m1)]);
    }
    /// z0 and z1 of Enc and Dec (§3.2.5, §3.2.6).
    #[inline(always)]
    fn add_keystream(&self, [m0, m1]: [W::Blocks; 2], s1_last: bool) -> [W::Blocks; 2] {
        let [_, s1, s2, s3, _, s5, s6, s7] = self.words();
        if s1_last {
            return [s6.xor_and(s2, s3).xor3(m0, s1), s2.xor_and(s6, s7).xor3(m1, s5)];
        }
        [m0.xor_and(s2, s3).xor3(s6, s1), m1.xor_and(s6, s7).xor3(s2, s5)]
    }
    /// Absorb, Enc or Dec (§3.2.4 to §3.2.6), as the order arranges it.
    #[inline(always)]
    unsafe fn step(&mut self, work: Work, place: impl Place<[W::Blocks; 2]>) {
        let (s, [enc_s1_last, dec_s1_last]) = (*self, O::PLAN.s1_last);
        // SAFETY: the caller promises the step. `self` exists, so the CPU has the features.
        unsafe {
            let input = place.load();
            match (O::PLAN.output, work) {
                (_, Work::Absorb) => self.absorb(input),
                (Output::StoredFirst, _) => {
                    let output = s.add_keystream(input, false);
                    place.store(output);
                    self.absorb(if work == ENCRYPT { input.after(output) } else { output });
                }
                (Output::First, ENCRYPT) => {
                    let c = s.add_keystream(input, enc_s1_last);
                    self.absorb(input);
                    place.store(c);
                }
                (Output::Last | Output::Reloaded, ENCRYPT) => {
                    self.absorb(input);
                    let last = O::PLAN.output == Output::Last;
                    let m = if last { input } else { place.again().load() };
                    place.store(s.fence().add_keystream(m, enc_s1_last));
                }
                (Output::First | Output::Last, DECRYPT) => {
                    let [m0, m1] = s.add_keystream(input, dec_s1_last);
                    self.0 = Late::<O>::update(s.0, s.0, [W::new(m0), W::new(m1)]);
                    place.store([m0, m1]);
                }
                (Output::Reloaded, DECRYPT) => {
                    // The rounds of `absorb_late` have no use for the message, here the ciphertext.
                    let c = [W::new(input[0]), W::new(input[1])];
                    let rounds = Late::<O>::begin(s.0, s.0, c);
                    let [m0, m1] = s.fence().add_keystream(place.again().load(), dec_s1_last);
                    self.0 = Late::<O>::end(rounds, s.0, [W::new(m0), W::new(m1)]);
                    place.store([m0, m1]);
                }
            }
        }
    }
}

// SAFETY: transparent over eight words, whose type implements `Word`; there is nothing else in it.
unsafe impl<W: Word, O: Order<8>> Machine for Aegis128<W, O> {
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
        unsafe {
            match O::PLAN.turn[0] {
                1 => registers::run_steps::<_, 1>(self, work, rows, steps),
                _ => registers::run_steps::<_, 2>(self, work, rows, steps),
            };
        }
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
unsafe impl<V: Blocks + Word<Blocks = V>, O: Order<8>> Batched for Aegis128<V, O> {
    #[inline(always)]
    unsafe fn from_keys([key, _]: [V; 2], [nonce, _]: [V; 2], ctx: V) -> Self {
        // SAFETY: the caller promises the CPU features.
        Self::init(key, nonce, unsafe { constants() }, ctx)
    }
}
