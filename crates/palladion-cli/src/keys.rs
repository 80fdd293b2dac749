//! Key files and passphrases.

use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Once;

use palladion_file::slots::NewSlot;
use palladion_file::{
    KdfLimits, KdfParams, KeyFileError, Keyring, MasterKey, Mistaken, Passphrase, Secret,
};
use palladion_output::{Cause, Identity, Target, descriptor, open_to_others, refuse_inputs};
use palladion_recipients::{self as recipients, Error, IdentityFile, Protected};
use zeroize::Zeroizing;

use crate::age::{Opener, Program, failure, shortened};
use crate::args::{FingerprintArgs, KeygenArgs};
use crate::failure::{Failure, Result, SECRET_GIVEN, for_each, is_secret, note, quoted, tell};
use crate::input::{Input, check_one_of, is_standard, is_standard_input};
use crate::output::{self, Access, Output};
use crate::text::{is_utf16, without_mark};
use crate::values::{Given, Kind, RawFormat, in_units};
use crate::words::spoken;
use crate::{hex, streams, terminal};

/// The longest key file or passphrase file, in bytes. A longer file is something else.
const LONGEST: usize = 64 * 1024;
/// The longest file with the bytes of a key, or their hexadecimal digits and some white space.
const LONGEST_RAW: usize = 128;
/// How often a passphrase is asked for until it is well typed, and until it is the right one.
pub const MOST_TRIES: usize = 3;
/// Begins a key in its file.
const KEY_MARK: &[u8] = b"palladion-key-";

/// The secret that the user gave, kept until the work is done.
pub enum OwnSecret {
    Key(MasterKey),
    RawKey {
        key: Zeroizing<Vec<u8>>,
        /// Whether its file could also hold a key of 32 bytes that all are hexadecimal digits.
        guessed: bool,
    },
    Identities(Opener),
    Passphrase(Passphrase),
}

impl OwnSecret {
    /// Copies the secret to open a Palladion file, with key slots or without, bound or not.
    pub fn keyring(&self, place: Option<impl Into<Vec<u8>>>) -> Result<Keyring> {
        let keyring = Keyring::default().open_slots();
        let keyring = place.into_iter().fold(keyring, Keyring::bind);
        if let Self::Identities(opener) = self {
            return Ok(keyring.unlock(opener.clone()));
        }
        Ok(match self.borrow()? {
            Secret::Passphrase(passphrase) => keyring.passphrase(passphrase.clone()),
            Secret::Key(key) => keyring.key(key.clone()),
            _ => keyring,
        })
    }

    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (OwnSecret::Key(one), OwnSecret::Key(other)) => one == other,
            (OwnSecret::Passphrase(one), OwnSecret::Passphrase(other)) => one == other,
            _ => false,
        }
    }

    /// Returns a key slot to be made, with this cost if it is a passphrase.
    pub fn new_slot(&self, kdf: KdfParams) -> Result<NewSlot<'_>> {
        match self {
            OwnSecret::Passphrase(passphrase) => Ok(NewSlot::Passphrase(passphrase, kdf)),
            OwnSecret::Key(key) => Ok(NewSlot::Key(key)),
            OwnSecret::RawKey { .. } | OwnSecret::Identities(_) => {
                Err(Failure::usage("a key slot holds a key or a passphrase"))
            }
        }
    }

    /// Drops secrets that are there twice: one slot for each is enough.
    pub fn distinct(secrets: Vec<&Self>) -> Vec<&Self> {
        static SAID: Once = Once::new();
        let mut kept: Vec<&Self> = Vec::with_capacity(secrets.len());
        for secret in secrets {
            match kept.iter().any(|other| other.is_same(secret)) {
                true => SAID.call_once(|| {
                    note("note: a key or passphrase is given twice, and counts once");
                }),
                false => kept.push(secret),
            }
        }
        kept
    }

    /// Borrows the secret for a Palladion file.
    pub fn borrow(&self) -> Result<Secret<'_>> {
        match self {
            OwnSecret::Key(key) => Ok(key.into()),
            OwnSecret::RawKey { .. } | OwnSecret::Identities(_) => Err(Failure::usage(
                "only a key file or a passphrase can be the one secret of a Palladion file",
            )),
            OwnSecret::Passphrase(passphrase) => Ok(passphrase.into()),
        }
    }
}

