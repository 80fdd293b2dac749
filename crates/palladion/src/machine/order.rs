//! In which order CPUs should get the instructions of a step. All orders compute the same.
//!
//! | order | for |
//! |---|---|
//! | [`Textbook`] | sums, for instructions that add the round key first: ARM's long loops |
//! | [`Compact`] | rounds of many instructions: byte shuffles |
//! | [`Scalar`] | Zkne |
//! | [`Free`] | AES-NI: the compiler decides |
//! | [`ShortChain`] | VAES |
//! | [`ShortChainTernary`] | VAES with the three-way logic of AVX-512 |
//! | [`Zen`] | AMD's Zen cores without AVX-512, where `arch/tables/zen.rs` names it |
//! | [`ZenTernary`] | AMD's Zen cores with AVX-512, likewise |
//!
//! The standard's update is `S0' = AESRound(S7, S0 ^ M)`, where the instruction of x86 adds its
//! second argument at the end. Computed this way, the XOR with the message is between two AES
//! rounds on the chain from S0 to the next step's S0, which costs three cycles per step. Most
//! orders compute `AESRound(S7, M) ^ S0` instead, and where the message is known late, as in
//! decryption, `AESRound(S7, 0) ^ S0 ^ M`. `Vector::pin` hides the result of a round from the
//! compiler, which would otherwise move the XOR back. docs/performance.md has the measurements.

use super::registers::{self, Step, Steps};
use super::{Rows, Work};
use crate::block::{Blocks, Word, each};
use crate::memory::Direction;

/// An order of instructions. `N` is the number of words of a state, 8 for AEGIS-128 and 6 for
/// AEGIS-256, and `B` that of blocks in a message, 2 and 1.
pub(crate) trait Order: Copy {
    /// Update(M): word `i` of the new state is `AESRound(x[i], s[i])`. The block `m[b]` is added to
    /// word `4 * b`. Here as the standard says: the message is part of the round key.
    #[inline(always)]
    fn update<W: Word, const N: usize, const B: usize>(x: [W; N], s: [W; N], m: [W; B]) -> [W; N] {
        let mut keys = s;
        each!(b < B: keys[4 * b] = s[4 * b].xor(m[b]));
        W::rounds(x, keys)
    }

    /// Update(M) in initialisation and finalisation.
    #[inline(always)]
    fn mix<W: Word, const N: usize, const B: usize>(x: [W; N], s: [W; N], m: [W; B]) -> [W; N] {
        Self::update(x, s, m)
    }

    /// The rounds of an Update(M) whose message is not known yet, as in decryption.
    #[inline(always)]
    fn begin<W: Word, const N: usize>(x: [W; N], s: [W; N]) -> [W; N] {
        W::rounds(x, s)
    }

    /// The end of such an update of the state `s`: adds the message to these rounds.
    #[inline(always)]
    fn end<W: Word, const N: usize, const B: usize>(t: [W; N], _s: [W; N], m: [W; B]) -> [W; N] {
        let mut out = t;
        each!(b < B: out[4 * b] = t[4 * b].pin().xor(m[b]));
        out
    }

    /// Encrypts a step and absorbs it.
    #[inline(always)]
    fn encrypt<A: Arranged>(s: &mut A, m: A::Step) -> A::Step {
        // The ciphertext first, so that the message need not stay in registers.
        let c = s.add_keystream(m);
        s.absorb(m);
        c
    }

    /// Decrypts a step and absorbs the result.
    #[inline(always)]
    fn decrypt<A: Arranged>(s: &mut A, c: A::Step) -> A::Step {
        let m = s.add_keystream(c);
        s.absorb(m);
        m
    }

    /// Processes whole steps.
    ///
    /// # Safety
    /// The same as for [`Machine::run_steps`](super::Machine::run_steps).
    #[inline(always)]
    unsafe fn run_steps<A: Arranged>(s: &mut A, work: Work, rows: Rows, steps: usize) {
        // SAFETY: the caller promises the same.
        unsafe { registers::run_steps::<_, 1>(s, work, rows, steps) };
    }
}

