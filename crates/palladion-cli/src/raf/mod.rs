//! `raf`: encrypted files that are read and edited at any offset.

pub mod args;
mod place;
mod salvage;
mod truncated;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Mutex;

use palladion_output::{Identity, Target};
use palladion_raf::merkle::{self, Hasher, Sha256};
use palladion_raf::{Error, HEADER_LEN};

use self::args::{
    CatArgs, Command, CreateArgs, ExportArgs, ImportArgs, InfoArgs, KeyArgs, TruncateArgs,
    VerifyArgs, WriteArgs,
};
use self::place::{Opened, Place, bytes_of};
use crate::failure::{Failure, Result, buffer, for_each, is_quiet, tell};
use crate::input::{Input, is_standard, is_standard_input};
use crate::keys::Source;
use crate::output::{Access, Output, same_file};
use crate::pieces::{self, PIECE, Pieces, up_to};
use crate::progress::Progress;
use crate::text::{json, json_object};
use crate::values::PartArgs;
use crate::{hex, interrupt, streams, terminal};

/// Bytes to write at once to an existing file. While it grows, each write waits until the data is
/// on disk.
const CHANGE: u64 = 8 << 20;
/// Room in a Merkle tree, as in pyaegis.
const MAX_CHUNKS: u64 = 16384;

/// `raf`.
pub fn run(command: &Command) -> Result<()> {
    match command {
        Command::Create(args) => create(args),
        Command::Info(args) => info(args),
        Command::Cat(args) => cat(args),
        Command::Write(args) => write(args),
        Command::Truncate(args) => truncate(args),
        Command::Verify(args) => verify(args),
        Command::Import(args) => import(args),
        Command::Export(args) => export(args),
    }
}

/// The source of the secret. The data and the secret cannot both be standard input.
fn source(key: &KeyArgs, data_is_standard_input: bool, is_new: bool) -> Result<Source> {
    Source::open(key.given(), data_is_standard_input, is_new)
}

fn open(path: &Path, key: &KeyArgs, change: bool) -> Result<Opened> {
    let mut place = Place::open(path, change)?;
    place.probe()?;
    place.unlock(key, source(key, false, false)?)
}

/// Opens the output for a new file, which is made from `input`.
fn new_output(
    path: &Path,
    force: bool,
    inputs: &[(&str, &Identity)],
    input: Option<&File>,
) -> Result<Output> {
    if is_standard(Some(path)) {
        return Err(Failure::usage("a RAF file cannot be written to standard output")
            .hint("it needs random access: name a file"));
    }
    Output::open_as(Some(path), force, Access::Usual, inputs, |target| match input {
        Some(input) => target.permissions_of(input),
        None => target,
    })
}

/// `raf create`.
fn create(args: &CreateArgs) -> Result<()> {
    let _hidden = terminal::Hidden;
    let source = source(&args.key, false, true)?;
    let output = new_output(&args.file, args.new.force, source.as_input().as_slice(), None)?;
    let mut file = place::create(&output, &args.key, &args.new, source)?;
    Change::new(&mut file, Some(args.size), PIECE, false).zeros(args.size)?;
    drop(file);
    output.commit(true)
}

/// `raf import`.
fn import(args: &ImportArgs) -> Result<()> {
    let _hidden = terminal::Hidden;
    let input = Input::open(Some(&args.input))?;
    let mut source = source(&args.key, is_standard_input(Some(&args.input)), true)?;
    let mut inputs = vec![("input", &input.identity)];
    inputs.extend(source.as_input());
    let output = new_output(&args.file, args.new.force, &inputs, Some(&input.file))?;
    source.refuse(&input)?;
    let mut file = place::create(&output, &args.key, &args.new, source)?;
    Change::new(&mut file, input.len, PIECE, false).input(&input, 0)?;
    drop(file);
    output.commit(true)
}

