//! Uploads in parts.

use std::sync::Arc;

use futures_util::FutureExt;
use object_store::buffered::BufWriter;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, Error, MultipartUpload, ObjectStore, ObjectStoreExt, PutMode,
    PutMultipartOptions, PutOptions, TagSet,
};
use palladion_object_store::EncryptedStore;

use crate::random::{Random, with_new_seeds};
use crate::spy::{Log, Spy};
use crate::{key, text};

const MIB: usize = 1 << 20;

fn store() -> (EncryptedStore<Spy>, Arc<Log>, Path) {
    let spy = Spy::new(Arc::new(InMemory::new()));
    let log = spy.log.clone();
    (EncryptedStore::new(spy, key()), log, Path::from("a"))
}

async fn upload(store: &EncryptedStore<Spy>, parts: &[&[u8]]) {
    let mut upload = store.put_multipart(&"a".into()).await.unwrap();
    for part in parts {
        upload.put_part(part.to_vec().into()).await.unwrap();
    }
    upload.complete().await.unwrap();
}

/// All parts but the last have one length that S3 takes, and are as many as the caller's.
#[tokio::test]
async fn parts_of_one_length() {
    for (part, count) in [(5 * MIB, 4), (8 * MIB, 3), (12 * MIB + 77, 2), (6 * MIB, 1)] {
        let (store, log, path) = store();
        let text = text(part * count - 1000);
        upload(&store, &text.chunks(part).collect::<Vec<_>>()).await;
        assert_eq!(store.get(&path).await.unwrap().bytes().await.unwrap(), text);
        let parts = log.parts.lock().unwrap().clone();
        let (last, all) = parts.split_last().unwrap();
        assert!(all.iter().all(|len| *len == all[0] && *len >= 5 * MIB), "{parts:?}");
        assert!(all.iter().all(|len| last <= len), "{parts:?}");
        assert!(parts.len() <= count, "{parts:?} for {count} of {part}");
    }
}

/// Parts of the caller's of any length.
#[test]
fn odd_parts() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    with_new_seeds(10, |random: &mut Random| {
        let (store, log, path) = store();
        let text = text(random.below(24 * MIB));
        let mut parts: Vec<&[u8]> = Vec::new();
        let mut rest = &text[..];
        while !rest.is_empty() {
            let len = match random.below(3) {
                0 => random.below(10),
                1 => random.below(100_000),
                _ => random.below(9 * MIB),
            };
            let (part, after) = rest.split_at(len.min(rest.len()));
            parts.push(part);
            rest = after;
        }
        runtime.block_on(async {
            upload(&store, &parts).await;
            assert_eq!(store.get(&path).await.unwrap().bytes().await.unwrap(), text);
            // The same bytes as in one piece.
            assert_eq!(store.head(&path).await.unwrap().size, text.len() as u64);
        });
        let parts = log.parts.lock().unwrap().clone();
        let (last, all) = parts.split_last().unwrap();
        assert!(all.is_sorted() && all.iter().all(|len| *len >= 5 * MIB), "{parts:?}");
        assert!(last <= all.last().unwrap_or(last) && *last > 0, "{parts:?}");
    });
}

/// Parts that grow are at most one more than the caller's.
#[tokio::test]
async fn growing_parts() {
    let (store, log, path) = store();
    let mut upload = store.put_multipart(&path).await.unwrap();
    for number in 0..30 {
        upload.put_part(vec![1; 5 * MIB + number * 300_000].into()).await.unwrap();
    }
    upload.complete().await.unwrap();
    assert!(log.parts.lock().unwrap().len() <= 31);
}

#[tokio::test]
async fn nothing_at_all() {
    let (store, log, path) = store();
    upload(&store, &[]).await;
    assert_eq!(store.get(&path).await.unwrap().bytes().await.unwrap(), "");
    assert_eq!(*log.parts.lock().unwrap(), [164]);
    upload(&store, &[b"", b"a", b""]).await;
    assert_eq!(store.get(&path).await.unwrap().bytes().await.unwrap(), "a");
}

#[tokio::test]
async fn an_upload_that_fails_is_not_completed() {
    for failing in 0..3 {
        let (store, log, path) = store();
        *log.failing_part.lock().unwrap() = Some(failing);
        let mut upload = store.put_multipart(&path).await.unwrap();
        let mut errors = 0;
        for _ in 0..3 {
            errors += usize::from(upload.put_part(text(6 * MIB).into()).await.is_err());
        }
        upload.complete().await.unwrap_err();
        assert_eq!((errors, *log.completed.lock().unwrap()), (2 - failing, 0));
        // Nor is it by another attempt.
        upload.complete().await.unwrap_err();
        upload.put_part("more".into()).await.unwrap_err();
        let error = store.get(&path).await.unwrap_err();
        assert!(matches!(error, Error::NotFound { .. }), "{error}");
        upload.abort().await.unwrap();
        assert_eq!(*log.aborted.lock().unwrap(), 1);
    }
}

