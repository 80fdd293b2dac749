//! The WebAssembly inside of the JavaScript package: functions over one linear memory, without
//! generated glue.
//!
//! JavaScript is the only caller. It writes what a call needs to a [`Scratch`](memory::Scratch)
//! whose places never move, calls, and reads the results from there. Nothing is imported: random
//! bytes come from JavaScript as arguments.
//!
//! | file | what it is |
//! |---|---|
//! | `memory.rs` | the scratch memory, and what comes back: a number, or `FAILED` and a text |
//! | `cipher.rs` | messages and MACs in one call |
//! | `pieces.rs` | messages in pieces, for data longer than the scratch memory, and key streams |
//! | `file.rs` | encrypted files chunk by chunk, and key files |
//!
//! # Safety
//!
//! All functions are `unsafe` for the same reasons: they use the scratch memory, so no two of them
//! may run at the same time (WebAssembly without threads has no way to do that); and a handle must
//! be one that came from the function that makes such handles and was not freed. The classes on the
//! JavaScript side see to that. Lengths and numbers they check themselves.

#![allow(clippy::missing_safety_doc)] // the same for all: above

#[allow(unsafe_code)]
pub mod cipher;
mod failure;
#[allow(unsafe_code)]
pub mod file;
#[allow(unsafe_code)]
pub mod memory;
#[allow(unsafe_code)]
pub mod pieces;

/// Which build this is: 0 without SIMD, 1 with `simd128`, 2 with relaxed SIMD too.
#[allow(unsafe_code)] // the name is ours alone
#[unsafe(no_mangle)]
pub extern "C" fn pld_build() -> u32 {
    if cfg!(target_feature = "relaxed-simd") {
        2
    } else {
        u32::from(cfg!(target_feature = "simd128"))
    }
}
