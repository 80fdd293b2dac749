//! Many messages in one call, faster than one after another.
//!
//! The AES units of recent CPUs can work on more than one message has to offer: a step of AEGIS
//! needs the result of the step before. Here each part of a wide register works on a message of its
//! own (the "comb scheduler" that the 2023 paper on AEGIS's parallel modes cites). Each message is
//! encrypted just as [`Aegis`] does it alone, with its own nonce and tag: the other side need not
//! know that there was a batch.
//!
//! 1. Make a job for each message: [`Encryption`] or [`Decryption`]. Their constructors have the
//!    names and arguments of the functions of [`Aegis`] that do the same to one message, and take
//!    the cipher first: jobs can have different keys, but are of one variant with one tag length.
//! 2. [`encrypt`] or [`decrypt`] all of them.
//! 3. Ask each job for its result, if not all went well.
//!
//! ```
//! use palladion::batch::{self, Decryption, Encryption};
//! use palladion::{Aegis128L, Error, Key128, Nonce128};
//!
//! let cipher = Aegis128L::<16>::new(&Key128::from([7; 16]));
//! let nonces = [Nonce128::from([1; 16]), Nonce128::from([2; 16])]; // never one twice with one key
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
//! hello[0] ^= 1; // somebody changes the first
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
//! # When it pays
//!
//! With messages of up to some kilobytes and similar lengths, on CPUs with VAES: then registers
//! hold two or four messages of [`Aegis128L`](crate::Aegis128L) and [`Aegis256`](crate::Aegis256),
//! or two of [`Aegis128X2`](crate::Aegis128X2) and [`Aegis256X2`](crate::Aegis256X2). Messages are
//! sorted by length within each 64 of them. Where several at once would not be faster (very
//! different lengths, other variants, other CPUs), they are worked on one after another. No memory
//! is allocated.

use core::fmt;

use crate::cipher::Aegis;
use crate::dispatch::Chosen;
use crate::driver::batch::{self, Batch, MOST};
use crate::driver::{Parameters, Variant, message};
use crate::error::Error;
use crate::family::Family;
use crate::memory::{Direction, InOut, WipedBytes, wipe};
use crate::types::Tag;

/// A message to be encrypted by [`encrypt`].
///
/// Arguments that are wrong (a buffer of the wrong length) are no panic and stop no other message:
/// this message gets an error, see [`result`](Self::result), and nothing of it is touched.
pub struct Encryption<'a, F: Family, const D: usize, const T: usize> {
    item: Item<'a, F>,
    tag: Tag<T>,
    /// Where the tag goes, if it goes behind the ciphertext.
    behind: Option<&'a mut [u8; T]>,
}

/// A message to be decrypted by [`decrypt`].
///
/// Arguments that are wrong (a buffer of the wrong length) are no panic and stop no other message:
/// this message gets an error, see [`result`](Self::result), and nothing of it is touched.
pub struct Decryption<'a, F: Family, const D: usize, const T: usize> {
    item: Item<'a, F>,
    /// The tag that came.
    tag: Tag<T>,
}

