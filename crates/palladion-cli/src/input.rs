//! The input of a command: a file or standard input.

use std::fs::{self, File, Metadata};
use std::io::{self, IsTerminal, Read, Seek};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use palladion_output::{Identity, Target, descriptor};

use crate::failure::{Failure, Result, note, quoted, tell};
use crate::streams;
use crate::waiting::Waiting;

/// A file that is read, and perhaps changed, at any offset.
pub struct RandomAccess {
    pub file: File,
    /// The name in messages.
    pub name: String,
    pub identity: Identity,
}

impl RandomAccess {
    /// Opens a file for reading, and if `change` also for writing. `no_directory` and `no_pipe` are
    /// hints for those who name one.
    pub fn open(path: &Path, change: bool, no_directory: &str, no_pipe: &str) -> Result<Self> {
        let name = quoted(path);
        let cannot = |error| Failure::io("open", &name, &error);
        if is_standard(Some(path)) {
            return Err(no_random_access("standard input", no_pipe));
        }
        // Check before opening: opening a pipe might block for ever.
        let metadata = fs::metadata(path).map_err(cannot)?;
        if metadata.is_dir() {
            return Err(is_directory(&name, no_directory));
        }
        if !metadata.is_file() && !is_disk(&metadata) {
            return Err(no_random_access(&name, no_pipe));
        }
        let file = File::options().read(true).write(change).open(path).map_err(cannot)?;
        let identity = Identity::of(&file);
        Ok(Self { file, name, identity })
    }
}

impl RandomAccess {
    /// Takes standard input, which must be a file that nobody has read from.
    pub fn standard_input(no_pipe: &str) -> Result<Self> {
        let input = Input::open_as("name a file in it", None)?;
        if !input.is_whole_file() {
            return Err(no_random_access(&input.name, no_pipe));
        }
        let Input { file, name, identity, .. } = input;
        Ok(Self { file, name, identity })
    }
}

fn is_directory(name: &str, hint: &str) -> Failure {
    Failure::new(format!("{name} is a directory")).hint(hint)
}

fn no_random_access(name: &str, hint: &str) -> Failure {
    Failure::usage(format!("{name} does not allow random access")).hint(hint)
}

pub struct Input {
    pub file: File,
    /// The name in messages.
    pub name: String,
    /// The number of the descriptor that the path means, if it means one; 0 is standard input.
    pub descriptor: Option<u32>,
    /// Not every pipe has metadata.
    pub metadata: Option<Metadata>,
    pub identity: Identity,
    /// The number of bytes left to read, if known.
    pub len: Option<u64>,
}

/// The descriptors that were opened. What is read from one is gone from it.
static OPENED: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Returns whether a path on the command line stands for a standard stream.
pub fn is_standard(path: Option<&Path>) -> bool {
    path.is_none_or(|path| path.as_os_str() == "-")
}

/// The descriptor that the path of an input means, if it means one.
pub fn descriptor_of(path: Option<&Path>) -> Option<u32> {
    path.filter(|path| !is_standard(Some(path))).map_or(Some(0), descriptor)
}

/// Returns whether the path of an input means standard input.
pub fn is_standard_input(path: Option<&Path>) -> bool {
    descriptor_of(path) == Some(0)
}

/// Returns whether a file is the same as before, with the same contents.
pub fn is_unchanged(before: &Metadata, now: &Metadata) -> bool {
    let state = |metadata: &Metadata| {
        #[cfg(unix)]
        let changed = {
            use std::os::unix::fs::MetadataExt;
            (metadata.dev(), metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
        };
        #[cfg(not(unix))]
        let changed = ();
        (metadata.len(), metadata.modified().ok(), changed)
    };
    state(before) == state(now)
}

/// Returns whether a file has other names too.
pub fn has_links(file: &Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::nlink(file) > 1;
    #[cfg(not(unix))]
    return {
        let _ = file;
        false
    };
}

/// Returns whether a file has one link less than before, and the same contents.
pub fn has_lost_a_link(before: &Metadata, now: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let state = |file: &Metadata| (file.dev(), file.ino(), file.len(), file.modified().ok());
        state(before) == state(now) && now.nlink() + 1 == before.nlink()
    }
    #[cfg(not(unix))]
    {
        let _ = (before, now);
        false
    }
}

/// Fails if one of several files is not a regular file or a disk. A FIFO might wait for its writer
/// for ever, and a device might never end. Descriptors that the program was started with are open
/// already.
pub fn check_one_of(files: usize, path: Option<&Path>) -> Result<()> {
    let Some(path) = path.filter(|path| files > 1 && descriptor_of(Some(path)).is_none()) else {
        return Ok(());
    };
    // Other problems are reported when it is opened.
    match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() && !is_disk(&found) => {
            let message = format!("{} is not a regular file", quoted(path));
            Err(Failure::usage(message).hint("a pipe or a device must be the only input"))
        }
        _ => Ok(()),
    }
}

