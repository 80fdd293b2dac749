//! The key and the IV of one direction, which protect TLS records (RFC 8446 §5.2) and QUIC packets
//! (RFC 9001 §5.3).

use palladion::Aegis;
use palladion::family::Family;
use rustls::Error;
use rustls::crypto::cipher::{AeadKey, Iv};
use zeroize::Zeroize;

use crate::iv;

/// Bytes in a tag. The draft allows no other length.
pub(crate) const TAG_LEN: usize = 16;

/// The key and the IV of one direction. Both are wiped on drop.
pub(crate) struct Keys<F: Family, const D: usize> {
    cipher: Aegis<F, D, TAG_LEN>,
    iv: F::Nonce,
}

impl<F: Family, const D: usize> Keys<F, D> {
    /// Returns the keys that rustls's key schedule has derived.
    ///
    /// # Panics
    ///
    /// Panics if a suite was put together from the AEAD of ours and the HKDF of another.
    pub(crate) fn new(key: &AeadKey, iv: &Iv) -> Self {
        let iv = iv::look_up(iv).and_then(|iv| F::Nonce::try_from(&iv[..]).ok());
        Self {
            cipher: Aegis::new(&aead_key::<F>(key)),
            iv: iv.expect("the AEAD of an AEGIS suite needs the suite's own HKDF"),
        }
    }

    /// Returns the nonce of a record or packet: its number XOR the IV (RFC 8446 §5.3).
    fn nonce(&self, number: u64) -> F::Nonce {
        let mut nonce = self.iv;
        if let Some(last) = nonce.as_mut().last_chunk_mut() {
            *last = (u64::from_be_bytes(*last) ^ number).to_be_bytes();
        }
        nonce
    }

    /// Encrypts in place and returns the tag.
    pub(crate) fn seal(&self, number: u64, ad: &[u8], msg: &mut [u8]) -> Result<[u8; 16], Error> {
        match self.cipher.encrypt_in_place(&self.nonce(number), ad, msg) {
            Ok(tag) => Ok(tag.into()),
            Err(_) => Err(Error::EncryptError),
        }
    }

    /// Decrypts a ciphertext with its tag in place and returns the message.
    pub(crate) fn open<'a>(
        &self,
        number: u64,
        ad: &[u8],
        sealed: &'a mut [u8],
    ) -> Result<&'a mut [u8], Error> {
        let opened = self.cipher.open_in_place(&self.nonce(number), ad, sealed);
        opened.map_err(|_| Error::DecryptError)
    }
}

impl<F: Family, const D: usize> Drop for Keys<F, D> {
    fn drop(&mut self) {
        self.iv.as_mut().zeroize();
    }
}

/// Returns rustls's key as ours.
pub(crate) fn aead_key<F: Family>(key: &AeadKey) -> F::Key {
    let key = key.as_ref().get(..F::KEY_LEN).and_then(|key| F::Key::try_from(key).ok());
    key.expect("rustls asks for the length of a key before it derives it")
}
