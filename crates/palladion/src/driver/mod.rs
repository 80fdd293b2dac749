//! The loops around the state machines. The driver is the only caller of kernels.
//!
//! From the bottom up; each imports only from those above it in this table:
//!
//! | file | contents |
//! |---|---|
//! | `scrub.rs` | wiping the stack where kernels spill secrets to it |
//! | `kernels.rs` | the types of kernels, their contracts, and tables of them |
//! | `kernel/` | the bodies of kernels |
//! | `features.rs` | kernels compiled for a CPU's features |
//! | `variant.rs` | the parameters of a variant: lengths, degree, and where its kernels are |
//! | `state.rs` | callers: a state that is kept in memory between calls |
//! | `message.rs` | callers: a whole message in one call |
//! | `batch.rs` | callers: several messages side by side |

pub(crate) mod batch;
pub(crate) mod features;
pub(crate) mod kernel;
pub(crate) mod kernels;
pub(crate) mod message;
pub(crate) mod scrub;
pub(crate) mod state;
pub(crate) mod variant;

pub use kernels::Message;
pub(crate) use state::State;
pub(crate) use variant::{Parameters, Variant};
