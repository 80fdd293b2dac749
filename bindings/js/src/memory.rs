//! What JavaScript and Rust share: the scratch memory, handles, and how a call ends.

use core::cell::UnsafeCell;
use core::fmt::{self, Write};
use std::alloc::{Layout, alloc, dealloc};

use zeroize::Zeroize;

use crate::failure::Failure;

/// How many bytes of associated data and message a call takes. Longer messages go through here
/// piece by piece: that much stays in a cache close to the CPU.
pub const DATA_LEN: usize = 256 * 1024;

/// What a call gives that has failed. Then there is a text: a code, a message, and perhaps a hint,
/// one line each, and a zero.
pub const FAILED: u32 = u32::MAX;

/// The memory for arguments and results.
#[repr(C, align(16))]
#[derive(Debug)]
pub struct Scratch {
    /// A key; a call wipes it.
    pub key: [u8; 32],
    /// A nonce, or a salt.
    pub nonce: [u8; 32],
    /// A tag, to be written or to be compared with.
    pub tag: [u8; 32],
    /// What to tell about a call that failed.
    pub text: [u8; 512],
    /// Messages, in place.
    pub data: [u8; DATA_LEN],
}

struct Shared(UnsafeCell<Scratch>);

// SAFETY: the contract of the crate: one call at a time.
unsafe impl Sync for Shared {}

static SCRATCH: Shared = Shared(UnsafeCell::new(Scratch {
    key: [0; 32],
    nonce: [0; 32],
    tag: [0; 32],
    text: [0; 512],
    data: [0; DATA_LEN],
}));

/// The scratch memory of the call that is running.
pub(crate) unsafe fn scratch<'a>() -> &'a mut Scratch {
    // SAFETY: one call at a time, and each asks once.
    unsafe { &mut *SCRATCH.0.get() }
}

/// Where something lies in the scratch memory: 0 key, 1 nonce, 2 tag, 3 text, 4 data; any other
/// number: how many bytes of data there is room for.
#[unsafe(no_mangle)]
pub extern "C" fn pld_place(which: u32) -> usize {
    let place = match which {
        0 => core::mem::offset_of!(Scratch, key),
        1 => core::mem::offset_of!(Scratch, nonce),
        2 => core::mem::offset_of!(Scratch, tag),
        3 => core::mem::offset_of!(Scratch, text),
        4 => core::mem::offset_of!(Scratch, data),
        _ => return DATA_LEN,
    };
    SCRATCH.0.get().addr() + place
}

fn layout(len: usize) -> Option<Layout> {
    Layout::from_size_align(len, 16).ok().filter(|layout| layout.size() > 0)
}

/// Memory for something that is too long for the scratch memory and cannot be cut; null if there is
/// none.
#[unsafe(no_mangle)]
pub extern "C" fn pld_alloc(len: usize) -> *mut u8 {
    // SAFETY: the layout is not empty.
    layout(len).map_or(core::ptr::null_mut(), |layout| unsafe { alloc(layout) })
}

/// Wipes it and gives it back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_free(memory: *mut u8, len: usize) {
    if let Some(layout) = layout(len) {
        // SAFETY: the caller had it from `pld_alloc` with this length.
        unsafe {
            core::ptr::write_bytes(memory, 0, len);
            dealloc(memory, layout);
        }
    }
}

/// How a call ends: with the number, or with a text.
pub(crate) fn answer(text: &mut [u8], result: Result<u32, Failure>) -> u32 {
    result.unwrap_or_else(|failure| {
        let mut text = Text { bytes: text, len: 0 };
        // It writes as much as there is room for.
        let _ = write!(text, "{failure}");
        FAILED
    })
}

/// Text into bytes, with a zero behind it.
struct Text<'a> {
    bytes: &'a mut [u8],
    len: usize,
}

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.len() - 1 - self.len;
        let taken = text.len().min(room);
        self.bytes[self.len..][..taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.len += taken;
        self.bytes[self.len] = 0;
        Ok(())
    }
}

/// Gives something away as a handle.
pub(crate) fn into_handle<T>(value: T) -> u32 {
    // (An address has 32 bits where it counts.)
    Box::into_raw(Box::new(value)).addr() as u32
}

/// What belongs to a handle.
pub(crate) unsafe fn borrow<'a, T>(handle: *mut T) -> &'a mut T {
    // SAFETY: the contract of the crate: such a handle, and one call at a time.
    unsafe { &mut *handle }
}

/// Takes it back.
pub(crate) unsafe fn take<T>(handle: *mut T) -> Box<T> {
    // SAFETY: the contract of the crate: such a handle, and nobody uses it from now on.
    unsafe { Box::from_raw(handle) }
}

impl Scratch {
    /// A key, which is wiped here.
    pub(crate) fn take_key(&mut self) -> zeroize::Zeroizing<[u8; 32]> {
        let key = zeroize::Zeroizing::new(self.key);
        self.key.zeroize();
        key
    }
}
