//! x86 and x86-64: registers of one, two and four blocks, with the AES instructions and without.

#[cfg(target_arch = "x86")]
use core::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

use super::aegis128::Aegis128;
use super::aegis256::Aegis256;
use super::blocks::{self, Blocks, Halves, MAX_LANES, Pair, Vector, Word};
use super::packed128::Packed128;
use super::packed256::Packed256;
use super::vector_permute::{Permute, Permuted};
use crate::backend::Backend;

/// Parts of a block without AVX-512: two overlapping pieces, whose halves of the register a byte shuffle brings together.
/// Never a copy through memory, which would be written in small pieces and read in a large one, and so cost the time of
/// a failed store forwarding. Branches and indices depend on lengths alone.
mod overlapping {
    use super::*;

    /// Shuffles that move a block: loaded from `16 + n` on, by `n` bytes down; from `16 - n` on, by `n` bytes up.
    static MOVES: [u8; 48] = {
        let mut moves = [0x80; 48];
        let mut i = 0;
        while i < 16 {
            moves[16 + i] = i as u8;
            i += 1;
        }
        moves
    };

    /// Moves bytes towards higher addresses.
    ///
    /// # Safety
    /// SSSE3; `n <= 16`.
    #[inline(always)]
    unsafe fn up(x: __m128i, n: usize) -> __m128i {
        // SAFETY: the caller grants the feature; 16 bytes lie behind each of the first 17.
        unsafe { _mm_shuffle_epi8(x, _mm_loadu_si128(MOVES.as_ptr().add(16 - n).cast())) }
    }

    /// Moves bytes towards lower addresses.
    ///
    /// # Safety
    /// SSSE3; `n <= 16`.
    #[inline(always)]
    unsafe fn down(x: __m128i, n: usize) -> __m128i {
        // SAFETY: the caller grants the feature; 16 bytes lie behind each of bytes 16 to 32.
        unsafe { _mm_shuffle_epi8(x, _mm_loadu_si128(MOVES.as_ptr().add(16 + n).cast())) }
    }

    /// # Safety
    /// SSSE3; `len` bytes, at most 16, readable.
    #[inline(always)]
    pub(super) unsafe fn load_128(src: *const u8, len: usize) -> __m128i {
        // SAFETY: the caller grants the feature; each piece lies within the `len` bytes.
        unsafe {
            if len >= 16 {
                _mm_loadu_si128(src.cast())
            } else if len >= 8 {
                let (a, b) = (_mm_loadl_epi64(src.cast()), _mm_loadl_epi64(src.add(len - 8).cast()));
                _mm_or_si128(a, up(b, len - 8))
            } else if len >= 4 {
                let word = |at: usize| _mm_cvtsi32_si128(src.add(at).cast::<i32>().read_unaligned());
                _mm_or_si128(word(0), up(word(len - 4), len - 4))
            } else if len > 0 {
                // One to three bytes: the first, the middle and the last, some of them the same.
                let byte = |at: usize| u32::from(src.add(at).read()) << (8 * at);
                _mm_cvtsi32_si128((byte(0) | byte(len / 2) | byte(len - 1)) as i32)
            } else {
                _mm_setzero_si128()
            }
        }
    }

    /// # Safety
    /// SSSE3; `len` bytes, at most 16, writable.
    #[inline(always)]
    pub(super) unsafe fn store_128(x: __m128i, dst: *mut u8, len: usize) {
        // SAFETY: the caller grants the feature; each piece lies within the `len` bytes.
        unsafe {
            if len >= 16 {
                _mm_storeu_si128(dst.cast(), x);
            } else if len >= 8 {
                _mm_storel_epi64(dst.cast(), x);
                _mm_storel_epi64(dst.add(len - 8).cast(), down(x, len - 8));
            } else if len >= 4 {
                dst.cast::<i32>().write_unaligned(_mm_cvtsi128_si32(x));
                dst.add(len - 4).cast::<i32>().write_unaligned(_mm_cvtsi128_si32(down(x, len - 4)));
            } else if len > 0 {
                let word = _mm_cvtsi128_si32(x) as u32;
                dst.write(word as u8);
                dst.add(len / 2).write((word >> (8 * (len / 2))) as u8);
                dst.add(len - 1).write((word >> (8 * (len - 1))) as u8);
            }
        }
    }

