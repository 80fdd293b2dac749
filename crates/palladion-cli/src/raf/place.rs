//! Finds, locks, creates and opens RAF files with the user's secret.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use palladion_file::KdfParams;
use palladion_output::Identity;
use palladion_raf::{
    Algorithm, Environment, Error, Found, HEADER_LEN, Info, Options, Raf, System, merkle, probe,
};
use zeroize::Zeroizing;

use crate::failure::{Failure, Result, quoted, tell};
use crate::input::RandomAccess;
use crate::keys::{MOST_TRIES, OwnSecret, Source};
use crate::output::Output;
use crate::raf::args::{KeyArgs, NewArgs};
use crate::raf::truncated::Truncated;
use crate::{foreign, terminal};

const MAGIC: &[u8] = b"AEGISRAF";
/// How often a file is opened that another program replaces each time.
const MOST_OPENS: usize = 10;

/// An existing file, locked.
pub struct Place {
    pub name: String,
    pub identity: Identity,
    pub file: File,
    change: bool,
    /// What messages say about the secret that was tried.
    tried: Option<String>,
}

impl Place {
    /// Opens a file for reading, and if `change` also for writing.
    pub fn open(path: &Path, change: bool) -> Result<Self> {
        Self::open_by(path, change, || {
            RandomAccess::open(path, change, "name a RAF file in it", "name a file, not a pipe")
        })
    }

    /// Opens a file with `open` until the file that it locked is still the one of this name.
    fn open_by(path: &Path, change: bool, open: impl Fn() -> Result<RandomAccess>) -> Result<Self> {
        let in_use = |name: &str, how: &str| {
            let failure = Failure::new(format!("{name} is being {how} by another program"));
            failure.hint("try again when it is done")
        };
        for _ in 0..MOST_OPENS {
            let RandomAccess { file, name, identity } = open()?;
            let locked = if change { file.try_lock() } else { file.try_lock_shared() };
            // Not every file system has locks.
            if let Err(TryLockError::WouldBlock) = locked {
                return Err(in_use(&name, if change { "used" } else { "changed" }));
            }
            if !palladion_output::is_replaced(path, &file) {
                return Ok(Self { name, identity, file, change, tried: None });
            }
        }
        Err(in_use(&quoted(path), "replaced"))
    }

    /// Reads the header without verifying it.
    pub fn probe(&mut self) -> Result<Info> {
        probe(&mut self.file).map_err(|error| match error {
            Error::NotRaf => self.not_raf(),
            error => failed("read", &self.name, None, error),
        })
    }

    /// Explains why this is not a RAF file.
    fn not_raf(&mut self) -> Failure {
        let mut start = Vec::with_capacity(HEADER_LEN);
        let read = self
            .file
            .rewind()
            .and_then(|()| (&self.file).take(HEADER_LEN as u64).read_to_end(&mut start));
        if let Err(error) = read {
            return Failure::io("read", &self.name, &error);
        }
        let name = &self.name;
        if start.is_empty() {
            return Failure::damaged(format!("{name}: the file is empty, not a RAF file"))
                .hint("create one with: palladion raf create");
        }
        let failure = Failure::damaged(format!("{name}: this is not a RAF file"));
        failure.hint(match foreign::hint(&start) {
            _ if start.starts_with(&palladion_file::MAGIC) => {
                "it is a Palladion file: use palladion decrypt, cat, info or verify"
            }
            Some(hint) => hint,
            None => "check that it is the right file; to encrypt it, use palladion raf import",
        })
    }

    /// The size on disk in bytes.
    pub fn len(&mut self) -> Result<u64> {
        self.file.seek(SeekFrom::End(0)).map_err(|error| Failure::io("read", &self.name, &error))
    }

    pub fn unlock(mut self, key: &KeyArgs, mut source: Source) -> Result<Opened> {
        let master_key = self.master_key(key, &mut source)?;
        self.open_with(&master_key)
    }

    /// The master key of this file. A passphrase that was typed for another file is tried first.
    pub fn master_key(&mut self, key: &KeyArgs, source: &mut Source) -> Result<Zeroizing<Vec<u8>>> {
        let _hidden = terminal::Hidden;
        // Read the header before asking for a passphrase.
        let info = self.probe()?;
        let (mut ask, mut asked) = (source.is_typed() && !source.is_known(), 0);
        loop {
            if ask {
                *source = Source::typed(&self.name).map_err(Failure::of_all_files)?;
                asked += 1;
            }
            let secret = source.secret().map_err(Failure::of_all_files)?;
            let found = master_key(secret, key, info.algorithm, &info.file_id, &self.name)?;
            self.tried = source.tried();
            let is_last = !source.is_typed() || asked == MOST_TRIES;
            if is_last || !self.refuses(&found)? {
                return Ok(found);
            }
            tell(&match asked {
                0 => format!("{} has another passphrase", self.name),
                _ => format!("{}: wrong passphrase, try again", self.name),
            });
            ask = true;
        }
    }

