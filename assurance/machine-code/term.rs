//! Bytes on which kernels run: [`Term`]s, which stand for all values, and [`Sample`]s, which have
//! one and are for comparing instructions with the CPU.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

pub type Block<T> = [T; 16];

/// What instructions are made of. Everything else moves bytes or computes with known numbers.
pub trait Byte: Copy + PartialEq + Send + 'static {
    fn number(number: u8) -> Self;
    /// The number, if the byte is one.
    fn known(self) -> Option<u8>;
    fn xor(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    /// A byte that stands for a condition; for samples there is none.
    fn condition(_: usize) -> Option<Self> {
        None
    }
    /// 255 if the byte is zero, otherwise 0.
    fn is_zero(self) -> Self;
    /// SubBytes and ShiftRows of FIPS 197.
    fn sub_and_shift(block: Block<Self>) -> Block<Self>;
    /// MixColumns of FIPS 197.
    fn mix(block: Block<Self>) -> Block<Self>;

    fn or(self, other: Self) -> Self {
        self.xor(other).xor(self.and(other))
    }
    fn not(self) -> Self {
        self.xor(Self::number(0xff))
    }
}

/// An exclusive OR of atoms and a number. An atom is a symbol, or what an operation makes of terms;
/// the same operation on the same terms is the same atom. Each atom has a number of 128 bits of its
/// own that looks random, and the term is their sum. So terms that differ have the same sum with a
/// probability of 2^-128, if the numbers are as good as random. Numbers below 256 are themselves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Term(u128);

/// The operations of atoms.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Operation {
    And,
    IsZero,
    SubAndShift,
    Mix,
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
    blocks: Map<(Operation, Block<Term>), Block<Term>>,
    count: u128,
}

thread_local! { static ATOMS: RefCell<Atoms> = RefCell::default(); }

impl Atoms {
    fn new_term(&mut self) -> Term {
        self.count += 1;
        Term(mix(self.count))
    }
    fn byte(&mut self, operation: Operation, a: Term, b: Term) -> Term {
        let key = (operation, a, b);
        if let Some(&term) = self.bytes.get(&key) {
            return term;
        }
        let term = self.new_term();
        self.bytes.insert(key, term);
        term
    }
    fn block(&mut self, operation: Operation, block: Block<Term>) -> Block<Term> {
        let key = (operation, block);
        if let Some(&terms) = self.blocks.get(&key) {
            return terms;
        }
        let terms = [(); 16].map(|()| self.new_term());
        self.blocks.insert(key, terms);
        terms
    }
}

impl Term {
    /// A symbol, by the name of what it belongs to and its place there.
    pub fn symbol(name: u8, at: usize) -> Self {
        Self(mix(1 << 127 | u128::from(name) << 64 | at as u128))
    }
    /// Forgets all atoms, because memory is finite.
    pub fn forget() {
        ATOMS.with_borrow_mut(|atoms| {
            atoms.bytes.clear();
            atoms.blocks.clear();
        });
    }
}

impl Byte for Term {
    fn number(number: u8) -> Self {
        Self(u128::from(number))
    }
    fn known(self) -> Option<u8> {
        u8::try_from(self.0).ok()
    }
    fn condition(number: usize) -> Option<Self> {
        Some(Self::symbol(b'C', number))
    }
    fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
    fn and(self, other: Self) -> Self {
        match (self.min(other), self.max(other)) {
            (Self(0), _) => Self(0),
            (Self(0xff), other) => other,
            (a, b) if a == b => a,
            (Self(a), Self(b)) if b < 256 => Self(a & b),
            (a, b) => ATOMS.with_borrow_mut(|atoms| atoms.byte(Operation::And, a, b)),
        }
    }
    fn is_zero(self) -> Self {
        match self.known() {
            Some(number) => Self::number(if number == 0 { 0xff } else { 0 }),
            None => ATOMS.with_borrow_mut(|atoms| atoms.byte(Operation::IsZero, self, Self(0))),
        }
    }
    fn sub_and_shift(block: Block<Self>) -> Block<Self> {
        of_numbers(block, Sample::sub_and_shift).unwrap_or_else(|| {
            ATOMS.with_borrow_mut(|atoms| atoms.block(Operation::SubAndShift, block))
        })
    }
    fn mix(block: Block<Self>) -> Block<Self> {
        of_numbers(block, Sample::mix)
            .unwrap_or_else(|| ATOMS.with_borrow_mut(|atoms| atoms.block(Operation::Mix, block)))
    }
}

fn of_numbers(block: Block<Term>, on: fn(Block<Sample>) -> Block<Sample>) -> Option<Block<Term>> {
    block.iter().all(|term| term.known().is_some()).then(|| {
        on(block.map(|term| Sample::number(term.known().unwrap())))
            .map(|sample| Term::number(sample.value))
    })
}

/// A number, which may be hidden from the machine as a secret is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    pub value: u8,
    pub hidden: bool,
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

impl Byte for Sample {
    fn number(value: u8) -> Self {
        Self { value, hidden: false }
    }
    fn known(self) -> Option<u8> {
        (!self.hidden).then_some(self.value)
    }
    fn xor(self, other: Self) -> Self {
        Self { value: self.value ^ other.value, hidden: self.hidden | other.hidden }
    }
    fn and(self, other: Self) -> Self {
        Self { value: self.value & other.value, hidden: self.hidden | other.hidden }
    }
    fn is_zero(self) -> Self {
        Self { value: if self.value == 0 { 0xff } else { 0 }, ..self }
    }
    fn sub_and_shift(block: Block<Self>) -> Block<Self> {
        std::array::from_fn(|i| {
            let from = block[5 * i % 16];
            Self { value: SBOX[usize::from(from.value)], ..from }
        })
    }
    fn mix(block: Block<Self>) -> Block<Self> {
        let hidden = block.iter().any(|byte| byte.hidden);
        std::array::from_fn(|i| {
            let from = |n: usize| block[i / 4 * 4 + (i + n) % 4].value;
            Self { value: times(from(0), 2) ^ times(from(1), 3) ^ from(2) ^ from(3), hidden }
        })
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
