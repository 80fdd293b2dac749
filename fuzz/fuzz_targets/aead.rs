//! A message in one call, in every way there is: against the reference, and damaged. Ciphers that
//! are chosen at compile time and at run time, and the C library with its inputs and its output at
//! any distance.

#![no_main]

use std::ffi::c_int;
use std::ptr::{null, null_mut};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use palladion::{Error, any};
use palladion_fuzz::c::{self, Functions};
use palladion_fuzz::erased::Cipher;
use palladion_fuzz::{AnyBackend, AnyVariant, Buffer, Flip, Len, Offset, Seed, plant, planted};

#[derive(Arbitrary, Debug)]
struct Input {
    backend: AnyBackend,
    variant: AnyVariant,
    seed: Seed,
    ad_len: Len,
    len: Len,
    at: [Offset; 2],
    /// Where the output goes, in a buffer that has the inputs, too.
    to: u16,
    /// Which part is damaged, and how.
    damage: (u8, Flip),
}

/// What goes into a call and, afterwards, what has come out.
#[derive(Clone)]
struct Call<'a> {
    input: &'a Input,
    key: Vec<u8>,
    nonce: Vec<u8>,
    ad: Vec<u8>,
    /// The message or the ciphertext.
    text: Vec<u8>,
    tag: Vec<u8>,
}

/// A function that encrypts and returns the tag, and the one that decrypts. They leave their output
/// as the call's text. Add one to a list below, and it is tested.
struct Way {
    name: &'static str,
    encrypt: fn(&mut Call) -> Result<Vec<u8>, Error>,
    decrypt: fn(&mut Call) -> Result<(), Error>,
}

/// Every variant has these.
const TYPED: &[Way] = &[
    Way {
        name: "encrypt_in_place",
        encrypt: |c| c.in_place(|c, n, ad, buf| c.cipher().encrypt_in_place(n, ad, buf)),
        decrypt: |c| {
            let verdict = c.cipher().verify(&c.nonce, &c.ad, &c.text, &c.tag);
            let result =
                c.in_place(|c, n, ad, buf| c.cipher().decrypt_in_place(n, ad, buf, &c.tag));
            assert_eq!(verdict, result);
            result
        },
    },
    Way {
        name: "encrypt_into",
        encrypt: |c| {
            let len = c.text.len();
            c.into(len, |c, n, ad, msg, ct| c.cipher().encrypt_into(n, ad, msg, ct))
        },
        decrypt: |c| {
            let len = c.text.len();
            c.into(len, |c, n, ad, ct, msg| c.cipher().decrypt_into(n, ad, ct, &c.tag, msg))
        },
    },
    Way {
        name: "seal_in_place",
        encrypt: |c| {
            c.join();
            c.in_place(|c, n, ad, buf| c.cipher().seal_in_place(n, ad, buf))?;
            Ok(c.split())
        },
        decrypt: |c| {
            c.join();
            let result = c.in_place(|c, n, ad, buf| {
                c.cipher().open_in_place(n, ad, buf).map(|msg| msg.len())
            });
            c.split();
            assert_eq!(result.unwrap_or(c.text.len()), c.text.len());
            result.map(drop)
        },
    },
    Way {
        name: "seal_into",
        encrypt: |c| {
            let len = c.text.len() + c.tag.len();
            c.into(len, |c, n, ad, msg, sealed| c.cipher().seal_into(n, ad, msg, sealed))?;
            Ok(c.split())
        },
        decrypt: |c| {
            let len = c.text.len();
            c.join();
            c.into(len, |c, n, ad, sealed, msg| c.cipher().open_into(n, ad, sealed, msg))
        },
    },
    Way {
        name: "seal",
        encrypt: |c| {
            c.text = c.cipher().seal(&c.nonce, &c.ad, &c.text)?;
            Ok(c.split())
        },
        decrypt: |c| {
            let sealed = [&c.nonce[..], &c.text, &c.tag].concat();
            let result = c.cipher().open(&c.nonce, &c.ad, &sealed[c.nonce.len()..]);
            assert_eq!(c.cipher().open_with_nonce(&c.ad, &sealed), result);
            c.text = result.clone().unwrap_or_default();
            result.map(drop)
        },
    },
];