/// `raf info`.
fn info(args: &InfoArgs) -> Result<()> {
    let mut place = Place::open(&args.file, false)?;
    let (info, len) = (place.probe()?, place.len()?);
    let name = place.name.clone();
    let verified = args.key.given().is_some();
    if verified {
        place.unlock(&args.key, source(&args.key, false, false)?)?;
    }
    let (algorithm, file_id) = (info.algorithm.name(), hex::encode(&info.file_id));
    let [chunk_size, size, chunks, on_disk] =
        [info.chunk_size.into(), info.size, info.chunks(), len].map(|number| number.to_string());
    let text = if args.json {
        json_object(&[
            ("file", &json(args.file.as_os_str().as_encoded_bytes())),
            ("algorithm", &json(algorithm.as_bytes())),
            ("chunk_size", &chunk_size),
            ("size", &size),
            ("chunks", &chunks),
            ("on_disk", &on_disk),
            ("file_id", &json(file_id.as_bytes())),
            ("header_verified", &verified.to_string()),
        ])
    } else {
        let header =
            if verified { "verified" } else { "not verified (name the key with -k, or use -p)" };
        format!(
            "algorithm:   {algorithm}\nchunk size:  {chunk_size}\nsize:        {size}\n\
             chunks:      {chunks}\non disk:     {on_disk}\n\
             file id:     {file_id}\nheader:      {header}\n"
        )
    };
    streams::print(&text)?;
    let needed = u128::from(info.chunks()) * info.record_len() as u128 + HEADER_LEN as u128;
    if u128::from(len) < needed {
        return Err(Failure::damaged(format!(
            "{name}: the file is truncated: it has {len} bytes, but should have {needed}"
        ))
        .hint("fetch the file again, or restore a copy"));
    }
    Ok(())
}

/// `raf cat`.
fn cat(args: &CatArgs) -> Result<()> {
    decrypt(Place::open(&args.file, false)?, &args.key, &args.part)
}

/// `raf export`.
fn export(args: &ExportArgs) -> Result<()> {
    let place = Place::open(&args.file, false)?;
    if args.salvage {
        let source = source(&args.key, false, false)?;
        let output = plain_output(&place, &source, Some(&args.output), args.force)?;
        return salvage::export(place, &args.key, source, output);
    }
    let output = Some(args.output.clone());
    let part = PartArgs { offset: 0, tail: None, length: None, output, force: args.force };
    decrypt(place, &args.key, &part)
}

/// Opens the output for the contents of a file.
fn plain_output(
    place: &Place,
    source: &Source,
    output: Option<&Path>,
    force: bool,
) -> Result<Output> {
    let mut inputs = vec![("input", &place.identity)];
    inputs.extend(source.as_input());
    let open = |target: Target| target.permissions_of(&place.file);
    Output::open_as(output, force, Access::Usual, &inputs, open)
}

fn decrypt(mut place: Place, key: &KeyArgs, args: &PartArgs) -> Result<()> {
    let chunk = u64::from(place.probe()?.chunk_size);
    let source = source(key, false, false)?;
    let output = plain_output(&place, &source, args.output.as_deref(), args.force)?;
    let file = place.unlock(key, source)?;
    let part = pieces::part(args, file.raf.size(), &file.name)?;
    let progress = Progress::of_bytes(Some(part.end - part.start), &file.name);
    let read = |buffer: &mut [u8], at| file.raf.read_at(buffer, at);
    let damaged = |error: &Error| match error {
        Error::DamagedChunk { index } => Some(*index),
        _ => None,
    };
    let copied = pieces::copy(&output, part, chunk, progress, read, damaged)?;
    copied.map_err(|error| file.failed("read", error))?;
    output.commit(true)
}

/// `raf write`.
fn write(args: &WriteArgs) -> Result<()> {
    let mut place = Place::open(&args.file, true)?;
    place.probe()?;
    let input = Input::open(args.input.as_deref())?;
    same_file(&place.identity, &[("input", &input.identity)], &place.name)?;
    let source = source(&args.key, is_standard_input(args.input.as_deref()), false)?;
    let mut file = place.unlock(&args.key, source)?;
    file.raf.set_barriers(true);
    let offset = if args.append { file.raf.size() } else { args.offset };
    let gap = offset.saturating_sub(file.raf.size());
    let mut change = Change::new(&mut file, input.len.map(|len| gap + len), CHANGE, true);
    change.input(&input, offset)?;
    drop(change);
    conclude(file)
}

/// `raf truncate`.
fn truncate(args: &TruncateArgs) -> Result<()> {
    let mut file = open(&args.file, &args.key, true)?;
    file.raf.set_barriers(true);
    let size = file.raf.size();
    if args.size < size {
        let cut = interrupt::step(|| file.raf.set_size(args.size), || ());
        cut.map_err(|error| file.failed("write", error))?;
    } else {
        Change::new(&mut file, Some(args.size - size), CHANGE, true).zeros(args.size)?;
    }
    conclude(file)
}

/// Syncs a finished change to disk.
fn conclude(mut file: Opened) -> Result<()> {
    file.raf.sync().map_err(|error| file.failed("write", error))?;
    interrupt::conclude();
    Ok(())
}

/// A file that is being written.
struct Change<'a> {
    file: &'a mut Opened,
    progress: Progress,
    /// Bytes to write at once.
    piece: u64,
    /// Whether the file remains if the change fails.
    stays: bool,
    /// Bytes written so far.
    done: u64,
}

