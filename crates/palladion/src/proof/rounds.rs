//! Proves that the S-box, AES rounds and steps of bitsliced states compute what FIPS 197 and the
//! standard say, for all values of the state and of the message, bit by bit.
//!
//! All bytes of a state and a message are symbols: each is a byte of the input of its own. A step
//! is thus proved for every state, and so are all steps, one after another. With AEGIS-256, some
//! layouts have unused cells. They hold symbols too, which must not appear in any result.

extern crate std;
use std::vec::Vec;

use palladion_reference::SBOX;

use super::bits::{
    self, Abstract, Bit, Lanes, Word32, Word64, and, constant, load_block, of_byte, store_block,
    xor,
};
use super::{mixed_from, plant, product, prove, survivors};
use crate::block::{Blocks, MAX_LANES, Word};
use crate::machine::{Machine, Rows, Work};
use crate::memory::Direction;
use crate::soft::bitsliced::{Bitsliced, Cells, Layout, shift_columns, shift_columns_by_rotation};
use crate::soft::byte_planes::BytePlanes;
use crate::soft::permute::Permuted;
use crate::soft::sbox::*;
use crate::soft::sliced::Sliced;

type Block = [Bit; 128];

/// AESRound of the block whose bytes are those of the input from `origin` on, with a round key of
/// zeros.
fn round(s_box: &[u8; 256], origin: u32) -> Block {
    let mut out = [bits::ZERO; 128];
    for at in 0..16 {
        let mut sum = constant(0).to_vec();
        for (factor, from) in mixed_from(at) {
            sum = xor(
                &sum,
                &of_byte(origin + from as u32, |x| product(factor, s_box[usize::from(x)])),
            );
        }
        out[8 * at..8 * at + 8].copy_from_slice(&sum);
    }
    out
}

/// Returns the number of the first byte of a block of the input.
fn origin(block: usize, lane: usize) -> u32 {
    16 * (MAX_LANES * block + lane) as u32
}

/// Returns the block whose bytes are those of the input from `origin` on.
fn symbols(origin: u32) -> Block {
    let bytes: Vec<Bit> = (0..16).flat_map(|j| of_byte(origin + j, |x| x)).collect();
    bytes.try_into().unwrap()
}

fn add(a: Block, b: Block) -> Block {
    xor(&a, &b).try_into().unwrap()
}

/// Returns a vector of blocks that hold the numbers of abstract blocks.
fn vector<V: Blocks>(lane: impl Fn(usize) -> Block) -> V {
    let mut memory = [[0u8; 16]; MAX_LANES];
    for l in 0..V::LANES {
        // SAFETY: each place has 16 bytes.
        unsafe { store_block(lane(l), memory[l].as_mut_ptr()) };
    }
    // SAFETY: the memory is as wide as the widest vector; these vectors need no CPU features.
    unsafe { V::load(memory.as_ptr().cast()) }
}

/// Returns the abstract block in a lane.
fn lane<V: Blocks>(vector: V, lane: usize) -> Block {
    let mut memory = [[0u8; 16]; MAX_LANES];
    // SAFETY: the memory is as wide as the widest vector.
    unsafe {
        vector.store(memory.as_mut_ptr().cast());
        load_block(memory[lane].as_ptr())
    }
}

// The S-box.

/// Tells whether a circuit gives, on any words, bit `p` of S(x) in plane `p` for every byte x.
fn is_s_box<C: Circuit, const N: usize>(s_box: &[u8; 256]) -> bool {
    // Bit `i` of the words belongs to byte `i` of the input.
    let bytes: [[Bit; 8]; N] = core::array::from_fn(|i| of_byte(i as u32, |x| x));
    let planes = |bytes: [[Bit; 8]; N]| -> [Abstract<N, N>; 8] {
        core::array::from_fn(|p| Abstract(core::array::from_fn(|i| bytes[i][p])))
    };
    let (with, without) = (C::sub_bytes(planes(bytes)), C::without_constant(planes(bytes)));
    let expected = |constant: u8| -> [Abstract<N, N>; 8] {
        planes(core::array::from_fn(|i| of_byte(i as u32, |x| s_box[usize::from(x)] ^ constant)))
    };
    with == expected(0) && without == expected(0x63)
}

