//! The goals, and whether a run meets them.

use palladion::Backend;

use crate::algorithm::{Algorithm, Operation, Variant};
use crate::bounds;
use crate::results::{BatchCell, Cell, Results, Task};
use crate::stats::geometric_mean;
use crate::subjects::{Description, Role};

/// The sizes in the goals.
pub const SIZES: [usize; 9] = [0, 16, 64, 256, 576, 1500, 4096, 16384, 65536];
/// The goal for the geometric mean of our time divided by that of the best other AEGIS.
const MEAN: f64 = 0.80;
/// The number of worst cells to list.
const WORST: usize = 12;

/// The goals for the speed of batches, relative to single messages, by backend and variant.
const BATCHES: [(Backend, [(Variant, f64); 2]); 2] = [
    (Backend::VaesAvx512, [(Variant::Aegis128L, 2.2), (Variant::Aegis256, 2.6)]),
    (Backend::VaesAvx2, [(Variant::Aegis128L, 1.7), (Variant::Aegis256, 1.7)]),
];
/// The least number of messages for these goals. Two leave half of the widest registers empty.
const FILLED: usize = 4;
/// By chance, ratios of equal speeds differ from 1 by up to this much.
const CHANCE: f64 = 0.03;

/// One goal.
pub struct Verdict {
    pub goal: String,
    /// Whether the goal is met, or `None` if it was not measured.
    pub met: Option<bool>,
    /// The result in words.
    pub found: String,
    /// The cells, worst first.
    pub details: Vec<String>,
}

impl Verdict {
    pub const fn word(&self) -> &'static str {
        match self.met {
            Some(true) => "met",
            Some(false) => "NOT MET",
            None => "not measured",
        }
    }
}

/// One of our cells and another implementation's.
pub struct Pair<'a> {
    pub variant: Variant,
    pub task: Task,
    pub ours: &'a Cell,
    pub theirs: &'a Cell,
}

impl Pair<'_> {
    /// Our time divided by theirs.
    pub fn ratio(&self) -> f64 {
        self.ours.min_ns / self.theirs.min_ns
    }

    fn text(&self, results: &Results) -> String {
        format!(
            "{:5.3}  {} {} {}: {} against {} ({} {})",
            self.ratio(),
            self.variant.name(),
            self.task.operation.name(),
            self.task.size,
            nanoseconds(self.ours.min_ns),
            nanoseconds(self.theirs.min_ns),
            results.description(self.theirs).algorithm.name(),
            results.description(self.theirs).implementation(),
        )
    }
}

fn nanoseconds(ns: f64) -> String {
    format!("{ns:.1} ns")
}

/// All our cells in the goals' tasks that have a best other AEGIS.
pub fn against_aegis(results: &Results) -> Vec<Pair<'_>> {
    let pair = |variant, task| {
        let (ours, theirs) = (results.ours(variant, task)?, results.peer(variant, task)?);
        Some(Pair { variant, task, ours, theirs })
    };
    Variant::ALL
        .into_iter()
        .flat_map(|v| tasks(&Operation::MAIN).filter_map(move |task| pair(v, task)))
        .collect()
}

/// The best other AEGIS that is not compiled for this CPU only.
fn installed_peer(results: &Results, variant: Variant, task: Task) -> Option<&Cell> {
    let wanted = |d: &Description| {
        d.algorithm == variant.into() && d.role == Role::AegisPeer && !d.form.ends_with("native")
    };
    results.best(task, wanted)
}

fn tasks(operations: &[Operation]) -> impl Iterator<Item = Task> {
    operations.iter().flat_map(|&operation| SIZES.map(|size| Task::new(operation, size)))
}

/// A variant of ours against AWS-LC's AES-GCM with keys of the same length.
pub fn against_gcm(results: &Results, variant: Variant, algorithm: Algorithm) -> Vec<Pair<'_>> {
    let wanted = |d: &Description| d.algorithm == algorithm && d.library == "AWS-LC";
    let pair = |task| {
        let (ours, theirs) = (results.ours(variant, task)?, results.best(task, wanted)?);
        Some(Pair { variant, task, ours, theirs })
    };
    tasks(&[Operation::Encrypt, Operation::Decrypt]).filter_map(pair).collect()
}

