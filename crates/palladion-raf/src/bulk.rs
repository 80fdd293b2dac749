//! Runs of whole chunks: in groups, several at a time if there are threads. Storages are `dyn`, so
//! that nothing of this, with all of rayon, is compiled anew for each type of storage.

use std::io::ErrorKind;
use std::sync::{Mutex, PoisonError};

use palladion::Buffer;

use crate::environment::zeros;
use crate::keys::Keys;
use crate::storage::Place;
use crate::{Error, Info, Result, Storage};

/// Bytes of contents in a group of chunks, unless a chunk is larger. A group should fit in the
/// cache of one core.
const GROUP: usize = 128 << 10;
/// The most bytes of contents to copy at a time when the storage supports only one thread.
pub(crate) const WINDOW: usize = 4 << 20;
/// The fewest bytes of contents for which waking threads pays.
pub(crate) const WORTHWHILE: usize = 256 << 10;

/// Processes each item, on several threads if available. Returns the error of the first item that
/// failed.
fn for_each<I: Send>(items: Vec<I>, work: impl Fn(I) -> Result<()> + Sync + Send) -> Result<()> {
    #[cfg(feature = "parallel")]
    if let Some(pool) = pool() {
        use rayon::iter::{IntoParallelIterator, ParallelIterator};
        let all = || items.into_par_iter().map(work).find_map_first(Result::err);
        return pool.install(all).map_or(Ok(()), Err);
    }
    items.into_iter().try_for_each(work)
}

/// The threads that help this one, if there are any and it may wait for them.
///
/// The caller may hold a lock around the file for which other tasks of the program wait. So its
/// threads must not run such tasks. A thread of rayon's takes up other tasks while it waits, so it
/// works alone. And all threads of rayon's global pool may be waiting for that lock, so this pool
/// is a separate one.
///
/// A forked process has none of its parent's threads, so each process has its own pool.
#[cfg(feature = "parallel")]
fn pool() -> Option<&'static rayon::ThreadPool> {
    use std::sync::RwLock;

    /// A process and its pool, or `None` if the system refused to create threads.
    type Known = (u32, Option<&'static rayon::ThreadPool>);
    static KNOWN: RwLock<Option<Known>> = RwLock::new(None);

    if rayon::current_thread_index().is_some() {
        return None;
    }
    // WebAssembly has no process ids, and no forks.
    let process = if cfg!(target_family = "wasm") { 0 } else { std::process::id() };
    let of_process = |known: &Option<Known>| known.filter(|(owner, _)| *owner == process);
    // Nobody waits for these locks: if a thread held one during a fork, it stays locked in the new
    // process. Then the calling thread works alone.
    let known = of_process(&*KNOWN.try_read().ok()?);
    if let Some((_, pool)) = known {
        return pool;
    }
    let mut known = KNOWN.try_write().ok()?;
    if let Some((_, pool)) = of_process(&known) {
        return pool;
    }
    // The pool of a parent is not dropped: that would wait for its threads.
    let pool = rayon::ThreadPoolBuilder::new().build().ok();
    let pool = pool.map(|pool| &*Box::leak(Box::new(pool)));
    *known = Some((process, pool));
    pool
}

/// Memory of workers, kept for reuse: allocating it each time would cost as much as the work. It is
/// wiped when the file is closed, because a chunk that is read in part is decrypted in it.
#[derive(Default)]
pub(crate) struct Rooms(Mutex<Vec<Buffer>>);

impl Rooms {
    /// Lends memory for this many records of a file.
    pub(crate) fn lend(&self, info: &Info, records: usize) -> Result<Room<'_>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let len = records * info.record_len();
        let buffer = match kept {
            Some(buffer) if buffer.len() >= len => buffer,
            _ => info.buffer(records)?,
        };
        Ok(Room { buffer: Some(buffer), len, rooms: self })
    }
}

/// Lent memory, which goes back when it is dropped.
pub(crate) struct Room<'a> {
    buffer: Option<Buffer>,
    len: usize,
    rooms: &'a Rooms,
}

impl Room<'_> {
    pub(crate) fn records(&mut self) -> &mut [u8] {
        let buffer = self.buffer.as_mut().expect("it goes back at the end");
        &mut buffer[..self.len]
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.rooms.0.lock().unwrap_or_else(PoisonError::into_inner).extend(self.buffer.take());
    }
}

