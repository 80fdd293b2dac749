//! Nothing that happens to a file goes unnoticed, every accident has its name, and nothing
//! unverified comes out.

use std::io::{self, Read};

use crate::common::*;
use palladion_file::slots::{Copies, Head, NewSlot, Rewrap};
use palladion_file::{
    Algorithm, ChunkSize, DecryptReader, Decryptor, Encryptor, Error, KdfLimits, KdfParams,
    Keyring, MasterKey, Passphrase, SeekReader, Spare,
};

/// Two full chunks and one of 100 bytes.
const LEN: usize = 2 * CHUNK + 100;

/// A damaged file must fail, in the engine and in the reader alike, and what came out before must
/// be a true beginning in whole chunks.
fn fails(file: &[u8], text: &[u8]) -> (usize, Error) {
    let (out, result) = decrypt(file);
    let error = result.expect_err("damage was not noticed");
    assert_eq!(out, text[..out.len()]);
    assert!(out.len().is_multiple_of(CHUNK) || out.len() == text.len());

    let mut read = Vec::new();
    let result = DecryptReader::new(&key(), file).and_then(|mut reader| {
        let result =
            reader.read_to_end(&mut read).map_err(|error| error.downcast::<Error>().unwrap());
        assert!(result.is_ok() || reader.read(&mut [0]).is_err(), "an error must stay");
        result
    });
    assert_eq!((read, format!("{:?}", result.unwrap_err())), (out.clone(), format!("{error:?}")));
    fails_from_the_middle(file, text, &error);
    (out.len(), error)
}

/// With random access, the file must not open, or reads fail that touch damaged chunks, and no
/// others, with the error of the chunk that they touch.
fn fails_from_the_middle(file: &[u8], text: &[u8], error: &Error) {
    let opened = SeekReader::new(&key(), file);
    let Ok(mut reader) = opened else {
        let seek_error = opened.unwrap_err();
        let is_same = format!("{seek_error:?}") == format!("{error:?}");
        // If chunks are lost in the middle or changed, the last one is not where it must be.
        let both_damaged = matches!(
            (&seek_error, error),
            (Error::Damaged { chunk: a, .. }, Error::Damaged { chunk: b, .. }) if a > b
        );
        assert!(is_same || both_damaged, "{seek_error:?} {error:?}");
        return;
    };
    assert_eq!(reader.len(), text.len() as u64, "the length is authentic");
    let mut first = None;
    let mut before = true;
    for (chunk, text) in text.chunks(CHUNK).enumerate() {
        let (mut part, place) = (vec![1; text.len()], (chunk * CHUNK) as u64);
        match reader.read_at(&mut part, place) {
            Ok(n) => {
                assert!(n == text.len() && part == text);
                before = true;
            }
            Err(error) => {
                assert!(part.iter().all(|byte| *byte == 0), "unverified output");
                // A part of the chunk, and this chunk with others, give the same error.
                let across = if before { place.saturating_sub(9) } else { place };
                for (from, len) in [(place + 1, 1), (place, 1), (across, 10)] {
                    let again = reader.read_at(&mut vec![0; len], from).unwrap_err();
                    assert_eq!(format!("{error:?}"), format!("{again:?}"));
                }
                first.get_or_insert(error);
                before = false;
            }
        }
    }
    let first = first.expect("damage was not noticed");
    assert_eq!(format!("{first:?}"), format!("{error:?}"));
    let mut read = vec![7];
    let failed = reader.read_to_end(&mut read).unwrap_err().downcast::<Error>().unwrap();
    assert_eq!((read, format!("{failed:?}")), (vec![7], format!("{error:?}")));
}

/// The same on several threads.
fn fails_on_threads(file: &[u8], text: &[u8]) -> (usize, Error) {
    let (len, error) = fails(file, text);
    let (out, result) = decrypt_with(&key(), 3, file);
    assert_eq!((out.len(), format!("{:?}", result.unwrap_err())), (len, format!("{error:?}")));
    (len, error)
}

