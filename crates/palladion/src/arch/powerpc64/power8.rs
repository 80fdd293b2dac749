//! The AES instructions of POWER8.
//!
//! Stable Rust has no type for a vector register of these CPUs, so `asm!` can neither take nor
//! return one. Words are pairs of general registers or are in memory, and `asm!` contains whole
//! loops, which load a state, keep it in vector registers and store it.

use core::arch::asm;
use core::mem::MaybeUninit;

use crate::arch::doublewords::Doublewords;
use crate::arch::tables;
use crate::block::{Blocks, Pair};
use crate::driver::features::features;
use crate::driver::kernels::Tables;
use crate::machine::memory::Loops;
use crate::machine::{Rows, Work};
use crate::memory::Direction;

/// The constants C0 and C1, and the control of permutations: byte i has i in its upper half and, in
/// its lower half, the place of byte i after the bytes of both halves of a vector were reversed.
static CONSTANTS: [Doublewords; 3] = [
    Doublewords(0x0001_0102_0305_080d, 0x1522_3759_90e9_7962),
    Doublewords(0xdb3d_1855_6dc2_2ff1, 0x2011_3142_73b5_28dd),
    Doublewords(0x0716_2534_4352_6170, 0x8f9e_adbc_cbda_e9f8),
];

/// Runs these lines on a state in memory.
macro_rules! run {
    ([$($line:expr),* $(,)?], $($operands:tt)*) => {
        asm!(
            $($line,)*
            at = inout(reg_nonzero) CONSTANTS.as_ptr() => _,
            a = inout(reg_nonzero) 16usize => _, b = inout(reg_nonzero) 32usize => _,
            c = inout(reg_nonzero) 48usize => _,
            $($operands)*
            out("v0") _, out("v1") _, out("v2") _, out("v3") _, out("v4") _, out("v5") _,
            out("v6") _, out("v7") _, out("v8") _, out("v9") _, out("v10") _, out("v11") _,
            out("v12") _, out("v13") _, out("v14") _, out("v15") _, out("v16") _, out("v17") _,
            out("v18") _, out("v19") _, out("ctr") _, out("cr0") _,
            options(nostack)
        )
    };
}

// One lane, or two, which take turns at each step.
// SAFETY: a value exists only if the CPU has the AES instructions. No branch or index depends on a
// value.
unsafe impl<B: Blocks<Lane = Doublewords>, const N: usize> Loops<N> for B {
    crate::block::plain!(Doublewords);

    /// Makes the first state anew, in vector registers.
    #[inline(always)]
    fn init(_: [Self; N], input: [Self; 4], ctx: Self) -> [Self; N] {
        let input = input.map(Self::first);
        let two = [input[0], input[1]];
        let mut state = MaybeUninit::<[Self; N]>::uninit();
        macro_rules! init {
            ($words:tt, $lanes:tt, [$($load:literal),*], $turns:literal, $updates:tt,
                $last:literal, $input:ident, [$($b:literal),*], $($out:tt)*) => {
                run!(
                    [
                        "lxvd2x 32+18, 0, {at}", "lxvd2x 32+19, {a}, {at}", // C0, C1
                        $($load,)*
                        $(
                            concat!("lxvd2x ", $b, ", 0, {ctx}"), "addi {ctx}, {ctx}, 16",
                            start!($words, $b),
                        )*
                        concat!("li {at}, ", $turns), "mtctr {at}",
                        "2:",
                        $(update_twice!($words, $b, $last, $updates),)*
                        "bdnz 2b",
                        $(lines! {
                            xxlxor 32 + $b + 3, 32 + $b + 3, $b;
                            xxlxor 32 + $b + $last, 32 + $b + $last, $b;
                        },)*
                        words!("stxvd2x", $words, $lanes),
                    ],
                    state = in(reg_nonzero) state.as_mut_ptr(),
                    input = in(reg) &raw const $input, ctx = inout(reg_nonzero) &raw const ctx => _,
                    $($out)*
                )
            };
            (8, $lanes:tt, $b:tt, $($out:tt)*) => {
                init!(
                    8, $lanes, ["lxvd2x 32+17, 0, {input}", "lxvd2x 32+16, {a}, {input}"],
                    5, [[17 16] [17 16]], 7, two, $b, $($out)*
                )
            };
            (6, $lanes:tt, $b:tt, $($out:tt)*) => {
                init!(
                    6, $lanes,
                    ["lxvd2x 32+12, 0, {input}", "lxvd2x 32+13, {a}, {input}",
                    "lxvd2x 32+14, {b}, {input}", "lxvd2x 32+15, {c}, {input}"],
                    4, [[12 12] [13 13] [14 14] [15 15]], 5, input, $b, $($out)*
                )
            };
        }
        // SAFETY: `input` exists, so the CPU has the instructions. They write `N` words, which are
        // 8 or 6, and read the input and the context.
        unsafe {
            match (N, Self::LANES) {
                (8, 1) => init!(8, 1, [0], out("f0") _,),
                (8, _) => init!(8, 2, [0, 8], out("f0") _, out("f8") _,),
                (_, 1) => init!(6, 1, [0], out("f0") _,),
                _ => init!(6, 2, [0, 6], out("f0") _, out("f6") _,),
            }
            state.assume_init()
        }
    }

