//! A library in Rust behind one C function, which the benchmark loads: the crate `aegis`, or `hiae`
//! or `rscrypto` with the feature of that name and without default features.
//!
//! The loop that repeats a call is here, so that the cost of the C function is not measured.

mod job;
#[cfg_attr(feature = "aegis", path = "aegis.rs")]
#[cfg_attr(feature = "hiae", path = "hiae.rs")]
#[cfg_attr(feature = "rscrypto", path = "rscrypto.rs")]
mod peer;

use job::RawJob;

const _: job::Run = palladion_bench_aegis_run;

/// See [`job::Run`].
///
/// # Safety
///
/// The pointers in `job` must be valid for their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palladion_bench_aegis_run(
    variant: u32,
    operation: u32,
    repeats: u64,
    job: &RawJob,
) -> i32 {
    // SAFETY: the caller promises that the job's pointers are valid.
    unsafe { peer::run(variant, operation, repeats, job) }
}
