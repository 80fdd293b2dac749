//! The six variants that libaegis has, by crate `aegis`: one call, pieces, key streams and MACs,
//! ours on every backend.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use palladion::family::{Aegis128, Aegis256, Family};
use palladion::{Aegis, Error, KeyStream, Mac, Tag};
use palladion_fuzz::{Flip, Len, Seed, cuts, key, nonce, on_each_backend, planted, planted_of};

#[derive(Arbitrary, Debug)]
struct Input {
    variant: u8,
    seed: Seed,
    ad_len: Len,
    len: Len,
    pieces: Vec<u16>,
    flip: Flip,
}

/// What libaegis makes of an input.
struct Theirs<const T: usize> {
    ct: Vec<u8>,
    tag: [u8; T],
    keystream: Vec<u8>,
    mac: [u8; T],
}

/// All of it, and whether it takes back what it made, and nothing else.
macro_rules! theirs {
    ($name:ident, $cipher:ident, $mac:ident) => {
        fn $name<const T: usize>(
            key: &[u8],
            nonce: &[u8],
            ad: &[u8],
            msg: &[u8],
            input: &Input,
        ) -> Theirs<T> {
            use aegis::$name::{$cipher, $mac};
            let (key, nonce) = (key.try_into().expect("a key"), nonce.try_into().expect("a nonce"));
            let cipher = || $cipher::<T>::new(key, nonce);
            let (ct, tag) = cipher().encrypt(msg, ad);
            let mut keystream = vec![0; msg.len()];
            cipher().stream(&mut keystream);

            let sizes = cuts(msg.len(), &input.pieces);
            let (mut pieces, mut encryptor, mut done) =
                (vec![0; msg.len()], cipher().encryptor(ad), 0);
            let mut mac = $mac::<T>::new_with_nonce(key, nonce);
            for size in sizes {
                let piece = done..done + size;
                encryptor.update(&msg[piece.clone()], &mut pieces[piece.clone()]);
                mac.update(&msg[piece]);
                done += size;
            }
            assert!(
                (pieces, encryptor.finalize()) == (ct.clone(), tag),
                "libaegis disagrees with itself"
            );
            assert_eq!(cipher().decrypt(&ct, &tag, ad).expect("its own"), msg);
            let mut forged = tag;
            input.flip.apply(&mut forged);
            assert!(cipher().decrypt(&ct, &forged, ad).is_err());
            Theirs { ct, tag, keystream, mac: mac.finalize() }
        }
    };
}
theirs!(aegis128l, Aegis128L, Aegis128LMac);
theirs!(aegis128x2, Aegis128X2, Aegis128X2Mac);
theirs!(aegis128x4, Aegis128X4, Aegis128X4Mac);
theirs!(aegis256, Aegis256, Aegis256Mac);
theirs!(aegis256x2, Aegis256X2, Aegis256X2Mac);
theirs!(aegis256x4, Aegis256X4, Aegis256X4Mac);

type Peer<const T: usize> = fn(&[u8], &[u8], &[u8], &[u8], &Input) -> Theirs<T>;

fn check<F: Family, const D: usize, const T: usize>(theirs: Peer<T>, input: &Input) {
    let [key_bytes, nonce_bytes, ad, msg] =
        input.seed.message(F::KEY_LEN, input.ad_len.0.min(3000), input.len.0);
    let theirs = theirs(&key_bytes, &nonce_bytes, &ad, &msg, input);
    let tag = Tag::<T>::from(theirs.tag);
    let (key, nonce) = (key::<F>(&key_bytes), nonce::<F>(&nonce_bytes));
    let cipher = Aegis::<F, D, T>::new(&key);
    on_each_backend(|| {
        let mut buf = msg.clone();
        assert_eq!(cipher.encrypt_in_place(&nonce, &ad, &mut buf), Ok(tag));
        planted("bit", &mut buf);
        assert_eq!(buf, theirs.ct);
        assert_eq!(cipher.decrypt_in_place(&nonce, &ad, &mut buf, &tag), Ok(()));
        assert_eq!(buf, msg);

        let (mut encryptor, mut done) =
            (cipher.encryptor(&nonce, &ad).expect("no limit was passed"), 0);
        for size in cuts(msg.len(), &input.pieces) {
            encryptor.update_in_place(&mut buf[done..done + size]).expect("no limit was passed");
            done += size;
        }
        assert_eq!(encryptor.finalize(), tag);
        assert_eq!(buf, theirs.ct);

        let mut keystream = vec![0xee; msg.len()];
        KeyStream::<F, D>::fill(&key, &nonce, &mut keystream).expect("no limit was passed");
        planted("keystream", &mut keystream);
        assert_eq!(keystream, theirs.keystream);

        let mut ours =
            *Mac::<F, D, T>::mac(&key, &nonce, &msg).expect("no limit was passed").as_bytes();
        planted_of("mac", msg.len(), &mut ours);
        assert_eq!(ours, theirs.mac);
        let mut forged = theirs.mac;
        input.flip.apply(&mut forged);
        let forged = Mac::<F, D, T>::verify_mac(&key, &nonce, &msg, &Tag::from(forged));
        assert_eq!(forged, Err(Error::VerificationFailed));
    });
}

fuzz_target!(|input: Input| match input.variant % 12 {
    0 => check::<Aegis128, 1, 16>(aegis128l, &input),
    1 => check::<Aegis128, 1, 32>(aegis128l, &input),
    2 => check::<Aegis128, 2, 16>(aegis128x2, &input),
    3 => check::<Aegis128, 2, 32>(aegis128x2, &input),
    4 => check::<Aegis128, 4, 16>(aegis128x4, &input),
    5 => check::<Aegis128, 4, 32>(aegis128x4, &input),
    6 => check::<Aegis256, 1, 16>(aegis256, &input),
    7 => check::<Aegis256, 1, 32>(aegis256, &input),
    8 => check::<Aegis256, 2, 16>(aegis256x2, &input),
    9 => check::<Aegis256, 2, 32>(aegis256x2, &input),
    10 => check::<Aegis256, 4, 16>(aegis256x4, &input),
    _ => check::<Aegis256, 4, 32>(aegis256x4, &input),
});
