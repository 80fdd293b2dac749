//! Work that takes long.

use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};

use object_store::Result;
use palladion_file::OwnedSecret;
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

/// Lets one passphrase be stretched at a time, because each takes much memory.
#[derive(Debug, Default)]
pub(crate) struct Stretching(Arc<Mutex<()>>);

impl Stretching {
    /// Does work that derives keys from a secret. With a passphrase, it waits for its turn.
    ///
    /// The thread that does the work waits, not the future. A future with a turn might not be
    /// polled for long while others wait for it, or might be dropped while its thread goes on.
    pub async fn run<R: Send + 'static>(
        &self,
        secret: OwnedSecret,
        work: impl FnOnce(&OwnedSecret) -> R + Send + 'static,
    ) -> Result<R> {
        if matches!(secret, OwnedSecret::Key(_)) {
            return Ok(work(&secret));
        }
        let request = Arc::new(());
        let (turns, waiting) = (self.0.clone(), Arc::downgrade(&request));
        let done = run(true, move || {
            let _turn = turns.lock().unwrap_or_else(PoisonError::into_inner);
            // Nobody needs the keys of a request that was dropped.
            waiting.upgrade().map(|_| work(&secret))
        });
        Ok(done.await?.expect("the request waits for it"))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::mpsc;

    use futures_util::FutureExt;
    use futures_util::future::{join, join_all, select};
    use palladion_file::Passphrase;
    use tokio::sync::oneshot;

    use super::*;

    /// Also when requests are dropped.
    #[tokio::test]
    async fn one_passphrase_is_stretched_at_a_time() {
        let (stretching, active) = (Stretching::default(), Arc::new(AtomicUsize::new(0)));
        let stretch = |work: Box<dyn FnOnce() + Send>| {
            let active = active.clone();
            stretching.run(Passphrase::new("words").into(), move |_| {
                assert_eq!(active.fetch_add(1, Ordering::SeqCst), 0);
                work();
                active.fetch_sub(1, Ordering::SeqCst);
            })
        };
        let (begins, begun) = oneshot::channel();
        let (go_on, wait) = mpsc::channel();
        let first = stretch(Box::new(move || {
            begins.send(()).unwrap();
            wait.recv().unwrap();
        }));
        drop(select(Box::pin(first), begun).await);
        // Its thread goes on. Another request is dropped while its thread waits for that one.
        let in_vain = Arc::new(AtomicBool::new(false));
        let begun = in_vain.clone();
        let waiting = stretch(Box::new(move || begun.store(true, Ordering::SeqCst)));
        assert!(waiting.now_or_never().is_none());
        let others = [(); 3].map(|()| stretch(Box::new(|| ())));
        let go_on = async { go_on.send(()).unwrap() };
        let (done, ()) = join(join_all(others), go_on).await;
        assert!(done.iter().all(Result::is_ok));
        assert_eq!(active.load(Ordering::SeqCst), 0);
        assert!(!in_vain.load(Ordering::SeqCst));
    }
}
