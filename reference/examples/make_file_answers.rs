//! Writes `vectors/file-answers.txt`, which `vectors/README.md` describes.
//!
//! `cargo run --release -p palladion-reference --example make_file_answers` A test of this crate
//! generates the file in memory and compares it with that in the repository.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use palladion_reference::file::slots::{
    Opener, at_any_offset, costs, from_start, head, sealed, slot, with_checksum as with_sum, wrap,
};
use palladion_reference::file::{
    Cipher, HEADER_LEN, OVERHEAD, Reader, Secret, bound, fields, header, with_checksum,
};

const PASSPHRASE: &str = "correct horse battery staple";
const CHEAP: [u32; 3] = [8, 1, 1];
/// What Argon2id makes of the passphrase and the salt at these costs.
const STRETCHED: [u128; 2] =
    [0x3e2d94a12132cbc7c87fb9f0deeeffd4, 0xe04d6736d4bfe2a2120a8ebad2e0481e];
const CHUNK: usize = 1024;
/// A full chunk in the file.
const SEALED: usize = CHUNK + OVERHEAD;
const LAST: u32 = 1 << 31;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The master key counts from 0, the salt from 0x80.
fn counting(first: u8) -> [u8; 32] {
    std::array::from_fn(|i| first + i as u8)
}

fn stretched() -> [u8; 32] {
    std::array::from_fn(|i| STRETCHED[i / 16].to_be_bytes()[i % 16])
}

fn with_key() -> [u8; 64] {
    fields(5, 0, 10, &counting(0x80), [0; 3])
}

fn with_costs(costs: [u32; 3]) -> [u8; 64] {
    fields(5, 1, 10, &counting(0x80), costs)
}

fn text(from: usize, len: usize) -> Vec<u8> {
    (from..from + len).map(|i| (i % 251) as u8).collect()
}

fn set(bytes: &[u8], at: usize, new: &[u8]) -> Vec<u8> {
    [&bytes[..at], new, &bytes[at + new.len()..]].concat()
}

fn set_field(fields: [u8; 64], at: usize, new: &[u8]) -> [u8; 64] {
    set(&fields, at, new).try_into().unwrap()
}

fn flip(bytes: &[u8], at: usize) -> Vec<u8> {
    set(bytes, at, &[bytes[at] ^ 0x10])
}

/// What a reader from the middle says: about the file, and about each chunk.
fn from_middle(reader: &Reader, file: &[u8]) -> (String, String) {
    let (count, len) = match reader.from_middle(file) {
        Ok(opened) => opened,
        Err(error) => return (error.into(), "-".into()),
    };
    let read = |chunk| reader.read(file, chunk, count).err().unwrap_or("ok");
    (format!("ok:{len}"), (0..count).map(read).collect::<Vec<_>>().join(","))
}

/// The text file, being written.
#[derive(Default)]
struct Answers {
    out: String,
    /// What has a name.
    named: Vec<(String, Vec<u8>)>,
    /// Where eight bytes are in what has a name.
    places: HashMap<Vec<u8>, (usize, usize)>,
    files: BTreeSet<String>,
    errors: BTreeSet<&'static str>,
}

impl Answers {
    fn comment(&mut self, text: &str) {
        writeln!(self.out, "# {text}").unwrap();
    }

    /// Gives bytes a name, or one for each 900 of them, so that lines stay short.
    fn name(&mut self, name: &str, bytes: Vec<u8>) -> Vec<u8> {
        for (number, part) in bytes.chunks(900).enumerate() {
            let name = format!("{name}{}", "+".repeat(number));
            writeln!(self.out, "bytes {name} {}", hex(part)).unwrap();
            for (at, eight) in part.windows(8).enumerate() {
                self.places.entry(eight.to_vec()).or_insert((self.named.len(), at));
            }
            self.named.push((name, part.to_vec()));
        }
        bytes
    }

    /// A chunk of the files with the usual header.
    fn chunk(&mut self, name: &str, counter: u64, last: bool, len: usize) -> Vec<u8> {
        let cipher = Cipher::derive(&with_key(), &counting(0)).0;
        self.name(name, cipher.seal(counter, last, &text(CHUNK * counter as usize, len)))
    }

    fn full(&mut self, counter: u64) -> Vec<u8> {
        self.chunk(&format!("full{counter}"), counter, false, CHUNK)
    }

    fn last(&mut self, counter: u64, len: usize) -> Vec<u8> {
        self.chunk(&format!("last{counter}-{len}"), counter, true, len)
    }

    /// A file in pieces: what has a name, and literal bytes.
    fn pieces(&self, file: &[u8]) -> String {
        let (mut pieces, mut literal, mut at) = (String::new(), Vec::new(), 0);
        while at <= file.len() {
            let found = file.get(at..at + 8).and_then(|eight| self.places.get(eight));
            if (found.is_some() || at == file.len()) && !literal.is_empty() {
                write!(pieces, " ={}", hex(&literal)).unwrap();
                literal.clear();
            }
            if let Some(&(number, from)) = found {
                let (name, bytes) = &self.named[number];
                let len = bytes[from..].iter().zip(&file[at..]).take_while(|(a, b)| a == b).count();
                match len == bytes.len() {
                    true => write!(pieces, " {name}").unwrap(),
                    false => write!(pieces, " {name}[{from}..{}]", from + len).unwrap(),
                }
                at += len;
            } else {
                literal.extend(file.get(at));
                at += 1;
            }
        }
        pieces
    }

    /// A file, and what its readers say.
    fn file(&mut self, name: &str, secret: &str, file: &[u8]) {
        self.file_at("file", name, secret, None, file);
    }

