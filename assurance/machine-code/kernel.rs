//! The kernels of a library, found by their names.

use crate::aegis::Family;
use crate::machine::{Cpu, Instruction};
use crate::memory::Image;

/// The sets of features with AES instructions.
const FEATURES: [&str; 6] = ["Sse", "Avx", "Vaes", "Vaes512", "Aes", "AesSha3"];

/// The functions that wipe the stack after kernels: on x86-64 where several groups take turns and
/// after batches of `Vaes`, and on 64-bit ARM. `features!` and tables say so.
const SCRUBS: [&str; 3] = ["zero_stack::<384>", "zero_stack::<128>", "zero_stack::<768>"];

#[derive(Clone)]
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
    places: Vec<u32>,
}

impl Kernel {
    fn new(cpu: Cpu, name: &str, start: u64, code: &[u8]) -> Option<Self> {
        let (features, rest) = name.strip_prefix('<')?.split_once(" as Features>::")?;
        let (operation, rest) = rest.split_once("::<")?;
        let (machine, groups) = match rest.strip_suffix('>')?.rsplit_once(", ") {
            Some((machine, groups)) if groups.parse::<usize>().is_ok() => {
                (machine, groups.parse::<usize>().ok().filter(|groups| *groups > 0))
            }
            _ => (rest.strip_suffix('>')?, Some(1)),
        };
        FEATURES.contains(&features).then_some(())?;
        // The first machine of several keeps the state.
        let first = machine.strip_prefix("Long<").unwrap_or(machine);
        let family = if first.starts_with("Twin256") || first.starts_with("Aegis256") {
            Family::Aegis256
        } else {
            Family::Aegis128
        };
        let register = first.split(['<', ',', '>']).nth(1)?;
        let lanes = match (register[1..].parse::<usize>().ok()?, first.split('<').next()?) {
            (_, "Packed128") => 1,
            (lanes, "Twin256") => 2 * lanes,
            (lanes, "Aegis128" | "Aegis256") => lanes,
            _ => return None,
        };
        let (features, operation) = (features.to_owned(), operation.to_owned());
        let machine = machine.to_owned();
        Some(Self {
            features,
            operation,
            machine,
            family,
            lanes,
            groups,
            ..Self::code(cpu, start, code)
        })
    }

    fn code(cpu: Cpu, start: u64, code: &[u8]) -> Self {
        let mut kernel = Self {
            features: String::new(),
            operation: String::new(),
            machine: String::new(),
            family: Family::Aegis128,
            lanes: 1,
            groups: None,
            start,
            code: Vec::new(),
            places: Vec::new(),
        };
        kernel.set_code(cpu.decode(code, start));
        kernel
    }

    pub fn set_code(&mut self, code: Vec<Instruction>) {
        let len = code.last().map_or(0, |last| (last.next_ip() - self.start) as usize);
        self.places = vec![u32::MAX; len];
        for (n, i) in code.iter().enumerate() {
            self.places[(i.ip() - self.start) as usize] = n as u32;
        }
        self.code = code;
    }

    /// The number of the instruction at an address.
    pub fn find(&self, ip: u64) -> Option<usize> {
        let at = *self.places.get(ip.checked_sub(self.start)? as usize)?;
        (at != u32::MAX).then_some(at as usize)
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

/// The kernels of a library, and after them the functions that wipe the stack after some of them.
pub struct Set {
    pub image: Image,
    pub functions: Vec<Kernel>,
    /// How many of the functions are kernels.
    pub count: usize,
}

impl Set {
    pub fn load(path: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let image = Image::load(path)?;
        let (mut functions, mut scrubs) = (Vec::new(), Vec::new());
        for (name, start, code) in &image.functions {
            let name = shorten(name);
            functions.extend(Kernel::new(image.cpu, &name, *start, code));
            if SCRUBS.contains(&&*name) {
                scrubs.push(Kernel { operation: name, ..Kernel::code(image.cpu, *start, code) });
            }
        }
        functions.sort_by_key(Kernel::name);
        let count = functions.len();
        functions.extend(scrubs);
        Ok(Self { image, functions, count })
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
