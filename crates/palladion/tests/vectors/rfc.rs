//! The vectors of RFC 10032, appendix A, read from the text files of the reference's tests, which
//! compare them with the RFC's own. Rounds, updates and states after initialisation are checked
//! there; an error in them would show in every tag.

use crate::common::erased::{Authenticator, Variant};
use crate::common::{
    Hex, for_each_backend, for_each_mac, for_each_variant, known_answers, macs, unhex, variants,
};
use palladion::Error;
use palladion_reference::{Aegis as Reference, Family};

/// Returns the fields of all vectors of a kind.
fn vectors(kind: &str) -> Vec<Vec<&'static str>> {
    let mut vectors: Vec<Vec<&str>> = Vec::new();
    for line in include_str!("../../../../reference/tests/reference/rfc10032.txt").lines() {
        let words = line.split_whitespace();
        if line.starts_with(' ') {
            vectors.last_mut().unwrap().extend(words);
        } else if !line.is_empty() && !line.starts_with('#') {
            vectors.push(words.collect());
        }
    }
    assert_eq!(vectors.len(), 39, "all vectors of all kinds");
    vectors.retain(|words| words[0] == kind);
    vectors
}

/// Returns the fields after the degree of the vectors of this variant.
fn of_variant(variant: Reference, vectors: &[Vec<&str>]) -> Vec<Vec<Vec<u8>>> {
    let family = if variant.family == Family::Aegis128 { "128" } else { "256" };
    let variant = [family, &variant.degree.to_string()];
    let these = vectors.iter().filter(|words| words[1..3] == variant);
    these.map(|words| words[3..].iter().map(|field| unhex(field)).collect()).collect()
}

fn encrypts(variant: &dyn Variant, vectors: &[Vec<&str>]) -> usize {
    let vectors = of_variant(variant.reference(), vectors);
    for v in &vectors {
        let [key, nonce, ad, msg, ct, tag16, tag32] = &v[..] else {
            panic!("another number of fields")
        };
        for tag in [tag16, tag32] {
            let cipher = variant.cipher(tag.len(), key);
            let mut buf = msg.clone();
            let made = cipher.encrypt_in_place(nonce, ad, &mut buf);
            assert_eq!((made.as_deref().map(Hex), Hex(&buf)), (Ok(Hex(tag)), Hex(ct)));
            let opened = cipher.decrypt_in_place(nonce, ad, &mut buf, tag);
            assert_eq!((opened, Hex(&buf)), (Ok(()), Hex(msg)));
        }
    }
    vectors.len()
}

#[test]
fn encryption() {
    let vectors = vectors("aead");
    for_each_backend(|backend| {
        let mut count = 0;
        for_each_variant(variants::RFC, |variant| count += encrypts(variant, &vectors));
        assert_eq!(count, 18);
        known_answers("RFC 10032, appendix A", "encryption", backend, count);
    });
}

fn refuses(variant: &dyn Variant, vectors: &[Vec<&str>]) -> usize {
    let vectors = of_variant(variant.reference(), vectors);
    for v in &vectors {
        let [key, nonce, ad, ct, tag16, tag32] = &v[..] else { panic!("another number of fields") };
        for tag in [tag16, tag32] {
            let mut buf = ct.clone();
            let result = variant.cipher(tag.len(), key).decrypt_in_place(nonce, ad, &mut buf, tag);
            assert_eq!((result, buf), (Err(Error::VerificationFailed), vec![0; ct.len()]));
        }
    }
    vectors.len()
}

#[test]
fn forgeries() {
    let vectors = vectors("forged");
    for_each_backend(|backend| {
        let mut count = 0;
        for_each_variant(variants::RFC, |variant| count += refuses(variant, &vectors));
        assert_eq!(count, 8);
        known_answers("RFC 10032, appendix A", "forgeries", backend, count);
    });
}

fn authenticates(mac: &dyn Authenticator, vectors: &[Vec<&str>]) -> usize {
    let vectors = of_variant(mac.reference(), vectors);
    for v in &vectors {
        let [key, nonce, data, _, tag16, _, tag32] = &v[..] else {
            panic!("another number of fields")
        };
        let tag = if mac.tag_len() == 16 { tag16 } else { tag32 };
        assert_eq!(mac.mac(key, nonce, data).as_deref().map(Hex), Ok(Hex(tag)));
    }
    vectors.len()
}

#[test]
fn macs() {
    let vectors = vectors("mac");
    for_each_backend(|backend| {
        let mut count = 0;
        for_each_mac(macs::RFC, |mac| count += authenticates(mac, &vectors));
        assert_eq!(count, 2 * 6, "with two tags each");
        known_answers("RFC 10032, appendix A", "MACs", backend, count / 2);
    });
}
