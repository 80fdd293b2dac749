//! Keys and passphrases: C's `palladion_secret`.

use core::ffi::{CStr, c_char, c_int};
use std::io::Read;
use std::path::Path;
use std::ptr;

use palladion_file::{KdfLimits, KdfParams, MasterKey, Passphrase, Secret as Borrowed};
use palladion_output::{Identity, descriptor, open_input, open_to_others};
use zeroize::Zeroizing;

use super::failure::Failure::{self, Number};
use super::failure::WRONG_ARGUMENT;
use crate::memory::bytes;
use crate::status::ensure_backend;

/// The longest key file, in bytes, as for the command. A longer file is something else.
const LONGEST_KEY_FILE: usize = 64 << 10;

#[derive(Clone)]
pub(crate) struct Secret {
    kind: Kind,
    /// The key file, which no output may replace.
    pub(crate) file: Option<Identity>,
    /// What to spend on a new file.
    pub(crate) cost: KdfParams,
    /// What an existing file may cost.
    pub(crate) limits: KdfLimits,
}

#[derive(Clone)]
enum Kind {
    Key(MasterKey),
    Passphrase(Passphrase),
}

impl Secret {
    fn key(key: MasterKey, file: Option<Identity>) -> Self {
        let (cost, limits) = (KdfParams::default(), KdfLimits::default());
        Self { kind: Kind::Key(key), file, cost, limits }
    }

    fn passphrase(passphrase: &[u8], memory_kib: u32, passes: u32) -> Option<Self> {
        let usual = KdfParams::default();
        let or = |given, default| if given == 0 { default } else { given };
        let (memory_kib, passes) = (or(memory_kib, usual.memory_kib()), or(passes, usual.passes()));
        let cost = KdfParams::new(memory_kib, passes, usual.lanes())?;
        let mut limits = KdfLimits::default();
        limits.memory_kib = limits.memory_kib.max(memory_kib);
        limits.passes = limits.passes.max(passes);
        limits.work_kib = limits.work_kib.max(memory_kib.saturating_mul(passes));
        Some(Self { kind: Kind::Passphrase(Passphrase::new(passphrase)), file: None, cost, limits })
    }

    fn key_file(path: &Path) -> Result<Self, Failure> {
        let mut file = open_input(path)?;
        let identity = Identity::of(&file);
        // The program that opened a descriptor decides who may read it.
        if descriptor(path).is_none() && open_to_others(&file).is_some() {
            return Err(Number(libc::EACCES));
        }
        // Large enough from the start: growing would leave copies in freed memory.
        let mut text = Zeroizing::new(Vec::with_capacity(LONGEST_KEY_FILE + 1));
        (&mut file).take(LONGEST_KEY_FILE as u64 + 1).read_to_end(&mut text)?;
        let text = std::str::from_utf8(&text).ok().filter(|text| text.len() <= LONGEST_KEY_FILE);
        match text.map(MasterKey::from_key_file) {
            Some(Ok(key)) => Ok(Self::key(key, Some(identity))),
            _ => Err(Number(libc::EBADMSG)),
        }
    }

    pub(crate) fn get(&self) -> Borrowed<'_> {
        match &self.kind {
            Kind::Key(key) => key.into(),
            Kind::Passphrase(passphrase) => passphrase.into(),
        }
    }
}

/// Gives something to C, or a null pointer and its `errno`.
pub(crate) fn hand_over<T>(made: Result<T, Failure>) -> *mut T {
    match made {
        Ok(made) => Box::into_raw(Box::new(made)),
        Err(failure) => {
            let _is_in_errno: c_int = failure.report();
            ptr::null_mut()
        }
    }
}

/// A path from C.
///
/// # Safety
/// `path` null, or ends with a zero and lives as long as the result.
pub(crate) unsafe fn path<'a>(path: *const c_char) -> Result<&'a Path, Failure> {
    if path.is_null() {
        return Err(WRONG_ARGUMENT);
    }
    // SAFETY: the caller's contract.
    let path = unsafe { CStr::from_ptr(path) };
    #[cfg(unix)]
    let path = {
        use std::os::unix::ffi::OsStrExt;
        std::ffi::OsStr::from_bytes(path.to_bytes())
    };
    #[cfg(not(unix))]
    let path = path.to_str().map_err(|_| WRONG_ARGUMENT)?;
    Ok(Path::new(path))
}

/// # Safety
/// `k` null, or readable for 32 bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_secret_from_key(k: *const u8) -> *mut Secret {
    ensure_backend();
    // SAFETY: the caller's contract.
    let key = unsafe { k.cast::<[u8; 32]>().as_ref() };
    hand_over(key.map(|key| Secret::key((*key).into(), None)).ok_or(WRONG_ARGUMENT))
}

/// # Safety
/// `from` null, or ends with a zero.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_secret_from_key_file(from: *const c_char) -> *mut Secret {
    ensure_backend();
    // SAFETY: the caller's contract.
    hand_over(unsafe { path(from) }.and_then(Secret::key_file))
}

/// # Safety
/// `passphrase` readable for `len` bytes; null only if there are none.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_secret_from_passphrase(
    passphrase: *const u8,
    len: usize,
    memory_kib: u32,
    passes: u32,
) -> *mut Secret {
    ensure_backend();
    // SAFETY: the caller's contract.
    let passphrase = unsafe { bytes(passphrase, len) };
    let secret = passphrase.and_then(|bytes| Secret::passphrase(bytes, memory_kib, passes));
    hand_over(secret.ok_or(WRONG_ARGUMENT))
}

/// # Safety
/// `secret` null, or from one of the functions above and not freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_secret_free(secret: *mut Secret) {
    if !secret.is_null() {
        // SAFETY: `hand_over` made it with `Box::into_raw`; the caller promises the rest.
        drop(unsafe { Box::from_raw(secret) });
    }
}
