//! The core: crate `palladion`.

use std::hint::black_box;
use std::io::Read;
use std::mem::MaybeUninit;
use std::num::NonZeroU32;

use palladion::aead::inout::InOutBuf;
use palladion::aead::{self, AeadInOut, KeyInit};
use palladion::batch::{self, Decryption, Encryption};
use palladion::family::{Aegis128, Aegis256, Family};
use palladion::hazmat::secrecy::public;
use palladion::hazmat::{AnySession, Session, decrypt_unauthenticated, encrypt_unauthenticated};
use palladion::historic::{self, TagForm};
use palladion::{
    Aegis, Algorithm, Error, Key128, Key256, KeyStream, Mac, Nonce128, Nonce256, Tag, any,
};

use super::{Outcome, fails, flipped, forged, hidden, hidden_array, shown};

pub fn all() -> Outcome {
    macro_rules! variants {
        ($($family:ident $($degree:literal)*;)*) => {
            $($(
                variant::<$family, $degree, 16>()?;
                variant::<$family, $degree, 32>()?;
                aead_traits::<Aegis<$family, $degree, 16>>($family::KEY_LEN);
                aead_traits::<Aegis<$family, $degree, 32>>($family::KEY_LEN);
            )*)*
        };
    }
    variants! { Aegis128 1 2 4 6; Aegis256 1 2 3 4; }
    for algorithm in Algorithm::ALL {
        chosen_at_run_time(algorithm)?;
    }
    with_context()?;
    of_2023()?;
    bytes()
}

/// Lengths around a block, a step and several steps.
fn lengths(rate: usize) -> [usize; 9] {
    [0, 1, 15, 16, rate - 1, rate, rate + 1, 2 * rate + 17, 9 * rate + 3]
}

fn variant<F: Family, const D: usize, const T: usize>() -> Outcome {
    let key = F::Key::try_from(&hidden(F::KEY_LEN))?;
    let nonce = F::Nonce::try_from(&hidden(F::KEY_LEN))?;
    let cipher = Aegis::<F, D, T>::new(&key.clone()).clone();
    shown(&cipher);
    let rate = 16 * D * if F::KEY_LEN == 16 { 2 } else { 1 };
    for (i, len) in lengths(rate).into_iter().enumerate() {
        let ad = hidden(lengths(rate)[(5 * i + 3) % 9]);
        let message = hidden(len);
        whole(&cipher, &nonce, &ad, &message)?;
        sealed(&cipher, &nonce, &ad, &message)?;
        in_pieces(&cipher, &nonce, &ad, &message)?;
        sessions::<F, D, T>(&key, &nonce, &ad, &message)?;
        mac_sessions::<F, D, T>(&key, &nonce, &ad, &message)?;
        macs::<F, D, T>(&key, &nonce, &message)?;
        key_streams::<F, D>(&key, &nonce, len)?;
    }
    batches(&cipher, rate)?;
    sealed_batches(&cipher, rate)
}

/// Checks that a failed call has left zeros. The tool cannot know that they are public.
fn wiped(buffer: &[u8]) {
    public(buffer);
    assert!(buffer.iter().all(|byte| *byte == 0));
}

fn whole<F: Family, const D: usize, const T: usize>(
    cipher: &Aegis<F, D, T>,
    nonce: &F::Nonce,
    ad: &[u8],
    message: &[u8],
) -> Outcome {
    let len = message.len();
    let mut buffer = message.to_vec();
    let tag = cipher.encrypt_in_place(nonce, ad, &mut buffer)?;
    let ciphertext = buffer.clone();
    cipher.decrypt_in_place(nonce, ad, &mut buffer, &tag)?;
    buffer.copy_from_slice(&ciphertext);
    fails(cipher.decrypt_in_place(nonce, ad, &mut buffer, &forged(&tag)));
    wiped(&buffer);

    let mut other = vec![0; len];
    let tag = cipher.encrypt_into(nonce, ad, message, &mut other)?;
    cipher.decrypt_into(nonce, ad, &other, &tag, &mut buffer)?;
    fails(cipher.decrypt_into(nonce, ad, &other, &forged(&tag), &mut buffer));
    wiped(&buffer);
    cipher.verify(nonce, ad, &other, &tag)?;
    fails(cipher.verify(nonce, ad, &other, &forged(&tag)));

    let mut wide = vec![0; len + 64];
    wide[40..40 + len].copy_from_slice(message);
    let tag = cipher.encrypt_within(nonce, ad, &mut wide, 40..40 + len, 24)?;
    let mut again = wide.clone();
    cipher.decrypt_within(nonce, ad, &mut wide, 24..24 + len, 33, &tag)?;
    fails(cipher.decrypt_within(nonce, ad, &mut again, 24..24 + len, 33, &forged(&tag)));
    wiped(&again[33..33 + len]);

    encrypt_unauthenticated(cipher, nonce, &mut buffer)?;
    decrypt_unauthenticated(cipher, nonce, &mut buffer)
}

