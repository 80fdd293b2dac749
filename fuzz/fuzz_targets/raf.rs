//! RAF files, as Rust and as C have them: `model.rs` says what they must do.

#![no_main]

use libfuzzer_sys::fuzz_target;
use palladion_fuzz::{self as input, AnyBackend};
use palladion_fuzz_capi as _; // its functions have C's names

#[path = "../../crates/palladion-raf/tests/shared/c.rs"]
mod c;
#[path = "../../crates/palladion-raf/tests/shared/disk.rs"]
mod disk;
#[path = "../../crates/palladion-raf/tests/shared/model.rs"]
mod model;
#[path = "../../crates/palladion-raf/tests/shared/rust.rs"]
mod rust;

fuzz_target!(|input: model::Input| {
    AnyBackend(input.backend).set();
    model::check(&input, |setup| match input.through_c {
        true => Box::new(c::File::new(setup, input.at)),
        false => Box::new(rust::File::new(setup)),
    });
});
