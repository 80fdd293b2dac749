//! The storages and Merkle hash functions of RAF files: files of the operating system, SHA-256, or
//! Python objects.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use palladion_output::is_replaced;
use palladion_raf::merkle::{Hasher, Input, Sha256};
use palladion_raf::{Shared, Storage};
use pyo3::exceptions::{PyEOFError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyString};

use crate::buffer::In;
use crate::object;
use crate::system::numbered;

/// How to open a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    /// Read while another program may write.
    ReadBeside,
    Change,
    /// Replace an existing file.
    Overwrite,
    /// Fail if there is a file.
    New,
}

/// The place of a file: a path or a Python object.
pub enum Place {
    Path(PathBuf),
    Object(Py<PyAny>),
}

impl<'py> FromPyObject<'_, 'py> for Place {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyString>() {
            return Ok(Self::Path(object.extract()?));
        }
        Ok(Self::Object(object.to_owned().unbind()))
    }
}

/// How often a file is opened that another program replaces each time.
const MOST_OPENS: usize = 10;

impl Place {
    /// Opens it. A file of the system is locked, as by the command line: several programs may read
    /// it, or one may change it.
    pub fn open(self, py: Python<'_>, access: Access) -> PyResult<Store> {
        let path = match self {
            Self::Object(object) => return Ok(Store::Object(object)),
            Self::Path(path) => path,
        };
        let opened = py.detach(|| {
            let mut options = File::options();
            match access {
                Access::Read | Access::ReadBeside => options.read(true),
                Access::Change => options.read(true).write(true),
                // Truncate only after locking: another program may be using the file.
                Access::Overwrite => options.read(true).write(true).create(true).truncate(false),
                Access::New => options.read(true).write(true).create_new(true),
            };
            for _ in 0..MOST_OPENS {
                refuse_special(&path)?;
                let file = options.open(&path)?;
                if file.metadata()?.is_dir() {
                    return Err(ErrorKind::IsADirectory.into());
                }
                let locked = match access {
                    Access::Read => file.try_lock_shared(),
                    Access::ReadBeside => Ok(()),
                    _ => file.try_lock(),
                };
                match locked {
                    // Some file systems have no locks.
                    Err(TryLockError::WouldBlock) => break,
                    _ if !is_replaced(&path, &file) => return Ok(file),
                    _ => {}
                }
            }
            Err(ErrorKind::WouldBlock.into())
        });
        opened.map(Store::File).map_err(|error| os_error(py, &error, Some(&path)))
    }

    /// Opens it to read the header only, which needs no lock.
    pub fn look(self, py: Python<'_>) -> PyResult<Store> {
        match self {
            Self::Object(object) => Ok(Store::Object(object)),
            Self::Path(path) => {
                let file = py.detach(|| {
                    refuse_special(&path)?;
                    File::open(&path)
                });
                file.map(Store::File).map_err(|error| os_error(py, &error, Some(&path)))
            }
        }
    }
}

/// Refuses what cannot be read at any offset. Opening a FIFO would wait for another program, too.
fn refuse_special(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Ok(found) = std::fs::metadata(path) {
        use std::os::unix::fs::FileTypeExt;
        let kind = found.file_type();
        if kind.is_fifo() || kind.is_socket() || kind.is_char_device() {
            return Err(ErrorKind::NotSeekable.into());
        }
    }
    let _ = path;
    Ok(())
}

/// The storage of a file.
pub enum Store {
    File(File),
    /// An object with the methods read_at, write_at, get_size, set_size and sync.
    Object(Py<PyAny>),
}

impl Store {
    /// Calls a method of the object.
    fn call<T>(
        object: &Py<PyAny>,
        work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> io::Result<T> {
        Python::attach(|py| work(object.bind(py)).map_err(|error| raised(py, error)))
    }
}

impl Storage for Store {
    fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Self::File(file) => Storage::read_at(file, buf, offset),
            Self::Object(object) => Self::call(object, |object| {
                let mut done = 0;
                while let rest = &mut buf[done..]
                    && !rest.is_empty()
                {
                    let bytes = PyByteArray::new_with(object.py(), rest.len(), |_| Ok(()))?;
                    let read = object.call_method1("read_at", (&bytes, offset + done as u64))?;
                    // Holding the buffer fixes its length.
                    let there = bytes.extract::<In<'_, '_>>()?;
                    if there.len() != rest.len() {
                        let message = "read_at changed the length of its buffer";
                        return Err(PyValueError::new_err(message));
                    }
                    rest.copy_from_slice(there.bytes());
                    if matches!(read.extract::<usize>(), Ok(0)) {
                        return Err(PyEOFError::new_err("the storage ends within a chunk"));
                    }
                    done += object::moved(object, "read_at", &read, there.len())?;
                }
                Ok(())
            }),
        }
    }

    fn write_at(&mut self, buf: &[u8], offset: u64) -> io::Result<()> {
        match self {
            Self::File(file) => Storage::write_at(file, buf, offset),
            Self::Object(object) => Self::call(object, |object| {
                let mut done = 0;
                while let rest = &buf[done..]
                    && !rest.is_empty()
                {
                    let bytes = PyBytes::new(object.py(), rest);
                    let written = object.call_method1("write_at", (bytes, offset + done as u64))?;
                    done += object::moved(object, "write_at", &written, rest.len())?;
                }
                Ok(())
            }),
        }
    }

    fn size(&mut self) -> io::Result<u64> {
        match self {
            Self::File(file) => file.size(),
            Self::Object(object) => {
                Self::call(object, |object| object.call_method0("get_size")?.extract())
            }
        }
    }

    fn set_size(&mut self, size: u64) -> io::Result<()> {
        match self {
            Self::File(file) => file.set_size(size),
            Self::Object(object) => Self::call(object, |object| {
                let set = object.call_method1("set_size", (size,))?;
                object::done(object, "set_size", &set)
            }),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.sync(),
            Self::Object(object) => Self::call(object, |object| {
                let synced = object.call_method0("sync")?;
                object::done(object, "sync", &synced)
            }),
        }
    }

    fn grows(&self) -> bool {
        match self {
            Self::File(file) => file.grows(),
            Self::Object(_) => false,
        }
    }

    fn shared(&self) -> Option<&dyn Shared> {
        match self {
            Self::File(file) => file.shared(),
            Self::Object(_) => None,
        }
    }
}

