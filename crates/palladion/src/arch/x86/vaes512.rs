//! CPUs with VAES and AVX-512: registers of up to four blocks, three-way logic, masks.

#[cfg(target_arch = "x86")]
use core::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

use super::{aes, fold_two, halves, join, register, two_lanes};
use crate::block::{Blocks, Halves, MAX_LANES, Vector, Word};
use crate::driver::features::features;

/// Returns the mask register for the first `len` bytes, at most 64.
#[inline(always)]
fn mask(len: usize) -> u64 {
    !u64::MAX.checked_shl(len as u32).unwrap_or(0)
}

register! {
    /// One block in an XMM register, with VAES and AVX-512.
    M1(__m128i): 1 lanes of M1, needs "sse2", xmm_reg;
    load _mm_loadu_si128, store _mm_storeu_si128, splat |block| block, zero _mm_setzero_si128,
    xor _mm_xor_si128, xor3 |a, b, c| Self(_mm_ternarylogic_epi64::<0x96>(a.0, b.0, c.0)),
    xor_and |a, b, c| _mm_ternarylogic_epi64::<0x78>(a, b, c),
    load_partial |src, len| _mm_maskz_loadu_epi8(mask(len) as __mmask16, src.cast()),
    store_partial |x, dst, len| _mm_mask_storeu_epi8(dst.cast(), mask(len) as __mmask16, x),
    lanes |x| [x; MAX_LANES], fold |x| x;
    from_lanes |x| x[0];
    #[cfg(palladion_kernels)]
    const MASKS: bool = true;

    #[inline(always)]
    fn truncate(self, len: usize) -> Self {
        // SAFETY: `self` exists, so the CPU has the features.
        Self(unsafe { _mm_maskz_mov_epi8(mask(len) as __mmask16, self.0) })
    }
}

register! {
    /// Two blocks in a YMM register, with VAES and AVX-512.
    M2(__m256i): 2 lanes of M1, needs "avx2", ymm_reg;
    load _mm256_loadu_si256, store _mm256_storeu_si256,
    splat |block| _mm256_broadcastsi128_si256(block),
    zero _mm256_setzero_si256, xor _mm256_xor_si256,
    xor3 |a, b, c| Self(_mm256_ternarylogic_epi64::<0x96>(a.0, b.0, c.0)),
    xor_and |a, b, c| _mm256_ternarylogic_epi64::<0x78>(a, b, c),
    load_partial |src, len| _mm256_maskz_loadu_epi8(mask(len) as __mmask32, src.cast()),
    store_partial |x, dst, len| _mm256_mask_storeu_epi8(dst.cast(), mask(len) as __mmask32, x),
    lanes |x| two_lanes(x), fold |x| fold_two(x.lanes());
    from_lanes |x| join(x[0], x[1]);
    #[cfg(palladion_kernels)]
    const MASKS: bool = true;

    #[inline(always)]
    fn truncate(self, len: usize) -> Self {
        // SAFETY: `self` exists, so the CPU has the features.
        Self(unsafe { _mm256_maskz_mov_epi8(mask(len) as __mmask32, self.0) })
    }
}

register! {
    /// Four blocks in a ZMM register, with VAES and AVX-512.
    M4(__m512i): 4 lanes of M1, needs "avx512f", zmm_reg;
    load _mm512_loadu_si512, store _mm512_storeu_si512, splat |block| _mm512_broadcast_i32x4(block),
    zero _mm512_setzero_si512, xor _mm512_xor_si512,
    xor3 |a, b, c| Self(_mm512_ternarylogic_epi64::<0x96>(a.0, b.0, c.0)),
    xor_and |a, b, c| _mm512_ternarylogic_epi64::<0x78>(a, b, c),
    load_partial |src, len| _mm512_maskz_loadu_epi8(mask(len), src.cast()),
    store_partial |x, dst, len| _mm512_mask_storeu_epi8(dst.cast(), mask(len), x),
    lanes |x| {
        let ([a, b, ..], [c, d, ..]) =
            (two_lanes(_mm512_castsi512_si256(x)), two_lanes(_mm512_extracti64x4_epi64::<1>(x)));
        [a, b, c, d]
    },
    fold |x| fold_two(M2(_mm256_xor_si256(
        _mm512_castsi512_si256(x.0), _mm512_extracti64x4_epi64::<1>(x.0)
    )).lanes());
    from_lanes |x| _mm512_inserti64x4::<1>(
        _mm512_castsi256_si512(join(x[0], x[1])), join(x[2], x[3])
    );
    #[cfg(palladion_kernels)]
    const MASKS: bool = true;

    #[inline(always)]
    fn truncate(self, len: usize) -> Self {
        // SAFETY: `self` exists, so the CPU has the features.
        Self(unsafe { _mm512_maskz_mov_epi8(mask(len), self.0) })
    }

    /// Loads both blocks of a message at once and separates them by shuffles, which takes fewer
    /// instructions than eight loads of a block.
    #[inline(always)]
    unsafe fn gather_two(src: &[*const u8; MAX_LANES], at: usize) -> [Self; 2] {
        // SAFETY: the caller promises the CPU features and two readable blocks of each message.
        unsafe {
            let a = two_halves(src[0].add(at), src[1].add(at));
            let b = two_halves(src[2].add(at), src[3].add(at));
            [Self(_mm512_shuffle_i64x2::<0x88>(a, b)), Self(_mm512_shuffle_i64x2::<0xdd>(a, b))]
        }
    }
    /// Brings both blocks of a message together, to store them at once.
    #[inline(always)]
    unsafe fn scatter_two([x, y]: [Self; 2], dst: &[*mut u8; MAX_LANES], at: usize) {
        // SAFETY: the caller promises two writable blocks of each message. Values exist, so the CPU
        // has the features.
        unsafe {
            let low = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
            let high = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
            let low = Self(_mm512_permutex2var_epi64(x.0, low, y.0)).pin().0;
            let high = Self(_mm512_permutex2var_epi64(x.0, high, y.0)).pin().0;
            _mm256_storeu_si256(dst[0].add(at).cast(), _mm512_castsi512_si256(low));
            _mm256_storeu_si256(dst[1].add(at).cast(), _mm512_extracti64x4_epi64::<1>(low));
            _mm256_storeu_si256(dst[2].add(at).cast(), _mm512_castsi512_si256(high));
            _mm256_storeu_si256(dst[3].add(at).cast(), _mm512_extracti64x4_epi64::<1>(high));
        }
    }
}

