//! Which messages of a batch go into one kernel.

use core::fmt;
use core::mem::MaybeUninit;
use core::slice;

use crate::dispatch::Chosen;
use crate::driver::variant::Variant;
use crate::driver::{Message, batch, message};
use crate::interface::error::Error;
use crate::interface::family::Family;
use crate::memory::{Direction, WipedBytes};

/// Some messages of a batch failed. The others were processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchError {
    /// How many messages failed.
    pub failed: usize,
    /// The place of the first job that failed.
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

/// The failures of a batch.
struct Failures<O> {
    count: usize,
    first: usize,
    /// The error of the first.
    error: Error,
    on_failure: O,
}

impl<O: FnMut(usize, Error)> Failures<O> {
    /// Inlined, so that `error` need not be in memory: the job beside it in a `Result` would be
    /// there too, and copied.
    #[inline(always)]
    fn add(&mut self, place: usize, error: Error) {
        if self.count(place) {
            self.error = error;
        }
        (self.on_failure)(place, error);
    }

    /// Returns whether it is the first failure.
    #[cold]
    #[inline(never)]
    fn count(&mut self, place: usize) -> bool {
        let is_first = self.count == 0;
        if is_first {
            self.first = place;
        }
        self.count += 1;
        is_first
    }
}

/// Processes messages as they come. Calls `on_failure` with the place of each that failed, in
/// order, and why.
///
/// # Safety
/// All messages are valid as [`Message`] requires, with the family's key length and tags of one
/// length. No memory that one writes is used by another.
#[inline]
pub(crate) unsafe fn crypt_all<F: Family, const D: usize>(
    messages: impl Iterator<Item = Result<Message, Error>>,
    direction: Direction,
    on_failure: impl FnMut(usize, Error),
) -> Result<(), BatchError> {
    let error = Error::VerificationFailed;
    let mut failures = Failures { count: 0, first: 0, error, on_failure };
    // SAFETY: the caller promises valid messages.
    unsafe {
        match Chosen::<F, D>::new() {
            Ok(variant) if batch::has_kernels(variant) => {
                together(variant, messages, direction, &mut failures);
            }
            Ok(variant) => one_by_one(variant, messages, direction, &mut failures),
            Err(e) => {
                for (place, next) in messages.enumerate() {
                    failures.add(place, next.err().unwrap_or(e.into()));
                }
            }
        }
    }
    match failures {
        Failures { count: 0, .. } => Ok(()),
        Failures { count: failed, first, error, .. } => Err(BatchError { failed, first, error }),
    }
}

/// Processes each message by itself.
///
/// # Safety
/// The same as for [`crypt_all`].
#[inline(always)] // the messages are created here
unsafe fn one_by_one<V: Variant>(
    variant: V,
    messages: impl Iterator<Item = Result<Message, Error>>,
    direction: Direction,
    failures: &mut Failures<impl FnMut(usize, Error)>,
) {
    // Counted by hand, and by reference: otherwise the compiler copies each message.
    let mut place = 0;
    #[allow(clippy::explicit_counter_loop)]
    for next in messages {
        match &next {
            Ok(message) => {
                // SAFETY: the caller promises valid messages.
                if !unsafe { message::execute(variant, direction.into(), message) } {
                    failures.add(place, Error::VerificationFailed);
                }
            }
            Err(error) => failures.add(place, *error),
        }
        place += 1;
    }
}

/// Processes messages in windows, which have room for partners of each size.
///
/// # Safety
/// The same as for [`crypt_all`].
#[inline(always)] // the messages are created here
unsafe fn together<V: Variant>(
    variant: V,
    messages: impl Iterator<Item = Result<Message, Error>>,
    direction: Direction,
    failures: &mut Failures<impl FnMut(usize, Error)>,
) {
    let mut room = [const { MaybeUninit::<Message>::uninit() }; WINDOW];
    let mut count = 0;
    let mut place = 0;
    for next in messages {
        let complete = match &next {
            Ok(message) => {
                room[count].write(*message);
                count += 1;
                count == WINDOW
            }
            // Those before it are processed first, to keep the order.
            Err(_) => true,
        };
        if complete {
            let first = place + usize::from(next.is_ok()) - count;
            // SAFETY: so many messages were written, and the caller promises that they are valid.
            unsafe { crypt_room(variant, &room, count, first, direction, failures) };
            count = 0;
            if let Err(error) = next {
                failures.add(place, error);
            }
        }
        place += 1;
    }
    // SAFETY: so many messages were written, and the caller promises that they are valid.
    unsafe { crypt_room(variant, &room, count, place - count, direction, failures) };
    batch::finish(variant);
}

