//! Runs WebAssembly. Refuses instructions that it does not know, and whatever depends on a secret
//! in a way that is not constant time: a branch, a choice, an address, a length, arithmetic.

use std::collections::HashMap;
use std::error::Error;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use palladion_reference::Byte;
use wasmparser::Operator::{self, *};
use wasmparser::{BinaryReader, BlockType, OperatorsReader, Parser, Payload};
use wasmparser::{DataKind, KnownCustom, MemArg, Name, TypeRef};

use crate::bits::{self, Bit, Bits, ZERO, functions, map};
use crate::kernel::{Kernel, Set};
use crate::machine::{Cpu, Decoded, Instruction};
use crate::memory::{Image, Memory, Region};
use crate::prove::{Call, Messages, Target, symbols};
use crate::term::Symbol;
use crate::x86;

pub const CPU: Cpu = Cpu {
    decode,
    wasm: true,
    nop: &[0x01],
    round: ("Xor", &[0x1a]), // it drops an operand
    features: &["AnyCpu", "Module"],
    kernels: 8,
    // KEY: the address of the key.
    defects: &[
        ("a branch on a key", "02 40 KEY 2d 00 00 0d 00 0b"),
        ("a choice by a key", "41 01 41 02 KEY 2d 00 00 1b 1a"),
        ("an address that depends on a key", "KEY 2d 00 00 28 02 00 1a"),
        ("a length that depends on a key", "41 00 41 00 KEY 2d 00 00 fc 0b 00"),
        ("a division of a key", "KEY 28 02 00 41 03 6e 1a"),
        ("a read after a key", "KEY 2d 00 20 1a"),
        ("a write to a key", "KEY 41 00 3a 00 00"),
        ("a key in static memory", "41 80 80 c0 00 KEY 28 02 00 36 02 00"),
        // local.get 0; call OPEN; i32.const 1; i32.or; return
        ("every tag is right", "20 00 10 ffffffff 0f 41 01 72 0f"),
    ],
    ..x86::CPU
};

/// Where the stack ends, and its length.
const STACK: u64 = 0x7000_0000;
const STACK_LEN: usize = 16 << 10;

/// The number of a function in its addresses.
pub const FUNCTION: u32 = 32;

/// How many parameters, results and locals a function has.
pub type Signature = [usize; 3];

fn decode(code: &[u8], _: u64) -> Option<Decoded> {
    let mut reader = OperatorsReader::new(BinaryReader::new(code, 0));
    reader.read().ok()?;
    let len = reader.original_position() as usize;
    let code: &'static [u8] = code[..len].to_vec().leak();
    let op = OperatorsReader::new(BinaryReader::new(code, 0)).read().ok()?;
    Some(Decoded::Wasm(Box::leak(Box::new(op)), len))
}

