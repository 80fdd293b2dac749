//! AEGIS-128L with two words per register, for AES instructions that work on two blocks. It takes
//! half as many of them.
//!
//! The registers are (S0, S4), (S1, S5), (S2, S6), (S3, S7). A step is one AES round on each
//! register, but the words of the last are exchanged on their way to the first: S7 goes to S0 and
//! S3 to S4. Exchanging halves takes three cycles. AESRound works on each half alike, so the
//! exchange can come before or after the round. After it, the exchange is next to the XOR with (S0,
//! S4), and the chain switches between AES and other instructions once instead of twice, which
//! saves a delay (docs/performance.md).

use super::{Aegis128, C0, C1, FINAL_ROUNDS, Machine};
use crate::block::{Blocks, Halves, Vector, Word, one_form};

/// A single block.
type Lane<W> = <<W as Word>::Blocks as Blocks>::Lane;

/// Joins two blocks in a register.
#[inline(always)]
fn join<W: Word>(low: Lane<W>, high: Lane<W>) -> W::Blocks {
    // SAFETY: a block exists, so the CPU has the features.
    unsafe { W::Blocks::from_lanes([low, high, low, high]) }
}

/// Joins two words in a register.
#[inline(always)]
fn pair<W: Word>(low: Lane<W>, high: Lane<W>) -> W {
    W::new(join::<W>(low, high))
}

/// Loads the words at `i` and `j` into one register.
///
/// # Safety
/// The CPU has the features of `W`; the words are readable.
#[inline(always)]
unsafe fn load_pair<W: Word>(src: *const u8, stride: usize, i: usize, j: usize) -> W {
    // SAFETY: the caller promises the CPU features, and that both words are readable.
    unsafe { pair(Lane::<W>::load(src.add(i * stride)), Lane::<W>::load(src.add(j * stride))) }
}

/// Stores pairs of words: first the words of the first half of the state, then those of the second.
///
/// # Safety
/// Each word is writable.
#[inline(always)]
unsafe fn store_pairs<V: Blocks>(pairs: &[V], dst: *mut u8, stride: usize) {
    for (i, pair) in pairs.iter().enumerate() {
        let [low, high, ..] = pair.lanes();
        // SAFETY: the caller promises that each word is writable.
        unsafe {
            low.store(dst.add(i * stride));
            high.store(dst.add((i + pairs.len()) * stride));
        }
    }
}

/// From so many steps on, absorbing gains more from separate words than separating them costs.
const MANY: usize = 24;

/// The state of one lane. If `UNPACK`, much data is absorbed with one word per register, which is
/// 10 % faster on Zen.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Packed128<W, const UNPACK: bool = false>([W; 4]);

impl<W: Word + Halves, const UNPACK: bool> Packed128<W, UNPACK> {
    /// Update(M0, M1), with the message in one register. The message is always added last.
    #[inline(always)]
    fn update(&mut self, m: W) {
        let s = self.0;
        // SAFETY: `self` exists, so the CPU has the features.
        let zero = unsafe { W::zero() };
        let [last, s3, s2, s1] = W::rounds([s[3], s[2], s[1], s[0]], [zero, s[3], s[2], s[1]]);
        self.0 = [last.swap().xor3(s[0], m), s1, s2, s3];
    }

    /// Returns the words as blocks.
    #[inline(always)]
    fn plain(&self) -> [W::Blocks; 4] {
        let s = &self.0;
        [s[0].blocks(), s[1].blocks(), s[2].blocks(), s[3].blocks()]
    }
}