    /// What readers say that have a place, or know that files can be bound to one.
    fn bound(&mut self, name: &str, secret: &str, place: &str, file: &[u8]) {
        let place = Some(place.as_bytes()).filter(|place| !place.is_empty());
        match file.get(10) {
            Some(2) => self.slots_at("bound-slots", name, secret, place, file),
            _ => self.file_at("bound", name, secret, place, file),
        }
    }

    /// What comes between the secret and the answers.
    fn place(kind: &str, place: Option<&[u8]>) -> String {
        match (kind.starts_with("bound"), place) {
            (false, _) => String::new(),
            (true, None) => " -".into(),
            (true, Some(place)) => format!(" {}", hex(place)),
        }
    }

    fn file_at(&mut self, kind: &str, name: &str, secret: &str, place: Option<&[u8]>, file: &[u8]) {
        assert!(self.files.insert(name.into()), "{name}");
        let given = match secret {
            "key" => Secret::Key(counting(0)),
            _ => Secret::Passphrase(stretched()),
        };
        let (mut released, mut middle, mut chunks) = (0, String::new(), "-".into());
        let start = Reader::new(file, given, place).and_then(|reader| {
            (middle, chunks) = from_middle(&reader, file);
            let (plaintext, end) = reader.from_start(file);
            assert_eq!(plaintext, text(0, plaintext.len()), "{name}");
            released = plaintext.len();
            end
        });
        self.errors.extend(start.err());
        let start = start.err().unwrap_or("ok");
        let middle = if middle.is_empty() { start } else { &middle };
        let pieces = self.pieces(file);
        let place = Self::place(kind, place);
        let answers = format!("{start}:{released} {middle} {chunks}");
        writeln!(self.out, "{kind} {name} {secret}{place} {answers}{pieces}").unwrap();
    }

    /// A file with key slots, and what the readers that open these say.
    fn with_slots(&mut self, name: &str, secret: &str, file: &[u8]) {
        self.slots_at("slots", name, secret, None, file);
    }

    fn slots_at(
        &mut self,
        kind: &str,
        name: &str,
        secret: &str,
        place: Option<&[u8]>,
        file: &[u8],
    ) {
        assert!(self.files.insert(name.into()), "{name}");
        let opener = match secret {
            "key" => Opener::new(Secret::Key(counting(0)), CHEAP, place),
            _ => Opener::new(Secret::Passphrase(stretched()), CHEAP, place),
        };
        let (plaintext, start) = from_start(file, opener.clone());
        assert_eq!(plaintext, text(0, plaintext.len()), "{name}");
        let (start, released) = (start.unwrap_or_else(|error| error), plaintext.len());
        let (middle, chunks) = match at_any_offset(file, opener) {
            Ok((reader, file)) => from_middle(&reader, file),
            Err(error) => (error.into(), "-".into()),
        };
        let pieces = self.pieces(file);
        self.errors.extend(matches!(start, "bound" | "not-bound" | "wrong-place").then_some(start));
        let place = Self::place(kind, place);
        let answers = format!("{start}:{released} {middle} {chunks}");
        writeln!(self.out, "{kind} {name} {secret}{place} {answers}{pieces}").unwrap();
    }

    /// A file that is opened with the master key.
    fn key(&mut self, name: &str, parts: &[&[u8]]) {
        self.file(name, "key", &parts.concat());
    }

    /// A file of five bytes whose commitment and checksum are right, whatever its fields are.
    fn made(&mut self, name: &str, secret: &str, fields: [u8; 64], ikm: [u8; 32]) {
        let chunk = Cipher::derive(&fields, &ikm).0.seal(0, true, &text(0, 5));
        self.file(name, secret, &[header(&fields, &ikm), chunk].concat());
    }

    fn beginnings(&mut self, whole: &[u8]) {
        self.comment("Cut in the header, or with another beginning.");
        for len in [0, 1, 3, 4, 7, 8, 9, 64, 96, 127] {
            self.key(&format!("first-{len}"), &[&whole[..len]]);
        }
        let rest = &whole[8..];
        let with_sum = |start: &[u8]| [&with_checksum(start), &whole[HEADER_LEN..]].concat();
        self.key("not-the-magic-1", &[&[0x88]]);
        self.key("not-the-magic-3", &[b"\x89PN"]);
        self.key("png", &[b"\x89PNG\r\n\x1a\n", rest]);
        self.key("text", &[b"This is not encrypted.\n"]);
        self.key("long-text", &[&[b'.'; 300]]);
        self.key("without-byte-0", &[&whole[1..]]);
        self.key("byte-0-without-bit-7", &[&[9], &whole[1..]]);
        self.key("byte-0-as-utf-8", &[&[0xc2], whole]);
        self.key("crlf-to-lf", &[b"\x89PLD\n\x1a\n", rest]);
        self.key("lf-to-crlf", &[b"\x89PLD\r\r\n\x1a\r\n", rest]);
        self.key("crlf-to-lf-short", &[b"\x89PLD\n\x1a\n", &rest[..100]]);
        self.key("version-2-short", &[&set(&whole[..127], 8, &[2])]);
        for at in 3..8 {
            self.key(&format!("byte-{at}-with-checksum"), &[&with_sum(&flip(whole, at))]);
        }
        for at in [0, 3, 4, 7, 8, 9, 10, 11, 12, 15, 16, 47, 48, 59, 60, 63, 64, 95, 96, 127] {
            self.key(&format!("flip-{at}"), &[&flip(whole, at)]);
        }
        self.comment("The header was changed with its checksum.");
        for (at, byte) in [(9, 6), (9, 1), (11, 11), (16, 0), (47, 0), (64, 0), (95, 0)] {
            self.key(&format!("change-{at}-to-{byte}"), &[&with_sum(&set(whole, at, &[byte]))]);
        }
    }

