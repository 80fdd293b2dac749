//! The text of the loops for s390x.
//!
//! Vector registers: the state is in v0 and up, the tables are in v16 to v29. Temporary registers
//! are v30, v31 and those between state and tables. For the order that `reorder` makes, v15, v25,
//! v28 and v29 have other tables.

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
        [$a:literal $($b:literal)*] [$e:literal $($f:literal)*]
        [$to0:literal $from0:literal $key0:literal] [$to1:literal $from1:literal $key1:literal]
    ) => {
        concat!(
            lines! { vperm $a, $from0, $from0, 25; vperm $e, $from1, $from1, 25; },
            after_shift!([$a $($b)*] [$e $($f)*] [$to0 $a $key0, 0] [$to1 $e $key1, 0])
        )
    };
}

/// Computes what follows ShiftRows in two AES rounds. The last number says how many times ShiftRows
/// was applied to the word that the output becomes: MixColumns finds the rows accordingly.
macro_rules! after_shift {
    (8, $($round:tt)*) => {
        after_shift!([30 31 8 9] [10 11 12 13] $($round)*)
    };
    (6, $($round:tt)*) => {
        after_shift!([30 31 6 7] [8 9 10 11] $($round)*)
    };
    (
        [$a:literal $b:literal $c:literal $d:literal]
        [$e:literal $f:literal $g:literal $h:literal]
        [$to0:literal $from0:literal $key0:literal, $order0:tt]
        [$to1:literal $from1:literal $key1:literal, $order1:tt]
    ) => {
        concat!(
            lines! {
                vesrlb $b, $from0, 4; vesrlb $f, $from1, 4;
                vperm $b, 16, 16, $b; vperm $f, 16, 16, $f; // log i
                vperm $a, 17, 17, $from0; vperm $e, 17, 17, $from1; // log k
                vsb $c, $b, $a; vsb $g, $f, $e;
                vperm $c, 18, 19, $c; vperm $g, 18, 19, $g; // log m
                vab $d, $b, $c; vab $h, $f, $g;
                vab $c, $a, $c; vab $g, $e, $g;
                vmxb $d, $d, $a; vmxb $h, $h, $e; // -log(k/N)
                vmxb $c, $c, $b; vmxb $g, $g, $f; // -log(i/N)
                vperm $d, 22, 23, $d; vperm $h, 22, 23, $h;
                vperm $c, 20, 21, $c; vperm $g, 20, 21, $g;
                vx $c, $c, $d; vx $g, $g, $h;
            },
            // MixColumns: 2a0 + 3a1 + a2 + a3 = 2w0 + a1 + w2 with w0 = a0 + a1 and w2 = a2 + a3.
            rotate!(1, $order0, $d, $c), rotate!(1, $order1, $h, $g),
            lines! {
                vx $c, $c, $d; vx $g, $g, $h;
                vx $d, $d, $key0; vx $h, $h, $key1;
            },
            rotate!(2, $order0, $a, $c), rotate!(2, $order1, $e, $g),
            lines! {
                vperm $b, 24, 24, $c; vperm $f, 24, 24, $g; // 2w is the sum of this and the next
                vesrlb $c, $c, 4; vesrlb $g, $g, 4;
                vx $d, $d, $a; vx $h, $h, $e;
                vx $b, $b, $c; vx $f, $f, $g;
                vx $to0, $b, $d; vx $to1, $f, $h;
            }
        )
    };
}

/// Moves the rows of a word by one or two, after so many times ShiftRows.
macro_rules! rotate {
    (1, 0, $to:literal, $from:literal) => {
        lines! { verllf $to, $from, 8; }
    };
    (1, 1, $to:literal, $from:literal) => {
        lines! { vperm $to, $from, $from, 25; }
    };
    (1, 2, $to:literal, $from:literal) => {
        lines! { vperm $to, $from, $from, 28; }
    };
    (1, 3, $to:literal, $from:literal) => {
        lines! { vperm $to, $from, $from, 29; }
    };
    (2, 0, $to:literal, $from:literal) => {
        lines! { verllf $to, $from, 16; }
    };
    (2, 2, $to:literal, $from:literal) => {
        lines! { verllf $to, $from, 16; }
    };
    (2, $order:literal, $to:literal, $from:literal) => {
        lines! { vperm $to, $from, $from, 15; }
    };
}

/// Applies ShiftRows 4 - i times (modulo 4) to each word S_i, and takes that back. In between, the
/// round from S_i to its successor needs no ShiftRows. That from S5 to S0 of AEGIS-256 needs two,
/// which are in v14.
macro_rules! reorder {
    (8, enter) => {
        concat!(
            "vlm 8, 10, 224({t})\nvl 25, 272({t})\nvlm 28, 29, 288({t})\nvl 15, 320({t})\n",
            lines! {
                vperm 1, 1, 1, 10; vperm 2, 2, 2, 9; vperm 3, 3, 3, 8;
                vperm 5, 5, 5, 10; vperm 6, 6, 6, 9; vperm 7, 7, 7, 8;
            }
        )
    };
    (8, leave) => {
        concat!(
            "vlm 8, 10, 224({t})\n",
            lines! {
                vperm 1, 1, 1, 8; vperm 2, 2, 2, 9; vperm 3, 3, 3, 10;
                vperm 5, 5, 5, 8; vperm 6, 6, 6, 9; vperm 7, 7, 7, 10;
            }
        )
    };
    (6, enter) => {
        concat!(
            "vlm 8, 10, 224({t})\nvl 25, 272({t})\nvlm 28, 29, 288({t})\nvl 15, 320({t})\n",
            lines! {
                vperm 1, 1, 1, 10; vperm 2, 2, 2, 9; vperm 3, 3, 3, 8; vperm 5, 5, 5, 10;
                vlr 14, 9;
            }
        )
    };
    (6, leave) => {
        concat!(
            "vlm 8, 10, 224({t})\n",
            lines! { vperm 1, 1, 1, 8; vperm 2, 2, 2, 9; vperm 3, 3, 3, 10; vperm 5, 5, 5, 8; }
        )
    };
}

/// Updates a reordered state of 8 words with v14 or one of 6 words with v12, and overwrites that.
/// The second block of input is added by the caller.
macro_rules! update_reordered {
    (8) => {
        concat!(
            after_shift!(8, [14 7 14, 0] [7 6 7, 1]),
            after_shift!(8, [6 5 6, 2] [5 4 5, 3]),
            after_shift!(8, [4 3 4, 0] [3 2 3, 1]),
            after_shift!(8, [2 1 2, 2] [1 0 1, 3]),
            lines! { vx 0, 0, 14; }
        )
    };
    (6) => {
        concat!(
            lines! { vperm 30, 5, 5, 14; },
            after_shift!(6, [12 30 12, 0] [5 4 5, 3]),
            after_shift!(6, [4 3 4, 0] [3 2 3, 1]),
            after_shift!(6, [2 1 2, 2] [1 0 1, 3]),
            lines! { vx 0, 0, 12; }
        )
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
            "vl 14, 0({at},{src})\n", into_word!(14, 30), update_reordered!(8),
            "vl 30, 0({at},{src1})\n", into_word!(30, 31), lines! { vx 4, 4, 30; }
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
        concat!("vl 12, 0({at},{src})\n", into_word!(12, 30), update_reordered!(6))
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
