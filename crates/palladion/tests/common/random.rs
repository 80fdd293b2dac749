//! Random numbers for tests.

#![allow(dead_code)] // each test file uses a part

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

/// A generator of pseudo-random numbers that are the same in every run (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.number() % n as u64) as usize
    }

    pub fn within(&mut self, range: Range<usize>) -> usize {
        range.start + self.below(range.len())
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        for piece in bytes.chunks_mut(8) {
            piece.copy_from_slice(&self.number().to_le_bytes()[..piece.len()]);
        }
        bytes
    }
}

/// Tests a property with random inputs that are new in every run. If it fails, the test prints the
/// environment variable to set in order to begin with the same inputs.
pub fn with_new_seeds(cases: usize, mut property: impl FnMut(&mut Random)) {
    const VARIABLE: &str = "PALLADION_TEST_SEED";
    let first = std::env::var(VARIABLE).map_or_else(
        |_| RandomState::new().hash_one(cases),
        |seed| seed.parse().expect("PALLADION_TEST_SEED is a number"),
    );
    for case in 0..cases as u64 {
        let seed = first.wrapping_add(case);
        println!("{VARIABLE}={seed}"); // shown if the test fails
        property(&mut Random(seed));
    }
}
