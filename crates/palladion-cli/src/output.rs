//! The output of a command: a file that appears once it is complete, or standard output.
//! [`palladion_output`] says what names mean and what is refused.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::time::SystemTime;

pub use palladion_output::Access;
use palladion_output::{self as output, Cause, Directory, Error, Identity, Target};

use crate::failure::{Failure, Result, quoted, tell};
use crate::input::{Input, is_standard};
use crate::waiting::Waiting;
use crate::{interrupt, streams};

/// How messages call it.
const STANDARD_OUTPUT: &str = "standard output";
const EXISTS: &str = "choose another name, or replace it with --force";
const EXISTS_OF_MANY: &str =
    "choose another name, replace it with --force, or go on with --skip-existing";

pub struct Output {
    /// How messages call it.
    pub name: String,
    output: output::Output,
}

impl Output {
    /// Opens an output. Fails if it is the same file as one of `inputs`, each given with its name
    /// for messages.
    pub fn open(
        path: Option<&Path>,
        force: bool,
        access: Access,
        inputs: &[(&str, &Identity)],
    ) -> Result<Self> {
        let opened = Self::open_as(path, force, access, inputs, |target| target);
        // Not every command has --skip-existing.
        opened.map_err(|failure| failure.replace_hint(EXISTS_OF_MANY, EXISTS))
    }

    /// Like [`open`](Self::open), with what `shape` says about a new file.
    pub fn open_as(
        path: Option<&Path>,
        force: bool,
        access: Access,
        inputs: &[(&str, &Identity)],
        shape: impl FnOnce(Target) -> Target,
    ) -> Result<Self> {
        let path = path.filter(|path| !is_standard(Some(path)));
        let number = path.map_or(Some(1), output::descriptor);
        let (name, path) = match (path, number) {
            (None, _) | (_, Some(1)) => (STANDARD_OUTPUT.to_string(), Path::new("-")),
            (Some(path), _) => (quoted(path), path),
        };
        let Some(number) = number else {
            let target = Target::check(path, force, access, inputs).map_err(failure)?;
            return Self::create(shape(target), name);
        };
        let file = match number {
            1 => streams::output(),
            number => streams::handed_over(number),
        };
        let file = file.map_err(|error| Failure::io("open", &name, &error))?;
        same_file(&Identity::of(&file), inputs, &name)?;
        streams::widen(&file);
        Ok(Self { name, output: output::Output::direct(path, file) })
    }

    /// Opens a new version of a file, with its date. Until it has its name, nobody else makes one,
    /// or locks the file to change it.
    pub fn instead_of(path: &Path, modified: Option<SystemTime>) -> Result<Self> {
        let target = Target::check(path, true, Access::Usual, &[]).and_then(Target::alone);
        let target = target.map_err(failure)?;
        Self::create(modified.into_iter().fold(target, Target::modified), quoted(path))
    }

    /// The file that it will replace.
    pub fn replaced(&self) -> Option<&File> {
        self.output.replaced()
    }

    /// Opens an output in a directory: a copy of `source`, with its permissions and its date.
    pub fn open_in(
        directory: &Directory,
        name: &OsStr,
        force: bool,
        inputs: &[(&str, &Identity)],
        source: &Input,
    ) -> Result<Self> {
        let target = Target::check_in(directory, name, force, inputs).map_err(failure)?;
        let path = quoted(&directory.path().join(name));
        Self::create(source.pass_on(target).copy_of(&source.file), path)
    }

    fn create(target: Target, name: String) -> Result<Self> {
        let output = match target.is_special() {
            // A FIFO waits for its reader, and a signal may end that.
            true => target.open(),
            false => interrupt::guarding(
                || target.open(),
                |output| output.as_ref().ok()?.temporary_path(),
            ),
        };
        let output = output.map_err(failure)?;
        if output.is_direct() {
            streams::widen(output.file()); // a FIFO
        }
        Ok(Self { name, output })
    }

    /// Returns where to write.
    pub fn file(&self) -> &File {
        self.output.file()
    }

