//! Work on other threads that uses Python objects. The thread that called uses them, and waits for
//! the work otherwise. So a signal such as Ctrl-C ends a read or write that waits for another
//! program, and an object may belong to one thread, as those of `sqlite3` do.

use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, ThreadId};
use std::time::Duration;

use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;

/// How often a waiting thread looks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// What the calling thread does for the others. Returns an exception that must stop them all.
/// `None` is the end.
type Call = Option<Box<dyn FnOnce(Python<'_>) -> Option<PyErr> + Send>>;

/// The thread that called.
#[derive(Clone)]
pub struct Home {
    thread: ThreadId,
    calls: Sender<Call>,
}

/// The calls that [`work`] answers.
pub struct Calls(Receiver<Call>);

impl Home {
    /// Makes this thread the home.
    pub fn new() -> (Self, Calls) {
        let (calls, receiver) = mpsc::channel();
        (Self { thread: thread::current().id(), calls }, Calls(receiver))
    }

    pub fn is_here(&self) -> bool {
        thread::current().id() == self.thread
    }

    /// Calls a function on the home thread, within [`work`].
    pub fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(Python<'_>) -> PyResult<T> + Send + 'static,
    ) -> PyResult<T> {
        if self.is_here() {
            return Python::attach(call);
        }
        let (sender, result) = mpsc::channel();
        let call = move |py: Python<'_>| {
            let done = call(py);
            // Such as KeyboardInterrupt. Other errors take their turn.
            let stops = |error: &&PyErr| !error.is_instance_of::<PyException>(py);
            let stop = done.as_ref().err().filter(stops).map(|error| error.clone_ref(py));
            // The receiver waits for it.
            let _ = sender.send(done);
            stop
        };
        let stopped = || PyRuntimeError::new_err("the work was stopped");
        self.calls.send(Some(Box::new(call))).map_err(|_| stopped())?;
        result.recv().map_err(|_| stopped())?
    }

    /// Does the work on a new thread. Once a handler of a signal has raised an exception, calls
    /// `signalled` with it, and all later calls fail: they might wait for another program.
    ///
    /// If `alone` is true or the system cannot create a thread, this one does the work. `work` then
    /// gets true: it must not create threads, because nobody would answer their calls.
    pub fn work<T: Send>(
        &self,
        py: Python<'_>,
        calls: Calls,
        alone: bool,
        signalled: impl Fn(PyErr) + Send,
        work: impl FnOnce(bool) -> T + Send,
    ) -> T {
        struct End<'a>(&'a Home);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                // Nobody waits if the home has panicked.
                let _ = self.0.calls.send(None);
            }
        }
        if alone {
            return py.detach(|| work(true));
        }
        let work = Mutex::new(Some(work));
        let take = || work.lock().ok()?.take();
        let there = || {
            let _end = End(self);
            take().map(|work| work(false))
        };
        py.detach(move || {
            thread::scope(|scope| {
                let Ok(worker) = thread::Builder::new().spawn_scoped(scope, there) else {
                    return take().map(|work| work(true));
                };
                let mut stopped = false;
                loop {
                    let mut call = match calls.0.recv_timeout(LOOK) {
                        Ok(Some(call)) => Some(call),
                        Err(RecvTimeoutError::Timeout) => None,
                        Ok(None) | Err(RecvTimeoutError::Disconnected) => break,
                    };
                    if stopped {
                        continue;
                    }
                    let stop = Python::attach(|py| match py.check_signals() {
                        Ok(()) => call.take().and_then(|call| call(py)),
                        Err(error) => Some(error),
                    });
                    if let Some(error) = stop {
                        // Before `call` is dropped: its caller would report another error first.
                        signalled(error);
                        stopped = true;
                    }
                }
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })
        .expect("the work is taken once")
    }
}