    fn headers(&mut self) {
        self.comment("Someone with the key wrote such a header.");
        let key = counting(0);
        let mut values: Vec<(usize, &[u8])> = vec![
            (8, &[0, 2, 255]),
            (9, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 255]),
            (10, &[2, 3, 255]),
            (11, &[0, 1, 9, 10, 11, 20, 24, 25, 31, 32, 64, 255]),
        ];
        let zeros = [12, 13, 14, 15, 48, 49, 51, 52, 55, 56, 59, 60, 61, 62, 63];
        let value = |at| if matches!(at, 15 | 63) { &[128][..] } else { &[1] };
        values.extend(zeros.map(|at| (at, value(at))));
        for (at, values) in values {
            for &value in values {
                let fields = set_field(with_key(), at, &[value]);
                self.made(&format!("byte-{at}-is-{value}"), "key", fields, key);
            }
        }
        self.made("costs-with-key", "key", fields(5, 0, 10, &counting(0x80), CHEAP), key);
        let newer = set_field(with_key(), 8, &[2, 9, 9, 9, 9]);
        self.made("version-2-and-all-else-new", "key", newer, key);
        self.made("two-invalid-fields", "key", set_field(with_key(), 9, &[0, 2]), key);
        self.made("other-key", "key", with_key(), counting(1));
        self.made("passphrase-given", "passphrase", with_key(), key);
        self.made("passphrase-given-other-key", "passphrase", with_key(), counting(1));
        let unsupported = set_field(with_key(), 12, &[1]);
        self.made("passphrase-given-unsupported", "passphrase", unsupported, key);

        self.made("passphrase", "passphrase", with_costs(CHEAP), stretched());
        self.made("other-passphrase", "passphrase", with_costs(CHEAP), key);
        self.made("key-given", "key", with_costs(CHEAP), stretched());
        self.made("key-given-too-costly", "key", with_costs([8, 17, 1]), stretched());
        self.made("key-given-unsupported", "key", with_costs([8, 0, 1]), stretched());
        for at in [12, 15, 60, 63] {
            let fields = set_field(with_costs(CHEAP), at, &[1]);
            self.made(&format!("passphrase-byte-{at}-is-1"), "passphrase", fields, stretched());
        }
        self.comment("Other costs. Where they are allowed, the passphrase is a wrong one.");
        const MOST: u32 = u32::MAX;
        #[rustfmt::skip]
        let all_costs = [
            [0, 0, 0], [0, 1, 1], [7, 1, 1], [8, 0, 1], [8, 1, 0], [15, 1, 2], [16, 1, 2],
            [127, 1, 16], [128, 16, 16], [136, 1, 17], [135, 1, 17], [8, 17, 1],
            [(1 << 20) + 1, 1, 1], [MOST, 1, 1], [8, MOST, 1], [MOST, MOST, 1],
            [1 << 20, 5, 1], [(1 << 18) + 1, 16, 1],
            [0x7ff_fff7, 1, 0xff_ffff], [0x7ff_fff8, 1, 0xff_ffff],
            [0x800_0000, 1, 0x100_0000], [MOST, 1, 0x100_0000], [MOST, 1, 0x1fff_ffff], [MOST; 3],
        ];
        for costs in all_costs {
            let [memory, passes, lanes] = costs;
            let name = format!("costs-{memory}-{passes}-{lanes}");
            self.made(&name, "passphrase", with_costs(costs), counting(0));
        }
    }

    /// A file that is cut so many bytes after its header.
    fn cuts(&mut self, name: &str, file: &[u8], places: &[usize]) {
        for at in places {
            self.key(&format!("{name}-cut-{at}"), &[&file[..HEADER_LEN + at]]);
        }
    }

    /// A file with one bit of a chunk changed.
    fn flips(&mut self, name: &str, file: &[u8], chunk: usize, places: &[usize]) {
        for at in places {
            let file = flip(file, HEADER_LEN + chunk * SEALED + at);
            self.key(&format!("{name}-flip-{chunk}-{at}"), &[&file]);
        }
    }

    /// A file with another frame before a chunk.
    fn frames(&mut self, name: &str, file: &[u8], chunk: usize, more: &[u32]) {
        let usual = [0, 1, 1023, 1024, 1025, 2048, 0x7fff_ffff];
        for word in usual.iter().chain(more).flat_map(|len| [*len, len | LAST]) {
            let file = set(file, HEADER_LEN + chunk * SEALED, &word.to_le_bytes());
            let last = if word & LAST == 0 { "" } else { "-last" };
            self.key(&format!("{name}-frame-{chunk}-{}{last}", word & !LAST), &[&file]);
        }
    }
}

/// The key of the files with slots.
fn file_key() -> [u8; 32] {
    counting(0x40)
}

