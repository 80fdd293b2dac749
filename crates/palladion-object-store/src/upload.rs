//! Encrypts what is written.

use std::fmt;
use std::mem::replace;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, TryMaybeDone, ready, try_join_all, try_maybe_done};
use object_store::path::Path;
use object_store::{MultipartUpload, PutPayload, PutResult, Result, UploadPart};
use palladion_file::sans_io::{Encoder, Layout};
use palladion_file::{Algorithm, ChunkSize, Error, KdfParams, OwnedSecret};

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
    encoder: Encoder,
    size: ChunkSize,
    /// How much plaintext the encoder holds back.
    held: usize,
    /// What follows the last part, which shares its memory: a part can be of two pieces, so that
    /// this need not be moved to be followed by more.
    before: Bytes,
    sealed: BytesMut,
}

impl Encryption {
    /// Begins an object.
    pub fn new(secret: &OwnedSecret, format: Format) -> Result<Self, Error> {
        let Format { algorithm, chunk_size: size, kdf } = format;
        let encoder = Encoder::new(secret, algorithm, size, kdf)?;
        Ok(Self { encoder, size, held: 0, before: Bytes::new(), sealed: BytesMut::new() })
    }

    /// Encrypts a whole object.
    pub fn whole(mut self, payload: &PutPayload) -> Result<Bytes, Error> {
        self.encoder.expect(payload.content_length());
        self.write(payload)?;
        self.end()?;
        Ok(self.sealed.freeze())
    }

