//! Memory that a kernel may use, byte by byte.

use std::collections::HashMap;
use std::ops::Range;

use object::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget};

use crate::machine::{Cpu, Instruction};
use crate::term::Symbol;
use crate::wasm::Signature;
use crate::{arm, wasm, x86};

/// Where functions of the C library are said to be.
const OUTSIDE: u64 = 0x7fff_0000_0000;

/// A library as the loader maps it.
pub struct Image {
    pub cpu: &'static Cpu,
    pub parts: Vec<(u64, Vec<u8>)>,
    /// What changes at run time, as it is at the start.
    variables: Vec<(u64, Vec<u8>)>,
    /// Functions: name, address, code.
    pub functions: Vec<(String, u64, Vec<u8>)>,
    /// The addresses of Go's variables, by their names without paths.
    pub symbols: HashMap<String, u64>,
    outside: HashMap<u64, String>,
    /// Those of WebAssembly's functions.
    pub signatures: Vec<Signature>,
}

impl Image {
    pub fn new(cpu: &'static Cpu) -> Self {
        Self {
            cpu,
            parts: Vec::new(),
            variables: Vec::new(),
            functions: Vec::new(),
            symbols: HashMap::new(),
            outside: HashMap::new(),
            signatures: Vec::new(),
        }
    }

    pub fn load(path: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let data = std::fs::read(path)?;
        if data.starts_with(b"\0asm") {
            return wasm::load(&data);
        }
        let file = object::File::parse(&*data)?;
        let go = file.section_by_name(".gopclntab").is_some();
        let cpu = match file.architecture() {
            object::Architecture::X86_64 if go => &x86::GO,
            object::Architecture::X86_64 => &x86::CPU,
            object::Architecture::Aarch64 if go => &arm::GO,
            object::Architecture::Aarch64 => &arm::CPU,
            other => return Err(format!("{other:?} is unknown").into()),
        };
        let mut image = Self::new(cpu);
        for section in file.sections() {
            // What no kernel may read changes at run time.
            let variable = [".data", ".bss", ".tbss", ".tdata", ".noptrdata", ".noptrbss"];
            let part = (section.address(), section.data()?.to_vec());
            if variable.contains(&section.name()?) {
                image.variables.push(part);
            } else if part.0 != 0 {
                image.parts.push(part);
            }
        }
        for (at, relocation) in file.dynamic_relocations().into_iter().flatten() {
            let mut value = relocation.addend() as u64;
            if let RelocationTarget::Symbol(index) = relocation.target() {
                let symbols = file.dynamic_symbol_table().ok_or("no dynamic symbols")?;
                let symbol = symbols.symbol_by_index(index)?;
                value = symbol.address();
                if value == 0 {
                    value = OUTSIDE + 16 * index.0 as u64;
                    image.outside.insert(value, symbol.name()?.to_owned());
                }
            }
            for (start, bytes) in &mut image.parts {
                if let Some(place) =
                    at.checked_sub(*start).and_then(|at| bytes.get_mut(at as usize..)?.get_mut(..8))
                {
                    place.copy_from_slice(&value.to_le_bytes());
                }
            }
        }
        for symbol in file.symbols() {
            let name = format!("{:#}", rustc_demangle::demangle(symbol.name()?));
            if let Some(code) = image.bytes(symbol.address(), symbol.size() as usize)
                && symbol.kind() == object::SymbolKind::Text
            {
                image.functions.push((name, symbol.address(), code.to_vec()));
            } else if go && let Some((_, name)) = name.rsplit_once('.') {
                image.symbols.insert(name.to_owned(), symbol.address());
            }
        }
        Ok(image)
    }

    fn bytes(&self, at: u64, len: usize) -> Option<&[u8]> {
        find(&self.parts, at, len)
    }

    /// A word, which may be in a variable.
    pub fn word(&self, at: u64) -> Option<u64> {
        let bytes = find(&self.variables, at, 8).or_else(|| self.bytes(at, 8))?;
        Some(u64::from_le_bytes(bytes.try_into().expect("8 bytes")))
    }

    /// An instruction outside of kernels, such as those on the way to the C library.
    pub fn instruction(&self, at: u64) -> Option<Instruction> {
        self.cpu.decode(self.bytes(at, 16)?, at)
    }

    /// The name of a function of the C library.
    pub fn outside(&self, at: u64) -> Option<&str> {
        self.outside.get(&at).map(String::as_str)
    }
}

fn find(parts: &[(u64, Vec<u8>)], at: u64, len: usize) -> Option<&[u8]> {
    parts
        .iter()
        .find_map(|(start, bytes)| bytes.get(at.checked_sub(*start)? as usize..)?.get(..len))
}

pub struct Region<T> {
    pub name: &'static str,
    pub start: u64,
    pub bytes: Vec<T>,
    pub writable: bool,
}

pub struct Memory<'a, T> {
    pub image: Option<&'a Image>,
    pub regions: Vec<Region<T>>,
}

impl<T: Symbol> Memory<'_, T> {
    /// The region of these bytes, and where they are in it.
    fn find(&self, at: u64, len: usize) -> Option<(usize, Range<usize>)> {
        self.regions.iter().enumerate().find_map(|(n, region)| {
            let start = at.wrapping_sub(region.start) as usize;
            region.bytes.get(start..)?.get(..len).map(|_| (n, start..start + len))
        })
    }

    pub fn load(&self, at: u64, to: &mut [T]) -> Result<(), String> {
        if let Some((n, range)) = self.find(at, to.len()) {
            to.copy_from_slice(&self.regions[n].bytes[range]);
            return Ok(());
        }
        let constants = self.image.and_then(|image| image.bytes(at, to.len()));
        let from =
            constants.ok_or_else(|| format!("reads {} bytes at {}", to.len(), self.place(at)))?;
        to.iter_mut().zip(from).for_each(|(to, from)| *to = T::constant(*from));
        Ok(())
    }

    pub fn store(&mut self, at: u64, from: &[T]) -> Result<(), String> {
        match self.find(at, from.len()) {
            Some((n, range)) if self.regions[n].writable => {
                self.regions[n].bytes[range].copy_from_slice(from);
                Ok(())
            }
            _ => Err(format!("writes {} bytes at {}", from.len(), self.place(at))),
        }
    }

    /// Says where this is, for a message.
    fn place(&self, at: u64) -> String {
        let offset = |region: &&Region<T>| at.wrapping_sub(region.start) as i64;
        let nearest = self.regions.iter().min_by_key(|region| offset(region).unsigned_abs());
        nearest.map_or(format!("{at:#x}"), |region| {
            format!("{} + {}, of {}", region.name, offset(&region), region.bytes.len())
        })
    }
}
