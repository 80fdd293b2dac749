//! The block vector: a few AES blocks side by side in one register, and the few operations that
//! AEGIS needs. Each instruction set implements these traits once; the state machines know nothing
//! else about the CPU.

#[cfg(not(palladion_kernels))]
use subtle::ConstantTimeEq;

mod general;
mod pair;
pub(crate) mod partial;
pub(crate) mod sum;

pub(crate) use general::Soft;
pub(crate) use pair::Pair;
pub(crate) use partial::one_lane;

/// The largest [`Blocks::LANES`] of any implementation.
pub(crate) const MAX_LANES: usize = 4;

/// Constants that are loaded as blocks. Some CPUs load aligned words faster.
#[repr(align(16))]
pub(crate) struct Aligned<T>(pub(crate) T);

/// Values with an XOR: blocks, and words of the state in any representation.
///
/// # Safety
///
/// A value of an implementing type exists only if the CPU has the instructions that the methods of
/// this trait, of [`Blocks`] and of [`Word`] use. Functions that create a value from nothing
/// (`load`, `load_partial`, `splat`, `zero`) are therefore unsafe. Only kernels call them, and
/// kernels are reached only through a dispatch table whose CPU features were checked. Operations on
/// existing values are safe. Implementations treat all lanes alike, and do not branch on, or index
/// memory by, the value of a block.
pub(crate) unsafe trait Vector: Copy {
    /// `self ^ other`
    fn xor(self, other: Self) -> Self;

    /// `self ^ b ^ c`. If this takes two instructions, `c` is added by the second.
    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        self.xor(b).xor(c)
    }

    /// Returns the same value and hides its origin from the optimiser. Otherwise the optimiser
    /// moves an XOR that follows an AES round back into the round key, which puts it on the longest
    /// dependency chain (docs/performance.md).
    #[inline(always)]
    fn pin(self) -> Self {
        self
    }

    /// Returns the same value. If the compiler would interleave so much that it runs out of
    /// registers, an implementation makes the value depend on `earlier`.
    #[inline(always)]
    fn after(self, _earlier: Self) -> Self {
        self
    }
}

/// `LANES` AES blocks of 16 bytes, lane 0 first in memory.
///
/// # Safety
///
/// The same as for [`Vector`].
pub(crate) unsafe trait Blocks: Vector {
    /// The number of blocks in one value: 1, 2 or 4.
    const LANES: usize;

    /// The type of a single lane.
    type Lane: Blocks;

    /// Loads `16 * LANES` bytes; no alignment is needed.
    ///
    /// # Safety
    /// The CPU has the features of the implementation; `src` is readable for `16 * LANES` bytes.
    unsafe fn load(src: *const u8) -> Self;

    /// Returns the same address. Where the compiler can be made to forget that it is the same, it
    /// loads again what was loaded before, and keeps no register for it.
    #[inline(always)]
    fn again(address: *const u8) -> *const u8 {
        address
    }

    /// Stores `16 * LANES` bytes; no alignment is needed.
    ///
    /// # Safety
    /// `dst` is writable for `16 * LANES` bytes.
    unsafe fn store(self, dst: *mut u8);

    /// Loads the same 16 bytes into every lane.
    ///
    /// # Safety
    /// The CPU has the features of the implementation; `block` is readable for 16 bytes.
    unsafe fn splat(block: *const u8) -> Self;

    /// Returns all zeros.
    ///
    /// # Safety
    /// The CPU has the features of the implementation.
    unsafe fn zero() -> Self;

    /// Returns the same block in every lane, made of two little-endian words of 64 bits. The first
    /// is at the lower address.
    ///
    /// # Safety
    /// The CPU has the features of the implementation.
    #[inline(always)]
    unsafe fn splat_words(first: u64, second: u64) -> Self {
        let block = (u128::from(first) | u128::from(second) << 64).to_le_bytes();
        // SAFETY: the caller promises the CPU features; `block` has 16 bytes.
        unsafe { Self::splat(block.as_ptr()) }
    }

