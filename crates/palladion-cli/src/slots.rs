//! `slots`.

use std::io::Write;
use std::path::Path;

use palladion_file::slots::{Copies, Head, SlotKind};
use palladion_file::{Error, KdfLimits};
use palladion_recipients::stanza_types;

use crate::args::SlotsArgs;
use crate::failure::{Failure, Result, for_each, tell};
use crate::info::{json_of_slots, text_of_slot};
use crate::input::RandomAccess;
use crate::output::{Access, Output};
use crate::ring::Ring;
use crate::sealed::{REPAIR, Sealed, both_damaged, copies};
use crate::streams;
use crate::text::{json, json_object, printable};

/// `slots`.
pub fn run(args: &SlotsArgs) -> Result<()> {
    match (args.extract, &args.files[..]) {
        (None, _) => list(args),
        (Some(_), _) if !args.ring.given().is_empty() => {
            Err(Failure::usage("--extract uses no key").hint("leave out -k, -i, -p and the like"))
        }
        (Some(number), [path]) => extract(args, number.into(), path),
        (Some(_), _) => {
            Err(Failure::usage("--extract takes one file").hint("name the others one by one"))
        }
    }
}

/// Writes the age file in a slot.
fn extract(args: &SlotsArgs, number: usize, path: &Path) -> Result<()> {
    let file = open(path)?;
    let copies = read_both(&file)?;
    let damaged;
    let head = match newest(&copies) {
        Ok(head) => head,
        Err(error) => {
            let failed = || Failure::file(error, &file.name, "the output");
            damaged = Copies::read_damaged(&file.file).map_err(|_| failed())?;
            tell(&format!(
                "warning: {}: both copies of the key slots are damaged, and so may be the slot",
                file.name
            ));
            // One whose beginning can be read, if there is one.
            let is_readable = |head: &&Head| {
                let slot = head.slots().get(number - 1);
                slot.is_some_and(|slot| stanza_types(slot.body()).is_ok())
            };
            let copies = || [&damaged.head, &damaged.spare].into_iter().flatten();
            copies().find(is_readable).or_else(|| copies().next()).ok_or_else(failed)?
        }
    };
    let Some(slot) = head.slots().get(number - 1) else {
        let message = format!("{} has no slot {number}", file.name);
        return Err(Failure::usage(message).hint("palladion slots FILE lists them"));
    };
    if slot.kind() != SlotKind::Age {
        let message = format!("slot {number} of {} is not for recipients", file.name);
        return Err(Failure::usage(message)
            .hint("--extract writes slots for age: palladion slots FILE shows which those are"));
    }
    let inputs = [("input", &file.identity)];
    let output = Output::open(args.output.as_deref(), args.force, Access::Usual, &inputs)?;
    if output.is_terminal() && args.output.is_none() {
        return Err(Failure::usage("refusing to write binary data to a terminal")
            .hint("name a file with -o OUT, or pipe the output, for example to age-inspect"));
    }
    let written = output.writer().write_all(slot.body());
    written.map_err(|error| Failure::io("write", &output.name, &error))?;
    output.commit(true)
}

/// The copy that was changed last.
fn newest(copies: &Copies) -> std::result::Result<&Head, &Error> {
    match (&copies.head, &copies.spare) {
        (Ok(head), Ok(spare)) if spare.sequence() > head.sequence() => Ok(spare),
        (Ok(head), _) | (Err(_), Ok(head)) => Ok(head),
        (Err(error), Err(_)) => Err(error),
    }
}

fn list(args: &SlotsArgs) -> Result<()> {
    let (given, limits) = (args.ring.given(), args.ring.kdf_limits());
    let mut ring = match given.is_empty() {
        true => None,
        false => Some(Ring::open(&given, false, limits, args.ring.bind.as_deref())?),
    };
    for_each(args.files.iter().enumerate(), |(at, path)| {
        let file = open(path)?;
        let copies = read(&file)?;
        let head =
            newest(&copies).map_err(|error| Failure::file(error, &file.name, "the output"))?;
        let state = match (&copies.head, &copies.spare) {
            (Err(_), _) => "the first is damaged",
            (Ok(_), Err(_)) => "the second is damaged or missing",
            (Ok(_), Ok(_)) if copies.are_same() => "same",
            (Ok(_), Ok(_)) => "they differ",
        };
        // After an interrupted change, also the copy that was changed less often.
        let both = [&copies.head, &copies.spare].map(|copy| copy.as_ref().ok());
        let other = both.into_iter().flatten().find(|copy| copy.as_bytes() != head.as_bytes());
        let heads: Vec<_> = [head].into_iter().chain(other).collect();
        let yours = ring.as_mut().map(|ring| yours(ring, &file, &heads, &limits)).transpose()?;
        let of = |at: usize| yours.as_ref().map(|yours| &*yours[at]);
        let listed: Vec<_> = heads.into_iter().enumerate().map(|(at, h)| (h, of(at))).collect();
        let text = match args.json {
            true => to_json(path, state, &listed),
            false => {
                let line = if at > 0 { "\n" } else { "" };
                format!("{line}{}", to_text(path, state, &listed))
            }
        };
        streams::print(text).map_err(Failure::of_all_files)?;
        if !copies.are_same() {
            let message =
                format!("{}: the two copies of the key slots are not the same", file.name);
            return Err(Failure::damaged(message).hint(REPAIR));
        }
        match yours.is_some_and(|yours| yours[0].is_empty()) {
            true => Err(Failure::file(&Error::NoSlot, &file.name, "the output")
                .hint("try the other secrets that you have")),
            false => Ok(()),
        }
    })
}

