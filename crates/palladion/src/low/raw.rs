//! A message in one call, over pointers. The safe functions of `low` end here, and bindings to other languages, which have
//! nothing but pointers, begin here: hidden, for the C library of this repository, and no part of what the version promises.

use core::mem::MaybeUninit;

use subtle::ConstantTimeEq;

use super::kernels::{Kernels, OneShot, wipe_forgery};
pub use super::kernels::{Message, Open, Seal};
pub use super::memory::leaving_nothing;
use super::memory::{WipedBytes, wipe};
pub use super::secrecy;
use super::secrecy::declassify;
use super::{Variant, check_memory, dispatch};
use crate::family::Family;
use crate::{Algorithm, Error, limits, with_algorithm};

/// The kernel that encrypts a whole message, if the backend is chosen and has one for this degree. Limits on lengths are the caller's
/// to check.
#[inline(always)]
#[must_use]
pub fn seal_kernel<F: Family, const D: usize>() -> Option<Seal> {
    Some(last::<F, D>()?.seal)
}

/// The kernel that decrypts a whole message, likewise.
#[inline(always)]
#[must_use]
pub fn open_kernel<F: Family, const D: usize>() -> Option<Open> {
    Some(last::<F, D>()?.open)
}

/// Kernels after which nothing is left to do.
#[inline(always)]
fn last<F: Family, const D: usize>() -> Option<&'static OneShot> {
    let kernels = dispatch::chosen::<F, D>()?;
    if kernels.leaves.is_none() { kernels.one_shot.as_ref() } else { None }
}

fn kernels<F: Family, const D: usize>() -> Result<&'static Kernels, Error> {
    const { check_memory::<F, D>() };
    Ok(Variant::<F, D>::new()?.kernels())
}

#[inline(always)]
fn check(what: &'static str, message: &Message) -> Result<(), Error> {
    limits::check("associated data", 0, message.ad_len)?;
    limits::check(what, 0, message.len)?;
    Ok(())
}

/// Encrypts a message and writes its tag.
///
/// # Errors
///
/// [`Error::TooLong`], [`Error::Backend`]; then nothing is touched.
///
/// # Safety
/// As [`Message`] says.
#[inline(always)]
pub unsafe fn seal<F: Family, const D: usize>(message: &Message) -> Result<(), Error> {
    check("message", message)?;
    let kernels = kernels::<F, D>()?;
    let m = message;
    // SAFETY: the table came from `dispatch`, which has checked the CPU; the rest is granted.
    unsafe {
        match &kernels.one_shot {
            Some(OneShot { seal, .. }) => {
                seal(m.dst, m.tag, m.tag_len, m.src, m.len, m.ad, m.ad_len, m.nonce, m.key);
                kernels.wipe_stack();
            }
            None => {
                in_parts::<F, D, SEAL>(m, kernels);
            }
        }
    }
    Ok(())
}

/// Decrypts a message if its tag is right; else zeroes the output.
///
/// # Errors
///
/// [`Error::VerificationFailed`]; [`Error::TooLong`], [`Error::Backend`], and then nothing is touched.
///
/// # Safety
/// As [`Message`] says.
#[inline(always)]
pub unsafe fn open<F: Family, const D: usize>(message: &Message) -> Result<(), Error> {
    check("ciphertext", message)?;
    let kernels = kernels::<F, D>()?;
    let m = message;
    // SAFETY: as above.
    let result = unsafe {
        match &kernels.one_shot {
            Some(OneShot { open, .. }) => {
                let result = open(m.dst, m.src, m.len, m.tag, m.tag_len, m.ad, m.ad_len, m.nonce, m.key);
                kernels.wipe_stack();
                result
            }
            None => in_parts::<F, D, OPEN>(m, kernels),
        }
    };
    if result == 0 { Ok(()) } else { Err(Error::VerificationFailed) }
}

