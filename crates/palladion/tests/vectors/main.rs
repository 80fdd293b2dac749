//! Known answers on every backend: those of RFC 10032, Wycheproof and `vectors/`. Quick to compile,
//! for use while changing a kernel; the other tests are in `tests/all`.

#[path = "../common/mod.rs"]
mod common;

mod ours;
mod rfc;
mod wycheproof;
