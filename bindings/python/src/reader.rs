//! Encrypted files that are read as file objects: at any offset if what is below can seek, and
//! front to back if it cannot.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use palladion_file::sans_io::ChunkOpener;
use palladion_file::{DecryptReader, Error, ReadAt, SeekReader};
use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::buffer::{Out, Target};
use crate::file::{AGAIN, Limits, Object, Place, Reader, Run, file_error, io_error, raised};
use crate::object;
use crate::secret::Secret;
use crate::storage::os_error;
use crate::turns::Turns;

/// The most bytes to decrypt before looking for signals such as Ctrl-C.
const PIECE: usize = 64 << 20;
/// The most bytes to ask a file object for. Objects that take long to answer, such as files in the
/// cloud, need few long calls, but more memory is slow to get from the system.
const PIECE_OF_OBJECT: usize = 8 << 20;

/// An encrypted file that can be read at any offset.
enum Source {
    /// A file of the system, and where the encrypted file begins in it.
    File(File, u64),
    Object(Seekable),
}

impl ReadAt for Source {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Self::File(file, start) => file.read_at(buffer, start + offset),
            Self::Object(object) => object.read_at(buffer, offset),
        }
    }

    fn size(&self) -> io::Result<u64> {
        match self {
            Self::File(file, start) => Ok(file.size()?.saturating_sub(*start)),
            Self::Object(object) => object.size(),
        }
    }
}

/// A file object that can seek.
struct Seekable {
    object: Arc<Py<PyAny>>,
    /// Where the encrypted file begins.
    start: u64,
    /// What the calling thread has read for the others, which do not use the object: bytes of the
    /// encrypted file, and their offset.
    ahead: RwLock<Option<(u64, PyBackedBytes)>>,
}

