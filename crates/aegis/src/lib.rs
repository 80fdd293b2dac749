//! `palladion-aegis` under the name of the crate that it replaces.

#![no_std]
#![forbid(unsafe_code)]

pub use ::aegis::*;
