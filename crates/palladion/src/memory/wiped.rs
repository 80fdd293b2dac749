//! Memory that is wiped on drop.

use zeroize::ZeroizeOnDrop;

/// Plain bytes at a fixed address, initially zero and wiped on drop.
///
/// # Safety
///
/// A value starts with `LEN` bytes, which `as_ref` and `as_mut` return; all bit patterns are valid.
pub unsafe trait WipedBytes:
    Clone + Send + Sync + ZeroizeOnDrop + AsRef<[u8]> + AsMut<[u8]>
{
    /// The number of bytes.
    const LEN: usize;
    /// Returns zeroed memory.
    fn zeroed() -> Self;
}

/// `D` times `N` bytes, aligned like an `A`.
#[derive(Clone)]
#[repr(C)]
pub struct Wiped<const N: usize, const D: usize, A: Copy = Line>([[u8; N]; D], [A; 0]);

/// The alignment of a cache line, and of the widest vector.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Line;

// SAFETY: `repr(C)` puts the array of bytes first, arrays have no padding, and bytes have no
// invalid bit patterns.
unsafe impl<const N: usize, const D: usize, A: Copy + Send + Sync> WipedBytes for Wiped<N, D, A> {
    const LEN: usize = N * D; // `size_of` would include the padding at the end

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

/// Zeroes bytes in a way that the optimiser does not remove as a dead store.
#[inline(always)]
pub(crate) fn wipe(bytes: &mut [u8]) {
    // SAFETY: a slice is writable.
    unsafe { wipe_at(bytes.as_mut_ptr(), bytes.len()) }
}

/// Like [`wipe`], for memory that need not be initialised.
///
/// # Safety
/// `len` bytes are writable.
#[inline(always)]
pub(crate) unsafe fn wipe_at(bytes: *mut u8, len: usize) {
    // SAFETY: the caller promises `len` writable bytes, which the first line initialises.
    unsafe {
        bytes.write_bytes(0, len);
        zeroize::optimization_barrier(core::slice::from_raw_parts(bytes, len));
    }
}
