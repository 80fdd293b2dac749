//! Requests that reads and lists make.

use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, GetResult, ObjectStore, Result};

/// The most requests of `get_ranges`, and of a list, at the same time.
pub(crate) const PARALLEL: usize = 10;

/// Gets so many bytes from the start of an object, or fewer if it is shorter.
pub(crate) async fn first_bytes(
    inner: &impl ObjectStore,
    location: &Path,
    options: &GetOptions,
    len: usize,
) -> Result<GetResult> {
    let first = GetRange::Bounded(0..len as u64);
    let first = GetOptions { range: Some(first), head: false, ..options.clone() };
    match inner.get_opts(location, first).await {
        // An empty object has no first bytes.
        Err(error @ Error::Generic { .. }) => {
            let head = GetOptions { range: None, head: true, ..options.clone() };
            match inner.get_opts(location, head).await {
                Ok(result) if result.meta.size == 0 => Ok(result),
                _ => Err(error),
            }
        }
        result => result,
    }
}
