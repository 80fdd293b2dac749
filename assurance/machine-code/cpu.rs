//! Compares what instructions do here with what they do on a CPU, on random values. `runner.c`
//! runs them, in an emulator if this CPU does not have them.

use std::collections::{BTreeMap, HashMap};
use std::process::{Command, Stdio};

use crate::machine::{Cpu, Decoded, Instruction, Machine};
use crate::memory::{Memory, Region};
use crate::term::{Random, Symbol, Term};
use crate::value::{Flag, Value};
use crate::x86;

/// The places in a record: what is in registers and in memory, and the instruction.
const FLAGS: usize = 320;
const VECTORS: usize = 384;
const MEMORY: usize = 2432;
const CODE: usize = 3456;
const RECORD: usize = 3472;
/// Where `runner.c` has the record, where instructions find operands in its memory, and where the
/// instruction runs.
const START: u64 = 0x400_0000;
const OPERAND: u64 = START + MEMORY as u64 + 384;
const SLOT: u64 = START + 4096;

/// So many records are tried of an instruction. In every other one, some values are secrets, which
/// the machine may refuse.
const TRIES: usize = 32;

/// Compares all forms of instructions that occur; those of VAES and AVX-512 with the second
/// command. The commands read records from the file and print them. Returns how many instructions
/// were compared, and what differs.
pub fn compare<'a>(
    cpu: &Cpu,
    file: &str,
    commands: [&str; 2],
    code: impl Iterator<Item = &'a Instruction>,
) -> std::io::Result<(usize, Vec<String>)> {
    let (mut compared, mut faults) = (0, Vec::new());
    let (wide, narrow): (Vec<_>, Vec<_>) = forms(cpu, code).into_iter().partition(is_wide);
    for (mut forms, command) in [narrow, wide].into_iter().zip(commands) {
        if command.is_empty() && !forms.is_empty() {
            println!("{} instructions of VAES and AVX-512 are not compared", forms.len());
        }
        if command.is_empty() || forms.is_empty() {
            continue;
        }
        compared += forms.len();
        // A planted defect: an instruction that does nothing on the CPU.
        let code = cpu.nop.repeat(16)[..16].try_into().expect("16 bytes");
        forms.push(Instruction { code, ..forms[0] });
        let different = differences(cpu, file, command, &forms)?;
        if !different.contains_key(&(forms.len() - 1)) {
            faults.push(format!("planted, and not found: {} is another", forms[0].text()));
        }
        let real = different.into_iter().filter(|(n, _)| *n < forms.len() - 1);
        faults.extend(real.map(|(n, what)| format!("{}: {what}", forms[n].text())));
    }
    Ok((compared, faults))
}

/// Compares these instructions. Returns what differs, by their numbers.
fn differences(
    cpu: &Cpu,
    file: &str,
    command: &str,
    forms: &[Instruction],
) -> std::io::Result<BTreeMap<usize, String>> {
    let (mut random, mut different) = (Random(1), BTreeMap::new());
    let (mut tries, mut records) = (Vec::new(), Vec::new());
    for (n, i) in forms.iter().enumerate() {
        for round in 0..TRIES {
            let record = record(cpu, i, &mut random);
            let secrets = if round % 2 == 0 { 0 } else { random.next() };
            match i.run(&mut machine(cpu, &record, secrets)) {
                Ok(()) => {
                    tries.push((n, secrets));
                    records.extend(record);
                }
                Err(error) if secrets == 0 && !error.contains("overflows") => {
                    different.insert(n, error);
                }
                Err(_) => {}
            }
        }
    }
    let untried = (0..forms.len()).filter(|n| tries.iter().all(|(tried, _)| tried != n));
    different.extend(untried.map(|n| (n, "was not tried".to_owned())));
    std::fs::write(file, &records)?;
    let run = Command::new("sh").args(["-c", command]).stderr(Stdio::inherit()).output()?;
    let found = run.stdout;
    if found.len() != records.len() {
        return Err(std::io::Error::other(format!("`{command}` does not print all records")));
    }
    let each = records.chunks(RECORD).zip(found.chunks(RECORD));
    for ((n, secrets), (record, found)) in tries.into_iter().zip(each) {
        let mut machine = machine(cpu, record, secrets);
        forms[n].run(&mut machine).expect("the machine that has run it above");
        different.extend(difference(cpu, &machine, found).map(|what| (n, what)));
    }
    Ok(different)
}

fn is_wide(i: &Instruction) -> bool {
    matches!(&i.decoded, Decoded::X86(i) if x86::is_wide(i))
}