    /// Returns whether this is the wrong key.
    fn refuses(&self, master_key: &[u8]) -> Result<bool> {
        let reader = Self { change: false, ..self.again()? };
        Ok(reader.open_with(master_key).is_err_and(|failure| failure.is_wrong_key()))
    }

    /// A second handle to the file.
    pub fn again(&self) -> Result<Self> {
        let Self { name, identity, file, change, tried } = self;
        let file = file.try_clone().map_err(|error| Failure::io("open", name, &error))?;
        let (name, identity, tried) = (name.clone(), identity.clone(), tried.clone());
        Ok(Self { name, identity, file, change: *change, tried })
    }

    /// Opens a file that may be truncated.
    pub fn open_truncated(self, master_key: &[u8]) -> Result<(String, Raf<Truncated>)> {
        let Self { name, file, tried, .. } = self;
        let opened = Found::new(Truncated(file))
            .and_then(|found| found.read_only().unlocked().open(master_key));
        match opened {
            Ok(raf) => Ok((name, raf)),
            Err(error) => Err(not_opened(&name, tried, error)),
        }
    }

    pub fn open_with(self, master_key: &[u8]) -> Result<Opened> {
        let Self { name, file, change, tried, .. } = self;
        let opened = Found::new(file).and_then(|found| {
            let found = if change { found } else { found.read_only() };
            found.unlocked().open(master_key) // it is locked already
        });
        match opened {
            Ok(raf) => Ok(Opened { name, raf }),
            Err(error) => Err(not_opened(&name, tried, error)),
        }
    }
}

/// The failure to open a file after this was tried.
fn not_opened(name: &str, tried: Option<String>, error: Error) -> Failure {
    let is_wrong = matches!(error, Error::WrongKey);
    let failure = failed("open", name, None, error);
    match tried.filter(|_| is_wrong) {
        Some(tried) => failure.detail(&format!("tried {tried}")),
        None => failure,
    }
}

/// A file opened with its key.
pub struct Opened {
    pub name: String,
    pub raf: Raf<File>,
}

impl Opened {
    /// The failure of `action` with an error of the library.
    pub fn failed(&self, action: &str, error: Error) -> Failure {
        failed(action, &self.name, Some(self.raf.info()), error)
    }

    /// Fails if the disk has no room for the file with contents of `size` bytes.
    pub fn check_space(&mut self, size: u64) -> Result<()> {
        #[cfg(unix)]
        {
            let info = self.raf.info();
            let more = size.div_ceil(info.chunk_size.into()).saturating_sub(info.chunks());
            let needed = u128::from(more) * info.record_len() as u128;
            let disk = rustix::fs::fstatvfs(self.raf.storage_mut());
            let free = disk.ok().and_then(|disk| free(disk.f_blocks, disk.f_bavail, disk.f_frsize));
            if let Some(free) = free
                && needed > free
            {
                return Err(Failure::new(format!(
                    "{} would grow by {needed} bytes, but the disk has {free} left",
                    self.name
                ))
                .hint("free some space, or check the size"));
            }
        }
        #[cfg(not(unix))]
        let _ = size;
        Ok(())
    }
}

/// The bytes that are left on a disk, if it knows: a file system in memory or in a program of its
/// own may say that it has 0 blocks, of which 0 are left.
#[cfg(unix)]
fn free(blocks: u64, available: u64, block_len: u64) -> Option<u128> {
    (blocks > 0 && block_len > 0).then(|| u128::from(available) * u128::from(block_len))
}

/// Creates an empty file.
pub fn create(output: &Output, key: &KeyArgs, new: &NewArgs, mut source: Source) -> Result<Opened> {
    let file = output.random_access()?;
    let secret = source.secret()?;
    let mut id = [0; 24];
    let random = System::<merkle::Sha256>::default().random(&mut id);
    random.map_err(|error| failed("create", &output.name, None, Error::NoRandomness(error)))?;
    let master_key = master_key(secret, key, new.algorithm, &id, &output.name)?;
    // A passphrase needs the id as salt before the file is created.
    let options =
        Options::default().algorithm(new.algorithm).chunk_size(new.chunk_size).file_id(id);
    // It gets its name at the end, when someone else may open it.
    let opened = options.unlocked().create(file, &master_key);
    match opened {
        Ok(raf) => Ok(Opened { name: output.name.clone(), raf }),
        Err(error) => Err(failed("write", &output.name, None, error)),
    }
}

