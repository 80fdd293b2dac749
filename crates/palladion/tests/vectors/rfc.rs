//! The vectors of RFC 10032, appendix A, read from the text files of the reference's tests, which
//! compare them with the RFC's own. Rounds, updates and states after initialisation are checked
//! there; an error in them would show in every tag.

use crate::common::{
    for_each_backend, for_each_mac, for_each_variant, key, known_answers, nonce, unhex,
};
use palladion::family::Family;
use palladion::{Aegis, Error, Mac, Tag};

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
fn of_variant<F: Family, const D: usize>(vectors: &[Vec<&str>]) -> Vec<Vec<Vec<u8>>> {
    let variant = [F::NAME_X.trim_start_matches("AEGIS-").trim_end_matches('X'), &D.to_string()];
    let these = vectors.iter().filter(|words| words[1..3] == variant);
    these.map(|words| words[3..].iter().map(|field| unhex(field)).collect()).collect()
}

fn tag<const T: usize>(tags: [&[u8]; 2]) -> Tag<T> {
    tags[T / 32].try_into().unwrap()
}

fn encrypts<F: Family, const D: usize>(vectors: &[Vec<&str>], count: &mut usize) {
    fn with_tag<F: Family, const D: usize, const T: usize>(v: &[Vec<u8>]) {
        let [key_bytes, nonce_bytes, ad, msg, ct, tag16, tag32] = v else {
            panic!("another number of fields")
        };
        let (cipher, nonce) =
            (Aegis::<F, D, T>::new(&key::<F>(key_bytes)), nonce::<F>(nonce_bytes));
        let tag = tag::<T>([tag16, tag32]);
        let mut buf = msg.clone();
        assert_eq!((cipher.encrypt_in_place(&nonce, ad, &mut buf), &buf), (Ok(tag), ct));
        assert_eq!((cipher.decrypt_in_place(&nonce, ad, &mut buf, &tag), &buf), (Ok(()), msg));
    }
    for v in of_variant::<F, D>(vectors) {
        with_tag::<F, D, 16>(&v);
        with_tag::<F, D, 32>(&v);
        *count += 1;
    }
}

#[test]
fn encryption() {
    let vectors = vectors("aead");
    for_each_backend(|backend| {
        let mut count = 0;
        for_each_variant!(rfc: encrypts(&vectors, &mut count));
        assert_eq!(count, 18);
        known_answers("RFC 10032, appendix A", "encryption", backend, count);
    });
}

fn refuses<F: Family, const D: usize>(vectors: &[Vec<&str>], count: &mut usize) {
    fn with_tag<F: Family, const D: usize, const T: usize>(v: &[Vec<u8>]) {
        let [key_bytes, nonce_bytes, ad, ct, tag16, tag32] = v else {
            panic!("another number of fields")
        };
        let (cipher, nonce) =
            (Aegis::<F, D, T>::new(&key::<F>(key_bytes)), nonce::<F>(nonce_bytes));
        let mut buf = ct.clone();
        let result = cipher.decrypt_in_place(&nonce, ad, &mut buf, &tag::<T>([tag16, tag32]));
        assert_eq!((result, buf), (Err(Error::VerificationFailed), vec![0; ct.len()]));
    }
    for v in of_variant::<F, D>(vectors) {
        with_tag::<F, D, 16>(&v);
        with_tag::<F, D, 32>(&v);
        *count += 1;
    }
}

#[test]
fn forgeries() {
    let vectors = vectors("forged");
    for_each_backend(|backend| {
        let mut count = 0;
        for_each_variant!(rfc: refuses(&vectors, &mut count));
        assert_eq!(count, 8);
        known_answers("RFC 10032, appendix A", "forgeries", backend, count);
    });
}

fn authenticates<F: Family, const D: usize, const T: usize>(
    vectors: &[Vec<&str>],
    count: &mut usize,
) {
    for v in of_variant::<F, D>(vectors) {
        let [key_bytes, nonce_bytes, data, _, tag16, _, tag32] = &v[..] else {
            panic!("another number of fields")
        };
        let (key, nonce) = (key::<F>(key_bytes), nonce::<F>(nonce_bytes));
        assert_eq!(Mac::<F, D, T>::mac(&key, &nonce, data), Ok(tag([tag16, tag32])));
        *count += 1;
    }
}

#[test]
fn macs() {
    let vectors = vectors("mac");
    for_each_backend(|backend| {
        let mut count = 0;
        for_each_mac!(rfc: authenticates(&vectors, &mut count));
        assert_eq!(count, 2 * 6, "with two tags each");
        known_answers("RFC 10032, appendix A", "MACs", backend, count / 2);
    });
}
