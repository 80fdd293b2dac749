//! All tests that run the command.

mod common;
mod files;
mod interrupted;
mod keys;
mod raf;
