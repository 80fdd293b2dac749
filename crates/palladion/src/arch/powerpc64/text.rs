//! The text of the loops for POWER.
//!
//! Vector registers: the first lane is in v0 and up, a second one in v8 (AEGIS-256: v6) and up. v16
//! to v18 are temporary, and v19 has the control of permutations. Instructions that can access all
//! 64 vector registers call these 32 and up.

/// Lines of instructions.
macro_rules! lines {
    ($($name:ident $($operand:expr),+;)*) => {
        concat!($(stringify!($name $($operand),+), "\n"),*)
    };
}

/// Loads or stores all words of 8 or 6, for one or two lanes.
macro_rules! words {
    ($access:literal, 8, 1) => {
        words!($access, [0 1 2 3] 64 [4 5 6 7])
    };
    ($access:literal, 8, 2) => {
        words!($access, [0 8 1 9] 64 [2 10 3 11] 128 [4 12 5 13] 192 [6 14 7 15])
    };
    ($access:literal, 6, 1) => {
        words!($access, [0 1 2 3] 64 [4 5])
    };
    ($access:literal, 6, 2) => {
        words!($access, [0 6 1 7] 64 [2 8 3 9] 128 [4 10 5 11])
    };
    ($access:literal, $first:tt $($offset:literal $words:tt)*) => {
        concat!(
            words!($access, "{state}", $first),
            $("addi {at}, {state}, ", $offset, "\n", words!($access, "{at}", $words)),*
        )
    };
    ($access:literal, $at:literal, [$v0:literal $v1:literal $($v2:literal $v3:literal)?]) => {
        concat!(
            $access, " 32+", $v0, ", 0, ", $at, "\n",
            $access, " 32+", $v1, ", {a}, ", $at, "\n",
            $(
                $access, " 32+", $v2, ", {b}, ", $at, "\n",
                $access, " 32+", $v3, ", {c}, ", $at, "\n",
            )?
        )
    };
}

/// Updates a lane of 8 or 6 words in register `b` and up. The registers are those of the input, two
/// temporary ones, which can be the same, and those that S0 and S4 are made from. The input is the
/// round key, and S0 (S4) is added after the round, as in `Aegis128::update`.
macro_rules! update {
    (8, $b:literal, [$m:literal $n:literal] [$t:literal $u:literal] [$s7:expr, $s3:expr]) => {
        lines! {
            vcipher $t, $s7, $m;
            vcipher $u, $s3, $n;
            vcipher $b + 7, $b + 6, $b + 7;
            vcipher $b + 6, $b + 5, $b + 6;
            vcipher $b + 5, $b + 4, $b + 5;
            vcipher $b + 3, $b + 2, $b + 3;
            vcipher $b + 2, $b + 1, $b + 2;
            vcipher $b + 1, $b, $b + 1;
            vxor $b + 4, $b + 4, $u;
            vxor $b, $b, $t;
        }
    };
    (6, $b:literal, [$m:literal $n:literal] [$t:literal $u:literal] [$s5:expr, $s3:expr]) => {
        lines! {
            vcipher $t, $s5, $m;
            vcipher $b + 5, $b + 4, $b + 5;
            vcipher $b + 4, $s3, $b + 4;
            vcipher $b + 3, $b + 2, $b + 3;
            vcipher $b + 2, $b + 1, $b + 2;
            vcipher $b + 1, $b, $b + 1;
            vxor $b, $b, $t;
        }
    };
}

/// Updates twice for each pair of inputs, with the context. That is in the register of the same
/// number as the lane's first, in the half of all registers that AES instructions cannot access. It
/// is part of S3 and of the last word, where it stays for the second update.
macro_rules! update_twice {
    ($words:tt, $b:literal, $last:literal, [$($first:tt $second:tt)*]) => {
        concat!($(
            update!($words, $b, $first [18 19] [$b + $last, $b + 3]),
            lines! { xxlxor 32 + 18, 32 + $b + $last, $b; xxlxor 32 + 19, 32 + $b + 3, $b; },
            update!($words, $b, $second [18 19] [18, 19]),
        )*)
    };
}

