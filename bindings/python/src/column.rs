//! Columns: many values in one call, each encrypted as by `Cipher.seal` under its own random nonce.
//!
//! Values come as an Arrow column or as a list of Python objects, whose bytes are first copied to
//! such a column; `palladion/columns.py` converts other containers to one of these. An Arrow column
//! is a buffer with all bytes, offsets into it or a width, and a bit mask of the values that are
//! not null. The result is one too.
//!
//! A caller may write to its buffers during a call (see `buffer`). An earlier check of an offset
//! therefore proves nothing: each time an offset is read, the range is looked up in a slice, and an
//! invalid one is an error.

use std::ops::Range;
use std::panic;
use std::sync::Mutex;
use std::thread;

use palladion::batch::{self, Decryption, Encryption};
use palladion::family::Family;
use palladion::{Aegis, any, with_algorithm};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyList, PyString, PyTuple};
use zeroize::{Zeroize, Zeroizing};

use crate::buffer::{In, Out, bytes_or_none, work_on};
use crate::cipher::Cipher;
use crate::error::{about, error};
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
    rows: usize,
}

impl<'a> Column<'a> {
    /// The value of a row, or `None` if it is null.
    #[inline(always)]
    fn get(&self, row: usize) -> Result<Option<&'a [u8]>, Fault> {
        let wrong = Fault::Offsets(row);
        let Some(place) = self.first.checked_add(row) else { return Err(wrong) };
        let range = self.layout.range(place);
        let Some(value) = range.and_then(|range| self.data.get(range)) else { return Err(wrong) };
        let Some(valid) = self.valid else { return Ok(Some(value)) };
        let Some(bits) = valid.get(place / 8) else { return Err(wrong) };
        Ok((bits >> (place % 8) & 1 == 1).then_some(value))
    }
}

/// The associated data of all rows.
#[derive(Clone, Copy)]
enum Ads<'a> {
    Same(&'a [u8]),
    Each(Column<'a>),
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

/// The direction, the cipher, the values and the associated data of a call.
struct Task<'a> {
    way: Way,
    cipher: &'a any::Cipher,
    /// The number of bytes by which encryption lengthens a value.
    overhead: usize,
    values: Column<'a>,
    ads: Ads<'a>,
}

impl Task<'_> {
    /// The length of the result for a value. A value too short to decrypt has an empty result, and
    /// fails later.
    #[inline(always)]
    fn result_len(&self, len: usize) -> Result<usize, Fault> {
        let too_long = Fault::Arguments("a value is too long");
        match self.way {
            Way::Seal => len.checked_add(self.overhead).ok_or(too_long),
            Way::Open => Ok(len.saturating_sub(self.overhead)),
        }
    }
}

/// Where the results lie, one behind the other.
struct Plan {
    /// Where each begins, and where the last ends, unless all have one length.
    offsets: Option<Vec<usize>>,
    /// That length, or the width that the offsets get.
    width: usize,
    /// The number of bytes in all of them.
    size: usize,
    /// A bit for each: 0 if it is null.
    valid: Option<Vec<u8>>,
    rows: usize,
}

const TOO_LONG: Fault = Fault::Arguments("the column is too long");