/// Files with key slots. The secrets are those of the other files.
fn slots(a: &mut Answers) {
    let f = fields(5, 2, 10, &counting(0x80), [0; 3]);
    let cipher = Cipher::derive(&f, &file_key()).0;
    let h = a.name("slots-header", header(&f, &file_key()));
    let parts = [(false, 1024), (false, 1024), (true, 476)];
    let parts = (0..).zip(parts).map(|(n, (last, len))| {
        a.name(&format!("slots-chunk{n}"), cipher.seal(n, last, &text(1024 * n as usize, len)))
    });
    let chunks = parts.collect::<Vec<_>>().concat();
    let wrapped = |kind, ikm: u8, salt, extra: &[u8]| {
        let ikm = if (kind, ikm) == (2, 0) { stretched() } else { counting(ikm) };
        wrap(&f, kind, &ikm, &file_key(), &[salt; 32], extra)
    };
    let cheap = costs(CHEAP);
    let key = a.name("slots-key", wrapped(1, 0, 1, b""));
    let other = a.name("slots-other-key", wrapped(1, 1, 2, b""));
    let phrase = a.name("slots-passphrase", wrapped(2, 0, 3, &cheap));
    let head = |log2, sequence, slots: &[&[u8]]| head(&h, &file_key(), log2, sequence, slots);
    let join = |first: &[u8], last: &[u8]| [first, &chunks, last].concat();
    let both = |head: &[u8]| join(head, head);

    a.comment("Files with key slots.");
    let usual = a.name("slots-head", head(12, 1, &[&key]));
    let file = both(&usual);
    a.with_slots("slots-key", "key", &file);
    a.with_slots("slots-of-a-key-for-a-passphrase", "passphrase", &file);
    let all = both(&head(12, 7, &[&other, &phrase, &key]));
    a.with_slots("slots-key-of-three", "key", &all);
    a.with_slots("slots-passphrase-of-three", "passphrase", &all);
    a.with_slots("slots-other-key", "key", &both(&head(12, 1, &[&other])));
    let empty = [&usual[..], &cipher.seal(0, true, b""), &usual].concat();
    a.with_slots("slots-empty", "key", &empty);
    let larger = head(13, 1, &[&key]);
    a.with_slots("slots-8-KiB", "key", &both(&larger));
    let most: Vec<_> = (0..27).map(|n| wrapped(1, 1 + n, n, b"")).collect();
    let most: Vec<&[u8]> = most.iter().map(Vec::as_slice).chain([&key[..]]).collect();
    let most = a.name("slots-head-28", head(12, 1, &most));
    a.with_slots("slots-28", "key", &both(&most));

    a.comment("Slots that are skipped.");
    let unknown = slot(99, b"what a later version may have");
    a.with_slots("slots-unknown-kind", "key", &both(&head(12, 1, &[&unknown, &key])));
    a.with_slots("slots-kind-0", "key", &both(&head(12, 1, &[&slot(0, b""), &key])));
    a.with_slots("slots-no-age-file", "key", &both(&head(12, 1, &[&slot(3, b"age?"), &key])));
    a.with_slots("slots-short-body", "key", &both(&head(12, 1, &[&slot(1, &key[4..99]), &key])));
    a.with_slots("slots-long-body", "key", &both(&head(12, 1, &[&slot(1, &phrase[4..])])));
    a.with_slots("slots-byte-1", "key", &both(&head(12, 1, &[&set(&key, 1, &[1])])));
    let of_other_file = wrap(&f, 1, &counting(0), &counting(9), &[4; 32], b"");
    a.with_slots("slots-other-F", "key", &both(&head(12, 1, &[&of_other_file, &key])));
    a.with_slots("slots-only-other-F", "key", &both(&head(12, 1, &[&of_other_file])));
    for at in [4, 40, 70] {
        let slot = flip(&key, at);
        a.with_slots(&format!("slots-bad-{at}"), "key", &both(&head(12, 1, &[&slot])));
    }
    for (name, invalid) in [("passes", [8, 0, 1]), ("lanes", [8, 1, 0]), ("memory", [7, 1, 1])] {
        let slot = wrapped(2, 1, 5, &costs(invalid));
        let file = both(&head(12, 1, &[&slot, &phrase]));
        a.with_slots(&format!("slots-invalid-{name}"), "passphrase", &file);
    }
    let others = (0..9).map(|n| a.name(&format!("slots-other-{n}"), wrapped(2, 1, n, &cheap)));
    let others: Vec<_> = others.collect();
    let nine = |ours: usize| {
        let mut slots: Vec<&[u8]> = others.iter().map(Vec::as_slice).collect();
        slots[ours] = &phrase;
        both(&head(12, 1, &slots))
    };
    a.with_slots("slots-eighth-passphrase", "passphrase", &nine(7));
    a.with_slots("slots-ninth-passphrase", "passphrase", &nine(8));
    let costly = wrapped(2, 1, 6, &costs([8, 17, 1]));
    a.with_slots("slots-too-costly", "passphrase", &both(&head(12, 1, &[&costly])));
    a.with_slots("slots-one-too-costly", "passphrase", &both(&head(12, 1, &[&costly, &phrase])));
    a.with_slots("slots-too-costly-for-a-key", "key", &both(&head(12, 1, &[&costly])));

    a.comment("One copy is damaged, or both are.");
    let start = usual.len() + chunks.len();
    for at in [0, 4, 8, 10, 20, 70, 100, 128, 129, 140, 148, 1000, 4032, 4064, 4095] {
        a.with_slots(&format!("slots-flip-head-{at}"), "key", &flip(&file, at));
        a.with_slots(&format!("slots-flip-spare-{at}"), "key", &flip(&file, start + at));
    }
    a.with_slots("slots-flip-both", "key", &flip(&flip(&file, 300), start + 900));
    a.with_slots("slots-flip-chunk", "key", &flip(&flip(&file, 300), 4096 + 1500));
    let forged = with_sum(&set(&usual[..4064], 136, &[2]));
    a.with_slots("slots-forged-head", "key", &join(&forged, &usual));
    a.with_slots("slots-forged-spare", "key", &join(&usual, &forged));
    a.with_slots("slots-forged-both", "key", &both(&forged));

    a.comment("The copies are not the same.");
    let second = head(12, 2, &[&other]);
    a.with_slots("slots-newer-spare", "key", &join(&usual, &second));
    a.with_slots("slots-newer-head", "key", &join(&second, &usual));
    a.with_slots("slots-added", "passphrase", &join(&usual, &head(12, 2, &[&key, &phrase])));
    a.with_slots("slots-two-lengths", "key", &join(&second, &larger));
    a.with_slots("slots-two-lengths-head", "key", &join(&larger, &second));
    let f2 = fields(5, 2, 11, &counting(0x80), [0; 3]);
    let slot2 = wrap(&f2, 1, &counting(0), &file_key(), &[1; 32], b"");
    let header2 = header(&f2, &file_key());
    let head2 = palladion_reference::file::slots::head(&header2, &file_key(), 12, 1, &[&slot2]);
    a.with_slots("slots-two-headers", "key", &join(&second, &head2));
    a.with_slots("slots-other-header-in-spare", "key", &join(&usual, &head2));

    a.comment("Cut, or something follows.");
    for at in [128, 143, 144, 2000, 4095, 4096, 4099, 4100, 5156, 5157, start - 1] {
        a.with_slots(&format!("slots-cut-{at}"), "key", &file[..at]);
    }
    for at in [0, 1, 476, 2000, 4095] {
        a.with_slots(&format!("slots-cut-spare-{at}"), "key", &file[..start + at]);
    }
    a.with_slots("slots-and-1", "key", &[&file[..], &[0]].concat());
    a.with_slots("slots-and-spare", "key", &[&file[..], &usual].concat());
    a.with_slots("slots-without-head", "key", &file[4096..]);

    a.comment("Heads that someone with F wrote.");
    let changed = |at, new: &[u8]| sealed(&set(&usual[..4032], at, new), &file_key());
    let changes: [(usize, &[u8]); 13] = [
        (128, &[0]),
        (128, &[11]),
        (128, &[13]),
        (128, &[21]),
        (129, &[0]),
        (129, &[2]),
        (130, &[1]),
        (131, &[1]),
        (132, &[99]),
        (132, &[101]),
        (132, &[255; 4]),
        (132, &[0xd1, 0x0f]),
        (1000, &[1]),
    ];
    for (at, new) in changes {
        let name = format!("slots-{at}-is-{}", hex(new));
        a.with_slots(&name, "key", &both(&changed(at, new)));
    }
    a.with_slots("slots-none", "key", &both(&head(12, 1, &[])));
    a.with_slots("slots-last-sequence", "key", &both(&head(12, u64::MAX, &[&key])));
}

