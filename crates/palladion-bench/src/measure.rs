//! The measurement. Every subject does a little of a task in turn, for many rounds, so that a
//! disturbance affects all alike.
//!
//! A *sample* is a series of calls that takes about 25 microseconds, after one call that is not
//! measured. A *round* takes a sample of each subject, in alternating order, with the stack at
//! another place than in the round before. Several processes go through all tasks one after
//! another, with a part of the rounds each, so that a disturbance of a minute does not affect one
//! task only.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Instant;

use crate::algorithm::{Algorithm, Operation};
use crate::facts::{self, Facts};
use crate::machine::clock;
use crate::results::{Cell, Task};
use crate::stats::median;
use crate::subjects::{Entry, Job, TAG_LEN};

pub const SAMPLE_NS: f64 = 25_000.0;
/// A subject whose call takes longer than this many samples is not sampled in every round.
const SLOW: f64 = 4.0;

/// The bytes of the message. They make no difference, but zeros only might.
pub fn message(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 167 + i / 251) as u8).collect()
}

/// Memory that starts at a cache line.
pub struct Aligned {
    bytes: Vec<u8>,
    begin: usize,
    len: usize,
}

impl Aligned {
    /// Allocates bytes, `gap` bytes after the start of a page. Input and output are half a page
    /// apart, so that no CPU takes a load from the one as depending on a store to the other.
    pub fn new(len: usize, gap: usize) -> Self {
        let bytes = vec![0; len + 4096 + gap];
        let begin = bytes.as_ptr().align_offset(4096) + gap;
        Self { bytes, begin, len }
    }

    pub fn get(&mut self) -> &mut [u8] {
        &mut self.bytes[self.begin..][..self.len]
    }
}

/// A task with its buffers, which all subjects share.
struct Bench {
    task: Task,
    ad: Vec<u8>,
    message: Aligned,
    output: Aligned,
    /// The ciphertext and the tag of each algorithm, for decryption.
    sealed: HashMap<Algorithm, (Aligned, [u8; TAG_LEN])>,
}

impl Bench {
    fn new(task: Task) -> Self {
        let mut bench = Self {
            task,
            ad: message(task.ad),
            message: Aligned::new(task.size, 0),
            output: Aligned::new(task.size, 2048),
            sealed: HashMap::new(),
        };
        bench.message.get().copy_from_slice(&message(task.size));
        bench
    }

