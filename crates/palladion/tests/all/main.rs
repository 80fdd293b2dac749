//! All tests except known answers (`tests/vectors`) and those that choose a backend in processes of
//! their own (`backend.rs`). They are one program, so that the code for all degrees is compiled
//! once.

#[path = "../common/mod.rs"]
mod common;

mod aead_traits;
mod any;
mod batch;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod bounds;
mod failure;
mod fills;
mod historic;
mod in_vector;
mod lengths;
mod pieces;
mod reference;
mod sealer;
mod small;
mod states;
