//! The AEGIS-128 state machine (RFC 10032 §3 and §5.4): eight words, two blocks per step.

use super::{
    Batched, C0, C1, FINAL_ROUNDS, Machine, first, load_at, load_word, store_all, store_at,
    truncate_at,
};
use crate::block::{Blocks, Vector, Word};
use crate::memory::Direction;

/// The words S0..S7 of some lanes. `ZEN` chooses what suits AMD's Zen cores (docs/performance.md):
/// with three-way logic, a step's rounds go from the first word up, those of the message last,
/// instead of from the last word down, those of the message first. Without, the message is loaded
/// twice, and one lane is initialised and finalised with rounds from the first word up.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Aegis128<W, const ZEN: bool = false>([W; 8]);

/// What a step is part of, which decides about the order of its rounds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Initialisation or finalisation.
    Mix,
    /// Encryption, or absorbing data.
    Absorb,
    /// Decryption.
    Decrypt,
}

impl<W: Word, const ZEN: bool> Aegis128<W, ZEN> {
    /// Update(M0, M1). The standard adds a message block to S0 (S4) before that becomes a round
    /// key. Here the block itself is the round key, and S0 (S4) is added after the round. The
    /// result is the same, and the message is not on the chain from one step's S0 to the next.
    #[inline(always)]
    fn update(&mut self, m0: W, m1: W, phase: Phase) {
        if W::IN_MEMORY {
            return W::absorb(&mut self.0, [m0, m1]);
        }
        let s = self.0;
        self.update_from(s[3], s[7], m0, m1, phase);
    }

    /// Update where S4 and S0 are made from other words than S3 and S7.
    #[inline(always)]
    fn update_from(&mut self, from3: W, from7: W, m0: W, m1: W, phase: Phase) {
        let s = self.0;
        if W::KEY_FIRST {
            let (k0, k4) = (s[0].xor(m0), s[4].xor(m1));
            self.0 = Self::rounds(s, from3, from7, k0, k4, phase);
            return;
        }
        let [t0, s1, s2, s3, t4, s5, s6, s7] = Self::rounds(s, from3, from7, m0, m1, phase);
        self.0 =
            [t0.pin().xor(s[0]).in_order(), s1, s2, s3, t4.pin().xor(s[4]).in_order(), s5, s6, s7];
    }

    /// Update for a message that is known late, as in decryption: the message is added last.
    #[inline(always)]
    fn update_late(&mut self, m0: W, m1: W) {
        let s = self.0;
        if !W::IN_ORDER {
            // S0 and S4 are round keys, as in the textbook, which saves two instructions.
            // AEGIS-256, with fewer rounds in a step, would wait for S0 where a round takes long.
            let [t0, s1, s2, s3, t4, s5, s6, s7] =
                Self::rounds(s, s[3], s[7], s[0], s[4], Phase::Decrypt);
            self.0 = [t0.pin().xor(m0), s1, s2, s3, t4.pin().xor(m1), s5, s6, s7];
            return;
        }
        // SAFETY: `self` exists, so the CPU has the features.
        let zero = unsafe { W::zero() };
        let [t0, s1, s2, s3, t4, s5, s6, s7] =
            Self::rounds(s, s[3], s[7], zero, zero, Phase::Decrypt);
        self.0 = [t0.pin().xor3(s[0], m0), s1, s2, s3, t4.pin().xor3(s[4], m1), s5, s6, s7];
    }

    /// Whether to load the message once for the rounds and again for the key stream, which saves
    /// registers.
    const LOAD_TWICE: bool = ZEN && !W::THREE_WAY;

    /// Adds the key stream of the next step to that at `src`, after all rounds.
    ///
    /// # Safety
    /// Both vectors are readable.
    #[inline(always)]
    unsafe fn add_keystream_last(mut self, src: *const u8, row: usize) -> [W::Blocks; 2] {
        (self.0[2], self.0[6]) = (self.0[2].in_order(), self.0[6].in_order());
        let src = W::Blocks::again(src);
        // SAFETY: the caller promises readable vectors. `self` exists, so the CPU has the features.
        let m = unsafe { [W::Blocks::load(src), W::Blocks::load(src.add(row))] };
        self.add_keystream(m)
    }

    /// Returns the words as blocks.
    #[inline(always)]
    fn plain(&self) -> [W::Blocks; 8] {
        let s = &self.0;
        [
            s[0].blocks(),
            s[1].blocks(),
            s[2].blocks(),
            s[3].blocks(),
            s[4].blocks(),
            s[5].blocks(),
            s[6].blocks(),
            s[7].blocks(),
        ]
    }

