//! Reads what is intact of a damaged file.

use std::io::{self, Read};
use std::ops::Range;

use palladion_raf::{Error, HEADER_LEN, Raf};

use crate::failure::{Failure, Result};
use crate::keys::Source;
use crate::output::Output;
use crate::pieces::{self, PIECE, up_to};
use crate::progress::Progress;
use crate::raf::args::KeyArgs;
use crate::raf::place::{self, Place};
use crate::raf::truncated::Truncated;
use crate::salvage::Found;

/// Writes the contents, with zeros for what is damaged, and for the end of a truncated file.
pub fn export(mut place: Place, key: &KeyArgs, mut source: Source, output: Output) -> Result<()> {
    let info = place.probe()?;
    let whole = place.len()?.saturating_sub(HEADER_LEN as u64) / info.record_len() as u64;
    let end = info.size.min(whole.saturating_mul(info.chunk_size.into()));
    let master_key = place.master_key(key, &mut source)?;
    let (name, mut raf) = place.open_truncated(&master_key)?;
    // The header says where the contents end.
    let mut found = Found { has_end: true, ..Found::default() };
    let mut progress = Progress::of_bytes(Some(end), &name);
    let written = pieces::write(&output, PIECE as usize, |sink| {
        let mut at = 0;
        while at < end {
            let piece = up_to(at, end, info.chunk_size.into(), PIECE);
            let range = at..at + piece as u64;
            let read = |buffer: &mut [u8]| {
                let buffer = &mut buffer[..piece];
                read(&mut raf, buffer, range.clone(), info.chunk_size.into(), &mut found)
            };
            if let Err(error) = sink.write(read)? {
                return Ok(Err(error));
            }
            at = range.end;
            progress.set(at);
        }
        Ok(Ok(()))
    });
    drop(progress);
    written?.map_err(|error| place::failed("read", &name, Some(info), error))?;
    if end < info.size {
        found.add_missing(end..info.size);
    }
    let incomplete = found.report(&name)?;
    // A file can have a hole there.
    let extended = match output.is_direct() {
        true => io::copy(&mut io::repeat(0).take(info.size - end), &mut output.writer()).map(drop),
        false => output.file().set_len(info.size),
    };
    extended.map_err(|error| Failure::io("write", &output.name, &error))?;
    output.commit(true)?;
    incomplete.map_or(Ok(()), Err)
}

/// Reads a range that begins with a chunk, with zeros for chunks that are damaged or cannot be
/// read.
fn read(
    raf: &mut Raf<Truncated>,
    buffer: &mut [u8],
    range: Range<u64>,
    chunk: u64,
    found: &mut Found,
) -> palladion_raf::Result<usize> {
    match raf.read_at(buffer, range.start) {
        Ok(len) => found.intact += len as u64,
        Err(Error::DamagedChunk { .. } | Error::Io(_)) => {
            for (at, part) in
                (range.start..).step_by(chunk as usize).zip(buffer.chunks_mut(chunk as usize))
            {
                match raf.read_at(part, at) {
                    Ok(len) => found.intact += len as u64,
                    Err(Error::DamagedChunk { .. } | Error::Io(_)) => {
                        part.fill(0);
                        found.add_missing(at..at + part.len() as u64);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Err(error) => return Err(error),
    }
    Ok(buffer.len())
}
