//! Many messages in one call. The contracts are in `include/palladion.h`.

use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::{ptr, slice};

use palladion::batch::{self, PacketLayout};
use palladion::family::{Aegis128, Aegis256, Family};
use palladion::hazmat;
use palladion::{Aegis, Error};

use crate::aead::{covers, decrypt_detached, encrypt_detached, key, nonce};
use crate::extra::by_number;
use crate::memory::{LONGEST, bytes_mut, not_overlapping};
use crate::status::{FAILED, OK, invalid_argument, status, with_backend};

/// C's `palladion_message`.
#[repr(C)]
struct Message {
    input: *const u8,
    output: *mut u8,
    len: usize,
    mac: *mut u8,
    ad: *const u8,
    ad_len: usize,
    npub: *const u8,
    k: *const u8,
    result: c_int,
}

/// How many messages are processed at once.
const AT_ONCE: usize = 64;

/// Processes messages one by one, because an output covers what its message reads later, or there
/// is none.
///
/// # Safety
/// The messages are as the header says.
#[cold]
#[inline(never)]
unsafe fn one_by_one<F: Family, const D: usize, const T: usize, const ENCRYPT: bool>(
    messages: &mut [Message],
) -> c_int {
    let mut result = OK;
    for message in messages {
        let Message { input, output, len, mac, ad, ad_len, npub, k, .. } = *message;
        // SAFETY: the caller's contract.
        message.result = unsafe {
            if ENCRYPT {
                encrypt_detached::<F, D>(output, mac, T, input, len, ad, ad_len, npub, k)
            } else {
                decrypt_detached::<F, D>(output, input, len, mac, T, ad, ad_len, npub, k)
            }
        };
        result = result.min(message.result);
    }
    result
}

/// # Safety
/// The messages are as the header says.
unsafe fn run<F: Family, const D: usize, const T: usize, const ENCRYPT: bool>(
    messages: &mut [Message],
) -> c_int {
    let mut result = OK;
    for messages in messages.chunks_mut(AT_ONCE) {
        let alone = |m: &Message| {
            m.output.is_null() | covers::<F>(m.output, m.len, m.ad, m.ad_len, m.npub, m.k)
        };
        if messages.iter().any(alone) {
            // SAFETY: the caller's contract.
            result = result.min(unsafe { one_by_one::<F, D, T, ENCRYPT>(messages) });
            continue;
        }
        // Received tags are copied, because an output may lie over its tag.
        let mut tags = [const { MaybeUninit::<[u8; T]>::uninit() }; AT_ONCE];
        let each = messages.iter_mut().zip(&mut tags).map(|(message, copy)| {
            message.result = OK;
            let Message { input, output: dst, len, mac, ad, ad_len, npub, k: key, .. } = *message;
            // SAFETY: the caller's contract.
            let (src, nonce, tag) = unsafe {
                let nonce = ptr::from_ref(nonce::<F>(npub));
                let tag = if ENCRYPT { mac } else { copy.write(*mac.cast()).as_mut_ptr() };
                (not_overlapping(input, dst, len), nonce.cast(), tag)
            };
            hazmat::Message { key, nonce, ad, ad_len, src, dst, len, tag, tag_len: T }
        });
        let mut failed = 0;
        let on_failure = |place, error| {
            failed |= 1_u64 << place;
            status(Err(error)); // the error number, if it is not the tag that is wrong
        };
        // SAFETY: the caller promises the memory. The copies of tags live long enough.
        let _all_are_in_failed = unsafe {
            if ENCRYPT {
                hazmat::seal_batch::<F, D>(each, on_failure)
            } else {
                hazmat::open_batch::<F, D>(each, on_failure)
            }
        };
        if failed != 0 {
            result = FAILED;
            let each = messages.iter_mut().enumerate();
            each.filter(|(i, _)| failed >> i & 1 == 1).for_each(|(_, m)| m.result = FAILED);
        }
    }
    result
}

/// Returns the function for an algorithm, 1 to 6 in C, and a tag of 16 or 32 bytes.
fn choose<R: Copy>(alg: c_int, maclen: usize, runs: [[R; 2]; 6]) -> Option<R> {
    let [short, long] = by_number(alg, runs)?;
    match maclen {
        16 => Some(short),
        32 => Some(long),
        _ => None,
    }
}

/// # Safety
/// The messages are as the header says.
unsafe fn dispatch<const ENCRYPT: bool>(
    alg: c_int,
    maclen: usize,
    messages: *mut Message,
    count: usize,
) -> c_int {
    type Run = unsafe fn(&mut [Message]) -> c_int;
    const fn of<F: Family, const D: usize, const ENCRYPT: bool>() -> [Run; 2] {
        [run::<F, D, 16, ENCRYPT>, run::<F, D, 32, ENCRYPT>]
    }
    let runs = [
        of::<Aegis128, 1, ENCRYPT>(),
        of::<Aegis128, 2, ENCRYPT>(),
        of::<Aegis128, 4, ENCRYPT>(),
        of::<Aegis256, 1, ENCRYPT>(),
        of::<Aegis256, 2, ENCRYPT>(),
        of::<Aegis256, 4, ENCRYPT>(),
    ];
    let Some(run) = choose(alg, maclen, runs) else { return invalid_argument() };
    if count == 0 {
        return OK;
    }
    if messages.is_null() || count > LONGEST / size_of::<Message>() {
        return invalid_argument();
    }
    if with_backend(|| palladion::backend().map_err(Error::from)).is_err() {
        return FAILED;
    }
    // SAFETY: the caller's contract.
    unsafe { run(slice::from_raw_parts_mut(messages, count)) }
}

