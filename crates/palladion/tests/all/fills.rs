//! Where a message is cut into pieces does not matter. This is a proof by induction that enumerates
//! all cases: all pairs of what came before and what comes next.
//!
//! Two numbers decide what a call does: how many bytes of a step have come (the fill, which is the
//! length so far modulo the rate) and how many come now. The length so far is otherwise only added
//! to, compared with the limit, and used for the tag. The claim: a session that has taken some
//! bytes, in any pieces, is in the same state as after taking them in one piece, with the same
//! words, the same lengths and, if a step has begun, the same partial step. It is true of a new
//! session. If it is true before a call, it is true after it: the test checks the state itself for
//! every fill and every length from 0 to two rates and one byte.
//!
//! A longer piece does nothing else. It completes the step that has begun, passes all whole steps
//! to one call of a kernel, and begins a step with the rest. The three lengths are the complement
//! of the fill, a multiple of the rate, and a remainder. Here the first and the last take all
//! values, in all combinations, and the second is 0, 1 and 2 rates. `lengths.rs` compares kernels
//! for more steps with the reference.

use crate::common::erased::{Authenticator, Session, Variant};
use crate::common::{
    Random, assert_fails, for_each_backend, for_each_mac, for_each_variant, macs, reduced, variants,
};
use palladion::{Error, MAX_LEN};
use palladion_reference::{State, blocks};

/// The fills and lengths to test: all or, if reduced, some of them and those around blocks and
/// steps.
fn numbers(end: usize, rate: usize) -> impl Iterator<Item = usize> + Clone {
    let step = if reduced() { (rate / 4) | 1 } else { 1 };
    let near = move |n: usize| n % rate <= 1 || n % rate == rate - 1;
    (0..end).filter(move |n| n.is_multiple_of(step) || (near(*n) && rate <= 64))
}

/// The length of the three numbers at the end of a session: the two lengths, and whether the
/// message has begun.
const NUMBERS: usize = 24;

/// Returns the state of a session, without the partial step if none has begun.
fn state(variant: &dyn Variant, session: &dyn Session, len: usize) -> Vec<u8> {
    let rate = variant.reference().rate();
    let mut bytes = vec![0; variant.session_len()];
    session.to_bytes(&mut bytes).unwrap();
    if len.is_multiple_of(rate) {
        let end = bytes.len() - NUMBERS;
        bytes[end - rate..end].fill(0);
    }
    bytes
}

fn aead(variant: &dyn Variant) {
    let (rate, key_len) = (variant.reference().rate(), variant.reference().key_len());
    let mut random = Random(71);
    let (key, nonce) = (random.bytes(key_len), random.bytes(key_len));
    let (ad, msg) = (random.bytes(rate / 2 + 3), random.bytes(3 * rate + 1));
    for_each_backend(|_| {
        let new = || variant.session(&key, &nonce, &ad).unwrap();
        let [cipher16, cipher32] = [16, 32].map(|tag_len| variant.cipher(tag_len, &key));
        // In one piece, of every length.
        let mut ct = msg.clone();
        new().encrypt_in_place(&mut ct).unwrap();
        let whole: Vec<(Vec<u8>, Vec<u8>, Vec<u8>)> = (0..=msg.len())
            .map(|len| {
                let mut buf = msg[..len].to_vec();
                let tag16 = cipher16.encrypt_in_place(&nonce, &ad, &mut buf).unwrap();
                assert!(buf == ct[..len]);
                let mut session = new();
                session.decrypt_in_place(&mut buf).unwrap();
                assert!(buf == msg[..len]);
                let tag32 = cipher32.encrypt_in_place(&nonce, &ad, &mut buf).unwrap();
                (state(variant, &*session, len), tag16, tag32)
            })
            .collect();
        for fill in numbers(rate, rate) {
            for encrypts in [true, false] {
                let (from, to) = if encrypts { (&msg, &ct) } else { (&ct, &msg) };
                let mut before = new();
                let mut buf = from[..fill].to_vec();
                if encrypts {
                    before.encrypt_in_place(&mut buf)
                } else {
                    before.decrypt_in_place(&mut buf)
                }
                .unwrap();
                assert!(
                    buf == to[..fill] && state(variant, &*before, fill) == whole[fill].0,
                    "a first piece of {fill}"
                );
                for len in numbers(2 * rate + 2, rate) {
                    let end = fill + len;
                    for in_place in [true, false] {
                        let mut session = before.copy();
                        let mut out =
                            if in_place { from[fill..end].to_vec() } else { vec![0xee; len] };
                        match (encrypts, in_place) {
                            (true, true) => session.encrypt_in_place(&mut out),
                            (true, false) => session.encrypt_into(&from[fill..end], &mut out),
                            (false, true) => session.decrypt_in_place(&mut out),
                            (false, false) => session.decrypt_into(&from[fill..end], &mut out),
                        }
                        .unwrap();
                        let context = (encrypts, in_place, fill, len);
                        assert!(out == to[fill..end], "{context:?}: output");
                        assert!(
                            state(variant, &*session, end) == whole[end].0,
                            "{context:?}: state"
                        );
                        // The state determines the tag. Checking this once for each pair is enough.
                        if in_place == encrypts {
                            assert_eq!(
                                session.copy().finalize(16).unwrap(),
                                whole[end].1,
                                "{context:?}: tag"
                            );
                            assert_eq!(
                                session.finalize(32).unwrap(),
                                whole[end].2,
                                "{context:?}: tag"
                            );
                        }
                    }
                }
            }
        }
        // Associated data in one piece, of every length.
        for len in 0..=2 * rate + 1 {
            let ad = &msg[..len];
            let (mut one, mut other) = (msg[..9].to_vec(), msg[..9].to_vec());
            let tag = cipher32.encrypt_in_place(&nonce, ad, &mut one).unwrap();
            let mut session = variant.session(&key, &nonce, ad).unwrap();
            session.encrypt_in_place(&mut other).unwrap();
            assert!(
                one == other && session.finalize(32) == Ok(tag),
                "{len} bytes of associated data"
            );
        }
    });
}

