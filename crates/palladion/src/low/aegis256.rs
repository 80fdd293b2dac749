//! The AEGIS-256 state machine (RFC 10032 §4 and §5.5): six words, one block a step.

use super::blocks::Blocks;
use super::machine::{Batched, C0, C1, FINAL_ROUNDS, Machine, load_at, store_all, store_at, truncate_at};

/// The words S0..S5 of `V::LANES` lanes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Aegis256<V>([V; 6]);

impl<V: Blocks> Aegis256<V> {
    /// Update(M), with the message off the chain of S0: see `Aegis128::update`.
    #[inline(always)]
    fn update(&mut self, m: V) {
        let s = self.0;
        let [t, s1, s2, s3, s4, s5] = Self::rounds(s, m);
        self.0 = [t.pin().xor(s[0]).in_order(), s1, s2, s3, s4, s5];
    }

    /// Update for a message that is known late: it is added last of all.
    #[inline(always)]
    fn update_late(&mut self, m: V) {
        let s = self.0;
        // SAFETY: `self` is proof of the CPU features.
        let [t, s1, s2, s3, s4, s5] = Self::rounds(s, unsafe { V::zero() });
        self.0 = [t.pin().xor3(s[0], m), s1, s2, s3, s4, s5];
    }

    #[inline(always)]
    fn round(input: V, round_key: V) -> V {
        input.aes(round_key).in_order()
    }

    /// What goes into S0, and the new S1 to S5.
    #[inline(always)]
    fn rounds(s: [V; 6], k0: V) -> [V; 6] {
        if V::IN_ORDER {
            // From the last down, each round is written over its round key, which is read no more.
            let [t, s5, s4, s3, s2, s1] =
                V::rounds([s[5], s[4], s[3], s[2], s[1], s[0]], [k0, s[5], s[4], s[3], s[2], s[1]]);
            [t, s1, s2, s3, s4, s5]
        } else {
            V::rounds([s[5], s[0], s[1], s[2], s[3], s[4]], [k0, s[1], s[2], s[3], s[4], s[5]])
        }
    }
}

// SAFETY: transparent over its words; all work is done by `V`.
unsafe impl<V: Blocks> Machine for Aegis256<V> {
    type V = V;
    type Lane = Aegis256<V::Lane>;
    type Step = V;
    type Key = [V; 2];
    const BLOCKS: usize = 1;

    #[inline(always)]
    fn first_mac_lane(_tag_len: usize) -> usize {
        1
    }

    #[inline(always)]
    unsafe fn load(src: *const u8, _row: usize) -> V {
        // SAFETY: the caller grants the features and the vector.
        unsafe { V::load(src) }
    }
    #[inline(always)]
    unsafe fn store(step: V, dst: *mut u8, _row: usize) {
        // SAFETY: the caller grants the vector.
        unsafe { step.store(dst) }
    }
    #[inline(always)]
    unsafe fn load_partial(src: *const u8, _row: usize, len: usize) -> V {
        // SAFETY: the caller grants the features and `len` bytes.
        unsafe { load_at(src, 0, len) }
    }
    #[inline(always)]
    unsafe fn store_partial(step: V, dst: *mut u8, _row: usize, len: usize) {
        // SAFETY: the caller grants `len` bytes.
        unsafe { store_at(step, dst, 0, len) }
    }

    #[inline(always)]
    fn truncate(step: V, _row: usize, len: usize) -> V {
        truncate_at(step, 0, len)
    }

    #[inline(always)]
    unsafe fn load_key(src: *const u8) -> [V; 2] {
        // SAFETY: the caller grants the features and 32 bytes.
        unsafe { [V::splat(src), V::splat(src.add(16))] }
    }
    #[inline(always)]
    unsafe fn init([k0, k1]: [V; 2], [n0, n1]: [V; 2], ctx: V) -> Self {
        // SAFETY: the caller grants the features.
        let (c0, c1) = unsafe { (V::splat(C0.as_ptr()), V::splat(C1.as_ptr())) };
        let (k0n0, k1n1) = (k0.xor(n0), k1.xor(n1));
        let mut s = Self([k0n0, k1n1, c1, c0, k0.xor(c0), k1.xor(c1)]);
        for _ in 0..4 {
            for m in [k0, k1, k0n0, k1n1] {
                s.0[3] = s.0[3].xor(ctx);
                s.0[5] = s.0[5].xor(ctx);
                s.update(m);
            }
        }
        s
    }

    #[inline(always)]
    fn absorb(&mut self, m: V) {
        self.update(m);
    }
    /// Without a key stream to compute, nothing but the chain of six rounds and one XOR over six steps is left. So the
    /// second step begins with the words that its own are made from, before the first has come to its last.
    const TWO_AT_ONCE: bool = V::IN_ORDER;
    #[inline(always)]
    fn absorb_two(&mut self, m: V, n: V) {
        if !V::IN_ORDER {
            self.update(m);
            self.update(n);
            return;
        }
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
    #[inline(always)]
    fn keystream(&self) -> V {
        let s = &self.0;
        s[1].xor3(s[4], s[5]).xor_and(s[2], s[3])
    }
    #[inline(always)]
    fn encrypt(&mut self, m: V) -> V {
        let mut before = *self;
        if !V::IN_ORDER {
            let z = self.keystream();
            self.update(m);
            return m.xor(z);
        }
        self.update(m);
        // The key stream is in no hurry: it comes last.
        (before.0[2], before.0[4]) = (before.0[2].in_order(), before.0[4].in_order());
        before.keystream().xor(m)
    }
    #[inline(always)]
    fn decrypt(&mut self, c: V) -> V {
        let m = if V::THREE_WAY {
            c.xor(self.keystream())
        } else {
            // The key stream becomes part of S0. S1, which is made from S0, is added last: so the way from S0 over S1
            // back to S0 is short.
            let s = &self.0;
            s[4].xor_and(s[2], s[3]).xor3(s[5], c).pin().xor(s[1])
        };
        self.update_late(m);
        m
    }
    #[inline(always)]
    fn xor(a: V, b: V) -> V {
        a.xor(b)
    }
    #[inline(always)]
    fn finalize(&mut self, lengths: V) {
        let t = self.0[3].xor(lengths);
        for _ in 0..FINAL_ROUNDS {
            self.update(t);
        }
    }
    #[inline(always)]
    fn tag128(&self) -> V {
        let (a, b) = self.tag256();
        a.xor(b)
    }
    #[inline(always)]
    fn tag256(&self) -> (V, V) {
        let s = &self.0;
        (s[0].xor3(s[1], s[2]), s[3].xor3(s[4], s[5]))
    }
    #[inline(always)]
    fn step(blocks: [V; 2]) -> V {
        blocks[0]
    }
    #[inline(always)]
    fn first(&self) -> Self::Lane {
        let s = &self.0;
        Aegis256([s[0].first(), s[1].first(), s[2].first(), s[3].first(), s[4].first(), s[5].first()])
    }
    #[inline(always)]
    unsafe fn store_words(&self, dst: *mut u8, stride: usize) {
        // SAFETY: passed on.
        unsafe { store_all(&self.0, dst, stride) }
    }
}

// SAFETY: as above.
unsafe impl<V: Blocks> Batched for Aegis256<V> {
    const KEY_BLOCKS: usize = 2;
    #[inline(always)]
    fn key(blocks: [V; 2]) -> [V; 2] {
        blocks
    }
    #[inline(always)]
    fn blocks(step: V) -> [V; 2] {
        [step, step]
    }
    #[inline(always)]
    fn words(&mut self) -> &mut [V] {
        &mut self.0
    }
}
