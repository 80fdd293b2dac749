//! `dispatch.rs` where there is nothing to choose: a bare machine, with one backend compiled in.
//!
//! No atomics are needed. The kernels are known when the program is compiled, also to an optimiser that looks into no other
//! crate, so that only those that are called get into it.

use core::marker::PhantomData;

use super::class;
use super::kernels::Kernels;
use super::portable::TABLES;
use crate::backend::{Backend, BackendError};
use crate::family::Family;

pub(crate) fn is_available(backend: Backend) -> bool {
    backend == Backend::Portable
}

pub(crate) fn set(backend: Backend) -> Result<(), BackendError> {
    if is_available(backend) { Ok(()) } else { Err(BackendError::Unavailable(backend)) }
}

/// The only backend.
#[inline]
pub(crate) fn backend() -> Result<Backend, BackendError> {
    Ok(Backend::Portable)
}

/// The kernels of a variant.
#[derive(Clone, Copy)]
pub(crate) struct Variant<F: Family, const D: usize>(PhantomData<F>);

impl<F: Family, const D: usize> Variant<F, D> {
    #[inline(always)]
    pub(crate) fn new() -> Result<Self, BackendError> {
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
