//! Recipients and identities, and the stanzas that they make and open.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use base64ct::{Base64Unpadded, Encoding};
use bech32::primitives::decode::CheckedHrpstring;
use bech32::{Bech32, Checksum, Hrp};
use hpke::aead::ChaCha20Poly1305 as HpkeCipher;
use hpke::kdf::HkdfSha256;
use hpke::kem::XWing;
use hpke::rand_core::{TryCryptoRng, TryRng};
use hpke::{Deserializable, Kem, OpModeR, OpModeS, Serializable};
use x25519_dalek::{PublicKey, SharedSecret, StaticSecret};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::age_file::{FileKey, Stanza, aead, derive};
use crate::error::Error;

const X25519_INFO: &[u8] = b"age-encryption.org/v1/X25519";
const HYBRID_INFO: &[u8] = b"age-encryption.org/mlkem768x25519";
/// Where the X25519 share begins in X-Wing's ciphertext.
const SHARE_AT: usize = 1088;
/// Where the X25519 key begins in X-Wing's public key.
const PUBLIC_AT: usize = 1184;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    X25519,
    Hybrid,
}

impl Kind {
    fn stanza(self) -> &'static str {
        match self {
            Self::X25519 => "X25519",
            Self::Hybrid => "mlkem768x25519",
        }
    }

    fn recipient_prefix(self) -> &'static str {
        match self {
            Self::X25519 => "age",
            Self::Hybrid => "age1pq",
        }
    }

    fn identity_prefix(self) -> &'static str {
        match self {
            Self::X25519 => "AGE-SECRET-KEY-",
            Self::Hybrid => "AGE-SECRET-KEY-PQ-",
        }
    }
}

/// A public key that files can be encrypted for, as `age1…` in text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Recipient {
    kind: Kind,
    public: Box<[u8]>,
}

impl Recipient {
    /// Returns whether it is hybrid, hence safe against quantum computers.
    #[must_use]
    pub fn is_hybrid(&self) -> bool {
        self.kind == Kind::Hybrid
    }

    pub(crate) fn stanza_type(&self) -> &'static str {
        self.kind.stanza()
    }

    /// Encrypts the key of an age file.
    pub(crate) fn wrap(&self, file_key: &FileKey) -> Result<Stanza<'static>, Error> {
        let (share, body) = match self.kind {
            Kind::X25519 => {
                let public = x25519_key(&self.public).ok_or(Error::NotARecipient)?;
                let mut secret = Zeroizing::new([0; 32]);
                getrandom::fill(&mut *secret)?;
                let secret = StaticSecret::from(*secret);
                let share = PublicKey::from(&secret);
                let key = x25519_wrapping_key(&secret.diffie_hellman(&public), &share, &public);
                (share.as_bytes().to_vec(), aead::seal(&key, false, &file_key[..]))
            }
            Kind::Hybrid => {
                let public = Deserializable::from_bytes(&self.public);
                let public = public.map_err(|_| Error::NotARecipient)?;
                let mut random = SystemRandom(None);
                let sealed = hpke::single_shot_seal_with_rng::<HpkeCipher, HkdfSha256, XWing>(
                    &OpModeS::Base,
                    &public,
                    HYBRID_INFO,
                    &file_key[..],
                    b"",
                    &mut random,
                );
                if let Some(error) = random.0 {
                    return Err(error.into());
                }
                let (share, body) = sealed.map_err(|_| Error::NotARecipient)?;
                (share.to_bytes().to_vec(), body)
            }
        };
        let args = vec![Base64Unpadded::encode_string(&share).into()];
        Ok(Stanza { kind: self.kind.stanza(), args, body })
    }
}

