//! Authenticated encryption. The contracts are those of the headers.

use core::ffi::c_int;

use palladion::family::Family;
use palladion::hazmat::{self, Message, Session};
use palladion::{Aegis, Error, KeyStream, Tag};
use zeroize::Zeroize;

use crate::memory::{
    LONGEST, NO_MEMORY, RestingSession, Scratch, Work, abort, bytes, bytes_mut, inout, overlap,
    put_tag,
};
use crate::status::{invalid_argument, status, with_backend};

/// The cipher with a key in C's memory.
///
/// # Safety
/// `key` readable for the key's length while the result lives.
#[inline(always)]
pub(crate) unsafe fn cipher<'a, F: Family, const D: usize, const T: usize>(
    key: *const u8,
) -> &'a Aegis<F, D, T> {
    const {
        assert!(size_of::<Aegis<F, D, T>>() == F::KEY_LEN);
        assert!(align_of::<Aegis<F, D, T>>() == 1);
    };
    // SAFETY: `repr(transparent)` over the bytes of the key.
    unsafe { &*key.cast() }
}

/// A key in C's memory.
///
/// # Safety
/// `key` readable for the key's length while the result lives.
#[inline(always)]
pub(crate) unsafe fn key<'a, F: Family>(key: *const u8) -> &'a F::Key {
    const { assert!(size_of::<F::Key>() == F::KEY_LEN && align_of::<F::Key>() == 1) };
    // SAFETY: `repr(transparent)` over its bytes.
    unsafe { &*key.cast() }
}

/// A nonce in C's memory, or the all-zero nonce for a null pointer. It is not copied: a copy would
/// take as long as a step of the cipher.
#[inline(always)]
fn nonce_or_zeros<F: Family>(nonce: *const u8) -> *const u8 {
    static ZEROS: [u8; 32] = [0; 32];
    const { assert!(F::KEY_LEN <= ZEROS.len()) };
    if nonce.is_null() { ZEROS.as_ptr() } else { nonce }
}

/// The same as the core's nonce type.
///
/// # Safety
/// `nonce` null or readable for the nonce's length, while the result lives.
#[inline(always)]
pub(crate) unsafe fn nonce<'a, F: Family>(nonce: *const u8) -> &'a F::Nonce {
    const { assert!(size_of::<F::Nonce>() == F::KEY_LEN && align_of::<F::Nonce>() == 1) };
    // SAFETY: `repr(transparent)` over its bytes.
    unsafe { &*nonce_or_zeros::<F>(nonce).cast() }
}

/// Returns whether tags can have this many bytes.
#[inline(always)]
fn is_tag_len(len: usize) -> bool {
    matches!(len, 16 | 32)
}

#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "C's")]
pub(crate) unsafe fn encrypt_detached<F: Family, const D: usize>(
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
    // SAFETY: the caller's contract.
    unsafe {
        if overlap(m, c, mlen) | covers::<F>(c, mlen, ad, adlen, npub, k) {
            return encrypt_over::<F, D>(c, mac, maclen, m, mlen, ad, adlen, npub, k);
        }
        let message = Message {
            key: k,
            nonce: nonce_or_zeros::<F>(npub),
            ad,
            ad_len: adlen,
            src: m,
            dst: c,
            len: mlen,
            tag: mac,
            tag_len: maclen,
        };
        finish(hazmat::seal::<F, D>(&message), || hazmat::seal::<F, D>(&message))
    }
}

#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "C's")]
pub(crate) unsafe fn decrypt_detached<F: Family, const D: usize>(
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
    // SAFETY: the caller's contract.
    unsafe {
        if m.is_null() {
            return verify::<F, D>(c, clen, mac, maclen, ad, adlen, npub, k);
        }
        // The message is written before the tag is read, so the tag must not lie in its place.
        let mut copy = [0; 32];
        let mut tag = mac.cast_mut();
        let behind_tag = m.addr().wrapping_sub(mac.addr()) >= maclen;
        let before_tag = mac.addr().wrapping_sub(m.addr()) >= clen;
        if !(behind_tag && before_tag) {
            // The tag may be at the end of the ciphertext, which is nowhere then.
            if clen > LONGEST {
                return invalid_argument();
            }
            copy.as_mut_ptr().copy_from_nonoverlapping(mac, maclen);
            tag = copy.as_mut_ptr();
        }
        if overlap(c, m, clen) | covers::<F>(m, clen, ad, adlen, npub, k) {
            return decrypt_over::<F, D>(m, c, clen, tag, maclen, ad, adlen, npub, k);
        }
        let message = Message {
            key: k,
            nonce: nonce_or_zeros::<F>(npub),
            ad,
            ad_len: adlen,
            src: c,
            dst: m,
            len: clen,
            tag,
            tag_len: maclen,
        };
        finish(hazmat::open::<F, D>(&message), || hazmat::open::<F, D>(&message))
    }
}

