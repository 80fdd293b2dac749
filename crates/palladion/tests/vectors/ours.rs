//! The vectors of `vectors/`, which its README describes, through every function that encrypts or
//! decrypts.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::erased::{Authenticator, Cipher, Variant};
use crate::common::{Hex, for_each_backend, framed, known_answers, list, reduced, unhex};
use palladion_reference::Aegis as Reference;

/// The contents of a file.
struct File {
    rate: usize,
    seed: usize,
    key: Vec<u8>,
    nonce: Vec<u8>,
    stream: Vec<u8>,
    stream0: Vec<u8>,
    groups: Vec<Group>,
    macs: BTreeMap<usize, [Vec<u8>; 2]>,
}

/// The messages with associated data of one length. Tags are ordered by the length of the message:
/// 16 bytes, then 32.
struct Group {
    ad_len: usize,
    ct: Vec<u8>,
    tags: BTreeMap<usize, [Vec<u8>; 2]>,
}

fn fill(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| ((seed + 7 * i) % 251) as u8).collect()
}

impl File {
    fn parse(variant: Reference, text: &str) -> Self {
        let mut file = File {
            rate: variant.rate(),
            seed: 0,
            key: Vec::new(),
            nonce: Vec::new(),
            stream: Vec::new(),
            stream0: Vec::new(),
            groups: Vec::new(),
            macs: BTreeMap::new(),
        };
        let number = |word: &str| word.parse::<usize>().unwrap();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let twice_new = match words[..] {
                ["variant", _, family, degree, seed] => {
                    assert_eq!(format!("{:?}", variant.family), format!("Aegis{family}"));
                    assert_eq!(number(degree), variant.degree);
                    file.seed = number(seed);
                    false
                }
                ["key", key] => !std::mem::replace(&mut file.key, unhex(key)).is_empty(),
                ["nonce", nonce] => !std::mem::replace(&mut file.nonce, unhex(nonce)).is_empty(),
                ["stream", s] => !std::mem::replace(&mut file.stream, unhex(s)).is_empty(),
                ["stream0", s] => !std::mem::replace(&mut file.stream0, unhex(s)).is_empty(),
                ["aead", ad_len, ct] => {
                    let tags = BTreeMap::new();
                    file.groups.push(Group { ad_len: number(ad_len), ct: unhex(ct), tags });
                    false
                }
                ["tag", len, a, b] => {
                    let group = file.groups.last_mut().unwrap();
                    group.tags.insert(number(len), [unhex(a), unhex(b)]).is_some()
                }
                ["mac", len, a, b] => file.macs.insert(number(len), [unhex(a), unhex(b)]).is_some(),
                _ => false, // the README says to ignore other lines
            };
            assert!(!twice_new, "said twice: {line}");
        }
        file
    }

    /// Checks that everything that the README promises is there.
    fn check_completeness(&self, variant: Reference) {
        let (r, degree, key_len) = (self.rate, variant.degree, variant.key_len());
        assert_eq!(self.key, fill(self.seed, key_len));
        assert_eq!(self.nonce, fill(self.seed + 60, key_len));
        assert_eq!((self.stream.len(), self.stream0.len()), (4 * r, r));

        let ad_lens: Vec<usize> = self.groups.iter().map(|group| group.ad_len).collect();
        let promised = BTreeSet::from([
            0,
            1,
            15,
            16,
            17,
            r - 1,
            r,
            r + 1,
            2 * r - 1,
            2 * r,
            2 * r + 1,
            4 * r + 3,
        ]);
        assert_eq!(BTreeSet::from_iter(ad_lens.iter().copied()), promised);
        assert_eq!(ad_lens.len(), promised.len());
        for group in &self.groups {
            let lens = BTreeSet::from_iter(group.tags.keys().copied());
            let all_lengths =
                group.ad_len == r + 1 || (group.ad_len == 0 && matches!(degree, 1 | 2 | 4));
            if all_lengths {
                assert_eq!(lens, BTreeSet::from_iter(0..=4 * r));
            } else {
                assert!(lens.is_superset(&BTreeSet::from([0, 1, 15, 16, 17, r - 1, r, r + 1])));
            }
            assert_eq!(Some(&group.ct.len()), lens.last());
            assert!(group.tags.values().all(|[a, b]| (a.len(), b.len()) == (16, 32)));
        }

        assert!(self.macs.keys().copied().eq(0..=4 * r));
        let has_short_mac = key_len == 32 || degree == 1 || degree.is_multiple_of(2);
        let lens = (if has_short_mac { 16 } else { 0 }, 32);
        assert!(self.macs.values().all(|[a, b]| (a.len(), b.len()) == lens));
    }

    /// Checks all messages and returns their number. The next three functions do the same.
    fn aead(&self, cipher: &dyn Cipher) -> usize {
        let mut answers = 0;
        let nonce = &self.nonce;
        for group in &self.groups {
            let ad = fill(self.seed + 120, group.ad_len);
            // If reduced, every fourth length, and other lengths in each group.
            let (first, step) = if reduced() { (group.ad_len % 4, 4) } else { (0, 1) };
            for (&len, tags) in group.tags.iter().skip(first).step_by(step) {
                let msg = fill(self.seed + 180, len);
                let ct = &group.ct[..len];
                let tag = &tags[cipher.tag_len() / 32];
                let sealed = [ct, tag].concat();
                let context =
                    || format!("{} bytes of associated data, message of {len}", group.ad_len);

                let (out, made) = framed(&msg, len, |buf| cipher.encrypt_in_place(nonce, &ad, buf));
                let found = (Hex(&out), made.as_deref().map(Hex));
                assert_eq!(found, (Hex(ct), Ok(Hex(tag))), "{}", context());
                let zeros = vec![0; len];
                let (out, made) =
                    framed(&zeros, len, |buf| cipher.encrypt_into(nonce, &ad, &msg, buf));
                let found = (Hex(&out), made.as_deref().map(Hex));
                assert_eq!(found, (Hex(ct), Ok(Hex(tag))), "{}", context());
                let found = cipher.seal(nonce, &ad, &msg);
                assert_eq!(found.as_deref().map(Hex), Ok(Hex(&sealed)), "{}", context());

                let (out, result) =
                    framed(ct, len, |buf| cipher.decrypt_in_place(nonce, &ad, buf, tag));
                assert_eq!((Hex(&out), result), (Hex(&msg), Ok(())), "{}", context());
                let (out, result) =
                    framed(&zeros, len, |buf| cipher.decrypt_into(nonce, &ad, ct, tag, buf));
                assert_eq!((Hex(&out), result), (Hex(&msg), Ok(())), "{}", context());
                let found = cipher.open(nonce, &ad, &sealed);
                assert_eq!(found.as_deref().map(Hex), Ok(Hex(&msg)), "{}", context());
                assert_eq!(cipher.verify(nonce, &ad, ct, tag), Ok(()), "{}", context());

                // Three pieces, cut anywhere.
                let mut encryptor = cipher.encryptor(nonce, &ad).unwrap();
                let mut out = msg.clone();
                for piece in out.chunks_mut(len / 3 + 1) {
                    encryptor.update_in_place(piece).unwrap();
                }
                let made = encryptor.finalize();
                assert_eq!((Hex(&out), Hex(&made)), (Hex(ct), Hex(tag)), "{}", context());
                let mut decryptor = cipher.decryptor(nonce, &ad, &mut out).unwrap();
                for piece in ct.chunks(len / 3 + 1) {
                    decryptor.update(piece).unwrap();
                }
                assert_eq!(decryptor.finalize(tag).unwrap(), msg, "{}", context());
                answers += 1;
            }
        }
        answers
    }

    fn streams(&self, variant: &dyn Variant) -> usize {
        let (key, zeros) = (&self.key, vec![0; self.nonce.len()]);
        let mut out = vec![0xff; self.stream.len()];
        let streams = [(&self.nonce, &self.stream), (&zeros, &self.stream0)];
        for (nonce, expected) in streams {
            for len in 0..=expected.len() {
                variant.fill(key, nonce, &mut out[..len]).unwrap();
                assert_eq!(Hex(&out[..len]), Hex(&expected[..len]));
            }
            let mut stream = variant.key_stream(key, nonce).unwrap();
            for piece in expected.chunks(self.rate / 3) {
                stream.next_bytes(&mut out[..piece.len()]).unwrap();
                assert_eq!(Hex(&out[..piece.len()]), Hex(piece));
            }
        }
        streams.len()
    }

    fn macs(&self, mac: &dyn Authenticator) -> usize {
        let (key, nonce) = (&self.key, &self.nonce);
        let data = fill(self.seed + 180, 4 * self.rate);
        let mut longest = mac.begin(key, nonce).unwrap();
        for (&len, tags) in &self.macs {
            let tag = &tags[mac.tag_len() / 32];
            let data = &data[..len];
            let found = mac.mac(key, nonce, data);
            assert_eq!(found.as_deref().map(Hex), Ok(Hex(tag)), "{len} bytes");
            assert_eq!(mac.verify_mac(key, nonce, data, tag), Ok(()));
            // One byte at a time, with the tag checked after each.
            longest.update(&data[len.saturating_sub(1)..]).unwrap();
            assert_eq!(Hex(&longest.copy().finalize()), Hex(tag), "{len} bytes");
        }
        self.macs.len()
    }
}

