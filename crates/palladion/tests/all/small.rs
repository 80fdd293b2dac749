//! Compares every kind of call with the others at a few lengths, for Miri (assurance/miri.sh),
//! where the other tests take too long.

use crate::common::erased::{Authenticator, Batch, How, Job, Variant};
use crate::common::{
    Random, batches, flipped, for_each_backend, for_each_variant, macs, reduced, variants,
};
use palladion::Error;

fn one_length(variant: &dyn Variant, random: &mut Random, len: usize) {
    let key_len = variant.reference().key_len();
    let [key, nonce, ad, msg] = [key_len, key_len, len % 19, len].map(|len| random.bytes(len));
    let cipher = variant.cipher(32, &key);
    let mut ct = msg.clone();
    let tag = cipher.encrypt_in_place(&nonce, &ad, &mut ct).unwrap();
    let wrong = flipped(&tag, len % 256);
    let failed = Err(Error::VerificationFailed);

    // In one call.
    let mut out = vec![0; len];
    assert_eq!(cipher.encrypt_into(&nonce, &ad, &msg, &mut out).as_ref(), Ok(&tag));
    assert_eq!(out, ct);
    assert_eq!(cipher.verify(&nonce, &ad, &ct, &tag), Ok(()));
    assert_eq!(cipher.decrypt_in_place(&nonce, &ad, &mut out, &wrong), failed);
    assert_eq!(out, vec![0; len]);
    assert_eq!(cipher.decrypt_into(&nonce, &ad, &ct, &tag, &mut out), Ok(()));
    assert_eq!(out, msg);

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
    let mut decryptor = variant.session(&key, &nonce, &ad).unwrap();
    decryptor.decrypt_into(&ct, &mut out).unwrap();
    assert_eq!((decryptor.verify(&wrong), &out), (failed, &msg));
    let mut session = variant.session(&key, &nonce, &ad).unwrap();
    session.encrypt_in_place(&mut out[..cut]).unwrap();
    let mut bytes = vec![0; variant.session_len()];
    session.to_bytes(&mut bytes).unwrap();
    let mut session = variant.session_from_bytes(&bytes).unwrap();
    session.encrypt_in_place(&mut out[cut..]).unwrap();
    assert_eq!((session.finalize(32), &out), (Ok(tag), &ct));

    // Other uses.
    let mac = mac_of(variant);
    let tag = mac.mac(&key, &nonce, &msg).unwrap();
    let mut session = mac.session(&key, &nonce).unwrap();
    session.absorb(&msg[..cut]).unwrap();
    session.copy().absorb(&[0; 20]).unwrap();
    session.absorb(&msg[cut..]).unwrap();
    assert_eq!(session.finalize_mac(), Ok(tag));
    let mut whole = vec![0; len];
    variant.fill(&key, &nonce, &mut whole).unwrap();
    let mut stream = variant.key_stream(&key, &nonce).unwrap();
    let mut out = whole.clone();
    stream.xor(&mut out[..cut]).unwrap();
    stream.xor(&mut out[cut..]).unwrap();
    assert_eq!(out, vec![0; len]);
}

/// Returns a variant's MAC with 32-byte tags.
fn mac_of(variant: &dyn Variant) -> &'static dyn Authenticator {
    let is_it =
        |mac: &&&dyn Authenticator| mac.reference() == variant.reference() && mac.tag_len() == 32;
    *macs::KERNELS.iter().find(is_it).unwrap()
}

fn many(batch: &dyn Batch, random: &mut Random) {
    let key_len = batch.reference().key_len();
    let key = random.bytes(key_len);
    let cipher = batch.cipher(&key);
    let nonces: Vec<Vec<u8>> = (0..5).map(|_| random.bytes(key_len)).collect();
    let lens = [0, 70, 31, 33, 70];
    let msgs = lens.map(|len| random.bytes(len));
    let mut bufs = msgs.clone();
    let mut jobs: Vec<_> = nonces
        .iter()
        .zip(&mut bufs)
        .map(|(nonce, buf)| Job::new(How::InPlace, [&key, nonce, b"data"], &[], buf, &[]))
        .collect();
    batch.encrypt(&mut jobs).unwrap();
    let tags: Vec<Vec<u8>> = jobs.into_iter().map(|job| job.tag).collect();
    for ((nonce, msg), (buf, tag)) in nonces.iter().zip(&msgs).zip(bufs.iter().zip(&tags)) {
        let mut ct = msg.clone();
        let made = cipher.encrypt_in_place(nonce, b"data", &mut ct);
        assert_eq!((made.as_ref(), &ct), (Ok(tag), buf));
    }
    let mut outs = lens.map(|len| vec![0; len]);
    let mut jobs: Vec<_> = nonces
        .iter()
        .zip(&bufs)
        .zip(tags.iter().zip(&mut outs))
        .map(|((nonce, ct), (tag, out))| Job::new(How::Into, [&key, nonce, b"data"], ct, out, tag))
        .collect();
    batch.decrypt(&mut jobs).unwrap();
    drop(jobs);
    assert_eq!(outs, msgs);
}

fn each(variant: &dyn Variant) {
    let mut random = Random(88);
    for &len in if reduced() { &[33, 130][..] } else { &[0, 1, 31, 33, 70, 130, 300] } {
        one_length(variant, &mut random, len);
    }
    let same = |batch: &&&dyn Batch| batch.reference() == variant.reference();
    batches::ALL.iter().filter(same).for_each(|batch| many(*batch, &mut random));
}

#[test]
fn all_calls() {
    for_each_backend(|_| for_each_variant(variants::SAMPLE, each));
}
