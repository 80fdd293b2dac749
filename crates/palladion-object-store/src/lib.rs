//! Encrypts the objects of any [`object_store`]: S3, Google Cloud Storage, Azure, files, memory.
//!
//! [`EncryptedStore`] wraps a store and is one. Objects are encrypted as they are written, whole or
//! in parts, and decrypted as they are read. A read of a range fetches only the chunks that hold
//! it. The objects are files in the format of [`palladion_file`].
//!
//! ```
//! use object_store::{ObjectStoreExt, memory::InMemory};
//! use palladion_file::MasterKey;
//! use palladion_object_store::EncryptedStore;
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let store = EncryptedStore::new(InMemory::new(), MasterKey::generate()?);
//! store.put(&"notes/today".into(), "meet at noon".into()).await?;
//! assert_eq!(store.get_range(&"notes/today".into(), 8..12).await?, "noon");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The README says which requests each call makes, and what the encryption protects.

#![forbid(unsafe_code)]

use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions,
    Result,
};
use palladion_file::{
    Algorithm, ChunkSize, KdfLimits, KdfParams, KeyFileError, MasterKey, OwnedSecret,
};

mod blocking;
mod cache;
mod decrypt;
mod error;
mod list;
mod read;
mod request;
mod secret;
mod upload;

pub use error::file_error;

use blocking::{SHORT, Stretching};
use cache::Cache;
use error::failed;
use secret::Secrets;
use upload::{EncryptedUpload, Encryption, Format};

/// A store whose objects are encrypted in the store below.
///
/// It behaves as a store of the plaintext, with these differences:
///
/// * `list` derives sizes from the lengths of the encrypted objects and this store's
///   [chunk size](Self::chunk_size), and `head` from the length and the header: nobody verified
///   them. An object with another chunk size is listed with a size that may be wrong by 36 bytes
///   for each chunk. `list` cannot tell which objects are encrypted. A foreign object of 1000 bytes
///   is listed as 836, because an encrypted one could have that length. Programs such as DataFusion
///   trust listed sizes, and lose data without an error if these are wrong: see
///   [`exact_sizes`](Self::exact_sizes).
/// * A copy or rename between paths with different secrets is [`Error::NotSupported`], and so are
///   all with [`bind_to_path`](Self::bind_to_path).
/// * `put_part` of an upload encrypts before it returns. Parts are cut anew, so the future of one
///   may complete before its data is uploaded. `complete` fails until all futures have succeeded,
///   and can then be called again. A part that failed or whose future was dropped ends the upload.
///   If `complete` fails or its future is dropped, another call goes on where that one stopped: it
///   awaits the last parts, and then calls `complete` of the store below again. Only a part that
///   failed within `complete` ends the upload: no store takes a part again.
/// * Damage, a wrong key and so on are [`Error::Generic`] around a [`palladion_file::Error`]: see
///   [`file_error`]. The stream of an object ends without an error only if the object is complete.
///
/// [`Error::NotSupported`]: object_store::Error::NotSupported
/// [`Error::Generic`]: object_store::Error::Generic
///
/// It remembers ciphers, lengths and secrets of the objects that were opened last, and wipes them
/// when it is dropped. In a Tokio runtime, Argon2id and other long work run on threads for blocking
/// work. One of these must be free: if all of them wait for the store, with `Handle::block_on` in
/// `spawn_blocking`, they wait for ever.
#[derive(Debug)]
pub struct EncryptedStore<T> {
    inner: Arc<T>,
    secrets: Secrets,
    format: Format,
    has_exact_sizes: bool,
    limits: KdfLimits,
    cache: Cache,
    stretching: Stretching,
}

impl<T: ObjectStore> EncryptedStore<T> {
    /// Encrypts all objects with one secret: a [`MasterKey`] or a
    /// [`Passphrase`](palladion_file::Passphrase).
    ///
    /// Prefer a key, which may be [kept in the store](Self::load_or_create_key) under a passphrase.
    /// With a passphrase itself, every write and every read of an object that is not remembered run
    /// Argon2id, because each object has its own salt. They do that one after another. The
    /// passphrase remembers what it became for the last 1024 objects that were written or read.
    pub fn new(inner: T, secret: impl Into<OwnedSecret>) -> Self {
        Self::create(inner, Secrets::one(secret.into()))
    }

