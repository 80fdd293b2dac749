//! Initialisation vectors of 16 and 32 bytes.
//!
//! rustls 0.23 asks its key schedule for 12 bytes of IV, whatever the suite, and passes these to
//! the AEAD. AEGIS needs as many bytes as its nonce has, and HKDF-Expand-Label includes the length,
//! so they cannot be made from the 12.
//!
//! Therefore the key schedule of our suites recognises the request for an IV. It derives the IV at
//! its true length, keeps it in a table, and answers with its number in the table, 12 bytes long.
//! The AEAD, to which rustls gives that number at once, looks the IV up. What an expander (the
//! state of HKDF for one traffic secret) has put into the table is wiped and removed when the
//! expander is dropped. rustls holds it only while it derives a key and builds the cipher, so the
//! table is empty after each step of a handshake, whether or not it succeeded.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::crypto::cipher::Iv;
use rustls::crypto::hmac::{Hmac, Tag};
use rustls::crypto::tls13::{Hkdf, HkdfExpander, HkdfUsingHmac, OkmBlock, OutputLengthError};
use zeroize::Zeroizing;

/// What rustls passes to HKDF for an IV: HKDF-Expand-Label's length of 12 bytes, the label, and no
/// context (RFC 8446 §7.1 and §7.3; RFC 9001 §5.1; RFC 9369 §3.3.2).
const REQUESTS: [&[u8]; 3] =
    [b"\0\x0c\x08tls13 iv\0", b"\0\x0c\x0dtls13 quic iv\0", b"\0\x0c\x0ftls13 quicv2 iv\0"];

/// The IVs of live expanders, by the expander's number.
static IVS: Mutex<BTreeMap<u64, Zeroizing<Vec<u8>>>> = Mutex::new(BTreeMap::new());

pub(crate) fn table() -> MutexGuard<'static, BTreeMap<u64, Zeroizing<Vec<u8>>>> {
    IVS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the IV that was derived in place of rustls's 12 bytes, if it came from a [`KeySchedule`]
/// that is still deriving.
pub(crate) fn look_up(number: &Iv) -> Option<Zeroizing<Vec<u8>>> {
    let (number, _) = number.as_ref().split_first_chunk()?;
    table().get(&u64::from_be_bytes(*number)).cloned()
}

/// HKDF whose IVs have `iv_len` bytes.
pub(crate) struct KeySchedule {
    pub(crate) hmac: &'static dyn Hmac,
    pub(crate) iv_len: u16,
}

impl KeySchedule {
    fn hkdf(&self) -> HkdfUsingHmac<'static> {
        HkdfUsingHmac(self.hmac)
    }

    fn expander(&self, inner: Box<dyn HkdfExpander>) -> Box<dyn HkdfExpander> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Box::new(Expander { inner, iv_len: self.iv_len, number })
    }
}

impl Hkdf for KeySchedule {
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
        self.expander(self.hkdf().extract_from_zero_ikm(salt))
    }

    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander> {
        self.expander(self.hkdf().extract_from_secret(salt, secret))
    }

    fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
        self.expander(self.hkdf().expander_for_okm(okm))
    }

    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> Tag {
        self.hkdf().hmac_sign(key, message)
    }
}

struct Expander {
    inner: Box<dyn HkdfExpander>,
    iv_len: u16,
    number: u64,
}

impl HkdfExpander for Expander {
    fn expand_slice(&self, info: &[&[u8]], output: &mut [u8]) -> Result<(), OutputLengthError> {
        let mut request = info.concat();
        if !REQUESTS.contains(&&*request) {
            return self.inner.expand_slice(info, output);
        }
        let mut iv = Zeroizing::new(vec![0; self.iv_len.into()]);
        request[..2].copy_from_slice(&self.iv_len.to_be_bytes());
        self.inner.expand_slice(&[&request], &mut iv)?;
        table().insert(self.number, iv);
        let (number, rest) = output.split_first_chunk_mut().ok_or(OutputLengthError)?;
        *number = self.number.to_be_bytes();
        rest.fill(0);
        Ok(())
    }

    fn expand_block(&self, info: &[&[u8]]) -> OkmBlock {
        self.inner.expand_block(info)
    }

    fn hash_len(&self) -> usize {
        self.inner.hash_len()
    }
}

impl Drop for Expander {
    fn drop(&mut self) {
        table().remove(&self.number);
    }
}
