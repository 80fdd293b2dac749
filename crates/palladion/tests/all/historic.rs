//! The parallel modes of 2023, compared with the paper's vectors, later vectors, and the reference.

use std::num::NonZeroU32;

use crate::common::{Random, flipped, for_each_backend, framed, known_answers, unhex};
use palladion::historic::{Aegis128X, Aegis256X, TagForm, dec_128l, dec_256, enc_128l, enc_256};
use palladion::{Aegis128L, Aegis256, Error, Key128, Key256, Nonce128, Nonce256, Tag};
use palladion_reference::historic::{TagWords, ctx, encrypt, encrypt_with_context};
use palladion_reference::{self as reference, Family, State, blocks};

/// The three modes to test, behind one interface.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Five128,
    Seven128,
    Only256,
}
use Mode::{Five128, Only256, Seven128};

const MODES: [Mode; 3] = [Five128, Seven128, Only256];

impl Mode {
    fn family(self) -> Family {
        if self == Only256 { Family::Aegis256 } else { Family::Aegis128 }
    }

    fn words(self) -> TagWords {
        if self == Five128 { TagWords::Five } else { TagWords::Seven }
    }

    fn key_len(self) -> usize {
        reference::Aegis::new(self.family(), 1).key_len()
    }

    fn cipher128(self, nu: u32, key: &[u8]) -> Aegis128X {
        let form = if self == Five128 { TagForm::FiveWords } else { TagForm::SevenWords };
        Aegis128X::new(&Key128::try_from(key).unwrap(), NonZeroU32::new(nu).unwrap(), form)
    }

    fn cipher256(nu: u32, key: &[u8]) -> Aegis256X {
        Aegis256X::new(&Key256::try_from(key).unwrap(), NonZeroU32::new(nu).unwrap())
    }

    fn encrypt(self, nu: u32, key: &[u8], iv: &[u8], ad: &[u8], buf: &mut [u8]) -> Tag<16> {
        match self {
            Only256 => Self::cipher256(nu, key).encrypt_in_place(&iv.try_into().unwrap(), ad, buf),
            _ => self.cipher128(nu, key).encrypt_in_place(&iv.try_into().unwrap(), ad, buf),
        }
        .unwrap()
    }

    fn decrypt(
        self,
        nu: u32,
        input: [&[u8]; 3],
        buf: &mut [u8],
        tag: &Tag<16>,
    ) -> Result<(), Error> {
        let [key, iv, ad] = input;
        match self {
            Only256 => {
                Self::cipher256(nu, key).decrypt_in_place(&iv.try_into().unwrap(), ad, buf, tag)
            }
            _ => self.cipher128(nu, key).decrypt_in_place(&iv.try_into().unwrap(), ad, buf, tag),
        }
    }

    /// Checks that encryption gives this ciphertext and tag, and decryption the message.
    #[track_caller]
    fn check(self, nu: u32, input: [&[u8]; 4], ct: &[u8], tag: &[u8]) {
        let [key, iv, ad, msg] = input;
        let context =
            format!("{self:?}, {nu} lanes, {} bytes, {} of associated data", msg.len(), ad.len());
        let tag = Tag::try_from(tag).unwrap();
        let (out, made) = framed(msg, msg.len(), |buf| self.encrypt(nu, key, iv, ad, buf));
        assert_eq!((&out[..], made), (ct, tag), "{context}");
        let (out, result) = framed(ct, ad.len(), |buf| self.decrypt(nu, [key, iv, ad], buf, &tag));
        assert_eq!((&out[..], result), (msg, Ok(())), "{context}");
    }
}

/// Returns key, nonce and first associated data of the paper. The later vectors use the same.
fn paper_inputs(mode: Mode) -> [Vec<u8>; 3] {
    let len = mode.key_len() as u8;
    [(0..len).collect(), (0x10..0x10 + len).collect(), unhex("0102030401020304")]
}

