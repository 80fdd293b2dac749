//! The goals, and whether a run meets them; and how it compares with an earlier run.

use std::collections::HashMap;
use std::path::Path;

use crate::algorithm::{Algorithm, Operation, Variant};
use crate::bounds;
use crate::files;
use crate::report::{SLOWER, Table};
use crate::results::{Cell, Results, Task, goal_tasks};
use crate::stats::geometric_mean;
use crate::subjects::Description;

/// The goal for the geometric mean of our time divided by that of the fastest other AEGIS.
const MEAN: f64 = 0.80;
/// A difference of at most this many nanoseconds does not count against the chosen backend.
const NEGLIGIBLE_NS: f64 = 0.5;
/// The limit for a cell's time divided by its time in an earlier run.
const REGRESSION: f64 = 1.10;

/// A goal: in each cell, a time divided by another is at most a limit.
pub struct Goal {
    pub what: String,
    limit: f64,
    /// The ratios and descriptions of cells, the worst first.
    cells: Vec<(f64, String)>,
}

impl Goal {
    fn new(what: impl Into<String>, limit: f64, mut cells: Vec<(f64, String)>) -> Self {
        cells.sort_by(|a, b| b.0.total_cmp(&a.0));
        Self { what: what.into(), limit, cells }
    }

    /// The cells above the limit.
    fn missed(&self) -> &[(f64, String)] {
        &self.cells[..self.cells.partition_point(|cell| cell.0 > self.limit)]
    }

    /// Returns whether all cells meet the goal, or `None` if nothing was measured.
    pub fn met(&self) -> Option<bool> {
        (!self.cells.is_empty()).then(|| self.missed().is_empty())
    }
}

pub fn table(goals: &[Goal]) -> Table {
    let row = |goal: &Goal| {
        let met = goal.met().map_or("not measured", |met| if met { "yes" } else { "**no**" });
        let mut row = vec![goal.what.clone(), met.to_owned()];
        let worst = goal.cells.first().map(|(ratio, text)| format!("{ratio:.3}: {text}"));
        let mean = geometric_mean(goal.cells.iter().map(|cell| cell.0));
        row.push(worst.unwrap_or_default());
        row.extend([goal.cells.len(), goal.missed().len()].map(|count| count.to_string()));
        row.push(if goal.cells.is_empty() { String::new() } else { format!("{mean:.3}") });
        row
    };
    Table {
        title: "Goals",
        note: "Each cell is a time divided by another. mean: the geometric mean of all cells.",
        labels: 3,
        head: ["goal", "met", "worst cell", "cells", "missed", "mean"].map(String::from).into(),
        rows: goals.iter().map(row).collect(),
    }
}

/// The table, and a line for each cell that misses a goal.
pub fn text(goals: &[Goal]) -> String {
    let mut text = table(goals).markdown();
    for goal in goals.iter().filter(|goal| goal.met() == Some(false)) {
        text += &format!("\nMissed: {}\n", goal.what);
        let line = |(ratio, cell): &(f64, String)| format!("  {ratio:5.3}  {cell}\n");
        text.extend(goal.missed().iter().map(line));
    }
    text
}

/// Our time in a cell divided by another's.
fn pair(results: &Results, ours: &Cell, theirs: &Cell) -> (f64, String) {
    let (d, other) = (results.description(ours), results.description(theirs));
    let ad = if ours.ad == 0 { String::new() } else { format!(" + {} of AD", ours.ad) };
    let (name, operation, size) = (d.algorithm.name(), ours.operation.name(), ours.size);
    let text = format!(
        "{name} {operation} {size}{ad}, {:.1} ns, {:.1} ns by {}",
        ours.min_ns,
        theirs.min_ns,
        other.implementation()
    );
    (ours.min_ns / theirs.min_ns, text)
}

/// All cells in the goals for which there is another implementation.
fn against<'a>(
    results: &'a Results,
    other: impl Fn(Variant, Task) -> Option<&'a Cell>,
) -> Vec<(f64, String)> {
    let cell =
        |(variant, task)| Some(pair(results, results.ours(variant, task)?, other(variant, task)?));
    goal_tasks().filter_map(cell).collect()
}

