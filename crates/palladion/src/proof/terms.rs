//! Blocks that are sums of terms in which AES rounds and ANDs are symbols, and vectors and machines
//! of such blocks.

extern crate std;
use core::cell::RefCell;
use std::boxed::Box;
use std::collections::HashMap;
use std::thread_local;
use std::vec::Vec;

use palladion_reference::{Aegis, AesBlock, Family, State};

use super::{Stored, faulty, read, write};
use crate::block::sum::AddsFirst;
use crate::block::{Blocks, Halves, MAX_LANES, Vector, Word};
use crate::machine::memory::Loops;
use crate::machine::{Halfwise, Rows, Work};
use crate::memory::Direction;
use crate::soft::sliced::Sliced;

/// A symbol in the sum of a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Symbol {
    /// A block of the input.
    Input(u32),
    /// The AES round of a block, with a round key of zeros.
    Aes(Term),
    /// The AND of two blocks, with the lower number first.
    And(Term, Term),
}

/// A symbol, or its first bytes followed by zeros.
type Part = (Symbol, usize);

/// A block: the number of its sum. A sum has a constant and each part at most once, and each sum
/// has only one number, so blocks with equal numbers are equal, whatever the symbols stand for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Term(u32);

pub(super) const ZERO: Term = Term(0);

type Sum = (u128, Box<[Part]>);

struct Sums {
    sums: Vec<Sum>,
    numbers: HashMap<Sum, Term>,
    /// Known sums of two blocks, because the same ones recur.
    xors: HashMap<(Term, Term), Term>,
}

thread_local! {
    static SUMS: RefCell<Sums> = RefCell::new(Sums {
        sums: std::vec![(0, Box::default())],
        numbers: HashMap::from([((0, Box::default()), ZERO)]),
        xors: HashMap::new(),
    });
}

fn with_sums<R>(f: impl FnOnce(&mut Sums) -> R) -> R {
    SUMS.with(|sums| f(&mut sums.borrow_mut()))
}

impl Sums {
    fn term(&mut self, sum: Sum) -> Term {
        if let Some(term) = self.numbers.get(&sum) {
            return *term;
        }
        let term = Term(self.sums.len() as u32);
        self.sums.push(sum.clone());
        self.numbers.insert(sum, term);
        term
    }

    /// Adds all parts; equal parts cancel in pairs.
    fn sum(&mut self, constant: u128, mut parts: Vec<Part>) -> Term {
        parts.sort_unstable();
        let mut kept: Vec<Part> = Vec::with_capacity(parts.len());
        for part in parts {
            if kept.last() == Some(&part) {
                kept.pop();
            } else {
                kept.push(part);
            }
        }
        self.term((constant, kept.into_boxed_slice()))
    }
}

pub(super) fn input(number: u32) -> Term {
    with_sums(|sums| sums.sum(0, std::vec![(Symbol::Input(number), 16)]))
}

pub(super) fn xor(a: Term, b: Term) -> Term {
    if a == ZERO {
        return b;
    } else if b == ZERO {
        return a;
    }
    with_sums(|sums| {
        let key = (a.min(b), a.max(b));
        if let Some(sum) = sums.xors.get(&key) {
            return *sum;
        }
        let (c, x) = &sums.sums[a.0 as usize];
        let (d, y) = &sums.sums[b.0 as usize];
        let (constant, parts) = (c ^ d, [&x[..], &y[..]].concat());
        let sum = sums.sum(constant, parts);
        sums.xors.insert(key, sum);
        sum
    })
}

pub(super) fn and(a: Term, b: Term) -> Term {
    // Constants that select the first bytes.
    for (mask, other) in [(a, b), (b, a)] {
        if let Some(len) = with_sums(|sums| match &sums.sums[mask.0 as usize] {
            (ones, parts) if parts.is_empty() => {
                (0..=16).find(|len| *ones == u128::MAX.checked_shr(8 * (16 - len)).unwrap_or(0))
            }
            _ => None,
        }) {
            return truncate(other, len as usize);
        }
    }
    with_sums(|sums| sums.sum(0, std::vec![(Symbol::And(a.min(b), a.max(b)), 16)]))
}

