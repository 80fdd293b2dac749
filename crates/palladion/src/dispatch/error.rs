//! Why a backend cannot be chosen.

use core::str::FromStr;

use crate::arch::Backend;

/// The environment variable that selects a backend by its name.
pub const ENVIRONMENT_VARIABLE: &str = "PALLADION_BACKEND";

impl FromStr for Backend {
    type Err = BackendError;

    /// Returns the backend with this name, whether or not it is available.
    fn from_str(name: &str) -> Result<Self, BackendError> {
        Self::ALL.iter().copied().find(|b| b.name() == name).ok_or(BackendError::Unknown)
    }
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

impl core::error::Error for BackendError {}
