//! Tests all lines of the files in `vectors/`, for all six variants, with every function that can
//! produce or check them.
//!
//! With the argument `mistake` it changes a bit of every byte string that it reads, so it must
//! fail.

#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use cortex_m_rt::entry;
use cortex_m_semihosting::{debug, hprintln};
use palladion::family::Family;
use palladion::{Aegis, Error, KeyStream, Mac, Tag};
use palladion_firmware::{Each, argument_is, fill, for_each_variant};
use panic_semihosting as _;

/// The longest byte string of a file: 4 R of AEGIS-128X4 plus 3 bytes of associated data.
const LONGEST: usize = 4 * 128 + 3;

struct Reader {
    mistake: bool,
}

impl Reader {
    fn unhex<'a>(&self, text: &str, out: &'a mut [u8; LONGEST]) -> &'a mut [u8] {
        if text == "-" {
            return &mut out[..0];
        }
        for (byte, digits) in out.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let digit = |i: usize| (digits[i] as char).to_digit(16).unwrap() as u8;
            *byte = 16 * digit(0) + digit(1);
        }
        out[0] ^= u8::from(self.mistake);
        &mut out[..text.len() / 2]
    }
}

fn number(text: &str) -> usize {
    text.parse().unwrap()
}

fn file(name: &str) -> &'static str {
    macro_rules! vectors {
        ($file:literal) => {
            include_str!(concat!("../../../../vectors/", $file))
        };
    }
    match name {
        "AEGIS-128L" => vectors!("aegis-128l.txt"),
        "AEGIS-128X2" => vectors!("aegis-128x2.txt"),
        "AEGIS-128X4" => vectors!("aegis-128x4.txt"),
        "AEGIS-256" => vectors!("aegis-256.txt"),
        "AEGIS-256X2" => vectors!("aegis-256x2.txt"),
        _ => vectors!("aegis-256x4.txt"),
    }
}

fn key<F: Family>(seed: usize) -> F::Key {
    F::Key::try_from(fill(seed, &mut [0; 32][..F::KEY_LEN])).unwrap()
}

fn nonce<F: Family>(seed: usize) -> F::Nonce {
    F::Nonce::try_from(fill(seed + 60, &mut [0; 32][..F::KEY_LEN])).unwrap()
}

/// One message with a tag of one length.
fn aead<F: Family, const D: usize, const T: usize>(seed: usize, ad: &[u8], ct: &[u8], tag: &[u8]) {
    let cipher = Aegis::<F, D, T>::new(&key::<F>(seed));
    let nonce = nonce::<F>(seed);
    let tag = Tag::<T>::try_from(tag).unwrap();
    let (mut msg, mut buf) = ([0; LONGEST], [0; LONGEST]);
    let msg = fill(seed + 180, &mut msg[..ct.len()]);
    let buf = &mut buf[..ct.len()];

    buf.copy_from_slice(msg);
    assert_eq!(cipher.encrypt_in_place(&nonce, ad, buf), Ok(tag));
    assert_eq!(buf, ct);
    assert_eq!(cipher.verify(&nonce, ad, buf, &tag), Ok(()));
    assert_eq!(cipher.decrypt_in_place(&nonce, ad, buf, &tag), Ok(()));
    assert_eq!(buf, msg);

    // In three pieces.
    let piece = ct.len() / 3 + 1;
    let mut encryptor = cipher.encryptor(&nonce, ad).unwrap();
    for piece in buf.chunks_mut(piece) {
        encryptor.update_in_place(piece).unwrap();
    }
    assert_eq!(encryptor.finalize(), tag);
    assert_eq!(buf, ct);
    let mut decryptor = cipher.decryptor(&nonce, ad, buf).unwrap();
    for piece in ct.chunks(piece) {
        decryptor.update(piece).unwrap();
    }
    assert_eq!(decryptor.finalize(&tag).unwrap(), msg);

    // Change each bit of the tag in turn.
    let mut forged: [u8; T] = tag.into();
    forged[ct.len() % T] ^= 1 << (ct.len() % 8);
    let forged = Tag::from(forged);
    buf.copy_from_slice(ct);
    assert_eq!(cipher.verify(&nonce, ad, buf, &forged), Err(Error::VerificationFailed));
    assert_eq!(cipher.decrypt_in_place(&nonce, ad, buf, &forged), Err(Error::VerificationFailed));
    assert!(buf.iter().all(|&byte| byte == 0));
    // Change a bit of the ciphertext.
    if let Some(last) = ct.len().checked_sub(1) {
        buf.copy_from_slice(ct);
        buf[last] ^= 0x80;
        assert_eq!(cipher.decrypt_in_place(&nonce, ad, buf, &tag), Err(Error::VerificationFailed));
        assert!(buf.iter().all(|&byte| byte == 0));
    }
}

