//! Looks at the stack after calls, at the memory of objects after they were dropped, and at memory of the heap when it is given back.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};

/// How much of the stack is looked at, in bytes.
const DEPTH: usize = 128 << 10;

/// Fills the stack below this frame, which is large enough once `paint` was called. (Nothing that is called can do it: it would have a frame
/// there, with gaps in it.)
macro_rules! fill_stack {
    () => {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: nothing is there; a block that may use the stack is not put where the compiler does so.
        unsafe {
            std::arch::asm!(
                "lea rdi, [rsp - {depth}]", "mov ecx, {depth}", "mov al, 0xa5", "rep stosb", depth = const DEPTH,
                out("rdi") _, out("rcx") _, out("al") _,
            );
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: likewise.
        unsafe {
            std::arch::asm!(
                "sub {at}, sp, {depth}", "2: str {word}, [{at}], #8", "subs {left}, {left}, #8", "b.ne 2b",
                depth = in(reg) DEPTH, left = inout(reg) DEPTH => _, word = in(reg) 0xa5a5_a5a5_a5a5_a5a5_u64, at = out(reg) _,
            );
        }
    };
}

/// Copies the stack below this frame.
macro_rules! copy_of_stack {
    ($to:expr) => {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the stack is larger, and is only read; as many bytes can be written.
        unsafe {
            std::arch::asm!(
                "lea rsi, [rsp - {depth}]", "mov ecx, {depth}", "rep movsb", depth = const DEPTH,
                inout("rdi") $to.as_mut_ptr() => _, out("rsi") _, out("rcx") _,
            );
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: likewise.
        unsafe {
            std::arch::asm!(
                "sub {from}, sp, {depth}", "2: ldr {word}, [{from}], #8", "str {word}, [{to}], #8", "subs {left}, {left}, #8",
                "b.ne 2b", depth = in(reg) DEPTH, left = inout(reg) DEPTH => _, to = inout(reg) $to.as_mut_ptr() => _,
                from = out(reg) _, word = out(reg) _,
            );
        }
    };
}

/// What this program itself had in the registers that a function has to save would be found where that saves them: here they are zero. (On
/// x86-64 there are few, and all are in use in what calls.)
fn with_registers_forgotten(mut work: &mut dyn FnMut()) {
    extern "C" fn call(work: &mut &mut dyn FnMut()) {
        work();
    }
    #[cfg(not(target_arch = "aarch64"))]
    call(&mut work);
    // SAFETY: a function is called with its argument. All registers that it may change are said to be written, or are saved; x19, which
    // may not be named, on the stack.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!(
            "str x19, [sp, -16]!",
            "mov x19, 0", "mov x20, 0", "mov x21, 0", "mov x22, 0", "mov x23, 0", "mov x24, 0", "mov x25, 0", "mov x26, 0",
            "mov x27, 0", "mov x28, 0",
            "blr x1",
            "ldr x19, [sp], 16",
            in("x0") &raw mut work, in("x1") call as extern "C" fn(&mut &mut dyn FnMut()),
            out("x20") _, out("x21") _, out("x22") _, out("x23") _, out("x24") _, out("x25") _, out("x26") _, out("x27") _,
            out("x28") _, clobber_abi("C"),
        );
    }
}

/// Makes the stack large enough, and fills most of it.
#[inline(never)]
fn paint() {
    let mut stack = [MaybeUninit::<u8>::uninit(); DEPTH + 4096];
    black_box(&mut stack).fill(MaybeUninit::new(0xa5));
    black_box(&stack);
}

/// Copies what lies below the frame of a function that calls `work`, once that has returned. What that returns is in the frame.
fn stack_after<R>(work: &mut dyn FnMut() -> R, copy: &mut [u8]) -> R {
    #[inline(never)]
    fn within<R>(work: &mut dyn FnMut() -> R, copy: &mut [u8]) -> R {
        assert_eq!(copy.len(), DEPTH);
        paint();
        fill_stack!();
        let result = black_box(work)();
        copy_of_stack!(copy);
        result
    }
    let mut result = None;
    with_registers_forgotten(&mut || result = Some(within(work, copy)));
    result.expect("it was called")
}

