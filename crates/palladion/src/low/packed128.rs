//! AEGIS-128L two words to a register, where AES instructions work on two blocks: half as many of them.
//!
//! The words lie as (S0, S4), (S1, S5), (S2, S6), (S3, S7), so that a step is one AES round on each register, but that
//! the words of the last change places on their way to the first: S7 goes to S0 and S3 to S4. Exchanging halves costs
//! three cycles. AESRound works on each half alike, so they can be exchanged after the round as well as before it, and
//! there the exchange is next to the XOR with (S0, S4): a chain that alternates between AES and other instructions then
//! pays for the way between them once and not twice (docs/performance.md).

use super::blocks::{Blocks, Halves};
use super::machine::{C0, C1, FINAL_ROUNDS, Machine};

/// The state of one lane.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Packed128<W>([W; 4]);

impl<W: Halves> Packed128<W> {
    /// Update(M0, M1), the message in one register. It is added last of all, whether it is known early or late.
    #[inline(always)]
    fn update(&mut self, m: W) {
        let s = self.0;
        // SAFETY: `self` is proof of the CPU features.
        let zero = unsafe { W::zero() };
        let [last, s3, s2, s1] = W::rounds([s[3], s[2], s[1], s[0]], [zero, s[3], s[2], s[1]]);
        self.0 = [last.swap().xor3(s[0], m), s1, s2, s3];
    }

    /// The same block in both halves.
    #[inline(always)]
    fn both(block: W::Lane) -> W {
        W::join(block, block)
    }
}

// SAFETY: transparent over its registers; all work is done by `W`.
unsafe impl<W: Halves> Machine for Packed128<W>
where
    W::Lane: Blocks<Lane = W::Lane>,
{
    type V = W::Lane;
    type Lane = Self;
    type Step = W;
    type Key = W::Lane;
    const BLOCKS: usize = 2;

    #[inline(always)]
    fn first_mac_lane(_tag_len: usize) -> usize {
        0 // there is but one lane, and nothing to combine
    }

    #[inline(always)]
    unsafe fn load(src: *const u8, row: usize) -> W {
        debug_assert!(row == 16);
        // SAFETY: the caller grants the features and both blocks, which are neighbours.
        unsafe { W::load(src) }
    }
    #[inline(always)]
    unsafe fn store(step: W, dst: *mut u8, row: usize) {
        debug_assert!(row == 16);
        // SAFETY: likewise.
        unsafe { step.store(dst) }
    }
    #[inline(always)]
    unsafe fn load_partial(src: *const u8, _row: usize, len: usize) -> W {
        // SAFETY: the caller grants the features and `len` bytes.
        unsafe { W::load_partial(src, len.min(32)) }
    }
    #[inline(always)]
    unsafe fn store_partial(step: W, dst: *mut u8, _row: usize, len: usize) {
        // SAFETY: the caller grants `len` bytes.
        unsafe { step.store_partial(dst, len.min(32)) }
    }
    #[inline(always)]
    fn truncate(step: W, _row: usize, len: usize) -> W {
        step.truncate(len.min(32))
    }

    #[inline(always)]
    unsafe fn load_key(src: *const u8) -> W::Lane {
        // SAFETY: the caller grants the features and 16 bytes.
        unsafe { W::Lane::load(src) }
    }
    #[inline(always)]
    unsafe fn init(k: W::Lane, n: W::Lane, ctx: W::Lane) -> Self {
        // SAFETY: the caller grants the features.
        let (c0, c1) = unsafe { (W::Lane::load(C0.as_ptr()), W::Lane::load(C1.as_ptr())) };
        let odd = W::join(c1, k.xor(c0));
        let mut s = Self([Self::both(k.xor(n)), odd, W::join(c0, k.xor(c1)), odd]);
        let (nk, ctx) = (W::join(n, k), Self::both(ctx));
        for _ in 0..10 {
            s.0[3] = s.0[3].xor(ctx);
            s.update(nk);
        }
        s
    }

    #[inline(always)]
    fn absorb(&mut self, m: W) {
        self.update(m);
    }
    #[inline(always)]
    fn keystream(&self) -> W {
        let s = &self.0;
        s[1].xor_and(s[2], s[3]).xor(s[2].swap())
    }
    #[inline(always)]
    fn encrypt(&mut self, m: W) -> W {
        let mut before = *self;
        self.update(m);
        before.0[2] = before.0[2].in_order(); // the key stream comes last
        before.keystream().xor(m)
    }
    #[inline(always)]
    fn decrypt(&mut self, c: W) -> W {
        let m = c.xor(self.keystream());
        self.update(m);
        m
    }
    #[inline(always)]
    fn xor(a: W, b: W) -> W {
        a.xor(b)
    }
    #[inline(always)]
    fn finalize(&mut self, lengths: W::Lane) {
        let t = Self::both(self.0[2].first().xor(lengths));
        for _ in 0..FINAL_ROUNDS {
            self.update(t);
        }
    }
    #[inline(always)]
    fn tag128(&self) -> W::Lane {
        let s = &self.0;
        s[0].xor3(s[1], s[2]).fold().xor(s[3].first())
    }
    #[inline(always)]
    fn tag256(&self) -> (W::Lane, W::Lane) {
        let s = &self.0;
        let [first, second, ..] = s[0].xor3(s[1], s[2]).xor(s[3]).lanes();
        (first, second)
    }
    #[inline(always)]
    fn step(blocks: [W::Lane; 2]) -> W {
        W::join(blocks[0], blocks[1])
    }
    #[inline(always)]
    fn first(&self) -> Self {
        *self
    }
    #[inline(always)]
    unsafe fn store_words(&self, dst: *mut u8, stride: usize) {
        for (i, pair) in self.0.into_iter().enumerate() {
            let [low, high, ..] = pair.lanes();
            // SAFETY: the caller grants each word.
            unsafe {
                low.store(dst.add(i * stride));
                high.store(dst.add((i + 4) * stride));
            }
        }
    }
}
