//! Proofs: the library's own generic code, run once on values that stand for all values.
//!
//! A test runs code on some inputs, of 2^128 and more. But the code of this folder is generic over
//! its words and vectors, and does the same operations whatever their values are: it has no branch
//! and no index that depends on one. So it can be run on *abstract* words that say how each bit
//! depends on the input. What comes out is the function that the code computes, and this is
//! compared with the standard's. There are two kinds of such values.
//!
//! - `bits.rs`: a bit is a sum of functions of single bytes of the input, each given by its truth
//!   table, and of products. On them runs all that is made of words of bits or of byte shuffles:
//!   the circuits of the S-box, the bitsliced machines, the AES round by byte shuffles. `rounds.rs`
//!   compares with FIPS 197 and the standard's Update.
//! - `terms.rs`: a block is a sum of terms in which an AES round and an AND are symbols without a
//!   meaning. On them run the state machines, the loops around them and whole messages.
//!   `machines.rs` compares with the standard's functions. What is equal as a term is equal
//!   whatever AES is, and so for every key, nonce and message.
//!
//! Either way equal forms mean equal functions, since every rule by which forms are made is an
//! identity: a sum or a product of bits is what it is, tables are computed over all 256 values of a
//! byte, and what cannot be resolved stays as a symbol. The converse is not needed.
//!
//! What is not proved here: that the compiler translates the code as it is written, and that a
//! machine's own operations are what their traits say (`operations.rs` tries these on all values of
//! a byte).

#![allow(clippy::needless_range_loop)] // indices are the numbers of lanes and blocks, as in the standard

extern crate std;
use core::cell::RefCell;
use core::panic::Location;
#[cfg(not(palladion_test_reduced))]
use std::collections::{BTreeMap, BTreeSet};
use std::string::String;
use std::thread_local;
use std::vec::Vec;

// What is true of the source code need be shown on one machine alone: emulated ones try their
// operations.
#[cfg_attr(palladion_test_reduced, allow(dead_code))]
mod bits;
#[cfg(not(palladion_test_reduced))]
mod machines;
mod operations;
#[cfg(not(palladion_test_reduced))]
mod rounds;
#[cfg(not(palladion_test_reduced))]
mod terms;

/// Runs a proof where there is room: abstract words are large, and unoptimised code keeps many of
/// them on the stack. Under emulation it is left out.
#[cfg(not(palladion_test_reduced))]
fn prove(proof: fn()) {
    if std::env::var_os("PALLADION_TEST_REDUCED").is_some_and(|value| !value.is_empty()) {
        return std::println!("left out: it is no other on this machine");
    }
    with_room(proof);
}

fn with_room(run: fn()) {
    if cfg!(target_family = "wasm") {
        return run(); // no threads
    }
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(run);
    thread.unwrap().join().expect("proved");
}

/// A place in the source code.
type Place = &'static Location<'static>;

#[derive(Default)]
struct Faults {
    /// How many operations there are to come before one that is wrong.
    left: Option<usize>,
    /// Where the last wrong one was.
    met: Option<Place>,
    /// Where operations are, if that is asked for.
    trace: Option<Vec<Place>>,
}

thread_local! {
    static FAULTS: RefCell<Faults> = RefCell::new(Faults::default());
}

/// Whether this operation is to be the wrong one. It counts if `changes`: if the wrong result is
/// another than the right one.
#[track_caller]
fn faulty(changes: bool) -> bool {
    if !changes {
        return false;
    }
    let place = Location::caller(); // a closure has another
    FAULTS.with(|faults| {
        let faults = &mut *faults.borrow_mut();
        if let Some(trace) = &mut faults.trace {
            trace.push(place);
        }
        let Some(left) = faults.left else { return false };
        faults.left = left.checked_sub(1);
        if left == 0 {
            faults.met = Some(place);
        }
        left == 0
    })
}

/// One operation from now on is to be wrong, after so many; or none. Tells where the last such was,
/// if it was met.
fn plant(fault: Option<usize>) -> Option<Place> {
    FAULTS.with(|faults| {
        let faults = &mut *faults.borrow_mut();
        faults.left = fault;
        faults.met.take()
    })
}

/// The file and the line of a place, from its column on.
#[cfg(not(palladion_test_reduced))]
fn line(place: Place) -> String {
    let sources = [
        ("machine/aegis128.rs", include_str!("../machine/aegis128.rs")),
        ("machine/aegis256.rs", include_str!("../machine/aegis256.rs")),
        ("machine/packed128.rs", include_str!("../machine/packed128.rs")),
        ("machine/mod.rs", include_str!("../machine/mod.rs")),
        ("soft/bitsliced.rs", include_str!("../soft/bitsliced.rs")),
        ("soft/lanes.rs", include_str!("../soft/lanes.rs")),
        ("soft/sliced.rs", include_str!("../soft/sliced.rs")),
        ("soft/permute.rs", include_str!("../soft/permute.rs")),
        ("block/mod.rs", include_str!("../block/mod.rs")),
        ("block/pair.rs", include_str!("../block/pair.rs")),
        ("block/partial.rs", include_str!("../block/partial.rs")),
        ("driver/steps.rs", include_str!("../driver/steps.rs")),
        ("driver/tag.rs", include_str!("../driver/tag.rs")),
        ("driver/message.rs", include_str!("../driver/message.rs")),
        ("driver/state.rs", include_str!("../driver/state.rs")),
        ("driver/batch.rs", include_str!("../driver/batch.rs")),
    ];
    let path = place.file().replace('\\', "/");
    let (name, source) = sources
        .into_iter()
        .find(|(file, _)| path.ends_with(file))
        .expect("a file of the library's");
    let line = source.lines().nth(place.line() as usize - 1).unwrap();
    std::format!("{name}: {}", &line[place.column() as usize - 1..])
}

