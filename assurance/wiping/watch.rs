//! Compares memory between two runs that differ only in their secrets: the stack after a call, an
//! object that was dropped, and heap memory that was freed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashSet;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// How many bytes of the stack are compared.
const DEPTH: usize = 64 << 10;
const FILL: u8 = 0xa5;

/// Fills the stack below this frame. A macro, because a function would have a frame there itself.
macro_rules! fill_stack {
    () => {
        // SAFETY: `paint` has made the stack large enough. Nothing is below the stack pointer: the
        // compiler does not use the red zone around a block of assembly without `nostack`.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!(
                "lea rdi, [rsp - {depth}]", "mov ecx, {depth}", "mov al, 0xa5", "rep stosb",
                depth = const DEPTH, out("rdi") _, out("rcx") _, out("al") _,
            );
        }
        // SAFETY: `paint` has made the stack large enough, so `DEPTH` bytes below the stack pointer
        // are mapped and unused.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            std::arch::asm!(
                "sub {at}, sp, {depth}",
                "2: str {word}, [{at}], #8", "subs {left}, {left}, #8", "b.ne 2b",
                depth = in(reg) DEPTH, left = inout(reg) DEPTH => _,
                word = in(reg) 0xa5a5_a5a5_a5a5_a5a5_u64, at = out(reg) _,
            );
        }
        // SAFETY: `paint` has made the stack large enough, so `DEPTH` bytes below the stack pointer
        // are mapped and unused.
        #[cfg(target_arch = "riscv64")]
        unsafe {
            std::arch::asm!(
                "sub {at}, sp, {depth}",
                "2: sd {word}, 0({at})", "addi {at}, {at}, 8", "bltu {at}, sp, 2b",
                depth = in(reg) DEPTH, word = in(reg) 0xa5a5_a5a5_a5a5_a5a5_u64, at = out(reg) _,
            );
        }
        // SAFETY: `paint` has made the stack large enough, so `DEPTH` bytes below the stack pointer
        // are mapped and unused.
        #[cfg(target_arch = "powerpc64")]
        unsafe {
            std::arch::asm!(
                "sub {at}, 1, {depth}", "mtctr {words}",
                "2: std {word}, 0({at})", "addi {at}, {at}, 8", "bdnz 2b",
                depth = in(reg) DEPTH, words = in(reg) DEPTH / 8,
                word = in(reg) 0xa5a5_a5a5_a5a5_a5a5_u64, at = out(reg_nonzero) _, out("ctr") _,
            );
        }
        // SAFETY: `paint` has made the stack large enough, so `DEPTH` bytes below the stack pointer
        // are mapped and unused.
        #[cfg(target_arch = "s390x")]
        unsafe {
            std::arch::asm!(
                "lgr {at}, %r15", "sgr {at}, {depth}",
                "2: stg {word}, 0({at})", "la {at}, 8({at})", "brctg {left}, 2b",
                depth = in(reg) DEPTH, left = inout(reg) DEPTH / 8 => _,
                word = in(reg) 0xa5a5_a5a5_a5a5_a5a5_u64, at = out(reg_addr) _,
            );
        }
    };
}

