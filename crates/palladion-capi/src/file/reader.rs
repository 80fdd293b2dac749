//! Reading files from the middle: C's `palladion_reader`.

use core::ffi::{c_char, c_int, c_void};
use core::num::NonZero;
use std::io;
use std::path::Path;
use std::ptr;

use palladion_file::{ReadAt, SeekReader};
use palladion_output::open_input;

use super::failure::Failure::{self, Number};
use super::failure::WRONG_ARGUMENT;
use super::result;
use super::secret::{Secret, path};
use crate::memory::bytes_mut;
use crate::number;

type Fetch = unsafe extern "C" fn(*mut c_void, *mut u8, usize, u64) -> c_int;
type GetSize = unsafe extern "C" fn(*mut c_void, *mut u64) -> c_int;

/// C's `palladion_source`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Source {
    user: *mut c_void,
    read_at: Option<Fetch>,
    get_size: Option<GetSize>,
}

/// A source with both functions, which do what the header says.
struct Callbacks {
    user: *mut c_void,
    read_at: Fetch,
    get_size: GetSize,
}

// SAFETY: the header says that the functions may be called by several threads at once.
unsafe impl Send for Callbacks {}
// SAFETY: the header says that the functions may be called by several threads at once.
unsafe impl Sync for Callbacks {}

impl ReadAt for Callbacks {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        // SAFETY: by the header's contract it writes to the buffer and to nothing else.
        let result =
            unsafe { (self.read_at)(self.user, buffer.as_mut_ptr(), buffer.len(), offset) };
        number::of_callback(result)
    }
    fn size(&self) -> io::Result<u64> {
        let mut size = 0;
        // SAFETY: by the header's contract it writes to the size and to nothing else.
        number::of_callback(unsafe { (self.get_size)(self.user, &mut size) })?;
        Ok(size)
    }
}

type Reader = SeekReader<Box<dyn ReadAt + Send + Sync>>;

fn open(source: impl ReadAt + Send + Sync + 'static, secret: &Secret) -> Result<Reader, Failure> {
    let source: Box<dyn ReadAt + Send + Sync> = Box::new(source);
    Ok(SeekReader::with_limits(secret.get(), &secret.limits, source)?)
}

fn open_file(path: &Path, secret: &Secret) -> Result<Reader, Failure> {
    let file = open_input(path)?;
    if file.metadata()?.is_dir() {
        return Err(Number(libc::EISDIR));
    }
    open(file, secret)
}

fn open_source(source: Source, secret: &Secret) -> Result<Reader, Failure> {
    let Source { user, read_at: Some(read_at), get_size: Some(get_size) } = source else {
        return Err(WRONG_ARGUMENT);
    };
    // The functions may expect the caller's thread, as those of databases do.
    Ok(open(Callbacks { user, read_at, get_size }, secret)?.threads(NonZero::<usize>::MIN))
}

/// Gives an open file to C.
///
/// # Safety
/// `reader` null or writable; `secret` null, or from `palladion_secret_from_…` and not freed.
unsafe fn opened(
    reader: *mut *mut Reader,
    secret: *const Secret,
    open: impl FnOnce(&Secret) -> Result<Reader, Failure>,
) -> c_int {
    // SAFETY: the caller's contract.
    let (reader, secret) = unsafe { (reader.as_mut(), secret.as_ref()) };
    let Some(reader) = reader else {
        return WRONG_ARGUMENT.report();
    };
    *reader = ptr::null_mut();
    let made = secret.ok_or(WRONG_ARGUMENT).and_then(open);
    result(made.map(|made| *reader = Box::into_raw(Box::new(made))))
}

/// # Safety
/// `reader` null or writable; `from` null, or ends with a zero; `secret` null, or from
/// `palladion_secret_from_…` and not freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_reader_open(
    reader: *mut *mut Reader,
    from: *const c_char,
    secret: *const Secret,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { opened(reader, secret, |secret| open_file(path(from)?, secret)) }
}

/// # Safety
/// As `palladion_reader_open`; `source` null or readable, and its functions do what the header says
/// until the reader is freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_reader_open_source(
    reader: *mut *mut Reader,
    source: *const Source,
    secret: *const Secret,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe {
        let source = source.as_ref().ok_or(WRONG_ARGUMENT);
        opened(reader, secret, |secret| open_source(*source?, secret))
    }
}

/// # Safety
/// `reader` from one of the functions above and not freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_reader_size(reader: *const Reader) -> u64 {
    // SAFETY: the caller's contract. Null, which it excludes, has no bytes.
    unsafe { reader.as_ref() }.map_or(0, |reader| reader.len())
}

/// # Safety
/// `reader` null, or from one of the functions above and not freed; `out` writable for `len` bytes,
/// null only if there are none; `out_len` null or writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_reader_read(
    reader: *const Reader,
    out: *mut u8,
    len: usize,
    off: u64,
    out_len: *mut usize,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe {
        let mut out_len = out_len.as_mut();
        if let Some(out_len) = &mut out_len {
            **out_len = 0;
        }
        let Some(out) = bytes_mut(out, len) else {
            return WRONG_ARGUMENT.report();
        };
        let (Some(reader), Some(out_len)) = (reader.as_ref(), out_len) else {
            out.fill(0); // the reader does so when it fails
            return WRONG_ARGUMENT.report();
        };
        let read = reader.read_at(out, off);
        result(read.map(|read| *out_len = read).map_err(Failure::from))
    }
}

/// # Safety
/// `reader` null, or from one of the functions above and not freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_reader_free(reader: *mut Reader) {
    if !reader.is_null() {
        // SAFETY: `opened` made it with `Box::into_raw`; the caller promises the rest.
        drop(unsafe { Box::from_raw(reader) });
    }
}
