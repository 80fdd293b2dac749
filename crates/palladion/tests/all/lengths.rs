//! Compares every kernel of every backend with the reference, at every length from zero to eight
//! steps and at some long ones. Key, nonce, associated data, source, target and tag are in separate
//! memory, at all offsets and between fences (`common/fenced.rs`).
//!
//! `PALLADION_TEST_REDUCED` tests fewer lengths, for emulators.

use crate::common::erased::{Authenticator, Variant};
use crate::common::fenced::{Fenced, Place};
use crate::common::{
    Random, flipped, for_each_backend, for_each_mac, for_each_variant, macs, reduced, variants,
};
use palladion::Error;
use palladion_reference::{State, blocks};

/// Messages longer than two chunks are processed chunk by chunk.
const CHUNK: usize = if cfg!(target_arch = "powerpc64") { 8192 } else { 4096 };

/// The previous contents of buffers: neither zeros nor a message.
const BEFORE: u8 = 0xee;

/// All lengths up to eight steps. If reduced, all up to one step, or some of them if a step is
/// long, and those around the other steps.
fn lengths(rate: usize) -> Vec<usize> {
    if !reduced() {
        return (0..=8 * rate).collect();
    }
    let boundaries = (1..=8).flat_map(|steps| [steps * rate - 1, steps * rate, steps * rate + 1]);
    (0..rate - 1).step_by(if rate > 32 { 3 } else { 1 }).chain(boundaries).collect()
}

/// Lengths around chunks, and random ones up to 64 KiB.
fn long_lengths(rate: usize, random: &mut Random) -> Vec<usize> {
    let chunk = (CHUNK / rate).max(1) * rate; // whole steps
    if reduced() {
        return vec![2 * CHUNK + rate - 1, 2 * chunk + rate + 17];
    }
    let corners = [CHUNK, 2 * CHUNK, chunk, 2 * chunk, 3 * chunk, 3 * chunk + rate];
    let mut lengths: Vec<_> = corners.into_iter().flat_map(|n| [n - 1, n, n + 1]).collect();
    lengths.extend((0..8).map(|_| random.below((64 << 10) + 1)));
    lengths.push(64 << 10);
    lengths
}

/// Returns a length to combine with the tested one: around blocks and steps.
fn companion(rate: usize, turn: usize) -> usize {
    let lengths = [
        0,
        1,
        15,
        16,
        17,
        rate - 1,
        rate,
        rate + 1,
        rate / 2,
        2 * rate - 1,
        2 * rate,
        2 * rate + 1,
        5,
    ];
    lengths[turn % lengths.len()]
}

/// The reference's results for some associated data and a message.
struct Case {
    ad_len: usize,
    ct: Vec<u8>,
    /// The tags of 16 and of 32 bytes.
    tags: [Vec<u8>; 2],
}

/// Inputs, each case of which uses the beginning, and the cases.
struct Cases {
    key: Vec<u8>,
    nonce: Vec<u8>,
    ad: Vec<u8>,
    msg: Vec<u8>,
    cases: Vec<Case>,
}

/// Converts a length to bits.
fn bits(bytes: usize) -> u64 {
    8 * bytes as u64
}

impl Cases {
    fn new(variant: &dyn Variant, seed: u64, lengths: &[(usize, usize)]) -> Self {
        let mut random = Random(seed);
        let aegis = variant.reference();
        let longest = |part: fn(&(usize, usize)) -> usize| lengths.iter().map(part).max().unwrap();
        let [key, nonce, ad, msg] =
            [aegis.key_len(), aegis.key_len(), longest(|l| l.0), longest(|l| l.1)]
                .map(|len| random.bytes(len));
        let initial = State::init(aegis, &blocks(&key), &blocks(&nonce));
        let case = |&(ad_len, msg_len): &(usize, usize)| {
            let mut state = initial.clone();
            state.absorb(&blocks(&ad[..ad_len]));
            let ct = state.encrypt(&msg[..msg_len]);
            let tags = [16, 32]
                .map(|len| state.clone().finalize(bits(ad_len), bits(msg_len), len).concat());
            Case { ad_len, ct, tags }
        };
        Cases { cases: lengths.iter().map(case).collect(), key, nonce, ad, msg }
    }

    /// Checks every case on every backend, in every kind of place. The tag has 16 and 32 bytes in
    /// turn.
    fn check(&self, variant: &dyn Variant) {
        let mut arena = Arena::new();
        for_each_backend(|_| {
            for (turn, case) in self.cases.iter().enumerate() {
                let all = Places::of_turn(turn, case.ad_len.max(case.ct.len()));
                for (i, places) in all.enumerate() {
                    let short = (turn.count_ones() as usize + i).is_multiple_of(2);
                    arena.check(variant, if short { 16 } else { 32 }, self, case, places, turn);
                }
            }
        });
    }
}

#[derive(Clone, Copy, Debug)]
struct Places {
    source: Place,
    target: Place,
    ad: Place,
    /// The place of key, nonce and tag.
    small: Place,
}

impl Places {
    fn new(all: Place) -> Self {
        Places { source: all, target: all, ad: all, small: all }
    }

