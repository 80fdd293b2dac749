//! Encrypts or decrypts many messages in one call, faster than one after another.
//!
//! Each step of AEGIS needs the result of the step before, so a single message leaves the AES units
//! of recent CPUs partly idle. In a batch, each part of a wide register works on a message of its
//! own (the "comb scheduler" that the 2023 paper on AEGIS's parallel modes cites). The result is
//! the same as encrypting each message with [`Aegis`], with its own nonce and tag: the receiver
//! need not know about the batch.
//!
//! [`encrypt`] and [`decrypt`] take jobs from an iterator, one for each message: [`Encryption`] or
//! [`Decryption`]. The constructors have the names and arguments of the corresponding methods of
//! [`Aegis`], after the cipher; a separate tag has its place there too. Jobs may have different
//! keys, but share the variant and the tag length. They only borrow, and an iterator that creates
//! each when it is taken costs next to nothing. If a constructor fails, its message fails, and the
//! others are processed.
//!
//! ```
//! use palladion::batch::{self, Decryption, Encryption};
//! use palladion::{Aegis128L, Error, Key128, Nonce128};
//!
//! let cipher = Aegis128L::<16>::new(&Key128::from([7; 16]));
//! let mut pages = vec![[0; 4096 + 16]; 10]; // each with room for its tag
//! let nonces: Vec<_> = (0..10).map(|i| Nonce128::from([i; 16])).collect(); // never use one twice
//!
//! batch::encrypt(pages.iter_mut().zip(&nonces).map(|(page, nonce)| {
//!     Encryption::seal_in_place(&cipher, nonce, b"header", page)
//! }))?;
//! assert_eq!(pages[3][..], cipher.seal(&nonces[3], b"header", &[0; 4096])?);
//!
//! pages[3][100] ^= 1; // an attacker changes one page
//! let mut forged = Vec::new();
//! let jobs = pages.iter_mut().zip(&nonces).map(|(page, nonce)| {
//!     Decryption::open_in_place(&cipher, nonce, b"header", page)
//! });
//! let result = batch::decrypt(jobs, |place, why| forged.push((place, why)));
//! assert_eq!(result.unwrap_err().failed, 1);
//! assert_eq!(forged, [(3, Error::VerificationFailed)]);
//! assert_eq!(pages[3][..4096], [0; 4096]);
//! assert_eq!(pages[4][..4096], [0; 4096]); // so was the message
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
//! rounded up. Jobs are taken in windows of 64. If their lengths differ, they are sorted, which
//! costs some ten nanoseconds for each.
//! Messages that find no partner, and those of other variants and on other CPUs, are processed one
//! after another, as fast as with [`Aegis`]. No memory is allocated.

use core::marker::PhantomData;
use core::mem::MaybeUninit;

use crate::arch::DataIndependentTiming;
use crate::dispatch::Chosen;
use crate::driver::variant::check_tag;
use crate::driver::{Message, batch};
use crate::interface::cipher::Aegis;
use crate::interface::error::Error;
use crate::interface::family::Family;
use crate::interface::job::Job;
use crate::interface::schedule;
pub use crate::interface::schedule::BatchError;
use crate::interface::types::Tag;
use crate::memory::{Direction, InOut};

/// A message for [`encrypt`].
pub struct Encryption<'a, F: Family, const D: usize, const T: usize> {
    job: Job<'a, F, D>,
    cipher: PhantomData<&'a Aegis<F, D, T>>,
}

/// A message for [`decrypt`].
pub struct Decryption<'a, F: Family, const D: usize, const T: usize> {
    job: Job<'a, F, D>,
    cipher: PhantomData<&'a Aegis<F, D, T>>,
}

impl<'a, F: Family, const D: usize, const T: usize> Encryption<'a, F, D, T> {
    #[inline(always)]
    fn new(job: Job<'a, F, D>) -> Result<Self, Error> {
        const { check_tag(T) };
        Ok(Self { job: job.checked()?, cipher: PhantomData })
    }

