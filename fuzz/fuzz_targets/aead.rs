//! A message in one call, in every way there is and on every backend: against the reference, and damaged.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use palladion::family::Family;
use palladion::{Aegis, Error, Tag};
use palladion_fuzz::{Buffer, Flip, Len, Offset, Seed, key, nonce, on_each_backend, planted, reference};

#[derive(Arbitrary, Debug)]
struct Input {
    variant: u8,
    seed: Seed,
    ad_len: Len,
    len: Len,
    offsets: [Offset; 3],
    damage: Damage,
    /// Where it lies for `encrypt_within`: source and destination.
    within: [u8; 2],
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

fn check<F: Family, const D: usize, const T: usize>(input: &Input) {
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
        planted(buf.bytes_mut());
        assert_eq!(buf.bytes(), ct);
        assert_eq!(cipher.verify(&nonce_, ad.bytes(), buf.bytes(), &tag), Ok(()));
        assert_eq!(cipher.decrypt_in_place(&nonce_, ad.bytes(), buf.bytes_mut(), &tag), Ok(()));
        assert_eq!(buf.bytes(), msg);

        // Into another buffer.
        let source = Buffer::new(&msg, a);
        let mut buf = Buffer::new(&vec![0xee; msg.len()], b);
        assert_eq!(cipher.encrypt_into(&nonce_, ad.bytes(), source.bytes(), buf.bytes_mut()), Ok(tag));
        assert_eq!(buf.bytes(), ct);
        let mut opened = Buffer::new(&vec![0xee; msg.len()], a);
        assert_eq!(cipher.decrypt_into(&nonce_, ad.bytes(), buf.bytes(), &tag, opened.bytes_mut()), Ok(()));
        assert_eq!(opened.bytes(), msg);

        // With the tag behind.
        let mut sealed = Buffer::new(&[&msg[..], &[0xee; T]].concat(), b);
        assert_eq!(cipher.seal_in_place(&nonce_, ad.bytes(), sealed.bytes_mut()), Ok(()));
        assert_eq!(sealed.bytes(), [&ct[..], tag.as_ref()].concat());
        let mut opened = Buffer::new(&vec![0xee; msg.len()], a);
        assert_eq!(cipher.open_into(&nonce_, ad.bytes(), sealed.bytes(), opened.bytes_mut()), Ok(()));
        assert_eq!(opened.bytes(), msg);

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
        assert_eq!(cipher.decrypt_within(&nonce_, ad.bytes(), moved.bytes_mut(), src, from, &tag), Ok(()));
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
    });
}

fuzz_target!(|input: Input| palladion_fuzz::with_variant!(input.variant, check(&input)));
