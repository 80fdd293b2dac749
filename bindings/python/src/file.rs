//! Encrypted files of the crate `palladion-file`, read and written through paths or Python's file
//! objects.

use std::fmt::Display;
use std::io::{self, ErrorKind, Read, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use palladion_file::sans_io::Layout;
use palladion_file::{
    ChunkSize, Decryptor, EncryptWriter, Encryptor, Error, Info, KdfLimits, KdfParams,
    KeyFileError, MasterKey, Passphrase, SecretKind, Spare, Summary,
};
use palladion_output::{self as output, open_to_others};
use pyo3::exceptions::{
    PyException, PyMemoryError, PyOSError, PyRuntimeWarning, PyTypeError, PyValueError,
};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use crate::algorithm::Name;
use crate::buffer::In;
use crate::home::Home;
use crate::object;
use crate::output::{Output, forked};
use crate::secret::{For, Secret, master_key};
use crate::storage::os_error;
use crate::system::numbered;
use crate::turns::Turns;

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

/// A path or a binary file object.
pub enum Place {
    Path(PathBuf),
    Object(Py<PyAny>),
}

impl<'py> FromPyObject<'_, 'py> for Place {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.hasattr("read")? || object.hasattr("write")? {
            return Ok(Self::Object(object.to_owned().unbind()));
        }
        object.extract().map(Self::Path)
    }
}

impl Place {
    /// The name of the file, for errors, if it has one.
    pub fn name(&self, py: Python<'_>) -> Option<PathBuf> {
        match self {
            Self::Path(path) => Some(path.clone()),
            Self::Object(object) => object.bind(py).getattr("name").ok()?.extract().ok(),
        }
    }
}

/// A file object.
pub struct Object {
    object: Arc<Py<PyAny>>,
    /// The thread that uses it, if it is not the one that works.
    home: Option<Home>,
}

impl Object {
    fn new(object: Py<PyAny>, home: Option<&Home>) -> Self {
        Self { object: Arc::new(object), home: home.cloned() }
    }

    /// An object that the thread that works uses itself.
    pub fn here(object: Arc<Py<PyAny>>) -> Self {
        Self { object, home: None }
    }

    fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T> + Send + 'static,
    ) -> PyResult<T> {
        let object = self.object.clone();
        match &self.home {
            Some(home) => home.call(move |py| call(object.bind(py))),
            None => Python::attach(|py| call(object.bind(py))),
        }
    }
}

/// Reads from a file object.
pub struct Reader(pub Object);

impl Read for Reader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = buf.len();
        let data = self.0.call(move |object| object::call_read(object, len).map(Bound::unbind));
        data.and_then(|data| {
            Python::attach(|py| object::copy_read(self.0.object.bind(py), data.bind(py), buf))
        })
        .map_err(raised)
    }
}

/// Writes to a file object.
struct Writer {
    object: Object,
    /// The process that began the file. A forked child would encrypt other data under the nonces
    /// that its parent uses.
    process: u32,
}

impl Writer {
    fn new(object: Object) -> Self {
        Self { object, process: std::process::id() }
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.process != std::process::id() {
            return Err(raised(forked()));
        }
        // A copy, because the object may keep it after the call.
        let bytes = Python::attach(|py| PyBytes::new(py, bytes).unbind());
        self.object
            .call(move |object| object::write(object, bytes.into_bound(object.py())))
            .map_err(raised)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.object.call(object::flush).map_err(raised)
    }
}

/// Wraps an exception of Python in an `io::Error`, for code that handles those.
pub fn raised(error: PyErr) -> io::Error {
    io::Error::other(error)
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
    fn new(home: &Home, progress: Option<Py<PyAny>>, name: Option<PathBuf>) -> Arc<Self> {
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
    fn at(&self, bytes: u64) {
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

    fn stop(&self, error: PyErr) {
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

fn input(py: Python<'_>, place: Place, home: &Home) -> PyResult<Box<dyn Read + Send>> {
    Ok(match place {
        Place::Path(path) => {
            let file = py.detach(|| output::open_input(&path));
            Box::new(file.map_err(|error| os_error(py, &error, Some(&path)))?)
        }
        Place::Object(object) => Box::new(Reader(Object::new(object, Some(home)))),
    })
}

/// The target: a file object, or an [`Output`], which needs no Python unless writing may wait for
/// another program.
fn target(py: Python<'_>, target: Py<PyAny>, home: &Home) -> PyResult<Box<dyn Write + Send>> {
    if let Ok(output) = target.bind(py).cast::<Output>() {
        let file = output.get().file(py)?;
        if file.metadata()?.is_file() {
            return Ok(Box::new(file));
        }
    }
    Ok(Box::new(Writer::new(Object::new(target, Some(home)))))
}

fn chunk_size(bytes: usize) -> PyResult<ChunkSize> {
    let none = || {
        PyValueError::new_err(format!(
            "chunk_size must be a power of two from 1024 to 16777216, not {bytes}"
        ))
    };
    ChunkSize::new(bytes).ok_or_else(none)
}

/// Chunks of fewer bytes are small.
const SMALL: usize = 64 << 10;

/// What a file may make us spend on its passphrase: the most memory in KiB, or the usual limits.
#[derive(Clone, Copy)]
pub struct Limits(pub KdfLimits);

impl<'py> FromPyObject<'_, 'py> for Limits {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.is_none() {
            return Ok(Self(KdfLimits::default()));
        }
        object.extract().map(|memory| Self(KdfLimits::with_memory(memory))).map_err(|error| {
            let text = "max_kdf_memory must be a number of KiB from 0 to 4294967295";
            unfit(error, object, text)
        })
    }
}

/// The costs of a new file's passphrase: memory in KiB, passes and lanes, or the usual ones.
#[derive(Clone, Copy)]
pub struct Costs(KdfParams);

impl<'py> FromPyObject<'_, 'py> for Costs {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.is_none() {
            return Ok(Self(KdfParams::default()));
        }
        let text = "kdf must be (KiB of memory >= 8 * lanes, passes >= 1, lanes >= 1)";
        let [memory, passes, lanes] =
            object.extract().map_err(|error| unfit(error, object, text))?;
        KdfParams::new(memory, passes, lanes)
            .map(Self)
            .ok_or_else(|| unfit(PyValueError::new_err(()), object, text))
    }
}

