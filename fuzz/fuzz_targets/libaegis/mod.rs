//! libaegis in C (crate `aegis`), to compare with. Only the targets that name this module link it: its functions have the names of
//! our own C library.

use palladion::family::Family;

macro_rules! peer {
    ($module:ident $cipher:ident $mac:ident, $request:expr) => {{
        let Request { key, nonce, data, tag_len, what } = $request;
        let (key, nonce) = (key.try_into().expect("a key"), nonce.try_into().expect("a nonce"));
        match (what, tag_len) {
            (What::Aead(ad), 16) => {
                let (ct, tag) = aegis::$module::$cipher::<16>::new(key, nonce).encrypt(data, ad);
                (ct, tag.to_vec())
            }
            (What::Aead(ad), _) => {
                let (ct, tag) = aegis::$module::$cipher::<32>::new(key, nonce).encrypt(data, ad);
                (ct, tag.to_vec())
            }
            (What::Mac, 16) => {
                let mut mac = aegis::$module::$mac::<16>::new_with_nonce(key, nonce);
                mac.update(data);
                (Vec::new(), mac.finalize().to_vec())
            }
            (What::Mac, _) => {
                let mut mac = aegis::$module::$mac::<32>::new_with_nonce(key, nonce);
                mac.update(data);
                (Vec::new(), mac.finalize().to_vec())
            }
        }
    }};
}

struct Request<'a> {
    key: &'a [u8],
    nonce: &'a [u8],
    data: &'a [u8],
    tag_len: usize,
    what: What<'a>,
}

enum What<'a> {
    Aead(&'a [u8]),
    Mac,
}

fn peer<F: Family, const D: usize>(request: Request<'_>) -> Option<(Vec<u8>, Vec<u8>)> {
    Some(match (F::KEY_LEN, D) {
        (16, 1) => peer!(aegis128l Aegis128L Aegis128LMac, request),
        (16, 2) => peer!(aegis128x2 Aegis128X2 Aegis128X2Mac, request),
        (16, 4) => peer!(aegis128x4 Aegis128X4 Aegis128X4Mac, request),
        (32, 1) => peer!(aegis256 Aegis256 Aegis256Mac, request),
        (32, 2) => peer!(aegis256x2 Aegis256X2 Aegis256X2Mac, request),
        (32, 4) => peer!(aegis256x4 Aegis256X4 Aegis256X4Mac, request),
        _ => return None,
    })
}

/// Ciphertext and tag by libaegis (crate `aegis`), for the variants that it has.
#[allow(dead_code)] // each target takes what it needs
pub fn encrypt<F: Family, const D: usize>(
    key: &[u8],
    nonce: &[u8],
    ad: &[u8],
    data: &[u8],
    tag_len: usize,
) -> Option<(Vec<u8>, Vec<u8>)> {
    peer::<F, D>(Request { key, nonce, data, tag_len, what: What::Aead(ad) })
}

/// MAC by libaegis.
#[allow(dead_code)] // likewise
pub fn mac<F: Family, const D: usize>(
    key: &[u8],
    nonce: &[u8],
    data: &[u8],
    tag_len: usize,
) -> Option<Vec<u8>> {
    Some(peer::<F, D>(Request { key, nonce, data, tag_len, what: What::Mac })?.1)
}
