//! Messages in one call.

use palladion::any;
use palladion::hazmat::{self, Message};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::algorithm::{MAX_LEN, Name, copy_nonce, copy_tag, fill_random};
use crate::batch;
use crate::buffer::{In, Out, Target, beside, bytes_or_none, work_on};
use crate::error::{OrRaise, VerificationError, too_short};
use crate::pieces::{Decryptor, Encryptor, UnverifiedDecryptor};

/// An authenticated cipher with its key.
///
/// algorithm is one of palladion.ALGORITHMS. Keys and nonces have 16 bytes for the AEGIS-128 family
/// and 32 bytes for the AEGIS-256 family. Tags have 16 or 32 bytes. Any number of threads can use a
/// cipher at once.
///
/// >>> import palladion
/// >>> cipher = palladion.Cipher(palladion.generate_key())
/// >>> sealed = cipher.seal(b"attack at dawn", b"header")
/// >>> cipher.open(sealed, b"header")
/// b'attack at dawn'
#[pyclass(module = "palladion", frozen)]
pub struct Cipher {
    pub inner: any::Cipher,
}

/// The checked arguments of a call.
struct Call {
    message: Message,
}

// SAFETY: the pointers point into buffers that are held during the call, and `buffer::work_on` runs
// the work on the calling thread.
unsafe impl Send for Call {}

impl Cipher {
    /// The lengths of nonce and tag.
    fn sizes(&self) -> (usize, usize) {
        (self.inner.algorithm().key_len(), self.inner.tag_len())
    }

    #[inline]
    fn message(
        &self,
        nonce: *const u8,
        ad: &[u8],
        (src, len): (*const u8, usize),
        dst: *mut u8,
        tag: *mut u8,
    ) -> Message {
        let (ad, ad_len, tag_len) = (ad.as_ptr(), ad.len(), self.inner.tag_len());
        Message { key: self.inner.key().as_ptr(), nonce, ad, ad_len, src, dst, len, tag, tag_len }
    }

    /// Encrypts.
    ///
    /// # Safety
    /// The requirements of `Message`. Its pointers must stay valid until this returns, even without
    /// the interpreter's lock.
    #[inline]
    unsafe fn seal_raw(&self, py: Python<'_>, message: Message) -> PyResult<()> {
        let (algorithm, call) = (self.inner.algorithm(), Call { message });
        work_on(py, call.message.len + call.message.ad_len, move || {
            let call = call;
            // SAFETY: the caller promises the message and its pointers.
            unsafe { hazmat::seal_any(algorithm, &call.message) }
        })
        .or_raise()
    }

    /// Decrypts.
    ///
    /// # Safety
    /// The same as for `seal_raw`.
    #[inline]
    unsafe fn open_raw(&self, py: Python<'_>, message: Message) -> PyResult<()> {
        let (algorithm, call) = (self.inner.algorithm(), Call { message });
        work_on(py, call.message.len + call.message.ad_len, move || {
            let call = call;
            // SAFETY: the caller promises the message and its pointers.
            unsafe { hazmat::open_any(algorithm, &call.message) }
        })
        .or_raise()
    }
}

