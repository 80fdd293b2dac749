//! x86 and x86-64: the code that the classes of CPUs share. Each file below has the registers and
//! features of one class.
//!
//! The compiler rejects functions with vectors when it compiles without SSE2, as for operating
//! system kernels. None of this is compiled there.

#[cfg(target_arch = "x86")]
use core::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

use crate::block::{Blocks, MAX_LANES, Vector, Word};
use crate::machine::Halfwise;

pub(crate) mod aesni;
mod cpu;
mod overlapping;
#[cfg(target_feature = "sse2")]
pub(crate) mod sse2;
pub(crate) mod ssse3;
pub(crate) mod vaes;
pub(crate) mod vaes512;

pub(crate) use cpu::{COMPILED, Cpu};

/// Returns an address that the compiler does not know to be the same.
#[inline(always)]
#[cfg_attr(miri, allow(unused_mut))]
#[allow(clippy::pointers_in_nomem_asm_block)] // nothing is read through it
fn hidden(mut address: *const u8) -> *const u8 {
    // SAFETY: it contains no instruction. Miri does not support `asm!`.
    #[cfg(not(miri))]
    unsafe {
        core::arch::asm!(
            "/* {0} */", inlateout(reg) address, options(nomem, nostack, preserves_flags)
        );
    }
    address
}