/// Processes the first `count` messages of a window, which begins at place `first` of the batch.
///
/// # Safety
/// The same as for [`crypt_all`]; the messages were written.
#[inline]
unsafe fn crypt_room<V: Variant>(
    variant: V,
    room: &[MaybeUninit<Message>; WINDOW],
    count: usize,
    first: usize,
    direction: Direction,
    failures: &mut Failures<impl FnMut(usize, Error)>,
) {
    // SAFETY: the caller promises so many messages.
    let mut wrong = unsafe {
        match slice::from_raw_parts(room.as_ptr().cast(), count) {
            [message] => u64::from(!message::execute(variant, direction.into(), message)),
            messages => crypt_window(variant, messages, direction),
        }
    };
    while wrong != 0 {
        failures.add(first + wrong.trailing_zeros() as usize, Error::VerificationFailed);
        wrong &= wrong - 1;
    }
}

/// How many messages are sorted at once.
const WINDOW: usize = 64;

/// The size of a message in steps, and its place in the window. Ordered by the length of the
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

/// Processes at most [`WINDOW`] messages. Unless all have the same lengths, sorts them by size, and
/// processes together those with the same number of steps. Bit `i` of the result is set if message
/// `i` is not authentic.
///
/// # Safety
/// The same as for [`crypt_all`].
#[inline(never)]
unsafe fn crypt_window<V: Variant>(variant: V, messages: &[Message], direction: Direction) -> u64 {
    let [first, others @ ..] = messages else { return 0 };
    let lens = |m: &Message| (m.len, m.ad_len);
    if others.iter().fold(true, |alike, other| alike & (lens(other) == lens(first))) {
        let each = |i| messages.as_ptr().wrapping_add(i);
        // SAFETY: the caller promises valid messages.
        return unsafe { crypt_same(variant, messages.len(), each, direction) };
    }
    let (mut order, mut count) = ([Size(0); WINDOW], 0);
    let mut wrong = 0;
    let steps = |len: usize| len.div_ceil(V::Step::LEN);
    for (place, message) in messages.iter().enumerate() {
        if let Some(size) = Size::new(steps(message.len), steps(message.ad_len), place) {
            order[count] = size;
            count += 1;
        } else {
            // SAFETY: the caller promises valid messages.
            wrong |= u64::from(!unsafe { message::execute(variant, direction.into(), message) })
                << place;
        }
    }
    let order = &mut order[..count];
    order.sort_unstable();
    for same in order.chunk_by(Size::has_same_steps) {
        let place = |i: usize| same.get(i).map_or(0, Size::place);
        let each = |i| messages.as_ptr().wrapping_add(place(i));
        // SAFETY: the caller promises valid messages. These have the same sizes.
        let mut forged = unsafe { crypt_same(variant, same.len(), each, direction) };
        while forged != 0 {
            wrong |= 1 << place(forged.trailing_zeros() as usize);
            forged &= forged - 1;
        }
    }
    wrong
}

/// Processes `count` messages: as many of them together as is fastest. Bit `i` of the result is set
/// if message `i` is not authentic.
///
/// # Safety
/// `count` is not zero. `message` returns the address of each of the messages, whatever it returns
/// for other numbers. They are valid as [`crypt_all`] requires and have the same number of steps.
#[inline(always)]
pub(crate) unsafe fn crypt_same<V: Variant>(
    variant: V,
    count: usize,
    message: impl Fn(usize) -> *const Message,
    direction: Direction,
) -> u64 {
    let (mut wrong, mut done) = (0, 0);
    // SAFETY: the caller promises addresses of valid messages with the same number of steps. A
    // kernel is one of the variant's and takes so many.
    unsafe {
        for kernel in batch::kernels(variant, (*message(0)).len) {
            while count - done >= kernel.messages {
                let partners = core::array::from_fn(|i| message(done + i));
                wrong |= u64::from(batch::crypt_together(kernel, &partners, direction)) << done;
                done += kernel.messages;
            }
        }
        for i in done..count {
            wrong |= u64::from(!message::execute(variant, direction.into(), &*message(i))) << i;
        }
    }
    wrong
}
