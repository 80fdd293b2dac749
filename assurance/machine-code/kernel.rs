//! The kernels of a library, found by their names.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use palladion_reference::{Aegis, Family};

use crate::machine::{Cpu, Instruction};
use crate::memory::Image;
use crate::term::Place;

/// The tables of kernels in programs in Go: `kernels128L` and so on.
const TABLES: [(&str, Family, usize); 6] = [
    ("128L", Family::Aegis128, 1),
    ("128X2", Family::Aegis128, 2),
    ("128X4", Family::Aegis128, 4),
    ("256", Family::Aegis256, 1),
    ("256X2", Family::Aegis256, 2),
    ("256X4", Family::Aegis256, 4),
];
/// The functions in a row of a table, where they begin in it, and its size.
const ROW: [&str; 5] = ["seal", "open", "init", "advance", "finalize"];
const FUNCTIONS: u64 = 32;
const ROW_SIZE: u64 = 72;

/// The functions that wipe the stack after kernels: on x86-64 where several groups take turns and
/// after batches of `Vaes`, and on 64-bit ARM. `features!` and tables say so. Then one that kernels
/// call.
const HELPERS: [&str; 4] =
    ["zero_stack::<384>", "zero_stack::<128>", "zero_stack::<768>", "black_box::<u8>"];

/// A kernel or, without features, another function.
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
    /// Where Go's kernel is that makes the state for this one. Without one it is the standard's.
    pub init: Option<u64>,
    pub start: u64,
    pub code: Vec<Instruction>,
}

impl Kernel {
    /// Understands `<FEATURES as Features>::OPERATION::<MACHINE, GROUPS>`.
    fn new(cpu: &Cpu, name: &str, start: u64, code: &[u8]) -> Option<Self> {
        // In WebAssembly kernels may call any other function.
        let helper = HELPERS.contains(&name) || cpu.wasm && !name.contains(" as Features>::");
        let (features, operation, arguments) = if helper {
            ("", name, "")
        } else {
            let (features, rest) = name.strip_prefix('<')?.split_once(" as Features>::")?;
            let (operation, arguments) = rest.split_once("::<")?;
            cpu.features.contains(&features).then_some(())?;
            (features, operation, arguments.strip_suffix('>')?)
        };
        let with_groups = arguments
            .rsplit_once(", ")
            .and_then(|(machine, groups)| Some((machine, groups.parse::<usize>().ok()?)));
        let (machine, groups) = with_groups.unwrap_or((arguments, 1));
        // The first machine of several keeps the state.
        let mut words = machine.strip_prefix("Long<").unwrap_or(machine).split(['<', ',', '>']);
        let (layout, register) = (words.next()?, words.next().unwrap_or("X0"));
        let numbers: Vec<usize> = words.filter_map(|number| number.trim().parse().ok()).collect();
        let of_blocks = |blocks| if blocks == 2 { Family::Aegis128 } else { Family::Aegis256 };
        let lanes = register.get(1..).unwrap_or_default().parse().unwrap_or(1);
        let (family, lanes) = match layout {
            "InMemory" => (of_blocks(numbers[0] / 4), 1),
            "Bitsliced" => (of_blocks(numbers[1]), numbers[0] / 2),
            "BytePlanes" => (of_blocks(numbers[2]), numbers[0]),
            "Aegis128" | "" => (Family::Aegis128, lanes),
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
            init: None,
            start,
            code: cpu.decode_all(code, start),
        })
    }

    pub fn name(&self) -> String {
        let groups = self.groups.map_or("any".into(), |groups| groups.to_string());
        format!("{} {} {}, {groups}", self.features, self.operation, self.machine)
    }

    pub fn aegis(&self, degree: usize) -> Aegis {
        Aegis { family: self.family, degree }
    }

    /// What wipes the stack after the kernel, if anything does.
    pub fn scrub(&self) -> Option<&'static str> {
        match (&*self.features, self.operation.ends_with("batch")) {
            ("Go", _) => None, // they do so themselves
            ("Aes" | "AesSha3", _) => Some(HELPERS[2]),
            ("Vaes", true) => Some(HELPERS[1]),
            _ => (self.groups != Some(1)).then_some(HELPERS[0]),
        }
    }

    /// The machine without the order of its instructions, which does not change the state.
    fn layout(&self) -> (&str, Option<&str>, Option<usize>) {
        let mut words = self.machine.split(['<', ',', '>']);
        match self.machine.split_once('<') {
            Some(("InMemory" | "Bitsliced" | "BytePlanes", _)) => {
                (&*self.machine, None, self.groups)
            }
            _ => (words.next().unwrap_or(""), words.next(), self.groups),
        }
    }

    /// The degrees to try.
    pub fn degrees(&self) -> Vec<usize> {
        match self.groups {
            _ if self.operation.ends_with("batch") => vec![1],
            Some(groups) => vec![groups * self.lanes],
            // Several of WebAssembly's take long.
            None if self.lanes == 4 => vec![4, 8],
            None => (1..5).map(|groups| groups * self.lanes).collect(),
        }
    }
}

