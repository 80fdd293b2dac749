//! Reading files from the middle: C's `palladion_reader`.

use core::ffi::{c_char, c_int, c_void};
use core::num::NonZero;
use std::fs::File;
use std::io;
use std::path::Path;
use std::ptr;

use palladion_file::output::open_input;
use palladion_file::{ReadAt, SeekReader};

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
// SAFETY: the same.
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

enum Reader {
    File(SeekReader<File>),
    Source(SeekReader<Callbacks>),
}

impl Reader {
    fn open(path: &Path, secret: &Secret) -> Result<Self, Failure> {
        let file = open_input(path)?;
        if file.metadata()?.is_dir() {
            return Err(Number(libc::EISDIR));
        }
        Ok(Self::File(SeekReader::with_limits(secret.get(), &secret.limits, file)?))
    }

    fn open_source(source: Source, secret: &Secret) -> Result<Self, Failure> {
        let Source { user, read_at: Some(read_at), get_size: Some(get_size) } = source else {
            return Err(WRONG_ARGUMENT);
        };
        let source = Callbacks { user, read_at, get_size };
        let reader = SeekReader::with_limits(secret.get(), &secret.limits, source)?;
        // The functions may expect the caller's thread, as those of databases do.
        Ok(Self::Source(reader.threads(NonZero::<usize>::MIN)))
    }

    fn len(&self) -> u64 {
        match self {
            Self::File(reader) => reader.len(),
            Self::Source(reader) => reader.len(),
        }
    }

    fn read_at(&self, out: &mut [u8], offset: u64) -> Result<usize, Failure> {
        Ok(match self {
            Self::File(reader) => reader.read_at(out, offset)?,
            Self::Source(reader) => reader.read_at(out, offset)?,
        })
    }
}

/// # Safety
/// `reader` null or writable.
unsafe fn opened(reader: *mut *mut Reader, made: Result<Reader, Failure>) -> c_int {
    // SAFETY: the caller's contract.
    let Some(reader) = (unsafe { reader.as_mut() }) else {
        return WRONG_ARGUMENT.report();
    };
    *reader = ptr::null_mut();
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
    unsafe {
        let made = match (path(from), secret.as_ref()) {
            (Ok(from), Some(secret)) if !reader.is_null() => Reader::open(from, secret),
            _ => Err(WRONG_ARGUMENT),
        };
        opened(reader, made)
    }
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
        let made = match (source.as_ref(), secret.as_ref()) {
            (Some(source), Some(secret)) if !reader.is_null() => {
                Reader::open_source(*source, secret)
            }
            _ => Err(WRONG_ARGUMENT),
        };
        opened(reader, made)
    }
}

/// # Safety
/// `reader` from one of the functions above and not freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_reader_size(reader: *const Reader) -> u64 {
    // SAFETY: the caller's contract. Null, which it excludes, has no bytes.
    unsafe { reader.as_ref() }.map_or(0, Reader::len)
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
        let Some(out_len) = out_len.as_mut() else {
            return WRONG_ARGUMENT.report();
        };
        *out_len = 0;
        let Some(reader) = reader.as_ref().filter(|_| !out.is_null() || len == 0) else {
            return WRONG_ARGUMENT.report();
        };
        result(reader.read_at(bytes_mut(out, len), off).map(|read| *out_len = read))
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
