//! The choice at run time: one table of kernels for the whole process, chosen once.

use core::marker::PhantomData;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::check;
use super::error::BackendError;
use crate::arch::{self, Backend, Cpu, portable};
use crate::driver::kernels::Kernels;
use crate::driver::{Parameters, Variant};

type Compiled = arch::Compiled<Cpu>;

/// Returns the backends that the CPU supports, the fastest first. The portable one is the last.
fn supported(cpu: &Cpu) -> impl Iterator<Item = &'static Compiled> {
    compiled().filter(|compiled| (compiled.runs)(cpu))
}

/// Returns the backends that are compiled in, in the order of [`Backend::ALL`].
fn compiled() -> impl Iterator<Item = &'static Compiled> {
    arch::COMPILED.iter().chain([&portable::COMPILED])
}

/// Returns whether the kernels compute the right results here. The portable ones are the last
/// resort, and use no instruction that the rest of the program does without.
///
/// # Safety
/// [`runs`](Compiled::runs) is true of this CPU.
unsafe fn is_right(compiled: &Compiled) -> bool {
    // SAFETY: the caller promises that the CPU has the features.
    compiled.backend == Backend::Portable || unsafe { check::are_right(&compiled.tables) }
}

/// Returns the fastest backend that the CPU supports and computes right. The portable one runs
/// everywhere.
pub(super) fn best() -> Option<&'static Compiled> {
    let cpu = Cpu::detect();
    // SAFETY: the CPU has the features.
    supported(&cpu).find(|compiled| unsafe { is_right(compiled) })
}

fn find(backend: Backend) -> Result<&'static Compiled, BackendError> {
    let cpu = Cpu::detect();
    let named = supported(&cpu).find(|compiled| compiled.backend == backend);
    let compiled = named.ok_or(BackendError::Unavailable(backend))?;
    // SAFETY: the CPU has the features.
    if unsafe { is_right(compiled) } { Ok(compiled) } else { Err(BackendError::Faulty(backend)) }
}

pub(crate) fn is_available(backend: Backend) -> bool {
    find(backend).is_ok()
}

pub(crate) fn is_faulty(backend: Backend) -> bool {
    matches!(find(backend), Err(BackendError::Faulty(_)))
}

/// The chosen backend, or null before the first use.
static ACTIVE: AtomicPtr<Compiled> = AtomicPtr::new(ptr::null_mut());

pub(crate) fn set(backend: Backend) -> Result<(), BackendError> {
    ACTIVE.store(ptr::from_ref(find(backend)?).cast_mut(), Ordering::Relaxed);
    Ok(())
}

/// Returns the backend in use.
#[inline]
pub(crate) fn backend() -> Result<Backend, BackendError> {
    active().map(|chosen| chosen.backend)
}

/// A variant, with its kernels in the backend that was in use when the value was created.
#[derive(Clone, Copy)]
pub(crate) struct Chosen<P: Parameters, const D: usize>(&'static Kernels, PhantomData<P>);

impl<P: Parameters, const D: usize> Chosen<P, D> {
    #[inline(always)]
    pub(crate) fn new() -> Result<Self, BackendError> {
        active().map(|chosen| Self(chosen.tables.of(P::INDEX, D), PhantomData))
    }
}

impl<P: Parameters, const D: usize> Variant for Chosen<P, D> {
    type Family = P;
    type Memory = P::Memory<D>;
    type Step = P::Step<D>;
    const DEGREE: usize = D;

    #[inline(always)]
    fn kernels(&self) -> &'static Kernels {
        self.0
    }
}

/// Returns the backend in use and its kernels.
#[inline(always)]
fn active() -> Result<&'static Compiled, BackendError> {
    // SAFETY: the pointer is null or that of a constant. Relaxed ordering is enough,
    // because nothing else is published with it.
    match unsafe { ACTIVE.load(Ordering::Relaxed).as_ref() } {
        Some(chosen) => Ok(chosen),
        None => choose(),
    }
}

/// Chooses a backend on first use: the one that the environment names, or else the fastest. Two
/// threads that do so at once choose the same.
#[cold]
#[inline(never)]
fn choose() -> Result<&'static Compiled, BackendError> {
    let chosen = match asked_for()? {
        Some(chosen) => chosen,
        None => best().ok_or(BackendError::Unavailable(Backend::Portable))?,
    };
    // If `set` was called in the meantime, its choice wins.
    let entry = ptr::from_ref(chosen).cast_mut();
    let _ = ACTIVE.compare_exchange(ptr::null_mut(), entry, Ordering::Relaxed, Ordering::Relaxed);
    Ok(chosen)
}

/// Returns the backend that the environment names, if any.
fn asked_for() -> Result<Option<&'static Compiled>, BackendError> {
    #[cfg(feature = "std")]
    if let Some(name) =
        std::env::var_os(super::error::ENVIRONMENT_VARIABLE).filter(|name| !name.is_empty())
    {
        let backend: Result<Backend, _> =
            name.to_str().ok_or(BackendError::Unknown).and_then(str::parse);
        return backend.and_then(find).map(Some).map_err(in_environment);
    }
    Ok(None)
}

/// Converts an error to one of the environment variable.
#[cfg(feature = "std")]
fn in_environment(error: BackendError) -> BackendError {
    match error {
        BackendError::Unknown => BackendError::Environment(None),
        BackendError::Unavailable(backend) | BackendError::Faulty(backend) => {
            BackendError::Environment(Some(backend))
        }
        BackendError::Environment(_) => error,
    }
}

/// Tests run on each backend of [`Backend::ALL`]; one that is missing there would run untested.
#[cfg(test)]
#[test]
fn all_backends_are_listed_in_order() {
    let mut listed = Backend::ALL.iter();
    let mut last = None;
    for Compiled { backend, .. } in compiled() {
        // Some have several entries, for different CPUs.
        assert!(last == Some(backend) || listed.any(|other| other == backend), "{backend}");
        last = Some(backend);
    }
}
