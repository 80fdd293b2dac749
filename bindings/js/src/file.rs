//! Encrypted files, and key files.

use core::mem::take;

use palladion_file::sans_io::{Decoder, Encoder, Opening};
use palladion_file::{ChunkSize, HEADER_LEN, KdfLimits, KdfParams, Keyring, MasterKey, Passphrase};
use zeroize::Zeroize;

use crate::cipher::algorithm;
use crate::failure::Failure;
use crate::memory::{Key, Scratch, first};
use crate::objects::{Coder, File, Objects, Reader};

/// Takes the `len` bytes that a file wants before it is open. The last that it takes are the last
/// chunk, whose text replaces them, after the frame.
pub(crate) fn give(reader: &mut Reader, chunk: &mut [u8], len: u32) -> Result<u32, Failure> {
    let Reader::Opening(opening) = reader else { return Err(Failure::Argument) };
    let bytes = first(chunk, len)?;
    let opening = opening.take().ok_or(Failure::NoObject)?.give(bytes)?;
    *reader = match opening.wants() {
        Some(_) => Reader::Opening(Some(opening)),
        None => Reader::Open(opening.finish()),
    };
    Ok(0)
}

/// Opens the `len` bytes of any chunk, with its frame. Returns the length of the text that replaces
/// them, after the frame.
pub(crate) fn open_any(
    reader: &Reader,
    number: u64,
    chunk: &mut [u8],
    len: u32,
) -> Result<u32, Failure> {
    let Reader::Open(chunks) = reader else { return Err(Failure::Argument) };
    if number >= chunks.layout().chunks() {
        return Err(Failure::Argument);
    }
    Ok(chunks.open(number, first(chunk, len)?)?.len() as u32)
}

/// Stands for the place.
const PLACE: u32 = 1 << 31;

/// Adds `len` bytes of the data to the first `before` bytes of the place of the next file.
pub(crate) fn bind(
    scratch: &mut Scratch,
    objects: &mut Objects,
    [len, before]: [u32; 2],
) -> Result<u32, Failure> {
    objects.place.truncate(before as usize);
    objects.place.extend_from_slice(first(&mut scratch.data, len)?);
    Ok(0)
}

/// Takes the secrets in `len` bytes of the data, which it wipes, and the place if they name it.
/// Before each passphrase comes its length, and before each master key `u32::MAX`.
fn take_secrets(
    scratch: &mut Scratch,
    objects: &mut Objects,
    at: usize,
    len: u32,
) -> Result<Keyring, Failure> {
    let bytes = first(&mut scratch.data[at..], len)?;
    let (mut keyring, mut rest) = (Keyring::default(), &*bytes);
    while let Some((mark, after)) = rest.split_first_chunk() {
        let mark = u32::from_le_bytes(*mark);
        let is_key = mark == u32::MAX;
        let len = match mark {
            u32::MAX => 32,
            PLACE => 0,
            len => len as usize,
        };
        let (secret, after) = after.split_at_checked(len).ok_or(Failure::Argument)?;
        rest = after;
        keyring = match <[u8; 32]>::try_from(secret) {
            Ok(key) if is_key => keyring.key(MasterKey::from(key)),
            _ if mark == PLACE => keyring.bind(take(&mut objects.place)),
            _ => keyring.passphrase(Passphrase::new(secret)),
        };
    }
    bytes.zeroize();
    Ok(keyring)
}

/// A file that was just created.
pub(crate) enum New {
    Coder(Coder),
    Reader(File),
}

impl New {
    /// Keeps the file and returns its number.
    pub(crate) fn keep(self, objects: &mut Objects) -> u32 {
        match self {
            Self::Coder(file) => objects.coders.add(file),
            Self::Reader(file) => objects.readers.add(file),
        }
    }
}

/// Creates a file. With a passphrase, this takes long; another thread may do it.
pub(crate) trait Create: FnOnce() -> Result<New, Failure> + Send {}
impl<F: FnOnce() -> Result<New, Failure> + Send> Create for F {}

/// Takes the arguments for a file to write.
pub(crate) fn encoder(
    scratch: &mut Scratch,
    objects: &mut Objects,
    [secrets_len, id, chunk_len, memory_kib, passes, lanes]: [u32; 6],
) -> Result<impl Create + use<>, Failure> {
    let secret = take_secrets(scratch, objects, 0, secrets_len)?;
    let algorithm = algorithm(id)?;
    let actual = chunk_len as usize;
    let wrong = palladion::Error::WrongLength { what: "chunk", expected: 1 << 20, actual };
    let size = ChunkSize::new(actual).ok_or(wrong)?;
    let kdf = KdfParams::new(memory_kib, passes, lanes).ok_or(Failure::Kdf)?;
    let salt = scratch.nonce;
    Ok(move || {
        let encoder = Encoder::with_salt(&secret, algorithm, size, kdf, &salt)?;
        Ok(New::Coder(Coder::Encoder(encoder)))
    })
}

pub(crate) fn encoder_new(
    scratch: &mut Scratch,
    objects: &mut Objects,
    numbers: [u32; 6],
) -> Result<u32, Failure> {
    Ok(encoder(scratch, objects, numbers)?()?.keep(objects))
}

pub(crate) fn decoder_new(
    scratch: &mut Scratch,
    objects: &mut Objects,
    [secrets_len, memory_kib, passes, lanes, work_kib]: [u32; 5],
) -> Result<u32, Failure> {
    let secret = take_secrets(scratch, objects, 0, secrets_len)?;
    let limits = KdfLimits { memory_kib, passes, lanes, work_kib };
    Ok(objects.coders.add(Coder::Decoder(Decoder::new(&secret, limits)?)))
}

