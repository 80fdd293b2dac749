//! The tables, as Markdown with aligned columns, which is read on a terminal as well.

use palladion::Backend;

use crate::algorithm::{Algorithm, Operation, Variant};
use crate::batch;
use crate::bounds;
use crate::facts;
use crate::results::{Cell, GOAL_SIZES, Results, Task, goal_tasks};
use crate::stats::geometric_mean;
use crate::subjects::Description;

/// The size that stands for long messages.
pub const LONG: usize = 16384;
/// A cell counts as slower than another if its time is more than this many times the other's. By
/// chance, equal speeds differ by less.
pub const SLOWER: f64 = 1.02;

pub struct Table {
    pub title: &'static str,
    /// What the figures are; may be empty.
    pub note: &'static str,
    /// The number of columns at the left with names instead of figures.
    pub labels: usize,
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub fn markdown(&self) -> String {
        let widths: Vec<_> = (0..self.head.len())
            .map(|i| self.rows.iter().chain([&self.head]).map(|row| row[i].chars().count()).max())
            .map(|width| width.unwrap_or(0).max(3))
            .collect();
        let line = |row: &Vec<String>| {
            let cell = |(i, (text, &width)): (usize, (&String, _))| match i < self.labels {
                true => format!(" {text:<width$} |"),
                false => format!(" {text:>width$} |"),
            };
            let cells: String = row.iter().zip(&widths).enumerate().map(cell).collect();
            format!("|{cells}\n")
        };
        let rule = |(i, width): (usize, &usize)| {
            format!("{}{}|", "-".repeat(width + 1), if i < self.labels { '-' } else { ':' })
        };
        let rule: String = widths.iter().enumerate().map(rule).collect();
        let note = if self.note.is_empty() { "" } else { "\n\n" };
        let rows: String = self.rows.iter().map(line).collect();
        format!("{}{note}{}|{rule}\n{rows}", self.note, line(&self.head))
    }
}

/// All tables that have figures. A page has fewer batches.
pub fn all(results: &Results, is_page: bool) -> Vec<Table> {
    let mut tables = vec![
        speeds(results, Operation::Encrypt, "Encrypt, GB/s on one core"),
        ratios(results),
        speeds(results, Operation::Decrypt, "Decrypt, GB/s on one core"),
        speeds(results, Operation::Mac, "MAC, GB/s on one core"),
        cycles_per_byte(results),
        backends(results),
        cycles(results),
        batches(results, is_page),
        tls(results),
    ];
    for table in &mut tables {
        table.rows.retain(|row| row[table.labels..].iter().any(|text| !text.is_empty()));
    }
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// The sizes in the goals, or all sizes if none of those was measured.
fn sizes(results: &Results) -> Vec<usize> {
    let sizes = results.sizes();
    let (goals, others) = sizes.into_iter().partition::<Vec<_>, _>(|s| GOAL_SIZES.contains(s));
    if goals.is_empty() { others } else { goals }
}

/// A size in a few characters.
pub fn bytes(size: usize) -> String {
    match size {
        0..1024 => size.to_string(),
        _ if size.is_multiple_of(1 << 20) => format!("{} Mi", size >> 20),
        _ if size.is_multiple_of(1024) => format!("{} Ki", size >> 10),
        _ => size.to_string(),
    }
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.into()).collect()
}

/// A number with so many digits after the point, or nothing.
fn number(number: Option<f64>, digits: usize) -> String {
    number.map_or(String::new(), |number| format!("{number:.digits$}"))
}

/// Our time divided by another: bold if we are slower.
fn ratio(ratio: Option<f64>) -> String {
    let text = number(ratio, 2);
    if ratio.is_some_and(|ratio| ratio > SLOWER) { format!("**{text}**") } else { text }
}

/// A speed, or a time for 0 bytes.
fn speed(cell: &Cell) -> String {
    match cell.size {
        0 => format!("{:.1}", cell.min_ns),
        _ => format!("{:.2}", cell.speed()),
    }
}

