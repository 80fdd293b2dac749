//! This library.

use std::hint::black_box;

use palladion::family::Family;
use palladion::{Aegis, Backend, Mac, Tag, with_algorithm};

use super::subject::{Entry, Job, KEY, NONCE, PALLADION, Subject, TAG_LEN, check};
use crate::algorithm::{Operation, Variant};

/// Each variant on each backend.
pub fn entries(variants: &[Variant], backends: &[Backend]) -> Vec<Entry> {
    let mut entries = Vec::new();
    for &variant in variants {
        for &backend in backends {
            let subject = with_algorithm!(variant, boxed(backend));
            let version = env!("CARGO_PKG_VERSION");
            let entry = Entry::new(variant.into(), PALLADION, version, subject);
            entries.push(entry.with_form(backend.name()));
        }
    }
    entries
}

struct Palladion<F: Family, const D: usize> {
    backend: Backend,
    key: F::Key,
    nonce: F::Nonce,
    cipher: Aegis<F, D, TAG_LEN>,
}

fn boxed<F: Family, const D: usize>(backend: Backend) -> Box<dyn Subject> {
    let key = F::Key::try_from(&KEY[..F::KEY_LEN]).expect("length");
    let nonce = F::Nonce::try_from(&NONCE[..F::KEY_LEN]).expect("length");
    Box::new(Palladion::<F, D> { backend, cipher: Aegis::new(&key), key, nonce })
}

impl<F: Family, const D: usize> Subject for Palladion<F, D> {
    fn run(&mut self, job: &mut Job, repeats: u64) -> Result<(), String> {
        // The call that is not measured sets the backend. That executes CPUID, which takes
        // microseconds in a virtual machine.
        if palladion::backend() != Ok(self.backend) {
            check(palladion::set_backend(self.backend))?;
        }
        let Self { key, nonce, cipher, .. } = self;
        let mut tag = Tag::from(job.tag);
        for _ in 0..repeats {
            let job = black_box(&mut *job);
            let made = match job.operation {
                Operation::Encrypt => cipher.encrypt_into(nonce, job.ad, job.input, job.output),
                Operation::Mac => Mac::<F, D, TAG_LEN>::mac(key, nonce, job.input),
                Operation::Decrypt => {
                    match cipher.decrypt_into(nonce, job.ad, job.input, &tag, job.output) {
                        Ok(()) => continue,
                        Err(error) => Err(error),
                    }
                }
            };
            match made {
                Ok(made) => tag = made,
                Err(error) => return Err(error.to_string()),
            }
            black_box(&tag);
        }
        job.tag = *tag.as_bytes();
        Ok(())
    }
}
