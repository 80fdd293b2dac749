//! Random nonces for the many messages of one call.

use palladion::{Aegis256Stream, Error, Key256, Nonce256};
use zeroize::Zeroizing;

/// Random nonces, one after another. Getting each one from the system would take longer than the
/// encryption of a short message. We ask the system for 32 bytes only, use them as the key of an
/// AEGIS-256 key stream, and cut that into nonces. The key is used for nothing else, so the nonce
/// of the stream may be zero. RFC 10032 claims in section 7 that nobody without the key can
/// distinguish the stream from random bytes. These nonces are therefore as good as random ones, and
/// someone who sees them learns neither the key nor other nonces.
///
/// Create one for each call. If one were kept from call to call, a forked process would continue
/// the stream of its parent, and both would use the same nonces.
pub struct Nonces(Aegis256Stream);

impl Nonces {
    pub fn new() -> Result<Self, Error> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *seed).map_err(|_| Error::NoRandomness)?;
        // The stream wipes its key.
        Ok(Self(Aegis256Stream::new(&Key256::from(*seed), &Nonce256::default())?))
    }

    /// Fills a buffer with nonces.
    pub fn fill(&mut self, nonces: &mut [u8]) -> Result<(), Error> {
        self.0.next_bytes(nonces)
    }
}
