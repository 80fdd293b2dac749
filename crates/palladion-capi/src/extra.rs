//! Functions that libaegis lacks, except batches. The contracts are in `include/palladion.h`.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::Ordering;
use std::sync::OnceLock;

use palladion::{Backend, Error, set_backend};
use zeroize::Zeroize;

use crate::memory::bytes_mut;
use crate::number;
use crate::status::{FAILED, FELL_BACK, OK, invalid_argument, with_backend};

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

/// # Safety
/// `out` writable for `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_random(out: *mut c_void, len: usize) -> c_int {
    /// C's name for "input/output error", the same number on all systems.
    const EIO: i32 = 5;
    // SAFETY: the caller's contract.
    let out = unsafe { bytes_mut(out.cast(), len) };
    match getrandom::fill(out) {
        Ok(()) => OK,
        Err(error) => {
            out.zeroize();
            number::set(error.raw_os_error().unwrap_or(EIO));
            FAILED
        }
    }
}

/// # Safety
/// `memory` writable for `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_wipe(memory: *mut c_void, len: usize) {
    // SAFETY: the caller's contract.
    unsafe { bytes_mut(memory.cast(), len) }.zeroize();
}
