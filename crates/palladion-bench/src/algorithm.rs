//! The ciphers, the MACs and the operations that are measured.

/// A variant of AEGIS.
pub use palladion::Algorithm as Variant;

/// A cipher or a MAC, independent of its implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    Aes128Gcm,
    Aes256Gcm,
    Aes128Ocb,
    Aes256Ocb,
    Chacha20Poly1305,
    HiAe,
    Blake3,
    HmacSha256,
    Aegis(Variant),
}

impl Algorithm {
    /// All but AEGIS.
    pub const OTHERS: [Self; 8] = [
        Self::Aes128Gcm,
        Self::Aes256Gcm,
        Self::Aes128Ocb,
        Self::Aes256Ocb,
        Self::Chacha20Poly1305,
        Self::HiAe,
        Self::Blake3,
        Self::HmacSha256,
    ];

    /// The algorithm with this name.
    pub fn named(name: &str) -> Option<Self> {
        let aegis = Variant::ALL.into_iter().map(Self::Aegis);
        aegis.chain(Self::OTHERS).find(|algorithm| algorithm.name() == name)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Aegis(variant) => variant.name(),
            Self::Aes128Gcm => "AES-128-GCM",
            Self::Aes256Gcm => "AES-256-GCM",
            Self::Aes128Ocb => "AES-128-OCB",
            Self::Aes256Ocb => "AES-256-OCB",
            Self::Chacha20Poly1305 => "ChaCha20-Poly1305",
            Self::HiAe => "HiAE",
            Self::Blake3 => "BLAKE3 keyed",
            Self::HmacSha256 => "HMAC-SHA256",
        }
    }

    pub const fn key_len(self) -> usize {
        match self {
            Self::Aegis(variant) => variant.key_len(),
            Self::Aes128Gcm | Self::Aes128Ocb => 16,
            _ => 32,
        }
    }

    pub const fn can(self, operation: Operation) -> bool {
        match self {
            Self::Aegis(_) => true,
            Self::Blake3 | Self::HmacSha256 => matches!(operation, Operation::Mac),
            _ => !matches!(operation, Operation::Mac),
        }
    }
}

impl From<Variant> for Algorithm {
    fn from(variant: Variant) -> Self {
        Self::Aegis(variant)
    }
}

/// An operation on one message. `batch.rs` has those on several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    Encrypt,
    Decrypt,
    Mac,
}

impl Operation {
    pub const ALL: [Self; 3] = [Self::Encrypt, Self::Decrypt, Self::Mac];

    /// The operation with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Encrypt => "encrypt",
            Self::Decrypt => "decrypt",
            Self::Mac => "MAC",
        }
    }
}
