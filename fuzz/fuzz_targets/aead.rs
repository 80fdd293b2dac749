//! A message in one call, in every way there is and on every backend: against the reference, and
//! damaged. Ciphers chosen at run time, and the modes of 2023.

#![no_main]

use std::num::NonZero;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use palladion::any::Cipher;
use palladion::family::Family;
use palladion::{Aegis, Algorithm, Error, Tag, historic};
use palladion_fuzz::{
    AnyBackend, Buffer, Flip, Len, Offset, Seed, key, nonce, on_each_backend, plant, planted,
    reference,
};
use palladion_reference as other;

#[derive(Arbitrary, Debug)]
enum Input {
    Typed(Typed),
    Any(Any),
    Historic(Historic),
}

#[derive(Arbitrary, Debug)]
struct Typed {
    variant: u8,
    seed: Seed,
    ad_len: Len,
    len: Len,
    offsets: [Offset; 3],
    damage: Damage,
    /// Where it lies for `encrypt_within`: source and destination.
    within: [u8; 2],
    /// How much of a sealed message there is, where there is less than a tag.
    short: u8,
}

/// What `any::Cipher` is asked to do.
#[derive(Arbitrary, Debug)]
struct Any {
    backend: AnyBackend,
    algorithm: u8,
    long_tag: bool,
    seed: Seed,
    ad_len: Len,
    len: Len,
    offsets: [Offset; 2],
    damage: Damage,
    /// Something is so much longer than it may be.
    wrong: u8,
}

