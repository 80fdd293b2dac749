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
            JeonDepth18 = "jeon-depth-18",
            Jeon2Depth17 = "jeon2-depth-17",
            Jeon2Depth19 = "jeon2-depth-19",
            Jeon2Depth41 = "jeon2-depth-41",
            Jeon3Depth16 = "jeon3-depth-16",
            Jeon3Depth41 = "jeon3-depth-41",
        }
    };
}
pub(crate) use circuits;

/// Defines a circuit: its name, its cost, its inputs, its outputs and its gates.
macro_rules! circuit {
    ($name:ident, $cost:expr, $in:pat => $out:tt $($gate:ident = $value:expr;)*) => {
        #[derive(Clone, Copy)]
        pub(crate) struct $name;

        impl Circuit for $name {
            const COST: Cost = $cost;

            #[inline(always)]
            fn without_constant<B: Bits>($in: [B; 8]) -> [B; 8] {
                $(let $gate = $value;)*
                $out
            }
        }
    };
}

// The circuit of 113 gates by Boyar, Peralta and Calik. It is the one in Boyar and Peralta, "A new
// combinational logic minimization technique with applications to cryptology" (ePrint 2009/191),
// with a smaller final linear layer.
circuit! {
    BoyarPeralta, Cost { and: 32, or: 0, xor: 81, not: 0, depth: 27, and_depth: 6 },
    [x7, x6, x5, x4, x3, x2, x1, x0] => [s7, s6, s5, s4, s3, s2, s1, s0]
    // The linear layer before the inversion.
    y14 = x3 ^ x5; y13 = x0 ^ x6; y9 = x0 ^ x3; y8 = x0 ^ x5; t0 = x1 ^ x2; y1 = t0 ^ x7;
    y4 = y1 ^ x3; y12 = y13 ^ y14; y2 = y1 ^ x0; y5 = y1 ^ x6; y3 = y5 ^ y8; t1 = x4 ^ y12;
    y15 = t1 ^ x5; y20 = t1 ^ x1; y6 = y15 ^ x7; y10 = y15 ^ t0; y11 = y20 ^ y9; y7 = x7 ^ y11;
    y17 = y10 ^ y11; y19 = y10 ^ y8; y16 = t0 ^ y11; y21 = y13 ^ y16; y18 = x0 ^ y16;
    // Inversion in GF(2^8), in terms of GF(2^4).
    t2 = y12 & y15; t3 = y3 & y6; t4 = t3 ^ t2; t5 = y4 & x7; t6 = t5 ^ t2; t7 = y13 & y16;
    t8 = y5 & y1; t9 = t8 ^ t7; t10 = y2 & y7; t11 = t10 ^ t7; t12 = y9 & y11; t13 = y14 & y17;
    t14 = t13 ^ t12; t15 = y8 & y10; t16 = t15 ^ t12; t17 = t4 ^ t14; t18 = t6 ^ t16;
    t19 = t9 ^ t14; t20 = t11 ^ t16; t21 = t17 ^ y20; t22 = t18 ^ y19; t23 = t19 ^ y21;
    t24 = t20 ^ y18; t25 = t21 ^ t22; t26 = t21 & t23; t27 = t24 ^ t26; t28 = t25 & t27;
    t29 = t28 ^ t22; t30 = t23 ^ t24; t31 = t22 ^ t26; t32 = t31 & t30; t33 = t32 ^ t24;
    t34 = t23 ^ t33; t35 = t27 ^ t33; t36 = t24 & t35; t37 = t36 ^ t34; t38 = t27 ^ t36;
    t39 = t29 & t38; t40 = t25 ^ t39; t41 = t40 ^ t37; t42 = t29 ^ t33; t43 = t29 ^ t40;
    t44 = t33 ^ t37; t45 = t42 ^ t41; z0 = t44 & y15; z1 = t37 & y6; z2 = t33 & x7; z3 = t43 & y16;
    z4 = t40 & y1; z5 = t29 & y7; z6 = t42 & y11; z7 = t45 & y17; z8 = t41 & y10; z9 = t44 & y12;
    z10 = t37 & y3; z11 = t33 & y4; z12 = t43 & y13; z13 = t40 & y5; z14 = t29 & y2; z15 = t42 & y9;
    z16 = t45 & y14; z17 = t41 & y8;
    // The linear layer after it.
    tc1 = z15 ^ z16; tc2 = z10 ^ tc1; tc3 = z9 ^ tc2; tc4 = z0 ^ z2; tc5 = z1 ^ z0; tc6 = z3 ^ z4;
    tc7 = z12 ^ tc4; tc8 = z7 ^ tc6; tc9 = z8 ^ tc7; tc10 = tc8 ^ tc9; tc11 = tc6 ^ tc5;
    tc12 = z3 ^ z5; tc13 = z13 ^ tc1; tc14 = tc4 ^ tc12; s3 = tc3 ^ tc11; tc16 = z6 ^ tc8;
    tc17 = z14 ^ tc10; tc18 = tc13 ^ tc14; s7 = z12 ^ tc18; tc20 = z15 ^ tc16; tc21 = tc2 ^ z11;
    s0 = tc3 ^ tc16; s6 = tc10 ^ tc18; s4 = tc14 ^ s3; s1 = s3 ^ tc16; tc26 = tc17 ^ tc20;
    s2 = tc26 ^ z17; s5 = tc21 ^ tc17;
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

// "depth16, BPD", the least depth, in Jeon, Baek, Kim and Kim, "A framework for generating S-box
// circuits with Boyer-Peralta algorithm-based heuristics, and its applications to AES, SNOW3G, and
// Saturnin" (ePrint 2024/1996). The paper's list computes `t50` twice and so has one gate more.
// `x0` is plane 0 here and in the next two circuits.
circuit! {
    JeonDepth15, Cost { and: 34, or: 0, xor: 99, not: 0, depth: 15, and_depth: 4 },
    [x0, x1, x2, x3, x4, x5, x6, x7] => [t87, t84, t99, t77, t79, t94, t81, t75]
    t0 = x1 ^ x7; t1 = x4 ^ x7; t2 = x2 ^ x4; t3 = t0 ^ t2; t4 = x2 ^ x7; t5 = x5 ^ x6;
    t6 = x0 ^ t5; t7 = x4 ^ t6; g2 = t7 & x0; t8 = x1 ^ t6; g4 = t8 & t6; t9 = x7 ^ t6;
    t10 = x1 ^ x3; t11 = t1 ^ t10; g0 = t3 & t11; t12 = x0 ^ t11; t13 = t5 ^ t11; g8 = t4 & t13;
    t14 = x2 ^ x5; t15 = t10 ^ t14; g3 = t0 & t15; t16 = t6 ^ t15; g5 = t9 & t16; t17 = t1 ^ t14;
    g7 = t2 & t17; t18 = x2 ^ x6; t19 = t10 ^ t18; g6 = t1 & t19; t20 = g4 ^ g7; t21 = g8 ^ g5;
    t22 = t15 ^ g6; t23 = x1 ^ t21; t24 = t20 ^ t23; t25 = x1 ^ t4; t26 = t6 ^ t25; g1 = t26 & t12;
    t27 = t14 ^ g7; t28 = g1 ^ t27; t29 = t13 ^ g6; t30 = g0 ^ t29; t31 = t28 ^ t30; t32 = t4 ^ g8;
    t33 = g2 ^ t32; t34 = t28 ^ t33; t35 = t30 ^ t33; t36 = t0 ^ g3; t37 = t22 ^ t36;
    t38 = t20 ^ t37; g9 = t38 & t31; g14 = t35 & t38; g15 = t24 & g14; t39 = t35 ^ g9;
    g11 = t39 & t24; t48 = x7 ^ g3; t49 = t22 ^ t48; t50 = t21 ^ t49; t41 = g9 ^ t50;
    g10 = t41 & t34; t42 = g11 ^ t50; g18 = t42 & x0; g27 = t42 & t7; t43 = t35 ^ g10;
    g21 = t43 & t16; g30 = t43 & t9; t44 = t42 ^ t43; g22 = t44 & t19; g31 = t44 & t1;
    t45 = t24 ^ g9; t46 = g15 ^ t45; g17 = t46 & t12; g26 = t46 & t26; t47 = t42 ^ t46;
    g16 = t47 & t11; g25 = t47 & t3; g12 = t31 & t50; g13 = t34 & g12; t51 = t39 ^ g13;
    t52 = t31 ^ t51; g20 = t52 & t6; g29 = t52 & t8; t53 = t24 ^ t34; t54 = g13 ^ t53;
    t55 = g15 ^ t54; g24 = t55 & t13; g33 = t55 & t4; t56 = t31 ^ g9; t57 = g13 ^ t56;
    t58 = g10 ^ t57; g19 = t58 & t15; g28 = t58 & t0; t59 = g15 ^ g11; t60 = t31 ^ t38;
    t61 = g13 ^ t60; t62 = g10 ^ t61; t63 = t59 ^ t62; g23 = t63 & t17; g32 = t63 & t2;
    t64 = g31 ^ g32; t65 = g26 ^ g25; t66 = t64 ^ t65; t67 = g17 ^ g16; t68 = g22 ^ g23;
    t69 = g20 ^ g19; t70 = g21 ^ g20; t71 = g18 ^ t70; t72 = g29 ^ g28; t73 = t64 ^ t72;
    t74 = t68 ^ t69; t75 = t66 ^ t74; t76 = g17 ^ t71; t77 = t66 ^ t76; t78 = t67 ^ t69;
    t79 = t66 ^ t78; t80 = t67 ^ t68; t81 = t66 ^ t80; t82 = g24 ^ g23; t83 = t70 ^ t82;
    t84 = t73 ^ t83; t85 = g16 ^ t69; t86 = t71 ^ t85; t87 = t73 ^ t86; t88 = g22 ^ g31;
    t89 = g24 ^ g28; t90 = g18 ^ g30; t91 = t89 ^ t90; t92 = g16 ^ t91; t93 = g33 ^ t88;
    t94 = t92 ^ t93; t95 = t85 ^ t91; t96 = g27 ^ g26; t97 = g23 ^ t96; t98 = t64 ^ t97;
    t99 = t95 ^ t98;
}

// "32ANDs, BPD" of the same paper.
circuit! {
    JeonDepth26, Cost { and: 32, or: 0, xor: 81, not: 0, depth: 26, and_depth: 6 },
    [x0, x1, x2, x3, x4, x5, x6, x7] => [t66, t68, t77, t61, t63, t80, t70, t74]
    t0 = x1 ^ x7; t1 = x4 ^ x7; t2 = x2 ^ x4; t3 = t0 ^ t2; t4 = x2 ^ x7; t5 = x3 ^ t3;
    t6 = x2 ^ t5; g0 = t3 & t6; t7 = x0 ^ t6; t8 = x5 ^ x6; t9 = x0 ^ t8; t10 = x4 ^ t9;
    g2 = t10 & x0; t11 = t3 ^ t10; g1 = t11 & t7; t12 = x1 ^ t9; g4 = t12 & t9; t13 = x7 ^ t9;
    t14 = t6 ^ t8; g8 = t4 & t14; t15 = x5 ^ t1; t16 = t5 ^ t15; g3 = t0 & t16; t17 = t9 ^ t16;
    g5 = t13 & t17; t18 = t8 ^ t16; g6 = t1 & t18; t19 = x2 ^ t15; g7 = t2 & t19; t20 = g8 ^ g5;
    t21 = g4 ^ g7; t22 = t16 ^ g6; t23 = g3 ^ t22; t24 = g1 ^ t15; t25 = g7 ^ t24; t26 = t0 ^ t23;
    t27 = t21 ^ t26; t28 = x1 ^ t20; t29 = t21 ^ t28; t30 = t26 ^ t28; t31 = g0 ^ t22;
    t32 = x6 ^ t31; t33 = t25 ^ t32; g9 = t33 & t27; t34 = t30 ^ g9; t35 = g2 ^ g8; t36 = x4 ^ t35;
    t37 = t25 ^ t36; g10 = t37 & t34; t38 = t32 ^ t36; t39 = g9 ^ t38; g11 = t39 & t29;
    t40 = g9 ^ g11; g12 = t30 & t40; t41 = g10 ^ t38; g19 = t41 & t17; g28 = t41 & t13;
    t42 = t34 ^ g12; g13 = t41 & t42; t43 = t27 ^ g12; g14 = t43 & t6; g23 = t43 & t3;
    t44 = t30 ^ g11; g16 = t44 & x0; g25 = t44 & t10; t45 = t43 ^ t44; g15 = t45 & t7;
    g24 = t45 & t11; t46 = t37 ^ g13; g18 = t46 & t9; g27 = t46 & t12; t47 = t41 ^ t46;
    g17 = t47 & t16; g26 = t47 & t0; t48 = t41 ^ t44; g20 = t48 & t18; g29 = t48 & t1;
    t49 = t43 ^ t47; g21 = t49 & t19; g30 = t49 & t2; t50 = t45 ^ t46; g22 = t50 & t14;
    g31 = t50 & t4; t51 = g29 ^ g30; t52 = g23 ^ t51; t53 = g24 ^ t52; t54 = g15 ^ t53;
    t55 = g18 ^ g17; t56 = g20 ^ g21; t57 = g19 ^ g16; t58 = g26 ^ t51; t59 = g27 ^ t58;
    t60 = g18 ^ t57; t61 = t54 ^ t60; t62 = g14 ^ t55; t63 = t54 ^ t62; t64 = g16 ^ g22;
    t65 = t59 ^ t60; t66 = t62 ^ t65; t67 = g21 ^ t64; t68 = t65 ^ t67; t69 = g14 ^ t56;
    t70 = t54 ^ t69; t71 = g28 ^ t67; t72 = t58 ^ t71; t73 = t53 ^ t55; t74 = t56 ^ t73;
    t75 = t62 ^ t72; t76 = g25 ^ g24; t77 = t75 ^ t76; t78 = g30 ^ t69; t79 = g31 ^ t78;
    t80 = t72 ^ t79;
}

// "depth16, RNBP" of the same paper: few gates, with a small AND depth.
circuit! {
    JeonDepth28, Cost { and: 34, or: 0, xor: 81, not: 0, depth: 28, and_depth: 4 },
    [x0, x1, x2, x3, x4, x5, x6, x7] => [t68, t72, t80, t60, t57, t77, t65, t63]
    t0 = x1 ^ x7; t1 = x4 ^ x7; t2 = x2 ^ x4; t3 = t0 ^ t2; t4 = x2 ^ x7; t5 = x1 ^ x3;
    t6 = t1 ^ t5; g0 = t3 & t6; t7 = x0 ^ t6; t8 = x5 ^ x6; t9 = x0 ^ t8; t10 = x4 ^ t9;
    g2 = t10 & x0; t11 = t3 ^ t10; g1 = t11 & t7; t12 = x1 ^ t9; g4 = t12 & t9; t13 = x7 ^ t9;
    t14 = t6 ^ t8; g8 = t4 & t14; t15 = x2 ^ x5; t16 = t5 ^ t15; g3 = t0 & t16; t17 = t9 ^ t16;
    g5 = t13 & t17; t18 = t8 ^ t16; g6 = t1 & t18; t19 = t1 ^ t15; g7 = t2 & t19; t20 = g8 ^ g7;
    t21 = g1 ^ t15; t22 = g6 ^ g7; t23 = t4 ^ t20; t24 = g2 ^ t23; t25 = t21 ^ t24; t26 = g0 ^ t22;
    t27 = t14 ^ t26; t28 = t21 ^ t27; t29 = t24 ^ t27; t30 = g5 ^ t20; t31 = g3 ^ t22;
    t32 = t16 ^ t31; t33 = x1 ^ g4; t34 = t30 ^ t33; t35 = x7 ^ t32; t36 = t33 ^ t35;
    g9 = t36 & t28; g14 = t29 & t36; g15 = t34 & g14; t37 = t29 ^ g9; g11 = t37 & t34;
    t38 = t30 ^ t35; g12 = t28 & t38; g13 = t25 & g12; t39 = g9 ^ t38; g10 = t39 & t25;
    t40 = g11 ^ t38; g18 = t40 & x0; g27 = t40 & t10; t41 = t29 ^ g10; g21 = t41 & t17;
    g30 = t41 & t13; t42 = t40 ^ t41; g22 = t42 & t18; g31 = t42 & t1; t43 = t34 ^ g15;
    t44 = g9 ^ t43; g17 = t44 & t7; g26 = t44 & t11; t45 = t40 ^ t44; g16 = t45 & t6;
    g25 = t45 & t3; t46 = t25 ^ g13; t47 = g9 ^ t46; g20 = t47 & t9; g29 = t47 & t12;
    t48 = t41 ^ t47; g19 = t48 & t16; g28 = t48 & t0; t49 = t45 ^ t48; g23 = t49 & t19;
    g32 = t49 & t2; t50 = t43 ^ t46; g24 = t50 & t14; g33 = t50 & t4; t51 = g31 ^ g32;
    t52 = g20 ^ t51; t53 = g26 ^ g25; t54 = t52 ^ t53; t55 = g17 ^ t54; t56 = g16 ^ t55;
    t57 = g19 ^ t56; t58 = g22 ^ g23; t59 = g18 ^ t55; t60 = g21 ^ t59; t61 = g29 ^ g28;
    t62 = g19 ^ t54; t63 = t58 ^ t62; t64 = g20 ^ t56; t65 = t58 ^ t64; t66 = t51 ^ t61;
    t67 = t60 ^ t66; t68 = t57 ^ t67; t69 = g24 ^ t59; t70 = g23 ^ t69; t71 = g20 ^ t70;
    t72 = t67 ^ t71; t73 = g30 ^ g28; t74 = t65 ^ t73; t75 = t71 ^ t74; t76 = g31 ^ g33;
    t77 = t75 ^ t76; t78 = g25 ^ t75; t79 = g27 ^ t78; t80 = t63 ^ t79;
}

// "32ANDs, BPD" with a depth of 18, from the circuits that the authors publish beside the first
// version of the same paper, as are the next five.
circuit! {
    JeonDepth18, Cost { and: 32, or: 0, xor: 93, not: 0, depth: 18, and_depth: 6 },
    [x0, x1, x2, x3, x4, x5, x6, x7] => [t81, t78, t92, t75, t70, t87, t68, t72]
    t0 = x1 ^ x7; t1 = x4 ^ x7; t2 = x2 ^ x4; t3 = t0 ^ t2; t4 = x2 ^ x7; t5 = x5 ^ x6;
    t6 = x0 ^ t5; t7 = x4 ^ t6; g2 = t7 & x0; t8 = x7 ^ t6; t9 = x1 ^ x3; t10 = t1 ^ t9;
    g0 = t3 & t10; t11 = x0 ^ t10; t12 = t5 ^ t10; g8 = t4 & t12; t13 = x2 ^ x5; t14 = t9 ^ t13;
    g3 = t0 & t14; t15 = t6 ^ t14; g5 = t8 & t15; t16 = t1 ^ t13; g7 = t2 & t16; t17 = x2 ^ x6;
    t18 = t9 ^ t17; g6 = t1 & t18; t19 = x0 ^ x1; t20 = t5 ^ t19; g4 = t20 & t6; t21 = t4 ^ t20;
    g1 = t21 & t11; t22 = g8 ^ g5; t23 = g7 ^ g4; t24 = g3 ^ g6; t25 = t14 ^ t24; t26 = t13 ^ g7;
    t27 = g1 ^ t26; t28 = t22 ^ t23; t29 = x1 ^ t28; t30 = t0 ^ t23; t31 = t25 ^ t30;
    t32 = t29 ^ t31; t33 = t4 ^ g8; t34 = g2 ^ t33; t35 = t27 ^ t34; t36 = g0 ^ t12; t37 = g6 ^ t36;
    t38 = t27 ^ t37; g9 = t38 & t31; t39 = t32 ^ g9; g10 = t35 & t39; t40 = t34 ^ t37;
    t41 = g9 ^ t40; g11 = t41 & t29; t42 = g9 ^ g11; g12 = t32 & t42; t43 = g10 ^ t40;
    g19 = t43 & t15; g28 = t43 & t8; t44 = t39 ^ g12; g13 = t43 & t44; t45 = t31 ^ g12;
    g14 = t45 & t10; g23 = t45 & t3; t46 = t32 ^ g11; g16 = t46 & x0; g25 = t46 & t7;
    t47 = t35 ^ g13; g18 = t47 & t6; g27 = t47 & t20; t48 = t43 ^ t46; g20 = t48 & t18;
    g29 = t48 & t1; t49 = t38 ^ g10; t50 = g13 ^ t49; g17 = t50 & t14; g26 = t50 & t0;
    t51 = t45 ^ t49; t52 = g13 ^ t51; g21 = t52 & t16; g30 = t52 & t2; t53 = t29 ^ g11;
    t54 = g12 ^ t53; g15 = t54 & t11; g24 = t54 & t21; t55 = g29 ^ g30; t56 = g23 ^ g24;
    t57 = t55 ^ t56; t58 = t35 ^ t54; t59 = g13 ^ t58; g22 = t59 & t12; g31 = t59 & t4;
    t60 = g20 ^ g21; t61 = g18 ^ g17; t62 = g14 ^ g15; t63 = g19 ^ g18; t64 = g27 ^ g26;
    t65 = t55 ^ t64; t66 = g14 ^ g16; t67 = t60 ^ t62; t68 = t57 ^ t67; t69 = t61 ^ t62;
    t70 = t57 ^ t69; t71 = t60 ^ t61; t72 = t57 ^ t71; t73 = g16 ^ g15; t74 = t63 ^ t73;
    t75 = t57 ^ t74; t76 = g21 ^ g22; t77 = t63 ^ t76; t78 = t65 ^ t77; t79 = g19 ^ t66;
    t80 = g17 ^ t79; t81 = t65 ^ t80; t82 = g28 ^ g29; t83 = g26 ^ t82; t84 = t76 ^ t83;
    t85 = g31 ^ t66; t86 = t60 ^ t85; t87 = t84 ^ t86; t88 = g25 ^ g24; t89 = t66 ^ t88;
    t90 = g30 ^ t89; t91 = t61 ^ t90; t92 = t84 ^ t91;
}

// "ours2, BPD": a new circuit with 32 ANDs and an AND depth of 5, with the least depth.
circuit! {
    Jeon2Depth17, Cost { and: 32, or: 0, xor: 142, not: 0, depth: 17, and_depth: 5 },
    [x0, x1, x2, x3, x4, x5, x6, x7] => [t123, t135, t141, t119, t130, t104, t93, t89]
    t0 = x2 ^ x3; t1 = x4 ^ t0; t2 = x0 ^ x7; t3 = x5 ^ x6; t4 = x4 ^ t3; t5 = x1 ^ t4;
    g6 = t1 & t5; t6 = x7 ^ t3; t7 = x2 ^ t6; g0 = t7 & t0; t8 = x3 ^ t6; t9 = t1 ^ t5;
    t10 = t8 ^ t9; t11 = t2 ^ t10; t12 = x4 ^ x6; t13 = t2 ^ t12; g2 = t4 & t13; t14 = t10 ^ t12;
    t15 = t9 ^ t13; t16 = x1 ^ x7; t17 = t12 ^ t16; g3 = x2 & t17; t18 = x5 ^ t16; t19 = x1 ^ t0;
    t20 = t4 ^ t19; t21 = t17 ^ t19; t22 = x0 ^ x6; t23 = t1 ^ t22; g4 = t23 & t21; t24 = x2 ^ x5;
    t25 = t2 ^ t24; g5 = t25 & t18; t26 = x3 ^ x4; t27 = t6 ^ t26; g1 = t27 & t20; t28 = t25 ^ t26;
    g8 = t28 & x1; t29 = g2 ^ g3; t30 = x1 ^ x5; t31 = t1 ^ t30; g7 = t6 & t31; t32 = g8 ^ t29;
    t33 = g6 ^ g7; t34 = t22 ^ g1; t35 = g2 ^ g7; t36 = t14 ^ t32; t61 = t33 ^ t36; t38 = t5 ^ t33;
    t39 = g5 ^ t34; t40 = t38 ^ t39; t41 = x5 ^ t34; t42 = g0 ^ t35; t43 = t41 ^ t42;
    t44 = t1 ^ t18; t45 = g4 ^ t44; t46 = g0 ^ t29; t47 = t45 ^ t46; t48 = t43 ^ t47;
    t49 = t61 ^ t48; t50 = t40 ^ t49; t51 = x6 ^ t25; t52 = g5 ^ t51; t53 = g1 ^ t52;
    t54 = t32 ^ t53; g9 = t47 & t54; t55 = t48 ^ g9; g11 = t61 & t55; t56 = t40 ^ g11;
    g18 = t56 & t21; g27 = t56 & t2; t57 = t54 ^ g9; t58 = g11 ^ t57; g13 = t40 & t58;
    t59 = t54 ^ g13; g17 = t59 & t17; g26 = t59 & t14; t60 = t32 ^ t33; t61 = t14 ^ t60;
    t62 = g9 ^ t61; g10 = t43 & t62; t63 = t55 ^ g10; g12 = t50 & t63; t64 = t48 ^ g10;
    t65 = g13 ^ t64; g15 = t65 & t20; g24 = t65 & t10; t66 = t56 ^ t64; t67 = g13 ^ t66;
    g19 = t67 & t18; g28 = t67 & t11; t68 = t40 ^ t43; t69 = t47 ^ t61; t70 = g10 ^ t69;
    t71 = g11 ^ t70; t72 = g12 ^ t71; t73 = t40 ^ t70; t74 = g12 ^ t73; g22 = t74 & x1;
    g31 = t74 & t15; t75 = t43 ^ t71; t76 = t4 ^ t75; g16 = t4 & t76; t77 = t13 ^ t75;
    g25 = t13 & t77; t78 = g11 ^ t68; t79 = g12 ^ t78; g20 = t79 & t5; g29 = t79 & t9;
    t80 = t40 ^ t47; t81 = g10 ^ t80; t82 = g11 ^ t81; t83 = g12 ^ t82; t84 = g13 ^ t83;
    g14 = t84 & t0; g23 = t84 & t8; t85 = t0 ^ t17; t86 = t72 ^ t85; g21 = t72 & t86;
    t87 = g26 ^ g28; t88 = g27 ^ g29; t89 = t87 ^ t88; t90 = g15 ^ g14; t91 = g18 ^ g22;
    t92 = g19 ^ t91; t93 = t90 ^ t92; t94 = t31 ^ t69; t95 = g10 ^ t94; t96 = g11 ^ t95;
    t97 = g12 ^ t96; g30 = t72 & t97; t98 = g23 ^ g21; t99 = g31 ^ g14; t100 = t88 ^ t91;
    t101 = t98 ^ t99; t102 = g20 ^ g30; t103 = t100 ^ t102; t104 = t101 ^ t103; t105 = g0 ^ t26;
    t106 = g6 ^ g4; t107 = g8 ^ g7; t108 = t105 ^ t106; t109 = t107 ^ t108; t110 = g10 ^ t109;
    t111 = g11 ^ t110; t112 = g12 ^ t111; t113 = g27 ^ t112; t114 = g14 ^ t113; t115 = g26 ^ g24;
    t116 = g16 ^ t115; t117 = g19 ^ t102; t118 = t114 ^ t117; t119 = t116 ^ t118; t120 = g18 ^ g30;
    t121 = g17 ^ t120; t122 = t114 ^ t121; t123 = t116 ^ t122; t124 = t72 ^ g29; t125 = g19 ^ t124;
    t126 = t98 ^ t115; t127 = g31 ^ g20; t128 = g15 ^ t127; t129 = t125 ^ t128; t130 = t126 ^ t129;
    t131 = g24 ^ g25; t132 = t13 ^ g27; t133 = g21 ^ t132; t134 = t131 ^ t133; t135 = t129 ^ t134;
    t136 = g19 ^ t127; t137 = t131 ^ t136; t138 = t13 ^ g18; t139 = g17 ^ t138; t140 = t87 ^ t139;
    t141 = t137 ^ t140;
}

// The same with a depth of 19.
circuit! {
    Jeon2Depth19, Cost { and: 32, or: 0, xor: 122, not: 0, depth: 19, and_depth: 5 },
    [x0, x1, x2, x3, x4, x5, x6, x7] => [t108, t116, t121, t105, t111, t94, t87, t79]
    t0 = x2 ^ x3; t1 = x4 ^ t0; t2 = x0 ^ x7; t3 = x5 ^ x6; t4 = x4 ^ t3; t5 = x1 ^ t4;
    g6 = t1 & t5; t6 = t0 ^ t5; t7 = x7 ^ t3; t8 = x2 ^ t7; g0 = t8 & t0; t9 = t1 ^ t8;
    g1 = t9 & t6; t10 = x6 ^ t6; g7 = t7 & t10; t11 = x3 ^ t7; t12 = t6 ^ t9; t13 = t10 ^ t11;
    t14 = t2 ^ t12; t15 = t1 ^ t5; t16 = t2 ^ t10; t17 = x5 ^ x7; t18 = t5 ^ t17; g3 = x2 & t18;
    t19 = x1 ^ t17; t20 = x0 ^ t17; t21 = t4 ^ t20; g2 = t4 & t21; t22 = t1 ^ t20; g8 = t22 & x1;
    t23 = x6 ^ x7; t24 = t1 ^ t23; t25 = g7 ^ g2; t26 = x0 ^ x6; t27 = t1 ^ t26; g4 = t27 & t24;
    t28 = x0 ^ g0; t29 = x2 ^ x5; t30 = t2 ^ t29; g5 = t30 & t19; t31 = g8 ^ t25; t32 = g3 ^ g2;
    t33 = g1 ^ g5; t34 = g6 ^ t13; t35 = t30 ^ t33; t36 = t31 ^ t34; t56 = g3 ^ t36; t38 = g4 ^ t32;
    t39 = t16 ^ t28; t40 = t38 ^ t39; t41 = x6 ^ g8; t42 = t32 ^ t41; t43 = t35 ^ t42;
    g9 = t40 & t43; t44 = t56 ^ t43; t45 = t3 ^ t28; t46 = g1 ^ t45; t47 = t25 ^ t46;
    t48 = t40 ^ t47; t49 = g9 ^ t48; g11 = t56 & t49; t50 = t43 ^ t48; t51 = t44 ^ g11;
    g18 = t51 & t24; g27 = t51 & t2; t52 = t43 ^ g9; t53 = g11 ^ t52; g13 = t44 & t53;
    t54 = t43 ^ g13; g17 = t54 & t18; g26 = t54 & t13; t55 = g3 ^ t34; t56 = t31 ^ t55;
    t57 = g9 ^ t56; g10 = t47 & t57; t58 = t49 ^ g10; g12 = t50 & t58; t59 = t50 ^ g10;
    t60 = t54 ^ t59; g15 = t60 & t6; g24 = t60 & t12; t61 = t51 ^ t59; t62 = t4 ^ t61;
    g16 = t4 & t62; t63 = t54 ^ t61; g19 = t63 & t19; g28 = t63 & t14; t64 = t21 ^ t61;
    g25 = t21 & t64; t65 = t40 ^ g10; t66 = t43 ^ t65; t67 = g12 ^ t66; g22 = t67 & x1;
    g31 = t67 & t16; t68 = t56 ^ g11; t69 = g13 ^ t68; t70 = t67 ^ t69; g14 = t70 & t0;
    g23 = t70 & t11; t71 = t65 ^ t68; t72 = g12 ^ t71; t73 = t47 ^ t51; t74 = g12 ^ t73;
    g20 = t74 & t5; g29 = t74 & t15; t75 = x1 ^ t24; t76 = t72 ^ t75; g21 = t72 & t76;
    t77 = g27 ^ g26; t78 = g28 ^ t77; t79 = g29 ^ t78; t80 = t10 ^ t40; t81 = g10 ^ t80;
    t82 = t68 ^ t81; t83 = g12 ^ t82; g30 = t72 & t83; t84 = g15 ^ g19; t85 = g18 ^ g22;
    t86 = g14 ^ t85; t87 = t84 ^ t86; t88 = g20 ^ t86; t89 = g23 ^ g21; t90 = g31 ^ g29;
    t91 = g27 ^ g30; t92 = t90 ^ t91; t93 = t89 ^ t92; t94 = t88 ^ t93; t95 = g24 ^ t72;
    t96 = g26 ^ g20; t97 = t84 ^ t95; t98 = t4 ^ g14; t99 = g16 ^ t91; t100 = t98 ^ t99;
    t101 = g19 ^ t96; t102 = g18 ^ g17; t103 = t21 ^ g25; t104 = t95 ^ t101; t105 = t100 ^ t104;
    t106 = g26 ^ t102; t107 = t95 ^ t106; t108 = t100 ^ t107; t109 = t90 ^ t96; t110 = t89 ^ t109;
    t111 = t97 ^ t110; t112 = g21 ^ t90; t113 = g27 ^ g20; t114 = t103 ^ t113; t115 = t112 ^ t114;
    t116 = t97 ^ t115; t117 = t78 ^ t114; t118 = g24 ^ g19; t119 = g31 ^ t102; t120 = t118 ^ t119;
    t121 = t117 ^ t120;
}

// "ours2, RNBP": the same with few gates.
circuit! {
    Jeon2Depth41, Cost { and: 32, or: 0, xor: 97, not: 0, depth: 41, and_depth: 5 },
    [x0, x1, x2, x3, x4, x5, x6, x7] => [t86, t91, t96, t88, t80, t77, t69, t65]
    t0 = x2 ^ x3; t1 = x4 ^ t0; t2 = x0 ^ x7; t3 = x5 ^ x6; t4 = x4 ^ t3; t5 = x1 ^ t4;
    g6 = t1 & t5; t6 = t0 ^ t5; t7 = x7 ^ t3; t8 = x2 ^ t7; g0 = t8 & t0; t9 = t1 ^ t8;
    g1 = t9 & t6; t10 = x6 ^ t6; g7 = t7 & t10; t11 = x3 ^ t7; t12 = t6 ^ t9; t13 = t10 ^ t11;
    t14 = x2 ^ t13; g3 = x2 & t14; t15 = t4 ^ t14; t16 = t6 ^ t15; t17 = t2 ^ t16; g4 = t17 & t16;
    t18 = t9 ^ t17; g5 = t18 & t15; t19 = t7 ^ t17; g8 = t19 & x1; t20 = t2 ^ t12; t21 = t13 ^ t20;
    g2 = t4 & t21; t22 = t1 ^ t5; t23 = t2 ^ t10; t24 = x0 ^ g2; t25 = g0 ^ t24; t26 = g1 ^ g7;
    t27 = g3 ^ g8; t28 = g7 ^ g2; t29 = t3 ^ t25; t30 = t26 ^ t29; t31 = g4 ^ t23; t32 = g3 ^ t25;
    t33 = t31 ^ t32; t34 = g6 ^ t27; t35 = t13 ^ t34; t36 = t28 ^ t35; t37 = g6 ^ t17;
    t38 = g5 ^ t22; t39 = t37 ^ t38; t40 = t26 ^ t39; t41 = t36 ^ t40; g9 = t33 & t41;
    t42 = t36 ^ g9; g10 = t30 & t42; t43 = t30 ^ t33; t44 = g9 ^ t43; g11 = t36 & t44;
    t45 = t41 ^ t43; t46 = g10 ^ t44; g12 = t45 & t46; t47 = t40 ^ g11; g18 = t47 & t16;
    g27 = t47 & t2; t48 = t42 ^ t47; g13 = t40 & t48; t49 = t41 ^ g13; g17 = t49 & t14;
    g26 = t49 & t13; t50 = g10 ^ t45; t51 = t49 ^ t50; g15 = t51 & t6; g24 = t51 & t12;
    t52 = t47 ^ t51; g19 = t52 & t15; g28 = t52 & t20; t53 = t30 ^ g12; t54 = t52 ^ t53;
    g14 = t54 & t0; g23 = t54 & t11; t55 = t47 ^ t53; g20 = t55 & t5; g29 = t55 & t22;
    t56 = t50 ^ t55; t57 = t50 ^ t53; g22 = t57 & x1; g31 = t57 & t23; t58 = t10 ^ t56;
    g30 = t56 & t58; t59 = t7 ^ t58; g21 = t56 & t59; t60 = t47 ^ t50; t61 = t4 ^ t60;
    g16 = t4 & t61; t62 = t21 ^ t60; g25 = t21 & t62; t63 = g27 ^ g29; t64 = g28 ^ t63;
    t65 = g26 ^ t64; t66 = g15 ^ g19; t67 = g14 ^ t66; t68 = g18 ^ g22; t69 = t67 ^ t68;
    t70 = g31 ^ t63; t71 = g21 ^ t70; t72 = g20 ^ t66; t73 = t71 ^ t72; t74 = g23 ^ t73;
    t75 = g24 ^ t56; t76 = g30 ^ t74; t77 = t69 ^ t76; t78 = g27 ^ t74; t79 = g26 ^ t75;
    t80 = t78 ^ t79; t81 = g16 ^ t76; t82 = t4 ^ t80; t83 = t81 ^ t82; t84 = g14 ^ t83;
    t85 = g18 ^ t84; t86 = g17 ^ t85; t87 = g15 ^ t84; t88 = t72 ^ t87; t89 = t21 ^ g25;
    t90 = t73 ^ t89; t91 = t75 ^ t90; t92 = t65 ^ t91; t93 = t86 ^ t87; t94 = t56 ^ g21;
    t95 = t93 ^ t94; t96 = t92 ^ t95;
}

// "ours3, BPD": a new circuit with 33 ANDs and an AND depth of 4, with the least depth.
circuit! {
    Jeon3Depth16, Cost { and: 33, or: 0, xor: 154, not: 0, depth: 16, and_depth: 4 },
    [x0, x1, x2, x3, x4, x5, x6, x7] => [t129, t147, t123, t134, t142, t153, t99, t92]
    t0 = x2 ^ x3; t1 = x4 ^ t0; t2 = x0 ^ x7; t3 = x5 ^ x6; t4 = x4 ^ t3; t5 = x1 ^ t4;
    g6 = t1 & t5; t6 = x7 ^ t3; t7 = x2 ^ t6; g0 = t7 & t0; t8 = x3 ^ t6; t9 = t1 ^ t5;
    t10 = t8 ^ t9; t11 = t2 ^ t10; t12 = x5 ^ x7; t13 = t5 ^ t12; g3 = x2 & t13; t14 = x1 ^ t12;
    t15 = x2 ^ t13; t16 = x1 ^ t0; t17 = t4 ^ t16; t18 = x6 ^ x7; t19 = t1 ^ t18; t20 = x4 ^ x6;
    t21 = t2 ^ t20; g2 = t4 & t21; t22 = t9 ^ t21; t23 = x4 ^ x5; t24 = t16 ^ t23; g7 = t6 & t24;
    t25 = x3 ^ x4; t26 = t6 ^ t25; g1 = t26 & t17; t27 = g7 ^ g1; t28 = x0 ^ t3; t29 = t0 ^ t23;
    t30 = t28 ^ t29; g4 = t30 & t19; t31 = t2 ^ t29; g8 = t31 & x1; t32 = g2 ^ t28; t33 = g0 ^ t32;
    t34 = t27 ^ t33; t35 = x2 ^ x5; t36 = t2 ^ t35; g5 = t36 & t14; t37 = t7 ^ g5; t38 = g3 ^ g4;
    t39 = g6 ^ t37; t40 = x3 ^ t39; t41 = t38 ^ t40; t42 = t34 ^ t41; t43 = g8 ^ t37;
    t44 = g0 ^ t43; t45 = t3 ^ g7; t46 = g3 ^ t45; t47 = t44 ^ t46; t48 = g4 ^ t44; t49 = t22 ^ g1;
    t50 = t48 ^ t49; t51 = t16 ^ t21; t52 = t33 ^ t51; t53 = t38 ^ t52; g12 = t53 & t47;
    t54 = t47 ^ t53; t55 = g12 ^ t54; g13 = t34 & t55; t56 = g6 ^ g0; t57 = x5 ^ g2; t58 = t5 ^ g5;
    t59 = t57 ^ t58; t60 = t56 ^ t59; g9 = t34 & t60; t61 = t41 ^ g9; t62 = t50 ^ t61;
    g11 = t42 & t62; t63 = t27 ^ t51; t64 = t38 ^ t63; t65 = g9 ^ t64; g10 = t50 & t65;
    t66 = t54 ^ g10; g23 = t66 & x1; g32 = t66 & t22; t67 = t41 ^ t47; t68 = g10 ^ t67;
    t69 = g11 ^ t68; g18 = t69 & t13; g27 = t69 & t15; t70 = t54 ^ g9; t71 = g13 ^ t70;
    t72 = t69 ^ t71; g16 = t72 & t17; g25 = t72 & t10; t73 = t34 ^ t60; t74 = g9 ^ t73;
    t75 = g12 ^ t74; g14 = t41 & t75; t76 = g13 ^ g14; t77 = t50 ^ g12; t78 = g14 ^ t77;
    t79 = t4 ^ t78; g17 = t4 & t79; t80 = t71 ^ t78; g19 = t80 & t19; g28 = t80 & t2;
    t81 = t69 ^ t78; g20 = t81 & t14; g29 = t81 & t11; t82 = t21 ^ t78; g26 = t21 & t82;
    t83 = t68 ^ t75; t84 = t76 ^ t83; t85 = g11 ^ t75; t86 = t76 ^ t85; g15 = t86 & t0;
    g24 = t86 & t8; t87 = t34 ^ g12; t88 = g10 ^ t87; t89 = g14 ^ t88; g21 = t89 & t5;
    g30 = t89 & t9; t90 = g27 ^ g30; t91 = g29 ^ t90; t92 = g28 ^ t91; t93 = t24 ^ t75;
    t94 = t68 ^ t93; t95 = t76 ^ t94; g31 = t84 & t95; t96 = g19 ^ g20; t97 = g23 ^ g15;
    t98 = t96 ^ t97; t99 = g16 ^ t98; t100 = x0 ^ t51; t101 = t75 ^ t100; t102 = t68 ^ t101;
    t103 = t76 ^ t102; g22 = t84 & t103; t104 = x0 ^ x1; t105 = x3 ^ x5; t106 = t104 ^ t105;
    t107 = g5 ^ t106; t108 = g0 ^ g1; t109 = g4 ^ g8; t110 = t107 ^ t108; t111 = t109 ^ t110;
    t112 = g9 ^ t111; t113 = g12 ^ t112; t114 = g10 ^ t113; t115 = t76 ^ t114; t116 = g18 ^ g27;
    t117 = g25 ^ t116; t118 = g26 ^ t117; t119 = t21 ^ g32; t120 = g21 ^ t119; t121 = g29 ^ t120;
    t122 = t96 ^ t121; t123 = t118 ^ t122; t124 = g19 ^ g15; t125 = t117 ^ t124; t126 = g28 ^ t115;
    t127 = g17 ^ g31; t128 = t126 ^ t127; t129 = t125 ^ t128; t130 = g27 ^ g21; t131 = g25 ^ t130;
    t132 = g20 ^ g15; t133 = t131 ^ t132; t134 = t128 ^ t133; t135 = g32 ^ g20; t136 = g24 ^ g22;
    t137 = t84 ^ g30; t138 = g16 ^ t137; t139 = g28 ^ t120; t140 = t135 ^ t136; t141 = t131 ^ t138;
    t142 = t140 ^ t141; t143 = t138 ^ t139; t144 = g25 ^ g20; t145 = g26 ^ g22; t146 = t144 ^ t145;
    t147 = t143 ^ t146; t148 = t21 ^ g23; t149 = t136 ^ t139; t150 = g30 ^ t148; t151 = g31 ^ t150;
    t152 = t124 ^ t151; t153 = t149 ^ t152;
}

// "ours3, RNBP": the same with few gates.
circuit! {
    Jeon3Depth41, Cost { and: 33, or: 0, xor: 102, not: 0, depth: 41, and_depth: 4 },
    [x0, x1, x2, x3, x4, x5, x6, x7] => [t96, t84, t101, t94, t87, t79, t73, t69]
    t0 = x2 ^ x3; t1 = x4 ^ t0; t2 = x0 ^ x7; t3 = x5 ^ x6; t4 = x4 ^ t3; t5 = x1 ^ t4;
    g6 = t1 & t5; t6 = t0 ^ t5; t7 = x7 ^ t3; t8 = x2 ^ t7; g0 = t8 & t0; t9 = t1 ^ t8;
    g1 = t9 & t6; t10 = x6 ^ t6; g7 = t7 & t10; t11 = x3 ^ t7; t12 = t6 ^ t9; t13 = t10 ^ t11;
    t14 = x2 ^ t13; g3 = x2 & t14; t15 = t4 ^ t14; t16 = t6 ^ t15; t17 = t2 ^ t16; g4 = t17 & t16;
    t18 = t9 ^ t17; g5 = t18 & t15; t19 = t7 ^ t17; g8 = t19 & x1; t20 = t2 ^ t12; t21 = t13 ^ t20;
    g2 = t4 & t21; t22 = t1 ^ t5; t23 = t2 ^ t10; t24 = g0 ^ g2; t25 = x0 ^ t24; t26 = t3 ^ g7;
    t27 = t8 ^ g5; t28 = t25 ^ t26; t29 = g1 ^ t28; t30 = g3 ^ g4; t31 = x3 ^ t27; t32 = g6 ^ t31;
    t33 = t30 ^ t32; t34 = t29 ^ t33; t35 = t23 ^ t25; t36 = t32 ^ t35; g9 = t29 & t36;
    t37 = t30 ^ t35; t38 = g8 ^ t27; t39 = g0 ^ t38; t40 = g3 ^ t39; t41 = t26 ^ t40;
    g12 = t37 & t41; t42 = t37 ^ t41; t43 = t29 ^ t42; t44 = g12 ^ t42; g13 = t29 & t44;
    t45 = g9 ^ t43; t46 = t41 ^ t45; g10 = t43 & t46; t47 = t33 ^ t45; g11 = t34 & t47;
    t48 = t42 ^ g10; g23 = t48 & x1; g32 = t48 & t23; t49 = t36 ^ g11; t50 = t48 ^ t49;
    g18 = t50 & t14; g27 = t50 & t13; t51 = t34 ^ g13; t52 = t50 ^ t51; t53 = t47 ^ t52;
    g16 = t53 & t6; g25 = t53 & t12; t54 = t41 ^ g12; t55 = t47 ^ t54; g14 = t33 & t55;
    t56 = t44 ^ g14; t57 = t29 ^ t56; t58 = t4 ^ t57; g17 = t4 & t58; t59 = t50 ^ t57;
    g20 = t59 & t15; g29 = t59 & t20; t60 = t53 ^ t59; g19 = t60 & t16; g28 = t60 & t2;
    t61 = t49 ^ t60; g15 = t61 & t0; g24 = t61 & t11; t62 = t48 ^ t57; g21 = t62 & t5;
    g30 = t62 & t22; t63 = t48 ^ t60; t64 = t21 ^ t57; g26 = t21 & t64; t65 = t10 ^ t63;
    g31 = t63 & t65; t66 = t7 ^ t65; g22 = t63 & t66; t67 = g28 ^ g30; t68 = g29 ^ t67;
    t69 = g27 ^ t68; t70 = g16 ^ g20; t71 = g23 ^ g15; t72 = g19 ^ t71; t73 = t70 ^ t72;
    t74 = g31 ^ t72; t75 = g32 ^ t67; t76 = g21 ^ g22; t77 = t75 ^ t76; t78 = g24 ^ t77;
    t79 = t74 ^ t78; t80 = t63 ^ t70; t81 = g25 ^ t80; t82 = g26 ^ t77; t83 = t21 ^ t82;
    t84 = t81 ^ t83; t85 = t78 ^ t81; t86 = g27 ^ g28; t87 = t85 ^ t86; t88 = g17 ^ t87;
    t89 = t4 ^ t79; t90 = t88 ^ t89; t91 = g23 ^ t90; t92 = g16 ^ g19; t93 = g21 ^ t91;
    t94 = t92 ^ t93; t95 = g18 ^ t70; t96 = t91 ^ t95; t97 = t69 ^ t95; t98 = t84 ^ t97;
    t99 = t92 ^ t98; t100 = g22 ^ t99; t101 = t80 ^ t100;
}
