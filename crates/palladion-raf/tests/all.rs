//! All tests of the public interface.

mod any_order;
mod crash;
mod every_error;
mod failures;
#[path = "../../palladion/tests/common/random.rs"]
mod random;
mod reference;
mod storages;
mod together;
#[path = "shared/vectors.rs"]
mod vector_file;
mod vectors;
