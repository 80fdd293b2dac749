//! A message that comes in pieces of any size.

use crate::family::Family;
use crate::low::memory::WipedBytes;
use crate::low::{Direction, InOut, State};
use crate::{Error, limits};

/// A state that encrypts or decrypts pieces of any size, each giving as many bytes as it takes: the key stream of a
/// step that has begun is kept, and its message is collected until the step can be absorbed.
#[derive(Clone)]
pub(crate) struct Pieces<F: Family, const D: usize> {
    state: State<F, D>,
    keystream: F::Rate<D>,
    message: F::Rate<D>,
    /// Bytes of the current step that are done: always less than the rate.
    used: usize,
    ad_len: u64,
    msg_len: u64,
}

impl<F: Family, const D: usize> Pieces<F, D> {
    pub(crate) fn new(key: &F::Key, nonce: &F::Nonce, ad: &[u8]) -> Result<Self, Error> {
        let ad_len = limits::check("associated data", 0, ad.len())?;
        let mut state = State::new(key, nonce)?;
        state.absorb(ad);
        Ok(Self {
            state,
            keystream: F::Rate::zeroed(),
            message: F::Rate::zeroed(),
            used: 0,
            ad_len,
            msg_len: 0,
        })
    }

    /// Encrypts or decrypts the next piece. Does nothing if it fails.
    pub(crate) fn next(&mut self, io: InOut<'_>, direction: Direction) -> Result<(), Error> {
        self.msg_len = limits::check("message", self.msg_len, io.len())?;
        let rate = self.message.as_ref().len();
        let mut rest = io;
        if self.used > 0 {
            let n = rest.len().min(rate - self.used);
            let (begun, after) = rest.split_at(n);
            self.within_step(begun, direction);
            rest = after;
            if self.used == rate {
                self.state.absorb(self.message.as_ref());
                self.used = 0;
            }
        }
        let whole = rest.len() - rest.len() % rate;
        let (whole, rest) = rest.split_at(whole);
        if whole.len() > 0 {
            self.state.crypt(whole, direction);
        }
        if rest.len() > 0 {
            self.state.keystream(&mut self.keystream);
            self.within_step(rest, direction);
        }
        Ok(())
    }

    /// A piece that fits into the current step.
    fn within_step(&mut self, io: InOut<'_>, direction: Direction) {
        let place = self.used..self.used + io.len();
        self.used = place.end;
        io.xor(&self.keystream.as_ref()[place.clone()], &mut self.message.as_mut()[place], direction);
    }

    /// The tag of all that came. The state is spent.
    pub(crate) fn finalize<const T: usize>(&mut self, tag: &mut [u8; T]) {
        if self.used > 0 {
            self.state.absorb(&self.message.as_ref()[..self.used]);
            self.used = 0;
        }
        self.state.finalize(self.ad_len, self.msg_len, tag);
    }

    /// The length of what came, in bytes.
    pub(crate) fn msg_len(&self) -> u64 {
        self.msg_len
    }
}