/// Implements [`Blocks`] for one register width.
macro_rules! register {
    (
        $(#[$doc:meta])*
        $name:ident($register:ty): $lanes:literal lanes of $lane:ident,
        needs $features:literal, $class:ident;
        load $load:ident, store $store:ident, splat |$block:ident| $splat:expr, zero $zero:ident,
        xor $xor:ident, xor3 |$a:ident, $b:ident, $c:ident| $xor3:expr,
        xor_and |$p:ident, $q:ident, $r:ident| $xor_and:expr,
        load_partial |$src:ident, $load_len:ident| $load_partial:expr,
        store_partial |$value_:ident, $dst:ident, $store_len:ident| $store_partial:expr,
        lanes |$all:ident| $lanes_expr:expr, fold |$fold:ident| $fold_expr:expr;
        from_lanes |$parts:ident| $from_lanes:expr;
        $($more:tt)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name($register);

        // SAFETY: a value exists only if the CPU has the features. Each method is the instruction
        // that its name says, on all lanes alike.
        unsafe impl Vector for $name {
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                // SAFETY: `self` exists, so the CPU has the features.
                Self(unsafe { $xor(self.0, other.0) })
            }
            #[inline(always)]
            fn xor3(self, $b: Self, $c: Self) -> Self {
                let $a = self;
                #[allow(unused_unsafe)] // without three-way logic there is nothing unsafe
                // SAFETY: `self` exists, so the CPU has the features.
                unsafe {
                    $xor3
                }
            }
            #[inline(always)]
            fn pin(self) -> Self {
                // A separate function, because `asm!` accepts a wide register only where the
                // feature is enabled.
                #[inline]
                #[target_feature(enable = $features)]
                #[cfg_attr(miri, allow(unused_mut))]
                fn pin(mut x: $register) -> $register {
                    // SAFETY: it contains no instruction. Miri does not support `asm!`.
                    #[cfg(not(miri))]
                    unsafe {
                        core::arch::asm!(
                            "/* {0} */", inlateout($class) x,
                            options(pure, nomem, nostack, preserves_flags)
                        );
                    }
                    x
                }
                // SAFETY: `self` exists, so the CPU has the features.
                Self(unsafe { pin(self.0) })
            }
        }

        // SAFETY: a value exists only if the CPU has the features. Instructions treat all bytes
        // alike; partial loads and stores access only the bytes that the caller promises.
        unsafe impl Blocks for $name {
            const LANES: usize = $lanes;
            type Lane = $lane;

            #[inline(always)]
            unsafe fn load(src: *const u8) -> Self {
                // SAFETY: the caller promises the CPU features and a readable vector; the
                // instruction needs no alignment.
                Self(unsafe { $load(src.cast()) })
            }
            #[inline(always)]
            fn again(address: *const u8) -> *const u8 {
                $crate::arch::x86::hidden(address)
            }
            #[inline(always)]
            unsafe fn store(self, dst: *mut u8) {
                // SAFETY: the caller promises a writable vector; no alignment is needed.
                unsafe { $store(dst.cast(), self.0) }
            }
            #[inline(always)]
            unsafe fn splat(block: *const u8) -> Self {
                // SAFETY: the caller promises the CPU features and 16 readable bytes; no alignment
                // is needed.
                unsafe {
                    let $block = _mm_loadu_si128(block.cast());
                    Self($splat)
                }
            }
            #[inline(always)]
            unsafe fn splat_words(first: u64, second: u64) -> Self {
                // SAFETY: the caller promises the CPU features.
                unsafe {
                    let $block = _mm_set_epi64x(second as i64, first as i64);
                    Self($splat)
                }
            }
            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: the caller promises the CPU features.
                Self(unsafe { $zero() })
            }
            #[inline(always)]
            unsafe fn load_partial($src: *const u8, $load_len: usize) -> Self {
                // SAFETY: the caller promises the CPU features and the readable bytes.
                Self(unsafe { $load_partial })
            }
            #[inline(always)]
            unsafe fn store_partial(self, $dst: *mut u8, $store_len: usize) {
                let $value_ = self.0;
                // SAFETY: the caller promises the writable bytes. `self` exists, so the CPU has the
                // features.
                unsafe { $store_partial }
            }
            #[inline(always)]
            fn xor_and(self, b: Self, c: Self) -> Self {
                let ($p, $q, $r) = (self.0, b.0, c.0);
                // SAFETY: `self` exists, so the CPU has the features.
                Self(unsafe { $xor_and })
            }
            #[inline(always)]
            fn is_zero(self) -> bool {
                let mut zero = true;
                for lane in &self.lanes()[..$lanes] {
                    // SAFETY: `self` exists, so the CPU has the features.
                    let equal = unsafe { _mm_cmpeq_epi8(lane.0, _mm_setzero_si128()) };
                    // SAFETY: `self` exists, so the CPU has the features.
                    zero &= unsafe { _mm_movemask_epi8(equal) } == 0xffff;
                }
                zero
            }
            #[inline(always)]
            fn first(self) -> $lane {
                self.lanes()[0]
            }
            #[inline(always)]
            fn lanes(self) -> [$lane; MAX_LANES] {
                let $all = self.0;
                #[allow(unused_unsafe)] // for one lane there is nothing unsafe
                // SAFETY: `self` exists, so the CPU has the features.
                let [a, b, c, d] = unsafe { $lanes_expr };
                // Not `map`: the compiler does not always inline it, and then the lanes go through
                // the stack.
                [$lane(a), $lane(b), $lane(c), $lane(d)]
            }
            #[inline(always)]
            fn fold(self) -> $lane {
                let $fold = self;
                #[allow(unused_unsafe)] // for one lane there is nothing unsafe
                // SAFETY: `self` exists, so the CPU has the features.
                unsafe {
                    $fold_expr
                }
            }
            #[inline(always)]
            unsafe fn from_lanes(lanes: [$lane; MAX_LANES]) -> Self {
                let [a, b, c, d] = lanes;
                let $parts = [a.0, b.0, c.0, d.0];
                #[allow(unused_unsafe)] // for one lane there is nothing unsafe
                // SAFETY: the caller promises the CPU features.
                Self(unsafe { $from_lanes })
            }
            $($more)*
        }
    };
}

use register;