/// An allocator that fills what it gives, and keeps what is in memory that is given back while it is watched. It is a simple one: all it
/// gives is of one range of addresses, and it leaves nothing else on the stack, where the system's has them masked with random bits, and
/// now and then goes deeper to ask for more memory.
struct Heap {
    /// Where the range begins, once there is one.
    begin: AtomicUsize,
    /// How much of it was given.
    used: AtomicUsize,
    watched: AtomicBool,
    freed: UnsafeCell<[u8; 2 << 20]>,
    len: AtomicUsize,
    /// Of each size, two to the power of the index, a chain of pieces that nobody has.
    free: [UnsafeCell<*mut u8>; 32],
    taken: AtomicBool,
}

// SAFETY: `freed` is touched by the one thread alone that is being watched, `free` by one at a time.
unsafe impl Sync for Heap {}

#[global_allocator]
static HEAP: Heap = Heap {
    begin: AtomicUsize::new(0),
    used: AtomicUsize::new(0),
    watched: AtomicBool::new(false),
    freed: UnsafeCell::new([0; 2 << 20]),
    len: AtomicUsize::new(0),
    free: [const { UnsafeCell::new(std::ptr::null_mut()) }; 32],
    taken: AtomicBool::new(false),
};

// SAFETY: pieces are of memory that the system gave, as large as they must be, aligned to their size or to pages, and nobody has the same.
// (Memory is moved by way of `alloc` and `dealloc`, as the trait does by itself.)
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (class, size) = Self::class(layout);
        let Some(free) = self.free.get(class) else { return std::ptr::null_mut() };
        while self.taken.swap(true, Acquire) {}
        // SAFETY: nobody else is here; a piece that nobody has begins with the address of the next; what is given is as large as said.
        unsafe {
            let mut piece = *free.get();
            if piece.is_null() {
                piece = self.more(size);
            } else {
                *free.get() = piece.cast::<*mut u8>().read();
            }
            self.taken.store(false, Release);
            if !piece.is_null() {
                piece.write_bytes(0xa5, layout.size());
            }
            piece
        }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if self.watched.load(Relaxed) {
            // Words are looked at as words.
            let room = layout.size().next_multiple_of(8);
            let at = self.len.fetch_add(room, Relaxed);
            assert!(at + room <= size_of_val(&self.freed), "less than that is given back");
            // SAFETY: there is room, and all of that memory was written, if only by `alloc`.
            unsafe {
                let freed = self.freed.get().cast::<u8>().add(at);
                freed.copy_from_nonoverlapping(memory, layout.size());
                freed.add(layout.size()).write_bytes(0xa5, room - layout.size());
            }
        }
        let free = &self.free[Self::class(layout).0];
        while self.taken.swap(true, Acquire) {}
        // SAFETY: nobody else is here; there is room for an address.
        unsafe {
            memory.cast::<*mut u8>().write(*free.get());
            *free.get() = memory;
        }
        self.taken.store(false, Release);
    }
}

impl Heap {
    /// How large the range is. (What nobody has touched of it costs nothing.)
    const SIZE: usize = 1 << 30;

    /// A piece that nobody had before, or null if there is no room. To be called by one at a time.
    unsafe fn more(&self, size: usize) -> *mut u8 {
        if self.begin.load(Relaxed) == 0 {
            // SAFETY: it is not of no size.
            let begin = unsafe { System.alloc(Layout::from_size_align_unchecked(Self::SIZE, 4096)) };
            self.begin.store(begin.expose_provenance(), Relaxed);
        }
        let begin = self.begin.load(Relaxed);
        let from = self.used.load(Relaxed).next_multiple_of(size.min(4096));
        if begin == 0 || size > Self::SIZE - from {
            return std::ptr::null_mut();
        }
        self.used.store(from + size, Relaxed);
        std::ptr::with_exposed_provenance_mut(begin + from)
    }

    /// Whether that is an address of memory that it gave, or the lower half of one alone.
    fn gave(&self, address: usize) -> bool {
        let at = address.wrapping_sub(self.begin.load(Relaxed));
        (if address >> 32 == 0 { at & 0xffff_ffff } else { at }) < self.used.load(Relaxed)
    }

    /// How large a piece is, and the power of two that is.
    fn class(layout: Layout) -> (usize, usize) {
        let size = layout.size().max(layout.align()).max(16).next_power_of_two();
        (size.trailing_zeros() as usize, size)
    }

