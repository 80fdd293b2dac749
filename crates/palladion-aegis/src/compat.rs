//! The interfaces of other crates.

/// The traits of the crate [`aead`] 0.6: ciphers that implement `KeyInit`, `AeadCore` and
/// `AeadInOut`.
#[cfg(feature = "rustcrypto-traits-06")]
pub mod rustcrypto_traits_06 {
    use aead::array::Array;
    use aead::consts::{U16, U32};
    use aead::inout::InOutBuf;
    use aead::{AeadCore, AeadInOut, KeyInit, KeySizeUser, Nonce, Result, Tag, TagPosition};
    use palladion::family;

    macro_rules! ciphers {
        ($($cipher:ident: $family:ident of degree $degree:literal, $size:ty, $name:literal;)*) => {
            $(
                #[doc = concat!($name, " with a tag of `TAG_BYTES` bytes: 16 or 32.")]
                pub struct $cipher<const TAG_BYTES: usize> {
                    key: <family::$family as family::Family>::Key,
                }

                impl<const TAG_BYTES: usize> KeySizeUser for $cipher<TAG_BYTES> {
                    type KeySize = $size;
                }

                impl<const TAG_BYTES: usize> KeyInit for $cipher<TAG_BYTES> {
                    fn new(key: &Array<u8, Self::KeySize>) -> Self {
                        Self { key: key.0.into() }
                    }
                }

                ciphers!(@tag $cipher, $family, $degree, $size, 16, U16);
                ciphers!(@tag $cipher, $family, $degree, $size, 32, U32);
            )*
        };
        (@tag $cipher:ident, $family:ident, $degree:literal, $size:ty, $tag:literal, $tag_size:ty)
        => {
            impl AeadCore for $cipher<$tag> {
                type NonceSize = $size;
                type TagSize = $tag_size;
                const TAG_POSITION: TagPosition = TagPosition::Postfix;
            }

            impl AeadInOut for $cipher<$tag> {
                fn encrypt_inout_detached(
                    &self,
                    nonce: &Nonce<Self>,
                    associated_data: &[u8],
                    buffer: InOutBuf<'_, '_, u8>,
                ) -> Result<Tag<Self>> {
                    palladion::Aegis::<family::$family, $degree, $tag>::new(&self.key)
                        .encrypt_inout_detached(nonce, associated_data, buffer)
                }

                fn decrypt_inout_detached(
                    &self,
                    nonce: &Nonce<Self>,
                    associated_data: &[u8],
                    buffer: InOutBuf<'_, '_, u8>,
                    tag: &Tag<Self>,
                ) -> Result<()> {
                    palladion::Aegis::<family::$family, $degree, $tag>::new(&self.key)
                        .decrypt_inout_detached(nonce, associated_data, buffer, tag)
                }
            }
        };
    }

    ciphers! {
        Aegis128L: Aegis128 of degree 1, U16, "AEGIS-128L";
        Aegis128X2: Aegis128 of degree 2, U16, "AEGIS-128X2";
        Aegis128X4: Aegis128 of degree 4, U16, "AEGIS-128X4";
        Aegis256: Aegis256 of degree 1, U32, "AEGIS-256";
        Aegis256X2: Aegis256 of degree 2, U32, "AEGIS-256X2";
        Aegis256X4: Aegis256 of degree 4, U32, "AEGIS-256X4";
    }
}
