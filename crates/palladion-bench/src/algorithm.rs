//! The ciphers, the MACs and the operations that are measured.

use clap::ValueEnum;

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

/// A variant of AEGIS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub enum Variant {
    #[value(name = "128l")]
    Aegis128L,
    #[value(name = "128x2")]
    Aegis128X2,
    #[value(name = "128x4")]
    Aegis128X4,
    #[value(name = "256")]
    Aegis256,
    #[value(name = "256x2")]
    Aegis256X2,
    #[value(name = "256x4")]
    Aegis256X4,
}

impl Variant {
    pub const ALL: [Self; 6] = [
        Self::Aegis128L,
        Self::Aegis128X2,
        Self::Aegis128X4,
        Self::Aegis256,
        Self::Aegis256X2,
        Self::Aegis256X4,
    ];

    /// The library's type for the variant.
    pub const fn algorithm(self) -> palladion::Algorithm {
        palladion::Algorithm::ALL[self.index()]
    }

    pub const fn name(self) -> &'static str {
        self.algorithm().name()
    }

    /// The index in `ALL`.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The number of lanes.
    pub const fn degree(self) -> usize {
        [1, 2, 4][self.index() % 3]
    }

    const fn is_256(self) -> bool {
        self.index() >= 3
    }

    pub const fn key_len(self) -> usize {
        self.algorithm().key_len()
    }

    /// AES blocks in the state of one lane.
    pub const fn words(self) -> usize {
        if self.is_256() { 6 } else { 8 }
    }

    /// Bytes of message in one step.
    pub const fn rate(self) -> usize {
        self.degree() * if self.is_256() { 16 } else { 32 }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters() {
        for (i, variant) in Variant::ALL.into_iter().enumerate() {
            assert_eq!(variant.index(), i);
        }
        assert_eq!(Variant::Aegis128X4.rate(), 128);
        assert_eq!(Variant::Aegis256X2.rate(), 32);
        assert_eq!((Variant::Aegis256.words(), Variant::Aegis256.key_len()), (6, 32));
    }
}
