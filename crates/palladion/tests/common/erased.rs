//! Variants without their types. A test of what all variants have in common takes these and is
//! compiled once; generic over the type, it would be compiled for each of two dozen variants, which
//! takes most of a minute.
//!
//! Each method calls the library's method of that name. Keys, nonces and tags are bytes here.

#![allow(unsafe_code)] // looks at bytes as keys, nonces and tags

use std::marker::PhantomData;

use super::fenced::{Fenced, Place};
use palladion::batch::{self, BatchError, Decryption, Encryption, PacketLayout};
use palladion::family::Family;
use palladion::{Aegis, Decryptor, Encryptor, Error, KeyStream, Mac, Tag, hazmat};
use palladion_reference as reference;

/// Bytes as a key. They are not copied: `lengths.rs` places them right before a fence.
fn key<F: Family>(bytes: &[u8]) -> &F::Key {
    assert_eq!((bytes.len(), align_of::<F::Key>()), (size_of::<F::Key>(), 1));
    // SAFETY: a key is an array of bytes (`repr(transparent)`), and these have its length.
    unsafe { &*bytes.as_ptr().cast() }
}

/// Bytes as a nonce, not copied.
fn nonce<F: Family>(bytes: &[u8]) -> &F::Nonce {
    assert_eq!((bytes.len(), align_of::<F::Nonce>()), (size_of::<F::Nonce>(), 1));
    // SAFETY: a nonce is an array of bytes (`repr(transparent)`), and these have its length.
    unsafe { &*bytes.as_ptr().cast() }
}

/// Bytes as a tag, copied only if they are not aligned. Miri does not believe addresses.
fn tag<'a, const T: usize>(bytes: &'a [u8], copy: &'a mut Option<Tag<T>>) -> &'a Tag<T> {
    let aligned = !cfg!(miri) && bytes.as_ptr().addr().is_multiple_of(align_of::<Tag<T>>());
    if bytes.len() == T && aligned {
        // SAFETY: a tag is an array of `T` bytes (`repr(C)`), and so are these, which are aligned.
        unsafe { &*bytes.as_ptr().cast() }
    } else {
        copy.insert(bytes.try_into().unwrap())
    }
}

/// A variant of the cipher.
pub trait Variant {
    /// The same variant of the reference, which knows its numbers.
    fn reference(&self) -> reference::Aegis;
    /// The cipher with tags of 16 or 32 bytes.
    fn cipher(&self, tag_len: usize, key: &[u8]) -> Box<dyn Cipher>;
    /// The same, with the object in some memory.
    fn cipher_in<'a>(
        &self,
        tag_len: usize,
        key: &[u8],
        memory: &'a mut Fenced,
        place: Place,
    ) -> &'a dyn Cipher;
    fn session(&self, key: &[u8], nonce: &[u8], ad: &[u8]) -> Result<Box<dyn Session>, Error>;
    fn session_from_bytes(&self, bytes: &[u8]) -> Result<Box<dyn Session>, Error>;
    fn session_len(&self) -> usize;
    fn key_stream(&self, key: &[u8], nonce: &[u8]) -> Result<Box<dyn Streaming>, Error>;
    fn fill(&self, key: &[u8], nonce: &[u8], out: &mut [u8]) -> Result<(), Error>;
}

/// The [`Variant`] of a family and a degree, or a MAC or a batch with tags of a length.
pub struct Of<F: Family, const D: usize, const T: usize = 0>(PhantomData<F>);

impl<F: Family, const D: usize, const T: usize> Of<F, D, T> {
    pub const NEW: Self = Self(PhantomData);
}

impl<F: Family, const D: usize> Variant for Of<F, D> {
    fn reference(&self) -> reference::Aegis {
        super::reference::<F, D>()
    }

    fn cipher(&self, tag_len: usize, k: &[u8]) -> Box<dyn Cipher> {
        match tag_len {
            16 => Box::new(Aegis::<F, D, 16>::new(key::<F>(k))),
            _ => Box::new(Aegis::<F, D, 32>::new(key::<F>(k))),
        }
    }

