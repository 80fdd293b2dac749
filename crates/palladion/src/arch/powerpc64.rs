//! 64-bit POWER with the AES instructions of POWER8.
//!
//! Stable Rust has no type for a vector register of these CPUs, so `asm!` can neither take nor
//! return one. Words are pairs of general registers or are in memory, and `asm!` contains whole
//! loops, which load a state, keep it in vector registers and store it.

use core::arch::asm;

use crate::block::{Blocks, Vector, Word, one_form, one_lane};
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

/// One block as two numbers whose highest bits are bytes 0 and 8. In memory, they have the order
/// that the instruction which loads two doublewords expects, whatever the order of bytes.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct P1(u64, u64);

// SAFETY: every CPU has XOR, and its time does not depend on its operands.
unsafe impl Vector for P1 {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0, self.1 ^ other.1)
    }
}

// SAFETY: a value exists only if the CPU has the AES instructions. No branch or index depends on a
// value. `load` and `store` access 16 bytes in memory order.
unsafe impl Blocks for P1 {
    one_lane!();

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: the caller promises 16 readable bytes; arrays of bytes need no alignment.
        let [first, second] = unsafe { src.cast::<[[u8; 8]; 2]>().read() };
        Self(u64::from_be_bytes(first), u64::from_be_bytes(second))
    }
    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: the caller promises 16 writable bytes; arrays of bytes need no alignment.
        unsafe { dst.cast::<[[u8; 8]; 2]>().write([self.0.to_be_bytes(), self.1.to_be_bytes()]) }
    }
    #[inline(always)]
    unsafe fn zero() -> Self {
        Self(0, 0)
    }
    #[inline(always)]
    fn truncate(self, len: usize) -> Self {
        // SAFETY: `self` exists, so the CPU has the features.
        let mask = unsafe { crate::block::mask_of_length::<Self>(len) };
        Self(self.0 & mask.0, self.1 & mask.1)
    }
    #[inline(always)]
    fn xor_and(self, b: Self, c: Self) -> Self {
        Self(self.0 ^ (b.0 & c.0), self.1 ^ (b.1 & c.1))
    }
}

// The text of loops. Vector registers: the state is in v0 and up, the input of a step in v8 and v9,
// its key stream in v10 and v11. v14 is zero. Key streams get S1 (S5) last, because it is the last
// to be ready.

/// Loads or stores all words. Instructions that access the left and right half of v0 call it 32.
macro_rules! words {
    ($access:literal, 8) => {
        concat!(
            words!($access, 6),
            "\n",
            $access,
            " 38, {i32}, {half}\n",
            $access,
            " 39, {i48}, {half}"
        )
    };
    ($access:literal, 6) => {
        concat!(
            $access,
            " 32, 0, {state}\n",
            $access,
            " 33, {i16}, {state}\n",
            $access,
            " 34, {i32}, {state}\n",
            $access,
            " 35, {i48}, {state}\n",
            $access,
            " 36, 0, {half}\n",
            $access,
            " 37, {i16}, {half}"
        )
    };
}

/// Update, for a state of 8 or 6 words, with its input in these registers. The input is the round
/// key, and S0 (S4) is added after the round, as in `Aegis128::update`.
macro_rules! update {
    (8, $input0:literal, $input4:literal) => {
        concat!(
            "vcipher 12, 7, ",
            $input0,
            "\n",
            "vcipher 13, 3, ",
            $input4,
            "\n",
            "vcipher 7, 6, 7\n",
            "vcipher 6, 5, 6\n",
            "vcipher 5, 4, 5\n",
            "vcipher 3, 2, 3\n",
            "vcipher 2, 1, 2\n",
            "vcipher 1, 0, 1\n",
            "vxor 4, 4, 13\n",
            "vxor 0, 0, 12"
        )
    };
    (6, $input:literal) => {
        concat!(
            "vcipher 12, 5, ",
            $input,
            "\n",
            "vcipher 5, 4, 5\n",
            "vcipher 4, 3, 4\n",
            "vcipher 3, 2, 3\n",
            "vcipher 2, 1, 2\n",
            "vcipher 1, 0, 1\n",
            "vxor 0, 0, 12"
        )
    };
}

