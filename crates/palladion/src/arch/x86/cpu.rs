//! Detection of the CPU's features, and the backends that need them.

#[cfg(target_arch = "x86")]
use core::arch::x86::{__cpuid_count, _xgetbv, CpuidResult};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{__cpuid_count, _xgetbv, CpuidResult};

use super::V1;
use super::aesni::{Avx, Sse, X1};
use super::ssse3::{Avx2, P1, P2, Ssse3};
use super::vaes::{V2, Vaes};
use super::vaes512::{M1, M2, M4, Vaes512};
use crate::arch::backend::{Backend, Compiled};
use crate::arch::tables::{x86, zen};
use crate::soft::permute::Permuted;

/// The backends, the fastest first. Some have other kernels for Zen.
pub(crate) const COMPILED: &[Compiled<Cpu>] = &[
    Compiled {
        backend: Backend::VaesAvx512,
        runs: |cpu| cpu.allow_vaes_avx512() && cpu.zen,
        tables: zen::vaes_avx512::<Vaes512, M1, M2, M4>(),
    },
    Compiled {
        backend: Backend::VaesAvx512,
        runs: Cpu::allow_vaes_avx512,
        tables: x86::vaes_avx512::<Vaes512, M1, M2, M4>(),
    },
    Compiled {
        backend: Backend::VaesAvx2,
        runs: |cpu| cpu.allow_vaes_avx2() && cpu.zen,
        tables: zen::vaes_avx2::<Vaes, Avx, Sse, X1, V1, V2>(),
    },
    Compiled {
        backend: Backend::VaesAvx2,
        runs: Cpu::allow_vaes_avx2,
        tables: x86::vaes_avx2::<Vaes, V1, V2>(),
    },
    Compiled {
        backend: Backend::AesNiAvx,
        runs: |cpu| cpu.allow_aesni_avx() && cpu.zen,
        tables: zen::aesni_avx::<Avx, Sse, X1, V1>(),
    },
    Compiled {
        backend: Backend::AesNiAvx,
        runs: Cpu::allow_aesni_avx,
        tables: x86::aesni_avx::<Avx, V1>(),
    },
    Compiled { backend: Backend::AesNi, runs: Cpu::allow_aesni, tables: x86::aesni::<Sse, X1>() },
    Compiled {
        backend: Backend::Avx2,
        runs: Cpu::allow_avx2,
        tables: x86::avx2::<Avx2, Permuted<P2>, Ssse3, Permuted<P1>>(),
    },
    Compiled {
        backend: Backend::Ssse3,
        runs: |cpu| cpu.ssse3,
        tables: x86::ssse3::<Ssse3, Permuted<P1>>(),
    },
];

/// The CPU's features that backends need, according to CPUID, if the operating system saves their
/// registers. `is_x86_feature_detected!` needs `std`; a test compares the two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cpu {
    pub(crate) ssse3: bool,
    pub(crate) aes: bool,
    pub(crate) avx: bool,
    pub(crate) avx2: bool,
    pub(crate) vaes: bool,
    pub(crate) avx512f: bool,
    pub(crate) avx512bw: bool,
    pub(crate) avx512vl: bool,
    /// Whether the vendor is AMD, or Hygon, which builds Zen cores too.
    pub(crate) zen: bool,
}

impl Cpu {
    /// Returns whether the kernels of `vaes512.rs` can run.
    pub(crate) fn allow_vaes_avx512(&self) -> bool {
        self.allow_vaes_avx2() && self.avx512f && self.avx512bw && self.avx512vl
    }
    /// Returns whether the kernels of `vaes.rs` can run.
    pub(crate) fn allow_vaes_avx2(&self) -> bool {
        self.allow_aesni_avx() && self.avx2 && self.vaes
    }
    /// Returns whether the kernels of `aesni.rs` can run in the encoding of AVX.
    pub(crate) fn allow_aesni_avx(&self) -> bool {
        self.allow_aesni() && self.avx
    }
    /// Returns whether the kernels of `aesni.rs` can run.
    pub(crate) fn allow_aesni(&self) -> bool {
        self.ssse3 && self.aes
    }
    /// Returns whether the kernels of `ssse3.rs` can run on two blocks.
    pub(crate) fn allow_avx2(&self) -> bool {
        self.ssse3 && self.avx2
    }

