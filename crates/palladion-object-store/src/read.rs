//! Reads.
//!
//! The first read of a range takes three requests: one for the header and then, at the same time,
//! one for the last chunk, which proves the length, and one for what is wanted. The later requests
//! say which version of the object they want. If there is another one by now, the read starts
//! again. Once the cache has the object, a read is one request.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use futures_util::try_join;
use object_store::path::Path;
use object_store::{
    Attributes, Error, Extensions, GetOptions, GetRange, GetResult, GetResultPayload,
    OBJECT_STORE_COALESCE_DEFAULT, ObjectMeta, ObjectStore, Result,
};
use palladion_file::sans_io::{ChunkOpener, Decoder, Layout, Opening};
use palladion_file::{HEADER_LEN, Info, OwnedSecret, Secret, SecretKind};

use crate::EncryptedStore;
use crate::blocking::{self, SHORT};
use crate::cache;
use crate::decrypt::{self, Piece, Reader};
use crate::error::{failed, other};
use crate::request::{PARALLEL, first_bytes};

/// How often to try: the first attempt fails after a change that the cache did not know of, others
/// after a change while reading. The last reads the whole object with one request, to which no
/// change matters.
const ATTEMPTS: usize = 4;
/// The longest object of which the last attempt reads all for a range. A longer one does not change
/// so often: perhaps the store does not understand conditions.
const WHOLE: u64 = 64 << 20;
/// Bytes that cost about as much as a request.
const REQUEST: u64 = OBJECT_STORE_COALESCE_DEFAULT;

/// The version of an object that a read is about.
struct Version<'a> {
    location: &'a Path,
    /// What asks the store for it.
    options: GetOptions,
    e_tag: Option<String>,
    file_len: u64,
}

impl<'a> Version<'a> {
    /// The version that the store described when it was asked with these options.
    fn new(location: &'a Path, options: &GetOptions, meta: &ObjectMeta) -> Self {
        let e_tag = cache::strong(meta).cloned();
        let version = match e_tag {
            // S3 has a permission of its own for versions.
            Some(_) => options.version.clone(),
            None => options.version.clone().or(meta.version.clone()),
        };
        let extensions = options.extensions.clone();
        let options = GetOptions { if_match: e_tag, version, extensions, ..GetOptions::default() };
        Self { location, options, e_tag: meta.e_tag.clone(), file_len: meta.size }
    }

    fn is_of(&self, meta: &ObjectMeta) -> bool {
        meta.e_tag == self.e_tag && meta.size == self.file_len
    }
}

/// What the first answer says about an object. The layout is not authentic.
struct Start {
    answer: Answer,
    header: Vec<u8>,
    layout: Layout,
}

/// The answer of the store, without the data.
struct Answer {
    meta: ObjectMeta,
    attributes: Attributes,
    extensions: Extensions,
}

impl Answer {
    /// Takes the data from the answer of the store below.
    fn split(result: GetResult) -> (Self, Reader) {
        let (meta, attributes) = (result.meta.clone(), result.attributes.clone());
        let extensions = result.extensions.clone();
        (Self { meta, attributes, extensions }, Reader::new(result.into_stream()))
    }

    /// Answers with the plaintext.
    fn with(
        self,
        layout: Layout,
        range: Range<u64>,
        text: BoxStream<'static, Result<Bytes>>,
    ) -> GetResult {
        GetResult {
            payload: GetResultPayload::Stream(text),
            meta: ObjectMeta { size: layout.plaintext_len(), ..self.meta },
            range,
            attributes: self.attributes,
            extensions: self.extensions,
        }
    }
}

/// What an object is opened with: its keys, or what another read found with them.
enum Keys {
    New(Opening),
    Known(Arc<ChunkOpener>),
}

