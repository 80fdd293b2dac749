//! Compares a run with committed results of the same CPU, before a release.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::results::{BATCH_HEAD, HEAD, Results};
use crate::stats::geometric_mean;
use crate::subjects::Role;

/// The folder with a folder of committed results for each CPU.
const ROOT: &str = "docs/benchmarks";
/// A cell is slower if its fastest sample takes more than this many times as long as before.
const SLOWER: f64 = 1.10;
/// The columns that name a cell, in both files. After them come a fastest and a median sample for
/// each way to do the work.
const KEY_COLUMNS: usize = 6;
/// The only way in results.csv.
const ONE: [&str; 1] = [""];
/// The ways in batch.csv.
const WAYS: [&str; 4] = [",jobs", ",alone", ",packets", ",in place"];

/// The nanoseconds of the fastest sample of each cell, by the columns that name the cell and the
/// way.
type Cells = HashMap<String, f64>;

/// Committed results.
pub struct Committed {
    folder: PathBuf,
    cells: Cells,
    /// `None` if the folder has none.
    batches: Option<Cells>,
}

impl Committed {
    /// Reads the results in a folder, by default that of the CPU with the name `slug`.
    pub fn read(folder: Option<&Path>, slug: &str) -> Result<Self, String> {
        let folder = folder.map_or_else(|| Path::new(ROOT).join(slug), Path::to_owned);
        let file = folder.join("results.csv");
        let text = fs::read_to_string(&file).map_err(|error| {
            format!(
                "no committed results to check against: {}: {error} (run it in the root of the \
                 repository, or name the folder: --check FOLDER)",
                file.display()
            )
        })?;
        let failed = |file: &Path, error: String| format!("{}: {error}", file.display());
        let cells = parse(&text, HEAD, &ONE).map_err(|error| failed(&file, error))?;
        let file = folder.join("batch.csv");
        let batches = match fs::read_to_string(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(failed(&file, error.to_string())),
            Ok(text) => {
                Some(parse(&text, BATCH_HEAD, &WAYS).map_err(|error| failed(&file, error))?)
            }
        };
        Ok(Self { folder, cells, batches })
    }

