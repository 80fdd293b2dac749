//! For the check of constant time (`scripts/check-constant-time.sh`), which has a tool follow all
//! secrets through a program: what is secret, and where a decision about secrets becomes public. In
//! every other build [`declassify`] does nothing, and there is nothing else.
//!
//! The build option `--cfg palladion_secrecy` is for valgrind's memcheck, with `--cfg
//! palladion_secrecy="msan"` beside it for MemorySanitizer. To either a secret is memory that was
//! never initialised, of which it tells when a branch or an address depends on it.

/// Whether a tag is the right one: the one thing that the caller, and so everybody, learns about
/// secrets.
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

/// Says that these bytes are secret. (They stay what they are: only the tool takes them for
/// others.)
#[cfg(palladion_secrecy)]
pub fn secret(bytes: &[u8]) {
    mark(bytes, true);
}

/// Says that these bytes are public.
#[cfg(palladion_secrecy)]
pub fn public(bytes: &[u8]) {
    mark(bytes, false);
}

/// Whether the tool is there.
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

/// A request to valgrind; zero, and nothing happens, where there is no valgrind.
#[cfg(all(palladion_secrecy, not(palladion_secrecy = "msan")))]
fn client_request(arguments: [usize; 6]) -> usize {
    let mut result = 0;
    // SAFETY: rotations by 128 in all and an exchange of a register with itself (or its OR) change
    // nothing (but the flags); valgrind knows them by that, and reads the arguments.
    unsafe {
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!(
            "ror x12, x12, 3", "ror x12, x12, 13", "ror x12, x12, 51", "ror x12, x12, 61", "orr x10, x10, x10",
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
    // SAFETY: they change what MemorySanitizer knows of these bytes, and nothing else.
    unsafe {
        if secret {
            __msan_poison(bytes.as_ptr(), bytes.len());
        } else {
            __msan_unpoison(bytes.as_ptr(), bytes.len());
        }
    }
}
