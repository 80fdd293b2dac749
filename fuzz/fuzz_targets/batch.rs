//! Many messages in one call: each is what it would be alone, whatever the others are; forgeries
//! and calls that cannot succeed among them.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use palladion::batch::{Decryption, Encryption, decrypt, encrypt};
use palladion::family::Family;
use palladion::{Aegis, Error, Tag};
use palladion_fuzz::{AnyBackend, Buffer, Flip, Offset, Seed, key, nonce, planted};

#[derive(Arbitrary, Debug)]
struct Input {
    backend: AnyBackend,
    variant: u8,
    seed: Seed,
    one_key: bool,
    messages: Vec<Message>,
    /// This many more like the last one.
    more: u8,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
struct Message {
    ad_len: u8,
    len: u16,
    offset: Offset,
    how: How,
    forged: Option<Flip>,
    /// The output is so many bytes too long.
    excess: u8,
}

#[derive(Arbitrary, Clone, Copy, Debug, PartialEq)]
enum How {
    InPlace,
    Into,
    SealInPlace,
    SealInto,
}

struct Sample<F: Family, const D: usize, const T: usize> {
    it: Message,
    cipher: Aegis<F, D, T>,
    nonce: F::Nonce,
    ad: Buffer,
    msg: Buffer,
    ct: Vec<u8>,
    tag: Tag<T>,
}

fn check<F: Family, const D: usize, const T: usize>(input: &Input) {
    input.backend.set();
    let last = input.messages.last().copied();
    let messages = input.messages.iter().copied().take(150);
    let messages = messages.chain(
        last.into_iter().cycle().take(usize::from(input.more) * usize::from(last.is_some())),
    );
    let mut total = 0;
    let samples: Vec<Sample<F, D, T>> = messages
        .map(|mut it| {
            it.len %= if total < 40_000 { 3000 } else { 50 };
            it.excess %= 4;
            total += usize::from(it.len);
            it
        })
        .enumerate()
        .map(|(i, it)| {
            let i = i as u64;
            let bytes = |purpose: u64, len| input.seed.bytes(1 + 4 * i + purpose, len);
            let cipher = Aegis::<F, D, T>::new(&key::<F>(&if input.one_key {
                input.seed.bytes(0, F::KEY_LEN)
            } else {
                bytes(0, F::KEY_LEN)
            }));
            let nonce = nonce::<F>(&bytes(1, F::KEY_LEN));
            let (ad, msg) = (bytes(2, usize::from(it.ad_len)), bytes(3, usize::from(it.len)));
            let mut ct = msg.clone();
            let tag = cipher.encrypt_in_place(&nonce, &ad, &mut ct).expect("no limit was passed");
            let (ad, msg) = (Buffer::new(&ad, it.offset), Buffer::new(&msg, it.offset));
            Sample { it, cipher, nonce, ad, msg, ct, tag }
        })
        .collect();

    // Encryption.
    let mut outs: Vec<Buffer> = samples
        .iter()
        .map(|s| {
            let mut out = match s.it.how {
                How::InPlace => s.msg.bytes().to_vec(),
                How::Into => vec![0xee; s.ct.len() + usize::from(s.it.excess)],
                How::SealInPlace => [s.msg.bytes(), &[0xee; T]].concat(),
                How::SealInto => vec![0xee; s.ct.len() + T + usize::from(s.it.excess)],
            };
            out.shrink_to_fit();
            Buffer::new(&out, s.it.offset)
        })
        .collect();
    let refused =
        |s: &Sample<F, D, T>| s.it.excess > 0 && matches!(s.it.how, How::Into | How::SealInto);
    let mut tags = vec![Tag::from([0; T]); samples.len()];
    let jobs = samples.iter().zip(&mut outs).zip(&mut tags).map(|((s, out), tag)| {
        let (cipher, nonce, ad, out) = (&s.cipher, &s.nonce, s.ad.bytes(), out.bytes_mut());
        match s.it.how {
            How::InPlace => Encryption::encrypt_in_place(cipher, nonce, ad, out, tag),
            How::Into => Encryption::encrypt_into(cipher, nonce, ad, s.msg.bytes(), out, tag),
            How::SealInPlace => Encryption::seal_in_place(cipher, nonce, ad, out),
            How::SealInto => Encryption::seal_into(cipher, nonce, ad, s.msg.bytes(), out),
        }
    });
    let expected: Vec<usize> = (0..samples.len()).filter(|i| refused(&samples[*i])).collect();
    match (encrypt(jobs), expected.first()) {
        (Ok(()), None) => {}
        (Err(e), Some(first)) => {
            assert_eq!((e.failed, e.first), (expected.len(), *first));
            assert!(matches!(e.error, Error::WrongLength { .. }), "{e}");
        }
        (other, first) => panic!("{other:?}, but first {first:?}"),
    }
    for ((s, out), tag) in samples.iter().zip(&outs).zip(&tags) {
        match s.it.how {
            _ if refused(s) => {
                assert!(out.bytes().iter().all(|b| *b == 0xee), "a call that was refused wrote")
            }
            How::InPlace | How::Into => assert_eq!((out.bytes(), tag), (&s.ct[..], &s.tag)),
            How::SealInPlace | How::SealInto => {
                let mut sealed = out.bytes().to_vec();
                planted("bit", &mut sealed);
                assert_eq!(sealed, [&s.ct[..], s.tag.as_ref()].concat())
            }
        }
    }

    // Decryption, with forgeries.
    let came: Vec<(Vec<u8>, Tag<T>, bool)> = samples
        .iter()
        .map(|s| {
            let (mut ct, mut tag) = (s.ct.clone(), *s.tag.as_bytes());
            let forged = s.it.forged.is_some_and(|flip| match s.it.ad_len % 2 {
                0 => flip.apply(&mut ct),
                _ => flip.apply(&mut tag),
            });
            (ct, Tag::from(tag), forged)
        })
        .collect();
    let sealed: Vec<Vec<u8>> =
        came.iter().map(|(ct, tag, _)| [&ct[..], tag.as_ref()].concat()).collect();
    let mut outs: Vec<Buffer> = samples
        .iter()
        .zip(&came)
        .map(|(s, (ct, tag, _))| {
            let out = match s.it.how {
                How::InPlace => ct.clone(),
                How::SealInPlace => [&ct[..], tag.as_ref()].concat(),
                How::Into | How::SealInto => vec![0xee; ct.len() + usize::from(s.it.excess)],
            };
            Buffer::new(&out, s.it.offset)
        })
        .collect();
    let each = samples.iter().zip(&came).zip(sealed.iter().zip(&mut outs));
    let jobs = each.map(|((s, (ct, tag, _)), (sealed, out))| {
        let (cipher, nonce, ad, out) = (&s.cipher, &s.nonce, s.ad.bytes(), out.bytes_mut());
        match s.it.how {
            How::InPlace => Decryption::decrypt_in_place(cipher, nonce, ad, out, tag),
            How::Into => Decryption::decrypt_into(cipher, nonce, ad, ct, tag, out),
            How::SealInPlace => Decryption::open_in_place(cipher, nonce, ad, out),
            How::SealInto => Decryption::open_into(cipher, nonce, ad, sealed, out),
        }
    });
    let mut failures = Vec::new();
    let summary = decrypt(jobs, |place, error| failures.push((place, error)));
    let wrong: Vec<usize> =
        (0..samples.len()).filter(|i| refused(&samples[*i]) || came[*i].2).collect();
    assert_eq!(failures.iter().map(|(place, _)| *place).collect::<Vec<_>>(), wrong);
    assert_eq!(
        summary.map_err(|e| (e.failed, e.first)),
        wrong.first().map_or(Ok(()), |first| Err((wrong.len(), *first)))
    );
    for (place, error) in failures {
        match error {
            Error::WrongLength { .. } => assert!(refused(&samples[place])),
            Error::VerificationFailed => assert!(!refused(&samples[place])),
            other => panic!("{other}"),
        }
    }
    for ((s, (ct, _, forged)), out) in samples.iter().zip(&came).zip(&outs) {
        if refused(s) {
            assert!(out.bytes().iter().all(|b| *b == 0xee), "a call that was refused wrote");
        } else if *forged {
            assert!(out.bytes()[..ct.len()].iter().all(|b| *b == 0), "unverified bytes were left");
        } else {
            assert_eq!(&out.bytes()[..ct.len()], s.msg.bytes());
        }
    }
}

fuzz_target!(|input: Input| palladion_fuzz::with_variant!(input.variant, check(&input)));
