//! Bits that are sums of functions of single input bytes, and words and vectors of such bits.

extern crate std;
use core::cell::RefCell;
use core::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};
use std::boxed::Box;
use std::collections::HashMap;
use std::thread_local;
use std::vec::Vec;

use super::{Stored, faulty, read, write};
use crate::block::{Blocks, MAX_LANES, Vector};
use crate::soft::bitsliced::{
    Cells, Layout, Linear, PlaneWord, Step, shift_and_sum_rows, shift_and_sum_two_rows,
    transpose_one_lane, transpose_two_lanes, transpose_two_rows,
};
use crate::soft::byte_planes::Register;
use crate::soft::permute::Permute;

/// The truth table of a function of a byte: bit `x % 64` of word `x / 64` is its value at `x`.
pub(super) type Table = [u64; 4];

/// A summand of a bit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Part {
    /// A function of the input byte with this number. It is zero at zero.
    Byte(u32, Table),
    /// The product of two other bits, neither inverted, with the lower number first.
    Product(u32, u32),
}

/// A bit: twice the number of its sum, plus one if it is inverted. A sum has at most one part for
/// each byte, and each sum has only one number, so bits with equal numbers are equal functions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Bit(u32);

pub(super) const ZERO: Bit = Bit(0);
const ONE: Bit = Bit(1);

#[derive(Default)]
struct Sums {
    sums: Vec<Box<[Part]>>,
    numbers: HashMap<Box<[Part]>, u32>,
    xors: HashMap<(u32, u32), u32>,
    ands: HashMap<(u32, u32), Bit>,
    /// The blocks whose numbers are in memory.
    blocks: Vec<[Bit; 128]>,
}

thread_local! {
    static SUMS: RefCell<Sums> = RefCell::new(Sums::new());
}

fn with_sums<R>(f: impl FnOnce(&mut Sums) -> R) -> R {
    SUMS.with(|sums| f(&mut sums.borrow_mut()))
}

impl Sums {
    fn new() -> Self {
        let mut sums = Self::default();
        sums.number(Vec::new()); // 0: no parts
        sums
    }

    fn number(&mut self, parts: Vec<Part>) -> u32 {
        let parts = parts.into_boxed_slice();
        if let Some(number) = self.numbers.get(&parts) {
            return *number;
        }
        let number = self.sums.len() as u32;
        self.sums.push(parts.clone());
        self.numbers.insert(parts, number);
        number
    }

    fn byte(&mut self, origin: u32, table: Table) -> Bit {
        let inverted = table[0] & 1;
        let table = table.map(|word| word ^ inverted.wrapping_neg());
        let parts = if table == [0; 4] { Vec::new() } else { std::vec![Part::Byte(origin, table)] };
        Bit(2 * self.number(parts) + inverted as u32)
    }

    fn xor(&mut self, a: Bit, b: Bit) -> Bit {
        let inverted = (a.0 ^ b.0) & 1;
        let key = (a.0.min(b.0) / 2, a.0.max(b.0) / 2);
        if let Some(number) = self.xors.get(&key) {
            return Bit(2 * number + inverted);
        }
        let (x, y) = (&self.sums[key.0 as usize], &self.sums[key.1 as usize]);
        let mut parts = Vec::with_capacity(x.len() + y.len());
        let (mut i, mut j) = (0, 0);
        // Both lists are ordered by the number of the byte; products come last.
        let place = |part: &Part| match *part {
            Part::Byte(origin, _) => (0, origin, 0),
            Part::Product(a, b) => (1, a, b),
        };
        while i < x.len() || j < y.len() {
            let order = match (x.get(i), y.get(j)) {
                (Some(a), Some(b)) => place(a).cmp(&place(b)),
                (Some(_), None) => core::cmp::Ordering::Less,
                _ => core::cmp::Ordering::Greater,
            };
            if order.is_lt() {
                parts.push(x[i]);
            } else if order.is_gt() {
                parts.push(y[j]);
            } else if let (Part::Byte(origin, s), Part::Byte(_, t)) = (x[i], y[j])
                && s != t
            {
                parts.push(Part::Byte(origin, core::array::from_fn(|k| s[k] ^ t[k])));
            }
            i += usize::from(order.is_le());
            j += usize::from(order.is_ge());
        }
        let number = self.number(parts);
        self.xors.insert(key, number);
        Bit(2 * number + inverted)
    }

