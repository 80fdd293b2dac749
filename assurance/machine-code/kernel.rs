//! The kernels of a library, found by their names.

use std::sync::atomic::AtomicBool;

use crate::aegis::Family;
use crate::machine::{Cpu, Instruction};
use crate::memory::Image;

/// The sets of features with AES instructions.
const FEATURES: [&str; 6] = ["Sse", "Avx", "Vaes", "Vaes512", "Aes", "AesSha3"];

/// The functions that wipe the stack after kernels: on x86-64 where several groups take turns and
/// after batches of `Vaes`, and on 64-bit ARM. `features!` and tables say so.
const SCRUBS: [&str; 3] = ["zero_stack::<384>", "zero_stack::<128>", "zero_stack::<768>"];

#[derive(Clone, Default)]
pub struct Kernel {
    pub features: String,
    pub operation: String,
    /// The type of the machine, which names its order and its registers.
    pub machine: String,
    pub family: Family,
    /// Lanes of a group, or messages of a batch.
    pub lanes: usize,
    /// The number of groups, if it is known at compile time.
    pub groups: Option<usize>,
    pub start: u64,
    pub code: Vec<Instruction>,
}

impl Kernel {
    /// Understands `<FEATURES as Features>::OPERATION::<MACHINE, GROUPS>`.
    fn new(cpu: &Cpu, name: &str, start: u64, code: &[u8]) -> Option<Self> {
        let (features, rest) = name.strip_prefix('<')?.split_once(" as Features>::")?;
        let (operation, rest) = rest.split_once("::<")?;
        let arguments = rest.strip_suffix('>')?;
        let with_groups = arguments
            .rsplit_once(", ")
            .and_then(|(machine, groups)| Some((machine, groups.parse::<usize>().ok()?)));
        let (machine, groups) = with_groups.unwrap_or((arguments, 1));
        FEATURES.contains(&features).then_some(())?;
        // The first machine of several keeps the state.
        let mut words = machine.strip_prefix("Long<").unwrap_or(machine).split(['<', ',', '>']);
        let (layout, register) = (words.next()?, words.next()?);
        let lanes: usize = register[1..].parse().ok()?;
        let (family, lanes) = match layout {
            "Aegis128" => (Family::Aegis128, lanes),
            "Packed128" => (Family::Aegis128, 1),
            "Aegis256" => (Family::Aegis256, lanes),
            "Twin256" => (Family::Aegis256, 2 * lanes),
            _ => return None,
        };
        Some(Self {
            features: features.to_owned(),
            operation: operation.to_owned(),
            machine: machine.to_owned(),
            family,
            lanes,
            groups: Some(groups).filter(|groups| *groups > 0),
            start,
            code: cpu.decode_all(code, start),
        })
    }

    pub fn name(&self) -> String {
        let groups = self.groups.map_or("any".into(), |groups| groups.to_string());
        format!("{} {} {}, {groups}", self.features, self.operation, self.machine)
    }

    /// What wipes the stack after the kernel, if anything does.
    pub fn scrub(&self) -> Option<&'static str> {
        match (&*self.features, self.operation.ends_with("batch")) {
            ("Aes" | "AesSha3", _) => Some(SCRUBS[2]),
            ("Vaes", true) => Some(SCRUBS[1]),
            _ => (self.groups != Some(1)).then_some(SCRUBS[0]),
        }
    }

    /// The machine without the order of its instructions, which does not change the state.
    fn layout(&self) -> (&str, Option<&str>, Option<usize>) {
        let mut words = self.machine.split(['<', ',', '>']);
        (words.next().unwrap_or(""), words.next(), self.groups)
    }

    /// The degrees to try.
    pub fn degrees(&self) -> Vec<usize> {
        match self.groups {
            _ if self.operation.ends_with("batch") => vec![1],
            Some(groups) => vec![groups * self.lanes],
            None => (1..5).map(|groups| groups * self.lanes).collect(),
        }
    }
}

/// The kernels of a library, and after them the functions that kernels call and those that wipe the
/// stack after some of them.
pub struct Set {
    pub image: Image,
    pub functions: Vec<Kernel>,
    /// How many of the functions are kernels.
    count: usize,
    /// Which instructions of each function ran.
    pub ran: Vec<Vec<AtomicBool>>,
}

impl Set {
    pub fn load(path: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let image = Image::load(path)?;
        let (mut functions, mut scrubs) = (Vec::new(), Vec::new());
        for (name, start, code) in &image.functions {
            let name = shorten(name);
            functions.extend(Kernel::new(image.cpu, &name, *start, code));
            if SCRUBS.contains(&&*name) || name == "black_box::<u8>" {
                let (start, code) = (*start, image.cpu.decode_all(code, *start));
                scrubs.push(Kernel { operation: name, start, code, ..Kernel::default() });
            }
        }
        functions.sort_by_key(Kernel::name);
        let count = functions.len();
        functions.extend(scrubs);
        let none =
            |function: &Kernel| function.code.iter().map(|_| AtomicBool::new(false)).collect();
        let ran = functions.iter().map(none).collect();
        Ok(Self { image, functions, count, ran })
    }

    pub fn kernels(&self) -> &[Kernel] {
        &self.functions[..self.count]
    }

    /// Another kernel for the same state.
    pub fn related(&self, kernel: &Kernel, operation: &str) -> Option<usize> {
        self.functions.iter().position(|other| {
            other.operation == operation
                && other.features == kernel.features
                && other.layout() == kernel.layout()
        })
    }

    /// The function that wipes the stack.
    pub fn scrub(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|function| function.operation == name)
    }
}

/// Removes the paths of modules from a name.
fn shorten(name: &str) -> String {
    let mut short = String::new();
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (word, after) = rest.split_at(end.max(c.len_utf8()));
        if after.strip_prefix("::").is_some_and(|next| !next.starts_with(['<', '{'])) && end > 0 {
            rest = &after[2..];
        } else {
            short += word;
            rest = after;
        }
    }
    short
}