/// # Safety
/// The messages are as the header says.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_encrypt_batch(
    alg: c_int,
    maclen: usize,
    messages: *mut Message,
    count: usize,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { dispatch::<true>(alg, maclen, messages, count) }
}

/// # Safety
/// The messages are as the header says.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_decrypt_batch(
    alg: c_int,
    maclen: usize,
    messages: *mut Message,
    count: usize,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { dispatch::<false>(alg, maclen, messages, count) }
}

/// Packets in one buffer.
#[derive(Clone, Copy)]
struct Packets {
    buf: *mut u8,
    len: usize,
    layout: PacketLayout,
    first: u64,
    iv: *const u8,
    k: *const u8,
    /// Null, or one for each packet. Only decryption writes them.
    results: *mut c_int,
}

/// # Safety
/// The packets are as the header says.
unsafe fn run_packets<F: Family, const D: usize, const T: usize, const SEAL: bool>(
    packets: Packets,
) -> c_int {
    let Packets { buf, len, layout, first, iv, k, results } = packets;
    if layout.packet < layout.header.saturating_add(T) {
        return invalid_argument();
    }
    // Copies, because key and nonce may lie in the buffer.
    // SAFETY: the caller promises a key, and a nonce or null.
    let (cipher, iv) = unsafe { (Aegis::<F, D, T>::new(key::<F>(k)), *nonce::<F>(iv)) };
    // SAFETY: the caller promises `len` bytes that nobody else uses.
    let Some(buf) = (unsafe { bytes_mut(buf, len) }) else { return invalid_argument() };
    let results = if results.is_null() || len == 0 {
        &mut []
    } else {
        // SAFETY: the caller promises one number for each packet, written here before it is read.
        unsafe {
            let count = len.div_ceil(layout.packet);
            results.write_bytes(0, count);
            slice::from_raw_parts_mut(results, count)
        }
    };
    let result = with_backend(|| {
        if SEAL {
            batch::seal_packets(&cipher, &iv, first, buf, layout)
        } else {
            let forged = |i| {
                if let Some(result) = results.get_mut(i) {
                    *result = FAILED;
                }
            };
            batch::open_packets(&cipher, &iv, first, buf, layout, forged)
        }
    });
    match result {
        Ok(()) => OK,
        Err(Error::VerificationFailed) => FAILED,
        Err(_) => {
            results.fill(FAILED);
            invalid_argument()
        }
    }
}

/// # Safety
/// The packets are as the header says.
unsafe fn dispatch_packets<const SEAL: bool>(alg: c_int, maclen: usize, packets: Packets) -> c_int {
    type Run = unsafe fn(Packets) -> c_int;
    const fn of<F: Family, const D: usize, const SEAL: bool>() -> [Run; 2] {
        [run_packets::<F, D, 16, SEAL>, run_packets::<F, D, 32, SEAL>]
    }
    let runs = [
        of::<Aegis128, 1, SEAL>(),
        of::<Aegis128, 2, SEAL>(),
        of::<Aegis128, 4, SEAL>(),
        of::<Aegis256, 1, SEAL>(),
        of::<Aegis256, 2, SEAL>(),
        of::<Aegis256, 4, SEAL>(),
    ];
    let Some(run) = choose(alg, maclen, runs) else { return invalid_argument() };
    // SAFETY: the caller's contract.
    unsafe { run(packets) }
}

/// # Safety
/// The packets are as the header says.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)] // C has no slices
unsafe extern "C" fn palladion_seal_packets(
    alg: c_int,
    maclen: usize,
    buf: *mut u8,
    len: usize,
    packet: usize,
    header: usize,
    first: u64,
    iv: *const u8,
    k: *const u8,
) -> c_int {
    let layout = PacketLayout { packet, header };
    let results = core::ptr::null_mut();
    // SAFETY: the caller's contract.
    unsafe {
        dispatch_packets::<true>(alg, maclen, Packets { buf, len, layout, first, iv, k, results })
    }
}

/// # Safety
/// The packets are as the header says.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)] // C has no slices
unsafe extern "C" fn palladion_open_packets(
    alg: c_int,
    maclen: usize,
    buf: *mut u8,
    len: usize,
    packet: usize,
    header: usize,
    first: u64,
    iv: *const u8,
    k: *const u8,
    results: *mut c_int,
) -> c_int {
    let layout = PacketLayout { packet, header };
    // SAFETY: the caller's contract.
    unsafe {
        dispatch_packets::<false>(alg, maclen, Packets { buf, len, layout, first, iv, k, results })
    }
}
