//! Key slots for the keys of age: recipients and identities.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use palladion_file::slots::{FileKey, Lock};
use palladion_recipients::{Error, Identity, Recipient, Recipients};

use crate::age::{Opener, SlotResult, failure, run_age};
use crate::args::RecipientArgs;
use crate::failure::{Failure, Result, for_each, is_secret, quoted};
use crate::input::{Input, check_one_of, is_standard_input};
use crate::keys::{OwnSecret, Source, existing_default, peek, read_text};
use crate::values::Kind;
use crate::{streams, terminal};

/// Begins an identity.
const IDENTITY_MARK: &str = "AGE-SECRET-KEY-";
/// The longest recipients file, in bytes.
const LONGEST: usize = 1 << 20;

/// Whom files are encrypted for.
pub enum Addressees {
    Recipients(Recipients),
    /// The program `age`, with these arguments: some recipient is an SSH key, or one of a plugin.
    Program(Vec<OsString>),
}

impl Addressees {
    /// Collects the recipients of options, of recipients files, and of those sources that are
    /// identities. They share a slot, unless there are too many for one.
    pub fn new(
        args: RecipientArgs<'_>,
        sources: &mut [Source],
        data_is_standard_input: bool,
    ) -> Result<Vec<Self>> {
        let (mut recipients, mut program) = (Vec::new(), Vec::new());
        let mut needs_program = false;
        for text in args.recipients {
            match text.parse::<Recipient>() {
                Ok(recipient) => recipients.push(recipient),
                Err(error) if error.is_unsupported() => needs_program = true,
                Err(error) => return Err(not_a_recipient(text, &error, args.names)),
            }
            program.extend([OsString::from("-r"), text.into()]);
        }
        for path in args.files {
            match read_recipients(path, data_is_standard_input, args.names)? {
                Some(more) => recipients.extend_from_slice(more.as_slice()),
                None => needs_program = true,
            }
            program.extend([OsString::from("-R"), path.into()]);
        }
        for source in sources.iter_mut().filter(|source| source.kind() == Kind::Identity) {
            let path = source.path().map(OsString::from);
            match source.secret()? {
                OwnSecret::Identities(Opener::Identities(identities)) => {
                    recipients.extend(identities.as_slice().iter().map(|own| own.recipient()));
                }
                _ => needs_program = true,
            }
            program.extend([OsString::from("-i"), path.unwrap_or_default()]);
        }
        if program.is_empty() {
            return Ok(Vec::new());
        }
        if needs_program {
            program.insert(0, "-e".into());
            return Ok(vec![Self::Program(program)]);
        }
        let recipients = Recipients::new(recipients).map_err(|error| failure(None, &error))?;
        Ok(recipients.split().into_iter().map(Self::Recipients).collect())
    }

    /// Returns whether one of the identities is that of a recipient.
    pub fn include(&self, opener: &Opener) -> bool {
        match opener {
            Opener::Identities(identities) => identities.as_slice().iter().any(|own| self.has(own)),
            Opener::Program(_) => false,
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
                Some(mut slot) => Ok(std::mem::take(&mut *slot)),
                None => Err("the program age refused the recipients".into()),
            },
        }
    }
}

/// Reads a recipients file. `None`: it has recipients that only the program `age` knows.
fn read_recipients(
    path: &Path,
    data_is_standard_input: bool,
    names: [&str; 2],
) -> Result<Option<Recipients>> {
    if is_standard_input(Some(path)) && data_is_standard_input {
        return Err(Failure::usage("standard input cannot be both the recipients and the data")
            .hint("name the file to read, or the recipients file"));
    }
    let input = Input::open_as("name the recipients file in it", Some(path))?;
    let text = read_text(&input, LONGEST)?;
    match text.trim_start_matches('\u{feff}').parse::<Recipients>() {
        Ok(recipients) => Ok(Some(recipients)),
        Err(error) if error.is_unsupported() => Ok(None),
        Err(error) => {
            let failure = failure(Some(&input.name), &error);
            Err(match error {
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
