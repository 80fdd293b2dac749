//! One file for each class of CPUs, with its block vectors and its tables of kernels.

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
pub(crate) mod aarch64;
#[cfg_attr(palladion_one_backend, allow(dead_code))]
pub(crate) mod portable;
#[cfg(all(target_family = "wasm", target_feature = "simd128"))]
pub(crate) mod wasm;
#[cfg(any(target_arch = "x86", all(target_arch = "x86_64", target_feature = "sse2")))]
pub(crate) mod x86;
