//! Random inputs of the fuzz target, for files as Rust has them.

use crate::random::with_new_seeds;
use crate::{model, rust};

#[test]
fn any_order() {
    with_new_seeds(1000, |random| {
        let input = model::Input::random(&random.bytes(1000)).unwrap();
        println!("{input:?}"); // shown if the test fails
        model::check(&input, |setup| Box::new(rust::File::new(setup)));
    });
}
