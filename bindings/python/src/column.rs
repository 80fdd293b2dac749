//! Columns: many values in one call, each encrypted as by `Cipher.seal` under its own random nonce.
//!
//! Values come as an Arrow column or as a list of Python objects; `palladion/columns.py` converts
//! other containers to one of these. An Arrow column is a buffer with all bytes, offsets into it or
//! a width, and a bit mask of the values that are not null.
//!
//! A caller may write to its buffers during a call (see `buffer`). An earlier check of an offset
//! therefore proves nothing: each time an offset is read, the range is looked up in a slice, and an
//! invalid one is an error. This uses no `unsafe`.

use std::iter;
use std::ops::Range;
use std::panic;
use std::sync::Mutex;
use std::thread;

use palladion::batch::{self, Decryption, Encryption};
use palladion::family::Family;
use palladion::{Aegis, any, with_algorithm};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyList, PyString, PyTuple};
use zeroize::Zeroize;

use crate::buffer::{In, Out, Target, work_on};
use crate::cipher::Cipher;
use crate::error::error;
use crate::nonces::Nonces;

/// The number of values encrypted at once, among which the batch kernels sort.
const BATCH: usize = 64;

/// A thread takes at most this many values, or about this many bytes, at a time.
const BLOCK: usize = 2048;
const BLOCK_BYTES: usize = 1 << 20;

/// The reason why a column cannot be processed.
enum Fault {
    Core(palladion::Error),
    /// The offsets of a row decrease or point outside the buffer.
    Offsets(usize),
    /// The associated data of a row is null.
    NoAd(usize),
    /// Another error in the arguments.
    Arguments(&'static str),
}

impl From<palladion::Error> for Fault {
    fn from(error: palladion::Error) -> Self {
        Self::Core(error)
    }
}

impl From<Fault> for PyErr {
    #[cold]
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Core(e) => error(e),
            Fault::Offsets(row) => PyValueError::new_err(format!(
                "row {row}: offsets decrease or point outside the buffer"
            )),
            Fault::NoAd(row) => {
                PyValueError::new_err(format!("row {row}: the associated data is null"))
            }
            Fault::Arguments(what) => PyValueError::new_err(what),
        }
    }
}

/// The layout of the values in their buffer.
#[derive(Clone, Copy)]
enum Layout<'a> {
    /// Each value lies between its offset and the next. Offsets have 32 or 64 bits and need not be
    /// aligned.
    Offsets32(&'a [u8]),
    Offsets64(&'a [u8]),
    /// The values follow one another and have this length.
    Fixed(usize),
}

/// Reads an offset.
#[inline(always)]
fn offset<const N: usize>(
    offsets: &[u8],
    place: usize,
    read: impl Fn([u8; N]) -> i64,
) -> Option<usize> {
    let start = place.checked_mul(N)?;
    let bytes = offsets.get(start..start.checked_add(N)?)?;
    usize::try_from(read(bytes.try_into().ok()?)).ok()
}

impl Layout<'_> {
    /// The range of a value, or `None` if it is invalid.
    #[inline(always)]
    fn range(self, place: usize) -> Option<Range<usize>> {
        let at = |place| match self {
            Self::Offsets32(offsets) => {
                offset(offsets, place, |bytes| i32::from_ne_bytes(bytes).into())
            }
            Self::Offsets64(offsets) => offset(offsets, place, i64::from_ne_bytes),
            Self::Fixed(width) => place.checked_mul(width),
        };
        Some(at(place)?..at(place.checked_add(1)?)?)
    }
}

/// Values in Arrow's format.
#[derive(Clone, Copy)]
struct Column<'a> {
    data: &'a [u8],
    layout: Layout<'a>,
    /// A bit for each value, lowest first: 0 if it is null.
    valid: Option<&'a [u8]>,
    /// The index of the first row, which is not 0 in a slice of an array.
    first: usize,
}

/// Values of a column or of a list.
#[derive(Clone, Copy)]
enum Values<'a> {
    Arrow(Column<'a>),
    Objects(&'a [Option<&'a [u8]>]),
}

impl<'a> Values<'a> {
    /// The value of a row, or `None` if it is null.
    #[inline(always)]
    fn get(&self, row: usize) -> Result<Option<&'a [u8]>, Fault> {
        let wrong = Fault::Offsets(row);
        match self {
            Self::Arrow(column) => {
                let Some(place) = column.first.checked_add(row) else { return Err(wrong) };
                let range = column.layout.range(place);
                let Some(value) = range.and_then(|range| column.data.get(range)) else {
                    return Err(wrong);
                };
                let Some(valid) = column.valid else { return Ok(Some(value)) };
                let Some(bits) = valid.get(place / 8) else { return Err(wrong) };
                Ok((bits >> (place % 8) & 1 == 1).then_some(value))
            }
            Self::Objects(values) => values.get(row).copied().ok_or(wrong),
        }
    }

    /// The length of all rows, if they have the same.
    fn width(&self) -> Option<usize> {
        match self {
            Self::Arrow(Column { layout: Layout::Fixed(width), .. }) => Some(*width),
            _ => None,
        }
    }
}

