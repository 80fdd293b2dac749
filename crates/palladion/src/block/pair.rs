//! Two vectors as one.

use super::{Blocks, MAX_LANES, Vector};

/// Two vectors used as one with twice the lanes, for wide variants on narrow hardware. The two
/// interleaved chains hide each other's latency.
#[derive(Clone, Copy)]
pub(crate) struct Pair<V>(V, V);

impl<V> Pair<V> {
    #[inline(always)]
    pub(crate) fn new(first: V, second: V) -> Self {
        Self(first, second)
    }
    /// Returns both vectors; the first has the first lanes.
    #[inline(always)]
    pub(crate) fn halves(self) -> [V; 2] {
        [self.0, self.1]
    }
}

// SAFETY: each half is a `V`, which has the properties required of `Vector`.
unsafe impl<V: Vector> Vector for Pair<V> {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0.xor(other.0), self.1.xor(other.1))
    }
    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        Self(self.0.xor3(b.0, c.0), self.1.xor3(b.1, c.1))
    }
    #[inline(always)]
    fn pin(self) -> Self {
        Self(self.0.pin(), self.1.pin())
    }
}

// SAFETY: each half is a `V`, which has the properties required of `Blocks`; the first half has the
// first lanes.
unsafe impl<V: Blocks> Blocks for Pair<V> {
    const LANES: usize = 2 * V::LANES;
    type Lane = V::Lane;

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: the caller promises the CPU features and `16 * LANES` readable bytes, half of
        // them for each vector.
        unsafe { Self(V::load(src), V::load(src.add(16 * V::LANES))) }
    }
    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: the caller promises `16 * LANES` writable bytes, half of them for each vector.
        unsafe {
            self.0.store(dst);
            self.1.store(dst.add(16 * V::LANES));
        }
    }
    #[inline(always)]
    unsafe fn splat(block: *const u8) -> Self {
        // SAFETY: the caller promises the CPU features and a readable block.
        let half = unsafe { V::splat(block) };
        Self(half, half)
    }
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller promises the CPU features.
        let half = unsafe { V::zero() };
        Self(half, half)
    }
    #[inline(always)]
    unsafe fn splat_words(first: u64, second: u64) -> Self {
        // SAFETY: the caller promises the CPU features.
        let half = unsafe { V::splat_words(first, second) };
        Self(half, half)
    }
    #[inline(always)]
    unsafe fn load_partial(src: *const u8, len: usize) -> Self {
        let (first, second) = halves::<V>(len);
        // SAFETY: the caller promises the CPU features and `len` readable bytes, which `halves`
        // splits. If the second vector has none, its address is not accessed.
        unsafe {
            Self(
                V::load_partial(src, first),
                V::load_partial(src.wrapping_add(16 * V::LANES), second),
            )
        }
    }
    #[inline(always)]
    unsafe fn store_partial(self, dst: *mut u8, len: usize) {
        let (first, second) = halves::<V>(len);
        // SAFETY: the caller promises `len` writable bytes, which `halves` splits. If the second
        // vector has none, its address is not accessed.
        unsafe {
            self.0.store_partial(dst, first);
            self.1.store_partial(dst.wrapping_add(16 * V::LANES), second);
        }
    }
    #[inline(always)]
    fn truncate(self, len: usize) -> Self {
        let (first, second) = halves::<V>(len);
        Self(self.0.truncate(first), self.1.truncate(second))
    }
    #[inline(always)]
    fn xor_and(self, b: Self, c: Self) -> Self {
        Self(self.0.xor_and(b.0, c.0), self.1.xor_and(b.1, c.1))
    }
    #[inline(always)]
    fn first(self) -> V::Lane {
        self.0.first()
    }
    #[inline(always)]
    fn lanes(self) -> [V::Lane; MAX_LANES] {
        let (mut lanes, second) = (self.0.lanes(), self.1.lanes());
        lanes[V::LANES..2 * V::LANES].copy_from_slice(&second[..V::LANES]);
        lanes
    }
    #[inline(always)]
    fn fold(self) -> V::Lane {
        self.0.fold().xor(self.1.fold())
    }

    #[inline(always)]
    unsafe fn from_lanes(lanes: [V::Lane; MAX_LANES]) -> Self {
        let mut second = lanes;
        second[..V::LANES].copy_from_slice(&lanes[V::LANES..2 * V::LANES]);
        // SAFETY: the caller promises the CPU features.
        unsafe { Self(V::from_lanes(lanes), V::from_lanes(second)) }
    }
}

/// Splits `len` bytes between the two vectors of a pair.
#[inline(always)]
fn halves<V: Blocks>(len: usize) -> (usize, usize) {
    let half = 16 * V::LANES;
    (len.min(half), len.saturating_sub(half))
}