    /// Whether parts are loaded and stored with masks, which needs little code.
    #[cfg(palladion_kernels)]
    const MASKS: bool = false;

    /// Loads `len` bytes and fills the rest with zeros.
    ///
    /// # Safety
    /// The CPU has the features of the implementation; `len <= 16 * LANES`; `src` is readable for
    /// `len` bytes.
    unsafe fn load_partial(src: *const u8, len: usize) -> Self;

    /// Stores the first `len` bytes.
    ///
    /// # Safety
    /// `len <= 16 * LANES`; `dst` is writable for `len` bytes.
    unsafe fn store_partial(self, dst: *mut u8, len: usize);

    /// Keeps the first `len` bytes and zeroes the rest.
    #[inline(always)]
    fn truncate(self, len: usize) -> Self {
        // SAFETY: `self` exists, so the CPU has the features.
        unsafe { Self::zero().xor_and(self, mask_of_length(len)) }
    }

    /// `self ^ (b & c)`
    fn xor_and(self, b: Self, c: Self) -> Self;

    /// Tells whether all bits are zero, in constant time.
    #[inline(always)]
    fn is_zero(self) -> bool {
        let mut words = [0u64; 2 * MAX_LANES];
        // SAFETY: `words` is as wide as the widest vector.
        unsafe { self.store(words.as_mut_ptr().cast()) };
        let sum = words.iter().fold(0, |sum, word| sum | word);
        #[cfg(palladion_kernels)] // `ct_eq` would be a call
        return crate::memory::hidden(sum as usize) == 0;
        #[cfg(not(palladion_kernels))]
        sum.ct_eq(&0).into()
    }

    /// Returns lane 0.
    fn first(self) -> Self::Lane;

    /// Returns all lanes in order, in the first `LANES` places; the other places are meaningless.
    fn lanes(self) -> [Self::Lane; MAX_LANES];

    /// Returns the XOR of all lanes.
    fn fold(self) -> Self::Lane;

    /// Joins the first `LANES` of these blocks.
    ///
    /// # Safety
    /// The CPU has the features of the implementation.
    unsafe fn from_lanes(lanes: [Self::Lane; MAX_LANES]) -> Self;

    // For lanes that belong to different messages (`batch.rs`). The first `LANES` pointers count.

    /// Loads a block of each message, `at` bytes after its pointer.
    ///
    /// # Safety
    /// The CPU has the features of the implementation; the blocks are readable.
    #[inline(always)]
    unsafe fn gather(src: &[*const u8; MAX_LANES], at: usize) -> Self {
        // SAFETY: the caller promises the CPU features and readable blocks.
        unsafe {
            let mut lanes = [Self::Lane::zero(); MAX_LANES];
            let mut i = 0;
            while i < Self::LANES {
                lanes[i] = Self::Lane::load(src[i].add(at));
                i += 1;
            }
            Self::from_lanes(lanes)
        }
    }

    /// Loads two blocks of each message, `at` bytes after its pointer: the first into one vector,
    /// the second into another.
    ///
    /// # Safety
    /// The CPU has the features of the implementation; the blocks are readable.
    #[inline(always)]
    unsafe fn gather_two(src: &[*const u8; MAX_LANES], at: usize) -> [Self; 2] {
        // SAFETY: the caller promises the CPU features and readable blocks.
        unsafe { [Self::gather(src, at), Self::gather(src, at + 16)] }
    }

    /// Stores a block of each message, `at` bytes after its pointer.
    ///
    /// # Safety
    /// The blocks are writable.
    #[inline(always)]
    unsafe fn scatter(self, dst: &[*mut u8; MAX_LANES], at: usize) {
        let lanes = self.lanes();
        let mut i = 0;
        while i < Self::LANES {
            // SAFETY: the caller promises writable blocks.
            unsafe { lanes[i].store(dst[i].add(at)) };
            i += 1;
        }
    }