/// The tag follows the ciphertext.
fn sealed<F: Family, const D: usize, const T: usize>(
    cipher: &Aegis<F, D, T>,
    nonce: &F::Nonce,
    ad: &[u8],
    message: &[u8],
) -> Outcome {
    let len = message.len();
    let mut into = vec![0; len];
    let sealed = cipher.seal(nonce, ad, message)?;
    black_box(cipher.open(nonce, ad, &sealed)?);
    fails(cipher.open(nonce, ad, &flipped(&sealed)));

    let mut in_place = [message, &[0; T]].concat();
    cipher.seal_in_place(nonce, ad, &mut in_place)?;
    let mut wrong = flipped(&in_place);
    cipher.open_in_place(nonce, ad, &mut in_place)?;
    fails(cipher.open_in_place(nonce, ad, &mut wrong));
    wiped(&wrong[..len]);

    let mut sealed_into = vec![0; len + T];
    cipher.seal_into(nonce, ad, message, &mut sealed_into)?;
    cipher.open_into(nonce, ad, &sealed_into, &mut into)?;
    fails(cipher.open_into(nonce, ad, &flipped(&sealed_into), &mut into));
    wiped(&into);

    let sealed = cipher.seal_with_random_nonce(ad, message)?;
    cipher.open_with_nonce(ad, &sealed)?;
    fails(cipher.open_with_nonce(ad, &flipped(&sealed)));
    Ok(())
}

/// The traits of crate `aead`.
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

fn in_pieces<F: Family, const D: usize, const T: usize>(
    cipher: &Aegis<F, D, T>,
    nonce: &F::Nonce,
    ad: &[u8],
    message: &[u8],
) -> Outcome {
    let len = message.len();
    for at in [len / 3, len - len.min(1)] {
        let mut ciphertext = message.to_vec();
        let mut encryptor = cipher.encryptor(nonce, ad)?;
        encryptor.update_in_place(&mut ciphertext[..at])?;
        encryptor.update_into(&message[at..], &mut ciphertext[at..])?;
        shown(&encryptor);
        let tag = encryptor.finalize();

        for (tag, right) in [(tag, true), (forged(&tag), false)] {
            let mut output = vec![0; len];
            let mut decryptor = cipher.decryptor(nonce, ad, &mut output)?;
            decryptor.update(&ciphertext[..at])?;
            decryptor.update(&ciphertext[at..])?;
            shown(&decryptor);
            assert_eq!(decryptor.finalize(&tag).is_ok(), right);
        }
    }
    Ok(())
}

fn sessions<F: Family, const D: usize, const T: usize>(
    key: &F::Key,
    nonce: &F::Nonce,
    ad: &[u8],
    message: &[u8],
) -> Outcome {
    let at = message.len() / 2;
    let mut buffer = message.to_vec();
    let mut session = Session::<F, D>::new(key, nonce, ad)?;
    session.encrypt_in_place(&mut buffer[..at])?;
    let mut bytes = vec![0; Session::<F, D>::BYTES];
    session.to_bytes(&mut bytes)?;
    let mut session = Session::<F, D>::from_bytes(&bytes)?.clone();
    session.encrypt_into(&message[at..], &mut buffer[at..])?;
    shown(&session);
    let tag = session.finalize::<T>()?;

    for (tag, right) in [(tag, true), (forged(&tag), false)] {
        let mut output = buffer.clone();
        let mut place = MaybeUninit::uninit();
        let session = Session::<F, D>::begin_in(&mut place, key, nonce, ad)?;
        session.decrypt_in_place(&mut output[..at])?;
        session.decrypt_into(&buffer[at..], &mut output[at..])?;
        assert_eq!(session.verify(&tag).is_ok(), right);
    }
    Ok(())
}

