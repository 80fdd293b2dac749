//! `mac`.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use palladion::Buffer;
use palladion_file::{Mac, MasterKey};

use crate::args::MacArgs;
use crate::failure::{Failure, Result, buffer};
use crate::input::{Input, check_one_of, is_standard_input};
use crate::keys::{OwnSecret, Source};
use crate::text::{is_utf16, without_mark};
use crate::values::Kind;
use crate::verdict::Verdict;
use crate::{hex, streams};

/// Large enough for few calls, small enough for the cache.
const BUFFER_LEN: usize = 1 << 20;
/// Longer than any file name.
const LONGEST_LINE: u64 = 64 * 1024;

/// `mac`.
pub fn run(args: &MacArgs) -> Result<()> {
    let standard_input = [Path::new("-").to_path_buf()];
    let files = if args.files.is_empty() { &standard_input[..] } else { &args.files };
    let given = args.key_file.as_deref().map(|path| (Kind::Key, Some(path)));
    let reads_standard_input = files.iter().any(|file| is_standard_input(Some(file)));
    let mut source = Source::open(given, reads_standard_input, !args.check)?;
    let OwnSecret::Key(key) = source.secret()? else {
        return Err(Failure::usage("a MAC needs a key file"));
    };
    let mut maker = Maker { key, args, buffer: buffer(BUFFER_LEN)? };
    let (mut bad, mut incomplete) = (Bad::default(), 0);
    for file in files {
        let done = match args.check {
            true => maker.check(file, &mut bad)?,
            false => maker.print(file)?.inspect_err(|_| bad.unread += 1),
        };
        if let Err(failure) = done {
            failure.tell();
            incomplete += u64::from(args.check);
        }
    }
    let Bad { failed, unread } = bad;
    let problems: Vec<_> = [
        (failed, "file", "failed verification"),
        (unread, "file", "could not be read"),
        (incomplete, "list", "could not be checked completely"),
    ]
    .into_iter()
    .filter(|(number, ..)| *number > 0)
    .map(|(number, thing, what)| format!("{} {what}", counted(number, thing)))
    .collect();
    if problems.is_empty() {
        return Ok(());
    }
    let failure = Failure::new(problems.join(", "));
    Err(match failed {
        0 => failure,
        _ => failure
            .detail(&format!("tried key {}", key.fingerprint()))
            .hint("the files changed, or the list was made with another key or --algorithm"),
    })
}

/// The files of all lists that are not as they were, and those that could not be read.
#[derive(Default)]
struct Bad {
    failed: u64,
    unread: u64,
}

/// A number of things in messages.
fn counted(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

struct Maker<'a> {
    key: &'a MasterKey,
    args: &'a MacArgs,
    /// For the data of one file after another.
    buffer: Buffer,
}

impl Maker<'_> {
    /// Prints the line of a file. A problem with the file is the inner error.
    fn print(&mut self, file: &Path) -> Result<Result<()>> {
        let mac = match self.mac(file) {
            Ok(mac) => mac,
            Err(failure) => return Ok(Err(failure)),
        };
        // Like b3sum, so that the list can be checked elsewhere.
        let file = match cfg!(windows) {
            true => file.to_string_lossy().replace('\\', "/").into(),
            false => file.into(),
        };
        let line = Line { tag: mac.finalize(), file };
        streams::print(line.to_bytes())?;
        Ok(Ok(()))
    }

    /// Checks a list, and counts the files that fail.
    fn check(&mut self, list: &Path, bad: &mut Bad) -> Result<Result<()>> {
        let input = check_one_of(self.args.files.len(), Some(list))
            .and_then(|()| Input::open_as("name a list of MACs", Some(list)))
            .inspect(Input::begin);
        let input = match input {
            Ok(input) => input,
            Err(failure) => return Ok(Err(failure)),
        };
        let name = &input.name;
        let mut reader = BufReader::new(input.reader());
        let (mut checked, mut strange) = (0, 0);
        for number in 1.. {
            let mut line = Vec::new();
            match (&mut reader).take(LONGEST_LINE + 1).read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(len) if len as u64 > LONGEST_LINE => {
                    return Ok(Err(Failure::new(format!("{name}: line {number} is too long"))));
                }
                Ok(_) => {}
                Err(error) => return Ok(Err(Failure::io("read", name, &error))),
            }
            if number == 1 && is_utf16(&line) {
                let failure =
                    Failure::new(format!("{name} is UTF-16 text")).hint("save it as UTF-8");
                return Ok(Err(failure));
            }
            let line = line.strip_suffix(b"\n").unwrap_or(&line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            // Also between lists that were put together.
            let line = without_mark(line);
            match Line::parse(line) {
                Some(line) => {
                    checked += 1;
                    self.verify(&line, bad)?;
                }
                None if line.is_empty() => {}
                None => {
                    strange += 1;
                    // Report only the first: this may not be a list at all.
                    if strange == 1 {
                        let message = format!("{name}: line {number} is not a MAC and a file name");
                        Failure::new(message).tell();
                    }
                }
            }
        }
        Ok(match (checked, strange) {
            (0, 0) => Err(Failure::new(format!("{name}: the list is empty"))),
            (_, 0) => Ok(()),
            _ => Err(Failure::new(format!(
                "{name}: {} could not be checked",
                counted(strange, "line")
            ))),
        })
    }

    /// Checks a file and prints the verdict.
    fn verify(&mut self, line: &Line, bad: &mut Bad) -> Result<()> {
        let verdict = match self.mac(&line.path()).map(|mac| mac.verify(&line.tag)) {
            Ok(true) => Verdict::Ok,
            Ok(false) => {
                bad.failed += 1;
                Verdict::Failed
            }
            Err(failure) => {
                failure.tell();
                bad.unread += 1;
                Verdict::Unread
            }
        };
        verdict.print(&bytes_of(&line.file))
    }

    /// The MAC of a whole file, ready to be finalized.
    fn mac(&mut self, path: &Path) -> Result<Mac> {
        // A list may name several files, and anything.
        let files = if self.args.check { usize::MAX } else { self.args.files.len() };
        check_one_of(files, Some(path))?;
        let input = open(path)?;
        let failed = |error| Failure::file(&error, &input.name, "standard output");
        let mut mac = Mac::new(self.key, self.args.algorithm).map_err(failed)?;
        let mut read = 0;
        loop {
            match input.reader().read(&mut self.buffer) {
                Ok(0) => return input.check_whole(read).map(|()| mac),
                Ok(len) => {
                    mac.update(&self.buffer[..len]).map_err(failed)?;
                    read += len as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::io("read", &input.name, &error)),
            }
        }
    }
}

