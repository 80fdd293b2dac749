//! Runs kernels on the CPU of a library, as its ABI says.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use palladion_reference::Byte;

use crate::kernel::{Kernel, Set};
use crate::machine::Machine;
use crate::memory::{Memory, Region};
use crate::prove::{Call, Messages, Target, numbers, symbols};
use crate::term::{Symbol, Term};
use crate::value::{CASES, Value};
use crate::{arm, x86};

/// Where the stack of a kernel ends, and where it returns to.
const STACK: u64 = 0x7000_0000;
const STACK_LEN: usize = 6 << 10;
const RETURN: u64 = 0x6000_0000;
/// Where Go says that the stack ends, and how far from its end functions have to ask for more.
const GOROUTINE: u64 = 0x5100_0000;
const STACK_GUARD: u64 = 928;

pub struct Native<'a> {
    set: &'a Set,
    /// A kernel in place of another.
    planted: Option<(usize, &'a Kernel)>,
    machine: Machine<'a>,
    /// What the caller had in registers.
    callers: HashSet<Term>,
}

impl<'a> Target<'a> for Native<'a> {
    type Byte = Term;
    const WORD: usize = 8;

    fn new(set: &'a Set, call: &Call, planted: Option<(usize, &'a Kernel)>) -> Self {
        let cpu = set.image.cpu;
        let alignment = if cpu.go && cpu.link.is_none() { 8 } else { 16 };
        let stack = Region {
            name: "the stack",
            // Some place between two lines of the cache, as the ABI allows.
            start: STACK - STACK_LEN as u64 - alignment * (call.len as u64 % 4),
            bytes: symbols(b's', STACK_LEN),
            writable: true,
        };
        let guard = [0, 0, stack.start + STACK_GUARD];
        let vector = |n| std::array::from_fn(|at| Term::symbol(b'v', 64 * n + at));
        let general = |n| std::array::from_fn(|at| Term::symbol(b'g', 8 * n + at));
        let mut general: [[Term; 8]; 40] = std::array::from_fn(general);
        if cpu.go && cpu.link.is_some() {
            general[arm::GOROUTINE] = GOROUTINE.to_le_bytes().map(Term::number);
        }
        let vectors: [[Term; 64]; 32] = std::array::from_fn(vector);
        let callers = [general.as_flattened(), vectors[8..16].as_flattened()].concat();
        let memory = Memory { image: Some(&set.image), regions: vec![stack] };
        let general = general.map(|bytes| Value::from_bytes(&bytes));
        let mut native = Self {
            set,
            planted,
            machine: Machine::new(general, vectors, memory),
            callers: callers.into_iter().collect(),
        };
        if cpu.go {
            let regions = [
                ("the argument", 0, Vec::new()),
                ("the thread", x86::THREAD - 8, numbers(&[GOROUTINE], 8)),
                ("the goroutine", GOROUTINE, numbers(&guard, 8)),
            ];
            for (name, start, bytes) in regions {
                native.machine.memory.regions.push(Region { name, start, bytes, writable: false });
            }
        }
        native
    }

    fn set(&self) -> &'a Set {
        self.set
    }

    fn memory(&mut self) -> &mut Memory<'a, Term> {
        &mut self.machine.memory
    }

    fn call(&mut self, function: usize, arguments: &[u64]) -> Result<(), String> {
        let cpu = self.set.image.cpu;
        let end = self.machine.memory.regions[0].start + STACK_LEN as u64;
        self.machine.general[cpu.stack_pointer] = Value::Number(end);
        if cpu.go {
            // Behind the address to return to, or the place for that of the caller. The result
            // follows.
            let result = usize::from(self.set.functions[function].operation == "open");
            self.machine.memory.regions[1] = Region {
                name: "the argument",
                start: if cpu.link.is_some() { end + 8 } else { end },
                bytes: [numbers(arguments, 8), symbols(b'r', result)].concat(),
                writable: true,
            };
            if cpu.link.is_some() {
                self.machine.general[arm::FRAME] = Value::Number(end - 8);
            }
        } else {
            for (&register, &argument) in cpu.arguments.iter().zip(arguments) {
                self.machine.general[register] = Value::Number(argument);
            }
        }
        let (before, vectors) = (self.machine.general, self.machine.vectors.clone());
        match cpu.link {
            Some(link) => self.machine.general[link] = Value::Number(RETURN),
            None => self.machine.push(Value::Number(RETURN))?,
        }
        self.run(function)?;
        for &register in cpu.saved.iter().chain([&cpu.stack_pointer]) {
            if self.machine.general[register] != before[register] {
                return Err(format!("does not restore register {register}"));
            }
        }
        for register in cpu.saved_vectors.clone() {
            if self.machine.vectors[register][..8] != vectors[register][..8] {
                return Err(format!("does not restore vector {register}"));
            }
        }
        Ok(())
    }

    fn check_verdict(&mut self, kernel: &Kernel, messages: &Messages<Term>) -> Result<(), String> {
        // The messages whose tags are wrong, by cases.
        let mut wrong = [0; 16];
        if kernel.operation.starts_with("open") {
            for (i, (_, expected)) in messages.iter().enumerate() {
                let right = self.condition(&expected.given, &expected.tag)?;
                for (n, wrong) in wrong.iter_mut().enumerate() {
                    *wrong |= u64::from(!right >> n & 1) << i;
                }
            }
        }
        let batch = kernel.operation.ends_with("batch");
        let (size, verdict) = if batch { (4, wrong) } else { (1, wrong.map(|wrong| 1 - wrong)) };
        let result = match (self.set.image.cpu.go, &*kernel.operation) {
            (true, "open") => self.machine.load(self.machine.memory.regions[1].start + 8, size)?,
            (true, _) => Value::from_cases(verdict), // there is none
            (false, _) => self.machine.low(0, size),
        };
        if result != Value::from_cases(verdict) {
            return Err("returns something else than which tags are right".into());
        }
        Ok(())
    }

    fn check_stack(&mut self, kernel: &Kernel) -> Result<(), String> {
        if let Some(scrub) = kernel.scrub() {
            // The driver calls it from the same frame.
            self.call(self.set.scrub(scrub).ok_or(format!("no {scrub}"))?, &[])?;
        }
        let stack = &self.machine.memory.regions[0].bytes;
        for (at, byte) in stack.iter().enumerate() {
            let untouched = *byte == Term::symbol(b's', at);
            // What a caller had in registers, verdicts, and the context words of `init`.
            let public = || {
                self.callers.contains(byte)
                    || self.machine.stored.iter().any(|(verdict, _)| verdict == byte)
                    || (0..16).any(|n| *byte == Term::symbol(b'c', n))
            };
            if byte.known().is_none() && !untouched && !public() {
                return Err(format!("leaves a secret {} bytes below", stack.len() - at));
            }
        }
        Ok(())
    }
}