/// The associated data of all rows.
#[derive(Clone, Copy)]
enum Ads<'a> {
    Same(&'a [u8]),
    Each(Values<'a>),
}

impl<'a> Ads<'a> {
    #[inline(always)]
    fn get(&self, row: usize) -> Result<&'a [u8], Fault> {
        match self {
            Self::Same(ad) => Ok(ad),
            Self::Each(values) => values.get(row)?.ok_or(Fault::NoAd(row)),
        }
    }
}

/// The direction: encryption or decryption.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Seal,
    Open,
}

impl Way {
    /// The length of the result for a value. A value too short to decrypt has an empty result, and
    /// fails later.
    #[inline(always)]
    fn result_len(self, cipher: &any::Cipher, len: usize) -> Result<usize, Fault> {
        let overhead = cipher.algorithm().key_len() + cipher.tag_len();
        match self {
            Self::Seal => len.checked_add(overhead).ok_or(Fault::Arguments("a value is too long")),
            Self::Open => Ok(len.saturating_sub(overhead)),
        }
    }
}

/// Room for the results of some rows.
enum Room<'b> {
    /// The results follow one another from this offset on.
    Together { bytes: &'b mut [u8], layout: Layout<'b>, at: usize },
    /// Each result has its own slice, which is empty for a null.
    Apart(std::vec::IntoIter<&'b mut [u8]>),
}

impl<'b> Room<'b> {
    /// Takes the room for the next row, which is `row`.
    #[inline(always)]
    fn next(&mut self, row: usize) -> Result<&'b mut [u8], Fault> {
        let wrong = Fault::Offsets(row);
        match self {
            Self::Together { bytes, layout, at } => {
                let Some(range) = layout.range(row) else { return Err(wrong) };
                let len = range.end.wrapping_sub(range.start);
                if range.start != *at || len > bytes.len() {
                    return Err(wrong);
                }
                let (room, rest) = std::mem::take(bytes).split_at_mut(len);
                (*bytes, *at) = (rest, range.end);
                Ok(room)
            }
            Self::Apart(rooms) => rooms.next().ok_or(wrong),
        }
    }
}

/// The rows that a thread takes at a time.
struct Block<'b> {
    rows: Range<usize>,
    room: Room<'b>,
}

/// All rows in blocks.
struct Blocks<'b> {
    next: usize,
    count: usize,
    room: Room<'b>,
}

impl<'b> Iterator for Blocks<'b> {
    type Item = Result<Block<'b>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let (start, last) = (self.next, self.count.min(self.next.saturating_add(BLOCK)));
        if start == last {
            return None;
        }
        let (mut end, mut bytes) = (start, 0);
        let room = match &mut self.room {
            Room::Together { bytes: rest, layout, at } => {
                while end < last && bytes < BLOCK_BYTES {
                    let Some(range) = layout.range(end) else {
                        return Some(Err(Fault::Offsets(end)));
                    };
                    (bytes, end) = (range.end.wrapping_sub(*at), end + 1);
                }
                if bytes > rest.len() {
                    return Some(Err(Fault::Offsets(end - 1)));
                }
                let (now, later) = std::mem::take(rest).split_at_mut(bytes);
                let room = Room::Together { bytes: now, layout: *layout, at: *at };
                (*rest, *at) = (later, *at + bytes);
                room
            }
            Room::Apart(rooms) => {
                let mut now = Vec::with_capacity(last - start);
                while end < last && bytes < BLOCK_BYTES {
                    let Some(room) = rooms.next() else { return Some(Err(Fault::Offsets(end))) };
                    (bytes, end) = (bytes + room.len(), end + 1);
                    now.push(room);
                }
                Room::Apart(now.into_iter())
            }
        };
        self.next = end;
        Some(Ok(Block { rows: start..end, room }))
    }
}

/// Processes all blocks on `threads` threads.
///
/// The threads are created for the call, which costs some tens of microseconds for milliseconds of
/// work. A permanent pool does not survive `fork`, with which `multiprocessing` and PySpark create
/// their workers: there, a call would wait forever for threads that only the parent has.
fn in_blocks<'b, R: Send>(
    threads: usize,
    blocks: Blocks<'b>,
    work: impl Fn(Block<'b>) -> Result<R, Fault> + Sync,
) -> Result<Vec<R>, Fault> {
    let queue = Mutex::new(blocks);
    let next = || queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).next();
    let worker =
        || iter::from_fn(next).map(|block| work(block?)).collect::<Result<Vec<R>, Fault>>();
    thread::scope(|scope| {
        // If the system cannot create more threads, the existing ones do the work.
        let start = |_| thread::Builder::new().spawn_scoped(scope, worker).ok();
        let others: Vec<_> = (1..threads).map_while(start).collect();
        let mut all = worker();
        for other in others {
            let theirs = other.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked));
            all = all.and_then(|mut all| {
                all.extend(theirs?);
                Ok(all)
            });
        }
        all
    })
}

/// The number of threads that is worth creating.
fn threads_for(wanted: usize, count: usize, bytes: usize) -> usize {
    let most = count.div_ceil(BLOCK).max(bytes / BLOCK_BYTES);
    if most <= 1 || wanted == 1 {
        return 1;
    }
    let wanted =
        if wanted == 0 { thread::available_parallelism().map_or(1, usize::from) } else { wanted };
    wanted.min(most)
}

