//! `info`.

use std::path::Path;

use palladion_file::sans_io::Layout;
use palladion_file::slots::{Head, Slot, SlotKind};
use palladion_file::{KdfParams, VERSION};
use palladion_recipients::stanza_types;

use crate::args::InfoArgs;
use crate::failure::{Failure, Result, for_each};
use crate::input::{Input, check_one_of};
use crate::sealed::{REPAIR, Sealed};
use crate::streams;
use crate::text::{json, json_object, printable};
use crate::values::in_units;

/// `info`.
pub fn run(args: &InfoArgs) -> Result<()> {
    for_each(args.files.iter().enumerate(), |(at, path)| {
        check_one_of(args.files.len(), Some(path))?;
        let input = Input::open_as("name the files in it", Some(path))?;
        input.begin();
        let sealed = Sealed::read_input(&input, "info", false)?;
        let facts = Facts::new(path, &sealed, input.len);
        let text = match args.json {
            true => facts.to_json(),
            false => format!("{}{}", if at > 0 { "\n" } else { "" }, facts.to_text()),
        };
        streams::print(text).map_err(Failure::of_all_files)?;
        match facts {
            Facts { on_disk: Some(len), layout: None, .. } => Err(Failure::damaged(format!(
                "{}: the file is incomplete, or data follows its end: no file has {len} bytes",
                input.name
            ))
            .hint("fetch it again, or restore a backup; palladion verify says where it ends")),
            _ => match sealed.check_copies(None, &input) {
                Some(problem) => {
                    Err(Failure::damaged(format!("{problem}, and the second intact")).hint(REPAIR))
                }
                None => Ok(()),
            },
        }
    })
}

/// What is known about a file without its key.
struct Facts<'a> {
    path: &'a Path,
    sealed: &'a Sealed<'a>,
    /// The length of the file, unless it comes from a pipe.
    on_disk: Option<u64>,
    /// Where its contents lie, if a file can have that length.
    layout: Option<Layout>,
}

impl<'a> Facts<'a> {
    fn new(path: &'a Path, sealed: &'a Sealed<'a>, on_disk: Option<u64>) -> Self {
        let layout = on_disk.and_then(|len| sealed.layout(len));
        Self { path, sealed, on_disk, layout }
    }

    fn size(&self) -> Option<u64> {
        self.layout.map(|layout| layout.plaintext_len())
    }

    fn chunks(&self) -> Option<u64> {
        self.layout.map(|layout| layout.chunks())
    }

    fn to_text(&self) -> String {
        let sealed = self.sealed;
        let known = |number: Option<u64>| number.map_or("unknown".into(), |n| n.to_string());
        let secrets: Vec<_> = match &sealed.head {
            Some(head) => head.slots().iter().map(text_of_slot).collect(),
            None => sealed.secrets.iter().map(text_of).collect(),
        };
        let slots = match &sealed.head {
            Some(head) => format!("key slots:   {}\n", head.slots().len()),
            None => String::new(),
        };
        let bound = if sealed.is_bound { "bound:       to a place (--bind)\n" } else { "" };
        format!(
            "file:        {}\nversion:     {}\nalgorithm:   {}\nchunk size:  {}\n\
             {slots}secret:      {}\n{bound}size:        {}\nchunks:      {}\non disk:     {}\n\
             verified:    nothing (info uses no key; see palladion verify)\n",
            printable(self.path.as_os_str().as_encoded_bytes()),
            VERSION,
            sealed.algorithm,
            sealed.chunk_size.bytes(),
            secrets.join(", "),
            known(self.size()),
            known(self.chunks()),
            known(self.on_disk),
        )
    }

    fn to_json(&self) -> String {
        let sealed = self.sealed;
        let known = |number: Option<u64>| number.map_or("null".into(), |n| n.to_string());
        let slots = sealed.head.as_ref().map(|head| head.slots().len() as u64);
        json_object(&[
            ("file", &*json(self.path.as_os_str().as_encoded_bytes())),
            ("version", &VERSION.to_string()),
            ("algorithm", &json(sealed.algorithm.name().as_bytes())),
            ("chunk_size", &sealed.chunk_size.bytes().to_string()),
            ("key_slots", &known(slots)),
            (
                "secrets",
                &sealed
                    .head
                    .as_ref()
                    .map_or_else(|| format!("[{}]", json_of(&sealed.secrets[0])), json_of_slots),
            ),
            ("bound", if sealed.is_bound { "true" } else { "false" }),
            ("size", &known(self.size())),
            ("chunks", &known(self.chunks())),
            ("on_disk", &known(self.on_disk)),
            ("verified", "false"),
        ])
    }
}

/// What opens a slot.
pub fn text_of_slot(slot: &Slot) -> String {
    let types = recipient_types(slot);
    match types.is_empty() {
        true => text_of(&slot.kind()),
        false => format!("age ({})", types.join(", ")),
    }
}

/// The types of the recipients of a slot of age.
fn recipient_types(slot: &Slot) -> Vec<&str> {
    let is_age = slot.kind() == SlotKind::Age;
    let types = is_age.then(|| stanza_types(slot.body()).ok());
    types.flatten().unwrap_or_default()
}

/// What opens a file.
fn text_of(secret: &SlotKind) -> String {
    match secret {
        SlotKind::Key => "key".into(),
        SlotKind::Passphrase(kdf) => format!("passphrase ({})", cost(kdf)),
        SlotKind::Age => "age".into(),
        _ => "unknown".into(),
    }
}

/// The slots as a list of objects.
pub fn json_of_slots(head: &Head) -> String {
    let objects = head.slots().iter().map(|slot| match slot.kind() {
        SlotKind::Age => {
            let types = recipient_types(slot);
            let types: Vec<_> = types.iter().map(|kind| json(kind.as_bytes())).collect();
            format!(r#"{{"kind":"age","recipients":[{}]}}"#, types.join(","))
        }
        other => json_of(&other),
    });
    format!("[{}]", objects.collect::<Vec<_>>().join(","))
}

/// What opens a file as an object.
fn json_of(secret: &SlotKind) -> String {
    match secret {
        SlotKind::Passphrase(kdf) => format!(
            r#"{{"kind":"passphrase","kdf":"Argon2id","memory":{},"passes":{},"lanes":{}}}"#,
            u64::from(kdf.memory_kib()) * 1024,
            kdf.passes(),
            kdf.lanes(),
        ),
        other => format!(r#"{{"kind":"{}"}}"#, text_of(other)),
    }
}

/// The cost of a passphrase.
fn cost(kdf: &KdfParams) -> String {
    let memory = in_units(kdf.memory_kib());
    let (number, unit) = memory.split_at(memory.len() - 1);
    let (passes, lanes) = (kdf.passes(), kdf.lanes());
    format!("Argon2id: memory {number} {unit}iB, passes {passes}, lanes {lanes}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs() {
        let cost = |memory, passes, lanes| cost(&KdfParams::new(memory, passes, lanes).unwrap());
        assert_eq!(cost(65536, 3, 4), "Argon2id: memory 64 MiB, passes 3, lanes 4");
        assert_eq!(cost(2 << 20, 1, 1), "Argon2id: memory 2 GiB, passes 1, lanes 1");
        assert_eq!(cost(1025, 1, 1), "Argon2id: memory 1025 KiB, passes 1, lanes 1");
    }
}