    /// # Safety
    /// AVX2; `len` bytes, at most 32, readable.
    #[inline(always)]
    pub(super) unsafe fn load_256(src: *const u8, len: usize) -> __m256i {
        // SAFETY: the caller grants the feature and the bytes.
        unsafe {
            if len > 16 {
                let (low, high) = (_mm_loadu_si128(src.cast()), load_128(src.add(16), len - 16));
                _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
            } else {
                _mm256_zextsi128_si256(load_128(src, len))
            }
        }
    }

    /// # Safety
    /// AVX2; `len` bytes, at most 32, writable.
    #[inline(always)]
    pub(super) unsafe fn store_256(x: __m256i, dst: *mut u8, len: usize) {
        // SAFETY: the caller grants the feature and the bytes.
        unsafe {
            if len > 16 {
                _mm_storeu_si128(dst.cast(), _mm256_castsi256_si128(x));
                store_128(_mm256_extracti128_si256::<1>(x), dst.add(16), len - 16);
            } else {
                store_128(_mm256_castsi256_si128(x), dst, len);
            }
        }
    }
}

/// The mask register for the first `len` bytes, at most 64.
#[inline(always)]
fn mask(len: usize) -> u64 {
    !u64::MAX.checked_shl(len as u32).unwrap_or(0)
}

