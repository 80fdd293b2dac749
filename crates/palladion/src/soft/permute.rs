//! AES rounds by byte shuffles, for CPUs that have those but no AES instructions. SubBytes is
//! computed in a tower of fields whose small parts are looked up within a register (Hamburg,
//! "Accelerating AES with Vector Permute Instructions", 2009). A shuffle takes the same time for
//! all indices, and no memory is indexed by a secret.
//!
//! GF(2^8) is represented over GF(16) with a basis ζ, ζ̄ of conjugates whose product is 1. With x =
//! iζ + jζ̄, k = i + j and a = (ζ + ζ̄)^2, the norm of x is N = k^2 + aij, and 1/x = (iζ̄ + jζ)/N.
//! Two sums of inverses give it:
//!
//! ```text
//! io = j + 1/(1/i + a/k) = N/(k + ai)    jo = i + 1/(1/j + a/k) = N/(k + aj)
//! ```
//!
//! because 1/io and 1/jo are linear in i/N and j/N. The linear operations that follow, up to
//! MixColumns' multiplication by two, are part of the last tables. 1/0 is a byte with the highest
//! bit set. Looking it up gives zero, and adding anything to it leaves the highest bit set.
//!
//! A word of the state is kept in the basis of this tower: i in the upper half of a byte, k in the
//! lower half. XOR is the same in every basis. The AND of the key stream is not, so its words are
//! converted; the AES round of the same step uses the nibbles that the conversion looks up.

use super::gf256::{affine, mul, power, subfield};
use crate::block::{Blocks, Vector, Word};

/// Blocks whose bytes can be looked up in a table of sixteen bytes.
///
/// # Safety
/// The same as for [`Vector`].
pub(crate) unsafe trait Permute: Blocks {
    /// Loads the same table into every lane.
    ///
    /// # Safety
    /// The CPU has the instructions of the implementation.
    #[inline(always)]
    unsafe fn table(table: &'static [u8; 16]) -> Self {
        // SAFETY: the caller promises the CPU's instructions; the table is readable.
        unsafe { Self::splat(table.as_ptr()) }
    }

    /// Looks up each byte of `index` in the same lane of `self`: byte n for n below 16, zero for
    /// 128 and more. Other values do not occur.
    fn lookup(self, index: Self) -> Self;

    /// Splits each byte into its lower and upper half, as numbers below 16. The halves are pinned:
    /// otherwise the compiler computes them twice, in one form for lookups and in another for
    /// additions.
    fn nibbles(self) -> [Self; 2];
}

/// A word in the basis of the tower.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Permuted<B>(B);

#[cfg(all(test, palladion_proof, feature = "std", not(palladion_test_reduced)))]
impl<B: Copy> Permuted<B> {
    /// Returns the vector.
    pub(crate) fn inner(self) -> B {
        self.0
    }
}

/// Looks up the bytes of `index` in a table.
#[inline(always)]
fn lookup<B: Permute>(table: &'static [u8; 16], index: B) -> B {
    // SAFETY: `index` exists, so the CPU has the instructions.
    unsafe { B::table(table) }.lookup(index)
}

/// Permutes the bytes of each lane: byte i comes from byte `from[i]`.
#[inline(always)]
fn permute<B: Permute>(from: &'static [u8; 16], x: B) -> B {
    // SAFETY: `x` exists, so the CPU has the instructions.
    x.lookup(unsafe { B::table(from) })
}

/// Applies a linear map to each byte, with one table for each half.
#[inline(always)]
fn linear<B: Permute>(map: &'static [[u8; 16]; 2], x: B) -> B {
    let [low, high] = x.nibbles();
    lookup(&map[0], low).xor(lookup(&map[1], high))
}

// SAFETY: `xor` and `pin` are those of `B`, whose implementation of `Vector` keeps the contract.
unsafe impl<B: Permute> Vector for Permuted<B> {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0.xor(other.0))
    }
    #[inline(always)]
    fn pin(self) -> Self {
        Self(self.0.pin())
    }
}

// SAFETY: the operations are those of `B`: no branch or memory index depends on a value.
unsafe impl<B: Permute> Word for Permuted<B>
where
    B::Lane: Permute<Lane = B::Lane>,
{
    type Blocks = B;
    type Single = Permuted<B::Lane>;
    const SPILLS: bool = true;

    #[inline(always)]
    fn new(blocks: B) -> Self {
        Self(linear(&LOOKUPS.into_tower, blocks))
    }
    #[inline(always)]
    fn blocks(self) -> B {
        linear(&LOOKUPS.from_tower, self.0)
    }
    #[inline(always)]
    fn aes(self, round_key: Self) -> Self {
        let t = &LOOKUPS;
        let [k, i] = self.0.nibbles();
        let j = k.xor(i);
        let a_over_k = lookup(&t.a_over, k);
        let io = lookup(&t.one_over, lookup(&t.one_over, i).xor(a_over_k)).xor(j);
        let jo = lookup(&t.one_over, lookup(&t.one_over, j).xor(a_over_k)).xor(i);
        let s = lookup(&t.sub_bytes[0], io).xor(lookup(&t.sub_bytes[1], jo));
        let doubled = lookup(&t.doubled[0], io).xor(lookup(&t.doubled[1], jo));
        // ShiftRows and MixColumns: a column becomes 2a0 + 3a1 + a2 + a3 and so on, which is u0 +
        // u1 + a3 with ur = 2ar + a(r + 1).
        let u = doubled.xor(permute(&LOOKUPS.next_row, s));
        let mixed = permute(&SHIFT_ROWS[0], u)
            .xor(permute(&SHIFT_ROWS[1], u))
            .xor(permute(&SHIFT_ROWS[3], s));
        // SAFETY: `self` exists, so the CPU has the instructions.
        let constant = unsafe { B::table(&t.constant) };
        Self(round_key.0.xor(constant).xor(mixed))
    }
    #[inline(always)]
    fn rounds<const N: usize>(input: [Self; N], round_keys: [Self; N]) -> [Self; N] {
        let mut out = input;
        let mut i = 0;
        while i < N {
            let input = if i == 0 { input[0] } else { Self(input[i].0.after(out[i - 1].0)) };
            out[i] = input.aes(round_keys[i]);
            i += 1;
        }
        out
    }
}

