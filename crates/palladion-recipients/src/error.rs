//! What can go wrong.

use std::{error, fmt};

/// Why a recipient, an identity or an age file is refused. No variant contains a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The text is not a recipient, or has a typing error.
    NotARecipient,
    /// The text is not an identity, or has a typing error.
    NotAnIdentity,
    /// A secret identity was given where a public recipient is expected.
    IdentityAsRecipient,
    /// A public recipient was given where a secret identity is expected.
    RecipientAsIdentity,
    /// Another kind of key, which this crate does not implement: the program `age` may.
    Unsupported(&'static str),
    /// An error in this line of a file.
    Line(usize, Box<Error>),
    /// A file names no recipient, or no identity.
    Empty,
    /// Hybrid recipients and others were to open one file. Whoever breaks the others with a quantum
    /// computer would get what the hybrid ones protect.
    Mixed,
    /// The passphrase does not open the identity file.
    WrongPassphrase,
    /// To try a passphrase would take more memory than the limits allow, both in KiB.
    TooCostly {
        /// What it would take.
        memory_kib: u64,
        /// What is allowed.
        limit: u32,
    },
    /// There is not enough memory to try a passphrase.
    NoMemory,
    /// An age file is damaged, or not as the specification demands.
    InvalidAgeFile(&'static str),
    /// The system gives no random numbers.
    NoRandomness(String),
}

impl Error {
    /// Returns what to do about it, if that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotARecipient => "a recipient begins with age1; compare it with the original",
            Self::NotAnIdentity => {
                "an identity begins with AGE-SECRET-KEY-; compare it with the original"
            }
            Self::IdentityAsRecipient => {
                "name its recipient, which begins with age1; keep the identity to yourself"
            }
            Self::RecipientAsIdentity => {
                "name the file with the identity, which begins with AGE-SECRET-KEY-"
            }
            Self::Unsupported(_) => "use a key of age, or the program age",
            Self::Line(_, error) => return error.hint(),
            Self::Mixed => {
                "name only recipients that begin with age1pq1, or only others; keys and \
                 passphrases may join both"
            }
            Self::InvalidAgeFile(_) => "if it is damaged, use another copy of it",
            Self::TooCostly { .. } => "if you trust the identity file, allow more memory",
            _ => return None,
        })
    }

    /// Returns whether it is a kind of key that this crate does not implement.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        match self {
            Self::Unsupported(_) => true,
            Self::Line(_, error) => error.is_unsupported(),
            _ => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotARecipient => f.write_str("not a valid recipient"),
            Self::NotAnIdentity => f.write_str("not a valid identity"),
            Self::IdentityAsRecipient => {
                f.write_str("a secret identity, where a public recipient belongs")
            }
            Self::RecipientAsIdentity => {
                f.write_str("a public recipient, where a secret identity belongs")
            }
            Self::Unsupported(what) => write!(f, "{what} is not supported"),
            Self::Line(line, error) => write!(f, "line {line}: {error}"),
            Self::Empty => f.write_str("it has only empty lines and comments"),
            Self::Mixed => {
                f.write_str("quantum-safe recipients (age1pq1…) cannot share a file with others")
            }
            Self::WrongPassphrase => f.write_str("wrong passphrase for the identity file"),
            Self::TooCostly { memory_kib, limit } => write!(
                f,
                "the passphrase of the identity file takes {memory_kib} KiB of memory, and at \
                 most {limit} KiB are allowed"
            ),
            Self::NoMemory => f.write_str("not enough memory to try the passphrase"),
            Self::InvalidAgeFile(why) => write!(f, "invalid age file: {why}"),
            Self::NoRandomness(error) => write!(f, "no random numbers: {error}"),
        }
    }
}

impl error::Error for Error {}

impl From<getrandom::Error> for Error {
    fn from(error: getrandom::Error) -> Self {
        Self::NoRandomness(error.to_string())
    }
}
