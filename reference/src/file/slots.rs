//! Files with key slots, from the section "Key slots" of docs/file-format.md. Slots for age are
//! bytes here, and are never opened.

use super::{Cipher, HEADER_LEN, MAGIC, Reader, Refused, Secret, hkdf, hmac, refuse};
use crate::hash::sha256;

/// The smallest head and the largest.
pub const LOG2: std::ops::RangeInclusive<u8> = 12..=20;
const SLOTS: usize = 144;

/// A slot of this kind with any body.
pub fn slot(kind: u8, body: &[u8]) -> Vec<u8> {
    let len = u16::try_from(body.len()).expect("a body has at most 65535 bytes").to_le_bytes();
    [&[kind, 0], &len, body].concat()
}

fn okm(fields: &[u8; 64], kind: u8, ikm: &[u8; 32], salt: &[u8; 32], extra: &[u8]) -> Vec<u8> {
    let info = [&b"palladion slot v1"[..], fields, &[kind], extra].concat();
    hkdf(salt, ikm, &info, 64)
}

/// A slot for a master key (kind 1, nothing extra) or what Argon2id gave (kind 2, the costs).
pub fn wrap(
    fields: &[u8; 64],
    kind: u8,
    ikm: &[u8; 32],
    file_key: &[u8; 32],
    salt: &[u8; 32],
    extra: &[u8],
) -> Vec<u8> {
    let okm = okm(fields, kind, ikm, salt, extra);
    let wrapped: Vec<u8> = okm.iter().zip(file_key).map(|(pad, byte)| pad ^ byte).collect();
    slot(kind, &[salt, &wrapped[..], &okm[32..], extra].concat())
}

/// The costs of a passphrase as they are in a slot.
pub fn costs(costs: [u32; 3]) -> Vec<u8> {
    costs.iter().flat_map(|cost| cost.to_le_bytes()).collect()
}

/// A head of this length with the right MAC and checksum, even if its fields have invalid values.
pub fn head(
    header: &[u8],
    file_key: &[u8; 32],
    log2: u8,
    sequence: u64,
    slots: &[&[u8]],
) -> Vec<u8> {
    let all = slots.concat();
    let numbers =
        [&[log2, slots.len() as u8, 0, 0], &(all.len() as u32).to_le_bytes()[..]].concat();
    let mut head = [header, &numbers, &sequence.to_le_bytes(), &all].concat();
    head.resize((1 << log2) - 64, 0);
    sealed(&head, file_key)
}

/// The bytes of a head before the MAC, with the MAC and the checksum.
pub fn sealed(start: &[u8], file_key: &[u8; 32]) -> Vec<u8> {
    with_checksum(&[start, &mac(start, file_key)].concat())
}

/// The bytes of a head before the checksum, with the checksum.
pub fn with_checksum(start: &[u8]) -> Vec<u8> {
    [start, &sha256(start)].concat()
}

fn mac(head: &[u8], file_key: &[u8; 32]) -> [u8; 32] {
    let info = [&b"palladion slots v1"[..], &head[..64]].concat();
    let key = hkdf(head[16..48].try_into().expect("32 bytes"), file_key, &info, 32);
    hmac(&key.try_into().expect("32 bytes"), head)
}

/// "Reading a file with slots", step 5: the head at the beginning of these bytes.
fn parse(file: &[u8]) -> Result<&[u8], Refused> {
    refuse(Reader::header(file)?[10] != 2, "no-slots")?;
    refuse(file.len() < SLOTS, "truncated")?;
    refuse(!LOG2.contains(&file[HEADER_LEN]), "damaged-header")?;
    let head = file.get(..1 << file[HEADER_LEN]).ok_or("truncated")?;
    refuse(!has_checksum(head), "damaged-header")?;
    let len = u32::from_le_bytes(head[132..136].try_into().expect("4 bytes")) as usize;
    let rest = &head[SLOTS..head.len() - 64];
    let is_well_formed = head[130..132] == [0, 0]
        && len <= rest.len()
        && rest[len..].iter().all(|byte| *byte == 0)
        && head[129] > 0
        && split(&rest[..len]).is_some_and(|slots| slots.len() == head[129].into());
    refuse(!is_well_formed, "unsupported-header")?;
    Ok(head)
}