impl FromStr for Recipient {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let kind = match text {
            _ if text.starts_with("AGE-") => return Err(Error::IdentityAsRecipient),
            _ if text.starts_with("ssh-") => return Err(Error::Unsupported("an SSH key")),
            _ if text.starts_with("age1pq1") => Kind::Hybrid,
            _ if text.starts_with("age1") && text[4..].contains('1') => {
                return Err(Error::Unsupported("a recipient of a plugin"));
            }
            _ => Kind::X25519,
        };
        let public = decode(kind.recipient_prefix(), text).ok_or(Error::NotARecipient)?;
        let is_valid = match kind {
            Kind::X25519 => x25519_key(&public).is_some(),
            Kind::Hybrid => {
                <XWing as Kem>::PublicKey::from_bytes(&public).is_ok()
                    && x25519_key(&public[PUBLIC_AT..]).is_some()
            }
        };
        match is_valid {
            true => Ok(Self { kind, public: public.as_slice().into() }),
            false => Err(Error::NotARecipient),
        }
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = Hrp::parse_unchecked(self.kind.recipient_prefix());
        bech32::encode_lower_to_fmt::<Long, _>(f, prefix, &self.public).map_err(|_| fmt::Error)
    }
}

impl fmt::Debug for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recipient({self})")
    }
}

/// A secret key, which opens what is encrypted for its [recipient](Self::recipient). Wiped on drop.
pub struct Identity {
    kind: Kind,
    /// The secret scalar, or the seed of both hybrid keys.
    seed: Zeroizing<[u8; 32]>,
}

impl Identity {
    /// Generates an X25519 identity: short, and known to all programs for age files.
    ///
    /// # Errors
    ///
    /// [`Error::NoRandomness`].
    pub fn generate() -> Result<Self, Error> {
        Self::of_kind(Kind::X25519)
    }

    /// Generates a hybrid identity, which is safe against quantum computers. Its recipient has 1959
    /// characters, and programs know it since version 1.3 of `age`.
    ///
    /// # Errors
    ///
    /// [`Error::NoRandomness`].
    pub fn generate_hybrid() -> Result<Self, Error> {
        Self::of_kind(Kind::Hybrid)
    }

    fn of_kind(kind: Kind) -> Result<Self, Error> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *seed)?;
        Ok(Self { kind, seed })
    }

    /// Returns the public key.
    #[must_use]
    pub fn recipient(&self) -> Recipient {
        let public = match self.kind {
            Kind::X25519 => PublicKey::from(&StaticSecret::from(*self.seed)).as_bytes()[..].into(),
            Kind::Hybrid => XWing::sk_to_pk(&self.hybrid_key()).to_bytes()[..].into(),
        };
        Recipient { kind: self.kind, public }
    }

    /// Returns the identity as text, as it is in an identity file: a secret.
    #[must_use]
    pub fn to_text(&self) -> Zeroizing<String> {
        // Large enough, so that it does not grow and leave copies.
        let mut text = Zeroizing::new(String::with_capacity(128));
        let prefix = Hrp::parse_unchecked(self.kind.identity_prefix());
        bech32::encode_upper_to_fmt::<Long, _>(&mut *text, prefix, &*self.seed)
            .expect("the length is within the limits");
        text
    }

    fn hybrid_key(&self) -> <XWing as Kem>::PrivateKey {
        Deserializable::from_bytes(&*self.seed).expect("a key has 32 bytes")
    }

    /// Decrypts the key of an age file. `None`: the stanza is for others.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidAgeFile`] if the stanza is of this identity's type, but not valid.
    pub(crate) fn unwrap(&self, stanza: &Stanza<'_>) -> Result<Option<FileKey>, Error> {
        if stanza.kind != self.kind.stanza() {
            return Ok(None);
        }
        let invalid = || Error::InvalidAgeFile("a stanza is not valid");
        let [share] = &stanza.args[..] else { return Err(invalid()) };
        let share = Base64Unpadded::decode_vec(share).map_err(|_| invalid())?;
        if stanza.body.len() != 32 {
            return Err(invalid());
        }
        match self.kind {
            Kind::X25519 => {
                let share = x25519_key(&share).ok_or_else(invalid)?;
                let secret = StaticSecret::from(*self.seed);
                let (shared, own) = (secret.diffie_hellman(&share), PublicKey::from(&secret));
                let key = x25519_wrapping_key(&shared, &share, &own);
                Ok(aead::open(&key, false, &stanza.body).as_deref().and_then(file_key))
            }
            Kind::Hybrid => {
                let enc = Deserializable::from_bytes(&share).map_err(|_| invalid())?;
                x25519_key(&share[SHARE_AT..]).ok_or_else(invalid)?;
                let opened = hpke::single_shot_open::<HpkeCipher, HkdfSha256, XWing>(
                    &OpModeR::Base,
                    &self.hybrid_key(),
                    &enc,
                    HYBRID_INFO,
                    &stanza.body,
                    b"",
                );
                Ok(opened.ok().map(Zeroizing::new).as_deref().and_then(file_key))
            }
        }
    }
}

