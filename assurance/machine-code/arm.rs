//! Runs AArch64 instructions, in the same way as `x86.rs`.

use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::armv8::a64::{InstDecoder, Opcode, Operand, SIMDSizeCode, ShiftStyle, SizeCode};

use crate::machine::Machine;
use crate::term::{Block, Byte};
use crate::value::Value::{Bytes, Number};
use crate::value::{Flag, Value, all_zero};

#[derive(Clone, Copy)]
pub struct Instruction {
    pub ip: u64,
    pub code: u32,
    decoded: Option<yaxpeax_arm::armv8::a64::Instruction>,
}

/// The number of the stack pointer among the general registers.
pub const SP: usize = 31;

pub fn decode(code: &[u8], at: u64) -> Vec<Instruction> {
    let decoder = InstDecoder::default();
    let words = code.chunks_exact(4).zip(0..);
    words
        .map(|(word, n)| Instruction {
            ip: at + 4 * n,
            code: u32::from_le_bytes(word.try_into().expect("4 bytes")),
            decoded: decoder.decode(&mut U8Reader::new(word)).ok(),
        })
        .collect()
}

impl Instruction {
    pub fn text(&self) -> String {
        self.decoded.map_or("?".into(), |decoded| decoded.to_string())
    }
    pub fn is_padding(&self) -> bool {
        self.decoded.is_none_or(|i| matches!(i.opcode, Opcode::UDF | Opcode::HINT | Opcode::BRK))
    }
    /// The register that an address is made of, and what is added to it.
    pub fn base(&self) -> Option<(usize, i64)> {
        self.decoded?.operands.iter().find_map(|operand| match *operand {
            Operand::RegPreIndex(base, offset, _) => Some((base.into(), offset.into())),
            Operand::RegPostIndex(base, _) | Operand::RegRegOffset(base, ..) => {
                Some((base.into(), 0))
            }
            _ => None,
        })
    }
    /// The register that is added to it.
    pub fn index(&self) -> Option<usize> {
        self.decoded?.operands.iter().find_map(|operand| match *operand {
            Operand::RegRegOffset(_, index, ..) => Some(usize::from(index)),
            _ => None,
        })
    }
    /// Returns this instruction with a defect each.
    pub fn changes(&self) -> Vec<(&'static str, Self)> {
        let Some(i) = self.decoded else { return Vec::new() };
        let on_vectors = matches!(i.operands[0], Operand::SIMDRegisterElements(..));
        let opcode = match i.opcode {
            Opcode::AESE => Some(("a round left out", Opcode::HINT)),
            Opcode::EOR if on_vectors => Some(("another operation", Opcode::ORR)),
            Opcode::AND if on_vectors => Some(("another operation", Opcode::ORR)),
            Opcode::Bcc(code) => Some(("the opposite decision", Opcode::Bcc(code ^ 1))),
            _ => None,
        };
        let mut changes = Vec::new();
        if let Some((name, opcode)) = opcode {
            let decoded = Some(yaxpeax_arm::armv8::a64::Instruction { opcode, ..i });
            changes.push((name, Self { decoded, ..*self }));
        }
        if let (Opcode::LDR | Opcode::STR, Operand::RegPreIndex(base, offset, false)) =
            (i.opcode, i.operands[1])
            && ![29, 31].contains(&base)
        {
            let mut operands = i.operands;
            operands[1] = Operand::RegPreIndex(base, offset + 1, false);
            let decoded = Some(yaxpeax_arm::armv8::a64::Instruction { operands, ..i });
            changes.push(("an address too high by 1", Self { decoded, ..*self }));
        }
        changes
    }
    /// What distinguishes a form of an instruction from another.
    pub fn form(&self) -> Option<String> {
        let i = self.decoded.filter(|_| !self.is_padding())?;
        let jumps = matches!(
            i.opcode,
            Opcode::B
                | Opcode::BL
                | Opcode::Bcc(_)
                | Opcode::RET
                | Opcode::BR
                | Opcode::CBZ
                | Opcode::CBNZ
                | Opcode::TBZ
                | Opcode::TBNZ
                | Opcode::ADRP
        );
        let operands = format!("{:?}", i.operands);
        let without = |c: char| c.is_ascii_digit();
        let immediates = matches!(i.opcode, Opcode::UBFM | Opcode::CSINC | Opcode::CSEL);
        let kinds = if immediates { operands } else { operands.replace(without, "") };
        (!jumps).then(|| format!("{:?} {kinds}", i.opcode))
    }
}