/// Converts between a word, whose byte 0 is at the left of the register, and what the CPU loads and
/// stores. Little-endian CPUs reverse the bytes of each half. v15 reverses them too.
#[cfg(target_endian = "little")]
macro_rules! convert {
    ($v:literal) => {
        concat!("vperm ", $v, ", ", $v, ", ", $v, ", 15")
    };
}
#[cfg(target_endian = "big")]
macro_rules! convert {
    ($v:literal) => {
        ""
    };
}

/// Runs a loop over a state of 8 or 6 words: the lines before it, the lines of a step, and the
/// operands that they use. There is at least one step.
macro_rules! run {
    (
        $words:tt, $state:ident, $steps:ident,
        [$($before:expr),*], [$($step:expr),*], $($operands:tt)*
    ) => {
        asm!(
            "addi {half}, {state}, 64",
            words!("lxvd2x", $words),
            $($before,)*
            "mtctr {steps}",
            "2:",
            $($step,)*
            "bdnz 2b",
            words!("stxvd2x", $words),
            state = in(reg_nonzero) $state.as_mut_ptr(), half = out(reg_nonzero) _,
            i16 = in(reg_nonzero) 16usize, i32 = in(reg_nonzero) 32usize,
            i48 = in(reg_nonzero) 48usize, steps = in(reg_nonzero) $steps,
            $($operands)*
            out("v0") _, out("v1") _, out("v2") _, out("v3") _, out("v4") _, out("v5") _,
            out("v6") _, out("v7") _, out("v8") _, out("v9") _, out("v10") _, out("v11") _,
            out("v12") _, out("v13") _, out("v14") _, out("v15") _, out("ctr") _,
            options(nostack)
        )
    };
}

// SAFETY: a value exists only if the CPU has the AES instructions. No branch or index depends on a
// value.
unsafe impl Word for P1 {
    type Blocks = Self;
    type Single = Self;
    one_form!();
    /// A state is in memory.
    const SPILLS: bool = true;

    #[inline(always)]
    fn new(blocks: Self) -> Self {
        blocks
    }
    #[inline(always)]
    fn blocks(self) -> Self {
        self
    }
    const IN_MEMORY: bool = true;
    fn aes(self, _round_key: Self) -> Self {
        unreachable!("a state is in memory")
    }

