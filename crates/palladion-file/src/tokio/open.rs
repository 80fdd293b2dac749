//! Opens a file whose chunks are then read in any order.

use std::io;

use palladion::Buffer;

use super::{elsewhere, owned};
use crate::any_order::{ChunkOpener, Opening};
use crate::chunk::{self, FRAME_LEN};
use crate::error::Error;
use crate::header::HEADER_LEN;
use crate::kdf::KdfLimits;
use crate::read_at::ReadAt;
use crate::secret::{OwnedSecret, Secret};
use crate::slots::copies::{Failed, OfHead, open_head, open_spare};
use crate::slots::head::Head;

/// What gets a part of the file.
pub(super) trait Fetch {
    /// Fills the buffer from this offset on, as far as the file reaches, and returns how far that
    /// is.
    fn fetch(
        &mut self,
        buffer: &mut [u8],
        offset: u64,
    ) -> impl Future<Output = Result<usize, Error>>;
}

/// Opens a file, and returns a buffer for a chunk, in which the last chunk is open.
pub(super) async fn open<'a>(
    secret: impl Into<Secret<'a>>,
    limits: &KdfLimits,
    file_len: u64,
    file: &mut impl Fetch,
) -> Result<(ChunkOpener, Buffer), Error> {
    let (secret, limits) = (owned(secret), *limits);
    let start = read_start(file, &secret, file_len).await?;
    let begin = move || {
        let opened = begin(&secret, &limits, &start, file_len);
        (opened, secret, start)
    };
    let (opened, secret, start) = elsewhere(begin).await.map_err(Error::Read)?;
    let mut opening = match opened? {
        Ok(opening) => opening,
        Err(failed) => {
            let end = End::read(file, file_len).await?;
            let by_spare = move || {
                let keyring = Secret::from(&secret).keyring_for_slots();
                let keyring = keyring.expect("only with one, a head can fail");
                let (head, cipher) = open_spare(&end, file_len, failed, keyring, &limits)?;
                Opening::of_slots(&head, cipher, &start, file_len)
            };
            elsewhere(by_spare).await.map_err(Error::Read)??
        }
    };
    let size = opening.chunk_size();
    let len = usize::try_from(file_len - HEADER_LEN as u64).unwrap_or(usize::MAX);
    let buffer = chunk::buffer(size.buffer_len().min(len));
    let mut buffer = buffer.map_err(|error| Error::Read(error.into()))?;
    while let Some(range) = opening.wants() {
        let len = (range.end - range.start) as usize;
        let len = file.fetch(&mut buffer[..len], range.start).await?;
        let given = move || {
            let opening = opening.give(&mut buffer[..len]);
            (opening, buffer)
        };
        let given = elsewhere(given).await.map_err(Error::Read)?;
        (opening, buffer) = (given.0?, given.1);
    }
    Ok((opening.finish(), buffer))
}

/// Reads as much of the start as opens the file: the header or the head, and a frame.
async fn read_start(
    file: &mut impl Fetch,
    secret: &OwnedSecret,
    file_len: u64,
) -> Result<Vec<u8>, Error> {
    let slots = Secret::from(secret).keyring_for_slots();
    let mut start = Vec::new();
    let mut wanted = slots.map_or(Opening::START_LEN, |_| Head::MIN_LEN + FRAME_LEN);
    loop {
        let read = start.len();
        start.resize(file_len.min(wanted as u64) as usize, 0);
        let more = file.fetch(&mut start[read..], read as u64).await?;
        start.truncate(read + more);
        match slots.map(|_| Head::len_from_start(&start)) {
            Some(Ok(len)) if more > 0 && len + FRAME_LEN > wanted => wanted = len + FRAME_LEN,
            _ => return Ok(start),
        }
    }
}

/// Opens a file by its header or its head.
fn begin(
    secret: &OwnedSecret,
    limits: &KdfLimits,
    start: &[u8],
    file_len: u64,
) -> Result<Result<Opening, Failed>, Error> {
    let of_head = match Secret::from(secret).keyring_for_slots() {
        Some(keyring) => open_head(&start, file_len, start, keyring, limits)?,
        None => OfHead::NoSlots,
    };
    match of_head {
        OfHead::NoSlots => Opening::new(secret, limits, start, file_len).map(Ok),
        OfHead::Opened(head, cipher) => Opening::of_slots(&head, cipher, start, file_len).map(Ok),
        OfHead::Failed(failed) => Ok(Err(failed)),
    }
}

/// The end of a file, in memory, as long as a spare can be.
struct End {
    bytes: Vec<u8>,
    file_len: u64,
}

impl End {
    async fn read(file: &mut impl Fetch, file_len: u64) -> Result<Self, Error> {
        let mut bytes = vec![0; file_len.min(Head::MAX_LEN as u64) as usize];
        let offset = file_len - bytes.len() as u64;
        let len = file.fetch(&mut bytes, offset).await?;
        bytes.truncate(len);
        Ok(Self { bytes, file_len })
    }
}

impl ReadAt for End {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let start = self.file_len - self.file_len.min(Head::MAX_LEN as u64);
        self.bytes.read_at(buffer, offset - start)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.file_len)
    }
}
