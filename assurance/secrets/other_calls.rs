//! Calls of the core that `wiping` does not make: with states by value, which leave copies where
//! Rust moves them, with random nonces, with the algorithm chosen at run time, by the traits of
//! crate `aead`, and in the modes of 2023.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::num::NonZeroU32;

use palladion::aead::inout::InOutBuf;
use palladion::aead::{self, AeadInOut, KeyInit};
use palladion::family::{Aegis128, Aegis256, Family};
use palladion::hazmat::{AnySession, Session};
use palladion::historic::{self, TagForm};
use palladion::{Aegis, Algorithm, Key128, Key256, KeyStream, Mac, Nonce128, Nonce256, Tag, any};

use crate::calls::{Message, Outcome, expect, flipped, forged};
use crate::{hidden, hidden_array, secrets, shown};

pub fn all() -> Outcome {
    macro_rules! variants {
        ($($family:ident $($degree:literal)*;)*) => {
            $($(
                by_value::<$family, $degree, 16>()?;
                by_value::<$family, $degree, 32>()?;
                aead_traits::<Aegis<$family, $degree, 16>>($family::KEY_LEN);
                aead_traits::<Aegis<$family, $degree, 32>>($family::KEY_LEN);
            )*)*
        };
    }
    variants! { Aegis128 1 2 4 6; Aegis256 1 2 3 4; }
    for algorithm in Algorithm::ALL {
        chosen_at_run_time(algorithm)?;
    }
    with_context::<16>()?;
    with_context::<32>()?;
    of_2023()?;
    bytes()
}

fn by_value<F: Family, const D: usize, const T: usize>() -> Outcome {
    for len in [0, 100, 555] {
        for right in [true, false] {
            let mut m = Message::<F, D, T>::new(&secrets(len), len, right)?;
            let (start, rest) = m.ciphertext.split_at(len / 3);
            let mut decryptor = m.cipher.decryptor(&m.nonce, &m.ad, &mut m.out)?;
            decryptor.update(start)?;
            decryptor.update(rest)?;
            shown(&decryptor);
            expect(decryptor.finalize(&m.tag), right);

            let mut place = MaybeUninit::uninit();
            let session = Session::<F, D>::begin_in(&mut place, &m.key, &m.nonce, &m.ad)?;
            session.decrypt_into(&m.ciphertext, &mut m.out)?;
            let mut bytes = vec![0; Session::<F, D>::BYTES];
            session.to_bytes(&mut bytes)?;
            let mut session = Session::<F, D>::from_bytes(&bytes)?.clone();
            expect(session.verify(&m.tag), right);

            let mut encryptor = m.cipher.clone().encryptor(&m.nonce, &m.ad)?;
            encryptor.update_in_place(&mut m.out)?;
            let _ = black_box(encryptor.finalize());

            let mut mac = Mac::<F, D, T>::new(&m.key, &m.nonce)?;
            mac.update(&m.ad)?;
            let tag = mac.clone().finalize();
            expect(mac.verify(&if right { tag } else { forged(&tag) }), right);
            KeyStream::<F, D>::new(&m.key, &m.nonce)?.clone().next_bytes(&mut m.out)?;

            // After a forgery these leave a few secret bytes on the stack on some CPUs.
            let mut sealed = [&m.ciphertext, m.tag.as_ref()].concat();
            expect(m.cipher.open(&m.nonce, &m.ad, &sealed), right);
            expect(m.cipher.open_in_place(&m.nonce, &m.ad, &mut sealed), right);

            let sealed = m.cipher.seal_with_random_nonce(&m.ad, &m.text)?;
            let sealed = if right { sealed } else { flipped(&sealed) };
            expect(m.cipher.open_with_nonce(&m.ad, &sealed), right);
        }
    }
    Ok(())
}

fn aead_traits<C: KeyInit + AeadInOut>(key_len: usize) {
    let key = aead::Key::<C>::try_from(&hidden(key_len)[..]).expect("the length of a key");
    let nonce = aead::Nonce::<C>::try_from(&hidden(key_len)[..]).expect("the length of a nonce");
    let cipher = <C as KeyInit>::new(&key);
    let (ad, message) = (hidden(7), hidden(333));
    for right in [true, false] {
        let (mut ciphertext, mut opened) = (message.clone(), message.clone());
        let encrypted = InOutBuf::from(&mut ciphertext[..]);
        let mut tag = cipher.encrypt_inout_detached(&nonce, &ad, encrypted).expect("a tag");
        tag[0] ^= u8::from(!right);
        let decrypted = InOutBuf::new(&ciphertext, &mut opened).expect("as long");
        let result = cipher.decrypt_inout_detached(&nonce, &ad, decrypted, &tag);
        assert_eq!(result.is_ok(), right);
    }
}

