//! The AEGIS-256 state machine (RFC 10032 §4 and §5.5): six words, one block per step.

use super::{
    Batched, C0, C1, FINAL_ROUNDS, Machine, first, load_at, load_word, store_all, store_at,
    truncate_at,
};
use crate::block::{Blocks, Vector, Word};
use crate::memory::Direction;

/// The words S0..S5 of some lanes. `ZEN` chooses what suits AMD's Zen cores without three-way
/// logic: to load the message twice.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Aegis256<W, const ZEN: bool = false>(pub(super) [W; 6]);

impl<W: Word, const ZEN: bool> Aegis256<W, ZEN> {
    /// Update(M), with the message off the chain of S0; see `Aegis128::update`.
    #[inline(always)]
    fn update(&mut self, m: W) {
        if W::IN_MEMORY {
            return W::absorb(&mut self.0, [m, m]);
        }
        let s = self.0;
        self.update_from(s[3], s[5], m);
    }

    /// Update where S4 and S0 are made from other words than S3 and S5.
    #[inline(always)]
    fn update_from(&mut self, from3: W, from5: W, m: W) {
        let s = self.0;
        if W::KEY_FIRST {
            self.0 = Self::rounds(s, from3, from5, s[0].xor(m));
            return;
        }
        let [t, s1, s2, s3, s4, s5] = Self::rounds(s, from3, from5, m);
        self.0 = [t.pin().xor(s[0]).in_order(), s1, s2, s3, s4, s5];
    }

    /// Update for a message that is known late: the message is added last.
    #[inline(always)]
    fn update_late(&mut self, m: W) {
        let s = self.0;
        // SAFETY: `self` exists, so the CPU has the features.
        let [t, s1, s2, s3, s4, s5] = Self::rounds(s, s[3], s[5], unsafe { W::zero() });
        self.0 = [t.pin().xor3(s[0], m), s1, s2, s3, s4, s5];
    }

    #[inline(always)]
    fn round(input: W, round_key: W) -> W {
        input.aes(round_key).in_order()
    }

    /// Whether to load the message once for the rounds and again for the key stream, which saves
    /// registers.
    const LOAD_TWICE: bool = ZEN && !W::THREE_WAY;

    /// Adds the key stream of the next step to that at `src`, after all rounds.
    ///
    /// # Safety
    /// The vector is readable.
    #[inline(always)]
    unsafe fn add_keystream_last(mut self, src: *const u8) -> W::Blocks {
        (self.0[2], self.0[4]) = (self.0[2].in_order(), self.0[4].in_order());
        let [_, s1, s2, s3, s4, s5] = self.plain();
        // SAFETY: the vector is readable. `self` exists, so the CPU has the features.
        let m = unsafe { W::Blocks::load(W::Blocks::again(src)) };
        // S1, which comes from S0, is added last, to keep the path from S0 to S0 short.
        s4.xor(s5).xor(m).pin().xor_and(s2, s3).pin().xor(s1)
    }

    /// Returns the words as blocks.
    #[inline(always)]
    fn plain(&self) -> [W::Blocks; 6] {
        let s = &self.0;
        [s[0].blocks(), s[1].blocks(), s[2].blocks(), s[3].blocks(), s[4].blocks(), s[5].blocks()]
    }

    /// Returns the state that initialization starts from, without context.
    ///
    /// # Safety
    /// The CPU has the features of `W`.
    #[inline(always)]
    pub(super) unsafe fn start([k0, k1]: [W; 2], [n0, n1]: [W; 2]) -> Self {
        // SAFETY: the caller promises the CPU features.
        let (c0, c1) = unsafe { (W::Blocks::splat(C0.as_ptr()), W::Blocks::splat(C1.as_ptr())) };
        let (c0, c1) = (W::new(c0), W::new(c1));
        Self([k0.xor(n0), k1.xor(n1), c1, c0, k0.xor(c0), k1.xor(c1)])
    }

    /// Adds the context words (§5.5.2).
    #[inline(always)]
    pub(super) fn add_context(&mut self, ctx: W) {
        self.0[3] = self.0[3].xor(ctx);
        self.0[5] = self.0[5].xor(ctx);
    }

    /// Returns what goes into S0, and the new S1 to S5.
    #[inline(always)]
    fn rounds(s: [W; 6], from3: W, from5: W, k0: W) -> [W; 6] {
        if W::IN_ORDER {
            // From the last down, each round overwrites its round key, which is not needed again.
            let [t, s5, s4, s3, s2, s1] = W::rounds(
                [from5, s[4], from3, s[2], s[1], s[0]],
                [k0, s[5], s[4], s[3], s[2], s[1]],
            );
            [t, s1, s2, s3, s4, s5]
        } else {
            W::rounds([from5, s[0], s[1], s[2], from3, s[4]], [k0, s[1], s[2], s[3], s[4], s[5]])
        }
    }
}

