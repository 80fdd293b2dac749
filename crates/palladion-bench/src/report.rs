//! The tables, and the sentences at the top of a report.

use crate::algorithm::{Algorithm, Operation, Variant};
use crate::batch;
use crate::bounds;
use crate::results::{Cell, GOAL_SIZES, Results, Task, TlsCell, Together};
use crate::stats::geometric_mean;
use crate::subjects::Description;
use crate::table::{Item, Table};
use crate::verdict::{self, Pair};
use palladion::Backend;

/// The size that stands for long messages.
pub const LONG: usize = 16384;
/// The size that stands for short messages.
const SHORT: usize = 64;

/// The tables that are printed.
pub fn all(results: &Results) -> Vec<Table> {
    let mut tables: Vec<_> =
        operations(results).into_iter().map(|operation| speeds(results, operation)).collect();
    tables.extend([ratios(results), cycles_per_byte(results), backends(results)]);
    tables.extend(cycles(results));
    for form in batch_forms(results) {
        tables.push(batches(results, form, &batch::COUNTS));
    }
    tables.push(tls(results));
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// The tables in a report.
pub fn page(results: &Results) -> Vec<Table> {
    let mut tables = vec![speeds(results, Operation::Encrypt), speeds(results, Operation::Decrypt)];
    tables.extend([speeds(results, Operation::Mac), ratios(results), cycles_per_byte(results)]);
    tables.push(backends(results));
    tables.extend(cycles(results));
    let most = &batch::COUNTS[batch::COUNTS.len() - 1..];
    if let Some(form) = batch_forms(results).first() {
        let mut table = batches(results, form, most);
        let ends = [batch::SIZES[0], batch::SIZES[batch::SIZES.len() - 1]].map(|s| s.to_string());
        if table.rows.iter().any(|row| ends.contains(&row[2].text)) {
            table.rows.retain(|row| ends.contains(&row[2].text));
        }
        tables.push(table);
    }
    tables.push(tls(results));
    tables.retain(|table| !table.rows.is_empty());
    tables
}

fn operations(results: &Results) -> Vec<Operation> {
    let mut operations: Vec<_> = results.cells.iter().map(|cell| cell.operation).collect();
    operations.sort_unstable();
    operations.dedup();
    operations
}

/// The sizes in the goals, or all sizes if none of those was measured.
fn sizes(results: &Results) -> Vec<usize> {
    let mut sizes = results.sizes();
    if sizes.iter().any(|size| GOAL_SIZES.contains(size)) {
        sizes.retain(|size| GOAL_SIZES.contains(size));
    }
    sizes
}

/// A speed, or a time for 0 bytes.
fn figure(cell: Option<&Cell>) -> Item {
    match cell {
        None => Item::default(),
        Some(cell) if cell.size == 0 => format!("{:.1} ns", cell.min_ns).into(),
        Some(cell) => format!("{:.2}", cell.speed()).into(),
    }
}

fn head(labels: &[&str], sizes: &[usize]) -> Vec<String> {
    labels.iter().map(|label| (*label).into()).chain(sizes.iter().map(|s| bytes(*s))).collect()
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

fn capital(text: &str) -> String {
    text[..1].to_uppercase() + &text[1..]
}

/// A row with its labels, unless all items are empty.
fn row(labels: &[&str], items: impl IntoIterator<Item = Item>) -> Option<Vec<Item>> {
    let items: Vec<_> = items.into_iter().collect();
    let is_empty = items.iter().all(|item| item.text.is_empty());
    (!is_empty).then(|| labels.iter().map(|label| (*label).into()).chain(items).collect())
}

/// The speeds of this library and of the fastest implementation of each other algorithm.
fn speeds(results: &Results, operation: Operation) -> Table {
    let (sizes, task) = (sizes(results), |size: &usize| Task::new(operation, *size));
    let ours = Variant::ALL.into_iter().filter_map(|variant| {
        let cells = sizes.iter().map(|size| figure(results.ours(variant, task(size))));
        row(&[variant.name()], cells)
    });
    let others = Algorithm::OTHERS.into_iter().filter_map(|algorithm| {
        let best = |size| results.best(task(size), |d| d.algorithm == algorithm);
        let mut who: Vec<_> =
            sizes.iter().filter_map(best).map(|cell| &*results.description(cell).library).collect();
        who.sort_unstable();
        who.dedup();
        let own = algorithm.name().trim_end_matches(" keyed");
        who.retain(|library| !library.eq_ignore_ascii_case(own));
        let name = [&[algorithm.name()], &who[..]].concat().join(", ");
        row(&[&name], sizes.iter().map(|size| figure(best(size))))
    });
    Table {
        title: format!("{}, GB/s on one core", capital(operation.name())),
        note: "The fastest samples, by bytes of message; ns per call for 0 bytes. For other \
               algorithms, the fastest library; their key schedule is not measured, and AEGIS has \
               none."
            .into(),
        labels: 1,
        head: head(&[""], &sizes),
        rows: ours.chain(others).collect(),
    }
}

/// The ratio of our time to that of the best other AEGIS, cell by cell.
fn ratios(results: &Results) -> Table {
    let (sizes, pairs) = (sizes(results), verdict::against_aegis(results));
    let mut rows = Vec::new();
    for operation in Operation::ALL {
        for variant in Variant::ALL {
            let of = |size: &usize| {
                let is_it =
                    |p: &&Pair| p.variant == variant && p.task == Task::new(operation, *size);
                pairs.iter().find(is_it).map_or(Item::default(), |pair| Item::ratio(pair.ratio()))
            };
            rows.extend(row(&[variant.name(), operation.name()], sizes.iter().map(of)));
        }
    }
    Table {
        title: "Time, compared with the fastest other AEGIS".into(),
        note: "Our time divided by that of the fastest other implementation: libaegis in C, its \
               Rust version, or rscrypto, with default settings or compiled for this CPU only. \
               Below 1 we are faster."
            .into(),
        labels: 2,
        head: head(&["", ""], &sizes),
        rows,
    }
}

/// The speed of each backend with long messages.
fn backends(results: &Results) -> Table {
    let mut forms: Vec<&str> = Vec::new();
    for d in results.subjects.iter().filter(|d| d.is_ours()) {
        if !forms.contains(&&*d.form) {
            forms.push(&d.form);
        }
    }
    let task = Task::new(Operation::Encrypt, LONG);
    let rows = Variant::ALL.into_iter().filter_map(|variant| {
        let cell = |form: &&str| {
            results.best(task, |d| d.is_ours() && d.algorithm == variant.into() && d.form == *form)
        };
        row(&[variant.name()], forms.iter().map(|form| figure(cell(form))))
    });
    Table {
        title: "Each backend, encryption of 16 KiB, GB/s".into(),
        note: String::new(),
        labels: 1,
        head: [""].iter().chain(&forms).map(|text| (*text).into()).collect(),
        rows: rows.collect(),
    }
}

/// The cycles that a byte of a long message takes, with each algorithm.
fn cycles_per_byte(results: &Results) -> Table {
    let operations = [Operation::Encrypt, Operation::Decrypt];
    let item = |cell: Option<&Cell>| {
        let cycles = cell.and_then(|cell| cell.cycles);
        cycles.map_or(Item::default(), |c| format!("{:.3}", c / LONG as f64).into())
    };
    let items = |wanted: &dyn Fn(&Description) -> bool| {
        operations.map(|operation| item(results.best(Task::new(operation, LONG), wanted)))
    };
    let mut rows: Vec<_> = Variant::ALL
        .into_iter()
        .flat_map(|variant| {
            let ours =
                items(&|d: &Description| d.algorithm == variant.into() && results.is_ours(d));
            let theirs =
                items(&|d: &Description| d.algorithm == variant.into() && d.is_aegis_peer());
            let name = variant.name();
            [row(&[name, "palladion"], ours), row(&[name, "fastest other"], theirs)]
        })
        .flatten()
        .collect();
    rows.extend(Algorithm::OTHERS.into_iter().filter_map(|algorithm| {
        row(&[algorithm.name(), "fastest"], items(&|d: &Description| d.algorithm == algorithm))
    }));
    Table {
        title: "Cycles per byte, messages of 16 KiB".into(),
        note:
            "HiAE is an Internet-Draft, not an RFC. It has 32-byte keys, but nonces and tags have \
               16 bytes only, and its crate has no MAC and no AES instructions unless it is \
               compiled for them, as it is here."
                .into(),
        labels: 2,
        head: ["", "", "encrypt", "decrypt"].map(String::from).into(),
        rows,
    }
}

/// Compares cycles with the bounds.
fn cycles(results: &Results) -> Option<Table> {
    let backend: Backend = results.backend().parse().ok()?;
    let number = |number: Option<f64>| number.map_or(Item::default(), |n| format!("{n:.2}").into());
    let rows = Variant::ALL.into_iter().filter_map(|variant| {
        let found = Operation::ALL.map(|o| bounds::measured(results, variant, o));
        let bound = Operation::ALL.map(|o| bounds::bound(&results.facts, backend, variant, o));
        let mut items = vec![variant.rate().to_string().into()];
        items.extend(found.into_iter().zip(bound).flat_map(|(f, b)| [number(f), number(b)]));
        found.iter().any(Option::is_some).then(|| row(&[variant.name()], items)).flatten()
    });
    let head = ["", "bytes per step", "encrypt", "bound", "decrypt", "bound", "MAC", "bound"];
    Some(Table {
        title: format!("Cycles per step, {backend}"),
        note: "The difference between 16 and 4 KiB. bound: the least cycles of the AES units and, \
               where known, of the logic and of the dependency between steps."
            .into(),
        labels: 1,
        head: head.map(String::from).into(),
        rows: rows.collect(),
    })
}

/// The backends whose batches were measured.
fn batch_forms(results: &Results) -> Vec<&str> {
    let mut forms: Vec<&str> = Vec::new();
    for cell in &results.batches {
        let form = &*results.subjects[cell.subject].form;
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms
}

/// Compares numbers of messages in one call with one after another, for the variants that gain.
fn batches(results: &Results, form: &str, counts: &[usize]) -> Table {
    let figures = |both: Together| {
        let ns = |ns: f64| Item::from(format!("{ns:.1}"));
        [ns(both.alone.min_ns), ns(both.batch.min_ns), Item::ratio(both.ratio())]
    };
    let mut cells: Vec<_> = results
        .batches
        .iter()
        .filter(|cell| results.subjects[cell.subject].form == form)
        .filter(|cell| counts.contains(&cell.messages))
        .filter_map(|cell| Some((cell, cell.packets?)))
        .collect();
    cells.sort_by_key(|(cell, _)| (cell.subject, cell.operation, cell.size, cell.messages));
    let rows = cells.into_iter().filter_map(|(cell, packets)| {
        let name = results.subjects[cell.subject].algorithm.name();
        let (size, count) = (cell.size.to_string(), cell.messages.to_string());
        row(
            &[name, cell.operation.name(), &size, &count],
            figures(cell.jobs).into_iter().chain(figures(packets)),
        )
    });
    let head =
        ["", "", "bytes", "messages", "alone", "jobs", "ratio", "in place", "packets", "ratio"];
    Table {
        title: format!("Batches, {form}"),
        note: format!(
            "Nanoseconds per message, with {} bytes of associated data. alone, jobs: from one \
             buffer to another, one after another and in one call. in place, packets: the same in \
             one buffer. ratio: in one call / one after another.",
            batch::AD
        ),
        labels: 4,
        head: head.map(String::from).into(),
        rows: rows.collect(),
    }
}

/// The cipher suites of TLS, over each provider.
fn tls(results: &Results) -> Table {
    let once = |name: fn(&TlsCell) -> &str| {
        let mut list: Vec<&str> = Vec::new();
        for name in results.tls.iter().map(name) {
            if !list.contains(&name) {
                list.push(name);
            }
        }
        list
    };
    let (providers, suites) = (once(|cell| &cell.provider), once(|cell| &cell.suite));
    let rows = suites.into_iter().filter_map(|suite| {
        let items = providers.iter().flat_map(|provider| {
            let mut cells = results.tls.iter();
            match cells.find(|cell| (&*cell.provider, &*cell.suite) == (*provider, suite)) {
                Some(cell) => [
                    format!("{:.2}", cell.records).into(),
                    format!("{:.0}", cell.handshakes).into(),
                    format!("{:.2}", cell.quic).into(),
                ],
                None => [const { Item { text: String::new(), bold: false } }; 3],
            }
        });
        row(&[suite], items)
    });
    let head = providers.iter().flat_map(|provider| {
        ["records", "handshakes", "QUIC"].map(|what| format!("{what}, {provider}"))
    });
    Table {
        title: "TLS 1.3 by rustls, QUIC by quinn".into(),
        note:
            "Both ends on one core. records, QUIC: GB/s of messages from one end to the other, in \
               memory and over the loopback interface. handshakes: full ones a second, X25519 and \
               ECDSA (P-256) by the provider."
                .into(),
        labels: 1,
        head: [String::new()].into_iter().chain(head).collect(),
        rows: rows.collect(),
    }
}

/// The libraries, with their versions and forms.
pub fn versions(results: &Results) -> Vec<(String, String)> {
    let mut libraries: Vec<(&Description, Vec<&str>)> = Vec::new();
    for d in &results.subjects {
        match libraries.iter_mut().find(|(first, _)| first.library == d.library) {
            Some((_, forms)) if forms.contains(&&*d.form) => {}
            Some((_, forms)) => forms.push(&d.form),
            None => libraries.push((d, vec![&d.form])),
        }
    }
    let row = |(d, forms): (&Description, Vec<&str>)| {
        let text = match &forms[..] {
            [""] => d.version.clone(),
            ["", others @ ..] => format!("{}: default, {}", d.version, others.join(", ")),
            forms => format!("{}: {}", d.version, forms.join(", ")),
        };
        (d.library.clone(), text)
    };
    libraries.into_iter().map(row).collect()
}

/// The most important figures, in at most three paragraphs.
pub fn headline(results: &Results) -> Vec<String> {
    let mut sentences = Vec::new();
    let task = |size| Task::new(Operation::Encrypt, size);
    for variant in [Variant::Aegis128L, Variant::Aegis256X2] {
        let Some(ours) = results.ours(variant, task(LONG)) else { continue };
        let beside = |algorithm: Algorithm| {
            let other = results.best(task(LONG), |d| d.algorithm == algorithm)?;
            Some(format!("{:.1} times as fast as {}", other.min_ns / ours.min_ns, algorithm.name()))
        };
        let gcm = if variant.key_len() == 16 { Algorithm::Aes128Gcm } else { Algorithm::Aes256Gcm };
        let others: Vec<_> =
            [gcm, Algorithm::Chacha20Poly1305].into_iter().filter_map(beside).collect();
        let others =
            if others.is_empty() { String::new() } else { format!(", {}", others.join(" and ")) };
        let short = results.ours(variant, task(SHORT)).map_or(String::new(), |cell| {
            format!("; a message of {SHORT} bytes takes {:.0} ns", cell.min_ns)
        });
        sentences.push(format!(
            "**{} encrypts messages of 16 KiB at {:.1} GB/s on one core{others}**{short}.",
            variant.name(),
            ours.speed()
        ));
    }
    let pairs = verdict::against_aegis(results);
    if !pairs.is_empty() {
        let slower = pairs.iter().filter(|pair| pair.ratio() > verdict::SLOWER).count();
        let slower = match slower {
            0 => "nowhere more than 2 % slower".into(),
            _ => format!("more than 2 % slower in {slower} of them"),
        };
        sentences.push(format!(
            "Compared with the fastest other implementation of each variant (libaegis in C, its \
             Rust version, rscrypto), this library takes **{:.2} of the time** in the geometric \
             mean of {} cells (variant, operation, size), and is {slower}.",
            geometric_mean(pairs.iter().map(Pair::ratio)),
            pairs.len()
        ));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    #[test]
    fn all_tables_are_rectangles() {
        let results = sample(1.5, 2.0);
        let tables = all(&results);
        assert_eq!(tables.len(), 9);
        assert_eq!(page(&results).len(), 9);
        for table in &tables {
            assert!(table.rows.iter().all(|row| row.len() == table.head.len()), "{}", table.title);
        }
    }

    #[test]
    fn libraries_are_listed_once() {
        let results = sample(1.5, 2.0);
        let versions = versions(&results);
        let is = |i: usize, library: &str, text: &str| versions[i] == (library.into(), text.into());
        assert!(is(0, "palladion", "1: vaes-avx512, portable") && is(1, "aegis", "1: C"));
        assert!(is(2, "AWS-LC", "1") && versions.len() == 3);
    }

    #[test]
    fn ratios_are_in_the_tables() {
        let table = ratios(&sample(0.5, 2.0));
        assert_eq!(table.rows.len(), 18);
        assert!(table.rows.iter().all(|row| row[2..].iter().all(|item| *item == Item::ratio(2.0))));
    }

    #[test]
    fn other_algorithms_are_in_the_tables() {
        let table = speeds(&sample(1.5, 2.0), Operation::Encrypt);
        assert_eq!(table.rows.len(), 8);
        // 4096 bytes in 2 * 449.6 ns.
        assert_eq!(table.rows[6][0], "AES-128-GCM, AWS-LC".into());
        assert_eq!(table.rows[6][4], "4.56".into());
    }

    #[test]
    fn cycles_are_in_a_table() {
        let table = cycles_per_byte(&sample(1.5, 2.0));
        // 2 GHz, and 1678.4 ns for 16 KiB.
        assert_eq!(table.rows[0], ["AEGIS-128L", "palladion", "0.205", "0.205"].map(Item::from));
        assert_eq!(table.rows[1][2], "0.307".into());
        assert_eq!(table.rows.len(), 14);
    }

    #[test]
    fn batches_are_in_a_table() {
        let table = batches(&sample(1.5, 2.0), "vaes-avx512", &batch::COUNTS);
        assert_eq!(table.rows.len(), 2 * 2 * 4);
        let jobs = ["30.0".into(), "10.0".into(), Item::ratio(1.0 / 3.0)];
        let packets = ["30.0".into(), "5.0".into(), Item::ratio(1.0 / 6.0)];
        assert_eq!(table.rows[0][4..], [jobs, packets].concat());
    }

    #[test]
    fn the_headline_compares() {
        let text = headline(&sample(1.5, 2.0)).join("\n");
        let first = "AEGIS-128L encrypts messages of 16 KiB at 9.8 GB/s on one core, 2.0 times \
                     as fast as AES-128-GCM**; a message of 64 bytes takes 46 ns.";
        assert!(text.contains(first), "{text}");
        assert!(
            text.contains("**0.67 of the time**") && text.contains("nowhere more than 2 % slower")
        );
        let mut results = sample(1.5, 2.0);
        results.cells.clear();
        assert!(headline(&results).is_empty());
    }

    #[test]
    fn sizes_in_words() {
        assert_eq!([0, 576, 1500, 4096, 1 << 20].map(bytes), ["0", "576", "1500", "4 Ki", "1 Mi"]);
    }
}