    fn cipher_in<'a>(
        &self,
        tag_len: usize,
        k: &[u8],
        memory: &'a mut Fenced,
        place: Place,
    ) -> &'a dyn Cipher {
        match tag_len {
            16 => memory.value(Aegis::<F, D, 16>::new(key::<F>(k)), place),
            _ => memory.value(Aegis::<F, D, 32>::new(key::<F>(k)), place),
        }
    }

    fn session(&self, k: &[u8], n: &[u8], ad: &[u8]) -> Result<Box<dyn Session>, Error> {
        let (key, nonce) = (key::<F>(k), nonce::<F>(n));
        Ok(Box::new(hazmat::Session::<F, D>::new(key, nonce, ad)?))
    }

    fn session_from_bytes(&self, bytes: &[u8]) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(hazmat::Session::<F, D>::from_bytes(bytes)?))
    }

    fn session_len(&self) -> usize {
        hazmat::Session::<F, D>::BYTES
    }

    fn key_stream(&self, k: &[u8], n: &[u8]) -> Result<Box<dyn Streaming>, Error> {
        Ok(Box::new(KeyStream::<F, D>::new(key::<F>(k), nonce::<F>(n))?))
    }

    fn fill(&self, k: &[u8], n: &[u8], out: &mut [u8]) -> Result<(), Error> {
        KeyStream::<F, D>::fill(key::<F>(k), nonce::<F>(n), out)
    }
}

/// A cipher with its key: [`Aegis`].
pub trait Cipher {
    fn tag_len(&self) -> usize;
    fn encrypt_in_place(&self, nonce: &[u8], ad: &[u8], buf: &mut [u8]) -> Result<Vec<u8>, Error>;
    fn encrypt_into(
        &self,
        nonce: &[u8],
        ad: &[u8],
        msg: &[u8],
        ct: &mut [u8],
    ) -> Result<Vec<u8>, Error>;
    fn decrypt_in_place(
        &self,
        nonce: &[u8],
        ad: &[u8],
        buf: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Error>;
    fn decrypt_into(
        &self,
        nonce: &[u8],
        ad: &[u8],
        ct: &[u8],
        tag: &[u8],
        msg: &mut [u8],
    ) -> Result<(), Error>;
    fn verify(&self, nonce: &[u8], ad: &[u8], ct: &[u8], tag: &[u8]) -> Result<(), Error>;
    fn seal(&self, nonce: &[u8], ad: &[u8], msg: &[u8]) -> Result<Vec<u8>, Error>;
    fn seal_in_place(&self, nonce: &[u8], ad: &[u8], buf: &mut [u8]) -> Result<(), Error>;
    fn seal_into(
        &self,
        nonce: &[u8],
        ad: &[u8],
        msg: &[u8],
        sealed: &mut [u8],
    ) -> Result<(), Error>;
    fn open(&self, nonce: &[u8], ad: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Error>;
    fn open_in_place<'a>(
        &self,
        nonce: &[u8],
        ad: &[u8],
        buf: &'a mut [u8],
    ) -> Result<&'a mut [u8], Error>;
    fn open_into(
        &self,
        nonce: &[u8],
        ad: &[u8],
        sealed: &[u8],
        msg: &mut [u8],
    ) -> Result<(), Error>;
    fn open_with_nonce(&self, ad: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Error>;
    fn encrypt_unauthenticated(&self, nonce: &[u8], buf: &mut [u8]) -> Result<(), Error>;
    fn decrypt_unauthenticated(&self, nonce: &[u8], buf: &mut [u8]) -> Result<(), Error>;
    fn encryptor(&self, nonce: &[u8], ad: &[u8]) -> Result<Box<dyn Encrypting>, Error>;
    fn decryptor<'a>(
        &self,
        nonce: &[u8],
        ad: &[u8],
        output: &'a mut [u8],
    ) -> Result<Box<dyn Decrypting<'a> + 'a>, Error>;
}

/// An [`Encryptor`].
pub trait Encrypting {
    fn update_in_place(&mut self, buf: &mut [u8]) -> Result<(), Error>;
    fn update_into(&mut self, msg: &[u8], ct: &mut [u8]) -> Result<(), Error>;
    fn finalize(self: Box<Self>) -> Vec<u8>;
}

/// A [`Decryptor`].
pub trait Decrypting<'a> {
    fn update(&mut self, ct: &[u8]) -> Result<(), Error>;
    fn finalize(self: Box<Self>, tag: &[u8]) -> Result<&'a mut [u8], Error>;
}

