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

use core::mem::MaybeUninit;

use super::gf256::{affine, mul, power, subfield};
use crate::block::{Blocks, Vector, Word, one_form};
use crate::memory::Direction;

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

    /// Whether a state stays in memory, for compilers that would interleave all rounds of a step
    /// and run out of registers.
    const IN_MEMORY: bool = false;

    /// Returns the same value. If the compiler would interleave so much that it runs out of
    /// registers, an implementation makes the value depend on `earlier`.
    #[inline(always)]
    fn after(self, _earlier: Self) -> Self {
        self
    }
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
    one_form!();
    const CONVERTS: bool = true;
    const SPILLS: bool = true;

    #[inline(always)]
    fn new(blocks: B) -> Self {
        Self(linear(&LOOKUPS.into_tower, blocks))
    }
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller promises the CPU's instructions, which are those of `B`.
        Self(unsafe { B::zero() })
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

    const IN_MEMORY: bool = B::IN_MEMORY;
    #[inline(always)]
    fn mix<const N: usize>(
        state: &mut [Self; N],
        input: [Self; 4],
        ctx: Option<Self>,
        steps: usize,
    ) {
        let mut slots = Slots::new();
        let mut input = input;
        slots.enter(state);
        for _ in 0..steps {
            if let Some(ctx) = ctx {
                slots.set(3, slots.get(3).xor(ctx));
                slots.set(N - 1, slots.get(N - 1).xor(ctx));
            }
            slots.update([input[0], input[1]]);
            if N == 6 {
                input = [input[1], input[2], input[3], input[0]];
            }
        }
        slots.leave(state);
    }
    #[inline(always)]
    unsafe fn process<const N: usize>(
        state: &mut [Self; N],
        direction: Option<Direction>,
        src: *const u8,
        dst: *mut u8,
        row: usize,
        steps: usize,
    ) {
        let two = N == 8; // blocks in a step
        let (mut src, mut dst) = (src, dst);
        let mut slots = Slots::new();
        slots.enter(state);
        for _ in 0..steps {
            // SAFETY: the caller promises readable and writable steps. `state` exists, so the CPU
            // has the instructions.
            unsafe {
                let mut m = [B::load(src), if two { B::load(src.add(row)) } else { B::zero() }];
                if let Some(direction) = direction {
                    let output = slots.add_keystream(m);
                    output[0].store(dst);
                    if two {
                        output[1].store(dst.add(row));
                    }
                    if direction == Direction::Decrypt {
                        m = output;
                    }
                }
                slots.update([Self::new(m[0]), if two { Self::new(m[1]) } else { Self::zero() }]);
            }
            src = src.wrapping_add(if two { 2 * row } else { row });
            dst = dst.wrapping_add(if two { 2 * row } else { row });
        }
        slots.leave(state);
    }
}

/// A state in memory: 8 words of AEGIS-128 or 6 of AEGIS-256. All accesses are volatile, so the
/// compiler keeps their order, and with it that of the rounds: two of them, then two stores. The
/// registers are left for the tables.
struct Slots<B, const N: usize>([MaybeUninit<Permuted<B>>; N]);

impl<B: Permute, const N: usize> Slots<B, N>
where
    B::Lane: Permute<Lane = B::Lane>,
{
    #[inline(always)]
    fn new() -> Self {
        const { assert!(N == 8 || N == 6) };
        Self([const { MaybeUninit::uninit() }; N])
    }
    /// Returns word `i`, after `enter`.
    #[inline(always)]
    fn get(&self, i: usize) -> Permuted<B> {
        // SAFETY: a reference is readable, and `enter` wrote all words.
        unsafe { (&raw const self.0[i]).cast::<Permuted<B>>().read_volatile() }
    }
    #[inline(always)]
    fn set(&mut self, i: usize, word: Permuted<B>) {
        // SAFETY: a reference is writable.
        unsafe { (&raw mut self.0[i]).write_volatile(MaybeUninit::new(word)) };
    }
    /// Writes all words.
    #[inline(always)]
    fn enter(&mut self, state: &[Permuted<B>; N]) {
        Self::each(|i| self.set(i, state[i]));
    }
    /// Returns all words and wipes the memory.
    #[inline(always)]
    fn leave(&mut self, state: &mut [Permuted<B>; N]) {
        // SAFETY: a word exists, so the CPU has the instructions.
        let zero = unsafe { Permuted::zero() };
        Self::each(|i| {
            state[i] = self.get(i);
            self.set(i, zero);
        });
    }
    /// Calls a function with the number of each word. Not a loop: for numbers that it does not
    /// know, the compiler would copy the state to another array, where it would stay.
    #[inline(always)]
    fn each(mut f: impl FnMut(usize)) {
        f(0);
        f(1);
        f(2);
        f(3);
        f(4);
        f(5);
        if N == 8 {
            f(6);
            f(7);
        }
    }

    /// Update(M0, M1), or Update(M0) of AEGIS-256.
    #[inline(always)]
    fn update(&mut self, m: [Permuted<B>; 2]) {
        let last = self.get(N - 1);
        if N == 8 {
            let (s5, s6) = (self.get(5), self.get(6));
            let (s7, s6) = (s6.aes(last), s5.aes(s6));
            self.set(7, s7);
            self.set(6, s6);
        }
        let (s3, s4, s5) = (self.get(3), self.get(4), if N == 8 { self.get(5) } else { last });
        let (s5, s4) = (s4.aes(s5), s3.aes(s4));
        self.set(5, s5);
        self.set(4, if N == 8 { s4.xor(m[1]) } else { s4 });
        let (s1, s2, s3) = (self.get(1), self.get(2), self.get(3));
        let (s3, s2) = (s2.aes(s3), s1.aes(s2));
        self.set(3, s3);
        self.set(2, s2);
        let (s0, s1) = (self.get(0), self.get(1));
        let (s1, s0) = (s0.aes(s1), last.aes(s0));
        self.set(1, s1);
        self.set(0, s0.xor(m[0]));
    }

    /// Adds the key stream to a step; with one block, the second is meaningless.
    #[inline(always)]
    fn add_keystream(&self, m: [B; 2]) -> [B; 2] {
        let (s2, s3) = (self.get(2).blocks(), self.get(3).blocks());
        if N == 6 {
            let sum = self.get(1).xor(self.get(4)).xor(self.get(5));
            return [m[0].xor(sum.blocks()).xor_and(s2, s3), m[1]];
        }
        let (s1, s5) = (self.get(1).blocks(), self.get(5).blocks());
        let (s6, s7) = (self.get(6).blocks(), self.get(7).blocks());
        [m[0].xor_and(s2, s3).xor3(s6, s1), m[1].xor_and(s6, s7).xor3(s2, s5)]
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