    /// What is in memory that is given back during the work.
    fn freed_by<R>(&self, work: impl FnOnce() -> R) -> (R, Vec<u8>) {
        self.len.store(0, Relaxed);
        self.watched.store(true, Relaxed);
        let result = work();
        self.watched.store(false, Relaxed);
        // SAFETY: so many bytes were written, and nobody writes now.
        let freed =
            unsafe { std::slice::from_raw_parts(self.freed.get().cast::<u8>(), self.len.load(Relaxed)) };
        (result, freed.to_vec())
    }
}

/// What is left after a run, and what of it everybody may see.
#[derive(Default)]
struct Traces {
    bytes: Vec<u8>,
    public: Vec<u8>,
}

/// Where secrets are left, counted from the upper end.
fn differences([a, b]: &[Traces; 2]) -> Vec<usize> {
    let len = a.bytes.len();
    assert_eq!((len, a.public.len()), (b.bytes.len(), b.public.len()));
    if a.bytes == b.bytes {
        return Vec::new();
    }
    let mut differs: Vec<bool> = a.bytes.iter().zip(&b.bytes).map(|(a, b)| a != b).collect();
    // What a caller had in its registers is saved there too: words that are addresses of the stack or the heap.
    // (The C library has the system's heap.)
    // SAFETY: it is not of no size, and is given back as it was taken.
    let system = unsafe {
        let piece = System.alloc(Layout::new::<[usize; 2]>());
        System.dealloc(piece, Layout::new::<[usize; 2]>());
        piece.addr()
    };
    let here = (&raw const differs).addr();
    let is_address = |word: &[u8]| {
        let word = usize::from_ne_bytes(word.try_into().expect("eight bytes"));
        HEAP.gave(word) || [here, system].iter().any(|place| place.abs_diff(word) < 64 << 20)
    };
    let words = a.bytes.chunks_exact(8).zip(b.bytes.chunks_exact(8));
    for ((a, b), differs) in words.zip(differs.chunks_exact_mut(8)) {
        if is_address(a) && is_address(b) {
            differs.fill(false);
        }
    }
    // Where in what is public these four bytes are, of both runs.
    let mut places: HashMap<[&[u8]; 2], Vec<usize>> = HashMap::new();
    for (from, four) in a.public.windows(4).zip(b.public.windows(4)).enumerate() {
        places.entry([four.0, four.1]).or_default().push(from);
    }
    let is_public = |at: usize, from: usize, n: usize| {
        let (piece, public) = (at..at + n, from..from + n);
        a.public.get(public.clone()) == a.bytes.get(piece.clone())
            && b.public.get(public) == b.bytes.get(piece)
    };
    let mut found = Vec::new();
    let mut at = 0;
    while at < len {
        if !differs[at] {
            at += 1;
            continue;
        }
        // The longest piece from here on that is public: all that differs here, or at least four bytes of it.
        let run = (at..len).take_while(|at| differs[*at]).count();
        let longest = if run < 4 {
            (0..a.public.len()).any(|from| is_public(at, from, run)).then_some(run)
        } else {
            let there = places.get(&[&a.bytes[at..at + 4], &b.bytes[at..at + 4]]);
            there.and_then(|places| {
                let len =
                    |from: &usize| (5..=run).take_while(|n| is_public(at, *from, *n)).last().unwrap_or(4);
                places.iter().map(len).max()
            })
        };
        match longest {
            Some(n) => at += n,
            None => {
                found.push(len - at);
                at += 1;
            }
        }
    }
    found.reverse();
    found
}

/// The inputs of a run: everything secret differs from one to the other, and nothing else.
pub struct Input {
    pub key: Vec<u8>,
    pub message: Vec<u8>,
    pub ad: Vec<u8>,
}

pub struct Inputs(Input);

impl Inputs {
    pub fn new(key_len: usize, len: usize) -> Self {
        Self(Input { key: vec![0; key_len], message: vec![0; len], ad: vec![7; 21] })
    }
    /// Other secrets at the same places.
    fn set(&mut self, run: usize) -> &Input {
        for bytes in [&mut self.0.key, &mut self.0.message] {
            let len = bytes.len();
            bytes.copy_from_slice(&secret(len, run));
        }
        &self.0
    }
}

