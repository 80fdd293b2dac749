//! State machines without AES instructions: bitsliced in general registers, from initialisation to
//! the tag.
//!
//! # The layout of a state
//!
//! A state consists of *planes*: plane `p` holds bit `p` of every byte. The rows of the AES block
//! are distributed over the words of a plane. Within a word, bits are grouped by block: block `i`
//! of the state has *cell* `i`, an eighth of the word. A cell is one nibble or two, and a nibble
//! holds the four columns of a row:
//!
//! | | word | words of a plane | cell |
//! |---|---|---|---|
//! | one lane on 32 bits | `u32` | rows 0, 1, 2, 3 | the columns |
//! | two lanes on 64 bits | `u64` | rows 0, 1, 2, 3 | the columns in lane 0, in lane 1 |
//! | one lane on 64 bits | `u64` | rows 0 and 2, rows 1 and 3 | the columns of each of the rows |
//!
//! Moving each block to the next is a rotation of the word, which most instruction sets do for
//! little or nothing. ShiftRows moves bits within nibbles. MixColumns adds words, and exchanges
//! nibbles if a word has two rows. The S-box is the same Boolean operations on every word.
//! AEGIS-256 leaves two cells unused; their contents do not matter and never reach another cell.
//!
//! # Messages
//!
//! The message of a step goes only into cell 0 of the state (AEGIS-128: cells 0 and 4), an eighth
//! or a quarter of each word. Splitting it into single planes would be wasted work. A [`Step`] is
//! half-way: its words hold the planes of all bytes in cells side by side, to be shifted to where
//! they are added. The key stream is computed on the words of the state and collected in the same
//! form. So a message is transposed once on its way in and once on its way out, and decryption
//! costs as much as encryption.
//!
//! The comments below give the position of a bit by its index bits: `p2 p1 p0` for the plane, `r1
//! r0` for the row, `c1 c0` for the column, `half` for the first or second block of AEGIS-128's
//! message, `lane`.

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::{Shl, Shr};
use core::sync::atomic::{Ordering, compiler_fence};

use super::sbox::{Bits, Circuit, SBox};
use super::sliced::{Sliced, add_words};
use crate::block::Soft;
use crate::block::{Blocks, Pair};
use crate::machine::Machine;

/// The elements of planes: words, or vectors that are shifted in parts of a multiple of a byte.
pub(crate) trait PlaneWord:
    Bits + Shl<u32, Output = Self> + Shr<u32, Output = Self>
{
    /// Returns the lower bits of a constant, or copies of it.
    fn constant(bits: u64) -> Self;
}

/// A word of eight cells.
pub(crate) trait Cells: PlaneWord {
    /// log2 of the bits in a cell.
    const LOG_CELL: u32;
    /// Bits in a cell.
    const CELL: u32 = 1 << Self::LOG_CELL;
    /// Rotates to the left.
    fn rotate(self, by: u32) -> Self;
    /// Returns the same value. On ARM the optimiser cannot see where it comes from: otherwise it
    /// drops the bits of a mask that are not needed, and the constant takes two instructions.
    fn pin(self) -> Self;
    /// Reads `N` words, little-endian.
    ///
    /// # Safety
    /// `N` words are readable; no alignment is needed.
    unsafe fn load<const N: usize>(src: *const u8) -> [Self; N];
    /// Writes `N` words, little-endian.
    ///
    /// # Safety
    /// `N` words are writable; no alignment is needed.
    unsafe fn store<const N: usize>(words: [Self; N], dst: *mut u8);
}

/// Whether the CPU can access words at any address. Elsewhere aligned addresses are treated
/// separately, because the compiler accesses unaligned words byte by byte.
const UNALIGNED: bool = cfg!(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_family = "wasm",
    target_arch = "powerpc64",
    target_arch = "s390x"
));

/// Returns the same value and hides its origin from the optimiser, which would otherwise merge the
/// aligned and the unaligned access into the slower one.
#[inline(always)]
fn hidden<T: Copy>(x: &mut T) -> T {
    compiler_fence(Ordering::SeqCst);
    *x
}

#[cfg(all(target_arch = "arm", not(miri)))]
macro_rules! pin {
    ($x:expr, u32) => {{
        let mut x: u32 = $x;
        // SAFETY: it contains no instruction.
        unsafe {
            core::arch::asm!(
                "/* {} */",
                inout(reg) x,
                options(pure, nomem, nostack, preserves_flags)
            )
        };
        x
    }};
    ($x:expr, u64) => {
        $x // two registers: not worth it
    };
}
#[cfg(not(all(target_arch = "arm", not(miri))))]
macro_rules! pin {
    ($x:expr, $word:ident) => {
        $x
    };
}

