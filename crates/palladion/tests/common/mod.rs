//! Shared by the integration tests: backends, variants, the reference, random inputs and framed
//! buffers.

#![allow(dead_code, unused_imports, unused_macros)] // each test file uses a part

pub mod child;
pub mod erased;
pub mod fenced;
pub mod random;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use erased::{Authenticator, Batch, Variant};
use palladion::family::Family;
use palladion::{Backend, ENVIRONMENT_VARIABLE, Error, set_backend};
use palladion_reference as reference;
pub use random::Random;

/// The backend is a choice of the whole process. Tests that want the same one run side by side; a
/// test that wants another one waits for them, and those that come later wait for it.
static CHOICE: Mutex<Choice> =
    Mutex::new(Choice { users: 0, chosen: None, queue: VecDeque::new(), next: 0 });
static CHANGED: Condvar = Condvar::new();

struct Choice {
    /// The number of tests that use the chosen backend.
    users: usize,
    /// Nothing if a test chooses backends as it likes.
    chosen: Option<Backend>,
    /// Tests that wait: their numbers, and what they want.
    queue: VecDeque<(u64, Option<Backend>)>,
    next: u64,
}

impl Choice {
    fn lock() -> MutexGuard<'static, Self> {
        CHOICE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a waiting test may go on.
    fn admits(&self, number: u64, wish: Option<Backend>) -> bool {
        let ahead = self.queue.iter().take_while(|(other, _)| *other != number);
        let same = wish.is_some() && self.chosen == wish;
        (self.users == 0 || same) && ahead.map(|(_, wish)| *wish).all(|other| other == wish)
    }
}

/// The right of a test to use the chosen backend until it is dropped.
struct Turn;

impl Turn {
    /// Waits for a backend and chooses it or, without one, for the end of all other tests that use
    /// backends.
    fn wait(wish: Option<Backend>) -> Self {
        let mut choice = Choice::lock();
        let number = choice.next;
        choice.next += 1;
        choice.queue.push_back((number, wish));
        while !choice.admits(number, wish) {
            choice = CHANGED.wait(choice).unwrap_or_else(PoisonError::into_inner);
        }
        choice.queue.retain(|(other, _)| *other != number);
        choice.users += 1;
        if wish.is_none() || choice.chosen != wish {
            choice.chosen = wish;
            wish.into_iter().for_each(|backend| set_backend(backend).unwrap());
        }
        CHANGED.notify_all(); // those who want the same
        Turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        Choice::lock().users -= 1;
        CHANGED.notify_all();
    }
}

/// Returns whether to test less, under emulators: with the environment variable
/// `PALLADION_TEST_REDUCED`, or with the build option `palladion_test_reduced`, which also compiles
/// fewer variants. Only more of the same is left out.
pub fn reduced() -> bool {
    cfg!(palladion_test_reduced)
        || std::env::var_os("PALLADION_TEST_REDUCED").is_some_and(|value| !value.is_empty())
}

/// Runs a test with the list of backends to test, while no other test uses one. They are all that
/// are available, or only the one that the environment variable names.
pub fn with_backends(test: impl FnOnce(&[Backend])) {
    let _turn = Turn::wait(None);
    test(&backends());
}

/// Returns the backends to test.
pub fn backends() -> Vec<Backend> {
    let wish = std::env::var(ENVIRONMENT_VARIABLE).ok().filter(|name| !name.is_empty());
    let wanted = |backend: &Backend| wish.as_ref().is_none_or(|name| name == backend.name());
    let backends: Vec<Backend> =
        Backend::ALL.iter().copied().filter(|b| b.is_available() && wanted(b)).collect();
    assert!(!backends.is_empty(), "nothing to test: no backend {wish:?} here");
    backends
}

/// Runs a test with every backend, one after another.
pub fn for_each_backend(mut test: impl FnMut(Backend)) {
    for_each(&mut test);
}

