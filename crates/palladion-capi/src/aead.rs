//! Authenticated encryption. The contracts are those of the headers.

use core::ffi::c_int;

use palladion::family::Family;
use palladion::hazmat::raw::{self, Message, leaving_nothing};
use palladion::hazmat::{self, AeadSession};
use palladion::{Aegis, Error, KeyStream, MAX_LEN, Tag};

use crate::jump::Jumps;
use crate::memory::{Scratch, Session, Work, bytes, bytes_mut, inout, not_overlapping, overlap, put_tag};
use crate::{FAILED, OK, invalid_argument, status, with_backend};

/// The cipher with a key that C keeps.
///
/// # Safety
/// `key` readable for the key's length while the result lives.
#[inline(always)]
pub(crate) unsafe fn cipher<'a, F: Family, const D: usize, const T: usize>(
    key: *const u8,
) -> &'a Aegis<F, D, T> {
    const { assert!(size_of::<Aegis<F, D, T>>() == F::KEY_LEN && align_of::<Aegis<F, D, T>>() == 1) };
    // SAFETY: `repr(transparent)` over the bytes of the key.
    unsafe { &*key.cast() }
}

/// A key that C keeps.
///
/// # Safety
/// As above.
#[inline(always)]
pub(crate) unsafe fn key<'a, F: Family>(key: *const u8) -> &'a F::Key {
    const { assert!(size_of::<F::Key>() == F::KEY_LEN && align_of::<F::Key>() == 1) };
    // SAFETY: `repr(transparent)` over its bytes.
    unsafe { &*key.cast() }
}

/// A nonce that C keeps, or the one of zeros for a null pointer. (No copy: that would take as long as a step of the cipher.)
#[inline(always)]
fn nonce_or_zeros<F: Family>(nonce: *const u8) -> *const u8 {
    static ZEROS: [u8; 32] = [0; 32];
    const { assert!(F::KEY_LEN <= ZEROS.len()) };
    if nonce.is_null() { ZEROS.as_ptr() } else { nonce }
}

/// The same as the core has it.
///
/// # Safety
/// `nonce` null or readable for the nonce's length, while the result lives.
#[inline(always)]
pub(crate) unsafe fn nonce<'a, F: Family>(nonce: *const u8) -> &'a F::Nonce {
    const { assert!(size_of::<F::Nonce>() == F::KEY_LEN && align_of::<F::Nonce>() == 1) };
    // SAFETY: `repr(transparent)` over its bytes.
    unsafe { &*nonce_or_zeros::<F>(nonce).cast() }
}

/// Whether there is a tag of so many bytes.
#[inline(always)]
fn is_tag_len(len: usize) -> bool {
    matches!(len, 16 | 32)
}

/// Whether lengths are within the limits.
#[inline(always)]
fn are_short(len: usize, ad_len: usize) -> bool {
    (len | ad_len) as u64 <= MAX_LEN
}

// What is common jumps to a kernel, with all arguments where they are, and what is not to a function that can do it.

#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "C's")]
pub(crate) unsafe fn encrypt_detached<F: Family, const D: usize, J: Jumps>(
    c: *mut u8,
    mac: *mut u8,
    maclen: usize,
    m: *const u8,
    mlen: usize,
    ad: *const u8,
    adlen: usize,
    npub: *const u8,
    k: *const u8,
) -> c_int {
    let simple = is_tag_len(maclen) && are_short(mlen, adlen) && !npub.is_null() && !overlap(m, c, mlen);
    // SAFETY: the caller's contract.
    unsafe {
        if simple {
            J::seal().get()(c, mac, maclen, m, mlen, ad, adlen, npub, k)
        } else {
            encrypt_any::<F, D, J>(c, mac, maclen, m, mlen, ad, adlen, npub, k)
        }
    }
}

#[cold]
#[inline(never)]
pub(crate) unsafe extern "C" fn encrypt_any<F: Family, const D: usize, J: Jumps>(
    c: *mut u8,
    mac: *mut u8,
    maclen: usize,
    m: *const u8,
    mlen: usize,
    ad: *const u8,
    adlen: usize,
    npub: *const u8,
    k: *const u8,
) -> c_int {
    if !is_tag_len(maclen) {
        return invalid_argument();
    }
    // SAFETY: the caller's contract. The kernels take any pointers where there are no bytes.
    unsafe {
        let message = Message {
            key: k,
            nonce: nonce_or_zeros::<F>(npub),
            ad,
            ad_len: adlen,
            src: not_overlapping(m, c, mlen),
            dst: c,
            len: mlen,
            tag: mac,
            tag_len: maclen,
        };
        let result = with_backend(|| raw::seal::<F, D>(&message));
        J::seal().aim(raw::seal_kernel::<F, D>);
        status(result)
    }
}

