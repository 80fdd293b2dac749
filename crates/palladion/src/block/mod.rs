//! The block vector: a few AES blocks side by side in one register, and the handful of operations
//! AEGIS needs on them. Each instruction set implements this trait once; the state machines know
//! nothing else of the CPU.

use subtle::ConstantTimeEq;

mod general;
mod pair;
pub(crate) mod partial;

pub(crate) use general::Soft;
pub(crate) use pair::Pair;
pub(crate) use partial::{ONES_THEN_ZEROS, mask_of_length, one_lane};

/// The largest [`Blocks::LANES`] of any implementation.
pub(crate) const MAX_LANES: usize = 4;

/// What can be added: blocks, and words of the state in whatever form they rest.
///
/// # Safety
///
/// A value of an implementing type is proof that the CPU has the instructions which the methods of
/// this trait, of [`Blocks`] and of [`Word`] use. This is why everything that makes a value from
/// nothing (`load`, `load_partial`, `splat`, `zero`) is unsafe and may only be called inside a
/// kernel that was reached through a dispatch table whose CPU features were checked, and why the
/// operations on existing values are not. Implementations must treat all lanes alike and must not
/// branch on, or index memory by, the value of a block.
pub(crate) unsafe trait Vector: Copy {
    /// `self ^ other`
    fn xor(self, other: Self) -> Self;

    /// `self ^ b ^ c`, where `c` comes last: if it takes two instructions, the second is the one
    /// with `c`.
    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        self.xor(b).xor(c)
    }

    /// The same value, its origin hidden from the optimiser, which would otherwise move an XOR that
    /// follows an AES round back into the round key, and so onto the longest dependency chain
    /// (docs/performance.md).
    #[inline(always)]
    fn pin(self) -> Self {
        self
    }
}

/// `LANES` AES blocks of 16 bytes, lane 0 first in memory.
///
/// # Safety
///
/// As for [`Vector`].
pub(crate) unsafe trait Blocks: Vector {
    /// Blocks in one value: 1, 2 or 4.
    const LANES: usize;

    /// One block: the type to go on with when a single lane is left.
    type Lane: Blocks;

    /// Reads `16 * LANES` bytes; no alignment needed.
    ///
    /// # Safety
    /// The CPU features of the implementation; `src` readable for `16 * LANES` bytes.
    unsafe fn load(src: *const u8) -> Self;

    /// Writes `16 * LANES` bytes; no alignment needed.
    ///
    /// # Safety
    /// `dst` writable for `16 * LANES` bytes.
    unsafe fn store(self, dst: *mut u8);

    /// The same 16 bytes in every lane.
    ///
    /// # Safety
    /// The CPU features of the implementation; `block` readable for 16 bytes.
    unsafe fn splat(block: *const u8) -> Self;

    /// All bits zero.
    ///
    /// # Safety
    /// The CPU features of the implementation.
    unsafe fn zero() -> Self;

    /// The same block in every lane: two words of 64 bits, the first at the lower address, each
    /// little-endian.
    ///
    /// # Safety
    /// The CPU features of the implementation.
    #[inline(always)]
    unsafe fn splat_words(first: u64, second: u64) -> Self {
        let block = (u128::from(first) | u128::from(second) << 64).to_le_bytes();
        // SAFETY: passed on; a block is readable.
        unsafe { Self::splat(block.as_ptr()) }
    }

    /// Reads `len` bytes and fills the rest with zeros.
    ///
    /// # Safety
    /// The CPU features of the implementation; `len <= 16 * LANES`; `src` readable for `len` bytes.
    unsafe fn load_partial(src: *const u8, len: usize) -> Self;

    /// Writes the first `len` bytes.
    ///
    /// # Safety
    /// `len <= 16 * LANES`; `dst` writable for `len` bytes.
    unsafe fn store_partial(self, dst: *mut u8, len: usize);

    /// The first `len` bytes, the rest zeros.
    fn truncate(self, len: usize) -> Self;

    /// `self ^ (b & c)`
    fn xor_and(self, b: Self, c: Self) -> Self;

    /// Whether all bits are zero: one decision, at the end of a computation whose time does not
    /// depend on the bits.
    #[inline(always)]
    fn is_zero(self) -> bool {
        let mut words = [0u64; 2 * MAX_LANES];
        // SAFETY: the buffer is as wide as the widest vector.
        unsafe { self.store(words.as_mut_ptr().cast()) };
        words.iter().fold(0, |sum, word| sum | word).ct_eq(&0).into()
    }

    /// Lane 0.
    fn first(self) -> Self::Lane;

    /// All lanes in order, in the first `LANES` places; what follows is of no use.
    fn lanes(self) -> [Self::Lane; MAX_LANES];

    /// The XOR of all lanes.
    fn fold(self) -> Self::Lane;

    // Lanes that belong to different messages (`batch.rs`): each message has `D` lanes side by
    // side.

    /// How many registers a value takes: more than one in a [`Pair`].
    const REGISTERS: usize = 1;

    /// The first `LANES` of these blocks, side by side.
    ///
    /// # Safety
    /// The CPU features of the implementation.
    unsafe fn from_lanes(lanes: [Self::Lane; MAX_LANES]) -> Self;