fn has_checksum(head: &[u8]) -> bool {
    with_checksum(&head[..head.len() - 32]) == head
}

fn split(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut slots = Vec::new();
    while !bytes.is_empty() {
        let len = 4 + usize::from(u16::from_le_bytes(bytes.get(2..4)?.try_into().ok()?));
        slots.push(bytes.get(..len)?);
        bytes = &bytes[len..];
    }
    Some(slots)
}

/// A secret. What it holds of a passphrase is for `cheap` costs only: slots with other costs are of
/// other passphrases.
#[derive(Clone, Debug)]
pub struct Opener {
    secret: Secret,
    cheap: Vec<u8>,
    /// The costs for which Argon2id has run.
    seen: Vec<Vec<u8>>,
    place: Option<Vec<u8>>,
}

impl Opener {
    /// A secret that has opened no file yet, and the place of the file.
    pub fn new(secret: Secret, cheap: [u32; 3], place: Option<&[u8]>) -> Self {
        let place = place.map(<[u8]>::to_vec);
        Self { secret, cheap: costs(cheap), seen: Vec::new(), place }
    }

    /// A head, if the end of step 4 lets it be opened.
    fn parse<'a>(&self, file: &'a [u8]) -> Result<&'a [u8], Refused> {
        let header = Reader::header(file)?;
        refuse(header[10] != 2, "no-slots")?;
        Reader::check_place(header, self.place.as_deref())?;
        parse(file)
    }

    /// Whether Argon2id may run, or has run, for these costs. None: they are not valid.
    fn can_afford(&mut self, costs: &[u8]) -> Option<bool> {
        let words = |costs: &[u8]| {
            let word = |at: usize| costs[at..at + 4].try_into().expect("4 bytes");
            [0, 4, 8].map(|at| u64::from(u32::from_le_bytes(word(at))))
        };
        let [memory, passes, lanes] = words(costs);
        if passes < 1 || !(1..1 << 24).contains(&lanes) || memory < 8 * lanes {
            return None;
        }
        if self.seen.iter().any(|seen| seen == costs) {
            return Some(true);
        }
        let work = |costs: &[u8]| words(costs)[0] * words(costs)[1];
        let sum = work(costs) + self.seen.iter().map(|costs| work(costs)).sum::<u64>();
        let can = memory <= 1 << 20 && passes <= 16 && lanes <= 16 && sum <= 4 << 20;
        if can {
            self.seen.push(costs.to_vec());
        }
        Some(can)
    }

    /// "Opening slots": the reader.
    fn open(&mut self, head: &[u8]) -> Result<Reader, Refused> {
        let cipher = self.find(head)?.0;
        Ok(Reader { cipher, size: 1 << head[11], start: head.len() })
    }

    /// The cipher, and F.
    fn find(&mut self, head: &[u8]) -> Result<(Cipher, [u8; 32]), Refused> {
        let fields: &[u8; 64] = head[..64].try_into().expect("64 bytes");
        let len = u32::from_le_bytes(head[132..136].try_into().expect("4 bytes")) as usize;
        let (kind, body_len, ikm, most) = match self.secret {
            Secret::Key(ikm) => (1, 96, ikm, 255),
            Secret::Passphrase(ikm) => (2, 108, ikm, 8),
        };
        let mut error = "wrong-key";
        let slots = split(&head[SLOTS..SLOTS + len]).expect("parsed");
        for slot in slots.iter().filter(|slot| slot[0] == kind).take(most) {
            let body = &slot[4..];
            if slot[1] != 0 || body.len() != body_len {
                continue;
            }
            let extra = &body[96..];
            if kind == 2 {
                match self.can_afford(extra) {
                    Some(true) if extra == self.cheap => {}
                    Some(false) => {
                        error = "too-costly";
                        continue;
                    }
                    _ => continue,
                }
            }
            let salt = body[..32].try_into().expect("32 bytes");
            let okm = okm(fields, kind, &ikm, salt, extra);
            let file_key: [u8; 32] = std::array::from_fn(|i| okm[i] ^ body[32 + i]);
            let commitment = Cipher::derive(fields, &file_key).1;
            if okm[32..] == body[64..96] && commitment == head[64..96] {
                let cipher = Cipher::of(fields, &file_key, self.place.as_deref())?;
                let (signed, found) = head[..head.len() - 32].split_at(head.len() - 64);
                refuse(mac(signed, &file_key) != found, "damaged-header")?;
                return Ok((cipher, file_key));
            }
        }
        Err(error)
    }
}

