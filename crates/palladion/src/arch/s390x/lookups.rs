//! The tables for the AES round by permutations of bytes.
//!
//! A byte of a word is i + 2k with i and k in GF(16), a subfield of the GF(2^8) of AES: i is in the
//! upper half of the byte and k in the lower half, each in the basis of the first powers of a
//! generator g. Multiplication by two moves i to k, and adds a byte that depends on k alone.
//!
//! SubBytes needs the inverse. With the conjugates 1 and c = 2^16 of the basis, it is (i + ck)/N,
//! where N = i^2 + tik + nk^2 is the norm, t = 2 + c and n = 2c. It is computed with logarithms in
//! base g, which count modulo 15:
//!
//! ```text
//! log(i/N) = -(log k + log m)    log(k/N) = -(log i + log m)    m = N/ik = i/k + t + n/(i/k)
//! ```
//!
//! VPERM looks a byte up in 32 bytes and ignores the upper three bits of its index. Sums and
//! differences of two numbers from 0 to 14 have at most 29 values, so they need not be reduced.
//!
//! Zero has no logarithm and gets [`ZERO`] instead. The table of log m has at least [`LARGE`], so
//! that `ZERO` and log m add up to more than 127, a negative number. If i is zero, the greater of
//! log i + log m and log k is log k. This is -log(k/N) but for a constant, because N is nk^2 there.
//! The greater of log k + log m and log i is `ZERO`, for which the last lookup gives zero. If k is
//! zero, the roles are exchanged. If neither is zero, both sums are the greater ones.
//!
//! The constant is log n for -log(k/N) and zero for -log(i/N). The lookups by sums and those by
//! single logarithms use the same tables, so log k and log m have offsets that make both right.

use crate::soft::gf256::{GENERATOR, affine, mul, power, subfield};

/// The place of a zero's logarithm in the last tables, which no sum of others has.
const ZERO: u8 = 125;
/// What is added to log m.
const LARGE: u8 = 64;

/// The tables, in the order of the vector registers from v16 on.
#[repr(C, align(16))]
pub(super) struct Lookups {
    /// log i.
    log_i: [u8; 16],
    /// log k, with an offset.
    log_k: [u8; 16],
    /// log m, with an offset, by log i - log k.
    log_m: [u8; 32],
    /// SubBytes without its constant, by -log(i/N).
    by_i: [u8; 32],
    /// SubBytes with its constant, by -log(k/N). The constant goes through ShiftRows and MixColumns
    /// unchanged.
    by_k: [u8; 32],
    /// 4k.
    doubled_k: [u8; 16],
    /// Where ShiftRows takes each byte from.
    shift_rows: [u8; 16],
    /// From a byte of the standard to a byte of a word, by its lower and upper half.
    pub(super) into_word: [[u8; 16]; 2],
    /// From a byte of a word to a byte of the standard, by its lower and upper half.
    pub(super) from_word: [[u8; 16]; 2],
    /// Where one, two and three times ShiftRows take each byte from.
    shift_rows_again: [[u8; 16]; 3],
    /// Where each byte finds the row after its own, after one, two and three times ShiftRows.
    rotate_rows: [[u8; 16]; 3],
    /// Where it finds the second row after its own, after one or three times ShiftRows.
    rotate_rows_twice: [u8; 16],
}

/// The text of the loops has this offset.
const _: () = assert!(core::mem::offset_of!(Lookups, shift_rows_again) == 224);

