//! `mac`.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use palladion_file::{Mac, MasterKey};

use crate::args::MacArgs;
use crate::failure::{Failure, Result, stdout_failed};
use crate::input::Input;
use crate::keys;

/// Large enough to make calls rare, small enough to stay in the cache.
const BUFFER_LEN: usize = 256 * 1024;

/// `mac`.
pub fn run(args: &MacArgs) -> Result<()> {
    let standard_input = [Path::new("-").to_path_buf()];
    let files = if args.files.is_empty() { &standard_input[..] } else { &args.files };
    if args.key_file == Path::new("-") && files.iter().any(|file| file.as_os_str() == "-") {
        return Err(Failure::usage("standard input cannot be both the key and the data"));
    }
    let maker = Maker { key: keys::master_key(&args.key_file)?, args };
    let mut failed = 0;
    for file in files {
        failed += if args.check { maker.check(file)? } else { maker.print(file)? };
    }
    match (failed, args.check) {
        (0, _) => Ok(()),
        (failed, true) => Err(Failure::new(format!("{failed} of the files listed could not be verified"))
            .hint("besides a change, another key or another --algorithm than the list was made with may be the cause")),
        (failed, false) => Err(Failure::new(format!("{failed} of the files could not be read"))),
    }
}

struct Maker<'a> {
    key: MasterKey,
    args: &'a MacArgs,
}

impl Maker<'_> {
    /// Prints the line of a file. Returns the number of failures, as does `check`.
    fn print(&self, file: &Path) -> Result<u64> {
        match self.mac(file) {
            Ok(mac) => {
                let line = Line { tag: mac.finalize(), file: file.into() };
                io::stdout().write_all(&line.to_bytes()).map_err(|error| stdout_failed(&error))?;
                Ok(0)
            }
            Err(failure) => {
                failure.tell();
                Ok(1)
            }
        }
    }

    /// Checks what a list says.
    fn check(&self, list: &Path) -> Result<u64> {
        let Input { file, name, .. } = Input::open(Some(list))?;
        let mut failed = 0;
        for (number, line) in BufReader::new(file).split(b'\n').enumerate() {
            let line = line.map_err(|error| Failure::io("read", &name, &error))?;
            let line = Line::parse(line.strip_suffix(b"\r").unwrap_or(&line)).ok_or_else(|| {
                Failure::new(format!("{name}: line {} is not a MAC and the name of a file", number + 1))
            })?;
            let verified = self.mac(Path::new(&line.file)).map(|mac| mac.verify(&line.tag));
            failed += u64::from(!matches!(verified, Ok(true)));
            if let Err(failure) = verified.as_ref() {
                failure.tell();
            }
            if !(self.args.quiet && matches!(verified, Ok(true))) {
                let verdict = if matches!(verified, Ok(true)) { "OK" } else { "FAILED" };
                let shown = [&line.shown_name()[..], b": ", verdict.as_bytes(), b"\n"].concat();
                io::stdout().write_all(&shown).map_err(|error| stdout_failed(&error))?;
            }
        }
        Ok(failed)
    }

    /// The MAC of a whole file, ready to be finalized.
    fn mac(&self, path: &Path) -> Result<Mac> {
        let Input { mut file, name, .. } = Input::open(Some(path))?;
        let failed = |error| Failure::file(&error, &name, "standard output");
        let mut mac = Mac::new(&self.key, self.args.algorithm).map_err(failed)?;
        let mut buffer = vec![0; BUFFER_LEN];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(mac),
                Ok(len) => mac.update(&buffer[..len]).map_err(failed)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::io("read", &name, &error)),
            }
        }
    }
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
        // As in the lists of other tools: a backslash in front says that there are escapes.
        let mut line = if name == bytes_of(&self.file) { Vec::new() } else { vec![b'\\'] };
        for byte in self.tag {
            line.extend_from_slice(format!("{byte:02x}").as_bytes());
        }
        [&line[..], b"  ", &name, b"\n"].concat()
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
        let mut tag = [0; 32];
        for (byte, pair) in tag.iter_mut().zip(digits.chunks_exact(2)) {
            let nibble = |digit: u8| char::from(digit).to_digit(16);
            *byte = (nibble(pair[0])? << 4 | nibble(pair[1])?) as u8;
        }
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
        for name in ["a", "two words", "  ", "back\\slash", "new\nline", "r\rn\n", "\\n", "caf\u{e9}", "*"] {
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