/// A TypeError, if the error is one, or a ValueError.
fn unfit(error: PyErr, object: Borrowed<'_, '_, PyAny>, expected: &str) -> PyErr {
    let text = format!("{expected}, not {object:?}");
    match error.is_instance_of::<PyTypeError>(object.py()) {
        true => PyTypeError::new_err(text),
        false => PyValueError::new_err(text),
    }
}

/// Raises an error for costs or a limit that no file can have.
#[pyfunction]
#[pyo3(signature = (kdf, max_kdf_memory))]
pub fn check_costs(kdf: Costs, max_kdf_memory: Limits) {
    let _ = (kdf, max_kdf_memory);
}

#[pyfunction]
#[pyo3(signature = (
    source, target, *, secret, algorithm, chunk_size, kdf, threads, progress
))]
#[allow(clippy::too_many_arguments)] // keyword arguments in Python
pub fn encrypt_file(
    py: Python<'_>,
    source: Place,
    target: Py<PyAny>,
    secret: &Secret,
    algorithm: Name,
    chunk_size: usize,
    kdf: Costs,
    threads: Option<NonZero<usize>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<u64> {
    let (chunk_size, kdf) = (self::chunk_size(chunk_size)?, kdf.0);
    // To change the thread for a small chunk takes longer than to encrypt it.
    let alone = chunk_size.bytes() < SMALL && matches!(source, Place::Object(_));
    let alone = alone && threads.is_none();
    convert(py, source, target, progress, threads, alone, |run, threads, files| {
        secret.with_new(run, kdf, |to| {
            let encryptor = match to {
                For::Secret(keyring) => Encryptor::new(keyring),
                For::Slots(slots) => Encryptor::with_slots(slots),
            };
            let encryptor = encryptor.algorithm(algorithm.0).chunk_size(chunk_size).kdf(kdf);
            let encryptor = encryptor.cancel(&run.cancel).on_progress(|bytes| run.at(bytes));
            match threads {
                Some(threads) => encryptor.threads(threads),
                None => encryptor,
            }
            .run(files.0, files.1)
        })
    })
}

#[pyfunction]
#[pyo3(signature = (source, target, *, secret, max_kdf_memory, threads, progress))]
pub fn decrypt_file(
    py: Python<'_>,
    source: Place,
    target: Py<PyAny>,
    secret: &Secret,
    max_kdf_memory: Limits,
    threads: Option<NonZero<usize>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<u64> {
    convert(py, source, target, progress, threads, false, |run, threads, files| {
        let keyring = secret.keyring(run);
        let decryptor = Decryptor::new(&keyring).kdf_limits(max_kdf_memory.0);
        let decryptor = decryptor.cancel(&run.cancel).on_progress(|bytes| run.at(bytes));
        match threads {
            Some(threads) => decryptor.threads(threads),
            None => decryptor,
        }
        .run(files.0, files.1)
    })
}

/// The most threads, or as many as there are CPUs.
type Threads = Option<NonZero<usize>>;

/// The input and the output.
type Files = (Box<dyn Read + Send>, Box<dyn Write + Send>);

/// Reads a file and writes another one, on a new thread unless `alone` is true.
#[allow(clippy::too_many_arguments)] // of the functions above
fn convert(
    py: Python<'_>,
    source: Place,
    target: Py<PyAny>,
    progress: Option<Py<PyAny>>,
    threads: Option<NonZero<usize>>,
    alone: bool,
    work: impl FnOnce(&Arc<Run>, Threads, Files) -> Result<Summary, Error> + Send,
) -> PyResult<u64> {
    let (home, calls) = Home::new();
    let run = Run::new(&home, progress, source.name(py));
    let files = (input(py, source, &home)?, self::target(py, target, &home)?);
    let work = |alone| {
        let threads = if alone { Some(NonZero::<usize>::MIN) } else { threads };
        work(&run, threads, files)
    };
    let result = home.work(py, calls, alone, |error| run.stop(error), work);
    let summary = run.finish(py, result)?;
    let text = match summary.spare {
        None | Some(Spare::Same) => return Ok(summary.bytes),
        Some(Spare::Differs) => {
            c"the second copy of the key slots differs from the first, because a change was \
              interrupted: palladion rewrap --repair mends it"
        }
        Some(_) => {
            c"the second copy of the key slots is damaged or missing: palladion rewrap --repair \
              mends it"
        }
    };
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), text, 1)?;
    Ok(summary.bytes)
}

