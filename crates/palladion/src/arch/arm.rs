//! 32-bit ARM with NEON: bit planes in vectors.
//!
//! Stable Rust has no intrinsics for NEON on these CPUs and no type for a register of 128 bits, so
//! the state is in memory and the operations of a step are whole functions in assembly. The
//! functions are naked: a call changes what C's calling convention says, whereas `asm!` would have
//! to name registers that most programs for these CPUs are compiled without.

use core::arch::naked_asm;
use core::mem::MaybeUninit;

use crate::arch::backend::{Backend, Compiled};
use crate::arch::tables;
use crate::driver::features::features;
use crate::soft::bitsliced::Planes;
use crate::soft::byte_planes::{BytePlanes, Operations, Step, register};

/// The features of the CPU.
pub(crate) struct Cpu {
    pub(crate) neon: bool,
}

impl Cpu {
    /// The standard library has no stable way to ask, but Linux says it.
    pub(crate) fn detect() -> Self {
        use core::ffi::c_ulong;
        unsafe extern "C" {
            safe fn getauxval(kind: c_ulong) -> c_ulong;
        }
        const HWCAP: c_ulong = 16;
        const NEON: c_ulong = 1 << 12;
        Self { neon: getauxval(HWCAP) & NEON != 0 }
    }
}

/// A vector of 128 bits in memory. Its operators serve where speed does not matter.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Q(u128);

register! {
    Q, constant(bits) = u128::from(bits) << 64 | u128::from(bits);
    BitXor, bitxor(self, other: Self) = self.0 ^ other.0;
    BitAnd, bitand(self, other: Self) = self.0 & other.0;
    BitOr, bitor(self, other: Self) = self.0 | other.0;
    Shl, shl(self, by: u32) = self.0 << by;
    Shr, shr(self, by: u32) = self.0 >> by;
}

/// The text of a function. The last `.fpu` is noted in the object file as what the program needs,
/// so it is what most programs for ARMv7 are compiled for. LLVM may read the text as for ARMv4,
/// which does not have BX. Callers are in the same instruction set, so MOV returns to them.
macro_rules! neon {
    ([$($line:expr,)*] $($operand:tt)*) => {
        naked_asm!(".fpu neon", $($line,)* "mov pc, lr", ".fpu vfpv3-d16", $($operand)*)
    };
}

/// Instructions for the gates of a circuit, and for values that are on the stack for a while.
#[rustfmt::skip]
macro_rules! gates {
    ($($q:ident $verb:tt $($a:ident $op:tt $b:ident)?;)*) => { concat!($(
        gates!(@ $verb $($op)?), stringify!($q),
        $(", ", stringify!($a), ", ", stringify!($b),)? "\n",
    )*) };
    (@ save) => { "save " };
    (@ restore) => { "restore " };
    (@ = ^) => { "veor " };
    (@ = &) => { "vand " };
}

/// The position of the last cell in use.
const fn last<const L: usize, const N: usize, const BLOCKS: usize>() -> usize {
    L * (BytePlanes::<Q, L, N, BLOCKS>::CELLS - 1)
}

/// ShiftRows in each half of a vector of rows.
static SHIFT_ROWS: [u8; 16] = [0, 1, 2, 3, 5, 6, 7, 4, 2, 3, 0, 1, 7, 4, 5, 6];

