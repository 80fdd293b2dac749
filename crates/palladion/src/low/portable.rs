//! AES rounds without AES instructions and without a table: eight blocks at a time, bitsliced. Nothing here depends on
//! a secret but the values of bits, whatever the machine.

use super::aegis128::Aegis128;
use super::aegis256::Aegis256;
use super::blocks::{self, Blocks, MAX_LANES, Vector, Word};
use super::sbox::{self, Circuit};

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
    *blocks = sbox::Chosen::sub_bytes(*blocks);
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

// One set of kernels for all degrees: to know the degree at compile time saves nothing that counts here.
super::kernels::tables! {
    aegis128: [Aegis128<Soft>, 0; Aegis128<Soft>, 0; Aegis128<Soft>, 0; Aegis128<Soft>, 0;]
    aegis256: [Aegis256<Soft>, 0; Aegis256<Soft>, 0; Aegis256<Soft>, 0; Aegis256<Soft>, 0;]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposition_makes_planes_and_undoes_itself() {
        let blocks: [u128; 8] = core::array::from_fn(|b| {
            u128::from_le_bytes(core::array::from_fn(|i| ((b * 16 + i) as u8).wrapping_mul(0x9d) ^ 0x35))
        });
        let mut planes = blocks;
        transpose(&mut planes);
        for (p, plane) in planes.iter().enumerate() {
            for i in 0..16 {
                for (b, block) in blocks.iter().enumerate() {
                    assert_eq!(plane >> (8 * i + b) & 1, block >> (8 * i + p) & 1);
                }
            }
        }
        transpose(&mut planes);
        assert_eq!(planes, blocks);
    }

    #[test]
    fn aes_round_of_the_standard() {
        let input = Soft(u128::from_le_bytes(core::array::from_fn(|i| i as u8)));
        let round_key = Soft(u128::from_le_bytes(core::array::from_fn(|i| 0x10 + i as u8)));
        let expected = 0x7a7b_4e56_3878_2546_a8c0_477a_3b81_3f43_u128; // RFC 10032, appendix A.1
        assert_eq!(input.aes(round_key).0, expected.swap_bytes());
    }
}
