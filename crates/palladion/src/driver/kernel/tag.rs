//! Tags: the sum over the lanes, the comparison, the end of a MAC.

use crate::block::{Blocks, MAX_LANES, Vector};
use crate::machine::Machine;
use crate::memory::secrecy::declassify;

/// Returns the block LE64(8 * a) || LE64(8 * b) in every lane.
///
/// # Safety
/// The CPU has the features of `V`.
#[inline(always)]
pub(super) unsafe fn lengths<V: Blocks>(a_bytes: u64, b_bytes: u64) -> V {
    // SAFETY: the caller promises the CPU features.
    unsafe { V::splat_words(a_bytes << 3, b_bytes << 3) }
}

/// Adds the tags of two groups.
#[inline(always)]
pub(super) fn add<V: Blocks>(a: [V; 2], b: [V; 2]) -> [V; 2] {
    [a[0].xor(b[0]), a[1].xor(b[1])]
}

/// Writes the tag: the XOR of all lanes' tags.
///
/// # Safety
/// `tag_len` bytes, 16 or 32, are writable at `tag`.
#[inline(always)]
pub(super) unsafe fn write<V: Blocks>(sum: [V; 2], tag: *mut u8, tag_len: usize) {
    // SAFETY: the caller promises `tag_len` writable bytes.
    unsafe {
        // The second half first: a branch would separate reversing the bytes of the first from its
        // store, which POWER does in one instruction.
        if tag_len != 16 {
            sum[1].fold().store(tag.add(16));
        }
        sum[0].fold().store(tag);
    }
}

/// Compares the tag with the one at `tag`, in constant time.
///
/// # Safety
/// `tag_len` bytes, 16 or 32, are readable at `tag`.
#[inline(always)]
pub(super) unsafe fn is_equal<V: Blocks>(sum: [V; 2], tag: *const u8, tag_len: usize) -> bool {
    // SAFETY: the caller promises `tag_len` readable bytes. `sum` exists, so the CPU has the
    // features.
    unsafe {
        let mut difference = sum[0].fold().xor(Blocks::load(tag));
        if tag_len != 16 {
            // One decision about both halves. Two would become two branches, and the first would
            // reveal whether half a tag was right.
            let second = sum[1].fold().xor(Blocks::load(tag.add(16)));
            // `difference | second`
            difference = difference.xor(second).xor_and(difference, second);
        }
        declassify(difference.is_zero())
    }
}

/// The end of FinalizeMac (§8): lane 0 absorbs the lanes' tags and produces the MAC.
struct MacEnd<L: Machine> {
    last: L,
    /// The first block of a step that is not yet complete.
    pending: Option<L::V>,
}

impl<L: Machine> MacEnd<L> {
    #[inline(always)]
    fn new<M: Machine<Lane = L>>(first: &M) -> Self
    where
        M::V: Blocks<Lane = L::V>,
    {
        let words = first.words();
        // Not `map`, which the compiler does not always inline.
        let mut lane = [words[0].first(); 8];
        let mut i = 1;
        while i < 8 {
            // One after the other. ARM lacks the registers to begin all of them at once.
            lane[i] = words[i].first().after(lane[i - 1]);
            i += 1;
        }
        // SAFETY: a state exists, so the CPU has the features.
        Self { last: unsafe { L::from_words(lane) }, pending: None }
    }

    /// Absorbs the tags of the lanes of the group with this number, `tag_len` bytes each. Groups
    /// come in order.
    #[inline(always)]
    fn absorb<M: Machine<Lane = L>>(&mut self, number: usize, tags: [M::V; 2], tag_len: usize)
    where
        M::V: Blocks<Lane = L::V>,
    {
        let blocks = [tags[0].lanes(), tags[1].lanes()];
        if L::SPILLS {
            // One copy of the step.
            return self.absorb_tags::<M>(number, blocks, tag_len);
        }
        // A constant in each branch keeps the lanes in registers.
        if tag_len == 16 {
            self.absorb_tags::<M>(number, blocks, 16);
        } else {
            self.absorb_tags::<M>(number, blocks, 32);
        }
    }

    #[inline(always)]
    fn absorb_tags<M: Machine<Lane = L>>(
        &mut self,
        number: usize,
        blocks: [[L::V; MAX_LANES]; 2],
        tag_len: usize,
    ) {
        let blocks_per_tag = if tag_len == 16 { 1 } else { 2 };
        // Lane 0 leaves out its own tag, except of AEGIS-128 with short tags.
        let first_lane = if L::RATE == 2 && tag_len == 16 { 0 } else { 1 };
        // Not iterators, which take long to compile.
        let mut lane = 0;
        while lane < M::V::LANES {
            if number * M::V::LANES + lane >= first_lane {
                let mut i = 0;
                while i < blocks_per_tag {
                    self.absorb_block(blocks[i & 1][lane]); // `&` avoids a bounds check
                    i += 1;
                }
            }
            lane += 1;
        }
    }

    #[inline(always)]
    fn absorb_block(&mut self, block: L::V) {
        if L::RATE == 1 {
            self.last.absorb_blocks([block, block]);
        } else if let Some(first) = self.pending.take() {
            self.last.absorb_blocks([first, block]);
        } else {
            self.pending = Some(block);
        }
    }

    /// Writes the MAC of a degree above 1.
    ///
    /// # Safety
    /// `tag_len` bytes, 16 or 32, are writable at `tag`.
    #[inline(always)]
    unsafe fn write(mut self, degree: usize, tag: *mut u8, tag_len: usize) {
        debug_assert!(self.pending.is_none()); // `check_mac` rejects odd numbers of blocks
        // Constants, so that the optimiser does not keep the vector of the first lengths, for which
        // there is no register.
        let tag_bits = if tag_len == 16 { 128 } else { 256 };
        // SAFETY: the caller promises `tag_len` writable bytes. `self` exists, so the CPU has the
        // features.
        unsafe {
            let lengths = L::V::splat_words(degree as u64, tag_bits);
            write(self.last.finish(lengths, tag_len), tag, tag_len);
        }
    }
}

/// Writes the MAC of a state from its first group and the tags of each group.
///
/// # Safety
/// `tag_len` bytes, 16 or 32, are writable at `tag`.
#[inline(always)]
pub(super) unsafe fn write_mac<M: Machine>(
    first: &M,
    tags: impl Fn(usize) -> [M::V; 2],
    degree: usize,
    tag: *mut u8,
    tag_len: usize,
) {
    // SAFETY: the caller promises `tag_len` writable bytes.
    unsafe {
        if degree == 1 {
            return write(tags(0), tag, tag_len);
        }
        let mut end = MacEnd::new(first);
        for number in 0..degree / M::V::LANES {
            end.absorb::<M>(number, tags(number), tag_len);
        }
        end.write(degree, tag, tag_len);
    }
}
