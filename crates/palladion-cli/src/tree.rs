//! Directories with everything in them, for `--recursive`.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use palladion_output::{Attributes, Cause, Directory};

use crate::failure::{Failure, Result, quoted};
use crate::{interrupt, output};

/// What the walk through a directory finds.
pub enum Found<'a> {
    File(&'a Path),
    Link(&'a Path),
    /// A directory, after everything in it.
    Folder(&'a Path, Attributes),
    /// Something else, and what it is.
    Special(&'a Path, &'static str),
    /// A directory that cannot be read.
    Unreadable(&'a Path, io::Error),
}

impl<'a> Found<'a> {
    fn path(&self) -> &'a Path {
        match self {
            Self::File(path)
            | Self::Link(path)
            | Self::Folder(path, _)
            | Self::Special(path, _)
            | Self::Unreadable(path, _) => path,
        }
    }
}

/// A directory whose files are encrypted or decrypted each for itself.
pub struct Tree {
    root: PathBuf,
    /// What the outputs go into.
    top: Directory,
    /// Whether that is another directory than `root`.
    pub is_copy: bool,
    /// The directory of the last output, relative to the root, and open.
    last: RefCell<Option<(PathBuf, Directory)>>,
}

impl Tree {
    /// `output` is the directory for the outputs, which is created if there is none. Without it,
    /// they go beside their inputs.
    pub fn open(root: &Path, output: Option<&Path>) -> Result<Self> {
        let top = match output {
            None => Directory::open(root).map_err(output::failure)?,
            Some(output) => {
                check_apart(root, output)?;
                open_or_create(output)?
            }
        };
        let is_copy = output.is_some();
        Ok(Self { root: root.to_path_buf(), top, is_copy, last: RefCell::new(None) })
    }

    /// Returns whether it is the tree with this root.
    pub fn is_at(&self, path: &Path) -> bool {
        self.root == path
    }

    /// Returns whether a path is that of something in it.
    pub fn has(&self, path: &Path) -> bool {
        path.starts_with(&self.root)
    }

    /// Returns the path that something in it has below the root.
    pub fn within<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }

    /// Opens the directory for the output of what is in a directory of the tree. In a copy, creates
    /// it if there is none.
    pub fn folder(&self, source: &Path) -> Result<Directory> {
        let within = source.strip_prefix(&self.root).unwrap_or(Path::new(""));
        let mut last = self.last.borrow_mut();
        if let Some((_, folder)) = last.as_ref().filter(|(path, _)| path == within) {
            return Ok(folder.clone());
        }
        let mut folder = self.top.clone();
        for name in within {
            let next = if self.is_copy { folder.enter_or_create(name) } else { folder.enter(name) };
            folder = next.map_err(output::failure)?;
        }
        *last = Some((within.to_path_buf(), folder.clone()));
        Ok(folder)
    }

    /// Copies a symbolic link. Returns `false` if it is there already. `replace` allows to replace
    /// another link.
    pub fn copy_link(&self, path: &Path, replace: bool) -> Result<bool> {
        let read = || Ok((fs::read_link(path)?, fs::symlink_metadata(path)?.modified()?));
        let (to, modified) = read().map_err(|error| Failure::io("read", &quoted(path), &error))?;
        let folder = self.folder(folder_of(path))?;
        let name = path.file_name().unwrap_or_default();
        // Nothing unfinished stays after a signal.
        let linked = interrupt::guarding(|| folder.link(&to, name, modified, replace), |_| None);
        linked.map_err(output::failure)
    }

    /// Calls `visit` for everything in the tree, sorted by name, until it breaks. A directory is
    /// read before anything in it is visited, so that outputs in it are not found.
    pub fn walk(&self, visit: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
        walk(&self.root, visit)
    }

    /// Calls `visit` for everything in the copy, and with the path in the tree that it has there.
    pub fn walk_copy(&self, visit: &mut dyn FnMut(Found<'_>, &Path)) {
        let copy = self.top.path();
        let _ = walk(copy, &mut |found| {
            let within = found.path().strip_prefix(copy).unwrap_or(Path::new(""));
            let source = self.root.join(within);
            visit(found, &source);
            ControlFlow::Continue(())
        });
    }
}

/// Calls `visit` for everything in a directory, as [`Tree::walk`] does.
pub fn walk(folder: &Path, visit: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
    let listed = fs::read_dir(folder).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
    // Before --rm changes it.
    let (mut entries, attributes) = match (listed, Attributes::of(folder)) {
        (Ok(entries), Ok(attributes)) => (entries, attributes),
        (Err(error), _) | (_, Err(error)) => return visit(Found::Unreadable(folder, error)),
    };
    entries.sort_by_cached_key(DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&path, visit)?,
            Ok(kind) if kind.is_file() => visit(Found::File(&path))?,
            Ok(kind) if kind.is_symlink() => visit(Found::Link(&path))?,
            Ok(kind) => visit(Found::Special(&path, name_of(kind)))?,
            Err(error) => visit(Found::Unreadable(&path, error))?,
        }
    }
    visit(Found::Folder(folder, attributes))
}

fn name_of(kind: fs::FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
    }
    let _ = kind;
    "a device"
}

/// Returns whether it is the name of an unfinished output, which a killed command left.
pub fn is_unfinished(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let digits = name.strip_prefix(b".palladion-").and_then(|name| name.strip_suffix(b".tmp"));
    digits.is_some_and(|digits| digits.len() == 16 && digits.iter().all(u8::is_ascii_hexdigit))
}

fn open_or_create(path: &Path) -> Result<Directory> {
    let error = match Directory::open(path) {
        Ok(directory) => return Ok(directory),
        Err(error) => error,
    };
    match (&error.cause, path.file_name()) {
        (Cause::Io(_, io), Some(name)) if io.kind() == ErrorKind::NotFound => {
            let parent = Directory::open(folder_of(path)).map_err(|_| {
                Failure::new(format!("there is no directory for {}", quoted(path)))
                    .hint(format!("create it first: mkdir -p {}", quoted(path)))
            })?;
            parent.enter_or_create(name).map_err(output::failure)
        }
        _ => Err(output::failure(error)),
    }
}

/// The directory of a file.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."))
}

/// Fails if one of the directories is in the other, or is the other: the walk would find its own
/// outputs, or they would replace its inputs.
fn check_apart(root: &Path, output: &Path) -> Result<()> {
    let Ok(from) = root.canonicalize() else { return Ok(()) };
    let to = output.canonicalize().or_else(|error| {
        let name = output.file_name().ok_or(error)?;
        Ok::<_, io::Error>(folder_of(output).canonicalize()?.join(name))
    });
    // What cannot be opened is reported then.
    let Ok(to) = to else { return Ok(()) };
    if !from.starts_with(&to) && !to.starts_with(&from) {
        return Ok(());
    }
    let message = match from == to {
        true => format!("{} is both input and output", quoted(root)),
        false => format!("of {} and {}, one is in the other", quoted(root), quoted(output)),
    };
    Err(Failure::usage(message).hint(
        "name a directory elsewhere, or leave out -o: then each output goes beside its input",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_outputs() {
        for (name, expected) in [
            (".palladion-0123456789abcdef.tmp", true),
            (".palladion-0123456789abcde.tmp", false),
            (".palladion-notes0123456789.tmp", false),
            ("0123456789abcdef.tmp", false),
        ] {
            assert_eq!(is_unfinished(name.as_ref()), expected, "{name}");
        }
    }
}