/// Returns whether an output of `len` bytes covers a part of the associated data, the nonce or
/// the key. Kernels that take a message in two passes read them again in the second one.
#[inline(always)]
pub(crate) fn covers<F: Family>(
    to: *const u8,
    len: usize,
    ad: *const u8,
    adlen: usize,
    npub: *const u8,
    k: *const u8,
) -> bool {
    let meet = |from: *const u8, count: usize| {
        (from.addr().wrapping_sub(to.addr()) < len) | (to.addr().wrapping_sub(from.addr()) < count)
    };
    meet(ad, adlen) | meet(npub, F::KEY_LEN) | meet(k, F::KEY_LEN)
}

/// Encrypts a message into memory that is in use: it overlaps with the message, or covers key,
/// nonce or associated data. They are used first, and then the message is moved there.
#[cold]
#[inline(never)]
#[expect(clippy::too_many_arguments, reason = "C's")]
unsafe fn encrypt_over<F: Family, const D: usize>(
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
    // SAFETY: the caller's contract; `maclen` is 16 or 32.
    unsafe {
        let Some((mut session, c)) = session_over::<F, D>(c, m, mlen, ad, adlen, npub, k) else {
            return invalid_argument();
        };
        status(session.encrypt_in_place(c).and_then(|()| match maclen {
            16 => session.finalize().map(|tag| put_tag::<16>(mac, tag)),
            _ => session.finalize().map(|tag| put_tag::<32>(mac, tag)),
        }))
    }
}

/// Decrypts a ciphertext into memory that is in use, as [`encrypt_over`] encrypts. The tag does not
/// lie where the message goes.
#[cold]
#[inline(never)]
#[expect(clippy::too_many_arguments, reason = "C's")]
unsafe fn decrypt_over<F: Family, const D: usize>(
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
    // SAFETY: the caller's contract; `maclen` is 16 or 32.
    unsafe {
        let Some((mut session, m)) = session_over::<F, D>(m, c, clen, ad, adlen, npub, k) else {
            return invalid_argument();
        };
        let result = session.decrypt_in_place(m).and_then(|()| match maclen {
            16 => session.verify(&Tag::from(*mac.cast::<[u8; 16]>())),
            _ => session.verify(&Tag::from(*mac.cast::<[u8; 32]>())),
        });
        if result.is_err() {
            m.zeroize();
        }
        status(result)
    }
}

/// Begins a message, and then moves its input to where the output goes, which it returns. Returns
/// `None` and moves nothing if message or associated data are too long.
unsafe fn session_over<'a, F: Family, const D: usize>(
    to: *mut u8,
    from: *const u8,
    len: usize,
    ad: *const u8,
    adlen: usize,
    npub: *const u8,
    k: *const u8,
) -> Option<(Session<F, D>, &'a mut [u8])> {
    if len > LONGEST {
        return None;
    }
    // SAFETY: the caller's contract. Nothing refers to the memory at `to` any more when the input
    // is moved there.
    unsafe {
        let (key, nonce) = (key::<F>(k), nonce::<F>(npub));
        let ad = bytes(ad, adlen)?;
        let session = with_backend(|| Session::new(key, nonce, ad)).ok()?;
        to.copy_from(from, len);
        Some((session, bytes_mut(to, len)?))
    }
}

/// Converts a result for C. If the backend that the environment names is unavailable, chooses
/// another and repeats the call.
#[inline(always)]
fn finish(result: Result<(), Error>, again: impl FnOnce() -> Result<(), Error>) -> c_int {
    #[cold]
    #[inline(never)]
    fn fall_back(again: impl FnOnce() -> Result<(), Error>) -> c_int {
        status(with_backend(again))
    }
    if let Err(Error::Backend(_)) = result { fall_back(again) } else { status(result) }
}