#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "C's")]
pub(crate) unsafe fn decrypt_detached<F: Family, const D: usize, J: Jumps>(
    m: *mut u8,
    c: *const u8,
    clen: usize,
    mac: *const u8,
    maclen: usize,
    ad: *const u8,
    adlen: usize,
    npub: *const u8,
    k: *const u8,
) -> c_int {
    // The tag is read after the message was written: does it end before that, or begin behind it?
    let tag_stays = mac.addr().wrapping_sub(m.addr()) >= clen && m.addr().wrapping_sub(mac.addr()) >= maclen;
    let simple = is_tag_len(maclen)
        && are_short(clen, adlen)
        && !npub.is_null()
        && !m.is_null()
        && !overlap(c, m, clen)
        && tag_stays;
    // SAFETY: the caller's contract.
    unsafe {
        if simple {
            J::open().get()(m, c, clen, mac, maclen, ad, adlen, npub, k)
        } else {
            decrypt_any::<F, D, J>(m, c, clen, mac, maclen, ad, adlen, npub, k)
        }
    }
}

#[cold]
#[inline(never)]
pub(crate) unsafe extern "C" fn decrypt_any<F: Family, const D: usize, J: Jumps>(
    m: *mut u8,
    c: *const u8,
    clen: usize,
    mac: *const u8,
    maclen: usize,
    ad: *const u8,
    adlen: usize,
    npub: *const u8,
    k: *const u8,
) -> c_int {
    if !is_tag_len(maclen) {
        return invalid_argument();
    }
    // SAFETY: the caller's contract; as above.
    unsafe {
        let mut tag = [0; 32];
        tag.as_mut_ptr().copy_from_nonoverlapping(mac, maclen);
        if m.is_null() {
            return verify::<F, D>(c, clen, &tag, maclen, bytes(ad, adlen), npub, k);
        }
        let message = Message {
            key: k,
            nonce: nonce_or_zeros::<F>(npub),
            ad,
            ad_len: adlen,
            src: not_overlapping(c, m, clen),
            dst: m,
            len: clen,
            tag: tag.as_mut_ptr(),
            tag_len: maclen,
        };
        let result = with_backend(|| raw::open::<F, D>(&message));
        J::open().aim(raw::open_kernel::<F, D>);
        status(result)
    }
}

/// Decryption to nowhere.
unsafe fn verify<F: Family, const D: usize>(
    c: *const u8,
    clen: usize,
    tag: &[u8; 32],
    maclen: usize,
    ad: &[u8],
    npub: *const u8,
    k: *const u8,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe {
        let (c, nonce) = (bytes(c, clen), nonce::<F>(npub));
        status(with_backend(|| match maclen {
            16 => cipher::<F, D, 16>(k).verify(nonce, ad, c, &Tag::from(*tag.as_ptr().cast::<[u8; 16]>())),
            _ => cipher::<F, D, 32>(k).verify(nonce, ad, c, &Tag::from(*tag)),
        }))
    }
}

pub(crate) unsafe fn state_init<F: Family, const D: usize, const SIZE: usize>(
    st: *mut u8,
    ad: *const u8,
    adlen: usize,
    npub: *const u8,
    k: *const u8,
) {
    // SAFETY: the caller's contract.
    unsafe {
        Session::<F, D, SIZE>::begin(st, key::<F>(k), nonce::<F>(npub), bytes(ad, adlen));
    }
}

struct Update<'a, F: Family, const D: usize, const ENCRYPT: bool>(&'a mut AeadSession<F, D>);

impl<F: Family, const D: usize, const ENCRYPT: bool> Work<'_, Result<(), Error>>
    for Update<'_, F, D, ENCRYPT>
{
    #[inline(always)]
    fn in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        if ENCRYPT { self.0.encrypt_in_place(buf) } else { self.0.decrypt_in_place(buf) }
    }
    #[inline(always)]
    fn apart(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), Error> {
        if ENCRYPT { self.0.encrypt_into(input, output) } else { self.0.decrypt_into(input, output) }
    }
}

