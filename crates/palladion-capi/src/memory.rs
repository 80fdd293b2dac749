//! Memory that C passes to the library.

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::slice;

use palladion::family::Family;
use palladion::hazmat::Session;
use palladion::{Error, MAX_LEN, Tag};
use zeroize::Zeroize;

use crate::status::with_backend;

/// The longest buffer in bytes. Rust allows `isize::MAX`, and AEGIS less than 2^61: no memory has
/// that many. A longer one is a mistake in the program, such as a -1 that means a failure.
pub(crate) const LONGEST: usize =
    if isize::MAX as u64 > MAX_LEN { MAX_LEN as usize } else { isize::MAX as usize };

/// Bytes to read. C may pass a null pointer if the length is 0. `None` if it does so otherwise, or
/// the length is over [`LONGEST`].
///
/// # Safety
/// `from` null or, unless the length is over [`LONGEST`], readable for `len` bytes while the result
/// lives.
#[inline(always)]
pub(crate) unsafe fn bytes<'a>(from: *const u8, len: usize) -> Option<&'a [u8]> {
    if len == 0 {
        return Some(&[]);
    }
    // SAFETY: the caller promises `len` readable bytes, and they are at most `isize::MAX`.
    (!from.is_null() && len <= LONGEST).then(|| unsafe { slice::from_raw_parts(from, len) })
}

/// Bytes to write, or `None` as for [`bytes`].
///
/// # Safety
/// `to` null or, unless the length is over [`LONGEST`], writable for `len` bytes, and not accessed
/// by anyone else while the result lives.
#[inline(always)]
pub(crate) unsafe fn bytes_mut<'a>(to: *mut u8, len: usize) -> Option<&'a mut [u8]> {
    if len == 0 {
        return Some(&mut []);
    }
    // SAFETY: the caller promises `len` writable bytes, and they are at most `isize::MAX`.
    (!to.is_null() && len <= LONGEST).then(|| unsafe { slice::from_raw_parts_mut(to, len) })
}

/// The error for arguments that [`bytes`] refuses.
pub(crate) const NO_MEMORY: Error = Error::TooLong { what: "buffer", max: LONGEST as u64 };

/// Ends the program, in functions that cannot report an invalid argument: it would take bytes that
/// were never written for random ones, or plaintext for a ciphertext.
#[cold]
pub(crate) fn abort(function: &str, len: usize) -> ! {
    eprintln!("palladion: {function}: there are no {len} bytes of memory at this address");
    std::process::abort();
}

/// Work that takes its input in place or from another buffer.
pub(crate) trait Work<'a> {
    fn in_place(&mut self, buf: &'a mut [u8]) -> Result<(), Error>;
    fn apart(&mut self, input: &'a [u8], output: &'a mut [u8]) -> Result<(), Error>;
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
    // The work fails before it touches any memory.
    if len > LONGEST {
        return to;
    }
    // SAFETY: the caller promises this memory.
    unsafe { core::ptr::copy(from, to, len) };
    to
}

/// Does the work from `from` to `to`. If the two overlap without being equal, moves the input
/// first. Fails and does nothing if there is no such memory.
///
/// # Safety
/// `from` and `to` null or, unless the length is over [`LONGEST`], readable and writable for `len`
/// bytes, as long as `work` says.
#[inline(always)]
pub(crate) unsafe fn inout<'a>(
    from: *const u8,
    to: *mut u8,
    len: usize,
    mut work: impl Work<'a>,
) -> Result<(), Error> {
    // SAFETY: the caller promises both buffers; references to both are made only if they do not
    // overlap.
    unsafe {
        let from = not_overlapping(from, to, len);
        if core::ptr::eq(from, to) {
            work.in_place(bytes_mut(to, len).ok_or(NO_MEMORY)?)
        } else {
            work.apart(bytes(from, len).ok_or(NO_MEMORY)?, bytes_mut(to, len).ok_or(NO_MEMORY)?)
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

    /// Begins a message. If `ad` is `None`, because there is no such memory, the state has ended.
    ///
    /// # Safety
    /// `SIZE` bytes writable.
    #[inline(always)]
    pub(crate) unsafe fn begin(at: *mut u8, key: &F::Key, nonce: &F::Nonce, ad: Option<&[u8]>) {
        const { Self::CHECK };
        if Self::FITS {
            let begin = |place: &mut _| {
                let ad = ad.ok_or(NO_MEMORY)?;
                with_backend(|| Session::begin_in(place, key, nonce, ad).map(|_| ()))
            };
            // SAFETY: the caller promises the room.
            unsafe { make::<Session<F, D>>(at, |place| begin(place).is_ok()) };
        } else {
            // SAFETY: the caller promises `SIZE` writable bytes, and `BYTES` is at most that.
            let room = unsafe { slice::from_raw_parts_mut(at, Session::<F, D>::BYTES) };
            let session = ad
                .ok_or(NO_MEMORY)
                .and_then(|ad| with_backend(|| Session::<F, D>::new(key, nonce, ad)));
            if let Ok(session) = session {
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
        let room = unsafe { slice::from_raw_parts_mut(at, Session::<F, D>::BYTES) };
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