/// Files that are bound to a place, or should be.
fn bound_files(a: &mut Answers, unbound: &[u8]) {
    const HERE: &str = "reports/2026/january";
    const THERE: &str = "reports/2026/february";
    a.comment("Files that are bound to a place.");
    let (key, passphrase) = (counting(0), stretched());
    let made = |fields: &[u8; 64], ikm: &[u8; 32], place: &str, len: usize| {
        let fields = bound(fields, ikm, place.as_bytes());
        let cipher = Cipher::at(&fields, ikm, place.as_bytes()).0;
        let chunks = (0..len.div_ceil(CHUNK)).map(|n| {
            let rest = len - n * CHUNK;
            cipher.seal(n as u64, rest <= CHUNK, &text(n * CHUNK, rest.min(CHUNK)))
        });
        [header(&fields, ikm), chunks.collect::<Vec<_>>().concat()].concat()
    };
    let here = a.name("bound-here", made(&with_key(), &key, HERE, 1500));
    a.bound("bound", "key", HERE, &here);
    a.bound("bound-no-place", "key", "", &here);
    a.bound("bound-other-place", "key", THERE, &here);
    a.bound("bound-longer-place", "key", &format!("{HERE}/"), &here);
    a.bound("bound-shorter-place", "key", &HERE[..19], &here);
    a.bound("bound-not", "key", HERE, unbound);
    a.bound("bound-passphrase-given", "passphrase", HERE, &here);
    a.bound("bound-passphrase-given-no-place", "passphrase", "", &here);
    a.bound("bound-other-key", "key", HERE, &made(&with_key(), &counting(1), HERE, 5));
    a.bound("bound-other-key-other-place", "key", THERE, &made(&with_key(), &counting(1), HERE, 5));
    let phrase = made(&with_costs(CHEAP), &passphrase, HERE, 5);
    a.bound("bound-passphrase", "passphrase", HERE, &phrase);
    a.bound("bound-passphrase-other-place", "passphrase", THERE, &phrase);
    a.bound("bound-passphrase-no-place", "passphrase", "", &phrase);
    a.bound("bound-key-given", "key", THERE, &phrase);
    let too_costly = made(&with_costs([8, 17, 1]), &passphrase, HERE, 5);
    a.bound("bound-too-costly", "passphrase", THERE, &too_costly);
    a.bound("bound-too-costly-no-place", "passphrase", "", &too_costly);
    a.bound("bound-utf-8", "key", "caf\u{e9} \u{65e5}\u{8a18}", &{
        made(&with_key(), &key, "caf\u{e9} \u{65e5}\u{8a18}", 5)
    });
    let long = "x".repeat(70);
    a.bound("bound-long-place", "key", &long, &made(&with_key(), &key, &long, 5));
    for algorithm in 1..=6 {
        let fields = fields(algorithm, 0, 10, &counting(0x80), [0; 3]);
        a.bound(&format!("bound-{algorithm}"), "key", HERE, &made(&fields, &key, HERE, 25));
    }

    a.comment("Someone changed such a file.");
    for (at, byte) in [(12, 0), (12, 1), (12, b'Q'), (13, 1), (15, 1), (60, 0), (63, 7), (64, 0)] {
        let changed = [with_checksum(&set(&here, at, &[byte])), here[HEADER_LEN..].into()].concat();
        a.bound(&format!("bound-{at}-to-{byte}"), "key", HERE, &changed);
    }
    let stripped = set(&set(&here, 12, &[0]), 60, &[0; 4]);
    let stripped = [with_checksum(&stripped), here[HEADER_LEN..].into()].concat();
    a.bound("bound-stripped", "key", HERE, &stripped);
    a.bound("bound-stripped-no-place", "key", "", &stripped);
    a.bound("bound-cut", "key", HERE, &here[..here.len() - 1]);
    a.bound("bound-flip", "key", HERE, &flip(&here, HEADER_LEN + SEALED + 9));
    a.bound("bound-flip-other-place", "key", THERE, &flip(&here, HEADER_LEN + SEALED + 9));
    a.comment("Someone with the key: a place check that says nothing of the key, and the reverse.");
    let fields_here = bound(&with_key(), &key, HERE.as_bytes());
    let chunk = |cipher: Cipher| cipher.seal(0, true, &text(0, 5));
    let h = header(&fields_here, &key);
    let there = Cipher::at(&fields_here, &key, THERE.as_bytes()).0;
    a.bound("bound-key-of-other-place", "key", HERE, &[&h[..], &chunk(there)].concat());
    let without = Cipher::derive(&fields_here, &key).0;
    a.bound("bound-key-of-no-place", "key", HERE, &[&h[..], &chunk(without)].concat());
    let fields_zero = set_field(fields_here, 60, &[0; 4]);
    let with_zero = Cipher::at(&fields_zero, &key, HERE.as_bytes()).0;
    let with_zero = [header(&fields_zero, &key), chunk(with_zero)].concat();
    a.bound("bound-check-is-zero", "key", HERE, &with_zero);

    a.comment("With key slots.");
    let f = bound(&fields(5, 2, 10, &counting(0x80), [0; 3]), &file_key(), HERE.as_bytes());
    let cipher = Cipher::at(&f, &file_key(), HERE.as_bytes()).0;
    let h = header(&f, &file_key());
    let chunks = [cipher.seal(0, false, &text(0, 1024)), cipher.seal(1, true, &text(1024, 100))];
    let chunks = a.name("bound-chunks", chunks.concat());
    let ours = a.name("bound-slot", wrap(&f, 1, &key, &file_key(), &[1; 32], b""));
    let phrase = wrap(&f, 2, &passphrase, &file_key(), &[3; 32], &costs(CHEAP));
    let phrase = a.name("bound-slot-passphrase", phrase);
    let other = wrap(&f, 1, &counting(1), &file_key(), &[2; 32], b"");
    let head = |sequence, slots: &[&[u8]]| head(&h, &file_key(), 12, sequence, slots);
    let usual = a.name("bound-head", head(1, &[&ours, &phrase]));
    let of_others = a.name("bound-head-other", head(2, &[&other]));
    let join = |first: &[u8], last: &[u8]| [first, &chunks, last].concat();
    let whole = join(&usual, &usual);
    let damaged = flip(&usual, 300);
    let of_header = flip(&usual, 12);
    let forged = with_sum(&set(&usual[..4064], 136, &[2]));
    let files = [
        ("", whole.clone()),
        ("-head-damaged", join(&damaged, &usual)),
        ("-header-damaged", join(&of_header, &usual)),
        ("-spare-damaged", join(&usual, &damaged)),
        ("-head-of-others", join(&of_others, &usual)),
        ("-spare-of-others", join(&usual, &of_others)),
        ("-of-others", join(&of_others, &of_others)),
        ("-forged-head", join(&forged, &usual)),
        ("-forged-both", join(&forged, &forged)),
        ("-cut-in-head", whole[..2000].into()),
        ("-cut", whole[..whole.len() - 5000].into()),
    ];
    for (name, file) in files {
        for (at, place) in [("", HERE), ("-other-place", THERE), ("-no-place", "")] {
            a.bound(&format!("bound-slots{name}{at}"), "key", place, &file);
        }
    }
    a.bound("bound-slots-passphrase", "passphrase", HERE, &whole);
    a.bound("bound-slots-passphrase-other-place", "passphrase", THERE, &whole);
    let f = fields(5, 2, 10, &counting(0x80), [0; 3]);
    let slot = wrap(&f, 1, &key, &file_key(), &[1; 32], b"");
    let h = header(&f, &file_key());
    let head = palladion_reference::file::slots::head(&h, &file_key(), 12, 1, &[&slot]);
    let chunk = Cipher::derive(&f, &file_key()).0.seal(0, true, &text(0, 5));
    a.bound("bound-slots-not", "key", HERE, &[&head[..], &chunk, &head].concat());
    a.bound("bound-slots-not-spare", "key", HERE, &[&flip(&head, 300)[..], &chunk, &head].concat());
}

