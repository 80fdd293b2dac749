//! The parallel modes as first published in 2023, for reading old data and checking the paper.
//! **Not compatible with the standard; not for new designs.**
//!
//! F. Denis, "Adding more parallelism to the AEGIS authenticated encryption algorithms", ePrint
//! 2023/523, adds a *context separator* CTX to the initialisation of AEGIS-128L and AEGIS-256
//! ([`enc_128l`], [`enc_256`]). It builds AEGIS-128X\[ν\] and AEGIS-256X\[ν\] ([`Aegis128X`],
//! [`Aegis256X`]) from ν instances with CTX = lane number. RFC 10032 differs from the paper:
//!
//! - The standard's context also contains the degree: byte 1 is D - 1. The paper's contains only
//!   the lane number, so lane 0 equals the base cipher, and so does the mode with ν = 1.
//! - AEGIS-128X has another tag: see [`TagForm`].
//! - The paper has no MAC mode; the tag of an empty message serves as a MAC.
//!
//! The lane number is a little-endian integer of 16 bytes, so ν has no practical limit. The
//! finalisation uses the lengths of the whole message and of all the associated data.
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
use crate::interface::error::Error;
use crate::interface::family::{self, Family};
use crate::interface::types::{Expected, Key128, Key256, Nonce128, Nonce256, Tag};
use crate::memory::{Direction, WipedBytes, wipe};

/// The words of the final state that make the 16-byte tag of a lane of AEGIS-128X.
///
/// There is no default: the paper's text and its test vectors disagree, and both forms have been
/// implemented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagForm {
    /// S0 to S4. The test vectors in the paper's appendix A.1 use it, and nothing else that we know
    /// of.
    FiveWords,
    /// S0 to S6, as in AEGIS-128L. The paper's text, libaegis and the drafts of August to October
    /// 2023 use it.
    SevenWords,
}

/// AEGIS-128L with a context separator: Enc_128L(CTX, K, IV, A, M), algorithm 2 of the paper.
/// Encrypts in place and returns a tag of 16 or 32 bytes. CTX = 0 gives AEGIS-128L itself.
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

/// Verifies the tag and decrypts the output of [`enc_128l`] in place.
///
/// # Errors
///
/// [`Error::VerificationFailed`] if the tag is wrong, and the buffer is zeroed;
/// [`Error::TooLong`], [`Error::Backend`].
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

/// AEGIS-256 with a context separator: Enc_256(CTX, K, IV, A, M), algorithm 4 of the paper.
/// Encrypts in place and returns a tag of 16 or 32 bytes. CTX = 0 gives AEGIS-256 itself.
///
/// The paper misprints the constants and round keys of AEGIS-256; its test vectors, and this
/// function, use the right ones.
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

/// Verifies the tag and decrypts the output of [`enc_256`] in place.
///
/// # Errors
///
/// [`Error::VerificationFailed`] if the tag is wrong, and the buffer is zeroed;
/// [`Error::TooLong`], [`Error::Backend`].
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

/// AEGIS-128X\[ν\] of 2023: ν instances of [`enc_128l`] on interleaved blocks, with their 16-byte
/// tags XORed.
#[derive(Clone, Debug)]
pub struct Aegis128X {
    key: Key128,
    degree: NonZeroU32,
    tag_form: TagForm,
}

impl Aegis128X {
    /// Creates the cipher with ν lanes and a form of tag.
    #[must_use]
    pub fn new(key: &Key128, nu: NonZeroU32, tag_form: TagForm) -> Self {
        Self { key: key.clone(), degree: nu, tag_form }
    }

    /// Encrypts a message in place and returns its tag.
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

    /// Verifies the tag and decrypts a ciphertext in place.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if the tag is wrong, and the buffer is zeroed;
    /// [`Error::TooLong`], [`Error::Backend`].
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

/// AEGIS-256X\[ν\] of 2023: ν instances of [`enc_256`] on interleaved blocks, with their 16-byte
/// tags XORed.
#[derive(Clone, Debug)]
pub struct Aegis256X {
    key: Key256,
    degree: NonZeroU32,
}

impl Aegis256X {
    /// Creates the cipher with ν lanes.
    #[must_use]
    pub fn new(key: &Key256, nu: NonZeroU32) -> Self {
        Self { key: key.clone(), degree: nu }
    }

    /// Encrypts a message in place and returns its tag.
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

    /// Verifies the tag and decrypts a ciphertext in place.
    ///
    /// # Errors
    ///
    /// [`Error::VerificationFailed`] if the tag is wrong, and the buffer is zeroed;
    /// [`Error::TooLong`], [`Error::Backend`].
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

/// Returns the tag that `work` writes; `work` also encrypts.
fn encrypt<const T: usize>(
    work: impl FnOnce(&mut [u8; T]) -> Result<(), Error>,
) -> Result<Tag<T>, Error> {
    let mut tag = Tag::zeroed();
    work(tag.as_mut_bytes())?;
    Ok(tag)
}

/// Lets `work` decrypt `buf` and write the expected tag. Zeroes `buf` if the received tag differs.
fn decrypt<const T: usize>(
    buf: &mut [u8],
    tag: &Tag<T>,
    work: impl FnOnce(&mut [u8], &mut [u8; T]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut expected = Expected::default();
    work(buf, expected.as_mut_bytes())?;
    expected.verify(tag).inspect_err(|_| wipe(buf))
}

/// Encrypts or decrypts with one lane and a context. Writes the tag of the message.
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
    crypt_lane::<F>(&mut state, ctx, key, iv, Columns { lane: 0, lanes: 1 }, ad, buf, direction)?;
    state.finalize(ad.len() as u64, buf.len() as u64, tag);
    Ok(())
}

/// Processes the lanes one after another. `adjust` sees each lane's final state and may replace its
/// tag.
#[expect(clippy::too_many_arguments, reason = "the parts of a message")]
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
        crypt_lane::<F>(&mut state, &ctx, key, iv, columns, ad, buf, direction)?;
        let mut lane_tag = [0; 16];
        state.finalize(ad.len() as u64, buf.len() as u64, &mut lane_tag);
        adjust(&state, &mut lane_tag);
        xor(tag, &lane_tag);
    }
    Ok(())
}

/// Starts a lane, absorbs its blocks of the associated data, and encrypts or decrypts its blocks of
/// the message.
#[expect(clippy::too_many_arguments, reason = "the parts of a message")]
fn crypt_lane<F: Family>(
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

/// Every `lanes`-th block, from block `lane` on: the blocks of one lane.
#[derive(Clone, Copy)]
struct Columns {
    lane: usize,
    lanes: usize,
}

impl Columns {
    /// Bytes that all lanes together take in one step.
    fn rate<F: Family>(self) -> usize {
        F::Step::<1>::LEN.saturating_mul(self.lanes)
    }

    /// The positions of this lane's blocks in the step that starts at `first`. Positions past the
    /// end of memory saturate; they are past the end of the data as well.
    fn of_step(self, first: usize) -> impl Iterator<Item = core::ops::Range<usize>> {
        (0..).map(move |row| {
            let block = self.lanes.saturating_mul(row).saturating_add(self.lane);
            let start = block.saturating_mul(16).saturating_add(first);
            start..start.saturating_add(16)
        })
    }
}

/// XORs `b` into `a`, up to the shorter of the two.
fn xor(a: &mut [u8], b: &[u8]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a ^= b;
    }
}
