//! The WebAssembly module. It imports nothing.
//!
//! # Safety
//!
//! The functions use static memory, so only one may run at a time, which WebAssembly without
//! threads guarantees. Addresses that JavaScript passes come from `pld_alloc`, with the length that
//! it allocated.

use core::cell::UnsafeCell;
use std::alloc::{Layout, alloc, dealloc};

use crate::failure::Failure;
use crate::file;
use crate::memory::{DATA_LEN, Scratch, answer};
use crate::objects::{Coder, Objects};
use crate::pieces;

struct Shared<T>(UnsafeCell<T>);

// SAFETY: only one call runs at a time.
unsafe impl<T> Sync for Shared<T> {}

// Apart from the objects, because memory that starts as zeros takes no room in the module.
static SCRATCH: Shared<Scratch> = Shared(UnsafeCell::new(Scratch {
    key: [0; 32],
    nonce: [0; 32],
    tag: [0; 32],
    text: [0; 512],
    data: [0; DATA_LEN + 32],
}));
static OBJECTS: Shared<Objects> = Shared(UnsafeCell::new(Objects::new()));

/// How much of the stack is wiped after a function for a file: more than any of them uses, which is
/// 10,048 bytes for Argon2id and at most 4,288 otherwise. `test/wiping.test.mjs` fails if another
/// compiler uses more than this.
const FILE_DEPTH: usize = 16 * 1024;

/// The same for a part of a file. They use at most 4,288 bytes, for the header without SIMD.
const PART_DEPTH: usize = 6 * 1024;

/// Runs a function of the module.
#[inline(always)]
fn enter(run: impl FnOnce(&mut Scratch, &mut Objects) -> Result<u32, Failure>) -> u32 {
    // SAFETY: only one call runs at a time, and each borrows these only here.
    let (scratch, objects) = unsafe { (&mut *SCRATCH.0.get(), &mut *OBJECTS.0.get()) };
    let result = run(scratch, objects);
    answer(&mut scratch.text, result)
}

/// Runs a function that handles keys of files, and then wipes `DEPTH` bytes of the stack. Rust puts
/// there what it moves or borrows, in memory that JavaScript can read.
fn enter_wiped<const DEPTH: usize>(
    run: impl FnOnce(&mut Scratch, &mut Objects) -> Result<u32, Failure>,
) -> u32 {
    /// Keeps what it runs out of the caller's frame, below which the wiping begins.
    #[inline(never)]
    fn apart(run: impl FnOnce() -> u32) -> u32 {
        run()
    }
    let result = apart(|| enter(run));
    zeroize::zeroize_stack::<DEPTH>();
    result
}

/// Exports functions that take numbers.
macro_rules! export {
    ($enter:tt $($name:ident($($number:ident),*) => $run:path;)*) => {$(
        #[unsafe(no_mangle)] // no other crate defines this name
        extern "C" fn $name($($number: u32),*) -> u32 {
            $enter(|scratch, objects| $run(scratch, objects, [$($number),*]))
        }
    )*};
}
crate::message_functions!(export, enter);
crate::file_functions!(export, (enter_wiped::<FILE_DEPTH>));

/// Returns the build: 0 without SIMD, 1 with `simd128`, 2 with relaxed SIMD too.
#[unsafe(no_mangle)]
extern "C" fn pld_build() -> u32 {
    if cfg!(target_feature = "relaxed-simd") {
        2
    } else {
        u32::from(cfg!(target_feature = "simd128"))
    }
}

/// Returns the version of the package, whose parts have 10 bits each.
#[unsafe(no_mangle)]
extern "C" fn pld_version() -> u32 {
    const fn part(digits: &str) -> u32 {
        match u32::from_str_radix(digits, 10) {
            Ok(part) => part,
            Err(_) => panic!(),
        }
    }
    const {
        (part(env!("CARGO_PKG_VERSION_MAJOR")) << 20)
            + (part(env!("CARGO_PKG_VERSION_MINOR")) << 10)
            + part(env!("CARGO_PKG_VERSION_PATCH"))
    }
}

/// Returns an address in the scratch memory: 0 for the key, 1 nonce, 2 tag, 3 text, 4 data. Returns
/// the room for data, in bytes, for any other number.
#[unsafe(no_mangle)]
extern "C" fn pld_place(which: u32) -> usize {
    let base = SCRATCH.0.get().addr();
    match Scratch::PLACES.get(which as usize) {
        Some(place) if which < 5 => base + place,
        _ => DATA_LEN,
    }
}

