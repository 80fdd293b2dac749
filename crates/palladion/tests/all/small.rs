//! Compares every kind of call with the others at a few lengths, for Miri (assurance/miri.sh),
//! where the other tests take too long.

use crate::common::{Random, flipped, for_each_backend, for_each_variant, key, nonce, reduced};
use palladion::batch::{Decryption, Encryption, decrypt, encrypt};
use palladion::family::Family;
use palladion::hazmat::Session;
use palladion::{Aegis, Error, KeyStream, Mac, Tag};

fn one_length<F: Family, const D: usize>(random: &mut Random, len: usize) {
    let [key_bytes, nonce_bytes, ad, msg] =
        [F::KEY_LEN, F::KEY_LEN, len % 19, len].map(|len| random.bytes(len));
    let (key, nonce) = (key::<F>(&key_bytes), nonce::<F>(&nonce_bytes));
    let cipher = Aegis::<F, D, 32>::new(&key);
    let mut ct = msg.clone();
    let tag = cipher.encrypt_in_place(&nonce, &ad, &mut ct).unwrap();
    let wrong = Tag::<32>::try_from(&flipped(tag.as_ref(), len % 256)[..]).unwrap();
    let failed = Err(Error::VerificationFailed);

    // In one call.
    let mut out = vec![0; len];
    assert_eq!(cipher.encrypt_into(&nonce, &ad, &msg, &mut out), Ok(tag));
    assert_eq!(out, ct);
    assert_eq!(cipher.verify(&nonce, &ad, &ct, &tag), Ok(()));
    assert_eq!(cipher.decrypt_in_place(&nonce, &ad, &mut out, &wrong), failed);
    assert_eq!(out, vec![0; len]);
    assert_eq!(cipher.decrypt_into(&nonce, &ad, &ct, &tag, &mut out), Ok(()));
    assert_eq!(out, msg);
    for to in if reduced() { vec![5] } else { vec![0, 5, len] } {
        let mut buf = [&[0; 3][..], &msg, &vec![0; len + 5]].concat();
        assert_eq!(cipher.encrypt_within(&nonce, &ad, &mut buf, 3..3 + len, to), Ok(tag));
        assert_eq!(buf[to..to + len], ct);
        assert_eq!(cipher.decrypt_within(&nonce, &ad, &mut buf, to..to + len, 3, &tag), Ok(()));
        assert_eq!(buf[3..3 + len], msg);
    }

    // In pieces.
    let cut = len * 3 / 7;
    let mut encryptor = cipher.encryptor(&nonce, &ad).unwrap();
    let (mut start, mut rest) = (msg[..cut].to_vec(), vec![0; len - cut]);
    encryptor.update_in_place(&mut start).unwrap();
    encryptor.update_into(&msg[cut..], &mut rest).unwrap();
    assert_eq!([start, rest].concat(), ct);
    assert_eq!(encryptor.finalize(), tag);
    let mut out = vec![0; len];
    let mut decryptor = cipher.decryptor(&nonce, &ad, &mut out).unwrap();
    decryptor.update(&ct[..cut]).unwrap();
    decryptor.update(&ct[cut..]).unwrap();
    assert_eq!(decryptor.finalize(&tag).map(|out| out.to_vec()), Ok(msg.clone()));
    let mut decryptor = Session::<F, D>::new(&key, &nonce, &ad).unwrap();
    decryptor.decrypt_into(&ct, &mut out).unwrap();
    assert_eq!((decryptor.verify(&wrong), &out), (failed, &msg));
    let mut session = Session::<F, D>::new(&key, &nonce, &ad).unwrap();
    session.encrypt_in_place(&mut out[..cut]).unwrap();
    let mut bytes = vec![0; Session::<F, D>::BYTES];
    session.to_bytes(&mut bytes).unwrap();
    let mut session = Session::<F, D>::from_bytes(&bytes).unwrap();
    session.encrypt_in_place(&mut out[cut..]).unwrap();
    assert_eq!((session.finalize::<32>(), &out), (tag, &ct));

    // Other uses.
    let mac = Mac::<F, D, 32>::mac(&key, &nonce, &msg).unwrap();
    let mut session = Session::<F, D>::new(&key, &nonce, b"").unwrap();
    session.absorb(&msg[..cut]).unwrap();
    session.clone().absorb(&[0; 20]).unwrap();
    session.absorb(&msg[cut..]).unwrap();
    let mut tag = [0; 32];
    session.finalize_mac(&mut tag).unwrap();
    assert_eq!(mac, tag.into());
    let mut whole = vec![0; len];
    KeyStream::<F, D>::fill(&key, &nonce, &mut whole).unwrap();
    let mut stream = KeyStream::<F, D>::new(&key, &nonce).unwrap();
    let mut out = whole.clone();
    stream.xor(&mut out[..cut]).unwrap();
    stream.xor(&mut out[cut..]).unwrap();
    assert_eq!(out, vec![0; len]);
}

fn many<F: Family, const D: usize>(random: &mut Random) {
    let cipher = Aegis::<F, D, 16>::new(&key::<F>(&random.bytes(F::KEY_LEN)));
    let nonces: Vec<F::Nonce> = (0..5).map(|_| nonce::<F>(&random.bytes(F::KEY_LEN))).collect();
    let lens = [0, 70, 31, 33, 70];
    let msgs = lens.map(|len| random.bytes(len));
    let mut bufs = msgs.clone();
    let mut jobs: Vec<_> = nonces
        .iter()
        .zip(&mut bufs)
        .map(|(nonce, buf)| Encryption::encrypt_in_place(&cipher, nonce, b"data", buf))
        .collect();
    encrypt(&mut jobs).unwrap();
    let tags: Vec<Tag<16>> = jobs.iter().map(|job| job.tag().unwrap()).collect();
    for ((nonce, msg), (buf, tag)) in nonces.iter().zip(&msgs).zip(bufs.iter().zip(&tags)) {
        let mut ct = msg.clone();
        assert_eq!((cipher.encrypt_in_place(nonce, b"data", &mut ct), &ct), (Ok(*tag), buf));
    }
    let mut outs = lens.map(|len| vec![0; len]);
    let mut jobs: Vec<_> = nonces
        .iter()
        .zip(&bufs)
        .zip(tags.iter().zip(&mut outs))
        .map(|((nonce, ct), (tag, out))| {
            Decryption::decrypt_into(&cipher, nonce, b"data", ct, tag, out)
        })
        .collect();
    decrypt(&mut jobs).unwrap();
    assert_eq!(outs, msgs);
}

fn each<F: Family, const D: usize>() {
    let mut random = Random(88);
    for &len in if reduced() { &[33, 130][..] } else { &[0, 1, 31, 33, 70, 130, 300] } {
        one_length::<F, D>(&mut random, len);
    }
    many::<F, D>(&mut random);
}

#[test]
fn all_calls() {
    for_each_backend(|_| for_each_variant!(sample: each()));
}
