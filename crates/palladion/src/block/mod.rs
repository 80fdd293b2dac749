//! The block vector: a few AES blocks side by side in one register, and the few operations that
//! AEGIS needs. Each instruction set implements these traits once; the state machines know nothing
//! else about the CPU.

use subtle::ConstantTimeEq;

use crate::memory::Direction;

#[cfg(any(target_arch = "powerpc64", target_arch = "s390x"))]
mod doublewords;
mod general;
mod pair;
pub(crate) mod partial;

#[cfg(any(target_arch = "powerpc64", target_arch = "s390x"))]
pub(crate) use doublewords::Doublewords;
pub(crate) use general::Soft;
pub(crate) use pair::Pair;
pub(crate) use partial::{mask_of_length, one_lane};

/// The largest [`Blocks::LANES`] of any implementation.
pub(crate) const MAX_LANES: usize = 4;

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
    fn truncate(self, len: usize) -> Self;

    /// `self ^ (b & c)`
    fn xor_and(self, b: Self, c: Self) -> Self;

    /// Tells whether all bits are zero, in constant time.
    #[inline(always)]
    fn is_zero(self) -> bool {
        let mut words = [0u64; 2 * MAX_LANES];
        // SAFETY: `words` is as wide as the widest vector.
        unsafe { self.store(words.as_mut_ptr().cast()) };
        words.iter().fold(0, |sum, word| sum | word).ct_eq(&0).into()
    }

    /// Returns lane 0.
    fn first(self) -> Self::Lane;

    /// Returns all lanes in order, in the first `LANES` places; the other places are meaningless.
    fn lanes(self) -> [Self::Lane; MAX_LANES];

    /// Returns the XOR of all lanes.
    fn fold(self) -> Self::Lane;

    /// The number of registers of a value: more than one in a [`Pair`].
    const REGISTERS: usize = 1;

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

    /// The form of a word in the unrolled loop over long data, which may need more registers. Most
    /// words have [`one_form`].
    type Running: Word<Blocks = Self::Blocks>;
    /// Converts to the form in the unrolled loop.
    fn running(self) -> Self::Running;
    /// Converts from the form in the unrolled loop.
    fn resting(running: Self::Running) -> Self;

    /// Whether loops gain from as many steps in one turn as there are words, because words change
    /// registers from step to step.
    const ROTATES: bool = false;

    /// Whether the instructions of a step have a fixed order, the fastest one for cores with two
    /// AES units (docs/performance.md). Otherwise the compiler decides, starting from an order in
    /// which each AES round can overwrite its input, which suits two-operand instructions.
    const IN_ORDER: bool = false;

    /// Whether `xor3` and `xor_and` are single instructions.
    const THREE_WAY: bool = false;

    /// Whether a state of such words has more secrets than the CPU has registers, so that the
    /// compiler puts some on the stack. In AES kernels, words of one register each fit, but not in
    /// the eight registers of 32-bit x86.
    const SPILLS: bool = Self::Blocks::REGISTERS > 1 || cfg!(target_arch = "x86");

    /// Whether `blocks` takes work, so that words are better added before they become blocks.
    const CONVERTS: bool = false;

    /// Whether the AES instruction adds the round key first. An XOR before a round then takes no
    /// time, and the textbook's order, in which the message is part of the round key, is the best.
    const KEY_FIRST: bool = false;

    /// Converts blocks to a word.
    fn new(blocks: Self::Blocks) -> Self;

    /// Returns the word of all-zero blocks.
    ///
    /// # Safety
    /// The CPU has the features of the implementation.
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller promises the CPU features.
        Self::new(unsafe { Self::Blocks::zero() })
    }

    /// Converts the word to blocks.
    fn blocks(self) -> Self::Blocks;

    /// AESRound (RFC 10032 §2): SubBytes, ShiftRows, MixColumns, then XOR with the round key.
    fn aes(self, round_key: Self) -> Self;

    /// Computes `N` independent AES rounds in this order, at most eight: one step of a state.
    /// Implementations that gain from seeing all of them at once override it.
    #[inline(always)]
    fn rounds<const N: usize>(input: [Self; N], round_keys: [Self; N]) -> [Self; N] {
        const { assert!(N <= 8) };
        #[inline(always)]
        fn round<W: Word, const N: usize>(words: &mut [W; N], round_keys: &[W; N], i: usize) {
            if i < N {
                words[i] = words[i].aes(round_keys[i]).in_order();
            }
        }
        // Not a loop: the compiler would not unroll it where a round is many instructions.
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

    /// Computes eight independent AES rounds in exactly this order, if the implementation can force
    /// it.
    #[inline(always)]
    fn rounds_exactly(input: [Self; 8], round_keys: [Self; 8]) -> [Self; 8] {
        Self::rounds(input, round_keys)
    }

    /// Update(M) of AEGIS-256 (RFC 10032 §4.2.2). Implementations that can keep two states in
    /// registers override it; `I` is the number of this one.
    #[inline(always)]
    fn update_256<const I: usize>(s: [Self; 6], m: Self, form: Form<Self>) -> [Self; 6] {
        let [s0, s1, s2, s3, s4, s5] = s;
        let (from3, from5) = match form {
            Form::With(ctx) => (s3.xor(ctx), s5.xor(ctx)),
            Form::Early | Form::Late => (s3, s5),
        };
        let [t, s5, s4, s3, s2, s1] =
            Self::rounds([from5, s4, from3, s2, s1, s0], [m, s5, s4, s3, s2, s1]);
        [t.xor(s0), s1, s2, s3, s4, s5]
    }

    /// Whether a state of such words stays in memory, because the compiler cannot keep it in the
    /// registers that AES instructions use. The following functions, which replace `aes`, then work
    /// on a state of 8 words (AEGIS-128) or 6 (AEGIS-256).
    const IN_MEMORY: bool = false;

    /// If `IN_MEMORY`, updates a state `steps` times, at least once. `input` is for two steps of
    /// AEGIS-128 or four of AEGIS-256, which take turns. `ctx` is the context that the standard
    /// adds before each update of the initialisation.
    #[inline(always)]
    fn mix<const N: usize>(
        _state: &mut [Self; N],
        _input: [Self; 4],
        _ctx: Option<Self>,
        _steps: usize,
    ) {
    }

    /// If `IN_MEMORY`, returns the state after initialisation, which has `steps` updates with
    /// `input` and `ctx` as in `mix`. `words` is the state before it.
    #[inline(always)]
    fn init<const N: usize>(
        words: [Self; N],
        input: [Self; 4],
        ctx: Self,
        steps: usize,
    ) -> [Self; N] {
        let mut state = words;
        Self::mix(&mut state, input, Some(ctx), steps);
        state
    }

    /// If `IN_MEMORY`, absorbs the lengths in `steps` updates and returns the `sums`.
    #[inline(always)]
    fn finalize<const N: usize>(state: &mut [Self; N], lengths: Self, steps: usize) -> [Self; 2] {
        let t = state[if N == 8 { 2 } else { 3 }].xor(lengths);
        // Not `[t; 4]`, which on WebAssembly may become a copy through memory.
        Self::mix(state, [t, t, t, t], None, steps);
        Self::sums(state)
    }

    /// If `IN_MEMORY`, absorbs a step; the second block counts for AEGIS-128 only.
    #[inline(always)]
    fn absorb<const N: usize>(state: &mut [Self; N], [m0, m1]: [Self; 2]) {
        Self::mix(state, [m0, m1, m0, m1], None, 1);
    }

    /// Returns the sums of S0 to S3 and of S4 to S6 (AEGIS-128), or of S0 to S2 and of S3 to S5
    /// (AEGIS-256).
    #[inline(always)]
    fn sums<const N: usize>(s: &[Self; N]) -> [Self; 2] {
        if N == 8 {
            [s[0].xor3(s[1], s[2]).xor(s[3]), s[4].xor3(s[5], s[6])]
        } else {
            [s[0].xor3(s[1], s[2]), s[3].xor3(s[4], s[5])]
        }
    }

    /// If `IN_MEMORY`, does what `process_all` of `Machine` says.
    ///
    /// # Safety
    /// The same as there.
    unsafe fn process<const N: usize>(
        _state: &mut [Self; N],
        _direction: Option<Direction>,
        _src: *const u8,
        _dst: *mut u8,
        _row: usize,
        _steps: usize,
    ) {
    }

    /// Returns the same value. If `IN_ORDER`, the instructions that compute such values keep the
    /// order of the source, because CPUs execute the oldest ready instruction first.
    #[inline(always)]
    fn in_order(self) -> Self {
        self
    }
}

/// Where [`Word::update_256`] adds the message, and what else it adds.
#[derive(Clone, Copy)]
pub(crate) enum Form<W> {
    /// The message is a round key, so that the chain from S0 to S0 is short.
    Early,
    /// S0 is the round key and the message is added last, which is faster where it is known late.
    Late,
    /// Like `Early`; S3 and S5 lack this context as inputs of rounds.
    With(W),
}

/// Implements `Running` of [`Word`] and of `Machine` where there is only one form.
macro_rules! one_form {
    () => {
        type Running = Self;
        #[inline(always)]
        fn running(self) -> Self {
            self
        }
        #[inline(always)]
        fn resting(running: Self) -> Self {
            running
        }
    };
}
pub(crate) use one_form;

/// Two lanes that can be exchanged.
///
/// # Safety
/// The same as for [`Vector`].
#[allow(dead_code)] // unused where no register has two blocks
pub(crate) unsafe trait Halves: Vector {
    /// Exchanges the lanes.
    fn swap(self) -> Self;
}
