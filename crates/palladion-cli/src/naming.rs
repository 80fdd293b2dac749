//! The names of the outputs of `encrypt` and `decrypt`.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use palladion_file::{Error, Keyring, SeekReader};
use palladion_output::Identity;

use crate::args::InOutArgs;
use crate::failure::{Failure, Result, note, quoted, tell};
use crate::input::{Input, descriptor_of, is_standard};
use crate::output::{Access, Output};
use crate::ring::is_wrong_secret;
use crate::sealed::Sealed;
use crate::tree::{Found, Tree, folder_of, is_unfinished, walk};
use crate::values::Kind;

/// The end of the name of an encrypted file.
const SUFFIX: &str = "pld";

/// Why an output that exists stays.
pub enum Existing {
    UpToDate,
    /// Someone may have edited it, at this path.
    Newer(PathBuf),
    /// It is for another key or another place than a new file would be, as the text says.
    Unlike(PathBuf, &'static str),
}

/// Files of which a message names the first.
#[derive(Default)]
pub struct Named {
    count: usize,
    first: Vec<String>,
}

impl Named {
    const NAMED: usize = 3;

    pub fn add(&mut self, path: &Path) {
        self.count += 1;
        if self.first.len() < Self::NAMED {
            self.first.push(quoted(path));
        }
    }

    fn names(&self) -> String {
        let more = if self.count > Self::NAMED { ", …" } else { "" };
        self.first.join(", ") + more
    }
}

/// Where the outputs go: to the file that `-o` names or into its directory, else for a file beside
/// it, else to standard output.
pub struct Naming<'a> {
    args: &'a InOutArgs,
    /// The directory that `-o` names.
    folder: Option<&'a Path>,
    /// The directories among the inputs, with `--recursive`.
    trees: Vec<Tree>,
    /// Derives the name of an output from that of its input.
    derive: fn(&Path) -> Result<PathBuf>,
    /// Whether the inputs are encrypted files, whose names have the suffix.
    is_encrypted: bool,
    /// Whether new encrypted files are bound to a place.
    binds: bool,
    /// What opens new encrypted files.
    pub opens: Opens,
}

/// What opens new encrypted files, as far as that can be told from those that exist.
#[derive(Default)]
pub struct Opens {
    pub kinds: Vec<Kind>,
    /// The keys: a passphrase would take long to try, and a recipient opens nothing. With `--bind`,
    /// they have the place.
    pub keys: Vec<Keyring>,
    /// Whether there must be key slots.
    pub slots: bool,
}

impl<'a> Naming<'a> {
    /// For `encrypt`. `binds` says whether it binds the files to a place.
    pub fn encrypted(args: &'a InOutArgs, binds: bool) -> Result<Self> {
        Self::new(args, encrypted_name, false).map(|naming| Self { binds, ..naming })
    }

    /// For `decrypt`.
    pub fn plain(args: &'a InOutArgs) -> Result<Self> {
        Self::new(args, plain_name, true)
    }

