//! Proves what the machine code of kernels with AES instructions does, and the WebAssembly of all
//! kernels: assurance/machine-code.sh and assurance/wasm.sh.
//!
//! LIBRARY is the C library; or a program in Go, which has kernels of its own: what Go's assembler
//! made of bindings/go; or a WebAssembly module with the names of its functions.
//!
//!     machine-code LIBRARY FILE RUNNER WIDE_RUNNER full|quick [FILTER...]
//!
//! The machine (`machine.rs`, `native.rs`, `wasm.rs`) runs each kernel as it is in the library,
//! with known pointers and lengths and with symbols (`term.rs`, `bits.rs`) for keys, nonces,
//! messages, associated data, states and tags. `prove.rs` compares the result with RFC 10032 on the
//! same symbols, which is the reference's text, and checks every access to memory, what is left on
//! the stack, and the registers that a caller keeps. Whatever decides a branch, an address, a
//! length or the time of an instruction has to be a number. So a proof holds for all keys and
//! messages, but only for the lengths that were tried. Nearly every instruction runs; which did not
//! is printed.
//!
//! What is trusted: that instructions do what `x86.rs` and `arm.rs` say, which `cpu.rs` compares
//! with a CPU, and what `wasm.rs` says; and that the sums of numbers that stand for terms differ if
//! the terms do. RUNNER is the command that runs single instructions from FILE (`runner.c`),
//! WIDE_RUNNER that for VAES and AVX-512. `planted.rs` has the defects that have to be found.

mod arm;
mod bits;
mod cpu;
mod kernel;
mod machine;
mod memory;
mod native;
mod planted;
mod prove;
mod term;
mod value;
mod wasm;
mod x86;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use kernel::{Kernel, Set};
use machine::Cpu;
use native::Native;
use prove::{Call, Run, Target};
use wasm::Wasm;

/// How many instructions of a kernel may be out of reach: those for data of 4 GiB, for a degree of
/// 0, and jumps that are never taken.
const OUT_OF_REACH: usize = 19;
/// The same of Go's kernels. They share code: for contexts of the caller's own, which Go never
/// gives, and for pieces of lengths that do not occur.
const OUT_OF_REACH_IN_GO: usize = 120;
/// The same of WebAssembly's kernels. They have code for states without lanes too.
const OUT_OF_REACH_IN_WASM: usize = 420;

/// The calls of a kernel that are tried, each with all of its messages.
fn calls(kernel: &Kernel, quick: bool) -> Vec<Vec<Call>> {
    let mut calls = Vec::new();
    for degree in kernel.degrees() {
        let rate = kernel.aegis(degree).rate();
        // All lengths around the first steps, and some after which loops change. Those of many
        // lanes take long in WebAssembly.
        let wasm = ["AnyCpu", "Module"].contains(&&*kernel.features);
        let is_tried = |len: &usize| {
            *len <= rate + 1 && !(wasm && degree > 1) || len.is_multiple_of(23) || len % rate < 2
        };
        let mut lens: Vec<usize> =
            (0..=3 * rate + 1).filter(|len| !quick || is_tried(len)).collect();
        let steps = [7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 49];
        let steps = if wasm { &steps[..3] } else { &steps };
        lens.extend(steps.iter().flat_map(|n| [n * rate, n * rate + rate / 2 + 3]));
        let few = [0, rate + 1, 3 * rate - 1];
        let mut add = |ad_len: usize, len: usize| {
            let (n, mac) = (calls.len(), kernel.operation.ends_with("mac"));
            for tag_len in [16, 32] {
                // Of AEGIS-128X with an odd degree there is no short MAC.
                let exists = !mac || tag_len == 32 || degree == 1 || degree.is_multiple_of(2);
                if exists && (!quick || mac || tag_len == 16 * (n % 2 + 1)) {
                    let in_place = (len + ad_len + n / 2).is_multiple_of(2);
                    calls.push(vec![Call { degree, ad_len, len, tag_len, in_place }]);
                }
            }
        };
        match &*kernel.operation {
            "seal" | "open" => {
                for (n, &len) in lens.iter().enumerate() {
                    for &other in few.iter().cycle().skip(n).take(if quick { 1 } else { 3 }) {
                        add(other, len);
                        add(len, other);
                    }
                }
            }
            "mac" => lens.iter().for_each(|&ad_len| add(ad_len, 0)),
            "advance" => {
                if kernel.groups != Some(1) || kernel.features == "Go" {
                    // Groups take turns after 4 KiB. Those of Go's kernels are not known.
                    let turns: &[usize] = if wasm { &[1] } else { &[1, 2] };
                    lens.extend(turns.iter().map(|turns| (turns * 4096 + 40) * degree + 5));
                }
                lens.iter().for_each(|&len| add(0, len));
            }
            "seal_batch" | "open_batch" => {}
            // Lengths, and for `init` contexts of the caller's own.
            _ => [0, 1, 1000].iter().for_each(|&len| add(7, len)),
        }
    }
    if kernel.operation.ends_with("batch") {
        batches(kernel, &mut calls);
    }
    calls
}

