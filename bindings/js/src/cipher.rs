//! Messages and MACs in one call. A call wipes the key in the scratch memory. JavaScript wipes a
//! decrypted plaintext after reading it.

use palladion::family::Family;
use palladion::hazmat::{Message, open_any, seal_any};
use palladion::{Algorithm, Error, Mac, Tag, with_algorithm};

use crate::failure::Failure;
use crate::memory::{Key, Scratch, first, wipe};
use crate::objects::Objects;

pub(crate) fn algorithm(id: u32) -> Result<Algorithm, Failure> {
    u8::try_from(id).ok().and_then(Algorithm::from_id).ok_or(Failure::UnknownAlgorithm(id))
}

/// Views a tag of 16 or 32 bytes in the scratch memory.
pub(crate) fn tag(tag: &mut [u8; 32], len: u32) -> Result<&mut [u8], Failure> {
    let wrong = palladion::Error::UnknownTagLength { actual: len as usize };
    tag.get_mut(..len as usize).ok_or(Failure::Cipher(wrong))
}

#[allow(unsafe_code)] // `any::Cipher` would copy the key and wipe its copy
fn crypt(
    scratch: &mut Scratch,
    [id, tag_len, ad_len, len]: [u32; 4],
    open: bool,
) -> Result<u32, Failure> {
    let key = Key(&mut scratch.key);
    let algorithm = algorithm(id)?;
    let Some((ad, rest)) = scratch.data.split_at_mut_checked(ad_len as usize) else {
        return Err(Failure::Argument);
    };
    let Some((data, rest)) = rest.split_at_mut_checked(len as usize) else {
        return Err(Failure::Argument);
    };
    let tag = first(rest, tag_len)?;
    let message = Message {
        key: key.as_ptr(),
        nonce: scratch.nonce.as_ptr(),
        ad: ad.as_ptr(),
        ad_len: ad.len(),
        src: data.as_ptr(),
        dst: data.as_mut_ptr(),
        len: data.len(),
        tag: tag.as_mut_ptr(),
        tag_len: tag.len(),
    };
    // SAFETY: key and nonce have 32 bytes, which suffice for each algorithm. The other pointers are
    // those of slices with the lengths beside them.
    unsafe { if open { open_any(algorithm, &message)? } else { seal_any(algorithm, &message)? } }
    Ok(0)
}

pub(crate) fn encrypt(
    scratch: &mut Scratch,
    _: &mut Objects,
    numbers: [u32; 4],
) -> Result<u32, Failure> {
    crypt(scratch, numbers, false)
}

pub(crate) fn decrypt(
    scratch: &mut Scratch,
    _: &mut Objects,
    numbers: [u32; 4],
) -> Result<u32, Failure> {
    crypt(scratch, numbers, true)
}

/// Computes the MAC of data, or compares it with `tag`.
fn one_mac<F: Family, const D: usize>(
    [key, nonce, data]: [&[u8]; 3],
    tag: &mut [u8],
    verify: bool,
) -> Result<(), Error> {
    fn with<F: Family, const D: usize, const T: usize>(
        key: &F::Key,
        nonce: &F::Nonce,
        data: &[u8],
        tag: &mut [u8; T],
        verify: bool,
    ) -> Result<(), Error> {
        if verify {
            return Mac::<F, D, T>::verify_mac(key, nonce, data, &Tag::from(*tag));
        }
        *tag = *Mac::<F, D, T>::mac(key, nonce, data)?.as_bytes();
        Ok(())
    }
    let (key, nonce) = (F::Key::try_from(key)?, F::Nonce::try_from(nonce)?);
    if let Ok(tag) = (&mut *tag).try_into() {
        return with::<F, D, 16>(&key, &nonce, data, tag, verify);
    }
    let actual = tag.len();
    let tag = tag.try_into().map_err(|_| Error::UnknownTagLength { actual })?;
    with::<F, D, 32>(&key, &nonce, data, tag, verify)
}

/// Computes or compares the MAC of `len` bytes of data, which are wiped.
fn authenticate(
    scratch: &mut Scratch,
    [id, tag_len, len]: [u32; 3],
    verify: bool,
) -> Result<u32, Failure> {
    let key = Key(&mut scratch.key);
    let algorithm = algorithm(id)?;
    let tag = tag(&mut scratch.tag, tag_len)?;
    let data = first(&mut scratch.data, len)?;
    let key_len = algorithm.key_len();
    let inputs = [&key[..key_len], &scratch.nonce[..key_len], &*data];
    let result = with_algorithm!(algorithm, one_mac(inputs, tag, verify));
    wipe(data);
    result?;
    Ok(0)
}

pub(crate) fn mac(
    scratch: &mut Scratch,
    _: &mut Objects,
    numbers: [u32; 3],
) -> Result<u32, Failure> {
    authenticate(scratch, numbers, false)
}

pub(crate) fn mac_verify(
    scratch: &mut Scratch,
    _: &mut Objects,
    numbers: [u32; 3],
) -> Result<u32, Failure> {
    authenticate(scratch, numbers, true)
}
