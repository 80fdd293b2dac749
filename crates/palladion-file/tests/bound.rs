//! Files that are bound to a place.

use std::io::{Read as _, Write as _};

use palladion_file::sans_io::{Encoder, Opening};
use palladion_file::slots::{Copies, Head, NewSlot, NewSlots, Rewrap};
use palladion_file::{
    Algorithm, ChunkSize, Decryptor, EncryptWriter, Encryptor, Error, Info, KdfLimits, Keyring,
    MasterKey, OwnedSecret, Passphrase, Secret, SeekReader, Spare,
};

use crate::common::*;
use crate::engine::{decode, encode};
use crate::random::{Random, with_new_seeds};

const HERE: &str = "reports/2026/january";
const THERE: &str = "reports/2026/february";

fn other() -> MasterKey {
    MasterKey::from([0x43; 32])
}

fn words() -> Passphrase {
    Passphrase::new("words")
}

#[cfg(feature = "tokio")]
struct Ranges<'a>(&'a [u8]);

#[cfg(feature = "tokio")]
impl palladion_file::tokio::AsyncReadAt for Ranges<'_> {
    async fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
        palladion_file::ReadAt::read_at(self.0, buffer, offset)
    }
    async fn size(&self) -> std::io::Result<u64> {
        Ok(self.0.len() as u64)
    }
}

/// What each reader makes of a file.
fn read(random: &mut Random, keyring: &Keyring, file: &[u8]) -> Vec<Result<Vec<u8>, Error>> {
    let secret = Secret::from(keyring);
    let mut results = Vec::new();
    let mut out = Vec::new();
    let decrypted = Decryptor::new(secret).threads(threads(2)).run(file, &mut out);
    results.push(decrypted.map(|_| out));
    let reader = palladion_file::DecryptReader::new(secret, file);
    results.push(reader.map(|mut reader| {
        let mut out = Vec::new();
        reader.read_to_end(&mut out).unwrap();
        out
    }));
    let (out, end) = decode(random, secret, file);
    results.push(end.map(|_| out));
    results.push(SeekReader::new(secret, file).map(|mut reader| {
        let mut out = Vec::new();
        reader.read_to_end(&mut out).unwrap();
        out
    }));
    let mut out = vec![0; file.len()];
    let salvaged = Decryptor::new(secret).salvage(file, |at, text| {
        out[at as usize..][..text.len()].copy_from_slice(text);
        Ok(())
    });
    results.push(salvaged.map(|salvaged| {
        out.truncate(salvaged.intact.bytes as usize);
        out
    }));
    if !Info::from_start(file).is_ok_and(|info| info.secret == palladion_file::SecretKind::Slots) {
        let start = &file[..Opening::START_LEN];
        let opening = Opening::new(secret, &KdfLimits::default(), start, file.len() as u64);
        results.push(opening.map(|mut opening| {
            while let Some(range) = opening.wants() {
                let mut part = file[range.start as usize..range.end as usize].to_vec();
                opening = opening.give(&mut part).unwrap();
            }
            let chunks = opening.finish();
            let open = |chunk| {
                let range = chunks.layout().sealed(chunk..chunk + 1);
                let mut sealed = file[range.start as usize..range.end as usize].to_vec();
                chunks.open(chunk, &mut sealed).unwrap().to_vec()
            };
            (0..chunks.layout().chunks()).flat_map(open).collect()
        }));
    }
    #[cfg(feature = "tokio")]
    results.extend(on(&tokio::runtime::Builder::new_current_thread().build().unwrap(), async {
        use palladion_file::tokio::{DecryptReader, RangeReader, SeekReader};
        use tokio::io::AsyncReadExt;
        let mut results = Vec::new();
        results.push(match DecryptReader::new(secret, file).await {
            Ok(mut reader) => {
                let mut out = Vec::new();
                reader.read_to_end(&mut out).await.unwrap();
                Ok(out)
            }
            Err(error) => Err(error),
        });
        results.push(match SeekReader::new(secret, std::io::Cursor::new(file)).await {
            Ok(mut reader) => {
                let mut out = Vec::new();
                reader.read_to_end(&mut out).await.unwrap();
                Ok(out)
            }
            Err(error) => Err(error),
        });
        results.push(match RangeReader::new(secret, Ranges(file)).await {
            Ok(reader) => {
                let mut out = vec![0; reader.len() as usize];
                reader.read_at(&mut out, 0).await.unwrap();
                Ok(out)
            }
            Err(error) => Err(error),
        });
        results
    }));
    results
}

