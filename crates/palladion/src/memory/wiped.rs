//! Memory that is wiped when it is dropped.

use zeroize::ZeroizeOnDrop;

/// Plain bytes with a fixed place, zero at first and wiped on drop.
///
/// # Safety
///
/// A value begins with `LEN` bytes, which `as_ref` and `as_mut` give; all bit patterns are valid.
pub unsafe trait WipedBytes:
    Clone + Send + Sync + ZeroizeOnDrop + AsRef<[u8]> + AsMut<[u8]>
{
    /// How many bytes there are.
    const LEN: usize;
    /// All zeros.
    fn zeroed() -> Self;
}

/// `D` times `N` bytes, aligned as an `A` is.
#[derive(Clone)]
#[repr(C)]
pub struct Wiped<const N: usize, const D: usize, A: Copy = Line>([[u8; N]; D], [A; 0]);

/// A cache line, which is also the widest vector.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Line;

// SAFETY: `repr(C)` puts the arrays of bytes at the beginning, and they have no padding between
// them.
unsafe impl<const N: usize, const D: usize, A: Copy + Send + Sync> WipedBytes for Wiped<N, D, A> {
    const LEN: usize = N * D; // `size_of` would count the padding behind them

    #[inline(always)]
    fn zeroed() -> Self {
        Self([[0; N]; D], [])
    }
}

impl<const N: usize, const D: usize, A: Copy> AsRef<[u8]> for Wiped<N, D, A> {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        self.0.as_flattened()
    }
}

impl<const N: usize, const D: usize, A: Copy> AsMut<[u8]> for Wiped<N, D, A> {
    #[inline(always)]
    fn as_mut(&mut self) -> &mut [u8] {
        self.0.as_flattened_mut()
    }
}

impl<const N: usize, const D: usize, A: Copy> Drop for Wiped<N, D, A> {
    #[inline(always)]
    fn drop(&mut self) {
        wipe(self.as_mut());
    }
}

impl<const N: usize, const D: usize, A: Copy> ZeroizeOnDrop for Wiped<N, D, A> {}

/// Zeroes in a way that the optimiser does not take for a dead store.
#[inline(always)]
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    zeroize::optimization_barrier(bytes);
}
