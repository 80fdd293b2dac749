//! Many messages in one call.

use std::fmt::Display;

use palladion::batch::{self, BatchError, Decryption, Encryption};
use palladion::family::Family;
use palladion::{Aegis, any, with_algorithm};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::buffer::{In, Target, work_on};
use crate::error::{NOT_AUTHENTIC, OrRaise, VerificationError, about, error, too_short};
use crate::nonces::Nonces;

/// The buffers of many messages and their associated data, held.
struct Messages<'a, 'py> {
    messages: Vec<In<'a, 'py>>,
    ads: Vec<Option<In<'a, 'py>>>,
    targets: Vec<Target<'py>>,
    /// The number of bytes in all messages.
    total: usize,
}

impl<'a, 'py> Messages<'a, 'py> {
    /// `result_len` returns the length of a result by the index and the length of its message.
    fn new(
        py: Python<'py>,
        messages: &'a [Bound<'py, PyAny>],
        ads: Option<&'a [Bound<'py, PyAny>]>,
        result_len: impl Fn(usize, usize) -> PyResult<usize>,
    ) -> PyResult<Self> {
        let given = ads.map_or(messages.len(), <[_]>::len);
        if given != messages.len() {
            let count = messages.len();
            return Err(PyValueError::new_err(format!(
                "ads must have {count} items, one for each message, but has {given}"
            )));
        }
        let messages: Vec<In<'a, 'py>> = extract_all(messages, "message")?;
        let ads = match ads {
            None => messages.iter().map(|_| None).collect(),
            Some(ads) => extract_all(ads, "ad")?,
        };
        let targets = messages
            .iter()
            .enumerate()
            .map(|(index, message)| Target::new(py, None, result_len(index, message.len())?))
            .collect::<PyResult<_>>()?;
        let total = messages.iter().map(In::len).sum();
        Ok(Self { messages, ads, targets, total })
    }

    fn finish(self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.targets.into_iter().map(Target::finish))
    }
}

/// Extracts every item. A wrong type is reported with the number of its item.
fn extract_all<'a, 'py, T: FromPyObject<'a, 'py>>(
    items: &'a [Bound<'py, PyAny>],
    what: &str,
) -> PyResult<Vec<T>> {
    let each = items.iter().enumerate().map(|(index, item)| {
        let wrong = |error: T::Error| about(item.py(), &format!("{what} {index}"), error.into());
        item.extract().map_err(wrong)
    });
    each.collect()
}

/// A message: its bytes, its associated data and the place for its result.
type Job<'a> = (&'a [u8], &'a [u8], &'a mut [u8]);

/// Bytes of the right lengths as nonces.
fn nonces<'a, F: Family>(each: impl Iterator<Item = &'a [u8]>) -> Vec<F::Nonce> {
    each.map(|bytes| match F::Nonce::try_from(bytes) {
        Ok(nonce) => nonce,
        Err(_) => unreachable!("the bytes have that length"),
    })
    .collect()
}

fn seal_all<F: Family, const D: usize>(
    key: &[u8],
    tag_len: usize,
    nonces: &[u8],
    jobs: Vec<Job<'_>>,
) -> Result<(), BatchError> {
    fn of<F: Family, const D: usize, const T: usize>(
        key: &[u8],
        nonces: &[u8],
        jobs: Vec<Job<'_>>,
    ) -> Result<(), BatchError> {
        let Ok(key) = F::Key::try_from(key) else {
            unreachable!("a cipher's key has the right length")
        };
        let cipher = Aegis::<F, D, T>::new(&key);
        let nonces = self::nonces::<F>(nonces.chunks_exact(F::KEY_LEN));
        let jobs = jobs.into_iter().zip(&nonces).map(|((message, ad, target), nonce)| {
            let (front, sealed) = target.split_at_mut(F::KEY_LEN);
            front.copy_from_slice(nonce.as_ref());
            Encryption::seal_into(&cipher, nonce, ad, message, sealed)
        });
        batch::encrypt(jobs)
    }
    if tag_len == 16 {
        of::<F, D, 16>(key, nonces, jobs)
    } else {
        of::<F, D, 32>(key, nonces, jobs)
    }
}