macro_rules! circuits_are_right {
    ($($circuit:ty = $name:literal,)*) => {
        /// Every circuit, for all bytes at all places of a word at once. That a result depends only
        /// on the byte at its place is not assumed: it equals a function of that byte.
        #[test]
        fn every_circuit_is_the_s_box() {
            let s_box = SBOX;
            $(assert!(is_s_box::<$circuit, 32>(&s_box), $name);)*
        }

        /// A gate that only returns its first operand is found, whichever it is.
        #[test]
        fn every_gate_counts() {
            let s_box = SBOX;
            $(
                let cost = <$circuit>::COST;
                let gates = cost.and + cost.or + cost.xor + cost.not;
                for gate in 0..gates as usize {
                    // In the second call of `without_constant`.
                    plant(Some(gate + gates as usize + 4));
                    assert!(!is_s_box::<$circuit, 1>(&s_box), "{}: gate {gate}", $name);
                    assert!(plant(None).is_some());
                }
                assert!(is_s_box::<$circuit, 1>(&s_box));
            )*
        }
    };
}
circuits!(circuits_are_right);

// Bitsliced states.

/// The words of the standard's state: `[word][lane]`.
type Words = Vec<Vec<Block>>;

/// Returns the state of symbols after the standard's Update (§3.2.3, §4.2.3).
fn updated(s_box: &[u8; 256], s: &Words, m: &Words) -> Words {
    let count = s.len();
    let word = |i: usize| {
        let next = |l: usize| {
            let sum = add(s[i][l], round(s_box, origin((i + count - 1) % count, l)));
            match i {
                0 => add(sum, m[0][l]),
                4 if count == 8 => add(sum, m[1][l]),
                _ => sum,
            }
        };
        (0..s[0].len()).map(next).collect()
    };
    (0..count).map(word).collect()
}

/// Returns the standard's key stream (§3.2.5, §4.2.5).
fn keystream(s: &Words) -> Words {
    let sum = |l: usize, words: &[usize], a: usize, b: usize| {
        let product: Block = and(&s[a][l], &s[b][l]).try_into().unwrap();
        words.iter().fold(product, |sum, i| add(sum, s[*i][l]))
    };
    let lanes = 0..s[0].len();
    if s.len() == 8 {
        let z = |words: &[usize], a, b| lanes.clone().map(|l| sum(l, words, a, b)).collect();
        std::vec![z(&[6, 1], 2, 3), z(&[2, 5], 6, 7)]
    } else {
        std::vec![lanes.map(|l| sum(l, &[1, 4, 5], 2, 3)).collect()]
    }
}

fn sum(a: &Words, b: &Words) -> Words {
    let lanes =
        |a: &Vec<Block>, b: &Vec<Block>| a.iter().zip(b).map(|(a, b)| add(*a, *b)).collect();
    a.iter().zip(b).map(|(a, b)| lanes(a, b)).collect()
}

fn words_of<S: Sliced>(s: S, count: usize) -> Words {
    let words = s.to_words();
    words[..count]
        .iter()
        .map(|word| (0..S::Blocks::LANES).map(|l| lane(*word, l)).collect())
        .collect()
}

/// Stores a step and returns it row by row.
fn rows_of<S: Sliced>(step: S::Step) -> Words {
    let row = 16 * S::Blocks::LANES;
    let mut memory = [[0u8; 16]; 2 * MAX_LANES];
    // SAFETY: the memory has room for two rows.
    unsafe { <S as Sliced>::store(step, memory.as_mut_ptr().cast(), row) };
    let block = |i: usize| {
        // SAFETY: each place has 16 bytes.
        unsafe { load_block(memory[i].as_ptr()) }
    };
    let lanes = S::Blocks::LANES;
    (0..S::BLOCKS).map(|b| (0..lanes).map(|l| block(b * lanes + l)).collect()).collect()
}

