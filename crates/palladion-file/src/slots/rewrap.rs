//! Changes the slots of a file.

use std::fmt;
use std::io::Write;
#[cfg(any(unix, windows))]
use std::{
    fs::{File, OpenOptions},
    io::{self, Seek, SeekFrom},
    path::Path,
};

use super::copies::{Copies, read};
use super::head::{Head, NewSlot, Slot};
use super::keyring::{FileKey, Keyring};
use super::open::Opening;
use crate::chunk::{Chunk, FRAME_LEN, OVERHEAD};
use crate::error::Error;
use crate::kdf::KdfLimits;
use crate::read_at::ReadAt;

/// The slots of a file, opened with one of the secrets, to be changed.
///
/// A change is a [`Plan`]. It sets exactly the slots that it is given: take [`slots`](Self::slots),
/// drop or keep what is there, and add those from [`lock`](Self::lock).
///
/// ```no_run
/// use palladion_file::slots::{Keyring, NewSlot, Rewrap};
/// use palladion_file::{Error, KdfLimits, MasterKey};
///
/// # fn run(old: MasterKey, new: MasterKey) -> Result<(), Error> {
/// // From one key to another.
/// let keyring = Keyring::default().key(old);
/// Rewrap::in_place("notes.txt.pld".as_ref(), &keyring, &KdfLimits::default(), |rewrap| {
///     rewrap.plan(vec![rewrap.lock(NewSlot::Key(&new))?])
/// })?;
/// # Ok(())
/// # }
/// ```
pub struct Rewrap {
    file_key: FileKey,
    base: Head,
    are_same: bool,
    /// What the next head gets.
    sequence: Option<u64>,
    /// Where the copies are, in the order in which to write them.
    order: [u64; 2],
    /// The start of the copy that is written last: its header, and how often it was changed.
    kept: [u8; Head::START_LEN],
    file_len: u64,
}

impl Rewrap {
    /// Reads both copies of the head, and opens them.
    ///
    /// # Errors
    ///
    /// Those of [`Head::parse`] and [`Head::open`]. [`Error::CannotChangeSlots`] if a copy is
    /// damaged and its place is not certain, because the file was cut or extended: writing it could
    /// destroy data.
    pub fn new(
        file: &(impl ReadAt + ?Sized),
        keyring: &Keyring,
        limits: &KdfLimits,
    ) -> Result<Self, Error> {
        let file: &dyn ReadAt = &file;
        let copies = Copies::read(file)?;
        let opened = copies.open(&mut Opening::new(keyring, limits));
        let opens = [opened[0].is_ok(), opened[1].is_ok()];
        let are_same = copies.are_same();
        let Copies { head, spare, file_len } = copies;
        let file_key = match (opened, &head) {
            ([Ok(key), _] | [_, Ok(key)], _) => key,
            ([_, Err(error @ Error::WrongPlace)], _) => return Err(error),
            ([Err(error), Err(_)], Ok(_)) | ([Err(_), Err(error)], Err(_)) => return Err(error),
        };
        // Both have the commitment of the one that opened.
        let is_authentic = |copy: &&Head| copy.has_mac(&file_key);
        let copies = [head.ok(), spare.ok()];
        let authentic = copies.each_ref().map(|copy| copy.as_ref().filter(is_authentic));
        let sequence = authentic.iter().flatten().map(|head| head.sequence()).max();
        let both_authentic = authentic.iter().all(Option::is_some);
        // The copy that stays until the other is written must be one that the caller can open.
        let head_first = !opens[0];
        let kept = &copies[usize::from(head_first)];
        let kept = kept.as_ref().and_then(|copy| copy.as_bytes().first_chunk());
        let kept = *kept.expect("this copy is open");
        let [head, spare] = copies;
        let base = match (head.filter(|_| opens[0]), spare.filter(|_| opens[1])) {
            (Some(head), Some(spare)) if spare.sequence() > head.sequence() => spare,
            (Some(copy), _) | (None, Some(copy)) => copy,
            (None, None) => unreachable!("one copy is open"),
        };
        let len = base.as_bytes().len() as u64;
        if file_len < 2 * len {
            return Err(Error::Truncated { chunk: Some(0), offset: file_len });
        }
        let mut order = [file_len - len, 0];
        if head_first {
            order.reverse();
        }
        let sequence = sequence.and_then(|number| number.checked_add(1));
        let rewrap = Self { file_key, base, are_same, sequence, order, kept, file_len };
        if !both_authentic {
            rewrap.check_end(file, keyring.place.as_deref())?;
        }
        Ok(rewrap)
    }

