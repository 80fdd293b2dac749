//! State machines without AES instructions for one, two and four lanes, bitsliced in vectors of 128
//! bits.
//!
//! As in `bitsliced.rs`, a state consists of planes: plane `p` holds bit `p` of every byte. Here a
//! vector is a plane of some words of the state in all lanes. Each of its bytes stands for a byte
//! of the AES block, and the bits of that byte for words and lanes. Word `i` is in *octet* `i % N`,
//! in cell `i / N` of each byte. A cell has one bit per lane:
//!
//! | | octets | words of octet 0, from the lowest cell | bits in a cell |
//! |---|---|---|---|
//! | AEGIS-128, one lane | 1 | all | 1 |
//! | AEGIS-128, two lanes | 2 | S0, S2, S4, S6 | 2 |
//! | AEGIS-128, four lanes | 4 | S0, S4 | 4 |
//! | AEGIS-256, one lane | 1 | all; two cells are unused | 1 |
//! | AEGIS-256, two lanes | 2 | S0, S2, S4; one cell is unused | 2 |
//! | AEGIS-256, four lanes | 3 | S0, S3 | 4 |
//!
//! The next word of the state is in the next octet, so no bit moves within a byte, except from the
//! last octet to the first, where cells move up by one. Contents of unused cells do not matter and
//! never reach another cell. ShiftRows and MixColumns move bytes, which are ordered by rows.
//!
//! In AEGIS-128, S0 to S3 are in the lower half of each byte. S4 to S7 are at the same places in
//! the upper half.
//!
//! The index bits of a bit are named as in `bitsliced.rs`.

use super::bitsliced::{Linear, PlaneWord, Planes, exchange_index, in_order, mix, swap_nibbles};
use super::sbox::{Circuit, SBox};
use super::sliced::{Sliced, add_words};
use crate::block::Soft;
use crate::block::{Blocks, Pair};

/// Implements the operators and [`PlaneWord`] for a vector type of the whole crate's target.
#[allow(unused_macros)] // by CPUs without such a type
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
#[allow(unused_imports)]
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

/// The operations of a step: those of [`Sliced`] with the same names. They are written here for a
/// [`Register`]. Where the compiler cannot keep vectors in registers, they are assembly functions
/// (`arch/arm.rs`).
pub(crate) trait Operations: PlaneWord {
    /// # Safety
    /// Each row is readable: 16 bytes per lane.
    unsafe fn load_step<const L: usize, const BLOCKS: usize>(
        src: *const u8,
        row: usize,
    ) -> Step<Self, L, BLOCKS>;
    /// # Safety
    /// Each row is writable: 16 bytes per lane.
    unsafe fn store_step<const L: usize, const BLOCKS: usize>(
        step: Step<Self, L, BLOCKS>,
        dst: *mut u8,
        row: usize,
    );
    fn update<const L: usize, const N: usize, const BLOCKS: usize>(
        octets: &mut Planes<Self, N>,
        m: &Step<Self, L, BLOCKS>,
    );
    fn add_keystream<const L: usize, const N: usize, const BLOCKS: usize>(
        octets: &Planes<Self, N>,
        m: &Step<Self, L, BLOCKS>,
    ) -> Step<Self, L, BLOCKS>;
    /// AESRound of an octet, without the round key.
    #[cfg(test)]
    #[allow(dead_code)]
    fn rounds(octet: &[Self; 8]) -> [Self; 8];
    /// Its linear part.
    #[cfg(test)]
    #[allow(dead_code)]
    fn linear(octet: &[Self; 8]) -> [Self; 8];
}

/// The vectors of one row of a step, one for each lane.
pub(crate) trait Row {
    /// As many blocks as there are lanes.
    type Blocks: Blocks<Lane = Soft>;
}
impl<R: PlaneWord> Row for [R; 1] {
    type Blocks = Soft;
}
impl<R: PlaneWord> Row for [R; 2] {
    type Blocks = Pair<Soft>;
}
impl<R: PlaneWord> Row for [R; 4] {
    type Blocks = Pair<Pair<Soft>>;
}

/// The states of `L` lanes in `N` octets. AEGIS-128 has two input `BLOCKS` per step, AEGIS-256 one.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct BytePlanes<R, const L: usize, const N: usize, const BLOCKS: usize>(Planes<R, N>);

