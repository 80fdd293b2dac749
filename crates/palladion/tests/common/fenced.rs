//! Memory between fences: what is read or written outside of a buffer there ends the process.

#![allow(unsafe_code)] // maps pages

use std::ops::Range;

/// More than the longest buffer, and whole pages of any size.
pub const LEN: usize = 256 << 10;

/// What lies around a buffer, as far as it can be touched.
const FRAME: u8 = 0xa5;
/// The width of that, more than any register has.
const MARGIN: usize = 128;

/// Where a buffer lies.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// It begins where the memory does, right behind a fence.
    Front,
    /// It ends where the memory does, right before a fence.
    Back,
    /// It begins so many bytes after a multiple of 64.
    At(usize),
}

/// Some memory with a fence before and behind it, each as large as itself. (Only a frame where
/// there are no fences.)
pub struct Fenced {
    map: system::Map,
    /// The buffer that was given out last.
    buffer: Range<usize>,
}

impl Fenced {
    pub fn new() -> Self {
        let map = system::Map::new();
        assert!(map.start().addr().is_multiple_of(64));
        Fenced { map, buffer: 0..0 }
    }

    /// A buffer filled with these bytes.
    pub fn buffer(&mut self, bytes: &[u8], place: Place) -> &mut [u8] {
        let place = self.frame(bytes.len(), place);
        let buffer = &mut self.map.bytes()[place];
        buffer.copy_from_slice(bytes);
        buffer
    }

    /// A buffer filled with one byte.
    pub fn filled(&mut self, byte: u8, len: usize, place: Place) -> &mut [u8] {
        let place = self.frame(len, place);
        let buffer = &mut self.map.bytes()[place];
        buffer.fill(byte);
        buffer
    }

    /// A value, moved down from an offset to where it is aligned. It is never dropped.
    pub fn value<T>(&mut self, value: T, place: Place) -> &T {
        let place = match place {
            Place::At(offset) => Place::At(offset - offset % align_of::<T>()),
            fence => fence,
        };
        assert!(
            MARGIN.is_multiple_of(align_of::<T>())
                && size_of::<T>().is_multiple_of(align_of::<T>())
        );
        let place = self.frame(size_of::<T>(), place);
        let at = self.map.bytes()[place].as_mut_ptr().cast::<T>();
        // SAFETY: as many bytes as the value has, aligned as it needs, and borrowed with `self`.
        unsafe {
            at.write(value);
            &*at
        }
    }

    /// The buffer that was given out last, as it is now.
    pub fn last(&mut self) -> &[u8] {
        &self.map.bytes()[self.buffer.clone()]
    }

    /// That nothing was written beside the last buffer.
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
            // SAFETY: new memory, and a part of it made accessible.
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
            // SAFETY: the accessible part, which is initialised (with zeros at first) and borrowed
            // with `self`.
            unsafe { std::slice::from_raw_parts_mut(self.0.add(LEN), LEN) }
        }
    }

    impl Drop for Map {
        fn drop(&mut self) {
            // SAFETY: made by `new`, and no buffer outlives `self`.
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