    /// Encrypts each object with the secret that a function returns for its path, so that each
    /// prefix can have its own. The function is called for each read of data, write, copy and
    /// rename, and must be quick. If it fails, so does the call, even if the store remembers the
    /// object. What was opened with one secret is read only with that secret. Streams and uploads
    /// that have begun go on.
    ///
    /// ```
    /// use object_store::{ObjectStoreExt, memory::InMemory};
    /// use palladion_file::MasterKey;
    /// use palladion_object_store::EncryptedStore;
    ///
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let key = MasterKey::generate()?;
    /// let store = EncryptedStore::with_secrets(InMemory::new(), move |path| {
    ///     match path.parts().next().is_some_and(|part| part.as_ref() == "reports") {
    ///         true => Ok(key.clone().into()),
    ///         false => Err("no key".into()),
    ///     }
    /// });
    /// store.put(&"reports/1".into(), "profit".into()).await?;
    /// let error = store.put(&"letters/1".into(), "hello".into()).await.unwrap_err();
    /// assert!(error.to_string().ends_with("letters/1: cannot get the secret: no key"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_secrets(
        inner: T,
        secrets: impl Fn(&Path) -> Result<OwnedSecret, Box<dyn Error + Send + Sync>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self::create(inner, Secrets::by_path(Box::new(secrets)))
    }

    fn create(inner: T, secrets: Secrets) -> Self {
        let chunk_size = ChunkSize::new(64 << 10).expect("a power of two");
        let (algorithm, kdf) = (Algorithm::default(), KdfParams::default());
        Self {
            inner: Arc::new(inner),
            secrets,
            format: Format { algorithm, chunk_size, kdf },
            has_exact_sizes: false,
            limits: KdfLimits::default(),
            cache: Cache::default(),
            stretching: Stretching::default(),
        }
    }

    /// Sets the algorithm of new objects; by default AEGIS-256X2.
    #[must_use]
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.format.algorithm = algorithm;
        self
    }

    /// Sets the chunk size of new objects, and the one that `list` supposes; by default 64 KiB. The
    /// objects that the store has already keep theirs, so `list` gives wrong sizes for them: use
    /// [`exact_sizes`](Self::exact_sizes) as well if anything relies on these.
    #[must_use]
    pub fn chunk_size(mut self, chunk_size: ChunkSize) -> Self {
        self.format.chunk_size = chunk_size;
        self
    }

    /// Sets whether lists get the size of each object from its header; by default `false`. That
    /// takes one request of 128 bytes for each object, ten at a time, and gives the sizes that
    /// `head` gives. A foreign object is listed with its own length, and so is one whose header is
    /// damaged. Use this if the store has objects with other chunk sizes than
    /// [its own](Self::chunk_size), such as those of `palladion encrypt`, which have 1 MiB.
    ///
    /// ```
    /// use futures_util::TryStreamExt;
    /// use object_store::{ObjectStore, ObjectStoreExt, memory::InMemory};
    /// use palladion_file::{Encryptor, MasterKey};
    /// use palladion_object_store::EncryptedStore;
    ///
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let (inner, key, mut file) = (InMemory::new(), MasterKey::generate()?, Vec::new());
    /// Encryptor::new(&key).run(&[b'x'; 500_000][..], &mut file)?;
    /// inner.put(&"table.csv".into(), file.into()).await?;
    ///
    /// let store = EncryptedStore::new(inner, key).exact_sizes(true);
    /// let list: Vec<_> = store.list(None).try_collect().await?;
    /// assert_eq!(list[0].size, 500_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn exact_sizes(mut self, exact: bool) -> Self {
        self.has_exact_sizes = exact;
        self
    }

    /// Sets whether objects are bound to their paths; by default `false`. Then whoever has the
    /// store but not the key cannot swap two objects or move one:
    /// [`WrongPlace`](palladion_file::Error::WrongPlace). Objects that are not bound cannot be
    /// read: [`NotBound`](palladion_file::Error::NotBound). The
    /// [place](palladion_file::Keyring::bind) is the path that the calls of this store are given,
    /// in UTF-8: without a prefix that the store below adds. A copy or rename is
    /// [`NotSupported`](object_store::Error::NotSupported), because the store below copies the
    /// encrypted bytes, which are bound to the old path.
    ///
    /// ```
    /// use object_store::{ObjectStoreExt, memory::InMemory};
    /// use palladion_file::{Error, MasterKey};
    /// use palladion_object_store::{EncryptedStore, file_error};
    ///
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let key = MasterKey::generate()?;
    /// let store = EncryptedStore::new(InMemory::new(), key).bind_to_path(true);
    /// store.put(&"reports/january".into(), "profit".into()).await?;
    /// store.put(&"reports/february".into(), "loss".into()).await?;
    ///
    /// // Somebody without the key.
    /// store.get_ref().copy(&"reports/january".into(), &"reports/february".into()).await?;
    /// let error = store.get(&"reports/february".into()).await.unwrap_err();
    /// assert!(matches!(file_error(&error), Some(Error::WrongPlace)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn bind_to_path(mut self, bind: bool) -> Self {
        self.secrets.bind = bind;
        self
    }

    /// Replaces the sizes in a list by those of the plaintext.
    fn listed(
        &self,
        list: BoxStream<'static, Result<ObjectMeta>>,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let supposed = (!self.has_exact_sizes).then_some(self.format.chunk_size);
        list::stream(&self.inner, supposed, list)
    }

    /// Sets the cost of a passphrase for new objects; no effect on a master key.
    #[must_use]
    pub fn kdf(mut self, kdf: KdfParams) -> Self {
        self.format.kdf = kdf;
        self
    }

    /// Sets limits on what an object may make this machine spend on a passphrase.
    #[must_use]
    pub fn kdf_limits(mut self, limits: KdfLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Begins to encrypt an object.
    async fn encryption(&self, location: &Path) -> Result<Encryption> {
        let (secret, format) = (self.secrets.get(location)?, self.format);
        let begin = move |secret: &OwnedSecret| Encryption::new(secret, format);
        let encryption = self.stretching.run(secret, begin).await?;
        encryption.map_err(|error| failed(location, error))
    }

    /// Returns the master key in an object, which is encrypted with the secret of this store like
    /// all others. If there is no such object, creates it with a new key. So a passphrase is
    /// stretched once for a store, and can be changed without encrypting all objects anew. The
    /// object is a key file, which `palladion decrypt` gets back. If it is lost, so are all others.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use object_store::{ObjectStoreExt, memory::InMemory};
    /// use palladion_file::Passphrase;
    /// use palladion_object_store::EncryptedStore;
    ///
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let inner = Arc::new(InMemory::new());
    /// let keys = EncryptedStore::new(inner.clone(), Passphrase::new("correct horse battery"));
    /// let key = keys.load_or_create_key(&"master.key".into()).await?;
    /// let store = EncryptedStore::new(inner, key);
    /// store.put(&"notes/today".into(), "meet at noon".into()).await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of `get` and `put_opts`: the store below must support [`PutMode::Create`], so that two
    /// programs do not create two keys. [`Error::Generic`](object_store::Error::Generic) if the
    /// object is not a key file.
    pub async fn load_or_create_key(&self, location: &Path) -> Result<MasterKey> {
        match self.load_key(location).await {
            Err(object_store::Error::NotFound { .. }) => {}
            result => return result,
        }
        let key = MasterKey::generate().map_err(|error| failed(location, error))?;
        let file = Bytes::from_owner(key.to_key_file());
        match self.put_opts(location, file.into(), PutMode::Create.into()).await {
            Ok(_) => Ok(key),
            // Another program was faster.
            Err(object_store::Error::AlreadyExists { .. }) => self.load_key(location).await,
            Err(error) => Err(error),
        }
    }

    /// Fails if someone who gets the object at `to` could not decrypt what is at `from`.
    async fn check_copy(&self, from: &Path, to: &Path) -> Result<()> {
        let Some(why) = self.secrets.differ(from, to)? else { return Ok(()) };
        self.inner.head(from).await?; // fails if the object is missing
        let error = format!(
            "cannot copy {from} to {to}: {why}; get the object and put it to encrypt it anew"
        );
        Err(object_store::Error::NotSupported { source: error.into() })
    }

    async fn load_key(&self, location: &Path) -> Result<MasterKey> {
        let file = self.get_opts(location, GetOptions::default()).await?.bytes().await?;
        let key = std::str::from_utf8(&file).map_err(|_| KeyFileError::NotUtf8);
        key.and_then(MasterKey::from_key_file).map_err(|error| failed(location, error))
    }

    /// The store below, with the encrypted objects.
    #[must_use]
    pub fn get_ref(&self) -> &T {
        &self.inner
    }
}