/// `keygen`.
pub fn generate(args: &KeygenArgs) -> Result<()> {
    let failed = |error: &dyn std::error::Error| Failure::new(error.to_string());
    let kind = if args.identity { Kind::Identity } else { Kind::Key };
    if env::args_os().any(|arg| arg == "-pq") {
        return Err(Failure::usage("-pq means -p -q: a passphrase, and no notes").hint(
            "use --pq for an identity that is safe against quantum computers, else write -p -q",
        ));
    }
    // Before a passphrase is asked for.
    let path = new_file(args, kind)?;
    if !args.identity {
        let key = MasterKey::generate().map_err(|error| failed(&error))?;
        return write_new(args, &path, key.to_key_file().as_bytes(), |path| {
            note(&format!("created the key file {path}; keep a copy in a safe place"));
            note(&format!("fingerprint of the key: {}", key.fingerprint()));
        });
    }
    let identity = match args.pq {
        true => recipients::Identity::generate_hybrid(),
        false => recipients::Identity::generate(),
    };
    let identity = identity.map_err(|error| failed(&error))?;
    let recipient = identity.recipient();
    let secret = identity.to_text();
    let text = Zeroizing::new(format!("# public key: {recipient}\n{}\n", *secret));
    let _hidden = terminal::Hidden;
    let passphrase = match &args.passphrase_file {
        Some(file) => {
            let given = (Kind::Passphrase, Some(file.as_path()));
            Some(Source::open(Some(given), false, true)?.read_passphrase()?)
        }
        None => args.passphrase.then(|| ask(true, None)).transpose()?,
    };
    let text = match passphrase {
        Some(passphrase) => {
            Protected::create(&text, &passphrase).map_err(|error| failed(&error))?
        }
        None => text.as_bytes().to_vec(),
    };
    let text = Zeroizing::new(text);
    write_new(args, &path, &text, |path| {
        note(&format!("created the identity file {path}; keep it secret, and a copy of it safe"));
        note("its recipient, for those who encrypt for you:");
    })?;
    if is_standard(Some(&path)) {
        return Ok(());
    }
    streams::print(format!("{recipient}\n")).map_err(|failure| {
        let path = quoted(&path);
        failure.hint(format!("the new identity is in {path}: palladion recipient prints it again"))
    })
}

/// Where to write a new secret. Fails if there is a file that may not be replaced.
fn new_file(args: &KeygenArgs, kind: Kind) -> Result<PathBuf> {
    let path = match &args.output {
        Some(path) => path.clone(),
        None => default_file(kind)?,
    };
    if is_standard(Some(&path)) {
        return Ok(path);
    }
    let Words { name, option, .. } = words(kind);
    Target::check(&path, args.force, Access::Private, &[]).map_err(|error| match error.cause {
        Cause::Exists => output::failure(error).hint(match (&args.output, kind) {
            (None, Kind::Identity) => format!(
                "use it: palladion recipient prints its recipient; or create another {name} file \
                 with -o {option}"
            ),
            (None, _) => format!("use it, or create another {name} file with -o {option}"),
            (Some(_), kind) => {
                let hint =
                    "choose another name, or replace it with --force, which keeps the old file";
                match kind {
                    Kind::Identity => {
                        format!("{hint}; palladion recipient FILE prints its recipient")
                    }
                    _ => hint.into(),
                }
            }
        }),
        _ => output::failure(error),
    })?;
    if args.output.is_none() {
        create_folder(&path)?;
    }
    Ok(path)
}

/// Writes a new secret, and says what `notes` say about its file.
fn write_new(args: &KeygenArgs, path: &Path, text: &[u8], notes: impl FnOnce(&str)) -> Result<()> {
    let is_standard = is_standard(Some(path));
    // Until the new file has its name. Another program could put a key there meanwhile, and that
    // key would be neither kept nor refused.
    let _alone = (!is_standard && descriptor(path).is_none()).then(|| lock_folder(path));
    if args.force {
        keep_old(path)?;
    }
    let output = Output::open(Some(path), args.force, Access::Private, &[])?;
    // A new file is private, unless its file system has no permissions.
    if let Some(what) = open_to_others(output.file()) {
        tell(&format!("warning: other users can {what} the file that the key is written to"));
        tell("hint: use keygen -o KEYFILE, or make the file private");
    }
    let written = output.writer().write_all(text);
    written.map_err(|error| Failure::io("write", &output.name, &error))?;
    output.commit(true)?;
    // Scripts that name a file want no message.
    if !is_standard && (args.output.is_none() || io::stderr().is_terminal()) {
        notes(&quoted(path));
    }
    Ok(())
}

/// Lets one `keygen` at a time change a folder, until the file that is returned is dropped. `None`:
/// the file system has no locks.
fn lock_folder(path: &Path) -> Option<File> {
    // On Windows, folders cannot be locked, and each user has a folder for temporary files.
    #[cfg(windows)]
    let opened = {
        let _ = path;
        let name = env::temp_dir().join("palladion-keygen.lock");
        File::options().write(true).create(true).truncate(false).open(name)
    };
    #[cfg(not(windows))]
    let opened = {
        let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))
    };
    opened.ok().filter(|file| file.lock().is_ok())
}

