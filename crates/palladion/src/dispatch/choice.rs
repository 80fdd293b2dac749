//! The choice at run time: one table of kernels for the whole process, chosen once.

mod check;

use core::marker::PhantomData;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::backend::{Backend, BackendError};
use crate::arch;
use crate::driver::table::{Kernels, Tables};
use crate::driver::variant::class;
use crate::driver::{Parameters, Variant};

/// A backend that is compiled in.
struct Compiled {
    backend: Backend,
    /// Tells whether the CPU has the features that the kernels are compiled for.
    runs: fn(&Cpu) -> bool,
    /// Stored inline: another pointer would be one more load before each kernel.
    tables: Tables,
}

/// The backends that are compiled in, in the order of [`Backend::ALL`]: the fastest first. Some
/// have other kernels for some CPUs.
static COMPILED: &[Compiled] = &[
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    Compiled {
        backend: Backend::VaesAvx512,
        runs: |cpu| cpu.allow_vaes_avx512() && cpu.zen,
        tables: arch::x86::vaes512::TABLES_FOR_ZEN,
    },
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    Compiled {
        backend: Backend::VaesAvx512,
        runs: Cpu::allow_vaes_avx512,
        tables: arch::x86::vaes512::TABLES,
    },
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    Compiled {
        backend: Backend::VaesAvx2,
        runs: |cpu| cpu.allow_vaes_avx2() && cpu.zen,
        tables: arch::x86::vaes::TABLES_FOR_ZEN,
    },
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    Compiled {
        backend: Backend::VaesAvx2,
        runs: Cpu::allow_vaes_avx2,
        tables: arch::x86::vaes::TABLES,
    },
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    Compiled {
        backend: Backend::AesNiAvx,
        runs: |cpu| cpu.allow_aesni_avx() && cpu.zen,
        tables: arch::x86::aesni::avx::TABLES_FOR_ZEN,
    },
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    Compiled {
        backend: Backend::AesNiAvx,
        runs: Cpu::allow_aesni_avx,
        tables: arch::x86::aesni::avx::TABLES,
    },
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    Compiled {
        backend: Backend::AesNi,
        runs: Cpu::allow_aesni,
        tables: arch::x86::aesni::sse::TABLES,
    },
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    Compiled {
        backend: Backend::Avx2,
        runs: Cpu::allow_avx2,
        tables: arch::x86::ssse3::TABLES_WITH_AVX2,
    },
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    Compiled { backend: Backend::Ssse3, runs: |cpu| cpu.ssse3, tables: arch::x86::ssse3::TABLES },
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    Compiled {
        backend: Backend::ArmAesSha3,
        runs: |cpu| cpu.neon && cpu.aes && cpu.sha3,
        tables: arch::aarch64::aes_sha3::TABLES,
    },
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    Compiled {
        backend: Backend::ArmAes,
        runs: |cpu| cpu.neon && cpu.aes,
        tables: arch::aarch64::aes::TABLES,
    },
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    Compiled { backend: Backend::Neon, runs: |cpu| cpu.neon, tables: arch::aarch64::neon::TABLES },
    #[cfg(all(
        target_arch = "arm",
        target_endian = "little",
        feature = "std",
        any(target_os = "linux", target_os = "android")
    ))]
    Compiled { backend: Backend::Neon, runs: |cpu| cpu.neon, tables: arch::arm::neon::TABLES },
    #[cfg(target_arch = "powerpc64")]
    Compiled {
        backend: Backend::Power8Crypto,
        runs: |cpu| cpu.crypto,
        tables: arch::powerpc64::power8::TABLES,
    },
    #[cfg(target_arch = "riscv64")]
    Compiled {
        backend: Backend::RiscvZvkned,
        runs: |cpu| cpu.zvkned,
        tables: arch::riscv64::zvkned::TABLES,
    },
    #[cfg(target_arch = "riscv64")]
    Compiled {
        backend: Backend::RiscvZkne,
        runs: |cpu| cpu.zkne,
        tables: arch::riscv64::zkne::TABLES,
    },
    #[cfg(target_arch = "s390x")]
    Compiled {
        backend: Backend::Z13Vector,
        runs: |cpu| cpu.vector,
        tables: arch::s390x::z13::TABLES,
    },
    // A module that runs has all features that it was compiled for.
    #[cfg(all(target_family = "wasm", target_feature = "relaxed-simd"))]
    Compiled {
        backend: Backend::WasmRelaxedSimd,
        runs: |_| true,
        tables: arch::wasm::relaxed::TABLES,
    },
    #[cfg(all(target_family = "wasm", target_feature = "simd128"))]
    Compiled { backend: Backend::WasmSimd128, runs: |_| true, tables: arch::wasm::simd128::TABLES },
    Compiled { backend: Backend::Portable, runs: |_| true, tables: arch::portable::TABLES },
];

