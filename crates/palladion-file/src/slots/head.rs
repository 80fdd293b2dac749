//! The head of a file with key slots.

use std::{error, fmt};

use hkdf::Hkdf;
use hkdf::hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::keyring::FileKey;
#[cfg(doc)]
use super::keyring::Keyring;
use crate::chunk::ChunkSize;
use crate::cipher::Cipher;
use crate::error::Error;
use crate::header::{HEADER_LEN, Header};
use crate::kdf::KdfParams;
use crate::layout::Layout;
use crate::master_key::MasterKey;
use crate::passphrase::Passphrase;
use palladion::{Algorithm, Tag};

// The layout: see docs/file-format.md.
const LOG2: usize = HEADER_LEN;
const COUNT: usize = LOG2 + 1;
const START: usize = 144;
const MAC_LEN: usize = 32;
const SUM_LEN: usize = 32;
const TAIL: usize = MAC_LEN + SUM_LEN;
pub(crate) const LOG2S: std::ops::RangeInclusive<u8> = 12..=20;
const SLOT_HEADER: usize = 4;
const WRAPPED_LEN: usize = 96;

/// The most slots for passphrases in a head, and the most for age.
pub const MAX_PER_KIND: usize = 8;

/// Makes slots for age's recipients, as crate `palladion-recipients` does.
pub trait Lock: Send + Sync {
    /// Returns an age file, binary and without an `scrypt` stanza, whose plaintext is the key's
    /// [32 bytes](FileKey::as_bytes). It may have at most 65535 bytes.
    ///
    /// # Errors
    ///
    /// Whatever went wrong; it becomes [`Error::Slot`].
    fn lock(&self, file_key: &FileKey) -> Result<Vec<u8>, Box<dyn error::Error + Send + Sync>>;
}

/// The kind of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SlotKind {
    /// For a master key.
    Key,
    /// For a passphrase, stretched at this cost.
    Passphrase(KdfParams),
    /// An age file, for the recipients that it names.
    Age,
    /// A kind that this library does not know, or a slot that is not valid.
    Unknown(u8),
}

/// A slot of one file: nobody can use it in another.
#[derive(Clone, PartialEq, Eq)]
pub struct Slot {
    /// Kind, zero, length of the body, body.
    bytes: Vec<u8>,
    /// The checksum of the header that it was made for.
    header: [u8; 32],
}

impl Slot {
    pub(crate) fn new(header: &Header, kind: u8, body: &[&[u8]]) -> Result<Self, Error> {
        let body = body.concat();
        let len = u16::try_from(body.len())
            .map_err(|_| Error::NoRoomForSlots { needed: body.len(), room: u16::MAX.into() })?;
        let bytes = [&[kind, 0], &len.to_le_bytes()[..], &body].concat();
        Ok(Self { bytes, header: *header.checksum() })
    }

    /// Returns the kind.
    #[must_use]
    pub fn kind(&self) -> SlotKind {
        let body = self.body();
        match (self.bytes[0], self.bytes[1]) {
            (1, 0) if body.len() == WRAPPED_LEN => SlotKind::Key,
            (2, 0) if body.len() == WRAPPED_LEN + 12 => {
                let [memory, passes, lanes] = [0, 4, 8].map(|at| word(&body[WRAPPED_LEN + at..]));
                KdfParams::new(memory, passes, lanes)
                    .map_or(SlotKind::Unknown(2), SlotKind::Passphrase)
            }
            (3, 0) => SlotKind::Age,
            (kind, _) => SlotKind::Unknown(kind),
        }
    }

    pub(crate) fn number(&self) -> u8 {
        self.bytes[0]
    }

    /// Returns the body. That of [`SlotKind::Age`] is an age file.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.bytes[SLOT_HEADER..]
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").field("kind", &self.kind()).finish_non_exhaustive()
    }
}