/// The machine for one lane.
pub(crate) type OneLane<R, const BLOCKS: usize> = BytePlanes<R, 1, 1, BLOCKS>;
/// The machine for four lanes of AEGIS-128.
pub(crate) type FourLanes128<R> = BytePlanes<R, 4, 4, 2>;
/// The machine for four lanes of AEGIS-256.
pub(crate) type FourLanes256<R> = BytePlanes<R, 4, 3, 1>;

/// The input or output of a step. It fills all bits of its vectors. Index bits of a plane, lane and
/// half (the first or second block of AEGIS-128's message):
///
/// | | row | vector `n` | within the byte |
/// |---|---|---|---|
/// | AEGIS-128, one lane | `p2` | | `half p1 p0` |
/// | AEGIS-128, two lanes | `p2` | `p0` | `half p1 l0` |
/// | AEGIS-128, four lanes | `p2` | `p1 p0` | `half l1 l0` |
/// | AEGIS-256, one lane | | | `p2 p1 p0` |
/// | AEGIS-256, two lanes | | `p0` | `p2 p1 l0` |
/// | AEGIS-256, four lanes | | `p1 p0` | `p2 l1 l0` |
pub(crate) type Step<R, const L: usize, const BLOCKS: usize> = [[R; L]; BLOCKS];

/// The lower `count` bits of every byte.
#[inline(always)]
fn low_bits<R: PlaneWord>(count: usize) -> R {
    R::constant(0x0101_0101_0101_0101 * ((1 << count) - 1))
}

/// Transposes a step from or to the bit order of blocks in memory: `row = half`, `n` the lane and
/// `p2 p1 p0` within the byte. It is its own inverse.
#[inline(always)]
fn transpose<R: PlaneWord, const L: usize, const BLOCKS: usize>(step: &mut Step<R, L, BLOCKS>) {
    if let [first, second] = step.as_mut_slice() {
        for (a, b) in first.iter_mut().zip(second) {
            exchange_index::<R, 2>(a, b);
        }
    }
    for row in step {
        match row.as_mut_slice() {
            [w0, w1, w2, w3] => {
                exchange_index::<R, 1>(w0, w2);
                exchange_index::<R, 1>(w1, w3);
                exchange_index::<R, 0>(w0, w1);
                exchange_index::<R, 0>(w2, w3);
            }
            [w0, w1] => exchange_index::<R, 0>(w0, w1),
            _ => {}
        }
    }
}

/// AESRound of an octet, without the round key. Calls `take` with the number of each plane and its
/// vector.
#[inline(always)]
fn round<R: Register>(octet: &[R; 8], mut take: impl FnMut(usize, R)) {
    let bytes = SBox::sub_bytes(*octet);
    mix(&[bytes], |p, [out]| take(p, out));
}

impl<R: Register> Operations for R {
    #[inline(always)]
    unsafe fn load_step<const L: usize, const BLOCKS: usize>(
        src: *const u8,
        row: usize,
    ) -> Step<R, L, BLOCKS> {
        let mut step = [[R::constant(0); L]; BLOCKS];
        for (b, vectors) in step.iter_mut().enumerate() {
            for (lane, vector) in vectors.iter_mut().enumerate() {
                // SAFETY: the caller promises readable rows, of `L` blocks each.
                *vector = unsafe { R::load(src.add(b * row + 16 * lane)) };
            }
        }
        transpose(&mut step);
        step
    }
    #[inline(always)]
    unsafe fn store_step<const L: usize, const BLOCKS: usize>(
        mut step: Step<R, L, BLOCKS>,
        dst: *mut u8,
        row: usize,
    ) {
        transpose(&mut step);
        for (b, vectors) in step.into_iter().enumerate() {
            for (lane, vector) in vectors.into_iter().enumerate() {
                // SAFETY: the caller promises writable rows, of `L` blocks each.
                unsafe { vector.store(dst.add(b * row + 16 * lane)) };
            }
        }
    }

    #[inline(always)]
    fn update<const L: usize, const N: usize, const BLOCKS: usize>(
        octets: &mut Planes<R, N>,
        m: &Step<R, L, BLOCKS>,
    ) {
        let mut around = [R::constant(0); 8];
        round(&octets[N - 1], |p, out| around[p] = out);
        for g in (1..N).rev() {
            let before = octets[g - 1];
            round(&before, |p, out| {
                octets[g][p] = octets[g][p] ^ out;
                in_order();
            });
        }
        for (p, plane) in octets[0].iter_mut().enumerate() {
            let input = BytePlanes::<R, L, N, BLOCKS>::input(m, p);
            *plane = *plane ^ BytePlanes::<R, L, N, BLOCKS>::next(around[p], input);
        }
    }