/// All goals.
pub fn all(results: &Results) -> Vec<Goal> {
    let aegis = against(results, |variant, task| results.peer(variant, task));
    let installed = against(results, |variant, task| {
        let is_it = |d: &Description| d.algorithm == variant.into() && d.is_aegis_peer();
        results.best(task, |d| is_it(d) && !d.form.ends_with("native"))
    });
    let mean = |cells: &[(f64, String)]| geometric_mean(cells.iter().map(|cell| cell.0));
    let means = (mean(&aegis), mean(&installed));
    let text = format!("the mean; {:.3} without builds for this CPU only", means.1);
    let means = if aegis.is_empty() { Vec::new() } else { vec![(means.0, text)] };
    let mut goals = vec![
        Goal::new("mean of our time / the fastest other AEGIS at most 0.80", MEAN, means),
        Goal::new("no cell more than 2 % slower than the fastest other AEGIS", SLOWER, aegis),
        automatic(results),
        cycles(results),
    ];
    for (ours, theirs) in
        [(Variant::Aegis128L, Algorithm::Aes128Gcm), (Variant::Aegis256X2, Algorithm::Aes256Gcm)]
    {
        let cells = against(results, |variant, task| {
            let wanted = |d: &Description| d.algorithm == theirs && d.library == "AWS-LC";
            results.best(task, wanted).filter(|_| variant == ours)
        });
        let what = format!("{} faster than AWS-LC's {}", ours.name(), theirs.name());
        goals.push(Goal::new(what, 1.0, cells));
    }
    goals.push(batches(results));
    goals
}

/// Compares the backend that the library chose with the others.
fn automatic(results: &Results) -> Goal {
    let mut cells = Vec::new();
    for cell in results.cells.iter().filter(|cell| results.is_ours(results.description(cell))) {
        let d = results.description(cell);
        let task = Task { operation: cell.operation, size: cell.size, ad: cell.ad };
        let other = |o: &Description| o.is_ours() && o.algorithm == d.algorithm && o.form != d.form;
        let Some(best) = results.best(task, other) else { continue };
        let (ratio, text) = pair(results, cell, best);
        let is_equal = cell.min_ns <= best.min_ns + NEGLIGIBLE_NS;
        cells.push((if is_equal { ratio.min(1.0) } else { ratio }, text));
    }
    Goal::new("the chosen backend within 2 % or 0.5 ns of the fastest", SLOWER, cells)
}

/// Compares cycles with the goals for them, which only some cores have.
fn cycles(results: &Results) -> Goal {
    let mut cells = Vec::new();
    for (variant, operation) in Variant::ALL.iter().flat_map(|v| Operation::ALL.map(|o| (*v, o))) {
        let found = bounds::measured(results, variant, operation);
        if let Some((found, goal)) = found.zip(bounds::goal(results, variant, operation)) {
            let (name, operation) = (variant.name(), operation.name());
            let text = format!("{name} {operation}, {found:.2} cycles, goal {goal:.2}");
            cells.push((found / goal, text));
        }
    }
    Goal::new("cycles per step within the goals for this CPU", 1.0, cells)
}

/// Compares batches with single messages. There is no goal for the gain: it shrinks when single
/// messages get faster.
fn batches(results: &Results) -> Goal {
    let mut cells = Vec::new();
    for cell in &results.batches {
        let key = files::batch_key(results, cell).replace(',', " ");
        for ([what, _], both) in cell.both() {
            let (batch, alone) = (both.batch.min_ns, both.alone.min_ns);
            let text = format!("{key} {what}, {batch:.1} ns, {alone:.1} ns alone");
            cells.push((both.ratio(), text));
        }
    }
    Goal::new("no batch more than 2 % slower than its messages alone", SLOWER, cells)
}

/// The nanoseconds of the fastest sample of each cell, by what names it: of this library, of its
/// batches, and of other libraries.
fn times(results: &Results) -> [HashMap<String, f64>; 3] {
    let [mut ours, mut batches, mut others] = [const { Vec::new() }; 3];
    for cell in &results.cells {
        let list = if results.description(cell).is_ours() { &mut ours } else { &mut others };
        list.push((files::key(results, cell).replace(',', " "), cell.min_ns));
    }
    for cell in &results.batches {
        let key = files::batch_key(results, cell).replace(',', " ");
        for ([batch, alone], both) in cell.both() {
            batches.push((format!("{key} {batch}"), both.batch.min_ns));
            batches.push((format!("{key} {alone}"), both.alone.min_ns));
        }
    }
    [ours, batches, others].map(|list| list.into_iter().collect())
}

