//! The traits of RustCrypto's `aead` crate, version 0.6: one type for each tag size.

use ::aead::array::typenum::{U16, U32};
use ::aead::common::array::Array;
use ::aead::inout::InOutBuf;
use ::aead::{AeadCore, AeadInOut, KeyInit, KeySizeUser, Nonce, TagPosition};

use crate::cipher::Aegis;
use crate::family::Family;
use crate::low::InOut;

impl<F: Family, const D: usize, const T: usize> KeySizeUser for Aegis<F, D, T> {
    type KeySize = F::Size;
}

impl<F: Family, const D: usize, const T: usize> KeyInit for Aegis<F, D, T> {
    fn new(key: &Array<u8, F::Size>) -> Self {
        Aegis::new(&F::key_from_array(key))
    }
}

macro_rules! tag_size {
    ($bytes:literal, $size:ty) => {
        impl<F: Family, const D: usize> AeadCore for Aegis<F, D, $bytes> {
            type NonceSize = F::Size;
            type TagSize = $size;
            const TAG_POSITION: TagPosition = TagPosition::Postfix;
        }

        impl<F: Family, const D: usize> AeadInOut for Aegis<F, D, $bytes> {
            fn encrypt_inout_detached(
                &self,
                nonce: &Nonce<Self>,
                associated_data: &[u8],
                buffer: InOutBuf<'_, '_, u8>,
            ) -> ::aead::Result<aead::Tag<Self>> {
                self.encrypt_inout(&F::nonce_from_array(nonce), associated_data, InOut::from_aead(buffer))
                    .map(|tag| Array(*tag.as_bytes()))
                    .map_err(|_| ::aead::Error)
            }

            fn decrypt_inout_detached(
                &self,
                nonce: &Nonce<Self>,
                associated_data: &[u8],
                buffer: InOutBuf<'_, '_, u8>,
                tag: &::aead::Tag<Self>,
            ) -> ::aead::Result<()> {
                self.decrypt_inout(
                    &F::nonce_from_array(nonce),
                    associated_data,
                    InOut::from_aead(buffer),
                    &crate::Tag::from(tag.0),
                )
                .map_err(|_| ::aead::Error)
            }
        }
    };
}
tag_size!(16, U16);
tag_size!(32, U32);
