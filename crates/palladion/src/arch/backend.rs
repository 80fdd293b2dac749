//! The backends: their public names, and how the module of a CPU lists its own.

use core::fmt;

use crate::driver::kernels::Tables;

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
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A backend that is compiled in.
pub(crate) struct Compiled<Cpu> {
    pub(crate) backend: Backend,
    /// Tells whether the CPU has the features that the kernels are compiled for.
    pub(crate) runs: fn(&Cpu) -> bool,
    /// Stored inline: another pointer would be one more load before each kernel.
    pub(crate) tables: Tables,
}
