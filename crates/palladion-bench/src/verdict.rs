//! The goals, and whether a run meets them.

use crate::algorithm::{Algorithm, Operation, Variant};
use crate::bounds;
use crate::results::{BatchCell, Cell, GOAL_SIZES, Results, Task, Together};
use crate::stats::geometric_mean;
use crate::subjects::Description;

/// The goal for the geometric mean of our time divided by that of the best other AEGIS.
const MEAN: f64 = 0.80;
/// A cell counts as slower than another if its time is more than this many times the other's. By
/// chance, equal speeds differ by less.
pub const SLOWER: f64 = 1.02;
const PERCENT: &str = "2 %";
/// A difference of fewer nanoseconds does not count against the chosen backend.
const SLOWER_NS: f64 = 0.5;
/// The least number of messages for speeds of batches. Two leave half of the widest registers
/// empty.
const FILLED: usize = 4;

/// The number of worst cells to list, of batches and compared with other libraries.
const WORST: usize = 12;

// Why goals are missed where they are, as far as we know.
const WHY_MEAN: &str = "\
    why: in long messages both sides wait for the AES units, most of all in the X4 variants";
const WHY_BACKEND: &str = "why: one backend serves all variants and operations";
const WHY_BULK: &str = "\
    why: the goals are the best experimental kernels on Sapphire Rapids; on Zen 4 a step of
    AEGIS-256 takes 4.5 cycles, because a word waits four cycles both as the input and as the key
    of an AES round (docs/performance.md)";
const WHY_BATCH: &str = "\
    why: a message of an X variant fills registers by itself, and two messages leave half of the
    widest ones empty";

/// One goal.
pub struct Verdict {
    pub goal: String,
    /// Whether the goal is met, or `None` if it was not measured.
    pub met: Option<bool>,
    /// The result in words.
    pub found: String,
    /// The cells, worst first.
    pub details: Vec<String>,
    /// Why it may not be met; may be empty.
    pub why: &'static str,
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
        .flat_map(|v| tasks(&Operation::ALL).filter_map(move |task| pair(v, task)))
        .collect()
}

/// The best other AEGIS that is not compiled for this CPU only.
fn installed_peer(results: &Results, variant: Variant, task: Task) -> Option<&Cell> {
    let wanted = |d: &Description| {
        d.algorithm == variant.into() && d.is_aegis_peer() && !d.form.ends_with("native")
    };
    results.best(task, wanted)
}

/// The tasks in the goals.
pub fn tasks(operations: &[Operation]) -> impl Iterator<Item = Task> {
    operations.iter().flat_map(|&operation| GOAL_SIZES.map(|size| Task::new(operation, size)))
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
    let cells = Variant::ALL.len() * Operation::ALL.len() * GOAL_SIZES.len();
    let measured = format!("{} of {cells} cells measured", aegis.len());
    let mean = geometric_mean(aegis.iter().map(Pair::ratio));
    aegis.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
    let installed = aegis
        .iter()
        .filter_map(|p| Some(p.ours.min_ns / installed_peer(results, p.variant, p.task)?.min_ns));
    let installed = geometric_mean(installed);
    let some = (!aegis.is_empty()).then_some(());
    let slower = aegis.iter().filter(|pair| pair.ratio() > SLOWER).count();
    let mut verdicts = vec![
        Verdict {
            goal: format!(
                "geometric mean of our time / that of the best other AEGIS at most {MEAN:.2}"
            ),
            met: some.map(|()| mean <= MEAN),
            found: format!(
                "{mean:.3} (without builds for this CPU only {installed:.3}); {measured}"
            ),
            details: Vec::new(),
            why: WHY_MEAN,
        },
        Verdict {
            goal: format!(
                "no cell slower than the best other AEGIS by more than {PERCENT}, by which equal \
                 speeds differ by chance"
            ),
            met: some.map(|()| slower == 0),
            found: format!("{slower} slower; {measured}; the worst cells:"),
            details: aegis.iter().take(WORST).map(|pair| pair.text(results)).collect(),
            why: "",
        },
        automatic(results),
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
            why: "",
        });
    }
    verdicts.push(batches(results));
    verdicts
}

