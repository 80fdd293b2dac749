//! Key slots for the keys of age: recipients and identities.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use palladion_file::slots::{FileKey, Lock, Unlock};
use palladion_output::Identity as FileIdentity;
use palladion_recipients::{
    Error, Identity, IdentityFile, Recipient, Recipients, is_slot, stanza_types,
};

use crate::age::{Opener, SlotResult, failure, run_age};
use crate::args::RecipientArgs;
use crate::failure::{Failure, Result, is_secret, note, quoted, tell};
use crate::input::{Input, is_standard_input};
use crate::keys::{OwnSecret, Source, for_each_file, peek, read_text};
use crate::values::Kind;
use crate::{streams, terminal};

/// Begins an identity.
const IDENTITY_MARK: &str = "AGE-SECRET-KEY-";
/// The longest recipients file, in bytes.
const LONGEST: usize = 1 << 20;

/// The SSH keys that age does not know, which begin so, and how messages call them.
const UNKNOWN_SSH_KEYS: [(&str, &str); 3] = [
    ("ecdsa-", "an ECDSA key of SSH"),
    ("sk-", "an SSH key on a security key (sk-)"),
    ("ssh-dss", "a DSA key of SSH"),
];
const KNOWN_SSH_KEYS: &str = "of SSH keys, age takes ssh-ed25519 and ssh-rsa";

/// Whom files are encrypted for.
pub enum Addressees {
    Recipients(Recipients),
    /// The program `age`, with these arguments: some recipient is an SSH key, or one of a plugin.
    Program(Vec<OsString>),
}

impl Addressees {
    /// Collects the recipients of options, of recipients files, and of those sources that are
    /// identities. They share a slot, unless there are too many for one. Also returns the
    /// recipients files.
    pub fn new(
        args: RecipientArgs<'_>,
        sources: &mut [Source],
        data_is_standard_input: bool,
    ) -> Result<(Vec<Self>, Vec<FileIdentity>)> {
        let mut list = List::default();
        for text in args.recipients {
            if let Some(error) = unknown_ssh_key(text) {
                return Err(Failure::usage(error.to_string()).hint(KNOWN_SSH_KEYS));
            }
            let text = text.trim();
            if text.starts_with("age1") && text.contains([',', ' ', '\t', '\r', '\n']) {
                let [name, file] = args.names;
                let message = format!("{name} takes one recipient, and here are several words");
                return Err(Failure::usage(message).hint(format!(
                    "give each its own {name}, or put them into a file, one a line, and use {file} \
                     FILE"
                )));
            }
            list.add(text).map_err(|error| not_a_recipient(text, &error, args.names))?;
        }
        let files = args.files.iter();
        let files =
            files.map(|path| read_recipients(path, data_is_standard_input, args.names, &mut list));
        let files = files.collect::<Result<Vec<_>>>()?;
        for source in sources.iter_mut().filter(|source| source.kind() == Kind::Identity) {
            match source.secret()? {
                OwnSecret::Identities(Opener::Identities(identities)) => {
                    identities.as_slice().iter().for_each(|own| list.push(own.recipient()));
                }
                OwnSecret::Identities(Opener::Program(program)) => {
                    list.needs_program = true;
                    list.program.extend([OsString::from("-i"), program.path().into()]);
                }
                _ => {}
            }
        }
        let List { recipients, mut program, needs_program } = list;
        if program.is_empty() {
            return Ok((Vec::new(), files));
        }
        if needs_program {
            program.insert(0, "-e".into());
            return Ok((vec![Self::Program(program)], files));
        }
        let recipients = Recipients::new(recipients).map_err(|error| failure(None, &error))?;
        Ok((recipients.split().into_iter().map(Self::Recipients).collect(), files))
    }

    /// Returns whether one of the identities is that of a recipient.
    pub fn include(&self, opener: &Opener) -> SlotResult<bool> {
        match (self, opener) {
            (Self::Recipients(_), Opener::Identities(identities)) => {
                Ok(identities.as_slice().iter().any(|own| self.has(own)))
            }
            // Only a trial shows which keys belong together that the program alone knows.
            _ => {
                let key = FileKey::generate()?;
                Ok(opener.unlock(&self.lock(&key)?)?.is_some_and(|opened| opened == key))
            }
        }
    }

