//! The WebAssembly module of the JavaScript package: functions on one linear memory, without
//! generated glue.
//!
//! JavaScript is the only caller. It writes the arguments to a [`Scratch`](memory::Scratch), whose
//! address is fixed, calls a function, and reads the results from there. The module imports
//! nothing: random bytes come from JavaScript as arguments.
//! | file | contents |
//! |---|---|
//! | `memory.rs` | the scratch memory, and results: a number, or `FAILED` and a text |
//! | `cipher.rs` | messages and MACs in one call |
//! | `pieces.rs` | messages in pieces, for data longer than the scratch memory, and key streams |
//! | `file.rs` | encrypted files chunk by chunk, and key files |
//!
//! # Safety All functions have the same contract. They use the scratch memory, so only one may run
//! at a time, which WebAssembly without threads guarantees. A handle must come from the function
//! that creates such handles and must not have been freed, which the JavaScript classes guarantee.
//! The functions themselves check lengths and numbers.

#![allow(clippy::missing_safety_doc)] // see above: all have the same contract

#[allow(unsafe_code)]
pub mod cipher;
mod failure;
#[allow(unsafe_code)]
pub mod file;
#[allow(unsafe_code)]
pub mod memory;
#[allow(unsafe_code)]
pub mod pieces;

/// Returns the build: 0 without SIMD, 1 with `simd128`, 2 with relaxed SIMD too.
#[allow(unsafe_code)] // no other crate defines this name
#[unsafe(no_mangle)]
pub extern "C" fn pld_build() -> u32 {
    if cfg!(target_feature = "relaxed-simd") {
        2
    } else {
        u32::from(cfg!(target_feature = "simd128"))
    }
}