/// The cipher, the values and the associated data of a call.
struct Task<'a> {
    cipher: &'a any::Cipher,
    values: Values<'a>,
    ads: Ads<'a>,
}

impl Task<'_> {
    /// The number of bytes by which encryption lengthens a value.
    fn overhead(&self) -> usize {
        self.cipher.algorithm().key_len() + self.cipher.tag_len()
    }

    fn seal_block(&self, block: Block<'_>) -> Result<(), Fault> {
        match self.cipher.tag_len() {
            16 => with_algorithm!(self.cipher.algorithm(), seal_block16(self, block)),
            _ => with_algorithm!(self.cipher.algorithm(), seal_block32(self, block)),
        }
    }

    fn open_block(&self, block: Block<'_>, keep: bool) -> Result<Failures, Fault> {
        match self.cipher.tag_len() {
            16 => with_algorithm!(self.cipher.algorithm(), open_block16(self, block, keep)),
            _ => with_algorithm!(self.cipher.algorithm(), open_block32(self, block, keep)),
        }
    }
}

// `with_algorithm!` passes a function the family and the degree, but not the length of the tag.
fn seal_block16<F: Family, const D: usize>(task: &Task<'_>, block: Block<'_>) -> Result<(), Fault> {
    seal_block::<F, D, 16>(task, block)
}
fn seal_block32<F: Family, const D: usize>(task: &Task<'_>, block: Block<'_>) -> Result<(), Fault> {
    seal_block::<F, D, 32>(task, block)
}
fn open_block16<F: Family, const D: usize>(
    task: &Task<'_>,
    block: Block<'_>,
    keep: bool,
) -> Result<Failures, Fault> {
    open_block::<F, D, 16>(task, block, keep)
}
fn open_block32<F: Family, const D: usize>(
    task: &Task<'_>,
    block: Block<'_>,
    keep: bool,
) -> Result<Failures, Fault> {
    open_block::<F, D, 32>(task, block, keep)
}

fn seal_block<F: Family, const D: usize, const T: usize>(
    task: &Task<'_>,
    block: Block<'_>,
) -> Result<(), Fault> {
    let Block { mut rows, mut room } = block;
    let cipher = Aegis::<F, D, T>::new(&F::Key::try_from(task.cipher.key())?);
    let mut random = Nonces::new()?;
    let (mut bytes, mut nonces) = ([0; BATCH * 32], [F::Nonce::default(); BATCH]);
    while !rows.is_empty() {
        let nonces = &mut nonces[..BATCH.min(rows.len())];
        let bytes = &mut bytes[..nonces.len() * F::KEY_LEN];
        random.fill(bytes)?;
        for (nonce, bytes) in nonces.iter_mut().zip(bytes.chunks_exact(F::KEY_LEN)) {
            nonce.as_mut().copy_from_slice(bytes);
        }
        let mut jobs = Vec::with_capacity(nonces.len());
        for (nonce, row) in nonces.iter().zip(rows.by_ref()) {
            let room = room.next(row)?;
            let Some(value) = task.values.get(row)? else {
                room.fill(0); // of values with a fixed length
                continue;
            };
            let Some((place, sealed)) = room.split_at_mut_checked(F::KEY_LEN) else {
                return Err(Fault::Offsets(row));
            };
            place.copy_from_slice(nonce.as_ref());
            jobs.push(Encryption::seal_into(&cipher, nonce, task.ads.get(row)?, value, sealed));
        }
        batch::encrypt(jobs).map_err(palladion::Error::from)?;
    }
    Ok(())
}

/// Counts the rows that are not authentic.
#[derive(Default)]
struct Failures {
    count: usize,
    first: usize,
    /// All such rows, if the caller needs them.
    rows: Vec<usize>,
}

impl Failures {
    fn add(&mut self, row: usize, keep: bool) {
        self.first = if self.count == 0 { row } else { self.first.min(row) };
        self.count += 1;
        if keep {
            self.rows.push(row);
        }
    }

    fn of(blocks: Vec<Self>) -> Self {
        let failed = blocks.into_iter().filter(|block| block.count > 0);
        failed
            .reduce(|mut all, block| {
                all.first = all.first.min(block.first);
                all.count += block.count;
                all.rows.extend(block.rows);
                all
            })
            .unwrap_or_default()
    }
}

fn open_block<F: Family, const D: usize, const T: usize>(
    task: &Task<'_>,
    block: Block<'_>,
    keep: bool,
) -> Result<Failures, Fault> {
    let Block { mut rows, mut room } = block;
    let cipher = Aegis::<F, D, T>::new(&F::Key::try_from(task.cipher.key())?);
    let mut nonces = [F::Nonce::default(); BATCH];
    let mut places = Vec::with_capacity(BATCH);
    let mut failures = Failures::default();
    while !rows.is_empty() {
        let mut jobs = Vec::with_capacity(BATCH.min(rows.len()));
        for (row, place) in rows.by_ref().take(BATCH).zip(&mut nonces) {
            let room = room.next(row)?;
            let Some(sealed) = task.values.get(row)? else {
                room.fill(0); // of values with a fixed length
                continue;
            };
            let ad = task.ads.get(row)?;
            match sealed.split_at_checked(F::KEY_LEN) {
                Some((nonce, rest)) if rest.len() >= T => {
                    *place = F::Nonce::try_from(nonce)?;
                    jobs.push(Decryption::open_into(&cipher, place, ad, rest, room));
                    places.push(row);
                }
                _ => failures.add(row, keep),
            }
        }
        let mut other = Ok(());
        let _each_is_in_failures = batch::decrypt(jobs, |job, error| match error {
            palladion::Error::VerificationFailed => failures.add(places[job], keep),
            error => other = Err(error),
        });
        other?;
        places.clear();
    }
    Ok(failures)
}

