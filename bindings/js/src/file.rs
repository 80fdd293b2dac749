//! Encrypted files, chunk by chunk, and key files. Each writer or reader of a file has a buffer for
//! one chunk, its frame before it and its tag after it. JavaScript writes to the buffer and reads
//! from it.

use palladion_file::sans_io::{Opener, Sealer};
use palladion_file::{
    ChunkSize, HEADER_LEN, KdfLimits, KdfParams, MasterKey, Passphrase, Secret, needs_passphrase,
};
use zeroize::{Zeroize, Zeroizing};

use crate::cipher::algorithm;
use crate::failure::Failure;
use crate::memory::{Scratch, answer, borrow, into_handle, scratch, take};

/// A file being written or read.
#[derive(Debug)]
pub struct File<T> {
    state: T,
    chunk: Zeroizing<Vec<u8>>,
}

impl<T> File<T> {
    fn handle(state: T, size: ChunkSize) -> Result<u32, Failure> {
        let len = Sealer::FRAME_LEN + size.bytes() + Sealer::TAG_LEN;
        let mut chunk = Vec::new();
        chunk.try_reserve_exact(len).map_err(|_| Failure::Memory)?;
        chunk.resize(len, 0);
        Ok(into_handle(Self { state, chunk: Zeroizing::new(chunk) }))
    }
}

/// A master key or a passphrase, copied from the scratch memory, which is wiped.
enum Owned {
    Key(MasterKey),
    Passphrase(Passphrase),
}

impl Owned {
    /// Takes a passphrase of `passphrase_len` bytes from the data, or the master key if the length
    /// is `u32::MAX`.
    fn take(scratch: &mut Scratch, at: usize, passphrase_len: u32) -> Self {
        match passphrase_len {
            u32::MAX => Self::Key(MasterKey::from(*scratch.take_key())),
            len => {
                let bytes = &mut scratch.data[at..][..len as usize];
                let passphrase = Passphrase::new(&*bytes);
                bytes.zeroize();
                Self::Passphrase(passphrase)
            }
        }
    }

    fn secret(&self) -> Secret<'_> {
        match self {
            Self::Key(key) => key.into(),
            Self::Passphrase(passphrase) => passphrase.into(),
        }
    }
}

fn begin_sealing(
    scratch: &mut Scratch,
    passphrase_len: u32,
    id: u32,
    chunk_len: usize,
    [memory_kib, passes, lanes]: [u32; 3],
) -> Result<u32, Failure> {
    let secret = Owned::take(scratch, 0, passphrase_len);
    let algorithm = algorithm(id)?;
    let wrong =
        palladion::Error::WrongLength { what: "chunk", expected: 1 << 20, actual: chunk_len };
    let size = ChunkSize::new(chunk_len).ok_or(wrong)?;
    let kdf = KdfParams::new(memory_kib, passes, lanes).ok_or(Failure::Kdf)?;
    let (sealer, header) = Sealer::new(secret.secret(), algorithm, size, kdf, &scratch.nonce)?;
    scratch.data[..HEADER_LEN].copy_from_slice(&header);
    File::handle(sealer, size)
}

/// Starts to write a file and returns a handle. The salt takes the place of the nonce. The secret
/// is the key if `passphrase_len` is 2^32 - 1, and otherwise that many bytes of data. Writes the
/// header to the data.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_sealer_new(
    passphrase_len: u32,
    id: u32,
    chunk_len: usize,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
) -> u32 {
    // SAFETY: the contract of the crate.
    let scratch = unsafe { scratch() };
    let result = begin_sealing(scratch, passphrase_len, id, chunk_len, [memory_kib, passes, lanes]);
    answer(&mut scratch.text, result)
}

/// Returns the address of the chunk: its frame, then its text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_sealer_chunk(file: *mut File<Sealer>) -> *mut u8 {
    // SAFETY: the contract of the crate.
    unsafe { borrow(file) }.chunk.as_mut_ptr()
}

/// Seals `len` bytes of text. Returns the length with frame and tag.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_sealer_seal(file: *mut File<Sealer>, len: usize, last: u32) -> u32 {
    // SAFETY: the contract of the crate.
    let (scratch, file) = unsafe { (scratch(), borrow(file)) };
    let sealed = &mut file.chunk[..Sealer::FRAME_LEN + len + Sealer::TAG_LEN];
    let sealed_len = sealed.len() as u32;
    let result = file.state.seal(sealed, last != 0).map(|()| sealed_len);
    answer(&mut scratch.text, result.map_err(Failure::File))
}

