//! The parallel modes as they were first published, in 2023. **Not compatible with the standard**,
//! and not for new designs: they are here to read old data and to check the paper.
//!
//! F. Denis, "Adding more parallelism to the AEGIS authenticated encryption algorithms", ePrint
//! 2023/523, adds a *context separator* CTX to the initialisation of AEGIS-128L and AEGIS-256
//! ([`enc_128l`], [`enc_256`]) and builds AEGIS-128X\[ν\] and AEGIS-256X\[ν\] ([`Aegis128X`],
//! [`Aegis256X`]) from ν of them, with CTX = lane number. What became RFC 10032 differs:
//!
//! - The standard's context also holds the degree: byte 1 is D - 1. Here it is the lane number
//!   alone, so lane 0 equals the base cipher, and so does ν = 1.
//! - The tag of AEGIS-128X: see [`TagForm`].
//! - There was no MAC mode of its own; a MAC was the tag of an empty message.
//!
//! The lane number is encoded as a little-endian integer of 16 bytes, so ν may be any number of
//! lanes. Lengths in the finalisation are those of the whole message and the whole associated data.
//!
//! ```
//! use core::num::NonZeroU32;
//! use palladion::historic::{Aegis256X, TagForm};
//! use palladion::{Key256, Nonce256, Tag};
//!
//! let key = Key256::from(core::array::from_fn(|i| i as u8));
//! let iv = Nonce256::from(core::array::from_fn(|i| 0x10 + i as u8));
//! let cipher = Aegis256X::new(&key, NonZeroU32::new(2).unwrap());
//! let tag: Tag<16> = cipher.encrypt_in_place(&iv, b"", &mut [])?;
//! assert_eq!(tag.as_bytes()[..4], [0xdd, 0xbc, 0x76, 0x95]); // the paper's appendix A.2
//! # Ok::<(), palladion::Error>(())
//! ```

use core::num::NonZeroU32;

use crate::dispatch::Chosen;
use crate::driver::State;
use crate::error::Error;
use crate::family::{self, Family};
use crate::memory::{Direction, WipedBytes, wipe};
use crate::types::{Expected, Key128, Key256, Nonce128, Nonce256, Tag};

/// Which words of the final state make the 16-byte tag of a lane of AEGIS-128X.
///
/// There is no default: the paper's text and its test vectors disagree, and both have been
/// implemented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagForm {
    /// S0 to S4: what the test vectors in the paper's appendix A.1 were made with, and nothing else
    /// known.
    FiveWords,
    /// S0 to S6, as in AEGIS-128L: what the paper's text says, and what libaegis and the drafts of
    /// August to October 2023 did.
    SevenWords,
}

/// Enc_128L(CTX, K, IV, A, M) of the paper's algorithm 2: AEGIS-128L with a context separator.
/// Encrypts where the message lies; the tag has 16 or 32 bytes. CTX = 0 is AEGIS-128L itself.
///
/// # Errors
///
/// [`Error::TooLong`], [`Error::Backend`].
///
/// ```
/// use palladion::historic::{dec_128l, enc_128l};
/// # use palladion::{Key128, Nonce128};
/// # let (key, iv) = (Key128::from([1; 16]), Nonce128::from([2; 16]));
/// let ctx = [3; 16];
/// let mut buf = *b"message";
/// let tag = enc_128l::<16>(&ctx, &key, &iv, b"ad", &mut buf)?;
/// dec_128l(&ctx, &key, &iv, b"ad", &mut buf, &tag)?;
/// assert_eq!(&buf, b"message");
/// # Ok::<(), palladion::Error>(())
/// ```
pub fn enc_128l<const T: usize>(
    ctx: &[u8; 16],
    key: &Key128,
    iv: &Nonce128,
    ad: &[u8],
    buf: &mut [u8],
) -> Result<Tag<T>, Error> {
    encrypt(|tag| {
        with_context::<family::Aegis128, T>(ctx, key, iv, ad, buf, Direction::Encrypt, tag)
    })
}

