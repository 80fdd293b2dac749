//! The six algorithms behind one type each: the only place that knows how the core crate is called.

use std::fmt;
use std::str::FromStr;

use crate::Error;

pub(crate) const TAG_LEN: usize = 32;
pub(crate) type Tag = [u8; TAG_LEN];

/// Which AEGIS variant encrypts a file.
///
/// ```
/// use palladion_file::Algorithm;
///
/// assert_eq!(Algorithm::default(), Algorithm::Aegis256X2);
/// assert_eq!(Algorithm::Aegis128L.to_string(), "AEGIS-128L");
/// assert_eq!("aegis-256x4".parse(), Ok(Algorithm::Aegis256X4));
/// assert!("aes".parse::<Algorithm>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Algorithm {
    /// AEGIS-128L: 128-bit keys.
    Aegis128L = 1,
    /// AEGIS-128X2: 128-bit keys, two lanes.
    Aegis128X2 = 2,
    /// AEGIS-128X4: 128-bit keys, four lanes.
    Aegis128X4 = 3,
    /// AEGIS-256: 256-bit keys.
    Aegis256 = 4,
    /// AEGIS-256X2: 256-bit keys, two lanes.
    #[default]
    Aegis256X2 = 5,
    /// AEGIS-256X4: 256-bit keys, four lanes.
    Aegis256X4 = 6,
}

impl Algorithm {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] = [
        Self::Aegis128L,
        Self::Aegis128X2,
        Self::Aegis128X4,
        Self::Aegis256,
        Self::Aegis256X2,
        Self::Aegis256X4,
    ];

    /// The number in the header of a file.
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// The algorithm with this number.
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.id() == id)
    }

    /// The standard's name, like `AEGIS-256X2`.
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

    /// Length of a key, and of a nonce, in bytes.
    pub const fn key_len(self) -> usize {
        match self {
            Self::Aegis128L | Self::Aegis128X2 | Self::Aegis128X4 => 16,
            Self::Aegis256 | Self::Aegis256X2 | Self::Aegis256X4 => 32,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The name is the standard's in any case.
impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name().eq_ignore_ascii_case(name))
            .ok_or(UnknownAlgorithm)
    }
}

/// There is no algorithm of this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownAlgorithm;

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such algorithm; there are")?;
        for (i, algorithm) in Algorithm::ALL.into_iter().enumerate() {
            write!(f, "{} {}", if i == 0 { "" } else { "," }, algorithm.name())?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownAlgorithm {}

macro_rules! variants {
    ($($variant:ident, $mac:ident;)*) => {
        /// A cipher of any variant, with its key.
        pub(crate) enum Cipher {
            $($variant(palladion::$variant<TAG_LEN>),)*
        }

        impl Cipher {
            /// `key` has the length that the algorithm needs.
            pub fn new(algorithm: Algorithm, key: &[u8]) -> Result<Self, Error> {
                Ok(match algorithm {
                    $(Algorithm::$variant => Self::$variant(palladion::$variant::new(&key.try_into()?)),)*
                })
            }

            /// Only as much of the nonce is used as the algorithm takes.
            pub fn encrypt_in_place(&self, nonce: &[u8; 32], ad: &[u8], buffer: &mut [u8]) -> Result<Tag, Error> {
                Ok(match self {
                    $(Self::$variant(cipher) => {
                        let nonce = nonce[..palladion::$variant::<TAG_LEN>::KEY_LEN].try_into()?;
                        *cipher.encrypt_in_place(&nonce, ad, buffer)?.as_bytes()
                    })*
                })
            }

            /// `false` if the tag is wrong; then the buffer is zeroed.
            pub fn decrypt_in_place(
                &self,
                nonce: &[u8; 32],
                ad: &[u8],
                buffer: &mut [u8],
                tag: &Tag,
            ) -> Result<bool, Error> {
                let result = match self {
                    $(Self::$variant(cipher) => {
                        let nonce = nonce[..palladion::$variant::<TAG_LEN>::KEY_LEN].try_into()?;
                        cipher.decrypt_in_place(&nonce, ad, buffer, &(*tag).into())
                    })*
                };
                match result {
                    Ok(()) => Ok(true),
                    Err(palladion::Error::VerificationFailed) => Ok(false),
                    Err(error) => Err(error.into()),
                }
            }
        }

        /// A MAC of any variant, with what it has taken so far.
        #[derive(Clone)]
        pub(crate) enum AnyMac {
            $($variant(Box<palladion::$mac<TAG_LEN>>),)*
        }

        impl AnyMac {
            /// `key` has the length that the algorithm needs. The nonce is zero.
            pub fn new(algorithm: Algorithm, key: &[u8]) -> Result<Self, Error> {
                Ok(match algorithm {
                    $(Algorithm::$variant => {
                        let mac = palladion::$mac::new(&key.try_into()?, &Default::default())?;
                        Self::$variant(Box::new(mac))
                    })*
                })
            }

            pub fn update(&mut self, data: &[u8]) -> Result<(), Error> {
                match self {
                    $(Self::$variant(mac) => Ok(mac.update(data)?),)*
                }
            }

            pub fn finalize(self) -> Tag {
                match self {
                    $(Self::$variant(mac) => *mac.finalize().as_bytes(),)*
                }
            }
        }
    };
}

variants! {
    Aegis128L, Aegis128LMac;
    Aegis128X2, Aegis128X2Mac;
    Aegis128X4, Aegis128X4Mac;
    Aegis256, Aegis256Mac;
    Aegis256X2, Aegis256X2Mac;
    Aegis256X4, Aegis256X4Mac;
}
