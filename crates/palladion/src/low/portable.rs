//! AES rounds without AES instructions and without a table: eight blocks at a time, bitsliced. Nothing here depends on
//! a secret but the values of bits, whatever the machine.

use super::aegis128::Aegis128;
use super::aegis256::Aegis256;
use super::blocks::{self, Blocks, MAX_LANES, Vector, Word};

/// One block, byte 0 in the lowest bits.
#[derive(Clone, Copy)]
pub(crate) struct Soft(u128);

// SAFETY: plain arithmetic; no branch or index depends on a value.
unsafe impl Vector for Soft {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
}

// SAFETY: likewise.
unsafe impl Word for Soft {
    type Blocks = Self;
    type Single = Self;

    #[inline(always)]
    fn new(blocks: Self) -> Self {
        blocks
    }
    #[inline(always)]
    fn blocks(self) -> Self {
        self
    }
    #[inline(always)]
    fn aes(self, round_key: Self) -> Self {
        Self::rounds([self], [round_key])[0]
    }
    #[inline(always)]
    fn rounds<const N: usize>(input: [Self; N], round_keys: [Self; N]) -> [Self; N] {
        let mut blocks = [0; 8];
        for (block, input) in blocks.iter_mut().zip(input) {
            *block = input.0;
        }
        rounds(&mut blocks);
        let mut out = round_keys;
        for (out, block) in out.iter_mut().zip(blocks) {
            out.0 ^= block;
        }
        out
    }
}

// SAFETY: likewise.
unsafe impl Blocks for Soft {
    const LANES: usize = 1;
    type Lane = Self;

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: the caller grants 16 bytes; a byte array needs no alignment.
        Self(u128::from_le_bytes(unsafe { src.cast::<[u8; 16]>().read() }))
    }
    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: likewise.
        unsafe { dst.cast::<[u8; 16]>().write(self.0.to_le_bytes()) }
    }
    #[inline(always)]
    unsafe fn splat(block: *const u8) -> Self {
        // SAFETY: passed on.
        unsafe { Self::load(block) }
    }
    #[inline(always)]
    unsafe fn zero() -> Self {
        Self(0)
    }
    #[inline(always)]
    unsafe fn load_partial(src: *const u8, len: usize) -> Self {
        // SAFETY: passed on.
        unsafe { blocks::load_by_buffer(src, len) }
    }
    #[inline(always)]
    unsafe fn store_partial(self, dst: *mut u8, len: usize) {
        // SAFETY: passed on.
        unsafe { blocks::store_by_buffer(self, dst, len) }
    }
    #[inline(always)]
    fn truncate(self, len: usize) -> Self {
        debug_assert!(len <= 16);
        Self(if len < 16 { self.0 & ((1 << (8 * len)) - 1) } else { self.0 })
    }
    #[inline(always)]
    fn xor_and(self, b: Self, c: Self) -> Self {
        Self(self.0 ^ (b.0 & c.0))
    }
    #[inline(always)]
    fn first(self) -> Self {
        self
    }
    #[inline(always)]
    fn lanes(self) -> [Self; MAX_LANES] {
        [self; MAX_LANES]
    }
    #[inline(always)]
    fn fold(self) -> Self {
        self
    }
    #[inline(always)]
    unsafe fn from_lanes(lanes: [Self; MAX_LANES]) -> Self {
        lanes[0]
    }
}

/// SubBytes, ShiftRows and MixColumns on eight blocks.
#[inline(never)]
fn rounds(blocks: &mut [u128; 8]) {
    transpose(blocks);
    sub_bytes(blocks);
    for plane in blocks.iter_mut() {
        *plane = shift_rows(*plane);
    }
    mix_columns(blocks);
    transpose(blocks);
}

/// `byte` in each of the sixteen bytes.
const fn bytes(byte: u8) -> u128 {
    u128::from_le_bytes([byte; 16])
}

/// `column` in each of the four columns.
const fn columns(column: u32) -> u128 {
    column as u128 * 0x0000_0001_0000_0001_0000_0001_0000_0001
}

/// From eight blocks to eight bit planes and back: afterwards bit b of byte i of plane p is bit p of byte i of block b.
fn transpose(x: &mut [u128; 8]) {
    for (distance, mask) in [(1, bytes(0x55)), (2, bytes(0x33)), (4, bytes(0x0f))] {
        for i in 0..8 {
            if i & distance == 0 {
                let j = (i + distance) % 8; // which is less than 8 already; so the optimiser sees it too
                let t = ((x[i] >> distance) ^ x[j]) & mask;
                x[j] ^= t;
                x[i] ^= t << distance;
            }
        }
    }
}