/// The inverse of [`enc_128l`].
///
/// # Errors
///
/// [`Error::VerificationFailed`], and the buffer is zeroed; [`Error::TooLong`], [`Error::Backend`].
pub fn dec_128l<const T: usize>(
    ctx: &[u8; 16],
    key: &Key128,
    iv: &Nonce128,
    ad: &[u8],
    buf: &mut [u8],
    tag: &Tag<T>,
) -> Result<(), Error> {
    decrypt(buf, tag, |buf, tag| {
        with_context::<family::Aegis128, T>(ctx, key, iv, ad, buf, Direction::Decrypt, tag)
    })
}

/// Enc_256(CTX, K, IV, A, M) of the paper's algorithm 4: AEGIS-256 with a context separator.
/// Encrypts where the message lies; the tag has 16 or 32 bytes. CTX = 0 is AEGIS-256 itself (whose
/// constants and round keys the algorithm misprints; the test vectors follow AEGIS-256).
///
/// # Errors
///
/// [`Error::TooLong`], [`Error::Backend`].
pub fn enc_256<const T: usize>(
    ctx: &[u8; 16],
    key: &Key256,
    iv: &Nonce256,
    ad: &[u8],
    buf: &mut [u8],
) -> Result<Tag<T>, Error> {
    encrypt(|tag| {
        with_context::<family::Aegis256, T>(ctx, key, iv, ad, buf, Direction::Encrypt, tag)
    })
}

/// The inverse of [`enc_256`].
///
/// # Errors
///
/// [`Error::VerificationFailed`], and the buffer is zeroed; [`Error::TooLong`], [`Error::Backend`].
pub fn dec_256<const T: usize>(
    ctx: &[u8; 16],
    key: &Key256,
    iv: &Nonce256,
    ad: &[u8],
    buf: &mut [u8],
    tag: &Tag<T>,
) -> Result<(), Error> {
    decrypt(buf, tag, |buf, tag| {
        with_context::<family::Aegis256, T>(ctx, key, iv, ad, buf, Direction::Decrypt, tag)
    })
}

/// AEGIS-128X\[ν\] of 2023: ν evaluations of [`enc_128l`] on interleaved blocks, their 16-byte tags
/// XORed.
#[derive(Clone, Debug)]
pub struct Aegis128X {
    key: Key128,
    degree: NonZeroU32,
    tag_form: TagForm,
}

impl Aegis128X {
    /// The mode with ν lanes and a choice of tag.
    #[must_use]
    pub fn new(key: &Key128, nu: NonZeroU32, tag_form: TagForm) -> Self {
        Self { key: key.clone(), degree: nu, tag_form }
    }

    /// Encrypts a message where it lies and returns its tag.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Backend`].
    pub fn encrypt_in_place(
        &self,
        iv: &Nonce128,
        ad: &[u8],
        buf: &mut [u8],
    ) -> Result<Tag<16>, Error> {
        encrypt(|tag| self.crypt(iv, ad, buf, Direction::Encrypt, tag))
    }

    /// Decrypts a ciphertext where it lies, if the tag is right.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`], and the buffer is zeroed; [`Error::TooLong`],
    /// [`Error::Backend`].
    pub fn decrypt_in_place(
        &self,
        iv: &Nonce128,
        ad: &[u8],
        buf: &mut [u8],
        tag: &Tag<16>,
    ) -> Result<(), Error> {
        decrypt(buf, tag, |buf, tag| self.crypt(iv, ad, buf, Direction::Decrypt, tag))
    }

