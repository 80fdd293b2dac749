//! All tests of the public interface.

mod answers;
mod bound;
mod common;
mod damage;
mod engine;
mod failing_io;
mod file_answers;
#[path = "../../palladion/tests/common/random.rs"]
mod random;
mod round_trip;
mod seek;
mod slots;
#[cfg(feature = "tokio")]
mod tokio;
mod vectors;