/// The four vectors of ePrint 2023/523, appendix A.
#[test]
fn the_vectors_of_the_paper() {
    let msg = unhex("050607080506070805060708");
    let vectors = [
        (
            Five128,
            "d180aa6a90f29dedd6825b8c053f599b",
            "985bac76fe1cefaa0b24d4d2",
            "790b9a7342ee72e8b45202cd9c6195cf",
        ),
        (
            Only256,
            "ddbc7695b01623f82eee962f160bf267",
            "a0b3f5b6b93db779c9d1b9de",
            "fd2e93a6eb0b74dc30eb984fbec1d657",
        ),
    ];
    for_each_backend(|backend| {
        for (mode, empty_tag, ct, tag) in vectors {
            let [key, iv, ad] = paper_inputs(mode);
            mode.check(2, [&key, &iv, b"", b""], &[], &unhex(empty_tag));
            mode.check(2, [&key, &iv, &ad, &msg], &unhex(ct), &unhex(tag));
        }
        known_answers("paper of 2023", "appendix A", backend, 2 * vectors.len());
    });
}

/// Vectors of a draft whose context did not yet include the degree: seven words of each lane.
#[test]
fn the_vectors_that_came_after_it() {
    let msg = unhex("04050607").repeat(30);
    let vectors = [
        (
            Seven128,
            2,
            "9958ad79ff1feea50a27d5dd88728d157a4ce0cd996b9fffb4fde113ef646de4aa67278fb1ebcb65\
             71526b309d708447c818ffc3d84c9c73b0cca3040bb85b81d366311956f4cb1a66b02b25b58a7f75\
             9797169b0e398c4db16c9a577d4de1805d646b823fa095ec34feefb58768efc06d9516c55b653f91",
            "179247ab85ea2c4f9f712cac8bb7c9d3",
        ),
        (
            Seven128,
            4,
            "9958ad79ff1feea50a27d5dd88728d157a4ce0cd996b9fffb4fde113ef646de46e4c5230174a6268\
             f89f01d557879360a9068d7cb825bb0e8a97ea2e82059f69aa67278fb1ebcb6571526b309d708447\
             c818ffc3d84c9c73b0cca3040bb85b8193fc9a4499e384ae87bfeaa46f514b6330c147c3ddbb6e94",
            "58038e00f6b7e861e2badb160beb71d4",
        ),
        (
            Only256,
            2,
            "a1b0f4b9b83eb676c8d2b8d1692be03d95280efa4e2c09962880dc614f94642ba7581f933d98c735\
             5623ff63be82bb8a476ddd0dfe0185b4e8da6c25bd9f38b9d09e0ec9baf01cd47369dbca9d331bfc\
             d49fb4e6806e61f344d61b11ac552e4c50c6d26570210e1202eb9b347b908a55361ea8d15f8494e3",
            "3c24d8bed42e92d3f85535946545fe38",
        ),
        (
            Only256,
            4,
            "a1b0f4b9b83eb676c8d2b8d1692be03d95280efa4e2c09962880dc614f94642bd4f1068ba92cf7bf\
             d89c2acd70ef492b0544105f5c3b948cee0248486b4a3411a7581f933d98c7355623ff63be82bb8a\
             476ddd0dfe0185b4e8da6c25bd9f38b9d1da0307b0f33484ed9abad2c9184cb4b58d7a8a486c0605",
            "2ddf105d8bb7a2d7adb60cd5a5285183",
        ),
    ];
    for_each_backend(|backend| {
        for (mode, nu, ct, tag) in vectors {
            let [key, iv, ad] = paper_inputs(mode);
            mode.check(nu, [&key, &iv, &ad, &msg], &unhex(ct), &unhex(tag));
        }
        known_answers("drafts of 2023", "seven words", backend, vectors.len());
    });
}

/// Encrypts with more lanes than the reference's context can number, which uses one byte. Runs the
/// reference's state with two-byte lane numbers.
fn encrypt_with_many_lanes(mode: Mode, nu: u32, input: [&[u8]; 4]) -> (Vec<u8>, Vec<u8>) {
    let [key, iv, ad, msg] = input;
    let aegis = reference::Aegis { family: mode.family(), degree: nu as usize };
    let contexts: Vec<[u8; 16]> = (0..nu).map(|lane| u128::from(lane).to_le_bytes()).collect();
    assert!(nu > 256 || contexts == ctx(nu as usize));
    let mut state = State::init_with_ctx(aegis, &blocks(key), &blocks(iv), &contexts);
    state.absorb(&blocks(ad));
    let ct = state.encrypt(msg);
    let mut tag = state.finalize(8 * ad.len() as u64, 8 * msg.len() as u64, 16).concat();
    if mode == Five128 {
        for word in state.v[5..7].iter().flatten() {
            tag.iter_mut().zip(word).for_each(|(a, b)| *a ^= b);
        }
    }
    (ct, tag)
}

