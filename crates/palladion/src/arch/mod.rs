//! One file for each class of CPUs, with its block vectors and its tables of kernels.

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
pub(crate) mod aarch64;
// The CPU cannot be asked without a standard library, and elsewhere the assembler is another.
#[cfg(all(
    target_arch = "arm",
    target_endian = "little",
    feature = "std",
    any(target_os = "linux", target_os = "android")
))]
pub(crate) mod arm;
#[cfg_attr(
    any(
        palladion_one_backend,
        all(target_arch = "powerpc64", target_endian = "little", not(feature = "std")),
        all(target_arch = "riscv64", target_feature = "zkne", not(feature = "std"))
    ),
    allow(dead_code)
)]
pub(crate) mod portable;
// Without a standard library, the CPU cannot be asked.
#[cfg(all(target_arch = "powerpc64", any(feature = "std", target_endian = "little")))]
pub(crate) mod powerpc64;
#[cfg(all(target_arch = "riscv64", any(feature = "std", target_feature = "zkne")))]
pub(crate) mod riscv64;
// Without a standard library, the CPU cannot be asked.
#[cfg(all(target_arch = "s390x", feature = "std"))]
pub(crate) mod s390x;
#[cfg(all(target_family = "wasm", target_feature = "simd128"))]
pub(crate) mod wasm;
#[cfg(any(target_arch = "x86", all(target_arch = "x86_64", target_feature = "sse2")))]
pub(crate) mod x86;
