//! The command line.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use palladion::Backend;

use crate::algorithm::{Operation, Variant};
use crate::batch;
use crate::results::{SIZES, Task};
use crate::subjects::PEERS;

/// The longest message measured with associated data. With longer ones, its time is lost in the
/// noise.
const MAX_SIZE_WITH_AD: usize = 1500;
const ROUNDS: u32 = 1500;
const QUICK_ROUNDS: u32 = 200;
const PROCESSES: u32 = 10;
const QUICK_PROCESSES: u32 = 5;
/// Batches get the rounds of other tasks divided by this number.
const FEWER: u32 = 4;
/// TLS gets the rounds divided by this number: a sample takes much longer.
const MUCH_FEWER: u32 = 20;
/// The longest message in a batch. Batches do not help longer ones.
const MAX_SIZE_IN_BATCH: usize = 16384;

/// Compares AEGIS in this and other libraries, and other ciphers and MACs, in one run
///
/// The implementations take turns at the same work, for many rounds, on one core. The results are
/// the fastest and the median sample of each. Every sample also measures the clock of the core.
/// Several processes share the rounds, because where a process's buffers lie in memory matters.
/// Prints tables and whether the project's goals are met. Writes README.md, plots (SVG), and all
/// figures as CSV.
#[derive(Parser)]
#[command(
    name = "palladion-bench",
    version,
    after_help = "\
Units: sizes in bytes; speeds in GB/s (10^9 bytes per second), or ns per call for 0 bytes. \
Tags have 16 bytes. A full run takes about four minutes, --quick less than one.

Examples:
  palladion-bench                     everything
  palladion-bench --quick             fewer rounds
  palladion-bench --submit            results of your CPU for this repository
  palladion-bench --ops batch         several messages in one call, and one after another
  palladion-bench --ops tls           cipher suites of rustls and quinn
  palladion-bench --variants 128l,256x2 --ops encrypt --sizes 64,1500 --rounds 5000
  palladion-bench --backends aesni-avx,aesni --no-peers
  palladion-bench --peers aegis --ad 0,13,64
  palladion-bench --check             compare with the committed results"
)]
pub struct Args {
    /// Measure fewer rounds
    #[arg(short, long)]
    pub quick: bool,
    /// Variants of AEGIS
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = variant)]
    #[arg(default_value = "128l,128x2,128x4,256,256x2,256x4")]
    pub variants: Vec<Variant>,
    /// Operations
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    #[arg(default_value = "encrypt,decrypt,mac,batch,tls")]
    pub ops: Vec<Op>,
    /// Bytes of message [default: those in the tables, from 0 to 65536; 64 to 1472 in batches]
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub sizes: Option<Vec<usize>>,
    /// Bytes of associated data, with messages of up to 1500 bytes
    #[arg(long, value_delimiter = ',', value_name = "LIST", default_value = "0")]
    pub ad: Vec<usize>,
    /// Samples of each implementation for each task; batches take a quarter [default: 1500, 200
    /// with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,
    /// Processes that share the rounds [default: 10, 5 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub processes: Option<u32>,
    /// This library's backends [default: all that can run here]
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = backend)]
    pub backends: Option<Vec<Backend>>,
    /// Libraries to compare with [default: all]
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    #[arg(ignore_case = true, value_parser = PEERS)]
    pub peers: Option<Vec<String>>,
    /// Do not compare with other libraries
    #[arg(long, conflicts_with = "peers")]
    pub no_peers: bool,
    /// Core to run on (Linux) [default: the last one that the process may use]
    #[arg(long, value_name = "N")]
    pub core: Option<usize>,
    /// Folder for results and plots [default: one named after the CPU, in target/bench]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Measure everything for docs/benchmarks, and print how to send the results in a pull request
    #[arg(long, conflicts_with_all = FILTERS)]
    pub submit: bool,
    /// Measure nothing: write the pages in a folder with results of CPUs again, from their CSV
    /// files [default: docs/benchmarks]
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, exclusive = true)]
    pub pages: Option<Option<PathBuf>>,
    /// Compare with the results.csv and batch.csv in a folder, and fail if a cell of this library
    /// is more than 10 % slower [default: the folder of this CPU in docs/benchmarks]
    #[arg(long, value_name = "FOLDER", num_args = 0..=1)]
    pub check: Option<Option<PathBuf>>,
    /// Be one of the processes, and write the figures to a folder
    #[arg(long, value_name = "FOLDER", hide = true)]
    pub part: Option<PathBuf>,
}