pub type Places = Arc<Vec<Place>>;

/// The kernels of a library, and after them the functions that kernels call and those that wipe the
/// stack after some of them.
pub struct Set {
    pub image: Image,
    pub functions: Vec<Kernel>,
    /// How many of the functions are kernels.
    count: usize,
    /// The functions by their addresses.
    pub numbers: HashMap<u64, usize>,
    /// Which instructions of each function ran.
    pub ran: Vec<Vec<AtomicBool>>,
    /// Where the words of states are, by the number of `init` and the degree.
    pub places: Mutex<HashMap<(usize, usize), Places>>,
}

impl Set {
    pub fn load(path: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let image = Image::load(path)?;
        let mut functions = if image.cpu.go { go_kernels(&image)? } else { kernels(&image) };
        functions.sort_by_key(|function| (function.features.is_empty(), function.name()));
        let count = functions.iter().filter(|function| !function.features.is_empty()).count();
        let none =
            |function: &Kernel| function.code.iter().map(|_| AtomicBool::new(false)).collect();
        let ran = functions.iter().map(none).collect();
        let numbers =
            functions.iter().enumerate().map(|(n, function)| (function.start, n)).collect();
        Ok(Self { image, functions, count, numbers, ran, places: Mutex::default() })
    }

    pub fn kernels(&self) -> &[Kernel] {
        &self.functions[..self.count]
    }

    /// The kernel that makes states for this one.
    pub fn related(&self, kernel: &Kernel) -> Option<usize> {
        self.functions.iter().position(|other| {
            other.operation == "init"
                && other.features == kernel.features
                && match kernel.init {
                    Some(start) => other.start == start,
                    None => other.layout() == kernel.layout(),
                }
        })
    }

    /// The function that wipes the stack.
    pub fn scrub(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|function| function.operation == name)
    }
}

fn kernels(image: &Image) -> Vec<Kernel> {
    let functions = image.functions.iter();
    functions
        .filter_map(|(name, start, code)| Kernel::new(image.cpu, &shorten(name), *start, code))
        .collect()
}

/// Returns the kernels in the tables of a program in Go.
fn go_kernels(image: &Image) -> Result<Vec<Kernel>, String> {
    let mut rows = Vec::new();
    for (variant, family, lanes) in TABLES {
        let table = symbol(image, &format!("kernels{variant}"))?;
        let (start, count) = (image.word(table), image.word(table + 8));
        let (start, count) = start.zip(count).ok_or("no rows")?;
        rows.extend((0..count).map(|n| (start + ROW_SIZE * n, family, lanes, true)));
    }
    rows.push((symbol(image, "lane128")?, Family::Aegis128, 1, false));
    rows.push((symbol(image, "lane256")?, Family::Aegis256, 1, false));
    let mut kernels: Vec<Kernel> = Vec::new();
    for (row, family, lanes, has_init) in rows {
        let functions: Vec<_> = (0..5).map(|n| function(image, row + FUNCTIONS + 8 * n)).collect();
        let init = has_init.then(|| functions[2].map_or(0, |(_, start, _)| *start));
        for (operation, found) in ROW.iter().zip(&functions) {
            let Some((name, start, code)) = found else { continue };
            let init = init.filter(|_| !matches!(*operation, "seal" | "open"));
            let known = |other: &&mut Kernel| (other.start, other.init) == (*start, init);
            if let Some(other) = kernels.iter_mut().find(known) {
                if other.lanes != lanes {
                    (other.lanes, other.groups) = (1, None); // for any degree
                }
                continue;
            }
            let name = name.trim_end_matches(".abi0").rsplit('.').next().unwrap_or("");
            kernels.push(Kernel {
                features: "Go".into(),
                operation: (*operation).into(),
                machine: name.into(),
                family,
                lanes,
                groups: Some(1),
                init,
                start: *start,
                code: image.cpu.decode_all(code, *start),
            });
        }
    }
    Ok(kernels)
}

fn symbol(image: &Image, name: &str) -> Result<u64, String> {
    image.symbols.get(name).copied().ok_or(format!("no {name}"))
}

/// The assembly behind the pointer to a function of Go.
fn function(image: &Image, at: u64) -> Option<&(String, u64, Vec<u8>)> {
    let start = image.word(image.word(at).filter(|closure| *closure != 0)?)?;
    let (name, ..) = image.functions.iter().find(|function| function.1 == start)?;
    let name = format!("{name}.abi0");
    image.functions.iter().find(|function| function.0 == name)
}

/// Removes the paths of modules from a name.
fn shorten(name: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let last = |part: &str| {
        let path = part.trim_end_matches(|c| !is_word(c));
        let start =
            if path.starts_with("::") { 0 } else { path.rfind("::").map_or(0, |at| at + 2) };
        part[start..].to_owned()
    };
    name.split_inclusive(|c| !is_word(c) && c != ':').map(last).collect()
}
