//! The errors of this crate.

use std::{fmt, io};

/// Why a file could not be encrypted or decrypted.
///
/// `Display` says what happened, with the cause; [`hint`](Self::hint) says what it means or what to
/// do about it. The cause is also the [`source`](std::error::Error::source), to be found by its
/// type: what prints whole chains, such as `{:#}` of anyhow, prints it twice.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The input could not be read.
    Read(io::Error),
    /// The output could not be written.
    Write(io::Error),
    /// The input does not begin like a Palladion file.
    NotPalladion,
    /// The header was changed after it was written: its checksum does not match.
    HeaderDamaged,
    /// The file has a version of the format that this library does not support.
    UnsupportedVersion(u8),
    /// The header is intact but has a value that this library does not support, or that was not
    /// asked for: key source 2, a file with [key slots](crate::slots), or 0 and 1, a file without.
    UnsupportedHeader {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// The master key is not the one that the file was encrypted with.
    WrongKey,
    /// The passphrase is not the one that the file was encrypted with.
    WrongPassphrase,
    /// A passphrase was given, but the file was encrypted with a master key.
    NeedsKey,
    /// A master key was given, but the file was encrypted with a passphrase.
    NeedsPassphrase,
    /// None of the file's key slots opens with the secrets given.
    NoSlot,
    /// An [`Unlock`](crate::slots::Unlock) or a [`Lock`](crate::slots::Lock) failed.
    Slot(Box<dyn std::error::Error + Send + Sync>),
    /// The slots need more room than the file has, or than any file can have.
    NoRoomForSlots {
        /// What is needed, in bytes.
        needed: usize,
        /// What there is, in bytes.
        room: usize,
    },
    /// A file cannot have these slots, or its slots cannot be changed in place, for this reason.
    CannotChangeSlots(&'static str),
    /// Stretching the passphrase would cost more than the caller allows.
    KdfTooCostly {
        /// The cost.
        what: &'static str,
        /// The value in the file.
        value: u32,
        /// The limit of the caller.
        limit: u32,
    },
    /// A file was to be encrypted with an empty passphrase. Files that have one can be decrypted.
    EmptyPassphrase,
    /// A file was to be encrypted, or one without key slots decrypted, with a keyring that has
    /// neither a key nor a passphrase.
    EmptyKeyring,
    /// The file is bound to a place, and none was given. [`Keyring::bind`] gives one.
    ///
    /// [`Keyring::bind`]: crate::Keyring::bind
    Bound,
    /// The file is not bound to a place, but one was given.
    NotBound,
    /// The key is right, but the file is bound to another place.
    WrongPlace,
    /// The place is empty.
    EmptyPlace,
    /// There is not enough memory to stretch the passphrase.
    KdfMemory,
    /// The input ends before its last chunk is complete.
    Truncated {
        /// The chunk that is missing or incomplete, counted from 0; `None`: the header is
        /// incomplete.
        chunk: Option<u64>,
        /// Where the input ends: its length in bytes.
        offset: u64,
    },
    /// A chunk was changed, or is not where it was written.
    Damaged {
        /// The chunk, counted from 0.
        chunk: u64,
        /// Where it begins in the input.
        offset: u64,
    },
    /// Data follows the last chunk.
    TrailingData {
        /// Where it begins: the length that the input should have.
        offset: u64,
    },
    /// The caller's flag asked to stop.
    Cancelled,
    /// The system gave no random bytes.
    NoRandomness(io::Error),
    /// The cipher refused to work.
    Cipher(palladion::Error),
}

impl Error {
    /// Returns what the error means for the user, or what to do about it.
    ///
    /// ```
    /// use palladion_file::{Decryptor, Error, MasterKey};
    ///
    /// let key = MasterKey::generate()?;
    /// let error = Decryptor::new(&key).run(&b"plain text"[..], Vec::new()).unwrap_err();
    /// assert!(matches!(error, Error::NotPalladion));
    /// assert_eq!(error.to_string(), "this is not a Palladion file");
    /// assert!(error.hint().is_some());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Error::NotPalladion => "it may be encrypted with another program, or not encrypted",
            Error::HeaderDamaged => {
                "the file is damaged, perhaps by a transfer in text mode: \
                 fetch it again in binary mode; if it has key slots, a reader that can seek tries \
                 the copy at its end"
            }
            Error::UnsupportedHeader { field: "key source", value: 2 } => {
                "whoever can open such a file can also have written it, so only programs that \
                 ask for it open it"
            }
            Error::UnsupportedHeader { field: "key source", value: 0 | 1 } => {
                "encrypt it again, with key slots"
            }
            Error::UnsupportedVersion(_) | Error::UnsupportedHeader { .. } => {
                "a newer release of palladion may be able to read it"
            }
            Error::WrongKey => "the file itself looks sound: try the other keys that you have",
            Error::WrongPassphrase => {
                "the file itself looks sound: try other passphrases, and mind capitals and spaces"
            }
            Error::NoSlot => {
                "the file itself looks sound: try the other secrets that you have; after an \
                 interrupted change, a reader that can seek tries the copy at its end"
            }
            Error::NoRoomForSlots { .. } => "make a new file with more room, or use fewer slots",
            Error::NeedsKey => "give the key file instead of a passphrase",
            Error::NeedsPassphrase => "give the passphrase instead of a key file",
            Error::KdfTooCostly { .. } => "files usually need less: this one may be hostile",
            Error::EmptyPassphrase => "choose a passphrase: anyone can decrypt a file without one",
            Error::EmptyKeyring => "give it a key or a passphrase",
            Error::Bound => "say which file you expect, with the text that it was bound to",
            Error::NotBound => {
                "someone may have put it in place of the file that you expect; if you trust it, \
                 read it without a place"
            }
            Error::WrongPlace => {
                "the key is right: either the place is mistyped (capitals and spaces count), or \
                 another file was put here; a file cannot be read without the place that it was \
                 bound to"
            }
            Error::EmptyPlace => "it is often a variable that is not set",
            Error::KdfMemory => "close other programs, or decrypt on a machine with more memory",
            Error::Truncated { .. } => {
                "the file is incomplete: fetch it again, or restore a backup"
            }
            Error::Damaged { .. } => {
                "the key is right, but the data was changed or reordered: restore a backup"
            }
            Error::TrailingData { .. } => {
                "the file was extended after it was written: its own data ends before that byte"
            }
            Error::Read(_)
            | Error::Write(_)
            | Error::Slot(_)
            | Error::CannotChangeSlots(_)
            | Error::Cancelled
            | Error::NoRandomness(_)
            | Error::Cipher(_) => {
                return None;
            }
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Read(error) => write!(f, "cannot read the input: {error}"),
            Error::Write(error) => write!(f, "cannot write the output: {error}"),
            Error::NotPalladion => write!(f, "this is not a Palladion file"),
            Error::HeaderDamaged => write!(f, "the header of the file is damaged"),
            Error::UnsupportedVersion(version) => {
                write!(f, "version {version} of the format is not supported")
            }
            Error::UnsupportedHeader { field: "key source", value: 2 } => {
                write!(f, "the file has key slots, which this reader does not open")
            }
            Error::UnsupportedHeader { field: "key source", value: 0 | 1 } => {
                write!(f, "the file has no key slots")
            }
            Error::UnsupportedHeader { field, value } => {
                write!(f, "the header has an unsupported {field}: {value}")
            }
            Error::WrongKey => write!(f, "this is not the key that the file was encrypted with"),
            Error::WrongPassphrase => {
                write!(f, "this is not the passphrase that the file was encrypted with")
            }
            Error::NoSlot => {
                write!(f, "none of the file's key slots opens with the secrets given")
            }
            Error::Slot(error) => write!(f, "a key slot failed: {error}"),
            Error::NoRoomForSlots { needed, room } => {
                write!(f, "the key slots need {needed} bytes, but there are {room}")
            }
            Error::CannotChangeSlots(why) => {
                write!(f, "cannot set the key slots: {why}")
            }
            Error::NeedsKey => {
                write!(f, "the file was encrypted with a key file, not with a passphrase")
            }
            Error::NeedsPassphrase => {
                write!(f, "the file was encrypted with a passphrase, not with a key file")
            }
            Error::KdfTooCostly { what, value, limit } => {
                write!(
                    f,
                    "checking the passphrase would cost too much: {what} {value}, \
                     at most {limit} allowed"
                )
            }
            Error::EmptyPassphrase => write!(f, "the passphrase is empty"),
            Error::EmptyKeyring => write!(f, "the keyring has no key and no passphrase"),
            Error::Bound => write!(f, "the file is bound to a place, and none was given"),
            Error::NotBound => {
                write!(f, "the file is not bound to a place, but one was given")
            }
            Error::WrongPlace => {
                write!(
                    f,
                    "the file is bound to another place: it was moved, renamed or swapped with \
                     another"
                )
            }
            Error::EmptyPlace => {
                write!(f, "the place to bind the file to is empty: expected at least 1 byte")
            }
            Error::KdfMemory => write!(f, "not enough memory for the passphrase"),
            Error::Truncated { chunk: None, offset: 0 } => write!(f, "the input is empty"),
            Error::Truncated { chunk: None, offset } => {
                write!(f, "the file is truncated: it ends within the header, after {offset} bytes")
            }
            Error::Truncated { chunk: Some(chunk), offset } => {
                write!(
                    f,
                    "the file is truncated: it ends within chunk {chunk}, after {offset} bytes"
                )
            }
            Error::Damaged { chunk, offset } => {
                write!(
                    f,
                    "the file is damaged: chunk {chunk} (at byte {offset}) fails verification"
                )
            }
            Error::TrailingData { offset } => {
                write!(f, "data follows from byte {offset} on, past the end of the file")
            }
            Error::Cancelled => write!(f, "cancelled"),
            Error::NoRandomness(error) => write!(f, "no random bytes from the system: {error}"),
            Error::Cipher(error) => error.fmt(f),
        }
    }
}