    pub(crate) fn detect() -> Self {
        // Without an operating system that saves the vector registers, CPUID does not say whether
        // they may be used. In an SGX enclave, and under Miri, CPUID is not available. In these
        // cases only the features that the whole program is compiled for count.
        if cfg!(any(miri, target_os = "none", target_os = "uefi", target_env = "sgx")) {
            return Self {
                ssse3: cfg!(target_feature = "ssse3"),
                aes: cfg!(target_feature = "aes"),
                avx: cfg!(target_feature = "avx"),
                avx2: cfg!(target_feature = "avx2"),
                vaes: cfg!(target_feature = "vaes"),
                avx512f: cfg!(target_feature = "avx512f"),
                avx512bw: cfg!(target_feature = "avx512bw"),
                avx512vl: cfg!(target_feature = "avx512vl"),
                zen: false,
            };
        }
        let bit = |register: u32, bit: u32| register >> bit & 1 == 1;
        #[allow(unused_unsafe)] // safe in compilers newer than the oldest supported one
        // SAFETY: every CPU that this code runs on has CPUID: x86-64 by definition, x86 since 1993.
        let cpuid = |leaf: u32| unsafe { __cpuid_count(leaf, 0) };
        let leaf0 = cpuid(0);
        let highest = leaf0.eax;
        let leaf1 = cpuid(1);
        if !bit(leaf1.edx, 26) {
            return Self::default(); // no SSE2
        }
        // XCR0 says which registers the operating system saves: bits 1 and 2 for YMM, bits 5 to 7
        // for ZMM and masks.
        let xcr0 = if bit(leaf1.ecx, 27) {
            #[target_feature(enable = "xsave")]
            unsafe fn xcr0() -> u64 {
                // SAFETY: OSXSAVE was checked, so XGETBV exists.
                unsafe { _xgetbv(0) }
            }
            // SAFETY: OSXSAVE is set, so the CPU has the XSAVE feature.
            unsafe { xcr0() }
        } else {
            0
        };
        let ymm = xcr0 & 0x06 == 0x06;
        let zmm = xcr0 & 0xe6 == 0xe6;
        let leaf7 =
            if highest >= 7 { cpuid(7) } else { CpuidResult { eax: 0, ebx: 0, ecx: 0, edx: 0 } };
        Self {
            ssse3: bit(leaf1.ecx, 9),
            aes: bit(leaf1.ecx, 25),
            avx: ymm && bit(leaf1.ecx, 28),
            avx2: ymm && bit(leaf7.ebx, 5),
            vaes: ymm && bit(leaf7.ecx, 9),
            avx512f: zmm && bit(leaf7.ebx, 16),
            avx512bw: zmm && bit(leaf7.ebx, 30),
            avx512vl: zmm && bit(leaf7.ebx, 31),
            zen: [*b"Auth", *b"Hygo"].contains(&leaf0.ebx.to_le_bytes()),
        }
    }
}

#[cfg(all(test, feature = "std"))]
#[test]
fn detection_agrees_with_the_standard_library() {
    use std::is_x86_feature_detected;
    let expected = Cpu {
        ssse3: is_x86_feature_detected!("ssse3"),
        aes: is_x86_feature_detected!("aes"),
        avx: is_x86_feature_detected!("avx"),
        avx2: is_x86_feature_detected!("avx2"),
        vaes: is_x86_feature_detected!("vaes"),
        avx512f: is_x86_feature_detected!("avx512f"),
        avx512bw: is_x86_feature_detected!("avx512bw"),
        avx512vl: is_x86_feature_detected!("avx512vl"),
        zen: false, // unknown to it
    };
    assert_eq!(Cpu { zen: false, ..Cpu::detect() }, expected);
}

#[cfg(test)]
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
    let best = |cpu: Cpu| {
        let compiled = COMPILED.iter().find(|compiled| (compiled.runs)(&cpu));
        compiled.map(|compiled| compiled.backend)
    };
    assert_eq!(best(all), Some(Backend::VaesAvx512));
    assert_eq!(best(Cpu { zen: false, ..all }), Some(Backend::VaesAvx512));
    assert_eq!(best(Cpu { avx512bw: false, ..all }), Some(Backend::VaesAvx2));
    assert_eq!(best(Cpu { vaes: false, ..all }), Some(Backend::AesNiAvx));
    assert_eq!(best(Cpu { avx: false, vaes: false, ..all }), Some(Backend::AesNi));
    assert_eq!(best(Cpu { aes: false, ..all }), Some(Backend::Avx2));
    assert_eq!(best(Cpu { aes: false, avx2: false, ..all }), Some(Backend::Ssse3));
    assert_eq!(best(Cpu { aes: false, ssse3: false, ..all }), None);
    assert_eq!(best(Cpu { ssse3: false, avx: false, vaes: false, ..all }), None);
    assert_eq!(best(Cpu::default()), None);
}
