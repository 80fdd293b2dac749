//! The files: results.json, results.csv, batch.csv, README.md, index.html and the charts.

use std::fs;
use std::path::Path;

use crate::plots::{self, Plot};
use crate::report;
use crate::results::Results;
use crate::svg;
use crate::table::{Table, escape};
use crate::verdict;

/// Writes all of them.
pub fn write(results: &Results, dir: &Path) -> Result<(), String> {
    let plots = plots::all(results);
    let json = serde_json::to_string(results).map_err(|error| error.to_string())?;
    let mut files = vec![
        ("results.json".to_owned(), json + "\n"),
        ("results.csv".to_owned(), results.csv()),
        ("batch.csv".to_owned(), results.batch_csv()),
        ("README.md".to_owned(), readme(results, &plots)),
        ("index.html".to_owned(), page(results, &plots)),
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

/// Where and how it was measured.
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
                _ => format!("{:.2} GHz in the median, {:.2} at most", clock.median, clock.max),
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
        "# {}\n\nWritten by `palladion-bench`. [Page with everything](index.html), \
        [JSON](results.json), [CSV](results.csv), [CSV of batches](batch.csv).\n\n| | |\n|---|---|\n",
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

const PAGE_STYLE: &str = "
:root { color-scheme: light dark; --ink: #1c1c1c; --dim: #5d5d5d; --paper: #ffffff; --line: #dcdcdc; --good: #00704f; --bad: #b54800; }
@media (prefers-color-scheme: dark) { :root { --ink: #ececec; --dim: #a8a8a8; --paper: #161616; --line: #3a3a3a; --good: #3fd0a5; --bad: #ff9a5c; } }
body { margin: 0 auto; padding: 1.5rem; max-width: 68rem; font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.7rem; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); } h3 { margin: 2rem 0 0.3rem; }
p { color: var(--dim); margin: 0.3rem 0; } .scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; margin: 0.6rem 0; }
th, td { padding: 0.2rem 0.7rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
.l { text-align: left; } .facts td { white-space: normal; text-align: left; }
.good { color: var(--good); } .bad { color: var(--bad); font-weight: 600; }
svg { width: 100%; height: auto; margin: 1rem 0; } code, pre { font-size: 0.85rem; } pre { overflow-x: auto; }
nav a { margin-right: 1rem; }
";

fn page(results: &Results, plots: &[Plot]) -> String {
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Palladion: benchmarks</title>\n<style>{PAGE_STYLE}{}</style>\n\
         <h1>Palladion on {}</h1>\n<nav><a href=\"#goals\">Goals</a><a href=\"#plots\">Plots</a><a href=\"#tables\">Tables</a></nav>\n\
         <div class=\"scroll\"><table class=\"facts\">\n",
        svg::style(),
        escape(&results.machine.cpu)
    );
    for (name, value) in facts(results) {
        text += &format!("<tr><td>{name}</td><td>{}</td></tr>\n", escape(&value));
    }
    text += "</table></div>\n";
    for note in &results.notes {
        text += &format!("<p>Note: {}.</p>\n", escape(note));
    }
    text += "<h2 id=\"goals\">Goals</h2>\n";
    for verdict in verdict::all(results) {
        let class = match verdict.met {
            Some(true) => "good",
            Some(false) => "bad",
            None => "l",
        };
        let (goal, found) = (escape(&verdict.goal), escape(&verdict.found));
        text += &format!(
            "<h3><span class=\"{class}\">{}</span>: {goal}</h3>\n<p>{found}</p>\n",
            verdict.word()
        );
        if !verdict.details.is_empty() {
            text += &format!("<pre>{}</pre>\n", escape(&verdict.details.join("\n")));
        }
    }
    text += "<h2 id=\"plots\">Plots</h2>\n";
    text.extend(plots.iter().map(|plot| &*plot.svg));
    text += "<h2 id=\"tables\">Tables</h2>\n";
    text.extend([report::versions(results)].iter().chain(&report::all(results)).map(Table::html));
    text + "</html>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    #[test]
    fn the_page_stands_alone() {
        let results = sample(1.5, 2.0);
        let page = page(&results, &plots::all(&results));
        for outside in ["<script", "src=", "<link", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert_eq!(page.matches("<svg").count(), 9);
        assert!(page.contains("id=\"goals\""));
    }

    #[test]
    fn the_readme_shows_what_was_run() {
        let results = sample(1.5, 2.0);
        let readme = readme(&results, &plots::all(&results));
        assert!(readme.contains("| Command | `palladion-bench --quick` |"));
        assert!(readme.contains("(throughput.svg)"));
    }
}
