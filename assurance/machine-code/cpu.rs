//! Compares what instructions do here with what they do on a CPU, on random values. `runner.c`
//! runs them, under QEMU if the CPU is another one.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};

use iced_x86::{Encoder, FlowControl, Mnemonic, OpKind, Register};

use crate::machine::{Cpu, Instruction, Machine};
use crate::memory::{Memory, Region};
use crate::term::{Random, Sample};
use crate::value::Value;
use crate::x86;

/// The sizes and places of `struct record`.
const RECORD: usize = 6592;
const FLAGS: usize = 256;
const MASKS: usize = 264;
const VECTORS: usize = 384;
const MEMORY: usize = 2432;
const CODE: usize = 6528;
const MEMORY_LEN: usize = CODE - MEMORY;
/// Where instructions find operands in memory, and where the stack pointer points.
const OPERAND: u64 = 0x1000_0000 + MEMORY as u64 + 1024;

/// An instruction with operands in memory that exists, its code, and the registers that have to
/// point there, and into there.
struct Form {
    instruction: Instruction,
    code: Vec<u8>,
    base: Option<(usize, i64)>,
    index: Option<usize>,
}

/// Returns the instructions to try, a few of each form.
fn forms<'a>(cpu: Cpu, wide: bool, code: impl Iterator<Item = &'a Instruction>) -> Vec<Form> {
    let mut counts = HashMap::new();
    // All conditions but parity.
    let conditions = (0..16).filter(|cc| cpu == Cpu::X86 && ![10, 11].contains(cc));
    let setcc: Vec<_> = conditions.flat_map(|cc| cpu.decode(&[0x0f, 0x90 + cc, 0xc0], 0)).collect();
    let mut is_new = |key: String| {
        let count = counts.entry(key).or_insert(0);
        *count += 1;
        *count <= 4
    };
    let mut form = |i: &Instruction| match i {
        Instruction::X86(i) => x86_form(*i, wide, &mut is_new),
        Instruction::Arm(i) => {
            let (base, index) = (i.base(), i.index());
            let code = i.code.to_le_bytes().into_iter().chain(NOP.repeat(3)).collect();
            let form = Form { instruction: Instruction::Arm(*i), code, base, index };
            (index.is_none() || base.map(|(base, _)| base) != index)
                .then(|| i.form())
                .flatten()
                .filter(|key| is_new(key.clone()))?;
            Some(form)
        }
    };
    setcc.into_iter().chain(code.copied()).filter_map(|i| form(&i)).collect()
}

/// Does nothing on 64-bit ARM.
const NOP: [u8; 4] = [0x1f, 0x20, 0x03, 0xd5];

fn x86_form(
    mut i: iced_x86::Instruction,
    wide: bool,
    is_new: &mut impl FnMut(String) -> bool,
) -> Option<Form> {
    let operands = 0..i.op_count();
    let kinds: Vec<OpKind> = operands.clone().map(|op| i.op_kind(op)).collect();
    let memory = kinds.contains(&OpKind::Memory);
    let avx512 = i.encoding() == iced_x86::EncodingKind::EVEX
        || operands.clone().any(|op| i.op_register(op).is_k());
    if i.flow_control() != FlowControl::Next || avx512 && !wide || x86::is_padding(&i) {
        return None;
    }
    let moves = memory && i.mnemonic() != Mnemonic::Lea;
    if i.is_ip_rel_memory_operand() && !moves {
        return None;
    }
    let immediate = operands.last().filter(|&op| i.op_kind(op) == OpKind::Immediate8);
    let immediate = immediate.map(|op| i.immediate(op));
    let mask = (i.op_mask() != Register::None, i.zeroing_masking());
    if !is_new(format!("{:?} {kinds:?} {immediate:?} {mask:?}", i.code())) {
        return None;
    }
    if moves {
        i.set_memory_base(Register::None);
        i.set_memory_index(Register::None);
        i.set_memory_displacement64(OPERAND);
        i.set_memory_displ_size(4);
    }
    let mut encoder = Encoder::new(64);
    encoder.encode(&i, 0).ok()?;
    let mut code = encoder.take_buffer();
    code.resize(16, 0x90);
    Some(Form { instruction: Instruction::X86(i), code, base: None, index: None })
}