/// Reads. `None` says that the object changed: start again.
impl<T: ObjectStore> EncryptedStore<T> {
    pub(crate) async fn get(&self, location: &Path, options: &GetOptions) -> Result<GetResult> {
        let secret = match options.head {
            true => None,
            false => Some(self.secrets.get(location)?),
        };
        // With a passphrase, nothing is sent while the request waits for its turn, and the store
        // remembers what it stretched.
        let is_stretched = secret.as_ref().is_some_and(|secret| Secret::from(secret).takes_long());
        let range = match &options.range {
            None if is_stretched => Some(&GetRange::Suffix(u64::MAX)),
            range => range.as_ref(),
        };
        for attempt in 1..=ATTEMPTS {
            let result = match (&secret, range) {
                (None, _) => self.get_head(location, options).await?,
                (Some(secret), Some(range)) if attempt < ATTEMPTS => {
                    self.get_range(location, options, range, secret).await?
                }
                (Some(secret), _) => self.get_whole(location, options, secret).await?,
            };
            if let Some(result) = result {
                return Ok(result);
            }
        }
        Err(changing(location))
    }

    pub(crate) async fn get_all(
        &self,
        location: &Path,
        ranges: &[Range<u64>],
    ) -> Result<Vec<Bytes>> {
        let secret = self.secrets.get(location)?;
        for _ in 1..ATTEMPTS {
            if let Some(texts) = self.get_all_once(location, ranges, &secret).await? {
                return Ok(texts);
            }
        }
        let start = ranges.iter().map(|range| range.start).min().unwrap_or_default();
        let end = ranges.iter().map(|range| range.end).max().unwrap_or_default();
        let options = GetOptions::new().with_range(Some(start..end));
        let whole = self.get_whole(location, &options, &secret).await?;
        let Some(whole) = whole else { return Err(changing(location)) };
        let wanted = in_object(location, ranges, whole.meta.size)?;
        let text = whole.bytes().await?;
        let at = |offset: u64| (offset - start) as usize;
        Ok(wanted.iter().map(|range| text.slice(at(range.start)..at(range.end))).collect())
    }

    async fn get_head(&self, location: &Path, options: &GetOptions) -> Result<Option<GetResult>> {
        let start = self.start(location, options).await?;
        let Some(Start { answer, layout, .. }) = start else { return Ok(None) };
        let range = wanted(location, options, &layout)?;
        Ok(Some(answer.with(layout, range, stream::empty().boxed())))
    }

    /// Reads all of an object with one request, and returns what is wanted of it.
    async fn get_whole(
        &self,
        location: &Path,
        options: &GetOptions,
        secret: &OwnedSecret,
    ) -> Result<Option<GetResult>> {
        let whole = GetOptions { range: None, ..options.clone() };
        let result = self.inner.get_opts(location, whole).await?;
        let (answer, mut reader) = Answer::split(result);
        if options.range.is_some() && answer.meta.size > WHOLE {
            return Ok(None);
        }
        let mut header = vec![0; HEADER_LEN];
        let filled = reader.fill(&mut header).await?;
        header.truncate(filled);

        let layout = self.layout(location, options, &answer, &header).await?;
        let Some(layout) = layout else { return Ok(None) };
        let range = wanted(location, options, &layout)?;
        let e_tag = answer.meta.e_tag.as_ref();
        let text = if let Some(object) = self.cache.get(location, e_tag, &layout, secret) {
            let (chunks, all) = (0..layout.chunks(), 0..layout.plaintext_len());
            decrypt::chunks(location.clone(), object, reader, chunks, all)
        } else {
            let limits = self.limits;
            let open = move |secret: &OwnedSecret| {
                let mut decoder = Decoder::new(secret, limits)?;
                decoder.push(&header);
                decoder.text().map(drop).map(|()| decoder)
            };
            let decoder = self.stretching.run(secret.clone(), open).await?;
            decrypt::whole(location.clone(), decoder.map_err(|e| failed(location, e))?, reader)
        };
        Ok(Some(answer.with(layout, range.clone(), decrypt::cut(text, range))))
    }