/// Computes AESRound of the octet at `from`, with the vectors at `key` as round key, and stores the
/// result at `to`. The pointers may be equal.
///
/// The S-box is that of `soft/sbox.rs`, with its gates in another order. As there are 16 registers,
/// seven values are on the stack for a while and three are computed twice.
///
/// # Safety
/// The CPU has NEON. `to` is writable, and the others are readable.
#[unsafe(naked)]
#[rustfmt::skip]
unsafe extern "C" fn round(
    from: *const [Q; 8],
    key: *const [Q; 8],
    to: *mut [Q; 8],
    shift_rows: &'static [u8; 16],
) {
    neon!([
        // The sums of MixColumns for a plane `a` after ShiftRows: `a[r] ^ a[r + 1]` in place, and
        // `a[r + 1] ^ a[r + 2] ^ a[r + 3]` in `out`, to which two others are added.
        ".macro mix a, out, lower, carry",
        "vext.8 \\out, \\a, \\a, #4", "veor \\a, \\a, \\out",
        "vext.8 q2, \\a, \\a, #8", "veor \\out, \\out, q2",
        ".ifnb \\lower", "veor \\out, \\out, \\lower", ".endif",
        ".ifnb \\carry", "veor \\out, \\out, \\carry", ".endif",
        ".endm",
        ".macro save q", "vpush {{\\q}}", ".endm",
        ".macro restore q", "vpop {{\\q}}", ".endm",

        "vpush {{q4-q7}}",
        "vldmia r0, {{q0-q7}}",
        gates!(
            q9 = q5 ^ q6; q6 = q1 ^ q3; q12 = q4 ^ q7; q3 = q0 ^ q9; q13 = q2 ^ q7; q13 save;
            q14 = q12 ^ q6; q15 = q4 ^ q3; q11 = q2 ^ q5; q5 = q14 ^ q9; q2 = q2 ^ q4;
            q10 = q6 ^ q11; q4 = q15 & q0; q8 = q7 ^ q3; q8 save; q6 = q3 ^ q10; q6 save;
            q4 = q13 ^ q4; q13 = q13 & q5; q8 = q8 & q6; q6 = q1 ^ q3; q6 save; q5 save; q3 save;
            q10 save; q7 = q1 ^ q7; q8 = q13 ^ q8; q9 = q9 ^ q10; q4 = q13 ^ q4; q3 = q6 & q3;
            q6 = q12 ^ q11; q13 = q7 ^ q2; q1 = q1 ^ q8; q8 = q2 & q6; q2 = q13 ^ q15;
            q0 = q0 ^ q14; q15 = q12 & q9; q3 = q3 ^ q8; q5 = q5 ^ q15; q11 = q11 ^ q8;
            q8 = q7 & q10; q10 = q10 ^ q15; q15 = q2 & q0; q10 = q8 ^ q10; q8 = q13 & q14;
            q15 = q15 ^ q11; q10 = q7 ^ q10; q5 = q8 ^ q5; q11 = q10 ^ q1; q8 = q3 ^ q10;
            q10 = q5 ^ q15; q5 = q4 ^ q5; q1 = q3 ^ q1; q3 = q10 & q8; q15 = q4 ^ q15;
            q4 = q3 ^ q11; q15 = q15 & q4; q4 = q5 ^ q3; q4 = q1 & q4; q1 = q3 ^ q15;
            q15 = q5 ^ q15; q3 = q3 ^ q4; q4 = q4 ^ q11; q5 = q5 & q1; q11 = q11 & q3;
            q3 = q4 ^ q15; q1 = q10 ^ q5; q11 = q8 ^ q11; q10 = q2 ^ q13; q10 = q4 & q10;
            q5 = q11 ^ q1; q8 = q0 ^ q14; q8 = q4 & q8; q4 = q11 ^ q4; q12 = q3 & q12;
            q3 = q3 & q9; q9 = q13 ^ q7; q9 = q5 & q9; q7 = q1 & q7; q2 = q4 & q2; q14 = q11 & q14;
            q0 = q4 & q0; q5 = q5 & q6; q6 = q11 & q13; q11 restore; q11 = q1 & q11;
            q13 = q1 ^ q15; q12 = q12 ^ q9; q1 = q3 ^ q5; q3 = q14 ^ q3; q6 = q6 ^ q2;
            q4 = q4 ^ q13; q7 = q7 ^ q12; q6 = q12 ^ q6; q12 restore; q12 = q13 & q12;
            q6 = q0 ^ q6; q1 = q0 ^ q1; q0 restore; q0 = q4 & q0; q12 = q12 ^ q6; q6 = q5 ^ q6;
            q5 restore; q13 = q13 & q5; q5 = q6 ^ q3; q3 restore; q3 = q15 & q3; q11 = q11 ^ q12;
            q0 = q8 ^ q0; q13 = q13 ^ q7; q3 = q3 ^ q12; q12 restore; q12 = q15 & q12;
            q15 = q0 ^ q6; q3 = q8 ^ q3; q0 restore; q0 = q4 & q0; q4 = q12 ^ q7; q6 = q14 ^ q11;
            q13 = q3 ^ q13; q4 = q15 ^ q4; q8 = q2 ^ q6; q7 = q13 ^ q15; q12 = q0 ^ q5;
            q0 = q6 ^ q13; q15 = q10 ^ q4; q9 = q9 ^ q12; q13 = q11 ^ q1; q12 = q15 ^ q8;
            q1 = q4 ^ q9;
        ),
        // Planes 0 to 7 are now in q0, q7, q12, q3, q6, q1, q5 and q13.
        "vld1.8 {{q2}}, [r3]",
        ".irp i, 0, 14, 24, 6, 12, 2, 10, 26", "vtbl.8 d\\i, {{d\\i}}, d4", ".endr",
        ".irp i, 1, 15, 25, 7, 13, 3, 11, 27", "vtbl.8 d\\i, {{d\\i}}, d5", ".endr",
        "mix q13, q15", "mix q0, q8, q13", "mix q7, q9, q0, q13", "mix q12, q10, q7",
        "mix q3, q11, q12, q13", "mix q6, q12, q3, q13", "mix q1, q13, q6", "mix q5, q14, q1",
        "veor q15, q15, q5",
        // The constant of the S-box, 0x63, is the same after ShiftRows and MixColumns.
        ".irp i, 8, 9, 13, 14", "vmvn q\\i, q\\i", ".endr",
        "vldmia r1, {{q0-q7}}",
        "veor q8, q8, q0", "veor q9, q9, q1", "veor q10, q10, q2", "veor q11, q11, q3",
        "veor q12, q12, q4", "veor q13, q13, q5", "veor q14, q14, q6", "veor q15, q15, q7",
        "vstmia r2, {{q8-q15}}",
        "vpop {{q4-q7}}",
        ".purgem mix", ".purgem save", ".purgem restore",
    ])
}

