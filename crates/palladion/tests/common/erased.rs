//! Variants without their types. A test of what all variants have in common takes one of these, and
//! is compiled once; generic over the type, it would be compiled for each of two dozen variants,
//! which takes most of a minute.
//!
//! Each method calls the library's method of that name. Keys, nonces and tags are bytes here.

use std::marker::PhantomData;

use super::{key, nonce};
use palladion::family::Family;
use palladion::{Aegis, Decryptor, Encryptor, Error, KeyStream, Mac, Tag};

fn tag<const T: usize>(bytes: &[u8]) -> Tag<T> {
    Tag::try_from(bytes).unwrap()
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
    fn finalize(self: Box<Self>) -> Vec<u8>;
}

/// A [`Decryptor`].
pub trait Decrypting<'a> {
    fn update(&mut self, ct: &[u8]) -> Result<(), Error>;
    fn finalize(self: Box<Self>, tag: &[u8]) -> Result<&'a mut [u8], Error>;
}

/// The cipher of a variant with this key.
pub fn cipher<F: Family, const D: usize, const T: usize>(bytes: &[u8]) -> Box<dyn Cipher> {
    Box::new(Aegis::<F, D, T>::new(&key::<F>(bytes)))
}

fn bytes<const T: usize>(tag: Tag<T>) -> Vec<u8> {
    tag.as_ref().to_vec()
}

impl<F: Family, const D: usize, const T: usize> Cipher for Aegis<F, D, T> {
    fn tag_len(&self) -> usize {
        T
    }

    fn encrypt_in_place(&self, n: &[u8], ad: &[u8], buf: &mut [u8]) -> Result<Vec<u8>, Error> {
        self.encrypt_in_place(&nonce::<F>(n), ad, buf).map(bytes)
    }

    fn encrypt_into(
        &self,
        n: &[u8],
        ad: &[u8],
        msg: &[u8],
        ct: &mut [u8],
    ) -> Result<Vec<u8>, Error> {
        self.encrypt_into(&nonce::<F>(n), ad, msg, ct).map(bytes)
    }

    fn decrypt_in_place(&self, n: &[u8], ad: &[u8], buf: &mut [u8], t: &[u8]) -> Result<(), Error> {
        self.decrypt_in_place(&nonce::<F>(n), ad, buf, &tag(t))
    }

    fn decrypt_into(
        &self,
        n: &[u8],
        ad: &[u8],
        ct: &[u8],
        t: &[u8],
        msg: &mut [u8],
    ) -> Result<(), Error> {
        self.decrypt_into(&nonce::<F>(n), ad, ct, &tag(t), msg)
    }

    fn verify(&self, n: &[u8], ad: &[u8], ct: &[u8], t: &[u8]) -> Result<(), Error> {
        self.verify(&nonce::<F>(n), ad, ct, &tag(t))
    }

    fn seal(&self, n: &[u8], ad: &[u8], msg: &[u8]) -> Result<Vec<u8>, Error> {
        self.seal(&nonce::<F>(n), ad, msg)
    }

    fn seal_in_place(&self, n: &[u8], ad: &[u8], buf: &mut [u8]) -> Result<(), Error> {
        self.seal_in_place(&nonce::<F>(n), ad, buf)
    }

    fn seal_into(&self, n: &[u8], ad: &[u8], msg: &[u8], sealed: &mut [u8]) -> Result<(), Error> {
        self.seal_into(&nonce::<F>(n), ad, msg, sealed)
    }

    fn open(&self, n: &[u8], ad: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Error> {
        self.open(&nonce::<F>(n), ad, sealed)
    }

    fn open_in_place<'a>(
        &self,
        n: &[u8],
        ad: &[u8],
        buf: &'a mut [u8],
    ) -> Result<&'a mut [u8], Error> {
        self.open_in_place(&nonce::<F>(n), ad, buf)
    }

    fn open_into(&self, n: &[u8], ad: &[u8], sealed: &[u8], msg: &mut [u8]) -> Result<(), Error> {
        self.open_into(&nonce::<F>(n), ad, sealed, msg)
    }

    fn encryptor(&self, n: &[u8], ad: &[u8]) -> Result<Box<dyn Encrypting>, Error> {
        Ok(Box::new(self.encryptor(&nonce::<F>(n), ad)?))
    }

    fn decryptor<'a>(
        &self,
        n: &[u8],
        ad: &[u8],
        output: &'a mut [u8],
    ) -> Result<Box<dyn Decrypting<'a> + 'a>, Error> {
        Ok(Box::new(self.decryptor(&nonce::<F>(n), ad, output)?))
    }
}

impl<F: Family, const D: usize, const T: usize> Encrypting for Encryptor<F, D, T> {
    fn update_in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.update_in_place(buf)
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
        (*self).finalize(&tag(t))
    }
}

/// A MAC: [`Mac`].
pub trait Authenticator {
    fn tag_len(&self) -> usize;
    fn mac(&self, key: &[u8], nonce: &[u8], data: &[u8]) -> Result<Vec<u8>, Error>;
    fn verify_mac(&self, key: &[u8], nonce: &[u8], data: &[u8], tag: &[u8]) -> Result<(), Error>;
    fn begin(&self, key: &[u8], nonce: &[u8]) -> Result<Box<dyn Authenticating>, Error>;
}

/// A [`Mac`] that has begun.
pub trait Authenticating {
    fn update(&mut self, data: &[u8]) -> Result<(), Error>;
    fn finalize(self: Box<Self>) -> Vec<u8>;
    fn verify(self: Box<Self>, tag: &[u8]) -> Result<(), Error>;
    fn reset(&mut self);
    fn clone(&self) -> Box<dyn Authenticating>;
}

struct Of<F: Family, const D: usize, const T: usize>(PhantomData<F>);

/// The MAC of a variant.
pub fn authenticator<F: Family, const D: usize, const T: usize>() -> Box<dyn Authenticator> {
    Box::new(Of::<F, D, T>(PhantomData))
}

impl<F: Family, const D: usize, const T: usize> Authenticator for Of<F, D, T> {
    fn tag_len(&self) -> usize {
        T
    }

    fn mac(&self, k: &[u8], n: &[u8], data: &[u8]) -> Result<Vec<u8>, Error> {
        Mac::<F, D, T>::mac(&key::<F>(k), &nonce::<F>(n), data).map(bytes)
    }

    fn verify_mac(&self, k: &[u8], n: &[u8], data: &[u8], t: &[u8]) -> Result<(), Error> {
        Mac::<F, D, T>::verify_mac(&key::<F>(k), &nonce::<F>(n), data, &tag(t))
    }

    fn begin(&self, k: &[u8], n: &[u8]) -> Result<Box<dyn Authenticating>, Error> {
        Ok(Box::new(Mac::<F, D, T>::new(&key::<F>(k), &nonce::<F>(n))?))
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
        (*self).verify(&tag(t))
    }

    fn reset(&mut self) {
        self.reset();
    }

    fn clone(&self) -> Box<dyn Authenticating> {
        Box::new(Clone::clone(self))
    }
}
