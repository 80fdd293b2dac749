//! `palladion`: encrypts, decrypts and authenticates files with AEGIS.
//!
//! A thin layer over the libraries: the formats and the threads are in `palladion-file` and
//! `palladion-raf`, the ciphers in `palladion`.

mod age;
mod args;
mod backends;
mod batch;
mod cat;
mod decrypt;
mod encrypt;
mod failure;
mod foreign;
mod hex;
mod impatient;
mod info;
mod input;
mod interrupt;
mod keys;
mod mac;
mod naming;
mod output;
mod pages;
mod pieces;
mod progress;
mod raf;
mod recipients;
mod rewrap;
mod ring;
mod salvage;
mod sealed;
mod slots;
mod speed;
mod streams;
mod terminal;
mod text;
mod tree;
mod values;
mod verdict;
mod verify;
mod waiting;
mod words;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::{Args, Command};
use crate::decrypt::Options;
use crate::failure::{Failure, is_secret};

fn main() -> ExitCode {
    interrupt::end_panics_properly();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(shown) => return show(&with_better_tips(shown)),
    };
    interrupt::install();
    if args.quiet {
        failure::be_quiet();
    }
    let result = match args.command {
        Command::Keygen(args) => keys::generate(&args),
        Command::Fingerprint(args) => keys::fingerprint(&args),
        Command::Recipient(args) => recipients::print(&args.files, &args.passphrase_file),
        Command::Encrypt(args) if args.decrypt => {
            let options = Options { place: args.bind.as_deref(), ..Options::default() };
            decrypt::run(&args.secret.given(), &options, &args.in_out)
        }
        Command::Encrypt(args) => encrypt::run(&args),
        Command::Decrypt(args) => {
            let (limits, place) = (args.ring.kdf_limits(), args.ring.bind.as_deref());
            let options = Options { limits, salvage: args.salvage, place };
            decrypt::run(&args.ring.given(), &options, &args.in_out)
        }
        Command::Cat(args) => cat::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Slots(args) => slots::run(&args),
        Command::Rewrap(args) => rewrap::run(&args),
        Command::Verify(args) => verify::run(&args),
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

/// For an unknown option, drops clap's tip to pass it as a value, which would be a file. For a name
/// after `keygen`, says which option takes it.
fn with_better_tips(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(arg)) = error.get(ContextKind::InvalidArg) else { return error };
    let binary = "the output is binary: to send it as text, pipe it through base64";
    // As age -a.
    if error.kind() == ErrorKind::InvalidValue
        && arg.starts_with("--algorithm")
        && std::env::args_os().any(|arg| arg == "-a")
    {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![binary.into()]));
        return error;
    }
    let prior = error.get(ContextKind::PriorArg);
    if arg == "--passphrase" && matches!(prior, Some(ContextValue::String(prior)) if prior == arg) {
        let tip = "for several passphrases, use --passphrase-file, which can be repeated";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return error;
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let is_option = arg.starts_with('-');
    let is_first = std::env::args_os().nth(1).is_some_and(|first| first == **arg);
    let is_rewrap = std::env::args_os().nth(1).is_some_and(|first| first == "rewrap");
    let own = match &**arg {
        "-a" | "--armor" | "--armour" => Some(binary.into()),
        "-r" | "--recipient" if is_rewrap => Some("use '--to-recipient'".into()),
        "-R" | "--recipients-file" if is_rewrap => Some("use '--to-recipients-file'".into()),
        "--encrypt" | "--decrypt" if is_first => {
            Some(format!("the command is 'palladion {}'", &arg[2..]).into())
        }
        "-r" | "-R" | "-i" | "-p" | "-k" | "--recipient" if is_first => {
            Some(format!("name the command first, such as 'palladion encrypt {arg}'").into())
        }
        _ => (!is_option && std::env::args_os().any(|arg| arg == "keygen"))
            .then(|| format!("to name the file, use '-o {arg}'").into()),
    };
    if own.is_some() && is_option {
        // What clap took the option for.
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Usage);
    }
    if let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) {
        tips.retain(|tip| !is_option || !tip.to_string().contains("' as a value, use '"));
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    if let Some(tip) = own {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// Prints a page of help, the version or a mistake on the command line. Fails if help cannot be
/// printed, on a full disk for example.
fn show(text: &clap::Error) -> ExitCode {
    if text.use_stderr() && std::env::args_os().any(|arg| is_secret(Path::new(&arg))) {
        // Not with the secret in the message.
        Failure::usage("a secret key is where none belongs")
            .hint("the key may now be in the history of your shell; see palladion --help")
            .end();
    }
    match streams::show(text) {
        Ok(()) => ExitCode::from(text.exit_code() as u8),
        Err(failure) => failure.end(),
    }
}
