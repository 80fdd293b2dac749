//! IBM Z.

mod lookups;
#[macro_use]
mod text;
mod z13;

use crate::arch::backend::{Backend, Compiled};

/// The features of the CPU.
pub(crate) struct Cpu {
    pub(crate) vector: bool,
}

impl Cpu {
    /// The standard library has no stable way to ask, but Linux says it: that the CPU has vector
    /// registers, and that the system saves them.
    #[cfg(all(target_os = "linux", not(miri)))]
    pub(crate) fn detect() -> Self {
        use core::ffi::c_ulong;
        unsafe extern "C" {
            safe fn getauxval(kind: c_ulong) -> c_ulong;
        }
        const HWCAP: c_ulong = 16;
        const VXRS: c_ulong = 1 << 11;
        Self { vector: getauxval(HWCAP) & VXRS != 0 }
    }

    #[cfg(not(all(target_os = "linux", not(miri))))]
    pub(crate) fn detect() -> Self {
        Self { vector: false }
    }
}

pub(crate) const COMPILED: &[Compiled<Cpu>] =
    &[Compiled { backend: Backend::Z13Vector, runs: |cpu| cpu.vector, tables: z13::TABLES }];