    /// Adds the context words (§5.4.2).
    #[inline(always)]
    fn add_context(&mut self, ctx: W) {
        self.0[3] = self.0[3].xor(ctx);
        self.0[7] = self.0[7].xor(ctx);
    }

    /// Returns the state with these words.
    #[inline(always)]
    pub(super) fn new(words: [W; 8]) -> Self {
        Self(words)
    }
    /// Returns the words.
    #[inline(always)]
    pub(super) fn into_words(self) -> [W; 8] {
        self.0
    }

    /// Returns what goes into S0, the new S1 to S3, what goes into S4, and the new S5 to S7.
    #[inline(always)]
    fn rounds(s: [W; 8], from3: W, from7: W, k0: W, k4: W, phase: Phase) -> [W; 8] {
        if ZEN && W::THREE_WAY {
            let input = [s[0], s[1], s[2], s[4], s[5], s[6], from7, from3];
            let round_keys = [s[1], s[2], s[3], s[5], s[6], s[7], k0, k4];
            let [s1, s2, s3, s5, s6, s7, t0, t4] = if phase == Phase::Decrypt {
                W::rounds(input, round_keys)
            } else {
                W::rounds_exactly(input, round_keys)
            };
            [t0, s1, s2, s3, t4, s5, s6, s7]
        } else if ZEN && W::Blocks::LANES == 1 && phase == Phase::Mix {
            let [s1, s2, s3, t4, s5, s6, s7, t0] = W::rounds(
                [s[0], s[1], s[2], from3, s[4], s[5], s[6], from7],
                [s[1], s[2], s[3], k4, s[5], s[6], s[7], k0],
            );
            [t0, s1, s2, s3, t4, s5, s6, s7]
        } else if W::IN_ORDER {
            // From the last down, each round overwrites its round key, which is not needed again.
            let [t0, t4, s7, s3, s6, s2, s5, s1] = W::rounds(
                [from7, from3, s[6], s[2], s[5], s[1], s[4], s[0]],
                [k0, k4, s[7], s[3], s[6], s[2], s[5], s[1]],
            );
            [t0, s1, s2, s3, t4, s5, s6, s7]
        } else {
            W::rounds(
                [from7, s[0], s[1], s[2], from3, s[4], s[5], s[6]],
                [k0, s[1], s[2], s[3], k4, s[5], s[6], s[7]],
            )
        }
    }
}

// SAFETY: transparent over eight words, whose type implements `Word`; there is nothing else in it.
unsafe impl<W: Word, const ZEN: bool> Machine for Aegis128<W, ZEN> {
    type V = W::Blocks;
    type Lane = Aegis128<W::Single>;
    type Running = Aegis128<W::Running, ZEN>;
    #[inline(always)]
    fn running(self) -> Self::Running {
        let [s0, s1, s2, s3, s4, s5, s6, s7] = self.0;
        Aegis128([
            s0.running(),
            s1.running(),
            s2.running(),
            s3.running(),
            s4.running(),
            s5.running(),
            s6.running(),
            s7.running(),
        ])
    }
    #[inline(always)]
    fn resting(running: Self::Running) -> Self {
        let ([s0, s1, s2, s3, s4, s5, s6, s7], r) = (running.0, W::resting);
        Self([r(s0), r(s1), r(s2), r(s3), r(s4), r(s5), r(s6), r(s7)])
    }
    type Step = [W::Blocks; 2];
    type Key = W;
    const BLOCKS: usize = 2;
    const SPILLS: bool = W::SPILLS;
    const LARGE: bool = W::CONVERTS;
    const UNROLL: usize = if W::ROTATES {
        8
    } else if Self::LOAD_TWICE {
        2
    } else {
        1
    };

    #[inline(always)]
    fn first_mac_lane(tag_len: usize) -> usize {
        if tag_len == 16 { 0 } else { 1 }
    }

    #[inline(always)]
    unsafe fn load(src: *const u8, row: usize) -> [W::Blocks; 2] {
        // SAFETY: the caller promises the CPU features and two readable vectors.
        unsafe { [W::Blocks::load(src), W::Blocks::load(src.add(row))] }
    }
    #[inline(always)]
    unsafe fn store(step: [W::Blocks; 2], dst: *mut u8, row: usize) {
        // SAFETY: the caller promises two writable vectors.
        unsafe {
            step[0].store(dst);
            step[1].store(dst.add(row));
        }
    }
    #[inline(always)]
    unsafe fn load_partial(src: *const u8, row: usize, len: usize) -> [W::Blocks; 2] {
        // SAFETY: the caller promises the CPU features and `len` readable bytes.
        unsafe { [load_at(src, 0, len), load_at(src, row, len)] }
    }
    #[inline(always)]
    unsafe fn store_partial(step: [W::Blocks; 2], dst: *mut u8, row: usize, len: usize) {
        // SAFETY: the caller promises `len` writable bytes.
        unsafe {
            store_at(step[0], dst, 0, len);
            store_at(step[1], dst, row, len);
        }
    }