/// The buffers of an Arrow column from Python: `(data, offsets or None, width, valid or None,
/// first)`. `width` is that of an offset, or of a value if there are no offsets.
struct Parts<'py> {
    data: Bound<'py, PyAny>,
    offsets: Bound<'py, PyAny>,
    width: usize,
    valid: Bound<'py, PyAny>,
    first: usize,
}

impl<'py> Parts<'py> {
    fn new(tuple: &Bound<'py, PyTuple>) -> PyResult<Self> {
        let (data, offsets, width, valid, first) = tuple.extract()?;
        Ok(Self { data, offsets, width, valid, first })
    }
}

fn extract_some<'a, 'py>(object: &'a Bound<'py, PyAny>) -> PyResult<Option<In<'a, 'py>>> {
    if object.is_none() { Ok(None) } else { object.extract().map(Some) }
}

/// The values from Python, with the buffers held.
#[allow(clippy::large_enum_variant)] // there are two of them in a call
enum Given<'a, 'py> {
    Arrow {
        data: In<'a, 'py>,
        offsets: Option<In<'a, 'py>>,
        width: usize,
        valid: Option<In<'a, 'py>>,
        first: usize,
    },
    Objects(Vec<Option<&'a [u8]>>),
}

/// The caller's objects, kept alive for `Given`.
enum Kept<'py> {
    Arrow(Parts<'py>),
    Objects(Vec<Option<Bound<'py, PyBytes>>>),
}

impl<'py> Kept<'py> {
    /// `missing` is an object that means null, besides None and NaN; pandas has one. Values to
    /// open must not be text.
    fn new(
        object: &Bound<'py, PyAny>,
        missing: Option<&Bound<'py, PyAny>>,
        way: Way,
    ) -> PyResult<Self> {
        if let Ok(list) = object.cast::<PyList>() {
            let values =
                list.iter().enumerate().map(|(row, value)| bytes_of(row, value, missing, way));
            return values.collect::<PyResult<_>>().map(Self::Objects);
        }
        Parts::new(object.cast::<PyTuple>()?).map(Self::Arrow)
    }

    fn given(&self) -> PyResult<Given<'_, 'py>> {
        match self {
            Self::Arrow(parts) => Ok(Given::Arrow {
                data: parts.data.extract()?,
                offsets: extract_some(&parts.offsets)?,
                width: parts.width,
                valid: extract_some(&parts.valid)?,
                first: parts.first,
            }),
            Self::Objects(values) => Ok(Given::Objects(
                values.iter().map(|value| value.as_ref().map(|b| b.as_bytes())).collect(),
            )),
        }
    }
}

/// The bytes of an object in a list.
fn bytes_of<'py>(
    row: usize,
    value: Bound<'py, PyAny>,
    missing: Option<&Bound<'py, PyAny>>,
    way: Way,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let value = match value.cast_into_exact::<PyBytes>() {
        Ok(bytes) => return Ok(Some(bytes)),
        Err(other) => other.into_inner(),
    };
    if way == Way::Open && !value.is_none() {
        let name = value.get_type().fully_qualified_name()?;
        let why = match &*name.to_cow()? {
            "numpy.bytes_" => " (an item of dtype S lacks the zero bytes at its end)",
            _ => "",
        };
        if !why.is_empty() || value.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err(format!(
                "row {row}: an encrypted value must be bytes or None, not {name}{why}"
            )));
        }
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Some(bytes.clone()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return text.encode_utf8().map(Some);
    }
    let is_missing = missing.is_some_and(|missing| value.is(missing));
    if value.is_none()
        || is_missing
        || value.cast::<PyFloat>().is_ok_and(|number| number.value().is_nan())
    {
        return Ok(None);
    }
    match value.extract::<In<'_, '_>>() {
        Ok(bytes) => Ok(Some(PyBytes::new(value.py(), bytes.bytes()))),
        Err(_) => {
            let name = value.get_type().fully_qualified_name()?;
            Err(PyTypeError::new_err(format!(
                "row {row}: values must be bytes, str or None, not {name}"
            )))
        }
    }
}