/// Copies a file that a key will replace to a new file beside it, `key.old-1` for `key`: it may be
/// a key, of this or of another program. An empty file is not kept.
fn keep_old(path: &Path) -> Result<()> {
    if is_standard(Some(path))
        || descriptor(path).is_some()
        || !fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
    {
        return Ok(());
    }
    let input = Input::open(Some(path))?;
    // Fails if nothing can replace it. Then no copy is left behind.
    drop(Output::open(Some(path), true, Access::Private, &[])?);
    // Only for a link: the canonical path may be too long for the system.
    let target = match path.is_symlink() {
        true => path.canonicalize().map_err(|error| Failure::io("open", &input.name, &error))?,
        false => path.to_path_buf(),
    };
    let name = |number: u32| {
        let mut name = OsString::from(&target);
        name.push(format!(".old-{number}"));
        PathBuf::from(name)
    };
    let free = (1..).map(name).find(|old| fs::symlink_metadata(old).is_err());
    let old = free.expect("some number is free");
    let output =
        Output::open_as(Some(&old), false, Access::Private, &[], |target| input.pass_on(target))?;
    let mut buffer = Zeroizing::new(vec![0; LONGEST]);
    let mut copied = 0;
    loop {
        let len = match input.reader().read(&mut buffer) {
            Ok(0) => break,
            Ok(len) => len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::io("read", &input.name, &error)),
        };
        let written = output.writer().write_all(&buffer[..len]);
        written.map_err(|error| Failure::io("write", &output.name, &error))?;
        copied += len as u64;
    }
    input.check_whole(copied)?;
    output.commit(false)?;
    note(&format!("kept the old file as {}", quoted(&old)));
    Ok(())
}

/// `fingerprint`.
pub fn fingerprint(args: &FingerprintArgs) -> Result<()> {
    for_each_file(Kind::Key, &args.files, &[], |path, secret| {
        let OwnSecret::Key(key) = secret else {
            return Err(Failure::usage("only a key file has a fingerprint"));
        };
        streams::print(format!("{}  {}\n", key.fingerprint(), path.display()))
            .map_err(Failure::of_all_files)
    })
}

/// Does the work for the secret in each of these files, or in the default file if none is named.
/// Tries the passphrases for identity files.
pub fn for_each_file(
    kind: Kind,
    files: &[PathBuf],
    passphrases: &[Zeroizing<Vec<u8>>],
    mut work: impl FnMut(&Path, &OwnSecret) -> Result<()>,
) -> Result<()> {
    if files.is_empty() {
        let mut source = Source::open_default(kind, false, false)?.try_first(passphrases);
        let path = source.path.clone().unwrap_or_default();
        return work(&path, source.secret()?);
    }
    for_each(files, |path| {
        check_one_of(files.len(), Some(path))?;
        let source = Source::open(Some((kind, Some(path))), false, false)?;
        work(path, source.try_first(passphrases).secret()?)
    })
}

/// How messages call a kind of secret, and where it is if the command line does not say.
struct Words {
    name: &'static str,
    option: &'static str,
    variable: &'static str,
}

fn words(kind: Kind) -> Words {
    let [name, option, variable] = match kind {
        Kind::Identity => ["identity", "IDENTITYFILE", "PALLADION_IDENTITY_FILE"],
        Kind::Passphrase => ["passphrase", "", ""],
        Kind::Key | Kind::RawKey(_) => ["key", "KEYFILE", "PALLADION_KEY_FILE"],
    };
    Words { name, option, variable }
}

/// The path in an environment variable, if it is set.
fn set(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The file of a key or an identity to use if the command line names none.
fn default_file(kind: Kind) -> Result<PathBuf> {
    let Words { name, option, variable } = words(kind);
    if let Some(path) = set(variable) {
        return Ok(path);
    }
    let folder = match cfg!(windows) {
        true => set("APPDATA"),
        false => set("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute()).or_else(|| {
            let home = env::home_dir().filter(|home| home.is_absolute());
            home.map(|home| home.join(".config"))
        }),
    };
    folder.map(|folder| folder.join("palladion").join(name)).ok_or_else(|| {
        Failure::usage(format!("no home directory for the default {name} file")).hint(format!(
            "name the {name} file with -{} {option} or {variable}={option}",
            flag(kind)
        ))
    })
}

/// The option for a kind of secret.
fn flag(kind: Kind) -> char {
    if kind == Kind::Identity { 'i' } else { 'k' }
}

/// Creates the folder of a file, closed to other users, if there is none.
fn create_folder(path: &Path) -> Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| Failure::io("create", &quoted(folder), &error))
}

/// The source of a command's secret: open, and read or asked for when the secret is needed.
pub struct Source {
    kind: Kind,
    /// Whether it is for new files.
    is_new: bool,
    /// The file that the prompt names.
    asked_for: Option<String>,
    /// The path of its file, as the command line says it.
    path: Option<PathBuf>,
    file: Option<Input>,
    secret: Option<OwnSecret>,
    /// What the passphrase of an identity file may cost.
    limits: KdfLimits,
    /// What to try for an identity file with a passphrase before the user is asked.
    passphrases: Vec<Zeroizing<Vec<u8>>>,
    /// A file of identities that was read already.
    identities: Option<Result<Zeroizing<Vec<u8>>>>,
}