// SAFETY: transparent over six words, whose type implements `Word`; there is nothing else in it.
unsafe impl<W: Word, const ZEN: bool> Machine for Aegis256<W, ZEN> {
    type V = W::Blocks;
    type Lane = Aegis256<W::Single>;
    type Running = Aegis256<W::Running, ZEN>;
    #[inline(always)]
    fn running(self) -> Self::Running {
        let [s0, s1, s2, s3, s4, s5] = self.0;
        Aegis256([
            s0.running(),
            s1.running(),
            s2.running(),
            s3.running(),
            s4.running(),
            s5.running(),
        ])
    }
    #[inline(always)]
    fn resting(running: Self::Running) -> Self {
        let ([s0, s1, s2, s3, s4, s5], r) = (running.0, W::resting);
        Self([r(s0), r(s1), r(s2), r(s3), r(s4), r(s5)])
    }
    type Step = W::Blocks;
    type Key = [W; 2];
    const BLOCKS: usize = 1;
    const SPILLS: bool = W::SPILLS;
    const LARGE: bool = W::CONVERTS;
    const UNROLL: usize = if W::ROTATES {
        6
    } else if Self::LOAD_TWICE {
        2
    } else {
        1
    };

    #[inline(always)]
    fn first_mac_lane(_tag_len: usize) -> usize {
        1
    }

    #[inline(always)]
    unsafe fn load(src: *const u8, _row: usize) -> W::Blocks {
        // SAFETY: the caller promises the CPU features and a readable vector.
        unsafe { W::Blocks::load(src) }
    }
    #[inline(always)]
    unsafe fn store(step: W::Blocks, dst: *mut u8, _row: usize) {
        // SAFETY: the caller promises a writable vector.
        unsafe { step.store(dst) }
    }
    #[inline(always)]
    unsafe fn load_partial(src: *const u8, _row: usize, len: usize) -> W::Blocks {
        // SAFETY: the caller promises the CPU features and `len` readable bytes.
        unsafe { load_at(src, 0, len) }
    }
    #[inline(always)]
    unsafe fn store_partial(step: W::Blocks, dst: *mut u8, _row: usize, len: usize) {
        // SAFETY: the caller promises `len` writable bytes.
        unsafe { store_at(step, dst, 0, len) }
    }

    #[inline(always)]
    fn truncate(step: W::Blocks, _row: usize, len: usize) -> W::Blocks {
        truncate_at(step, 0, len)
    }

    #[inline(always)]
    unsafe fn load_key(src: *const u8) -> [W; 2] {
        // SAFETY: the caller promises the CPU features and 32 readable bytes.
        unsafe { [W::new(W::Blocks::splat(src)), W::new(W::Blocks::splat(src.add(16)))] }
    }
    #[inline(always)]
    unsafe fn init([k0, k1]: [W; 2], [n0, n1]: [W; 2], ctx: W::Blocks) -> Self {
        // SAFETY: the caller promises the CPU features.
        let mut s = unsafe { Self::start([k0, k1], [n0, n1]) };
        let (k0n0, k1n1, ctx) = (k0.xor(n0), k1.xor(n1), W::new(ctx));
        if W::IN_MEMORY {
            return Self(W::init(s.0, [k0, k1, k0n0, k1n1], ctx, 16));
        }
        // The context stays for a second update; see `Aegis128::init`.
        s.add_context(ctx);
        for _ in 0..4 {
            for [m, n] in [[k0, k1], [k0n0, k1n1]] {
                s.update(m);
                s.update_from(s.0[3].xor(ctx), s.0[5].xor(ctx), n);
            }
        }
        s.add_context(ctx);
        s
    }

