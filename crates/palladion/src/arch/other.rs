//! CPUs for which there is only the portable backend.

use super::backend::Compiled;

/// No features.
pub(crate) struct Cpu;

impl Cpu {
    pub(crate) fn detect() -> Self {
        Self
    }
}

pub(crate) const COMPILED: &[Compiled<Cpu>] = &[];
