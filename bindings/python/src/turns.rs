//! What threads use in turn.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::buffer::lock;

/// The process and the thread that use it.
type User = Option<(u32, ThreadId)>;

pub struct Turns<T> {
    inner: Mutex<T>,
    /// What this thread calls, which may be a handler of a signal too, must not use it: it would
    /// wait for itself. Nor may a forked child wait for a thread that only its parent has.
    user: Mutex<User>,
    /// The error for a thread that would wait for itself.
    again: &'static str,
}

impl<T> Turns<T> {
    pub fn new(inner: T, again: &'static str) -> Self {
        Self { inner: Mutex::new(inner), user: Mutex::new(None), again }
    }

    fn set_user(&self, user: User) -> User {
        std::mem::replace(&mut *self.user.lock().unwrap_or_else(PoisonError::into_inner), user)
    }

    fn user(&self) -> User {
        *self.user.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a function with it. Threads wait for one another.
    pub fn with<R>(&self, py: Python<'_>, call: impl FnOnce(&mut T) -> PyResult<R>) -> PyResult<R> {
        struct End<'a, T>(&'a Turns<T>);
        impl<T> Drop for End<'_, T> {
            fn drop(&mut self) {
                self.0.set_user(None);
            }
        }
        let me = (std::process::id(), thread::current().id());
        if self.user() == Some(me) {
            return Err(PyRuntimeError::new_err(self.again));
        }
        if self.is_stuck() {
            return Err(PyRuntimeError::new_err(
                "another thread was using the file when this process was forked; open it again",
            ));
        }
        let mut inner = lock(py, &self.inner);
        self.set_user(Some(me));
        let _end = End(self);
        call(&mut inner)
    }

    /// Returns whether a thread of another process used it when this process was forked. That
    /// thread never ends here.
    pub fn is_stuck(&self) -> bool {
        self.user().is_some_and(|(process, _)| process != std::process::id())
    }

    /// Returns it, unless a thread uses it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.inner.try_lock().ok()
    }
}