fn mac_sessions<F: Family, const D: usize, const T: usize>(
    key: &F::Key,
    nonce: &F::Nonce,
    ad: &[u8],
    message: &[u8],
) -> Outcome {
    let at = message.len() / 2;
    let mut session = Session::<F, D>::new(key, nonce, ad)?;
    session.begin(key, nonce);
    session.absorb(&message[..at])?;
    session.absorb(&message[at..])?;
    shown(&session);
    let mut again = session.clone();
    let mut bytes = [0; T];
    session.finalize_mac(&mut bytes)?;
    let tag = Tag::from(bytes);
    again.clone().verify_mac::<T>(&tag)?;
    fails(again.verify_mac::<T>(&forged(&tag)));
    Ok(())
}

fn macs<F: Family, const D: usize, const T: usize>(
    key: &F::Key,
    nonce: &F::Nonce,
    data: &[u8],
) -> Outcome {
    let tag = Mac::<F, D, T>::mac(key, nonce, data)?;
    Mac::<F, D, T>::verify_mac(key, nonce, data, &tag)?;
    fails(Mac::<F, D, T>::verify_mac(key, nonce, data, &forged(&tag)));
    let mut mac = Mac::<F, D, T>::new(key, nonce)?;
    mac.update(&data[..data.len() / 3])?;
    mac.reset();
    mac.update(&data[..data.len() / 2])?;
    mac.update(&data[data.len() / 2..])?;
    shown(&mac);
    let _ = black_box(mac.clone().finalize());
    mac.clone().verify(&tag)?;
    fails(mac.verify(&forged(&tag)));
    Ok(())
}

fn key_streams<F: Family, const D: usize>(key: &F::Key, nonce: &F::Nonce, len: usize) -> Outcome
where
    KeyStream<F, D>: Clone,
{
    let mut bytes = vec![0; len];
    let mut stream = KeyStream::<F, D>::new(key, nonce)?;
    stream.next_bytes(&mut bytes[..len / 2])?;
    let mut stream = stream.clone();
    stream.read_exact(&mut bytes[len / 2..]).expect("key stream");
    stream.xor(&mut bytes)?;
    shown(&stream);
    KeyStream::<F, D>::fill(key, nonce, &mut bytes)
}

/// Lengths that share the lanes of a register, and lengths that do not.
fn batch_lengths(rate: usize) -> [Vec<usize>; 3] {
    [vec![3 * rate + 5; 4], vec![rate; 2], lengths(rate).to_vec()]
}

/// Every other message in place.
fn batches<F: Family, const D: usize, const T: usize>(
    cipher: &Aegis<F, D, T>,
    rate: usize,
) -> Outcome {
    let nonce = F::Nonce::try_from(&hidden(F::KEY_LEN))?;
    let ad = hidden(13);
    for lens in batch_lengths(rate) {
        let messages: Vec<_> = lens.iter().map(|len| hidden(*len)).collect();
        let (mut ciphertexts, mut apart) = (messages.clone(), messages.clone());
        let mut tags = vec![Tag::from([0; T]); lens.len()];
        let mut jobs = Vec::new();
        let buffers = ciphertexts.iter_mut().zip(&mut apart).zip(&mut tags);
        for (i, (message, ((in_place, out), tag))) in messages.iter().zip(buffers).enumerate() {
            jobs.push(match i % 2 {
                0 => Encryption::encrypt_in_place(cipher, &nonce, &ad, in_place, tag),
                _ => Encryption::encrypt_into(cipher, &nonce, &ad, message, out, tag),
            });
        }
        batch::encrypt(jobs).map_err(Error::from)?;
        for (ciphertext, out) in ciphertexts.iter_mut().zip(apart).skip(1).step_by(2) {
            *ciphertext = out;
        }
        for wrong in [NONE_WRONG, 1] {
            let (mut in_place, mut apart) = (ciphertexts.clone(), ciphertexts.clone());
            let mut tags = tags.clone();
            if wrong != NONE_WRONG {
                tags[wrong] = forged(&tags[wrong]);
            }
            let mut jobs = Vec::new();
            let buffers = in_place.iter_mut().zip(&mut apart);
            let each = ciphertexts.iter().zip(&tags).zip(buffers).enumerate();
            for (i, ((ciphertext, tag), (buffer, out))) in each {
                jobs.push(match i % 2 {
                    0 => Decryption::decrypt_into(cipher, &nonce, &ad, ciphertext, tag, out),
                    _ => Decryption::decrypt_in_place(cipher, &nonce, &ad, buffer, tag),
                });
            }
            decrypt_batch(jobs, wrong);
        }
    }
    Ok(())
}

