//! Encrypted files. The contracts are in `include/palladion_file.h`.

use core::ffi::{c_char, c_int};
use std::fs::File;
use std::path::Path;

use palladion_file::{Decryptor, Encryptor, Error};
use palladion_output::{Access, Identity, Target, duplicate, metadata, open_input, refuse_inputs};

mod failure;
mod reader;
mod secret;
mod stream;

use crate::status::OK;
use failure::Failure::{self, Number};
use failure::WRONG_ARGUMENT;
use secret::{Secret, path};

fn run(encrypt: bool, from: &File, to: &File, secret: &Secret) -> Result<(), Error> {
    if encrypt {
        Encryptor::new(secret.get()).kdf(secret.cost).run(from, to)?;
    } else {
        Decryptor::new(secret.get()).kdf_limits(secret.limits).run(from, to)?;
    }
    Ok(())
}

fn by_name(
    encrypt: bool,
    from: &Path,
    to: &Path,
    secret: &Secret,
    flags: c_int,
) -> Result<(), Failure> {
    /// C's `PALLADION_FILE_REPLACE`.
    const REPLACE: c_int = 1;
    if flags & !REPLACE != 0 {
        return Err(WRONG_ARGUMENT);
    }
    let input = open_input(from)?;
    if metadata(&input)?.is_some_and(|found| found.is_dir()) {
        return Err(Number(libc::EISDIR));
    }
    let identity = Identity::of(&input);
    let inputs = not_to(&identity, secret);
    let target = Target::check(to, flags & REPLACE != 0, Access::Usual, &inputs)?;
    let output = target.permissions_of(&input).open()?;
    run(encrypt, &input, output.file(), secret)?;
    Ok(output.commit()?)
}

fn by_descriptor(encrypt: bool, from: c_int, to: c_int, secret: &Secret) -> Result<(), Failure> {
    let file = |number: c_int| match u32::try_from(number) {
        Ok(number) => Ok(duplicate(number)?),
        Err(_) => Err(Number(libc::EBADF)),
    };
    let (input, output) = (file(from)?, file(to)?);
    let (from, to) = (Identity::of(&input), Identity::of(&output));
    refuse_inputs(Path::new(""), &to, &not_to(&from, secret))?;
    Ok(run(encrypt, &input, &output, secret)?)
}

/// What the output may not be.
fn not_to<'a>(input: &'a Identity, secret: &'a Secret) -> Vec<(&'static str, &'a Identity)> {
    let key = secret.file.as_ref().map(|file| ("key", file));
    [("input", input)].into_iter().chain(key).collect()
}

fn result(done: Result<(), Failure>) -> c_int {
    done.map_or_else(|failure| failure.report(), |()| OK)
}

/// # Safety
/// `from` and `to` null or ended by a zero; `secret` null, or from `palladion_secret_from_…` and
/// not freed.
unsafe fn names(
    encrypt: bool,
    from: *const c_char,
    to: *const c_char,
    secret: *const Secret,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's contract.
    let arguments = unsafe { (path(from), path(to), secret.as_ref()) };
    result(match arguments {
        (Ok(from), Ok(to), Some(secret)) => by_name(encrypt, from, to, secret, flags),
        _ => Err(WRONG_ARGUMENT),
    })
}

/// # Safety
/// `secret` null, or from `palladion_secret_from_…` and not freed.
unsafe fn descriptors(encrypt: bool, from: c_int, to: c_int, secret: *const Secret) -> c_int {
    // SAFETY: the caller's contract.
    let secret = unsafe { secret.as_ref() }.ok_or(WRONG_ARGUMENT);
    result(secret.and_then(|secret| by_descriptor(encrypt, from, to, secret)))
}

/// # Safety
/// That of `names`.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_encrypt_file(
    from: *const c_char,
    to: *const c_char,
    secret: *const Secret,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { names(true, from, to, secret, flags) }
}

/// # Safety
/// That of `names`.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_decrypt_file(
    from: *const c_char,
    to: *const c_char,
    secret: *const Secret,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { names(false, from, to, secret, flags) }
}

/// # Safety
/// That of `descriptors`.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_encrypt_fd(from: c_int, to: c_int, secret: *const Secret) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { descriptors(true, from, to, secret) }
}

/// # Safety
/// That of `descriptors`.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_decrypt_fd(from: c_int, to: c_int, secret: *const Secret) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { descriptors(false, from, to, secret) }
}
