//! Bytes of bits, for code that computes AES rounds from them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::LazyLock;

use palladion_reference::{Byte, SBOX, gf_mul};

use crate::term::{Place, Symbol, mix};

/// The truth table of a function of a byte: bit `x % 64` of word `x / 64` is its value at `x`.
pub type Table = [u64; 4];

/// A bit is a sum of atoms: of symbols, of products of bits, and of functions of an origin. An
/// origin is a byte that an AES round of the standard takes; whoever computes that round computes
/// with functions of it.
///
/// The sum of an atom is a hash; 1 is the number. The hash of a function is linear in the function,
/// and that of a linear function is the sum of bits of the origin. So bits that differ have the
/// same sum with a probability of about 2^-64 or less, if the hashes are as good as random.
#[derive(Clone, Copy, Debug)]
pub enum Bit {
    Sum(u128),
    /// A function of the origin with this number, not constant. Its sum is found when it is asked
    /// for.
    Of(u32, Table),
}

/// Eight bits, the lowest first.
#[derive(Clone, Copy, Debug)]
pub struct Bits(pub [Bit; 8]);

pub const ZERO: Bit = Bit::Sum(0);

/// The functions that are a bit of the byte.
static PLANES: LazyLock<[Table; 8]> = LazyLock::new(|| tables(|x| x));

/// SubBytes, and SubBytes times two.
static SUB_BYTES: LazyLock<[[Table; 8]; 2]> =
    LazyLock::new(|| [1, 2].map(|factor| tables(|x| gf_mul(SBOX[usize::from(x)], factor))));

/// The bits of a function of a byte.
fn tables(f: impl Fn(u8) -> u8) -> [Table; 8] {
    let word = |bit: usize, word: usize| {
        let value = |x: usize| u64::from(f((64 * word + x) as u8) >> bit & 1) << x;
        (0..64).map(value).sum()
    };
    std::array::from_fn(|bit| std::array::from_fn(|n| word(bit, n)))
}

pub fn map(a: Table, b: Table, f: impl Fn(u64, u64) -> u64) -> Table {
    std::array::from_fn(|n| f(a[n], b[n]))
}

/// The coefficients of a function as a sum of products of bits.
fn coefficients(mut table: Table) -> Table {
    for by in [1, 2, 4, 8, 16, 32] {
        // The numbers with a zero at this bit.
        let mask = u64::MAX / ((1 << by) + 1);
        table = table.map(|word| word ^ (word & mask) << by);
    }
    let [a, b, c, d] = table;
    [a, a ^ b, a ^ c, a ^ b ^ c ^ d]
}

struct Known {
    /// The sums of the bits of each origin, and random numbers for its functions.
    origins: Vec<([u128; 8], [u128; 4])>,
    /// The sums of bits of an origin, without the number: which origin, and which bits.
    linear: HashMap<u128, (u32, u8)>,
    /// The two bits of an OR.
    ors: HashMap<u128, [u128; 2]>,
    /// Which sums of bits of origins were found. All others are left out of `linear` unless `all`.
    found: [Cell<bool>; 256],
    all: bool,
}

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::new(Known::new([false; 256], true));
}

/// Runs a proof. First with the sums of bits of origins that earlier ones found; if it fails, once
/// more with all of them, which takes several times as long.
pub fn prove(proof: impl Fn() -> Result<(), String>) -> Result<(), String> {
    let again = |all: bool| {
        KNOWN.with_borrow_mut(|known| {
            if all || known.all || known.linear.len() > 1 << 20 {
                *known = Known::new(known.found.each_ref().map(Cell::get), all);
            }
        });
        proof()
    };
    again(false).or_else(|_| again(true))
}

impl Known {
    fn new(found: [bool; 256], all: bool) -> Self {
        let (linear, ors) = Default::default();
        Self { origins: Vec::new(), linear, ors, found: found.map(Cell::new), all }
    }

    fn sum(&self, bit: Bit) -> u128 {
        let (origin, table) = match bit {
            Bit::Sum(sum) => return sum,
            Bit::Of(origin, table) => (origin, table),
        };
        let (bits, keys) = &self.origins[origin as usize];
        let mut products = coefficients(table);
        let mut sum = u128::from(products[0] & 1);
        products[0] &= !1;
        for (n, bit) in bits.iter().enumerate() {
            let (word, at) = ((1 << n) / 64, (1 << n) % 64);
            if products[word] >> at & 1 == 1 {
                sum ^= bit;
                products[word] ^= 1 << at;
            }
        }
        for (mut word, key) in products.into_iter().zip(keys) {
            while word != 0 {
                sum ^= (key << word.trailing_zeros()) & !1;
                word &= word - 1;
            }
        }
        sum
    }

