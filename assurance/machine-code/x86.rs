//! Runs x86-64 instructions. Refuses those it does not know, and whatever depends on a secret in a
//! way that is not constant time.

use std::ops::Range;

use iced_x86::{ConditionCode, FlowControl, RflagsBits};
use iced_x86::{Decoder, DecoderOptions, EncodingKind, Instruction, Mnemonic, OpKind, Register};
use palladion_reference::{AesBlock, Byte};

use crate::machine::{Address, Cpu, Decoded, Machine, Result, decide};
use crate::term::{Block, Symbol, Term};
use crate::value::{Flag, Operation, Value, Value::Number, all_zero};

/// The carry, zero, sign and overflow flags.
const FLAGS: [u32; 4] = [RflagsBits::CF, RflagsBits::ZF, RflagsBits::SF, RflagsBits::OF];
const RAX: usize = 0;
const RDX: usize = 2;
const RSP: usize = 4;

pub const CPU: Cpu = Cpu {
    decode,
    wasm: false,
    nop: &[0x90],
    round: ("aes", &[]),
    stack_pointer: RSP,
    arguments: &[7, 6, 2, 1, 8, 9],
    saved: &[3, 5, 12, 13, 14, 15],
    saved_vectors: 0..0,
    link: None,
    vector: 32,
    flags: [0, 6, 7, 11],
    features: &["Sse", "Avx", "Vaes", "Vaes512"],
    kernels: 280,
    // The address of the message is in `rdi`. It begins with the address of the key.
    defects: &[
        ("a branch on a key", "48 8b 07 8a 00 84 c0 74 00"),
        ("an address that depends on a key", "48 8b 07 0f b6 00 8a 04 04"),
        ("a shift count that depends on a key", "48 8b 0f 8a 09 d3 e0"),
        ("a division of a key", "31 d2 31 c9 48 8b 07 8b 00 ff c1 f7 f1"),
        ("a read after a key", "48 8b 07 8a 40 20"),
        ("a write to a key", "48 8b 07 c6 00 00"),
        ("a write to a caller's frame", "48 89 44 24 08"),
        ("a static variable", "8a 05 00 00 00 70"),
        ("a register that is not restored", "31 db"),
        ("a part of a key on the stack", "48 8b 07 8b 00 89 44 24 80"),
        // sub rsp, 8; call OPEN; mov al, 1; add rsp, 8; ret; OPEN:
        ("every tag is right", "48 83 ec 08 e8 07 00 00 00 b0 01 48 83 c4 08 c3"),
    ],
    go: false,
};

/// Programs in Go.
pub const GO: Cpu = Cpu {
    saved: &[5],
    kernels: 93,
    // The address of the message is in `[rsp + 8]`.
    defects: &[
        ("a branch on a key", "48 8b 7c 24 08 48 8b 07 8a 00 84 c0 74 00"),
        ("an address that depends on a key", "48 8b 7c 24 08 48 8b 07 0f b6 00 8a 04 04"),
        ("a write to a key", "48 8b 7c 24 08 48 8b 07 c6 00 00"),
        ("a write to a caller's frame", "c6 44 24 18 00"),
        ("a write after the result", "c6 44 24 11 00"),
        ("a register that is not restored", "31 ed"),
        ("a part of a key on the stack", "48 8b 7c 24 08 48 8b 07 8b 00 89 84 24 00 fc ff ff"),
        // mov rdi, [rsp + 8]; push rax; push rax; push rdi; call OPEN; add rsp, 24;
        // mov byte ptr [rsp + 16], 1; ret; OPEN:
        (
            "every tag is right",
            "48 8b 7c 24 08 50 50 57 e8 0a 00 00 00 48 83 c4 18 c6 44 24 10 01 c3",
        ),
    ],
    go: true,
    ..CPU
};

/// Where Go keeps the address of the goroutine: at `fs:[-8]`.
pub const THREAD: u64 = 0x5000_0000;

fn decode(code: &[u8], ip: u64) -> Option<Decoded> {
    Decoder::with_ip(64, code, ip, DecoderOptions::NONE).into_iter().next().map(Decoded::X86)
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
}

/// Whether it belongs to VAES or AVX-512.
pub fn is_wide(i: &Instruction) -> bool {
    i.encoding() == EncodingKind::EVEX
        || registers(i).any(Register::is_k)
        || i.mnemonic() == Mnemonic::Vaesenc && i.op0_register().is_ymm()
}

