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
//! | [`Zen`], [`ZenOneLane`] | AMD's Zen cores without AVX-512, where `tables/zen.rs` names it |
//! | [`ZenTernary`] | AMD's Zen cores with AVX-512, likewise |
//!
//! The standard's update is `S0' = AESRound(S7, S0 ^ M)`, where the instruction of x86 adds its
//! second argument at the end. Computed this way, the XOR with the message is between two AES
//! rounds on the chain from S0 to the next step's S0, which costs three cycles per step. Most
//! orders compute `AESRound(S7, M) ^ S0` instead, and where the message is known late, as in
//! decryption, `AESRound(S7, 0) ^ S0 ^ M`. `Vector::pin` hides the result of a round from the
//! compiler, which would otherwise move the XOR back. docs/performance.md has the measurements.
//!
//! An order is data, which `step` in `aegis128.rs` and `aegis256.rs` reads.

use core::marker::PhantomData;

use crate::block::{Blocks, Word, each};

/// An order of instructions, which a table names as a type.
pub(crate) trait Order<const N: usize>: Copy {
    const PLAN: Plan<N>;
}

/// The order for a state of `N` words.
#[derive(Clone, Copy)]
pub(crate) struct Plan<const N: usize> {
    /// The updates of initialisation and finalisation.
    pub(crate) mix: Update<N>,
    /// The update by a message that is known before the step.
    pub(crate) absorb: Update<N>,
    /// The update by a message that the step decrypts.
    pub(crate) absorb_late: Update<N>,
    /// When a step computes its output.
    pub(crate) output: Output,
    /// Whether encryption and decryption add S1 (AEGIS-128: S1 and S5) last to the key stream. The
    /// step before made it of S0, so this keeps the path from S0 through S1 back to S0 short.
    pub(crate) s1_last: [bool; 2],
    /// The number of steps in a turn of the loop that encrypts, and of the one that decrypts, 1 or
    /// 2. Two need no copies, where there are enough registers (docs/performance.md).
    pub(crate) turn: [usize; 2],
    /// Whether encryption and decryption share a loop.
    pub(crate) one_loop: bool,
    /// Whether a turn of AEGIS-256 absorbs its two steps at once.
    pub(crate) overlaps: bool,
}

/// How an update computes `AESRound(s[i - 1], s[i])` for each word `i`, with the message added to
/// S0 (AEGIS-128: to S0 and S4).
#[derive(Clone, Copy)]
pub(crate) struct Update<const N: usize> {
    pub(crate) key: Key,
    pub(crate) rounds: Rounds<N>,
}

/// The round key of a word to which the message is added. What it lacks is added after the round.
#[derive(Clone, Copy)]
pub(crate) enum Key {
    /// The sum of word and message, as the standard says.
    Sum,
    Message,
    Word,
    Zero,
}

/// The sequence of an update's rounds.
#[derive(Clone, Copy)]
pub(crate) enum Rounds<const N: usize> {
    /// As [`Word::rounds`] or the compiler arranges them.
    Any,
    /// In this sequence of words, by fences.
    Fenced([usize; N]),
    /// In this sequence of words, which [`Word::rounds`] keeps exactly.
    Exact([usize; N]),
}

/// When a step computes its output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// Before the update. It is also stored before, because the update needs the registers.
    StoredFirst,
    /// Before the update.
    First,
    /// After the update, because nothing depends on it. In decryption the update depends on it.
    Last,
    /// After the AES rounds, in decryption too. The input is loaded again as an operand in memory,
    /// so that it needs no register during the rounds.
    Reloaded,
}

/// As the standard says. Right where the instruction adds the round key first, so that an XOR
/// before a round takes no time. In initialisation and finalisation, where a message serves for
/// many updates, it is converted once, to be a round key: short messages take 5 % less time.
#[derive(Clone, Copy)]
pub(crate) struct Textbook;

impl<const N: usize> Order<N> for Textbook {
    const PLAN: Plan<N> = Plan {
        mix: Update { key: Key::Message, rounds: Rounds::Any },
        absorb: Update { key: Key::Sum, rounds: Rounds::Any },
        absorb_late: Update { key: Key::Sum, rounds: Rounds::Any },
        output: Output::First,
        s1_last: [false; 2],
        turn: [1; 2],
        one_loop: false,
        overlaps: false,
    };
}

/// [`Textbook`] for rounds that need many registers.
#[derive(Clone, Copy)]
pub(crate) struct Scalar;

