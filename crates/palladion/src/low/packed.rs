//! What the machines have in common that keep two words in one register: `packed128.rs` and `packed256.rs`.
//!
//! Word i of the first half of the state lies beside word i of the second, so that a step is one AES round on each
//! register, but that the words of the last change places on their way to the first.

use super::blocks::{Blocks, Word};

/// A block.
pub(super) type Lane<W> = <<W as Word>::Blocks as Blocks>::Lane;

/// Two blocks in a register.
#[inline(always)]
pub(super) fn join<W: Word>(low: Lane<W>, high: Lane<W>) -> W::Blocks {
    // SAFETY: a block is proof of the CPU features.
    unsafe { W::Blocks::from_lanes([low, high, low, high]) }
}

/// Two words.
#[inline(always)]
pub(super) fn pair<W: Word>(low: Lane<W>, high: Lane<W>) -> W {
    W::new(join::<W>(low, high))
}

/// `Machine::load_words` of pairs: the words at `i` and `j`.
///
/// # Safety
/// The CPU features; the words readable.
#[inline(always)]
pub(super) unsafe fn load_pair<W: Word>(src: *const u8, stride: usize, i: usize, j: usize) -> W {
    // SAFETY: the caller grants both.
    unsafe { pair(Lane::<W>::load(src.add(i * stride)), Lane::<W>::load(src.add(j * stride))) }
}

/// `Machine::store_words` of pairs: the words of the first half of the state, then those of the second.
///
/// # Safety
/// Each word writable.
#[inline(always)]
pub(super) unsafe fn store_pairs<V: Blocks>(pairs: &[V], dst: *mut u8, stride: usize) {
    for (i, pair) in pairs.iter().enumerate() {
        let [low, high, ..] = pair.lanes();
        // SAFETY: the caller grants each word.
        unsafe {
            low.store(dst.add(i * stride));
            high.store(dst.add((i + pairs.len()) * stride));
        }
    }
}