/// The hash function of a Merkle tree.
pub enum Hash {
    Sha256,
    /// An object with the attribute hash_len and the methods hash_leaf, hash_parent, hash_empty and
    /// hash_commitment.
    Object(Py<PyAny>),
}

impl Hash {
    /// Takes True for SHA-256, or an object.
    pub fn new(object: &Bound<'_, PyAny>) -> Self {
        if object.is(pyo3::types::PyBool::new(object.py(), true)) {
            Self::Sha256
        } else {
            Self::Object(object.clone().unbind())
        }
    }

    /// Bytes in a hash.
    pub fn len(&self, py: Python<'_>) -> PyResult<usize> {
        match self {
            Self::Sha256 => Ok(Sha256::LEN),
            Self::Object(object) => object.bind(py).getattr("hash_len")?.extract(),
        }
    }

    /// Calls a method of the object and copies the hash.
    fn call(
        object: &Py<PyAny>,
        out: &mut [u8],
        work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<Py<PyAny>>,
    ) -> io::Result<()> {
        Store::call(object, |object| {
            let hash = work(object)?;
            let hash = hash.bind(object.py()).cast::<PyBytes>()?.as_bytes();
            if hash.len() != out.len() {
                let message =
                    format!("a hash must have {} bytes, but has {}", out.len(), hash.len());
                return Err(PyValueError::new_err(message));
            }
            out.copy_from_slice(hash);
            Ok(())
        })
    }
}

impl Hasher for Hash {
    fn hash(&self, out: &mut [u8], input: Input<'_>) -> io::Result<()> {
        let Self::Object(object) = self else { return Sha256.hash(out, input) };
        Self::call(object, out, |object| {
            let bytes = |bytes| PyBytes::new(object.py(), bytes);
            match input {
                Input::Leaf { chunk, index } => {
                    object.call_method1("hash_leaf", (bytes(chunk), chunk.len(), index))
                }
                Input::Parent { left, right, level, index } => {
                    object.call_method1("hash_parent", (bytes(left), bytes(right), level, index))
                }
                Input::Empty { level, index } => object.call_method1("hash_empty", (level, index)),
                Input::Commitment { root, context, size } => {
                    object.call_method1("hash_commitment", (bytes(root), bytes(context), size))
                }
            }
            .map(Bound::unbind)
        })
    }
}

/// Wraps an exception in an `io::Error` for the library; [`crate::error::raf_error`] unwraps it.
fn raised(py: Python<'_>, error: PyErr) -> io::Error {
    // EOFError makes the chunk a damaged one, as the end of a file does.
    let ended = error.is_instance_of::<PyEOFError>(py);
    io::Error::new(if ended { ErrorKind::UnexpectedEof } else { ErrorKind::Other }, error)
}

/// Converts an error of the system to an exception with its number, which selects the class, and
/// the name of the file.
#[cold]
pub fn os_error(py: Python<'_>, error: &io::Error, path: Option<&Path>) -> PyErr {
    let name = path.map(Path::as_os_str).map(ToOwned::to_owned);
    let text = || {
        let text = error.to_string();
        // Python adds the number to the message.
        text.split_once(" (os error ").map_or(text.clone(), |(text, _)| text.to_owned())
    };
    match (error.kind(), error.raw_os_error()) {
        // From the lock, without a number.
        (ErrorKind::WouldBlock, None) => {
            let text = "the file is in use, by another program or elsewhere in this one";
            numbered(py, "EAGAIN", text, path)
        }
        (ErrorKind::IsADirectory, None) => numbered(py, "EISDIR", "Is a directory", path),
        (ErrorKind::NotSeekable, None) => {
            let text = "expected a regular file, not a FIFO, a socket or a character device";
            numbered(py, "ESPIPE", text, path)
        }
        #[cfg(windows)]
        (_, Some(number)) => PyOSError::new_err((0, text(), name, number)),
        #[cfg(not(windows))]
        (_, Some(number)) => PyOSError::new_err((number, text(), name)),
        (ErrorKind::OutOfMemory, None) => pyo3::exceptions::PyMemoryError::new_err(()),
        _ => PyOSError::new_err(text()),
    }
}