    /// Returns whether the identity is that of a recipient.
    fn has(&self, identity: &Identity) -> bool {
        match self {
            Self::Recipients(recipients) => recipients.as_slice().contains(&identity.recipient()),
            Self::Program(_) => false,
        }
    }

    /// Refuses to encrypt the identity of a recipient: nobody could open the output without already
    /// having what is in it.
    pub fn refuse(all: &[Self], input: &Input) -> Result<()> {
        if all.is_empty() {
            return Ok(());
        }
        let Some(bytes) = peek(input, IDENTITY_MARK.len())? else { return Ok(()) };
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        let words = text.split_ascii_whitespace().filter(|word| word.starts_with(IDENTITY_MARK));
        let mut identities = words.filter_map(|word| word.parse::<Identity>().ok());
        match identities.any(|own| all.iter().any(|addressees| addressees.has(&own))) {
            true => {
                let message = format!("{} holds the identity of a recipient", input.name);
                Err(Failure::usage(message).hint(
                    "to open the output, you would need the identity in it: to keep a copy of the \
                     identity, encrypt it with a passphrase (-p)",
                ))
            }
            false => Ok(()),
        }
    }
}

impl Lock for Addressees {
    fn lock(&self, file_key: &FileKey) -> SlotResult<Vec<u8>> {
        match self {
            Self::Recipients(recipients) => recipients.lock(file_key),
            Self::Program(args) => match run_age(args, file_key.as_bytes())? {
                // A slot for a passphrase has another form.
                Some(slot) if stanza_types(&slot).is_ok_and(|types| types.contains(&"scrypt")) => {
                    let files = args.windows(2).filter(|pair| pair[0] == "-i");
                    let files: Vec<_> = files.map(|pair| quoted(Path::new(&pair[1]))).collect();
                    let files = files.join(", ");
                    Err(format!("{files} encrypts with a passphrase: use -p, not -i").into())
                }
                Some(mut slot) if is_slot(&slot) => Ok(std::mem::take(&mut *slot)),
                Some(_) => Err("the program age wrote something else than an age file".into()),
                None => Err("the program age refused the recipients".into()),
            },
        }
    }
}

/// Recipients, and the arguments that tell them to the program `age`: nothing is read twice.
#[derive(Default)]
struct List {
    recipients: Vec<Recipient>,
    program: Vec<OsString>,
    /// Whether only the program knows some of them.
    needs_program: bool,
}

impl List {
    fn push(&mut self, recipient: Recipient) {
        if self.push_text(&recipient.to_string()) {
            self.recipients.push(recipient);
        }
    }

    /// Returns whether the recipient is new.
    fn push_text(&mut self, recipient: &str) -> bool {
        let is_new = !self.program.iter().any(|other| other == recipient);
        match is_new {
            true => self.program.extend(["-r", recipient].map(OsString::from)),
            false => {
                let start: String = recipient.chars().take(20).collect();
                note(&format!("note: a recipient is named twice, and counts once: {start}…"));
            }
        }
        is_new
    }