/// Defines one block in an XMM register, without AVX-512.
macro_rules! one_block {
    ($(#[$doc:meta])* $name:ident) => {
        register! {
            $(#[$doc])*
            $name(__m128i): 1 lanes of $name, needs "sse2", xmm_reg;
            load _mm_loadu_si128, store _mm_storeu_si128, splat |block| block,
            zero _mm_setzero_si128,
            xor _mm_xor_si128, xor3 |a, b, c| a.xor(b).pin().xor(c),
            xor_and |a, b, c| _mm_xor_si128(a, _mm_and_si128(b, c)),
            load_partial |src, len| overlapping::load_128(src, len),
            store_partial |x, dst, len| overlapping::store_128(x, dst, len),
            lanes |x| [x; MAX_LANES], fold |x| x;
            from_lanes |x| x[0];
        }
    };
}
use one_block;

/// Defines two blocks in a YMM register, without AVX-512.
macro_rules! two_blocks {
    ($(#[$doc:meta])* $name:ident of $lane:ident) => {
        register! {
            $(#[$doc])*
            $name(__m256i): 2 lanes of $lane, needs "avx2", ymm_reg;
            load _mm256_loadu_si256, store _mm256_storeu_si256,
            splat |block| _mm256_broadcastsi128_si256(block),
            zero _mm256_setzero_si256, xor _mm256_xor_si256, xor3 |a, b, c| a.xor(b).pin().xor(c),
            xor_and |a, b, c| _mm256_xor_si256(a, _mm256_and_si256(b, c)),
            load_partial |src, len| overlapping::load_256(src, len),
            store_partial |x, dst, len| overlapping::store_256(x, dst, len),
            lanes |x| two_lanes(x), fold |x| fold_two(x.lanes());
            from_lanes |x| join(x[0], x[1]);

            /// Brings both blocks of a message together, to store them at once.
            #[inline(always)]
            unsafe fn scatter_two([x, y]: [Self; 2], dst: &[*mut u8; MAX_LANES], at: usize) {
                // SAFETY: the caller promises two writable blocks of each message. Values exist, so
                // the CPU has the features.
                unsafe {
                    let low = _mm256_permute2x128_si256::<0x20>(x.0, y.0);
                    let high = _mm256_permute2x128_si256::<0x31>(x.0, y.0);
                    _mm256_storeu_si256(dst[0].add(at).cast(), low);
                    _mm256_storeu_si256(dst[1].add(at).cast(), high);
                }
            }
        }
    };
}
use two_blocks;

/// Implements [`Word`] with the AES instructions.
macro_rules! aes {
    (
        $name:ident($register:ty) of $lane:ident, $aes:ident, needs $features:literal, $class:ident
        $($more:tt)*
    ) => {
        // SAFETY: a value exists only if the CPU has the features. A round is one instruction.
        unsafe impl Word for $name {
            crate::block::plain!($lane);
            /// Words of one register each fit, but not into the eight registers of 32-bit x86.
            const SPILLS: bool = cfg!(target_arch = "x86");

    #[inline(always)]
            fn aes(self, round_key: Self) -> Self {
                // SAFETY: `self` exists, so the CPU has the features.
                Self(unsafe { $aes(self.0, round_key.0) })
            }
            #[inline(always)]
            fn fence(self) -> Self {
                #[inline]
                #[target_feature(enable = $features)]
                #[cfg_attr(miri, allow(unused_mut))]
                fn fence(mut x: $register) -> $register {
                    // SAFETY: it contains no instruction. It is not `pure`, so that such blocks
                    // stay in order.
                    #[cfg(not(miri))]
                    unsafe {
                        core::arch::asm!(
                            "/* {0} */", inlateout($class) x,
                            options(nomem, nostack, preserves_flags)
                        );
                    }
                    x
                }
                // SAFETY: `self` exists, so the CPU has the features.
                Self(unsafe { fence(self.0) })
            }
            $($more)*
        }
    };
}
use aes;

/// Where an update of [`Halfwise`] adds the message, and what else it adds.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[derive(Clone, Copy)]
enum Form<W> {
    Early,
    Late,
    With(W),
}

/// Implements [`Halfwise`], in `asm!` with a register for each word of two states. Left to choose,
/// the compiler moves words between registers, lacks some, and puts words on the stack.
macro_rules! halfwise {
    ($name:ident($register:ty), $class:ident, needs $features:literal, $first:tt $second:tt) => {
        // 32-bit x86 has eight registers, not 16. Miri does not support `asm!`.
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        impl Halfwise for $name {}

        #[cfg(all(target_arch = "x86_64", not(miri)))]
        impl Halfwise for $name {
            #[inline(always)]
            fn update<const I: usize>(s: [Self; 6], m: Self) -> [Self; 6] {
                Self::update_as::<I>(s, m, $crate::arch::x86::Form::Early)
            }
            #[inline(always)]
            fn update_late<const I: usize>(s: [Self; 6], m: Self) -> [Self; 6] {
                Self::update_as::<I>(s, m, $crate::arch::x86::Form::Late)
            }
            #[inline(always)]
            fn update_with<const I: usize>(s: [Self; 6], m: Self, ctx: Self) -> [Self; 6] {
                Self::update_as::<I>(s, m, $crate::arch::x86::Form::With(ctx.0))
            }
        }

        #[cfg(all(target_arch = "x86_64", not(miri)))]
        impl $name {
            #[inline(always)]
            fn update_as<const I: usize>(
                s: [Self; 6],
                m: Self,
                form: $crate::arch::x86::Form<$register>,
            ) -> [Self; 6] {
                use $crate::arch::x86::Form;
                type State = [$register; 6];
                #[inline]
                #[target_feature(enable = $features)]
                fn first(s: State, m: $register, form: Form<$register>) -> State {
                    halfwise!($class $first s m form)
                }
                #[inline]
                #[target_feature(enable = $features)]
                fn second(s: State, m: $register, form: Form<$register>) -> State {
                    halfwise!($class $second s m form)
                }
                let [s0, s1, s2, s3, s4, s5] = s;
                let s = [s0.0, s1.0, s2.0, s3.0, s4.0, s5.0];
                let update = if I == 0 { first } else { second };
                // SAFETY: values exist, so the CPU has the features.
                let [s0, s1, s2, s3, s4, s5] = unsafe { update(s, m.0, form) };
                [Self(s0), Self(s1), Self(s2), Self(s3), Self(s4), Self(s5)]
            }
        }
    };
    ($class:ident [$r0:tt $r1:tt $r2:tt $r3:tt $r4:tt $r5:tt] $s:ident $m:ident $form:ident) => {{
        let [mut s0, mut s1, mut s2, mut s3, mut s4, mut s5] = $s;
        match $form {
            // SAFETY: instructions between registers.
            Form::Early => unsafe {
                core::arch::asm!(
                    concat!("vaesenc {t}, ", $r5, ", {m}"),
                    concat!("vaesenc ", $r5, ", ", $r4, ", ", $r5),
                    concat!("vaesenc ", $r4, ", ", $r3, ", ", $r4),
                    concat!("vaesenc ", $r3, ", ", $r2, ", ", $r3),
                    concat!("vaesenc ", $r2, ", ", $r1, ", ", $r2),
                    concat!("vaesenc ", $r1, ", ", $r0, ", ", $r1),
                    concat!("vpxor ", $r0, ", {t}, ", $r0),
                    m = in($class) $m, t = out($class) _,
                    inout($r0) s0, inout($r1) s1, inout($r2) s2,
                    inout($r3) s3, inout($r4) s4, inout($r5) s5,
                    options(pure, nomem, nostack, preserves_flags)
                )
            },
            // SAFETY: instructions between registers.
            Form::Late => unsafe {
                core::arch::asm!(
                    concat!("vaesenc {t}, ", $r5, ", ", $r0),
                    concat!("vaesenc ", $r5, ", ", $r4, ", ", $r5),
                    concat!("vaesenc ", $r4, ", ", $r3, ", ", $r4),
                    concat!("vaesenc ", $r3, ", ", $r2, ", ", $r3),
                    concat!("vaesenc ", $r2, ", ", $r1, ", ", $r2),
                    concat!("vaesenc ", $r1, ", ", $r0, ", ", $r1),
                    concat!("vpxor ", $r0, ", {t}, {m}"),
                    m = in($class) $m, t = out($class) _,
                    inout($r0) s0, inout($r1) s1, inout($r2) s2,
                    inout($r3) s3, inout($r4) s4, inout($r5) s5,
                    options(pure, nomem, nostack, preserves_flags)
                )
            },
            // SAFETY: instructions between registers.
            Form::With(ctx) => unsafe {
                core::arch::asm!(
                    concat!("vpxor {t}, ", $r5, ", {ctx}"),
                    concat!("vpxor {u}, ", $r3, ", {ctx}"),
                    "vaesenc {t}, {t}, {m}",
                    concat!("vaesenc ", $r5, ", ", $r4, ", ", $r5),
                    concat!("vaesenc ", $r4, ", {u}, ", $r4),
                    concat!("vaesenc ", $r3, ", ", $r2, ", ", $r3),
                    concat!("vaesenc ", $r2, ", ", $r1, ", ", $r2),
                    concat!("vaesenc ", $r1, ", ", $r0, ", ", $r1),
                    concat!("vpxor ", $r0, ", {t}, ", $r0),
                    m = in($class) $m, ctx = in($class) ctx,
                    t = out($class) _, u = out($class) _,
                    inout($r0) s0, inout($r1) s1, inout($r2) s2,
                    inout($r3) s3, inout($r4) s4, inout($r5) s5,
                    options(pure, nomem, nostack, preserves_flags)
                )
            },
        }
        [s0, s1, s2, s3, s4, s5]
    }};
}
use halfwise;

/// Implements [`Halves`](crate::block::Halves).
macro_rules! halves {
    ($name:ident, needs $features:literal, $instruction:literal) => {
        // SAFETY: a value exists only if the CPU has the features. Exchanging halves is one
        // instruction.
        unsafe impl Halves for $name {
            #[inline(always)]
            fn swap(self) -> Self {
                // Not an intrinsic: the compiler makes VPERMQ of each that would do, which takes a
                // cycle more on Zen (docs/performance.md).
                #[inline]
                #[target_feature(enable = $features)]
                #[cfg(not(miri))]
                fn swap(x: __m256i) -> __m256i {
                    let y;
                    // SAFETY: one instruction between registers.
                    unsafe {
                    core::arch::asm!(
                        concat!($instruction, " {y}, {x}, {x}, 1"),
                        x = in(ymm_reg) x, y = lateout(ymm_reg) y,
                        options(pure, nomem, nostack, preserves_flags)
                    );
                }
                y
            }
            #[cfg(miri)] // has no `asm!`
            unsafe fn swap(x: __m256i) -> __m256i {
                // SAFETY: the caller below has AVX2.
                unsafe { _mm256_permute2x128_si256::<1>(x, x) }
            }
            // SAFETY: `self` exists, so the CPU has the features.
            Self(unsafe { swap(self.0) })
        }
    }
};
}
use halves;

/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn join(low: __m128i, high: __m128i) -> __m256i {
    // SAFETY: the caller promises AVX2.
    unsafe { _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high) }
}

/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn two_lanes(x: __m256i) -> [__m128i; MAX_LANES] {
    // SAFETY: the caller promises AVX2.
    let (a, b) = unsafe { (_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x)) };
    [a, b, a, b]
}

#[inline(always)]
fn fold_two<V: Blocks>([a, b, ..]: [V; MAX_LANES]) -> V {
    a.xor(b)
}

one_block! {
    /// One block in an XMM register, with AES-NI and AVX.
    V1
}
aes!(V1(__m128i) of V1, _mm_aesenc_si128, needs "sse2", xmm_reg);
halfwise!(V1(__m128i), xmm_reg, needs "avx,aes",
    ["xmm0" "xmm1" "xmm2" "xmm3" "xmm4" "xmm5"] ["xmm6" "xmm7" "xmm8" "xmm9" "xmm10" "xmm11"]);
