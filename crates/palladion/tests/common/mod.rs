//! What the integration tests share: backends, variants, the reference, random inputs and buffers
//! that watch their surroundings.

#![allow(dead_code, unused_imports, unused_macros)] // each test file takes what it needs

pub mod child;
pub mod fenced;

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use palladion::family::Family;
use palladion::{Backend, ENVIRONMENT_VARIABLE, Error, set_backend};
use palladion_reference as reference;

/// The backend is a choice of the whole process: whoever makes it holds this.
static CHOICE: Mutex<()> = Mutex::new(());

/// Whether to test less, for emulators: with the environment variable `PALLADION_TEST_REDUCED`, or
/// the build option `palladion_test_reduced`, with which fewer variants are compiled too. What is
/// left out then is more of the same.
pub fn reduced() -> bool {
    cfg!(palladion_test_reduced)
        || std::env::var_os("PALLADION_TEST_REDUCED").is_some_and(|value| !value.is_empty())
}

/// Runs a test with the list of the backends to be tested, while nobody else chooses one: all that
/// can run here, or only the one that the environment variable names.
pub fn with_backends(test: impl FnOnce(&[Backend])) {
    let (_guard, backends) = backends();
    test(&backends);
}

/// Not generic, and compiled once: so are the others below.
fn backends() -> (MutexGuard<'static, ()>, Vec<Backend>) {
    let guard = CHOICE.lock().unwrap_or_else(PoisonError::into_inner);
    let wish = std::env::var(ENVIRONMENT_VARIABLE).ok().filter(|name| !name.is_empty());
    let wanted = |backend: &Backend| wish.as_ref().is_none_or(|name| name == backend.name());
    let backends: Vec<Backend> =
        Backend::ALL.iter().copied().filter(|b| b.is_available() && wanted(b)).collect();
    assert!(!backends.is_empty(), "nothing to test: no backend {wish:?} here");
    (guard, backends)
}

/// Runs a test with every backend, one after another.
pub fn for_each_backend(mut test: impl FnMut(Backend)) {
    for_each(&mut test);
}

fn for_each(test: &mut dyn FnMut(Backend)) {
    let (_guard, backends) = backends();
    for backend in backends {
        println!("on {backend}"); // shown when the test fails
        set_backend(backend).unwrap();
        test(backend);
    }
}

/// Writes down that so many known answers of one part of a source came out right on a backend, in
/// the file that the environment variable `PALLADION_KNOWN_ANSWERS` names, or on standard output if
/// that is `-`: `scripts/known-answers.py` makes a table of it.
pub fn known_answers(source: &str, part: &str, backend: Backend, count: usize) {
    use std::io::Write;
    let Some(path) = std::env::var_os("PALLADION_KNOWN_ANSWERS").filter(|path| !path.is_empty())
    else {
        return;
    };
    let line = format!("{}\t{backend}\t{source}\t{part}\t{count}\n", std::env::consts::ARCH);
    if path == "-" {
        // (The test harness does not keep this to itself, as it does what is printed.)
        return std::io::stdout().write_all(format!("known answers\t{line}").as_bytes()).unwrap();
    }
    let mut file = std::fs::File::options().append(true).create(true).open(path).unwrap();
    file.write_all(line.as_bytes()).unwrap(); // in one piece: others write too
}

/// Calls `check::<F, D>(...)` for variants of both families: those that the RFC names, or more of
/// them.
macro_rules! for_each_variant {
    (rfc: $check:ident $arguments:tt) => {
        for_each_variant!(@ $check $arguments Aegis128: 1 2 4; Aegis256: 1 2 4;)
    };
    (all: $check:ident $arguments:tt) => {{
        #[cfg(not(palladion_test_reduced))]
        for_each_variant!(@ $check $arguments Aegis128: 1 2 3 4 7 16 256; Aegis256: 1 2 3 4 5 16 256;);
        #[cfg(palladion_test_reduced)]
        for_each_variant!(sample: $check $arguments);
    }};
    (sample: $check:ident $arguments:tt) => {{ // the RFC's if not reduced
        #[cfg(not(palladion_test_reduced))]
        for_each_variant!(rfc: $check $arguments);
        #[cfg(palladion_test_reduced)]
        for_each_variant!(@ $check $arguments Aegis128: 1 4; Aegis256: 1 2;);
    }};
    (kernels: $check:ident $arguments:tt) => { // one of each class
        for_each_variant!(@ $check $arguments Aegis128: 1 2 3 4; Aegis256: 1 2 3 4;)
    };
    (@ $check:ident $arguments:tt $($family:ident: $($degree:literal)*;)*) => {{
        $($(
            println!("{} of degree {}", stringify!($family), $degree); // shown when the test fails
            $check::<palladion::family::$family, $degree> $arguments;
        )*)*
    }};
}
pub(crate) use for_each_variant;

