//! The vectors of `vectors/raf.txt`, whose README describes them.

use crate::vector_file::{Kind, Merkle, fill, parse};
use palladion_raf::merkle::{Sha256 as Sha256Tree, Tree, tree_len};
use palladion_raf::{
    Algorithm, Environment, Error, Info, Memory, Options, Raf, derive_master_key, probe,
};
use sha2::{Digest, Sha256};

fn open(bytes: &[u8], key: &[u8]) -> Result<Raf<Memory>, Error> {
    Raf::open(Memory(bytes.to_vec()), key)
}

/// Returns what there is from a place on, at most so many bytes.
fn read(file: &mut Raf<Memory>, offset: usize, len: usize) -> Vec<u8> {
    let mut buf = vec![0xee; len];
    let n = file.read_at(&mut buf, offset as u64).unwrap();
    assert!(buf[n..].iter().all(|byte| *byte == 0xee));
    buf.truncate(n);
    buf
}

/// No line is overlooked.
#[test]
fn the_file_is_understood() {
    let groups = parse();
    assert!(groups.iter().map(|group| group.algorithm).eq(Algorithm::ALL.iter().copied()));
    for group in &groups {
        let key_len = group.algorithm.key_len();
        assert_eq!(group.key, fill(group.seed, key_len));
        assert_eq!(group.file_id, fill(group.seed + 30, 24));
        assert!(group.derived.len() >= 5);
        assert!(group.readable().count() >= 4);
        for file in &group.files {
            let refused = matches!(file.kind, Kind::Refused(_));
            assert!(file.bytes.is_some() || (file.sha256.is_some() && !refused));
            if let (Some(bytes), Some(hash)) = (&file.bytes, &file.sha256) {
                assert_eq!(Sha256::digest(bytes)[..], hash[..]);
            }
            for Merkle { max_chunks, root, commitment } in &file.merkle {
                assert!(!refused && *max_chunks > 0 && root.len() == 32 && commitment.len() == 32);
            }
        }
        assert!(group.files.iter().filter(|file| !file.merkle.is_empty()).count() >= 5);
    }
}

#[test]
fn derived_keys() {
    for group in parse() {
        for (len, expected) in &group.derived {
            assert_eq!(
                *derive_master_key(&group.key, &fill(group.seed + 120, *len)).unwrap(),
                *expected
            );
        }
        let max = group.derived.iter().map(|(len, _)| *len).max().unwrap();
        let too_long = derive_master_key(&group.key, &fill(0, max + 1));
        assert!(matches!(
            too_long,
            Err(Error::ContextLength { max: m, actual }) if m == max && actual == max + 1
        ));
    }
}

#[test]
fn files_are_read() {
    for group in parse() {
        for (chunk_size, bytes, contents) in group.readable() {
            let mut file = open(bytes, &group.key).unwrap();
            let info = file.info();
            assert_eq!(info, probe(&mut Memory(bytes.clone())).unwrap());
            let Info { algorithm, file_id, .. } = info;
            assert_eq!((algorithm, info.chunk_size), (group.algorithm, chunk_size));
            assert_eq!((info.size, &file_id[..]), (contents.len() as u64, &group.file_id[..]));
            assert_eq!(file.size(), contents.len() as u64);
            file.verify().unwrap();

            assert_eq!(read(&mut file, 0, contents.len() + 100), contents);
            let chunk = chunk_size as usize;
            for offset in [0, 1, 300, chunk - 1, chunk, chunk + 1, 2 * chunk, 2 * chunk + 16, 5000]
            {
                for len in [0, 1, 2, 17, chunk, chunk + 1, 2 * chunk + 2] {
                    let there = contents.get(offset..).unwrap_or_default();
                    assert_eq!(read(&mut file, offset, len), there[..len.min(there.len())]);
                }
            }
            assert_eq!(file.into_storage().0, *bytes, "reading changes nothing");
        }
    }
}

/// When a file grows, what lay behind its end in its last chunk does not come to light.
#[test]
fn files_grow() {
    for group in parse() {
        for (_, bytes, mut contents) in group.readable() {
            let mut file = open(bytes, &group.key).unwrap();
            file.set_size(contents.len() as u64 + 700).unwrap();
            contents.resize(contents.len() + 700, 0);
            assert_eq!(read(&mut file, 0, 9999), contents);
            file.write_at(b"and more", contents.len() as u64 + 1).unwrap();
            contents.extend(b"\0and more");
            let mut file = open(&file.into_storage().0, &group.key).unwrap();
            assert_eq!(read(&mut file, 0, 9999), contents);
        }
    }
}