/// Returns what salvage writes, with zeros between, and what it says is missing.
fn salvage(file: &[u8]) -> (Vec<u8>, palladion_file::Salvaged) {
    let mut out = Vec::new();
    let mut done = 0;
    let key = key();
    let decryptor = Decryptor::new(&key).on_progress(|bytes| done = bytes);
    let found = decryptor.salvage(file, |offset, piece| {
        assert!(out.len() as u64 <= offset, "pieces come in order");
        out.resize(offset as usize, 0);
        out.extend_from_slice(piece);
        Ok(())
    });
    let found = found.unwrap();
    assert_eq!(done, out.len().max(found.missing.last().map_or(0, |m| m.end as usize)) as u64);
    (out, found)
}

/// One damaged byte of the header does not matter, wherever it is. Two do.
#[test]
fn salvage_repairs_one_byte_of_the_header() {
    let text = text(CHUNK);
    let file = encrypt_streaming(Algorithm::Aegis256X2, &text);
    for at in 0..HEADER {
        let mut damaged = file.clone();
        damaged[at] ^= 0x81;
        let (out, found) = salvage(&damaged);
        assert!(out == text && found.is_complete(), "{at}");
    }
    let mut damaged = file.clone();
    (damaged[20], damaged[100]) = (!file[20], !file[100]);
    let error = Decryptor::new(&key()).salvage(&damaged[..], |_, _| Ok(())).unwrap_err();
    assert!(matches!(error, Error::HeaderDamaged));
    let error = Decryptor::new(&key()).salvage(&[7; 500][..], |_, _| Ok(())).unwrap_err();
    assert!(matches!(error, Error::NotPalladion));
}

/// A copy of one file over another that stopped: the head is of the one, the spare of the other,
/// and each gives the chunks of its own.
#[test]
fn salvage_of_two_files_in_one() {
    let (text, key) = (text(9 * CHUNK), key());
    let ring = Keyring::default().key(key.clone()).open_slots();
    let file = |slots: usize| {
        let (mut file, slots) = (Vec::new(), vec![NewSlot::Key(&key); slots]);
        let encryptor = Encryptor::with_slots(&slots).chunk_size(ChunkSize::MIN);
        encryptor.run(&text[..], &mut file).unwrap();
        file
    };
    for (over, under) in [(1, 1), (1, 30), (30, 1)] {
        let (over, under) = (file(over), file(under));
        for cut in [9000, 10500, 12000] {
            let mixed = [&over[..cut], &under[cut..]].concat();
            assert!(matches!(Copies::read(&mixed), Err(Error::HeaderDamaged)));
            let copies = Copies::read_damaged(&mixed).unwrap();
            assert!(!copies.are_of_one_file());
            let mut intact = 0;
            for (copy, whole) in [(copies.head, &over), (copies.spare, &under)] {
                let copy = copy.unwrap();
                assert!(whole.starts_with(copy.as_bytes()));
                assert_eq!(Head::len_from_start(whole).unwrap(), copy.as_bytes().len());
                let input = copy.as_bytes().chain(&mixed[copy.as_bytes().len()..]);
                let check = |at: u64, piece: &[u8]| {
                    assert_eq!(text[at as usize..][..piece.len()], *piece);
                    Ok(())
                };
                let found = Decryptor::new(&ring).salvage(input, check).unwrap();
                assert_eq!(found.has_end, *whole == under);
                intact += found.intact.bytes;
            }
            assert!(intact == 8 * CHUNK as u64 || over.len() != under.len());
            assert!(intact > 0);
        }
    }
    assert!(Copies::read_damaged(&file(1)).unwrap().are_of_one_file());
}

