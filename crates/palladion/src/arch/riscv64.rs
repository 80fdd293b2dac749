//! 64-bit RISC-V with Zkne, AES rounds on general registers, or with Zvkned, on vector registers.

use core::arch::asm;

use crate::block::{Blocks, Vector, Word, one_form, one_lane};
use crate::machine::{Aegis128, Aegis256};
#[cfg(feature = "std")]
use crate::{block::Soft, memory::Direction};

/// The features of the CPU.
#[cfg(feature = "std")]
pub(crate) struct Features {
    pub(crate) zkne: bool,
    pub(crate) zvkned: bool,
}

#[cfg(feature = "std")]
impl Features {
    /// The standard library asks Linux 6.8 and later (hwprobe). Where it cannot ask, only programs
    /// that were compiled for Zkne have it.
    pub(crate) fn detect() -> Self {
        Self { zkne: std::arch::is_riscv_feature_detected!("zkne"), zvkned: Self::zvkned() }
    }

    /// The standard library has no stable way to ask for V and Zvkned, so this calls hwprobe.
    #[cfg(target_os = "linux")]
    fn zvkned() -> bool {
        use core::ffi::c_long;
        unsafe extern "C" {
            fn syscall(number: c_long, ...) -> c_long;
        }
        const HWPROBE: c_long = 258;
        const EXTENSIONS: i64 = 4;
        const V_AND_ZVKNED: u64 = 1 << 2 | 1 << 21;
        let mut pair = (EXTENSIONS, 0u64);
        // SAFETY: `pair` is one pair of a key and its value, for all CPUs, without flags.
        let result = unsafe { syscall(HWPROBE, &raw mut pair, 1usize, 0usize, 0usize, 0usize) };
        result == 0 && pair.0 == EXTENSIONS && pair.1 & V_AND_ZVKNED == V_AND_ZVKNED
    }
    #[cfg(not(target_os = "linux"))]
    fn zvkned() -> bool {
        false
    }
}

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
    type Blocks = Self;
    type Single = Self;
    one_form!();
    /// A state of AEGIS-128 takes 16 of 31 registers, but a step needs more.
    const SPILLS: bool = true;
    const KEY_FIRST: bool = true;

    #[inline(always)]
    fn new(blocks: Self) -> Self {
        blocks
    }
    #[inline(always)]
    fn blocks(self) -> Self {
        self
    }
    #[inline(always)]
    fn aes(self, round_key: Self) -> Self {
        let (a, b) = (self.0, self.1);
        // SAFETY: `self` exists, so the CPU has the features.
        unsafe { Self(half_round(a, b, round_key.0), half_round(b, a, round_key.1)) }
    }
    #[inline(always)]
    fn rounds<const N: usize>(input: [Self; N], round_keys: [Self; N]) -> [Self; N] {
        // Backwards: a round overwrites its key, a word that only the round after it still needs.
        let mut out = round_keys;
        let mut i = N;
        while i > 0 {
            i -= 1;
            out[i] = input[i].aes(round_keys[i]);
        }
        out
    }
}

/// Zkne.
pub(crate) mod zkne {
    use super::{Aegis128, Aegis256, Z1};
    crate::driver::table::tables! {
        #[target_feature(enable = "zkne")]
        scrub: 1280;
        aegis128: [Aegis128<Z1>, 1; Aegis128<Z1>, 0; Aegis128<Z1>, 0;] any Aegis128<Z1>;
        aegis256: [Aegis256<Z1>, 1; Aegis256<Z1>, 0; Aegis256<Z1>, 0;] any Aegis256<Z1>;
    }
}

/// A word in memory, for Zvkned. Stable Rust has no type for a vector register, see `powerpc64`.
#[cfg(feature = "std")]
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct K1(Soft);

// SAFETY: no CPU features are needed, and no branch or index depends on a value.
#[cfg(feature = "std")]
unsafe impl Vector for K1 {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0.xor(other.0))
    }
}

// The text of loops. The state is in v0 and up, the input of a step in v8 and v9, its output in v10
// and v11. AES instructions need words of 32 bits, loads of data without alignment need bytes.