impl AesBlock for Term {
    fn constant(bytes: [u8; 16]) -> Self {
        with_sums(|sums| sums.sum(u128::from_le_bytes(bytes), Vec::new()))
    }
    fn xor(self, other: Self) -> Self {
        xor(self, other)
    }
    fn and(self, other: Self) -> Self {
        and(self, other)
    }
    fn aes_round(self, rk: Self) -> Self {
        xor(with_sums(|sums| sums.sum(0, std::vec![(Symbol::Aes(self), 16)])), rk)
    }
    fn truncate(self, len: usize) -> Self {
        truncate(self, len)
    }
}

/// Returns the first bytes, followed by zeros.
pub(super) fn truncate(term: Term, len: usize) -> Term {
    assert!(len <= 16);
    if len == 0 {
        return ZERO;
    }
    with_sums(|sums| {
        let (constant, parts) = sums.sums[term.0 as usize].clone();
        let mask = u128::MAX >> (8 * (16 - len));
        sums.sum(
            constant & mask,
            parts.iter().map(|(symbol, whole)| (*symbol, len.min(*whole))).collect(),
        )
    })
}

/// # Safety
/// 16 bytes are readable at `src`.
pub(super) unsafe fn load(src: *const u8) -> Term {
    // SAFETY: the caller promises 16 readable bytes.
    match unsafe { read(src, 1) } {
        Stored::Number(number) => Term(number as u32),
        Stored::Bytes(bytes) => Term::constant(bytes),
    }
}

/// # Safety
/// 16 bytes are writable at `dst`.
pub(super) unsafe fn store(term: Term, dst: *mut u8) {
    // SAFETY: the caller promises 16 writable bytes.
    unsafe { write(dst, 1, term.0 as usize) };
}

/// Returns the result of an operation: `right`, or `wrong` if the operation is the faulty one.
#[track_caller]
fn either<const L: usize>(right: [Term; L], wrong: [Term; L]) -> [Term; L] {
    if faulty(right != wrong) { wrong } else { right }
}

/// `L` blocks side by side, which also serve as words. If `SPILLS`, kernels treat them as words of
/// which a state does not fit into registers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms<const L: usize, const SPILLS: bool = false>(pub(super) [Term; L]);

// SAFETY: no CPU features are needed. It holds no real secrets.
unsafe impl<const L: usize, const SPILLS: bool> Vector for Terms<L, SPILLS> {
    #[inline(never)]
    #[track_caller]
    fn xor(self, other: Self) -> Self {
        Self(either(core::array::from_fn(|l| xor(self.0[l], other.0[l])), self.0))
    }
}

// SAFETY: no CPU features are needed. It holds no real secrets. The proofs' memory has whole
// blocks, so partial loads and stores may access all of a block.
unsafe impl<const L: usize, const SPILLS: bool> Blocks for Terms<L, SPILLS> {
    const LANES: usize = L;
    type Lane = Terms<1, SPILLS>;

