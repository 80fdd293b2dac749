//! The tables.

use crate::algorithm::{Algorithm, Operation, Variant};
use crate::batch;
use crate::bounds;
use crate::results::{Cell, Results, Task};
use crate::subjects::{Description, Role};
use crate::table::{Item, Table};
use crate::verdict::{self, Pair};

/// The size in the paper's and the READMEs' tables: 16 KiB.
const BLOCK: usize = 16384;

/// The tables that are printed. The others are too long for a terminal.
pub fn short(results: &Results) -> Vec<Table> {
    let mut tables = Vec::new();
    tables.extend(
        operations(results).into_iter().flat_map(|operation| against_peers(results, operation, 0)),
    );
    tables.extend(gcm(results));
    tables.extend(paper(results));
    tables.extend(readme(results));
    tables.extend(cycles(results));
    tables.extend(batches(results));
    tables.retain(|table| !table.rows.is_empty());
    tables
}

fn operations(results: &Results) -> Vec<Operation> {
    let mut operations: Vec<_> = results.cells.iter().map(|cell| cell.operation).collect();
    operations.sort_unstable();
    operations.dedup();
    operations
}

/// A speed, or a time for 0 bytes.
fn figure(cell: Option<&Cell>) -> Item {
    match cell {
        None => Item::default(),
        Some(cell) if cell.size == 0 => format!("{:.1} ns", cell.min_ns).into(),
        Some(cell) => format!("{:.2}", cell.speed()).into(),
    }
}

fn ad_note(ad: usize) -> String {
    if ad == 0 { String::new() } else { format!(" with {ad} bytes of associated data") }
}

const UNITS: &str = "GB/s, or ns per call for 0 bytes; the fastest samples";