/// Reads a module.
pub fn load(data: &[u8]) -> Result<Image, Box<dyn Error>> {
    let mut image = Image::new(&CPU);
    let (mut types, mut kinds, mut names) = (Vec::new(), Vec::new(), HashMap::new());
    let (mut memory, mut pages, mut first, mut bodies) = (Vec::new(), 0, usize::MAX, Vec::new());
    for payload in Parser::new(0).parse_all(data) {
        match payload? {
            Payload::TypeSection(section) => {
                for kind in section.into_iter_err_on_gc_types() {
                    let kind = kind?;
                    types.push([kind.params().len(), kind.results().len(), 0]);
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    if let TypeRef::Func(kind) = import?.ty {
                        image.signatures.push(types[kind as usize]);
                    }
                }
            }
            Payload::FunctionSection(section) => {
                kinds = section.into_iter().collect::<Result<_, _>>()?;
            }
            Payload::MemorySection(section) => {
                for memory in section {
                    pages = memory?.initial as usize;
                }
            }
            Payload::DataSection(section) => {
                for part in section {
                    let part = part?;
                    let DataKind::Active { offset_expr, .. } = part.kind else { continue };
                    let I32Const { value } = offset_expr.get_operators_reader().read()? else {
                        continue;
                    };
                    let (at, end) = (value as usize, value as usize + part.data.len());
                    first = first.min(at);
                    memory.resize(memory.len().max(end), 0);
                    memory[at..end].copy_from_slice(part.data);
                }
            }
            Payload::CodeSectionEntry(body) => bodies.push(body),
            Payload::CustomSection(section) => {
                let KnownCustom::Name(section) = section.as_known() else { continue };
                for part in section {
                    let Name::Function(functions) = part? else { continue };
                    for function in functions {
                        let function = function?;
                        let name = format!("{:#}", rustc_demangle::demangle(function.name));
                        names.insert(function.index as usize, name);
                    }
                }
            }
            _ => {}
        }
    }
    for (body, kind) in bodies.into_iter().zip(kinds) {
        let index = image.signatures.len();
        let locals = body.get_locals_reader()?.into_iter();
        let count = locals.map(|local| Ok(local?.0 as usize)).sum::<wasmparser::Result<_>>()?;
        let [params, results, _] = types[kind as usize];
        image.signatures.push([params, results, count]);
        let mut code = body.get_binary_reader_for_operators()?;
        let code = code.read_bytes(code.bytes_remaining())?.to_vec();
        let name = names.remove(&index).unwrap_or_default();
        image.functions.push((name, (index as u64) << FUNCTION, code));
    }
    // What follows data begins as zeros.
    memory.resize(pages << 16, 0);
    image.parts.push((first as u64, memory.split_off(first)));
    Ok(image)
}

#[derive(Clone)]
enum Value {
    Number(u128),
    /// The lowest bits; the others are zero.
    Bits(Rc<Vec<Bit>>),
}

use Value::Number;

impl Value {
    fn new(bits: impl IntoIterator<Item = Bit>) -> Self {
        let bits: Vec<Bit> = bits.into_iter().collect();
        let number = bits
            .iter()
            .enumerate()
            .try_fold(0, |number, (n, bit)| Some(number | u128::from(bit.known()?) << n));
        number.map_or_else(|| Self::Bits(Rc::new(bits)), Number)
    }
    fn len(&self) -> usize {
        match self {
            Number(number) => 128 - number.leading_zeros() as usize,
            Self::Bits(bits) => bits.len(),
        }
    }
    fn bit(&self, n: usize) -> Bit {
        match self {
            Number(number) if n < 128 => Bit::Sum(number >> n & 1),
            Self::Bits(bits) => bits.get(n).copied().unwrap_or(ZERO),
            _ => ZERO,
        }
    }
    fn bits(&self, len: usize) -> impl Iterator<Item = Bit> {
        (0..len).map(|n| self.bit(n))
    }
    /// The number, which the machine needs for what the caller says.
    fn number(&self, what: &str) -> Result<u64, String> {
        match self {
            Number(number) => Ok(*number as u64),
            _ => Err(format!("{what} depends on a secret")),
        }
    }
    /// Takes each bit of lanes of so many bits from another place of the lane, if there is one.
    fn moved(&self, lane: usize, from: impl Fn(usize) -> Option<usize>) -> Self {
        let bit = |n: usize| from(n % lane).map_or(ZERO, |at| self.bit(n / lane * lane + at));
        Self::new((0..self.len().next_multiple_of(lane)).map(bit))
    }
    fn bytes(&self, size: usize) -> Vec<Bits> {
        (0..size).map(|n| Bits(std::array::from_fn(|i| self.bit(8 * n + i)))).collect()
    }
    fn from_bytes(bytes: &[Bits]) -> Self {
        Self::new(bytes.iter().flat_map(|byte| byte.0))
    }
}

