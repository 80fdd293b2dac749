//! What runs: registers, memory, and instructions of both kinds.

use crate::memory::Memory;
use crate::term::Byte;
use crate::value::{Flag, Value};
use crate::{arm, x86};

pub struct Machine<'a, T> {
    /// On 64-bit ARM the last one is the stack pointer.
    pub general: [Value<T>; 32],
    pub vectors: Box<[[T; 64]; 32]>,
    pub masks: [Option<u64>; 8],
    /// Carry, zero, sign, overflow.
    pub flags: [Flag; 4],
    pub ip: u64,
    pub memory: Memory<'a, T>,
    /// The conditions that cases distinguish: whether all of these bytes are zero.
    pub zeros: Vec<Vec<T>>,
    /// The bytes in memory that stand for numbers by cases.
    pub stored: Vec<(T, [u64; 16])>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Cpu {
    X86,
    Arm,
}

#[derive(Clone, Copy)]
pub enum Instruction {
    X86(iced_x86::Instruction),
    Arm(arm::Instruction),
}

use Instruction::{Arm, X86};

impl Instruction {
    pub fn ip(&self) -> u64 {
        match self {
            X86(i) => i.ip(),
            Arm(i) => i.ip,
        }
    }
    pub fn next_ip(&self) -> u64 {
        match self {
            X86(i) => i.next_ip(),
            Arm(i) => i.ip + 4,
        }
    }
    pub fn text(&self) -> String {
        match self {
            X86(i) => x86::text(i),
            Arm(i) => i.text(),
        }
    }
    /// Whether it stands between code that runs.
    pub fn is_padding(&self) -> bool {
        match self {
            X86(i) => x86::is_padding(i),
            Arm(i) => i.is_padding(),
        }
    }
    pub fn run<T: Byte>(&self, machine: &mut Machine<T>) -> Result<(), String> {
        match self {
            X86(i) => machine.step(i),
            Arm(i) => machine.step_arm(i),
        }
    }
}

impl<T: Byte> Machine<'_, T> {
    /// Returns bytes for a value to be stored.
    pub fn storable(&mut self, value: Value<T>) -> Result<[T; 8], String> {
        let Value::Cases(cases) = value else { return value.bytes() };
        let byte = T::condition(self.stored.len()).filter(|_| cases.iter().all(|case| *case < 256));
        let mut bytes = [T::number(0); 8];
        bytes[0] = byte.ok_or("a condition is stored")?;
        self.stored.push((bytes[0], cases));
        Ok(bytes)
    }
    /// Returns the value that bytes stand for.
    pub fn loaded(&self, bytes: &[T]) -> Value<T> {
        let low = bytes.iter().skip(1).all(|byte| byte.known() == Some(0));
        match self.stored.iter().find(|(byte, _)| low && *byte == bytes[0]) {
            Some((_, cases)) => Value::from_cases(*cases),
            None => Value::from_bytes(bytes),
        }
    }
}

impl Cpu {
    pub fn decode(self, code: &[u8], at: u64) -> Vec<Instruction> {
        match self {
            Cpu::X86 => x86::decode(code, at).into_iter().map(X86).collect(),
            Cpu::Arm => arm::decode(code, at).into_iter().map(Arm).collect(),
        }
    }
    /// So many kernels are in the C library, or more.
    pub fn kernels(self) -> usize {
        match self {
            Cpu::X86 => 270,
            Cpu::Arm => 96,
        }
    }
    pub fn arguments(self) -> &'static [usize] {
        match self {
            Cpu::X86 => &[7, 6, 2, 1, 8, 9],
            Cpu::Arm => &[0, 1, 2, 3, 4, 5, 6, 7],
        }
    }
    /// The registers that a function restores.
    pub fn saved(self) -> &'static [usize] {
        match self {
            Cpu::X86 => &[3, 5, 12, 13, 14, 15],
            Cpu::Arm => &[19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29],
        }
    }
    /// Those of which it restores the lower half.
    pub fn saved_vectors(self) -> std::ops::Range<usize> {
        match self {
            Cpu::X86 => 0..0,
            Cpu::Arm => 8..16,
        }
    }
    pub fn stack_pointer(self) -> usize {
        match self {
            Cpu::X86 => x86::RSP,
            Cpu::Arm => arm::SP,
        }
    }
}
