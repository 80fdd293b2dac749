//! `slots`.

use std::path::Path;

use palladion_file::Error;
use palladion_file::slots::{Copies, Head};

use crate::args::SlotsArgs;
use crate::failure::{Failure, Result, for_each};
use crate::info::{json_of, text_of};
use crate::input::RandomAccess;
use crate::sealed::REPAIR;
use crate::streams;
use crate::text::{json, json_object, printable};

/// `slots`.
pub fn list(args: &SlotsArgs) -> Result<()> {
    for_each(args.files.iter().enumerate(), |(at, path)| {
        let file = open(path)?;
        let copies = read(&file)?;
        let state = match (&copies.head, &copies.spare) {
            (Err(error), Err(_)) => return Err(Failure::file(error, &file.name, "the output")),
            (Err(_), Ok(_)) => "the first is damaged",
            (Ok(_), Err(_)) => "the second is damaged or missing",
            (Ok(_), Ok(_)) if copies.are_same() => "same",
            (Ok(_), Ok(_)) => "they differ",
        };
        let both = [copies.head.as_ref().ok(), copies.spare.as_ref().ok()];
        let newest = both.into_iter().flatten().max_by_key(|head| head.sequence());
        let head = newest.expect("one is intact");
        let text = match args.json {
            true => to_json(path, state, head),
            false => format!("{}{}", if at > 0 { "\n" } else { "" }, to_text(path, state, head)),
        };
        streams::print(text).map_err(Failure::of_all_files)?;
        match copies.are_same() {
            true => Ok(()),
            false => {
                let message =
                    format!("{}: the two copies of the key slots are not the same", file.name);
                Err(Failure::damaged(message).hint(REPAIR))
            }
        }
    })
}

/// Opens a file of which the end is needed.
pub fn open(path: &Path) -> Result<RandomAccess> {
    RandomAccess::open(path, false, "name the files in it", "name a file")
}

/// Reads both copies of the slots of a file.
pub fn read(file: &RandomAccess) -> Result<Copies> {
    Copies::read(&file.file).map_err(|error| match error {
        Error::UnsupportedHeader { field: "key source", value: 0 | 1 } => {
            Failure::new(format!("{} has no key slots", file.name))
                .hint("decrypt it, and encrypt it again with several keys or with --slots")
        }
        error => Failure::file(&error, &file.name, "the output"),
    })
}

fn to_text(path: &Path, state: &str, head: &Head) -> String {
    let slots = head.slots().iter().enumerate();
    let slots = slots.map(|(at, slot)| {
        let name = format!("slot {}:", at + 1);
        format!("{name:13}{}\n", text_of(&slot.kind()))
    });
    format!(
        "file:        {}\nsequence:    {}\ncopies:      {state}\n{}\
         verified:    nothing (slots uses no key; see palladion verify)\n",
        printable(path.as_os_str().as_encoded_bytes()),
        head.sequence(),
        slots.collect::<String>(),
    )
}

fn to_json(path: &Path, state: &str, head: &Head) -> String {
    let kinds: Vec<_> = head.slots().iter().map(|slot| slot.kind()).collect();
    json_object(&[
        ("file", &*json(path.as_os_str().as_encoded_bytes())),
        ("sequence", &head.sequence().to_string()),
        ("copies", &json(state.as_bytes())),
        ("slots", &json_of(&kinds)),
        ("verified", "false"),
    ])
}
