//! Code that the targets share: choices, contents, buffers, backends, and other implementations to
//! compare with.
//!
//! A fuzzer's input is a few choices (lengths, cuts, calls) and a seed for the bytes that a cipher
//! processes. So small inputs reach long messages, and a fuzzer's changes decide which code runs.

#![forbid(unsafe_code)]

use std::sync::OnceLock;

use arbitrary::{Arbitrary, Unstructured};
use palladion::family::Family;
use palladion::{Backend, ENVIRONMENT_VARIABLE, set_backend};
use palladion_reference as reference;

/// The backends that can run here, or the one that the environment names.
pub fn backends() -> Vec<Backend> {
    let wish = std::env::var(ENVIRONMENT_VARIABLE).ok().filter(|name| !name.is_empty());
    let wanted = |b: &Backend| wish.as_ref().is_none_or(|name| name == b.name());
    Backend::ALL.iter().copied().filter(|b| b.is_available() && wanted(b)).collect()
}

/// Runs a function on each backend.
pub fn on_each_backend(mut run: impl FnMut()) {
    for backend in backends() {
        set_backend(backend).expect("it is available");
        run();
    }
}

/// A choice among the backends.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct AnyBackend(u8);

impl AnyBackend {
    /// Makes this backend the current one.
    pub fn set(self) {
        let backends = backends();
        set_backend(backends[usize::from(self.0) % backends.len()]).expect("it is available");
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

    fn size_hint(_: usize) -> (usize, Option<usize>) {
        (2, Some(2))
    }
}

/// Where a buffer begins, counted from a multiple of 64.
#[derive(Clone, Copy, Debug)]
pub struct Offset(pub usize);

impl<'a> Arbitrary<'a> for Offset {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(Self(usize::from(u8::arbitrary(u)? % 64)))
    }

    fn size_hint(_: usize) -> (usize, Option<usize>) {
        (1, Some(1))
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
            seed => {
                let mut state = u64::from(seed) << 32 | purpose;
                let mut bytes = Vec::with_capacity(len + 8);
                while bytes.len() < len {
                    bytes.extend_from_slice(&split_mix(&mut state).to_le_bytes());
                }
                bytes.truncate(len);
                bytes.shrink_to_fit();
                bytes
            }
        }
    }

    /// Key, nonce, associated data, message.
    pub fn message(self, key_len: usize, ad_len: usize, len: usize) -> [Vec<u8>; 4] {
        [key_len, key_len, ad_len, len].map({
            let mut purpose = 0;
            move |len| {
                purpose += 1;
                self.bytes(purpose, len)
            }
        })
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
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

/// The reference's type for a variant.
pub fn reference<F: Family, const D: usize>() -> reference::Aegis {
    let family =
        if F::KEY_LEN == 16 { reference::Family::Aegis128 } else { reference::Family::Aegis256 };
    reference::Aegis::new(family, D)
}

pub fn key<F: Family>(bytes: &[u8]) -> F::Key {
    bytes.try_into().expect("as long as a key")
}

pub fn nonce<F: Family>(bytes: &[u8]) -> F::Nonce {
    bytes.try_into().expect("as long as a nonce")
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
    planted_of(name, result.len(), result);
}

/// Does the same with a tag of a message of this length.
pub fn planted_of(name: &str, len: usize, result: &mut [u8]) {
    if len % 11 == 7 && plant(name) {
        result[6] ^= 0x10;
    }
}

/// `with_variant!(number, function(arguments))` calls `function::<F, D, T>` for one of ten
/// variants: those that the RFC names, and others. Not every variant has both tag lengths: only
/// finalization depends on both, and each combination takes long to compile.
#[macro_export]
macro_rules! with_variant {
    ($number:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        use ::palladion::family::{Aegis128, Aegis256};
        match $number % 10 {
            0 => $function::<Aegis128, 1, 16>($($argument),*),
            1 => $function::<Aegis128, 1, 32>($($argument),*),
            2 => $function::<Aegis128, 2, 32>($($argument),*),
            3 => $function::<Aegis128, 4, 16>($($argument),*),
            4 => $function::<Aegis256, 1, 16>($($argument),*),
            5 => $function::<Aegis256, 1, 32>($($argument),*),
            6 => $function::<Aegis256, 2, 16>($($argument),*),
            7 => $function::<Aegis256, 4, 32>($($argument),*),
            8 => $function::<Aegis128, 16, 32>($($argument),*),
            _ => $function::<Aegis256, 3, 16>($($argument),*),
        }
    }};
}
