//! Compares memory between two runs that differ only in their secrets: the stack after a call, an
//! object that was dropped, and heap memory that was freed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::collections::HashSet;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use crate::calls::Secrets;

/// Bytes of the stack on which calls are made.
const DEPTH: usize = 256 << 10;
const FILL: u8 = 0xa5;

/// Memory for a stack or a heap.
#[repr(align(4096))]
struct Pages<const LEN: usize>([u8; LEN]);

/// Does the work on a stack that is filled before. Returns what is left below the caller.
fn on_stack(work: &mut dyn FnMut()) -> Vec<u8> {
    static STACK: Mutex<Pages<DEPTH>> = Mutex::new(Pages([0; DEPTH]));
    let mut stack = STACK.lock().expect("nobody has panicked");
    stack.0.fill(FILL);
    // SAFETY: the stack is aligned to pages, and nothing else uses it until the work is done. The
    // program aborts if the work panics.
    unsafe { psm::on_stack(stack.0.as_mut_ptr(), DEPTH, || black_box(work)()) };
    stack.0.to_vec()
}

/// The system's allocator. While it is `on`, it allocates from an arena instead, so that blocks
/// have the same addresses in both runs, and copies blocks of the arena that are freed.
struct Heap {
    on: AtomicBool,
    arena: UnsafeCell<Pages<ARENA>>,
    /// Bytes of the arena in use, and blocks there that were not freed yet.
    used: AtomicUsize,
    live: AtomicUsize,
    freed: Mutex<Vec<u8>>,
}

const ARENA: usize = 4 << 20;

// SAFETY: the arena is only accessed in blocks, and each block has one owner.
unsafe impl Sync for Heap {}

#[global_allocator]
static HEAP: Heap = Heap {
    on: AtomicBool::new(false),
    arena: UnsafeCell::new(Pages([0; ARENA])),
    used: AtomicUsize::new(0),
    live: AtomicUsize::new(0),
    freed: Mutex::new(Vec::new()),
};

// SAFETY: blocks are the system's or new parts of the arena. `clear` makes sure that it has no
// blocks before they are given out again.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !self.on.load(Relaxed) {
            // SAFETY: the caller passes a valid layout.
            return unsafe { System.alloc(layout) };
        }
        let at = self.used.fetch_add(layout.size().next_multiple_of(64), Relaxed);
        if at + layout.size() > ARENA || layout.align() > 64 {
            return ptr::null_mut();
        }
        self.live.fetch_add(1, Relaxed);
        // SAFETY: the block is inside the arena, and no other block is there.
        unsafe {
            let block = self.arena.get().cast::<u8>().add(at);
            block.write_bytes(FILL, layout.size());
            block
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if block.addr().wrapping_sub(self.arena.get().addr()) >= ARENA {
            // SAFETY: the block is not in the arena, so the system has allocated it.
            return unsafe { System.dealloc(block, layout) };
        }
        self.live.fetch_sub(1, Relaxed);
        if self.on.load(Relaxed) {
            let mut freed = self.freed.lock().expect("nobody has panicked");
            assert!(freed.len() + layout.size() <= freed.capacity(), "this must not allocate");
            // SAFETY: the block has as many bytes, all written by `alloc`.
            freed.extend_from_slice(unsafe { std::slice::from_raw_parts(block, layout.size()) });
        }
    }
}

impl Heap {
    /// Makes the arena empty, for a new run.
    fn clear(&self) {
        assert_eq!(self.live.load(Relaxed), 0, "a run has freed all its blocks");
        self.used.store(0, Relaxed);
        self.freed.lock().expect("nobody has panicked").reserve(1 << 20);
    }

    /// Does the work with blocks from the arena.
    fn with_arena<R>(&self, work: impl FnOnce() -> R) -> R {
        self.on.store(true, Relaxed);
        let result = work();
        self.on.store(false, Relaxed);
        result
    }

    /// Returns the contents of the blocks that were freed since the last call.
    fn freed(&self) -> Vec<u8> {
        let mut freed = self.freed.lock().expect("nobody has panicked");
        let bytes = freed.clone();
        freed.clear();
        bytes
    }
}

/// Not inlined: otherwise the caller has parts of the key in registers, as constants, and whatever
/// it calls saves them on the stack.
#[inline(never)]
fn secrets(run: usize, len: usize) -> Secrets {
    let byte =
        |i: usize| (i as u8).wrapping_mul(37).wrapping_add(11) ^ if run == 0 { 0x5a } else { 0xc3 };
    Secrets {
        key: std::array::from_fn(byte),
        nonce: [0; 32],
        ad: vec![7; 21],
        text: (64..64 + len).map(byte).collect(),
    }
}

/// Which of the two runs. The first is made again, because some things happen only once, like
/// choosing a backend.
const RUNS: [usize; 3] = [0, 0, 1];

/// What a call leaves on the stack and in heap memory that it has freed, and what of that everybody
/// may see.
#[derive(Default)]
pub struct Left {
    pub stack: Vec<u8>,
    pub freed: Vec<u8>,
    pub public: Vec<u8>,
}

