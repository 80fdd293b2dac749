//! Encrypts what is written.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use futures_util::future::{ready, try_join_all};
use object_store::path::Path;
use object_store::{MultipartUpload, PutPayload, PutResult, Result, UploadPart};
use palladion::Buffer;
use palladion_file::sans_io::{Layout, Sealer};
use palladion_file::{Algorithm, ChunkSize, Error, KdfParams, MasterKey, OwnedSecret};

use crate::error::{failed, other};

/// The least that S3 takes as a part that is not the last.
const MIN_PART: usize = 5 << 20;

/// How to encrypt objects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    pub algorithm: Algorithm,
    pub chunk_size: ChunkSize,
    pub kdf: KdfParams,
}

/// The length of an object with so much plaintext.
fn sealed_len(size: ChunkSize, len: usize) -> usize {
    let layout = Layout::of_plaintext(size, len as u64);
    layout.and_then(|layout| layout.file_len().try_into().ok()).unwrap_or(usize::MAX)
}

/// Encrypts an object whose plaintext comes in pieces.
pub(crate) struct Encryption {
    sealer: Sealer,
    size: ChunkSize,
    /// The next chunk, and how much of its plaintext is there.
    chunk: Buffer,
    filled: usize,
    sealed: BytesMut,
}

impl Encryption {
    /// Begins an object of at most so many bytes.
    pub fn new(secret: &OwnedSecret, format: Format, len: usize) -> Result<Self, Error> {
        let Format { algorithm, chunk_size: size, kdf } = format;
        let salt = MasterKey::generate()?; // random bytes
        let (sealer, header) = Sealer::new(secret, algorithm, size, kdf, salt.as_bytes())?;
        let room = len.min(size.bytes()) + Sealer::TAG_LEN;
        let chunk = Buffer::new(Sealer::FRAME_LEN, room);
        let chunk = chunk.map_err(|error| Error::Write(error.into()))?;
        Ok(Self { sealer, size, chunk, filled: 0, sealed: BytesMut::from(&header[..]) })
    }

    /// Encrypts a whole object.
    pub fn whole(mut self, payload: &PutPayload) -> Result<Bytes, Error> {
        self.write(payload)?;
        self.seal(true)?;
        Ok(self.sealed.freeze())
    }

    fn write(&mut self, payload: &PutPayload) -> Result<(), Error> {
        // Room for all that this can become, so that nothing is moved while it grows.
        self.sealed.reserve(sealed_len(self.size, self.filled + payload.content_length()));
        payload.iter().try_for_each(|text| self.write_bytes(text))
    }

    fn write_bytes(&mut self, mut text: &[u8]) -> Result<(), Error> {
        while !text.is_empty() {
            if self.filled == self.size.bytes() {
                self.seal(false)?; // only now is it known not to be the last
            }
            let len = text.len().min(self.size.bytes() - self.filled);
            self.chunk[Sealer::FRAME_LEN + self.filled..][..len].copy_from_slice(&text[..len]);
            self.filled += len;
            text = &text[len..];
        }
        Ok(())
    }

    fn seal(&mut self, last: bool) -> Result<(), Error> {
        let len = Sealer::FRAME_LEN + self.filled + Sealer::TAG_LEN;
        self.sealer.seal(&mut self.chunk[..len], last)?;
        self.sealed.extend_from_slice(&self.chunk[..len]);
        self.filled = 0;
        Ok(())
    }
}

/// Encrypts an upload, and cuts it into parts of one length.
pub(crate) struct EncryptedUpload {
    location: Path,
    inner: Box<dyn MultipartUpload>,
    /// `None` once the upload is completed, aborted or failed.
    encryption: Option<Encryption>,
    /// The length of the longest part of the caller's.
    longest: usize,
    /// The length of all parts but the last, once the first is complete.
    part_len: Option<usize>,
    /// Parts of the caller's that have not been uploaded.
    unfinished: Arc<AtomicUsize>,
}

impl EncryptedUpload {
    pub fn new(location: Path, inner: Box<dyn MultipartUpload>, encryption: Encryption) -> Self {
        Self {
            location,
            inner,
            encryption: Some(encryption),
            longest: 0,
            part_len: None,
            unfinished: Arc::default(),
        }
    }

    /// Encrypts more, and returns the uploads of the parts that are now complete.
    fn write(&mut self, data: &PutPayload) -> Result<Vec<UploadPart>> {
        let ended = || other(format!("{}: the upload has ended", self.location));
        let mut encryption = self.encryption.take().ok_or_else(ended)?;
        encryption.write(data).map_err(|error| failed(&self.location, error))?;
        self.longest = self.longest.max(data.content_length());
        let parts = self.cut(&mut encryption);
        self.encryption = Some(encryption);
        Ok(parts)
    }

    /// Begins to upload the parts that are complete.
    fn cut(&mut self, encryption: &mut Encryption) -> Vec<UploadPart> {
        if self.part_len.is_none() && encryption.sealed.len() >= MIN_PART {
            // As long as it takes to need no more parts than the caller.
            self.part_len = Some(sealed_len(encryption.size, self.longest).max(MIN_PART));
        }
        let mut parts = Vec::new();
        while let Some(len) = self.part_len.filter(|len| encryption.sealed.len() >= *len) {
            let part = encryption.sealed.split_to(len).freeze();
            parts.push(self.inner.put_part(part.into()));
        }
        parts
    }
}

#[async_trait]
impl MultipartUpload for EncryptedUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        // Only success takes it back: not an error, and not a future that was dropped.
        self.unfinished.fetch_add(1, Ordering::Relaxed);
        let parts = match self.write(&data) {
            Ok(parts) => parts,
            Err(error) => return ready(Err(error)).boxed(),
        };
        let unfinished = self.unfinished.clone();
        async move {
            try_join_all(parts).await?;
            unfinished.fetch_sub(1, Ordering::Relaxed);
            Ok(())
        }
        .boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let location = self.location.clone();
        let encryption = self.encryption.take();
        let unfinished = self.unfinished.load(Ordering::Relaxed);
        let (Some(mut encryption), 0) = (encryption, unfinished) else {
            return Err(other(format!(
                "{location}: cannot complete the upload: it has ended or failed, or {unfinished} \
                 parts are not uploaded yet"
            )));
        };
        encryption.seal(true).map_err(|error| failed(&location, error))?;
        let mut parts = self.cut(&mut encryption);
        if !encryption.sealed.is_empty() {
            parts.push(self.inner.put_part(encryption.sealed.freeze().into()));
        }
        try_join_all(parts).await?;
        self.inner.complete().await
    }

    async fn abort(&mut self) -> Result<()> {
        self.encryption = None;
        self.inner.abort().await
    }
}

impl fmt::Debug for EncryptedUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncryptedUpload")
            .field("location", &self.location)
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}
