//! Both copies of a head, in a file that can be read at any offset.

use super::head::{Head, LOG2S, has_checksum};
use super::keyring::{FileKey, Keyring};
use super::open::Opening;
use crate::cipher::Cipher;
use crate::error::Error;
use crate::header::{HEADER_LEN, Header, MAGIC};
use crate::kdf::{KdfLimits, KdfParams};
use crate::read_at::ReadAt;

/// The head and the spare of a file, read without a secret: nothing of them is authentic yet.
#[derive(Debug)]
#[non_exhaustive]
pub struct Copies {
    /// The head, or why there is none.
    pub head: Result<Head, Error>,
    /// The spare, or why there is none.
    pub spare: Result<Head, Error>,
    pub(crate) file_len: u64,
}

impl Copies {
    /// Reads both.
    ///
    /// # Errors
    ///
    /// [`Error::UnsupportedVersion`], [`Error::UnsupportedHeader`], also if the file has no slots,
    /// [`Error::HeaderDamaged`] if both are intact but not of one file, and [`Error::Read`].
    pub fn read(file: &(impl ReadAt + ?Sized)) -> Result<Self, Error> {
        let file: &dyn ReadAt = &file;
        let file_len = file.size().map_err(Error::Read)?;
        let start = read(file, 0, file_len.min(Head::START_LEN as u64) as usize);
        let head = start.and_then(|start| read_head(file, file_len, &start));
        if let Err(error @ (Error::UnsupportedVersion(_) | Error::UnsupportedHeader { .. })) = head
        {
            return Err(error);
        }
        let spare = read_spare(file, file_len)?;
        if let (Ok(head), Some(spare)) = (&head, &spare) {
            check_same_beginning(head, spare)?;
        }
        Ok(Self {
            head: head.and_then(|bytes| Head::parse(&bytes)),
            spare: spare.ok_or(Error::HeaderDamaged).and_then(|bytes| Head::parse(&bytes)),
            file_len,
        })
    }

    /// Reads both for [`salvage`](crate::Decryptor::salvage): they may be damaged. A slot of such a
    /// head that still opens gives the key of the file, which is compared with the commitment in
    /// its header; the rest of the head is not verified. A header may have one damaged byte.
    ///
    /// If they are not [of one file](Self::are_of_one_file), chunks of both may be left.
    ///
    /// # Errors
    ///
    /// [`Error::Read`].
    pub fn read_damaged(file: &(impl ReadAt + ?Sized)) -> Result<Self, Error> {
        let file: &dyn ReadAt = &file;
        let file_len = file.size().map_err(Error::Read)?;
        let bytes_at = |offset: u64, len: usize| {
            read(file, offset, file_len.saturating_sub(offset).min(len as u64) as usize)
        };
        let has_slots = |bytes: &[u8]| Header::from_damaged(bytes).is_ok_and(|h| h.has_slots());
        let mut spare = Err(Error::HeaderDamaged);
        for len in LOG2S.map(|log2| 1 << log2) {
            let Some(offset) = file_len.checked_sub(len as u64) else { break };
            if spare.is_err() && has_slots(&bytes_at(offset, HEADER_LEN)?) {
                spare = Head::parse_damaged(&bytes_at(offset, len)?);
            }
        }
        let start = bytes_at(0, Head::START_LEN)?;
        let head_len = match (&spare, Header::from_damaged(&start)) {
            // Its own byte for it may be damaged.
            (Ok(spare), Ok(header)) if spare.header().as_bytes() == header.as_bytes() => {
                spare.as_bytes().len()
            }
            _ => Head::len_of_damaged(&start),
        };
        let head = Head::parse_damaged(&bytes_at(0, head_len)?);
        Ok(Self { head, spare, file_len })
    }

    /// Returns false if both were [read](Self::read_damaged) and have different headers. Then
    /// something wrote a part of one file over another.
    #[must_use]
    pub fn are_of_one_file(&self) -> bool {
        match (&self.head, &self.spare) {
            (Ok(head), Ok(spare)) => head.header().as_bytes() == spare.header().as_bytes(),
            _ => true,
        }
    }

    /// Returns whether both are intact and the same.
    #[must_use]
    pub fn are_same(&self) -> bool {
        match (&self.head, &self.spare) {
            (Ok(head), Ok(spare)) => head.as_bytes() == spare.as_bytes(),
            _ => false,
        }
    }

    /// Opens each copy. The one that is the same as another is not tried again.
    pub(crate) fn open(&self, opening: &mut Opening<'_>) -> [Result<FileKey, Error>; 2] {
        let mut open = |copy: &Result<Head, Error>| match copy {
            Ok(head) => opening.open(head),
            Err(_) => Err(Error::HeaderDamaged),
        };
        let head = open(&self.head);
        let spare = match (&head, self.are_same()) {
            (Ok(key), true) => Ok(key.clone()),
            (Err(_), true) => Err(Error::NoSlot),
            (_, false) => open(&self.spare),
        };
        [head, spare]
    }
}

