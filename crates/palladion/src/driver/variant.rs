//! What the driver must know of a variant.

use super::table::Kernels;
use crate::memory::WipedBytes;

/// The numbers that distinguish the two families. The public types of the families implement it.
pub trait Parameters: Copy + Send + Sync + 'static {
    /// Bytes in a key and in a nonce.
    const KEY_BYTES: usize;
    /// The family's place in a table of kernels: 0 for AEGIS-128, 1 for AEGIS-256.
    const INDEX: usize;
    /// Words in the state of a lane.
    const WORDS: usize;
    /// The steps of initialization and finalization together.
    const FIXED_STEPS: u64;
    /// Memory for the state of degree `D`.
    type Memory<const D: usize>: WipedBytes;
    /// Memory for one step's input of degree `D`.
    type Step<const D: usize>: WipedBytes;
}

/// A family and a degree, with the kernels of the backend that was in use when the value was made.
pub(crate) trait Variant: Copy + Send + Sync {
    /// The family's numbers.
    type Family: Parameters;
    /// Memory for the state.
    type Memory: WipedBytes;
    /// Memory for one step's input.
    type Step: WipedBytes;
    /// The degree.
    const DEGREE: usize;

    /// The kernels.
    fn kernels(&self) -> &'static Kernels;
}

/// How many classes of degrees a table has: 1, 2, 4 and, where they are wanted, any other.
pub(crate) const CLASSES: usize =
    if cfg!(any(feature = "any-degree", palladion_one_backend)) { 4 } else { 3 };

/// Which of a table's classes of degrees this one belongs to.
pub(crate) const fn class(degree: usize) -> usize {
    match degree {
        1 => 0,
        2 => 1,
        4 => 2,
        _ => 3,
    }
}

/// Fails to compile if there is no such degree.
pub(crate) const fn check_degree(degree: usize) {
    assert!(degree >= 1 && degree <= 256, "the degree must be from 1 to 256");
    assert!(
        class(degree) < CLASSES,
        "degrees other than 1, 2 and 4 need the feature `any-degree` of palladion"
    );
}

/// Fails to compile if the state of the variant does not fit into its memory.
pub(super) const fn check_memory<V: Variant>() {
    check_degree(V::DEGREE);
    assert!(V::Memory::LEN == 16 * 8 * V::DEGREE && align_of::<V::Memory>() >= 64);
}

/// Fails to compile if tags cannot have this length.
pub(crate) const fn check_tag(tag_len: usize) {
    assert!(
        tag_len == 16 || tag_len == 32,
        "AEGIS tags have 16 or 32 bytes: `T` in `Aegis<_, _, T>` and `Mac<_, _, T>` must be 16 or 32"
    );
}

/// Fails to compile if this MAC does not exist for the degree.
pub(crate) const fn check_mac(family: usize, degree: usize, tag_len: usize) {
    check_tag(tag_len);
    assert!(
        family == 1 || tag_len == 32 || degree == 1 || degree.is_multiple_of(2),
        "FinalizeMac of AEGIS-128X leaves out the last lane if the degree is odd and the tag has 16 bytes"
    );
}