    async fn get_range(
        &self,
        location: &Path,
        options: &GetOptions,
        range: &GetRange,
        secret: &OwnedSecret,
    ) -> Result<Option<GetResult>> {
        if let Some((version, object)) = self.expected(location, options, secret) {
            // If there is nothing to get, only the store knows whether the object has changed.
            let wanted = range.as_range(object.layout().plaintext_len()).unwrap_or_default();
            if !wanted.is_empty() {
                return self.get_opened(&version, object, wanted).await;
            }
        }
        let start = self.start(location, options).await?;
        let Some(Start { answer, header, layout }) = start else { return Ok(None) };
        let version = Version::new(location, options, &answer.meta);
        let wanted = range.as_range(layout.plaintext_len());
        let known = self.cache.get(location, version.e_tag.as_ref(), &layout, secret);
        if let (Some(object), Ok(wanted)) = (known, &wanted)
            && !wanted.is_empty()
        {
            return self.get_opened(&version, object, wanted.clone()).await;
        }

        // The tail is what comes with the last chunk.
        let last = layout.chunks() - 1;
        let needed = layout.chunks_of(wanted.as_ref().cloned().unwrap_or_default());
        let with_last = layout.sealed(needed.start.min(last)..layout.chunks());
        let tail = match needed.end >= last && with_last.end - with_last.start <= REQUEST {
            true => needed.start.min(last)..layout.chunks(),
            false => last..layout.chunks(),
        };
        let data = needed.start..needed.end.min(tail.start);
        let fetch_data = async {
            match data.is_empty() {
                true => Ok(Some(None)),
                false => Ok(self.fetch(&version, layout.sealed(data.clone())).await?.map(Some)),
            }
        };
        let keys = self.keys(&version, secret, header, Some(layout)).await?;
        let open = self.open(&version, keys, layout.sealed(tail.clone()));
        let (opened, data_result) = try_join!(open, fetch_data)?;
        let (Some((object, mut piece)), Some(data_result)) = (opened, data_result) else {
            return Ok(None);
        };
        self.cache.insert(options, &answer.meta, secret.clone(), &object);
        let wanted = wanted.map_err(|error| failed(location, error))?;

        let in_tail = needed.start.max(tail.start)..needed.end;
        let open = blocking::run(piece.len() > SHORT, {
            let (object, mut chunks) = (object.clone(), in_tail.clone());
            move || (chunks.try_for_each(|chunk| piece.open(&object, chunk)), piece)
        });
        let (opened, piece) = open.await?;
        // What comes before an error is delivered, as from a stream.
        let error = opened.err().map(|error| Err(failed(location, error)));
        let (piece, text, range) = (piece.finish(), wanted.clone(), wanted.clone());
        let texts = in_tail.map_while(move |chunk| piece.text(&layout, chunk, &text));
        let tail = stream::iter(texts.map(Ok).chain(error));
        let Some(result) = data_result else {
            return Ok(Some(answer.with(layout, range, tail.boxed())));
        };
        let reader = Answer::split(result).1;
        let data = decrypt::chunks(location.clone(), object, reader, data, wanted);
        Ok(Some(answer.with(layout, range, data.chain(tail).boxed())))
    }

    /// Gets a range that is not empty of an object that is open.
    async fn get_opened(
        &self,
        version: &Version<'_>,
        object: Arc<ChunkOpener>,
        wanted: Range<u64>,
    ) -> Result<Option<GetResult>> {
        let layout = object.layout();
        let chunks = layout.chunks_of(wanted.clone());
        let Some(result) = self.fetch(version, layout.sealed(chunks.clone())).await? else {
            return Ok(None);
        };
        let (answer, reader) = Answer::split(result);
        let location = version.location.clone();
        let text = decrypt::chunks(location, object, reader, chunks, wanted.clone());
        Ok(Some(answer.with(layout, wanted, text)))
    }