/// Decrypts without writing the message.
#[cold]
#[inline(never)]
#[expect(clippy::too_many_arguments, reason = "C's")]
unsafe fn verify<F: Family, const D: usize>(
    c: *const u8,
    clen: usize,
    mac: *const u8,
    maclen: usize,
    ad: *const u8,
    adlen: usize,
    npub: *const u8,
    k: *const u8,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe {
        let (Some(c), Some(ad)) = (bytes(c, clen), bytes(ad, adlen)) else {
            return invalid_argument();
        };
        let nonce = nonce::<F>(npub);
        status(with_backend(|| match maclen {
            16 => cipher::<F, D, 16>(k).verify(nonce, ad, c, &Tag::from(*mac.cast::<[u8; 16]>())),
            _ => cipher::<F, D, 32>(k).verify(nonce, ad, c, &Tag::from(*mac.cast::<[u8; 32]>())),
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
        RestingSession::<F, D, SIZE>::begin(st, key::<F>(k), nonce::<F>(npub), bytes(ad, adlen));
    }
}

struct Update<'a, F: Family, const D: usize, const ENCRYPT: bool>(&'a mut Session<F, D>);

impl<F: Family, const D: usize, const ENCRYPT: bool> Work<'_> for Update<'_, F, D, ENCRYPT> {
    #[inline(always)]
    fn in_place(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        if ENCRYPT { self.0.encrypt_in_place(buf) } else { self.0.decrypt_in_place(buf) }
    }
    #[inline(always)]
    fn apart(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), Error> {
        if ENCRYPT {
            self.0.encrypt_into(input, output)
        } else {
            self.0.decrypt_into(input, output)
        }
    }
}

#[inline(always)]
pub(crate) unsafe fn state_update<
    F: Family,
    const D: usize,
    const SIZE: usize,
    const ENCRYPT: bool,
>(
    st: *mut u8,
    to: *mut u8,
    from: *const u8,
    len: usize,
) -> c_int {
    let update = |session: &mut Session<F, D>| {
        if !to.is_null() || ENCRYPT {
            // SAFETY: the caller's contract.
            return unsafe { inout(from, to, len, Update::<F, D, ENCRYPT>(session)) };
        }
        // Only the tag is wanted, but the message needs a buffer while it is absorbed.
        let mut scratch = Scratch([0; 4096]);
        // SAFETY: the caller's contract.
        let input = unsafe { bytes(from, len) }.ok_or(NO_MEMORY)?;
        for chunk in input.chunks(scratch.0.len()) {
            session.decrypt_into(chunk, &mut scratch.0[..chunk.len()])?;
        }
        Ok(())
    };
    // SAFETY: the caller's contract.
    unsafe { RestingSession::<F, D, SIZE>::work_on(st, update) }
        .map_or_else(invalid_argument, status)
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
            16 => RestingSession::<F, D, SIZE>::work_on(st, |session| {
                session.finalize().map(|tag| put_tag::<16>(mac, tag))
            }),
            32 => RestingSession::<F, D, SIZE>::work_on(st, |session| {
                session.finalize().map(|tag| put_tag::<32>(mac, tag))
            }),
            _ => return invalid_argument(),
        };
        done.map_or_else(invalid_argument, status)
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
                RestingSession::<F, D, SIZE>::work_on(st, |session| session.verify(&tag))
            }
            32 => {
                let tag = Tag::from(*mac.cast::<[u8; 32]>());
                RestingSession::<F, D, SIZE>::work_on(st, |session| session.verify(&tag))
            }
            _ => return invalid_argument(),
        };
        result.map_or_else(invalid_argument, status)
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
        let (out, nonce) = (bytes_mut(out, len).ok_or(NO_MEMORY), nonce::<F>(npub));
        let fill = |out| with_backend(|| KeyStream::<F, D>::fill(key::<F>(k), nonce, out));
        if out.and_then(fill).is_err() {
            abort("stream", len);
        }
    }
}

struct Xor<F: Family, const D: usize>(KeyStream<F, D>);

impl<F: Family, const D: usize> Work<'_> for Xor<F, D> {
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
        let stream = with_backend(|| KeyStream::<F, D>::new(key::<F>(k), nonce));
        if stream.and_then(|stream| inout(input, out, len, Xor(stream))).is_err() {
            abort("stream_xor", len);
        }
    }
}

/// Copies of key and nonce, because they may lie where the output goes.
struct Unauthenticated<F: Family, const D: usize, const ENCRYPT: bool>(Aegis<F, D, 16>, F::Nonce);

impl<F: Family, const D: usize, const ENCRYPT: bool> Work<'_> for Unauthenticated<F, D, ENCRYPT> {
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
        let work = Unauthenticated::<F, D, ENCRYPT>(Aegis::new(key::<F>(k)), *nonce::<F>(npub));
        if inout(from, to, len, work).is_err() {
            abort("encrypt_unauthenticated or decrypt_unauthenticated", len);
        }
    }
}
