//! Encrypted files with random access.

use std::path::PathBuf;

use palladion::Buffer;
use palladion_file::{KdfParams, MasterKey, Passphrase};
use palladion_raf::merkle::{Tree, tree_len};
use palladion_raf::{Algorithm, Environment, Error, Found, Info, Options, System, is_chunk_size};
use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use crate::algorithm::Name;
use crate::buffer::{In, Out, Target, bytes_or_none, work_on};
use crate::error::{OrRaiseIn, raf_error};
use crate::key_file::read_key_file;
use crate::run::{Run, file_error};
use crate::secret::{passphrase, refuse_mistaken};
use crate::storage::{Access, Hash, Place, Store};
use crate::turns::Turns;

/// An open file, with or without a Merkle tree.
type File = palladion_raf::Raf<Store, System<Hash>>;

/// The default size of a Merkle tree, if that is enough. Commitments depend on it.
const MAX_CHUNKS: u64 = 16384;

/// Does some work without the interpreter's lock. Calls to Python objects take it again.
fn work<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    work_on(py, usize::MAX, work)
}

/// The caller's secret: ("key", bytes), ("key_file", path) or ("passphrase", bytes), each with a
/// context or None as third item.
pub struct Secret {
    kind: Kind,
    context: Option<Vec<u8>>,
}

enum Kind {
    /// The bytes of the master key.
    Key(Zeroizing<Vec<u8>>),
    KeyFile(MasterKey),
    Passphrase(Passphrase),
}

impl<'py> FromPyObject<'_, 'py> for Secret {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let (kind, secret, context) =
            object.extract::<(String, Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
        let bytes = |object: &Bound<'_, PyAny>| {
            object.extract::<In<'_, '_>>().map(|bytes| bytes.bytes().to_vec())
        };
        let kind = match &*kind {
            "key" => Kind::Key(Zeroizing::new(bytes(&secret)?)),
            "key_file" => Kind::KeyFile(read_key_file(py, &secret.extract::<PathBuf>()?)?),
            "passphrase" => Kind::Passphrase(passphrase(&secret)?),
            kind => return Err(PyValueError::new_err(format!("{kind:?} is no kind of secret"))),
        };
        let context = if context.is_none() { None } else { Some(bytes(&context)?) };
        Ok(Self { kind, context })
    }
}

impl Secret {
    /// Derives the master key of a file as docs/raf.md describes.
    fn master_key(
        &self,
        py: Python<'_>,
        algorithm: Algorithm,
        file_id: &[u8; 24],
    ) -> PyResult<Zeroizing<Vec<u8>>> {
        let len = algorithm.key_len();
        let own = |key: &MasterKey| {
            // A derived key is separate from other uses of the 32 bytes in the key file.
            let purpose: &[u8] =
                if len == 16 { b"palladion raf AEGIS-128" } else { b"palladion raf AEGIS-256" };
            palladion_raf::derive_master_key(key.as_bytes(), purpose).map(|mut key| {
                key.truncate(len);
                key
            })
        };
        let key = match &self.kind {
            Kind::Key(key) if key.len() == len => Ok(key.clone()),
            Kind::Key(key) => Err(Error::KeyLength { expected: len, actual: key.len() }),
            Kind::KeyFile(key) => own(key),
            Kind::Passphrase(passphrase) => {
                let mut salt = [0; 32];
                salt[..8].copy_from_slice(b"AEGISRAF");
                salt[8..].copy_from_slice(file_id);
                let run = Run::here(None);
                let passphrase = run.passphrase(passphrase);
                let key = py.detach(|| passphrase.stretch(&salt, KdfParams::default()));
                own(&run.finish(py, key)?)
            }
        };
        match (key, &self.context) {
            (Ok(key), Some(context)) => palladion_raf::derive_master_key(&key, context),
            (key, _) => key,
        }
        .or_raise_in(py)
    }
}

/// The options for a Merkle tree.
struct Wanted {
    hash: Hash,
    hash_len: usize,
    max_chunks: u64,
}

