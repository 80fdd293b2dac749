//! The output files: README.md, the plots and the figures.

use std::path::Path;

use crate::facts;
use crate::files;
use crate::measure::SAMPLE_NS;
use crate::plots::{self, Plot};
use crate::report;
use crate::results::Results;
use crate::subjects::TAG_LEN;
use crate::table::{Table, folded, wrapped};
use crate::verdict;

/// The number of cells listed for each goal.
const CELLS: usize = 3;
/// The number of tables that are not folded: with all of them, the page would be too long for a
/// telephone.
const OPEN_TABLES: usize = 1;

/// Writes all files.
pub fn write(results: &Results, dir: &Path) -> Result<(), String> {
    files::write(dir, files::all(results))?;
    files::write(dir, pages(results).iter().map(|(name, text)| (&**name, Some(text.clone()))))
}

/// The page and the plots.
pub fn pages(results: &Results) -> Vec<(String, String)> {
    let plots = plots::all(results);
    let mut pages = vec![("README.md".to_owned(), readme(results, &plots))];
    pages.extend(plots.into_iter().map(|plot| (format!("{}.svg", plot.file), plot.svg)));
    pages
}

/// The report: first what was found, then how, and whether that meets the goals.
fn readme(results: &Results, plots: &[Plot]) -> String {
    let paragraph = |text: &str| wrapped(text) + "\n\n";
    let facts = &results.facts;
    let mut text = format!("# {}\n\n", facts.get(facts::CPU));
    text.extend(report::headline(results).iter().map(|sentences| paragraph(sentences)));
    for plot in plots {
        text += &format!("![{}]({}.svg)\n\n", plot.title, plot.file);
    }
    for (i, table) in report::page(results).iter().enumerate() {
        let show = if i < OPEN_TABLES { Table::markdown } else { Table::folded };
        text += &format!("{}\n", show(table));
    }
    text += "## Method\n\n";
    let processes = match facts.get(facts::PROCESSES) {
        "" => String::new(),
        processes => format!(" in {processes} processes"),
    };
    text += &paragraph(&format!(
        "The implementations take turns at the same work on one core, for {} rounds{processes}. A \
         sample is a series of calls that takes about {} \u{b5}s. Tags have {TAG_LEN} bytes. All \
         figures are of the fastest sample; the CSV files in this folder have the medians too. \
         [More on the method](../method.md).",
        facts.get(facts::ROUNDS),
        SAMPLE_NS / 1e3,
    ));
    if !results.notes.is_empty() {
        text += &paragraph(&format!("Notes: {}.", results.notes.join("; ")));
    }
    text += &format!("## Goals\n\n```text\n{}```\n\n", verdict::text(results, CELLS));
    let facts = facts.iter().map(|(name, value)| match name {
        facts::COMMAND => (name.to_owned(), format!("`{value}`")),
        _ => (name.to_owned(), value.to_owned()),
    });
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
            "(ratio.svg)",
            "(time-short.svg)",
            "| AEGIS-256X4 |",
            "<summary><b>MAC, GB/s on one core</b></summary>",
            "## Method",
            "## Goals",
        ];
        assert!(parts.map(place).is_sorted());
    }
}