/// Bytes of which each differs from one run to the other.
fn secret(len: usize, run: usize) -> Vec<u8> {
    (0..len)
        .map(|i| (i as u8).wrapping_mul(37).wrapping_add(11) ^ if run == 0 { 0x5a } else { 0xc3 })
        .collect()
}

/// Memory at the same place each time, for an object that has to borrow it. It is 4 KiB at most.
pub fn borrowed(len: usize) -> &'static mut [u8] {
    static MEMORY: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
    const ROOM: usize = 4096;
    assert!(len <= ROOM);
    if MEMORY.load(Relaxed).is_null() {
        MEMORY.store(Vec::leak(vec![0; ROOM]).as_mut_ptr(), Relaxed);
    }
    // SAFETY: so many bytes that are never freed; there is one object at a time that has them, and one thread.
    unsafe { std::slice::from_raw_parts_mut(MEMORY.load(Relaxed), len) }
}

/// What an operation works on.
pub trait Place {
    /// Makes all of it anew from these inputs.
    fn fill(&mut self, input: &Input);
    /// Copies what everybody may see.
    fn public(&self, to: &mut Vec<u8>);
}

/// Nothing.
impl Place for () {
    fn fill(&mut self, _: &Input) {}
    fn public(&self, _: &mut Vec<u8>) {}
}

/// A call, and what is done before it to what it works on.
pub struct Call<P> {
    pub what: &'static str,
    pub before: fn(&mut P),
    pub call: fn(&mut P),
}

/// The life of an object: how it is made, what is done with it, and how it may end besides being dropped.
pub struct Life<'a, P, M, T> {
    pub what: &'static str,
    /// What the library returns, as it returns it: a `Result` mostly.
    pub make: fn(&mut P) -> M,
    pub made: fn(M) -> T,
    pub work: fn(&mut T, &mut P),
    pub ends: &'a [End<P, T>],
}