/// The copy of key slots at the end is no chunk and no trailing data, whatever happened to it.
#[test]
fn salvage_of_a_file_with_key_slots() {
    let (text, key, mut file) = (text(LEN), key(), Vec::new());
    let slots = [NewSlot::Key(&key)];
    let encryptor = Encryptor::with_slots(&slots);
    encryptor.chunk_size(ChunkSize::MIN).run(&text[..], &mut file).unwrap();
    let ring = Keyring::default().key(key.clone()).open_slots();
    let salvage = |input: &mut dyn Read| {
        let mut out = vec![0; LEN];
        let found = Decryptor::new(&ring).salvage(input, |offset, piece| {
            out[offset as usize..][..piece.len()].copy_from_slice(piece);
            Ok(())
        });
        found.map(|found| (out, found))
    };
    let (head, end) = (Head::MIN_LEN, file.len() - Head::MIN_LEN);
    let changed = |at: usize| {
        let mut changed = file.clone();
        changed[at] ^= 1;
        changed
    };
    let differs = {
        let rewrap = Rewrap::new(&file, &ring, &KdfLimits::default()).unwrap();
        let plan = rewrap.plan(rewrap.slots().to_vec()).unwrap();
        let mut differs = file.clone();
        differs[end..].copy_from_slice(plan.head().as_bytes());
        differs
    };
    let longer = [&file[..], &[0]].concat();
    for (file, spare, has_trailing_data) in [
        (file.clone(), Spare::Same, false),
        (changed(50), Spare::Same, false), // in the header
        (differs, Spare::Differs, false),
        (changed(end + 50), Spare::Damaged, false),
        (file[..file.len() - 1].to_vec(), Spare::Damaged, false),
        (file[..end].to_vec(), Spare::Damaged, false),
        (longer, Spare::Damaged, true),
        ([&file[..end], &[0], &file[end..]].concat(), Spare::Same, true),
    ] {
        let (out, found) = salvage(&mut &file[..]).unwrap();
        assert!(out == text && found.is_complete(), "{found:?}");
        assert_eq!((found.intact.spare, found.has_trailing_data), (Some(spare), has_trailing_data));
    }
    let last = LEN / CHUNK * CHUNK;
    for (at, missing) in [(head + 2000, [CHUNK, 2 * CHUNK]), (end - 1, [last, LEN])] {
        let (_, found) = salvage(&mut &changed(at)[..]).unwrap();
        let [begin, after] = missing.map(|at| at as u64);
        assert!(found.missing.iter().eq([&(begin..after)]), "{found:?}");
        assert_eq!((found.intact.spare, found.has_end), (Some(Spare::Same), at < end - 1));
    }
    // Any slot that is intact opens, whatever else in the head is damaged: its length, the number
    // of slots, what follows them, the MAC, the checksum.
    for at in [128, 129, 132, 2000, head - 40, head - 1] {
        let damaged = changed(at);
        assert!(matches!(
            Decryptor::new(&ring).run(&damaged[..], io::sink()),
            Err(Error::HeaderDamaged)
        ));
        let mut damaged = damaged;
        for more in [None, Some(50), Some(end + 2001)] {
            more.into_iter().for_each(|at| damaged[at] ^= 1);
            let (out, found) = salvage(&mut &damaged[..]).unwrap();
            assert!(out == text && found.is_complete(), "{at} {more:?}: {found:?}");
        }
        // The spare, in place of the head.
        let Copies { head: first, spare, .. } = Copies::read_damaged(&damaged).unwrap();
        assert_eq!(first.unwrap().slots()[0], spare.as_ref().unwrap().slots()[0]);
        let mut input = spare.as_ref().unwrap().as_bytes().chain(&file[head..]);
        assert!(salvage(&mut input).unwrap().0 == text);
    }
    assert!(matches!(salvage(&mut &changed(200)[..]), Err(Error::NoSlot)));
    // The key of another file under the same master key: the commitment tells.
    let mut other = Vec::new();
    Encryptor::with_slots(&slots).run(&b"other"[..], &mut other).unwrap();
    let spliced = [&file[..144], &other[144..head], &file[head..]].concat();
    assert!(matches!(salvage(&mut &spliced[..]), Err(Error::NoSlot)));
    // All that comes before an error of the input is looked at.
    let (out, found) = salvage(&mut file[..end].chain(Fails)).unwrap();
    assert!(out == text && found.is_complete());
    assert_eq!(found.read_error, Some(io::ErrorKind::PermissionDenied));
    let refused = Decryptor::new(&key).salvage(&file[..], |_, _| Ok(())).unwrap_err();
    assert!(refused.to_string().contains("has key slots"), "{refused}");
}

struct Fails;

