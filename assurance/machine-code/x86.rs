//! Runs x86-64 instructions. Refuses those it does not know, and whatever depends on a secret in a
//! way that is not constant time.

use iced_x86::{ConditionCode, FlowControl, RflagsBits};
use iced_x86::{Decoder, DecoderOptions, EncodingKind, Instruction, Mnemonic, OpKind, Register};

use crate::machine::Machine;
use crate::term::Byte;
use crate::value::Value::{Cases, Low, Number, Signs};
use crate::value::{Flag, Value, all_zero};

/// The carry, zero, sign and overflow flags.
const FLAGS: [u32; 4] = [RflagsBits::CF, RflagsBits::ZF, RflagsBits::SF, RflagsBits::OF];
pub const RSP: usize = 4;

/// Decodes a function.
pub fn decode(code: &[u8], at: u64) -> Vec<Instruction> {
    Decoder::with_ip(64, code, at, DecoderOptions::NONE).into_iter().collect()
}

pub fn text(i: &Instruction) -> String {
    use iced_x86::Formatter;
    let mut text = String::new();
    iced_x86::IntelFormatter::new().format(i, &mut text);
    text
}

/// Whether the function can end or stop before this, so that it need never run.
pub fn is_padding(i: &Instruction) -> bool {
    matches!(i.mnemonic(), Mnemonic::Nop | Mnemonic::Int3 | Mnemonic::Ud2)
        || i.mnemonic() == Mnemonic::Xchg && i.op0_register() == i.op1_register()
}

fn full(register: Register) -> Result<usize, String> {
    match register {
        Register::AH | Register::BH | Register::CH | Register::DH => {
            Err("uses the second byte of a register".into())
        }
        _ => Ok(register.full_register().number()),
    }
}

fn sign_extend(value: u64, size: usize) -> i64 {
    (value << (64 - 8 * size)) as i64 >> (64 - 8 * size)
}

type Result<T, E = String> = std::result::Result<T, E>;

