//! The implementations: one [`Subject`] for each implementation of each algorithm.
//!
//! All use the same buffers, the same key and nonce, and 16-byte tags. AEGIS has no key schedule,
//! so each call starts from the key. The others compute their key schedule once, before the
//! measurement.

#[allow(unsafe_code)]
mod aegis;
#[cfg(feature = "aws-lc")]
mod aws_lc;
#[allow(unsafe_code)]
mod foreign;
#[allow(unsafe_code)]
mod openssl;
mod palladion;
mod rust;
pub mod subject;

pub use subject::{Description, Entry, Job, KEY, NONCE, PALLADION, TAG_LEN, check};

use crate::algorithm::{Algorithm, Operation, Variant};
use ::palladion::Backend;
use subject::AWS_LC;

impl Entry {
    pub fn can(&self, operation: Operation) -> bool {
        let Description { algorithm, library, .. } = &self.description;
        algorithm.can(operation) && (operation != Operation::Mac || library != aegis::RSCRYPTO)
    }

    /// Returns whether a known bug makes the result wrong, so that it is not measured.
    pub fn is_known_to_be_wrong(&self, operation: Operation, len: usize) -> bool {
        let Description { library, form, .. } = &self.description;
        library == aegis::AEGIS
            && form.starts_with("Rust")
            && operation == Operation::Mac
            && len == 0
    }
}

type Make = fn(&[Variant]) -> Result<Vec<Entry>, String>;

/// All subjects on this machine that pass the filters, and notes about missing ones.
pub fn all(
    variants: &[Variant],
    backends: &[Backend],
    peers: impl Fn(&str) -> bool,
) -> (Vec<Entry>, Vec<String>) {
    let mut notes = Vec::new();
    let mut entries = palladion::entries(variants, backends);
    let families: [(&str, Make); 7] = [
        (aegis::AEGIS, |variants| aegis::entries(aegis::AEGIS, variants)),
        (aegis::RSCRYPTO, |variants| aegis::entries(aegis::RSCRYPTO, variants)),
        (aegis::HIAE, |variants| aegis::entries(aegis::HIAE, variants)),
        (AWS_LC, |_| aws_lc_entries()),
        (openssl::LIBRARY, |_| openssl::entries()),
        (rust::RUST_CRYPTO, |_| {
            Ok(vec![
                rust::aes_gcm::<aes_gcm::Aes128Gcm>(Algorithm::Aes128Gcm),
                rust::aes_gcm::<aes_gcm::Aes256Gcm>(Algorithm::Aes256Gcm),
            ])
        }),
        (rust::BLAKE3, |_| Ok(vec![rust::blake3()])),
    ];
    for (library, make) in families {
        if peers(library) {
            match make(variants) {
                Ok(more) => entries.extend(more),
                Err(why) => notes.push(format!("not compared with {library}: {why}")),
            }
        }
    }
    (entries, notes)
}

fn aws_lc_entries() -> Result<Vec<Entry>, String> {
    #[cfg(feature = "aws-lc")]
    return aws_lc::entries();
    #[cfg(not(feature = "aws-lc"))]
    Err("built without the feature aws-lc".into())
}

/// The names of the libraries to compare with.
pub const PEERS: [&str; 7] = [
    aegis::AEGIS,
    aegis::RSCRYPTO,
    aegis::HIAE,
    AWS_LC,
    openssl::LIBRARY,
    rust::RUST_CRYPTO,
    rust::BLAKE3,
];
