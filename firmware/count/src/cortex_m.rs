//! Runs the program on a Cortex-M4 without an operating system, which `qemu-system-arm -M
//! mps2-an386` emulates. Arguments and the exit use semihosting, which is calls to the emulator.
//! firmware/count/run.sh links it.

use core::arch::{asm, global_asm};
use core::ffi::CStr;
use core::hint::black_box;
use core::panic::PanicInfo;

/// The size of the two buffers.
const MAX: usize = 1 << 17;

// The vector table at address 0 has the initial stack pointer, at the end of 4 MiB of memory, and
// the entry point. That first switches on the floating-point unit, which the compiler may use.
global_asm!(
    ".section .vectors, \"a\"",
    ".word 0x20400000",
    ".word start",
    ".rept 14",
    ".word fault",
    ".endr",
    ".text",
    ".thumb_func",
    ".global start",
    "start:",
    "ldr r0, =0xe000ed88",
    "ldr r1, [r0]",
    "orr r1, r1, #0xf00000",
    "str r1, [r0]",
    "dsb",
    "isb",
    "bl {begin}",
    ".thumb_func",
    "fault:",
    "b {failed}",
    begin = sym begin,
    failed = sym failed,
);

/// A call to the emulator.
fn semihosting(operation: usize, argument: usize) {
    // SAFETY: the emulator reads the block that the argument points to, and writes only to the
    // buffer that the block names.
    unsafe { asm!("bkpt 0xab", inout("r0") operation => _, in("r1") argument) };
}

const SYS_WRITEC: usize = 0x03;
const SYS_GET_CMDLINE: usize = 0x15;
const SYS_EXIT: usize = 0x18;
const APPLICATION_EXIT: usize = 0x20026;
const RUN_TIME_ERROR: usize = 0x20023;

fn print(text: &str) {
    for byte in text.bytes() {
        semihosting(SYS_WRITEC, (&raw const byte).expose_provenance());
    }
}

extern "C" fn failed() -> ! {
    loop {
        semihosting(SYS_EXIT, RUN_TIME_ERROR);
    }
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    print("panicked\n");
    failed()
}

extern "C" fn begin() -> ! {
    let mut line = [0_u8; 100];
    let block = [line.as_mut_ptr().expose_provenance(), line.len()];
    semihosting(SYS_GET_CMDLINE, block.as_ptr().expose_provenance());
    let line = CStr::from_bytes_until_nul(black_box(&line)).unwrap().to_str().unwrap();
    let arguments = line.split(' ').skip(1); // the program's name
    let (mut message, mut ciphertext) = ([0; MAX], [0; MAX]); // on a stack of megabytes
    crate::run(arguments, &mut message, &mut ciphertext, print);
    loop {
        semihosting(SYS_EXIT, APPLICATION_EXIT);
    }
}
