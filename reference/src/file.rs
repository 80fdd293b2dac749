//! Encrypted files, from docs/file-format.md: how a file is written, and what its readers say about
//! any bytes, from the start and from the middle.
//!
//! Argon2id is not here: [`Secret::Passphrase`] holds what it gave.

pub mod slots;

use crate::Aegis;
use crate::Family::{Aegis128, Aegis256};
use crate::hash::sha256;

/// Bytes in the header.
pub const HEADER_LEN: usize = 128;
/// Bytes of a chunk besides its text: a frame of 4 bytes and a tag of 32.
pub const OVERHEAD: usize = 4 + 32;
/// The first eight bytes of a file.
pub const MAGIC: [u8; 8] = *b"\x89PLD\r\n\x1a\n";

/// Why a file is refused.
pub type Refused = &'static str;

/// What a reader is given.
#[derive(Clone, Copy, Debug)]
pub enum Secret {
    /// The master key.
    Key([u8; 32]),
    /// What Argon2id makes of the passphrase and the file's salt, at the file's costs.
    Passphrase([u8; 32]),
}

/// RFC 2104 with SHA-256.
fn hmac(key: &[u8; 32], message: &[u8]) -> [u8; 32] {
    let pad = |byte: u8| {
        let mut padded = [byte; 64];
        padded.iter_mut().zip(key).for_each(|(padded, key)| *padded ^= key);
        padded
    };
    sha256(&[&pad(0x5c)[..], &sha256(&[&pad(0x36)[..], message].concat())].concat())
}

/// RFC 5869 with SHA-256 and a salt of 32 bytes.
pub fn hkdf(salt: &[u8; 32], ikm: &[u8], info: &[u8], len: usize) -> Vec<u8> {
    let prk = hmac(salt, ikm);
    let (mut okm, mut block) = (Vec::new(), Vec::new());
    for number in 1.. {
        if okm.len() >= len {
            break;
        }
        block = hmac(&prk, &[&block[..], info, &[number]].concat()).to_vec();
        okm.extend(&block);
    }
    okm.truncate(len);
    okm
}

/// A header's first 64 bytes. `costs` are the memory in KiB, passes and lanes, or zeros.
pub fn fields(
    algorithm: u8,
    source: u8,
    chunk_log2: u8,
    salt: &[u8; 32],
    costs: [u32; 3],
) -> [u8; 64] {
    let costs: Vec<u8> = costs.iter().flat_map(|cost| cost.to_le_bytes()).collect();
    let kind = [1, algorithm, source, chunk_log2, 0, 0, 0, 0];
    [&MAGIC[..], &kind, salt, &costs, &[0; 4]].concat().try_into().expect("64 bytes")
}

/// The first 64 bytes of a header, bound to a place.
pub fn bound(fields: &[u8; 64], ikm: &[u8; 32], place: &[u8]) -> [u8; 64] {
    let fields = [&fields[..12], b"P", &fields[13..60]].concat();
    let check = Cipher::at(&fields, ikm, place).1;
    [fields, check].concat().try_into().expect("64 bytes")
}

fn aegis(fields: &[u8]) -> Aegis {
    match fields[9] {
        algorithm @ 1..=3 => Aegis::new(Aegis128, 1 << (algorithm - 1)),
        algorithm @ 4..=6 => Aegis::new(Aegis256, 1 << (algorithm - 4)),
        _ => Aegis::new(Aegis256, 2),
    }
}

/// The cipher of one file's chunks.
#[derive(Clone, Debug)]
pub struct Cipher {
    aegis: Aegis,
    key: Vec<u8>,
}

impl Cipher {
    /// The cipher of a file with these first 64 bytes and bound to no place, and the commitment of
    /// every file with them. An algorithm that does not exist counts as AEGIS-256X2.
    pub fn derive(fields: &[u8; 64], ikm: &[u8; 32]) -> (Self, [u8; 32]) {
        let aegis = aegis(fields);
        let salt = fields[16..48].try_into().expect("32 bytes");
        let info = [&b"palladion file v1"[..], fields].concat();
        let mut key = hkdf(salt, ikm, &info, aegis.key_len() + 32);
        let commitment = key.split_off(aegis.key_len()).try_into().expect("32 bytes");
        (Self { aegis, key }, commitment)
    }

    /// Section "Place": the cipher of a file that is bound to this place and has at least these
    /// first 60 bytes, and the place check.
    pub fn at(fields: &[u8], ikm: &[u8; 32], place: &[u8]) -> (Self, Vec<u8>) {
        let aegis = aegis(fields);
        let salt = fields[16..48].try_into().expect("32 bytes");
        let info = [&b"palladion place v1"[..], &fields[..60], place].concat();
        let mut key = hkdf(salt, ikm, &info, aegis.key_len() + 4);
        let check = key.split_off(aegis.key_len());
        (Self { aegis, key }, check)
    }