#[test]
fn every_piece_after_every_fill() {
    for_each_variant(variants::RFC, aead);
}

/// The state of a MAC is not visible, but its tag depends on all that matters: words, partial step,
/// length.
fn mac(mac: &dyn Authenticator) {
    let aegis = mac.reference();
    let (rate, key_len) = (aegis.rate(), aegis.key_len());
    let mut random = Random(72);
    let (key, nonce) = (random.bytes(key_len), random.bytes(key_len));
    let data = random.bytes(3 * rate + 1);
    for_each_backend(|_| {
        let whole: Vec<_> =
            (0..=data.len()).map(|len| mac.mac(&key, &nonce, &data[..len]).unwrap()).collect();
        for fill in numbers(rate, rate) {
            let mut before = mac.session(&key, &nonce).unwrap();
            before.absorb(&data[..fill]).unwrap();
            for len in numbers(2 * rate + 2, rate) {
                let mut session = before.copy();
                session.absorb(&data[fill..fill + len]).unwrap();
                let tag = session.finalize_mac().unwrap();
                assert_eq!(whole[fill + len], tag, "{len} bytes after {fill}");
            }
        }
    });
}

#[test]
fn every_piece_of_a_mac_after_every_fill() {
    for_each_mac(macs::RFC, mac);
}

/// A key stream is the ciphertext of zeros, which is proved above. This checks that its methods
/// pass on their arguments. `xor` works in chunks of 2048 bytes, so it is tested with more than
/// one.
fn stream(variant: &dyn Variant) {
    let (rate, key_len) = (variant.reference().rate(), variant.reference().key_len());
    let mut random = Random(73);
    let (key, nonce) = (random.bytes(key_len), random.bytes(key_len));
    let mut whole = vec![0; rate + 4099];
    variant.fill(&key, &nonce, &mut whole).unwrap();
    let msg = random.bytes(whole.len());
    for_each_backend(|_| {
        for fill in numbers(rate, rate) {
            let mut before = variant.key_stream(&key, &nonce).unwrap();
            before.next_bytes(&mut vec![0xee; fill]).unwrap();
            for len in numbers(2 * rate + 2, rate).chain([2047, 2048, 2049, 4096, 4098]) {
                let (mut out, mut sum) = (vec![0xee; len], msg[..len].to_vec());
                let (mut one, mut other) = (before.copy(), before.copy());
                one.next_bytes(&mut out).unwrap();
                other.xor(&mut sum).unwrap();
                assert!(out == whole[fill..fill + len], "{len} bytes after {fill}");
                assert!(
                    sum.iter().zip(&msg).map(|(a, b)| a ^ b).eq(out),
                    "{len} bytes after {fill}, added"
                );
                let (mut one_more, mut other_one) = ([0xee], [0xee]);
                one.next_bytes(&mut one_more).unwrap();
                other.next_bytes(&mut other_one).unwrap();
                assert!(
                    one_more == other_one && one_more[0] == whole[fill + len],
                    "after {len} after {fill}"
                );
            }
        }
    });
}