/// A machine whose steps an order arranges: AEGIS-128 or AEGIS-256 with a register for each word.
pub(crate) trait Arranged: Steps {
    /// [`Order::begin`]
    fn begin(self) -> Self;
    /// [`Order::end`], of a state that began as `before`.
    fn end(self, before: Self, m: Self::Step) -> Self;
    /// Absorbs a step that is known late.
    #[inline(always)]
    fn absorb_late(&mut self, m: Self::Step) {
        *self = self.begin().end(*self, m);
    }
    /// Absorbs two steps.
    #[inline(always)]
    fn absorb_two(&mut self, m: Self::Step, n: Self::Step) {
        self.absorb(m);
        self.absorb(n);
    }
    /// Adds the key stream to `m`, and last S1 (AEGIS-128: S1 and S5), which the step before has
    /// made of S0, to keep the path from S0 through S1 back to S0 short.
    fn add_keystream_late(&self, m: Self::Step) -> Self::Step;
    /// Returns the same state. The key stream of it stays behind what comes before.
    fn fence(self) -> Self;
}

/// As the standard says. Right where the instruction adds the round key first, so that an XOR
/// before a round takes no time.
#[derive(Clone, Copy)]
pub(crate) struct Textbook;

impl Order for Textbook {}

/// [`Textbook`] with one copy of a step's code for encryption and decryption. The rounds wait for
/// execution units, not for the step before, so that other orders gain nothing.
#[derive(Clone, Copy)]
pub(crate) struct Compact;

impl Order for Compact {
    /// A message that serves for many updates is converted once, to be a round key. Short messages
    /// take 5 % less time.
    #[inline(always)]
    fn mix<W: Word, const N: usize, const B: usize>(x: [W; N], s: [W; N], m: [W; B]) -> [W; N] {
        Free::update(x, s, m)
    }
    #[inline(always)]
    unsafe fn run_steps<A: Arranged>(s: &mut A, work: Work, rows: Rows, steps: usize) {
        // SAFETY: the caller promises the same.
        unsafe { registers::run_steps_compactly(s, work, rows, steps) }
    }
}

/// [`Compact`] with a copy of the step each for encryption and decryption, where it takes many
/// instructions to choose between a step's input and output.
#[derive(Clone, Copy)]
pub(crate) struct Scalar;

impl Order for Scalar {
    #[inline(always)]
    fn mix<W: Word, const N: usize, const B: usize>(x: [W; N], s: [W; N], m: [W; B]) -> [W; N] {
        Compact::mix(x, s, m)
    }
    #[inline(always)]
    unsafe fn run_steps<A: Arranged>(s: &mut A, work: Work, rows: Rows, steps: usize) {
        const DECRYPT: Work = Work::Crypt(Direction::Decrypt);
        // SAFETY: the caller promises the same.
        unsafe {
            if work == DECRYPT {
                registers::run_steps_compactly(s, DECRYPT, rows, steps);
            } else {
                registers::run_steps_compactly(s, work, rows, steps);
            }
        }
    }
}

/// The message is a round key. The compiler chooses the order, starting from one in which each
/// round can overwrite its input, which suits two-operand instructions.
#[derive(Clone, Copy)]
pub(crate) struct Free;

impl Order for Free {
    #[inline(always)]
    fn update<W: Word, const N: usize, const B: usize>(x: [W; N], s: [W; N], m: [W; B]) -> [W; N] {
        let mut out = W::rounds(x, with_message(s, m));
        each!(b < B: out[4 * b] = out[4 * b].pin().xor(s[4 * b]));
        out
    }
    /// S0 and S4 are round keys, as in the textbook, which saves two instructions. AEGIS-256, with
    /// fewer rounds in a step, would wait for S0 where a round takes long.
    #[inline(always)]
    fn begin<W: Word, const N: usize>(x: [W; N], s: [W; N]) -> [W; N] {
        W::rounds(x, if N == 8 { s } else { without_message(s) })
    }
    #[inline(always)]
    fn end<W: Word, const N: usize, const B: usize>(t: [W; N], s: [W; N], m: [W; B]) -> [W; N] {
        if N == 8 { Textbook::end(t, s, m) } else { ShortChain::end(t, s, m) }
    }
    #[inline(always)]
    fn decrypt<A: Arranged>(s: &mut A, c: A::Step) -> A::Step {
        let m = s.add_keystream_late(c);
        s.absorb_late(m);
        m
    }
}

/// A fixed order for cores that execute the oldest ready instruction first: rounds from the last
/// word down, each of which overwrites its round key if that is only absorbed. Those of the message
/// are first, because they are on the longest chain, and the key stream is last, because nothing
/// depends on it.
#[derive(Clone, Copy)]
pub(crate) struct ShortChain;

const DOWN: Sequence = Sequence([0, 4, 7, 3, 6, 2, 5, 1], [0, 5, 4, 3, 2, 1]);