/// What the two kinds of jobs have in common.
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

    /// Whether nobody has worked on it yet.
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
        let (io, behind) = match buffers {
            Ok((io, behind)) => (Ok(io), behind),
            Err(error) => (Err(error), None),
        };
        Self { item: Item::new(cipher, nonce, ad, io), tag: Tag::zeroed(), behind }
    }

    /// Encrypts a message in place; then [`tag`](Self::tag) has its tag. Compare
    /// [`Aegis::encrypt_in_place`].
    #[must_use]
    #[inline(always)] // a job is made where it stays
    pub fn encrypt_in_place(
        cipher: &'a Aegis<F, D, T>,
        nonce: &F::Nonce,
        ad: &'a [u8],
        buf: &'a mut [u8],
    ) -> Self {
        Self::new(cipher, nonce, ad, Ok((InOut::in_place(buf), None)))
    }

    /// Encrypts a message into a buffer of the same length; then [`tag`](Self::tag) has its tag.
    /// Compare [`Aegis::encrypt_into`].
    ///
    /// The result is [`Error::WrongLength`] if the lengths differ.
    #[must_use]
    #[inline(always)] // a job is made where it stays
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

    /// Encrypts the message at the start of a buffer and puts the tag into its last `T` bytes.
    /// Compare [`Aegis::seal_in_place`].
    ///
    /// The result is [`Error::TooShort`] if the buffer has no room for the tag.
    #[must_use]
    #[inline(always)] // a job is made where it stays
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

    /// Encrypts a message into a buffer that is `T` bytes longer: ciphertext and tag. Compare
    /// [`Aegis::seal_into`].
    ///
    /// The result is [`Error::WrongLength`] if it is not.
    #[must_use]
    #[inline(always)] // a job is made where it stays
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

    /// What became of the message: [`Error::NotProcessed`] before [`encrypt`].
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`], [`Error::TooShort`], [`Error::TooLong`], [`Error::Backend`],
    /// [`Error::NotProcessed`].
    pub fn result(&self) -> Result<(), Error> {
        self.item.result
    }

    /// The tag, wherever it went.
    ///
    /// # Errors
    ///
    /// Those of [`result`](Self::result).
    pub fn tag(&self) -> Result<Tag<T>, Error> {
        self.result().map(|()| self.tag)
    }

    /// The ciphertext, without the tag.
    ///
    /// # Errors
    ///
    /// Those of [`result`](Self::result).
    pub fn ciphertext(&self) -> Result<&[u8], Error> {
        self.result().map(|()| self.item.io.output())
    }
}

impl<'a, F: Family, const D: usize, const T: usize> Decryption<'a, F, D, T> {
    /// Decrypts a ciphertext in place, if the tag is right. Compare [`Aegis::decrypt_in_place`].
    #[must_use]
    #[inline(always)] // a job is made where it stays
    pub fn decrypt_in_place(
        cipher: &'a Aegis<F, D, T>,
        nonce: &F::Nonce,
        ad: &'a [u8],
        buf: &'a mut [u8],
        tag: &Tag<T>,
    ) -> Self {
        Self { item: Item::new(cipher, nonce, ad, Ok(InOut::in_place(buf))), tag: *tag }
    }

    /// Decrypts a ciphertext into a buffer of the same length, if the tag is right. Compare
    /// [`Aegis::decrypt_into`].
    ///
    /// The result is [`Error::WrongLength`] if the lengths differ.
    #[must_use]
    #[inline(always)] // a job is made where it stays
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

    /// Decrypts ciphertext and tag in place, if the tag is right. Compare [`Aegis::open_in_place`].
    ///
    /// The result is [`Error::TooShort`] if there is no room for a tag.
    #[must_use]
    #[inline(always)] // a job is made where it stays
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

    /// Decrypts ciphertext and tag into a buffer that is `T` bytes shorter, if the tag is right.
    /// Compare [`Aegis::open_into`].
    ///
    /// The result is [`Error::TooShort`] if there is no room for a tag, and [`Error::WrongLength`]
    /// if `msg` has the wrong length.
    #[must_use]
    #[inline(always)] // a job is made where it stays
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

    /// What became of the message: [`Error::NotProcessed`] before [`decrypt`].
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`], and the place where the message would be is zeroed;
    /// [`Error::WrongLength`], [`Error::TooShort`], [`Error::TooLong`], [`Error::Backend`],
    /// [`Error::NotProcessed`].
    pub fn result(&self) -> Result<(), Error> {
        self.item.result
    }

    /// The message, if it is authentic.
    ///
    /// # Errors
    ///
    /// Those of [`result`](Self::result).
    pub fn message(&self) -> Result<&[u8], Error> {
        self.result().map(|()| self.item.io.output())
    }
}

/// That not all messages of a batch went well. The others did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchError {
    /// How many failed.
    pub failed: usize,
    /// The place of the first that failed, counted from 0.
    pub first: usize,
    /// Why that one failed.
    pub error: Error,
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { failed, first, error } = self;
        let s = if *failed == 1 { "" } else { "s" };
        write!(f, "{failed} message{s} of the batch failed, the first at place {first}: {error}")
    }
}

impl core::error::Error for BatchError {}

impl From<BatchError> for Error {
    /// Why the first failed.
    fn from(e: BatchError) -> Self {
        e.error
    }
}

