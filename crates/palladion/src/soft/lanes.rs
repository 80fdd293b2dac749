//! State machines for four lanes without AES instructions, bitsliced in vectors of 128 bits.
//!
//! As in `bitsliced.rs`, a state consists of planes: plane `p` holds bit `p` of every byte. Here a
//! vector is a plane of some words of the state in all lanes. Each of its bytes stands for a byte
//! of the AES block, and the bits of that byte for words and lanes. The words form two halves, S0
//! to S3 and S4 to S7 (AEGIS-256: S0 to S2 and S3 to S5). Words at the same place of each half form
//! a *group*: the word of the first half has the lower four bits of each byte, that of the second
//! half the upper four, one bit per lane.
//!
//! The next word of the state is in the next group, so no bit moves within a byte, except from the
//! last group to the first, where the halves of each byte are exchanged. ShiftRows and MixColumns
//! move bytes, which are ordered by rows. The key stream of AEGIS-128 uses every bit of its
//! vectors, and the message has as many bits as a group.
//!
//! The index bits of a bit are named as in `bitsliced.rs`.

use super::OneLane;
use super::bitsliced::{Linear, PlaneWord, Planes, exchange_index, in_order, mix, swap_nibbles};
use super::sbox::{Circuit, SBox};
use super::sliced::{Sliced, add_words};
use crate::block::Soft;
use crate::block::{Blocks, Pair};

/// Implements the operators and [`PlaneWord`] for a vector type of the whole crate's target.
macro_rules! register {
    (
        $name:ident, constant($bits:ident) = $constant:expr;
        $($trait:ident, $method:ident($self:ident, $other:ident: $type:ty) = $value:expr;)*
    ) => {
        $(impl core::ops::$trait<$type> for $name {
            type Output = Self;
            #[inline(always)]
            fn $method($self, $other: $type) -> Self {
                Self($value)
            }
        })*

        impl core::ops::Not for $name {
            type Output = Self;
            #[inline(always)]
            fn not(self) -> Self {
                self ^ <Self as $crate::soft::bitsliced::PlaneWord>::constant(u64::MAX)
            }
        }

        impl $crate::soft::bitsliced::PlaneWord for $name {
            #[inline(always)]
            fn constant($bits: u64) -> Self {
                Self($constant)
            }
        }
    };
}
pub(crate) use register;

/// A vector of 128 bits that the whole crate is compiled for.
pub(crate) trait Register: PlaneWord {
    /// Loads a block and puts its bytes in the order of rows.
    ///
    /// # Safety
    /// 16 bytes are readable; no alignment is needed.
    unsafe fn load(src: *const u8) -> Self;
    /// Stores a block whose bytes are in the order of rows.
    ///
    /// # Safety
    /// 16 bytes are writable; no alignment is needed.
    unsafe fn store(self, dst: *mut u8);
    /// Rotates row `r` by `r` bytes (ShiftRows).
    fn shift_rows(self) -> Self;
    /// Takes row `r` from row `r + 1`.
    fn next_row(self) -> Self;
    /// Takes row `r` from row `r + 2`.
    fn second_row(self) -> Self;
}

impl<R: Register> Linear<1> for R {
    #[inline(always)]
    fn shift_and_sum([x]: [R; 1]) -> ([R; 1], [R; 1]) {
        let a = x.shift_rows();
        let next = a.next_row();
        let sum = a ^ next;
        ([sum], [next ^ sum.second_row()])
    }
}

/// The states of four lanes in `N` groups. AEGIS-128 has four groups and two input `BLOCKS` per
/// step, AEGIS-256 has three groups and one block.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Lanes<R, const N: usize, const BLOCKS: usize>(Planes<R, N>);

/// The input or output of a step. With two blocks it consists of planes in the form of a group; row
/// 1 holds the upper four. With one block, a plane fills only the lower half of every byte, so
/// vector `n` holds planes `n` and `n + 4`.
type Step<R, const BLOCKS: usize> = [[R; 4]; BLOCKS];

/// The lower half of every byte.
#[inline(always)]
fn low_nibbles<R: PlaneWord>() -> R {
    R::constant(0x0f0f_0f0f_0f0f_0f0f)
}

/// Transposes index bits `n = (half) l1 l0` and, within the byte, `p2 p1 p0` to `n = (p2) p1 p0`
/// and `half l1 l0`, or, with one block, `p2 l1 l0`. It is its own inverse.
#[inline(always)]
fn transpose<R: PlaneWord, const BLOCKS: usize>(step: &mut Step<R, BLOCKS>) {
    if let [first, second] = step.as_mut_slice() {
        for (a, b) in first.iter_mut().zip(second) {
            exchange_index::<R, 2>(a, b);
        }
    }
    for [w0, w1, w2, w3] in step {
        exchange_index::<R, 1>(w0, w2);
        exchange_index::<R, 1>(w1, w3);
        exchange_index::<R, 0>(w0, w1);
        exchange_index::<R, 0>(w2, w3);
    }
}

/// AESRound of a group, without the round key. Calls `take` with the number of each plane and its
/// vector.
#[inline(always)]
fn round<R: Register>(group: &[R; 8], mut take: impl FnMut(usize, R)) {
    let bytes = SBox::sub_bytes(*group);
    mix(&[bytes], |p, [out]| take(p, out));
}

impl<R: Register, const N: usize, const BLOCKS: usize> Lanes<R, N, BLOCKS> {
    /// Returns the group of word `at`, and the shift of its half.
    #[inline(always)]
    fn place(at: usize) -> (usize, u32) {
        (at % N, 4 * (at / N) as u32)
    }

