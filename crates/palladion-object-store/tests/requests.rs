//! How many requests a read takes, and of how many bytes.

use std::ops::Range;
use std::sync::Arc;

use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt};
use palladion_file::{ChunkSize, HEADER_LEN};
use palladion_object_store::EncryptedStore;

use crate::random::Random;
use crate::spy::{Log, Spy};
use crate::{OVERHEAD, key, text};

/// The header, and the first frame with it.
const HEADER: Range<u64> = 0..HEADER_LEN as u64 + 4;

/// A store with an object that it has not seen.
async fn store(size: usize, text: &[u8]) -> (EncryptedStore<Spy>, Arc<Log>, Path) {
    let size = ChunkSize::new(size).unwrap();
    let (memory, path) = (Arc::new(InMemory::new()), Path::from("object"));
    let store = |inner| EncryptedStore::new(inner, key()).chunk_size(size);
    store(Spy::new(memory.clone())).put(&path, text.to_vec().into()).await.unwrap();
    let spy = Spy::new(memory);
    let log = spy.log.clone();
    (store(spy), log, path)
}

fn chunks(size: usize, chunks: Range<usize>) -> Range<u64> {
    let at = |chunk: usize| (HEADER_LEN + chunk * (size + OVERHEAD)) as u64;
    at(chunks.start)..at(chunks.end)
}

#[tokio::test]
async fn a_small_read_of_a_long_object() {
    let size = 1 << 20;
    let text = text(10 * size);
    let mut random = Random(5);
    for _ in 0..20 {
        let (store, log, path) = store(size, &text).await;
        for attempt in 0..3 {
            let start = random.below(text.len() - 4096);
            let range = start as u64..start as u64 + 4096;
            let got = store.get_range(&path, range).await.unwrap();
            assert_eq!(got, text[start..start + 4096]);
            let needed = start / size..(start + 4095) / size + 1;
            let mut expected = vec![];
            if attempt == 0 {
                expected.extend([HEADER, chunks(size, 9..10)]);
            }
            let needed = if attempt == 0 { needed.start..needed.end.min(9) } else { needed };
            if !needed.is_empty() {
                expected.push(chunks(size, needed));
            }
            assert_eq!(log.take_gets(), expected, "{start}");
        }
    }
}

#[tokio::test]
async fn each_way_to_read() {
    let size = 64 << 10;
    let len = 100 * size;
    let text = text(len);
    let file = 0..chunks(size, 0..100).end;
    let get = async |store: &EncryptedStore<Spy>, range: Option<GetRange>| {
        let options = GetOptions { range, ..GetOptions::default() };
        store.get_opts(&"object".into(), options).await.unwrap().bytes().await.unwrap()
    };

    let (store, log, path) = store(size, &text).await;
    assert_eq!(get(&store, None).await, text);
    assert_eq!(log.take_gets(), std::slice::from_ref(&file));
    assert_eq!(store.head(&path).await.unwrap().size, len as u64);
    assert_eq!(log.take_gets(), [HEADER]);

    // The end of an object, as readers of Parquet begin: one request beside the header's.
    let end = (len - 100_000) as u64;
    assert_eq!(get(&store, Some(GetRange::Suffix(100_000))).await, text[end as usize..]);
    assert_eq!(log.take_gets(), [HEADER, chunks(size, 98..100)]);
    // Later there is one request.
    assert_eq!(get(&store, Some(GetRange::Offset(end))).await, text[end as usize..]);
    assert_eq!(log.take_gets(), [chunks(size, 98..100)]);
    assert_eq!(get(&store, None).await, text);
    assert_eq!(log.take_gets(), [file]);

    // Ranges in neighbouring chunks, and those between which little lies, are one request.
    let chunk = |number: usize| {
        let start = (number * size) as u64;
        start + 10..start + 20
    };
    let ranges = [chunk(91), chunk(5), chunk(6), chunk(5), chunk(12), chunk(60)];
    let texts = store.get_ranges(&path, &ranges).await.unwrap();
    for (range, got) in ranges.iter().zip(texts) {
        assert_eq!(got, text[range.start as usize..range.end as usize]);
    }
    let expected = [chunks(size, 5..13), chunks(size, 60..61), chunks(size, 91..92)];
    assert_eq!(log.take_gets(), expected);
}

#[tokio::test]
async fn many_ranges_of_an_unknown_object() {
    let size = 64 << 10;
    let text = text(100 * size);
    let (store, log, path) = store(size, &text).await;
    let texts = store.get_ranges(&path, &[10..20, 6_540_000..6_553_600]).await.unwrap();
    assert_eq!(texts, [&text[10..20], &text[6_540_000..6_553_600]]);
    assert_eq!(log.take_gets(), [HEADER, chunks(size, 99..100), chunks(size, 0..1)]);
}

/// Without ETags nothing is remembered.
#[tokio::test]
async fn without_e_tags() {
    let text = text(300_000);
    let (store, log, path) = store(64 << 10, &text).await;
    *log.no_e_tags.lock().unwrap() = true;
    for _ in 0..2 {
        assert_eq!(store.get_range(&path, 10..20).await.unwrap(), text[10..20]);
        assert_eq!(log.take_gets().len(), 3);
    }
}

/// The cache is bounded, and what is not in it can be read as ever.
#[tokio::test]
async fn more_objects_than_the_cache_holds() {
    let (store, log, _) = store(1024, b"").await;
    let path = |number: u32| Path::from(format!("objects/{number}"));
    for number in 0..300 {
        store.put(&path(number), text(5000).into()).await.unwrap();
    }
    log.take_gets();
    for (number, requests) in (0..300).map(|number| (number, 3)).chain([(299, 1), (44, 1), (43, 3)])
    {
        assert_eq!(store.get_range(&path(number), 5..7).await.unwrap(), text(5000)[5..7]);
        assert_eq!(log.take_gets().len(), requests, "{number}");
    }
    assert!(format!("{store:?}").contains("Cache { len: 256, .. }"), "{store:?}");
}
