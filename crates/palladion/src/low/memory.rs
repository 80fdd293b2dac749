//! Memory that is wiped when it is dropped, and work that leaves nothing on the stack.

use core::marker::PhantomData;
use core::mem::MaybeUninit;

use zeroize::ZeroizeOnDrop;

/// Plain bytes with a fixed place, zero at first and wiped on drop.
///
/// # Safety
///
/// A value begins with `LEN` bytes, which `as_ref` and `as_mut` give; all bit patterns are valid.
pub unsafe trait WipedBytes: Clone + Send + Sync + ZeroizeOnDrop + AsRef<[u8]> + AsMut<[u8]> {
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

// SAFETY: `repr(C)` puts the arrays of bytes at the beginning, and they have no padding between them.
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

/// Does some work and wipes the stack below the caller afterwards: for what makes a secret value and hands it on, as Rust leaves a
/// copy behind where a value is moved away. As deep as three `T`s, of which values within the work are the largest, and a bit.
/// What the work returns is not there, but where the caller wants to have it.
#[inline(always)]
pub fn leaving_nothing<T, R>(work: impl FnOnce() -> R) -> R {
    /// Where the work has its stack.
    #[inline(never)]
    fn apart<R>(work: impl FnOnce() -> R) -> R {
        work()
    }
    #[inline(never)]
    fn wipe_stack<T>() {
        let mut stack = MaybeUninit::<([T; 3], [u8; 1024])>::zeroed();
        let stack = &mut stack; // so that it has to be there, and is no constant
        zeroize::optimization_barrier(stack);
    }
    struct Wipe<T>(PhantomData<T>);
    impl<T> Drop for Wipe<T> {
        #[inline(always)]
        fn drop(&mut self) {
            // (As for kernels: see `Leaves`.)
            if !cfg!(any(target_os = "none", target_family = "wasm")) {
                wipe_stack::<T>();
            }
        }
    }
    let _afterwards = Wipe::<T>(PhantomData);
    apart(work)
}

/// Zeroes in a way that the optimiser does not take for a dead store.
#[inline(always)]
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    zeroize::optimization_barrier(bytes);
}