/// Compares the backend that the library chose with the others.
fn automatic(results: &Results) -> Verdict {
    let chosen = results.backend();
    let (mut count, mut slower) = (0, Vec::new());
    for cell in &results.cells {
        let d = results.description(cell);
        if !results.is_ours(d) {
            continue;
        }
        let task = Task { operation: cell.operation, size: cell.size, ad: cell.ad };
        let other = |o: &Description| o.is_ours() && o.algorithm == d.algorithm && o.form != d.form;
        let Some(best) = results.best(task, other) else { continue };
        count += 1;
        if cell.min_ns > SLOWER * best.min_ns && cell.min_ns > best.min_ns + SLOWER_NS {
            slower.push((cell, best));
        }
    }
    let ratio = |(cell, best): &(&Cell, &Cell)| cell.min_ns / best.min_ns;
    slower.sort_by(|a, b| ratio(b).total_cmp(&ratio(a)));
    let detail = |pair: &(&Cell, &Cell)| {
        let (cell, best) = pair;
        let ad = if cell.ad == 0 { String::new() } else { format!(" + {} of AD", cell.ad) };
        format!(
            "{:5.3}  {} {} {}{ad}: {} against {} ({})",
            ratio(pair),
            results.description(cell).algorithm.name(),
            cell.operation.name(),
            cell.size,
            nanoseconds(cell.min_ns),
            nanoseconds(best.min_ns),
            results.description(best).form,
        )
    };
    Verdict {
        goal: format!(
            "the backend chosen automatically within {PERCENT} and {SLOWER_NS} ns of the fastest \
             in every cell"
        ),
        met: (count > 0).then_some(slower.is_empty()),
        found: match count {
            0 => "no other backend was measured".into(),
            _ => format!("{chosen} slower than another backend in {} of {count}", slower.len()),
        },
        details: slower.iter().map(detail).collect(),
        why: WHY_BACKEND,
    }
}

/// Compares batches of jobs and of packets with single messages. There is no goal for the gain: it
/// shrinks when single messages get faster.
fn batches(results: &Results) -> Verdict {
    let of = |cell| jobs_and_packets(cell).map(move |(what, together)| (cell, what, together));
    let all: Vec<_> = results.batches.iter().flat_map(of).collect();
    let mut slower: Vec<_> = all.iter().filter(|(.., both)| both.ratio() > SLOWER).collect();
    slower.sort_by(|(.., a), (.., b)| b.ratio().total_cmp(&a.ratio()));
    let mut found = format!("{} of {} slower", slower.len(), all.len());
    for variant in [Variant::Aegis128L, Variant::Aegis256] {
        let speed = |wanted: &str| {
            let is_wanted = |(cell, what, _): &&(&BatchCell, &str, Together)| {
                let d = &results.subjects[cell.subject];
                let is_it = d.algorithm == variant.into() && results.is_ours(d);
                is_it && *what == wanted && cell.messages >= FILLED
            };
            let cells = all.iter().filter(is_wanted);
            let speeds: Vec<_> = cells.map(|(.., both)| both.ratio().recip()).collect();
            (!speeds.is_empty()).then(|| geometric_mean(speeds))
        };
        if let Some((jobs, packets)) = speed(WHATS[0]).zip(speed(WHATS[1])) {
            found += &format!(
                "; {FILLED} or more of {}: {jobs:.2} times as fast as jobs, {packets:.2} as \
                 packets",
                variant.name(),
            );
        }
    }
    let detail = |(cell, what, both): &&(&BatchCell, &str, Together)| {
        let Description { algorithm, form, .. } = &results.subjects[cell.subject];
        format!(
            "{:5.3}  {} {} {} {what} of {}: {} in a batch, {} alone ({form})",
            both.ratio(),
            algorithm.name(),
            cell.operation.name(),
            cell.messages,
            cell.size,
            nanoseconds(both.batch.min_ns),
            nanoseconds(both.alone.min_ns),
        )
    };
    Verdict {
        goal: format!("no batch slower than its messages one after another by more than {PERCENT}"),
        met: (!all.is_empty()).then_some(slower.is_empty()),
        found: if all.is_empty() { "no batches".into() } else { found },
        details: slower.iter().take(WORST).map(detail).collect(),
        why: WHY_BATCH,
    }
}

const WHATS: [&str; 2] = ["jobs", "packets"];

/// The two kinds of batches.
fn jobs_and_packets(cell: &BatchCell) -> impl Iterator<Item = (&'static str, Together)> {
    WHATS.into_iter().zip([Some(cell.jobs), cell.packets]).filter_map(|(w, both)| Some((w, both?)))
}

