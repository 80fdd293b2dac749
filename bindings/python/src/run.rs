//! Work of the crate `palladion-file` without the interpreter's lock, and its errors.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use palladion_file::{Error, Passphrase};
use pyo3::exceptions::{PyException, PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::home::Home;
use crate::storage::os_error;

/// Converts an error to one of the exceptions in `palladion/files.py`. `name` is that of the
/// encrypted file.
pub fn file_error(py: Python<'_>, error: Error, name: Option<&Path>) -> PyErr {
    let message = error.to_string();
    let hint = match error {
        Error::EmptyKeyring => Some("the file has no key slots: pass a key or a passphrase"),
        Error::UnsupportedHeader { field: "key source", value: 2 } => Some(
            "whoever can open such a file can also have written it; to open it all the same, pass \
             slots=True to a function of palladion.files",
        ),
        Error::KdfTooCostly { .. } => {
            Some("files usually need less: this one may be hostile; max_kdf_memory allows more")
        }
        Error::Bound => Some("pass the same bind as when it was written"),
        Error::NotBound => Some(
            "someone may have put it in place of the file that you expect; if you trust it, read \
             it without bind",
        ),
        _ => error.hint(),
    };
    let (class, chunk, offset) = match error {
        Error::Read(error) => return io_error(py, error, name),
        Error::Write(error) => return io_error(py, error, None),
        Error::NoRandomness(_) => return PyOSError::new_err(message),
        Error::EmptyPassphrase => {
            let hint = hint.unwrap_or_default();
            return PyValueError::new_err(format!("{message}: {hint}"));
        }
        Error::KdfMemory => return PyMemoryError::new_err(message),
        Error::Cipher(error) => return crate::error::error(error),
        Error::Slot(error) => match error.downcast::<PyErr>() {
            Ok(raised) => return *raised,
            Err(_) => ("FileError", None, None),
        },
        Error::NoRoomForSlots { .. } | Error::CannotChangeSlots(_) => {
            return PyValueError::new_err(message);
        }
        Error::NoSlot => ("NoSlotError", None, None),
        Error::NotPalladion => ("NotPalladionError", None, None),
        Error::HeaderDamaged => ("DamagedError", None, Some(0)),
        Error::Damaged { chunk, offset } => ("DamagedError", Some(chunk), Some(offset)),
        Error::Truncated { chunk, offset } => ("TruncatedError", chunk, Some(offset)),
        Error::TrailingData { offset } => ("TrailingDataError", None, Some(offset)),
        Error::UnsupportedVersion(_) | Error::UnsupportedHeader { .. } => {
            ("UnsupportedError", None, None)
        }
        Error::WrongKey => ("WrongKeyError", None, None),
        Error::WrongPassphrase => ("WrongPassphraseError", None, None),
        Error::NeedsKey => ("NeedsKeyError", None, None),
        Error::NeedsPassphrase => ("NeedsPassphraseError", None, None),
        Error::KdfTooCostly { .. } => ("TooCostlyError", None, None),
        Error::Bound => ("BoundError", None, None),
        Error::NotBound => ("NotBoundError", None, None),
        Error::WrongPlace => ("WrongPlaceError", None, None),
        // Errors added later.
        _ => ("FileError", None, None),
    };
    let make = || {
        let class = py.import("palladion.files")?.getattr(class)?;
        class.call1((message, hint, chunk, offset, name.map(Path::as_os_str)))
    };
    make().map_or_else(|error| error, PyErr::from_value)
}

/// Converts an I/O error to an exception. What a file object raised stays the same exception.
pub fn io_error(py: Python<'_>, error: io::Error, name: Option<&Path>) -> PyErr {
    match error.downcast::<PyErr>() {
        Ok(raised) => raised,
        Err(error) => match error.downcast::<Error>() {
            Ok(error) => file_error(py, error, name),
            Err(error) => os_error(py, &error, name),
        },
    }
}

/// Work without the interpreter's lock, which an exception stops.
pub struct Run {
    home: Home,
    cancel: AtomicBool,
    raised: Mutex<Option<PyErr>>,
    progress: Option<Arc<Py<PyAny>>>,
    /// The name of the file that is read.
    name: Option<PathBuf>,
}

impl Run {
    pub fn new(home: &Home, progress: Option<Py<PyAny>>, name: Option<PathBuf>) -> Arc<Self> {
        let (cancel, raised) = (AtomicBool::new(false), Mutex::new(None));
        let progress = progress.map(Arc::new);
        Arc::new(Self { home: home.clone(), cancel, raised, progress, name })
    }

    /// Work on this thread.
    pub fn here(name: Option<PathBuf>) -> Arc<Self> {
        Self::new(&Home::new().0, None, name)
    }

    /// Calls a function on the thread of the caller. Exceptions such as `KeyboardInterrupt` stop
    /// the work.
    pub fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(Python<'_>) -> PyResult<T> + Send + 'static,
    ) -> PyResult<T> {
        self.home.call(call).inspect_err(|error| {
            Python::attach(|py| {
                if !error.is_instance_of::<PyException>(py) {
                    self.stop(error.clone_ref(py));
                }
            });
        })
    }

    pub fn passphrase(self: &Arc<Self>, passphrase: &Passphrase) -> Passphrase {
        let run = self.clone();
        passphrase.clone().interruptible(move || run.is_stopped())
    }

    /// Set once the work is to stop.
    pub fn cancel(&self) -> &AtomicBool {
        &self.cancel
    }

    pub fn is_stopped(&self) -> bool {
        if self.home.is_here()
            && let Err(error) = Python::attach(|py| py.check_signals())
        {
            self.stop(error);
        }
        self.cancel.load(Ordering::Relaxed)
    }

    /// Called after each chunk: reports progress, and checks for signals such as Ctrl-C if nobody
    /// else does.
    pub fn at(&self, bytes: u64) {
        let progress = self.progress.clone();
        if progress.is_none() && !self.home.is_here() {
            return;
        }
        let told = self.home.call(move |py| {
            py.check_signals()?;
            progress.map_or(Ok(()), |progress| progress.call1(py, (bytes,)).map(drop))
        });
        if let Err(error) = told {
            self.stop(error);
        }
    }

    pub fn stop(&self, error: PyErr) {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// The result, or the exception that stopped the work.
    pub fn finish<T>(&self, py: Python<'_>, result: Result<T, Error>) -> PyResult<T> {
        match self.raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => result.map_err(|error| file_error(py, error, self.name.as_deref())),
        }
    }
}
