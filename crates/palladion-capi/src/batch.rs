//! Many messages in one call. The contracts are in `include/palladion.h`.

use core::ffi::c_int;
use core::mem::{MaybeUninit, needs_drop};
use core::slice;

use palladion::batch::{self, Decryption, Encryption, PacketLayout};
use palladion::family::{Aegis128, Aegis256, Family};
use palladion::{Aegis, Error, Tag};

use crate::aead::{cipher, nonce};
use crate::memory::{Work, bytes, bytes_mut, inout, put_tag};
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

/// How many messages become jobs on the stack at once. The core sorts the same number.
const AT_ONCE: usize = 64;

/// A message as a job of the core.
trait Job: Sized {
    /// # Safety
    /// The message is as the header says, and stays so while the job lives.
    unsafe fn new(message: &Message) -> Self;
    fn run(jobs: &mut [Self]);
    /// Returns the outcome. Encryption writes its tag to `mac`.
    ///
    /// # Safety
    /// `mac` is writable for a tag if the job encrypts.
    unsafe fn finish(&self, mac: *mut u8) -> Result<(), Error>;
}

/// Everything about a message to encrypt except its bytes.
struct Encrypt<'a, F: Family, const D: usize, const T: usize>(
    &'a Aegis<F, D, T>,
    &'a F::Nonce,
    &'a [u8],
);

/// Everything about a message to decrypt except its bytes.
struct Decrypt<'a, 't, F: Family, const D: usize, const T: usize>(
    &'a Aegis<F, D, T>,
    &'a F::Nonce,
    &'a [u8],
    &'t Tag<T>,
);

impl<'a, F: Family, const D: usize, const T: usize> Work<'a, Encryption<'a, F, D, T>>
    for Encrypt<'a, F, D, T>
{
    fn in_place(&mut self, buf: &'a mut [u8]) -> Encryption<'a, F, D, T> {
        Encryption::encrypt_in_place(self.0, self.1, self.2, buf)
    }
    fn apart(&mut self, input: &'a [u8], output: &'a mut [u8]) -> Encryption<'a, F, D, T> {
        Encryption::encrypt_into(self.0, self.1, self.2, input, output)
    }
}

impl<F: Family, const D: usize, const T: usize> Job for Encryption<'_, F, D, T> {
    unsafe fn new(message: &Message) -> Self {
        let Message { input, output, len, ad, ad_len, npub, k, .. } = *message;
        // SAFETY: the caller's contract.
        unsafe {
            inout(input, output, len, Encrypt(cipher(k), nonce::<F>(npub), bytes(ad, ad_len)))
        }
    }
    fn run(jobs: &mut [Self]) {
        let _each_job_has_its_result = batch::encrypt(jobs);
    }
    unsafe fn finish(&self, mac: *mut u8) -> Result<(), Error> {
        let tag = self.tag()?;
        // SAFETY: the caller's contract.
        unsafe { put_tag(mac, tag) };
        Ok(())
    }
}

impl<'a, F: Family, const D: usize, const T: usize> Work<'a, Decryption<'a, F, D, T>>
    for Decrypt<'a, '_, F, D, T>
{
    fn in_place(&mut self, buf: &'a mut [u8]) -> Decryption<'a, F, D, T> {
        Decryption::decrypt_in_place(self.0, self.1, self.2, buf, self.3)
    }
    fn apart(&mut self, input: &'a [u8], output: &'a mut [u8]) -> Decryption<'a, F, D, T> {
        Decryption::decrypt_into(self.0, self.1, self.2, input, self.3, output)
    }
}

impl<F: Family, const D: usize, const T: usize> Job for Decryption<'_, F, D, T> {
    unsafe fn new(message: &Message) -> Self {
        let Message { input, output, len, mac, ad, ad_len, npub, k, .. } = *message;
        // SAFETY: the caller's contract.
        unsafe {
            let tag = Tag::from(*mac.cast::<[u8; T]>());
            inout(input, output, len, Decrypt(cipher(k), nonce::<F>(npub), bytes(ad, ad_len), &tag))
        }
    }
    fn run(jobs: &mut [Self]) {
        let _each_job_has_its_result = batch::decrypt(jobs);
    }
    unsafe fn finish(&self, _: *mut u8) -> Result<(), Error> {
        self.result()
    }
}

/// # Safety
/// The messages are as the header says.
unsafe fn run<J: Job>(messages: &mut [Message]) -> c_int {
    const { assert!(!needs_drop::<J>()) };
    let mut result = OK;
    for messages in messages.chunks_mut(AT_ONCE) {
        let mut room = [const { MaybeUninit::<J>::uninit() }; AT_ONCE];
        for (place, message) in room.iter_mut().zip(&*messages) {
            // SAFETY: the caller's contract.
            place.write(unsafe { J::new(message) });
        }
        // SAFETY: the loop initialised this many elements.
        let jobs =
            unsafe { slice::from_raw_parts_mut(room.as_mut_ptr().cast::<J>(), messages.len()) };
        J::run(jobs);
        for (message, job) in messages.iter_mut().zip(jobs) {
            // SAFETY: the caller's contract.
            message.result = status(unsafe { job.finish(message.mac) });
            result = result.min(message.result);
        }
    }
    result
}

/// Returns the function for an algorithm, 1 to 6 in C, and a tag of 16 or 32 bytes.
fn choose<R: Copy>(alg: c_int, maclen: usize, runs: [[R; 2]; 6]) -> Option<R> {
    let [short, long] = *runs.get(usize::try_from(alg).ok()?.checked_sub(1)?)?;
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
        if ENCRYPT {
            [run::<Encryption<'_, F, D, 16>>, run::<Encryption<'_, F, D, 32>>]
        } else {
            [run::<Decryption<'_, F, D, 16>>, run::<Decryption<'_, F, D, 32>>]
        }
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
    // SAFETY: the caller promises `len` bytes that nobody else uses, a key, and a nonce or null.
    let (buf, cipher, iv) = unsafe { (bytes_mut(buf, len), cipher::<F, D, T>(k), nonce::<F>(iv)) };
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
            batch::seal_packets(cipher, iv, first, buf, layout)
        } else {
            let forged = |i| {
                if let Some(result) = results.get_mut(i) {
                    *result = FAILED;
                }
            };
            batch::open_packets(cipher, iv, first, buf, layout, forged)
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
