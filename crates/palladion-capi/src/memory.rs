//! Memory that C passes to the library.

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::slice;

use palladion::Tag;
use palladion::family::Family;
use palladion::hazmat::Session;
use zeroize::Zeroize;

use crate::status::with_backend;

/// Bytes to read. C may pass a null pointer if the length is 0.
///
/// # Safety
/// Readable for `len` bytes while the result lives.
#[inline(always)]
pub(crate) unsafe fn bytes<'a>(from: *const u8, len: usize) -> &'a [u8] {
    // SAFETY: the caller promises `len` readable bytes. For a length of 0 the pointer is not used.
    if len == 0 { &[] } else { unsafe { slice::from_raw_parts(from, len) } }
}

/// Bytes to write.
///
/// # Safety
/// Writable for `len` bytes, and not accessed by anyone else while the result lives.
#[inline(always)]
pub(crate) unsafe fn bytes_mut<'a>(to: *mut u8, len: usize) -> &'a mut [u8] {
    // SAFETY: the caller promises this memory.
    if len == 0 { &mut [] } else { unsafe { slice::from_raw_parts_mut(to, len) } }
}

/// Work that takes its input in place or from another buffer.
pub(crate) trait Work<'a, R> {
    fn in_place(&mut self, buf: &'a mut [u8]) -> R;
    fn apart(&mut self, input: &'a [u8], output: &'a mut [u8]) -> R;
}

/// Returns whether two buffers overlap without being the same.
#[inline(always)]
pub(crate) fn overlap(from: *const u8, to: *mut u8, len: usize) -> bool {
    from.addr().abs_diff(to.addr()) < len && !core::ptr::eq(from, to)
}

/// Returns where the input for `to` is: at `to` itself, or in memory that does not overlap with it.
/// If the two overlap without being equal, moves the input to `to` first.
///
/// # Safety
/// `from` readable and `to` writable for `len` bytes.
#[inline(always)]
pub(crate) unsafe fn not_overlapping(from: *const u8, to: *mut u8, len: usize) -> *const u8 {
    if !overlap(from, to, len) {
        return from;
    }
    // No memory is that large. The work fails before it touches any.
    if len as u64 > palladion::MAX_LEN {
        return to;
    }
    // SAFETY: the caller promises this memory.
    unsafe { core::ptr::copy(from, to, len) };
    to
}

/// Does the work from `from` to `to`. If the two overlap without being equal, moves the input
/// first.
///
/// # Safety
/// `from` readable and `to` writable for `len` bytes, as long as `work` says.
#[inline(always)]
pub(crate) unsafe fn inout<'a, R>(
    from: *const u8,
    to: *mut u8,
    len: usize,
    mut work: impl Work<'a, R>,
) -> R {
    // SAFETY: the caller promises both buffers; references to both are made only if they do not
    // overlap.
    unsafe {
        let from = not_overlapping(from, to, len);
        if core::ptr::eq(from, to) {
            work.in_place(bytes_mut(to, len))
        } else {
            work.apart(bytes(from, len), bytes_mut(to, len))
        }
    }
}

/// Works on a value in memory that C provides, at any address.
///
/// # Safety
/// `at` points to a `T` that may be changed, written by `make`, or a bytewise copy of one; `T` has
/// no pointer into itself.
#[inline(always)]
pub(crate) unsafe fn work_on<T, R>(at: *mut u8, work: impl FnOnce(&mut T) -> R) -> R {
    /// For unaligned memory. A separate function, so that the aligned case needs no stack for a
    /// copy.
    ///
    /// # Safety
    /// As for `work_on`.
    #[cold]
    #[inline(never)]
    unsafe fn with_copy<T, R>(at: *mut T, work: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the caller promises a `T`; the original is not used before it is overwritten with
        // the changed copy.
        let mut copy = unsafe { at.read_unaligned() };
        let result = work(&mut copy);
        // SAFETY: the caller promises that `at` is writable. The bytes are copied rather than
        // moved, so that `copy` can still be wiped.
        unsafe {
            at.cast::<u8>().copy_from_nonoverlapping((&raw const copy).cast(), size_of::<T>())
        };
        result
    }
    let at = at.cast::<T>();
    // SAFETY: the caller promises this memory.
    unsafe { if at.is_aligned() { work(&mut *at) } else { with_copy(at, work) } }
}

