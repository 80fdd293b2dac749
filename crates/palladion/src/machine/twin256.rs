//! Two machines of AEGIS-256 side by side, for twice the lanes of a register.

use super::aegis256::Aegis256;
use super::{FINAL_ROUNDS, Machine};
use crate::block::{Blocks, Form, Pair, Vector, Word};
use crate::memory::Direction;

/// Two machines that take turns. Unlike one machine of [`Pair`]s, whose halves take turns at each
/// instruction, it needs the temporary registers of one half at a time. With twelve words in
/// sixteen registers, no secret goes to the stack; key and nonce are loaded whenever needed.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Twin256<W>(Aegis256<W>, Aegis256<W>);

/// Where the key or the nonce is.
#[derive(Clone, Copy)]
pub(crate) struct Address(*const u8);

impl Address {
    /// Loads one of the two blocks.
    ///
    /// # Safety
    /// The CPU has the features of `W`; the blocks are readable.
    #[inline(always)]
    unsafe fn block<W: Word>(self, number: usize) -> W {
        // SAFETY: the caller promises the CPU features and readable blocks.
        W::new(unsafe { W::Blocks::splat(W::Blocks::again(self.0.add(16 * number))) })
    }
}

impl<W: Word> Twin256<W> {
    /// Bytes of a step for each half.
    const HALF: usize = 16 * W::Blocks::LANES;

    /// Update(M) of both machines; see [`Word::update_256`].
    #[inline(always)]
    fn update(&mut self, m: [W; 2], form: [Form<W>; 2]) {
        self.0.0 = W::update_256::<0>(self.0.0, m[0], form[0]);
        self.1.0 = W::update_256::<1>(self.1.0, m[1], form[1]);
    }
}

// SAFETY: each half is an `Aegis256`, which has the properties required of `Machine`; there is
// nothing else in it.
unsafe impl<W: Word> Machine for Twin256<W> {
    type V = Pair<W::Blocks>;
    type Lane = Aegis256<W::Single>;
    type Step = [W::Blocks; 2];
    type Key = Address;
    crate::block::one_form!();
    const BLOCKS: usize = 1;
    const SPILLS: bool = W::SPILLS;
    const LARGE: bool = W::CONVERTS;

    #[inline(always)]
    fn first_mac_lane(tag_len: usize) -> usize {
        Aegis256::<W>::first_mac_lane(tag_len)
    }

    #[inline(always)]
    unsafe fn load(src: *const u8, _row: usize) -> Self::Step {
        // SAFETY: the caller promises the CPU features and a readable vector for each half.
        unsafe { [W::Blocks::load(src), W::Blocks::load(src.add(Self::HALF))] }
    }
    #[inline(always)]
    unsafe fn store(step: Self::Step, dst: *mut u8, _row: usize) {
        // SAFETY: the caller promises a writable vector for each half.
        unsafe {
            step[0].store(dst);
            step[1].store(dst.add(Self::HALF));
        }
    }
    #[inline(always)]
    unsafe fn load_partial(src: *const u8, _row: usize, len: usize) -> Self::Step {
        // SAFETY: the caller promises the CPU features and `len` readable bytes.
        unsafe { Pair::load_partial(src, len.min(2 * Self::HALF)).halves() }
    }
    #[inline(always)]
    unsafe fn store_partial([first, second]: Self::Step, dst: *mut u8, _row: usize, len: usize) {
        // SAFETY: the caller promises `len` writable bytes.
        unsafe { Pair::new(first, second).store_partial(dst, len.min(2 * Self::HALF)) }
    }
    #[inline(always)]
    fn truncate([first, second]: Self::Step, _row: usize, len: usize) -> Self::Step {
        Pair::new(first, second).truncate(len.min(2 * Self::HALF)).halves()
    }

