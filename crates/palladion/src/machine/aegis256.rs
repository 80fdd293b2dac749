//! AEGIS-256 (RFC 10032 §4 and §5.5): six words, one block per step.

use core::marker::PhantomData;

use super::order::{ABSORB, ABSORB_LATE, Chosen, MIX, Order, Output};
use super::registers::{self, Batched, Place, Step, Steps};
use super::{DECRYPT, ENCRYPT, FINAL_ROUNDS, Machine, Rows, Work, constants, load_two};
use crate::block::{Blocks, Vector, Word};

/// The words S0 to S5 of some lanes. `O` is the order of the instructions of a step.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Aegis256<W, O>(pub(super) [W; 6], PhantomData<O>);

type Late<O> = Chosen<O, ABSORB_LATE, 6>;

impl<W: Word, O: Order<6>> Aegis256<W, O> {
    #[inline(always)]
    pub(super) fn new(words: [W; 6]) -> Self {
        Self(words, PhantomData)
    }

    /// Init (§4.2.2, §5.5.2).
    #[inline(always)]
    fn init(k: [W; 2], n: [W; 2], c: [W; 2], ctx: W) -> Self {
        let mut s = Self::new(start256(k, n, c));
        let kn = [k[0].xor(n[0]), k[1].xor(n[1])];
        // The standard adds the context to S3 and S5 before each of 16 updates. As round keys of
        // their successors, they keep it for a second update.
        s.add_context(ctx);
        for _ in 0..4 {
            for [m, n] in [k, kn] {
                s.mix(s, m);
                let mut from = s;
                from.add_context(ctx);
                s.mix(from, n);
            }
        }
        s.add_context(ctx);
        s
    }

    #[inline(always)]
    pub(super) fn add_context(&mut self, ctx: W) {
        self.0[3] = self.0[3].xor(ctx);
        self.0[5] = self.0[5].xor(ctx);
    }

    /// Update(M) (§4.2.3) in Init and Finalize. Words are made of `from`.
    #[inline(always)]
    fn mix(&mut self, from: Self, m: W) {
        self.0 = Chosen::<O, MIX, 6>::update(from.0, self.0, [m]);
    }

    /// Returns the same state. Its key stream stays behind what comes before.
    #[inline(always)]
    fn fence(mut self) -> Self {
        (self.0[2], self.0[4]) = (self.0[2].fence(), self.0[4].fence());
        self
    }

    /// The lengths are absorbed as t = S3 ^ lengths (§4.2.7), in seven updates.
    #[inline(always)]
    fn finalize(&mut self, lengths: W) {
        let t = self.0[3].xor(lengths);
        for _ in 0..FINAL_ROUNDS {
            self.mix(*self, t);
        }
    }

    /// The tag (§4.2.7).
    #[inline(always)]
    pub(super) fn tag(&self, tag_len: usize) -> [W::Blocks; 2] {
        let s = &self.0;
        let (first, second) = (s[0].xor3(s[1], s[2]).blocks(), s[3].xor3(s[4], s[5]).blocks());
        if tag_len == 16 { [first.xor(second); 2] } else { [first, second] }
    }
}

/// The state before initialisation (§4.2.2).
#[inline(always)]
pub(crate) fn start256<W: Vector>(k: [W; 2], n: [W; 2], [c0, c1]: [W; 2]) -> [W; 6] {
    [k[0].xor(n[0]), k[1].xor(n[1]), c1, c0, k[0].xor(c0), k[1].xor(c1)]
}

impl<W: Word, O: Order<6>> Steps for Aegis256<W, O> {
    type Step = [W::Blocks; 1];

    const ONE_LOOP: bool = O::PLAN.one_loop;
    const DECRYPTS_TWO: bool = O::PLAN.turn[1] == 2;
    /// Four lanes wait for the AES units, not for the step before.
    const OVERLAPS: bool = O::PLAN.overlaps && W::Blocks::LANES < 4;