/// Transposes a step from or to the form in memory or, if `TURN`, the planes of an octet to the
/// words in it (`Lanes::turn`), which is the same with the other index bits. Rows are `from_row`
/// and `to_row` bytes apart. `to` may be the same as `from`.
///
/// Register `8 * block + lane` holds the vector of a block and a lane.
///
/// # Safety
/// The CPU has NEON. The rows are readable and writable.
#[unsafe(naked)]
#[rustfmt::skip]
unsafe extern "C" fn transpose<const L: usize, const BLOCKS: usize, const TURN: bool>(
    from: *const u8,
    from_row: usize,
    to: *mut u8,
    to_row: usize,
) {
    neon!([
        ".macro each action, first, second",
        "\\action 0, d0, d1, \\first", "\\action 1, d2, d3, \\first",
        "\\action 2, d4, d5, \\first", "\\action 3, d6, d7, \\first",
        "\\action 8, d16, d17, \\second", "\\action 9, d18, d19, \\second",
        "\\action 10, d20, d21, \\second", "\\action 11, d22, d23, \\second",
        ".endm",
        ".macro if_used q, line:vararg",
        ".if \\q % 8 < {lanes} && \\q / 8 < {blocks}", "\\line", ".endif",
        ".endm",
        ".macro load q, low, high, at", "if_used \\q, vld1.8 {{q\\q}}, [\\at]!", ".endm",
        ".macro store q, low, high, at", "if_used \\q, vst1.8 {{q\\q}}, [\\at]!", ".endm",
        ".macro columns q, low, high, at", "if_used \\q, vuzp.8 \\low, \\high", ".endm",
        // Exchanges an index bit of the number of registers with one of each byte.
        ".macro exchange bit, a, b",
        "if_used \\b, vshr.u8 q12, q\\a, #\\bit", "if_used \\b, vshl.i8 q13, q\\b, #\\bit",
        "if_used \\b, vbit q\\b, q12, q14", "if_used \\b, vbif q\\a, q13, q14",
        ".endm",

        "add r1, r0, r1",
        "add r3, r2, r3",
        "each load, r0, r1",
        // Exchange the rows and columns of a block.
        ".if {columns}", "each columns", "each columns", ".endif",
        ".if {bits} & 4",
        "vmov.i8 q14, #0x0f",
        "exchange 4, 0, 8", "exchange 4, 1, 9", "exchange 4, 2, 10", "exchange 4, 3, 11",
        ".endif",
        ".if {bits} & 2",
        "vmov.i8 q14, #0x33",
        "exchange 2, 0, 2", "exchange 2, 1, 3", "exchange 2, 8, 10", "exchange 2, 9, 11",
        ".endif",
        ".if {bits} & 1",
        "vmov.i8 q14, #0x55",
        "exchange 1, 0, 1", "exchange 1, 2, 3", "exchange 1, 8, 9", "exchange 1, 10, 11",
        ".endif",
        "each store, r2, r3",
        ".irp name, each, if_used, load, store, columns, exchange", ".purgem \\name", ".endr",
    ]
        lanes = const if TURN { 4 } else { L },
        blocks = const if TURN { 2 } else { BLOCKS },
        bits = const (L - 1 + 4 * (BLOCKS - 1)) ^ if TURN { 7 } else { 0 },
        columns = const !TURN as usize,
    )
}

