//! Compares this library with other implementations of AEGIS, other ciphers and other MACs in one
//! run.
//!
//!     cargo run --release -p palladion-bench -- --help

#![deny(unsafe_code)]

mod algorithm;
mod batch;
mod bounds;
mod check;
mod cli;
mod machine;
mod measure;
mod output;
mod plots;
mod report;
mod results;
mod stats;
mod subjects;
mod svg;
mod table;
#[cfg(feature = "tls")]
mod tls;
mod verdict;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};

use crate::check::Committed;
use crate::cli::Args;
use crate::machine::Machine;
use crate::measure::{Measurement, PASSES, SAMPLE_NS};
use crate::results::{Results, Settings};

/// The default folder for results, with a folder for each kind of CPU.
const ROOT: &str = "target/bench";

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
    // Read first: measuring takes minutes, and may overwrite the file.
    let slug = Machine::this(None).slug();
    let committed =
        args.check.as_ref().map(|folder| Committed::read(folder.as_deref(), &slug)).transpose()?;
    let results = measure(args)?;
    for table in report::all(&results) {
        println!("{}", table.text());
    }
    for note in &results.notes {
        println!("Note: {note}.");
    }
    print!("\nGoals\n\n{}", verdict::text(&results, usize::MAX));
    let dir = args.out.clone().unwrap_or_else(|| Path::new(ROOT).join(results.machine.slug()));
    output::write(&results, &dir, args.all)?;
    println!("\nWritten to {}: README.md, results.csv, batch.csv and plots.", dir.display());
    let Some(committed) = committed else { return Ok(true) };
    let (text, ok) = committed.compare(&results)?;
    print!("\n{text}");
    Ok(ok)
}

/// Measures everything and writes the results.
fn measure(args: &Args) -> Result<Results, String> {
    if cfg!(debug_assertions) {
        eprintln!("palladion-bench: this is a debug build; add --release for meaningful figures");
    }
    let core = machine::pin(args.core);
    if args.core.is_some() && core != args.core {
        return Err("cannot run on that core".into());
    }
    let automatic = palladion::backend().ok();
    let (entries, mut notes) =
        subjects::all(&args.variants, &args.backends(), |peer| args.wants_peer(peer))?;
    if core.is_none() {
        notes.push("not pinned to a core: not supported on this system".into());
    }
    let (tasks, rounds) = (args.tasks(), args.rounds());
    let (batch_sizes, batch_rounds) = (args.batch_sizes(), args.batch_rounds());
    let steps = tasks.len() as u64 * u64::from(PASSES.min(rounds));
    let bar = ProgressBar::new(
        steps + batch::steps(&batch_sizes, batch_rounds) + u64::from(args.tls_rounds()),
    );
    let style = ProgressStyle::with_template("{bar:32} {percent:>3}%  {msg}  {eta} left");
    bar.set_style(style.expect("the template is right"));
    let begin = Instant::now();
    let mut measurement = Measurement::new(entries, tasks, notes);
    measurement.run(rounds, |done, task| {
        bar.set_position(done);
        bar.set_message(format!("{} {}", task.operation.name(), task.size));
    })?;
    let subjects: Vec<_> =
        measurement.entries().iter().map(|entry| entry.description.clone()).collect();
    let batches = batch::measure(&subjects, &batch_sizes, batch_rounds, |operation, size| {
        bar.inc(1);
        bar.set_message(format!("batches, {} {size}", operation.name()));
    })?;
    #[cfg(feature = "tls")]
    let tls = tls::measure(args.tls_rounds(), || {
        bar.inc(1);
        bar.set_message("TLS and QUIC");
    })?;
    #[cfg(not(feature = "tls"))]
    let tls = Vec::new();
    bar.finish_and_clear();
    Ok(Results {
        machine: Machine::this(core),
        command: command(),
        settings: Settings {
            rounds,
            sample_us: SAMPLE_NS / 1e3,
            tag_bytes: subjects::TAG_LEN,
            seconds: begin.elapsed().as_secs_f64().round(),
        },
        clock: measurement.clock(),
        automatic,
        cells: measurement.cells(),
        subjects,
        batches,
        tls,
        notes: measurement.notes,
    })
}

/// The command that repeats this run.
fn command() -> String {
    let args = std::env::args().skip(1);
    ["cargo run --release -p palladion-bench --".to_owned()]
        .into_iter()
        .chain(args)
        .collect::<Vec<_>>()
        .join(" ")
}
