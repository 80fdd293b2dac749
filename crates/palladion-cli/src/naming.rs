//! The names of the outputs of `encrypt` and `decrypt`.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use palladion_output::{Identity, refuse_inputs};

use crate::args::InOutArgs;
use crate::failure::{Failure, Result, quoted};
use crate::input::{Input, descriptor_of, is_standard};
use crate::output::{Access, Output};

/// The end of the name of an encrypted file.
const SUFFIX: &str = "pld";

/// Where the outputs go: to the file that `-o` names or into its directory, else for a file beside
/// it, else to standard output.
pub struct Naming<'a> {
    args: &'a InOutArgs,
    /// The directory that `-o` names.
    folder: Option<&'a Path>,
    /// Derives the name of an output from that of its input.
    derive: fn(&Path) -> Result<PathBuf>,
    /// Whether the inputs are encrypted files, whose names have the suffix.
    is_encrypted: bool,
}

impl<'a> Naming<'a> {
    /// For `encrypt`.
    pub fn encrypted(args: &'a InOutArgs) -> Result<Self> {
        Self::new(args, encrypted_name, false)
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
        let folder = output.filter(|path| names_folder(path));
        let naming = Self { args, folder, derive, is_encrypted };
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
            && has_suffix(path) != self.is_encrypted
            && descriptor_of(Some(path)).is_none()
    }

    /// Says how many files were passed over. Like `gzip`, the command does not end with status 0.
    pub fn passed_over(&self) -> Option<Failure> {
        let files = self.args.files.iter().filter(|path| self.passes_over(path)).count();
        let (ends, end, what) = match self.is_encrypted {
            true => ("does not end", "do not end", "decrypt one"),
            false => ("already ends", "already end", "encrypt one again"),
        };
        let message = match files {
            0 => return None,
            1 => format!("1 file {ends} in .{SUFFIX} and was passed over"),
            _ => format!("{files} files {end} in .{SUFFIX} and were passed over"),
        };
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

    /// Opens the output for an input. `secrets` are the files of keys and passphrases.
    pub fn open(
        &self,
        input: &Input,
        secrets: &[(&str, &Identity)],
        path: Option<&Path>,
    ) -> Result<Output> {
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
        let output = Output::open_as(output, self.args.force, Access::Usual, &inputs, |target| {
            input.pass_on(target)
        })?;
        if self.args.rm && output.is_direct() {
            let message = format!("--rm needs an output file, which {} is not", output.name);
            return Err(Failure::usage(message).hint("leave out --rm, or name a file"));
        }
        Ok(output)
    }
}

/// Fails if an input cannot be deleted, or is a secret.
fn check_deletion(input: &Input, path: Option<&Path>, secrets: &[(&str, &Identity)]) -> Result<()> {
    let found = path.filter(|_| input.descriptor.is_none()).map(fs::symlink_metadata);
    if !matches!(found, Some(Ok(metadata)) if metadata.is_file()) {
        let message = format!("--rm deletes regular files only, and {} is none", input.name);
        return Err(Failure::usage(message).hint("leave out --rm, or name a file"));
    }
    if refuse_inputs(Path::new(""), &input.identity, secrets).is_err() {
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