    /// The cipher of a file whose commitment is right.
    fn of(fields: &[u8; 64], ikm: &[u8; 32], place: Option<&[u8]>) -> Result<Self, Refused> {
        let Some(place) = place else { return Ok(Self::derive(fields, ikm).0) };
        let (cipher, check) = Self::at(fields, ikm, place);
        refuse(check != fields[60..], "wrong-place")?;
        Ok(cipher)
    }

    fn nonce(&self, counter: u64, last: bool) -> Vec<u8> {
        let mut nonce = [&counter.to_le_bytes()[..], &[last.into()]].concat();
        nonce.resize(self.aegis.key_len(), 0);
        nonce
    }

    /// A chunk: frame, ciphertext and tag, even if no file may have such a chunk.
    pub fn seal(&self, counter: u64, last: bool, text: &[u8]) -> Vec<u8> {
        let frame = (text.len() as u32 | u32::from(last) << 31).to_le_bytes();
        let nonce = self.nonce(counter, last);
        let (ciphertext, tag) = self.aegis.encrypt(&self.key, &nonce, &frame, text, 32);
        [&frame[..], &ciphertext, &tag].concat()
    }
}

/// A header with the right commitment and checksum, even if its fields have invalid values.
pub fn header(fields: &[u8; 64], ikm: &[u8; 32]) -> Vec<u8> {
    with_checksum(&[&fields[..], &Cipher::derive(fields, ikm).1].concat())
}

/// The first 96 bytes of a header and their checksum.
pub fn with_checksum(start: &[u8]) -> Vec<u8> {
    [&start[..96], &sha256(&start[..96])].concat()
}

/// Writes a file.
pub fn write(fields: &[u8; 64], ikm: &[u8; 32], text: &[u8]) -> Vec<u8> {
    let cipher = Cipher::derive(fields, ikm).0;
    let size = 1 << fields[11];
    let count = text.len().div_ceil(size).max(1);
    let mut file = header(fields, ikm);
    for n in 0..count {
        let piece = &text[n * size..text.len().min((n + 1) * size)];
        file.extend(cipher.seal(n as u64, n + 1 == count, piece));
    }
    file
}

fn refuse(when: bool, why: Refused) -> Result<(), Refused> {
    if when { Err(why) } else { Ok(()) }
}

/// A file that a reader has opened.
#[derive(Clone, Debug)]
pub struct Reader {
    cipher: Cipher,
    size: usize,
    /// Where chunk 0 begins.
    start: usize,
}

/// A chunk that was opened.
struct Chunk {
    text: Vec<u8>,
    last: bool,
}

impl Reader {
    /// Section "Reading", steps 1 to 7. The place has at least one byte.
    pub fn new(file: &[u8], secret: Secret, place: Option<&[u8]>) -> Result<Self, Refused> {
        let header = Self::header(file)?;
        refuse(header[10] == 2, "unsupported-header")?;
        Self::check_place(header, place)?;
        let word = |at: usize| {
            u64::from(u32::from_le_bytes(header[at..at + 4].try_into().expect("4 bytes")))
        };
        let (memory, passes, lanes) = (word(48), word(52), word(56));
        let ikm = match (secret, header[10]) {
            (Secret::Key(ikm), 0) | (Secret::Passphrase(ikm), 1) => ikm,
            (Secret::Key(_), _) => return Err("needs-passphrase"),
            (Secret::Passphrase(_), _) => return Err("needs-key"),
        };
        let limits = [(memory, 1 << 20), (passes, 16), (lanes, 16), (memory * passes, 4 << 20)];
        refuse(limits.iter().any(|(cost, limit)| cost > limit), "too-costly")?;
        let fields = header[..64].try_into().expect("64 bytes");
        refuse(header[64..96] != Cipher::derive(fields, &ikm).1, "wrong-key")?;
        let cipher = Cipher::of(fields, &ikm, place)?;
        Ok(Self { cipher, size: 1 << header[11], start: HEADER_LEN })
    }

    /// The end of step 4.
    fn check_place(header: &[u8], place: Option<&[u8]>) -> Result<(), Refused> {
        match (header[12], place) {
            (b'P', None) => Err("bound"),
            (0, Some(_)) => Err("not-bound"),
            _ => Ok(()),
        }
    }