/// Encrypts a message in one call. Lengths of key, nonce and tag are the caller's to check; see [`seal`].
///
/// # Errors
///
/// [`Error::TooLong`], [`Error::Backend`]; then nothing is touched.
///
/// # Safety
/// As [`Message`] says.
#[inline]
pub unsafe fn seal_any(algorithm: Algorithm, message: &Message) -> Result<(), Error> {
    unsafe fn one<F: Family, const D: usize>(message: &Message) -> Result<(), Error> {
        // SAFETY: granted.
        unsafe { seal::<F, D>(message) }
    }
    // SAFETY: granted.
    unsafe { with_algorithm!(algorithm, one(message)) }
}

/// Decrypts a message in one call, likewise; see [`open`].
///
/// # Errors
///
/// [`Error::VerificationFailed`]; [`Error::TooLong`], [`Error::Backend`], and then nothing is touched.
///
/// # Safety
/// As [`Message`] says.
#[inline]
pub unsafe fn open_any(algorithm: Algorithm, message: &Message) -> Result<(), Error> {
    unsafe fn one<F: Family, const D: usize>(message: &Message) -> Result<(), Error> {
        // SAFETY: granted.
        unsafe { open::<F, D>(message) }
    }
    // SAFETY: granted.
    unsafe { with_algorithm!(algorithm, one(message)) }
}

/// Writes the MAC of the associated data.
///
/// # Safety
/// As [`Message`] says, and there is such a MAC: see `check_mac`.
#[inline(always)]
pub(super) unsafe fn mac<F: Family, const D: usize>(message: &Message) -> Result<(), Error> {
    limits::check("data", 0, message.ad_len)?;
    let kernels = kernels::<F, D>()?;
    let m = message;
    // SAFETY: as above.
    unsafe {
        match &kernels.one_shot {
            Some(OneShot { mac, .. }) => {
                mac(m.tag, m.tag_len, m.ad, m.ad_len, m.nonce, m.key);
                kernels.wipe_stack_of_mac(D);
            }
            None => {
                in_parts::<F, D, MAC>(m, kernels);
            }
        }
    }
    Ok(())
}

/// What a call does.
const SEAL: u8 = 0;
const OPEN: u8 = 1;
const MAC: u8 = 2;

/// A whole message by way of the kernels of a state, which lies in memory. A function of its own, so that the stack of others need
/// not be aligned for it. The result is that of [`Open`].
///
/// # Safety
/// The CPU's features; as [`Message`] says.
#[inline(never)]
unsafe fn in_parts<F: Family, const D: usize, const WHAT: u8>(m: &Message, k: &Kernels) -> i32 {
    let mut memory = MaybeUninit::<F::Memory<D>>::uninit();
    let state = memory.as_mut_ptr().cast();
    let mut expected = [0; 32];
    let tag = if WHAT == OPEN { expected.as_mut_ptr() } else { m.tag };
    // SAFETY: granted; the memory is that of degree `D`; a tag has at most 32 bytes.
    unsafe {
        (k.init)(state, D, m.key, m.nonce, core::ptr::null());
        (k.absorb)(state, D, m.ad, m.ad_len);
        match WHAT {
            SEAL => (k.encrypt)(state, D, m.src, m.dst, m.len),
            OPEN => (k.decrypt)(state, D, m.src, m.dst, m.len),
            _ => {}
        }
        if WHAT == MAC {
            (k.finalize_mac)(state, D, m.ad_len as u64, tag, m.tag_len);
        } else {
            (k.finalize)(state, D, m.ad_len as u64, m.len as u64, tag, m.tag_len);
        }
        // Not all of it need have been written: a state may take less room.
        memory.write(F::Memory::zeroed());
        // Dropping it wipes it, in a way that the optimiser does not take for a dead store.
        memory.assume_init_drop();
        let mut right = true;
        if WHAT == OPEN {
            let bytes = |tag: *const u8| core::slice::from_raw_parts(tag, m.tag_len);
            right = declassify(bytes(tag).ct_eq(bytes(m.tag)).into());
            wipe(&mut expected);
        }
        // Last: a comparison has bytes of the tag on the stack too.
        k.wipe_stack();
        if right { 0 } else { wipe_forgery(m.dst, m.len) }
    }
}
