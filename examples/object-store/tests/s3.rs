//! Tests with an S3 server: `.ci/test-object-store.sh` starts one and sets `PALLADION_S3`.

use std::sync::Arc;

use futures_util::FutureExt;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::integration as tests;
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt,
    PutMultipartOptions, WriteMultipart,
};
use palladion_file::MasterKey;
use palladion_object_store::EncryptedStore;

#[path = "../../../crates/palladion/tests/common/random.rs"]
mod random;
#[path = "../../../crates/palladion-object-store/tests/spy.rs"]
#[allow(dead_code)]
mod spy;
use random::Random;
use spy::Spy;

const MIB: usize = 1 << 20;

/// A bucket of the server.
fn s3(bucket: &str) -> AmazonS3 {
    let _ = rustls::crypto::ring::default_provider().install_default(); // the first time
    let endpoint = std::env::var("PALLADION_S3").expect("PALLADION_S3: the address of a server");
    AmazonS3Builder::new()
        .with_endpoint(endpoint)
        .with_allow_http(true)
        .with_region("us-east-1")
        .with_access_key_id("test")
        .with_secret_access_key("test")
        .with_bucket_name(bucket)
        .build()
        .unwrap()
}

fn key() -> MasterKey {
    [7; 32].into()
}

#[tokio::test]
async fn tests_of_object_store() {
    let store = EncryptedStore::new(s3("integration"), key());
    tests::put_get_delete_list(&store).await;
    tests::get_opts(&store).await;
    tests::list_uses_directories_correctly(&store).await;
    tests::list_with_delimiter(&store).await;
    tests::rename_and_copy(&store).await;
    tests::stream_get(&store).await;
    tests::put_opts(&store, true).await;
    tests::multipart_out_of_order(&store).await;
    tests::multipart_race_condition(&store, true).await;
}

/// Old versions of objects.
#[tokio::test]
async fn versions() {
    let store = EncryptedStore::new(s3("versions"), key());
    tests::get_opts(&store).await;
    let path = Path::from("versioned");
    let texts = ["the first text", "another"];
    let mut versions = Vec::new();
    for text in texts {
        store.put(&path, text.into()).await.unwrap();
        versions.push(store.head(&path).await.unwrap().version.expect("a version"));
    }
    for _ in 0..2 {
        for (text, version) in texts.iter().zip(&versions) {
            let options = GetOptions::new().with_version(Some(version)).with_range(Some(0..7));
            let result = store.get_opts(&path, options).await.unwrap();
            assert_eq!(result.bytes().await.unwrap(), text[..7]);
        }
        assert_eq!(store.get_range(&path, 0..7).await.unwrap(), "another");
    }
}

#[tokio::test]
async fn uploads_in_parts() {
    let plain = s3("uploads");
    // The server enforces S3's rule, so what follows proves something.
    let mut upload = plain.put_multipart(&"small-parts".into()).await.unwrap();
    for _ in 0..2 {
        upload.put_part(vec![0; MIB].into()).await.unwrap();
    }
    let error = upload.complete().await.unwrap_err();
    assert!(error.to_string().contains("EntityTooSmall"), "{error}");

    let spy = Spy::new(Arc::new(plain));
    let log = spy.log.clone();
    let store = EncryptedStore::new(spy, key());
    let (path, text) = (Path::from("large"), Random(1).bytes(17 * MIB + 5));
    for parts in [5 * MIB, 7 * MIB + 1, MIB, 300_000] {
        let attributes = Attributes::from_iter([(Attribute::ContentType, "text/plain")]);
        let options = PutMultipartOptions { attributes, ..PutMultipartOptions::default() };
        let mut upload = store.put_multipart_opts(&path, options).await.unwrap();
        for part in text.chunks(parts) {
            upload.put_part(part.to_vec().into()).await.unwrap();
        }
        upload.complete().await.unwrap();
        let result = store.get(&path).await.unwrap();
        assert_eq!(result.attributes.get(&Attribute::ContentType), Some(&"text/plain".into()));
        assert_eq!(result.bytes().await.unwrap(), text);
        let parts = std::mem::take(&mut *log.parts.lock().unwrap());
        assert!(parts[..parts.len() - 1].iter().all(|len| *len == parts[0]), "{parts:?}");
    }
    // Several parts at the same time.
    let mut upload = WriteMultipart::new(store.put_multipart(&path).await.unwrap());
    for piece in text.chunks(1_234_567) {
        upload.write(piece);
    }
    upload.finish().await.unwrap();
    assert_eq!(store.get(&path).await.unwrap().bytes().await.unwrap(), text);

    // An upload that was given up leaves nothing.
    let other = Path::from("other");
    let mut upload = store.put_multipart(&other).await.unwrap();
    upload.put_part(vec![0; 6 * MIB].into()).await.unwrap();
    upload.abort().await.unwrap();
    assert!(matches!(store.get(&other).await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn ranges() {
    let spy = Spy::new(Arc::new(s3("ranges")));
    let log = spy.log.clone();
    let store = EncryptedStore::new(spy, key());
    let (path, text) = (Path::from("long"), Random(2).bytes(6 * MIB));
    store.put(&path, text.clone().into()).await.unwrap();
    assert_eq!(
        store.get_range(&path, 3_000_000..3_004_096).await.unwrap(),
        text[3_000_000..][..4096]
    );
    assert_eq!(log.take_gets().len(), 3);
    for range in [
        GetRange::Offset(6_291_000),
        GetRange::Suffix(456),
        GetRange::Bounded(6_291_000..9_999_999),
    ] {
        let options = GetOptions::new().with_range(Some(range));
        let result = store.get_opts(&path, options).await.unwrap();
        assert_eq!((result.meta.size, &result.range), (6 * MIB as u64, &(6_291_000..6_291_456)));
        assert_eq!(result.bytes().await.unwrap(), text[6_291_000..]);
        assert_eq!(log.take_gets().len(), 1);
    }
    let texts = store.get_ranges(&path, &[5..9, 5_000_000..5_000_010, 100..70_000]).await.unwrap();
    assert_eq!(texts, [&text[5..9], &text[5_000_000..5_000_010], &text[100..70_000]]);
    assert_eq!(log.take_gets().len(), 2);
    store.get_range(&path, 9_000_000..9_000_001).await.unwrap_err();

    // The object is overwritten by a shorter one between requests.
    let (writer, short) = (EncryptedStore::new(s3("ranges"), key()), Random(3).bytes(200_000));
    let put = Arc::new((writer, short.clone()));
    for number in [0, 2] {
        store.put(&path, text.clone().into()).await.unwrap();
        if number == 0 {
            store.get_range(&path, 0..1).await.unwrap();
        }
        log.take_gets();
        let put = put.clone();
        *log.before_get.lock().unwrap() = Some(Arc::new(move |get| {
            let put = put.clone();
            async move {
                if get == number {
                    put.0.put(&"long".into(), put.1.clone().into()).await.unwrap();
                }
            }
            .boxed()
        }));
        let got = store.get_range(&path, 150_000..150_100).await.unwrap();
        assert_eq!(got, short[150_000..150_100]);
        *log.before_get.lock().unwrap() = None;
    }

    // An empty object of someone else.
    store.get_ref().put(&path, "".into()).await.unwrap();
    let error = store.get_range(&path, 0..1).await.unwrap_err();
    assert!(error.to_string().ends_with("long: the input is empty"), "{error}");
}
