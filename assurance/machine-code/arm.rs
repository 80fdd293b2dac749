//! Runs AArch64 instructions, in the same way as `x86.rs`.

use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::armv8::a64::{
    InstDecoder, Instruction, Opcode, Operand, SIMDSizeCode, ShiftStyle, SizeCode,
};

use crate::machine::{Address, Cpu, Decoded, Machine, Result, decide};
use crate::term::{Block, Term};
use crate::value::{Flag, Operation, Value, Value::Number};
use palladion_reference::Byte;

pub const CPU: Cpu = Cpu {
    decode,
    wasm: false,
    nop: &[0x1f, 0x20, 0x03, 0xd5],
    round: ("aes", &[]),
    stack_pointer: 31,
    arguments: &[0, 1, 2, 3, 4, 5, 6, 7],
    saved: &[19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29],
    saved_vectors: 8..16,
    link: Some(30),
    vector: 16,
    flags: [29, 30, 31, 28],
    features: &["Aes", "AesSha3"],
    kernels: 96,
    // The address of the message is in `x0`. It begins with the address of the key.
    defects: &[
        ("a branch on a key", "f9400009 39400129 34000029"),
        ("an address that depends on a key", "f9400009 39400129 38696be9"),
        ("a read after a key", "f9400009 39408129"),
        ("a write to a key", "f9400009 3900013f"),
        ("a write to a caller's frame", "f90003e9"),
        ("a register that is not restored", "d2800013"),
        ("a vector that is not restored", "6f00e408"),
        ("a part of a key on the stack", "f9400009 f9400129 d11003ea f9000149"),
        // stp x29, x30, [sp, -16]!; bl OPEN; mov w0, 1; ldp x29, x30, [sp], 16; ret; OPEN:
        ("every tag is right", "a9bf7bfd 94000004 52800020 a8c17bfd d65f03c0"),
    ],
    go: false,
};

/// Programs in Go.
pub const GO: Cpu = Cpu {
    saved: &[18, GOROUTINE, FRAME],
    saved_vectors: 0..0,
    kernels: 10,
    // The address of the message is in `[sp, 8]`.
    defects: &[
        ("a branch on a key", "f94007e0 f9400009 39400129 34000029"),
        ("an address that depends on a key", "f94007e0 f9400009 39400129 38696be9"),
        ("a write to a key", "f94007e0 f9400009 3900013f"),
        ("a write to a caller's frame", "f90003e9"),
        ("a write after the result", "390047ff"),
        ("a register that is not restored", "d2800012"),
        ("a part of a key on the stack", "f94007e0 f9400009 f9400129 d11003ea f9000149"),
        // ldr x0, [sp, 8]; stp x30, x0, [sp, -32]!; bl OPEN; mov w0, 1; ldr x30, [sp], 32;
        // strb w0, [sp, 16]; ret; OPEN:
        ("every tag is right", "f94007e0 a9be03fe 94000005 52800020 f84207fe 390043e0 d65f03c0"),
    ],
    go: true,
    ..CPU
};

/// The registers with the address of the goroutine, and with that of the frame: what is below it.
pub const GOROUTINE: usize = 28;
pub const FRAME: usize = 29;

fn decode(code: &[u8], _: u64) -> Option<Decoded> {
    let mut word = U8Reader::new(code.get(..4)?);
    InstDecoder::default().decode(&mut word).ok().map(Decoded::Arm)
}

pub fn is_padding(i: &Instruction) -> bool {
    matches!(i.opcode, Opcode::UDF | Opcode::HINT | Opcode::BRK)
}

pub fn form(i: &Instruction) -> Option<String> {
    let depends_on_place = matches!(i.opcode, Opcode::RET | Opcode::BR)
        || i.operands.iter().any(|operand| matches!(operand, Operand::PCOffset(_)));
    let operands = format!("{:?}", i.operands);
    let immediates = matches!(i.opcode, Opcode::UBFM | Opcode::CSINC | Opcode::CSEL);
    let kinds =
        if immediates { operands } else { operands.replace(|c: char| c.is_ascii_digit(), "") };
    (!depends_on_place && !is_padding(i)).then(|| format!("{:?} {kinds}", i.opcode))
}

/// The last operand, which is an address if one is.
fn last(i: &Instruction) -> Operand {
    let is_something = |operand: &&Operand| !matches!(operand, Operand::Nothing);
    i.operands.iter().rfind(is_something).copied().unwrap_or(Operand::Nothing)
}

pub fn address(i: &Instruction) -> Address {
    let (base, index, scale, offset) = match last(i) {
        Operand::RegPreIndex(base, offset, _) => (base, None, 0, offset),
        Operand::RegPostIndex(base, _) => (base, None, 0, 0),
        Operand::RegRegOffset(base, index, SizeCode::X, ShiftStyle::LSL, by) => {
            (base, Some(usize::from(index)), 1 << by, 0)
        }
        _ => return Address::default(),
    };
    Address { base: Some(base.into()), index, scale, offset: i64::from(offset) as u64 }
}

