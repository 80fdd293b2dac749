//! Key slots for the keys of age: recipients and identities.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use palladion_file::slots::{FileKey, Lock};
use palladion_output::Identity as FileIdentity;
use palladion_recipients::{Error, Recipient, Recipients};

use crate::age::{Opener, SlotResult, failure, run_age};
use crate::args::RecipientArgs;
use crate::failure::{Failure, Result, for_each, quoted, tell};
use crate::input::{Input, check_one_of, is_standard_input};
use crate::keys::{OwnSecret, Source, existing_default, read_text};
use crate::values::Kind;
use crate::{streams, terminal};

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
            list.add(text).map_err(|error| not_a_recipient(text, &error))?;
        }
        let files = args.files.iter();
        let files = files.map(|path| read_recipients(path, data_is_standard_input, &mut list));
        let files = files.collect::<Result<Vec<_>>>()?;
        for source in sources.iter_mut().filter(|source| source.kind() == Kind::Identity) {
            match source.secret()? {
                OwnSecret::Identities(Opener::Identities(identities)) => {
                    identities.as_slice().iter().for_each(|own| list.push(own.recipient()));
                }
                OwnSecret::Identities(Opener::Program(path)) => {
                    list.needs_program = true;
                    list.program.extend([OsString::from("-i"), path.into()]);
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
    pub fn include(&self, opener: &Opener) -> bool {
        match (self, opener) {
            (Self::Recipients(recipients), Opener::Identities(identities)) => {
                let mut own = identities.as_slice().iter().map(|identity| identity.recipient());
                own.any(|own| recipients.as_slice().contains(&own))
            }
            _ => false,
        }
    }
}

impl Lock for Addressees {
    fn lock(&self, file_key: &FileKey) -> SlotResult<Vec<u8>> {
        match self {
            Self::Recipients(recipients) => recipients.lock(file_key),
            Self::Program(args) => match run_age(args, file_key.as_bytes())? {
                Some(mut slot) => Ok(std::mem::take(&mut *slot)),
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
        self.program.extend([OsString::from("-r"), recipient.to_string().into()]);
        self.recipients.push(recipient);
    }

    fn add(&mut self, text: &str) -> std::result::Result<(), Error> {
        match text.parse() {
            Ok(recipient) => self.push(recipient),
            Err(error) if error.is_unsupported() => {
                self.needs_program = true;
                self.program.extend(["-r", text].map(OsString::from));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Adds the recipients in the lines of a file. Warns of SSH keys that `age` does not know, and
    /// fails if there is no other recipient.
    fn add_lines(&mut self, text: &str, name: &str) -> std::result::Result<(), Error> {
        let before = self.program.len();
        let mut unknown = Vec::new();
        let lines = text.lines().map(str::trim).enumerate();
        for (at, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            let in_line = |error| Error::Line(at + 1, Box::new(error));
            match unknown_ssh_key(line) {
                Some(error) => unknown.push(in_line(error)),
                None => self.add(line).map_err(in_line)?,
            }
        }
        if self.program.len() == before {
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
    list: &mut List,
) -> Result<FileIdentity> {
    if is_standard_input(Some(path)) && data_is_standard_input {
        return Err(Failure::usage("standard input cannot be both the recipients and the data")
            .hint("name the file to read, or the recipients file"));
    }
    let input = Input::open_as("name the recipients file in it", Some(path))?;
    let text = read_text(&input, LONGEST)?;
    match list.add_lines(text.trim_start_matches('\u{feff}'), &input.name) {
        Ok(()) => Ok(input.identity),
        Err(error) if error.is_unsupported() => Err(failure(Some(&input.name), &error)
            .hint(format!("{KNOWN_SSH_KEYS}; leave the line out, or name another key"))),
        Err(error) => {
            let failure = failure(Some(&input.name), &error);
            Err(match error {
                _ if text.contains("palladion-key-") => {
                    failure.hint("it is a key file, which must stay secret: use -k KEYFILE")
                }
                Error::Line(_, error) if *error == Error::IdentityAsRecipient => {
                    failure.hint("it is an identity file, which must stay secret: use -i FILE")
                }
                _ => failure,
            })
        }
    }
}

fn not_a_recipient(text: &str, error: &Error) -> Failure {
    match error {
        // Not with the secret in the message.
        Error::IdentityAsRecipient => Failure::usage("-r takes a recipient, not an identity").hint(
            "the identity is secret, and may now be in the history of your shell; to print its \
             recipient, use palladion recipient FILE",
        ),
        _ if Path::new(text).exists() => Failure::usage(format!("{error}: {text:?}"))
            .hint("it is the name of a file: to read recipients from a file, use -R FILE"),
        _ => Failure::usage(format!("{error}: {text:?}")).hint(error.hint().unwrap_or_default()),
    }
}

/// `recipient`.
pub fn print(files: &[PathBuf]) -> Result<()> {
    let _hidden = terminal::Hidden;
    let default = match files.is_empty() {
        true => vec![existing_default(Kind::Identity, false)?],
        false => Vec::new(),
    };
    for_each(files.iter().chain(&default), |path| {
        check_one_of(files.len(), Some(path))?;
        let mut source = Source::open(Some((Kind::Identity, Some(path))), false, false)?;
        let OwnSecret::Identities(Opener::Identities(identities)) = source.secret()? else {
            return Err(Failure::new(format!("{} is a key that only age knows", quoted(path)))
                .hint(
                    "its recipient is in the file beside it, FILE.pub, or age-keygen -y says it",
                ));
        };
        let recipients = identities.as_slice().iter().map(|own| format!("{}\n", own.recipient()));
        streams::print(recipients.collect::<String>()).map_err(Failure::of_all_files)
    })
}
