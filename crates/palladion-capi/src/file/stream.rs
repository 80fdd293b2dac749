//! Encryption and decryption in pieces of any size: C's `palladion_stream`.

use core::ffi::c_int;
use std::ptr;

use palladion_file::sans_io::{Opener, Sealer};
use palladion_file::{Algorithm, ChunkSize, HEADER_LEN};
use zeroize::{Zeroize, Zeroizing};

use super::failure::Failure::{self, Number};
use super::failure::WRONG_ARGUMENT;
use super::secret::{Secret, hand_over};
use crate::memory::bytes;
use crate::status::OK;

/// Memory that is wiped before it is freed, also when it has to grow.
#[derive(Default)]
struct Buffer(Zeroizing<Vec<u8>>);

impl Buffer {
    /// Empties it and makes room.
    fn clear(&mut self, room: usize) -> Result<(), Failure> {
        self.0.clear();
        if self.0.capacity() < room {
            self.0 = Zeroizing::default(); // wipes the old one
            self.0.try_reserve_exact(room).map_err(|_| Number(libc::ENOMEM))?;
        }
        Ok(())
    }

    /// Appends bytes, for which there is room.
    fn append(&mut self, bytes: &[u8]) {
        debug_assert!(self.0.capacity() - self.0.len() >= bytes.len());
        self.0.extend_from_slice(bytes);
    }
}

/// A file that is encrypted. A full chunk is held back until there is more: it might be the last.
struct Sealing {
    sealer: Sealer,
    size: usize,
    /// Until it is out.
    header: Option<[u8; HEADER_LEN]>,
    held: Buffer,
}

impl Sealing {
    fn push(&mut self, mut input: &[u8], last: bool, out: &mut Buffer) -> Result<(), Failure> {
        const OVERHEAD: usize = Sealer::FRAME_LEN + Sealer::TAG_LEN;
        let len = self.held.0.len().checked_add(input.len()).ok_or(Number(libc::ENOMEM))?;
        let room = (len / self.size + 1)
            .checked_mul(OVERHEAD)
            .and_then(|more| len.checked_add(more)?.checked_add(HEADER_LEN));
        out.clear(room.ok_or(Number(libc::ENOMEM))?)?;
        if let Some(header) = self.header.take() {
            out.append(&header);
        }
        loop {
            let len = self.held.0.len() + input.len();
            let ends = last && len <= self.size;
            if len <= self.size && !ends {
                self.held.append(input);
                return Ok(());
            }
            let taken;
            (taken, input) = input.split_at(len.min(self.size) - self.held.0.len());
            let start = out.0.len();
            out.append(&[0; Sealer::FRAME_LEN]);
            out.append(&self.held.0);
            out.append(taken);
            out.append(&[0; Sealer::TAG_LEN]);
            if let Err(error) = self.sealer.seal(&mut out.0[start..], ends) {
                out.0[start..].zeroize(); // it is plaintext
                out.0.truncate(start);
                return Err(error.into());
            }
            self.held.0.clear();
            if ends {
                return Ok(());
            }
        }
    }
}

/// A file that is decrypted.
struct Opening {
    next: Part,
    /// The beginning of that part.
    held: Buffer,
}

/// What the next bytes are.
enum Part {
    Header(Box<Secret>),
    Frame(Opener),
    /// So many bytes of a chunk that was announced.
    Chunk(Opener, usize),
    /// None, because an error came.
    Nothing,
}

impl Opening {
    /// Returns how many bytes are needed to continue.
    fn wanted(&self) -> usize {
        match &self.next {
            Part::Header(_) => HEADER_LEN,
            Part::Frame(opener) if opener.is_complete() => 1, // one too many
            Part::Frame(_) => Opener::FRAME_LEN,
            Part::Chunk(_, len) => *len,
            Part::Nothing => 0,
        }
    }

    fn push(&mut self, mut input: &[u8], last: bool, out: &mut Buffer) -> Result<(), Failure> {
        let room = self.held.0.len().checked_add(input.len()).ok_or(Number(libc::ENOMEM))?;
        out.clear(room)?;
        loop {
            let wanted = self.wanted();
            let taken;
            (taken, input) = input.split_at(input.len().min(wanted - self.held.0.len()));
            self.held.append(taken);
            if self.held.0.len() < wanted {
                // More bytes will come, or the file may end here.
                let is_complete = matches!(&self.next, Part::Frame(opener) if opener.is_complete());
                if !last || is_complete {
                    return Ok(());
                }
            }
            self.next = match std::mem::replace(&mut self.next, Part::Nothing) {
                Part::Header(secret) => {
                    Part::Frame(Opener::new(secret.get(), &secret.limits, &self.held.0)?)
                }
                Part::Frame(mut opener) => {
                    let len = opener.frame(&self.held.0)?;
                    Part::Chunk(opener, len)
                }
                Part::Chunk(mut opener, _) => {
                    out.append(opener.open(&mut self.held.0)?);
                    Part::Frame(opener)
                }
                Part::Nothing => return Err(WRONG_ARGUMENT),
            };
            self.held.clear(self.wanted())?;
        }
    }
}

enum Work {
    Seal(Sealing),
    Open(Opening),
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
        let mut salt = [0; 32];
        getrandom::fill(&mut salt)
            .map_err(|error| Number(error.raw_os_error().unwrap_or(libc::EIO)))?;
        let (sealer, header) = Sealer::new(secret.get(), algorithm, size, secret.cost, &salt)?;
        let (mut held, size) = (Buffer::default(), size.bytes());
        held.clear(size)?;
        Ok(Self::new(Work::Seal(Sealing { sealer, size, header: Some(header), held })))
    }

    fn opener(secret: &Secret) -> Result<Self, Failure> {
        let mut held = Buffer::default();
        held.clear(HEADER_LEN)?;
        let next = Part::Header(Box::new(secret.clone()));
        Ok(Self::new(Work::Open(Opening { next, held })))
    }

    fn new(work: Work) -> Self {
        Self { work, out: Buffer::default(), ended: false }
    }

    fn push(&mut self, input: &[u8], last: bool) -> Result<(), Failure> {
        if self.ended {
            self.out.0.clear();
            return Err(WRONG_ARGUMENT);
        }
        self.ended = true; // unless it succeeds
        match &mut self.work {
            Work::Seal(sealing) => sealing.push(input, last, &mut self.out),
            Work::Open(opening) => opening.push(input, last, &mut self.out),
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