/// Options that leave something out, or put the results elsewhere.
const FILTERS: [&str; 8] =
    ["variants", "ops", "sizes", "ad", "backends", "peers", "no_peers", "out"];

/// An operation on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Op {
    /// Encrypt from one buffer into another
    #[value(alias = "enc")]
    Encrypt,
    /// Decrypt from one buffer into another, and verify
    #[value(alias = "dec")]
    Decrypt,
    /// Compute the MAC of data
    Mac,
    /// Seal and open messages in one call and one after another (this library only)
    Batch,
    /// Suites of rustls and quinn (feature tls)
    Tls,
}

impl Op {
    const fn operation(self) -> Option<Operation> {
        match self {
            Self::Encrypt => Some(Operation::Encrypt),
            Self::Decrypt => Some(Operation::Decrypt),
            Self::Mac => Some(Operation::Mac),
            Self::Batch | Self::Tls => None,
        }
    }
}

/// Sorts a list from the command line, and removes what is there twice.
fn sorted<T: Clone + Ord>(list: &[T]) -> Vec<T> {
    list.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect()
}

impl Args {
    /// The rounds of all processes.
    pub fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { QUICK_ROUNDS } else { ROUNDS })
    }

    pub fn processes(&self) -> u32 {
        let default = if self.quick { QUICK_PROCESSES } else { PROCESSES };
        self.processes.unwrap_or(default).min(self.rounds())
    }

    /// The backend that stands for this library: the one that it chooses automatically, or else
    /// the first of those to be measured.
    pub fn backend(&self) -> Option<Backend> {
        let (all, automatic) = (self.backends(), palladion::backend().ok());
        automatic.filter(|backend| all.contains(backend)).or(all.first().copied())
    }

    pub fn backends(&self) -> Vec<Backend> {
        let wanted = |b: &Backend| {
            self.backends.as_ref().is_none_or(|list| list.contains(b)) && b.is_available()
        };
        Backend::ALL.iter().copied().filter(wanted).collect()
    }

    pub fn wants_peer(&self, library: &str) -> bool {
        let listed =
            |list: &Vec<String>| list.iter().any(|name| name.eq_ignore_ascii_case(library));
        !self.no_peers && self.peers.as_ref().is_none_or(listed)
    }

    /// The tasks to measure, small sizes first.
    pub fn tasks(&self) -> Vec<Task> {
        let sizes = sorted(self.sizes.as_deref().unwrap_or(&SIZES));
        let mut tasks = Vec::new();
        for operation in sorted(&self.ops).into_iter().filter_map(Op::operation) {
            for ad in sorted(&self.ad) {
                let with_ad = |size| operation != Operation::Mac && size <= MAX_SIZE_WITH_AD;
                let sizes = sizes.iter().filter(|&&size| ad == 0 || with_ad(size));
                tasks.extend(sizes.map(|&size| Task { operation, size, ad }));
            }
        }
        tasks
    }

    /// The sizes of messages in batches.
    pub fn batch_sizes(&self) -> Vec<usize> {
        let mut sizes = sorted(self.sizes.as_deref().unwrap_or(&batch::SIZES));
        sizes.retain(|&size| self.ops.contains(&Op::Batch) && size <= MAX_SIZE_IN_BATCH);
        sizes
    }

    /// The rounds of one process.
    pub fn own_rounds(&self) -> u32 {
        self.rounds().div_ceil(self.processes())
    }

    pub fn own_batch_rounds(&self) -> u32 {
        self.own_rounds().div_ceil(FEWER)
    }

    /// 0 if TLS is not wanted, or not compiled in.
    pub fn own_tls_rounds(&self) -> u32 {
        match cfg!(feature = "tls") && self.ops.contains(&Op::Tls) {
            true => self.own_rounds().div_ceil(MUCH_FEWER),
            false => 0,
        }
    }
}

