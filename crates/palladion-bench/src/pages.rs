//! The pages and charts: one page for each CPU, and an index of a folder with several.

use std::fs;
use std::path::{Path, PathBuf};

use crate::facts;
use crate::files;
use crate::goals;
use crate::plots;
use crate::report::{self, Table};
use crate::results::Results;

/// Lines in the index around the part that is written here.
const BEGIN: &str = "<!-- palladion-bench --pages writes what follows. -->\n";
const END: &str = "<!-- palladion-bench --pages has written this. -->\n";

/// Writes the figures, the page and the charts of a run.
pub fn write(results: &Results, dir: &Path) -> Result<(), String> {
    let pages = page(results).into_iter().map(|(name, text)| (name, Some(text)));
    files::write(dir, files::all(results).into_iter().chain(pages))
}

/// Writes the index and the pages of all CPUs in a folder, from their figures.
pub fn write_all(root: &Path) -> Result<(), String> {
    for (path, text) in all(root)? {
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// The paths and texts of all pages in a folder.
fn all(root: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let failed = |error| format!("{}: {error}", root.display());
    let mut cpus = Vec::new();
    let mut pages = Vec::new();
    for entry in fs::read_dir(root).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            let results = files::read(&path)?;
            pages.extend(page(&results).into_iter().map(|(name, text)| (path.join(name), text)));
            let folder = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            cpus.push((folder, results));
        }
    }
    let path = root.join("README.md");
    // A folder of one's own need not have an index.
    if let Ok(text) = fs::read_to_string(&path) {
        let text = index(&text, cpus).ok_or(format!("{}: has no lines {BEGIN}", path.display()))?;
        pages.push((path, text));
    }
    Ok(pages)
}

/// The index, with its figures and charts replaced. The newest results come first.
fn index(text: &str, mut cpus: Vec<(String, Results)>) -> Option<String> {
    cpus.sort_by_key(|(folder, results)| {
        (std::cmp::Reverse(results.facts.get(facts::DATE).to_owned()), folder.clone())
    });
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    let link = |folder: &str, results: &Results| {
        format!("[{}]({folder}/README.md)", results.facts.get(facts::CPU))
    };
    let table = report::summary(cpus.iter().map(|(folder, r)| (link(folder, r), r))).markdown();
    let mut text = format!("{before}{BEGIN}\n{table}\n");
    if let Some((folder, results)) = cpus.first() {
        text += &format!("The {}:\n\n", results.facts.get(facts::CPU));
        for plot in plots::all(results) {
            text += &format!("![{}]({folder}/{})\n\n", plot.title, plot.file);
        }
    }
    Some(text + END + after)
}

/// A section with a table, which a reader may have to unfold: with all of them, the page would be
/// too long for a telephone.
fn section(table: &Table, is_open: bool) -> String {
    let (title, body) = (table.title, table.markdown());
    match is_open {
        true => format!("## {title}\n\n{body}\n"),
        false => format!("<details>\n<summary><b>{title}</b></summary>\n\n{body}\n</details>\n\n"),
    }
}

/// The names and texts of a CPU's page and its charts.
fn page(results: &Results) -> Vec<(&'static str, String)> {
    let cpu = results.facts.get(facts::CPU);
    let summary = report::summary([(cpu.to_owned(), results)]).markdown();
    let mut text = format!("# {cpu}\n\nEncryption of messages of 16 KiB, GB/s:\n\n{summary}\n");
    let plots = plots::all(results);
    for plot in &plots {
        text += &format!("![{}]({})\n\n", plot.title, plot.file);
    }
    for (i, table) in report::all(results, true).iter().enumerate() {
        text += &section(table, i < 2);
    }
    text += &section(&goals::table(&goals::all(results)), true);
    let fact = |(name, value): (&str, &str)| match name {
        facts::COMMAND => vec![name.into(), format!("`{value}`")],
        _ => vec![name.into(), value.into()],
    };
    let facts = results.facts.iter().map(fact);
    let notes = results.notes.iter().map(|note| vec!["Note".into(), note.clone()]);
    text += &section(
        &Table {
            title: "Machine and libraries",
            note: "[How it is measured, and why goals are missed](../method.md). The CSV files \
                   have the medians too.",
            labels: 2,
            head: vec![String::new(); 2],
            rows: facts.chain(notes).collect(),
        },
        false,
    );
    let plots = plots.into_iter().map(|plot| (plot.file, plot.svg));
    [("README.md", text.trim_end().to_owned() + "\n")].into_iter().chain(plots).collect()
}

/// The commands that send the results of a CPU.
pub fn how_to_submit(cpu: &str, slug: &str) -> String {
    format!(
        "\nTo send these results, fork https://github.com/palladion/palladion and run\n\n    \
         git switch -c benchmarks-{slug}\n    \
         git add docs/benchmarks\n    \
         git commit -m \"Add benchmarks of {cpu}\"\n    \
         git push https://github.com/YOUR-NAME/palladion benchmarks-{slug}\n\n\
         Then open the link that git prints, and say whether the machine is virtual or was busy.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    #[test]
    fn newest_results_come_first() {
        let old = sample(1.5, 2.0);
        let mut new = sample(1.5, 2.0);
        new.facts.set(facts::DATE, "2026-12-01");
        let page = format!("Before\n{BEGIN}old text\n{END}after\n");
        let text = index(&page, vec![("old".into(), old), ("new".into(), new)]).unwrap();
        let place = |part| text.find(part).unwrap_or_else(|| panic!("no {part} in {text}"));
        let parts = ["Before", "(new/README.md)", "(old/README.md)", "(new/time-", "\nafter"];
        assert!(parts.map(place).is_sorted() && !text.contains("old text"));
        assert_eq!(index("no lines", Vec::new()), None);
    }

    /// The committed pages are those that this program writes from the committed figures. If this
    /// fails, run `cargo run -p palladion-bench -- --pages`.
    #[test]
    fn committed_pages_are_current() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/benchmarks");
        for (path, text) in all(&root).unwrap() {
            assert!(fs::read_to_string(&path).unwrap() == text, "{} is old", path.display());
        }
    }

    /// The speeds in the repository's README.md are those in the plot that it shows.
    #[test]
    fn the_readme_agrees_with_its_plot() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let readme = fs::read_to_string(root.join("README.md")).unwrap();
        let (_, section) = readme.split_once("## How fast?").unwrap();
        let plot = section.split(['(', ')']).find(|text| text.ends_with(".svg")).unwrap();
        let plot = fs::read_to_string(root.join(plot)).unwrap();
        let words: Vec<_> = section.split_whitespace().collect();
        let speeds = words.windows(2).filter(|pair| pair[1].starts_with("GB/s"));
        let missing: Vec<_> =
            speeds.clone().filter(|pair| !plot.contains(&format!(" {} GB/s", pair[0]))).collect();
        assert!(speeds.count() > 1 && missing.is_empty(), "not in the plot: {missing:?}");
    }
}