    /// Stores two blocks of each message: the inverse of [`gather_two`](Self::gather_two).
    ///
    /// # Safety
    /// The blocks are writable.
    #[inline(always)]
    unsafe fn scatter_two(blocks: [Self; 2], dst: &[*mut u8; MAX_LANES], at: usize) {
        // SAFETY: the caller promises writable blocks.
        unsafe {
            blocks[0].scatter(dst, at);
            blocks[1].scatter(dst, at + 16);
        }
    }
}

/// `len` bytes of ones from byte `64 - len` on, then zeros. Indexed by lengths, never by secrets.
static ONES_THEN_ZEROS: [u8; 128] = {
    let mut mask = [0; 128];
    let mut i = 0;
    while i < 64 {
        mask[i] = 0xff;
        i += 1;
    }
    mask
};

/// Returns a vector of `len` bytes of ones, then zeros, as a mask for `truncate`.
///
/// # Safety
/// The CPU has the features of the implementation.
#[inline(always)]
unsafe fn mask_of_length<V: Blocks>(len: usize) -> V {
    // SAFETY: the caller promises the CPU features. The offset is at most 64, so 64 bytes follow
    // it, and no vector is wider.
    unsafe { V::load(ONES_THEN_ZEROS.as_ptr().add(64usize.saturating_sub(len))) }
}

/// Does something for each `i` below `N`, which is at most 8. Not a loop: the compiler would not
/// unroll it where a round is many instructions.
macro_rules! each {
    ($i:ident < $n:ident: $do:expr) => {
        const { assert!($n <= 8) };
        $crate::block::each!(@ $i $n $do; 0 1 2 3 4 5 6 7)
    };
    (@ $i:ident $n:ident $do:expr; $($at:literal)*) => {
        $(if const { $at < $n } {
            let $i = $at;
            $do
        })*
    };
}
pub(crate) use each;

/// Implements what is the same for all words that are plain blocks, given that of one lane.
#[allow(unused_macros)] // by CPUs without such words
macro_rules! plain {
    ($single:ty) => {
        type Blocks = Self;
        type Single = $single;

        #[inline(always)]
        fn new(blocks: Self) -> Self {
            blocks
        }
        #[inline(always)]
        fn blocks(self) -> Self {
            self
        }
    };
}
#[allow(unused_imports)]
pub(crate) use plain;

/// A word of the state in `LANES` lanes, in the representation that its AES rounds use. With AES
/// instructions, these are plain blocks.
///
/// # Safety
///
/// The same as for [`Vector`].
pub(crate) unsafe trait Word: Vector {
    /// The type of messages, key stream and tags.
    type Blocks: Blocks;

    /// The type of a word of one lane.
    type Single: Word<Blocks = <Self::Blocks as Blocks>::Lane>;

    /// Whether a state of such words has more secrets than the CPU has registers, so that the
    /// compiler puts some on the stack.
    const SPILLS: bool;

    /// Converts blocks to a word.
    fn new(blocks: Self::Blocks) -> Self;

    /// Converts the word to blocks.
    fn blocks(self) -> Self::Blocks;

    /// AESRound (RFC 10032 §2): SubBytes, ShiftRows, MixColumns, then XOR with the round key.
    fn aes(self, round_key: Self) -> Self;

    /// Computes `N` independent AES rounds, at most eight: one step of a state. Implementations
    /// that gain from seeing all of them at once override it.
    #[inline(always)]
    fn rounds<const N: usize>(input: [Self; N], round_keys: [Self; N]) -> [Self; N] {
        let mut out = input;
        each!(i < N: out[i] = input[i].aes(round_keys[i]));
        out
    }

    /// Returns the same value. Where the implementation has it, instructions that compute such
    /// values keep the order of the source.
    #[inline(always)]
    fn fence(self) -> Self {
        self
    }
}

/// Two lanes that can be exchanged.
///
/// # Safety
/// The same as for [`Vector`].
pub(crate) unsafe trait Halves: Vector {
    /// Exchanges the lanes.
    fn swap(self) -> Self;
}
