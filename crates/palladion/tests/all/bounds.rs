//! Nothing is read or written outside the buffers, which are adjacent to inaccessible memory. A
//! read outside a buffer whose result is discarded shows nowhere else.

#![allow(unsafe_code)] // `hazmat::seal`, for a read beyond the end

use crate::common::erased::{Authenticator, Batch, Cipher, How, Job, Variant};
use crate::common::fenced::{Fenced, Place};
use crate::common::{
    Random, for_each_backend, for_each_batch, for_each_mac, for_each_variant, macs, reduced,
    variants,
};

/// All lengths up to two rates or, if these are many, some of them and their neighbours.
fn lengths(rate: usize) -> impl Iterator<Item = usize> {
    let step = match rate {
        _ if reduced() => (rate / 8) | 1,
        129.. => (rate / 8) | 1, // odd: the last blocks have all lengths
        _ => 1,
    };
    (0..=2 * rate + 1).step_by(step).chain([
        rate - 1,
        rate,
        rate + 1,
        2 * rate - 1,
        2 * rate,
        4096 + 3,
    ])
}

fn aead_within(
    cipher: &dyn Cipher,
    nonce: &[u8],
    msg: &[u8],
    place: Place,
    fenced: &mut [Fenced; 3],
) {
    let [ad, source, target] = fenced;
    let ad = &*ad.buffer(msg, place);
    let tag = cipher
        .encrypt_into(nonce, ad, source.buffer(msg, place), target.buffer(msg, place))
        .unwrap();
    let ct = target.buffer(msg, place);
    assert_eq!(cipher.encrypt_in_place(nonce, ad, ct).as_ref(), Ok(&tag));
    let out = source.buffer(&vec![0; msg.len()], place);
    cipher.decrypt_into(nonce, ad, ct, &tag, out).unwrap();
    assert_eq!(out, msg);
    cipher.verify(nonce, ad, ct, &tag).unwrap();
    cipher.decrypt_in_place(nonce, ad, ct, &tag).unwrap();
    assert_eq!(ct, msg);
    let wrong = vec![0; cipher.tag_len()];
    cipher.decrypt_in_place(nonce, ad, ct, &wrong).unwrap_err();
}

fn aead(variant: &dyn Variant) {
    let mut fenced = [Fenced::new(), Fenced::new(), Fenced::new()];
    let aegis = variant.reference();
    for len in lengths(aegis.rate()) {
        let mut random = Random(len as u64);
        let [key, nonce, msg] =
            [aegis.key_len(), aegis.key_len(), len].map(|len| random.bytes(len));
        for place in [Place::Back, Place::Front] {
            for tag_len in [16, 32] {
                let cipher = variant.cipher(tag_len, &key);
                aead_within(&*cipher, &nonce, &msg, place, &mut fenced);
                variant.fill(&key, &nonce, fenced[2].buffer(&msg, place)).unwrap();
            }
        }
    }
}

#[test]
fn aead_stays_within_its_buffers() {
    for_each_backend(|_| for_each_variant(variants::ALL, aead));
}

fn mac_within(mac: &dyn Authenticator) {
    let mut fenced = Fenced::new();
    let mut random = Random(41);
    let aegis = mac.reference();
    let (key, nonce) = (random.bytes(aegis.key_len()), random.bytes(aegis.key_len()));
    for len in lengths(aegis.rate()) {
        let data = random.bytes(len);
        let tag = mac.mac(&key, &nonce, &data).unwrap();
        for place in [Place::Back, Place::Front] {
            let data = fenced.buffer(&data, place);
            assert_eq!(mac.mac(&key, &nonce, data).as_ref(), Ok(&tag));
            let mut mac = mac.begin(&key, &nonce).unwrap();
            mac.update(data).unwrap();
            assert_eq!(mac.finalize(), tag);
        }
    }
}

#[test]
fn macs_stay_within_their_buffers() {
    for_each_backend(|_| for_each_mac(macs::ALL, mac_within));
}

/// Four messages at once whose lengths end at different places, each between its own fences.
fn batch(batch: &dyn Batch) {
    let mut fenced: [_; 12] = std::array::from_fn(|_| Fenced::new());
    let mut random = Random(42);
    let rate = batch.reference().rate();
    let key_len = batch.reference().key_len();
    let (key, nonce) = (random.bytes(key_len), random.bytes(key_len));
    for len in lengths(rate).filter(|len| *len <= 2 * rate + 1) {
        for (place, shorter) in [
            (Place::Back, 0),
            (Place::Front, 0),
            (Place::Back, 1),
            (Place::Back, 17),
            (Place::Front, rate + 1),
        ] {
            let messages: [_; 4] =
                std::array::from_fn(|i| random.bytes(len.saturating_sub(shorter * (i % 3))));
            let mut buffers = fenced.iter_mut();
            let mut buffer = |bytes: &[u8]| buffers.next().unwrap().buffer(bytes, place);
            let mut jobs = messages.each_ref().map(|msg| {
                let (ad, source, target) = (&*buffer(msg), &*buffer(msg), buffer(msg));
                Job::new(How::Into, [&key, &nonce, ad], source, target, &[])
            });
            batch.encrypt(&mut jobs).unwrap();
            let sealed = jobs.map(|job| (job.output.unwrap(), job.tag));
            let mut buffers = fenced.iter_mut();
            let mut buffer = |bytes: &[u8]| buffers.next().unwrap().buffer(bytes, place);
            let mut jobs: [_; 4] = std::array::from_fn(|i| {
                let (ad, ct) = (&*buffer(&messages[i]), buffer(&sealed[i].0));
                Job::new(How::InPlace, [&key, &nonce, ad], &[], ct, &sealed[i].1)
            });
            batch.decrypt(&mut jobs).unwrap();
            for (job, msg) in jobs.iter().zip(&messages) {
                assert_eq!(job.output.as_ref(), Ok(msg));
            }
        }
    }
}

#[test]
fn batches_stay_within_their_buffers() {
    for_each_backend(|_| for_each_batch(batch));
}

/// For assurance/asan.sh: prints the available backends.
#[test]
#[ignore = "prints, and tests nothing"]
fn backends_here() {
    for_each_backend(|backend| println!("backend: {backend}"));
}

/// For assurance/asan.sh: the library is told that a buffer on the heap is one byte longer than
/// it is, and AddressSanitizer must end the process. Without it, the byte after the buffer is read,
/// which has no visible effect.
#[test]
#[ignore = "does what must not be done, to see that it is noticed"]
fn one_byte_too_many() {
    use palladion::hazmat::{Message, seal};
    let (key, nonce, msg, mut ct, mut tag) = ([1; 16], [2; 16], vec![3; 31], vec![0; 32], [0; 16]);
    let message = Message {
        key: key.as_ptr(),
        nonce: nonce.as_ptr(),
        ad: std::ptr::null(),
        ad_len: 0,
        src: msg.as_ptr(),
        dst: ct.as_mut_ptr(),
        len: 32,
        tag: tag.as_mut_ptr(),
        tag_len: 16,
    };
    // SAFETY: all pointers are valid, except for the last byte of the message, which is past its
    // allocation. This is the planted defect.
    unsafe { seal::<palladion::family::Aegis128, 1>(&message) }.unwrap();
}
