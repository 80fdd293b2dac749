//! Random inputs give the same bytes as the reference, on every backend and at any alignment.

use crate::common::erased::{Authenticator, Cipher, Variant};
use crate::common::{
    Random, for_each_backend, for_each_mac, for_each_variant, framed, macs, reduced, variants,
};
use palladion_reference::Aegis as Reference;

/// The chunk after which kernels switch lanes.
const CHUNK: usize = if cfg!(target_arch = "powerpc64") { 8192 } else { 4096 };

/// Lengths where something changes (around blocks, rates and chunks), and some random ones.
fn lengths(rate: usize, random: &mut Random) -> Vec<usize> {
    let chunk = (CHUNK / rate).max(1) * rate; // whole steps
    if reduced() {
        return vec![0, 1, rate - 1, rate, rate + 1, 2 * rate + 17, 2 * chunk + rate - 1];
    }
    let mut corners = vec![
        0,
        16,
        32,
        48,
        64,
        rate / 2,
        chunk,
        chunk + rate,
        2 * chunk,
        3 * chunk,
        CHUNK,
        2 * CHUNK,
    ];
    corners.extend((1..=if rate > CHUNK { 2 } else { 4 }).map(|n| n * rate));
    let mut lengths: Vec<usize> =
        corners.iter().flat_map(|&n| [n.saturating_sub(1), n, n + 1]).collect();
    lengths.push(chunk + rate / 2 + 3);
    lengths.extend((0..6).map(|_| random.below(4 * rate)));
    lengths.extend((0..4).map(|_| random.below(20 << 10)));
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

/// The bytes of one case. All of them, and the buffers' offsets, are random.
struct Case {
    key: Vec<u8>,
    nonce: Vec<u8>,
    ad: Vec<u8>,
    msg: Vec<u8>,
    offset: usize,
}

impl Case {
    fn new(aegis: Reference, random: &mut Random, ad_len: usize, msg_len: usize) -> Self {
        Case {
            key: random.bytes(aegis.key_len()),
            nonce: random.bytes(aegis.key_len()),
            ad: random.bytes(ad_len),
            msg: random.bytes(msg_len),
            offset: random.below(64),
        }
    }

    /// Checks every function that encrypts or decrypts, with 16- or 32-byte tags.
    fn check_aead(&self, cipher: &dyn Cipher, ct: &[u8], tag: &[u8]) {
        let Case { nonce, ad, msg, offset, .. } = self;
        let context =
            format!("{} bytes, {} of associated data, offset {offset}", msg.len(), ad.len());
        let sealed = [ct, tag].concat();
        let made = || Ok(tag.to_vec());
        // The other buffers have other offsets, so that all relations occur.
        let (here, there) = (*offset, offset * 7 + msg.len());
        let blank = vec![0xee; msg.len()];
        framed(ad, offset * 5 + 1, |ad| {
            let in_place = framed(msg, here, |buf| cipher.encrypt_in_place(nonce, ad, buf));
            assert_eq!(in_place, (ct.to_vec(), made()), "{context}");
            let in_place = framed(ct, here, |buf| cipher.decrypt_in_place(nonce, ad, buf, tag));
            assert_eq!(in_place, (msg.clone(), Ok(())), "{context}");

            let (source, _) = framed(msg, there, |msg| {
                let separate = framed(&blank, here, |buf| cipher.encrypt_into(nonce, ad, msg, buf));
                assert_eq!(separate, (ct.to_vec(), made()), "{context}");
            });
            assert_eq!(&source, msg, "{context}: the source has changed");
            let (source, _) = framed(ct, there, |ct| {
                let separate =
                    framed(&blank, here, |buf| cipher.decrypt_into(nonce, ad, ct, tag, buf));
                assert_eq!(separate, (msg.clone(), Ok(())), "{context}");
                assert_eq!(cipher.verify(nonce, ad, ct, tag), Ok(()), "{context}");
            });
            assert_eq!(source, ct, "{context}: the source has changed");

            let room = [&msg[..], &vec![0; tag.len()]].concat();
            let (out, result) = framed(&room, here, |buf| cipher.seal_in_place(nonce, ad, buf));
            assert_eq!((&out, result), (&sealed, Ok(())), "{context}");
            let (out, result) = framed(&room, here, |buf| cipher.seal_into(nonce, ad, msg, buf));
            assert_eq!((&out, result), (&sealed, Ok(())), "{context}");
            let (out, _) = framed(&sealed, here, |buf| {
                assert_eq!(cipher.open_in_place(nonce, ad, buf).unwrap(), msg, "{context}");
            });
            assert_eq!(out[msg.len()..], sealed[msg.len()..], "{context}");
            let (out, result) =
                framed(&blank, here, |buf| cipher.open_into(nonce, ad, &sealed, buf));
            assert_eq!((&out, result), (msg, Ok(())), "{context}");
        });
    }
}

/// Tests given lengths of associated data and message.
fn aead(variant: &dyn Variant, cases: &[(usize, usize)], random: &mut Random) {
    let aegis = variant.reference();
    let cases: Vec<_> = cases
        .iter()
        .map(|&(ad_len, msg_len)| {
            let case = Case::new(aegis, random, ad_len, msg_len);
            let expected = [16, 32]
                .map(|tag_len| aegis.encrypt(&case.key, &case.nonce, &case.ad, &case.msg, tag_len));
            (case, expected)
        })
        .collect();
    for_each_backend(|_| {
        for (case, expected) in &cases {
            for (ct, tag) in expected {
                case.check_aead(&*variant.cipher(tag.len(), &case.key), ct, tag);
            }
        }
    });
}

/// Tests every interesting length of the message, with some length of the associated data.
fn lengths_of_messages(variant: &dyn Variant) {
    let mut random = Random(1);
    let rate = variant.reference().rate();
    let lengths = lengths(rate, &mut random);
    let cases: Vec<_> = lengths.iter().map(|&len| (random.below(2 * rate + 2), len)).collect();
    aead(variant, &cases, &mut random);
}

#[test]
fn aead_lengths_of_messages() {
    for_each_variant(variants::ALL, lengths_of_messages);
}

/// Tests every interesting length of the associated data, with some length of the message.
fn lengths_of_ad(variant: &dyn Variant) {
    let mut random = Random(2);
    let rate = variant.reference().rate();
    let lengths = lengths(rate, &mut random);
    let cases: Vec<_> = lengths.iter().map(|&len| (len, random.below(100))).collect();
    aead(variant, &cases, &mut random);
}

#[test]
fn aead_lengths_of_associated_data() {
    for_each_variant(variants::ALL, lengths_of_ad);
}

/// Tests every offset of a buffer, with a message of whole steps and a partial one.
fn offsets(variant: &dyn Variant) {
    let mut random = Random(3);
    let aegis = variant.reference();
    let rate = aegis.rate();
    let mut case = Case::new(aegis, &mut random, rate + 20, 2 * rate + rate / 2 + 7);
    let expected =
        [16, 32].map(|tag_len| aegis.encrypt(&case.key, &case.nonce, &case.ad, &case.msg, tag_len));
    for_each_backend(|_| {
        for offset in (0..64).step_by(if reduced() { 9 } else { 1 }) {
            case.offset = offset;
            for (ct, tag) in &expected {
                case.check_aead(&*variant.cipher(tag.len(), &case.key), ct, tag);
            }
        }
    });
}

#[test]
fn aead_offsets() {
    for_each_variant(variants::KERNELS, offsets);
}

fn macs_agree(mac: &dyn Authenticator) {
    let mut random = Random(4);
    let aegis = mac.reference();
    let cases: Vec<_> = lengths(aegis.rate(), &mut random)
        .into_iter()
        .map(|len| {
            let case = Case::new(aegis, &mut random, 0, len);
            let tag = aegis.mac(&case.key, &case.nonce, &case.msg, mac.tag_len());
            (case, tag)
        })
        .collect();
    for_each_backend(|_| {
        for (Case { key, nonce, msg, offset, .. }, tag) in &cases {
            framed(msg, *offset, |data| {
                let context = format!("{} bytes, offset {offset}", data.len());
                assert_eq!(mac.mac(key, nonce, data).as_ref(), Ok(tag), "{context}");
                assert_eq!(mac.verify_mac(key, nonce, data, tag), Ok(()), "{context}");
                let mut mac = mac.begin(key, nonce).unwrap();
                mac.update(data).unwrap();
                assert_eq!(mac.finalize(), *tag, "{context}");
            });
        }
    });
}

#[test]
fn macs() {
    for_each_mac(macs::ALL, macs_agree);
}

fn streams_agree(variant: &dyn Variant) {
    let mut random = Random(5);
    let aegis = variant.reference();
    let lengths = lengths(aegis.rate(), &mut random);
    let (key, nonce) = (random.bytes(aegis.key_len()), random.bytes(aegis.key_len()));
    let whole = aegis.stream(&key, &nonce, *lengths.last().unwrap());
    for_each_backend(|_| {
        for &len in &lengths {
            let offset = len * 11 + 3;
            let (out, result) =
                framed(&vec![0xee; len], offset, |buf| variant.fill(&key, &nonce, buf));
            assert_eq!((&out[..], result), (&whole[..len], Ok(())), "{len} bytes");
            let (out, result) = framed(&whole[..len], offset, |buf| {
                variant.key_stream(&key, &nonce).unwrap().xor(buf)
            });
            assert_eq!((out, result), (vec![0; len], Ok(())), "{len} bytes");
        }
    });
}

#[test]
fn streams() {
    for_each_variant(variants::ALL, streams_agree);
}
