//! Memory that is wiped when it is dropped.

/// Plain bytes with a fixed place, zero at first and wiped on drop.
///
/// # Safety
///
/// All bit patterns are valid, and `as_ref` and `as_mut` give all the bytes.
pub unsafe trait WipedBytes: Clone + AsRef<[u8]> + AsMut<[u8]> {
    /// How many bytes `as_ref` and `as_mut` give.
    const LEN: usize;
    /// All zeros.
    fn zeroed() -> Self;
}

macro_rules! wiped_bytes {
    ($(#[$attribute:meta])* $name:ident<$a:ident, $b:ident>($bytes:ty), |$value:ident| $flat:expr, $flat_mut:expr) => {
        $(#[$attribute])*
        #[derive(Clone)]
        pub struct $name<const $a: usize, const $b: usize>($bytes);

        // SAFETY: nested arrays of bytes.
        unsafe impl<const $a: usize, const $b: usize> WipedBytes for $name<$a, $b> {
            const LEN: usize = size_of::<$bytes>(); // without the padding that the alignment asks for

            #[inline(always)]
            fn zeroed() -> Self {
                // SAFETY: bytes may be zero.
                unsafe { core::mem::zeroed() }
            }
        }

        impl<const $a: usize, const $b: usize> AsRef<[u8]> for $name<$a, $b> {
            #[inline(always)]
            fn as_ref(&self) -> &[u8] {
                let $value = self;
                $flat
            }
        }

        impl<const $a: usize, const $b: usize> AsMut<[u8]> for $name<$a, $b> {
            #[inline(always)]
            fn as_mut(&mut self) -> &mut [u8] {
                let $value = self;
                $flat_mut
            }
        }

        impl<const $a: usize, const $b: usize> Drop for $name<$a, $b> {
            #[inline(always)]
            fn drop(&mut self) {
                wipe(self.as_mut());
            }
        }
    };
}

wiped_bytes! {
    /// The state of degree `D`: `WORDS` words of `D` blocks, aligned for the widest register.
    #[repr(C, align(64))]
    Memory<WORDS, D>([[[u8; 16]; D]; WORDS]),
    |value| value.0.as_flattened().as_flattened(), value.0.as_flattened_mut().as_flattened_mut()
}

wiped_bytes! {
    /// One rate of bytes: `D` times `RATE`.
    #[repr(C, align(64))]
    Buffer<RATE, D>([[u8; RATE]; D]),
    |value| value.0.as_flattened(), value.0.as_flattened_mut()
}

/// Zeroes in a way that the optimiser does not take for a dead store.
#[inline(always)]
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    zeroize::optimization_barrier(bytes);
}
