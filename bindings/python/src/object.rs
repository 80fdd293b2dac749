//! File objects of Python: the one place that knows what their methods may return.

use pyo3::exceptions::{PyBlockingIOError, PyOSError, PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyString};

use crate::buffer::{In, Out};
use crate::system::number_of;

/// The error for a file object that cannot take or give anything now. Python's own `io` raises the
/// same.
fn would_block(object: &Bound<'_, PyAny>, method: &str) -> PyResult<PyErr> {
    let number = number_of(object.py(), "EAGAIN")?;
    let message = format!(
        "{method}() of {} would block; make its file blocking with os.set_blocking",
        object.get_type().fully_qualified_name()?
    );
    Ok(PyBlockingIOError::new_err((number, message, 0)))
}

/// The error for a number of bytes that makes no sense.
fn wrong_count(object: &Bound<'_, PyAny>, method: &str, count: &str, asked: usize) -> PyErr {
    match object.get_type().fully_qualified_name() {
        Ok(name) => PyOSError::new_err(format!(
            "{method}() of {name} returned {count}, expected a number from 1 to {asked}"
        )),
        Err(error) => error,
    }
}

/// Replaces the error of a text file, which says nothing about the way out.
fn called<'py>(
    object: &Bound<'py, PyAny>,
    method: &str,
    result: PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let result = result.or_else(|error| {
        let text = object.py().import("io")?.getattr("TextIOBase")?;
        Err(if object.is_instance(&text)? { not_binary() } else { error })
    })?;
    done(object, method, &result)?;
    Ok(result)
}

fn not_binary() -> PyErr {
    PyTypeError::new_err("expected a binary file, not a text file; open it with \"rb\" or \"wb\"")
}

/// Takes the number of bytes that a method says it moved, of `asked`, which is not 0.
fn count(
    object: &Bound<'_, PyAny>,
    method: &str,
    result: &Bound<'_, PyAny>,
    asked: usize,
) -> PyResult<usize> {
    // True says that it succeeded, not that it moved one byte.
    if result.is_instance_of::<PyBool>() {
        return Err(wrong_count(object, method, &result.str()?.to_string(), asked));
    }
    match result.extract::<usize>() {
        Ok(n) if (1..=asked).contains(&n) => Ok(n),
        Err(error) if !error.is_instance_of::<PyOverflowError>(object.py()) => Err(error),
        // Negative or too large numbers.
        _ => Err(wrong_count(object, method, &result.str()?.to_string(), asked)),
    }
}

/// Calls `read`. Returns the number of bytes, which is 0 at the end.
pub fn read(object: &Bound<'_, PyAny>, buf: &mut [u8]) -> PyResult<usize> {
    copy_read(object, &call_read(object, buf.len())?, buf)
}

/// Calls `read` and returns its result.
pub fn call_read<'py>(object: &Bound<'py, PyAny>, len: usize) -> PyResult<Bound<'py, PyAny>> {
    object.py().check_signals()?;
    let data = called(object, "read", object.call_method1("read", (len,)))?;
    if data.is_none() {
        return Err(would_block(object, "read")?);
    }
    if data.is_instance_of::<PyString>() {
        return Err(not_binary());
    }
    Ok(data)
}

/// Copies what `read` returned. Returns the number of bytes.
pub fn copy_read(
    object: &Bound<'_, PyAny>,
    data: &Bound<'_, PyAny>,
    buf: &mut [u8],
) -> PyResult<usize> {
    let data: In<'_, '_> = data.extract()?;
    match buf.get_mut(..data.len()) {
        Some(place) => place.copy_from_slice(data.bytes()),
        None => {
            let count = format!("{} bytes", data.len());
            return Err(wrong_count(object, "read", &count, buf.len()));
        }
    }
    Ok(data.len())
}

/// Calls `write` with bytes that are not empty. Returns how many it took: at least one.
pub fn write(object: &Bound<'_, PyAny>, bytes: Bound<'_, PyBytes>) -> PyResult<usize> {
    // A signal may have ended the last call early. Handle it before this one may block again.
    object.py().check_signals()?;
    let asked = bytes.as_bytes().len();
    let written = called(object, "write", object.call_method1("write", (bytes,)))?;
    if !written.is_none() {
        return count(object, "write", &written, asked);
    }
    // A raw file returns None if it could take nothing, and so does what passes its result on.
    // Other objects that return None, such as small classes of programs, took everything.
    let raw = object.py().import("io")?.getattr("RawIOBase")?;
    match object.is_instance(&raw)? || !is_blocking(object).unwrap_or(true) {
        true => Err(would_block(object, "write")?),
        false => Ok(asked),
    }
}

/// Whether the descriptor of an object is in blocking mode. Fails if there is none.
fn is_blocking(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let number = object.call_method0("fileno")?;
    object.py().import("os")?.call_method1("get_blocking", (number,))?.is_truthy()
}

/// Takes what `read_at` or `write_at` of a storage returned: normally nothing, after it moved all
/// of `asked` bytes. If it passes on a number, as `os.pwrite` returns it, that is the number of
/// bytes.
pub fn moved(
    object: &Bound<'_, PyAny>,
    method: &str,
    result: &Bound<'_, PyAny>,
    asked: usize,
) -> PyResult<usize> {
    if result.is_exact_instance_of::<PyInt>() {
        count(object, method, result, asked)
    } else {
        done(object, method, result).map(|()| asked)
    }
}

/// Checks that a method has done its work: one that is async has only begun.
pub fn done(object: &Bound<'_, PyAny>, method: &str, result: &Bound<'_, PyAny>) -> PyResult<()> {
    if !result.is_none() && result.hasattr("__await__")? {
        let name = object.get_type().fully_qualified_name()?;
        return Err(PyTypeError::new_err(format!("{method} of {name} must not be async")));
    }
    Ok(())
}

/// Calls `flush`, if there is one.
pub fn flush(object: &Bound<'_, PyAny>) -> PyResult<()> {
    object.getattr_opt("flush")?.map_or(Ok(()), |flush| flush.call0().map(drop))
}

/// Reads from a file object until the buffer is full or the file ends. Returns the number of bytes.
#[pyfunction]
pub fn read_fully(file: &Bound<'_, PyAny>, mut buffer: Out<'_>) -> PyResult<usize> {
    fill(file, buffer.bytes())
}

/// Reads until the slice is full or the file ends.
pub fn fill(file: &Bound<'_, PyAny>, bytes: &mut [u8]) -> PyResult<usize> {
    let mut done = 0;
    while done < bytes.len() {
        match read(file, &mut bytes[done..])? {
            0 => break,
            n => done += n,
        }
    }
    Ok(done)
}

/// Writes all of data to a file object.
#[pyfunction]
pub fn write_fully(file: &Bound<'_, PyAny>, data: Bound<'_, PyBytes>) -> PyResult<()> {
    let (len, mut rest) = (data.as_bytes().len(), data);
    let mut left = len;
    while left > 0 {
        left -= write(file, rest.clone())?;
        let bytes = rest.as_bytes();
        rest = PyBytes::new(file.py(), &bytes[bytes.len() - left..]);
    }
    Ok(())
}

/// Raises TypeError unless data is a buffer that can be encrypted.
#[pyfunction]
pub fn check_buffer(_data: In<'_, '_>) {}