/// A run of chunks of a file.
pub(crate) struct Run<'a> {
    pub info: &'a Info,
    pub keys: &'a Keys,
    pub rooms: &'a Rooms,
}

impl Run<'_> {
    fn chunk(&self) -> usize {
        self.info.chunk_size as usize
    }

    /// Chunks in a group.
    fn group(&self) -> usize {
        (GROUP / self.chunk()).max(1)
    }

    /// Chunks in a window.
    fn window(&self) -> usize {
        (WINDOW / self.chunk()).max(1)
    }

    /// Reads chunks, from `first` on, into a buffer whose length is a multiple of theirs.
    pub(crate) fn read(
        &self,
        place: &Place<dyn Storage + '_>,
        first: u64,
        buf: &mut [u8],
    ) -> Result<()> {
        let (chunk, group, record) = (self.chunk(), self.group(), self.info.record_len());
        let (info, keys, rooms) = (self.info, self.keys, self.rooms);
        let at_once = place.shared(|shared| {
            let groups = buf.chunks_mut(group * chunk).zip((first..).step_by(group)).collect();
            for_each(groups, |(messages, first)| {
                let mut room = rooms.lend(info, messages.len() / chunk)?;
                let records = room.records();
                shared.read_at(records, info.offset(first)?).map_err(|e| missing(first, e))?;
                keys.open_all(info, first, records, messages)
            })
        });
        if let Some(read) = at_once {
            return read;
        }
        let windows = buf.chunks_mut(self.window() * chunk).zip((first..).step_by(self.window()));
        for (messages, first) in windows {
            let mut room = rooms.lend(info, messages.len() / chunk)?;
            let records = room.records();
            place.read_at(records, info.offset(first)?).map_err(|e| missing(first, e))?;
            let groups = messages.chunks_mut(group * chunk).zip(records.chunks(group * record));
            for_each(
                groups.zip((first..).step_by(group)).collect(),
                |((messages, records), first)| keys.open_all(info, first, records, messages),
            )?;
        }
        Ok(())
    }

    /// Writes chunks, from `first` on. `random` is asked for all nonces of a window at once.
    pub(crate) fn write(
        &self,
        storage: &mut dyn Storage,
        first: u64,
        data: &[u8],
        random: &mut dyn FnMut(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let (chunk, group, record) = (self.chunk(), self.group(), self.info.record_len());
        let nonce = self.info.algorithm.key_len();
        let (info, keys, rooms) = (self.info, self.keys, self.rooms);
        let seal = |messages: &[u8], first, nonces: &[u8], records: &mut [u8]| {
            for (record, from) in records.chunks_exact_mut(record).zip(nonces.chunks_exact(nonce)) {
                record[..nonce].copy_from_slice(from);
            }
            keys.seal_all(info, first, messages, records)
        };
        // With a storage for several threads, only the nonces of a whole window are in memory.
        let window = if storage.shared().is_some() { 64 * self.window() } else { self.window() };
        let mut nonces = zeros(window.min(data.len() / chunk) * nonce)?;
        for (messages, first) in data.chunks(window * chunk).zip((first..).step_by(window)) {
            let nonces = &mut nonces[..messages.len() / chunk * nonce];
            random(nonces)?;
            let groups = messages.chunks(group * chunk).zip((first..).step_by(group));
            let groups = groups.zip(nonces.chunks(group * nonce));
            if let Some(shared) = storage.shared() {
                for_each(groups.collect(), |((messages, first), nonces)| {
                    let mut room = rooms.lend(info, messages.len() / chunk)?;
                    let records = room.records();
                    seal(messages, first, nonces, records)?;
                    Ok(shared.write_at(records, info.offset(first)?)?)
                })?;
            } else {
                let mut room = rooms.lend(info, messages.len() / chunk)?;
                let records = room.records();
                for_each(
                    groups.zip(records.chunks_mut(group * record)).collect(),
                    |(((messages, first), nonces), records)| seal(messages, first, nonces, records),
                )?;
                storage.write_at(records, info.offset(first)?)?;
            }
        }
        Ok(())
    }
}

/// Maps an error from reading chunks: missing chunks are damaged.
pub(crate) fn missing(index: u64, e: std::io::Error) -> Error {
    match e.kind() {
        ErrorKind::UnexpectedEof => Error::DamagedChunk { index },
        _ => Error::Io(e),
    }
}
