//! The state machines, AEGIS-128 and AEGIS-256, each written once and generic over the block
//! vector, and the trait through which the driver uses them.
//!
//! | file | contents |
//! |---|---|
//! | `aegis128.rs`, `aegis256.rs` | RFC 10032 §3 and §4 on words in registers |
//! | `packed128.rs` | AEGIS-128L with two words per register |
//! | `twin256.rs` | two machines of AEGIS-256 side by side |
//! | `long.rs` | machines that process long data in another form of the state |
//! | `order.rs` | in which order CPUs should get the instructions of a step |
//! | `registers.rs` | the loop around steps whose state is in registers |
//! | `memory.rs` | machines whose state stays in memory, with loops of their own |

pub(crate) mod aegis128;
pub(crate) mod aegis256;
pub(crate) mod long;
pub(crate) mod memory;
pub(crate) mod order;
pub(crate) mod packed128;
pub(crate) mod registers;
pub(crate) mod twin256;

pub(crate) use aegis128::Aegis128;
pub(crate) use aegis256::Aegis256;
pub(crate) use packed128::Packed128;
pub(crate) use registers::Batched;
pub(crate) use twin256::{Halfwise, Twin256};

use crate::block::{Aligned, Blocks, Word};
use crate::memory::Direction;

/// The constants C0 and C1 (RFC 10032 §2): the Fibonacci sequence modulo 256.
pub(crate) const C0: &[u8; 16] = &Aligned([
    0x00, 0x01, 0x01, 0x02, 0x03, 0x05, 0x08, 0x0d, 0x15, 0x22, 0x37, 0x59, 0x90, 0xe9, 0x79, 0x62,
])
.0;
pub(crate) const C1: &[u8; 16] = &Aligned([
    0xdb, 0x3d, 0x18, 0x55, 0x6d, 0xc2, 0x2f, 0xf1, 0x20, 0x11, 0x31, 0x42, 0x73, 0xb5, 0x28, 0xdd,
])
.0;

/// Updates after the lengths are absorbed (§3.2.7, §4.2.7).
pub(crate) const FINAL_ROUNDS: usize = 7;

/// What to do with data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Absorb associated data or the input of a MAC.
    Absorb,
    /// Encrypt or decrypt a message.
    Crypt(Direction),
}

pub(crate) const ENCRYPT: Work = Work::Crypt(Direction::Encrypt);
pub(crate) const DECRYPT: Work = Work::Crypt(Direction::Decrypt);

/// Where the blocks of a machine's lanes are: adjacent in each row, with the rows this many bytes
/// apart. Unless they are only absorbed, results go to `dst`, which is equal to `src` or does not
/// overlap the input.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) src: *const u8,
    pub(crate) dst: *mut u8,
    pub(crate) row: usize,
}

impl Rows {
    /// The rows that begin this many bytes further on.
    #[inline(always)]
    pub(crate) fn at(self, offset: usize) -> Self {
        let Self { src, dst, row } = self;
        Self { src: src.wrapping_add(offset), dst: dst.wrapping_add(offset), row }
    }
}

/// The states of `V::LANES` lanes, and what the driver does with them.
///
/// # Safety
///
/// The same as for [`Blocks`]: a value exists only if the CPU has the features. Plain data of at
/// most eight blocks per lane, so that a state can be kept in memory between calls.
pub(crate) unsafe trait Machine: Copy {
    /// The block vector.
    type V: Blocks;
    /// A machine of the same family with one lane.
    type Lane: Machine<V = <Self::V as Blocks>::Lane>;
    /// Rows in a step: 2 for AEGIS-128, 1 for AEGIS-256.
    const RATE: usize;
    /// Whether the secrets do not fit into registers, so that the compiler puts some on the stack.
    const SPILLS: bool;

    /// Returns the state after initialisation with a key, a nonce and the lanes' context words.
    ///
    /// # Safety
    /// The CPU has the machine's features; key and nonce are readable.
    unsafe fn init(key: *const u8, nonce: *const u8, ctx: Self::V) -> Self;
    /// Processes whole steps.
    ///
    /// # Safety
    /// So many steps are readable and, unless they are only absorbed, writable.
    unsafe fn run_steps(&mut self, work: Work, rows: Rows, steps: usize);
    /// Processes a step of which only the first `len` bytes exist. The others count as zeros.
    ///
    /// # Safety
    /// `len` bytes are readable and, unless they are only absorbed, writable.
    unsafe fn run_last_step(&mut self, work: Work, rows: Rows, len: usize);
    /// Absorbs a step of these blocks. AEGIS-256 takes only the first.
    fn absorb_blocks(&mut self, blocks: [Self::V; 2]);
    /// Writes the key stream of the next step to rows that are `row` bytes apart.
    ///
    /// # Safety
    /// A step is writable.
    unsafe fn keystream(&self, dst: *mut u8, row: usize);
    /// Absorbs the block of lengths into every lane, mixes, and returns the tag of `tag_len` bytes
    /// of each lane, in blocks. For a tag of 16 bytes the second block is meaningless.
    fn finish(&mut self, lengths: Self::V, tag_len: usize) -> [Self::V; 2];
    /// Returns the words of the state. AEGIS-256 has six; the other two are meaningless.
    fn words(&self) -> [Self::V; 8];
    /// Returns the state with these words.
    ///
    /// # Safety
    /// The CPU has the machine's features.
    unsafe fn from_words(words: [Self::V; 8]) -> Self;
}

/// Returns the constants C0 and C1 in every lane.
///
/// # Safety
/// The CPU has the features of `W`.
#[inline(always)]
pub(crate) unsafe fn constants<W: Word>() -> [W; 2] {
    // SAFETY: the caller promises the CPU features; the constants are readable.
    let [c0, c1] = unsafe { [W::Blocks::splat(C0.as_ptr()), W::Blocks::splat(C1.as_ptr())] };
    [W::new(c0), W::new(c1)]
}

/// Loads a key or nonce of two blocks into every lane.
///
/// # Safety
/// The CPU has the features of `W`; 32 bytes are readable.
#[inline(always)]
pub(crate) unsafe fn load_two<W: Word>(src: *const u8) -> [W; 2] {
    // SAFETY: the caller promises the same.
    unsafe { [W::new(W::Blocks::splat(src)), W::new(W::Blocks::splat(src.add(16)))] }
}
