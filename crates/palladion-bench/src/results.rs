//! The results of a run.

use std::collections::BTreeSet;

use crate::algorithm::{Algorithm, Operation, Variant};
use crate::facts::{self, Facts};
use crate::stats::{fastest, median};
use crate::subjects::Description;

/// One run, or the part of it that one process measured.
#[derive(Clone, Debug, Default)]
pub struct Results {
    pub facts: Facts,
    pub notes: Vec<String>,
    pub subjects: Vec<Description>,
    pub cells: Vec<Cell>,
    pub batches: Vec<BatchCell>,
    pub tls: Vec<TlsCell>,
}

/// The result of one subject in one task.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Its place in `subjects`.
    pub subject: usize,
    pub operation: Operation,
    /// Bytes of message, or of data for the MAC.
    pub size: usize,
    /// Bytes of associated data.
    pub ad: usize,
    /// Nanoseconds per call: the fastest and the median sample.
    pub min_ns: f64,
    pub median_ns: f64,
    /// Cycles per call in the fastest sample, by the clock measured with it.
    pub cycles: Option<f64>,
}

impl Cell {
    /// The highest speed in GB/s (10^9 bytes).
    pub fn speed(&self) -> f64 {
        self.size as f64 / self.min_ns
    }
}

/// The times of the fastest and the median sample, in nanoseconds per message.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub min_ns: f64,
    pub median_ns: f64,
}

impl Times {
    /// The times of at least one sample.
    pub fn of(mut samples: Vec<f64>) -> Self {
        Self { min_ns: fastest(&samples), median_ns: median(&mut samples) }
    }
}

/// The times of messages in one call, and of the same messages one after another.
#[derive(Clone, Copy, Debug)]
pub struct Together {
    pub batch: Times,
    pub alone: Times,
}

impl Together {
    /// The time in a batch divided by the time alone.
    pub fn ratio(&self) -> f64 {
        self.batch.min_ns / self.alone.min_ns
    }
}

/// The results of one subject with a number of messages.
#[derive(Clone, Debug)]
pub struct BatchCell {
    /// Its place in `subjects`.
    pub subject: usize,
    pub operation: Operation,
    pub messages: usize,
    /// Bytes of each message.
    pub size: usize,
    /// Bytes of associated data of each message.
    pub ad: usize,
    /// Jobs from one buffer to another.
    pub jobs: Together,
    /// Packets in one buffer, in place. Only for variants that gain from batches.
    pub packets: Option<Together>,
}

impl BatchCell {
    /// Both kinds of batches: the names of the batch and of single messages, and their times.
    pub fn both(&self) -> impl Iterator<Item = ([&'static str; 2], Together)> {
        let packets = self.packets.map(|together| (["packets", "in place"], together));
        [(["jobs", "alone"], self.jobs)].into_iter().chain(packets)
    }
}

/// The figures of a cipher suite over a provider: those of the fastest samples.
#[derive(Clone, Debug)]
pub struct TlsCell {
    pub provider: String,
    pub suite: String,
    /// GB/s (10^9 bytes).
    pub records: f64,
    /// Handshakes a second.
    pub handshakes: f64,
    /// GB/s (10^9 bytes).
    pub quic: f64,
}

/// The sizes in the goals.
pub const GOAL_SIZES: [usize; 9] = [0, 16, 64, 256, 576, 1500, 4096, 16384, 65536];

/// The sizes that are measured by default: with two more, for smooth curves.
pub const SIZES: [usize; 11] = [0, 16, 32, 64, 128, 256, 576, 1500, 4096, 16384, 65536];

/// What a cell measures: the operation, the size and the length of associated data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    pub operation: Operation,
    pub size: usize,
    pub ad: usize,
}

impl Task {
    pub const fn new(operation: Operation, size: usize) -> Self {
        Self { operation, size, ad: 0 }
    }
}

/// The variants and tasks in the goals.
pub fn goal_tasks() -> impl Iterator<Item = (Variant, Task)> {
    let tasks = |o| GOAL_SIZES.map(|size| Task::new(o, size));
    let tasks = Operation::ALL.into_iter().flat_map(tasks);
    tasks.flat_map(|task| Variant::ALL.map(|variant| (variant, task)))
}

impl Results {
    /// The backend that stands for this library.
    pub fn backend(&self) -> &str {
        self.facts.get(facts::BACKEND)
    }

    /// Returns whether this is this library with that backend.
    pub fn is_ours(&self, d: &Description) -> bool {
        d.is_ours_with(self.backend())
    }

    pub fn description(&self, cell: &Cell) -> &Description {
        &self.subjects[cell.subject]
    }

    /// The fastest cell of a task whose subject is `wanted`.
    pub fn best(&self, task: Task, wanted: impl Fn(&Description) -> bool) -> Option<&Cell> {
        let is_it = |cell: &&Cell| {
            (cell.operation, cell.size, cell.ad) == (task.operation, task.size, task.ad)
                && wanted(self.description(cell))
        };
        self.cells.iter().filter(is_it).min_by(|a, b| a.min_ns.total_cmp(&b.min_ns))
    }

