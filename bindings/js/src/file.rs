//! Encrypted files, chunk by chunk, and key files. JavaScript collects a chunk in a buffer, after
//! room for its frame, and before room for its tag.

use palladion_file::sans_io::{Opener, Opening, Sealer};
use palladion_file::{
    ChunkSize, HEADER_LEN, KdfLimits, KdfParams, MasterKey, OwnedSecret, Passphrase,
};
use zeroize::Zeroize;

use crate::cipher::algorithm;
use crate::failure::Failure;
use crate::memory::{Key, Scratch, first};
use crate::objects::{File, Objects, Reader};

/// Seals the text in a buffer for a chunk. Returns the length with frame and tag.
pub(crate) fn seal(
    sealer: &mut Sealer,
    chunk: &mut [u8],
    len: u32,
    last: bool,
) -> Result<u32, Failure> {
    let around = (Sealer::FRAME_LEN + Sealer::TAG_LEN) as u32;
    let sealed = first(chunk, len.checked_add(around).ok_or(Failure::Argument)?)?;
    sealer.seal(sealed, last)?;
    Ok(sealed.len() as u32)
}

/// Takes the `len` bytes of a frame, fewer if the file ends. Returns the number of bytes that must
/// follow.
pub(crate) fn frame(opener: &mut Opener, chunk: &[u8], len: u32) -> Result<u32, Failure> {
    let frame = chunk.get(..len as usize).ok_or(Failure::Argument)?;
    Ok(opener.frame(frame)? as u32)
}

/// Opens the `len` bytes after the frame. Returns the length of the text that replaces them.
pub(crate) fn open(opener: &mut Opener, chunk: &mut [u8], len: u32) -> Result<u32, Failure> {
    let rest = chunk.get_mut(Opener::FRAME_LEN..).ok_or(Failure::Argument)?;
    Ok(opener.open(first(rest, len)?)?.len() as u32)
}

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

/// Takes a passphrase of `passphrase_len` bytes from the data, or the master key if the length is
/// `u32::MAX`. What it leaves in the scratch memory is wiped.
fn take_secret(
    scratch: &mut Scratch,
    at: usize,
    passphrase_len: u32,
) -> Result<OwnedSecret, Failure> {
    match passphrase_len {
        u32::MAX => Ok(MasterKey::from(*Key(&mut scratch.key)).into()),
        len => {
            let bytes = first(&mut scratch.data[at..], len)?;
            let passphrase = Passphrase::new(&*bytes);
            bytes.zeroize();
            Ok(passphrase.into())
        }
    }
}

/// A file that was just created.
pub(crate) enum New {
    Sealer(File<Sealer>, [u8; HEADER_LEN]),
    Opener(File<Opener>),
    Reader(File<Reader>),
}

impl New {
    /// Keeps the file and returns its number. Writes the header of a new one to the data.
    pub(crate) fn keep(self, scratch: &mut Scratch, objects: &mut Objects) -> u32 {
        match self {
            Self::Sealer(file, header) => {
                scratch.data[..HEADER_LEN].copy_from_slice(&header);
                objects.sealers.add(file)
            }
            Self::Opener(file) => objects.openers.add(file),
            Self::Reader(file) => objects.readers.add(file),
        }
    }
}

/// Creates a file. With a passphrase, this takes long; another thread may do it.
pub(crate) trait Create: FnOnce() -> Result<New, Failure> + Send {}
impl<F: FnOnce() -> Result<New, Failure> + Send> Create for F {}

/// Takes the arguments for a file to write.
pub(crate) fn sealer(
    scratch: &mut Scratch,
    [passphrase_len, id, chunk_len, memory_kib, passes, lanes]: [u32; 6],
) -> Result<impl Create + use<>, Failure> {
    let secret = take_secret(scratch, 0, passphrase_len)?;
    let algorithm = algorithm(id)?;
    let actual = chunk_len as usize;
    let wrong = palladion::Error::WrongLength { what: "chunk", expected: 1 << 20, actual };
    let size = ChunkSize::new(actual).ok_or(wrong)?;
    let kdf = KdfParams::new(memory_kib, passes, lanes).ok_or(Failure::Kdf)?;
    let salt = scratch.nonce;
    Ok(move || {
        let (sealer, header) = Sealer::new(&secret, algorithm, size, kdf, &salt)?;
        Ok(New::Sealer(File::new(sealer, size.bytes())?, header))
    })
}

