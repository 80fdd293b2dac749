//! Random requests, answered as a store of the plaintext answers them.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt, WriteMultipart};
use palladion_file::Passphrase;

use crate::random::{Random, with_new_seeds};
use crate::spy::Spy;
use crate::{SMALL, small_chunks};

const PATHS: [&str; 4] = ["a", "b/c", "b/d", "e"];

/// A length near the border of a chunk, or any.
fn len(random: &mut Random) -> usize {
    match random.below(4) {
        0 => random.below(12 * SMALL),
        _ => (random.below(5) * SMALL + random.below(4)).saturating_sub(2),
    }
}

fn range(random: &mut Random) -> Range<u64> {
    let start = len(random) as u64;
    start..start + len(random) as u64
}

/// The answer to a read, or that there is none.
async fn read(store: &dyn ObjectStore, path: &Path, options: GetOptions) -> Option<Read> {
    let result =
        store.get_opts(path, options).await.inspect_err(|error| println!("{error}")).ok()?;
    let (size, range) = (result.meta.size, result.range.clone());
    Some((size, range, result.bytes().await.unwrap().to_vec()))
}
type Read = (u64, Range<u64>, Vec<u8>);

async fn requests(random: &mut Random, inner: Arc<dyn ObjectStore>) {
    let plain = InMemory::new();
    let spy = Spy::new(inner);
    *spy.log.no_e_tags.lock().unwrap() = random.below(4) == 0;
    let store = small_chunks(spy);
    for _ in 0..60 {
        let path = Path::from(PATHS[random.below(PATHS.len())]);
        match random.below(9) {
            0 => {
                let len = len(random);
                let text = random.bytes(len);
                plain.put(&path, text.clone().into()).await.unwrap();
                store.put(&path, text.into()).await.unwrap();
            }
            1 => {
                let len = len(random);
                let text = random.bytes(len);
                plain.put(&path, text.clone().into()).await.unwrap();
                let upload = store.put_multipart(&path).await.unwrap();
                let mut upload = WriteMultipart::new_with_chunk_size(upload, 100);
                for piece in text.chunks(random.within(1..3000)) {
                    upload.write(piece);
                }
                upload.finish().await.unwrap();
            }
            2 => {
                let to = Path::from(PATHS[random.below(PATHS.len())]);
                if path != to {
                    let expected = plain.copy(&path, &to).await.is_ok();
                    assert_eq!(store.copy(&path, &to).await.is_ok(), expected);
                }
            }
            3 => {
                let expected = read(&plain, &path, GetOptions::new()).await;
                assert_eq!(read(&store, &path, GetOptions::new()).await, expected);
            }
            4 | 5 => {
                let range = match random.below(3) {
                    0 => GetRange::Offset(len(random) as u64),
                    1 => GetRange::Suffix(len(random) as u64),
                    _ => GetRange::Bounded(range(random)),
                };
                let head = random.below(4) == 0;
                let options = GetOptions::new().with_range(Some(range)).with_head(head);
                let mut expected = read(&plain, &path, options.clone()).await;
                if let (true, Some((_, _, text))) = (head, &mut expected) {
                    text.clear(); // in memory, it is not left out
                }
                assert_eq!(read(&store, &path, options.clone()).await, expected, "{options:?}");
            }
            6 => {
                let ranges: Vec<_> = (0..random.below(6)).map(|_| range(random)).collect();
                // Nothing is in an empty range, as in files. In memory, it is an error.
                let (empty, wanted): (Vec<_>, Vec<_>) =
                    ranges.iter().cloned().partition(Range::is_empty);
                let expected = plain.get_ranges(&path, &wanted).await.ok().map(|mut texts| {
                    texts.extend(vec![Bytes::new(); empty.len()]);
                    texts
                });
                let ranges = [wanted, empty].concat();
                assert_eq!(store.get_ranges(&path, &ranges).await.ok(), expected, "{ranges:?}");
            }
            7 => {
                let size = |meta: object_store::Result<object_store::ObjectMeta>| {
                    meta.map(|meta| meta.size).ok()
                };
                assert_eq!(size(store.head(&path).await), size(plain.head(&path).await));
            }
            _ => {
                let list = async |store: &dyn ObjectStore| {
                    let list: Vec<_> = store.list(None).try_collect().await.unwrap();
                    let mut list: Vec<_> =
                        list.into_iter().map(|meta| (meta.location, meta.size)).collect();
                    list.sort();
                    list
                };
                assert_eq!(list(&store).await, list(&plain).await);
                let objects = async |store: &dyn ObjectStore| {
                    let list = store.list_with_delimiter(Some(&"b".into())).await.unwrap();
                    let mut list: Vec<_> =
                        list.objects.into_iter().map(|meta| (meta.location, meta.size)).collect();
                    list.sort();
                    list
                };
                assert_eq!(objects(&store).await, objects(&plain).await);
            }
        }
    }
}