#[test]
fn files_are_refused() {
    for group in parse() {
        let mut seen = Vec::new();
        for file in &group.files {
            let (Kind::Refused(reason), Some(bytes)) = (&file.kind, &file.bytes) else { continue };
            seen.push(reason.split(' ').next().unwrap());
            let probed = probe(&mut Memory(bytes.clone()));
            let opened = open(bytes, &group.key);
            if let Some(index) = reason.strip_prefix("chunk ") {
                let file = opened.unwrap();
                let mut buf = vec![0xee; file.size() as usize];
                for error in [file.read_at(&mut buf, 0).unwrap_err(), file.verify().unwrap_err()] {
                    assert!(
                        matches!(error, Error::DamagedChunk { index: i } if i.to_string() == index)
                    );
                }
                assert!(buf.iter().all(|byte| *byte == 0), "nothing of it can be seen");
                continue;
            }
            let error = opened.unwrap_err();
            let in_the_open = match reason.as_str() {
                "magic" => matches!(error, Error::NotRaf),
                "short" => matches!(error, Error::NotRaf | Error::Truncated { expected: 64, .. }),
                "header-size" => matches!(error, Error::Unsupported { what: "header size", .. }),
                "version" => matches!(error, Error::Unsupported { what: "version", .. }),
                "algorithm" => matches!(error, Error::Unsupported { what: "algorithm", .. }),
                "chunk-size" => matches!(error, Error::Unsupported { what: "chunk size", .. }),
                _ => false,
            };
            let with_the_key = match reason.as_str() {
                "mac" => matches!(error, Error::WrongKey),
                "truncated" => {
                    matches!(error, Error::Truncated { expected, actual }
                        if actual == bytes.len() as u64 && expected > actual)
                }
                "too-large" => matches!(error, Error::TooLarge),
                _ => false,
            };
            assert!(
                in_the_open || with_the_key,
                "{} for {reason}: {error:?}",
                group.algorithm.name()
            );
            assert_eq!(probed.is_err(), in_the_open, "{reason}");
        }
        for reason in ["mac", "truncated", "too-large"] {
            assert!(seen.contains(&reason), "{reason}");
        }
    }
}

#[test]
fn other_bits_and_other_keys_are_refused() {
    for group in parse() {
        let (_, bytes, contents) =
            group.readable().find(|(.., contents)| contents.len() == 1025).unwrap();
        let key_len = group.algorithm.key_len();
        for bit in 0..8 * key_len {
            let mut key = group.key.clone();
            key[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(open(bytes, &key), Err(Error::WrongKey)));
        }
        for len in [0, key_len - 1, key_len + 1, 48 - key_len] {
            let refused = open(bytes, &fill(group.seed, len)).unwrap_err();
            assert!(matches!(
                refused,
                Error::KeyLength { expected, actual } if expected == key_len && actual == len
            ));
        }
        for bit in 0..8 * 64 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            open(&changed, &group.key).unwrap_err();
        }
        let record = key_len + 1024 + 16;
        for bit in
            (0..8 * 2 * record).step_by(61).chain([8 * record - 1, 8 * record, 16 * record - 1])
        {
            let mut changed = bytes.clone();
            changed[64 + bit / 8] ^= 1 << (bit % 8);
            let mut file = open(&changed, &group.key).unwrap();
            let damaged = (bit / 8 / record) as u64;
            let error = file.read_at(&mut [0; 1025], 0).unwrap_err();
            assert!(matches!(error, Error::DamagedChunk { index } if index == damaged));
            // The other chunk is as it was.
            if damaged == 1 {
                assert_eq!(read(&mut file, 0, 1024), contents[..1024]);
            } else {
                assert_eq!(read(&mut file, 1024, 1), contents[1024..]);
            }
        }
    }
}

/// Random numbers that begin with the id of a file.
struct Known(Vec<u8>);

impl Environment for Known {
    type Buffer = Vec<u8>;
    type Hasher = Sha256Tree;
    const BULK: bool = false;

    fn random(&mut self, bytes: &mut [u8]) -> std::io::Result<()> {
        for byte in bytes {
            *byte = if self.0.is_empty() { 1 } else { self.0.remove(0) };
        }
        Ok(())
    }
}

/// Commitments of files that are read, and of the same contents written here, at once and in
/// pieces.
#[test]
fn commitments() {
    let mut read = 0;
    for group in parse() {
        for file in &group.files {
            let Kind::Read { chunk_size, size } = file.kind else { continue };
            let contents = fill(group.seed + 180, size);
            for Merkle { max_chunks, commitment, .. } in &file.merkle {
                if let Some(bytes) = &file.bytes {
                    let file = open(bytes, &group.key).unwrap().with_merkle(*max_chunks).unwrap();
                    assert_eq!(file.commitment().unwrap(), *commitment);
                    file.verify_tree().unwrap();
                    read += 1;
                }
                let id = group.file_id.clone();
                let options = Options::default().algorithm(group.algorithm).chunk_size(chunk_size);
                let room = |info: &Info| Ok(vec![0; info.record_len()]);
                let mut file =
                    options.create_in(Memory::default(), &group.key, Known(id), room).unwrap();
                let nodes = vec![0; tree_len(*max_chunks, 32).unwrap()];
                file.attach(Tree::new(Sha256Tree, nodes, *max_chunks, 32).unwrap()).unwrap();
                for (i, piece) in contents.chunks(700).enumerate() {
                    file.write_at(piece, 700 * i as u64).unwrap();
                }
                assert_eq!(file.commitment().unwrap(), *commitment);
                file.verify_tree().unwrap();
            }
        }
    }
    assert!(read > 20, "{read}");
}