/// Looks up a byte: one of 16, or zero for 128 and more; for other numbers too if it is `defined`.
fn look_up(table: &[Bits], index: Bits, defined: bool) -> Option<Bits> {
    if let Some(index) = index.known() {
        let zero = (defined || index > 127).then_some(Bits([ZERO; 8]));
        return table.get(usize::from(index)).copied().or(zero);
    }
    let table: Vec<u8> = table.iter().map(|byte| byte.known()).collect::<Option<_>>()?;
    let high = &index.0[4..];
    // A linear function of bits is their sum.
    let linear = |n: usize| {
        (0..4).filter(|i| n >> i & 1 == 1).fold(table[0], |sum, i| sum ^ table[1 << i] ^ table[0])
    };
    if high.iter().all(|bit| bit.known() == Some(false)) && (0..16).all(|n| table[n] == linear(n)) {
        let of_bit = |i: usize| (0..8).map(move |p| (i, p));
        let mut out = Bits::constant(table[0]);
        for (i, p) in (0..4).flat_map(of_bit) {
            if (table[1 << i] ^ table[0]) >> p & 1 == 1 {
                out.0[p] = out.0[p].xor(index.0[i]);
            }
        }
        return Some(out);
    }
    let (origin, f) = functions(&index.0)?;
    // Where the index is each number.
    let not = |table: [u64; 4]| table.map(|word: u64| !word);
    let middle = map(map(f[4], f[5], |a, b| a | b), f[6], |a, b| a | b);
    if !defined && map(middle, f[7], |a, b| a & !b) != [0; 4] {
        return None;
    }
    let mut is = vec![not(map(middle, f[7], |a, b| a | b))];
    for i in (0..4).rev() {
        let halves = |is: [u64; 4]| [map(is, f[i], |a, b| a & !b), map(is, f[i], |a, b| a & b)];
        is = is.into_iter().flat_map(halves).collect();
    }
    Some(Bits(std::array::from_fn(|p| {
        let set = (0..16).filter(|n| table[*n] >> p & 1 == 1);
        bits::of(origin, set.fold([0; 4], |sum, n| map(sum, is[n], |a, b| a | b)))
    })))
}

pub struct Wasm<'a> {
    set: &'a Set,
    planted: Option<(usize, &'a Kernel)>,
    memory: Memory<'a, Bits>,
    stack_pointer: Value,
    results: Vec<Value>,
}

impl<'a> Target<'a> for Wasm<'a> {
    type Byte = Bits;
    const WORD: usize = 4;

    fn new(set: &'a Set, _: &Call, planted: Option<(usize, &'a Kernel)>) -> Self {
        let stack = Region {
            name: "the stack",
            start: STACK - STACK_LEN as u64,
            bytes: symbols(b's', STACK_LEN),
            writable: true,
        };
        Self {
            set,
            planted,
            memory: Memory { image: Some(&set.image), regions: vec![stack] },
            stack_pointer: Number(STACK.into()),
            results: Vec::new(),
        }
    }

    fn set(&self) -> &'a Set {
        self.set
    }

    fn memory(&mut self) -> &mut Memory<'a, Bits> {
        &mut self.memory
    }

    fn call(&mut self, function: usize, arguments: &[u64]) -> Result<(), String> {
        let arguments = arguments.iter().map(|n| Number((*n).into())).collect();
        let planted = self.planted.filter(|(number, _)| *number == function);
        self.results = self.run(function, planted.map(|(_, kernel)| kernel), arguments)?;
        match self.stack_pointer {
            Number(end) if end == STACK.into() => Ok(()),
            _ => Err("does not restore the stack pointer".into()),
        }
    }

    fn check_verdict(&mut self, kernel: &Kernel, messages: &Messages<Bits>) -> Result<(), String> {
        let right = match &messages[0].1 {
            expected if kernel.operation == "open" => {
                let each = expected.tag.iter().zip(&expected.given);
                Bit::none(each.flat_map(|(a, b)| a.xor(*b).0))
            }
            _ => Bit::Sum(1),
        };
        let result = self.results.pop().ok_or("returns nothing")?;
        let is_right = result.bit(0).sum() == right.sum()
            && result.bits(32).skip(1).all(|bit| bit.known() == Some(false));
        is_right.then_some(()).ok_or("returns something else than which tags are right".into())
    }
}