macro_rules! word {
    ($word:ident, $log_cell:literal) => {
        impl PlaneWord for $word {
            #[inline(always)]
            fn constant(bits: u64) -> Self {
                bits as $word
            }
        }

        impl Cells for $word {
            const LOG_CELL: u32 = $log_cell;
            #[inline(always)]
            fn rotate(self, by: u32) -> Self {
                self.rotate_left(by)
            }
            #[inline(always)]
            fn pin(self) -> Self {
                pin!(self, $word)
            }
            #[inline(always)]
            unsafe fn load<const N: usize>(src: *const u8) -> [Self; N] {
                let src: *const [$word; N] = src.cast();
                let mut copy = MaybeUninit::<[$word; N]>::uninit();
                // SAFETY: the caller promises `N` readable words; the alignment was checked.
                let words = unsafe {
                    if UNALIGNED {
                        src.read_unaligned()
                    } else if src.is_aligned() {
                        src.read()
                    } else {
                        src.cast::<u8>()
                            .copy_to_nonoverlapping(copy.as_mut_ptr().cast(), size_of_val(&copy));
                        hidden(&mut copy).assume_init()
                    }
                };
                words.map(Self::from_le)
            }
            #[inline(always)]
            unsafe fn store<const N: usize>(words: [Self; N], dst: *mut u8) {
                let words = words.map(Self::to_le);
                let dst: *mut [$word; N] = dst.cast();
                // SAFETY: the caller promises `N` writable words; the alignment was checked.
                unsafe {
                    if UNALIGNED {
                        dst.write_unaligned(words);
                    } else if dst.is_aligned() {
                        dst.write(words);
                    } else {
                        let words = hidden(&mut MaybeUninit::new(words)).assume_init();
                        dst.write_unaligned(words);
                    }
                }
            }
        }
    };
}
word!(u32, 2);
word!(u64, 3);

/// The bits whose number has zeros where `zeros` has ones, and ones where `ones` has ones.
const fn select(zeros: u32, ones: u32) -> u64 {
    let mut bits = 0;
    let mut i = 0;
    while i < 64 {
        if i & zeros == 0 && i & ones == ones {
            bits |= 1 << i;
        }
        i += 1;
    }
    bits
}

/// The cells whose number has zeros where `ZEROS` has ones.
#[inline(always)]
fn cells<W: Cells, const ZEROS: u32>() -> W {
    W::constant(const { select(ZEROS << W::LOG_CELL, 0) })
}

/// The bits of columns `FROM` to `TO - 1` in every nibble.
#[inline(always)]
fn columns<W: PlaneWord, const FROM: u32, const TO: u32>() -> W {
    W::constant(
        const {
            let mut bits = 0;
            let mut column = FROM;
            while column < TO {
                bits |= 1 << column;
                column += 1;
            }
            bits * 0x1111_1111_1111_1111
        },
    )
}

/// Exchanges the bits of `b` under the mask with the bits of `a` that are `distance` higher.
#[inline(always)]
fn exchange<W: PlaneWord>(a: &mut W, b: &mut W, distance: u32, mask: W) {
    let difference = ((*a >> distance) ^ *b) & mask;
    *b = *b ^ difference;
    *a = *a ^ (difference << distance);
}

/// Exchanges the bits under the mask with those that are `distance` higher.
#[inline(always)]
fn exchange_within<W: PlaneWord>(word: W, distance: u32, mask: W) -> W {
    let difference = ((word >> distance) ^ word) & mask;
    word ^ difference ^ (difference << distance)
}

/// Exchanges the index bit that distinguishes `a` from `b` with the index bit `BIT` of a word.
#[inline(always)]
pub(crate) fn exchange_index<W: PlaneWord, const BIT: u32>(a: &mut W, b: &mut W) {
    exchange(a, b, 1 << BIT, W::constant(const { select(1 << BIT, 0) }));
}

/// Exchanges the index bits `HIGH` and `LOW` of a word.
#[inline(always)]
fn exchange_index_within<W: PlaneWord, const HIGH: u32, const LOW: u32>(word: &mut W) {
    let mask = W::constant(const { select(1 << HIGH, 1 << LOW) });
    *word = exchange_within(*word, (1 << HIGH) - (1 << LOW), mask);
}

/// Exchanges the halves of each byte.
#[inline(always)]
pub(crate) fn swap_nibbles<W: PlaneWord>(x: W) -> W {
    ((x >> 4) & W::constant(0x0f0f_0f0f_0f0f_0f0f))
        | ((x << 4) & W::constant(0xf0f0_f0f0_f0f0_f0f0))
}

