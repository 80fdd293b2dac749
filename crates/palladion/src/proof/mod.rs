//! Proofs: the library's own generic code, run once on values that stand for all values.
//!
//! A test runs code on a few of at least 2^128 inputs. The code proved here is generic over its
//! words and vectors, and has no branch or index that depends on their values. So it can run on
//! *abstract* words, which record how each bit depends on the input. The result is the function
//! that the code computes, and it is compared with the standard's. There are two kinds of abstract
//! values:
//!
//! - `bits.rs`: a bit is a sum of products and of functions of single input bytes, each given by
//!   its truth table. It covers everything made of words of bits or of byte shuffles: the circuits
//!   of the S-box, the bitsliced machines, the AES round by byte shuffles. `rounds.rs` compares
//!   them with FIPS 197 and the standard's Update.
//! - `terms.rs`: a block is a sum of terms in which AES rounds and ANDs are uninterpreted symbols.
//!   It covers the state machines, the loops around them and whole messages. `machines.rs` compares
//!   them with the standard's functions. Equal terms are equal whatever AES is, and so for every
//!   key, nonce and message.
//!
//! In both cases equal forms mean equal functions, because every rule that builds forms is an
//! identity: sums and products of bits are taken as they are, tables are computed over all 256
//! values of a byte, and whatever cannot be resolved stays a symbol. The converse is not needed.
//!
//! Not proved: that the compiler translates the code correctly, and that a CPU's operations do what
//! their traits say. `operations.rs` tests the latter on all values of a byte.

#![allow(clippy::needless_range_loop)] // indices number lanes and blocks, as in the standard

extern crate std;
use core::cell::RefCell;
use core::panic::Location;
#[cfg(not(palladion_test_reduced))]
use std::collections::{BTreeMap, BTreeSet};
use std::string::String;
use std::thread_local;
use std::vec::Vec;

pub(super) use palladion_reference::gf_mul as product;

// The proofs are about source code, so one CPU is enough; emulated ones run `operations.rs`.
#[cfg_attr(palladion_test_reduced, allow(dead_code))]
mod bits;
#[cfg(not(palladion_test_reduced))]
mod machines;
mod operations;
#[cfg(not(palladion_test_reduced))]
mod rounds;
#[cfg(not(palladion_test_reduced))]
mod terms;

