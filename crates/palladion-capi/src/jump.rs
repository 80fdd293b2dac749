//! Where the functions of a variant jump to: the kernel of the backend in use.
//!
//! The core finds it in two steps, over the table of the backend. To a call of some ten nanoseconds these count, where the CPU does
//! not foresee the jump: so the place is kept here, one read away.

use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};

use palladion::hazmat::raw::{Open, Seal};

/// A pointer to a function, of one of the types below.
pub(crate) struct Jump<K>(AtomicPtr<()>, PhantomData<K>);

/// The two that a variant has. At first, and for what the kernels do not do, they are `encrypt_any` and `decrypt_any`.
pub(crate) trait Jumps {
    fn seal() -> &'static Jump<Seal>;
    fn open() -> &'static Jump<Open>;
}

/// Held by who changes a jump or the backend: so none is left of a backend that is no longer in use.
static CHANGES: Mutex<()> = Mutex::new(());

macro_rules! jump {
    ($kind:ty) => {
        impl Jump<$kind> {
            pub(crate) const fn new(slow: $kind) -> Self {
                Self(AtomicPtr::new(slow as *mut ()), PhantomData)
            }

            #[inline(always)]
            pub(crate) fn get(&self) -> $kind {
                // SAFETY: it was one, and came from nowhere else.
                unsafe { core::mem::transmute::<*mut (), $kind>(self.0.load(Ordering::Relaxed)) }
            }

            /// From now on to the kernel, if there is one. (Unless another thread is at it: to wait for that would write to
            /// `errno`, which a forgery leaves as it was. Then a later call does it.)
            pub(crate) fn aim(&self, kernel: impl Fn() -> Option<$kind>) {
                let is = |kernel: $kind| self.0.load(Ordering::Relaxed) == kernel as *mut ();
                if kernel().is_some_and(|kernel| !is(kernel)) {
                    let _guard = match CHANGES.try_lock() {
                        Ok(guard) => guard,
                        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                        Err(TryLockError::WouldBlock) => return,
                    };
                    if let Some(kernel) = kernel() {
                        self.0.store(kernel as *mut (), Ordering::Relaxed);
                    }
                }
            }

            /// Not to a kernel any more.
            #[cfg(feature = "extra")]
            fn reset(&self, slow: $kind) {
                self.0.store(slow as *mut (), Ordering::Relaxed);
            }
        }
    };
}
jump!(Seal);
jump!(Open);

/// Does what changes the backend, and forgets the kernels of the one before.
#[cfg(feature = "extra")]
pub(crate) fn change<R>(backend: impl FnOnce() -> R) -> R {
    let _guard = CHANGES.lock().unwrap_or_else(PoisonError::into_inner);
    let result = backend();
    crate::exports::each_jump(|seal, slow| seal.reset(slow), |open, slow| open.reset(slow));
    result
}
