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
//! # Packets in one buffer
//!
//! Senders of UDP packets (QUIC, VPNs) hand many packets of one length to the operating system in
//! one buffer (generic segmentation offload). [`seal_packets`] encrypts all of them where they are,
//! and needs no jobs. [`open_packets`] is its inverse.
//!
//! ```
//! use palladion::batch::{self, PacketLayout};
//! use palladion::{Aegis128L, Error, Key128, Nonce128};
//!
//! let cipher = Aegis128L::<16>::new(&Key128::from([7; 16]));
//! let iv = Nonce128::from([1; 16]);
//! let layout = PacketLayout { packet: 1200, header: 13 };
//!
//! let mut packets = vec![0; 64 * layout.packet]; // 13 bytes header, message, 16 bytes for the tag
//! batch::seal_packets(&cipher, &iv, 100, &mut packets, layout)?; // packets 100 to 163
//!
//! packets[5 * layout.packet + 20] ^= 1; // an attacker changes one packet
//! let mut dropped = Vec::new();
//! let result = batch::open_packets(&cipher, &iv, 100, &mut packets, layout, |i| dropped.push(i));
//! assert_eq!((result, dropped), (Err(Error::VerificationFailed), vec![5]));
//! # Ok::<(), Error>(())
//! ```
//!
//! # When is it faster?
//!
//! A batch is faster with [`Aegis128L`](crate::Aegis128L) and [`Aegis256`](crate::Aegis256) on CPUs
//! with VAES, whose registers hold two or four messages. Messages share a register if they have the
//! same number of steps: the length divided by 32 bytes (AEGIS-128L) or 16 bytes (AEGIS-256),
//! rounded up. Jobs of different sizes are therefore sorted, in windows of 64. Messages that find
//! no partner, and those of other variants and on other CPUs, are processed one after another. No
//! memory is allocated.

use core::fmt;

use crate::cipher::Aegis;
use crate::dispatch::Chosen;
use crate::driver::batch;
use crate::error::Error;
use crate::family::Family;
use crate::memory::{Direction, InOut, WipedBytes};
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

/// The lengths of packets that follow each other in one buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketLayout {
    /// Bytes in each packet: the header, the message and the tag. The last packet of a buffer may
    /// be shorter.
    pub packet: usize,
    /// Bytes in each header. It is authenticated, but not encrypted.
    pub header: usize,
}

impl PacketLayout {
    /// Returns the number of packets in a buffer of `len` bytes, each long enough for its header
    /// and tag.
    fn count<const T: usize>(self, len: usize) -> Result<usize, Error> {
        let Self { packet, header } = self;
        let min = header.saturating_add(T);
        if packet < min {
            return Err(Error::TooShort { what: "packet", min, actual: packet });
        }
        let last = len % packet; // `packet` has room for a tag, so it is not zero
        if last != 0 && last < min {
            return Err(Error::TooShort { what: "last packet", min, actual: last });
        }
        Ok(len.div_ceil(packet))
    }
}

/// Encrypts packets in place. Each packet in `buf` has a header, a message, and `T` bytes where its
/// tag is written. Packet `i` has the number `first + i`. Its nonce is `iv` XOR that number, in
/// big-endian order at the end, as in TLS 1.3 and QUIC (RFC 8446 §5.3, RFC 9001 §5.3). Never use a
/// number twice with the same key and `iv`.
///
/// The result is the same as encrypting each packet with [`Aegis`].
///
/// # Errors
///
/// [`Error::TooShort`] if a packet has no room for its header and tag, [`Error::TooManyPackets`],
/// [`Error::Backend`]. Then no packet is changed.
pub fn seal_packets<F: Family, const D: usize, const T: usize>(
    cipher: &Aegis<F, D, T>,
    iv: &F::Nonce,
    first: u64,
    buf: &mut [u8],
    layout: PacketLayout,
) -> Result<(), Error> {
    process_packets(cipher, iv, first, buf, layout, Direction::Encrypt, |_| {})
}

/// Verifies and decrypts packets that [`seal_packets`] encrypted, in place. If the tag of packet
/// `i` is wrong, its message is zeroed and `on_forgery(i)` is called; the others are decrypted.
///
/// # Errors
///
/// [`Error::VerificationFailed`] if a tag was wrong. [`Error::TooShort`],
/// [`Error::TooManyPackets`], [`Error::Backend`]; then no packet is changed.
pub fn open_packets<F: Family, const D: usize, const T: usize>(
    cipher: &Aegis<F, D, T>,
    iv: &F::Nonce,
    first: u64,
    buf: &mut [u8],
    layout: PacketLayout,
    on_forgery: impl FnMut(usize),
) -> Result<(), Error> {
    process_packets(cipher, iv, first, buf, layout, Direction::Decrypt, on_forgery)
}

