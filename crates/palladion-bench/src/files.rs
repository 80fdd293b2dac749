//! The files with the results: machine.txt, results.csv, batch.csv and tls.csv.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::algorithm::{Algorithm, Operation};
use crate::facts::Facts;
use crate::results::{BatchCell, Cell, Results, Times, TlsCell, Together};
use crate::subjects::{Description, PALLADION};

const MACHINE: &str = "machine.txt";
const CELLS: &str = "results.csv";
const BATCHES: &str = "batch.csv";
const TLS: &str = "tls.csv";

const CELLS_HEAD: &str = "algorithm,library,form,operation,size,ad,min_ns,median_ns,cycles";
const BATCHES_HEAD: &str = "algorithm,form,operation,messages,size,ad,batch_min_ns,\
                            batch_median_ns,alone_min_ns,alone_median_ns,packets_min_ns,\
                            packets_median_ns,in_place_min_ns,in_place_median_ns";
const TLS_HEAD: &str = "provider,suite,records_gb_s,handshakes_per_s,quic_gb_s";

/// The name of a fact in machine.txt that becomes a note.
const NOTE: &str = "Note";

/// The files, with no text if there are no such results.
pub fn all(results: &Results) -> [(&'static str, Option<String>); 4] {
    let csv = |head: &str, lines: Vec<String>| {
        (!lines.is_empty()).then(|| format!("{head}\n{}\n", lines.join("\n")))
    };
    [
        (MACHINE, Some(machine(results))),
        (CELLS, csv(CELLS_HEAD, results.cells.iter().map(|cell| line(results, cell)).collect())),
        (
            BATCHES,
            csv(BATCHES_HEAD, results.batches.iter().map(|c| batch_line(results, c)).collect()),
        ),
        (TLS, csv(TLS_HEAD, results.tls.iter().map(tls_line).collect())),
    ]
}

/// Writes files into a folder, and removes those without text.
pub fn write<'a>(
    dir: &Path,
    files: impl IntoIterator<Item = (&'a str, Option<String>)>,
) -> Result<(), String> {
    let failed = |path: &Path, error| format!("{}: {error}", path.display());
    fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
    for (name, text) in files {
        let path = dir.join(name);
        match text {
            Some(text) => fs::write(&path, text),
            None => match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
        }
        .map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

fn machine(results: &Results) -> String {
    let notes = results.notes.iter().map(|note| format!("{NOTE}: {note}\n"));
    results.facts.text() + &notes.collect::<String>()
}

fn line(results: &Results, cell: &Cell) -> String {
    let cycles = cell.cycles.map(|cycles| format!("{cycles:.1}")).unwrap_or_default();
    format!("{},{:.2},{:.2},{cycles}", key(results, cell), cell.min_ns, cell.median_ns)
}

/// The columns that name a cell.
pub fn key(results: &Results, cell: &Cell) -> String {
    let Description { algorithm, library, form, .. } = results.description(cell);
    let (algorithm, operation) = (algorithm.name(), cell.operation.name());
    format!("{algorithm},{library},{form},{operation},{},{}", cell.size, cell.ad)
}

fn batch_line(results: &Results, cell: &BatchCell) -> String {
    let mut figures = Vec::new();
    for (_, Together { batch, alone }) in cell.both() {
        let times = [batch.min_ns, batch.median_ns, alone.min_ns, alone.median_ns];
        figures.extend(times.map(|ns| format!("{ns:.2}")));
    }
    figures.resize(8, String::new());
    format!("{},{}", batch_key(results, cell), figures.join(","))
}

/// The columns that name a cell of batches.
pub fn batch_key(results: &Results, cell: &BatchCell) -> String {
    let Description { algorithm, form, .. } = &results.subjects[cell.subject];
    let (algorithm, operation) = (algorithm.name(), cell.operation.name());
    let BatchCell { messages, size, ad, .. } = cell;
    format!("{algorithm},{form},{operation},{messages},{size},{ad}")
}

fn tls_line(cell: &TlsCell) -> String {
    let TlsCell { provider, suite, records, handshakes, quic } = cell;
    format!("{provider},{suite},{records:.3},{handshakes:.0},{quic:.3}")
}

/// Reads the results in a folder.
pub fn read(dir: &Path) -> Result<Results, String> {
    let mut results = Results::default();
    let path = dir.join(MACHINE);
    let facts = fs::read_to_string(&path).map_err(|error| error.to_string());
    let facts = facts.and_then(|text| Facts::parse(&text));
    for (name, value) in facts.map_err(|error| format!("{}: {error}", path.display()))?.iter() {
        match name {
            NOTE => results.notes.push(value.to_owned()),
            _ => results.facts.set(name, value),
        }
    }
    rows(&dir.join(CELLS), CELLS_HEAD, |row| {
        let [min_ns, median_ns] = numbers(&row[6..8])?;
        let cell = Cell {
            subject: subject(&mut results, row[0], row[1], row[2])?,
            operation: Operation::named(row[3])?,
            size: row[4].parse().ok()?,
            ad: row[5].parse().ok()?,
            min_ns,
            median_ns,
            cycles: if row[8].is_empty() { None } else { Some(row[8].parse().ok()?) },
        };
        results.cells.push(cell);
        Some(())
    })?;
    rows(&dir.join(BATCHES), BATCHES_HEAD, |row| {
        let together = |row: &[&str]| {
            let [b_min, b_median, a_min, a_median] = numbers(row)?;
            let batch = Times { min_ns: b_min, median_ns: b_median };
            Some(Together { batch, alone: Times { min_ns: a_min, median_ns: a_median } })
        };
        let cell = BatchCell {
            subject: subject(&mut results, row[0], PALLADION, row[1])?,
            operation: Operation::named(row[2])?,
            messages: row[3].parse().ok()?,
            size: row[4].parse().ok()?,
            ad: row[5].parse().ok()?,
            jobs: together(&row[6..10])?,
            packets: if row[10].is_empty() { None } else { Some(together(&row[10..])?) },
        };
        results.batches.push(cell);
        Some(())
    })?;
    rows(&dir.join(TLS), TLS_HEAD, |row| {
        let [records, handshakes, quic] = numbers(&row[2..])?;
        let (provider, suite) = (row[0].into(), row[1].into());
        results.tls.push(TlsCell { provider, suite, records, handshakes, quic });
        Some(())
    })?;
    Ok(results)
}

/// Parses the rows of a CSV file with this first line. The file may be missing.
fn rows(
    path: &Path,
    head: &str,
    mut parse: impl FnMut(&[&str]) -> Option<()>,
) -> Result<(), String> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        text => text.map_err(|error| format!("{}: {error}", path.display()))?,
    };
    let mut lines = text.lines();
    if lines.next() != Some(head) {
        return Err(format!("{}: the first line is not {head}", path.display()));
    }
    for (i, line) in lines.enumerate() {
        let row: Vec<_> = line.split(',').collect();
        let parsed = if row.len() == head.split(',').count() { parse(&row) } else { None };
        parsed.ok_or_else(|| format!("{}: line {}: not a cell", path.display(), i + 2))?;
    }
    Ok(())
}

fn numbers<const N: usize>(row: &[&str]) -> Option<[f64; N]> {
    row.iter().map(|text| text.parse().ok()).collect::<Option<Vec<_>>>()?.try_into().ok()
}

/// The place of a subject, which is added if it is new.
fn subject(results: &mut Results, algorithm: &str, library: &str, form: &str) -> Option<usize> {
    let (library, form) = (library.to_owned(), form.to_owned());
    let new = Description { algorithm: Algorithm::named(algorithm)?, library, form };
    Some(results.subjects.iter().position(|d| *d == new).unwrap_or_else(|| {
        results.subjects.push(new);
        results.subjects.len() - 1
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    #[test]
    fn what_is_written_is_read_again() {
        let mut results = sample(1.5, 2.0);
        results.notes.push("a note: with more".into());
        let dir = std::env::temp_dir().join(format!("palladion-bench-{}", std::process::id()));
        write(&dir, all(&results)).unwrap();
        let read_again = read(&dir).unwrap();
        assert_eq!(all(&read_again), all(&results));
        assert_eq!((read_again.subjects, &read_again.notes), (results.subjects, &results.notes));
        // A folder need not have all kinds of results.
        (results.batches, results.tls) = (Vec::new(), Vec::new());
        results.subjects = sample(1.5, 2.0).subjects;
        write(&dir, all(&results)).unwrap();
        assert!(read(&dir).unwrap().batches.is_empty());
        for (name, text) in [
            (CELLS, ""),
            (CELLS, &format!("{CELLS_HEAD}\nAEGIS-256")),
            (CELLS, &format!("{CELLS_HEAD}\nAEGIS-256,a,b,MAC,1,0,fast,1,1")),
            (BATCHES, &format!("{BATCHES_HEAD}\nAEGIS,a,MAC,1,2,3,4,5,6,7,,,,")),
            (TLS, &format!("{TLS_HEAD}\nring,suite,1,2,")),
        ] {
            fs::write(dir.join(name), text).unwrap();
            assert!(read(&dir).unwrap_err().contains(name), "{text}");
            fs::remove_file(dir.join(name)).unwrap();
        }
        fs::remove_dir_all(&dir).unwrap();
        assert!(read(&dir).unwrap_err().contains(MACHINE));
    }
}
