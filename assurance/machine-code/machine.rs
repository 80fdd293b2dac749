//! What runs: registers, memory, and instructions of both kinds.

use std::ops::Range;

use wasmparser::Operator;

use palladion_reference::Byte;

use crate::memory::Memory;
use crate::term::{Symbol, Term};
use crate::value::{Flag, Operation, Value, all_zero};
use crate::{arm, x86};

pub type Result<T, E = String> = std::result::Result<T, E>;

pub struct Machine<'a> {
    /// The general registers, and from 32 on the masks of AVX-512. On 64-bit ARM the stack pointer
    /// is 31.
    pub general: [Value; 40],
    pub vectors: Box<[[Term; 64]; 32]>,
    /// Carry, zero, sign, overflow.
    pub flags: [Flag; 4],
    pub ip: u64,
    pub memory: Memory<'a, Term>,
    /// The conditions that cases distinguish: whether all of these bytes are zero.
    pub zeros: Vec<Vec<Term>>,
    /// The bytes that stand for numbers by cases.
    pub stored: Vec<(Term, [u64; 16])>,
}

impl<'a> Machine<'a> {
    pub fn new(general: [Value; 40], vectors: [[Term; 64]; 32], memory: Memory<'a, Term>) -> Self {
        Self {
            general,
            vectors: Box::new(vectors),
            flags: [None; 4],
            ip: 0,
            memory,
            zeros: Vec::new(),
            stored: Vec::new(),
        }
    }

    /// Which of the cases it is for the values that symbols have.
    pub fn case(&self) -> usize {
        let all_zero = |zeros: &Vec<Term>| zeros.iter().all(|byte| byte.value() == 0);
        let zeros = self.zeros.iter().enumerate();
        zeros.map(|(n, zeros)| usize::from(all_zero(zeros)) << n).sum()
    }

    /// Returns bytes for a value; a symbol stands for one that depends on conditions.
    pub fn bytes_of(&mut self, value: Value) -> Result<[Term; 8]> {
        let Value::Cases(cases) = value else { return value.bytes() };
        if cases.iter().any(|case| *case > 255) {
            return Err("cannot take bytes of conditions".into());
        }
        let symbol = Term::symbol(b'C', self.stored.len());
        let mut bytes = [Term::ZERO; 8];
        bytes[0] = symbol.with_value(cases[self.case()] as u8);
        self.stored.push((bytes[0], cases));
        Ok(bytes)
    }

    /// Returns the value that bytes stand for.
    pub fn value_of(&self, bytes: &[Term]) -> Value {
        let low = bytes[1..].iter().all(|byte| *byte == Term::ZERO);
        match self.stored.iter().find(|(byte, _)| low && *byte == bytes[0]) {
            Some((_, cases)) => Value::from_cases(*cases),
            None => Value::from_bytes(bytes),
        }
    }

    /// Returns the lowest bytes of a register.
    pub fn low(&self, register: usize, size: usize) -> Value {
        match self.general[register] {
            Value::Bytes(bytes) => self.value_of(&bytes[..size]),
            value => value.truncate(size),
        }
    }

    /// Stores the lowest bytes of a value.
    pub fn store(&mut self, at: u64, value: Value, size: usize) -> Result<()> {
        let bytes = self.bytes_of(value)?;
        self.memory.store(at, &bytes[..size])
    }

    pub fn load(&self, at: u64, size: usize) -> Result<Value> {
        let mut bytes = [Term::ZERO; 8];
        self.memory.load(at, &mut bytes[..size])?;
        Ok(self.value_of(&bytes))
    }

    /// Returns the sum that an address stands for.
    pub fn sum(&self, address: &Address) -> Result<Value> {
        let mut sum = Value::Number(address.offset);
        for (register, scale) in [(address.base, 1), (address.index, address.scale)] {
            if let Some(register) = register {
                let add = |sum: u64, by: u64| sum.wrapping_add(by.wrapping_mul(scale));
                let with = sum.map(self.general[register], add);
                sum = with.ok_or("an address depends on a secret")?;
            }
        }
        Ok(sum)
    }