fn variant(name: &str) -> Result<Variant, String> {
    Variant::from_name(&format!("AEGIS-{name}")).ok_or("not a variant of AEGIS".into())
}

fn backend(name: &str) -> Result<Backend, String> {
    let backend: Backend =
        name.parse().map_err(|error: palladion::BackendError| error.to_string())?;
    match backend.is_available() {
        true => Ok(backend),
        false => Err("this machine cannot run this backend".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(line: &str) -> Args {
        Args::try_parse_from(line.split(' ')).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn defaults_cover_the_goals() {
        Args::command().debug_assert();
        for line in ["bench", "bench --quick", "bench --submit"] {
            let args = parse(line);
            let tasks = args.tasks();
            assert!(crate::results::goal_tasks().all(|(_, task)| tasks.contains(&task)));
            assert_eq!(
                (&*args.variants, &*args.batch_sizes()),
                (&Variant::ALL[..], &batch::SIZES[..])
            );
            assert!(args.wants_peer("OpenSSL"));
        }
        let with_ad = parse("bench --ad 0,13").tasks();
        assert!(with_ad.iter().any(|t| t.ad == 13));
        let without = |t: &Task| t.size > MAX_SIZE_WITH_AD || t.operation == Operation::Mac;
        assert!(!with_ad.iter().any(|t| t.ad > 0 && without(t)));
    }

    #[test]
    fn rounds_are_shared() {
        let args = parse("bench --rounds 1000 --processes 8");
        assert_eq!((args.own_rounds(), args.own_batch_rounds()), (125, 32));
        assert_eq!(parse("bench --rounds 3").processes(), 3);
        assert!(parse("bench").rounds() > parse("bench -q").rounds());
    }

    #[test]
    fn filters() {
        let args = parse(
            "bench --variants 256x2,128l --ops enc,mac --sizes 64,16,64 --ad 0 \
             --peers Aegis,openssl",
        );
        assert_eq!(args.variants, [Variant::Aegis256X2, Variant::Aegis128L]);
        let tasks: Vec<_> = args.tasks().iter().map(|task| (task.operation, task.size)).collect();
        let (encrypt, mac) = (Operation::Encrypt, Operation::Mac);
        assert_eq!(tasks, [(encrypt, 16), (encrypt, 64), (mac, 16), (mac, 64)]);
        assert_eq!((args.batch_sizes().len(), args.own_tls_rounds()), (0, 0));
        let batches = parse("bench --ops batch --sizes 64,16,64,65536");
        assert_eq!((batches.batch_sizes(), batches.tasks()), (vec![16, 64], Vec::new()));
        assert!(args.wants_peer("OpenSSL") && !args.wants_peer("BLAKE3"));
        assert!(!parse("bench --no-peers").wants_peer("aegis"));
        assert_eq!(parse("bench --check --quick").check, Some(None));
        assert_eq!(parse("bench --check here").check, Some(Some("here".into())));
        assert_eq!(parse("bench --backends portable").backends(), [Backend::Portable]);
        for wrong in ["--variants 128x3", "--peers ring", "--submit --no-peers", "--pages --quick"]
        {
            let words = ["bench"].into_iter().chain(wrong.split(' '));
            assert!(Args::try_parse_from(words).is_err(), "{wrong}");
        }
    }
}