// SAFETY: transparent over four words, whose type implements `Word`; there is nothing else in it.
unsafe impl<W: Word + Halves, const UNPACK: bool> Machine for Packed128<W, UNPACK>
where
    W::Blocks: Halves,
    Lane<W>: Blocks<Lane = Lane<W>>,
{
    type V = Lane<W>;
    type Lane = Self;
    one_form!();
    type Step = W::Blocks;
    type Key = Lane<W>;
    const BLOCKS: usize = 2;
    const SPILLS: bool = W::SPILLS;
    const LARGE: bool = false;

    #[inline(always)]
    fn first_mac_lane(_tag_len: usize) -> usize {
        0 // the only lane
    }

    #[inline(always)]
    unsafe fn load(src: *const u8, row: usize) -> W::Blocks {
        debug_assert!(row == 16);
        // SAFETY: the caller promises the CPU features and two readable blocks. They are adjacent,
        // because `row` is 16.
        unsafe { W::Blocks::load(src) }
    }
    #[inline(always)]
    unsafe fn store(step: W::Blocks, dst: *mut u8, row: usize) {
        debug_assert!(row == 16);
        // SAFETY: the caller promises two writable blocks. They are adjacent, because `row` is 16.
        unsafe { step.store(dst) }
    }
    #[inline(always)]
    unsafe fn load_partial(src: *const u8, _row: usize, len: usize) -> W::Blocks {
        // SAFETY: the caller promises the CPU features and `len` readable bytes.
        unsafe { W::Blocks::load_partial(src, len.min(32)) }
    }
    #[inline(always)]
    unsafe fn store_partial(step: W::Blocks, dst: *mut u8, _row: usize, len: usize) {
        // SAFETY: the caller promises `len` writable bytes.
        unsafe { step.store_partial(dst, len.min(32)) }
    }
    #[inline(always)]
    fn truncate(step: W::Blocks, _row: usize, len: usize) -> W::Blocks {
        step.truncate(len.min(32))
    }

    #[inline(always)]
    unsafe fn load_key(src: *const u8) -> Lane<W> {
        // SAFETY: the caller promises the CPU features and 16 readable bytes.
        unsafe { Lane::<W>::load(src) }
    }
    #[inline(always)]
    unsafe fn init(k: Lane<W>, n: Lane<W>, ctx: Lane<W>) -> Self {
        // SAFETY: the caller promises the CPU features.
        let (c0, c1) = unsafe { (Lane::<W>::load(C0.as_ptr()), Lane::<W>::load(C1.as_ptr())) };
        let odd = pair::<W>(c1, k.xor(c0));
        let mut s = Self([pair::<W>(k.xor(n), k.xor(n)), odd, pair::<W>(c0, k.xor(c1)), odd]);
        let (nk, ctx) = (pair::<W>(n, k), pair::<W>(ctx, ctx));
        for _ in 0..10 {
            s.0[3] = s.0[3].xor(ctx);
            s.update(nk);
        }
        s
    }

    #[inline(always)]
    fn absorb(&mut self, m: W::Blocks) {
        self.update(W::new(m));
    }
    #[inline(always)]
    unsafe fn absorb_many(&mut self, mut src: *const u8, steps: usize) -> usize {
        if !UNPACK || steps < MANY {
            return 0;
        }
        let [a, b, c, d] = self.plain();
        let ([a, e, ..], [b, f, ..]) = (a.lanes(), b.lanes());
        let ([c, g, ..], [d, h, ..]) = (c.lanes(), d.lanes());
        let word = <W::Single as Word>::new;
        let mut s = Aegis128::<W::Single, true>::new([
            word(a),
            word(b),
            word(c),
            word(d),
            word(e),
            word(f),
            word(g),
            word(h),
        ]);
        for _ in 0..steps {
            // SAFETY: the caller promises readable steps of 32 bytes.
            unsafe {
                s.absorb([Lane::<W>::load(src), Lane::<W>::load(src.add(16))]);
                src = src.add(32);
            }
        }
        let [a, b, c, d, e, f, g, h] = s.into_words();
        self.0 = [
            pair::<W>(a.blocks(), e.blocks()),
            pair::<W>(b.blocks(), f.blocks()),
            pair::<W>(c.blocks(), g.blocks()),
            pair::<W>(d.blocks(), h.blocks()),
        ];
        steps
    }
    #[inline(always)]
    fn add_keystream(&self, m: W::Blocks) -> W::Blocks {
        let [_, s1, s2, s3] = self.plain();
        m.xor_and(s2, s3).xor3(s2.swap(), s1)
    }
    #[inline(always)]
    fn encrypt(&mut self, m: W::Blocks) -> W::Blocks {
        let mut before = *self;
        self.absorb(m);
        before.0[2] = before.0[2].in_order(); // compute the key stream last
        before.add_keystream(m)
    }
    #[inline(always)]
    fn decrypt(&mut self, c: W::Blocks) -> W::Blocks {
        let m = self.add_keystream(c);
        self.absorb(m);
        m
    }
    #[inline(always)]
    fn finalize(&mut self, lengths: Lane<W>) {
        let t = self.0[2].blocks().first().xor(lengths);
        let t = pair::<W>(t, t);
        for _ in 0..FINAL_ROUNDS {
            self.update(t);
        }
    }
    #[inline(always)]
    fn tag128(&self) -> Lane<W> {
        let s = &self.0;
        s[0].xor3(s[1], s[2]).blocks().fold().xor(s[3].blocks().first())
    }
    #[inline(always)]
    fn tag256(&self) -> (Lane<W>, Lane<W>) {
        let s = &self.0;
        let [first, second, ..] = s[0].xor3(s[1], s[2]).xor(s[3]).blocks().lanes();
        (first, second)
    }
    #[inline(always)]
    fn step(blocks: [Lane<W>; 2]) -> W::Blocks {
        join::<W>(blocks[0], blocks[1])
    }
    #[inline(always)]
    fn first(&self) -> Self {
        *self
    }
    #[inline(always)]
    unsafe fn store_words(&self, dst: *mut u8, stride: usize) {
        // SAFETY: the caller promises that each word is writable.
        unsafe { store_pairs(&self.plain(), dst, stride) }
    }
    #[inline(always)]
    unsafe fn load_words(src: *const u8, stride: usize) -> Self {
        // SAFETY: the caller promises the CPU features, and that each word is readable.
        unsafe {
            Self([
                load_pair(src, stride, 0, 4),
                load_pair(src, stride, 1, 5),
                load_pair(src, stride, 2, 6),
                load_pair(src, stride, 3, 7),
            ])
        }
    }
}
