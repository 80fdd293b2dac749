//! `cat`.

use std::path::PathBuf;

use palladion_file::{Error, SeekReader};

use crate::args::CatArgs;
use crate::failure::{Failure, Result};
use crate::input::{RandomAccess, is_standard};
use crate::output::{Access, Output};
use crate::pieces;
use crate::progress::{Progress, label};
use crate::ring::Ring;
use crate::sealed::Sealed;

/// `cat`. Stops at the first failure: what comes after it would look like part of the file that
/// failed.
pub fn run(args: &CatArgs) -> Result<()> {
    let standard_input = [PathBuf::from("-")];
    let paths = if args.files.is_empty() { &standard_input[..] } else { &args.files };
    let no_pipe = "name a file, or decrypt the pipe with palladion decrypt";
    let files = paths.iter().map(|path| match is_standard(Some(path)) {
        true => RandomAccess::standard_input(no_pipe),
        false => RandomAccess::open(path, false, "name a file in it", no_pipe),
    });
    let files: Vec<_> = files.collect::<Result<_>>()?;
    let limits = args.ring.kdf_limits();
    let place = args.ring.bind.as_deref();
    let mut ring = Ring::open(&args.ring.given(), args.reads_standard_input(), limits, place)?;
    let mut sealed = Vec::with_capacity(files.len());
    for file in &files {
        let header = Sealed::read_at_any_offset(file, "cat")?;
        ring.check(&header)?;
        sealed.push(header);
    }
    let mut inputs = ring.files();
    inputs.extend(files.iter().map(|file| ("input", &file.identity)));
    let (output, force) = (args.part.output.as_deref(), args.part.force);
    let output = Output::open_as(output, force, Access::Usual, &inputs, |target| {
        files.iter().fold(target, |target, file| target.permissions_of(&file.file))
    })?;
    for (at, (file, sealed)) in files.iter().zip(&sealed).enumerate() {
        let label = label(Some(&paths[at]), at, files.len());
        copy(args, file, sealed, &mut ring, &output, &label)?;
    }
    output.commit(true)
}

/// Writes the part of one file.
fn copy(
    args: &CatArgs,
    file: &RandomAccess,
    sealed: &Sealed<'_>,
    ring: &mut Ring,
    output: &Output,
    label: &str,
) -> Result<()> {
    let RandomAccess { file, name, .. } = file;
    let limits = args.ring.kdf_limits();
    let mut reader =
        ring.unlock(sealed, &output.name, |secret| SeekReader::with_limits(secret, &limits, file))?;
    sealed.note_slots(ring.opened);
    if let Some(threads) = args.threads.threads {
        reader = reader.threads(threads);
    }
    let part = pieces::part(&args.part, reader.len(), name)?;
    let progress = Progress::of_bytes(Some(part.end - part.start), label);
    let chunk = reader.chunk_size().bytes() as u64;
    let read = |buffer: &mut [u8], at| reader.read_at(buffer, at);
    let damaged = |error: &Error| match error {
        Error::Damaged { chunk, .. } | Error::Truncated { chunk: Some(chunk), .. } => Some(*chunk),
        _ => None,
    };
    let copied = pieces::copy(output, part, chunk, progress, read, damaged)?;
    copied.map_err(|error| Failure::file(&error, name, &output.name))
}