/// Runs a proof on a thread with a large stack: abstract words are large, and unoptimised code
/// keeps many of them. Skipped under emulation.
#[cfg(not(palladion_test_reduced))]
fn prove(proof: fn()) {
    if std::env::var_os("PALLADION_TEST_REDUCED").is_some_and(|value| !value.is_empty()) {
        return std::println!("skipped: it does not depend on the machine");
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

/// A position in the source code.
type Place = &'static Location<'static>;

#[derive(Default)]
struct Faults {
    /// The number of operations before the faulty one.
    left: Option<usize>,
    /// The position of the last faulty operation.
    met: Option<Place>,
    /// The positions of all operations, if requested.
    trace: Option<Vec<Place>>,
}

thread_local! {
    static FAULTS: RefCell<Faults> = RefCell::new(Faults::default());
}

/// Tells whether this operation is the faulty one. It counts only if `changes`: if the faulty
/// result differs from the right one.
#[track_caller]
fn faulty(changes: bool) -> bool {
    if !changes {
        return false;
    }
    let place = Location::caller(); // not in a closure, which has another caller
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

/// Makes one operation faulty, after this many others, or none. Returns the position of the
/// previous faulty operation, if it was reached.
fn plant(fault: Option<usize>) -> Option<Place> {
    FAULTS.with(|faults| {
        let faults = &mut *faults.borrow_mut();
        faults.left = fault;
        faults.met.take()
    })
}

/// Returns the file and the line of a position, from its column on.
#[cfg(not(palladion_test_reduced))]
fn line(place: Place) -> String {
    let sources = [
        ("machine/aegis128.rs", include_str!("../machine/aegis128.rs")),
        ("machine/aegis256.rs", include_str!("../machine/aegis256.rs")),
        ("machine/packed128.rs", include_str!("../machine/packed128.rs")),
        ("machine/twin256.rs", include_str!("../machine/twin256.rs")),
        ("machine/order.rs", include_str!("../machine/order.rs")),
        ("machine/registers.rs", include_str!("../machine/registers.rs")),
        ("machine/long.rs", include_str!("../machine/long.rs")),
        ("machine/memory.rs", include_str!("../machine/memory.rs")),
        ("machine/mod.rs", include_str!("../machine/mod.rs")),
        ("soft/bitsliced.rs", include_str!("../soft/bitsliced.rs")),
        ("soft/byte_planes.rs", include_str!("../soft/byte_planes.rs")),
        ("soft/sliced.rs", include_str!("../soft/sliced.rs")),
        ("soft/permute.rs", include_str!("../soft/permute.rs")),
        ("block/mod.rs", include_str!("../block/mod.rs")),
        ("block/pair.rs", include_str!("../block/pair.rs")),
        ("block/partial.rs", include_str!("../block/partial.rs")),
        ("block/sum.rs", include_str!("../block/sum.rs")),
        ("proof/terms.rs", include_str!("terms.rs")),
        ("driver/kernel/mod.rs", include_str!("../driver/kernel/mod.rs")),
        ("driver/kernel/tag.rs", include_str!("../driver/kernel/tag.rs")),
        ("driver/kernel/message.rs", include_str!("../driver/kernel/message.rs")),
        ("driver/kernel/state.rs", include_str!("../driver/kernel/state.rs")),
        ("driver/kernel/batch.rs", include_str!("../driver/kernel/batch.rs")),
    ];
    let path = place.file().replace('\\', "/");
    let (name, source) = sources
        .into_iter()
        .find(|(file, _)| path.ends_with(file))
        .expect("a source file of the library");
    let line = source.lines().nth(place.line() as usize - 1).unwrap();
    std::format!("{name}: {}", &line[place.column() as usize - 1..])
}

/// Makes every operation in the source code that a run reaches faulty, one use at a time. A fault
/// whose result nothing uses cannot be found: the second half of a tag that has one, or the key
/// stream after the end of a message. Then other uses are tried. Returns the operations of which no
/// tried use was `found`, and asserts that there are at least `at_least` operations.
#[cfg(not(palladion_test_reduced))]
fn survivors(what: &str, at_least: usize, found: impl Fn() -> bool) -> BTreeSet<String> {
    FAULTS.with(|faults| faults.borrow_mut().trace = Some(Vec::new()));
    assert!(!found(), "{what}: found a fault where there is none");
    let trace = FAULTS.with(|faults| faults.borrow_mut().trace.take().unwrap());
    let mut uses: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
    for (n, place) in trace.iter().enumerate() {
        if place.file().ends_with("sbox.rs") {
            continue; // see `every_gate_counts`
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

/// Returns the bytes that a byte of the round's result depends on, with their factors in MixColumns
/// (FIPS 197). Byte `4c + r` is in row `r` and column `c`; ShiftRows takes row `r` from `r` columns
/// further.
pub(super) fn mixed_from(at: usize) -> [(u8, usize); 4] {
    let (row, column) = (at % 4, at / 4);
    let factors = [[2, 3, 1, 1], [1, 2, 3, 1], [1, 1, 2, 3], [3, 1, 1, 2]];
    core::array::from_fn(|k| (factors[row][k], 4 * ((column + k) % 4) + k))
}

/// Marks 16 bytes in memory as the number of an abstract block. The blocks themselves are in lists;
/// code that copies blocks copies their numbers.
const MARK: [u64; 2] = [0x5f1d_9b3c_e24a_7781, 0xa8c3_17e5_4d92_60fb];

/// A block in memory: the number of an abstract block of one kind, or plain bytes.
enum Stored {
    Number(usize),
    Bytes([u8; 16]),
}

/// # Safety
/// 16 bytes are readable at `src`.
unsafe fn read(src: *const u8, kind: usize) -> Stored {
    // SAFETY: the caller promises 16 readable bytes; the read needs no alignment.
    let bytes = unsafe { src.cast::<[u8; 16]>().read_unaligned() };
    let word = |at: usize| u64::from_le_bytes(core::array::from_fn(|i| bytes[at + i]));
    if word(0) == MARK[kind] { Stored::Number(word(8) as usize) } else { Stored::Bytes(bytes) }
}

/// # Safety
/// 16 bytes are writable at `dst`.
unsafe fn write(dst: *mut u8, kind: usize, number: usize) {
    let bytes = (u128::from(MARK[kind]) | (number as u128) << 64).to_le_bytes();
    // SAFETY: the caller promises 16 writable bytes; the write needs no alignment.
    unsafe { dst.cast::<[u8; 16]>().write_unaligned(bytes) };
}