/// A slot to be made.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum NewSlot<'a> {
    /// For a master key.
    Key(&'a MasterKey),
    /// For a passphrase, stretched at this cost. Equal costs save time when the file is opened.
    Passphrase(&'a Passphrase, KdfParams),
    /// An age file.
    Age(&'a dyn Lock),
}

impl fmt::Debug for NewSlot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NewSlot::Key(_) => "Key(..)",
            NewSlot::Passphrase(..) => "Passphrase(..)",
            NewSlot::Age(_) => "Age(..)",
        })
    }
}

/// The slots of a new file, and the place that it is [bound](Keyring::bind) to, if any.
///
/// ```
/// use palladion_file::slots::{NewSlot, NewSlots};
/// use palladion_file::{Decryptor, Encryptor, Keyring, MasterKey};
///
/// let (mine, yours) = (MasterKey::generate()?, MasterKey::generate()?);
/// let slots = [NewSlot::Key(&mine), NewSlot::Key(&yours)];
/// let mut file = Vec::new();
/// let bound = NewSlots::from(&slots).bind("minutes/2026-11-28");
/// Encryptor::with_slots(bound).run(&b"for us"[..], &mut file)?;
///
/// let keyring = Keyring::default().key(yours).open_slots().bind("minutes/2026-11-28");
/// Decryptor::new(&keyring).run(&file[..], Vec::new())?;
/// # Ok::<(), palladion_file::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct NewSlots<'a> {
    slots: &'a [NewSlot<'a>],
    place: Option<&'a [u8]>,
}

impl<'a> NewSlots<'a> {
    /// Binds the file to a place, which has at least one byte.
    #[must_use]
    pub fn bind(self, place: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        Self { place: Some(place.as_ref()), ..self }
    }

    pub(crate) fn place(self) -> Option<&'a [u8]> {
        self.place
    }
}

/// Without a place. `&[NewSlot; N]` and `&Vec<NewSlot>` can be passed too.
impl<'a, T: AsRef<[NewSlot<'a>]> + ?Sized> From<&'a T> for NewSlots<'a> {
    fn from(slots: &'a T) -> Self {
        Self { slots: slots.as_ref(), place: None }
    }
}

/// What the slots of a file are bound to: the header, which never changes.
impl Header {
    pub(crate) fn lock(&self, new: &NewSlot<'_>, file_key: &FileKey) -> Result<Slot, Error> {
        let wrap = |kind, ikm: &MasterKey, extra: &[u8]| {
            let mut salt = [0; 32];
            getrandom::fill(&mut salt).map_err(Error::no_randomness)?;
            let pad = self.pad(kind, &salt, ikm, extra);
            let wrapped = xor(&pad, file_key.as_bytes());
            Slot::new(self, kind, &[&salt, &wrapped[..], &pad[32..], extra])
        };
        match new {
            NewSlot::Key(key) => wrap(1, key, b""),
            NewSlot::Passphrase(passphrase, _) if passphrase.is_empty() => {
                Err(Error::EmptyPassphrase)
            }
            NewSlot::Passphrase(passphrase, kdf) => {
                let costs = [kdf.memory_kib, kdf.passes, kdf.lanes].map(u32::to_le_bytes).concat();
                wrap(2, &passphrase.stretch(self.salt(), *kdf)?, &costs)
            }
            NewSlot::Age(lock) => Slot::new(self, 3, &[&lock.lock(file_key).map_err(Error::Slot)?]),
        }
    }

    /// The key in a slot for a master key, or for a passphrase that was stretched to one.
    pub(crate) fn unlock(&self, slot: &Slot, ikm: &MasterKey) -> Option<FileKey> {
        let (salt, rest) = slot.body().split_first_chunk::<32>()?;
        let (wrapped, rest) = rest.split_first_chunk::<32>()?;
        let (check, extra) = rest.split_first_chunk::<32>()?;
        let pad = self.pad(slot.number(), salt, ikm, extra);
        let expected = Tag::try_from(&pad[32..]).ok()?;
        (expected == Tag::from(*check)).then(|| FileKey(xor(&pad, wrapped)))
    }