/// What each writer makes of a text.
fn written(random: &mut Random, keyring: &Keyring, alg: Algorithm, text: &[u8]) -> Vec<Vec<u8>> {
    let (size, mut file) = (ChunkSize::MIN, Vec::new());
    let encryptor = Encryptor::new(keyring).algorithm(alg).chunk_size(size).kdf(cheap());
    encryptor.threads(threads(2)).run(text, &mut file).unwrap();
    let encoder = Encoder::new(keyring, alg, size, cheap()).unwrap();
    let mut writer = EncryptWriter::with(keyring, alg, size, cheap(), Vec::new()).unwrap();
    writer.write_all(text).unwrap();
    let files = vec![file, writer.finish().unwrap(), encode(random, encoder, text)];
    #[cfg(feature = "tokio")]
    let files = {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let file = on(&runtime, async {
            use tokio::io::AsyncWriteExt;
            let writer =
                palladion_file::tokio::EncryptWriter::with(keyring, alg, size, cheap(), Vec::new());
            let mut writer = writer.await.unwrap();
            writer.write_all(text).await.unwrap();
            writer.shutdown().await.unwrap();
            writer.into_inner()
        });
        [files, vec![file]].concat()
    };
    files
}

/// What each writer makes of a text for several secrets.
fn with_slots(
    random: &mut Random,
    slots: NewSlots<'_>,
    alg: Algorithm,
    text: &[u8],
) -> Vec<Vec<u8>> {
    let (size, mut file) = (ChunkSize::MIN, Vec::new());
    let encryptor = Encryptor::with_slots(slots).algorithm(alg).chunk_size(size);
    encryptor.threads(threads(2)).run(text, &mut file).unwrap();
    let encoder = Encoder::with_slots(slots, alg, size).unwrap();
    let mut writer = EncryptWriter::with_slots(slots, alg, size, Vec::new()).unwrap();
    writer.write_all(text).unwrap();
    vec![file, writer.finish().unwrap(), encode(random, encoder, text)]
}

type IsIt = fn(&Error) -> bool;

/// Every reader says what is expected.
fn refused(random: &mut Random, keyring: &Keyring, file: &[u8], is_it: IsIt) {
    for (reader, result) in read(random, keyring, file).into_iter().enumerate() {
        let error = result.unwrap_err();
        assert!(is_it(&error), "reader {reader}: {error}");
    }
}

