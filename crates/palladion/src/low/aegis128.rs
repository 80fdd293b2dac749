//! The AEGIS-128 state machine (RFC 10032 §3 and §5.4): eight words, two blocks a step.

use super::blocks::Blocks;
use super::machine::{Batched, C0, C1, FINAL_ROUNDS, Machine, load_at, store_all, store_at, truncate_at};

/// The words S0..S7 of `V::LANES` lanes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Aegis128<V>([V; 8]);

impl<V: Blocks> Aegis128<V> {
    /// Update(M0, M1). The standard adds a message block to S0 (S4) before it becomes the round key. Here the block
    /// itself is the round key and S0 (S4) is added after the round, which takes the message off the chain from one
    /// step's S0 to the next.
    #[inline(always)]
    fn update(&mut self, m0: V, m1: V) {
        let s = self.0;
        let [t0, s1, s2, s3, t4, s5, s6, s7] = Self::rounds(s, m0, m1);
        self.0 = [t0.pin().xor(s[0]).in_order(), s1, s2, s3, t4.pin().xor(s[4]).in_order(), s5, s6, s7];
    }

    /// Update for a message that is known late, as in decryption: it is added last of all.
    #[inline(always)]
    fn update_late(&mut self, m0: V, m1: V) {
        let s = self.0;
        // SAFETY: `self` is proof of the CPU features.
        let zero = unsafe { V::zero() };
        let [t0, s1, s2, s3, t4, s5, s6, s7] = Self::rounds(s, zero, zero);
        self.0 = [t0.pin().xor3(s[0], m0), s1, s2, s3, t4.pin().xor3(s[4], m1), s5, s6, s7];
    }

    /// What goes into S0, the new S1 to S3, what goes into S4, and the new S5 to S7.
    #[inline(always)]
    fn rounds(s: [V; 8], k0: V, k4: V) -> [V; 8] {
        if V::IN_ORDER {
            // From the last down, each round is written over its round key, which is read no more.
            let [t0, t4, s7, s3, s6, s2, s5, s1] = V::rounds(
                [s[7], s[3], s[6], s[2], s[5], s[1], s[4], s[0]],
                [k0, k4, s[7], s[3], s[6], s[2], s[5], s[1]],
            );
            [t0, s1, s2, s3, t4, s5, s6, s7]
        } else {
            V::rounds(
                [s[7], s[0], s[1], s[2], s[3], s[4], s[5], s[6]],
                [k0, s[1], s[2], s[3], k4, s[5], s[6], s[7]],
            )
        }
    }
}

// SAFETY: transparent over its words; all work is done by `V`.
unsafe impl<V: Blocks> Machine for Aegis128<V> {
    type V = V;
    type Lane = Aegis128<V::Lane>;
    type Step = [V; 2];
    type Key = V;
    const BLOCKS: usize = 2;

    #[inline(always)]
    fn first_mac_lane(tag_len: usize) -> usize {
        if tag_len == 16 { 0 } else { 1 }
    }

    #[inline(always)]
    unsafe fn load(src: *const u8, row: usize) -> [V; 2] {
        // SAFETY: the caller grants the features and both vectors.
        unsafe { [V::load(src), V::load(src.add(row))] }
    }
    #[inline(always)]
    unsafe fn store(step: [V; 2], dst: *mut u8, row: usize) {
        // SAFETY: the caller grants both vectors.
        unsafe {
            step[0].store(dst);
            step[1].store(dst.add(row));
        }
    }
    #[inline(always)]
    unsafe fn load_partial(src: *const u8, row: usize, len: usize) -> [V; 2] {
        // SAFETY: the caller grants the features and `len` bytes.
        unsafe { [load_at(src, 0, len), load_at(src, row, len)] }
    }
    #[inline(always)]
    unsafe fn store_partial(step: [V; 2], dst: *mut u8, row: usize, len: usize) {
        // SAFETY: the caller grants `len` bytes.
        unsafe {
            store_at(step[0], dst, 0, len);
            store_at(step[1], dst, row, len);
        }
    }

    #[inline(always)]
    fn truncate(step: [V; 2], row: usize, len: usize) -> [V; 2] {
        [truncate_at(step[0], 0, len), truncate_at(step[1], row, len)]
    }