/// Makes the call twice, with arguments that `make` prepares.
pub fn after<T>(
    len: usize,
    make: impl Fn(&Secrets) -> T,
    call: impl Fn(&mut T),
    public: impl Fn(&T) -> Vec<u8>,
) -> [Left; 2] {
    let mut place = Box::new(MaybeUninit::<T>::uninit());
    let mut left = [Left::default(), Left::default()];
    for run in RUNS {
        HEAP.clear();
        let thing = HEAP.with_arena(|| place.write(make(&secrets(run, len))));
        HEAP.freed();
        left[run].stack = on_stack(&mut || HEAP.with_arena(|| call(thing)));
        left[run].freed = HEAP.freed();
        left[run].public = public(thing);
        // SAFETY: `place.write` has initialised it, and nothing has dropped it since.
        unsafe { place.assume_init_drop() };
    }
    left
}

/// What the object that is being made has published.
static PUBLISHED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Makes each call twice and compares.
#[derive(Default)]
pub struct Check {
    pub count: usize,
    pub found: Vec<String>,
}

impl Check {
    /// An empty message, a part of a step, several steps, and more than two chunks of 8 KiB.
    pub fn lengths(_rate: usize) -> Vec<usize> {
        vec![0, 37, 300, 20_000]
    }

    /// Takes what everybody may see of an object that is being made.
    pub fn publish(bytes: &[u8]) {
        let mut published = PUBLISHED.lock().expect("nobody has panicked");
        assert!(published.len() + bytes.len() <= published.capacity(), "this must not allocate");
        published.extend_from_slice(bytes);
    }

    /// Compares what two runs have left, except for what is public in both at the same place.
    pub fn compare(&mut self, what: &str, place: &str, [a, b]: [&[u8]; 2], public: [&[u8]; 2]) {
        self.count += 1;
        assert_eq!(a.len(), b.len(), "{what}: both runs leave as many bytes");
        if a == b {
            return;
        }
        let four = |a: &[u8], b: &[u8]| -> [u8; 8] {
            std::array::from_fn(|i| if i < 4 { a[i] } else { b[i - 4] })
        };
        let known: HashSet<[u8; 8]> =
            public[0].windows(4).zip(public[1].windows(4)).map(|(a, b)| four(a, b)).collect();
        let mut is_public = vec![false; a.len()];
        for (at, (a, b)) in a.windows(4).zip(b.windows(4)).enumerate() {
            if a != b && known.contains(&four(a, b)) {
                is_public[at..at + 4].fill(true);
            }
        }
        // The stack also has this program's own registers: pointers, of 33 to 48 bits, and small
        // numbers, on s390x negative ones too.
        let word = |bytes: &[u8]| u64::from_ne_bytes(std::array::from_fn(|i| bytes[i]));
        for (at, (a, b)) in a.chunks_exact(8).zip(b.chunks_exact(8)).enumerate() {
            let is_small =
                |word: u64| word >> 16 == 0 || cfg!(target_arch = "s390x") && !word >> 16 == 0;
            let is_own = |word: u64| is_small(word) || word >> 32 != 0 && word >> 48 == 0;
            if is_own(word(a)) && is_own(word(b)) {
                is_public[8 * at..8 * at + 8].fill(true);
            }
        }
        let left: Vec<usize> = (0..a.len()).filter(|&i| a[i] != b[i] && !is_public[i]).collect();
        if let (Some(first), Some(last)) = (left.first(), left.last()) {
            let (near, far) = (a.len() - last, a.len() - first);
            let from = a.len().saturating_sub(far.next_multiple_of(8));
            let to = (from + 64).min(a.len());
            self.found.push(format!(
                "{what}: {} secret bytes {place}, {near} to {far} from its end\n\
                 {:02x?}\n{:02x?}",
                left.len(),
                &a[from..to],
                &b[from..to],
            ));
        }
    }

    /// Compares the stack after a call, and the heap memory that the call freed.
    pub fn call<T>(
        &mut self,
        what: &str,
        len: usize,
        make: impl Fn(&Secrets) -> T,
        call: impl Fn(&mut T),
        public: impl Fn(&T) -> Vec<u8>,
    ) {
        let [a, b] = after(len, make, call, public);
        self.compare(what, "on the stack", [&a.stack, &b.stack], [&a.public, &b.public]);
        self.compare(what, "in freed memory", [&a.freed, &b.freed], [&a.public, &b.public]);
    }

    /// Compares the memory of a dropped object, and the heap memory that it freed.
    pub fn object<T>(&mut self, what: &str, make: impl Fn(&Secrets) -> T) {
        let mut place = Box::new(MaybeUninit::<T>::uninit());
        let [mut left, mut freed, mut public] = [const { [Vec::new(), Vec::new()] }; 3];
        for run in RUNS {
            HEAP.clear();
            *PUBLISHED.lock().expect("nobody has panicked") = Vec::with_capacity(1 << 10);
            let secrets = HEAP.with_arena(|| secrets(run, 100));
            // An object's padding has what was on the stack.
            on_stack(&mut || HEAP.with_arena(|| _ = place.write(make(&secrets))));
            HEAP.freed();
            // SAFETY: `place.write` has initialised it, and it is dropped once.
            HEAP.with_arena(|| unsafe { place.assume_init_drop() });
            freed[run] = HEAP.freed();
            let bytes = black_box(place.as_ptr()).cast::<u8>();
            // SAFETY: the box still has `size_of::<T>()` bytes there.
            left[run] =
                (0..size_of::<T>()).map(|at| unsafe { bytes.add(at).read_volatile() }).collect();
            public[run] = std::mem::take(&mut *PUBLISHED.lock().expect("nobody has panicked"));
        }
        let [left, freed, public] = [&left, &freed, &public].map(|[a, b]| [&a[..], b]);
        self.compare(what, "in its own memory", left, public);
        self.compare(what, "in freed memory", freed, public);
    }
}
