//! `encrypt` and `decrypt`.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::mem;
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;
use palladion_file::output::refuse_inputs;
use palladion_file::{Decryptor, Encryptor, Error, HEADER_LEN, KdfLimits, Salvaged};

use crate::args::{EncryptArgs, InOutArgs};
use crate::failure::{Failure, Result, quoted, tell};
use crate::input::{Input, descriptor_of, is_standard, is_unchanged};
use crate::interrupt;
use crate::keys::Source;
use crate::output::{Access, Output};
use crate::progress::Progress;
use crate::ring::{Ring, Tries};
use crate::salvage::Found;
use crate::text::printable;
use crate::values::Given;

/// The end of the name of an encrypted file.
const SUFFIX: &str = "pld";

/// `encrypt`.
pub fn encrypt(args: &EncryptArgs) -> Result<()> {
    let EncryptArgs { secret, in_out, .. } = args;
    let naming = Naming::new(in_out, encrypted_name)?;
    let mut source = Source::open(secret.given(), in_out.reads_standard_input(), true)?;
    let kdf = args.kdf();
    if kdf.is_some() && !source.is_passphrase() {
        return Err(Failure::usage("--kdf-memory and --kdf-passes are for a passphrase")
            .hint("leave them out, or use -p"));
    }
    for_each(in_out, |path, label, batch| {
        if source.is_passphrase() {
            batch.commit(false); // deriving a key takes its time
        }
        let input = Input::open(path)?;
        let sources = std::slice::from_ref(&source);
        let output = naming.open(&input, sources, path)?;
        if output.is_terminal() && in_out.output.is_none() {
            return Err(Failure::usage("refusing to write binary data to a terminal")
                .hint("name a file to encrypt, pipe the output, or force it with -o -"));
        }
        let secret = source.secret().map_err(Failure::of_all_files)?;
        input.begin();
        let mut progress = Progress::of_bytes(input.len, label);
        let writer = Impatient { input: &input, output: &output, bar: progress.bar() };
        let mut encryptor = Encryptor::new(secret.borrow()?)
            .algorithm(args.algorithm)
            .chunk_size(args.chunk_size)
            .kdf(kdf.unwrap_or_default())
            .on_progress(|done| progress.set(done));
        if let Some(threads) = in_out.threads {
            encryptor = encryptor.threads(threads);
        }
        let result = encryptor.run(input.reader(), writer);
        drop(progress);
        if let Ok(summary) = &result {
            input.check_whole(summary.bytes)?;
        }
        finish(result, input, output, path.filter(|_| in_out.rm))
    })
}

/// What `decrypt` does besides.
#[derive(Default)]
pub struct Options {
    /// What a file may make us spend on its passphrase.
    pub limits: KdfLimits,
    /// Whether to write what is intact of a damaged file.
    pub salvage: bool,
}

