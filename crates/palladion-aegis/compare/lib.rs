//! Random inputs for the tests.

#![forbid(unsafe_code)]

/// A small generator of random numbers (SplitMix64). It is not for keys.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    /// Starts with the number in the variable `SEED`, or else with one that is new, and prints it.
    pub fn new() -> Self {
        let seed = match std::env::var("SEED") {
            Ok(seed) => seed.parse().expect("SEED is a number"),
            Err(_) => std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64,
        };
        println!("SEED={seed}");
        Self(seed)
    }

    /// The generator with a given start.
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }

    /// A length: mostly of a few blocks, sometimes long.
    pub fn len(&mut self) -> usize {
        match self.below(20) {
            0 => 0,
            1 => self.below(40_000),
            2..=9 => self.below(130),
            _ => self.below(1500),
        }
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        bytes.fill_with(|| self.number() as u8);
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.fill(&mut bytes);
        bytes
    }

    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// Flips a bit, if there is one.
    pub fn flip(&mut self, bytes: &mut [u8]) {
        if !bytes.is_empty() {
            let at = self.below(bytes.len());
            bytes[at] ^= 1 << self.below(8);
        }
    }

    /// Cuts a length into pieces, some of them empty.
    pub fn pieces(&mut self, mut len: usize) -> Vec<usize> {
        let mut pieces = vec![];
        while len > 0 {
            let most = if self.below(2) == 0 { len.min(70) } else { len };
            pieces.push(self.below(most + 1));
            len -= pieces[pieces.len() - 1];
        }
        pieces
    }
}

impl Default for Random {
    fn default() -> Self {
        Self::new()
    }
}