/// A packet of [`seal_packets`] or [`open_packets`].
struct Packet<'a, F: Family, const T: usize> {
    key: &'a F::Key,
    nonce: F::Nonce,
    header: &'a [u8],
    io: InOut<'a>,
    tag: &'a mut [u8; T],
}

impl<'a, F: Family, const T: usize> Packet<'a, F, T> {
    /// Returns `None` if there is no room for header and tag.
    #[inline(always)]
    fn new(
        key: &'a F::Key,
        iv: &F::Nonce,
        number: u64,
        packet: &'a mut [u8],
        header: usize,
    ) -> Option<Self> {
        let mut bytes = [0; 32];
        let bytes = &mut bytes[..F::KEY_BYTES];
        bytes.copy_from_slice(iv.as_ref());
        let end = bytes.last_chunk_mut::<8>()?;
        *end = (u64::from_be_bytes(*end) ^ number).to_be_bytes();
        let nonce = F::Nonce::try_from(bytes).ok()?;
        let (header, rest) = packet.split_at_mut_checked(header)?;
        let (message, tag) = rest.split_last_chunk_mut::<T>()?;
        Some(Self { key, nonce, header, io: InOut::in_place(message), tag })
    }
}

impl<F: Family, const T: usize> batch::Job for Packet<'_, F, T> {
    #[inline(always)]
    fn parts(&mut self) -> batch::Parts<'_> {
        let (key, nonce): (&F::Key, &F::Nonce) = (self.key, &self.nonce);
        let (ad, io, tag) = (self.header, &self.io, &mut *self.tag);
        batch::Parts { key: key.as_ref(), nonce: nonce.as_ref(), ad, io, tag }
    }
}

#[inline(always)]
fn process_packets<F: Family, const D: usize, const T: usize>(
    cipher: &Aegis<F, D, T>,
    iv: &F::Nonce,
    first: u64,
    buf: &mut [u8],
    layout: PacketLayout,
    direction: Direction,
    mut on_forgery: impl FnMut(usize),
) -> Result<(), Error> {
    let count = layout.count::<T>(buf.len())?;
    if count > 0 && first.checked_add(count as u64 - 1).is_none() {
        return Err(Error::TooManyPackets { first, count });
    }
    let variant = Chosen::<F, D>::new()?;
    let mut done = 0;
    let mut forged = false;
    // A last packet that is shorter has no partner.
    let whole = buf.len() / layout.packet;
    let mut packets = buf.chunks_mut(layout.packet);
    while done < count {
        let mut number = first.wrapping_add(done as u64);
        let mut next = || {
            let packet =
                Packet::<F, T>::new(cipher.key(), iv, number, packets.next()?, layout.header);
            number = number.wrapping_add(1);
            packet
        };
        let size = batch::group_size(variant, whole.saturating_sub(done), layout.packet);
        // The lengths were checked, so there is always a packet.
        let wrong = match size {
            4 => match (next(), next(), next(), next()) {
                (Some(mut a), Some(mut b), Some(mut c), Some(mut d)) => {
                    batch::process_jobs(variant, [&mut a, &mut b, &mut c, &mut d], direction)
                }
                _ => 0,
            },
            2 => match (next(), next()) {
                (Some(mut a), Some(mut b)) => {
                    batch::process_jobs(variant, [&mut a, &mut b], direction)
                }
                _ => 0,
            },
            _ => match next() {
                Some(mut a) => batch::process_jobs(variant, [&mut a], direction),
                None => 0,
            },
        };
        for i in (0..size).filter(|i| wrong >> i & 1 == 1) {
            forged = true;
            on_forgery(done + i);
        }
        done += size;
    }
    if count > 1 {
        batch::finish(variant);
    }
    if forged { Err(Error::VerificationFailed) } else { Ok(()) }
}

/// The differences between the two kinds of jobs.
trait Job<'a, F: Family, const D: usize, const T: usize>: batch::Job {
    const DIRECTION: Direction;
    const WHAT: &'static str;
    fn item(&mut self) -> &mut Item<'a, F>;
    /// Completes a job that succeeded.
    fn finish(&mut self);
}