/// The spare at the end of a file, if its checksum is right.
fn spare(file: &[u8]) -> Option<&[u8]> {
    LOG2.filter_map(|log2| {
        let copy = &file[file.len().checked_sub(1 << log2)?..];
        (copy[..8] == MAGIC && copy[HEADER_LEN] == log2 && has_checksum(copy)).then_some(copy)
    })
    .next()
}

/// What a reader from the start says: the plaintext, and an error or what the spare is.
pub fn from_start(file: &[u8], mut opener: Opener) -> (Vec<u8>, Result<&'static str, Refused>) {
    let opened = opener.parse(file).and_then(|head| opener.find(head).map(|found| (head, found)));
    let (head, (cipher, file_key)) = match opened {
        Ok(opened) => opened,
        Err(error) => return (Vec::new(), Err(error)),
    };
    let (text, end) = Reader { cipher, size: 1 << head[11], start: head.len() }.chunks(file);
    let end = end.and_then(|end| {
        let spare = &file[end..];
        refuse(spare.len() > head.len(), "trailing-data")?;
        if spare == head {
            return Ok("ok");
        }
        if spare.len() < head.len() || !has_checksum(spare) {
            return Ok("spare-damaged");
        }
        refuse(spare[..=HEADER_LEN] != head[..=HEADER_LEN], "damaged-header")?;
        let (signed, found) = spare[..head.len() - 32].split_at(head.len() - 64);
        let is_genuine = parse(spare).is_ok() && mac(signed, &file_key) == found;
        Ok(if is_genuine { "spare-differs" } else { "spare-damaged" })
    });
    (text, end)
}

/// Opens a file that can be read at any offset: the reader, and the file without its spare.
pub fn at_any_offset(file: &[u8], mut opener: Opener) -> Result<(Reader, &[u8]), Refused> {
    let head = opener.parse(file);
    let opened = head.and_then(|head| opener.open(head)).or_else(|error| {
        refuse(matches!(error, "bound" | "not-bound"), error)?;
        let is_other = |error: Refused| error.starts_with("unsupported");
        refuse(Reader::header(file).is_err_and(is_other) || error == "no-slots", error)?;
        let spare = spare(file).ok_or(error)?;
        let log2 = file[HEADER_LEN];
        if LOG2.contains(&log2)
            && let Some(head) = file.get(..1 << log2)
            && has_checksum(head)
        {
            refuse(head[..=HEADER_LEN] != spare[..=HEADER_LEN], "damaged-header")?;
            refuse(head == spare, error)?;
        }
        let of_spare = opener.parse(spare).and_then(|spare| opener.open(spare));
        of_spare.map_err(|of_spare| match of_spare {
            "wrong-place" => of_spare,
            _ if head.is_err() => of_spare,
            _ => error,
        })
    })?;
    let end = file.len().saturating_sub(opened.start).max(opened.start);
    Ok((opened, &file[..end.min(file.len())]))
}
