//! The AES S-box as a circuit on bit planes. Boolean operations take constant time on every CPU.
//! The trait also serves the circuits in `benches/circuits.rs`, which `benches/sbox.rs` compares
//! with the one in use.
//!
//! Plane `i` holds bit `i` of every byte; plane 0 is the lowest bit. Some papers number bits from
//! the highest: their `x0` or `U0` is plane 7. Gates have the papers' names, in lower case.

use core::ops::{BitAnd, BitOr, BitXor, Not};

/// The operands of a circuit: words of any width, or vectors.
pub(crate) trait Bits:
    Copy + BitXor<Output = Self> + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self>
{
}

impl<T> Bits for T where
    T: Copy + BitXor<Output = T> + BitAnd<Output = T> + BitOr<Output = T> + Not<Output = T>
{
}

/// The cost of a circuit. Inversions count where they are written, except those of the constant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(dead_code)] // used by the tests and the benchmark
pub(crate) struct Cost {
    pub(crate) and: u32,
    pub(crate) or: u32,
    pub(crate) xor: u32,
    pub(crate) not: u32,
    /// Gates on the longest path from an input to an output.
    pub(crate) depth: u32,
    /// ANDs and ORs on the path that has the most.
    pub(crate) and_depth: u32,
}

/// A circuit of the S-box.
pub(crate) trait Circuit: Copy {
    /// The cost of [`Self::without_constant`].
    #[allow(dead_code)] // used by the tests and the benchmark
    const COST: Cost;

    /// Computes SubBytes without adding the constant 0x63, for callers that add it elsewhere.
    fn without_constant<B: Bits>(planes: [B; 8]) -> [B; 8];

    /// Computes SubBytes.
    #[inline(always)]
    fn sub_bytes<B: Bits>(planes: [B; 8]) -> [B; 8] {
        let [y0, y1, y2, y3, y4, y5, y6, y7] = Self::without_constant(planes);
        [!y0, !y1, y2, y3, y4, !y5, !y6, y7]
    }
}

/// "AES10v2, BPD" of a later version of Jeon, Baek, Kim and Kim (ePrint 2024/1996): of the circuits
/// with the fewest gates, the one with the least depth.
#[derive(Clone, Copy)]
pub(crate) struct SBox;

impl Circuit for SBox {
    const COST: Cost = Cost { and: 32, or: 0, xor: 81, not: 0, depth: 24, and_depth: 5 };

    #[rustfmt::skip]
    #[inline(always)]
    fn without_constant<B: Bits>([x0, x1, x2, x3, x4, x5, x6, x7]: [B; 8]) -> [B; 8] {
        let t0 = x1 ^ x7; let t1 = x4 ^ x7; let t2 = x2 ^ x4; let t3 = t0 ^ t2; let t4 = x2 ^ x7;
        let t5 = x1 ^ x3; let t6 = t1 ^ t5; let g0 = t3 & t6; let t7 = x0 ^ t6; let t8 = x5 ^ x6;
        let t9 = x0 ^ t8; let t10 = x4 ^ t9; let g2 = t10 & x0; let t11 = t3 ^ t10;
        let g1 = t11 & t7; let t12 = x1 ^ t9; let g4 = t12 & t9; let t13 = x7 ^ t9;
        let t14 = t6 ^ t8; let g8 = t4 & t14; let t15 = x2 ^ x5; let t16 = t5 ^ t15;
        let g3 = t0 & t16; let t17 = t9 ^ t16; let g5 = t13 & t17; let t18 = t8 ^ t16;
        let g6 = t1 & t18; let t19 = t1 ^ t15; let g7 = t2 & t19; let t20 = g4 ^ g7;
        let t21 = g8 ^ g5; let t22 = t16 ^ g6; let t23 = g3 ^ t22; let t24 = t4 ^ g2;
        let t25 = g8 ^ t24; let t26 = t14 ^ g6; let t27 = g0 ^ t26; let t28 = t25 ^ t27;
        let t29 = t15 ^ g7; let t30 = g1 ^ t29; let t31 = t27 ^ t30; let t32 = t25 ^ t30;
        let t33 = t0 ^ t23; let t34 = t20 ^ t33; let g9 = t31 & t34; let t35 = t28 ^ g9;
        let t36 = x1 ^ t21; let t37 = t20 ^ t36; let g12 = t37 & t35; let t38 = t33 ^ t36;
        let t39 = g9 ^ t38; let g10 = t32 & t39; let t40 = g9 ^ g10; let g11 = t28 & t40;
        let t41 = g9 ^ g12; let g13 = t38 & t41; let t42 = t34 ^ g13; let g14 = t42 & t6;
        let g23 = t42 & t3; let t43 = g12 ^ t38; let g16 = t43 & x0; let g25 = t43 & t10;
        let t44 = t42 ^ t43; let g15 = t44 & t7; let g24 = t44 & t11; let t45 = t31 ^ g11;
        let g17 = t45 & t16; let g26 = t45 & t0; let t46 = t28 ^ g10; let g19 = t46 & t17;
        let g28 = t46 & t13; let t47 = t45 ^ t46; let g18 = t47 & t9; let g27 = t47 & t12;
        let t48 = t43 ^ t46; let g20 = t48 & t18; let g29 = t48 & t1; let t49 = t42 ^ t45;
        let g21 = t49 & t19; let g30 = t49 & t2; let t50 = t44 ^ t47; let g22 = t50 & t14;
        let g31 = t50 & t4; let t51 = g29 ^ g30; let t52 = g23 ^ g24; let t53 = t51 ^ t52;
        let t54 = g15 ^ t53; let t55 = g18 ^ t54; let t56 = g17 ^ t55; let t57 = g14 ^ t56;
        let t58 = g20 ^ g21; let t59 = g19 ^ t55; let t60 = g16 ^ t59; let t61 = g26 ^ t51;
        let t62 = g27 ^ t61; let t63 = t60 ^ t62; let t64 = t57 ^ t63; let t65 = g16 ^ g22;
        let t66 = g21 ^ t54; let t67 = t65 ^ t66; let t68 = t63 ^ t67; let t69 = g14 ^ g20;
        let t70 = t66 ^ t69; let t71 = g28 ^ t61; let t72 = t67 ^ t71; let t73 = g15 ^ t58;
        let t74 = t56 ^ t73; let t75 = g31 ^ t70; let t76 = g30 ^ t75; let t77 = t72 ^ t76;
        let t78 = g25 ^ t72; let t79 = g24 ^ t57; let t80 = t78 ^ t79;
        [t64, t68, t80, t60, t57, t77, t70, t74]
    }
}