/// Compares each variant with the best other AEGIS, for the sizes of the goals, or for all sizes if
/// none of those was measured.
fn against_peers(results: &Results, operation: Operation, ad: usize) -> Option<Table> {
    let mut sizes = results.sizes();
    if sizes.iter().any(|size| verdict::SIZES.contains(size)) {
        sizes.retain(|size| verdict::SIZES.contains(size));
    }
    sizes.retain(|&size| {
        results.cells.iter().any(|c| (c.operation, c.size, c.ad) == (operation, size, ad))
    });
    let task = |&size: &usize| Task { operation, size, ad };
    let mut rows = Vec::new();
    for variant in Variant::ALL {
        let ours: Vec<_> = sizes.iter().map(|size| results.ours(variant, task(size))).collect();
        let theirs: Vec<_> = sizes.iter().map(|size| results.peer(variant, task(size))).collect();
        let Some(first) = ours.iter().flatten().next() else { continue };
        let name = results.description(first).implementation();
        let row = |name: &str, items: Vec<Item>| {
            [vec![variant.name().into(), name.into()], items].concat()
        };
        rows.push(row(&name, ours.iter().map(|cell| figure(*cell)).collect()));
        if theirs.iter().any(Option::is_some) {
            rows.push(row("best other AEGIS", theirs.iter().map(|cell| figure(*cell)).collect()));
            let who = |cell: &Option<&Cell>| {
                cell.map_or(Item::default(), |c| results.description(c).form.clone().into())
            };
            rows.push(row("which", theirs.iter().map(who).collect()));
            let ratios = ours.iter().zip(&theirs).map(|pair| match pair {
                (Some(ours), Some(theirs)) => Item::ratio(ours.min_ns / theirs.min_ns),
                _ => Item::default(),
            });
            rows.push(row("time, ours / best", ratios.collect()));
        }
    }
    let operation = format!(
        "{}{}{}",
        operation.name()[..1].to_uppercase(),
        &operation.name()[1..],
        ad_note(ad)
    );
    Some(Table {
        title: format!("{operation}, compared with the best other AEGIS"),
        note: format!("{UNITS}. Crate aegis: C or Rust; native: compiled for this CPU only."),
        labels: 2,
        head: [vec![String::new(); 2], sizes.iter().map(|size| bytes(*size)).collect()].concat(),
        rows,
    })
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

fn gcm(results: &Results) -> Option<Table> {
    let pairs =
        [(Variant::Aegis128L, Algorithm::Aes128Gcm), (Variant::Aegis256X2, Algorithm::Aes256Gcm)]
            .map(|(variant, algorithm)| {
                (variant, algorithm, verdict::against_gcm(results, variant, algorithm))
            });
    let mut sizes: Vec<_> =
        pairs.iter().flat_map(|(.., pairs)| pairs.iter().map(|pair| pair.task.size)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut rows = Vec::new();
    for (variant, algorithm, pairs) in &pairs {
        for operation in [Operation::Encrypt, Operation::Decrypt] {
            let find = |size| pairs.iter().find(|pair| pair.task == Task::new(operation, size));
            let row = |name: String, item: &dyn Fn(&Pair) -> Item| {
                let items =
                    sizes.iter().map(|&size| find(size).map_or(Item::default(), item)).collect();
                [vec![name.into(), operation.name().into()], items].concat()
            };
            if pairs.iter().any(|pair| pair.task.operation == operation) {
                rows.push(row(variant.name().into(), &|pair| figure(Some(pair.ours))));
                rows.push(row(format!("{}, AWS-LC", algorithm.name()), &|pair| {
                    figure(Some(pair.theirs))
                }));
                rows.push(row("time, ours / AWS-LC".into(), &|pair| Item::ratio(pair.ratio())));
            }
        }
    }
    Some(Table {
        title: "Beside AES-GCM".into(),
        note: format!("{UNITS}. AES-GCM's key schedule is not measured; AEGIS has none."),
        labels: 2,
        head: [vec![String::new(); 2], sizes.iter().map(|size| bytes(*size)).collect()].concat(),
        rows,
    })
}

fn mib_per_s(cell: &Cell) -> String {
    format!("{:.0}", cell.speed() * 1e9 / f64::from(1 << 20))
}

fn gbit_per_s(cell: &Cell) -> String {
    format!("{:.0}", cell.speed() * 8.0)
}

/// The tables of "Adding more parallelism to the AEGIS authenticated encryption algorithms", with a
/// column for this machine.
fn paper(results: &Results) -> Option<Table> {
    let task = Task::new(Operation::Encrypt, BLOCK);
    let openssl = |d: &Description| d.algorithm == Algorithm::Aes128Gcm && d.library == "OpenSSL";
    let rows = [
        ("AEGIS-128X2", results.ours(Variant::Aegis128X2, task), "39781", "239"),
        ("AEGIS-128L", results.ours(Variant::Aegis128L, task), "23863", "118"),
        ("AES-128-GCM, OpenSSL", results.best(task, openssl), "10243", "37"),
    ];
    let rows: Vec<_> = rows
        .into_iter()
        .filter_map(|(name, cell, intel, amd)| {
            let cell = cell?;
            Some(vec![
                name.into(),
                mib_per_s(cell).into(),
                intel.into(),
                gbit_per_s(cell).into(),
                amd.into(),
            ])
        })
        .collect();
    Some(Table {
        title: "The paper's tables 1 and 2".into(),
        note:
            "Encryption on one core, here at 16 KiB, and the paper's figures (with OpenSSL 3.1.0)."
                .into(),
        labels: 1,
        head: ["", "here, MiB/s", "i9-13900K, MiB/s", "here, Gb/s", "EPYC 7543, Gb/s"]
            .map(String::from)
            .into(),
        rows,
    })
}

/// The tables in the READMEs of the AEGIS-X implementations.
fn readme(results: &Results) -> Vec<Table> {
    use Algorithm::{
        Aes128Gcm, Aes128Ocb, Aes256Gcm, Aes256Ocb, Blake3, Chacha20Poly1305, HmacSha256,
    };
    use Variant::{Aegis128L, Aegis128X2, Aegis128X4, Aegis256, Aegis256X2, Aegis256X4};
    let table = |title: &str, operation, variants: &[Variant], others: &[Algorithm]| {
        let task = Task::new(operation, BLOCK);
        let ours = variants.iter().filter_map(|&variant| results.ours(variant, task));
        let others = others.iter().flat_map(|&algorithm| {
            let subjects = (0..results.subjects.len())
                .filter(move |&s| results.subjects[s].algorithm == algorithm);
            subjects.filter_map(|subject| results.of(subject, task))
        });
        let row = |cell: &Cell| {
            let d = results.description(cell);
            vec![d.algorithm.name().into(), d.implementation().into(), mib_per_s(cell).into()]
        };
        Table {
            title: title.into(),
            note: "Blocks of 16 KiB.".into(),
            labels: 2,
            head: ["", "", "MiB/s"].map(String::from).into(),
            rows: ours.chain(others).map(row).collect(),
        }
    };
    vec![
        table(
            "Encryption, 128-bit keys",
            Operation::Encrypt,
            &[Aegis128X4, Aegis128X2, Aegis128L],
            &[Aes128Ocb, Aes128Gcm],
        ),
        table(
            "Encryption, 256-bit keys",
            Operation::Encrypt,
            &[Aegis256X4, Aegis256X2, Aegis256],
            &[Aes256Ocb, Aes256Gcm, Chacha20Poly1305],
        ),
        table(
            "Authentication (MAC)",
            Operation::Mac,
            &[Aegis128X4, Aegis128X2, Aegis128L, Aegis256X4, Aegis256X2, Aegis256],
            &[Blake3, HmacSha256],
        ),
    ]
}

/// Compares cycles with the bounds.
fn cycles(results: &Results) -> Option<Table> {
    let backend = bounds::our_backend(results)?;
    let mut rows = Vec::new();
    for (variant, operation) in
        Variant::ALL.into_iter().flat_map(|v| Operation::MAIN.map(|o| (v, o)))
    {
        let Some(found) = bounds::measured(results, variant, operation) else { continue };
        let cell = results.ours(variant, Task::new(operation, BLOCK))?;
        let bound = bounds::bound(&results.machine, backend, variant, operation);
        let goal = bounds::goal(&results.machine, backend, variant, operation);
        let number =
            |number: Option<f64>| number.map_or(Item::default(), |n| format!("{n:.2}").into());
        rows.push(vec![
            variant.name().into(),
            operation.name().into(),
            format!("{:.3}", cell.cycles? / BLOCK as f64).into(),
            bound.map_or(Item::default(), |bound| {
                format!("{:.3}", bound / variant.rate() as f64).into()
            }),
            number(Some(found)),
            number(bound),
            number(bound.map(|bound| found / bound)),
            number(goal),
        ]);
    }
    let head = ["", "", "cycles/byte", "bound", "cycles/step", "bound", "times the bound", "goal"];
    Some(Table {
        title: format!("Cycles, {backend}"),
        note: "cycles/byte: a whole call with 16 KiB. cycles/step: the difference between 16 and \
               4 KiB. bound: the least cycles of the AES units and, where known, of the logic and \
               of the dependency between steps."
            .into(),
        labels: 2,
        head: head.map(String::from).into(),
        rows,
    })
}

/// Compares several messages in one call with one after another, in a table for each backend.
fn batches(results: &Results) -> Vec<Table> {
    let mut forms: Vec<&String> = Vec::new();
    for cell in &results.batches {
        let form = &results.subjects[cell.subject].form;
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    let mut head = vec![String::new(), String::new(), "bytes".into()];
    for count in batch::COUNTS {
        head.extend([format!("{count}: alone"), "batch".into(), "ratio".into()]);
    }
    let table = |form: &String| {
        let mut rows = Vec::new();
        for (subject, d) in results.subjects.iter().enumerate().filter(|(_, d)| d.form == *form) {
            let mut cells: Vec<_> =
                results.batches.iter().filter(|cell| cell.subject == subject).collect();
            cells.sort_by_key(|cell| (cell.operation, cell.size, cell.messages));
            for cells in cells.chunk_by(|a, b| (a.operation, a.size) == (b.operation, b.size)) {
                let (operation, size) = (cells[0].operation, cells[0].size);
                let mut row: Vec<Item> = vec![
                    d.algorithm.name().into(),
                    operation.name().into(),
                    size.to_string().into(),
                ];
                for count in batch::COUNTS {
                    row.extend(match cells.iter().find(|cell| cell.messages == count) {
                        Some(cell) => [
                            format!("{:.1}", cell.alone_min_ns).into(),
                            format!("{:.1}", cell.batch_min_ns).into(),
                            Item::ratio(cell.ratio()),
                        ],
                        None => Default::default(),
                    });
                }
                rows.push(row);
            }
        }
        Table {
            title: format!("Batches of messages, {form}"),
            note: format!(
                "Nanoseconds per message, the fastest samples: 2 to 64 messages one after another \
                 and in one call, {} bytes of associated data; the ratio is time in the batch / \
                 alone.",
                batch::AD
            ),
            labels: 3,
            head: head.clone(),
            rows,
        }
    };
    forms.into_iter().map(table).collect()
}

/// The libraries and their versions.
pub fn versions(results: &Results) -> Table {
    let mut rows: Vec<Vec<Item>> = Vec::new();
    for d in &results.subjects {
        let role = match d.role {
            Role::Ours | Role::OtherTier => "this library",
            Role::AegisPeer => "another AEGIS",
            Role::Other => "other algorithms",
        };
        let row = vec![d.implementation().into(), d.version.clone().into(), role.into()];
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let head = ["", "version", ""].map(String::from).into();
    Table { title: "Implementations".into(), note: String::new(), labels: 3, head, rows }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    #[test]
    fn all_tables_are_rectangles() {
        let results = sample(1.5, 2.0);
        let tables = short(&results);
        assert!(tables.len() >= 6);
        for table in tables.iter().chain([&versions(&results)]) {
            assert!(table.rows.iter().all(|row| row.len() == table.head.len()), "{}", table.title);
        }
    }

    #[test]
    fn ratios_are_in_the_tables() {
        let table = against_peers(&sample(0.5, 2.0), Operation::Encrypt, 0).unwrap();
        let ratios: Vec<_> =
            table.rows.iter().filter(|row| row[1].text.starts_with("time")).collect();
        assert_eq!(ratios.len(), 6);
        assert!(ratios.iter().all(|row| row[2..].iter().all(|item| *item == Item::ratio(2.0))));
    }

    #[test]
    fn batches_are_in_a_table() {
        let tables = batches(&sample(1.5, 2.0));
        assert_eq!(tables.len(), 1);
        assert_eq!(tables[0].rows.len(), 6 * 2);
        assert_eq!(tables[0].rows[0][3..6], ["30.0".into(), "10.0".into(), Item::ratio(1.0 / 3.0)]);
    }

    #[test]
    fn sizes_in_words() {
        assert_eq!([0, 576, 1500, 4096, 1 << 20].map(bytes), ["0", "576", "1500", "4 Ki", "1 Mi"]);
    }
}