/// The master key of the file `name`, as docs/raf.md describes.
fn master_key(
    secret: &OwnSecret,
    args: &KeyArgs,
    algorithm: Algorithm,
    id: &[u8; 24],
    name: &str,
) -> Result<Zeroizing<Vec<u8>>> {
    let len = algorithm.key_len();
    let mut key = match secret {
        OwnSecret::Key(key) => own_key(key.as_bytes(), len),
        OwnSecret::Passphrase(passphrase) => {
            let mut salt = [0; 32];
            salt[..MAGIC.len()].copy_from_slice(MAGIC);
            salt[MAGIC.len()..].copy_from_slice(id);
            let key = passphrase.stretch(&salt, KdfParams::default());
            own_key(key.map_err(|error| Failure::file(&error, name, name))?.as_bytes(), len)
        }
        OwnSecret::Identities(_) => {
            return Err(Failure::usage("a RAF file has a key or a passphrase, not an identity"));
        }
        OwnSecret::RawKey { key, .. } if key.len() == len => key.clone(),
        OwnSecret::RawKey { key, guessed } => {
            let message = format!(
                "the key has {} bytes, but {} has keys of {len}",
                key.len(),
                algorithm.name()
            );
            return Err(Failure::wrong_key(message).hint(match guessed {
                true => {
                    "the file was read as 32 hexadecimal digits; if its 32 bytes are the key \
                     itself, use --raw-key-format bytes"
                }
                false => {
                    "AEGIS-128L, 128X2 and 128X4 use keys of 16 bytes; \
                     AEGIS-256, 256X2 and 256X4 use 32"
                }
            }));
        }
    };
    if let Some(context) = &args.context {
        key =
            palladion_raf::derive_master_key(&key, context.as_bytes()).map_err(
                |error| match error {
                    Error::ContextLength { max, actual } => Failure::usage(format!(
                        "the context has {actual} bytes, but may have at most {max} with {}",
                        algorithm.name()
                    )),
                    error => Failure::new(error.to_string()),
                },
            )?;
    }
    Ok(key)
}

/// Derives a master key of 16 or 32 bytes that is independent of the key file's other uses.
fn own_key(key: &[u8; 32], len: usize) -> Zeroizing<Vec<u8>> {
    let purpose: &[u8] =
        if len == 16 { b"palladion raf AEGIS-128" } else { b"palladion raf AEGIS-256" };
    let mut derived = palladion_raf::derive_master_key(key, purpose)
        .expect("the lengths of key and context are allowed");
    derived.truncate(len);
    derived
}

/// The failure of `action` on a file; `info` is known if the file was opened.
pub fn failed(action: &str, name: &str, info: Option<Info>, error: Error) -> Failure {
    let message = format!("{name}: {error}");
    match error {
        Error::Io(error) => Failure::io(action, name, &error),
        Error::WrongKey => {
            let message =
                format!("{name}: wrong key or passphrase, or the header of the file was changed");
            Failure::wrong_key(message).hint(
                "use the -k, --raw-key or passphrase that the file was created with, and the same \
                 --context",
            )
        }
        Error::KeyLength { .. } => Failure::wrong_key(message),
        Error::NotRaf => Failure::damaged(message),
        Error::Unsupported { .. } => {
            Failure::new(message).hint("a newer version of palladion may support it")
        }
        Error::Truncated { expected, actual } => Failure::damaged(format!(
            "{name}: the file is truncated: it has {actual} bytes, but should have {expected}"
        ))
        .hint("fetch it again, or restore a copy; palladion raf export --salvage reads the rest"),
        Error::DamagedChunk { index } => {
            let place = info.map_or(String::new(), |info| format!(" ({})", bytes_of(&info, index)));
            Failure::damaged(format!("{name}: chunk {index} is damaged{place}")).hint(
                "palladion raf verify names all damaged chunks; \
                 palladion raf export --salvage reads the others",
            )
        }
        Error::TreeFull { max_chunks } => {
            let chunks = info.map_or(String::new(), |info| format!(" {}", info.chunks()));
            Failure::usage(format!(
                "{name}: --max-chunks {max_chunks} is less than the{chunks} chunks of the file"
            ))
        }
        _ => Failure::new(message),
    }
}

/// The range of the contents in a chunk.
pub fn bytes_of(info: &Info, chunk: u64) -> String {
    let size = u64::from(info.chunk_size);
    let start = chunk * size;
    format!("bytes {start} to {}", info.size.min(start.saturating_add(size)).saturating_sub(1))
}

#[cfg(all(test, unix))]
mod tests {
    use std::cell::Cell;
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_is_replaced_before_it_is_locked() {
        let dir = tempfile::tempdir().unwrap();
        let [path, new] = ["f.raf", "new"].map(|name| dir.path().join(name));
        for (replacements, is_opened) in [(0, true), (1, true), (9, true), (10, false)] {
            fs::write(&path, "0").unwrap();
            let opens = Cell::new(0);
            let opened = Place::open_by(&path, true, || {
                let opened = RandomAccess::open(&path, true, "", "");
                opens.set(opens.get() + 1);
                if opens.get() <= replacements {
                    fs::write(&new, opens.get().to_string()).unwrap();
                    fs::rename(&new, &path).unwrap();
                }
                opened
            });
            let content = opened.ok().map(|place| std::io::read_to_string(place.file).unwrap());
            assert_eq!(content, is_opened.then(|| replacements.to_string()));
        }
    }

    #[test]
    fn a_disk_that_does_not_know_has_room() {
        assert_eq!(free(100, 10, 4096), Some(40960));
        assert_eq!(free(100, 0, 4096), Some(0));
        assert_eq!(free(0, 0, 4096), None);
        assert_eq!(free(100, 10, 0), None);
        assert_eq!(free(u64::MAX, u64::MAX, 4096), Some(u128::from(u64::MAX) * 4096));
    }
}
