//! Random inputs of the fuzz target, for files as Rust has them.

use crate::random::{Random, with_new_seeds};

#[path = "shared/disk.rs"]
mod disk;
#[allow(dead_code)] // other targets use the rest
#[path = "../../../fuzz/src/input.rs"]
mod input;
#[allow(dead_code)]
#[path = "shared/model.rs"]
mod model;
#[path = "shared/rust.rs"]
mod rust;

#[test]
fn any_order() {
    with_new_seeds(1000, |random| {
        let input = model::Input::random(&random.bytes(1000)).unwrap();
        println!("{input:?}"); // shown if the test fails
        model::check(&input, |setup| Box::new(rust::File::new(setup)));
    });
}
