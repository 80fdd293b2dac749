//! Work for several threads, in processes that were forked (as `multiprocessing` does): threads do
//! not come along, so what waited for those of the pool that all of a process shares would wait for
//! ever.

use std::sync::{Mutex, OnceLock, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The process that loaded this, whose shared pool is alive.
static FIRST: OnceLock<u32> = OnceLock::new();
/// A pool for another one. Those of its ancestors are not dropped, for that would wait for their
/// threads.
static POOL: Mutex<Option<(u32, &'static ThreadPool)>> = Mutex::new(None);

/// To be called when the package is loaded.
pub fn loaded() {
    FIRST.get_or_init(std::process::id);
}

/// A pool whose threads are alive, if the one that all share is not.
fn pool() -> Option<&'static ThreadPool> {
    let process = std::process::id();
    if FIRST.get() == Some(&process) {
        return None;
    }
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match *pool {
        Some((of, pool)) if of == process => Some(pool),
        _ => {
            // Without any thread to be had there is nothing better than to try the other one.
            let new: &'static ThreadPool =
                Box::leak(Box::new(ThreadPoolBuilder::new().build().ok()?));
            *pool = Some((process, new));
            Some(new)
        }
    }
}

/// Does some work that uses rayon. In a process that was forked, on a thread of a pool.
pub fn on_live_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match pool() {
        Some(pool) => pool.install(work),
        None => work(),
    }
}