impl Order for ShortChain {
    #[inline(always)]
    fn update<W: Word, const N: usize, const B: usize>(x: [W; N], s: [W; N], m: [W; B]) -> [W; N] {
        let mut out = in_order(DOWN, x, with_message(s, m));
        each!(b < B: out[4 * b] = out[4 * b].pin().xor(s[4 * b]).fence());
        out
    }
    #[inline(always)]
    fn begin<W: Word, const N: usize>(x: [W; N], s: [W; N]) -> [W; N] {
        in_order(DOWN, x, without_message(s))
    }
    #[inline(always)]
    fn end<W: Word, const N: usize, const B: usize>(t: [W; N], s: [W; N], m: [W; B]) -> [W; N] {
        let mut out = t;
        each!(b < B: out[4 * b] = t[4 * b].pin().xor3(s[4 * b], m[b]));
        out
    }
    #[inline(always)]
    fn encrypt<A: Arranged>(s: &mut A, m: A::Step) -> A::Step {
        let before = *s;
        s.absorb(m);
        before.fence().add_keystream(m)
    }
    #[inline(always)]
    fn decrypt<A: Arranged>(s: &mut A, c: A::Step) -> A::Step {
        let m = s.add_keystream_late(c);
        s.absorb_late(m);
        m
    }
    /// Without a key stream, only the chain is left: in AEGIS-256, six rounds and one XOR in six
    /// steps. So it absorbs two steps at once: the second starts before the first has finished.
    #[inline(always)]
    unsafe fn run_steps<A: Arranged>(s: &mut A, work: Work, rows: Rows, steps: usize) {
        // SAFETY: the caller promises the steps.
        unsafe {
            if A::RATE == 1 && A::V::LANES < 4 && work == Work::Absorb {
                absorb_twos(s, rows, steps);
            } else {
                registers::run_steps::<_, 1>(s, work, rows, steps);
            }
        }
    }
}

/// [`ShortChain`] where an XOR of three values is one instruction: decryption adds its key stream
/// at once. That takes 4 % off long messages of AEGIS-128X4 on Zen 4.
#[derive(Clone, Copy)]
pub(crate) struct ShortChainTernary;

impl Order for ShortChainTernary {
    #[inline(always)]
    fn update<W: Word, const N: usize, const B: usize>(x: [W; N], s: [W; N], m: [W; B]) -> [W; N] {
        ShortChain::update(x, s, m)
    }
    #[inline(always)]
    fn begin<W: Word, const N: usize>(x: [W; N], s: [W; N]) -> [W; N] {
        ShortChain::begin(x, s)
    }
    #[inline(always)]
    fn end<W: Word, const N: usize, const B: usize>(t: [W; N], s: [W; N], m: [W; B]) -> [W; N] {
        ShortChain::end(t, s, m)
    }
    #[inline(always)]
    fn encrypt<A: Arranged>(s: &mut A, m: A::Step) -> A::Step {
        ShortChain::encrypt(s, m)
    }
    #[inline(always)]
    fn decrypt<A: Arranged>(s: &mut A, c: A::Step) -> A::Step {
        let m = s.add_keystream(c);
        s.absorb_late(m);
        m
    }
    #[inline(always)]
    unsafe fn run_steps<A: Arranged>(s: &mut A, work: Work, rows: Rows, steps: usize) {
        // SAFETY: the caller promises the same.
        unsafe { ShortChain::run_steps(s, work, rows, steps) }
    }
}

/// The rounds of [`ShortChain`], with the message as an operand in memory. After them it is loaded
/// again for the key stream. That leaves enough registers for two steps in a turn of the loop.
#[derive(Clone, Copy)]
pub(crate) struct Zen;

/// For initialisation and finalisation.
const UP_TO_S0: Sequence = Sequence([1, 2, 3, 4, 5, 6, 7, 0], [1, 2, 3, 4, 5, 0]);
/// For decryption: the words that wait for the message are last.
const DOWN_TO_S0: Sequence = Sequence([7, 3, 6, 2, 5, 1, 0, 4], [5, 4, 3, 2, 0, 1]);

