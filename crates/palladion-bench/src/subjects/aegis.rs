//! Crate `aegis`: libaegis in C and its translation to Rust, built by `build.rs`.

use super::foreign::{function, load};
use super::subject::{Description, Entry, Job, KEY, NONCE, Role, Subject, locked_version};
use crate::algorithm::{Algorithm, Operation, Variant};
use raw::{RawJob, Run};

#[path = "../../peer-aegis/src/job.rs"]
mod raw;

pub const LIBRARY: &str = "aegis";

pub fn entries(variants: &[Variant]) -> Result<Vec<Entry>, String> {
    let version = locked_version(include_str!("../../peer-aegis/Cargo.lock"), "aegis");
    let mut entries = Vec::new();
    for (form, path) in env!("BENCH_AEGIS").split(';').filter_map(|built| built.split_once('=')) {
        // SAFETY: the library is built from peer-aegis/, where the compiler checks that the
        // function has this type.
        let run: Run = unsafe { function(load(path)?, "palladion_bench_aegis_run") }?;
        entries.extend(variants.iter().map(|&variant| Entry {
            description: Description {
                algorithm: Algorithm::Aegis(variant),
                library: LIBRARY.into(),
                form: form.into(),
                version: version.clone(),
                role: Role::AegisPeer,
            },
            subject: Box::new(Aegis { variant, run }),
        }));
    }
    match entries.is_empty() {
        true => Err("not built (only release builds have it)".into()),
        false => Ok(entries),
    }
}

struct Aegis {
    variant: Variant,
    run: Run,
}

impl Subject for Aegis {
    fn run(&mut self, job: &mut Job, repeats: u64) -> Result<(), String> {
        let output = job.output.as_mut_ptr();
        let (operation, input) = match job.operation {
            Operation::Encrypt => (0, job.input.as_ptr()),
            Operation::EncryptInPlace => (0, output.cast_const()),
            Operation::Decrypt => (1, job.input.as_ptr()),
            Operation::Mac => (2, job.input.as_ptr()),
        };
        let len = if job.operation == Operation::EncryptInPlace {
            job.output.len()
        } else {
            job.input.len()
        };
        assert!(job.operation == Operation::Mac || job.output.len() == len);
        let raw = RawJob {
            key: KEY.as_ptr(),
            nonce: NONCE.as_ptr(),
            ad: job.ad.as_ptr(),
            ad_len: job.ad.len(),
            input,
            output,
            len,
            tag: job.tag.as_mut_ptr(),
        };
        // SAFETY: the pointers come from slices of these lengths, which live as long as the call;
        // key and nonce have 32 bytes, the tag 16.
        match unsafe { (self.run)(self.variant.index() as u32, operation, repeats, &raw) } {
            0 => Ok(()),
            status => Err(format!("crate aegis: status {status}")),
        }
    }
}