    /// Lists the cells of this library that became slower. Returns true if there are none.
    pub fn compare(&self, results: &Results) -> Result<(String, bool), String> {
        let (mut ours, mut others) = (Vec::new(), Vec::new());
        for cell in &results.cells {
            let role = results.description(cell).role;
            let is_ours = matches!(role, Role::Ours | Role::OtherTier);
            let list = if is_ours { &mut ours } else { &mut others };
            list.extend(Pair::new(&self.cells, results.key(cell), cell.min_ns));
        }
        let mut batches = Vec::new();
        for (cell, was) in
            results.batches.iter().flat_map(|cell| Some((cell, self.batches.as_ref()?)))
        {
            let (jobs, packets) = (Some(cell.jobs), cell.packets);
            let times = [jobs, jobs, packets, packets].into_iter().enumerate();
            for (i, both) in times.filter_map(|(i, both)| Some((i, both?))) {
                let times = if i % 2 == 0 { both.batch } else { both.alone };
                let key = results.batch_key(cell) + WAYS[i];
                batches.extend(Pair::new(was, key, times.min_ns));
            }
        }
        let folder = self.folder.display();
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
        if self.batches.is_none() && !results.batches.is_empty() {
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
}

/// A cell of this run and of the committed results, in nanoseconds.
struct Pair {
    key: String,
    now: f64,
    was: f64,
}

impl Pair {
    fn new(cells: &Cells, key: String, now: f64) -> Option<Self> {
        let was = *cells.get(&key)?;
        Some(Self { key, now, was })
    }

    fn ratio(&self) -> f64 {
        self.now / self.was
    }
}

/// The cells in a CSV file with this first line.
fn parse(csv: &str, head: &str, ways: &[&str]) -> Result<Cells, String> {
    let mut lines = csv.lines();
    if lines.next() != Some(head) {
        return Err(format!("the first line is not {head}"));
    }
    let mut cells = Cells::new();
    for (i, line) in lines.enumerate() {
        let columns: Vec<_> = line.split(',').collect();
        if columns.len() != head.split(',').count() {
            return Err(format!("line {}: not a cell", i + 2));
        }
        let (key, times) = columns.split_at(KEY_COLUMNS);
        for (way, ns) in ways.iter().zip(times.iter().step_by(2)).filter(|(_, ns)| !ns.is_empty()) {
            let ns = ns.parse().map_err(|_| format!("line {}: not a time: {ns}", i + 2))?;
            cells.insert(key.join(",") + way, ns);
        }
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    fn committed(results: &Results) -> Committed {
        Committed {
            folder: "here".into(),
            cells: parse(&results.csv(true), HEAD, &ONE).unwrap(),
            batches: Some(parse(&results.batch_csv(), BATCH_HEAD, &WAYS).unwrap()),
        }
    }

    #[test]
    fn slower_cells_are_named() {
        let mut results = sample(1.5, 2.0);
        let committed = committed(&results);
        let (text, ok) = committed.compare(&results).unwrap();
        assert!(
            ok && text.contains("  1.000  its batches, 128 cells\n")
                && text.contains("% slower: 0\n"),
            "{text}"
        );
        // AEGIS-128L, encryption of 0, 16 and 64 bytes: 40.0, 41.6 and 46.4 ns.
        results.cells[0].min_ns = 43.9;
        results.cells[1].min_ns = 45.9;
        results.cells[2].min_ns = 23.2;
        let (text, ok) = committed.compare(&results).unwrap();
        assert!(!ok && text.contains("\nCells more than 10 % slower: 1\n"), "{text}");
        let line = "  1.103  AEGIS-128L palladion vaes-avx512 encrypt 16 0: 45.9 ns, was 41.6 ns\n";
        assert!(text.ends_with(line), "{text}");
    }

    #[test]
    fn slower_batches_are_named() {
        let mut results = sample(1.5, 2.0);
        let mut committed = committed(&results);
        // AEGIS-128L, encryption of 2 messages of 64 bytes: 10 ns as jobs, 5 ns as packets.
        results.batches[0].jobs.batch.min_ns = 12.0;
        results.batches[0].packets.as_mut().unwrap().batch.min_ns = 7.5;
        let (text, ok) = committed.compare(&results).unwrap();
        let lines = "Cells more than 10 % slower: 2\n  \
            1.500  AEGIS-128L vaes-avx512 encrypt 2 64 13 packets: 7.5 ns, was 5.0 ns\n  \
            1.200  AEGIS-128L vaes-avx512 encrypt 2 64 13 jobs: 12.0 ns, was 10.0 ns\n";
        assert!(!ok && text.ends_with(lines), "{text}");
        results.cells.clear();
        assert!(!committed.compare(&results).unwrap().1);
        committed.batches = None;
        assert!(committed.compare(&results).is_err());
        let (text, ok) = committed.compare(&sample(1.5, 2.0)).unwrap();
        assert!(ok && text.contains("no batch.csv"), "{text}");
    }

    #[test]
    fn other_libraries_may_be_slower() {
        let committed = committed(&sample(1.5, 2.0));
        let (text, ok) = committed.compare(&sample(3.0, 4.0)).unwrap();
        assert!(ok && text.contains("  2.000  other libraries"), "{text}");
    }

    #[test]
    fn nothing_to_compare() {
        let mut results = sample(1.5, 2.0);
        let committed = committed(&results);
        results.cells.clear();
        results.batches.clear();
        assert!(committed.compare(&results).is_err());
        assert!(parse("", HEAD, &ONE).is_err());
        assert!(parse(&format!("{HEAD}\nAEGIS-256"), HEAD, &ONE).is_err());
        assert!(parse(&format!("{HEAD}\na,b,c,d,e,f,fast,1,1"), HEAD, &ONE).is_err());
        let error = Committed::read(None, "no-such-cpu").err().unwrap();
        assert!(error.contains("docs/benchmarks/no-such-cpu/results.csv"), "{error}");
    }
}
