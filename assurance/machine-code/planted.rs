//! Defects that proofs have to find: code in front of a kernel, and changes of its instructions.

use iced_x86::{Code, ConditionCode, Mnemonic, OpKind, Register};

use crate::kernel::Kernel;
use crate::machine::{Cpu, Instruction};

/// Code that runs before a kernel for a message, whose address is in `rdi`, with what is wrong.
const BEFORE: [(&str, &[u8]); 12] = [
    ("a branch on a key", b"\x48\x8b\x07\x8a\x00\x84\xc0\x74\x00"),
    ("an address that depends on a key", b"\x48\x8b\x07\x0f\xb6\x00\x8a\x04\x04"),
    ("a shift count that depends on a key", b"\x48\x8b\x0f\x8a\x09\xd3\xe0"),
    ("a division of a key", b"\x31\xd2\x31\xc9\x48\x8b\x07\x8b\x00\xff\xc1\xf7\xf1"),
    ("a branch on a tag", b"\x48\x8b\x47\x38\x8a\x00\x84\xc0\x74\x00"),
    ("a read after a key", b"\x48\x8b\x07\x8a\x40\x20"),
    ("a read before a key", b"\x48\x8b\x07\x8a\x40\xff"),
    ("a write to a key", b"\x48\x8b\x07\xc6\x00\x00"),
    ("a write to a caller's frame", b"\x48\x89\x44\x24\x08"),
    ("a part of a key on the stack", b"\x48\x8b\x07\x8b\x00\x89\x44\x24\x80"),
    ("a register that is not restored", b"\x31\xdb"),
    ("a static variable", b"\x8a\x05\x00\x00\x00\x70"),
];

/// The same for 64-bit ARM, where the address is in `x0`.
const BEFORE_ARM: [(&str, &[u32]); 10] = [
    ("a branch on a key", &[0xf940_0009, 0x3940_0129, 0x3400_0029]),
    ("an address that depends on a key", &[0xf940_0009, 0x3940_0129, 0x3869_6be9]),
    ("a read after a key", &[0xf940_0009, 0x3940_8129]),
    ("a read before a key", &[0xf940_0009, 0x385f_f129]),
    ("a write to a key", &[0xf940_0009, 0x3900_013f]),
    ("a write to a caller's frame", &[0xf900_03e9]),
    ("a register that is not restored", &[0xd280_0013]),
    ("a vector that is not restored", &[0x6f00_e408]),
    ("a part of a key on the stack", &[0xf940_0009, 0xf940_0129, 0xd110_03ea, 0xf900_0149]),
    ("a branch on a tag", &[0xf940_1c09, 0x3940_0129, 0x3600_0029]),
];

/// Returns kernels with a defect each.
pub fn defects(cpu: Cpu, kernel: &Kernel) -> Vec<(String, Kernel)> {
    let before: Vec<(&str, Vec<u8>)> = match cpu {
        Cpu::X86 => BEFORE.map(|(name, code)| (name, code.to_vec())).to_vec(),
        Cpu::Arm => BEFORE_ARM
            .map(|(name, code)| (name, code.iter().flat_map(|word| word.to_le_bytes()).collect()))
            .to_vec(),
    };
    let mut planted = Vec::new();
    for (name, code) in before {
        let mut changed = kernel.clone();
        changed.start -= code.len() as u64;
        changed.set_code([cpu.decode(&code, changed.start), kernel.code.clone()].concat());
        planted.push((name.to_owned(), changed));
    }
    for (n, i) in kernel.code.iter().enumerate() {
        let changes: Vec<(&str, Instruction)> = match i {
            Instruction::X86(i) => {
                changes(i).into_iter().map(|(name, i)| (name, Instruction::X86(i))).collect()
            }
            Instruction::Arm(i) => {
                i.changes().into_iter().map(|(name, i)| (name, Instruction::Arm(i))).collect()
            }
        };
        for (name, instruction) in changes {
            let mut code = kernel.code.clone();
            code[n] = instruction;
            let mut changed = kernel.clone();
            changed.set_code(code);
            planted.push((format!("{name} at {:#x}: {}", i.ip(), i.text()), changed));
        }
    }
    planted
}

/// Returns an instruction with a defect each.
fn changes(i: &iced_x86::Instruction) -> Vec<(&'static str, iced_x86::Instruction)> {
    use Mnemonic::*;
    let mut changes = Vec::new();
    let mut add = |name, change: &dyn Fn(&mut iced_x86::Instruction)| {
        let mut changed = *i;
        change(&mut changed);
        changed.set_len(i.len());
        changed.set_next_ip(i.next_ip());
        changes.push((name, changed));
    };
    let nothing = |i: &mut iced_x86::Instruction| *i = iced_x86::Instruction::with(Code::Nopd);
    match i.mnemonic() {
        Aesenc | Vaesenc => add("a round left out", &nothing),
        Vpternlogq => add("another function of three operands", &|i| {
            i.set_immediate8(i.immediate8() ^ 0x80);
        }),
        _ => {}
    }
    if i.mnemonic() == Vaesenc
        && i.op2_kind() == OpKind::Register
        && i.op1_register() != i.op2_register()
    {
        add("operands exchanged", &|i| {
            let [a, b] = [i.op1_register(), i.op2_register()];
            i.set_op1_register(b);
            i.set_op2_register(a);
        });
    }
    let and = match i.code() {
        Code::Pxor_xmm_xmmm128 => Code::Pand_xmm_xmmm128,
        Code::VEX_Vpxor_xmm_xmm_xmmm128 => Code::VEX_Vpand_xmm_xmm_xmmm128,
        Code::VEX_Vpxor_ymm_ymm_ymmm256 => Code::VEX_Vpand_ymm_ymm_ymmm256,
        Code::VEX_Vpand_xmm_xmm_xmmm128 => Code::VEX_Vpor_xmm_xmm_xmmm128,
        Code::VEX_Vpand_ymm_ymm_ymmm256 => Code::VEX_Vpor_ymm_ymm_ymmm256,
        Code::Pand_xmm_xmmm128 => Code::Por_xmm_xmmm128,
        code => code,
    };
    let same =
        i.op_count() > 1 && i.op_register(i.op_count() - 1) == i.op_register(i.op_count() - 2);
    if and != i.code() && !same {
        add("another operation", &|i| i.set_code(and));
    }
    let memory = (0..i.op_count()).any(|op| i.op_kind(op) == OpKind::Memory);
    let vector = (0..i.op_count()).any(|op| i.op_register(op).is_vector_register());
    if memory && vector && i.memory_base() != Register::RSP {
        add("an address too high by 1", &|i| {
            i.set_memory_displacement64(i.memory_displacement64().wrapping_add(1));
            if i.memory_displ_size() == 0 {
                i.set_memory_displ_size(1);
            }
        });
    }
    if i.condition_code() != ConditionCode::None {
        add("the opposite decision", &|i| i.negate_condition_code());
    }
    changes
}