    fn crypt(
        &self,
        iv: &Nonce128,
        ad: &[u8],
        buf: &mut [u8],
        direction: Direction,
        tag: &mut [u8; 16],
    ) -> Result<(), Error> {
        let five = self.tag_form == TagForm::FiveWords;
        interleaved::<family::Aegis128>(
            &self.key,
            iv,
            self.degree,
            ad,
            buf,
            direction,
            tag,
            |state, tag| {
                if five {
                    *tag = [0; 16];
                    for word in state.words().as_ref().chunks_exact(16).take(5) {
                        xor(tag, word);
                    }
                }
            },
        )
    }
}

/// AEGIS-256X\[ν\] of 2023: ν evaluations of [`enc_256`] on interleaved blocks, their 16-byte tags
/// XORed.
#[derive(Clone, Debug)]
pub struct Aegis256X {
    key: Key256,
    degree: NonZeroU32,
}

impl Aegis256X {
    /// The mode with ν lanes.
    #[must_use]
    pub fn new(key: &Key256, nu: NonZeroU32) -> Self {
        Self { key: key.clone(), degree: nu }
    }

    /// Encrypts a message where it lies and returns its tag.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`], [`Error::Backend`].
    pub fn encrypt_in_place(
        &self,
        iv: &Nonce256,
        ad: &[u8],
        buf: &mut [u8],
    ) -> Result<Tag<16>, Error> {
        encrypt(|tag| self.crypt(iv, ad, buf, Direction::Encrypt, tag))
    }

    /// Decrypts a ciphertext where it lies, if the tag is right.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`], and the buffer is zeroed; [`Error::TooLong`],
    /// [`Error::Backend`].
    pub fn decrypt_in_place(
        &self,
        iv: &Nonce256,
        ad: &[u8],
        buf: &mut [u8],
        tag: &Tag<16>,
    ) -> Result<(), Error> {
        decrypt(buf, tag, |buf, tag| self.crypt(iv, ad, buf, Direction::Decrypt, tag))
    }

    fn crypt(
        &self,
        iv: &Nonce256,
        ad: &[u8],
        buf: &mut [u8],
        direction: Direction,
        tag: &mut [u8; 16],
    ) -> Result<(), Error> {
        interleaved::<family::Aegis256>(
            &self.key,
            iv,
            self.degree,
            ad,
            buf,
            direction,
            tag,
            |_, _| {},
        )
    }
}

/// Encrypts: `work` does, and writes the tag.
fn encrypt<const T: usize>(
    work: impl FnOnce(&mut [u8; T]) -> Result<(), Error>,
) -> Result<Tag<T>, Error> {
    let mut tag = Tag::zeroed();
    work(tag.as_mut_bytes())?;
    Ok(tag)
}