/// Frees the writer of a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_sealer_free(file: *mut File<Sealer>) {
    // SAFETY: the contract of the crate.
    drop(unsafe { take(file) });
}

fn begin_opening(
    scratch: &mut Scratch,
    passphrase_len: u32,
    header_len: usize,
    limits: &KdfLimits,
) -> Result<u32, Failure> {
    let mut header = [0; HEADER_LEN];
    let header = &mut header[..header_len];
    header.copy_from_slice(&scratch.data[..header_len]);
    let secret = Owned::take(scratch, header_len, passphrase_len);
    let opener = Opener::new(secret.secret(), limits, header)?;
    let size = opener.chunk_size();
    File::handle(opener, size)
}

/// Starts to read a file and returns a handle. The data holds `header_len` bytes of the header,
/// which are fewer than a header if the file is shorter, and then the passphrase, if any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_opener_new(
    passphrase_len: u32,
    header_len: usize,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    work_kib: u32,
) -> u32 {
    // SAFETY: the contract of the crate.
    let scratch = unsafe { scratch() };
    let limits = KdfLimits { memory_kib, passes, lanes, work_kib };
    let result = begin_opening(scratch, passphrase_len, header_len, &limits);
    answer(&mut scratch.text, result)
}

/// Returns the address of the chunk: its frame, then the rest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_opener_chunk(file: *mut File<Opener>) -> *mut u8 {
    // SAFETY: the contract of the crate.
    unsafe { borrow(file) }.chunk.as_mut_ptr()
}

/// Takes the `len` bytes of a frame, fewer if the file ends. Returns the number of bytes that must
/// follow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_opener_frame(file: *mut File<Opener>, len: usize) -> u32 {
    // SAFETY: the contract of the crate.
    let (scratch, file) = unsafe { (scratch(), borrow(file)) };
    let result = file.state.frame(&file.chunk[..len]).map(|rest| rest as u32);
    answer(&mut scratch.text, result.map_err(Failure::File))
}

/// Opens the `len` bytes after the frame. Returns the length of the text that replaces them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_opener_open(file: *mut File<Opener>, len: usize) -> u32 {
    // SAFETY: the contract of the crate.
    let (scratch, file) = unsafe { (scratch(), borrow(file)) };
    let result =
        file.state.open(&mut file.chunk[Opener::FRAME_LEN..][..len]).map(|text| text.len() as u32);
    answer(&mut scratch.text, result.map_err(Failure::File))
}

/// Returns 1 if the file may end here, else 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_opener_complete(file: *mut File<Opener>) -> u32 {
    // SAFETY: the contract of the crate.
    unsafe { borrow(file) }.state.is_complete().into()
}

/// Frees the reader of a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_opener_free(file: *mut File<Opener>) {
    // SAFETY: the contract of the crate.
    drop(unsafe { take(file) });
}

/// Returns 1 if a file with the header in the data needs a passphrase, else 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_needs_passphrase(header_len: usize) -> u32 {
    // SAFETY: the contract of the crate.
    let scratch = unsafe { scratch() };
    let result = needs_passphrase(&scratch.data[..header_len]).map(u32::from);
    answer(&mut scratch.text, result.map_err(Failure::File))
}

fn parse_key(scratch: &mut Scratch, len: usize) -> Result<u32, Failure> {
    let text = core::str::from_utf8(&scratch.data[..len]).map_err(|_| Failure::NotUtf8)?;
    scratch.key = *MasterKey::from_key_file(text)?.as_bytes();
    Ok(0)
}

/// Reads the key from the text of a key file in the data, and wipes the text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_key_parse(len: usize) -> u32 {
    // SAFETY: the contract of the crate.
    let scratch = unsafe { scratch() };
    let result = parse_key(scratch, len);
    scratch.data[..len].zeroize();
    answer(&mut scratch.text, result)
}

/// Writes the text of a key file with the key to the data. Returns its length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_key_format() -> u32 {
    // SAFETY: the contract of the crate.
    let scratch = unsafe { scratch() };
    let text = MasterKey::from(*scratch.take_key()).to_key_file();
    scratch.data[..text.len()].copy_from_slice(text.as_bytes());
    text.len() as u32
}