    fn new(
        args: &'a InOutArgs,
        derive: fn(&Path) -> Result<PathBuf>,
        is_encrypted: bool,
    ) -> Result<Self> {
        let output = args.output.as_deref();
        let trees = open_trees(args)?;
        if args.bind_to_path {
            check_all_are_trees(args, &trees)?;
            check_is_one(&args.files)?;
        }
        let folder = output.filter(|path| trees.is_empty() && names_folder(path));
        let naming = Self {
            args,
            folder,
            trees,
            derive,
            is_encrypted,
            binds: false,
            opens: Opens::default(),
        };
        if !naming.trees.is_empty() {
            return Ok(naming);
        }
        match (folder, output) {
            (Some(folder), _) if !folder.is_dir() => {
                // Without the separator at its end.
                let name: PathBuf = folder.components().collect();
                if name.exists() {
                    let message = format!("{} is not a directory", quoted(&name));
                    return Err(Failure::new(message).hint("choose another output"));
                }
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

    /// The files to read, or standard input. Of several, as `*` names them, some are passed over:
    /// those that are encrypted already, or not encrypted, as their names say.
    pub fn files(&self) -> Vec<Option<&'a Path>> {
        let files = self.args.files.iter().map(PathBuf::as_path);
        match self.args.files.is_empty() {
            true => vec![None],
            false => files.filter(|path| !self.passes_over(path)).map(Some).collect(),
        }
    }

    fn passes_over(&self, path: &Path) -> bool {
        self.args.files.len() > 1
            && self.is_other(path)
            && descriptor_of(Some(path)).is_none()
            && self.tree_at(path).is_none()
    }

    /// Returns whether a file is encrypted already, or not encrypted, as its name says.
    pub fn is_other(&self, path: &Path) -> bool {
        has_suffix(path) != self.is_encrypted
    }

    /// Returns the tree with this root, if `--recursive` was given.
    pub fn tree_at(&self, path: &Path) -> Option<&Tree> {
        self.trees.iter().find(|tree| tree.is_at(path))
    }

    /// Returns whether some of the inputs are directories.
    pub fn is_recursive(&self) -> bool {
        !self.trees.is_empty()
    }

    /// Returns whether the outputs are a copy of a directory.
    pub fn is_copy(&self) -> bool {
        self.trees.iter().any(|tree| tree.is_copy)
    }

    /// Returns whether outputs may replace files.
    pub fn replaces(&self) -> bool {
        self.args.force || self.args.skip_existing
    }

    /// Returns whether inputs are deleted once their outputs are on disk.
    pub fn deletes(&self) -> bool {
        self.args.rm
    }

    /// What the inputs become.
    pub fn done(&self) -> &'static str {
        if self.is_encrypted { "decrypted" } else { "encrypted" }
    }

    /// Says which files were passed over, besides those in directories. Like `gzip`, the command
    /// does not end with status 0, unless the outputs of others are among the inputs.
    pub fn passed_over(&self, mut files: Named) -> Option<Failure> {
        self.args
            .files
            .iter()
            .filter(|path| self.passes_over(path))
            .for_each(|path| files.add(path));
        let (ends, end, what) = match self.is_encrypted {
            true => ("does not end", "do not end", "decrypt one"),
            false => ("already ends", "already end", "encrypt one again"),
        };
        let names = files.names();
        let message = match files.count {
            0 => return None,
            1 => format!("1 file {ends} in .{SUFFIX} and was passed over: {names}"),
            count => format!("{count} files {end} in .{SUFFIX} and were passed over: {names}"),
        };
        if self.folder.is_none()
            && !self.is_copy()
            && (self.is_recursive() || self.args.skip_existing)
        {
            note(&format!("note: {message}"));
            return None;
        }
        let hint = format!("to {what}, name it alone, with -o OUT");
        Some(Failure::usage(message).hint(hint))
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
                true => {
                    let own = own.to_string_lossy().to_lowercase();
                    // Windows ignores such ends.
                    let end: &[_] = if cfg!(windows) { &['.', ' '] } else { &[] };
                    own.trim_end_matches(end).into()
                }
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

    /// The name of the output for a file in a directory.
    fn name_in_tree(&self, path: &Path) -> Result<OsString> {
        let name = (self.derive)(path)?;
        Ok(name.file_name().unwrap_or_default().to_os_string())
    }

    fn tree_of(&self, path: Option<&Path>) -> Option<&Tree> {
        self.trees.iter().find(|tree| path.is_some_and(|path| tree.has(path)))
    }

    /// With `--bind-to-path`, returns what a file is bound to: the path of the encrypted file below
    /// the root of its directory, as `palladion.fsspec` and the object stores do.
    pub fn place(&self, path: Option<&Path>) -> Result<Option<Vec<u8>>> {
        let Some(path) = path.filter(|_| self.args.bind_to_path) else { return Ok(None) };
        let within = self.tree_of(Some(path)).map_or(path, |tree| tree.within(path));
        match self.is_encrypted {
            true => place_of(within),
            false => place_of(&(self.derive)(within)?),
        }
        .map(Some)
    }

    /// With `--skip-existing`, returns why an existing output stays, or `None` if there is work to
    /// do. An output gets the date of its input, so equal dates mean that the input is unchanged.
    pub fn existing(&self, path: &Path, input: &Metadata) -> Option<Existing> {
        if !self.args.skip_existing || !input.is_file() {
            return None;
        }
        let (output, found) = match self.tree_of(Some(path)) {
            Some(tree) => {
                let (folder, name) =
                    (tree.folder(folder_of(path)).ok()?, self.name_in_tree(path).ok()?);
                let found = folder.find(&name)?;
                let is_unchanged = found.modified().ok()? == input.modified().ok()?;
                // Its permissions may have changed all the same.
                if is_unchanged && let Ok(source) = File::open(path) {
                    let _ = folder.set_permissions(&name, &source);
                }
                (folder.path().join(name), found)
            }
            None => {
                let output = match (&self.args.output, self.folder) {
                    (Some(output), None) if is_standard(Some(output)) => return None,
                    (Some(output), None) => output.clone(),
                    _ => self.name(path).ok()?,
                };
                let found = fs::metadata(&output).ok().filter(Metadata::is_file)?;
                (output, found)
            }
        };
        let (encrypted, len, plain_len) = match self.is_encrypted {
            true => (path, input.len(), found.len()),
            false => (&*output, found.len(), input.len()),
        };
        match found.modified().ok()?.cmp(&input.modified().ok()?) {
            Ordering::Equal => {}
            Ordering::Greater if !self.args.force => return Some(Existing::Newer(output)),
            _ => return None,
        }
        // Its date alone must do for one that nobody may read.
        let Ok(file) = File::open(encrypted) else { return Some(Existing::UpToDate) };
        let sealed = Sealed::read(&file, "", "").ok()?;
        if sealed.layout(len)?.plaintext_len() != plain_len {
            return None;
        }
        let unlike = match (self.is_encrypted, sealed.is_bound) {
            (true, _) => return Some(Existing::UpToDate),
            (false, true) if !self.binds => "is bound to a place, which no option names,",
            (false, false) if self.binds => "is not bound to a place",
            _ => match self.opens.kinds.iter().find(|kind| !sealed.takes(**kind)) {
                Some(Kind::Passphrase) => "opens with no passphrase",
                Some(Kind::Identity) => "is for no recipient",
                Some(_) => "opens with no key",
                None if self.opens.slots && sealed.head.is_none() => "has no key slots",
                None => {
                    let mut keys = self.opens.keys.iter();
                    match keys.try_for_each(|key| self.try_to_open(key, &file, path)) {
                        Ok(()) => return Some(Existing::UpToDate),
                        Err(Error::WrongPlace) => "is bound to another place",
                        Err(error) if is_wrong_secret(&error) => "does not open with this key",
                        Err(_) => return None, // it is damaged
                    }
                }
            },
        };
        (!self.args.force).then_some(Existing::Unlike(output, unlike))
    }

    /// Fails if a key does not open what a file with this path was encrypted to.
    fn try_to_open(
        &self,
        key: &Keyring,
        sealed: &File,
        path: &Path,
    ) -> std::result::Result<(), Error> {
        let own_place = self.place(Some(path)).ok().flatten();
        let keyring = own_place.into_iter().fold(key.clone(), Keyring::bind);
        SeekReader::new(&keyring, sealed).map(drop)
    }

    /// Says what is in the copy of a directory and has no source there: nothing is deleted.
    pub fn say_leftovers(&self) {
        // With --rm, no file has its source any more.
        let Some(tree) = self.trees.iter().find(|tree| tree.is_copy && !self.args.rm) else {
            return;
        };
        let mut leftovers = Named::default();
        tree.walk_copy(&mut |found, source| {
            let (path, is_there) = match found {
                Found::File(path) if is_unfinished(path.file_name().unwrap_or_default()) => {
                    return;
                }
                Found::File(path) => {
                    if !self.is_encrypted {
                        warn_of_two(path);
                    }
                    (
                        path,
                        self.sources(source)
                            .iter()
                            .any(|source| is_kind(source, fs::FileType::is_file)),
                    )
                }
                Found::Link(path) => (path, is_kind(source, fs::FileType::is_symlink)),
                Found::Folder(path, _) => (path, is_kind(source, fs::FileType::is_dir)),
                Found::Special(path, _) => (path, false),
                Found::Unreadable(..) => return,
            };
            if !is_there {
                leftovers.add(path);
            }
        });
        if leftovers.count > 0 {
            let (count, names) = (leftovers.count, leftovers.names());
            note(&format!("note: without a source, and kept: {count} ({names})"));
        }
    }

    /// The files that could have become an output of this name, beside them.
    fn sources(&self, output: &Path) -> Vec<PathBuf> {
        match (self.is_encrypted, output.extension()) {
            (true, _) => [SUFFIX, "PLD"].map(|suffix| with_suffix(output, suffix)).to_vec(),
            (false, Some(suffix)) if suffix == SUFFIX => vec![output.with_extension("")],
            (false, _) => vec![],
        }
    }

    /// Opens the output for an input. `secrets` are the files of keys, passphrases and recipients.
    pub fn open(
        &self,
        input: &Input,
        secrets: &[(&str, &Identity)],
        path: Option<&Path>,
    ) -> Result<Output> {
        let replace = self.replaces();
        if let (Some(tree), Some(path)) = (self.tree_of(path), path) {
            if self.args.rm {
                check_deletion(input, Some(path), secrets)?;
            }
            let (folder, name) = (tree.folder(folder_of(path))?, self.name_in_tree(path)?);
            let inputs = [&[("input", &input.identity)], secrets].concat();
            return Output::open_in(&folder, &name, replace, &inputs, input);
        }
        let derived = match path {
            Some(path)
                if input.descriptor.is_none()
                    && (self.args.output.is_none() || self.folder.is_some()) =>
            {
                if !input.is_file() {
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
        if self.args.rm {
            check_deletion(input, path, secrets)?;
        }
        let inputs = [&[("input", &input.identity)], secrets].concat();
        let output = derived.as_deref().or(self.args.output.as_deref());
        let output = Output::open_as(output, replace, Access::Usual, &inputs, |target| {
            input.pass_on(target)
        })?;
        if self.args.rm && output.is_direct() {
            let message = format!("--rm needs an output file, which {} is not", output.name);
            return Err(Failure::usage(message).hint("leave out --rm, or name a file"));
        }
        Ok(output)
    }
}

/// Returns whether there is something of this kind at a path.
fn is_kind(path: &Path, kind: fn(&fs::FileType) -> bool) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| kind(&found.file_type()))
}

/// Warns of an encrypted file beside what its plain file would replace on the way back.
fn warn_of_two(encrypted: &Path) {
    let plain = encrypted.with_extension("");
    if has_suffix(encrypted) && is_kind(&plain, |kind| kind.is_dir() || kind.is_symlink()) {
        tell(&format!(
            "warning: {} and {} cannot both be decrypted: delete the one whose source is gone",
            quoted(encrypted),
            quoted(&plain)
        ));
    }
}

/// The directories among the inputs, with `--recursive`.
fn open_trees(args: &InOutArgs) -> Result<Vec<Tree>> {
    if !args.recursive {
        return Ok(Vec::new());
    }
    let output = args.output.as_deref();
    let roots: Vec<_> = args.files.iter().filter(|path| path.is_dir()).collect();
    let is_missing = |path: &PathBuf| fs::symlink_metadata(path).is_err();
    let is_one = roots.len() == 1 || args.files.iter().any(is_missing);
    if output.is_some() && (!is_one || args.files.len() > 1) {
        return Err(Failure::usage("--recursive with -o takes one directory")
            .hint("leave out -o, or name one directory at a time"));
    }
    if args.files.is_empty() {
        return Err(Failure::usage("--recursive needs a directory").hint("name one"));
    }
    if output.is_some_and(is_stream) {
        return Err(Failure::usage("--recursive cannot write to a stream").hint(
            "name a directory with -o OUT; to send one, pack it: tar c DIRECTORY | palladion \
             encrypt",
        ));
    }
    roots.into_iter().map(|root| Tree::open(root, output)).collect()
}

/// Fails for several directories and `--bind-to-path`.
fn check_is_one(files: &[PathBuf]) -> Result<()> {
    if files.len() > 1 {
        return Err(Failure::usage("--bind-to-path takes one directory").hint(
            "name the one above them, so that files with the same name in two of them have \
             different places, or one at a time",
        ));
    }
    Ok(())
}

/// Fails if one of the inputs is not a directory, for `--bind-to-path`.
fn check_all_are_trees(args: &InOutArgs, trees: &[Tree]) -> Result<()> {
    let other = args.files.iter().find(|path| !trees.iter().any(|tree| tree.is_at(path)));
    let message = match other {
        _ if !args.recursive => "--bind-to-path is for directories, with --recursive".into(),
        Some(other) => format!("{} is not a directory, as --bind-to-path needs", quoted(other)),
        None => return Ok(()),
    };
    Err(Failure::usage(message).hint("to bind a file by itself, use --bind TEXT, such as its path"))
}

/// Fails if an input cannot be deleted, or is a secret or a recipients file.
fn check_deletion(input: &Input, path: Option<&Path>, secrets: &[(&str, &Identity)]) -> Result<()> {
    let found = path.filter(|_| input.descriptor.is_none()).map(fs::symlink_metadata);
    if !matches!(found, Some(Ok(metadata)) if metadata.is_file()) {
        let message = format!("--rm deletes regular files only, and {} is none", input.name);
        return Err(Failure::usage(message).hint("leave out --rm, or name a file"));
    }
    if let Some((what, _)) = secrets.iter().find(|(_, file)| input.identity.is_same(file)) {
        let message = format!("--rm would delete {}, the {what}", input.name);
        return Err(Failure::usage(message).hint("leave out --rm, or do not name this file"));
    }
    Ok(())
}

/// Returns whether `-o` names a directory: one that exists, or a name that ends like one.
fn names_folder(path: &Path) -> bool {
    let ends_like_one = path.to_string_lossy().ends_with(std::path::is_separator);
    !is_stream(path) && (ends_like_one || path.is_dir())
}

/// Returns whether the path of an output means a stream that is open already.
fn is_stream(path: &Path) -> bool {
    is_standard(Some(path)) || descriptor_of(Some(path)).is_some()
}

/// The name of the encrypted file: `notes.txt.pld` for `notes.txt`.
fn encrypted_name(path: &Path) -> Result<PathBuf> {
    if has_suffix(path) {
        let message = format!("{} already ends in .{SUFFIX}", quoted(path));
        return Err(
            Failure::usage(message).hint("to encrypt it again, name the output with -o OUT")
        );
    }
    Ok(with_suffix(path, SUFFIX))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".{suffix}"));
    name.into()
}

/// The name of the decrypted file: `notes.txt` for `notes.txt.pld`.
fn plain_name(path: &Path) -> Result<PathBuf> {
    if !has_suffix(path) {
        let message = format!("the name {} does not end in .{SUFFIX}", quoted(path));
        return Err(Failure::usage(message)
            .hint("name the output with -o OUT, or write to standard output with -o -"));
    }
    Ok(path.with_extension(""))
}

/// The files to read, each with what `--bind-to-path` bound it to, if that is given. With
/// `--recursive`, a directory stands for the files in it whose names end as those of encrypted
/// files do.
pub fn encrypted_files(
    named: &[PathBuf],
    recursive: bool,
    bind_to_path: bool,
) -> Vec<Result<(PathBuf, Option<Vec<u8>>)>> {
    let mut files = Vec::new();
    if bind_to_path && let Err(failure) = check_is_one(named) {
        return vec![Err(failure.of_all_files())];
    }
    for root in named {
        let (before, mut others) = (files.len(), Named::default());
        if !recursive || !root.is_dir() {
            files.push(match bind_to_path {
                true => Err(Failure::usage(format!("{} is not a directory", quoted(root)))
                    .hint("for a file, use --bind TEXT, with its path")),
                false => Ok((root.clone(), None)),
            });
            continue;
        }
        let _ = walk(root, &mut |found| {
            match found {
                Found::File(path) if has_suffix(path) => {
                    let place = bind_to_path
                        .then(|| place_of(path.strip_prefix(root).unwrap_or(path)))
                        .transpose();
                    files.push(place.map(|place| (path.to_path_buf(), place)));
                }
                Found::File(path) if !is_unfinished(path.file_name().unwrap_or_default()) => {
                    others.add(path);
                }
                Found::Unreadable(path, error) => {
                    files.push(Err(Failure::io("read", &quoted(path), &error)));
                }
                _ => {}
            }
            ControlFlow::Continue(())
        });
        if files.len() == before {
            let message = format!("no file in {} ends in .pld", quoted(root));
            files.push(Err(Failure::usage(message).hint("name the directory of encrypted files")));
        } else if others.count > 0 {
            let (count, names) = (others.count, others.names());
            note(&format!("note: without .pld at the end, and passed over: {count} ({names})"));
        }
    }
    files
}

/// What an encrypted file with this path below its directory is bound to.
pub fn place_of(within: &Path) -> Result<Vec<u8>> {
    if cfg!(not(unix)) && within.to_str().is_none() {
        let message = format!("--bind-to-path: the path {} is not Unicode", quoted(within));
        return Err(Failure::new(message).hint("rename it"));
    }
    let names: Vec<_> = within.iter().map(OsStr::as_encoded_bytes).collect();
    Ok(names.join(&b'/'))
}

fn has_suffix(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(SUFFIX))
}
