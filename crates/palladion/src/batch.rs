//! Encrypts or decrypts many messages in one call, faster than one after another.
//!
//! Each step of AEGIS needs the result of the step before, so a single message leaves the AES units
//! of recent CPUs partly idle. In a batch, each part of a wide register works on a message of its
//! own (the "comb scheduler" that the 2023 paper on AEGIS's parallel modes cites). The result is
//! the same as encrypting each message with [`Aegis`], with its own nonce and tag: the receiver
//! need not know about the batch.
//!
//! 1. Create a job for each message: [`Encryption`] or [`Decryption`]. The constructors have the
//!    names and arguments of the corresponding methods of [`Aegis`], after the cipher; a separate
//!    tag has its place there too. Jobs borrow everything, so creating one takes a nanosecond or
//!    two. They may have different keys, but share the variant and the tag length.
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
//! let mut sealed = ([0; 5 + 16], [0; 9 + 16]); // with room for the tags
//! let mut jobs = [
//!     Encryption::seal_into(&cipher, &nonces[0], b"header", b"hello", &mut sealed.0)?,
//!     Encryption::seal_into(&cipher, &nonces[1], b"", b"new world", &mut sealed.1)?,
//! ];
//! batch::encrypt(&mut jobs)?;
//! assert_eq!(sealed.0[..], cipher.seal(&nonces[0], b"header", b"hello")?);
//!
//! sealed.0[0] ^= 1; // an attacker changes the first ciphertext
//! let (mut hello, mut world) = ([0xff; 5], [0xff; 9]);
//! let mut jobs = [
//!     Decryption::open_into(&cipher, &nonces[0], b"header", &sealed.0, &mut hello)?,
//!     Decryption::open_into(&cipher, &nonces[1], b"", &sealed.1, &mut world)?,
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
//! no partner, and those of other variants and on other CPUs, are processed one after another.
//! Then a batch costs a few nanoseconds more for each message than [`Aegis`] does, and ten if the
//! sizes differ. No memory is allocated.

use core::marker::PhantomData;

use crate::cipher::Aegis;
use crate::dispatch::Chosen;
use crate::driver::batch;
use crate::error::Error;
use crate::family::Family;
pub use crate::jobs::BatchError;
use crate::jobs::{self, Borrowed, Job};
use crate::memory::{Direction, InOut};
use crate::types::Tag;

/// A message for [`encrypt`]. It holds pointers and lengths: making one takes a nanosecond.
pub struct Encryption<'a, F: Family, const D: usize, const T: usize> {
    inner: Borrowed<'a>,
    cipher: PhantomData<&'a Aegis<F, D, T>>,
}

/// A message for [`decrypt`]. It holds pointers and lengths: making one takes a nanosecond.
pub struct Decryption<'a, F: Family, const D: usize, const T: usize> {
    inner: Borrowed<'a>,
    cipher: PhantomData<&'a Aegis<F, D, T>>,
}

impl<'a, F: Family, const D: usize, const T: usize> Encryption<'a, F, D, T> {
    #[inline(always)]
    fn new(
        cipher: &'a Aegis<F, D, T>,
        nonce: &'a F::Nonce,
        ad: &'a [u8],
        io: InOut<'a>,
        tag: &'a mut [u8; T],
    ) -> Self {
        let inputs = [cipher.key().as_ref(), nonce.as_ref(), ad];
        Self { inner: Borrowed::new::<F, T>(inputs, &io, tag.as_mut_ptr()), cipher: PhantomData }
    }

    /// Encrypts a message in place and writes its tag. See [`Aegis::encrypt_in_place`].
    #[must_use]
    #[inline(always)] // creates the job in place
    pub fn encrypt_in_place(
        cipher: &'a Aegis<F, D, T>,
        nonce: &'a F::Nonce,
        ad: &'a [u8],
        buf: &'a mut [u8],
        tag: &'a mut Tag<T>,
    ) -> Self {
        Self::new(cipher, nonce, ad, InOut::in_place(buf), tag.as_mut_bytes())
    }

