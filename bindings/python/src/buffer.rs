//! Bytes that belong to Python: arguments with the buffer protocol, and new `bytes` objects. A
//! caller can write to its buffer from another thread while we work on it without the interpreter's
//! lock. As with `hashlib`, the result is then meaningless, but nothing worse happens: the kernels
//! treat the bytes as data, and no length or address depends on them. A tag or a nonce from the
//! caller is copied first.

use std::borrow::Cow;
use std::ffi::{CStr, c_int};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi::{self, Py_ssize_t};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyBytes;

/// The buffer protocol. It is part of the stable interface since Python 3.11 and has not changed
/// since 3.0, so we declare it here for older versions. On Windows, the library of the stable
/// interface lacks it before 3.11, so a build needs the feature `py311`.
#[cfg(feature = "py39")]
#[allow(non_camel_case_types, non_upper_case_globals)] // the names are Python's
mod protocol {
    use std::ffi::{c_char, c_int, c_void};

    use pyo3::ffi::{Py_ssize_t, PyObject};

    #[repr(C)]
    pub struct Py_buffer {
        pub buf: *mut c_void,
        pub obj: *mut PyObject,
        pub len: Py_ssize_t,
        itemsize: Py_ssize_t,
        readonly: c_int,
        ndim: c_int,
        pub format: *mut c_char,
        shape: *mut Py_ssize_t,
        strides: *mut Py_ssize_t,
        suboffsets: *mut Py_ssize_t,
        internal: *mut c_void,
    }
    pub const PyBUF_SIMPLE: c_int = 0;
    pub const PyBUF_WRITABLE: c_int = 1;
    pub const PyBUF_FORMAT: c_int = 4;
    pub const PyBUF_ND: c_int = 8;

    unsafe extern "C" {
        pub fn PyObject_GetBuffer(obj: *mut PyObject, view: *mut Py_buffer, flags: c_int) -> c_int;
        pub fn PyBuffer_Release(view: *mut Py_buffer);
    }
}
#[cfg(not(feature = "py39"))]
use pyo3::ffi as protocol;

/// A buffer of an object. While this is held, the buffer does not move and keeps its length.
struct View<'py> {
    view: protocol::Py_buffer,
    /// Makes sure that it is dropped with the interpreter's lock.
    attached: PhantomData<Python<'py>>,
}

impl<'py> View<'py> {
    /// Asks for the buffer, and refuses one that holds addresses: they would be encrypted instead
    /// of what is there, and writing to them would be worse.
    #[inline]
    fn new(object: Borrowed<'_, 'py, PyAny>, flags: c_int) -> PyResult<Self> {
        // A memoryview has a format only together with a shape.
        let described = Self::get(object, flags | protocol::PyBUF_ND | protocol::PyBUF_FORMAT);
        let (view, addresses) = match described {
            Ok(view) => {
                let addresses = view.has_addresses();
                (view, addresses)
            }
            // NumPy describes neither its dates, which are plain numbers, nor its strings.
            Err(_) => (Self::get(object, flags)?, has_objects(&object)?),
        };
        if addresses { Err(holds_addresses(&object)) } else { Ok(view) }
    }

    #[inline]
    fn get(object: Borrowed<'_, 'py, PyAny>, flags: c_int) -> PyResult<Self> {
        let mut view = MaybeUninit::uninit();
        // SAFETY: `object` is alive and we hold the interpreter's lock, as `'py` proves; `view` has
        // room for a Py_buffer, which is filled in if the result is zero.
        unsafe {
            if protocol::PyObject_GetBuffer(object.as_ptr(), view.as_mut_ptr(), flags) != 0 {
                return Err(PyErr::fetch(object.py()));
            }
            Ok(Self { view: view.assume_init(), attached: PhantomData })
        }
    }

    /// Returns whether an item of the buffer is or has the address of something else.
    #[inline]
    fn has_addresses(&self) -> bool {
        if self.view.format.is_null() {
            return false;
        }
        // SAFETY: a format that is not null is a C string that lives as long as the view.
        let format = unsafe { CStr::from_ptr(self.view.format) }.to_bytes();
        match format {
            [code] => matches!(code, b'O' | b'P' | b'z' | b'Z'),
            _ => has_address(format),
        }
    }

    /// The address, which is never null, and the length.
    #[inline]
    fn place(&self) -> (*mut u8, usize) {
        let start = self.view.buf.cast::<u8>();
        (if start.is_null() { ptr::dangling_mut() } else { start }, self.view.len as usize)
    }
}

