//! Output files that appear only once they are complete: [`palladion_output`], which has the
//! rule, with Python's exceptions.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::sync::Mutex;

use palladion_output::{self as output, Access, Cause, Error, Identity, Target};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::buffer::{In, lock};
use crate::storage::os_error;
use crate::system::numbered;

/// What a target must not be: a path or the number of a descriptor.
#[derive(FromPyObject)]
enum Input {
    Descriptor(u32),
    Path(PathBuf),
}

impl Input {
    fn metadata(&self) -> io::Result<Metadata> {
        match self {
            Self::Descriptor(number) => output::duplicate(*number)?.metadata(),
            Self::Path(path) => fs::metadata(path),
        }
    }

    fn identity(&self) -> io::Result<Identity> {
        Ok(match self {
            Self::Descriptor(number) => Identity::of(&output::duplicate(*number)?),
            Self::Path(path) => Identity::at(path),
        })
    }

    /// Opens it if it is a regular file: opening a FIFO waits.
    fn open(&self) -> Option<File> {
        self.metadata().ok().filter(Metadata::is_file)?;
        match self {
            Self::Descriptor(number) => output::duplicate(*number).ok(),
            Self::Path(path) => File::open(path).ok(),
        }
    }
}

/// An open output, a raw file for writing. It is removed unless it is committed.
#[pyclass(module = "palladion", frozen)]
pub struct Output(Mutex<Option<output::Output>>);

impl Output {
    /// Another handle to the file.
    pub fn file(&self, py: Python<'_>) -> PyResult<File> {
        match lock(py, &self.0).as_ref() {
            Some(output) => Ok(output.file().try_clone()?),
            None => Err(closed()),
        }
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("I/O operation on closed file")
}

#[pymethods]
impl Output {
    /// Opens an output. inputs are what it must not be: pairs of a name and a path or a descriptor.
    /// A new file gets the permissions of the one named source.
    #[new]
    #[pyo3(signature = (path, *, overwrite, private, inputs))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        overwrite: bool,
        private: bool,
        inputs: Vec<(String, Input)>,
    ) -> PyResult<Self> {
        let opened = py.detach(|| {
            // Opening a missing input reports it.
            let there =
                inputs.iter().filter_map(|(name, input)| Some((name, input.identity().ok()?)));
            let there: Vec<_> = there.collect();
            let there: Vec<_> = there.iter().map(|(name, found)| (name.as_str(), found)).collect();
            let access = if private { Access::Private } else { Access::Usual };
            let target = Target::check(&path, overwrite, access, &there)?;
            let source = inputs.iter().find(|(name, _)| name == "source");
            let target = match source.and_then(|(_, input)| input.open()) {
                Some(source) => target.permissions_of(&source),
                None => target,
            };
            match cfg!(unix) && target.is_special() {
                true => Ok(None),
                false => target.open().map(Some),
            }
        });
        let output = match opened.map_err(|error| exception(py, error))? {
            Some(output) => output,
            // Opening a FIFO waits for its reader. Python's function stops at Ctrl-C.
            None => {
                let os = py.import("os")?;
                let number = os.call_method1("open", (&path, os.getattr("O_WRONLY")?))?;
                let file = output::duplicate(number.extract()?);
                os.call_method1("close", (number,))?;
                output::Output::direct(&path, file?)
            }
        };
        Ok(Self(Mutex::new(Some(output))))
    }

    /// Writes some of data, and returns how much.
    fn write(&self, py: Python<'_>, data: In<'_, '_>) -> PyResult<usize> {
        let output = lock(py, &self.0);
        let output = output.as_ref().ok_or_else(closed)?;
        if !output.is_ours() {
            return Err(forked());
        }
        let (mut file, bytes) = (output.file(), data.bytes());
        loop {
            match py.detach(|| file.write(bytes)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => py.check_signals()?,
                written => {
                    return written.map_err(|error| os_error(py, &error, None));
                }
            }
        }
    }

    /// Syncs the file to disk and gives it its name.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let output = lock(py, &self.0).take().ok_or_else(closed)?;
        py.detach(|| output.commit()).map_err(|error| exception(py, error))
    }

    /// Removes the file, unless it is committed or belongs to another process.
    fn discard(&self, py: Python<'_>) {
        *lock(py, &self.0) = None;
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    /// Commits it, or discards it if an exception leaves `with`.
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<Bound<'_, PyAny>>,
        _value: Bound<'_, PyAny>,
        _traceback: Bound<'_, PyAny>,
    ) -> PyResult<()> {
        if kind.is_none() {
            return self.commit(py);
        }
        self.discard(py);
        Ok(())
    }
}

pub fn forked() -> PyErr {
    PyRuntimeError::new_err("the unfinished file belongs to the process that created it")
}

/// Converts an error to an exception. OSError selects its subclass by the number.
fn exception(py: Python<'_>, error: Error) -> PyErr {
    let Error { path, cause, .. } = &error;
    let (number, text) = match cause {
        Cause::Io(_, error) => return os_error(py, error, Some(path)),
        Cause::Forked => return forked(),
        Cause::Input(what) => {
            let Ok(name) = path.as_os_str().into_pyobject(py);
            return match name.repr() {
                Ok(name) => {
                    PyValueError::new_err(format!("{what} and target are the same file: {name}"))
                }
                Err(error) => error,
            };
        }
        Cause::Exists => ("EEXIST", "exists already (overwrite=True or mode \"w\" replaces it)"),
        Cause::Directory | Cause::DirectoryName => ("EISDIR", "is a directory: name a file in it"),
        Cause::EmptyName => ("ENOENT", "the name is empty: name a file"),
        Cause::NoDirectory(_) => {
            ("ENOENT", "the directory of the file is missing: create it first")
        }
        Cause::DanglingLink => (
            "ENOENT",
            "is a symbolic link to a missing file: remove the link, or create its target",
        ),
        Cause::InUse => ("EAGAIN", "the file is in use by another program"),
        Cause::MountPoint => {
            ("EBUSY", "is a mount point and cannot be replaced: choose another name")
        }
        Cause::Fixed => ("EPERM", "is immutable or append-only: choose another name"),
        Cause::ReadOnly => ("EPERM", "is read-only and cannot be replaced: choose another name"),
        Cause::Stream => ("EINVAL", "is an alternate data stream: name a file"),
        Cause::Sticky => {
            ("EPERM", "belongs to another user and cannot be replaced: choose another name")
        }
        Cause::OtherProcess => ("EINVAL", "another process has it open: name the file itself"),
        _ => return PyOSError::new_err(error.to_string()),
    };
    numbered(py, number, text, Some(path))
}

/// Returns the number of the descriptor that a path means, or None.
#[pyfunction]
pub fn descriptor(py: Python<'_>, path: PathBuf) -> Option<u32> {
    py.detach(|| output::descriptor(&path))
}
