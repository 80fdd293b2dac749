//! `rewrap`.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use palladion_file::slots::{Head, NewSlot, Plan, Rewrap, Slot, SlotKind};
use palladion_file::{Error, KdfLimits, Keyring};
use palladion_recipients::{check_mixing, stanza_types};

use crate::args::RewrapArgs;
use crate::failure::{Failure, Result, for_each, note, tell};
use crate::info::text_of_slot;
use crate::input::is_unchanged;
use crate::keys::{OwnSecret, Source};
use crate::naming::encrypted_files;
use crate::output::Output;
use crate::recipients::Addressees;
use crate::ring::{Ring, allowing, is_wrong_secret};
use crate::sealed::Sealed;
use crate::{interrupt, slots, terminal};

/// Why a slot stays.
const OWN_SLOT: &str = "the secret that opens the file now would not open it afterwards: name \
                        another of yours that opens it now, with -k, -i or --passphrase-file, put \
                        your own recipient into the new list, or use --force";

/// Why nothing is changed: the slot would stay.
const NOT_TRIED: &str = "one of the secrets given cannot be tried on a slot, which would stay: \
                         allow what it takes, or remove slots with --remove N or --only";

const NO_PLACE: Option<&[u8]> = None;

/// What to do about a file whose second copy is not where it should be.
const LOST_END: &str = "palladion decrypt says whether data follows its end: then use palladion \
                        decrypt --salvage -o OUT FILE";

