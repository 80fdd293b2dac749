//! Defects that proofs have to find: code around a kernel, and a round left out.

use crate::kernel::Kernel;
use crate::machine::Cpu;

/// Code in front of `open`, with what is wrong. The address of the message is in `rdi`, and what
/// it begins with is the address of the key.
const X86: [(&str, &[u8]); 11] = [
    ("a branch on a key", b"\x48\x8b\x07\x8a\x00\x84\xc0\x74\x00"),
    ("an address that depends on a key", b"\x48\x8b\x07\x0f\xb6\x00\x8a\x04\x04"),
    ("a shift count that depends on a key", b"\x48\x8b\x0f\x8a\x09\xd3\xe0"),
    ("a division of a key", b"\x31\xd2\x31\xc9\x48\x8b\x07\x8b\x00\xff\xc1\xf7\xf1"),
    ("a read after a key", b"\x48\x8b\x07\x8a\x40\x20"),
    ("a write to a key", b"\x48\x8b\x07\xc6\x00\x00"),
    ("a write to a caller's frame", b"\x48\x89\x44\x24\x08"),
    ("a static variable", b"\x8a\x05\x00\x00\x00\x70"),
    ("a register that is not restored", b"\x31\xdb"),
    ("a part of a key on the stack", b"\x48\x8b\x07\x8b\x00\x89\x44\x24\x80"),
    // sub rsp, 8; call OPEN; mov al, 1; add rsp, 8; ret; OPEN:
    ("every tag is right", b"\x48\x83\xec\x08\xe8\x07\0\0\0\xb0\x01\x48\x83\xc4\x08\xc3"),
];

/// The same for 64-bit ARM, where the address is in `x0`.
const ARM: [(&str, &[u32]); 9] = [
    ("a branch on a key", &[0xf940_0009, 0x3940_0129, 0x3400_0029]),
    ("an address that depends on a key", &[0xf940_0009, 0x3940_0129, 0x3869_6be9]),
    ("a read after a key", &[0xf940_0009, 0x3940_8129]),
    ("a write to a key", &[0xf940_0009, 0x3900_013f]),
    ("a write to a caller's frame", &[0xf900_03e9]),
    ("a register that is not restored", &[0xd280_0013]),
    ("a vector that is not restored", &[0x6f00_e408]),
    ("a part of a key on the stack", &[0xf940_0009, 0xf940_0129, 0xd110_03ea, 0xf900_0149]),
    // stp x29, x30, [sp, -16]!; bl OPEN; mov w0, 1; ldp x29, x30, [sp], 16; ret; OPEN:
    ("every tag is right", &[0xa9bf_7bfd, 0x9400_0004, 0x5280_0020, 0xa8c1_7bfd, 0xd65f_03c0]),
];

/// Returns kernels with a defect each, and the numbers of those in whose place they are.
pub fn defects(cpu: Cpu, kernels: &[Kernel]) -> Vec<(usize, &'static str, Kernel)> {
    let before: Vec<(&str, Vec<u8>)> = match cpu {
        Cpu::X86 => X86.map(|(name, code)| (name, code.to_vec())).to_vec(),
        Cpu::Arm => ARM
            .map(|(name, code)| (name, code.iter().flat_map(|word| word.to_le_bytes()).collect()))
            .to_vec(),
    };
    let mut planted = Vec::new();
    let mut known = Vec::new();
    for (number, kernel) in kernels.iter().enumerate() {
        if known.contains(&&kernel.operation) {
            continue;
        }
        known.push(&kernel.operation);
        if kernel.operation == "open" {
            for (name, code) in &before {
                let start = kernel.start - code.len() as u64;
                let code = [cpu.decode_all(code, start), kernel.code.clone()].concat();
                planted.push((number, *name, Kernel { start, code, ..kernel.clone() }));
            }
        }
        if let Some(n) = kernel.code.iter().position(|i| i.text().contains("aes")) {
            let (mut code, round) = (kernel.code.clone(), kernel.code[n]);
            let nothing = cpu.nop().repeat(round.len / cpu.nop().len());
            code.splice(n..=n, cpu.decode_all(&nothing, round.ip));
            planted.push((number, "a round left out", Kernel { code, ..kernel.clone() }));
        }
    }
    planted
}