impl Error {
    /// The file has key slots, and the reader was not asked to open these: for such a reader, that
    /// key source is not supported.
    pub(crate) const HAS_SLOTS: Self = Self::UnsupportedHeader { field: "key source", value: 2 };

    pub(crate) fn no_randomness(error: getrandom::Error) -> Self {
        let number = error.raw_os_error();
        Self::NoRandomness(
            number.map_or_else(|| io::Error::other(error), io::Error::from_raw_os_error),
        )
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Read(error) | Error::Write(error) | Error::NoRandomness(error) => Some(error),
            Error::Cipher(error) => Some(error),
            Error::Slot(error) => Some(&**error),
            _ => None,
        }
    }
}

impl From<palladion::Error> for Error {
    fn from(error: palladion::Error) -> Self {
        Error::Cipher(error)
    }
}

/// For [`io::Read`] and [`io::Write`]: an I/O error is returned unchanged; any other error becomes
/// [`io::ErrorKind::InvalidData`] (or [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) for a
/// truncated file, [`InvalidInput`](io::ErrorKind::InvalidInput) for a passphrase, a keyring or a
/// place that is empty) around the [`Error`].
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Read(error) | Error::Write(error) => error,
            Error::Truncated { .. } => io::Error::new(io::ErrorKind::UnexpectedEof, error),
            Error::EmptyPassphrase | Error::EmptyKeyring | Error::EmptyPlace => {
                io::Error::new(io::ErrorKind::InvalidInput, error)
            }
            Error::Cancelled | Error::NoRandomness(_) | Error::Cipher(_) | Error::KdfMemory => {
                io::Error::other(error)
            }
            _ => io::Error::new(io::ErrorKind::InvalidData, error),
        }
    }
}