/// For each algorithm, key source, writer and reader.
#[test]
fn round_trip_and_every_wrong_combination() {
    let (mine, words) = (key(), words());
    let slots = [NewSlot::Key(&mine), NewSlot::Passphrase(&words, cheap())];
    let rings = [
        Keyring::default().key(key()),
        Keyring::default().passphrase(words.clone()),
        Keyring::default().key(key()).open_slots(),
        Keyring::default().passphrase(words.clone()).open_slots(),
    ];
    with_new_seeds(1, |random| {
        for algorithm in Algorithm::ALL {
            let text = text(random.below(3 * CHUNK));
            for (n, ring) in rings.iter().enumerate() {
                let (here, there) = (ring.clone().bind(HERE), ring.clone().bind(THERE));
                let files = match n {
                    0 | 1 => written(random, &here, algorithm, &text),
                    _ => with_slots(random, NewSlots::from(&slots).bind(HERE), algorithm, &text),
                };
                for file in files {
                    assert!(Info::from_start(&file).unwrap().is_bound);
                    for result in read(random, &here, &file) {
                        assert!(result.unwrap() == text);
                    }
                    refused(random, ring, &file, |error| matches!(error, Error::Bound));
                    refused(random, &there, &file, |error| matches!(error, Error::WrongPlace));
                    let empty = ring.clone().bind("");
                    refused(random, &empty, &file, |error| matches!(error, Error::EmptyPlace));
                    // With a wrong key, nothing can be said of the place.
                    let stranger = match n {
                        0 | 2 => Keyring::default().key(other()),
                        _ => Keyring::default().passphrase(Passphrase::new("word")),
                    };
                    let stranger = if n > 1 { stranger.open_slots() } else { stranger };
                    let is_wrong_key: IsIt = |error| {
                        matches!(error, Error::WrongKey | Error::WrongPassphrase | Error::NoSlot)
                    };
                    for place in [HERE, THERE] {
                        refused(random, &stranger.clone().bind(place), &file, is_wrong_key);
                    }
                    refused(random, &stranger, &file, |error| matches!(error, Error::Bound));
                }
                let files = match n {
                    0 | 1 => written(random, ring, algorithm, &text),
                    _ => with_slots(random, (&slots).into(), algorithm, &text),
                };
                for file in files {
                    assert!(!Info::from_start(&file).unwrap().is_bound);
                    refused(random, &here, &file, |error| matches!(error, Error::NotBound));
                }
            }
        }
    });
}

/// The place comes before the kind of secret, and after all that a header can be.
#[test]
fn order_of_the_checks() {
    let here = Keyring::default().key(key()).bind(HERE);
    let mut file = Vec::new();
    Encryptor::new(&here).run(&b"text"[..], &mut file).unwrap();
    let error = |secret: Secret<'_>, file: &[u8]| {
        Decryptor::new(secret).run(file, Vec::new()).map(drop).unwrap_err()
    };
    let words = words();
    assert!(matches!(error((&words).into(), &file), Error::Bound));
    let bound = Secret::from(&words).bind(HERE);
    assert!(matches!(error((&bound).into(), &file), Error::NeedsKey));
    let nobody = Keyring::default().bind(HERE);
    assert!(matches!(error((&nobody).into(), &file), Error::EmptyKeyring));
    for (at, value) in [(9, 99), (13, 1), (15, 1), (12, 1), (12, b'P' + 1)] {
        let mut changed = file.clone();
        changed[at] = value;
        fix_checksum(&mut changed);
        assert!(matches!(error((&here).into(), &changed), Error::UnsupportedHeader { .. }), "{at}");
    }
    // What says that a file is bound, and the place check, are authentic.
    for (from, to) in [(12, 13), (60, 61), (63, 64)] {
        let mut changed = file.clone();
        changed[from..to].fill(0);
        if from == 12 {
            changed[60..64].fill(0);
        }
        fix_checksum(&mut changed);
        let ring = if from == 12 { Keyring::default().key(key()) } else { here.clone() };
        if changed != file {
            assert!(matches!(error((&ring).into(), &changed), Error::WrongKey), "{from}");
        }
    }
}

