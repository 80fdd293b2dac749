//! The output files: README.md, results.csv, batch.csv and the plots.

use std::fs;
use std::path::Path;

use crate::plots::{self, Plot};
use crate::report;
use crate::results::Results;
use crate::table::{Table, folded, wrapped};
use crate::verdict;

/// The number of cells listed for each goal.
const CELLS: usize = 3;
/// The number of tables that are not folded: with all of them, the page would be too long for a
/// telephone.
const OPEN_TABLES: usize = 2;

/// Writes all files. They take less than 200 kB unless `all` cells go to results.csv.
pub fn write(results: &Results, dir: &Path, all: bool) -> Result<(), String> {
    let plots = plots::all(results);
    let mut files = vec![
        ("results.csv".to_owned(), results.csv(all)),
        ("batch.csv".to_owned(), results.batch_csv()),
        ("README.md".to_owned(), readme(results, &plots)),
    ];
    files.extend(plots.into_iter().map(|plot| (format!("{}.svg", plot.file), plot.svg)));
    let failed = |path: &Path, error| format!("{}: {error}", path.display());
    fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
    for (name, text) in files {
        let path = dir.join(name);
        fs::write(&path, text).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

/// A table of the machine and the settings.
fn facts(results: &Results) -> Vec<(&'static str, String)> {
    let (m, s, clock) = (&results.machine, &results.settings, results.clock);
    let pinned =
        m.core.map_or("not pinned to a core".into(), |core| format!("pinned to core {core}"));
    vec![
        ("Command", format!("`{}`", results.command)),
        (
            "CPU",
            format!("{} (family-model-stepping {}), {} cores, {pinned}", m.cpu, m.model, m.cores),
        ),
        ("Features", m.features.join(" ")),
        (
            "Clock",
            match clock.max {
                0.0 => "not measured".into(),
                _ => format!("median {:.2} GHz, maximum {:.2} GHz", clock.median, clock.max),
            },
        ),
        ("System", m.os.clone()),
        ("Compilers", format!("{}; for crate aegis {}", m.rustc, m.c_compiler)),
        ("Revision", m.revision.clone()),
        ("Date", m.date.clone()),
        ("Time", format!("{} s", s.seconds)),
    ]
}

/// The report: first what was found, then how, and whether that meets the goals.
fn readme(results: &Results, plots: &[Plot]) -> String {
    let paragraph = |text: &str| wrapped(text) + "\n\n";
    let mut text = format!("# {}\n\n", results.machine.cpu);
    text.extend(report::headline(results).iter().map(|sentences| paragraph(sentences)));
    for plot in plots {
        text += &format!("![{}]({}.svg)\n\n", plot.title, plot.file);
    }
    for (i, table) in report::page(results).iter().enumerate() {
        let show = if i < OPEN_TABLES { Table::markdown } else { Table::folded };
        text += &format!("{}\n", show(table));
    }
    let s = &results.settings;
    text += "## Method\n\n";
    text += &paragraph(&format!(
        "The implementations take turns at the same work on one core, for {} rounds. A sample is a \
         series of calls that takes about {} \u{b5}s. Tags have {} bytes. All figures are of the \
         fastest sample. [results.csv](results.csv) has them and the medians, \
         [batch.csv](batch.csv) those of batches.",
        s.rounds, s.sample_us, s.tag_bytes
    ));
    if !results.notes.is_empty() {
        text += &paragraph(&format!("Notes: {}.", results.notes.join("; ")));
    }
    text += &format!("## Goals\n\n```text\n{}```\n\n", verdict::text(results, CELLS));
    let facts = facts(results).into_iter().map(|(name, value)| (name.to_owned(), value));
    let rows = facts.chain(report::versions(results));
    let rows: String = rows.map(|(name, value)| format!("| {name} | {value} |\n")).collect();
    text += &folded("Machine and libraries", &format!("| | |\n|---|---|\n{rows}"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    #[test]
    fn the_readme_shows_what_was_run() {
        let results = sample(1.5, 2.0);
        let readme = readme(&results, &plots::all(&results));
        assert!(readme.contains("| Command | `palladion-bench --quick` |"));
        let place = |text| readme.find(text).unwrap_or_else(|| panic!("no {text}"));
        let parts = [
            "GB/s on one core",
            "(throughput.svg)",
            "(time-short.svg)",
            "| AEGIS-256X4 |",
            "<summary><b>MAC, GB/s on one core</b></summary>",
            "## Method",
            "## Goals",
        ];
        assert!(parts.map(place).is_sorted());
    }
}
