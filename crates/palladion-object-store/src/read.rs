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
use palladion_file::sans_io::{ChunkOpener, Layout, Opener, Opening};
use palladion_file::{HEADER_LEN, Info, OwnedSecret};

use crate::EncryptedStore;
use crate::blocking::{self, SHORT};
use crate::cache;
use crate::decrypt::{self, Piece, Reader};
use crate::error::{failed, other};

/// How often to start again: after a change that the cache did not know of, and after a change
/// while reading.
const ATTEMPTS: usize = 3;
/// The most requests of `get_ranges` at the same time.
const PARALLEL: usize = 10;
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
        for _ in 0..ATTEMPTS {
            let result = match &options.range {
                _ if options.head => self.get_head(location, options).await?,
                Some(range) => self.get_range(location, options, range).await?,
                None => self.get_whole(location, options).await?,
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
        for _ in 0..ATTEMPTS {
            if let Some(texts) = self.get_all_once(location, ranges).await? {
                return Ok(texts);
            }
        }
        Err(changing(location))
    }

    async fn get_head(&self, location: &Path, options: &GetOptions) -> Result<Option<GetResult>> {
        let start = self.start(location, options).await?;
        Ok(start.map(|Start { answer, layout, .. }| {
            answer.with(layout, 0..layout.plaintext_len(), stream::empty().boxed())
        }))
    }

    async fn get_whole(&self, location: &Path, options: &GetOptions) -> Result<Option<GetResult>> {
        let secret = self.secrets.get(location)?;
        let result = self.inner.get_opts(location, options.clone()).await?;
        let (answer, mut reader) = Answer::split(result);
        let mut header = vec![0; HEADER_LEN];
        let filled = reader.fill(&mut header).await?;
        header.truncate(filled);

        let layout = self.layout(location, options, &answer, &header).await?;
        let Some(layout) = layout else { return Ok(None) };
        let e_tag = answer.meta.e_tag.as_ref();
        let text = if let Some(object) = self.cache.get(location, e_tag, &layout, &secret) {
            let (chunks, all) = (0..layout.chunks(), 0..layout.plaintext_len());
            decrypt::chunks(location.clone(), object, reader, chunks, all)
        } else {
            let limits = self.limits;
            let open = move |secret: &OwnedSecret| Opener::new(secret, &limits, &header);
            let opener = self.stretching.run(secret, open).await?;
            decrypt::whole(location.clone(), opener.map_err(|e| failed(location, e))?, reader)
        };
        Ok(Some(answer.with(layout, 0..layout.plaintext_len(), text)))
    }

    async fn get_range(
        &self,
        location: &Path,
        options: &GetOptions,
        range: &GetRange,
    ) -> Result<Option<GetResult>> {
        let secret = self.secrets.get(location)?;
        if let Some((version, object)) = self.expected(location, options, &secret) {
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
        let known = self.cache.get(location, version.e_tag.as_ref(), &layout, &secret);
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
        let open = self.open(&version, secret.clone(), header, Some((layout, tail.start)));
        let (opened, data_result) = try_join!(open, fetch_data)?;
        let (Some((object, mut piece)), Some(data_result)) = (opened, data_result) else {
            return Ok(None);
        };
        self.cache.insert(options, &answer.meta, secret, &object);
        let wanted = wanted.map_err(other)?;

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
    ) -> Result<Option<Vec<Bytes>>> {
        let options = GetOptions::default();
        let in_object = |layout: &Layout| {
            let len = layout.plaintext_len();
            let wanted = ranges.iter().map(|range| GetRange::from(range.clone()).as_range(len));
            wanted.collect::<Result<Vec<_>, _>>()
        };
        let secret = self.secrets.get(location)?;
        if let Some((version, object)) = self.expected(location, &options, &secret)
            && let Ok(wanted) = in_object(&object.layout())
        {
            return self.get_all_opened(&version, object, wanted).await;
        }
        let start = self.start(location, &options).await?;
        let Some(Start { answer, header, layout }) = start else { return Ok(None) };
        let version = Version::new(location, &options, &answer.meta);
        let wanted = in_object(&layout);
        let known = self.cache.get(location, version.e_tag.as_ref(), &layout, &secret);
        if let (Some(object), Ok(wanted)) = (known, &wanted) {
            return self.get_all_opened(&version, object, wanted.clone()).await;
        }

        let last = layout.chunks() - 1;
        let (_, mut groups) = plan(&layout, wanted.as_deref().unwrap_or_default());
        let tail = groups.pop_if(|group| group.end >= last).map_or(last, |group| group.start);
        let tail = tail.min(last)..last + 1;
        let open = self.open(&version, secret.clone(), header, Some((layout, tail.start)));
        let (opened, pieces) = try_join!(open, self.fetch_all(&version, &layout, groups))?;
        let (Some((object, piece)), Some(mut pieces)) = (opened, pieces) else { return Ok(None) };
        self.cache.insert(&options, &answer.meta, secret, &object);
        pieces.push((tail, piece));
        open_all(location, object, pieces, wanted.map_err(other)?).await.map(Some)
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
        let first = GetRange::Bounded(0..Opening::START_LEN as u64);
        let first = GetOptions { range: Some(first), head: false, ..options.clone() };
        let result = match self.inner.get_opts(location, first).await {
            // An empty object has no first bytes.
            Err(error @ Error::Generic { .. }) => {
                let head = GetOptions { range: None, head: true, ..options.clone() };
                match self.inner.get_opts(location, head).await {
                    Ok(result) if result.meta.size == 0 => result,
                    _ => return Err(error),
                }
            }
            result => result?,
        };
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
        let layout = Layout::of_file(info.chunk_size, answer.meta.size);
        if layout.is_none() {
            // No file has this length. An attempt to open it says why.
            let secret = self.secrets.get(location)?;
            let version = Version::new(location, options, &answer.meta);
            self.open(&version, secret, header.to_vec(), None).await?;
        }
        Ok(layout)
    }

    /// Opens an object with its last chunk. `from` has the layout that the header tells, and the
    /// chunk from which on to return all.
    async fn open(
        &self,
        version: &Version<'_>,
        secret: OwnedSecret,
        header: Vec<u8>,
        from: Option<(Layout, u64)>,
    ) -> Result<Option<(Arc<ChunkOpener>, Piece)>> {
        let (location, file_len) = (version.location, version.file_len);
        let keys = self.stretching.run(secret, {
            let (limits, cache) = (self.limits, self.cache.clone());
            let (location, e_tag) = (location.clone(), version.e_tag.clone());
            move |secret| {
                // While this read waited for its turn, another one may have opened the object.
                let known = from
                    .and_then(|(layout, _)| cache.get(&location, e_tag.as_ref(), &layout, secret));
                match known {
                    Some(object) => Ok(Keys::Known(object)),
                    None => Opening::new(secret, &limits, &header, file_len).map(Keys::New),
                }
            }
        });
        let keys = keys.await?.map_err(|error| failed(location, error))?;
        let mut tail = from.map(|(layout, chunk)| layout.sealed(chunk..layout.chunks()));
        let mut opening = match keys {
            Keys::New(opening) => opening,
            Keys::Known(object) => {
                let tail = tail.unwrap_or_default();
                let Some(result) = self.fetch(version, tail.clone()).await? else {
                    return Ok(None);
                };
                let mut reader = Answer::split(result).1;
                return Ok(Some((object, Piece::read(location, &mut reader, tail).await?)));
            }
        };
        let mut last = None;
        while let Some(wanted) = opening.wants() {
            // Only the first bytes that it wants can be the last chunk.
            let start = tail.take().map_or(wanted.start, |tail| tail.start);
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
        let result = match self.inner.get_opts(version.location, options).await {
            // Stores without conditions may answer with another version.
            Ok(result) => Ok(Some(result).filter(|result| {
                result.meta.e_tag == version.e_tag && result.meta.size == version.file_len
            })),
            Err(Error::Precondition { .. }) => Ok(None),
            Err(error) => Err(error),
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

fn changing(location: &Path) -> Error {
    let source = "the object changes again and again while it is read".into();
    Error::Precondition { path: location.to_string(), source }
}