impl Source {
    /// Opens the source that is given, or the default key file. The data and the secret cannot both
    /// be standard input. `is_new` says that the secret is for new files.
    pub fn open(
        given: Option<Given<'_>>,
        data_is_standard_input: bool,
        is_new: bool,
    ) -> Result<Self> {
        let Some((kind, path)) = given else {
            return Self::open_default(Kind::Key, data_is_standard_input, is_new);
        };
        let mut source = Self::new(kind, is_new);
        source.path = path.map(Path::to_path_buf);
        let no_directory = format!("name the {} file in it", source.name());
        if path.is_some_and(|path| is_standard_input(Some(path))) && data_is_standard_input {
            let message =
                format!("standard input cannot be both the {} and the data", source.name());
            return Err(Failure::usage(message)
                .hint(format!("name the file to read, or the {} file", source.name())));
        }
        let opened = path.map(|path| Input::open_as(&no_directory, Some(path))).transpose();
        source.file = opened.map_err(|failure| match path.and_then(Path::to_str) {
            Some(path) if path.starts_with("age1") => {
                failure.hint("it is a recipient: to encrypt for it, use -r RECIPIENT")
            }
            Some(path)
                if is_new
                    && kind != Kind::Passphrase
                    && !Path::new(path).exists()
                    && !is_secret(Path::new(path)) =>
            {
                let option = if kind == Kind::Identity { " --identity" } else { "" };
                failure.hint(format!("palladion keygen{option} creates one"))
            }
            _ => failure,
        })?;
        Ok(source)
    }

    /// Opens the default file of a kind. If a variable names it, errors name the variable.
    pub fn open_default(kind: Kind, data_is_standard_input: bool, is_new: bool) -> Result<Self> {
        let path = existing_default(kind, is_new)?;
        let source = Self::open(Some((kind, Some(&path))), data_is_standard_input, is_new);
        let variable = words(kind).variable;
        source.map_err(|failure| match set(variable) {
            Some(_) => failure.detail(&format!("from {variable}")),
            None => failure,
        })
    }

    fn new(kind: Kind, is_new: bool) -> Self {
        let limits = KdfLimits::default();
        Self {
            kind,
            is_new,
            asked_for: None,
            path: None,
            file: None,
            secret: None,
            limits,
            passphrases: Vec::new(),
            identities: None,
        }
    }

    /// Reads a file of identities. If it has a passphrase, the user is asked for it.
    fn read_identities(&self, file: &Input, bytes: &[u8]) -> Result<OwnSecret> {
        if is_utf16(bytes) {
            return Err(not_utf8(file, bytes));
        }
        let failed = |error: &Error| {
            let failure = failure(Some(&file.name), error);
            match error {
                _ if bytes.starts_with(KEY_MARK) => {
                    failure.hint("it is a key file: use -k KEYFILE")
                }
                Error::Line(..) if bytes.starts_with(b"ssh-") => failure.hint(
                    "it is the public key, for -R FILE: name the private key beside it, whose \
                     name has no .pub",
                ),
                Error::Line(_, error) if **error == Error::RecipientAsIdentity => {
                    failure.hint("it is a recipients file: to encrypt for them, use -R FILE")
                }
                Error::TooCostly { memory_kib, .. } => failure.hint(format!(
                    "if you trust it, use --max-kdf-memory {}",
                    in_units(u32::try_from(*memory_kib).unwrap_or(u32::MAX))
                )),
                _ => failure,
            }
        };
        let identities = match IdentityFile::parse(without_mark(bytes)) {
            Ok(IdentityFile::Plain(identities)) => {
                private(file, Some("-i")).map(|()| identities)?
            }
            Ok(IdentityFile::Protected(protected)) => {
                protected.check(&self.limits).map_err(|error| failed(&error))?;
                for passphrase in &self.passphrases {
                    match protected.open(passphrase, &self.limits) {
                        Err(Error::WrongPassphrase) => {}
                        opened => {
                            let opened = opened.map_err(|error| failed(&error))?;
                            return Ok(OwnSecret::Identities(Opener::Identities(opened)));
                        }
                    }
                }
                let mut tries = 1;
                loop {
                    let passphrase =
                        ask(false, Some(&file.name)).map_err(|failure| match self.is_new {
                            _ if !self.passphrases.is_empty() => failed(&Error::WrongPassphrase)
                                .hint("try other passphrases, and mind capitals and spaces"),
                            true => failure.hint(
                                "name its recipient instead, with -r RECIPIENT: its file is needed \
                                 only to decrypt",
                            ),
                            false => failure,
                        })?;
                    match protected.open(&passphrase, &self.limits) {
                        Err(Error::WrongPassphrase) if tries < MOST_TRIES => {
                            tell(&format!("{}: wrong passphrase, try again", file.name));
                            tries += 1;
                        }
                        opened => break opened.map_err(|error| failed(&error))?,
                    }
                }
            }
            Err(error) => match (&self.path, file.descriptor) {
                (Some(path), None) if error.is_unsupported() && file.is_file() => {
                    // Not by another way, for age opens it by its name.
                    private(file, None)?;
                    return Ok(OwnSecret::Identities(Opener::Program(Program::new(path.clone()))));
                }
                _ if error.is_unsupported() => {
                    let message = "an SSH key, or the identity of a plugin, must be in a file";
                    return Err(Failure::new(format!("{}: {message}", file.name))
                        .hint("name the file, in place of a pipe: the program age reads it"));
                }
                _ => return Err(failed(&error)),
            },
        };
        Ok(OwnSecret::Identities(Opener::Identities(identities)))
    }

