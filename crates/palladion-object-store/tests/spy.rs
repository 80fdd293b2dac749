//! A store that writes down what is asked of it, and does more on the way.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions,
    Result, UploadPart,
};
use tokio::task::yield_now;

type Before = dyn Fn(usize) -> BoxFuture<'static, ()> + Send + Sync;

#[derive(Default)]
pub struct Log {
    /// What was got.
    pub gets: Mutex<Vec<Range<u64>>>,
    /// The lengths of the parts of uploads.
    pub parts: Mutex<Vec<usize>>,
    pub puts: Mutex<Vec<PutOptions>>,
    pub upload_options: Mutex<Vec<PutMultipartOptions>>,
    pub completed: Mutex<usize>,
    pub aborted: Mutex<usize>,
    /// Called before each get with its number.
    pub before_get: Mutex<Option<Arc<Before>>>,
    /// The parts whose upload fails.
    pub failing_part: Mutex<Option<usize>>,
    /// The next `complete` of an upload fails.
    pub failing_complete: Mutex<bool>,
    /// The get whose answer ends after half of what it promises.
    pub short_get: Mutex<Option<usize>>,
    /// What to answer in place of the first bytes of an object.
    pub header: Mutex<Option<Bytes>>,
    /// Hides ETags, as some stores do.
    pub no_e_tags: Mutex<bool>,
    /// Ignores `If-Match`, as some stores do.
    pub no_if_match: Mutex<bool>,
}

impl Log {
    /// What was got since the last call.
    pub fn take_gets(&self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.gets.lock().unwrap())
    }
}

pub struct Spy {
    pub inner: Arc<dyn ObjectStore>,
    pub log: Arc<Log>,
}

impl Spy {
    pub fn new(inner: Arc<dyn ObjectStore>) -> Self {
        Self { inner, log: Arc::default() }
    }
}

impl fmt::Debug for Spy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spy")
    }
}

impl fmt::Display for Spy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spy({})", self.inner)
    }
}

#[async_trait]
impl ObjectStore for Spy {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.log.puts.lock().unwrap().push(options.clone());
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.log.upload_options.lock().unwrap().push(options.clone());
        let upload = self.inner.put_multipart_opts(location, options).await?;
        Ok(Box::new(SpyUpload { upload, log: self.log.clone() }))
    }

    async fn get_opts(&self, location: &Path, mut options: GetOptions) -> Result<GetResult> {
        let number = self.log.gets.lock().unwrap().len();
        self.log.gets.lock().unwrap().push(0..0);
        let before = self.log.before_get.lock().unwrap().clone();
        if let Some(before) = before {
            before(number).await;
        }
        if *self.log.no_if_match.lock().unwrap() {
            options.if_match = None;
        }
        let mut result = self.inner.get_opts(location, options).await?;
        self.log.gets.lock().unwrap()[number] = result.range.clone();
        if *self.log.no_e_tags.lock().unwrap() {
            result.meta.e_tag = None;
        }
        // In uneven pieces, as from a network.
        let (meta, range) = (result.meta.clone(), result.range.clone());
        let (attributes, extensions) = (result.attributes.clone(), result.extensions.clone());
        let header = self.log.header.lock().unwrap().clone();
        if let Some(header) = header.filter(|header| range == (0..header.len() as u64)) {
            let payload = GetResultPayload::Stream(stream::iter([Ok(header)]).boxed());
            return Ok(GetResult { payload, meta, range, attributes, extensions });
        }
        let is_short = *self.log.short_get.lock().unwrap() == Some(number);
        let pieces = result.into_stream().flat_map(move |bytes| {
            let bytes =
                bytes.map(|bytes| if is_short { bytes.slice(..bytes.len() / 2) } else { bytes });
            let pieces: Vec<_> = match bytes {
                Ok(bytes) => (0..bytes.len())
                    .step_by(777)
                    .map(|at| Ok(bytes.slice(at..bytes.len().min(at + 777))))
                    .collect(),
                Err(error) => vec![Err(error)],
            };
            stream::iter(pieces)
        });
        let payload = GetResultPayload::Stream(pieces.boxed());
        Ok(GetResult { payload, meta, range, attributes, extensions })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        assert!(ranges.is_empty(), "it has no conditions");
        self.inner.get_ranges(location, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.inner.rename_opts(from, to, options).await
    }
}

struct SpyUpload {
    upload: Box<dyn MultipartUpload>,
    log: Arc<Log>,
}

impl fmt::Debug for SpyUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpyUpload")
    }
}

#[async_trait]
impl MultipartUpload for SpyUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let number = self.log.parts.lock().unwrap().len();
        self.log.parts.lock().unwrap().push(data.content_length());
        if *self.log.failing_part.lock().unwrap() == Some(number) {
            let error = Error::Generic { store: "Spy", source: "the network is down".into() };
            return async { Err(error) }.boxed();
        }
        let part = self.upload.put_part(data);
        async { (yield_now().await, part.await).1 }.boxed() // not done when first polled
    }

    async fn complete(&mut self) -> Result<PutResult> {
        *self.log.completed.lock().unwrap() += 1;
        yield_now().await;
        if std::mem::take(&mut *self.log.failing_complete.lock().unwrap()) {
            return Err(Error::Generic { store: "Spy", source: "503".into() });
        }
        self.upload.complete().await
    }

    async fn abort(&mut self) -> Result<()> {
        *self.log.aborted.lock().unwrap() += 1;
        self.upload.abort().await
    }
}
