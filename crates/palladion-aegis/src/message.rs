//! A message in one call.

use palladion::family::Family;
use palladion::hazmat::{self, Message};

use crate::Error;

#[cfg(feature = "std")]
use std::vec::Vec;

/// Key, nonce and associated data of a message.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'a> {
    pub key: &'a [u8],
    pub nonce: &'a [u8],
    pub ad: &'a [u8],
}

impl Inputs<'_> {
    /// Describes a message to the core. The pointers come from slices that the caller still has.
    #[inline(always)]
    fn message(
        &self,
        (src, dst, len): (*const u8, *mut u8, usize),
        (tag, tag_len): (*mut u8, usize),
    ) -> Message {
        let Self { key, nonce, ad } = self;
        Message {
            key: key.as_ptr(),
            nonce: nonce.as_ptr(),
            ad: ad.as_ptr(),
            ad_len: ad.len(),
            src,
            dst,
            len,
            tag,
            tag_len,
        }
    }

    /// Encrypts `len` bytes.
    ///
    /// # Safety
    /// `src` is readable and `dst` writable for `len` bytes. They are equal or do not overlap.
    #[allow(unsafe_code)] // the core's safe functions would copy and wipe the key twice
    #[inline(always)]
    unsafe fn seal<F: Family, const D: usize, const T: usize>(
        &self,
        src: *const u8,
        dst: *mut u8,
        len: usize,
    ) -> [u8; T] {
        assert!(self.key.len() == F::KEY_LEN && self.nonce.len() == F::KEY_LEN);
        let mut tag = [0; T];
        let message = self.message((src, dst, len), (tag.as_mut_ptr(), T));
        // SAFETY: key and nonce have the family's length, the associated data and the tag are
        // slices, and the caller promises the rest.
        let result = unsafe { hazmat::seal::<F, D>(&message) };
        if let Err(e) = result {
            unusable(e)
        }
        // Without `black_box`, Zen 4 predicts that the zeros above are read (`Tag::written_by` in
        // the core has the reason).
        *core::hint::black_box(&tag)
    }

    /// Verifies and decrypts `len` bytes. If the tag is wrong, they become zeros.
    ///
    /// # Safety
    /// `src` is readable and `dst` writable for `len` bytes. They are equal or do not overlap.
    #[allow(unsafe_code)] // the core's safe functions would copy and wipe the key twice
    #[inline(always)]
    unsafe fn open<F: Family, const D: usize, const T: usize>(
        &self,
        src: *const u8,
        dst: *mut u8,
        len: usize,
        tag: &[u8; T],
    ) -> Result<(), Error> {
        assert!(self.key.len() == F::KEY_LEN && self.nonce.len() == F::KEY_LEN);
        let message = self.message((src, dst, len), (tag.as_ptr().cast_mut(), T));
        // SAFETY: key and nonce have the family's length, the associated data and the tag are
        // slices, the tag is only read, and the caller promises the rest.
        unsafe { hazmat::open::<F, D>(&message) }.map_err(error)
    }

    #[inline(always)]
    pub fn encrypt_in_place<F: Family, const D: usize, const T: usize>(
        &self,
        buf: &mut [u8],
    ) -> [u8; T] {
        let (place, len) = (buf.as_mut_ptr(), buf.len());
        #[allow(unsafe_code)] // see `seal`
        // SAFETY: the place is a slice.
        unsafe {
            self.seal::<F, D, T>(place, place, len)
        }
    }

    #[inline(always)]
    pub fn decrypt_in_place<F: Family, const D: usize, const T: usize>(
        &self,
        buf: &mut [u8],
        tag: &[u8; T],
    ) -> Result<(), Error> {
        let (place, len) = (buf.as_mut_ptr(), buf.len());
        #[allow(unsafe_code)] // see `open`
        // SAFETY: the place is a slice.
        unsafe {
            self.open::<F, D, T>(place, place, len, tag)
        }
    }

    #[cfg(feature = "std")]
    #[inline(always)]
    pub fn encrypt<F: Family, const D: usize, const T: usize>(
        &self,
        msg: &[u8],
    ) -> (Vec<u8>, [u8; T]) {
        let mut ct = Vec::with_capacity(msg.len() + T); // callers often append the tag
        #[allow(unsafe_code)] // see `seal`; and the output need not be zeroed before
        // SAFETY: the vector has room for the ciphertext, which is all written.
        let tag = unsafe {
            let tag = self.seal::<F, D, T>(msg.as_ptr(), ct.as_mut_ptr(), msg.len());
            ct.set_len(msg.len());
            tag
        };
        (ct, tag)
    }

    #[cfg(feature = "std")]
    #[inline(always)]
    pub fn decrypt<F: Family, const D: usize, const T: usize>(
        &self,
        ct: &[u8],
        tag: &[u8; T],
    ) -> Result<Vec<u8>, Error> {
        let mut msg = Vec::with_capacity(ct.len());
        #[allow(unsafe_code)] // see `open`; and the output need not be zeroed before
        // SAFETY: the vector has room for the message, which is all written if the tag is right.
        unsafe {
            self.open::<F, D, T>(ct.as_ptr(), msg.as_mut_ptr(), ct.len(), tag)?;
            msg.set_len(ct.len());
        }
        Ok(msg)
    }
}

/// Converts the core's error.
pub(crate) fn error(e: palladion::Error) -> Error {
    match e {
        palladion::Error::VerificationFailed => Error::InvalidTag,
        palladion::Error::TooLong { .. } => Error::MessageTooLong,
        e => unusable(e),
    }
}

/// Panics, in functions that cannot fail in crate `aegis`.
#[cold]
pub(crate) fn unusable(e: palladion::Error) -> ! {
    match e {
        palladion::Error::TooLong { what: "message", .. } => {
            panic!("total message length exceeds 2^61 - 1 bytes")
        }
        palladion::Error::TooLong { what, .. } => panic!("{what} length exceeds 2^61 - 1 bytes"),
        e => panic!("{e}"),
    }
}