    /// Opens the sources of secrets for new files, which may also be for recipients; none given
    /// means the default key file.
    pub fn open_new(given: &[Given<'_>], data_is_standard_input: bool) -> Result<Vec<Self>> {
        let open = |given| Self::open(given, data_is_standard_input, true);
        match given {
            [] => {
                let path = default_file(Kind::Key)?;
                let is_missing = set(words(Kind::Key).variable).is_none() && !path.exists();
                let source = open(None).map_err(|failure| match is_missing {
                    true => failure.hint(
                        "use -k KEYFILE, -p for a passphrase, or -r RECIPIENT or -i IDENTITYFILE \
                         for a public key; for a first key, run palladion keygen",
                    ),
                    false => failure,
                });
                Ok(vec![source?])
            }
            _ => given.iter().map(|given| open(Some(*given))).collect(),
        }
    }

    /// A passphrase for an existing file, which the user types now. The prompt calls it `name`.
    pub fn typed(name: &str) -> Result<Self> {
        let mut source = Self::new(Kind::Passphrase, false);
        source.asked_for = Some(name.to_string());
        source.secret()?;
        Ok(source)
    }

    /// Limits what the passphrase of an identity file may cost.
    pub fn limit(mut self, limits: KdfLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Lets the passphrases that files hold also open identity files. They are read now.
    pub fn share_passphrases(sources: &mut [Self]) -> Result<()> {
        if !sources.iter().any(|source| source.kind == Kind::Identity) {
            return Ok(());
        }
        let passphrases = Self::read_passphrases(sources)?;
        for source in sources.iter_mut().filter(|source| source.kind == Kind::Identity) {
            source.passphrases.clone_from(&passphrases);
        }
        Ok(())
    }

    /// Reads the passphrases that files hold.
    pub fn read_passphrases(sources: &mut [Self]) -> Result<Vec<Zeroizing<Vec<u8>>>> {
        let files = sources.iter_mut().filter(|source| source.is_passphrase());
        files.map(Self::read_passphrase).collect()
    }

    /// Tries these passphrases for an identity file before the user is asked.
    pub fn try_first(self, passphrases: &[Zeroizing<Vec<u8>>]) -> Self {
        Self { passphrases: passphrases.to_vec(), ..self }
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns how messages call it.
    pub fn name(&self) -> &'static str {
        words(self.kind).name
    }

    /// Its file as an input, which no output may replace, with its name in messages.
    pub fn as_input(&self) -> Option<(&str, &Identity)> {
        self.file.as_ref().map(|file| (self.name(), &file.identity))
    }

    pub fn is_passphrase(&self) -> bool {
        self.kind == Kind::Passphrase
    }

    /// Returns whether the user is asked for it.
    pub fn is_typed(&self) -> bool {
        self.kind == Kind::Passphrase && self.file.is_none()
    }

    /// Returns whether the user may have to be asked something before it opens a file: identities
    /// can have a passphrase, or need the program `age`.
    pub fn may_ask(&mut self) -> bool {
        match (&self.file, self.kind) {
            (_, _) if self.secret.is_some() => false,
            (Some(_), Kind::Identity) => {
                self.is_identity_file(|parsed| !matches!(parsed, Ok(IdentityFile::Plain(_))))
            }
            (file, _) => file.is_none(),
        }
    }

    /// Returns whether it is an identity file with a passphrase.
    pub fn is_protected(&mut self) -> bool {
        self.kind == Kind::Identity
            && self.is_identity_file(|parsed| matches!(parsed, Ok(IdentityFile::Protected(_))))
    }

    /// Returns whether its file can be read and is one of these.
    fn is_identity_file(
        &mut self,
        fits: fn(std::result::Result<IdentityFile, Error>) -> bool,
    ) -> bool {
        let Some(file) = &self.file else { return false };
        let read = self.identities.get_or_insert_with(|| read(file, false, LONGEST));
        read.as_ref().is_ok_and(|bytes| fits(IdentityFile::parse(without_mark(bytes))))
    }

    /// Returns whether the secret was read already, or typed.
    pub fn is_known(&self) -> bool {
        self.secret.is_some()
    }

    /// Returns what was tried, if there is something to say about it.
    pub fn tried(&self) -> Option<String> {
        match &self.secret {
            Some(OwnSecret::Key(key)) => Some(format!("key {}", key.fingerprint())),
            Some(OwnSecret::Passphrase(passphrase)) if passphrase.is_empty() => {
                Some("an empty passphrase".into())
            }
            Some(OwnSecret::Identities(Opener::Identities(identities))) => {
                let all = identities.as_slice().iter().map(|own| shortened(&own.recipient()));
                Some(format!("the identity of {}", all.collect::<Vec<_>>().join(" and of ")))
            }
            _ => None,
        }
    }

    /// The secret, read or asked for at the first call; a new passphrase is asked for twice.
    pub fn secret(&mut self) -> Result<&OwnSecret> {
        let secret = match self.secret.take() {
            Some(secret) => secret,
            None => self.get()?,
        };
        Ok(self.secret.insert(secret))
    }

    /// Refuses to encrypt the secret with itself: its own file, and a copy of the key file under
    /// whatever name. Nobody could open the result without already having what is in it.
    pub fn refuse(&mut self, input: &Input) -> Result<()> {
        let files = self.as_input();
        let is_own = refuse_inputs(Path::new(""), &input.identity, files.as_slice()).is_err();
        let is_copy = match self.secret()? {
            OwnSecret::Key(key) => !is_own && holds(input, key)?,
            _ => false,
        };
        if !is_own && !is_copy {
            return Ok(());
        }
        let (name, what) = (&input.name, self.name());
        let message = match is_own {
            true => format!("{name} is the {what} that would encrypt it"),
            false => format!("{name} holds the {what} that would encrypt it"),
        };
        Err(Failure::usage(message).hint(match self.is_passphrase() {
            true => "to open the output, you would need what is in it: use another secret",
            false => {
                "to open the output, you would need the key in it: to keep a copy of the key, \
                 encrypt it with a passphrase (-p)"
            }
        }))
    }

    /// Reads a passphrase from its file, for other uses too.
    pub fn read_passphrase(&mut self) -> Result<Zeroizing<Vec<u8>>> {
        let passphrase = match &self.file {
            Some(file) => first_line(file, self.is_new)?,
            None => ask(self.is_new, self.asked_for.as_deref())?,
        };
        self.secret = Some(OwnSecret::Passphrase(Passphrase::new(passphrase.as_slice())));
        Ok(passphrase)
    }

    fn get(&mut self) -> Result<OwnSecret> {
        let passphrase = match (&self.file, self.kind) {
            (Some(file), Kind::Key) => return read_key(file).map(OwnSecret::Key),
            (Some(file), Kind::RawKey(format)) => return read_raw_key(file, format),
            (Some(file), Kind::Identity) => {
                let bytes = self.identities.take();
                let bytes = bytes.unwrap_or_else(|| read(file, false, LONGEST))?;
                return self.read_identities(file, &bytes);
            }
            (Some(file), Kind::Passphrase) => first_line(file, self.is_new)?,
            (None, _) => ask(self.is_new, self.asked_for.as_deref())?,
        };
        Ok(OwnSecret::Passphrase(Passphrase::new(passphrase.as_slice())))
    }
}

/// The default file of a key or an identity, if there is one.
fn existing_default(kind: Kind, is_new: bool) -> Result<PathBuf> {
    let path = default_file(kind)?;
    // Other errors are reported when it is opened.
    match fs::metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_standard(Some(&path)) => {
            let Words { name, option, variable } = words(kind);
            if set(variable).is_some() {
                let message =
                    format!("{variable} names a file that is not there: {}", quoted(&path));
                return Err(Failure::usage(message).hint(match is_secret(&path) {
                    true => SECRET_GIVEN,
                    false => "correct the variable, or unset it",
                }));
            }
            let message =
                format!("no {name} given, and there is no default {name} file {}", quoted(&path));
            let hint = match is_new {
                true => {
                    "use -k KEYFILE, or -p for a passphrase; for a first key, run palladion keygen"
                }
                false => {
                    let whose = match kind {
                        Kind::Identity => {
                            "; only those for whom a file was encrypted have one that opens it"
                        }
                        _ => "",
                    };
                    let flag = flag(kind);
                    &format!("name the {name} with -{flag} {option} or {variable}={option}{whose}")
                }
            };
            Err(Failure::usage(message).hint(hint))
        }
        _ => Ok(path),
    }
}

/// Reads a key file. Fails if other users can read it.
fn read_key(input: &Input) -> Result<MasterKey> {
    let text = read_text(input, LONGEST)?;
    let text = text.as_str();
    let key = MasterKey::from_key_file(text).map_err(|error| {
        let failure = Failure::new(format!("{}: {error}", input.name));
        failure.hint(match error {
            KeyFileError::WrongCheck => {
                "use a copy of it, or if you changed the key, remove the line \"# check:\""
            }
            _ if text.contains("palladion-key-") => "the key file is damaged: use a copy of it",
            _ if text.contains("AGE-SECRET-KEY-") => "it is an identity file: use -i IDENTITYFILE",
            _ if text.trim_start().starts_with("age1") => {
                "it is a recipients file: use -R FILE, to encrypt"
            }
            _ if hex::decode(text.trim_ascii().as_bytes()).is_some() => {
                "a key file of palladion keygen begins with palladion-key-1; palladion raf takes \
                 other keys, with --raw-key"
            }
            _ => "check that it is the right file, or use a copy of it",
        })
    })?;
    private(input, Some("-k")).map(|()| key)
}

/// Reads an input that is as small as a key file, and goes back to its start. `None`: it is shorter
/// than `shortest`, longer than a key file, or a pipe.
pub fn peek(input: &Input, shortest: usize) -> Result<Option<Zeroizing<Vec<u8>>>> {
    if !input.len.is_some_and(|len| (shortest as u64..=LONGEST as u64).contains(&len)) {
        return Ok(None);
    }
    let failed = |error| Failure::io("read", &input.name, &error);
    let start = (&input.file).stream_position().map_err(failed)?;
    let bytes = read(input, false, LONGEST)?;
    (&input.file).seek(SeekFrom::Start(start)).map_err(failed)?;
    Ok(Some(bytes))
}

/// Returns whether an input is a key file with this key.
fn holds(input: &Input, key: &MasterKey) -> Result<bool> {
    let Some(bytes) = peek(input, 64)? else { return Ok(false) };
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    Ok(MasterKey::from_key_file(text).is_ok_and(|held| held == *key))
}

/// Reads the bytes of a key, or their hexadecimal digits. Fails if other users can read the file.
fn read_raw_key(input: &Input, format: Option<RawFormat>) -> Result<OwnSecret> {
    input.begin();
    // Longer than any key, even in hexadecimal digits.
    let mut bytes = Zeroizing::new(Vec::with_capacity(LONGEST_RAW));
    let read = input.reader().take(LONGEST_RAW as u64).read_to_end(&mut bytes);
    read.map_err(|error| Failure::io("read", &input.name, &error))?;
    let decoded = hex::decode(bytes.trim_ascii());
    let guessed = format.is_none() && decoded.is_some() && bytes.len() == 32;
    let (key, expected) = match format {
        Some(RawFormat::Bytes) => (Some(bytes.clone()), "16 or 32 bytes"),
        Some(RawFormat::Hex) => (decoded, "32 or 64 hexadecimal digits"),
        // Random bytes are never all hexadecimal digits by chance.
        None => {
            let guess = decoded.unwrap_or_else(|| bytes.clone());
            (Some(guess), "16 or 32 bytes, or 32 or 64 hexadecimal digits (see --raw-key-format)")
        }
    };
    let Some(key) = key.filter(|key| matches!(key.len(), 16 | 32)) else {
        let failure = Failure::new(format!("{} is not a raw key", input.name));
        return Err(match bytes.starts_with(KEY_MARK) {
            true => failure.hint("it is a Palladion key file: use -k KEYFILE"),
            false => failure.hint(format!("expected {expected}")),
        });
    };
    private(input, Some("--raw-key")).map(|()| OwnSecret::RawKey { key, guessed })
}

/// The first line of a file, without its line end, `\n` or `\r\n`.
fn first_line(input: &Input, new: bool) -> Result<Zeroizing<Vec<u8>>> {
    private(input, Some("--passphrase-file"))?;
    let text = read(input, true, LONGEST)?;
    let line = match text.iter().position(|&byte| byte == b'\n') {
        Some(end) => text[..end].strip_suffix(b"\r").unwrap_or(&text[..end]),
        None => &text,
    };
    if line.starts_with(b"\xff\xfe") || line.starts_with(b"\xfe\xff") {
        return Err(not_utf8(input, line));
    }
    let line = without_mark(line);
    if let Some((problem, hint)) = problem_of(line).filter(|_| new) {
        return Err(
            Failure::usage(format!("the first line of {} {problem}", input.name)).hint(hint)
        );
    }
    Ok(Zeroizing::new(line.to_vec()))
}

/// Returns what is wrong with the passphrase for a new file, which should be one that can be typed,
/// and what to do. Other programs may have used any for an existing file.
fn problem_of(passphrase: &[u8]) -> Option<(&'static str, &'static str)> {
    let problem = match std::str::from_utf8(passphrase) {
        Err(_) => "is not UTF-8 text",
        Ok("") => "is empty",
        Ok(text) if text.trim().is_empty() => "is empty but for spaces",
        Ok(text) if text.contains('\0') => "contains a zero byte; is it UTF-16?",
        Ok(text) => {
            return Passphrase::new(text).mistaken().map(|what| match what {
                Mistaken::Key => ("is a key", "use -k KEYFILE, or rewrap --to-key KEYFILE"),
                Mistaken::Identity => (
                    "is an identity",
                    "use -i IDENTITYFILE; palladion recipient IDENTITYFILE prints its recipient",
                ),
                _ => (
                    "is a recipient: everyone who has it could open the file",
                    "use -r RECIPIENT or -R FILE, or rewrap --to-recipient",
                ),
            });
        }
    };
    Some((problem, "choose another passphrase, in UTF-8"))
}

/// Fails if other users can use a file. The shell decides who may read standard input, and what it
/// opens for `option`.
fn private(input: &Input, option: Option<&str>) -> Result<()> {
    let Some(what) = open_to_others(&input.file).filter(|_| input.descriptor.is_none()) else {
        return Ok(());
    };
    // No names in the hint, which a shell might take for commands. Standard input may be the data.
    let hint = match option {
        _ if cfg!(windows) => {
            "make it private: icacls FILE /inheritance:r /grant:r \"%USERNAME%:F\"".into()
        }
        Some(option) => format!(
            "make it private: chmod 600 FILE; if the disk has no permissions: \
             {option} /dev/fd/3 3< FILE"
        ),
        None => "make it private: chmod 600 FILE".into(),
    };
    Err(Failure::new(format!("other users can {what} {}", input.name)).hint(hint))
}

/// Reads a text file of at most `longest` bytes.
pub fn read_text(input: &Input, longest: usize) -> Result<Zeroizing<String>> {
    let mut bytes = read(input, false, longest)?;
    if is_utf16(&bytes) || std::str::from_utf8(&bytes).is_err() {
        return Err(not_utf8(input, &bytes));
    }
    let text = String::from_utf8(std::mem::take(&mut *bytes));
    Ok(Zeroizing::new(text.expect("it is UTF-8")))
}

/// Reads a whole file, or its beginning up to the first line end.
fn read(input: &Input, line: bool, longest: usize) -> Result<Zeroizing<Vec<u8>>> {
    input.begin();
    // Large enough from the start: growing would leave copies in freed memory.
    let mut bytes = Zeroizing::new(vec![0; longest + 1]);
    let mut len = 0;
    while len < bytes.len() && !(line && bytes[..len].contains(&b'\n')) {
        match input.reader().read(&mut bytes[len..]) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::io("read", &input.name, &error)),
        }
    }
    if len > longest && !(line && bytes[..len].contains(&b'\n')) {
        let message = format!("{} is longer than {} KiB", input.name, longest / 1024);
        return Err(Failure::new(message).hint("check that it is the right file"));
    }
    bytes.truncate(len);
    Ok(bytes)
}

