//! `palladion`: encrypts, decrypts and authenticates files with AEGIS.
//!
//! A thin layer over the libraries: the formats and the threads are in `palladion-file` and
//! `palladion-raf`, the ciphers in `palladion`.

mod args;
mod backends;
mod crypt;
mod failure;
mod hex;
mod input;
mod interrupt;
mod keys;
mod mac;
mod output;
mod pages;
mod progress;
mod raf;
mod ring;
mod salvage;
mod speed;
mod streams;
mod terminal;
mod text;
mod values;
mod waiting;
mod words;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::crypt::Options;

fn main() -> ExitCode {
    interrupt::end_panics_properly();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(shown) => return show(&shown),
    };
    interrupt::install();
    if args.quiet {
        failure::be_quiet();
    }
    let result = match args.command {
        Command::Keygen(args) => keys::generate(&args),
        Command::Fingerprint(args) => keys::fingerprint(&args),
        Command::Encrypt(args) if args.decrypt => {
            let options = Options::default();
            crypt::decrypt(args.secret.given().as_slice(), &options, &args.in_out)
        }
        Command::Encrypt(args) => crypt::encrypt(&args),
        Command::Decrypt(args) => {
            let options = Options { limits: args.kdf_limits(), salvage: args.salvage };
            crypt::decrypt(&args.given(), &options, &args.in_out)
        }
        Command::Mac(args) => mac::run(&args),
        Command::Raf(args) => raf::run(&args.command),
        Command::Backends => backends::list(),
        Command::Speed(args) => speed::table(&args),
        Command::Completions { shell } => pages::completions(shell),
        Command::Man { dir } => pages::man(dir.as_deref()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.end(),
    }
}

/// Prints a page of help, the version or a mistake on the command line. Fails if help cannot be
/// printed, on a full disk for example.
fn show(text: &clap::Error) -> ExitCode {
    match streams::show(text) {
        Ok(()) => ExitCode::from(text.exit_code() as u8),
        Err(failure) => failure.end(),
    }
}