impl Plan {
    /// Plans the results of a task, with offsets of 64 bits if there are more than `most` bytes.
    /// `nulls` asks for the bit mask even if no value is null.
    fn new(task: &Task<'_>, most: usize, nulls: bool) -> Result<Self, Fault> {
        let rows = task.values.rows;
        // First, because values of no bytes can be any number: too many for a bit mask.
        if task.way == Way::Open
            && let Layout::Fixed(width) = task.values.layout
            && width < task.overhead
        {
            return Err(Fault::Arguments("the values are too short to have been encrypted"));
        }
        let valid = (nulls || task.values.valid.is_some()).then(|| vec![0; rows.div_ceil(8)]);
        let mut plan = Self { offsets: None, width: 0, size: 0, valid, rows };
        if let Layout::Fixed(width) = task.values.layout {
            plan.width = task.result_len(width)?;
            plan.size = plan.width.checked_mul(rows).ok_or(TOO_LONG)?;
            // Nulls take as many bytes as other values.
            if let Some(valid) = &mut plan.valid {
                for row in 0..rows {
                    mark(valid, row, task.values.get(row)?.is_some());
                }
            }
            return Ok(plan);
        }
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        for row in 0..rows {
            if let Some(value) = task.values.get(row)? {
                let len = task.result_len(value.len())?;
                plan.size = plan.size.checked_add(len).ok_or(TOO_LONG)?;
                if let Some(valid) = &mut plan.valid {
                    mark(valid, row, true);
                }
            }
            offsets.push(plan.size);
        }
        let short = matches!(task.values.layout, Layout::Offsets32(_));
        plan.width = if short && plan.size <= most.min(i32::MAX as usize) { 4 } else { 8 };
        plan.offsets = Some(offsets);
        Ok(plan)
    }

    /// The length of the result of a row.
    #[inline(always)]
    fn len(&self, row: usize) -> usize {
        self.offsets.as_ref().map_or(self.width, |offsets| offsets[row + 1] - offsets[row])
    }

    /// The result as Python has it: see `Given`.
    fn column<'py>(self, data: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        let py = data.py();
        let bytes = |offsets: Vec<usize>| {
            PyBytes::new_with(py, offsets.len() * self.width, |bytes| {
                for (place, offset) in bytes.chunks_exact_mut(self.width).zip(offsets) {
                    match self.width {
                        4 => place.copy_from_slice(&(offset as i32).to_ne_bytes()),
                        _ => place.copy_from_slice(&(offset as i64).to_ne_bytes()),
                    }
                }
                Ok(())
            })
        };
        let offsets = self.offsets.map(bytes).transpose()?;
        let valid = self.valid.map(|valid| PyBytes::new(py, &valid));
        (data, offsets, self.width, valid, 0, self.rows).into_pyobject(py)
    }
}

/// Sets the bit of a row.
fn mark(valid: &mut [u8], row: usize, is_there: bool) {
    let bit = 1 << (row % 8);
    if is_there { valid[row / 8] |= bit } else { valid[row / 8] &= !bit }
}

/// The rows that a thread takes at a time, and the room for their results.
struct Block<'b> {
    rows: Range<usize>,
    plan: &'b Plan,
    room: &'b mut [u8],
}

/// All rows in blocks.
struct Blocks<'b> {
    next: usize,
    plan: &'b Plan,
    room: &'b mut [u8],
}

impl<'b> Iterator for Blocks<'b> {
    type Item = Block<'b>;

    fn next(&mut self) -> Option<Block<'b>> {
        let (start, last) = (self.next, self.plan.rows.min(self.next.saturating_add(BLOCK)));
        if start == last {
            return None;
        }
        let (mut end, mut bytes) = (start, 0);
        while end < last && bytes < BLOCK_BYTES {
            (bytes, end) = (bytes + self.plan.len(end), end + 1);
        }
        self.next = end;
        let room = self.room.split_off_mut(..bytes).expect("the plan fits the room");
        Some(Block { rows: start..end, plan: self.plan, room })
    }
}

/// Processes all blocks on `threads` threads. Returns the rows that are not authentic, unsorted.
///
/// The threads are created for the call, which costs some tens of microseconds for milliseconds of
/// work. A permanent pool does not survive `fork`, with which `multiprocessing` and PySpark create
/// their workers: there, a call would wait forever for threads that only the parent has.
fn in_blocks(task: &Task<'_>, threads: usize, blocks: Blocks<'_>) -> Result<Vec<usize>, Fault> {
    let queue = Mutex::new(blocks);
    let next = || queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).next();
    let worker = || {
        let mut failures = Vec::new();
        while let Some(block) = next() {
            let rows = with_algorithm!(task.cipher.algorithm(), convert_block(task, block))?;
            failures.extend(rows);
        }
        Ok(failures)
    };
    thread::scope(|scope| {
        // If the system cannot create more threads, the existing ones do the work.
        let start = |_| thread::Builder::new().spawn_scoped(scope, worker).ok();
        let others: Vec<_> = (1..threads).map_while(start).collect();
        let mut all = vec![worker()];
        for other in others {
            all.push(other.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked)));
        }
        all.into_iter().collect::<Result<Vec<_>, Fault>>().map(|all| all.concat())
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

