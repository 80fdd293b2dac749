//! `decrypt`, and `encrypt -d`.

use std::io::{Read, Seek, SeekFrom, Write};

use palladion_file::{Decryptor, KdfLimits, Salvaged};

use crate::args::InOutArgs;
use crate::batch::{self, After, Batch};
use crate::failure::{Failure, Result, tell};
use crate::impatient::Impatient;
use crate::input::{Input, check_one_of};
use crate::naming::Naming;
use crate::output::Output;
use crate::ring::Ring;
use crate::salvage::Found;
use crate::sealed::Sealed;
use crate::values::{Given, Kind};

/// What `decrypt` does besides.
#[derive(Default)]
pub struct Options<'a> {
    /// What a file may make us spend on its passphrase.
    pub limits: KdfLimits,
    /// Whether to write what is intact of a damaged file.
    pub salvage: bool,
    /// What the files are bound to.
    pub place: Option<&'a str>,
}

/// `decrypt`, and `encrypt -d`.
pub fn run(given: &[Given<'_>], options: &Options<'_>, in_out: &InOutArgs) -> Result<()> {
    let naming = Naming::plain(in_out)?;
    let (limits, place) = (options.limits, options.place);
    let mut ring = Ring::open(given, in_out.reads_standard_input(), limits, place)?;
    batch::run(&naming, |path, label, batch| {
        check_one_of(in_out.files.len(), path)?;
        let input = Input::open_as("decrypt each file in it with --recursive, or name them", path)?;
        input.begin();
        ring.go_on_to(naming.place(path)?);
        let mut sealed = Sealed::read_input(&input, "export", options.salvage)?;
        if options.salvage
            && let Some(other) = sealed.other_file(&input)
        {
            if [&sealed, &other].iter().any(|sealed| sealed.takes(Kind::Passphrase)) {
                batch.expect_passphrase();
            }
            sealed = choose([sealed, other], &input, &mut ring, &limits, (batch, label))?;
        }
        ring.check(&sealed)?;
        if sealed.takes(Kind::Passphrase) {
            batch.expect_passphrase();
        }
        let output = naming.open(&input, &ring.files(), path)?;
        let mut sink = options.salvage.then(|| output.random_access()).transpose()?;
        let salvaged = ring
            .unlock(&sealed, &output.name, |secret| {
                let mut progress = batch.progress(input.len, label);
                let bar = progress.bar();
                let mut decryptor = Decryptor::new(secret)
                    .kdf_limits(options.limits)
                    .on_progress(|done| progress.set(done));
                if let Some(threads) = in_out.threads.threads {
                    decryptor = decryptor.threads(threads);
                }
                // A wrong secret is noticed before anything after the header is read.
                let file = sealed.start(secret, &options.limits).chain(input.reader());
                match &mut sink {
                    Some(sink) => decryptor
                        .salvage(file, |offset, text| {
                            sink.seek(SeekFrom::Start(offset))?;
                            sink.write_all(text)
                        })
                        .map(Some),
                    None => {
                        let is_named = in_out.output.is_some();
                        let writer = Impatient::new(&input, &output, is_named, bar);
                        decryptor.run(file, writer).map(|summary| {
                            if let Some(problem) = sealed.check_copies(summary.spare, &input) {
                                let repair = sealed.repair(summary.bytes, &input);
                                tell(&format!("warning: {problem}; {repair}"));
                            }
                            None
                        })
                    }
                }
            })
            .map_err(|failure| {
                match options.salvage && sealed.check_damaged(&input).is_some() {
            true => failure.hint(
                "its slot may be damaged in both copies: try the other secrets that open the file",
            ),
            false => failure,
        }
            })?;
        batch.note_slots(&sealed, ring.opened);
        match salvaged {
            Some(salvaged) => {
                if let Some(problem) = sealed.check_damaged(&input) {
                    tell(&format!("warning: {problem}"));
                }
                conclude(salvaged, &input, output)
            }
            None => Ok((output, After::of(path.filter(|_| in_out.rm), input))),
        }
    })
}

/// Decides which of two files to salvage that are mixed: the first if it is complete, or else the
/// one of which more is intact. Reads all of the input twice, and leaves it at the first chunk.
fn choose<'a>(
    both: [Sealed<'a>; 2],
    input: &Input,
    ring: &mut Ring,
    limits: &KdfLimits,
    (batch, label): (&Batch<'_>, &str),
) -> Result<Sealed<'a>> {
    let found = both.each_ref().map(|sealed| {
        ring.check(sealed)?;
        let found = ring.unlock(sealed, "the output", |secret| {
            sealed.skip_header(input)?;
            let mut progress = batch.progress(input.len, label);
            let decryptor = Decryptor::new(secret).kdf_limits(*limits);
            let decryptor = decryptor.on_progress(|done| progress.set(done));
            let file = sealed.start(secret, limits).chain(input.reader());
            decryptor.salvage(file, |_, _| Ok(()))
        })?;
        Ok((found.is_complete(), found.intact.bytes))
    });
    let [one, two] = match found {
        [Err(failure), Err(_)] => return Err(failure),
        found => found.map(Result::ok),
    };
    let keeps_last = one < two && !matches!(one, Some((true, _)));
    let [first, last] = both;
    let other_is_bound = if keeps_last { first.is_bound } else { last.is_bound };
    let len = last.header.len();
    let (kept, what, other, get_other) = match keeps_last {
        true => (last, "last", one, format!("cut the last {len} bytes off a copy of it")),
        false => (
            first,
            "first",
            two,
            format!("run cp FILE COPY; tail -c {len} FILE | dd of=COPY conv=notrunc"),
        ),
    };
    let other = match other {
        Some((_, 0)) => "nothing of the other is intact".into(),
        Some((_, bytes)) => format!(
            "{bytes} bytes of the other are intact; to get those, {get_other}, and salvage that"
        ),
        None if other_is_bound => {
            "the other does not open: it is bound to a place, and needs its own --bind and secret"
                .into()
        }
        None => "the other does not open with the secrets given".into(),
    };
    tell(&format!(
        "warning: {name} begins with one file and ends with another: the {what} of these is \
         salvaged; {other}",
        name = input.name
    ));
    kept.skip_header(input)
        .map_err(|error| Failure::file(&error, &input.name, "the output"))
        .map(|()| kept)
}

/// Ends the output of what was salvaged, and says what is missing.
fn conclude(salvaged: Salvaged, input: &Input, output: Output) -> Result<(Output, After)> {
    if salvaged.has_trailing_data {
        tell(&format!("{}: data follows the end of the file; it was ignored", input.name));
    }
    if let Some(kind) = salvaged.read_error {
        tell(&format!(
            "{}: cannot be read to its end ({kind}): copy it with ddrescue, and salvage the copy",
            input.name
        ));
    }
    let end = salvaged.missing.last().map_or(0, |range| range.end);
    let Salvaged { missing, has_end, .. } = salvaged;
    let found = Found { intact: salvaged.intact.bytes, missing, has_end };
    let incomplete = found.report(&input.name)?;
    let file = output.file();
    let extended = file.metadata().and_then(|now| file.set_len(now.len().max(end)));
    extended.map_err(|error| Failure::io("write", &output.name, &error))?;
    Ok((output, After::lacking(incomplete)))
}