    fn pad(&self, kind: u8, salt: &[u8; 32], ikm: &MasterKey, extra: &[u8]) -> Zeroizing<[u8; 64]> {
        let mut pad = Zeroizing::new([0; 64]);
        let info = [&b"palladion slot v1"[..], self.before_commitment(), &[kind], extra];
        Hkdf::<Sha256>::new(Some(salt), ikm.as_bytes())
            .expand_multi_info(&info, &mut *pad)
            .expect("HKDF gives up to 8160 bytes");
        pad
    }

    fn mac(&self, file_key: &FileKey, head: &[u8]) -> Hmac<Sha256> {
        let mut key = Zeroizing::new([0; 32]);
        Hkdf::<Sha256>::new(Some(self.salt()), file_key.as_bytes())
            .expand_multi_info(&[b"palladion slots v1", self.before_commitment()], &mut *key)
            .expect("HKDF gives up to 8160 bytes");
        Hmac::new_from_slice(&*key).expect("HMAC takes keys of any length").chain_update(head)
    }
}

fn xor(pad: &[u8; 64], bytes: &[u8; 32]) -> Zeroizing<[u8; 32]> {
    Zeroizing::new(std::array::from_fn(|i| pad[i] ^ bytes[i]))
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(*bytes.first_chunk().expect("four bytes"))
}

/// A head: header, slots, MAC and checksum. It is intact and well-formed, but not authentic before
/// a secret opens it.
pub struct Head {
    header: Header,
    bytes: Box<[u8]>,
    slots: Vec<Slot>,
    /// Whether the checksum and the MAC do not count.
    is_for_salvage: bool,
}

impl Head {
    /// How many bytes of a file tell how long its head is.
    pub const START_LEN: usize = START;
    /// The length of the shortest head, and of most.
    pub const MIN_LEN: usize = 1 << *LOG2S.start();
    /// The length of the longest head.
    pub const MAX_LEN: usize = 1 << *LOG2S.end();