    #[inline(always)]
    fn add_keystream<const L: usize, const N: usize, const BLOCKS: usize>(
        octets: &Planes<R, N>,
        m: &Step<R, L, BLOCKS>,
    ) -> Step<R, L, BLOCKS> {
        let mut turned = *octets;
        turned.iter_mut().for_each(BytePlanes::<R, L, N, BLOCKS>::turn);
        let mut sum = *m;
        for (row, vectors) in sum.iter_mut().enumerate() {
            for (n, sum) in vectors.iter_mut().enumerate() {
                let s = |at: usize| BytePlanes::<R, L, N, BLOCKS>::of_word(&turned, at, row, n);
                // In both halves with two blocks: S5 ^ S2 ^ (S6 & S7) in the upper ones.
                let others = if BLOCKS == 2 { swap_nibbles(s(2)) } else { s(4) ^ s(5) };
                *sum = *sum ^ s(1) ^ others ^ (s(2) & s(3));
            }
        }
        sum
    }

    #[cfg(test)]
    fn rounds(octet: &[R; 8]) -> [R; 8] {
        let mut rounds = *octet;
        round(octet, |p, out| rounds[p] = out);
        rounds
    }
    #[cfg(test)]
    #[allow(dead_code)]
    fn linear(octet: &[R; 8]) -> [R; 8] {
        let mut mixed = *octet;
        mix(&[*octet], |p, [out]| mixed[p] = out);
        mixed
    }
}

impl<R: PlaneWord, const L: usize, const N: usize, const BLOCKS: usize>
    BytePlanes<R, L, N, BLOCKS>
{
    /// Cells in use.
    pub(crate) const CELLS: usize = if BLOCKS == 2 { 8 } else { 6 } / N;
    /// Planes in a row of a step.
    const PLANES: usize = 8 / BLOCKS;

    /// The lowest cell of each byte and, with two blocks, of the upper half.
    #[inline(always)]
    fn input_cells() -> R {
        let low = low_bits::<R>(L);
        if BLOCKS == 2 { low | (low << 4) } else { low }
    }

    /// Returns a vector whose input cells are added to plane `p` of octet 0 in a step.
    #[inline(always)]
    fn input(m: &Step<R, L, BLOCKS>, p: usize) -> R {
        let (row, p) = (p / Self::PLANES % BLOCKS, p % Self::PLANES);
        m[row][p % L] >> (L * (p / L)) as u32
    }

    /// Moves each cell of a byte to the place of the next, the last one in use to the first, and
    /// adds the input cells of another vector.
    #[inline(always)]
    fn next(x: R, input: R) -> R {
        let (last, low) = (x >> (L * (Self::CELLS - 1)) as u32, low_bits::<R>(L));
        let added = if BLOCKS == 2 {
            (last & low) ^ (input & Self::input_cells())
        } else {
            (last ^ input) & low // the same with one mask
        };
        ((x << L as u32) & !low) ^ added
    }

    /// Turns the planes of an octet into the words in it, each in the form of a step, or back.
    #[inline(always)]
    fn turn(planes: &mut [R; 8]) {
        #[inline(always)]
        fn exchange_planes<R: PlaneWord, const BIT: u32>(planes: &mut [R; 8]) {
            for i in 0..4 {
                // The `i`-th plane whose number does not have the bit.
                let (p, bit) = (i + (i >> BIT << BIT), 1 << BIT);
                let (mut a, mut b) = (planes[p], planes[p + bit]);
                exchange_index::<R, BIT>(&mut a, &mut b);
                (planes[p], planes[p + bit]) = (a, b);
            }
        }
        if L == 1 {
            exchange_planes::<R, 0>(planes);
        }
        if L <= 2 {
            exchange_planes::<R, 1>(planes);
        }
        if BLOCKS == 1 {
            exchange_planes::<R, 2>(planes);
        }
    }

    /// Returns vector `n` of row `row` of word `at`, from octets that were turned.
    #[inline(always)]
    fn of_word(turned: &Planes<R, N>, at: usize, row: usize, n: usize) -> R {
        turned[at % N][(Self::PLANES * row + L * (at / N) + n) % 8]
    }
}

