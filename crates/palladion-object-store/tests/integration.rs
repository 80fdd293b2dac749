//! The tests that `object_store` has for stores.

use object_store::integration as tests;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use palladion_object_store::EncryptedStore;

use crate::{key, small_chunks};

#[tokio::test]
async fn memory() {
    let store = small_chunks(InMemory::new());
    tests::put_get_delete_list(&store).await;
    tests::get_opts(&store).await;
    tests::list_uses_directories_correctly(&store).await;
    tests::list_with_delimiter(&store).await;
    tests::list_with_offset_exclusivity(&store).await;
    tests::rename_and_copy(&store).await;
    tests::copy_if_not_exists(&store).await;
    tests::copy_rename_nonexistent_object(&store).await;
    tests::stream_get(&store).await;
    tests::put_opts(&store, true).await;
    tests::put_get_attributes(&store).await;
    tests::multipart_out_of_order(&store).await;
    let store = EncryptedStore::new(InMemory::new(), key());
    tests::multipart_race_condition(&store, true).await;
    let missing = Some("missing".into());
    let error = tests::get_nonexistent_object(&store, missing).await.unwrap_err();
    assert!(matches!(error, object_store::Error::NotFound { .. }), "{error}");
}

#[tokio::test]
async fn files() {
    let folder = tempfile::tempdir().unwrap();
    let store = small_chunks(LocalFileSystem::new_with_prefix(folder.path()).unwrap());
    tests::put_get_delete_list(&store).await;
    tests::get_opts(&store).await;
    tests::list_uses_directories_correctly(&store).await;
    tests::list_with_delimiter(&store).await;
    tests::rename_and_copy(&store).await;
    tests::copy_if_not_exists(&store).await;
    tests::copy_rename_nonexistent_object(&store).await;
    tests::stream_get(&store).await;
    tests::put_opts(&store, false).await;
    tests::multipart_out_of_order(&store).await;
}