    #[inline(never)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: the caller promises `16 * L` readable bytes.
        Self(core::array::from_fn(|l| unsafe { load(src.add(16 * l)) }))
    }
    #[inline(never)]
    unsafe fn store(self, dst: *mut u8) {
        for (l, term) in self.0.into_iter().enumerate() {
            // SAFETY: the caller promises `16 * L` writable bytes.
            unsafe { store(term, dst.add(16 * l)) };
        }
    }
    #[inline(never)]
    unsafe fn splat(block: *const u8) -> Self {
        // SAFETY: the caller promises a readable block.
        Self([unsafe { load(block) }; L])
    }
    unsafe fn zero() -> Self {
        Self([ZERO; L])
    }
    #[inline(never)]
    unsafe fn load_partial(src: *const u8, len: usize) -> Self {
        assert!(len <= 16 * L);
        Self(core::array::from_fn(|l| match len.saturating_sub(16 * l).min(16) {
            0 => ZERO, // there may be no memory
            // SAFETY: some bytes of this block are readable, and the proofs' memory has whole
            // blocks.
            n => truncate(unsafe { load(src.add(16 * l)) }, n),
        }))
    }
    #[inline(never)]
    unsafe fn store_partial(self, dst: *mut u8, len: usize) {
        assert!(len <= 16 * L);
        for (l, term) in self.0.into_iter().enumerate() {
            let n = len.saturating_sub(16 * l).min(16);
            if n > 0 {
                // SAFETY: some bytes of this block are writable, and the proofs' memory has whole
                // blocks.
                unsafe { store(truncate(term, n), dst.add(16 * l)) };
            }
        }
    }
    #[inline(never)]
    fn truncate(self, len: usize) -> Self {
        assert!(len <= 16 * L);
        Self(core::array::from_fn(|l| truncate(self.0[l], len.saturating_sub(16 * l).min(16))))
    }
    #[inline(never)]
    #[track_caller]
    fn xor_and(self, b: Self, c: Self) -> Self {
        Self(either(core::array::from_fn(|l| xor(self.0[l], and(b.0[l], c.0[l]))), self.0))
    }
    fn is_zero(self) -> bool {
        self.0.iter().all(|term| *term == ZERO)
    }
    #[inline(never)]
    fn first(self) -> Self::Lane {
        Terms([self.0[0]])
    }
    #[inline(never)]
    fn lanes(self) -> [Self::Lane; MAX_LANES] {
        // Lanes that do not exist get arbitrary values: nothing may depend on them.
        core::array::from_fn(|l| {
            Terms([if l < L { self.0[l] } else { input(u32::MAX - l as u32) }])
        })
    }
    #[inline(never)]
    fn fold(self) -> Self::Lane {
        Terms([self.0.into_iter().fold(ZERO, xor)])
    }
    #[inline(never)]
    unsafe fn from_lanes(lanes: [Self::Lane; MAX_LANES]) -> Self {
        Self(core::array::from_fn(|l| lanes[l].0[0]))
    }
}

// SAFETY: no CPU features are needed. It holds no real secrets.
unsafe impl<const L: usize, const SPILLS: bool> Word for Terms<L, SPILLS> {
    type Blocks = Self;
    type Single = Terms<1, SPILLS>;
    const SPILLS: bool = SPILLS;

    fn new(blocks: Self) -> Self {
        blocks
    }
    fn blocks(self) -> Self {
        self
    }
    #[inline(never)]
    #[track_caller]
    fn aes(self, round_key: Self) -> Self {
        Self(either(
            core::array::from_fn(|l| self.0[l].aes_round(round_key.0[l])),
            core::array::from_fn(|l| round_key.0[l].aes_round(self.0[l])),
        ))
    }
}

impl<const L: usize, const SPILLS: bool> Halfwise for Terms<L, SPILLS> {}

// SAFETY: no CPU features are needed. It holds no real secrets.
unsafe impl<const L: usize, const SPILLS: bool> AddsFirst for Terms<L, SPILLS> {
    #[track_caller]
    fn whole(self, other: Self) -> Self {
        self.xor(other)
    }
    #[track_caller]
    fn round_of_sum(self, other: Self) -> Self {
        self.xor(other).aes(Self([ZERO; L]))
    }
}

// SAFETY: no CPU features are needed. It holds no real secrets.
unsafe impl<const L: usize, const SPILLS: bool, const N: usize> Loops<N> for Terms<L, SPILLS> {
    type Blocks = Self;
    type Single = Terms<1, SPILLS>;
    fn new(blocks: Self) -> Self {
        blocks
    }
    fn blocks(self) -> Self {
        self
    }
    unsafe fn run_steps(s: &mut [Self; N], work: Work, rows: Rows, steps: usize) {
        let mut state = state(&s.map(|word| word.0));
        let count = if N == 8 { 2 } else { 1 };
        for i in 0..steps {
            let rows = rows.at(i * count * rows.row);
            // SAFETY: the caller promises the steps.
            let row = |b: usize| unsafe { Self::load(rows.src.wrapping_add(b * rows.row)) }.0;
            let m: Vec<Term> = (0..count).flat_map(row).collect();
            let output = match work {
                Work::Absorb => {
                    state.update(&m);
                    continue;
                }
                Work::Crypt(Direction::Encrypt) => state.enc(&m, 16 * m.len()),
                Work::Crypt(Direction::Decrypt) => state.dec(&m, 16 * m.len()),
            };
            for (b, row) in output.as_chunks().0.iter().enumerate() {
                // SAFETY: the caller promises the steps.
                unsafe { Self(*row).store(rows.dst.wrapping_add(b * rows.row)) };
            }
        }
        *s = core::array::from_fn(|i| Self(state.v[i][..].try_into().unwrap()));
    }
}