/// A row for each variant of this library and, with `peers`, for the fastest other implementation
/// of it; and for each other algorithm. A column for each task.
fn rows(
    results: &Results,
    tasks: &[Task],
    peers: bool,
    show: fn(&Cell) -> String,
) -> Vec<Vec<String>> {
    let row = |name: &str, wanted: &dyn Fn(&Description) -> bool| {
        let cells: Vec<_> = tasks.iter().map(|task| results.best(*task, wanted)).collect();
        let mut row = vec![name.to_owned()];
        let mut libraries: Vec<_> =
            cells.iter().flatten().map(|cell| &*results.description(cell).library).collect();
        libraries.sort_unstable();
        libraries.dedup();
        for library in libraries.into_iter().filter(|library| *library != "palladion") {
            if !name.to_lowercase().starts_with(&library.to_lowercase()) {
                row[0] += &format!(", {library}");
            }
        }
        row.extend(cells.into_iter().map(|cell| cell.map_or(String::new(), show)));
        row
    };
    let mut rows = Vec::new();
    for variant in Variant::ALL {
        let is_it = |d: &Description| d.algorithm == variant.into();
        rows.push(row(variant.name(), &|d| is_it(d) && results.is_ours(d)));
        if peers {
            let name = format!("other {}", variant.name());
            rows.push(row(&name, &|d| is_it(d) && d.is_aegis_peer()));
        }
    }
    let other = |algorithm: Algorithm| row(algorithm.name(), &|d| d.algorithm == algorithm);
    rows.extend(Algorithm::OTHERS.map(other));
    rows
}

/// The speeds of this library and of the fastest implementation of each other algorithm.
fn speeds(results: &Results, operation: Operation, title: &'static str) -> Table {
    let sizes = sizes(results);
    let tasks: Vec<_> = sizes.iter().map(|&size| Task::new(operation, size)).collect();
    let names = sizes.iter().map(|&size| if size == 0 { "0, ns".into() } else { bytes(size) });
    Table {
        title,
        note: "The fastest samples, by bytes of message; nanoseconds per call for 0 bytes. For \
               other\nalgorithms, the fastest library; their key schedule is not measured, and \
               AEGIS has none.",
        labels: 1,
        head: [String::new()].into_iter().chain(names).collect(),
        rows: rows(results, &tasks, false, speed),
    }
}

/// The ratio of our time to that of the fastest other AEGIS, cell by cell.
fn ratios(results: &Results) -> Table {
    let sizes = sizes(results);
    let row = |operation: Operation, variant: Variant| {
        let of = |size: &usize| ratio(results.ratio(variant, Task::new(operation, *size)));
        let labels = strings(&[variant.name(), operation.name()]);
        labels.into_iter().chain(sizes.iter().map(of)).collect()
    };
    let rows = Operation::ALL.into_iter().flat_map(|o| Variant::ALL.map(|v| row(o, v)));
    Table {
        title: "Time, compared with the fastest other AEGIS",
        note: "Our time divided by that of the fastest other implementation: libaegis in C, its \
               Rust version,\nor rscrypto, with default settings or compiled for this CPU only. \
               Below 1 we are faster.",
        labels: 2,
        head: strings(&["", ""]).into_iter().chain(sizes.iter().map(|&s| bytes(s))).collect(),
        rows: rows.collect(),
    }
}

/// The cycles that a byte of a long message takes, with each algorithm.
fn cycles_per_byte(results: &Results) -> Table {
    let tasks = [Operation::Encrypt, Operation::Decrypt].map(|o| Task::new(o, LONG));
    Table {
        title: "Cycles per byte, messages of 16 KiB",
        note: "",
        labels: 1,
        head: strings(&["", "encrypt", "decrypt"]),
        rows: rows(results, &tasks, true, |cell| number(cell.cycles.map(|c| c / LONG as f64), 3)),
    }
}

/// The speed of each backend with long messages.
fn backends(results: &Results) -> Table {
    let is_measured = |b: &&Backend| results.subjects.iter().any(|d| d.is_ours_with(b.name()));
    let backends: Vec<_> = Backend::ALL.iter().filter(is_measured).map(|b| b.name()).collect();
    let task = Task::new(Operation::Encrypt, LONG);
    let row = |variant: Variant| {
        let cell = |backend: &&str| {
            let wanted = |d: &Description| d.algorithm == variant.into() && d.is_ours_with(backend);
            results.best(task, wanted).map_or(String::new(), speed)
        };
        strings(&[variant.name()]).into_iter().chain(backends.iter().map(cell)).collect()
    };
    Table {
        title: "Each backend, encryption of 16 KiB, GB/s",
        note: "",
        labels: 1,
        head: [&[""], &backends[..]].concat().into_iter().map(String::from).collect(),
        rows: Variant::ALL.into_iter().map(row).collect(),
    }
}

