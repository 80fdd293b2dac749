//! Libraries that `build.rs` builds in several forms: crate `aegis`, which is libaegis in C or its
//! translation to Rust, `hiae` and `rscrypto`.

use super::foreign::{function, load};
use super::subject::{Entry, Job, KEY, NONCE, Subject, locked_version};
use crate::algorithm::{Algorithm, Operation, Variant};
use raw::{RawJob, Run};

#[path = "../../peer-aegis/src/job.rs"]
mod raw;

pub const AEGIS: &str = "aegis";
pub const HIAE: &str = "hiae";
pub const RSCRYPTO: &str = "rscrypto";

pub fn entries(library: &str, variants: &[Variant]) -> Result<Vec<Entry>, String> {
    let version = locked_version(include_str!("../../peer-aegis/Cargo.lock"), library);
    let mut entries = Vec::new();
    for (name, path) in env!("BENCH_PEERS").split(';').filter_map(|built| built.split_once('=')) {
        let (built, form) = name.split_once(' ').unwrap_or((name, ""));
        if built != library {
            continue;
        }
        // SAFETY: the library is built from peer-aegis/, where the compiler checks that the
        // function has this type.
        let run: Run = unsafe { function(load(path)?, "palladion_bench_aegis_run") }?;
        let algorithms = match library {
            HIAE => vec![(Algorithm::HiAe, 6)],
            _ => variants
                .iter()
                .filter(|&&variant| library == AEGIS || variant == Variant::Aegis256)
                .map(|&variant| (variant.into(), u32::from(variant.id()) - 1))
                .collect(),
        };
        entries.extend(algorithms.into_iter().map(|(algorithm, number)| {
            let subject = Box::new(Peer { number, run });
            Entry::new(algorithm, library, &version, subject).with_form(form)
        }));
    }
    match entries.is_empty() && env!("BENCH_PEERS").is_empty() {
        true => Err("not built (only release builds have it)".into()),
        false => Ok(entries),
    }
}

struct Peer {
    /// The number of the algorithm in the library's function.
    number: u32,
    run: Run,
}

impl Subject for Peer {
    fn run(&mut self, job: &mut Job, repeats: u64) -> Result<(), String> {
        let operation = match job.operation {
            Operation::Encrypt => 0,
            Operation::Decrypt => 1,
            Operation::Mac => 2,
        };
        assert!(job.operation == Operation::Mac || job.output.len() == job.input.len());
        let raw = RawJob {
            key: KEY.as_ptr(),
            nonce: NONCE.as_ptr(),
            ad: job.ad.as_ptr(),
            ad_len: job.ad.len(),
            input: job.input.as_ptr(),
            output: job.output.as_mut_ptr(),
            len: job.input.len(),
            tag: job.tag.as_mut_ptr(),
        };
        // SAFETY: the pointers come from slices of these lengths, which live as long as the call;
        // key and nonce have 32 bytes, the tag 16.
        match unsafe { (self.run)(self.number, operation, repeats, &raw) } {
            0 => Ok(()),
            status => Err(format!("a peer failed with status {status}")),
        }
    }
}
