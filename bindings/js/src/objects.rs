//! The objects that JavaScript knows by their numbers.

use palladion::any::Mac;
use palladion::hazmat::AnySession;
use palladion_file::sans_io::{ChunkOpener, Decoder, Encoder, Opening};

use crate::failure::Failure;

/// All objects.
pub(crate) struct Objects {
    pub(crate) sessions: Table<AnySession>,
    pub(crate) macs: Table<AnyMac>,
    pub(crate) coders: Table<Coder>,
    pub(crate) readers: Table<File>,
    /// The place of the file that is created next.
    pub(crate) place: Vec<u8>,
}

impl Objects {
    pub(crate) const fn new() -> Self {
        Self {
            sessions: Table::new(),
            macs: Table::new(),
            coders: Table::new(),
            readers: Table::new(),
            place: Vec::new(),
        }
    }
}

/// Objects of one type. The number of an object is one more than its index.
pub(crate) struct Table<T> {
    /// In boxes, because a vector that grows leaves copies of its contents behind.
    objects: Vec<Option<Box<T>>>,
    vacant: Vec<u32>,
}

impl<T> Table<T> {
    const fn new() -> Self {
        Self { objects: Vec::new(), vacant: Vec::new() }
    }

    /// Keeps an object and returns its number.
    pub(crate) fn add(&mut self, object: T) -> u32 {
        let object = Some(Box::new(object));
        if let Some(number) = self.vacant.pop() {
            self.objects[number as usize - 1] = object;
            number
        } else {
            self.objects.push(object);
            self.objects.len() as u32
        }
    }

    pub(crate) fn get(&mut self, number: u32) -> Result<&mut T, Failure> {
        let slot = self.objects.get_mut((number as usize).wrapping_sub(1));
        slot.and_then(Option::as_deref_mut).ok_or(Failure::NoObject)
    }

    /// Removes an object.
    pub(crate) fn take(&mut self, number: u32) -> Result<Box<T>, Failure> {
        let slot = self.objects.get_mut((number as usize).wrapping_sub(1));
        let object = slot.and_then(Option::take).ok_or(Failure::NoObject)?;
        self.vacant.push(number);
        Ok(object)
    }

    /// Removes an object and drops it, which wipes it.
    pub(crate) fn free(&mut self, number: u32) -> Result<u32, Failure> {
        self.take(number).map(|_| 0)
    }
}

/// A MAC with a key, or with a key derived from a master key as the command line does it.
#[derive(Clone)]
pub(crate) enum AnyMac {
    Key(Mac),
    MasterKey(palladion_file::Mac),
}

impl AnyMac {
    pub(crate) fn update(&mut self, data: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Key(mac) => Ok(mac.update(data)?),
            Self::MasterKey(mac) => Ok(mac.update(data)?),
        }
    }

    pub(crate) fn finalize(self, tag: &mut [u8]) -> Result<(), Failure> {
        match self {
            Self::Key(mac) => mac.finalize(tag)?,
            Self::MasterKey(mac) => tag.copy_from_slice(&mac.finalize()[..tag.len()]),
        }
        Ok(())
    }

    pub(crate) fn verify(self, tag: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Key(mac) => Ok(mac.verify(tag)?),
            Self::MasterKey(mac) => {
                let wrong = palladion::Error::UnknownTagLength { actual: tag.len() };
                match mac.verify(tag.try_into().map_err(|_| wrong)?) {
                    true => Ok(()),
                    false => Err(palladion::Error::VerificationFailed.into()),
                }
            }
        }
    }
}

/// A file that is written, or read from its start to its end.
pub(crate) enum Coder {
    Encoder(Encoder),
    Decoder(Decoder),
}

impl Coder {
    /// Returns the place for the next bytes, of which there must be some. It is empty if others
    /// must be taken first, or if it takes long to go on.
    pub(crate) fn room(&mut self) -> Result<&mut [u8], Failure> {
        self.ready()?; // the decoder goes on to the next part
        Ok(match self {
            Self::Encoder(encoder) => encoder.room()?,
            Self::Decoder(decoder) => decoder.room(),
        })
    }

    /// Says that `len` bytes, at least one, were written to the start of the room.
    pub(crate) fn filled(&mut self, len: usize) {
        match self {
            Self::Encoder(encoder) => encoder.filled(len),
            Self::Decoder(decoder) => decoder.filled(len),
        }
    }

    /// Returns how many bytes can be taken, or `LONG`.
    pub(crate) fn ready(&mut self) -> Result<u32, Failure> {
        Ok(match self {
            Self::Encoder(encoder) => encoder.ready_len() as u32,
            Self::Decoder(decoder) if decoder.cost() == usize::MAX => LONG,
            Self::Decoder(decoder) => decoder.text()?.len() as u32,
        })
    }

    /// Says that nothing follows. What was ready before must be taken.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        match self {
            Self::Encoder(encoder) => encoder.end()?,
            Self::Decoder(decoder) => {
                decoder.text()?;
                if decoder.room().is_empty() {
                    return Err(Failure::Argument);
                }
                decoder.filled(0);
                decoder.text()?;
            }
        }
        Ok(())
    }
}

/// It takes long to go on.
pub(crate) const LONG: u32 = 1 << 31;

/// A file whose chunks are read in any order.
pub(crate) enum Reader {
    /// Its end is not verified yet. `None` if that failed.
    Opening(Option<Opening>),
    Open(ChunkOpener),
}

/// A file being read in any order.
pub(crate) struct File {
    pub(crate) state: Reader,
    /// The buffer for a chunk in WebAssembly. The addon uses arrays of JavaScript.
    #[cfg(target_family = "wasm")]
    pub(crate) chunk: palladion::Buffer,
}

impl File {
    /// A file whose chunks have at most `len` bytes of text.
    #[cfg(target_family = "wasm")]
    pub(crate) fn new(state: Reader, len: usize) -> Result<Self, Failure> {
        let chunk = palladion::Buffer::new(ChunkOpener::FRAME_LEN, len + ChunkOpener::TAG_LEN);
        Ok(Self { state, chunk: chunk.map_err(|_| Failure::Memory)? })
    }

    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn new(state: Reader, _: usize) -> Result<Self, Failure> {
        Ok(Self { state })
    }
}
