//! x86 and x86-64: the AES instructions on registers of one, two and four blocks.

#[cfg(target_arch = "x86")]
use core::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

use super::blocks::{Blocks, Pair};

/// Implements [`Blocks`] for one register width.
macro_rules! register {
    (
        $(#[$doc:meta])*
        $name:ident($register:ty): $lanes:literal lanes, needs $features:literal, $class:ident
            $(, $constant:ident = $value:expr)?;
        load $load:ident, store $store:ident, splat |$block:ident| $splat:expr, zero $zero:ident,
        xor $xor:ident, and $and:ident, aes $aes:ident,
        first |$first:ident| $first_expr:expr, fold |$fold:ident| $fold_expr:expr;
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name($register);

        // SAFETY: each method is the one instruction that its name says, on all lanes alike; a value is proof that
        // the CPU has it.
        unsafe impl Blocks for $name {
            const LANES: usize = $lanes;
            $(const $constant: bool = $value;)?
            type Lane = X1;

            #[inline(always)]
            unsafe fn load(src: *const u8) -> Self {
                // SAFETY: the caller grants the features and the memory; the instruction needs no alignment.
                Self(unsafe { $load(src.cast()) })
            }
            #[inline(always)]
            unsafe fn store(self, dst: *mut u8) {
                // SAFETY: likewise.
                unsafe { $store(dst.cast(), self.0) }
            }
            #[inline(always)]
            unsafe fn splat(block: *const u8) -> Self {
                // SAFETY: likewise, for 16 bytes.
                unsafe {
                    let $block = _mm_loadu_si128(block.cast());
                    Self($splat)
                }
            }
            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: the caller grants the features.
                Self(unsafe { $zero() })
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                // SAFETY: `self` is proof of the features.
                Self(unsafe { $xor(self.0, other.0) })
            }
            #[inline(always)]
            fn xor_and(self, b: Self, c: Self) -> Self {
                // SAFETY: `self` is proof of the features.
                Self(unsafe { $xor(self.0, $and(b.0, c.0)) })
            }
            #[inline(always)]
            fn aes(self, round_key: Self) -> Self {
                // SAFETY: `self` is proof of the features.
                Self(unsafe { $aes(self.0, round_key.0) })
            }
            #[inline(always)]
            fn pin(self) -> Self {
                // A function of its own, because `asm!` takes a wide register only where the feature is known.
                #[inline]
                #[target_feature(enable = $features)]
                fn pin(mut x: $register) -> $register {
                    // SAFETY: no instruction at all.
                    unsafe {
                        core::arch::asm!(
                            "/* {0} */", inlateout($class) x,
                            options(pure, nomem, nostack, preserves_flags)
                        );
                    }
                    x
                }
                // SAFETY: `self` is proof of the features.
                Self(unsafe { pin(self.0) })
            }
            #[inline(always)]
            fn first(self) -> X1 {
                let $first = self.0;
                #[allow(unused_unsafe)] // nothing to do for one lane
                // SAFETY: `self` is proof of the features.
                X1(unsafe { $first_expr })
            }
            #[inline(always)]
            fn fold(self) -> X1 {
                let $fold = self;
                #[allow(unused_unsafe)] // nothing to do for one lane
                // SAFETY: `self` is proof of the features.
                unsafe {
                    $fold_expr
                }
            }
        }
    };
}

register! {
    /// One block in an XMM register: AES-NI.
    X1(__m128i): 1 lanes, needs "sse2", xmm_reg;
    load _mm_loadu_si128, store _mm_storeu_si128, splat |block| block, zero _mm_setzero_si128,
    xor _mm_xor_si128, and _mm_and_si128, aes _mm_aesenc_si128,
    first |x| x, fold |x| x;
}

register! {
    /// The same, for AEGIS-128 with AVX on cores with one AES unit.
    X1Last(__m128i): 1 lanes, needs "sse2", xmm_reg, MESSAGE_LAST = true;
    load _mm_loadu_si128, store _mm_storeu_si128, splat |block| block, zero _mm_setzero_si128,
    xor _mm_xor_si128, and _mm_and_si128, aes _mm_aesenc_si128,
    first |x| x, fold |x| X1(x.0);
}

register! {
    /// Two blocks in a YMM register: VAES with AVX2.
    X2(__m256i): 2 lanes, needs "avx2", ymm_reg;
    load _mm256_loadu_si256, store _mm256_storeu_si256, splat |block| _mm256_broadcastsi128_si256(block),
    zero _mm256_setzero_si256, xor _mm256_xor_si256, and _mm256_and_si256, aes _mm256_aesenc_epi128,
    first |x| _mm256_castsi256_si128(x),
    fold |x| X1(_mm_xor_si128(_mm256_castsi256_si128(x.0), _mm256_extracti128_si256::<1>(x.0)));
}

register! {
    /// Four blocks in a ZMM register: VAES with AVX-512.
    X4(__m512i): 4 lanes, needs "avx512f", zmm_reg;
    load _mm512_loadu_si512, store _mm512_storeu_si512, splat |block| _mm512_broadcast_i32x4(block),
    zero _mm512_setzero_si512, xor _mm512_xor_si512, and _mm512_and_si512, aes _mm512_aesenc_epi128,
    first |x| _mm512_castsi512_si128(x),
    fold |x| X2(_mm512_castsi512_si256(x.0)).xor(X2(_mm512_extracti64x4_epi64::<1>(x.0))).fold();
}

