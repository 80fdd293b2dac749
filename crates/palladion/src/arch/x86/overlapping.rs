//! Parts of a block without AVX-512: two overlapping pieces, joined by byte shuffles. A copy
//! through memory would be written in small pieces and read in a large one, which costs a failed
//! store forwarding. Branches and indices depend only on lengths.

#[cfg(target_arch = "x86")]
use core::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

/// Shuffles that move a block: loaded from `16 + n`, down by `n` bytes; from `16 - n`, up by `n`
/// bytes.
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
/// The CPU has SSSE3; `n <= 16`.
#[inline(always)]
unsafe fn up(x: __m128i, n: usize) -> __m128i {
    // SAFETY: the caller promises SSSE3 and `n <= 16`; 16 bytes of the table follow index `16 - n`.
    unsafe { _mm_shuffle_epi8(x, _mm_loadu_si128(MOVES.as_ptr().add(16 - n).cast())) }
}

/// Moves bytes towards lower addresses.
///
/// # Safety
/// The CPU has SSSE3; `n <= 16`.
#[inline(always)]
unsafe fn down(x: __m128i, n: usize) -> __m128i {
    // SAFETY: the caller promises SSSE3 and `n <= 16`; 16 bytes of the table follow index `16 + n`.
    unsafe { _mm_shuffle_epi8(x, _mm_loadu_si128(MOVES.as_ptr().add(16 + n).cast())) }
}

/// # Safety
/// The CPU has SSSE3; `len` bytes, at most 16, are readable.
#[inline(always)]
pub(super) unsafe fn load_128(src: *const u8, len: usize) -> __m128i {
    // SAFETY: the caller promises SSSE3 and `len` readable bytes, within which each piece lies.
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
            // One to three bytes: the first, the middle and the last, which may coincide.
            let byte = |at: usize| u32::from(src.add(at).read()) << (8 * at);
            _mm_cvtsi32_si128((byte(0) | byte(len / 2) | byte(len - 1)) as i32)
        } else {
            _mm_setzero_si128()
        }
    }
}

/// # Safety
/// The CPU has SSSE3; `len` bytes, at most 16, are writable.
#[inline(always)]
pub(super) unsafe fn store_128(x: __m128i, dst: *mut u8, len: usize) {
    // SAFETY: the caller promises SSSE3 and `len` writable bytes, within which each piece lies.
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
/// The CPU has AVX2; `len` bytes, at most 32, are readable.
#[inline(always)]
pub(super) unsafe fn load_256(src: *const u8, len: usize) -> __m256i {
    // SAFETY: the caller promises AVX2 and `len` readable bytes.
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
/// The CPU has AVX2; `len` bytes, at most 32, are writable.
#[inline(always)]
pub(super) unsafe fn store_256(x: __m256i, dst: *mut u8, len: usize) {
    // SAFETY: the caller promises AVX2 and `len` writable bytes.
    unsafe {
        if len > 16 {
            _mm_storeu_si128(dst.cast(), _mm256_castsi256_si128(x));
            store_128(_mm256_extracti128_si256::<1>(x), dst.add(16), len - 16);
        } else {
            store_128(_mm256_castsi256_si128(x), dst, len);
        }
    }
}
