//! Random inputs of the fuzz target, for files as C has them.

use random::{Random, with_new_seeds};

#[path = "../../palladion-raf/tests/shared/c.rs"]
mod c;
#[path = "../../palladion-raf/tests/shared/disk.rs"]
mod disk;
#[path = "../../../fuzz/src/input.rs"]
mod input;
#[path = "../../palladion-raf/tests/shared/model.rs"]
mod model;
#[path = "../../palladion/tests/common/random.rs"]
mod random;

#[test]
fn any_order() {
    with_new_seeds(1000, |random| {
        let input = model::Input::random(&random.bytes(1000)).unwrap();
        println!("{input:?}"); // shown if the test fails
        model::check(&input, |setup| Box::new(c::File::new(setup, input.at)));
    });
}