/// Not generic, so that it is compiled once.
fn for_each(test: &mut dyn FnMut(Backend)) {
    let mut backends = backends();
    // Begin with one that can be used at once, or that others wait for.
    let choice = Choice::lock();
    let first = choice.queue.front().map_or(choice.chosen, |(_, wish)| *wish);
    drop(choice);
    if let Some(at) = backends.iter().position(|backend| Some(*backend) == first) {
        backends.rotate_left(at);
    }
    for backend in backends {
        println!("on {backend}"); // shown if the test fails
        let _turn = Turn::wait(Some(backend));
        test(backend);
    }
}

/// Records that `count` known answers of a part of a source were right on a backend. The record
/// goes to the file that the environment variable `PALLADION_KNOWN_ANSWERS` names, or to standard
/// output if that is `-`. `.ci/known-answers.py` makes a table of it.
pub fn known_answers(source: &str, part: &str, backend: Backend, count: usize) {
    use std::io::Write;
    let Some(path) = std::env::var_os("PALLADION_KNOWN_ANSWERS").filter(|path| !path.is_empty())
    else {
        return;
    };
    let line = format!("{}\t{backend}\t{source}\t{part}\t{count}\n", std::env::consts::ARCH);
    if path == "-" {
        // The test harness does not capture this, unlike `println!`.
        return std::io::stdout().write_all(format!("known answers\t{line}").as_bytes()).unwrap();
    }
    let mut file = std::fs::File::options().append(true).create(true).open(path).unwrap();
    file.write_all(line.as_bytes()).unwrap(); // one write, because other processes append too
}

/// A list of variants, MACs (with the length of their tags) or batches, as trait objects.
macro_rules! list {
    ($($family:ident $($tag:literal)?: $($degree:literal)*;)*) => {
        list!(@ [] $($family [$($tag)?] [$($degree)*])*)
    };
    (@ [$($item:expr),*] $family:ident $tag:tt [] $($rest:tt)*) => {
        list!(@ [$($item),*] $($rest)*)
    };
    (@ [$($item:expr),*] $family:ident [$($tag:literal)?] [$degree:literal $($more:literal)*]
        $($rest:tt)*) => {
        list!(@ [
            $($item,)*
            &$crate::common::erased::Of::<palladion::family::$family, $degree $(, $tag)?>::NEW
        ] $family [$($tag)?] [$($more)*] $($rest)*)
    };
    (@ [$($item:expr),*]) => { &[$($item),*] };
}
pub(crate) use list;

/// Lists of variants.
pub mod variants {
    use super::erased::Variant;

    type List = &'static [&'static dyn Variant];

    /// Those named in the RFC.
    pub const RFC: List = list!(Aegis128: 1 2 4; Aegis256: 1 2 4;);
    /// One for each class of kernels.
    pub const KERNELS: List = list!(Aegis128: 1 2 3 4; Aegis256: 1 2 3 4;);
    /// Those of the RFC, if not reduced.
    #[cfg(not(palladion_test_reduced))]
    pub const SAMPLE: List = RFC;
    #[cfg(palladion_test_reduced)]
    pub const SAMPLE: List = list!(Aegis128: 1 4; Aegis256: 1 2;);
    /// Those of the RFC and others, if not reduced: one and many groups, of odd and even number.
    #[cfg(not(palladion_test_reduced))]
    pub const ALL: List = list!(Aegis128: 1 2 3 4 16 256; Aegis256: 1 2 3 4 16 256;);
    #[cfg(palladion_test_reduced)]
    pub const ALL: List = SAMPLE;
}

/// Lists of MACs: the same variants with both tag lengths, except the MACs that do not exist, which
/// are those of AEGIS-128X of an odd degree above 1 with 16-byte tags.
pub mod macs {
    use super::erased::Authenticator;