/// A number for a general register, often one of the interesting ones.
fn number(random: &mut Random) -> u64 {
    let (r, n) = (random.next(), random.next());
    match r % 8 {
        0 => 0,
        1 => u64::MAX,
        2 => 1 << (n % 64),
        3 => (1 << (n % 64)) - 1,
        4 => n % 256,
        _ => n,
    }
}

/// Compares all forms of instructions, run by the command. Returns how many were compared, and
/// what differs.
pub fn compare<'a>(
    cpu: Cpu,
    runner: &str,
    code: impl Iterator<Item = &'a Instruction>,
) -> io::Result<(usize, Vec<String>)> {
    let mut words = runner.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    let mut child = command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let wide = runner.ends_with("-DWIDE");
    let forms = forms(cpu, wide, code);
    let (mut random, mut different) = (Random(1), Vec::new());
    for form in &forms {
        let mut tries = Vec::new();
        for round in 0..100 {
            let (machine, record) = begin(cpu, form, round % 2 == 1, &mut random);
            let mut after = machine;
            match form.instruction.run(&mut after) {
                Ok(()) => tries.push((after, record)),
                Err(_) if round % 2 == 1 => {}
                Err(error) if error.contains("overflows") => {}
                Err(error) => different.push(format!("{}: {error}", form.instruction.text())),
            }
        }
        let records: Vec<&[u8]> = tries.iter().map(|(_, record)| &record[..]).collect();
        let found = run(&mut child, &records)?;
        let differences =
            tries.iter().zip(found.chunks(RECORD)).filter_map(|((machine, _), found)| {
                let count = if wide || cpu == Cpu::Arm { 32 } else { 16 };
                let width = if wide {
                    64
                } else if cpu == Cpu::Arm {
                    16
                } else {
                    32
                };
                difference(cpu, machine, found, count, width)
            });
        let first = differences.into_iter().next();
        different.extend(first.map(|what| format!("{}: {what}", form.instruction.text())));
    }
    drop(child.stdin.take());
    child.wait()?;
    Ok((forms.len(), different))
}

/// Has the runner run all records.
fn run(child: &mut Child, records: &[&[u8]]) -> io::Result<Vec<u8>> {
    let (input, output) = (child.stdin.as_mut(), child.stdout.as_mut());
    let (input, output) = input.zip(output).ok_or(io::ErrorKind::BrokenPipe)?;
    input.write_all(&(records.len() as u32).to_le_bytes())?;
    input.write_all(&records.concat())?;
    input.flush()?;
    let mut found = vec![0; RECORD * records.len()];
    output.read_exact(&mut found)?;
    Ok(found)
}

/// Returns random registers and memory, twice. If `hide`, some look like secrets to the machine,
/// which may refuse the instruction.
fn begin(
    cpu: Cpu,
    form: &Form,
    hide: bool,
    random: &mut Random,
) -> (Machine<'static, Sample>, Vec<u8>) {
    let mut general: [u64; 32] = std::array::from_fn(|_| number(random));
    if matches!(form.instruction, Instruction::X86(i) if i.mnemonic() == Mnemonic::Div) {
        general[2] = random.next() % 4;
    }
    if let Some(index) = form.index {
        general[index] = random.next() % 64 * 8;
    }
    for (pointer, offset) in [(cpu.stack_pointer(), 0)].into_iter().chain(form.base) {
        general[pointer] = OPERAND.wrapping_sub((offset & !15) as u64);
    }
    let flags = random.next();
    let masks: [u64; 8] = std::array::from_fn(|_| number(random));
    let mut vectors = [[0u8; 64]; 32];
    for n in 0..32 {
        vectors[n] = match random.next() % 5 {
            0 => [0; 64],
            1 if n > 0 => vectors[n - 1],
            2 => [0xff; 64],
            _ => std::array::from_fn(|_| random.next() as u8),
        };
    }
    let mut memory = vec![0; MEMORY_LEN];
    if !random.next().is_multiple_of(4) {
        memory.fill_with(|| random.next() as u8);
    }
    let bits = flag_bits(cpu);
    let kept = bits.iter().fold(0, |mask, bit| mask | 1 << bit);
    let mut record = vec![0; RECORD];
    let mut put = |at: usize, from: &[u8]| record[at..at + from.len()].copy_from_slice(from);
    put(0, general.map(u64::to_le_bytes).as_flattened());
    put(FLAGS, &(flags & kept).to_le_bytes());
    put(MASKS, masks.map(u64::to_le_bytes).as_flattened());
    put(VECTORS, vectors.as_flattened());
    put(MEMORY, &memory);
    put(CODE, &form.code);

    let mut hidden = || hide && random.next().is_multiple_of(2);
    let sample = |hidden: bool| move |value: u8| Sample { value, hidden };
    let bytes = memory.into_iter().map(sample(hidden())).collect();
    let start = OPERAND - 1024;
    let general = general.map(|number| {
        let is_pointer = number.abs_diff(OPERAND) < 1 << 16;
        let hidden = !is_pointer && hidden();
        Value::from_bytes(&number.to_le_bytes().map(sample(hidden)))
    });
    let machine = Machine {
        general,
        vectors: Box::new(vectors.map(|vector| vector.map(sample(hidden())))),
        masks: masks.map(Some),
        flags: bits.map(|bit| Some(if flags >> bit & 1 == 1 { 0xffff } else { 0 })),
        ip: 0,
        memory: Memory {
            image: None,
            regions: vec![Region { name: "memory", start, bytes, writable: true }],
        },
        zeros: Vec::new(),
        stored: Vec::new(),
    };
    (machine, record)
}

