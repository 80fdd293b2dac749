//! Bytes that belong to Python: arguments with the buffer protocol, and new `bytes` objects.
//!
//! Whoever gives a buffer can write to it from another thread while we work on it without the
//! interpreter's lock. As with `hashlib`, the result is then meaningless, nothing worse:
//! the kernels take bytes as data only, and neither lengths nor places depend on them. What is
//! decided on (a tag that came along, a nonce) is copied first.

use std::ffi::c_int;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::ffi::{self, Py_ssize_t};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyBytes;

/// The buffer protocol. It belongs to the stable interface since Python 3.11, and has had the same
/// shape since 3.0: so it is declared here for those before. (On Windows the stable interface is a
/// library of its own, which has it from 3.11 on: there a build needs the feature `py311`.)
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
        format: *mut c_char,
        shape: *mut Py_ssize_t,
        strides: *mut Py_ssize_t,
        suboffsets: *mut Py_ssize_t,
        internal: *mut c_void,
    }
    pub const PyBUF_SIMPLE: c_int = 0;
    pub const PyBUF_WRITABLE: c_int = 1;

    unsafe extern "C" {
        pub fn PyObject_GetBuffer(obj: *mut PyObject, view: *mut Py_buffer, flags: c_int) -> c_int;
        pub fn PyBuffer_Release(view: *mut Py_buffer);
    }
}
#[cfg(not(feature = "py39"))]
use pyo3::ffi as protocol;

/// A buffer of an object, held until it is dropped: until then it stays where it is.
struct View<'py> {
    view: protocol::Py_buffer,
    /// It is to be dropped with the interpreter's lock.
    attached: PhantomData<Python<'py>>,
}

impl<'py> View<'py> {
    #[inline]
    fn new(object: Borrowed<'_, 'py, PyAny>, flags: c_int) -> PyResult<Self> {
        let mut view = MaybeUninit::uninit();
        // SAFETY: an object, which is attached; room for the view, which is filled in if the result
        // is zero.
        unsafe {
            if protocol::PyObject_GetBuffer(object.as_ptr(), view.as_mut_ptr(), flags) != 0 {
                return Err(PyErr::fetch(object.py()));
            }
            Ok(Self { view: view.assume_init(), attached: PhantomData })
        }
    }

    /// Where the bytes are, never null.
    #[inline]
    fn place(&self) -> (*mut u8, usize) {
        let start = self.view.buf.cast::<u8>();
        (if start.is_null() { ptr::dangling_mut() } else { start }, self.view.len as usize)
    }
}

impl Drop for View<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: it was filled in by PyObject_GetBuffer, and is released once, with the
        // interpreter's lock, as the lifetime says.
        unsafe { protocol::PyBuffer_Release(&mut self.view) }
    }
}

/// Bytes to be read: any object that is contiguous in memory.
pub struct In<'a, 'py> {
    start: *const u8,
    len: usize,
    _view: Option<View<'py>>,
    borrowed: PhantomData<&'a [u8]>,
}

impl<'a, 'py> FromPyObject<'a, 'py> for In<'a, 'py> {
    type Error = PyErr;

    #[inline]
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        // What comes most often needs no view: who calls us holds a reference, and such bytes do
        // not move or change.
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
        Ok(Self { start, len, _view: Some(view), borrowed: PhantomData })
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
        // SAFETY: so many bytes are there as long as this is. That nobody writes to them is the
        // caller's to see to, as the top of this file says.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

/// What an argument that was left out stands for: no bytes.
pub fn place_or_none(bytes: &Option<In<'_, '_>>) -> (*const u8, usize) {
    bytes.as_ref().map_or((ptr::dangling(), 0), In::place)
}

/// Returns the bytes of an optional argument: none if it was left out.
pub fn bytes_or_none<'a>(bytes: &'a Option<In<'_, '_>>) -> &'a [u8] {
    bytes.as_ref().map_or(&[], In::bytes)
}

/// Bytes to be written: any object that is contiguous in memory and may be changed.
pub struct Out<'py> {
    object: Bound<'py, PyAny>,
    view: View<'py>,
}

impl<'py> FromPyObject<'_, 'py> for Out<'py> {
    type Error = PyErr;

    #[inline]
    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let view = View::new(object, protocol::PyBUF_SIMPLE | protocol::PyBUF_WRITABLE)?;
        Ok(Self { view, object: object.to_owned() })
    }
}

impl<'py> Out<'py> {
    pub fn place(&self) -> (*mut u8, usize) {
        self.view.place()
    }