/// Looks for a difference between a bitsliced machine and the standard. `unused` fills the cells
/// that belong to no word.
fn flaw<S: Sliced>(s_box: &[u8; 256], unused: impl Fn(&mut S)) -> Option<&'static str> {
    let lanes = S::Blocks::LANES;
    let count = if S::BLOCKS == 2 { 8 } else { 6 };
    let of = |first: usize, count: usize| -> Words {
        (first..first + count)
            .map(|i| (0..lanes).map(|l| symbols(origin(i, l))).collect())
            .collect()
    };
    let (words, message) = (of(0, count), of(count, S::BLOCKS));
    let zero = vector::<S::Blocks>(|_| [bits::ZERO; 128]);
    let blocks: [S::Blocks; 8] =
        core::array::from_fn(|i| if i < count { vector(|l| words[i][l]) } else { zero });
    let mut s = S::from_words(blocks);
    unused(&mut s);

    // The words go in and out unchanged, and so does a message.
    if words_of(s, count) != words {
        return Some("words");
    }
    let mut memory = [[0u8; 16]; 2 * MAX_LANES];
    for (i, block) in message.iter().flatten().enumerate() {
        // SAFETY: each place has 16 bytes.
        unsafe { store_block(*block, memory[i].as_mut_ptr()) };
    }
    // SAFETY: the memory has as many rows as `load` reads.
    let m = unsafe { <S as Sliced>::load(memory.as_ptr().cast(), 16 * lanes) };
    if rows_of::<S>(m) != message {
        return Some("message");
    }

    // Update, the key stream and both directions.
    let next = updated(s_box, &words, &message);
    let z = keystream(&words);
    let ciphertext = sum(&message, &z);
    let mut after = s;
    <S as Sliced>::update(&mut after, &m);
    if words_of(after, count) != next {
        return Some("update");
    }
    if rows_of::<S>(Sliced::add_keystream(&s, &S::zeros())) != z {
        return Some("keystream");
    }
    for (direction, output, what) in
        [(Direction::Encrypt, &ciphertext, "encrypt"), (Direction::Decrypt, &message, "decrypt")]
    {
        let (mut after, place) = (s, memory.as_mut_ptr().cast::<u8>());
        let rows = Rows { src: place, dst: place, row: 16 * lanes };
        // SAFETY: the memory has a step. It becomes the ciphertext, then the message again.
        let output_found = unsafe {
            after.run_steps(Work::Crypt(direction), rows, 1);
            <S as Sliced>::load(place, 16 * lanes)
        };
        if rows_of::<S>(output_found) != *output || words_of(after, count) != next {
            return Some(what);
        }
    }

    // The operations that initialisation, finalisation and tags use.
    for at in 0..if S::BLOCKS == 2 { 4 } else { 6 } {
        let mut expected = std::vec![words[at].clone()];
        if S::BLOCKS == 2 {
            expected.push(words[at + 4].clone());
        }
        if rows_of::<S>(s.words_at(at)) != expected {
            return Some("words_at");
        }
        let mut added = s;
        added.add_at(&m, at);
        let mut expected = words.clone();
        for (b, row) in message.iter().enumerate() {
            expected[at + 4 * b] =
                expected[at + 4 * b].iter().zip(row).map(|(a, b)| add(*a, *b)).collect();
        }
        if words_of(added, count) != expected {
            return Some("add_at");
        }
    }
    let mut twice = s;
    twice.add(&s);
    if words_of(twice, count).iter().flatten().flatten().any(|bit| *bit != bits::ZERO) {
        return Some("add");
    }
    for all in [true, false] {
        let half = count / 2;
        let last = |first: usize| first + half - usize::from(first > 0 && S::BLOCKS == 2 && !all);
        let sums = [0, half].map(|first| -> Vec<Block> {
            let lane = |l: usize| {
                words[first + 1..last(first)].iter().fold(words[first][l], |a, b| add(a, b[l]))
            };
            (0..lanes).map(lane).collect()
        });
        let found = s.sums(all).map(|sum| (0..lanes).map(|l| lane(sum, l)).collect::<Vec<_>>());
        if found != sums {
            return Some("sums");
        }
    }
    None
}

/// A state of `bitsliced.rs` with symbols in the cells that AEGIS-256 does not use: one byte for
/// each place of the words.
fn fill<const N: usize, const BLOCKS: usize, const BITS: usize>(
    s: &mut Bitsliced<Abstract<BITS, BITS>, N, BLOCKS>,
) where
    Abstract<BITS, BITS>: Layout<N>,
{
    if BLOCKS == 2 {
        return;
    }
    for (g, planes) in s.planes().iter_mut().enumerate() {
        for i in 6 * BITS / 8..BITS {
            let byte = of_byte(10_000 + (BITS * g + i) as u32, |x| x);
            for (p, plane) in planes.iter_mut().enumerate() {
                plane.0[i] = byte[p];
            }
        }
    }
}