    /// Encrypts a message in place and writes its tag. See [`Aegis::encrypt_in_place`].
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`].
    #[inline(always)] // creates the job in place
    pub fn encrypt_in_place(
        cipher: &'a Aegis<F, D, T>,
        nonce: &'a F::Nonce,
        ad: &'a [u8],
        buf: &'a mut [u8],
        tag: &'a mut Tag<T>,
    ) -> Result<Self, Error> {
        Self::new(Job::encrypt(cipher.inputs(nonce, ad), InOut::in_place(buf), tag.as_mut_bytes()))
    }

    /// Encrypts a message into a buffer of the same length and writes its tag. See
    /// [`Aegis::encrypt_into`].
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] if the lengths differ; [`Error::TooLong`].
    #[inline(always)] // creates the job in place
    pub fn encrypt_into(
        cipher: &'a Aegis<F, D, T>,
        nonce: &'a F::Nonce,
        ad: &'a [u8],
        msg: &'a [u8],
        ct: &'a mut [u8],
        tag: &'a mut Tag<T>,
    ) -> Result<Self, Error> {
        let io = InOut::separate(msg, ct)?;
        Self::new(Job::encrypt(cipher.inputs(nonce, ad), io, tag.as_mut_bytes()))
    }

    /// Encrypts the message at the start of a buffer and writes the tag to its last `T` bytes. See
    /// [`Aegis::seal_in_place`].
    ///
    /// # Errors
    ///
    /// [`Error::TooShort`] if the buffer has no room for the tag; [`Error::TooLong`].
    #[inline(always)] // creates the job in place
    pub fn seal_in_place(
        cipher: &'a Aegis<F, D, T>,
        nonce: &'a F::Nonce,
        ad: &'a [u8],
        buf: &'a mut [u8],
    ) -> Result<Self, Error> {
        Self::new(Job::seal_in_place::<T>(cipher.inputs(nonce, ad), buf)?)
    }

    /// Encrypts a message and writes ciphertext and tag to a buffer that is `T` bytes longer. See
    /// [`Aegis::seal_into`].
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] if `sealed` has another length; [`Error::TooLong`].
    #[inline(always)] // creates the job in place
    pub fn seal_into(
        cipher: &'a Aegis<F, D, T>,
        nonce: &'a F::Nonce,
        ad: &'a [u8],
        msg: &'a [u8],
        sealed: &'a mut [u8],
    ) -> Result<Self, Error> {
        Self::new(Job::seal_into::<T>(cipher.inputs(nonce, ad), msg, sealed)?)
    }
}

impl<'a, F: Family, const D: usize, const T: usize> Decryption<'a, F, D, T> {
    #[inline(always)]
    fn new(job: Job<'a, F, D>) -> Result<Self, Error> {
        const { check_tag(T) };
        Ok(Self { job: job.checked()?, cipher: PhantomData })
    }

    /// Verifies the tag and decrypts a ciphertext in place. See [`Aegis::decrypt_in_place`].
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`].
    #[inline(always)] // creates the job in place
    pub fn decrypt_in_place(
        cipher: &'a Aegis<F, D, T>,
        nonce: &'a F::Nonce,
        ad: &'a [u8],
        buf: &'a mut [u8],
        tag: &'a Tag<T>,
    ) -> Result<Self, Error> {
        Self::new(Job::decrypt(cipher.inputs(nonce, ad), InOut::in_place(buf), tag.as_bytes()))
    }

    /// Verifies the tag and decrypts a ciphertext into a buffer of the same length. See
    /// [`Aegis::decrypt_into`].
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] if the lengths differ; [`Error::TooLong`].
    #[inline(always)] // creates the job in place
    pub fn decrypt_into(
        cipher: &'a Aegis<F, D, T>,
        nonce: &'a F::Nonce,
        ad: &'a [u8],
        ct: &'a [u8],
        tag: &'a Tag<T>,
        msg: &'a mut [u8],
    ) -> Result<Self, Error> {
        let io = InOut::separate(ct, msg)?;
        Self::new(Job::decrypt(cipher.inputs(nonce, ad), io, tag.as_bytes()))
    }

    /// Verifies and decrypts ciphertext and tag in place. See [`Aegis::open_in_place`].
    ///
    /// # Errors
    ///
    /// [`Error::TooShort`] if the buffer is shorter than a tag; [`Error::TooLong`].
    #[inline(always)] // creates the job in place
    pub fn open_in_place(
        cipher: &'a Aegis<F, D, T>,
        nonce: &'a F::Nonce,
        ad: &'a [u8],
        buf: &'a mut [u8],
    ) -> Result<Self, Error> {
        Self::new(Job::open_in_place::<T>(cipher.inputs(nonce, ad), buf)?)
    }

    /// Verifies and decrypts ciphertext and tag into a buffer that is `T` bytes shorter. See
    /// [`Aegis::open_into`].
    ///
    /// # Errors
    ///
    /// [`Error::TooShort`] if `sealed` is shorter than a tag, [`Error::WrongLength`] if `msg` has
    /// the wrong length; [`Error::TooLong`].
    #[inline(always)] // creates the job in place
    pub fn open_into(
        cipher: &'a Aegis<F, D, T>,
        nonce: &'a F::Nonce,
        ad: &'a [u8],
        sealed: &'a [u8],
        msg: &'a mut [u8],
    ) -> Result<Self, Error> {
        Self::new(Job::open_into::<T>(cipher.inputs(nonce, ad), sealed, msg)?)
    }
}

