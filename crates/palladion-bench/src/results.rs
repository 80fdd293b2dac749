//! The results of a run, and their CSV.

use std::collections::BTreeSet;
use std::fmt::Write;

use palladion::Backend;

use crate::algorithm::{Algorithm, Operation};
use crate::machine::Machine;
use crate::stats::{fastest, median};
use crate::subjects::{Description, Role};

/// One run.
#[derive(Clone, Debug)]
pub struct Results {
    pub machine: Machine,
    /// The command line.
    pub command: String,
    pub settings: Settings,
    pub clock: Clock,
    /// The backend that the library chose automatically.
    pub automatic: Option<Backend>,
    pub notes: Vec<String>,
    pub subjects: Vec<Description>,
    pub cells: Vec<Cell>,
    pub batches: Vec<BatchCell>,
    pub tls: Vec<TlsCell>,
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub rounds: u32,
    /// The time of a sample in microseconds, unless one call takes longer.
    pub sample_us: f64,
    pub tag_bytes: usize,
    pub seconds: f64,
}

/// The core's clock during the samples, in GHz; 0 if it cannot be measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    pub median: f64,
    pub max: f64,
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
        Self { min_ns: rounded(fastest(&samples)), median_ns: rounded(median(&mut samples)) }
    }
}

/// Rounds to picoseconds. More digits would mean nothing.
pub fn rounded(ns: f64) -> f64 {
    (ns * 1e3).round() / 1e3
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

/// The figures of a cipher suite over a provider: those of the fastest samples.
#[derive(Clone, Debug)]
pub struct TlsCell {
    pub provider: &'static str,
    pub suite: &'static str,
    /// GB/s (10^9 bytes).
    pub records: f64,
    /// Handshakes a second.
    pub handshakes: f64,
    /// GB/s (10^9 bytes).
    pub quic: f64,
}

/// The sizes in the goals.
pub const GOAL_SIZES: [usize; 9] = [0, 16, 64, 256, 576, 1500, 4096, 16384, 65536];

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

impl Results {
    pub fn description(&self, cell: &Cell) -> &Description {
        &self.subjects[cell.subject]
    }

    /// All cells of a task whose subject is `wanted`.
    fn cells(
        &self,
        task: Task,
        wanted: impl Fn(&Description) -> bool,
    ) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(move |cell| {
            (cell.operation, cell.size, cell.ad) == (task.operation, task.size, task.ad)
                && wanted(self.description(cell))
        })
    }

    /// The fastest cell of a task whose subject is `wanted`.
    pub fn best(&self, task: Task, wanted: impl Fn(&Description) -> bool) -> Option<&Cell> {
        self.cells(task, wanted).min_by(|a, b| a.min_ns.total_cmp(&b.min_ns))
    }

    /// This library with its default backend.
    pub fn ours(&self, algorithm: impl Into<Algorithm>, task: Task) -> Option<&Cell> {
        let algorithm = algorithm.into();
        self.best(task, |d| d.algorithm == algorithm && d.role == Role::Ours)
    }

    /// The fastest other implementation of a variant of AEGIS.
    pub fn peer(&self, algorithm: impl Into<Algorithm>, task: Task) -> Option<&Cell> {
        let algorithm = algorithm.into();
        self.best(task, |d| d.algorithm == algorithm && d.role == Role::AegisPeer)
    }

    /// The measured sizes, ascending.
    pub fn sizes(&self) -> Vec<usize> {
        self.cells.iter().map(|cell| cell.size).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The cells as CSV. To keep the file small, it has only the sizes in the goals, without
    /// associated data, unless `all` is set or there are no such cells.
    pub fn csv(&self, all: bool) -> String {
        let is_common = |cell: &&Cell| cell.ad == 0 && GOAL_SIZES.contains(&cell.size);
        let all = all || !self.cells.iter().any(|cell| is_common(&cell));
        let mut text = format!("{HEAD}\n");
        for cell in self.cells.iter().filter(|cell| all || is_common(cell)) {
            let cycles = cell.cycles.map(|cycles| format!("{cycles:.1}")).unwrap_or_default();
            writeln!(text, "{},{:.2},{:.2},{cycles}", self.key(cell), cell.min_ns, cell.median_ns,)
                .expect("a string takes everything");
        }
        text
    }

    /// The columns that name a cell in the CSV.
    pub fn key(&self, cell: &Cell) -> String {
        let Description { algorithm, library, form, .. } = self.description(cell);
        let (algorithm, operation) = (algorithm.name(), cell.operation.name());
        format!("{algorithm},{library},{form},{operation},{},{}", cell.size, cell.ad)
    }

    pub fn batch_csv(&self) -> String {
        let mut text = format!("{BATCH_HEAD}\n");
        let times = |t: Times| format!("{:.2},{:.2}", t.min_ns, t.median_ns);
        for cell in &self.batches {
            let packets = match cell.packets {
                Some(packets) => format!("{},{}", times(packets.batch), times(packets.alone)),
                None => ",,,".into(),
            };
            let (batch, alone) = (times(cell.jobs.batch), times(cell.jobs.alone));
            writeln!(text, "{},{batch},{alone},{packets}", self.batch_key(cell))
                .expect("a string takes everything");
        }
        text
    }

    /// The columns that name a cell in the CSV of batches.
    pub fn batch_key(&self, cell: &BatchCell) -> String {
        let Description { algorithm, form, .. } = &self.subjects[cell.subject];
        let (algorithm, operation) = (algorithm.name(), cell.operation.name());
        let BatchCell { messages, size, ad, .. } = cell;
        format!("{algorithm},{form},{operation},{messages},{size},{ad}")
    }
}

/// The first line of the CSV.
pub const HEAD: &str = "algorithm,library,form,operation,size,ad,min_ns,median_ns,cycles";
/// The first line of the CSV of batches.
pub const BATCH_HEAD: &str = "algorithm,form,operation,messages,size,ad,batch_min_ns,\
                              batch_median_ns,alone_min_ns,alone_median_ns,packets_min_ns,\
                              packets_median_ns,in_place_min_ns,in_place_median_ns";

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::algorithm::Variant;
    use crate::batch;

    /// Two backends of ours, a peer and AES-GCM. The latter two are slower by these factors.
    pub fn sample(peer: f64, gcm: f64) -> Results {
        let mut results = Results {
            machine: Machine::this(None),
            command: "palladion-bench --quick".into(),
            settings: Settings { rounds: 2, sample_us: 25.0, tag_bytes: 16, seconds: 1.0 },
            clock: Clock { median: 2.0, max: 2.0 },
            automatic: Some(Backend::VaesAvx512),
            notes: Vec::new(),
            subjects: Vec::new(),
            cells: Vec::new(),
            batches: Vec::new(),
            tls: Vec::new(),
        };
        let mut subject = |algorithm: Algorithm, library: &str, form: &str, role, factor: f64| {
            let place = results.subjects.len();
            let (library, form, version) = (library.into(), form.into(), "1".into());
            results.subjects.push(Description { algorithm, library, form, version, role });
            for operation in
                Operation::MAIN.into_iter().filter(|&operation| algorithm.can(operation))
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
            subject(variant.into(), "palladion", "vaes-avx512", Role::Ours, 1.0);
            subject(variant.into(), "palladion", "portable", Role::OtherTier, 50.0);
            subject(variant.into(), "aegis", "C", Role::AegisPeer, peer);
        }
        subject(Algorithm::Aes128Gcm, "AWS-LC", "", Role::Other, gcm);
        subject(Algorithm::Aes256Gcm, "AWS-LC", "", Role::Other, gcm);
        for (suite, records) in [("TLS_AEGIS_128L_SHA256", 8.0), ("TLS13_AES_128_GCM_SHA256", 4.0)]
        {
            let (handshakes, quic) = (5000.0, 1.0);
            results.tls.push(TlsCell { provider: "ring", suite, records, handshakes, quic });
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
    fn csv_has_a_line_for_each_cell() {
        let mut results = sample(1.5, 2.0);
        let csv = results.csv(false);
        assert_eq!(csv.lines().count(), 1 + results.cells.len());
        let columns = |line: &str| line.split(',').count();
        assert!(csv.lines().all(|line| columns(line) == 9));
        results.cells[0].size = 32;
        results.cells[1].ad = 13;
        assert_eq!(results.csv(false).lines().count(), results.cells.len() - 1);
        assert_eq!(results.csv(true).lines().count(), 1 + results.cells.len());
        results.cells.truncate(2);
        assert_eq!(results.csv(false), results.csv(true));
        let csv = results.batch_csv();
        assert_eq!(csv.lines().count(), 1 + 6 * 2 * 4);
        assert!(csv.lines().all(|line| columns(line) == 14));
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