    /// This library with the backend that stands for it.
    pub fn ours(&self, variant: Variant, task: Task) -> Option<&Cell> {
        self.best(task, |d| d.algorithm == variant.into() && self.is_ours(d))
    }

    /// The fastest other implementation of a variant of AEGIS.
    pub fn peer(&self, variant: Variant, task: Task) -> Option<&Cell> {
        self.best(task, |d| d.algorithm == variant.into() && d.is_aegis_peer())
    }

    /// Our time divided by that of the fastest other implementation of the variant.
    pub fn ratio(&self, variant: Variant, task: Task) -> Option<f64> {
        Some(self.ours(variant, task)?.min_ns / self.peer(variant, task)?.min_ns)
    }

    /// This library if it has the algorithm, or else the fastest one.
    pub fn shown(&self, algorithm: Algorithm, task: Task) -> Option<&Cell> {
        match algorithm {
            Algorithm::Aegis(variant) => self.ours(variant, task),
            _ => self.best(task, |d| d.algorithm == algorithm),
        }
    }

    /// The measured sizes, ascending.
    pub fn sizes(&self) -> Vec<usize> {
        self.cells.iter().map(|cell| cell.size).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::batch;

    /// Two backends of ours, a peer and AES-GCM. The latter two are slower by these factors.
    pub fn sample(peer: f64, gcm: f64) -> Results {
        let mut results = Results::default();
        for (name, value) in [
            (facts::COMMAND, "palladion-bench --quick"),
            (facts::CPU, "Fast CPU"),
            (facts::AES_UNITS, "2"),
            (facts::AES_UNITS_512, "1"),
            (facts::CLOCK, "2.00"),
            (facts::CLOCK_MAX, "2.00"),
            (facts::BACKEND, "vaes-avx512"),
            (facts::DATE, "2026-11-30"),
        ] {
            results.facts.set(name, value);
        }
        let mut subject = |algorithm: Algorithm, library: &str, form: &str, factor: f64| {
            let place = results.subjects.len();
            let (library, form) = (library.into(), form.into());
            results.subjects.push(Description { algorithm, library, form });
            for operation in
                Operation::ALL.into_iter().filter(|&operation| algorithm.can(operation))
            {
                for size in [0, 16, 64, 4096, 16384] {
                    let min_ns = factor * (40.0 + size as f64 / 10.0);
                    let cell = Cell {
                        subject: place,
                        operation,
                        size,
                        ad: 0,
                        min_ns,
                        median_ns: 1.1 * min_ns,
                        cycles: Some(2.0 * min_ns),
                    };
                    results.cells.push(cell);
                }
            }
        };
        for variant in Variant::ALL {
            subject(variant.into(), "palladion", "vaes-avx512", 1.0);
            subject(variant.into(), "palladion", "portable", 50.0);
            subject(variant.into(), "aegis", "C", peer);
        }
        subject(Algorithm::Aes128Gcm, "AWS-LC", "", gcm);
        subject(Algorithm::Aes256Gcm, "AWS-LC", "", gcm);
        for (suite, records) in [("TLS_AEGIS_128L_SHA256", 8.0), ("TLS13_AES_128_GCM_SHA256", 4.0)]
        {
            let (provider, suite) = ("ring".into(), suite.into());
            results.tls.push(TlsCell { provider, suite, records, handshakes: 5000.0, quic: 1.0 });
        }
        // Batches of AEGIS-128L and AEGIS-256 take a third of the time; the others gain nothing.
        for (subject, operation) in
            (0..18).step_by(3).flat_map(|s| batch::OPERATIONS.map(|o| (s, o)))
        {
            let times = |ns| Times { min_ns: ns, median_ns: ns };
            let gains = subject % 9 == 0;
            let together = |ns| Together { batch: times(ns), alone: times(30.0) };
            results.batches.extend(batch::COUNTS.map(|messages| BatchCell {
                subject,
                operation,
                messages,
                size: 64,
                ad: batch::AD,
                jobs: together(if gains { 10.0 } else { 30.0 }),
                packets: gains.then_some(together(5.0)),
            }));
        }
        results
    }

    #[test]
    fn the_best_are_found() {
        let results = sample(1.5, 2.0);
        let task = Task::new(Operation::Decrypt, 4096);
        let ours = results.ours(Variant::Aegis256X2, task).unwrap();
        assert_eq!(results.description(ours).form, "vaes-avx512");
        let peer = results.peer(Variant::Aegis256X2, task).unwrap();
        assert!((peer.min_ns / ours.min_ns - 1.5).abs() < 1e-9);
        assert_eq!(results.sizes(), [0, 16, 64, 4096, 16384]);
        assert!(results.ours(Variant::Aegis128L, Task::new(Operation::Encrypt, 17)).is_none());
    }
}