    /// Returns where to write, waiting if necessary.
    pub fn writer(&self) -> Writer<'_> {
        let is_console = cfg!(windows) && self.name == STANDARD_OUTPUT && self.is_terminal();
        Writer { file: Waiting(self.file()), is_console }
    }

    pub fn is_terminal(&self) -> bool {
        self.file().is_terminal()
    }

    /// Returns whether it is a stream or a device, and not a file that gets its name at the end.
    pub fn is_direct(&self) -> bool {
        self.output.is_direct()
    }

    /// The new file, for reading and writing at any position.
    pub fn random_access(&self) -> Result<File> {
        if self.output.is_direct() {
            let is_file = self.file().metadata().is_ok_and(|metadata| metadata.is_file());
            let (what, hint) = match is_file {
                true => ("an open descriptor", "it cannot be replaced: name the file itself"),
                false => ("not a regular file", "the output needs random access: name a file"),
            };
            return Err(Failure::usage(format!("{} is {what}", self.name)).hint(hint));
        }
        self.file().try_clone().map_err(|error| Failure::io("open", &self.name, &error))
    }

    /// Returns whether it will replace this file.
    pub fn replaces(&self, file: &Identity) -> bool {
        self.output.replaces(file)
    }

    /// Syncs the output to disk and gives it its name. Warns the user if the name may not be on
    /// disk. A new file that is not committed is removed. `is_last` says that the command has no
    /// other output after this one.
    pub fn commit(self, is_last: bool) -> Result<()> {
        Self::commit_all(vec![self], is_last).pop().expect("one result for one output").map(drop)
    }

    /// Commits all unfinished outputs. Returns for each whether its name is on disk too. If it may
    /// not be, the user is warned: the output is there and complete, so the command has not failed.
    /// `is_last` says that the command has no other output after them.
    pub fn commit_all(outputs: Vec<Self>, is_last: bool) -> Vec<Result<bool>> {
        let (names, outputs): (Vec<_>, _) =
            outputs.into_iter().map(|output| (output.name, output.output)).unzip();
        let synced = output::sync_all(outputs);
        let renamed = interrupt::concluding(is_last, || output::rename_all(synced));
        for (name, _) in names.iter().zip(&renamed).filter(|(_, done)| matches!(done, Ok(false))) {
            tell(&format!(
                "warning: {name} is complete, but a power failure may undo its creation: \
                 its directory cannot be synced"
            ));
        }
        renamed.into_iter().map(|result| result.map_err(failure)).collect()
    }
}

/// Writes an output.
pub struct Writer<'a> {
    file: Waiting<&'a File>,
    /// Whether it is a console of Windows, which shows bytes as text in an old code page.
    is_console: bool,
}

impl Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_console {
            let mut stdout = io::stdout();
            stdout.write_all(String::from_utf8_lossy(bytes).as_bytes())?;
            return stdout.flush().map(|()| bytes.len());
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Explains why there is no output.
pub fn failure(error: Error) -> Failure {
    if let Cause::Io(action, io) = &error.cause {
        let name = match is_standard(Some(&error.path)) {
            true => STANDARD_OUTPUT.to_string(),
            false => quoted(&error.path),
        };
        let failure = Failure::io(action, &name, io);
        return match io.kind() {
            ErrorKind::NotADirectory => {
                failure.hint("a part of the name is a file: choose another")
            }
            _ => failure,
        };
    }
    let message = error.to_string();
    let hint = match error.cause {
        Cause::Input(_) => return Failure::usage(message).hint("choose another output"),
        Cause::Exists if !error.path.exists() => {
            "it is a symbolic link to a missing file: remove the link, or create its target"
        }
        Cause::Exists => EXISTS_OF_MANY,
        Cause::NotFile | Cause::NotDirectory => {
            "remove it, or choose another output: symbolic links are not followed here"
        }
        Cause::Directory => "name a file in it",
        Cause::EmptyName | Cause::DirectoryName => "name a file with -o OUT",
        Cause::NoDirectory(_) => "create it first: mkdir -p DIRECTORY",
        Cause::DanglingLink => "remove the link, or create its target",
        Cause::InUse => "try again when it is done",
        Cause::ReadOnly => "make it writable first: attrib -r FILE",
        Cause::Stream => "name a file: a colon stands only after the letter of a drive",
        Cause::OtherProcess => "name the file itself",
        Cause::MountPoint | Cause::Sticky => {
            "choose another name, or write into it: palladion … -o - > FILE"
        }
        _ => "choose another name",
    };
    Failure::new(message).hint(hint)
}

/// Refuses to overwrite an input.
pub fn same_file(output: &Identity, inputs: &[(&str, &Identity)], name: &str) -> Result<()> {
    let refused = output::refuse_inputs(Path::new(""), output, inputs);
    refused.map_err(|error| match error.cause {
        Cause::Input(what) => Failure::usage(format!("{name} is both {what} and output"))
            .hint("choose another output"),
        _ => failure(error),
    })
}
