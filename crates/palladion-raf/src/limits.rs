//! The limits of the format.

/// Bytes in the smallest chunk.
pub const CHUNK_MIN: u32 = 1 << 10;
/// Bytes in the largest chunk.
pub const CHUNK_MAX: u32 = 1 << 20;

/// Bytes in the shortest hash.
pub const HASH_MIN: usize = 8;
/// Bytes in the longest hash.
pub const HASH_MAX: usize = 64;

/// Returns whether chunks can have this many bytes: a multiple of 16 from [`CHUNK_MIN`] to
/// [`CHUNK_MAX`].
#[must_use]
pub fn is_chunk_size(size: u32) -> bool {
    (CHUNK_MIN..=CHUNK_MAX).contains(&size) && size.is_multiple_of(16)
}