#[test]
fn any_number_of_lanes_agrees_with_the_reference() {
    let mut random = Random(11);
    let mut cases = Vec::new();
    for mode in MODES {
        for nu in [1, 2, 3, 4, 5, 16, 300] {
            let rate = nu as usize * if mode == Only256 { 16 } else { 32 };
            for (ad_len, msg_len) in [
                (0, 0),
                (1, 1),
                (16, 17),
                (rate - 1, rate),
                (rate, rate + 1),
                (rate + 1, 2 * rate - 1),
                (2 * rate + 5, 3 * rate + 21),
                (random.below(3 * rate), random.below(3 * rate)),
            ] {
                let input =
                    [mode.key_len(), mode.key_len(), ad_len, msg_len].map(|len| random.bytes(len));
                let [key, iv, ad, msg] = input.each_ref().map(|bytes| &bytes[..]);
                let expected = encrypt_with_many_lanes(mode, nu, [key, iv, ad, msg]);
                if nu <= 256 {
                    let aegis = reference::Aegis::new(mode.family(), nu as usize);
                    assert_eq!(encrypt(aegis, mode.words(), key, iv, ad, msg, 16), expected);
                }
                cases.push((mode, nu, input, expected));
            }
        }
    }
    for_each_backend(|_| {
        for (mode, nu, input, (ct, tag)) in &cases {
            mode.check(*nu, input.each_ref().map(|bytes| &bytes[..]), ct, tag);
        }
    });
}

/// Checks `enc_128l` and `dec_128l`, or `enc_256` and `dec_256`, with a context.
fn check_context<const T: usize>(family: Family, ctx: [u8; 16], input: [&[u8]; 4]) {
    let [key, iv, ad, msg] = input;
    let (ct, tag) = encrypt_with_context(family, &ctx, key, iv, ad, msg, T);
    let tag = Tag::<T>::try_from(&tag[..]).unwrap();
    let forged = Tag::<T>::try_from(&flipped(tag.as_ref(), ctx[0] as usize % (8 * T))[..]).unwrap();
    let context = format!("{family:?}, {} bytes, {} of associated data", msg.len(), ad.len());
    let encrypt = |buf: &mut [u8]| match family {
        Family::Aegis128 => {
            enc_128l::<T>(&ctx, &key.try_into().unwrap(), &iv.try_into().unwrap(), ad, buf)
        }
        Family::Aegis256 => {
            enc_256::<T>(&ctx, &key.try_into().unwrap(), &iv.try_into().unwrap(), ad, buf)
        }
    };
    let decrypt = |buf: &mut [u8], tag: &Tag<T>| match family {
        Family::Aegis128 => {
            dec_128l(&ctx, &key.try_into().unwrap(), &iv.try_into().unwrap(), ad, buf, tag)
        }
        Family::Aegis256 => {
            dec_256(&ctx, &key.try_into().unwrap(), &iv.try_into().unwrap(), ad, buf, tag)
        }
    };
    assert_eq!(framed(msg, 3, encrypt), (ct.clone(), Ok(tag)), "{context}");
    assert_eq!(framed(&ct, 5, |buf| decrypt(buf, &tag)), (msg.to_vec(), Ok(())), "{context}");
    let refused = (vec![0; ct.len()], Err(Error::VerificationFailed));
    assert_eq!(framed(&ct, 7, |buf| decrypt(buf, &forged)), refused, "{context}");
}

