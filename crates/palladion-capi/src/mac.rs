//! Message authentication codes. The contracts are those of the headers.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use palladion::Tag;
use palladion::family::Family;
use palladion::hazmat::Session;

use crate::aead::{key, nonce};
use crate::memory::{bytes, make, work_on};
use crate::status::{invalid_argument, status, with_backend};

/// A MAC in C's state. `reset` needs the key and the nonce: libaegis's state sizes do not always
/// have room for a copy of the initial state.
struct MacState<F: Family, const D: usize> {
    session: Session<F, D>,
    key: F::Key,
    nonce: F::Nonce,
}

pub(crate) unsafe fn init<F: Family, const D: usize, const SIZE: usize>(
    st: *mut u8,
    k: *const u8,
    npub: *const u8,
) {
    const { assert!(size_of::<MacState<F, D>>() <= SIZE) };
    // SAFETY: the caller promises room for the state. Every field is written in it before success
    // is reported.
    unsafe {
        let (key, nonce) = (key::<F>(k), nonce::<F>(npub));
        make::<MacState<F, D>>(st, |mac| {
            let mac = mac.as_mut_ptr();
            (&raw mut (*mac).key).write(key.clone());
            (&raw mut (*mac).nonce).write(*nonce);
            let session = &mut *(&raw mut (*mac).session).cast::<MaybeUninit<_>>();
            with_backend(|| Session::<F, D>::begin_in(session, key, nonce, b"").map(|_| ())).is_ok()
        });
    }
}

#[inline(always)]
pub(crate) unsafe fn update<F: Family, const D: usize>(
    st: *mut u8,
    m: *const u8,
    mlen: usize,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe {
        let Some(m) = bytes(m, mlen) else { return invalid_argument() };
        work_on(st, |mac: &mut MacState<F, D>| status(mac.session.absorb(m)))
    }
}

#[inline(always)]
pub(crate) unsafe fn finalize<F: Family, const D: usize>(
    st: *mut u8,
    tag: *mut u8,
    maclen: usize,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe {
        match maclen {
            16 => work_on(st, |mac: &mut MacState<F, D>| {
                status(mac.session.finalize_mac(&mut *tag.cast::<[u8; 16]>()))
            }),
            32 => work_on(st, |mac: &mut MacState<F, D>| {
                status(mac.session.finalize_mac(&mut *tag.cast::<[u8; 32]>()))
            }),
            _ => invalid_argument(),
        }
    }
}

#[inline(always)]
pub(crate) unsafe fn verify<F: Family, const D: usize>(
    st: *mut u8,
    tag: *const u8,
    maclen: usize,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe {
        match maclen {
            16 => {
                let tag = Tag::from(*tag.cast::<[u8; 16]>());
                work_on(st, |mac: &mut MacState<F, D>| status(mac.session.verify_mac(&tag)))
            }
            32 => {
                let tag = Tag::from(*tag.cast::<[u8; 32]>());
                work_on(st, |mac: &mut MacState<F, D>| status(mac.session.verify_mac(&tag)))
            }
            _ => invalid_argument(),
        }
    }
}

pub(crate) unsafe fn reset<F: Family, const D: usize>(st: *mut u8) {
    // SAFETY: the caller's contract.
    unsafe { work_on(st, |mac: &mut MacState<F, D>| mac.session.begin(&mac.key, &mac.nonce)) }
}

pub(crate) unsafe fn clone<F: Family, const D: usize>(to: *mut u8, from: *const u8) {
    // SAFETY: the caller's contract; a bytewise copy of a MAC is a valid MAC.
    unsafe { core::ptr::copy(from, to, size_of::<MacState<F, D>>()) }
}
