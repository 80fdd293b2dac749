//! The choice where only one backend is compiled in: without an operating system, or with `--cfg
//! palladion_one_backend`, which takes the best one that needs no detection.
//!
//! No atomics are needed. The compiler knows the kernels, even if it optimises one crate at a time,
//! so only those that are called become part of the program.

use core::marker::PhantomData;

use super::error::BackendError;
use crate::arch::{self, Backend, Compiled, Cpu, portable};
use crate::driver::kernels::Kernels;
use crate::driver::{Parameters, Variant};

/// The fastest that is compiled in. It runs wherever the program does.
const ONLY: &Compiled<Cpu> = match arch::COMPILED {
    [fastest, ..] => fastest,
    [] => &portable::COMPILED,
};

pub(crate) fn is_available(backend: Backend) -> bool {
    backend == ONLY.backend
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
    Ok(ONLY.backend)
}

/// Returns the degree whose kernels serve. With `palladion_one_backend`, those for any degree serve
/// for all, to keep the program small.
const fn served_by(degree: usize) -> usize {
    if cfg!(palladion_one_backend) { 0 } else { degree }
}

/// A variant.
#[derive(Clone, Copy)]
pub(crate) struct Chosen<P: Parameters, const D: usize>(PhantomData<P>);

impl<P: Parameters, const D: usize> Chosen<P, D> {
    #[inline(always)]
    pub(crate) fn new() -> Result<Self, BackendError> {
        let cpu = Cpu::detect(); // which WebAssembly needs
        debug_assert!((ONLY.runs)(&cpu));
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
        const { &{ *ONLY.tables.of(P::INDEX, served_by(D)) } }
    }
}
