//! The state machines without AES instructions: bitsliced, in general registers, and so from initialisation to the tag.
//!
//! # Where a bit of the state lies
//!
//! A state is made of *planes*: plane `p` has bit `p` of every byte. A plane is spread over words by the rows of the
//! AES block, and within a word the bits are grouped by block: block `i` of the state has the *cell* `i`, an eighth of
//! the word. A cell is one nibble or two, and a nibble is the four columns of a row:
//!
//! | | word | words of a plane | cell |
//! |---|---|---|---|
//! | one lane on 32 bits | `u32` | rows 0, 1, 2, 3 | the columns |
//! | two lanes on 64 bits | `u64` | rows 0, 1, 2, 3 | the columns in lane 0, in lane 1 |
//! | one lane on 64 bits | `u64` | rows 0 and 2, rows 1 and 3 | the columns of the first row, of the second |
//!
//! So the step from one block to the next is a rotation of the word, which most instruction sets have for little or
//! nothing; ShiftRows moves bits within nibbles; MixColumns adds words (and with two rows in a word, exchanges nibbles);
//! and the S-box is the same Boolean operations on every word. AEGIS-256 leaves two cells unused: what is in them is of
//! no importance, and never moves into another cell.
//!
//! # Messages
//!
//! Of the state, a step's message goes into cell 0 alone (AEGIS-128: into cells 0 and 4), an eighth or a quarter of each
//! word. To take it apart into single planes would be work without use. A [`Step`] is half-way: its words have the planes
//! of all bytes in cells side by side, ready to be shifted to the place where they are added; and the key stream, whose
//! logic is done on the words of the state, is brought together in the same form. So a message is transposed once on its way
//! in and once on its way out, whichever the direction, and decryption costs what encryption does.
//!
//! In the names below, an address of a bit is written by its index bits: `p2 p1 p0` for the plane, `r1 r0` for the row,
//! `c1 c0` for the column, `half` for the first or second block of AEGIS-128's message, `lane`.

use core::mem::MaybeUninit;
use core::ops::{Shl, Shr};
use core::sync::atomic::{Ordering, compiler_fence};

use super::blocks::{Blocks, MAX_LANES, Pair, Vector};
use super::machine::{C0, C1, FINAL_ROUNDS, Machine, load_at, store_all, store_at, truncate_at};
use super::memory::wipe;
use super::portable::Soft;
use super::sbox::{self, Circuit};

/// A word of eight cells.
pub(crate) trait Word: sbox::Bits + Shl<u32, Output = Self> + Shr<u32, Output = Self> {
    /// log2 of the bits in a cell.
    const LOG_CELL: u32;
    /// Bits in a cell.
    const CELL: u32 = 1 << Self::LOG_CELL;
    /// The lower bits of a constant.
    fn constant(bits: u64) -> Self;
    /// Rotation to the left.
    fn rotate(self, by: u32) -> Self;
    /// The same value. On ARM its origin is hidden from the optimiser, which would otherwise leave out bits of a mask that
    /// nobody asks for, and so make a constant that needs two instructions of one that needs none.
    fn pin(self) -> Self;
    /// Reads `N` words, little-endian.
    ///
    /// # Safety
    /// `N` words readable; no alignment needed.
    unsafe fn load<const N: usize>(src: *const u8) -> [Self; N];
    /// Writes `N` words, little-endian.
    ///
    /// # Safety
    /// `N` words writable; no alignment needed.
    unsafe fn store<const N: usize>(words: [Self; N], dst: *mut u8);
}

/// Whether the CPU surely takes words from any address. Elsewhere an aligned address has a way of its own: the compiler
/// would go byte by byte.
const UNALIGNED: bool = cfg!(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_family = "wasm",
    target_arch = "powerpc64",
    target_arch = "s390x"
));

/// The same value, its origin hidden from the optimiser, which would otherwise make one of the ways with and without
/// alignment: the slower.
#[inline(always)]
fn hidden<T: Copy>(x: &mut T) -> T {
    compiler_fence(Ordering::SeqCst);
    *x
}