impl Native<'_> {
    /// Runs instructions until the function returns.
    fn run(&mut self, function: usize) -> Result<(), String> {
        let planted = self.planted.filter(|(number, _)| *number == function);
        let kernel = planted.map_or(&self.set.functions[function], |(_, kernel)| kernel);
        self.machine.ip = kernel.start;
        for _ in 0..1 << 22 {
            if self.machine.ip == RETURN {
                return Ok(());
            }
            let Ok(at) = kernel.code.binary_search_by_key(&self.machine.ip, |i| i.ip) else {
                self.outside()?;
                continue;
            };
            if planted.is_none() {
                self.set.ran[function][at].store(true, Ordering::Relaxed);
            }
            let i = &kernel.code[at];
            let place = |error| format!("{:#x} {}: {error}", i.ip, i.text());
            i.run(&mut self.machine).map_err(place)?;
        }
        Err("does not end".into())
    }

    /// Code outside of kernels: a function of the C library, or a step on the way to it.
    fn outside(&mut self) -> Result<(), String> {
        let (image, machine) = (&self.set.image, &mut self.machine);
        let Some(name) = image.outside(machine.ip) else {
            let i = image.instruction(machine.ip).ok_or(format!("runs {:#x}", machine.ip))?;
            return i.run(machine).map_err(|error| format!("{}: {error}", i.text()));
        };
        let argument = |n: usize| machine.general[image.cpu.arguments[n]].number("an argument");
        let (to, from, len) = (argument(0)?, argument(1)?, argument(2)?);
        let mut bytes = vec![Term::number(from as u8); len as usize];
        match name {
            "memset" => {}
            _ if len == 0 => {}
            "memcpy" | "memmove" => machine.memory.load(from, &mut bytes)?,
            name => return Err(format!("calls {name}")),
        }
        if len > 0 {
            machine.memory.store(to, &bytes)?;
        }
        // It returns, and leaves something in all registers that it may change.
        let back = match image.cpu.link {
            Some(link) => machine.general[link],
            None => machine.pop()?,
        };
        for n in (0..40).filter(|n| !image.cpu.saved.contains(n)) {
            if n != image.cpu.stack_pointer {
                let unknown = |at| Term::symbol(b'u', 8 * n + at);
                machine.general[n] = Value::Bytes(std::array::from_fn(unknown));
            }
        }
        for n in 0..32 {
            let kept = if image.cpu.saved_vectors.contains(&n) { 8 } else { 0 };
            for at in kept..64 {
                machine.vectors[n][at] = Term::symbol(b'U', 64 * n + at);
            }
        }
        machine.flags = [None; 4];
        machine.ip = back.number("a return address")?;
        Ok(())
    }

    /// Which of the conditions says that a tag is right: that something is zero, in one of the
    /// ways in which kernels compute it.
    fn condition(&self, tag: &[Term], expected: &[Term]) -> Result<u16, String> {
        let differences: Vec<Term> = tag.iter().zip(expected).map(|(a, b)| a.xor(*b)).collect();
        let mut plain = differences[..16].to_vec();
        for (byte, other) in plain.iter_mut().zip(&differences[16..]) {
            *byte = byte.or(*other);
        }
        let equal: Vec<Term> = plain.iter().map(|byte| byte.is_zero()).collect();
        let signs = Term::signs(equal.try_into().expect("16 bytes"));
        let halves = (0..8).map(|at| plain[at].or(plain[at + 8])).collect();
        let ways: [Vec<Term>; 3] = [plain, signs.map(Term::not).to_vec(), halves];
        let found = self.machine.zeros.iter().position(|zeros| ways.contains(zeros));
        found.map(|at| CASES[at]).ok_or("does not compare the tag".into())
    }
}