    /// If a bit depends on at most one byte: the number of that byte, if any, and the function.
    fn table(&self, x: Bit) -> Option<(Option<u32>, Table)> {
        let inverted = u64::from(x.0 & 1).wrapping_neg();
        match *self.sums[x.0 as usize / 2] {
            [] => Some((None, [inverted; 4])),
            [Part::Byte(origin, table)] => Some((Some(origin), table.map(|word| word ^ inverted))),
            _ => None,
        }
    }

    fn and(&mut self, a: Bit, b: Bit) -> Bit {
        if a == ZERO || b == ZERO || a.0 == b.0 ^ 1 {
            return ZERO;
        } else if a == ONE || a == b {
            return b;
        } else if b == ONE {
            return a;
        }
        let key = (a.0.min(b.0), a.0.max(b.0));
        if let Some(bit) = self.ands.get(&key) {
            return *bit;
        }
        let bit = match (self.table(a), self.table(b)) {
            (Some((Some(i), s)), Some((Some(j), t))) if i == j => {
                self.byte(i, core::array::from_fn(|k| s[k] & t[k]))
            }
            _ => {
                // (a + c)(b + d) = ab + ad + cb + cd
                let (c, d) = (a.0 & 1, b.0 & 1);
                let (a, b) = (a.0 / 2, b.0 / 2);
                let mut sum =
                    Bit(2 * self.number(std::vec![Part::Product(a.min(b), a.max(b))]) + (c & d));
                if d == 1 {
                    sum = self.xor(sum, Bit(2 * a));
                }
                if c == 1 {
                    sum = self.xor(sum, Bit(2 * b));
                }
                sum
            }
        };
        self.ands.insert(key, bit);
        bit
    }
}

/// Returns the bits of `f` of an input byte.
pub(super) fn of_byte(origin: u32, f: impl Fn(u8) -> u8) -> [Bit; 8] {
    core::array::from_fn(|p| {
        let mut table = [0; 4];
        for x in 0..=255u8 {
            table[usize::from(x / 64)] |= u64::from(f(x) >> p & 1) << (x % 64);
        }
        with_sums(|sums| sums.byte(origin, table))
    })
}

/// Returns the bits of a constant.
pub(super) fn constant(byte: u8) -> [Bit; 8] {
    core::array::from_fn(|p| Bit(u32::from(byte >> p & 1)))
}

/// Returns the value of a byte whose bits are constants.
pub(super) fn value(byte: &[Bit]) -> Option<u8> {
    byte.iter()
        .all(|bit| bit.0 < 2)
        .then(|| (0..8).fold(0, |value, p| value | (byte[p].0 as u8) << p))
}

pub(super) fn xor(a: &[Bit], b: &[Bit]) -> Vec<Bit> {
    assert_eq!(a.len(), b.len());
    with_sums(|sums| a.iter().zip(b).map(|(a, b)| sums.xor(*a, *b)).collect())
}

pub(super) fn and(a: &[Bit], b: &[Bit]) -> Vec<Bit> {
    assert_eq!(a.len(), b.len());
    with_sums(|sums| a.iter().zip(b).map(|(a, b)| sums.and(*a, *b)).collect())
}

/// # Safety
/// 16 bytes are readable at `src`.
pub(super) unsafe fn load_block(src: *const u8) -> [Bit; 128] {
    // SAFETY: the caller promises 16 readable bytes.
    match unsafe { read(src, 0) } {
        Stored::Number(number) => with_sums(|sums| sums.blocks[number]),
        Stored::Bytes(bytes) => {
            let bytes = bytes.map(constant);
            core::array::from_fn(|i| bytes[i / 8][i % 8])
        }
    }
}