impl Given<'_, '_> {
    /// Checks that the buffers have room for this many rows.
    fn values(&self, count: usize) -> PyResult<Values<'_>> {
        let values = match self {
            Self::Arrow { data, offsets, width, valid, first } => {
                let layout = match (offsets, width) {
                    (Some(offsets), 4) => Layout::Offsets32(offsets.bytes()),
                    (Some(offsets), 8) => Layout::Offsets64(offsets.bytes()),
                    (None, width) => Layout::Fixed(*width),
                    _ => return Err(Fault::Arguments("offsets must have 4 or 8 bytes").into()),
                };
                let (data, valid) = (data.bytes(), valid.as_ref().map(In::bytes));
                Values::Arrow(Column { data, layout, valid, first: *first })
            }
            Self::Objects(values) if values.len() == count => Values::Objects(values),
            Self::Objects(_) => {
                return Err(Fault::Arguments(
                    "the list must have as many items as the column has rows",
                )
                .into());
            }
        };
        // Reading the last row checks the lengths of offsets, bits and data before memory for the
        // results is allocated.
        if let Some(last) = count.checked_sub(1) {
            values.get(last)?;
        }
        Ok(values)
    }

    /// The places of the buffers.
    fn places(&self) -> Vec<(usize, usize)> {
        let place = |bytes: &In<'_, '_>| (bytes.place().0 as usize, bytes.len());
        match self {
            Self::Arrow { data, offsets, valid, .. } => {
                [Some(data), offsets.as_ref(), valid.as_ref()]
                    .into_iter()
                    .flatten()
                    .map(place)
                    .collect()
            }
            // `bytes` are read-only, so none of them is an output.
            Self::Objects(_) => Vec::new(),
        }
    }
}

/// The associated data from Python, with the buffers held.
#[allow(clippy::large_enum_variant)] // there are two of them in a call
enum GivenAds<'a, 'py> {
    Same(Option<In<'a, 'py>>),
    Each(Given<'a, 'py>),
}

impl GivenAds<'_, '_> {
    fn ads(&self, count: usize) -> PyResult<Ads<'_>> {
        match self {
            Self::Same(None) => Ok(Ads::Same(&[])),
            Self::Same(Some(ad)) => Ok(Ads::Same(ad.bytes())),
            Self::Each(given) => given.values(count).map(Ads::Each),
        }
    }

    fn places(&self) -> Vec<(usize, usize)> {
        match self {
            Self::Same(ad) => ad.iter().map(|ad| (ad.place().0 as usize, ad.len())).collect(),
            Self::Each(given) => given.places(),
        }
    }
}

