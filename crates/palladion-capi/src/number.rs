//! C's error number, `errno`. On Windows this is not the system's error number.

use core::ffi::c_int;
use std::io;

#[cfg(not(windows))]
pub(crate) fn set(number: c_int) {
    errno::set_errno(errno::Errno(number));
}

#[cfg(not(windows))]
pub(crate) fn get() -> c_int {
    errno::errno().0
}

#[cfg(windows)]
unsafe extern "C" {
    fn _set_errno(number: c_int) -> c_int;
    fn _get_errno(number: *mut c_int) -> c_int;
}

#[cfg(windows)]
pub(crate) fn set(number: c_int) {
    // SAFETY: a function of the C library that accepts any number.
    unsafe { _set_errno(number) };
}

#[cfg(windows)]
pub(crate) fn get() -> c_int {
    let mut number = 0;
    // SAFETY: a function of the C library that writes to the pointer, which is valid.
    unsafe { _get_errno(&mut number) };
    number
}

/// Converts a callback's result. A callback that fails should have set errno; zero would read
/// "success".
pub(crate) fn of_callback(result: c_int) -> io::Result<()> {
    match (result, get()) {
        (0, _) => Ok(()),
        (_, 0) => Err(error(libc::EIO)),
        (_, number) => Err(error(number)),
    }
}

/// C's error number as an error. On Windows `io::Error` has numbers too, but they are the system's
/// and mean something else.
pub(crate) fn error(number: c_int) -> io::Error {
    match cfg!(windows) {
        true => io::Error::other(Errno(number)),
        false => io::Error::from_raw_os_error(number),
    }
}

/// Returns C's error number of an error, if it has one.
pub(crate) fn of(error: &io::Error) -> Option<c_int> {
    match cfg!(windows) {
        true => error.get_ref()?.downcast_ref::<Errno>().map(|Errno(number)| *number),
        false => error.raw_os_error(),
    }
}

#[derive(Debug)]
struct Errno(c_int);

impl core::fmt::Display for Errno {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "errno {}", self.0)
    }
}

impl core::error::Error for Errno {}
