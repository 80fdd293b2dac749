//! The loops around the state machines, and the only callers of kernels.
//!
//! | file | what it is |
//! |---|---|
//! | `variant.rs` | what the driver must know of a variant: lengths, degree, and where its kernels are |
//! | `message.rs` | a whole message in one call: init, absorb, encrypt or decrypt, finalize |
//! | `state.rs` | the same sequence for a state that rests in memory between calls |
//! | `batch.rs` | several messages side by side, each in lanes of its own |
//! | `steps.rs` | going over data step by step |
//! | `tag.rs` | tags: the sum over the lanes, the comparison, the end of a MAC |
//! | `table.rs` | the table of kernels of a backend, and the macro that makes one |
//! | `scrub.rs` | wiping the stack where kernels spill secrets to it |
//!
//! A state of degree D is kept as D / LANES *groups*, each the words of `LANES` lanes. Lanes never
//! meet before the tag, so short messages are worked on group by group. Long ones take turns over
//! chunks that stay in the first-level cache (the "periodic synchronisation" of the 2023 paper,
//! §6).

pub(crate) mod batch;
pub(crate) mod message;
pub(crate) mod scrub;
pub(crate) mod state;
mod steps;
pub(crate) mod table;
mod tag;
#[cfg(all(test, feature = "std"))]
mod tests;
pub(crate) mod variant;

pub use message::Message;
pub(crate) use state::State;
pub(crate) use steps::{Data, Work};
pub(crate) use variant::{Parameters, Variant};
