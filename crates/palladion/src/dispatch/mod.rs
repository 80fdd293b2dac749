//! The backend in use: chosen once, at run time or when the program is compiled.

use core::fmt;

mod error;
#[cfg(palladion_kernels)]
mod exported;

use crate::arch::{Backend, cfg_if};
pub(crate) use choice::Chosen;
pub use error::{BackendError, ENVIRONMENT_VARIABLE};

cfg_if! {
    if #[cfg(all(
        // The environment variable may name a backend, or there are several.
        any(
            feature = "std",
            target_arch = "x86",
            all(target_arch = "x86_64", target_feature = "sse2"),
            all(target_arch = "aarch64", target_endian = "little"),
            all(target_family = "wasm", target_feature = "simd128")
        ),
        not(all(palladion_one_backend, target_family = "wasm"))
    ))] {
        mod check;
        mod choice;
    } else {
        mod fixed;
        use fixed as choice;
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

impl Backend {
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
