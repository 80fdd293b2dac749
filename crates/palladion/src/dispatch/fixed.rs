//! The choice where only one backend is compiled in: without an operating system, or with `--cfg
//! palladion_one_backend`, which takes the best one that needs no detection.
//!
//! No atomics are needed. The compiler knows the kernels, even if it optimises one crate at a time,
//! so only those that are called become part of the program.

use core::marker::PhantomData;

use super::backend::{Backend, BackendError};
#[cfg(not(any(
    all(target_family = "wasm", target_feature = "simd128"),
    all(target_arch = "powerpc64", target_endian = "little"),
    all(target_arch = "riscv64", target_feature = "zkne")
)))]
use crate::arch::portable::TABLES;
#[cfg(all(target_arch = "powerpc64", target_endian = "little"))]
use crate::arch::powerpc64::power8::TABLES;
#[cfg(all(target_arch = "riscv64", target_feature = "zkne"))]
use crate::arch::riscv64::zkne::TABLES;
#[cfg(all(target_family = "wasm", target_feature = "relaxed-simd"))]
use crate::arch::wasm::relaxed::TABLES;
#[cfg(all(
    target_family = "wasm",
    target_feature = "simd128",
    not(target_feature = "relaxed-simd")
))]
use crate::arch::wasm::simd128::TABLES;
use crate::driver::table::Kernels;
use crate::driver::{Parameters, Variant, variant};

const ONLY: Backend = if cfg!(all(target_family = "wasm", target_feature = "relaxed-simd")) {
    Backend::WasmRelaxedSimd
} else if cfg!(all(target_family = "wasm", target_feature = "simd128")) {
    Backend::WasmSimd128
} else if cfg!(all(target_arch = "powerpc64", target_endian = "little")) {
    Backend::Power8Crypto
} else if cfg!(all(target_arch = "riscv64", target_feature = "zkne")) {
    Backend::RiscvZkne
} else {
    Backend::Portable
};

pub(crate) fn is_available(backend: Backend) -> bool {
    backend == ONLY
}

/// There is no other backend to choose instead, so none is checked.
pub(crate) fn is_faulty(_: Backend) -> bool {
    false
}

pub(crate) fn set(backend: Backend) -> Result<(), BackendError> {
    if is_available(backend) { Ok(()) } else { Err(BackendError::Unavailable(backend)) }
}

/// Returns the only backend.
#[inline]
pub(crate) fn backend() -> Result<Backend, BackendError> {
    Ok(ONLY)
}

/// Returns the class of a degree in a table. With `palladion_one_backend`, the kernels for any
/// degree serve for all, to keep the program small.
const fn class(degree: usize) -> usize {
    if cfg!(palladion_one_backend) { variant::class(0) } else { variant::class(degree) }
}

/// A variant.
#[derive(Clone, Copy)]
pub(crate) struct Chosen<P: Parameters, const D: usize>(PhantomData<P>);

impl<P: Parameters, const D: usize> Chosen<P, D> {
    #[inline(always)]
    pub(crate) fn new() -> Result<Self, BackendError> {
        #[cfg(all(target_family = "wasm", target_feature = "simd128"))]
        crate::arch::wasm::keep_unknown();
        Ok(Self(PhantomData))
    }
}

impl<P: Parameters, const D: usize> Variant for Chosen<P, D> {
    type Family = P;
    type Memory = P::Memory<D>;
    type Step = P::Step<D>;
    const DEGREE: usize = D;

    #[inline(always)]
    fn kernels(&self) -> &'static Kernels {
        // A copy, so that it does not pull in the kernels of other variants.
        const { &{ TABLES[P::INDEX][class(D)] } }
    }
}