    fn write(&mut self, payload: &PutPayload) -> Result<(), Error> {
        // Room for all that this can become, so that nothing is moved while it grows.
        self.sealed.reserve(sealed_len(self.size, self.held + payload.content_length()));
        for mut text in payload.iter().map(|text| &text[..]) {
            while !text.is_empty() {
                self.take()?;
                let taken = self.encoder.push(text)?;
                self.held += taken;
                text = &text[taken..];
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        self.encoder.end()?;
        while !self.encoder.is_complete() {
            self.take()?;
        }
        Ok(())
    }

    /// Takes what is ready: nothing, the header or a chunk.
    fn take(&mut self) -> Result<(), Error> {
        let ready = self.encoder.ready()?;
        self.sealed.extend_from_slice(ready);
        if !ready.is_empty() {
            self.held = 0;
        }
        self.encoder.consume(usize::MAX);
        Ok(())
    }

    /// How much is encrypted and in no part yet.
    fn len(&self) -> usize {
        self.before.len() + self.sealed.len()
    }

    /// Cuts off a part.
    fn part(&mut self, len: usize) -> PutPayload {
        let before = self.before.split_to(len.min(self.before.len()));
        let rest = self.sealed.split_to(len - before.len()).freeze();
        [before, rest].into_iter().filter(|piece| !piece.is_empty()).collect()
    }
}

/// Uploads what is left when the last chunk is encrypted.
type LastParts = TryMaybeDone<BoxFuture<'static, Result<Vec<()>>>>;

/// The state of an upload.
enum State {
    Open(Box<Encryption>),
    /// The last parts, and then `complete` of the store below, are left. A call of `complete` may
    /// fail or be dropped in either, and the next one goes on from there.
    Sealed(LastParts),
    /// Says why nothing is left to do.
    Ended(&'static str),
}

/// No store takes a part again: the data of another call of `put_part` follows that of the first.
const FAILED: &str = "a part of the upload failed; abort it and start again";

/// Encrypts an upload, and cuts it into parts.
pub(crate) struct EncryptedUpload {
    location: Path,
    inner: Box<dyn MultipartUpload>,
    state: State,
    /// The length of the longest part of the caller's.
    longest: usize,
    /// Bytes in the parts so far.
    cut: u64,
    /// Set once a part of the caller's fails. Each part that is not finished shares it.
    failed: Arc<AtomicBool>,
}

/// A part of the caller's that is not uploaded yet. Dropped without success, after an error or with
/// its future, it fails the upload.
struct Unfinished(Option<Arc<AtomicBool>>);

impl Unfinished {
    fn succeed(mut self) {
        self.0 = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(failed) = &self.0 {
            failed.store(true, Ordering::Relaxed);
        }
    }
}

impl EncryptedUpload {
    pub fn new(location: Path, inner: Box<dyn MultipartUpload>, encryption: Encryption) -> Self {
        Self {
            location,
            inner,
            state: State::Open(Box::new(encryption)),
            longest: 0,
            cut: 0,
            failed: Arc::default(),
        }
    }

    fn error(&self, what: &str) -> object_store::Error {
        other(format!("{}: {what}", self.location))
    }

    /// Takes what encrypts the upload, if it is open. Unless the caller sets another state, the
    /// upload has failed.
    fn take(&mut self) -> Result<Box<Encryption>> {
        let is_failed = self.failed.load(Ordering::Relaxed);
        let error = match replace(&mut self.state, State::Ended(FAILED)) {
            State::Open(encryption) if !is_failed => return Ok(encryption),
            State::Open(_) => FAILED,
            State::Sealed(parts) => {
                self.state = State::Sealed(parts);
                "no part can follow complete; call complete again, or abort the upload"
            }
            State::Ended(why) => {
                self.state = State::Ended(why);
                why
            }
        };
        Err(self.error(error))
    }

    /// Encrypts more, and returns the uploads of the parts that are now complete.
    fn write(&mut self, data: &PutPayload) -> Result<Vec<UploadPart>> {
        let mut encryption = self.take()?;
        encryption.write(data).map_err(|error| failed(&self.location, error))?;
        self.longest = self.longest.max(data.content_length());
        let parts = self.cut(&mut encryption);
        self.state = State::Open(encryption);
        Ok(parts)
    }

    /// Encrypts the last chunk, and returns the upload of the last parts.
    fn seal(&mut self) -> Result<LastParts> {
        let mut encryption = self.take()?;
        encryption.end().map_err(|error| failed(&self.location, error))?;
        let mut parts = self.cut(&mut encryption);
        if encryption.len() > 0 {
            let last = encryption.part(encryption.len());
            parts.push(self.inner.put_part(last));
        }
        Ok(try_maybe_done(try_join_all(parts).boxed()))
    }

    /// Begins to upload the parts that are complete.
    fn cut(&mut self, encryption: &mut Encryption) -> Vec<UploadPart> {
        let mut parts = Vec::new();
        loop {
            let len = part_len(encryption.size, self.longest, self.cut);
            if encryption.len() < len {
                break;
            }
            self.cut += len as u64;
            parts.push(self.inner.put_part(encryption.part(len)));
        }
        if !parts.is_empty() && encryption.before.is_empty() {
            encryption.before = encryption.sealed.split().freeze();
        }
        parts
    }
}

/// The length of the next part, if the caller's longest has this length and so much was cut.
///
/// Parts as long as the caller's longest are at most one more than the caller's. S3 does not take
/// parts shorter than `MIN_PART`. A caller whose parts are need not mind its limit of 10,000 parts:
/// these are enough for 5 TiB.
fn part_len(size: ChunkSize, longest: usize, cut: u64) -> usize {
    match longest < MIN_PART {
        true => MIN_PART.max((cut / 1000).try_into().unwrap_or(usize::MAX)),
        false => sealed_len(size, longest),
    }
}

#[async_trait]
impl MultipartUpload for EncryptedUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let parts = match self.write(&data) {
            Ok(parts) => parts,
            Err(error) => return ready(Err(error)).boxed(),
        };
        let unfinished = Unfinished(Some(self.failed.clone()));
        async move {
            try_join_all(parts).await?;
            unfinished.succeed();
            Ok(())
        }
        .boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let unfinished = Arc::strong_count(&self.failed) - 1;
        if unfinished > 0 {
            return Err(self.error(&format!(
                "cannot complete the upload yet: await the futures that put_part returned \
                 (unfinished: {unfinished}), then call complete again"
            )));
        }
        if !matches!(self.state, State::Sealed(_)) {
            self.state = State::Sealed(self.seal()?);
        }
        if let State::Sealed(parts) = &mut self.state
            && let Err(error) = parts.await
        {
            self.state = State::Ended(FAILED);
            return Err(error);
        }
        let result = self.inner.complete().await?;
        self.state = State::Ended("the upload was completed");
        Ok(result)
    }

    async fn abort(&mut self) -> Result<()> {
        self.state = State::Ended("the upload was aborted");
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

#[cfg(test)]
mod tests {
    use palladion_file::MasterKey;

    use super::*;

    #[test]
    fn short_parts_are_enough_for_a_long_object() {
        let parts = (0..10_000).fold(0, |cut, _| cut + part_len(ChunkSize::MIN, 1, cut) as u64);
        assert!(parts > 5 << 40, "{parts}");
    }

    #[test]
    fn parts_may_become_shorter() {
        let format = Format {
            algorithm: Algorithm::default(),
            chunk_size: ChunkSize::MIN,
            kdf: KdfParams::default(),
        };
        let secret = MasterKey::from([1; 32]).into();
        let mut encryption = Encryption::new(&secret, format).unwrap();
        encryption.before = Bytes::from_static(b"abcdef");
        encryption.sealed.extend_from_slice(b"ghi");
        for expected in ["ab", "cd", "efg", "hi"] {
            assert_eq!(Bytes::from(encryption.part(expected.len())), expected);
        }
        assert_eq!(encryption.len(), 0);
    }
}
