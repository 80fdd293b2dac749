//! Encrypted files whose bytes the caller fetches, several ranges at once and in any order.

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use palladion_file::Error;
use palladion_file::sans_io::{ChunkOpener, Opening};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use zeroize::Zeroizing;

use crate::buffer::{In, Target, lock};
use crate::file::{Limits, Run, Secret, file_error};

/// Decrypts parts of a file. Until it is open, it says which bytes of the file it wants.
#[pyclass(module = "palladion", frozen)]
pub struct Chunks {
    opening: Mutex<Option<Opening>>,
    opened: OnceLock<ChunkOpener>,
    name: PathBuf,
}

#[pymethods]
impl Chunks {
    /// The bytes at the start of a file that it takes first.
    #[classattr]
    const START: usize = Opening::START_LEN;

    /// Checks the header and the secret. start is the first bytes of the file: START or more, or
    /// all of them.
    #[new]
    #[pyo3(signature = (start, size, *, secret, max_kdf_memory, name))]
    fn new(
        py: Python<'_>,
        start: In<'_, '_>,
        size: u64,
        secret: &Secret,
        max_kdf_memory: Limits,
        name: PathBuf,
    ) -> PyResult<Self> {
        let run = Run::here(Some(name.clone()));
        let (secret, start) = (run.secret(secret), start.bytes());
        let opening = py.detach(|| Opening::new(&secret, &max_kdf_memory.0, start, size));
        let opening = run.finish(py, opening)?;
        Ok(Self { opening: Mutex::new(Some(opening)), opened: OnceLock::new(), name })
    }

    /// The bytes of the file to give next, or None once it is open.
    fn wants(&self, py: Python<'_>) -> Option<(u64, u64)> {
        let range = lock(py, &self.opening).as_ref()?.wants()?;
        Some((range.start, range.end))
    }

    /// Takes the bytes that it wants, or fewer if the file ended earlier.
    fn give(&self, py: Python<'_>, bytes: In<'_, '_>) -> PyResult<()> {
        let mut opening = lock(py, &self.opening);
        let current = opening.take().filter(|opening| opening.wants().is_some());
        let current = current.ok_or_else(|| PyValueError::new_err("no bytes are wanted"))?;
        let mut bytes = Zeroizing::new(bytes.bytes().to_vec());
        let next = py.detach(|| current.give(&mut bytes));
        let next = next.map_err(|error| file_error(py, error, Some(&self.name)))?;
        match next.wants() {
            Some(_) => *opening = Some(next),
            None => self.opened.set(next.finish()).expect("it is opened once"),
        }
        Ok(())
    }

    /// The length of the plaintext.
    #[getter]
    fn size(&self) -> PyResult<u64> {
        self.opened().map(|opened| opened.layout().plaintext_len())
    }

    /// The most plaintext in a chunk.
    #[getter]
    fn chunk_size(&self) -> PyResult<usize> {
        self.opened().map(|opened| opened.layout().chunk_size().bytes())
    }

    /// The bytes of the file that hold a range of the plaintext: whole chunks.
    fn range(&self, start: u64, end: u64) -> PyResult<(u64, u64)> {
        let range = self.opened()?.layout().fetch(start..end);
        Ok((range.start, range.end))
    }

    /// Decrypts a range of the plaintext. sealed is a part of the file that holds its chunks, and
    /// begins at offset.
    fn open<'py>(
        &self,
        py: Python<'py>,
        sealed: In<'_, 'py>,
        offset: u64,
        start: u64,
        end: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let opened = self.opened()?;
        let len = end.min(opened.layout().plaintext_len()).saturating_sub(start);
        let mut target = Target::new(py, None, usize::try_from(len)?)?;
        let (sealed, text) = (sealed.bytes(), target.zeroed());
        py.detach(|| open(opened, sealed, offset, start, text))
            .map_err(|error| file_error(py, error, Some(&self.name)))?;
        Ok(target.finish())
    }
}

impl Chunks {
    fn opened(&self) -> PyResult<&ChunkOpener> {
        self.opened.get().ok_or_else(|| PyValueError::new_err("the file is not open yet"))
    }
}

/// Fills `text` with the plaintext from `start` on.
fn open(
    opened: &ChunkOpener,
    sealed: &[u8],
    offset: u64,
    start: u64,
    text: &mut [u8],
) -> Result<(), Error> {
    let (layout, end) = (opened.layout(), start + text.len() as u64);
    let mut whole = Zeroizing::new(Vec::new());
    for chunk in layout.chunks_of(start..end) {
        let place = layout.sealed(chunk..chunk + 1);
        // A range that is not there is a truncated chunk.
        let from = place.start.saturating_sub(offset).min(sealed.len() as u64) as usize;
        let to = place.end.saturating_sub(offset).min(sealed.len() as u64) as usize;
        let (sealed, plain) = (&sealed[from..to], layout.plaintext(chunk));
        let wanted = plain.start.max(start)..plain.end.min(end);
        let text = &mut text[(wanted.start - start) as usize..(wanted.end - start) as usize];
        if wanted == plain {
            opened.open_into(chunk, sealed, text)?;
        } else {
            whole.resize((plain.end - plain.start) as usize, 0);
            opened.open_into(chunk, sealed, &mut whole)?;
            text.copy_from_slice(&whole[(wanted.start - plain.start) as usize..][..text.len()]);
        }
    }
    Ok(())
}