impl Wanted {
    fn new(
        merkle: Option<Bound<'_, PyAny>>,
        max_chunks: Option<u64>,
        chunks: u64,
    ) -> PyResult<Option<Self>> {
        merkle
            .map(|merkle| {
                let hash = Hash::new(&merkle);
                let hash_len = hash.len(merkle.py())?;
                // The same size as the command line's, so that both give the same commitment.
                let usual =
                    || chunks.max(MAX_CHUNKS).checked_next_power_of_two().unwrap_or(u64::MAX);
                Ok(Self { hash, hash_len, max_chunks: max_chunks.unwrap_or_else(usual) })
            })
            .transpose()
    }

    fn tree(self) -> Result<Tree<Hash, Buffer>, Error> {
        let len = tree_len(self.max_chunks, self.hash_len);
        let nodes = len.and_then(|len| Buffer::new(0, len).ok());
        let nodes = nodes.ok_or(Error::TreeSize(self.max_chunks))?;
        Tree::new(self.hash, nodes, self.max_chunks, self.hash_len)
    }
}

/// A file, and references to the Python objects in it for the garbage collector.
struct Open {
    file: File,
    objects: Vec<Py<PyAny>>,
}

/// An open encrypted file; see palladion.raf.
#[pyclass(module = "palladion", frozen)]
pub struct Raf {
    file: Turns<Option<Open>>,
    info: Info,
}

impl Raf {
    fn new(file: File, objects: Vec<Py<PyAny>>) -> Self {
        let again = "a storage or a hash function must not use its own file";
        Self { info: file.info(), file: Turns::new(Some(Open { file, objects }), again) }
    }

    /// Calls a function with the file. Threads take turns.
    fn with_file<T>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut File) -> PyResult<T>,
    ) -> PyResult<T> {
        self.file.with(py, |file| {
            call(
                &mut file
                    .as_mut()
                    .ok_or_else(|| PyValueError::new_err("I/O operation on closed file"))?
                    .file,
            )
        })
    }

    /// Calls a function that does not use Python with the file, without the interpreter's lock.
    fn work<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut File) -> palladion_raf::Result<T> + Send,
    ) -> PyResult<T> {
        self.with_file(py, |file| work(py, || call(file)).or_raise_in(py))
    }
}

