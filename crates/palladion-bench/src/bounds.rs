//! The cycles that a step of AEGIS takes at least, and those that the project's goals allow.
//!
//! A step of a variant is one AES round for each of its `words * degree` blocks. The bound is the
//! time of the AES units for these if each register holds one word of as many lanes as it can. On
//! cores with VAES, AVX-512 and two AES units, the logic instructions and the dependency from one
//! step to the next take longer. We derived those bounds by hand, for the best code of a step that
//! we know. They are estimates, not proofs.

use palladion::Backend;

use crate::algorithm::{Operation, Variant};
use crate::facts;
use crate::results::{Results, Task};

/// The bounds of encryption, decryption and MAC of each variant, for VAES with AVX-512VL and two
/// AES units.
const AVX512_BOUNDS: [[f64; 3]; 6] = [
    [4.5, 4.5, 4.0],
    [4.83, 5.33, 4.0],
    [8.0, 8.0, 8.0],
    [3.5, 4.0, 3.5],
    [3.5, 4.0, 3.5],
    [6.0, 6.0, 6.0],
];

/// The goals for kernels on such a core: the best experimental kernels on Sapphire Rapids.
const AVX512_GOALS: [[f64; 3]; 6] = [
    [5.2, 5.7, 4.75],
    [5.6, 6.6, 4.5],
    [8.15, 8.15, 8.15],
    [4.6, 5.2, 3.6],
    [4.6, 5.2, 3.6],
    [6.1, 6.1, 6.1],
];

/// The cycles of a step are computed from the difference between these sizes, in which
/// initialisation and finalisation cancel out.
const BULK: [usize; 2] = [4096, 16384];

/// The number of lanes.
fn degree(variant: Variant) -> usize {
    [1, 2, 4][index(variant) % 3]
}

/// AES blocks in the state of one lane.
fn words(variant: Variant) -> usize {
    if index(variant) < 3 { 8 } else { 6 }
}

/// Bytes of message in one step.
pub fn rate(variant: Variant) -> usize {
    degree(variant) * if index(variant) < 3 { 32 } else { 16 }
}

/// The place in `Variant::ALL`.
fn index(variant: Variant) -> usize {
    usize::from(variant.id()) - 1
}

/// Returns whether the results are of such a core.
fn is_avx512(results: &Results) -> bool {
    let units = [facts::AES_UNITS, facts::AES_UNITS_512].map(|name| results.facts.get(name));
    results.backend() == Backend::VaesAvx512.name() && units == ["2", "1"]
}

/// The lower bound of cycles per step, or `None` for a backend without AES instructions, or an
/// unknown core.
pub fn bound(results: &Results, variant: Variant, operation: Operation) -> Option<f64> {
    let widest = match results.backend().parse().ok()? {
        Backend::VaesAvx512 => 4,
        Backend::VaesAvx2 => 2,
        Backend::AesNiAvx | Backend::AesNi => 1,
        _ => return None,
    };
    let lanes = degree(variant).min(widest);
    let units = if lanes == 4 { facts::AES_UNITS_512 } else { facts::AES_UNITS };
    let per_cycle: f64 = results.facts.number(units)?;
    let aes = (words(variant) * degree(variant) / lanes) as f64 / per_cycle;
    let by_hand = AVX512_BOUNDS[index(variant)][operation as usize];
    Some(if is_avx512(results) { by_hand.max(aes) } else { aes })
}

/// The goal in cycles per step, or `None` if there is none.
pub fn goal(results: &Results, variant: Variant, operation: Operation) -> Option<f64> {
    is_avx512(results).then(|| AVX512_GOALS[index(variant)][operation as usize])
}

/// The cycles per step of this library for long messages.
pub fn measured(results: &Results, variant: Variant, operation: Operation) -> Option<f64> {
    let [small, large] = BULK.map(|size| results.ours(variant, Task::new(operation, size))?.cycles);
    Some((large? - small?) / ((BULK[1] - BULK[0]) / rate(variant)) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    #[test]
    fn aes_units_bound_a_step() {
        let of = |units: u32, backend: Backend, variant| {
            let mut results = Results::default();
            results.facts.set(facts::AES_UNITS, units);
            results.facts.set(facts::AES_UNITS_512, 1);
            results.facts.set(facts::BACKEND, backend.name());
            bound(&results, variant, Operation::Encrypt)
        };
        assert_eq!(of(1, Backend::AesNiAvx, Variant::Aegis128L), Some(8.0));
        assert_eq!(of(1, Backend::AesNi, Variant::Aegis256X4), Some(24.0));
        assert_eq!(of(2, Backend::VaesAvx2, Variant::Aegis128X4), Some(8.0));
        assert_eq!(of(2, Backend::VaesAvx512, Variant::Aegis128X4), Some(8.0));
        assert_eq!(of(2, Backend::VaesAvx512, Variant::Aegis256), Some(3.5));
        assert_eq!(of(2, Backend::Portable, Variant::Aegis256), None);
    }

    #[test]
    fn the_fixed_cost_cancels() {
        // 0.2 cycles a byte in the sample.
        let cycles = measured(&sample(1.5, 2.0), Variant::Aegis128X2, Operation::Mac).unwrap();
        assert!((cycles - 0.2 * 64.0).abs() < 1e-9);
    }
}