pub(super) static LOOKUPS: Lookups = {
    /// The logarithm of an element of GF(16) that is not zero.
    const fn log(element: u8) -> usize {
        let mut n = 0;
        while power(GENERATOR, n) != element {
            n += 1;
        }
        n
    }
    let conjugate = power(2, 16);
    let (trace, norm) = (2 ^ conjugate, mul(2, conjugate));
    // Half of log n, which is the offset of log k. That of log m is the opposite.
    let offset = 8 * log(norm) % 15;

    let small = subfield();
    let (mut to, mut from) = ([0; 256], [0; 256]);
    let mut n = 0;
    while n < 256 {
        from[n] = small[n >> 4] ^ mul(2, small[n & 15]);
        to[from[n] as usize] = n as u8;
        n += 1;
    }

    let mut t = Lookups {
        log_i: [ZERO; 16],
        log_k: [ZERO; 16],
        log_m: [LARGE; 32],
        by_i: [0; 32],
        by_k: [to[0x63]; 32],
        doubled_k: [0; 16],
        shift_rows: [0; 16],
        into_word: [[0; 16]; 2],
        from_word: [[0; 16]; 2],
        shift_rows_again: [[0; 16]; 3],
        rotate_rows: [[0; 16]; 3],
        rotate_rows_twice: [0; 16],
    };
    let mut n = 0;
    while n < 16 {
        t.shift_rows[n] = (5 * n % 16) as u8;
        t.doubled_k[n] = to[mul(4, small[n]) as usize];
        // Doubling a byte moves i to the place of k.
        assert!(to[mul(2, small[n]) as usize] as usize == n);
        t.into_word[0][n] = to[n];
        t.into_word[1][n] = to[n << 4];
        t.from_word[0][n] = from[n];
        t.from_word[1][n] = from[n << 4];
        if n != 0 {
            let log = log(small[n]);
            t.log_i[n] = log as u8;
            t.log_k[n] = ((log + offset) % 15) as u8;
        }
        n += 1;
    }
    // The differences from -14 to 14, and the sums from 0 to 28.
    let mut n = 0;
    while n < 29 {
        let difference = n + 1; // modulo 15
        let ratio = power(GENERATOR, (difference + offset) % 15);
        let m = ratio ^ trace ^ mul(norm, power(ratio, 254));
        t.log_m[(n + 32 - 14) % 32] = LARGE + ((log(m) + 15 - offset) % 15) as u8;
        // -log(i/N) is the sum of log k and log m, whose offsets cancel. The sum of log i and log m
        // lacks the offset.
        let i = power(GENERATOR, (30 - n) % 15);
        let k = power(GENERATOR, (45 - n - offset) % 15);
        t.by_i[n] = to[affine(i) as usize];
        t.by_k[n] ^= to[affine(mul(conjugate, k)) as usize];
        n += 1;
    }
    // Byte j after `order` times ShiftRows is byte 5^order j, and 5^4 is 1 modulo 16.
    const fn rotated(order: u32, at: usize, by: usize) -> u8 {
        let at = at * 5_usize.pow(order) % 16;
        ((at / 4 * 4 + (at + by) % 4) * 5_usize.pow(4 - order) % 16) as u8
    }
    let mut order = 1;
    while order < 4 {
        let mut n = 0;
        while n < 16 {
            t.shift_rows_again[order as usize - 1][n] = (n * 5_usize.pow(order) % 16) as u8;
            t.rotate_rows[order as usize - 1][n] = rotated(order, n, 1);
            t.rotate_rows_twice[n] = rotated(1, n, 2);
            assert!(rotated(1, n, 2) == rotated(3, n, 2) && rotated(0, n, 2) == rotated(2, n, 2));
            n += 1;
        }
        order += 1;
    }
    t
};

/// Follows each byte through the tables, as the instructions do.
#[cfg(test)]
#[test]
fn s_box_and_its_double() {
    fn double(a: u8) -> u8 {
        (a << 1) ^ if a >> 7 == 1 { 0x1b } else { 0 }
    }
    fn mul(a: u8, b: u8) -> u8 {
        let powers = core::iter::successors(Some(a), |&a| Some(double(a)));
        powers.take(8).enumerate().fold(0, |sum, (i, a)| sum ^ if b >> i & 1 == 1 { a } else { 0 })
    }
    let t = &LOOKUPS;
    let lookup = |table: &[u8; 32], index: u8| table[usize::from(index % 32)];
    let linear = |map: &[[u8; 16]; 2], byte: u8| {
        map[0][usize::from(byte & 15)] ^ map[1][usize::from(byte >> 4)]
    };
    let greater = |a: u8, b: u8| if a.cast_signed() > b.cast_signed() { a } else { b };
    for byte in 0..=255u8 {
        let word = linear(&t.into_word, byte);
        assert_eq!(linear(&t.from_word, word), byte);
        let a = t.log_i[usize::from(word >> 4)];
        let b = t.log_k[usize::from(word & 15)];
        let m = lookup(&t.log_m, a.wrapping_sub(b));
        let by_k = lookup(&t.by_k, greater(a.wrapping_add(m), b));
        let by_i = lookup(&t.by_i, greater(b.wrapping_add(m), a));
        let s = by_k ^ by_i;
        let inverse = (0..=255).find(|&y| mul(byte, y) == 1).unwrap_or(0);
        let expected = (0..5).fold(0x63, |sum, i| sum ^ inverse.rotate_left(i));
        assert_eq!(linear(&t.from_word, s), expected, "{byte}");
        let doubled = t.doubled_k[usize::from(s & 15)] ^ s >> 4;
        assert_eq!(linear(&t.from_word, doubled), double(expected), "{byte}");
    }
}
