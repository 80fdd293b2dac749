//! Compares a run with committed results of the same CPU, before a release.

use std::collections::HashMap;
use std::path::Path;

use crate::files;
use crate::results::Results;
use crate::stats::geometric_mean;

/// A cell is slower if its fastest sample takes more than this many times as long as before.
const SLOWER: f64 = 1.10;

/// The nanoseconds of the fastest sample of each cell, by what names the cell.
type Times = HashMap<String, f64>;

/// The times of this library, of its batches, and of other libraries.
fn times(results: &Results) -> [Times; 3] {
    let [mut ours, mut batches, mut others] = [(); 3].map(|()| Times::new());
    for cell in &results.cells {
        let list = if results.description(cell).is_ours() { &mut ours } else { &mut others };
        list.insert(files::key(results, cell), cell.min_ns);
    }
    for cell in &results.batches {
        let ways = [(Some(cell.jobs), ["jobs", "alone"]), (cell.packets, ["packets", "in place"])];
        for (both, [batch, alone]) in ways.into_iter().filter_map(|(both, w)| Some((both?, w))) {
            let key = files::batch_key(results, cell);
            batches.insert(format!("{key},{batch}"), both.batch.min_ns);
            batches.insert(format!("{key},{alone}"), both.alone.min_ns);
        }
    }
    [ours, batches, others]
}

/// Lists the cells of this library that became slower. Returns true if there are none.
pub fn compare(now: &Results, was: &Results, folder: &Path) -> Result<(String, bool), String> {
    let pairs = |now: Times, was: Times| {
        let pairs = now.into_iter().filter_map(|(key, now)| Pair::new(&was, key, now));
        pairs.collect::<Vec<_>>()
    };
    let [ours, batches, others] = times(now);
    let [our_past, past_batches, past_others] = times(was);
    let ours = pairs(ours, our_past);
    let (batches, others) = (pairs(batches, past_batches), pairs(others, past_others));
    let folder = folder.display();
    if ours.is_empty() && batches.is_empty() {
        return Err(format!("{folder}: has no cell of this run"));
    }
    let mut text = format!("Compared with {folder}, geometric means of the time now / then:\n");
    for (what, pairs) in
        [("this library", &ours), ("its batches", &batches), ("other libraries", &others)]
    {
        if !pairs.is_empty() {
            let mean = geometric_mean(pairs.iter().map(Pair::ratio));
            text += &format!("  {mean:5.3}  {what}, {} cells\n", pairs.len());
        }
    }
    if !others.is_empty() {
        text += "If other libraries are far from 1, the machine has changed.\n";
    }
    if was.batches.is_empty() && !now.batches.is_empty() {
        text += "Batches are not compared: the folder has no batch.csv.\n";
    }
    let mut slower: Vec<_> =
        ours.into_iter().chain(batches).filter(|pair| pair.ratio() > SLOWER).collect();
    slower.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
    let percent = 100.0 * (SLOWER - 1.0);
    text += &format!("Cells more than {percent:.0} % slower: {}\n", slower.len());
    for pair in &slower {
        text += &format!(
            "  {:5.3}  {}: {:.1} ns, was {:.1} ns\n",
            pair.ratio(),
            pair.key.replace(',', " "),
            pair.now,
            pair.was
        );
    }
    Ok((text, slower.is_empty()))
}

/// A cell of this run and of the committed results, in nanoseconds.
struct Pair {
    key: String,
    now: f64,
    was: f64,
}

impl Pair {
    fn new(cells: &Times, key: String, now: f64) -> Option<Self> {
        let was = *cells.get(&key)?;
        Some(Self { key, now, was })
    }

    fn ratio(&self) -> f64 {
        self.now / self.was
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    fn compare_here(now: &Results, was: &Results) -> Result<(String, bool), String> {
        compare(now, was, Path::new("here"))
    }

    #[test]
    fn slower_cells_are_named() {
        let (mut now, was) = (sample(1.5, 2.0), sample(1.5, 2.0));
        let (text, ok) = compare_here(&now, &was).unwrap();
        assert!(
            ok && text.contains("  1.000  its batches, 128 cells\n")
                && text.contains("% slower: 0\n"),
            "{text}"
        );
        // AEGIS-128L, encryption of 0, 16 and 64 bytes: 40.0, 41.6 and 46.4 ns.
        now.cells[0].min_ns = 43.9;
        now.cells[1].min_ns = 45.9;
        now.cells[2].min_ns = 23.2;
        let (text, ok) = compare_here(&now, &was).unwrap();
        assert!(!ok && text.contains("\nCells more than 10 % slower: 1\n"), "{text}");
        let line = "  1.103  AEGIS-128L palladion vaes-avx512 encrypt 16 0: 45.9 ns, was 41.6 ns\n";
        assert!(text.ends_with(line), "{text}");
    }

    #[test]
    fn slower_batches_are_named() {
        let (mut now, mut was) = (sample(1.5, 2.0), sample(1.5, 2.0));
        // AEGIS-128L, encryption of 2 messages of 64 bytes: 10 ns as jobs, 5 ns as packets.
        now.batches[0].jobs.batch.min_ns = 12.0;
        now.batches[0].packets.as_mut().unwrap().batch.min_ns = 7.5;
        let (text, ok) = compare_here(&now, &was).unwrap();
        let lines = "Cells more than 10 % slower: 2\n  \
            1.500  AEGIS-128L vaes-avx512 encrypt 2 64 13 packets: 7.5 ns, was 5.0 ns\n  \
            1.200  AEGIS-128L vaes-avx512 encrypt 2 64 13 jobs: 12.0 ns, was 10.0 ns\n";
        assert!(!ok && text.ends_with(lines), "{text}");
        now.cells.clear();
        assert!(!compare_here(&now, &was).unwrap().1);
        was.batches.clear();
        assert!(compare_here(&now, &was).is_err());
        let (text, ok) = compare_here(&sample(1.5, 2.0), &was).unwrap();
        assert!(ok && text.contains("no batch.csv"), "{text}");
    }

    #[test]
    fn other_libraries_may_be_slower() {
        let (text, ok) = compare_here(&sample(3.0, 4.0), &sample(1.5, 2.0)).unwrap();
        assert!(ok && text.contains("  2.000  other libraries"), "{text}");
    }
}
