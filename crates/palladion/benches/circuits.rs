//! Circuits of the S-box to compare with the one in use (`src/soft/sbox.rs`). The benchmark and the
//! tests include this file.
//!
//! Plane `i` holds bit `i` of every byte; plane 0 is the lowest bit. Some papers number bits from
//! the highest: their `x0` or `U0` is plane 7. Gates have the papers' names, in lower case.

use super::{Bits, Circuit, Cost};

/// Calls a macro with all circuits and their names, the one in use first.
macro_rules! circuits {
    ($with:ident) => {
        $with! {
            SBox = "jeon-depth-24 (in use)",
            BoyarPeralta = "boyar-peralta",
            MaximovEkdahl<false> = "maximov-ekdahl",
            MaximovEkdahl<true> = "maximov-ekdahl-mux",
            JeonDepth15 = "jeon-depth-15",
            JeonDepth26 = "jeon-depth-26",
            JeonDepth28 = "jeon-depth-28",
        }
    };
}
pub(crate) use circuits;

/// The circuit of 113 gates by Boyar, Peralta and Calik. It is the one in Boyar and Peralta, "A new
/// combinational logic minimization technique with applications to cryptology" (ePrint 2009/191),
/// with a smaller final linear layer.
#[derive(Clone, Copy)]
pub(crate) struct BoyarPeralta;

impl Circuit for BoyarPeralta {
    const COST: Cost = Cost { and: 32, or: 0, xor: 81, not: 0, depth: 27, and_depth: 6 };

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
        // Inversion in GF(2^8), in terms of GF(2^4).
        let t2 = y12 & y15; let t3 = y3 & y6; let t4 = t3 ^ t2; let t5 = y4 & x7; let t6 = t5 ^ t2;
        let t7 = y13 & y16; let t8 = y5 & y1; let t9 = t8 ^ t7; let t10 = y2 & y7;
        let t11 = t10 ^ t7; let t12 = y9 & y11; let t13 = y14 & y17; let t14 = t13 ^ t12;
        let t15 = y8 & y10; let t16 = t15 ^ t12; let t17 = t4 ^ t14; let t18 = t6 ^ t16;
        let t19 = t9 ^ t14; let t20 = t11 ^ t16; let t21 = t17 ^ y20; let t22 = t18 ^ y19;
        let t23 = t19 ^ y21; let t24 = t20 ^ y18; let t25 = t21 ^ t22; let t26 = t21 & t23;
        let t27 = t24 ^ t26; let t28 = t25 & t27; let t29 = t28 ^ t22; let t30 = t23 ^ t24;
        let t31 = t22 ^ t26; let t32 = t31 & t30; let t33 = t32 ^ t24; let t34 = t23 ^ t33;
        let t35 = t27 ^ t33; let t36 = t24 & t35; let t37 = t36 ^ t34; let t38 = t27 ^ t36;
        let t39 = t29 & t38; let t40 = t25 ^ t39; let t41 = t40 ^ t37; let t42 = t29 ^ t33;
        let t43 = t29 ^ t40; let t44 = t33 ^ t37; let t45 = t42 ^ t41; let z0 = t44 & y15;
        let z1 = t37 & y6; let z2 = t33 & x7; let z3 = t43 & y16; let z4 = t40 & y1;
        let z5 = t29 & y7; let z6 = t42 & y11; let z7 = t45 & y17; let z8 = t41 & y10;
        let z9 = t44 & y12; let z10 = t37 & y3; let z11 = t33 & y4; let z12 = t43 & y13;
        let z13 = t40 & y5; let z14 = t29 & y2; let z15 = t42 & y9; let z16 = t45 & y14;
        let z17 = t41 & y8;
        // The linear layer after it.
        let tc1 = z15 ^ z16; let tc2 = z10 ^ tc1; let tc3 = z9 ^ tc2; let tc4 = z0 ^ z2;
        let tc5 = z1 ^ z0; let tc6 = z3 ^ z4; let tc7 = z12 ^ tc4; let tc8 = z7 ^ tc6;
        let tc9 = z8 ^ tc7; let tc10 = tc8 ^ tc9; let tc11 = tc6 ^ tc5; let tc12 = z3 ^ z5;
        let tc13 = z13 ^ tc1; let tc14 = tc4 ^ tc12; let s3 = tc3 ^ tc11; let tc16 = z6 ^ tc8;
        let tc17 = z14 ^ tc10; let tc18 = tc13 ^ tc14; let s7 = z12 ^ tc18; let tc20 = z15 ^ tc16;
        let tc21 = tc2 ^ z11; let s0 = tc3 ^ tc16; let s6 = tc10 ^ tc18; let s4 = tc14 ^ s3;
        let s1 = s3 ^ tc16; let tc26 = tc17 ^ tc20; let s2 = tc26 ^ z17; let s5 = tc21 ^ tc17;
        [s7, s6, s5, s4, s3, s2, s1, s0]
    }
}

