//! The choice of a backend: one table of kernels for all the process, decided once. Where there is
//! nothing to decide, `no_choice.rs` stands in for this file.

use core::marker::PhantomData;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::class;
use super::kernels::{Kernels, Tables};
use crate::backend::{Backend, BackendError};
use crate::family::Family;

/// A backend and its kernels. The tables are within, not behind another pointer: each call waits for what it reads on its way to
/// the kernel.
type Entry = (Backend, Tables);

/// The backends that are compiled in, in the order of [`Backend::ALL`].
static COMPILED: &[Entry] = &[
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    (Backend::VaesAvx512, super::x86::vaes_avx512::TABLES),
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    (Backend::VaesAvx2, super::x86::vaes_avx2::TABLES),
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    (Backend::AesNiAvx, super::x86::aesni_avx::TABLES),
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    (Backend::AesNi, super::x86::aesni::TABLES),
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    (Backend::Avx2, super::x86::avx2::TABLES),
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    (Backend::Ssse3, super::x86::ssse3::TABLES),
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    (Backend::ArmAes, super::aarch64::aes::TABLES),
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    (Backend::Neon, super::aarch64::neon::TABLES),
    #[cfg(all(target_family = "wasm", target_feature = "relaxed-simd"))]
    (Backend::WasmRelaxedSimd, super::wasm::relaxed::TABLES),
    #[cfg(all(target_family = "wasm", target_feature = "simd128"))]
    (Backend::WasmSimd128, super::wasm::simd128::TABLES),
    (Backend::Portable, super::portable::TABLES),
];

/// What there is to know of the CPU.
struct Cpu {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    features: super::x86::Features,
    #[cfg(target_arch = "aarch64")]
    neon: bool,
    #[cfg(target_arch = "aarch64")]
    aes: bool,
}

impl Cpu {
    fn detect() -> Self {
        #[cfg(all(target_family = "wasm", target_feature = "simd128"))]
        super::wasm::keep_unknown();
        Self {
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            features: super::x86::Features::detect(),
            #[cfg(all(target_arch = "aarch64", feature = "std"))]
            neon: std::arch::is_aarch64_feature_detected!("neon"),
            #[cfg(all(target_arch = "aarch64", feature = "std"))]
            aes: std::arch::is_aarch64_feature_detected!("aes"),
            #[cfg(all(target_arch = "aarch64", not(feature = "std")))] // no way to ask without an operating system
            neon: cfg!(target_feature = "neon"),
            #[cfg(all(target_arch = "aarch64", not(feature = "std")))]
            aes: cfg!(target_feature = "aes"),
        }
    }

    /// Whether it has what a backend's kernels are compiled for.
    fn has(&self, backend: Backend) -> bool {
        match backend {
            Backend::Portable => true,
            #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
            _ => self.features.allow(backend),
            #[cfg(target_arch = "aarch64")]
            Backend::ArmAes => self.neon && self.aes,
            #[cfg(target_arch = "aarch64")]
            Backend::Neon => self.neon,
            #[cfg(target_family = "wasm")] // a module that runs has all that it was compiled for
            Backend::WasmRelaxedSimd => cfg!(target_feature = "relaxed-simd"),
            #[cfg(target_family = "wasm")]
            Backend::WasmSimd128 => cfg!(target_feature = "simd128"),
            #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
            _ => false,
        }
    }

    /// The index of the fastest backend: the first that the CPU has.
    fn best(&self) -> Option<usize> {
        COMPILED.iter().position(|(backend, _)| self.has(*backend))
    }
}

fn find(backend: Backend) -> Result<&'static Entry, BackendError> {
    let compiled = COMPILED.iter().find(|(b, _)| *b == backend);
    compiled.filter(|_| Cpu::detect().has(backend)).ok_or(BackendError::Unavailable(backend))
}

pub(crate) fn is_available(backend: Backend) -> bool {
    find(backend).is_ok()
}

/// The chosen entry of `COMPILED`, or null before the first use.
static ACTIVE: AtomicPtr<Entry> = AtomicPtr::new(ptr::null_mut());

pub(crate) fn set(backend: Backend) -> Result<(), BackendError> {
    ACTIVE.store(ptr::from_ref(find(backend)?).cast_mut(), Ordering::Relaxed);
    Ok(())
}

