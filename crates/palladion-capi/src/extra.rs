//! Functions that libaegis lacks, except batches. The contracts are in `include/palladion.h`.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::Ordering;
use std::sync::OnceLock;

use palladion::{Algorithm, Backend, Error, set_backend};
use zeroize::Zeroize;

use crate::exports::{aegis128l, aegis128x2, aegis128x4, aegis256, aegis256x2, aegis256x4};
use crate::memory::{abort, bytes_mut};
use crate::number;
use crate::status::{FAILED, FELL_BACK, OK, invalid_argument, with_backend};

/// Returns what is for an algorithm, 1 to 6 in C.
pub(crate) fn by_number<T: Copy>(alg: c_int, each: [T; 6]) -> Option<T> {
    each.get(usize::try_from(alg).ok()?.checked_sub(1)?).copied()
}

/// A name as a C string, padded with zeros.
type Name = [u8; 24];

/// The names of `Backend::ALL`.
static NAMES: [Name; Backend::ALL.len()] = {
    let mut names = [[0; 24]; Backend::ALL.len()];
    let mut i = 0;
    while i < names.len() {
        let name = Backend::ALL[i].name().as_bytes();
        assert!(name.len() < names[i].len(), "there is room for a zero at the end");
        names[i].split_at_mut(name.len()).0.copy_from_slice(name);
        i += 1;
    }
    names
};

/// An array of pointers to names for C. `None` is the null pointer at its end.
type List = [Option<&'static Name>; NAMES.len() + 1];

#[unsafe(no_mangle)]
extern "C" fn palladion_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

#[unsafe(no_mangle)]
extern "C" fn palladion_backend() -> *const c_char {
    let backend =
        with_backend(|| palladion::backend().map_err(Error::from)).unwrap_or(Backend::Portable);
    let place = Backend::ALL.iter().position(|other| *other == backend);
    NAMES[place.unwrap_or(NAMES.len() - 1)].as_ptr().cast()
}

#[unsafe(no_mangle)]
extern "C" fn palladion_backends() -> *const *const c_char {
    static LIST: OnceLock<List> = OnceLock::new();
    let list = LIST.get_or_init(|| {
        let mut list = [None; NAMES.len() + 1];
        let here = NAMES.iter().zip(Backend::ALL).filter(|(_, backend)| backend.is_available());
        list.iter_mut().zip(here).for_each(|(place, (name, _))| *place = Some(name));
        list
    });
    list.as_ptr().cast()
}

/// # Safety
/// `name` null, or ends with a zero.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_set_backend(name: *const c_char) -> c_int {
    if name.is_null() {
        return invalid_argument();
    }
    // SAFETY: the caller's contract.
    let name = unsafe { CStr::from_ptr(name) };
    match name.to_str().ok().and_then(|name| name.parse().ok()).map(set_backend) {
        Some(Ok(())) => {
            FELL_BACK.store(false, Ordering::Relaxed); // now it is somebody's choice
            OK
        }
        _ => invalid_argument(),
    }
}

/// Fills memory with random bytes. Fails with the system's error, and the memory is zeroed.
fn fill(out: &mut [u8]) -> Result<(), getrandom::Error> {
    getrandom::fill(out).inspect_err(|_| out.zeroize())
}

/// # Safety
/// `out` writable for `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_random(out: *mut c_void, len: usize) -> c_int {
    /// C's name for "input/output error", the same number on all systems.
    const EIO: i32 = 5;
    // SAFETY: the caller's contract.
    let Some(out) = (unsafe { bytes_mut(out.cast(), len) }) else { return invalid_argument() };
    match fill(out) {
        Ok(()) => OK,
        Err(error) => {
            number::set(error.raw_os_error().unwrap_or(EIO));
            FAILED
        }
    }
}

/// # Safety
/// `out` writable for `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_random_or_abort(out: *mut c_void, len: usize) {
    // SAFETY: the caller's contract.
    let Some(out) = (unsafe { bytes_mut(out.cast(), len) }) else { abort("random_or_abort", len) };
    if let Err(error) = fill(out) {
        eprintln!("palladion: no random bytes from the system: {error}");
        std::process::abort();
    }
}

/// # Safety
/// `memory` writable for `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_wipe(memory: *mut c_void, len: usize) {
    // SAFETY: the caller's contract.
    let Some(memory) = (unsafe { bytes_mut(memory.cast(), len) }) else { abort("wipe", len) };
    memory.zeroize();
}

/// Bytes in a nonce; `None` for an unknown algorithm or a wrong length of a tag.
fn nonce_len(alg: c_int, maclen: usize) -> Option<usize> {
    let algorithm = by_number(alg, Algorithm::ALL)?;
    matches!(maclen, 16 | 32).then(|| algorithm.key_len())
}

/// # Safety
/// The arguments are as the header says.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)] // C has no slices
unsafe extern "C" fn palladion_seal(
    alg: c_int,
    maclen: usize,
    sealed: *mut u8,
    m: *const u8,
    mlen: usize,
    ad: *const u8,
    adlen: usize,
    k: *const u8,
) -> c_int {
    // By itself, so that older compilers take the functions for pointers of one type.
    let each = [
        aegis128l::encrypt_detached,
        aegis128x2::encrypt_detached,
        aegis128x4::encrypt_detached,
        aegis256::encrypt_detached,
        aegis256x2::encrypt_detached,
        aegis256x4::encrypt_detached,
    ];
    let encrypt = by_number(alg, each);
    let (Some(encrypt), Some(len)) = (encrypt, nonce_len(alg, maclen)) else {
        return invalid_argument();
    };
    let mut nonce = [0; 32];
    let (c, mac) = (sealed.wrapping_add(len), sealed.wrapping_add(len).wrapping_add(mlen));
    // SAFETY: the caller's contract. The nonce is written last, because the message may lie there.
    unsafe {
        let mut result = palladion_random(nonce.as_mut_ptr().cast(), len);
        if result == OK {
            result = encrypt(c, mac, maclen, m, mlen, ad, adlen, nonce.as_ptr(), k);
        }
        if result == OK {
            sealed.copy_from_nonoverlapping(nonce.as_ptr(), len);
        }
        result
    }
}

/// # Safety
/// The arguments are as the header says.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)] // C has no slices
unsafe extern "C" fn palladion_open(
    alg: c_int,
    maclen: usize,
    m: *mut u8,
    sealed: *const u8,
    sealedlen: usize,
    ad: *const u8,
    adlen: usize,
    k: *const u8,
) -> c_int {
    // By itself, so that older compilers take the functions for pointers of one type.
    let each = [
        aegis128l::decrypt_detached,
        aegis128x2::decrypt_detached,
        aegis128x4::decrypt_detached,
        aegis256::decrypt_detached,
        aegis256x2::decrypt_detached,
        aegis256x4::decrypt_detached,
    ];
    let decrypt = by_number(alg, each);
    let (Some(decrypt), Some(len)) = (decrypt, nonce_len(alg, maclen)) else {
        return invalid_argument();
    };
    let Some(clen) = sealedlen.checked_sub(len + maclen) else { return FAILED };
    let mut nonce = [0; 32];
    let (c, mac) = (sealed.wrapping_add(len), sealed.wrapping_add(len + clen));
    // SAFETY: the caller's contract. The nonce is copied, because the message may be written there.
    unsafe {
        nonce.as_mut_ptr().copy_from_nonoverlapping(sealed, len);
        decrypt(m, c, clen, mac, maclen, ad, adlen, nonce.as_ptr(), k)
    }
}
