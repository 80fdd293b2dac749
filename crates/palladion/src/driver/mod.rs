//! The loops around the state machines. The driver is the only caller of kernels.
//!
//! | file | contents |
//! |---|---|
//! | `variant.rs` | the parameters of a variant: lengths, degree, and where its kernels are |
//! | `message.rs` | a whole message in one call: init, absorb, encrypt or decrypt, finalize |
//! | `state.rs` | the same sequence for a state that is kept in memory between calls |
//! | `batch.rs` | several messages side by side, each in its own lanes |
//! | `steps.rs` | the loop over the steps of some data |
//! | `tag.rs` | tags: the sum over the lanes, the comparison, the end of a MAC |
//! | `table.rs` | a backend's table of kernels, and the macro that defines one |
//! | `scrub.rs` | wiping the stack where kernels spill secrets to it |
//!
//! A state of degree D is kept as D / LANES *groups*, each with the words of `LANES` lanes. Lanes
//! are independent until the tag, so a short message is processed group by group. For a long one,
//! the groups take turns over chunks that stay in the first-level cache (the "periodic
//! synchronisation" of the 2023 paper, §6).

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