/// # Safety
/// 16 bytes are writable at `dst`.
pub(super) unsafe fn store_block(block: [Bit; 128], dst: *mut u8) {
    let bytes: [Option<u8>; 16] = core::array::from_fn(|j| value(&block[8 * j..8 * j + 8]));
    if bytes.iter().all(Option::is_some) {
        let bytes = bytes.map(|byte| byte.unwrap());
        // SAFETY: the caller promises 16 writable bytes; the write needs no alignment.
        unsafe { dst.cast::<[u8; 16]>().write_unaligned(bytes) };
        return;
    }
    let number = with_sums(|sums| {
        sums.blocks.push(block);
        sums.blocks.len() - 1
    });
    // SAFETY: the caller promises 16 writable bytes.
    unsafe { write(dst, 0, number) };
}

/// A word of `N` bits that is shifted in parts of `PART` bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Abstract<const N: usize, const PART: usize>(pub(super) [Bit; N]);

/// Stands for `u32`.
pub(super) type Word32 = Abstract<32, 32>;
/// Stands for `u64`.
pub(super) type Word64 = Abstract<64, 64>;

impl<const N: usize, const PART: usize> Abstract<N, PART> {
    /// Returns the result of an operation or, if it is the faulty one, its first operand.
    #[track_caller]
    fn either(self, out: [Bit; N]) -> Self {
        Self(if faulty(out != self.0) { self.0 } else { out })
    }

    #[inline(never)]
    #[track_caller]
    fn zip(self, other: Self, f: impl Fn(&mut Sums, Bit, Bit) -> Bit) -> Self {
        self.either(with_sums(|sums| core::array::from_fn(|i| f(sums, self.0[i], other.0[i]))))
    }

    /// Takes the bit at `i` from `from(i % PART)` of the same part.
    #[inline(never)]
    #[track_caller]
    fn moved(self, from: impl Fn(usize) -> Option<usize>) -> Self {
        let out = core::array::from_fn(|i| {
            from(i % PART).map_or(ZERO, |at| self.0[i / PART * PART + at])
        });
        self.either(out)
    }

    /// # Safety
    /// The `M` words, whose bits make whole blocks, are readable at `src`.
    unsafe fn load_words<const M: usize>(src: *const u8) -> [Self; M] {
        let blocks: Vec<_> = (0..N * M / 128)
            .flat_map(|i| {
                // SAFETY: the caller promises that all blocks are readable.
                unsafe { load_block(src.add(16 * i)) }
            })
            .collect();
        assert_eq!(blocks.len(), N * M, "whole blocks");
        core::array::from_fn(|n| Self(core::array::from_fn(|i| blocks[n * N + i])))
    }

    /// # Safety
    /// The `M` words, whose bits make whole blocks, are writable at `dst`.
    unsafe fn store_words<const M: usize>(words: [Self; M], dst: *mut u8) {
        let bits: Vec<Bit> = words.iter().flat_map(|word| word.0).collect();
        assert!(bits.len().is_multiple_of(128), "whole blocks");
        for (i, block) in bits.chunks(128).enumerate() {
            // SAFETY: the caller promises that all blocks are writable.
            unsafe { store_block(block.try_into().unwrap(), dst.add(16 * i)) };
        }
    }
}

impl<const N: usize, const PART: usize> BitXor for Abstract<N, PART> {
    type Output = Self;
    #[track_caller]
    fn bitxor(self, other: Self) -> Self {
        self.zip(other, Sums::xor)
    }
}

impl<const N: usize, const PART: usize> BitAnd for Abstract<N, PART> {
    type Output = Self;
    #[track_caller]
    fn bitand(self, other: Self) -> Self {
        self.zip(other, Sums::and)
    }
}

impl<const N: usize, const PART: usize> BitOr for Abstract<N, PART> {
    type Output = Self;
    #[track_caller]
    fn bitor(self, other: Self) -> Self {
        self.zip(other, |sums, a, b| Bit(sums.and(Bit(a.0 ^ 1), Bit(b.0 ^ 1)).0 ^ 1))
    }
}

impl<const N: usize, const PART: usize> Not for Abstract<N, PART> {
    type Output = Self;
    #[track_caller]
    fn not(self) -> Self {
        self.either(self.0.map(|bit| Bit(bit.0 ^ 1)))
    }
}

impl<const N: usize, const PART: usize> Shl<u32> for Abstract<N, PART> {
    type Output = Self;
    #[track_caller]
    fn shl(self, by: u32) -> Self {
        assert!((by as usize) < PART);
        self.moved(|i| i.checked_sub(by as usize))
    }
}

