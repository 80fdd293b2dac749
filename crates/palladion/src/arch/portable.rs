//! The backend for every CPU: bitsliced, in general registers or in the vectors that the whole
//! crate is compiled for.

use super::backend::{Backend, Compiled};
use super::{Cpu, tables};
use crate::driver::features::features;
use crate::driver::kernels::Tables;

features! {
    /// Every CPU.
    AnyCpu, scrub 5120
}

#[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), target_feature = "sse2"))]
const TABLES: Tables = tables::planes_in_vectors::<AnyCpu, super::x86::sse2::Xmm>();
#[cfg(not(all(any(target_arch = "x86", target_arch = "x86_64"), target_feature = "sse2")))]
const TABLES: Tables = tables::planes_in_words::<AnyCpu>();

pub(crate) const COMPILED: Compiled<Cpu> =
    Compiled { backend: Backend::Portable, runs: |_| true, tables: TABLES };
