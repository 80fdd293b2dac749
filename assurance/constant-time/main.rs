//! Calls every public function of Rust that handles secrets, on every backend, while a tool watches
//! that no branch and no address depends on a secret: `scripts/check-constant-time.sh`. (Those of
//! C: crates/palladion-capi/tests/secrets.c.)
//!
//! `constant-time [--plant table|comparison|none] [--calls FILE] [BACKEND...]`
//!
//! Keys, nonces, messages, associated data, key streams and states are secret, and so is whatever
//! comes of them: ciphertexts and tags too, though everybody may see those. Public are lengths, and
//! whether a tag was right.
//!
//! With `--calls` it writes down which functions it called.

#![forbid(unsafe_code)]

#[cfg(palladion_secrecy)]
mod watched;

#[cfg(palladion_secrecy)]
fn main() -> std::process::ExitCode {
    watched::main()
}

#[cfg(not(palladion_secrecy))]
fn main() {
    eprintln!("built without --cfg palladion_secrecy: see scripts/check-constant-time.sh");
    std::process::exit(2);
}