/// Returns whether a format of PEP 3118 has the code of an object (O), of a C string (z, Z), or of
/// another pointer (P, &, X).
fn has_address(format: &[u8]) -> bool {
    let mut codes = format.iter().copied().peekable();
    while let Some(code) = codes.next() {
        match code {
            // The name of a field.
            b':' => while codes.next().is_some_and(|letter| letter != b':') {},
            // A complex number.
            b'Z' if matches!(codes.peek(), Some(b'f' | b'd' | b'g')) => {}
            b'O' | b'P' | b'&' | b'X' | b'z' | b'Z' => return true,
            _ => {}
        }
    }
    false
}

/// Returns whether the items of a NumPy array hold objects, for an array without a format.
#[cold]
fn has_objects(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Some(dtype) = object.getattr_opt("dtype")? else { return Ok(false) };
    dtype.getattr_opt("hasobject")?.map_or(Ok(false), |has| has.is_truthy())
}

#[cold]
fn holds_addresses(object: &Bound<'_, PyAny>) -> PyErr {
    let name = object.get_type().fully_qualified_name();
    name.map_or_else(
        |error| error,
        |name| {
            PyTypeError::new_err(format!(
                "expected bytes or numbers, but this {name} holds the addresses of objects; \
             convert them to bytes first, or pass an array of values to palladion.columns"
            ))
        },
    )
}

impl Drop for View<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: PyObject_GetBuffer filled it in, only drop releases it, and `'py` proves that we
        // hold the interpreter's lock.
        unsafe { protocol::PyBuffer_Release(&mut self.view) }
    }
}

/// Input: the bytes of any object that is contiguous in memory.
pub struct In<'a, 'py> {
    start: *const u8,
    len: usize,
    /// Boxed, because it has 80 bytes, which would be copied several times for each argument.
    _view: Option<Box<View<'py>>>,
    borrowed: PhantomData<&'a [u8]>,
}

impl<'a, 'py> FromPyObject<'a, 'py> for In<'a, 'py> {
    type Error = PyErr;

    #[inline]
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        // `bytes`, the most frequent type, needs no view: the caller holds a reference, and the
        // bytes neither move nor change.
        if let Ok(bytes) = object.cast_exact::<PyBytes>() {
            let bytes = bytes.as_bytes();
            return Ok(Self {
                start: bytes.as_ptr(),
                len: bytes.len(),
                _view: None,
                borrowed: PhantomData,
            });
        }
        let view = View::new(object, protocol::PyBUF_SIMPLE)?;
        let (start, len) = view.place();
        Ok(Self { start, len, _view: Some(Box::new(view)), borrowed: PhantomData })
    }
}

impl In<'_, '_> {
    pub fn place(&self) -> (*const u8, usize) {
        (self.start, self.len)
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the object has `len` bytes at `start`, which stay there while the view or the
        // borrowed reference is held. The caller must not write to them meanwhile; the top of this
        // file says what happens otherwise.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

/// Returns the bytes of an optional argument: none if it was left out.
pub fn bytes_or_none<'a>(bytes: &'a Option<In<'_, '_>>) -> &'a [u8] {
    bytes.as_ref().map_or(&[], In::bytes)
}

/// Returns the associated data, or a copy if the output covers a part of it: kernels may read it
/// again after they have written.
pub fn beside<'a>(ad: &'a Option<In<'_, '_>>, output: (*mut u8, usize)) -> Cow<'a, [u8]> {
    let ad = bytes_or_none(ad);
    if overlap((ad.as_ptr(), ad.len()), output) { ad.to_vec().into() } else { ad.into() }
}

/// Whether an input and an output overlap.
fn overlap((from, from_len): (*const u8, usize), (to, to_len): (*mut u8, usize)) -> bool {
    let (input, output) = (from.addr(), to.addr());
    input < output + to_len && output < input + from_len
}

/// Output: the bytes of any writable object that is contiguous in memory.
pub struct Out<'py> {
    view: View<'py>,
}

impl<'py> FromPyObject<'_, 'py> for Out<'py> {
    type Error = PyErr;

    #[inline]
    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self { view: View::new(object, protocol::PyBUF_WRITABLE)? })
    }
}

impl<'py> Out<'py> {
    pub fn place(&self) -> (*mut u8, usize) {
        self.view.place()
    }

    pub fn bytes(&mut self) -> &mut [u8] {
        let (start, len) = self.place();
        // SAFETY: the view holds a writable buffer of `len` bytes at `start`, and `&mut self` makes
        // this its only slice here. No other thread may use the bytes meanwhile; the top of this
        // file says what happens otherwise.
        unsafe { std::slice::from_raw_parts_mut(start, len) }
    }
}

