//! Shared by the programs in `bin/`.

#![allow(unsafe_code)] // a call of the emulator
#![no_std]

use core::ffi::CStr;

use cortex_m_semihosting::nr::GET_CMDLINE;
use cortex_m_semihosting::syscall1;
use palladion::family::{Aegis128, Aegis256, Family};

/// `n` bytes from `seed`, as described in `vectors/README.md`.
pub fn fill(seed: usize, out: &mut [u8]) -> &mut [u8] {
    for (i, byte) in out.iter_mut().enumerate() {
        *byte = ((seed + 7 * i) % 251) as u8;
    }
    out
}

/// Whether the emulator was called with `arg=WORD`.
pub fn argument_is(word: &str) -> bool {
    let mut line = [0u8; 64];
    let block = [line.as_mut_ptr() as usize, line.len()];
    // SAFETY: the emulator writes the command line, with a zero at its end, to this buffer, whose
    // length it gets.
    let failed = unsafe { syscall1(GET_CMDLINE, block.as_ptr() as usize) } != 0;
    let line = core::hint::black_box(&line); // written without the compiler's knowledge
    !failed
        && CStr::from_bytes_until_nul(line)
            .is_ok_and(|line| line.to_bytes().ends_with(word.as_bytes()))
}

/// A task for every variant.
pub trait Each {
    fn variant<F: Family, const D: usize>(&mut self, name: &'static str);
}

/// Runs a task for all six variants.
pub fn for_each_variant(mut each: impl Each) {
    each.variant::<Aegis128, 1>("AEGIS-128L");
    each.variant::<Aegis128, 2>("AEGIS-128X2");
    each.variant::<Aegis128, 4>("AEGIS-128X4");
    each.variant::<Aegis256, 1>("AEGIS-256");
    each.variant::<Aegis256, 2>("AEGIS-256X2");
    each.variant::<Aegis256, 4>("AEGIS-256X4");
}
