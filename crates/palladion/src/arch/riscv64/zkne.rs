//! Zkne: AES rounds on general registers.

use core::arch::asm;

use crate::arch::tables;
use crate::block::{Blocks, Vector, Word, one_lane};
use crate::driver::features::features;
use crate::driver::kernels::Tables;

/// One block in two registers: bytes 0 to 7, with byte 0 in the lowest bits, and bytes 8 to 15.
#[derive(Clone, Copy)]
pub(crate) struct Z1(u64, u64);

// SAFETY: every CPU has XOR, and its time does not depend on its operands.
unsafe impl Vector for Z1 {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0, self.1 ^ other.1)
    }
    /// A sum of three ends the key stream, which is finished before the AES rounds begin:
    /// otherwise the compiler needs registers for the words before and after them.
    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        let Self(mut x, mut y) = self.xor(b).xor(c);
        // SAFETY: it contains no instruction.
        unsafe {
            asm!("/* {0} {1} */", inlateout(reg) x, inlateout(reg) y,
                options(nomem, nostack, preserves_flags));
        }
        Self(x, y)
    }
}

// SAFETY: a value exists only if the CPU has Zkne. No branch or index depends on a value. `load`
// and `store` access 16 bytes in memory order.
unsafe impl Blocks for Z1 {
    one_lane!();

    // Many CPUs load a word slowly or not at all if it is not aligned, so the compiler would load
    // and store bytes, which takes longer than the AES rounds. Most data are aligned, so this asks.
    // It is `asm!`, so that the compiler keeps the state in registers: its own code for the bytes
    // needs many.

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        let (first, second);
        // SAFETY: the caller promises 16 readable bytes; words are loaded only if aligned.
        unsafe {
            asm!(
                "andi {t}, {src}, 7",
                "beqz {t}, 2f",
                "lbu {first}, 7({src})",
                "lbu {second}, 15({src})",
                ".irp i, 6, 5, 4, 3, 2, 1, 0",
                "slli {first}, {first}, 8",
                "lbu {t}, \\i({src})",
                "or {first}, {first}, {t}",
                "slli {second}, {second}, 8",
                "lbu {t}, \\i+8({src})",
                "or {second}, {second}, {t}",
                ".endr",
                "j 3f",
                "2:",
                "ld {first}, 0({src})",
                "ld {second}, 8({src})",
                "3:",
                src = in(reg) src, first = out(reg) first, second = out(reg) second,
                t = out(reg) _,
                options(pure, readonly, nostack, preserves_flags)
            );
        }
        Self(first, second)
    }
    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: the caller promises 16 writable bytes; words are stored only if aligned.
        unsafe {
            asm!(
                "andi {t}, {dst}, 7",
                "beqz {t}, 2f",
                ".irp i, 0, 1, 2, 3, 4, 5, 6, 7",
                "srli {t}, {first}, 8*\\i",
                "sb {t}, \\i({dst})",
                "srli {t}, {second}, 8*\\i",
                "sb {t}, \\i+8({dst})",
                ".endr",
                "j 3f",
                "2:",
                "sd {first}, 0({dst})",
                "sd {second}, 8({dst})",
                "3:",
                dst = in(reg) dst, first = in(reg) self.0, second = in(reg) self.1,
                t = out(reg) _,
                options(nostack, preserves_flags)
            );
        }
    }
    #[inline(always)]
    unsafe fn zero() -> Self {
        Self(0, 0)
    }
    #[inline(always)]
    fn xor_and(self, b: Self, c: Self) -> Self {
        Self(self.0 ^ (b.0 & c.0), self.1 ^ (b.1 & c.1))
    }
}

/// Returns half of an AES round: that of the block's `near` half.
///
/// # Safety
/// The CPU has Zkne.
#[inline(always)]
unsafe fn half_round(near: u64, far: u64, mut round_key: u64) -> u64 {
    // SAFETY: the caller promises the CPU feature; instructions between registers. The assembler
    // is told of the feature, because debug builds do not inline this into the kernels. The XOR is
    // part of it and it is not `pure`, because the compiler would start all rounds of a step
    // before the XORs and before the key stream, and spill.
    unsafe {
        asm!(
            ".option push",
            ".option arch, +zkne",
            "aes64esm {t}, {near}, {far}",
            ".option pop",
            "xor {round_key}, {round_key}, {t}",
            t = out(reg) _, near = in(reg) near, far = in(reg) far,
            round_key = inlateout(reg) round_key,
            options(nomem, nostack, preserves_flags)
        );
    }
    round_key
}

// SAFETY: a value exists only if the CPU has Zkne, whose instructions take the same time for all
// operands (Zkt).
unsafe impl Word for Z1 {
    crate::block::plain!(Self);
    /// A state of AEGIS-128 takes 16 of 31 registers, but a step needs more.
    const SPILLS: bool = true;

    #[inline(always)]
    fn aes(self, round_key: Self) -> Self {
        let (a, b) = (self.0, self.1);
        // SAFETY: `self` exists, so the CPU has the features.
        unsafe { Self(half_round(a, b, round_key.0), half_round(b, a, round_key.1)) }
    }
    #[inline(always)]
    fn rounds<const N: usize>(input: [Self; N], round_keys: [Self; N]) -> [Self; N] {
        // The new S0 first, in the register of the message, then backwards: a round overwrites its
        // key, a word that only the round after it still needs.
        let mut out = round_keys;
        out[0] = input[0].aes(round_keys[0]);
        let mut i = N;
        while i > 1 {
            i -= 1;
            out[i] = input[i].aes(round_keys[i]);
        }
        out
    }
}

features! {
    /// Zkne.
    Zkne: "zkne", scrub 1280
}

/// `Scalar` stores the output of a step before the rounds, which need the registers.
pub(crate) const TABLES: Tables = tables::scalar::<Zkne, Z1>();