#[cfg(all(target_arch = "arm", not(miri)))]
macro_rules! pin {
    ($x:expr, u32) => {{
        let mut x: u32 = $x;
        // SAFETY: no instruction at all.
        unsafe { core::arch::asm!("/* {} */", inout(reg) x, options(pure, nomem, nostack, preserves_flags)) };
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
        impl Word for $word {
            const LOG_CELL: u32 = $log_cell;
            #[inline(always)]
            fn constant(bits: u64) -> Self {
                bits as $word
            }
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
                // SAFETY: the caller grants the words; the address was looked at.
                let words = unsafe {
                    if UNALIGNED {
                        src.read_unaligned()
                    } else if src.is_aligned() {
                        src.read()
                    } else {
                        src.cast::<u8>().copy_to_nonoverlapping(copy.as_mut_ptr().cast(), size_of_val(&copy));
                        hidden(&mut copy).assume_init()
                    }
                };
                words.map(Self::from_le)
            }
            #[inline(always)]
            unsafe fn store<const N: usize>(words: [Self; N], dst: *mut u8) {
                let words = words.map(Self::to_le);
                let dst: *mut [$word; N] = dst.cast();
                // SAFETY: likewise.
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

/// The bits whose number has zeros where `zeros` has ones, and ones where `ones` has.
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
fn cells<W: Word, const ZEROS: u32>() -> W {
    W::constant(const { select(ZEROS << W::LOG_CELL, 0) })
}

/// The bits of the columns whose number has zeros where `zeros` has ones, in every nibble.
#[inline(always)]
fn columns<W: Word, const FROM: u32, const TO: u32>() -> W {
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

/// Exchanges bits of `a` with bits of `b` that are `distance` lower: those of `b` under the mask.
#[inline(always)]
fn exchange<W: Word>(a: &mut W, b: &mut W, distance: u32, mask: W) {
    let difference = ((*a >> distance) ^ *b) & mask;
    *b = *b ^ difference;
    *a = *a ^ (difference << distance);
}

/// Exchanges the bits under the mask with those that are `distance` higher.
#[inline(always)]
fn exchange_within<W: Word>(word: W, distance: u32, mask: W) -> W {
    let difference = ((word >> distance) ^ word) & mask;
    word ^ difference ^ (difference << distance)
}

/// Exchanges the index bit that tells `a` from `b` with the index bit `BIT` within a word.
#[inline(always)]
fn exchange_index<W: Word, const BIT: u32>(a: &mut W, b: &mut W) {
    exchange(a, b, 1 << BIT, W::constant(const { select(1 << BIT, 0) }));
}

/// Exchanges the index bits `HIGH` and `LOW` within a word.
#[inline(always)]
fn exchange_index_within<W: Word, const HIGH: u32, const LOW: u32>(word: &mut W) {
    let mask = W::constant(const { select(1 << HIGH, 1 << LOW) });
    *word = exchange_within(*word, (1 << HIGH) - (1 << LOW), mask);
}

/// A step's message, ciphertext or key stream: `BLOCKS` rows of `N` words. Word `n` has in its cell `k` the bits that belong
/// to the word of the state that [`Layout::source`] tells; with two blocks, row `b` has of it the cells with `k / 4 = b`,
/// in its lower half those of the first block and in its upper half those of the second.
type Step<W, const N: usize, const BLOCKS: usize> = [[W; N]; BLOCKS];

/// The words of a state: `N` groups of eight planes.
type Planes<W, const N: usize> = [[W; 8]; N];

/// A layout with `N` words for each plane.
pub(crate) trait Layout<const N: usize>: Word {
    /// As many blocks as there are lanes.
    type Blocks: Blocks;
    /// The machine for one lane.
    type Lane<const BLOCKS: usize>: Machine<V = <Self::Blocks as Blocks>::Lane>;

    /// Where in a step the bits for this word of the state are: the word and the cell.
    fn home(group: usize, plane: usize) -> (usize, usize);
    /// The word of the state that the bits in cell `k` of a step's word `n` belong to: the inverse of `home`.
    fn source(n: usize, k: usize) -> (usize, usize);
    /// Transposes words of the message, whose index bits are those of the bytes in memory, to those of a step; and back.
    fn transpose<const BLOCKS: usize>(step: &mut Step<Self, N, BLOCKS>);
    /// ShiftRows, and of MixColumns the sums: for row `r`, with `a` the rows after ShiftRows, `a[r] ^ a[r + 1]`, which is
    /// to be multiplied by two, and `a[r + 1] ^ a[r + 2] ^ a[r + 3]`.
    fn shift_and_sum(plane: [Self; N]) -> ([Self; N], [Self; N]);
    /// The machine of lane 0 with these words.
    fn first<const BLOCKS: usize>(words: [Self::Blocks; 8]) -> Self::Lane<BLOCKS>;
}

/// Whether a rotation costs nothing, as part of the instruction that takes its result.
const ROTATION_IS_FREE: bool = cfg!(target_arch = "arm");

/// Moves every column `BY` places down.
#[inline(always)]
fn shift_columns<W: Word, const BY: u32>(x: W) -> W {
    let low = columns::<W, 0, BY>();
    if ROTATION_IS_FREE {
        // The columns that go around to the next nibble first, then all of the word.
        return ((x & !low) | (x & low).pin().rotate(4)).rotate(8 * W::CELL - BY);
    }
    let high = columns::<W, 0, BY>() << (4 - BY);
    ((x >> BY) & !high) | ((x << (4 - BY)) & high)
}

/// `Layout::shift_and_sum` where every row has a word of its own.
#[inline(always)]
fn shift_and_sum_rows<W: Word>([x0, x1, x2, x3]: [W; 4]) -> ([W; 4], [W; 4]) {
    let (a1, a2, a3) = (shift_columns::<W, 1>(x1), shift_columns::<W, 2>(x2), shift_columns::<W, 3>(x3));
    let [d0, d1, d2, d3] = [x0 ^ a1, a1 ^ a2, a2 ^ a3, a3 ^ x0];
    ([d0, d1, d2, d3], [a1 ^ d2, a2 ^ d3, a3 ^ d0, x0 ^ d1])
}

/// One lane in words of 32 bits. Index bits of a step: `n = p1 p0, k = r1 r0 p2`.
impl Layout<4> for u32 {
    type Blocks = Soft;
    type Lane<const BLOCKS: usize> = Bitsliced<u32, 4, BLOCKS>;

    #[inline(always)]
    fn home(group: usize, plane: usize) -> (usize, usize) {
        (plane & 3, 2 * group + (plane >> 2))
    }
    #[inline(always)]
    fn source(n: usize, k: usize) -> (usize, usize) {
        (k >> 1, n + 4 * (k & 1))
    }
    /// From `n = c1 c0` and, within the word, `(r1 or half) r0 p2 p1 p0`.
    #[inline(always)]
    fn transpose<const BLOCKS: usize>(step: &mut Step<u32, 4, BLOCKS>) {
        for [w0, w1, w2, w3] in step {
            exchange_index::<u32, 1>(w0, w2);
            exchange_index::<u32, 1>(w1, w3);
            exchange_index::<u32, 0>(w0, w1);
            exchange_index::<u32, 0>(w2, w3);
        }
    }
    #[inline(always)]
    fn first<const BLOCKS: usize>(words: [Self::Blocks; 8]) -> Self::Lane<BLOCKS> {
        Bitsliced::from_words(words)
    }
    #[inline(always)]
    fn shift_and_sum(plane: [u32; 4]) -> ([u32; 4], [u32; 4]) {
        shift_and_sum_rows(plane)
    }
}

/// Two lanes in words of 64 bits. Index bits of a step: `n = p2 p1, k = p0 r1 r0`.
impl Layout<4> for u64 {
    type Blocks = Pair<Soft>;
    type Lane<const BLOCKS: usize> = Bitsliced<u64, 2, BLOCKS>;

    #[inline(always)]
    fn home(group: usize, plane: usize) -> (usize, usize) {
        (plane >> 1, 4 * (plane & 1) + group)
    }
    #[inline(always)]
    fn source(n: usize, k: usize) -> (usize, usize) {
        (k & 3, 2 * n + (k >> 2))
    }
    /// From `n = lane c1` and, within the word, `(c0 or half) r1 r0 p2 p1 p0`.
    #[inline(always)]
    fn transpose<const BLOCKS: usize>(step: &mut Step<u64, 4, BLOCKS>) {
        for [w0, w1, w2, w3] in step.iter_mut() {
            exchange_index::<u64, 2>(w0, w2);
            exchange_index::<u64, 2>(w1, w3);
            exchange_index::<u64, 1>(w0, w1);
            exchange_index::<u64, 1>(w2, w3);
        }
        exchange_top_column(step);
    }
    #[inline(always)]
    fn first<const BLOCKS: usize>(words: [Self::Blocks; 8]) -> Self::Lane<BLOCKS> {
        Bitsliced::from_words(words.map(Blocks::first))
    }
    #[inline(always)]
    fn shift_and_sum(plane: [u64; 4]) -> ([u64; 4], [u64; 4]) {
        shift_and_sum_rows(plane)
    }
}

/// Brings index bit `c0` to the place 0: from the number of the block, or, with one block, from place 5.
#[inline(always)]
fn exchange_top_column<const N: usize, const BLOCKS: usize>(step: &mut Step<u64, N, BLOCKS>) {
    match step.as_mut_slice() {
        [first, second] => {
            for (a, b) in first.iter_mut().zip(second) {
                exchange_index::<u64, 0>(a, b);
            }
        }
        step => step.as_flattened_mut().iter_mut().for_each(exchange_index_within::<u64, 5, 0>),
    }
}

/// One lane in words of 64 bits, two rows in each. Index bits of a step: `n = p1, k = p0 p2 r0`.
impl Layout<2> for u64 {
    type Blocks = Soft;
    type Lane<const BLOCKS: usize> = Bitsliced<u64, 2, BLOCKS>;

    #[inline(always)]
    fn home(group: usize, plane: usize) -> (usize, usize) {
        ((plane >> 1) & 1, 4 * (plane & 1) + 2 * (plane >> 2) + group)
    }
    #[inline(always)]
    fn source(n: usize, k: usize) -> (usize, usize) {
        (k & 1, 4 * ((k >> 1) & 1) + 2 * n + (k >> 2))
    }
    /// From `n = c1` and, within the word, `(c0 or half) r1 r0 p2 p1 p0`.
    #[inline(always)]
    fn transpose<const BLOCKS: usize>(step: &mut Step<u64, 2, BLOCKS>) {
        for [w0, w1] in step.iter_mut() {
            exchange_index::<u64, 1>(w0, w1);
        }
        exchange_top_column(step);
        step.as_flattened_mut().iter_mut().for_each(exchange_index_within::<u64, 4, 2>);
    }
    #[inline(always)]
    fn first<const BLOCKS: usize>(words: [Self::Blocks; 8]) -> Self::Lane<BLOCKS> {
        Bitsliced::from_words(words)
    }
    #[inline(always)]
    fn shift_and_sum([x, y]: [u64; 2]) -> ([u64; 2], [u64; 2]) {
        /// The second row of a cell two columns down.
        #[inline(always)]
        fn shift_second(x: u64) -> u64 {
            exchange_within(x, 2, 0x3030_3030_3030_3030)
        }
        /// The rows of a cell exchanged.
        #[inline(always)]
        fn swap(x: u64) -> u64 {
            ((x >> 4) & 0x0f0f_0f0f_0f0f_0f0f) | ((x << 4) & 0xf0f0_f0f0_f0f0_f0f0)
        }
        let a = shift_second(x);
        let b = shift_second(shift_columns::<u64, 1>(y));
        let d0 = a ^ b;
        let d1 = b ^ swap(a);
        let e = swap(d0);
        ([d0, d1], [b ^ e, a ^ e])
    }
}

/// The states of some lanes: of AEGIS-128 with two `BLOCKS` of input in a step, of AEGIS-256 with one.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Bitsliced<W, const N: usize, const BLOCKS: usize>(Planes<W, N>);

/// The statement for each of eight planes, with the number as a constant.
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

/// Keeps loads and stores on their side. Without, the compiler begins many planes at once and runs out of registers.
#[inline(always)]
fn in_order() {
    compiler_fence(Ordering::SeqCst);
}

/// SubBytes on the planes of a group. A function of its own where there are few registers, so that its values alone
/// compete for them.
#[cfg_attr(target_arch = "arm", inline(never))]
#[cfg_attr(not(target_arch = "arm"), inline(always))]
fn sub_bytes_of_group<W: Word>(planes: &[W; 8], out: &mut MaybeUninit<[W; 8]>) {
    out.write(sbox::Chosen::sub_bytes(*planes));
}

/// SubBytes. Where there are many registers, they are saved and restored once for all groups.
#[cfg_attr(target_arch = "arm", inline(always))]
#[cfg_attr(not(target_arch = "arm"), inline(never))]
fn sub_bytes<'a, W: Word, const N: usize>(
    state: &Planes<W, N>,
    out: &'a mut MaybeUninit<Planes<W, N>>,
) -> &'a Planes<W, N> {
    for (g, planes) in state.iter().enumerate() {
        // SAFETY: the place of group `g`; nothing is read from it.
        sub_bytes_of_group(planes, unsafe { &mut *out.as_mut_ptr().cast::<MaybeUninit<[W; 8]>>().add(g) });
        in_order();
    }
    // SAFETY: all `N` groups are written.
    unsafe { out.assume_init_ref() }
}

/// The words of one plane. Its number is a constant, and so known to be one of eight, whatever the optimiser inlines.
#[inline(always)]
fn plane<W: Word, const N: usize, const P: usize>(planes: &Planes<W, N>) -> [W; N] {
    let mut words = [W::constant(0); N];
    for (word, planes) in words.iter_mut().zip(planes) {
        *word = planes[P];
    }
    words
}

/// ShiftRows and MixColumns. `take` gets the number of a plane and its words.
#[inline(always)]
fn mix<W: Layout<N>, const N: usize>(t: &Planes<W, N>, mut take: impl FnMut(usize, [W; N])) {
    let (carry, _) = W::shift_and_sum(plane::<W, N, 7>(t));
    let mut lower = carry;
    for_each_plane!(P: {
        let (doubled, mut out) = W::shift_and_sum(plane::<W, N, P>(t));
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

impl<W: Layout<N>, const N: usize, const BLOCKS: usize> Bitsliced<W, N, BLOCKS> {
    /// AESRound of eight blocks, without the round keys.
    #[cfg(any(test, palladion_portable = "repack"))]
    pub(super) fn rounds(blocks: [W::Blocks; 8]) -> [W::Blocks; 8] {
        let mut s = Self::from_words(blocks);
        let mut t = MaybeUninit::uninit();
        mix(sub_bytes(&s.0, &mut t), |p, out| {
            for (planes, out) in s.0.iter_mut().zip(out) {
                planes[p] = out;
            }
        });
        s.to_words()
    }

    /// The cells that a step's input goes to: that of block 0 and, with two, that of block 4.
    #[inline(always)]
    fn input_cells() -> W {
        if BLOCKS == 2 { cells::<W, 0b011>() } else { cells::<W, 0b111>() }
    }

    /// Each block of a word to the place of the next, the last to the first.
    #[inline(always)]
    fn next(x: W) -> W {
        if BLOCKS == 2 {
            x.rotate(W::CELL)
        } else {
            (x << W::CELL) ^ ((x >> (5 * W::CELL)) & cells::<W, 0b111>())
        }
    }

    /// What a step's input adds to one word of the state.
    #[inline(always)]
    fn input(m: &Step<W, N, BLOCKS>, group: usize, plane: usize) -> W {
        let (n, k) = W::home(group, plane);
        let (b, k) = if BLOCKS == 2 { (k / 4, k % 4) } else { (0, k) };
        (m[b % BLOCKS][n % N] >> (W::CELL * k as u32)) & Self::input_cells() // as they are: see `source`
    }

    /// The word of the state whose bits are in cell `k` of a step's word `n`.
    #[inline(always)]
    fn source(&self, n: usize, k: usize) -> W {
        let (group, plane) = W::source(n, k);
        self.0[group % N][plane % 8] // as they are: said for an optimiser for size, which does not see it
    }

    /// Update (§3.2.3, §4.2.3). The standard adds a message block to a word of the state before that becomes the round
    /// key of another; here it is added to the sum, which is the same.
    #[inline(never)]
    fn update(&mut self, m: &Step<W, N, BLOCKS>) {
        let mut t = MaybeUninit::uninit();
        mix(sub_bytes(&self.0, &mut t), |p, out| {
            for (g, (planes, out)) in self.0.iter_mut().zip(out).enumerate() {
                let plane = &mut planes[p % 8]; // as it is: see `source`
                *plane = *plane ^ Self::next(out) ^ Self::input(m, g, p);
            }
        });
    }

    /// The key stream of the next step (§3.2.5, §4.2.5), added to a step's input.
    #[inline(never)]
    fn add_keystream(&self, m: &Step<W, N, BLOCKS>) -> Step<W, N, BLOCKS> {
        let mut sum = MaybeUninit::<Step<W, N, BLOCKS>>::uninit();
        let mut put = |b: usize, n: usize, z: W| {
            // The remainders are the numbers themselves; they show it to an optimiser for size.
            // SAFETY: the place of word `n` of row `b`.
            unsafe { sum.as_mut_ptr().cast::<W>().add(b * N + n).write(m[b % BLOCKS][n % N] ^ z) };
            in_order();
        };
        for n in 0..N {
            // Words in pairs: afterwards one has the even blocks of both, the other the odd ones. So the number of a
            // pair of cells is half of that of a block.
            let pair = |k: usize| {
                let (mut even, mut odd) = (self.source(n, k), self.source(n, k + 1));
                exchange(&mut even, &mut odd, W::CELL, cells::<W, 0b001>());
                (even, odd)
            };
            if BLOCKS == 2 {
                // S1 ^ (S2 & S3) ^ S6 in the pair of S2, S5 ^ (S6 & S7) ^ S2 in that of S6.
                let logic = |k: usize| {
                    let (even, odd) = pair(k);
                    (even & odd) ^ (odd << (2 * W::CELL)) ^ even.rotate(4 * W::CELL)
                };
                for b in 0..BLOCKS {
                    let (low, high) = (logic(4 * b), logic(4 * b + 2));
                    put(b, n, high ^ (((low >> (2 * W::CELL)) ^ high) & cells::<W, 0b010>()));
                }
            } else {
                // S1 ^ (S2 & S3) ^ S4 ^ S5 in the pair of S2.
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

    /// Of each word, block `at` and (with two blocks) the fourth after it, as a step.
    #[inline(never)]
    fn words_at(&self, at: usize) -> Step<W, N, BLOCKS> {
        let mut step = [[W::constant(0); N]; BLOCKS];
        for (b, words) in step.iter_mut().enumerate() {
            for (n, word) in words.iter_mut().enumerate() {
                for k in 0..8 / BLOCKS {
                    let x = self.source(n, 8 / BLOCKS * b + k).rotate(8 * W::CELL - W::CELL * at as u32);
                    *word = *word | ((x & Self::input_cells()) << (W::CELL * k as u32));
                }
            }
        }
        step
    }

    /// Adds the blocks of a step to block `at` and (with two blocks) to the fourth after it.
    #[inline(never)]
    fn add_at(&mut self, step: &Step<W, N, BLOCKS>, at: usize) {
        for g in 0..N {
            for p in 0..8 {
                self.0[g][p] = self.0[g][p] ^ Self::input(step, g, p).rotate(W::CELL * at as u32);
            }
        }
    }

    /// With two blocks, the exchange that brings the number of the block to the top of the words, for what was there.
    #[inline(always)]
    fn halves(step: &mut Step<W, N, BLOCKS>) {
        if let [first, second] = step.as_mut_slice() {
            let half = 4 * W::CELL;
            for (a, b) in first.iter_mut().zip(second) {
                (*a, *b) = ((*a & low_half()) | (*b << half), (*a >> half) | (*b & !low_half::<W>()));
            }
        }
    }

    /// The vectors of a step; the second is of no use if there is but one.
    #[inline(never)]
    fn blocks(step: Step<W, N, BLOCKS>) -> [W::Blocks; 2] {
        let mut bytes = [0; 32 * MAX_LANES];
        let row = 16 * W::Blocks::LANES;
        // SAFETY: two vectors have room; the portable block vectors need no CPU features.
        let blocks = unsafe {
            Self::store(step, bytes.as_mut_ptr(), row);
            [W::Blocks::load(bytes.as_ptr()), W::Blocks::load(bytes.as_ptr().add(row))]
        };
        wipe(&mut bytes);
        blocks
    }

    /// The state with these words, block `i` of each vector in word `i`.
    #[inline(never)]
    fn from_words(words: [W::Blocks; 8]) -> Self {
        let mut s = Self([[W::constant(0); 8]; N]);
        for i in 0..if BLOCKS == 2 { 4 } else { 6 } {
            s.add_at(&Self::step([words[i], words[(i + 4) % 8]]), i);
        }
        s
    }

    /// The words of the state; with one block, the last two are of no use.
    #[inline(never)]
    fn to_words(self) -> [W::Blocks; 8] {
        // SAFETY: the portable block vectors need no CPU features.
        let mut words = [unsafe { W::Blocks::zero() }; 8];
        for i in 0..if BLOCKS == 2 { 4 } else { 6 } {
            let [first, second] = Self::blocks(self.words_at(i));
            words[i] = first;
            if BLOCKS == 2 {
                words[i + 4] = second;
            }
        }
        words
    }

    /// The sums of the first half of the words and of the second, and, for AEGIS-128, without the last word in it.
    #[inline(never)]
    fn sums(&self, all: bool) -> [W::Blocks; 2] {
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
        let [first, second] = Self::blocks(s.words_at(0));
        if BLOCKS == 2 { [first, second] } else { [first, Self::blocks(s.words_at(3))[0]] }
    }
}

/// The lower half of a word.
#[inline(always)]
fn low_half<W: Word>() -> W {
    cells::<W, 0b100>()
}

// SAFETY: no CPU features are needed, and the values of bits decide nothing but bits. Transparent over its words, of
// which there are 128 bytes a lane.
unsafe impl<W: Layout<N>, const N: usize, const BLOCKS: usize> Machine for Bitsliced<W, N, BLOCKS> {
    type V = W::Blocks;
    type Lane = W::Lane<BLOCKS>;
    type Step = Step<W, N, BLOCKS>;
    type Key = [W::Blocks; 2];
    const BLOCKS: usize = BLOCKS;

    #[inline(always)]
    fn first_mac_lane(tag_len: usize) -> usize {
        if BLOCKS == 2 && tag_len == 16 { 0 } else { 1 }
    }

    #[inline(never)]
    unsafe fn load(src: *const u8, row: usize) -> Self::Step {
        let mut step = [[W::constant(0); N]; BLOCKS];
        for (b, words) in step.iter_mut().enumerate() {
            // SAFETY: the caller grants it.
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
            // SAFETY: the caller grants it.
            unsafe { W::store(words, dst.add(b * row)) };
        }
    }
    #[inline(never)]
    unsafe fn load_partial(src: *const u8, row: usize, len: usize) -> Self::Step {
        // SAFETY: passed on.
        Self::step(unsafe { [load_at(src, 0, len), load_at(src, row, if BLOCKS == 2 { len } else { 0 })] })
    }
    #[inline(never)]
    unsafe fn store_partial(step: Self::Step, dst: *mut u8, row: usize, len: usize) {
        let [first, second] = Self::blocks(step);
        // SAFETY: passed on.
        unsafe {
            store_at(first, dst, 0, len);
            if BLOCKS == 2 {
                store_at(second, dst, row, len);
            }
        }
    }
    #[inline(never)]
    fn truncate(step: Self::Step, row: usize, len: usize) -> Self::Step {
        let [first, second] = Self::blocks(step);
        Self::step([truncate_at(first, 0, len), truncate_at(second, row, len)])
    }

    #[inline(always)]
    unsafe fn load_key(src: *const u8) -> Self::Key {
        // SAFETY: passed on: with two blocks a step, a key has one.
        unsafe { [W::Blocks::splat(src), W::Blocks::splat(if BLOCKS == 2 { src } else { src.add(16) })] }
    }
    #[inline(never)]
    unsafe fn init([k0, k1]: Self::Key, [n0, n1]: Self::Key, ctx: W::Blocks) -> Self {
        // SAFETY: no CPU features are needed.
        let (c0, c1) = unsafe { (W::Blocks::splat(C0.as_ptr()), W::Blocks::splat(C1.as_ptr())) };
        let (k0n0, k1n1) = (k0.xor(n0), k1.xor(n1));
        let (k0c0, k1c1) = (k0.xor(c0), k1.xor(c1));
        let mut contexts = Self([[W::constant(0); 8]; N]);
        let with_context = |s: &mut Self, contexts: &Self| {
            for (x, context) in s.0.as_flattened_mut().iter_mut().zip(contexts.0.as_flattened()) {
                *x = *x ^ *context;
            }
        };
        if BLOCKS == 2 {
            contexts.add_at(&Self::step([ctx, ctx]), 3);
            let mut s = Self::from_words([k0n0, c1, c0, c1, k0n0, k0c0, k1c1, k0c0]);
            let m = Self::step([n0, k0]);
            for _ in 0..10 {
                with_context(&mut s, &contexts);
                s.update(&m);
            }
            s
        } else {
            contexts.add_at(&Self::step([ctx, ctx]), 3);
            contexts.add_at(&Self::step([ctx, ctx]), 5);
            let mut s = Self::from_words([k0n0, k1n1, c1, c0, k0c0, k1c1, c0, c0]);
            let inputs = [k0, k1, k0n0, k1n1].map(|m| Self::step([m, m]));
            for _ in 0..4 {
                for m in &inputs {
                    with_context(&mut s, &contexts);
                    s.update(m);
                }
            }
            s
        }
    }

    #[inline(always)]
    fn absorb(&mut self, m: Self::Step) {
        self.update(&m);
    }
    #[inline(always)]
    fn keystream(&self) -> Self::Step {
        self.add_keystream(&[[W::constant(0); N]; BLOCKS])
    }
    #[inline(always)]
    fn encrypt(&mut self, m: Self::Step) -> Self::Step {
        let c = self.add_keystream(&m);
        self.update(&m);
        c
    }
    #[inline(always)]
    fn decrypt(&mut self, c: Self::Step) -> Self::Step {
        let m = self.add_keystream(&c);
        self.update(&m);
        m
    }
    #[inline(always)]
    fn xor(a: Self::Step, b: Self::Step) -> Self::Step {
        let mut sum = a;
        for (x, y) in sum.as_flattened_mut().iter_mut().zip(b.as_flattened()) {
            *x = *x ^ *y;
        }
        sum
    }
    #[inline(never)]
    fn finalize(&mut self, lengths: W::Blocks) {
        let [t, _] = Self::blocks(self.words_at(if BLOCKS == 2 { 2 } else { 3 }));
        let t = t.xor(lengths);
        let m = Self::step([t, t]);
        for _ in 0..FINAL_ROUNDS {
            self.update(&m);
        }
    }
    #[inline(always)]
    fn tag128(&self) -> W::Blocks {
        let [first, second] = self.sums(BLOCKS == 1);
        first.xor(second)
    }
    #[inline(always)]
    fn tag256(&self) -> (W::Blocks, W::Blocks) {
        self.sums(true).into()
    }
    #[inline(never)]
    fn step(blocks: [W::Blocks; 2]) -> Self::Step {
        let mut bytes = [0; 32 * MAX_LANES];
        let row = 16 * W::Blocks::LANES;
        // SAFETY: two vectors have room.
        let step = unsafe {
            blocks[0].store(bytes.as_mut_ptr());
            blocks[1].store(bytes.as_mut_ptr().add(row));
            Self::load(bytes.as_ptr(), row)
        };
        wipe(&mut bytes);
        step
    }
    #[inline(always)]
    fn first(&self) -> Self::Lane {
        W::first(self.to_words())
    }
    #[inline(always)]
    unsafe fn store_words(&self, dst: *mut u8, stride: usize) {
        let words = self.to_words();
        // SAFETY: passed on.
        unsafe { store_all(&words[..if BLOCKS == 2 { 8 } else { 6 }], dst, stride) }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::*;

    type Block = [u8; 16];

    fn double(x: u8) -> u8 {
        (x << 1) ^ if x >> 7 == 1 { 0x1b } else { 0 }
    }

    /// The S-box from its definition: inversion in GF(2^8), then the affine map.
    fn s_box() -> [u8; 256] {
        let multiply =
            |a: u8, b: u8| (0..8).rev().fold(0, |sum, i| double(sum) ^ if b >> i & 1 == 1 { a } else { 0 });
        core::array::from_fn(|x| {
            let inverse = (0..=255).find(|&y| multiply(x as u8, y) == 1).unwrap_or(0);
            (0..5).fold(0x63, |sum, i| sum ^ inverse.rotate_left(i))
        })
    }

    /// ShiftRows and MixColumns of FIPS 197.
    fn linear(x: Block) -> Block {
        let a = |r: usize, c: usize| x[4 * ((c + r) % 4) + r % 4];
        core::array::from_fn(|i| {
            let (c, r) = (i / 4, i % 4);
            let column = |k: usize| a((r + k) % 4, c);
            double(column(0)) ^ double(column(1)) ^ column(1) ^ column(2) ^ column(3)
        })
    }

    /// Blocks for eight words of as many lanes as the layout has, word by word.
    fn words<W: Layout<N>, const N: usize>(mut block: impl FnMut(usize, usize) -> Block) -> [W::Blocks; 8] {
        core::array::from_fn(|i| {
            let bytes: Vec<u8> = (0..W::Blocks::LANES).flat_map(|lane| block(i, lane)).collect();
            // SAFETY: as many bytes as there are in a vector.
            unsafe { W::Blocks::load(bytes.as_ptr()) }
        })
    }

    /// The blocks of the words that count, word by word and in each lane by lane.
    fn bytes<W: Layout<N>, const N: usize>(words: [W::Blocks; 8], count: usize) -> Vec<Block> {
        let store = |word: &W::Blocks| {
            let mut blocks = [[0; 16]; MAX_LANES];
            // SAFETY: no vector is wider.
            unsafe { word.store(blocks.as_mut_ptr().cast()) };
            blocks.into_iter().take(W::Blocks::LANES)
        };
        words[..count].iter().flat_map(store).collect()
    }

    /// A generator of bytes (xorshift).
    fn random() -> impl FnMut() -> u8 {
        let mut x = 0x9e37_79b9_7f4a_7c15_u64;
        move || {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (x >> 32) as u8
        }
    }

    /// The round is SubBytes, which `sub_bytes` does to the bits of every byte alike, and then a linear map. So it is right
    /// if the S-box is for every value of every byte, and the map for every single bit; that it is linear is seen from its
    /// code, which has no operations but XOR, shifts and masks.
    fn round<W: Layout<N>, const N: usize, const BLOCKS: usize>() {
        let count = if BLOCKS == 2 { 8 } else { 6 };
        let s_box = s_box();
        for first in 0..=255u8 {
            let value = |i: usize, lane: usize| -> Block {
                core::array::from_fn(|j| first.wrapping_add((37 * i + 101 * lane + j) as u8))
            };
            let out = Bitsliced::<W, N, BLOCKS>::rounds(words::<W, N>(value));
            for (k, block) in bytes::<W, N>(out, count).into_iter().enumerate() {
                let (i, lane) = (k / W::Blocks::LANES, k % W::Blocks::LANES);
                assert_eq!(block, linear(value(i, lane).map(|x| s_box[usize::from(x)])));
            }
        }
        for bit in 0..128 * count * W::Blocks::LANES {
            let one = |i: usize, lane: usize| -> Block {
                core::array::from_fn(|j| {
                    let at = 8 * (16 * (i * W::Blocks::LANES + lane) + j);
                    if i < count && (at..at + 8).contains(&bit) { 1 << (bit - at) } else { 0 }
                })
            };
            let s = Bitsliced::<W, N, BLOCKS>::from_words(words::<W, N>(one));
            let mut out = s;
            mix(&s.0, |p, words| (0..N).for_each(|g| out.0[g][p] = words[g]));
            for (k, block) in bytes::<W, N>(out.to_words(), count).into_iter().enumerate() {
                assert_eq!(block, linear(one(k / W::Blocks::LANES, k % W::Blocks::LANES)), "bit {bit}");
            }
        }
    }

    /// Steps of a state of any bytes: Update, the key stream, and the way of a message in and out.
    fn steps<W: Layout<N>, const N: usize, const BLOCKS: usize>() {
        let lanes = W::Blocks::LANES;
        let count = if BLOCKS == 2 { 8 } else { 6 };
        let s_box = s_box();
        let mut random = random();
        let mut any =
            |n: usize| -> Vec<Block> { (0..n * lanes).map(|_| core::array::from_fn(|_| random())).collect() };
        let xor = |a: Block, b: Block| -> Block { core::array::from_fn(|j| a[j] ^ b[j]) };
        let mut before = any(count);
        let mut s = Bitsliced::<W, N, BLOCKS>::from_words(words::<W, N>(|i, lane| {
            before[(i % count) * lanes + lane]
        }));
        for _ in 0..100 {
            let m = any(BLOCKS);
            let row = 16 * lanes;
            // SAFETY: a message has `BLOCKS` rows.
            let step = unsafe { Bitsliced::<W, N, BLOCKS>::load(m.as_ptr().cast(), row) };
            let mut back = std::vec![[0xee; 16]; BLOCKS * lanes];
            let mut keystream = back.clone();
            // SAFETY: likewise.
            unsafe {
                Bitsliced::<W, N, BLOCKS>::store(step, back.as_mut_ptr().cast(), row);
                Bitsliced::<W, N, BLOCKS>::store(s.keystream(), keystream.as_mut_ptr().cast(), row);
            }
            assert_eq!(back, m);
            s.absorb(step);

            let mut after = before.clone();
            for lane in 0..lanes {
                let at = |i: usize| before[i % count * lanes + lane];
                let and = |i: usize, k: usize| -> Block { core::array::from_fn(|j| at(i)[j] & at(k)[j]) };
                let z = if BLOCKS == 2 {
                    [xor(xor(at(1), at(6)), and(2, 3)), xor(xor(at(2), at(5)), and(6, 7))]
                } else {
                    [xor(xor(at(1), xor(at(4), at(5))), and(2, 3)), [0; 16]]
                };
                for b in 0..BLOCKS {
                    assert_eq!(keystream[b * lanes + lane], z[b]);
                }
                for i in 0..count {
                    let round = linear(at(i + count - 1).map(|x| s_box[usize::from(x)]));
                    let message =
                        if i % 4 == 0 && i / 4 < BLOCKS { m[i / 4 * lanes + lane] } else { [0; 16] };
                    after[i * lanes + lane] = xor(xor(at(i), round), message);
                }
            }
            before = after;
            assert_eq!(bytes::<W, N>(s.to_words(), count), before);
        }
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
        steps::<u32, 4, 2>();
        steps::<u32, 4, 1>();
        steps::<u64, 4, 2>();
        steps::<u64, 4, 1>();
        steps::<u64, 2, 2>();
        steps::<u64, 2, 1>();
    }

    #[test]
    fn a_step_has_each_bit_once() {
        fn check<W: Layout<N>, const N: usize>() {
            for (group, plane) in (0..N).flat_map(|g| (0..8).map(move |p| (g, p))) {
                let (n, k) = W::home(group, plane);
                assert_eq!(W::source(n, k), (group, plane));
            }
        }
        check::<u32, 4>();
        check::<u64, 4>();
        check::<u64, 2>();
    }
}
