//! WebAssembly with SIMD. What a module needs is decided when it is compiled: there is nothing to
//! detect.

use core::arch::wasm32::*;
use core::cell::UnsafeCell;
use core::hint::black_box;

use crate::block::{Blocks, Vector, one_lane};
use crate::machine::{Aegis128, Aegis256};
#[cfg_attr(all(palladion_one_backend, target_feature = "relaxed-simd"), allow(unused_imports))]
use crate::soft::lanes::{Lanes, Register, register};
use crate::soft::permute::{Permute, Permuted};

/// One block in a vector, whose bytes are looked up by this instruction.
macro_rules! one_block {
    ($(#[$attribute:meta])* $name:ident, $swizzle:ident) => {
        $(#[$attribute])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name(v128);

        $(#[$attribute])*
        // SAFETY: each method is one or two instructions, on all bytes alike; the module is
        // compiled for them.
        unsafe impl Vector for $name {
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                Self(v128_xor(self.0, other.0))
            }
        }

        $(#[$attribute])*
        // SAFETY: 16 bytes are one lane, loaded and stored as they are; the module is compiled for
        // SIMD.
        unsafe impl Blocks for $name {
            one_lane!();

            #[inline(always)]
            unsafe fn load(src: *const u8) -> Self {
                // SAFETY: the caller grants 16 bytes; no alignment needed.
                Self(unsafe { v128_load(src.cast()) })
            }
            #[inline(always)]
            unsafe fn store(self, dst: *mut u8) {
                // SAFETY: the caller grants 16 bytes; no alignment needed.
                unsafe { v128_store(dst.cast(), self.0) }
            }
            #[inline(always)]
            unsafe fn zero() -> Self {
                Self(u8x16_splat(0))
            }
            #[inline(always)]
            fn truncate(self, len: usize) -> Self {
                // SAFETY: the module is compiled for it.
                Self(v128_and(self.0, unsafe { crate::block::mask_of_length::<Self>(len) }.0))
            }
            #[inline(always)]
            fn xor_and(self, b: Self, c: Self) -> Self {
                Self(v128_xor(self.0, v128_and(b.0, c.0)))
            }
        }

        $(#[$attribute])*
        // SAFETY: `$swizzle` looks up every byte with an index below 16, as `lookup` must.
        unsafe impl Permute for $name {
            #[inline(always)]
            unsafe fn table(table: &'static [u8; 16]) -> Self {
                // SAFETY: the number is zero, and the table readable.
                Self(unsafe { v128_load(table.as_ptr().add(ZERO.get()).cast()) })
            }
            #[inline(always)]
            fn lookup(self, index: Self) -> Self {
                Self($swizzle(self.0, index.0))
            }
            #[inline(always)]
            fn nibbles(self) -> [Self; 2] {
                // Not a shift of bytes, which x86 has not: engines would need a mask of their own
                // for it. SAFETY: the module is compiled for it.
                let low = unsafe { Self::table(&LOW_NIBBLES) }.0;
                [Self(v128_and(self.0, low)), Self(v128_and(u32x4_shr(self.0, 4), low))]
            }
        }
    };
}
one_block! {
    /// Bytes looked up with SIMD as it was first.
    S1, u8x16_swizzle
}
one_block! {
    /// Bytes looked up with relaxed SIMD, which does not say what becomes of indices from 16 to
    /// 127: there are none.
    #[cfg(target_feature = "relaxed-simd")]
    R1, u8x16_relaxed_swizzle
}

/// A vector of bits.
#[cfg_attr(all(palladion_one_backend, target_feature = "relaxed-simd"), allow(dead_code))]
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Simd(v128);

register! {
    Simd, constant(bits) = u64x2_splat(bits);
    BitXor, bitxor(self, other: Self) = v128_xor(self.0, other.0);
    BitAnd, bitand(self, other: Self) = v128_and(self.0, other.0);
    BitOr, bitor(self, other: Self) = v128_or(self.0, other.0);
    Shl, shl(self, by: u32) = u32x4_shl(self.0, by);
    Shr, shr(self, by: u32) = u32x4_shr(self.0, by);
}

impl Register for Simd {
    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: the caller grants 16 bytes; no alignment needed.
        let x = unsafe { v128_load(src.cast()) };
        Self(i8x16_shuffle::<0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15>(x, x))
    }
    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        let x =
            i8x16_shuffle::<0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15>(self.0, self.0);
        // SAFETY: the caller grants 16 bytes; no alignment needed.
        unsafe { v128_store(dst.cast(), x) }
    }
    #[inline(always)]
    fn shift_rows(self) -> Self {
        Self(i8x16_shuffle::<0, 1, 2, 3, 5, 6, 7, 4, 10, 11, 8, 9, 15, 12, 13, 14>(self.0, self.0))
    }
    #[inline(always)]
    fn next_row(self) -> Self {
        Self(i32x4_shuffle::<1, 2, 3, 0>(self.0, self.0))
    }
    #[inline(always)]
    fn second_row(self) -> Self {
        Self(i32x4_shuffle::<2, 3, 0, 1>(self.0, self.0))
    }
}

static LOW_NIBBLES: [u8; 16] = [0x0f; 16];

/// A number that the compiler does not know. It knows what is in a table and would write it into
/// the code, as constants that V8 puts together anew from immediate values at each use, and as
/// shuffles by constants, which are slower still. From an address with an unknown part, tables are
/// loaded.
struct Unknown(UnsafeCell<usize>);

// SAFETY: it is never written to.
unsafe impl Sync for Unknown {}

static ZERO: Unknown = Unknown(UnsafeCell::new(0));

impl Unknown {
    #[inline(always)]
    fn get(&self) -> usize {
        // SAFETY: it is never written to.
        unsafe { *self.0.get() }
    }
}

/// Does nothing, but might write to the number for all that the compiler knows. To be called where
/// it must be kept.
#[cold]
#[inline(never)]
pub(crate) fn keep_unknown() {
    if black_box(false) {
        // SAFETY: never executed.
        unsafe { *ZERO.0.get() = black_box(1) };
    }
}

/// SIMD as it was first.
#[cfg(not(all(palladion_one_backend, target_feature = "relaxed-simd")))]
pub(crate) mod simd128 {
    use super::{Aegis128, Aegis256, Lanes, Permuted, S1, Simd};
    crate::driver::table::tables! {
        scrub: 0;
        aegis128: [
            Aegis128<Permuted<S1>>, 1; Aegis128<Permuted<S1>>, 2; Lanes<Simd, 4, 2>, 0;] any Aegis128<Permuted<S1>>;
        aegis256: [
            Aegis256<Permuted<S1>>, 1; Aegis256<Permuted<S1>>, 2; Lanes<Simd, 3, 1>, 0;] any Aegis256<Permuted<S1>>;
    }
}

/// Relaxed SIMD.
#[cfg(target_feature = "relaxed-simd")]
pub(crate) mod relaxed {
    use super::{Aegis128, Aegis256, Permuted, R1};
    crate::driver::table::tables! {
        scrub: 0;
        aegis128: [
            Aegis128<Permuted<R1>>, 1; Aegis128<Permuted<R1>>, 2; Aegis128<Permuted<R1>>, 4;] any Aegis128<Permuted<R1>>;
        aegis256: [
            Aegis256<Permuted<R1>>, 1; Aegis256<Permuted<R1>>, 2; Aegis256<Permuted<R1>>, 4;] any Aegis256<Permuted<R1>>;
    }
}