/// The place for a result: a new `bytes` object or the caller's buffer.
pub struct Target<'py> {
    object: Bound<'py, PyAny>,
    /// Holds the caller's buffer, if it is one.
    _view: Option<View<'py>>,
    start: *mut u8,
    len: usize,
}

impl<'py> Target<'py> {
    /// Provides room for `len` bytes: a new object, or the buffer of `into`, which must have that
    /// many.
    #[inline]
    pub fn new(py: Python<'py>, into: Option<Bound<'py, PyAny>>, len: usize) -> PyResult<Self> {
        let Some(object) = into else {
            let size = Py_ssize_t::try_from(len)
                .map_err(|_| PyValueError::new_err("too long for Python"))?;
            // SAFETY: `size` is not negative. Nobody else has a reference to the new object, so its
            // bytes may be written until `finish` returns it.
            unsafe {
                let object = Bound::from_owned_ptr_or_err(
                    py,
                    ffi::PyBytes_FromStringAndSize(ptr::null(), size),
                )?;
                let start = ffi::PyBytes_AsString(object.as_ptr()).cast();
                return Ok(Self { object, _view: None, start, len });
            }
        };
        let target = Self::whole(object)?;
        if target.len != len {
            return Err(PyValueError::new_err(format!(
                "into must have {len} bytes, but has {}",
                target.len
            )));
        }
        Ok(target)
    }

    /// Provides the whole buffer of an object.
    #[inline]
    pub fn whole(object: Bound<'py, PyAny>) -> PyResult<Self> {
        let view = View::new(object.as_borrowed(), protocol::PyBUF_WRITABLE)?;
        let (start, len) = view.place();
        Ok(Self { object, _view: Some(view), start, len })
    }

    /// Whether the input starts at the same address, so that the work is in place.
    #[inline]
    pub fn is_at(&self, (start, _): (*const u8, usize)) -> bool {
        std::ptr::eq(start, self.start)
    }

    /// Checks that the target does not overlap the input.
    #[inline]
    pub fn check_apart(&self, input: (*const u8, usize)) -> PyResult<()> {
        if overlap(input, self.place()) {
            return Err(PyValueError::new_err("into overlaps the input"));
        }
        Ok(())
    }

    /// Checks that the target starts where the input does, or does not overlap it.
    #[inline]
    pub fn check_overlap(&self, input: (*const u8, usize)) -> PyResult<()> {
        if self.is_at(input) { Ok(()) } else { self.check_apart(input) }
    }

    pub fn start(&self) -> *mut u8 {
        self.start
    }

    pub fn place(&self) -> (*mut u8, usize) {
        (self.start, self.len)
    }

    /// The bytes of the target.
    ///
    /// # Safety
    /// They must be initialised: written before, or a buffer of the caller.
    pub unsafe fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: `start` is valid for `len` bytes while `self` lives, and the caller promises that
        // they are initialised.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }

    /// Zeroes the bytes and returns them.
    pub fn zeroed(&mut self) -> &mut [u8] {
        // SAFETY: `start` is valid for writes of `len` bytes, which are then initialised.
        unsafe {
            ptr::write_bytes(self.start, 0, self.len);
            self.bytes()
        }
    }

    /// Copies the input to the target, unless it is there already, and returns the bytes.
    pub fn copied(&mut self, input: &In<'_, '_>) -> &mut [u8] {
        let (start, len) = input.place();
        assert_eq!(len, self.len);
        // SAFETY: both have `len` bytes; `copy` allows them to overlap, and initialises the target.
        unsafe {
            ptr::copy(start, self.start, len);
            self.bytes()
        }
    }

    /// Returns the new object, or the one that the caller passed.
    pub fn finish(self) -> Bound<'py, PyAny> {
        self.object
    }
}

/// Locks a mutex, and waits for it without the interpreter's lock. A mutex poisoned by a panic is
/// used anyway, because the thread that panicked has raised an exception.
pub fn lock<'a, T>(py: Python<'_>, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
    mutex.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
}

/// From this many bytes on, release the interpreter's lock: the work takes ten microseconds or
/// more, releasing the lock takes up to one.
const LONG: usize = 128 << 10;

/// Does some work on this thread, without the interpreter's lock if there are enough bytes.
///
/// `work` must not use Python. Its pointers must point into buffers that are held.
#[inline]
pub fn work_on<T: Send>(py: Python<'_>, bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes < LONG {
        return work();
    }
    /// Work that may not move to another thread.
    struct Here<F>(F);
    // SAFETY: `detach` calls the work on the thread that called `detach`.
    unsafe impl<F> Send for Here<F> {}
    impl<T, F: FnOnce() -> T> Here<F> {
        fn call(self) -> T {
            (self.0)()
        }
    }
    let work = Here(work);
    py.detach(move || work.call())
}
