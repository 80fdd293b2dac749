//! Calls that must fail do fail, with the right error. They leave zeros where a message would have
//! been, and everything else unchanged.

use crate::common::erased::{Authenticator, Cipher, Variant};
use crate::common::{
    Random, assert_fails, flipped, for_each_backend, for_each_mac, for_each_variant, framed, macs,
    reduced, variants,
};
use palladion::{
    Aegis256X2, Aegis256X2Mac, Error, Key128, Key256, MAX_LEN, Nonce128, Nonce256, Tag,
};

/// The previous contents of a buffer: neither zeros nor a message.
const BEFORE: u8 = 0xee;

const REFUSED: Error = Error::VerificationFailed;

/// The inputs of a decryption: key, nonce, associated data, ciphertext, tag.
type Inputs<'a> = [&'a [u8]; 5];

/// Checks that every way to decrypt rejects these inputs.
fn decryption_refuses(variant: &dyn Variant, inputs: Inputs<'_>, what: &str) {
    let [key, nonce, ad, ct, tag] = inputs;
    let cipher = variant.cipher(tag.len(), key);
    let sealed = [ct, tag].concat();
    let (before, zeroed) = (vec![BEFORE; ct.len()], (vec![0; ct.len()], Err(REFUSED)));

    assert_eq!(framed(ct, 1, |buf| cipher.decrypt_in_place(nonce, ad, buf, tag)), zeroed, "{what}");
    assert_eq!(
        framed(&before, 2, |buf| cipher.decrypt_into(nonce, ad, ct, tag, buf)),
        zeroed,
        "{what}"
    );
    assert_eq!(cipher.verify(nonce, ad, ct, tag), Err(REFUSED), "{what}");

    let (out, result) = framed(&sealed, 3, |buf| cipher.open_in_place(nonce, ad, buf).map(drop));
    assert_eq!((out[..ct.len()].to_vec(), result), zeroed, "{what}");
    assert_eq!(
        framed(&before, 4, |buf| cipher.open_into(nonce, ad, &sealed, buf)),
        zeroed,
        "{what}"
    );
    assert_eq!(cipher.open(nonce, ad, &sealed), Err(REFUSED), "{what}");
    assert_eq!(cipher.open_with_nonce(ad, &[nonce, &sealed].concat()), Err(REFUSED), "{what}");

    let (first, second) = ct.split_at(ct.len() / 2);
    let (out, result) = framed(&vec![BEFORE; ct.len() + 7], 5, |output| {
        let mut decryptor = cipher.decryptor(nonce, ad, output).unwrap();
        decryptor.update(first).unwrap();
        decryptor.update(second).unwrap();
        decryptor.finalize(tag).map(drop)
    });
    assert_eq!((out[..ct.len()].to_vec(), result), zeroed, "{what}");
    assert_eq!(out[ct.len()..], [BEFORE; 7], "{what}");

    let mut decryptor = variant.session(key, nonce, ad).unwrap();
    let mut unverified = ct.to_vec();
    decryptor.decrypt_in_place(&mut unverified).unwrap();
    assert_eq!(decryptor.verify(tag), Err(REFUSED), "{what}");
}

/// Checks that every way to verify a MAC rejects these inputs: key, nonce, data, tag.
fn mac_refuses(mac: &dyn Authenticator, inputs: [&[u8]; 4], what: &str) {
    let [key, nonce, data, tag] = inputs;
    assert_eq!(mac.verify_mac(key, nonce, data, tag), Err(REFUSED), "{what}");
    let mut mac = mac.begin(key, nonce).unwrap();
    mac.update(data).unwrap();
    assert_eq!(mac.verify(tag), Err(REFUSED), "{what}");
}