/// All goals.
pub fn all(results: &Results) -> Vec<Verdict> {
    let mut aegis = against_aegis(results);
    let cells = Variant::ALL.len() * Operation::MAIN.len() * SIZES.len();
    let measured = format!("{} of {cells} cells measured", aegis.len());
    let mean = geometric_mean(aegis.iter().map(Pair::ratio));
    let by_median = geometric_mean(aegis.iter().map(|p| p.ours.median_ns / p.theirs.median_ns));
    aegis.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
    let installed = aegis
        .iter()
        .filter_map(|p| Some(p.ours.min_ns / installed_peer(results, p.variant, p.task)?.min_ns));
    let installed = geometric_mean(installed);
    let some = (!aegis.is_empty()).then_some(());
    let slower = aegis.iter().filter(|pair| pair.ratio() > 1.0).count();
    let slower_by_median = aegis.iter().filter(|p| p.ours.median_ns > p.theirs.median_ns).count();
    let mut verdicts = vec![
        Verdict {
            goal: format!(
                "geometric mean of our time / that of the best other AEGIS at most {MEAN:.2}"
            ),
            met: some.map(|()| mean <= MEAN),
            found: format!(
                "{mean:.3} (by medians {by_median:.3}; without builds for this CPU only \
                 {installed:.3}); {measured}"
            ),
            details: Vec::new(),
        },
        Verdict {
            goal: "no cell slower than the best other AEGIS".into(),
            met: some.map(|()| slower == 0),
            found: format!(
                "{slower} slower (by medians {slower_by_median}); {measured}; the worst cells:"
            ),
            details: aegis.iter().take(WORST).map(|pair| pair.text(results)).collect(),
        },
        bulk(results),
    ];
    for (variant, algorithm) in
        [(Variant::Aegis128L, Algorithm::Aes128Gcm), (Variant::Aegis256X2, Algorithm::Aes256Gcm)]
    {
        let mut pairs = against_gcm(results, variant, algorithm);
        pairs.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
        let slower: Vec<_> = pairs.iter().filter(|pair| pair.ratio() >= 1.0).collect();
        let mean = geometric_mean(pairs.iter().map(Pair::ratio));
        verdicts.push(Verdict {
            goal: format!(
                "{} faster than AWS-LC {} at every size",
                variant.name(),
                algorithm.name()
            ),
            met: (!pairs.is_empty()).then_some(slower.is_empty()),
            found: format!(
                "{} of {} cells not faster; geometric mean {mean:.3}",
                slower.len(),
                pairs.len()
            ),
            details: slower.iter().map(|pair| pair.text(results)).collect(),
        });
    }
    verdicts.push(batches_slower(results));
    verdicts.extend(BATCHES.map(|(backend, goals)| batches_faster(results, backend, &goals)));
    verdicts
}

fn batch_text(results: &Results, cell: &BatchCell, figure: f64) -> String {
    let Description { algorithm, form, .. } = &results.subjects[cell.subject];
    format!(
        "{figure:5.3}  {} {} {} x {}: {} in a batch, {} alone ({form})",
        algorithm.name(),
        cell.operation.name(),
        cell.messages,
        cell.size,
        nanoseconds(cell.batch_min_ns),
        nanoseconds(cell.alone_min_ns),
    )
}

fn batches_slower(results: &Results) -> Verdict {
    let count = results.batches.len();
    let mut slower: Vec<_> = results.batches.iter().filter(|cell| cell.ratio() > 1.0).collect();
    slower.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
    let clearly = slower.iter().filter(|cell| cell.ratio() > 1.0 + CHANCE).count();
    let by_median =
        results.batches.iter().filter(|c| c.batch_median_ns > c.alone_median_ns).count();
    let mean = geometric_mean(results.batches.iter().map(BatchCell::ratio));
    Verdict {
        goal: "no batch slower than its messages one after another".into(),
        met: (count > 0).then_some(slower.is_empty()),
        found: format!(
            "{} of {count} slower, {clearly} of them by more than {:.0} % (by medians {by_median} \
             slower); geometric mean {mean:.3}",
            slower.len(),
            100.0 * CHANCE
        ),
        details: slower
            .iter()
            .take(WORST)
            .map(|cell| batch_text(results, cell, cell.ratio()))
            .collect(),
    }
}

