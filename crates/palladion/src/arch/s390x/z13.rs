//! The vector facility of z13, which has no AES instruction that could serve: rounds by
//! permutations of bytes.
//!
//! Stable Rust has no type for a vector register of these CPUs, so `asm!` can neither take nor
//! return one. Words are pairs of general registers or are in memory, and `asm!` contains whole
//! loops, which load a state, keep it in vector registers and store it.

use core::arch::asm;

use super::lookups::LOOKUPS;
use crate::arch::doublewords::Doublewords;
use crate::arch::tables;
use crate::block::Vector;
use crate::driver::features::features;
use crate::driver::kernels::Tables;
use crate::machine::memory::Loops;
use crate::machine::{Rows, Work};
use crate::memory::Direction;

/// Applies a linear map to each byte, with one table for each half.
///
/// # Safety
/// The CPU has the vector facility.
#[inline(always)]
unsafe fn linear(
    map: &'static [[u8; 16]; 2],
    Doublewords(mut first, mut second): Doublewords,
) -> Doublewords {
    // SAFETY: the caller promises the instructions, which read the map.
    unsafe {
        asm!(
            ".machine z13",
            "vlvgp 0, {first}, {second}",
            "vlm 1, 2, 0({map})",
            "vesrlb 3, 0, 4",
            "vperm 0, 1, 1, 0",
            "vperm 3, 2, 2, 3",
            "vx 0, 0, 3",
            "vlgvg {first}, 0, 0",
            "vlgvg {second}, 0, 1",
            first = inout(reg) first, second = inout(reg) second, map = in(reg_addr) map,
            out("f0") _, out("f1") _, out("f2") _, out("f3") _,
            options(pure, readonly, nostack, preserves_flags)
        );
    }
    Doublewords(first, second)
}

/// Runs these lines with the tables in v16 to v29, and with a state of 8 or 6 words in v0 and up,
/// which is loaded before and stored after. v8 to v15 are named by their halves that functions
/// preserve, so that the compiler saves them.
macro_rules! run {
    ($words:tt, [$($line:expr),* $(,)?], $($operands:tt)*) => {
        asm!(
            ".machine z13",
            "vlm 16, 29, 0({t})",
            words!($words, "vlm"),
            $($line,)*
            words!($words, "vstm"),
            t = in(reg_addr) &raw const LOOKUPS,
            $($operands)*
            out("f0") _, out("f1") _, out("f2") _, out("f3") _, out("f4") _, out("f5") _,
            out("f6") _, out("f7") _, out("f8") _, out("f9") _, out("f10") _, out("f11") _,
            out("f12") _, out("v16") _, out("v17") _, out("v18") _, out("v19") _, out("v20") _,
            out("v21") _, out("v22") _, out("v23") _, out("v24") _, out("v25") _, out("v26") _,
            out("v27") _, out("v28") _, out("v29") _, out("v30") _, out("v31") _,
            options(nostack)
        )
    };
}

/// Loads or stores all words of a state.
macro_rules! words {
    (8, $access:literal) => {
        concat!($access, " 0, 7, 0({state})")
    };
    (6, $access:literal) => {
        concat!($access, " 0, 5, 0({state})")
    };
}

/// A word in memory, as in `lookups.rs`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Tower(Doublewords);

// SAFETY: `Doublewords` has the properties required of `Vector`.
unsafe impl Vector for Tower {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0.xor(other.0))
    }
}

// SAFETY: a value exists only if the CPU has the vector facility. No branch or memory index depends
// on a value: tables are in registers.
unsafe impl<const N: usize> Loops<N> for Tower {
    type Blocks = Doublewords;
    type Single = Self;

    #[inline(always)]
    fn new(blocks: Doublewords) -> Self {
        // SAFETY: `blocks` exists, so the CPU has the instructions.
        Self(unsafe { linear(&LOOKUPS.into_word, blocks) })
    }
    #[inline(always)]
    fn blocks(self) -> Doublewords {
        // SAFETY: `self` exists, so the CPU has the instructions.
        unsafe { linear(&LOOKUPS.from_word, self.0) }
    }