/// Row r of the state moves r columns: in a plane, byte 4c + r comes from byte 4(c + r) + r.
fn shift_rows(x: u128) -> u128 {
    (x & columns(0xff))
        | (x & columns(0xff00)).rotate_right(32)
        | (x & columns(0xff_0000)).rotate_right(64)
        | (x & columns(0xff00_0000)).rotate_right(96)
}

/// MixColumns on planes: a column (a0, a1, a2, a3) becomes 2 (a0 ^ a1) ^ a1 ^ a2 ^ a3, and so on around.
fn mix_columns(x: &mut [u128; 8]) {
    /// Row r of each column from row r + 1.
    fn next_row(x: u128) -> u128 {
        ((x >> 8) & columns(0x00ff_ffff)) | ((x << 24) & columns(0xff00_0000))
    }
    /// Row r of each column from row r + 2.
    fn opposite_row(x: u128) -> u128 {
        ((x >> 16) & columns(0xffff)) | ((x << 16) & columns(0xffff_0000))
    }
    let mut doubled = [0; 8]; // a0 ^ a1, before the multiplication by two moves it one plane up
    let mut rest = [0; 8]; // a1 ^ a2 ^ a3
    for i in 0..8 {
        let next = next_row(x[i]);
        doubled[i] = x[i] ^ next;
        rest[i] = next ^ opposite_row(doubled[i]);
    }
    let carry = doubled[7]; // x^8 = x^4 + x^3 + x + 1
    x[0] = rest[0] ^ carry;
    x[1] = rest[1] ^ doubled[0] ^ carry;
    x[2] = rest[2] ^ doubled[1];
    x[3] = rest[3] ^ doubled[2] ^ carry;
    x[4] = rest[4] ^ doubled[3] ^ carry;
    x[5] = rest[5] ^ doubled[4];
    x[6] = rest[6] ^ doubled[5];
    x[7] = rest[7] ^ doubled[6];
}

/// The S-box on planes, as the circuit of 113 gates by Boyar and Peralta ("A depth-16 circuit for the AES S-box",
/// ePrint 2011/332), in their names: inputs x0 (highest bit) to x7, outputs s0 (highest bit) to s7.
#[rustfmt::skip]
fn sub_bytes(planes: &mut [u128; 8]) {
    let [x7, x6, x5, x4, x3, x2, x1, x0] = *planes;
    // The linear layer before the inversion.
    let y14 = x3 ^ x5; let y13 = x0 ^ x6; let y9 = x0 ^ x3; let y8 = x0 ^ x5;
    let t0 = x1 ^ x2; let y1 = t0 ^ x7; let y4 = y1 ^ x3; let y12 = y13 ^ y14;
    let y2 = y1 ^ x0; let y5 = y1 ^ x6; let y3 = y5 ^ y8; let t1 = x4 ^ y12;
    let y15 = t1 ^ x5; let y20 = t1 ^ x1; let y6 = y15 ^ x7; let y10 = y15 ^ t0;
    let y11 = y20 ^ y9; let y7 = x7 ^ y11; let y17 = y10 ^ y11; let y19 = y10 ^ y8;
    let y16 = t0 ^ y11; let y21 = y13 ^ y16; let y18 = x0 ^ y16;
    // Inversion in GF(2^8), by way of GF(2^4).
    let t2 = y12 & y15; let t3 = y3 & y6; let t4 = t3 ^ t2; let t5 = y4 & x7; let t6 = t5 ^ t2;
    let t7 = y13 & y16; let t8 = y5 & y1; let t9 = t8 ^ t7; let t10 = y2 & y7; let t11 = t10 ^ t7;
    let t12 = y9 & y11; let t13 = y14 & y17; let t14 = t13 ^ t12; let t15 = y8 & y10; let t16 = t15 ^ t12;
    let t17 = t4 ^ t14; let t18 = t6 ^ t16; let t19 = t9 ^ t14; let t20 = t11 ^ t16;
    let t21 = t17 ^ y20; let t22 = t18 ^ y19; let t23 = t19 ^ y21; let t24 = t20 ^ y18;
    let t25 = t21 ^ t22; let t26 = t21 & t23; let t27 = t24 ^ t26; let t28 = t25 & t27; let t29 = t28 ^ t22;
    let t30 = t23 ^ t24; let t31 = t22 ^ t26; let t32 = t31 & t30; let t33 = t32 ^ t24; let t34 = t23 ^ t33;
    let t35 = t27 ^ t33; let t36 = t24 & t35; let t37 = t36 ^ t34; let t38 = t27 ^ t36; let t39 = t29 & t38;
    let t40 = t25 ^ t39; let t41 = t40 ^ t37; let t42 = t29 ^ t33; let t43 = t29 ^ t40; let t44 = t33 ^ t37;
    let t45 = t42 ^ t41;
    let z0 = t44 & y15; let z1 = t37 & y6; let z2 = t33 & x7; let z3 = t43 & y16; let z4 = t40 & y1;
    let z5 = t29 & y7; let z6 = t42 & y11; let z7 = t45 & y17; let z8 = t41 & y10; let z9 = t44 & y12;
    let z10 = t37 & y3; let z11 = t33 & y4; let z12 = t43 & y13; let z13 = t40 & y5; let z14 = t29 & y2;
    let z15 = t42 & y9; let z16 = t45 & y14; let z17 = t41 & y8;
    // The linear layer after it, with the affine constant as four inversions.
    let t46 = z15 ^ z16; let t47 = z10 ^ z11; let t48 = z5 ^ z13; let t49 = z9 ^ z10; let t50 = z2 ^ z12;
    let t51 = z2 ^ z5; let t52 = z7 ^ z8; let t53 = z0 ^ z3; let t54 = z6 ^ z7; let t55 = z16 ^ z17;
    let t56 = z12 ^ t48; let t57 = t50 ^ t53; let t58 = z4 ^ t46; let t59 = z3 ^ t54; let t60 = t46 ^ t57;
    let t61 = z14 ^ t57; let t62 = t52 ^ t58; let t63 = t49 ^ t58; let t64 = z4 ^ t59; let t65 = t61 ^ t62;
    let t66 = z1 ^ t63; let t67 = t64 ^ t65;
    let s0 = t59 ^ t63; let s6 = t56 ^ !t62; let s7 = t48 ^ !t60; let s3 = t53 ^ t66;
    let s4 = t51 ^ t66; let s5 = t47 ^ t65; let s1 = t64 ^ !s3; let s2 = t55 ^ !t67;
    *planes = [s7, s6, s5, s4, s3, s2, s1, s0];
}