/// Repeats lines for each lane `i`.
#[rustfmt::skip]
macro_rules! each_lane {
    ($($line:expr),*) => {
        concat!(".irp i, 0, 1, 2, 3\n.if \\i < {lanes}\n", $($line, "\n",)* ".endif\n.endr")
    };
}

/// Adds the key stream to the step at `m` and stores the sum at `to`. The octets were turned.
///
/// # Safety
/// The CPU has NEON. The memory is readable and, at `to`, writable.
#[unsafe(naked)]
#[rustfmt::skip]
unsafe extern "C" fn add_keystream<const L: usize, const N: usize, const BLOCKS: usize>(
    turned: *const Planes<Q, N>,
    m: *const Step<Q, L, BLOCKS>,
    to: *mut Step<Q, L, BLOCKS>,
) {
    /// The distance of a word's vectors from `turned`, in bytes, in the first row.
    const fn at<const L: usize, const N: usize>(word: usize) -> usize {
        16 * (8 * (word % N) + L * (word / N) % 8)
    }
    neon!([
        ".irp row, 0, 64",
        ".if \\row == 0 || {blocks} == 2",
        "add r3, r0, #({s3} + \\row)", each_lane!("vld1.8 {{q1\\i}}, [r3]!"),
        "add r3, r0, #({s2} + \\row)",
        each_lane!("vld1.8 {{q\\i}}, [r3]!", "vand q1\\i, q1\\i, q\\i"),
        ".if {blocks} == 2",
        // In both halves: S5 ^ S2 ^ (S6 & S7) in the upper ones.
        each_lane!("vshr.u8 q15, q\\i, #4", "vsli.8 q15, q\\i, #4", "veor q1\\i, q1\\i, q15"),
        ".else",
        "add r3, r0, #{s4}", each_lane!("vld1.8 {{q\\i}}, [r3]!", "veor q1\\i, q1\\i, q\\i"),
        "add r3, r0, #{s5}", each_lane!("vld1.8 {{q\\i}}, [r3]!", "veor q1\\i, q1\\i, q\\i"),
        ".endif",
        "add r3, r0, #({s1} + \\row)",
        each_lane!("vld1.8 {{q\\i}}, [r3]!", "veor q1\\i, q1\\i, q\\i"),
        each_lane!("vld1.8 {{q\\i}}, [r1]!", "veor q1\\i, q1\\i, q\\i", "vst1.8 {{q1\\i}}, [r2]!"),
        ".endif",
        ".endr",
    ]
        lanes = const L, blocks = const BLOCKS, s1 = const at::<L, N>(1), s2 = const at::<L, N>(2),
        s3 = const at::<L, N>(3), s4 = const at::<L, N>(4), s5 = const at::<L, N>(5),
    )
}