/// Copies the stack below this frame.
macro_rules! copy_stack {
    ($to:expr) => {
        // SAFETY: `paint` has mapped `DEPTH` bytes below the stack pointer, and `$to` has as many.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!(
                "lea rsi, [rsp - {depth}]", "mov ecx, {depth}", "rep movsb", depth = const DEPTH,
                inout("rdi") $to.as_mut_ptr() => _, out("rsi") _, out("rcx") _,
            );
        }
        // SAFETY: `paint` has mapped `DEPTH` bytes below the stack pointer, and `$to` has as many.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            std::arch::asm!(
                "sub {from}, sp, {depth}", "2: ldr {word}, [{from}], #8", "str {word}, [{to}], #8",
                "subs {left}, {left}, #8", "b.ne 2b",
                depth = in(reg) DEPTH, left = inout(reg) DEPTH => _,
                to = inout(reg) $to.as_mut_ptr() => _, from = out(reg) _, word = out(reg) _,
            );
        }
        // SAFETY: `paint` has mapped `DEPTH` bytes below the stack pointer, and `$to` has as many.
        #[cfg(target_arch = "riscv64")]
        unsafe {
            std::arch::asm!(
                "sub {from}, sp, {depth}",
                "2: ld {word}, 0({from})", "sd {word}, 0({to})",
                "addi {from}, {from}, 8", "addi {to}, {to}, 8", "bltu {from}, sp, 2b",
                depth = in(reg) DEPTH, to = inout(reg) $to.as_mut_ptr() => _, from = out(reg) _,
                word = out(reg) _,
            );
        }
        // SAFETY: `paint` has mapped `DEPTH` bytes below the stack pointer, and `$to` has as many.
        #[cfg(target_arch = "powerpc64")]
        unsafe {
            std::arch::asm!(
                "sub {from}, 1, {depth}", "mtctr {words}",
                "2: ld {word}, 0({from})", "std {word}, 0({to})",
                "addi {from}, {from}, 8", "addi {to}, {to}, 8", "bdnz 2b",
                depth = in(reg) DEPTH, words = in(reg) DEPTH / 8,
                to = inout(reg_nonzero) $to.as_mut_ptr() => _, from = out(reg_nonzero) _,
                word = out(reg) _, out("ctr") _,
            );
        }
        // SAFETY: `paint` has mapped `DEPTH` bytes below the stack pointer, and `$to` has as many.
        #[cfg(target_arch = "s390x")]
        unsafe {
            std::arch::asm!(
                "lgr {from}, %r15", "sgr {from}, {depth}",
                "2: lg {word}, 0({from})", "stg {word}, 0({to})",
                "la {from}, 8({from})", "la {to}, 8({to})", "brctg {left}, 2b",
                depth = in(reg) DEPTH, left = inout(reg) DEPTH / 8 => _,
                to = inout(reg_addr) $to.as_mut_ptr() => _, from = out(reg_addr) _,
                word = out(reg) _,
            );
        }
    };
}

/// Maps the stack and fills it.
#[inline(never)]
fn paint() {
    let mut stack = [MaybeUninit::<u8>::uninit(); DEPTH + 4096];
    black_box(&mut stack).fill(MaybeUninit::new(FILL));
}

/// Copies what the work leaves on the stack below this frame.
#[inline(never)]
fn stack_after(work: &mut dyn FnMut(), copy: &mut [u8; DEPTH]) {
    paint();
    fill_stack!();
    black_box(work)();
    copy_stack!(copy);
}

/// The system's allocator. While it is watched, it copies memory that is freed.
struct Heap {
    watched: AtomicBool,
    freed: Mutex<Freed>,
    used: AtomicUsize,
}

struct Freed([u8; 1 << 20]);

#[global_allocator]
static HEAP: Heap = Heap {
    watched: AtomicBool::new(false),
    freed: Mutex::new(Freed([0; 1 << 20])),
    used: AtomicUsize::new(0),
};

// SAFETY: `System` allocates and frees; this only fills new memory and copies memory to be freed.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let layout = aligned(layout);
        // SAFETY: the caller passes a valid layout; `System` returns null or `layout.size()` bytes.
        unsafe {
            let memory = System.alloc(layout);
            if !memory.is_null() {
                memory.write_bytes(FILL, layout.size());
            }
            memory
        }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        let layout = aligned(layout);
        if self.watched.load(Relaxed)
            && let Ok(mut freed) = self.freed.try_lock()
        {
            // Pointers stay at multiples of 8, where `compare` knows them.
            let at = self.used.fetch_add(layout.size().next_multiple_of(8), Relaxed);
            // SAFETY: `memory` is a block of `layout.size()` bytes, all written by `alloc`.
            let bytes = unsafe { std::slice::from_raw_parts(memory, layout.size()) };
            freed.0[at..at + bytes.len()].copy_from_slice(bytes);
        }
        // SAFETY: the caller passes a block that `System` has allocated with this layout.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// The same block at a cache line, so that `palladion::Buffer` begins at the same byte of it in
/// both runs.
fn aligned(layout: Layout) -> Layout {
    layout.align_to(64).unwrap_or(layout)
}

/// Returns the contents of the memory that the work frees.
fn freed_by(work: &mut dyn FnMut()) -> Vec<u8> {
    HEAP.used.store(0, Relaxed);
    HEAP.freed.lock().expect("nobody has panicked").0.fill(0);
    HEAP.watched.store(true, Relaxed);
    work();
    HEAP.watched.store(false, Relaxed);
    let freed = HEAP.freed.lock().expect("nobody has panicked");
    freed.0[..HEAP.used.load(Relaxed)].to_vec()
}