    #[inline(always)]
    fn truncate(step: [W::Blocks; 2], row: usize, len: usize) -> [W::Blocks; 2] {
        [truncate_at(step[0], 0, len), truncate_at(step[1], row, len)]
    }

    #[inline(always)]
    unsafe fn load_key(src: *const u8) -> W {
        // SAFETY: the caller promises the CPU features and 16 readable bytes.
        W::new(unsafe { W::Blocks::splat(src) })
    }
    #[inline(always)]
    unsafe fn init(k: W, n: W, ctx: W::Blocks) -> Self {
        // SAFETY: the caller promises the CPU features.
        let (c0, c1) = unsafe { (W::Blocks::splat(C0.as_ptr()), W::Blocks::splat(C1.as_ptr())) };
        let (c0, c1, ctx) = (W::new(c0), W::new(c1), W::new(ctx));
        let words = [k.xor(n), c1, c0, c1, k.xor(n), k.xor(c0), k.xor(c1), k.xor(c0)];
        if W::IN_MEMORY {
            return Self(W::init(words, [n, k, n, k], ctx, 10));
        }
        let mut s = Self(words);
        // The standard adds the context to S3 and S7 before every update. They are round keys of
        // their successors, so the context stays in them for a second update.
        s.add_context(ctx);
        for _ in 0..5 {
            s.update(n, k, Phase::Mix);
            s.update_from(s.0[3].xor(ctx), s.0[7].xor(ctx), n, k, Phase::Mix);
        }
        s.add_context(ctx);
        s
    }

