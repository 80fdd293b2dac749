//! The charts of AEGIS in this library and in crate `aegis`, and of other ciphers.

use std::ops::RangeInclusive;

use crate::algorithm::{Algorithm, Operation, Variant};
use crate::results::{Cell, Results, Task};
use crate::svg::{Scale, Series, lines};

/// A chart, the name of its file without the extension, and its title.
pub struct Plot {
    pub file: &'static str,
    pub title: &'static str,
    pub svg: String,
}

/// The variants in the charts: with more of them, curves would hide each other.
const VARIANTS: [Variant; 3] = [Variant::Aegis128L, Variant::Aegis128X2, Variant::Aegis256X2];
/// The other ciphers. The last one takes so long for short messages that it would hide the rest.
const OTHERS: [Algorithm; 3] =
    [Algorithm::Aes128Gcm, Algorithm::Aes256Gcm, Algorithm::Chacha20Poly1305];
/// The largest short message.
const SHORT: usize = 512;

/// All charts for which there are results.
pub fn all(results: &Results) -> Vec<Plot> {
    let plot = |file, title, unit, scale, sizes, others, value: fn(&Cell) -> f64| {
        let svg = lines(title, unit, scale, &curves(results, sizes, others, value))?;
        Some(Plot { file, title, svg })
    };
    let plots = [
        plot(
            "throughput",
            "Encryption on one core, by size of message",
            "GB/s; dashed: libaegis or its Rust version",
            Scale::Logarithmic,
            1..=usize::MAX,
            &OTHERS[..],
            |cell| cell.speed(),
        ),
        plot(
            "time-short",
            "Encryption of short messages, by size",
            "ns per message; dashed: libaegis or its Rust version",
            Scale::Linear,
            0..=SHORT,
            &OTHERS[..2],
            |cell| cell.min_ns,
        ),
    ];
    plots.into_iter().flatten().collect()
}

/// The curves of this library, of the fastest other implementation of the same variants, and of the
/// fastest implementation of each other cipher.
fn curves(
    results: &Results,
    sizes: RangeInclusive<usize>,
    others: &[Algorithm],
    value: fn(&Cell) -> f64,
) -> Vec<Series> {
    let points = |find: &dyn Fn(Task) -> Option<f64>| {
        let sizes = results.sizes().into_iter().filter(|size| sizes.contains(size));
        let point = |size| Some((size, find(Task::new(Operation::Encrypt, size))?));
        sizes.filter_map(point).collect::<Vec<_>>()
    };
    let is_measured = |v: &Variant| !points(&|task| results.ours(*v, task).map(value)).is_empty();
    let mut variants: Vec<_> = VARIANTS.into_iter().filter(is_measured).collect();
    if variants.is_empty() {
        variants.extend(Variant::ALL.into_iter().filter(is_measured));
    }
    let mut series = Vec::new();
    for (colour, &variant) in variants.iter().enumerate() {
        let (name, is_ours) = (variant.name().to_owned(), true);
        let ours = points(&|task| results.ours(variant, task).map(value));
        series.push(Series { name, colour, is_ours, dashed: false, points: ours });
        let (name, is_ours) = (format!("{}, crate aegis", variant.name()), false);
        let theirs = points(&|task| results.peer(variant, task).map(value));
        series.push(Series { name, colour, is_ours, dashed: true, points: theirs });
    }
    for (colour, algorithm) in (variants.len()..).zip(others) {
        let best = |task| results.best(task, |d| d.algorithm == *algorithm);
        let (name, is_ours) = (algorithm.name().to_owned(), false);
        let points = points(&|task| best(task).map(value));
        series.push(Series { name, colour, is_ours, dashed: false, points });
    }
    series.retain(|series| !series.points.is_empty());
    series
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    #[test]
    fn all_charts_are_drawn() {
        let plots = all(&sample(1.5, 2.0));
        assert_eq!(plots.len(), 2);
        assert!(plots.iter().all(|plot| plot.svg.starts_with("<svg") && !plot.svg.contains("NaN")));
    }

    #[test]
    fn other_variants_are_drawn_if_there_are_no_usual_ones() {
        let mut results = sample(1.5, 2.0);
        let usual = |cell: &Cell| {
            VARIANTS.map(Algorithm::from).contains(&results.description(cell).algorithm)
        };
        let cells: Vec<_> = results.cells.iter().filter(|cell| !usual(cell)).cloned().collect();
        results.cells = cells;
        let plots = all(&results);
        assert!(plots[0].svg.contains("AEGIS-256X4") && !plots[0].svg.contains("AEGIS-128L"));
    }

    #[test]
    fn nothing_measured() {
        let mut results = sample(1.5, 2.0);
        results.cells.clear();
        assert!(all(&results).is_empty());
    }
}
