//! Keys and key files.

use std::fmt::Display;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use palladion_file::{KeyFileError, MasterKey};
use palladion_output::{self as output, open_to_others};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use crate::buffer::In;
use crate::error::error;
use crate::storage::os_error;
use crate::system::numbered;

pub fn master_key(key: &In<'_, '_>) -> PyResult<MasterKey> {
    let bytes = <[u8; 32]>::try_from(key.bytes()).map_err(|_| {
        error(palladion::Error::WrongLength { what: "key", expected: 32, actual: key.len() })
    })?;
    Ok(bytes.into())
}

/// The longest key file, in bytes. A longer file is something else.
const LONGEST: usize = 64 << 10;

/// Reads the key in a key file. Like the command, it refuses a file that others can use.
pub fn read_key_file(py: Python<'_>, path: &Path) -> PyResult<MasterKey> {
    // Opening a FIFO waits for its writer. Python's function stops at Ctrl-C.
    let open = py.import("palladion._output")?.getattr("open_input")?;
    let object = open.call1((path, 0))?;
    let mut file = output::duplicate(object.call_method0("fileno")?.extract()?)?;
    object.call_method0("close")?;
    // Large enough from the start: growing would leave copies in freed memory, as Python does.
    let (mut bytes, mut len) = (Zeroizing::new(vec![0; LONGEST + 1]), 0);
    while len < bytes.len() {
        match py.detach(|| file.read(&mut bytes[len..])) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => py.check_signals()?,
            Err(error) => return Err(os_error(py, &error, Some(path))),
        }
    }
    let other = match output::descriptor(path) {
        // The program that opened a descriptor decides who may read it.
        Some(_) => None,
        None => open_to_others(&file),
    };
    let invalid =
        |what: &dyn Display| Err(PyValueError::new_err(format!("{}: {what}", path.display())));
    if len > LONGEST {
        return invalid(&"expected a key file, but it is longer than 64 KiB");
    }
    let bytes = &bytes[..len];
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") => {
            return invalid(&"the key file is UTF-16: save it as UTF-8");
        }
        Err(_) => return invalid(&KeyFileError::NoKey),
    };
    let key = match MasterKey::from_key_file(text) {
        Ok(key) => key,
        Err(error) => return invalid(&error),
    };
    if let Some(what) = other {
        let text = format!(
            "other users can {what} the key file: make it private (chmod 600); if the disk has no \
             permissions, open it and name its descriptor, \"/dev/fd/N\""
        );
        return Err(numbered(py, "EACCES", &text, Some(path)));
    }
    Ok(key)
}

/// Returns the key in a key file.
#[pyfunction]
pub fn load_key(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyBytes>> {
    read_key_file(py, &path).map(|key| PyBytes::new(py, key.as_bytes()))
}

/// Returns the text of a key file for a key.
#[pyfunction]
pub fn format_key_file(key: In<'_, '_>) -> PyResult<String> {
    master_key(&key).map(|key| key.to_key_file().to_string())
}
