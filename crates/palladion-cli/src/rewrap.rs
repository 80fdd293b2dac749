//! `rewrap`.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

use palladion_file::slots::{Head, NewSlot, Rewrap, Slot, SlotKind};
use palladion_file::{Error, KdfLimits, Keyring};
use palladion_recipients::{check_mixing, stanza_types};

use crate::args::RewrapArgs;
use crate::failure::{Failure, Result, for_each, note};
use crate::input::is_unchanged;
use crate::keys::Source;
use crate::output::{Access, Output};
use crate::recipients::Addressees;
use crate::ring::Ring;
use crate::sealed::Sealed;
use crate::{slots, terminal};

/// `rewrap`.
pub fn run(args: &RewrapArgs) -> Result<()> {
    let _hidden = terminal::Hidden;
    let given = args.to.given();
    let recipients = args.to.recipients();
    if given.is_empty() && recipients.are_none() && !args.repair {
        return Err(Failure::usage("expected what shall open the files").hint(
            "use --to-key, --to-passphrase or --to-recipient, or --repair to keep the slots",
        ));
    }
    let limits = args.ring.kdf_limits();
    let place = args.ring.bind.as_deref();
    let mut ring = Ring::open(&args.ring.given(), false, limits, place)?;
    let mut sources = match given.is_empty() {
        true => Vec::new(),
        false => Source::open_new(&given, false)?,
    };
    let (addressees, _) = Addressees::new(recipients, &mut [], false)?;
    let kdf = args.kdf.given();
    if kdf.is_some() && !sources.iter().any(Source::is_passphrase) {
        return Err(Failure::usage("--kdf-memory and --kdf-passes are for a new passphrase")
            .hint("leave them out, or use --to-passphrase"));
    }
    // Who types a passphrase twice knows it.
    let mut keeps_user =
        args.add || args.repair || args.force || sources.iter().any(Source::is_typed);
    let mut new = Vec::with_capacity(sources.len());
    for source in &mut sources {
        let secret = source.secret()?;
        keeps_user = keeps_user || ring.holds(secret)?;
        new.push((secret.new_slot(kdf.unwrap_or_default())?, secret.keyring(place)?));
    }
    for addressees in &addressees {
        keeps_user = keeps_user || ring.holds_one_of(addressees)?;
        // Whether a recipient has a slot already is known only to the recipient.
        new.push((NewSlot::Age(addressees), Keyring::default()));
    }
    if !keeps_user {
        let message = "none of the secrets that open the files now would open them afterwards";
        return Err(Failure::usage(message).hint(
            "to keep your own slot, use --add, or name your own key too; if the new secret is \
             yours, name it also with -k, -i or --passphrase-file, or use --force",
        ));
    }
    let change = Change { args, new: &new, limits };
    let mut is_any_set = false;
    let result = for_each(&args.files, |path| {
        change.file(path, &mut ring)?;
        is_any_set = true;
        Ok(())
    });
    if is_any_set && !args.add && !args.repair {
        note(
            "note: old secrets still open old copies of a file, and who opened it may have kept \
             its key: to lock someone out, encrypt again",
        );
    }
    result
}

struct Change<'a> {
    args: &'a RewrapArgs,
    /// The slots to make, each with what opens it.
    new: &'a [(NewSlot<'a>, Keyring)],
    limits: KdfLimits,
}

impl Change<'_> {
    fn file(&self, path: &Path, ring: &mut Ring) -> Result<()> {
        let file = slots::open(path)?;
        let (copies, name) = (slots::read(&file)?, &*file.name.clone());
        drop(file); // not every Windows can replace a file that is open
        if self.args.repair && copies.are_same() {
            note(&format!("{name} needs no repair"));
            return Ok(());
        }
        if self.args.add && !copies.are_same() {
            let message = format!("{name}: the two copies of the key slots are not the same");
            return Err(Failure::damaged(message)
                .hint("decide which to keep: palladion rewrap --repair FILE, with a key of it"));
        }
        let sealed = Sealed::of_copies(name, copies)
            .map_err(|error| Failure::file(&error, name, "the output"))?;
        ring.check(&sealed)?;
        let copied_with = ring.unlock(&sealed, name, |keyring| {
            let plan = |rewrap: &Rewrap| rewrap.plan(self.slots(rewrap)?);
            match Rewrap::in_place(path, keyring, &self.limits, plan) {
                Err(Error::NoRoomForSlots { room, .. }) if room < Head::MAX_LEN => {
                    Ok(Some(keyring.clone()))
                }
                Err(Error::Write(error)) if is_without_locks(&error) => Ok(Some(keyring.clone())),
                done => done.map(|_| None),
            }
        })?;
        copied_with.map_or(Ok(()), |keyring| self.copy(path, name, &keyring))
    }

    /// The slots that a file shall have.
    fn slots(&self, rewrap: &Rewrap) -> std::result::Result<Vec<Slot>, Error> {
        let RewrapArgs { add, repair, .. } = self.args;
        let mut slots = if *add || *repair { rewrap.slots().to_vec() } else { Vec::new() };
        let before = add.then(|| rewrap.plan(slots.clone())).transpose()?;
        for (new, keyring) in self.new {
            let opens = |limits| Some(before.as_ref()?.head().open(keyring, limits).is_ok());
            if opens(&self.limits) != Some(true) {
                slots.push(rewrap.lock(*new)?);
            }
        }
        let age = slots.iter().filter(|slot| slot.kind() == SlotKind::Age);
        let types = age.filter_map(|slot| stanza_types(slot.body()).ok()).flatten();
        match check_mixing(types) {
            Err(_) if !*repair => Err(Error::CannotChangeSlots(
                "quantum-safe recipients (age1pq1…) cannot share a file with others: leave out \
                 --add, and name all recipients again",
            )),
            _ => Ok(slots),
        }
    }

    /// Replaces a file by a new one, with room for more slots.
    fn copy(&self, path: &Path, name: &str, keyring: &Keyring) -> Result<()> {
        let failed = |error| Failure::file(&error, name, name);
        let cannot = |error| Failure::io("read", name, &error);
        // It locks the file, so that nobody changes the slots meanwhile.
        let output = Output::open(Some(path), true, Access::Usual, &[])?;
        let file = File::open(path).map_err(cannot)?;
        let before = file.metadata().map_err(cannot)?;
        let rewrap = Rewrap::new(&file, keyring, &self.limits).map_err(failed)?;
        let slots = self.slots(&rewrap).map_err(failed)?;
        rewrap.copy(slots, &file, output.writer()).map_err(failed)?;
        if !is_unchanged(&before, &fs::metadata(path).map_err(cannot)?) {
            return Err(Failure::new(format!("{name} was changed by another program"))
                .hint("run the command again"));
        }
        drop(file);
        output.commit(false)
    }
}

/// Returns whether a file system cannot lock files. Then two commands could change one file at
/// once, so each makes a new file.
fn is_without_locks(error: &io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error()) {
        return true; // of NFS without its service for locks
    }
    error.kind() == ErrorKind::Unsupported
}