#[test]
fn contexts_agree_with_the_reference() {
    for_each_backend(|_| {
        let mut random = Random(12);
        for family in [Family::Aegis128, Family::Aegis256] {
            let key_len = reference::Aegis::new(family, 1).key_len();
            for round in 0..40 {
                let lens = [key_len, key_len, random.below(70), random.below(200)];
                let input = lens.map(|len| random.bytes(len));
                let ctx = if round == 0 { [0; 16] } else { random.bytes(16).try_into().unwrap() };
                check_context::<16>(family, ctx, input.each_ref().map(|bytes| &bytes[..]));
                check_context::<32>(family, ctx, input.each_ref().map(|bytes| &bytes[..]));
            }
        }
    });
}

/// With one lane, and with a context of zeros, the modes are AEGIS-128L and AEGIS-256. With another
/// context they are not.
#[test]
fn one_lane_is_the_base_cipher() {
    fn with_tag<const T: usize>(random: &mut Random) {
        let (ad, msg) = (random.bytes(40), random.bytes(99));
        let other = 1_u128.to_be_bytes();

        let (key, iv) = (Key128::from([T as u8; 16]), Nonce128::from([8; 16]));
        let (mut base, mut zero) = (msg.clone(), msg.clone());
        let tag = Aegis128L::<T>::new(&key).encrypt_in_place(&iv, &ad, &mut base).unwrap();
        assert_eq!((enc_128l::<T>(&[0; 16], &key, &iv, &ad, &mut zero), &zero), (Ok(tag), &base));
        let same = dec_128l(&other, &key, &iv, &ad, &mut zero, &tag);
        assert_eq!((same, zero), (Err(Error::VerificationFailed), vec![0; 99]));
        if T == 16 {
            Seven128.check(1, [key.as_ref(), iv.as_ref(), &ad, &msg], &base, tag.as_ref());
            let mut five = msg.clone();
            let five_tag = Five128.encrypt(1, key.as_ref(), iv.as_ref(), &ad, &mut five);
            assert_eq!(five, base);
            assert_ne!(five_tag.as_ref(), tag.as_ref());
        }

        let (key, iv) = (Key256::from([T as u8; 32]), Nonce256::from([8; 32]));
        let (mut base, mut zero) = (msg.clone(), msg.clone());
        let tag = Aegis256::<T>::new(&key).encrypt_in_place(&iv, &ad, &mut base).unwrap();
        assert_eq!((enc_256::<T>(&[0; 16], &key, &iv, &ad, &mut zero), &zero), (Ok(tag), &base));
        let same = dec_256(&other, &key, &iv, &ad, &mut zero, &tag);
        assert_eq!((same, zero), (Err(Error::VerificationFailed), vec![0; 99]));
        if T == 16 {
            Only256.check(1, [key.as_ref(), iv.as_ref(), &ad, &msg], &base, tag.as_ref());
        }
    }
    for_each_backend(|_| {
        with_tag::<16>(&mut Random(13));
        with_tag::<32>(&mut Random(14));
    });
}

/// Any changed bit is rejected, and the buffer is zeroed.
#[test]
fn changes_are_refused() {
    for_each_backend(|_| {
        let mut random = Random(15);
        for mode in MODES {
            for nu in [1, 3] {
                let input = [mode.key_len(), mode.key_len(), 35, 120].map(|len| random.bytes(len));
                let [key, iv, ad, msg] = input.each_ref().map(|bytes| &bytes[..]);
                let mut ct = msg.to_vec();
                let tag = mode.encrypt(nu, key, iv, ad, &mut ct);
                let parts = [key, iv, ad, &ct, tag.as_ref()];
                for part in 0..parts.len() {
                    for bit in 0..8 * parts[part].len() {
                        let changed = flipped(parts[part], bit);
                        let mut parts = parts;
                        parts[part] = &changed;
                        let [key, iv, ad, ct, tag] = parts;
                        let tag = tag.try_into().unwrap();
                        let result =
                            framed(ct, bit, |buf| mode.decrypt(nu, [key, iv, ad], buf, &tag));
                        assert_eq!(
                            result,
                            (vec![0; ct.len()], Err(Error::VerificationFailed)),
                            "{mode:?}, {nu} lanes, part {part}, bit {bit}"
                        );
                    }
                }
            }
        }
    });
}
