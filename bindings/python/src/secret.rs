//! Keys, key files and passphrases as arguments.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palladion_file::{Keyring, MasterKey, Passphrase};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use crate::buffer::In;
use crate::error::error;
use crate::file::{Run, read_key_file};

/// The secrets of files, any of which may open one. Passphrases keep the keys that they became.
#[pyclass(module = "palladion", frozen)]
pub struct Secret {
    keys: Vec<MasterKey>,
    passphrases: Vec<Passphrase>,
    /// Whether nobody waits for Argon2id any longer.
    interrupted: Arc<AtomicBool>,
    /// Whether there was a list, or more than one argument.
    is_several: bool,
    /// Whether the first passphrase is a text that has one.
    has_line_break: bool,
}

#[pymethods]
impl Secret {
    /// Copies keys and passphrases, and reads key files. Each argument is one, or a list or tuple.
    #[new]
    #[pyo3(signature = (key, key_file, passphrase))]
    fn new(
        py: Python<'_>,
        key: Option<Bound<'_, PyAny>>,
        key_file: Option<Bound<'_, PyAny>>,
        passphrase: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let given = [key.is_some(), key_file.is_some(), passphrase.is_some()];
        let given = given.into_iter().filter(|given| *given).count();
        if given == 0 {
            return Err(PyTypeError::new_err("pass key (32 bytes), key_file or passphrase"));
        }
        let (key, key_file) = (Several::new("key", key)?, Several::new("key_file", key_file)?);
        let passphrase = Several::new("passphrase", passphrase)?;
        // Large enough from the start: growing would leave copies in freed memory.
        let mut keys = Vec::with_capacity(key.items.len() + key_file.items.len());
        key.each(py, |key| {
            keys.push(master_key(&key.extract()?)?);
            Ok(())
        })?;
        key_file.each(py, |path| {
            keys.push(read_key_file(py, &path.extract::<PathBuf>()?)?);
            Ok(())
        })?;
        let (mut passphrases, mut has_line_break) = (Vec::new(), false);
        passphrase.each(py, |object| {
            if passphrases.is_empty()
                && let Ok(text) = object.cast::<PyString>()
            {
                has_line_break = text.to_string_lossy().contains(['\r', '\n']);
            }
            passphrases.push(self::passphrase(object)?);
            Ok(())
        })?;
        let is_list = key.is_list || key_file.is_list || passphrase.is_list;
        let (is_several, interrupted) = (is_list || given > 1, Arc::default());
        Ok(Self { keys, passphrases, interrupted, is_several, has_line_break })
    }

    /// Ends waits for Argon2id with an error, now and later.
    fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
    }

    /// The first key, or the first passphrase if there is no key.
    fn first(&self) -> Self {
        let keys: Vec<_> = self.keys.iter().take(1).cloned().collect();
        let passphrases = self.passphrases.iter().take(1 - keys.len()).cloned().collect();
        let (interrupted, has_line_break) = (self.interrupted.clone(), self.has_line_break);
        Self { keys, passphrases, interrupted, is_several: false, has_line_break }
    }

    /// Refuses what a new file cannot have: several secrets, of which only one would open it, and a
    /// text with a line break as the passphrase. The command takes one line, so nobody could type
    /// it; usually it is the text of a file with its last line break.
    fn check_new(&self) -> PyResult<()> {
        if self.is_several {
            return Err(PyTypeError::new_err(
                "pass exactly one of key (32 bytes), key_file and passphrase, and no list: a new \
                 file has one secret, and several are for reading",
            ));
        }
        match self.has_line_break {
            true => Err(PyValueError::new_err(
                "the passphrase must be one line, but has a line break: of the text of a file, \
                 pass the first line",
            )),
            false => Ok(()),
        }
    }
}

impl Secret {
    /// A copy of the secrets. What stops the work ends the wait for Argon2id too.
    pub fn keyring(&self, run: &Arc<Run>) -> Keyring {
        let (run, interrupted) = (run.clone(), self.interrupted.clone());
        let stops = move || interrupted.load(Ordering::Relaxed) || run.is_stopped();
        let keyring = self.keys.iter().cloned().fold(Keyring::default(), Keyring::key);
        self.passphrases.iter().cloned().fold(keyring, |keyring, passphrase| {
            keyring.passphrase(passphrase.interruptible(stops.clone()))
        })
    }
}

/// An argument that is one object, or a list or tuple of them.
struct Several<'py> {
    what: &'static str,
    items: Vec<Bound<'py, PyAny>>,
    is_list: bool,
}

impl<'py> Several<'py> {
    fn new(what: &'static str, given: Option<Bound<'py, PyAny>>) -> PyResult<Self> {
        let Some(given) = given else { return Ok(Self { what, items: vec![], is_list: false }) };
        let items: Vec<_> = if let Ok(list) = given.cast::<PyList>() {
            list.iter().collect()
        } else if let Ok(tuple) = given.cast::<PyTuple>() {
            tuple.iter().collect()
        } else {
            return Ok(Self { what, items: vec![given], is_list: false });
        };
        if items.is_empty() {
            let text = format!("the list {what} is empty: put at least one in it, or leave it out");
            return Err(PyValueError::new_err(text));
        }
        Ok(Self { what, items, is_list: true })
    }

    /// Takes each item. An error says which it was.
    fn each(
        &self,
        py: Python<'py>,
        mut take: impl FnMut(&Bound<'py, PyAny>) -> PyResult<()>,
    ) -> PyResult<()> {
        for (index, item) in self.items.iter().enumerate() {
            take(item).map_err(|error| {
                let kind = error.get_type(py);
                let is_plain =
                    kind.is(py.get_type::<PyTypeError>()) || kind.is(py.get_type::<PyValueError>());
                if !self.is_list || !is_plain {
                    return error;
                }
                PyErr::from_type(kind, format!("{}[{index}]: {}", self.what, error.value(py)))
            })?;
        }
        Ok(())
    }
}

pub fn master_key(key: &In<'_, '_>) -> PyResult<MasterKey> {
    let bytes = <[u8; 32]>::try_from(key.bytes()).map_err(|_| {
        error(palladion::Error::WrongLength { what: "key", expected: 32, actual: key.len() })
    })?;
    Ok(bytes.into())
}

/// Converts a passphrase, which is a str, encoded as UTF-8, or bytes.
pub fn passphrase(object: &Bound<'_, PyAny>) -> PyResult<Passphrase> {
    let Ok(text) = object.cast::<PyString>() else {
        return Ok(Passphrase::new(object.extract::<In<'_, '_>>()?.bytes()));
    };
    // Python's own error would show a part of the passphrase.
    let text = text.to_cow().map_err(|_| {
        PyValueError::new_err(
            "the passphrase has a surrogate, which UTF-8 cannot encode; pass it as bytes",
        )
    })?;
    Ok(Passphrase::new(text.as_bytes()))
}