fn registers(i: &Instruction) -> impl Iterator<Item = Register> {
    (0..i.op_count()).map(|op| i.op_register(op))
}

pub fn form(i: &Instruction) -> Option<String> {
    let kinds: Vec<OpKind> = i.op_kinds().collect();
    let is_byte = |op: &u32| i.op_kind(*op) == OpKind::Immediate8;
    let immediate = (0..i.op_count()).find(is_byte).map(|op| i.immediate(op));
    let (mask, zeroes) = (i.op_mask() != Register::None, i.zeroing_masking());
    let runs = i.flow_control() == FlowControl::Next && !is_padding(i);
    let runs = runs && i.segment_prefix() == Register::None;
    runs.then(|| format!("{:?} {kinds:?} {immediate:?} {mask} {zeroes}", i.code()))
}

pub fn address(i: &Instruction) -> Address {
    let number = |register: Register| register.is_gpr64().then(|| register.number());
    Address {
        base: number(i.memory_base()),
        index: number(i.memory_index()),
        scale: i.memory_index_scale().into(),
        offset: match i.segment_prefix() {
            Register::FS => THREAD.wrapping_add(i.memory_displacement64()),
            _ => i.memory_displacement64(),
        },
    }
}

/// The size of an operand.
fn size_of(i: &Instruction, op: u32) -> usize {
    match i.op_kind(op) {
        OpKind::Register => i.op_register(op).size(),
        _ => i.memory_size().size(),
    }
}

/// The place of a register in the machine.
fn number(register: Register) -> Result<usize> {
    match register {
        Register::AH | Register::BH | Register::CH | Register::DH => {
            Err("uses the second byte of a register".into())
        }
        _ if register.is_k() => Ok(32 + register.number()),
        _ => Ok(register.full_register().number()),
    }
}

