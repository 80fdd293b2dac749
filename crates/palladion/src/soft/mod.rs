//! AES rounds without AES instructions, in constant time.
//!
//! | file | contents |
//! |---|---|
//! | `bitsliced.rs` | machines for one and two lanes, bitsliced in general registers |
//! | `lanes.rs` | machines for one, two and four lanes, bitsliced in vectors |
//! | `sliced.rs` | the part that these have in common |
//! | `sbox.rs` | the circuit of the S-box |
//! | `permute.rs` | AES rounds by byte shuffles, for vectors that have them |
//! | `gf256.rs` | the arithmetic of their tables |

#[cfg_attr(
    all(any(target_arch = "x86", target_arch = "x86_64"), target_feature = "sse2"),
    allow(dead_code) // vectors are faster
)]
pub(crate) mod bitsliced;
#[allow(dead_code)] // used by permutations of bytes
pub(crate) mod gf256;
#[cfg(any(
    all(test, feature = "std"),
    all(any(target_arch = "x86", target_arch = "x86_64"), target_feature = "sse2"),
    all(target_family = "wasm", target_feature = "simd128"),
    all(
        target_arch = "arm",
        target_endian = "little",
        feature = "std",
        any(target_os = "linux", target_os = "android")
    )
))]
// Byte shuffles are faster with relaxed SIMD; on other CPUs tests alone use it, or the proofs.
#[cfg_attr(
    any(
        all(palladion_one_backend, target_feature = "relaxed-simd"),
        not(any(target_arch = "x86", target_arch = "x86_64", target_family = "wasm"))
    ),
    allow(dead_code, unused_imports, unused_macros)
)]
pub(crate) mod lanes;
#[cfg(any(
    all(test, feature = "std"),
    target_arch = "x86",
    all(target_arch = "x86_64", target_feature = "sse2"),
    all(target_arch = "aarch64", target_endian = "little"),
    all(target_family = "wasm", target_feature = "simd128")
))]
#[cfg_attr(all(test, palladion_test_reduced), allow(dead_code))] // used on other CPUs
pub(crate) mod permute;
pub(crate) mod sbox;
pub(crate) mod sliced;

#[cfg(test)]
mod tests {
    use super::bitsliced::Bitsliced;
    use super::sliced::Sliced;
    use crate::block::{Soft, Vector, Word};

    // SAFETY: no CPU features are needed, and no branch or index depends on a value.
    unsafe impl Word for Soft {
        crate::block::one_form!();
        type Blocks = Self;
        type Single = Self;

        fn new(blocks: Self) -> Self {
            blocks
        }
        fn blocks(self) -> Self {
            self
        }
        fn aes(self, round_key: Self) -> Self {
            Self::rounds([self], [round_key])[0]
        }
        fn rounds<const N: usize>(input: [Self; N], round_keys: [Self; N]) -> [Self; N] {
            let mut blocks = [Self::from(0); 8];
            blocks[..N].copy_from_slice(&input);
            let blocks = Bitsliced::<u64, 2, 2>::from_words(blocks).rounds().to_words();
            core::array::from_fn(|i| round_keys[i].xor(blocks[i]))
        }
    }

    #[test]
    fn aes_round_of_the_standard() {
        let block =
            |first: u8| Soft::from(u128::from_le_bytes(core::array::from_fn(|i| first + i as u8)));
        let expected = 0x7a7b_4e56_3878_2546_a8c0_477a_3b81_3f43_u128; // RFC 10032, appendix A.1
        assert_eq!(u128::from(block(0).aes(block(0x10))), expected.swap_bytes());
    }
}