fn is_disk(found: &Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::FileTypeExt::is_block_device(&found.file_type());
    #[cfg(not(unix))]
    return {
        let _ = found;
        false
    };
}

impl Input {
    /// Opens a file with data, or standard input.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        Self::open_as("pack it first: tar c DIRECTORY | palladion …", path)
    }

    /// Opens a file or standard input. `no_directory` is a hint for those who name a directory.
    pub fn open_as(no_directory: &str, path: Option<&Path>) -> Result<Self> {
        let descriptor = descriptor_of(path);
        let (file, name) = match (descriptor, path) {
            (Some(0), _) | (_, None) => (streams::input(), "standard input".to_string()),
            (Some(number), Some(path)) => (streams::handed_over(number), quoted(path)),
            (None, Some(path)) => (File::open(path), quoted(path)),
        };
        let file = file.map_err(|error| match path {
            // Windows does not open directories like files.
            Some(path) if cfg!(windows) && path.is_dir() => is_directory(&name, no_directory),
            _ => Failure::io("open", &name, &error),
        })?;
        if let Some(number) = descriptor {
            let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
            if opened.contains(&number) {
                let message = format!("{name} cannot be read twice");
                return Err(Failure::usage(message).hint("name each input once"));
            }
            opened.push(number);
        }
        let metadata = palladion_output::metadata(&file);
        let metadata = metadata.map_err(|error| Failure::io("read", &name, &error))?;
        if metadata.as_ref().is_some_and(Metadata::is_dir) {
            return Err(is_directory(&name, no_directory));
        }
        // A program before this one may have read some of standard input.
        let position = (&file).stream_position().unwrap_or(0);
        let regular = metadata.as_ref().filter(|metadata| metadata.is_file());
        let len = regular.map(|metadata| metadata.len().saturating_sub(position));
        let identity = Identity::of(&file);
        Ok(Self { file, name, descriptor, metadata, identity, len })
    }

    /// Returns where to read.
    pub fn reader(&self) -> Reader<'_> {
        let is_console = cfg!(windows) && self.descriptor == Some(0) && self.file.is_terminal();
        Reader { file: Waiting(&self.file), is_console }
    }

    /// Returns whether it is a regular file of which nothing was read.
    pub fn is_whole_file(&self) -> bool {
        self.len.is_some() && self.len == self.metadata.as_ref().map(Metadata::len)
    }

    /// Returns whether it is a regular file.
    pub fn is_file(&self) -> bool {
        self.len.is_some()
    }

    /// Gives a file that is made from this one its permissions and its date.
    pub fn pass_on(&self, target: Target) -> Target {
        let target = target.permissions_of(&self.file);
        let regular = self.metadata.as_ref().filter(|metadata| metadata.is_file());
        match regular.map(Metadata::modified) {
            Some(Ok(time)) => target.modified(time),
            _ => target,
        }
    }

    /// Fails if fewer bytes were read than the file had when it was opened, and warns if it was
    /// changed or grew, as a log does.
    pub fn check_whole(&self, read: u64) -> Result<()> {
        let Some(len) = self.len.filter(|_| self.was_changed()) else { return Ok(()) };
        if read < len {
            return Err(Failure::new(format!(
                "{} became shorter while it was read: it had {len} bytes, and {read} were read",
                self.name
            ))
            .hint("run the command again when no other program changes the file"));
        }
        tell(&format!("warning: {} changed while it was read; {read} bytes were read", self.name));
        Ok(())
    }

    /// Returns whether the file was changed since it was opened. Files in sysfs and the like are
    /// shorter than the system says, without a change.
    fn was_changed(&self) -> bool {
        match (&self.metadata, self.file.metadata()) {
            (Some(before), Ok(now)) => !is_unchanged(before, &now),
            _ => true,
        }
    }

    /// Prepares reading: widens a pipe, and tells a user at a terminal that the program waits for
    /// input. Call it before the first read.
    pub fn begin(&self) {
        if self.is_file() {
            return; // thousands of small files should not pay for this
        }
        streams::widen(&self.file);
        if self.file.is_terminal() {
            let end = if cfg!(windows) { "Ctrl-Z and Enter end" } else { "Ctrl-D ends" };
            note(&format!("note: reading from the terminal; {end} the input"));
        }
    }
}

/// Reads an input.
pub struct Reader<'a> {
    file: Waiting<&'a File>,
    /// Whether it is a console of Windows. Its own text is UTF-16, and other programs get it in an
    /// old code page unless they ask.
    is_console: bool,
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.is_console {
            true => io::stdin().read(buffer),
            false => self.file.read(buffer),
        }
    }
}
