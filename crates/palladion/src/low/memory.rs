//! Memory that is wiped when it is dropped.

use zeroize::ZeroizeOnDrop;

/// Plain bytes with a fixed place, zero at first and wiped on drop.
///
/// # Safety
///
/// A value begins with `LEN` bytes, aligned to 64, which `as_ref` and `as_mut` give; all bit patterns are valid.
pub unsafe trait WipedBytes: Clone + Send + Sync + ZeroizeOnDrop + AsRef<[u8]> + AsMut<[u8]> {
    /// How many bytes there are.
    const LEN: usize;
    /// All zeros.
    fn zeroed() -> Self;
}

/// `D` times `N` bytes.
#[derive(Clone)]
#[repr(C, align(64))]
pub struct Wiped<const N: usize, const D: usize>([[u8; N]; D]);

// SAFETY: `repr(C)` puts the arrays of bytes at the beginning, and they have no padding between them.
unsafe impl<const N: usize, const D: usize> WipedBytes for Wiped<N, D> {
    const LEN: usize = N * D; // `size_of` would count the padding behind them

    #[inline(always)]
    fn zeroed() -> Self {
        Self([[0; N]; D])
    }
}

impl<const N: usize, const D: usize> AsRef<[u8]> for Wiped<N, D> {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        self.0.as_flattened()
    }
}

impl<const N: usize, const D: usize> AsMut<[u8]> for Wiped<N, D> {
    #[inline(always)]
    fn as_mut(&mut self) -> &mut [u8] {
        self.0.as_flattened_mut()
    }
}

impl<const N: usize, const D: usize> Drop for Wiped<N, D> {
    #[inline(always)]
    fn drop(&mut self) {
        wipe(self.as_mut());
    }
}

impl<const N: usize, const D: usize> ZeroizeOnDrop for Wiped<N, D> {}

/// Zeroes in a way that the optimiser does not take for a dead store.
#[inline(always)]
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    zeroize::optimization_barrier(bytes);
}