/// Those that have names have these, too.
const NAMED: &[Way] = &[
    Way {
        name: "any",
        encrypt: |c| {
            let mut tag = c.tag_buffer();
            c.in_place(|c, n, ad, buf| c.any().encrypt_in_place(n, ad, buf, tag.bytes_mut()))?;
            Ok(tag.bytes().to_vec())
        },
        decrypt: |c| {
            let verdict = c.any().verify(&c.nonce, &c.ad, &c.text, &c.tag);
            let result = c.in_place(|c, n, ad, buf| c.any().decrypt_in_place(n, ad, buf, &c.tag));
            assert_eq!(verdict, result);
            result
        },
    },
    // SAFETY: in C's ways, each pointer is valid for the length that is passed with it.
    Way {
        name: "encrypt_detached in C",
        encrypt: |c| {
            let mut tag = c.tag_buffer();
            let (t, n) = (tag.bytes_mut().as_mut_ptr(), c.tag.len());
            c.in_c(c.text.len(), |f, p| unsafe {
                (f.encrypt_detached)(p.out, t, n, p.m, p.mlen, p.ad, p.adlen, p.npub, p.k)
            })?;
            Ok(tag.bytes().to_vec())
        },
        decrypt: |c| {
            let n = c.tag.len();
            c.in_c_or_nowhere(|f, p| unsafe {
                (f.decrypt_detached)(p.out, p.m, p.mlen, p.mac, n, p.ad, p.adlen, p.npub, p.k)
            })
        },
    },
    Way {
        name: "encrypt in C",
        encrypt: |c| {
            let n = c.tag.len();
            c.in_c(c.text.len() + n, |f, p| unsafe {
                (f.encrypt)(p.out, n, p.m, p.mlen, p.ad, p.adlen, p.npub, p.k)
            })?;
            Ok(c.split())
        },
        decrypt: |c| {
            let n = c.tag.len();
            c.in_c_or_nowhere(|f, p| unsafe {
                let sealed = p.mac.sub(p.mlen); // the ciphertext lies right before the tag
                (f.decrypt)(p.out, sealed, p.mlen + n, n, p.ad, p.adlen, p.npub, p.k)
            })
        },
    },
];

/// The arguments of a function in C.
struct Pointers {
    k: *const u8,
    npub: *const u8,
    ad: *const u8,
    adlen: usize,
    m: *const u8,
    mlen: usize,
    mac: *const u8,
    out: *mut u8,
}

impl Call<'_> {
    fn cipher(&self) -> Box<dyn Cipher> {
        self.input.variant.get().cipher(self.tag.len(), &self.key)
    }

    fn any(&self) -> any::Cipher {
        let (algorithm, _) = self.input.variant.named().expect("it has a name");
        any::Cipher::new(algorithm, &self.key, self.tag.len()).expect("lengths that fit")
    }

    fn tag_buffer(&self) -> Buffer {
        Buffer::new(&self.tag, self.input.at[1])
    }

    /// Puts a copy of the tag behind the text.
    fn join(&mut self) {
        self.text.extend_from_slice(&self.tag);
    }

    /// Takes the tag from there.
    fn split(&mut self) -> Vec<u8> {
        self.text.split_off(self.text.len() - self.tag.len())
    }

    /// Calls a function with nonce, associated data and text.
    fn in_place<R>(&mut self, call: impl FnOnce(&Self, &[u8], &[u8], &mut [u8]) -> R) -> R {
        let ad = Buffer::new(&self.ad, self.input.at[1]);
        let mut buf = Buffer::new(&self.text, self.input.at[0]);
        let result = call(self, &self.nonce, ad.bytes(), buf.bytes_mut());
        self.text = buf.bytes().to_vec();
        result
    }

    /// The same, with an output of this length.
    fn into<R>(
        &mut self,
        len: usize,
        call: impl FnOnce(&Self, &[u8], &[u8], &[u8], &mut [u8]) -> R,
    ) -> R {
        let source = Buffer::new(&self.text, self.input.at[0]);
        let mut out = Buffer::new(&vec![0xee; len], self.input.at[1]);
        let result = call(self, &self.nonce, &self.ad, source.bytes(), out.bytes_mut());
        self.text = out.bytes().to_vec();
        result
    }

    /// Calls a function in C with all inputs one behind another in a buffer, and the output
    /// anywhere in it.
    fn in_c(
        &mut self,
        len: usize,
        call: impl FnOnce(&Functions, Pointers) -> c_int,
    ) -> Result<(), Error> {
        let (_, functions) = self.input.variant.named().expect("it has a name");
        let before = [&self.key[..], &self.nonce, &self.ad].concat();
        let mut after = [&before[..], &self.text, &self.tag].concat();
        let to = usize::from(self.input.to) % (after.len() + 64);
        after.resize(after.len().max(to + len), 0x5a);
        let mut buf = Buffer::new(&after, self.input.at[0]);
        let start = buf.bytes_mut().as_mut_ptr();
        let out = start.wrapping_add(to);
        let at = |place: usize| start.wrapping_add(place).cast_const();
        let (k, nonce, ad) = (0, self.key.len(), self.key.len() + self.nonce.len());
        let pointers = Pointers {
            k: at(k),
            npub: if self.nonce.iter().all(|byte| *byte == 0) { null() } else { at(nonce) },
            ad: if self.ad.is_empty() { null() } else { at(ad) },
            adlen: self.ad.len(),
            m: if self.text.is_empty() { null() } else { at(before.len()) },
            mlen: self.text.len(),
            mac: at(before.len() + self.text.len()),
            out,
        };
        let result = c::result(|| call(functions, pointers));
        if plant("outside") {
            // SAFETY: none: a library with this defect reads past its output.
            unsafe { out.add(len).read_volatile() };
        }
        self.text = buf.bytes()[to..to + len].to_vec();
        after[to..to + len].copy_from_slice(&self.text);
        assert!(buf.bytes() == after, "written beside the output");
        result
    }

    /// The same, after a call that only verifies the tag, and says the same of it.
    fn in_c_or_nowhere(
        &mut self,
        call: impl Fn(&Functions, Pointers) -> c_int,
    ) -> Result<(), Error> {
        let verdict = self.clone().in_c(0, |f, p| call(f, Pointers { out: null_mut(), ..p }));
        let result = self.in_c(self.text.len(), call);
        assert_eq!(verdict, result);
        result
    }

    /// Damages it, if there is anything.
    fn damage(&mut self) -> bool {
        let (which, flip) = self.input.damage;
        let parts = [&mut self.key, &mut self.nonce, &mut self.ad, &mut self.text, &mut self.tag];
        flip.apply(parts.into_iter().nth(usize::from(which) % 5).expect("there are five"))
    }
}