    fn add(&mut self, text: &str) -> std::result::Result<(), Error> {
        match text.parse() {
            Ok(recipient) => self.push(recipient),
            Err(error) if error.is_unsupported() => {
                self.needs_program = true;
                self.push_text(text);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Adds the recipients in the lines of a file. Warns of SSH keys that `age` does not know, and
    /// fails if there is no other recipient.
    fn add_lines(&mut self, text: &str, name: &str) -> std::result::Result<(), Error> {
        let mut is_empty = true;
        let mut unknown = Vec::new();
        let lines = text.lines().map(str::trim).enumerate();
        for (at, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            let in_line = |error| Error::Line(at + 1, Box::new(error));
            match unknown_ssh_key(line) {
                Some(error) => unknown.push(in_line(error)),
                None => {
                    self.add(line).map_err(in_line)?;
                    is_empty = false;
                }
            }
        }
        if is_empty {
            return Err(unknown.into_iter().next().unwrap_or(Error::Empty));
        }
        for error in unknown {
            tell(&format!("warning: {name}: {error}, and the line is ignored; {KNOWN_SSH_KEYS}"));
        }
        Ok(())
    }
}

fn unknown_ssh_key(text: &str) -> Option<Error> {
    let mut keys = UNKNOWN_SSH_KEYS.iter();
    let found = keys.find(|(start, _)| text.starts_with(start) && text.contains(' '));
    found.map(|(_, what)| Error::Unsupported(what))
}

/// Reads a recipients file.
fn read_recipients(
    path: &Path,
    data_is_standard_input: bool,
    names: [&str; 2],
    list: &mut List,
) -> Result<FileIdentity> {
    if is_standard_input(Some(path)) && data_is_standard_input {
        return Err(Failure::usage("standard input cannot be both the recipients and the data")
            .hint("name the file to read, or the recipients file"));
    }
    let input = Input::open_as("name the recipients file in it", Some(path));
    let input = input.map_err(|failure| match path.to_str() {
        Some(text) if ["age1", "ssh-"].iter().any(|start| text.starts_with(start)) => {
            failure.hint(format!("it is a recipient: use {} RECIPIENT", names[0]))
        }
        _ => failure,
    })?;
    let text = read_text(&input, LONGEST)?;
    match list.add_lines(text.trim_start_matches('\u{feff}'), &input.name) {
        Ok(()) => Ok(input.identity),
        Err(error) if error.is_unsupported() => Err(failure(Some(&input.name), &error)
            .hint(format!("{KNOWN_SSH_KEYS}; leave the line out, or name another key"))),
        Err(error) => {
            let failure = failure(Some(&input.name), &error);
            Err(match error {
                _ if text.contains("PRIVATE KEY-----") => {
                    failure.hint("it is a private SSH key: name the public one beside it, FILE.pub")
                }
                _ if text.contains("palladion-key-") => {
                    let key = if names[0] == "-r" { "-k" } else { "--to-key" };
                    failure.hint(format!(
                        "it is a key file, which must stay secret: use {key} KEYFILE"
                    ))
                }
                Error::Line(_, error) if *error == Error::IdentityAsRecipient => {
                    failure.hint(match names[0] {
                        "-r" => {
                            "it is an identity file, which must stay secret: use -i FILE".into()
                        }
                        name => format!(
                            "it is an identity file, which must stay secret: palladion recipient \
                             FILE prints its recipient, for {name}"
                        ),
                    })
                }
                _ => failure,
            })
        }
    }
}

fn not_a_recipient(text: &str, error: &Error, [name, file]: [&str; 2]) -> Failure {
    let path = Path::new(text);
    if *error == Error::IdentityAsRecipient || is_secret(path) {
        // Not with the secret in the message.
        return Failure::usage(format!("{name} takes a recipient, not a secret key")).hint(
            "the key may now be in the history of your shell; to print the recipient of an \
             identity, use palladion recipient FILE",
        );
    }
    let failure = Failure::usage(format!("{error}: {}", quoted(path)));
    match path.exists() {
        true => failure.hint(format!(
            "it is the name of a file: to read recipients from a file, use {file} FILE"
        )),
        false => failure.hint(error.hint().unwrap_or_default()),
    }
}

/// `recipient`.
pub fn print(files: &[PathBuf], passphrase_files: &[PathBuf]) -> Result<()> {
    let _hidden = terminal::Hidden;
    let given = passphrase_files.iter().map(|path| Some((Kind::Passphrase, Some(&**path))));
    let sources = given.map(|given| Source::open(given, false, false)).collect::<Result<Vec<_>>>();
    let passphrases = Source::read_passphrases(&mut sources?)?;
    // age-keygen -y reads it.
    if files.is_empty()
        && let Ok(input) = Input::open(None)
        && input.is_file()
        && let Some(bytes) = peek(&input, IDENTITY_MARK.len())?
        && IdentityFile::parse(&bytes).is_ok()
    {
        return Err(Failure::usage("standard input is not read without -")
            .hint("to print the recipient of the identity there, use palladion recipient -"));
    }
    for_each_file(Kind::Identity, files, &passphrases, |path, secret| {
        let OwnSecret::Identities(Opener::Identities(identities)) = secret else {
            return Err(Failure::new(format!("{} is a key that only age knows", quoted(path)))
                .hint(
                    "for an SSH key, it is in the file beside it, FILE.pub, or use ssh-keygen -y \
                     -f FILE; for the identity of a plugin, use the plugin's own program",
                ));
        };
        let recipients = identities.as_slice().iter().map(|own| format!("{}\n", own.recipient()));
        streams::print(recipients.collect::<String>()).map_err(Failure::of_all_files)
    })
}
