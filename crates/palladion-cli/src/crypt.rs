//! `encrypt` and `decrypt`.

use palladion_file::{Decryptor, Encryptor, Error, Summary};

use crate::args::{DecryptArgs, EncryptArgs, InOutArgs};
use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::keys;
use crate::output::{Access, Output};
use crate::progress::Progress;

/// `encrypt`.
pub fn encrypt(args: &EncryptArgs) -> Result<()> {
    let (input, output) = open(&args.in_out)?;
    if output.is_terminal() && args.in_out.output.is_none() {
        return Err(Failure::usage("an encrypted file is no text for a terminal")
            .hint("name a file with -o OUT, pipe the output on, or insist with -o -"));
    }
    let secret = keys::secret(&args.secret, true, args.in_out.input.as_deref())?;
    let mut progress = Progress::of_bytes(input.len);
    let mut encryptor = Encryptor::new(secret.borrow())
        .algorithm(args.algorithm)
        .chunk_size(args.chunk_size)
        .on_progress(|done| progress.set(done));
    if let Some(threads) = args.in_out.threads {
        encryptor = encryptor.threads(threads);
    }
    let result = encryptor.run(&input.file, output.file());
    drop(progress);
    finish(result, &args.in_out, &input, output)
}

/// `decrypt`.
pub fn decrypt(args: &DecryptArgs) -> Result<()> {
    let (input, output) = open(&args.in_out)?;
    let secret = keys::secret(&args.secret, false, args.in_out.input.as_deref())?;
    let mut progress = Progress::of_bytes(input.len);
    let mut decryptor = Decryptor::new(secret.borrow()).on_progress(|done| progress.set(done));
    if let Some(threads) = args.in_out.threads {
        decryptor = decryptor.threads(threads);
    }
    let result = decryptor.run(&input.file, output.file());
    drop(progress);
    finish(result, &args.in_out, &input, output)
}

fn open(args: &InOutArgs) -> Result<(Input, Output)> {
    let input = Input::open(args.input.as_deref())?;
    let output = Output::open(args.output.as_deref(), args.force, Access::Usual, Some(&input.file))?;
    Ok((input, output))
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