/// The features of the CPU.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
type Cpu = arch::x86::cpu::Features;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
type Cpu = arch::aarch64::Features;
#[cfg(target_arch = "powerpc64")]
type Cpu = arch::powerpc64::Features;
#[cfg(target_arch = "s390x")]
type Cpu = arch::s390x::Features;
#[cfg(target_arch = "riscv64")]
type Cpu = arch::riscv64::Features;
#[cfg(all(
    target_arch = "arm",
    target_endian = "little",
    feature = "std",
    any(target_os = "linux", target_os = "android")
))]
type Cpu = arch::arm::Features;
// A `Cpu` above hides this one.
#[allow(unused_imports)]
use unknown::*;

/// A CPU without optional features, or whose features are those that the program is compiled for.
#[allow(dead_code)] // used on some CPUs
mod unknown {
    pub(super) struct Cpu;

    impl Cpu {
        pub(super) fn detect() -> Self {
            #[cfg(all(target_family = "wasm", target_feature = "simd128"))]
            crate::arch::wasm::keep_unknown();
            Self
        }
    }
}

impl Compiled {
    /// Returns whether the kernels compute the right results here. The portable ones are the last
    /// resort, and use no instruction that the rest of the program does without.
    ///
    /// # Safety
    /// [`runs`](Self::runs) is true of this CPU.
    unsafe fn is_right(&self) -> bool {
        // SAFETY: the caller promises that the CPU has the features.
        self.backend == Backend::Portable || unsafe { check::are_right(&self.tables) }
    }
}

/// Returns the fastest backend that the CPU supports and computes right. The portable one runs
/// everywhere.
fn best() -> Option<&'static Compiled> {
    let cpu = Cpu::detect();
    // SAFETY: the CPU has the features.
    supported(&cpu).find(|compiled| unsafe { compiled.is_right() })
}

/// Returns the backends that the CPU supports, the fastest first.
fn supported(cpu: &Cpu) -> impl Iterator<Item = &'static Compiled> {
    COMPILED.iter().filter(|compiled| (compiled.runs)(cpu))
}

fn find(backend: Backend) -> Result<&'static Compiled, BackendError> {
    let cpu = Cpu::detect();
    let named = supported(&cpu).find(|compiled| compiled.backend == backend);
    let compiled = named.ok_or(BackendError::Unavailable(backend))?;
    // SAFETY: the CPU has the features.
    if unsafe { compiled.is_right() } { Ok(compiled) } else { Err(BackendError::Faulty(backend)) }
}

pub(crate) fn is_available(backend: Backend) -> bool {
    find(backend).is_ok()
}

pub(crate) fn is_faulty(backend: Backend) -> bool {
    matches!(find(backend), Err(BackendError::Faulty(_)))
}

/// The chosen entry of `COMPILED`, or null before the first use.
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
        active().map(|chosen| Self(&chosen.tables[P::INDEX][class(D)], PhantomData))
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
    // SAFETY: the pointer is null or that of an entry of `COMPILED`, which is never written to.
    // Relaxed ordering is enough, because nothing else is published with it.
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
        std::env::var_os(super::backend::ENVIRONMENT_VARIABLE).filter(|name| !name.is_empty())
    {
        let backend: Result<Backend, _> =
            name.to_str().ok_or(BackendError::Unknown).and_then(str::parse);
        return backend.and_then(find).map(Some).map_err(BackendError::in_environment);
    }
    Ok(None)
}

/// Tests run on each backend of [`Backend::ALL`]; one that is missing there would run untested.
#[cfg(test)]
#[test]
fn all_backends_are_listed_in_order() {
    let mut listed = Backend::ALL.iter();
    for (i, compiled) in COMPILED.iter().enumerate() {
        // Some have several entries, for different CPUs.
        if i == 0 || compiled.backend != COMPILED[i - 1].backend {
            assert!(listed.any(|backend| *backend == compiled.backend), "{}", compiled.backend);
        }
    }
}

#[cfg(all(test, any(target_arch = "x86", target_arch = "x86_64")))]
#[test]
fn each_cpu_gets_the_fastest_backend_it_can_run() {
    let all = Cpu {
        ssse3: true,
        aes: true,
        avx: true,
        avx2: true,
        vaes: true,
        avx512f: true,
        avx512bw: true,
        avx512vl: true,
        zen: true,
    };
    let best = |cpu: Cpu| supported(&cpu).next().map(|compiled| compiled.backend);
    assert_eq!(best(all), Some(Backend::VaesAvx512));
    assert_eq!(best(Cpu { zen: false, ..all }), Some(Backend::VaesAvx512));
    assert_eq!(best(Cpu { avx512bw: false, ..all }), Some(Backend::VaesAvx2));
    assert_eq!(best(Cpu { vaes: false, ..all }), Some(Backend::AesNiAvx));
    assert_eq!(best(Cpu { avx: false, vaes: false, ..all }), Some(Backend::AesNi));
    assert_eq!(best(Cpu { aes: false, ..all }), Some(Backend::Avx2));
    assert_eq!(best(Cpu { aes: false, avx2: false, ..all }), Some(Backend::Ssse3));
    assert_eq!(best(Cpu { aes: false, ssse3: false, ..all }), Some(Backend::Portable));
    assert_eq!(best(Cpu { ssse3: false, avx: false, vaes: false, ..all }), Some(Backend::Portable));
    assert_eq!(best(Cpu::default()), Some(Backend::Portable));
}