/// Processes a block, and returns the rows that are not authentic.
fn convert_block<F: Family, const D: usize>(
    task: &Task<'_>,
    block: Block<'_>,
) -> Result<Vec<usize>, Fault> {
    match (task.way, task.cipher.tag_len()) {
        (Way::Seal, 16) => seal_block::<F, D, 16>(task, block).map(|()| Vec::new()),
        (Way::Seal, _) => seal_block::<F, D, 32>(task, block).map(|()| Vec::new()),
        (Way::Open, 16) => open_block::<F, D, 16>(task, block),
        (Way::Open, _) => open_block::<F, D, 32>(task, block),
    }
}

#[inline(never)] // inlined, all four in one function are slower
fn seal_block<F: Family, const D: usize, const T: usize>(
    task: &Task<'_>,
    block: Block<'_>,
) -> Result<(), Fault> {
    let Block { mut rows, plan, room: mut rest } = block;
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
            let mut room = rest.split_off_mut(..plan.len(row)).ok_or(Fault::Offsets(row))?;
            let Some(value) = task.values.get(row)? else {
                room.fill(0); // of values with a fixed length
                continue;
            };
            let place = room.split_off_mut(..F::KEY_LEN).ok_or(Fault::Offsets(row))?;
            place.copy_from_slice(nonce.as_ref());
            jobs.push(Encryption::seal_into(&cipher, nonce, task.ads.get(row)?, value, room));
        }
        batch::encrypt(jobs).map_err(palladion::Error::from)?;
    }
    Ok(())
}

#[inline(never)] // inlined, all four in one function are slower
fn open_block<F: Family, const D: usize, const T: usize>(
    task: &Task<'_>,
    block: Block<'_>,
) -> Result<Vec<usize>, Fault> {
    let Block { mut rows, plan, room: mut rest } = block;
    let cipher = Aegis::<F, D, T>::new(&F::Key::try_from(task.cipher.key())?);
    let mut nonces = [F::Nonce::default(); BATCH];
    let mut places = Vec::with_capacity(BATCH);
    let mut failures = Vec::new();
    while !rows.is_empty() {
        let mut jobs = Vec::with_capacity(BATCH.min(rows.len()));
        for (row, place) in rows.by_ref().take(BATCH).zip(&mut nonces) {
            let room = rest.split_off_mut(..plan.len(row)).ok_or(Fault::Offsets(row))?;
            let Some(sealed) = task.values.get(row)? else {
                room.fill(0); // of values with a fixed length
                continue;
            };
            let ad = task.ads.get(row)?;
            match sealed.split_at_checked(F::KEY_LEN) {
                Some((nonce, sealed)) if sealed.len() >= T => {
                    *place = F::Nonce::try_from(nonce)?;
                    jobs.push(Decryption::open_into(&cipher, place, ad, sealed, room));
                    places.push(row);
                }
                _ => {
                    room.fill(0);
                    failures.push(row);
                }
            }
        }
        let mut other = Ok(());
        let _each_is_in_failures = batch::decrypt(jobs, |job, error| match error {
            palladion::Error::VerificationFailed => failures.push(places[job]),
            error => other = Err(error),
        });
        other?;
        places.clear();
    }
    Ok(failures)
}

/// A column from Python, with its buffers held.
struct Given<'a, 'py> {
    data: Held<'a, 'py>,
    /// Absent if all values have one length.
    offsets: Option<Held<'a, 'py>>,
    /// The width of an offset, or of a value if there are no offsets.
    width: usize,
    valid: Option<Held<'a, 'py>>,
    first: usize,
    rows: usize,
}

