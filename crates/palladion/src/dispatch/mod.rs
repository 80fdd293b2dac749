//! The backend in use: chosen once, at run time or when the program is compiled.

mod backend;
// Several backends are compiled in, or the environment variable may name one.
#[cfg_attr(
    any(
        all(palladion_one_backend, target_family = "wasm"),
        not(any(
            feature = "std",
            target_arch = "x86",
            all(target_arch = "x86_64", target_feature = "sse2"),
            all(target_arch = "aarch64", target_endian = "little"),
            all(target_family = "wasm", target_feature = "simd128")
        ))
    ),
    path = "fixed.rs"
)]
mod choice;

pub use backend::{Backend, BackendError, ENVIRONMENT_VARIABLE, backend, set_backend};
pub(crate) use choice::Chosen;