/// Compares cycles with the bounds.
fn cycles(results: &Results) -> Table {
    let row = |variant: Variant| {
        let figures = Operation::ALL.map(|operation| {
            let found = bounds::measured(results, variant, operation);
            let bound = found.and_then(|_| bounds::bound(results, variant, operation));
            [number(found, 2), number(bound, 2)]
        });
        let label = [variant.name().into(), bounds::rate(variant).to_string()];
        label.into_iter().chain(figures.into_iter().flatten()).collect()
    };
    Table {
        title: "Cycles per step",
        note: "The difference between 16 and 4 KiB. bound: the least cycles of the AES units and, \
               where known,\nof the logic and of the dependency between steps.",
        labels: 2,
        head: strings(&["", "bytes", "encrypt", "bound", "decrypt", "bound", "MAC", "bound"]),
        rows: Variant::ALL.into_iter().map(row).collect(),
    }
}

/// Compares messages in one call with one after another, for the variants that gain. A page has
/// the most messages, the least and the greatest size, and the backend in use.
fn batches(results: &Results, is_page: bool) -> Table {
    const ENDS: [usize; 2] = [batch::SIZES[0], batch::SIZES[batch::SIZES.len() - 1]];
    let mut rows = Vec::new();
    for cell in &results.batches {
        let d = &results.subjects[cell.subject];
        let most = batch::COUNTS.iter().max() == Some(&cell.messages);
        let shown = most && ENDS.contains(&cell.size) && results.is_ours(d);
        let Some(packets) = cell.packets.filter(|_| shown || !is_page) else { continue };
        let (size, messages) = (cell.size.to_string(), cell.messages.to_string());
        let (name, operation) = (d.algorithm.name(), cell.operation.name());
        let mut row = strings(&[name, &d.form, operation, &size, &messages]);
        for both in [cell.jobs, packets] {
            row.extend([both.alone, both.batch].map(|times| format!("{:.1}", times.min_ns)));
            row.push(ratio(Some(both.ratio())));
        }
        rows.push((cell.subject, cell.operation, cell.size, row));
    }
    rows.sort_by_key(|(subject, operation, size, _)| (*subject, *operation, *size));
    let names = ["", "", "", "bytes", "messages"];
    let figures = ["alone", "jobs", "ratio", "in place", "packets", "ratio"];
    Table {
        title: "Batches",
        note: "Nanoseconds per message, with 13 bytes of associated data. alone, jobs: from one \
               buffer to another,\none after another and in one call. in place, packets: the same \
               in one buffer. ratio: in one call /\none after another.",
        labels: names.len(),
        head: [&names[..], &figures].concat().into_iter().map(String::from).collect(),
        rows: rows.into_iter().map(|(.., row)| row).collect(),
    }
}

/// The cipher suites of TLS, over each provider.
fn tls(results: &Results) -> Table {
    let rows = results.tls.iter().map(|cell| {
        let [records, quic] = [cell.records, cell.quic].map(|speed| number(Some(speed), 2));
        vec![
            cell.provider.clone(),
            cell.suite.clone(),
            records,
            format!("{:.0}", cell.handshakes),
            quic,
        ]
    });
    Table {
        title: "TLS 1.3 by rustls, QUIC by quinn",
        note: "Both ends on one core. records, QUIC: GB/s of messages from one end to the other, \
               in memory and over\nthe loopback interface. handshakes: full ones a second, X25519 \
               and ECDSA (P-256) by the provider.",
        labels: 2,
        head: strings(&["", "", "records", "handshakes", "QUIC"]),
        rows: rows.collect(),
    }
}

