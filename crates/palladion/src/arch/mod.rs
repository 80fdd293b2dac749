//! A file or folder for each class of CPUs, with its registers, features and backends, and in
//! `tables/` what kernels they have.
//!
//! The module of a CPU exports `Cpu`, the features that can be detected, and in `COMPILED` the
//! backends that need some of them, the fastest first. Where `dispatch` cannot choose at run time,
//! the first one runs wherever the program does.

pub(crate) mod backend;
pub(crate) mod portable;
#[allow(dead_code)] // a CPU needs only its own
pub(crate) mod tables;
pub(crate) mod timing;

pub use backend::Backend;
pub(crate) use backend::Compiled;
pub(crate) use cpu::{COMPILED, Cpu};
pub(crate) use timing::DataIndependentTiming;

/// Compiles the items of the condition that is true, of which there is at most one, or else those
/// at the end. It has the name of the well-known crate so that `rustfmt` finds the modules.
macro_rules! cfg_if {
    ($(if #[cfg($condition:meta)] $items:tt else)* { $($other:item)* }) => {
        $($crate::arch::cfg_if! { @ $condition, $items })*
        $crate::arch::cfg_if! { @ not(any($($condition),*)), { $($other)* } }
    };
    (@ $condition:meta, { $($item:item)* }) => { $(#[cfg($condition)] $item)* };
}
pub(crate) use cfg_if;

// Some CPUs can only be asked for their features with a standard library.
cfg_if! {
    if #[cfg(any(target_arch = "x86", all(target_arch = "x86_64", target_feature = "sse2")))] {
        pub(crate) mod x86;
        use x86 as cpu;
    } else if #[cfg(all(target_arch = "aarch64", target_endian = "little"))] {
        pub(crate) mod aarch64;
        use aarch64 as cpu;
    } else if #[cfg(all(
        target_arch = "arm",
        target_endian = "little",
        feature = "std",
        any(target_os = "linux", target_os = "android") // elsewhere the assembler differs
    ))] {
        mod arm;
        use arm as cpu;
    } else if #[cfg(all(
        target_arch = "powerpc64",
        any(feature = "std", target_endian = "little")
    ))] {
        mod doublewords;
        mod powerpc64;
        use powerpc64 as cpu;
    } else if #[cfg(all(
        target_arch = "riscv64",
        any(feature = "std", target_feature = "zkne")
    ))] {
        mod riscv64;
        use riscv64 as cpu;
    } else if #[cfg(all(target_arch = "s390x", feature = "std"))] {
        mod doublewords;
        mod s390x;
        use s390x as cpu;
    } else if #[cfg(all(target_family = "wasm", target_feature = "simd128"))] {
        mod wasm;
        use wasm as cpu;
    } else {
        mod other;
        use other as cpu;
    }
}