/// Encrypts all messages, with the same result as [`Aegis`] (RFC 10032 §3, §4, §5).
///
/// # Errors
///
/// [`BatchError`] if constructors failed, or with [`Error::Backend`] for all. The other messages
/// are encrypted.
#[allow(unsafe_code)] // calls the driver with the jobs' pointers
#[inline]
pub fn encrypt<'a, F: Family, const D: usize, const T: usize>(
    jobs: impl IntoIterator<Item = Result<Encryption<'a, F, D, T>, Error>>,
) -> Result<(), BatchError> {
    let _timing = DataIndependentTiming::switch_on();
    let messages = jobs.into_iter().map(|job| job.map(|job| *job.job.message()));
    // SAFETY: jobs are created from valid slices. They borrow outputs and tags exclusively, for a
    // lifetime that does not end before this function.
    unsafe { schedule::crypt_all::<F, D>(messages, Direction::Encrypt, |_, _| {}) }
}

/// Verifies and decrypts all messages, with the same result as [`Aegis`] (RFC 10032 §3, §4, §5).
/// The output of a message with a wrong tag is zeroed.
///
/// Calls `on_failure` with the place of each message that failed, in order, and the reason:
/// [`Error::VerificationFailed`], the error of its constructor, or [`Error::Backend`] for all.
///
/// # Errors
///
/// [`BatchError`] if some messages failed. The others are decrypted.
#[allow(unsafe_code)] // calls the driver with the jobs' pointers
#[inline]
pub fn decrypt<'a, F: Family, const D: usize, const T: usize>(
    jobs: impl IntoIterator<Item = Result<Decryption<'a, F, D, T>, Error>>,
    on_failure: impl FnMut(usize, Error),
) -> Result<(), BatchError> {
    let _timing = DataIndependentTiming::switch_on();
    let messages = jobs.into_iter().map(|job| job.map(|job| *job.job.message()));
    // SAFETY: jobs are created from valid slices. They borrow outputs exclusively, for a lifetime
    // that does not end before this function. Tags are only read.
    unsafe { schedule::crypt_all::<F, D>(messages, Direction::Decrypt, on_failure) }
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
    crypt_packets(cipher, iv, first, buf, layout, Direction::Encrypt, |_| {})
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
    crypt_packets(cipher, iv, first, buf, layout, Direction::Decrypt, on_forgery)
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

/// How many packets are processed at once, so that the CPU does not wait for the nonces.
const PACKETS: usize = 16;

#[allow(unsafe_code)] // calls the driver with the messages' pointers
#[inline(always)]
fn crypt_packets<F: Family, const D: usize, const T: usize>(
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
    let _timing = DataIndependentTiming::switch_on();
    let PacketLayout { packet, header } = layout;
    let whole = buf.len() / packet;
    let mut packets = buf.chunks_mut(packet);
    let mut nonces = [const { MaybeUninit::<F::Nonce>::uninit() }; PACKETS];
    let mut messages = [const { MaybeUninit::<Message>::uninit() }; PACKETS];
    let mut done = 0;
    let mut forged = false;
    while done < count {
        // A last packet that is shorter has no partner.
        let size = PACKETS.min((whole - done).max(1));
        let some = packets.by_ref().take(size);
        for (i, ((message, nonce), packet)) in
            messages.iter_mut().zip(&mut nonces).zip(some).enumerate()
        {
            let number = first.wrapping_add((done + i) as u64);
            let nonce = nonce.write(packet_nonce::<F>(iv, number));
            // The lengths were checked, so nothing fails. Jobs for both directions are the same.
            let (header, rest) = packet.split_at_mut_checked(header).unwrap_or_default();
            match &Encryption::seal_in_place(cipher, nonce, header, rest) {
                Ok(job) => message.write(*job.job.message()),
                Err(error) => return Err(*error),
            };
        }
        let each = |i| messages.as_ptr().cast::<Message>().wrapping_add(i);
        // SAFETY: `size` messages were written, of packets of one length. Jobs are created from
        // valid slices, and each borrows its packet exclusively.
        let wrong = unsafe { schedule::crypt_same(variant, size, each, direction) };
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
