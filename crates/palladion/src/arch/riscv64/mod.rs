//! 64-bit RISC-V.

mod zkne;
#[cfg(feature = "std")]
mod zvkned;

use crate::arch::backend::{Backend, Compiled};

/// The features of the CPU.
pub(crate) struct Cpu {
    pub(crate) zkne: bool,
    #[cfg(feature = "std")]
    pub(crate) zvkned: bool,
}

impl Cpu {
    /// Without a standard library, the CPU cannot be asked.
    #[cfg(not(feature = "std"))]
    pub(crate) fn detect() -> Self {
        Self { zkne: cfg!(target_feature = "zkne") }
    }

    /// The standard library asks Linux 6.8 and later (hwprobe). Where it cannot ask, only programs
    /// that were compiled for Zkne have it.
    #[cfg(feature = "std")]
    pub(crate) fn detect() -> Self {
        Self { zkne: std::arch::is_riscv_feature_detected!("zkne"), zvkned: Self::zvkned() }
    }

    /// The standard library has no stable way to ask for V and Zvkned, so this calls hwprobe.
    #[cfg(all(feature = "std", target_os = "linux"))]
    fn zvkned() -> bool {
        use core::ffi::c_long;
        unsafe extern "C" {
            fn syscall(number: c_long, ...) -> c_long;
        }
        const HWPROBE: c_long = 258;
        const EXTENSIONS: i64 = 4;
        const V_AND_ZVKNED: u64 = 1 << 2 | 1 << 21;
        let mut pair = (EXTENSIONS, 0u64);
        // SAFETY: `pair` is one pair of a key and its value, for all CPUs, without flags.
        let result = unsafe { syscall(HWPROBE, &raw mut pair, 1usize, 0usize, 0usize, 0usize) };
        result == 0 && pair.0 == EXTENSIONS && pair.1 & V_AND_ZVKNED == V_AND_ZVKNED
    }
    #[cfg(all(feature = "std", not(target_os = "linux")))]
    fn zvkned() -> bool {
        false
    }
}

pub(crate) const COMPILED: &[Compiled<Cpu>] = &[
    #[cfg(feature = "std")]
    Compiled { backend: Backend::RiscvZvkned, runs: |cpu| cpu.zvkned, tables: zvkned::TABLES },
    Compiled { backend: Backend::RiscvZkne, runs: |cpu| cpu.zkne, tables: zkne::TABLES },
];
