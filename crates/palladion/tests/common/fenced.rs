//! Buffers between fences: an access outside the buffer's memory ends the process.

#![allow(unsafe_code)] // maps pages

use std::ops::Range;

/// More than the longest buffer, and a multiple of every page size.
pub const LEN: usize = 256 << 10;

/// The bytes around a buffer, where they are accessible.
const FRAME: u8 = 0xa5;
/// The number of these bytes, more than the widest register has.
const MARGIN: usize = 128;

/// The position of a buffer.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// At the start of the memory, right after a fence.
    Front,
    /// At the end of the memory, right before a fence.
    Back,
    /// At this many bytes after a multiple of 64.
    At(usize),
}

impl Place {
    fn aligned(self, to: usize) -> Self {
        match self {
            Place::At(offset) => Place::At(offset - offset % to),
            fence => fence,
        }
    }
}

/// Memory with an inaccessible fence before and after it, each as large as itself. On systems
/// without fences it has only frames.
pub struct Fenced {
    map: system::Map,
    /// The last buffer that was returned.
    buffer: Range<usize>,
}

impl Fenced {
    pub fn new() -> Self {
        let map = system::Map::new();
        assert!(map.start().addr().is_multiple_of(64));
        Fenced { map, buffer: 0..0 }
    }

    /// Returns a buffer with these bytes.
    pub fn buffer(&mut self, bytes: &[u8], place: Place) -> &mut [u8] {
        let place = self.frame(bytes.len(), place);
        let buffer = &mut self.map.bytes()[place];
        buffer.copy_from_slice(bytes);
        buffer
    }

    /// Returns a buffer with these bytes, at an offset rounded down to the alignment of a tag.
    pub fn aligned(&mut self, bytes: &[u8], place: Place) -> &mut [u8] {
        self.buffer(bytes, place.aligned(align_of::<palladion::Tag<16>>()))
    }

    /// Returns a buffer filled with one byte.
    pub fn filled(&mut self, byte: u8, len: usize, place: Place) -> &mut [u8] {
        let place = self.frame(len, place);
        let buffer = &mut self.map.bytes()[place];
        buffer.fill(byte);
        buffer
    }

    /// Places a value, at an offset rounded down to its alignment. It is never dropped.
    pub fn value<T>(&mut self, value: T, place: Place) -> &T {
        let place = place.aligned(align_of::<T>());
        assert!(
            MARGIN.is_multiple_of(align_of::<T>())
                && size_of::<T>().is_multiple_of(align_of::<T>())
        );
        let place = self.frame(size_of::<T>(), place);
        let at = self.map.bytes()[place].as_mut_ptr().cast::<T>();
        // SAFETY: the buffer has the value's size and alignment, and is borrowed with `self`.
        unsafe {
            at.write(value);
            &*at
        }
    }

    /// Returns the present contents of the last buffer.
    pub fn last(&mut self) -> &[u8] {
        &self.map.bytes()[self.buffer.clone()]
    }

    /// Panics if the bytes around the last buffer were overwritten.
    #[track_caller]
    pub fn assert_intact(&mut self) {
        let [before, after] = self.margins();
        let bytes = self.map.bytes();
        let intact = |margin: Range<usize>| bytes[margin].iter().all(|byte| *byte == FRAME);
        assert!(intact(before), "bytes before the buffer were overwritten");
        assert!(intact(after), "bytes behind the buffer were overwritten");
    }

    fn frame(&mut self, len: usize, place: Place) -> Range<usize> {
        let start = match place {
            Place::Front => 0,
            Place::Back => LEN - len,
            Place::At(offset) => MARGIN + offset,
        };
        self.buffer = start..start + len;
        for margin in self.margins() {
            self.map.bytes()[margin].fill(FRAME);
        }
        self.buffer.clone()
    }

    fn margins(&self) -> [Range<usize>; 2] {
        let Range { start, end } = self.buffer;
        [start.saturating_sub(MARGIN)..start, end..LEN.min(end + MARGIN)]
    }
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod system {
    use super::LEN;
    use std::ffi::c_void;

    const PROT_NONE: i32 = 0;
    const PROT_READ_AND_WRITE: i32 = 1 | 2;
    const MAP_PRIVATE_AND_ANONYMOUS: i32 = 0x02 | 0x20;

    // The standard library links the C library anyway.
    unsafe extern "C" {
        fn mmap(
            at: *mut c_void,
            len: usize,
            protection: i32,
            flags: i32,
            file: i32,
            offset: i64,
        ) -> *mut c_void;
        fn mprotect(at: *mut c_void, len: usize, protection: i32) -> i32;
        fn munmap(at: *mut c_void, len: usize) -> i32;
    }

    pub struct Map(*mut u8);

    impl Map {
        pub fn new() -> Self {
            // SAFETY: the mapping is new, and the part made accessible lies within it.
            unsafe {
                let map = mmap(
                    std::ptr::null_mut(),
                    3 * LEN,
                    PROT_NONE,
                    MAP_PRIVATE_AND_ANONYMOUS,
                    -1,
                    0,
                );
                assert_ne!(map.addr(), usize::MAX, "no memory");
                let map = map.cast::<u8>();
                assert_eq!(mprotect(map.add(LEN).cast(), LEN, PROT_READ_AND_WRITE), 0);
                Map(map)
            }
        }

        pub fn start(&self) -> *const u8 {
            self.0.wrapping_add(LEN)
        }

        pub fn bytes(&mut self) -> &mut [u8] {
            // SAFETY: this part is accessible, initialised (with zeros at first), and borrowed with
            // `self`.
            unsafe { std::slice::from_raw_parts_mut(self.0.add(LEN), LEN) }
        }
    }

    impl Drop for Map {
        fn drop(&mut self) {
            // SAFETY: `new` mapped this memory, and no buffer outlives `self`.
            unsafe { munmap(self.0.cast(), 3 * LEN) };
        }
    }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod system {
    use super::LEN;

    pub struct Map {
        memory: Vec<u8>,
        start: usize,
    }

    impl Map {
        pub fn new() -> Self {
            let memory = vec![0; LEN + 64];
            let start = memory.as_ptr().addr().wrapping_neg() % 64;
            Map { memory, start }
        }

        pub fn start(&self) -> *const u8 {
            self.memory[self.start..].as_ptr()
        }

        pub fn bytes(&mut self) -> &mut [u8] {
            &mut self.memory[self.start..][..LEN]
        }
    }
}