fn not_utf8(input: &Input, bytes: &[u8]) -> Failure {
    let failure = Failure::new(format!("{} is not a text file in UTF-8", input.name));
    failure.hint(match is_utf16(bytes) {
        true => "it is UTF-16: save it as UTF-8",
        false => "check that it is the right file, or save it as UTF-8",
    })
}

/// Asks for a passphrase, again after a typing error. A new one is asked for twice, or generated if
/// none is typed. The prompt for another one names the file.
fn ask(new: bool, file: Option<&str>) -> Result<Zeroizing<Vec<u8>>> {
    for _ in 1..MOST_TRIES {
        match ask_once(new, file)? {
            Ok(passphrase) => return Ok(passphrase),
            Err(mistake) => tell(&format!("{mistake}, try again")),
        }
    }
    ask_once(new, file)?
        .map_err(|mistake| Failure::usage(mistake).hint("try again, or use --passphrase-file FILE"))
}

/// A typing error is the inner error.
fn ask_once(
    new: bool,
    file: Option<&str>,
) -> Result<std::result::Result<Zeroizing<Vec<u8>>, String>> {
    let prompt = |text: &str| match terminal::ask(text) {
        Ok(line) => Ok(Ok(line)),
        Err(error) => match error.kind() {
            // Ctrl-D
            io::ErrorKind::UnexpectedEof => {
                tell("");
                Err(Failure::new("no passphrase was given"))
            }
            io::ErrorKind::InvalidInput => Ok(Err(error.to_string())),
            _ => Err(Failure::new(format!("no terminal to read a passphrase from: {error}"))
                .hint("use --passphrase-file FILE")),
        },
    };
    let bytes = |text: &str| Zeroizing::new(text.as_bytes().to_vec());
    let first = match (new, file) {
        (true, _) => "New passphrase (empty: generate one): ",
        (false, Some(file)) => &format!("Passphrase for {file}: "),
        (false, None) => "Passphrase: ",
    };
    let passphrase = match prompt(first)? {
        Ok(line) if new && line.is_empty() => return generated().map(|line| Ok(bytes(&line))),
        Ok(line) => line,
        Err(mistake) => return Ok(Err(mistake)),
    };
    if new {
        if let Some((problem, _)) = problem_of(passphrase.as_bytes()) {
            return Ok(Err(format!("the passphrase {problem}")));
        }
        match prompt("Confirm passphrase: ")? {
            Ok(line) if *line == *passphrase => {}
            Ok(_) => return Ok(Err("the two passphrases differ".into())),
            Err(mistake) => return Ok(Err(mistake)),
        }
    }
    Ok(Ok(bytes(&passphrase)))
}

/// Generates a passphrase of 80 bits, and shows it at the terminal. With Argon2id, nobody can try
/// 2^80 of them.
fn generated() -> Result<Zeroizing<String>> {
    let random = MasterKey::generate().map_err(|error| Failure::new(error.to_string()))?;
    let mut numbers = Zeroizing::new([0; 5]);
    for (number, bytes) in numbers.iter_mut().zip(random.as_bytes().as_chunks().0) {
        *number = u16::from_be_bytes(*bytes);
    }
    let words = spoken(&*numbers);
    let shown = Zeroizing::new(format!("Generated passphrase, to keep: {}\n", *words));
    terminal::show(&shown).map_err(|error| Failure::io("write", "the terminal", &error))?;
    Ok(words)
}