#[pymethods]
impl Cipher {
    #[new]
    #[pyo3(
        signature = (key, algorithm = Name::default(), *, tag_size = 32),
        text_signature = "(key, algorithm='AEGIS-256X2', *, tag_size=32)"
    )]
    fn new(key: In<'_, '_>, algorithm: Name, tag_size: usize) -> PyResult<Self> {
        Ok(Self { inner: any::Cipher::new(algorithm.0, key.bytes(), tag_size).or_raise()? })
    }

    /// The standard's name of the cipher.
    #[getter]
    fn algorithm(&self) -> Name {
        Name(self.inner.algorithm())
    }

    /// Bytes in the key: 16 or 32.
    #[getter]
    fn key_size(&self) -> usize {
        self.inner.algorithm().key_len()
    }

    /// Bytes in a nonce: 16 or 32, the same as in the key.
    #[getter]
    fn nonce_size(&self) -> usize {
        self.inner.algorithm().key_len()
    }

    /// Bytes in a tag: 16 or 32.
    #[getter]
    fn tag_size(&self) -> usize {
        self.inner.tag_len()
    }

    /// How much longer seal() makes a message: nonce_size + tag_size.
    #[getter]
    fn overhead(&self) -> usize {
        let (nonce, tag) = self.sizes();
        nonce + tag
    }

    fn __repr__(&self) -> String {
        format!("<palladion.Cipher {}, tag_size={}>", self.inner.algorithm(), self.inner.tag_len())
    }

    /// Encrypts a message under a random nonce; returns nonce, ciphertext and tag in one.
    ///
    /// A key of the AEGIS-256 family can encrypt any number of messages, a key of the AEGIS-128
    /// family 2**48. ad is data that is authenticated with the message but is not part of the
    /// result; pass the same to open(). into is a writable buffer of len(message) + overhead bytes;
    /// if given, the result is written there, and into is returned.
    #[pyo3(signature = (message, ad = None, *, into = None))]
    fn seal<'py>(
        &self,
        py: Python<'py>,
        message: In<'_, 'py>,
        ad: Option<In<'_, 'py>>,
        into: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let ((nonce_len, tag_len), (src, len)) = (self.sizes(), message.place());
        let target = Target::new(py, into, nonce_len + len + tag_len)?;
        // The nonce comes first, so the ciphertext cannot replace the message in place.
        target.check_apart((src, len))?;
        let ad = beside(&ad, target.place());
        let mut nonce = [0; MAX_LEN];
        fill_random(&mut nonce[..nonce_len])?;
        // SAFETY: the target has room for nonce, ciphertext and tag and does not overlap the
        // message, as `check_apart` found; the buffers are held until the call ends, so their
        // lengths stay right.
        unsafe {
            target.start().copy_from_nonoverlapping(nonce.as_ptr(), nonce_len);
            let dst = target.start().add(nonce_len);
            let message = self.message(nonce.as_ptr(), &ad, (src, len), dst, dst.add(len));
            self.seal_raw(py, message)?;
        }
        Ok(target.finish())
    }

    /// Decrypts the output of seal(). Raises VerificationError and zeroes into if it is not
    /// authentic.
    #[pyo3(signature = (sealed, ad = None, *, into = None))]
    fn open<'py>(
        &self,
        py: Python<'py>,
        sealed: In<'_, 'py>,
        ad: Option<In<'_, 'py>>,
        into: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let ((nonce_len, tag_len), (start, len)) = (self.sizes(), sealed.place());
        let len = len
            .checked_sub(nonce_len + tag_len)
            .ok_or_else(|| VerificationError::new_err(too_short(nonce_len + tag_len, len)))?;
        let target = Target::new(py, into, len)?;
        target.check_apart(sealed.place())?;
        let ad = beside(&ad, target.place());
        let nonce = copy_nonce(&sealed.bytes()[..nonce_len], nonce_len)?;
        let mut tag = copy_tag(&sealed.bytes()[nonce_len + len..], tag_len)?;
        // SAFETY: nonce, ciphertext and tag lie within the input, whose length was checked; the
        // target does not overlap the input and has room for the message; the buffers are held
        // until the call ends.
        unsafe {
            let src = start.add(nonce_len);
            let message =
                self.message(nonce.as_ptr(), &ad, (src, len), target.start(), tag.as_mut_ptr());
            self.open_raw(py, message)?;
        }
        Ok(target.finish())
    }

    /// Encrypts a message; returns ciphertext and tag in one. Never use a nonce twice with one key.
    ///
    /// into is a writable buffer of len(message) + tag_size bytes; if given, the result is written
    /// there, and into is returned. It may start at the same address as the message.
    #[pyo3(signature = (nonce, message, ad = None, *, into = None))]
    fn encrypt<'py>(
        &self,
        py: Python<'py>,
        nonce: In<'_, 'py>,
        message: In<'_, 'py>,
        ad: Option<In<'_, 'py>>,
        into: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (nonce_len, tag_len) = self.sizes();
        let nonce = copy_nonce(nonce.bytes(), nonce_len)?;
        let (src, len) = message.place();
        let target = Target::new(py, into, len + tag_len)?;
        target.check_overlap((src, len))?;
        let ad = beside(&ad, target.place());
        // SAFETY: the target has room for ciphertext and tag, and starts where the message does or
        // does not overlap it; the nonce has the right length; the buffers are held until the call
        // ends.
        unsafe {
            let dst = target.start();
            let message = self.message(nonce.as_ptr(), &ad, (src, len), dst, dst.add(len));
            self.seal_raw(py, message)?;
        }
        Ok(target.finish())
    }

    /// Decrypts the output of encrypt(). Raises VerificationError and zeroes into if it is not
    /// authentic.
    #[pyo3(signature = (nonce, ciphertext, ad = None, *, into = None))]
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        nonce: In<'_, 'py>,
        ciphertext: In<'_, 'py>,
        ad: Option<In<'_, 'py>>,
        into: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (nonce_len, tag_len) = self.sizes();
        let nonce = copy_nonce(nonce.bytes(), nonce_len)?;
        let (src, len) = ciphertext.place();
        let len = len
            .checked_sub(tag_len)
            .ok_or_else(|| VerificationError::new_err(too_short(tag_len, len)))?;
        let target = Target::new(py, into, len)?;
        target.check_overlap(ciphertext.place())?;
        let ad = beside(&ad, target.place());
        let mut tag = copy_tag(&ciphertext.bytes()[len..], tag_len)?;
        // SAFETY: the target has room for the message, and starts where the ciphertext does or does
        // not overlap it; nonce and tag have the right lengths; the buffers are held until the call
        // ends.
        unsafe {
            let message =
                self.message(nonce.as_ptr(), &ad, (src, len), target.start(), tag.as_mut_ptr());
            self.open_raw(py, message)?;
        }
        Ok(target.finish())
    }

    /// Encrypts a message; returns a pair of the ciphertext, which is as long as the message, and
    /// the tag.
    #[pyo3(signature = (nonce, message, ad = None, *, into = None))]
    fn encrypt_detached<'py>(
        &self,
        py: Python<'py>,
        nonce: In<'_, 'py>,
        message: In<'_, 'py>,
        ad: Option<In<'_, 'py>>,
        into: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (nonce_len, tag_len) = self.sizes();
        let nonce = copy_nonce(nonce.bytes(), nonce_len)?;
        let (src, len) = message.place();
        let target = Target::new(py, into, len)?;
        target.check_overlap((src, len))?;
        let ad = beside(&ad, target.place());
        let mut tag = [0; MAX_LEN];
        // SAFETY: the target has room for the ciphertext, and starts where the message does or does
        // not overlap it; the nonce has the right length; `tag` has room for the longest tag; the
        // buffers are held until the call ends.
        unsafe {
            let message =
                self.message(nonce.as_ptr(), &ad, (src, len), target.start(), tag.as_mut_ptr());
            self.seal_raw(py, message)?;
        }
        let tag = PyBytes::new(py, &tag[..tag_len]);
        PyTuple::new(py, [target.finish(), tag.into_any()])
    }

    /// Decrypts a ciphertext with a separate tag. Raises VerificationError and zeroes into if they
    /// are not authentic.
    #[pyo3(signature = (nonce, ciphertext, tag, ad = None, *, into = None))]
    fn decrypt_detached<'py>(
        &self,
        py: Python<'py>,
        nonce: In<'_, 'py>,
        ciphertext: In<'_, 'py>,
        tag: In<'_, 'py>,
        ad: Option<In<'_, 'py>>,
        into: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (nonce_len, tag_len) = self.sizes();
        let nonce = copy_nonce(nonce.bytes(), nonce_len)?;
        let mut tag = copy_tag(tag.bytes(), tag_len)?;
        let (src, len) = ciphertext.place();
        let target = Target::new(py, into, len)?;
        target.check_overlap((src, len))?;
        let ad = beside(&ad, target.place());
        // SAFETY: the target has room for the message, and starts where the ciphertext does or does
        // not overlap it; nonce and tag have the right lengths; the buffers are held until the call
        // ends.
        unsafe {
            let message =
                self.message(nonce.as_ptr(), &ad, (src, len), target.start(), tag.as_mut_ptr());
            self.open_raw(py, message)?;
        }
        Ok(target.finish())
    }

    /// Encrypts a message in place, in a writable buffer, and returns the tag.
    #[pyo3(signature = (nonce, buffer, ad = None))]
    fn encrypt_in_place<'py>(
        &self,
        py: Python<'py>,
        nonce: In<'_, 'py>,
        buffer: Out<'py>,
        ad: Option<In<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (nonce_len, tag_len) = self.sizes();
        let nonce = copy_nonce(nonce.bytes(), nonce_len)?;
        let (dst, len) = buffer.place();
        let ad = beside(&ad, buffer.place());
        let mut tag = [0; MAX_LEN];
        // SAFETY: input and output are the same buffer; the nonce has the right length; `tag` has
        // room for the longest tag; the buffers are held until the call ends.
        unsafe {
            self.seal_raw(
                py,
                self.message(nonce.as_ptr(), &ad, (dst, len), dst, tag.as_mut_ptr()),
            )?;
        }
        Ok(PyBytes::new(py, &tag[..tag_len]))
    }

    /// Decrypts a ciphertext in place, in a writable buffer. Raises VerificationError and zeroes
    /// the buffer if it is not authentic.
    #[pyo3(signature = (nonce, buffer, tag, ad = None))]
    fn decrypt_in_place<'py>(
        &self,
        py: Python<'py>,
        nonce: In<'_, 'py>,
        buffer: Out<'py>,
        tag: In<'_, 'py>,
        ad: Option<In<'_, 'py>>,
    ) -> PyResult<()> {
        let (nonce_len, tag_len) = self.sizes();
        let nonce = copy_nonce(nonce.bytes(), nonce_len)?;
        let mut tag = copy_tag(tag.bytes(), tag_len)?;
        let (dst, len) = buffer.place();
        let ad = beside(&ad, buffer.place());
        // SAFETY: key, nonce and tag have the right lengths; all buffers live until this returns.
        unsafe {
            self.open_raw(py, self.message(nonce.as_ptr(), &ad, (dst, len), dst, tag.as_mut_ptr()))
        }
    }

    /// Checks the output of encrypt() without returning the message. Raises VerificationError if it
    /// is not authentic.
    #[pyo3(signature = (nonce, ciphertext, ad = None))]
    fn verify<'py>(
        &self,
        py: Python<'py>,
        nonce: In<'_, 'py>,
        ciphertext: In<'_, 'py>,
        ad: Option<In<'_, 'py>>,
    ) -> PyResult<()> {
        let (nonce_len, tag_len) = self.sizes();
        let nonce = copy_nonce(nonce.bytes(), nonce_len)?;
        let len = ciphertext.len();
        let len = len
            .checked_sub(tag_len)
            .ok_or_else(|| VerificationError::new_err(too_short(tag_len, len)))?;
        let (ciphertext, tag) = ciphertext.bytes().split_at(len);
        let (cipher, ad) = (&self.inner, bytes_or_none(&ad));
        work_on(py, len + ad.len(), || cipher.verify(&nonce[..nonce_len], ad, ciphertext, tag))
            .or_raise()
    }

    /// Starts to encrypt a message in pieces.
    #[pyo3(signature = (nonce, ad = None))]
    fn encryptor(&self, nonce: In<'_, '_>, ad: Option<In<'_, '_>>) -> PyResult<Encryptor> {
        Encryptor::begin(&self.inner, nonce.bytes(), bytes_or_none(&ad))
    }

    /// Starts to decrypt a message in pieces. It is kept in memory and returned only if it is
    /// authentic.
    #[pyo3(signature = (nonce, ad = None))]
    fn decryptor(&self, nonce: In<'_, '_>, ad: Option<In<'_, '_>>) -> PyResult<Decryptor> {
        Decryptor::begin(&self.inner, nonce.bytes(), bytes_or_none(&ad))
    }

    /// Starts to decrypt a message in pieces, each returned at once and UNVERIFIED.
    ///
    /// Do not use any of them before verify() has succeeded.
    #[pyo3(signature = (nonce, ad = None))]
    fn unverified_decryptor(
        &self,
        nonce: In<'_, '_>,
        ad: Option<In<'_, '_>>,
    ) -> PyResult<UnverifiedDecryptor> {
        UnverifiedDecryptor::begin(&self.inner, nonce.bytes(), bytes_or_none(&ad))
    }

    /// Encrypts many messages like seal(), each under its own random nonce; returns a list.
    ///
    /// This is faster than a loop, above all for small messages on CPUs that can process several
    /// at once. ads, if given, has one item for each message: bytes or None.
    ///
    /// >>> import palladion
    /// >>> cipher = palladion.Cipher(palladion.generate_key())
    /// >>> cipher.open_many(cipher.seal_many([b"one", b"two"]))
    /// [b'one', b'two']
    #[pyo3(signature = (messages, ads = None))]
    fn seal_many<'py>(
        &self,
        py: Python<'py>,
        messages: Vec<Bound<'py, PyAny>>,
        ads: Option<Vec<Bound<'py, PyAny>>>,
    ) -> PyResult<Bound<'py, PyList>> {
        batch::seal_many(py, &self.inner, &messages, ads.as_deref())
    }

    /// Decrypts many outputs of seal() or seal_many(); returns a list. If one is not authentic,
    /// raises VerificationError with the position of the first such message as index.
    #[pyo3(signature = (sealed, ads = None))]
    fn open_many<'py>(
        &self,
        py: Python<'py>,
        sealed: Vec<Bound<'py, PyAny>>,
        ads: Option<Vec<Bound<'py, PyAny>>>,
    ) -> PyResult<Bound<'py, PyList>> {
        batch::open_many(py, &self.inner, &sealed, ads.as_deref())
    }

    /// Refuses pickling, which would write the key.
    fn __reduce__<'py>(&self, _py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        Err(PyTypeError::new_err("a Cipher cannot be pickled: that would write its key"))
    }
}