type Result<T, E = String> = std::result::Result<T, E>;

impl<T: Byte> Machine<'_, T> {
    fn arm_value(&self, operand: Operand) -> Result<Value<T>> {
        let register = |size: SizeCode, n: u16| {
            self.general[usize::from(n)].truncate(if size == SizeCode::X { 8 } else { 4 })
        };
        Ok(match operand {
            Operand::Register(_, 31) => Number(0),
            Operand::Register(size, n) | Operand::RegisterOrSP(size, n) => register(size, n),
            Operand::Immediate(number) => Number(number.into()),
            Operand::Imm16(number) => Number(number.into()),
            Operand::Imm64(number) => Number(number),
            Operand::ImmShift(number, by) => Number(u64::from(number) << by),
            Operand::RegShift(_, 0, _, 31) => Number(0),
            Operand::RegShift(ShiftStyle::LSL, 0, size, n) => register(size, n),
            Operand::RegShift(style, by, size, n) => {
                let value = register(size, n);
                let result = match style {
                    ShiftStyle::LSL => value.map(Number(0), |a, _| a << by),
                    ShiftStyle::LSR => value.map(Number(0), |a, _| a >> by),
                    _ => None,
                };
                let size = if size == SizeCode::X { 8 } else { 4 };
                result.ok_or("unknown: a shift")?.truncate(size)
            }
            _ => return Err("unknown: an operand".into()),
        })
    }

    fn arm_put(&mut self, operand: Operand, value: Value<T>) -> Result<()> {
        match operand {
            Operand::Register(_, 31) => {}
            Operand::Register(size, n) | Operand::RegisterOrSP(size, n) => {
                let size = if size == SizeCode::X { 8 } else { 4 };
                self.general[usize::from(n)] = value.truncate(size);
            }
            _ => return Err("unknown: a destination".into()),
        }
        Ok(())
    }

    fn arm_vector(&self, operand: Operand) -> Result<Block<T>> {
        match operand {
            Operand::SIMDRegisterElements(SIMDSizeCode::Q, n, _) | Operand::SIMDRegister(_, n) => {
                Ok(self.vectors[usize::from(n)][..16].try_into().expect("16 bytes"))
            }
            _ => Err("unknown: a vector".into()),
        }
    }

    fn arm_put_vector(&mut self, operand: Operand, bytes: &[T]) -> Result<()> {
        match operand {
            Operand::SIMDRegisterElements(SIMDSizeCode::Q, n, _) | Operand::SIMDRegister(_, n) => {
                let to = &mut self.vectors[usize::from(n)];
                to.fill(T::number(0));
                to[..bytes.len()].copy_from_slice(bytes);
                Ok(())
            }
            _ => Err("unknown: a vector".into()),
        }
    }

    /// The address, and after the access the new value of its register.
    fn arm_address(&self, operand: Operand) -> Result<(u64, Option<(usize, u64)>)> {
        let get = |n: u16| self.general[usize::from(n)].number("an address");
        Ok(match operand {
            Operand::RegPreIndex(base, offset, writes) => {
                let at = get(base)?.wrapping_add(i64::from(offset) as u64);
                (at, writes.then_some((base.into(), at)))
            }
            Operand::RegPostIndex(base, offset) => {
                let at = get(base)?;
                (at, Some((base.into(), at.wrapping_add(i64::from(offset) as u64))))
            }
            Operand::RegRegOffset(base, index, SizeCode::X, ShiftStyle::LSL, by) => {
                (get(base)?.wrapping_add(get(index)? << by), None)
            }
            _ => return Err("unknown: an address".into()),
        })
    }

    /// Loads or stores registers that lie side by side.
    fn arm_access(
        &mut self,
        registers: &[Operand],
        at: Operand,
        size: usize,
        load: bool,
    ) -> Result<()> {
        let (mut address, update) = self.arm_address(at)?;
        for &register in registers {
            let (vector, size) = match register {
                Operand::SIMDRegister(SIMDSizeCode::Q, _) => (true, 16),
                Operand::SIMDRegister(SIMDSizeCode::D, _) => (true, 8),
                Operand::SIMDRegister(SIMDSizeCode::S, _) => (true, 4),
                Operand::Register(SizeCode::X, _) => (false, 8),
                Operand::Register(SizeCode::W, _) => (false, size),
                _ => return Err("unknown: an access".into()),
            };
            let mut bytes = [T::number(0); 16];
            if load {
                self.memory.load(address, &mut bytes[..size])?;
                if vector {
                    self.arm_put_vector(register, &bytes)?;
                } else {
                    let value = self.loaded(&bytes[..8]);
                    self.arm_put(register, value)?;
                }
            } else {
                if vector {
                    bytes = self.arm_vector(register)?;
                } else {
                    let value = self.arm_value(register)?;
                    bytes[..8].copy_from_slice(&self.storable(value)?);
                }
                self.memory.store(address, &bytes[..size])?;
            }
            address = address.wrapping_add(size as u64);
        }
        if let Some((register, value)) = update {
            self.general[register] = Number(value);
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

    fn arm_decide(&self, code: u8) -> Result<bool> {
        match self.arm_condition(code) {
            Some(0) => Ok(false),
            Some(0xffff) => Ok(true),
            _ => Err("the decision depends on a secret".into()),
        }
    }

    /// Sums, differences and operations on bits.
    fn arm_arithmetic(
        &mut self,
        opcode: Opcode,
        to: Operand,
        a: Operand,
        b: Operand,
    ) -> Result<()> {
        use Opcode::*;
        let size = match to {
            Operand::Register(SizeCode::X, _) | Operand::RegisterOrSP(SizeCode::X, _) => 8,
            _ => 4,
        };
        let mask = u64::MAX >> (64 - 8 * size);
        let (a, b) = (self.arm_value(a)?.truncate(size), self.arm_value(b)?.truncate(size));
        let compute = |a: u64, b: u64| match opcode {
            ADD | ADDS => a.wrapping_add(b) & mask,
            SUB | SUBS => a.wrapping_sub(b) & mask,
            AND | ANDS => a & b,
            ORR => a | b,
            _ => a ^ b,
        };
        let sets = matches!(opcode, ADDS | SUBS | ANDS);
        let Some(result) = a.map(b, compute) else {
            if sets {
                self.flags = [None; 4];
            }
            let result = match (opcode, a, b) {
                (SUBS, Bytes(bytes), Number(0)) => {
                    self.flags[1] = all_zero(&mut self.zeros, &bytes[..size]);
                    a
                }
                (AND | ANDS, ..) => a.bytewise(b, T::and)?,
                (ORR, ..) => a.bytewise(b, T::or)?,
                (EOR, ..) => a.bytewise(b, T::xor)?,
                _ => return Err("unknown: arithmetic with secrets".into()),
            };
            return self.arm_put(to, result);
        };
        if sets {
            let top = |n: u64| n >> (8 * size - 1) & 1 == 1;
            let flags = |a: u64, b: u64| {
                let r = compute(a, b);
                let (carry, overflow) = match opcode {
                    ADDS => (r < a, top(a) == top(b) && top(r) != top(a)),
                    SUBS => (a >= b, top(a) != top(b) && top(r) != top(a)),
                    _ => (false, false),
                };
                [carry, r == 0, top(r), overflow]
            };
            let each = |flag: usize| {
                (0..16).try_fold(0, |set, n| {
                    Some(set | u16::from(flags(a.case(n)?, b.case(n)?)[flag]) << n)
                })
            };
            self.flags = std::array::from_fn(each);
        }
        self.arm_put(to, result)
    }

    pub fn step_arm(&mut self, i: &Instruction) -> Result<()> {
        use Opcode::*;
        self.ip = i.ip + 4;
        let decoded = i.decoded.ok_or("unknown")?;
        let o = decoded.operands;
        let jump = |offset: Operand| match offset {
            Operand::PCOffset(offset) => Ok(i.ip.wrapping_add(offset as u64)),
            _ => Err("unknown: a jump"),
        };
        let on_vectors = matches!(o[0], Operand::SIMDRegisterElements(..));
        let bits = |value: Value<T>, what| value.number(what);
        match decoded.opcode {
            B => self.ip = jump(o[0])?,
            BL => {
                self.general[30] = Number(i.ip + 4);
                self.ip = jump(o[0])?;
            }
            BR | RET => self.ip = bits(self.arm_value(o[0])?, "a jump")?,
            Bcc(code) => {
                if self.arm_decide(code)? {
                    self.ip = jump(o[0])?;
                }
            }
            CBZ | CBNZ => {
                let zero = bits(self.arm_value(o[0])?, "the decision")? == 0;
                if zero == (decoded.opcode == CBZ) {
                    self.ip = jump(o[1])?;
                }
            }
            TBZ | TBNZ => {
                let bit = bits(self.arm_value(o[1])?, "a bit")?;
                let zero = bits(self.arm_value(o[0])?, "the decision")? >> bit & 1 == 0;
                if zero == (decoded.opcode == TBZ) {
                    self.ip = jump(o[2])?;
                }
            }
            ADRP => {
                let Operand::PCOffset(offset) = o[1] else { return Err("unknown".into()) };
                self.arm_put(o[0], Number((i.ip & !0xfff).wrapping_add(offset as u64)))?;
            }
            HINT => {}
            ADD | ADDS | SUB | SUBS | AND | ANDS | ORR | EOR if !on_vectors => {
                self.arm_arithmetic(decoded.opcode, o[0], o[1], o[2])?;
            }
            MADD | MSUB => {
                let number = |o| bits(self.arm_value(o)?, "a factor");
                let (product, add) = (number(o[1])?.wrapping_mul(number(o[2])?), number(o[3])?);
                let result = if decoded.opcode == MADD {
                    add.wrapping_add(product)
                } else {
                    add.wrapping_sub(product)
                };
                self.arm_put(o[0], Number(result))?;
            }
            UMULH => {
                let number = |o| Ok::<_, String>(u128::from(bits(self.arm_value(o)?, "a factor")?));
                let high = (number(o[1])? * number(o[2])?) >> 64;
                self.arm_put(o[0], Number(high as u64))?;
            }
            UBFM => {
                let width = if matches!(o[0], Operand::Register(SizeCode::X, _)) { 64 } else { 32 };
                let (Number(r), Number(s)) = (self.arm_value(o[2])?, self.arm_value(o[3])?) else {
                    return Err("unknown".into());
                };
                let low = |n: u64| u64::MAX >> (64 - n);
                let result = self.arm_value(o[1])?.map(Number(0), |a, _| {
                    if s >= r { a >> r & low(s - r + 1) } else { (a & low(s + 1)) << (width - r) }
                });
                self.arm_put(o[0], result.ok_or("unknown: a shift of secrets")?)?;
            }
            MOVZ => {
                let value = self.arm_value(o[1])?;
                self.arm_put(o[0], value)?;
            }
            CSEL | CSINC => {
                let Operand::ConditionCode(code) = o[3] else { return Err("unknown".into()) };
                let (a, b) = (self.arm_value(o[1])?, self.arm_value(o[2])?);
                let increments = decoded.opcode == CSINC;
                if increments && a == Number(0) && b == Number(0) {
                    let set = self.arm_condition(code).map(|holds| !holds);
                    let value = Value::flag(set).ok_or("a flag depends on a secret")?;
                    return self.arm_put(o[0], value);
                }
                let value = match (self.arm_decide(code)?, increments) {
                    (true, _) => a,
                    (false, false) => b,
                    (false, true) => {
                        let next = b.map(Number(0), |b, _| b.wrapping_add(1));
                        next.ok_or("unknown: arithmetic with secrets")?
                    }
                };
                self.arm_put(o[0], value)?;
            }
            LDR | LDUR => self.arm_access(&o[..1], o[1], 4, true)?,
            STR | STUR => self.arm_access(&o[..1], o[1], 4, false)?,
            LDRB | LDURB => self.arm_access(&o[..1], o[1], 1, true)?,
            STRB | STURB => self.arm_access(&o[..1], o[1], 1, false)?,
            LDP => self.arm_access(&o[..2], o[2], 4, true)?,
            STP => self.arm_access(&o[..2], o[2], 4, false)?,
            FMOV => match (o[0], o[1]) {
                (Operand::SIMDRegister(SIMDSizeCode::D, _), Operand::Register(..)) => {
                    let bytes = self.arm_value(o[1])?.bytes()?;
                    self.arm_put_vector(o[0], &bytes)?;
                }
                (Operand::Register(..), Operand::SIMDRegister(SIMDSizeCode::D, _)) => {
                    let bytes = self.arm_vector(o[1])?;
                    self.arm_put(o[0], Value::from_bytes(&bytes[..8]))?;
                }
                _ => return Err("unknown".into()),
            },
            INS => {
                let Operand::SIMDRegisterElementsLane(_, n, SIMDSizeCode::D, lane) = o[0] else {
                    return Err("unknown".into());
                };
                let bytes = self.arm_double(o[1])?;
                self.vectors[usize::from(n)][8 * usize::from(lane)..][..8].copy_from_slice(&bytes);
            }
            DUP => {
                let bytes = self.arm_double(o[1])?;
                self.arm_put_vector(o[0], &[bytes, bytes].concat())?;
            }
            MOVI => match (o[0], o[1]) {
                (Operand::SIMDRegisterElements(_, _, SIMDSizeCode::D), Operand::Imm64(number)) => {
                    let bytes = number.to_le_bytes().map(T::number);
                    self.arm_put_vector(o[0], &[bytes, bytes].concat())?;
                }
                _ => return Err("unknown".into()),
            },
            AESE => {
                let (a, b) = (self.arm_vector(o[0])?, self.arm_vector(o[1])?);
                let sum = std::array::from_fn(|n| a[n].xor(b[n]));
                self.arm_put_vector(o[0], &T::sub_and_shift(sum))?;
            }
            AESMC => {
                let block = self.arm_vector(o[1])?;
                self.arm_put_vector(o[0], &T::mix(block))?;
            }
            CMEQ => {
                let (a, b) = (self.arm_vector(o[1])?, self.arm_vector(o[2])?);
                let Operand::SIMDRegisterElements(_, _, SIMDSizeCode::D) = o[0] else {
                    return Err("unknown".into());
                };
                let mut mask = [T::number(0); 16];
                for half in [0..8, 8..16] {
                    let number = |from: &Block<T>| {
                        Value::from_bytes(&from[half.clone()]).number("unknown: a comparison; it")
                    };
                    let equal = number(&a)? == number(&b)?;
                    mask[half.clone()].fill(T::number(if equal { 0xff } else { 0 }));
                }
                self.arm_put_vector(o[0], &mask)?;
            }
            _ if on_vectors => {
                let d = self.arm_vector(o[0])?;
                let (n, m) = (self.arm_vector(o[1])?, self.arm_vector(o[2])?);
                let choose = |mask: T, one: T, other: T| other.xor(one.xor(other).and(mask));
                let a = if decoded.opcode == EOR3 { self.arm_vector(o[3])? } else { m };
                let byte = |i: usize| match decoded.opcode {
                    EOR => Some(n[i].xor(m[i])),
                    EOR3 => Some(n[i].xor(m[i]).xor(a[i])),
                    AND => Some(n[i].and(m[i])),
                    ORR => Some(n[i].or(m[i])),
                    BIC => Some(n[i].and(m[i].not())),
                    BIT => Some(choose(m[i], n[i], d[i])),
                    BIF => Some(choose(m[i], d[i], n[i])),
                    BSL => Some(choose(d[i], n[i], m[i])),
                    _ => None,
                };
                let result: Option<Vec<T>> = (0..16).map(byte).collect();
                self.arm_put_vector(o[0], &result.ok_or("unknown")?)?;
            }
            _ => return Err("unknown".into()),
        }
        Ok(())
    }

    /// Eight bytes of a general register or of half a vector.
    fn arm_double(&self, operand: Operand) -> Result<[T; 8]> {
        match operand {
            Operand::SIMDRegisterElementsLane(_, n, SIMDSizeCode::D, lane) => {
                let from = &self.vectors[usize::from(n)][8 * usize::from(lane)..][..8];
                Ok(from.try_into().expect("8 bytes"))
            }
            Operand::Register(SizeCode::X, _) => self.arm_value(operand)?.bytes(),
            _ => Err("unknown".into()),
        }
    }
}