/// The same for a state of `byte_planes.rs`, whose unused cells are the highest bits of each byte.
fn fill_vectors<const PART: usize, const L: usize, const N: usize, const BLOCKS: usize>(
    s: &mut BytePlanes<Abstract<128, PART>, L, N, BLOCKS>,
) {
    let used = if BLOCKS == 2 { 8 } else { 6 } * L / N;
    for (g, planes) in s.planes().iter_mut().enumerate() {
        for i in (0..128).filter(|i| i % 8 >= used) {
            let byte = of_byte(10_000 + (128 * g + i) as u32, |x| x);
            for (p, plane) in planes.iter_mut().enumerate() {
                plane.0[i] = byte[p];
            }
        }
    }
}

/// ARM moves columns in its own way, with the same result.
#[test]
fn columns_move_by_rotation_as_without() {
    fn check<const N: usize>()
    where
        Abstract<N, N>: Cells,
    {
        let bytes: Vec<Bit> = (0..N as u32 / 8).flat_map(|i| of_byte(i, |x| x)).collect();
        let x = Abstract::<N, N>(bytes.try_into().unwrap());
        // Four columns are a nibble.
        let moved =
            |by: usize| Abstract::<N, N>(core::array::from_fn(|i| x.0[i / 4 * 4 + (i + by) % 4]));
        for (by, other_way, way) in [
            (1, shift_columns_by_rotation::<_, 1>(x), shift_columns::<_, 1>(x)),
            (2, shift_columns_by_rotation::<_, 2>(x), shift_columns::<_, 2>(x)),
            (3, shift_columns_by_rotation::<_, 3>(x), shift_columns::<_, 3>(x)),
        ] {
            assert!(other_way == moved(by), "{N} bits by {by}, by rotation");
            assert!(way == moved(by), "{N} bits by {by}");
        }
        assert!(shift_columns_by_rotation::<_, 1>(x) != moved(2));
    }
    check::<32>();
    check::<64>();
}

/// Looks for differences in all machines that are made of words of bits.
fn flaws() -> Vec<(&'static str, Option<&'static str>)> {
    let s_box = &SBOX;
    let mut flaws = std::vec![
        ("32 bits, AEGIS-128", flaw::<Bitsliced<Word32, 4, 2>>(s_box, fill::<4, 2, 32>)),
        ("32 bits, AEGIS-256", flaw::<Bitsliced<Word32, 4, 1>>(s_box, fill::<4, 1, 32>)),
        ("64 bits, two lanes, AEGIS-128", flaw::<Bitsliced<Word64, 4, 2>>(s_box, fill::<4, 2, 64>)),
        ("64 bits, two lanes, AEGIS-256", flaw::<Bitsliced<Word64, 4, 1>>(s_box, fill::<4, 1, 64>)),
        ("64 bits, AEGIS-128", flaw::<Bitsliced<Word64, 2, 2>>(s_box, fill::<2, 2, 64>)),
        ("64 bits, AEGIS-256", flaw::<Bitsliced<Word64, 2, 1>>(s_box, fill::<2, 1, 64>)),
    ];
    flaws.extend(flaws_of_vectors::<8>(s_box));
    flaws.extend(flaws_of_vectors::<64>(s_box));
    flaws
}

/// Looks for differences in all machines that are made of vectors, which are shifted in parts of
/// `PART` bits.
fn flaws_of_vectors<const PART: usize>(
    s_box: &[u8; 256],
) -> [(&'static str, Option<&'static str>); 6] {
    macro_rules! flaw {
        ($($number:literal),*) => {
            flaw::<BytePlanes<Abstract<128, PART>, $($number),*>>(s_box, fill_vectors)
        };
    }
    [
        ("vectors, one lane, AEGIS-128", flaw!(1, 1, 2)),
        ("vectors, one lane, AEGIS-256", flaw!(1, 1, 1)),
        ("vectors, two lanes, AEGIS-128", flaw!(2, 2, 2)),
        ("vectors, two lanes, AEGIS-256", flaw!(2, 2, 1)),
        ("vectors, four lanes, AEGIS-128", flaw!(4, 4, 2)),
        ("vectors, four lanes, AEGIS-256", flaw!(4, 3, 1)),
    ]
}

#[test]
fn bitsliced_steps_are_those_of_the_standard_for_all_values() {
    prove(|| {
        for (name, flaw) in flaws() {
            assert_eq!(flaw, None, "{name}");
        }
    });
}