/// Calls `refuses` with every bit of every input changed, and with a byte added to or removed from
/// inputs that have no fixed length.
fn with_every_change<const N: usize>(
    inputs: [&[u8]; N],
    names: [&str; N],
    variable: &[usize],
    refuses: &dyn Fn([&[u8]; N], &str),
) {
    let changed = |which: usize, change: &str, value: &[u8]| {
        let mut inputs = inputs;
        inputs[which] = value;
        refuses(inputs, &format!("{change} of the {}", names[which]));
    };
    for (which, input) in inputs.iter().enumerate() {
        // If reduced, fewer bits, at all places in a byte.
        for bit in (0..8 * input.len()).step_by(if reduced() { 7 } else { 1 }) {
            changed(which, &format!("bit {bit}"), &flipped(input, bit));
        }
    }
    for &which in variable {
        let input = inputs[which];
        changed(which, "a zero more at the end", &[input, &[0]].concat());
        changed(which, "a zero more at the beginning", &[&[0], input].concat());
        if let ([first, but_first @ ..], [but_last @ .., last]) = (input, input) {
            changed(
                which,
                "the first byte moved to the end",
                &[but_first, &[*first ^ 0x80]].concat(),
            );
            changed(which, "without the first byte", but_first);
            changed(which, "without the last byte", but_last);
            changed(which, "the last byte twice", &[input, &[*last]].concat());
        }
    }
}

fn changes_of(variant: &dyn Variant) {
    let mut random = Random(21);
    let (rate, key_len) = (variant.reference().rate(), variant.reference().key_len());
    for (ad_len, msg_len) in [(0, 0), (rate + 3, rate + 5)] {
        for tag_len in [16, 32] {
            let [key, nonce, ad, msg] =
                [key_len, key_len, ad_len, msg_len].map(|len| random.bytes(len));
            let cipher = variant.cipher(tag_len, &key);
            let mut ct = msg.clone();
            let tag = cipher.encrypt_in_place(&nonce, &ad, &mut ct).unwrap();
            // Unchanged inputs are accepted, so whatever fails below fails because of the change.
            assert_eq!(cipher.decrypt_in_place(&nonce, &ad, &mut ct.clone(), &tag), Ok(()));
            let names = ["key", "nonce", "associated data", "ciphertext", "tag"];
            with_every_change([&key, &nonce, &ad, &ct, &tag], names, &[2, 3], &|inputs, what| {
                decryption_refuses(variant, inputs, what);
            });
        }
    }
}

#[test]
fn every_change_of_a_ciphertext_is_refused() {
    for_each_backend(|_| for_each_variant(variants::SAMPLE, changes_of));
}

fn changes_of_mac(mac: &dyn Authenticator) {
    let mut random = Random(22);
    let aegis = mac.reference();
    for len in [0, 2 * aegis.rate() + 5] {
        let [key, nonce, data] =
            [aegis.key_len(), aegis.key_len(), len].map(|len| random.bytes(len));
        let tag = mac.mac(&key, &nonce, &data).unwrap();
        assert_eq!(mac.verify_mac(&key, &nonce, &data, &tag), Ok(()));
        let names = ["key", "nonce", "data", "tag"];
        with_every_change([&key, &nonce, &data, &tag], names, &[2], &|inputs, what| {
            mac_refuses(mac, inputs, what);
        });
    }
}

#[test]
fn every_change_of_a_mac_is_refused() {
    for_each_backend(|_| for_each_mac(macs::SAMPLE, changes_of_mac));
}

/// A key, a nonce, associated data, a message of 45 bytes, its ciphertext and its tag.
struct Example {
    key: Vec<u8>,
    nonce: Vec<u8>,
    ad: &'static [u8],
    msg: Vec<u8>,
    ct: Vec<u8>,
    tag: Vec<u8>,
}

/// Returns a cipher and an example for it.
fn example(variant: &dyn Variant, tag_len: usize) -> (Box<dyn Cipher>, Example) {
    let mut random = Random(23);
    let key_len = variant.reference().key_len();
    let [key, nonce, msg] = [key_len, key_len, 45].map(|len| random.bytes(len));
    let cipher = variant.cipher(tag_len, &key);
    let mut ct = msg.clone();
    let tag = cipher.encrypt_in_place(&nonce, b"ad", &mut ct).unwrap();
    (cipher, Example { key, nonce, ad: b"ad", msg, ct, tag })
}