fn bytes<const T: usize>(tag: Tag<T>) -> Vec<u8> {
    tag.as_ref().to_vec()
}

impl<F: Family, const D: usize, const T: usize> Cipher for Aegis<F, D, T> {
    fn tag_len(&self) -> usize {
        T
    }

    fn encrypt_in_place(&self, n: &[u8], ad: &[u8], buf: &mut [u8]) -> Result<Vec<u8>, Error> {
        self.encrypt_in_place(nonce::<F>(n), ad, buf).map(bytes)
    }

    fn encrypt_into(
        &self,
        n: &[u8],
        ad: &[u8],
        msg: &[u8],
        ct: &mut [u8],
    ) -> Result<Vec<u8>, Error> {
        self.encrypt_into(nonce::<F>(n), ad, msg, ct).map(bytes)
    }

    fn decrypt_in_place(&self, n: &[u8], ad: &[u8], buf: &mut [u8], t: &[u8]) -> Result<(), Error> {
        self.decrypt_in_place(nonce::<F>(n), ad, buf, tag::<T>(t, &mut None))
    }

    fn decrypt_into(
        &self,
        n: &[u8],
        ad: &[u8],
        ct: &[u8],
        t: &[u8],
        msg: &mut [u8],
    ) -> Result<(), Error> {
        self.decrypt_into(nonce::<F>(n), ad, ct, tag::<T>(t, &mut None), msg)
    }

    fn verify(&self, n: &[u8], ad: &[u8], ct: &[u8], t: &[u8]) -> Result<(), Error> {
        self.verify(nonce::<F>(n), ad, ct, tag::<T>(t, &mut None))
    }

    fn seal(&self, n: &[u8], ad: &[u8], msg: &[u8]) -> Result<Vec<u8>, Error> {
        self.seal(nonce::<F>(n), ad, msg)
    }

    fn seal_in_place(&self, n: &[u8], ad: &[u8], buf: &mut [u8]) -> Result<(), Error> {
        self.seal_in_place(nonce::<F>(n), ad, buf)
    }

    fn seal_into(&self, n: &[u8], ad: &[u8], msg: &[u8], sealed: &mut [u8]) -> Result<(), Error> {
        self.seal_into(nonce::<F>(n), ad, msg, sealed)
    }

    fn open(&self, n: &[u8], ad: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Error> {
        self.open(nonce::<F>(n), ad, sealed)
    }

    fn open_in_place<'a>(
        &self,
        n: &[u8],
        ad: &[u8],
        buf: &'a mut [u8],
    ) -> Result<&'a mut [u8], Error> {
        self.open_in_place(nonce::<F>(n), ad, buf)
    }

    fn open_into(&self, n: &[u8], ad: &[u8], sealed: &[u8], msg: &mut [u8]) -> Result<(), Error> {
        self.open_into(nonce::<F>(n), ad, sealed, msg)
    }

    fn open_with_nonce(&self, ad: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Error> {
        self.open_with_nonce(ad, sealed)
    }

    fn encrypt_unauthenticated(&self, n: &[u8], buf: &mut [u8]) -> Result<(), Error> {
        hazmat::encrypt_unauthenticated(self, nonce::<F>(n), buf)
    }

    fn decrypt_unauthenticated(&self, n: &[u8], buf: &mut [u8]) -> Result<(), Error> {
        hazmat::decrypt_unauthenticated(self, nonce::<F>(n), buf)
    }

    fn encryptor(&self, n: &[u8], ad: &[u8]) -> Result<Box<dyn Encrypting>, Error> {
        Ok(Box::new(self.encryptor(nonce::<F>(n), ad)?))
    }

    fn decryptor<'a>(
        &self,
        n: &[u8],
        ad: &[u8],
        output: &'a mut [u8],
    ) -> Result<Box<dyn Decrypting<'a> + 'a>, Error> {
        Ok(Box::new(self.decryptor(nonce::<F>(n), ad, output)?))
    }
}