// One set of kernels for all degrees: to know the degree at compile time saves nothing that counts here.
super::kernels::tables! {
    aegis128: [Aegis128<Soft>, 0; Aegis128<Soft>, 0; Aegis128<Soft>, 0; Aegis128<Soft>, 0;]
    aegis256: [Aegis256<Soft>, 0; Aegis256<Soft>, 0; Aegis256<Soft>, 0; Aegis256<Soft>, 0;]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The S-box from its definition: inversion in GF(2^8), then the affine map.
    fn sbox(x: u8) -> u8 {
        fn mul(mut a: u8, mut b: u8) -> u8 {
            let mut product = 0;
            while b != 0 {
                if b & 1 == 1 {
                    product ^= a;
                }
                a = (a << 1) ^ if a >> 7 == 1 { 0x1b } else { 0 };
                b >>= 1;
            }
            product
        }
        let inverse = (0..=255).find(|&y| mul(x, y) == 1).unwrap_or(0);
        (0..5).fold(0x63, |sum, i| sum ^ inverse.rotate_left(i))
    }

    #[test]
    fn s_box_is_right_for_every_byte_in_every_block() {
        for first in 0..=255u8 {
            let byte = |block: usize, i: usize| first.wrapping_add((block * 16 + i) as u8);
            let mut x = core::array::from_fn(|b| u128::from_le_bytes(core::array::from_fn(|i| byte(b, i))));
            transpose(&mut x);
            sub_bytes(&mut x);
            transpose(&mut x);
            for (b, block) in x.iter().enumerate() {
                for (i, out) in block.to_le_bytes().into_iter().enumerate() {
                    assert_eq!(out, sbox(byte(b, i)));
                }
            }
        }
    }

    #[test]
    fn aes_round_of_the_standard() {
        let input = Soft(u128::from_le_bytes(core::array::from_fn(|i| i as u8)));
        let round_key = Soft(u128::from_le_bytes(core::array::from_fn(|i| 0x10 + i as u8)));
        let expected = 0x7a7b_4e56_3878_2546_a8c0_477a_3b81_3f43_u128; // RFC 10032, appendix A.1
        assert_eq!(input.aes(round_key).0, expected.swap_bytes());
    }
}
