//! Compares a run with committed results of the same CPU, before a release.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::results::{Cell, HEAD, Results};
use crate::stats::geometric_mean;
use crate::subjects::Role;

/// The folder with a folder of committed results for each CPU.
const ROOT: &str = "docs/benchmarks";
/// A cell is slower if its fastest sample takes more than this many times as long as before.
const SLOWER: f64 = 1.10;

/// Committed results.
pub struct Committed {
    file: PathBuf,
    /// The nanoseconds of the fastest sample of each cell, by the columns that name the cell.
    cells: HashMap<String, f64>,
}

impl Committed {
    /// Reads results.csv in a folder, by default that of the CPU with the name `slug`.
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
        let cells = parse(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(Self { file, cells })
    }

    /// Lists the cells of this library that became slower. Returns true if there are none.
    pub fn compare(&self, results: &Results) -> Result<(String, bool), String> {
        let ratio = |cell: &Cell| Some(cell.min_ns / self.cells.get(&results.key(cell))?);
        let ratios = |ours: bool| {
            let is_wanted = move |cell: &&Cell| {
                let role = results.description(cell).role;
                matches!(role, Role::Ours | Role::OtherTier) == ours
            };
            let cells = results.cells.iter().filter(is_wanted);
            cells.filter_map(|cell| Some((cell, ratio(cell)?))).collect::<Vec<_>>()
        };
        let (mut ours, others) = (ratios(true), ratios(false));
        if ours.is_empty() {
            return Err(format!("{}: has no cell of this run", self.file.display()));
        }
        let mean = |cells: &[(&Cell, f64)]| geometric_mean(cells.iter().map(|(_, ratio)| *ratio));
        let mut text = format!(
            "Compared with {}: {:.3} of its time in the geometric mean of {} cells",
            self.file.display(),
            mean(&ours),
            ours.len()
        );
        if !others.is_empty() {
            text += &format!(
                "\n(other libraries {:.3}: if that is far from 1, the machine has changed)",
                mean(&others)
            );
        }
        ours.retain(|(_, ratio)| *ratio > SLOWER);
        ours.sort_by(|a, b| b.1.total_cmp(&a.1));
        let percent = 100.0 * (SLOWER - 1.0);
        text += &format!("\nCells more than {percent:.0} % slower: {}\n", ours.len());
        for (cell, ratio) in &ours {
            let key = results.key(cell);
            text += &format!(
                "  {ratio:5.3}  {}: {:.1} ns, was {:.1} ns\n",
                key.replace(',', " "),
                cell.min_ns,
                self.cells[&key]
            );
        }
        Ok((text, ours.is_empty()))
    }
}

/// The cells in a results.csv.
fn parse(csv: &str) -> Result<HashMap<String, f64>, String> {
    let mut lines = csv.lines();
    if lines.next() != Some(HEAD) {
        return Err(format!("the first line is not {HEAD}"));
    }
    let cell = |(i, line): (usize, &str)| {
        let mut columns = line.rsplitn(4, ',').skip(2);
        let min_ns = columns.next().and_then(|ns| ns.parse().ok());
        let cell = columns.next().zip(min_ns).map(|(key, ns)| (key.to_owned(), ns));
        cell.ok_or_else(|| format!("line {}: not a cell", i + 2))
    };
    lines.enumerate().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    fn committed(results: &Results) -> Committed {
        Committed { file: "results.csv".into(), cells: parse(&results.csv(true)).unwrap() }
    }

    #[test]
    fn slower_cells_are_named() {
        let mut results = sample(1.5, 2.0);
        let committed = committed(&results);
        let (text, ok) = committed.compare(&results).unwrap();
        assert!(
            ok && text.contains("1.000 of its time") && text.contains("% slower: 0\n"),
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
    fn other_libraries_may_be_slower() {
        let committed = committed(&sample(1.5, 2.0));
        let (text, ok) = committed.compare(&sample(3.0, 4.0)).unwrap();
        assert!(ok && text.contains("other libraries 2.000"), "{text}");
    }

    #[test]
    fn nothing_to_compare() {
        let mut results = sample(1.5, 2.0);
        let committed = committed(&results);
        results.cells.clear();
        assert!(committed.compare(&results).is_err());
        assert!(parse("").is_err());
        assert!(parse(&format!("{HEAD}\nAEGIS-256")).is_err());
        let error = Committed::read(None, "no-such-cpu").err().unwrap();
        assert!(error.contains("docs/benchmarks/no-such-cpu/results.csv"), "{error}");
    }
}