impl<F: Family, const D: usize, const T: usize> Encrypting for Encryptor<F, D, T> {
    fn update_in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.update_in_place(buf)
    }

    fn update_into(&mut self, msg: &[u8], ct: &mut [u8]) -> Result<(), Error> {
        self.update_into(msg, ct)
    }

    fn finalize(self: Box<Self>) -> Vec<u8> {
        bytes((*self).finalize())
    }
}

impl<'a, F: Family, const D: usize, const T: usize> Decrypting<'a> for Decryptor<'a, F, D, T> {
    fn update(&mut self, ct: &[u8]) -> Result<(), Error> {
        self.update(ct)
    }

    fn finalize(self: Box<Self>, t: &[u8]) -> Result<&'a mut [u8], Error> {
        (*self).finalize(tag::<T>(t, &mut None))
    }
}

/// A MAC: [`Mac`].
pub trait Authenticator {
    /// The variant of the reference.
    fn reference(&self) -> reference::Aegis;
    fn tag_len(&self) -> usize;
    fn mac(&self, key: &[u8], nonce: &[u8], data: &[u8]) -> Result<Vec<u8>, Error>;
    fn verify_mac(&self, key: &[u8], nonce: &[u8], data: &[u8], tag: &[u8]) -> Result<(), Error>;
    fn begin(&self, key: &[u8], nonce: &[u8]) -> Result<Box<dyn Authenticating>, Error>;
    fn session(&self, key: &[u8], nonce: &[u8]) -> Result<Box<dyn MacSession>, Error>;
}

/// A [`Mac`] that has begun.
pub trait Authenticating {
    fn update(&mut self, data: &[u8]) -> Result<(), Error>;
    fn finalize(self: Box<Self>) -> Vec<u8>;
    fn verify(self: Box<Self>, tag: &[u8]) -> Result<(), Error>;
    fn reset(&mut self);
    fn copy(&self) -> Box<dyn Authenticating>;
}

impl<F: Family, const D: usize, const T: usize> Authenticator for Of<F, D, T> {
    fn reference(&self) -> reference::Aegis {
        super::reference::<F, D>()
    }

    fn tag_len(&self) -> usize {
        T
    }

    fn mac(&self, k: &[u8], n: &[u8], data: &[u8]) -> Result<Vec<u8>, Error> {
        Mac::<F, D, T>::mac(key::<F>(k), nonce::<F>(n), data).map(bytes)
    }

    fn verify_mac(&self, k: &[u8], n: &[u8], data: &[u8], t: &[u8]) -> Result<(), Error> {
        Mac::<F, D, T>::verify_mac(key::<F>(k), nonce::<F>(n), data, tag::<T>(t, &mut None))
    }

    fn begin(&self, k: &[u8], n: &[u8]) -> Result<Box<dyn Authenticating>, Error> {
        Ok(Box::new(Mac::<F, D, T>::new(key::<F>(k), nonce::<F>(n))?))
    }

    fn session(&self, k: &[u8], n: &[u8]) -> Result<Box<dyn MacSession>, Error> {
        let session = hazmat::Session::new(key::<F>(k), nonce::<F>(n), b"")?;
        Ok(Box::new(WithTag::<F, D, T>(session)))
    }
}

impl<F: Family, const D: usize, const T: usize> Authenticating for Mac<F, D, T> {
    fn update(&mut self, data: &[u8]) -> Result<(), Error> {
        self.update(data)
    }

