//! The choice of a backend: one table of kernels for all the process, decided once.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::kernels::Tables;
use crate::backend::{Backend, BackendError};

/// The backends that are compiled in, in the order of [`Backend::ALL`].
static COMPILED: &[(Backend, &Tables)] = &[
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    (Backend::VaesAvx512, &super::x86::vaes_avx512::TABLES),
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    (Backend::VaesAvx2, &super::x86::vaes_avx2::TABLES),
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    (Backend::AesNiAvx, &super::x86::aesni_avx::TABLES),
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    (Backend::AesNi, &super::x86::aesni::TABLES),
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    (Backend::ArmAes, &super::aarch64::TABLES),
    (Backend::Portable, &super::portable::TABLES),
];

/// 1 + the index of the chosen backend, or 0 before the first use.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);

/// Whether the CPU has what a backend's kernels are compiled for.
fn cpu_has(backend: Backend) -> bool {
    if cfg!(miri) {
        return backend == Backend::Portable; // it knows neither CPUID nor `asm!`
    }
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        let f = super::x86::Features::detect();
        match backend {
            Backend::VaesAvx512 => {
                f.aes && f.avx && f.avx2 && f.vaes && f.avx512f && f.avx512bw && f.avx512vl
            }
            Backend::VaesAvx2 => f.aes && f.avx && f.avx2 && f.vaes,
            Backend::AesNiAvx => f.aes && f.avx,
            Backend::AesNi => f.aes && f.ssse3,
            Backend::Portable => true,
            Backend::ArmAes => false,
        }
    }
    #[cfg(target_arch = "aarch64")]
    {
        #[cfg(feature = "std")]
        let aes = std::arch::is_aarch64_feature_detected!("aes");
        #[cfg(not(feature = "std"))] // there is no way to ask without an operating system
        let aes = cfg!(target_feature = "aes");
        backend == Backend::Portable || (backend == Backend::ArmAes && aes)
    }
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
    {
        backend == Backend::Portable
    }
}

fn index_of(backend: Backend) -> Option<usize> {
    COMPILED.iter().position(|(b, _)| *b == backend).filter(|_| cpu_has(backend))
}

pub(crate) fn is_available(backend: Backend) -> bool {
    index_of(backend).is_some()
}

pub(crate) fn set(backend: Backend) -> Result<(), BackendError> {
    let index = index_of(backend).ok_or(BackendError::Unavailable(backend))?;
    ACTIVE.store(index + 1, Ordering::Relaxed);
    Ok(())
}

/// The backend in use and its kernels.
#[inline(always)]
pub(crate) fn active() -> Result<(Backend, &'static Tables), BackendError> {
    match COMPILED.get(ACTIVE.load(Ordering::Relaxed).wrapping_sub(1)) {
        Some(&chosen) => Ok(chosen),
        None => choose(),
    }
}

/// The first use: the environment's wish, or else the best there is. Two threads that come here at once come to the
/// same result.
#[cold]
#[inline(never)]
fn choose() -> Result<(Backend, &'static Tables), BackendError> {
    let index = match wish()? {
        Some(index) => index,
        None => COMPILED
            .iter()
            .position(|(b, _)| cpu_has(*b))
            .ok_or(BackendError::Unavailable(Backend::Portable))?,
    };
    // A call of `set` in the meantime wins.
    let _ = ACTIVE.compare_exchange(0, index + 1, Ordering::Relaxed, Ordering::Relaxed);
    Ok(COMPILED[index])
}

/// What the environment asks for.
fn wish() -> Result<Option<usize>, BackendError> {
    #[cfg(feature = "std")]
    if let Some(name) = std::env::var_os(crate::backend::ENVIRONMENT_VARIABLE).filter(|name| !name.is_empty())
    {
        let backend: Result<Backend, _> = name.to_str().ok_or(BackendError::Unknown).and_then(str::parse);
        let index = backend.and_then(|b| index_of(b).ok_or(BackendError::Unavailable(b)));
        return index.map(Some).map_err(BackendError::in_environment);
    }
    Ok(None)
}