#[test]
fn every_piece_of_a_key_stream_after_every_fill() {
    for_each_variant(variants::RFC, stream);
}

/// Returns a session that claims other lengths than it has taken.
fn with_lengths(
    variant: &dyn Variant,
    session: &dyn Session,
    ad_len: u64,
    msg_len: u64,
) -> Box<dyn Session> {
    let mut bytes = vec![0; variant.session_len()];
    session.to_bytes(&mut bytes).unwrap();
    let end = bytes.len();
    bytes[end - 24..end - 16].copy_from_slice(&ad_len.to_le_bytes());
    bytes[end - 16..end - 8].copy_from_slice(&msg_len.to_le_bytes());
    variant.session_from_bytes(&bytes).unwrap()
}

/// Tests every piece from empty to one byte too long, shortly before the longest allowed message.
fn limit(variant: &dyn Variant) {
    let aegis = variant.reference();
    let (rate, key_len) = (aegis.rate(), aegis.key_len());
    let mut random = Random(74);
    let (key, nonce) = (random.bytes(key_len), random.bytes(key_len));
    let msg = random.bytes(4 * rate);
    for_each_backend(|_| {
        for room in numbers(2 * rate + 2, rate) {
            let before = MAX_LEN - room as u64;
            // The fill matches the length, so that partial steps are as they would be.
            let fill = (before % rate as u64) as usize;
            let mut session = variant.session(&key, &nonce, b"ad").unwrap();
            session.encrypt_in_place(&mut msg[..fill].to_vec()).unwrap();
            let mut ct = msg[fill..].to_vec();
            session.copy().encrypt_in_place(&mut ct).unwrap();
            let session = with_lengths(variant, &*session, MAX_LEN, before);

            for excess in [1, 2, rate, rate + 1] {
                let len = room + excess;
                let mut tried = session.copy();
                let (input, mut output) = (vec![0x55; len], vec![0xee; len]);
                let too_long = Error::TooLong { what: "message", max: MAX_LEN };
                assert_fails(tried.encrypt_into(&input, &mut output), too_long);
                assert_fails(tried.decrypt_into(&input, &mut output), too_long);
                assert_fails(tried.encrypt_in_place(&mut output), too_long);
                assert_fails(tried.decrypt_in_place(&mut output), too_long);
                assert!(
                    output.iter().all(|byte| *byte == 0xee),
                    "{room} bytes of room: output touched"
                );
                assert!(
                    state(variant, &*tried, 1) == state(variant, &*session, 1),
                    "{room} bytes of room: state touched"
                );
            }

            let mut last = session.copy();
            let mut out = msg[fill..fill + room].to_vec();
            last.encrypt_in_place(&mut out).unwrap();
            assert!(out == ct[..room]);
            assert_fails(
                last.encrypt_in_place(&mut [0]),
                Error::TooLong { what: "message", max: MAX_LEN },
            );
            assert_eq!(last.encrypt_in_place(&mut []), Ok(()), "nothing always fits");

            // The tag of the longest message with the longest associated data, compared with the
            // reference on the same words.
            let bytes = state(variant, &*last, 1);
            let end = bytes.len() - NUMBERS;
            let (words, step) = bytes[..end].split_at(end - rate);
            let block = |i: usize| words[16 * i..16 * i + 16].try_into().unwrap();
            let degree = aegis.degree;
            let v = (0..words.len() / 16 / degree)
                .map(|j| (0..degree).map(|i| block(j * degree + i)).collect())
                .collect();
            let mut expected = State { aegis, v };
            let used = (MAX_LEN % rate as u64) as usize;
            expected.absorb(&blocks(&step[..used])); // the limit is not a multiple of any rate
            let expected = expected.finalize(8 * MAX_LEN, 8 * MAX_LEN, 32).concat();
            assert_eq!(last.finalize(32), Ok(expected), "{room} bytes of room");
        }
    });
}

#[test]
fn the_limit_to_the_byte() {
    for_each_variant(variants::RFC, limit);
}
