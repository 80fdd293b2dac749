//! Bytes on which kernels run.

use palladion_reference::{AesBlock, Byte, SBOX, gf_mul};

pub type Block = [Term; 16];

/// A byte that is a number or stands for all values.
pub trait Symbol: Byte + PartialEq {
    /// A symbol, by the name of what it belongs to and its place there.
    fn symbol(name: u8, at: usize) -> Self;
    /// The number, if the byte is one.
    fn known(self) -> Option<u8>;
    /// Finds where words are in a state.
    fn places(state: &[Self], words: &[Self]) -> Vec<Place>;
    /// Writes words into a state.
    fn place(state: &mut [Self], places: &[Place], words: &[Self]);
}

/// What a part of a state has: some bits of this byte of the words, inverted or not.
pub type Place = Option<(usize, u8, bool)>;

/// An exclusive OR of atoms and a number. An atom is a symbol, or what an operation makes of terms;
/// its 120 upper bits are a hash of the operation and the terms, and the term is the sum of its
/// atoms. So terms that differ have the same sum with a probability of 2^-120, if the hashes are as
/// good as random. Numbers below 256 are themselves.
///
/// The lowest byte is the value of the term for some values of the symbols, which is what is
/// compared with a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Term(u128);

/// The operations of atoms.
#[derive(Clone, Copy)]
enum Operation {
    Symbol,
    And,
    IsZero,
    SubAndShift,
    Mix,
    Signs,
}

/// Gives each number another one, which looks random.
pub fn mix(mut x: u128) -> u128 {
    for factor in [
        0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835,
        0xbf58_476d_1ce4_e5b9_94d0_49bb_1331_11eb,
        0xda94_2042_e4dd_58b5_2545_f491_4f6c_dd1d,
    ] {
        x = (x ^ x >> 65).wrapping_mul(factor);
    }
    x ^ x >> 64
}

impl Term {
    pub const ZERO: Self = Self(0);

    /// The atom of an operation on terms, or the number if they are numbers.
    fn atom(operation: Operation, terms: &[Self], value: u8) -> Self {
        if terms.iter().all(|term| term.known().is_some()) {
            return Self::number(value);
        }
        let hash = terms.iter().fold(operation as u128, |hash, term| mix(hash) ^ term.0);
        Self(mix(hash)).with_value(value)
    }
    /// The atoms of an operation on a block.
    fn atoms<const N: usize>(operation: Operation, block: Block, values: [u8; N]) -> [Self; N] {
        let first = Self::atom(operation, &block, 0);
        std::array::from_fn(|n| match first.known() {
            Some(_) => Self::number(values[n]),
            None => Self(mix(first.0 ^ n as u128)).with_value(values[n]),
        })
    }
    /// The same with another value.
    pub fn with_value(self, value: u8) -> Self {
        Self(self.0 & !0xff | u128::from(value))
    }
    pub fn value(self) -> u8 {
        self.0 as u8
    }
    pub fn number(number: u8) -> Self {
        Self(u128::from(number))
    }
    pub fn not(self) -> Self {
        Self(self.0 ^ 0xff)
    }
    pub fn or(self, other: Self) -> Self {
        self.xor(other).xor(self.and(other))
    }
    /// 255 if the byte is zero, otherwise 0.
    pub fn is_zero(self) -> Self {
        let value = if self.value() == 0 { 0xff } else { 0 };
        Self::atom(Operation::IsZero, &[self], value)
    }
    /// SubBytes and ShiftRows of FIPS 197.
    pub fn sub_and_shift(block: Block) -> Block {
        let values = std::array::from_fn(|i| SBOX[usize::from(block[5 * i % 16].value())]);
        Self::atoms(Operation::SubAndShift, block, values)
    }
    /// MixColumns of FIPS 197.
    pub fn mix(block: Block) -> Block {
        let values = std::array::from_fn(|i| {
            let from = |n: usize| block[i / 4 * 4 + (i + n) % 4].value();
            gf_mul(from(0), 2) ^ gf_mul(from(1), 3) ^ from(2) ^ from(3)
        });
        Self::atoms(Operation::Mix, block, values)
    }
    /// The highest bits of 16 bytes.
    pub fn signs(block: Block) -> [Self; 2] {
        let sign = |n: usize| block[n].value() >> 7 << (n % 8);
        Self::atoms(Operation::Signs, block, [(0..8).map(sign).sum(), (8..16).map(sign).sum()])
    }
}

impl Symbol for Term {
    fn symbol(name: u8, at: usize) -> Self {
        Self(mix(mix(Operation::Symbol as u128) ^ (u128::from(name) << 64 | at as u128)))
    }
    fn known(self) -> Option<u8> {
        u8::try_from(self.0).ok()
    }
    fn places(state: &[Self], words: &[Self]) -> Vec<Place> {
        let place = |byte: &Self| words.iter().position(|word| word == byte);
        state.iter().map(|byte| place(byte).map(|at| (at, 0xff, false))).collect()
    }
    fn place(state: &mut [Self], places: &[Place], words: &[Self]) {
        for (byte, place) in state.iter_mut().zip(places) {
            *byte = place.map_or(*byte, |(at, ..)| words[at]);
        }
    }
}

impl Byte for Term {
    fn constant(byte: u8) -> Self {
        Self::number(byte)
    }
    fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
    fn and(self, other: Self) -> Self {
        match (self.min(other), self.max(other)) {
            (Self(0), _) => Self(0),
            (Self(0xff), other) => other,
            (a, b) if a == b => a,
            (a, b) => Self::atom(Operation::And, &[a, b], a.value() & b.value()),
        }
    }
    fn aes_round(input: Block, rk: Block) -> Block {
        Self::mix(Self::sub_and_shift(input)).xor(rk)
    }
}

/// SplitMix64.
#[derive(Default)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }
}
