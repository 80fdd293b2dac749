//! Code that the targets share: choices, contents, buffers, backends and variants.
//!
//! A fuzzer's input is a few choices (lengths, cuts, calls) and a seed for the bytes that a cipher
//! processes. So small inputs reach long messages, and a fuzzer's changes decide which code runs.

#![deny(unsafe_code)] // except where stated

pub mod c;
/// What the library's own tests share.
#[path = "../../crates/palladion/tests/common/mod.rs"]
mod common;
mod input;

use std::sync::OnceLock;

use arbitrary::{Arbitrary, Unstructured};
pub use common::erased;
use common::erased::{Authenticator, Batch, Variant};
use common::{Random, list};
pub use input::{Buffer, Flip, Offset, Seed, plant, planted};
use palladion::{Algorithm, Backend, backend, set_backend};

/// A choice among the backends that can run here, if the environment does not name one.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct AnyBackend(pub u8);

impl AnyBackend {
    /// Makes this backend the current one.
    pub fn set(self) {
        // To see which there are takes longer than a call.
        static ALL: OnceLock<Vec<Backend>> = OnceLock::new();
        let all = ALL.get_or_init(common::backends);
        let wanted = all[usize::from(self.0) % all.len()];
        if backend() != Ok(wanted) {
            set_backend(wanted).expect("it is available");
        }
    }
}

/// A choice among variants and lengths of tags.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct AnyVariant {
    number: u8,
    long_tag: bool,
}

impl AnyVariant {
    /// Those that the RFC names, and two with other numbers of lanes.
    const ALL: &[&dyn Variant] = list!(Aegis128: 1 2 4 16; Aegis256: 1 2 4 3;);
    /// The MACs, with short tags and with long ones.
    const MACS: &[&dyn Authenticator] = list!(
        Aegis128 16: 1 2 4 16; Aegis256 16: 1 2 4 3;
        Aegis128 32: 1 2 4 16; Aegis256 32: 1 2 4 3;
    );
    /// The same of batches.
    const BATCHES: &[&dyn Batch] = list!(
        Aegis128 16: 1 2 4 16; Aegis256 16: 1 2 4 3;
        Aegis128 32: 1 2 4 16; Aegis256 32: 1 2 4 3;
    );

    fn index(self) -> usize {
        usize::from(self.number) % Self::ALL.len()
    }

    pub fn get(self) -> &'static dyn Variant {
        Self::ALL[self.index()]
    }

    pub fn mac(self) -> &'static dyn Authenticator {
        Self::MACS[self.index() + usize::from(self.long_tag) * Self::ALL.len()]
    }

    pub fn batch(self) -> &'static dyn Batch {
        Self::BATCHES[self.index() + usize::from(self.long_tag) * Self::ALL.len()]
    }

    pub fn tag_len(self) -> usize {
        if self.long_tag { 32 } else { 16 }
    }

    /// The name that the RFC gives it and the functions in C, if it does.
    pub fn named(self) -> Option<(Algorithm, &'static c::Functions)> {
        let (family, lanes) = (self.index() / 4, self.index() % 4);
        let which = 3 * family + lanes;
        (lanes < 3).then(|| (Algorithm::ALL[which], &c::FUNCTIONS[which]))
    }
}

/// A length: most are short, some go beyond the 4 KiB after which groups of lanes take turns.
#[derive(Clone, Copy, Debug)]
pub struct Len(pub usize);

impl<'a> Arbitrary<'a> for Len {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let number = u16::arbitrary(u)?;
        let (class, value) = (number >> 14, usize::from(number & 0x3fff));
        Ok(Self(match class {
            0 => value % 80,
            1 => value % 300,
            2 => value % 1100,
            _ => value % 9000,
        }))
    }
}

/// Cuts a length into the requested pieces and a last one. Some are empty.
pub fn cuts(len: usize, sizes: &[u16]) -> Vec<usize> {
    let mut rest = len;
    let mut pieces = Vec::new();
    for size in sizes.iter().take(64) {
        let piece = (usize::from(*size) % 1200).min(rest);
        pieces.push(piece);
        rest -= piece;
    }
    pieces.push(rest);
    pieces
}
