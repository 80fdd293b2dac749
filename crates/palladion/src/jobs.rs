//! The jobs of a batch: which of them go into one kernel.

use core::fmt;
use core::marker::PhantomData;
use core::ptr;

use crate::block::MAX_LANES;
use crate::dispatch::Chosen;
use crate::driver::variant::Variant;
use crate::driver::{Message, batch, message};
use crate::error::{Error, MAX_LEN};
use crate::family::Family;
use crate::memory::{Direction, InOut, WipedBytes};

/// A message of a batch, or what became of it.
#[derive(Clone, Copy, Debug)]
pub enum Job {
    /// A message to process.
    New(Message),
    /// A message that was processed.
    Done(Message),
    /// The tag is wrong, or the message could not be processed.
    Failed(Error),
}

impl Job {
    /// Returns whether the message was processed, or why not.
    ///
    /// # Errors
    ///
    /// [`Error::NotProcessed`] if it is new.
    #[inline]
    pub fn result(&self) -> Result<(), Error> {
        match self {
            Self::New(_) => Err(Error::NotProcessed),
            Self::Done(_) => Ok(()),
            Self::Failed(error) => Err(*error),
        }
    }

    /// Returns the message if it is new. If it is longer than the standard allows, the job fails.
    #[inline(always)]
    fn due(&mut self, direction: Direction) -> Option<&Message> {
        let Self::New(Message { len, ad_len, .. }) = *self else { return None };
        // One comparison, because the limit is a power of two less one.
        if (len | ad_len) as u64 > MAX_LEN {
            let what = match direction {
                _ if ad_len as u64 > MAX_LEN => "associated data",
                Direction::Encrypt => "message",
                Direction::Decrypt => "ciphertext",
            };
            *self = Self::Failed(Error::TooLong { what, max: MAX_LEN });
        }
        if let Self::New(message) = self { Some(message) } else { None }
    }

    /// Ends a new job. Returns whether the message is authentic.
    #[inline(always)]
    fn finish(&mut self, authentic: bool) -> bool {
        match *self {
            Self::New(message) if authentic => *self = Self::Done(message),
            _ => *self = Self::Failed(Error::VerificationFailed),
        }
        authentic
    }

    /// Processes the message by itself, if it is due. Returns whether it succeeded, now or before.
    ///
    /// # Safety
    /// The message is valid as [`Message`] requires, with the key length of the variant.
    #[inline(always)]
    unsafe fn process<V: Variant>(&mut self, variant: V, direction: Direction) -> bool {
        let Some(message) = self.due(direction) else { return matches!(self, Self::Done(_)) };
        // SAFETY: the caller promises a valid message.
        let authentic = unsafe {
            match direction {
                Direction::Encrypt => {
                    message::seal(variant, message);
                    true
                }
                Direction::Decrypt => message::open(variant, message),
            }
        };
        self.finish(authentic)
    }
}

/// A job that borrows its memory.
pub(crate) struct Borrowed<'a> {
    pub(crate) job: Job,
    memory: PhantomData<(&'a [u8], &'a mut [u8])>,
}

// SAFETY: it stands for shared slices and mutable slices of bytes, both `Send`.
unsafe impl Send for Borrowed<'_> {}
// SAFETY: it stands for shared slices and mutable slices of bytes, both `Sync`.
unsafe impl Sync for Borrowed<'_> {}