/// Associated data kept alive: one object with the buffer protocol for all rows, or a column.
enum KeptAds<'py> {
    Same(Option<Bound<'py, PyAny>>),
    Each(Kept<'py>),
}

impl<'py> KeptAds<'py> {
    fn new(ad: Option<Bound<'py, PyAny>>, missing: Option<&Bound<'py, PyAny>>) -> PyResult<Self> {
        match ad {
            Some(ad) if ad.is_instance_of::<PyList>() || ad.is_instance_of::<PyTuple>() => {
                Kept::new(&ad, missing, Way::Seal).map(Self::Each)
            }
            ad => Ok(Self::Same(ad)),
        }
    }

    fn given(&self) -> PyResult<GivenAds<'_, 'py>> {
        match self {
            Self::Same(ad) => ad.as_ref().map(|ad| ad.extract()).transpose().map(GivenAds::Same),
            Self::Each(kept) => kept.given().map(GivenAds::Each),
        }
    }
}

/// Checks that no output overlaps another buffer, which Rust's slices require.
fn check_apart(outputs: &[&Option<Out<'_>>], inputs: &[(usize, usize)]) -> Result<(), Fault> {
    let place = |out: &Out<'_>| (out.place().0 as usize, out.place().1);
    let outputs: Vec<_> = outputs.iter().filter_map(|out| out.as_ref().map(place)).collect();
    for (i, &(start, len)) in outputs.iter().enumerate() {
        let apart = |&(other, other_len): &(usize, usize)| {
            len == 0 || other_len == 0 || start + len <= other || other + other_len <= start
        };
        if !outputs[i + 1..].iter().chain(inputs).all(apart) {
            return Err(Fault::Arguments("an output overlaps another buffer"));
        }
    }
    Ok(())
}

/// Computes the number of bytes in the results of a column; see seal_column and open_column.
#[pyfunction]
pub fn column_size(
    py: Python<'_>,
    cipher: &Bound<'_, Cipher>,
    values: &Bound<'_, PyTuple>,
    count: usize,
    seal: bool,
) -> PyResult<usize> {
    let kept = Kept::Arrow(Parts::new(values)?);
    let given = kept.given()?;
    let values = given.values(count)?;
    let (cipher, way) = (&cipher.get().inner, if seal { Way::Seal } else { Way::Open });
    // Values of one length need no loop. If that length is 0, there could be any number of them.
    if let Values::Arrow(Column { layout: Layout::Fixed(width), valid: None, .. }) = values {
        let size = way.result_len(cipher, width)?.checked_mul(count);
        return Ok(size.ok_or(Fault::Arguments("the column is too long"))?);
    }
    // Nor does encryption without nulls: the first and the last offset are enough. If others
    // decrease, seal_column finds that when it reads them.
    if let (Values::Arrow(Column { layout, valid: None, first, .. }), Way::Seal, Some(last)) =
        (values, way, count.checked_sub(1))
    {
        let (start, end) = (layout.range(first), layout.range(first.saturating_add(last)));
        let len = start.zip(end).and_then(|(start, end)| end.end.checked_sub(start.start));
        let overhead = way.result_len(cipher, 0)?.checked_mul(count);
        let size = len.zip(overhead).and_then(|(len, overhead)| len.checked_add(overhead));
        return Ok(size.ok_or(Fault::Offsets(0))?);
    }
    let size = work_on(py, count.saturating_mul(8), || {
        (0..count).try_fold(0_usize, |size, row| {
            let Some(value) = values.get(row)? else { return Ok(size) };
            let size = size.checked_add(way.result_len(cipher, value.len())?);
            size.ok_or(Fault::Arguments("the column is too long"))
        })
    });
    Ok(size?)
}

/// Writes the offsets and the bit mask of the results and returns their number of bytes.
fn lay_out(
    task: &Task<'_>,
    way: Way,
    count: usize,
    room: usize,
    offsets: Option<&mut [u8]>,
    mut valid: Option<&mut [u8]>,
) -> Result<(usize, Width), Fault> {
    const TOO_LONG: Fault = Fault::Arguments("the column is too long");
    let rows = count.checked_add(1).ok_or(TOO_LONG)?;
    let width = match (&offsets, task.values.width()) {
        (Some(offsets), _) if offsets.len() / 4 == rows && offsets.len() % 4 == 0 => {
            Width::Offsets32
        }
        (Some(offsets), _) if offsets.len() / 8 == rows && offsets.len() % 8 == 0 => {
            Width::Offsets64
        }
        (None, Some(width)) => {
            if way == Way::Open && width < task.overhead() {
                return Err(Fault::Arguments("the values are too short to have been encrypted"));
            }
            Width::Fixed(way.result_len(task.cipher, width)?)
        }
        _ => {
            return Err(Fault::Arguments(
                "out_offsets must have one more offset than there are rows",
            ));
        }
    };
    if valid.as_ref().is_some_and(|valid| valid.len() != count.div_ceil(8)) {
        return Err(Fault::Arguments("out_valid, the bit mask, must have one bit for each row"));
    }
    if let Some(valid) = &mut valid {
        valid.fill(0);
    }
    // The lengths were checked above, so the number of rows is bounded and the loop ends.
    if let Width::Fixed(width) = width
        && width.checked_mul(count) != Some(room)
    {
        return Err(Fault::Arguments("out must have as many bytes as the results"));
    }
    let (mut end, mut rest) = (0_usize, offsets.unwrap_or_default());
    let mut write = |offset: usize| -> Result<(), Fault> {
        let too_long = |_| Fault::Arguments("the results are too long for the offsets");
        let mut room = |len| {
            let (room, later) = std::mem::take(&mut rest).split_at_mut(len);
            rest = later;
            room
        };
        match width {
            Width::Offsets32 => {
                room(4).copy_from_slice(&i32::try_from(offset).map_err(too_long)?.to_ne_bytes());
            }
            Width::Offsets64 => {
                room(8).copy_from_slice(&i64::try_from(offset).map_err(too_long)?.to_ne_bytes());
            }
            Width::Fixed(_) => {}
        }
        Ok(())
    };
    write(0)?;
    for row in 0..count {
        let value = task.values.get(row)?;
        if let (Some(valid), Some(_)) = (&mut valid, value) {
            valid[row / 8] |= 1 << (row % 8);
        }
        let len = match (width, value) {
            (Width::Fixed(width), _) => width,
            (_, Some(value)) => way.result_len(task.cipher, value.len())?,
            (_, None) => 0,
        };
        end = end.checked_add(len).ok_or(TOO_LONG)?;
        write(end)?;
    }
    Ok((end, width))
}

/// The layout of the results: with 32-bit or 64-bit offsets, or all of one length.
#[derive(Clone, Copy)]
enum Width {
    Offsets32,
    Offsets64,
    Fixed(usize),
}

/// The checked arguments of a call for a column.
struct Outputs<'a> {
    out: &'a mut [u8],
    offsets: Option<&'a mut [u8]>,
    valid: Option<&'a mut [u8]>,
}

impl<'a> Outputs<'a> {
    /// Lays out the results and divides the rows into blocks. Returns the bit mask too.
    fn blocks(
        self,
        task: &Task<'_>,
        way: Way,
        count: usize,
    ) -> Result<(Blocks<'a>, Option<&'a mut [u8]>), Fault> {
        let Self { out, mut offsets, mut valid } = self;
        let (size, width) =
            lay_out(task, way, count, out.len(), offsets.as_deref_mut(), valid.as_deref_mut())?;
        if size != out.len() {
            return Err(Fault::Arguments("out must have as many bytes as the results"));
        }
        let offsets: &'a [u8] = offsets.unwrap_or_default();
        let layout = match width {
            Width::Offsets32 => Layout::Offsets32(offsets),
            Width::Offsets64 => Layout::Offsets64(offsets),
            Width::Fixed(width) => Layout::Fixed(width),
        };
        Ok((Blocks { next: 0, count, room: Room::Together { bytes: out, layout, at: 0 } }, valid))
    }
}

/// Encrypts a column into buffers.
///
/// The buffers are the values, offsets of 32 or 64 bits, and a bit mask of the values that are not
/// null, if asked for. If all values have one length there are no offsets, and nulls take as many
/// bytes.
#[pyfunction]
#[pyo3(signature = (
    cipher, values, count, ad, out, out_offsets = None, out_valid = None, threads = 0
))]
#[allow(clippy::too_many_arguments)] // for our own module alone
pub fn seal_column(
    py: Python<'_>,
    cipher: &Bound<'_, Cipher>,
    values: &Bound<'_, PyTuple>,
    count: usize,
    ad: Option<Bound<'_, PyAny>>,
    out: Out<'_>,
    out_offsets: Option<Out<'_>>,
    out_valid: Option<Out<'_>>,
    threads: usize,
) -> PyResult<()> {
    on_column(
        py,
        cipher,
        values,
        count,
        ad,
        [Some(out), out_offsets, out_valid],
        |task, outputs| {
            let size = outputs.out.len();
            let (blocks, _) = outputs.blocks(task, Way::Seal, count)?;
            in_blocks(threads_for(threads, count, size), blocks, |block| task.seal_block(block))
                .map(drop)
        },
    )
}

