//! The forms of 2023.

use palladion_reference::historic::{TagWords, encrypt, encrypt_with_context};
use palladion_reference::{Aegis, Family};

use crate::{bytes, some_variants, unhex};

/// Key, nonce and first associated data of the paper; the vectors that came after it have the same.
fn inputs(family: Family) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let len = Aegis::new(family, 1).key_len() as u8;
    ((0..len).collect(), (0x10..0x10 + len).collect(), unhex("0102030401020304"))
}

/// The four vectors of ePrint 2023/523, appendix A.
#[test]
fn the_papers_vectors() {
    let msg = unhex("050607080506070805060708");
    for (family, empty_tag, ct, tag) in [
        (
            Family::Aegis128,
            "d180aa6a90f29dedd6825b8c053f599b",
            "985bac76fe1cefaa0b24d4d2",
            "790b9a7342ee72e8b45202cd9c6195cf",
        ),
        (
            Family::Aegis256,
            "ddbc7695b01623f82eee962f160bf267",
            "a0b3f5b6b93db779c9d1b9de",
            "fd2e93a6eb0b74dc30eb984fbec1d657",
        ),
    ] {
        let aegis = Aegis::new(family, 2);
        let (key, nonce, ad) = inputs(family);
        let paper =
            |ad: &[u8], msg: &[u8]| encrypt(aegis, TagWords::Five, &key, &nonce, ad, msg, 16);
        assert_eq!(paper(&[], &[]), (vec![], unhex(empty_tag)));
        assert_eq!(paper(&ad, &msg), (unhex(ct), unhex(tag)));

        // The words of the tag matter to the AEGIS-128 family only.
        let seven = encrypt(aegis, TagWords::Seven, &key, &nonce, &ad, &msg, 16);
        assert_eq!(seven == (unhex(ct), unhex(tag)), family == Family::Aegis256);
        assert_eq!(seven.0, unhex(ct));

        // The RFC says something else.
        assert_ne!(aegis.encrypt(&key, &nonce, &ad, &msg, 16), (unhex(ct), unhex(tag)));
    }
}

/// The vectors that the draft had until November 2023 (and implementations from August on).
#[test]
fn the_drafts_vectors_before_the_degree_byte() {
    let msg = unhex("04050607").repeat(30);
    for (family, degree, ct, tag16, tag32) in [
        (
            Family::Aegis128,
            2,
            "9958ad79ff1feea50a27d5dd88728d157a4ce0cd996b9fffb4fde113ef646de4aa67278fb1ebcb65\
             71526b309d708447c818ffc3d84c9c73b0cca3040bb85b81d366311956f4cb1a66b02b25b58a7f75\
             9797169b0e398c4db16c9a577d4de1805d646b823fa095ec34feefb58768efc06d9516c55b653f91",
            "179247ab85ea2c4f9f712cac8bb7c9d3",
            "04ad653f69c3e3bf3d29013367473ade573551bdcf71f32a0debb089e58fb9e1",
        ),
        (
            Family::Aegis128,
            4,
            "9958ad79ff1feea50a27d5dd88728d157a4ce0cd996b9fffb4fde113ef646de46e4c5230174a6268\
             f89f01d557879360a9068d7cb825bb0e8a97ea2e82059f69aa67278fb1ebcb6571526b309d708447\
             c818ffc3d84c9c73b0cca3040bb85b8193fc9a4499e384ae87bfeaa46f514b6330c147c3ddbb6e94",
            "58038e00f6b7e861e2badb160beb71d4",
            "01d860572aa4ce5b83183cc94bc9fb445e2d70c0687f6fbc6991c2918d3ab0e8",
        ),
        (
            Family::Aegis256,
            2,
            "a1b0f4b9b83eb676c8d2b8d1692be03d95280efa4e2c09962880dc614f94642ba7581f933d98c735\
             5623ff63be82bb8a476ddd0dfe0185b4e8da6c25bd9f38b9d09e0ec9baf01cd47369dbca9d331bfc\
             d49fb4e6806e61f344d61b11ac552e4c50c6d26570210e1202eb9b347b908a55361ea8d15f8494e3",
            "3c24d8bed42e92d3f85535946545fe38",
            "3e3543e177aec683d341ca2ae92a8a1b02119b5fa38054502b14ffbe8c6f7423",
        ),
        (
            Family::Aegis256,
            4,
            "a1b0f4b9b83eb676c8d2b8d1692be03d95280efa4e2c09962880dc614f94642bd4f1068ba92cf7bf\
             d89c2acd70ef492b0544105f5c3b948cee0248486b4a3411a7581f933d98c7355623ff63be82bb8a\
             476ddd0dfe0185b4e8da6c25bd9f38b9d1da0307b0f33484ed9abad2c9184cb4b58d7a8a486c0605",
            "2ddf105d8bb7a2d7adb60cd5a5285183",
            "da85a761bdd56e8c11d3179e11ed353af75ab73c3662cc5bbc651b4bb4c564b9",
        ),
    ] {
        let (key, nonce, ad) = inputs(family);
        for tag in [tag16, tag32].map(unhex) {
            let aegis = Aegis::new(family, degree);
            let old = encrypt(aegis, TagWords::Seven, &key, &nonce, &ad, &msg, tag.len());
            assert_eq!(old, (unhex(ct), tag));
        }
    }
}

/// Sections 3 and 4 of the paper: lane `i` is the base cipher with the context `i`, fed with every
/// `D`th block.
#[test]
fn a_lane_is_the_base_cipher_with_a_context() {
    for aegis in some_variants() {
        let (key, nonce) = (bytes(1, aegis.key_len()), bytes(2, aegis.key_len()));
        let (ad, msg) = (bytes(3, 2 * aegis.rate()), bytes(4, 5 * aegis.rate()));
        let (ct, _) = encrypt(aegis, TagWords::Seven, &key, &nonce, &ad, &msg, 16);
        for lane in 0..aegis.degree {
            let fragment = |whole: &[u8]| -> Vec<u8> {
                whole.chunks(16).skip(lane).step_by(aegis.degree).collect::<Vec<_>>().concat()
            };
            let (ad, msg) = (fragment(&ad), fragment(&msg));
            let base =
                encrypt_with_context(aegis.family, &[lane as u8], &key, &nonce, &ad, &msg, 16).0;
            assert_eq!(base, fragment(&ct));
        }
    }
}

/// Without a context, or with zeros, the base ciphers of the paper are those of the RFC; so is
/// degree 1.
#[test]
fn no_context_changes_nothing() {
    for family in [Family::Aegis128, Family::Aegis256] {
        let aegis = Aegis::new(family, 1);
        let (key, nonce) = (bytes(5, aegis.key_len()), bytes(6, aegis.key_len()));
        let (ad, msg) = (bytes(7, 33), bytes(8, 77));
        for tag_len in [16, 32] {
            let expected = aegis.encrypt(&key, &nonce, &ad, &msg, tag_len);
            for ctx in [&[][..], &[0], &[0; 16]] {
                assert_eq!(
                    encrypt_with_context(family, ctx, &key, &nonce, &ad, &msg, tag_len),
                    expected
                );
            }
            assert_ne!(
                encrypt_with_context(family, &[1], &key, &nonce, &ad, &msg, tag_len),
                expected
            );
            assert_eq!(encrypt(aegis, TagWords::Seven, &key, &nonce, &ad, &msg, tag_len), expected);
        }
    }
}
