//! What runs: registers, memory, and instructions of both kinds.

use crate::memory::Memory;
use crate::term::Byte;
use crate::value::{Flag, Operation, Value, all_zero};
use crate::{arm, x86};

pub type Result<T, E = String> = std::result::Result<T, E>;

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

impl<'a, T: Byte> Machine<'a, T> {
    pub fn new(general: [Value<T>; 32], vectors: [[T; 64]; 32], memory: Memory<'a, T>) -> Self {
        Self {
            general,
            vectors: Box::new(vectors),
            masks: [None; 8],
            flags: [None; 4],
            ip: 0,
            memory,
            zeros: Vec::new(),
            stored: Vec::new(),
        }
    }

    /// Stores the lowest bytes of a value.
    pub fn store(&mut self, at: u64, value: Value<T>, size: usize) -> Result<()> {
        let bytes = match value {
            Value::Cases(cases) => {
                let fits = cases.iter().all(|case| *case < 256);
                let byte = T::condition(self.stored.len()).filter(|_| fits);
                let mut bytes = [T::number(0); 8];
                bytes[0] = byte.ok_or("a condition is stored")?;
                self.stored.push((bytes[0], cases));
                bytes
            }
            _ => value.bytes()?,
        };
        self.memory.store(at, &bytes[..size])
    }

    /// Returns the value that bytes in memory stand for.
    pub fn load(&self, at: u64, size: usize) -> Result<Value<T>> {
        let mut bytes = [T::number(0); 8];
        self.memory.load(at, &mut bytes[..size])?;
        let low = bytes[1..].iter().all(|byte| byte.known() == Some(0));
        Ok(match self.stored.iter().find(|(byte, _)| low && *byte == bytes[0]) {
            Some((_, cases)) => Value::from_cases(*cases),
            None => Value::from_bytes(&bytes),
        })
    }

    /// Computes with the lowest bytes of numbers, and with all of secret bytes where that is
    /// possible. Returns the result and the new flags.
    pub fn arithmetic(
        &mut self,
        operation: Operation,
        size: usize,
        [a, b]: [Value<T>; 2],
        carry: u64,
    ) -> Result<(Value<T>, [Flag; 4])> {
        let (mut results, mut flags) = ([0; 16], [0; 4]);
        for (case, to) in results.iter_mut().enumerate() {
            let (Some(a), Some(b)) = (a.case(case), b.case(case)) else {
                return self.secret_arithmetic(operation, size, a, b);
            };
            let (result, carry, overflow) = operation.compute(size, a, b, carry);
            *to = result;
            let sign = result >> (8 * size - 1) & 1 == 1;
            for (flag, set) in flags.iter_mut().zip([carry, result == 0, sign, overflow]) {
                *flag |= u16::from(set) << case;
            }
        }
        Ok((Value::from_cases(results), flags.map(Some)))
    }

    fn secret_arithmetic(
        &mut self,
        operation: Operation,
        size: usize,
        a: Value<T>,
        b: Value<T>,
    ) -> Result<(Value<T>, [Flag; 4])> {
        let mut is_zero = None;
        let result = match (operation, a, b) {
            (Operation::Subtract | Operation::Xor, Value::Signs(bytes), Value::Number(0xffff)) => {
                let top = T::number(0x80);
                let zeros = bytes.map(|byte| byte.and(top).xor(top));
                is_zero = all_zero(&mut self.zeros, &zeros);
                Value::Signs(bytes.map(T::not))
            }
            (Operation::Subtract, Value::Bytes(bytes), Value::Number(0)) => {
                is_zero = all_zero(&mut self.zeros, &bytes[..size]);
                a
            }
            (Operation::Xor, ..) => a.bytewise(b, T::xor)?,
            (Operation::And, ..) => a.bytewise(b, T::and)?,
            (Operation::Or, ..) => a.bytewise(b, T::or)?,
            (Operation::ShiftLeft, _, Value::Number(by)) => a.shift(by as i64)?,
            (Operation::ShiftRight, _, Value::Number(by)) => a.shift(-(by as i64))?,
            _ => return Err("unknown: arithmetic with secrets".into()),
        };
        Ok((result, [None, is_zero, None, None]))
    }
}

/// Says whether a condition holds, which has to be known.
pub fn decide(condition: Flag) -> Result<bool> {
    match condition {
        Some(0) => Ok(false),
        Some(0xffff) => Ok(true),
        _ => Err("the decision depends on a secret".into()),
    }
}

#[derive(Clone, Copy)]
pub struct Instruction {
    pub ip: u64,
    pub len: usize,
    /// Its code, and behind it instructions that do nothing.
    pub code: [u8; 16],
    pub decoded: Decoded,
}

#[derive(Clone, Copy)]
pub enum Decoded {
    X86(iced_x86::Instruction),
    Arm(yaxpeax_arm::armv8::a64::Instruction),
    Unknown,
}

use Decoded::{Arm, Unknown, X86};

/// How an operand in memory is found.
#[derive(Default)]
pub struct Address {
    pub base: Option<usize>,
    pub offset: i64,
    pub index: Option<usize>,
}

impl Instruction {
    pub fn next_ip(&self) -> u64 {
        self.ip + self.len as u64
    }
    pub fn text(&self) -> String {
        match &self.decoded {
            X86(i) => x86::text(i),
            Arm(i) => i.to_string(),
            Unknown => "?".into(),
        }
    }
    /// Whether it stands between code that runs.
    pub fn is_padding(&self) -> bool {
        match &self.decoded {
            X86(i) => x86::is_padding(i),
            Arm(i) => arm::is_padding(i),
            Unknown => true,
        }
    }
    /// Returns what distinguishes its form from others; nothing for jumps.
    pub fn form(&self) -> Option<String> {
        match &self.decoded {
            X86(i) => x86::form(i),
            Arm(i) => arm::form(i),
            Unknown => None,
        }
    }
    pub fn address(&self) -> Address {
        match &self.decoded {
            X86(i) => x86::address(i),
            Arm(i) => arm::address(i),
            Unknown => Address::default(),
        }
    }
    pub fn run<T: Byte>(&self, machine: &mut Machine<T>) -> Result<()> {
        machine.ip = self.next_ip();
        match &self.decoded {
            X86(i) => machine.step_x86(i),
            Arm(i) => machine.step_arm(self.ip, i),
            Unknown => Err("unknown".into()),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
pub enum Cpu {
    X86,
    Arm,
}

impl Cpu {
    /// Decodes the instruction at the beginning of the code.
    pub fn decode(self, code: &[u8], ip: u64) -> Option<Instruction> {
        let (len, decoded) = match self {
            Cpu::X86 => x86::decode(code, ip)?,
            Cpu::Arm => (4, arm::decode(code.get(..4)?)),
        };
        let mut padded = [0; 16];
        self.nop().repeat(16).iter().zip(&mut padded).for_each(|(nop, byte)| *byte = *nop);
        padded[..len].copy_from_slice(&code[..len]);
        Some(Instruction { ip, len, code: padded, decoded })
    }
    pub fn decode_all(self, mut code: &[u8], mut ip: u64) -> Vec<Instruction> {
        let mut all = Vec::new();
        while let Some(i) = self.decode(code, ip) {
            (code, ip) = (&code[i.len..], i.next_ip());
            all.push(i);
        }
        all
    }
    /// An instruction that does nothing.
    pub fn nop(self) -> &'static [u8] {
        match self {
            Cpu::X86 => &[0x90],
            Cpu::Arm => &[0x1f, 0x20, 0x03, 0xd5],
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
