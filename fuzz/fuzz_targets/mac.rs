//! MACs: in one call and in pieces, on every backend, against the reference.

#![no_main]

use std::mem::MaybeUninit;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use palladion::family::Family;
use palladion::hazmat::Session;
use palladion::{Error, Mac, Tag};
use palladion_fuzz::{
    Buffer, Flip, Len, Offset, Seed, cuts, key, nonce, on_each_backend, planted_of, reference,
};

#[derive(Arbitrary, Debug)]
struct Input {
    variant: u8,
    seed: Seed,
    len: Len,
    offset: Offset,
    flip: Flip,
    pieces: Vec<(u16, How)>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum How {
    Plain,
    /// The copy goes on; the original takes other data, which does not matter.
    Copied,
    /// Other data before, which is forgotten: all begins anew.
    Reset,
}

fn check<F: Family, const D: usize, const T: usize>(input: &Input) {
    let [key_bytes, nonce_bytes, _, data] = input.seed.message(F::KEY_LEN, 0, input.len.0);
    let (key, nonce) = (key::<F>(&key_bytes), nonce::<F>(&nonce_bytes));
    let tag = reference::<F, D>().mac(&key_bytes, &nonce_bytes, &data, T);
    let tag = Tag::<T>::try_from(&tag[..]).expect("a tag");
    let mut forged = *tag.as_bytes();
    input.flip.apply(&mut forged);
    let forged = Tag::<T>::from(forged);

    let sizes: Vec<u16> = input.pieces.iter().map(|(size, _)| *size).collect();
    let sizes = cuts(data.len(), &sizes);
    on_each_backend(|| {
        let buf = Buffer::new(&data, input.offset);
        let mut made = *Mac::<F, D, T>::mac(&key, &nonce, buf.bytes())
            .expect("no limit was passed")
            .as_bytes();
        planted_of("bit", data.len(), &mut made);
        assert_eq!(&made, tag.as_bytes());
        assert_eq!(Mac::<F, D, T>::verify_mac(&key, &nonce, buf.bytes(), &tag), Ok(()));
        let failed = Err(Error::VerificationFailed);
        assert_eq!(Mac::<F, D, T>::verify_mac(&key, &nonce, buf.bytes(), &forged), failed);

        let mut mac = Mac::<F, D, T>::new(&key, &nonce).expect("there is a backend");
        let mut session = Session::<F, D>::new(&key, &nonce, b"").expect("there is a backend");
        let mut place = MaybeUninit::uninit();
        let begun =
            Session::<F, D>::begin_in(&mut place, &key, &nonce, b"").expect("there is a backend");
        let mut done = 0;
        let hows = input.pieces.iter().map(|(_, how)| *how).chain([How::Plain]);
        for (size, how) in sizes.iter().zip(hows) {
            match how {
                How::Plain => {}
                How::Copied => {
                    let copy = mac.clone();
                    mac.update(b"of no interest").expect("no limit was passed");
                    mac = copy;
                    session = session.clone();
                }
                How::Reset => {
                    mac.reset();
                    session.begin(&key, &nonce);
                    for begun in [Buffer::new(&data[..done], input.offset)] {
                        mac.update(begun.bytes()).expect("no limit was passed");
                        session.absorb(begun.bytes()).expect("no limit was passed");
                    }
                }
            }
            let piece = Buffer::new(&data[done..done + size], input.offset);
            mac.update(piece.bytes()).expect("no limit was passed");
            session.absorb(piece.bytes()).expect("no limit was passed");
            begun.absorb(piece.bytes()).expect("no limit was passed");
            done += size;
        }
        assert_eq!(mac.clone().verify(&tag), Ok(()));
        assert_eq!(mac.clone().verify(&forged), failed);
        assert_eq!(mac.finalize(), tag);
        assert_eq!(session.clone().verify_mac(&tag), Ok(()));
        assert_eq!(session.clone().verify_mac(&forged), failed);
        let mut made = [0; T];
        session.finalize_mac(&mut made).expect("no message has begun");
        planted_of("session", data.len(), &mut made);
        assert_eq!(&made, tag.as_bytes());
        assert_eq!(begun.verify_mac(&tag), Ok(()));
        // It may be used again, after a new beginning.
        let _ = session.finalize_mac(&mut made);
        session.begin(&key, &nonce);
        session.absorb(&data).expect("no limit was passed");
        session.finalize_mac(&mut made).expect("no message has begun");
        assert_eq!(&made, tag.as_bytes());
    });
}

fuzz_target!(|input: Input| palladion_fuzz::with_variant!(input.variant, check(&input)));