/// The same with the tag behind the ciphertext.
fn sealed_batches<F: Family, const D: usize, const T: usize>(
    cipher: &Aegis<F, D, T>,
    rate: usize,
) -> Outcome {
    let nonce = F::Nonce::try_from(&hidden(F::KEY_LEN))?;
    let ad = hidden(29);
    for lens in batch_lengths(rate) {
        let messages: Vec<_> = lens.iter().map(|len| hidden(*len)).collect();
        let mut sealed: Vec<_> =
            messages.iter().map(|message| [&message[..], &[0; T]].concat()).collect();
        let mut jobs = Vec::new();
        for (i, (message, sealed)) in messages.iter().zip(&mut sealed).enumerate() {
            jobs.push(match i % 2 {
                0 => Encryption::seal_in_place(cipher, &nonce, &ad, sealed),
                _ => Encryption::seal_into(cipher, &nonce, &ad, message, sealed),
            });
        }
        batch::encrypt(jobs).map_err(Error::from)?;
        for wrong in [NONE_WRONG, 0] {
            let mut sealed = sealed.clone();
            if wrong != NONE_WRONG {
                sealed[wrong] = flipped(&sealed[wrong]);
            }
            let (mut in_place, mut messages) = (sealed.clone(), messages.clone());
            let mut jobs = Vec::new();
            let buffers = in_place.iter_mut().zip(&mut messages);
            for (i, (sealed, (buffer, message))) in sealed.iter().zip(buffers).enumerate() {
                jobs.push(match i % 2 {
                    0 => Decryption::open_into(cipher, &nonce, &ad, sealed, message),
                    _ => Decryption::open_in_place(cipher, &nonce, &ad, buffer),
                });
            }
            decrypt_batch(jobs, wrong);
        }
    }
    Ok(())
}

/// Instead of the index of a forgery. (With `None` the compiler may compare memory that was never
/// written, where the outcome is the same.)
const NONE_WRONG: usize = usize::MAX;

/// Runs the jobs. The one with index `wrong` must fail.
fn decrypt_batch<F: Family, const D: usize, const T: usize>(
    jobs: Vec<Result<Decryption<'_, F, D, T>, Error>>,
    wrong: usize,
) {
    let result = batch::decrypt(jobs, |place, error| {
        assert_eq!((place, error), (wrong, Error::VerificationFailed));
    });
    assert_eq!(result.map_or_else(|error| error.first, |()| NONE_WRONG), wrong);
}

fn chosen_at_run_time(algorithm: Algorithm) -> Outcome {
    let (key, nonce) = (hidden(algorithm.key_len()), hidden(algorithm.key_len()));
    let (ad, message) = (hidden(20), hidden(777));
    for tag_len in [16, 32] {
        let cipher = any::Cipher::new(algorithm, &key, tag_len)?.clone();
        shown(&cipher);
        black_box(cipher.key());
        let (mut buffer, mut tag) = (message.clone(), vec![0; tag_len]);
        let mut output = vec![0; message.len()];
        cipher.encrypt_in_place(&nonce, &ad, &mut buffer, &mut tag)?;
        cipher.verify(&nonce, &ad, &buffer, &tag)?;
        fails(cipher.verify(&nonce, &ad, &buffer, &flipped(&tag)));
        let mut again = buffer.clone();
        fails(cipher.decrypt_in_place(&nonce, &ad, &mut again, &flipped(&tag)));
        cipher.decrypt_in_place(&nonce, &ad, &mut buffer, &tag)?;
        cipher.encrypt_into(&nonce, &ad, &message, &mut buffer, &mut tag)?;
        cipher.decrypt_into(&nonce, &ad, &buffer, &tag, &mut output)?;
        fails(cipher.decrypt_into(&nonce, &ad, &buffer, &flipped(&tag), &mut output));
        wiped(&output);

        let mut session = AnySession::new(algorithm, &key, &nonce, &ad)?;
        session.encrypt_into(&message[..300], &mut buffer[..300])?;
        buffer[300..].copy_from_slice(&message[300..]);
        session.encrypt_in_place(&mut buffer[300..])?;
        shown(&session);
        session.finalize(&mut tag)?;
        for (tag, right) in [(tag.clone(), true), (flipped(&tag), false)] {
            let mut rest = buffer[300..].to_vec();
            let mut session = AnySession::new(algorithm, &key, &nonce, &ad)?;
            session.decrypt_into(&buffer[..300], &mut output[..300])?;
            session.decrypt_in_place(&mut rest)?;
            assert_eq!(session.verify(&tag).is_ok(), right);
        }

        let mut mac = any::Mac::new(algorithm, &key, &nonce)?;
        mac.update(&message)?;
        shown(&mac);
        mac.clone().finalize(&mut tag)?;
        fails(mac.clone().verify(&flipped(&tag)));
        mac.verify(&tag)?;
    }
    Ok(())
}

