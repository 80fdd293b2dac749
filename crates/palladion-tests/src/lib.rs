//! Nothing but tests of the core: `tests/all`, `tests/backend.rs`.

#![forbid(unsafe_code)]
