//! The text of the loops for s390x.
//!
//! Vector registers: the state is in v0 and up, the tables are in v16 to v29. Temporary registers
//! are v30, v31 and those between state and tables.

/// Lines of instructions.
macro_rules! lines {
    ($($name:ident $($operand:expr),+;)*) => {
        concat!($(stringify!($name $($operand),+), "\n"),*)
    };
}

/// Computes two AES rounds, `to = AES(from) ^ key`. Their instructions take turns, because each
/// round is one long chain. The second output may be the first input.
macro_rules! two_rounds {
    (8, $($round:tt)*) => {
        two_rounds!([30 31 8 9] [10 11 12 13] $($round)*)
    };
    (6, $($round:tt)*) => {
        two_rounds!([30 31 6 7] [8 9 10 11] $($round)*)
    };
    (
        [$a:literal $b:literal $c:literal $d:literal]
        [$e:literal $f:literal $g:literal $h:literal]
        [$to0:literal $from0:literal $key0:literal] [$to1:literal $from1:literal $key1:literal]
    ) => {
        lines! {
            vperm $a, $from0, $from0, 25; vperm $e, $from1, $from1, 25; // ShiftRows
            vesrlb $b, $a, 4; vesrlb $f, $e, 4;
            vperm $b, 16, 16, $b; vperm $f, 16, 16, $f; // log i
            vperm $a, 17, 17, $a; vperm $e, 17, 17, $e; // log k
            vsb $c, $b, $a; vsb $g, $f, $e;
            vperm $c, 18, 19, $c; vperm $g, 18, 19, $g; // log m
            vab $d, $b, $c; vab $h, $f, $g;
            vab $c, $a, $c; vab $g, $e, $g;
            vmxb $d, $d, $a; vmxb $h, $h, $e; // -log(k/N)
            vmxb $c, $c, $b; vmxb $g, $g, $f; // -log(i/N)
            vperm $d, 22, 23, $d; vperm $h, 22, 23, $h;
            vperm $c, 20, 21, $c; vperm $g, 20, 21, $g;
            vx $c, $c, $d; vx $g, $g, $h;
            // MixColumns: 2a0 + 3a1 + a2 + a3 = 2w0 + a1 + w2 with w0 = a0 + a1 and w2 = a2 + a3.
            verllf $d, $c, 8; verllf $h, $g, 8;
            vx $c, $c, $d; vx $g, $g, $h;
            vx $d, $d, $key0; vx $h, $h, $key1;
            verllf $a, $c, 16; verllf $e, $g, 16;
            vperm $b, 24, 24, $c; vperm $f, 24, 24, $g; // 2w is the sum of this and the next
            vesrlb $c, $c, 4; vesrlb $g, $g, 4;
            vx $d, $d, $a; vx $h, $h, $e;
            vx $b, $b, $c; vx $f, $f, $g;
            vx $to0, $b, $d; vx $to1, $f, $h;
        }
    };
}

/// Updates a state of 8 words with v14 and v15, or one of 6 words with v12, and overwrites v14 or
/// v12. As in `Aegis128::update`, S0 and S4 are added after the rounds.
macro_rules! update {
    (8) => {
        concat!(
            two_rounds!(8, [14 7 14] [7 6 7]),
            two_rounds!(8, [6 5 6] [5 4 5]),
            two_rounds!(8, [4 3 4] [3 2 3]),
            two_rounds!(8, [2 1 2] [1 0 1]),
            lines! { vx 0, 0, 14; vx 4, 4, 15; }
        )
    };
    (6) => {
        concat!(
            two_rounds!(6, [12 5 12] [5 4 5]),
            two_rounds!(6, [4 3 4] [3 2 3]),
            two_rounds!(6, [2 1 2] [1 0 1]),
            lines! { vx 0, 0, 12; }
        )
    };
}

/// Converts a register from the standard's form to that of words.
macro_rules! into_word {
    ($v:literal, $t:literal) => {
        lines! {
            vesrlb $t, $v, 4;
            vperm $v, 26, 26, $v;
            vperm $t, 27, 27, $t;
            vx $v, $v, $t;
        }
    };
}

/// Converts from the form of words to that of the standard.
macro_rules! from_word {
    ($to:literal, $v:literal, $t:literal) => {
        lines! {
            vesrlb $t, $v, 4;
            vperm $to, 28, 28, $v;
            vperm $t, 29, 29, $t;
            vx $to, $to, $t;
        }
    };
}

/// Makes `sum ^ (a & b)`, a block of key stream, in the first temporary register from `sum = x ^
/// y`, with three more registers.
macro_rules! keystream {
    ($z:literal $s:literal $t:literal $u:literal, $x:literal $y:literal, $a:literal $b:literal) => {
        concat!(
            lines! { vx $z, $x, $y; },
            from_word!($z, $z, $u),
            from_word!($s, $a, $u),
            from_word!($t, $b, $u),
            lines! { vn $s, $s, $t; vx $z, $z, $s; }
        )
    };
}

/// A step. The message becomes v14 and v15, or v12.
macro_rules! step {
    (8, absorb) => {
        concat!(
            "vl 14, 0({at},{src})\nvl 15, 0({at},{src1})\n",
            into_word!(14, 30), into_word!(15, 31), update!(8)
        )
    };
    (8, encrypt) => {
        concat!(
            "vl 14, 0({at},{src})\nvl 15, 0({at},{src1})\n",
            keystream!(30 31 8 9, 1 6, 2 3), keystream!(10 11 12 13, 2 5, 6 7),
            lines! { vx 30, 30, 14; vx 10, 10, 15; },
            "vst 30, 0({at},{dst})\nvst 10, 0({at},{dst1})\n",
            into_word!(14, 30), into_word!(15, 31), update!(8)
        )
    };
    (8, decrypt) => {
        concat!(
            "vl 14, 0({at},{src})\nvl 15, 0({at},{src1})\n",
            keystream!(30 31 8 9, 1 6, 2 3), keystream!(10 11 12 13, 2 5, 6 7),
            lines! { vx 14, 14, 30; vx 15, 15, 10; },
            "vst 14, 0({at},{dst})\nvst 15, 0({at},{dst1})\n",
            into_word!(14, 30), into_word!(15, 31), update!(8)
        )
    };
    (6, absorb) => {
        concat!("vl 12, 0({at},{src})\n", into_word!(12, 30), update!(6))
    };
    (6, encrypt) => {
        concat!(
            "vl 12, 0({at},{src})\n",
            lines! { vx 9, 4, 5; }, keystream!(6 7 8 30, 1 9, 2 3),
            lines! { vx 6, 6, 12; },
            "vst 6, 0({at},{dst})\n",
            into_word!(12, 30), update!(6)
        )
    };
    (6, decrypt) => {
        concat!(
            "vl 12, 0({at},{src})\n",
            lines! { vx 9, 4, 5; }, keystream!(6 7 8 30, 1 9, 2 3),
            lines! { vx 12, 12, 6; },
            "vst 12, 0({at},{dst})\n",
            into_word!(12, 30), update!(6)
        )
    };
}