/// Nothing but the key and the place tells a swapped file: header and chunks are sound.
#[test]
fn swapped_files() {
    let ring = Keyring::default().key(key());
    let file = |place: &str, text: &str| {
        let mut file = Vec::new();
        Encryptor::new(&ring.clone().bind(place)).run(text.as_bytes(), &mut file).unwrap();
        file
    };
    let (january, february) = (file(HERE, "all is well"), file(THERE, "all is lost"));
    let decrypt = |place: &str, file: &[u8]| {
        Decryptor::new(&ring.clone().bind(place)).run(file, Vec::new()).map(drop)
    };
    decrypt(HERE, &january).unwrap();
    decrypt(THERE, &february).unwrap();
    assert!(matches!(decrypt(THERE, &january), Err(Error::WrongPlace)));
    assert!(matches!(decrypt(HERE, &february), Err(Error::WrongPlace)));
    // Places that are nearly the same are others; any bytes are a place, of any length.
    for place in ["reports/2026/januarY", "reports/2026/january\0", "reports/2026/januar", "r"] {
        assert!(matches!(decrypt(place, &january), Err(Error::WrongPlace)), "{place:?}");
    }
    for place in [&[0][..], &[0xff; 3], &[7; 100_000]] {
        let keyring = ring.clone().bind(place);
        let mut file = Vec::new();
        Encryptor::new(&keyring).run(&b"text"[..], &mut file).unwrap();
        Decryptor::new(&keyring).run(&file[..], Vec::new()).unwrap();
    }
    // The key of the chunks covers the place, not only the check: two files with one salt.
    let mut files = [HERE, THERE].map(|place| {
        let ring = ring.clone().bind(place);
        let (alg, size) = (Algorithm::default(), ChunkSize::MIN);
        let encoder = Encoder::with_salt(&ring, alg, size, cheap(), &[7; 32]).unwrap();
        encode(&mut Random(1), encoder, b"the same text")
    });
    let [january, february] = &mut files;
    assert_ne!(january[HEADER + 4..], february[HEADER + 4..]);
    january[..HEADER].copy_from_slice(&february[..HEADER]);
    assert!(matches!(decrypt(THERE, january), Err(Error::Damaged { chunk: 0, .. })));
}

/// Of several keys, the right one says that the place is wrong.
#[test]
fn several_keys() {
    let mut file = Vec::new();
    Encryptor::new(&Secret::from(&key()).bind(HERE)).run(&b"text"[..], &mut file).unwrap();
    for ring in [
        Keyring::default().key(other()).key(key()),
        Keyring::default().key(key()).key(other()).passphrase(words()),
    ] {
        let open = |ring: &Keyring| Decryptor::new(ring).run(&file[..], Vec::new()).map(drop);
        open(&ring.clone().bind(HERE)).unwrap();
        assert!(matches!(open(&ring.bind(THERE)), Err(Error::WrongPlace)));
    }
}

#[test]
fn nothing_is_bound_to_an_empty_place() {
    let mine = key();
    let empty = Secret::from(&mine).bind("");
    let is_empty = |error| matches!(error, Error::EmptyPlace);
    let mut out = Vec::new();
    assert!(is_empty(Encryptor::new(&empty).run(&b"text"[..], &mut out).unwrap_err()));
    let slots = [NewSlot::Key(&mine)];
    let slots = NewSlots::from(&slots).bind("");
    assert!(is_empty(Encryptor::with_slots(slots).run(&b"text"[..], &mut out).unwrap_err()));
    assert!(out.is_empty());
    let io: std::io::Error = Error::EmptyPlace.into();
    assert_eq!(io.kind(), std::io::ErrorKind::InvalidInput);
}

/// Head damaged, or with other slots: the spare opens the file, and has the same place.
#[test]
fn by_the_spare() {
    let mine = key();
    let slots = [NewSlot::Key(&mine)];
    let mut file = Vec::new();
    Encryptor::with_slots(NewSlots::from(&slots).bind(HERE)).run(&b"text"[..], &mut file).unwrap();
    let ring = Keyring::default().key(key()).open_slots();
    let open = |place: Option<&str>, file: &[u8]| {
        let ring = place.map_or(ring.clone(), |place| ring.clone().bind(place));
        SeekReader::new(&ring, file).map(|reader| reader.len())
    };
    let mut damaged = file.clone();
    damaged[200] ^= 1;
    let mut of_header = file.clone();
    of_header[12] ^= 1;
    let mut with_other_slots = file.clone();
    let plan = Rewrap::new(&file, &ring.clone().bind(HERE), &KdfLimits::default()).unwrap();
    let plan = plan.plan(vec![plan.lock(NewSlot::Key(&other())).unwrap()]).unwrap();
    with_other_slots[..Head::MIN_LEN].copy_from_slice(plan.head().as_bytes());
    for file in [damaged, of_header, with_other_slots] {
        assert_eq!(open(Some(HERE), &file).unwrap(), 4);
        assert!(matches!(open(Some(THERE), &file), Err(Error::WrongPlace)));
        assert!(matches!(open(None, &file), Err(Error::Bound)));
        let there = ring.clone().bind(THERE);
        let rewrap = Rewrap::new(&file, &there, &KdfLimits::default());
        assert!(matches!(rewrap, Err(Error::WrongPlace)));
    }
}