/// Stores at `to` the planes that become a step's input to an octet when they go through
/// [`advance`].
///
/// # Safety
/// The CPU has NEON. The memory is readable and, at `to`, writable.
#[unsafe(naked)]
#[rustfmt::skip]
unsafe extern "C" fn input<const L: usize, const N: usize, const BLOCKS: usize>(
    m: *const Step<Q, L, BLOCKS>,
    to: *mut [Q; 8],
) {
    neon!([
        "vmov.i8 q15, #{cells}",
        ".irp half, 0, 4",
        // The last cell of one half moves to the first of the other, so they change places.
        ".if {blocks} == 2",
        each_lane!("vld1.8 {{q1\\i}}, [r0]!", "vshr.u8 q\\i, q1\\i, #4", "vsli.8 q\\i, q1\\i, #4"),
        ".elseif \\half == 0",
        each_lane!("vld1.8 {{q\\i}}, [r0]!"),
        ".endif",
        // The bits of plane `p` move from position `from` (see `Lanes::input`) to the last cell.
        ".irp p, 0, 1, 2, 3",
        ".irp from, ((\\p+{half}*\\half)/{lanes}*{lanes})",
        each_lane!(
            ".if \\p % {lanes} == \\i",
            ".if \\from <= {to}",
            "vshl.i8 q14, q\\i, #({to} - \\from)",
            ".else",
            "vshr.u8 q14, q\\i, #(\\from - {to})",
            ".endif",
            "vand q14, q14, q15",
            "vst1.8 {{q14}}, [r1]!",
            ".endif"
        ),
        ".endr",
        ".endr",
        ".endr",
    ]
        lanes = const L, blocks = const BLOCKS, half = const 2 - BLOCKS,
        to = const last::<L, N, BLOCKS>() % (8 / BLOCKS),
        cells = const {
            let cell = ((1 << L) - 1) << (last::<L, N, BLOCKS>() % (8 / BLOCKS));
            if BLOCKS == 2 { 0x11 * cell } else { cell }
        },
    )
}

/// Moves each cell of the planes at `from` to the place of the next, and adds them to `octet`.
///
/// # Safety
/// The CPU has NEON. The memory is readable and, at `octet`, writable.
#[unsafe(naked)]
#[rustfmt::skip]
unsafe extern "C" fn advance<const L: usize, const N: usize, const BLOCKS: usize>(
    octet: *mut [Q; 8],
    from: *const [Q; 8],
) {
    neon!([
        ".rept 2",
        "vldmia r1!, {{q0-q3}}",
        "vldmia r0, {{q10-q13}}",
        ".irp i, 0, 1, 2, 3",
        "vshr.u8 q14, q\\i, #{last}",
        "vsli.8 q14, q\\i, #{lanes}",
        "veor q1\\i, q1\\i, q14",
        ".endr",
        "vstmia r0!, {{q10-q13}}",
        ".endr",
    ] lanes = const L, last = const last::<L, N, BLOCKS>())
}

