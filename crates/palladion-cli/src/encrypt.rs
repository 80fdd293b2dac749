//! `encrypt`.

use palladion_file::slots::{NewSlot, NewSlots};
use palladion_file::{Encryptor, Error, KdfLimits};

use crate::args::EncryptArgs;
use crate::batch::{self, After};
use crate::failure::{Failure, Result, tell};
use crate::impatient::Impatient;
use crate::input::{Input, check_one_of};
use crate::keys::{OwnSecret, Source};
use crate::naming::{Naming, Opens};
use crate::recipients::Addressees;
use crate::ring::allowing;
use crate::terminal;
use crate::values::Kind;

/// `encrypt`.
pub fn run(args: &EncryptArgs) -> Result<()> {
    // What is typed while a new passphrase is stretched is not shown either.
    let _hidden = terminal::Hidden;
    let EncryptArgs { secret, in_out, .. } = args;
    let mut naming = Naming::encrypted(in_out, args.bind.is_some() || in_out.bind_to_path)?;
    let is_standard_input = in_out.reads_standard_input();
    let mut sources = match &secret.given()[..] {
        [] if !secret.recipients().are_none() => Vec::new(),
        given => Source::open_new(given, is_standard_input)?,
    };
    if sources.iter().any(|source| source.is_passphrase() && !source.is_typed())
        && sources.iter_mut().any(Source::is_protected)
    {
        return Err(Failure::usage(
            "--passphrase-file makes a key slot, and does not open an identity file",
        )
        .hint("use -r with the recipient, which palladion recipient IDENTITYFILE prints"));
    }
    let (addressees, recipients_files) =
        Addressees::new(secret.recipients(), &mut sources, is_standard_input)?;
    let kdf = args.kdf.given();
    let has_passphrase = sources.iter().any(Source::is_passphrase);
    if kdf.is_some() && !has_passphrase {
        return Err(Failure::usage("--kdf-memory and --kdf-passes are for a passphrase")
            .hint("leave them out, or use -p"));
    }
    if let Some(kdf) = kdf.filter(|kdf| KdfLimits::default().check(kdf).is_err()) {
        tell(&format!("warning: to decrypt with so costly a passphrase, use {}", allowing(&kdf)));
    }
    if in_out.skip_existing {
        let own = sources.iter().map(Source::kind).filter(|kind| *kind != Kind::Identity);
        let kinds = own.chain(addressees.first().map(|_| Kind::Identity)).collect();
        let keys = sources.iter_mut().filter(|source| source.kind() == Kind::Key);
        let opens = |source: &mut Source| source.secret()?.keyring(args.bind.as_deref());
        let keys = keys.map(opens).collect::<Result<_>>()?;
        naming.opens = Opens { kinds, keys, slots: args.slots };
    }
    batch::run(&naming, |path, label, batch| {
        if has_passphrase {
            batch.expect_passphrase();
        }
        check_one_of(in_out.files.len(), path)?;
        let input = Input::open_as(
            "encrypt each file in it with --recursive, or pack it: tar c DIRECTORY | palladion …",
            path,
        )?;
        let secrets = sources.iter().filter_map(Source::as_input);
        let recipients = recipients_files.iter().map(|file| ("recipients file", file));
        let secrets: Vec<_> = secrets.chain(recipients).collect();
        let own_place = naming.place(path)?;
        let output = naming.open(&input, &secrets, path)?;
        if output.is_terminal() && in_out.output.is_none() {
            return Err(Failure::usage("refusing to write binary data to a terminal")
                .hint("name a file to encrypt, pipe the output, or force it with -o -"));
        }
        for source in &mut sources {
            source.secret().map_err(Failure::of_all_files)?;
            source.refuse(&input)?;
        }
        Addressees::refuse(&addressees, &input)?;
        let secrets = sources.iter_mut().filter(|source| source.kind() != Kind::Identity);
        let secrets = OwnSecret::distinct(secrets.map(Source::secret).collect::<Result<_>>()?);
        let kdf = kdf.unwrap_or_default();
        let slots = secrets.iter().map(|secret| secret.new_slot(kdf));
        let slots = slots.chain(addressees.iter().map(|all| Ok(NewSlot::Age(all))));
        let slots = slots.collect::<Result<Vec<_>>>()?;
        input.begin();
        let mut progress = batch.progress(input.len, label);
        let writer = Impatient::new(&input, &output, in_out.output.is_some(), progress.bar());
        let place = args.bind.as_deref().map(str::as_bytes).or(own_place.as_deref());
        let bound;
        let encryptor = match (&secrets[..], &addressees[..], place) {
            ([secret], [], None) if !args.slots => Encryptor::new(secret.borrow()?),
            ([secret], [], Some(place)) if !args.slots => {
                bound = secret.borrow()?.bind(place);
                Encryptor::new(&bound)
            }
            _ => {
                let slots = NewSlots::from(&slots);
                Encryptor::with_slots(place.into_iter().fold(slots, NewSlots::bind))
            }
        };
        let mut encryptor = encryptor
            .algorithm(args.algorithm)
            .chunk_size(args.chunk_size)
            .kdf(kdf)
            .on_progress(|done| progress.set(done));
        if let Some(threads) = in_out.threads.threads {
            encryptor = encryptor.threads(threads);
        }
        let result = encryptor.run(input.reader(), writer);
        drop(progress);
        if let Ok(summary) = &result {
            input.check_whole(summary.bytes)?;
        }
        match result {
            Ok(_) => Ok((output, After::of(path.filter(|_| in_out.rm), input))),
            Err(error) => {
                let failure = Failure::file(&error, &input.name, &output.name);
                Err(match error {
                    Error::KdfMemory => failure.hint("close other programs, or lower --kdf-memory"),
                    _ => failure,
                })
            }
        }
    })
}