#[test]
fn changed_slots() {
    let (mine, limits) = (key(), KdfLimits::default());
    let slots = [NewSlot::Key(&mine)];
    let text = text(3000);
    let mut file = Vec::new();
    let encryptor = Encryptor::with_slots(NewSlots::from(&slots).bind(HERE));
    encryptor.chunk_size(ChunkSize::MIN).run(&text[..], &mut file).unwrap();
    let ring = Keyring::default().key(key()).open_slots();
    assert!(matches!(Rewrap::new(&file, &ring, &limits), Err(Error::Bound)));
    let there = ring.clone().bind(THERE);
    assert!(matches!(Rewrap::new(&file, &there, &limits), Err(Error::WrongPlace)));
    // One copy is damaged, so the last chunk is decrypted to find its end.
    for damaged in [None, Some(150), Some(file.len() - 100)] {
        let mut file = file.clone();
        if let Some(at) = damaged {
            file[at] ^= 1;
        }
        let rewrap = Rewrap::new(&file, &ring.clone().bind(HERE), &limits).unwrap();
        let plan = rewrap.plan(vec![rewrap.lock(NewSlot::Key(&other())).unwrap()]).unwrap();
        assert!(plan.head().is_bound());
        for offset in plan.offsets() {
            let head = plan.head().as_bytes();
            file[offset as usize..][..head.len()].copy_from_slice(head);
        }
        assert!(Copies::read(&file).unwrap().are_same());
        let ring = Keyring::default().key(other()).open_slots();
        let mut out = Vec::new();
        let summary = Decryptor::new(&ring.clone().bind(HERE)).run(&file[..], &mut out).unwrap();
        assert!(out == text && summary.spare == Some(Spare::Same));
        let result = Decryptor::new(&ring.bind(THERE)).run(&file[..], Vec::new());
        assert!(matches!(result, Err(Error::WrongPlace)));
    }
}

#[test]
fn salvage() {
    let here = Secret::from(&key()).bind(HERE);
    let text = text(3 * CHUNK);
    let mut file = written(&mut Random(1), &here, Algorithm::default(), &text).remove(0);
    file[12] = 0; // one byte of the header is repaired
    file[HEADER + CHUNK + OVERHEAD + 50] ^= 1;
    let mut out = vec![0; text.len()];
    let salvaged = Decryptor::new(&here).salvage(&file[..], |at, text| {
        out[at as usize..][..text.len()].copy_from_slice(text);
        Ok(())
    });
    let salvaged = salvaged.unwrap();
    assert_eq!(salvaged.missing, std::slice::from_ref(&(CHUNK as u64..2 * CHUNK as u64)));
    assert!(out[..CHUNK] == text[..CHUNK] && out[2 * CHUNK..] == text[2 * CHUNK..]);
    let there = Secret::from(&key()).bind(THERE);
    let nothing = |_: u64, _: &[u8]| panic!("text of another place");
    let result = Decryptor::new(&there).salvage(&file[..], nothing);
    assert!(matches!(result, Err(Error::WrongPlace)));
}

#[test]
fn keyrings_with_places() {
    let ring = Keyring::default().key(key());
    assert_ne!(ring.clone().bind(HERE), ring);
    assert_ne!(ring.clone().bind(HERE), ring.clone().bind(THERE));
    assert_eq!(ring.clone().bind(THERE).bind(HERE), ring.clone().bind(HERE));
    for secret in [OwnedSecret::from(key()), words().into(), ring.clone().open_slots().into()] {
        let bound = Secret::from(&secret).bind(HERE);
        let takes_long = Secret::from(&secret).takes_long();
        assert_eq!(Secret::from(&bound).takes_long(), takes_long);
    }
    assert!(!format!("{:?}", ring.bind(HERE)).contains("reports"));
}
