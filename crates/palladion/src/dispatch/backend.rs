//! The backends, and the choice of one.

use core::fmt;
use core::str::FromStr;

use super::choice;

/// An implementation of the ciphers for one class of CPU. All backends give the same results.
///
/// ```
/// use palladion::Backend;
/// for backend in Backend::ALL {
///     println!("{:12} {:5} {}", backend.name(), backend.is_available(), backend.description());
/// }
/// assert!(Backend::Portable.is_available());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// x86: VAES and AVX-512VL.
    VaesAvx512,
    /// x86: VAES and AVX2.
    VaesAvx2,
    /// x86: AES-NI and AVX.
    AesNiAvx,
    /// x86: AES-NI without AVX.
    AesNi,
    /// x86 without AES-NI: byte shuffles of AVX2.
    Avx2,
    /// x86 without AES-NI: byte shuffles of SSSE3.
    Ssse3,
    /// 64-bit ARM: the AES extension of ARMv8 and the SHA-3 extension of ARMv8.2.
    ArmAesSha3,
    /// 64-bit ARM: the AES extension of ARMv8.
    ArmAes,
    /// 64-bit ARM without the AES extension: byte shuffles of NEON. 32-bit ARM: bitsliced in NEON.
    Neon,
    /// 64-bit POWER: the AES instructions of POWER8.
    Power8Crypto,
    /// 64-bit RISC-V: the vector extension and its AES extension Zvkned.
    RiscvZvkned,
    /// 64-bit RISC-V: the scalar AES extension Zkne.
    RiscvZkne,
    /// IBM Z: byte permutations of the vector facility of z13.
    Z13Vector,
    /// WebAssembly with relaxed SIMD: byte shuffles.
    WasmRelaxedSimd,
    /// WebAssembly with SIMD: byte shuffles.
    WasmSimd128,
    /// Any CPU: bitsliced, constant time, no AES instructions.
    Portable,
}

/// The environment variable that selects a backend by its name.
pub const ENVIRONMENT_VARIABLE: &str = "PALLADION_BACKEND";

