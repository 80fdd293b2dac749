//! The cipher of a file, on top of the core crate.

use std::fmt;

use palladion::{Algorithm, any};

use crate::error::Error;

pub(crate) const TAG_LEN: usize = 32;
pub(crate) type Tag = [u8; TAG_LEN];

/// A cipher with its key. It is in a box, because every move would leave a copy of the key behind.
pub(crate) struct Cipher(Box<any::Cipher>);

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cipher(..)")
    }
}

impl Cipher {
    /// `key` has the length that the algorithm needs.
    pub fn new(algorithm: Algorithm, key: &[u8]) -> Result<Self, Error> {
        Ok(Self(Box::new(any::Cipher::new(algorithm, key, TAG_LEN)?)))
    }

    /// As much of a nonce as the algorithm takes.
    fn nonce<'a>(&self, nonce: &'a [u8; 32]) -> &'a [u8] {
        &nonce[..self.0.algorithm().key_len()]
    }

    pub fn encrypt_in_place(
        &self,
        nonce: &[u8; 32],
        ad: &[u8],
        buffer: &mut [u8],
    ) -> Result<Tag, Error> {
        let mut tag = [0; TAG_LEN];
        self.0.encrypt_in_place(self.nonce(nonce), ad, buffer, &mut tag)?;
        Ok(tag)
    }

    pub fn encrypt_into(
        &self,
        nonce: &[u8; 32],
        ad: &[u8],
        text: &[u8],
        ciphertext: &mut [u8],
    ) -> Result<Tag, Error> {
        let mut tag = [0; TAG_LEN];
        self.0.encrypt_into(self.nonce(nonce), ad, text, ciphertext, &mut tag)?;
        Ok(tag)
    }

    /// `false` if the tag is wrong; then the buffer is zeroed.
    pub fn decrypt_in_place(
        &self,
        nonce: &[u8; 32],
        ad: &[u8],
        buffer: &mut [u8],
        tag: &Tag,
    ) -> Result<bool, Error> {
        verdict(self.0.decrypt_in_place(self.nonce(nonce), ad, buffer, tag))
    }

    /// `false` if the tag is wrong; then the output is zeroed.
    pub fn decrypt_into(
        &self,
        nonce: &[u8; 32],
        ad: &[u8],
        ciphertext: &[u8],
        tag: &Tag,
        text: &mut [u8],
    ) -> Result<bool, Error> {
        verdict(self.0.decrypt_into(self.nonce(nonce), ad, ciphertext, tag, text))
    }
}

fn verdict(decrypted: Result<(), palladion::Error>) -> Result<bool, Error> {
    match decrypted {
        Ok(()) => Ok(true),
        Err(palladion::Error::VerificationFailed) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