/// What takes an object over, and its name.
pub type End<P, T> = (&'static str, fn(T, &mut P));

#[derive(Default)]
pub struct Report {
    pub verbose: bool,
    /// What is looked at has this in its name.
    pub only: Option<String>,
    pub checks: usize,
    pub wrong: usize,
}

impl Report {
    fn skips(&self, what: &str) -> bool {
        self.only.as_ref().is_some_and(|only| !what.contains(only))
    }

    /// `where_`: what the bytes are of. Those of the stack are told by their depth.
    fn add(&mut self, what: &str, where_: &str, traces: &[Traces; 2]) {
        let left = differences(traces);
        self.checks += 1;
        if !left.is_empty() {
            self.wrong += 1;
            let (nearest, farthest) = (left[0], left[left.len() - 1]);
            println!(
                "{what}: {} bytes that depend on secrets {where_}, {nearest} to {farthest} bytes deep",
                left.len()
            );
            if self.verbose {
                let size = traces[0].bytes.len();
                for traces in traces {
                    let bytes = &traces.bytes[size - farthest..=size - nearest];
                    println!("    {bytes:02x?}");
                    println!(
                        "    public at last {:02x?}",
                        &traces.public[traces.public.len().saturating_sub(64)..]
                    );
                }
            }
        } else if self.verbose {
            println!("{what}: nothing {where_}");
        }
    }

    /// Calls with two sets of secrets, which lie at the same places.
    pub fn call<P: Place>(&mut self, name: &str, inputs: &mut Inputs, place: &mut P, call: &Call<P>) {
        let what = format!("{name}, {}", call.what);
        if self.skips(&what) {
            return;
        }
        // (One copy for both: addresses are on the stack too.)
        let mut copy = vec![0; DEPTH];
        let mut once = |run| {
            let input = inputs.set(run);
            let mut freed = Vec::new();
            for _ in 0..2 {
                // The first time for what is done once, like the choice of a backend.
                place.fill(input);
                (call.before)(place);
                ((), freed) = HEAP.freed_by(|| stack_after(&mut || (call.call)(place), &mut copy));
            }
            let mut public = Vec::new();
            place.public(&mut public);
            let stack = Traces { bytes: copy.clone(), public: public.clone() };
            (stack, Traces { bytes: freed, public })
        };
        let [(stack, freed), (other_stack, other_freed)] = [once(0), once(1)];
        self.add(&what, "on the stack", &[stack, other_stack]);
        if !freed.bytes.is_empty() {
            self.add(&what, "in memory that was given back", &[freed, other_freed]);
        }
    }

    /// Looks at the stack when an object is made, used, dropped or otherwise ended, and at its memory after it was dropped.
    pub fn life<P: Place, M, T>(
        &mut self,
        name: &str,
        inputs: &mut Inputs,
        place: &mut P,
        life: &Life<'_, P, M, T>,
    ) {
        let what = format!("{name}, {}", life.what);
        if self.skips(&what) {
            return;
        }
        let mut memory = Box::new(MaybeUninit::<T>::uninit());
        let mut copies = [const { Vec::new() }; 3].map(|mut copy: Vec<u8>| {
            copy.resize(DEPTH, 0);
            copy
        });
        let mut once = |run| {
            place.fill(inputs.set(run));
            let [made, used, dropped] = &mut copies;
            paint(); // padding is whatever was there before
            let object = stack_after(&mut || (life.make)(place), made);
            let bytes = memory.as_mut_ptr().cast::<u8>();
            // SAFETY: as many bytes as there are; the value is made before it is dropped, once. What is looked at afterwards was
            // written before, if only as padding.
            let (left, freed) = unsafe {
                bytes.write_bytes(0xa5, size_of::<T>());
                memory.write((life.made)(object));
                stack_after(&mut || (life.work)(memory.assume_init_mut(), place), used);
                let ((), freed) = HEAP.freed_by(|| stack_after(&mut || memory.assume_init_drop(), dropped));
                black_box(bytes);
                let left: Vec<u8> = (0..size_of::<T>()).map(|at| bytes.add(at).read_volatile()).collect();
                (left, freed)
            };
            let mut public = Vec::new();
            place.public(&mut public);
            let traces = |bytes: &[u8]| Traces { bytes: bytes.to_vec(), public: public.clone() };
            [traces(made), traces(used), traces(dropped), traces(&left), traces(&freed)]
        };
        // The first time for what is done once. (No loop: its counter would be in a register, and saved on the stack.)
        let [_, first, second] = [once(0), once(0), once(1)];
        let places = [
            "made: on the stack",
            "used: on the stack",
            "dropped: on the stack",
            "dropped: in its memory",
            "dropped: in memory that was given back",
        ];
        for (where_, traces) in places.into_iter().zip(first.into_iter().zip(second)) {
            if traces.0.bytes.is_empty() {
                continue;
            }
            self.add(&what, where_, &[traces.0, traces.1]);
        }
        for (end, call) in life.ends {
            let copy = &mut copies[0];
            let mut once = |run| {
                place.fill(inputs.set(run));
                paint(); // padding is whatever was there before
                let mut object = (life.made)((life.make)(place));
                (life.work)(&mut object, place);
                let ((), freed) = HEAP.freed_by(|| stack_after_end(*call, object, place, copy));
                let mut public = Vec::new();
                place.public(&mut public);
                let stack = Traces { bytes: copy.clone(), public: public.clone() };
                (stack, Traces { bytes: freed, public })
            };
            let [_, (stack, freed), (other_stack, other_freed)] = [once(0), once(0), once(1)];
            let what = format!("{what}, {end}");
            self.add(&what, "on the stack", &[stack, other_stack]);
            if !freed.bytes.is_empty() {
                self.add(&what, "in memory that was given back", &[freed, other_freed]);
            }
        }
    }
}

/// Likewise, where the object is handed over from that frame.
fn stack_after_end<P, T>(end: fn(T, &mut P), object: T, place: &mut P, copy: &mut [u8]) {
    #[inline(never)]
    fn within<P, T>(end: fn(T, &mut P), object: T, place: &mut P, copy: &mut [u8]) {
        assert_eq!(copy.len(), DEPTH);
        paint();
        fill_stack!();
        black_box(end)(object, place);
        copy_of_stack!(copy);
    }
    let mut object = Some(object);
    with_registers_forgotten(&mut || {
        within(end, object.take().expect("it is called once"), place, copy);
    });
}
