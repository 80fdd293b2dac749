//! The traits of the `aead` crate give the same results as the inherent methods.

use crate::common::{
    Random, flipped, for_each_backend, for_each_variant, framed, key, nonce, reduced, reference,
};
use aead::array::Array;
use aead::inout::InOutBuf;
use aead::{Aead, AeadCore, AeadInOut, Key, KeyInit, Nonce, Payload, TagPosition};
use palladion::Aegis;
use palladion::family::Family;

fn payload<'a>(aad: &'a [u8], msg: &'a [u8]) -> Payload<'a, 'a> {
    Payload { msg, aad }
}

/// Compares the traits with the inherent methods on the same inputs. `C` is `Aegis<F, D, T>`, with
/// bounds that tell the compiler that it has the traits.
fn agree<F: Family, const D: usize, const T: usize, C: AeadInOut + KeyInit>(
    cipher: fn(Aegis<F, D, T>) -> C,
) {
    let mut random = Random(31);
    let rate = reference::<F, D>().rate();
    let lengths = [3 * rate + 5, 0, 1, 16, rate - 1, rate, rate + 1];
    for &len in &lengths[..if reduced() { 2 } else { 7 }] {
        let [key_bytes, nonce_bytes, ad, msg] =
            [F::KEY_LEN, F::KEY_LEN, random.below(50), len].map(|len| random.bytes(len));
        let inherent = Aegis::<F, D, T>::new(&key::<F>(&key_bytes));
        let inherent_nonce = nonce::<F>(&nonce_bytes);
        let mut ct = msg.clone();
        let tag = inherent.encrypt_in_place(&inherent_nonce, &ad, &mut ct).unwrap();
        let sealed = [&ct[..], tag.as_ref()].concat();

        let from_slice = C::new_from_slice(&key_bytes).unwrap();
        let from_array = C::new(&Key::<C>::try_from(&key_bytes[..]).unwrap());
        assert!(C::new_from_slice(&key_bytes[1..]).is_err());
        let nonce = Nonce::<C>::try_from(&nonce_bytes[..]).unwrap();
        let trait_tag: aead::Tag<C> = Array::try_from(tag.as_ref()).unwrap();
        assert_eq!(C::TAG_POSITION, TagPosition::Postfix);

        for trait_cipher in [from_slice, from_array, cipher(inherent)] {
            // With a growing buffer.
            assert_eq!(trait_cipher.encrypt(&nonce, payload(&ad, &msg)).unwrap(), sealed);
            assert_eq!(trait_cipher.decrypt(&nonce, payload(&ad, &sealed)).unwrap(), msg);
            let mut buf = msg.clone();
            trait_cipher.encrypt_in_place(&nonce, &ad, &mut buf).unwrap();
            assert_eq!(buf, sealed);
            trait_cipher.decrypt_in_place(&nonce, &ad, &mut buf).unwrap();
            assert_eq!(buf, msg);

            // With a separate tag, in place and from one buffer to another.
            let (out, made) = framed(&msg, 3, |buf| {
                trait_cipher.encrypt_inout_detached(&nonce, &ad, buf.into()).unwrap()
            });
            assert_eq!((out, &made), (ct.clone(), &trait_tag));
            let (out, result) = framed(&ct, 5, |buf| {
                trait_cipher.decrypt_inout_detached(&nonce, &ad, buf.into(), &trait_tag)
            });
            assert_eq!((out, result), (msg.clone(), Ok(())));
            let before = vec![0xee; len];
            let (out, made) = framed(&before, 7, |out| {
                let buf = InOutBuf::new(&msg, out).unwrap();
                trait_cipher.encrypt_inout_detached(&nonce, &ad, buf).unwrap()
            });
            assert_eq!((out, &made), (ct.clone(), &trait_tag));
            let (out, result) = framed(&before, 9, |out| {
                trait_cipher.decrypt_inout_detached(
                    &nonce,
                    &ad,
                    InOutBuf::new(&ct, out).unwrap(),
                    &trait_tag,
                )
            });
            assert_eq!((out, result), (msg.clone(), Ok(())));

            // Any change gives an error and zeros.
            let zeroed = (vec![0; len], Err(aead::Error));
            let forged: aead::Tag<C> =
                Array::try_from(&flipped(tag.as_ref(), len % (8 * T))[..]).unwrap();
            let in_place = framed(&ct, 11, |buf| {
                trait_cipher.decrypt_inout_detached(&nonce, &ad, buf.into(), &forged)
            });
            assert_eq!(in_place, zeroed);
            let separate = framed(&before, 13, |out| {
                trait_cipher.decrypt_inout_detached(
                    &nonce,
                    &ad,
                    InOutBuf::new(&ct, out).unwrap(),
                    &forged,
                )
            });
            assert_eq!(separate, zeroed);
            for bit in (0..8 * sealed.len()).step_by(sealed.len()) {
                let changed = flipped(&sealed, bit);
                assert_eq!(trait_cipher.decrypt(&nonce, payload(&ad, &changed)), Err(aead::Error));
            }
            assert_eq!(
                trait_cipher.decrypt(&nonce, payload(&ad, &sealed[..T - 1])),
                Err(aead::Error)
            );
            let other_ad = [&ad[..], b"!"].concat();
            assert!(trait_cipher.decrypt(&nonce, payload(&other_ad, &sealed)).is_err());
        }
    }
}

fn traits_of<F: Family, const D: usize>() {
    agree::<F, D, 16, Aegis<F, D, 16>>(|cipher| cipher);
    agree::<F, D, 32, Aegis<F, D, 32>>(|cipher| cipher);
}

#[test]
fn traits_agree_with_the_inherent_functions() {
    for_each_backend(|_| for_each_variant!(sample: traits_of()));
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