impl<'a> Change<'a> {
    fn new(file: &'a mut Opened, total: Option<u64>, piece: u64, stays: bool) -> Self {
        let progress = Progress::of_bytes(total, &file.name);
        Self { file, progress, piece, stays, done: 0 }
    }

    fn chunk(&self) -> u64 {
        self.file.raf.info().chunk_size.into()
    }

    /// Writes the whole input at `offset`, after zeros if the file ends before it.
    fn input(&mut self, input: &Input, offset: u64) -> Result<()> {
        input.begin();
        let cannot = |error| Failure::io("read", &input.name, &error);
        let own = input.file.try_clone().map_err(cannot)?;
        let first = up_to(offset, u64::MAX, self.chunk(), self.piece);
        let next = up_to(0, u64::MAX, self.chunk(), self.piece);
        let mut pieces = Pieces::read(own, first, next).map_err(cannot)?;
        let mut at = offset;
        while let Some(piece) = pieces.next().map_err(cannot)? {
            if at == offset {
                self.zeros(offset)?;
            }
            self.write(&piece, at)?;
            at += piece.len() as u64;
            pieces.done(piece);
        }
        input.check_whole(at - offset)
    }

    /// Extends the file with zeros to `size`, if it is shorter. If that fails, the file gets its
    /// size back.
    fn zeros(&mut self, size: u64) -> Result<()> {
        let before = self.file.raf.size();
        if before >= size {
            return Ok(());
        }
        self.file.check_space(size)?;
        let zeros = buffer(self.piece as usize)?;
        while self.file.raf.size() < size {
            let at = self.file.raf.size();
            let piece = up_to(at, size, self.chunk(), self.piece);
            if let Err(failure) = self.write(&zeros[..piece], at) {
                let raf = &mut self.file.raf;
                return Err(match raf.set_size(before).and_then(|()| raf.sync()) {
                    Ok(()) => failure.hint(format!("the file has {before} bytes again")),
                    Err(_) => failure,
                });
            }
        }
        Ok(())
    }

    fn write(&mut self, data: &[u8], at: u64) -> Result<()> {
        let Self { file, progress, done, stays, .. } = self;
        let after = *done + data.len() as u64;
        let farewell = stays.then(|| {
            let size = file.raf.size().max(at + data.len() as u64);
            let text = format!(
                "stopped: wrote {after} bytes to {}, which now has {size} bytes",
                file.name
            );
            (progress.bar(), text)
        });
        let written = interrupt::step(
            || file.raf.write_at(data, at),
            || {
                if let Some((bar, text)) = farewell {
                    bar.finish_and_clear();
                    tell(&text);
                }
            },
        );
        if let Err(error) = written {
            let failure = file.failed("write", error);
            if !*stays {
                return Err(failure);
            }
            // Even if this fails, the file is sound: only its end may be longer than needed.
            let _ = file.raf.recover().and_then(|()| file.raf.sync());
            return Err(failure.hint(format!(
                "wrote {done} bytes before the error; the file has {} bytes",
                file.raf.size()
            )));
        }
        *done = after;
        progress.set(after);
        Ok(())
    }
}

/// `raf verify`.
fn verify(args: &VerifyArgs) -> Result<()> {
    if let (Some(a), Some(b)) = (args.max_chunks, args.expected_chunks())
        && a != b
    {
        return Err(Failure::usage(format!(
            "--expect is for --max-chunks {b}, but --max-chunks says {a}"
        )));
    }
    if args.files.len() > 1 && (args.commitment || args.expect.is_some()) {
        return Err(Failure::usage("--commitment and --expect are for one file"));
    }
    let mut source = None;
    for_each(&args.files, |path| verify_one(args, path, &mut source))
}