/// Converts between a word, whose byte 0 is at the left of the register, and what the CPU loads and
/// stores. Little-endian CPUs reverse the bytes of each half.
#[cfg(target_endian = "little")]
macro_rules! convert {
    ($v:literal) => {
        lines! { vperm $v, $v, $v, 19; }
    };
}
#[cfg(target_endian = "big")]
macro_rules! convert {
    ($v:literal) => {
        ""
    };
}

/// Adds two vectors, of which the second is converted.
#[cfg(target_endian = "little")]
macro_rules! add_converted {
    ($to:expr, $v:expr, $converted:literal) => {
        lines! { vpermxor $to, $v, $converted, 19; }
    };
}
#[cfg(target_endian = "big")]
macro_rules! add_converted {
    ($to:expr, $v:expr, $converted:literal) => {
        lines! { vxor $to, $v, $converted; }
    };
}

/// Accesses a vector of the message at an offset from its pointer.
macro_rules! message {
    ($access:literal, $v:literal, $at:literal, $pointer:literal) => {
        concat!($access, " 32+", $v, ", ", $at, ", ", $pointer, "\n")
    };
}

/// Makes the key stream in v18. S1 (S5) comes last, because it is the last to be ready.
macro_rules! keystream {
    (8, $s2:expr, $s3:expr, $s6:expr, $s1:expr) => {
        lines! { vand 18, $s2, $s3; vxor 18, 18, $s6; vxor 18, 18, $s1; }
    };
    (6, $b:literal) => {
        lines! {
            vand 18, $b + 2, $b + 3;
            vxor 18, 18, $b + 4;
            vxor 18, 18, $b + 5;
            vxor 18, 18, $b + 1;
        }
    };
}

/// A step of a lane, for vectors of the message at these offsets. Decryption needs two more
/// registers, the second of which is zero: the message is known late, so it is added last and is
/// not the round key.
macro_rules! step {
    (8, $b:literal, $at0:literal $at1:literal, [absorb]) => {
        concat!(
            message!("lxvd2x", 16, $at0, "{src}"), message!("lxvd2x", 17, $at1, "{src}"),
            convert!(16), convert!(17),
            update!(8, $b, [16 17] [16 17] [$b + 7, $b + 3])
        )
    };
    (8, $b:literal, $at0:literal $at1:literal, [encrypt]) => {
        concat!(
            message!("lxvd2x", 16, $at0, "{src}"), message!("lxvd2x", 17, $at1, "{src}"),
            keystream!(8, $b + 2, $b + 3, $b + 6, $b + 1),
            add_converted!(18, 16, 18), message!("stxvd2x", 18, $at0, "{dst}"),
            keystream!(8, $b + 6, $b + 7, $b + 2, $b + 5),
            add_converted!(18, 17, 18), message!("stxvd2x", 18, $at1, "{dst}"),
            convert!(16), convert!(17),
            update!(8, $b, [16 17] [16 17] [$b + 7, $b + 3])
        )
    };
    (8, $b:literal, $at0:literal $at1:literal, [decrypt $t:literal $zero:literal]) => {
        concat!(
            message!("lxvd2x", 16, $at0, "{src}"), message!("lxvd2x", 17, $at1, "{src}"),
            keystream!(8, $b + 2, $b + 3, $b + 6, $b + 1),
            add_converted!(16, 16, 18), message!("stxvd2x", 16, $at0, "{dst}"),
            keystream!(8, $b + 6, $b + 7, $b + 2, $b + 5),
            add_converted!(17, 17, 18), message!("stxvd2x", 17, $at1, "{dst}"),
            update!(8, $b, [$zero $zero] [18 $t] [$b + 7, $b + 3]),
            add_converted!($b, $b, 16), add_converted!($b + 4, $b + 4, 17)
        )
    };
    (6, $b:literal, $at:literal, [absorb]) => {
        concat!(
            message!("lxvd2x", 16, $at, "{src}"), convert!(16),
            update!(6, $b, [16 16] [16 16] [$b + 5, $b + 3])
        )
    };
    (6, $b:literal, $at:literal, [encrypt]) => {
        concat!(
            message!("lxvd2x", 16, $at, "{src}"), keystream!(6, $b),
            add_converted!(18, 16, 18), message!("stxvd2x", 18, $at, "{dst}"),
            convert!(16), update!(6, $b, [16 16] [16 16] [$b + 5, $b + 3])
        )
    };
    (6, $b:literal, $at:literal, [decrypt $t:literal $zero:literal]) => {
        concat!(
            message!("lxvd2x", 16, $at, "{src}"), keystream!(6, $b),
            add_converted!(16, 16, 18), message!("stxvd2x", 16, $at, "{dst}"),
            update!(6, $b, [$zero $zero] [18 18] [$b + 5, $b + 3]),
            add_converted!($b, $b, 16)
        )
    };
}

