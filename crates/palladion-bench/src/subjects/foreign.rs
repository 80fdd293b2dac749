//! Libraries loaded at run time. This module and the two that use it have all `unsafe` of the
//! crate. It relies on one assumption: a library's functions with these names have these types.

use libloading::Library;

/// Loads a library and never unloads it, so its functions are always valid.
pub fn load(path: &str) -> Result<&'static Library, String> {
    // SAFETY: loading runs the library's initialisers. Those of libcrypto and of our own peer-aegis
    // have no requirements.
    let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
    Ok(Box::leak(Box::new(library)))
}

/// Finds a function by its name.
///
/// # Safety
///
/// `F` must be its type.
pub unsafe fn function<F: Copy>(library: &'static Library, name: &str) -> Result<F, String> {
    // SAFETY: the caller promises that `F` is the function's type, and the library is never
    // unloaded.
    unsafe { library.get::<F>(name) }.map(|symbol| *symbol).map_err(|error| error.to_string())
}