    async fn get_all_once(
        &self,
        location: &Path,
        ranges: &[Range<u64>],
        secret: &OwnedSecret,
    ) -> Result<Option<Vec<Bytes>>> {
        let options = GetOptions::default();
        if let Some((version, object)) = self.expected(location, &options, secret)
            && let Ok(wanted) = in_object(location, ranges, object.layout().plaintext_len())
        {
            return self.get_all_opened(&version, object, wanted).await;
        }
        let start = self.start(location, &options).await?;
        let Some(Start { answer, header, layout }) = start else { return Ok(None) };
        let version = Version::new(location, &options, &answer.meta);
        let wanted = in_object(location, ranges, layout.plaintext_len());
        let known = self.cache.get(location, version.e_tag.as_ref(), &layout, secret);
        if let (Some(object), Ok(wanted)) = (known, &wanted) {
            return self.get_all_opened(&version, object, wanted.clone()).await;
        }

        let last = layout.chunks() - 1;
        let (_, mut groups) = plan(&layout, wanted.as_deref().unwrap_or_default());
        let tail = groups.pop_if(|group| group.end >= last).map_or(last, |group| group.start);
        let tail = tail.min(last)..last + 1;
        let keys = self.keys(&version, secret, header, Some(layout)).await?;
        let open = self.open(&version, keys, layout.sealed(tail.clone()));
        let (opened, pieces) = try_join!(open, self.fetch_all(&version, &layout, groups))?;
        let (Some((object, piece)), Some(mut pieces)) = (opened, pieces) else { return Ok(None) };
        self.cache.insert(&options, &answer.meta, secret.clone(), &object);
        pieces.push((tail, piece));
        open_all(location, object, pieces, wanted?).await.map(Some)
    }

    async fn get_all_opened(
        &self,
        version: &Version<'_>,
        object: Arc<ChunkOpener>,
        wanted: Vec<Range<u64>>,
    ) -> Result<Option<Vec<Bytes>>> {
        let layout = object.layout();
        let groups = plan(&layout, &wanted).1;
        match self.fetch_all(version, &layout, groups).await? {
            Some(pieces) => open_all(version.location, object, pieces, wanted).await.map(Some),
            None => Ok(None),
        }
    }

