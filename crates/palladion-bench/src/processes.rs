//! Divides a run over several processes, and merges what they find.
//!
//! Where the system places a process's buffers in memory decides how fast they are: at some
//! positions, a call with a long message takes two or three times as long, for every library. The
//! best of several processes does not depend on that.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::facts;
use crate::files;
use crate::results::{Results, Times, Together};
use crate::stats::{fastest, median};

/// Runs this program once for each process, with the same arguments, and merges the results. Calls
/// `progress` with each line that a process prints.
pub fn run(processes: u32, mut progress: impl FnMut(&str)) -> Result<Results, String> {
    let folder = env::temp_dir().join(format!("palladion-bench-{}", std::process::id()));
    let mut parts = Vec::new();
    for _ in 0..processes {
        let mut child = Command::new(env::current_exe().map_err(|error| error.to_string())?)
            .args(env::args_os().skip(1))
            .arg("--part")
            .arg(&folder)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        for line in lines.map_while(Result::ok) {
            progress(&line);
        }
        let status = child.wait().map_err(|error| error.to_string())?;
        if !status.success() {
            return Err(format!("a process that measures failed: {status}"));
        }
        parts.push(files::read(&folder)?);
        fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    }
    merged(parts)
}

/// Takes the fastest sample of all processes, and the median of their medians, for each cell.
fn merged(parts: Vec<Results>) -> Result<Results, String> {
    let mut merged = parts.first().cloned().ok_or("there are no processes")?;
    let shape = |r: &Results| (r.subjects.clone(), r.cells.len(), r.batches.len(), r.tls.len());
    if parts.iter().any(|part| shape(part) != shape(&merged)) {
        return Err("the processes did not measure the same cells".into());
    }
    for (i, cell) in merged.cells.iter_mut().enumerate() {
        let cells: Vec<_> = parts.iter().map(|part| &part.cells[i]).collect();
        let best = cells.iter().min_by(|a, b| a.min_ns.total_cmp(&b.min_ns)).expect("not empty");
        (cell.min_ns, cell.cycles) = (best.min_ns, best.cycles);
        cell.median_ns = median(&mut cells.iter().map(|cell| cell.median_ns).collect::<Vec<_>>());
    }
    let times = |of: &dyn Fn(&Results) -> Times| {
        let all: Vec<_> = parts.iter().map(of).collect();
        Times {
            min_ns: fastest(&all.iter().map(|times| times.min_ns).collect::<Vec<_>>()),
            median_ns: median(&mut all.iter().map(|times| times.median_ns).collect::<Vec<_>>()),
        }
    };
    let together = |of: &dyn Fn(&Results) -> Together| Together {
        batch: times(&|part| of(part).batch),
        alone: times(&|part| of(part).alone),
    };
    for (i, cell) in merged.batches.iter_mut().enumerate() {
        cell.jobs = together(&|part| part.batches[i].jobs);
        if cell.packets.is_some() {
            let packets = |part: &Results| part.batches[i].packets.expect("all parts have them");
            cell.packets = Some(together(&packets));
        }
    }
    for part in &parts {
        for (cell, other) in merged.tls.iter_mut().zip(&part.tls) {
            cell.records = cell.records.max(other.records);
            cell.handshakes = cell.handshakes.max(other.handshakes);
            cell.quic = cell.quic.max(other.quic);
        }
        for note in &part.notes {
            if !merged.notes.contains(note) {
                merged.notes.push(note.clone());
            }
        }
    }
    let numbers = |name| parts.iter().filter_map(|p| p.facts.number(name)).collect::<Vec<f64>>();
    let mut clocks = numbers(facts::CLOCK);
    if !clocks.is_empty() {
        let max = numbers(facts::CLOCK_MAX).into_iter().fold(0.0, f64::max);
        merged.facts.set(facts::CLOCK, format!("{:.2}", median(&mut clocks)));
        merged.facts.set(facts::CLOCK_MAX, format!("{max:.2}"));
    }
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::sample;

    #[test]
    fn the_best_of_all_processes() {
        let mut parts = [2.0, 1.0, 3.0].map(|factor| {
            let mut part = sample(1.5, 2.0);
            (part.cells[0].min_ns, part.cells[0].median_ns) = (10.0 * factor, 20.0 * factor);
            part.cells[0].cycles = Some(30.0 * factor);
            part.batches[0].jobs.batch = Times { min_ns: factor, median_ns: 2.0 * factor };
            part.tls[0].records = factor;
            part.facts.set(facts::CLOCK_MAX, factor);
            part.notes = vec!["note".into()];
            part
        });
        let merged_parts = merged(parts.to_vec()).unwrap();
        let cell = &merged_parts.cells[0];
        assert_eq!((cell.min_ns, cell.median_ns, cell.cycles), (10.0, 40.0, Some(30.0)));
        let batch = merged_parts.batches[0].jobs.batch;
        assert_eq!((batch.min_ns, batch.median_ns), (1.0, 4.0));
        assert_eq!(merged_parts.tls[0].records, 3.0);
        assert_eq!(merged_parts.facts.get(facts::CLOCK_MAX), "3.00");
        assert_eq!(merged_parts.notes, ["note"]);
        parts[1].cells.pop();
        assert!(merged(parts.to_vec()).is_err() && merged(Vec::new()).is_err());
    }
}