/// Calls `check::<F, D, T>(...)` for the same variants and both tags, without the MACs that do not
/// exist: AEGIS-128X of an odd degree above 1 with 16-byte tags.
macro_rules! for_each_mac {
    (rfc: $check:ident $arguments:tt) => {
        for_each_mac!(@ $check $arguments
            Aegis128 16: 1 2 4; Aegis128 32: 1 2 4;
            Aegis256 16: 1 2 4; Aegis256 32: 1 2 4;
        )
    };
    (all: $check:ident $arguments:tt) => {{
        #[cfg(not(palladion_test_reduced))]
        for_each_mac!(@ $check $arguments
            Aegis128 16: 1 2 4 16 256; Aegis128 32: 1 2 3 4 7 16 256;
            Aegis256 16: 1 2 3 4 5 16 256; Aegis256 32: 1 2 3 4 5 16 256;
        );
        #[cfg(palladion_test_reduced)]
        for_each_mac!(sample: $check $arguments);
    }};
    (sample: $check:ident $arguments:tt) => {{
        #[cfg(not(palladion_test_reduced))]
        for_each_mac!(rfc: $check $arguments);
        #[cfg(palladion_test_reduced)]
        for_each_mac!(@ $check $arguments Aegis128 16: 4; Aegis128 32: 1 2; Aegis256 16: 1; Aegis256 32: 2 3;);
    }};
    (kernels: $check:ident $arguments:tt) => {
        for_each_mac!(@ $check $arguments
            Aegis128 16: 1 2 4 6; Aegis128 32: 1 2 3 4;
            Aegis256 16: 1 2 3 4; Aegis256 32: 1 2 3 4;
        )
    };
    (@ $check:ident $arguments:tt $($family:ident $tag:literal: $($degree:literal)*;)*) => {{
        $($(
            println!("{} of degree {}, {}-byte tags", stringify!($family), $degree, $tag);
            $check::<palladion::family::$family, $degree, $tag> $arguments;
        )*)*
    }};
}
pub(crate) use for_each_mac;

/// The reference's idea of a variant.
pub fn reference<F: Family, const D: usize>() -> reference::Aegis {
    let family =
        if F::KEY_LEN == 16 { reference::Family::Aegis128 } else { reference::Family::Aegis256 };
    reference::Aegis::new(family, D)
}

pub fn key<F: Family>(bytes: &[u8]) -> F::Key {
    bytes.try_into().unwrap()
}

pub fn nonce<F: Family>(bytes: &[u8]) -> F::Nonce {
    bytes.try_into().unwrap()
}

/// Bytes from hexadecimal digits; "-" is nothing.
pub fn unhex(hex: &str) -> Vec<u8> {
    if hex == "-" {
        return Vec::new();
    }
    assert!(hex.is_ascii() && hex.len().is_multiple_of(2), "pairs of digits");
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

/// Random numbers that are the same in every run (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.number() % n as u64) as usize
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        for piece in bytes.chunks_mut(8) {
            piece.copy_from_slice(&self.number().to_le_bytes()[..piece.len()]);
        }
        bytes
    }
}

/// What lies around a framed buffer.
const FRAME: u8 = 0xa5;
/// The width of the frame on each side, more than any register has.
const MARGIN: usize = 128;

/// Runs `work` on a copy of `contents` that begins `offset` bytes after a multiple of 64, and
/// returns what became of it. Panics if `work` has written beside it.
pub fn framed<R>(
    contents: &[u8],
    offset: usize,
    work: impl FnOnce(&mut [u8]) -> R,
) -> (Vec<u8>, R) {
    let (mut memory, place) = frame(contents, offset);
    let result = work(&mut memory[place.clone()]);
    (unframed(memory, place), result)
}

fn frame(contents: &[u8], offset: usize) -> (Vec<u8>, Range<usize>) {
    let mut memory = vec![FRAME; contents.len() + 2 * MARGIN + 128];
    let start = MARGIN + memory.as_ptr().addr().wrapping_neg() % 64 + offset % 64;
    let place = start..start + contents.len();
    memory[place.clone()].copy_from_slice(contents);
    assert_eq!(memory[place.clone()].as_ptr().addr() % 64, offset % 64);
    (memory, place)
}

fn unframed(memory: Vec<u8>, place: Range<usize>) -> Vec<u8> {
    // (Comparing slices is quick without optimisation too, as this is compiled.)
    let frame = [FRAME; 2 * MARGIN + 128];
    for around in [&memory[..place.start], &memory[place.end..]] {
        assert!(*around == frame[..around.len()], "bytes beside the buffer were overwritten");
    }
    memory[place].to_vec()
}

/// The same bytes with one bit changed.
pub fn flipped(bytes: &[u8], bit: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[bit / 8] ^= 1 << (bit % 8);
    bytes
}

/// That a call failed with this error.
#[track_caller]
pub fn assert_fails<R: std::fmt::Debug>(result: Result<R, Error>, error: Error) {
    assert_eq!(result.map(drop), Err(error));
}