/// What `historic` is asked to do.
#[derive(Arbitrary, Debug)]
struct Historic {
    backend: AnyBackend,
    mode: Mode,
    seed: Seed,
    ad_len: Len,
    len: Len,
    offset: Offset,
    damage: Damage,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Mode {
    /// One lane with a context, of the AEGIS-128 family or the other, and one of the lengths of
    /// tags.
    Context {
        family128: bool,
        long_tag: bool,
        ctx: u8,
    },
    Lanes128 {
        nu: u8,
        five_words: bool,
    },
    Lanes256 {
        nu: u8,
    },
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Damage {
    Key(Flip),
    Nonce(Flip),
    Ad(Flip),
    Ciphertext(Flip),
    Tag(Flip),
    /// So many bytes are missing at the end.
    Cut(u8),
    /// A byte of the ciphertext goes to the associated data.
    Shift,
}

impl Damage {
    /// Damages them, if there is anything.
    fn apply(self, [key, nonce, ad, ct]: [&mut Vec<u8>; 4], tag: &mut [u8]) -> bool {
        match self {
            Self::Key(flip) => flip.apply(key),
            Self::Nonce(flip) => flip.apply(nonce),
            Self::Ad(flip) => flip.apply(ad),
            Self::Ciphertext(flip) => flip.apply(ct),
            Self::Tag(flip) => flip.apply(tag),
            Self::Cut(n) => {
                let len = ct.len();
                ct.truncate(len.saturating_sub(usize::from(n)));
                ct.len() < len
            }
            Self::Shift => match ct.is_empty() {
                true => false,
                false => {
                    ad.push(ct.remove(0));
                    true
                }
            },
        }
    }
}

fn check<F: Family, const D: usize, const T: usize>(input: &Typed) {
    let [key_bytes, nonce_bytes, ad, msg] =
        input.seed.message(F::KEY_LEN, input.ad_len.0.min(3000), input.len.0);
    let (key_, nonce_) = (key::<F>(&key_bytes), nonce::<F>(&nonce_bytes));
    let cipher = Aegis::<F, D, T>::new(&key_);

    let (ct, tag) = reference::<F, D>().encrypt(&key_bytes, &nonce_bytes, &ad, &msg, T);
    let tag = Tag::<T>::try_from(&tag[..]).expect("a tag");

    let ad = Buffer::new(&ad, input.offsets[0]);
    let [a, b] = [input.offsets[1], input.offsets[2]];
    on_each_backend(|| {
        // In place.
        let mut buf = Buffer::new(&msg, a);
        assert_eq!(cipher.encrypt_in_place(&nonce_, ad.bytes(), buf.bytes_mut()), Ok(tag));
        planted("bit", buf.bytes_mut());
        assert_eq!(buf.bytes(), ct);
        assert_eq!(cipher.verify(&nonce_, ad.bytes(), buf.bytes(), &tag), Ok(()));
        assert_eq!(cipher.decrypt_in_place(&nonce_, ad.bytes(), buf.bytes_mut(), &tag), Ok(()));
        assert_eq!(buf.bytes(), msg);

        // Into another buffer.
        let source = Buffer::new(&msg, a);
        let mut buf = Buffer::new(&vec![0xee; msg.len()], b);
        assert_eq!(
            cipher.encrypt_into(&nonce_, ad.bytes(), source.bytes(), buf.bytes_mut()),
            Ok(tag)
        );
        assert_eq!(buf.bytes(), ct);
        let mut opened = Buffer::new(&vec![0xee; msg.len()], a);
        assert_eq!(
            cipher.decrypt_into(&nonce_, ad.bytes(), buf.bytes(), &tag, opened.bytes_mut()),
            Ok(())
        );
        assert_eq!(opened.bytes(), msg);

        // With the tag behind.
        let mut sealed = Buffer::new(&[&msg[..], &[0xee; T]].concat(), b);
        assert_eq!(cipher.seal_in_place(&nonce_, ad.bytes(), sealed.bytes_mut()), Ok(()));
        assert_eq!(sealed.bytes(), [&ct[..], tag.as_ref()].concat());
        let mut opened = Buffer::new(&vec![0xee; msg.len()], a);
        assert_eq!(
            cipher.open_into(&nonce_, ad.bytes(), sealed.bytes(), opened.bytes_mut()),
            Ok(())
        );
        assert_eq!(opened.bytes(), msg);
        assert_eq!(
            cipher.open_in_place(&nonce_, ad.bytes(), sealed.bytes_mut()).map(|msg| msg.to_vec()),
            Ok(msg.clone())
        );

        // The same into new memory.
        let whole = [&ct[..], tag.as_ref()].concat();
        let mut sealed = cipher.seal(&nonce_, ad.bytes(), &msg).expect("no limit was passed");
        planted("seal", &mut sealed);
        assert_eq!(sealed, whole);
        let mut out = Buffer::new(&vec![0xee; whole.len()], a);
        assert_eq!(cipher.seal_into(&nonce_, ad.bytes(), &msg, out.bytes_mut()), Ok(()));
        assert_eq!(out.bytes(), whole);
        assert_eq!(cipher.open(&nonce_, ad.bytes(), out.bytes()), Ok(msg.clone()));
        let with_nonce = Buffer::new(&[nonce_bytes.as_slice(), &whole].concat(), b);
        assert_eq!(cipher.open_with_nonce(ad.bytes(), with_nonce.bytes()), Ok(msg.clone()));
        let random =
            cipher.seal_with_random_nonce(ad.bytes(), &msg).expect("there are random numbers");
        assert_eq!(random.len(), with_nonce.bytes().len());
        assert_eq!(cipher.open_with_nonce(ad.bytes(), &random), Ok(msg.clone()));

        // Less than a tag; an output that does not fit.
        let short = Buffer::new(&whole[..usize::from(input.short) % T], a);
        let mut place = Buffer::new(short.bytes(), b);
        let too_short = |result: Result<(), Error>| {
            assert!(
                matches!(result, Err(Error::TooShort { .. })) && !plant("short"),
                "less than a tag was taken"
            )
        };
        too_short(cipher.open(&nonce_, ad.bytes(), short.bytes()).map(drop));
        too_short(cipher.open_into(&nonce_, ad.bytes(), short.bytes(), &mut []));
        too_short(cipher.open_in_place(&nonce_, ad.bytes(), place.bytes_mut()).map(drop));
        too_short(cipher.seal_in_place(&nonce_, ad.bytes(), place.bytes_mut()));
        assert_eq!(place.bytes(), short.bytes(), "a call that was refused wrote");
        let short = &with_nonce.bytes()[..usize::from(input.short) % (F::KEY_LEN + T)];
        too_short(cipher.open_with_nonce(ad.bytes(), short).map(drop));
        let mut other_len = vec![0xee; msg.len() + 1 + usize::from(input.short)];
        for result in [
            cipher.encrypt_into(&nonce_, ad.bytes(), &msg, &mut other_len).map(drop),
            cipher.decrypt_into(&nonce_, ad.bytes(), &ct, &tag, &mut other_len),
            cipher.open_into(&nonce_, ad.bytes(), &whole, &mut other_len),
        ] {
            assert!(matches!(result, Err(Error::WrongLength { .. })));
        }
        assert!(other_len.iter().all(|b| *b == 0xee), "a call that was refused wrote");
        let past = msg.len() + 1;
        let out_of_it = [
            cipher
                .encrypt_within(&nonce_, ad.bytes(), &mut other_len[..msg.len()], 1..past, 0)
                .map(drop),
            cipher.decrypt_within(
                &nonce_,
                ad.bytes(),
                &mut other_len[..msg.len()],
                0..msg.len(),
                1,
                &tag,
            ),
        ];
        assert!(out_of_it.iter().all(|result| matches!(result, Err(Error::OutOfBuffer { .. }))));

        // From one place of a buffer to another; the rest of it stays as it was.
        let [from, to] = input.within.map(usize::from);
        let len = from.max(to) + msg.len();
        let mut before = vec![0x5a; len];
        before[from..from + msg.len()].copy_from_slice(&msg);
        let mut moved = Buffer::new(&before, a);
        let src = from..from + msg.len();
        assert_eq!(cipher.encrypt_within(&nonce_, ad.bytes(), moved.bytes_mut(), src, to), Ok(tag));
        before[to..to + msg.len()].copy_from_slice(&ct);
        assert_eq!(moved.bytes(), before);
        let src = to..to + msg.len();
        assert_eq!(
            cipher.decrypt_within(&nonce_, ad.bytes(), moved.bytes_mut(), src, from, &tag),
            Ok(())
        );
        before[from..from + msg.len()].copy_from_slice(&msg);
        assert_eq!(moved.bytes(), before);

        // Damaged.
        let (mut key_bytes, mut nonce_bytes) = (key_bytes.clone(), nonce_bytes.clone());
        let (mut ad, mut ct, mut tag) = (ad.bytes().to_vec(), ct.clone(), *tag.as_bytes());
        let parts = [&mut key_bytes, &mut nonce_bytes, &mut ad, &mut ct];
        if !input.damage.apply(parts, &mut tag) {
            return;
        }
        let tag = Tag::from(tag);
        let cipher = Aegis::<F, D, T>::new(&key::<F>(&key_bytes));
        let nonce_ = nonce::<F>(&nonce_bytes);
        let failed = Err(Error::VerificationFailed);
        assert_eq!(cipher.verify(&nonce_, &ad, &ct, &tag), failed);
        let mut buf = Buffer::new(&ct, b);
        assert_eq!(cipher.decrypt_in_place(&nonce_, &ad, buf.bytes_mut(), &tag), failed);
        assert!(buf.bytes().iter().all(|b| *b == 0), "unverified bytes were left");
        let mut buf = Buffer::new(&vec![0xee; ct.len()], a);
        assert_eq!(cipher.decrypt_into(&nonce_, &ad, &ct, &tag, buf.bytes_mut()), failed);
        assert!(buf.bytes().iter().all(|b| *b == 0), "unverified bytes were left");
        let mut moved = vec![0x5a; from.max(to) + ct.len()];
        moved[from..from + ct.len()].copy_from_slice(&ct);
        let mut after = moved.clone();
        after[to..to + ct.len()].fill(0);
        let src = from..from + ct.len();
        assert_eq!(cipher.decrypt_within(&nonce_, &ad, &mut moved, src, to, &tag), failed);
        assert_eq!(moved, after);
        let whole = [&ct[..], tag.as_ref()].concat();
        assert_eq!(cipher.open(&nonce_, &ad, &whole), Err(Error::VerificationFailed));
        let mut sealed = Buffer::new(&whole, b);
        assert_eq!(
            cipher.open_in_place(&nonce_, &ad, sealed.bytes_mut()),
            Err(Error::VerificationFailed)
        );
        assert!(sealed.bytes()[..ct.len()].iter().all(|b| *b == 0), "unverified bytes were left");
        let mut buf = Buffer::new(&vec![0xee; ct.len()], a);
        assert_eq!(cipher.open_into(&nonce_, &ad, &whole, buf.bytes_mut()), failed);
        assert!(buf.bytes().iter().all(|b| *b == 0), "unverified bytes were left");
        let with_nonce = [nonce_bytes, whole].concat();
        assert_eq!(cipher.open_with_nonce(&ad, &with_nonce), Err(Error::VerificationFailed));
    });
}

fn any(input: &Any) {
    input.backend.set();
    let algorithm = Algorithm::ALL[usize::from(input.algorithm) % 6];
    let tag_len = if input.long_tag { 32 } else { 16 };
    let [key, nonce, ad, msg] =
        input.seed.message(algorithm.key_len(), input.ad_len.0.min(3000), input.len.0);
    let reference = other::raf::aegis(algorithm.id()).expect("it has that number");
    let (ct, tag) = reference.encrypt(&key, &nonce, &ad, &msg, tag_len);
    let cipher = Cipher::new(algorithm, &key, tag_len).expect("lengths that fit");
    assert_eq!(
        (cipher.algorithm(), cipher.tag_len(), cipher.key()),
        (algorithm, tag_len, &key[..])
    );
    let [a, b] = input.offsets;
    let ad = Buffer::new(&ad, a);

    let (mut buf, mut made) = (Buffer::new(&msg, a), Buffer::new(&vec![0xee; tag_len], b));
    assert_eq!(
        cipher.encrypt_in_place(&nonce, ad.bytes(), buf.bytes_mut(), made.bytes_mut()),
        Ok(())
    );
    planted("any", buf.bytes_mut());
    assert_eq!((buf.bytes(), made.bytes()), (&ct[..], &tag[..]));
    assert_eq!(cipher.verify(&nonce, ad.bytes(), buf.bytes(), made.bytes()), Ok(()));
    assert_eq!(cipher.decrypt_in_place(&nonce, ad.bytes(), buf.bytes_mut(), made.bytes()), Ok(()));
    assert_eq!(buf.bytes(), msg);
    let (source, mut made) = (Buffer::new(&msg, b), Buffer::new(&vec![0xee; tag_len], a));
    let mut buf = Buffer::new(&vec![0xee; msg.len()], a);
    assert_eq!(
        cipher.encrypt_into(&nonce, ad.bytes(), source.bytes(), buf.bytes_mut(), made.bytes_mut()),
        Ok(())
    );
    assert_eq!((buf.bytes(), made.bytes()), (&ct[..], &tag[..]));
    let mut opened = Buffer::new(&vec![0xee; msg.len()], b);
    let result =
        cipher.decrypt_into(&nonce, ad.bytes(), buf.bytes(), made.bytes(), opened.bytes_mut());
    assert_eq!((result, opened.bytes()), (Ok(()), &msg[..]));

    // A nonce, a tag or an output of another length: refused, and nothing is touched.
    let more = |bytes: &[u8]| [bytes, &vec![0; 1 + usize::from(input.wrong)]].concat();
    let mut buf = Buffer::new(&vec![0xee; msg.len()], b);
    let mut long = more(&msg);
    let untouched = long.clone();
    let mut wrong_tag = more(&tag);
    for result in [
        cipher.encrypt_in_place(&more(&nonce), ad.bytes(), buf.bytes_mut(), made.bytes_mut()),
        cipher.encrypt_in_place(&nonce, ad.bytes(), buf.bytes_mut(), &mut wrong_tag),
        cipher.encrypt_into(&nonce, ad.bytes(), &msg, &mut long, made.bytes_mut()),
        cipher.decrypt_in_place(&more(&nonce), ad.bytes(), buf.bytes_mut(), &tag),
        cipher.decrypt_in_place(&nonce, ad.bytes(), buf.bytes_mut(), &wrong_tag),
        cipher.decrypt_into(&nonce, ad.bytes(), &ct, &tag, &mut long),
        cipher.verify(&more(&nonce), ad.bytes(), &ct, &tag),
        cipher.verify(&nonce, ad.bytes(), &ct, &wrong_tag),
        Cipher::new(algorithm, &more(&key), tag_len).map(drop),
    ] {
        assert!(
            matches!(result, Err(Error::WrongLength { .. } | Error::UnknownTagLength { .. })),
            "{result:?}"
        );
    }
    let wrong = usize::from(input.wrong);
    assert_eq!(Cipher::new(algorithm, &key, wrong).is_ok(), matches!(wrong, 16 | 32));
    assert!(buf.bytes().iter().all(|b| *b == 0xee), "a call that was refused wrote");
    assert!(
        long == untouched && made.bytes() == tag && wrong_tag == more(&tag),
        "a call that was refused wrote"
    );

    // Damaged.
    let (mut key, mut nonce, mut ad, mut ct, mut tag) = (key, nonce, ad.bytes().to_vec(), ct, tag);
    if !input.damage.apply([&mut key, &mut nonce, &mut ad, &mut ct], &mut tag) {
        return;
    }
    let cipher = Cipher::new(algorithm, &key, tag_len).expect("lengths that fit");
    let failed = Err(Error::VerificationFailed);
    assert_eq!(cipher.verify(&nonce, &ad, &ct, &tag), failed);
    let mut buf = Buffer::new(&ct, b);
    assert_eq!(cipher.decrypt_in_place(&nonce, &ad, buf.bytes_mut(), &tag), failed);
    assert!(buf.bytes().iter().all(|b| *b == 0), "unverified bytes were left");
    let mut buf = Buffer::new(&vec![0xee; ct.len()], a);
    assert_eq!(cipher.decrypt_into(&nonce, &ad, &ct, &tag, buf.bytes_mut()), failed);
    assert!(buf.bytes().iter().all(|b| *b == 0), "unverified bytes were left");
}

fn historic(input: &Historic) {
    input.backend.set();
    match input.mode {
        Mode::Context { family128: true, long_tag: false, ctx } => {
            historic_with::<16, 16>(input, ctx)
        }
        Mode::Context { family128: true, long_tag: true, ctx } => {
            historic_with::<16, 32>(input, ctx)
        }
        Mode::Context { family128: false, long_tag: false, ctx } => {
            historic_with::<32, 16>(input, ctx)
        }
        Mode::Context { family128: false, long_tag: true, ctx } => {
            historic_with::<32, 32>(input, ctx)
        }
        Mode::Lanes128 { .. } => historic_with::<16, 16>(input, 0),
        Mode::Lanes256 { .. } => historic_with::<32, 16>(input, 0),
    }
}

/// `K` bytes in a key.
fn historic_with<const K: usize, const T: usize>(input: &Historic, ctx: u8) {
    type Crypt<'a, const T: usize> =
        &'a dyn Fn(&[u8], &[u8], &[u8], &mut [u8]) -> Result<Tag<T>, Error>;
    type Open<'a, const T: usize> =
        &'a dyn Fn(&[u8], &[u8], &[u8], &mut [u8], &Tag<T>) -> Result<(), Error>;
    let [key_bytes, nonce_bytes, ad, msg] =
        input.seed.message(K, input.ad_len.0 % 700, input.len.0 % 1500);
    let ctx: [u8; 16] = input.seed.bytes(7 + u64::from(ctx), 16).try_into().expect("16 bytes");
    let k128 = |key: &[u8]| key.try_into().expect("a key");
    let n128 = |nonce: &[u8]| nonce.try_into().expect("a nonce");
    let k256 = |key: &[u8]| key.try_into().expect("a key");
    let n256 = |nonce: &[u8]| nonce.try_into().expect("a nonce");
    let lanes = |nu: u8| NonZero::new(1 + u32::from(nu % 20)).expect("it is one at least");
    let words = |five: bool| {
        if five { historic::TagForm::FiveWords } else { historic::TagForm::SevenWords }
    };
    // Tags of modes that have only short ones: `T` is 16 there.
    let sized = |tag: Tag<16>| Tag::<T>::try_from(&tag.as_bytes()[..]).expect("short tags");
    let short = |tag: &Tag<T>| Tag::<16>::try_from(&tag.as_bytes()[..]).expect("short tags");

    let mode = input.mode;
    let seal: Crypt<'_, T> = &|key, nonce, ad, buf| match mode {
        Mode::Context { family128: true, .. } => {
            historic::enc_128l(&ctx, &k128(key), &n128(nonce), ad, buf)
        }
        Mode::Context { .. } => historic::enc_256(&ctx, &k256(key), &n256(nonce), ad, buf),
        Mode::Lanes128 { nu, five_words } => {
            historic::Aegis128X::new(&k128(key), lanes(nu), words(five_words))
                .encrypt_in_place(&n128(nonce), ad, buf)
                .map(sized)
        }
        Mode::Lanes256 { nu } => historic::Aegis256X::new(&k256(key), lanes(nu))
            .encrypt_in_place(&n256(nonce), ad, buf)
            .map(sized),
    };
    let open: Open<'_, T> =
        &|key, nonce, ad, buf, tag| match mode {
            Mode::Context { family128: true, .. } => {
                historic::dec_128l(&ctx, &k128(key), &n128(nonce), ad, buf, tag)
            }
            Mode::Context { .. } => historic::dec_256(&ctx, &k256(key), &n256(nonce), ad, buf, tag),
            Mode::Lanes128 { nu, five_words } => historic::Aegis128X::new(
                &k128(key),
                lanes(nu),
                words(five_words),
            )
            .decrypt_in_place(&n128(nonce), ad, buf, &short(tag)),
            Mode::Lanes256 { nu } => historic::Aegis256X::new(&k256(key), lanes(nu))
                .decrypt_in_place(&n256(nonce), ad, buf, &short(tag)),
        };
    let family = if K == 16 { other::Family::Aegis128 } else { other::Family::Aegis256 };
    let (ct, tag) = match mode {
        Mode::Context { .. } => other::historic::encrypt_with_context(
            family,
            &ctx,
            &key_bytes,
            &nonce_bytes,
            &ad,
            &msg,
            T,
        ),
        Mode::Lanes128 { nu, five_words } => other::historic::encrypt(
            other::Aegis::new(family, lanes(nu).get() as usize),
            if five_words {
                other::historic::TagWords::Five
            } else {
                other::historic::TagWords::Seven
            },
            &key_bytes,
            &nonce_bytes,
            &ad,
            &msg,
            T,
        ),
        Mode::Lanes256 { nu } => other::historic::encrypt(
            other::Aegis::new(family, lanes(nu).get() as usize),
            other::historic::TagWords::Seven,
            &key_bytes,
            &nonce_bytes,
            &ad,
            &msg,
            T,
        ),
    };
    let tag = Tag::<T>::try_from(&tag[..]).expect("a tag");
    let mut buf = Buffer::new(&msg, input.offset);
    assert_eq!(seal(&key_bytes, &nonce_bytes, &ad, buf.bytes_mut()), Ok(tag));
    planted("historic", buf.bytes_mut());
    assert_eq!(buf.bytes(), ct);
    assert_eq!(open(&key_bytes, &nonce_bytes, &ad, buf.bytes_mut(), &tag), Ok(()));
    assert_eq!(buf.bytes(), msg);

    let (mut key, mut nonce, mut ad, mut ct, mut tag) =
        (key_bytes, nonce_bytes, ad, ct, *tag.as_bytes());
    if input.damage.apply([&mut key, &mut nonce, &mut ad, &mut ct], &mut tag) {
        let mut buf = Buffer::new(&ct, input.offset);
        let result = open(&key, &nonce, &ad, buf.bytes_mut(), &Tag::from(tag));
        assert_eq!(result, Err(Error::VerificationFailed));
        assert!(buf.bytes().iter().all(|b| *b == 0), "unverified bytes were left");
    }
}

fuzz_target!(|input: Input| match &input {
    Input::Typed(it) => palladion_fuzz::with_variant!(it.variant, check(it)),
    Input::Any(it) => any(it),
    Input::Historic(it) => historic(it),
});