/// Returns the instructions to try, a few of each form, at the place where they run.
fn forms<'a>(cpu: &Cpu, code: impl Iterator<Item = &'a Instruction>) -> Vec<Instruction> {
    let mut counts = HashMap::new();
    // All conditions of x86-64 but parity.
    let conditions = (0..16).filter(|cc| ![10, 11].contains(cc));
    let set: Vec<_> = conditions.filter_map(|cc| cpu.decode(&[0x0f, 0x90 + cc, 0xc0], 0)).collect();
    let mut forms = Vec::new();
    for i in set.into_iter().chain(code.copied()) {
        let (Some(form), address) = (i.form(), i.address()) else { continue };
        let count = counts.entry(form).or_insert(0);
        if *count == 4 || address.index.is_some() && address.index == address.base {
            continue;
        }
        *count += 1;
        let mut code = i.code;
        if let Decoded::X86(i) = &i.decoded
            && i.is_ip_rel_memory_operand()
        {
            let old = (i.memory_displacement64().wrapping_sub(i.next_ip()) as u32).to_le_bytes();
            let new = (OPERAND.wrapping_sub(SLOT + i.len() as u64) as u32).to_le_bytes();
            let at = code.windows(4).position(|bytes| bytes == old).expect("its own displacement");
            code[at..at + 4].copy_from_slice(&new);
        }
        forms.extend(cpu.decode(&code, SLOT));
    }
    forms
}

/// A number for a general register, often one of the interesting ones.
fn number(random: &mut Random) -> u64 {
    let n = random.next();
    let power = 1 << (n % 64);
    [0, u64::MAX, power, power - 1, n % 256, n, n, n][random.next() as usize % 8]
}

/// Returns random registers and memory.
fn record(cpu: &Cpu, i: &Instruction, random: &mut Random) -> Vec<u8> {
    let mut general: [u64; 40] = std::array::from_fn(|_| number(random));
    let address = i.address();
    general[cpu.stack_pointer] = OPERAND;
    if let Some(index) = address.index {
        general[index] = random.next() % 3 * 16;
    }
    if let Some(base) = address.base {
        general[base] = OPERAND.wrapping_sub(address.offset);
    }
    let flags = cpu.flags.iter().fold(0, |mask, bit| mask | 1 << bit) & random.next();
    // What the runner does not set stays zero.
    let width = if is_wide(i) { 64 } else { cpu.vector };
    let mut vectors = [[0; 64]; 32];
    for n in 0..32 {
        match random.next() % 5 {
            0 => {}
            1 if n > 0 => vectors[n] = vectors[n - 1],
            2 => vectors[n][..width].fill(0xff),
            _ => vectors[n][..width].fill_with(|| random.next() as u8),
        }
    }
    let mut memory = [0; CODE - MEMORY];
    if !random.next().is_multiple_of(4) {
        memory.fill_with(|| random.next() as u8);
    }
    let general = general.map(u64::to_le_bytes);
    let flags = [flags, 0, 0, 0, 0, 0, 0, 0].map(u64::to_le_bytes);
    let parts = [general.as_flattened(), flags.as_flattened(), vectors.as_flattened()];
    [&parts.concat(), &memory[..], &i.code].concat()
}

fn word(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(record[at..at + 8].try_into().expect("8 bytes"))
}

/// Returns the machine of a record. Bits of `secrets` say what is a secret to it.
fn machine(cpu: &Cpu, record: &[u8], secrets: u64) -> Machine<'static> {
    let term = |at: usize, secret: usize| match secrets >> secret & 1 {
        0 => Term::number(record[at]),
        _ => Term::symbol(b'r', at).with_value(record[at]),
    };
    let general =
        |n: usize| Value::from_bytes(&[0, 1, 2, 3, 4, 5, 6, 7].map(|i| term(8 * n + i, n)));
    let vector = |n| std::array::from_fn(|i| term(VECTORS + 64 * n + i, 32 + n / 2));
    let bytes = (MEMORY..CODE).map(|at| term(at, 63)).collect();
    let start = START + MEMORY as u64;
    let region = Region { name: "memory", start, bytes, writable: true };
    let memory = Memory { image: None, regions: vec![region] };
    let mut machine =
        Machine::new(std::array::from_fn(general), std::array::from_fn(vector), memory);
    let flag = |bit| Some(if word(record, FLAGS) >> bit & 1 == 1 { 0xffff } else { 0 });
    machine.flags = cpu.flags.map(flag);
    machine
}

/// Says what differs, if anything does.
fn difference(cpu: &Cpu, machine: &Machine, found: &[u8]) -> Option<String> {
    let case = machine.case();
    let bytes = |value: &Value| match value {
        Value::Bytes(bytes) => bytes.map(Term::value),
        Value::Number(number) => number.to_le_bytes(),
        Value::Cases(cases) => cases[case].to_le_bytes(),
    };
    let values = |terms: &[Term]| terms.iter().map(|term| term.value()).collect();
    let registers: Vec<u8> = machine.general.iter().flat_map(bytes).collect();
    let vectors: Vec<u8> = values(machine.vectors.as_flattened());
    let memory = values(&machine.memory.regions[0].bytes);
    for (what, at, expected) in
        [("registers", 0, registers), ("vectors", VECTORS, vectors), ("memory", MEMORY, memory)]
    {
        if let Some(n) = (0..expected.len()).find(|&n| found[at + n] != expected[n]) {
            return Some(format!("byte {n} of {what} is {}, not {}", found[at + n], expected[n]));
        }
    }
    let differs = |(flag, bit): &(Flag, u32)| {
        flag.is_some_and(|flag| u64::from(flag >> case & 1) != word(found, FLAGS) >> bit & 1)
    };
    let (_, bit) = machine.flags.into_iter().zip(cpu.flags).find(differs)?;
    Some(format!("bit {bit} of the flags differs"))
}