/// Makes a value in memory that C provides, at any address. `make` returns whether it wrote one. If
/// not, the memory is zeroed: a state of zeros has ended.
///
/// # Safety
/// `at` writable for the size of a `T`.
#[inline(always)]
pub(crate) unsafe fn make<T>(at: *mut u8, make: impl FnOnce(&mut MaybeUninit<T>) -> bool) {
    /// # Safety
    /// As for `make`.
    #[cold]
    #[inline(never)]
    unsafe fn make_copy<T>(
        at: *mut MaybeUninit<T>,
        make: impl FnOnce(&mut MaybeUninit<T>) -> bool,
    ) {
        let mut room = MaybeUninit::uninit();
        if make(&mut room) {
            // SAFETY: `make` wrote a value, and the caller promises room for it. The copy here is
            // wiped.
            unsafe {
                at.cast::<u8>().copy_from_nonoverlapping(room.as_ptr().cast(), size_of::<T>());
                room.assume_init_drop();
            }
        } else {
            // SAFETY: the caller promises the room. Bytes need no alignment.
            unsafe { at.cast::<u8>().write_bytes(0, size_of::<T>()) };
        }
    }
    let at = at.cast::<MaybeUninit<T>>();
    // SAFETY: the caller promises this memory.
    unsafe {
        if !at.is_aligned() {
            make_copy(at, make);
        } else if !make(&mut *at) {
            at.write_bytes(0, 1);
        }
    }
}

/// Writes a tag.
///
/// # Safety
/// `to` writable for `T` bytes.
#[inline(always)]
pub(crate) unsafe fn put_tag<const T: usize>(to: *mut u8, tag: Tag<T>) {
    // SAFETY: the caller promises this memory.
    unsafe { to.copy_from_nonoverlapping(tag.as_bytes().as_ptr(), T) }
}

/// A session in C's state: as it is or, if libaegis's state size has no room for it, as the bytes
/// that describe it.
pub(crate) struct RestingSession<F: Family, const D: usize, const SIZE: usize>(PhantomData<F>);

impl<F: Family, const D: usize, const SIZE: usize> RestingSession<F, D, SIZE> {
    const FITS: bool = size_of::<Session<F, D>>() <= SIZE;
    const CHECK: () = assert!(Self::FITS || Session::<F, D>::BYTES <= SIZE);

    /// Begins a message.
    ///
    /// # Safety
    /// `SIZE` bytes writable.
    #[inline(always)]
    pub(crate) unsafe fn begin(at: *mut u8, key: &F::Key, nonce: &F::Nonce, ad: &[u8]) {
        const { Self::CHECK };
        if Self::FITS {
            let begin = |place: &mut _| {
                with_backend(|| Session::begin_in(place, key, nonce, ad).map(|_| ()))
            };
            // SAFETY: the caller promises the room.
            unsafe { make::<Session<F, D>>(at, |place| begin(place).is_ok()) };
        } else {
            // SAFETY: the caller promises `SIZE` writable bytes, and `BYTES` is at most that.
            let room = unsafe { bytes_mut(at, Session::<F, D>::BYTES) };
            if let Ok(session) = with_backend(|| Session::<F, D>::new(key, nonce, ad)) {
                let written = session.to_bytes(room);
                debug_assert!(written.is_ok(), "the length is right");
            } else {
                room.zeroize();
            }
        }
    }

    /// # Safety
    /// Written by `begin` or copied bytewise from such memory, and not accessed by anyone else.
    #[inline(always)]
    pub(crate) unsafe fn work_on<R>(
        at: *mut u8,
        work: impl FnOnce(&mut Session<F, D>) -> R,
    ) -> Option<R> {
        if Self::FITS {
            // SAFETY: the caller promises a session that `begin` wrote.
            return Some(unsafe { work_on(at, work) });
        }
        // SAFETY: the caller promises `SIZE` bytes, and `BYTES` is at most that.
        let room = unsafe { bytes_mut(at, Session::<F, D>::BYTES) };
        let mut session = with_backend(|| Session::from_bytes(room)).ok()?;
        let result = work(&mut session);
        session.to_bytes(room).ok()?;
        Some(result)
    }
}

/// Bytes on the stack that are wiped when dropped.
pub(crate) struct Scratch(pub(crate) [u8; 4096]);

impl Drop for Scratch {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}
