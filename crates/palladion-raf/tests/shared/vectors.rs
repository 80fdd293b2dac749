//! Reads `vectors/raf.txt`, which `vectors/README.md` describes.

#![allow(dead_code)] // each test uses a part

use palladion_raf::Algorithm;

/// Everything that goes with one key.
pub struct Group {
    pub algorithm: Algorithm,
    pub seed: usize,
    pub key: Vec<u8>,
    pub file_id: Vec<u8>,
    /// The length of a context, and the key that is derived with it.
    pub derived: Vec<(usize, Vec<u8>)>,
    pub files: Vec<File>,
}

/// A file. Some have no bytes here.
pub struct File {
    pub kind: Kind,
    pub bytes: Option<Vec<u8>>,
    pub sha256: Option<Vec<u8>>,
    pub merkle: Vec<Merkle>,
}

#[derive(PartialEq)]
pub enum Kind {
    /// It can be read.
    Read { chunk_size: u32, size: usize },
    /// It is refused, for a reason.
    Refused(String),
}

/// The Merkle tree with room for some chunks.
pub struct Merkle {
    pub max_chunks: u64,
    pub root: Vec<u8>,
    pub commitment: Vec<u8>,
}

pub fn fill(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| ((seed + 7 * i) % 251) as u8).collect()
}

fn unhex(hex: &str) -> Vec<u8> {
    let hex = hex.strip_prefix('-').unwrap_or(hex);
    assert_eq!(hex.len() % 2, 0);
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

pub fn parse() -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for line in include_str!("../../../../vectors/raf.txt").lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["algorithm", id, name, seed] = words[..] {
            let algorithm = Algorithm::from_id(id.parse().unwrap()).unwrap();
            assert_eq!(algorithm.name(), name);
            let (key, file_id, seed) = (Vec::new(), Vec::new(), seed.parse().unwrap());
            groups.push(Group {
                algorithm,
                seed,
                key,
                file_id,
                derived: Vec::new(),
                files: Vec::new(),
            });
            continue;
        }
        let Some(group) = groups.last_mut() else { continue };
        let mut file =
            |kind| group.files.push(File { kind, bytes: None, sha256: None, merkle: Vec::new() });
        match words[..] {
            ["key", key] => group.key = unhex(key),
            ["id", id] => group.file_id = unhex(id),
            ["derive", len, key] => group.derived.push((len.parse().unwrap(), unhex(key))),
            ["file" | "read", chunk_size, size] => {
                file(Kind::Read {
                    chunk_size: chunk_size.parse().unwrap(),
                    size: size.parse().unwrap(),
                });
            }
            ["refused", ..] => file(Kind::Refused(words[1..].join(" "))),
            ["bytes", bytes] => {
                let file = group.files.last_mut().unwrap();
                file.bytes.get_or_insert_default().extend(unhex(bytes));
            }
            ["sha256", hash] => group.files.last_mut().unwrap().sha256 = Some(unhex(hash)),
            ["merkle", max_chunks, root, commitment] => {
                group.files.last_mut().unwrap().merkle.push(Merkle {
                    max_chunks: max_chunks.parse().unwrap(),
                    root: unhex(root),
                    commitment: unhex(commitment),
                })
            }
            _ => {} // comments, and what may come later
        }
    }
    groups
}

impl Group {
    /// The files that can be read and have bytes here: size of chunks, bytes, contents.
    pub fn readable(&self) -> impl Iterator<Item = (u32, &Vec<u8>, Vec<u8>)> {
        self.files.iter().filter_map(|file| match (&file.kind, &file.bytes) {
            (Kind::Read { chunk_size, size }, Some(bytes)) => {
                Some((*chunk_size, bytes, fill(self.seed + 180, *size)))
            }
            _ => None,
        })
    }
}