/// `decrypt`, and `encrypt -d`.
pub fn decrypt(given: &[Given<'_>], options: &Options, in_out: &InOutArgs) -> Result<()> {
    let naming = Naming::new(in_out, plain_name)?;
    let mut ring = Ring::open(given, in_out.reads_standard_input())?;
    for_each(in_out, |path, label, batch| {
        let input =
            Input::open_as("name the files in it: palladion decrypt DIRECTORY/*.pld", path)?;
        input.begin();
        // Check the header before asking for a passphrase: the file may not be ours.
        let mut header = Vec::with_capacity(HEADER_LEN);
        let read = input.reader().take(HEADER_LEN as u64).read_to_end(&mut header);
        read.map_err(|error| Failure::io("read", &input.name, &error))?;
        let failed = |error| {
            let failure = Failure::file(&error, &input.name, "the output");
            match matches!(error, Error::NotPalladion) && header.starts_with(b"AEGISRAF") {
                true => failure.hint("it is a RAF file: use palladion raf export"),
                false => failure,
            }
        };
        let needs_passphrase = palladion_file::needs_passphrase(&header).map_err(failed)?;
        ring.check(needs_passphrase, failed)?;
        if needs_passphrase {
            batch.commit(false); // the user may be asked, and deriving a key takes its time
        }
        let output = naming.open(&input, ring.sources(), path)?;
        let mut wrong = None;
        let mut tries = Tries::default();
        while let Some(secret) = ring.next(needs_passphrase, &mut tries, &input.name)? {
            let mut progress = Progress::of_bytes(input.len, label);
            let bar = progress.bar();
            let mut decryptor = Decryptor::new(secret.borrow()?)
                .kdf_limits(options.limits)
                .on_progress(|done| progress.set(done));
            if let Some(threads) = in_out.threads {
                decryptor = decryptor.threads(threads);
            }
            // A wrong secret is noticed before anything after the header is read.
            let file = header.as_slice().chain(input.reader());
            let result = match options.salvage {
                true => {
                    let mut sink = output.random_access()?;
                    decryptor
                        .salvage(file, |offset, text| {
                            sink.seek(SeekFrom::Start(offset))?;
                            sink.write_all(text)
                        })
                        .map(Some)
                }
                false => {
                    let writer = Impatient { input: &input, output: &output, bar };
                    decryptor.run(file, writer).map(|_| None)
                }
            };
            drop(progress);
            match result {
                Err(error @ (Error::WrongKey | Error::WrongPassphrase)) => wrong = Some(error),
                Ok(Some(salvaged)) => return conclude(salvaged, &input, output),
                result => {
                    return finish(result, input, output, path.filter(|_| in_out.rm));
                }
            }
        }
        let failure = Failure::file(&wrong.unwrap_or(Error::WrongKey), &input.name, &output.name);
        Err(match ring.tried(needs_passphrase) {
            Some(tried) => failure.detail(&tried),
            None => failure,
        })
    })
}

/// Does the work for each file and commits its output. `work` also gets what progress calls the
/// file. If it fails for one of several, the others are processed all the same; the status is that
/// of the first failure.
fn for_each(
    args: &InOutArgs,
    mut work: impl FnMut(Option<&Path>, &str, &mut Batch) -> Result<(Output, After)>,
) -> Result<()> {
    let mut files: Vec<_> = args.files.iter().map(|path| Some(path.as_path())).collect();
    if files.is_empty() {
        files.push(None);
    }
    let mut batch = Batch::new();
    for (at, path) in files.iter().enumerate() {
        let len = batch.make_room(*path);
        match work(*path, &label(*path, at, files.len()), &mut batch) {
            Ok(done) => batch.add(done, len, at + 1 == files.len()),
            Err(failure) => {
                batch.commit(false);
                let is_final = failure.is_final;
                batch.tell(failure);
                if is_final {
                    break;
                }
            }
        }
    }
    batch.failure.map_or(Ok(()), Err)
}

/// Returns what progress calls a file: its number among several, and its name.
fn label(path: Option<&Path>, at: usize, of: usize) -> String {
    let name = path.filter(|path| !is_standard(Some(path))).and_then(Path::file_name);
    let name = name.map(|name| printable(name.as_encoded_bytes())).unwrap_or_default();
    match of {
        1 => name,
        _ => format!("{} of {of}: {name}", at + 1),
    }
}

/// Finished outputs of short files. They are committed together, because a disk takes hardly longer
/// to sync many files than to sync one.
struct Batch {
    outputs: Vec<(Output, After)>,
    /// How long their inputs are together.
    len: u64,
    most_outputs: usize,
    /// The first of all files.
    failure: Option<Failure>,
}

impl Batch {
    const MOST_OUTPUTS: u64 = 64;
    /// A longer file does not join.
    const LONGEST: u64 = 64 << 20;

    fn new() -> Self {
        #[cfg(unix)]
        let most_open = {
            use rustix::process::{Resource, getrlimit};
            getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
        };
        #[cfg(not(unix))]
        let most_open = u64::MAX;
        // An output has up to three, and the program some others.
        let most_outputs = most_open.saturating_sub(32) / 4;
        let most_outputs = most_outputs.clamp(1, Self::MOST_OUTPUTS) as usize;
        Self { outputs: Vec::new(), len: 0, most_outputs, failure: None }
    }

    /// Commits the outputs unless the input that comes next may join them. It may be too long, or
    /// keep the program waiting, or be one of them. Returns its length if it may join a batch.
    fn make_room(&mut self, path: Option<&Path>) -> u64 {
        let named = path.filter(|_| descriptor_of(path).is_none());
        let found = named.and_then(|path| fs::metadata(path).ok());
        let len = match found.filter(|found| found.is_file()) {
            Some(file) if !self.outputs.iter().any(|(output, _)| output.replaces(&file)) => {
                file.len()
            }
            _ => u64::MAX,
        };
        if self.len.saturating_add(len) > Self::LONGEST {
            self.commit(false);
        }
        len
    }

    /// Adds the output for an input of which `make_room` returned the length.
    fn add(&mut self, done: (Output, After), len: u64, is_last: bool) {
        self.outputs.push(done);
        self.len = self.len.saturating_add(len);
        if is_last || self.outputs.len() >= self.most_outputs || self.len > Self::LONGEST {
            self.commit(is_last);
        }
    }

    /// Commits the outputs. No other may be open, because a signal would leave it behind.
    fn commit(&mut self, is_last: bool) {
        self.len = 0;
        let (outputs, afters): (Vec<_>, Vec<_>) = mem::take(&mut self.outputs).into_iter().unzip();
        for (result, after) in Output::commit_all(outputs, is_last).into_iter().zip(afters) {
            if let Err(failure) = result.and_then(|is_synced| after.conclude(is_synced)) {
                self.tell(failure);
            }
        }
    }

    fn tell(&mut self, failure: Failure) {
        failure.tell();
        self.failure.get_or_insert(failure.told());
    }
}

/// Ends the program as soon as a write fails, if another thread may be waiting for input.
struct Impatient<'a> {
    input: &'a Input,
    output: &'a Output,
    bar: ProgressBar,
}

