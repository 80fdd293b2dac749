//! Words for AES instructions that add the round key first, as ARM's do.

use super::{Blocks, Vector, Word};

/// Blocks with such an instruction.
///
/// # Safety
///
/// The same as for [`Vector`].
pub(crate) unsafe trait AddsFirst: Blocks {
    /// Returns `self ^ other`. The sum is hidden: the compiler would add the two to something else
    /// one by one, in instructions that add three values, which keeps both in registers for longer.
    fn whole(self, other: Self) -> Self;

    /// Returns the AES round of `self ^ other`, without a round key.
    fn round_of_sum(self, other: Self) -> Self;
}

/// A word as the sum of two vectors, for loops over long data. The instruction adds them before
/// SubBytes, so no XOR is on the chain from one AES round to the next.
#[derive(Clone, Copy)]
pub(crate) struct Sum<B>(B, B);

impl<B: AddsFirst> Sum<B> {
    #[inline(always)]
    fn whole(self) -> B {
        self.0.whole(self.1)
    }
}

// SAFETY: each method is some operations on `B`, whose implementation keeps the contract.
unsafe impl<B: AddsFirst> Vector for Sum<B> {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0, self.1.xor(other.0.xor(other.1)))
    }
    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        Self(self.whole(), b.whole().xor(c.whole()))
    }
}

// SAFETY: each method is some operations on `B`, whose implementation keeps the contract.
unsafe impl<B: AddsFirst<Lane: AddsFirst<Lane = B::Lane>>> Word for Sum<B> {
    type Blocks = B;
    type Single = Sum<B::Lane>;
    const SPILLS: bool = true;

    #[inline(always)]
    fn new(blocks: B) -> Self {
        // SAFETY: `blocks` exists, so the CPU has the features.
        Self(blocks, unsafe { B::zero() })
    }
    #[inline(always)]
    fn blocks(self) -> B {
        self.whole()
    }
    #[inline(always)]
    fn aes(self, round_key: Self) -> Self {
        Self(self.0.round_of_sum(self.1), round_key.whole())
    }
    #[inline(always)]
    fn rounds<const N: usize>(input: [Self; N], round_keys: [Self; N]) -> [Self; N] {
        // First the sums: a round overwrites one of its vectors. Loops, which the compiler unrolls
        // late: before that, it would move rounds past what follows them.
        let mut out = round_keys;
        let mut i = 0;
        while i < N {
            out[i].1 = round_keys[i].whole();
            i += 1;
        }
        i = 0;
        while i < N {
            out[i].0 = input[i].0.round_of_sum(input[i].1);
            i += 1;
        }
        out
    }
}