fn chosen_at_run_time(algorithm: Algorithm) -> Outcome {
    let (key, nonce) = (hidden(algorithm.key_len()), hidden(algorithm.key_len()));
    let (ad, message) = (hidden(20), hidden(777));
    for (tag_len, right) in [(16, true), (16, false), (32, true), (32, false)] {
        let cipher = any::Cipher::new(algorithm, &key, tag_len)?.clone();
        black_box(cipher.key());
        let (mut buffer, mut output) = (message.clone(), message.clone());
        let mut tag = vec![0; tag_len];
        let check = |tag: &[u8]| if right { tag.to_vec() } else { flipped(tag) };
        cipher.encrypt_in_place(&nonce, &ad, &mut buffer, &mut tag)?;
        expect(cipher.verify(&nonce, &ad, &buffer, &check(&tag)), right);
        expect(cipher.decrypt_in_place(&nonce, &ad, &mut buffer, &check(&tag)), right);
        cipher.encrypt_into(&nonce, &ad, &message, &mut buffer, &mut tag)?;
        expect(cipher.decrypt_into(&nonce, &ad, &buffer, &check(&tag), &mut output), right);

        let mut session = AnySession::new(algorithm, &key, &nonce, &ad)?;
        session.encrypt_into(&message[..300], &mut buffer[..300])?;
        session.encrypt_in_place(&mut buffer[300..])?;
        session.finalize(&mut tag)?;
        let mut session = AnySession::new(algorithm, &key, &nonce, &ad)?;
        session.decrypt_into(&buffer[..300], &mut output[..300])?;
        session.decrypt_in_place(&mut buffer[300..])?;
        expect(session.verify(&check(&tag)), right);

        let mut mac = any::Mac::new(algorithm, &key, &nonce)?;
        mac.update(&message)?;
        mac.clone().finalize(&mut tag)?;
        expect(mac.verify(&check(&tag)), right);
    }
    Ok(())
}

/// Decrypts with the right tag and a forged one.
fn both<const T: usize>(
    ciphertext: &[u8],
    tag: &Tag<T>,
    decrypt: impl Fn(&mut [u8], &Tag<T>) -> Outcome,
) {
    expect(decrypt(&mut ciphertext.to_vec(), tag), true);
    expect(decrypt(&mut ciphertext.to_vec(), &forged(tag)), false);
}

/// The modes of 2023 with one lane and a context.
fn with_context<const T: usize>() -> Outcome {
    let (ad, mut buffer, context) = (hidden(5), hidden(300), [1; 16]);
    let (key, nonce) = (Key128::from(hidden_array()), Nonce128::from(hidden_array()));
    let tag = historic::enc_128l::<T>(&context, &key, &nonce, &ad, &mut buffer)?;
    both(&buffer, &tag, |buffer, tag| historic::dec_128l(&context, &key, &nonce, &ad, buffer, tag));
    let (key, nonce) = (Key256::from(hidden_array()), Nonce256::from(hidden_array()));
    let tag = historic::enc_256::<T>(&context, &key, &nonce, &ad, &mut buffer)?;
    both(&buffer, &tag, |buffer, tag| historic::dec_256(&context, &key, &nonce, &ad, buffer, tag));
    Ok(())
}

/// The modes of 2023 with several lanes.
fn of_2023() -> Outcome {
    let (ad, mut buffer) = (hidden(2), hidden(300));
    for form in [TagForm::FiveWords, TagForm::SevenWords] {
        let (key, nonce) = (Key128::from(hidden_array()), Nonce128::from(hidden_array()));
        let x = historic::Aegis128X::new(&key, NonZeroU32::MIN.saturating_add(2), form).clone();
        shown(&x);
        let tag = x.encrypt_in_place(&nonce, &ad, &mut buffer)?;
        both(&buffer, &tag, |buffer, tag| x.decrypt_in_place(&nonce, &ad, buffer, tag));
    }
    let (key, nonce) = (Key256::from(hidden_array()), Nonce256::from(hidden_array()));
    let x = historic::Aegis256X::new(&key, NonZeroU32::MIN.saturating_add(1)).clone();
    shown(&x);
    let tag = x.encrypt_in_place(&nonce, &ad, &mut buffer)?;
    both(&buffer, &tag, |buffer, tag| x.decrypt_in_place(&nonce, &ad, buffer, tag));
    Ok(())
}

/// Keys, nonces and tags themselves.
fn bytes() -> Outcome {
    let key = Key128::from(hidden_array());
    black_box((key.as_bytes(), key.as_ref()));
    let mut nonce = Nonce256::from(hidden_array());
    black_box(nonce.as_mut());
    black_box((nonce.as_bytes(), nonce.as_ref()));
    let tag = Tag::<32>::from(hidden_array());
    assert_ne!(tag, forged(&tag));
    assert_eq!(tag, tag.clone());
    black_box((tag.as_ref(), <[u8; 32]>::from(tag)));
    Ok(())
}