impl Write for Impatient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.writer().write(bytes).inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted && self.input.len.is_none() {
                self.bar.finish_and_clear();
                interrupt::end_with(&Failure::io("write", &self.output.name, error));
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where the outputs go: to the file that `-o` names or into its directory, else for a file beside
/// it, else to standard output.
struct Naming<'a> {
    args: &'a InOutArgs,
    /// The directory that `-o` names.
    folder: Option<&'a Path>,
    /// Derives the name of an output from that of its input.
    derive: fn(&Path) -> Result<PathBuf>,
}

impl<'a> Naming<'a> {
    fn new(args: &'a InOutArgs, derive: fn(&Path) -> Result<PathBuf>) -> Result<Self> {
        let output = args.output.as_deref();
        let folder = output.filter(|path| names_folder(path));
        let naming = Self { args, folder, derive };
        match (folder, output) {
            (Some(folder), _) if !folder.is_dir() => {
                let message = format!("there is no directory {}", quoted(folder));
                return Err(Failure::new(message)
                    .hint(format!("create it first: mkdir -p {}", quoted(folder))));
            }
            (None, Some(output)) if args.files.len() > 1 => {
                let message =
                    format!("{} files cannot have one output: -o {output:?}", args.files.len());
                return Err(Failure::usage(message)
                    .hint("leave out -o, or name a directory, or one file at a time"));
            }
            _ => {}
        }
        if folder.is_some() || args.rm {
            naming.check_distinct()?;
        }
        Ok(naming)
    }

    /// Fails if two files would have the same output.
    fn check_distinct(&self) -> Result<()> {
        let mut inputs = HashMap::new();
        for path in &self.args.files {
            // What has no such name is reported in its turn.
            let Ok(name) = self.name(path) else { continue };
            let own = name.file_name().unwrap_or_default();
            // As most file systems of these systems compare names.
            let own = match cfg!(any(windows, target_os = "macos")) {
                true => own.to_string_lossy().to_lowercase().into(),
                false => own.to_os_string(),
            };
            let folder = name.parent().filter(|folder| *folder != Path::new(""));
            let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok();
            if let Some(other) = inputs.insert((folder, own), path) {
                return Err(Failure::usage(format!(
                    "{} and {} would both become {}",
                    quoted(other),
                    quoted(path),
                    quoted(&name)
                ))
                .hint("name each file once, or choose another output for one of them"));
            }
        }
        Ok(())
    }

    /// The name of the output for a file, if `-o` does not say the whole of it.
    fn name(&self, path: &Path) -> Result<PathBuf> {
        let name = (self.derive)(path)?;
        Ok(match (self.folder, name.file_name()) {
            (Some(folder), Some(name)) => folder.join(name),
            _ => name,
        })
    }

    /// Opens the output for an input.
    fn open(&self, input: &Input, sources: &[Source], path: Option<&Path>) -> Result<Output> {
        let derived = match path {
            Some(path)
                if input.descriptor.is_none()
                    && (self.args.output.is_none() || self.folder.is_some()) =>
            {
                if !input.metadata.is_file() {
                    let message = format!("{} is not a regular file", input.name);
                    return Err(Failure::usage(message).hint(
                        "name the output with -o OUT, or write to standard output with -o -",
                    ));
                }
                Some(self.name(path)?)
            }
            _ => None,
        };
        if let (None, Some(folder)) = (&derived, self.folder) {
            let message = format!("{} gives no name for a file in {}", input.name, quoted(folder));
            return Err(Failure::usage(message).hint("name the file: -o DIRECTORY/FILE"));
        }
        let secrets = sources
            .iter()
            .filter_map(|source| Some((source.name(), &source.file()?.metadata)))
            .collect::<Vec<_>>();
        if self.args.rm {
            check_deletion(input, path, &secrets)?;
        }
        let inputs = [&[("input", &input.metadata)], &secrets[..]].concat();
        let output = derived.as_deref().or(self.args.output.as_deref());
        let output = Output::open(output, self.args.force, Access::Usual, &inputs)?;
        if self.args.rm && output.is_direct() {
            let message = format!("--rm needs an output file, which {} is not", output.name);
            return Err(Failure::usage(message).hint("leave out --rm, or name a file"));
        }
        Ok(output)
    }
}