/// The bytes of a caller's buffer, or our own.
enum Held<'a, 'py> {
    Theirs(In<'a, 'py>),
    Ours(Zeroizing<Vec<u8>>),
}

impl<'a, 'py> Held<'a, 'py> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Theirs(bytes) => bytes.bytes(),
            Self::Ours(bytes) => bytes,
        }
    }
}

impl<'a, 'py> Given<'a, 'py> {
    /// Takes a list, or the buffers of a column: `(data, offsets or None, width, valid or None,
    /// first, rows)`. Values to open must not be text.
    fn new(object: &'a Bound<'py, PyAny>, way: Way) -> PyResult<Self> {
        if let Ok(list) = object.cast::<PyList>() {
            return Self::of_list(list, way);
        }
        let (data, offsets, width, valid, first, rows): (_, Option<_>, _, Option<_>, _, _) =
            object.extract()?;
        let (offsets, valid) = (offsets.map(Held::Theirs), valid.map(Held::Theirs));
        Ok(Self { data: Held::Theirs(data), offsets, width, valid, first, rows })
    }

    /// Copies the values of a list, one behind the other.
    fn of_list(list: &Bound<'py, PyList>, way: Way) -> PyResult<Self> {
        let values = list.iter().enumerate().map(|(row, value)| bytes_of(row, value, way));
        let values = values.collect::<PyResult<Vec<_>>>()?;
        let size = values.iter().flatten().map(|value| value.as_bytes().len()).sum();
        let mut data = Zeroizing::new(Vec::with_capacity(size));
        let mut offsets = Vec::with_capacity((values.len() + 1) * 8);
        let mut valid = vec![0; values.len().div_ceil(8)];
        offsets.extend(0_i64.to_ne_bytes());
        for (row, value) in values.iter().enumerate() {
            if let Some(value) = value {
                data.extend_from_slice(value.as_bytes());
                mark(&mut valid, row, true);
            }
            offsets.extend((data.len() as i64).to_ne_bytes());
        }
        let ours = |bytes: Vec<u8>| Some(Held::Ours(Zeroizing::new(bytes)));
        Ok(Self {
            data: Held::Ours(data),
            offsets: ours(offsets),
            width: 8,
            valid: ours(valid),
            first: 0,
            rows: values.len(),
        })
    }

    /// Checks that the buffers have room for all rows.
    fn column(&self) -> PyResult<Column<'_>> {
        let layout = match (&self.offsets, self.width) {
            (Some(offsets), 4) => Layout::Offsets32(offsets.bytes()),
            (Some(offsets), 8) => Layout::Offsets64(offsets.bytes()),
            (None, width) => Layout::Fixed(width),
            _ => return Err(Fault::Arguments("offsets must have 4 or 8 bytes").into()),
        };
        let (data, valid) = (self.data.bytes(), self.valid.as_ref().map(Held::bytes));
        let column = Column { data, layout, valid, first: self.first, rows: self.rows };
        // Reading the last row checks the lengths of offsets, bits and data before memory for the
        // results is allocated.
        if let Some(last) = self.rows.checked_sub(1) {
            column.get(last)?;
        }
        Ok(column)
    }
}

/// The bytes of an object in a list; None and NaN are null.
fn bytes_of<'py>(
    row: usize,
    value: Bound<'py, PyAny>,
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
    if value.is_none() || value.cast::<PyFloat>().is_ok_and(|number| number.value().is_nan()) {
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

/// The associated data from Python, with its buffers held: one for all rows, or a column.
#[allow(clippy::large_enum_variant)] // there is one of them in a call
enum GivenAds<'a, 'py> {
    Same(Option<In<'a, 'py>>),
    Each(Given<'a, 'py>),
}

impl<'a, 'py> GivenAds<'a, 'py> {
    fn new(ad: Option<&'a Bound<'py, PyAny>>) -> PyResult<Self> {
        match ad {
            Some(ad) if ad.is_instance_of::<PyList>() || ad.is_instance_of::<PyTuple>() => {
                let py = ad.py();
                Given::new(ad, Way::Seal).map(Self::Each).map_err(|error| about(py, "ad", error))
            }
            ad => Ok(Self::Same(ad.map(|ad| ad.extract()).transpose()?)),
        }
    }

    fn ads(&self, rows: usize) -> PyResult<Ads<'_>> {
        match self {
            Self::Same(ad) => Ok(Ads::Same(bytes_or_none(ad))),
            Self::Each(given) if given.rows == rows => given.column().map(Ads::Each),
            Self::Each(_) => Err(Fault::Arguments("ad must have as many rows as values").into()),
        }
    }
}

