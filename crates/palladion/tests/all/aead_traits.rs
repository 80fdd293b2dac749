//! The traits of the `aead` crate give the same results as the inherent methods.

use crate::common::erased::Variant;
use crate::common::{
    Random, flipped, for_each_backend, for_each_variant, framed, reduced, variants,
};
use aead::array::Array;
use aead::inout::InOutBuf;
use aead::{Aead, AeadCore, AeadInOut, Key, KeyInit, Nonce, Payload, Tag, TagPosition};
use palladion::Aegis;
use palladion::family::{Aegis128, Aegis256};
use palladion_reference::Family;

/// A cipher with its traits, without its type. Each method calls the trait's method of that name.
trait Traits {
    fn encrypt(&self, nonce: &[u8], ad: &[u8], msg: &[u8]) -> aead::Result<Vec<u8>>;
    fn decrypt(&self, nonce: &[u8], ad: &[u8], sealed: &[u8]) -> aead::Result<Vec<u8>>;
    fn encrypt_in_place(&self, nonce: &[u8], ad: &[u8], buf: &mut Vec<u8>) -> aead::Result<()>;
    fn decrypt_in_place(&self, nonce: &[u8], ad: &[u8], buf: &mut Vec<u8>) -> aead::Result<()>;
    fn encrypt_inout_detached(
        &self,
        nonce: &[u8],
        ad: &[u8],
        buf: InOutBuf<'_, '_, u8>,
    ) -> aead::Result<Vec<u8>>;
    fn decrypt_inout_detached(
        &self,
        nonce: &[u8],
        ad: &[u8],
        buf: InOutBuf<'_, '_, u8>,
        tag: &[u8],
    ) -> aead::Result<()>;
}

fn nonce<C: AeadCore>(bytes: &[u8]) -> Nonce<C> {
    Array::try_from(bytes).unwrap()
}

impl<C: AeadInOut> Traits for C {
    fn encrypt(&self, n: &[u8], aad: &[u8], msg: &[u8]) -> aead::Result<Vec<u8>> {
        Aead::encrypt(self, &nonce::<C>(n), Payload { msg, aad })
    }

    fn decrypt(&self, n: &[u8], aad: &[u8], msg: &[u8]) -> aead::Result<Vec<u8>> {
        Aead::decrypt(self, &nonce::<C>(n), Payload { msg, aad })
    }

    fn encrypt_in_place(&self, n: &[u8], ad: &[u8], buf: &mut Vec<u8>) -> aead::Result<()> {
        AeadInOut::encrypt_in_place(self, &nonce::<C>(n), ad, buf)
    }

    fn decrypt_in_place(&self, n: &[u8], ad: &[u8], buf: &mut Vec<u8>) -> aead::Result<()> {
        AeadInOut::decrypt_in_place(self, &nonce::<C>(n), ad, buf)
    }

    fn encrypt_inout_detached(
        &self,
        n: &[u8],
        ad: &[u8],
        buf: InOutBuf<'_, '_, u8>,
    ) -> aead::Result<Vec<u8>> {
        AeadInOut::encrypt_inout_detached(self, &nonce::<C>(n), ad, buf).map(|tag| tag.to_vec())
    }

    fn decrypt_inout_detached(
        &self,
        n: &[u8],
        ad: &[u8],
        buf: InOutBuf<'_, '_, u8>,
        tag: &[u8],
    ) -> aead::Result<()> {
        let tag: Tag<C> = Array::try_from(tag).unwrap();
        AeadInOut::decrypt_inout_detached(self, &nonce::<C>(n), ad, buf, &tag)
    }
}

/// Creates a cipher in each of the traits' two ways.
fn ciphers<C: AeadInOut + KeyInit + 'static>(key: &[u8]) -> [Box<dyn Traits>; 2] {
    assert!(C::new_from_slice(&key[1..]).is_err());
    assert_eq!(C::TAG_POSITION, TagPosition::Postfix);
    [Box::new(C::new_from_slice(key).unwrap()), Box::new(C::new(&Key::<C>::try_from(key).unwrap()))]
}