fn layout(len: usize) -> Option<Layout> {
    Layout::from_size_align(len, 16).ok().filter(|layout| layout.size() > 0)
}

/// Allocates memory for data that is too long for the scratch memory and cannot be processed in
/// pieces. Returns null if there is no memory.
#[unsafe(no_mangle)]
extern "C" fn pld_alloc(len: usize) -> *mut u8 {
    // SAFETY: the layout is not empty.
    layout(len).map_or(core::ptr::null_mut(), |layout| unsafe { alloc(layout) })
}

/// Wipes and frees memory from `pld_alloc`.
///
/// # Safety
///
/// The memory comes from `pld_alloc` with this length and has not been freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn pld_free(memory: *mut u8, len: usize) {
    if let Some(layout) = layout(len) {
        // SAFETY: the caller got the memory from `pld_alloc` with this length.
        unsafe {
            core::ptr::write_bytes(memory, 0, len);
            dealloc(memory, layout);
        }
    }
}

/// Starts a message with long associated data.
///
/// # Safety
///
/// The associated data is in memory from `pld_alloc`, which has this length.
#[unsafe(no_mangle)]
unsafe extern "C" fn pld_session_new_at(id: u32, ad: *const u8, ad_len: usize) -> u32 {
    // SAFETY: the caller passes readable memory that is not static.
    let ad = unsafe { core::slice::from_raw_parts(ad, ad_len) };
    enter(|scratch, objects| {
        pieces::begin(&mut objects.sessions, (&mut scratch.key, &scratch.nonce), id, ad)
    })
}

/// Returns the length of the place for the next bytes of a file, of which there must be some. It is
/// 0 if others must be taken first, or if it takes long to go on. Writes the address to where
/// nonces are.
#[unsafe(no_mangle)]
extern "C" fn pld_coder_room(file: u32) -> u32 {
    enter_wiped::<PART_DEPTH>(|scratch, objects| {
        let room = objects.coders.get(file)?.room()?;
        scratch.set_long(room.as_ptr().addr() as u64);
        Ok(room.len() as u32)
    })
}

/// Says that `len` bytes, at least one, were written there.
#[unsafe(no_mangle)]
extern "C" fn pld_coder_filled(file: u32, len: u32) -> u32 {
    enter_wiped::<PART_DEPTH>(|_, objects| {
        objects.coders.get(file)?.filled(len as usize);
        Ok(0)
    })
}

/// Returns the address of the bytes that are ready.
#[unsafe(no_mangle)]
extern "C" fn pld_coder_bytes(file: u32) -> u32 {
    enter_wiped::<PART_DEPTH>(|_, objects| {
        Ok(match objects.coders.get(file)? {
            Coder::Encoder(encoder) => encoder.ready()?.as_ptr().addr() as u32,
            Coder::Decoder(decoder) => decoder.text()?.as_ptr().addr() as u32,
        })
    })
}

/// Says that they were taken.
#[unsafe(no_mangle)]
extern "C" fn pld_coder_consume(file: u32) -> u32 {
    enter_wiped::<PART_DEPTH>(|_, objects| {
        match objects.coders.get(file)? {
            Coder::Encoder(encoder) => encoder.consume(usize::MAX),
            Coder::Decoder(decoder) => decoder.consume(usize::MAX),
        }
        Ok(0)
    })
}

/// Returns the address of the buffer for a chunk.
#[unsafe(no_mangle)]
extern "C" fn pld_reader_chunk(file: u32) -> u32 {
    enter(|_, objects| Ok(objects.readers.get(file)?.chunk.as_ptr().addr() as u32))
}

/// Takes the `len` bytes that the file wants.
#[unsafe(no_mangle)]
extern "C" fn pld_reader_give(file: u32, len: u32) -> u32 {
    enter_wiped::<PART_DEPTH>(|_, objects| {
        let file = objects.readers.get(file)?;
        file::give(&mut file.state, &mut file.chunk, len)
    })
}

/// Opens the `len` bytes of the chunk whose number is where nonces are. Returns the length of the
/// text that replaces them, after the frame.
#[unsafe(no_mangle)]
extern "C" fn pld_reader_open(file: u32, len: u32) -> u32 {
    enter_wiped::<PART_DEPTH>(|scratch, objects| {
        let file = objects.readers.get(file)?;
        file::open_any(&file.state, scratch.long(), &mut file.chunk, len)
    })
}