    #[inline(always)]
    unsafe fn load_key(src: *const u8) -> V {
        // SAFETY: the caller grants the features and 16 bytes.
        unsafe { V::splat(src) }
    }
    #[inline(always)]
    unsafe fn init(k: V, n: V, ctx: V) -> Self {
        // SAFETY: the caller grants the features.
        let (c0, c1) = unsafe { (V::splat(C0.as_ptr()), V::splat(C1.as_ptr())) };
        let mut s = Self([k.xor(n), c1, c0, c1, k.xor(n), k.xor(c0), k.xor(c1), k.xor(c0)]);
        for _ in 0..10 {
            s.0[3] = s.0[3].xor(ctx);
            s.0[7] = s.0[7].xor(ctx);
            s.update(n, k);
        }
        s
    }

    #[inline(always)]
    fn absorb(&mut self, m: [V; 2]) {
        self.update(m[0], m[1]);
    }
    #[inline(always)]
    fn keystream(&self) -> [V; 2] {
        let s = &self.0;
        [s[6].xor(s[1]).xor_and(s[2], s[3]), s[2].xor(s[5]).xor_and(s[6], s[7])]
    }
    #[inline(always)]
    fn encrypt(&mut self, m: [V; 2]) -> [V; 2] {
        let mut before = *self;
        if !V::IN_ORDER {
            let z = self.keystream();
            self.update(m[0], m[1]);
            return Self::xor(m, z);
        }
        self.update(m[0], m[1]);
        // The key stream is in no hurry: it comes last.
        (before.0[2], before.0[6]) = (before.0[2].in_order(), before.0[6].in_order());
        Self::xor(before.keystream(), m)
    }
    #[inline(always)]
    fn decrypt(&mut self, c: [V; 2]) -> [V; 2] {
        let m = if V::THREE_WAY {
            Self::xor(c, self.keystream())
        } else {
            // The key stream becomes part of S0 and S4. S1 and S5, which are made from them, are added last: so the way
            // from S0 over S1 back to S0 is short.
            let s = &self.0;
            [s[6].xor_and(s[2], s[3]).xor3(c[0], s[1]), s[2].xor_and(s[6], s[7]).xor3(c[1], s[5])]
        };
        self.update_late(m[0], m[1]);
        m
    }
    #[inline(always)]
    fn xor(a: [V; 2], b: [V; 2]) -> [V; 2] {
        [a[0].xor(b[0]), a[1].xor(b[1])]
    }
    #[inline(always)]
    fn finalize(&mut self, lengths: V) {
        let t = self.0[2].xor(lengths);
        for _ in 0..FINAL_ROUNDS {
            self.update(t, t);
        }
    }
    #[inline(always)]
    fn tag128(&self) -> V {
        let s = &self.0;
        s[0].xor3(s[1], s[2]).xor3(s[3], s[4]).xor3(s[5], s[6])
    }
    #[inline(always)]
    fn tag256(&self) -> (V, V) {
        let s = &self.0;
        (s[0].xor3(s[1], s[2]).xor(s[3]), s[4].xor3(s[5], s[6]).xor(s[7]))
    }
    #[inline(always)]
    fn step(blocks: [V; 2]) -> [V; 2] {
        blocks
    }
    #[inline(always)]
    fn first(&self) -> Self::Lane {
        let s = &self.0;
        Aegis128([
            s[0].first(),
            s[1].first(),
            s[2].first(),
            s[3].first(),
            s[4].first(),
            s[5].first(),
            s[6].first(),
            s[7].first(),
        ])
    }
    #[inline(always)]
    unsafe fn store_words(&self, dst: *mut u8, stride: usize) {
        // SAFETY: passed on.
        unsafe { store_all(&self.0, dst, stride) }
    }
}

// SAFETY: as above.
unsafe impl<V: Blocks> Batched for Aegis128<V> {
    const KEY_BLOCKS: usize = 1;
    #[inline(always)]
    fn key(blocks: [V; 2]) -> V {
        blocks[0]
    }
    #[inline(always)]
    fn blocks(step: [V; 2]) -> [V; 2] {
        step
    }
    #[inline(always)]
    fn words(&mut self) -> &mut [V] {
        &mut self.0
    }
}
