//! The format without input and output, for asynchronous programs and bindings to other languages.
//! Nothing here reads, writes or starts threads. [`Encoder`] and [`Decoder`] take and give pieces
//! of any length. To read only a part of a file, [`Opening`] says what to fetch first, and
//! [`Layout`] which bytes of the file hold a range of the plaintext.
//!
//! To use your own buffers, write to [`Encoder::room`] or [`Decoder::room`] what you read, and let
//! [`Encoder::take_into`] encrypt each chunk to where it is sent from.

pub use crate::any_order::{ChunkOpener, Opening};
pub use crate::decoder::Decoder;
pub use crate::encoder::Encoder;
pub use crate::layout::Layout;