#[pymethods]
impl Raf {
    /// Creates a file. access is "w" to replace an existing file or "x" to fail if there is one.
    /// merkle is None, True or a MerkleHasher.
    #[staticmethod]
    #[pyo3(signature = (
        storage, access, secret, *, algorithm, chunk_size, merkle = None, max_chunks = None
    ))]
    #[allow(clippy::too_many_arguments)] // keyword arguments in Python
    fn create(
        py: Python<'_>,
        storage: Place,
        access: &str,
        secret: Secret,
        algorithm: Name,
        chunk_size: u32,
        merkle: Option<Bound<'_, PyAny>>,
        max_chunks: Option<u64>,
    ) -> PyResult<Self> {
        let objects = objects(py, &storage, merkle.as_ref());
        // Check all arguments before a file is created or truncated.
        if !is_chunk_size(chunk_size) {
            return Err(raf_error(py, Error::ChunkSize(chunk_size)));
        }
        let mut id = [0; 24];
        System::<Hash>::default().random(&mut id).map_err(Error::NoRandomness).or_raise_in(py)?;
        let options = Options::default().algorithm(algorithm.0).chunk_size(chunk_size).file_id(id);
        if let Kind::Passphrase(passphrase) = &secret.kind {
            if passphrase.is_empty() {
                return Err(file_error(py, palladion_file::Error::EmptyPassphrase, None));
            }
            refuse_mistaken(passphrase)?;
        }
        let key = secret.master_key(py, algorithm.0, &id)?;
        let tree = Wanted::new(merkle, max_chunks, 0)?.map(|wanted| py.detach(|| wanted.tree()));
        let tree = tree.transpose().or_raise_in(py)?;
        let overwrite = access == "w";
        let store = storage.open(py, if overwrite { Access::Overwrite } else { Access::New })?;
        let file = work(py, || {
            let options = options.overwrite(overwrite);
            let mut file: File =
                options.create_in(store, &key, System::default(), |info| info.buffer(1))?;
            tree.map_or(Ok(()), |tree| file.attach(tree))?;
            Ok(file)
        });
        Ok(Self::new(file.or_raise_in(py)?, objects))
    }

    /// Opens a file. With merkle, computes the tree from the file if rebuild is true, and otherwise
    /// leaves it empty.
    #[staticmethod]
    #[pyo3(signature = (
        storage, secret, *, write = false, beside_writer = false, merkle = None, max_chunks = None,
        rebuild = true
    ))]
    #[allow(clippy::too_many_arguments)] // keyword arguments in Python
    fn open(
        py: Python<'_>,
        storage: Place,
        secret: Secret,
        write: bool,
        beside_writer: bool,
        merkle: Option<Bound<'_, PyAny>>,
        max_chunks: Option<u64>,
        rebuild: bool,
    ) -> PyResult<Self> {
        let objects = objects(py, &storage, merkle.as_ref());
        let access = match (write, beside_writer) {
            (true, _) => Access::Change,
            (false, true) => Access::ReadBeside,
            (false, false) => Access::Read,
        };
        let store = storage.open(py, access)?;
        let found = work(py, || Found::new(store)).or_raise_in(py)?;
        let info = found.info();
        let found = match access {
            Access::Read => found.read_only(),
            Access::ReadBeside => found.beside_writer(),
            _ => found,
        };
        let key = secret.master_key(py, info.algorithm, &info.file_id)?;
        let wanted = Wanted::new(merkle, max_chunks, info.chunks())?;
        let file = work(py, || match wanted {
            Some(Wanted { hash, hash_len, max_chunks }) if rebuild => {
                found.open(&key)?.with_merkle_hasher(hash, hash_len, max_chunks)
            }
            wanted => {
                let mut file: File =
                    found.open_in(&key, System::default(), |info| info.buffer(1))?;
                wanted.map_or(Ok(()), |wanted| file.attach(wanted.tree()?))?;
                Ok(file)
            }
        });
        Ok(Self::new(file.or_raise_in(py)?, objects))
    }

    /// The standard's name of the cipher.
    #[getter]
    fn algorithm(&self) -> Name {
        Name(self.info.algorithm)
    }

    /// Bytes in a chunk.
    #[getter]
    fn chunk_size(&self) -> u32 {
        self.info.chunk_size
    }

    /// A random identifier of 24 bytes.
    #[getter]
    fn file_id<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.info.file_id)
    }

    /// Bytes in the decrypted file.
    #[getter]
    fn size(&self, py: Python<'_>) -> PyResult<u64> {
        self.with_file(py, |file| Ok(file.size()))
    }

    /// Reads the header again and returns the size.
    fn refresh(&self, py: Python<'_>) -> PyResult<u64> {
        self.work(py, |file| file.refresh())
    }

    /// Whether a change has failed in the middle since the last one that did not.
    #[getter]
    fn poisoned(&self, py: Python<'_>) -> PyResult<bool> {
        self.with_file(py, |file| Ok(file.is_poisoned()))
    }

    /// Reads up to size bytes at offset, or everything to the end if size is None.
    #[pyo3(signature = (size, offset))]
    fn read_at<'py>(
        &self,
        py: Python<'py>,
        size: Option<u64>,
        offset: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.with_file(py, |file| {
            let there = file.size().saturating_sub(offset);
            let len = size.map_or(there, |size| size.min(there));
            let len =
                usize::try_from(len).map_err(|_| PyValueError::new_err("too long for Python"))?;
            let mut target = Target::new(py, None, len)?;
            let bytes = target.zeroed();
            let read = work(py, || file.read_at(bytes, offset)).or_raise_in(py)?;
            let bytes = target.finish();
            // Beside a writer, the file may have become shorter.
            if read < len {
                Ok(PyBytes::new(py, &bytes.extract::<&[u8]>()?[..read]).into_any())
            } else {
                Ok(bytes)
            }
        })
    }

    /// Reads into a writable buffer at offset and returns the number of bytes. If it fails, all of
    /// the buffer is zeroed.
    fn read_into(&self, py: Python<'_>, mut buffer: Out<'_>, offset: u64) -> PyResult<usize> {
        let bytes = buffer.bytes();
        self.work(py, |file| file.read_at(bytes, offset))
    }

    /// Writes all of data at offset and returns its length.
    fn write_at(&self, py: Python<'_>, data: In<'_, '_>, offset: u64) -> PyResult<usize> {
        let data = data.bytes();
        self.work(py, |file| file.write_at(data, offset).map(|()| data.len()))
    }

    /// Appends all of data and returns its length and the new size.
    fn append(&self, py: Python<'_>, data: In<'_, '_>) -> PyResult<(usize, u64)> {
        let data = data.bytes();
        self.work(py, |file| {
            file.write_at(data, file.size())?;
            Ok((data.len(), file.size()))
        })
    }

    /// Changes the size; new bytes are zero.
    fn set_size(&self, py: Python<'_>, size: u64) -> PyResult<()> {
        self.work(py, |file| file.set_size(size))
    }

    /// Waits until everything written would survive a loss of power.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.work(py, |file| file.sync())
    }

    /// Reads and authenticates every chunk.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        self.work(py, |file| file.verify())
    }

    /// Whether to sync the storage within changes, so that the size is right even if the machine
    /// stops.
    fn set_barriers(&self, py: Python<'_>, on: bool) -> PyResult<()> {
        self.with_file(py, |file| {
            file.set_barriers(on);
            Ok(())
        })
    }

    /// The commitment of the Merkle tree.
    fn commitment<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let commitment = self.work(py, |file| file.commitment())?;
        Ok(PyBytes::new(py, &commitment))
    }

    /// Computes the Merkle tree again from the file.
    fn rebuild_tree(&self, py: Python<'_>) -> PyResult<()> {
        self.work(py, |file| file.rebuild_tree())
    }

    /// Compares every chunk with the Merkle tree.
    fn verify_tree(&self, py: Python<'_>) -> PyResult<()> {
        self.work(py, |file| file.verify_tree().map_err(|(_, error)| error))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // A locked file is in use, so it is not garbage.
        let open = self.file.try_lock();
        for object in open.iter().flat_map(|open| open.iter()).flat_map(|open| &open.objects) {
            // Visit twice: these objects and the file each hold a reference.
            visit.call(object)?;
            visit.call(object)?;
        }
        Ok(())
    }

    fn __clear__(&self) {
        let open = self.file.try_lock().and_then(|mut open| open.take());
        drop(open);
    }

    /// Closes the file and wipes its keys. Closing it again does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.file.is_stuck() {
            return Ok(());
        }
        // Drop it after unlocking, because that may run the destructor of a Python object.
        self.file.with(py, |file| Ok(file.take())).map(drop)
    }

    /// Whether it is closed.
    #[getter]
    fn closed(&self, py: Python<'_>) -> PyResult<bool> {
        self.file.with(py, |file| Ok(file.is_none()))
    }
}

