//! What programs call. [`job`] is where all calls for whole messages meet, and [`session`] what all
//! that take a message in pieces are built on.

#[cfg(feature = "aead")]
mod aead_traits;
pub(crate) mod algorithm;
pub mod any;
pub mod batch;
#[cfg(feature = "alloc")]
pub(crate) mod buffer;
pub(crate) mod cipher;
pub(crate) mod error;
pub mod family;
pub mod hazmat;
pub mod historic;
#[allow(unsafe_code)] // calls the driver with pointers
pub(crate) mod job;
pub(crate) mod mac;
#[allow(unsafe_code)] // calls the driver with pointers
mod schedule;
pub(crate) mod sealer;
#[cfg(feature = "serde")]
mod serde_impls;
mod session;
pub(crate) mod stream;
pub(crate) mod types;