    /// Checks that the last chunk ends where the spare begins.
    fn check_end(&self, file: &dyn ReadAt, place: Option<&[u8]>) -> Result<(), Error> {
        let (head_len, size) = (self.base.as_bytes().len() as u64, self.base.chunk_size());
        let (body, full) = (self.file_len - 2 * head_len, size.buffer_len() as u64);
        let counter = body.saturating_sub(1) / full;
        let (offset, sealed_len) = (head_len + counter * full, (body - counter * full) as usize);
        let unsure = Error::CannotChangeSlots(
            "one copy of them is damaged, and the file was cut or extended, so that its place is \
             not known: decrypt the file and encrypt it again",
        );
        let Some(len) = sealed_len.checked_sub(OVERHEAD) else { return Err(unsure) };
        let (chunk, mut sealed) =
            (Chunk { counter, len, last: true }, read(file, offset, sealed_len)?);
        let cipher = self.base.header().open_with(self.file_key.as_bytes(), place)?;
        let cipher = cipher.expect("the head was verified");
        let is_last = sealed[..FRAME_LEN] == chunk.frame() && chunk.fits(size);
        match is_last && chunk.open(&cipher, offset, &mut sealed).is_ok() {
            true => Ok(()),
            false => Err(unsure),
        }
    }

    /// Returns the slots of the copy that opened; of the newer one, if both did.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        self.base.slots()
    }

    /// Returns whether both copies are the same. If not, an earlier change was interrupted, or the
    /// file is damaged: a plan with the present [`slots`](Self::slots) repairs that. Do so before
    /// you name slots by their number, because other secrets may open the other copy.
    #[must_use]
    pub fn are_same(&self) -> bool {
        self.are_same
    }

    /// Returns the key of the file.
    #[must_use]
    pub fn file_key(&self) -> &FileKey {
        &self.file_key
    }

    /// Makes a slot for this file.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyPassphrase`], [`Error::Slot`], [`Error::NoRoomForSlots`], and those of a
    /// missing resource.
    pub fn lock(&self, new: NewSlot<'_>) -> Result<Slot, Error> {
        self.base.header().lock(&new, &self.file_key)
    }

    /// Plans to set exactly these slots in place.
    ///
    /// # Errors
    ///
    /// [`Error::NoRoomForSlots`]: use [`copy`](Self::copy). [`Error::CannotChangeSlots`] if there
    /// are none, too many of a kind, or one of another file.
    pub fn plan(&self, slots: Vec<Slot>) -> Result<Plan, Error> {
        let head = self.build(self.base.as_bytes().len(), slots)?;
        Ok(Plan {
            head,
            order: self.order,
            #[cfg(any(unix, windows))]
            kept: self.kept,
            #[cfg(any(unix, windows))]
            file_len: self.file_len,
        })
    }

    fn build(&self, len: usize, slots: Vec<Slot>) -> Result<Head, Error> {
        let sequence = self.sequence;
        let sequence = sequence.ok_or(Error::CannotChangeSlots(
            "they were changed too often: decrypt the file and encrypt it again",
        ))?;
        Head::build(self.base.header().clone(), &self.file_key, len, sequence, slots)
    }

    /// Writes a new file with exactly these slots, room for more, and the same content.
    ///
    /// # Errors
    ///
    /// As of [`plan`](Self::plan); [`Error::CannotChangeSlots`] if `file` is not the one that was
    /// opened; [`Error::Read`] and [`Error::Write`].
    pub fn copy(
        &self,
        slots: Vec<Slot>,
        file: &(impl ReadAt + ?Sized),
        mut output: impl Write,
    ) -> Result<Head, Error> {
        let head = self.build(Head::len_for(&slots)?, slots)?;
        let file: &dyn ReadAt = &file;
        check_file(file, &self.kept, self.order, self.file_len)?;
        output.write_all(head.as_bytes()).map_err(Error::Write)?;
        let len = self.base.as_bytes().len() as u64;
        let (mut at, end) = (len, self.file_len - len);
        let mut buffer = vec![0; Head::MAX_LEN];
        while at < end {
            let part = buffer.len().min((end - at) as usize);
            let part = &mut buffer[..part];
            file.read_at(part, at).map_err(Error::Read)?;
            output.write_all(part).map_err(Error::Write)?;
            at += part.len() as u64;
        }
        output.write_all(head.as_bytes()).map_err(Error::Write)?;
        output.flush().map_err(Error::Write)?;
        Ok(head)
    }

    /// Locks a file, opens its slots, and carries out the plan that `choose` makes. Waits for other
    /// programs that have locked the file. If the file was replaced meanwhile, the one that is now
    /// at the path is used.
    ///
    /// # Errors
    ///
    /// [`Error::Read`] and [`Error::Write`], also if the file system has no locks: then
    /// [`copy`](Self::copy) the file. Those of [`new`](Self::new), and any of `choose`.
    /// [`Error::CannotChangeSlots`] if its plan is one for another file.
    #[cfg(any(unix, windows))]
    pub fn in_place(
        path: &Path,
        keyring: &Keyring,
        limits: &KdfLimits,
        choose: impl FnOnce(&Self) -> Result<Plan, Error>,
    ) -> Result<Head, Error> {
        let file = loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true);
            // Nobody can rename or remove the file while it is open.
            #[cfg(windows)]
            std::os::windows::fs::OpenOptionsExt::share_mode(&mut options, 1 | 2);
            let file = options.open(path).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => Error::Read(error),
                _ => Error::Write(error),
            })?;
            // On Windows, waiting with the file open would keep another writer from replacing it.
            #[cfg(windows)]
            if let Err(std::fs::TryLockError::WouldBlock) = file.try_lock() {
                drop(file);
                std::thread::sleep(std::time::Duration::from_millis(20));
                continue;
            }
            #[cfg(not(windows))]
            file.lock().map_err(Error::Write)?;
            if is_at(path, &file).map_err(Error::Read)? {
                break file;
            }
        };
        let plan = choose(&Self::new(&file, keyring, limits)?)?;
        plan.carry_out(&file)?;
        Ok(plan.head)
    }
}

