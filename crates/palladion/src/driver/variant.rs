//! The parameters of a variant.

use super::kernels::Kernels;
use crate::memory::WipedBytes;

/// The numbers that distinguish the two families. The public family types implement it.
pub trait Parameters: Copy + Send + Sync + 'static {
    /// Bytes in a key and in a nonce.
    const KEY_BYTES: usize;
    /// The family's index in a table of kernels: 0 for AEGIS-128, 1 for AEGIS-256.
    const INDEX: usize;
    /// Words in the state of one lane.
    const WORDS: usize;
    /// Memory for a state of degree `D`.
    type Memory<const D: usize>: WipedBytes;
    /// Memory for one step's input of degree `D`.
    type Step<const D: usize>: WipedBytes;
}

/// A family and a degree, with the kernels of the backend that was in use when it was created.
pub(crate) trait Variant: Copy + Send + Sync {
    /// The family's parameters.
    type Family: Parameters;
    /// Memory for the state.
    type Memory: WipedBytes;
    /// Memory for one step's input.
    type Step: WipedBytes;
    /// The degree.
    const DEGREE: usize;

    /// Returns the kernels.
    fn kernels(&self) -> &'static Kernels;
}

/// Fails to compile if the degree does not exist.
pub(crate) const fn check_degree(degree: usize) {
    assert!(degree >= 1 && degree <= 256, "the degree must be from 1 to 256");
    assert!(
        matches!(degree, 1 | 2 | 4) || cfg!(any(feature = "any-degree", palladion_one_backend)),
        "degrees other than 1, 2 and 4 need the feature `any-degree` of palladion"
    );
}

/// Fails to compile if the state of the variant does not fit into its memory.
pub(super) const fn check_memory<V: Variant>() {
    check_degree(V::DEGREE);
    assert!(V::Memory::LEN == 16 * 8 * V::DEGREE && align_of::<V::Memory>() >= 64);
}

/// Fails to compile if tags of this length do not exist.
pub(crate) const fn check_tag(tag_len: usize) {
    assert!(
        tag_len == 16 || tag_len == 32,
        "AEGIS tags have 16 or 32 bytes: `T` in `Aegis<_, _, T>` and `Mac<_, _, T>` must be 16 \
         or 32"
    );
}

/// Fails to compile if this MAC does not exist for the degree.
pub(crate) const fn check_mac(family: usize, degree: usize, tag_len: usize) {
    check_tag(tag_len);
    assert!(
        family == 1 || tag_len == 32 || degree == 1 || degree.is_multiple_of(2),
        "FinalizeMac of AEGIS-128X leaves out the last lane if the degree is odd and the tag has \
         16 bytes"
    );
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn the_compiler_refuses_what_does_not_exist() {
        for degree in [0, 257, 258] {
            assert!(catch_unwind(|| check_degree(degree)).is_err(), "degree {degree}");
        }
        for tag_len in [0, 15, 17, 24, 31, 33, 64] {
            assert!(catch_unwind(|| check_tag(tag_len)).is_err(), "tag of {tag_len} bytes");
        }
        // 0 stands for AEGIS-128, and 1 for AEGIS-256.
        for (family, degree, tag_len, exists) in [
            (1, 3, 16, true),
            (1, 3, 24, false),
            (0, 1, 16, true),
            (0, 2, 16, true),
            (0, 4, 16, true),
            (0, 3, 16, false),
            (0, 3, 32, true),
        ] {
            let check = catch_unwind(|| check_mac(family, degree, tag_len));
            assert_eq!(check.is_ok(), exists, "{family} {degree} {tag_len}");
        }
    }
}