/// Update, for a state of 8 or 6 words, with its input in these registers. A round overwrites its
/// input, so that afterwards each word has to move to the next register.
#[cfg(feature = "std")]
macro_rules! update {
    (8, $input0:literal, $input4:literal) => {
        concat!(
            "vxor.vv v12, v0, ",
            $input0,
            "\nvxor.vv v13, v4, ",
            $input4,
            "\n",
            "vsetivli zero, 4, e32, m1, ta, ma\n",
            "vaesem.vv v0, v1\nvaesem.vv v1, v2\nvaesem.vv v2, v3\nvaesem.vv v3, v13\n",
            "vaesem.vv v4, v5\nvaesem.vv v5, v6\nvaesem.vv v6, v7\nvaesem.vv v7, v12\n",
            "vsetivli zero, 16, e8, m1, ta, ma\n",
            "vmv1r.v v12, v7\nvmv1r.v v7, v6\nvmv1r.v v6, v5\nvmv1r.v v5, v4\nvmv1r.v v4, v3\n",
            "vmv1r.v v3, v2\nvmv1r.v v2, v1\nvmv1r.v v1, v0\nvmv1r.v v0, v12"
        )
    };
    (6, $input:literal) => {
        concat!(
            "vxor.vv v12, v0, ",
            $input,
            "\n",
            "vsetivli zero, 4, e32, m1, ta, ma\n",
            "vaesem.vv v0, v1\nvaesem.vv v1, v2\nvaesem.vv v2, v3\n",
            "vaesem.vv v3, v4\nvaesem.vv v4, v5\nvaesem.vv v5, v12\n",
            "vsetivli zero, 16, e8, m1, ta, ma\n",
            "vmv1r.v v12, v5\nvmv1r.v v5, v4\nvmv1r.v v4, v3\n",
            "vmv1r.v v3, v2\nvmv1r.v v2, v1\nvmv1r.v v1, v0\nvmv1r.v v0, v12"
        )
    };
}

/// Runs a loop over a state: the lines before it, the lines of a step, and the operands that they
/// use. There is at least one step.
#[cfg(feature = "std")]
macro_rules! run {
    (
        $words:literal, $state:ident, $steps:ident,
        [$($before:expr),*], [$($step:expr),* $(,)?], $($operands:tt)*
    ) => {
        asm!(
            ".option push",
            ".option arch, +v, +zvkned",
            "vsetivli zero, 16, e8, m1, ta, ma",
            "mv {t}, {state}",
            concat!(".irp i, ", $words),
            "vle8.v v\\i, ({t})",
            "addi {t}, {t}, 16",
            ".endr",
            $($before,)*
            "2:",
            $($step,)*
            "addi {steps}, {steps}, -1",
            "bnez {steps}, 2b",
            "mv {t}, {state}",
            concat!(".irp i, ", $words),
            "vse8.v v\\i, ({t})",
            "addi {t}, {t}, 16",
            ".endr",
            ".option pop",
            state = in(reg) $state.as_mut_ptr(), t = out(reg) _,
            steps = inout(reg) $steps => _,
            $($operands)*
            out("v0") _, out("v1") _, out("v2") _, out("v3") _, out("v4") _, out("v5") _,
            out("v6") _, out("v7") _, out("v8") _, out("v9") _, out("v10") _, out("v11") _,
            out("v12") _, out("v13") _, out("v14") _,
            options(nostack)
        )
    };
}

// SAFETY: no branch or index depends on a value. `mix` and `process` are called only in kernels for
// CPUs with Zvkned, whose instructions take the same time for all operands (Zvkt).
#[cfg(feature = "std")]
unsafe impl Word for K1 {
    type Blocks = Soft;
    type Single = Self;
    one_form!();
    const SPILLS: bool = true;
    const IN_MEMORY: bool = true;