/// A block: where branches out of it go, how many values they take along, and how many others are
/// on the stack.
struct Label {
    to: usize,
    takes: usize,
    height: usize,
}

impl<'a> Wasm<'a> {
    /// Runs a function, or the one in its place.
    fn run(
        &mut self,
        function: usize,
        planted: Option<&'a Kernel>,
        arguments: Vec<Value>,
    ) -> Result<Vec<Value>, String> {
        let real = &self.set.functions[function];
        let kernel = planted.unwrap_or(real);
        let [_, results, locals] = self.set.image.signatures[(real.start >> FUNCTION) as usize];
        let mut locals: Vec<Value> = arguments.into_iter().chain(vec![Number(0); locals]).collect();
        let (mut stack, mut at) = (Vec::new(), 0);
        let mut labels = vec![Label { to: kernel.code.len(), takes: results, height: 0 }];
        for _ in 0..1 << 22 {
            let Some(i) = kernel.code.get(at) else {
                return Ok(stack.split_off(stack.len() - results));
            };
            let Decoded::Wasm(op, _) = i.decoded else { return Err("another CPU's".into()) };
            if planted.is_none() {
                self.set.ran[function][at].store(true, Ordering::Relaxed);
            }
            let place = |error| format!("{at} {} in {}: {error}", i.text(), kernel.operation);
            let decide = |stack: &mut Vec<Value>| pop(stack).number("a branch").map_err(place);
            let mut leave = None;
            match op {
                Block { blockty } => {
                    let takes = usize::from(*blockty != BlockType::Empty);
                    labels.push(Label { to: end(kernel, at) + 1, takes, height: stack.len() });
                }
                Loop { .. } => labels.push(Label { to: at, takes: 0, height: stack.len() }),
                End => drop(labels.pop()),
                Br { relative_depth } => leave = Some(*relative_depth),
                BrIf { relative_depth } => {
                    leave = (decide(&mut stack)? != 0).then_some(*relative_depth);
                }
                BrTable { targets } => {
                    let index = decide(&mut stack)? as usize;
                    let depth = targets.targets().nth(index).and_then(Result::ok);
                    leave = Some(depth.unwrap_or(targets.default()));
                }
                Return => leave = Some(labels.len() as u32 - 1),
                LocalGet { local_index } => stack.push(locals[*local_index as usize].clone()),
                LocalSet { local_index } => locals[*local_index as usize] = pop(&mut stack),
                LocalTee { local_index } => {
                    locals[*local_index as usize] = stack.last().expect("a value").clone();
                }
                Operator::Call { function_index } => {
                    // What a defect is planted in front of has this number.
                    let start = match *function_index {
                        u32::MAX => real.start,
                        index => u64::from(index) << FUNCTION,
                    };
                    let number = self.set.numbers.get(&start).copied();
                    let number = number.ok_or_else(|| place("an unknown function".into()))?;
                    let [takes, ..] = self.set.image.signatures[(start >> FUNCTION) as usize];
                    let arguments = stack.split_off(stack.len() - takes);
                    stack.extend(self.run(number, None, arguments)?);
                }
                _ => {
                    let result = self.step(op, &mut stack).map_err(place)?;
                    stack.extend(result);
                }
            }
            at += 1;
            if let Some(depth) = leave {
                labels.truncate(labels.len() - depth as usize);
                let label = labels.pop().expect("a label");
                let taken = stack.split_off(stack.len() - label.takes);
                stack.truncate(label.height);
                stack.extend(taken);
                at = label.to;
            }
        }
        Err("does not end".into())
    }

