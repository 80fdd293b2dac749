//! Encrypts or decrypts many messages in one call, faster than one after another.
//!
//! Each step of AEGIS needs the result of the step before, so a single message leaves the AES units
//! of recent CPUs partly idle. In a batch, each part of a wide register works on a message of its
//! own (the "comb scheduler" that the 2023 paper on AEGIS's parallel modes cites). The result is
//! the same as encrypting each message with [`Aegis`], with its own nonce and tag: the receiver
//! need not know about the batch.
//!
//! 1. Create a job for each message: [`Encryption`] or [`Decryption`]. The constructors have the
//!    names and arguments of the corresponding methods of [`Aegis`], after the cipher. Jobs may
//!    have different keys, but share the variant and the tag length.
//! 2. Call [`encrypt`] or [`decrypt`] on all jobs.
//! 3. Read the result of each job.
//!
//! ```
//! use palladion::batch::{self, Decryption, Encryption};
//! use palladion::{Aegis128L, Error, Key128, Nonce128};
//!
//! let cipher = Aegis128L::<16>::new(&Key128::from([7; 16]));
//! let nonces = [Nonce128::from([1; 16]), Nonce128::from([2; 16])]; // never use one twice
//!
//! let (mut hello, mut world) = (*b"hello", *b"new world");
//! let mut jobs = [
//!     Encryption::encrypt_in_place(&cipher, &nonces[0], b"header", &mut hello),
//!     Encryption::encrypt_in_place(&cipher, &nonces[1], b"", &mut world),
//! ];
//! batch::encrypt(&mut jobs)?;
//! let tags = [jobs[0].tag()?, jobs[1].tag()?];
//! assert_eq!(tags[0], cipher.encrypt_in_place(&nonces[0], b"header", &mut b"hello".clone())?);
//!
//! hello[0] ^= 1; // an attacker changes the first ciphertext
//! let mut jobs = [
//!     Decryption::decrypt_in_place(&cipher, &nonces[0], b"header", &mut hello, &tags[0]),
//!     Decryption::decrypt_in_place(&cipher, &nonces[1], b"", &mut world, &tags[1]),
//! ];
//! let failed = batch::decrypt(&mut jobs).unwrap_err();
//! assert_eq!((failed.failed, failed.first), (1, 0));
//! assert_eq!(jobs[0].message(), Err(Error::VerificationFailed));
//! assert_eq!(jobs[1].message(), Ok(&b"new world"[..]));
//! assert_eq!(hello, [0; 5]);
//! # Ok::<(), Error>(())
//! ```
//!
//! # When is it faster?
//!
//! A batch is faster for messages of up to a few kilobytes with similar lengths, on CPUs with VAES.
//! There, registers hold two or four messages of [`Aegis128L`](crate::Aegis128L) and
//! [`Aegis256`](crate::Aegis256), or two of [`Aegis128X2`](crate::Aegis128X2) and
//! [`Aegis256X2`](crate::Aegis256X2). Messages are sorted by length in windows of 64. Where a batch
//! would not be faster (very different lengths, other variants, other CPUs), messages are processed
//! one after another. No memory is allocated.

use core::fmt;

use crate::cipher::Aegis;
use crate::dispatch::Chosen;
use crate::driver::batch::{self, Batch, MOST};
use crate::driver::{Parameters, Variant, message};
use crate::error::Error;
use crate::family::Family;
use crate::memory::{Direction, InOut, WipedBytes, equal, wipe};
use crate::types::Tag;

/// A message for [`encrypt`].
///
/// An invalid argument, such as a buffer of the wrong length, fails only this message. Its
/// [`result`](Self::result) is the error, and none of its buffers is changed.
pub struct Encryption<'a, F: Family, const D: usize, const T: usize> {
    item: Item<'a, F>,
    tag: Tag<T>,
    /// Where the tag is written, if it follows the ciphertext.
    tag_out: Option<&'a mut [u8; T]>,
}

/// A message for [`decrypt`].
///
/// An invalid argument, such as a buffer of the wrong length, fails only this message. Its
/// [`result`](Self::result) is the error, and none of its buffers is changed.
pub struct Decryption<'a, F: Family, const D: usize, const T: usize> {
    item: Item<'a, F>,
    /// The received tag.
    tag: Tag<T>,
}

