//! Messages and MACs in one call. A call wipes the key in the scratch memory. JavaScript wipes a
//! decrypted plaintext after reading it.

use palladion::Algorithm;
use palladion::any::{Cipher, Mac};

use crate::failure::Failure;
use crate::memory::{Objects, Scratch, first, wipe};

pub(crate) fn algorithm(id: u32) -> Result<Algorithm, Failure> {
    u8::try_from(id).ok().and_then(Algorithm::from_id).ok_or(Failure::UnknownAlgorithm(id))
}

/// Views a tag of 16 or 32 bytes in the scratch memory.
pub(crate) fn tag(tag: &mut [u8; 32], len: u32) -> Result<&mut [u8], Failure> {
    let wrong = palladion::Error::UnknownTagLength { actual: len as usize };
    tag.get_mut(..len as usize).ok_or(Failure::Cipher(wrong))
}

fn crypt(
    scratch: &mut Scratch,
    [id, tag_len, ad_len, len]: [u32; 4],
    open: bool,
) -> Result<u32, Failure> {
    let key = scratch.take_key();
    let algorithm = algorithm(id)?;
    let cipher = Cipher::new(algorithm, &key[..algorithm.key_len()], tag_len as usize)?;
    let nonce = &scratch.nonce[..algorithm.key_len()];
    let all = first(&mut scratch.data, ad_len.checked_add(len).ok_or(Failure::Argument)?)?;
    let (ad, data) = all.split_at_mut(ad_len as usize);
    let tag = tag(&mut scratch.tag, tag_len)?;
    if open {
        cipher.decrypt_in_place(nonce, ad, data, tag)?
    } else {
        cipher.encrypt_in_place(nonce, ad, data, tag)?
    }
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

/// Returns the MAC of `len` bytes of data, which are wiped.
fn begin(scratch: &mut Scratch, id: u32, len: u32) -> Result<Mac, Failure> {
    let key = scratch.take_key();
    let algorithm = algorithm(id)?;
    let key_len = algorithm.key_len();
    let mut mac = Mac::new(algorithm, &key[..key_len], &scratch.nonce[..key_len])?;
    let data = first(&mut scratch.data, len)?;
    mac.update(data)?;
    wipe(data);
    Ok(mac)
}

pub(crate) fn mac(
    scratch: &mut Scratch,
    _: &mut Objects,
    [id, tag_len, len]: [u32; 3],
) -> Result<u32, Failure> {
    begin(scratch, id, len)?.finalize(tag(&mut scratch.tag, tag_len)?)?;
    Ok(0)
}

pub(crate) fn mac_verify(
    scratch: &mut Scratch,
    _: &mut Objects,
    [id, tag_len, len]: [u32; 3],
) -> Result<u32, Failure> {
    begin(scratch, id, len)?.verify(tag(&mut scratch.tag, tag_len)?)?;
    Ok(0)
}