/// AES-NI in its first encoding, for CPUs without AVX.
pub(crate) mod aesni {
    use super::{Pair, X1};
    crate::low::kernels::tables! {
        #[target_feature(enable = "sse2,aes")]
        aegis128: [X1, 1; X1, 2; X1, 4; X1, 0;]
        aegis256: [X1, 1; Pair<X1>, 1; Pair<X1>, 2; X1, 0;]
    }
}

/// AES-NI in the three-operand encoding of AVX.
pub(crate) mod aesni_avx {
    use super::{Pair, X1, X1Last};
    crate::low::kernels::tables! {
        #[target_feature(enable = "avx,aes")]
        aegis128: [X1Last, 1; X1Last, 2; X1, 4; X1Last, 0;]
        aegis256: [X1, 1; Pair<X1>, 1; Pair<X1>, 2; X1, 0;]
    }
}

/// VAES on 256-bit registers.
pub(crate) mod vaes_avx2 {
    use super::{Pair, X1, X2};
    crate::low::kernels::tables! {
        #[target_feature(enable = "avx2,aes,vaes")]
        aegis128: [X1, 1; X2, 1; X2, 2; X1, 0;]
        aegis256: [X1, 1; X2, 1; Pair<X2>, 1; X1, 0;]
    }
}

/// VAES with AVX-512VL: registers up to 512 bits and three-way logic.
pub(crate) mod vaes_avx512 {
    use super::{X1, X2, X4};
    crate::low::kernels::tables! {
        #[target_feature(enable = "avx2,aes,vaes,avx512f,avx512vl")]
        aegis128: [X1, 1; X2, 1; X4, 1; X1, 0;]
        aegis256: [X1, 1; X2, 1; X4, 1; X1, 0;]
    }
}

/// What CPUID says of the features that the backends need, with the operating system's consent to the wide registers.
/// (`is_x86_feature_detected!` needs `std`; this works without, and a test compares the two.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Features {
    pub(crate) aes: bool,
    pub(crate) avx: bool,
    pub(crate) avx2: bool,
    pub(crate) vaes: bool,
    pub(crate) avx512f: bool,
    pub(crate) avx512vl: bool,
}

impl Features {
    pub(crate) fn detect() -> Self {
        // Without an operating system that saves the vector registers, CPUID says nothing about whether they may be
        // used; in an SGX enclave it cannot even be asked. Then only what the whole program is compiled for counts.
        if cfg!(any(target_os = "none", target_os = "uefi", target_env = "sgx")) {
            return Self {
                aes: cfg!(target_feature = "aes"),
                avx: cfg!(target_feature = "avx"),
                avx2: cfg!(target_feature = "avx2"),
                vaes: cfg!(target_feature = "vaes"),
                avx512f: cfg!(target_feature = "avx512f"),
                avx512vl: cfg!(target_feature = "avx512vl"),
            };
        }
        let bit = |register: u32, bit: u32| register >> bit & 1 == 1;
        #[allow(unused_unsafe)] // safe in newer compilers than the oldest supported one
        // SAFETY: every CPU that this code runs on has CPUID: x86-64 by definition, x86 since 1993.
        let cpuid = |leaf: u32| unsafe { __cpuid_count(leaf, 0) };
        let highest = cpuid(0).eax;
        let leaf1 = cpuid(1);
        if !(bit(leaf1.edx, 26) && bit(leaf1.ecx, 25)) {
            return Self::default(); // no SSE2 or no AES-NI
        }
        // XCR0 tells which registers the operating system saves: bits 1 and 2 for YMM, 5 to 7 for ZMM and masks.
        let xcr0 = if bit(leaf1.ecx, 27) {
            #[target_feature(enable = "xsave")]
            unsafe fn xcr0() -> u64 {
                // SAFETY: the caller has seen OSXSAVE.
                unsafe { _xgetbv(0) }
            }
            // SAFETY: OSXSAVE says that XGETBV may be used.
            unsafe { xcr0() }
        } else {
            0
        };
        let ymm = xcr0 & 0x06 == 0x06;
        let zmm = xcr0 & 0xe6 == 0xe6;
        let leaf7 = if highest >= 7 { cpuid(7) } else { CpuidResult { eax: 0, ebx: 0, ecx: 0, edx: 0 } };
        Self {
            aes: true,
            avx: ymm && bit(leaf1.ecx, 28),
            avx2: ymm && bit(leaf7.ebx, 5),
            vaes: ymm && bit(leaf7.ecx, 9),
            avx512f: zmm && bit(leaf7.ebx, 16),
            avx512vl: zmm && bit(leaf7.ebx, 31),
        }
    }
}

#[cfg(all(test, feature = "std"))]
#[test]
fn detection_agrees_with_the_standard_library() {
    use std::is_x86_feature_detected;
    let expected = Features {
        aes: is_x86_feature_detected!("aes"),
        avx: is_x86_feature_detected!("avx"),
        avx2: is_x86_feature_detected!("avx2"),
        vaes: is_x86_feature_detected!("vaes"),
        avx512f: is_x86_feature_detected!("avx512f"),
        avx512vl: is_x86_feature_detected!("avx512vl"),
    };
    let found = Features::detect();
    assert!(!expected.aes || found == expected, "{found:?} is not {expected:?}");
}