/// Decrypts a column into buffers like those of seal_column.
///
/// Returns the number of values that are not authentic and the row of the first. If there are any
/// and keep is false, all outputs are zeroed. If keep is true, only those values are zeroed, and
/// out_valid marks them as null.
#[pyfunction]
#[pyo3(signature = (
    cipher, values, count, ad, out, out_offsets = None, out_valid = None, threads = 0, keep = false
))]
#[allow(clippy::too_many_arguments)] // for our own module alone
pub fn open_column(
    py: Python<'_>,
    cipher: &Bound<'_, Cipher>,
    values: &Bound<'_, PyTuple>,
    count: usize,
    ad: Option<Bound<'_, PyAny>>,
    out: Out<'_>,
    out_offsets: Option<Out<'_>>,
    out_valid: Option<Out<'_>>,
    threads: usize,
    keep: bool,
) -> PyResult<(usize, usize)> {
    if keep && out_valid.is_none() {
        return Err(Fault::Arguments("keep needs out_valid, the bit mask").into());
    }
    on_column(
        py,
        cipher,
        values,
        count,
        ad,
        [Some(out), out_offsets, out_valid],
        |task, outputs| {
            let Outputs { out, offsets, valid } = outputs;
            let threads = threads_for(threads, count, out.len());
            // The workers are done, so the whole output can be used again.
            let opened = {
                let outputs = Outputs { out: &mut *out, offsets, valid };
                outputs.blocks(task, Way::Open, count).and_then(|(blocks, valid)| {
                    let failures =
                        in_blocks(threads, blocks, |block| task.open_block(block, keep))?;
                    Ok((Failures::of(failures), valid))
                })
            };
            match opened {
                Ok((failures, Some(valid))) if keep => {
                    for row in &failures.rows {
                        valid[row / 8] &= !(1 << (row % 8));
                    }
                    Ok((failures.count, failures.first))
                }
                Ok((failures, _)) if failures.count == 0 => Ok((0, 0)),
                Ok((failures, _)) => {
                    out.zeroize();
                    Ok((failures.count, failures.first))
                }
                Err(fault) => {
                    out.zeroize();
                    Err(fault)
                }
            }
        },
    )
}

