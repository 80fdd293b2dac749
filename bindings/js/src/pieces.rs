//! Messages and MACs in pieces, and key streams. Decrypted pieces are unverified; if the tag is
//! wrong, JavaScript zeroes all of them before it returns.

use palladion::any::Mac;
use palladion::hazmat::AnySession;
use palladion_file::MasterKey;

use crate::cipher::{algorithm, tag};
use crate::failure::Failure;
use crate::memory::{Key, Scratch, first, wipe};
use crate::objects::{AnyMac, Objects, Table};

/// Starts a message with the key and the nonce in the scratch memory, and wipes the key there.
pub(crate) fn begin(
    sessions: &mut Table<AnySession>,
    (key, nonce): (&mut [u8; 32], &[u8; 32]),
    id: u32,
    ad: &[u8],
) -> Result<u32, Failure> {
    let key = Key(key);
    let algorithm = algorithm(id)?;
    let key_len = algorithm.key_len();
    Ok(sessions.add(AnySession::new(algorithm, &key[..key_len], &nonce[..key_len], ad)?))
}

pub(crate) fn session_new(
    scratch: &mut Scratch,
    objects: &mut Objects,
    [id, ad_len]: [u32; 2],
) -> Result<u32, Failure> {
    let ad = first(&mut scratch.data, ad_len)?;
    let result = begin(&mut objects.sessions, (&mut scratch.key, &scratch.nonce), id, ad);
    wipe(ad);
    result
}

pub(crate) fn session_encrypt(
    scratch: &mut Scratch,
    objects: &mut Objects,
    [session, len]: [u32; 2],
) -> Result<u32, Failure> {
    objects.sessions.get(session)?.encrypt_in_place(first(&mut scratch.data, len)?)?;
    Ok(0)
}

pub(crate) fn session_decrypt(
    scratch: &mut Scratch,
    objects: &mut Objects,
    [session, len]: [u32; 2],
) -> Result<u32, Failure> {
    objects.sessions.get(session)?.decrypt_in_place(first(&mut scratch.data, len)?)?;
    Ok(0)
}

pub(crate) fn session_finalize(
    scratch: &mut Scratch,
    objects: &mut Objects,
    [session, tag_len]: [u32; 2],
) -> Result<u32, Failure> {
    objects.sessions.take(session)?.finalize(tag(&mut scratch.tag, tag_len)?)?;
    Ok(0)
}

pub(crate) fn session_verify(
    scratch: &mut Scratch,
    objects: &mut Objects,
    [session, tag_len]: [u32; 2],
) -> Result<u32, Failure> {
    objects.sessions.take(session)?.verify(tag(&mut scratch.tag, tag_len)?)?;
    Ok(0)
}

pub(crate) fn session_free(
    _: &mut Scratch,
    objects: &mut Objects,
    [session]: [u32; 1],
) -> Result<u32, Failure> {
    objects.sessions.free(session)
}

pub(crate) fn mac_new(
    scratch: &mut Scratch,
    objects: &mut Objects,
    [id]: [u32; 1],
) -> Result<u32, Failure> {
    let key = Key(&mut scratch.key);
    let algorithm = algorithm(id)?;
    let key_len = algorithm.key_len();
    let mac = Mac::new(algorithm, &key[..key_len], &scratch.nonce[..key_len])?;
    Ok(objects.macs.add(AnyMac::Key(mac)))
}

pub(crate) fn mac_new_for_files(
    scratch: &mut Scratch,
    objects: &mut Objects,
    [id]: [u32; 1],
) -> Result<u32, Failure> {
    let key = MasterKey::from(*Key(&mut scratch.key));
    let mac = palladion_file::Mac::new(&key, algorithm(id)?)?;
    Ok(objects.macs.add(AnyMac::MasterKey(mac)))
}

pub(crate) fn mac_update(
    scratch: &mut Scratch,
    objects: &mut Objects,
    [mac, len]: [u32; 2],
) -> Result<u32, Failure> {
    let data = first(&mut scratch.data, len)?;
    let result = objects.macs.get(mac).and_then(|mac| mac.update(data));
    wipe(data);
    result.map(|()| 0)
}

pub(crate) fn mac_clone(
    _: &mut Scratch,
    objects: &mut Objects,
    [mac]: [u32; 1],
) -> Result<u32, Failure> {
    let copy = objects.macs.get(mac)?.clone();
    Ok(objects.macs.add(copy))
}

pub(crate) fn mac_finalize(
    scratch: &mut Scratch,
    objects: &mut Objects,
    [mac, tag_len]: [u32; 2],
) -> Result<u32, Failure> {
    objects.macs.take(mac)?.finalize(tag(&mut scratch.tag, tag_len)?)?;
    Ok(0)
}

pub(crate) fn mac_compare(
    scratch: &mut Scratch,
    objects: &mut Objects,
    [mac, tag_len]: [u32; 2],
) -> Result<u32, Failure> {
    objects.macs.take(mac)?.verify(tag(&mut scratch.tag, tag_len)?)?;
    Ok(0)
}

pub(crate) fn mac_free(
    _: &mut Scratch,
    objects: &mut Objects,
    [mac]: [u32; 1],
) -> Result<u32, Failure> {
    objects.macs.free(mac)
}