/// The most important figures of some CPUs, whose names may be links.
pub fn summary<'a>(cpus: impl IntoIterator<Item = (String, &'a Results)>) -> Table {
    let aegis = [Variant::Aegis128L, Variant::Aegis128X2, Variant::Aegis128X4, Variant::Aegis256X2];
    let others = &Algorithm::OTHERS;
    let shown = [&aegis.map(Algorithm::from)[..], &others[..2], &others[4..5]].concat();
    let row = |(cpu, results): (_, &Results)| {
        let [core, clock, date] =
            [facts::CORE, facts::CLOCK_MAX, facts::DATE].map(|name| results.facts.get(name));
        let clock = if clock.is_empty() { String::new() } else { format!("{clock} GHz") };
        let core = [core, &clock].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>();
        let mut row = vec![cpu, core.join(", "), date.to_owned()];
        let cell = |a: &Algorithm| results.shown(*a, Task::new(Operation::Encrypt, LONG));
        row.extend(shown.iter().map(|a| number(cell(a).map(Cell::speed), 1)));
        let pairs = goal_tasks().filter_map(|(variant, task)| results.ratio(variant, task));
        let pairs: Vec<_> = pairs.collect();
        row.push(number((!pairs.is_empty()).then(|| geometric_mean(pairs)), 2));
        row
    };
    let names = shown.iter().map(|a| a.name());
    let head = ["CPU", "core", "measured"].into_iter().chain(names).chain(["time / other AEGIS"]);
    Table {
        title: "",
        note: "",
        labels: 3,
        head: head.map(String::from).collect(),
        rows: cpus.into_iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    #[test]
    fn tables_are_aligned() {
        let (labels, head) = (1, strings(&["who", "64"]));
        let rows = vec![strings(&["a", &ratio(Some(1.25))]), strings(&["longer", "5"])];
        let text = Table { title: "", note: "About.", labels, head, rows }.markdown();
        let lines = ["About.\n", "| who    |       64 |", "|--------|---------:|"];
        assert_eq!(text, lines.join("\n") + "\n| a      | **1.25** |\n| longer |        5 |\n");
    }

    #[test]
    fn all_tables_are_rectangles() {
        for is_page in [false, true] {
            let tables = all(&sample(1.5, 2.0), is_page);
            assert_eq!(tables.len(), 9);
            let is_rectangle = |t: &Table| t.rows.iter().all(|row| row.len() == t.head.len());
            assert!(tables.iter().all(is_rectangle));
        }
        assert!(all(&Results::default(), false).is_empty());
    }

    #[test]
    fn figures_have_their_units() {
        let results = sample(1.5, 2.0);
        let table = speeds(&results, Operation::Encrypt, "");
        let gcm = table.rows.iter().find(|row| row[0] == "AES-128-GCM, AWS-LC").unwrap();
        // 0 bytes in 80 ns, and 4096 bytes in 2 * 449.6 ns.
        assert_eq!((&*gcm[1], &*gcm[4], &*table.head[4]), ("80.0", "4.56", "4 Ki"));
        // 2 GHz, and 1678.4 ns for 16 KiB.
        let table = cycles_per_byte(&results);
        assert_eq!(table.rows[0], ["AEGIS-128L", "0.205", "0.205"]);
        assert_eq!(table.rows[1], ["other AEGIS-128L, aegis", "0.307", "0.307"]);
        let table = ratios(&sample(0.5, 2.0));
        assert_eq!(table.rows[17][..4], ["AEGIS-256X4", "MAC", "**2.00**", "**2.00**"]);
        let table = batches(&results, false);
        assert_eq!(table.rows.len(), 2 * 2 * 4);
        assert_eq!(table.rows[0][5..], ["30.0", "10.0", "0.33", "30.0", "5.0", "0.17"]);
        assert_eq!(batches(&results, true).rows.len(), 2 * 2);
        assert_eq!([576, 1500, 4096, 1 << 20].map(bytes), ["576", "1500", "4 Ki", "1 Mi"]);
    }

    #[test]
    fn a_cpu_has_one_row_in_the_summary() {
        let row = &summary([("[Fast CPU](fast)".into(), &sample(1.5, 2.0))]).rows[0];
        assert_eq!(row[..4], ["[Fast CPU](fast)", "2.00 GHz", "2026-11-30", "9.8"]);
        assert_eq!(row[7..], ["4.9", "4.9", "", "0.67"]);
    }
}
