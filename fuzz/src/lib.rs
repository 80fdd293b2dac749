//! Code that the targets share: choices, contents, buffers, backends and variants.
//!
//! A fuzzer's input is a few choices (lengths, cuts, calls) and a seed for the bytes that a cipher
//! processes. So small inputs reach long messages, and a fuzzer's changes decide which code runs.

#![deny(unsafe_code)] // except where stated

pub mod c;
/// What the library's own tests share.
#[path = "../../crates/palladion/tests/common/mod.rs"]
mod common;

use std::sync::OnceLock;

use arbitrary::{Arbitrary, Unstructured};
pub use common::erased;
use common::erased::{Authenticator, Batch, Variant};
use common::{Random, list};
use palladion::{Algorithm, Backend, backend, set_backend};

/// A choice among the backends that can run here, if the environment does not name one.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct AnyBackend(u8);

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

/// Where a buffer begins, counted from a multiple of 64.
#[derive(Clone, Copy, Debug)]
pub struct Offset(pub usize);

impl<'a> Arbitrary<'a> for Offset {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(Self(usize::from(u8::arbitrary(u)? % 64)))
    }
}

/// Where the bytes of keys and messages come from: zeros, ones or pseudorandom bytes.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Seed(u16);

impl Seed {
    /// Returns the bytes for one purpose, given as a number.
    pub fn bytes(self, purpose: u64, len: usize) -> Vec<u8> {
        match self.0 {
            0 => vec![0; len],
            1 => vec![0xff; len],
            seed => Random(u64::from(seed) << 32 | purpose).bytes(len),
        }
    }

    /// Key, nonce, associated data, message.
    pub fn message(self, key_len: usize, ad_len: usize, len: usize) -> [Vec<u8>; 4] {
        let lens = [(1, key_len), (2, key_len), (3, ad_len), (4, len)];
        lens.map(|(purpose, len)| self.bytes(purpose, len))
    }
}

/// A buffer that begins at any offset and ends where its allocation ends, so that AddressSanitizer
/// detects an access to the byte behind it.
pub struct Buffer {
    memory: Box<[u8]>,
    start: usize,
}

/// What lies before the buffer.
const FRAME: u8 = 0xa5;

impl Buffer {
    pub fn new(contents: &[u8], Offset(offset): Offset) -> Self {
        let mut memory = Vec::with_capacity(offset + contents.len());
        memory.resize(offset, FRAME);
        memory.extend_from_slice(contents);
        Self { memory: memory.into_boxed_slice(), start: offset }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.start..]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(
                self.memory[..self.start].iter().all(|b| *b == FRAME),
                "written before the buffer"
            );
        }
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

/// Damage: one bit of one byte.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Flip(u16, u8);

impl Flip {
    /// Flips a bit, unless the buffer is empty.
    pub fn apply(self, bytes: &mut [u8]) -> bool {
        if bytes.is_empty() {
            return false;
        }
        bytes[usize::from(self.0) % bytes.len()] ^= 1 << (self.1 % 8);
        true
    }
}

/// Whether the defect with this name is planted. `assurance/fuzz.sh --planted` plants each defect
/// in a target's source in turn. An environment variable rather than a feature selects it, so that
/// a failing input can be run again without the defect and must then pass.
pub fn plant(name: &str) -> bool {
    static PLANTED: OnceLock<Option<String>> = OnceLock::new();
    PLANTED.get_or_init(|| std::env::var("PALLADION_FUZZ_PLANT").ok()).as_deref() == Some(name)
}

/// If the defect with this name is planted, changes the library's output at certain lengths, as a
/// defect of the library would.
pub fn planted(name: &str, result: &mut [u8]) {
    if result.len() % 11 == 7 && plant(name) {
        result[6] ^= 0x10;
    }
}