    #[inline(always)]
    fn absorb(&mut self, m: [W::Blocks; 2]) {
        self.update(W::new(m[0]), W::new(m[1]), Phase::Absorb);
    }
    const IN_MEMORY: bool = W::IN_MEMORY;
    #[inline(always)]
    unsafe fn process_all(
        &mut self,
        direction: Option<Direction>,
        src: *const u8,
        dst: *mut u8,
        row: usize,
        steps: usize,
    ) {
        // SAFETY: the caller promises the same.
        unsafe { W::process(&mut self.0, direction, src, dst, row, steps) }
    }
    #[inline(always)]
    fn add_to_last(&mut self, i: usize, m: W::Blocks) {
        let word = &mut self.0[4 * (i & 1)]; // `&` avoids a bounds check
        *word = word.xor(W::new(m));
    }
    #[inline(always)]
    fn add_keystream(&self, m: [W::Blocks; 2]) -> [W::Blocks; 2] {
        let [_, s1, s2, s3, _, s5, s6, s7] = self.plain();
        [m[0].xor_and(s2, s3).xor3(s6, s1), m[1].xor_and(s6, s7).xor3(s2, s5)]
    }
    #[inline(always)]
    fn encrypt(&mut self, m: [W::Blocks; 2]) -> [W::Blocks; 2] {
        if !W::IN_ORDER {
            // The ciphertext first, so that the message need not stay in registers.
            let c = self.add_keystream(m);
            self.absorb(m);
            return c;
        }
        let mut before = *self;
        self.absorb(m);
        // Compute the key stream last: nothing depends on it.
        (before.0[2], before.0[6]) = (before.0[2].in_order(), before.0[6].in_order());
        before.add_keystream(m)
    }
    #[inline(always)]
    fn decrypt(&mut self, c: [W::Blocks; 2]) -> [W::Blocks; 2] {
        if W::CONVERTS || W::KEY_FIRST {
            // The rounds wait for an execution unit and not for the step before, or an XOR before a
            // round takes no time, so another order gains nothing.
            let m = self.add_keystream(c);
            self.absorb(m);
            return m;
        }
        let m = if W::THREE_WAY {
            self.add_keystream(c)
        } else {
            // The key stream becomes part of S0 and S4. S1 and S5, which depend on those, are added
            // last, to keep the path from S0 through S1 back to S0 short.
            let [_, s1, s2, s3, _, s5, s6, s7] = self.plain();
            [s6.xor_and(s2, s3).xor3(c[0], s1), s2.xor_and(s6, s7).xor3(c[1], s5)]
        };
        self.update_late(W::new(m[0]), W::new(m[1]));
        m
    }
    #[inline(always)]
    unsafe fn encrypt_at(&mut self, src: *const u8, row: usize) -> [W::Blocks; 2] {
        // SAFETY: the caller promises readable vectors. `self` exists, so the CPU has the features.
        unsafe {
            let m = Self::load(src, row);
            if !Self::LOAD_TWICE {
                return self.encrypt(m);
            }
            let before = *self;
            self.absorb(m);
            before.add_keystream_last(src, row)
        }
    }
    #[inline(always)]
    unsafe fn decrypt_at(&mut self, src: *const u8, row: usize) -> [W::Blocks; 2] {
        // SAFETY: the caller promises readable vectors. `self` exists, so the CPU has the features.
        unsafe {
            if !Self::LOAD_TWICE {
                return self.decrypt(Self::load(src, row));
            }
            // S0 and S4 are round keys, as in the textbook: only the message is added after.
            let before = *self;
            let s = before.0;
            let [s7, s3, s6, s2, s5, s1, t0, t4] = W::rounds(
                [s[6], s[2], s[5], s[1], s[4], s[0], s[7], s[3]],
                [s[7], s[3], s[6], s[2], s[5], s[1], s[0], s[4]],
            );
            let m = before.add_keystream_last(src, row);
            let (s0, s4) = (t0.pin().xor(W::new(m[0])), t4.pin().xor(W::new(m[1])));
            self.0 = [s0.in_order(), s1, s2, s3, s4.in_order(), s5, s6, s7];
            m
        }
    }
    #[inline(always)]
    fn finalize(&mut self, lengths: W::Blocks) {
        if W::IN_MEMORY {
            W::finalize(&mut self.0, W::new(lengths), FINAL_ROUNDS);
            return;
        }
        let t = self.0[2].xor(W::new(lengths));
        for _ in 0..FINAL_ROUNDS {
            self.update(t, t, Phase::Mix);
        }
    }
    #[inline(always)]
    fn tag128(&self) -> W::Blocks {
        let s = &self.0;
        s[0].xor3(s[1], s[2]).xor3(s[3], s[4]).xor3(s[5], s[6]).blocks()
    }
    #[inline(always)]
    fn tag256(&self) -> (W::Blocks, W::Blocks) {
        let [first, second] = W::sums(&self.0);
        (first.blocks(), second.xor(self.0[7]).blocks())
    }
    #[inline(always)]
    fn finish(&mut self, lengths: W::Blocks, tag_len: usize) -> [W::Blocks; 2] {
        if !W::IN_MEMORY {
            self.finalize(lengths);
            return self.tag(tag_len);
        }
        let [first, second] = W::finalize(&mut self.0, W::new(lengths), FINAL_ROUNDS);
        if tag_len == 16 {
            [first.xor(second).blocks(); 2]
        } else {
            [first.blocks(), second.xor(self.0[7]).blocks()]
        }
    }
    #[inline(always)]
    fn step(blocks: [W::Blocks; 2]) -> [W::Blocks; 2] {
        blocks
    }
    #[inline(always)]
    fn first(&self) -> Self::Lane {
        let [s0, s1, s2, s3, s4, s5, s6, s7] = self.plain();
        Aegis128([
            first(s0),
            first(s1),
            first(s2),
            first(s3),
            first(s4),
            first(s5),
            first(s6),
            first(s7),
        ])
    }
    #[inline(always)]
    unsafe fn store_words(&self, dst: *mut u8, stride: usize) {
        // SAFETY: the caller promises that each word is writable.
        unsafe { store_all(&self.plain(), dst, stride) }
    }
    #[inline(always)]
    unsafe fn load_words(src: *const u8, stride: usize) -> Self {
        // SAFETY: the caller promises the CPU features, and that each word is readable.
        unsafe {
            Self([
                W::new(load_word(src, stride, 0)),
                W::new(load_word(src, stride, 1)),
                W::new(load_word(src, stride, 2)),
                W::new(load_word(src, stride, 3)),
                W::new(load_word(src, stride, 4)),
                W::new(load_word(src, stride, 5)),
                W::new(load_word(src, stride, 6)),
                W::new(load_word(src, stride, 7)),
            ])
        }
    }
}

// SAFETY: transparent over eight words, whose type implements `Word`; there is nothing else in it.
unsafe impl<V: Blocks + Word<Blocks = V>> Batched for Aegis128<V> {
    const KEY_BLOCKS: usize = 1;
    #[inline(always)]
    fn key(blocks: [V; 2]) -> V {
        blocks[0]
    }
    #[inline(always)]
    fn blocks(step: [V; 2]) -> [V; 2] {
        step
    }
}