    /// Makes the head of a new file, which is also its spare.
    ///
    /// # Errors
    ///
    /// [`Error::NoRoomForSlots`], [`Error::CannotChangeSlots`] if there is none or there are too
    /// many of a kind, [`Error::EmptyPassphrase`], [`Error::EmptyPlace`], [`Error::Slot`] and those
    /// of a missing resource.
    pub fn create<'a>(
        file_key: &FileKey,
        algorithm: Algorithm,
        chunk_size: ChunkSize,
        slots: impl Into<NewSlots<'a>>,
    ) -> Result<Self, Error> {
        let NewSlots { slots, place } = slots.into();
        let mut salt = [0; 32];
        getrandom::fill(&mut salt).map_err(Error::no_randomness)?;
        let (header, _) =
            Header::with_slots(file_key.as_bytes(), algorithm, chunk_size, place, &salt)?;
        let slots = slots.iter().map(|slot| header.lock(slot, file_key));
        let slots = slots.collect::<Result<Vec<_>, _>>()?;
        let len = Self::len_for(&slots)?;
        Self::build(header, file_key, len, 1, slots)
    }

    /// The length of a head for these slots, with room for more.
    pub(crate) fn len_for(slots: &[Slot]) -> Result<usize, Error> {
        let len: usize = slots.iter().map(|slot| slot.bytes.len()).sum();
        let fits = |need: usize| LOG2S.map(|log2| 1 << log2).find(|len| *len >= need);
        let least = START + TAIL + len;
        fits(least + len)
            .or(fits(least))
            .ok_or(Error::NoRoomForSlots { needed: least, room: Self::MAX_LEN })
    }

    /// Makes a head with these slots.
    pub(crate) fn build(
        header: Header,
        file_key: &FileKey,
        len: usize,
        sequence: u64,
        slots: Vec<Slot>,
    ) -> Result<Self, Error> {
        let of_kind = |kind| slots.iter().filter(|slot| slot.number() == kind).count();
        let why = match slots.len() {
            0 => Some("nobody could open the file: give at least one"),
            256.. => Some("a file has at most 255 slots"),
            _ if of_kind(2) > MAX_PER_KIND => Some("a file has at most 8 slots for passphrases"),
            _ if of_kind(3) > MAX_PER_KIND => Some("a file has at most 8 slots for age"),
            _ if slots.iter().any(|slot| slot.header != *header.checksum()) => {
                Some("one of them is of another file: make it with lock")
            }
            _ => None,
        };
        if let Some(why) = why {
            return Err(Error::CannotChangeSlots(why));
        }
        let all = slots.iter().map(|slot| &slot.bytes[..]).collect::<Vec<_>>().concat();
        let (needed, room) = (START + all.len() + TAIL, len);
        if needed > room {
            return Err(Error::NoRoomForSlots { needed, room });
        }
        let mut bytes = vec![0; len].into_boxed_slice();
        bytes[..HEADER_LEN].copy_from_slice(header.as_bytes());
        bytes[LOG2] = len.ilog2() as u8;
        bytes[COUNT] = slots.len() as u8;
        bytes[132..136].copy_from_slice(&(all.len() as u32).to_le_bytes());
        bytes[136..START].copy_from_slice(&sequence.to_le_bytes());
        bytes[START..START + all.len()].copy_from_slice(&all);
        let (text, tail) = bytes.split_at_mut(len - TAIL);
        tail[..MAC_LEN].copy_from_slice(&header.mac(file_key, text).finalize().into_bytes());
        let sum = Sha256::digest(&bytes[..len - SUM_LEN]);
        bytes[len - SUM_LEN..].copy_from_slice(&sum);
        Ok(Self { header, bytes, slots, is_for_salvage: false })
    }

    /// Returns the length of the head of a file that begins with these bytes, of which
    /// [`START_LEN`](Self::START_LEN) are enough.
    ///
    /// # Errors
    ///
    /// Those of [`Info::from_start`](crate::Info::from_start), and [`Error::UnsupportedHeader`] if
    /// the file has no slots.
    pub fn len_from_start(start: &[u8]) -> Result<usize, Error> {
        if !Header::from_start(start)?.has_slots() {
            let value = start[10].into();
            return Err(Error::UnsupportedHeader { field: "key source", value });
        }
        let truncated = Error::Truncated { chunk: None, offset: start.len() as u64 };
        let log2 = start.get(..START).ok_or(truncated)?[LOG2];
        if !LOG2S.contains(&log2) {
            return Err(Error::HeaderDamaged);
        }
        Ok(1 << log2)
    }

    /// Parses the head at the beginning of these bytes.
    ///
    /// # Errors
    ///
    /// Those of [`len_from_start`](Self::len_from_start), [`Error::Truncated`],
    /// [`Error::HeaderDamaged`], and [`Error::UnsupportedHeader`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let len = Self::len_from_start(bytes)?;
        let truncated = Error::Truncated { chunk: None, offset: bytes.len() as u64 };
        let bytes = bytes.get(..len).ok_or(truncated)?;
        if !has_checksum(bytes) {
            return Err(Error::HeaderDamaged);
        }
        let unsupported = |field, value: u64| Err(Error::UnsupportedHeader { field, value });
        if bytes[130..132] != [0; 2] {
            return unsupported("reserved byte", bytes[130].max(bytes[131]).into());
        }
        let slots_len = word(&bytes[132..]);
        let room = &bytes[START..len - TAIL];
        let Some((mut rest, after)) = room.split_at_checked(slots_len as usize) else {
            return unsupported("length of the slots", slots_len.into());
        };
        if let Some(byte) = after.iter().find(|byte| **byte != 0) {
            return unsupported("byte after the slots", (*byte).into());
        }
        let header = Header::from_start(bytes)?;
        let slots = slots_in(&mut rest, &header);
        if !rest.is_empty() || slots.is_empty() || slots.len() != bytes[COUNT].into() {
            return unsupported("number of slots", bytes[COUNT].into());
        }
        Ok(Self { header, bytes: bytes.into(), slots, is_for_salvage: false })
    }

    /// The length of a head that may be damaged, as it is likely.
    pub(crate) fn len_of_damaged(start: &[u8]) -> usize {
        let log2 = start.get(LOG2).filter(|log2| LOG2S.contains(*log2));
        log2.map_or(Self::MIN_LEN, |log2| 1 << log2)
    }

    /// Finds slots in the bytes of a head, which may be damaged. One byte of its header may be too.
    pub(crate) fn parse_damaged(bytes: &[u8]) -> Result<Self, Error> {
        let header = Header::from_damaged(bytes)?;
        if !header.has_slots() || bytes.len() < Self::MIN_LEN {
            return Err(Error::HeaderDamaged);
        }
        let mut slots = slots_in(&mut &bytes[START..bytes.len() - TAIL], &header);
        let used = slots.iter().rposition(|slot| slot.bytes != [0; SLOT_HEADER]);
        slots.truncate(used.map_or(0, |last| last + 1));
        let mut bytes = Box::<[u8]>::from(bytes);
        bytes[..HEADER_LEN].copy_from_slice(header.as_bytes());
        Ok(Self { header, bytes, slots, is_for_salvage: true })
    }

    /// The same head as if it had this slot alone, or none if it has fewer.
    pub(crate) fn with_one_slot(&self, slot: usize) -> Self {
        let slots = self.slots.iter().skip(slot).take(1).cloned().collect();
        Self { header: self.header.clone(), bytes: self.bytes.clone(), slots, ..*self }
    }

    /// Returns the head as it is in the file.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the slots.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Returns how often the slots were changed, and 1 more.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        u64::from_le_bytes(*self.bytes[136..].first_chunk().expect("eight bytes"))
    }

    /// Returns whether the file is [bound to a place](Keyring::bind).
    #[must_use]
    pub fn is_bound(&self) -> bool {
        self.header.is_bound()
    }

    /// Returns the algorithm.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.header.algorithm
    }

    /// Returns the most plaintext in a chunk.
    #[must_use]
    pub fn chunk_size(&self) -> ChunkSize {
        self.header.chunk_size
    }

    /// Returns the layout of a file of `file_len` bytes with this head. `None` if no such file has
    /// this length.
    #[must_use]
    pub fn layout(&self, file_len: u64) -> Option<Layout> {
        let len = self.bytes.len() as u64;
        Layout::of_chunks(self.chunk_size(), len, file_len.checked_sub(len)?)
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// Checks that the head was made with this key, and for this place: the commitment, the place
    /// check, and then the MAC. `None`: it is the key of another file.
    pub(crate) fn verify(
        &self,
        file_key: &FileKey,
        place: Option<&[u8]>,
    ) -> Option<Result<Cipher, Error>> {
        let opened = self.header.open_with(file_key.as_bytes(), place).transpose()?;
        let is_right = self.is_for_salvage || self.has_mac(file_key);
        Some(opened.and_then(|cipher| is_right.then_some(cipher).ok_or(Error::HeaderDamaged)))
    }

    /// Returns whether the MAC was made with this key.
    pub(crate) fn has_mac(&self, file_key: &FileKey) -> bool {
        let (text, tail) = self.bytes.split_at(self.bytes.len() - TAIL);
        let expected =
            Tag::from(<[u8; 32]>::from(self.header.mac(file_key, text).finalize().into_bytes()));
        tail.first_chunk().is_some_and(|mac| expected == Tag::from(*mac))
    }
}

/// Takes the slots that the bytes begin with.
fn slots_in(bytes: &mut &[u8], header: &Header) -> Vec<Slot> {
    let mut slots = Vec::new();
    while let Some((start, _)) = bytes.split_first_chunk::<SLOT_HEADER>() {
        let len = SLOT_HEADER + usize::from(u16::from_le_bytes([start[2], start[3]]));
        let Some((slot, after)) = bytes.split_at_checked(len) else { break };
        slots.push(Slot { bytes: slot.to_vec(), header: *header.checksum() });
        *bytes = after;
    }
    slots
}

pub(crate) fn has_checksum(head: &[u8]) -> bool {
    let (text, sum) = head.split_at(head.len() - SUM_LEN);
    sum == &Sha256::digest(text)[..]
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head")
            .field("len", &self.bytes.len())
            .field("sequence", &self.sequence())
            .field("slots", &self.slots)
            .finish_non_exhaustive()
    }
}