/// `rewrap`.
pub fn run(args: &RewrapArgs) -> Result<()> {
    let _hidden = terminal::Hidden;
    let given = args.to.given();
    let recipients = args.to.recipients();
    let removes = !args.remove.is_empty();
    if given.is_empty() && recipients.are_none() && !args.repair && !removes {
        return Err(Failure::usage("expected what shall open the files").hint(
            "use --to-key, --to-passphrase or --to-recipient, --remove N to remove a slot, or \
             --repair to keep the slots",
        ));
    }
    if removes && args.files.len() > 1 {
        return Err(Failure::usage("--remove takes one file").hint(
            "the numbers of slots are those of one file: look at each with palladion slots, and \
             name them one by one",
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
        args.add && !removes || args.repair || args.force || sources.iter().any(Source::is_typed);
    if sources.iter().any(Source::is_typed) {
        open_one(args, &mut ring, &limits)?;
    }
    let mut new = Vec::with_capacity(sources.len());
    let secrets =
        sources.iter_mut().map(Source::secret).collect::<Result<_>>().map_err(|failure| {
            failure.replace_hint("use --passphrase-file FILE", "use --to-passphrase-file FILE")
        })?;
    for secret in OwnSecret::distinct(secrets) {
        keeps_user = keeps_user || ring.holds(secret)?;
        new.push((secret.new_slot(kdf.unwrap_or_default())?, secret.keyring(NO_PLACE)?));
    }
    for addressees in &addressees {
        keeps_user = keeps_user || ring.holds_one_of(addressees)?;
        // Whether a recipient has a slot already is known only to the recipient.
        new.push((NewSlot::Age(addressees), Keyring::default()));
    }
    if !keeps_user && !removes {
        let message = "none of the secrets that open the files now would open them afterwards";
        return Err(Failure::usage(message).hint(
            "to keep your own slot, use --add, or name your own key too; if the new secret is \
             yours, name it also with -k, -i or --passphrase-file, or use --force",
        ));
    }
    let change = Change { args, new: &new, keeps_user, limits };
    let (files, mut set) = (files(args), 0);
    let count = files.len();
    let result = for_each(files, |file| {
        let (path, place) = file?;
        ring.go_on_to(place);
        change.file(&path, &mut ring)?;
        set += 1;
        Ok(())
    });
    if args.recursive && count > 1 {
        note(&format!("note: done: {set} of {count}"));
    }
    if set > 0 && (!args.add || removes) && !args.repair {
        note(
            "note: old secrets still open old copies of a file, and who opened it may have kept \
             its key: to lock someone out, encrypt again",
        );
    }
    result
}

/// The files to change, each with its place.
fn files(args: &RewrapArgs) -> Vec<Result<(PathBuf, Option<Vec<u8>>)>> {
    encrypted_files(&args.files, args.recursive, args.bind_to_path)
}

/// Opens one of the files, so that nobody chooses a new passphrase for nothing, or before the old
/// one.
fn open_one(args: &RewrapArgs, ring: &mut Ring, limits: &KdfLimits) -> Result<()> {
    let mut open = |file: Result<(PathBuf, _)>| {
        let (path, place) = file?;
        ring.go_on_to(place);
        let file = slots::open(&path)?;
        let copies = slots::read(&file)?;
        let failed = |error| Failure::file(&error, &file.name, &file.name);
        let sealed = Sealed::of_copies(&file.name, copies).map_err(failed)?;
        ring.check(&sealed)?;
        ring.unlock(&sealed, &file.name, |keyring| {
            let opened =
                sealed.head.iter().chain(&sealed.other).map(|head| head.open(keyring, limits));
            opened.reduce(|one, other| one.or(other)).map_or(Ok(()), |opened| opened.map(drop))
        })
    };
    let mut first = None;
    for file in files(args) {
        match open(file) {
            Ok(()) => return Ok(()),
            Err(failure) if failure.is_final => return Err(failure),
            Err(failure) => _ = first.get_or_insert(failure),
        }
    }
    first.map_or(Ok(()), Err)
}

/// One file: what was read of it first, and what opens its slots.
struct Found<'a> {
    slots: &'a [Slot],
    /// What the user gave to open it.
    given: Vec<Keyring>,
    /// What opens each of the new slots.
    new: Vec<Keyring>,
}

struct Change<'a> {
    args: &'a RewrapArgs,
    /// The slots to make, each with what opens it but for the place of a file.
    new: &'a [(NewSlot<'a>, Keyring)],
    /// Whether the user can open the files afterwards, whatever slots are removed.
    keeps_user: bool,
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
        if (self.args.add || self.removes()) && !copies.are_same() {
            let message = format!("{name}: the two copies of the key slots are not the same");
            return Err(Failure::damaged(message).hint(
                "palladion slots FILE lists both; decide which to keep: palladion rewrap \
                 --repair FILE, with a key of it",
            ));
        }
        let (are_same, asks) = (copies.are_same(), ring.asks);
        let (mut refused, mut locked) = (None, None);
        let sealed = Sealed::of_copies(name, copies)
            .map_err(|error| Failure::file(&error, name, "the output"))?;
        let slots = sealed.head.as_ref().map_or(&[][..], Head::slots);
        if let Some(number) =
            self.args.remove.iter().find(|number| usize::from(**number) > slots.len())
        {
            let message = format!("{name} has no slot {number}");
            return Err(Failure::usage(message).hint("palladion slots FILE lists them"));
        }
        ring.check(&sealed)?;
        let bind =
            |keyring: &Keyring| ring.place().into_iter().fold(keyring.clone(), Keyring::bind);
        let new = self.new.iter().map(|(_, keyring)| bind(keyring)).collect();
        let given = if self.replaces() { ring.given_keyrings(&sealed)? } else { Vec::new() };
        let file = Found { slots, given, new };
        // The new head, or what opens a file that has to be copied for it.
        let done = ring.unlock(&sealed, name, |keyring| {
            let mut held = None;
            let plan = |rewrap: &Rewrap| {
                locked = Some(rewrap.slots().to_vec());
                let plan = rewrap.plan(self.slots(rewrap, keyring, &file)?)?;
                let said = format!("note: {name}: its key slots were changed");
                held = Some(interrupt::hold_for(move || note(&said))); // for both copies
                Ok(plan)
            };
            let done = Rewrap::in_place(path, keyring, &self.limits, plan);
            if done.is_err() {
                interrupt::part_silently();
            }
            drop(held);
            match done {
                Err(Error::NoRoomForSlots { room, .. }) if room < Head::MAX_LEN => {
                    Ok(Err(keyring.clone()))
                }
                Err(Error::Write(error)) if is_without_locks(&error) => Ok(Err(keyring.clone())),
                Err(error @ Error::CannotChangeSlots(why)) => {
                    refused = Some(why);
                    // Another secret may open a slot that stays.
                    Err(if why == OWN_SLOT && !asks { Error::NoSlot } else { error })
                }
                Err(error) if is_wrong_secret(&error) => Err(error),
                done => {
                    refused = None;
                    done.map(Ok)
                }
            }
        });
        let done = done.map_err(|failure| match refused {
            Some(why) => {
                let failure = Failure::file(&Error::CannotChangeSlots(why), name, name);
                if are_same { failure } else { failure.hint(LOST_END) }
            }
            None => failure,
        })?;
        let new = match done {
            Ok(new) => new,
            Err(keyring) => {
                let (new, old) = self.copy(path, name, &keyring, &file)?;
                locked = Some(old);
                new
            }
        };
        // What another command has changed meanwhile counts as it was then.
        let slots = locked.as_deref().filter(|_| are_same).unwrap_or(slots);
        let mut old: Vec<_> = slots.iter().collect();
        let others = sealed.other.iter().flat_map(Head::slots);
        old.extend(others.filter(|slot| !slots.contains(slot)));
        let is_other = sealed.other.as_ref().is_some_and(|other| other.slots() == new.slots());
        let new: Vec<_> = new.slots().iter().collect();
        let is_in = |slots: &[&Slot], slot: &&Slot| slots.contains(slot);
        let changes = [
            ("removed", named(&old, |slot| !is_in(&new, slot))),
            ("added", named(&new, |slot| !is_in(&old, slot))),
            ("kept", named(&old, |slot| self.replaces() && is_in(&new, slot))),
        ];
        let is_same = changes[..2].iter().all(|(_, slots)| slots.is_empty());
        let changes = changes.iter().filter(|(_, slots)| !slots.is_empty());
        let said: Vec<_> = changes.map(|(what, slots)| format!("{what}: {slots}")).collect();
        let said = match is_same {
            false => said.join("; "),
            true if self.args.repair => {
                "repaired: both copies of the key slots are the same".into()
            }
            true => "no slot was added or removed: all these secrets have one".into(),
        };
        note(&format!("note: {name}: {said}"));
        interrupt::part_silently();
        if self.args.repair
            && let (Some(head), Some(other)) = (&sealed.head, &sealed.other)
            && head.slots() != other.slots()
        {
            let (kept, lost) = if is_other { (other, head) } else { (head, other) };
            note(&format!(
                "note: {name}: kept the copy of sequence {}, not that of {}",
                kept.sequence(),
                lost.sequence()
            ));
        }
        let opener = |slot: &&Slot| match slot.kind() {
            SlotKind::Key => "key",
            SlotKind::Passphrase(_) => "passphrase",
            SlotKind::Age => "identity",
            _ => "",
        };
        for what in ["key", "passphrase", "identity"] {
            let has = |slots: &[&Slot]| slots.iter().any(|slot| opener(slot) == what);
            if has(&old) && !has(&new) {
                tell(&format!("warning: {name}: no {what} opens it any longer"));
            }
        }
        let recipients = |slots: &[&Slot], others: &[&Slot]| {
            let age = slots.iter().filter(|slot| slot.kind() == SlotKind::Age);
            let changed = age.filter(|slot| !others.contains(slot));
            let count = |slot: &&Slot| stanza_types(slot.body()).map_or(0, |types| types.len());
            changed.map(count).max().unwrap_or(0)
        };
        // Which of them are the user's own, or named again, cannot be told.
        let shared = recipients(&old, &new);
        if self.replaces() && shared > 1 {
            let says = format!(
                "{name}: the slot that was replaced was for {shared} recipients: those who are \
                 not among the new ones cannot open the file any longer"
            );
            match shared > recipients(&new, &old) {
                true => tell(&format!("warning: {says}")),
                false => note(&format!("note: {says}")),
            }
        }
        if self.removes() && new.len() == 1 {
            tell(&format!(
                "warning: {name}: one slot is left: who loses its secret loses the file"
            ));
        }
        Ok(())
    }

    fn removes(&self) -> bool {
        !self.args.remove.is_empty()
    }

    /// Whether new slots replace those that the user's secrets open.
    fn replaces(&self) -> bool {
        let RewrapArgs { add, only, repair, .. } = self.args;
        !(*add || *only || *repair || self.removes())
    }

    /// The slots that a file shall have. `keyring` opens it.
    fn slots(
        &self,
        rewrap: &Rewrap,
        keyring: &Keyring,
        file: &Found<'_>,
    ) -> std::result::Result<Vec<Slot>, Error> {
        let RewrapArgs { only, repair, remove, .. } = self.args;
        // Another program may have changed them meanwhile.
        if self.removes() && !(rewrap.are_same() && rewrap.slots() == file.slots) {
            return Err(Error::CannotChangeSlots(
                "their numbers are not certain: look at them with palladion slots",
            ));
        }
        let replaced = match self.replaces() {
            true => self.replaced(rewrap.plan(rewrap.slots().to_vec())?.head(), keyring, file)?,
            false => Vec::new(),
        };
        let numbered = (1..=u8::MAX).zip(rewrap.slots());
        let kept = numbered.filter(|(number, _)| {
            !(*only || remove.contains(number) || replaced.contains(&usize::from(*number)))
        });
        let mut slots: Vec<_> = kept.map(|(_, slot)| slot.clone()).collect();
        let keeps_some = !*repair && !slots.is_empty();
        let kept = keeps_some.then(|| rewrap.plan(slots.clone())).transpose()?;
        let is_kept = |keyring| {
            let head = kept.as_ref().map(Plan::head);
            head.is_some_and(|head| head.open(keyring, &self.limits).is_ok())
        };
        if self.removes() && !self.keeps_user && !is_kept(keyring) {
            return Err(Error::CannotChangeSlots(OWN_SLOT));
        }
        for ((new, _), keyring) in self.new.iter().zip(&file.new) {
            if !is_kept(keyring) {
                slots.push(rewrap.lock(*new)?);
            }
        }
        let age = slots.iter().filter(|slot| slot.kind() == SlotKind::Age);
        let types = age.filter_map(|slot| stanza_types(slot.body()).ok()).flatten();
        match check_mixing(types) {
            Err(_) if !*repair => Err(Error::CannotChangeSlots(
                "quantum-safe recipients (age1pq1…) cannot share a file with others: to replace \
                 their slot, leave out --add and name an identity of it with -i, or use --remove N",
            )),
            _ => Ok(slots),
        }
    }

    /// The numbers of the slots that the user's secrets open, and no new one has again.
    fn replaced(
        &self,
        head: &Head,
        keyring: &Keyring,
        file: &Found<'_>,
    ) -> std::result::Result<Vec<usize>, Error> {
        let all: Vec<_> = (1..=head.slots().len()).collect();
        let mut own = self.opened(head, &all, &file.given)?;
        if own.is_empty() {
            // It was typed, or found by default.
            own = self.opened(head, &all, std::slice::from_ref(keyring))?;
        }
        let again = self.opened(head, &own, &file.new)?;
        own.retain(|number| !again.contains(number));
        Ok(own)
    }

    /// Those of these slots that one of the secrets opens.
    fn opened(
        &self,
        head: &Head,
        numbers: &[usize],
        keyrings: &[Keyring],
    ) -> std::result::Result<Vec<usize>, Error> {
        let mut opened = Vec::new();
        for &number in numbers {
            for keyring in keyrings {
                match head.opens_slot(number - 1, keyring, &self.limits) {
                    Ok(false) => {}
                    Ok(true) => {
                        opened.push(number);
                        break;
                    }
                    Err(error) => {
                        let more = match head.slots()[number - 1].kind() {
                            SlotKind::Passphrase(kdf) => format!("; {} allows it", allowing(&kdf)),
                            _ => String::new(),
                        };
                        tell(&format!("slot {number}: {error}{more}"));
                        return Err(Error::CannotChangeSlots(NOT_TRIED));
                    }
                }
            }
        }
        Ok(opened)
    }

    /// Replaces a file by a new one, with room for more slots. Returns the old slots, too.
    fn copy(
        &self,
        path: &Path,
        name: &str,
        keyring: &Keyring,
        file: &Found<'_>,
    ) -> Result<(Head, Vec<Slot>)> {
        let failed = |error| Failure::file(&error, name, name);
        let cannot = |error| Failure::io("read", name, &error);
        let state = fs::metadata(path).map_err(cannot)?;
        let output = Output::instead_of(path, state.modified().ok())?;
        let Some(source) = output.replaced() else {
            return Err(Failure::new(format!("cannot read {name}")));
        };
        let rewrap = Rewrap::new(source, keyring, &self.limits).map_err(failed)?;
        let old = rewrap.slots().to_vec();
        let slots = self.slots(&rewrap, keyring, file).map_err(failed)?;
        let head = rewrap.copy(slots, source, output.writer()).map_err(failed)?;
        // The lock may be on a file that another command has replaced before.
        if !is_unchanged(&state, &fs::metadata(path).map_err(cannot)?) {
            return Err(Failure::new(format!("{name} was changed by another program"))
                .hint("run the command again"));
        }
        output.commit(false).map(|()| (head, old))
    }
}

/// Names the kinds of some of these slots.
fn named(slots: &[&Slot], is_meant: impl Fn(&&Slot) -> bool) -> String {
    let named = slots.iter().filter(|slot| is_meant(slot)).map(|slot| match slot.kind() {
        SlotKind::Passphrase(_) => "passphrase".into(),
        _ => text_of_slot(slot),
    });
    named.collect::<Vec<_>>().join(", ")
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