impl Order for Zen {
    #[inline(always)]
    fn update<W: Word, const N: usize, const B: usize>(x: [W; N], s: [W; N], m: [W; B]) -> [W; N] {
        ShortChain::update(x, s, m)
    }
    /// One lane of AEGIS-128 goes from the first word up.
    #[inline(always)]
    fn mix<W: Word, const N: usize, const B: usize>(x: [W; N], s: [W; N], m: [W; B]) -> [W; N] {
        if N != 8 || W::Blocks::LANES > 1 {
            return Self::update(x, s, m);
        }
        let mut out = in_order(UP_TO_S0, x, with_message(s, m));
        each!(b < B: out[4 * b] = out[4 * b].pin().xor(s[4 * b]).fence());
        out
    }
    /// S0 and S4 are round keys, as in the textbook. Only the message is added after the rounds.
    #[inline(always)]
    fn begin<W: Word, const N: usize>(x: [W; N], s: [W; N]) -> [W; N] {
        in_order(DOWN_TO_S0, x, s)
    }
    #[inline(always)]
    fn end<W: Word, const N: usize, const B: usize>(t: [W; N], _s: [W; N], m: [W; B]) -> [W; N] {
        let mut out = t;
        each!(b < B: out[4 * b] = t[4 * b].pin().xor(m[b]).fence());
        out
    }
    #[inline(always)]
    unsafe fn run_steps<A: Arranged>(s: &mut A, work: Work, rows: Rows, steps: usize) {
        const ENCRYPT: Work = Work::Crypt(Direction::Encrypt);
        const DECRYPT: Work = Work::Crypt(Direction::Decrypt);
        // SAFETY: the caller promises the same.
        unsafe {
            match work {
                Work::Absorb if A::RATE == 1 => absorb_twos(s, rows, steps),
                Work::Absorb => zen_turns(s, Work::Absorb, rows, steps),
                ENCRYPT => zen_turns(s, ENCRYPT, rows, steps),
                DECRYPT => zen_turns(s, DECRYPT, rows, steps),
            }
        }
    }
}

/// Zen with AVX-512: exactly in the order from the first word up, the rounds of the message last.
#[derive(Clone, Copy)]
pub(crate) struct ZenTernary;

const UP: Sequence = Sequence([1, 2, 3, 5, 6, 7, 0, 4], [1, 2, 3, 4, 5, 0]);

impl Order for ZenTernary {
    #[inline(always)]
    fn update<W: Word, const N: usize, const B: usize>(x: [W; N], s: [W; N], m: [W; B]) -> [W; N] {
        let keys = UP.arrange(with_message(s, m));
        let mut out = UP.restore(W::rounds(UP.arrange(x), keys));
        each!(b < B: out[4 * b] = out[4 * b].pin().xor(s[4 * b]).fence());
        out
    }
    #[inline(always)]
    fn begin<W: Word, const N: usize>(x: [W; N], s: [W; N]) -> [W; N] {
        in_order(UP, x, without_message(s))
    }
    #[inline(always)]
    fn end<W: Word, const N: usize, const B: usize>(t: [W; N], s: [W; N], m: [W; B]) -> [W; N] {
        ShortChain::end(t, s, m)
    }
    #[inline(always)]
    fn encrypt<A: Arranged>(s: &mut A, m: A::Step) -> A::Step {
        ShortChain::encrypt(s, m)
    }
    #[inline(always)]
    fn decrypt<A: Arranged>(s: &mut A, c: A::Step) -> A::Step {
        ShortChainTernary::decrypt(s, c)
    }
}

// What orders are made of.

/// A sequence of the words of AEGIS-128 and of AEGIS-256.
#[derive(Clone, Copy)]
struct Sequence([usize; 8], [usize; 6]);

impl Sequence {
    /// Returns the number of the word at a position.
    #[inline(always)]
    fn word<const N: usize>(self, i: usize) -> usize {
        if N == 8 { self.0[i] } else { self.1[i] }
    }
    /// Brings words into this sequence.
    #[inline(always)]
    fn arrange<W: Copy, const N: usize>(self, words: [W; N]) -> [W; N] {
        let mut out = words;
        each!(i < N: out[i] = words[self.word::<N>(i)]);
        out
    }
    /// Brings words from this sequence back into that of their numbers.
    #[inline(always)]
    fn restore<W: Copy, const N: usize>(self, words: [W; N]) -> [W; N] {
        let mut out = words;
        each!(i < N: out[self.word::<N>(i)] = words[i]);
        out
    }
}

/// Computes AES rounds in this sequence, which the compiler keeps.
#[inline(always)]
fn in_order<W: Word, const N: usize>(sequence: Sequence, x: [W; N], keys: [W; N]) -> [W; N] {
    let mut out = keys;
    each!(i < N: {
        let word = sequence.word::<N>(i);
        out[word] = x[word].aes(keys[word]).fence();
    });
    out
}

/// Returns round keys with the message in place of the words that it is added to.
#[inline(always)]
fn with_message<W: Word, const N: usize, const B: usize>(mut s: [W; N], m: [W; B]) -> [W; N] {
    each!(b < B: s[4 * b] = m[b]);
    s
}

