//! Machines whose state stays in memory, because the compiler cannot keep it in the registers that
//! fast instructions use: POWER, IBM Z, Zvkned, and byte shuffles in WebAssembly.

use core::mem::MaybeUninit;
use core::slice;

use super::aegis128::start128;
use super::aegis256::start256;
use super::{C0, C1, FINAL_ROUNDS, Machine, Rows, Work};
use crate::block::{Blocks, MAX_LANES, Vector, each};
use crate::memory::{Direction, wipe};

/// A word in memory, and whole loops over a state of `N` of them: 8 for AEGIS-128, 6 for AEGIS-256.
/// Only `run_steps` is required. An implementation that can do better overrides the others.
///
/// # Safety
/// The same as for [`Machine`].
pub(crate) unsafe trait Loops<const N: usize>: Vector {
    /// The type of messages, key stream and tags.
    type Blocks: Blocks;
    /// The type of a word of one lane.
    type Single: Loops<N, Blocks = <Self::Blocks as Blocks>::Lane, Single = Self::Single>;
    /// Converts blocks to a word.
    fn new(blocks: Self::Blocks) -> Self;
    /// Converts the word to blocks.
    fn blocks(self) -> Self::Blocks;
    /// Processes whole steps, at least one.
    ///
    /// # Safety
    /// The same as for [`Machine::run_steps`].
    unsafe fn run_steps(state: &mut [Self; N], work: Work, rows: Rows, steps: usize);
    /// Updates the state so many times, at least once, with two inputs for AEGIS-128 or four for
    /// AEGIS-256, which take turns. Before each update, adds a context to S3 and the last word.
    /// This goes through the stack, which the driver wipes.
    #[inline(always)]
    fn mix(state: &mut [Self; N], input: [Self; 4], ctx: Option<Self>, steps: usize) {
        let (mut buffer, row) = (Buffer::uninit(), 16 * Self::Blocks::LANES);
        let buffer = buffer.as_mut_ptr().cast::<u8>();
        let rows = Rows { src: buffer, dst: buffer, row };
        for i in 0..steps {
            if let Some(ctx) = ctx {
                state[3] = state[3].xor(ctx);
                state[N - 1] = state[N - 1].xor(ctx);
            }
            // SAFETY: two of the widest vectors fit. A state exists, so the CPU has the features.
            unsafe {
                input[if N == 8 { 0 } else { i % 4 }].blocks().store(buffer);
                if N == 8 {
                    input[1].blocks().store(buffer.add(row));
                }
                Self::run_steps(state, Work::Absorb, rows, 1);
            }
        }
    }
    /// Returns the state after initialisation (§3.2.2, §4.2.2) from the state before it, with input
    /// and context as in `mix`.
    #[inline(always)]
    fn init(mut state: [Self; N], input: [Self; 4], ctx: Self) -> [Self; N] {
        Self::mix(&mut state, input, Some(ctx), if N == 8 { 10 } else { 16 });
        state
    }
    /// Absorbs the lengths (§3.2.7, §4.2.7). Returns the sums of S0 to S3 and of S4 to S6
    /// (AEGIS-128), or of S0 to S2 and of S3 to S5 (AEGIS-256).
    #[inline(always)]
    fn finalize(s: &mut [Self; N], lengths: Self) -> [Self; 2] {
        let t = s[if N == 8 { 2 } else { 3 }].xor(lengths);
        // Not `[t; 4]`, which on WebAssembly may become a copy through memory.
        Self::mix(s, [t, t, t, t], None, FINAL_ROUNDS);
        if N == 8 {
            [s[0].xor3(s[1], s[2]).xor(s[3]), s[4].xor3(s[5], s[N - 2])]
        } else {
            [s[0].xor3(s[1], s[2]), s[3].xor3(s[4], s[5])]
        }
    }
}

/// A block of the message.
type Lane<W, const N: usize> = <<W as Loops<N>>::Blocks as Blocks>::Lane;

/// Room for a step of any machine.
type Buffer = MaybeUninit<[u8; 2 * 16 * MAX_LANES]>;

/// A state in memory.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct InMemory<W, const N: usize>([W; N]);

// SAFETY: transparent over words, which have the properties required of `Machine`.
unsafe impl<W: Loops<N>, const N: usize> Machine for InMemory<W, N> {
    type V = W::Blocks;
    type Lane = InMemory<W::Single, N>;
    const RATE: usize = if N == 8 { 2 } else { 1 };
    const SPILLS: bool = true;