    /// Steps 1 to 4 without its end: the header.
    fn header(file: &[u8]) -> Result<&[u8], Refused> {
        let magic = file.len().min(4);
        refuse(file[..magic] != MAGIC[..magic], "not-palladion")?;
        refuse(file.len() < HEADER_LEN, "truncated")?;
        let header = &file[..HEADER_LEN];
        refuse(header[..8] != MAGIC || header != with_checksum(header), "damaged-header")?;
        refuse(header[8] != 1, "unsupported-version")?;
        let zero = |from: usize, to: usize| header[from..to].iter().all(|&byte| byte == 0);
        let word = |at: usize| {
            u64::from(u32::from_le_bytes(header[at..at + 4].try_into().expect("4 bytes")))
        };
        let (memory, passes, lanes) = (word(48), word(52), word(56));
        let costs = match header[10] {
            1 => passes >= 1 && (1..1 << 24).contains(&lanes) && memory >= 8 * lanes,
            _ => zero(48, 60),
        };
        let supported = (1..=6).contains(&header[9])
            && header[10] <= 2
            && (10..=24).contains(&header[11])
            && (header[12] == b'P' || zero(12, 13) && zero(60, 64))
            && zero(13, 16)
            && costs;
        refuse(!supported, "unsupported-header")?;
        Ok(header)
    }

    /// Step 8: the chunk with this counter at the beginning of `rest`, which is the file from there
    /// on.
    fn chunk(&self, counter: u64, rest: &[u8]) -> Result<Chunk, Refused> {
        let frame = rest.get(..4).ok_or("truncated")?;
        let word = u32::from_le_bytes(frame.try_into().expect("4 bytes"));
        let (last, len) = (word >> 31 == 1, (word & !(1 << 31)) as usize);
        let valid = match last {
            true => len <= self.size && (len > 0 || counter == 0),
            false => len == self.size,
        };
        if !valid {
            return Err("damaged");
        }
        let (ciphertext, tag) = rest.get(4..len + OVERHEAD).ok_or("truncated")?.split_at(len);
        let Cipher { aegis, key } = &self.cipher;
        let nonce = self.cipher.nonce(counter, last);
        let text = aegis.decrypt(key, &nonce, frame, ciphertext, tag).ok_or("damaged")?;
        Ok(Chunk { text, last })
    }

    /// Steps 8 and 9: the plaintext that is released, and how it ends.
    pub fn from_start(&self, file: &[u8]) -> (Vec<u8>, Result<(), Refused>) {
        let (text, end) = self.chunks(file);
        let is_end = |at| refuse(at != file.len(), "trailing-data");
        (text, end.and_then(is_end))
    }

    /// Step 8 for all chunks: the plaintext, and where the last one ends.
    fn chunks(&self, file: &[u8]) -> (Vec<u8>, Result<usize, Refused>) {
        let (mut text, mut at) = (Vec::new(), self.start);
        for counter in 0.. {
            match self.chunk(counter, &file[at..]) {
                Err(error) => return (text, Err(error)),
                Ok(chunk) => {
                    at += chunk.text.len() + OVERHEAD;
                    text.extend(chunk.text);
                    if chunk.last {
                        return (text, Ok(at));
                    }
                }
            }
        }
        unreachable!("every file has an end")
    }

    /// Returns where a chunk begins.
    fn place(&self, chunk: usize) -> usize {
        self.start + chunk * (self.size + OVERHEAD)
    }

    /// The frame at the place of this chunk says that the chunk is full and not the last.
    fn goes_on(&self, file: &[u8], chunk: usize) -> bool {
        file[self.place(chunk)..][..4] == (self.size as u32).to_le_bytes()
    }

    /// Section "Reading from the middle", "Opening": the number of chunks, and the length of the
    /// plaintext.
    pub fn from_middle(&self, file: &[u8]) -> Result<(usize, usize), Refused> {
        let body = file.len() - self.start;
        let (full, rest) = (body / (self.size + OVERHEAD), body % (self.size + OVERHEAD));
        let end = if rest == 0 && full > 0 { full - 1 } else { full };
        if end > 0 && !self.goes_on(file, 0) {
            return Err(self.fault(file, 0));
        }
        let opened = self.chunk(end as u64, &file[self.place(end)..]);
        if let Ok(Chunk { text, last: true }) = opened
            && self.place(end) + text.len() + OVERHEAD == file.len()
        {
            return Ok((end + 1, end * self.size + text.len()));
        }
        let (mut low, mut high) = (1.min(end), end);
        while low < high {
            let middle = (low + high) / 2;
            match self.goes_on(file, middle) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Err(self.fault(file, low))
    }

    /// What is wrong with this chunk, which is not what it should be.
    fn fault(&self, file: &[u8], chunk: usize) -> Refused {
        match self.chunk(chunk as u64, &file[self.place(chunk)..]) {
            Err(error) => error,
            Ok(Chunk { last: true, .. }) => "trailing-data",
            Ok(Chunk { last: false, .. }) => "truncated",
        }
    }

    /// "Reading": one chunk of `count`.
    pub fn read(&self, file: &[u8], chunk: usize, count: usize) -> Result<Vec<u8>, Refused> {
        match self.chunk(chunk as u64, &file[self.place(chunk)..])? {
            opened if opened.last == (chunk + 1 == count) => Ok(opened.text),
            _ => Err("trailing-data"),
        }
    }
}