fn bulk(results: &Results) -> Verdict {
    let mut cells = Vec::new();
    let mut details = Vec::new();
    for (variant, operation) in
        Variant::ALL.into_iter().flat_map(|v| Operation::ALL.map(|o| (v, o)))
    {
        let backend = results.backend().parse().ok();
        let goal = backend.and_then(|b| bounds::goal(&results.facts, b, variant, operation));
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
            0 => "the goals are for Zen 4; the table of cycles has the bounds".into(),
            n => format!("{} of {n} above", details.len()),
        },
        details,
        why: WHY_BULK,
    }
}

/// All verdicts as text, with at most `most` cells for each.
pub fn text(results: &Results, most: usize) -> String {
    let mut text = String::new();
    for verdict in all(results) {
        text += &format!("[{}] {}\n    {}\n", verdict.word(), verdict.goal, verdict.found);
        for detail in verdict.details.iter().take(most) {
            text += &format!("      {detail}\n");
        }
        if verdict.met == Some(false) && !verdict.why.is_empty() {
            text += &format!("    {}\n", verdict.why);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts;
    use crate::results::tests::sample;

    fn met(results: &Results) -> Vec<Option<bool>> {
        all(results).iter().map(|verdict| verdict.met).collect()
    }

    #[test]
    fn met_and_not_met() {
        let (yes, no) = (Some(true), Some(false));
        let mut results = sample(1.5, 2.0);
        assert_eq!(met(&results), [yes, yes, yes, no, yes, yes, yes]);
        results.facts.set(facts::AES_UNITS, 1);
        assert_eq!(met(&results)[3], None);
        assert_eq!(met(&sample(1.1, 2.0))[..2], [no, yes]);
        assert_eq!(met(&sample(0.99, 0.5))[..2], [no, yes]);
        assert_eq!(met(&sample(0.9, 0.5))[..2], [no, no]);
        assert_eq!(met(&sample(0.9, 0.5))[4..6], [no, no]);
        assert!(all(&sample(1.5, 2.0))[0].found.starts_with("0.667"));
    }

    #[test]
    fn the_chosen_backend() {
        let of = |portable_ns: f64| {
            let mut results = sample(1.5, 2.0);
            let places: Vec<_> = (0..results.cells.len())
                .filter(|&i| results.description(&results.cells[i]).form == "portable")
                .collect();
            // AEGIS-128L, 0 bytes, which takes the chosen backend 40 ns.
            results.cells[places[0]].min_ns = portable_ns;
            let verdict = automatic(&results);
            (verdict.met, verdict.details.len())
        };
        assert_eq!(of(50.0), (Some(true), 0));
        assert_eq!(of(39.3), (Some(true), 0));
        assert_eq!(of(39.0), (Some(false), 1));
        // Half a nanosecond may be much more than 2 %.
        let mut results = sample(1.5, 2.0);
        for cell in &mut results.cells {
            cell.min_ns = if results.subjects[cell.subject].form == "portable" { 4.0 } else { 4.4 };
        }
        assert_eq!(automatic(&results).met, Some(true));
        results.facts.set(facts::BACKEND, "aesni");
        assert_eq!(automatic(&results).met, None);
    }

    #[test]
    fn batches_are_judged() {
        let of = |jobs: f64, packets: f64| {
            let mut results = sample(1.5, 2.0);
            let cell = &mut results.batches[0]; // of AEGIS-128L, and 30 ns alone
            cell.jobs.batch.min_ns = jobs;
            cell.packets.as_mut().unwrap().batch.min_ns = packets;
            batches(&results)
        };
        assert_eq!(of(29.0, 29.0).met, Some(true));
        assert_eq!(of(30.5, 30.5).met, Some(true));
        assert_eq!(of(31.0, 29.0).met, Some(false));
        assert_eq!(of(29.0, 31.0).met, Some(false));
        assert!(of(29.0, 29.0).found.contains("AEGIS-256: 3.00 times as fast as jobs, 6.00 as"));
    }

    #[test]
    fn nothing_measured() {
        let mut results = sample(1.5, 2.0);
        results.cells.clear();
        results.batches.clear();
        assert!(met(&results).iter().all(Option::is_none));
        assert!(text(&results, 9).contains("[not measured]"));
    }
}
