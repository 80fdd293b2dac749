//! AEGIS in TLS 1.3 and QUIC, for [rustls](https://docs.rs/rustls).
//!
//! One statement at the start of `main` puts the AEGIS suites in front of those of rustls, for the
//! whole program:
//!
//! ```
//! palladion_rustls::with_aegis(rustls::crypto::ring::default_provider())
//!     .install_default()
//!     .expect("rustls had a provider already: install this one earlier");
//! // From here on as usual: rustls::ServerConfig::builder(), tokio-rustls, axum, quinn ...
//! ```
//!
//! Write `aws_lc_rs` in place of `ring` if that is the provider in your program. This crate brings
//! none: with two providers and no default, rustls panics.
//!
//! Where the peer knows AEGIS too, connections use it; with all others they use what they used
//! before. To leave the rest of the program alone, pass `Arc::new(with_aegis(...))` to
//! [`ServerConfig::builder_with_provider`](rustls::ServerConfig::builder_with_provider) or
//! [`ClientConfig::builder_with_provider`](rustls::ClientConfig::builder_with_provider).
//!
//! # Suites
//!
//! | suite | code point | AEAD | hash |
//! |---|---|---|---|
//! | [`TLS13_AEGIS_128L_SHA256`] | 0x1307 | AEGIS-128L | SHA-256 |
//! | [`TLS13_AEGIS_256_SHA512`] | 0x1306 | AEGIS-256 | SHA-512 |
//!
//! The code points are IANA's; the suites are described by draft-denis-tls-aegis. All tags have
//! 16 bytes. Feature `experimental-parallel` adds the parallel modes, with code points for private
//! use.
//!
//! Key exchange, certificates and random numbers are those of the provider beneath. SHA-256 and
//! SHA-512 are RustCrypto's, because rustls's providers have no SHA-512 for suites.
//!
//! # Limits
//!
//! rustls updates the keys before 2^48 records, which the draft demands. QUIC libraries do so
//! before 2^48 packets, and close a connection after 2^48 forged packets.
//!
//! Keys cannot leave rustls for kTLS: `dangerous_extract_secrets` returns an error ("operation not
//! supported"), because its type for secrets does not know AEGIS.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `experimental-parallel` | AEGIS-128X2, 128X4, 256X2 and 256X4 |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod hash;
mod iv;
mod keys;
mod quic;
mod record;
mod suite;
#[cfg(test)]
mod tests;

use palladion::Backend;
use rustls::crypto::CryptoProvider;

/// For programs that use rustls through another crate, so that they name the same version.
pub use rustls;

pub use suite::{TLS13_AEGIS_128L_SHA256, TLS13_AEGIS_256_SHA512, name, suites};
#[cfg(feature = "experimental-parallel")]
pub use suite::{
    TLS13_AEGIS_128X2_SHA256, TLS13_AEGIS_128X4_SHA256, TLS13_AEGIS_256X2_SHA512,
    TLS13_AEGIS_256X4_SHA512,
};

/// The number of records or packets before which a key must be replaced ("Security Considerations"
/// in the draft).
const MAX_MESSAGES: u64 = 1 << 48;
/// The number of forged QUIC packets after which a connection must end. The chance that one of them
/// was accepted is then at most 2^-80.
const MAX_FORGERIES: u64 = 1 << 48;

/// Adds the AEGIS suites to any provider: before its own suites where the CPU has AES instructions,
/// otherwise after them, as the draft recommends. A suite that the provider already has is
/// moved there.
///
/// A server of rustls takes the client's first suite that it knows, unless
/// [`ServerConfig::ignore_client_order`](rustls::ServerConfig::ignore_client_order) is set.
#[must_use]
pub fn with_aegis(mut provider: CryptoProvider) -> CryptoProvider {
    provider.cipher_suites.retain(|suite| !suites().contains(suite)); // offer none twice
    let place = if has_aes() { 0 } else { provider.cipher_suites.len() };
    provider.cipher_suites.splice(place..place, suites().iter().copied());
    provider
}

/// Returns whether AEGIS runs on AES instructions here.
fn has_aes() -> bool {
    palladion::backend().is_ok_and(Backend::has_aes_instructions)
}

/// Tests the examples in the README and in docs/tls.md.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/tls.md")]
    struct Tls;
}
