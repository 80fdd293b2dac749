//! The charts: encryption by size, compared with other ciphers; our time compared with that of the
//! fastest other AEGIS; and the time of short messages.

use std::ops::RangeInclusive;

use crate::algorithm::{Algorithm, Operation, Variant};
use crate::report::{LONG, bytes};
use crate::results::{Cell, GOAL_SIZES, Results, Task};
use crate::svg::{self, Scale, Series};
use crate::verdict;

/// A chart, the name of its file without the extension, and its title.
pub struct Plot {
    pub file: &'static str,
    pub title: &'static str,
    pub svg: String,
}

/// The curves of long messages, and of short ones. More would hide each other.
const LONG_CURVES: [Algorithm; 6] = [
    Algorithm::Aegis(Variant::Aegis128L),
    Algorithm::Aegis(Variant::Aegis128X2),
    Algorithm::Aegis(Variant::Aegis128X4),
    Algorithm::Aegis(Variant::Aegis256X2),
    Algorithm::Aes128Gcm,
    Algorithm::Chacha20Poly1305,
];
const SHORT_CURVES: [Algorithm; 4] = [
    Algorithm::Aegis(Variant::Aegis128L),
    Algorithm::Aegis(Variant::Aegis128X2),
    Algorithm::Aegis(Variant::Aegis256X2),
    Algorithm::Aes128Gcm,
];
/// The largest short message.
const SHORT: usize = 256;

/// All charts for which there are results.
pub fn all(results: &Results) -> Vec<Plot> {
    let plot = |file, title, svg: Option<String>| Some(Plot { file, title, svg: svg? });
    let title = "Encryption on one core, GB/s by bytes of message";
    let curves = |list, sizes, value| curves(results, list, sizes, value);
    let speed = curves(&LONG_CURVES, 16..=LONG, |cell| cell.speed());
    let throughput =
        plot("throughput", title, svg::lines(title, Scale::Logarithmic, &speed, "GB/s"));
    let title = "Our time / the fastest other AEGIS (below 1: faster)";
    let ratio = plot("ratio", title, ratios(results, title));
    let title = "Encryption of short messages, nanoseconds by bytes";
    let times = curves(&SHORT_CURVES, 0..=SHORT, |cell| cell.min_ns);
    let short = plot("time-short", title, svg::lines(title, Scale::Linear, &times, "ns"));
    [throughput, ratio, short].into_iter().flatten().collect()
}

/// The curves of this library, and of the fastest implementation of each other cipher.
fn curves(
    results: &Results,
    algorithms: &[Algorithm],
    sizes: RangeInclusive<usize>,
    value: fn(&Cell) -> f64,
) -> Vec<Series> {
    let curve = |(style, &algorithm): (usize, &Algorithm)| {
        let is_aegis = matches!(algorithm, Algorithm::Aegis(_));
        let cell = |size| {
            results.best(Task::new(Operation::Encrypt, size), |d| {
                d.algorithm == algorithm && (!is_aegis || results.is_ours(d))
            })
        };
        let sizes = results.sizes().into_iter().filter(|size| sizes.contains(size));
        let points = sizes.filter_map(|size| Some((size, value(cell(size)?)))).collect();
        Series { name: algorithm.name().to_owned(), style, is_ours: is_aegis, points }
    };
    let curves = LONG_CURVES.iter().enumerate().filter(|(_, a)| algorithms.contains(a)).map(curve);
    curves.filter(|curve| !curve.points.is_empty()).collect()
}

/// A row for each operation and variant, a column for each size.
fn ratios(results: &Results, title: &str) -> Option<String> {
    let pairs = verdict::against_aegis(results);
    let mut rows = Vec::new();
    for (operation, variant) in
        Operation::ALL.into_iter().flat_map(|o| Variant::ALL.map(|v| (o, v)))
    {
        let ratio = |size| {
            let task = Task::new(operation, size);
            let pair = pairs.iter().find(|pair| (pair.variant, pair.task) == (variant, task))?;
            Some(pair.ratio())
        };
        let row = GOAL_SIZES.map(ratio);
        if row.iter().any(Option::is_some) {
            rows.push((format!("{} {}", variant.name(), operation.name()), row.to_vec()));
        }
    }
    (!rows.is_empty()).then(|| svg::grid(title, &GOAL_SIZES.map(bytes), &rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    #[test]
    fn all_charts_are_drawn() {
        let plots = all(&sample(1.5, 2.0));
        assert_eq!(plots.iter().map(|plot| plot.file).collect::<Vec<_>>().len(), 3);
        assert!(plots.iter().all(|plot| plot.svg.starts_with("<svg") && !plot.svg.contains("NaN")));
        assert!(plots[0].svg.contains("AES-128-GCM") && !plots[0].svg.contains("AES-256-GCM"));
        assert_eq!(plots[1].svg.matches(">0.67<").count(), 18 * 5);
    }

    #[test]
    fn nothing_measured() {
        let mut results = sample(1.5, 2.0);
        results.cells.clear();
        assert!(all(&results).is_empty());
    }
}
