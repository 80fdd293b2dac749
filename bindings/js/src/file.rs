//! Encrypted files, chunk by chunk, and key files.
//!
//! Whoever writes or reads a file has a buffer for one chunk, with room for its frame in front of
//! it and its tag behind it. JavaScript writes to it and reads from it.

use palladion_file::sans_io::{Opener, Sealer};
use palladion_file::{
    ChunkSize, HEADER_LEN, KdfLimits, KdfParams, MasterKey, Passphrase, Secret, needs_passphrase,
};
use zeroize::{Zeroize, Zeroizing};

use crate::cipher::algorithm;
use crate::failure::Failure;
use crate::memory::{Scratch, answer, borrow, into_handle, scratch, take};

/// A file that is written or read.
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

/// A master key or a passphrase from the scratch memory, where it is wiped.
enum Owned {
    Key(MasterKey),
    Passphrase(Passphrase),
}

impl Owned {
    /// `passphrase_len` bytes of the data from a place on, or the master key if there is no
    /// passphrase (`u32::MAX`).
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

/// Begins a file with the salt that is in the nonce's place: a handle. The header is then in the
/// data. The secret is a master key in the key's place if `passphrase_len` is 2^32 - 1, and
/// otherwise that many bytes of data.
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

/// Where the chunk lies: its frame, then its text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_sealer_chunk(file: *mut File<Sealer>) -> *mut u8 {
    // SAFETY: the contract of the crate.
    unsafe { borrow(file) }.chunk.as_mut_ptr()
}

/// Seals `len` bytes of text: how long that has become with frame and tag.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_sealer_seal(file: *mut File<Sealer>, len: usize, last: u32) -> u32 {
    // SAFETY: the contract of the crate.
    let (scratch, file) = unsafe { (scratch(), borrow(file)) };
    let sealed = &mut file.chunk[..Sealer::FRAME_LEN + len + Sealer::TAG_LEN];
    let sealed_len = sealed.len() as u32;
    let result = file.state.seal(sealed, last != 0).map(|()| sealed_len);
    answer(&mut scratch.text, result.map_err(Failure::File))
}

/// Ends the writing of a file.
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

/// Begins to read a file whose header is in the data, `header_len` bytes of it if there are no
/// more: a handle. A passphrase comes behind it.
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

/// Where the chunk lies: its frame, then the rest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_opener_chunk(file: *mut File<Opener>) -> *mut u8 {
    // SAFETY: the contract of the crate.
    unsafe { borrow(file) }.chunk.as_mut_ptr()
}

/// Takes a frame, `len` bytes of it if there are no more: how many bytes follow it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_opener_frame(file: *mut File<Opener>, len: usize) -> u32 {
    // SAFETY: the contract of the crate.
    let (scratch, file) = unsafe { (scratch(), borrow(file)) };
    let result = file.state.frame(&file.chunk[..len]).map(|rest| rest as u32);
    answer(&mut scratch.text, result.map_err(Failure::File))
}

/// Opens what follows the frame, `len` bytes: how long the text is that lies there now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_opener_open(file: *mut File<Opener>, len: usize) -> u32 {
    // SAFETY: the contract of the crate.
    let (scratch, file) = unsafe { (scratch(), borrow(file)) };
    let result =
        file.state.open(&mut file.chunk[Opener::FRAME_LEN..][..len]).map(|text| text.len() as u32);
    answer(&mut scratch.text, result.map_err(Failure::File))
}

/// Whether the file may end here: 1 or 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_opener_complete(file: *mut File<Opener>) -> u32 {
    // SAFETY: the contract of the crate.
    unsafe { borrow(file) }.state.is_complete().into()
}

/// Ends the reading of a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_opener_free(file: *mut File<Opener>) {
    // SAFETY: the contract of the crate.
    drop(unsafe { take(file) });
}

/// Whether a file with this header, which is in the data, needs a passphrase: 1 or 0.
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

/// Reads the key from the text of a key file, which is in the data and wiped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_key_parse(len: usize) -> u32 {
    // SAFETY: the contract of the crate.
    let scratch = unsafe { scratch() };
    let result = parse_key(scratch, len);
    scratch.data[..len].zeroize();
    answer(&mut scratch.text, result)
}

/// Writes the text of a key file with this key to the data: its length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_key_format() -> u32 {
    // SAFETY: the contract of the crate.
    let scratch = unsafe { scratch() };
    let text = MasterKey::from(*scratch.take_key()).to_key_file();
    scratch.data[..text.len()].copy_from_slice(text.as_bytes());
    text.len() as u32
}
