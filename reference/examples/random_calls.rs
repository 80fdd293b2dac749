//! Prints random calls and their results, for tests of implementations in other languages.
//!
//! `cargo run --release -p palladion-reference --example random_calls SEED COUNT` prints so many
//! lines. Each has, with one blank between them: the variant, the key, the nonce, associated data,
//! a message, its ciphertext, its tags of 16 and 32 bytes, and the MACs of the associated data of
//! 16 and 32 bytes. Byte strings are written as in `vectors/README.md`.

use palladion_reference::{Aegis, Family};

const VARIANTS: [(&str, Family, usize); 6] = [
    ("AEGIS-128L", Family::Aegis128, 1),
    ("AEGIS-128X2", Family::Aegis128, 2),
    ("AEGIS-128X4", Family::Aegis128, 4),
    ("AEGIS-256", Family::Aegis256, 1),
    ("AEGIS-256X2", Family::Aegis256, 2),
    ("AEGIS-256X4", Family::Aegis256, 4),
];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }
    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
    /// Mostly short data, now and then long.
    fn data(&mut self) -> Vec<u8> {
        let most = 1 << (self.next() % 14);
        let len = self.next() % most;
        self.bytes(len as usize)
    }
}

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "-".into();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn main() {
    let numbers: Vec<u64> =
        std::env::args().skip(1).map(|number| number.parse().expect("a number")).collect();
    let [seed, count] = numbers[..] else { panic!("usage: random_calls SEED COUNT") };
    let mut random = Random(seed);
    for i in 0..count {
        let (name, family, degree) = VARIANTS[i as usize % VARIANTS.len()];
        let aegis = Aegis::new(family, degree);
        let (key, nonce) = (random.bytes(aegis.key_len()), random.bytes(aegis.key_len()));
        let (ad, msg) = (random.data(), random.data());
        let (ct, short) = aegis.encrypt(&key, &nonce, &ad, &msg, 16);
        let (_, long) = aegis.encrypt(&key, &nonce, &ad, &msg, 32);
        let [short_mac, long_mac] = [16, 32].map(|len| aegis.mac(&key, &nonce, &ad, len));
        let fields = [key, nonce, ad, msg, ct, short, long, short_mac, long_mac];
        println!("{name} {}", fields.map(|field| hex(&field)).join(" "));
    }
}
