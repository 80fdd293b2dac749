//! Work that takes long.

use std::panic::resume_unwind;

use object_store::Result;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use crate::error::other;

/// Bytes whose encryption takes about 0.1 ms with AES instructions. Less is done at once.
pub(crate) const SHORT: usize = 512 << 10;

/// Does the work on another thread if it is long, so that other futures go on.
pub(crate) async fn run<R: Send + 'static>(
    is_long: bool,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R> {
    if !is_long || Handle::try_current().is_err() {
        return Ok(work()); // no Tokio, no other thread
    }
    spawn_blocking(work).await.map_err(|error| match error.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        Err(error) => other(error), // the runtime is shutting down
    })
}
