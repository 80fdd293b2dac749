//! The charts.

use crate::algorithm::{Algorithm, Operation, Variant};
use crate::bounds;
use crate::report::bytes;
use crate::results::{Cell, Results, Task};
use crate::subjects::Role;
use crate::svg::{Bar, Series, bars, grid, lines};
use crate::verdict::{self, against_aegis};

/// A chart and the name of its file, without the extension.
pub struct Plot {
    pub file: &'static str,
    pub svg: String,
}

/// The largest size in the paper's plot of short inputs.
const SHORT: usize = 1024;
const SPEED: &str = "GB/s on one core, the fastest samples";

/// All charts for which there are results.
pub fn all(results: &Results) -> Vec<Plot> {
    let speed = |cell: &Cell| cell.speed();
    let time = |cell: &Cell| cell.min_ns;
    let everywhere = 1..usize::MAX;
    let short = 1..SHORT + 1;
    let encrypt = Operation::Encrypt;
    let gcm = [Algorithm::Aes128Gcm, Algorithm::Aes256Gcm];
    let charts = [
        (
            "throughput",
            lines(
                "Encryption by size",
                SPEED,
                &curves(results, encrypt, &Variant::ALL, &gcm, false, everywhere.clone(), speed),
            ),
        ),
        (
            "throughput-short",
            lines(
                "Encryption of short inputs",
                SPEED,
                &curves(results, encrypt, &Variant::ALL, &gcm, false, short.clone(), speed),
            ),
        ),
        (
            "time-short",
            lines(
                "Encryption of short inputs",
                "nanoseconds per call, the fastest samples",
                &curves(results, encrypt, &Variant::ALL, &gcm, false, short, time),
            ),
        ),
        (
            "throughput-128",
            lines(
                "Encryption with 128-bit keys; dashed: the best other implementation",
                SPEED,
                &curves(
                    results,
                    encrypt,
                    &Variant::ALL[..3],
                    &[Algorithm::Aes128Gcm, Algorithm::Aes128Ocb],
                    true,
                    everywhere.clone(),
                    speed,
                ),
            ),
        ),
        (
            "throughput-256",
            lines(
                "Encryption with 256-bit keys; dashed: the best other implementation",
                SPEED,
                &curves(
                    results,
                    encrypt,
                    &Variant::ALL[3..],
                    &[Algorithm::Aes256Gcm, Algorithm::Aes256Ocb, Algorithm::Chacha20Poly1305],
                    true,
                    everywhere.clone(),
                    speed,
                ),
            ),
        ),
        (
            "mac",
            lines(
                "Authentication (MAC) by size",
                SPEED,
                &curves(
                    results,
                    Operation::Mac,
                    &Variant::ALL,
                    &[Algorithm::Blake3, Algorithm::HmacSha256],
                    false,
                    everywhere,
                    speed,
                ),
            ),
        ),
        ("ratio", ratios(results)),
        ("cycles", cycles(results)),
        ("tiers", tiers(results)),
    ];
    charts.into_iter().filter_map(|(file, svg)| Some(Plot { file, svg: svg? })).collect()
}

