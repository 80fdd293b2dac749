//! `dispatch.rs` where there is nothing to choose: a bare machine, with one backend compiled in, or a program that was built with
//! `--cfg palladion_one_backend`, which gets the best of those that need no look at the CPU.
//!
//! No atomics are needed. The kernels are known when the program is compiled, also to an optimiser that looks into no other
//! crate, so that only those that are called get into it.

use core::marker::PhantomData;

use super::kernels::Kernels;
#[cfg(not(all(target_family = "wasm", target_feature = "simd128")))]
use super::portable::TABLES;
#[cfg(all(target_family = "wasm", target_feature = "relaxed-simd"))]
use super::wasm::relaxed::TABLES;
#[cfg(all(target_family = "wasm", target_feature = "simd128", not(target_feature = "relaxed-simd")))]
use super::wasm::simd128::TABLES;
use crate::backend::{Backend, BackendError};
use crate::family::Family;

const ONLY: Backend = if cfg!(all(target_family = "wasm", target_feature = "relaxed-simd")) {
    Backend::WasmRelaxedSimd
} else if cfg!(all(target_family = "wasm", target_feature = "simd128")) {
    Backend::WasmSimd128
} else {
    Backend::Portable
};

pub(crate) fn is_available(backend: Backend) -> bool {
    backend == ONLY
}

pub(crate) fn set(backend: Backend) -> Result<(), BackendError> {
    if is_available(backend) { Ok(()) } else { Err(BackendError::Unavailable(backend)) }
}

/// The only backend.
#[inline]
pub(crate) fn backend() -> Result<Backend, BackendError> {
    Ok(ONLY)
}

/// Which of a table's classes a degree belongs to. Where a small program is asked for, the kernels for any degree serve for all.
const fn class(degree: usize) -> usize {
    if cfg!(palladion_one_backend) { super::class(0) } else { super::class(degree) }
}

/// The kernels of a variant.
#[derive(Clone, Copy)]
pub(crate) struct Variant<F: Family, const D: usize>(PhantomData<F>);

impl<F: Family, const D: usize> Variant<F, D> {
    #[inline(always)]
    pub(crate) fn new() -> Result<Self, BackendError> {
        #[cfg(all(target_family = "wasm", target_feature = "simd128"))]
        super::wasm::keep_unknown();
        Ok(Self(PhantomData))
    }

    #[inline(always)]
    pub(crate) fn kernels(&self) -> &'static Kernels {
        // A copy, so that it drags no other variant's kernels along.
        const { &{ TABLES[F::INDEX][class(D)] } }
    }
}

/// The kernels of a variant.
#[inline(always)]
pub(crate) fn chosen<F: Family, const D: usize>() -> Option<&'static Kernels> {
    Some(Variant::<F, D>(PhantomData).kernels())
}
