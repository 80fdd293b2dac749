//! Two machines side by side, for variants with more lanes than a register.

use super::Machine;
use crate::block::{Blocks, Pair};

/// Two machines that take turns at each step, for twice the lanes. Unlike one machine of
/// [`Pair`]s, whose halves take turns at each instruction, it needs the temporary registers of one
/// half at a time.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Twin<M>(M, M);

// SAFETY: each half is an `M`, which has the properties required of `Machine`; there is nothing
// else in it.
unsafe impl<M: Machine> Machine for Twin<M> {
    type V = Pair<M::V>;
    type Lane = M::Lane;
    type Running = Twin<M::Running>;
    #[inline(always)]
    fn running(self) -> Self::Running {
        Twin(self.0.running(), self.1.running())
    }
    #[inline(always)]
    fn resting(running: Self::Running) -> Self {
        Self(M::resting(running.0), M::resting(running.1))
    }
    type Step = [M::Step; 2];
    type Key = M::Key;
    const BLOCKS: usize = M::BLOCKS;
    const SPILLS: bool = true;
    const LARGE: bool = M::LARGE;

    #[inline(always)]
    fn first_mac_lane(tag_len: usize) -> usize {
        M::first_mac_lane(tag_len)
    }

    #[inline(always)]
    unsafe fn load(src: *const u8, row: usize) -> Self::Step {
        // SAFETY: the caller promises the CPU features and readable vectors, half of each for each
        // machine.
        unsafe { [M::load(src, row), M::load(src.add(16 * M::V::LANES), row)] }
    }
    #[inline(always)]
    unsafe fn store(step: Self::Step, dst: *mut u8, row: usize) {
        // SAFETY: the caller promises writable vectors, half of each for each machine.
        unsafe {
            M::store(step[0], dst, row);
            M::store(step[1], dst.add(16 * M::V::LANES), row);
        }
    }
    #[inline(always)]
    unsafe fn load_partial(src: *const u8, row: usize, len: usize) -> Self::Step {
        let half = 16 * M::V::LANES;
        // SAFETY: the caller promises the CPU features and `len` readable bytes. If there are none
        // for the second machine, its address is not accessed.
        unsafe {
            [
                M::load_partial(src, row, len),
                M::load_partial(src.wrapping_add(half), row, len.saturating_sub(half)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn store_partial(step: Self::Step, dst: *mut u8, row: usize, len: usize) {
        let half = 16 * M::V::LANES;
        // SAFETY: the caller promises `len` writable bytes. If there are none for the second
        // machine, its address is not accessed.
        unsafe {
            M::store_partial(step[0], dst, row, len);
            M::store_partial(step[1], dst.wrapping_add(half), row, len.saturating_sub(half));
        }
    }
    #[inline(always)]
    fn truncate(step: Self::Step, row: usize, len: usize) -> Self::Step {
        let second = len.saturating_sub(16 * M::V::LANES);
        [M::truncate(step[0], row, len), M::truncate(step[1], row, second)]
    }

    #[inline(always)]
    unsafe fn load_key(src: *const u8) -> M::Key {
        // SAFETY: the caller promises the CPU features and a readable key.
        unsafe { M::load_key(src) }
    }
    #[inline(always)]
    unsafe fn init(key: M::Key, nonce: M::Key, ctx: Pair<M::V>) -> Self {
        let [first, second] = ctx.halves();
        // SAFETY: the caller promises the CPU features.
        unsafe { Self(M::init(key, nonce, first), M::init(key, nonce, second)) }
    }

    #[inline(always)]
    fn absorb(&mut self, m: Self::Step) {
        self.0.absorb(m[0]);
        self.1.absorb(m[1]);
    }
    const TWO_AT_ONCE: bool = M::TWO_AT_ONCE;
    #[inline(always)]
    fn absorb_two(&mut self, m: Self::Step, n: Self::Step) {
        self.0.absorb_two(m[0], n[0]);
        self.1.absorb_two(m[1], n[1]);
    }
    #[inline(always)]
    fn add_keystream(&self, m: Self::Step) -> Self::Step {
        [self.0.add_keystream(m[0]), self.1.add_keystream(m[1])]
    }
    #[inline(always)]
    fn encrypt(&mut self, m: Self::Step) -> Self::Step {
        // The key stream first: otherwise the words that it is made from take more registers.
        let first = self.0.add_keystream(m[0]);
        self.0.absorb(m[0]);
        let second = self.1.add_keystream(m[1]);
        self.1.absorb(m[1]);
        [first, second]
    }
    #[inline(always)]
    fn decrypt(&mut self, c: Self::Step) -> Self::Step {
        [self.0.decrypt(c[0]), self.1.decrypt(c[1])]
    }
    #[inline(always)]
    fn finalize(&mut self, lengths: Pair<M::V>) {
        let [first, second] = lengths.halves();
        self.0.finalize(first);
        self.1.finalize(second);
    }
    #[inline(always)]
    fn tag128(&self) -> Pair<M::V> {
        Pair::new(self.0.tag128(), self.1.tag128())
    }
    #[inline(always)]
    fn tag256(&self) -> (Pair<M::V>, Pair<M::V>) {
        let ((a, b), (c, d)) = (self.0.tag256(), self.1.tag256());
        (Pair::new(a, c), Pair::new(b, d))
    }
    #[inline(always)]
    fn step(blocks: [Pair<M::V>; 2]) -> Self::Step {
        let ([a, b], [c, d]) = (blocks[0].halves(), blocks[1].halves());
        [M::step([a, c]), M::step([b, d])]
    }
    #[inline(always)]
    fn first(&self) -> M::Lane {
        self.0.first()
    }
    #[inline(always)]
    unsafe fn store_words(&self, dst: *mut u8, stride: usize) {
        // SAFETY: the caller promises that each word is writable, half of it for each machine.
        unsafe {
            self.0.store_words(dst, stride);
            self.1.store_words(dst.add(16 * M::V::LANES), stride);
        }
    }
    #[inline(always)]
    unsafe fn load_words(src: *const u8, stride: usize) -> Self {
        // SAFETY: the caller promises the CPU features, and that each word is readable, half of it
        // for each machine.
        unsafe {
            Self(M::load_words(src, stride), M::load_words(src.add(16 * M::V::LANES), stride))
        }
    }
}