    #[inline(always)]
    fn absorb(&mut self, m: W::Blocks) {
        self.update(W::new(m));
    }
    /// Without a key stream to compute, only the chain is left: six rounds and one XOR in six
    /// steps. The second step therefore starts before the first has finished, with the words that
    /// are ready.
    const TWO_AT_ONCE: bool = W::IN_ORDER && W::Blocks::LANES < 4;
    #[inline(always)]
    fn absorb_two(&mut self, m: W::Blocks, n: W::Blocks) {
        if !W::IN_ORDER {
            self.absorb(m);
            self.absorb(n);
            return;
        }
        let (m, n) = (W::new(m), W::new(n));
        let s = self.0;
        let t1 = Self::round(s[5], m);
        let s5 = Self::round(s[4], s[5]);
        let t2 = Self::round(s5, n);
        let s3 = Self::round(s[2], s[3]);
        let s4 = Self::round(s[3], s[4]);
        let next5 = Self::round(s4, s5);
        let next4 = Self::round(s3, s4);
        let s1 = Self::round(s[0], s[1]);
        let s2 = Self::round(s[1], s[2]);
        let next3 = Self::round(s2, s3);
        let next2 = Self::round(s1, s2);
        let s0 = t1.pin().xor(s[0]).in_order();
        let next1 = Self::round(s0, s1);
        self.0 = [t2.pin().xor(s0).in_order(), next1, next2, next3, next4, next5];
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
    fn add_to_last(&mut self, _i: usize, m: W::Blocks) {
        self.0[0] = self.0[0].xor(W::new(m));
    }
    #[inline(always)]
    fn add_keystream(&self, m: W::Blocks) -> W::Blocks {
        let s = &self.0;
        m.xor_and(s[2].blocks(), s[3].blocks()).xor(s[1].xor3(s[4], s[5]).blocks())
    }
    #[inline(always)]
    fn encrypt(&mut self, m: W::Blocks) -> W::Blocks {
        if !W::IN_ORDER {
            let c = self.add_keystream(m);
            self.absorb(m);
            return c;
        }
        let mut before = *self;
        self.absorb(m);
        // Compute the key stream last: nothing depends on it.
        (before.0[2], before.0[4]) = (before.0[2].in_order(), before.0[4].in_order());
        before.add_keystream(m)
    }
    #[inline(always)]
    fn decrypt(&mut self, c: W::Blocks) -> W::Blocks {
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
            // The key stream becomes part of S0. S1, which depends on S0, is added last, to keep
            // the path from S0 through S1 back to S0 short.
            let s = &self.0;
            s[4].blocks()
                .xor_and(s[2].blocks(), s[3].blocks())
                .xor3(s[5].blocks(), c)
                .pin()
                .xor(s[1].blocks())
        };
        self.update_late(W::new(m));
        m
    }
    #[inline(always)]
    unsafe fn encrypt_at(&mut self, src: *const u8, _row: usize) -> W::Blocks {
        // SAFETY: the caller promises readable vectors. `self` exists, so the CPU has the features.
        unsafe {
            let m = W::Blocks::load(src);
            if !Self::LOAD_TWICE {
                return self.encrypt(m);
            }
            let before = *self;
            self.absorb(m);
            before.add_keystream_last(src)
        }
    }
    #[inline(always)]
    unsafe fn decrypt_at(&mut self, src: *const u8, _row: usize) -> W::Blocks {
        // SAFETY: the caller promises readable vectors. `self` exists, so the CPU has the features.
        unsafe {
            if !Self::LOAD_TWICE {
                return self.decrypt(W::Blocks::load(src));
            }
            // S0 is a round key, as in the textbook: only the message is added after.
            let before = *self;
            let s = before.0;
            let [s5, s4, s3, s2, t, s1] = W::rounds(
                [s[4], s[3], s[2], s[1], s[5], s[0]],
                [s[5], s[4], s[3], s[2], s[0], s[1]],
            );
            let m = before.add_keystream_last(src);
            self.0 = [t.pin().xor(W::new(m)).in_order(), s1, s2, s3, s4, s5];
            m
        }
    }
    #[inline(always)]
    fn finalize(&mut self, lengths: W::Blocks) {
        if W::IN_MEMORY {
            W::finalize(&mut self.0, W::new(lengths), FINAL_ROUNDS);
            return;
        }
        let t = self.0[3].xor(W::new(lengths));
        for _ in 0..FINAL_ROUNDS {
            self.update(t);
        }
    }
    #[inline(always)]
    fn tag128(&self) -> W::Blocks {
        let (a, b) = self.tag256();
        a.xor(b)
    }
    #[inline(always)]
    fn tag256(&self) -> (W::Blocks, W::Blocks) {
        let [first, second] = W::sums(&self.0);
        (first.blocks(), second.blocks())
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
            [first.blocks(), second.blocks()]
        }
    }
    #[inline(always)]
    fn step(blocks: [W::Blocks; 2]) -> W::Blocks {
        blocks[0]
    }
    #[inline(always)]
    fn first(&self) -> Self::Lane {
        let [s0, s1, s2, s3, s4, s5] = self.plain();
        Aegis256([first(s0), first(s1), first(s2), first(s3), first(s4), first(s5)])
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
            ])
        }
    }
}

// SAFETY: transparent over six words, whose type implements `Word`; there is nothing else in it.
unsafe impl<V: Blocks + Word<Blocks = V>> Batched for Aegis256<V> {
    const KEY_BLOCKS: usize = 2;
    #[inline(always)]
    fn key(blocks: [V; 2]) -> [V; 2] {
        blocks
    }
    #[inline(always)]
    fn blocks(step: V) -> [V; 2] {
        [step, step]
    }
}