    #[inline(always)]
    fn finalize(state: &mut [Self; N], lengths: Self) -> [Self; 2] {
        let lengths = lengths.first();
        let mut sums = MaybeUninit::<[Self; 2]>::uninit();
        macro_rules! finalize {
            // The lanes, with the words that become part of their input and of S0; the sums.
            ($words:tt, $lanes:tt,
                [$($b:literal $t:literal $s:literal $s3:literal $last:literal),*],
                $($sum:literal)*) => {
                run!(
                    [
                        words!("lxvd2x", $words, $lanes),
                        "lxvd2x 32+16, 0, {input}",
                        $(lines! { vxor $t, $s, 16; },)*
                        "li {at}, 7", "mtctr {at}",
                        "2:",
                        $(update!($words, $b, [$t $t] [18 19] [$last, $s3]),)*
                        "bdnz 2b",
                        words!("stxvd2x", $words, $lanes),
                        $(sums!($words, $b),)*
                        $(concat!("stxvd2x 32+", $sum, ", 0, {sums}\naddi {sums}, {sums}, 16"),)*
                    ],
                    state = in(reg_nonzero) state.as_mut_ptr(), input = in(reg) &raw const lengths,
                    sums = inout(reg_nonzero) sums.as_mut_ptr() => _,
                )
            };
        }
        // SAFETY: `state` exists, so the CPU has the instructions. They access `N` words, which are
        // 8 or 6, read the lengths and write the sums.
        unsafe {
            match (N, Self::LANES) {
                (8, 1) => finalize!(8, 1, [0 16 2 3 7], 0 4),
                (8, _) => finalize!(8, 2, [8 17 10 11 15, 0 16 2 3 7], 0 8 4 12),
                (_, 1) => finalize!(6, 1, [0 16 3 3 5], 0 3),
                _ => finalize!(6, 2, [6 17 9 9 11, 0 16 3 3 5], 0 6 3 9),
            }
            sums.assume_init()
        }
    }

    #[inline(always)]
    unsafe fn run_steps(state: &mut [Self; N], work: Work, rows: Rows, steps: usize) {
        let Rows { src, dst, row } = rows;
        // A turn has four vectors.
        let steps_per_turn = if N == 8 { 2 } else { 4 } / Self::LANES;
        let (turns, rest) = (steps / steps_per_turn, steps % steps_per_turn);
        macro_rules! steps {
            // One direction, with the register that must be zero and the pointers.
            (
                $words:tt, $lanes:tt, $offsets:tt, $rate:literal, $work:tt, [$($zero:literal)?],
                [$($pointer:literal),*], $($operands:tt)*
            ) => {
                run!(
                    [
                        "lxvd2x 32+19, {b}, {at}",
                        words!("lxvd2x", $words, $lanes),
                        $(lines! { vxor $zero, $zero, $zero; },)?
                        $offsets,
                        "cmpldi {turns}, 0",
                        "beq 3f",
                        "mtctr {turns}",
                        "2:",
                        single!($words, $lanes, $work),
                        others!($words, $lanes, $work),
                        $(concat!("add ", $pointer, ", ", $pointer, ", {row}"),)*
                        "bdnz 2b",
                        "3:",
                        "cmpldi {rest}, 0",
                        "beq 5f",
                        "mtctr {rest}",
                        "4:",
                        single!($words, $lanes, $work),
                        $(concat!("add ", $pointer, ", ", $pointer, ", ", $rate),)*
                        "bdnz 4b",
                        "5:",
                        "li {a}, 16", "li {b}, 32", "li {c}, 48",
                        words!("stxvd2x", $words, $lanes),
                    ],
                    state = in(reg_nonzero) state.as_mut_ptr(),
                    src = inout(reg_nonzero) src => _, row = inout(reg_nonzero) row => _,
                    turns = in(reg) turns, rest = in(reg) rest,
                    $($operands)*
                )
            };
            // All directions, with the registers that decryption uses.
            ($words:tt, 1, $rate:literal) => {
                steps!(
                    $words, 1,
                    "mr {a}, {row}\nadd {b}, {a}, {a}\nadd {c}, {b}, {a}\nadd {row}, {b}, {b}",
                    $rate, 14 15,
                )
            };
            ($words:tt, 2, $t:literal $zero:literal, $($out:tt)*) => {
                steps!(
                    $words, 2, "mr {b}, {row}\naddi {c}, {b}, 16\nadd {row}, {b}, {b}",
                    "{b}", $t $zero, $($out)*
                )
            };
            (
                $words:tt, $lanes:tt, $offsets:literal, $rate:literal,
                $t:literal $zero:literal, $($out:tt)*
            ) => {
                match work {
                    Work::Absorb => steps!(
                        $words, $lanes, $offsets, $rate, [absorb], [], ["{src}"],
                    ),
                    Work::Crypt(Direction::Encrypt) => steps!(
                        $words, $lanes, $offsets, $rate, [encrypt], [], ["{src}", "{dst}"],
                        dst = inout(reg_nonzero) dst => _,
                    ),
                    Work::Crypt(Direction::Decrypt) => steps!(
                        $words, $lanes, $offsets, $rate, [decrypt $t $zero], [$zero],
                        ["{src}", "{dst}"], dst = inout(reg_nonzero) dst => _, $($out)*
                    ),
                }
            };
        }
        // SAFETY: `state` exists, so the CPU has the instructions. They access `N` words, which are
        // 8 or 6, and the steps, which the caller promises to be readable and writable.
        unsafe {
            match (N, Self::LANES) {
                (8, 1) => steps!(8, 1, "{b}"),
                (8, _) => steps!(8, 2, 20 21, out("v20") _, out("v21") _,),
                (_, 1) => steps!(6, 1, "{a}"),
                _ => steps!(6, 2, 14 15,),
            }
        }
    }
}

features! {
    /// The AES instructions of POWER8.
    Power8, scrub 256, 1152, 1536
}

pub(crate) const TABLES: Tables =
    tables::in_memory_by_two::<Power8, Doublewords, Pair<Doublewords>>();
