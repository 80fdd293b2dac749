//! QUIC packets (RFC 9001 §5).

use std::marker::PhantomData;

use palladion::KeyStream;
use palladion::family::Family;
use rustls::Error;
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::quic::{Algorithm, HeaderProtectionKey, PacketKey, Tag};

use crate::keys::{Keys, TAG_LEN, aead_key};

/// Bytes of the ciphertext that header protection samples (RFC 9001 §5.4.2).
const SAMPLE_LEN: usize = 16;

/// The packet protection of a suite.
pub(crate) struct Quic<F, const D: usize>(pub(crate) PhantomData<fn() -> F>);

impl<F: Family + 'static, const D: usize> Algorithm for Quic<F, D> {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn PacketKey> {
        Box::new(Keys::<F, D>::new(&key, &iv))
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn HeaderProtectionKey> {
        Box::new(HeaderKey::<F, D>(aead_key::<F>(&key)))
    }

    fn aead_key_len(&self) -> usize {
        F::KEY_LEN
    }
}

impl<F: Family, const D: usize> PacketKey for Keys<F, D> {
    fn encrypt_in_place(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<Tag, Error> {
        Ok(Tag::from(&self.seal(packet_number, header, payload)?[..]))
    }

    fn decrypt_in_place<'a>(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        Ok(self.open(packet_number, header, payload)?)
    }

    fn tag_len(&self) -> usize {
        TAG_LEN
    }

    fn confidentiality_limit(&self) -> u64 {
        crate::MAX_MESSAGES
    }

    fn integrity_limit(&self) -> u64 {
        crate::MAX_FORGERIES
    }
}

/// The key that hides packet numbers.
struct HeaderKey<F: Family, const D: usize>(F::Key);

impl<F: Family, const D: usize> HeaderKey<F, D> {
    /// Returns the mask for a sample: the key stream whose nonce is the sample, filled up with
    /// zeros ("QUIC Header Protection" in the draft).
    fn mask(&self, sample: &[u8]) -> Result<[u8; 5], Error> {
        let mut nonce = F::Nonce::default();
        let mut mask = [0; 5];
        if sample.len() != SAMPLE_LEN {
            return Err(Error::General(format!(
                "header protection needs a sample of {SAMPLE_LEN} bytes, not {}",
                sample.len()
            )));
        }
        nonce.as_mut()[..SAMPLE_LEN].copy_from_slice(sample);
        KeyStream::<F, D>::fill(&self.0, &nonce, &mut mask).map_err(|_| Error::EncryptError)?;
        Ok(mask)
    }
}

/// Adds or removes the mask. `plain_first` computes the unprotected first byte, which has the
/// length of the packet number (RFC 9001 §5.4.1), from the first byte without and with the mask.
fn apply(
    mask: [u8; 5],
    first: &mut u8,
    packet_number: &mut [u8],
    plain_first: fn(before: u8, after: u8) -> u8,
) -> Result<(), Error> {
    let [first_mask, mask @ ..] = mask;
    if packet_number.len() > mask.len() {
        return Err(Error::General(format!(
            "a packet number has at most {} bytes, not {}",
            mask.len(),
            packet_number.len()
        )));
    }
    let long_header = *first & 0x80 != 0;
    let after = *first ^ (first_mask & if long_header { 0x0f } else { 0x1f });
    let len = usize::from(plain_first(*first, after) & 3) + 1;
    *first = after;
    for (byte, mask) in packet_number.iter_mut().zip(mask).take(len) {
        *byte ^= mask;
    }
    Ok(())
}

impl<F: Family, const D: usize> HeaderProtectionKey for HeaderKey<F, D> {
    fn encrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
    ) -> Result<(), Error> {
        apply(self.mask(sample)?, first, packet_number, |before, _| before)
    }

    fn decrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
    ) -> Result<(), Error> {
        apply(self.mask(sample)?, first, packet_number, |_, after| after)
    }

    fn sample_len(&self) -> usize {
        SAMPLE_LEN
    }
}