    /// The object that is expected to be at a path, if the cache knows it.
    fn expected<'a>(
        &self,
        location: &'a Path,
        options: &GetOptions,
        secret: &OwnedSecret,
    ) -> Option<(Version<'a>, Arc<ChunkOpener>)> {
        let (e_tag, object) = self.cache.expected(location, options, secret)?;
        let options = GetOptions { if_match: Some(e_tag.clone()), ..options.clone() };
        let file_len = object.layout().file_len();
        Some((Version { location, options, e_tag: Some(e_tag), file_len }, object))
    }

    /// Gets the header of an object, if the caller's conditions hold.
    async fn start(&self, location: &Path, options: &GetOptions) -> Result<Option<Start>> {
        let result = first_bytes(&*self.inner, location, options, Opening::START_LEN).await?;
        let (answer, mut reader) = Answer::split(result);
        let mut header = vec![0; Opening::START_LEN];
        let filled = reader.fill(&mut header).await?;
        header.truncate(filled);
        let layout = self.layout(location, options, &answer, &header).await?;
        Ok(layout.map(|layout| Start { answer, header, layout }))
    }

    /// The layout that an object has by its header and length.
    async fn layout(
        &self,
        location: &Path,
        options: &GetOptions,
        answer: &Answer,
        header: &[u8],
    ) -> Result<Option<Layout>> {
        let info = Info::from_start(header).map_err(|error| failed(location, error))?;
        let layout = match info.secret {
            SecretKind::Slots => None,
            _ => Layout::of_file(info.chunk_size, answer.meta.size),
        };
        if layout.is_none() {
            // A store has no such object. An attempt to open it says why.
            let secret = self.secrets.get(location)?;
            let version = Version::new(location, options, &answer.meta);
            let keys = self.keys(&version, &secret, header.to_vec(), None).await?;
            self.open(&version, keys, 0..0).await?;
        }
        Ok(layout)
    }

    /// Derives the keys of an object, unless it is known. The layout is the one that its header
    /// tells.
    async fn keys(
        &self,
        version: &Version<'_>,
        secret: &OwnedSecret,
        header: Vec<u8>,
        layout: Option<Layout>,
    ) -> Result<Keys> {
        let (limits, cache, file_len) = (self.limits, self.cache.clone(), version.file_len);
        let (location, e_tag) = (version.location.clone(), version.e_tag.clone());
        let keys = self.stretching.run(secret.clone(), move |secret| {
            // While this read waited for its turn, another one may have opened the object.
            let known =
                layout.and_then(|layout| cache.get(&location, e_tag.as_ref(), &layout, secret));
            match known {
                Some(object) => Ok(Keys::Known(object)),
                None => Opening::new(secret, &limits, &header, file_len).map(Keys::New),
            }
        });
        keys.await?.map_err(|error| failed(version.location, error))
    }

    /// Opens an object with its last chunk. Returns it with the end of the object that begins with
    /// `tail`.
    async fn open(
        &self,
        version: &Version<'_>,
        keys: Keys,
        tail: Range<u64>,
    ) -> Result<Option<(Arc<ChunkOpener>, Piece)>> {
        let location = version.location;
        let mut opening = match keys {
            Keys::New(opening) => opening,
            Keys::Known(object) => {
                let Some(result) = self.fetch(version, tail.clone()).await? else {
                    return Ok(None);
                };
                let mut reader = Answer::split(result).1;
                return Ok(Some((object, Piece::read(location, &mut reader, tail).await?)));
            }
        };
        let mut last = None;
        while let Some(wanted) = opening.wants() {
            // The first bytes that it wants are the last chunk, unless the object is damaged.
            let is_last = last.is_none() && wanted.end == tail.end;
            let start = if is_last { tail.start.min(wanted.start) } else { wanted.start };
            let Some(result) = self.fetch(version, start..wanted.end).await? else {
                return Ok(None);
            };
            let range = start..result.range.end.clamp(start, wanted.end);
            let mut reader = Answer::split(result).1;
            let mut piece = Piece::read(location, &mut reader, range).await?;
            let given = blocking::run(piece.len() > SHORT, move || {
                opening.give(piece.from(wanted.start)).map(|opening| (opening, piece))
            });
            let given = given.await?.map_err(|error| failed(location, error))?;
            opening = given.0;
            last = Some(given.1);
        }
        let object = Arc::new(opening.finish());
        Ok(last.map(|mut piece| {
            piece.set_opened(object.layout().chunks() - 1);
            (object, piece)
        }))
    }

    /// Gets bytes of this version of an object.
    async fn fetch(&self, version: &Version<'_>, range: Range<u64>) -> Result<Option<GetResult>> {
        let range = Some(GetRange::Bounded(range));
        let options = GetOptions { range, ..version.options.clone() };
        let mut answer = self.inner.get_opts(version.location, options).await;
        let mut range_error = None;
        if let Err(error @ Error::Generic { .. }) = answer {
            // The range may lie past the end of a shorter version.
            let head = GetOptions { range: None, head: true, ..version.options.clone() };
            answer = self.inner.get_opts(version.location, head).await;
            range_error = Some(error);
        }
        let result = match (answer, range_error) {
            // Stores without conditions may answer with another version.
            (Ok(result), _) if !version.is_of(&result.meta) => Ok(None),
            (Err(Error::Precondition { .. }), _) => Ok(None),
            (_, Some(error)) => Err(error),
            (answer, None) => answer.map(Some),
        };
        if !matches!(result, Ok(Some(_)) | Err(Error::NotModified { .. })) {
            self.cache.remove(version.location, version.e_tag.as_deref());
        }
        result
    }

    /// Gets groups of chunks of this version of an object.
    async fn fetch_all(
        &self,
        version: &Version<'_>,
        layout: &Layout,
        groups: Vec<Range<u64>>,
    ) -> Result<Option<Vec<(Range<u64>, Piece)>>> {
        let pieces = stream::iter(groups).map(|group| async move {
            let range = layout.sealed(group.clone());
            let Some(result) = self.fetch(version, range.clone()).await? else {
                return Ok::<_, Error>(None);
            };
            let mut reader = Answer::split(result).1;
            let piece = Piece::read(version.location, &mut reader, range).await?;
            Ok(Some((group, piece)))
        });
        let pieces: Vec<Option<_>> = pieces.buffered(PARALLEL).try_collect().await?;
        Ok(pieces.into_iter().collect())
    }
}