/// An upload that is completed too early can be completed later, but not without a part whose
/// future was dropped.
#[tokio::test]
async fn parts_that_nobody_waits_for() {
    let (store, log, path) = store();
    let mut upload = store.put_multipart(&path).await.unwrap();
    let first = upload.put_part(text(6 * MIB).into());
    let error = upload.complete().await.unwrap_err();
    let expected = "a: cannot complete the upload yet: await the futures that put_part returned \
                    (unfinished: 1), then call complete again";
    assert!(error.to_string().ends_with(expected), "{error}");
    first.await.unwrap();
    upload.complete().await.unwrap();
    assert_eq!(store.get(&path).await.unwrap().bytes().await.unwrap(), text(6 * MIB));

    let mut upload = store.put_multipart(&path).await.unwrap();
    drop(upload.put_part(text(6 * MIB).into()));
    let error = upload.complete().await.unwrap_err();
    let expected = "a: a part of the upload failed; abort it and start again";
    assert!(error.to_string().ends_with(expected), "{error}");
    assert_eq!(*log.completed.lock().unwrap(), 1);
}

/// `complete` goes on where the last call of it was dropped or failed.
#[tokio::test]
async fn completed_in_several_calls() {
    let (store, log, path) = store();
    *log.failing_complete.lock().unwrap() = true;
    let mut upload = store.put_multipart(&path).await.unwrap();
    upload.put_part("text".into()).await.unwrap();
    for completed in 0..2 {
        // In the last part, and in `complete` of the store below.
        assert!(upload.complete().now_or_never().is_none());
        assert_eq!(*log.completed.lock().unwrap(), completed);
    }
    let error = upload.complete().await.unwrap_err();
    assert_eq!(error.to_string(), "Generic Spy error: 503");
    let error = upload.put_part("more".into()).await.unwrap_err().to_string();
    assert!(error.ends_with("call complete again, or abort the upload"), "{error}");
    upload.complete().await.unwrap();
    assert_eq!(store.get(&path).await.unwrap().bytes().await.unwrap(), "text");
    assert_eq!(log.parts.lock().unwrap().len(), 1);
    let error = upload.complete().await.unwrap_err().to_string();
    assert!(error.ends_with("a: the upload was completed"), "{error}");

    *log.failing_complete.lock().unwrap() = true;
    let mut upload = store.put_multipart(&path).await.unwrap();
    upload.complete().await.unwrap_err();
    upload.abort().await.unwrap();
    let error = upload.complete().await.unwrap_err().to_string();
    assert!(error.ends_with("a: the upload was aborted"), "{error}");
}

#[tokio::test]
async fn aborted_and_dropped() {
    let (store, _, path) = store();
    let mut upload = store.put_multipart(&path).await.unwrap();
    upload.put_part(text(6 * MIB).into()).await.unwrap();
    upload.abort().await.unwrap();
    upload.put_part("more".into()).await.unwrap_err();
    upload.complete().await.unwrap_err();
    let mut upload = store.put_multipart(&path).await.unwrap();
    upload.put_part(text(6 * MIB).into()).await.unwrap();
    drop(upload);
    let error = store.get(&path).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{error}");
}

#[tokio::test]
async fn a_buffered_writer() {
    let (store, _, path) = store();
    let store: Arc<dyn ObjectStore> = Arc::new(store);
    let text = text(25 * MIB);
    let mut writer = BufWriter::new(store.clone(), path.clone());
    for piece in text.chunks(300_000) {
        writer.put(piece.to_vec().into()).await.unwrap();
    }
    tokio_shutdown(&mut writer).await;
    assert_eq!(store.get(&path).await.unwrap().bytes().await.unwrap(), text);
}

async fn tokio_shutdown(writer: &mut BufWriter) {
    use tokio::io::AsyncWriteExt;
    writer.shutdown().await.unwrap();
}

/// Mode, attributes and tags reach the store.
#[tokio::test]
async fn options() {
    let (store, log, path) = store();
    let mut tags = TagSet::default();
    tags.push("team", "storage");
    let attributes = Attributes::from_iter([(Attribute::ContentType, "text/plain")]);
    let put = PutOptions {
        mode: PutMode::Create,
        tags: tags.clone(),
        attributes: attributes.clone(),
        ..PutOptions::default()
    };
    store.put_opts(&path, "text".into(), put.clone()).await.unwrap();
    assert_eq!(*log.puts.lock().unwrap(), [put]);
    for range in [None, Some(0..2), Some(0..2)] {
        let options = object_store::GetOptions::new().with_range(range);
        let result = store.get_opts(&path, options).await.unwrap();
        assert_eq!(result.attributes, attributes);
    }
    let options = PutMultipartOptions { tags, attributes, ..PutMultipartOptions::default() };
    store.put_multipart_opts(&path, options.clone()).await.unwrap();
    assert_eq!(*log.upload_options.lock().unwrap(), [options]);
}