impl<T: fmt::Display> fmt::Display for EncryptedStore<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EncryptedStore({})", self.inner)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<T: ObjectStore> ObjectStore for EncryptedStore<T> {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let len = payload.content_length();
        let encryption = self.encryption(location).await?;
        let sealed = blocking::run(len > SHORT, move || encryption.whole(&payload)).await?;
        let sealed = sealed.map_err(|error| failed(location, error))?;
        self.inner.put_opts(location, sealed.into(), options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let encryption = self.encryption(location).await?;
        let inner = self.inner.put_multipart_opts(location, options).await?;
        Ok(Box::new(EncryptedUpload::new(location.clone(), inner, encryption)))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.get(location, &options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let is_empty = |range: &Range<u64>| range.start == range.end;
        let wanted: Vec<_> = ranges.iter().filter(|range| !is_empty(range)).cloned().collect();
        let texts = match wanted.is_empty() {
            true => {
                self.secrets.get(location)?;
                self.inner.get_ranges(location, &[]).await? // fails if the object is missing
            }
            false => self.get_all(location, &wanted).await?,
        };
        let mut texts = texts.into_iter();
        let text = |range| if is_empty(range) { None } else { texts.next() };
        Ok(ranges.iter().map(text).map(Option::unwrap_or_default).collect())
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listed(self.inner.list(prefix))
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listed(self.inner.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let result = self.inner.list_with_delimiter(prefix).await?;
        let objects = stream::iter(result.objects.into_iter().map(Ok)).boxed();
        let objects = self.listed(objects).try_collect().await?;
        Ok(ListResult { objects, ..result })
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.check_copy(from, to).await?;
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.check_copy(from, to).await?;
        self.inner.rename_opts(from, to, options).await
    }
}

/// Tests the examples in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