impl<T: Byte> Machine<'_, T> {
    fn get(&self, register: Register) -> Result<Value<T>> {
        Ok(self.general[full(register)?].truncate(register.size()))
    }

    fn set(&mut self, register: Register, value: Value<T>) -> Result<()> {
        let (number, size) = (full(register)?, register.size());
        let value = value.truncate(size);
        self.general[number] = if size >= 4 {
            value
        } else {
            let (old, low) = (self.general[number], (1 << (8 * size)) - 1);
            match old.map(value, |old, new| old & !low | new) {
                Some(value) => value,
                None if let (Cases(cases), 1) = (value, size) => Low(cases),
                None => {
                    let (mut bytes, new) = (old.bytes()?, value.bytes()?);
                    bytes[..size].copy_from_slice(&new[..size]);
                    Value::from_bytes(&bytes)
                }
            }
        };
        Ok(())
    }

    fn address(&self, i: &Instruction) -> Result<u64> {
        self.sum(i)?.number("an address")
    }

    /// The sum that a memory operand, or `lea`, stands for.
    fn sum(&self, i: &Instruction) -> Result<Value<T>> {
        if i.segment_prefix() != Register::None {
            return Err("unknown: a segment".into());
        }
        let mut sum = Number(i.memory_displacement64());
        if i.is_ip_rel_memory_operand() {
            return Ok(sum);
        }
        for (register, scale) in [(i.memory_base(), 1), (i.memory_index(), i.memory_index_scale())]
        {
            if register != Register::None {
                let add = |sum: u64, by: u64| sum.wrapping_add(by.wrapping_mul(scale.into()));
                sum = sum.map(self.get(register)?, add).ok_or("an address depends on a secret")?;
            }
        }
        Ok(sum)
    }

    /// A number or bytes for general registers.
    fn operand(&self, i: &Instruction, op: u32) -> Result<Value<T>> {
        match i.op_kind(op) {
            OpKind::Register => self.get(i.op_register(op)),
            OpKind::Memory => {
                let mut bytes = [T::number(0); 8];
                let size = i.memory_size().size();
                self.memory.load(self.address(i)?, &mut bytes[..size])?;
                Ok(Value::from_bytes(&bytes))
            }
            _ => Ok(Number(i.immediate(op)).truncate(self.size(i))),
        }
    }

    /// The size of the first operand.
    fn size(&self, i: &Instruction) -> usize {
        match i.op0_kind() {
            OpKind::Register => i.op0_register().size(),
            _ => i.memory_size().size(),
        }
    }

    fn put(&mut self, i: &Instruction, value: Value<T>) -> Result<()> {
        match i.op0_kind() {
            OpKind::Register => self.set(i.op0_register(), value),
            _ => {
                let size = i.memory_size().size();
                self.memory.store(self.address(i)?, &value.bytes()?[..size])
            }
        }
    }

    /// A vector operand, of which `size` bytes count.
    fn vector(&self, i: &Instruction, op: u32, size: usize) -> Result<[T; 64]> {
        if i.op_kind(op) == OpKind::Register {
            let register = i.op_register(op);
            return if register.is_vector_register() {
                Ok(self.vectors[register.number()])
            } else {
                let mut bytes = [T::number(0); 64];
                bytes[..8].copy_from_slice(&self.get(register)?.bytes()?);
                Ok(bytes)
            };
        }
        if i.is_broadcast() {
            return Err("unknown: broadcasts an operand".into());
        }
        let mut bytes = [T::number(0); 64];
        let address = self.address(i)?;
        self.check_alignment(i, address)?;
        self.memory.load(address, &mut bytes[..size])?;
        Ok(bytes)
    }

    fn check_alignment(&self, i: &Instruction, address: u64) -> Result<()> {
        use Mnemonic::*;
        let size = i.memory_size().size() as u64;
        let aligned = match i.mnemonic() {
            Movups | Movdqu | Movd | Movq => false,
            Vmovdqa | Vmovdqa64 | Vmovaps | Vmovapd => true,
            _ => i.encoding() == EncodingKind::Legacy && size == 16,
        };
        if aligned && !address.is_multiple_of(size) {
            return Err(format!("{address:#x} is not aligned"));
        }
        Ok(())
    }

    /// Writes a vector register. Without VEX the bytes above stay.
    fn put_vector(&mut self, i: &Instruction, value: &[T]) -> Result<()> {
        let to = &mut self.vectors[i.op0_register().number()];
        if i.encoding() != EncodingKind::Legacy {
            to.fill(T::number(0));
        }
        to[..value.len()].copy_from_slice(value);
        Ok(())
    }

    /// Which bytes an instruction with a mask applies to.
    fn mask(&self, i: &Instruction) -> Result<u64> {
        if i.op_mask() == Register::None {
            return Ok(u64::MAX);
        }
        let mask = self.masks[i.op_mask().number()].ok_or("a mask depends on a secret")?;
        match i.mnemonic() {
            Mnemonic::Vmovdqu8 => Ok(mask),
            Mnemonic::Vmovdqu64 => Ok((0..8)
                .filter(|n| mask >> n & 1 == 1)
                .fold(0, |bytes, n| bytes | 0xff << (8 * n))),
            _ => Err("unknown: a mask".into()),
        }
    }

    /// Moves of vectors, which can have a mask of bytes.
    fn move_vector(&mut self, i: &Instruction, size: usize) -> Result<()> {
        let mask = self.mask(i)?;
        if i.op_mask() == Register::None {
            let value = self.vector(i, 1, size)?;
            if i.op0_kind() == OpKind::Register {
                return self.put_vector(i, &value[..size]);
            }
            let address = self.address(i)?;
            self.check_alignment(i, address)?;
            return self.memory.store(address, &value[..size]);
        }
        let in_memory = |op: u32| i.op_kind(op) == OpKind::Memory;
        let address = if in_memory(0) || in_memory(1) { self.address(i)? } else { 0 };
        let mut value = if in_memory(0) || i.zeroing_masking() {
            [T::number(0); 64]
        } else {
            self.vectors[i.op0_register().number()]
        };
        for at in (0..size).filter(|at| mask >> at & 1 == 1) {
            let address = address.wrapping_add(at as u64);
            if in_memory(1) {
                self.memory.load(address, &mut value[at..=at])?;
            } else {
                value[at] = self.vectors[i.op1_register().number()][at];
                if in_memory(0) {
                    self.memory.store(address, &value[at..=at])?;
                }
            }
        }
        if in_memory(0) { Ok(()) } else { self.put_vector(i, &value[..size]) }
    }

    /// The two sources: without VEX, the first is also the destination.
    fn two(&self, i: &Instruction, size: usize) -> Result<[[T; 64]; 2]> {
        let first = if i.encoding() == EncodingKind::Legacy { 0 } else { 1 };
        Ok([self.vector(i, first, size)?, self.vector(i, first + 1, size)?])
    }

    fn bytewise(&mut self, i: &Instruction, size: usize, f: impl Fn(T, T) -> T) -> Result<()> {
        self.mask(i)?;
        let [a, b] = self.two(i, size)?;
        let value: [T; 64] = std::array::from_fn(|n| if n < size { f(a[n], b[n]) } else { a[n] });
        self.put_vector(i, &value[..size])
    }

    /// Makes a vector of pieces of `piece` bytes: which of `source` is at each place.
    fn pieces(
        &mut self,
        i: &Instruction,
        size: usize,
        piece: usize,
        source: &[T],
        which: impl Fn(usize) -> Option<usize>,
    ) -> Result<()> {
        self.mask(i)?;
        let at =
            |n: usize| which(n / piece).map_or(T::number(0), |p| source[p * piece + n % piece]);
        let value: [T; 64] = std::array::from_fn(|n| if n < size { at(n) } else { source[0] });
        self.put_vector(i, &value[..size])
    }

    /// The condition of a conditional instruction.
    fn condition(&self, code: ConditionCode) -> Flag {
        use ConditionCode::*;
        let [cf, zf, sf, of] = self.flags;
        let less = || Some(sf? ^ of?);
        match code {
            o => of,
            no => Some(!of?),
            b => cf,
            ae => Some(!cf?),
            e => zf,
            ne => Some(!zf?),
            be => Some(cf? | zf?),
            a => Some(!(cf? | zf?)),
            s => sf,
            ns => Some(!sf?),
            l => less(),
            ge => Some(!less()?),
            le => Some(less()? | zf?),
            g => Some(!(less()? | zf?)),
            _ => Option::None,
        }
    }

    fn decide(&self, i: &Instruction) -> Result<bool> {
        match self.condition(i.condition_code()) {
            Some(0) => Ok(false),
            Some(0xffff) => Ok(true),
            _ => Err("the decision depends on a secret".into()),
        }
    }

    /// Arithmetic with two operands: the result, or none for a comparison.
    fn arithmetic(&mut self, i: &Instruction, a: Value<T>, b: Value<T>) -> Result<()> {
        use Mnemonic::*;
        let (m, size) = (i.mnemonic(), self.size(i));
        let top = 8 * size as u32 - 1;
        let mask = u64::MAX >> (63 - top);
        let needs_carry = matches!(m, Adc | Sbb);
        let carry = match self.flags[0] {
            _ if !needs_carry => 0,
            Some(0) => 0,
            Some(0xffff) => 1,
            _ => return Err("the carry depends on a secret".into()),
        };
        // The result, and the carry and overflow flags above it.
        let compute = move |a: u64, b: u64| -> (u64, bool, bool) {
            let wide = |sum: i128, signed: i128| {
                let result = sum as u64 & mask;
                (
                    result,
                    sum as u128 & !u128::from(mask) != 0,
                    i128::from(sign_extend(result, size)) != signed,
                )
            };
            let (x, y, c) = (i128::from(a), i128::from(b), i128::from(carry));
            let (sx, sy) = (i128::from(sign_extend(a, size)), i128::from(sign_extend(b, size)));
            let by = b as u32 & if size == 8 { 63 } else { 31 };
            match m {
                Add | Adc => wide(x + y + c, sx + sy + c),
                Inc => wide(x + 1, sx + 1),
                Sub | Sbb | Cmp => wide(x - y - c, sx - sy - c),
                Dec => wide(x - 1, sx - 1),
                Neg => wide(-x, -sx),
                And | Test => (a & b, false, false),
                Or => (a | b, false, false),
                Xor => (a ^ b, false, false),
                Shl => {
                    (a << by & mask, by > 0 && a >> (top + 1).saturating_sub(by) & 1 == 1, false)
                }
                Shr => (a >> by, by > 0 && a >> (by - 1) & 1 == 1, false),
                Sar => (
                    (sign_extend(a, size) >> by) as u64 & mask,
                    by > 0 && sign_extend(a, size) >> (by - 1) & 1 == 1,
                    false,
                ),
                Imul => {
                    let (product, _, overflow) = wide(sx * sy, sx * sy);
                    (product, overflow, overflow)
                }
                _ => unreachable!("not arithmetic"),
            }
        };
        let is_shift = matches!(m, Shl | Shr | Sar);
        let by =
            |b: Value<T>| b.number("a shift count").map(|by| by & if size == 8 { 63 } else { 31 });
        let result = match a.map(b, |a, b| compute(a, b).0) {
            Some(result) => {
                if is_shift && by(b)? == 0 {
                    return self.put(i, result);
                }
                let flag = |f: &dyn Fn((u64, bool, bool)) -> bool| {
                    let case = |n| Some(f(compute(a.case(n)?, b.case(n)?)));
                    (0..16).try_fold(0, |set, n| Some(set | u16::from(case(n)?) << n))
                };
                let (modified, undefined) = (i.rflags_modified(), i.rflags_undefined());
                let sign = |(result, ..): (u64, bool, bool)| result >> top & 1 == 1;
                let zero = |(result, ..): (u64, bool, bool)| result == 0;
                let new = [flag(&|(_, carry, _)| carry), flag(&zero), flag(&sign), flag(&|r| r.2)];
                for n in 0..4 {
                    if undefined & FLAGS[n] != 0 || is_shift && n == 3 {
                        self.flags[n] = None;
                    } else if modified & FLAGS[n] != 0 {
                        self.flags[n] = new[n];
                    }
                }
                result
            }
            None => {
                self.flags = [None; 4];
                match (m, a, b) {
                    (Cmp | Xor, Signs(bytes), Number(0xffff)) => {
                        let top = T::number(0x80);
                        let zeros = bytes.map(|byte| byte.and(top).xor(top));
                        self.flags[1] = all_zero(&mut self.zeros, &zeros);
                        Signs(bytes.map(T::not))
                    }
                    (Xor, ..) => a.bytewise(b, T::xor)?,
                    (And, ..) => a.bytewise(b, T::and)?,
                    (Or, ..) => a.bytewise(b, T::or)?,
                    (Shl, ..) => a.shift(by(b)? as i64)?,
                    (Shr, ..) => a.shift(-(by(b)? as i64))?,
                    _ => return Err("unknown: arithmetic with secrets".into()),
                }
            }
        };
        if matches!(m, Cmp | Test) { Ok(()) } else { self.put(i, result) }
    }

    fn push(&mut self, value: Value<T>) -> Result<()> {
        let at = self.general[RSP].number("the stack pointer")?.wrapping_sub(8);
        self.general[RSP] = Number(at);
        let bytes = self.storable(value)?;
        self.memory.store(at, &bytes)
    }

    pub fn pop(&mut self) -> Result<Value<T>> {
        let at = self.general[RSP].number("the stack pointer")?;
        let mut bytes = [T::number(0); 8];
        self.memory.load(at, &mut bytes)?;
        self.general[RSP] = Number(at.wrapping_add(8));
        Ok(Value::from_bytes(&bytes))
    }

    /// Runs an instruction and sets `ip` to the next one.
    pub fn step(&mut self, i: &Instruction) -> Result<()> {
        self.ip = i.next_ip();
        match i.flow_control() {
            FlowControl::Next => {}
            FlowControl::ConditionalBranch => {
                if self.decide(i)? {
                    self.ip = i.near_branch_target();
                }
                return Ok(());
            }
            FlowControl::UnconditionalBranch => {
                self.ip = i.near_branch_target();
                return Ok(());
            }
            FlowControl::IndirectBranch => {
                self.ip = self.operand(i, 0)?.number("a jump")?;
                return Ok(());
            }
            FlowControl::Call => {
                self.ip = i.near_branch_target();
                return self.push(Number(i.next_ip()));
            }
            FlowControl::IndirectCall => {
                self.ip = self.operand(i, 0)?.number("a call")?;
                return self.push(Number(i.next_ip()));
            }
            FlowControl::Return => {
                self.ip = self.pop()?.number("the return address")?;
                return Ok(());
            }
            _ => return Err("unknown".into()),
        }
        if i.has_rep_prefix() || i.has_lock_prefix() || i.has_repne_prefix() {
            return Err("unknown: a prefix".into());
        }
        if is_padding(i) {
            return Ok(());
        }
        let on_vectors = (0..i.op_count()).any(|op| i.op_register(op).is_vector_register());
        if on_vectors || i.mnemonic() == Mnemonic::Vzeroupper {
            self.step_vectors(i)
        } else {
            self.step_general(i)
        }
    }

    fn step_general(&mut self, i: &Instruction) -> Result<()> {
        use Mnemonic::*;
        let size = self.size(i);
        let k = |op: u32| i.op_register(op).number();
        match i.mnemonic() {
            Mov | Movzx => {
                let value = self.operand(i, 1)?;
                self.put(i, value)
            }
            Movsxd | Movsx => {
                let from = if i.op1_kind() == OpKind::Memory {
                    i.memory_size().size()
                } else {
                    i.op1_register().size()
                };
                let value = self.operand(i, 1)?.number("a number with a sign")?;
                self.put(i, Number(sign_extend(value, from) as u64))
            }
            Lea => {
                let sum = self.sum(i)?.truncate(size);
                self.put(i, sum)
            }
            Xor | Sub
                if i.op1_kind() == OpKind::Register && i.op0_register() == i.op1_register() =>
            {
                self.arithmetic(i, Number(0), Number(0))
            }
            Test if i.op1_kind() == OpKind::Register && i.op0_register() == i.op1_register() => {
                let value = self.operand(i, 0)?;
                self.arithmetic(i, value, value)
            }
            Add | Adc | Sub | Sbb | Cmp | And | Or | Xor | Test | Shl | Shr | Sar => {
                let (a, b) = (self.operand(i, 0)?, self.operand(i, 1)?);
                self.arithmetic(i, a, b)
            }
            Inc | Dec | Neg => {
                let a = self.operand(i, 0)?;
                self.arithmetic(i, a, Number(0))
            }
            Imul if i.op_count() >= 2 => {
                let last = i.op_count() - 1;
                let (a, b) = (self.operand(i, last - 1)?, self.operand(i, last)?);
                a.number("a factor")?;
                b.number("a factor")?;
                self.arithmetic(i, a, b)
            }
            Not => {
                let value = self.operand(i, 0)?;
                let result = match value.map(Number(0), |a, _| !a) {
                    Some(result) => result,
                    None => value.bytewise(Number(0), |a, _| a.not())?,
                };
                self.put(i, result)
            }
            Div if size >= 4 => {
                let [a, d] = if size == 8 {
                    [Register::RAX, Register::RDX]
                } else {
                    [Register::EAX, Register::EDX]
                };
                let number = |value: Value<T>| value.number("a division").map(u128::from);
                let (high, low) = (number(self.get(d)?)?, number(self.get(a)?)?);
                let (by, of) = (number(self.operand(i, 0)?)?, high << (8 * size) | low);
                if by <= high {
                    return Err("a division overflows".into());
                }
                self.flags = [None; 4];
                self.set(a, Number((of / by) as u64))?;
                self.set(d, Number((of % by) as u64))
            }
            Push => {
                let value = self.operand(i, 0)?;
                self.push(value)
            }
            Pop => {
                let value = self.pop()?;
                self.put(i, value)
            }
            Kmovb | Kmovw | Kmovd | Kmovq => {
                let bits = match i.mnemonic() {
                    Kmovb => 8,
                    Kmovw => 16,
                    Kmovd => 32,
                    _ => 64,
                };
                let low = u64::MAX >> (64 - bits);
                if i.op0_register().is_k() {
                    let value = if i.op1_register().is_k() {
                        self.masks[k(1)]
                    } else {
                        Some(self.operand(i, 1)?.number("a mask")?)
                    };
                    self.masks[k(0)] = Some(value.ok_or("a mask depends on a secret")? & low);
                    return Ok(());
                }
                let value = self.masks[k(1)].ok_or("a mask depends on a secret")?;
                self.put(i, Number(value & low))
            }
            Kunpckwd | Kunpckdq => {
                let bits = if i.mnemonic() == Kunpckwd { 16 } else { 32 };
                let low = |mask: Option<u64>| {
                    mask.map(|mask| mask & ((1 << bits) - 1)).ok_or("a mask depends on a secret")
                };
                self.masks[k(0)] = Some(low(self.masks[k(1)])? << bits | low(self.masks[k(2)])?);
                Ok(())
            }
            m if i.condition_code() != ConditionCode::None => {
                if size == 1 && i.op_count() == 1 && format!("{m:?}").starts_with("Set") {
                    let set = Value::flag(self.condition(i.condition_code()));
                    return self.put(i, set.ok_or("a flag depends on a secret")?);
                }
                if format!("{m:?}").starts_with("Cmov") {
                    // The source is read, and the upper half zeroed, in any case.
                    let (old, new) = (self.operand(i, 0)?, self.operand(i, 1)?);
                    let value = if self.decide(i)? { new } else { old };
                    return self.put(i, value);
                }
                Err("unknown".into())
            }
            _ => Err("unknown".into()),
        }
    }

    fn step_vectors(&mut self, i: &Instruction) -> Result<()> {
        use Mnemonic::*;
        let size = if i.op_count() > 0 { self.size(i) } else { 0 };
        let immediate = || i.immediate(i.op_count() - 1) as usize;
        match i.mnemonic() {
            Movaps | Movups | Movdqa | Movdqu | Vmovaps | Vmovups | Vmovapd | Vmovupd | Vmovdqa
            | Vmovdqu | Vmovdqa64 | Vmovdqu64 | Vmovdqu8 => self.move_vector(i, size),
            Movd | Movq | Vmovd | Vmovq | Vmovss if i.op_count() == 2 => {
                let size = if matches!(i.mnemonic(), Movq | Vmovq) { 8 } else { 4 };
                if i.op0_kind() == OpKind::Memory {
                    let value = self.vector(i, 1, size)?;
                    return self.memory.store(self.address(i)?, &value[..size]);
                }
                let value = self.vector(i, 1, size)?;
                if !i.op0_register().is_vector_register() {
                    return self.set(i.op0_register(), Value::from_bytes(&value[..size]));
                }
                let mut extended = [T::number(0); 16];
                extended[..size].copy_from_slice(&value[..size]);
                self.put_vector(i, &extended)
            }
            Pxor | Xorps | Xorpd | Vpxor | Vpxord | Vpxorq | Vxorps | Vxorpd => {
                self.bytewise(i, size, T::xor)
            }
            Pand | Andps | Andpd | Vpand | Vpandd | Vpandq | Vandps | Vandpd => {
                self.bytewise(i, size, T::and)
            }
            Por | Orps | Vpor | Vpord | Vporq | Vorps => self.bytewise(i, size, T::or),
            Pandn | Vpandn => self.bytewise(i, size, |a, b| a.not().and(b)),
            Pcmpeqb | Vpcmpeqb if i.op0_register().is_vector_register() => {
                self.bytewise(i, size, |a, b| a.xor(b).is_zero())
            }
            Vpternlogq | Vpternlogd => {
                self.mask(i)?;
                let [a, b] = [self.vector(i, 0, size)?, self.vector(i, 1, size)?];
                let (c, table) = (self.vector(i, 2, size)?, immediate());
                // The sum of the products whose factors' sets of bits add up to an odd number.
                let value: [T; 64] = std::array::from_fn(|n| {
                    (0..8).fold(T::number(0), |sum, set: usize| {
                        let odd =
                            (0..8).filter(|s| s & !set == 0).map(|s| table >> s & 1).sum::<usize>();
                        if odd % 2 == 0 {
                            return sum;
                        }
                        let factors = [(4, a[n]), (2, b[n]), (1, c[n])];
                        let product = factors.iter().filter(|(bit, _)| set & bit != 0);
                        sum.xor(product.fold(T::number(0xff), |p, (_, factor)| p.and(*factor)))
                    })
                });
                self.put_vector(i, &value[..size])
            }
            Aesenc | Vaesenc => {
                self.mask(i)?;
                let [mut a, b] = self.two(i, size)?;
                for lane in (0..size).step_by(16) {
                    let block = |from: &[T; 64]| from[lane..lane + 16].try_into().expect("16");
                    let round = crate::aegis::aes(block(&a), block(&b));
                    a[lane..lane + 16].copy_from_slice(&round);
                }
                self.put_vector(i, &a[..size])
            }
            Pshufb | Vpshufb => {
                let [a, indices] = self.two(i, size)?;
                let mut places = [None; 64];
                for (n, index) in indices[..size].iter().enumerate() {
                    let index = usize::from(index.known().ok_or("unknown: a shuffle by secrets")?);
                    places[n] = (index < 0x80).then_some(n / 16 * 16 + index % 16);
                }
                self.pieces(i, size, 1, &a, |n| places[n])
            }
            Psllq | Vpsllq if i.op_kind(i.op_count() - 1) == OpKind::Immediate8 => {
                let a = self.vector(i, i.op_count() - 2, size)?;
                let mut value = [T::number(0); 64];
                for (to, from) in value[..size].chunks_mut(8).zip(a.chunks(8)) {
                    let number = Value::from_bytes(from).number("unknown: a shift; it")?;
                    let shifted = number.checked_shl(immediate() as u32).unwrap_or(0);
                    to.copy_from_slice(&shifted.to_le_bytes().map(T::number));
                }
                self.put_vector(i, &value[..size])
            }
            Punpcklqdq | Vpunpcklqdq => {
                let [a, b] = self.two(i, size)?;
                let source: Vec<T> = [a, b].concat();
                self.pieces(i, size, 8, &source, |n| Some(if n % 2 == 0 { n } else { 8 + n - 1 }))
            }
            Vpinsrq => {
                let [a, b] = self.two(i, 8)?;
                let (source, at): (Vec<T>, _) = ([a, b].concat(), immediate() & 1);
                self.pieces(i, 16, 8, &source, |n| Some(if n == at { 8 } else { n }))
            }
            Vmovddup if size == 16 => {
                let a = self.vector(i, 1, 8)?;
                self.pieces(i, 16, 8, &a, |_| Some(0))
            }
            Vbroadcastf128 | Vbroadcasti128 | Vbroadcasti32x4 | Vbroadcastf32x4 => {
                let a = self.vector(i, 1, 16)?;
                self.pieces(i, size, 16, &a, |_| Some(0))
            }
            Vextractf128 | Vextracti128 | Vextractf32x4 | Vextracti32x4 | Vextracti64x4
            | Vextractf64x4 => {
                self.mask(i)?;
                let piece =
                    if matches!(i.mnemonic(), Vextracti64x4 | Vextractf64x4) { 32 } else { 16 };
                let from = self.vectors[i.op1_register().number()];
                let at = immediate() % (i.op1_register().size() / piece) * piece;
                if i.op0_kind() == OpKind::Memory {
                    return self.memory.store(self.address(i)?, &from[at..at + piece]);
                }
                self.put_vector(i, &from[at..at + piece])
            }
            Vinsertf128 | Vinserti128 | Vinserti32x4 | Vinsertf32x4 | Vinserti64x4
            | Vinsertf64x4 => {
                let piece =
                    if matches!(i.mnemonic(), Vinserti64x4 | Vinsertf64x4) { 32 } else { 16 };
                let [a, b] = [self.vector(i, 1, size)?, self.vector(i, 2, piece)?];
                let (source, at): (Vec<T>, _) = ([a, b].concat(), immediate() % (size / piece));
                self.pieces(i, size, piece, &source, |n| Some(if n == at { 64 / piece } else { n }))
            }
            Vperm2f128 | Vperm2i128 => {
                let [a, b] = self.two(i, size)?;
                let source: Vec<T> = [&a[..32], &b[..32]].concat();
                let by = immediate();
                let control = |n: usize| by >> (4 * n);
                self.pieces(i, size, 16, &source, |n| {
                    (control(n) & 8 == 0).then_some(control(n) & 3)
                })
            }
            Vpblendd => {
                let [a, b] = self.two(i, size)?;
                let (source, by): (Vec<T>, _) = ([a, b].concat(), immediate());
                self.pieces(i, size, 4, &source, |n| {
                    Some(if by >> n & 1 == 1 { 16 + n } else { n })
                })
            }
            Vshufi64x2 | Vshufi32x4 | Vshuff64x2 => {
                let [a, b] = self.two(i, size)?;
                let (source, by, lanes): (Vec<T>, _, _) = ([a, b].concat(), immediate(), size / 16);
                let bits = if lanes == 4 { 2 } else { 1 };
                self.pieces(i, size, 16, &source, |n| {
                    let which = by >> (bits * n) & (lanes - 1);
                    Some(which + if n < lanes / 2 { 0 } else { 4 })
                })
            }
            Vpermi2q | Vpermt2q | Vpermt2pd | Vpermi2pd => {
                let table = matches!(i.mnemonic(), Vpermt2q | Vpermt2pd);
                let [first, second] = [self.vector(i, 0, size)?, self.vector(i, 1, size)?];
                let (a, indices) = if table { (first, second) } else { (second, first) };
                let source: Vec<T> = [a, self.vector(i, 2, size)?].concat();
                let (count, mut places) = (size / 8, [0; 8]);
                for (place, index) in places.iter_mut().zip(indices[..size].chunks(8)) {
                    let index = Value::from_bytes(index).number("unknown: a permutation; it")?;
                    let index = index as usize % (2 * count);
                    *place = index % count + if index < count { 0 } else { 8 };
                }
                self.pieces(i, size, 8, &source, |n| Some(places[n]))
            }
            Ptest | Vptest => {
                let [a, b] = [self.vector(i, 0, size)?, self.vector(i, 1, size)?];
                let both: Vec<T> = (0..size).map(|n| a[n].and(b[n])).collect();
                let other: Vec<T> = (0..size).map(|n| a[n].not().and(b[n])).collect();
                self.flags = [None, all_zero(&mut self.zeros, &both), Some(0), Some(0)];
                if other.iter().all(|byte| byte.known().is_some()) {
                    self.flags[0] = all_zero(&mut self.zeros, &other);
                }
                Ok(())
            }
            Pmovmskb => {
                let bytes: [T; 16] = self.vector(i, 1, 16)?[..16].try_into().expect("16 bytes");
                let mut signs = 0;
                for (n, byte) in bytes.iter().enumerate() {
                    match byte.known() {
                        Some(known) => signs |= u64::from(known >> 7) << n,
                        None => return self.set(i.op0_register(), Signs(bytes)),
                    }
                }
                self.set(i.op0_register(), Number(signs))
            }
            Vzeroupper => {
                self.vectors[..16].iter_mut().for_each(|v| v[16..].fill(T::number(0)));
                Ok(())
            }
            _ => Err("unknown".into()),
        }
    }
}
