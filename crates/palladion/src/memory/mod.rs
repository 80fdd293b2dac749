//! Wiped memory, input and output buffers, and comparison in constant time.

mod equal;
mod inout;
pub mod secrecy;
mod wiped;

pub(crate) use equal::equal;
pub(crate) use inout::{Direction, InOut, LengthsDiffer};
pub(crate) use wiped::wipe;
pub use wiped::{Wiped, WipedBytes};
