//! Marks for `assurance/constant-time.sh`, where valgrind's memcheck follows secrets through a
//! program: what is secret, and where a decision about secrets becomes public. They exist only with
//! `--cfg palladion_secrecy`; otherwise [`declassify`] does nothing.
//!
//! To memcheck a secret is memory that was never initialised. It reports every branch and address
//! that depends on such memory.

/// Makes public whether a tag is right: the only thing that a caller learns about secrets.
#[inline(always)]
pub fn declassify(decision: bool) -> bool {
    #[cfg(palladion_secrecy)]
    let decision = {
        let byte = core::hint::black_box(u8::from(decision));
        public(core::slice::from_ref(&byte));
        core::hint::black_box(byte) != 0
    };
    decision
}

/// Marks the bytes as secret. Their values do not change.
#[cfg(palladion_secrecy)]
pub fn secret(bytes: &[u8]) {
    mark(bytes, true);
}

/// Marks the bytes as public.
#[cfg(palladion_secrecy)]
pub fn public(bytes: &[u8]) {
    mark(bytes, false);
}

/// Returns whether the program runs under valgrind.
#[cfg(palladion_secrecy)]
#[must_use]
pub fn is_watched() -> bool {
    client_request([0x1001, 0, 0, 0, 0, 0]) != 0
}

#[cfg(palladion_secrecy)]
fn mark(bytes: &[u8], secret: bool) {
    const MEMCHECK: usize = (b'M' as usize) << 24 | (b'C' as usize) << 16;
    const UNDEFINED: usize = MEMCHECK + 1;
    const DEFINED: usize = MEMCHECK + 2;
    let request = if secret { UNDEFINED } else { DEFINED };
    client_request([request, bytes.as_ptr().addr(), bytes.len(), 0, 0, 0]);
}

/// Makes a request to valgrind. Without valgrind it does nothing and returns 0.
#[cfg(palladion_secrecy)]
fn client_request(arguments: [usize; 6]) -> usize {
    let mut result = 0;
    // SAFETY: outside valgrind the rotations add up to 128 bits and the last instruction copies a
    // register to itself, so only flags change. Valgrind recognises the sequence, reads the six
    // arguments and writes the result register.
    unsafe {
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!(
            "ror x12, x12, 3", "ror x12, x12, 13", "ror x12, x12, 51", "ror x12, x12, 61",
            "orr x10, x10, x10",
            inout("x3") result, in("x4") arguments.as_ptr(),
        );
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            inout("rdx") result, in("rax") arguments.as_ptr(),
        );
    }
    result
}
