//! All tests of the public interface.

mod any_order;
mod crash;
#[path = "shared/disk.rs"]
mod disk;
mod every_error;
mod failures;
#[path = "../../../fuzz/src/input.rs"]
mod input;
#[path = "shared/model.rs"]
mod model;
#[path = "../../palladion/tests/common/random.rs"]
mod random;
mod reference;
#[path = "shared/rust.rs"]
mod rust;
mod storages;
mod together;
#[path = "shared/vectors.rs"]
mod vector_file;
mod vectors;

use random::Random; // for `input`