/// Checks the arguments of a call for a column and does the work without the interpreter's lock.
fn on_column<T: Send>(
    py: Python<'_>,
    cipher: &Bound<'_, Cipher>,
    values: &Bound<'_, PyTuple>,
    count: usize,
    ad: Option<Bound<'_, PyAny>>,
    [mut out, mut offsets, mut valid]: [Option<Out<'_>>; 3],
    work: impl FnOnce(&Task<'_>, Outputs<'_>) -> Result<T, Fault>,
) -> PyResult<T> {
    let (kept, kept_ads) = (Kept::Arrow(Parts::new(values)?), KeptAds::new(ad, None)?);
    let (given, given_ads) = (kept.given()?, kept_ads.given()?);
    check_apart(&[&out, &offsets, &valid], &[given.places(), given_ads.places()].concat())?;
    let task = Task {
        cipher: &cipher.get().inner,
        values: given.values(count)?,
        ads: given_ads.ads(count)?,
    };
    let outputs = Outputs {
        out: out.as_mut().map(Out::bytes).unwrap_or_default(),
        offsets: offsets.as_mut().map(Out::bytes),
        valid: valid.as_mut().map(Out::bytes),
    };
    let size = outputs.out.len().saturating_add(count.saturating_mul(8));
    Ok(work_on(py, size, || work(&task, outputs))?)
}

/// The results for a list: `bytes`, or `None` for a null.
type Results<'py> = Vec<Option<Bound<'py, PyAny>>>;

/// Creates `bytes` objects for the results, none for a null, and returns them with their contents
/// as slices.
///
/// # Safety
/// The objects must outlive the slices, and nobody else may get the objects before then.
unsafe fn new_bytes<'a, 'py>(
    py: Python<'py>,
    task: &Task<'_>,
    way: Way,
    count: usize,
) -> PyResult<(Results<'py>, Vec<&'a mut [u8]>)> {
    let (mut objects, mut rooms) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for row in 0..count {
        let Some(value) = task.values.get(row)? else {
            objects.push(None);
            rooms.push(Default::default());
            continue;
        };
        let len = way.result_len(task.cipher, value.len())?;
        let mut target = Target::new(py, None, len)?;
        target.zeroed();
        // SAFETY: `target` is a new object with `len` bytes, which `zeroed` initialised; the caller
        // promises that it outlives the slice. Python shares the empty object, but then the slice
        // is empty too.
        rooms.push(unsafe { std::slice::from_raw_parts_mut(target.start(), len) });
        objects.push(Some(target.finish()));
    }
    Ok((objects, rooms))
}

/// Zeroes the results for a list that will not be returned.
fn wipe(objects: &Results<'_>) {
    for object in objects.iter().flatten() {
        // SAFETY: these are `bytes` that `new_bytes` created and nobody else has, so they are valid
        // for writes of their length. Only the empty object is shared, and nothing is written to
        // it.
        unsafe {
            let (start, len) =
                (ffi::PyBytes_AsString(object.as_ptr()), ffi::PyBytes_Size(object.as_ptr()));
            std::slice::from_raw_parts_mut(start.cast::<u8>(), len as usize).zeroize();
        }
    }
}

/// Checks the arguments of a call for a list and does the work without the interpreter's lock.
fn on_list<'py, T: Send>(
    list: &Bound<'py, PyList>,
    cipher: &Bound<'py, Cipher>,
    ad: Option<Bound<'py, PyAny>>,
    missing: Option<&Bound<'py, PyAny>>,
    way: Way,
    work: impl FnOnce(&Task<'_>, Blocks<'_>, usize) -> Result<T, Fault>,
) -> PyResult<(Results<'py>, T)> {
    let py = list.py();
    let (kept, kept_ads) = (Kept::new(list, missing, way)?, KeptAds::new(ad, missing)?);
    let (given, given_ads) = (kept.given()?, kept_ads.given()?);
    // Another thread may have changed the length of the list, so count our own references.
    let count = if let Given::Objects(values) = &given { values.len() } else { 0 };
    let task = Task {
        cipher: &cipher.get().inner,
        values: given.values(count)?,
        ads: given_ads.ads(count)?,
    };
    // SAFETY: `objects` stays here until this function returns, and `work` has used the slices by
    // then.
    let (objects, rooms) = unsafe { new_bytes(py, &task, way, count)? };
    let size = rooms.iter().map(|room| room.len()).sum();
    let blocks = Blocks { next: 0, count, room: Room::Apart(rooms.into_iter()) };
    match work_on(py, size + count * 8, || work(&task, blocks, size)) {
        Ok(result) => Ok((objects, result)),
        Err(fault) => {
            wipe(&objects);
            Err(fault.into())
        }
    }
}

/// Encrypts a list of bytes, str or None to a list of bytes or None.
#[pyfunction]
#[pyo3(signature = (cipher, values, ad = None, missing = None, threads = 0))]
pub fn seal_list<'py>(
    cipher: &Bound<'py, Cipher>,
    values: &Bound<'py, PyList>,
    ad: Option<Bound<'py, PyAny>>,
    missing: Option<Bound<'py, PyAny>>,
    threads: usize,
) -> PyResult<Bound<'py, PyList>> {
    let work = |task: &Task<'_>, blocks: Blocks<'_>, size| {
        let threads = threads_for(threads, blocks.count, size);
        in_blocks(threads, blocks, |block| task.seal_block(block)).map(drop)
    };
    let (objects, ()) = on_list(values, cipher, ad, missing.as_ref(), Way::Seal, work)?;
    PyList::new(values.py(), objects)
}

/// Decrypts a list.
///
/// Returns the values, the number of those that are not authentic, and the row of the first. If
/// there are any, there is no list, or they are None if keep is true. If text is true, values are
/// str.
#[pyfunction]
#[pyo3(signature = (
    cipher, values, ad = None, missing = None, threads = 0, keep = false, text = false
))]
#[allow(clippy::too_many_arguments)] // for our own module alone
pub fn open_list<'py>(
    cipher: &Bound<'py, Cipher>,
    values: &Bound<'py, PyList>,
    ad: Option<Bound<'py, PyAny>>,
    missing: Option<Bound<'py, PyAny>>,
    threads: usize,
    keep: bool,
    text: bool,
) -> PyResult<(Option<Bound<'py, PyList>>, usize, usize)> {
    let py = values.py();
    let work = |task: &Task<'_>, blocks: Blocks<'_>, size| {
        let threads = threads_for(threads, blocks.count, size);
        in_blocks(threads, blocks, |block| task.open_block(block, true)).map(Failures::of)
    };
    let (mut objects, failures) = on_list(values, cipher, ad, missing.as_ref(), Way::Open, work)?;
    if failures.count > 0 && !keep {
        wipe(&objects);
        return Ok((None, failures.count, failures.first));
    }
    for &row in &failures.rows {
        objects[row] = None;
    }
    if text {
        for (row, object) in objects.iter_mut().enumerate() {
            let Some(bytes) = object else { continue };
            let Ok(value) = str::from_utf8(bytes.cast::<PyBytes>()?.as_bytes()) else {
                return Err(PyValueError::new_err(format!("row {row}: the value is not UTF-8")));
            };
            *object = Some(PyString::new(py, value).into_any());
        }
    }
    Ok((Some(PyList::new(py, objects)?), failures.count, failures.first))
}