    #[inline(always)]
    fn mix<const N: usize>(
        state: &mut [Self; N],
        input: [Self; 4],
        ctx: Option<Self>,
        steps: usize,
    ) {
        let ctx = ctx.unwrap_or(Self(0, 0));
        // SAFETY: `state` exists, so the CPU has the instructions. They access `N` words, which are
        // 8 or 6, the input and the context.
        unsafe {
            if N == 8 {
                run!(
                    8, state, steps,
                    ["lxvd2x 40, 0, {input}", "lxvd2x 41, {i16}, {input}", "lxvd2x 42, 0, {ctx}"],
                    ["vxor 3, 3, 10", "vxor 7, 7, 10", update!(8, "8", "9")],
                    input = in(reg_nonzero) &raw const input, ctx = in(reg) &raw const ctx,
                );
            } else {
                run!(
                    6, state, steps,
                    ["lxvd2x 42, 0, {ctx}"],
                    [
                        "lxvd2x 40, {at}, {input}",
                        "addi {at}, {at}, 16",
                        "clrldi {at}, {at}, 58", // modulo 64
                        "vxor 3, 3, 10", "vxor 5, 5, 10",
                        update!(6, "8")
                    ],
                    input = in(reg_nonzero) &raw const input, ctx = in(reg) &raw const ctx,
                    at = inout(reg_nonzero) 0usize => _,
                );
            }
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
        // Stores have the addresses of the loads plus a distance.
        let to = dst.expose_provenance().wrapping_sub(src.addr());
        /// [`run`] with `v14` and what [`convert`] needs, and with the operands of all loops.
        macro_rules! steps {
            ($words:tt, $blocks:literal, [$($line:expr),* $(,)?], $($operands:tt)*) => {
                run!(
                    $words, state, steps,
                    ["lvsl 15, 0, {i16}", "vspltisb 14, 7", "vxor 15, 15, 14", "vxor 14, 14, 14"],
                    [$($line,)* "add {src}, {src}, {rate}"],
                    src = inout(reg_nonzero) src => _, rate = in(reg_nonzero) $blocks * row,
                    $($operands)*
                )
            };
        }
        /// Encrypts or decrypts, with the input of the update, and what else becomes part of S4 and
        /// S0: a message that is decrypted, which is known late.
        macro_rules! crypt {
            (8, $input0:literal, $input4:literal, [$($late:literal),*]) => {
                steps!(
                    8, 2,
                    [
                        "lxvd2x 40, 0, {src}", "lxvd2x 41, {row}, {src}",
                        "vand 10, 2, 3", "vand 11, 6, 7",
                        "vxor 10, 10, 6", "vxor 11, 11, 2",
                        convert!("8"), convert!("9"),
                        "vxor 10, 10, 8", "vxor 11, 11, 9",
                        "vxor 10, 10, 1", "vxor 11, 11, 5",
                        update!(8, $input0, $input4),
                        $($late,)*
                        convert!("10"), convert!("11"),
                        "stxvd2x 42, {to}, {src}", "stxvd2x 43, {next}, {src}",
                    ],
                    row = in(reg_nonzero) row, to = in(reg_nonzero) to,
                    next = in(reg_nonzero) to.wrapping_add(row),
                )
            };
            (6, $input:literal, [$($late:literal),*]) => {
                steps!(
                    6, 1,
                    [
                        "lxvd2x 40, 0, {src}",
                        "vand 10, 2, 3", "vxor 11, 4, 5", "vxor 10, 10, 11",
                        convert!("8"),
                        "vxor 10, 10, 8", "vxor 10, 10, 1",
                        update!(6, $input),
                        $($late,)*
                        convert!("10"),
                        "stxvd2x 42, {to}, {src}",
                    ],
                    to = in(reg_nonzero) to,
                )
            };
        }
        // SAFETY: `state` exists, so the CPU has the instructions. They access `N` words, which are
        // 8 or 6, and the steps, which the caller promises to be readable and writable.
        unsafe {
            match (N, direction) {
                (8, None) => steps!(
                    8, 2,
                    [
                        "lxvd2x 40, 0, {src}", "lxvd2x 41, {row}, {src}",
                        convert!("8"), convert!("9"),
                        update!(8, "8", "9"),
                    ],
                    row = in(reg_nonzero) row,
                ),
                (8, Some(Direction::Encrypt)) => crypt!(8, "8", "9", []),
                (8, Some(Direction::Decrypt)) => {
                    crypt!(8, "14", "14", ["vxor 0, 0, 10", "vxor 4, 4, 11"])
                }
                (_, None) => steps!(6, 1, ["lxvd2x 40, 0, {src}", convert!("8"), update!(6, "8")],),
                (_, Some(Direction::Encrypt)) => crypt!(6, "8", []),
                (_, Some(Direction::Decrypt)) => crypt!(6, "14", ["vxor 0, 0, 10"]),
            }
        }
    }
}

/// The AES instructions of POWER8.
pub(crate) mod power8 {
    use super::{Aegis128, Aegis256, P1};
    crate::driver::table::tables! {
        scrub: 768;
        aegis128: [Aegis128<P1>, 1; Aegis128<P1>, 0; Aegis128<P1>, 0;] any Aegis128<P1>;
        aegis256: [Aegis256<P1>, 1; Aegis256<P1>, 0; Aegis256<P1>, 0;] any Aegis256<P1>;
    }
}