    type List = &'static [&'static dyn Authenticator];

    pub const RFC: List = list!(
        Aegis128 16: 1 2 4; Aegis128 32: 1 2 4;
        Aegis256 16: 1 2 4; Aegis256 32: 1 2 4;
    );
    pub const KERNELS: List = list!(
        Aegis128 16: 1 2 4 6; Aegis128 32: 1 2 3 4;
        Aegis256 16: 1 2 3 4; Aegis256 32: 1 2 3 4;
    );
    #[cfg(not(palladion_test_reduced))]
    pub const SAMPLE: List = RFC;
    #[cfg(palladion_test_reduced)]
    pub const SAMPLE: List =
        list!(Aegis128 16: 4; Aegis128 32: 1 2; Aegis256 16: 1; Aegis256 32: 2 3;);
    #[cfg(not(palladion_test_reduced))]
    pub const ALL: List = list!(
        Aegis128 16: 1 2 4 16 256; Aegis128 32: 1 2 3 4 16 256;
        Aegis256 16: 1 2 3 4 16 256; Aegis256 32: 1 2 3 4 16 256;
    );
    #[cfg(palladion_test_reduced)]
    pub const ALL: List = SAMPLE;
}

/// Variants and tag lengths of batches: those of the RFC and one more. Only degree 1 has batch
/// kernels, so it alone has both lengths.
pub mod batches {
    use super::erased::Batch;

    #[cfg(not(palladion_test_reduced))]
    pub const ALL: &[&dyn Batch] = list!(
        Aegis128 16: 1 2 3; Aegis128 32: 1 4;
        Aegis256 16: 1 4; Aegis256 32: 1 2 3;
    );
    #[cfg(palladion_test_reduced)]
    pub const ALL: &[&dyn Batch] =
        list!(Aegis128 16: 1; Aegis128 32: 4; Aegis256 16: 2; Aegis256 32: 1;);
}

/// Runs a test with every variant of a list.
pub fn for_each_variant(list: &[&dyn Variant], mut test: impl FnMut(&dyn Variant)) {
    for variant in list {
        println!("{:?}", variant.reference()); // shown if the test fails
        test(*variant);
    }
}

/// Runs a test with every MAC of a list.
pub fn for_each_mac(list: &[&dyn Authenticator], mut test: impl FnMut(&dyn Authenticator)) {
    for mac in list {
        println!("{:?}, {}-byte tags", mac.reference(), mac.tag_len()); // shown if the test fails
        test(*mac);
    }
}

/// Returns the reference for a variant.
pub fn reference<F: Family, const D: usize>() -> reference::Aegis {
    let family =
        if F::KEY_LEN == 16 { reference::Family::Aegis128 } else { reference::Family::Aegis256 };
    reference::Aegis::new(family, D)
}

/// Decodes hexadecimal digits; "-" stands for nothing.
pub fn unhex(hex: &str) -> Vec<u8> {
    if hex == "-" {
        return Vec::new();
    }
    assert!(hex.is_ascii() && hex.len().is_multiple_of(2), "pairs of digits");
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

/// Bytes that an assertion prints as hexadecimal digits.
#[derive(PartialEq)]
pub struct Hex<'a>(pub &'a [u8]);

impl std::fmt::Debug for Hex<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The bytes around a framed buffer.
const FRAME: u8 = 0xa5;
/// The width of the frame on each side, more than the widest register has.
const MARGIN: usize = 128;

/// Runs `work` on a copy of `contents` that starts `offset` bytes after a multiple of 64, and
/// returns the result and the buffer. Panics if `work` wrote outside the buffer.
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
    // Comparing slices is fast even without optimisation.
    let frame = [FRAME; 2 * MARGIN + 128];
    for around in [&memory[..place.start], &memory[place.end..]] {
        assert!(*around == frame[..around.len()], "bytes beside the buffer were overwritten");
    }
    memory[place].to_vec()
}

/// Returns the same bytes with one bit changed.
pub fn flipped(bytes: &[u8], bit: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[bit / 8] ^= 1 << (bit % 8);
    bytes
}

/// Panics unless a call failed with this error.
#[track_caller]
pub fn assert_fails<R: std::fmt::Debug>(result: Result<R, Error>, error: Error) {
    assert_eq!(result.map(drop), Err(error));
}

/// Runs a test with all [`batches`].
pub fn for_each_batch(mut test: impl FnMut(&dyn Batch)) {
    for batch in batches::ALL {
        println!("{:?}, {}-byte tags", batch.reference(), batch.tag_len()); // if the test fails
        test(*batch);
    }
}