/// The runs of chunks that hold these ranges, and the groups of them that are a request each:
/// chunks between that cost less than a request are fetched, but not used.
fn plan(layout: &Layout, wanted: &[Range<u64>]) -> (Vec<Range<u64>>, Vec<Range<u64>>) {
    let mut runs: Vec<_> = wanted.iter().map(|range| layout.chunks_of(range.clone())).collect();
    runs.sort_unstable_by_key(|run| run.start);
    let runs = join(runs, |gap| gap.is_empty());
    let groups = join(runs.clone(), |gap| {
        let bytes = layout.sealed(gap);
        bytes.end - bytes.start <= REQUEST
    });
    (runs, groups)
}

/// Joins sorted ranges that overlap, and those between which there is a small gap.
fn join(ranges: Vec<Range<u64>>, is_small: impl Fn(Range<u64>) -> bool) -> Vec<Range<u64>> {
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end || is_small(last.end..range.start) => {
                last.end = last.end.max(range.end);
            }
            _ => joined.push(range),
        }
    }
    joined
}

/// Decrypts these ranges, each from one of the pieces.
async fn open_all(
    location: &Path,
    object: Arc<ChunkOpener>,
    mut pieces: Vec<(Range<u64>, Piece)>,
    wanted: Vec<Range<u64>>,
) -> Result<Vec<Bytes>> {
    let len: usize = pieces.iter().map(|(_, piece)| piece.len()).sum();
    let open = move || {
        let layout = object.layout();
        for run in plan(&layout, &wanted).0 {
            let piece = of_chunk(&mut pieces, run.start);
            for chunk in run {
                piece.open(&object, chunk)?;
            }
        }
        let opened = pieces.into_iter().map(|(chunks, piece)| (chunks, piece.finish()));
        let mut opened: Vec<_> = opened.collect();
        let texts = wanted.iter().map(|range| {
            let chunks = layout.chunks_of(range.clone());
            of_chunk(&mut opened, chunks.start).join(&layout, chunks, range)
        });
        texts.collect::<Result<Vec<_>, _>>()
    };
    blocking::run(len > SHORT, open).await?.map_err(|error| failed(location, error))
}

/// The part of an object with this chunk.
fn of_chunk<P>(parts: &mut [(Range<u64>, P)], chunk: u64) -> &mut P {
    let part = parts.iter_mut().find(|(chunks, _)| chunks.contains(&chunk));
    &mut part.expect("every chunk that is wanted was fetched").1
}

/// What is wanted of an object.
fn wanted(location: &Path, options: &GetOptions, layout: &Layout) -> Result<Range<u64>> {
    let len = layout.plaintext_len();
    let range = options.range.as_ref().map_or(Ok(0..len), |range| range.as_range(len));
    range.map_err(|error| failed(location, error))
}

/// What is wanted of an object of this length.
fn in_object(location: &Path, ranges: &[Range<u64>], len: u64) -> Result<Vec<Range<u64>>> {
    let wanted = ranges.iter().map(|range| GetRange::from(range.clone()).as_range(len));
    wanted.collect::<Result<_, _>>().map_err(|error| failed(location, error))
}

fn changing(location: &Path) -> Error {
    other(format!("{location}: the object changes again and again while it is read; try again"))
}