impl<const N: usize, const PART: usize> Shr<u32> for Abstract<N, PART> {
    type Output = Self;
    #[track_caller]
    fn shr(self, by: u32) -> Self {
        assert!((by as usize) < PART);
        self.moved(|i| Some(i + by as usize).filter(|at| *at < PART))
    }
}

impl<const N: usize, const PART: usize> PlaneWord for Abstract<N, PART> {
    fn constant(bits: u64) -> Self {
        Self(core::array::from_fn(|i| Bit((bits >> (i % 64) & 1) as u32)))
    }
}

macro_rules! cells {
    ($word:ty, $bits:literal, $log_cell:literal) => {
        impl Cells for $word {
            const LOG_CELL: u32 = $log_cell;
            #[track_caller]
            fn rotate(self, by: u32) -> Self {
                self.moved(|i| Some((i + $bits - by as usize % $bits) % $bits))
            }
            fn pin(self) -> Self {
                self
            }
            unsafe fn load<const N: usize>(src: *const u8) -> [Self; N] {
                // SAFETY: the caller promises `N` readable words.
                unsafe { Self::load_words(src) }
            }
            unsafe fn store<const N: usize>(words: [Self; N], dst: *mut u8) {
                // SAFETY: the caller promises `N` writable words.
                unsafe { Self::store_words(words, dst) }
            }
        }
    };
}
cells!(Word32, 32, 2);
cells!(Word64, 64, 3);

/// Implements the layout of a real word, whose parts are generic over words.
macro_rules! layout {
    ($word:ty, $n:literal, as $real:ty, $transpose:ident, $shift_and_sum:ident) => {
        impl Linear<$n> for $word {
            fn shift_and_sum(plane: [Self; $n]) -> ([Self; $n], [Self; $n]) {
                $shift_and_sum(plane)
            }
        }

        impl Layout<$n> for $word {
            // Here their blocks hold the numbers of abstract blocks.
            type Blocks = <$real as Layout<$n>>::Blocks;
            type Lane<const BLOCKS: usize> = <$real as Layout<$n>>::Lane<BLOCKS>;

            fn home(group: usize, plane: usize) -> (usize, usize) {
                <$real as Layout<$n>>::home(group, plane)
            }
            fn source(n: usize, k: usize) -> (usize, usize) {
                <$real as Layout<$n>>::source(n, k)
            }
            fn transpose<const BLOCKS: usize>(step: &mut Step<Self, $n, BLOCKS>) {
                $transpose(step);
            }
        }
    };
}
layout!(Word32, 4, as u32, transpose_one_lane, shift_and_sum_rows);
layout!(Word64, 4, as u64, transpose_two_lanes, shift_and_sum_rows);
layout!(Word64, 2, as u64, transpose_two_rows, shift_and_sum_two_rows);

impl<const PART: usize> Abstract<128, PART> {
    /// Takes byte `i` from byte `from(i)`.
    pub(super) fn bytes_from(self, from: impl Fn(usize) -> usize) -> Self {
        Self(core::array::from_fn(|i| self.0[8 * from(i / 8) + i % 8]))
    }
}

/// Implements a register of 128 bits as its trait describes it.
impl<const PART: usize> Register for Abstract<128, PART> {
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: the caller promises 16 readable bytes. Byte 4c + r of the block is byte 4r + c
        // here.
        Self(unsafe { load_block(src) }).bytes_from(|i| 4 * (i % 4) + i / 4)
    }
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: the caller promises 16 writable bytes.
        unsafe { store_block(self.bytes_from(|i| 4 * (i % 4) + i / 4).0, dst) };
    }
    fn shift_rows(self) -> Self {
        self.bytes_from(|i| i / 4 * 4 + (i % 4 + i / 4) % 4)
    }
    fn next_row(self) -> Self {
        self.bytes_from(|i| (i + 4) % 16)
    }
    fn second_row(self) -> Self {
        self.bytes_from(|i| (i + 8) % 16)
    }
}

/// `L` blocks side by side.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Lanes<const L: usize>(pub(super) [[Bit; 128]; L]);