impl FromStr for Identity {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let kind = match text {
            _ if text.starts_with("age1") || text.starts_with("ssh-") => {
                return Err(Error::RecipientAsIdentity);
            }
            _ if text.starts_with("AGE-PLUGIN-") => {
                return Err(Error::Unsupported("an identity of a plugin"));
            }
            _ if text.starts_with("AGE-SECRET-KEY-PQ-") => Kind::Hybrid,
            _ => Kind::X25519,
        };
        let seed = decode(kind.identity_prefix(), text).ok_or(Error::NotAnIdentity)?;
        let seed = seed.as_slice().try_into().map_err(|_| Error::NotAnIdentity)?;
        Ok(Self { kind, seed: Zeroizing::new(seed) })
    }
}

impl ZeroizeOnDrop for Identity {}

/// Shows the public key.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.recipient())
    }
}

/// A key that is X25519's, and not one of the few that give everyone the same shared secret.
fn x25519_key(bytes: &[u8]) -> Option<PublicKey> {
    let key = PublicKey::from(<[u8; 32]>::try_from(bytes).ok()?);
    // Whatever the secret, because all secrets are multiples of the cofactor.
    StaticSecret::from([0; 32]).diffie_hellman(&key).was_contributory().then_some(key)
}

fn x25519_wrapping_key(
    shared: &SharedSecret,
    share: &PublicKey,
    recipient: &PublicKey,
) -> Zeroizing<[u8; 32]> {
    let salt = [share.to_bytes(), recipient.to_bytes()].concat();
    derive(shared.as_bytes(), &salt, X25519_INFO)
}

fn file_key(bytes: &Vec<u8>) -> Option<FileKey> {
    bytes.as_slice().try_into().ok().map(Zeroizing::new)
}

/// Bech32 without its limit of 90 characters, as age has it.
enum Long {}

impl Checksum for Long {
    type MidstateRepr = <Bech32 as Checksum>::MidstateRepr;
    type CorrectionField = <Bech32 as Checksum>::CorrectionField;
    const ROOT_GENERATOR: Self::CorrectionField = Bech32::ROOT_GENERATOR;
    const ROOT_EXPONENTS: std::ops::RangeInclusive<usize> = Bech32::ROOT_EXPONENTS;
    const CODE_LENGTH: usize = usize::MAX;
    const CHECKSUM_LENGTH: usize = Bech32::CHECKSUM_LENGTH;
    const GENERATOR_SH: [u32; 5] = Bech32::GENERATOR_SH;
    const TARGET_RESIDUE: u32 = Bech32::TARGET_RESIDUE;
}

/// Decodes a text with this prefix, in upper or lower case as the prefix is.
fn decode(prefix: &str, text: &str) -> Option<Zeroizing<Vec<u8>>> {
    text.strip_prefix(prefix)?.strip_prefix('1').filter(|data| !data.contains('1'))?;
    let checked = CheckedHrpstring::new::<Long>(text).ok()?;
    checked.validate_segwit_padding().ok()?;
    // Large enough from the start: growing would leave copies.
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len()));
    bytes.extend(checked.byte_iter());
    Some(bytes)
}

/// The system's random numbers. If it gives none, what was made of them must not be used.
struct SystemRandom(Option<getrandom::Error>);

impl TryRng for SystemRandom {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes).map(|()| u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes).map(|()| u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        if let Err(error) = getrandom::fill(bytes) {
            self.0.get_or_insert(error);
        }
        Ok(())
    }
}

impl TryCryptoRng for SystemRandom {}