/// Opens a file with slots, of which the first bytes were read: by its head or, if that fails, by
/// its spare. `None`: it is intact, and has no slots.
pub(crate) fn open_at_any_offset(
    file: &dyn ReadAt,
    file_len: u64,
    start: &[u8],
    keyring: &Keyring,
    limits: &KdfLimits,
) -> Result<Option<(Head, Cipher)>, Error> {
    match open_head(file, file_len, start, keyring, limits)? {
        OfHead::NoSlots => Ok(None),
        OfHead::Opened(head, cipher) => Ok(Some((head, cipher))),
        OfHead::Failed(failed) => open_spare(file, file_len, failed, keyring, limits).map(Some),
    }
}

/// What comes of the head of a file.
pub(crate) enum OfHead {
    /// The file is intact, and has no slots.
    NoSlots,
    Opened(Head, Cipher),
    /// The spare may open the file.
    Failed(Failed),
}

/// A head that does not open.
pub(crate) struct Failed {
    /// If it is intact.
    head: Option<Vec<u8>>,
    is_damaged: bool,
    error: Error,
    costs: Vec<KdfParams>,
}

/// Opens a file by its head.
pub(crate) fn open_head(
    file: &dyn ReadAt,
    file_len: u64,
    start: &[u8],
    keyring: &Keyring,
    limits: &KdfLimits,
) -> Result<OfHead, Error> {
    match Header::from_start(start) {
        Ok(header) if !header.has_slots() => return Ok(OfHead::NoSlots),
        // Before the spare could be tried.
        Ok(header) => header.check_place(keyring.place.as_deref())?,
        Err(error @ (Error::UnsupportedVersion(_) | Error::UnsupportedHeader { .. })) => {
            return Err(error);
        }
        _ => {}
    }
    let mut opening = Opening::new(keyring, limits);
    let (head, (is_damaged, error)) = match read_head(file, file_len, start) {
        Ok(bytes) => match open(&bytes, &mut opening) {
            Ok((head, cipher)) => return Ok(OfHead::Opened(head, cipher)),
            Err(failed) => (Some(bytes), failed),
        },
        Err(error) => (None, (true, error)),
    };
    Ok(OfHead::Failed(Failed { head, is_damaged, error, costs: opening.costs }))
}

/// Opens a file by its spare, after its head failed. The longest spare has [`Head::MAX_LEN`] bytes,
/// and no others are read.
pub(crate) fn open_spare(
    file: &dyn ReadAt,
    file_len: u64,
    failed: Failed,
    keyring: &Keyring,
    limits: &KdfLimits,
) -> Result<(Head, Cipher), Error> {
    let Failed { head, is_damaged, error, costs } = failed;
    let Some(spare) = read_spare(file, file_len)? else { return Err(error) };
    if let Some(head) = head {
        check_same_beginning(&head, &spare)?;
        if head == spare {
            return Err(error);
        }
    }
    let mut opening = Opening { costs, ..Opening::new(keyring, limits) };
    match open(&spare, &mut opening) {
        Ok(opened) => Ok(opened),
        // It was opened, so the keyring is right.
        Err((_, of_spare @ Error::WrongPlace)) => Err(of_spare),
        Err((_, of_spare)) => Err(if is_damaged { of_spare } else { error }),
    }
}

/// Opens a copy. An error says also whether the copy is damaged.
fn open(bytes: &[u8], opening: &mut Opening<'_>) -> Result<(Head, Cipher), (bool, Error)> {
    let head = Head::parse(bytes).map_err(|error| (true, error))?;
    let key = opening.open(&head).map_err(|error| (false, error))?;
    let place = opening.keyring.place.as_deref();
    let cipher = head.header().open_with(key.as_bytes(), place).map_err(|error| (false, error))?;
    Ok((head, cipher.expect("the head was verified")))
}

/// Both copies are intact. One file key, and one place of the chunks: otherwise someone with the
/// file key could show two readers two texts.
pub(crate) fn check_same_beginning(head: &[u8], spare: &[u8]) -> Result<(), Error> {
    match head[..=HEADER_LEN] == spare[..=HEADER_LEN] {
        true => Ok(()),
        false => Err(Error::HeaderDamaged),
    }
}

/// The bytes of the head, with a right checksum. `start` is as much of it as was read.
fn read_head(file: &dyn ReadAt, file_len: u64, start: &[u8]) -> Result<Vec<u8>, Error> {
    let len = Head::len_from_start(start)?;
    if file_len < len as u64 {
        return Err(Error::Truncated { chunk: None, offset: file_len });
    }
    let head = match start.get(..len) {
        Some(head) => head.to_vec(),
        None => read(file, 0, len)?,
    };
    if has_checksum(&head) { Ok(head) } else { Err(Error::HeaderDamaged) }
}

/// The bytes of the spare, with a right checksum, if there is one at the end.
fn read_spare(file: &dyn ReadAt, file_len: u64) -> Result<Option<Vec<u8>>, Error> {
    for log2 in LOG2S {
        let len = 1 << log2;
        let Some(offset) = file_len.checked_sub(len as u64) else { break };
        let start = read(file, offset, HEADER_LEN + 1)?;
        if start[..8] == MAGIC && start[HEADER_LEN] == log2 && Header::from_start(&start).is_ok() {
            let spare = read(file, offset, len)?;
            if has_checksum(&spare) {
                return Ok(Some(spare));
            }
        }
    }
    Ok(None)
}

pub(super) fn read(file: &dyn ReadAt, offset: u64, len: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; len];
    file.read_at(&mut bytes, offset).map_err(Error::Read)?;
    Ok(bytes)
}