/// The message, ciphertext or key stream of a step: `BLOCKS` rows of `N` words. Cell `k` of word
/// `n` holds the bits that belong to the word of the state given by [`Layout::source`]. With two
/// blocks, row `b` holds the cells with `k / 4 = b`: those of the first block in its lower half,
/// those of the second in its upper half.
pub(crate) type Step<W, const N: usize, const BLOCKS: usize> = [[W; N]; BLOCKS];

/// The words of a state: `N` octets: eight planes each.
pub(crate) type Planes<W, const N: usize> = [[W; 8]; N];

/// Words, `N` of which form a plane, with the linear operations of a round.
pub(crate) trait Linear<const N: usize>: PlaneWord {
    /// Computes ShiftRows and the sums of MixColumns. With `a` the rows after ShiftRows, they are,
    /// for row `r`, `a[r] ^ a[r + 1]`, to be multiplied by two, and `a[r + 1] ^ a[r + 2] ^ a[r +
    /// 3]`.
    fn shift_and_sum(plane: [Self; N]) -> ([Self; N], [Self; N]);
}

/// A layout with `N` words for each plane.
pub(crate) trait Layout<const N: usize>: Cells + Linear<N> {
    /// A vector with as many blocks as there are lanes.
    type Blocks: Blocks;
    /// The machine for one lane.
    type Lane<const BLOCKS: usize>: Machine<V = <Self::Blocks as Blocks>::Lane>;

    /// Returns the word and cell of a step that hold the bits of this word of the state.
    fn home(octet: usize, plane: usize) -> (usize, usize);
    /// Returns the word of the state whose bits are in cell `k` of word `n` of a step: the inverse
    /// of `home`.
    fn source(n: usize, k: usize) -> (usize, usize);
    /// Transposes the words of a message, whose index bits are those of the bytes in memory, to
    /// those of a step. It is its own inverse.
    fn transpose<const BLOCKS: usize>(step: &mut Step<Self, N, BLOCKS>);
}

/// Whether an instruction can rotate its operand for free.
const ROTATION_IS_FREE: bool = cfg!(target_arch = "arm");

/// Moves every column `BY` places down: first those that wrap into the next nibble, then the whole
/// word.
#[inline(always)]
pub(crate) fn shift_columns_by_rotation<W: Cells, const BY: u32>(x: W) -> W {
    let low = columns::<W, 0, BY>();
    ((x & !low) | (x & low).pin().rotate(4)).rotate(8 * W::CELL - BY)
}

/// Moves every column `BY` places down, in the fastest way for the CPU.
#[inline(always)]
pub(crate) fn shift_columns<W: Cells, const BY: u32>(x: W) -> W {
    if ROTATION_IS_FREE {
        return shift_columns_by_rotation::<W, BY>(x);
    }
    let high = columns::<W, 0, BY>() << (4 - BY);
    ((x >> BY) & !high) | ((x << (4 - BY)) & high)
}

/// `Linear::shift_and_sum` where every row has its own word.
#[inline(always)]
pub(crate) fn shift_and_sum_rows<W: Cells>([x0, x1, x2, x3]: [W; 4]) -> ([W; 4], [W; 4]) {
    let (a1, a2, a3) =
        (shift_columns::<W, 1>(x1), shift_columns::<W, 2>(x2), shift_columns::<W, 3>(x3));
    let [d0, d1, d2, d3] = [x0 ^ a1, a1 ^ a2, a2 ^ a3, a3 ^ x0];
    ([d0, d1, d2, d3], [a1 ^ d2, a2 ^ d3, a3 ^ d0, x0 ^ d1])
}

/// `Layout::transpose` of one lane in words of 32 bits: from `n = c1 c0` and, within the word, `(r1
/// or half) r0 p2 p1 p0`. Generic over words, because the proof runs it on symbolic ones.
#[inline(always)]
pub(crate) fn transpose_one_lane<W: Cells, const BLOCKS: usize>(step: &mut Step<W, 4, BLOCKS>) {
    for [w0, w1, w2, w3] in step {
        exchange_index::<W, 1>(w0, w2);
        exchange_index::<W, 1>(w1, w3);
        exchange_index::<W, 0>(w0, w1);
        exchange_index::<W, 0>(w2, w3);
    }
}

/// One lane in words of 32 bits. Index bits of a step: `n = p1 p0, k = r1 r0 p2`.
impl Layout<4> for u32 {
    type Blocks = Soft;
    type Lane<const BLOCKS: usize> = Bitsliced<u32, 4, BLOCKS>;

    #[inline(always)]
    fn home(octet: usize, plane: usize) -> (usize, usize) {
        (plane & 3, 2 * octet + (plane >> 2))
    }
    #[inline(always)]
    fn source(n: usize, k: usize) -> (usize, usize) {
        (k >> 1, n + 4 * (k & 1))
    }
    #[inline(always)]
    fn transpose<const BLOCKS: usize>(step: &mut Step<u32, 4, BLOCKS>) {
        transpose_one_lane(step);
    }
}