/// Encrypts all messages, each as [`Aegis`] would alone (RFC 10032 §3, §4, §5).
///
/// Messages that have been worked on before are left alone: encrypting twice in place would give
/// them away.
///
/// # Errors
///
/// [`BatchError`] if messages failed. The others are encrypted, and each has its own
/// [`result`](Encryption::result).
pub fn encrypt<F: Family, const D: usize, const T: usize>(
    jobs: &mut [Encryption<'_, F, D, T>],
) -> Result<(), BatchError> {
    run::<F, D, T, _>(jobs)
}

/// Decrypts all messages whose tags are right, each as [`Aegis`] would alone (RFC 10032 §3, §4,
/// §5).
///
/// Messages that have been worked on before are left alone.
///
/// # Errors
///
/// [`BatchError`] if messages failed. The others are decrypted, and each has its own
/// [`result`](Decryption::result). Where a message was not authentic, its output is zeroed, and
/// only there.
pub fn decrypt<F: Family, const D: usize, const T: usize>(
    jobs: &mut [Decryption<'_, F, D, T>],
) -> Result<(), BatchError> {
    run::<F, D, T, _>(jobs)
}

/// What the two kinds of jobs differ in.
trait Job<'a, F: Family, const D: usize, const T: usize>: batch::Job {
    const DIRECTION: Direction;
    const WHAT: &'static str;
    fn item(&mut self) -> &mut Item<'a, F>;
    /// Does what there is to do with the computed tag.
    fn finish(&mut self, tag: &[u8; T]) -> Result<(), Error>;
    /// Does the job alone.
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
        if let Some(behind) = &mut self.behind {
            **behind = *tag;
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
        if self.tag == Tag::from(*tag) {
            return Ok(()); // compared in constant time
        }
        core::mem::replace(&mut self.item.io, InOut::in_place(&mut [])).zero_output();
        Err(Error::VerificationFailed)
    }

    #[inline(always)]
    fn process_alone(&mut self) -> Result<(), Error> {
        let Item { key, nonce, ad, io, .. } = &self.item;
        let inputs = [key.as_ref(), nonce.as_ref(), ad];
        let right = message::open_slices(Chosen::<F, D>::new()?, inputs, io, self.tag.as_bytes());
        if right { Ok(()) } else { Err(Error::VerificationFailed) }
    }
}

/// How many messages are sorted at once: what fits into the memory of a function.
const WINDOW: usize = 64;

/// A small number of messages, not worth so much memory.
const FEW: usize = 8;

/// The size of a message in steps, and its place in the window. In order: by message, then by
/// associated data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Size(u64);

impl Size {
    /// What is larger than there is room for counts as the largest: it only decides what goes
    /// together.
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
    fn is_as(self, other: Self) -> bool {
        self.0 >> 6 == other.0 >> 6
    }
}

/// Whether a kernel for several messages is faster than one message after another.
#[inline(always)]
fn pays<F: Family>(kernel: &Batch, group: &[Size]) -> bool {
    let ends = <F as Parameters>::FIXED_STEPS;
    let [first, others @ ..] = group else { return false };
    let (mut msg, mut ad, mut alone) = ((first.msg(), first.msg()), (first.ad(), first.ad()), 0);
    for size in group {
        alone += 4 * (ends + size.msg() + size.ad());
    }
    for size in others {
        msg = (msg.0.min(size.msg()), msg.1.max(size.msg()));
        ad = (ad.0.min(size.ad()), ad.1.max(size.ad()));
    }
    // Steps that all messages have, and those that only some have.
    let (all, some) = (ends + msg.0 + ad.0, msg.1 - msg.0 + ad.1 - ad.0);
    let costs = kernel.costs();
    costs.0 * all + costs.1 * some < alone
}

/// The kernel for the first of the messages that are left, if not the one for a single message, and
/// how many it takes.
#[inline(always)]
fn choose<F: Family, const D: usize>(
    variant: Chosen<F, D>,
    rest: &[Size],
) -> (Option<usize>, usize) {
    for (i, kernel) in variant.kernels().batch.iter().enumerate() {
        let n = kernel.messages().min(rest.len());
        if n >= kernel.fewest().max(2) && pays::<F>(kernel, &rest[..n]) {
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
    let mut all_is_well = true;
    // The tags that the messages should have: wiped, because those of forgeries are nobody's
    // business.
    let mut tags = Tags([[0; T]; MOST]);
    for window in jobs.chunks_mut(WINDOW) {
        all_is_well &= if variant.kernels().batch[0].messages() == 0 {
            process_one_by_one(window)
        } else if window.len() <= FEW {
            process_in_groups(variant, window, &mut tags, &mut [Size(0); FEW])
        } else {
            process_in_groups(variant, window, &mut tags, &mut [Size(0); WINDOW])
        };
    }
    if all_is_well { Ok(()) } else { summary(jobs) }
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

/// What the caller is told of jobs that did not all go well.
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

/// Whether a job is to be done: it is new and within the limits.
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

/// Does the jobs one after another. Tells whether all went well.
#[inline(always)]
fn process_one_by_one<'a, F: Family + 'a, const D: usize, const T: usize, J: Job<'a, F, D, T>>(
    jobs: &mut [J],
) -> bool {
    let mut all_is_well = true;
    for job in jobs {
        if is_due(job) {
            job.item().result = job.process_alone();
        }
        all_is_well &= job.item().result.is_ok();
    }
    all_is_well
}

/// Does the jobs in groups of similar sizes; `order` has room for all. Tells whether all went well.
#[inline(never)]
fn process_in_groups<'a, F: Family + 'a, const D: usize, const T: usize, J: Job<'a, F, D, T>>(
    variant: Chosen<F, D>,
    jobs: &mut [J],
    tags: &mut Tags<T>,
    order: &mut [Size],
) -> bool {
    let mut all_is_well = true;
    let mut count = 0;
    for (place, job) in jobs.iter_mut().enumerate() {
        if is_due(job) {
            let (item, rate) = (job.item(), F::Step::<D>::LEN);
            let size = Size::new(item.io.len().div_ceil(rate), item.ad.len().div_ceil(rate), place);
            order[count] = size;
            count += 1;
        } else {
            all_is_well &= job.item().result.is_ok();
        }
    }
    let order = &mut order[..count];
    if !order.iter().all(|size| size.is_as(order[0])) {
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
            all_is_well &= jobs[place].item().result.is_ok();
        }
    }
    if several {
        batch::finish(variant);
    }
    all_is_well
}