impl<'a> Borrowed<'a> {
    #[inline(always)] // creates the job in place
    pub(crate) fn new<F: Family, const T: usize>(
        [key, nonce, ad]: [&'a [u8]; 3],
        io: &InOut<'a>,
        tag: *mut u8,
    ) -> Self {
        Self { job: Job::New(Message::new::<F>(key, nonce, ad, io, tag, T)), memory: PhantomData }
    }

    /// Returns the output, once the message was processed.
    pub(crate) fn output(&self) -> Result<&[u8], Error> {
        match &self.job {
            // SAFETY: `dst` comes from a mutable slice of `len` bytes that is borrowed for `'a`,
            // and nothing writes to it while `self` is borrowed.
            Job::Done(message) => unsafe {
                Ok(core::slice::from_raw_parts(message.dst, message.len))
            },
            other => Err(other.result().err().unwrap_or(Error::NotProcessed)),
        }
    }
}

/// Some messages of a batch failed. The others were processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchError {
    /// How many messages failed.
    pub failed: usize,
    /// The index of the first job that failed.
    pub first: usize,
    /// Why that job failed.
    pub error: Error,
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { failed, first, error } = self;
        let s = if *failed == 1 { "" } else { "s" };
        write!(f, "{failed} message{s} of the batch failed; the first is message {first}: {error}")
    }
}

impl core::error::Error for BatchError {}

impl From<BatchError> for Error {
    /// Returns the error of the first job that failed.
    fn from(e: BatchError) -> Self {
        e.error
    }
}

/// How many messages are sorted at once. Their sizes are kept on the stack.
const WINDOW: usize = 64;

/// The size of a message in steps, and its index in the window. Ordered by the length of the
/// message, then by that of the associated data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Size(u64);

impl Size {
    /// Returns `None` for messages that are too long to gain from a batch.
    #[inline(always)]
    fn new(msg_steps: usize, ad_steps: usize, place: usize) -> Option<Self> {
        let fits = msg_steps < 1 << 29 && ad_steps < 1 << 29;
        fits.then_some(Self((msg_steps as u64) << 35 | (ad_steps as u64) << 6 | place as u64))
    }
    #[inline(always)]
    fn place(&self) -> usize {
        (self.0 % WINDOW as u64) as usize
    }
    #[inline(always)]
    fn has_same_steps(&self, other: &Self) -> bool {
        self.0 >> 6 == other.0 >> 6
    }
}

/// Processes the jobs that `job` finds in each item.
///
/// # Safety
/// All messages are valid as [`Message`] requires, with the family's key length and tags of one
/// length. No memory that one writes is used by another.
#[inline(always)]
pub(crate) unsafe fn run<F: Family, const D: usize, J>(
    jobs: &mut [J],
    job: impl Fn(&mut J) -> &mut Job + Copy,
    direction: Direction,
) -> Result<(), BatchError> {
    let mut all_ok = true;
    match Chosen::<F, D>::new() {
        Ok(variant) if jobs.len() == 1 || !batch::has_kernels(variant) => {
            for each in jobs.iter_mut().map(job) {
                // SAFETY: the caller promises valid messages.
                all_ok &= unsafe { each.process(variant, direction) };
            }
        }
        Ok(variant) => {
            for window in jobs.chunks_mut(WINDOW) {
                // SAFETY: the caller promises valid messages.
                all_ok &= unsafe { process_window(variant, window, job, direction) };
            }
            batch::finish(variant);
        }
        Err(e) => {
            for each in jobs.iter_mut().map(job).filter(|each| matches!(each, Job::New(_))) {
                *each = Job::Failed(e.into());
            }
            all_ok = false;
        }
    }
    if all_ok { Ok(()) } else { summary(jobs, job) }
}

/// Summarizes the jobs that failed.
#[cold]
fn summary<J>(jobs: &mut [J], job: impl Fn(&mut J) -> &mut Job + Copy) -> Result<(), BatchError> {
    let mut summary = Ok(());
    for (place, job) in jobs.iter_mut().map(job).enumerate() {
        if let Err(error) = job.result() {
            match &mut summary {
                Ok(()) => summary = Err(BatchError { failed: 1, first: place, error }),
                Err(e) => e.failed += 1,
            }
        }
    }
    summary
}