/// The bits of the carry, zero, sign and overflow flags.
fn flag_bits(cpu: Cpu) -> [u32; 4] {
    if cpu == Cpu::X86 { [0, 6, 7, 11] } else { [29, 30, 31, 28] }
}

/// Says what differs, if anything does.
fn difference(
    cpu: Cpu,
    machine: &Machine<Sample>,
    found: &[u8],
    count: usize,
    width: usize,
) -> Option<String> {
    let word = |at: usize| u64::from_le_bytes(found[at..at + 8].try_into().expect("8 bytes"));
    // Which of the cases this is.
    let all_zero = |zeros: &Vec<Sample>| zeros.iter().all(|byte| byte.value == 0);
    let zeros = machine.zeros.iter().enumerate();
    let case = zeros.map(|(n, zeros)| usize::from(all_zero(zeros)) << n).sum::<usize>();
    let registers = if cpu == Cpu::X86 { 16 } else { 32 };
    for (n, value) in machine.general[..registers].iter().enumerate() {
        let (expected, mask) = match value {
            Value::Number(number) => (*number, u64::MAX),
            Value::Cases(cases) => (cases[case], u64::MAX),
            Value::Low(cases) => (cases[case], 0xff),
            Value::Bytes(bytes) => (u64::from_le_bytes(bytes.map(|byte| byte.value)), u64::MAX),
            Value::Signs(bytes) => {
                let sign = |(n, byte): (usize, &Sample)| u64::from(byte.value >> 7) << n;
                (bytes.iter().enumerate().map(sign).sum(), u64::MAX)
            }
        };
        if word(8 * n) & mask != expected & mask {
            return Some(format!("register {n} is {:x} instead of {expected:x}", word(8 * n)));
        }
    }
    for (flag, bit) in machine.flags.iter().zip(flag_bits(cpu)) {
        if flag.is_some_and(|flag| u64::from(flag >> case & 1) != word(FLAGS) >> bit & 1) {
            return Some(format!("bit {bit} of the flags differs"));
        }
    }
    for (n, mask) in machine.masks.iter().enumerate() {
        if mask.is_some_and(|mask| mask != word(MASKS + 8 * n)) {
            return Some(format!("mask {n} differs"));
        }
    }
    let same = |bytes: &[Sample], at: usize| {
        bytes.iter().map(|byte| byte.value).eq(found[at..at + bytes.len()].iter().copied())
    };
    let vector = |n: &usize| !same(&machine.vectors[*n][..width], VECTORS + 64 * n);
    if let Some(n) = (0..count).find(vector) {
        return Some(format!("vector {n} differs"));
    }
    (!same(&machine.memory.regions[0].bytes, MEMORY)).then(|| "memory differs".into())
}