/// Encrypts a list or a column to a column, or decrypts it: `keep` is None for encryption.
///
/// Offsets have 32 bits if those of the values do and there are at most `most` bytes. If all values
/// have one length, there are no offsets, and nulls take as many bytes. `allocate` returns a buffer
/// of the size that it gets, which nothing else may use yet.
///
/// Decryption also returns the number of values that are not authentic and the row of the first. If
/// there are any, there is no column; if `keep` is true, there is one in which they are null.
#[pyfunction]
pub fn convert_column<'py>(
    cipher: &Bound<'py, Cipher>,
    values: &Bound<'py, PyAny>,
    ad: Option<&Bound<'py, PyAny>>,
    allocate: &Bound<'py, PyAny>,
    most: usize,
    threads: usize,
    keep: Option<bool>,
) -> PyResult<(Option<Bound<'py, PyTuple>>, usize, usize)> {
    let py = cipher.py();
    let way = if keep.is_some() { Way::Open } else { Way::Seal };
    let (given, given_ads) = (Given::new(values, way)?, GivenAds::new(ad)?);
    let (values, ads) = (given.column()?, given_ads.ads(given.rows)?);
    let cipher = &cipher.get().inner;
    let overhead = cipher.algorithm().key_len() + cipher.tag_len();
    let task = Task { way, cipher, overhead, values, ads };
    let loops = values.rows.saturating_mul(8);
    let mut plan = work_on(py, loops, || Plan::new(&task, most, keep == Some(true)))?;
    let data = allocate.call1((plan.size,))?;
    let mut out: Out<'_> = data.extract()?;
    let room = out.bytes();
    if room.len() != plan.size {
        return Err(Fault::Arguments("the buffer must have as many bytes as the results").into());
    }
    let failures = work_on(py, loops.saturating_add(plan.size), || {
        let threads = threads_for(threads, plan.rows, plan.size);
        let blocks = Blocks { next: 0, plan: &plan, room: &mut *room };
        in_blocks(&task, threads, blocks).inspect_err(|_| room.zeroize())
    })?;
    let (count, first) = (failures.len(), failures.iter().copied().min().unwrap_or_default());
    if count > 0 && keep != Some(true) {
        room.zeroize();
        return Ok((None, count, first));
    }
    if let Some(valid) = &mut plan.valid {
        failures.iter().for_each(|&row| mark(valid, row, false));
    }
    drop(out);
    Ok((Some(plan.column(data)?), count, first))
}

/// Creates a list of bytes, or of str if text is true, or None.
#[pyfunction]
pub fn column_to_list<'py>(
    py: Python<'py>,
    column: &Bound<'py, PyAny>,
    text: bool,
) -> PyResult<Bound<'py, PyList>> {
    let given = Given::new(column, Way::Seal)?;
    let column = given.column()?;
    let object = |row| {
        let Some(value) = column.get(row)? else { return Ok(py.None().into_bound(py)) };
        if !text {
            return Ok(PyBytes::new(py, value).into_any());
        }
        let Ok(value) = str::from_utf8(value) else {
            return Err(PyValueError::new_err(format!("row {row}: the value is not UTF-8")));
        };
        Ok(PyString::new(py, value).into_any())
    };
    PyList::new(py, (0..column.rows).map(object).collect::<PyResult<Vec<_>>>()?)
}
