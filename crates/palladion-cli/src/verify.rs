//! `verify`.

use std::io::{self, Read};
use std::path::Path;

use palladion_file::Decryptor;

use crate::args::VerifyArgs;
use crate::failure::{Failure, Result, for_each, note};
use crate::input::{Input, check_one_of};
use crate::naming::encrypted_files;
use crate::progress::{Progress, label};
use crate::ring::Ring;
use crate::sealed::Sealed;
use crate::verdict::Verdict;

/// `verify`.
pub fn run(args: &VerifyArgs) -> Result<()> {
    let limits = args.ring.kdf_limits();
    let place = args.ring.bind.as_deref();
    let mut ring = Ring::open(&args.ring.given(), args.reads_standard_input(), limits, place)?;
    let standard_input = [Path::new("-").to_path_buf()];
    let files = if args.files.is_empty() { &standard_input[..] } else { &args.files };
    let files = encrypted_files(files, args.recursive, args.bind_to_path);
    let count = files.len();
    let found = files.iter().filter(|file| file.is_ok()).count();
    let (mut intact, mut is_noted) = (0, false);
    let result = for_each(files.into_iter().enumerate(), |(at, file)| {
        let (path, place) = file?;
        ring.go_on_to(place);
        let label = label(Some(&path), at, count);
        let checked = verify(args, &mut ring, &path, &label, &mut is_noted);
        intact += usize::from(checked.is_ok());
        let verdict = match &checked {
            Ok(()) => Verdict::Ok,
            // It says nothing about this file.
            Err(failure) if failure.is_final => return checked,
            Err(failure) if failure.is_damage() => Verdict::Failed,
            Err(_) => Verdict::Unread,
        };
        let name = path.as_os_str().as_encoded_bytes();
        verdict.print(name).map_err(Failure::of_all_files).and(checked)
    });
    if args.recursive && found > 0 {
        note(&format!("note: complete and unchanged: {intact} of {found}"));
    }
    result
}

/// `is_noted` says whether it was said of an earlier file what key slots do not prove.
fn verify(
    args: &VerifyArgs,
    ring: &mut Ring,
    path: &Path,
    label: &str,
    is_noted: &mut bool,
) -> Result<()> {
    check_one_of(args.files.len(), Some(path))?;
    let input = Input::open_as("use --recursive, or name the files in it", Some(path))?;
    input.begin();
    let sealed = Sealed::read_input(&input, "verify", false)?;
    ring.check(&sealed)?;
    let summary = ring.unlock(&sealed, "the output", |secret| {
        let mut progress = Progress::of_bytes(input.len, label);
        let mut decryptor = Decryptor::new(secret)
            .kdf_limits(args.ring.kdf_limits())
            .on_progress(|done| progress.set(done));
        if let Some(threads) = args.threads.threads {
            decryptor = decryptor.threads(threads);
        }
        // A wrong secret is noticed before anything after the header is read.
        let start = sealed.start(secret, &args.ring.kdf_limits());
        decryptor.run(start.chain(input.reader()), io::sink())
    })?;
    if !(args.recursive && *is_noted) {
        sealed.note_slots(ring.opened);
        *is_noted = sealed.head.is_some();
    }
    match sealed.check_copies(summary.spare, &input) {
        Some(problem) => Err(Failure::damaged(problem).hint(format!(
            "its data is complete and unchanged; {}",
            sealed.repair(summary.bytes, &input)
        ))),
        None => Ok(()),
    }
}
