//! 64-bit ARM, with and without the AES extension: one block in a NEON register.

use core::arch::aarch64::*;

use super::backend::{Backend, Compiled};
use super::tables;
use crate::block::sum::AddsFirst;
use crate::block::{Blocks, Vector, Word, one_lane};
use crate::driver::features::features;
use crate::soft::permute::Permute;

/// The features of the CPU.
pub(crate) struct Cpu {
    pub(crate) neon: bool,
    pub(crate) aes: bool,
    pub(crate) sha3: bool,
}

impl Cpu {
    #[cfg(feature = "std")]
    pub(crate) fn detect() -> Self {
        Self {
            neon: std::arch::is_aarch64_feature_detected!("neon"),
            aes: std::arch::is_aarch64_feature_detected!("aes"),
            sha3: std::arch::is_aarch64_feature_detected!("sha3"),
        }
    }

    /// Without an operating system the CPU cannot be asked.
    #[cfg(not(feature = "std"))]
    pub(crate) fn detect() -> Self {
        Self {
            neon: cfg!(target_feature = "neon"),
            aes: cfg!(target_feature = "aes"),
            sha3: cfg!(target_feature = "sha3"),
        }
    }
}

/// Defines one block in a NEON register. Each use has its own type, because a value exists only if
/// the CPU has the features.
macro_rules! one_block {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name(uint8x16_t);

        // SAFETY: a value exists only if the CPU has the features. Each method is one or two
        // instructions whose time does not depend on their operands.
        unsafe impl Vector for $name {
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                // SAFETY: `self` exists, so the CPU has the features.
                Self(unsafe { veorq_u8(self.0, other.0) })
            }
            #[inline(always)]
            fn after(self, earlier: Self) -> Self {
                // SAFETY: `self` exists, so the CPU has the features.
                Self(unsafe { after(self.0, earlier.0) })
            }
        }

        // SAFETY: a value exists only if the CPU has the features. 16 bytes are one lane, in memory
        // order. Each method is one or two instructions that treat all bytes alike.
        unsafe impl Blocks for $name {
            one_lane!();

            #[inline(always)]
            unsafe fn load(src: *const u8) -> Self {
                // SAFETY: the caller promises the CPU features and 16 readable bytes; no alignment
                // is needed.
                Self(unsafe { vld1q_u8(src) })
            }
            #[inline(always)]
            unsafe fn store(self, dst: *mut u8) {
                // SAFETY: the caller promises 16 writable bytes; no alignment is needed.
                unsafe { vst1q_u8(dst, self.0) }
            }
            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: the caller promises the CPU features.
                Self(unsafe { vdupq_n_u8(0) })
            }
            #[inline(always)]
            fn xor_and(self, b: Self, c: Self) -> Self {
                // SAFETY: `self` exists, so the CPU has the features.
                Self(unsafe { veorq_u8(self.0, vandq_u8(b.0, c.0)) })
            }
        }
    };
}
one_block! {
    /// One block in a NEON register, with the AES extension.
    A1
}
one_block! {
    /// One block in a NEON register, without the AES extension.
    N1
}

// SAFETY: a value exists only if the CPU has AESE and AESMC.
unsafe impl Word for A1 {
    crate::block::plain!(Self);
    /// The compiler stores words of a state even of one lane (`CPU=aarch64 assurance/wiping.sh`).
    const SPILLS: bool = true;

    #[inline(always)]
    fn aes(self, round_key: Self) -> Self {
        // A separate function, because the intrinsics are inlined only where the feature is
        // enabled. AESE adds its key before SubBytes, the standard's round after MixColumns, so
        // AESE gets a key of zeros.
        #[inline]
        #[target_feature(enable = "neon,aes")]
        fn round(block: uint8x16_t, round_key: uint8x16_t) -> uint8x16_t {
            veorq_u8(vaesmcq_u8(vaeseq_u8(block, vdupq_n_u8(0))), round_key)
        }
        // SAFETY: `self` exists, so the CPU has the features.
        Self(unsafe { round(self.0, round_key.0) })
    }
}

