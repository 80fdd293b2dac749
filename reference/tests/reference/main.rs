//! Everything that says the reference is right.

#[path = "../../examples/make_file_answers.rs"]
mod make_file_answers;
#[path = "../../examples/make_raf_vectors.rs"]
mod make_raf_vectors;

mod historic;
mod properties;
mod raf;
mod rfc10032;
mod vectors;
mod wycheproof;

use palladion_reference::{Aegis, Family};

/// Bytes from hexadecimal digits; "-" is nothing.
fn unhex(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex
        .chars()
        .filter(|&c| c != '-')
        .map(|c| c.to_digit(16).expect("a hexadecimal digit") as u8)
        .collect();
    assert_eq!(digits.len() % 2, 0, "an even number of digits");
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// "128" or "256".
fn family(name: &str) -> Family {
    match name {
        "128" => Family::Aegis128,
        "256" => Family::Aegis256,
        _ => panic!("no family {name}"),
    }
}

/// Some bytes, never the same twice in a row.
fn bytes(seed: u8, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i as u8).wrapping_mul(167) ^ seed ^ (i >> 8) as u8).collect()
}

/// Some variants of both families.
fn some_variants() -> impl Iterator<Item = Aegis> {
    [Family::Aegis128, Family::Aegis256]
        .into_iter()
        .flat_map(|family| [1, 2, 3, 4, 5, 8].map(|degree| Aegis::new(family, degree)))
}
