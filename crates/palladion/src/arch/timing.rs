//! The switch for data-independent timing (DIT) of 64-bit ARM, which each thread has for itself.

#![cfg_attr(target_arch = "aarch64", allow(unsafe_code))] // reads and writes the switch

use core::marker::PhantomData;

/// From this many bytes on, the switch costs little beside the work.
const LONG: usize = 4096;

/// Runs `work` with data-independent timing switched on for this thread, if the CPU has a switch
/// for it, and puts the switch back.
///
/// 64-bit ARM since Armv8.4 guarantees that the time of the instructions used here does not depend
/// on data only while the switch is on (DIT). This library switches it on by itself for batches and
/// for messages and data of at least 4 KiB, which includes files with chunks of that size. Short
/// calls do not: switching would take a good part of their time. If your keys or messages must be
/// protected on CPUs where the switch matters, run many short calls within this function.
///
/// On other CPUs there is nothing to switch: [SECURITY.md] says what holds there, and what Intel's
/// DOITM needs. Without feature `std`, the switch is used only if the program is compiled for CPUs
/// that have it (target feature `dit`).
///
/// ```
/// use palladion::{Aegis256X2, Key256, Nonce256, with_data_independent_timing};
///
/// let cipher = Aegis256X2::with_key(&Key256::from_bytes([1; 32]));
/// let sealed = with_data_independent_timing(|| {
///     cipher.seal(&Nonce256::from_bytes([2; 32]), b"header", b"short")
/// })?;
/// assert_eq!(sealed.len(), 5 + 32);
/// # Ok::<(), palladion::Error>(())
/// ```
///
/// [SECURITY.md]: https://github.com/palladion/palladion/blob/main/SECURITY.md
pub fn with_data_independent_timing<T>(work: impl FnOnce() -> T) -> T {
    let _on = DataIndependentTiming::switch_on();
    work()
}

/// Keeps the switch on until it is dropped. Stays on its thread.
pub(crate) struct DataIndependentTiming {
    must_switch_off: bool,
    thread: PhantomData<*const ()>,
}

impl DataIndependentTiming {
    #[inline(always)]
    pub(crate) fn switch_on() -> Self {
        let must_switch_off = dit::exists() && !dit::is_on();
        if must_switch_off {
            dit::set(true);
        }
        Self { must_switch_off, thread: PhantomData }
    }

    /// Switches it on for this many bytes, if that pays.
    #[inline(always)]
    pub(crate) fn for_bytes(len: usize) -> Option<Self> {
        (len >= LONG).then(Self::switch_on)
    }
}

impl Drop for DataIndependentTiming {
    #[inline(always)]
    fn drop(&mut self) {
        if self.must_switch_off {
            dit::set(false);
        }
    }
}

#[cfg(not(target_arch = "aarch64"))]
mod dit {
    #[inline(always)]
    pub(super) fn exists() -> bool {
        false
    }
    #[inline(always)]
    pub(super) fn is_on() -> bool {
        false
    }
    #[inline(always)]
    pub(super) fn set(_: bool) {}
}

#[cfg(target_arch = "aarch64")]
mod dit {
    use core::arch::asm;

    const BIT: u64 = 1 << 24;

    pub(super) fn exists() -> bool {
        #[cfg(feature = "std")]
        return std::arch::is_aarch64_feature_detected!("dit");
        #[cfg(not(feature = "std"))]
        return cfg!(target_feature = "dit");
    }

    /// Returns whether it is on. Only if it exists.
    pub(super) fn is_on() -> bool {
        let state: u64;
        // SAFETY: the caller knows that the CPU has DIT, so that this reads it. It has this number
        // because older assemblers do not know its name.
        unsafe { asm!("mrs {}, S3_3_C4_C2_5", out(reg) state, options(nostack)) };
        state & BIT != 0
    }

    /// Switches it. Only if it exists.
    pub(super) fn set(on: bool) {
        let state = if on { BIT } else { 0 };
        // SAFETY: the caller knows that the CPU has DIT. It changes how long instructions take, and
        // nothing else. Accesses to memory are not moved across it.
        unsafe { asm!("msr S3_3_C4_C2_5, {}", in(reg) state, options(nostack, preserves_flags)) };
    }
}

#[cfg(all(test, target_arch = "aarch64", feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn the_switch_is_put_back() {
        // QEMU 7.2 has it and does not say so: compile for it, with `-C target-feature=+dit`.
        if !dit::exists() {
            return;
        }
        assert!(!dit::is_on());
        let inside = with_data_independent_timing(|| {
            let inner = with_data_independent_timing(dit::is_on);
            (inner, dit::is_on())
        });
        assert_eq!((inside, dit::is_on()), ((true, true), false));
        let panicked = std::panic::catch_unwind(|| with_data_independent_timing(|| panic!()));
        assert!(panicked.is_err() && !dit::is_on());
        assert!(DataIndependentTiming::for_bytes(LONG - 1).is_none());
        let long = DataIndependentTiming::for_bytes(LONG);
        assert!(dit::is_on());
        drop(long);
        assert!(!dit::is_on());
    }
}
