//! WebAssembly with SIMD. The features of a module are fixed when it is compiled, so there is
//! nothing to detect.

use core::arch::wasm32::*;
use core::cell::UnsafeCell;
use core::hint::black_box;

use crate::arch::backend::{Backend, Compiled};
use crate::arch::tables;
use crate::block::{Blocks, Vector, one_lane};
use crate::driver::features::{features, kernels};
use crate::driver::kernels::{Degrees, Tables};
use crate::soft::byte_planes::{FourLanes128, FourLanes256, Register, register};
use crate::soft::permute::{Permute, Permuted};

/// Defines one block in a vector, whose bytes are looked up by the given instruction.
macro_rules! one_block {
    ($(#[$attribute:meta])* $name:ident, $swizzle:ident) => {
        $(#[$attribute])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name(v128);

        $(#[$attribute])*
        // SAFETY: the module is compiled for SIMD. Each method is one or two instructions that
        // treat all bytes alike.
        unsafe impl Vector for $name {
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                Self(v128_xor(self.0, other.0))
            }
        }

        $(#[$attribute])*
        // SAFETY: the module is compiled for SIMD. 16 bytes are one lane, loaded and stored in
        // memory order.
        unsafe impl Blocks for $name {
            one_lane!();

            #[inline(always)]
            unsafe fn load(src: *const u8) -> Self {
                // SAFETY: the caller promises 16 readable bytes; no alignment is needed.
                Self(unsafe { v128_load(src.cast()) })
            }
            #[inline(always)]
            unsafe fn store(self, dst: *mut u8) {
                // SAFETY: the caller promises 16 writable bytes; no alignment is needed.
                unsafe { v128_store(dst.cast(), self.0) }
            }
            #[inline(always)]
            unsafe fn zero() -> Self {
                Self(u8x16_splat(0))
            }
            #[inline(always)]
            fn xor_and(self, b: Self, c: Self) -> Self {
                Self(v128_xor(self.0, v128_and(b.0, c.0)))
            }
        }

        $(#[$attribute])*
        // SAFETY: `$swizzle` looks up every byte with an index below 16 and gives zero for an index
        // of 128 or more, as `lookup` requires. The module is compiled for it.
        unsafe impl Permute for $name {
            #[inline(always)]
            unsafe fn table(table: &'static [u8; 16]) -> Self {
                // SAFETY: `ZERO` is zero, and the table has 16 readable bytes.
                Self(unsafe { v128_load(table.as_ptr().add(ZERO.get()).cast()) })
            }
            #[inline(always)]
            fn lookup(self, index: Self) -> Self {
                Self($swizzle(self.0, index.0))
            }
            #[inline(always)]
            fn nibbles(self) -> [Self; 2] {
                // Not a shift of bytes, which x86 lacks: engines would add another mask for it.
                // SAFETY: the module is compiled for SIMD.
                let low = unsafe { Self::table(&LOW_NIBBLES[0]) }.0;
                [Self(v128_and(self.0, low)), Self(v128_and(u32x4_shr(self.0, 4), low))]
            }
        }
    };
}
one_block! {
    /// One block: byte lookups of the original SIMD.
    S1, u8x16_swizzle
}
one_block! {
    /// One block: byte lookups of relaxed SIMD. Their results for indices from 16 to 127 are not
    /// specified, but such indices do not occur.
    #[cfg(target_feature = "relaxed-simd")]
    R1, u8x16_relaxed_swizzle
}

/// A vector of 128 bits.
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
        // SAFETY: the caller promises 16 readable bytes; no alignment is needed.
        let x = unsafe { v128_load(src.cast()) };
        Self(i8x16_shuffle::<0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15>(x, x))
    }
    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        let x =
            i8x16_shuffle::<0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15>(self.0, self.0);
        // SAFETY: the caller promises 16 writable bytes; no alignment is needed.
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

static LOW_NIBBLES: [[u8; 16]; 2] = [[0x0f; 16]; 2];

/// A number that the compiler does not know. Knowing the contents of a table, it would write them
/// into the code: as constants, which V8 assembles again from immediate values at each use, and as
/// shuffles by constants, which are slower still. An address with an unknown part makes it load the
/// tables instead.
struct Unknown(UnsafeCell<usize>);

// SAFETY: the number is never written to.
unsafe impl Sync for Unknown {}

static ZERO: Unknown = Unknown(UnsafeCell::new(0));

impl Unknown {
    #[inline(always)]
    fn get(&self) -> usize {
        // SAFETY: the number is never written to.
        unsafe { *self.0.get() }
    }
}

/// The features of the CPU: a module that runs has all that it was compiled for.
pub(crate) struct Cpu;

impl Cpu {
    /// Detects nothing, but as far as the compiler knows it may write to the number. Every program
    /// calls it.
    #[cold]
    #[inline(never)]
    pub(crate) fn detect() -> Self {
        if black_box(false) {
            // SAFETY: this is never executed.
            unsafe { *ZERO.0.get() = black_box(1) };
        }
        Self
    }
}

/// The backends, the fastest first.
pub(crate) const COMPILED: &[Compiled<Cpu>] = &[
    #[cfg(target_feature = "relaxed-simd")]
    Compiled { backend: Backend::WasmRelaxedSimd, runs: |_| true, tables: RELAXED },
    Compiled { backend: Backend::WasmSimd128, runs: |_| true, tables: SIMD128 },
];

features! {
    /// The features that the module is compiled for.
    Module, scrub 0
}

/// The original SIMD. Four lanes are faster as bit planes. Other states are in memory, see
/// `slots.rs`.
const SIMD128: Tables = {
    let Tables { aegis128, aegis256 } = tables::in_memory::<Module, Permuted<S1>>();
    Tables {
        aegis128: Degrees { four: kernels::<Module, FourLanes128<Simd>, 0>(), ..aegis128 },
        aegis256: Degrees { four: kernels::<Module, FourLanes256<Simd>, 0>(), ..aegis256 },
    }
};

/// Relaxed SIMD.
#[cfg(target_feature = "relaxed-simd")]
const RELAXED: Tables = tables::in_memory::<Module, Permuted<R1>>();
