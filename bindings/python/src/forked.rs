//! Work on several threads in forked processes, as `multiprocessing` creates them. A forked process
//! has none of its parent's threads. `palladion-raf` notices that and works on the calling thread;
//! a pool of the forked process makes it as fast as in the parent.

use std::sync::{Mutex, OnceLock, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The process that loaded the package. Only there are the threads of the global pool alive.
static FIRST: OnceLock<u32> = OnceLock::new();
/// The pool of a forked process. The pool of a parent is not dropped: that would wait for its
/// threads.
static POOL: Mutex<Option<(u32, &'static ThreadPool)>> = Mutex::new(None);

/// Must be called when the package is loaded.
pub fn loaded() {
    FIRST.get_or_init(std::process::id);
}

/// The pool of a forked process. `None` in the first process, where the global pool has live
/// threads, and if the system refuses to create threads.
fn pool() -> Option<&'static ThreadPool> {
    let process = std::process::id();
    if FIRST.get() == Some(&process) {
        return None;
    }
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match *pool {
        Some((of, pool)) if of == process => Some(pool),
        _ => {
            let new: &'static ThreadPool =
                Box::leak(Box::new(ThreadPoolBuilder::new().build().ok()?));
            *pool = Some((process, new));
            Some(new)
        }
    }
}

/// Does some work that uses rayon, in a forked process on a pool of its own if it can have one.
pub fn on_live_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match pool() {
        Some(pool) => pool.install(work),
        None => work(),
    }
}