/// Defines `rounds`: eight of them, for `ZenTernary`, are one `asm!`, because the compiler moves
/// instructions between empty ones.
macro_rules! exact_rounds {
    ($register:ty, $m:literal) => {
        // 32-bit x86 has eight registers, not 32. Miri does not support `asm!`.
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        #[inline(always)]
        fn rounds<const N: usize>(s: [Self; N], k: [Self; N]) -> [Self; N] {
            if N != 8 {
                let mut out = s;
                $crate::block::each!(i < N: out[i] = s[i].aes(k[i]));
                return out;
            }
            #[inline]
            #[target_feature(enable = "aes,vaes,avx512f,avx512vl")]
            fn rounds(s: [$register; 8], k: [$register; 8]) -> [$register; 8] {
                let ([s0, s1, s2, s3, s4, s5, s6, s7], [k0, k1, k2, k3, k4, k5, k6, k7]) = (s, k);
                let (r0, r1, r2, r3, r4, r5, r6, r7);
                // SAFETY: AES rounds between registers. The class `zmm_reg` has all 32 registers.
                unsafe {
                    core::arch::asm!(
                        concat!("vaesenc {r0:", $m, "}, {s0:", $m, "}, {k0:", $m, "}"),
                        concat!("vaesenc {r1:", $m, "}, {s1:", $m, "}, {k1:", $m, "}"),
                        concat!("vaesenc {r2:", $m, "}, {s2:", $m, "}, {k2:", $m, "}"),
                        concat!("vaesenc {r3:", $m, "}, {s3:", $m, "}, {k3:", $m, "}"),
                        concat!("vaesenc {r4:", $m, "}, {s4:", $m, "}, {k4:", $m, "}"),
                        concat!("vaesenc {r5:", $m, "}, {s5:", $m, "}, {k5:", $m, "}"),
                        concat!("vaesenc {r6:", $m, "}, {s6:", $m, "}, {k6:", $m, "}"),
                        concat!("vaesenc {r7:", $m, "}, {s7:", $m, "}, {k7:", $m, "}"),
                        s0 = in(zmm_reg) s0, s1 = in(zmm_reg) s1, s2 = in(zmm_reg) s2,
                        s3 = in(zmm_reg) s3, s4 = in(zmm_reg) s4, s5 = in(zmm_reg) s5,
                        s6 = in(zmm_reg) s6, s7 = in(zmm_reg) s7,
                        k0 = in(zmm_reg) k0, k1 = in(zmm_reg) k1, k2 = in(zmm_reg) k2,
                        k3 = in(zmm_reg) k3, k4 = in(zmm_reg) k4, k5 = in(zmm_reg) k5,
                        k6 = in(zmm_reg) k6, k7 = in(zmm_reg) k7,
                        r0 = out(zmm_reg) r0, r1 = out(zmm_reg) r1, r2 = out(zmm_reg) r2,
                        r3 = out(zmm_reg) r3, r4 = out(zmm_reg) r4, r5 = out(zmm_reg) r5,
                        r6 = out(zmm_reg) r6, r7 = out(zmm_reg) r7,
                        options(pure, nomem, nostack, preserves_flags)
                    );
                }
                [r0, r1, r2, r3, r4, r5, r6, r7]
            }
            // SAFETY: values exist, so the CPU has the features.
            let [r0, r1, r2, r3, r4, r5, r6, r7] = unsafe {
                rounds(
                    [s[0].0, s[1].0, s[2].0, s[3].0, s[4].0, s[5].0, s[6].0, s[7].0],
                    [k[0].0, k[1].0, k[2].0, k[3].0, k[4].0, k[5].0, k[6].0, k[7].0],
                )
            };
            let eight = [r0, r1, r2, r3, r4, r5, r6, r7];
            let mut out = s;
            $crate::block::each!(i < N: out[i] = Self(eight[i]));
            out
        }
    };
}

aes!(M1(__m128i) of M1, _mm_aesenc_si128, needs "sse2", xmm_reg
    exact_rounds! { __m128i, "x" });
aes!(M2(__m256i) of M1, _mm256_aesenc_epi128, needs "avx2", ymm_reg
    exact_rounds! { __m256i, "y" });
aes!(M4(__m512i) of M1, _mm512_aesenc_epi128, needs "avx512f", zmm_reg);
halves!(M2, needs "avx2,avx512f,avx512vl", "vshufi64x2");

/// # Safety
/// The CPU has AVX-512F; 32 bytes are readable at each pointer.
#[inline(always)]
unsafe fn two_halves(low: *const u8, high: *const u8) -> __m512i {
    // SAFETY: the caller promises AVX-512F and 32 readable bytes at each pointer.
    unsafe {
        let low = _mm512_castsi256_si512(_mm256_loadu_si256(low.cast()));
        _mm512_inserti64x4::<1>(low, _mm256_loadu_si256(high.cast()))
    }
}

features! {
    /// VAES and AVX-512.
    Vaes512: "avx2,aes,vaes,avx512f,avx512bw,avx512vl", scrub 384
}