/// Checks that a file has the length that it had, and that nobody changed its slots since.
fn check_file(file: &dyn ReadAt, kept: &[u8], order: [u64; 2], file_len: u64) -> Result<(), Error> {
    let is_same =
        file.size().map_err(Error::Read)? == file_len && read(file, order[1], kept.len())? == kept;
    let why = "the file is another one, or its slots were changed since they were read";
    if is_same { Ok(()) } else { Err(Error::CannotChangeSlots(why)) }
}

/// Returns whether the path still leads to this file, which another writer may have replaced.
#[cfg(any(unix, windows))]
fn is_at(path: &Path, file: &File) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (here, there) = (file.metadata()?, std::fs::metadata(path)?);
        Ok((here.dev(), here.ino()) == (there.dev(), there.ino()))
    }
    #[cfg(windows)] // where nobody can replace it while it is open
    {
        let _ = (path, file);
        Ok(true)
    }
}

impl fmt::Debug for Rewrap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rewrap")
            .field("base", &self.base)
            .field("are_same", &self.are_same)
            .finish_non_exhaustive()
    }
}

/// What to write to change the slots of a file in place.
///
/// One copy of the head at a time: first the one that is damaged, or that the caller's secret does
/// not open. Until that copy is on the disk, the other opens with the caller's secret.
#[derive(Debug)]
pub struct Plan {
    head: Head,
    order: [u64; 2],
    #[cfg(any(unix, windows))]
    kept: [u8; Head::START_LEN],
    #[cfg(any(unix, windows))]
    file_len: u64,
}

impl Plan {
    /// Returns the new head. [Open](Head::open) it to see whether a secret still opens the file.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Returns the two offsets at which to write the new head. After the first, sync the file and
    /// read the bytes back; only then write the second, and sync again.
    #[must_use]
    pub fn offsets(&self) -> [u64; 2] {
        self.order
    }

    /// Does that with a file, which the caller has locked. Its date of modification stays, if the
    /// system allows that: the content is the same.
    ///
    /// # Errors
    ///
    /// [`Error::CannotChangeSlots`] if the file is not the one that the plan was made for, if its
    /// slots were changed since, or if it is open for appending; then nothing is changed.
    /// [`Error::Write`], [`Error::Read`]. One of both copies is intact then, and opens with the old
    /// secrets or with the new.
    #[cfg(any(unix, windows))]
    pub fn carry_out(&self, mut file: &File) -> Result<(), Error> {
        check_file(file, &self.kept, self.order, self.file_len)?;
        let modified = file.metadata().and_then(|before| before.modified());
        for offset in self.order {
            let bytes = self.head.as_bytes();
            let written = file
                .seek(SeekFrom::Start(offset))
                .and_then(|_| file.write_all(bytes))
                .and_then(|()| file.sync_data());
            written.map_err(Error::Write)?;
            if file.size().map_err(Error::Read)? > self.file_len {
                file.set_len(self.file_len).map_err(Error::Write)?;
                let why = "the file is open for appending: open it with write(true) alone";
                return Err(Error::CannotChangeSlots(why));
            }
            if read(file, offset, bytes.len())? != bytes {
                let error = std::io::Error::other("the file has other bytes than were written");
                return Err(Error::Write(error));
            }
        }
        // Only the owner of a file may set its date.
        let _ = modified.and_then(|modified| file.set_modified(modified));
        Ok(())
    }
}
