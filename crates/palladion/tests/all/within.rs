//! Message and ciphertext in one buffer at any distance: the results are those of the reference,
//! and only the output's range is written to.

use std::ops::Range;

use crate::common::erased::Variant;
use crate::common::{
    Random, assert_fails, flipped, for_each_backend, for_each_variant, framed, reduced, variants,
};
use palladion::{Error, Tag};

/// Returns `buffer` with `output` written to `place`.
fn replaced(buffer: &[u8], place: Range<usize>, output: &[u8]) -> Vec<u8> {
    let mut buffer = buffer.to_vec();
    buffer[place].copy_from_slice(output);
    buffer
}

/// Checks a message of some length at all of these distances from its ciphertext.
fn distances(
    variant: &dyn Variant,
    tag_len: usize,
    random: &mut Random,
    len: usize,
    shifts: &[isize],
) {
    let aegis = variant.reference();
    let [key, nonce, ad, msg] =
        [aegis.key_len(), aegis.key_len(), random.below(40), len].map(|len| random.bytes(len));
    let (ct, tag) = aegis.encrypt(&key, &nonce, &ad, &msg, tag_len);
    let wrong = flipped(&tag, len % (8 * tag_len));
    let cipher = variant.cipher(tag_len, &key);
    let zeros = vec![0; len];
    for_each_backend(|_| {
        for &shift in shifts {
            let around = shift.unsigned_abs() + 3;
            let (from, to) = (around, around.checked_add_signed(shift).unwrap());
            let (src, place) = (from..from + len, to..to + len);
            let filler = random.bytes(len + 2 * around);
            let offset = random.below(64);
            let context = || format!("{len} bytes, from {from} to {to}, offset {offset}");

            let before = replaced(&filler, src.clone(), &msg);
            let run = |buf: &mut [u8]| cipher.encrypt_within(&nonce, &ad, buf, src.clone(), to);
            let after = (replaced(&before, place.clone(), &ct), Ok(tag.clone()));
            assert!(framed(&before, offset, run) == after, "encryption: {}", context());

            let before = replaced(&filler, src.clone(), &ct);
            let run =
                |buf: &mut [u8]| cipher.decrypt_within(&nonce, &ad, buf, src.clone(), to, &tag);
            let after = (replaced(&before, place.clone(), &msg), Ok(()));
            assert!(framed(&before, offset, run) == after, "decryption: {}", context());

            let run =
                |buf: &mut [u8]| cipher.decrypt_within(&nonce, &ad, buf, src.clone(), to, &wrong);
            let after = (replaced(&before, place.clone(), &zeros), Err(Error::VerificationFailed));
            assert!(framed(&before, offset, run) == after, "refusal: {}", context());
        }
    });
}

fn short(variant: &dyn Variant) {
    let mut random = Random(61);
    let all: Vec<isize> = (-70..=70).collect();
    // If reduced, a step width that has no factor in common with the block length.
    for len in (0..=300).step_by(if reduced() { 13 } else { 1 }) {
        // All distances at lengths around blocks and steps; at other lengths, those where the two
        // ranges just touch.
        let touching = [len as isize - 1, len as isize, len as isize + 1];
        let some: Vec<isize> =
            touching.into_iter().flat_map(|n| [n, -n]).chain([0, 1, -5, 13]).collect();
        let shifts = if matches!(len % 16, 0 | 1 | 15) { &all } else { &some };
        distances(variant, 16, &mut random, len, shifts);
    }
}

#[test]
fn short_messages_at_all_distances() {
    for_each_variant(variants::SAMPLE, short);
}

fn long(variant: &dyn Variant) {
    let mut random = Random(62);
    let lengths = [2 * 4096 + 77, 4096, 64 << 10, random.below(64 << 10)];
    for &len in &lengths[..if reduced() { 1 } else { 4 }] {
        let len_ = len as isize;
        let far = [70, 4096, len_ - 1, len_, len_ + 1, random.below(len) as isize];
        let shifts: Vec<_> =
            [1, 5, 13, 16, 31, 64].into_iter().chain(far).flat_map(|n| [n, -n]).collect();
        distances(variant, 32, &mut random, len, &shifts);
    }
}

#[test]
fn long_messages_at_some_distances() {
    for_each_variant(variants::KERNELS, long);
}

/// Ranges outside the buffer are rejected, and nothing is changed.
#[test]
#[allow(clippy::reversed_empty_ranges)]
fn ranges_outside_are_refused() {
    let cipher = palladion::Aegis256X2::<32>::new(&[1; 32].into());
    let (nonce, tag) = ([2; 32].into(), Tag::from([3; 32]));
    for_each_backend(|_| {
        let mut buf = [0xee; 30];
        let outside = |what, start, end| Error::OutOfBuffer { what, start, end, len: 30 };
        for src in
            [0..31, 31..31, 30..31, 5..4, 40..50, 31..2, 0..usize::MAX, usize::MAX..usize::MAX]
        {
            let error = |what| outside(what, src.start, src.end);
            for dst in [0, 3, 30, 31] {
                let result = cipher.encrypt_within(&nonce, b"", &mut buf, src.clone(), dst);
                assert_fails(result, error("message"));
                let result = cipher.decrypt_within(&nonce, b"", &mut buf, src.clone(), dst, &tag);
                assert_fails(result, error("ciphertext"));
            }
        }
        for (src, dst, end) in [
            (0..30, 1, 31),
            (10..20, 21, 31),
            (3..3, 31, 31),
            (0..1, 30, 31),
            (0..2, usize::MAX, usize::MAX),
            (4..5, usize::MAX - 1, usize::MAX),
        ] {
            let result = cipher.encrypt_within(&nonce, b"", &mut buf, src.clone(), dst);
            assert_fails(result, outside("ciphertext", dst, end));
            let result = cipher.decrypt_within(&nonce, b"", &mut buf, src, dst, &tag);
            assert_fails(result, outside("message", dst, end));
        }
        assert_eq!(buf, [0xee; 30]);

        // Empty ranges anywhere within the buffer are accepted.
        for (src, dst) in [(0..0, 30), (30..30, 0), (30..30, 30), (7..7, 7)] {
            let tag = cipher.encrypt_within(&nonce, b"ad", &mut buf, src.clone(), dst).unwrap();
            assert_eq!(Ok(tag), cipher.encrypt_in_place(&nonce, b"ad", &mut []));
            assert_eq!(cipher.decrypt_within(&nonce, b"ad", &mut buf, src, dst, &tag), Ok(()));
        }
        assert_eq!(buf, [0xee; 30]);
    });
}
