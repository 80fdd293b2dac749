//! The core: crate `palladion`.

use std::fmt::Debug;
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
    Aegis, Algorithm, Decryptor, Encryptor, Error, Key, Key128, Key256, KeyStream, Mac, Nonce,
    Nonce128, Nonce256, Tag, any,
};

use super::calls::{call, cloned, shown};
use super::{Outcome, fails, flipped, forged, hidden, hidden_array};

/// Calls everything, and tells with how many messages.
pub fn all() -> Result<usize, Error> {
    let mut calls = 0;
    macro_rules! variants {
        ($($family:ident $($degree:literal)*;)*) => {
            $($(
                calls += variant::<$family, $degree, 16>()?;
                calls += variant::<$family, $degree, 32>()?;
                aead_traits::<Aegis<$family, $degree, 16>>($family::KEY_LEN);
                aead_traits::<Aegis<$family, $degree, 32>>($family::KEY_LEN);
            )*)*
        };
    }
    variants! { Aegis128 1 2 4 6; Aegis256 1 2 3 4; }
    for algorithm in Algorithm::ALL {
        calls += chosen_at_run_time(algorithm)?;
    }
    with_context()?;
    of_2023()?;
    bytes()?;
    Ok(calls)
}

/// Lengths around those of blocks, steps and chunks.
fn lengths(rate: usize) -> [usize; 9] {
    [0, 1, 15, 16, rate - 1, rate, rate + 1, 2 * rate + 17, 9 * rate + 3]
}

fn variant<F: Family + Debug, const D: usize, const T: usize>() -> Result<usize, Error> {
    let key = call!(<F::Key as TryFrom<&[u8]>>::try_from, &hidden(F::KEY_LEN))?;
    let nonce = call!(<F::Nonce as TryFrom<&[u8]>>::try_from, &hidden(F::KEY_LEN))?;
    let cipher = cloned(&call!(Aegis::<F, D, T>::new, &cloned(&key)));
    shown(&cipher);
    let rate = 16 * D * if F::KEY_LEN == 16 { 2 } else { 1 };
    let mut calls = 0;
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
        calls += 1;
    }
    batches(&cipher, rate)?;
    sealed_batches(&cipher, rate)?;
    Ok(calls)
}

/// What a failed call has left is zeros. They no longer depend on a secret, but only the tool is
/// sure of it.
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
    let tag = call!(Aegis::encrypt_in_place, cipher, nonce, ad, &mut buffer)?;
    let ciphertext = buffer.clone();
    call!(Aegis::decrypt_in_place, cipher, nonce, ad, &mut buffer, &tag)?;
    buffer.copy_from_slice(&ciphertext);
    fails(call!(Aegis::decrypt_in_place, cipher, nonce, ad, &mut buffer, &forged(&tag)));
    wiped(&buffer);

    let mut other = vec![0; len];
    let tag = call!(Aegis::encrypt_into, cipher, nonce, ad, message, &mut other)?;
    call!(Aegis::decrypt_into, cipher, nonce, ad, &other, &tag, &mut buffer)?;
    fails(call!(Aegis::decrypt_into, cipher, nonce, ad, &other, &forged(&tag), &mut buffer));
    wiped(&buffer);
    call!(Aegis::verify, cipher, nonce, ad, &other, &tag)?;
    fails(call!(Aegis::verify, cipher, nonce, ad, &other, &forged(&tag)));

    let mut wide = vec![0; len + 64];
    wide[40..40 + len].copy_from_slice(message);
    let tag = call!(Aegis::encrypt_within, cipher, nonce, ad, &mut wide, 40..40 + len, 24)?;
    let mut again = wide.clone();
    call!(Aegis::decrypt_within, cipher, nonce, ad, &mut wide, 24..24 + len, 33, &tag)?;
    fails(call!(
        Aegis::decrypt_within,
        cipher,
        nonce,
        ad,
        &mut again,
        24..24 + len,
        33,
        &forged(&tag)
    ));
    wiped(&again[33..33 + len]);

    call!(encrypt_unauthenticated, cipher, nonce, &mut buffer)?;
    call!(decrypt_unauthenticated, cipher, nonce, &mut buffer)
}