    /// Computes with the lowest bytes of numbers, and with all of secret bytes where that is
    /// possible. Returns the result and the new flags.
    pub fn arithmetic(
        &mut self,
        operation: Operation,
        size: usize,
        [a, b]: [Value; 2],
        carry: u64,
    ) -> Result<(Value, [Flag; 4])> {
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
        a: Value,
        b: Value,
    ) -> Result<(Value, [Flag; 4])> {
        let ([x, y], mut is_zero) = ([a.bytes()?, b.bytes()?], None);
        let bytewise = |f: fn(Term, Term) -> Term| std::array::from_fn(|n| f(x[n], y[n]));
        let moved = |by: i64| {
            let from = |n: usize| x.get((n as i64 - by) as usize).copied();
            std::array::from_fn(|n| from(n).unwrap_or(Term::ZERO))
        };
        let bytes: [Term; 8] = match (operation, b) {
            (Operation::Subtract, Value::Number(0)) | (Operation::Xor, Value::Number(_)) => {
                let sum = bytewise(Term::xor);
                is_zero = all_zero(&mut self.zeros, &sum[..size]);
                sum
            }
            (Operation::Xor, _) => bytewise(Term::xor),
            (Operation::And, _) => bytewise(Term::and),
            (Operation::Or, _) => bytewise(Term::or),
            (Operation::ShiftLeft, Value::Number(by)) if by % 8 == 0 => moved(by as i64 / 8),
            (Operation::ShiftRight, Value::Number(by)) if by % 8 == 0 => moved(-(by as i64) / 8),
            _ => return Err("unknown: arithmetic with secrets".into()),
        };
        Ok((Value::from_bytes(&bytes), [None, is_zero, None, None]))
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
    /// Its code, and instructions that do nothing after it.
    pub code: [u8; 16],
    pub decoded: Decoded,
}

#[derive(Clone, Copy)]
pub enum Decoded {
    X86(iced_x86::Instruction),
    Arm(yaxpeax_arm::armv8::a64::Instruction),
    /// And its length.
    Wasm(&'static Operator<'static>, usize),
}

use Decoded::{Arm, Wasm, X86};

/// How an operand in memory is found: registers, the factor of the second one, and a number.
#[derive(Default)]
pub struct Address {
    pub base: Option<usize>,
    pub index: Option<usize>,
    pub scale: u64,
    pub offset: u64,
}

impl Instruction {
    pub fn next_ip(&self) -> u64 {
        self.ip + self.len as u64
    }
    pub fn text(&self) -> String {
        match &self.decoded {
            X86(i) => x86::text(i),
            Arm(i) => i.to_string(),
            Wasm(op, _) => format!("{op:?}"),
        }
    }
    /// Whether it stands between code that runs.
    pub fn is_padding(&self) -> bool {
        match &self.decoded {
            X86(i) => x86::is_padding(i),
            Arm(i) => arm::is_padding(i),
            Wasm(op, _) => matches!(op, Operator::End | Operator::Unreachable),
        }
    }
    /// Returns what distinguishes its form from others; nothing for jumps.
    pub fn form(&self) -> Option<String> {
        match &self.decoded {
            X86(i) => x86::form(i),
            Arm(i) => arm::form(i),
            Wasm(..) => None,
        }
    }
    pub fn address(&self) -> Address {
        match &self.decoded {
            X86(i) => x86::address(i),
            Arm(i) => arm::address(i),
            Wasm(..) => Address::default(),
        }
    }
    pub fn run(&self, machine: &mut Machine) -> Result<()> {
        machine.ip = self.next_ip();
        match &self.decoded {
            X86(i) => machine.step_x86(i),
            Arm(i) => machine.step_arm(self.ip, i),
            Wasm(..) => Err("unknown: WebAssembly".into()),
        }
    }
}

/// What distinguishes the CPUs.
pub struct Cpu {
    /// Decodes the instruction at the beginning of the code.
    pub decode: fn(&[u8], u64) -> Option<Decoded>,
    /// Whether it is WebAssembly.
    pub wasm: bool,
    /// An instruction that does nothing.
    pub nop: &'static [u8],
    /// What instructions of a round have in their names, and how code that leaves one out begins.
    pub round: (&'static str, &'static [u8]),
    /// The registers that functions use, and those that they restore.
    pub stack_pointer: usize,
    pub arguments: &'static [usize],
    pub saved: &'static [usize],
    /// Those of which functions restore the lower half.
    pub saved_vectors: Range<usize>,
    /// The register with the address to return to, which otherwise is on the stack.
    pub link: Option<usize>,
    /// The length of vectors.
    pub vector: usize,
    /// The bits of the carry, zero, sign and overflow flags.
    pub flags: [u32; 4],
    /// The sets of features whose kernels are proved.
    pub features: &'static [&'static str],
    /// So many kernels are in the C library, or more.
    pub kernels: usize,
    /// Code in front of `open`, in hexadecimal, with what is wrong.
    pub defects: &'static [(&'static str, &'static str)],
    /// Whether functions are Go's: the argument and the result are on the stack, and functions find
    /// the goroutine, which says where the stack ends.
    pub go: bool,
}

impl Cpu {
    pub fn decode(&self, code: &[u8], ip: u64) -> Option<Instruction> {
        let decoded = (self.decode)(code, ip)?;
        let len = match &decoded {
            X86(i) => i.len(),
            Arm(_) => 4,
            Wasm(_, len) => *len,
        };
        let mut padded = [0; 16];
        padded.chunks_mut(self.nop.len()).for_each(|nop| nop.copy_from_slice(self.nop));
        let kept = len.min(16);
        padded[..kept].copy_from_slice(&code[..kept]);
        Some(Instruction { ip, len, code: padded, decoded })
    }
    pub fn decode_all(&self, mut code: &[u8], mut ip: u64) -> Vec<Instruction> {
        let mut all = Vec::new();
        while let Some(i) = self.decode(code, ip) {
            (code, ip) = (&code[i.len..], i.next_ip());
            all.push(i);
        }
        all
    }
}