/// Returns the numbers of the slots that the secrets open, for each copy.
fn yours(
    ring: &mut Ring,
    file: &RandomAccess,
    heads: &[&Head],
    limits: &KdfLimits,
) -> Result<Vec<Vec<usize>>> {
    let sealed = Sealed::read_at_any_offset(file, "info")?;
    ring.check(&sealed)?;
    let keyrings = ring.keyrings(&sealed)?;
    let of_head = |head: &&Head| {
        let mut yours = Vec::new();
        for slot in 0..head.slots().len() {
            for keyring in &keyrings {
                let opens = head.opens_slot(slot, keyring, limits);
                if opens.map_err(|error| Failure::file(&error, &file.name, "the output"))? {
                    yours.push(slot + 1);
                    break;
                }
            }
        }
        Ok(yours)
    };
    heads.iter().map(of_head).collect()
}

/// Opens a file of which the end is needed.
pub fn open(path: &Path) -> Result<RandomAccess> {
    RandomAccess::open(
        path,
        false,
        "name the files in it; rewrap also has --recursive",
        "name a file",
    )
}

/// Reads both copies of the slots of a file, of which one is intact.
pub fn read(file: &RandomAccess) -> Result<Copies> {
    let copies = read_both(file)?;
    if copies.head.is_err() && copies.spare.is_err() {
        Sealed::read_at_any_offset(file, "info")?; // fails, and says what the file is instead
    }
    Ok(copies)
}

/// Reads both copies of the slots of a file.
fn read_both(file: &RandomAccess) -> Result<Copies> {
    copies(&file.file).map_err(|error| match error {
        Error::UnsupportedHeader { field: "key source", value: value @ (0 | 1) } => {
            let secret = if value == 0 { "key" } else { "passphrase" };
            let message = format!("{} has no key slots: only one {secret} opens it", file.name);
            Failure::new(message).hint(
                "to change that, decrypt it, and encrypt it again with several secrets or with \
                 --slots",
            )
        }
        error => both_damaged(&file.file, Failure::file(&error, &file.name, "the output")),
    })
}

/// A copy of the slots, and the numbers of those that the secrets open.
type Listed<'a> = (&'a Head, Option<&'a [usize]>);

fn to_text(path: &Path, state: &str, listed: &[Listed<'_>]) -> String {
    let slots = |(head, yours): &Listed<'_>| {
        let slots = (1..).zip(head.slots()).map(|(number, slot)| {
            let name = format!("slot {number}:");
            let is_yours = yours.is_some_and(|yours| yours.contains(&number));
            let yours = if is_yours { ", yours" } else { "" };
            format!("{name:13}{}{yours}\n", text_of_slot(slot))
        });
        slots.collect::<String>()
    };
    let (head, yours) = listed[0];
    let other = listed.get(1).map_or_else(String::new, |other| {
        format!("other copy:  sequence {}\n{}", other.0.sequence(), slots(other))
    });
    let verified = match yours {
        Some([_, ..]) => "the slots, not the data (see palladion verify)",
        Some([]) if matches!(listed, [_, (_, Some([_, ..]))]) => {
            "the slots of the other copy, not the data (see palladion verify)"
        }
        Some([]) => "nothing: none of the secrets opens a slot",
        None => "nothing (slots uses no key; see palladion verify)",
    };
    format!(
        "file:        {}\nsequence:    {}\ncopies:      {state}\n{}{other}\
         verified:    {verified}\n",
        printable(path.as_os_str().as_encoded_bytes()),
        head.sequence(),
        slots(&listed[0]),
    )
}

fn to_json(path: &Path, state: &str, listed: &[Listed<'_>]) -> String {
    let numbers = |yours: Option<&[usize]>| yours.map_or("null".into(), |own| format!("{own:?}"));
    let (head, yours) = listed[0];
    let other = listed.get(1).map_or("null".into(), |(head, yours)| {
        let (sequence, slots) = (head.sequence(), json_of_slots(head));
        format!("{{\"sequence\":{sequence},\"slots\":{slots},\"yours\":{}}}", numbers(*yours))
    });
    json_object(&[
        ("file", &*json(path.as_os_str().as_encoded_bytes())),
        ("sequence", &head.sequence().to_string()),
        ("copies", &json(state.as_bytes())),
        ("slots", &json_of_slots(head)),
        ("yours", &numbers(yours)),
        ("other", &other),
        (
            "verified",
            if yours.is_some_and(|yours| !yours.is_empty()) { "\"slots\"" } else { "null" },
        ),
    ])
}