/// Verifies a file. The secret is kept for the next one.
fn verify_one(args: &VerifyArgs, path: &Path, secret: &mut Option<Source>) -> Result<()> {
    let mut place = Place::open(path, false)?;
    let info = place.probe()?;
    let source = match secret {
        Some(source) => source,
        None => secret.insert(source(&args.key, false, false).map_err(Failure::of_all_files)?),
    };
    let key = place.master_key(&args.key, source)?;
    // A program that was interrupted may have left them.
    let ours = info.chunks().saturating_mul(info.record_len() as u64) + HEADER_LEN as u64;
    if let Some(more @ 1..) = place.len()?.checked_sub(ours) {
        tell(&format!(
            "warning: {}: {more} bytes follow the last chunk; nothing protects them, and nothing \
             reads them",
            place.name
        ));
    }
    if args.commitment || args.expect.is_some() {
        let usual = info.chunks().max(MAX_CHUNKS).checked_next_power_of_two().unwrap_or(u64::MAX);
        let max_chunks = args.max_chunks.or(args.expected_chunks()).unwrap_or(usual);
        // If a chunk is damaged, go on to name all damaged chunks.
        if let Some(hash) = commit(place.again()?.open_with(&key)?, max_chunks)? {
            return told(args, &place.name, &hash, max_chunks);
        }
    }
    let file = place.open_with(&key)?;
    let (name, chunks) = (file.name.clone(), info.chunks());
    match damaged(file)? {
        0 if is_quiet() => Ok(()),
        0 => streams::print(format!("{name}: OK, {chunks} chunks\n")),
        damaged => {
            Err(Failure::damaged(format!("{name}: {damaged} of {chunks} chunks are damaged"))
                .hint("restore a copy, or read the rest with palladion raf export --salvage"))
        }
    }
}

/// Checks or prints the commitment.
fn told(args: &VerifyArgs, name: &str, hash: &[u8], max_chunks: u64) -> Result<()> {
    if let Some(expected) = &args.expect
        && expected.hash != hash
    {
        return Err(Failure::damaged(format!(
            "{name}: the commitment is {} with room for {max_chunks} chunks, not the expected one",
            hex::encode(hash)
        ))
        .hint(
            "the file was changed or an older version was restored since the commitment was made, \
             or --max-chunks differs",
        ));
    }
    match args.commitment {
        true => streams::print(format!("{}  {max_chunks}\n", hex::encode(hash))),
        false if is_quiet() => Ok(()),
        false => streams::print(format!("{name}: OK, as expected\n")),
    }
}

/// The commitment of a file, if no chunk is damaged.
fn commit(file: Opened, max_chunks: u64) -> Result<Option<Vec<u8>>> {
    let info = file.raf.info();
    let progress = Mutex::new((0, Progress::of_bytes(Some(info.size), &file.name)));
    let hasher = Watched { chunk: info.chunk_size.into(), size: info.size, progress };
    let made = file
        .raf
        .with_merkle_hasher(hasher, Sha256::LEN, max_chunks)
        .and_then(|file| file.commitment());
    match made {
        Ok(hash) => Ok(Some(hash)),
        Err(Error::DamagedChunk { .. }) => Ok(None),
        Err(Error::TreeSize(_)) => {
            Err(Failure::usage(format!("a Merkle tree cannot have room for {max_chunks} chunks")))
        }
        Err(error) => Err(place::failed("read", &file.name, Some(info), error)),
    }
}

/// SHA-256 that reports progress.
struct Watched {
    chunk: u64,
    size: u64,
    progress: Mutex<(u64, Progress)>,
}

impl Hasher for Watched {
    fn hash(&self, out: &mut [u8], input: merkle::Input<'_>) -> io::Result<()> {
        if let (merkle::Input::Leaf { .. }, Ok((done, progress))) =
            (input, self.progress.lock().as_deref_mut())
        {
            *done += self.chunk;
            progress.set(self.size.min(*done));
        }
        Sha256.hash(out, input)
    }
}

/// Reads all chunks, reports damaged ones, and counts them.
fn damaged(file: Opened) -> Result<u64> {
    let info = file.raf.info();
    let chunk = u64::from(info.chunk_size);
    let mut buffer = buffer(PIECE as usize)?;
    let mut progress = Progress::of_bytes(Some(info.size), &file.name);
    let (mut at, mut damaged) = (0, 0);
    while at < info.size {
        let piece = up_to(at, info.size, chunk, PIECE);
        match file.raf.read_at(&mut buffer[..piece], at) {
            Ok(_) => {}
            // Others in this piece may be damaged too.
            Err(Error::DamagedChunk { .. }) => {
                for index in at / chunk..(at + piece as u64).div_ceil(chunk) {
                    match file.raf.read_at(&mut buffer[..chunk as usize], index * chunk) {
                        Ok(_) => {}
                        Err(Error::DamagedChunk { index }) => {
                            damaged += 1;
                            let text = format!(
                                "{}: chunk {index} is damaged ({})",
                                file.name,
                                bytes_of(&info, index)
                            );
                            progress.bar().suspend(|| Failure::damaged(text).tell());
                        }
                        Err(error) => return Err(file.failed("read", error)),
                    }
                }
            }
            Err(error) => return Err(file.failed("read", error)),
        }
        at += piece as u64;
        progress.set(at);
    }
    Ok(damaged)
}