/// Checks a file on every backend, with the MACs that its variant has.
fn check(name: &str, text: &str, variant: &dyn Variant, macs: &[&dyn Authenticator]) {
    let file = File::parse(variant.reference(), text);
    file.check_completeness(variant.reference());
    for_each_backend(|backend| {
        // An answer is a message, or data, with both of its tags.
        let mut answers = file.aead(&*variant.cipher(16, &file.key));
        assert_eq!(file.aead(&*variant.cipher(32, &file.key)), answers);
        answers += file.streams(variant);
        answers += macs.iter().map(|mac| file.macs(*mac)).max().unwrap();
        known_answers("vectors/", name, backend, answers);
    });
}

macro_rules! files {
    ($($name:ident: $file:literal, $family:ident $degree:literal, MACs of $($tag:literal)*;)*) => {
        const FILES: &[&str] = &[$($file),*];
        $(
            #[test]
            fn $name() {
                let text = include_str!(concat!("../../../../vectors/", $file));
                let variant: &[&dyn Variant] = list!($family: $degree;);
                check($file, text, variant[0], list!($($family $tag: $degree;)*));
            }
        )*
    };
}

files! {
    aegis_128l: "aegis-128l.txt", Aegis128 1, MACs of 16 32;
    aegis_128x2: "aegis-128x2.txt", Aegis128 2, MACs of 16 32;
    aegis_128x3: "aegis-128x3.txt", Aegis128 3, MACs of 32;
    aegis_128x4: "aegis-128x4.txt", Aegis128 4, MACs of 16 32;
    aegis_128x7: "aegis-128x7.txt", Aegis128 7, MACs of 32;
    aegis_256: "aegis-256.txt", Aegis256 1, MACs of 16 32;
    aegis_256x2: "aegis-256x2.txt", Aegis256 2, MACs of 16 32;
    aegis_256x3: "aegis-256x3.txt", Aegis256 3, MACs of 16 32;
    aegis_256x4: "aegis-256x4.txt", Aegis256 4, MACs of 16 32;
    aegis_256x5: "aegis-256x5.txt", Aegis256 5, MACs of 16 32;
}

/// A new file has to be named above.
#[test]
fn no_file_is_left_out() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors");
    let there: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("aegis-")) // the others belong to other crates
        .collect();
    assert_eq!(there, FILES.iter().map(|name| (*name).to_string()).collect());
}