    #[inline(always)]
    unsafe fn init(key: *const u8, nonce: *const u8, ctx: W::Blocks) -> Self {
        // SAFETY: the caller promises the CPU features and a readable key and nonce: 16 bytes for
        // AEGIS-128, 32 for AEGIS-256.
        let word = |at: *const u8| W::new(unsafe { W::Blocks::splat(at) });
        let (c, k, n) = ([word(C0.as_ptr()), word(C1.as_ptr())], word(key), word(nonce));
        let mut s = [c[0]; N];
        let input = if N == 8 {
            s.copy_from_slice(&start128(k, n, c));
            [n, k, n, k]
        } else {
            let (k, n) = ([k, word(key.wrapping_add(16))], [n, word(nonce.wrapping_add(16))]);
            s.copy_from_slice(&start256(k, n, c));
            [k[0], k[1], k[0].xor(n[0]), k[1].xor(n[1])]
        };
        Self(W::init(s, input, W::new(ctx)))
    }
    #[inline(always)]
    unsafe fn run_steps(&mut self, work: Work, rows: Rows, steps: usize) {
        if steps > 0 {
            // SAFETY: the caller promises the same.
            unsafe { W::run_steps(&mut self.0, work, rows, steps) }
        }
    }
    /// In a buffer, as a whole step. Not inlined: a kernel with this code saves many registers.
    #[inline(never)]
    unsafe fn run_last_step(&mut self, work: Work, rows: Rows, len: usize) {
        let (mut buffer, size) = (Buffer::uninit(), 16 * W::Blocks::LANES);
        let buffer = buffer.as_mut_ptr().cast::<u8>();
        // Row `i`: how many of its bytes exist, where, and its place in the buffer.
        let row = |i: usize| {
            let at = i * rows.row;
            (len.saturating_sub(at).min(size), rows.at(at), buffer.wrapping_add(i * size))
        };
        // SAFETY: the caller promises the CPU features and the bytes. The buffer has room for a
        // step. Blocks of which no byte exists are not accessed.
        unsafe {
            buffer.write_bytes(0, Self::RATE * size);
            for i in 0..Self::RATE {
                let (len, data, buffer) = row(i);
                let mut at = 0;
                while at < len {
                    let m = Lane::<W, N>::load_partial(data.src.add(at), (len - at).min(16));
                    m.store(buffer.add(at));
                    at += 16;
                }
            }
            W::run_steps(&mut self.0, work, Rows { src: buffer, dst: buffer, row: size }, 1);
            for i in 0..if work == Work::Absorb { 0 } else { Self::RATE } {
                let (len, data, buffer) = row(i);
                let mut at = 0;
                while at < len {
                    let (part, block) = ((len - at).min(16), Lane::<W, N>::load(buffer.add(at)));
                    block.store_partial(data.dst.add(at), part);
                    block.xor(block.truncate(part)).store(buffer.add(at));
                    at += 16;
                }
                if work == Work::Crypt(Direction::Decrypt) {
                    // The message padded with zeros is absorbed (DecPartial, §3.2.6), but the
                    // padding was decrypted too.
                    self.0[4 * i] = self.0[4 * i].xor(W::new(W::Blocks::load(buffer)));
                }
            }
            wipe(slice::from_raw_parts_mut(buffer, Self::RATE * size));
        }
    }
    #[inline(always)]
    fn absorb_blocks(&mut self, [m0, m1]: [W::Blocks; 2]) {
        let (m0, m1) = (W::new(m0), W::new(m1));
        W::mix(&mut self.0, [m0, m1, m0, m1], None, 1);
    }
    #[inline(always)]
    unsafe fn keystream(&self, dst: *mut u8, row: usize) {
        let (mut copy, rows) = (*self, Rows { src: dst, dst, row });
        // SAFETY: the caller promises a writable step. `self` exists, so the CPU has the features.
        unsafe {
            for i in 0..Self::RATE {
                W::Blocks::zero().store(dst.add(i * row));
            }
            // Not `run_steps`, of which this would be another copy.
            copy.run_last_step(Work::Crypt(Direction::Encrypt), rows, Self::RATE * row);
        }
    }
    #[inline(always)]
    fn finish(&mut self, lengths: W::Blocks, tag_len: usize) -> [W::Blocks; 2] {
        let [first, second] = W::finalize(&mut self.0, W::new(lengths));
        if tag_len == 16 {
            return [first.xor(second).blocks(); 2];
        }
        [first.blocks(), if N == 8 { second.xor(self.0[N - 1]) } else { second }.blocks()]
    }
    #[inline(always)]
    fn words(&self) -> [W::Blocks; 8] {
        let mut words = [self.0[0].blocks(); 8];
        each!(i < N: words[i] = self.0[i].blocks());
        words
    }
    #[inline(always)]
    unsafe fn from_words(words: [W::Blocks; 8]) -> Self {
        let mut s = [W::new(words[0]); N];
        each!(i < N: s[i] = W::new(words[i]));
        Self(s)
    }
}