/// Implements [`Blocks`] for one register width.
macro_rules! register {
    (
        $(#[$doc:meta])*
        $name:ident($register:ty): $lanes:literal lanes of $lane:ident, needs $features:literal, $class:ident;
        load $load:ident, store $store:ident, splat |$block:ident| $splat:expr, zero $zero:ident,
        xor $xor:ident, xor3 |$a:ident, $b:ident, $c:ident| $xor3:expr, and $and:ident,
        load_partial |$src:ident, $load_len:ident| $load_partial:expr,
        store_partial |$value_:ident, $dst:ident, $store_len:ident| $store_partial:expr,
        truncate |$whole:ident, $len:ident| $truncate:expr,
        lanes |$all:ident| $lanes_expr:expr, fold |$fold:ident| $fold_expr:expr;
        from_lanes |$parts:ident| $from_lanes:expr;
        $($more:tt)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name($register);

        // SAFETY: each method is the one instruction that its name says, on all lanes alike; a value is proof that
        // the CPU has it.
        unsafe impl Vector for $name {
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                // SAFETY: `self` is proof of the features.
                Self(unsafe { $xor(self.0, other.0) })
            }
            #[inline(always)]
            fn xor3(self, $b: Self, $c: Self) -> Self {
                let $a = self;
                #[allow(unused_unsafe)] // nothing to do where it takes two instructions
                // SAFETY: `self` is proof of the features.
                unsafe {
                    $xor3
                }
            }
            #[inline(always)]
            fn pin(self) -> Self {
                // A function of its own, because `asm!` takes a wide register only where the feature is known.
                #[inline]
                #[target_feature(enable = $features)]
                #[cfg_attr(any(miri, palladion_secrecy = "msan"), allow(unused_mut))]
                fn pin(mut x: $register) -> $register {
                    // SAFETY: no instruction at all. (MemorySanitizer would take it for one that looks at a secret; Miri knows no `asm!`.)
                    #[cfg(not(any(miri, palladion_secrecy = "msan")))]
                    unsafe {
                        core::arch::asm!(
                            "/* {0} */", inlateout($class) x,
                            options(pure, nomem, nostack, preserves_flags)
                        );
                    }
                    x
                }
                // SAFETY: `self` is proof of the features.
                Self(unsafe { pin(self.0) })
            }
        }

        // SAFETY: likewise. Partial loads and stores touch no byte but those they are granted.
        unsafe impl Blocks for $name {
            const LANES: usize = $lanes;
            type Lane = $lane;

            #[inline(always)]
            unsafe fn load(src: *const u8) -> Self {
                // SAFETY: the caller grants the features and the memory; the instruction needs no alignment.
                Self(unsafe { $load(src.cast()) })
            }
            #[inline(always)]
            unsafe fn store(self, dst: *mut u8) {
                // SAFETY: likewise.
                unsafe { $store(dst.cast(), self.0) }
            }
            #[inline(always)]
            unsafe fn splat(block: *const u8) -> Self {
                // SAFETY: likewise, for 16 bytes.
                unsafe {
                    let $block = _mm_loadu_si128(block.cast());
                    Self($splat)
                }
            }
            #[inline(always)]
            unsafe fn splat_words(first: u64, second: u64) -> Self {
                // SAFETY: the caller grants the features.
                unsafe {
                    let $block = _mm_set_epi64x(second as i64, first as i64);
                    Self($splat)
                }
            }
            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: the caller grants the features.
                Self(unsafe { $zero() })
            }
            #[inline(always)]
            unsafe fn load_partial($src: *const u8, $load_len: usize) -> Self {
                // SAFETY: the caller grants the features and the bytes.
                Self(unsafe { $load_partial })
            }
            #[inline(always)]
            unsafe fn store_partial(self, $dst: *mut u8, $store_len: usize) {
                let $value_ = self.0;
                // SAFETY: the caller grants the bytes; `self` is proof of the features.
                unsafe { $store_partial }
            }
            #[inline(always)]
            fn truncate(self, $len: usize) -> Self {
                let $whole = self;
                // SAFETY: `self` is proof of the features.
                Self(unsafe { $truncate })
            }
            #[inline(always)]
            fn xor_and(self, b: Self, c: Self) -> Self {
                // SAFETY: `self` is proof of the features.
                Self(unsafe { $xor(self.0, $and(b.0, c.0)) })
            }
            #[inline(always)]
            fn is_zero(self) -> bool {
                let mut zero = true;
                for lane in &self.lanes()[..$lanes] {
                    // SAFETY: `self` is proof of the features.
                    zero &= unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(lane.0, _mm_setzero_si128())) } == 0xffff;
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
                #[allow(unused_unsafe)] // nothing to do for one lane
                // SAFETY: `self` is proof of the features.
                let [a, b, c, d] = unsafe { $lanes_expr };
                // (Not `map`: the compiler does not always put that in here, and then it goes over the stack.)
                [$lane(a), $lane(b), $lane(c), $lane(d)]
            }
            #[inline(always)]
            fn fold(self) -> $lane {
                let $fold = self;
                #[allow(unused_unsafe)] // nothing to do for one lane
                // SAFETY: `self` is proof of the features.
                unsafe {
                    $fold_expr
                }
            }
            #[inline(always)]
            unsafe fn from_lanes(lanes: [$lane; MAX_LANES]) -> Self {
                let [a, b, c, d] = lanes;
                let $parts = [a.0, b.0, c.0, d.0];
                #[allow(unused_unsafe)] // nothing to do for one lane
                // SAFETY: the caller grants the features.
                Self(unsafe { $from_lanes })
            }
            $($more)*
        }
    };
}