/// One of the small circuits in Maximov and Ekdahl, "New circuit minimization techniques for
/// smaller and faster AES SBoxes" (ePrint 2019/802). The paper optimises for gates of hardware;
/// inversions at the inputs of an XOR cancel and are left out here. The inversion in GF(2^4) uses
/// multiplexers. `MUX` keeps them, for CPUs that have them as an instruction; elsewhere one costs
/// three gates and an inversion. Without `MUX`, ANDs and XORs replace them.
#[derive(Clone, Copy)]
pub(crate) struct MaximovEkdahl<const MUX: bool>;

impl<const MUX: bool> Circuit for MaximovEkdahl<MUX> {
    const COST: Cost = if MUX {
        Cost { and: 35, or: 11, xor: 71, not: 7, depth: 18, and_depth: 5 }
    } else {
        Cost { and: 34, or: 4, xor: 78, not: 6, depth: 18, and_depth: 4 }
    };

    #[rustfmt::skip]
    #[inline(always)]
    fn without_constant<B: Bits>([u7, u6, u5, u4, u3, u2, u1, u0]: [B; 8]) -> [B; 8] {
        // The linear layer before the inversion.
        let z6 = u1 ^ u2; let q12 = z6 ^ u3; let q11 = u4 ^ u5; let q0 = q12 ^ q11;
        let z9 = u0 ^ u3; let z80 = u4 ^ u6; let q1 = z9 ^ z80; let q7 = z6 ^ u7; let q2 = q1 ^ q7;
        let q3 = q1 ^ u7; let q13 = u5 ^ z80; let q5 = q12 ^ q13; let z66 = u1 ^ u6;
        let z114 = q11 ^ z66; let q6 = u7 ^ z114; let q8 = q1 ^ z114; let q9 = q7 ^ z114;
        let q10 = u2 ^ q13; let q16 = z9 ^ z66; let q14 = q16 ^ q13; let q15 = u0 ^ u2;
        let q17 = z9 ^ z114; let q4 = u7;
        // The multiplication in GF(2^4).
        let t20 = q6 & q12; let t21 = q3 & q14; let t22 = q1 & q16;
        let t10 = (q3 | q14) ^ (q0 & q7); let t11 = (q4 | q13) ^ (q10 & q11);
        let t12 = (q2 | q17) ^ (q5 & q9); let t13 = (q8 | q15) ^ (q2 & q17);
        let x0 = t10 ^ (t20 ^ t22); let x1 = t11 ^ (t21 ^ t20);
        let x2 = t12 ^ (t21 ^ t22); let x3 = t13 ^ (t21 ^ (q4 & q13));
        // The inversion in GF(2^4).
        let [y0, y1, y2, y3] = if MUX {
            let t2 = !((x0 & x2) ^ (x1 | x3)); let t3 = !x1 | x2; let t4 = !x3 | x0;
            [mux(x2, t2, x3), mux(t2, x3, t3), mux(x0, t2, x1), mux(t2, x1, t4)]
        } else {
            let a = x1 & !x3; let b = x0 & !x3; let c = x3 & !x1; let d = x2 & !x1;
            [x3 ^ (x2 & !(x0 ^ a)), c ^ (x2 & (x1 ^ b)), x1 ^ (x0 & !(x2 ^ c)), a ^ (x0 & (x3 ^ d))]
        };
        let y02 = y2 ^ y0; let y13 = y3 ^ y1; let y23 = y3 ^ y2; let y01 = y1 ^ y0;
        let y00 = y01 ^ y23;
        // The multiplications by the inverse.
        let n0 = y01 & q11; let n1 = y0 & q12; let n2 = y1 & q0; let n3 = y23 & q17;
        let n4 = y2 & q5; let n5 = y3 & q15; let n6 = y13 & q14; let n7 = y00 & q16;
        let n8 = y02 & q13; let n9 = y01 & q7; let n10 = y0 & q10; let n11 = y1 & q6;
        let n12 = y23 & q2; let n13 = y2 & q9; let n14 = y3 & q8; let n15 = y13 & q3;
        let n16 = y00 & q1; let n17 = y02 & q4;
        // The linear layer after it.
        let h0 = n3 ^ n8; let h1 = n5 ^ n6; let h2 = h0 ^ h1; let h3 = n1 ^ n4; let h4 = n9 ^ n10;
        let h5 = n13 ^ n14; let h6 = n15 ^ h4; let h7 = n0 ^ h3; let h8 = n17 ^ h5;
        let h9 = n3 ^ h7; let h10 = n15 ^ n17; let h11 = n9 ^ n11; let h12 = n12 ^ n14;
        let h13 = n1 ^ n2; let h14 = n5 ^ n16; let h15 = n7 ^ h11; let h16 = h10 ^ h11;
        let h17 = n16 ^ h8; let h18 = h6 ^ h8; let h19 = h10 ^ h12; let h20 = n2 ^ h3;
        let h21 = h6 ^ h14; let h22 = n8 ^ h12; let h23 = h13 ^ h15;
        [h9 ^ h18, h19 ^ h9, h22 ^ h23, h18 ^ h2, h17 ^ h2, h20 ^ h21, h2, h16 ^ h2]
    }
}