impl Read for Fails {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

/// What was read before a disk fails is kept.
#[test]
fn salvage_of_a_file_that_cannot_be_read_to_its_end() {
    let file = encrypt_streaming(Algorithm::Aegis256X2, &text(LEN));
    let (_, whole) = salvage(&file);
    let readable = &file[..file.len() - 1];
    let mut len = 0;
    let found = Decryptor::new(&key()).salvage(readable.chain(Fails), |offset, piece| {
        len = offset as usize + piece.len();
        Ok(())
    });
    let found = found.unwrap();
    assert_eq!((found.has_end, found.is_complete()), (false, false));
    assert_eq!(found.read_error, Some(io::ErrorKind::PermissionDenied));
    assert_eq!(found.intact.chunks, whole.intact.chunks - 1);
    assert_eq!(found.intact.bytes, len as u64);
    // A chunk that came whole before that is not lost.
    let (mut len, readable) = (0, &file[..]);
    let found = Decryptor::new(&key()).salvage(readable.chain(Fails), |_, piece| {
        len += piece.len();
        Ok(())
    });
    assert_eq!((found.unwrap().is_complete(), len), (true, LEN));
}

#[test]
fn what_is_intact_can_be_salvaged() {
    let text = text(LEN);
    let file = encrypt_streaming(Algorithm::Aegis256X2, &text);
    let (out, found) = salvage(&file);
    assert!(out == text && found.is_complete() && !found.has_trailing_data);
    // Every byte of every chunk, frames and tags included: only that chunk is missing.
    for at in HEADER..file.len() {
        let mut damaged = file.clone();
        damaged[at] ^= 0x80;
        let begin = (at - HEADER) / (CHUNK + OVERHEAD) * CHUNK;
        let end = (begin + CHUNK).min(LEN);
        let frame_only = (at - HEADER) % (CHUNK + OVERHEAD) < 4;
        let (out, found) = salvage(&damaged);
        let mut expected = text.clone();
        if frame_only {
            assert!(found.is_complete(), "{at}: what a frame says follows from its place");
        } else {
            expected[begin..end].fill(0);
            let missing = begin as u64..end as u64;
            assert!(found.missing.iter().eq([&missing]), "{at}: {found:?}");
            assert_eq!(found.has_end, end < LEN);
            if end == LEN {
                expected.truncate(begin);
            }
        }
        assert!(out == expected, "{at}");
        assert_eq!(found.intact.bytes as usize, LEN - if frame_only { 0 } else { end - begin });
    }
    // Truncated anywhere: whole chunks come out, and the end is missing.
    for len in HEADER..file.len() {
        let (out, found) = salvage(&file[..len]);
        let whole = (len - HEADER) / (CHUNK + OVERHEAD) * CHUNK;
        assert!(out == text[..whole] && !found.has_end, "{len}");
        // Of a chunk that was cut it is known where its text lies, as far as there was any.
        let rest = (len - HEADER) % (CHUNK + OVERHEAD);
        let missing = (rest > OVERHEAD).then(|| whole as u64..(whole + rest - OVERHEAD) as u64);
        assert!(found.missing.iter().eq(&missing), "{len}: {found:?}");
    }
    // Longer; swapped; of another file.
    for extra in [1, 3 * CHUNK] {
        let (out, found) = salvage(&[&file[..], &vec![7; extra]].concat());
        assert!(out == text && found.is_complete() && found.has_trailing_data);
    }
    let (first, rest) = file[HEADER..].split_at(CHUNK + OVERHEAD);
    let (second, last) = rest.split_at(CHUNK + OVERHEAD);
    // The second could be a copy that was inserted.
    let (out, found) = salvage(&[&file[..HEADER], second, first, last].concat());
    let missing = CHUNK as u64..2 * CHUNK as u64;
    assert!(found.missing.iter().eq([&missing]), "{found:?}");
    assert!(out[..CHUNK] == text[..CHUNK] && out[2 * CHUNK..] == text[2 * CHUNK..]);
    let other = encrypt_streaming(Algorithm::Aegis256X2, &text);
    let (out, found) = salvage(&[&file[..HEADER], &other[HEADER..]].concat());
    assert!(out.is_empty() && found.intact.chunks == 0 && !found.has_end);
}

/// Every chunk that is still there, after the one before it, must be found, and no other.
fn check_salvage(file: &[u8], text: &[u8], damaged: &[u8], what: &str) {
    let sealed = CHUNK + OVERHEAD;
    let last = (file.len() - HEADER) / sealed;
    let (out, found) = salvage(damaged);
    let (mut expected, mut missing) = (text.to_vec(), Vec::new());
    let mut from = HEADER;
    for (chunk, bytes) in chunks(file).into_iter().enumerate() {
        // At its own place, its frame may be damaged.
        let own = HEADER + chunk * sealed;
        let is_there = damaged.get(own + 4..own + bytes.len()) == Some(&bytes[4..]);
        let mut windows = damaged[from..].windows(bytes.len());
        match windows.position(|window| window == bytes) {
            _ if is_there && own >= from => from = own + bytes.len(),
            Some(at) => from += at + bytes.len(),
            None => {
                let end = text.len().min((chunk + 1) * CHUNK);
                expected[chunk * CHUNK..end].fill(0);
                missing.push(chunk);
            }
        }
    }
    let found_missing = |chunk: &usize| {
        let at = (chunk * CHUNK) as u64;
        found.missing.iter().any(|range| range.contains(&at))
    };
    // What is missing after the last intact chunk, nobody knows.
    let before_intact = |chunk: &&usize| (**chunk..=last).any(|other| !missing.contains(&other));
    assert!(missing.iter().filter(before_intact).all(found_missing), "{what}: {found:?}");
    assert_eq!(found.has_end, !missing.contains(&last), "{what}");
    expected.truncate(out.len());
    assert!(out == expected, "{what}: {found:?}");
    assert_eq!(found.intact.chunks as usize, last + 1 - missing.len(), "{what}");
}

#[test]
fn salvage_after_insertions_and_removals() {
    let text = text(12 * CHUNK + 300);
    let file = encrypt(&text);
    let sealed = CHUNK + OVERHEAD;
    let check = |damaged: &[u8], what: &str| check_salvage(&file, &text, damaged, what);
    let places = [0, 1, 4, 500, sealed - 1, sealed, 3 * sealed + 9, 11 * sealed, 12 * sealed + 7];
    for at in places.map(|at| HEADER + at) {
        for len in [1, 3, 36, 512, sealed - 1, sealed, sealed + 1, 2 * sealed, 5 * sealed + 77] {
            let (before, after) = file.split_at(at);
            for byte in [0, 0x77] {
                check(&[before, &vec![byte; len], after].concat(), &format!("{at} + {len}"));
            }
            // Bytes that look like frames, and whole chunks again.
            let frames = [0, 4, 0, 0].repeat(len.min(100));
            check(&[before, &frames, after].concat(), &format!("{at} + {len} frames"));
            check(&[before, &file[HEADER..][..len], after].concat(), &format!("{at} + again"));
            let after = &after[len.min(after.len())..];
            check(&[before, after].concat(), &format!("{at} - {len}"));
            let overwritten = [before, &vec![7; len.min(file.len() - at)], after].concat();
            check(&overwritten, &format!("{at} = {len}"));
        }
    }
    // Two places.
    let twice = [&file[..HEADER + 700], &file[HEADER + 900..9000], b"x", &file[9000..]].concat();
    check(&twice, "twice");
}

#[test]
fn salvage_after_great_losses_and_copies() {
    let text = text(40 * CHUNK + 300);
    let file = encrypt(&text);
    let sealed = CHUNK + OVERHEAD;
    let check = |parts: &[&[u8]], what: &str| check_salvage(&file, &text, &parts.concat(), what);
    let places = [0, 1, 500, sealed, 20 * sealed, 20 * sealed + 9, 33 * sealed - 1];
    for at in places {
        let (before, after) = file.split_at(HEADER + at);
        for len in [1, 36, sealed, 6 * sealed, 6 * sealed + 1, 20 * sealed - 1, 30 * sealed] {
            let after = &after[len.min(after.len())..];
            check(&[before, after], &format!("{at} - {len}"));
            check(&[before, b"x", after], &format!("{at} - {len} + 1"));
        }
    }
    for (at, copy) in [(1, 35), (0, 7), (20, 3), (20, 21), (38, 39), (5, 4)] {
        let (before, after) = file.split_at(HEADER + at * sealed);
        let copied = &file[HEADER + copy * sealed..][..sealed];
        check(&[before, copied, after], &format!("{copy} before {at}"));
        check(&[before, b"x", copied, after], &format!("a byte and {copy} before {at}"));
        let mut damaged = after.to_vec();
        damaged[100] ^= 1;
        check(&[before, &damaged[..sealed], copied, &after[sealed..]], "damaged before a copy");
        check(&[before, copied, &after[sealed..]], &format!("{copy} in place of {at}"));
    }
}

#[test]
fn every_bit() {
    for algorithm in [Algorithm::Aegis128L, Algorithm::Aegis256X2] {
        let text = text(LEN);
        let file = encrypt_streaming(algorithm, &text);
        let mut damaged = file.clone();
        for bit in 0..8 * file.len() {
            let at = bit / 8;
            damaged[at] ^= 1 << (bit % 8);
            // Starting threads takes longest: at some bits will do.
            let fails = if bit % 16 == 0 { fails_on_threads } else { fails };
            let (out, error) = fails(&damaged, &text);
            let chunk = at.saturating_sub(HEADER) / (CHUNK + OVERHEAD);
            let begin = HEADER + chunk * (CHUNK + OVERHEAD);
            let as_expected = match error {
                Error::NotPalladion => at < 4,
                Error::HeaderDamaged => (4..HEADER).contains(&at),
                Error::Damaged { chunk: which, offset } => {
                    at >= HEADER && which == chunk as u64 && offset == begin as u64
                }
                // A greater length in the last frame: then the file ends too early.
                Error::Truncated { chunk: Some(2), .. } => chunk == 2 && at < begin + 4,
                _ => false,
            };
            assert!(as_expected, "bit {bit}: {error:?}");
            assert_eq!(out, chunk * CHUNK, "bit {bit}");
            damaged[at] ^= 1 << (bit % 8);
        }
        assert_eq!(damaged, file);
    }
}

#[test]
fn every_cut() {
    let text = text(LEN);
    let file = encrypt(&text);
    for len in 0..file.len() {
        let (out, error) = fails_on_threads(&file[..len], &text);
        let expected = len.checked_sub(HEADER).map(|len| (len / (CHUNK + OVERHEAD)) as u64);
        assert!(
            matches!(
                error,
                Error::Truncated { chunk, offset } if chunk == expected && offset == len as u64
            ),
            "{len}: {error:?}"
        );
        assert_eq!(out, expected.unwrap_or(0) as usize * CHUNK);
    }
}

#[test]
fn every_cut_of_a_file_that_ends_with_a_full_chunk() {
    let text = text(2 * CHUNK);
    let file = encrypt(&text);
    let (out, found) = salvage(&file);
    assert!(out == text && found.is_complete() && !found.has_trailing_data);
    let (out, found) = salvage(&[&file[..], b"x"].concat());
    assert!(out == text && found.is_complete() && found.has_trailing_data);
    for len in [file.len() - CHUNK - OVERHEAD, file.len() - 1] {
        assert!(matches!(
            fails_on_threads(&file[..len], &text).1,
            Error::Truncated { chunk: Some(1), .. }
        ));
    }
}

#[test]
fn reordered_repeated_missing_chunks() {
    let text = text(4 * CHUNK + 5);
    let file = encrypt(&text);
    let c = chunks(&file);
    let damaged_at = |order: &[&[u8]], which: u64| {
        let (out, error) = fails_on_threads(&join(&file, order), &text);
        assert!(matches!(error, Error::Damaged { chunk, .. } if chunk == which), "{error:?}");
        assert_eq!(out as u64, which * CHUNK as u64);
    };
    damaged_at(&[c[1], c[0], c[2], c[3], c[4]], 0);
    damaged_at(&[c[0], c[2], c[1], c[3], c[4]], 1);
    damaged_at(&[c[0], c[0], c[1], c[2], c[3], c[4]], 1);
    damaged_at(&[c[0], c[1], c[3], c[4]], 2);
    damaged_at(&[c[0], c[1], c[2], c[4]], 3);
    damaged_at(&[c[0], c[1], c[2], c[3], c[3], c[4]], 4);
    damaged_at(&[c[4]], 0);
    let (out, error) = fails_on_threads(&join(&file, &[c[0], c[1], c[2], c[3]]), &text);
    assert!(matches!(error, Error::Truncated { chunk: Some(4), .. }));
    assert_eq!(out, 4 * CHUNK);
}

#[test]
fn extended() {
    for len in [0, 1, CHUNK, LEN] {
        let text = text(len);
        let file = encrypt(&text);
        for more in [&b"\0"[..], b"\n", &file, &file[HEADER..]] {
            let (out, error) = fails_on_threads(&[&file, more].concat(), &text);
            assert!(matches!(error, Error::TrailingData { offset } if offset == file.len() as u64));
            assert_eq!(out, len);
        }
    }
}

#[test]
fn wrong_secrets() {
    let file = encrypt(&text(LEN));
    let (out, result) = decrypt_with(&MasterKey::from([0x43; 32]), 2, &file);
    assert!(out.is_empty() && matches!(result, Err(Error::WrongKey)));
    let passphrase = Passphrase::new("open sesame");
    assert!(matches!(Decryptor::new(&passphrase).run(&file[..], Vec::new()), Err(Error::NeedsKey)));

    let mut file = Vec::new();
    Encryptor::new(&passphrase).kdf(cheap()).run(&b"treasure"[..], &mut file).unwrap();
    let other = Passphrase::new("open wheat");
    assert!(matches!(
        Decryptor::new(&other).run(&file[..], Vec::new()),
        Err(Error::WrongPassphrase)
    ));
    assert!(matches!(
        Decryptor::new(&key()).run(&file[..], Vec::new()),
        Err(Error::NeedsPassphrase)
    ));
}

#[test]
fn errors_name_the_field() {
    let file = encrypt(b"");
    let forged = |at: usize, value: u8| {
        let mut forged = file.clone();
        forged[at] = value;
        fix_checksum(&mut forged);
        decrypt(&forged).1.unwrap_err()
    };
    assert!(matches!(forged(8, 2), Error::UnsupportedVersion(2)));
    assert!(matches!(forged(9, 0), Error::UnsupportedHeader { field: "algorithm", value: 0 }));
    assert!(matches!(forged(10, 2), Error::UnsupportedHeader { field: "key source", value: 2 }));
}

#[test]
fn hostile_passphrase_costs() {
    let passphrase = Passphrase::new("open sesame");
    let mut file = Vec::new();
    Encryptor::new(&passphrase).kdf(cheap()).run(&b"treasure"[..], &mut file).unwrap();
    let costs = |memory: u32, passes: u32, lanes: u32| {
        let mut file = file.clone();
        for (at, value) in [(48, memory), (52, passes), (56, lanes)] {
            file[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        fix_checksum(&mut file);
        Decryptor::new(&passphrase).run(&file[..], Vec::new()).unwrap_err()
    };
    assert!(matches!(costs(u32::MAX, 1, 1), Error::KdfTooCostly { what: "memory in KiB", .. }));
    assert!(matches!(costs(8, u32::MAX, 1), Error::KdfTooCostly { what: "passes", .. }));
    assert!(matches!(costs(1 << 20, 1, 17), Error::KdfTooCostly { what: "lanes", .. }));
    let told = costs(7, 1, 1).to_string();
    assert_eq!(told, "the header has an unsupported memory in KiB for the passphrase: 7");
    let told = costs(8, 1, u32::MAX).to_string();
    assert_eq!(
        told,
        "the header has an unsupported number of lanes for the passphrase: 4294967295"
    );
    assert!(matches!(
        costs(1 << 20, 5, 1),
        Error::KdfTooCostly { what: "memory in KiB times passes", value: 0x50_0000, .. }
    ));
    // However much memory there may be, four passes over it.
    let limits = KdfLimits::with_memory(u32::MAX);
    assert!(limits.check(&KdfParams::new(1 << 30, 4, 1).unwrap()).is_err());
    assert!(limits.check(&KdfParams::new(1 << 30, 3, 1).unwrap()).is_ok());

    let limits = KdfLimits { memory_kib: 8, passes: 1, lanes: 1, work_kib: 8 };
    Decryptor::new(&passphrase).kdf_limits(limits).run(&file[..], Vec::new()).unwrap();
}

#[test]
fn every_error_tells() {
    let text = text(LEN);
    let file = encrypt(&text);
    let cut = decrypt(&file[..1500]).1.unwrap_err();
    assert_eq!(cut.to_string(), "the file is truncated: it ends within chunk 1, after 1500 bytes");
    assert!(cut.hint().unwrap().contains("incomplete"));
    let io: std::io::Error = cut.into();
    assert_eq!(io.kind(), std::io::ErrorKind::UnexpectedEof);
}