// SAFETY: no CPU features are needed beyond those that the crate is compiled for, except that only
// kernels for NEON use the vectors of `arch/arm.rs`. No branch or index depends on the bits. The
// type is transparent over its vectors, which have at most 128 bytes per lane.
unsafe impl<R: Operations, const L: usize, const N: usize, const BLOCKS: usize> Sliced
    for BytePlanes<R, L, N, BLOCKS>
where
    [R; L]: Row,
{
    type Blocks = <[R; L] as Row>::Blocks;
    type Lane = OneLane<R, BLOCKS>;
    type Step = Step<R, L, BLOCKS>;
    const BLOCKS: usize = BLOCKS;

    #[inline(always)]
    fn zero() -> Self {
        Self([[R::constant(0); 8]; N])
    }
    #[inline(always)]
    fn zeros() -> Self::Step {
        [[R::constant(0); L]; BLOCKS]
    }
    #[inline(always)]
    unsafe fn load(src: *const u8, row: usize) -> Self::Step {
        // SAFETY: the caller promises readable rows.
        unsafe { R::load_step(src, row) }
    }
    #[inline(always)]
    unsafe fn store(step: Self::Step, dst: *mut u8, row: usize) {
        // SAFETY: the caller promises writable rows.
        unsafe { R::store_step(step, dst, row) }
    }
    #[inline(never)]
    fn add(&mut self, other: &Self) {
        add_words(self.0.as_flattened_mut(), other.0.as_flattened());
    }

    #[inline(never)]
    fn update(&mut self, m: &Self::Step) {
        R::update(&mut self.0, m);
    }
    #[inline(always)]
    fn add_keystream(&self, m: &Self::Step) -> Self::Step {
        R::add_keystream(&self.0, m)
    }

    fn words_at(&self, at: usize) -> Self::Step {
        let mut turned = *self;
        Self::turn(&mut turned.0[at % N]);
        core::array::from_fn(|row| core::array::from_fn(|n| Self::of_word(&turned.0, at, row, n)))
    }

    fn add_at(&mut self, step: &Self::Step, at: usize) {
        for (p, plane) in self.0[at % N].iter_mut().enumerate() {
            let x = Self::input(step, p) & Self::input_cells();
            *plane = *plane ^ (x << (L * (at / N)) as u32);
        }
    }

    fn summed(&self, all: bool) -> Self {
        let mut s = *self;
        if BLOCKS == 2 && !all {
            s.0[N - 1] = s.0[N - 1].map(|x| x & low_bits(8 - L));
        }
        let mut following = s;
        for _ in 1..if BLOCKS == 2 { 4 } else { 3 } {
            // Each word takes the place of the one before.
            following.0.rotate_left(1);
            following.0[N - 1] = following.0[N - 1].map(|x| x >> L as u32);
            Sliced::add(&mut s, &following);
        }
        s
    }
}

#[cfg(test)]
#[allow(dead_code)] // not every CPU has such vectors
pub(crate) mod tests {
    use super::*;
    use crate::soft::sliced::tests as sliced;

    impl<R, const L: usize, const N: usize, const BLOCKS: usize> BytePlanes<R, L, N, BLOCKS> {
        /// Returns the octets of the state.
        #[cfg(all(palladion_proof, feature = "std", not(palladion_test_reduced)))]
        pub(crate) fn planes(&mut self) -> &mut Planes<R, N> {
            &mut self.0
        }
    }

    fn round<R: Operations, const L: usize, const N: usize, const BLOCKS: usize>()
    where
        [R; L]: Row,
    {
        sliced::round::<BytePlanes<R, L, N, BLOCKS>>(
            |s| BytePlanes(s.0.map(|octet| R::rounds(&octet))),
            |s| BytePlanes(s.0.map(|octet| R::linear(&octet))),
        );
    }

    pub(crate) fn rounds<R: Operations>() {
        round::<R, 1, 1, 2>();
        round::<R, 1, 1, 1>();
        round::<R, 2, 2, 2>();
        round::<R, 2, 2, 1>();
        round::<R, 4, 4, 2>();
        round::<R, 4, 3, 1>();
    }

    pub(crate) fn steps<R: Operations>() {
        sliced::steps::<OneLane<R, 2>>();
        sliced::steps::<OneLane<R, 1>>();
        sliced::steps::<BytePlanes<R, 2, 2, 2>>();
        sliced::steps::<BytePlanes<R, 2, 2, 1>>();
        sliced::steps::<FourLanes128<R>>();
        sliced::steps::<FourLanes256<R>>();
    }
}
