//! The AEGIS-256 state machine (RFC 10032 §4 and §5.5): six words, one block a step.

use super::blocks::Blocks;
use super::machine::{C0, C1, FINAL_ROUNDS, Machine, load_at, store_at, truncate_at};

/// The words S0..S5 of `V::LANES` lanes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Aegis256<V>([V; 6]);

impl<V: Blocks> Aegis256<V> {
    /// Update(M), with the message off the chain of S0: see `Aegis128::update`.
    #[inline(always)]
    fn update(&mut self, m: V) {
        let s = self.0;
        let t = Self::rounds(s, m);
        self.0 = [t[0].pin().xor(s[0]), t[1], t[2], t[3], t[4], t[5]];
    }

    /// Update for a message that is known late: it is added last of all.
    #[inline(always)]
    fn update_late(&mut self, m: V) {
        let s = self.0;
        // SAFETY: `self` is proof of the CPU features.
        let t = Self::rounds(s, unsafe { V::zero() });
        self.0 = [t[0].pin().xor3(s[0], m), t[1], t[2], t[3], t[4], t[5]];
    }

    #[inline(always)]
    fn rounds(s: [V; 6], k0: V) -> [V; 6] {
        V::rounds([s[5], s[0], s[1], s[2], s[3], s[4]], [k0, s[1], s[2], s[3], s[4], s[5]])
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
    #[inline(always)]
    fn keystream(&self) -> V {
        let s = &self.0;
        s[1].xor3(s[4], s[5]).xor_and(s[2], s[3])
    }
    #[inline(always)]
    fn encrypt(&mut self, m: V) -> V {
        let z = self.keystream();
        self.update(m);
        m.xor(z)
    }
    #[inline(always)]
    fn decrypt(&mut self, c: V) -> V {
        let m = c.xor(self.keystream());
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
    fn words(&self) -> &[V] {
        &self.0
    }

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
    fn words_mut(&mut self) -> &mut [V] {
        &mut self.0
    }
}
