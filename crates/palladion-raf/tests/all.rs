//! All tests of the public interface.

mod crash;
mod model;
mod pyaegis;
#[path = "../../palladion/tests/common/random.rs"]
mod random;
mod reference;
mod vectors;