/// The curves of this library's variants, of the best other implementation of each if wanted, and
/// of the best of each other algorithm.
fn curves<'a>(
    results: &'a Results,
    operation: Operation,
    variants: &[Variant],
    others: &[Algorithm],
    peers: bool,
    sizes: std::ops::Range<usize>,
    value: impl Fn(&Cell) -> f64,
) -> Vec<Series> {
    let sizes: Vec<_> = results.sizes().into_iter().filter(|size| sizes.contains(size)).collect();
    let curve = |name: String, colour, dashed, find: &dyn Fn(Task) -> Option<&'a Cell>| Series {
        name,
        colour,
        dashed,
        points: sizes
            .iter()
            .filter_map(|&size| Some((size, value(find(Task::new(operation, size))?))))
            .collect(),
    };
    let mut series = Vec::new();
    for &variant in variants {
        let name = variant.name();
        series
            .push(curve(name.into(), variant.index(), false, &|task| results.ours(variant, task)));
        if peers {
            series.push(curve(format!("{name}, best other"), variant.index(), true, &|task| {
                results.peer(variant, task)
            }));
        }
    }
    for (i, &algorithm) in others.iter().enumerate() {
        let best = |task| results.best(task, |d| d.algorithm == algorithm);
        let largest = sizes.last().and_then(|&size| best(Task::new(operation, size)));
        let who = largest.map_or("", |cell| &results.description(cell).library);
        // BLAKE3 is also the name of its library.
        let name = if algorithm == Algorithm::Blake3 {
            algorithm.name().into()
        } else {
            format!("{}, {who}", algorithm.name())
        };
        series.push(curve(name, (6 + i) % 8, true, &best));
    }
    series.retain(|series| !series.points.is_empty());
    series
}

/// The ratio of our time to that of the best other AEGIS, cell by cell.
fn ratios(results: &Results) -> Option<String> {
    let pairs = against_aegis(results);
    let mut rows = Vec::new();
    for operation in Operation::MAIN {
        for variant in Variant::ALL {
            let of = |size| {
                pairs.iter().find(|p| p.variant == variant && p.task == Task::new(operation, size))
            };
            let ratios: Vec<_> =
                verdict::SIZES.iter().map(|&size| of(size).map(|pair| pair.ratio())).collect();
            if ratios.iter().any(Option::is_some) {
                rows.push((format!("{} {}", variant.name(), operation.name()), ratios));
            }
        }
    }
    let unit = "our time divided by that of the best other AEGIS, by size; below 1 we are faster";
    grid("Compared with the best other AEGIS", unit, &verdict::SIZES.map(bytes), &rows)
}

/// The cycles per byte for long messages, with the bounds.
fn cycles(results: &Results) -> Option<String> {
    let backend = bounds::our_backend(results)?;
    let mut all = Vec::new();
    for (variant, operation) in
        Variant::ALL.into_iter().flat_map(|v| Operation::MAIN.map(|o| (v, o)))
    {
        let rate = variant.rate() as f64;
        if let Some(found) = bounds::measured(results, variant, operation) {
            let mark = bounds::bound(&results.machine, backend, variant, operation)
                .map(|bound| bound / rate);
            let name = format!("{} {}", variant.name(), operation.name());
            all.push(Bar { name, colour: variant.index(), value: found / rate, mark });
        }
    }
    bars(
        "Cycles per byte for long messages",
        &format!("{backend}; the line across a bar is the bound"),
        &all,
    )
}

/// Each backend at 16 KiB.
fn tiers(results: &Results) -> Option<String> {
    let task = Task::new(Operation::Encrypt, bounds::BULK[1]);
    let mut all = Vec::new();
    for (subject, d) in results.subjects.iter().enumerate() {
        if let (Role::Ours | Role::OtherTier, Some(cell)) = (d.role, results.of(subject, task)) {
            let colour = Variant::ALL
                .iter()
                .position(|v| Algorithm::from(*v) == d.algorithm)
                .unwrap_or_default();
            all.push(Bar {
                name: format!("{} {}", d.algorithm.name(), d.form),
                colour,
                value: cell.speed(),
                mark: None,
            });
        }
    }
    bars("Each backend", &format!("{SPEED}; encryption of 16 KiB"), &all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    #[test]
    fn all_charts_are_drawn() {
        let plots = all(&sample(1.5, 2.0));
        assert_eq!(plots.len(), 9);
        assert!(plots.iter().all(|plot| plot.svg.starts_with("<svg") && !plot.svg.contains("NaN")));
    }

    #[test]
    fn nothing_measured() {
        let mut results = sample(1.5, 2.0);
        results.cells.clear();
        assert!(all(&results).is_empty());
    }
}