impl Backend {
    /// All backends, the fastest first.
    pub const ALL: &'static [Self] = &[
        Self::VaesAvx512,
        Self::VaesAvx2,
        Self::AesNiAvx,
        Self::AesNi,
        Self::Avx2,
        Self::Ssse3,
        Self::ArmAesSha3,
        Self::ArmAes,
        Self::Neon,
        Self::Power8Crypto,
        Self::RiscvZvkned,
        Self::RiscvZkne,
        Self::Z13Vector,
        Self::WasmRelaxedSimd,
        Self::WasmSimd128,
        Self::Portable,
    ];

    /// Returns the name, as the environment variable takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::VaesAvx512 => "vaes-avx512",
            Self::VaesAvx2 => "vaes-avx2",
            Self::AesNiAvx => "aesni-avx",
            Self::AesNi => "aesni",
            Self::Avx2 => "avx2",
            Self::Ssse3 => "ssse3",
            Self::ArmAesSha3 => "armv8-aes-sha3",
            Self::ArmAes => "armv8-aes",
            Self::Neon => "neon",
            Self::Power8Crypto => "power8-crypto",
            Self::RiscvZvkned => "riscv-zvkned",
            Self::RiscvZkne => "riscv-zkne",
            Self::Z13Vector => "z13-vector",
            Self::WasmRelaxedSimd => "wasm-relaxed-simd",
            Self::WasmSimd128 => "wasm-simd128",
            Self::Portable => "portable",
        }
    }

    /// Describes in a few words what the backend needs and how it works.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::VaesAvx512 => "x86 with VAES and AVX-512VL: up to four AES blocks a register",
            Self::VaesAvx2 => "x86 with VAES and AVX2: up to two AES blocks a register",
            Self::AesNiAvx => "x86 with AES-NI and AVX",
            Self::AesNi => "x86 with AES-NI",
            Self::Avx2 => {
                "x86 with AVX2, without AES-NI: byte shuffles on two AES blocks a register"
            }
            Self::Ssse3 => "x86 with SSSE3, without AES-NI: byte shuffles",
            Self::ArmAesSha3 => "64-bit ARM with the AES and SHA-3 extensions",
            Self::ArmAes => "64-bit ARM with the AES extension",
            Self::Neon => {
                "ARM with NEON, without the AES extension: byte shuffles (64-bit) or bitsliced"
            }
            Self::Power8Crypto => "64-bit POWER with the AES instructions of POWER8",
            Self::RiscvZvkned => "64-bit RISC-V with the vector AES extension (Zvkned)",
            Self::RiscvZkne => "64-bit RISC-V with the scalar AES extension (Zkne)",
            Self::Z13Vector => "IBM Z with the vector facility of z13: byte permutations",
            Self::WasmRelaxedSimd => "WebAssembly with relaxed SIMD: byte shuffles",
            Self::WasmSimd128 => "WebAssembly with SIMD: byte shuffles",
            Self::Portable => "any CPU: bitsliced, without tables or AES instructions",
        }
    }

    /// Says why the timing of the backend's instructions does not depend on secrets. No backend has
    /// a branch, or an index into memory, that depends on a secret.
    #[must_use]
    pub const fn timing(self) -> &'static str {
        match self {
            Self::VaesAvx512
            | Self::VaesAvx2
            | Self::AesNiAvx
            | Self::AesNi
            | Self::Avx2
            | Self::Ssse3 => {
                "the vendors list these instructions as independent of data \
                 (recent Intel CPUs: with DOITM set)"
            }
            Self::Neon if cfg!(target_arch = "arm") => {
                "AND, OR, XOR, NOT, shifts and byte permutations, independent of data on every CPU \
                 we know; no standard promises it"
            }
            Self::ArmAesSha3 | Self::ArmAes | Self::Neon => {
                "the architecture makes these instructions independent of data \
                 (Armv8.4 and later: with DIT set)"
            }
            Self::Power8Crypto => {
                "AES instructions, XOR, AND and byte permutations, independent of data on every \
                 CPU we know; no standard promises it"
            }
            Self::RiscvZvkned => {
                "the extension's instructions must be independent of data; so must vector XOR and \
                 AND where the CPU has Zvkt"
            }
            Self::RiscvZkne => {
                "the extension's instructions must be independent of data; so must XOR and AND \
                 where the CPU has Zkt, as on every CPU we know"
            }
            Self::Z13Vector => {
                "AND, XOR, sums, maxima, shifts and byte permutations within registers, \
                 independent of data on every CPU we know; no standard promises it"
            }
            Self::WasmRelaxedSimd | Self::WasmSimd128 => {
                "swizzle, AND, XOR and shifts become such instructions in the engines we know; \
                 no standard promises it"
            }
            Self::Portable => {
                "AND, OR, XOR, NOT and shifts by constants alone, independent of data on every CPU \
                 we know (RISC-V: Zkt)"
            }
        }
    }

    /// Returns whether the backend uses the CPU's AES instructions.
    #[must_use]
    pub const fn has_aes_instructions(self) -> bool {
        match self {
            Self::VaesAvx512
            | Self::VaesAvx2
            | Self::AesNiAvx
            | Self::AesNi
            | Self::ArmAesSha3
            | Self::ArmAes
            | Self::Power8Crypto
            | Self::RiscvZvkned
            | Self::RiscvZkne => true,
            Self::Avx2
            | Self::Ssse3
            | Self::Neon
            | Self::Z13Vector
            | Self::WasmRelaxedSimd
            | Self::WasmSimd128
            | Self::Portable => false,
        }
    }

    /// Returns whether this build, on this CPU, can use the backend, and whether it computes the
    /// right results here.
    #[must_use]
    pub fn is_available(self) -> bool {
        choice::is_available(self)
    }

    /// Returns whether the CPU announces the instructions of this backend but computes wrong
    /// results with them. Such a backend is not available.
    ///
    /// Emulators are the usual reason: QEMU before 8.1 computes VAES wrong. Microcode and
    /// hypervisors can be others. Each backend but the portable one computes known answers before
    /// it is used. A build with a single backend, as for firmware, does not check it.
    #[must_use]
    pub fn is_faulty(self) -> bool {
        choice::is_faulty(self)
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Backend {
    type Err = BackendError;

    /// Returns the backend with this name, whether or not it is available.
    fn from_str(name: &str) -> Result<Self, BackendError> {
        Self::ALL.iter().copied().find(|b| b.name() == name).ok_or(BackendError::Unknown)
    }
}

/// Returns the backend that new objects use: the fastest that the CPU supports, unless the
/// environment variable `PALLADION_BACKEND` (with feature `std`) or [`set_backend`] selects
/// another. A backend that computes wrong results here is left out: see [`Backend::is_faulty`].
///
/// # Errors
///
/// [`BackendError::Environment`] if the environment variable names no backend, or an unavailable
/// one. Every operation then fails with [`Error::Backend`](crate::Error::Backend).
///
/// ```
/// println!("AEGIS runs on {}", palladion::backend()?);
/// # Ok::<(), palladion::BackendError>(())
/// ```
#[inline]
pub fn backend() -> Result<Backend, BackendError> {
    choice::backend()
}

/// Selects the backend for all new objects, in all threads, for tests and measurements. Existing
/// objects keep theirs. Overrides the environment variable. It affects the whole process, so only
/// programs should call it, not libraries.
///
/// # Errors
///
/// [`BackendError::Unavailable`] if this build, on this CPU, cannot use it;
/// [`BackendError::Faulty`] if it computes wrong results here.
///
/// ```
/// use palladion::{Backend, backend, set_backend};
/// set_backend(Backend::Portable)?;
/// assert_eq!(backend()?, Backend::Portable);
/// # Ok::<(), palladion::BackendError>(())
/// ```
pub fn set_backend(backend: Backend) -> Result<(), BackendError> {
    choice::set(backend)
}

/// A backend does not exist or is unavailable. The message lists the available ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackendError {
    /// No backend has this name.
    Unknown,
    /// The CPU or the build does not support the backend.
    Unavailable(Backend),
    /// The CPU announces the backend's instructions but computes wrong results with them: see
    /// [`Backend::is_faulty`].
    Faulty(Backend),
    /// The environment variable `PALLADION_BACKEND` names no backend, or this unavailable one.
    Environment(Option<Backend>),
}