#[cfg(test)]
#[path = "../../benches/circuits.rs"]
mod circuits;
#[cfg(all(test, feature = "std", not(palladion_test_reduced)))]
pub(crate) use circuits::*;

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::circuits::*;
    use super::*;

    /// Computes the S-box from its definition: inversion in GF(2^8), then the affine map.
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

    /// Evaluates a circuit on all bytes in words of one width, with each byte in every place.
    macro_rules! exhaust {
        ($circuit:ty, $word:ty) => {
            for first in 0..=255u8 {
                let byte = |place: u32| first.wrapping_add(place as u8);
                let planes: [$word; 8] = core::array::from_fn(|p| {
                    (0..<$word>::BITS)
                        .map(|place| <$word>::from(byte(place) >> p & 1) << place)
                        .sum()
                });
                let (with, without) =
                    (<$circuit>::sub_bytes(planes), <$circuit>::without_constant(planes));
                for place in 0..<$word>::BITS {
                    let gather = |planes: [$word; 8]| {
                        (0..8).fold(0, |b, p| b | ((planes[p] >> place & 1) as u8) << p)
                    };
                    assert_eq!(gather(with), sbox(byte(place)));
                    assert_eq!(gather(without), sbox(byte(place)) ^ 0x63);
                }
            }
        };
    }

    fn check<C: Circuit>() {
        exhaust!(C, u64);
    }

    #[test]
    fn the_circuit_in_use_is_right_in_words_of_every_width() {
        exhaust!(SBox, u32);
        exhaust!(SBox, u128);
    }

    /// A wire of a circuit whose gates are counted.
    #[derive(Clone, Copy)]
    struct Wire<'a> {
        total: &'a Cell<Cost>,
        depth: u32,
        and_depth: u32,
    }

    impl Wire<'_> {
        fn gate(self, other: Self, and_depth: u32, count: impl Fn(&mut Cost)) -> Self {
            let mut total = self.total.get();
            count(&mut total);
            self.total.set(total);
            Self {
                depth: self.depth.max(other.depth) + 1,
                and_depth: self.and_depth.max(other.and_depth) + and_depth,
                ..self
            }
        }
    }

    impl BitXor for Wire<'_> {
        type Output = Self;
        fn bitxor(self, other: Self) -> Self {
            self.gate(other, 0, |total| total.xor += 1)
        }
    }

    impl BitAnd for Wire<'_> {
        type Output = Self;
        fn bitand(self, other: Self) -> Self {
            self.gate(other, 1, |total| total.and += 1)
        }
    }

    impl BitOr for Wire<'_> {
        type Output = Self;
        fn bitor(self, other: Self) -> Self {
            self.gate(other, 1, |total| total.or += 1)
        }
    }

    impl Not for Wire<'_> {
        type Output = Self;
        fn not(self) -> Self {
            self.gate(self, 0, |total| total.not += 1)
        }
    }

    fn cost<C: Circuit>() -> Cost {
        let total = Cell::default();
        let outputs = C::without_constant([Wire { total: &total, depth: 0, and_depth: 0 }; 8]);
        let max = |depth: fn(&Wire<'_>) -> u32| outputs.iter().map(depth).max().unwrap();
        Cost { depth: max(|wire| wire.depth), and_depth: max(|wire| wire.and_depth), ..total.get() }
    }

    macro_rules! check_all {
        ($($circuit:ty = $name:literal,)*) => {
            #[test]
            fn every_circuit_is_right_for_every_byte() {
                $(check::<$circuit>();)*
            }

            #[test]
            fn every_circuit_costs_what_it_says() {
                $(assert_eq!(cost::<$circuit>(), <$circuit>::COST, $name);)*
            }
        };
    }
    circuits!(check_all);
}