/// The part that both kinds of jobs share.
struct Item<'a, F: Family> {
    key: &'a F::Key,
    nonce: F::Nonce,
    ad: &'a [u8],
    io: InOut<'a>,
    result: Result<(), Error>,
}

impl<'a, F: Family> Item<'a, F> {
    #[inline(always)]
    fn new<const D: usize, const T: usize>(
        cipher: &'a Aegis<F, D, T>,
        nonce: &F::Nonce,
        ad: &'a [u8],
        io: Result<InOut<'a>, Error>,
    ) -> Self {
        let (io, result) = match io {
            Ok(io) => (io, Err(Error::NotProcessed)),
            Err(error) => (InOut::in_place(&mut []), Err(error)),
        };
        Self { key: cipher.key(), nonce: *nonce, ad, io, result }
    }

    /// Tells whether the job has not been processed yet.
    #[inline(always)]
    fn is_new(&self) -> bool {
        matches!(self.result, Err(Error::NotProcessed))
    }
}

impl<'a, F: Family, const D: usize, const T: usize> Encryption<'a, F, D, T> {
    #[inline(always)]
    fn new(
        cipher: &'a Aegis<F, D, T>,
        nonce: &F::Nonce,
        ad: &'a [u8],
        buffers: Result<(InOut<'a>, Option<&'a mut [u8; T]>), Error>,
    ) -> Self {
        let (io, tag_out) = match buffers {
            Ok((io, tag_out)) => (Ok(io), tag_out),
            Err(error) => (Err(error), None),
        };
        Self { item: Item::new(cipher, nonce, ad, io), tag: Tag::zeroed(), tag_out }
    }

    /// Encrypts a message in place; [`tag`](Self::tag) returns its tag. See
    /// [`Aegis::encrypt_in_place`].
    #[must_use]
    #[inline(always)] // creates the job in place
    pub fn encrypt_in_place(
        cipher: &'a Aegis<F, D, T>,
        nonce: &F::Nonce,
        ad: &'a [u8],
        buf: &'a mut [u8],
    ) -> Self {
        Self::new(cipher, nonce, ad, Ok((InOut::in_place(buf), None)))
    }

    /// Encrypts a message into a buffer of the same length; [`tag`](Self::tag) returns its tag. See
    /// [`Aegis::encrypt_into`].
    ///
    /// The result is [`Error::WrongLength`] if the lengths differ.
    #[must_use]
    #[inline(always)] // creates the job in place
    pub fn encrypt_into(
        cipher: &'a Aegis<F, D, T>,
        nonce: &F::Nonce,
        ad: &'a [u8],
        msg: &'a [u8],
        ct: &'a mut [u8],
    ) -> Self {
        Self::new(
            cipher,
            nonce,
            ad,
            InOut::separate(msg, ct).map(|io| (io, None)).map_err(Error::from),
        )
    }

    /// Encrypts the message at the start of a buffer and writes the tag to its last `T` bytes. See
    /// [`Aegis::seal_in_place`].
    ///
    /// The result is [`Error::TooShort`] if the buffer has no room for the tag.
    #[must_use]
    #[inline(always)] // creates the job in place
    pub fn seal_in_place(
        cipher: &'a Aegis<F, D, T>,
        nonce: &F::Nonce,
        ad: &'a [u8],
        buf: &'a mut [u8],
    ) -> Self {
        let actual = buf.len();
        let buffers = buf
            .split_last_chunk_mut::<T>()
            .map(|(msg, tag)| (InOut::in_place(msg), Some(tag)))
            .ok_or(Error::TooShort { what: "buffer", min: T, actual });
        Self::new(cipher, nonce, ad, buffers)
    }

    /// Encrypts a message and writes ciphertext and tag to a buffer that is `T` bytes longer. See
    /// [`Aegis::seal_into`].
    ///
    /// The result is [`Error::WrongLength`] if `sealed` has another length.
    #[must_use]
    #[inline(always)] // creates the job in place
    pub fn seal_into(
        cipher: &'a Aegis<F, D, T>,
        nonce: &F::Nonce,
        ad: &'a [u8],
        msg: &'a [u8],
        sealed: &'a mut [u8],
    ) -> Self {
        let (expected, actual) = (msg.len().saturating_add(T), sealed.len());
        let wrong = Error::WrongLength { what: "output", expected, actual };
        let buffers = match sealed.split_last_chunk_mut::<T>() {
            Some((ct, tag)) if actual == expected => {
                InOut::separate(msg, ct).map(|io| (io, Some(tag))).map_err(Error::from)
            }
            _ => Err(wrong),
        };
        Self::new(cipher, nonce, ad, buffers)
    }