    /// The job of this task, or another operation on the same message.
    fn job(&mut self, algorithm: Algorithm, operation: Operation) -> Job<'_> {
        let (input, tag) = match (operation, self.sealed.get_mut(&algorithm)) {
            (Operation::Decrypt, Some((ciphertext, tag))) => (ciphertext.get(), *tag),
            _ => (self.message.get(), [0; TAG_LEN]),
        };
        Job { operation, ad: &self.ad, input, output: self.output.get(), tag }
    }

    /// Runs the job once and returns the output and the tag.
    fn result(
        &mut self,
        entry: &mut Entry,
        operation: Operation,
    ) -> Result<(Vec<u8>, [u8; TAG_LEN]), String> {
        let message = message(self.task.size);
        let mut job = self.job(entry.description.algorithm, operation);
        job.output.copy_from_slice(&message);
        entry.subject.run(&mut job, 1)?;
        Ok((job.output.to_vec(), job.tag))
    }

    /// Creates the ciphertexts. Fails unless all implementations of an algorithm agree.
    ///
    /// Returns the entries that take part: those that support the task, except those with known
    /// bugs in it.
    fn prepare(
        &mut self,
        entries: &mut [Entry],
        notes: &mut Vec<String>,
    ) -> Result<Vec<usize>, String> {
        let task = self.task;
        let mut expected = HashMap::new();
        let mut taking_part = Vec::new();
        for (place, entry) in entries.iter_mut().enumerate() {
            let algorithm = entry.description.algorithm;
            if !entry.can(task.operation) {
                continue;
            }
            let what = || format!("{} of {} bytes", task.operation.name(), task.size);
            let who = format!("{} by {}", algorithm.name(), entry.description.implementation());
            let failed = |error| format!("{who}, {}: {error}", what());
            if task.operation == Operation::Decrypt && !self.sealed.contains_key(&algorithm) {
                let (ciphertext, tag) = self.result(entry, Operation::Encrypt).map_err(failed)?;
                let mut aligned = Aligned::new(task.size, 0);
                aligned.get().copy_from_slice(&ciphertext);
                self.sealed.insert(algorithm, (aligned, tag));
            }
            let result = self.result(entry, task.operation).map_err(failed)?;
            if task.operation == Operation::Decrypt && result.0 != message(task.size) {
                return Err(format!("{who}, {}: gives a different message", what()));
            }
            if *expected.entry(algorithm).or_insert_with(|| result.clone()) == result {
                taking_part.push(place);
            } else if entry.is_known_to_be_wrong(task.operation, task.size) {
                let note = format!(
                    "{}, {}: excluded: known bug in {}",
                    entry.description.implementation(),
                    what(),
                    entry.version
                );
                if !notes.contains(&note) {
                    notes.push(note);
                }
            } else {
                return Err(format!("{who}, {}: gives different bytes from the others", what()));
            }
        }
        Ok(taking_part)
    }

    /// The nanoseconds for one call, from `repeats` calls.
    fn sample(&mut self, entry: &mut Entry, repeats: u64) -> Result<f64, String> {
        let operation = self.task.operation;
        let mut job = self.job(entry.description.algorithm, operation);
        let tag = job.tag;
        let start = Instant::now();
        entry.subject.run(&mut job, repeats)?;
        let elapsed = start.elapsed();
        debug_assert!(operation != Operation::Decrypt || tag == job.tag);
        Ok(elapsed.as_nanos() as f64 / repeats as f64)
    }
}

/// The number of calls in a sample, and the nanoseconds of one call. `sample` measures one call
/// from a number of calls.
pub fn repeats(mut sample: impl FnMut(u64) -> Result<f64, String>) -> Result<(u64, f64), String> {
    let mut repeats = 1;
    loop {
        // Take the best of several. An interrupted measurement would make the sample so short that
        // the timer's own cost matters.
        let mut ns = f64::INFINITY;
        for _ in 0..5 {
            ns = ns.min(sample(repeats)?.max(0.1));
        }
        if ns * repeats as f64 >= SAMPLE_NS / 4.0 {
            return Ok(((SAMPLE_NS / ns).round().max(1.0) as u64, ns));
        }
        repeats *= 4;
    }
}

/// Calls a function with the stack deeper by `place` times some hundred bytes. Code that keeps
/// vectors on the stack is up to a quarter slower where they lie across two cache lines, or as far
/// into a page as something else that is written. Where the stack starts differs between processes.
#[inline(never)]
fn at_depth(place: usize, call: &mut dyn FnMut()) {
    let space = [0u8; 240];
    black_box(&space);
    if place == 0 {
        call();
    } else {
        at_depth(place - 1, call);
    }
    black_box(&space);
}

/// The state of a subject in a task, with its samples so far.
struct Track {
    entry: usize,
    repeats: u64,
    /// Takes part in every `every`-th round.
    every: u32,
    samples: Vec<f64>,
    best: f64,
    /// The clock measured with the best sample, in GHz.
    clock: Option<f64>,
}

/// A run over all tasks.
pub struct Measurement {
    pub entries: Vec<Entry>,
    pub cells: Vec<Cell>,
    clocks: Vec<f64>,
    pub notes: Vec<String>,
}

impl Measurement {
    pub fn new(entries: Vec<Entry>, notes: Vec<String>) -> Self {
        Self { entries, cells: Vec::new(), clocks: Vec::new(), notes }
    }