/// Messages with the same number of steps.
fn batches(kernel: &Kernel, calls: &mut Vec<Vec<Call>>) {
    let rate = kernel.aegis(1).rate();
    for n in 0..8 * rate {
        let (steps, last, tag_len) = (n / 2 / rate, n / 2 % rate + 1, 16 * (n % 2 + 1));
        let message = |i: usize| {
            let len = |last: usize| steps * rate + [last, 1 + 5 * last % rate, rate, 1][i];
            let (ad_len, len) = match (steps, tag_len) {
                (0, 32) => (len(last), 0),
                (0, _) => (0, len(last)),
                _ => (len(1 + 5 * last % rate), len(last)),
            };
            Call { degree: 1, ad_len, len, tag_len, in_place: (i + last).is_multiple_of(2) }
        };
        calls.push((0..kernel.lanes).map(message).collect());
        if last == 1 {
            let whole = |i| Call { ad_len: steps * rate, len: (steps + 1) * rate, ..message(i) };
            calls.push((0..kernel.lanes).map(whole).collect());
        }
    }
}

/// Runs a kernel, or the one in its place.
fn prove(set: &Set, number: usize, calls: &[Call], planted: Option<&Kernel>) -> Result<(), String> {
    match set.image.cpu.wasm {
        false => prove_on::<Native>(set, number, calls, planted),
        true => bits::prove(|| prove_on::<Wasm>(set, number, calls, planted)),
    }
}

fn prove_on<'a, T: Target<'a>>(
    set: &'a Set,
    number: usize,
    calls: &[Call],
    planted: Option<&'a Kernel>,
) -> Result<(), String> {
    let mut run = Run(T::new(set, &calls[0], planted.map(|planted| (number, planted))));
    match &*set.functions[number].operation {
        "seal" | "open" | "mac" | "seal_batch" | "open_batch" => run.message_kernel(number, calls),
        _ => run.state_kernel(number, &calls[0]),
    }
}

/// Works on all cores. Returns what is found.
fn in_parallel<T: Sync, F: Send>(work: &[T], each: impl Fn(&T) -> Option<F> + Sync) -> Vec<F> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(one) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(one) = each(one) {
                        found.lock().expect("no thread panics").push(one);
                    }
                }
            });
        }
    });
    found.into_inner().expect("no thread panics")
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [library, file, runner, wide_runner, how, filter @ ..] = &arguments[..] else {
        return Err("machine-code LIBRARY FILE RUNNER WIDE_RUNNER full|quick [FILTER...]".into());
    };
    let set = Set::load(library)?;
    let mut faults = Vec::new();
    let code = set.functions.iter().flat_map(|function| &function.code);
    let (compared, different) = cpu::compare(set.image.cpu, file, [runner, wide_runner], code)?;
    println!("{compared} instructions compared with the CPU");
    faults.extend(different);

    let planted = planted::defects(set.image.cpu, set.kernels());
    faults.extend(in_parallel(&planted, |(number, name, defect)| {
        let mut calls = calls(defect, true).into_iter();
        let missed = calls.all(|call| prove(&set, *number, &call, Some(defect)).is_ok());
        missed.then(|| format!("planted, and not found: {name}: {}", defect.name()))
    }));

    let numbered = set.kernels().iter().enumerate();
    let chosen = numbered.filter(|(_, kernel)| filter.iter().all(|f| kernel.name().contains(f)));
    let mut work = Vec::new();
    for (number, kernel) in chosen.clone() {
        work.extend(calls(kernel, how == "quick").into_iter().map(|call| (number, call)));
    }
    let found: BTreeMap<usize, String> = in_parallel(&work, |(number, calls)| {
        let error = prove(&set, *number, calls, None).err()?;
        Some((*number, format!("{}: {error}; {calls:?}", set.functions[*number].name())))
    })
    .into_iter()
    .collect();
    faults.extend(found.into_values());

    let (mut kernels, mut instructions, mut unreached) = (0, 0, 0);
    for (number, kernel) in chosen {
        let code = kernel.code.iter().zip(&set.ran[number]).filter(|(i, _)| !i.is_padding());
        kernels += 1;
        instructions += code.clone().count();
        let not = code.filter(|(_, ran)| !ran.load(Ordering::Relaxed));
        let not: Vec<String> = not.map(|(i, _)| i.text()).collect();
        unreached += not.len();
        if !not.is_empty() {
            println!("{}: not run: {}", kernel.name(), not.join("; "));
        }
        let out_of_reach = match set.image.cpu {
            Cpu { go: true, .. } => OUT_OF_REACH_IN_GO,
            Cpu { wasm: true, .. } => OUT_OF_REACH_IN_WASM,
            _ => OUT_OF_REACH,
        };
        if not.len() > out_of_reach {
            faults.push(format!("{}: {} instructions did not run", kernel.name(), not.len()));
        }
    }
    if filter.is_empty() && kernels < set.image.cpu.kernels {
        faults.push(format!("{kernels} kernels, fewer than expected"));
    }
    faults.iter().for_each(|fault| println!("{fault}"));
    println!(
        "{kernels} kernels, {} calls, {instructions} instructions of which {unreached} were not \
         reached, {} planted defects: {} faults",
        work.len(),
        planted.len(),
        faults.len()
    );
    Ok(ExitCode::from(u8::from(!faults.is_empty())))
}
