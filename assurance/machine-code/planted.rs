//! Defects that proofs have to find: code around a kernel, and a round left out.

use crate::kernel::Kernel;
use crate::machine::Cpu;

/// Returns kernels with a defect each, and the numbers of those in whose place they are: one
/// kernel for each operation.
pub fn defects(cpu: &Cpu, kernels: &[Kernel]) -> Vec<(usize, &'static str, Kernel)> {
    let (mut planted, mut operations) = (Vec::new(), Vec::new());
    for (number, kernel) in kernels.iter().enumerate() {
        if operations.contains(&&kernel.operation) {
            continue;
        }
        operations.push(&kernel.operation);
        // The address of the key in WebAssembly: where the message begins, or the third argument.
        let (key, defects) = match &*kernel.operation {
            "open" => ("20 00 28 02 00", cpu.defects),
            "init" if cpu.wasm => ("20 02", &cpu.defects[..8]),
            _ => ("", &[][..]),
        };
        for (name, code) in defects {
            let code = code.replace("KEY", key);
            let code: Vec<u8> = code.split(' ').flat_map(from_hex).collect();
            let start = kernel.start - code.len() as u64;
            let code = [cpu.decode_all(&code, start), kernel.code.clone()].concat();
            planted.push((number, *name, Kernel { start, code, ..kernel.clone() }));
        }
        if let Some(n) = kernel.code.iter().position(|i| i.text().contains(cpu.round.0)) {
            let (mut code, round) = (kernel.code.clone(), kernel.code[n]);
            let (_, start) = cpu.round;
            let nops = cpu.nop.repeat((round.len - start.len()) / cpu.nop.len());
            let nothing = [start, &nops].concat();
            code.splice(n..=n, cpu.decode_all(&nothing, round.ip));
            planted.push((number, "a round left out", Kernel { code, ..kernel.clone() }));
        }
    }
    planted
}

/// The bytes of a number, the lowest first.
fn from_hex(number: &str) -> Vec<u8> {
    let value = u32::from_str_radix(number, 16).expect("a number");
    value.to_le_bytes()[..number.len() / 2].to_vec()
}