/// The secrets of a run. Everything else is the same in both runs, at the same addresses.
pub struct Secrets {
    pub key: [u8; 32],
    pub message: Vec<u8>,
}

/// Not inlined: otherwise the caller has parts of the key in registers, as constants, and whatever
/// it calls saves them on the stack.
#[inline(never)]
fn secrets(run: u8, len: usize) -> Secrets {
    let byte =
        |i: usize| (i as u8).wrapping_mul(37).wrapping_add(11) ^ if run == 0 { 0x5a } else { 0xc3 };
    Secrets { key: std::array::from_fn(byte), message: (64..64 + len).map(byte).collect() }
}

#[derive(Default)]
pub struct Report {
    pub checks: usize,
    pub found: Vec<String>,
}

impl Report {
    /// Compares what two runs have left, except for what is public in both at the same place.
    fn compare(&mut self, what: &str, place: &str, [a, b]: [&[u8]; 2], public: [&[u8]; 2]) {
        self.checks += 1;
        assert_eq!(a.len(), b.len(), "{what}: both runs leave as many bytes");
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

    /// Compares the stack after a call, and the heap memory that the call freed. `make` prepares
    /// the arguments; `public` returns what everybody may see of them afterwards.
    pub fn call<T>(
        &mut self,
        what: &str,
        len: usize,
        make: impl Fn(&Secrets) -> T,
        call: impl Fn(&mut T),
        public: impl Fn(&T) -> Vec<u8>,
    ) {
        let mut stacks = [const { [0; DEPTH] }; 2].map(Box::new);
        let mut place = Box::new(MaybeUninit::<T>::uninit());
        let [mut freed, mut seen] = [[Vec::new(), Vec::new()], [Vec::new(), Vec::new()]];
        for run in [0, 0, 1] {
            // The first run is for what happens only once, like choosing a backend.
            let n = usize::from(run);
            let secrets = secrets(run, len);
            let thing = place.write(make(&secrets));
            freed[n] = freed_by(&mut || stack_after(&mut || call(thing), &mut stacks[n]));
            seen[n] = public(thing);
            // SAFETY: `place.write` has initialised it, and nothing has dropped it since.
            unsafe { place.assume_init_drop() };
        }
        let public = [&seen[0][..], &seen[1]];
        self.compare(what, "on the stack", [&stacks[0][..], &stacks[1][..]], public);
        self.compare(what, "in freed memory", [&freed[0], &freed[1]], public);
    }

    /// Compares the heap memory that a call frees.
    pub fn heap<T>(
        &mut self,
        what: &str,
        make: impl Fn(&Secrets) -> T,
        call: impl Fn(&mut T),
        public: impl Fn(&T) -> Vec<u8>,
    ) {
        let [first, second] = [0, 1].map(|run| {
            let mut thing = make(&secrets(run, 100));
            (freed_by(&mut || call(&mut thing)), public(&thing))
        });
        let (left, public) = ([&first.0[..], &second.0], [&first.1[..], &second.1]);
        self.compare(what, "in freed memory", left, public);
    }

    /// Compares the memory of a dropped object, and the heap memory that it freed.
    pub fn object<T>(&mut self, what: &str, make: impl Fn(&Secrets) -> T) {
        let mut place = Box::new(MaybeUninit::<T>::uninit());
        let [mut left, mut freed] = [[Vec::new(), Vec::new()], [Vec::new(), Vec::new()]];
        for run in [0, 0, 1] {
            let n = usize::from(run);
            let secrets = secrets(run, 100);
            paint(); // an object's padding has what was on the stack
            place.write(make(&secrets));
            // SAFETY: `place.write` has initialised it, and it is dropped once.
            freed[n] = freed_by(&mut || unsafe { place.assume_init_drop() });
            let bytes = black_box(place.as_ptr()).cast::<u8>();
            // SAFETY: the box still has `size_of::<T>()` bytes there.
            left[n] =
                (0..size_of::<T>()).map(|at| unsafe { bytes.add(at).read_volatile() }).collect();
        }
        self.compare(what, "in its own memory", [&left[0], &left[1]], [&[], &[]]);
        self.compare(what, "in freed memory", [&freed[0], &freed[1]], [&[], &[]]);
    }
}
