//! The variants.

use std::default::Default;

pub(super) mod sealed {
    /// The private part of [`Algorithm`](super::Algorithm).
    pub trait Sealed {
        const ALGORITHM: palladion_raf::Algorithm;
    }
}

/// The variant of AEGIS of a file: the parameter of [`Raf`](super::Raf). Sealed.
pub trait Algorithm: sealed::Sealed {
    /// The key: `[u8; 16]` or `[u8; 32]`.
    type Key: AsRef<[u8]> + AsMut<[u8]> + Default;
    /// Bytes in a key.
    const KEY_LEN: usize;
    /// The variant's number in the header of a file.
    const ALG_ID: u8;
}

macro_rules! algorithms {
    ($($name:ident = $id:literal, $len:literal bytes, $text:literal;)*) => {
        $(
            #[doc = concat!($text, ", as the parameter of [`Raf`](super::Raf).")]
            pub struct $name;

            impl sealed::Sealed for $name {
                const ALGORITHM: palladion_raf::Algorithm = palladion_raf::Algorithm::$name;
            }

            impl Algorithm for $name {
                type Key = [u8; $len];
                const KEY_LEN: usize = $len;
                const ALG_ID: u8 = $id;
            }
        )*

        /// The variant of AEGIS of a file, as its header tells.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum AlgorithmId {
            $(
                #[doc = concat!($text, ".")]
                $name = $id,
            )*
        }

        impl From<palladion_raf::Algorithm> for Number {
            fn from(algorithm: palladion_raf::Algorithm) -> Self {
                Self(match algorithm {
                    $(palladion_raf::Algorithm::$name => AlgorithmId::$name,)*
                })
            }
        }
    };
}

/// Keeps the conversion out of the public interface.
pub(super) struct Number(pub AlgorithmId);

algorithms! {
    Aegis128L = 1, 16 bytes, "AEGIS-128L";
    Aegis128X2 = 2, 16 bytes, "AEGIS-128X2";
    Aegis128X4 = 3, 16 bytes, "AEGIS-128X4";
    Aegis256 = 4, 32 bytes, "AEGIS-256";
    Aegis256X2 = 5, 32 bytes, "AEGIS-256X2";
    Aegis256X4 = 6, 32 bytes, "AEGIS-256X4";
}
