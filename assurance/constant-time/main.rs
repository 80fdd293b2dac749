//! Handles secrets in every way that the Rust API has, while valgrind reports each branch and
//! address that depends on one. `assurance/constant-time.sh` runs it; `secrets.c` does the same for
//! the C API.
//!
//! `constant-time [--plant table|comparison] BACKEND`
//!
//! Keys, nonces, messages, associated data, key streams, states and all that is computed from them
//! are secret, including ciphertexts and tags. Lengths are public, and whether a tag is right.

#![forbid(unsafe_code)]

#[cfg(palladion_secrecy)]
mod watched;

#[cfg(palladion_secrecy)]
fn main() -> std::process::ExitCode {
    watched::main()
}

#[cfg(not(palladion_secrecy))]
fn main() {
    eprintln!("built without --cfg palladion_secrecy: use assurance/constant-time.sh");
    std::process::exit(2);
}