    /// Returns places at both fences and at offsets. Over all turns, every offset and many pairs of
    /// source and target occur. For a long input, returns one of the three.
    fn of_turn(turn: usize, len: usize) -> impl Iterator<Item = Self> {
        let offsets = Places {
            source: Place::At(turn % 64),
            target: Place::At((turn * 11 + turn / 64 + 1) % 64),
            ad: Place::At((turn * 29 + 1) % 64),
            small: Place::At((turn * 7 + 3) % 64),
        };
        let places = [Self::new(Place::Back), Self::new(Place::Front), offsets];
        let all = if reduced() { 2 } else { 3 };
        places
            .into_iter()
            .enumerate()
            .take(all)
            .filter(move |(i, _)| len <= CHUNK / 2 || turn % all == *i)
            .map(|p| p.1)
    }
}

/// Memory for each buffer.
struct Arena {
    cipher: Fenced,
    nonce: Fenced,
    ad: Fenced,
    source: Fenced,
    target: Fenced,
    tag: Fenced,
}

impl Arena {
    fn new() -> Self {
        let [cipher, nonce, ad, source, target, tag] = std::array::from_fn(|_| Fenced::new());
        Arena { cipher, nonce, ad, source, target, tag }
    }

    /// Checks every function that encrypts or decrypts.
    fn check(
        &mut self,
        variant: &dyn Variant,
        tag_len: usize,
        cases: &Cases,
        case: &Case,
        places: Places,
        turn: usize,
    ) {
        let Case { ad_len, ct, tags } = case;
        let (ad, msg) = (&cases.ad[..*ad_len], &cases.msg[..ct.len()]);
        let len = msg.len();
        let tag = &tags[tag_len / 16 - 1];
        let made = Ok(tag.clone());
        let context =
            || format!("{len} bytes, {ad_len} of associated data, {tag_len}-byte tags, {places:?}");

        let Arena { cipher, nonce: nonce_memory, ad: ad_memory, source, target, tag: tag_memory } =
            self;
        let cipher = variant.cipher_in(tag_len, &cases.key, cipher, places.small);
        let nonce = &*nonce_memory.buffer(&cases.nonce, places.small);
        let ad = &*ad_memory.buffer(ad, places.ad);
        let right = |is: bool| assert!(is, "{}", context());
        let cut = turn * 37 % (len + 1);

        // One call.
        let buf = target.buffer(msg, places.target);
        right(cipher.encrypt_in_place(nonce, ad, buf) == made);
        right(buf == ct);
        target.assert_intact();
        let (from, to) =
            (source.buffer(msg, places.source), target.filled(BEFORE, len, places.target));
        right(cipher.encrypt_into(nonce, ad, from, to) == made);
        right(to == ct && from == msg);
        target.assert_intact();
        let wrong = flipped(tag, turn % (8 * tag_len));
        for (tag, result) in [(tag, Ok(())), (&wrong, Err(Error::VerificationFailed))] {
            let shown = |out: &[u8]| match result {
                Ok(()) => out == msg,
                Err(_) => out == vec![0; out.len()],
            };
            let tag = &*tag_memory.aligned(tag, places.small);
            let buf = target.buffer(ct, places.target);
            right(cipher.decrypt_in_place(nonce, ad, buf, tag) == result);
            right(shown(buf));
            target.assert_intact();
            let (from, to) =
                (source.buffer(ct, places.source), target.filled(BEFORE, len, places.target));
            right(cipher.decrypt_into(nonce, ad, from, tag, to) == result);
            right(shown(to) && from == ct);
            target.assert_intact();

            // `verify` uses a state.
            right(cipher.verify(nonce, ad, from, tag) == result);
            let to = target.filled(BEFORE, len, places.target);
            let mut decryptor = cipher.decryptor(nonce, ad, to).unwrap();
            decryptor.update(&from[..cut]).unwrap();
            decryptor.update(&from[cut..]).unwrap();
            right(decryptor.finalize(tag).map(|out| &*out) == result.map(|()| msg));
            right(shown(target.last()));
            target.assert_intact();
        }

        // With a session, in one piece or two, and both orders of in place and into another buffer.
        for in_place_first in [true, false] {
            let cut = if turn.is_multiple_of(2) { cut } else { len };
            let (from, to) = (source.buffer(msg, places.source), target.buffer(msg, places.target));
            let mut encryptor = cipher.encryptor(nonce, ad).unwrap();
            for (place, in_place) in [(0..cut, in_place_first), (cut..len, !in_place_first)] {
                if in_place {
                    encryptor.update_in_place(&mut to[place]).unwrap();
                } else {
                    to[place.clone()].fill(BEFORE);
                    encryptor.update_into(&from[place.clone()], &mut to[place]).unwrap();
                }
            }
            right(encryptor.finalize() == *tag);
            right(to == ct && from == msg);
            target.assert_intact();

            let (from, to) = (source.buffer(ct, places.source), target.buffer(ct, places.target));
            let mut decryptor = variant.session(&cases.key, nonce, ad).unwrap();
            for (place, in_place) in [(0..cut, in_place_first), (cut..len, !in_place_first)] {
                if in_place {
                    decryptor.decrypt_in_place(&mut to[place]).unwrap();
                } else {
                    to[place.clone()].fill(BEFORE);
                    decryptor.decrypt_into(&from[place.clone()], &mut to[place]).unwrap();
                }
            }
            right(decryptor.verify(tag) == Ok(()));
            right(to == msg && from == ct);
            target.assert_intact();
        }
        for memory in [source, tag_memory, ad_memory] {
            memory.assert_intact();
        }
    }
}

