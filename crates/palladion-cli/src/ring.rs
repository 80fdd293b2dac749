//! The secrets for decryption: each file takes the one that opens it.

use palladion_file::{Error, KdfLimits, KdfParams, Secret, SecretKind};
use palladion_output::Identity;

use crate::failure::{Failure, Result, tell};
use crate::input::is_standard_input;
use crate::keys::{MOST_TRIES, OwnSecret, Source};
use crate::sealed::Sealed;
use crate::terminal;
use crate::values::{Given, Kind, in_units};

/// The option that allows a file the cost of its passphrase.
pub fn allowing(kdf: &KdfParams) -> String {
    format!("--max-kdf-memory {}", in_units(KdfLimits::for_params(kdf).memory_kib))
}

pub struct Ring {
    sources: Vec<Source>,
    /// Whether no option says what to use. Then the file decides.
    is_default: bool,
    /// Whether the user can be asked for passphrases.
    asks: bool,
    data_is_standard_input: bool,
    /// What a file may make us spend on its passphrase.
    limits: KdfLimits,
}

/// What was tried for a file.
#[derive(Default)]
struct Tries {
    sources: usize,
    asked: usize,
}

impl Ring {
    /// Opens the sources that are given; none means the default key file, and a prompt. The data
    /// and the secrets cannot both be standard input.
    pub fn open(
        given: &[Given<'_>],
        data_is_standard_input: bool,
        limits: KdfLimits,
    ) -> Result<Self> {
        let standard =
            given.iter().filter(|(_, path)| path.is_some_and(|path| is_standard_input(Some(path))));
        if standard.count() > 1 {
            return Err(Failure::usage("standard input can be only one of the secrets")
                .hint("name a file for each of the others"));
        }
        let files = given.iter().filter(|(_, path)| path.is_some());
        let open = |given: &Given<'_>| Source::open(Some(*given), data_is_standard_input, false);
        Ok(Self {
            sources: files.map(open).collect::<Result<_>>()?,
            is_default: given.is_empty(),
            asks: given.is_empty() || given.contains(&(Kind::Passphrase, None)),
            data_is_standard_input,
            limits,
        })
    }

    /// The files that hold the secrets, with their names in messages.
    pub fn files(&self) -> Vec<(&str, &Identity)> {
        self.sources.iter().filter_map(Source::as_input).collect()
    }

    /// Fails if there is no secret of the kind that a file needs, or if its passphrase costs too
    /// much. Opens the default key file if it needs that. Call it before [`unlock`](Self::unlock).
    pub fn check(&mut self, sealed: &Sealed<'_>) -> Result<()> {
        let failed = |error| Failure::file(&error, sealed.name, "the output");
        self.check_kind(sealed.needs_passphrase(), failed)?;
        match &sealed.info.secret {
            SecretKind::Passphrase(kdf) => self.limits.check(kdf).map_err(|error| {
                failed(error).hint(format!(
                    "few files need so much, and a hostile one can ask for anything; if you trust \
                     it, use {}",
                    allowing(kdf)
                ))
            }),
            _ => Ok(()),
        }
    }

    fn check_kind(
        &mut self,
        needs_passphrase: bool,
        failed: impl Fn(Error) -> Failure,
    ) -> Result<()> {
        if self.fitting(needs_passphrase).next().is_some() || needs_passphrase && self.asks {
            return Ok(());
        }
        match (self.is_default, needs_passphrase) {
            (true, _) => {
                self.sources.push(Source::open(None, self.data_is_standard_input, false)?);
                Ok(())
            }
            (false, true) => Err(failed(Error::NeedsPassphrase)),
            (false, false) => Err(failed(Error::NeedsKey)),
        }
    }

    fn fitting(&mut self, needs_passphrase: bool) -> impl Iterator<Item = &mut Source> {
        self.sources.iter_mut().filter(move |source| source.is_passphrase() == needs_passphrase)
    }

    /// Does the work with the secret that opens a file: tries one after the other until one is not
    /// wrong. Messages call the output `output`.
    pub fn unlock<T>(
        &mut self,
        sealed: &Sealed<'_>,
        output: &str,
        mut work: impl FnMut(Secret<'_>) -> std::result::Result<T, Error>,
    ) -> Result<T> {
        let _hidden = terminal::Hidden;
        let needs_passphrase = sealed.needs_passphrase();
        let (mut tries, mut wrong) = (Tries::default(), Error::WrongKey);
        while let Some(secret) = self.next(needs_passphrase, &mut tries, sealed.name)? {
            match work(secret.borrow()?) {
                Err(error @ (Error::WrongKey | Error::WrongPassphrase)) => wrong = error,
                done => return done.map_err(|error| Failure::file(&error, sealed.name, output)),
            }
        }
        let failure = Failure::file(&wrong, sealed.name, output);
        Err(match self.tried(needs_passphrase) {
            Some(tried) => failure.detail(&tried),
            None => failure,
        })
    }

    /// The next secret to try for a file, which messages call `name`. `None` if all were wrong.
    fn next(
        &mut self,
        needs_passphrase: bool,
        tries: &mut Tries,
        name: &str,
    ) -> Result<Option<&OwnSecret>> {
        let known = self.fitting(needs_passphrase).count();
        if tries.sources == known {
            if !(needs_passphrase && self.asks && tries.asked < MOST_TRIES) {
                return Ok(None);
            }
            if tries.asked > 0 {
                tell(&format!("{name}: wrong passphrase, try again"));
            } else if known > 0 {
                tell(&format!("{name} has another passphrase"));
            }
            let typed = Source::typed(name).map_err(|failure| self.of_all_files(failure))?;
            self.sources.push(typed);
            tries.asked += 1;
        }
        tries.sources += 1;
        let (is_default, at) = (self.is_default, tries.sources - 1);
        match self.fitting(needs_passphrase).nth(at).map(|source| source.secret()) {
            Some(Err(failure)) if !is_default => Err(failure.of_all_files()),
            found => found.transpose(),
        }
    }

    /// A failure to get a secret. Files that need another kind may do without it.
    fn of_all_files(&self, failure: Failure) -> Failure {
        if self.is_default { failure } else { failure.of_all_files() }
    }

    /// Returns what was tried for a file, if there is something to say about it.
    fn tried(&mut self, needs_passphrase: bool) -> Option<String> {
        let tried = self.fitting(needs_passphrase).filter_map(|source| source.tried());
        let tried = tried.collect::<Vec<_>>().join(", ");
        (!tried.is_empty()).then(|| format!("tried {tried}"))
    }
}
