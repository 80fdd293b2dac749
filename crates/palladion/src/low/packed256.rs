//! AEGIS-256 two words to a register, where an AES round takes its time by the register: half as many of them.
//!
//! The words lie as (S0, S3), (S1, S4), (S2, S5). As in `packed128.rs`, the words of the last pair change places on
//! their way to the first: S5 goes to S0 and S2 to S3. The message goes to S0 alone, the lower half.

use super::blocks::{Blocks, Halves, Vector, Word};
use super::machine::{C0, C1, FINAL_ROUNDS, Machine, load_at, store_at, truncate_at};
use super::packed::{Lane, load_pair, pair, store_pairs};

/// The state of one lane.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Packed256<W>([W; 3]);

/// A block in the lower half.
#[inline(always)]
fn low<W: Word>(block: Lane<W>) -> W {
    // SAFETY: a block is proof of the CPU features.
    pair::<W>(block, unsafe { Lane::<W>::zero() })
}

/// A block in the upper half.
#[inline(always)]
fn high<W: Word>(block: Lane<W>) -> W {
    // SAFETY: a block is proof of the CPU features.
    pair::<W>(unsafe { Lane::<W>::zero() }, block)
}

impl<W: Word + Halves> Packed256<W> {
    /// Update(M), the message in the lower half and zeros in the upper. It is added last of all.
    #[inline(always)]
    fn update(&mut self, m: W) {
        let s = self.0;
        // SAFETY: `self` is proof of the CPU features.
        let zero = unsafe { W::zero() };
        let [last, s2, s1] = W::rounds([s[2], s[1], s[0]], [zero, s[2], s[1]]);
        self.0 = [last.swap().xor3(s[0], m), s1, s2];
    }
}

// SAFETY: transparent over its registers; all work is done by `W`.
unsafe impl<W: Word + Halves> Machine for Packed256<W>
where
    Lane<W>: Blocks<Lane = Lane<W>>,
{
    type V = Lane<W>;
    type Lane = Self;
    type Step = Lane<W>;
    type Key = [Lane<W>; 2];
    const BLOCKS: usize = 1;

    #[inline(always)]
    fn first_mac_lane(_tag_len: usize) -> usize {
        1
    }

    #[inline(always)]
    unsafe fn load(src: *const u8, _row: usize) -> Lane<W> {
        // SAFETY: the caller grants the features and the block.
        unsafe { Lane::<W>::load(src) }
    }
    #[inline(always)]
    unsafe fn store(step: Lane<W>, dst: *mut u8, _row: usize) {
        // SAFETY: the caller grants the block.
        unsafe { step.store(dst) }
    }
    #[inline(always)]
    unsafe fn load_partial(src: *const u8, _row: usize, len: usize) -> Lane<W> {
        // SAFETY: the caller grants the features and `len` bytes.
        unsafe { load_at(src, 0, len) }
    }
    #[inline(always)]
    unsafe fn store_partial(step: Lane<W>, dst: *mut u8, _row: usize, len: usize) {
        // SAFETY: the caller grants `len` bytes.
        unsafe { store_at(step, dst, 0, len) }
    }
    #[inline(always)]
    fn truncate(step: Lane<W>, _row: usize, len: usize) -> Lane<W> {
        truncate_at(step, 0, len)
    }

    #[inline(always)]
    unsafe fn load_key(src: *const u8) -> [Lane<W>; 2] {
        // SAFETY: the caller grants the features and 32 bytes.
        unsafe { [Lane::<W>::load(src), Lane::<W>::load(src.add(16))] }
    }
    #[inline(always)]
    unsafe fn init([k0, k1]: [Lane<W>; 2], [n0, n1]: [Lane<W>; 2], ctx: Lane<W>) -> Self {
        // SAFETY: the caller grants the features.
        let (c0, c1) = unsafe { (Lane::<W>::load(C0.as_ptr()), Lane::<W>::load(C1.as_ptr())) };
        let (k0n0, k1n1) = (k0.xor(n0), k1.xor(n1));
        let mut s = Self([pair::<W>(k0n0, c0), pair::<W>(k1n1, k0.xor(c0)), pair::<W>(c1, k1.xor(c1))]);
        let (messages, ctx) = ([low::<W>(k0), low::<W>(k1), low::<W>(k0n0), low::<W>(k1n1)], high::<W>(ctx));
        for _ in 0..4 {
            for m in messages {
                s.0[0] = s.0[0].xor(ctx);
                s.0[2] = s.0[2].xor(ctx);
                s.update(m);
            }
        }
        s
    }

    #[inline(always)]
    fn absorb(&mut self, m: Lane<W>) {
        self.update(low::<W>(m));
    }
    #[inline(always)]
    fn keystream(&self) -> Lane<W> {
        let s = &self.0;
        // S1 ^ S4 ^ S5 in the lower half, and S3 beside it, so that they become blocks at once. Pinned, because the
        // compiler would exchange the halves of both words, and not of their sum.
        let linear = s[1].xor(s[1].xor(s[2]).pin().swap());
        let [linear, s3, ..] = linear.beside(s[0]).blocks().lanes();
        linear.xor_and(s[2].blocks().first(), s3)
    }
    #[inline(always)]
    fn encrypt(&mut self, m: Lane<W>) -> Lane<W> {
        let z = self.keystream();
        self.absorb(m);
        m.xor(z)
    }
    #[inline(always)]
    fn decrypt(&mut self, c: Lane<W>) -> Lane<W> {
        let m = c.xor(self.keystream());
        self.absorb(m);
        m
    }
    #[inline(always)]
    fn xor(a: Lane<W>, b: Lane<W>) -> Lane<W> {
        a.xor(b)
    }
    #[inline(always)]
    fn finalize(&mut self, lengths: Lane<W>) {
        let [_, s3, ..] = self.0[0].blocks().lanes();
        let t = low::<W>(s3.xor(lengths));
        for _ in 0..FINAL_ROUNDS {
            self.update(t);
        }
    }
    #[inline(always)]
    fn tag128(&self) -> Lane<W> {
        let (a, b) = self.tag256();
        a.xor(b)
    }
    #[inline(always)]
    fn tag256(&self) -> (Lane<W>, Lane<W>) {
        let s = &self.0;
        let [first, second, ..] = s[0].xor3(s[1], s[2]).blocks().lanes();
        (first, second)
    }
    #[inline(always)]
    fn step(blocks: [Lane<W>; 2]) -> Lane<W> {
        blocks[0]
    }
    #[inline(always)]
    fn first(&self) -> Self {
        *self
    }
    #[inline(always)]
    unsafe fn store_words(&self, dst: *mut u8, stride: usize) {
        let [a, b, c] = self.0;
        let pairs = [a.blocks(), b.blocks(), c.blocks()];
        // SAFETY: passed on.
        unsafe { store_pairs(&pairs, dst, stride) }
    }
    #[inline(always)]
    unsafe fn load_words(src: *const u8, stride: usize) -> Self {
        // SAFETY: passed on.
        unsafe {
            Self([load_pair(src, stride, 0, 3), load_pair(src, stride, 1, 4), load_pair(src, stride, 2, 5)])
        }
    }
}
