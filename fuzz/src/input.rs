//! Choices, contents, buffers and planted defects: what the model of RAF files needs, which other
//! crates test too.

#![allow(dead_code)] // those use a part

use std::sync::OnceLock;

use arbitrary::{Arbitrary, Unstructured};

use super::Random;

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
