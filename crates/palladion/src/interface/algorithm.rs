//! The six named ciphers, as values.

use core::fmt;
use core::str::FromStr;

use crate::interface::error::Error;

/// One of the six ciphers of RFC 10032 with a name, for programs that choose at run time. See
/// [`any`](crate::any).
///
/// ```
/// use palladion::Algorithm;
///
/// assert_eq!(Algorithm::default(), Algorithm::Aegis256X2);
/// assert_eq!(Algorithm::Aegis128L.to_string(), "AEGIS-128L");
/// assert_eq!("aegis-256x4".parse(), Ok(Algorithm::Aegis256X4));
/// assert_eq!("aegis256x4".parse(), Ok(Algorithm::Aegis256X4));
/// assert!("aes".parse::<Algorithm>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Algorithm {
    /// AEGIS-128L (RFC 10032 §3): keys and nonces of 16 bytes.
    Aegis128L = 1,
    /// AEGIS-128X2 (§5.4): keys and nonces of 16 bytes, two lanes.
    Aegis128X2 = 2,
    /// AEGIS-128X4 (§5.4): keys and nonces of 16 bytes, four lanes.
    Aegis128X4 = 3,
    /// AEGIS-256 (§4): keys and nonces of 32 bytes.
    Aegis256 = 4,
    /// AEGIS-256X2 (§5.5): keys and nonces of 32 bytes, two lanes.
    #[default]
    Aegis256X2 = 5,
    /// AEGIS-256X4 (§5.5): keys and nonces of 32 bytes, four lanes.
    Aegis256X4 = 6,
}

impl Algorithm {
    /// All algorithms, in the order of their numbers.
    pub const ALL: [Self; 6] = [
        Self::Aegis128L,
        Self::Aegis128X2,
        Self::Aegis128X4,
        Self::Aegis256,
        Self::Aegis256X2,
        Self::Aegis256X4,
    ];

    /// Returns the algorithm's number in encrypted files.
    #[must_use]
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// Returns the algorithm with this number.
    #[must_use]
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.id() == id)
    }

    /// Returns the standard's name, like `AEGIS-256X2`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aegis128L => "AEGIS-128L",
            Self::Aegis128X2 => "AEGIS-128X2",
            Self::Aegis128X4 => "AEGIS-128X4",
            Self::Aegis256 => "AEGIS-256",
            Self::Aegis256X2 => "AEGIS-256X2",
            Self::Aegis256X4 => "AEGIS-256X4",
        }
    }

    /// Returns the algorithm with this name, in upper or lower case. Hyphens are ignored.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        fn letters(name: &str) -> impl Iterator<Item = u8> {
            name.bytes().filter(|byte| *byte != b'-').map(|byte| byte.to_ascii_lowercase())
        }
        Self::ALL.into_iter().find(|algorithm| letters(algorithm.name()).eq(letters(name)))
    }

    /// Returns the length of a key and of a nonce in bytes: 16 or 32.
    #[must_use]
    pub const fn key_len(self) -> usize {
        match self {
            Self::Aegis128L | Self::Aegis128X2 | Self::Aegis128X4 => 16,
            Self::Aegis256 | Self::Aegis256X2 | Self::Aegis256X4 => 32,
        }
    }

    /// Checks that a length is that of a key or nonce.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`] with `what`.
    #[inline(always)]
    pub fn check_len(self, what: &'static str, actual: usize) -> Result<(), Error> {
        Error::check_length(what, actual, self.key_len())
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Parses the standard's name, as [`Algorithm::from_name`] does.
impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
        Self::from_name(name).ok_or(UnknownAlgorithm)
    }
}

/// The name is not that of an algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownAlgorithm;

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown algorithm; expected one of")?;
        for (i, algorithm) in Algorithm::ALL.into_iter().enumerate() {
            write!(f, "{} {}", if i == 0 { "" } else { "," }, algorithm.name())?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownAlgorithm {}

/// Calls a function that is generic over family and degree with those of an [`Algorithm`].
///
/// `with_algorithm!(algorithm, function(arguments))` calls `function::<F, D>(arguments)`.
///
/// ```
/// use palladion::family::Family;
/// use palladion::{Aegis, Algorithm, Error, with_algorithm};
///
/// fn seal<F: Family, const D: usize>(key: &[u8], nonce: &[u8]) -> Result<Vec<u8>, Error> {
///     let cipher = Aegis::<F, D, 16>::new(&F::Key::try_from(key)?);
///     cipher.seal(&F::Nonce::try_from(nonce)?, b"", b"message")
/// }
///
/// let sealed = with_algorithm!(Algorithm::Aegis128X2, seal(&[1; 16], &[2; 16]))?;
/// assert_eq!(sealed.len(), 7 + 16);
/// # Ok::<(), Error>(())
/// ```
#[macro_export]
macro_rules! with_algorithm {
    ($algorithm:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $algorithm {
            $crate::Algorithm::Aegis128L => {
                $function::<$crate::family::Aegis128, 1>($($argument),*)
            }
            $crate::Algorithm::Aegis128X2 => {
                $function::<$crate::family::Aegis128, 2>($($argument),*)
            }
            $crate::Algorithm::Aegis128X4 => {
                $function::<$crate::family::Aegis128, 4>($($argument),*)
            }
            $crate::Algorithm::Aegis256 => {
                $function::<$crate::family::Aegis256, 1>($($argument),*)
            }
            $crate::Algorithm::Aegis256X2 => {
                $function::<$crate::family::Aegis256, 2>($($argument),*)
            }
            $crate::Algorithm::Aegis256X4 => {
                $function::<$crate::family::Aegis256, 4>($($argument),*)
            }
        }
    };
}