fn bytes_of(size: SizeCode) -> usize {
    if size == SizeCode::X { 8 } else { 4 }
}

/// The size of a register.
fn size_of(operand: Operand) -> Result<usize> {
    use Operand::{Register, RegisterOrSP, SIMDRegister, SIMDRegisterElements};
    Ok(match operand {
        SIMDRegister(SIMDSizeCode::Q, _) | SIMDRegisterElements(SIMDSizeCode::Q, ..) => 16,
        SIMDRegister(SIMDSizeCode::D, _) => 8,
        SIMDRegister(SIMDSizeCode::S, _) => 4,
        Register(size, _) | RegisterOrSP(size, _) => bytes_of(size),
        _ => return Err("unknown: an operand".into()),
    })
}

fn is_vector(operand: Operand) -> bool {
    matches!(operand, Operand::SIMDRegister(..) | Operand::SIMDRegisterElements(..))
}

impl Machine<'_> {
    fn arm_value(&self, operand: Operand) -> Result<Value> {
        let register = |size, n: u16| self.low(n.into(), bytes_of(size));
        Ok(match operand {
            Operand::Register(_, 31) | Operand::RegShift(_, 0, _, 31) => Number(0),
            Operand::Register(size, n) | Operand::RegisterOrSP(size, n) => register(size, n),
            Operand::Immediate(number) => Number(number.into()),
            Operand::Imm16(number) => Number(number.into()),
            Operand::Imm64(number) => Number(number),
            Operand::ImmShift(number, by) => Number(u64::from(number) << by),
            Operand::RegShift(ShiftStyle::LSL, 0, size, n) => register(size, n),
            Operand::RegShift(style @ (ShiftStyle::LSL | ShiftStyle::LSR), by, size, n) => {
                let shift = |a, by| if style == ShiftStyle::LSL { a << by } else { a >> by };
                let shifted = register(size, n).map(Number(by.into()), shift);
                shifted.ok_or("shifts a secret")?.truncate(bytes_of(size))
            }
            _ => return Err("unknown: an operand".into()),
        })
    }

    fn arm_number(&self, operand: Operand, what: &str) -> Result<u64> {
        self.arm_value(operand)?.number(what)
    }

    fn arm_put(&mut self, operand: Operand, value: Value) -> Result<()> {
        match operand {
            Operand::Register(_, 31) => {}
            Operand::Register(_, n) | Operand::RegisterOrSP(_, n) => {
                self.general[usize::from(n)] = value.truncate(size_of(operand)?);
            }
            _ => return Err("unknown: a destination".into()),
        }
        Ok(())
    }

    /// The bytes of a vector, of half of one, of a general register or of a number.
    fn arm_vector(&self, operand: Operand) -> Result<Block> {
        let mut bytes = [Term::ZERO; 16];
        match operand {
            Operand::SIMDRegisterElements(SIMDSizeCode::Q, n, _) | Operand::SIMDRegister(_, n) => {
                bytes.copy_from_slice(&self.vectors[usize::from(n)][..16]);
            }
            Operand::SIMDRegisterElementsLane(_, n, SIMDSizeCode::D, lane) => {
                let half = &self.vectors[usize::from(n)][8 * usize::from(lane)..][..8];
                bytes[..8].copy_from_slice(half);
            }
            Operand::Register(SizeCode::X, _) | Operand::Imm64(_) => {
                bytes[..8].copy_from_slice(&self.arm_value(operand)?.bytes()?);
            }
            _ => return Err("unknown: a vector".into()),
        }
        Ok(bytes)
    }

    fn arm_put_vector(&mut self, operand: Operand, bytes: &[Term]) -> Result<()> {
        match operand {
            Operand::SIMDRegisterElements(SIMDSizeCode::Q, n, _) | Operand::SIMDRegister(_, n) => {
                let size = size_of(operand)?.min(bytes.len());
                let to = &mut self.vectors[usize::from(n)];
                to.fill(Term::ZERO);
                to[..size].copy_from_slice(&bytes[..size]);
            }
            Operand::SIMDRegisterElementsLane(_, n, SIMDSizeCode::D, lane) => {
                self.vectors[usize::from(n)][8 * usize::from(lane)..][..8].copy_from_slice(bytes);
            }
            Operand::Register(SizeCode::X, _) => {
                self.arm_put(operand, Value::from_bytes(bytes))?;
            }
            _ => return Err("unknown: a vector".into()),
        }
        Ok(())
    }

    /// Loads or stores registers that lie side by side.
    fn arm_access(&mut self, i: &Instruction, registers: &[Operand], load: bool) -> Result<()> {
        let parts = address(i);
        let base = parts.base.ok_or("unknown: an address")?;
        let start = self.sum(&parts)?.number("an address")?;
        let mut address = start;
        for &register in registers {
            let size = match i.opcode {
                Opcode::LDRB | Opcode::STRB => 1,
                _ => size_of(register)?,
            };
            match (is_vector(register), load) {
                (true, true) => {
                    let mut bytes = [Term::ZERO; 16];
                    self.memory.load(address, &mut bytes[..size])?;
                    self.arm_put_vector(register, &bytes)?;
                }
                (true, false) => {
                    self.memory.store(address, &self.arm_vector(register)?[..size])?;
                }
                (false, true) => self.arm_put(register, self.load(address, size)?)?,
                (false, false) => self.store(address, self.arm_value(register)?, size)?,
            }
            address = address.wrapping_add(size as u64);
        }
        match last(i) {
            Operand::RegPreIndex(_, _, true) => self.general[base] = Number(start),
            Operand::RegPostIndex(_, offset) => {
                self.general[base] = Number(start.wrapping_add(i64::from(offset) as u64));
            }
            _ => {}
        }
        Ok(())
    }

    /// The flags are those for carry, zero, negative and overflow.
    fn arm_condition(&self, code: u8) -> Flag {
        let [c, z, n, v] = self.flags;
        let holds = match code >> 1 {
            0 => z,
            1 => c,
            2 => n,
            3 => v,
            4 => Some(c? & !z?),
            5 => Some(!(n? ^ v?)),
            6 => Some(!(n? ^ v?) & !z?),
            _ => Some(0xffff),
        };
        if code & 1 == 1 { Some(!holds?) } else { holds }
    }

    /// Sums, differences and operations on bits.
    fn arm_arithmetic(&mut self, opcode: Opcode, [to, a, b]: [Operand; 3]) -> Result<()> {
        use Opcode::*;
        let size = size_of(to)?;
        let operation = match opcode {
            ADD | ADDS => Operation::Add,
            SUB | SUBS => Operation::Subtract,
            AND | ANDS => Operation::And,
            ORR => Operation::Or,
            _ => Operation::Xor,
        };
        let values = [self.arm_value(a)?.truncate(size), self.arm_value(b)?.truncate(size)];
        let (result, [carry, zero, negative, overflow]) =
            self.arithmetic(operation, size, values, 0)?;
        if matches!(opcode, ADDS | SUBS | ANDS) {
            // The carry of a difference says that nothing was borrowed.
            let carry = if opcode == SUBS { carry.map(|borrow| !borrow) } else { carry };
            self.flags = [carry, zero, negative, overflow];
        }
        self.arm_put(to, result)
    }

    /// Runs an instruction at `ip`. The machine's `ip` is that of the next one already.
    pub fn step_arm(&mut self, ip: u64, i: &Instruction) -> Result<()> {
        use Opcode::*;
        let o = i.operands;
        let mut jumps = false;
        match i.opcode {
            B => jumps = true,
            BL => {
                self.general[30] = Number(ip + 4);
                jumps = true;
            }
            BR | RET => self.ip = self.arm_number(o[0], "a jump")?,
            Bcc(code) => jumps = decide(self.arm_condition(code))?,
            CBZ => jumps = self.arm_number(o[0], "the decision")? == 0,
            CBNZ => jumps = self.arm_number(o[0], "the decision")? != 0,
            TBZ | TBNZ => {
                let bit = self.arm_number(o[1], "a bit")?;
                let set = self.arm_number(o[0], "the decision")? >> bit & 1 == 1;
                jumps = set == (i.opcode == TBNZ);
            }
            ADRP => {
                let Operand::PCOffset(offset) = o[1] else { return Err("unknown".into()) };
                self.arm_put(o[0], Number((ip & !0xfff).wrapping_add(offset as u64)))?;
            }
            HINT => {}
            ADD | ADDS | SUB | SUBS | AND | ANDS | ORR | EOR if !is_vector(o[0]) => {
                self.arm_arithmetic(i.opcode, [o[0], o[1], o[2]])?;
            }
            MADD | MSUB => {
                let number = |operand| self.arm_number(operand, "a factor");
                let (product, add) = (number(o[1])?.wrapping_mul(number(o[2])?), number(o[3])?);
                let product = if i.opcode == MADD { product } else { product.wrapping_neg() };
                self.arm_put(o[0], Number(add.wrapping_add(product)))?;
            }
            UDIV => {
                let number = |operand| self.arm_number(operand, "a division");
                let quotient = number(o[1])?.checked_div(number(o[2])?).unwrap_or(0);
                self.arm_put(o[0], Number(quotient))?;
            }
            UMULH => {
                let number = |operand| self.arm_number(operand, "a factor").map(u128::from);
                let product = number(o[1])? * number(o[2])?;
                self.arm_put(o[0], Number((product >> 64) as u64))?;
            }
            UBFM => {
                let bits = 8 * size_of(o[0])? as u64;
                let (r, s) = (self.arm_number(o[2], "a place")?, self.arm_number(o[3], "a place")?);
                let low = |n: u64| u64::MAX >> (64 - n);
                let result = self.arm_value(o[1])?.map(Number(0), |a, _| {
                    if s >= r { a >> r & low(s - r + 1) } else { (a & low(s + 1)) << (bits - r) }
                });
                self.arm_put(o[0], result.ok_or("unknown: a shift of secrets")?)?;
            }
            MOVZ => self.arm_put(o[0], self.arm_value(o[1])?)?,
            CSEL | CSINC => {
                let Operand::ConditionCode(code) = o[3] else { return Err("unknown".into()) };
                let (a, b) = (self.arm_value(o[1])?, self.arm_value(o[2])?);
                let holds = self.arm_condition(code);
                let value = match i.opcode {
                    CSINC if a == Number(0) && b == Number(0) => {
                        let set = holds.map(|holds| !holds);
                        Value::flag(set).ok_or("a flag depends on a secret")?
                    }
                    _ if decide(holds)? => a,
                    CSEL => b,
                    _ => b.map(Number(1), u64::wrapping_add).ok_or("increments a secret")?,
                };
                self.arm_put(o[0], value)?;
            }
            LDR | LDUR | LDRB => self.arm_access(i, &o[..1], true)?,
            STR | STUR | STRB => self.arm_access(i, &o[..1], false)?,
            LDP => self.arm_access(i, &o[..2], true)?,
            STP => self.arm_access(i, &o[..2], false)?,
            FMOV | INS => {
                let half = self.arm_vector(o[1])?;
                self.arm_put_vector(o[0], &half[..8])?;
            }
            DUP | MOVI if matches!(o[0], Operand::SIMDRegisterElements(_, _, SIMDSizeCode::D)) => {
                let half = self.arm_vector(o[1])?;
                self.arm_put_vector(o[0], &[&half[..8], &half[..8]].concat())?;
            }
            MOVI => {
                let byte = Term::number(self.arm_number(o[1], "a number")? as u8);
                self.arm_put_vector(o[0], &[byte; 16])?;
            }
            AESE => {
                let (a, b) = (self.arm_vector(o[0])?, self.arm_vector(o[1])?);
                let sum = std::array::from_fn(|n| a[n].xor(b[n]));
                self.arm_put_vector(o[0], &Term::sub_and_shift(sum))?;
            }
            AESMC => {
                let block = self.arm_vector(o[1])?;
                self.arm_put_vector(o[0], &Term::mix(block))?;
            }
            CMEQ => {
                let Operand::SIMDRegisterElements(_, _, SIMDSizeCode::D) = o[0] else {
                    return Err("unknown".into());
                };
                let (a, b) = (self.arm_vector(o[1])?, self.arm_vector(o[2])?);
                let mut mask: Block = std::array::from_fn(|n| a[n].xor(b[n]));
                for half in mask.chunks_mut(8) {
                    let equal = Value::from_bytes(half).number("unknown: a comparison; it")? == 0;
                    half.fill(Term::number(if equal { 0xff } else { 0 }));
                }
                self.arm_put_vector(o[0], &mask)?;
            }
            _ if is_vector(o[0]) => {
                let d = self.arm_vector(o[0])?;
                let (n, m) = (self.arm_vector(o[1])?, self.arm_vector(o[2])?);
                let choose =
                    |mask: Term, one: Term, other: Term| other.xor(one.xor(other).and(mask));
                let a = if i.opcode == EOR3 { self.arm_vector(o[3])? } else { m };
                let byte = |at: usize| match i.opcode {
                    EOR => Some(n[at].xor(m[at])),
                    EOR3 => Some(n[at].xor(m[at]).xor(a[at])),
                    AND => Some(n[at].and(m[at])),
                    ORR => Some(n[at].or(m[at])),
                    BIT => Some(choose(m[at], n[at], d[at])),
                    BIF => Some(choose(m[at], d[at], n[at])),
                    BSL => Some(choose(d[at], n[at], m[at])),
                    _ => None,
                };
                let result: Option<Vec<Term>> = (0..16).map(byte).collect();
                self.arm_put_vector(o[0], &result.ok_or("unknown")?)?;
            }
            _ => return Err("unknown".into()),
        }
        if jumps {
            let Operand::PCOffset(offset) = last(i) else { return Err("unknown: a jump".into()) };
            self.ip = ip.wrapping_add(offset as u64);
        }
        Ok(())
    }
}