/// The contents of the file.
pub fn contents() -> String {
    let a = &mut Answers::default();
    a.comment("Files, and what their readers say; README.md describes the format.");
    writeln!(a.out, "key {}", hex(&counting(0))).unwrap();
    writeln!(a.out, "passphrase {PASSPHRASE}").unwrap();
    let zeros = a.name("zeros", vec![0; 900]);
    let ones = a.name("ones", vec![255; 900]);
    let h = a.name("header", header(&with_key(), &counting(0)));
    let f: Vec<_> = (0..7).map(|counter| a.full(counter)).collect();
    let join = |parts: &[&[u8]]| [&[&h[..]], parts].concat().concat();

    let l00 = a.last(0, 0);
    let empty = join(&[&l00]);
    a.beginnings(&empty);
    a.headers();

    a.comment("Complete files of many lengths.");
    a.key("of-0", &[&empty]);
    let mut of = |len: usize| {
        let n = len.div_ceil(CHUNK) - 1;
        let last = a.last(n as u64, len - n * CHUNK);
        let file = join(&[&f[..n].concat(), &last]);
        a.key(&format!("of-{len}"), &[&file]);
        (file, last)
    };
    for len in [1, 2, 1023, 1025, 2047, 2049] {
        of(len);
    }
    let [(one, l0), (two, l1), (three, l2), (even, l2full), (eight, _)] =
        [1024, 2048, 2524, 3072, 7268].map(of);

    a.comment("Cut at the borders of frames, ciphertexts, tags and chunks, and between them.");
    a.cuts("empty", &empty, &[0, 1, 3, 4, 5, 35]);
    a.cuts("one", &one, &[0, 3, 4, 35, 36, 37, 1027, 1028, 1029, 1059]);
    let second = [1, 3, 4, 5, 35, 36, 37, 600, 1027, 1028, 1029, 1059].map(|at| SEALED + at);
    let third = [0, 1, 3, 4, 5, 35, 36, 37, 300, 455, 456, 457, 487].map(|at| 2 * SEALED + at);
    a.cuts("three", &three, &[0, 1, 3, 4, 5, 35, 36, 37, 600, 1027, 1028, 1029, 1059, 1060]);
    a.cuts("three", &three, &second);
    a.cuts("three", &three, &third);
    a.cuts("even", &even, &[2 * SEALED, 2 * SEALED + 36, 2 * SEALED + 1028, 3 * SEALED - 1]);
    for chunks in [1, 2, 3, 4, 5, 6, 7] {
        a.cuts("eight", &eight, &[chunks * SEALED, chunks * SEALED + 50]);
    }

    a.comment("Other frames.");
    a.frames("empty", &empty, 0, &[2]);
    a.frames("one", &one, 0, &[]);
    for chunk in 0..3 {
        a.frames("three", &three, chunk, &[451, 452, 453]);
    }

    a.comment("One bit of a ciphertext or a tag is wrong.");
    a.flips("empty", &empty, 0, &[4, 35]);
    a.flips("one", &one, 0, &[4, 500, 1027, 1028, 1059]);
    a.flips("three", &three, 0, &[4, 500, 1027, 1028, 1059]);
    a.flips("three", &three, 1, &[4, 500, 1027, 1028, 1059]);
    a.flips("three", &three, 2, &[4, 300, 455, 456, 487]);
    a.flips("eight", &eight, 4, &[4]);

    a.comment("Chunks in other places, missing, twice, or from another file.");
    a.key("swapped-0-1", &[&join(&[&f[1], &f[0], &l2])]);
    a.key("swapped-1-2", &[&join(&[&f[0], &l2full, &f[1]])]);
    a.key(
        "swapped-3-5",
        &[
            &join(&[&f[0], &f[1], &f[2], &f[5], &f[4], &f[3], &f[6]]),
            &eight[HEADER_LEN + 7 * SEALED..],
        ],
    );
    a.key("twice-0", &[&join(&[&f[0], &f[0], &l2])]);
    a.key("twice-1", &[&join(&[&f[0], &f[1], &f[1], &l2])]);
    a.key("without-0", &[&join(&[&f[1], &l2])]);
    a.key("without-1", &[&join(&[&f[0], &l2])]);
    a.key("only-2", &[&join(&[&l2])]);
    a.key("only-2-full", &[&join(&[&l2full])]);
    let other_fields = set_field(with_key(), 16, &[0]);
    let other_header = header(&other_fields, &counting(0));
    let other = Cipher::derive(&other_fields, &counting(0)).0;
    let other1 = a.name("other1", other.seal(1, false, &text(CHUNK, CHUNK)));
    let other2 = a.name("other2", other.seal(2, true, &text(2 * CHUNK, 476)));
    a.key("other-1", &[&join(&[&f[0], &other1, &l2])]);
    a.key("other-2", &[&join(&[&f[0], &f[1], &other2])]);
    a.key("other-header", &[&other_header, &f[0], &f[1], &l2]);

    a.comment("Chunks that someone with the key sealed as no file has them.");
    let strange: [(&str, &[&[u8]]); 9] = [
        ("last-last", &[&l0, &l1]),
        ("last-full", &[&l0, &f[1]]),
        ("last-full-last", &[&l0, &f[1], &l2]),
        ("full-last-last", &[&f[0], &l1, &l2]),
        ("full-last-full-full", &[&f[0], &l1, &f[2], &f[3]]),
        ("full-full-last-full", &[&f[0], &f[1], &l2full, &f[3]]),
        ("full", &[&f[0]]),
        ("full-full", &[&f[0], &f[1]]),
        ("full-last-full-full-full", &[&f[0], &l1, &f[2], &f[3], &f[4]]),
    ];
    for (name, chunks) in strange {
        a.key(name, &[&join(chunks)]);
    }
    let short = a.chunk("short0", 0, false, 500);
    a.key("short-full", &[&join(&[&short, &f[1]])]);
    a.key("short", &[&join(&[&short])]);
    let short = a.chunk("short1", 1, false, 500);
    a.key("full-short-last", &[&join(&[&f[0], &short, &l2])]);
    a.key("full-short", &[&join(&[&f[0], &short])]);
    let nothing = a.chunk("nothing0", 0, false, 0);
    a.key("nothing", &[&join(&[&nothing])]);
    a.key("nothing-last", &[&join(&[&nothing, &l1])]);
    let nothing = a.chunk("nothing1", 1, true, 0);
    a.key("full-nothing", &[&join(&[&f[0], &nothing])]);
    let nothing = a.chunk("nothing2", 2, true, 0);
    a.key("full-full-nothing", &[&join(&[&f[0], &f[1], &nothing])]);
    let early = a.chunk("early0", 0, true, 5);
    a.key("early-last", &[&join(&[&early, &l1])]);
    a.key("early-full-last", &[&join(&[&early, &f[1], &l2])]);
    let early = a.chunk("early1", 1, true, 5);
    a.key("full-early-last", &[&join(&[&f[0], &early, &l2])]);
    a.key("full-early-zeros", &[&join(&[&f[0], &early, &zeros, &zeros])]);
    let long = a.chunk("long0", 0, false, 1025);
    a.key("long-last", &[&join(&[&long, &l1])]);
    let long = a.chunk("long-last0", 0, true, 1025);
    a.key("long", &[&join(&[&long])]);
    let long = a.chunk("long1", 1, false, 2048);
    a.key("full-long-last", &[&join(&[&f[0], &long, &l2])]);
    for counter in [1, 3, 1 << 32, 1 << 63] {
        let cipher = Cipher::derive(&with_key(), &counting(0)).0;
        let last = cipher.seal(counter, true, &text(2048, 9));
        a.key(&format!("full-full-counter-{counter}"), &[&join(&[&f[0], &f[1], &last])]);
    }

    a.comment("Something follows.");
    for (name, file) in [("empty", &empty), ("one", &one), ("two", &two), ("three", &three)] {
        for len in [1, 3, 4, 5, 35, 36, 37, 571, 572, 573, 612] {
            a.key(&format!("{name}-and-{len}-zeros"), &[file, &zeros[..len]]);
        }
        let thousand = [&ones[..], &ones[..160]].concat();
        let data: [(&str, &[&[u8]]); 10] = [
            ("36-ones", &[&ones[..36]]),
            ("1060-zeros", &[&zeros, &zeros[..160]]),
            ("1060-ones", &[&thousand]),
            ("3180-ones", &[&thousand, &thousand, &thousand]),
            ("full0", &[&f[0]]),
            ("full0-full0", &[&f[0], &f[0]]),
            ("full3", &[&f[3]]),
            ("nothing2", &[&nothing]),
            ("itself", &[file]),
            ("three", &[&three]),
        ];
        for (what, data) in data {
            if (name, what) != ("three", "three") {
                a.key(&format!("{name}-and-{what}"), &[file, &data.concat()]);
            }
        }
    }
    a.key("eight-and-2120-ones", &[&eight, &ones, &ones, &ones[..320]]);
    a.key("two-and-last1", &[&two, &l1]);

    a.comment("Bytes were overwritten, inserted or removed.");
    let hole = |from: usize, len: usize| set(&three, from, &vec![0; len]);
    a.key("hole-0", &[&hole(HEADER_LEN, SEALED)]);
    a.key("hole-1", &[&hole(HEADER_LEN + SEALED, SEALED)]);
    a.key("hole-1-2", &[&hole(HEADER_LEN + SEALED, three.len() - HEADER_LEN - SEALED)]);
    a.key("hole-at-the-end", &[&hole(three.len() - 100, 100)]);
    a.key("hole-2-to-3", &[&eight[..HEADER_LEN + 2 * SEALED], &zeros, &zeros, &zeros[..320]]);
    for at in [HEADER_LEN, HEADER_LEN + 4, HEADER_LEN + SEALED, HEADER_LEN + 2 * SEALED + 200] {
        a.key(&format!("insert-at-{at}"), &[&three[..at], &[7], &three[at..]]);
        a.key(&format!("remove-at-{at}"), &[&three[..at], &three[at + 1..]]);
    }

    a.comment("Two things are wrong.");
    let end = eight.len();
    let cut = |file: Vec<u8>, by: usize| file[..file.len() - by].to_vec();
    let at = |chunk: usize| HEADER_LEN + chunk * SEALED;
    let not_last = |chunk: usize| set(&eight, at(chunk), &[0, 0, 0, 0]);
    a.key("wrong-key-and-no-chunk", &[&header(&with_key(), &counting(1))]);
    a.key("wrong-key-and-cut", &[&header(&with_key(), &counting(1)), &f[0]]);
    a.key("wrong-key-and-damaged-header", &[&flip(&header(&with_key(), &counting(1)), 20)]);
    a.key("flips-0-2", &[&flip(&flip(&three, at(0) + 9), at(2) + 9)]);
    a.key("flip-0-and-cut", &[&cut(flip(&three, at(0) + 9), 1)]);
    a.key("flip-1-and-cut-at-chunk", &[&cut(flip(&three, at(1) + 9), 512)]);
    a.key("flip-1-and-one-more", &[&flip(&three, at(1) + 9), &[7]]);
    a.key("flip-2-and-one-more", &[&flip(&three, at(2) + 9), &[7]]);
    a.key("frame-0-and-one-more", &[&set(&three, at(0), &[0, 0]), &[7]]);
    a.key("frame-1-and-cut", &[&cut(set(&three, at(1), &[0, 0]), 1)]);
    a.key("frame-1-and-one-more", &[&set(&three, at(1), &[0, 0]), &[7]]);
    a.key("frame-1-last-and-cut", &[&cut(set(&three, at(1), &[0, 4, 0, 128]), 1)]);
    for chunk in [1, 3, 4, 6] {
        a.key(&format!("frame-{chunk}-of-8-and-cut"), &[&cut(not_last(chunk), 1)]);
        a.key(
            &format!("frame-{chunk}-of-8-and-1060-ones"),
            &[&not_last(chunk), &ones, &ones[..160]],
        );
    }
    a.key("swapped-and-cut", &[&cut(join(&[&f[1], &f[0], &l2]), 1)]);
    a.key("twice-and-cut-at-chunk", &[&join(&[&f[0], &f[1], &f[1]])]);
    a.key("flip-6-and-7", &[&flip(&flip(&eight, at(6) + 9), end - 1)]);

    slots(a);
    bound_files(a, &one);

    for error in [
        "not-palladion",
        "truncated",
        "damaged-header",
        "unsupported-version",
        "unsupported-header",
        "needs-key",
        "needs-passphrase",
        "too-costly",
        "wrong-key",
        "damaged",
        "trailing-data",
        "bound",
        "not-bound",
        "wrong-place",
    ] {
        assert!(a.errors.contains(error), "no file is {error}");
    }
    std::mem::take(&mut a.out)
}

/// Its name.
pub const NAME: &str = "file-answers.txt";

#[allow(dead_code)] // when this file is a module of the tests
fn main() -> std::io::Result<()> {
    let contents = contents();
    let vectors = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("vectors");
    std::fs::write(vectors.join(NAME), &contents)?;
    println!("{NAME}: {} bytes", contents.len());
    Ok(())
}