/// Returns the standard's state with these words.
fn state<const L: usize>(words: &[[Term; L]]) -> State<Term> {
    let family = if words.len() == 8 { Family::Aegis128 } else { Family::Aegis256 };
    let v = words.iter().map(|word| word.to_vec()).collect();
    State { aegis: Aegis::new(family, L), v }
}

// SAFETY: no CPU features are needed. It holds no real secrets.
unsafe impl Halves for Terms<2> {
    #[track_caller]
    fn swap(self) -> Self {
        Self(either([self.0[1], self.0[0]], self.0))
    }
}

/// A state of words that are terms, with the steps of the standard. `rounds.rs` proves that the
/// bitsliced machines compute such steps; the code they share is proved with this machine.
#[derive(Clone, Copy)]
pub(super) struct Ideal<const L: usize, const BLOCKS: usize>([[Term; L]; 8]);

impl<const L: usize, const BLOCKS: usize> Ideal<L, BLOCKS> {
    fn state(&self) -> State<Term> {
        state(&self.0[..if BLOCKS == 2 { 8 } else { 6 }])
    }
}

// SAFETY: no CPU features are needed. It holds no real secrets.
unsafe impl<const L: usize, const BLOCKS: usize> Sliced for Ideal<L, BLOCKS> {
    type Blocks = Terms<L>;
    type Lane = Ideal<1, BLOCKS>;
    type Step = [Terms<L>; BLOCKS];
    const BLOCKS: usize = BLOCKS;

    fn zero() -> Self {
        Self([[ZERO; L]; 8])
    }
    fn zeros() -> Self::Step {
        [Terms([ZERO; L]); BLOCKS]
    }
    unsafe fn load(src: *const u8, row: usize) -> Self::Step {
        // SAFETY: the caller promises readable rows.
        core::array::from_fn(|b| unsafe { Blocks::load(src.add(b * row)) })
    }
    unsafe fn store(step: Self::Step, dst: *mut u8, row: usize) {
        for (b, blocks) in step.into_iter().enumerate() {
            // SAFETY: the caller promises writable rows.
            unsafe { blocks.store(dst.add(b * row)) };
        }
    }
    fn add(&mut self, other: &Self) {
        *self = Self(core::array::from_fn(|i| {
            core::array::from_fn(|l| xor(self.0[i][l], other.0[i][l]))
        }));
    }
    fn update(&mut self, m: &Self::Step) {
        let mut state = self.state();
        state.update(&m.map(|row| row.0).concat());
        for (to, word) in self.0.iter_mut().zip(state.v) {
            *to = word.try_into().unwrap();
        }
    }
    fn add_keystream(&self, m: &Self::Step) -> Self::Step {
        let z = self.state().z();
        core::array::from_fn(|b| m[b].xor(Terms(z[b * L..][..L].try_into().unwrap())))
    }
    fn words_at(&self, at: usize) -> Self::Step {
        core::array::from_fn(|b| Terms(self.0[at + 4 * b]))
    }
    fn add_at(&mut self, step: &Self::Step, at: usize) {
        for b in 0..BLOCKS {
            for l in 0..L {
                self.0[at + 4 * b][l] = xor(self.0[at + 4 * b][l], step[b].0[l]);
            }
        }
    }
    fn summed(&self, all: bool) -> Self {
        let half = if BLOCKS == 2 { 4 } else { 3 };
        // Meaningless values, for the words that the loop does not set.
        let mut out = Self(core::array::from_fn(|i| [input(u32::MAX - 100 - i as u32); L]));
        for first in [0, half] {
            for l in 0..L {
                let left_out = first > 0 && BLOCKS == 2 && !all;
                let words = &self.0[first..first + half - usize::from(left_out)];
                out.0[first][l] = words.iter().fold(ZERO, |sum, word| xor(sum, word[l]));
            }
        }
        out
    }
}
