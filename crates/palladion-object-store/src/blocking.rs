//! Work that takes long.

use std::panic::resume_unwind;
use std::sync::Arc;

use object_store::Result;
use palladion_file::{OwnedSecret, Secret};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet, spawn_blocking};

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
    finished(spawn_blocking(work).await)
}

fn finished<R>(result: Result<R, JoinError>) -> Result<R> {
    result.map_err(|error| match error.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        Err(error) => other(error), // the runtime is shutting down
    })
}

/// Lets one passphrase be stretched at a time, because each takes much memory.
#[derive(Debug)]
pub(crate) struct Stretching(Arc<Semaphore>);

impl Default for Stretching {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl Stretching {
    /// Derives keys from a secret. With a passphrase, waits until no other one is being stretched,
    /// without a thread. Dropping the future ends the wait.
    pub async fn run<R: Send + 'static>(
        &self,
        secret: OwnedSecret,
        work: impl FnOnce(&OwnedSecret) -> R + Send + 'static,
    ) -> Result<R> {
        if !Secret::from(&secret).takes_long() || Handle::try_current().is_err() {
            return Ok(work(&secret));
        }
        let turn = self.0.clone().acquire_owned();
        // A task takes its turn even while nobody polls this future, so that it never blocks the
        // others.
        let mut task = JoinSet::new();
        task.spawn(async move {
            let turn = turn.await.expect("the semaphore is never closed");
            let work = move || {
                let _turn = turn; // until the work is done, even if nobody waits for it
                work(&secret)
            };
            run(true, work).await
        });
        finished(task.join_next().await.expect("there is one task"))?
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    use futures_util::FutureExt;
    use futures_util::future::{Either, join_all, select};
    use palladion_file::Passphrase;
    use tokio::sync::oneshot;
    use tokio::time::timeout;

    use super::*;

    /// Also when requests are dropped. Those that wait take no threads: two are enough.
    #[test]
    fn one_passphrase_is_stretched_at_a_time() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().max_blocking_threads(2).build().unwrap();
        let (stretching, active) = (Stretching::default(), Arc::new(AtomicUsize::new(0)));
        let stretch = |work: Box<dyn FnOnce() + Send>| {
            let active = active.clone();
            stretching.run(Passphrase::new("words").into(), move |_| {
                assert_eq!(active.fetch_add(1, Ordering::SeqCst), 0);
                work();
                active.fetch_sub(1, Ordering::SeqCst);
            })
        };
        runtime.block_on(async {
            let (begins, begun) = oneshot::channel();
            let (go_on, wait) = mpsc::channel();
            let first = stretch(Box::new(move || {
                begins.send(()).unwrap();
                wait.recv().unwrap();
            }));
            drop(select(Box::pin(first), begun).await);
            // Its thread goes on. Another request is dropped while it waits for that one.
            let in_vain = Arc::new(AtomicBool::new(false));
            let begun = in_vain.clone();
            let waiting = stretch(Box::new(move || begun.store(true, Ordering::SeqCst)));
            assert!(waiting.now_or_never().is_none());

            let others = join_all([(); 600].map(|()| stretch(Box::new(|| ()))));
            let unrelated = timeout(Duration::from_secs(60), spawn_blocking(|| ()));
            let Either::Right((unrelated, others)) = select(others, Box::pin(unrelated)).await
            else {
                panic!("nobody can be done yet");
            };
            unrelated.expect("a thread is free").unwrap();
            // A request that got its turn, but is not polled, does not block those after it.
            let more = stretch(Box::new(|| ()));
            go_on.send(()).unwrap();
            more.await.unwrap();
            assert!(others.await.iter().all(Result::is_ok));
            assert_eq!(active.load(Ordering::SeqCst), 0);
            assert!(!in_vain.load(Ordering::SeqCst));
        });
    }
}