/// Processes at most [`WINDOW`] jobs. Returns whether all succeeded, now or before. Call
/// [`batch::finish`] after the last window.
///
/// # Safety
/// The same as for [`run`].
#[inline(always)]
pub(crate) unsafe fn process_window<V: Variant, J>(
    variant: V,
    jobs: &mut [J],
    job: impl Fn(&mut J) -> &mut Job + Copy,
    direction: Direction,
) -> bool {
    let [first, others @ ..] = &mut *jobs else { return true };
    let alike = if let Some(&Message { len, ad_len, .. }) = job(first).due(direction) {
        others.iter_mut().map(job).fold(true, |alike, other| {
            alike & matches!(other, Job::New(m) if (m.len == len) & (m.ad_len == ad_len))
        })
    } else {
        false
    };
    // SAFETY: the caller promises valid messages. If they are processed together, all are due and
    // have the same lengths.
    unsafe {
        if alike {
            process_same(variant, jobs, job, direction, jobs.len(), |i| i)
        } else {
            process_sorted(variant, jobs, job, direction)
        }
    }
}

/// Sorts jobs by size, and processes together those with the same number of steps.
///
/// # Safety
/// The same as for [`run`].
#[inline(never)]
unsafe fn process_sorted<V: Variant, J>(
    variant: V,
    jobs: &mut [J],
    job: impl Fn(&mut J) -> &mut Job + Copy,
    direction: Direction,
) -> bool {
    let mut all_ok = true;
    let (mut order, mut count) = ([Size(0); WINDOW], 0);
    let steps = |len: usize| len.div_ceil(V::Step::LEN);
    for (place, job) in jobs.iter_mut().map(job).enumerate() {
        let size = job.due(direction).and_then(|m| Size::new(steps(m.len), steps(m.ad_len), place));
        if let Some(size) = size {
            order[count] = size;
            count += 1;
        } else {
            // SAFETY: the caller promises valid messages.
            all_ok &= unsafe { job.process(variant, direction) };
        }
    }
    let order = &mut order[..count];
    order.sort_unstable();
    for same in order.chunk_by(Size::has_same_steps) {
        // SAFETY: the caller promises valid messages. These are due and have the same sizes.
        all_ok &=
            unsafe { process_same(variant, jobs, job, direction, same.len(), |i| same[i].place()) };
    }
    all_ok
}

/// Processes `count` jobs, which are at `place`: as many of them together as is fastest.
///
/// # Safety
/// The same as for [`run`]. The jobs are due and have the same number of steps.
#[inline(always)]
unsafe fn process_same<V: Variant, J>(
    variant: V,
    jobs: &mut [J],
    job: impl Fn(&mut J) -> &mut Job,
    direction: Direction,
    count: usize,
    place: impl Fn(usize) -> usize,
) -> bool {
    let message = |job: &Job| match job {
        Job::New(message) => ptr::from_ref(message),
        // SAFETY: the caller promises jobs that are due.
        _ => unsafe { core::hint::unreachable_unchecked() },
    };
    let (mut all_ok, mut done) = (true, 0);
    // SAFETY: the caller promises a valid message.
    let len = unsafe { (*message(job(&mut jobs[place(0)]))).len };
    for kernel in batch::kernels(variant, len) {
        while count - done >= kernel.messages {
            let mut messages = [ptr::null(); MAX_LANES];
            for (i, to) in messages[..kernel.messages].iter_mut().enumerate() {
                *to = message(job(&mut jobs[place(done + i)]));
            }
            // SAFETY: the kernel is one of the variant's and takes so many messages; the caller
            // promises that they are valid and have the same number of steps.
            let wrong = unsafe { batch::process_together(kernel, &messages, direction) };
            for i in 0..kernel.messages {
                job(&mut jobs[place(done + i)]).finish(wrong >> i & 1 == 0);
            }
            all_ok &= wrong == 0;
            done += kernel.messages;
        }
    }
    for i in done..count {
        // SAFETY: the caller promises valid messages.
        all_ok &= unsafe { job(&mut jobs[place(i)]).process(variant, direction) };
    }
    all_ok
}