impl Linear<4> for u32 {
    #[inline(always)]
    fn shift_and_sum(plane: [u32; 4]) -> ([u32; 4], [u32; 4]) {
        shift_and_sum_rows(plane)
    }
}

/// `Layout::transpose` of two lanes: from `n = lane c1` and, within the word, `(c0 or half) r1 r0
/// p2 p1 p0`.
#[inline(always)]
pub(crate) fn transpose_two_lanes<W: Cells, const BLOCKS: usize>(step: &mut Step<W, 4, BLOCKS>) {
    for [w0, w1, w2, w3] in step.iter_mut() {
        exchange_index::<W, 2>(w0, w2);
        exchange_index::<W, 2>(w1, w3);
        exchange_index::<W, 1>(w0, w1);
        exchange_index::<W, 1>(w2, w3);
    }
    exchange_top_column(step);
}

/// Two lanes in words of 64 bits. Index bits of a step: `n = p2 p1, k = p0 r1 r0`.
impl Layout<4> for u64 {
    type Blocks = Pair<Soft>;
    type Lane<const BLOCKS: usize> = Bitsliced<u64, 2, BLOCKS>;

    #[inline(always)]
    fn home(octet: usize, plane: usize) -> (usize, usize) {
        (plane >> 1, 4 * (plane & 1) + octet)
    }
    #[inline(always)]
    fn source(n: usize, k: usize) -> (usize, usize) {
        (k & 3, 2 * n + (k >> 2))
    }
    #[inline(always)]
    fn transpose<const BLOCKS: usize>(step: &mut Step<u64, 4, BLOCKS>) {
        transpose_two_lanes(step);
    }
}

impl Linear<4> for u64 {
    #[inline(always)]
    fn shift_and_sum(plane: [u64; 4]) -> ([u64; 4], [u64; 4]) {
        shift_and_sum_rows(plane)
    }
}

/// Moves index bit `c0` to position 0, from the number of the block or, with one block, from
/// position 5.
#[inline(always)]
fn exchange_top_column<W: Cells, const N: usize, const BLOCKS: usize>(
    step: &mut Step<W, N, BLOCKS>,
) {
    match step.as_mut_slice() {
        [first, second] => {
            for (a, b) in first.iter_mut().zip(second) {
                exchange_index::<W, 0>(a, b);
            }
        }
        step => step.as_flattened_mut().iter_mut().for_each(exchange_index_within::<W, 5, 0>),
    }
}

/// `Layout::transpose` of two rows per word: from `n = c1` and, within the word, `(c0 or half) r1
/// r0 p2 p1 p0`.
#[inline(always)]
pub(crate) fn transpose_two_rows<W: Cells, const BLOCKS: usize>(step: &mut Step<W, 2, BLOCKS>) {
    for [w0, w1] in step.iter_mut() {
        exchange_index::<W, 1>(w0, w1);
    }
    exchange_top_column(step);
    step.as_flattened_mut().iter_mut().for_each(exchange_index_within::<W, 4, 2>);
}

/// One lane in words of 64 bits, two rows in each. Index bits of a step: `n = p1, k = p0 p2 r0`.
impl Layout<2> for u64 {
    type Blocks = Soft;
    type Lane<const BLOCKS: usize> = Bitsliced<u64, 2, BLOCKS>;

    #[inline(always)]
    fn home(octet: usize, plane: usize) -> (usize, usize) {
        ((plane >> 1) & 1, 4 * (plane & 1) + 2 * (plane >> 2) + octet)
    }
    #[inline(always)]
    fn source(n: usize, k: usize) -> (usize, usize) {
        (k & 1, 4 * ((k >> 1) & 1) + 2 * n + (k >> 2))
    }
    #[inline(always)]
    fn transpose<const BLOCKS: usize>(step: &mut Step<u64, 2, BLOCKS>) {
        transpose_two_rows(step);
    }
}

impl Linear<2> for u64 {
    #[inline(always)]
    fn shift_and_sum(plane: [u64; 2]) -> ([u64; 2], [u64; 2]) {
        shift_and_sum_two_rows(plane)
    }
}

/// `Linear::shift_and_sum` where two rows share a word.
#[inline(always)]
pub(crate) fn shift_and_sum_two_rows<W: Cells>([x, y]: [W; 2]) -> ([W; 2], [W; 2]) {
    /// Moves the second row of a cell two columns down.
    #[inline(always)]
    fn shift_second<W: Cells>(x: W) -> W {
        exchange_within(x, 2, W::constant(0x3030_3030_3030_3030))
    }
    let a = shift_second(x);
    let b = shift_second(shift_columns::<W, 1>(y));
    let d0 = a ^ b;
    // With the rows of each cell exchanged.
    let d1 = b ^ swap_nibbles(a);
    let e = swap_nibbles(d0);
    ([d0, d1], [b ^ e, a ^ e])
}

