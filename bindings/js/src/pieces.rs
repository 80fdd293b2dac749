//! Messages and MACs in pieces. Decrypted pieces are unverified; if the tag is wrong, JavaScript
//! zeroes all of them before it returns.

use palladion::any::Mac;
use palladion::hazmat::AnySession;
use palladion_file::MasterKey;
use zeroize::Zeroize;

use crate::cipher::{algorithm, tag};
use crate::failure::Failure;
use crate::memory::{Scratch, answer, borrow, into_handle, scratch, take};

fn begin(scratch: &mut Scratch, id: u32, ad: &[u8]) -> Result<u32, Failure> {
    let key = scratch.take_key();
    let algorithm = algorithm(id)?;
    let key_len = algorithm.key_len();
    Ok(into_handle(AnySession::new(algorithm, &key[..key_len], &scratch.nonce[..key_len], ad)?))
}

/// Starts a message and returns a handle. `ad` is the address of the associated data.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_session_new(id: u32, ad: *const u8, ad_len: usize) -> u32 {
    // SAFETY: by the contract of the crate; JavaScript passes the scratch memory or memory from
    // `pld_alloc`, with its length.
    let (scratch, ad) = unsafe {
        (scratch(), if ad_len == 0 { &[][..] } else { core::slice::from_raw_parts(ad, ad_len) })
    };
    let result = begin(scratch, id, ad);
    answer(&mut scratch.text, result)
}

/// Encrypts the next `len` bytes in the scratch memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_session_encrypt(session: *mut AnySession, len: usize) -> u32 {
    // SAFETY: the contract of the crate.
    let (scratch, session) = unsafe { (scratch(), borrow(session)) };
    let result = session.encrypt_in_place(&mut scratch.data[..len]).map(|()| 0);
    answer(&mut scratch.text, result.map_err(Failure::Cipher))
}

/// Decrypts the next `len` bytes in the scratch memory, unverified.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_session_decrypt(session: *mut AnySession, len: usize) -> u32 {
    // SAFETY: the contract of the crate.
    let (scratch, session) = unsafe { (scratch(), borrow(session)) };
    let result = session.decrypt_in_place(&mut scratch.data[..len]).map(|()| 0);
    answer(&mut scratch.text, result.map_err(Failure::Cipher))
}

/// Writes the tag. The session is wiped, but not yet freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_session_finalize(session: *mut AnySession, tag_len: usize) -> u32 {
    // SAFETY: the contract of the crate.
    let (scratch, session) = unsafe { (scratch(), borrow(session)) };
    let result = tag(&mut scratch.tag, tag_len).and_then(|tag| Ok(session.finalize(tag)?));
    answer(&mut scratch.text, result.map(|()| 0))
}

/// Compares the tag. The session is wiped, but not yet freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_session_verify(session: *mut AnySession, tag_len: usize) -> u32 {
    // SAFETY: the contract of the crate.
    let (scratch, session) = unsafe { (scratch(), borrow(session)) };
    let result = tag(&mut scratch.tag, tag_len).and_then(|tag| Ok(session.verify(tag)?));
    answer(&mut scratch.text, result.map(|()| 0))
}

/// Frees a session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_session_free(session: *mut AnySession) {
    // SAFETY: the contract of the crate.
    drop(unsafe { take(session) });
}

/// A MAC with a key, or with a key derived from a master key as the command line does it.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "nobody looks at it")]
pub struct AnyMac(Kind);

#[derive(Clone)]
enum Kind {
    Key(Mac),
    MasterKey(palladion_file::Mac),
}

impl AnyMac {
    fn update(&mut self, data: &[u8]) -> Result<(), Failure> {
        match &mut self.0 {
            Kind::Key(mac) => Ok(mac.update(data)?),
            Kind::MasterKey(mac) => Ok(mac.update(data)?),
        }
    }

    fn finalize(self, tag: &mut [u8]) -> Result<(), Failure> {
        match self.0 {
            Kind::Key(mac) => mac.finalize(tag)?,
            Kind::MasterKey(mac) => tag.copy_from_slice(&mac.finalize()[..tag.len()]),
        }
        Ok(())
    }

    fn verify(self, tag: &[u8]) -> Result<(), Failure> {
        match self.0 {
            Kind::Key(mac) => Ok(mac.verify(tag)?),
            Kind::MasterKey(mac) => {
                let wrong = palladion::Error::UnknownTagLength { actual: tag.len() };
                match mac.verify(tag.try_into().map_err(|_| wrong)?) {
                    true => Ok(()),
                    false => Err(palladion::Error::VerificationFailed.into()),
                }
            }
        }
    }
}

fn begin_mac(scratch: &mut Scratch, id: u32, master: bool) -> Result<u32, Failure> {
    let key = scratch.take_key();
    let algorithm = algorithm(id)?;
    let key_len = algorithm.key_len();
    Ok(into_handle(AnyMac(if master {
        Kind::MasterKey(palladion_file::Mac::new(&MasterKey::from(*key), algorithm)?)
    } else {
        Kind::Key(Mac::new(algorithm, &key[..key_len], &scratch.nonce[..key_len])?)
    })))
}

/// Starts a MAC and returns a handle. With `master`, the key is a master key, there is no nonce,
/// and tags have 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_mac_new(id: u32, master: u32) -> u32 {
    // SAFETY: the contract of the crate.
    let scratch = unsafe { scratch() };
    let result = begin_mac(scratch, id, master != 0);
    answer(&mut scratch.text, result)
}

/// Adds `len` bytes from the scratch memory and wipes them there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_mac_update(mac: *mut AnyMac, len: usize) -> u32 {
    // SAFETY: the contract of the crate.
    let (scratch, mac) = unsafe { (scratch(), borrow(mac)) };
    let result = mac.update(&scratch.data[..len]).map(|()| 0);
    scratch.data[..len].zeroize();
    answer(&mut scratch.text, result)
}

/// Copies a MAC and returns the handle of the copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_mac_clone(mac: *mut AnyMac) -> u32 {
    // SAFETY: the contract of the crate.
    into_handle(unsafe { borrow(mac) }.clone())
}

/// Writes the tag and frees the MAC.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_mac_finalize(mac: *mut AnyMac, tag_len: usize) -> u32 {
    // SAFETY: the contract of the crate.
    let (scratch, mac) = unsafe { (scratch(), take(mac)) };
    let result = tag(&mut scratch.tag, tag_len).and_then(|tag| mac.finalize(tag));
    answer(&mut scratch.text, result.map(|()| 0))
}

/// Compares the tag and frees the MAC.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_mac_compare(mac: *mut AnyMac, tag_len: usize) -> u32 {
    // SAFETY: the contract of the crate.
    let (scratch, mac) = unsafe { (scratch(), take(mac)) };
    let result = tag(&mut scratch.tag, tag_len).and_then(|tag| mac.verify(tag));
    answer(&mut scratch.text, result.map(|()| 0))
}

/// Frees a MAC without a tag.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_mac_free(mac: *mut AnyMac) {
    // SAFETY: the contract of the crate.
    drop(unsafe { take(mac) });
}