// Only kernels for CPUs with NEON call these functions.
impl Operations for Q {
    #[inline(always)]
    unsafe fn load_step<const L: usize, const BLOCKS: usize>(
        src: *const u8,
        row: usize,
    ) -> Step<Self, L, BLOCKS> {
        let mut step = MaybeUninit::<Step<Self, L, BLOCKS>>::uninit();
        // SAFETY: the CPU has NEON. The caller promises readable rows, and `step` is written.
        unsafe {
            transpose::<L, BLOCKS, false>(src, row, step.as_mut_ptr().cast(), 16 * L);
            step.assume_init()
        }
    }
    #[inline(always)]
    unsafe fn store_step<const L: usize, const BLOCKS: usize>(
        step: Step<Self, L, BLOCKS>,
        dst: *mut u8,
        row: usize,
    ) {
        // SAFETY: the CPU has NEON. The caller promises writable rows.
        unsafe { transpose::<L, BLOCKS, false>((&raw const step).cast(), 16 * L, dst, row) }
    }

    #[inline(always)]
    fn update<const L: usize, const N: usize, const BLOCKS: usize>(
        octets: &mut Planes<Self, N>,
        m: &Step<Self, L, BLOCKS>,
    ) {
        let mut around = MaybeUninit::uninit();
        let (around, octets) = (around.as_mut_ptr(), octets.as_mut_ptr());
        // SAFETY: the CPU has NEON. There are `N` octets, and `input` writes to `around`.
        unsafe {
            input::<L, N, BLOCKS>(m, around);
            round(octets.add(N - 1), around, around, &SHIFT_ROWS);
            for g in (1..N).rev() {
                round(octets.add(g - 1), octets.add(g), octets.add(g), &SHIFT_ROWS);
            }
            advance::<L, N, BLOCKS>(octets, around);
        }
    }

    #[inline(always)]
    fn add_keystream<const L: usize, const N: usize, const BLOCKS: usize>(
        octets: &Planes<Self, N>,
        m: &Step<Self, L, BLOCKS>,
    ) -> Step<Self, L, BLOCKS> {
        let mut turned = MaybeUninit::<Planes<Self, N>>::uninit();
        let mut sum = MaybeUninit::uninit();
        // SAFETY: the CPU has NEON. `turned` has `N` octets too; it and `sum` are written.
        unsafe {
            if L == 4 && BLOCKS == 2 {
                // No index bit to exchange.
                add_keystream(octets, m, sum.as_mut_ptr());
                return sum.assume_init();
            }
            for (g, octet) in octets.iter().enumerate() {
                let to = turned.as_mut_ptr().cast::<[Q; 8]>().add(g);
                transpose::<L, BLOCKS, true>(octet.as_ptr().cast(), 64, to.cast(), 64);
            }
            add_keystream(turned.as_ptr(), m, sum.as_mut_ptr());
            sum.assume_init()
        }
    }

    #[cfg(test)]
    fn rounds(octet: &[Self; 8]) -> [Self; 8] {
        let mut out = [Self(0); 8];
        // SAFETY: the tests need NEON.
        unsafe { round(octet, &raw const out, &raw mut out, &SHIFT_ROWS) };
        out
    }
    #[cfg(test)]
    fn linear(octet: &[Self; 8]) -> [Self; 8] {
        let s_box = crate::soft::sliced::tests::s_box();
        let mut before = [Self(0); 8];
        for i in 0..128 {
            let byte = (0..8).fold(0, |byte, p| byte | (octet[p].0 >> i & 1) << p);
            let inverse = s_box.iter().position(|y| u128::from(*y) == byte).unwrap();
            (0..8).for_each(|p| before[p].0 |= (inverse as u128 >> p & 1) << i);
        }
        Self::rounds(&before)
    }
}

features! {
    /// Bit planes in vectors. The assembly functions use NEON, the compiler does not.
    Neon, scrub 5120
}

pub(crate) const COMPILED: &[Compiled<Cpu>] = &[Compiled {
    backend: Backend::Neon,
    runs: |cpu| cpu.neon,
    tables: tables::planes_in_vectors::<Neon, Q>(),
}];

#[cfg(test)]
mod tests {
    use super::Q;
    use crate::soft::byte_planes::tests;

    #[test]
    fn rounds_are_those_of_the_standard() {
        tests::rounds::<Q>();
    }

    #[test]
    fn steps_are_those_of_the_standard() {
        tests::steps::<Q>();
    }
}
