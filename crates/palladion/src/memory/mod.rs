//! Wiped memory, input and output buffers, and comparison in constant time.

mod equal;
mod inout;
pub mod secrecy;
mod wiped;

pub(crate) use equal::equal;
pub(crate) use inout::{Direction, InOut, LengthsDiffer};
pub use wiped::{Wiped, WipedBytes};
pub(crate) use wiped::{wipe, wipe_at};