    #[inline(never)]
    fn mix(state: &mut [Self; N], input: [Self; 4], ctx: Option<Self>, steps: usize) {
        let ctx = ctx.unwrap_or(Self(Doublewords(0, 0)));
        // SAFETY: `state` exists, so the CPU has the instructions. They access `N` words, which are
        // 8 or 6, the input and the context.
        unsafe {
            if N == 8 {
                run!(
                    8,
                    [
                        reorder!(8, enter),
                        "vl 26, 0({ctx})", "vperm 26, 26, 26, 8",
                        "vl 27, 16({input})",
                        "2:",
                        "vl 14, 0({input})",
                        "vx 3, 3, 26", "vx 7, 7, 26",
                        update_reordered!(8),
                        "vx 4, 4, 27",
                        "brctg {steps}, 2b",
                        reorder!(8, leave),
                    ],
                    state = in(reg_addr) state.as_mut_ptr(), input = in(reg_addr) &raw const input,
                    ctx = in(reg_addr) &raw const ctx, steps = inout(reg) steps => _,
                    out("f13") _, out("f14") _, out("f15") _,
                );
            } else {
                run!(
                    6,
                    [
                        reorder!(6, enter),
                        "vl 26, 0({ctx})", "vperm 27, 26, 26, 10", "vperm 26, 26, 26, 8",
                        "2:",
                        "vl 12, 0({at},{input})",
                        "vx 3, 3, 26", "vx 5, 5, 27",
                        update_reordered!(6),
                        "aghi {at}, 16",
                        "nill {at}, 63",
                        "brctg {steps}, 2b",
                        reorder!(6, leave),
                    ],
                    state = in(reg_addr) state.as_mut_ptr(), input = in(reg_addr) &raw const input,
                    ctx = in(reg_addr) &raw const ctx, steps = inout(reg) steps => _,
                    at = inout(reg_addr) 0usize => _, out("f14") _, out("f15") _,
                );
            }
        }
    }

    #[inline(never)]
    unsafe fn run_steps(state: &mut [Self; N], work: Work, rows: Rows, steps: usize) {
        let Rows { src, dst, row } = rows;
        let rate = if N == 8 { 2 * row } else { row };
        // A branch adds the rate to the offset, and is taken until that exceeds the last step's.
        macro_rules! steps {
            ($words:tt, $work:tt, [$($before:expr, $after:expr)?], $($operands:tt)*) => {
                run!(
                    $words,
                    [
                        $($before,)? "2:", step!($words, $work), "brxlg {at}, %r2, 2b",
                        $($after,)?
                    ],
                    state = in(reg_addr) state.as_mut_ptr(), src = in(reg_addr) src,
                    at = inout(reg_addr) 0usize => _, in("r2") rate, in("r3") (steps - 1) * rate,
                    $($operands)*
                )
            };
        }
        macro_rules! steps128 {
            ($work:tt, $reorder:tt, $($operands:tt)*) => {
                steps!(
                    8, $work, $reorder, src1 = in(reg_addr) src.wrapping_add(row),
                    $($operands)* out("f13") _, out("f14") _, out("f15") _,
                )
            };
        }
        // SAFETY: `state` exists, so the CPU has the instructions. They access `N` words, which are
        // 8 or 6, and the steps, which the caller promises to be readable and writable.
        unsafe {
            match (N, work) {
                (8, Work::Absorb) => steps128!(absorb, [reorder!(8, enter), reorder!(8, leave)],),
                (8, Work::Crypt(Direction::Encrypt)) => steps128!(
                    encrypt, [], dst = in(reg_addr) dst, dst1 = in(reg_addr) dst.wrapping_add(row),
                ),
                (8, Work::Crypt(Direction::Decrypt)) => steps128!(
                    decrypt, [], dst = in(reg_addr) dst, dst1 = in(reg_addr) dst.wrapping_add(row),
                ),
                (_, Work::Absorb) => steps!(
                    6, absorb, [reorder!(6, enter), reorder!(6, leave)],
                    out("f14") _, out("f15") _,
                ),
                (_, Work::Crypt(Direction::Encrypt)) => {
                    steps!(6, encrypt, [], dst = in(reg_addr) dst,)
                }
                (_, Work::Crypt(Direction::Decrypt)) => {
                    steps!(6, decrypt, [], dst = in(reg_addr) dst,)
                }
            }
        }
    }
}

features! {
    /// The vector facility of z13.
    Z13, scrub 1280
}

pub(crate) const TABLES: Tables = tables::in_memory::<Z13, Tower>();