    /// Runs an instruction that goes on to the next one, and returns its result. Values are 128
    /// bits; those of shorter types have zeros above, so instructions for several types are one.
    fn step(&mut self, op: &Operator, stack: &mut Vec<Value>) -> Result<Option<Value>, String> {
        let mut pops = |n: usize| stack.split_off(stack.len() - n);
        if let Some((bits, f)) = arithmetic(op) {
            let values = pops(2);
            let [a, b] = [0, 1].map(|n| values[n].number("arithmetic"));
            return Ok(Some(Number(u128::from(f(a?, b?)) & u128::MAX >> (128 - bits))));
        }
        if let Some((m, size, stores)) = access(op) {
            let (mut bytes, values) = (vec![Bits([ZERO; 8]); size], pops(1 + usize::from(stores)));
            let address = values[0].number("an address")? + m.offset;
            if stores {
                return self.memory.store(address, &values[1].bytes(size)).map(|()| None);
            }
            self.memory.load(address, &mut bytes)?;
            return Ok(Some(Value::from_bytes(&bytes)));
        }
        let truth = |value: &Value, zero: bool| {
            let none = Bit::none(value.bits(value.len()));
            Value::new([if zero { none } else { none.not() }])
        };
        let shift = |values: &[Value], lane, from: fn(usize, usize, usize) -> Option<usize>| {
            let by = values[1].number("a shift")? as usize % lane;
            Ok::<_, String>(values[0].moved(lane, |n| from(n, by, lane)))
        };
        let left = |n: usize, by, _| n.checked_sub(by);
        let right = |n, by, lane| Some(n + by).filter(|at| *at < lane);
        let set_lane = |values: &[Value], lane: usize, at: u8| {
            let new = |n: usize| n / lane == usize::from(at);
            let bit = |n| if new(n) { values[1].bit(n % lane) } else { values[0].bit(n) };
            Value::new((0..128).map(bit))
        };
        Ok(Some(match op {
            Nop | I64ExtendI32U => return Ok(None),
            GlobalGet { global_index: 0 } => self.stack_pointer.clone(),
            Drop | GlobalSet { global_index: 0 } => {
                let value = pops(1).remove(0);
                if !matches!(op, Drop) {
                    self.stack_pointer = value;
                }
                return Ok(None);
            }
            I32Const { value } => Number((*value as u32).into()),
            I64Const { value } => Number((*value as u64).into()),
            V128Const { value } => Number(value.i128() as u128),
            Select => {
                let mut values = pops(3);
                let second = values[2].number("a choice")? == 0;
                values.swap_remove(second.into())
            }
            MemoryCopy { .. } | MemoryFill { .. } => {
                let values = pops(3);
                let (to, len) = (values[0].number("an address")?, values[2].number("a length")?);
                let mut bytes = vec![values[1].bytes(1)[0]; len as usize];
                if len > 0 && matches!(op, MemoryCopy { .. }) {
                    self.memory.load(values[1].number("an address")?, &mut bytes)?;
                }
                return if len > 0 { self.memory.store(to, &bytes) } else { Ok(()) }.map(|()| None);
            }
            I32Eqz | I64Eqz => truth(&pops(1)[0], true),
            I32Eq | I64Eq | I32Ne | I64Ne => {
                let difference = with(&pops(2), Bit::xor);
                truth(&difference, matches!(op, I32Eq | I64Eq))
            }
            I32And | I64And | V128And => with(&pops(2), Bit::and),
            V128AndNot => with(&pops(2), |a, b| a.and(b.not())),
            I32Or | I64Or | V128Or => with(&pops(2), Bit::or),
            I32Xor | I64Xor | V128Xor => with(&pops(2), Bit::xor),
            V128Not => with(&[pops(1).remove(0), Number(u128::MAX)], Bit::xor),
            V128Bitselect => {
                let [a, b, mask] = pops(3).try_into().unwrap_or_else(|_| unreachable!());
                let difference = with(&[a, b.clone()], Bit::xor);
                with(&[with(&[difference, mask], Bit::and), b], Bit::xor)
            }
            I32WrapI64 => Value::new(pops(1)[0].bits(32)),
            I32Shl | I32x4Shl => shift(&pops(2), 32, left)?,
            I64Shl | I64x2Shl => shift(&pops(2), 64, left)?,
            I32ShrU | I32x4ShrU => shift(&pops(2), 32, right)?,
            I64ShrU | I64x2ShrU => shift(&pops(2), 64, right)?,
            I64Rotl => shift(&pops(2), 64, |n, by, lane| Some((n + lane - by) % lane))?,
            I64x2Splat => {
                let value = &pops(1)[0];
                Value::new((0..128).map(|n| value.bit(n % 64)))
            }
            I64x2ExtractLane { lane } => {
                let value = &pops(1)[0];
                Value::new((0..64).map(|n| value.bit(n + 64 * usize::from(*lane))))
            }
            I32x4ReplaceLane { lane } => set_lane(&pops(2), 32, *lane),
            I64x2ReplaceLane { lane } => set_lane(&pops(2), 64, *lane),
            I8x16Shuffle { lanes } => {
                let bytes: Vec<Bits> = pops(2).iter().flat_map(|value| value.bytes(16)).collect();
                Value::from_bytes(&lanes.map(|at| bytes[usize::from(at)]))
            }
            I8x16Swizzle | I8x16RelaxedSwizzle => {
                let values = pops(2);
                let table = values[0].bytes(16);
                let look_up = |i: Bits| look_up(&table, i, matches!(op, I8x16Swizzle));
                let bytes: Option<Vec<Bits>> =
                    values[1].bytes(16).into_iter().map(look_up).collect();
                Value::from_bytes(&bytes.ok_or("an unknown look-up")?)
            }
            _ => return Err("unknown: an instruction".into()),
        }))
    }
}

