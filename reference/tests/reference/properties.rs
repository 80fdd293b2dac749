//! What has to hold for all degrees, also those without vectors.

use palladion_reference::{Aegis, Family, State, blocks};

use crate::{bytes, some_variants};

#[test]
fn decryption_undoes_encryption_and_refuses_changes() {
    for aegis in some_variants()
        .chain([Aegis::new(Family::Aegis128, 256), Aegis::new(Family::Aegis256, 256)])
    {
        let (key, nonce) = (bytes(11, aegis.key_len()), bytes(12, aegis.key_len()));
        for len in [0, 1, 15, 16, 17, aegis.rate() - 1, aegis.rate(), 2 * aegis.rate() + 5] {
            let (ad, msg) = (bytes(13, len / 2), bytes(14, len));
            for tag_len in [16, 32] {
                let (ct, tag) = aegis.encrypt(&key, &nonce, &ad, &msg, tag_len);
                assert_eq!(aegis.decrypt(&key, &nonce, &ad, &ct, &tag), Some(msg.clone()));
                let flipped = |bytes: &[u8]| -> Vec<u8> {
                    let mut bytes = bytes.to_vec();
                    if let Some(last) = bytes.last_mut() {
                        *last ^= 1;
                    }
                    bytes
                };
                assert_eq!(aegis.decrypt(&flipped(&key), &nonce, &ad, &ct, &tag), None);
                assert_eq!(aegis.decrypt(&key, &flipped(&nonce), &ad, &ct, &tag), None);
                assert_eq!(aegis.decrypt(&key, &nonce, &ad, &ct, &flipped(&tag)), None);
                assert_eq!(
                    aegis.decrypt(&key, &nonce, &flipped(&ad), &ct, &tag).is_none(),
                    !ad.is_empty()
                );
                assert_eq!(
                    aegis.decrypt(&key, &nonce, &ad, &flipped(&ct), &tag).is_none(),
                    !ct.is_empty()
                );
            }
        }
    }
}

/// 16-byte and 32-byte tags: the short one is the sum of the halves of the long one for the
/// AEGIS-256 family only.
#[test]
fn the_two_tags() {
    for aegis in some_variants() {
        let (key, nonce, msg) =
            (bytes(21, aegis.key_len()), bytes(22, aegis.key_len()), bytes(23, 100));
        let [short, long] =
            [16, 32].map(|tag_len| aegis.encrypt(&key, &nonce, b"ad", &msg, tag_len).1);
        let sum: Vec<u8> = (0..16).map(|i| long[i] ^ long[i + 16]).collect();
        assert_eq!(short == sum, aegis.family == Family::Aegis256);
    }
}

/// §8.1, §8.2: with degree 1 the MAC is `Absorb` and `Finalize(|data|, tag_len_bits)`.
#[test]
fn the_mac_of_degree_one() {
    for family in [Family::Aegis128, Family::Aegis256] {
        let aegis = Aegis::new(family, 1);
        let (key, nonce) = (bytes(31, aegis.key_len()), bytes(32, aegis.key_len()));
        for len in [0, 1, 2, 3] {
            let data = bytes(33, len * aegis.rate());
            for tag_len in [16, 32] {
                let mut state = State::init(aegis, &blocks(&key), &blocks(&nonce));
                state.absorb(&blocks(&data));
                let tag = state.finalize(data.len() as u64 * 8, tag_len as u64 * 8, tag_len);
                assert_eq!(aegis.mac(&key, &nonce, &data, tag_len), tag.concat());
            }
        }
    }
}

/// Where a MAC depends on its data: everywhere, except that 16-byte tags of AEGIS-128X with an odd
/// degree above 1 do not see the last lane, because an odd number of lane tags is split into pairs.
/// Nobody should use those.
#[test]
fn what_a_mac_depends_on() {
    for aegis in some_variants() {
        let (key, nonce) = (bytes(41, aegis.key_len()), bytes(42, aegis.key_len()));
        let data = bytes(43, 2 * aegis.rate() + 1);
        for tag_len in [16, 32] {
            let tag = aegis.mac(&key, &nonce, &data, tag_len);
            for at in (0..data.len()).step_by(16) {
                let mut changed = data.clone();
                changed[at] ^= 0x80;
                let lane = at / 16 % aegis.degree;
                let unseen = aegis.family == Family::Aegis128
                    && tag_len == 16
                    && aegis.degree > 1
                    && aegis.degree % 2 == 1
                    && lane == aegis.degree - 1;
                assert_eq!(
                    aegis.mac(&key, &nonce, &changed, tag_len) == tag,
                    unseen,
                    "{aegis:?} {tag_len} {at}"
                );
            }
        }
    }
}

/// §7: the keystream is what a message is XORed with as long as all blocks before are zero, and
/// `Stream` is a prefix of any longer `Stream`.
#[test]
fn streams() {
    for aegis in some_variants() {
        let (key, nonce) = (bytes(51, aegis.key_len()), bytes(52, aegis.key_len()));
        let long = aegis.stream(&key, &nonce, 3 * aegis.rate());
        assert_eq!(
            blocks(&long)[..aegis.rate() / 16],
            State::init(aegis, &blocks(&key), &blocks(&nonce)).z()
        );
        for len in 0..long.len() {
            assert_eq!(aegis.stream(&key, &nonce, len), long[..len]);
        }
    }
}
