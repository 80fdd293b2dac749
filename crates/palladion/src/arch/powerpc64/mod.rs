//! 64-bit POWER.

#[macro_use]
mod text;
mod power8;

use crate::arch::backend::{Backend, Compiled};

/// The features of the CPU.
pub(crate) struct Cpu {
    pub(crate) crypto: bool,
}

impl Cpu {
    /// Rust compiles everything for little-endian CPUs for POWER8, whose instructions these are.
    #[cfg(target_endian = "little")]
    pub(crate) fn detect() -> Self {
        Self { crypto: true }
    }

    /// The standard library has no stable way to ask, but Linux says it.
    #[cfg(all(target_endian = "big", target_os = "linux"))]
    pub(crate) fn detect() -> Self {
        use core::ffi::c_ulong;
        unsafe extern "C" {
            safe fn getauxval(kind: c_ulong) -> c_ulong;
        }
        const HWCAP: c_ulong = 16;
        const HWCAP2: c_ulong = 26;
        const VSX: c_ulong = 1 << 7;
        const VEC_CRYPTO: c_ulong = 1 << 25;
        Self { crypto: getauxval(HWCAP) & VSX != 0 && getauxval(HWCAP2) & VEC_CRYPTO != 0 }
    }

    #[cfg(not(any(target_endian = "little", target_os = "linux")))]
    pub(crate) fn detect() -> Self {
        Self { crypto: false }
    }
}

pub(crate) const COMPILED: &[Compiled<Cpu>] =
    &[Compiled { backend: Backend::Power8Crypto, runs: |cpu| cpu.crypto, tables: power8::TABLES }];