/// Checks the functions in C that make no tag.
fn check_untagged(plain: &Call, ct: &[u8]) {
    let variant = plain.input.variant.get();
    let stream = variant.reference().stream(&plain.key, &plain.nonce, ct.len());
    let xored: Vec<u8> = plain.text.iter().zip(&stream).map(|(a, b)| a ^ b).collect();
    let msg = &plain.text[..];
    // What goes in and what comes out of each function.
    type Untagged<'a> = (fn(&Functions, Pointers), &'a [u8], &'a [u8]);
    // SAFETY: each pointer is valid for the length that is passed with it.
    let all: [Untagged; 4] = [
        (|f, p| unsafe { (f.stream)(p.out, p.mlen, p.npub, p.k) }, msg, &stream),
        (|f, p| unsafe { (f.stream_xor)(p.out, p.m, p.mlen, p.npub, p.k) }, msg, &xored),
        (|f, p| unsafe { (f.encrypt_unauthenticated)(p.out, p.m, p.mlen, p.npub, p.k) }, msg, ct),
        (|f, p| unsafe { (f.decrypt_unauthenticated)(p.out, p.m, p.mlen, p.npub, p.k) }, ct, msg),
    ];
    for (place, (function, from, to)) in all.into_iter().enumerate() {
        let mut call = Call { text: from.to_vec(), ..plain.clone() };
        let result = call.in_c(from.len(), |f, p| {
            function(f, p);
            0
        });
        assert!(result == Ok(()) && call.text == to, "function {place}");
    }
}

fuzz_target!(|input: Input| {
    input.backend.set();
    let aegis = input.variant.get().reference();
    let tag_len = input.variant.tag_len();
    let [key, nonce, ad, text] =
        input.seed.message(aegis.key_len(), input.ad_len.0.min(3000), input.len.0);
    let (ct, tag) = aegis.encrypt(&key, &nonce, &ad, &text, tag_len);
    let plain = Call { input: &input, key, nonce, ad, text, tag: vec![0xee; tag_len] };
    let sealed = Call { text: ct, tag, ..plain.clone() };
    let mut damaged = sealed.clone();
    let is_damaged = damaged.damage();

    let named = input.variant.named().is_some();
    for way in TYPED.iter().chain(NAMED.iter().filter(|_| named)) {
        let mut call = plain.clone();
        assert_eq!((way.encrypt)(&mut call).as_ref(), Ok(&sealed.tag), "{}", way.name);
        planted("bit", &mut call.text);
        assert!(call.text == sealed.text, "{}", way.name);
        let mut call = sealed.clone();
        assert_eq!((way.decrypt)(&mut call), Ok(()), "{}", way.name);
        assert!(call.text == plain.text, "{}", way.name);
        if !is_damaged {
            continue;
        }
        let mut call = damaged.clone();
        let mut result = (way.decrypt)(&mut call);
        if plant("accepted") {
            result = Ok(());
        }
        assert_eq!(result, Err(Error::VerificationFailed), "{}", way.name);
        if plant("left") {
            call.text = damaged.text.clone();
        }
        assert!(call.text.iter().all(|b| *b == 0), "{}: unverified bytes were left", way.name);
    }
    if named && plain.ad.is_empty() {
        check_untagged(&plain, &sealed.text);
    }
});
