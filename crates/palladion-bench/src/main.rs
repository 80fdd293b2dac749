//! Compares this library with other implementations of AEGIS, other ciphers and other MACs in one
//! run.
//!
//!     cargo run --release -p palladion-bench -- --help

#![deny(unsafe_code)]

mod algorithm;
mod batch;
mod bounds;
mod cli;
mod facts;
mod files;
mod goals;
mod machine;
mod measure;
mod pages;
mod plots;
mod processes;
mod report;
mod results;
mod stats;
mod subjects;
#[cfg(feature = "tls")]
mod tls;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::Args;
use crate::measure::Measurement;
use crate::results::Results;

/// The default folder for results, with a folder for each kind of CPU.
const ROOT: &str = "target/bench";
/// The folder with a folder of committed results for each CPU.
const COMMITTED: &str = "docs/benchmarks";

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("palladion-bench: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Returns false if a check found slower cells.
fn run(args: &Args) -> Result<bool, String> {
    if let Some(folder) = &args.part {
        let part = measure(args)?;
        return files::write(folder, files::all(&part)).map(|()| true);
    }
    if let Some(folder) = &args.pages {
        return pages::write_all(folder.as_deref().unwrap_or(Path::new(COMMITTED))).map(|()| true);
    }
    if args.submit && !Path::new(COMMITTED).join("README.md").exists() {
        return Err(format!("no {COMMITTED} here: run it in the root of the repository"));
    }
    let slug = machine::slug(machine::facts().get(facts::CPU));
    // Read first: measuring takes minutes, and may overwrite the files.
    let committed = match &args.check {
        None => None,
        Some(folder) => {
            let folder = folder.clone().unwrap_or_else(|| Path::new(COMMITTED).join(&slug));
            let results = files::read(&folder).map_err(|error| {
                format!("no results to check against: {error} (name the folder: --check FOLDER)")
            })?;
            Some((folder, results))
        }
    };
    let results = measure_in_processes(args)?;
    for table in report::all(&results, false) {
        println!("{}\n\n{}", table.title, table.markdown());
    }
    for note in &results.notes {
        println!("Note: {note}.");
    }
    println!("\nGoals\n\n{}", goals::text(&goals::all(&results)));
    let cpu = results.facts.get(facts::CPU);
    let summary = report::summary([(cpu.to_owned(), &results)]);
    println!("Encryption of messages of 16 KiB, GB/s\n\n{}", summary.markdown());
    let root = Path::new(if args.submit { COMMITTED } else { ROOT });
    let dir = args.out.clone().unwrap_or_else(|| root.join(&slug));
    pages::write(&results, &dir)?;
    println!("Written to {}: README.md, plots and CSV files.", dir.display());
    if args.submit {
        pages::write_all(root)?;
        print!("{}", pages::how_to_submit(cpu, &slug));
    }
    let Some((folder, committed)) = committed else { return Ok(true) };
    let goals = goals::compare(&results, &committed, &folder)?;
    print!("\nCompared with {}:\n\n{}", folder.display(), goals::text(&goals));
    Ok(goals.iter().all(|goal| goal.met() != Some(false)))
}

/// Measures everything, in several processes.
fn measure_in_processes(args: &Args) -> Result<Results, String> {
    if cfg!(debug_assertions) {
        eprintln!("palladion-bench: this is a debug build; add --release for meaningful figures");
    }
    let begin = Instant::now();
    let bar = ProgressBar::new(steps(args) * u64::from(args.processes()));
    let style = ProgressStyle::with_template("{bar:32} {percent:>3}%  {msg}  {eta} left");
    bar.set_style(style.expect("the template is right"));
    let mut results = processes::run(args.processes(), |line| {
        bar.inc(1);
        bar.set_message(line.to_owned());
    })?;
    bar.finish_and_clear();
    for (name, number) in [
        (facts::PROCESSES, args.processes()),
        (facts::ROUNDS, args.own_rounds() * args.processes()),
        (facts::SECONDS, begin.elapsed().as_secs() as u32),
    ] {
        results.facts.set(name, number);
    }
    Ok(results)
}

/// The number of lines that [`measure`] prints.
fn steps(args: &Args) -> u64 {
    let batches = args.batch_sizes().len() * batch::OPERATIONS.len() * batch::COUNTS.len();
    (args.tasks().len() + batches + usize::from(args.own_tls_rounds() > 0)) as u64
}

/// Measures the part of one process. Prints what it measures next.
fn measure(args: &Args) -> Result<Results, String> {
    let mut facts = facts::Facts::default();
    facts.set(facts::COMMAND, command());
    for (name, value) in machine::facts().iter() {
        facts.set(name, value);
    }
    let core = machine::pin(args.core);
    if args.core.is_some() && core != args.core {
        return Err("cannot run on that core".into());
    }
    let backend = args.backend().ok_or("no backend")?;
    facts.set(facts::BACKEND, backend.name());
    let (entries, mut notes) =
        subjects::all(&args.variants, &args.backends(), |peer| args.wants_peer(peer));
    for entry in &entries {
        facts.set(&format!("Version of {}", entry.description.library), &entry.version);
    }
    match core {
        Some(core) => facts.set("Pinned to core", core),
        None => notes.push("not pinned to a core: not supported on this system".into()),
    }
    let mut measurement = Measurement::new(entries, notes);
    for task in args.tasks() {
        println!("{} {}", task.operation.name(), task.size);
        measurement.run(task, args.own_rounds())?;
    }
    measurement.clock(&mut facts);
    let Measurement { entries, cells, notes, .. } = measurement;
    let subjects: Vec<_> = entries.into_iter().map(|entry| entry.description).collect();
    let mut batches = Vec::new();
    for operation in batch::OPERATIONS {
        for size in args.batch_sizes() {
            for count in batch::COUNTS {
                println!("{count} messages, {} {size}", operation.name());
                let task = (operation, size, count);
                batches.extend(batch::measure(&subjects, backend, task, args.own_batch_rounds())?);
            }
        }
    }
    #[cfg(not(feature = "tls"))]
    let tls = Vec::new();
    #[cfg(feature = "tls")]
    let tls = match args.own_tls_rounds() {
        0 => Vec::new(),
        rounds => {
            println!("TLS and QUIC");
            tls::measure(rounds)?
        }
    };
    Ok(Results { facts, notes, subjects, cells, batches, tls })
}

/// The command that repeats this run.
fn command() -> String {
    let args = std::env::args().skip(1).take_while(|arg| arg != "--part");
    ["cargo run --release -p palladion-bench --".to_owned()]
        .into_iter()
        .chain(args)
        .collect::<Vec<_>>()
        .join(" ")
}
