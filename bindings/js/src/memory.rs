//! The interface between JavaScript and Rust: the scratch memory, handles and results.

use core::cell::UnsafeCell;
use core::fmt::{self, Write};
use std::alloc::{Layout, alloc, dealloc};

use zeroize::Zeroize;

use crate::failure::Failure;

/// The bytes of associated data and message that fit in one call. Longer messages are processed in
/// pieces of this size, which stay in a fast cache.
pub const DATA_LEN: usize = 256 * 1024;

/// The result of a call that failed. The text then has a code, a message and perhaps a hint, one
/// line each, and ends with a zero.
pub const FAILED: u32 = u32::MAX;

/// The memory for arguments and results.
#[repr(C, align(16))]
#[derive(Debug)]
pub struct Scratch {
    /// A key; a call wipes it.
    pub key: [u8; 32],
    /// A nonce, or a salt.
    pub nonce: [u8; 32],
    /// A tag, written or compared by a call.
    pub tag: [u8; 32],
    /// The error of a call that failed.
    pub text: [u8; 512],
    /// Messages, in place.
    pub data: [u8; DATA_LEN],
}

struct Shared(UnsafeCell<Scratch>);

// SAFETY: only one call runs at a time, by the contract of the crate.
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
    // SAFETY: only one call runs at a time, by the contract of the crate, and each calls this once,
    // so there is no second reference.
    unsafe { &mut *SCRATCH.0.get() }
}

/// Returns an address in the scratch memory: 0 for the key, 1 nonce, 2 tag, 3 text, 4 data. Returns
/// the room for data, in bytes, for any other number.
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

/// Allocates memory for data that is too long for the scratch memory and cannot be processed in
/// pieces. Returns null if there is no memory.
#[unsafe(no_mangle)]
pub extern "C" fn pld_alloc(len: usize) -> *mut u8 {
    // SAFETY: the layout is not empty.
    layout(len).map_or(core::ptr::null_mut(), |layout| unsafe { alloc(layout) })
}

/// Wipes and frees memory from `pld_alloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pld_free(memory: *mut u8, len: usize) {
    if let Some(layout) = layout(len) {
        // SAFETY: the caller got the memory from `pld_alloc` with this length and has not freed it.
        unsafe {
            core::ptr::write_bytes(memory, 0, len);
            dealloc(memory, layout);
        }
    }
}

/// Returns the number of a call, or `FAILED` after writing the text of its error.
pub(crate) fn answer(text: &mut [u8], result: Result<u32, Failure>) -> u32 {
    result.unwrap_or_else(|failure| {
        let mut text = Text { bytes: text, len: 0 };
        // The writer drops what does not fit.
        let _ = write!(text, "{failure}");
        FAILED
    })
}

/// Writes text to bytes and ends it with a zero.
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

/// Turns an object into a handle.
pub(crate) fn into_handle<T>(value: T) -> u32 {
    // WebAssembly's addresses have 32 bits.
    Box::into_raw(Box::new(value)).addr() as u32
}

/// The object of a handle.
pub(crate) unsafe fn borrow<'a, T>(handle: *mut T) -> &'a mut T {
    // SAFETY: by the contract of the crate, the handle came from `into_handle` for this type and is
    // not freed, and only one call runs at a time.
    unsafe { &mut *handle }
}

/// Takes the object of a handle back.
pub(crate) unsafe fn take<T>(handle: *mut T) -> Box<T> {
    // SAFETY: by the contract of the crate, the handle came from `into_handle` for this type, is
    // not freed and is not used again.
    unsafe { Box::from_raw(handle) }
}

impl Scratch {
    /// Takes the key, and wipes it here.
    pub(crate) fn take_key(&mut self) -> zeroize::Zeroizing<[u8; 32]> {
        let key = zeroize::Zeroizing::new(self.key);
        self.key.zeroize();
        key
    }
}
