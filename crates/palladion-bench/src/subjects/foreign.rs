//! Libraries that are loaded while the program runs. All `unsafe` of this crate is here and in the
//! two modules that use it, and rests on one assumption: a library that has these functions has
//! them with these types.

use libloading::Library;

/// Loads a library for good: nothing that comes from it can outlive it.
pub fn load(path: &str) -> Result<&'static Library, String> {
    // SAFETY: loading runs the library's initialisers; libcrypto and our own peer-aegis expect
    // nothing of the program.
    let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
    Ok(Box::leak(Box::new(library)))
}

/// A function, by its name.
///
/// # Safety
///
/// `F` must be its type.
pub unsafe fn function<F: Copy>(library: &'static Library, name: &str) -> Result<F, String> {
    // SAFETY: the caller's promise; the library is never unloaded.
    unsafe { library.get::<F>(name) }.map(|symbol| *symbol).map_err(|error| error.to_string())
}