/// One block in an XMM register, without AVX-512.
macro_rules! one_block {
    ($(#[$doc:meta])* $name:ident) => {
        register! {
            $(#[$doc])*
            $name(__m128i): 1 lanes of $name, needs "sse2", xmm_reg;
            load _mm_loadu_si128, store _mm_storeu_si128, splat |block| block, zero _mm_setzero_si128,
            xor _mm_xor_si128, xor3 |a, b, c| a.xor(b).pin().xor(c),
            and _mm_and_si128,
            load_partial |src, len| overlapping::load_128(src, len),
            store_partial |x, dst, len| overlapping::store_128(x, dst, len),
            truncate |x, len| _mm_and_si128(x.0, blocks::mask_of_length::<Self>(len).0),
            lanes |x| [x; MAX_LANES], fold |x| x;
            from_lanes |x| x[0];
        }
    };
}
one_block! {
    /// One block in an XMM register: AES-NI.
    X1
}
one_block! {
    /// One block in an XMM register: AES-NI where there is VAES.
    V1
}

one_block! {
    /// One block in an XMM register: SSSE3 without AES instructions.
    P1
}

/// Two blocks in a YMM register, without AVX-512.
macro_rules! two_blocks {
    ($(#[$doc:meta])* $name:ident of $lane:ident) => {
        register! {
            $(#[$doc])*
            $name(__m256i): 2 lanes of $lane, needs "avx2", ymm_reg;
            load _mm256_loadu_si256, store _mm256_storeu_si256, splat |block| _mm256_broadcastsi128_si256(block),
            zero _mm256_setzero_si256, xor _mm256_xor_si256, xor3 |a, b, c| a.xor(b).pin().xor(c),
            and _mm256_and_si256,
            load_partial |src, len| overlapping::load_256(src, len),
            store_partial |x, dst, len| overlapping::store_256(x, dst, len),
            truncate |x, len| _mm256_and_si256(x.0, blocks::mask_of_length::<Self>(len).0),
            lanes |x| two_lanes(x), fold |x| fold_two(x.lanes());
            from_lanes |x| join(x[0], x[1]);
        }
    };
}
two_blocks! {
    /// Two blocks in a YMM register: VAES with AVX2.
    V2 of V1
}
two_blocks! {
    /// Two blocks in a YMM register: AVX2 without AES instructions.
    P2 of P1
}

register! {
    /// One block in an XMM register: VAES with AVX-512.
    M1(__m128i): 1 lanes of M1, needs "sse2", xmm_reg;
    load _mm_loadu_si128, store _mm_storeu_si128, splat |block| block, zero _mm_setzero_si128,
    xor _mm_xor_si128, xor3 |a, b, c| Self(_mm_ternarylogic_epi64::<0x96>(a.0, b.0, c.0)),
    and _mm_and_si128,
    load_partial |src, len| _mm_maskz_loadu_epi8(mask(len) as __mmask16, src.cast()),
    store_partial |x, dst, len| _mm_mask_storeu_epi8(dst.cast(), mask(len) as __mmask16, x),
    truncate |x, len| _mm_maskz_mov_epi8(mask(len) as __mmask16, x.0),
    lanes |x| [x; MAX_LANES], fold |x| x;
    from_lanes |x| x[0];
}

register! {
    /// Two blocks in a YMM register: VAES with AVX-512.
    M2(__m256i): 2 lanes of M1, needs "avx2", ymm_reg;
    load _mm256_loadu_si256, store _mm256_storeu_si256, splat |block| _mm256_broadcastsi128_si256(block),
    zero _mm256_setzero_si256, xor _mm256_xor_si256, xor3 |a, b, c| Self(_mm256_ternarylogic_epi64::<0x96>(a.0, b.0, c.0)),
    and _mm256_and_si256,
    load_partial |src, len| _mm256_maskz_loadu_epi8(mask(len) as __mmask32, src.cast()),
    store_partial |x, dst, len| _mm256_mask_storeu_epi8(dst.cast(), mask(len) as __mmask32, x),
    truncate |x, len| _mm256_maskz_mov_epi8(mask(len) as __mmask32, x.0),
    lanes |x| two_lanes(x), fold |x| fold_two(x.lanes());
    from_lanes |x| join(x[0], x[1]);
}

register! {
    /// Four blocks in a ZMM register: VAES with AVX-512.
    M4(__m512i): 4 lanes of M1, needs "avx512f", zmm_reg;
    load _mm512_loadu_si512, store _mm512_storeu_si512, splat |block| _mm512_broadcast_i32x4(block),
    zero _mm512_setzero_si512, xor _mm512_xor_si512, xor3 |a, b, c| Self(_mm512_ternarylogic_epi64::<0x96>(a.0, b.0, c.0)),
    and _mm512_and_si512,
    load_partial |src, len| _mm512_maskz_loadu_epi8(mask(len), src.cast()),
    store_partial |x, dst, len| _mm512_mask_storeu_epi8(dst.cast(), mask(len), x),
    truncate |x, len| _mm512_maskz_mov_epi8(mask(len), x.0),
    lanes |x| {
        let ([a, b, ..], [c, d, ..]) =
            (two_lanes(_mm512_castsi512_si256(x)), two_lanes(_mm512_extracti64x4_epi64::<1>(x)));
        [a, b, c, d]
    },
    fold |x| fold_two(M2(_mm256_xor_si256(_mm512_castsi512_si256(x.0), _mm512_extracti64x4_epi64::<1>(x.0))).lanes());
    from_lanes |x| _mm512_inserti64x4::<1>(_mm512_castsi256_si512(join(x[0], x[1])), join(x[2], x[3]));

    /// Two blocks of each of four messages: loads of both blocks at once, and shuffles that part them again, are fewer
    /// instructions than eight loads of a block.
    #[inline(always)]
    unsafe fn gather_two<const D: usize>(src: &[*const u8; MAX_LANES], at: usize) -> [Self; 2] {
        // SAFETY: the caller grants the features and, for the messages there are, `32 * D` bytes.
        unsafe {
            if D != 1 {
                return [Self::gather::<D>(src, at), Self::gather::<D>(src, at + 16 * D)];
            }
            let (a, b) = (two_halves(src[0].add(at), src[1].add(at)), two_halves(src[2].add(at), src[3].add(at)));
            [Self(_mm512_shuffle_i64x2::<0x88>(a, b)), Self(_mm512_shuffle_i64x2::<0xdd>(a, b))]
        }
    }
    #[inline(always)]
    unsafe fn gather<const D: usize>(src: &[*const u8; MAX_LANES], at: usize) -> Self {
        // SAFETY: the caller grants the features and, for the messages there are, `16 * D` bytes.
        unsafe {
            if D == 2 {
                return Self(two_halves(src[0].add(at), src[1].add(at)));
            }
            let [a, b, c, d] = *src;
            Self::from_lanes([M1::load(a.add(at)), M1::load(b.add(at)), M1::load(c.add(at)), M1::load(d.add(at))])
        }
    }
}

/// Implements [`Word`] with the AES instructions.
macro_rules! aes {
    ($name:ident($register:ty) of $lane:ident, $aes:ident, needs $features:literal, $class:ident, in_order $in_order:literal, three_way $three_way:literal) => {
        // SAFETY: one instruction; a value is proof that the CPU has it.
        unsafe impl Word for $name {
            type Blocks = Self;
            type Single = $lane;
            const IN_ORDER: bool = $in_order;
            const THREE_WAY: bool = $three_way;

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
                // SAFETY: `self` is proof of the features.
                Self(unsafe { $aes(self.0, round_key.0) })
            }
            #[inline(always)]
            fn in_order(self) -> Self {
                #[inline]
                #[target_feature(enable = $features)]
                #[cfg_attr(any(miri, palladion_secrecy = "msan"), allow(unused_mut))]
                fn in_order(mut x: $register) -> $register {
                    // SAFETY: no instruction at all. It is not `pure`, so that such blocks stay in order.
                    #[cfg(not(any(miri, palladion_secrecy = "msan")))]
                    unsafe {
                        core::arch::asm!(
                            "/* {0} */", inlateout($class) x,
                            options(nomem, nostack, preserves_flags)
                        );
                    }
                    x
                }
                // SAFETY: `self` is proof of the features.
                if Self::IN_ORDER { Self(unsafe { in_order(self.0) }) } else { self }
            }
        }
    };
}
aes!(X1(__m128i) of X1, _mm_aesenc_si128, needs "sse2", xmm_reg, in_order false, three_way false);
aes!(V1(__m128i) of V1, _mm_aesenc_si128, needs "sse2", xmm_reg, in_order true, three_way false);
aes!(V2(__m256i) of V1, _mm256_aesenc_epi128, needs "avx2", ymm_reg, in_order true, three_way false);
aes!(M1(__m128i) of M1, _mm_aesenc_si128, needs "sse2", xmm_reg, in_order true, three_way true);
aes!(M2(__m256i) of M1, _mm256_aesenc_epi128, needs "avx2", ymm_reg, in_order true, three_way true);
aes!(M4(__m512i) of M1, _mm512_aesenc_epi128, needs "avx512f", zmm_reg, in_order false, three_way true);

/// Implements [`Permute`] with the byte shuffle.
macro_rules! permute {
    ($name:ident: $shuffle:ident, $shift:ident, $and:ident) => {
        // SAFETY: one or two instructions; a value is proof that the CPU has them.
        unsafe impl Permute for $name {
            #[inline(always)]
            fn lookup(self, index: Self) -> Self {
                // SAFETY: `self` is proof of the features.
                Self(unsafe { $shuffle(self.0, index.0) })
            }
            #[inline(always)]
            fn nibbles(self) -> [Self; 2] {
                // SAFETY: `self` is proof of the features.
                unsafe {
                    let low = Self::splat_words(LOW_NIBBLES, LOW_NIBBLES).0;
                    [Self($and(self.0, low)).pin(), Self($and($shift::<4>(self.0), low)).pin()]
                }
            }
        }
    };
}
const LOW_NIBBLES: u64 = 0x0f0f_0f0f_0f0f_0f0f;
permute!(P1: _mm_shuffle_epi8, _mm_srli_epi32, _mm_and_si128);
permute!(P2: _mm256_shuffle_epi8, _mm256_srli_epi32, _mm256_and_si256);

/// # Safety
/// AVX-512F; 32 bytes readable at each pointer.
#[inline(always)]
unsafe fn two_halves(low: *const u8, high: *const u8) -> __m512i {
    // SAFETY: the caller grants the feature and the bytes.
    unsafe {
        let low = _mm512_castsi256_si512(_mm256_loadu_si256(low.cast()));
        _mm512_inserti64x4::<1>(low, _mm256_loadu_si256(high.cast()))
    }
}

/// # Safety
/// AVX2.
#[inline(always)]
unsafe fn join(low: __m128i, high: __m128i) -> __m256i {
    // SAFETY: the caller grants the feature.
    unsafe { _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high) }
}

/// Implements [`Halves`].
macro_rules! halves {
    ($($name:ident)*) => {$(
        // SAFETY: one instruction; a value is proof that the CPU has AVX2.
        unsafe impl Halves for $name {
            #[inline(always)]
            fn swap(self) -> Self {
                // SAFETY: `self` is proof of the features.
                Self(unsafe { _mm256_permute2x128_si256::<1>(self.0, self.0) })
            }
            #[inline(always)]
            fn beside(self, other: Self) -> Self {
                // SAFETY: `self` is proof of the features.
                Self(unsafe { _mm256_blend_epi32::<0xf0>(self.0, other.0) })
            }
        }
    )*};
}
halves!(V2 M2 P2);

/// # Safety
/// AVX2.
#[inline(always)]
unsafe fn two_lanes(x: __m256i) -> [__m128i; MAX_LANES] {
    // SAFETY: the caller grants the feature.
    let (a, b) = unsafe { (_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x)) };
    [a, b, a, b]
}

#[inline(always)]
fn fold_two<V: Blocks>([a, b, ..]: [V; MAX_LANES]) -> V {
    a.xor(b)
}

// With AES-NI alone two interleaved messages are slower than one after another (measured on a core with one AES unit), so
// there are no batch kernels.

/// AES-NI in its first encoding, for CPUs without AVX.
pub(crate) mod aesni {
    use super::{Aegis128, Aegis256, Pair, X1};
    crate::low::kernels::tables! {
        #[target_feature(enable = "ssse3,aes")]
        aegis128: [
            Aegis128<X1>, 1, leaves 512; Aegis128<X1>, 2, leaves 1024; Aegis128<X1>, 4, leaves 1536; Aegis128<X1>, 0, leaves 1024;
        ]
        aegis256: [
            Aegis256<X1>, 1; Aegis256<Pair<X1>>, 1, leaves 768; Aegis256<Pair<X1>>, 2, leaves 1280; Aegis256<X1>, 0, leaves 1024;
        ]
    }
}

/// AES-NI in the three-operand encoding of AVX.
pub(crate) mod aesni_avx {
    use super::{Aegis128, Aegis256, Pair, X1};
    crate::low::kernels::tables! {
        #[target_feature(enable = "avx,aes")]
        aegis128: [
            Aegis128<X1>, 1; Aegis128<X1>, 2, leaves 1024; Aegis128<X1>, 4, leaves 1536; Aegis128<X1>, 0, leaves 1024;
        ]
        aegis256: [
            Aegis256<X1>, 1; Aegis256<Pair<X1>>, 1, leaves 768; Aegis256<Pair<X1>>, 2, leaves 1280; Aegis256<X1>, 0, leaves 1024;
        ]
    }
}

/// VAES on 256-bit registers.
pub(crate) mod vaes_avx2 {
    use super::{Aegis128, Aegis256, Packed128, Pair, V1, V2};
    crate::low::kernels::tables! {
        #[target_feature(enable = "avx2,aes,vaes")]
        aegis128: [
            Packed128<V2>, 1, batch [Aegis128<V2>] leaves 2304;
            Aegis128<V2>, 1; Aegis128<V2>, 2, leaves 1536; Aegis128<V1>, 0, leaves 1024;
        ]
        aegis256: [
            Aegis256<V1>, 1, batch [Aegis256<Pair<V2>>, Aegis256<V2>] leaves 2304;
            Aegis256<V2>, 1, leaves 512, batch [Aegis256<Pair<V2>>] leaves 2304; Aegis256<Pair<V2>>, 1, leaves 768; Aegis256<V1>, 0, leaves 1024;
        ]
    }
}

/// VAES with AVX-512: registers up to 512 bits, three-way logic, masks.
pub(crate) mod vaes_avx512 {
    use super::{Aegis128, Aegis256, M1, M2, M4, Packed128};
    crate::low::kernels::tables! {
        #[target_feature(enable = "avx2,aes,vaes,avx512f,avx512bw,avx512vl")]
        aegis128: [
            Packed128<M2>, 1, batch [Aegis128<M4>, Aegis128<M2>] leaves 2304;
            Aegis128<M2>, 1, batch [Aegis128<M4>] leaves 2304; Aegis128<M4>, 1; Aegis128<M1>, 0, leaves 1024;
        ]
        aegis256: [
            Aegis256<M1>, 1, batch [Aegis256<M4>, Aegis256<M2>] leaves 2304;
            Aegis256<M2>, 1, leaves 512, batch [Aegis256<M4>] leaves 2304; Aegis256<M4>, 1; Aegis256<M1>, 0, leaves 1024;
        ]
    }
}

/// Byte shuffles on 128-bit registers.
pub(crate) mod ssse3 {
    // The steps are much code, and a call counts for little beside them: no kernels for single degrees.
    use super::{Aegis128, Aegis256, P1, Permuted};
    crate::low::kernels::tables! {
        #[target_feature(enable = "ssse3")]
        aegis128: [
            Aegis128<Permuted<P1>>, 0, leaves 2048; Aegis128<Permuted<P1>>, 0, leaves 2048; Aegis128<Permuted<P1>>, 0, leaves 2048; Aegis128<Permuted<P1>>, 0, leaves 2048;
        ]
        aegis256: [
            Aegis256<Permuted<P1>>, 0, leaves 2048; Aegis256<Permuted<P1>>, 0, leaves 2048; Aegis256<Permuted<P1>>, 0, leaves 2048; Aegis256<Permuted<P1>>, 0, leaves 2048;
        ]
    }
}

/// Byte shuffles on 256-bit registers.
pub(crate) mod avx2 {
    use super::{Aegis128, Aegis256, P1, P2, Packed128, Packed256, Permuted};
    crate::low::kernels::tables! {
        #[target_feature(enable = "avx2")]
        aegis128: [
            Packed128<Permuted<P2>>, 0, leaves 2048; Aegis128<Permuted<P2>>, 0, leaves 2048; Aegis128<Permuted<P2>>, 0, leaves 2048; Aegis128<Permuted<P1>>, 0, leaves 2048;
        ]
        aegis256: [
            Packed256<Permuted<P2>>, 0, leaves 2048; Aegis256<Permuted<P2>>, 0, leaves 2048; Aegis256<Permuted<P2>>, 0, leaves 2048; Aegis256<Permuted<P1>>, 0, leaves 2048;
        ]
    }
}

/// What CPUID says of the features that the backends need, with the operating system's consent to the wide registers.
/// (`is_x86_feature_detected!` needs `std`; this works without, and a test compares the two.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Features {
    pub(crate) ssse3: bool,
    pub(crate) aes: bool,
    pub(crate) avx: bool,
    pub(crate) avx2: bool,
    pub(crate) vaes: bool,
    pub(crate) avx512f: bool,
    pub(crate) avx512bw: bool,
    pub(crate) avx512vl: bool,
}

