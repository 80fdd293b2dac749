//! The block vector: a few AES blocks side by side in one register, and the handful of operations AEGIS needs on
//! them. Each instruction set implements this trait once; the state machines know nothing else of the CPU.

use subtle::ConstantTimeEq;

use super::memory::wipe;

/// `load_partial` by way of a buffer.
///
/// # Safety
/// As for [`Blocks::load_partial`].
#[inline(always)]
pub(super) unsafe fn load_by_buffer<V: Blocks>(src: *const u8, len: usize) -> V {
    debug_assert!(len <= 16 * V::LANES);
    let mut buf = [0u8; 16 * MAX_LANES];
    // SAFETY: `len` bytes are readable at `src` and fit into the buffer, which is as wide as the widest vector.
    unsafe {
        core::ptr::copy_nonoverlapping(src, buf.as_mut_ptr(), len);
        let blocks = V::load(buf.as_ptr());
        wipe(&mut buf);
        blocks
    }
}

/// `store_partial` by way of a buffer.
///
/// # Safety
/// As for [`Blocks::store_partial`].
#[inline(always)]
pub(super) unsafe fn store_by_buffer<V: Blocks>(blocks: V, dst: *mut u8, len: usize) {
    debug_assert!(len <= 16 * V::LANES);
    let mut buf = [0u8; 16 * MAX_LANES];
    // SAFETY: the buffer is as wide as the widest vector; `dst` takes `len` of its bytes.
    unsafe {
        blocks.store(buf.as_mut_ptr());
        core::ptr::copy_nonoverlapping(buf.as_ptr(), dst, len);
    }
    wipe(&mut buf);
}

/// From byte `64 - len` on: `len` bytes of ones, then zeros. Indexed by lengths, never by secrets.
pub(super) static ONES_THEN_ZEROS: [u8; 128] = {
    let mut mask = [0; 128];
    let mut i = 0;
    while i < 64 {
        mask[i] = 0xff;
        i += 1;
    }
    mask
};

/// `truncate` by a mask.
///
/// # Safety
/// The CPU features of the implementation.
#[inline(always)]
pub(super) unsafe fn mask_of_length<V: Blocks>(len: usize) -> V {
    // SAFETY: 64 bytes are there from each of the first 65 on, and no vector is wider.
    unsafe { V::load(ONES_THEN_ZEROS.as_ptr().add(64usize.saturating_sub(len))) }
}

/// The largest [`Blocks::LANES`] of any implementation.
pub(crate) const MAX_LANES: usize = 4;

/// What can be added: blocks, and words of the state in whatever form they rest.
///
/// # Safety
///
/// A value of an implementing type is proof that the CPU has the instructions which the methods of this trait, of
/// [`Blocks`] and of [`Word`] use. This is why everything that makes a value from nothing (`load`, `load_partial`,
/// `splat`, `zero`) is unsafe and may only be called inside a kernel that was reached through a dispatch table whose CPU
/// features were checked, and why the operations on existing values are not. Implementations must treat all lanes alike
/// and must not branch on, or index memory by, the value of a block.
pub(crate) unsafe trait Vector: Copy {
    /// `self ^ other`
    fn xor(self, other: Self) -> Self;

    /// `self ^ b ^ c`, where `c` comes last: if it takes two instructions, the second is the one with `c`.
    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        self.xor(b).xor(c)
    }

    /// The same value, its origin hidden from the optimiser, which would otherwise move an XOR that follows an AES
    /// round back into the round key, and so onto the longest dependency chain (docs/performance.md).
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

    /// The same block in every lane: two words of 64 bits, the first at the lower address, each little-endian.
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

    /// Whether all bits are zero: one decision, at the end of a computation whose time does not depend on the bits.
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

    // Lanes that belong to different messages (`batch.rs`): each message has `D` lanes side by side.

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
    /// The CPU features of the implementation; these bytes readable for each of the first `LANES / D` pointers.
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
    /// The CPU features of the implementation; these bytes readable for each of the first `LANES / D` pointers.
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

/// What is the same in all implementations of [`Blocks`] for one block that the CPU cannot load or store in part.
macro_rules! one_lane {
    () => {
        const LANES: usize = 1;
        type Lane = Self;

        #[inline(always)]
        unsafe fn splat(block: *const u8) -> Self {
            // SAFETY: passed on.
            unsafe { Self::load(block) }
        }
        #[inline(always)]
        unsafe fn load_partial(src: *const u8, len: usize) -> Self {
            // SAFETY: passed on.
            unsafe { $crate::low::blocks::load_by_buffer(src, len) }
        }
        #[inline(always)]
        unsafe fn store_partial(self, dst: *mut u8, len: usize) {
            // SAFETY: passed on.
            unsafe { $crate::low::blocks::store_by_buffer(self, dst, len) }
        }
        #[inline(always)]
        fn first(self) -> Self {
            self
        }
        #[inline(always)]
        fn lanes(self) -> [Self; $crate::low::blocks::MAX_LANES] {
            [self; $crate::low::blocks::MAX_LANES]
        }
        #[inline(always)]
        fn fold(self) -> Self {
            self
        }
        #[inline(always)]
        unsafe fn from_lanes(lanes: [Self; $crate::low::blocks::MAX_LANES]) -> Self {
            lanes[0]
        }
    };
}
pub(super) use one_lane;

/// A word of the state in `LANES` lanes, in the form that its AES rounds want: blocks as they are where there are AES
/// instructions.
///
/// # Safety
///
/// As for [`Vector`].
pub(crate) unsafe trait Word: Vector {
    /// What messages, key stream and tags come in.
    type Blocks: Blocks;