impl<const N: usize> Order<N> for Scalar {
    const PLAN: Plan<N> = Plan { output: Output::StoredFirst, ..Textbook::PLAN };
}

/// [`Scalar`] with one loop for encryption and decryption, where a step is much code. The rounds
/// wait for execution units, not for the step before, so that other orders gain nothing.
#[derive(Clone, Copy)]
pub(crate) struct Compact;

impl<const N: usize> Order<N> for Compact {
    const PLAN: Plan<N> = Plan { one_loop: true, ..Scalar::PLAN };
}

/// The message is a round key. The compiler chooses the order, starting from one in which each
/// round can overwrite its input, which suits two-operand instructions.
#[derive(Clone, Copy)]
pub(crate) struct Free;

impl Order<8> for Free {
    /// In decryption S0 and S4 are round keys, as in the textbook, which saves two instructions.
    const PLAN: Plan<8> = Plan {
        absorb: Update { key: Key::Message, rounds: Rounds::Any },
        absorb_late: Update { key: Key::Word, rounds: Rounds::Any },
        s1_last: [false, true],
        ..Textbook::PLAN
    };
}

impl Order<6> for Free {
    /// With fewer rounds in a step, it would wait for S0 where a round takes long.
    const PLAN: Plan<6> = Plan {
        absorb: Update { key: Key::Message, rounds: Rounds::Any },
        absorb_late: Update { key: Key::Zero, rounds: Rounds::Any },
        s1_last: [false, true],
        ..Textbook::PLAN
    };
}

/// A fixed order for cores that execute the oldest ready instruction first: rounds from the last
/// word down, each of which overwrites its round key if that is only absorbed. Those of the message
/// are first, because they are on the longest chain.
///
/// Without a key stream, only the chain is left: in AEGIS-256, six rounds and one XOR in six steps.
/// So it absorbs two steps at once: the second starts before the first has finished.
#[derive(Clone, Copy)]
pub(crate) struct ShortChain;

const fn short_chain<const N: usize>(down: Rounds<N>) -> Plan<N> {
    Plan {
        mix: Update { key: Key::Message, rounds: down },
        absorb: Update { key: Key::Message, rounds: down },
        absorb_late: Update { key: Key::Zero, rounds: down },
        output: Output::Last,
        s1_last: [false, true],
        ..Textbook::PLAN
    }
}

impl Order<8> for ShortChain {
    const PLAN: Plan<8> = short_chain(Rounds::Fenced([0, 4, 7, 3, 6, 2, 5, 1]));
}

impl Order<6> for ShortChain {
    const PLAN: Plan<6> =
        Plan { turn: [2; 2], overlaps: true, ..short_chain(Rounds::Fenced([0, 5, 4, 3, 2, 1])) };
}

/// [`ShortChain`] with 32 registers and where an XOR of three values is one instruction. Decryption
/// adds its key stream at once, which takes 4 % off long messages of AEGIS-128X4 on Zen 4. In two
/// steps of it the compiler moves rounds, which would cost 10 to 16 % there.
#[derive(Clone, Copy)]
pub(crate) struct ShortChainTernary;

impl Order<8> for ShortChainTernary {
    const PLAN: Plan<8> = Plan { s1_last: [false; 2], turn: [2, 1], ..ShortChain::PLAN };
}

impl Order<6> for ShortChainTernary {
    const PLAN: Plan<6> = Plan { s1_last: [false; 2], turn: [2, 1], ..ShortChain::PLAN };
}

/// The rounds of [`ShortChain`], with the message as an operand in memory, which leaves enough
/// registers for two steps in a turn of the loop.
///
/// In decryption S0 and S4 are round keys, as in the textbook, and last: they wait for the message.
#[derive(Clone, Copy)]
pub(crate) struct Zen;

impl Order<8> for Zen {
    const PLAN: Plan<8> = Plan {
        absorb_late: Update { key: Key::Word, rounds: Rounds::Fenced([7, 3, 6, 2, 5, 1, 0, 4]) },
        output: Output::Reloaded,
        s1_last: [false; 2],
        turn: [2; 2],
        ..ShortChain::PLAN
    };
}

impl Order<6> for Zen {
    const PLAN: Plan<6> = Plan {
        absorb_late: Update { key: Key::Word, rounds: Rounds::Fenced([5, 4, 3, 2, 0, 1]) },
        output: Output::Reloaded,
        s1_last: [true; 2],
        ..ShortChain::PLAN
    };
}