type OnNumbers = fn(u64, u64) -> u64;

/// Arithmetic with numbers, and how many bits its result has.
fn arithmetic(op: &Operator) -> Option<(u32, OnNumbers)> {
    Some(match op {
        I32Add => (32, u64::wrapping_add),
        I64Add => (64, u64::wrapping_add),
        I32Sub => (32, u64::wrapping_sub),
        I32Mul => (32, u64::wrapping_mul),
        I32DivU => (32, |a, b| a / b),
        I32LtU => (1, |a, b| (a < b).into()),
        I32GtU => (1, |a, b| (a > b).into()),
        I32LeU => (1, |a, b| (a <= b).into()),
        _ => return None,
    })
}

/// An access to so many bytes, and whether it is a store.
fn access<'a>(op: &'a Operator) -> Option<(&'a MemArg, usize, bool)> {
    Some(match op {
        I32Load8U { memarg } => (memarg, 1, false),
        I32Load16U { memarg } => (memarg, 2, false),
        I32Load { memarg } => (memarg, 4, false),
        I64Load { memarg } => (memarg, 8, false),
        V128Load { memarg } => (memarg, 16, false),
        I32Store8 { memarg } => (memarg, 1, true),
        I32Store16 { memarg } => (memarg, 2, true),
        I32Store { memarg } => (memarg, 4, true),
        I64Store { memarg } => (memarg, 8, true),
        V128Store { memarg } => (memarg, 16, true),
        _ => return None,
    })
}

fn with(values: &[Value], f: impl Fn(Bit, Bit) -> Bit) -> Value {
    let len = values[0].len().max(values[1].len());
    Value::new((0..len).map(|n| f(values[0].bit(n), values[1].bit(n))))
}

fn pop(stack: &mut Vec<Value>) -> Value {
    stack.pop().expect("a value")
}

/// Where the block that begins here has its end.
fn end(kernel: &Kernel, at: usize) -> usize {
    let mut depth = 0;
    let is_end = |i: &Instruction| {
        match i.decoded {
            Decoded::Wasm(Block { .. } | Loop { .. } | If { .. }, _) => depth += 1,
            Decoded::Wasm(End, _) => depth -= 1,
            _ => {}
        }
        depth < 0
    };
    at + 1 + kernel.code[at + 1..].iter().position(is_end).expect("an end")
}