    /// Absorb and Update (§4.2.3, §4.2.4).
    #[inline(always)]
    fn absorb(&mut self, [m]: [W::Blocks; 1]) {
        self.0 = Chosen::<O, ABSORB, 6>::update(self.0, self.0, [W::new(m)]);
    }
    /// z of Enc and Dec (§4.2.5, §4.2.6).
    #[inline(always)]
    fn add_keystream(&self, [m]: [W::Blocks; 1], s1_last: bool) -> [W::Blocks; 1] {
        if s1_last {
            let [_, s1, s2, s3, s4, s5, ..] = self.words();
            return [s4.xor(s5).xor(m).pin().xor_and(s2, s3).pin().xor(s1)];
        }
        let s = &self.0;
        [m.xor_and(s[2].blocks(), s[3].blocks()).xor(s[1].xor3(s[4], s[5]).blocks())]
    }
    /// Absorb, Enc or Dec (§4.2.4 to §4.2.6), as the order arranges it.
    #[inline(always)]
    unsafe fn step(&mut self, work: Work, place: impl Place<[W::Blocks; 1]>) {
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
                    let [m] = s.add_keystream(input, dec_s1_last);
                    self.0 = Late::<O>::update(s.0, s.0, [W::new(m)]);
                    place.store([m]);
                }
                (Output::Reloaded, DECRYPT) => {
                    // The rounds of `absorb_late` have no use for the message, here the ciphertext.
                    let rounds = Late::<O>::begin(s.0, s.0, [W::new(input[0])]);
                    let [m] = s.fence().add_keystream(place.again().load(), dec_s1_last);
                    self.0 = Late::<O>::end(rounds, s.0, [W::new(m)]);
                    place.store([m]);
                }
            }
        }
    }
    #[inline(always)]
    fn absorb_two(&mut self, [m]: [W::Blocks; 1], [n]: [W::Blocks; 1]) {
        self.0 = two_updates(self.0, W::new(m), W::new(n));
    }
}

/// Two updates in the order of [`ShortChain`](super::order::ShortChain), overlapping: the second
/// takes the words that are ready.
#[inline(always)]
fn two_updates<W: Word>(s: [W; 6], m: W, n: W) -> [W; 6] {
    let t1 = s[5].aes(m).fence();
    let s5 = s[4].aes(s[5]).fence();
    let t2 = s5.aes(n).fence();
    let s3 = s[2].aes(s[3]).fence();
    let s4 = s[3].aes(s[4]).fence();
    let next5 = s4.aes(s5).fence();
    let next4 = s3.aes(s4).fence();
    let s1 = s[0].aes(s[1]).fence();
    let s2 = s[1].aes(s[2]).fence();
    let next3 = s2.aes(s3).fence();
    let next2 = s1.aes(s2).fence();
    let s0 = t1.pin().xor(s[0]).fence();
    let next1 = s0.aes(s1).fence();
    [t2.pin().xor(s0).fence(), next1, next2, next3, next4, next5]
}

// SAFETY: transparent over six words, whose type implements `Word`; there is nothing else in it.
unsafe impl<W: Word, O: Order<6>> Machine for Aegis256<W, O> {
    type V = W::Blocks;
    type Lane = Aegis256<W::Single, O>;
    const RATE: usize = 1;
    const SPILLS: bool = W::SPILLS;

    #[inline(always)]
    unsafe fn init(key: *const u8, nonce: *const u8, ctx: W::Blocks) -> Self {
        // SAFETY: the caller promises the CPU features and a readable key and nonce of 32 bytes.
        unsafe { Self::init(load_two(key), load_two(nonce), constants(), W::new(ctx)) }
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
    fn absorb_blocks(&mut self, [m, _]: [W::Blocks; 2]) {
        self.absorb([m]);
    }
    #[inline(always)]
    unsafe fn keystream(&self, dst: *mut u8, row: usize) {
        // SAFETY: the caller promises the same.
        unsafe { registers::keystream(self, dst, row) }
    }
    #[inline(always)]
    fn finish(&mut self, lengths: W::Blocks, tag_len: usize) -> [W::Blocks; 2] {
        self.finalize(W::new(lengths));
        self.tag(tag_len)
    }
    #[inline(always)]
    fn words(&self) -> [W::Blocks; 8] {
        let s = &self.0;
        let (s0, s1, s2) = (s[0].blocks(), s[1].blocks(), s[2].blocks());
        [s0, s1, s2, s[3].blocks(), s[4].blocks(), s[5].blocks(), s0, s0]
    }
    #[inline(always)]
    unsafe fn from_words([a, b, c, d, e, f, ..]: [W::Blocks; 8]) -> Self {
        let (s0, s1, s2) = (W::new(a), W::new(b), W::new(c));
        Self::new([s0, s1, s2, W::new(d), W::new(e), W::new(f)])
    }
}

// SAFETY: the same as for `Machine`.
unsafe impl<V: Blocks + Word<Blocks = V>, O: Order<6>> Batched for Aegis256<V, O> {
    #[inline(always)]
    unsafe fn from_keys(key: [V; 2], nonce: [V; 2], ctx: V) -> Self {
        // SAFETY: the caller promises the CPU features.
        Self::init(key, nonce, unsafe { constants() }, ctx)
    }
}
