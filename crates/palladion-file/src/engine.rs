//! Many threads, one order: every worker takes the next piece of input, works on it, waits for its
//! turn and writes.
//!
//! Each worker keeps its buffer. So a piece stays in the cache of one core from read to write,
//! memory is one buffer for each worker, and there is no queue to fill up. At any time one worker
//! may read, one may write, and all others work.
//!
//! Errors take their turn too: a piece that cannot be read or worked on ends the run only when all
//! before it are written, so what comes out does not depend on the number of threads.

use std::any::Any;
use std::mem;
use std::num::NonZero;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};

use palladion::Buffer;

use crate::chunk;
use crate::error::Error;

/// The most memory for all buffers together, unless a single one needs more.
const BUFFER_BUDGET: usize = 32 << 20;

/// The number of threads, and the flag that stops them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options<'a> {
    pub threads: Option<NonZero<usize>>,
    pub cancel: Option<&'a AtomicBool>,
}

impl Options<'_> {
    /// Fails if the run was cancelled.
    pub fn check(&self) -> Result<(), Error> {
        match self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            true => Err(Error::Cancelled),
            false => Ok(()),
        }
    }
}

/// How many threads to use if each needs a buffer of `buffer_len` bytes.
pub(crate) fn workers(threads: Option<NonZero<usize>>, buffer_len: usize) -> usize {
    let wanted = threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZero::get);
    wanted.min(BUFFER_BUDGET / buffer_len).max(1)
}

/// Reads pieces into buffers for a sealed chunk of `buffer_len` bytes until `read` has none left or
/// something fails, does `work` on each, several at a time, and gives the results to `write` in the
/// order of the pieces. After a piece that `is_last`, nothing is read, and nothing can be
/// cancelled.
pub(crate) fn run<T: Send>(
    buffer_len: usize,
    options: Options<'_>,
    read: impl FnMut(&mut [u8]) -> Result<Option<T>, Error> + Send,
    is_last: impl Fn(&T) -> bool + Send,
    work: impl Fn(T, &mut [u8]) -> Result<&[u8], Error> + Sync,
    write: impl FnMut(&[u8]) -> Result<(), Error> + Send,
) -> Result<(), Error> {
    let engine = Engine {
        buffer_len,
        input: Mutex::new(Input { read, is_last, taken: 0, ended: false }),
        work,
        output: Mutex::new(Output { write, turn: 0, outcome: Ok(()) }),
        turn_changed: Condvar::new(),
        stopped: AtomicBool::new(false),
        panics: Panics::default(),
        options,
    };
    let more_workers = workers(options.threads, buffer_len) - 1;
    // The first worker needs its buffer; others start only if there is memory for theirs.
    let buffer = chunk::buffer(buffer_len).map_err(|error| Error::Read(error.into()))?;
    thread::scope(|scope| engine.worker(scope, buffer, more_workers));
    engine.panics.resume();
    engine.output.into_inner().unwrap_or_else(PoisonError::into_inner).outcome
}

/// The first panic of a scope's threads. [`thread::scope`] would replace it by one of its own,
/// which does not say what happened.
#[derive(Default)]
pub(crate) struct Panics(Mutex<Option<Box<dyn Any + Send>>>);

impl Panics {
    /// Does the work of a thread, up to a panic.
    pub fn catch(&self, work: impl FnOnce()) {
        if let Err(panic) = panic::catch_unwind(AssertUnwindSafe(work)) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
        }
    }

    /// Goes on with that panic.
    pub fn resume(&self) {
        let panic = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = panic {
            panic::resume_unwind(panic);
        }
    }
}

struct Engine<'a, R, L, W, O> {
    buffer_len: usize,
    input: Mutex<Input<R, L>>,
    work: W,
    output: Mutex<Output<O>>,
    turn_changed: Condvar,
    /// No more reading, working or writing: the outcome is settled.
    stopped: AtomicBool,
    panics: Panics,
    options: Options<'a>,
}

struct Input<R, L> {
    read: R,
    is_last: L,
    taken: u64,
    ended: bool,
}

struct Output<O> {
    write: O,
    turn: u64,
    outcome: Result<(), Error>,
}

