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

pub use subject::{Description, Entry, Job, KEY, NONCE, Role, TAG_LEN, check};

use crate::algorithm::{Algorithm, Operation, Variant};
use ::palladion::Backend;
use subject::AWS_LC;

impl Entry {
    /// Whether a known bug makes the result wrong, so that it is not measured.
    pub fn is_known_to_be_wrong(&self, operation: Operation, len: usize) -> bool {
        let Description { library, form, .. } = &self.description;
        library == aegis::LIBRARY
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
) -> Result<(Vec<Entry>, Vec<String>), String> {
    let mut notes = Vec::new();
    let mut entries = palladion::entries(variants, backends)?;
    let families: [(&str, Make); 5] = [
        (aegis::LIBRARY, aegis::entries),
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
    Ok((entries, notes))
}

fn aws_lc_entries() -> Result<Vec<Entry>, String> {
    #[cfg(feature = "aws-lc")]
    return aws_lc::entries();
    #[cfg(not(feature = "aws-lc"))]
    Err("built without the feature aws-lc".into())
}

/// The names of the libraries to compare with.
pub const PEERS: [&str; 5] =
    [aegis::LIBRARY, AWS_LC, openssl::LIBRARY, rust::RUST_CRYPTO, rust::BLAKE3];