/// A step of all lanes. The offsets are one vector, two vectors and three vectors if there is one
/// lane; a vector, a row and their sum if there are two.
macro_rules! single {
    (8, 1, $work:tt) => {
        step!(8, 0, "0" "{a}", $work)
    };
    (8, 2, $work:tt) => {
        concat!(step!(8, 0, "0" "{b}", $work), step!(8, 8, "{a}" "{c}", $work))
    };
    (6, 1, $work:tt) => {
        step!(6, 0, "0", $work)
    };
    (6, 2, $work:tt) => {
        concat!(step!(6, 0, "0", $work), step!(6, 6, "{a}", $work))
    };
}

/// The other steps of a turn of four vectors.
macro_rules! others {
    (8, 1, $work:tt) => {
        step!(8, 0, "{b}" "{c}", $work)
    };
    (8, 2, $work:tt) => {
        ""
    };
    (6, 1, $work:tt) => {
        concat!(step!(6, 0, "{a}", $work), step!(6, 0, "{b}", $work), step!(6, 0, "{c}", $work))
    };
    (6, 2, $work:tt) => {
        concat!(step!(6, 0, "{b}", $work), step!(6, 6, "{c}", $work))
    };
}

/// Makes the state of a lane before initialisation, and adds the context. v16 and v17 (v12 to v15)
/// have the input of the updates, v18 and v19 the constants.
macro_rules! start {
    (8, $b:literal) => {
        lines! {
            vxor $b, 16, 17;
            vor $b + 1, 19, 19;
            vor $b + 2, 18, 18;
            xxlxor 32 + $b + 3, 32 + 19, $b;
            vxor $b + 4, 16, 17;
            vxor $b + 5, 16, 18;
            vxor $b + 6, 16, 19;
            xxlxor 32 + $b + 7, 32 + $b + 5, $b;
        }
    };
    (6, $b:literal) => {
        lines! {
            vor $b, 14, 14;
            vor $b + 1, 15, 15;
            vor $b + 2, 19, 19;
            xxlxor 32 + $b + 3, 32 + 18, $b;
            vxor $b + 4, 12, 18;
            vxor $b + 5, 13, 19;
            xxlxor 32 + $b + 5, 32 + $b + 5, $b;
        }
    };
}

/// Makes the sums of S0 to S3 in the first register and of S4 to S6 in the fifth, or of S0 to S2 in
/// the first and of S3 to S5 in the fourth.
macro_rules! sums {
    (8, $b:literal) => {
        lines! {
            vxor $b, $b, $b + 1; vxor $b + 2, $b + 2, $b + 3; vxor $b, $b, $b + 2;
            vxor $b + 4, $b + 4, $b + 5; vxor $b + 4, $b + 4, $b + 6;
        }
    };
    (6, $b:literal) => {
        lines! {
            vxor $b, $b, $b + 1; vxor $b, $b, $b + 2;
            vxor $b + 3, $b + 3, $b + 4; vxor $b + 3, $b + 3, $b + 5;
        }
    };
}
