//! Messages and MACs in one call. A call wipes the key in the scratch memory. JavaScript wipes a
//! decrypted plaintext after reading it.

use palladion::Algorithm;
use palladion::any::{Cipher, Mac};

use crate::failure::Failure;
use crate::memory::{Scratch, answer, scratch};

pub(crate) fn algorithm(id: u32) -> Result<Algorithm, Failure> {
    u8::try_from(id).ok().and_then(Algorithm::from_id).ok_or(Failure::UnknownAlgorithm(id))
}

/// Views a tag of 16 or 32 bytes in the scratch memory.
pub(crate) fn tag(tag: &mut [u8; 32], len: usize) -> Result<&mut [u8], Failure> {
    let wrong = palladion::Error::UnknownTagLength { actual: len };
    tag.get_mut(..len).ok_or(Failure::Cipher(wrong))
}

fn crypt(
    scratch: &mut Scratch,
    id: u32,
    tag_len: usize,
    ad_len: usize,
    len: usize,
    open: bool,
) -> Result<u32, Failure> {
    let key = scratch.take_key();
    let algorithm = algorithm(id)?;
    let cipher = Cipher::new(algorithm, &key[..algorithm.key_len()], tag_len)?;
    let nonce = &scratch.nonce[..algorithm.key_len()];
    let (ad, data) = scratch.data[..ad_len + len].split_at_mut(ad_len);
    let tag = tag(&mut scratch.tag, tag_len)?;
    if open {
        cipher.decrypt_in_place(nonce, ad, data, tag)?
    } else {
        cipher.encrypt_in_place(nonce, ad, data, tag)?
    }
    Ok(0)
}

/// Encrypts the `len` bytes of data that follow `ad_len` bytes of associated data, and writes the
/// tag.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_encrypt(id: u32, tag_len: usize, ad_len: usize, len: usize) -> u32 {
    // SAFETY: the contract of the crate.
    let scratch = unsafe { scratch() };
    let result = crypt(scratch, id, tag_len, ad_len, len, false);
    answer(&mut scratch.text, result)
}

/// Decrypts the `len` bytes of data that follow `ad_len` bytes of associated data. Zeroes them if
/// the tag is wrong.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_decrypt(id: u32, tag_len: usize, ad_len: usize, len: usize) -> u32 {
    // SAFETY: the contract of the crate.
    let scratch = unsafe { scratch() };
    let result = crypt(scratch, id, tag_len, ad_len, len, true);
    answer(&mut scratch.text, result)
}

fn mac(
    scratch: &mut Scratch,
    id: u32,
    tag_len: usize,
    len: usize,
    verify: bool,
) -> Result<u32, Failure> {
    let key = scratch.take_key();
    let algorithm = algorithm(id)?;
    let key_len = algorithm.key_len();
    let mut mac = Mac::new(algorithm, &key[..key_len], &scratch.nonce[..key_len])?;
    mac.update(&scratch.data[..len])?;
    let tag = tag(&mut scratch.tag, tag_len)?;
    if verify {
        mac.verify(tag)?
    } else {
        mac.finalize(tag)?
    }
    Ok(0)
}

/// Writes the MAC of `len` bytes of data.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_mac(id: u32, tag_len: usize, len: usize) -> u32 {
    // SAFETY: the contract of the crate.
    let scratch = unsafe { scratch() };
    let result = mac(scratch, id, tag_len, len, false);
    answer(&mut scratch.text, result)
}

/// Compares the MAC of `len` bytes of data with the tag.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_mac_verify(id: u32, tag_len: usize, len: usize) -> u32 {
    // SAFETY: the contract of the crate.
    let scratch = unsafe { scratch() };
    let result = mac(scratch, id, tag_len, len, true);
    answer(&mut scratch.text, result)
}