    /// Returns the part of a step with one block that is added to plane `p`, in the lower half of
    /// each byte.
    #[inline(always)]
    fn input(m: &Step<R, BLOCKS>, p: usize) -> R {
        let x = m[0][p % 4];
        (if p < 4 { x } else { x >> 4 }) & low_nibbles()
    }

    /// AESRound of all words, without the round keys.
    #[cfg(test)]
    fn rounds(mut self) -> Self {
        for group in &mut self.0 {
            let before = *group;
            round(&before, |p, out| group[p] = out);
        }
        self
    }
}

// SAFETY: no CPU features are needed beyond those that the crate is compiled for, and no branch or
// index depends on the bits. The type is transparent over its vectors, which have 128 or 96 bytes
// per lane.
unsafe impl<R: Register, const N: usize, const BLOCKS: usize> Sliced for Lanes<R, N, BLOCKS> {
    type Blocks = Pair<Pair<Soft>>;
    type Lane = OneLane<BLOCKS>;
    type Step = Step<R, BLOCKS>;
    const BLOCKS: usize = BLOCKS;

    #[inline(always)]
    fn zero() -> Self {
        Self([[R::constant(0); 8]; N])
    }
    #[inline(always)]
    fn zeros() -> Self::Step {
        [[R::constant(0); 4]; BLOCKS]
    }
    #[inline(always)]
    unsafe fn load(src: *const u8, row: usize) -> Self::Step {
        let mut step = Self::zeros();
        for (b, vectors) in step.iter_mut().enumerate() {
            for (lane, vector) in vectors.iter_mut().enumerate() {
                // SAFETY: the caller promises readable rows, of four blocks each.
                *vector = unsafe { R::load(src.add(b * row + 16 * lane)) };
            }
        }
        transpose(&mut step);
        step
    }
    #[inline(always)]
    unsafe fn store(mut step: Self::Step, dst: *mut u8, row: usize) {
        transpose(&mut step);
        for (b, vectors) in step.into_iter().enumerate() {
            for (lane, vector) in vectors.into_iter().enumerate() {
                // SAFETY: the caller promises writable rows, of four blocks each.
                unsafe { vector.store(dst.add(b * row + 16 * lane)) };
            }
        }
    }
    #[inline(never)]
    fn add(&mut self, other: &Self) {
        add_words(self.0.as_flattened_mut(), other.0.as_flattened());
    }

    #[inline(never)]
    fn update(&mut self, m: &Self::Step) {
        let mut around = [R::constant(0); 8];
        round(&self.0[N - 1], |p, out| around[p] = out);
        for g in (1..N).rev() {
            let before = self.0[g - 1];
            round(&before, |p, out| {
                self.0[g][p] = self.0[g][p] ^ out;
                in_order();
            });
        }
        for p in 0..8 {
            let m = if BLOCKS == 2 { m[p / 4 % BLOCKS][p % 4] } else { Self::input(m, p) };
            self.0[0][p] = self.0[0][p] ^ swap_nibbles(around[p]) ^ m;
        }
    }

    #[inline(always)]
    fn add_keystream(&self, m: &Self::Step) -> Self::Step {
        let mut sum = Self::zeros();
        let s = &self.0;
        if BLOCKS == 2 {
            // S1 ^ S6 ^ (S2 & S3) in the lower halves, S5 ^ S2 ^ (S6 & S7) in the upper halves.
            for (p, (sum, m)) in sum.as_flattened_mut().iter_mut().zip(m.as_flattened()).enumerate()
            {
                *sum = *m ^ s[1][p] ^ swap_nibbles(s[2][p]) ^ (s[2][p] & s[3 % N][p]);
            }
        } else {
            // S1 ^ S4 ^ S5 ^ (S2 & S3) in the lower halves.
            let z = |p: usize| s[1][p] ^ ((s[1][p] ^ s[2][p]) >> 4) ^ (s[2][p] & (s[0][p] >> 4));
            for n in 0..4 {
                let high = z(n + 4) << 4;
                sum[0][n] = m[0][n] ^ high ^ ((z(n) ^ high) & low_nibbles());
            }
        }
        sum
    }

    fn words_at(&self, at: usize) -> Self::Step {
        let (g, half) = Self::place(at);
        let mut step = Self::zeros();
        if BLOCKS == 2 {
            step.as_flattened_mut().copy_from_slice(&self.0[g]);
        } else {
            for (n, vector) in step[0].iter_mut().enumerate() {
                let nibbles = |p: usize| (self.0[g][p] >> half) & low_nibbles();
                *vector = nibbles(n) | (nibbles(n + 4) << 4);
            }
        }
        step
    }

    fn add_at(&mut self, step: &Self::Step, at: usize) {
        let (g, half) = Self::place(at);
        for p in 0..8 {
            let x = if BLOCKS == 2 {
                step[p / 4 % BLOCKS][p % 4]
            } else {
                Self::input(step, p) << half
            };
            self.0[g][p] = self.0[g][p] ^ x;
        }
    }

    fn summed(&self, all: bool) -> Self {
        let mut s = *self;
        if BLOCKS == 2 && !all {
            s.0[N - 1] = s.0[N - 1].map(|x| x & low_nibbles());
        }
        for g in 1..N {
            for p in 0..8 {
                s.0[0][p] = s.0[0][p] ^ s.0[g][p];
            }
        }
        s
    }

    #[inline(always)]
    fn first(words: [Self::Blocks; 8]) -> Self::Lane {
        OneLane::from_words(words.map(Blocks::first))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::soft::sliced::tests;

    pub(crate) fn round<R: Register, const N: usize, const BLOCKS: usize>() {
        tests::round::<Lanes<R, N, BLOCKS>>(Lanes::rounds, |s| {
            let mut out = s;
            for (group, out) in s.0.iter().zip(&mut out.0) {
                mix(&[*group], |p, [x]| out[p] = x);
            }
            out
        });
    }
}