fn decryptor_shows(variant: &dyn Variant, tag_len: usize) {
    let (cipher, Example { nonce, ad, msg, ct, tag, .. }) = example(variant, tag_len);
    let before = [BEFORE; 60];
    for taken in 0..=ct.len() {
        // Dropped before the end: what was written is zeroed, the rest is unchanged.
        let (out, ()) = framed(&before, taken, |output| {
            let mut decryptor = cipher.decryptor(&nonce, ad, output).unwrap();
            decryptor.update(&ct[..taken]).unwrap();
        });
        assert_eq!(out, [&vec![0; taken][..], &before[taken..]].concat());

        // Finalized too early, with the tag of the whole message.
        let (out, result) = framed(&before, taken, |output| {
            let mut decryptor = cipher.decryptor(&nonce, ad, output).unwrap();
            decryptor.update(&ct[..taken]).unwrap();
            decryptor.finalize(&tag).map(|message| message.to_vec())
        });
        if taken < ct.len() {
            assert_eq!(result, Err(REFUSED));
            assert_eq!(out, [&vec![0; taken][..], &before[taken..]].concat());
        } else {
            assert_eq!(result, Ok(msg.clone()));
            assert_eq!(out, [&msg[..], &before[taken..]].concat());
        }
    }

    // A piece that does not fit is rejected and changes nothing: the right pieces still work.
    let mut output = [BEFORE; 45];
    let mut decryptor = cipher.decryptor(&nonce, ad, &mut output).unwrap();
    decryptor.update(&ct[..40]).unwrap();
    let too_short = Error::TooShort { what: "output", min: 46, actual: 45 };
    assert_eq!(decryptor.update(&[0; 6]), Err(too_short));
    decryptor.update(&ct[40..]).unwrap();
    decryptor.update(&[]).unwrap();
    assert_eq!(decryptor.finalize(&tag).unwrap(), msg);
}

#[test]
fn a_decryptor_shows_nothing_unverified() {
    for_each_backend(|_| {
        for_each_variant(variants::SAMPLE, |variant| {
            decryptor_shows(variant, 16);
            decryptor_shows(variant, 32);
        });
    });
}

fn wrong_lengths_of(variant: &dyn Variant, tag_len: usize) {
    let (cipher, Example { key, nonce, ad, msg, ct, tag }) = example(variant, tag_len);
    let sealed = [&ct[..], &tag].concat();
    // Checks that a call on a buffer of this length gives this error and does not change it.
    let fails = |len: usize, error: Error, call: &dyn Fn(&mut [u8]) -> Result<(), Error>| {
        let before = vec![BEFORE; len];
        assert_eq!(framed(&before, len, call), (before, Err(error)));
    };
    for actual in [0, 1, 44, 46, 45 + tag_len] {
        let wrong = Error::WrongLength { what: "output", expected: 45, actual };
        fails(actual, wrong, &|buf| cipher.encrypt_into(&nonce, ad, &msg, buf).map(drop));
        fails(actual, wrong, &|buf| cipher.decrypt_into(&nonce, ad, &ct, &tag, buf));
        fails(actual, wrong, &|buf| cipher.open_into(&nonce, ad, &sealed, buf));
    }
    for actual in [0, tag_len, 45, 44 + tag_len, 46 + tag_len] {
        let wrong = Error::WrongLength { what: "output", expected: 45 + tag_len, actual };
        fails(actual, wrong, &|buf| cipher.seal_into(&nonce, ad, &msg, buf));
    }
    for actual in 0..tag_len {
        let short = |what| Error::TooShort { what, min: tag_len, actual };
        fails(actual, short("buffer"), &|buf| cipher.seal_in_place(&nonce, ad, buf));
        fails(actual, short("ciphertext"), &|buf| cipher.open_in_place(&nonce, ad, buf).map(drop));
        fails(3, short("ciphertext"), &|buf| cipher.open_into(&nonce, ad, &sealed[..actual], buf));
        assert_eq!(cipher.open(&nonce, ad, &sealed[..actual]), Err(short("ciphertext")));
    }
    let min = nonce.len() + tag_len;
    for actual in 0..min {
        let short = Error::TooShort { what: "sealed message", min, actual };
        assert_eq!(cipher.open_with_nonce(ad, &vec![0; actual]), Err(short));
    }
    // A truncated sealed message is rejected, wherever it is cut.
    for len in tag_len..sealed.len() {
        assert_eq!(cipher.open(&nonce, ad, &sealed[..len]), Err(REFUSED));
    }

    // In the middle of a message, a rejected piece changes nothing.
    let mut encryptor = cipher.encryptor(&nonce, ad).unwrap();
    let mut decryptor = variant.session(&key, &nonce, ad).unwrap();
    let (mut encrypted, mut decrypted) = ([0; 45], [0; 45]);
    for place in [0..20, 20..45] {
        for actual in [0, 29, 31] {
            let wrong = Error::WrongLength { what: "output", expected: 30, actual };
            let mut output = vec![BEFORE; actual];
            assert_eq!(encryptor.update_into(&[0; 30], &mut output), Err(wrong));
            assert_eq!(decryptor.decrypt_into(&[0; 30], &mut output), Err(wrong));
            assert_eq!(output, vec![BEFORE; actual]);
        }
        encryptor.update_into(&msg[place.clone()], &mut encrypted[place.clone()]).unwrap();
        decryptor.decrypt_into(&ct[place.clone()], &mut decrypted[place]).unwrap();
    }
    assert_eq!((&encrypted[..], encryptor.finalize()), (&ct[..], tag.clone()));
    assert_eq!((&decrypted[..], decryptor.verify(&tag)), (&msg[..], Ok(())));
}