/// Returns round keys with zeros there.
#[inline(always)]
fn without_message<W: Word, const N: usize>(s: [W; N]) -> [W; N] {
    // SAFETY: a word exists, so the CPU has the features.
    let zero = W::new(unsafe { W::Blocks::zero() });
    if N == 8 { with_message(s, [zero; 2]) } else { with_message(s, [zero]) }
}

/// Absorbs two steps in each turn, and then one if there is another.
///
/// # Safety
/// The steps are readable.
#[inline(always)]
unsafe fn absorb_twos<A: Arranged>(state: &mut A, Rows { src, row, .. }: Rows, steps: usize) {
    let (rate, mut at, stop) = (row * A::RATE, 0, row * A::RATE * steps);
    let mut s = *state; // a copy that the optimiser can keep in registers
    // SAFETY: the caller promises the steps. `state` exists, so the CPU has the features.
    unsafe {
        while stop - at >= 2 * rate {
            let src = src.wrapping_add(at);
            s.absorb_two(A::Step::load(src, row), A::Step::load(src.add(rate), row));
            at += 2 * rate;
        }
        if at < stop {
            s.absorb(A::Step::load(src.wrapping_add(at), row));
        }
    }
    *state = s;
}

/// Processes two steps in each turn, and then one if there is another, in the order for Zen.
///
/// # Safety
/// The steps are readable and, unless they are only absorbed, writable.
#[inline(always)]
unsafe fn zen_turns<A: Arranged>(state: &mut A, work: Work, rows: Rows, steps: usize) {
    /// # Safety
    /// The step is readable and, unless it is only absorbed, writable.
    #[inline(always)]
    unsafe fn step<A: Arranged>(s: &mut A, work: Work, Rows { src, dst, row }: Rows) {
        // SAFETY: the caller promises the step. `s` exists, so the CPU has the features.
        unsafe {
            let before = *s;
            match work {
                Work::Absorb => s.absorb(A::Step::load(src, row)),
                Work::Crypt(Direction::Encrypt) => {
                    s.absorb(A::Step::load(src, row));
                    add_keystream_again(before, src, row).store(dst, row);
                }
                Work::Crypt(Direction::Decrypt) => {
                    let rounds = before.begin();
                    let m = add_keystream_again(before, src, row);
                    *s = rounds.end(before, m);
                    m.store(dst, row);
                }
            }
        }
    }
    /// # Safety
    /// The step is readable.
    #[inline(always)]
    unsafe fn add_keystream_again<A: Arranged>(s: A, src: *const u8, row: usize) -> A::Step {
        // SAFETY: the caller promises the step. `s` exists, so the CPU has the features.
        let m = unsafe { A::Step::load(A::V::again(src), row) };
        if A::RATE == 2 { s.fence().add_keystream(m) } else { s.fence().add_keystream_late(m) }
    }
    let (rate, mut at, stop) = (rows.row * A::RATE, 0, rows.row * A::RATE * steps);
    let mut s = *state; // a copy that the optimiser can keep in registers
    // SAFETY: the caller promises the steps.
    unsafe {
        while stop - at >= 2 * rate {
            step(&mut s, work, rows.at(at));
            step(&mut s, work, rows.at(at + rate));
            at += 2 * rate;
        }
        if at < stop {
            step(&mut s, work, rows.at(at));
        }
    }
    *state = s;
}

/// Two updates of AEGIS-256 in the order of [`ShortChain`], overlapping: the second takes the words
/// that are ready.
#[inline(always)]
pub(super) fn two_updates<W: Word>(s: [W; 6], m: W, n: W) -> [W; 6] {
    /// A round that keeps its place. Not a closure, which is not always inlined.
    #[inline(always)]
    fn round<W: Word>(input: W, round_key: W) -> W {
        input.aes(round_key).fence()
    }
    let t1 = round(s[5], m);
    let s5 = round(s[4], s[5]);
    let t2 = round(s5, n);
    let s3 = round(s[2], s[3]);
    let s4 = round(s[3], s[4]);
    let next5 = round(s4, s5);
    let next4 = round(s3, s4);
    let s1 = round(s[0], s[1]);
    let s2 = round(s[1], s[2]);
    let next3 = round(s2, s3);
    let next2 = round(s1, s2);
    let s0 = t1.pin().xor(s[0]).fence();
    let next1 = round(s0, s1);
    [t2.pin().xor(s0).fence(), next1, next2, next3, next4, next5]
}
