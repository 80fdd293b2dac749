//! Objects that were opened, so that the next read of one is a single request.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use object_store::path::Path;
use object_store::{GetOptions, ObjectMeta};
use palladion_file::OwnedSecret;
use palladion_file::sans_io::{ChunkOpener, Layout};

/// The most objects. Each takes some hundred bytes; its keys are wiped when it leaves.
const CAPACITY: usize = 256;

/// The ciphers and lengths of objects, the one that was used last in front.
#[derive(Clone, Default)]
pub(crate) struct Cache(Arc<Mutex<VecDeque<Entry>>>);

struct Entry {
    location: Path,
    /// The version that was asked for.
    version: Option<String>,
    /// The object that was there.
    e_tag: String,
    /// What opened it. Nothing else may read it.
    secret: OwnedSecret,
    object: Arc<ChunkOpener>,
}

impl Cache {
    /// Returns the cached object for this read and its ETag. Send the request with `If-Match:
    /// <ETag>` instead of the caller's own `if_match`.
    pub fn expected(
        &self,
        location: &Path,
        options: &GetOptions,
        secret: &OwnedSecret,
    ) -> Option<(String, Arc<ChunkOpener>)> {
        if options.if_unmodified_since.is_some() {
            return None; // has no effect beside an ETag
        }
        self.find(|entry| {
            entry.is_for(location, options)
                && entry.secret == *secret
                && options.if_match.as_ref().is_none_or(|e_tag| *e_tag == entry.e_tag)
        })
    }

    /// The object that the store described, if it has the layout that its header tells.
    pub fn get(
        &self,
        location: &Path,
        e_tag: Option<&String>,
        layout: &Layout,
        secret: &OwnedSecret,
    ) -> Option<Arc<ChunkOpener>> {
        let e_tag = e_tag?;
        self.find(|entry| {
            entry.location == *location && entry.e_tag == *e_tag && entry.secret == *secret
        })
        .map(|(_, object)| object)
        .filter(|object| object.layout() == *layout)
    }

    fn find(&self, wanted: impl Fn(&Entry) -> bool) -> Option<(String, Arc<ChunkOpener>)> {
        let mut entries = self.entries();
        let entry = entries.iter().position(wanted).and_then(|place| entries.remove(place))?;
        let found = (entry.e_tag.clone(), entry.object.clone());
        entries.push_front(entry);
        Some(found)
    }

    /// Keeps what a read with these options found, in place of what earlier ones did.
    pub fn insert(
        &self,
        options: &GetOptions,
        meta: &ObjectMeta,
        secret: OwnedSecret,
        object: &Arc<ChunkOpener>,
    ) {
        let Some(e_tag) = strong(meta) else { return };
        let mut entries = self.entries();
        entries.retain(|entry| !entry.is_for(&meta.location, options));
        entries.truncate(CAPACITY - 1);
        entries.push_front(Entry {
            location: meta.location.clone(),
            version: options.version.clone(),
            e_tag: e_tag.clone(),
            secret,
            object: object.clone(),
        });
    }

    pub fn remove(&self, location: &Path, e_tag: Option<&str>) {
        self.entries()
            .retain(|entry| entry.location != *location || Some(entry.e_tag.as_str()) != e_tag);
    }

    fn entries(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn is_for(&self, location: &Path, options: &GetOptions) -> bool {
        self.location == *location && self.version == options.version
    }
}

/// The ETag of an object, if it can be used as a condition.
pub(crate) fn strong(meta: &ObjectMeta) -> Option<&String> {
    meta.e_tag.as_ref().filter(|e_tag| !e_tag.starts_with("W/"))
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("len", &self.entries().len()).finish_non_exhaustive()
    }
}