    #[inline(always)]
    unsafe fn load_key(src: *const u8) -> Address {
        Address(src)
    }
    #[inline(always)]
    unsafe fn init(key: Address, nonce: Address, ctx: Pair<W::Blocks>) -> Self {
        let ctx = ctx.halves().map(W::new);
        // SAFETY: the caller promises the CPU features and a readable key and nonce.
        unsafe {
            let (k, n) = (Aegis256::<W>::load_key(key.0), Aegis256::<W>::load_key(nonce.0));
            let start = Aegis256::start(k, n);
            let mut s = Self(start, start);
            s.0.add_context(ctx[0]);
            s.1.add_context(ctx[1]);
            // The context stays for a second update; see `Aegis128::init`.
            let (without, with) = ([Form::Early; 2], ctx.map(Form::With));
            for _ in 0..4 {
                s.update([key.block(0); 2], without);
                s.update([key.block(1); 2], with);
                s.update([key.block::<W>(0).xor(nonce.block(0)); 2], without);
                s.update([key.block::<W>(1).xor(nonce.block(1)); 2], with);
            }
            s.0.add_context(ctx[0]);
            s.1.add_context(ctx[1]);
            s
        }
    }

    #[inline(always)]
    fn absorb(&mut self, m: Self::Step) {
        self.update(m.map(W::new), [Form::Late; 2]);
    }
    #[inline(always)]
    fn add_keystream(&self, m: Self::Step) -> Self::Step {
        [self.0.add_keystream(m[0]), self.1.add_keystream(m[1])]
    }
    #[inline(always)]
    fn encrypt(&mut self, m: Self::Step) -> Self::Step {
        let c = self.add_keystream(m);
        self.update(m.map(W::new), [Form::Early; 2]);
        c
    }
    #[inline(always)]
    fn decrypt(&mut self, c: Self::Step) -> Self::Step {
        let m = self.add_keystream(c);
        self.absorb(m);
        m
    }
    /// One half after the other, which takes fewer registers.
    #[inline(always)]
    unsafe fn process_one(
        &mut self,
        direction: Option<Direction>,
        src: *const u8,
        dst: *mut u8,
        row: usize,
        len: usize,
        whole: bool,
    ) {
        let (src1, dst1) = (src.wrapping_add(Self::HALF), dst.wrapping_add(Self::HALF));
        let len1 = len.saturating_sub(Self::HALF);
        // SAFETY: the caller promises these bytes. If there are none for the second half, its
        // address is not accessed.
        unsafe {
            let m = self.0.translate_one(direction, src, dst, row, len, whole);
            self.0.0 = W::update_256::<0>(self.0.0, W::new(m), Form::Late);
            let m = self.1.translate_one(direction, src1, dst1, row, len1, whole);
            self.1.0 = W::update_256::<1>(self.1.0, W::new(m), Form::Late);
        }
    }
    #[inline(always)]
    fn finalize(&mut self, lengths: Pair<W::Blocks>) {
        let [first, second] = lengths.halves();
        let t = [self.0.0[3].xor(W::new(first)), self.1.0[3].xor(W::new(second))];
        for _ in 0..FINAL_ROUNDS {
            self.update(t, [Form::Early; 2]);
        }
    }
    #[inline(always)]
    fn tag128(&self) -> Pair<W::Blocks> {
        Pair::new(self.0.tag128(), self.1.tag128())
    }
    #[inline(always)]
    fn tag256(&self) -> (Pair<W::Blocks>, Pair<W::Blocks>) {
        let ((a, b), (c, d)) = (self.0.tag256(), self.1.tag256());
        (Pair::new(a, c), Pair::new(b, d))
    }
    #[inline(always)]
    fn step(blocks: [Pair<W::Blocks>; 2]) -> Self::Step {
        blocks[0].halves()
    }
    #[inline(always)]
    fn first(&self) -> Self::Lane {
        self.0.first()
    }
    #[inline(always)]
    unsafe fn store_words(&self, dst: *mut u8, stride: usize) {
        // SAFETY: the caller promises that each word is writable, half of it for each machine.
        unsafe {
            self.0.store_words(dst, stride);
            self.1.store_words(dst.add(Self::HALF), stride);
        }
    }
    #[inline(always)]
    unsafe fn load_words(src: *const u8, stride: usize) -> Self {
        // SAFETY: the caller promises the CPU features, and that each word is readable, half of it
        // for each machine.
        unsafe {
            Self(
                Aegis256::load_words(src, stride),
                Aegis256::load_words(src.add(Self::HALF), stride),
            )
        }
    }
}