/// The reason why a text is not a valid key file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyFileError {
    /// There is no line that begins with `palladion-key-1:`.
    NoKey,
    /// There is more than one line that is not a comment.
    NotOneKey,
    /// What follows `palladion-key-1:` is not 64 hexadecimal digits.
    NotHex,
    /// The key is not the one that the comment `# check:` was made for.
    WrongCheck,
    /// The text has zero bytes, as if it was UTF-16.
    NotUtf8,
    /// The text is longer than 64 KiB.
    TooLong,
}

impl fmt::Display for KeyFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyFileError::NoKey => "not a Palladion key: no line begins with \"palladion-key-1:\"",
            KeyFileError::NotOneKey => {
                "expected one line besides comments in a key file, found more"
            }
            KeyFileError::NotHex => {
                "the key is damaged: expected 64 hexadecimal digits after \"palladion-key-1:\""
            }
            KeyFileError::WrongCheck => {
                "the key is damaged: it does not match the line \"# check:\" of its file"
            }
            KeyFileError::NotUtf8 => "not UTF-8 text, perhaps UTF-16: save the key file as UTF-8",
            KeyFileError::TooLong => "expected a key file, but it is longer than 64 KiB",
        })
    }
}

impl std::error::Error for KeyFileError {}

/// As [`io::ErrorKind::InvalidData`].
impl From<KeyFileError> for io::Error {
    fn from(error: KeyFileError) -> Self {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}
