//! 64-bit POWER with the AES instructions of POWER8.
//!
//! Stable Rust has no type for a vector register of these CPUs, so `asm!` can neither take nor
//! return one. Words are pairs of general registers or are in memory, and `asm!` contains whole
//! loops, which load a state, keep it in vector registers and store it.

#[macro_use]
mod text;

use core::arch::asm;
use core::mem::MaybeUninit;

use crate::block::{Blocks, Doublewords, MAX_LANES, Pair, Vector, Word, one_form};
use crate::machine::{Aegis128, Aegis256};
use crate::memory::Direction;

/// The features of the CPU.
#[cfg(feature = "std")]
pub(crate) struct Features {
    pub(crate) crypto: bool,
}

#[cfg(feature = "std")]
impl Features {
    /// Rust compiles everything for little-endian CPUs for POWER8, whose instructions these are.
    #[cfg(target_endian = "little")]
    pub(crate) fn detect() -> Self {
        Self { crypto: true }
    }

    /// The standard library has no stable way to ask, but Linux says it.
    #[cfg(all(target_endian = "big", target_os = "linux"))]
    pub(crate) fn detect() -> Self {
        use core::ffi::c_ulong;
        unsafe extern "C" {
            safe fn getauxval(kind: c_ulong) -> c_ulong;
        }
        const HWCAP: c_ulong = 16;
        const HWCAP2: c_ulong = 26;
        const VSX: c_ulong = 1 << 7;
        const VEC_CRYPTO: c_ulong = 1 << 25;
        Self { crypto: getauxval(HWCAP) & VSX != 0 && getauxval(HWCAP2) & VEC_CRYPTO != 0 }
    }

    #[cfg(not(any(target_endian = "little", target_os = "linux")))]
    pub(crate) fn detect() -> Self {
        Self { crypto: false }
    }
}

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

/// Words of one lane or of two, which take turns at each step.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Lanes<B>(B);

// SAFETY: `B` has the properties required of `Vector`.
unsafe impl<B: Vector> Vector for Lanes<B> {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0.xor(other.0))
    }
}

// SAFETY: a value exists only if the CPU has the AES instructions. No branch or index depends on a
// value.
unsafe impl<B: Blocks<Lane = Doublewords>> Word for Lanes<B> {
    type Blocks = B;
    type Single = Lanes<Doublewords>;
    one_form!();
    /// A state is in memory.
    const SPILLS: bool = true;

    #[inline(always)]
    fn new(blocks: B) -> Self {
        Self(blocks)
    }
    #[inline(always)]
    fn blocks(self) -> B {
        self.0
    }
    const IN_MEMORY: bool = true;
    fn aes(self, _round_key: Self) -> Self {
        unreachable!("a state is in memory")
    }

    /// Makes the first state anew, in vector registers.
    #[inline(always)]
    fn init<const N: usize>(_: [Self; N], input: [Self; 4], ctx: Self, _steps: usize) -> [Self; N] {
        let input = input.map(|word| word.0.first());
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
            match (N, B::LANES) {
                (8, 1) => init!(8, 1, [0], out("f0") _,),
                (8, _) => init!(8, 2, [0, 8], out("f0") _, out("f8") _,),
                (_, 1) => init!(6, 1, [0], out("f0") _,),
                _ => init!(6, 2, [0, 6], out("f0") _, out("f6") _,),
            }
            state.assume_init()
        }
    }

    #[inline(always)]
    fn finalize<const N: usize>(state: &mut [Self; N], lengths: Self, _steps: usize) -> [Self; 2] {
        let lengths = lengths.0.first();
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
            match (N, B::LANES) {
                (8, 1) => finalize!(8, 1, [0 16 2 3 7], 0 4),
                (8, _) => finalize!(8, 2, [8 17 10 11 15, 0 16 2 3 7], 0 8 4 12),
                (_, 1) => finalize!(6, 1, [0 16 3 3 5], 0 3),
                _ => finalize!(6, 2, [6 17 9 9 11, 0 16 3 3 5], 0 6 3 9),
            }
            sums.assume_init()
        }
    }

    #[inline(always)]
    fn absorb<const N: usize>(state: &mut [Self; N], step: [Self; 2]) {
        let row = 16 * B::LANES;
        let mut buffer = MaybeUninit::<[u8; 2 * 16 * MAX_LANES]>::uninit(); // the driver wipes it
        let buffer = buffer.as_mut_ptr().cast::<u8>();
        // SAFETY: the buffer has room for two of the widest vectors.
        unsafe {
            step[0].0.store(buffer);
            step[1].0.store(buffer.add(row));
            Self::process(state, None, buffer, buffer, row, 1);
        }
    }

    #[inline(always)]
    unsafe fn process<const N: usize>(
        state: &mut [Self; N],
        direction: Option<Direction>,
        src: *const u8,
        dst: *mut u8,
        row: usize,
        steps: usize,
    ) {
        if steps == 0 {
            return;
        }
        // A turn has four vectors.
        let steps_per_turn = if N == 8 { 2 } else { 4 } / B::LANES;
        let (turns, rest) = (steps / steps_per_turn, steps % steps_per_turn);
        macro_rules! process {
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
                process!(
                    $words, 1,
                    "mr {a}, {row}\nadd {b}, {a}, {a}\nadd {c}, {b}, {a}\nadd {row}, {b}, {b}",
                    $rate, 14 15,
                )
            };
            ($words:tt, 2, $t:literal $zero:literal, $($out:tt)*) => {
                process!(
                    $words, 2, "mr {b}, {row}\naddi {c}, {b}, 16\nadd {row}, {b}, {b}",
                    "{b}", $t $zero, $($out)*
                )
            };
            (
                $words:tt, $lanes:tt, $offsets:literal, $rate:literal,
                $t:literal $zero:literal, $($out:tt)*
            ) => {
                match direction {
                    None => process!(
                        $words, $lanes, $offsets, $rate, [absorb], [], ["{src}"],
                    ),
                    Some(Direction::Encrypt) => process!(
                        $words, $lanes, $offsets, $rate, [encrypt], [], ["{src}", "{dst}"],
                        dst = inout(reg_nonzero) dst => _,
                    ),
                    Some(Direction::Decrypt) => process!(
                        $words, $lanes, $offsets, $rate, [decrypt $t $zero], [$zero],
                        ["{src}", "{dst}"], dst = inout(reg_nonzero) dst => _, $($out)*
                    ),
                }
            };
        }
        // SAFETY: `state` exists, so the CPU has the instructions. They access `N` words, which are
        // 8 or 6, and the steps, which the caller promises to be readable and writable.
        unsafe {
            match (N, B::LANES) {
                (8, 1) => process!(8, 1, "{b}"),
                (8, _) => process!(8, 2, 20 21, out("v20") _, out("v21") _,),
                (_, 1) => process!(6, 1, "{a}"),
                _ => process!(6, 2, 14 15,),
            }
        }
    }
}

/// The AES instructions of POWER8.
pub(crate) mod power8 {
    use super::{Aegis128, Aegis256, Doublewords, Lanes, Pair};
    type One = Lanes<Doublewords>;
    type Two = Lanes<Pair<Doublewords>>;
    crate::driver::table::tables! {
        scrub: 256, 1152, 1536;
        aegis128: [Aegis128<One>, 1; Aegis128<Two>, 1; Aegis128<Two>, 2;] any Aegis128<One>;
        aegis256: [Aegis256<One>, 1; Aegis256<Two>, 1; Aegis256<Two>, 2;] any Aegis256<One>;
    }
}
