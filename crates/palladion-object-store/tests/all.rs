//! All tests of the public interface.

mod answers;
mod damage;
#[path = "../../palladion-file/tests/file_answers.rs"]
#[allow(dead_code)] // its answers for files with key slots
mod file_answers;
mod integration;
mod list;
mod model;
#[path = "../../palladion/tests/common/random.rs"]
mod random;
mod requests;
mod secrets;
mod spy;
mod upload;

use palladion_file::{ChunkSize, MasterKey};
use palladion_object_store::EncryptedStore;

/// The smallest chunks, so that short objects have many.
const SMALL: usize = ChunkSize::MIN.bytes();
const OVERHEAD: usize = 36;

fn key() -> MasterKey {
    [7; 32].into()
}

fn small_chunks<T: object_store::ObjectStore>(inner: T) -> EncryptedStore<T> {
    EncryptedStore::new(inner, key()).chunk_size(ChunkSize::MIN)
}

/// Bytes that differ from chunk to chunk.
fn text(len: usize) -> Vec<u8> {
    random::Random(len as u64).bytes(len)
}