/// The modes of 2023 with one lane and a context.
fn with_context() -> Outcome {
    fn both<const T: usize>() -> Outcome {
        let (key, nonce, context) =
            (Key128::from(hidden_array()), Nonce128::from(hidden_array()), [1; 16]);
        let (ad, mut buffer) = (hidden(5), hidden(300));
        let tag = historic::enc_128l::<T>(&context, &key, &nonce, &ad, &mut buffer)?;
        let mut again = buffer.clone();
        historic::dec_128l(&context, &key, &nonce, &ad, &mut buffer, &tag)?;
        fails(historic::dec_128l(&context, &key, &nonce, &ad, &mut again, &forged(&tag)));
        wiped(&again);

        let (key, nonce) = (Key256::from(hidden_array()), Nonce256::from(hidden_array()));
        let tag = historic::enc_256::<T>(&context, &key, &nonce, &ad, &mut buffer)?;
        let mut again = buffer.clone();
        historic::dec_256(&context, &key, &nonce, &ad, &mut buffer, &tag)?;
        fails(historic::dec_256(&context, &key, &nonce, &ad, &mut again, &forged(&tag)));
        wiped(&again);
        Ok(())
    }
    both::<16>()?;
    both::<32>()
}

/// The modes of 2023 with several lanes.
fn of_2023() -> Outcome {
    let (ad, mut buffer) = (hidden(2), hidden(300));
    for form in [TagForm::FiveWords, TagForm::SevenWords] {
        let (key, nonce) = (Key128::from(hidden_array()), Nonce128::from(hidden_array()));
        let x = historic::Aegis128X::new(&key, NonZeroU32::MIN.saturating_add(2), form);
        let x = x.clone();
        shown(&x);
        let tag = x.encrypt_in_place(&nonce, &ad, &mut buffer)?;
        let mut again = buffer.clone();
        x.decrypt_in_place(&nonce, &ad, &mut buffer, &tag)?;
        fails(x.decrypt_in_place(&nonce, &ad, &mut again, &forged(&tag)));
    }
    let (key, nonce) = (Key256::from(hidden_array()), Nonce256::from(hidden_array()));
    let x = historic::Aegis256X::new(&key, NonZeroU32::MIN.saturating_add(1)).clone();
    shown(&x);
    let tag = x.encrypt_in_place(&nonce, &ad, &mut buffer)?;
    let mut again = buffer.clone();
    x.decrypt_in_place(&nonce, &ad, &mut buffer, &tag)?;
    fails(x.decrypt_in_place(&nonce, &ad, &mut again, &forged(&tag)));
    Ok(())
}

/// Keys, nonces and tags themselves.
fn bytes() -> Outcome {
    let key = Key128::from(hidden_array());
    shown(&key);
    black_box((key.as_bytes(), key.as_ref()));
    let mut nonce = Nonce256::from(hidden_array());
    black_box(nonce.as_mut());
    black_box((nonce.as_bytes(), nonce.as_ref()));
    let tag = Tag::<32>::from(hidden_array());
    let other = Tag::<32>::try_from(&flipped(tag.as_bytes())[..])?;
    assert_ne!(tag, other);
    assert_eq!(tag, tag.clone());
    black_box((tag.as_ref(), <[u8; 32]>::from(tag)));
    Ok(())
}
