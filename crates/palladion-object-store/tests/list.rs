//! The sizes in lists.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{FutureExt, TryStreamExt};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use palladion_file::slots::NewSlot;
use palladion_file::{ChunkSize, Encryptor};
use palladion_object_store::EncryptedStore;
use tokio::task::yield_now;

use crate::spy::{Log, Spy};
use crate::{key, text};

/// A store with these objects.
async fn store_of(objects: &[(&str, Vec<u8>)]) -> (EncryptedStore<Spy>, Arc<Log>, Arc<InMemory>) {
    let memory = Arc::new(InMemory::new());
    for (path, bytes) in objects {
        memory.put(&(*path).into(), bytes.clone().into()).await.unwrap();
    }
    let spy = Spy::new(memory.clone());
    let log = spy.log.clone();
    (EncryptedStore::new(spy, key()), log, memory)
}

fn encrypted(chunk_size: usize, len: usize) -> Vec<u8> {
    let (size, mut file) = (ChunkSize::new(chunk_size).unwrap(), Vec::new());
    Encryptor::new(&key()).chunk_size(size).run(&text(len)[..], &mut file).unwrap();
    file
}

async fn sizes(store: &EncryptedStore<Spy>) -> Vec<(String, u64)> {
    let list: Vec<_> = store.list(None).try_collect().await.unwrap();
    list.into_iter().map(|meta| (meta.location.to_string(), meta.size)).collect()
}

#[tokio::test]
async fn exact_sizes_are_those_of_the_plaintext() {
    let mut with_slots = Vec::new();
    let slots = [NewSlot::Key(&key())];
    Encryptor::with_slots(&slots).run(&b"text"[..], &mut with_slots).unwrap();
    let mut damaged = encrypted(1024, 5000);
    damaged[20] ^= 1;
    let objects = [
        ("a/1024", encrypted(1024, 100_000), 100_000),
        ("a/1M", encrypted(1 << 20, 3_000_000), 3_000_000),
        ("a/64K", encrypted(64 << 10, 100_000), 100_000),
        ("a/empty", encrypted(1024, 0), 0),
        ("b/damaged", damaged.clone(), damaged.len() as u64),
        ("b/foreign", vec![7; 1000], 1000),
        ("b/short", vec![7; 127], 127),
        ("b/slots", with_slots.clone(), with_slots.len() as u64),
        ("b/zero", vec![], 0),
    ];
    let stored: Vec<_> = objects.iter().map(|(path, bytes, _)| (*path, bytes.clone())).collect();
    let (store, log, _) = store_of(&stored).await;
    let expected: Vec<_> = objects.iter().map(|(path, _, len)| (path.to_string(), *len)).collect();
    assert_ne!(sizes(&store).await, expected);
    assert_eq!(log.take_gets(), []);

    let store = store.exact_sizes(true);
    assert_eq!(sizes(&store).await, expected);
    assert_eq!(log.take_gets(), vec![0..128; 7]); // not of the two that are shorter
    let after: Vec<_> = store
        .list_with_offset(None, &Path::from("a/64K"))
        .map_ok(|meta| (meta.location.to_string(), meta.size))
        .try_collect()
        .await
        .unwrap();
    assert_eq!(after, expected[3..]);
    let folder = store.list_with_delimiter(Some(&"a".into())).await.unwrap().objects;
    let folder: Vec<_> =
        folder.into_iter().map(|meta| (meta.location.to_string(), meta.size)).collect();
    assert_eq!(folder, expected[..4]);
}

/// Ten headers at a time, in the order of the list.
#[tokio::test]
async fn headers_are_got_a_few_at_a_time() {
    let paths: Vec<_> = (0..35).map(|number| format!("{number:02}")).collect();
    let objects: Vec<_> = paths.iter().map(|path| (&path[..], encrypted(1024, 9))).collect();
    let (store, log, _) = store_of(&objects).await;
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = most.clone();
    *log.before_get.lock().unwrap() = Some(Arc::new(move |number| {
        let (now, most) = (now.clone(), most.clone());
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            for _ in 0..(number * 7) % 5 + 1 {
                yield_now().await;
            }
            now.fetch_sub(1, Ordering::Relaxed);
        }
        .boxed()
    }));
    let listed = sizes(&store.exact_sizes(true)).await;
    assert_eq!(listed, paths.into_iter().map(|path| (path, 9)).collect::<Vec<_>>());
    assert_eq!(seen.load(Ordering::Relaxed), 10);
}

/// What happens to objects between the list and the request for their headers.
#[tokio::test]
async fn objects_change_while_they_are_listed() {
    let object = || encrypted(1024, 5000);
    let objects = [("a", object()), ("b", object()), ("c", object()), ("d", object())];
    let (store, log, memory) = store_of(&objects).await;
    let store = store.exact_sizes(true);
    let below = memory.clone();
    *log.before_get.lock().unwrap() = Some(Arc::new(move |number| {
        let below = below.clone();
        async move {
            if number == 0 {
                below.delete(&"a".into()).await.unwrap();
                below.put(&"b".into(), encrypted(4096, 20_000).into()).await.unwrap();
                below.put(&"c".into(), Vec::new().into()).await.unwrap();
            }
        }
        .boxed()
    }));
    let list: Vec<_> = store.list(None).try_collect().await.unwrap();
    let listed: Vec<_> = list.iter().map(|meta| (meta.location.as_ref(), meta.size)).collect();
    assert_eq!(listed, [("b", 20_000), ("c", 0), ("d", 5000)]);
    assert_eq!(list[0].e_tag, memory.head(&"b".into()).await.unwrap().e_tag);
}