impl Seekable {
    fn seek<'py>(&self, py: Python<'py>, offset: u64) -> PyResult<&Bound<'py, PyAny>> {
        let object = self.object.bind(py);
        object.call_method1("seek", (self.start + offset,))?;
        Ok(object)
    }

    /// Reads a range in one call, if the object returns all of it. The result is shorter only if
    /// the file ends.
    fn fetch(&self, py: Python<'_>, range: &Range<u64>) -> PyResult<PyBackedBytes> {
        let object = self.seek(py, range.start)?;
        let len = (range.end - range.start) as usize;
        let data = object::call_read(object, len)?;
        match data.cast_exact::<PyBytes>() {
            Ok(bytes) if bytes.as_bytes().len() == len => Ok(bytes.clone().into()),
            _ => {
                let mut done = 0;
                let whole = PyBytes::new_with(py, len, |buffer| {
                    done = object::copy_read(object, &data, buffer)?;
                    if done > 0 {
                        done += object::fill(object, &mut buffer[done..])?;
                    }
                    Ok(())
                })?;
                let whole =
                    if done < len { PyBytes::new(py, &whole.as_bytes()[..done]) } else { whole };
                Ok(whole.into())
            }
        }
    }

    fn set_ahead(&self, ahead: Option<(u64, PyBackedBytes)>) {
        *self.ahead.write().unwrap_or_else(PoisonError::into_inner) = ahead;
    }

    fn size(&self) -> io::Result<u64> {
        let end = Python::attach(|py| {
            let object = self.object.bind(py);
            object.call_method1("seek", (0, 2))?;
            object.call_method0("tell")?.extract::<u64>()
        });
        end.map(|end| end.saturating_sub(self.start)).map_err(raised)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let ahead = self.ahead.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((start, bytes)) = &*ahead
            && let Some(begin) = offset.checked_sub(*start)
            && let Some(bytes) = bytes.get(begin as usize..).and_then(|b| b.get(..buffer.len()))
        {
            buffer.copy_from_slice(bytes);
            return Ok(());
        }
        drop(ahead);
        let read = Python::attach(|py| object::fill(self.seek(py, offset)?, buffer));
        if read.map_err(raised)? < buffer.len() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

enum Inner {
    /// What cannot seek.
    Stream(Turns<DecryptReader<Reader>>),
    /// What can. The threads that move the position take turns, and so do all that use a file
    /// object, which has only one position.
    Seek(SeekReader<Source>, Turns<()>),
}

/// Decrypts a file as it is read.
#[pyclass(module = "palladion", frozen)]
pub struct FileReader {
    inner: Inner,
    /// The reference to the file object below, for the garbage collector.
    source: Option<Arc<Py<PyAny>>>,
    /// The name of the file below, for errors.
    name: Option<PathBuf>,
    position: AtomicU64,
}

#[pymethods]
impl FileReader {
    /// Opens a path to a regular file, or a file object.
    #[new]
    #[pyo3(signature = (source, *, secret, max_kdf_memory))]
    fn new(
        py: Python<'_>,
        source: Place,
        secret: &Secret,
        max_kdf_memory: Limits,
    ) -> PyResult<Self> {
        let (name, limits) = (source.name(py), max_kdf_memory.0);
        let run = Run::here(name.clone());
        let secret = secret.keyring(&run);
        let (source, object) = match source {
            Place::Path(path) => {
                let open = || {
                    let mut file = palladion_output::open_input(&path)?;
                    let start = file.stream_position()?;
                    Ok(Source::File(file, start))
                };
                let opened = py.detach(open);
                (Some(opened.map_err(|error| os_error(py, &error, Some(&path)))?), None)
            }
            Place::Object(object) => {
                let object = Arc::new(object);
                (seekable(py, &object)?.map(Source::Object), Some(object))
            }
        };
        let opened = py.detach(|| match (source, &object) {
            (Some(source), _) => SeekReader::with_limits(&secret, &limits, source)
                .map(|reader| Inner::Seek(reader, Turns::new((), AGAIN))),
            (None, Some(object)) => {
                let reader = Reader(Object::here(object.clone()));
                DecryptReader::with_limits(&secret, &limits, reader)
                    .map(|reader| Inner::Stream(Turns::new(reader, AGAIN)))
            }
            (None, None) => unreachable!("a path was opened"),
        });
        let inner = run.finish(py, opened)?;
        Ok(Self { inner, source: object, name, position: AtomicU64::new(0) })
    }

    /// The object of Python that owns this one breaks a cycle when it is cleared.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.source.as_ref().map_or(Ok(()), |source| visit.call(&**source))
    }

    /// The length of the plaintext, or None if the file cannot seek.
    #[getter]
    fn size(&self) -> Option<u64> {
        match &self.inner {
            Inner::Stream(_) => None,
            Inner::Seek(reader, _) => Some(reader.len()),
        }
    }

    /// The most plaintext in a chunk, or None if the file cannot seek.
    #[getter]
    fn chunk_size(&self) -> Option<usize> {
        match &self.inner {
            Inner::Stream(_) => None,
            Inner::Seek(reader, _) => Some(reader.chunk_size().bytes()),
        }
    }

    fn tell(&self) -> u64 {
        self.position.load(Ordering::Relaxed)
    }

    /// Moves the position of a file that can seek.
    fn seek(&self, py: Python<'_>, offset: i64, whence: u8) -> PyResult<u64> {
        let (reader, turns) = self.seekable()?;
        turns.with(py, |()| {
            let from = match whence {
                0 => 0,
                1 => self.tell(),
                2 => reader.len(),
                _ => {
                    let text = format!("whence must be 0, 1 or 2, not {whence}");
                    return Err(PyValueError::new_err(text));
                }
            };
            let moved = from.checked_add_signed(offset).ok_or_else(|| {
                let position = i128::from(from) + i128::from(offset);
                PyValueError::new_err(format!("position must not be negative, but is {position}"))
            })?;
            self.position.store(moved, Ordering::Relaxed);
            Ok(moved)
        })
    }

    /// Reads from the position on, as a raw file does. Fewer bytes than a chunk come from one
    /// chunk, so that little is read ahead.
    fn readinto(&self, py: Python<'_>, mut buffer: Out<'_>) -> PyResult<usize> {
        let bytes = buffer.bytes();
        match &self.inner {
            Inner::Stream(reader) => reader.with(py, |reader| {
                let name = self.name.as_deref();
                let read = py.detach(|| reader.read(bytes)).map_err(|e| io_error(py, e, name))?;
                self.position.fetch_add(read as u64, Ordering::Relaxed);
                Ok(read)
            }),
            Inner::Seek(reader, turns) => turns.with(py, |()| {
                let (position, chunk) = (self.tell(), reader.chunk_size().bytes());
                let mut len = bytes.len();
                if len < chunk {
                    len = len.min(chunk - (position % chunk as u64) as usize);
                }
                let read = self.read_at(py, reader, &mut bytes[..len], position)?;
                self.position.store(position + read as u64, Ordering::Relaxed);
                Ok(read)
            }),
        }
    }

    /// Reads everything from the position on in a file that can seek.
    fn readall<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (reader, turns) = self.seekable()?;
        turns.with(py, |()| {
            let data = self.read_new(py, reader, u64::MAX, self.tell())?;
            self.position.fetch_max(reader.len(), Ordering::Relaxed);
            Ok(data)
        })
    }

    /// Reads at an offset in a file that can seek, and leaves the position alone.
    fn pread<'py>(&self, py: Python<'py>, size: u64, offset: u64) -> PyResult<Bound<'py, PyAny>> {
        let (reader, turns) = self.seekable()?;
        match reader.get_ref() {
            Source::File(..) => self.read_new(py, reader, size, offset),
            Source::Object(_) => turns.with(py, |()| self.read_new(py, reader, size, offset)),
        }
    }
}