pub const AGAIN: &str = "an encrypted file was used again before an earlier call had ended";

/// Encrypts what is written to it into a file object.
#[pyclass(module = "palladion", frozen)]
pub struct FileWriter {
    writer: Turns<Option<EncryptWriter<Writer>>>,
    /// The reference in the writer, for the garbage collector.
    target: Arc<Py<PyAny>>,
    /// Bytes written so far.
    position: AtomicU64,
}

fn closed() -> PyErr {
    PyValueError::new_err("I/O operation on closed file")
}

#[pymethods]
impl FileWriter {
    #[new]
    #[pyo3(signature = (target, *, secret, algorithm, chunk_size, kdf))]
    fn new(
        py: Python<'_>,
        target: Py<PyAny>,
        secret: &Secret,
        algorithm: Name,
        chunk_size: usize,
        kdf: Costs,
    ) -> PyResult<Self> {
        let (chunk_size, kdf) = (self::chunk_size(chunk_size)?, kdf.0);
        let run = Run::here(None);
        let writer = Writer::new(Object::new(target, None));
        let target = writer.object.object.clone();
        let begin = |to: For<'_>| match to {
            For::Secret(keyring) => {
                EncryptWriter::with(keyring, algorithm.0, chunk_size, kdf, writer)
            }
            For::Slots(slots) => EncryptWriter::with_slots(slots, algorithm.0, chunk_size, writer),
        };
        let writer = py.detach(|| secret.with_new(&run, kdf, begin));
        let writer = run.finish(py, writer)?;
        Ok(Self { writer: Turns::new(Some(writer), AGAIN), target, position: AtomicU64::new(0) })
    }

    /// The object of Python that owns this one breaks a cycle when it is cleared.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&*self.target)
    }

    /// Encrypts all of data, or raises. After an error, every later call raises too, so that the
    /// file gets no end.
    fn write(&self, py: Python<'_>, data: In<'_, '_>) -> PyResult<usize> {
        let bytes = data.bytes();
        self.writer.with(py, |writer| {
            let writer = writer.as_mut().ok_or_else(closed)?;
            py.detach(|| writer.write_all(bytes)).map_err(|error| io_error(py, error, None))?;
            self.position.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            Ok(bytes.len())
        })
    }

    fn tell(&self) -> u64 {
        self.position.load(Ordering::Relaxed)
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.writer.with(py, |writer| {
            let writer = writer.as_mut().ok_or_else(closed)?;
            py.detach(|| writer.flush()).map_err(|error| io_error(py, error, None))
        })
    }

    /// Writes the last chunk.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.writer.with(py, |writer| {
            let writer = writer.take().ok_or_else(closed)?;
            py.detach(|| writer.finish()).map(drop).map_err(|error| file_error(py, error, None))
        })
    }
}

/// Whether a file that starts with these bytes needs a passphrase rather than a key. 128 bytes are
/// enough.
#[pyfunction]
pub fn needs_passphrase(py: Python<'_>, beginning: In<'_, '_>) -> PyResult<bool> {
    palladion_file::needs_passphrase(beginning.bytes()).map_err(|error| file_error(py, error, None))
}

/// The size of the chunks of a file that starts with these 128 bytes.
#[pyfunction]
pub fn chunk_size_of(py: Python<'_>, beginning: In<'_, '_>) -> PyResult<usize> {
    let info = Info::from_start(beginning.bytes()).and_then(|info| match info.secret {
        // Their plaintext has another length.
        SecretKind::Slots => Err(Error::UnsupportedHeader { field: "key source", value: 2 }),
        _ => Ok(info),
    });
    info.map(|info| info.chunk_size.bytes()).map_err(|error| file_error(py, error, None))
}

/// The length of the plaintext of a file of `file_len` bytes. None if no file has this length.
#[pyfunction]
pub fn plaintext_size(chunk_size: usize, file_len: u64) -> PyResult<Option<u64>> {
    let layout = Layout::of_file(self::chunk_size(chunk_size)?, file_len);
    Ok(layout.map(|layout| layout.plaintext_len()))
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