fn open(path: &Path) -> Result<Input> {
    Input::open(Some(path)).inspect(Input::begin)
}

/// A MAC and the file that it belongs to.
#[derive(Debug, PartialEq)]
struct Line {
    tag: [u8; 32],
    file: OsString,
}

impl Line {
    fn to_bytes(&self) -> Vec<u8> {
        let name = self.shown_name();
        // As in the lists of other tools: a leading backslash means that the name has escapes.
        let mut line = if name == bytes_of(&self.file) { Vec::new() } else { vec![b'\\'] };
        line.extend_from_slice(hex::encode(&self.tag).as_bytes());
        [&line[..], b"  ", &name, b"\n"].concat()
    }

    /// Returns where the file is. A list made on Windows may separate the parts of a name by
    /// backslashes, which elsewhere are part of a name.
    fn path(&self) -> PathBuf {
        let path = PathBuf::from(&self.file);
        if cfg!(windows) || !matches!(path.try_exists(), Ok(false)) {
            return path;
        }
        let mut name = bytes_of(&self.file);
        name.iter_mut().filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
        let other = os_string(name).map(PathBuf::from);
        other.filter(|other| other.exists()).unwrap_or(path)
    }

    /// The name on one line.
    fn shown_name(&self) -> Vec<u8> {
        let mut shown = Vec::new();
        for &byte in &bytes_of(&self.file) {
            match byte {
                b'\\' => shown.extend_from_slice(br"\\"),
                b'\n' => shown.extend_from_slice(br"\n"),
                b'\r' => shown.extend_from_slice(br"\r"),
                _ => shown.push(byte),
            }
        }
        shown
    }

    fn parse(line: &[u8]) -> Option<Self> {
        let (escaped, line) = match line.strip_prefix(b"\\") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let (digits, name) = line.split_at_checked(64)?;
        let name = name.strip_prefix(b"  ").filter(|name| !name.is_empty())?;
        let tag = hex::decode(digits)?.as_slice().try_into().ok()?;
        let name = if escaped { unescape(name)? } else { name.to_vec() };
        Some(Self { tag, file: os_string(name)? })
    }
}

fn unescape(name: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = name.iter();
    let mut plain = Vec::new();
    while let Some(&byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next()? {
                b'\\' => b'\\',
                b'n' => b'\n',
                b'r' => b'\r',
                _ => return None,
            },
            byte => byte,
        });
    }
    Some(plain)
}

/// A name as it stands in a list: on Unix any bytes, elsewhere Unicode.
fn bytes_of(name: &OsString) -> Vec<u8> {
    #[cfg(unix)]
    return std::os::unix::ffi::OsStrExt::as_bytes(name.as_os_str()).to_vec();
    #[cfg(not(unix))]
    return name.to_string_lossy().into_owned().into_bytes();
}

fn os_string(name: Vec<u8>) -> Option<OsString> {
    #[cfg(unix)]
    return Some(std::os::unix::ffi::OsStringExt::from_vec(name));
    #[cfg(not(unix))]
    return String::from_utf8(name).ok().map(OsString::from);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_any_name() {
        for name in
            ["a", "two words", "  ", "back\\slash", "new\nline", "r\rn\n", "\\n", "caf\u{e9}", "*"]
        {
            let line = Line { tag: [0xa5; 32], file: name.into() };
            let bytes = line.to_bytes();
            let (end, text) = bytes.split_last().unwrap();
            assert_eq!(*end, b'\n');
            assert!(!text.contains(&b'\n') && !text.contains(&b'\r'));
            assert_eq!(Line::parse(text), Some(line));
        }
    }

    #[test]
    fn wrong_lines() {
        let digits = "a5".repeat(32);
        for wrong in [
            "",
            "a5  name",
            &digits,
            &format!("{digits} name"),
            &format!("{digits}  "),
            &format!("\\{digits}  a\\x"),
        ] {
            assert_eq!(Line::parse(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(Line::parse(format!("{}  name", "zz".repeat(32)).as_bytes()), None);
    }
}