    /// Reads `16 * D` bytes of each message, `at` bytes behind its pointer.
    ///
    /// # Safety
    /// The CPU features of the implementation; these bytes readable for each of the first `LANES /
    /// D` pointers.
    #[inline(always)]
    unsafe fn gather<const D: usize>(src: &[*const u8; MAX_LANES], at: usize) -> Self {
        // SAFETY: the caller grants the features and, for the lanes of each message, these bytes.
        unsafe {
            let mut lanes = [Self::Lane::zero(); MAX_LANES];
            let mut i = 0;
            while i < Self::LANES {
                lanes[i] = Self::Lane::load(src[i / D].add(at + 16 * (i % D)));
                i += 1;
            }
            Self::from_lanes(lanes)
        }
    }

    /// Reads `32 * D` bytes of each message, `at` bytes behind its pointer: two vectors.
    ///
    /// # Safety
    /// The CPU features of the implementation; these bytes readable for each of the first `LANES /
    /// D` pointers.
    #[inline(always)]
    unsafe fn gather_two<const D: usize>(src: &[*const u8; MAX_LANES], at: usize) -> [Self; 2] {
        // SAFETY: these are the two halves of what the caller grants.
        unsafe { [Self::gather::<D>(src, at), Self::gather::<D>(src, at + 16 * D)] }
    }

    /// Writes `16 * D` bytes of each message, `at` bytes behind its pointer.
    ///
    /// # Safety
    /// These bytes writable for each of the first `LANES / D` pointers.
    #[inline(always)]
    unsafe fn scatter<const D: usize>(self, dst: &[*mut u8; MAX_LANES], at: usize) {
        let lanes = self.lanes();
        let mut i = 0;
        while i < Self::LANES {
            // SAFETY: the caller grants, for the lanes of each message, these bytes.
            unsafe { lanes[i].store(dst[i / D].add(at + 16 * (i % D))) };
            i += 1;
        }
    }
}

/// A word of the state in `LANES` lanes, in the form that its AES rounds want: blocks as they are
/// where there are AES instructions.
///
/// # Safety
///
/// As for [`Vector`].
pub(crate) unsafe trait Word: Vector {
    /// What messages, key stream and tags come in.
    type Blocks: Blocks;

    /// A word of one lane.
    type Single: Word<Blocks = <Self::Blocks as Blocks>::Lane>;

    /// Whether the order of the instructions of a step is fixed, to the one that is fastest on
    /// cores with two AES units (docs/performance.md). If not, the compiler decides, beginning with
    /// an order in which each AES round can overwrite its input, as two-operand instructions want
    /// it.
    const IN_ORDER: bool = false;

    /// Whether `xor3` and `xor_and` are one instruction.
    const THREE_WAY: bool = false;

    /// Whether a state of such words has more secrets than the CPU has registers, so that the
    /// compiler puts some on the stack. (Words of one register each fit, in AES kernels.)
    const SPILLS: bool = Self::Blocks::REGISTERS > 1;

    /// Whether `blocks` is work, so that words are better added before they become blocks.
    const CONVERTS: bool = false;

    /// The word of these blocks.
    fn new(blocks: Self::Blocks) -> Self;

    /// The word of blocks whose bits are all zero.
    ///
    /// # Safety
    /// The CPU features of the implementation.
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: passed on.
        Self::new(unsafe { Self::Blocks::zero() })
    }

    /// Its blocks.
    fn blocks(self) -> Self::Blocks;

    /// AESRound of the standard (§2): SubBytes, ShiftRows, MixColumns, then XOR with the round key.
    fn aes(self, round_key: Self) -> Self;

    /// `N` independent AES rounds in this order, at most eight: one step of a state.
    /// Implementations that gain from seeing all of them at once (bitslicing) override it.
    #[inline(always)]
    fn rounds<const N: usize>(input: [Self; N], round_keys: [Self; N]) -> [Self; N] {
        const { assert!(N <= 8) };
        #[inline(always)]
        fn round<W: Word, const N: usize>(words: &mut [W; N], round_keys: &[W; N], i: usize) {
            if i < N {
                words[i] = words[i].aes(round_keys[i]).in_order();
            }
        }
        // No loop: the compiler would leave it one where a round is many instructions.
        let mut out = input;
        round(&mut out, &round_keys, 0);
        round(&mut out, &round_keys, 1);
        round(&mut out, &round_keys, 2);
        round(&mut out, &round_keys, 3);
        round(&mut out, &round_keys, 4);
        round(&mut out, &round_keys, 5);
        round(&mut out, &round_keys, 6);
        round(&mut out, &round_keys, 7);
        out
    }

    /// The same value. If `IN_ORDER`, the instructions that compute such values stay in the order
    /// of the source: CPUs choose the oldest among those that are ready.
    #[inline(always)]
    fn in_order(self) -> Self {
        self
    }
}

/// Two lanes that can change places.
///
/// # Safety
/// As for [`Vector`].
#[allow(dead_code)] // where no register has two blocks
pub(crate) unsafe trait Halves: Vector {
    /// The lanes exchanged.
    fn swap(self) -> Self;
}