    /// Encrypts a message into a buffer of the same length and writes its tag. See
    /// [`Aegis::encrypt_into`].
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] if the lengths differ.
    #[inline(always)] // creates the job in place
    pub fn encrypt_into(
        cipher: &'a Aegis<F, D, T>,
        nonce: &'a F::Nonce,
        ad: &'a [u8],
        msg: &'a [u8],
        ct: &'a mut [u8],
        tag: &'a mut Tag<T>,
    ) -> Result<Self, Error> {
        Ok(Self::new(cipher, nonce, ad, InOut::separate(msg, ct)?, tag.as_mut_bytes()))
    }

    /// Encrypts the message at the start of a buffer and writes the tag to its last `T` bytes. See
    /// [`Aegis::seal_in_place`].
    ///
    /// # Errors
    ///
    /// [`Error::TooShort`] if the buffer has no room for the tag.
    #[inline(always)] // creates the job in place
    pub fn seal_in_place(
        cipher: &'a Aegis<F, D, T>,
        nonce: &'a F::Nonce,
        ad: &'a [u8],
        buf: &'a mut [u8],
    ) -> Result<Self, Error> {
        let short = Error::TooShort { what: "buffer", min: T, actual: buf.len() };
        let (msg, tag) = buf.split_last_chunk_mut::<T>().ok_or(short)?;
        Ok(Self::new(cipher, nonce, ad, InOut::in_place(msg), tag))
    }

    /// Encrypts a message and writes ciphertext and tag to a buffer that is `T` bytes longer. See
    /// [`Aegis::seal_into`].
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] if `sealed` has another length.
    #[inline(always)] // creates the job in place
    pub fn seal_into(
        cipher: &'a Aegis<F, D, T>,
        nonce: &'a F::Nonce,
        ad: &'a [u8],
        msg: &'a [u8],
        sealed: &'a mut [u8],
    ) -> Result<Self, Error> {
        let (expected, actual) = (msg.len().saturating_add(T), sealed.len());
        match sealed.split_last_chunk_mut::<T>() {
            Some((ct, tag)) if actual == expected => {
                Ok(Self::new(cipher, nonce, ad, InOut::separate(msg, ct)?, tag))
            }
            _ => Err(Error::WrongLength { what: "output", expected, actual }),
        }
    }

    /// Returns whether the message was encrypted: [`Error::NotProcessed`] before [`encrypt`].
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Backend`], [`Error::NotProcessed`].
    pub fn result(&self) -> Result<(), Error> {
        self.inner.job.result()
    }

    /// Returns the ciphertext, without the tag.
    ///
    /// # Errors
    ///
    /// The same as [`result`](Self::result).
    pub fn ciphertext(&self) -> Result<&[u8], Error> {
        self.inner.output()
    }
}

impl<'a, F: Family, const D: usize, const T: usize> Decryption<'a, F, D, T> {
    #[inline(always)]
    fn new(
        cipher: &'a Aegis<F, D, T>,
        nonce: &'a F::Nonce,
        ad: &'a [u8],
        io: InOut<'a>,
        tag: &'a [u8; T],
    ) -> Self {
        let inputs = [cipher.key().as_ref(), nonce.as_ref(), ad];
        let tag = tag.as_ptr().cast_mut(); // is only read
        Self { inner: Borrowed::new::<F, T>(inputs, &io, tag), cipher: PhantomData }
    }

    /// Verifies the tag and decrypts a ciphertext in place. See [`Aegis::decrypt_in_place`].
    #[must_use]
    #[inline(always)] // creates the job in place
    pub fn decrypt_in_place(
        cipher: &'a Aegis<F, D, T>,
        nonce: &'a F::Nonce,
        ad: &'a [u8],
        buf: &'a mut [u8],
        tag: &'a Tag<T>,
    ) -> Self {
        Self::new(cipher, nonce, ad, InOut::in_place(buf), tag.as_bytes())
    }

    /// Verifies the tag and decrypts a ciphertext into a buffer of the same length. See
    /// [`Aegis::decrypt_into`].
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] if the lengths differ.
    #[inline(always)] // creates the job in place
    pub fn decrypt_into(
        cipher: &'a Aegis<F, D, T>,
        nonce: &'a F::Nonce,
        ad: &'a [u8],
        ct: &'a [u8],
        tag: &'a Tag<T>,
        msg: &'a mut [u8],
    ) -> Result<Self, Error> {
        Ok(Self::new(cipher, nonce, ad, InOut::separate(ct, msg)?, tag.as_bytes()))
    }

    /// Verifies and decrypts ciphertext and tag in place. See [`Aegis::open_in_place`].
    ///
    /// # Errors
    ///
    /// [`Error::TooShort`] if the buffer is shorter than a tag.
    #[inline(always)] // creates the job in place
    pub fn open_in_place(
        cipher: &'a Aegis<F, D, T>,
        nonce: &'a F::Nonce,
        ad: &'a [u8],
        buf: &'a mut [u8],
    ) -> Result<Self, Error> {
        let short = Error::TooShort { what: "ciphertext", min: T, actual: buf.len() };
        let (ct, tag) = buf.split_last_chunk_mut::<T>().ok_or(short)?;
        Ok(Self::new(cipher, nonce, ad, InOut::in_place(ct), tag))
    }

    /// Verifies and decrypts ciphertext and tag into a buffer that is `T` bytes shorter. See
    /// [`Aegis::open_into`].
    ///
    /// # Errors
    ///
    /// [`Error::TooShort`] if `sealed` is shorter than a tag, [`Error::WrongLength`] if `msg` has
    /// the wrong length.
    #[inline(always)] // creates the job in place
    pub fn open_into(
        cipher: &'a Aegis<F, D, T>,
        nonce: &'a F::Nonce,
        ad: &'a [u8],
        sealed: &'a [u8],
        msg: &'a mut [u8],
    ) -> Result<Self, Error> {
        let short = Error::TooShort { what: "ciphertext", min: T, actual: sealed.len() };
        let (ct, tag) = sealed.split_last_chunk::<T>().ok_or(short)?;
        Ok(Self::new(cipher, nonce, ad, InOut::separate(ct, msg)?, tag))
    }

    /// Returns whether the message was decrypted: [`Error::NotProcessed`] before [`decrypt`].
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if the tag is wrong, and the output is zeroed;
    /// [`Error::TooLong`], [`Error::Backend`], [`Error::NotProcessed`].
    pub fn result(&self) -> Result<(), Error> {
        self.inner.job.result()
    }

    /// Returns the message.
    ///
    /// # Errors
    ///
    /// The same as [`result`](Self::result).
    pub fn message(&self) -> Result<&[u8], Error> {
        self.inner.output()
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
#[allow(unsafe_code)] // calls the driver with the jobs' pointers
pub fn encrypt<F: Family, const D: usize, const T: usize>(
    jobs: &mut [Encryption<'_, F, D, T>],
) -> Result<(), BatchError> {
    // SAFETY: jobs are created from valid slices; they borrow outputs and tags exclusively.
    unsafe { jobs::run::<F, D, _>(jobs, |job| &mut job.inner.job, Direction::Encrypt) }
}

/// Verifies and decrypts all messages, with the same result as [`Aegis`] (RFC 10032 §3, §4, §5).
///
/// Jobs that were processed before are skipped.
///
/// # Errors
///
/// [`BatchError`] if some messages failed. The others are decrypted. See
/// [`result`](Decryption::result) for each. The output of a message with a wrong tag is zeroed.
#[allow(unsafe_code)] // calls the driver with the jobs' pointers
pub fn decrypt<F: Family, const D: usize, const T: usize>(
    jobs: &mut [Decryption<'_, F, D, T>],
) -> Result<(), BatchError> {
    // SAFETY: jobs are created from valid slices; they borrow outputs exclusively. Tags are only
    // read.
    unsafe { jobs::run::<F, D, _>(jobs, |job| &mut job.inner.job, Direction::Decrypt) }
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

/// Returns the nonce of a packet.
#[inline(always)]
fn packet_nonce<F: Family>(iv: &F::Nonce, number: u64) -> F::Nonce {
    let mut nonce = *iv;
    if let Some(end) = nonce.as_mut().last_chunk_mut::<8>() {
        *end = (u64::from_be_bytes(*end) ^ number).to_be_bytes();
    }
    nonce
}

/// Processes the next `N` packets, which have one length. Returns a bit for each forgery.
#[allow(unsafe_code)] // calls the driver with the jobs' pointers
#[inline(always)]
fn process_some<'a, F: Family, const D: usize, const T: usize, const N: usize>(
    variant: Chosen<F, D>,
    cipher: &Aegis<F, D, T>,
    nonce: impl Fn(usize) -> F::Nonce,
    packets: impl Iterator<Item = &'a mut [u8]>,
    header: usize,
    direction: Direction,
) -> Result<u32, Error> {
    let nonces: [F::Nonce; N] = core::array::from_fn(nonce);
    let mut jobs = [Job::Failed(Error::NotProcessed); N];
    for ((job, nonce), packet) in jobs.iter_mut().zip(&nonces).zip(packets) {
        // The lengths were checked, so nothing fails. Jobs for both directions are the same.
        let (header, rest) = packet.split_at_mut_checked(header).unwrap_or_default();
        *job = Encryption::seal_in_place(cipher, nonce, header, rest)?.inner.job;
    }
    // SAFETY: jobs are created from valid slices, and each borrows its packet exclusively.
    if unsafe { jobs::process_window(variant, &mut jobs, |job| job, direction) } {
        return Ok(0);
    }
    let failed = |(i, job): (usize, &Job)| u32::from(job.result().is_err()) << i;
    Ok(jobs.iter().enumerate().map(failed).sum())
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
    let PacketLayout { packet, header } = layout;
    let whole = buf.len() / packet;
    let mut packets = buf.chunks_mut(packet);
    let mut done = 0;
    let mut forged = false;
    while done < count {
        let nonce = |i| packet_nonce::<F>(iv, first.wrapping_add((done + i) as u64));
        macro_rules! some {
            ($n:literal) => {{
                let packets = &mut packets;
                (
                    $n,
                    process_some::<F, D, T, $n>(
                        variant, cipher, nonce, packets, header, direction,
                    )?,
                )
            }};
        }
        // A last packet that is shorter has no partner.
        let (size, wrong) = match whole.saturating_sub(done) {
            4.. => some!(4),
            2.. => some!(2),
            _ => some!(1),
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
