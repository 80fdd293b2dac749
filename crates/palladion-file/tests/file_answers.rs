//! The files of `vectors/file-answers.txt`, and what their readers must say.

use std::collections::HashMap;

use palladion_file::Error;

/// A file, and the answers.
pub struct File {
    pub name: String,
    /// The reader has the passphrase, not the key.
    pub with_passphrase: bool,
    /// The place that the reader has.
    pub place: Option<Vec<u8>>,
    pub bytes: Vec<u8>,
    /// `ok:N` or `ERROR:N`.
    pub start: String,
    /// `ok:N` or `ERROR`.
    pub middle: String,
    /// Empty if the file does not open from the middle.
    pub chunks: Vec<String>,
}

/// The secrets and the files.
pub struct Answers {
    pub key: [u8; 32],
    pub passphrase: String,
    pub files: Vec<File>,
}

/// The word for an error.
pub fn name(error: &Error) -> &'static str {
    match error {
        Error::NotPalladion => "not-palladion",
        Error::Truncated { .. } => "truncated",
        Error::HeaderDamaged => "damaged-header",
        Error::UnsupportedVersion(_) => "unsupported-version",
        Error::UnsupportedHeader { .. } => "unsupported-header",
        Error::NeedsKey => "needs-key",
        Error::NeedsPassphrase => "needs-passphrase",
        Error::KdfTooCostly { .. } => "too-costly",
        Error::WrongKey | Error::WrongPassphrase | Error::NoSlot => "wrong-key",
        Error::Damaged { .. } => "damaged",
        Error::TrailingData { .. } => "trailing-data",
        Error::Bound => "bound",
        Error::NotBound => "not-bound",
        Error::WrongPlace => "wrong-place",
        other => panic!("{other:?}"),
    }
}

/// Byte i of a plaintext is i mod 251.
pub fn plaintext(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Bytes in hexadecimal digits, a name, or a slice of what has a name.
fn piece(named: &HashMap<&str, Vec<u8>>, piece: &str) -> Vec<u8> {
    if let Some(digits) = piece.strip_prefix('=') {
        return unhex(digits);
    }
    match piece.strip_suffix(']').and_then(|piece| piece.split_once('[')) {
        None => named[piece].clone(),
        Some((name, range)) => {
            let (from, to) = range.split_once("..").unwrap();
            named[name][from.parse().unwrap()..to.parse().unwrap()].to_vec()
        }
    }
}

impl Answers {
    /// Reads those to files without key slots; `None` if the crate is tested on its own.
    pub fn read() -> Option<Self> {
        let answers = Self::read_lines("file")?;
        assert!(answers.files.len() > 400, "{} files", answers.files.len());
        Some(answers)
    }

    /// Reads those to files with key slots.
    pub fn read_slots() -> Option<Self> {
        let answers = Self::read_lines("slots")?;
        assert!(answers.files.len() > 100, "{} files", answers.files.len());
        Some(answers)
    }

    /// Reads those to files that are bound to a place, or should be: without key slots, and with.
    pub fn read_bound() -> Option<[Self; 2]> {
        let answers = [Self::read_lines("bound")?, Self::read_lines("bound-slots")?];
        assert!(answers.iter().all(|answers| answers.files.len() > 35));
        Some(answers)
    }

    fn read_lines(kind: &str) -> Option<Self> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/file-answers.txt");
        let text = std::fs::read_to_string(path).ok()?;
        let mut answers = Self { key: [0; 32], passphrase: String::new(), files: Vec::new() };
        let mut named = HashMap::new();
        for line in text.lines() {
            match *line.split(' ').collect::<Vec<_>>() {
                ["key", digits] => answers.key = unhex(digits).try_into().unwrap(),
                ["passphrase", ..] => answers.passphrase = line["passphrase ".len()..].into(),
                ["bytes", name, digits] => drop(named.insert(name, unhex(digits))),
                [word, name, secret, ref rest @ ..] if word == kind => {
                    let (place, rest) = match rest {
                        [place, rest @ ..] if kind.starts_with("bound") => (*place, rest),
                        rest => ("-", rest),
                    };
                    let [start, middle, chunks, pieces @ ..] = rest else { panic!("{line}") };
                    let bytes = pieces.iter().map(|text| piece(&named, text));
                    let chunks = chunks.split(',').filter(|chunk| *chunk != "-");
                    answers.files.push(File {
                        name: name.into(),
                        with_passphrase: secret == "passphrase",
                        place: (place != "-").then(|| unhex(place)),
                        bytes: bytes.collect::<Vec<_>>().concat(),
                        start: (*start).into(),
                        middle: (*middle).into(),
                        chunks: chunks.map(String::from).collect(),
                    });
                }
                _ => {}
            }
        }
        Some(answers)
    }
}