/// Fails if an input cannot be deleted, or is a secret.
fn check_deletion(input: &Input, path: Option<&Path>, secrets: &[(&str, &Metadata)]) -> Result<()> {
    let found = path.filter(|_| input.descriptor.is_none()).map(fs::symlink_metadata);
    if !matches!(found, Some(Ok(metadata)) if metadata.is_file()) {
        let message = format!("--rm deletes regular files only, and {} is none", input.name);
        return Err(Failure::usage(message).hint("leave out --rm, or name a file"));
    }
    if refuse_inputs(Path::new(""), Some(&input.metadata), secrets).is_err() {
        let message = format!("--rm would delete {}, the key or passphrase", input.name);
        return Err(Failure::usage(message).hint("leave out --rm, or do not name this file"));
    }
    Ok(())
}

/// Returns whether `-o` names a directory: one that exists, or a name that ends like one.
fn names_folder(path: &Path) -> bool {
    let is_stream = is_standard(Some(path)) || descriptor_of(Some(path)).is_some();
    let ends_like_one = path.to_string_lossy().ends_with(std::path::is_separator);
    !is_stream && (ends_like_one || path.is_dir())
}

/// The name of the encrypted file: `notes.txt.pld` for `notes.txt`.
fn encrypted_name(path: &Path) -> Result<PathBuf> {
    if has_suffix(path) {
        let message = format!("{} already ends in .{SUFFIX}", quoted(path));
        return Err(
            Failure::usage(message).hint("to encrypt it again, name the output with -o OUT")
        );
    }
    let mut name = OsString::from(path);
    name.push(format!(".{SUFFIX}"));
    Ok(name.into())
}

/// The name of the decrypted file: `notes.txt` for `notes.txt.pld`.
fn plain_name(path: &Path) -> Result<PathBuf> {
    if !has_suffix(path) {
        let message = format!("{} does not end in .{SUFFIX}", quoted(path));
        return Err(Failure::usage(message)
            .hint("name the output with -o OUT, or write to standard output with -o -"));
    }
    Ok(path.with_extension(""))
}

fn has_suffix(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(SUFFIX))
}

/// Ends the output of what was salvaged, and says what is missing.
fn conclude(salvaged: Salvaged, input: &Input, output: Output) -> Result<(Output, After)> {
    if salvaged.has_trailing_data {
        tell(&format!("{}: data follows the end of the file; it was ignored", input.name));
    }
    if let Some(kind) = salvaged.read_error {
        tell(&format!(
            "{}: cannot be read to its end ({kind}): copy it with ddrescue, and salvage the copy",
            input.name
        ));
    }
    let end = salvaged.missing.last().map_or(0, |range| range.end);
    let Salvaged { missing, has_end, .. } = salvaged;
    let found = Found { intact: salvaged.intact.bytes, missing, has_end };
    let incomplete = found.report(&input.name)?;
    let file = output.file();
    let extended = file.metadata().and_then(|now| file.set_len(now.len().max(end)));
    extended.map_err(|error| Failure::io("write", &output.name, &error))?;
    Ok((output, After { spent: None, incomplete }))
}

fn finish<T>(
    result: std::result::Result<T, Error>,
    input: Input,
    output: Output,
    spent: Option<&Path>,
) -> Result<(Output, After)> {
    match result {
        Ok(_) => {
            let spent = spent.map(|path| (path.to_path_buf(), input.metadata));
            Ok((output, After { spent, incomplete: None }))
        }
        Err(error) => Err(Failure::file(&error, &input.name, &output.name)),
    }
}

/// What comes after an output was committed.
struct After {
    /// An input that is to be deleted, and its state when it was opened.
    spent: Option<(PathBuf, Metadata)>,
    /// What the output lacks.
    incomplete: Option<Failure>,
}

impl After {
    fn conclude(self, is_synced: bool) -> Result<()> {
        if let Some((path, read)) = self.spent {
            if !is_synced {
                let message = format!(
                    "{} is kept: the directory of the output cannot be synced",
                    quoted(&path)
                );
                return Err(Failure::new(message).hint("delete it yourself if the disk is sound"));
            }
            delete(&path, &read)?;
        }
        self.incomplete.map_or(Ok(()), Err)
    }
}

/// Deletes an input. Fails if it changed since it was opened.
fn delete(path: &Path, read: &Metadata) -> Result<()> {
    let name = quoted(path);
    let failed = |error| Failure::io("delete", &name, &error);
    let now = fs::symlink_metadata(path).map_err(failed)?;
    if !is_unchanged(read, &now) {
        let message = format!("{name} is kept: it changed while it was read");
        return Err(Failure::new(message).hint("compare it with the output"));
    }
    fs::remove_file(path).map_err(failed)
}
