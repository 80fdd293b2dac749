//! The output files: README.md, results.csv, batch.csv and the plots.

use std::fs;
use std::path::Path;

use crate::plots::{self, Plot};
use crate::report;
use crate::results::Results;
use crate::svg;
use crate::verdict;

/// Writes all files.
pub fn write(results: &Results, dir: &Path) -> Result<(), String> {
    let plots = plots::all(results);
    let mut files = vec![
        ("results.csv".to_owned(), results.csv()),
        ("batch.csv".to_owned(), results.batch_csv()),
        ("README.md".to_owned(), readme(results, &plots)),
    ];
    files.extend(
        plots.iter().map(|plot| (format!("{}.svg", plot.file), svg::standalone(&plot.svg))),
    );
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
        ("Command", results.command.clone()),
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
        (
            "Method",
            format!(
                "{} rounds, samples of {} \u{b5}s, {}-byte tags; {} s in all",
                s.rounds, s.sample_us, s.tag_bytes, s.seconds
            ),
        ),
    ]
}

fn readme(results: &Results, plots: &[Plot]) -> String {
    let mut text = format!(
        "# {}\n\nWritten by `palladion-bench`. The figures are in [results.csv](results.csv), \
         those of batches in [batch.csv](batch.csv).\n\n| | |\n|---|---|\n",
        results.machine.cpu
    );
    for (name, value) in facts(results) {
        text += &format!(
            "| {name} | {} |\n",
            if name == "Command" { format!("`{value}`") } else { value }
        );
    }
    for note in &results.notes {
        text += &format!("\nNote: {note}.\n");
    }
    text += &format!("\n## Goals\n\n```text\n{}```\n\n## Plots\n\n", verdict::text(results));
    for plot in plots {
        text += &format!("![{0}]({0}.svg)\n\n", plot.file);
    }
    text += "## Tables\n\n";
    for table in [report::versions(results)].iter().chain(&report::short(results)) {
        text += &table.markdown();
        text += "\n";
    }
    text.trim_end().to_owned() + "\n"
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
        assert!(readme.contains("(throughput.svg)"));
    }
}
