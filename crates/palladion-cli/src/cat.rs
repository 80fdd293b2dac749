//! `cat`.

use palladion_file::{Error, SeekReader};

use crate::args::CatArgs;
use crate::failure::{Failure, Result};
use crate::input::RandomAccess;
use crate::output::{Access, Output};
use crate::pieces;
use crate::progress::Progress;
use crate::ring::Ring;
use crate::sealed::Sealed;

/// `cat`.
pub fn run(args: &CatArgs) -> Result<()> {
    let no_pipe = "name a file, or decrypt the pipe with palladion decrypt";
    let RandomAccess { file, name, metadata } =
        RandomAccess::open(&args.file, false, "name a file in it", no_pipe)?;
    let sealed = Sealed::read(&file, &name, "cat")?;
    let limits = args.ring.kdf_limits();
    let mut ring = Ring::open(&args.ring.given(), false, limits)?;
    ring.check(&sealed)?;
    let inputs = [&[("input", &metadata)], &ring.files()[..]].concat();
    let output =
        Output::open(args.part.output.as_deref(), args.part.force, Access::Usual, &inputs)?;
    let mut reader = ring
        .unlock(&sealed, &output.name, |secret| SeekReader::with_limits(secret, &limits, &file))?;
    if let Some(threads) = args.threads.threads {
        reader = reader.threads(threads);
    }
    let part = pieces::part(&args.part, reader.len(), &name)?;
    let progress = Progress::of_bytes(Some(part.end - part.start), &name);
    let chunk = reader.chunk_size().bytes() as u64;
    let read = |buffer: &mut [u8], at| reader.read_at(buffer, at);
    let damaged = |error: &Error| match error {
        Error::Damaged { chunk, .. } | Error::Truncated { chunk: Some(chunk), .. } => Some(*chunk),
        _ => None,
    };
    match pieces::copy(output.file(), part, chunk, progress, read, damaged) {
        Ok(Ok(())) => output.commit(true),
        Ok(Err(error)) => Err(Failure::file(&error, &name, &output.name)),
        Err(error) => Err(Failure::io("write", &output.name, &error)),
    }
}