/// Compares the traits with the inherent methods on the same inputs.
fn agree(variant: &dyn Variant, tag_len: usize, with_key: fn(&[u8]) -> [Box<dyn Traits>; 2]) {
    let mut random = Random(31);
    let (rate, key_len) = (variant.reference().rate(), variant.reference().key_len());
    let lengths = [3 * rate + 5, 0, 1, 16, rate - 1, rate, rate + 1];
    for &len in &lengths[..if reduced() { 2 } else { 7 }] {
        let [key, nonce, ad, msg] =
            [key_len, key_len, random.below(50), len].map(|len| random.bytes(len));
        let mut ct = msg.clone();
        let inherent = variant.cipher(tag_len, &key);
        let tag = inherent.encrypt_in_place(&nonce, &ad, &mut ct).unwrap();
        let sealed = [&ct[..], &tag].concat();

        for cipher in with_key(&key) {
            // With a growing buffer.
            assert_eq!(cipher.encrypt(&nonce, &ad, &msg).unwrap(), sealed);
            assert_eq!(cipher.decrypt(&nonce, &ad, &sealed).unwrap(), msg);
            let mut buf = msg.clone();
            cipher.encrypt_in_place(&nonce, &ad, &mut buf).unwrap();
            assert_eq!(buf, sealed);
            cipher.decrypt_in_place(&nonce, &ad, &mut buf).unwrap();
            assert_eq!(buf, msg);

            // With a separate tag, in place and from one buffer to another.
            let (out, made) =
                framed(&msg, 3, |buf| cipher.encrypt_inout_detached(&nonce, &ad, buf.into()));
            assert_eq!((&out, made.as_ref()), (&ct, Ok(&tag)));
            let (out, result) =
                framed(&ct, 5, |buf| cipher.decrypt_inout_detached(&nonce, &ad, buf.into(), &tag));
            assert_eq!((&out, result), (&msg, Ok(())));
            let before = vec![0xee; len];
            let (out, made) = framed(&before, 7, |out| {
                let buf = InOutBuf::new(&msg, out).unwrap();
                cipher.encrypt_inout_detached(&nonce, &ad, buf)
            });
            assert_eq!((&out, made.as_ref()), (&ct, Ok(&tag)));
            let (out, result) = framed(&before, 9, |out| {
                let buf = InOutBuf::new(&ct, out).unwrap();
                cipher.decrypt_inout_detached(&nonce, &ad, buf, &tag)
            });
            assert_eq!((&out, result), (&msg, Ok(())));

            // Any change gives an error and zeros.
            let zeroed = (vec![0; len], Err(aead::Error));
            let forged = flipped(&tag, len % (8 * tag_len));
            let in_place = framed(&ct, 11, |buf| {
                cipher.decrypt_inout_detached(&nonce, &ad, buf.into(), &forged)
            });
            assert_eq!(in_place, zeroed);
            let separate = framed(&before, 13, |out| {
                let buf = InOutBuf::new(&ct, out).unwrap();
                cipher.decrypt_inout_detached(&nonce, &ad, buf, &forged)
            });
            assert_eq!(separate, zeroed);
            for bit in (0..8 * sealed.len()).step_by(sealed.len()) {
                let changed = flipped(&sealed, bit);
                assert_eq!(cipher.decrypt(&nonce, &ad, &changed), Err(aead::Error));
            }
            assert_eq!(cipher.decrypt(&nonce, &ad, &sealed[..tag_len - 1]), Err(aead::Error));
            let other_ad = [&ad[..], b"!"].concat();
            assert!(cipher.decrypt(&nonce, &other_ad, &sealed).is_err());
        }
    }
}

fn of<const D: usize>(variant: &dyn Variant) {
    match variant.reference().family {
        Family::Aegis128 => {
            agree(variant, 16, ciphers::<Aegis<Aegis128, D, 16>>);
            agree(variant, 32, ciphers::<Aegis<Aegis128, D, 32>>);
        }
        Family::Aegis256 => {
            agree(variant, 16, ciphers::<Aegis<Aegis256, D, 16>>);
            agree(variant, 32, ciphers::<Aegis<Aegis256, D, 32>>);
        }
    }
}

#[test]
fn traits_agree_with_the_inherent_functions() {
    for_each_backend(|_| {
        for_each_variant(variants::SAMPLE, |variant| match variant.reference().degree {
            1 => of::<1>(variant),
            2 => of::<2>(variant),
            4 => of::<4>(variant),
            degree => panic!("add degree {degree} here"),
        });
    });
}

/// Uses a cipher only through the traits.
#[test]
fn generic_code_works() {
    fn round_trip<C: Aead + KeyInit>() -> usize {
        let cipher = C::new(&Key::<C>::default());
        let nonce = Nonce::<C>::default();
        let sealed = cipher.encrypt(&nonce, &b"hello"[..]).unwrap();
        assert_eq!(cipher.decrypt(&nonce, &sealed[..]).unwrap(), b"hello");
        sealed.len() - 5
    }
    fn tag_size<C: AeadCore>() -> usize {
        aead::Tag::<C>::default().len()
    }
    assert_eq!(round_trip::<palladion::Aegis128L<16>>(), 16);
    assert_eq!(round_trip::<palladion::Aegis256X4<32>>(), 32);
    assert_eq!(tag_size::<palladion::Aegis256<16>>(), 16);
    assert_eq!(tag_size::<palladion::Aegis128X2<32>>(), 32);
}