/// Selects `x` where `s` is set, `y` elsewhere.
#[inline(always)]
fn mux<B: Bits>(s: B, x: B, y: B) -> B {
    (s & x) | (y & !s)
}

/// "depth16, BPD", the least depth, in Jeon, Baek, Kim and Kim, "A framework for generating S-box
/// circuits with Boyer-Peralta algorithm-based heuristics, and its applications to AES, SNOW3G, and
/// Saturnin" (ePrint 2024/1996). The paper's list computes `t50` twice and so has one gate more.
/// `x0` is plane 0 here and in the next two circuits.
#[derive(Clone, Copy)]
pub(crate) struct JeonDepth15;

impl Circuit for JeonDepth15 {
    const COST: Cost = Cost { and: 34, or: 0, xor: 99, not: 0, depth: 15, and_depth: 4 };

    #[rustfmt::skip]
    #[inline(always)]
    fn without_constant<B: Bits>([x0, x1, x2, x3, x4, x5, x6, x7]: [B; 8]) -> [B; 8] {
        let t0 = x1 ^ x7; let t1 = x4 ^ x7; let t2 = x2 ^ x4; let t3 = t0 ^ t2; let t4 = x2 ^ x7;
        let t5 = x5 ^ x6; let t6 = x0 ^ t5; let t7 = x4 ^ t6; let g2 = t7 & x0; let t8 = x1 ^ t6;
        let g4 = t8 & t6; let t9 = x7 ^ t6; let t10 = x1 ^ x3; let t11 = t1 ^ t10;
        let g0 = t3 & t11; let t12 = x0 ^ t11; let t13 = t5 ^ t11; let g8 = t4 & t13;
        let t14 = x2 ^ x5; let t15 = t10 ^ t14; let g3 = t0 & t15; let t16 = t6 ^ t15;
        let g5 = t9 & t16; let t17 = t1 ^ t14; let g7 = t2 & t17; let t18 = x2 ^ x6;
        let t19 = t10 ^ t18; let g6 = t1 & t19; let t20 = g4 ^ g7; let t21 = g8 ^ g5;
        let t22 = t15 ^ g6; let t23 = x1 ^ t21; let t24 = t20 ^ t23; let t25 = x1 ^ t4;
        let t26 = t6 ^ t25; let g1 = t26 & t12; let t27 = t14 ^ g7; let t28 = g1 ^ t27;
        let t29 = t13 ^ g6; let t30 = g0 ^ t29; let t31 = t28 ^ t30; let t32 = t4 ^ g8;
        let t33 = g2 ^ t32; let t34 = t28 ^ t33; let t35 = t30 ^ t33; let t36 = t0 ^ g3;
        let t37 = t22 ^ t36; let t38 = t20 ^ t37; let g9 = t38 & t31; let g14 = t35 & t38;
        let g15 = t24 & g14; let t39 = t35 ^ g9; let g11 = t39 & t24; let t48 = x7 ^ g3;
        let t49 = t22 ^ t48; let t50 = t21 ^ t49; let t41 = g9 ^ t50; let g10 = t41 & t34;
        let t42 = g11 ^ t50; let g18 = t42 & x0; let g27 = t42 & t7; let t43 = t35 ^ g10;
        let g21 = t43 & t16; let g30 = t43 & t9; let t44 = t42 ^ t43; let g22 = t44 & t19;
        let g31 = t44 & t1; let t45 = t24 ^ g9; let t46 = g15 ^ t45; let g17 = t46 & t12;
        let g26 = t46 & t26; let t47 = t42 ^ t46; let g16 = t47 & t11; let g25 = t47 & t3;
        let g12 = t31 & t50; let g13 = t34 & g12; let t51 = t39 ^ g13; let t52 = t31 ^ t51;
        let g20 = t52 & t6; let g29 = t52 & t8; let t53 = t24 ^ t34; let t54 = g13 ^ t53;
        let t55 = g15 ^ t54; let g24 = t55 & t13; let g33 = t55 & t4; let t56 = t31 ^ g9;
        let t57 = g13 ^ t56; let t58 = g10 ^ t57; let g19 = t58 & t15; let g28 = t58 & t0;
        let t59 = g15 ^ g11; let t60 = t31 ^ t38; let t61 = g13 ^ t60; let t62 = g10 ^ t61;
        let t63 = t59 ^ t62; let g23 = t63 & t17; let g32 = t63 & t2; let t64 = g31 ^ g32;
        let t65 = g26 ^ g25; let t66 = t64 ^ t65; let t67 = g17 ^ g16; let t68 = g22 ^ g23;
        let t69 = g20 ^ g19; let t70 = g21 ^ g20; let t71 = g18 ^ t70; let t72 = g29 ^ g28;
        let t73 = t64 ^ t72; let t74 = t68 ^ t69; let t75 = t66 ^ t74; let t76 = g17 ^ t71;
        let t77 = t66 ^ t76; let t78 = t67 ^ t69; let t79 = t66 ^ t78; let t80 = t67 ^ t68;
        let t81 = t66 ^ t80; let t82 = g24 ^ g23; let t83 = t70 ^ t82; let t84 = t73 ^ t83;
        let t85 = g16 ^ t69; let t86 = t71 ^ t85; let t87 = t73 ^ t86; let t88 = g22 ^ g31;
        let t89 = g24 ^ g28; let t90 = g18 ^ g30; let t91 = t89 ^ t90; let t92 = g16 ^ t91;
        let t93 = g33 ^ t88; let t94 = t92 ^ t93; let t95 = t85 ^ t91; let t96 = g27 ^ g26;
        let t97 = g23 ^ t96; let t98 = t64 ^ t97; let t99 = t95 ^ t98;
        [t87, t84, t99, t77, t79, t94, t81, t75]
    }
}

