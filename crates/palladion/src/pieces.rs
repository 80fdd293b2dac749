//! A message that comes in pieces of any size.

use crate::family::Family;
use crate::low::memory::{WipedBytes, wipe};
use crate::low::{Direction, InOut, State, Variant};
use crate::{Error, limits};

/// A state that encrypts or decrypts pieces of any size, each giving as many bytes as it takes.
#[derive(Clone)]
pub(crate) struct Pieces<F: Family, const D: usize>(State<F, D, Progress<F, D>>);

/// How far the message has come.
#[derive(Clone)]
struct Progress<F: Family, const D: usize> {
    /// Of a step that has begun: the message until now, and behind it the rest of the key stream.
    step: F::Rate<D>,
    ad_len: u64,
    msg_len: u64,
}

impl<F: Family, const D: usize> Progress<F, D> {
    #[inline(always)]
    fn new(ad_len: u64, msg_len: u64) -> Self {
        Self { step: F::Rate::zeroed(), ad_len, msg_len }
    }

    /// Bytes of the current step that are done: always less than the rate.
    fn used(&self) -> usize {
        (self.msg_len % F::Rate::<D>::LEN as u64) as usize
    }
}

impl<F: Family, const D: usize> Pieces<F, D> {
    pub(crate) fn new(key: &F::Key, nonce: &F::Nonce, ad: &[u8]) -> Result<Self, Error> {
        let mut pieces = Self::zeroed(Variant::new()?);
        pieces.begin(key, nonce, ad)?;
        Ok(pieces)
    }

    /// Memory for it, to begin in.
    #[inline(always)] // so that it is made where it stays
    pub(crate) fn zeroed(variant: Variant<F, D>) -> Self {
        Self(State::zeroed(variant, Progress::new(0, 0)))
    }

    /// Begins a message, whatever there was. Does nothing if it fails.
    #[inline(always)]
    pub(crate) fn begin(&mut self, key: &F::Key, nonce: &F::Nonce, ad: &[u8]) -> Result<(), Error> {
        let Self(state) = self;
        state.with.ad_len = limits::check("associated data", 0, ad.len())?;
        state.with.msg_len = 0;
        state.begin(key, nonce, None);
        state.absorb(ad);
        Ok(())
    }

    /// Encrypts or decrypts the next piece. Does nothing if it fails.
    pub(crate) fn next(&mut self, io: InOut<'_>, direction: Direction) -> Result<(), Error> {
        let Self(state) = self;
        let (used, rate) = (state.with.used(), F::Rate::<D>::LEN);
        state.with.msg_len = limits::check("message", state.with.msg_len, io.len())?;
        let mut rest = io;
        if used > 0 {
            let n = rest.len().min(rate - used);
            let (begun, after) = rest.split_at(n);
            begun.xor(&mut state.with.step.as_mut()[used..used + n], direction);
            rest = after;
            if used + n == rate {
                state.absorb_own(|with| with.step.as_ref());
            }
        }
        let whole = rest.len() - rest.len() % rate;
        let (whole, rest) = rest.split_at(whole);
        if whole.len() > 0 {
            state.crypt(whole, direction);
        }
        if rest.len() > 0 {
            state.keystream_own(|with| &mut with.step);
            let n = rest.len();
            rest.xor(&mut state.with.step.as_mut()[..n], direction);
        }
        Ok(())
    }

    /// The tag. The state is spent.
    pub(crate) fn finalize<const T: usize>(&mut self, tag: &mut [u8; T]) {
        let Self(state) = self;
        if state.with.used() > 0 {
            state.absorb_own(|with| &with.step.as_ref()[..with.used()]);
        }
        state.finalize(state.with.ad_len, state.with.msg_len, tag);
    }

    /// Bytes of the message until now.
    pub(crate) fn msg_len(&self) -> u64 {
        self.0.with.msg_len
    }

    /// Wipes it: nothing that it computes from now on is of any use.
    pub(crate) fn wipe(&mut self) {
        self.0.wipe();
        wipe(self.0.with.step.as_mut());
    }

    /// Bytes of the words of a state.
    const WORDS: usize = F::WORDS * 16 * D;
    /// Bytes that `to_bytes` writes.
    pub(crate) const BYTES: usize = Self::WORDS + F::Rate::<D>::LEN + 16;

    /// All that there is to it, as bytes: the words of the state, the step that has begun, and the two lengths.
    pub(crate) fn to_bytes(&self, bytes: &mut [u8]) -> Result<(), Error> {
        Error::check_length("output", bytes.len(), Self::BYTES)?;
        let (words, rest) = bytes.split_at_mut(Self::WORDS);
        let (step, lengths) = rest.split_at_mut(F::Rate::<D>::LEN);
        let Progress { step: begun, ad_len, msg_len } = &self.0.with;
        words.copy_from_slice(&self.0.words().as_ref()[..Self::WORDS]);
        step.copy_from_slice(begun.as_ref());
        lengths[..8].copy_from_slice(&ad_len.to_le_bytes());
        lengths[8..].copy_from_slice(&msg_len.to_le_bytes());
        Ok(())
    }

    /// What `to_bytes` has written, with the backend now in use.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Error::check_length("session", bytes.len(), Self::BYTES)?;
        let (words, rest) = bytes.split_at(Self::WORDS);
        let (step, lengths) = rest.split_at(F::Rate::<D>::LEN);
        let length = |at| u64::from_le_bytes(core::array::from_fn(|i| lengths[at + i]));
        let mut progress = Progress::<F, D>::new(length(0), length(8));
        progress.step.as_mut().copy_from_slice(step);
        let mut memory = F::Memory::zeroed();
        memory.as_mut()[..Self::WORDS].copy_from_slice(words);
        Ok(Self(State::resume(&memory, progress)?))
    }
}