/// Decrypts: `work` does, and writes the tag that the message should have. The message goes if
/// another one came.
fn decrypt<const T: usize>(
    buf: &mut [u8],
    tag: &Tag<T>,
    work: impl FnOnce(&mut [u8], &mut [u8; T]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut expected = Expected::default();
    work(buf, expected.as_mut_bytes())?;
    expected.verify(tag).inspect_err(|_| wipe(buf))
}

/// One lane with a context of its own. The tag is that of the whole message.
fn with_context<F: Family, const T: usize>(
    ctx: &[u8; 16],
    key: &F::Key,
    iv: &F::Nonce,
    ad: &[u8],
    buf: &mut [u8],
    direction: Direction,
    tag: &mut [u8; T],
) -> Result<(), Error> {
    let mut memory = F::Memory::zeroed();
    let mut state = State::new(&mut memory, Chosen::<F, 1>::new()?);
    process_lane::<F>(&mut state, ctx, key, iv, Columns { lane: 0, lanes: 1 }, ad, buf, direction)?;
    state.finalize(ad.len() as u64, buf.len() as u64, tag);
    Ok(())
}

/// The lanes one after another. `adjust` sees each lane's final state and may replace its tag.
#[expect(clippy::too_many_arguments, reason = "what a message has")]
fn interleaved<F: Family>(
    key: &F::Key,
    iv: &F::Nonce,
    degree: NonZeroU32,
    ad: &[u8],
    buf: &mut [u8],
    direction: Direction,
    tag: &mut [u8; 16],
    adjust: impl Fn(&State<'_, Chosen<F, 1>>, &mut [u8; 16]),
) -> Result<(), Error> {
    let mut memory = F::Memory::zeroed();
    let mut state = State::new(&mut memory, Chosen::<F, 1>::new()?);
    for lane_number in 0..degree.get() {
        let ctx = u128::from(lane_number).to_le_bytes();
        let columns = Columns { lane: lane_number as usize, lanes: degree.get() as usize };
        process_lane::<F>(&mut state, &ctx, key, iv, columns, ad, buf, direction)?;
        let mut lane_tag = [0; 16];
        state.finalize(ad.len() as u64, buf.len() as u64, &mut lane_tag);
        adjust(&state, &mut lane_tag);
        xor(tag, &lane_tag);
    }
    Ok(())
}

/// Begins a lane, absorbs its blocks of the associated data, and encrypts or decrypts its blocks of
/// the message. They may lie at any stride.
#[expect(clippy::too_many_arguments, reason = "what a message has")]
fn process_lane<F: Family>(
    state: &mut State<'_, Chosen<F, 1>>,
    ctx: &[u8; 16],
    key: &F::Key,
    iv: &F::Nonce,
    columns: Columns,
    ad: &[u8],
    buf: &mut [u8],
    direction: Direction,
) -> Result<(), Error> {
    Error::check_limit("associated data", 0, ad.len())?;
    Error::check_limit("message", 0, buf.len())?;
    state.init(key.as_ref(), iv.as_ref(), Some(ctx));
    let mut step = F::Step::<1>::zeroed();
    let mut keystream = F::Step::<1>::zeroed();
    for first in (0..ad.len()).step_by(columns.rate::<F>()) {
        step.as_mut().fill(0);
        for (block, place) in step.as_mut().chunks_exact_mut(16).zip(columns.of_step(first)) {
            let bytes = &ad[place.start.min(ad.len())..place.end.min(ad.len())];
            block[..bytes.len()].copy_from_slice(bytes);
        }
        state.absorb(step.as_ref());
    }
    for first in (0..buf.len()).step_by(columns.rate::<F>()) {
        state.keystream(&mut keystream);
        step.as_mut().fill(0);
        let blocks = step.as_mut().chunks_exact_mut(16).zip(keystream.as_ref().chunks_exact(16));
        for ((block, key), place) in blocks.zip(columns.of_step(first)) {
            let len = buf.len();
            let bytes = &mut buf[place.start.min(len)..place.end.min(len)];
            let block = &mut block[..bytes.len()];
            block.copy_from_slice(bytes);
            xor(bytes, key);
            if direction == Direction::Decrypt {
                block.copy_from_slice(bytes);
            }
        }
        state.absorb(step.as_ref());
    }
    Ok(())
}

/// The blocks that belong to a lane: every `lanes`-th.
#[derive(Clone, Copy)]
struct Columns {
    lane: usize,
    lanes: usize,
}

impl Columns {
    /// Bytes that all lanes take together in one step.
    fn rate<F: Family>(self) -> usize {
        F::Step::<1>::LEN.saturating_mul(self.lanes)
    }

    /// Where this lane's blocks of the step lie that begins at `first`. Blocks behind the end of
    /// memory count as behind the end of the data, which is as well.
    fn of_step(self, first: usize) -> impl Iterator<Item = core::ops::Range<usize>> {
        (0..).map(move |row| {
            let block = self.lanes.saturating_mul(row).saturating_add(self.lane);
            let start = block.saturating_mul(16).saturating_add(first);
            start..start.saturating_add(16)
        })
    }
}

/// `a ^= b`, as far as `a` goes.
fn xor(a: &mut [u8], b: &[u8]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a ^= b;
    }
}