    /// Measures a task.
    pub fn run(&mut self, task: Task, rounds: u32) -> Result<(), String> {
        let mut bench = Bench::new(task);
        let mut tracks = Vec::new();
        for entry in bench.prepare(&mut self.entries, &mut self.notes)? {
            let (repeats, ns) = repeats(|repeats| bench.sample(&mut self.entries[entry], repeats))?;
            let every = (ns / (SLOW * SAMPLE_NS)).ceil().max(1.0) as u32;
            let (samples, best) = (Vec::new(), f64::INFINITY);
            tracks.push(Track { entry, repeats, every, samples, best, clock: None });
        }
        for round in 0..rounds {
            let order: Box<dyn Iterator<Item = &mut Track>> = if round % 2 == 0 {
                Box::new(tracks.iter_mut())
            } else {
                Box::new(tracks.iter_mut().rev())
            };
            let mut before = clock();
            for track in order.filter(|track| round.is_multiple_of(track.every)) {
                let entry = &mut self.entries[track.entry];
                bench.sample(entry, 1)?;
                let mut ns = Ok(0.0);
                let place = track.samples.len() % 16;
                at_depth(place, &mut || ns = bench.sample(entry, track.repeats));
                let ns = ns?;
                let after = clock();
                // An interrupted measurement of the clock is too low.
                let now = before.zip(after).map(|(before, after)| before.max(after));
                before = after;
                self.clocks.extend(now);
                track.samples.push(ns);
                if ns < track.best {
                    (track.best, track.clock) = (ns, now);
                }
            }
        }
        self.cells.extend(tracks.into_iter().map(|mut track| Cell {
            subject: track.entry,
            operation: task.operation,
            size: task.size,
            ad: task.ad,
            min_ns: track.best,
            median_ns: median(&mut track.samples),
            cycles: track.clock.map(|ghz| ghz * track.best),
        }));
        Ok(())
    }

    /// Records the clock, if it was measured.
    pub fn clock(&mut self, facts: &mut Facts) {
        if !self.clocks.is_empty() {
            let max = self.clocks.iter().copied().fold(0.0, f64::max);
            facts.set(facts::CLOCK, format!("{:.2}", median(&mut self.clocks)));
            facts.set(facts::CLOCK_MAX, format!("{max:.2}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Variant;
    use crate::subjects;

    /// A short run with everything in this build; all implementations must agree.
    #[test]
    fn a_whole_run() {
        let backends: Vec<_> =
            palladion::Backend::ALL.iter().copied().filter(|b| b.is_available()).collect();
        let (entries, notes) = subjects::all(&Variant::ALL, &backends, |_| true);
        let count = entries.len();
        let mut tasks: Vec<_> = Operation::ALL
            .iter()
            .flat_map(|&op| [0, 17, 300].map(|size| Task::new(op, size)))
            .collect();
        tasks.push(Task { ad: 13, ..Task::new(Operation::Encrypt, 64) });
        tasks.push(Task { ad: 13, ..Task::new(Operation::Decrypt, 64) });
        let mut measurement = Measurement::new(entries, notes);
        for &task in &tasks {
            measurement.run(task, 2).unwrap();
        }
        let cells = measurement.cells;
        assert!(cells.len() >= tasks.len() * 6 * backends.len());
        assert!(cells.iter().all(|cell| cell.subject < count && cell.min_ns > 0.0));
        assert!(cells.iter().all(|cell| cell.median_ns >= cell.min_ns));
    }

    /// A subject that gives wrong bytes must not be measured.
    #[test]
    fn wrong_bytes_are_noticed() {
        struct Wrong(Box<dyn crate::subjects::subject::Subject>);
        impl crate::subjects::subject::Subject for Wrong {
            fn run(&mut self, job: &mut Job, repeats: u64) -> Result<(), String> {
                self.0.run(job, repeats)?;
                job.tag[0] ^= 1;
                Ok(())
            }
        }
        let portable = [palladion::Backend::Portable];
        let all = || subjects::all(&[Variant::Aegis256], &portable, |_| false).0;
        let mut entries = all();
        let mut wrong = all().remove(0);
        wrong.subject = Box::new(Wrong(wrong.subject));
        entries.push(wrong);
        let mut measurement = Measurement::new(entries, Vec::new());
        let task = Task::new(Operation::Encrypt, 16);
        assert!(measurement.run(task, 1).unwrap_err().contains("different bytes"));
    }
}
