//! The secrets for decryption: each file takes the one that opens it.

use palladion_file::{Error, KdfLimits, KdfParams, Keyring};
use palladion_output::Identity;
use zeroize::Zeroizing;

use crate::failure::{Failure, Result, tell};
use crate::input::is_standard_input;
use crate::keys::{MOST_TRIES, OwnSecret, Source};
use crate::recipients::Addressees;
use crate::sealed::Sealed;
use crate::terminal;
use crate::values::{Given, Kind, in_units};

/// The option that allows a file the cost of its passphrase.
pub fn allowing(kdf: &KdfParams) -> String {
    format!("--max-kdf-memory {}", in_units(KdfLimits::for_params(kdf).memory_kib))
}

fn too_costly(failure: Failure, kdf: &KdfParams) -> Failure {
    failure.hint(format!(
        "few files need so much, and a hostile one can ask for anything; if you trust it, use {}",
        allowing(kdf)
    ))
}

/// Returns whether this says that another secret may open a file.
pub fn is_wrong_secret(error: &Error) -> bool {
    matches!(error, Error::WrongKey | Error::WrongPassphrase | Error::NoSlot | Error::Slot(_))
}

pub struct Ring {
    sources: Vec<Source>,
    /// Whether no option says what to use. Then the file decides.
    is_default: bool,
    /// Whether the user can be asked for passphrases.
    pub asks: bool,
    /// The passphrases, if nothing else is given. One may be that of the default identity.
    passphrases: Vec<Zeroizing<Vec<u8>>>,
    data_is_standard_input: bool,
    /// What a file may make us spend on its passphrase.
    limits: KdfLimits,
    /// What the files are bound to, or the next one.
    place: Option<Vec<u8>>,
    /// Whether a passphrase opened a file, so that it is right for some.
    knows_passphrase: bool,
    /// The kind of the secret that was tried last, which opened the file if one did.
    pub opened: Option<Kind>,
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
        place: Option<&str>,
    ) -> Result<Self> {
        let standard =
            given.iter().filter(|(_, path)| path.is_some_and(|path| is_standard_input(Some(path))));
        if standard.count() > 1 {
            return Err(Failure::usage("standard input can be only one of the secrets")
                .hint("name a file for each of the others"));
        }
        let files = given.iter().filter(|(_, path)| path.is_some());
        let open = |given: &Given<'_>| {
            Source::open(Some(*given), data_is_standard_input, false)
                .map(|source| source.limit(limits))
        };
        let mut sources = files.map(open).collect::<Result<Vec<_>>>()?;
        let passphrases = match sources.iter().all(Source::is_passphrase) {
            true => Source::read_passphrases(&mut sources)?,
            false => Source::share_passphrases(&mut sources).map(|()| Vec::new())?,
        };
        Ok(Self {
            sources,
            passphrases,
            is_default: given.is_empty(),
            asks: given.is_empty() || given.contains(&(Kind::Passphrase, None)),
            data_is_standard_input,
            limits,
            place: place.map(Into::into),
            knows_passphrase: false,
            opened: None,
        })
    }

    /// Goes on to a file, which may have a place of its own.
    pub fn go_on_to(&mut self, own_place: Option<Vec<u8>>) {
        self.place = own_place.or(self.place.take());
    }

    /// What the next file is bound to.
    pub fn place(&self) -> Option<&[u8]> {
        self.place.as_deref()
    }

    /// Returns whether this secret is one of those given, or in the default key file.
    pub fn holds(&mut self, secret: &OwnSecret) -> Result<bool> {
        let mut default = Source::open(None, self.data_is_standard_input, false).ok();
        if self.is_default && self.sources.is_empty() {
            self.sources.extend(default.take()); // which may be a pipe, and is read once
        }
        for source in self.sources.iter_mut().chain(&mut default) {
            if source.secret()?.is_same(secret) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether one of the identities given, or in the default file, is that of a recipient.
    /// Warns if the program `age` cannot say.
    pub fn holds_one_of(&mut self, addressees: &Addressees) -> Result<bool> {
        let include = |opener| {
            addressees.include(opener).unwrap_or_else(|error| {
                tell(&format!("warning: cannot tell whether a recipient is yours: {error}"));
                false
            })
        };
        for source in self.sources.iter_mut().filter(|source| source.kind() == Kind::Identity) {
            if let OwnSecret::Identities(opener) = source.secret()?
                && include(opener)
            {
                return Ok(true);
            }
        }
        // A script has no terminal for the passphrase of the default identity.
        let default = Source::open_default(Kind::Identity, self.data_is_standard_input, false);
        if let Ok(mut default) = default.map(|default| default.try_first(&self.passphrases))
            && let Ok(OwnSecret::Identities(opener)) = default.secret()
        {
            return Ok(include(opener));
        }
        Ok(false)
    }

    /// The files that hold the secrets, with their names in messages.
    pub fn files(&self) -> Vec<(&str, &Identity)> {
        self.sources.iter().filter_map(Source::as_input).collect()
    }

    /// Fails if there is no secret of a kind that a file takes, if its passphrase costs too much,
    /// or if the file is bound to a place and `--bind` is not given, or the reverse. Opens the
    /// default key file if it takes that. Call it before [`unlock`](Self::unlock).
    pub fn check(&mut self, sealed: &Sealed<'_>) -> Result<()> {
        // The other of two files may be the one for the secrets.
        self.check_one(sealed).map_err(|failure| sealed.explain(failure))
    }

    fn check_one(&mut self, sealed: &Sealed<'_>) -> Result<()> {
        let failed = |error| Failure::file(&error, sealed.name, "the output");
        // Before the user is asked for anything.
        match (sealed.is_bound, &self.place) {
            (true, None) => return Err(failed(Error::Bound)),
            (false, Some(_)) => return Err(failed(Error::NotBound)),
            _ => {}
        }
        let mut missing = None;
        for kind in [Kind::Key, Kind::Identity] {
            let is_open = self.sources.iter().any(|source| source.kind() == kind);
            if self.is_default && sealed.takes(kind) && !is_open {
                match Source::open_default(kind, self.data_is_standard_input, false) {
                    Ok(source) => self.sources.push(source.limit(self.limits)),
                    Err(failure) => drop(missing.get_or_insert(failure)),
                }
            }
        }
        // If no passphrase opens the file, there is no doubt which one is meant.
        let is_for_identity = !self.passphrases.is_empty() && !sealed.takes(Kind::Passphrase);
        if is_for_identity
            && sealed.takes(Kind::Identity)
            && self.sources.iter().all(Source::is_passphrase)
            && let Ok(mut source) =
                Source::open_default(Kind::Identity, self.data_is_standard_input, false)
            && source.is_protected()
        {
            self.sources.push(source.limit(self.limits).try_first(&self.passphrases));
        }
        let asks = sealed.takes(Kind::Passphrase) && self.asks;
        if self.fitting(sealed).next().is_none() && !asks {
            let takes = |kind| sealed.takes(kind);
            let has_identity = self.sources.iter().any(|source| source.kind() == Kind::Identity);
            return Err(match missing {
                // It is about the key.
                Some(failure) if takes(Kind::Key) && takes(Kind::Identity) => {
                    failure.or("use -i IDENTITYFILE")
                }
                Some(failure) => failure,
                None if !(takes(Kind::Key) || takes(Kind::Identity) || takes(Kind::Passphrase)) => {
                    failed(Error::NoSlot).hint("it has no slot of a kind that is known")
                }
                None if takes(Kind::Identity) || has_identity => {
                    let kinds = [
                        (Kind::Key, "-k KEYFILE"),
                        (Kind::Identity, "-i IDENTITYFILE"),
                        (Kind::Passphrase, "-p"),
                    ];
                    let kinds = kinds.iter().filter(|(kind, _)| takes(*kind));
                    let options: Vec<_> = kinds.map(|(_, option)| *option).collect();
                    let message = "none of the secrets given is of a kind that opens it";
                    Failure::wrong_key(format!("{}: {message}", sealed.name))
                        .hint(format!("use {}", options.join(" or ")))
                }
                None if takes(Kind::Passphrase) => failed(Error::NeedsPassphrase),
                None => failed(Error::NeedsKey),
            });
        }
        // A slot that costs too much is left out: another may open the file.
        match sealed.costs().next().filter(|_| sealed.head.is_none()) {
            Some(kdf) => self.limits.check(&kdf).map_err(|error| too_costly(failed(error), &kdf)),
            None => Ok(()),
        }
    }

    /// The sources of secrets of the kinds that a file takes.
    fn fitting(&mut self, sealed: &Sealed<'_>) -> impl Iterator<Item = &mut Source> {
        self.sources.iter_mut().filter(move |source| sealed.takes(source.kind()))
    }

    /// Does the work with the secret that opens a file: tries one after the other until one is not
    /// wrong. Messages call the output `output`.
    pub fn unlock<T>(
        &mut self,
        sealed: &Sealed<'_>,
        output: &str,
        mut work: impl FnMut(&Keyring) -> std::result::Result<T, Error>,
    ) -> Result<T> {
        let _hidden = terminal::Hidden;
        self.ask_last(sealed);
        let place = self.place.clone();
        let (mut tries, mut wrong) = (Tries::default(), Error::WrongKey);
        while let Some(secret) = self.next(sealed, &mut tries)? {
            let done = match work(&secret.keyring(place.as_deref())?) {
                Err(error) if is_wrong_secret(&error) => {
                    // That a slot could not be tried says more than that others did not open.
                    if !matches!(wrong, Error::Slot(_)) {
                        wrong = error;
                    }
                    continue;
                }
                done => done,
            };
            let is_right =
                matches!(done, Ok(_) | Err(Error::Damaged { .. } | Error::Truncated { .. }));
            self.knows_passphrase |= is_right && self.opened == Some(Kind::Passphrase);
            return done.map_err(|error| {
                let failure = sealed.explain(Failure::file(&error, sealed.name, output));
                match (error, sealed.costs().max_by_key(|kdf| kdf.memory_kib())) {
                    (Error::KdfTooCostly { .. }, Some(kdf)) => too_costly(failure, &kdf),
                    _ => failure,
                }
            });
        }
        let mut failure = sealed.explain(Failure::file(&wrong, sealed.name, output));
        if matches!(wrong, Error::NoSlot) && sealed.is_piped {
            failure = failure
                .or("name the file: from a pipe, only the first of both copies of its \
                                  key slots was tried");
        }
        if let Some(tried) = self.tried(sealed) {
            failure = failure.detail(&tried);
        }
        if tries.asked == MOST_TRIES && !self.knows_passphrase {
            // Who does not know it is not asked again for each of many files. What was typed may
            // open another.
            self.asks = false;
        }
        Err(failure)
    }

    /// What the secrets given for a file open, each by itself. Asks for a passphrase once.
    pub fn keyrings(&mut self, sealed: &Sealed<'_>) -> Result<Vec<Keyring>> {
        let _hidden = terminal::Hidden;
        if self.asks && sealed.takes(Kind::Passphrase) {
            self.sources.push(Source::typed(sealed.name)?);
        }
        self.keyrings_known(sealed)
    }

    fn keyrings_known(&mut self, sealed: &Sealed<'_>) -> Result<Vec<Keyring>> {
        let place = self.place.clone();
        self.fitting(sealed).map(|source| source.secret()?.keyring(place.as_deref())).collect()
    }

    /// What the secrets given for a file open, each by itself. Asks for what is not known yet: also
    /// for a passphrase that opens a slot, if other secrets may open the file without it. None if
    /// nothing is given.
    pub fn given_keyrings(&mut self, sealed: &Sealed<'_>) -> Result<Vec<Keyring>> {
        if self.is_default {
            return Ok(Vec::new());
        }
        let _hidden = terminal::Hidden;
        self.ask_last(sealed);
        let is_beside = self.fitting(sealed).any(|source| !source.is_passphrase());
        let mut asked = 0;
        while is_beside && self.asks && sealed.takes(Kind::Passphrase) && !self.has_typed(sealed)? {
            if asked == MOST_TRIES {
                return Err(Failure::file(&Error::WrongPassphrase, sealed.name, "the output"));
            }
            if asked > 0 {
                tell(&format!("{}: wrong passphrase, try again", sealed.name));
            }
            self.sources.push(Source::typed(sealed.name)?);
            asked += 1;
        }
        self.keyrings_known(sealed)
    }

    /// Returns whether a passphrase that was typed opens a slot.
    fn has_typed(&mut self, sealed: &Sealed<'_>) -> Result<bool> {
        let place = self.place.clone();
        for source in self.sources.iter_mut().filter(|source| source.is_typed()) {
            let keyring = source.secret()?.keyring(place.as_deref())?;
            let mut heads = sealed.head.iter().chain(&sealed.other);
            if heads.any(|head| head.open(&keyring, &self.limits).is_ok()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Moves those secrets for a file to the end that the user may have to be asked for.
    fn ask_last(&mut self, sealed: &Sealed<'_>) {
        if self.fitting(sealed).nth(1).is_none() {
            return;
        }
        let (mut asking, mut others) = (Vec::new(), Vec::new());
        for mut source in self.sources.drain(..) {
            match sealed.takes(source.kind()) && source.may_ask() {
                true => asking.push(source),
                false => others.push(source),
            }
        }
        others.append(&mut asking);
        self.sources = others;
    }

    /// The next secret to try for a file. `None` if all were wrong.
    fn next(&mut self, sealed: &Sealed<'_>, tries: &mut Tries) -> Result<Option<&OwnSecret>> {
        let name = sealed.name;
        let known = self.fitting(sealed).count();
        if tries.sources == known {
            if !(sealed.takes(Kind::Passphrase) && self.asks && tries.asked < MOST_TRIES) {
                return Ok(None);
            }
            if tries.asked > 0 {
                tell(&format!("{name}: wrong passphrase, try again"));
            } else if self.knows_passphrase {
                tell(&format!("{name} has another passphrase"));
            } else if self.fitting(sealed).any(|source| !source.is_passphrase()) {
                let tried = self.tried(sealed).map_or_else(String::new, |t| format!(" ({t})"));
                tell(&format!("{name}: none of the keys and identities opens it{tried}"));
            }
            let others = [(Kind::Key, "use -k KEYFILE"), (Kind::Identity, "use -i IDENTITYFILE")];
            let others = others.iter().filter(|(kind, _)| sealed.takes(*kind));
            let typed = Source::typed(name).map_err(|failure| {
                self.of_all_files(others.fold(failure, |failure, (_, other)| failure.or(other)))
            })?;
            self.sources.push(typed);
            tries.asked += 1;
        }
        tries.sources += 1;
        let at = tries.sources - 1;
        let opened = self.fitting(sealed).nth(at).map(|source| source.kind());
        self.opened = opened;
        // If passphrases were given, an identity is the default one.
        let is_default =
            self.is_default || !self.passphrases.is_empty() && opened == Some(Kind::Identity);
        match self.fitting(sealed).nth(at).map(|source| source.secret()) {
            Some(Err(failure)) if !is_default => Err(failure.of_all_files()),
            found => found.transpose(),
        }
    }

    /// A failure to get a secret. Files that need another kind may do without it.
    fn of_all_files(&self, failure: Failure) -> Failure {
        if self.is_default { failure } else { failure.of_all_files() }
    }

    /// Returns what was tried for a file, if there is something to say about it.
    fn tried(&mut self, sealed: &Sealed<'_>) -> Option<String> {
        let tried = self.fitting(sealed).filter_map(|source| source.tried());
        let tried = tried.collect::<Vec<_>>().join(", ");
        (!tried.is_empty()).then(|| format!("tried {tried}"))
    }
}