fn mac<F: Family, const D: usize, const T: usize>(seed: usize, data: &[u8], tag: &[u8]) {
    let (key, nonce) = (key::<F>(seed), nonce::<F>(seed));
    let tag = Tag::<T>::try_from(tag).unwrap();
    assert_eq!(Mac::<F, D, T>::mac(&key, &nonce, data), Ok(tag));
    assert_eq!(Mac::<F, D, T>::verify_mac(&key, &nonce, data, &tag), Ok(()));
    let mut forged: [u8; T] = tag.into();
    forged[data.len() % T] ^= 1 << (data.len() % 8);
    let forged = Mac::<F, D, T>::verify_mac(&key, &nonce, data, &Tag::from(forged));
    assert_eq!(forged, Err(Error::VerificationFailed));
    let mut pieces = Mac::<F, D, T>::new(&key, &nonce).unwrap();
    for piece in data.chunks(data.len() / 3 + 1) {
        pieces.update(piece).unwrap();
    }
    assert_eq!(pieces.finalize(), tag);
}

impl Each for Reader {
    fn variant<F: Family, const D: usize>(&mut self, name: &'static str) {
        let (mut seed, mut messages, mut macs, mut streams) = (0, 0, 0, 0);
        let (mut ad, mut ct) = ([0; LONGEST], [0; LONGEST]);
        let (mut ad_len, mut short, mut long, mut out) =
            (0, [0; LONGEST], [0; LONGEST], [0; LONGEST]);
        for line in file(name).lines() {
            let mut words = line.split(' ');
            let mut next = || words.next().unwrap_or("-");
            match (next(), next(), next(), next()) {
                ("variant", file, _, degree) => {
                    assert_eq!((file, number(degree)), (name, D));
                    seed = number(next());
                }
                ("key", text, ..) => {
                    assert_eq!(key::<F>(seed).as_ref(), self.unhex(text, &mut out));
                }
                ("nonce", text, ..) => {
                    assert_eq!(nonce::<F>(seed).as_ref(), self.unhex(text, &mut out));
                }
                ("stream", text, ..) => {
                    let expected = self.unhex(text, &mut ct);
                    let out = &mut out[..expected.len()];
                    KeyStream::<F, D>::fill(&key::<F>(seed), &nonce::<F>(seed), out).unwrap();
                    assert_eq!(out, expected);
                    streams += 1;
                }
                ("aead", len, text, _) => {
                    ad_len = number(len);
                    fill(seed + 120, &mut ad[..ad_len]);
                    self.unhex(text, &mut ct);
                }
                ("tag", len, tag16, tag32) => {
                    let (ad, ct) = (&ad[..ad_len], &ct[..number(len)]);
                    aead::<F, D, 16>(seed, ad, ct, self.unhex(tag16, &mut short));
                    aead::<F, D, 32>(seed, ad, ct, self.unhex(tag32, &mut long));
                    messages += 1;
                }
                ("mac", len, tag16, tag32) => {
                    let data = fill(seed + 180, &mut out[..number(len)]);
                    mac::<F, D, 16>(seed, data, self.unhex(tag16, &mut short));
                    mac::<F, D, 32>(seed, data, self.unhex(tag32, &mut long));
                    macs += 1;
                }
                _ => {}
            }
        }
        let rate = D * 512 / F::KEY_LEN; // that of AEGIS-128 is twice that of AEGIS-256
        assert!(messages > 8 * rate && macs > 4 * rate && streams == 1, "the file is not whole");
        hprintln!("{:12} {} messages and {} MACs with both tags", name, messages, macs);
    }
}

#[entry]
fn main() -> ! {
    for_each_variant(Reader { mistake: argument_is("mistake") });
    debug::exit(debug::EXIT_SUCCESS);
    loop {
        cortex_m::asm::wfi();
    }
}
