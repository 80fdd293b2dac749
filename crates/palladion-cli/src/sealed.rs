//! The header of an encrypted file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use palladion_file::sans_io::Layout;
use palladion_file::slots::{Copies, Head, SlotKind};
use palladion_file::{
    Algorithm, ChunkSize, Error, HEADER_LEN, Info, KdfLimits, KdfParams, Keyring, MAGIC, ReadAt,
    SecretKind, Spare,
};

use crate::failure::{Failure, Result, note, tell};
use crate::foreign;
use crate::input::{Input, RandomAccess};
use crate::values::Kind;

/// What to do about a damaged head, or a spare that is not the same.
pub const REPAIR: &str = "mend it with palladion rewrap --repair FILE, or if that says that the \
                          file was cut or extended, decrypt it, if need be with --salvage, and \
                          encrypt it again";

/// What to do if no copy of the key slots is intact.
const BOTH_DAMAGED: &str = "both copies of its key slots are damaged: palladion decrypt \
                                --salvage -o OUT FILE saves what is intact";
/// What to do if the copies of the key slots are those of two files.
const OF_TWO_FILES: &str = "it begins with one file and ends with another, as if one had been \
                            copied over the other in part: palladion decrypt --salvage -o OUT FILE \
                            saves what is intact of one of them";
const FIRST_DAMAGED: &str = "first copy of the key slots is damaged";
const SECOND_DAMAGED: &str = "second copy of the key slots is damaged or missing";
const DIFFERENT: &str =
    "second copy of the key slots differs from the first: a change was interrupted";

/// Reads both copies of the key slots of a file. If they are not the same, another program may be
/// changing them: waits until it is done, and reads them again.
pub fn copies(file: &File) -> std::result::Result<Copies, Error> {
    let copies = Copies::read(file)?;
    // While slots are changed, one copy is intact. A file without is of another kind.
    let is_changing = !copies.are_same() && (copies.head.is_ok() || copies.spare.is_ok());
    if !is_changing || file.lock_shared().is_err() {
        return Ok(copies);
    }
    let copies = Copies::read(file);
    let _ = file.unlock();
    copies
}

/// Says what to do if a file has two copies of key slots that are both damaged, or not of one file.
pub fn both_damaged(file: &File, failure: Failure) -> Failure {
    if !failure.is_damage() {
        return failure;
    }
    match Copies::read_damaged(file) {
        Ok(copies) if !copies.are_of_one_file() => failure.hint(OF_TWO_FILES),
        Ok(copies) if copies.head.is_ok() || copies.spare.is_ok() => failure.hint(BOTH_DAMAGED),
        _ => failure,
    }
}

/// An encrypted file whose header was read. Nothing of it is verified.
pub struct Sealed<'a> {
    /// The name in messages.
    pub name: &'a str,
    pub algorithm: Algorithm,
    pub chunk_size: ChunkSize,
    /// The kinds of secrets that open it.
    pub secrets: Vec<SlotKind>,
    /// Its head, if it has key slots.
    pub head: Option<Head>,
    /// Its spare, if that is intact and has other slots.
    pub other: Option<Head>,
    /// Whether it is bound to a place.
    pub is_bound: bool,
    /// The bytes that were read.
    pub header: Vec<u8>,
    /// Whether they are those of the second copy, because the first is damaged.
    is_second: bool,
    /// The file, for what failures say about its copies of the key slots.
    file: Option<&'a File>,
    /// Whether only the first copy could be read, because the file comes from a pipe.
    pub is_piped: bool,
}

