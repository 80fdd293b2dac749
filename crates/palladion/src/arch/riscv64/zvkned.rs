//! Zvkned: AES rounds on vector registers. Stable Rust has no type for one, so words are in memory,
//! and `asm!` contains whole loops (see `powerpc64/power8.rs`).

use core::arch::asm;

use crate::arch::tables;
use crate::block::{Blocks, Soft};
use crate::driver::features::features;
use crate::driver::kernels::Tables;
use crate::machine::memory::{InMemory, Loops};
use crate::machine::{Rows, Work};
use crate::memory::Direction;

// The text of loops. The state is in v0 and up, the input of a step in v8 and v9, its output in v10
// and v11. AES instructions need words of 32 bits, loads of data without alignment need bytes.

/// Update, for a state of 8 or 6 words, with its input in these registers. A round overwrites its
/// input, so that afterwards each word has to move to the next register.
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

// SAFETY: no branch or index depends on a value. `mix` and `run_steps` are called only in kernels
// for CPUs with Zvkned, whose instructions take the same time for all operands (Zvkt).
unsafe impl<const N: usize> Loops<N> for Soft {
    crate::block::plain!(Self);

    #[inline(always)]
    fn mix(state: &mut [Self; N], input: [Self; 4], ctx: Option<Self>, steps: usize) {
        // SAFETY: `Soft` needs no CPU features.
        let ctx = ctx.unwrap_or(unsafe { Self::zero() });
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
    unsafe fn run_steps(state: &mut [Self; N], work: Work, rows: Rows, steps: usize) {
        let Rows { src, dst, row } = rows;
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
            match (N, work) {
                (8, Work::Absorb) => run!(
                    "0, 1, 2, 3, 4, 5, 6, 7", state, steps, [],
                    [
                        "vle8.v v8, ({src})", "add {t}, {src}, {row}", "vle8.v v9, ({t})",
                        update!(8, "v8", "v9"),
                        "add {src}, {src}, {rate}",
                    ],
                    src = inout(reg) src => _, row = in(reg) row, rate = in(reg) 2 * row,
                ),
                (8, Work::Crypt(Direction::Encrypt)) => crypt!(8, "v8", "v9"),
                (8, Work::Crypt(Direction::Decrypt)) => crypt!(8, "v10", "v11"),
                (_, Work::Absorb) => run!(
                    "0, 1, 2, 3, 4, 5", state, steps, [],
                    ["vle8.v v8, ({src})", update!(6, "v8"), "add {src}, {src}, {row}"],
                    src = inout(reg) src => _, row = in(reg) row,
                ),
                (_, Work::Crypt(Direction::Encrypt)) => crypt!(6, "v8"),
                (_, Work::Crypt(Direction::Decrypt)) => crypt!(6, "v10"),
            }
        }
    }
}

features! {
    /// Zvkned.
    Zvkned, scrub 1280
}

pub(crate) const TABLES: Tables =
    tables::one_lane::<Zvkned, InMemory<Soft, 8>, InMemory<Soft, 6>>();