// SAFETY: a value exists only if the CPU has AESE and AESMC.
unsafe impl AddsFirst for A1 {
    #[inline(always)]
    fn whole(self, other: Self) -> Self {
        // SAFETY: `self` exists, so the CPU has the features.
        Self(unsafe { hide(veorq_u8(self.0, other.0)) })
    }
    #[inline(always)]
    fn round_of_sum(self, other: Self) -> Self {
        // In `asm!`, because CPUs make one operation of the two instructions only if they are
        // adjacent.
        #[inline]
        #[target_feature(enable = "neon,aes")]
        fn round(mut a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
            // SAFETY: an AES round between registers.
            unsafe {
                core::arch::asm!(
                    "aese {a:v}.16b, {b:v}.16b",
                    "aesmc {a:v}.16b, {a:v}.16b",
                    a = inlateout(vreg) a, b = in(vreg) b,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            a
        }
        // SAFETY: `self` exists, so the CPU has the features.
        Self(unsafe { round(self.0, other.0) })
    }
}

// SAFETY: a value exists only if the CPU has NEON. Lookups take the same time for all indices.
unsafe impl Permute for N1 {
    /// Loops keep their tables in registers, of which there are enough. Otherwise the compiler,
    /// which can load a table at any time, would load most of them again in each step. Hiding where
    /// they come from prevents that.
    #[inline(always)]
    unsafe fn table(table: &'static [u8; 16]) -> Self {
        // SAFETY: the caller promises the CPU features; the table has 16 readable bytes.
        Self(unsafe { hide(vld1q_u8(table.as_ptr())) })
    }
    #[inline(always)]
    fn lookup(self, index: Self) -> Self {
        // SAFETY: `self` exists, so the CPU has the features.
        Self(unsafe { vqtbl1q_u8(self.0, index.0) })
    }
    #[inline(always)]
    fn nibbles(self) -> [Self; 2] {
        // SAFETY: `self` exists, so the CPU has the features.
        unsafe { [Self(vandq_u8(self.0, hide(vdupq_n_u8(0x0f)))), Self(vshrq_n_u8::<4>(self.0))] }
    }
}

/// Returns the same value and hides its origin from the compiler. Equal calls may be merged.
#[inline]
#[target_feature(enable = "neon")]
fn hide(mut x: uint8x16_t) -> uint8x16_t {
    // SAFETY: it contains no instruction.
    unsafe {
        core::arch::asm!(
            "/* {0:v} */", inlateout(vreg) x,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    x
}

/// Returns the same value, and keeps its place behind `earlier` and behind other such calls: the
/// compiler does not reorder assembly that may have side effects.
#[inline]
#[target_feature(enable = "neon")]
fn after(mut x: uint8x16_t, earlier: uint8x16_t) -> uint8x16_t {
    // SAFETY: it contains no instruction.
    unsafe {
        core::arch::asm!(
            "/* {0:v} {1:v} */", inlateout(vreg) x, in(vreg) earlier,
            options(nomem, nostack, preserves_flags)
        );
    }
    x
}

features! {
    /// The AES and SHA-3 extensions. The compiler uses EOR3 of the latter to add three values.
    AesSha3: "neon,aes,sha3", scrub 768
}
features! {
    /// The AES extension.
    Aes: "neon,aes", scrub 768
}
features! {
    /// Byte shuffles.
    Neon: "neon", scrub 1024
}

/// The backends, the fastest first.
pub(crate) const COMPILED: &[Compiled<Cpu>] = &[
    Compiled {
        backend: Backend::ArmAesSha3,
        runs: |cpu| cpu.neon && cpu.aes && cpu.sha3,
        tables: tables::adds_first::<AesSha3, A1>(),
    },
    Compiled {
        backend: Backend::ArmAes,
        runs: |cpu| cpu.neon && cpu.aes,
        tables: tables::adds_first::<Aes, A1>(),
    },
    Compiled {
        backend: Backend::Neon,
        runs: |cpu| cpu.neon,
        tables: tables::shuffles::<Neon, N1>(),
    },
];