macro_rules! driver_job {
    ($name:ident) => {
        impl<F: Family, const D: usize, const T: usize> batch::Job for $name<'_, F, D, T> {
            #[inline(always)]
            fn parts(&mut self) -> batch::Parts<'_> {
                let Item { key, nonce, ad, io, .. } = &self.item;
                let tag = self.tag.as_mut_bytes();
                batch::Parts { key: key.as_ref(), nonce: nonce.as_ref(), ad, io, tag }
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
    fn finish(&mut self) {
        if let Some(tag_out) = &mut self.tag_out {
            **tag_out = *self.tag.as_bytes();
        }
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
    fn finish(&mut self) {}
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
    fn place(self) -> usize {
        (self.0 % WINDOW as u64) as usize
    }
    #[inline(always)]
    fn has_same_steps(self, other: Self) -> bool {
        self.0 >> 6 == other.0 >> 6
    }
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
    if !batch::has_kernels(variant) {
        // Finding jobs of the same size would gain nothing.
        for job in jobs.iter_mut() {
            all_ok &=
                if is_due(job) { process_group(variant, [job]) } else { job.item().result.is_ok() };
        }
        return if all_ok { Ok(()) } else { summary(jobs) };
    }
    for window in jobs.chunks_mut(WINDOW) {
        all_ok &= if are_alike(window) {
            process_alike(variant, window)
        } else {
            process_sorted(variant, window)
        };
    }
    if jobs.len() > 1 {
        batch::finish(variant);
    }
    if all_ok { Ok(()) } else { summary(jobs) }
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

/// Tells whether all jobs are due and have the same lengths, as in most batches.
#[inline(always)]
fn are_alike<'a, F: Family + 'a, const D: usize, const T: usize, J: Job<'a, F, D, T>>(
    jobs: &mut [J],
) -> bool {
    let [first, others @ ..] = jobs else { return true };
    let (msg, ad) = (first.item().io.len(), first.item().ad.len());
    let mut same = true;
    for job in others {
        let item = job.item();
        same &= item.is_new() & (item.io.len() == msg) & (item.ad.len() == ad);
    }
    same && is_due(first)
}

/// Processes jobs that are all due and have the same number of steps. Tells whether all succeeded.
#[inline(always)]
fn process_alike<'a, F: Family + 'a, const D: usize, const T: usize, J: Job<'a, F, D, T>>(
    variant: Chosen<F, D>,
    mut jobs: &mut [J],
) -> bool {
    let mut all_ok = true;
    while let [first, ..] = jobs {
        let len = first.item().io.len();
        let (group, rest) = jobs.split_at_mut(batch::group_size(variant, jobs.len(), len));
        jobs = rest;
        all_ok &= match group {
            [a, b, c, d] => process_group(variant, [a, b, c, d]),
            [a, b] => process_group(variant, [a, b]),
            [a, ..] => process_group(variant, [a]),
            [] => true,
        };
    }
    all_ok
}

/// Sorts jobs by size, and processes them in groups with the same number of steps. Tells whether
/// all succeeded.
#[inline(never)]
fn process_sorted<'a, F: Family + 'a, const D: usize, const T: usize, J: Job<'a, F, D, T>>(
    variant: Chosen<F, D>,
    jobs: &mut [J],
) -> bool {
    let mut all_ok = true;
    let (mut order, mut count) = ([Size(0); WINDOW], 0);
    for (place, job) in jobs.iter_mut().enumerate() {
        if !is_due(job) {
            all_ok &= job.item().result.is_ok();
            continue;
        }
        let (item, rate) = (job.item(), F::Step::<D>::LEN);
        let steps = |len: usize| len.div_ceil(rate);
        if let Some(size) = Size::new(steps(item.io.len()), steps(item.ad.len()), place) {
            order[count] = size;
            count += 1;
        } else {
            all_ok &= process_group(variant, [job]);
        }
    }
    let mut rest = &mut order[..count];
    rest.sort_unstable();
    while let [first, others @ ..] = &*rest {
        let same = others.iter().take(batch::MOST - 1).take_while(|s| s.has_same_steps(*first));
        let len = jobs[first.place()].item().io.len();
        let size = batch::group_size(variant, 1 + same.count(), len);
        let (group, later) = core::mem::take(&mut rest).split_at_mut(size);
        rest = later;
        // Places are distinct, so there is always a result.
        all_ok &= match *group {
            [a, b, c, d] => jobs
                .get_disjoint_mut([a.place(), b.place(), c.place(), d.place()])
                .is_ok_and(|group| process_group(variant, group)),
            [a, b] => jobs
                .get_disjoint_mut([a.place(), b.place()])
                .is_ok_and(|group| process_group(variant, group)),
            [a, ..] => process_group(variant, [&mut jobs[a.place()]]),
            [] => true,
        };
    }
    all_ok
}

/// Processes jobs with the same number of steps. Tells whether all succeeded.
#[inline(always)]
fn process_group<
    'a,
    F: Family + 'a,
    const D: usize,
    const T: usize,
    J: Job<'a, F, D, T>,
    const N: usize,
>(
    variant: Chosen<F, D>,
    mut jobs: [&mut J; N],
) -> bool {
    let wrong = batch::process_jobs(variant, jobs.each_mut().map(|job| &mut **job), J::DIRECTION);
    for (i, job) in jobs.iter_mut().enumerate() {
        if wrong >> i & 1 == 0 {
            job.finish();
            job.item().result = Ok(());
        } else {
            job.item().result = Err(Error::VerificationFailed);
        }
    }
    wrong == 0
}