fn batches_faster(results: &Results, backend: Backend, goals: &[(Variant, f64)]) -> Verdict {
    let (mut found, mut below) = (Vec::new(), Vec::new());
    for &(variant, goal) in goals {
        let mut cells = Vec::new();
        for cell in &results.batches {
            let d = &results.subjects[cell.subject];
            if d.algorithm == variant.into() && d.form == backend.name() && cell.messages >= FILLED
            {
                cells.push(cell.ratio().recip());
                if cell.ratio().recip() < goal {
                    below.push((cell.ratio().recip(), cell));
                }
            }
        }
        if !cells.is_empty() {
            let least = cells.iter().copied().fold(f64::INFINITY, f64::min);
            let mean = geometric_mean(cells);
            found.push(format!(
                "{}: geometric mean {mean:.2} times, minimum {least:.2}",
                variant.name()
            ));
        }
    }
    below.sort_by(|a, b| a.0.total_cmp(&b.0));
    let goals: Vec<_> =
        goals.iter().map(|(v, goal)| format!("{} {goal:.1} times", v.name())).collect();
    Verdict {
        goal: format!(
            "batches of {FILLED} messages or more as fast, with {backend}: {}",
            goals.join(", ")
        ),
        met: (!found.is_empty()).then_some(below.is_empty()),
        found: if found.is_empty() {
            "not measured, or not on this CPU".into()
        } else {
            found.join("; ")
        },
        details: below.iter().map(|(speed, cell)| batch_text(results, cell, *speed)).collect(),
    }
}

fn bulk(results: &Results) -> Verdict {
    let mut cells = Vec::new();
    let mut details = Vec::new();
    for (variant, operation) in
        Variant::ALL.into_iter().flat_map(|v| Operation::MAIN.map(|o| (v, o)))
    {
        let goal = bounds::our_backend(results)
            .and_then(|b| bounds::goal(&results.machine, b, variant, operation));
        if let Some((found, goal)) = bounds::measured(results, variant, operation).zip(goal) {
            cells.push(found <= goal);
            if found > goal {
                let (name, operation) = (variant.name(), operation.name());
                details.push(format!(
                    "{:5.3}  {name} {operation}: {found:.2} cycles, goal {goal:.2}",
                    found / goal
                ));
            }
        }
    }
    details.sort_by(|a, b| b.cmp(a));
    Verdict {
        goal: "cycles per step of long messages within the goals for this CPU".into(),
        met: (!cells.is_empty()).then_some(details.is_empty()),
        found: match cells.len() {
            0 => "the goals are for VAES with AVX-512 and two AES units; \
                  the table of cycles has the bounds"
                .into(),
            n => format!("{} of {n} above", details.len()),
        },
        details,
    }
}

/// All verdicts as text.
pub fn text(results: &Results) -> String {
    let mut text = String::from("Goals\n");
    for verdict in all(results) {
        text += &format!("\n[{}] {}\n    {}\n", verdict.word(), verdict.goal, verdict.found);
        for detail in verdict.details {
            text += &format!("      {detail}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    fn met(results: &Results) -> Vec<Option<bool>> {
        all(results).iter().map(|verdict| verdict.met).collect()
    }

    #[test]
    fn met_and_not_met() {
        let (yes, no) = (Some(true), Some(false));
        let mut results = sample(1.5, 2.0);
        (results.machine.aes_units, results.machine.aes_units_512) = (1, 1);
        assert_eq!(met(&results), [yes, yes, None, yes, yes, yes, yes, None]);
        (results.machine.aes_units, results.machine.aes_units_512) = (2, 1);
        assert_eq!(met(&results)[2], no);
        assert_eq!(met(&sample(1.1, 2.0))[..2], [no, yes]);
        assert_eq!(met(&sample(0.9, 0.5))[..2], [no, no]);
        assert_eq!(met(&sample(0.9, 0.5))[3..5], [no, no]);
        assert!(all(&sample(1.5, 2.0))[0].found.starts_with("0.667"));
    }

    #[test]
    fn batches() {
        let of = |index: usize, ns: f64| {
            let mut results = sample(1.5, 2.0);
            results.batches[index].batch_min_ns = ns;
            met(&results)[5..7].to_vec()
        };
        let (yes, no) = (Some(true), Some(false));
        let two = 0;
        let four = 1; // the first cells are of AEGIS-128L, and 30 ns alone
        assert_eq!(of(two, 29.0), [yes, yes]);
        assert_eq!(of(four, 30.0 / 2.25), [yes, yes]);
        assert_eq!(of(four, 29.0), [yes, no]);
        assert_eq!(of(four, 31.0), [no, no]);
    }

    #[test]
    fn nothing_measured() {
        let mut results = sample(1.5, 2.0);
        results.cells.clear();
        results.batches.clear();
        assert!(met(&results).iter().all(Option::is_none));
    }
}
