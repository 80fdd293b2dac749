//! `encrypt` and `decrypt`.

use std::io::{self, Read, Write};

use indicatif::ProgressBar;
use palladion_file::{Decryptor, Encryptor, Error, HEADER_LEN, Summary};

use crate::args::{DecryptArgs, EncryptArgs, InOutArgs, SecretArgs};
use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::interrupt;
use crate::keys::Source;
use crate::output::{Access, Output};
use crate::progress::Progress;

/// `encrypt`.
pub fn encrypt(args: &EncryptArgs) -> Result<()> {
    let (input, source, output) = open(&args.in_out, &args.secret)?;
    if output.is_terminal() && args.in_out.output.is_none() {
        return Err(Failure::usage("refusing to write binary data to a terminal")
            .hint("name a file with -o OUT, pipe the output, or force it with -o -"));
    }
    let secret = source.secret(true)?;
    input.begin();
    let mut progress = Progress::of_bytes(input.len);
    let writer = Impatient { output: &output, bar: progress.bar() };
    let mut encryptor = Encryptor::new(secret.borrow()?)
        .algorithm(args.algorithm)
        .chunk_size(args.chunk_size)
        .on_progress(|done| progress.set(done));
    if let Some(threads) = args.in_out.threads {
        encryptor = encryptor.threads(threads);
    }
    let result = encryptor.run(&input.file, writer);
    drop(progress);
    if let Ok(summary) = &result {
        input.check_whole(summary.bytes)?;
    }
    finish(result, &args.in_out, &input, output)
}

/// `decrypt`.
pub fn decrypt(args: &DecryptArgs) -> Result<()> {
    let (input, source, output) = open(&args.in_out, &args.secret)?;
    input.begin();
    // Check the header before asking for a passphrase: the file may not be ours.
    let mut header = Vec::with_capacity(HEADER_LEN);
    let read = (&input.file).take(HEADER_LEN as u64).read_to_end(&mut header);
    read.map_err(|error| Failure::io("read", &input.name, &error))?;
    let needs_passphrase = palladion_file::needs_passphrase(&header);
    match needs_passphrase.and_then(|needed| source.fits(needed)) {
        Ok(()) => {}
        Err(error) => {
            let failure = Failure::file(&error, &input.name, &output.name);
            let is_raf = matches!(error, Error::NotPalladion) && header.starts_with(b"AEGISRAF");
            return Err(if is_raf {
                failure.hint("it is a RAF file: use palladion raf export")
            } else {
                failure
            });
        }
    }
    let secret = source.secret(false)?;
    let mut progress = Progress::of_bytes(input.len);
    let writer = Impatient { output: &output, bar: progress.bar() };
    let mut decryptor = Decryptor::new(secret.borrow()?).on_progress(|done| progress.set(done));
    if let Some(threads) = args.in_out.threads {
        decryptor = decryptor.threads(threads);
    }
    let result = decryptor.run(header.as_slice().chain(&input.file), writer);
    drop(progress);
    finish(result, &args.in_out, &input, output)
}

/// Ends the program as soon as a write fails: another thread may be waiting for input.
struct Impatient<'a> {
    output: &'a Output,
    bar: ProgressBar,
}

impl Write for Impatient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.file().write(bytes).inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted {
                self.bar.finish_and_clear();
                interrupt::end_with(&Failure::io("write", &self.output.name, error));
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Opens everything that a command needs, so that it fails before it asks for a passphrase.
fn open(args: &InOutArgs, secret: &SecretArgs) -> Result<(Input, Source, Output)> {
    let input = Input::open(args.input.as_deref())?;
    let source = Source::open(secret.given(), args.input.as_deref())?;
    let mut inputs = vec![("input", &input.metadata)];
    inputs.extend(source.file().map(|file| (source.name(), &file.metadata)));
    let output = Output::open(args.output.as_deref(), args.force, Access::Usual, &inputs)?;
    Ok((input, source, output))
}

fn finish(
    result: std::result::Result<Summary, Error>,
    args: &InOutArgs,
    input: &Input,
    output: Output,
) -> Result<()> {
    match result {
        Ok(_) => output.commit(args.force),
        Err(error) => Err(Failure::file(&error, &input.name, &output.name)),
    }
}