    #[inline(always)]
    fn new(blocks: Soft) -> Self {
        Self(blocks)
    }
    #[inline(always)]
    fn blocks(self) -> Soft {
        self.0
    }
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
        // SAFETY: `Soft` needs no CPU features.
        let ctx = ctx.unwrap_or_else(|| Self(unsafe { <Soft as Blocks>::zero() }));
        // SAFETY: this is a kernel, so the CPU has the instructions. They access `N` words, which
        // are 8 or 6, the input and the context.
        unsafe {
            if N == 8 {
                run!(
                    "0, 1, 2, 3, 4, 5, 6, 7", state, steps,
                    ["vle8.v v14, ({ctx})", "vle8.v v8, ({input})", "addi {t}, {input}, 16",
                    "vle8.v v9, ({t})"],
                    ["vxor.vv v3, v3, v14", "vxor.vv v7, v7, v14", update!(8, "v8", "v9")],
                    input = in(reg) &raw const input, ctx = in(reg) &raw const ctx,
                );
            } else {
                run!(
                    "0, 1, 2, 3, 4, 5", state, steps,
                    ["vle8.v v14, ({ctx})"],
                    [
                        "add {t}, {input}, {at}",
                        "vle8.v v8, ({t})",
                        "addi {at}, {at}, 16",
                        "andi {at}, {at}, 63",
                        "vxor.vv v3, v3, v14", "vxor.vv v5, v5, v14",
                        update!(6, "v8")
                    ],
                    input = in(reg) &raw const input, ctx = in(reg) &raw const ctx,
                    at = inout(reg) 0usize => _,
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
        /// Encrypts or decrypts, with the message in these registers.
        macro_rules! crypt {
            (8, $message0:literal, $message1:literal) => {
                run!(
                    "0, 1, 2, 3, 4, 5, 6, 7", state, steps, [],
                    [
                        "vle8.v v8, ({src})", "add {t}, {src}, {row}", "vle8.v v9, ({t})",
                        "vand.vv v10, v2, v3", "vand.vv v11, v6, v7",
                        "vxor.vv v10, v10, v6", "vxor.vv v11, v11, v2",
                        "vxor.vv v10, v10, v1", "vxor.vv v11, v11, v5",
                        "vxor.vv v10, v10, v8", "vxor.vv v11, v11, v9",
                        "vse8.v v10, ({dst})", "add {t}, {dst}, {row}", "vse8.v v11, ({t})",
                        update!(8, $message0, $message1),
                        "add {src}, {src}, {rate}", "add {dst}, {dst}, {rate}",
                    ],
                    src = inout(reg) src => _, dst = inout(reg) dst => _, row = in(reg) row,
                    rate = in(reg) 2 * row,
                )
            };
            (6, $message:literal) => {
                run!(
                    "0, 1, 2, 3, 4, 5", state, steps, [],
                    [
                        "vle8.v v8, ({src})",
                        "vand.vv v10, v2, v3", "vxor.vv v11, v4, v5",
                        "vxor.vv v10, v10, v11", "vxor.vv v10, v10, v1", "vxor.vv v10, v10, v8",
                        "vse8.v v10, ({dst})",
                        update!(6, $message),
                        "add {src}, {src}, {row}", "add {dst}, {dst}, {row}",
                    ],
                    src = inout(reg) src => _, dst = inout(reg) dst => _, row = in(reg) row,
                )
            };
        }
        // SAFETY: this is a kernel, so the CPU has the instructions. They access `N` words, which
        // are 8 or 6, and the steps, which the caller promises to be readable and writable.
        unsafe {
            match (N, direction) {
                (8, None) => run!(
                    "0, 1, 2, 3, 4, 5, 6, 7", state, steps, [],
                    [
                        "vle8.v v8, ({src})", "add {t}, {src}, {row}", "vle8.v v9, ({t})",
                        update!(8, "v8", "v9"),
                        "add {src}, {src}, {rate}",
                    ],
                    src = inout(reg) src => _, row = in(reg) row, rate = in(reg) 2 * row,
                ),
                (8, Some(Direction::Encrypt)) => crypt!(8, "v8", "v9"),
                (8, Some(Direction::Decrypt)) => crypt!(8, "v10", "v11"),
                (_, None) => run!(
                    "0, 1, 2, 3, 4, 5", state, steps, [],
                    ["vle8.v v8, ({src})", update!(6, "v8"), "add {src}, {src}, {row}"],
                    src = inout(reg) src => _, row = in(reg) row,
                ),
                (_, Some(Direction::Encrypt)) => crypt!(6, "v8"),
                (_, Some(Direction::Decrypt)) => crypt!(6, "v10"),
            }
        }
    }
}

/// Zvkned.
#[cfg(feature = "std")]
pub(crate) mod zvkned {
    use super::{Aegis128, Aegis256, K1};
    crate::driver::table::tables! {
        scrub: 1280;
        aegis128: [Aegis128<K1>, 1; Aegis128<K1>, 0; Aegis128<K1>, 0;] any Aegis128<K1>;
        aegis256: [Aegis256<K1>, 1; Aegis256<K1>, 0; Aegis256<K1>, 0;] any Aegis256<K1>;
    }
}