    fn finalize(self: Box<Self>) -> Vec<u8> {
        bytes((*self).finalize())
    }

    fn verify(self: Box<Self>, t: &[u8]) -> Result<(), Error> {
        (*self).verify(tag::<T>(t, &mut None))
    }

    fn reset(&mut self) {
        self.reset();
    }

    fn copy(&self) -> Box<dyn Authenticating> {
        Box::new(self.clone())
    }
}

/// A [`KeyStream`].
pub trait Streaming {
    fn next_bytes(&mut self, out: &mut [u8]) -> Result<(), Error>;
    fn xor(&mut self, buf: &mut [u8]) -> Result<(), Error>;
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize>;
    fn copy(&self) -> Box<dyn Streaming>;
}

impl<F: Family, const D: usize> Streaming for KeyStream<F, D> {
    fn next_bytes(&mut self, out: &mut [u8]) -> Result<(), Error> {
        self.next_bytes(out)
    }

    fn xor(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.xor(buf)
    }

    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        std::io::Read::read(self, out)
    }

    fn copy(&self) -> Box<dyn Streaming> {
        Box::new(self.clone())
    }
}

/// A [`hazmat::Session`].
pub trait Session {
    fn absorb(&mut self, data: &[u8]) -> Result<(), Error>;
    fn encrypt_in_place(&mut self, buf: &mut [u8]) -> Result<(), Error>;
    fn encrypt_into(&mut self, msg: &[u8], ct: &mut [u8]) -> Result<(), Error>;
    fn decrypt_in_place(&mut self, buf: &mut [u8]) -> Result<(), Error>;
    fn decrypt_into(&mut self, ct: &[u8], msg: &mut [u8]) -> Result<(), Error>;
    fn finalize(&mut self, tag_len: usize) -> Result<Vec<u8>, Error>;
    fn verify(&mut self, tag: &[u8]) -> Result<(), Error>;
    fn to_bytes(&self, bytes: &mut [u8]) -> Result<(), Error>;
    fn copy(&self) -> Box<dyn Session>;
}

impl<F: Family, const D: usize> Session for hazmat::Session<F, D> {
    fn absorb(&mut self, data: &[u8]) -> Result<(), Error> {
        self.absorb(data)
    }

    fn encrypt_in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.encrypt_in_place(buf)
    }

    fn encrypt_into(&mut self, msg: &[u8], ct: &mut [u8]) -> Result<(), Error> {
        self.encrypt_into(msg, ct)
    }

    fn decrypt_in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.decrypt_in_place(buf)
    }

    fn decrypt_into(&mut self, ct: &[u8], msg: &mut [u8]) -> Result<(), Error> {
        self.decrypt_into(ct, msg)
    }

    fn finalize(&mut self, tag_len: usize) -> Result<Vec<u8>, Error> {
        match tag_len {
            16 => self.finalize::<16>().map(bytes),
            _ => self.finalize::<32>().map(bytes),
        }
    }

    fn verify(&mut self, t: &[u8]) -> Result<(), Error> {
        match t.len() {
            16 => self.verify(tag::<16>(t, &mut None)),
            _ => self.verify(tag::<32>(t, &mut None)),
        }
    }

    fn to_bytes(&self, bytes: &mut [u8]) -> Result<(), Error> {
        self.to_bytes(bytes)
    }

    fn copy(&self) -> Box<dyn Session> {
        Box::new(self.clone())
    }
}

/// A [`hazmat::Session`] that computes a MAC.
pub trait MacSession {
    fn absorb(&mut self, data: &[u8]) -> Result<(), Error>;
    fn finalize_mac(&mut self) -> Result<Vec<u8>, Error>;
    fn verify_mac(&mut self, tag: &[u8]) -> Result<(), Error>;
    fn copy(&self) -> Box<dyn MacSession>;
}

struct WithTag<F: Family, const D: usize, const T: usize>(hazmat::Session<F, D>);