impl<T, R, L, W, O> Engine<'_, R, L, W, O>
where
    T: Send,
    R: FnMut(&mut [u8]) -> Result<Option<T>, Error> + Send,
    L: Fn(&T) -> bool + Send,
    W: Fn(T, &mut [u8]) -> Result<&[u8], Error> + Sync,
    O: FnMut(&[u8]) -> Result<(), Error> + Send,
{
    /// The life of a worker. Each starts the next one when it has got a piece, so a small input
    /// needs few threads.
    fn worker<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        mut buffer: Buffer,
        mut more_workers: usize,
    ) {
        let unless_panic = StopOnDrop(self);
        while let Some((turn, taken)) = self.take(&mut buffer) {
            if more_workers > 0 && taken.is_ok() {
                let others = more_workers - 1;
                // If there is no thread or buffer for the next worker, this one does the work.
                let next = move || {
                    let Ok(buffer) = chunk::buffer(self.buffer_len) else { return };
                    self.panics.catch(|| self.worker(scope, buffer, others));
                };
                let _ = thread::Builder::new().spawn_scoped(scope, next);
                more_workers = 0;
            }
            let done = taken.and_then(|piece| (self.work)(piece, &mut buffer));
            let Some(mut output) = self.wait_for(turn) else { break };
            let outcome = done.and_then(|bytes| (output.write)(bytes));
            output.turn += 1;
            if outcome.is_err() {
                output.outcome = outcome;
                self.stopped.store(true, Ordering::Relaxed);
            }
            drop(output);
            self.turn_changed.notify_all();
        }
        mem::forget(unless_panic);
    }

    /// The next piece or the error in its place; `None` when there is nothing more to do.
    fn take(&self, buffer: &mut [u8]) -> Option<(u64, Result<T, Error>)> {
        let mut input = self.input.lock().ok()?;
        if input.ended || self.stopped.load(Ordering::Relaxed) {
            return None;
        }
        let taken = self.options.check().and_then(|()| (input.read)(buffer));
        input.ended = if let Ok(Some(piece)) = &taken { (input.is_last)(piece) } else { true };
        let turn = input.taken;
        input.taken += 1;
        Some((turn, taken.transpose()?))
    }

    /// The output, once everything before this turn is written; `None` if it never will be.
    fn wait_for(&self, turn: u64) -> Option<MutexGuard<'_, Output<O>>> {
        let mut output = self.output.lock().ok()?;
        while output.turn != turn && !self.stopped.load(Ordering::Relaxed) {
            output = self.turn_changed.wait(output).ok()?;
        }
        (!self.stopped.load(Ordering::Relaxed)).then_some(output)
    }
}

/// Stops the other workers when the caller's reader, writer or callback panics: they would wait for
/// a turn that never comes.
struct StopOnDrop<'a, 'b, R, L, W, O>(&'a Engine<'b, R, L, W, O>);

impl<R, L, W, O> Drop for StopOnDrop<'_, '_, R, L, W, O> {
    fn drop(&mut self) {
        // Under the lock, so that no worker is between checking the flag and going to sleep.
        let _output = self.0.output.lock();
        self.0.stopped.store(true, Ordering::Relaxed);
        self.0.turn_changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::{Barrier, Condvar, Mutex, mpsc};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn as_many_workers_as_wanted_and_as_memory_allows() {
        let workers = |threads, buffer_len| workers(NonZero::new(threads), buffer_len);
        assert_eq!(workers(3, 1000), 3);
        assert_eq!(workers(3, 16 << 20), 2);
        assert_eq!(workers(3, 64 << 20), 1);
        assert_eq!(workers(1, 1), 1);
    }

    #[test]
    fn so_many_threads_work_at_once_and_no_more() {
        const WORKERS: usize = 3;
        let options = Options { threads: NonZero::new(WORKERS), cancel: None };
        let (workers, changed) = (Mutex::new(HashSet::new()), Condvar::new());
        let mut pieces = 100;
        run(
            1000,
            options,
            |_| {
                pieces -= 1;
                Ok((pieces > 0).then_some(()))
            },
            |_| false,
            |(), buffer| {
                let mut workers = workers.lock().unwrap();
                workers.insert(thread::current().id());
                changed.notify_all();
                // The first to come wait for the others.
                let wait = Duration::from_secs(60);
                let fewer = |workers: &mut HashSet<_>| workers.len() < WORKERS;
                let timeout = changed.wait_timeout_while(workers, wait, fewer).unwrap().1;
                assert!(!timeout.timed_out(), "fewer than {WORKERS} threads");
                thread::yield_now();
                Ok(buffer)
            },
            |_| Ok(()),
        )
        .unwrap();
        assert_eq!(workers.into_inner().unwrap().len(), WORKERS);
    }

    #[test]
    fn a_panic_stops_all_threads_and_arrives() {
        // The caller's thread has the first piece, others have the next ones.
        for planted in [0, 2] {
            let (ended, end) = mpsc::channel();
            thread::spawn(move || {
                let meeting = Barrier::new(3);
                let mut pieces = 0..;
                let outcome = panic::catch_unwind(AssertUnwindSafe(move || {
                    run(
                        1000,
                        Options { threads: NonZero::new(3), cancel: None },
                        |_| Ok(pieces.next()),
                        |_| false,
                        |piece, buffer| {
                            if piece < 3 {
                                meeting.wait();
                            }
                            assert_ne!(piece, planted, "planted");
                            Ok(buffer)
                        },
                        |_| Ok(()),
                    )
                }));
                let panic = outcome.unwrap_err().downcast::<String>().unwrap();
                ended.send(panic.contains("planted")).unwrap();
            });
            // Without a stop, the other threads wait for their turns for ever.
            assert!(end.recv_timeout(Duration::from_secs(60)).unwrap());
        }
    }
}
