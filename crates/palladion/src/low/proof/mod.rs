//! Proofs: the library's own generic code, run once on values that stand for all values.
//!
//! A test runs code on some inputs, of 2^128 and more. But the code of this folder is generic over its words and vectors,
//! and does the same operations whatever their values are: it has no branch and no index that depends on one. So it can be
//! run on *abstract* words that say how each bit depends on the input. What comes out is the function that the code
//! computes, and this is compared with the standard's. There are two kinds of such values.
//!
//! - `bits.rs`: a bit is a sum of functions of single bytes of the input, each given by its truth table, and of products.
//!   On them runs all that is made of words of bits or of byte shuffles: the circuits of the S-box, the bitsliced machines,
//!   the AES round by byte shuffles. `rounds.rs` compares with FIPS 197 and the standard's Update.
//! - `terms.rs`: a block is a sum of terms in which an AES round and an AND are symbols without a meaning. On them run the
//!   state machines, the loops around them and whole messages. `machines.rs` compares with the standard's functions. What
//!   is equal as a term is equal whatever AES is, and so for every key, nonce and message.
//!
//! Either way equal forms mean equal functions, since every rule by which forms are made is an identity: a sum or a product of bits
//! is what it is, tables are computed over all 256 values of a byte, and what cannot be resolved stays as a symbol. The
//! converse is not needed.
//!
//! What is not proved here: that the compiler translates the code as it is written, and that a machine's own operations are
//! what their traits say (`operations.rs` tries these on all values of a byte).

extern crate std;

mod bits;
mod machines;
mod operations;
mod rounds;
mod terms;

/// Runs a proof where there is room: abstract words are large, and unoptimised code keeps many of them on the stack.
fn with_room(proof: fn()) {
    if cfg!(target_family = "wasm") {
        return proof(); // no threads
    }
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(proof);
    thread.unwrap().join().expect("proved");
}

/// The bytes of a block in memory are those of a number behind this mark. Abstract blocks are kept in lists; code that copies blocks
/// copies their numbers.
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