/// With the tag behind the ciphertext.
fn sealed<F: Family, const D: usize, const T: usize>(
    cipher: &Aegis<F, D, T>,
    nonce: &F::Nonce,
    ad: &[u8],
    message: &[u8],
) -> Outcome {
    let len = message.len();
    let mut into = vec![0; len];
    let sealed = call!(Aegis::seal, cipher, nonce, ad, message)?;
    call!(Aegis::open, cipher, nonce, ad, &sealed)?;
    fails(call!(Aegis::open, cipher, nonce, ad, &flipped(&sealed)));

    let mut in_place = [message, &[0; T]].concat();
    call!(Aegis::seal_in_place, cipher, nonce, ad, &mut in_place)?;
    let mut wrong = flipped(&in_place);
    call!(Aegis::open_in_place, cipher, nonce, ad, &mut in_place)?;
    fails(call!(Aegis::open_in_place, cipher, nonce, ad, &mut wrong));
    wiped(&wrong[..len]);

    let mut sealed_into = vec![0; len + T];
    call!(Aegis::seal_into, cipher, nonce, ad, message, &mut sealed_into)?;
    call!(Aegis::open_into, cipher, nonce, ad, &sealed_into, &mut into)?;
    fails(call!(Aegis::open_into, cipher, nonce, ad, &flipped(&sealed_into), &mut into));
    wiped(&into);

    let sealed = call!(Aegis::seal_with_random_nonce, cipher, ad, message)?;
    call!(Aegis::open_with_nonce, cipher, ad, &sealed)?;
    fails(call!(Aegis::open_with_nonce, cipher, ad, &flipped(&sealed)));
    Ok(())
}