    pub fn bytes(&mut self) -> &mut [u8] {
        let (start, len) = self.place();
        // SAFETY: as for `In`.
        unsafe { std::slice::from_raw_parts_mut(start, len) }
    }
}

/// Where a result goes: into a new `bytes` object, or to where the caller wants it.
pub struct Target<'py> {
    object: Bound<'py, PyAny>,
    /// Holds the buffer if it is the caller's.
    _view: Option<View<'py>>,
    start: *mut u8,
    len: usize,
}

impl<'py> Target<'py> {
    /// Room for `len` bytes. `into` must have just as many.
    #[inline]
    pub fn new(py: Python<'py>, into: Option<Out<'py>>, len: usize) -> PyResult<Self> {
        let Some(Out { object, view }) = into else {
            let size = Py_ssize_t::try_from(len)
                .map_err(|_| PyValueError::new_err("too long for Python"))?;
            // SAFETY: a new object of that size, of which nobody else knows; its bytes may be
            // written until it is handed out.
            unsafe {
                let object = Bound::from_owned_ptr_or_err(
                    py,
                    ffi::PyBytes_FromStringAndSize(ptr::null(), size),
                )?;
                let start = ffi::PyBytes_AsString(object.as_ptr()).cast();
                return Ok(Self { object, _view: None, start, len });
            }
        };
        let (start, actual) = view.place();
        if actual != len {
            return Err(PyValueError::new_err(format!(
                "into must have {len} bytes, but has {actual}"
            )));
        }
        Ok(Self { object, _view: Some(view), start, len })
    }

    /// Whether the input is where this is: then it is worked on in place.
    #[inline]
    pub fn is_at(&self, (start, _): (*const u8, usize)) -> bool {
        std::ptr::eq(start, self.start)
    }

    /// Checks that it does not overlap the input.
    #[inline]
    pub fn check_apart(&self, (start, len): (*const u8, usize)) -> PyResult<()> {
        let (input, output) = (start.addr(), self.start.addr());
        if input < output + self.len && output < input + len {
            return Err(PyValueError::new_err("into overlaps the input"));
        }
        Ok(())
    }

    /// Checks that it is where the input is or does not overlap it.
    #[inline]
    pub fn check_overlap(&self, input: (*const u8, usize)) -> PyResult<()> {
        if self.is_at(input) { Ok(()) } else { self.check_apart(input) }
    }

    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// The bytes, all of which are written to.
    ///
    /// # Safety
    /// They have been written before, or it is a buffer of the caller's.
    pub unsafe fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: it is valid for writes of that length, and was written, as the caller promises.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }

    /// Zeroes all of it, so that it can be seen as a slice.
    pub fn zeroed(&mut self) -> &mut [u8] {
        // SAFETY: it is valid for writes of that length, and then written.
        unsafe {
            ptr::write_bytes(self.start, 0, self.len);
            self.bytes()
        }
    }

    /// A copy of the input, if it is not there already.
    pub fn copied(&mut self, input: &In<'_, '_>) -> &mut [u8] {
        let (start, len) = input.place();
        assert_eq!(len, self.len);
        // SAFETY: both have that many bytes, which are then written; `copy` does not mind if they
        // overlap.
        unsafe {
            ptr::copy(start, self.start, len);
            self.bytes()
        }
    }

    /// What the caller gets: the new object, or the one that was given.
    pub fn finish(self) -> Bound<'py, PyAny> {
        self.object
    }
}

/// Locks what several threads may use, and waits without the interpreter's lock. (A panic in
/// another thread was told there.)
pub fn lock<'a, T>(py: Python<'_>, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
    mutex.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
}

/// What takes so long that others should run meanwhile: ten microseconds or more. To let them takes
/// up to one.
const LONG: usize = 128 << 10;

/// Does some work, without the interpreter's lock if it is so many bytes that it pays.
///
/// `work` must not touch Python. (The pointers that it takes along are those of buffers that are
/// held.)
#[inline]
pub fn work_on<T: Send>(py: Python<'_>, bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes < LONG {
        return work();
    }
    /// May go to no other thread, and does not: `detach` calls it on this one.
    struct Here<F>(F);
    // SAFETY: see above.
    unsafe impl<F> Send for Here<F> {}
    impl<T, F: FnOnce() -> T> Here<F> {
        fn call(self) -> T {
            (self.0)()
        }
    }
    let work = Here(work);
    py.detach(move || work.call())
}