#[test]
fn wrong_lengths_are_refused() {
    for_each_backend(|_| {
        for_each_variant(variants::SAMPLE, |variant| {
            wrong_lengths_of(variant, 16);
            wrong_lengths_of(variant, 32);
        });
    });
}

#[test]
fn keys_nonces_and_tags_have_their_length() {
    for actual in (0..100).filter(|len| *len != 16) {
        let bytes = &[0; 100][..actual];
        let wrong = |what, expected| Error::WrongLength { what, expected, actual };
        assert_fails(Key128::try_from(bytes), wrong("key", 16));
        assert_fails(Nonce128::try_from(bytes), wrong("nonce", 16));
        assert_fails(Tag::<16>::try_from(bytes), wrong("tag", 16));
        if actual != 32 {
            assert_fails(Key256::try_from(bytes), wrong("key", 32));
            assert_fails(Nonce256::try_from(bytes), wrong("nonce", 32));
            assert_fails(Tag::<32>::try_from(bytes), wrong("tag", 32));
        }
    }
}

/// Debug output does not reveal secrets by accident.
#[test]
fn debug_output_has_no_secrets() {
    let (key, nonce) = (Key256::from([0xab; 32]), Nonce256::from([0xcd; 32]));
    let cipher = Aegis256X2::<32>::new(&key);
    let mut mac = Aegis256X2Mac::<32>::new(&key, &nonce).unwrap();
    mac.update(&[1; 45]).unwrap();
    let mut encryptor = cipher.encryptor(&nonce, b"ad").unwrap();
    encryptor.update_in_place(&mut [1; 45]).unwrap();
    assert_eq!(format!("{:?}", Key128::from([0xab; 16])), "Key(..)");
    assert_eq!(format!("{cipher:?}"), "AEGIS-256X2 with 32-byte tags, key not shown");
    assert_eq!(format!("{mac:?}"), "Mac { bytes: 45, .. }");
    assert_eq!(format!("{encryptor:?}"), "Encryptor { bytes: 45, .. }");
}

#[test]
fn errors_say_what_is_wrong() {
    for (error, text) in [
        (
            Error::VerificationFailed,
            "verification failed: the key is wrong, or the ciphertext, tag, nonce or \
             associated data was changed",
        ),
        (
            Error::TooLong { what: "message", max: MAX_LEN },
            "the message is longer than 2305843009213693951 bytes",
        ),
        (
            Error::TooShort { what: "ciphertext", min: 16, actual: 3 },
            "the ciphertext must have at least 16 bytes, but has 3",
        ),
        (
            Error::WrongLength { what: "output", expected: 45, actual: 44 },
            "the output must have 45 bytes, but has 44",
        ),
        (Error::NoRandomness, "the operating system gave no random bytes"),
    ] {
        assert_eq!(error.to_string(), text);
        let as_trait: &dyn std::error::Error = &error;
        assert_eq!(as_trait.to_string(), text);
    }
}