/// The backend in use.
#[inline]
pub(crate) fn backend() -> Result<Backend, BackendError> {
    active().map(|entry| entry.0)
}

/// The kernels of a variant, in the backend that was in use when the value was made.
#[derive(Clone, Copy)]
pub(crate) struct Variant<F: Family, const D: usize>(&'static Kernels, PhantomData<F>);

impl<F: Family, const D: usize> Variant<F, D> {
    #[inline(always)]
    pub(crate) fn new() -> Result<Self, BackendError> {
        active().map(|entry| Self(&entry.1[F::INDEX][class(D)], PhantomData))
    }

    #[inline(always)]
    pub(crate) fn kernels(&self) -> &'static Kernels {
        self.0
    }
}

/// The kernels of a variant, in the backend in use, if it has been chosen.
#[inline(always)]
pub(crate) fn chosen<F: Family, const D: usize>() -> Option<&'static Kernels> {
    // SAFETY: see `active`.
    let entry = unsafe { ACTIVE.load(Ordering::Relaxed).as_ref() }?;
    Some(&entry.1[F::INDEX][class(D)])
}

/// The backend in use and its kernels.
#[inline(always)]
fn active() -> Result<&'static Entry, BackendError> {
    // SAFETY: null, or an entry of `COMPILED`, which is never written to. (Relaxed will do: nothing else is
    // published with it.)
    match unsafe { ACTIVE.load(Ordering::Relaxed).as_ref() } {
        Some(chosen) => Ok(chosen),
        None => choose(),
    }
}

/// The first use: the environment's wish, or else the best there is. Two threads that come here at once come to the
/// same result.
#[cold]
#[inline(never)]
fn choose() -> Result<&'static Entry, BackendError> {
    let chosen = match wish()? {
        Some(chosen) => chosen,
        None => {
            let best = Cpu::detect().best().and_then(|best| COMPILED.get(best));
            best.ok_or(BackendError::Unavailable(Backend::Portable))?
        }
    };
    // A call of `set` in the meantime wins.
    let entry = ptr::from_ref(chosen).cast_mut();
    let _ = ACTIVE.compare_exchange(ptr::null_mut(), entry, Ordering::Relaxed, Ordering::Relaxed);
    Ok(chosen)
}

/// What the environment asks for.
fn wish() -> Result<Option<&'static Entry>, BackendError> {
    #[cfg(feature = "std")]
    if let Some(name) = std::env::var_os(crate::backend::ENVIRONMENT_VARIABLE).filter(|name| !name.is_empty())
    {
        let backend: Result<Backend, _> = name.to_str().ok_or(BackendError::Unknown).and_then(str::parse);
        return backend.and_then(find).map(Some).map_err(BackendError::in_environment);
    }
    Ok(None)
}

#[cfg(all(test, any(target_arch = "x86", target_arch = "x86_64")))]
#[test]
fn each_cpu_gets_the_fastest_backend_it_can_run() {
    use super::x86::Features;
    let all = Features {
        ssse3: true,
        aes: true,
        avx: true,
        avx2: true,
        vaes: true,
        avx512f: true,
        avx512bw: true,
        avx512vl: true,
    };
    let best = |features| Cpu { features }.best().map(|i| COMPILED[i].0);
    assert_eq!(best(all), Some(Backend::VaesAvx512));
    assert_eq!(best(Features { avx512bw: false, ..all }), Some(Backend::VaesAvx2));
    assert_eq!(best(Features { vaes: false, ..all }), Some(Backend::AesNiAvx));
    assert_eq!(best(Features { avx: false, vaes: false, ..all }), Some(Backend::AesNi));
    assert_eq!(best(Features { aes: false, ..all }), Some(Backend::Avx2));
    assert_eq!(best(Features { aes: false, avx2: false, ..all }), Some(Backend::Ssse3));
    assert_eq!(best(Features { aes: false, ssse3: false, ..all }), Some(Backend::Portable));
    assert_eq!(best(Features { ssse3: false, avx: false, vaes: false, ..all }), Some(Backend::Portable));
    assert_eq!(best(Features::default()), Some(Backend::Portable));
}