/// "32ANDs, BPD" of the same paper.
#[derive(Clone, Copy)]
pub(crate) struct JeonDepth26;

impl Circuit for JeonDepth26 {
    const COST: Cost = Cost { and: 32, or: 0, xor: 81, not: 0, depth: 26, and_depth: 6 };

    #[rustfmt::skip]
    #[inline(always)]
    fn without_constant<B: Bits>([x0, x1, x2, x3, x4, x5, x6, x7]: [B; 8]) -> [B; 8] {
        let t0 = x1 ^ x7; let t1 = x4 ^ x7; let t2 = x2 ^ x4; let t3 = t0 ^ t2; let t4 = x2 ^ x7;
        let t5 = x3 ^ t3; let t6 = x2 ^ t5; let g0 = t3 & t6; let t7 = x0 ^ t6; let t8 = x5 ^ x6;
        let t9 = x0 ^ t8; let t10 = x4 ^ t9; let g2 = t10 & x0; let t11 = t3 ^ t10;
        let g1 = t11 & t7; let t12 = x1 ^ t9; let g4 = t12 & t9; let t13 = x7 ^ t9;
        let t14 = t6 ^ t8; let g8 = t4 & t14; let t15 = x5 ^ t1; let t16 = t5 ^ t15;
        let g3 = t0 & t16; let t17 = t9 ^ t16; let g5 = t13 & t17; let t18 = t8 ^ t16;
        let g6 = t1 & t18; let t19 = x2 ^ t15; let g7 = t2 & t19; let t20 = g8 ^ g5;
        let t21 = g4 ^ g7; let t22 = t16 ^ g6; let t23 = g3 ^ t22; let t24 = g1 ^ t15;
        let t25 = g7 ^ t24; let t26 = t0 ^ t23; let t27 = t21 ^ t26; let t28 = x1 ^ t20;
        let t29 = t21 ^ t28; let t30 = t26 ^ t28; let t31 = g0 ^ t22; let t32 = x6 ^ t31;
        let t33 = t25 ^ t32; let g9 = t33 & t27; let t34 = t30 ^ g9; let t35 = g2 ^ g8;
        let t36 = x4 ^ t35; let t37 = t25 ^ t36; let g10 = t37 & t34; let t38 = t32 ^ t36;
        let t39 = g9 ^ t38; let g11 = t39 & t29; let t40 = g9 ^ g11; let g12 = t30 & t40;
        let t41 = g10 ^ t38; let g19 = t41 & t17; let g28 = t41 & t13; let t42 = t34 ^ g12;
        let g13 = t41 & t42; let t43 = t27 ^ g12; let g14 = t43 & t6; let g23 = t43 & t3;
        let t44 = t30 ^ g11; let g16 = t44 & x0; let g25 = t44 & t10; let t45 = t43 ^ t44;
        let g15 = t45 & t7; let g24 = t45 & t11; let t46 = t37 ^ g13; let g18 = t46 & t9;
        let g27 = t46 & t12; let t47 = t41 ^ t46; let g17 = t47 & t16; let g26 = t47 & t0;
        let t48 = t41 ^ t44; let g20 = t48 & t18; let g29 = t48 & t1; let t49 = t43 ^ t47;
        let g21 = t49 & t19; let g30 = t49 & t2; let t50 = t45 ^ t46; let g22 = t50 & t14;
        let g31 = t50 & t4; let t51 = g29 ^ g30; let t52 = g23 ^ t51; let t53 = g24 ^ t52;
        let t54 = g15 ^ t53; let t55 = g18 ^ g17; let t56 = g20 ^ g21; let t57 = g19 ^ g16;
        let t58 = g26 ^ t51; let t59 = g27 ^ t58; let t60 = g18 ^ t57; let t61 = t54 ^ t60;
        let t62 = g14 ^ t55; let t63 = t54 ^ t62; let t64 = g16 ^ g22; let t65 = t59 ^ t60;
        let t66 = t62 ^ t65; let t67 = g21 ^ t64; let t68 = t65 ^ t67; let t69 = g14 ^ t56;
        let t70 = t54 ^ t69; let t71 = g28 ^ t67; let t72 = t58 ^ t71; let t73 = t53 ^ t55;
        let t74 = t56 ^ t73; let t75 = t62 ^ t72; let t76 = g25 ^ g24; let t77 = t75 ^ t76;
        let t78 = g30 ^ t69; let t79 = g31 ^ t78; let t80 = t72 ^ t79;
        [t66, t68, t77, t61, t63, t80, t70, t74]
    }
}