/// The states of one or two lanes. `BLOCKS` is the number of input blocks per step: 2 for
/// AEGIS-128, 1 for AEGIS-256. `C` is the circuit of the S-box; `benches/sbox.rs` compares several.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Bitsliced<W, const N: usize, const BLOCKS: usize, C = SBox>(
    Planes<W, N>,
    PhantomData<C>,
);

/// Repeats a block for each of eight planes, with the plane's number as a constant.
macro_rules! for_each_plane {
    ($p:ident: $body:block) => {
        for_each_plane!($p: $body; 0 1 2 3 4 5 6 7)
    };
    ($p:ident: $body:block; $($number:literal)*) => {
        $({
            #[allow(non_upper_case_globals)]
            const $p: usize = $number;
            $body
        })*
    };
}

/// Stops the compiler from moving loads and stores across. It would start many planes at once and
/// run out of registers.
#[inline(always)]
pub(crate) fn in_order() {
    compiler_fence(Ordering::SeqCst);
}

/// SubBytes on the planes of an octet. A separate function where registers are few, so that nothing
/// else competes for them.
#[cfg_attr(target_arch = "arm", inline(never))]
#[cfg_attr(not(target_arch = "arm"), inline(always))]
fn sub_bytes_of_octet<W: PlaneWord, C: Circuit>(planes: &[W; 8], out: &mut MaybeUninit<[W; 8]>) {
    out.write(C::sub_bytes(*planes));
}

/// SubBytes. Where registers are many, one call saves and restores them once for all octets.
#[cfg_attr(target_arch = "arm", inline(always))]
#[cfg_attr(not(target_arch = "arm"), inline(never))]
fn sub_bytes<'a, W: PlaneWord, C: Circuit, const N: usize>(
    state: &Planes<W, N>,
    out: &'a mut MaybeUninit<Planes<W, N>>,
) -> &'a Planes<W, N> {
    for (g, planes) in state.iter().enumerate() {
        // SAFETY: `out` has room for `N` octets and `g` is below `N`; nothing is read.
        sub_bytes_of_octet::<W, C>(planes, unsafe {
            &mut *out.as_mut_ptr().cast::<MaybeUninit<[W; 8]>>().add(g)
        });
        in_order();
    }
    // SAFETY: all `N` octets were written.
    unsafe { out.assume_init_ref() }
}

/// Returns the words of one plane. Its number is a constant, so that the optimiser knows it is
/// below eight, whether or not it inlines the function.
#[inline(always)]
fn plane<W: PlaneWord, const N: usize, const P: usize>(planes: &Planes<W, N>) -> [W; N] {
    let mut words = [W::constant(0); N];
    for (word, planes) in words.iter_mut().zip(planes) {
        *word = planes[P];
    }
    words
}

/// ShiftRows and MixColumns. Calls `take` with the number of each plane and its words.
#[inline(always)]
pub(crate) fn mix<W: Linear<N>, const N: usize>(
    t: &Planes<W, N>,
    mut take: impl FnMut(usize, [W; N]),
) {
    // WebAssembly keeps the results for plane 7. Elsewhere there are no registers for them.
    let (carry, sums) = W::shift_and_sum(plane::<W, N, 7>(t));
    let mut lower = carry;
    for_each_plane!(P: {
        let (doubled, mut out) = if P == 7 && cfg!(target_family = "wasm") {
            (carry, sums)
        } else {
            W::shift_and_sum(plane::<W, N, P>(t))
        };
        for g in 0..N {
            out[g] = out[g] ^ lower[g];
            if P == 1 || P == 3 || P == 4 {
                out[g] = out[g] ^ carry[g]; // x^8 = x^4 + x^3 + x + 1
            }
        }
        lower = doubled;
        take(P, out);
        in_order();
    });
    let _ = lower;
}

impl<W: Layout<N>, const N: usize, const BLOCKS: usize, C: Circuit> Bitsliced<W, N, BLOCKS, C> {
    /// Applies AESRound to eight blocks, without round keys.
    #[cfg(test)]
    pub(crate) fn rounds(mut self) -> Self {
        let mut t = MaybeUninit::uninit();
        mix(sub_bytes::<W, C, N>(&self.0, &mut t), |p, out| {
            for (planes, out) in self.0.iter_mut().zip(out) {
                planes[p] = out;
            }
        });
        self
    }