#[inline(always)]
pub(crate) unsafe fn state_update<F: Family, const D: usize, const SIZE: usize, const ENCRYPT: bool>(
    st: *mut u8,
    to: *mut u8,
    from: *const u8,
    len: usize,
) -> c_int {
    let update = |session: &mut AeadSession<F, D>| {
        if !to.is_null() || ENCRYPT {
            // SAFETY: the caller's contract.
            return unsafe { inout(from, to, len, Update::<F, D, ENCRYPT>(session)) };
        }
        // Only for the tag: the message has to be somewhere while it is absorbed.
        let mut scratch = Scratch([0; 4096]);
        // SAFETY: the caller's contract.
        for chunk in unsafe { bytes(from, len) }.chunks(scratch.0.len()) {
            session.decrypt_into(chunk, &mut scratch.0[..chunk.len()])?;
        }
        Ok(())
    };
    // SAFETY: the caller's contract.
    unsafe { Session::<F, D, SIZE>::with(st, update) }.map_or(FAILED, status)
}

#[inline(always)]
pub(crate) unsafe fn state_encrypt_final<F: Family, const D: usize, const SIZE: usize>(
    st: *mut u8,
    mac: *mut u8,
    maclen: usize,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe {
        let done = match maclen {
            16 => Session::<F, D, SIZE>::with(st, |session| put_tag::<16>(mac, session.finalize())),
            32 => Session::<F, D, SIZE>::with(st, |session| put_tag::<32>(mac, session.finalize())),
            _ => return invalid_argument(),
        };
        done.map_or(FAILED, |()| OK)
    }
}

#[inline(always)]
pub(crate) unsafe fn state_decrypt_final<F: Family, const D: usize, const SIZE: usize>(
    st: *mut u8,
    mac: *const u8,
    maclen: usize,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe {
        let result = match maclen {
            16 => {
                let tag = Tag::from(*mac.cast::<[u8; 16]>());
                Session::<F, D, SIZE>::with(st, |session| session.verify(&tag))
            }
            32 => {
                let tag = Tag::from(*mac.cast::<[u8; 32]>());
                Session::<F, D, SIZE>::with(st, |session| session.verify(&tag))
            }
            _ => return invalid_argument(),
        };
        result.map_or(FAILED, status)
    }
}

pub(crate) unsafe fn stream<F: Family, const D: usize>(
    out: *mut u8,
    len: usize,
    npub: *const u8,
    k: *const u8,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let (out, nonce) = (bytes_mut(out, len), nonce::<F>(npub));
        let filled = with_backend(|| KeyStream::<F, D>::fill(key::<F>(k), nonce, out));
        debug_assert!(filled.is_ok(), "no buffer is longer than the limit");
    }
}

struct Xor<F: Family, const D: usize>(KeyStream<F, D>);

impl<F: Family, const D: usize> Work<'_, Result<(), Error>> for Xor<F, D> {
    fn in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        self.0.xor(buf)
    }
    fn apart(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), Error> {
        output.copy_from_slice(input);
        self.0.xor(output)
    }
}

pub(crate) unsafe fn stream_xor<F: Family, const D: usize>(
    out: *mut u8,
    input: *const u8,
    len: usize,
    npub: *const u8,
    k: *const u8,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let nonce = nonce::<F>(npub);
        leaving_nothing::<Xor<F, D>, _>(|| {
            if let Ok(stream) = with_backend(|| KeyStream::<F, D>::new(key::<F>(k), nonce)) {
                let done = inout(input, out, len, Xor(stream));
                debug_assert!(done.is_ok(), "no buffer is longer than the limit");
            }
        });
    }
}

struct Unauthenticated<'a, F: Family, const D: usize, const ENCRYPT: bool>(&'a Aegis<F, D, 16>, &'a F::Nonce);

impl<F: Family, const D: usize, const ENCRYPT: bool> Work<'_, Result<(), Error>>
    for Unauthenticated<'_, F, D, ENCRYPT>
{
    fn in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        let Self(cipher, nonce) = self;
        with_backend(|| match ENCRYPT {
            true => hazmat::encrypt_unauthenticated(cipher, nonce, buf),
            false => hazmat::decrypt_unauthenticated(cipher, nonce, buf),
        })
    }
    fn apart(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), Error> {
        output.copy_from_slice(input);
        self.in_place(output)
    }
}

pub(crate) unsafe fn unauthenticated<F: Family, const D: usize, const ENCRYPT: bool>(
    to: *mut u8,
    from: *const u8,
    len: usize,
    npub: *const u8,
    k: *const u8,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let done = inout(from, to, len, Unauthenticated::<F, D, ENCRYPT>(cipher(k), nonce::<F>(npub)));
        debug_assert!(done.is_ok(), "no buffer is longer than the limit");
    }
}