fn messages(variant: &dyn Variant) {
    let rate = variant.reference().rate();
    let lengths: Vec<_> = lengths(rate)
        .into_iter()
        .enumerate()
        .map(|(turn, len)| (companion(rate, turn), len))
        .collect();
    Cases::new(variant, 51, &lengths).check(variant);
}

#[test]
fn messages_of_all_lengths() {
    for_each_variant(variants::KERNELS, messages);
}

fn associated_data(variant: &dyn Variant) {
    let rate = variant.reference().rate();
    let lengths: Vec<_> = lengths(rate)
        .into_iter()
        .enumerate()
        .map(|(turn, len)| (len, companion(rate, turn)))
        .collect();
    Cases::new(variant, 52, &lengths).check(variant);
}

#[test]
fn associated_data_of_all_lengths() {
    for_each_variant(variants::KERNELS, associated_data);
}

fn long(variant: &dyn Variant) {
    let mut random = Random(53);
    let rate = variant.reference().rate();
    let long = long_lengths(rate, &mut random);
    // One of the two is long, or both are.
    let lengths: Vec<_> = long
        .iter()
        .enumerate()
        .map(|(turn, &len)| match turn % 4 {
            0 => (len, companion(rate, turn)),
            1 => (long[turn / 2], len),
            _ => (companion(rate, turn), len),
        })
        .collect();
    Cases::new(variant, 53, &lengths).check(variant);
}

#[test]
fn long_messages() {
    for_each_variant(variants::KERNELS, long);
}

fn macs_of(mac: &dyn Authenticator) {
    let mut random = Random(54);
    let aegis = mac.reference();
    let mut lengths = lengths(aegis.rate());
    lengths.extend(long_lengths(aegis.rate(), &mut random));
    let [key, nonce, data] = [aegis.key_len(), aegis.key_len(), *lengths.iter().max().unwrap()]
        .map(|len| random.bytes(len));
    let initial = State::init(aegis, &blocks(&key), &blocks(&nonce));
    let tags: Vec<_> = lengths
        .iter()
        .map(|&len| {
            let mut state = initial.clone();
            state.absorb(&blocks(&data[..len]));
            state.finalize_mac(bits(len), mac.tag_len()).concat()
        })
        .collect();
    let [mut keys, mut nonces, mut source, mut tag_memory] = std::array::from_fn(|_| Fenced::new());
    for_each_backend(|_| {
        for (turn, (&len, tag)) in lengths.iter().zip(&tags).enumerate() {
            for places in Places::of_turn(turn, len) {
                let key = &*keys.buffer(&key, places.small);
                let nonce = &*nonces.buffer(&nonce, places.small);
                let data = &*source.buffer(&data[..len], places.source);
                let right = |is: bool| assert!(is, "{len} bytes, {places:?}");
                right(mac.mac(key, nonce, data).as_ref() == Ok(tag));
                let mut running = mac.begin(key, nonce).unwrap();
                let cut = turn * 37 % (len + 1);
                running.update(&data[..cut]).unwrap();
                running.update(&data[cut..]).unwrap();
                right(running.finalize() == *tag);
                let wrong = flipped(tag, turn % (8 * tag.len()));
                for (tag, result) in [(tag, Ok(())), (&wrong, Err(Error::VerificationFailed))] {
                    let tag = &*tag_memory.aligned(tag, places.small);
                    right(mac.verify_mac(key, nonce, data, tag) == result);
                    let mut running = mac.begin(key, nonce).unwrap();
                    running.update(data).unwrap();
                    right(running.verify(tag) == result);
                }
                source.assert_intact();
            }
        }
    });
}

#[test]
fn macs_of_all_lengths() {
    for_each_mac(macs::KERNELS, macs_of);
}

fn streams(variant: &dyn Variant) {
    let mut random = Random(55);
    let aegis = variant.reference();
    let mut lengths = lengths(aegis.rate());
    lengths.extend(long_lengths(aegis.rate(), &mut random));
    let [key, nonce] = [aegis.key_len(); 2].map(|len| random.bytes(len));
    let whole = aegis.stream(&key, &nonce, *lengths.iter().max().unwrap());
    let mut memory = Fenced::new();
    for_each_backend(|_| {
        for (turn, &len) in lengths.iter().enumerate() {
            for places in Places::of_turn(turn, len) {
                let out = memory.filled(BEFORE, len, places.target);
                variant.fill(&key, &nonce, out).unwrap();
                assert!(out == &whole[..len], "{len} bytes, {places:?}");
                memory.assert_intact();
            }
        }
    });
}

#[test]
fn key_streams_of_all_lengths() {
    for_each_variant(variants::KERNELS, streams);
}
