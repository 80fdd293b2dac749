//! All tests that run the command.

mod batches;
mod bound;
mod common;
mod files;
mod habits;
mod interrupted;
mod keys;
mod outputs;
mod parts;
mod raf;
mod recipients;
mod slots;
mod trees;
#[cfg(unix)]
mod waiting;
mod windows;