    /// The origin that a bit is a function of.
    fn function(&self, bit: Bit) -> Option<(u32, Table)> {
        let sum = match bit {
            Bit::Of(origin, table) => return Some((origin, table)),
            Bit::Sum(sum) => sum,
        };
        let &(origin, which) = self.linear.get(&(sum & !1))?;
        self.found[usize::from(which)].set(true);
        let (mut table, mut found) = ([0; 4], 0);
        for n in (0..8).filter(|n| which >> n & 1 == 1) {
            table = map(table, PLANES[n], |a, b| a ^ b);
            found ^= self.origins[origin as usize].0[n];
        }
        Some((origin, if found == sum { table } else { table.map(|word| !word) }))
    }

    fn functions(&self, bits: &[Bit]) -> Option<(u32, Vec<Table>)> {
        let function = |bit: &Bit| match bit.known() {
            Some(known) => Some((None, [u64::from(known).wrapping_neg(); 4])),
            None => self.function(*bit).map(|(origin, table)| (Some(origin), table)),
        };
        let (origins, tables): (Vec<_>, Vec<_>) =
            bits.iter().map(function).collect::<Option<Vec<_>>>()?.into_iter().unzip();
        let origin = origins.iter().find_map(|origin| *origin)?;
        origins.iter().flatten().all(|other| *other == origin).then_some((origin, tables))
    }

    /// The sum of two bits that are not both sums.
    fn xor(&self, a: Bit, b: Bit) -> Bit {
        match (self.function(a), self.function(b)) {
            (Some((i, s)), Some((j, t))) if i == j => of(i, map(s, t, |a, b| a ^ b)),
            _ => Bit::Sum(self.sum(a) ^ self.sum(b)),
        }
    }

    fn product(&mut self, a: Bit, b: Bit) -> Bit {
        if let (Some((i, s)), Some((j, t))) = (self.function(a), self.function(b))
            && i == j
        {
            return of(i, map(s, t, |a, b| a & b));
        }
        let (a, b) = (self.sum(a), self.sum(b));
        let (c, d) = (a & 1, b & 1);
        let (a, b) = (a ^ c, b ^ d);
        if a == b {
            return Bit::Sum(if c == d { a | c } else { 0 });
        }
        // (a + c)(b + d) = ab + ad + bc + cd
        let product = mix(mix(mix(1) ^ a.min(b)) ^ a.max(b)) & !1;
        Bit::Sum(product ^ (a * d) ^ (b * c) ^ (c & d))
    }

    /// Makes a byte an origin unless it is made of one.
    fn add(&mut self, byte: Bits) -> (u32, Vec<Table>) {
        if let Some((origin, functions)) = self.functions(&byte.0) {
            return (origin, functions);
        }
        let (sums, number) = (byte.0.map(|bit| self.sum(bit)), self.origins.len() as u32);
        let key = sums.iter().fold(mix(2), |hash, sum| mix(hash ^ sum));
        self.origins.push((sums, [0, 1, 2, 3].map(|n| mix(key ^ n))));
        let mut all = [0; 256];
        for which in 1..256usize {
            let last = which & which.wrapping_neg();
            all[which] = all[which ^ last] ^ sums[last.trailing_zeros() as usize] & !1;
            if all[which] != 0 && (self.all || last == which || self.found[which].get()) {
                self.linear.entry(all[which]).or_insert((number, which as u8));
            }
        }
        (number, PLANES.to_vec())
    }
}

/// A function of an origin.
pub fn of(origin: u32, table: Table) -> Bit {
    match table {
        [0, 0, 0, 0] => ZERO,
        [u64::MAX, u64::MAX, u64::MAX, u64::MAX] => Bit::Sum(1),
        _ => Bit::Of(origin, table),
    }
}

/// The origin of some bits, if they are functions of one.
pub fn functions(bits: &[Bit]) -> Option<(u32, Vec<Table>)> {
    KNOWN.with_borrow(|known| known.functions(bits))
}