// SAFETY: no CPU features are needed. It holds no real secrets.
unsafe impl<const L: usize> Vector for Lanes<L> {
    #[track_caller]
    fn xor(self, other: Self) -> Self {
        let out = core::array::from_fn(|l| xor(&self.0[l], &other.0[l]).try_into().unwrap());
        Self(if faulty(out != self.0) { self.0 } else { out })
    }
}

// SAFETY: no CPU features are needed. It holds no real secrets.
unsafe impl<const L: usize> Blocks for Lanes<L> {
    const LANES: usize = L;
    type Lane = Lanes<1>;

    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: the caller promises `16 * L` readable bytes.
        Self(core::array::from_fn(|l| unsafe { load_block(src.add(16 * l)) }))
    }
    unsafe fn store(self, dst: *mut u8) {
        for (l, block) in self.0.into_iter().enumerate() {
            // SAFETY: the caller promises `16 * L` writable bytes.
            unsafe { store_block(block, dst.add(16 * l)) };
        }
    }
    unsafe fn splat(block: *const u8) -> Self {
        // SAFETY: the caller promises a readable block.
        Self([unsafe { load_block(block) }; L])
    }
    unsafe fn zero() -> Self {
        Self([[ZERO; 128]; L])
    }
    unsafe fn load_partial(_src: *const u8, _len: usize) -> Self {
        unreachable!("whole blocks alone")
    }
    unsafe fn store_partial(self, _dst: *mut u8, _len: usize) {
        unreachable!("whole blocks alone")
    }
    fn truncate(self, _len: usize) -> Self {
        unreachable!("whole blocks alone")
    }
    #[track_caller]
    fn xor_and(self, b: Self, c: Self) -> Self {
        self.xor(Self(core::array::from_fn(|l| and(&b.0[l], &c.0[l]).try_into().unwrap())))
    }
    fn first(self) -> Lanes<1> {
        Lanes([self.0[0]])
    }
    fn lanes(self) -> [Lanes<1>; MAX_LANES] {
        core::array::from_fn(|l| Lanes([self.0[l % L]]))
    }
    fn fold(self) -> Lanes<1> {
        unreachable!("not asked for")
    }
    unsafe fn from_lanes(lanes: [Lanes<1>; MAX_LANES]) -> Self {
        Self(core::array::from_fn(|l| lanes[l].0[0]))
    }
}

/// Returns the byte at `index` in the table as the trait describes it: one of 16 bytes, or zero for
/// an index of 128 or more. Other indices panic.
fn look_up(table: &[Bit; 128], index: &[Bit]) -> [Bit; 8] {
    let at = |index: u8| match index {
        0..16 => core::array::from_fn(|p| table[8 * usize::from(index) + p]),
        128.. => [ZERO; 8],
        _ => panic!("an index of {index}"),
    };
    if let Some(index) = value(index) {
        return at(index);
    }
    let tables: Vec<_> = index
        .iter()
        .map(|bit| {
            with_sums(|sums| sums.table(*bit)).expect("an index made of one byte of the input")
        })
        .collect();
    let origin = tables.iter().find_map(|(origin, _)| *origin).unwrap();
    assert!(
        tables.iter().all(|(other, _)| other.is_none_or(|other| other == origin)),
        "of one byte"
    );
    of_byte(origin, |x| {
        let index = (0..8).fold(0, |index, p| {
            index | ((tables[p].1[usize::from(x / 64)] >> (x % 64) & 1) as u8) << p
        });
        value(&at(index)).expect("a table of constants")
    })
}

// SAFETY: no CPU features are needed. It holds no real secrets.
unsafe impl<const L: usize> Permute for Lanes<L> {
    fn lookup(self, index: Self) -> Self {
        Self(core::array::from_fn(|l| {
            let mut out = [ZERO; 128];
            for j in (0..128).step_by(8) {
                out[j..j + 8].copy_from_slice(&look_up(&self.0[l], &index.0[l][j..j + 8]));
            }
            out
        }))
    }
    fn nibbles(self) -> [Self; 2] {
        let half = |from: usize| {
            let bit = |block: &[Bit; 128], i: usize| if i % 8 < 4 { block[i + from] } else { ZERO };
            Self(core::array::from_fn(|l| core::array::from_fn(|i| bit(&self.0[l], i))))
        };
        [half(0), half(4)]
    }
}