fn open_all<F: Family, const D: usize>(
    key: &[u8],
    tag_len: usize,
    jobs: Vec<Job<'_>>,
) -> Result<(), BatchError> {
    fn of<F: Family, const D: usize, const T: usize>(
        key: &[u8],
        jobs: Vec<Job<'_>>,
    ) -> Result<(), BatchError> {
        let Ok(key) = F::Key::try_from(key) else {
            unreachable!("a cipher's key has the right length")
        };
        let cipher = Aegis::<F, D, T>::new(&key);
        let nonces = nonces::<F>(jobs.iter().map(|(sealed, ..)| &sealed[..F::KEY_LEN]));
        let jobs = jobs.into_iter().zip(&nonces).map(|((sealed, ad, target), nonce)| {
            Decryption::open_into(&cipher, nonce, ad, &sealed[F::KEY_LEN..], target)
        });
        batch::decrypt(jobs, |_, _| {})
    }
    if tag_len == 16 { of::<F, D, 16>(key, jobs) } else { of::<F, D, 32>(key, jobs) }
}

/// The jobs of all messages.
fn jobs<'b>(
    messages: &'b [In<'_, '_>],
    ads: &'b [Option<In<'_, '_>>],
    targets: &'b mut [Target<'_>],
) -> Vec<Job<'b>> {
    let each = messages.iter().zip(ads).zip(targets);
    each.map(|((message, ad), target)| {
        (message.bytes(), crate::buffer::bytes_or_none(ad), target.zeroed())
    })
    .collect()
}

/// Implements `Cipher.seal_many`.
pub fn seal_many<'py>(
    py: Python<'py>,
    cipher: &any::Cipher,
    messages: &[Bound<'py, PyAny>],
    ads: Option<&[Bound<'py, PyAny>]>,
) -> PyResult<Bound<'py, PyList>> {
    let (key, algorithm, tag_len) = (cipher.key(), cipher.algorithm(), cipher.tag_len());
    let nonce_len = algorithm.key_len();
    let mut held = Messages::new(py, messages, ads, |_, len| Ok(nonce_len + len + tag_len))?;
    let mut nonces = vec![0; nonce_len * messages.len()];
    Nonces::new().and_then(|mut random| random.fill(&mut nonces)).or_raise()?;
    let work = jobs(&held.messages, &held.ads, &mut held.targets);
    work_on(py, held.total, || with_algorithm!(algorithm, seal_all(key, tag_len, &nonces, work)))
        .map_err(|failed| failed.error)
        .or_raise()?;
    held.finish(py)
}

/// The exception for the first message that is not authentic.
fn numbered(py: Python<'_>, index: usize, why: &dyn Display) -> PyErr {
    let error = VerificationError::new_err(format!("message {index}: {why}"));
    match error.value(py).setattr("index", index) {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// Implements `Cipher.open_many`.
pub fn open_many<'py>(
    py: Python<'py>,
    cipher: &any::Cipher,
    sealed: &[Bound<'py, PyAny>],
    ads: Option<&[Bound<'py, PyAny>]>,
) -> PyResult<Bound<'py, PyList>> {
    let (key, algorithm, tag_len) = (cipher.key(), cipher.algorithm(), cipher.tag_len());
    let nonce_len = algorithm.key_len();
    let min = nonce_len + tag_len;
    let mut held = Messages::new(py, sealed, ads, |index, len| match len.checked_sub(min) {
        Some(message_len) => Ok(message_len),
        None => Err(numbered(py, index, &too_short(min, len))),
    })?;
    let work = jobs(&held.messages, &held.ads, &mut held.targets);
    let opened =
        work_on(py, held.total, || with_algorithm!(algorithm, open_all(key, tag_len, work)));
    if let Err(BatchError { first, error: why, .. }) = opened {
        // Wipe the messages that were authentic too: none is returned.
        for target in &mut held.targets {
            target.zeroed();
        }
        if why != palladion::Error::VerificationFailed {
            return Err(error(why));
        }
        return Err(numbered(py, first, &NOT_AUTHENTIC));
    }
    held.finish(py)
}