    /// Computes Update, where `input` returns what is added to a word of the state.
    #[inline(always)]
    fn update_with(&mut self, input: impl Fn(usize, usize) -> W) {
        let mut t = MaybeUninit::uninit();
        mix(sub_bytes::<W, C, N>(&self.0, &mut t), |p, out| {
            for (g, (planes, out)) in self.0.iter_mut().zip(out).enumerate() {
                let plane = &mut planes[p % 8]; // `%` changes nothing; see `source`
                *plane = *plane ^ Self::next(out) ^ input(g, p);
            }
        });
    }

    /// The cells that receive a step's input: 0 and, with two blocks, 4.
    #[inline(always)]
    fn input_cells() -> W {
        if BLOCKS == 2 { cells::<W, 0b011>() } else { cells::<W, 0b111>() }
    }

    /// Moves each block of a word to the place of the next, the last to the first.
    #[inline(always)]
    fn next(x: W) -> W {
        if BLOCKS == 2 {
            x.rotate(W::CELL)
        } else {
            (x << W::CELL) ^ ((x >> (5 * W::CELL)) & cells::<W, 0b111>())
        }
    }

    /// Returns the part of a step's input that is added to one word of the state.
    #[inline(always)]
    fn input(m: &Step<W, N, BLOCKS>, octet: usize, plane: usize) -> W {
        let (n, k) = W::home(octet, plane);
        let (b, k) = if BLOCKS == 2 { (k / 4, k % 4) } else { (0, k) };
        // `%` changes nothing; see `source`.
        (m[b % BLOCKS][n % N] >> (W::CELL * k as u32)) & Self::input_cells()
    }

    /// Returns the word of the state whose bits are in cell `k` of word `n` of a step.
    #[inline(always)]
    fn source(&self, n: usize, k: usize) -> W {
        let (octet, plane) = W::source(n, k);
        // `%` changes nothing. It avoids bounds checks when optimising for size.
        self.0[octet % N][plane % 8]
    }

    /// With two blocks, exchanges the index bit at the top of the words with the number of the
    /// block.
    #[inline(always)]
    fn halves(step: &mut Step<W, N, BLOCKS>) {
        if let [first, second] = step.as_mut_slice() {
            let half = 4 * W::CELL;
            for (a, b) in first.iter_mut().zip(second) {
                (*a, *b) =
                    ((*a & low_half()) | (*b << half), (*a >> half) | (*b & !low_half::<W>()));
            }
        }
    }
}

/// The lower half of a word.
#[inline(always)]
fn low_half<W: Cells>() -> W {
    cells::<W, 0b100>()
}

