//! All tests of the public interface.

mod common;
mod damage;
mod failing_io;
#[path = "../../palladion/tests/common/random.rs"]
mod random;
mod round_trip;
mod seek;
#[cfg(feature = "tokio")]
mod tokio;
mod vectors;