impl<F: Family, const D: usize, const T: usize> MacSession for WithTag<F, D, T> {
    fn absorb(&mut self, data: &[u8]) -> Result<(), Error> {
        self.0.absorb(data)
    }

    fn finalize_mac(&mut self) -> Result<Vec<u8>, Error> {
        let mut tag = [0; T];
        self.0.finalize_mac(&mut tag)?;
        Ok(tag.to_vec())
    }

    fn verify_mac(&mut self, t: &[u8]) -> Result<(), Error> {
        self.0.verify_mac(tag::<T>(t, &mut None))
    }

    fn copy(&self) -> Box<dyn MacSession> {
        Box::new(WithTag::<F, D, T>(self.0.clone()))
    }
}

/// Functions of [`batch`].
pub trait Batch {
    /// The variant of the reference.
    fn reference(&self) -> reference::Aegis;
    fn tag_len(&self) -> usize;
    fn cipher(&self, key: &[u8]) -> Box<dyn Cipher>;
    fn encrypt(&self, jobs: &mut [Job<'_>]) -> Result<(), BatchError>;
    fn decrypt(&self, jobs: &mut [Job<'_>]) -> Result<(), BatchError>;
    /// The key and the initial nonce come first.
    fn seal_packets(
        &self,
        key_and_iv: [&[u8]; 2],
        first: u64,
        buf: &mut [u8],
        layout: PacketLayout,
    ) -> Result<(), Error>;
    fn open_packets(
        &self,
        key_and_iv: [&[u8]; 2],
        first: u64,
        buf: &mut [u8],
        layout: PacketLayout,
        forged: &mut dyn FnMut(usize),
    ) -> Result<(), Error>;
}

/// The constructor of each job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum How {
    /// `encrypt_in_place` or `decrypt_in_place`.
    InPlace,
    /// `encrypt_into` or `decrypt_into`.
    Into,
    /// `seal_in_place` or `open_in_place`.
    SealedInPlace,
    /// `seal_into` or `open_into`.
    Sealed,
}

/// A job. All jobs with the same key share one cipher.
pub struct Job<'a> {
    pub how: How,
    pub key: &'a [u8],
    pub nonce: &'a [u8],
    pub ad: &'a [u8],
    /// The message or the ciphertext, if it is not in place.
    pub source: &'a [u8],
    /// The message's or the ciphertext's buffer.
    pub target: &'a mut [u8],
    /// The tag, if it is not in a buffer.
    pub tag: Vec<u8>,
    /// What became of the job: of a good one, a copy of its output.
    pub output: Result<Vec<u8>, Error>,
}

impl<'a> Job<'a> {
    pub fn new(
        how: How,
        inputs: [&'a [u8]; 3],
        source: &'a [u8],
        target: &'a mut [u8],
        tag: &[u8],
    ) -> Self {
        let [key, nonce, ad] = inputs;
        Job { how, key, nonce, ad, source, target, tag: tag.to_vec(), output: Ok(Vec::new()) }
    }
}

/// Returns the cipher of each job's key, and for each job which of them is its own.
fn ciphers<F: Family, const D: usize, const T: usize>(
    jobs: &[Job<'_>],
) -> (Vec<Aegis<F, D, T>>, Vec<usize>) {
    let mut keys: Vec<&[u8]> = Vec::new();
    let mut which = Vec::new();
    for job in jobs {
        which.push(keys.iter().position(|key| *key == job.key).unwrap_or(keys.len()));
        if which.last() == Some(&keys.len()) {
            keys.push(job.key);
        }
    }
    (keys.iter().map(|bytes| Aegis::new(key::<F>(bytes))).collect(), which)
}

impl<F: Family, const D: usize, const T: usize> Batch for Of<F, D, T> {
    fn reference(&self) -> reference::Aegis {
        super::reference::<F, D>()
    }

    fn tag_len(&self) -> usize {
        T
    }

    fn cipher(&self, k: &[u8]) -> Box<dyn Cipher> {
        Box::new(Aegis::<F, D, T>::new(key::<F>(k)))
    }

    fn encrypt(&self, jobs: &mut [Job<'_>]) -> Result<(), BatchError> {
        let (ciphers, which) = ciphers::<F, D, T>(jobs);
        let mut tags = vec![Tag::from([0; T]); jobs.len()];
        let each = jobs.iter_mut().zip(which).zip(&mut tags);
        let result = batch::encrypt(each.map(|((job, which), tag)| {
            let (cipher, ad, msg, buf) = (&ciphers[which], job.ad, job.source, &mut *job.target);
            let nonce = nonce::<F>(job.nonce);
            match job.how {
                How::InPlace => Encryption::encrypt_in_place(cipher, nonce, ad, buf, tag),
                How::Into => Encryption::encrypt_into(cipher, nonce, ad, msg, buf, tag),
                How::SealedInPlace => Encryption::seal_in_place(cipher, nonce, ad, buf),
                How::Sealed => Encryption::seal_into(cipher, nonce, ad, msg, buf),
            }
        }));
        for (job, tag) in jobs.iter_mut().zip(tags) {
            let end = match job.how {
                How::InPlace | How::Into => job.target.len(),
                _ => job.target.len() - T,
            };
            let (ct, behind) = job.target.split_at(end);
            job.tag = if behind.is_empty() { bytes(tag) } else { behind.to_vec() };
            job.output = Ok(ct.to_vec());
        }
        result
    }

    fn decrypt(&self, jobs: &mut [Job<'_>]) -> Result<(), BatchError> {
        let (ciphers, which) = ciphers::<F, D, T>(jobs);
        let mut copies = vec![None; jobs.len()];
        let mut failures = Vec::new();
        let each = jobs.iter_mut().zip(which).zip(&mut copies);
        let each = each.map(|((job, which), copy)| {
            let (cipher, ad, ct, buf) = (&ciphers[which], job.ad, job.source, &mut *job.target);
            let (nonce, t) = (nonce::<F>(job.nonce), &job.tag[..]);
            match job.how {
                How::InPlace => {
                    Decryption::decrypt_in_place(cipher, nonce, ad, buf, tag::<T>(t, copy))
                }
                How::Into => {
                    Decryption::decrypt_into(cipher, nonce, ad, ct, tag::<T>(t, copy), buf)
                }
                How::SealedInPlace => Decryption::open_in_place(cipher, nonce, ad, buf),
                How::Sealed => Decryption::open_into(cipher, nonce, ad, ct, buf),
            }
        });
        let result = batch::decrypt(each, |place, error| failures.push((place, error)));
        assert!(failures.is_sorted_by_key(|(place, _)| *place));
        let summary = result.map_err(|e| (e.failed, e.first, e.error));
        let first = failures.first().map(|(place, error)| (failures.len(), *place, *error));
        assert_eq!(summary, first.map_or(Ok(()), Err));
        for job in &mut *jobs {
            let len = job.target.len() - if job.how == How::SealedInPlace { T } else { 0 };
            job.output = Ok(job.target[..len].to_vec());
        }
        for (place, error) in failures {
            jobs[place].output = Err(error);
        }
        result
    }

    fn seal_packets(
        &self,
        [k, iv]: [&[u8]; 2],
        first: u64,
        buf: &mut [u8],
        layout: PacketLayout,
    ) -> Result<(), Error> {
        let cipher = Aegis::<F, D, T>::new(key::<F>(k));
        batch::seal_packets(&cipher, nonce::<F>(iv), first, buf, layout)
    }

    fn open_packets(
        &self,
        [k, iv]: [&[u8]; 2],
        first: u64,
        buf: &mut [u8],
        layout: PacketLayout,
        forged: &mut dyn FnMut(usize),
    ) -> Result<(), Error> {
        let cipher = Aegis::<F, D, T>::new(key::<F>(k));
        batch::open_packets(&cipher, nonce::<F>(iv), first, buf, layout, forged)
    }
}