impl BackendError {
    /// Converts the error to one of the environment variable.
    #[cfg(feature = "std")]
    #[cfg_attr(palladion_one_backend, allow(dead_code))] // the variable is not used there
    pub(crate) fn in_environment(self) -> Self {
        match self {
            Self::Unknown => Self::Environment(None),
            Self::Unavailable(backend) | Self::Faulty(backend) => Self::Environment(Some(backend)),
            Self::Environment(_) => self,
        }
    }
}

/// Why a backend computes wrong results.
const FAULT: &str = " (a fault of the emulator, hypervisor or CPU; QEMU before 8.1 has one)";

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("no backend has this name")?,
            Self::Unavailable(backend) => {
                write!(f, "the backend {backend} cannot run on this machine")?
            }
            Self::Faulty(backend) => {
                write!(f, "the backend {backend} computes wrong results on this machine{FAULT}")?
            }
            Self::Environment(backend) => {
                write!(f, "the environment variable {ENVIRONMENT_VARIABLE}")?;
                #[cfg(feature = "std")]
                if let Some(value) = std::env::var_os(ENVIRONMENT_VARIABLE) {
                    write!(f, "=\"{}\"", value.to_string_lossy())?;
                }
                match backend {
                    Some(backend) if backend.is_faulty() => {
                        let what = "asks for a backend that computes wrong results on this machine";
                        write!(f, " {what}{FAULT}")?
                    }
                    Some(_) => {
                        f.write_str(" asks for a backend that cannot run on this machine")?
                    }
                    None => f.write_str(" names no backend")?,
                }
            }
        }
        f.write_str("; available: ")?;
        let mut separator = "";
        for backend in Backend::ALL.iter().filter(|b| b.is_available()) {
            write!(f, "{separator}{backend}")?;
            separator = ", ";
        }
        Ok(())
    }
}

impl core::error::Error for BackendError {}