pub(crate) fn sealer_new(
    scratch: &mut Scratch,
    objects: &mut Objects,
    numbers: [u32; 6],
) -> Result<u32, Failure> {
    Ok(sealer(scratch, numbers)?()?.keep(scratch, objects))
}

pub(crate) fn sealer_free(
    _: &mut Scratch,
    objects: &mut Objects,
    [file]: [u32; 1],
) -> Result<u32, Failure> {
    objects.sealers.free(file)
}

/// What it takes to read a file.
struct Given {
    header: [u8; HEADER_LEN],
    header_len: usize,
    secret: OwnedSecret,
    limits: KdfLimits,
}

impl Given {
    fn take(
        scratch: &mut Scratch,
        [passphrase_len, header_len, memory_kib, passes, lanes, work_kib]: [u32; 6],
    ) -> Result<Self, Failure> {
        let mut header = [0; HEADER_LEN];
        first(&mut header, header_len)?.copy_from_slice(first(&mut scratch.data, header_len)?);
        let header_len = header_len as usize;
        let secret = take_secret(scratch, header_len, passphrase_len)?;
        let limits = KdfLimits { memory_kib, passes, lanes, work_kib };
        Ok(Self { header, header_len, secret, limits })
    }

    fn header(&self) -> &[u8] {
        &self.header[..self.header_len]
    }
}

/// Takes the arguments for a file to read from its start to its end.
pub(crate) fn opener(
    scratch: &mut Scratch,
    numbers: [u32; 6],
) -> Result<impl Create + use<>, Failure> {
    let given = Given::take(scratch, numbers)?;
    Ok(move || {
        let opener = Opener::new(&given.secret, &given.limits, given.header())?;
        let size = opener.chunk_size();
        Ok(New::Opener(File::new(opener, size.bytes())?))
    })
}

pub(crate) fn opener_new(
    scratch: &mut Scratch,
    objects: &mut Objects,
    numbers: [u32; 6],
) -> Result<u32, Failure> {
    Ok(opener(scratch, numbers)?()?.keep(scratch, objects))
}

pub(crate) fn opener_size(
    _: &mut Scratch,
    objects: &mut Objects,
    [file]: [u32; 1],
) -> Result<u32, Failure> {
    Ok(objects.openers.get(file)?.state.chunk_size().bytes() as u32)
}

pub(crate) fn opener_complete(
    _: &mut Scratch,
    objects: &mut Objects,
    [file]: [u32; 1],
) -> Result<u32, Failure> {
    Ok(objects.openers.get(file)?.state.is_complete().into())
}

pub(crate) fn opener_free(
    _: &mut Scratch,
    objects: &mut Objects,
    [file]: [u32; 1],
) -> Result<u32, Failure> {
    objects.openers.free(file)
}

/// Takes the arguments for a file to read in any order.
pub(crate) fn reader(
    scratch: &mut Scratch,
    numbers: [u32; 6],
) -> Result<impl Create + use<>, Failure> {
    let (given, file_len) = (Given::take(scratch, numbers)?, scratch.long());
    Ok(move || {
        let opening = Opening::new(&given.secret, &given.limits, given.header(), file_len)?;
        let len = file_len.min(opening.chunk_size().bytes() as u64);
        Ok(New::Reader(File::new(Reader::Opening(Some(opening)), len as usize)?))
    })
}

pub(crate) fn reader_new(
    scratch: &mut Scratch,
    objects: &mut Objects,
    numbers: [u32; 6],
) -> Result<u32, Failure> {
    Ok(reader(scratch, numbers)?()?.keep(scratch, objects))
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