/// Every faulty operation, which returns its first operand, is found.
#[test]
fn planted_faults_are_found() {
    fn check<S: Sliced>(name: &str, unused: impl Fn(&mut S) + Copy) {
        let s_box = &SBOX;
        let survivors = survivors(name, 10, || flaw(s_box, unused).is_some());
        assert!(survivors.is_empty(), "{name}: {survivors:?}");
    }
    prove(|| {
        check::<Bitsliced<Word32, 4, 2>>("32 bits", fill::<4, 2, 32>);
        check::<Bitsliced<Word64, 2, 1>>("64 bits", fill::<2, 1, 64>);
        check::<BytePlanes<Abstract<128, 8>, 1, 1, 1>>("vectors, one lane", fill_vectors);
        check::<BytePlanes<Abstract<128, 8>, 2, 2, 2>>("vectors, two lanes", fill_vectors);
    });
}

// AES rounds by byte shuffles.

/// Looks for a fault in the words in the basis of the tower.
///
/// It does not matter which basis that is. Let T be the map from bytes to the tower. If T is linear
/// and invertible, then XOR is the same in both bases, and every word is the word of some blocks.
/// It is then enough that the round of T(x), with a round key T(k), is T of the standard's result:
/// the sum of T of its parts.
fn flaw_of_shuffles<const L: usize>(s_box: &[u8; 256]) -> Option<&'static str>
where
    Permuted<Lanes<L>>: Word<Blocks = Lanes<L>>,
{
    let lanes = |f: &dyn Fn(usize) -> Block| Lanes::<L>(core::array::from_fn(f));
    let word = |x: Lanes<L>| <Permuted<Lanes<L>> as Word>::new(x);
    let tower: [u8; 256] = core::array::from_fn(|x| {
        let x = constant(x as u8);
        let word = word(Lanes([core::array::from_fn(|i| x[i % 8]); L]));
        bits::value(&word.inner().0[0][..8]).expect("a constant")
    });
    if (0..=255u8).any(|a| {
        (0..=255u8)
            .any(|b| tower[usize::from(a ^ b)] != tower[usize::from(a)] ^ tower[usize::from(b)])
    }) {
        return Some("linear");
    }
    let in_tower = |first: u32, f: &dyn Fn(u8) -> u8| -> Block {
        let byte = |j: u32| of_byte(first + j, |x| tower[usize::from(f(x))]);
        (0..16).flat_map(byte).collect::<Vec<_>>().try_into().unwrap()
    };
    let numbers = core::array::from_fn::<usize, 8, _>(|i| i);
    let x = numbers.map(|i| word(lanes(&|l| symbols(origin(i, l)))));
    let k = numbers.map(|i| word(lanes(&|l| symbols(origin(8 + i, l)))));
    for i in numbers {
        if x[i].inner() != lanes(&|l| in_tower(origin(i, l), &|x| x)) {
            return Some("new");
        }
        if x[i].blocks() != lanes(&|l| symbols(origin(i, l))) {
            return Some("blocks");
        }
    }
    let rounds = <Permuted<Lanes<L>> as Word>::rounds(x, k);
    for i in numbers {
        let expected = |l: usize| {
            let mut out = in_tower(origin(8 + i, l), &|k| k);
            for at in 0..16 {
                for (factor, from) in mixed_from(at) {
                    let first = origin(i, l) + from as u32;
                    let part = of_byte(first, |x| {
                        tower[usize::from(product(factor, s_box[usize::from(x)]))]
                    });
                    let sum = xor(&out[8 * at..8 * at + 8], &part);
                    out[8 * at..8 * at + 8].copy_from_slice(&sum);
                }
            }
            out
        };
        if x[i].aes(k[i]).inner() != lanes(&expected) {
            return Some("aes");
        }
        if rounds[i].inner() != lanes(&expected) {
            return Some("rounds");
        }
    }
    None
}

#[test]
fn rounds_by_shuffles_are_those_of_the_standard_for_all_values() {
    prove(|| {
        let s_box = &SBOX;
        assert_eq!(flaw_of_shuffles::<1>(s_box), None);
        assert_eq!(flaw_of_shuffles::<2>(s_box), None);
        // The comparison depends on more than the form: another S-box is another function.
        let mut other = *s_box;
        other.swap(0x80, 0x81);
        assert_eq!(flaw_of_shuffles::<1>(&other), Some("aes"));
        // Faults in single additions are found.
        let survivors = survivors("shuffles", 10, || flaw_of_shuffles::<1>(s_box).is_some());
        assert!(survivors.is_empty(), "{survivors:?}");
    });
}