impl Bit {
    pub fn sum(self) -> u128 {
        KNOWN.with_borrow(|known| known.sum(self))
    }
    /// The number, if the bit is one.
    pub fn known(self) -> Option<bool> {
        match self {
            Self::Sum(sum @ 0..2) => Some(sum == 1),
            _ => None,
        }
    }
    pub fn xor(self, other: Self) -> Self {
        match (self, other) {
            (Self::Sum(a), Self::Sum(b)) => Self::Sum(a ^ b),
            (Self::Sum(0), bit) | (bit, Self::Sum(0)) => bit,
            (Self::Sum(1), Self::Of(n, table)) | (Self::Of(n, table), Self::Sum(1)) => {
                Self::Of(n, table.map(|word| !word))
            }
            _ => KNOWN.with_borrow(|known| known.xor(self, other)),
        }
    }
    pub fn not(self) -> Self {
        self.xor(Self::Sum(1))
    }
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Sum(0), _) | (_, Self::Sum(0)) => ZERO,
            (Self::Sum(1), bit) | (bit, Self::Sum(1)) => bit,
            _ => KNOWN.with_borrow_mut(|known| known.product(self, other)),
        }
    }
    pub fn or(self, other: Self) -> Self {
        let or = self.not().and(other.not()).not();
        if self.known().is_none() && other.known().is_none() {
            let bits = [self.sum(), other.sum()];
            KNOWN.with_borrow_mut(|known| known.ors.insert(known.sum(or), bits));
        }
        or
    }
    /// Whether all bits are zero. An OR counts as its two bits, so the way to it does not matter.
    pub fn none(bits: impl IntoIterator<Item = Self>) -> Self {
        let (mut sums, mut left) = (Vec::new(), Vec::new());
        KNOWN.with_borrow(|known| {
            left.extend(bits.into_iter().map(|bit| known.sum(bit)));
            while let Some(sum) = left.pop() {
                match known.ors.get(&sum) {
                    Some(bits) => left.extend(bits),
                    None => sums.push(sum),
                }
            }
        });
        sums.sort_unstable();
        sums.dedup();
        sums.retain(|sum| *sum != 0);
        match sums[..] {
            [] => Self::Sum(1),
            [1, ..] => ZERO,
            [sum] => Self::Sum(sum ^ 1),
            _ => Self::Sum(sums.iter().fold(mix(3), |hash, sum| mix(hash ^ sum)) & !1),
        }
    }
}

impl PartialEq for Bits {
    fn eq(&self, other: &Self) -> bool {
        self.0.map(Bit::sum) == other.0.map(Bit::sum)
    }
}

impl Symbol for Bits {
    fn symbol(name: u8, at: usize) -> Self {
        let byte = mix(mix(4) ^ (u128::from(name) << 64 | at as u128));
        Self(std::array::from_fn(|n| Bit::Sum(mix(byte ^ n as u128) & !1)))
    }
    fn known(self) -> Option<u8> {
        let bits = self.0.iter().enumerate();
        bits.map(|(n, bit)| Some(u8::from(bit.known()?) << n)).sum()
    }
    /// The words have to be origins.
    fn places(state: &[Self], words: &[Self]) -> Vec<Place> {
        let words = words.iter().enumerate();
        let words: HashMap<u32, usize> =
            words.filter_map(|(at, word)| Some((functions(&word.0)?.0, at))).collect();
        let place = |bit: &Bit| {
            let (origin, table) = functions(&[*bit])?;
            let products = coefficients(table[0]);
            let is_set = |n: usize| products[n / 64] >> (n % 64) & 1;
            let which = (0..8).map(|n| (is_set(1 << n) as u8) << n).sum();
            Some((*words.get(&origin)?, which, is_set(0) == 1))
        };
        state.iter().flat_map(|byte| &byte.0).map(place).collect()
    }
    fn place(state: &mut [Self], places: &[Place], words: &[Self]) {
        let bits = state.iter_mut().flat_map(|byte| &mut byte.0);
        for (bit, place) in bits.zip(places) {
            if let Some((at, which, inverted)) = *place {
                let word = (0..8).filter(|n| which >> n & 1 == 1).map(|n| words[at].0[n]);
                *bit = word.fold(Bit::Sum(inverted.into()), Bit::xor);
            }
        }
    }
}

impl Byte for Bits {
    fn constant(byte: u8) -> Self {
        Self(std::array::from_fn(|n| Bit::Sum(u128::from(byte >> n & 1))))
    }
    fn xor(self, other: Self) -> Self {
        Self(std::array::from_fn(|n| self.0[n].xor(other.0[n])))
    }
    fn and(self, other: Self) -> Self {
        Self(std::array::from_fn(|n| self.0[n].and(other.0[n])))
    }
    fn aes_round(input: [Self; 16], rk: [Self; 16]) -> [Self; 16] {
        // SubBytes, and two times it.
        let parts = input.map(|byte| {
            if let Some(byte) = byte.known() {
                let byte = SBOX[usize::from(byte)];
                return [1, 2].map(|factor| Self::constant(gf_mul(byte, factor)));
            }
            let (origin, bits) = KNOWN.with_borrow_mut(|known| known.add(byte));
            let functions = if bits == *PLANES {
                *SUB_BYTES
            } else {
                let value = |x: u8| {
                    let bit = |n: usize| bits[n][usize::from(x / 64)] >> (x % 64) & 1;
                    (0..8).map(|n| (bit(n) as u8) << n).sum::<u8>()
                };
                [1, 2].map(|factor| tables(|x| gf_mul(SBOX[usize::from(value(x))], factor)))
            };
            functions.map(|bits| Self(bits.map(|table| Bit::Sum(of(origin, table).sum()))))
        });
        std::array::from_fn(|i| {
            // The column and the row of FIPS 197.
            let from = |n: usize| parts[4 * ((i / 4 + (i + n) % 4) % 4) + (i + n) % 4];
            let three = from(1)[0].xor(from(1)[1]);
            from(0)[1].xor(three).xor(from(2)[0]).xor(from(3)[0]).xor(rk[i])
        })
    }
}