// SAFETY: no CPU features are needed, and no branch or index depends on the bits. The type is
// transparent over its words, which have 128 bytes per lane.
unsafe impl<W: Layout<N>, const N: usize, const BLOCKS: usize, C: Circuit> Sliced
    for Bitsliced<W, N, BLOCKS, C>
{
    type Blocks = W::Blocks;
    type Lane = W::Lane<BLOCKS>;
    type Step = Step<W, N, BLOCKS>;
    const BLOCKS: usize = BLOCKS;

    #[inline(always)]
    fn zero() -> Self {
        Self([[W::constant(0); 8]; N], PhantomData)
    }
    #[inline(always)]
    fn zeros() -> Self::Step {
        [[W::constant(0); N]; BLOCKS]
    }
    #[inline(never)]
    unsafe fn load(src: *const u8, row: usize) -> Self::Step {
        let mut step = Self::zeros();
        for (b, words) in step.iter_mut().enumerate() {
            // SAFETY: the caller promises that each row is readable.
            *words = unsafe { W::load(src.add(b * row)) };
        }
        Self::halves(&mut step);
        W::transpose(&mut step);
        step
    }
    #[inline(never)]
    unsafe fn store(mut step: Self::Step, dst: *mut u8, row: usize) {
        W::transpose(&mut step);
        Self::halves(&mut step);
        for (b, words) in step.into_iter().enumerate() {
            // SAFETY: the caller promises that each row is writable.
            unsafe { W::store(words, dst.add(b * row)) };
        }
    }
    #[inline(never)]
    fn add(&mut self, other: &Self) {
        add_words(self.0.as_flattened_mut(), other.0.as_flattened());
    }

    /// The standard adds a message block to a word of the state before that word becomes a round
    /// key. Here the block is added to the sum, which gives the same result.
    #[inline(never)]
    fn update(&mut self, m: &Step<W, N, BLOCKS>) {
        self.update_with(|g, p| Self::input(m, g, p));
    }
    const WHOLE_INPUT: bool = cfg!(target_family = "wasm");
    #[inline(never)]
    fn set_sum(&mut self, state: &Self, m: &Self::Step) {
        for g in 0..N {
            for p in 0..8 {
                self.0[g][p] = state.0[g][p] ^ Self::input(m, g, p);
            }
        }
    }
    #[inline(never)]
    fn from_steps(steps: &[Self::Step]) -> Self {
        let mut s = Self::zero();
        for b in 0..BLOCKS {
            for n in 0..N {
                // The words of a step have a word of the state in each cell, those of a state have
                // a block in each. Exchanges the numbers of blocks and cells.
                let mut words = [W::constant(0); 8];
                for (word, step) in words.iter_mut().zip(steps) {
                    *word = step[b][n];
                }
                let [w0, w1, w2, w3, w4, w5, w6, w7] = &mut words;
                for (a, b) in [(&mut *w0, &mut *w1), (w2, w3), (w4, w5), (w6, w7)] {
                    exchange(a, b, W::CELL, cells::<W, 0b001>());
                }
                let [w0, w1, w2, w3, w4, w5, w6, w7] = &mut words;
                for (a, b) in [(&mut *w0, &mut *w2), (w1, w3), (w4, w6), (w5, w7)] {
                    exchange(a, b, 2 * W::CELL, cells::<W, 0b010>());
                }
                if BLOCKS == 1 {
                    let [w0, w1, w2, w3, w4, w5, w6, w7] = &mut words;
                    for (a, b) in [(&mut *w0, &mut *w4), (w1, w5), (w2, w6), (w3, w7)] {
                        exchange(a, b, 4 * W::CELL, cells::<W, 0b100>());
                    }
                }
                for (k, word) in words.into_iter().take(8 / BLOCKS).enumerate() {
                    let (g, p) = W::source(n, 8 / BLOCKS * b + k);
                    s.0[g % N][p % 8] = word; // `%` changes nothing; see `source`
                }
            }
        }
        s
    }
    #[inline(never)]
    fn update_whole(&mut self, input: &Self) {
        self.update_with(|g, p| input.0[g % N][p % 8]); // `%` changes nothing; see `source`
    }

    #[inline(never)]
    fn add_keystream(&self, m: &Step<W, N, BLOCKS>) -> Step<W, N, BLOCKS> {
        let mut sum = MaybeUninit::<Step<W, N, BLOCKS>>::uninit();
        let mut put = |b: usize, n: usize, z: W| {
            // `%` changes nothing. It avoids bounds checks when optimising for size.
            // SAFETY: `b` is below `BLOCKS` and `n` below `N`, so the word lies within `sum`.
            unsafe { sum.as_mut_ptr().cast::<W>().add(b * N + n).write(m[b % BLOCKS][n % N] ^ z) };
            in_order();
        };
        for n in 0..N {
            // Combine words in pairs: one gets the even blocks of both, the other the odd ones. The
            // number of a pair of cells is then half that of a block.
            let pair = |k: usize| {
                let (mut even, mut odd) = (self.source(n, k), self.source(n, k + 1));
                exchange(&mut even, &mut odd, W::CELL, cells::<W, 0b001>());
                (even, odd)
            };
            if BLOCKS == 2 {
                // S1 ^ (S2 & S3) ^ S6 at the pair of S2, S5 ^ (S6 & S7) ^ S2 at the pair of S6.
                let logic = |k: usize| {
                    let (even, odd) = pair(k);
                    (even & odd) ^ (odd << (2 * W::CELL)) ^ even.rotate(4 * W::CELL)
                };
                for b in 0..BLOCKS {
                    let (low, high) = (logic(4 * b), logic(4 * b + 2));
                    put(b, n, high ^ (((low >> (2 * W::CELL)) ^ high) & cells::<W, 0b010>()));
                }
            } else {
                // S1 ^ (S2 & S3) ^ S4 ^ S5 at the pair of S2.
                let logic = |k: usize| {
                    let (even, odd) = pair(k);
                    let z = (even & odd) ^ (odd << (2 * W::CELL)) ^ ((even ^ odd) >> (2 * W::CELL));
                    (z >> (2 * W::CELL)) & cells::<W, 0b110>()
                };
                let z = logic(0)
                    | (logic(2) << (2 * W::CELL))
                    | (logic(4) << (4 * W::CELL))
                    | (logic(6) << (6 * W::CELL));
                put(0, n, z);
            }
        }
        // SAFETY: every word was written.
        unsafe { sum.assume_init() }
    }

    #[inline(never)]
    fn words_at(&self, at: usize) -> Step<W, N, BLOCKS> {
        let mut step = [[W::constant(0); N]; BLOCKS];
        for (b, words) in step.iter_mut().enumerate() {
            for (n, word) in words.iter_mut().enumerate() {
                for k in 0..8 / BLOCKS {
                    let x = self
                        .source(n, 8 / BLOCKS * b + k)
                        .rotate(8 * W::CELL - W::CELL * at as u32);
                    *word = *word | ((x & Self::input_cells()) << (W::CELL * k as u32));
                }
            }
        }
        step
    }

    #[inline(never)]
    fn add_at(&mut self, step: &Step<W, N, BLOCKS>, at: usize) {
        for g in 0..N {
            for p in 0..8 {
                self.0[g][p] = self.0[g][p] ^ Self::input(step, g, p).rotate(W::CELL * at as u32);
            }
        }
    }

    fn summed(&self, all: bool) -> Self {
        let mut s = *self;
        for x in s.0.as_flattened_mut() {
            *x = if BLOCKS == 2 {
                let x = if all { *x } else { (*x << W::CELL) >> W::CELL };
                let x = x ^ (x >> W::CELL);
                x ^ (x >> (2 * W::CELL))
            } else {
                *x ^ (*x >> W::CELL) ^ (*x >> (2 * W::CELL))
            };
        }
        s
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soft::sliced::tests;

    impl<W: Layout<N>, const N: usize, const BLOCKS: usize> Bitsliced<W, N, BLOCKS> {
        /// Returns the words of the state.
        #[cfg(all(palladion_proof, feature = "std", not(palladion_test_reduced)))]
        pub(crate) fn planes(&mut self) -> &mut Planes<W, N> {
            &mut self.0
        }
    }

    fn round<W: Layout<N>, const N: usize, const BLOCKS: usize>() {
        tests::round::<Bitsliced<W, N, BLOCKS>>(Bitsliced::rounds, |s| {
            let mut out = s;
            mix(&s.0, |p, words| (0..N).for_each(|g| out.0[g][p] = words[g]));
            out
        });
    }

    #[test]
    fn rounds_are_those_of_the_standard() {
        round::<u32, 4, 2>();
        round::<u32, 4, 1>();
        round::<u64, 4, 2>();
        round::<u64, 4, 1>();
        round::<u64, 2, 2>();
        round::<u64, 2, 1>();
    }

    #[test]
    fn steps_are_those_of_the_standard() {
        tests::steps::<Bitsliced<u32, 4, 2>>();
        tests::steps::<Bitsliced<u32, 4, 1>>();
        tests::steps::<Bitsliced<u64, 4, 2>>();
        tests::steps::<Bitsliced<u64, 4, 1>>();
        tests::steps::<Bitsliced<u64, 2, 2>>();
        tests::steps::<Bitsliced<u64, 2, 1>>();
    }

    #[test]
    fn inputs_as_states_are_those_of_steps() {
        fn check<
            W: Layout<N> + PartialEq + core::fmt::Debug,
            const N: usize,
            const BLOCKS: usize,
        >() {
            let mut random = tests::random();
            let mut state = |count: usize| {
                let mut bytes = [0; 16 * 8 * 2];
                bytes.fill_with(&mut random);
                let lanes = <Bitsliced<W, N, BLOCKS> as Sliced>::Blocks::LANES;
                let steps: [Step<W, N, BLOCKS>; 6] = core::array::from_fn(|i| {
                    // SAFETY: a step has at most 64 bytes, and there are at most six.
                    unsafe {
                        let start = bytes.as_ptr().add(32 * i);
                        <Bitsliced<W, N, BLOCKS> as Sliced>::load(start, 16 * lanes)
                    }
                });
                (Bitsliced::<W, N, BLOCKS>::from_steps(&steps[..count]), steps)
            };
            let count = if BLOCKS == 2 { 4 } else { 6 };
            let (mut one, steps) = state(count);
            let mut added = Bitsliced::<W, N, BLOCKS>::zero();
            for (i, step) in steps[..count].iter().enumerate() {
                added.add_at(step, i);
            }
            assert_eq!(one.0, added.0);
            let (contexts, [step, ..]) = state(count);
            let mut whole = Bitsliced::zero();
            whole.set_sum(&contexts, &step);
            let mut other = one;
            one.update(&step);
            one.add(&contexts);
            other.update_whole(&whole);
            assert_eq!(one.0, other.0);
        }
        check::<u32, 4, 2>();
        check::<u32, 4, 1>();
        check::<u64, 4, 2>();
        check::<u64, 4, 1>();
        check::<u64, 2, 2>();
        check::<u64, 2, 1>();
    }

    #[test]
    fn a_step_has_each_bit_once() {
        fn check<W: Layout<N>, const N: usize>() {
            for (octet, plane) in (0..N).flat_map(|g| (0..8).map(move |p| (g, p))) {
                let (n, k) = W::home(octet, plane);
                assert_eq!(W::source(n, k), (octet, plane));
            }
        }
        check::<u32, 4>();
        check::<u64, 4>();
        check::<u64, 2>();
    }
}
