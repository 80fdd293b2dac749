//! All tests of the public interface.

mod crash;
mod model;
mod pyaegis;
mod reference;
mod vectors;
