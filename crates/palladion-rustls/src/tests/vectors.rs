//! The vectors of draft-denis-tls-aegis.

use std::marker::PhantomData;

use palladion::family::{Aegis128, Aegis256, Family};
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::crypto::tls13::{HkdfExpander, OkmBlock, expand};
use rustls::quic::Algorithm;
use rustls::{SupportedCipherSuite, Tls13CipherSuite};

use crate::iv::look_up;
use crate::quic::Quic;
use crate::{TLS13_AEGIS_128L_SHA256, TLS13_AEGIS_256_SHA512};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// HKDF-Expand-Label (RFC 8446 §7.1) as rustls passes it on.
fn with_label<T>(label: &str, context: &[u8], len: usize, expand: impl FnOnce(&[&[u8]]) -> T) -> T {
    let (len, label_len) = ((len as u16).to_be_bytes(), [6 + label.len() as u8]);
    expand(&[&len, &label_len, b"tls13 ", label.as_bytes(), &[context.len() as u8], context])
}

fn block(expander: &dyn HkdfExpander, label: &str, context: &[u8]) -> OkmBlock {
    with_label(label, context, expander.hash_len(), |info| expander.expand_block(info))
}

/// Follows the key schedule from the shared key to the keys and IVs of the handshake.
fn check_handshake(suite: &SupportedCipherSuite, vector: [&str; 6]) {
    let Tls13CipherSuite { common, hkdf_provider, aead_alg, .. } = suite.tls13().expect("TLS 1.3");
    let [shared_key, hello_hash, client_key, client_iv, server_key, server_iv] = vector.map(hex);
    let empty = common.hash_provider.hash(b"");
    let early = hkdf_provider.extract_from_zero_ikm(None);
    let salt = block(&*early, "derived", empty.as_ref());
    let handshake = hkdf_provider.extract_from_secret(Some(salt.as_ref()), &shared_key);
    for (label, key, iv) in
        [("c hs traffic", client_key, client_iv), ("s hs traffic", server_key, server_iv)]
    {
        let secret = block(&*handshake, label, &hello_hash);
        let expander = hkdf_provider.expander_for_okm(&secret);
        assert_eq!(aead_alg.key_len(), key.len());
        let derived: AeadKey = with_label("key", &[], key.len(), |info| expand(&*expander, info));
        assert_eq!(derived.as_ref()[..key.len()], key);
        let number: Iv = with_label("iv", &[], 12, |info| expand(&*expander, info));
        assert_eq!(look_up(&number).as_deref(), Some(&iv));
        drop(expander);
        assert_eq!(look_up(&number), None);
    }
}

#[test]
fn handshake_keys_are_those_of_the_draft() {
    check_handshake(
        &TLS13_AEGIS_128L_SHA256,
        [
            "cbb2b72da2bc70eb85fae05a8f6bc929 6f3e2f9693e5972a7b2a3da608e5eda2",
            "b77594edb8abd3acc4db7f5ead5869e1 96fff7d0fb1beb2bffbaac850bf479d8",
            "2474bdcd8e8c8dff18af9e169e4470ea",
            "42fe48bd086cc5ddaf43be4500d0c7f2",
            "e0d7ea14104a89cfdf253e1f0e0302b0",
            "cc421814028367299508e120a7cb3ad2",
        ],
    );
    check_handshake(
        &TLS13_AEGIS_256_SHA512,
        [
            "724d41a7ccadc6435d4305dd6756bd01 5e26dd0544a19733a2c08430f128b218",
            "1a8fd72e2630e12817d768bae1248367 30c07141c4ab4cc3423d7f16c3c1a84b \
             91d4c4194453dbc85fca8738b4e9ea3c 783bb6d99f579fd6c2f599c69c1c79e1",
            "08a37693b14937177d75149422944c34 9019de948f6922c2c516d941c0bdafe4",
            "e0a2155fedcb592a29588bdcf06334f0 4dc6b5c40e659051e62071cb87f8be2c",
            "366e1ebfb124508aa69137ccef542756 c0a748525c5bdc16acd79c66856e7c82",
            "8f883c1bb0eae38960efdb717f6b19cf c929d565ad596f1f4b3daab498a7fc29",
        ],
    );
}

/// The mask of header protection, for the key 00 01 02 ... and the sample that counts on from it.
fn mask<F: Family + 'static, const D: usize>() -> [u8; 5] {
    let count: [u8; 48] = std::array::from_fn(|i| i as u8);
    let (key, rest) = count.split_at(F::KEY_LEN);
    let key = AeadKey::from(std::array::from_fn(|i| key.get(i).copied().unwrap_or(0)));
    // A long header: the low four bits of the first byte are protected.
    let (mut first, mut number) = (0x83, [0; 4]);
    let algorithm = Quic::<F, D>(PhantomData);
    let hidden = algorithm.header_protection_key(key);
    hidden.encrypt_in_place(&rest[..16], &mut first, &mut number).unwrap();
    [first ^ 0x83, number[0], number[1], number[2], number[3]]
}

#[test]
fn header_protection_is_that_of_the_draft() {
    assert_eq!(mask::<Aegis128, 1>(), [0x60 & 0x0f, 0xed, 0xe1, 0xc8, 0x11]);
    assert_eq!(mask::<Aegis128, 2>(), [0x6b & 0x0f, 0xf2, 0x29, 0x24, 0x72]);
    assert_eq!(mask::<Aegis256, 1>(), [0x6e & 0x0f, 0x3a, 0x2c, 0xe2, 0x97]);
    assert_eq!(mask::<Aegis256, 2>(), [0x7a & 0x0f, 0x51, 0x5c, 0xfb, 0x0c]);
}
