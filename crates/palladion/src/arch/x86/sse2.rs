//! Bit planes in the registers of SSE2, which every x86-64 CPU has, for the portable backend.

#[cfg(target_arch = "x86")]
use core::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

use crate::soft::byte_planes::{Register, register};

/// A vector of 128 bits. It is compiled only if the whole crate is compiled for SSE2.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Xmm(__m128i);

/// Evaluates an expression of SSE2 intrinsics.
macro_rules! sse2 {
    ($value:expr) => {
        // SAFETY: the crate is compiled for SSE2.
        unsafe { $value }
    };
}

register! {
    Xmm, constant(bits) = sse2!(_mm_set1_epi64x(bits as i64));
    BitXor, bitxor(self, other: Self) = sse2!(_mm_xor_si128(self.0, other.0));
    BitAnd, bitand(self, other: Self) = sse2!(_mm_and_si128(self.0, other.0));
    BitOr, bitor(self, other: Self) = sse2!(_mm_or_si128(self.0, other.0));
    Shl, shl(self, by: u32) = sse2!(if by == 1 {
        _mm_add_epi8(self.0, self.0) // clears the lowest bits, so callers need no mask
    } else {
        _mm_sll_epi64(self.0, _mm_cvtsi32_si128(by as i32))
    });
    Shr, shr(self, by: u32) = sse2!(_mm_srl_epi64(self.0, _mm_cvtsi32_si128(by as i32)));
}

/// Returns the same value. The optimiser cannot see where it comes from: otherwise it merges two
/// shuffles into one of all bytes, which SSE2 lacks and which takes many instructions.
#[inline(always)]
#[cfg_attr(miri, allow(unused_mut))]
fn pin(mut x: __m128i) -> __m128i {
    // SAFETY: it contains no instruction. Miri does not support `asm!`.
    #[cfg(not(miri))]
    unsafe {
        core::arch::asm!(
            "/* {0} */", inlateout(xmm_reg) x, options(pure, nomem, nostack, preserves_flags)
        );
    }
    x
}

/// Transposes columns and rows: the byte at index `c1 c0 r1 r0` moves to `r1 r0 c1 c0`, in two
/// steps.
#[inline(always)]
fn transpose(x: __m128i) -> __m128i {
    // SAFETY: the crate is compiled for SSE2.
    unsafe {
        let x = pin(_mm_unpacklo_epi8(x, _mm_unpackhi_epi64(x, x)));
        _mm_unpacklo_epi8(x, _mm_unpackhi_epi64(x, x))
    }
}

impl Register for Xmm {
    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: the caller promises 16 readable bytes; no alignment is needed.
        Self(transpose(unsafe { _mm_loadu_si128(src.cast()) }))
    }
    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: the caller promises 16 writable bytes; no alignment is needed.
        unsafe { _mm_storeu_si128(dst.cast(), transpose(self.0)) }
    }
    #[inline(always)]
    fn shift_rows(self) -> Self {
        // SAFETY: the crate is compiled for SSE2.
        unsafe {
            // Rows 2 and 3 by two, then rows 1 and 3 by one.
            let x = _mm_shufflehi_epi16(self.0, 0b10_11_00_01);
            let turned = _mm_or_si128(_mm_srli_epi32(x, 8), _mm_slli_epi32(x, 24));
            let odd = _mm_set1_epi64x(0xffff_ffff_0000_0000_u64 as i64);
            Self(_mm_xor_si128(x, _mm_and_si128(_mm_xor_si128(x, turned), odd)))
        }
    }
    #[inline(always)]
    fn next_row(self) -> Self {
        Self(sse2!(_mm_shuffle_epi32(self.0, 0b00_11_10_01)))
    }
    #[inline(always)]
    fn second_row(self) -> Self {
        Self(sse2!(_mm_shuffle_epi32(self.0, 0b01_00_11_10)))
    }
}

#[cfg(test)]
mod tests {
    use super::Xmm;
    use crate::soft::byte_planes::tests;

    #[test]
    fn rounds_are_those_of_the_standard() {
        tests::rounds::<Xmm>();
    }

    #[test]
    fn steps_are_those_of_the_standard() {
        tests::steps::<Xmm>();
    }
}