/// The Python objects among the arguments, which the file keeps.
fn objects(py: Python<'_>, storage: &Place, merkle: Option<&Bound<'_, PyAny>>) -> Vec<Py<PyAny>> {
    let storage = match storage {
        Place::Object(object) => Some(object.clone_ref(py)),
        Place::Path(_) => None,
    };
    let hasher = merkle.and_then(|merkle| match Hash::new(merkle) {
        Hash::Object(object) => Some(object),
        Hash::Sha256 => None,
    });
    storage.into_iter().chain(hasher).collect()
}

/// Reads the header of a file without the key, so unverified: algorithm, chunk size, size and file
/// id.
#[pyfunction]
pub fn raf_probe<'py>(
    py: Python<'py>,
    storage: Place,
) -> PyResult<(Name, u32, u64, Bound<'py, PyBytes>)> {
    let mut store = storage.look(py)?;
    let info = work(py, || palladion_raf::probe(&mut store)).or_raise_in(py)?;
    Ok((Name(info.algorithm), info.chunk_size, info.size, PyBytes::new(py, &info.file_id)))
}

/// Derives a key for one purpose from a key of 16 or 32 bytes; it has the same length.
#[pyfunction]
#[pyo3(signature = (key, context = None))]
pub fn raf_derive_master_key<'py>(
    py: Python<'py>,
    key: In<'_, 'py>,
    context: Option<In<'_, 'py>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let key =
        palladion_raf::derive_master_key(key.bytes(), bytes_or_none(&context)).or_raise_in(py)?;
    Ok(PyBytes::new(py, &key))
}
