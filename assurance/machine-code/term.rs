//! Bytes on which kernels run.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

pub type Block = [Term; 16];

/// An exclusive OR of atoms and a number. An atom is a symbol, or what an operation makes of terms;
/// the same operation on the same terms is the same atom. Each atom has a number of 128 bits of its
/// own, and the term is their sum. The upper 120 bits look random. So terms that differ have the
/// same sum with a probability of 2^-120, if the numbers are as good as random. Numbers below 256
/// are themselves.
///
/// The lowest byte is the value of the term for some values of the symbols, which is what is
/// compared with a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Term(u128);

/// The operations of atoms.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Operation {
    And,
    IsZero,
    SubAndShift,
    Mix,
    Signs,
}

/// A fast hash of terms, which are random already.
#[derive(Default)]
struct Fold(u64);

impl Hasher for Fold {
    fn write(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            self.0 = (self.0 ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.0 ^= self.0 >> 32;
        }
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// Gives each number another one, which looks random.
fn mix(mut x: u128) -> u128 {
    for factor in [
        0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835,
        0xbf58_476d_1ce4_e5b9_94d0_49bb_1331_11eb,
        0xda94_2042_e4dd_58b5_2545_f491_4f6c_dd1d,
    ] {
        x = (x ^ x >> 65).wrapping_mul(factor);
    }
    x ^ x >> 64
}

type Map<K, V> = HashMap<K, V, BuildHasherDefault<Fold>>;

#[derive(Default)]
struct Atoms {
    bytes: Map<(Operation, Term, Term), Term>,
    blocks: Map<(Operation, Block), Block>,
    count: u128,
}

thread_local! { static ATOMS: RefCell<Atoms> = RefCell::default(); }

impl Atoms {
    fn new_term(&mut self, value: u8) -> Term {
        self.count += 1;
        Term(mix(self.count)).with_value(value)
    }
    fn byte(&mut self, operation: Operation, a: Term, b: Term, value: u8) -> Term {
        let key = (operation, a, b);
        if let Some(&term) = self.bytes.get(&key) {
            return term;
        }
        let term = self.new_term(value);
        self.bytes.insert(key, term);
        term
    }
    fn block(&mut self, operation: Operation, block: Block, values: [u8; 16]) -> Block {
        let key = (operation, block);
        if let Some(&terms) = self.blocks.get(&key) {
            return terms;
        }
        let terms = values.map(|value| self.new_term(value));
        self.blocks.insert(key, terms);
        terms
    }
}

impl Term {
    pub const ZERO: Self = Self(0);

    /// A symbol, by the name of what it belongs to and its place there.
    pub fn symbol(name: u8, at: usize) -> Self {
        Self(mix(1 << 127 | u128::from(name) << 64 | at as u128))
    }
    /// A symbol for which this value is tried.
    pub fn with_value(self, value: u8) -> Self {
        Self(self.0 & !0xff | u128::from(value))
    }
    pub fn value(self) -> u8 {
        self.0 as u8
    }
    /// Forgets all atoms, because memory is finite.
    pub fn forget() {
        ATOMS.with_borrow_mut(|atoms| {
            atoms.bytes.clear();
            atoms.blocks.clear();
        });
    }
    pub fn number(number: u8) -> Self {
        Self(u128::from(number))
    }
    /// The number, if the byte is one.
    pub fn known(self) -> Option<u8> {
        u8::try_from(self.0).ok()
    }
    pub fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
    pub fn not(self) -> Self {
        Self(self.0 ^ 0xff)
    }
    pub fn and(self, other: Self) -> Self {
        let value = self.value() & other.value();
        match (self.min(other), self.max(other)) {
            (Self(0), _) => Self(0),
            (Self(0xff), other) => other,
            (a, b) if a == b => a,
            (_, b) if b.known().is_some() => Self::number(value),
            (a, b) => ATOMS.with_borrow_mut(|atoms| atoms.byte(Operation::And, a, b, value)),
        }
    }
    pub fn or(self, other: Self) -> Self {
        self.xor(other).xor(self.and(other))
    }
    /// 255 if the byte is zero, otherwise 0.
    pub fn is_zero(self) -> Self {
        let value = if self.value() == 0 { 0xff } else { 0 };
        if self.known().is_some() {
            return Self::number(value);
        }
        ATOMS.with_borrow_mut(|atoms| atoms.byte(Operation::IsZero, self, Self::ZERO, value))
    }
    /// SubBytes and ShiftRows of FIPS 197.
    pub fn sub_and_shift(block: Block) -> Block {
        let values = std::array::from_fn(|i| SBOX[usize::from(block[5 * i % 16].value())]);
        Self::block(Operation::SubAndShift, block, values)
    }
    /// MixColumns of FIPS 197.
    pub fn mix(block: Block) -> Block {
        let values = std::array::from_fn(|i| {
            let from = |n: usize| block[i / 4 * 4 + (i + n) % 4].value();
            times(from(0), 2) ^ times(from(1), 3) ^ from(2) ^ from(3)
        });
        Self::block(Operation::Mix, block, values)
    }
    /// The highest bits of 16 bytes.
    pub fn signs(block: Block) -> [Self; 2] {
        let sign = |n: usize| block[n].value() >> 7 << (n % 8);
        let half = |half: usize| (8 * half..8 * half + 8).map(sign).sum();
        let mut values = [0; 16];
        values[..2].copy_from_slice(&[half(0), half(1)]);
        let [low, high, ..] = Self::block(Operation::Signs, block, values);
        [low, high]
    }
    fn block(operation: Operation, block: Block, values: [u8; 16]) -> Block {
        if block.iter().all(|byte| byte.known().is_some()) {
            return values.map(Self::number);
        }
        ATOMS.with_borrow_mut(|atoms| atoms.block(operation, block, values))
    }
}

/// Multiplication in the field of FIPS 197.
fn times(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        product ^= if b & 1 == 1 { a } else { 0 };
        a = a << 1 ^ if a >> 7 == 1 { 0x1b } else { 0 };
        b >>= 1;
    }
    product
}

static SBOX: LazyLock<[u8; 256]> = LazyLock::new(|| {
    std::array::from_fn(|x| {
        let inverse: u8 = (0..254).fold(1, |product, _| times(product, x as u8));
        (1..5).fold(inverse ^ 0x63, |sum, n| sum ^ inverse.rotate_left(n))
    })
});

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