/// The traits of crate `aead`.
fn aead_traits<C: KeyInit + AeadInOut>(key_len: usize) {
    let key = aead::Key::<C>::try_from(&hidden(key_len)[..]).expect("the length of a key");
    let nonce = aead::Nonce::<C>::try_from(&hidden(key_len)[..]).expect("the length of a nonce");
    let cipher = call!(<C as KeyInit>::new, &key);
    let (ad, message) = (hidden(7), hidden(333));
    for right in [true, false] {
        let (mut ciphertext, mut opened) = (message.clone(), message.clone());
        let encrypted = InOutBuf::from(&mut ciphertext[..]);
        let mut tag =
            call!(<C as AeadInOut>::encrypt_inout_detached, &cipher, &nonce, &ad, encrypted)
                .expect("a tag");
        tag[0] ^= u8::from(!right);
        let decrypted = InOutBuf::new(&ciphertext, &mut opened).expect("as long");
        let result =
            call!(<C as AeadInOut>::decrypt_inout_detached, &cipher, &nonce, &ad, decrypted, &tag);
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
        let mut encryptor = call!(Aegis::encryptor, cipher, nonce, ad)?;
        call!(Encryptor::update_in_place, &mut encryptor, &mut ciphertext[..at])?;
        call!(Encryptor::update_into, &mut encryptor, &message[at..], &mut ciphertext[at..])?;
        shown(&encryptor);
        let tag = call!(Encryptor::finalize, encryptor);

        for (tag, right) in [(tag, true), (forged(&tag), false)] {
            let mut output = vec![0; len];
            let mut decryptor = call!(Aegis::decryptor, cipher, nonce, ad, &mut output)?;
            call!(Decryptor::update, &mut decryptor, &ciphertext[..at])?;
            call!(Decryptor::update, &mut decryptor, &ciphertext[at..])?;
            shown(&decryptor);
            assert_eq!(call!(Decryptor::finalize, decryptor, &tag).is_ok(), right);
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
    let mut session = call!(Session::<F, D>::new, key, nonce, ad)?;
    call!(Session::encrypt_in_place, &mut session, &mut buffer[..at])?;
    let mut bytes = vec![0; Session::<F, D>::BYTES];
    call!(Session::to_bytes, &session, &mut bytes)?;
    // These bytes say also where in the message it stands, which is public.
    let mut session = cloned(&call!(Session::<F, D>::from_bytes, &bytes)?);
    call!(Session::encrypt_into, &mut session, &message[at..], &mut buffer[at..])?;
    shown(&session);
    let tag = call!(Session::finalize::<T>, &mut session);

    for (tag, right) in [(tag, true), (forged(&tag), false)] {
        let mut output = buffer.clone();
        let mut place = MaybeUninit::uninit();
        let session = call!(Session::<F, D>::begin_in, &mut place, key, nonce, ad)?;
        call!(Session::decrypt_in_place, session, &mut output[..at])?;
        call!(Session::decrypt_into, session, &buffer[at..], &mut output[at..])?;
        assert_eq!(call!(Session::verify::<T>, session, &tag).is_ok(), right);
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
    let mut session = call!(Session::<F, D>::new, key, nonce, ad)?;
    call!(Session::begin, &mut session, key, nonce);
    call!(Session::absorb, &mut session, &message[..at])?;
    call!(Session::absorb, &mut session, &message[at..])?;
    shown(&session);
    let mut again = cloned(&session);
    let mut bytes = [0; T];
    call!(Session::finalize_mac, &mut session, &mut bytes)?;
    let tag = Tag::from(bytes);
    call!(Session::verify_mac::<T>, &mut again.clone(), &tag)?;
    fails(call!(Session::verify_mac::<T>, &mut again, &forged(&tag)));
    Ok(())
}

fn macs<F: Family, const D: usize, const T: usize>(
    key: &F::Key,
    nonce: &F::Nonce,
    data: &[u8],
) -> Outcome {
    let tag = call!(Mac::<F, D, T>::mac, key, nonce, data)?;
    call!(Mac::<F, D, T>::verify_mac, key, nonce, data, &tag)?;
    fails(call!(Mac::<F, D, T>::verify_mac, key, nonce, data, &forged(&tag)));
    let mut mac = call!(Mac::<F, D, T>::new, key, nonce)?;
    call!(Mac::update, &mut mac, &data[..data.len() / 3])?;
    call!(Mac::reset, &mut mac);
    call!(Mac::update, &mut mac, &data[..data.len() / 2])?;
    call!(Mac::update, &mut mac, &data[data.len() / 2..])?;
    shown(&mac);
    call!(Mac::finalize, cloned(&mac));
    call!(Mac::verify, cloned(&mac), &tag)?;
    fails(call!(Mac::verify, mac, &forged(&tag)));
    Ok(())
}

fn key_streams<F: Family, const D: usize>(key: &F::Key, nonce: &F::Nonce, len: usize) -> Outcome
where
    KeyStream<F, D>: Clone,
{
    let mut bytes = vec![0; len];
    let mut stream = call!(KeyStream::<F, D>::new, key, nonce)?;
    call!(KeyStream::next_bytes, &mut stream, &mut bytes[..len / 2])?;
    let mut stream = cloned(&stream);
    call!(<KeyStream<F, D> as Read>::read, &mut stream, &mut bytes[len / 2..]).expect("key stream");
    call!(KeyStream::xor, &mut stream, &mut bytes)?;
    shown(&stream);
    call!(KeyStream::<F, D>::fill, key, nonce, &mut bytes)
}

/// Some that go together, and some that do not.
fn batch_lengths(rate: usize) -> [Vec<usize>; 3] {
    [vec![3 * rate + 5; 4], vec![rate; 2], lengths(rate).to_vec()]
}

fn batches<F: Family, const D: usize, const T: usize>(
    cipher: &Aegis<F, D, T>,
    rate: usize,
) -> Outcome {
    for lens in batch_lengths(rate) {
        let nonce = F::Nonce::try_from(&hidden(F::KEY_LEN))?;
        let ad = hidden(13);
        let messages: Vec<_> = lens.iter().map(|len| hidden(*len)).collect();
        let (mut ciphertexts, mut apart) = (messages.clone(), messages.clone());
        // Every other one in place.
        let mut jobs = Vec::new();
        for (i, (message, (in_place, out))) in
            messages.iter().zip(ciphertexts.iter_mut().zip(&mut apart)).enumerate()
        {
            jobs.push(match i % 2 {
                0 => call!(Encryption::encrypt_in_place, cipher, &nonce, &ad, in_place),
                _ => call!(Encryption::encrypt_into, cipher, &nonce, &ad, message, out),
            });
        }
        call!(batch::encrypt, &mut jobs).map_err(Error::from)?;
        let mut results = Vec::new();
        for job in &jobs {
            call!(Encryption::result, job)?;
            results
                .push((call!(Encryption::ciphertext, job)?.to_vec(), call!(Encryption::tag, job)?));
        }
        for wrong in [NONE_WRONG, 1] {
            let mut in_place: Vec<_> =
                results.iter().map(|(ciphertext, _)| ciphertext.clone()).collect();
            let mut apart = in_place.clone();
            let mut jobs = Vec::new();
            let buffers = in_place.iter_mut().zip(&mut apart);
            for (i, ((ciphertext, tag), (buffer, out))) in results.iter().zip(buffers).enumerate() {
                let tag = if i == wrong { forged(tag) } else { *tag };
                jobs.push(match i % 2 {
                    0 => {
                        call!(Decryption::decrypt_into, cipher, &nonce, &ad, ciphertext, &tag, out)
                    }
                    _ => call!(Decryption::decrypt_in_place, cipher, &nonce, &ad, buffer, &tag),
                });
            }
            decrypted(&mut jobs, wrong);
        }
    }
    Ok(())
}

fn sealed_batches<F: Family, const D: usize, const T: usize>(
    cipher: &Aegis<F, D, T>,
    rate: usize,
) -> Outcome {
    for lens in batch_lengths(rate) {
        let nonce = F::Nonce::try_from(&hidden(F::KEY_LEN))?;
        let ad = hidden(29);
        let messages: Vec<_> = lens.iter().map(|len| hidden(*len)).collect();
        let mut sealed: Vec<_> =
            messages.iter().map(|message| [&message[..], &[0; T]].concat()).collect();
        let mut jobs = Vec::new();
        for (i, (message, sealed)) in messages.iter().zip(&mut sealed).enumerate() {
            jobs.push(match i % 2 {
                0 => call!(Encryption::seal_in_place, cipher, &nonce, &ad, sealed),
                _ => call!(Encryption::seal_into, cipher, &nonce, &ad, message, sealed),
            });
        }
        batch::encrypt(&mut jobs).map_err(Error::from)?;
        drop(jobs);
        for wrong in [NONE_WRONG, 0] {
            let mut sealed = sealed.clone();
            if wrong != NONE_WRONG {
                sealed[wrong] = flipped(&sealed[wrong]);
            }
            let mut in_place = sealed.clone();
            let mut messages = messages.clone();
            let mut jobs = Vec::new();
            let buffers = in_place.iter_mut().zip(&mut messages);
            for (i, (sealed, (buffer, message))) in sealed.iter().zip(buffers).enumerate() {
                jobs.push(match i % 2 {
                    0 => call!(Decryption::open_into, cipher, &nonce, &ad, sealed, message),
                    _ => call!(Decryption::open_in_place, cipher, &nonce, &ad, buffer),
                });
            }
            decrypted(&mut jobs, wrong);
        }
    }
    Ok(())
}

/// In place of which job is wrong. (With `None` the compiler may compare what was never written,
/// where the outcome is the same.)
const NONE_WRONG: usize = usize::MAX;

/// Runs the jobs, of which one may be wrong.
fn decrypted<F: Family, const D: usize, const T: usize>(
    jobs: &mut [Decryption<'_, F, D, T>],
    wrong: usize,
) {
    let result = call!(batch::decrypt, jobs);
    assert_eq!(result.map_or_else(|error| error.first, |()| NONE_WRONG), wrong);
    for (i, job) in jobs.iter().enumerate() {
        assert_eq!(call!(Decryption::result, job).is_ok(), i != wrong);
        assert_eq!(call!(Decryption::message, job).is_ok(), i != wrong);
    }
}

fn chosen_at_run_time(algorithm: Algorithm) -> Result<usize, Error> {
    let (key, nonce) = (hidden(algorithm.key_len()), hidden(algorithm.key_len()));
    let (ad, message) = (hidden(20), hidden(777));
    for tag_len in [16, 32] {
        let cipher = cloned(&call!(any::Cipher::new, algorithm, &key, tag_len)?);
        shown(&cipher);
        call!(any::Cipher::key, &cipher);
        let (mut buffer, mut tag) = (message.clone(), vec![0; tag_len]);
        let mut output = vec![0; message.len()];
        call!(any::Cipher::encrypt_in_place, &cipher, &nonce, &ad, &mut buffer, &mut tag)?;
        call!(any::Cipher::verify, &cipher, &nonce, &ad, &buffer, &tag)?;
        fails(call!(any::Cipher::verify, &cipher, &nonce, &ad, &buffer, &flipped(&tag)));
        let mut again = buffer.clone();
        fails(call!(
            any::Cipher::decrypt_in_place,
            &cipher,
            &nonce,
            &ad,
            &mut again,
            &flipped(&tag)
        ));
        call!(any::Cipher::decrypt_in_place, &cipher, &nonce, &ad, &mut buffer, &tag)?;
        call!(any::Cipher::encrypt_into, &cipher, &nonce, &ad, &message, &mut buffer, &mut tag)?;
        call!(any::Cipher::decrypt_into, &cipher, &nonce, &ad, &buffer, &tag, &mut output)?;
        fails(call!(
            any::Cipher::decrypt_into,
            &cipher,
            &nonce,
            &ad,
            &buffer,
            &flipped(&tag),
            &mut output
        ));
        wiped(&output);

        let mut session = call!(AnySession::new, algorithm, &key, &nonce, &ad)?;
        call!(AnySession::encrypt_into, &mut session, &message[..300], &mut buffer[..300])?;
        buffer[300..].copy_from_slice(&message[300..]);
        call!(AnySession::encrypt_in_place, &mut session, &mut buffer[300..])?;
        shown(&session);
        call!(AnySession::finalize, &mut session, &mut tag)?;
        for (tag, right) in [(tag.clone(), true), (flipped(&tag), false)] {
            let mut rest = buffer[300..].to_vec();
            let mut session = call!(AnySession::new, algorithm, &key, &nonce, &ad)?;
            call!(AnySession::decrypt_into, &mut session, &buffer[..300], &mut output[..300])?;
            call!(AnySession::decrypt_in_place, &mut session, &mut rest)?;
            assert_eq!(call!(AnySession::verify, &mut session, &tag).is_ok(), right);
        }

        let mut mac = call!(any::Mac::new, algorithm, &key, &nonce)?;
        call!(any::Mac::update, &mut mac, &message)?;
        shown(&mac);
        call!(any::Mac::finalize, cloned(&mac), &mut tag)?;
        fails(call!(any::Mac::verify, cloned(&mac), &flipped(&tag)));
        call!(any::Mac::verify, mac, &tag)?;
    }
    Ok(2)
}

/// What is older than the standard: one lane with a context.
fn with_context() -> Outcome {
    fn both<const T: usize>() -> Outcome {
        let (key, nonce, context) =
            (Key128::from(hidden_array()), Nonce128::from(hidden_array()), [1; 16]);
        let (ad, mut buffer) = (hidden(5), hidden(300));
        let tag = call!(historic::enc_128l::<T>, &context, &key, &nonce, &ad, &mut buffer)?;
        let mut again = buffer.clone();
        call!(historic::dec_128l, &context, &key, &nonce, &ad, &mut buffer, &tag)?;
        fails(call!(historic::dec_128l, &context, &key, &nonce, &ad, &mut again, &forged(&tag)));
        wiped(&again);

        let (key, nonce) = (Key256::from(hidden_array()), Nonce256::from(hidden_array()));
        let tag = call!(historic::enc_256::<T>, &context, &key, &nonce, &ad, &mut buffer)?;
        let mut again = buffer.clone();
        call!(historic::dec_256, &context, &key, &nonce, &ad, &mut buffer, &tag)?;
        fails(call!(historic::dec_256, &context, &key, &nonce, &ad, &mut again, &forged(&tag)));
        wiped(&again);
        Ok(())
    }
    both::<16>()?;
    both::<32>()
}

/// And any number of lanes.
fn of_2023() -> Outcome {
    let (ad, mut buffer) = (hidden(2), hidden(300));
    for form in [TagForm::FiveWords, TagForm::SevenWords] {
        let (key, nonce) = (Key128::from(hidden_array()), Nonce128::from(hidden_array()));
        let x = call!(historic::Aegis128X::new, &key, NonZeroU32::MIN.saturating_add(2), form);
        let x = cloned(&x);
        shown(&x);
        let tag = call!(historic::Aegis128X::encrypt_in_place, &x, &nonce, &ad, &mut buffer)?;
        let mut again = buffer.clone();
        call!(historic::Aegis128X::decrypt_in_place, &x, &nonce, &ad, &mut buffer, &tag)?;
        fails(call!(
            historic::Aegis128X::decrypt_in_place,
            &x,
            &nonce,
            &ad,
            &mut again,
            &forged(&tag)
        ));
    }
    let (key, nonce) = (Key256::from(hidden_array()), Nonce256::from(hidden_array()));
    let x = cloned(&call!(historic::Aegis256X::new, &key, NonZeroU32::MIN.saturating_add(1)));
    shown(&x);
    let tag = call!(historic::Aegis256X::encrypt_in_place, &x, &nonce, &ad, &mut buffer)?;
    let mut again = buffer.clone();
    call!(historic::Aegis256X::decrypt_in_place, &x, &nonce, &ad, &mut buffer, &tag)?;
    fails(call!(historic::Aegis256X::decrypt_in_place, &x, &nonce, &ad, &mut again, &forged(&tag)));
    Ok(())
}

/// Keys, nonces and tags themselves.
fn bytes() -> Outcome {
    let key = call!(<Key128 as From<[u8; 16]>>::from, hidden_array());
    shown(&key);
    call!(Key::as_bytes, &key);
    call!(<Key128 as AsRef<[u8]>>::as_ref, &key);
    let mut nonce = call!(<Nonce256 as From<[u8; 32]>>::from, hidden_array());
    call!(Nonce::as_bytes, &nonce);
    call!(<Nonce256 as AsRef<[u8]>>::as_ref, &nonce);
    call!(<Nonce256 as AsMut<[u8]>>::as_mut, &mut nonce);
    cloned(&nonce);
    let tag = call!(<Tag<32> as From<[u8; 32]>>::from, hidden_array());
    let other = call!(<Tag<32> as TryFrom<&[u8]>>::try_from, &flipped(call!(Tag::as_bytes, &tag)))?;
    call!(<Tag<32> as AsRef<[u8]>>::as_ref, &tag);
    assert!(!call!(<Tag<32> as PartialEq>::eq, &tag, &other));
    assert!(call!(<Tag<32> as PartialEq>::eq, &tag, &cloned(&tag)));
    call!(<[u8; 32] as From<Tag<32>>>::from, tag);
    Ok(())
}
