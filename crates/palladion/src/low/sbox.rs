//! The AES S-box as a circuit, evaluated on bit planes: constant time whatever the machine, for there is nothing but
//! Boolean operations. Several circuits stand behind one trait, as which of them is fastest depends on the machine.
//!
//! Plane `i` holds bit `i` of every byte, plane 0 the lowest. The papers count from the highest bit: their `x0` or `U0`
//! is plane 7. The names of the gates are those of the papers, in lower case.
//!
//! This file needs nothing of the rest of the crate: the benchmarks include it to time the circuits by themselves.

use core::ops::{BitAnd, BitOr, BitXor, Not};

/// What a circuit is evaluated on: a word of any width, or a vector.
pub(crate) trait Bits:
    Copy + BitXor<Output = Self> + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self>
{
}

impl<T> Bits for T where
    T: Copy + BitXor<Output = T> + BitAnd<Output = T> + BitOr<Output = T> + Not<Output = T>
{
}

/// A circuit of the S-box.
pub(crate) trait Circuit {
    /// SubBytes but for the addition of the affine constant 0x63, for who adds it elsewhere.
    fn without_constant<B: Bits>(planes: [B; 8]) -> [B; 8];

    /// SubBytes.
    #[inline(always)]
    fn sub_bytes<B: Bits>(planes: [B; 8]) -> [B; 8] {
        let [y0, y1, y2, y3, y4, y5, y6, y7] = Self::without_constant(planes);
        [!y0, !y1, y2, y3, y4, !y5, !y6, y7]
    }
}

/// The circuit in use.
pub(crate) type Chosen = BoyarPeralta113;

/// Boyar and Peralta, "A depth-16 circuit for the AES S-box" (ePrint 2011/332), the circuit of 113 gates.
pub(crate) struct BoyarPeralta113;

impl Circuit for BoyarPeralta113 {
    #[rustfmt::skip]
    #[inline(always)]
    fn without_constant<B: Bits>([x7, x6, x5, x4, x3, x2, x1, x0]: [B; 8]) -> [B; 8] {
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
        // The linear layer after it.
        let t46 = z15 ^ z16; let t47 = z10 ^ z11; let t48 = z5 ^ z13; let t49 = z9 ^ z10; let t50 = z2 ^ z12;
        let t51 = z2 ^ z5; let t52 = z7 ^ z8; let t53 = z0 ^ z3; let t54 = z6 ^ z7; let t55 = z16 ^ z17;
        let t56 = z12 ^ t48; let t57 = t50 ^ t53; let t58 = z4 ^ t46; let t59 = z3 ^ t54; let t60 = t46 ^ t57;
        let t61 = z14 ^ t57; let t62 = t52 ^ t58; let t63 = t49 ^ t58; let t64 = z4 ^ t59; let t65 = t61 ^ t62;
        let t66 = z1 ^ t63; let t67 = t64 ^ t65;
        let s0 = t59 ^ t63; let s6 = t56 ^ t62; let s7 = t48 ^ t60; let s3 = t53 ^ t66;
        let s4 = t51 ^ t66; let s5 = t47 ^ t65; let s1 = t64 ^ s3; let s2 = t55 ^ t67;
        [s7, s6, s5, s4, s3, s2, s1, s0]
    }
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

    /// All bytes through words of one width, each byte in every place.
    macro_rules! exhaust {
        ($circuit:ty, $word:ty) => {
            for first in 0..=255u8 {
                let byte = |place: u32| first.wrapping_add(place as u8);
                let planes: [$word; 8] = core::array::from_fn(|p| {
                    (0..<$word>::BITS).map(|place| <$word>::from(byte(place) >> p & 1) << place).sum()
                });
                let (with, without) = (<$circuit>::sub_bytes(planes), <$circuit>::without_constant(planes));
                for place in 0..<$word>::BITS {
                    let gather =
                        |planes: [$word; 8]| (0..8).fold(0, |b, p| b | ((planes[p] >> place & 1) as u8) << p);
                    assert_eq!(gather(with), sbox(byte(place)));
                    assert_eq!(gather(without), sbox(byte(place)) ^ 0x63);
                }
            }
        };
    }

    fn check<C: Circuit>() {
        exhaust!(C, u32);
        exhaust!(C, u64);
        exhaust!(C, u128);
    }

    #[test]
    fn boyar_peralta_113() {
        check::<BoyarPeralta113>();
    }
}
