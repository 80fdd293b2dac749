//! Encryption and decryption in pieces of any size: C's `palladion_stream`.

use core::ffi::c_int;
use std::ptr;

use palladion_file::sans_io::{Decoder, Encoder};
use palladion_file::{Algorithm, ChunkSize};
use zeroize::Zeroizing;

use super::failure::Failure::{self, Number};
use super::failure::WRONG_ARGUMENT;
use super::secret::{Secret, hand_over};
use crate::memory::bytes;
use crate::status::OK;

/// Memory that is wiped before it is freed, also when it has to grow.
#[derive(Default)]
struct Buffer(Zeroizing<Vec<u8>>);

impl Buffer {
    /// Appends `len` bytes, which are zero.
    fn extend(&mut self, len: usize) -> Result<&mut [u8], Failure> {
        let start = self.0.len();
        let end = start.checked_add(len).ok_or(Number(libc::ENOMEM))?;
        if self.0.capacity() < end {
            let mut larger = Zeroizing::new(Vec::new());
            let room = end.max(2 * start);
            larger.try_reserve_exact(room).map_err(|_| Number(libc::ENOMEM))?;
            larger.extend_from_slice(&self.0);
            self.0 = larger; // wipes the old one
        }
        self.0.resize(end, 0);
        Ok(&mut self.0[start..])
    }
}

fn encrypt(
    encoder: &mut Encoder,
    mut input: &[u8],
    last: bool,
    out: &mut Buffer,
) -> Result<(), Failure> {
    loop {
        input = &input[encoder.push(input)?..];
        if input.is_empty() && last {
            encoder.end()?;
        }
        while encoder.ready_len() > 0 {
            let len = encoder.ready_len();
            let start = out.0.len();
            encoder.take_into(out.extend(len)?).inspect_err(|_| out.0.truncate(start))?;
        }
        if input.is_empty() {
            return Ok(());
        }
    }
}

fn decrypt(
    decoder: &mut Decoder,
    mut input: &[u8],
    last: bool,
    out: &mut Buffer,
) -> Result<(), Failure> {
    loop {
        let text = decoder.text()?;
        let len = text.len();
        out.extend(len)?.copy_from_slice(text);
        decoder.consume(len);
        let taken = decoder.push(input);
        input = &input[taken..];
        if taken == 0 && last {
            decoder.filled(0);
        }
        if decoder.is_complete() || taken == 0 && !last {
            return Ok(());
        }
    }
}

enum Work {
    Seal(Encoder),
    Open(Decoder),
}

pub(crate) struct Stream {
    work: Work,
    out: Buffer,
    /// The last bytes came, or a call failed.
    ended: bool,
}

impl Stream {
    fn sealer(secret: &Secret, alg: c_int, chunk: usize) -> Result<Self, Failure> {
        let number = u8::try_from(alg).map_err(|_| WRONG_ARGUMENT)?;
        let algorithm = match number {
            0 => Algorithm::default(),
            _ => Algorithm::from_id(number).ok_or(WRONG_ARGUMENT)?,
        };
        let size = match chunk {
            0 => ChunkSize::default(),
            _ => ChunkSize::new(chunk).ok_or(WRONG_ARGUMENT)?,
        };
        let encoder = Encoder::new(secret.get(), algorithm, size, secret.cost)?;
        Ok(Self::new(Work::Seal(encoder)))
    }

    fn opener(secret: &Secret) -> Result<Self, Failure> {
        Ok(Self::new(Work::Open(Decoder::new(secret.get(), secret.limits)?)))
    }

    fn new(work: Work) -> Self {
        Self { work, out: Buffer::default(), ended: false }
    }

    fn push(&mut self, input: &[u8], last: bool) -> Result<(), Failure> {
        self.out.0.clear();
        if self.ended {
            return Err(WRONG_ARGUMENT);
        }
        self.ended = true; // unless it succeeds
        match &mut self.work {
            Work::Seal(encoder) => encrypt(encoder, input, last, &mut self.out),
            Work::Open(decoder) => decrypt(decoder, input, last, &mut self.out),
        }?;
        self.ended = last;
        Ok(())
    }
}

/// # Safety
/// `secret` null, or from `palladion_secret_from_…` and not freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_sealer_new(
    secret: *const Secret,
    alg: c_int,
    chunk: usize,
) -> *mut Stream {
    // SAFETY: the caller's contract.
    let secret = unsafe { secret.as_ref() }.ok_or(WRONG_ARGUMENT);
    hand_over(secret.and_then(|secret| Stream::sealer(secret, alg, chunk)))
}

/// # Safety
/// `secret` null, or from `palladion_secret_from_…` and not freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_opener_new(secret: *const Secret) -> *mut Stream {
    // SAFETY: the caller's contract.
    hand_over(unsafe { secret.as_ref() }.ok_or(WRONG_ARGUMENT).and_then(Stream::opener))
}

/// # Safety
/// `stream` null, or from `palladion_sealer_new` or `palladion_opener_new`, not freed and not used
/// by another thread; `input` readable for `len` bytes, null only if there are none; `out` and
/// `out_len` null or writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_stream_push(
    stream: *mut Stream,
    input: *const u8,
    len: usize,
    last: c_int,
    out: *mut *const u8,
    out_len: *mut usize,
) -> c_int {
    if out.is_null() || out_len.is_null() {
        return WRONG_ARGUMENT.report();
    }
    // SAFETY: both are writable by the caller's contract, which holds for the rest too.
    unsafe {
        out.write(ptr::null());
        out_len.write(0);
        let (Some(stream), Some(input)) = (stream.as_mut(), bytes(input, len)) else {
            return WRONG_ARGUMENT.report();
        };
        let result = stream.push(input, last != 0);
        out.write(stream.out.0.as_ptr());
        out_len.write(stream.out.0.len());
        result.map_or_else(|failure| failure.report(), |()| OK)
    }
}

/// # Safety
/// `stream` null, or from one of the functions above and not freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn palladion_stream_free(stream: *mut Stream) {
    if !stream.is_null() {
        // SAFETY: `hand_over` made it with `Box::into_raw`; the caller promises the rest.
        drop(unsafe { Box::from_raw(stream) });
    }
}