impl Machine<'_> {
    fn get(&self, register: Register) -> Result<Value> {
        Ok(self.low(number(register)?, register.size()))
    }

    fn set(&mut self, register: Register, value: Value) -> Result<()> {
        let (number, size) = (number(register)?, register.size());
        let (old, new) = (self.general[number], value.truncate(size));
        let low = u64::MAX >> (64 - 8 * size);
        self.general[number] = if size >= 4 {
            new
        } else if let Some(value) = old.map(new, |old, new| old & !low | new) {
            value
        } else {
            let (mut bytes, new) = (self.bytes_of(old)?, self.bytes_of(new)?);
            bytes[..size].copy_from_slice(&new[..size]);
            Value::from_bytes(&bytes)
        };
        Ok(())
    }

    /// The address of the operand in memory, aligned as it has to be.
    fn address(&self, i: &Instruction) -> Result<u64> {
        use Mnemonic::*;
        let (address, size) =
            (self.sum(&address(i))?.number("an address")?, i.memory_size().size());
        let aligned = match i.mnemonic() {
            Movups | Movdqu => false,
            Vmovdqa | Vmovdqa64 | Vmovaps | Vmovapd => true,
            _ => i.encoding() == EncodingKind::Legacy && size == 16,
        };
        if aligned && !address.is_multiple_of(size as u64) {
            return Err(format!("{address:#x} is not aligned"));
        }
        Ok(address)
    }

    /// A number or bytes for general registers.
    fn operand(&self, i: &Instruction, op: u32) -> Result<Value> {
        match i.op_kind(op) {
            OpKind::Register => self.get(i.op_register(op)),
            OpKind::Memory => self.load(self.address(i)?, i.memory_size().size()),
            OpKind::NearBranch64 => Ok(Number(i.near_branch_target())),
            _ => {
                let number = i.try_immediate(op).map_err(|_| "unknown: an operand")?;
                Ok(Number(number).truncate(size_of(i, 0)))
            }
        }
    }

    fn put(&mut self, i: &Instruction, value: Value) -> Result<()> {
        match i.op0_kind() {
            OpKind::Register => self.set(i.op0_register(), value),
            _ => self.store(self.address(i)?, value, i.memory_size().size()),
        }
    }

    /// Which bytes of an operand an instruction applies to. Only moves with masks are known.
    fn mask(&self, i: &Instruction, size: usize) -> Result<Vec<Range<usize>>> {
        if i.op_mask() == Register::None {
            return Ok(std::iter::once(0..size).collect());
        }
        let element = match i.mnemonic() {
            Mnemonic::Vmovdqu8 => 1,
            Mnemonic::Vmovdqu64 => 8,
            _ => return Err("unknown: a mask".into()),
        };
        let mask = self.get(i.op_mask())?.number("a mask")?;
        let is_set = |n: &usize| mask >> (n / element) & 1 == 1;
        Ok((0..size).filter(is_set).map(|n| n..n + 1).collect())
    }

    /// The bytes of an operand of an instruction on vectors, and zeros after them.
    fn vector(&self, i: &Instruction, op: u32) -> Result<[Term; 64]> {
        let mut bytes = [Term::ZERO; 64];
        let register = i.op_register(op);
        if register.is_vector_register() {
            return Ok(self.vectors[register.number()]);
        }
        if i.op_kind(op) == OpKind::Register {
            bytes[..8].copy_from_slice(&self.get(register)?.bytes()?);
            return Ok(bytes);
        }
        let address = self.address(i)?;
        for part in self.mask(i, i.memory_size().size())? {
            self.memory.load(address.wrapping_add(part.start as u64), &mut bytes[part])?;
        }
        Ok(bytes)
    }

    /// Writes the first operand. Without VEX the bytes above stay in a vector register.
    fn put_vector(&mut self, i: &Instruction, value: &[Term; 64]) -> Result<()> {
        let (register, size) = (i.op0_register(), size_of(i, 0));
        let parts = self.mask(i, size)?;
        if i.op0_kind() == OpKind::Memory {
            let address = self.address(i)?;
            for part in parts {
                self.memory.store(address.wrapping_add(part.start as u64), &value[part])?;
            }
            return Ok(());
        }
        if !register.is_vector_register() {
            return self.set(register, Value::from_bytes(&value[..size]));
        }
        let to = &mut self.vectors[register.number()];
        if i.zeroing_masking() {
            to[..size].fill(Term::ZERO);
        }
        for part in parts {
            to[part.clone()].copy_from_slice(&value[part]);
        }
        if i.encoding() != EncodingKind::Legacy {
            to[size..].fill(Term::ZERO);
        }
        Ok(())
    }

    /// All operands that are read, with 64 bytes each.
    fn sources(&self, i: &Instruction) -> Result<Vec<Term>> {
        use Mnemonic::*;
        let reads_first = i.encoding() == EncodingKind::Legacy
            || matches!(i.mnemonic(), Vpternlogq | Vpermt2q | Vpermt2pd | Vptest);
        let mut sources = Vec::with_capacity(192);
        for op in u32::from(!reads_first)..i.op_count() {
            if i.op_kind(op) != OpKind::Immediate8 {
                sources.extend(self.vector(i, op)?);
            }
        }
        Ok(sources)
    }

    /// Computes each byte from those of the two sources.
    fn bytewise(&mut self, i: &Instruction, f: impl Fn(Term, Term) -> Term) -> Result<()> {
        let sources = self.sources(i)?;
        let mut value = [Term::ZERO; 64];
        for n in 0..size_of(i, 0) {
            value[n] = f(sources[n], sources[64 + n]);
        }
        self.put_vector(i, &value)
    }

    /// Makes a vector of pieces of `piece` bytes: which of the sources' is at each place.
    fn pieces(
        &mut self,
        i: &Instruction,
        piece: usize,
        which: impl Fn(usize) -> Option<usize>,
    ) -> Result<()> {
        let sources = self.sources(i)?;
        let mut value = [Term::ZERO; 64];
        for (n, to) in value[..size_of(i, 0)].chunks_mut(piece).enumerate() {
            if let Some(from) = which(n) {
                to.copy_from_slice(&sources[from * piece..][..piece]);
            }
        }
        self.put_vector(i, &value)
    }

    /// The condition of a conditional instruction.
    fn condition(&self, i: &Instruction) -> Flag {
        let [carry, zero, sign, overflow] = self.flags;
        // Instructions have conditions in this order.
        let code = (i.condition_code() as usize).checked_sub(1)?;
        let holds = match code / 2 {
            0 => overflow,
            1 => carry,
            2 => zero,
            3 => Some(carry? | zero?),
            4 => sign,
            6 => Some(sign? ^ overflow?),
            7 => Some((sign? ^ overflow?) | zero?),
            _ => None,
        };
        if code % 2 == 1 { Some(!holds?) } else { holds }
    }

    /// Arithmetic with two operands, which writes the first one unless it only compares.
    fn arithmetic_x86(&mut self, i: &Instruction) -> Result<()> {
        use Mnemonic::*;
        let (m, size, last) = (i.mnemonic(), size_of(i, 0), i.op_count() - 1);
        let (a, b) = (self.operand(i, last.saturating_sub(1))?, self.operand(i, last)?);
        let same = i.op1_kind() == OpKind::Register && i.op0_register() == i.op1_register();
        let (operation, values) = match m {
            Add | Adc => (Operation::Add, [a, b]),
            Sub | Xor if same => (Operation::Xor, [Number(0); 2]),
            Sub | Cmp => (Operation::Subtract, [a, b]),
            Inc => (Operation::Add, [a, Number(1)]),
            Dec => (Operation::Subtract, [a, Number(1)]),
            Neg => (Operation::Subtract, [Number(0), a]),
            Not => (Operation::Xor, [a, Number(u64::MAX).truncate(size)]),
            Imul => (Operation::Multiply, [a, b]),
            And | Test => (Operation::And, [a, b]),
            Or => (Operation::Or, [a, b]),
            Xor => (Operation::Xor, [a, b]),
            Shl | Shr => {
                let by = b.number("a shift count")? & if size == 8 { 63 } else { 31 };
                if by == 0 {
                    return self.put(i, a);
                }
                let left = m == Shl;
                let shift = if left { Operation::ShiftLeft } else { Operation::ShiftRight };
                (shift, [a, Number(by)])
            }
            _ => return Err("unknown".into()),
        };
        let carry = if m == Adc { u64::from(decide(self.flags[0])?) } else { 0 };
        let (result, flags) = self.arithmetic(operation, size, values, carry)?;
        for n in 0..4 {
            let is_overflow_of_shift = n == 3 && matches!(m, Shl | Shr);
            if i.rflags_undefined() & FLAGS[n] != 0 || is_overflow_of_shift {
                self.flags[n] = None;
            } else if i.rflags_modified() & FLAGS[n] != 0 {
                self.flags[n] = flags[n];
            }
        }
        if matches!(m, Cmp | Test) { Ok(()) } else { self.put(i, result) }
    }

    pub fn push(&mut self, value: Value) -> Result<()> {
        let at = self.general[RSP].number("the stack pointer")?.wrapping_sub(8);
        self.general[RSP] = Number(at);
        self.store(at, value, 8)
    }

    pub fn pop(&mut self) -> Result<Value> {
        let at = self.general[RSP].number("the stack pointer")?;
        self.general[RSP] = Number(at.wrapping_add(8));
        self.load(at, 8)
    }

    /// Runs an instruction. `ip` is that of the next one already.
    pub fn step_x86(&mut self, i: &Instruction) -> Result<()> {
        if i.mnemonic() == Mnemonic::Nop {
            return Ok(());
        }
        let half = [i.memory_base(), i.memory_index()].into_iter().any(Register::is_gpr32);
        if half || ![Register::None, Register::FS].contains(&i.segment_prefix()) {
            return Err("unknown: an address".into());
        }
        match i.flow_control() {
            FlowControl::Next if registers(i).any(Register::is_vector_register) => {
                return self.step_vectors(i);
            }
            FlowControl::Next => return self.step_general(i),
            FlowControl::ConditionalBranch => {
                if decide(self.condition(i))? {
                    self.ip = i.near_branch_target();
                }
            }
            FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => {
                self.ip = self.operand(i, 0)?.number("a jump")?;
            }
            FlowControl::Call | FlowControl::IndirectCall => {
                self.ip = self.operand(i, 0)?.number("a call")?;
                self.push(Number(i.next_ip()))?;
            }
            FlowControl::Return => self.ip = self.pop()?.number("the return address")?,
            _ => return Err("unknown".into()),
        }
        Ok(())
    }

    fn step_general(&mut self, i: &Instruction) -> Result<()> {
        use Mnemonic::*;
        let size = size_of(i, 0);
        let result = match i.mnemonic() {
            Mov | Movzx | Kmovq => self.operand(i, 1)?,
            Lea => self.sum(&address(i))?,
            Div if size >= 4 => return self.divide(i, size),
            Push => {
                let value = self.operand(i, 0)?;
                return self.push(value);
            }
            Pop => self.pop()?,
            Kmovw => self.operand(i, 1)?.truncate(2),
            Kmovd => self.operand(i, 1)?.truncate(4),
            Kunpckwd | Kunpckdq => {
                let half = if i.mnemonic() == Kunpckwd { 2 } else { 4 };
                let (high, low) = (self.operand(i, 1)?, self.operand(i, 2)?.truncate(half));
                let both = high.map(low, |high, low| high << (8 * half) | low);
                both.ok_or("a mask depends on a secret")?.truncate(2 * half)
            }
            // `set` has one operand, and `cmov` has two.
            _ if i.condition_code() != ConditionCode::None && i.op_count() == 1 => {
                Value::flag(self.condition(i)).ok_or("a flag depends on a secret")?
            }
            _ if i.condition_code() != ConditionCode::None && i.op_count() == 2 => {
                // The source is read, and the upper half zeroed, in any case.
                let (old, new) = (self.operand(i, 0)?, self.operand(i, 1)?);
                if decide(self.condition(i))? { new } else { old }
            }
            Vzeroupper => {
                self.vectors[..16].iter_mut().for_each(|v| v[16..].fill(Term::ZERO));
                return Ok(());
            }
            Imul if i.op_count() == 1 => return Err("unknown".into()),
            _ if i.op_count() > 0 => return self.arithmetic_x86(i),
            _ => return Err("unknown".into()),
        };
        self.put(i, result)
    }

    fn divide(&mut self, i: &Instruction, size: usize) -> Result<()> {
        let number = |value: Value| value.number("a division").map(u128::from);
        let (high, low) = (number(self.low(RDX, size))?, number(self.low(RAX, size))?);
        let (by, of) = (number(self.operand(i, 0)?)?, high << (8 * size) | low);
        if by <= high {
            return Err("a division overflows".into());
        }
        self.flags = [None; 4];
        self.general[RAX] = Number((of / by) as u64);
        self.general[RDX] = Number((of % by) as u64);
        Ok(())
    }

    fn step_vectors(&mut self, i: &Instruction) -> Result<()> {
        use Mnemonic::*;
        if i.is_broadcast() {
            return Err("unknown: broadcasts an operand".into());
        }
        let size = size_of(i, 0);
        let immediate = || i.immediate(i.op_count() - 1) as usize;
        match i.mnemonic() {
            Movaps | Movups | Movdqa | Movdqu | Vmovaps | Vmovups | Vmovapd | Vmovupd | Vmovdqa
            | Vmovdqu | Vmovdqa64 | Vmovdqu64 | Vmovdqu8 | Movd | Movq | Vmovd | Vmovq | Vmovss
                if i.op_count() == 2 =>
            {
                let mut value = self.vector(i, 1)?;
                let size = match i.mnemonic() {
                    Movd | Vmovd | Vmovss => 4,
                    Movq | Vmovq => 8,
                    _ => 64,
                };
                value[size..].fill(Term::ZERO);
                self.put_vector(i, &value)
            }
            Pxor | Xorps | Vpxor | Vpxord | Vpxorq | Vxorps => self.bytewise(i, Term::xor),
            Pand | Andps | Vpand | Vpandd | Vpandq | Vandps => self.bytewise(i, Term::and),
            Por | Vpor | Vpord | Vporq => self.bytewise(i, Term::or),
            Pcmpeqb => self.bytewise(i, |a, b| a.xor(b).is_zero()),
            Vpternlogq => {
                let sources = self.sources(i)?;
                let entry = |n: usize| immediate() >> n & 1 == 1;
                let value = std::array::from_fn(|n| {
                    // Each operand chooses one of two entries of the table that is left.
                    let mut table: [Term; 8] =
                        std::array::from_fn(|n| Term::number(if entry(n) { 0xff } else { 0 }));
                    for (operand, len) in [(2, 4), (1, 2), (0, 1)] {
                        for at in 0..len {
                            let [a, b] = [table[2 * at], table[2 * at + 1]];
                            table[at] = sources[64 * operand + n].and(a.xor(b)).xor(a);
                        }
                    }
                    table[0]
                });
                self.put_vector(i, &value)
            }
            Aesenc | Vaesenc => {
                let sources = self.sources(i)?;
                let mut value = [Term::ZERO; 64];
                for lane in (0..size).step_by(16) {
                    let block = |at: usize| -> Block {
                        sources[at + lane..][..16].try_into().expect("16 bytes")
                    };
                    let round = block(0).aes_round(block(64));
                    value[lane..lane + 16].copy_from_slice(&round);
                }
                self.put_vector(i, &value)
            }
            Pshufb | Vpshufb => {
                let mut places = [None; 64];
                let indices = self.vector(i, i.op_count() - 1)?;
                for (n, index) in indices[..size].iter().enumerate() {
                    let index = usize::from(index.known().ok_or("unknown: a shuffle by secrets")?);
                    places[n] = (index < 0x80).then_some(n / 16 * 16 + index % 16);
                }
                self.pieces(i, 1, |n| places[n])
            }
            Psllq | Vpsllq if i.op_kind(i.op_count() - 1) == OpKind::Immediate8 => {
                let mut value: [Term; 64] = self.sources(i)?[..64].try_into().expect("64 bytes");
                for word in value[..size].chunks_mut(8) {
                    let number = Value::from_bytes(word).number("unknown: a shift; it")?;
                    let shifted = number.checked_shl(immediate() as u32).unwrap_or(0);
                    word.copy_from_slice(&shifted.to_le_bytes().map(Term::number));
                }
                self.put_vector(i, &value)
            }
            Punpcklqdq | Vpunpcklqdq => self.pieces(i, 8, |n| Some(n / 2 * 2 + n % 2 * 8)),
            Vpinsrq => self.pieces(i, 8, |n| Some(if n == immediate() % 2 { 8 } else { n })),
            Vmovddup if size == 16 => self.pieces(i, 8, |_| Some(0)),
            Vbroadcastf128 | Vbroadcasti128 | Vbroadcasti32x4 => self.pieces(i, 16, |_| Some(0)),
            Vextractf128 | Vextracti128 | Vextractf32x4 | Vextracti32x4 | Vextracti64x4
            | Vextractf64x4 => {
                let which = immediate() % (size_of(i, 1) / size);
                self.pieces(i, size, |_| Some(which))
            }
            Vinsertf128 | Vinserti128 | Vinserti32x4 | Vinserti64x4 | Vinsertf64x4 => {
                let piece = size_of(i, 2);
                let at = immediate() % (size / piece);
                self.pieces(i, piece, |n| Some(if n == at { 64 / piece } else { n }))
            }
            Vperm2f128 | Vperm2i128 => self.pieces(i, 16, |n| {
                let control = immediate() >> (4 * n);
                (control & 8 == 0).then_some((control & 1) + 2 * (control & 2))
            }),
            Vpblendd => {
                self.pieces(i, 4, |n| Some(if immediate() >> n & 1 == 1 { 16 + n } else { n }))
            }
            Vshufi64x2 => {
                let lanes = size / 16;
                let bits = if lanes == 4 { 2 } else { 1 };
                self.pieces(i, 16, |n| {
                    let which = immediate() >> (bits * n) & (lanes - 1);
                    Some(which + if n < lanes / 2 { 0 } else { 4 })
                })
            }
            Vpermi2q | Vpermt2q | Vpermt2pd => {
                // The indices are either what is overwritten, or between the two sources.
                let (indices, second) = if i.mnemonic() == Vpermi2q { (0, 8) } else { (1, 16) };
                let indices = self.vector(i, indices)?;
                let (count, mut places) = (size / 8, [0; 8]);
                for (place, index) in places.iter_mut().zip(indices[..size].chunks(8)) {
                    let index = Value::from_bytes(index).number("unknown: a permutation; it")?;
                    let index = index as usize % (2 * count);
                    *place = index % count + if index < count { 0 } else { second };
                }
                self.pieces(i, 8, |n| Some(places[n]))
            }
            Vptest => {
                let sources = self.sources(i)?;
                let (a, b) = sources.split_at(64);
                let both: Vec<Term> = (0..size).map(|n| a[n].and(b[n])).collect();
                let other: Vec<Term> = (0..size).map(|n| a[n].not().and(b[n])).collect();
                self.flags = [None, all_zero(&mut self.zeros, &both), Some(0), Some(0)];
                if other.iter().all(|byte| byte.known().is_some()) {
                    self.flags[0] = all_zero(&mut self.zeros, &other);
                }
                Ok(())
            }
            Pmovmskb => {
                let bytes = self.vector(i, 1)?[..16].try_into().expect("16 bytes");
                self.set(i.op0_register(), Value::from_bytes(&Term::signs(bytes)))
            }
            _ => Err("unknown".into()),
        }
    }
}
