//! Marks for the constant-time check (`assurance/constant-time.sh`), in which a tool follows
//! secrets through a program. They say which bytes are secret, and which decisions about secrets
//! become public. In every other build, [`declassify`] does nothing, and it is the only function.
//!
//! `--cfg palladion_secrecy` is for valgrind's memcheck; add `--cfg palladion_secrecy="msan"` for
//! MemorySanitizer. Both treat a secret as uninitialised memory, and report a branch or an address
//! that depends on it.

/// Makes the result of comparing tags public. It is the only thing that the caller, and so an
/// attacker, learns about secrets.
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

/// Marks bytes as secret, without changing them.
#[cfg(palladion_secrecy)]
pub fn secret(bytes: &[u8]) {
    mark(bytes, true);
}

/// Marks bytes as public.
#[cfg(palladion_secrecy)]
pub fn public(bytes: &[u8]) {
    mark(bytes, false);
}

/// Tells whether the program runs under the tool.
#[cfg(palladion_secrecy)]
#[must_use]
pub fn is_watched() -> bool {
    #[cfg(all(palladion_secrecy, not(palladion_secrecy = "msan")))]
    return client_request([0x1001, 0, 0, 0, 0, 0]) != 0;
    #[cfg(palladion_secrecy = "msan")]
    return true;
}

#[cfg(all(palladion_secrecy, not(palladion_secrecy = "msan")))]
fn mark(bytes: &[u8], secret: bool) {
    const MEMCHECK: usize = (b'M' as usize) << 24 | (b'C' as usize) << 16;
    const UNDEFINED: usize = MEMCHECK + 1;
    const DEFINED: usize = MEMCHECK + 2;
    let request = if secret { UNDEFINED } else { DEFINED };
    client_request([request, bytes.as_ptr().addr(), bytes.len(), 0, 0, 0]);
}

/// Sends a request to valgrind. Without valgrind it does nothing and returns zero.
#[cfg(all(palladion_secrecy, not(palladion_secrecy = "msan")))]
fn client_request(arguments: [usize; 6]) -> usize {
    let mut result = 0;
    // SAFETY: the rotations add up to a multiple of 64 and the last instruction exchanges or ORs a
    // register with itself, so nothing but the flags changes. valgrind recognises the sequence,
    // reads the arguments from the array, and writes the result register.
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

#[cfg(palladion_secrecy = "msan")]
fn mark(bytes: &[u8], secret: bool) {
    unsafe extern "C" {
        fn __msan_poison(start: *const u8, len: usize);
        fn __msan_unpoison(start: *const u8, len: usize);
    }
    // SAFETY: the functions change MemorySanitizer's shadow of these bytes, which are readable.
    unsafe {
        if secret {
            __msan_poison(bytes.as_ptr(), bytes.len());
        } else {
            __msan_unpoison(bytes.as_ptr(), bytes.len());
        }
    }
}