impl FileReader {
    fn seekable(&self) -> PyResult<(&SeekReader<Source>, &Turns<()>)> {
        match &self.inner {
            Inner::Stream(_) => Err(PyValueError::new_err("the file cannot seek")),
            Inner::Seek(reader, turns) => Ok((reader, turns)),
        }
    }

    fn read_new<'py>(
        &self,
        py: Python<'py>,
        reader: &SeekReader<Source>,
        size: u64,
        offset: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let len = reader.len().saturating_sub(offset).min(size);
        let len = usize::try_from(len).map_err(|_| PyValueError::new_err("too long for Python"))?;
        let mut target = Target::new(py, None, len)?;
        self.read_at(py, reader, target.zeroed(), offset)?;
        Ok(target.finish())
    }

    fn read_at(
        &self,
        py: Python<'_>,
        reader: &SeekReader<Source>,
        buffer: &mut [u8],
        mut offset: u64,
    ) -> PyResult<usize> {
        let piece = match reader.get_ref() {
            Source::File(..) => PIECE,
            Source::Object(_) => PIECE_OF_OBJECT,
        };
        let mut done = 0;
        for piece in buffer.chunks_mut(piece) {
            if done > 0 {
                py.check_signals()?;
            }
            let failed = |error| file_error(py, error, self.name.as_deref());
            let ahead = read_ahead(py, reader, offset..offset.saturating_add(piece.len() as u64));
            let read = ahead.and_then(|()| py.detach(|| reader.read_at(piece, offset)));
            if let Source::Object(object) = reader.get_ref() {
                object.set_ahead(None);
            }
            let read = read.map_err(failed)?;
            done += read;
            offset += read as u64;
            if read < piece.len() {
                break;
            }
        }
        Ok(done)
    }
}

/// Reads what several threads will decrypt, in one go. Only the calling thread uses file objects.
fn read_ahead(
    py: Python<'_>,
    reader: &SeekReader<Source>,
    plaintext: Range<u64>,
) -> Result<(), Error> {
    let Source::Object(object) = reader.get_ref() else { return Ok(()) };
    let plaintext_end = plaintext.end;
    let range = reader.fetch(plaintext);
    let text_len = reader.chunk_size().bytes();
    let chunk_len = (ChunkOpener::FRAME_LEN + text_len + ChunkOpener::TAG_LEN) as u64;
    if range.end - range.start <= chunk_len {
        return Ok(());
    }
    let bytes = object.fetch(py, &range).map_err(|error| Error::Read(raised(error)))?;
    let end = range.start + bytes.len() as u64;
    if end < range.end {
        // The range ends where the last chunk does, which may be a short one.
        let chunks = (range.end - range.start).div_ceil(chunk_len);
        let last = (plaintext_end.min(reader.len()) - 1) / text_len as u64;
        let chunk = last + 1 - chunks + (end - range.start) / chunk_len;
        return Err(Error::Truncated { chunk: Some(chunk), offset: end });
    }
    object.set_ahead(Some((range.start, bytes)));
    Ok(())
}

/// Returns the object, beginning where it is now, if it can seek.
fn seekable(py: Python<'_>, object: &Arc<Py<PyAny>>) -> PyResult<Option<Seekable>> {
    let bound = object.bind(py);
    match bound.getattr_opt("seekable")? {
        Some(seekable) if seekable.call0()?.is_truthy()? => {
            let start = bound.call_method0("tell")?.extract()?;
            let object = object.clone();
            Ok(Some(Seekable { object, start, ahead: RwLock::new(None) }))
        }
        _ => Ok(None),
    }
}