    /// A word of one lane.
    type Single: Word<Blocks = <Self::Blocks as Blocks>::Lane>;

    /// Whether the order of the instructions of a step is fixed, to the one that is fastest on cores with two AES units
    /// (docs/performance.md). If not, the compiler decides, beginning with an order in which each AES round can
    /// overwrite its input, as two-operand instructions want it.
    const IN_ORDER: bool = false;

    /// Whether `xor3` and `xor_and` are one instruction.
    const THREE_WAY: bool = false;

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

    /// `N` independent AES rounds in this order, at most eight: one step of a state. Implementations that gain from seeing
    /// all of them at once (bitslicing) override it.
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

    /// The same value. If `IN_ORDER`, the instructions that compute such values stay in the order of the source: CPUs
    /// choose the oldest among those that are ready.
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

    /// The first lane of this and the second of the other.
    fn beside(self, other: Self) -> Self;
}

/// Two vectors used as one of twice the lanes: for wide variants on narrow hardware where two interleaved chains
/// hide each other's latency.
#[derive(Clone, Copy)]
pub(crate) struct Pair<V>(V, V);

// SAFETY: forwards to `V` for each half; no branch or index depends on a value.
unsafe impl<V: Vector> Vector for Pair<V> {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0.xor(other.0), self.1.xor(other.1))
    }
    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        Self(self.0.xor3(b.0, c.0), self.1.xor3(b.1, c.1))
    }
    #[inline(always)]
    fn pin(self) -> Self {
        Self(self.0.pin(), self.1.pin())
    }
}

// SAFETY: likewise.
unsafe impl<W: Word> Word for Pair<W> {
    type Blocks = Pair<W::Blocks>;
    type Single = W::Single;
    const CONVERTS: bool = W::CONVERTS;

    #[inline(always)]
    fn new(blocks: Pair<W::Blocks>) -> Self {
        Self(W::new(blocks.0), W::new(blocks.1))
    }
    #[inline(always)]
    fn blocks(self) -> Pair<W::Blocks> {
        Pair(self.0.blocks(), self.1.blocks())
    }
    #[inline(always)]
    fn aes(self, round_key: Self) -> Self {
        Self(self.0.aes(round_key.0), self.1.aes(round_key.1))
    }
}

// SAFETY: likewise.
unsafe impl<V: Blocks> Blocks for Pair<V> {
    const LANES: usize = 2 * V::LANES;
    type Lane = V::Lane;

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: the caller grants the features and both halves of the memory.
        unsafe { Self(V::load(src), V::load(src.add(16 * V::LANES))) }
    }
    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: the caller grants both halves of the memory.
        unsafe {
            self.0.store(dst);
            self.1.store(dst.add(16 * V::LANES));
        }
    }
    #[inline(always)]
    unsafe fn splat(block: *const u8) -> Self {
        // SAFETY: the caller grants the features and the block.
        let half = unsafe { V::splat(block) };
        Self(half, half)
    }
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller grants the features.
        let half = unsafe { V::zero() };
        Self(half, half)
    }
    #[inline(always)]
    unsafe fn splat_words(first: u64, second: u64) -> Self {
        // SAFETY: the caller grants the features.
        let half = unsafe { V::splat_words(first, second) };
        Self(half, half)
    }
    #[inline(always)]
    unsafe fn load_partial(src: *const u8, len: usize) -> Self {
        let (first, second) = halves::<V>(len);
        // SAFETY: the caller grants the features and `len` bytes, of which these are the parts. Where the second has
        // none, its address is not used.
        unsafe { Self(V::load_partial(src, first), V::load_partial(src.wrapping_add(16 * V::LANES), second)) }
    }
    #[inline(always)]
    unsafe fn store_partial(self, dst: *mut u8, len: usize) {
        let (first, second) = halves::<V>(len);
        // SAFETY: likewise.
        unsafe {
            self.0.store_partial(dst, first);
            self.1.store_partial(dst.wrapping_add(16 * V::LANES), second);
        }
    }
    #[inline(always)]
    fn truncate(self, len: usize) -> Self {
        let (first, second) = halves::<V>(len);
        Self(self.0.truncate(first), self.1.truncate(second))
    }
    #[inline(always)]
    fn xor_and(self, b: Self, c: Self) -> Self {
        Self(self.0.xor_and(b.0, c.0), self.1.xor_and(b.1, c.1))
    }
    #[inline(always)]
    fn first(self) -> V::Lane {
        self.0.first()
    }
    #[inline(always)]
    fn lanes(self) -> [V::Lane; MAX_LANES] {
        let (mut lanes, second) = (self.0.lanes(), self.1.lanes());
        lanes[V::LANES..2 * V::LANES].copy_from_slice(&second[..V::LANES]);
        lanes
    }
    #[inline(always)]
    fn fold(self) -> V::Lane {
        self.0.fold().xor(self.1.fold())
    }

    const REGISTERS: usize = 2 * V::REGISTERS;

    #[inline(always)]
    unsafe fn from_lanes(lanes: [V::Lane; MAX_LANES]) -> Self {
        let mut second = lanes;
        second[..V::LANES].copy_from_slice(&lanes[V::LANES..2 * V::LANES]);
        // SAFETY: the caller grants the features.
        unsafe { Self(V::from_lanes(lanes), V::from_lanes(second)) }
    }
}

/// How many of `len` bytes lie in each vector of a pair.
#[inline(always)]
fn halves<V: Blocks>(len: usize) -> (usize, usize) {
    let half = 16 * V::LANES;
    (len.min(half), len.saturating_sub(half))
}
