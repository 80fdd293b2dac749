//! Implements the traits of RustCrypto's `aead` crate, version 0.6. The tag's size is part of the
//! type.

use ::aead::array::typenum::{U16, U32};
use ::aead::common::array::Array;
use ::aead::inout::InOutBuf;
use ::aead::{AeadCore, AeadInOut, KeyInit, KeySizeUser, Nonce, TagPosition};

use crate::interface::cipher::Aegis;
use crate::interface::family::Family;
use crate::interface::job::Job;
use crate::memory::InOut;

impl<F: Family, const D: usize, const T: usize> KeySizeUser for Aegis<F, D, T> {
    type KeySize = F::AeadSize;
}

impl<F: Family, const D: usize, const T: usize> KeyInit for Aegis<F, D, T> {
    fn new(key: &Array<u8, F::AeadSize>) -> Self {
        Aegis::new(
            &F::Key::try_from(key)
                .unwrap_or_else(|_| unreachable!("the array is as long as a key")),
        )
    }
}

fn nonce<F: Family>(nonce: &Array<u8, F::AeadSize>) -> F::Nonce {
    F::Nonce::try_from(nonce).unwrap_or_else(|_| unreachable!("the array is as long as a nonce"))
}

macro_rules! tag_size {
    ($bytes:literal, $size:ty) => {
        impl<F: Family, const D: usize> AeadCore for Aegis<F, D, $bytes> {
            type NonceSize = F::AeadSize;
            type TagSize = $size;
            const TAG_POSITION: TagPosition = TagPosition::Postfix;
        }

        impl<F: Family, const D: usize> AeadInOut for Aegis<F, D, $bytes> {
            fn encrypt_inout_detached(
                &self,
                nonce: &Nonce<Self>,
                associated_data: &[u8],
                buffer: InOutBuf<'_, '_, u8>,
            ) -> ::aead::Result<::aead::Tag<Self>> {
                let mut tag = ::aead::Tag::<Self>::default();
                let io = InOut::from_aead(buffer);
                let nonce = self::nonce::<F>(nonce);
                Job::<F, D>::encrypt(self.inputs(&nonce, associated_data), io, &mut tag[..])
                    .run()
                    .map(|()| tag)
                    .map_err(|_| ::aead::Error)
            }

            fn decrypt_inout_detached(
                &self,
                nonce: &Nonce<Self>,
                associated_data: &[u8],
                buffer: InOutBuf<'_, '_, u8>,
                tag: &::aead::Tag<Self>,
            ) -> ::aead::Result<()> {
                let io = InOut::from_aead(buffer);
                let nonce = self::nonce::<F>(nonce);
                Job::<F, D>::decrypt(self.inputs(&nonce, associated_data), io, &tag[..])
                    .run()
                    .map_err(|_| ::aead::Error)
            }
        }
    };
}
tag_size!(16, U16);
tag_size!(32, U32);