/// Takes a file from the table, to go on with what takes long.
pub(crate) fn going_on(
    objects: &mut Objects,
    [file]: [u32; 1],
) -> Result<impl Create + use<>, Failure> {
    let mut file = objects.coders.take(file)?;
    Ok(move || {
        if let Coder::Decoder(decoder) = &mut *file {
            decoder.text()?;
        }
        Ok(New::Coder(*file))
    })
}

pub(crate) fn coder_go_on(
    _: &mut Scratch,
    objects: &mut Objects,
    numbers: [u32; 1],
) -> Result<u32, Failure> {
    Ok(going_on(objects, numbers)?()?.keep(objects))
}

pub(crate) fn coder_ready(
    _: &mut Scratch,
    objects: &mut Objects,
    [file]: [u32; 1],
) -> Result<u32, Failure> {
    objects.coders.get(file)?.ready()
}

pub(crate) fn coder_end(
    _: &mut Scratch,
    objects: &mut Objects,
    [file]: [u32; 1],
) -> Result<u32, Failure> {
    objects.coders.get(file)?.end().map(|()| 0)
}

pub(crate) fn coder_free(
    _: &mut Scratch,
    objects: &mut Objects,
    [file]: [u32; 1],
) -> Result<u32, Failure> {
    objects.coders.free(file)
}

/// Takes the arguments for a file to read in any order.
pub(crate) fn reader(
    scratch: &mut Scratch,
    objects: &mut Objects,
    [secrets_len, header_len, memory_kib, passes, lanes, work_kib]: [u32; 6],
) -> Result<impl Create + use<>, Failure> {
    let file_len = scratch.long();
    let mut header = [0; HEADER_LEN];
    first(&mut header, header_len)?.copy_from_slice(first(&mut scratch.data, header_len)?);
    let secret = take_secrets(scratch, objects, header_len as usize, secrets_len)?;
    let limits = KdfLimits { memory_kib, passes, lanes, work_kib };
    Ok(move || {
        let opening = Opening::new(&secret, &limits, &header[..header_len as usize], file_len)?;
        let len = file_len.min(opening.chunk_size().bytes() as u64);
        Ok(New::Reader(File::new(Reader::Opening(Some(opening)), len as usize)?))
    })
}

pub(crate) fn reader_new(
    scratch: &mut Scratch,
    objects: &mut Objects,
    numbers: [u32; 6],
) -> Result<u32, Failure> {
    Ok(reader(scratch, objects, numbers)?()?.keep(objects))
}

pub(crate) fn reader_size(
    _: &mut Scratch,
    objects: &mut Objects,
    [file]: [u32; 1],
) -> Result<u32, Failure> {
    let size = match &objects.readers.get(file)?.state {
        Reader::Opening(opening) => opening.as_ref().ok_or(Failure::NoObject)?.chunk_size(),
        Reader::Open(chunks) => chunks.layout().chunk_size(),
    };
    Ok(size.bytes() as u32)
}

pub(crate) fn reader_wants(
    scratch: &mut Scratch,
    objects: &mut Objects,
    [file]: [u32; 1],
) -> Result<u32, Failure> {
    let (long, len) = match &objects.readers.get(file)?.state {
        Reader::Opening(opening) => {
            let wanted = opening.as_ref().and_then(Opening::wants).ok_or(Failure::NoObject)?;
            (wanted.start, wanted.end - wanted.start)
        }
        Reader::Open(chunks) => (chunks.layout().plaintext_len(), 0),
    };
    scratch.set_long(long);
    Ok(len as u32)
}

pub(crate) fn reader_algorithm(
    _: &mut Scratch,
    objects: &mut Objects,
    [file]: [u32; 1],
) -> Result<u32, Failure> {
    match &objects.readers.get(file)?.state {
        Reader::Opening(_) => Err(Failure::Argument),
        Reader::Open(chunks) => Ok(chunks.algorithm().id().into()),
    }
}

pub(crate) fn reader_free(
    _: &mut Scratch,
    objects: &mut Objects,
    [file]: [u32; 1],
) -> Result<u32, Failure> {
    objects.readers.free(file)
}

pub(crate) fn needs_passphrase(
    scratch: &mut Scratch,
    _: &mut Objects,
    [header_len]: [u32; 1],
) -> Result<u32, Failure> {
    Ok(palladion_file::needs_passphrase(first(&mut scratch.data, header_len)?)?.into())
}

pub(crate) fn key_parse(
    scratch: &mut Scratch,
    _: &mut Objects,
    [len]: [u32; 1],
) -> Result<u32, Failure> {
    let text = first(&mut scratch.data, len)?;
    let key = core::str::from_utf8(text)
        .map_err(|_| Failure::NotUtf8)
        .and_then(|text| Ok(MasterKey::from_key_file(text)?));
    text.zeroize();
    scratch.key = *key?.as_bytes();
    Ok(0)
}

pub(crate) fn key_format(
    scratch: &mut Scratch,
    _: &mut Objects,
    []: [u32; 0],
) -> Result<u32, Failure> {
    let text = MasterKey::from(*Key(&mut scratch.key)).to_key_file();
    scratch.data[..text.len()].copy_from_slice(text.as_bytes());
    Ok(text.len() as u32)
}