/// Compares this run with the results in a folder: this library and its batches, which may not be
/// slower, and other libraries, which show whether the machine is the same.
pub fn compare(now: &Results, was: &Results, folder: &Path) -> Result<Vec<Goal>, String> {
    let limits = [REGRESSION, REGRESSION, f64::INFINITY];
    let whose = ["this library", "its batches", "other libraries (if far from 1: another machine)"];
    let mut goals = Vec::new();
    for (((now, was), limit), whose) in
        times(now).into_iter().zip(times(was)).zip(limits).zip(whose)
    {
        let cell = |(key, now): (String, f64)| {
            let was = *was.get(&key)?;
            Some((now / was, format!("{key}: {now:.1} ns, was {was:.1} ns")))
        };
        let cells = now.into_iter().filter_map(cell).collect();
        goals.push(Goal::new(format!("time now / then, {whose}"), limit, cells));
    }
    match goals[0].met().or(goals[1].met()) {
        Some(_) => Ok(goals),
        None => Err(format!("{}: has no cell of this run", folder.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts;
    use crate::results::tests::sample;

    fn met(results: &Results) -> Vec<Option<bool>> {
        all(results).iter().map(Goal::met).collect()
    }

    #[test]
    fn met_and_missed() {
        let (yes, no) = (Some(true), Some(false));
        let mut results = sample(1.5, 2.0);
        assert_eq!(met(&results), [yes, yes, yes, no, yes, yes, yes]);
        assert_eq!(table(&all(&results)).rows[0][5], "0.667");
        results.facts.set(facts::AES_UNITS, 1);
        assert_eq!(met(&results)[3], None);
        assert_eq!(met(&sample(1.1, 2.0))[..2], [no, yes]);
        assert_eq!(met(&sample(0.99, 0.5))[..2], [no, yes]);
        assert_eq!(met(&sample(0.9, 0.5))[..2], [no, no]);
        assert_eq!(met(&sample(0.9, 0.5))[4..6], [no, no]);
        (results.cells, results.batches) = (Vec::new(), Vec::new());
        assert!(met(&results).iter().all(Option::is_none));
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
            automatic(&results).missed().len()
        };
        assert_eq!([50.0, 39.3, 39.0].map(of), [0, 0, 1]);
        // Half a nanosecond may be much more than 2 %.
        let mut results = sample(1.5, 2.0);
        for cell in &mut results.cells {
            cell.min_ns = if results.subjects[cell.subject].form == "portable" { 4.0 } else { 4.4 };
        }
        assert_eq!(automatic(&results).met(), Some(true));
        results.facts.set(facts::BACKEND, "aesni");
        assert_eq!(automatic(&results).met(), None);
    }

    #[test]
    fn batches_are_judged() {
        let of = |(jobs, packets)| {
            let mut results = sample(1.5, 2.0);
            let cell = &mut results.batches[0]; // of AEGIS-128L, and 30 ns alone
            cell.jobs.batch.min_ns = jobs;
            cell.packets.as_mut().unwrap().batch.min_ns = packets;
            batches(&results).missed().len()
        };
        let cells = [(29.0, 29.0), (30.5, 30.5), (31.0, 29.0), (29.0, 31.0), (31.0, 31.0)];
        assert_eq!(cells.map(of), [0, 0, 1, 1, 2]);
    }

    #[test]
    fn slower_cells_than_before_are_named() {
        let (mut now, mut was) = (sample(3.0, 4.0), sample(1.5, 2.0));
        let compare = |now: &Results, was: &Results| compare(now, was, Path::new("here"));
        // Other libraries may be slower.
        let goals = compare(&now, &was).unwrap();
        assert_eq!(goals.iter().map(Goal::met).collect::<Vec<_>>(), [Some(true); 3]);
        assert!(!text(&goals).contains("Missed"));
        // AEGIS-128L, encryption of 0, 16 and 64 bytes: 40.0, 41.6 and 46.4 ns.
        now.cells[0].min_ns = 43.9;
        now.cells[1].min_ns = 45.9;
        now.cells[2].min_ns = 23.2;
        // AEGIS-128L, encryption of 2 messages of 64 bytes: 10 ns as jobs, 5 ns as packets.
        now.batches[0].jobs.batch.min_ns = 12.0;
        now.batches[0].packets.as_mut().unwrap().batch.min_ns = 7.5;
        let goals = compare(&now, &was).unwrap();
        let met = [Some(false), Some(false), Some(true)];
        assert_eq!(goals.iter().map(Goal::met).collect::<Vec<_>>(), met);
        let lines = "\n\
            Missed: time now / then, this library\n  \
            1.103  AEGIS-128L palladion vaes-avx512 encrypt 16 0: 45.9 ns, was 41.6 ns\n\n\
            Missed: time now / then, its batches\n  \
            1.500  AEGIS-128L vaes-avx512 encrypt 2 64 13 packets: 7.5 ns, was 5.0 ns\n  \
            1.200  AEGIS-128L vaes-avx512 encrypt 2 64 13 jobs: 12.0 ns, was 10.0 ns\n";
        assert!(text(&goals).ends_with(lines), "{}", text(&goals));
        now.cells.clear();
        assert_eq!(compare(&now, &was).unwrap()[0].met(), None);
        was.batches.clear();
        assert!(compare(&now, &was).is_err());
    }
}