impl<'a> Sealed<'a> {
    /// Reads the header of a file. For a RAF file, a hint names the command of `raf` to use
    /// instead.
    pub fn read(mut reader: impl Read, name: &'a str, instead: &str) -> Result<Self> {
        let mut header = Vec::with_capacity(HEADER_LEN);
        let mut read_to = |header: &mut Vec<u8>, len: usize| {
            let more = (&mut reader).take((len - header.len()) as u64).read_to_end(header);
            more.map(drop).map_err(|error| Failure::io("read", name, &error))
        };
        read_to(&mut header, HEADER_LEN)?;
        let read = match Info::from_start(&header) {
            Ok(Info { secret: SecretKind::Slots, .. }) => {
                read_to(&mut header, Head::START_LEN)?;
                if let Ok(len) = Head::len_from_start(&header) {
                    read_to(&mut header, len)?;
                }
                Head::parse(&header).map(|head| Self::with_slots(name, head))
            }
            read => read.map(|info| Self::without_slots(name, &info)),
        };
        let sealed = read.map_err(|error| {
            let failure = Failure::file(&error, name, "the output");
            let is_repairable = || header.first_chunk().and_then(Info::repaired).is_some();
            match error {
                Error::HeaderDamaged if header.get(10) == Some(&2) => {
                    return failure.hint(
                        "if the second copy of its key slots is intact, palladion decrypt and cat \
                         read the file by its name, and palladion rewrap --repair mends it",
                    );
                }
                Error::NotPalladion | Error::HeaderDamaged if is_repairable() => {
                    return failure.hint(
                        "one byte of a Palladion file's header is damaged: palladion decrypt \
                         --salvage -o OUT FILE recovers it",
                    );
                }
                // A transfer in text mode changes the ends of lines in the magic.
                Error::NotPalladion => {}
                Error::HeaderDamaged if header.starts_with(&MAGIC) => {
                    return failure.hint(
                        "fetch it again, or restore a backup: without its first 128 bytes, nothing \
                         can be read, and more than one of them is damaged",
                    );
                }
                _ => return failure,
            }
            match foreign::hint(&header) {
                _ if header.starts_with(b"AEGISRAF") => {
                    failure.hint(format!("it is a RAF file: use palladion raf {instead}"))
                }
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        })?;
        Ok(Self { header, ..sealed })
    }

    /// Like [`read`](Self::read), but takes both copies of key slots.
    pub fn read_at_any_offset(file: &'a RandomAccess, instead: &str) -> Result<Self> {
        let RandomAccess { file, name, .. } = file;
        let start = (&mut &*file).rewind(); // Windows moves it when it reads at an offset
        start.map_err(|error| Failure::io("read", name, &error))?;
        match Self::read(file, name, instead) {
            Ok(sealed) if sealed.head.is_none() => Ok(sealed),
            read => {
                let copies = Copies::read(file).and_then(|copies| Self::of_copies(name, copies));
                copies.or_else(|_| Self::of_first(read, file, Some(file)))
            }
        }
    }

    /// What was read of a file whose copies of key slots cannot be used together.
    fn of_first(read: Result<Self>, file: &File, explains: Option<&'a File>) -> Result<Self> {
        read.map(|sealed| Self { file: explains, ..sealed })
            .map_err(|failure| both_damaged(file, failure))
    }

    /// Returns the other file whose key slots are at the end of this damaged one, if there is one.
    pub fn other_file(&self, input: &'a Input) -> Option<Self> {
        let copies = input.is_whole_file().then(|| Copies::read_damaged(&input.file))?;
        self.skip_header(input).ok()?; // Windows moves it when it reads at an offset
        let spare = copies.ok()?.spare.ok()?;
        let header = spare.as_bytes().to_vec();
        let is_other = header[..HEADER_LEN] != self.header[..HEADER_LEN];
        is_other.then(|| Self { header, ..Self::with_slots(self.name, spare) })
    }

    /// Moves an input to the first chunk.
    pub fn skip_header(&self, input: &Input) -> std::result::Result<(), Error> {
        let start = SeekFrom::Start(self.header.len() as u64);
        (&input.file).seek(start).map(drop).map_err(Error::Read)
    }

    /// Adds to a failure of reading the file what is known of its copies of the key slots.
    pub fn explain(&self, failure: Failure) -> Failure {
        let is_of_another =
            |spare: Head| spare.as_bytes()[..HEADER_LEN] != self.header[..HEADER_LEN];
        let is_mixed = |file| {
            let copies = Copies::read_damaged(file);
            copies.is_ok_and(|copies| copies.spare.is_ok_and(is_of_another))
        };
        match failure.is_damage() || failure.is_wrong_key() {
            true if self.file.is_some_and(is_mixed) => failure.hint(OF_TWO_FILES),
            _ => failure,
        }
    }

    /// Like [`read`](Self::read), but takes both copies of key slots if the input is a file. If
    /// the first is damaged, `header` is the second. The next bytes of the input are then those of
    /// the first chunk. If `repair` is set, one damaged byte of a header does not
    /// matter.
    pub fn read_input(input: &'a Input, instead: &str, repair: bool) -> Result<Self> {
        let (name, file) = (&*input.name, &input.file);
        let place = |at: usize| {
            let placed = (&mut &*file).seek(SeekFrom::Start(at as u64));
            placed.map(drop).map_err(|error| Failure::io("read", name, &error))
        };
        let mut start = [0; HEADER_LEN];
        let is_start_read = repair && input.is_whole_file() && file.read_at(&mut start, 0).is_ok();
        let repaired = is_start_read.then(|| Info::repaired(&start)).flatten();
        let start = repaired.as_ref().map_or(&[][..], |start| {
            tell(&format!("{name}: one byte of the header is damaged; it was found"));
            start
        });
        if is_start_read {
            place(start.len())?;
        }
        let read = Self::read(start.chain(input.reader()), name, instead);
        if !input.is_whole_file() {
            return read.map(|sealed| Self { is_piped: true, ..sealed });
        }
        // Who salvages a mix of two files knows it.
        let explains = (!repair).then_some(file);
        if read.as_ref().is_ok_and(|sealed| sealed.head.is_none()) {
            return read.map(|sealed| Self { file: explains, ..sealed });
        }
        let found = match repair {
            true => match Copies::read_damaged(file) {
                Ok(both) if both.are_of_one_file() => Ok(both),
                _ => copies(file),
            },
            false => copies(file),
        };
        let Ok(copies) = found else { return Self::of_first(read, file, explains) };
        let is_second = copies.head.is_err();
        let Ok(mut sealed) = Self::of_copies(name, copies) else {
            return read.map_err(|failure| both_damaged(file, failure));
        };
        sealed.is_second = is_second;
        sealed.header = sealed.head.iter().flat_map(Head::as_bytes).copied().collect();
        place(sealed.header.len())?;
        Ok(sealed)
    }

    /// A file with key slots, which a secret in either copy opens.
    pub fn of_copies(name: &'a str, copies: Copies) -> std::result::Result<Self, Error> {
        let are_same = copies.are_same();
        let (head, other) = match copies {
            Copies { head: Ok(head), spare, .. } => (head, spare.ok().filter(|_| !are_same)),
            Copies { spare: Ok(spare), .. } => (spare, None),
            Copies { head: Err(error), .. } => return Err(error),
        };
        let mut sealed = Self::with_slots(name, head);
        let slots = other.iter().flat_map(Head::slots);
        let more = slots.map(|slot| slot.kind()).filter(|kind| !sealed.secrets.contains(kind));
        let more: Vec<_> = more.collect();
        sealed.secrets.extend(more);
        sealed.other = other;
        Ok(sealed)
    }

    /// Returns the start of the file for a reader from the start: the second copy of the key slots
    /// if the secrets open only that one, because a change was interrupted.
    pub fn start(&self, keyring: &Keyring, limits: &KdfLimits) -> &[u8] {
        let opens = |head: &&Head| head.open(keyring, limits).is_ok();
        match &self.other {
            Some(other) if self.head.as_ref().filter(opens).is_none() && opens(&other) => {
                other.as_bytes()
            }
            _ => &self.header,
        }
    }

    /// Says what a file with key slots that was opened with a secret of this kind does not prove.
    /// Whoever uses an identity knows that everyone with its recipient can encrypt for it.
    pub fn note_slots(&self, opened: Option<Kind>) {
        if self.head.is_some() && opened != Some(Kind::Identity) {
            let who = match self.takes(Kind::Identity) {
                true => "with the public key of a recipient",
                false => "who can open it",
            };
            note(&format!("note: {}: anyone {who} could have written it", self.name));
        }
    }

    fn without_slots(name: &'a str, info: &Info) -> Self {
        let secret = match info.secret {
            SecretKind::Passphrase(kdf) => SlotKind::Passphrase(kdf),
            _ => SlotKind::Key,
        };
        let (algorithm, chunk_size) = (info.algorithm, info.chunk_size);
        Self {
            name,
            algorithm,
            chunk_size,
            secrets: vec![secret],
            head: None,
            other: None,
            is_bound: info.is_bound,
            header: vec![],
            is_second: false,
            file: None,
            is_piped: false,
        }
    }

    fn with_slots(name: &'a str, head: Head) -> Self {
        let (algorithm, chunk_size) = (head.algorithm(), head.chunk_size());
        let secrets = head.slots().iter().map(|slot| slot.kind()).collect();
        let is_bound = head.is_bound();
        Self {
            name,
            algorithm,
            chunk_size,
            secrets,
            head: Some(head),
            other: None,
            is_bound,
            header: Vec::new(),
            is_second: false,
            file: None,
            is_piped: false,
        }
    }

    /// Returns whether it takes a secret of this kind.
    pub fn takes(&self, kind: Kind) -> bool {
        match kind {
            Kind::Key | Kind::RawKey(_) => self.secrets.contains(&SlotKind::Key),
            Kind::Identity => self.secrets.contains(&SlotKind::Age),
            Kind::Passphrase => self.costs().next().is_some(),
        }
    }

    /// The costs of its passphrases.
    pub fn costs(&self) -> impl Iterator<Item = KdfParams> {
        self.secrets.iter().filter_map(|secret| match secret {
            SlotKind::Passphrase(kdf) => Some(*kdf),
            _ => None,
        })
    }

    /// Returns the places of the chunks, if a file can have this length.
    pub fn layout(&self, file_len: u64) -> Option<Layout> {
        match &self.head {
            Some(head) => head.layout(file_len),
            None => Layout::of_file(self.chunk_size, file_len),
        }
    }

    /// Explains what is wrong with the copies of the key slots of an input that was read to its
    /// end, if something is.
    pub fn check_copies(&self, spare: Option<Spare>, input: &Input) -> Option<String> {
        let what = match spare {
            _ if self.is_second => FIRST_DAMAGED,
            None => return None,
            Some(Spare::Same) if self.other.is_none() => return None,
            // Another program may have changed them meanwhile.
            Some(_) if input.is_whole_file() && copies(&input.file).is_ok_and(|c| c.are_same()) => {
                return None;
            }
            Some(Spare::Same | Spare::Differs) => DIFFERENT,
            Some(_) => SECOND_DAMAGED,
        };
        Some(format!("{}: the {what}", self.name))
    }

    /// The same for an input that cannot be read to its end. Says also what to do.
    pub fn check_damaged(&self, input: &Input) -> Option<String> {
        self.head.as_ref().filter(|_| input.is_whole_file())?;
        let copies = copies(&input.file).ok()?;
        let what = match (&copies.head, &copies.spare) {
            (Err(_), Err(_)) => {
                let name = self.name;
                return Some(format!(
                    "{name}: both copies of the key slots are damaged; encrypt the output anew"
                ));
            }
            (Err(_), Ok(_)) => FIRST_DAMAGED,
            (Ok(_), Err(_)) => SECOND_DAMAGED,
            (Ok(_), Ok(_)) if copies.are_same() => return None,
            (Ok(_), Ok(_)) => DIFFERENT,
        };
        Some(format!("{}: the {what}; {REPAIR}", self.name))
    }

    /// Returns what to do about that, for an input that has this many bytes of plaintext.
    pub fn repair(&self, bytes: u64, input: &Input) -> &'static str {
        let layout = input.len.and_then(|len| self.layout(len));
        match layout.is_some_and(|layout| layout.plaintext_len() == bytes) {
            true => "mend it with palladion rewrap --repair FILE",
            false if !input.is_whole_file() => REPAIR,
            false => "the file was cut or extended: decrypt it and encrypt it again",
        }
    }
}
