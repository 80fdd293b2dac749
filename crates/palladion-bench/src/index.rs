//! The pages of a folder with results of several CPUs: an index with the most important figures,
//! and a page with plots for each CPU.

use std::fs;
use std::path::{Path, PathBuf};

use crate::algorithm::{Algorithm, Operation, Variant};
use crate::facts;
use crate::files;
use crate::output;
use crate::plots;
use crate::report::LONG;
use crate::results::{Results, Task};
use crate::stats::geometric_mean;
use crate::table::wrapped;
use crate::verdict::{self, Pair};

const ALGORITHMS: [Algorithm; 7] = [
    Algorithm::Aegis(Variant::Aegis128L),
    Algorithm::Aegis(Variant::Aegis128X2),
    Algorithm::Aegis(Variant::Aegis128X4),
    Algorithm::Aegis(Variant::Aegis256X2),
    Algorithm::Aes128Gcm,
    Algorithm::Aes256Gcm,
    Algorithm::Chacha20Poly1305,
];

/// The end of the index.
const MORE: &str = "\
## Measure your CPU

```console
cargo run --release -p palladion-bench -- --quick
```

needs Rust and a C compiler. The first build takes four minutes of CPU time, most of it for AWS-LC,
and the measurement less than one minute. The results are in `target/bench`. Without `--quick`, a
run takes about four minutes. `--help` lists the filters.

```console
cargo run --release -p palladion-bench -- --submit
```

measures everything, adds your CPU to this page, and prints the commands for a pull request.

Before a release, `cargo run --release -p palladion-bench -- --check` names the cells of this
library, batches included, whose fastest sample takes more than 10 % longer than the committed one,
and fails if there are any. If other libraries became slower too, the machine is busy or another
one.

## More

- [What is compared, and how it is measured](method.md)
- [The command](command.md), compared with age, rage, gpg, openssl and b3sum
- [CPUs without AES instructions, and other CPUs](without-aes-instructions.md)
- [The C library and libaegis](c-library.md), [Python](python.md),
  [JavaScript and WebAssembly](javascript.md), [files with random access](raf.md)
- [The paper and the first implementation](compared.md)
- [Why it is as fast as it is](../performance.md)
";

/// Writes all pages.
pub fn write(root: &Path) -> Result<(), String> {
    for (path, text) in pages(root)? {
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// The paths and texts of all pages.
fn pages(root: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let failed = |error| format!("{}: {error}", root.display());
    let mut cpus = Vec::new();
    let mut pages = Vec::new();
    for entry in fs::read_dir(root).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            let results = files::read(&path)?;
            for (name, text) in output::pages(&results) {
                pages.push((path.join(name), text));
            }
            let folder = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            cpus.push((folder, results));
        }
    }
    // Newest first.
    cpus.sort_by_key(|(folder, results)| {
        (std::cmp::Reverse(results.facts.get(facts::DATE).to_owned()), folder.clone())
    });
    pages.push((root.join("README.md"), index(&cpus)));
    Ok(pages)
}

fn index(cpus: &[(String, Results)]) -> String {
    let mut text = "# Benchmarks\n\nEncryption of messages of 16 KiB on one core, in GB/s:\n\n\
                    | CPU | core | measured |"
        .to_owned();
    for algorithm in ALGORITHMS {
        text += &format!(" {} |", algorithm.name());
    }
    text += " time / other AEGIS |\n|---|---|---|";
    text += &"---:|".repeat(ALGORITHMS.len() + 1);
    for (folder, results) in cpus {
        let facts = &results.facts;
        let core = facts.get(facts::CORE);
        let clock = match facts.get(facts::CLOCK_MAX) {
            "" => String::new(),
            clock => format!("{}{clock} GHz", if core.is_empty() { "" } else { ", " }),
        };
        let (cpu, date) = (facts.get(facts::CPU), facts.get(facts::DATE));
        text += &format!("\n| [{cpu}]({folder}/README.md) | {core}{clock} | {date} |");
        for algorithm in ALGORITHMS {
            let is_aegis = matches!(algorithm, Algorithm::Aegis(_));
            let cell = results.best(Task::new(Operation::Encrypt, LONG), |d| {
                d.algorithm == algorithm && (!is_aegis || results.is_ours(d))
            });
            text += &cell.map_or(" |".into(), |cell| format!(" {:.1} |", cell.speed()));
        }
        let pairs = verdict::against_aegis(results);
        text += &match pairs.is_empty() {
            true => " |".into(),
            false => format!(" {:.2} |", geometric_mean(pairs.iter().map(Pair::ratio))),
        };
    }
    text += "\n\n";
    text += &wrapped(
        "AES-GCM and ChaCha20-Poly1305 are those of the fastest library. The last column is the \
         geometric mean of this library's time divided by that of the fastest other \
         implementation of the same variant, for encryption, decryption and MACs of 0 bytes to 64 \
         KiB: below 1, this library is faster. It is empty where the others were missing from the \
         run; on Emerald Rapids, a later run with them, on 2026-11-27, gave 0.82. Each page has \
         the other sizes and operations. A CPU that is not here has not been timed; for ARM, \
         POWER, IBM Z and RISC-V there are [counts of instructions](without-aes-instructions.md).",
    );
    text += "\n\n";
    if let Some((folder, results)) = cpus.first() {
        text += &format!("The {}:\n\n", results.facts.get(facts::CPU));
        for plot in plots::all(results) {
            text += &format!("![{}]({folder}/{}.svg)\n\n", plot.title, plot.file);
        }
    }
    text + MORE
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
        let mut old = sample(1.5, 2.0);
        old.facts.set(facts::CPU, "Old CPU");
        let text = index(&[("new".into(), sample(1.5, 2.0)), ("old".into(), old)]);
        assert!(text.contains(
            "| [Fast CPU](new/README.md) | 2.00 GHz | 2026-11-30 | 9.8 | 9.8 | 9.8 | 9.8 | 4.9 |"
        ));
        assert!(text.contains("| 4.9 | | 0.67 |\n| [Old CPU](old/README.md)"), "{text}");
        assert!(text.contains("(new/ratio.svg)") && !text.contains("(old/ratio.svg)"));
    }

    /// The committed pages are those that this program writes from the committed figures. If this
    /// fails, run `cargo run -p palladion-bench -- --pages`.
    #[test]
    fn committed_pages_are_current() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/benchmarks");
        for (path, text) in pages(&root).unwrap() {
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
