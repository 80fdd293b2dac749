//! OpenSSL, if the machine has libcrypto version 3. It is loaded at run time and not needed to
//! build.

use std::ffi::{CStr, c_char, c_int, c_uchar, c_ulong, c_void};
use std::hint::black_box;
use std::ptr::{null, null_mut};

use libloading::Library;

use super::foreign::{function, load};
use super::subject::{Entry, Job, KEY, NONCE, Subject, TAG_LEN};
use crate::algorithm::{Algorithm, Operation};

pub const LIBRARY: &str = "OpenSSL";

const FILES: [&str; 3] = ["libcrypto.so.3", "libcrypto.3.dylib", "libcrypto-3-x64.dll"];
const SET_IV_LEN: c_int = 0x9;
const GET_TAG: c_int = 0x10;
const SET_TAG: c_int = 0x11;
const IV_LEN: c_int = 12;

type Init = unsafe extern "C" fn(
    *mut c_void,
    *const c_void,
    *const c_void,
    *const c_uchar,
    *const c_uchar,
) -> c_int;
type Update =
    unsafe extern "C" fn(*mut c_void, *mut c_uchar, *mut c_int, *const c_uchar, c_int) -> c_int;
type Final = unsafe extern "C" fn(*mut c_void, *mut c_uchar, *mut c_int) -> c_int;
type Ctrl = unsafe extern "C" fn(*mut c_void, c_int, c_int, *mut c_void) -> c_int;

/// One direction of `EVP_Encrypt...` and `EVP_Decrypt...`.
#[derive(Clone, Copy)]
struct Direction {
    init: Init,
    update: Update,
    finish: Final,
    ctrl: Ctrl,
}

pub fn entries() -> Result<Vec<Entry>, String> {
    let library =
        FILES.iter().find_map(|file| load(file).ok()).ok_or("libcrypto.so.3 not found")?;
    // SAFETY: these are the types in OpenSSL 3's <openssl/crypto.h> and <openssl/evp.h>;
    // OpenSSL_version returns a static string.
    let (version, new, directions) = unsafe {
        let version: unsafe extern "C" fn(c_int) -> *const c_char =
            function(library, "OpenSSL_version")?;
        let number: unsafe extern "C" fn() -> c_ulong = function(library, "OpenSSL_version_num")?;
        if number() >> 28 != 3 {
            return Err("libcrypto must have version 3".into());
        }
        let new: unsafe extern "C" fn() -> *mut c_void = function(library, "EVP_CIPHER_CTX_new")?;
        let ctrl = function(library, "EVP_CIPHER_CTX_ctrl")?;
        let direction = |init, update, finish| {
            Ok::<_, String>(Direction {
                init: function(library, init)?,
                update: function(library, update)?,
                finish: function(library, finish)?,
                ctrl,
            })
        };
        let directions = [
            direction("EVP_EncryptInit_ex", "EVP_EncryptUpdate", "EVP_EncryptFinal_ex")?,
            direction("EVP_DecryptInit_ex", "EVP_DecryptUpdate", "EVP_DecryptFinal_ex")?,
        ];
        (CStr::from_ptr(version(0)).to_string_lossy().into_owned(), new, directions)
    };
    let ciphers = [
        (Algorithm::Aes128Gcm, "EVP_aes_128_gcm"),
        (Algorithm::Aes256Gcm, "EVP_aes_256_gcm"),
        (Algorithm::Aes128Ocb, "EVP_aes_128_ocb"),
        (Algorithm::Aes256Ocb, "EVP_aes_256_ocb"),
        (Algorithm::Chacha20Poly1305, "EVP_chacha20_poly1305"),
    ];
    let mut entries = Vec::new();
    for (algorithm, name) in ciphers {
        // SAFETY: `Context::new` created a context for each direction with these functions, and it
        // is never freed.
        let cipher = unsafe { Cipher::new(library, name, new, directions) }?;
        entries.push(Entry::new(algorithm, LIBRARY, &version, Box::new(cipher)));
    }
    Ok(entries)
}

/// A context with its key schedule for each direction.
struct Cipher([(Direction, *mut c_void); 2]);

impl Cipher {
    /// # Safety
    ///
    /// `name` must be a function that returns an AEAD, and `new` and `directions` OpenSSL's
    /// functions.
    unsafe fn new(
        library: &'static Library,
        name: &str,
        new: unsafe extern "C" fn() -> *mut c_void,
        directions: [Direction; 2],
    ) -> Result<Self, String> {
        let mut contexts = [null_mut(); 2];
        // SAFETY: the caller promises the types of the functions; the key has at least as many
        // bytes as the cipher needs.
        unsafe {
            let cipher: unsafe extern "C" fn() -> *const c_void = function(library, name)?;
            for (context, direction) in contexts.iter_mut().zip(directions) {
                *context = new();
                let ok = !context.is_null()
                    && (direction.init)(*context, cipher(), null(), null(), null()) == 1
                    && (direction.ctrl)(*context, SET_IV_LEN, IV_LEN, null_mut()) == 1
                    && (direction.init)(*context, null(), null(), KEY.as_ptr(), NONCE.as_ptr())
                        == 1;
                if !ok {
                    return Err(format!("{name} cannot be set up"));
                }
            }
        }
        Ok(Self([(directions[0], contexts[0]), (directions[1], contexts[1])]))
    }
}

impl Subject for Cipher {
    fn run(&mut self, job: &mut Job, repeats: u64) -> Result<(), String> {
        let decrypts = job.operation == Operation::Decrypt;
        let (Direction { init, update, finish, ctrl }, context) = self.0[usize::from(decrypts)];
        let len = job.output.len();
        let c_len = c_int::try_from(len).map_err(|error| error.to_string())?;
        let ad_len = c_int::try_from(job.ad.len()).map_err(|error| error.to_string())?;
        assert!(job.input.len() == len);
        for _ in 0..repeats {
            let job = black_box(&mut *job);
            let (input, output) = (job.input.as_ptr(), job.output.as_mut_ptr());
            let tag = job.tag.as_mut_ptr();
            let mut written = 0;
            // SAFETY: no other code uses the context; the pointers come from slices of these
            // lengths, and a tag has 16 bytes. The AEAD writes as many bytes as it reads. OCB may
            // keep a partial block until the final call, where the output pointer is still valid.
            let ok = unsafe {
                init(context, null(), null(), null(), NONCE.as_ptr()) == 1
                    && (ad_len == 0
                        || update(context, null_mut(), &mut written, job.ad.as_ptr(), ad_len) == 1)
                    && (!decrypts || ctrl(context, SET_TAG, TAG_LEN as c_int, tag.cast()) == 1)
                    && {
                        written = 0;
                        c_len == 0 || update(context, output, &mut written, input, c_len) == 1
                    }
                    && finish(context, output.add(written as usize), &mut written) == 1
                    && (decrypts || ctrl(context, GET_TAG, TAG_LEN as c_int, tag.cast()) == 1)
            };
            if !ok {
                return Err("OpenSSL: a call failed".into());
            }
        }
        Ok(())
    }
}