impl Features {
    /// Whether these are what a backend's kernels are compiled for.
    pub(crate) fn allow(&self, backend: Backend) -> bool {
        match backend {
            Backend::VaesAvx512 => {
                self.allow(Backend::VaesAvx2) && self.avx512f && self.avx512bw && self.avx512vl
            }
            Backend::VaesAvx2 => self.allow(Backend::AesNiAvx) && self.avx2 && self.vaes,
            Backend::AesNiAvx => self.allow(Backend::AesNi) && self.avx,
            Backend::AesNi => self.allow(Backend::Ssse3) && self.aes,
            Backend::Avx2 => self.allow(Backend::Ssse3) && self.avx2,
            Backend::Ssse3 => self.ssse3,
            Backend::Portable => true,
            Backend::ArmAes | Backend::Neon | Backend::WasmRelaxedSimd | Backend::WasmSimd128 => false,
        }
    }

    pub(crate) fn detect() -> Self {
        // Without an operating system that saves the vector registers, CPUID says nothing about whether they may be
        // used; in an SGX enclave, and by Miri, it cannot even be asked. Then only what the whole program is compiled for
        // counts.
        if cfg!(any(miri, target_os = "none", target_os = "uefi", target_env = "sgx")) {
            return Self {
                ssse3: cfg!(target_feature = "ssse3"),
                aes: cfg!(target_feature = "aes"),
                avx: cfg!(target_feature = "avx"),
                avx2: cfg!(target_feature = "avx2"),
                vaes: cfg!(target_feature = "vaes"),
                avx512f: cfg!(target_feature = "avx512f"),
                avx512bw: cfg!(target_feature = "avx512bw"),
                avx512vl: cfg!(target_feature = "avx512vl"),
            };
        }
        let bit = |register: u32, bit: u32| register >> bit & 1 == 1;
        #[allow(unused_unsafe)] // safe in newer compilers than the oldest supported one
        // SAFETY: every CPU that this code runs on has CPUID: x86-64 by definition, x86 since 1993.
        let cpuid = |leaf: u32| unsafe { __cpuid_count(leaf, 0) };
        let highest = cpuid(0).eax;
        let leaf1 = cpuid(1);
        if !bit(leaf1.edx, 26) {
            return Self::default(); // no SSE2
        }
        // XCR0 tells which registers the operating system saves: bits 1 and 2 for YMM, 5 to 7 for ZMM and masks.
        let xcr0 = if bit(leaf1.ecx, 27) {
            #[target_feature(enable = "xsave")]
            unsafe fn xcr0() -> u64 {
                // SAFETY: the caller has seen OSXSAVE.
                unsafe { _xgetbv(0) }
            }
            // SAFETY: OSXSAVE says that XGETBV may be used.
            unsafe { xcr0() }
        } else {
            0
        };
        let ymm = xcr0 & 0x06 == 0x06;
        let zmm = xcr0 & 0xe6 == 0xe6;
        let leaf7 = if highest >= 7 { cpuid(7) } else { CpuidResult { eax: 0, ebx: 0, ecx: 0, edx: 0 } };
        Self {
            ssse3: bit(leaf1.ecx, 9),
            aes: bit(leaf1.ecx, 25),
            avx: ymm && bit(leaf1.ecx, 28),
            avx2: ymm && bit(leaf7.ebx, 5),
            vaes: ymm && bit(leaf7.ecx, 9),
            avx512f: zmm && bit(leaf7.ebx, 16),
            avx512bw: zmm && bit(leaf7.ebx, 30),
            avx512vl: zmm && bit(leaf7.ebx, 31),
        }
    }
}

#[cfg(all(test, feature = "std"))]
#[test]
fn detection_agrees_with_the_standard_library() {
    use std::is_x86_feature_detected;
    let expected = Features {
        ssse3: is_x86_feature_detected!("ssse3"),
        aes: is_x86_feature_detected!("aes"),
        avx: is_x86_feature_detected!("avx"),
        avx2: is_x86_feature_detected!("avx2"),
        vaes: is_x86_feature_detected!("vaes"),
        avx512f: is_x86_feature_detected!("avx512f"),
        avx512bw: is_x86_feature_detected!("avx512bw"),
        avx512vl: is_x86_feature_detected!("avx512vl"),
    };
    let found = Features::detect();
    assert_eq!(found, expected);
}