/// Makes operations wrong: every one in the source code that a run comes to, at one use of it
/// alone. Where nobody asks for the result of that use (the second half of a tag that has one, the
/// key stream behind the end of a message) it cannot be found, and other uses are tried. Gives the
/// operations of which no use that was tried is `found`, and asserts that there are so many at
/// least.
#[cfg(not(palladion_test_reduced))]
fn survivors(what: &str, at_least: usize, found: impl Fn() -> bool) -> BTreeSet<String> {
    FAULTS.with(|faults| faults.borrow_mut().trace = Some(Vec::new()));
    assert!(!found(), "{what}: found where there is nothing");
    let trace = FAULTS.with(|faults| faults.borrow_mut().trace.take().unwrap());
    let mut uses: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
    for (n, place) in trace.iter().enumerate() {
        if place.file().ends_with("sbox.rs") {
            continue; // `every_gate_counts`
        }
        uses.entry(place).or_default().push(n);
    }
    let (places, mut planted) = (uses.len(), 0);
    let mut survivors = BTreeSet::new();
    for (place, uses) in uses {
        let some = uses.iter().step_by(uses.len().div_ceil(16));
        let is_found = some.chain(uses.last()).any(|n| {
            plant(Some(*n));
            let found = found();
            assert_eq!(plant(None), Some(place), "met");
            planted += 1;
            found
        });
        if !is_found {
            survivors.insert(line(place));
        }
    }
    std::println!("{what}: {places} operations, {planted} faults; not found: {survivors:?}");
    assert!(places >= at_least, "{what}: {places} operations");
    survivors
}

/// FIPS 197: products in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1.
pub(super) fn product(a: u8, b: u8) -> u8 {
    let mut product = 0u16;
    for i in 0..8 {
        if b >> i & 1 == 1 {
            product ^= u16::from(a) << i;
        }
    }
    for i in (8..15).rev() {
        if product >> i & 1 == 1 {
            product ^= 0x11b << (i - 8);
        }
    }
    product as u8
}

/// FIPS 197, SubBytes: the inverse, zero of zero, then for each bit `b(i) + b(i + 4) + b(i + 5) +
/// b(i + 6) + b(i + 7) + c(i)`.
pub(super) fn s_box() -> [u8; 256] {
    core::array::from_fn(|x| {
        let b = (0..=255).find(|y| product(x as u8, *y) == 1).unwrap_or(0);
        let bit = |i: usize| (b >> (i % 8)) & 1;
        let affine = |i: usize| {
            bit(i) ^ bit(i + 4) ^ bit(i + 5) ^ bit(i + 6) ^ bit(i + 7) ^ ((0b0110_0011 >> i) & 1)
        };
        (0..8).fold(0, |y, i| y | affine(i) << i)
    })
}

/// FIPS 197: the bytes that a byte of the round's result depends on, with their factors in
/// MixColumns. Byte `4c + r` is in row `r` and column `c`; ShiftRows takes row `r` from `r` columns
/// further.
pub(super) fn mixed_from(at: usize) -> [(u8, usize); 4] {
    let (row, column) = (at % 4, at / 4);
    let factors = [[2, 3, 1, 1], [1, 2, 3, 1], [1, 1, 2, 3], [3, 1, 1, 2]];
    core::array::from_fn(|k| (factors[row][k], 4 * ((column + k) % 4) + k))
}

/// The bytes of a block in memory are those of a number behind this mark. Abstract blocks are kept
/// in lists; code that copies blocks copies their numbers.
const MARK: [u64; 2] = [0x5f1d_9b3c_e24a_7781, 0xa8c3_17e5_4d92_60fb];

/// A block in memory: the number of an abstract block of one kind, or else bytes.
enum Stored {
    Number(usize),
    Bytes([u8; 16]),
}

/// # Safety
/// 16 bytes readable.
unsafe fn read(src: *const u8, kind: usize) -> Stored {
    // SAFETY: the caller grants it.
    let bytes = unsafe { src.cast::<[u8; 16]>().read_unaligned() };
    let word = |at: usize| u64::from_le_bytes(core::array::from_fn(|i| bytes[at + i]));
    if word(0) == MARK[kind] { Stored::Number(word(8) as usize) } else { Stored::Bytes(bytes) }
}

/// # Safety
/// 16 bytes writable.
unsafe fn write(dst: *mut u8, kind: usize, number: usize) {
    let bytes = (u128::from(MARK[kind]) | (number as u128) << 64).to_le_bytes();
    // SAFETY: the caller grants it.
    unsafe { dst.cast::<[u8; 16]>().write_unaligned(bytes) };
}
