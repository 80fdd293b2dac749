//! The sizes of objects in lists.

use std::sync::Arc;

use futures_util::future::ready;
use futures_util::stream::{BoxStream, StreamExt, TryStreamExt};
use object_store::{Error, GetOptions, ObjectMeta, ObjectStore, Result};
use palladion_file::sans_io::Layout;
use palladion_file::{ChunkSize, HEADER_LEN, Info, SecretKind};

use crate::decrypt::Reader;
use crate::request::{PARALLEL, first_bytes};

/// Replaces the sizes in a list: by those that their headers tell, or by those that objects with
/// this chunk size have.
pub(crate) fn stream<T: ObjectStore>(
    inner: &Arc<T>,
    supposed: Option<ChunkSize>,
    list: BoxStream<'static, Result<ObjectMeta>>,
) -> BoxStream<'static, Result<ObjectMeta>> {
    if let Some(chunk_size) = supposed {
        return list.map_ok(move |meta| of_chunks(chunk_size, meta)).boxed();
    }
    let inner = inner.clone();
    let exact = list.map(move |meta| {
        let inner = inner.clone();
        async move { of_header(&*inner, meta?).await }
    });
    exact.buffered(PARALLEL).try_filter_map(|meta| ready(Ok(meta))).boxed()
}

/// What a list says of an object, with the length of the plaintext if it could be one of ours.
fn of_chunks(chunk_size: ChunkSize, meta: ObjectMeta) -> ObjectMeta {
    let layout = Layout::of_file(chunk_size, meta.size);
    ObjectMeta { size: layout.map_or(meta.size, |layout| layout.plaintext_len()), ..meta }
}

/// What a list says of an object, with the length of the plaintext that follows from its header.
/// `None`: it was deleted after it was listed.
async fn of_header(inner: &impl ObjectStore, meta: ObjectMeta) -> Result<Option<ObjectMeta>> {
    if meta.size < HEADER_LEN as u64 {
        return Ok(Some(meta));
    }
    let options = GetOptions::default();
    let result = match first_bytes(inner, &meta.location, &options, HEADER_LEN).await {
        Err(Error::NotFound { .. }) => return Ok(None),
        result => result?,
    };
    let is_same = result.meta.e_tag == meta.e_tag && result.meta.size == meta.size;
    let meta = if is_same { meta } else { result.meta.clone() };
    let mut header = [0; HEADER_LEN];
    let filled = Reader::new(result.into_stream()).fill(&mut header).await?;
    // Other objects do not spoil a list. Whoever reads one gets its error.
    Ok(Some(match Info::from_start(&header[..filled]) {
        Ok(info) if info.secret != SecretKind::Slots => of_chunks(info.chunk_size, meta),
        _ => meta,
    }))
}
