//! AES rounds without AES instructions, in constant time.
//!
//! | file | contents |
//! |---|---|
//! | `bitsliced.rs` | machines for one and two lanes, bitsliced in general registers |
//! | `byte_planes.rs` | machines for one, two and four lanes, bitsliced in vectors |
//! | `sliced.rs` | the part that these have in common |
//! | `sbox.rs` | the circuit of the S-box |
//! | `permute.rs` | AES rounds by byte shuffles, for vectors that have them |
//! | `gf256.rs` | the arithmetic of their tables |

pub(crate) mod bitsliced;
pub(crate) mod byte_planes;
pub(crate) mod gf256;
pub(crate) mod permute;
pub(crate) mod sbox;
pub(crate) mod sliced;
#[cfg(all(target_family = "wasm", target_feature = "simd128"))]
pub(crate) mod slots;

#[cfg(test)]
mod tests {
    use super::bitsliced::Bitsliced;
    use super::sliced::Sliced;
    use crate::block::{Soft, Vector, Word};

    // SAFETY: no CPU features are needed, and no branch or index depends on a value.
    unsafe impl Word for Soft {
        type Blocks = Self;
        type Single = Self;
        const SPILLS: bool = true;

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
