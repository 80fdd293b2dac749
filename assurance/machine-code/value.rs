//! Values of general registers and of flags.

use crate::term::{Symbol, Term};

/// Whether a flag is set, for each of the cases that [`Value::Cases`] distinguishes. `None` if it
/// is undefined, or depends on a secret in some other way.
pub type Flag = Option<u16>;

/// The first of these is set in every other case, and so on.
pub const CASES: [u16; 4] = [0xaaaa, 0xcccc, 0xf0f0, 0xff00];

#[derive(Clone, Copy, PartialEq)]
pub enum Value {
    Number(u64),
    /// Numbers by which of up to four conditions on secrets hold.
    Cases([u64; 16]),
    Bytes([Term; 8]),
}

use Value::{Bytes, Cases, Number};

impl Value {
    pub fn from_bytes(from: &[Term]) -> Self {
        let mut bytes = [Term::ZERO; 8];
        bytes[..from.len()].copy_from_slice(from);
        let mut number = 0;
        for (i, byte) in bytes.iter().enumerate() {
            match byte.known() {
                Some(known) => number |= u64::from(known) << (8 * i),
                None => return Bytes(bytes),
            }
        }
        Number(number)
    }

    pub fn bytes(self) -> Result<[Term; 8], String> {
        match self {
            Number(number) => Ok(number.to_le_bytes().map(Term::number)),
            Bytes(bytes) => Ok(bytes),
            Cases(_) => Err("cannot take bytes of conditions".into()),
        }
    }

    /// The number, which the machine needs for what the caller says.
    pub fn number(self, what: &str) -> Result<u64, String> {
        match self {
            Number(number) => Ok(number),
            _ => Err(format!("{what} depends on a secret")),
        }
    }

    pub fn case(self, i: usize) -> Option<u64> {
        match self {
            Number(number) => Some(number),
            Cases(cases) => Some(cases[i]),
            Bytes(_) => None,
        }
    }

    pub fn from_cases(cases: [u64; 16]) -> Self {
        if cases.iter().all(|case| *case == cases[0]) { Number(cases[0]) } else { Cases(cases) }
    }

    /// Computes with numbers; `None` if one of the values is not made of numbers.
    pub fn map(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Option<Self> {
        if let (Number(a), Number(b)) = (self, other) {
            return Some(Number(f(a, b)));
        }
        let mut cases = [0; 16];
        for (i, case) in cases.iter_mut().enumerate() {
            *case = f(self.case(i)?, other.case(i)?);
        }
        Some(Self::from_cases(cases))
    }

    pub fn flag(set: Flag) -> Option<Self> {
        let set = set?;
        Some(Self::from_cases(std::array::from_fn(|i| u64::from(set >> i & 1))))
    }

    /// The lowest bytes; the others become zero.
    pub fn truncate(self, size: usize) -> Self {
        if size >= 8 {
            return self;
        }
        match self {
            Bytes(bytes) => Self::from_bytes(&bytes[..size]),
            _ => self.map(Number(0), |a, _| a & ((1 << (8 * size)) - 1)).unwrap_or(self),
        }
    }
}

/// Arithmetic of both CPUs.
#[derive(Clone, Copy, PartialEq)]
pub enum Operation {
    Add,
    Subtract,
    Multiply,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

impl Operation {
    /// Computes with numbers of `size` bytes. Returns the result, the carry or borrow, and whether
    /// there is an overflow.
    pub fn compute(self, size: usize, a: u64, b: u64, carry: u64) -> (u64, bool, bool) {
        let (bits, mask) = (8 * size as u64, u64::MAX >> (64 - 8 * size));
        let (x, y, c) = (i128::from(a), i128::from(b), i128::from(carry));
        let [sx, sy] = [a, b].map(|number| sign_extend(number, size));
        let wide = |exact: i128, signed: i128| {
            let result = exact as u64 & mask;
            let overflow = sign_extend(result, size) != signed;
            (result, exact as u128 & !u128::from(mask) != 0, overflow)
        };
        match self {
            Operation::Add => wide(x + y + c, sx + sy + c),
            Operation::Subtract => wide(x - y - c, sx - sy - c),
            Operation::Multiply => {
                let (product, _, overflow) = wide(sx * sy, sx * sy);
                (product, overflow, overflow)
            }
            Operation::And => (a & b, false, false),
            Operation::Or => (a | b, false, false),
            Operation::Xor => (a ^ b, false, false),
            Operation::ShiftLeft => {
                (a << b & mask, b > 0 && a >> bits.saturating_sub(b) & 1 == 1, false)
            }
            Operation::ShiftRight => (a >> b, b > 0 && a >> (b - 1) & 1 == 1, false),
        }
    }
}

fn sign_extend(value: u64, size: usize) -> i128 {
    i128::from((value << (64 - 8 * size)) as i64 >> (64 - 8 * size))
}

/// A condition: whether all of these bytes are zero. Distinguishes a new case unless they are
/// known.
pub fn all_zero(zeros: &mut Vec<Vec<Term>>, bytes: &[Term]) -> Flag {
    let bytes: Vec<Term> = bytes.iter().filter(|byte| **byte != Term::ZERO).copied().collect();
    if bytes.is_empty() {
        return Some(0xffff);
    }
    if bytes.iter().any(|byte| byte.known().is_some()) {
        return Some(0);
    }
    let at = zeros.iter().position(|known| *known == bytes).unwrap_or_else(|| {
        zeros.push(bytes);
        zeros.len() - 1
    });
    CASES.get(at).copied()
}