    /// Returns whether the message was encrypted: [`Error::NotProcessed`] before [`encrypt`].
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`], [`Error::TooShort`], [`Error::TooLong`], [`Error::Backend`],
    /// [`Error::NotProcessed`].
    pub fn result(&self) -> Result<(), Error> {
        self.item.result
    }

    /// Returns the tag, whether or not it was also written to a buffer.
    ///
    /// # Errors
    ///
    /// The same as [`result`](Self::result).
    pub fn tag(&self) -> Result<Tag<T>, Error> {
        self.result().map(|()| self.tag)
    }

    /// Returns the ciphertext, without the tag.
    ///
    /// # Errors
    ///
    /// The same as [`result`](Self::result).
    pub fn ciphertext(&self) -> Result<&[u8], Error> {
        self.result().map(|()| self.item.io.output())
    }
}

impl<'a, F: Family, const D: usize, const T: usize> Decryption<'a, F, D, T> {
    /// Verifies the tag and decrypts a ciphertext in place. See [`Aegis::decrypt_in_place`].
    #[must_use]
    #[inline(always)] // creates the job in place
    pub fn decrypt_in_place(
        cipher: &'a Aegis<F, D, T>,
        nonce: &F::Nonce,
        ad: &'a [u8],
        buf: &'a mut [u8],
        tag: &Tag<T>,
    ) -> Self {
        Self { item: Item::new(cipher, nonce, ad, Ok(InOut::in_place(buf))), tag: *tag }
    }

    /// Verifies the tag and decrypts a ciphertext into a buffer of the same length. See
    /// [`Aegis::decrypt_into`].
    ///
    /// The result is [`Error::WrongLength`] if the lengths differ.
    #[must_use]
    #[inline(always)] // creates the job in place
    pub fn decrypt_into(
        cipher: &'a Aegis<F, D, T>,
        nonce: &F::Nonce,
        ad: &'a [u8],
        ct: &'a [u8],
        tag: &Tag<T>,
        msg: &'a mut [u8],
    ) -> Self {
        Self {
            item: Item::new(cipher, nonce, ad, InOut::separate(ct, msg).map_err(Error::from)),
            tag: *tag,
        }
    }

    /// Verifies and decrypts ciphertext and tag in place. See [`Aegis::open_in_place`].
    ///
    /// The result is [`Error::TooShort`] if the buffer is shorter than a tag.
    #[must_use]
    #[inline(always)] // creates the job in place
    pub fn open_in_place(
        cipher: &'a Aegis<F, D, T>,
        nonce: &F::Nonce,
        ad: &'a [u8],
        buf: &'a mut [u8],
    ) -> Self {
        let actual = buf.len();
        let (io, tag) = match buf.split_last_chunk_mut::<T>() {
            Some((ct, tag)) => (Ok(InOut::in_place(ct)), Tag::from(*tag)),
            None => (Err(Error::TooShort { what: "ciphertext", min: T, actual }), Tag::zeroed()),
        };
        Self { item: Item::new(cipher, nonce, ad, io), tag }
    }

    /// Verifies and decrypts ciphertext and tag into a buffer that is `T` bytes shorter. See
    /// [`Aegis::open_into`].
    ///
    /// The result is [`Error::TooShort`] if `sealed` is shorter than a tag, [`Error::WrongLength`]
    /// if `msg` has the wrong length.
    #[must_use]
    #[inline(always)] // creates the job in place
    pub fn open_into(
        cipher: &'a Aegis<F, D, T>,
        nonce: &F::Nonce,
        ad: &'a [u8],
        sealed: &'a [u8],
        msg: &'a mut [u8],
    ) -> Self {
        let actual = sealed.len();
        let (io, tag) = match sealed.split_last_chunk::<T>() {
            Some((ct, tag)) => (InOut::separate(ct, msg).map_err(Error::from), Tag::from(*tag)),
            None => (Err(Error::TooShort { what: "ciphertext", min: T, actual }), Tag::zeroed()),
        };
        Self { item: Item::new(cipher, nonce, ad, io), tag }
    }

    /// Returns whether the message was decrypted: [`Error::NotProcessed`] before [`decrypt`].
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if the tag is wrong, and the output is zeroed;
    /// [`Error::WrongLength`], [`Error::TooShort`], [`Error::TooLong`], [`Error::Backend`],
    /// [`Error::NotProcessed`].
    pub fn result(&self) -> Result<(), Error> {
        self.item.result
    }

    /// Returns the message.
    ///
    /// # Errors
    ///
    /// The same as [`result`](Self::result).
    pub fn message(&self) -> Result<&[u8], Error> {
        self.result().map(|()| self.item.io.output())
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

/// Encrypts all messages, with the same result as [`Aegis`] (RFC 10032 §3, §4, §5).
///
/// Jobs that were processed before are skipped: encrypting twice in place would undo the first.
///
/// # Errors
///
/// [`BatchError`] if some messages failed. The others are encrypted. See
/// [`result`](Encryption::result) for each.
pub fn encrypt<F: Family, const D: usize, const T: usize>(
    jobs: &mut [Encryption<'_, F, D, T>],
) -> Result<(), BatchError> {
    run::<F, D, T, _>(jobs)
}

/// Verifies and decrypts all messages, with the same result as [`Aegis`] (RFC 10032 §3, §4, §5).
///
/// Jobs that were processed before are skipped.
///
/// # Errors
///
/// [`BatchError`] if some messages failed. The others are decrypted. See
/// [`result`](Decryption::result) for each. The output of a message with a wrong tag is zeroed.
pub fn decrypt<F: Family, const D: usize, const T: usize>(
    jobs: &mut [Decryption<'_, F, D, T>],
) -> Result<(), BatchError> {
    run::<F, D, T, _>(jobs)
}

/// The differences between the two kinds of jobs.
trait Job<'a, F: Family, const D: usize, const T: usize>: batch::Job {
    const DIRECTION: Direction;
    const WHAT: &'static str;
    fn item(&mut self) -> &mut Item<'a, F>;
    /// Stores or compares the computed tag.
    fn finish(&mut self, tag: &[u8; T]) -> Result<(), Error>;
    /// Processes the job by itself.
    fn process_alone(&mut self) -> Result<(), Error>;
}

macro_rules! driver_job {
    ($name:ident) => {
        impl<F: Family, const D: usize, const T: usize> batch::Job for $name<'_, F, D, T> {
            #[inline(always)]
            fn key(&self) -> &[u8] {
                self.item.key.as_ref()
            }
            #[inline(always)]
            fn nonce(&self) -> &[u8] {
                self.item.nonce.as_ref()
            }
            #[inline(always)]
            fn ad(&self) -> &[u8] {
                self.item.ad
            }
            #[inline(always)]
            fn io(&self) -> &InOut<'_> {
                &self.item.io
            }
        }
    };
}
driver_job!(Encryption);
driver_job!(Decryption);

impl<'a, F: Family, const D: usize, const T: usize> Job<'a, F, D, T> for Encryption<'a, F, D, T> {
    const DIRECTION: Direction = Direction::Encrypt;
    const WHAT: &'static str = "message";

    #[inline(always)]
    fn item(&mut self) -> &mut Item<'a, F> {
        &mut self.item
    }

    #[inline(always)]
    fn finish(&mut self, tag: &[u8; T]) -> Result<(), Error> {
        self.tag = Tag::from(*tag);
        if let Some(tag_out) = &mut self.tag_out {
            **tag_out = *tag;
        }
        Ok(())
    }

    #[inline(always)]
    fn process_alone(&mut self) -> Result<(), Error> {
        let Item { key, nonce, ad, io, .. } = &self.item;
        let inputs = [key.as_ref(), nonce.as_ref(), ad];
        let variant = Chosen::<F, D>::new()?;
        let tag = Tag::<T>::written_by(|tag| {
            message::seal_slices(variant, inputs, io, tag);
            Ok::<_, Error>(())
        })?;
        self.finish(tag.as_bytes())
    }
}

impl<'a, F: Family, const D: usize, const T: usize> Job<'a, F, D, T> for Decryption<'a, F, D, T> {
    const DIRECTION: Direction = Direction::Decrypt;
    const WHAT: &'static str = "ciphertext";

    #[inline(always)]
    fn item(&mut self) -> &mut Item<'a, F> {
        &mut self.item
    }

    #[inline(always)]
    fn finish(&mut self, tag: &[u8; T]) -> Result<(), Error> {
        if equal(self.tag.as_bytes(), tag) {
            return Ok(());
        }
        core::mem::replace(&mut self.item.io, InOut::in_place(&mut [])).zero_output();
        Err(Error::VerificationFailed)
    }

    #[inline(always)]
    fn process_alone(&mut self) -> Result<(), Error> {
        let Item { key, nonce, ad, io, .. } = &self.item;
        let inputs = [key.as_ref(), nonce.as_ref(), ad];
        let authentic =
            message::open_slices(Chosen::<F, D>::new()?, inputs, io, self.tag.as_bytes());
        if authentic { Ok(()) } else { Err(Error::VerificationFailed) }
    }
}

/// How many messages are sorted at once. Their sizes are kept on the stack.
const WINDOW: usize = 64;

/// Up to this many messages, a smaller array on the stack will do.
const FEW: usize = 8;

/// The size of a message in steps, and its index in the window. Ordered by the length of the
/// message, then by that of the associated data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Size(u64);

impl Size {
    /// Sizes that do not fit saturate. They only decide which messages are grouped.
    #[inline(always)]
    fn new(msg: usize, ad: usize, place: usize) -> Self {
        Self(
            (msg as u64).min((1 << 30) - 1) << 34
                | (ad as u64).min((1 << 28) - 1) << 6
                | place as u64,
        )
    }
    #[inline(always)]
    fn msg(self) -> u64 {
        self.0 >> 34
    }
    #[inline(always)]
    fn ad(self) -> u64 {
        self.0 >> 6 & ((1 << 28) - 1)
    }
    #[inline(always)]
    fn place(self) -> usize {
        (self.0 % WINDOW as u64) as usize
    }
    #[inline(always)]
    fn has_same_lengths(self, other: Self) -> bool {
        self.0 >> 6 == other.0 >> 6
    }
}

/// Tells whether a kernel for several messages is faster than processing them one after another.
#[inline(always)]
fn is_faster<F: Family>(kernel: &Batch, group: &[Size]) -> bool {
    let fixed = <F as Parameters>::FIXED_STEPS;
    let [first, others @ ..] = group else { return false };
    let (mut msg, mut ad, mut alone) = ((first.msg(), first.msg()), (first.ad(), first.ad()), 0);
    for size in group {
        alone += 4 * (fixed + size.msg() + size.ad());
    }
    for size in others {
        msg = (msg.0.min(size.msg()), msg.1.max(size.msg()));
        ad = (ad.0.min(size.ad()), ad.1.max(size.ad()));
    }
    // The steps that all messages have, and those that only some have.
    let (all, some) = (fixed + msg.0 + ad.0, msg.1 - msg.0 + ad.1 - ad.0);
    let costs = kernel.costs();
    costs.0 * all + costs.1 * some < alone
}

/// Chooses how to process the next messages: the index of a batch kernel, or `None` for one message
/// by itself, and the number of messages.
#[inline(always)]
fn choose<F: Family, const D: usize>(
    variant: Chosen<F, D>,
    rest: &[Size],
) -> (Option<usize>, usize) {
    for (i, kernel) in variant.kernels().batch.iter().enumerate() {
        let n = kernel.messages().min(rest.len());
        if n >= kernel.fewest().max(2) && is_faster::<F>(kernel, &rest[..n]) {
            return (Some(i), n);
        }
    }
    (None, 1)
}

fn run<'a, F: Family + 'a, const D: usize, const T: usize, J: Job<'a, F, D, T>>(
    jobs: &mut [J],
) -> Result<(), BatchError> {
    let variant = match Chosen::<F, D>::new() {
        Ok(variant) => variant,
        Err(e) => {
            for item in jobs.iter_mut().map(Job::item).filter(|item| item.is_new()) {
                item.result = Err(e.into());
            }
            return summary(jobs);
        }
    };
    let mut all_ok = true;
    // The computed tags. They are wiped, because the tag of a rejected message would complete a
    // forgery.
    let mut tags = Tags([[0; T]; MOST]);
    for window in jobs.chunks_mut(WINDOW) {
        all_ok &= if variant.kernels().batch[0].messages() == 0 {
            process_one_by_one(window)
        } else if window.len() <= FEW {
            process_in_groups(variant, window, &mut tags, &mut [Size(0); FEW])
        } else {
            process_in_groups(variant, window, &mut tags, &mut [Size(0); WINDOW])
        };
    }
    if all_ok { Ok(()) } else { summary(jobs) }
}

/// Tags computed for some messages. Wiped when dropped.
struct Tags<const T: usize>([[u8; T]; MOST]);

impl<const T: usize> Drop for Tags<T> {
    fn drop(&mut self) {
        for tag in &mut self.0 {
            wipe(tag);
        }
    }
}

/// Summarizes the jobs that failed.
#[cold]
fn summary<'a, F: Family + 'a, const D: usize, const T: usize, J: Job<'a, F, D, T>>(
    jobs: &mut [J],
) -> Result<(), BatchError> {
    let mut summary = Ok(());
    for (place, job) in jobs.iter_mut().enumerate() {
        if let Err(error) = job.item().result {
            match &mut summary {
                Ok(()) => summary = Err(BatchError { failed: 1, first: place, error }),
                Err(e) => e.failed += 1,
            }
        }
    }
    summary
}

/// Tells whether a job should be processed: it is new and within the limits.
#[inline(always)]
fn is_due<'a, F: Family + 'a, const D: usize, const T: usize, J: Job<'a, F, D, T>>(
    job: &mut J,
) -> bool {
    let item = job.item();
    if !item.is_new() {
        return false;
    }
    let ad = Error::check_limit("associated data", 0, item.ad.len());
    if let Err(e) = ad.and(Error::check_limit(J::WHAT, 0, item.io.len())) {
        item.result = Err(e);
        return false;
    }
    true
}

/// Processes jobs one after another. Tells whether all succeeded.
#[inline(always)]
fn process_one_by_one<'a, F: Family + 'a, const D: usize, const T: usize, J: Job<'a, F, D, T>>(
    jobs: &mut [J],
) -> bool {
    let mut all_ok = true;
    for job in jobs {
        if is_due(job) {
            job.item().result = job.process_alone();
        }
        all_ok &= job.item().result.is_ok();
    }
    all_ok
}

/// Processes jobs in groups of similar sizes. `order` has room for all of them. Tells whether all
/// succeeded.
#[inline(never)]
fn process_in_groups<'a, F: Family + 'a, const D: usize, const T: usize, J: Job<'a, F, D, T>>(
    variant: Chosen<F, D>,
    jobs: &mut [J],
    tags: &mut Tags<T>,
    order: &mut [Size],
) -> bool {
    let mut all_ok = true;
    let mut count = 0;
    for (place, job) in jobs.iter_mut().enumerate() {
        if is_due(job) {
            let (item, rate) = (job.item(), F::Step::<D>::LEN);
            let size = Size::new(item.io.len().div_ceil(rate), item.ad.len().div_ceil(rate), place);
            order[count] = size;
            count += 1;
        } else {
            all_ok &= job.item().result.is_ok();
        }
    }
    let order = &mut order[..count];
    if !order.iter().all(|size| size.has_same_lengths(order[0])) {
        order.sort_unstable();
    }
    let (mut rest, mut several) = (&order[..], false);
    while !rest.is_empty() {
        let (kernel, n) = choose(variant, rest);
        let mut places = [0; MOST];
        for (place, size) in places.iter_mut().zip(&rest[..n]) {
            *place = size.place();
        }
        rest = &rest[n..];
        match kernel {
            Some(kernel) => {
                several = true;
                batch::process_jobs(variant, kernel, jobs, &places[..n], J::DIRECTION, &mut tags.0);
                for (&place, tag) in places[..n].iter().zip(&tags.0) {
                    jobs[place].item().result = jobs[place].finish(tag);
                }
            }
            None => {
                let job = &mut jobs[places[0]];
                job.item().result = job.process_alone();
            }
        }
        for &place in &places[..n] {
            all_ok &= jobs[place].item().result.is_ok();
        }
    }
    if several {
        batch::finish(variant);
    }
    all_ok
}
