//! All tests of the public interface.

mod common;
mod damage;
mod failing_io;
mod round_trip;
mod vectors;
