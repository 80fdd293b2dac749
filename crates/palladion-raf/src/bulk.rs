//! Runs of whole chunks: in groups, several at a time if there are threads.

use std::io::ErrorKind;

use zeroize::Zeroizing;

use crate::algorithm::Keys;
use crate::environment::zeros;
use crate::{Error, Info, Result, Storage};

/// Bytes of contents in a group of chunks, if they are not larger: what a worker has before it should fit in the cache of its core.
const GROUP: usize = 128 << 10;
/// Bytes of contents that are in memory a second time, at most, when the storage is for one thread alone.
const WINDOW: usize = 4 << 20;
/// Bytes of contents from which on it pays to wake threads.
pub(crate) const WORTHWHILE: usize = 256 << 10;

/// Does the work on each item, on several threads if there are; fails as the first item that failed. `memory` is made for a worker, not for
/// each item.
fn for_each<I: Send, M>(
    items: Vec<I>,
    memory: impl Fn() -> M + Sync + Send,
    work: impl Fn(&mut M, I) -> Result<()> + Sync + Send,
) -> Result<()> {
    #[cfg(feature = "parallel")]
    let failed = {
        use rayon::iter::{IntoParallelIterator, ParallelIterator};
        items.into_par_iter().map_init(memory, work).find_map_first(Result::err)
    };
    #[cfg(not(feature = "parallel"))]
    let failed = {
        let mut memory = memory();
        items.into_iter().map(|item| work(&mut memory, item)).find_map(Result::err)
    };
    failed.map_or(Ok(()), Err)
}

/// Room for so many records.
fn room(records: usize, len: usize) -> Result<Zeroizing<Vec<u8>>> {
    Ok(Zeroizing::new(zeros(records * len)?))
}

/// A run of chunks of a file.
pub(crate) struct Run<'a, S> {
    pub storage: &'a mut S,
    pub info: &'a Info,
    pub keys: &'a Keys,
}

impl<S: Storage> Run<'_, S> {
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
    pub(crate) fn read(&mut self, first: u64, buf: &mut [u8]) -> Result<()> {
        let (chunk, group, record) = (self.chunk(), self.group(), self.info.record_len());
        let (info, keys) = (self.info, self.keys);
        if let Some(shared) = self.storage.shared() {
            let groups: Vec<_> = buf.chunks_mut(group * chunk).zip((first..).step_by(group)).collect();
            return for_each(
                groups,
                || room(group, record),
                |room, (messages, first)| {
                    let room = room.as_mut().map_err(|_| ErrorKind::OutOfMemory)?;
                    let records = &mut room[..messages.len() / chunk * record];
                    shared.read_at(records, info.offset(first)?).map_err(|e| missing(first, e))?;
                    keys.open_all(info, first, records, messages)
                },
            );
        }
        let mut room = room(self.window().min(buf.len() / chunk), record)?;
        let windows = buf.chunks_mut(self.window() * chunk).zip((first..).step_by(self.window()));
        for (messages, first) in windows {
            let records = &mut room[..messages.len() / chunk * record];
            self.storage.read_at(records, info.offset(first)?).map_err(|e| missing(first, e))?;
            let groups = messages.chunks_mut(group * chunk).zip(records.chunks(group * record));
            for_each(
                groups.zip((first..).step_by(group)).collect(),
                || (),
                |(), ((messages, records), first)| keys.open_all(info, first, records, messages),
            )?;
        }
        Ok(())
    }

    /// Writes chunks, from `first` on. `random` is asked for all nonces of a window at once.
    pub(crate) fn write(
        &mut self,
        first: u64,
        data: &[u8],
        mut random: impl FnMut(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let (chunk, group, record) = (self.chunk(), self.group(), self.info.record_len());
        let nonce = self.info.algorithm.key_len();
        let (info, keys) = (self.info, self.keys);
        // Records with their nonces, and nothing else yet.
        let prepare = |records: &mut [u8], nonces: &[u8]| {
            for (record, from) in records.chunks_exact_mut(record).zip(nonces.chunks_exact(nonce)) {
                record[..nonce].copy_from_slice(from);
            }
        };
        // With a storage for several threads there is no need for windows: only nonces are in memory for all of them.
        let is_shared = self.storage.shared().is_some();
        let window = if is_shared { self.window().max(4096) } else { self.window() };
        let mut window_room = room(if is_shared { 0 } else { window.min(data.len() / chunk) }, record)?;
        let mut nonces = zeros(window.min(data.len() / chunk) * nonce)?;
        for (messages, first) in data.chunks(window * chunk).zip((first..).step_by(window)) {
            let count = messages.len() / chunk;
            random(&mut nonces[..count * nonce])?;
            let nonces = nonces[..count * nonce].chunks(group * nonce);
            let groups = messages.chunks(group * chunk).zip(nonces).zip((first..).step_by(group));
            if let Some(shared) = self.storage.shared() {
                for_each(
                    groups.collect(),
                    || room(group, record),
                    |room, ((messages, nonces), first)| {
                        let room = room.as_mut().map_err(|_| ErrorKind::OutOfMemory)?;
                        let records = &mut room[..messages.len() / chunk * record];
                        prepare(records, nonces);
                        keys.seal_all(info, first, messages, records)?;
                        Ok(shared.write_at(records, info.offset(first)?)?)
                    },
                )?;
            } else {
                let records = &mut window_room[..count * record];
                for_each(
                    groups.zip(records.chunks_mut(group * record)).collect(),
                    || (),
                    |(), (((messages, nonces), first), records)| {
                        prepare(records, nonces);
                        keys.seal_all(info, first, messages, records)
                    },
                )?;
                self.storage.write_at(records, info.offset(first)?)?;
            }
        }
        Ok(())
    }
}

/// What an error when chunks were read means: those that are not there are damaged.
pub(crate) fn missing(index: u64, e: std::io::Error) -> Error {
    match e.kind() {
        ErrorKind::UnexpectedEof => Error::DamagedChunk { index },
        _ => Error::Io(e),
    }
}