/// "depth16, RNBP" of the same paper: few gates, with a small AND depth.
#[derive(Clone, Copy)]
pub(crate) struct JeonDepth28;

impl Circuit for JeonDepth28 {
    const COST: Cost = Cost { and: 34, or: 0, xor: 81, not: 0, depth: 28, and_depth: 4 };

    #[rustfmt::skip]
    #[inline(always)]
    fn without_constant<B: Bits>([x0, x1, x2, x3, x4, x5, x6, x7]: [B; 8]) -> [B; 8] {
        let t0 = x1 ^ x7; let t1 = x4 ^ x7; let t2 = x2 ^ x4; let t3 = t0 ^ t2; let t4 = x2 ^ x7;
        let t5 = x1 ^ x3; let t6 = t1 ^ t5; let g0 = t3 & t6; let t7 = x0 ^ t6; let t8 = x5 ^ x6;
        let t9 = x0 ^ t8; let t10 = x4 ^ t9; let g2 = t10 & x0; let t11 = t3 ^ t10;
        let g1 = t11 & t7; let t12 = x1 ^ t9; let g4 = t12 & t9; let t13 = x7 ^ t9;
        let t14 = t6 ^ t8; let g8 = t4 & t14; let t15 = x2 ^ x5; let t16 = t5 ^ t15;
        let g3 = t0 & t16; let t17 = t9 ^ t16; let g5 = t13 & t17; let t18 = t8 ^ t16;
        let g6 = t1 & t18; let t19 = t1 ^ t15; let g7 = t2 & t19; let t20 = g8 ^ g7;
        let t21 = g1 ^ t15; let t22 = g6 ^ g7; let t23 = t4 ^ t20; let t24 = g2 ^ t23;
        let t25 = t21 ^ t24; let t26 = g0 ^ t22; let t27 = t14 ^ t26; let t28 = t21 ^ t27;
        let t29 = t24 ^ t27; let t30 = g5 ^ t20; let t31 = g3 ^ t22; let t32 = t16 ^ t31;
        let t33 = x1 ^ g4; let t34 = t30 ^ t33; let t35 = x7 ^ t32; let t36 = t33 ^ t35;
        let g9 = t36 & t28; let g14 = t29 & t36; let g15 = t34 & g14; let t37 = t29 ^ g9;
        let g11 = t37 & t34; let t38 = t30 ^ t35; let g12 = t28 & t38; let g13 = t25 & g12;
        let t39 = g9 ^ t38; let g10 = t39 & t25; let t40 = g11 ^ t38; let g18 = t40 & x0;
        let g27 = t40 & t10; let t41 = t29 ^ g10; let g21 = t41 & t17; let g30 = t41 & t13;
        let t42 = t40 ^ t41; let g22 = t42 & t18; let g31 = t42 & t1; let t43 = t34 ^ g15;
        let t44 = g9 ^ t43; let g17 = t44 & t7; let g26 = t44 & t11; let t45 = t40 ^ t44;
        let g16 = t45 & t6; let g25 = t45 & t3; let t46 = t25 ^ g13; let t47 = g9 ^ t46;
        let g20 = t47 & t9; let g29 = t47 & t12; let t48 = t41 ^ t47; let g19 = t48 & t16;
        let g28 = t48 & t0; let t49 = t45 ^ t48; let g23 = t49 & t19; let g32 = t49 & t2;
        let t50 = t43 ^ t46; let g24 = t50 & t14; let g33 = t50 & t4; let t51 = g31 ^ g32;
        let t52 = g20 ^ t51; let t53 = g26 ^ g25; let t54 = t52 ^ t53; let t55 = g17 ^ t54;
        let t56 = g16 ^ t55; let t57 = g19 ^ t56; let t58 = g22 ^ g23; let t59 = g18 ^ t55;
        let t60 = g21 ^ t59; let t61 = g29 ^ g28; let t62 = g19 ^ t54; let t63 = t58 ^ t62;
        let t64 = g20 ^ t56; let t65 = t58 ^ t64; let t66 = t51 ^ t61; let t67 = t60 ^ t66;
        let t68 = t57 ^ t67; let t69 = g24 ^ t59; let t70 = g23 ^ t69; let t71 = g20 ^ t70;
        let t72 = t67 ^ t71; let t73 = g30 ^ g28; let t74 = t65 ^ t73; let t75 = t71 ^ t74;
        let t76 = g31 ^ g33; let t77 = t75 ^ t76; let t78 = g25 ^ t75; let t79 = g27 ^ t78;
        let t80 = t63 ^ t79;
        [t68, t72, t80, t60, t57, t77, t65, t63]
    }
}