/// [`Zen`] for one lane: initialisation and finalisation of AEGIS-128 go from the first word up.
#[derive(Clone, Copy)]
pub(crate) struct ZenOneLane;

impl Order<8> for ZenOneLane {
    const PLAN: Plan<8> = Plan {
        mix: Update { key: Key::Message, rounds: Rounds::Fenced([1, 2, 3, 4, 5, 6, 7, 0]) },
        ..Zen::PLAN
    };
}

/// Zen with AVX-512, for AEGIS-128: from the first word up, the rounds of the message last.
#[derive(Clone, Copy)]
pub(crate) struct ZenTernary;

impl Order<8> for ZenTernary {
    const PLAN: Plan<8> = Plan {
        mix: Update { key: Key::Message, rounds: Rounds::Exact(UP) },
        absorb: Update { key: Key::Message, rounds: Rounds::Exact(UP) },
        absorb_late: Update { key: Key::Zero, rounds: Rounds::Fenced(UP) },
        ..ShortChainTernary::PLAN
    };
}

const UP: [usize; 8] = [1, 2, 3, 5, 6, 7, 0, 4];

// The updates of a plan.
pub(crate) const MIX: usize = 0;
pub(crate) const ABSORB: usize = 1;
pub(crate) const ABSORB_LATE: usize = 2;

/// One of them, chosen by a constant. Chosen by a value, it would double the time to compile.
pub(crate) struct Chosen<O, const U: usize, const N: usize>(PhantomData<O>);

impl<O: Order<N>, const U: usize, const N: usize> Chosen<O, U, N> {
    const UPDATE: Update<N> = [O::PLAN.mix, O::PLAN.absorb, O::PLAN.absorb_late][U];
    const WORDS: [usize; N] = match Self::UPDATE.rounds {
        Rounds::Any => [0; N],
        Rounds::Fenced(words) | Rounds::Exact(words) => words,
    };

    /// Update(M) of the state `s` (RFC 10032 §3.2.3, §4.2.3). Word `i` is made of `from[i - 1]`,
    /// which is `s` but for the context.
    #[inline(always)]
    pub(crate) fn update<W: Word, const B: usize>(from: [W; N], s: [W; N], m: [W; B]) -> [W; N] {
        Self::end(Self::begin(from, s, m), s, m)
    }

    /// The AES rounds of an update.
    #[inline(always)]
    pub(crate) fn begin<W: Word, const B: usize>(from: [W; N], s: [W; N], m: [W; B]) -> [W; N] {
        let (mut x, mut keys, mut out) = (from, s, s);
        each!(i < N: x[i] = from[(i + N - 1) % N]);
        each!(b < B: keys[4 * b] = match Self::UPDATE.key {
            Key::Sum => s[4 * b].xor(m[b]),
            Key::Message => m[b],
            Key::Word => s[4 * b],
            // SAFETY: a word exists, so the CPU has the features.
            Key::Zero => W::new(unsafe { W::Blocks::zero() }),
        });
        let words = Self::WORDS;
        if const { matches!(Self::UPDATE.rounds, Rounds::Any) } {
            out = W::rounds(x, keys);
        } else if const { matches!(Self::UPDATE.rounds, Rounds::Fenced(_)) } {
            each!(i < N: out[words[i]] = x[words[i]].aes(keys[words[i]]).fence());
        } else {
            let (mut first, mut second) = (x, keys);
            each!(i < N: (first[i], second[i]) = (x[words[i]], keys[words[i]]));
            let rounds = W::rounds(first, second);
            each!(i < N: out[words[i]] = rounds[i]);
        }
        out
    }

    /// Adds to the AES rounds what their round keys lack.
    #[inline(always)]
    pub(crate) fn end<W: Word, const B: usize>(rounds: [W; N], s: [W; N], m: [W; B]) -> [W; N] {
        let mut out = rounds;
        each!(b < B: {
            let (round, s, m) = (rounds[4 * b], s[4 * b], m[b]);
            out[4 * b] = match (Self::UPDATE.key, Self::UPDATE.rounds) {
                (Key::Sum, _) => round,
                (Key::Zero, _) => round.pin().xor3(s, m),
                (Key::Message, Rounds::Any) => round.pin().xor(s),
                (Key::Message, _) => round.pin().xor(s).fence(),
                (Key::Word, Rounds::Any) => round.pin().xor(m),
                (Key::Word, _) => round.pin().xor(m).fence(),
            };
        });
        out
    }
}