/// `SHIFT_ROWS[n]`: ShiftRows, then row r taken from row r + n.
static SHIFT_ROWS: [[u8; 16]; 4] = {
    let mut from = [[0; 16]; 4];
    let mut n = 0;
    while n < 4 {
        let mut at = 0;
        while at < 16 {
            let (column, row) = (at / 4, (at + n) % 4);
            from[n][at] = ((column + row) % 4 * 4 + row) as u8;
            at += 1;
        }
        n += 1;
    }
    from
};

/// The lookup tables.
struct Lookups {
    /// From a byte of the standard to a byte of the tower, by its lower and upper half.
    into_tower: [[u8; 16]; 2],
    /// From a byte of the tower to a byte of the standard.
    from_tower: [[u8; 16]; 2],
    /// 1/x in GF(16).
    one_over: [u8; 16],
    /// a/x in GF(16).
    a_over: [u8; 16],
    /// SubBytes without its constant, by io and by jo.
    sub_bytes: [[u8; 16]; 2],
    /// SubBytes without its constant, times two.
    doubled: [[u8; 16]; 2],
    /// The constant of SubBytes, which goes through ShiftRows and MixColumns unchanged.
    constant: [u8; 16],
    /// The permutation that becomes "row r from row r + 1" after ShiftRows.
    next_row: [u8; 16],
}

static LOOKUPS: Lookups = {
    const fn one_over(a: u8) -> u8 {
        power(a, 254)
    }
    // 3 generates the multiplicative group, which has 255 elements. ζ is one of the 16 elements
    // other than 1 whose product with their conjugate, their 16th power, is 1.
    let zeta = power(3, 15);
    let conjugate = power(zeta, 16);
    let trace = zeta ^ conjugate;
    let a = mul(trace, trace);

    let small = subfield();
    const fn number(small: &[u8; 16], element: u8) -> u8 {
        let mut n = 0;
        while small[n] != element {
            n += 1;
        }
        n as u8
    }

    // Bytes of the tower: iζ + jζ̄ = i(ζ + ζ̄) + kζ̄.
    let (mut to, mut from) = ([0; 256], [0; 256]);
    let mut n = 0;
    while n < 256 {
        from[n] = mul(small[n >> 4], trace) ^ mul(small[n & 15], conjugate);
        to[from[n] as usize] = n as u8;
        n += 1;
    }

    // 1/x = p ((1 + a)ζ̄ + ζ)/a^2 + q (ζ̄ + (1 + a)ζ)/a^2 with p = 1/io and q = 1/jo.
    let scale = one_over(mul(a, a));
    let by_io = mul(scale, mul(1 ^ a, conjugate) ^ zeta);
    let by_jo = mul(scale, conjugate ^ mul(1 ^ a, zeta));

    let mut t = Lookups {
        into_tower: [[0; 16]; 2],
        from_tower: [[0; 16]; 2],
        one_over: [0x80; 16],
        a_over: [0x80; 16],
        sub_bytes: [[0; 16]; 2],
        doubled: [[0; 16]; 2],
        constant: [to[0x63]; 16],
        next_row: [0; 16],
    };
    let mut at = 0;
    while at < 16 {
        t.next_row[SHIFT_ROWS[0][at] as usize] = SHIFT_ROWS[1][at];
        at += 1;
    }
    let mut n = 0;
    while n < 16 {
        t.into_tower[0][n] = to[n];
        t.into_tower[1][n] = to[n << 4];
        t.from_tower[0][n] = from[n];
        t.from_tower[1][n] = from[n << 4];
        if n != 0 {
            let inverse = one_over(small[n]);
            t.one_over[n] = number(&small, inverse);
            t.a_over[n] = number(&small, mul(a, inverse));
            let (by_io, by_jo) = (affine(mul(inverse, by_io)), affine(mul(inverse, by_jo)));
            t.sub_bytes[0][n] = to[by_io as usize];
            t.sub_bytes[1][n] = to[by_jo as usize];
            t.doubled[0][n] = to[mul(2, by_io) as usize];
            t.doubled[1][n] = to[mul(2, by_jo) as usize];
        }
        n += 1;
    }
    t
};
