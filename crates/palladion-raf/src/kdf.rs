//! Keys that are derived from others, with TurboSHAKE.

use turboshake::digest::{ExtendableOutput, Update};
use turboshake::{TurboShake128, TurboShake256};
use zeroize::Zeroizing;

use crate::{Error, Result};

/// The longest key, in bytes.
pub(crate) const MAX_KEY_LEN: usize = 32;

/// Hashes with TurboSHAKE128 for keys of 16 bytes and TurboSHAKE256 for keys of 32, with domain
/// 0x1f.
fn turboshake(key_len: usize, inputs: &[&[u8]], out: &mut [u8]) {
    fn absorb<H: Default + Update + ExtendableOutput>(inputs: &[&[u8]], out: &mut [u8]) {
        let mut hash = H::default();
        for input in inputs {
            hash.update(input);
        }
        hash.finalize_xof_into(out);
    }
    if key_len == 16 {
        absorb::<TurboShake128>(inputs, out);
    } else {
        absorb::<TurboShake256>(inputs, out);
    }
}

/// Derives the keys of a file, one for its chunks and one for its header, each as long as the
/// master key.
pub(crate) fn file_keys(master_key: &[u8], file_id: &[u8]) -> Zeroizing<[u8; 2 * MAX_KEY_LEN]> {
    let len = master_key.len();
    let mut keys = Zeroizing::new([0; 2 * MAX_KEY_LEN]);
    turboshake(len, &[b"aegis-raf-kdf-v1", master_key, file_id], &mut keys[..2 * len]);
    keys
}

/// Derives a master key for one purpose from a key that serves several. The context names the
/// purpose; you choose it. The master key is as long as the key: 16 or 32 bytes.
///
/// # Errors
///
/// [`Error::KeyLength`]; [`Error::ContextLength`]: at most 120 bytes with a key of 16, 72 with one
/// of 32.
pub fn derive_master_key(key: &[u8], context: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
    let max = match key.len() {
        16 => 120,
        32 => 72,
        actual => {
            return Err(Error::KeyLength { expected: if actual < 16 { 16 } else { 32 }, actual });
        }
    };
    if context.len() > max {
        return Err(Error::ContextLength { max, actual: context.len() });
    }
    let len = (context.len() as u64).to_le_bytes();
    let mut master_key = Zeroizing::new(vec![0; key.len()]);
    turboshake(key.len(), &[b"aegis-raf-master-key-v1", key, &len, context], &mut master_key);
    Ok(master_key)
}