#[test]
fn as_a_store_of_the_plaintext() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    with_new_seeds(200, |random| {
        runtime.block_on(requests(random, Arc::new(InMemory::new())));
    });
    with_new_seeds(20, |random| {
        let folder = tempfile::tempdir().unwrap();
        let files = LocalFileSystem::new_with_prefix(folder.path()).unwrap();
        runtime.block_on(requests(random, Arc::new(files)));
    });
}

/// Every range of objects of every number of chunks, with the object unknown and known.
#[tokio::test]
async fn all_borders() {
    let path = Path::from("object");
    for len in [0, 1, SMALL - 1, SMALL, SMALL + 1, 2 * SMALL, 2 * SMALL + 1, 3 * SMALL - 1] {
        let text = crate::text(len);
        let memory = Arc::new(InMemory::new());
        small_chunks(memory.clone()).put(&path, text.clone().into()).await.unwrap();
        let known = small_chunks(memory.clone());
        let places = [0, 1, SMALL - 1, SMALL, SMALL + 1, 2 * SMALL, 2 * SMALL + 1, 4 * SMALL];
        for (start, end) in places.iter().flat_map(|start| places.map(|end| (*start, end))) {
            let range = start as u64..end as u64;
            let expected = (start < end && start < len).then(|| &text[start..end.min(len)]);
            for store in [&small_chunks(memory.clone()), &known] {
                let got = store.get_range(&path, range.clone()).await.ok();
                assert_eq!(got.as_deref(), expected, "{range:?} of {len}");
                let got = store.get_ranges(&path, &[range.clone(), 0..1]).await.ok();
                let got = got.as_ref().map(|texts| &texts[0][..]);
                let empty = (start == end && len > 0).then_some(&[][..]);
                assert_eq!(got, empty.or(expected), "{range:?} of {len}");
            }
        }
    }
}

/// Chunks that are decrypted on other threads, and no runtime at all.
#[test]
fn long_chunks() {
    let work = async || {
        let size = palladion_file::ChunkSize::new(1 << 20).unwrap();
        let memory = Arc::new(InMemory::new());
        let store = || crate::EncryptedStore::new(memory.clone(), crate::key()).chunk_size(size);
        let (path, text) = (Path::from("long"), crate::text(5_000_000));
        store().put(&path, text.clone().into()).await.unwrap();
        assert_eq!(store().get(&path).await.unwrap().bytes().await.unwrap(), text);
        let range = 1_000_000..4_500_000;
        let texts = store().get_ranges(&path, &[range.clone(), 7..9]).await.unwrap();
        assert_eq!(texts, [&text[1_000_000..4_500_000], &text[7..9]]);
        assert_eq!(store().get_range(&path, range).await.unwrap(), texts[0]);
    };
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work());
    futures_util::FutureExt::now_or_never(work()).expect("nothing to wait for");
}

#[tokio::test]
async fn passphrases() {
    let passphrase = Passphrase::new("correct horse battery staple");
    let kdf = palladion_file::KdfParams::new(8, 1, 1).unwrap();
    let memory = Arc::new(InMemory::new());
    let new = || crate::EncryptedStore::new(memory.clone(), passphrase.clone()).kdf(kdf);
    let (store, path, text) = (new(), Path::from("a"), crate::text(200_000));
    store.put(&path, text.clone().into()).await.unwrap();
    let get = async |range: Range<u64>| {
        let got = store.get_range(&path, range.clone()).await.unwrap();
        assert_eq!(got, text[range.start as usize..range.end as usize]);
    };
    // Those that come later wait, and then find the object in the cache.
    futures_util::join!(get(0..10), get(150_000..170_000), get(10..100_000));
    let dated = GetOptions::new().with_range(Some(3..5));
    let meta = store.head(&path).await.unwrap();
    let dated = dated.with_if_unmodified_since(Some(meta.last_modified));
    let got = store.get_opts(&path, dated).await.unwrap().bytes().await.unwrap();
    assert_eq!(got, text[3..5]);
    assert_eq!(new().get(&path).await.unwrap().bytes().await.unwrap(), text);
    let mut upload = store.put_multipart(&path).await.unwrap();
    upload.put_part("abc".into()).await.unwrap();
    upload.complete().await.unwrap();
    assert_eq!(new().get(&path).await.unwrap().bytes().await.unwrap(), "abc");
}
