//! The C library's files with random access, with a storage behind callbacks. Any sequence of calls
//! must have the same effect as on a vector of bytes. Callbacks fail, do half of their work, or
//! return other bytes than were written. Contexts, scratch buffers and trees end where their memory
//! ends. Some arguments are wrong. In the end the file is damaged on purpose.

#![no_main]

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr::{null, null_mut};
use std::slice;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use palladion::Algorithm;
use palladion_fuzz::{AnyBackend, Buffer, Flip, Offset, Seed, plant, planted};
use palladion_fuzz_capi as _; // its functions have C's names
use palladion_reference::hash::sha256;
use palladion_reference::raf as reference;

#[derive(Arbitrary, Debug)]
struct Input {
    backend: AnyBackend,
    algorithm: u8,
    chunk: u8,
    seed: Seed,
    at: Offset,
    tree: Option<TreeInput>,
    fault: Option<Fault>,
    /// What goes wrong in the call.
    steps: Vec<(Step, Option<Fault>)>,
    hostile: Hostile,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
struct TreeInput {
    places: u8,
    hash: u8,
}

impl TreeInput {
    fn places(self) -> u64 {
        [3, 7, 16][usize::from(self.places) % 3]
    }
    /// Half of the trees use the reference's hash function.
    fn hash_len(self) -> usize {
        if self.hash < 128 { 32 } else { 8 + usize::from(self.hash) % 57 }
    }
}

#[derive(Arbitrary, Clone, Debug)]
enum Step {
    Write {
        place: Place,
        len: u16,
    },
    Read {
        place: Place,
        len: u16,
    },
    Truncate(Place),
    Sync,
    Rebuild,
    Verify,
    Commitment {
        excess: i8,
    },
    Reopen,
    /// Keeps a copy of the storage, or replaces a chunk with the one of the copy for a while.
    /// Another copy is made before the second write or before a change that is made for it.
    Keep,
    Rollback(u8),
    Wrong(u8, bool),
    Probe,
    Derive(u8),
}

/// Offsets, mostly near the bounds of chunks.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Place {
    chunk: u8,
    within: i16,
}

impl Place {
    fn of(self, chunk_size: usize) -> usize {
        let at = i64::from(self.chunk % 6) * chunk_size as i64 + i64::from(self.within % 1100);
        at.max(0) as usize
    }
}

/// What goes wrong, in which callback, and after how many successful calls of it.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Fault {
    on: On,
    after: u8,
    how: How,
}

#[derive(Arbitrary, Clone, Copy, Debug, PartialEq)]
enum On {
    Read,
    Write,
    GetSize,
    SetSize,
    Sync,
    Random,
    Hash,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum How {
    Fails(u8),
    /// It does a part of its work and fails.
    Half(u8),
    /// It reports success, but a bit is flipped. For reads and writes.
    Lies(Flip),
}

/// What is done to the file in the end: by someone without the key or, for headers, with it.
#[derive(Arbitrary, Clone, Debug)]
enum Hostile {
    Nothing,
    Bytes(Vec<u8>),
    Flips(Vec<Flip>),
    Cut(u16),
    /// The result of `get_size`.
    Claims(u64),
    Header {
        algorithm: u8,
        chunk_size: u32,
        size: u64,
    },
    Size(i16),
}

const SIZES: [u32; 4] = [1024, 1040, 2048, 4096];
const HEADER_LEN: usize = 64;
const CTX_LEN: usize = 512;
const ERRORS: [c_int; 5] = [libc::EIO, libc::ENOSPC, libc::EINTR, libc::EBADF, libc::EACCES];

// The declarations of the header.

#[repr(C)]
struct Scratch {
    buf: *mut u8,
    len: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Io {
    user: *mut c_void,
    read_at: Option<unsafe extern "C" fn(*mut c_void, *mut u8, usize, u64) -> c_int>,
    write_at: Option<unsafe extern "C" fn(*mut c_void, *const u8, usize, u64) -> c_int>,
    get_size: Option<unsafe extern "C" fn(*mut c_void, *mut u64) -> c_int>,
    set_size: Option<unsafe extern "C" fn(*mut c_void, u64) -> c_int>,
    sync: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
}

#[repr(C)]
struct Rng {
    user: *mut c_void,
    random: Option<unsafe extern "C" fn(*mut c_void, *mut u8, usize) -> c_int>,
}

type HashLeaf = unsafe extern "C" fn(*mut c_void, *mut u8, usize, *const u8, usize, u64) -> c_int;
type HashParent =
    unsafe extern "C" fn(*mut c_void, *mut u8, usize, *const u8, *const u8, u32, u64) -> c_int;
type HashEmpty = unsafe extern "C" fn(*mut c_void, *mut u8, usize, u32, u64) -> c_int;
type HashCommitment =
    unsafe extern "C" fn(*mut c_void, *mut u8, usize, *const u8, *const u8, usize, u64) -> c_int;

#[repr(C)]
#[derive(Clone, Copy)]
struct MerkleConfig {
    hash_leaf: Option<HashLeaf>,
    hash_parent: Option<HashParent>,
    hash_empty: Option<HashEmpty>,
    hash_commitment: Option<HashCommitment>,
    user: *mut c_void,
    buf: *mut u8,
    len: usize,
    max_chunks: u64,
    hash_len: u32,
}

#[repr(C)]
struct Config {
    scratch: *const Scratch,
    merkle: *const MerkleConfig,
    chunk_size: u32,
    flags: u8,
}

#[repr(C)]
#[derive(Debug, Default, PartialEq)]
struct FileInfo {
    file_size: u64,
    chunk_size: u32,
    alg_id: u8,
}

const CREATE: u8 = 1;
const TRUNCATE: u8 = 2;

type Begin =
    unsafe extern "C" fn(*mut u8, *const Io, *const Rng, *const Config, *const u8) -> c_int;

struct Functions {
    scratch_size: unsafe extern "C" fn(u32) -> usize,
    scratch_validate: unsafe extern "C" fn(*const Scratch, u32) -> c_int,
    create: Begin,
    open: Begin,
    read: unsafe extern "C" fn(*mut u8, *mut u8, *mut usize, usize, u64) -> c_int,
    write: unsafe extern "C" fn(*mut u8, *mut usize, *const u8, usize, u64) -> c_int,
    truncate: unsafe extern "C" fn(*mut u8, u64) -> c_int,
    get_size: unsafe extern "C" fn(*const u8, *mut u64) -> c_int,
    sync: unsafe extern "C" fn(*mut u8) -> c_int,
    close: unsafe extern "C" fn(*mut u8),
    rebuild: unsafe extern "C" fn(*mut u8) -> c_int,
    verify: unsafe extern "C" fn(*mut u8, *mut u64) -> c_int,
    commitment: unsafe extern "C" fn(*const u8, *mut u8, usize) -> c_int,
}

macro_rules! functions {
    ($($prefix:literal)*) => {
        [$({
            unsafe extern "C" {
                #[link_name = concat!($prefix, "_raf_scratch_size")]
                fn scratch_size(chunk_size: u32) -> usize;
                #[link_name = concat!($prefix, "_raf_scratch_validate")]
                fn scratch_validate(scratch: *const Scratch, chunk_size: u32) -> c_int;
                #[link_name = concat!($prefix, "_raf_create")]
                fn create(
                    ctx: *mut u8, io: *const Io, rng: *const Rng, cfg: *const Config, key: *const u8
                ) -> c_int;
                #[link_name = concat!($prefix, "_raf_open")]
                fn open(
                    ctx: *mut u8, io: *const Io, rng: *const Rng, cfg: *const Config, key: *const u8
                ) -> c_int;
                #[link_name = concat!($prefix, "_raf_read")]
                fn read(
                    ctx: *mut u8, out: *mut u8, bytes_read: *mut usize, len: usize, offset: u64
                ) -> c_int;
                #[link_name = concat!($prefix, "_raf_write")]
                fn write(
                    ctx: *mut u8, written: *mut usize, input: *const u8, len: usize, offset: u64
                ) -> c_int;
                #[link_name = concat!($prefix, "_raf_truncate")]
                fn truncate(ctx: *mut u8, size: u64) -> c_int;
                #[link_name = concat!($prefix, "_raf_get_size")]
                fn get_size(ctx: *const u8, size: *mut u64) -> c_int;
                #[link_name = concat!($prefix, "_raf_sync")]
                fn sync(ctx: *mut u8) -> c_int;
                #[link_name = concat!($prefix, "_raf_close")]
                fn close(ctx: *mut u8);
                #[link_name = concat!($prefix, "_raf_merkle_rebuild")]
                fn rebuild(ctx: *mut u8) -> c_int;
                #[link_name = concat!($prefix, "_raf_merkle_verify")]
                fn verify(ctx: *mut u8, corrupted_chunk: *mut u64) -> c_int;
                #[link_name = concat!($prefix, "_raf_merkle_commitment")]
                fn commitment(ctx: *const u8, out: *mut u8, out_len: usize) -> c_int;
            }
            Functions {
                scratch_size, scratch_validate, create, open, read, write, truncate, get_size, sync,
                close, rebuild, verify, commitment,
            }
        }),*]
    };
}

/// In the order of [`Algorithm::ALL`].
static FUNCTIONS: [Functions; 6] =
    functions! { "aegis128l" "aegis128x2" "aegis128x4" "aegis256" "aegis256x2" "aegis256x4" };

unsafe extern "C" {
    fn palladion_set_backend(name: *const std::ffi::c_char) -> c_int;
    fn aegis_raf_probe(io: *const Io, info: *mut FileInfo) -> c_int;
    fn aegis_raf_merkle_buffer_size(cfg: *const MerkleConfig) -> usize;
    fn aegis_raf_derive_master_key(
        out: *mut u8,
        out_len: usize,
        key: *const u8,
        key_len: usize,
        context: *const u8,
        context_len: usize,
    ) -> c_int;
}

/// The state behind the callbacks.
#[derive(Default)]
struct World {
    bytes: Vec<u8>,
    claimed: Option<u64>,
    random: u64,
    /// What is to go wrong; what did, with its error number; the byte and the bit that are flipped
    /// in the storage, or where it was cut.
    armed: Option<Fault>,
    fired: Option<c_int>,
    lied: Option<(usize, u8)>,
    halved: Option<Range<usize>>,
    /// Calls of the callback where something is to go wrong.
    calls: usize,
}

/// What a callback does.
enum Do {
    All,
    Half,
    Nothing,
    Lie(Flip),
}

impl World {
    fn next(&mut self, on: On) -> Do {
        let Some(fault) = self.armed.filter(|fault| fault.on == on) else { return Do::All };
        self.calls += 1;
        if self.calls <= usize::from(fault.after % 5) {
            return Do::All;
        }
        let how = fault.how;
        let error = |n: u8| ERRORS[usize::from(n) % ERRORS.len()];
        let (number, what) = match how {
            How::Lies(flip) if matches!(on, On::Read | On::Write) => (libc::EBADMSG, Do::Lie(flip)),
            How::Lies(_) => return Do::All,
            How::Fails(n) => (error(n), Do::Nothing),
            How::Half(n) => (error(n), Do::Half),
        };
        self.armed = None;
        self.fired = Some(number);
        what
    }

    /// Ends a callback, successful or not.
    fn end(&self, what: &Do) -> c_int {
        if let Do::Half | Do::Nothing = what {
            errno::set_errno(errno::Errno(self.fired.expect("it has just failed")));
            return -1;
        }
        0
    }

    fn range(&self, len: usize, off: u64) -> Option<Range<usize>> {
        let start = usize::try_from(off).ok()?;
        let end = start.checked_add(len)?;
        (end <= self.bytes.len()).then_some(start..end)
    }
}

/// How much of the work a callback does.
fn half(what: &Do, len: usize) -> usize {
    match what {
        Do::Nothing => 0,
        Do::Half => len / 2,
        Do::All | Do::Lie(_) => len,
    }
}

// SAFETY: for all callbacks: `user` is a `World` that nothing else accesses during the call, and
// buffers are valid for their lengths.
unsafe extern "C" fn read_at(user: *mut c_void, buf: *mut u8, len: usize, off: u64) -> c_int {
    // SAFETY: the library passes the `World` that only this call uses, and whole buffers.
    let (world, buf) = unsafe { (&mut *user.cast::<World>(), slice::from_raw_parts_mut(buf, len)) };
    let Some(range) = world.range(len, off) else {
        errno::set_errno(errno::Errno(libc::ENODATA));
        return -1;
    };
    let what = world.next(On::Read);
    let n = half(&what, len);
    buf[..n].copy_from_slice(&world.bytes[range][..n]);
    if let Do::Lie(flip) = what {
        flip.apply(buf);
    }
    world.end(&what)
}

unsafe extern "C" fn write_at(user: *mut c_void, buf: *const u8, len: usize, off: u64) -> c_int {
    // SAFETY: the library passes the `World` that only this call uses, and whole buffers.
    let (world, buf) = unsafe { (&mut *user.cast::<World>(), slice::from_raw_parts(buf, len)) };
    let what = world.next(On::Write);
    let (n, start) = (half(&what, len), off as usize);
    assert!(start + len < 1 << 20, "written where nothing belongs");
    world.bytes.resize(world.bytes.len().max(start + n), 0);
    world.bytes[start..start + n].copy_from_slice(&buf[..n]);
    if let Do::Half = what {
        world.halved = Some(start..start + len);
    }
    if let Do::Lie(flip) = what {
        let mut other = buf.to_vec();
        if flip.apply(&mut other) {
            let at = (0..len).find(|i| other[*i] != buf[*i]).expect("a bit is another");
            world.lied = Some((start + at, other[at] ^ buf[at]));
            world.bytes[start..start + len].copy_from_slice(&other);
        }
    }
    world.end(&what)
}

unsafe extern "C" fn get_size(user: *mut c_void, size: *mut u64) -> c_int {
    // SAFETY: the library passes the `World` that only this call uses, and whole buffers.
    let (world, size) = unsafe { (&mut *user.cast::<World>(), &mut *size) };
    let what = world.next(On::GetSize);
    *size =
        if let Do::All = what { world.claimed.unwrap_or(world.bytes.len() as u64) } else { 12345 };
    world.end(&what)
}

unsafe extern "C" fn set_size(user: *mut c_void, size: u64) -> c_int {
    // SAFETY: the library passes the `World` that only this call uses, and whole buffers.
    let world = unsafe { &mut *user.cast::<World>() };
    let what = world.next(On::SetSize);
    assert!(size < 1 << 20, "larger than it has to be");
    if let Do::All | Do::Half = what {
        world.bytes.resize(size as usize, 0);
    }
    world.end(&what)
}

unsafe extern "C" fn sync(user: *mut c_void) -> c_int {
    // SAFETY: the library passes the `World` that only this call uses, and whole buffers.
    let world = unsafe { &mut *user.cast::<World>() };
    let what = world.next(On::Sync);
    world.end(&what)
}

unsafe extern "C" fn random(user: *mut c_void, out: *mut u8, len: usize) -> c_int {
    // SAFETY: the library passes the `World` that only this call uses, and whole buffers.
    let (world, out) = unsafe { (&mut *user.cast::<World>(), slice::from_raw_parts_mut(out, len)) };
    let what = world.next(On::Random);
    for byte in &mut out[..half(&what, len)] {
        world.random =
            world.random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        *byte = (world.random >> 56) as u8;
    }
    world.end(&what)
}

/// Hashes as pyaegis does if hashes have 32 bytes, otherwise with a quick function.
unsafe fn hash(user: *mut c_void, out: *mut u8, len: usize, parts: &[&[u8]]) -> c_int {
    // SAFETY: the library passes the `World` that only this call uses, and whole buffers.
    let (world, out) = unsafe { (&mut *user.cast::<World>(), slice::from_raw_parts_mut(out, len)) };
    let what = world.next(On::Hash);
    let all = parts.concat();
    if len == 32 {
        out.copy_from_slice(&sha256(&all));
    } else {
        let mut state = 0xcbf2_9ce4_8422_2325_u64;
        for byte in all {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        for byte in &mut *out {
            state = (state ^ state >> 31).wrapping_mul(0x7fb5_d329_728e_a185);
            *byte = (state >> 56) as u8;
        }
    }
    let n = half(&what, len);
    out[n..].fill(0x99);
    world.end(&what)
}

unsafe extern "C" fn hash_leaf(
    user: *mut c_void,
    out: *mut u8,
    out_len: usize,
    chunk: *const u8,
    chunk_len: usize,
    index: u64,
) -> c_int {
    // SAFETY: the library passes the `World` that only this call uses, and whole buffers.
    unsafe {
        hash(
            user,
            out,
            out_len,
            &[&[0], &index.to_le_bytes(), slice::from_raw_parts(chunk, chunk_len)],
        )
    }
}

unsafe extern "C" fn hash_parent(
    user: *mut c_void,
    out: *mut u8,
    out_len: usize,
    left: *const u8,
    right: *const u8,
    level: u32,
    index: u64,
) -> c_int {
    // SAFETY: the library passes the `World` that only this call uses, and whole buffers.
    unsafe {
        let (left, right) =
            (slice::from_raw_parts(left, out_len), slice::from_raw_parts(right, out_len));
        hash(user, out, out_len, &[&[1], &level.to_le_bytes(), &index.to_le_bytes(), left, right])
    }
}

unsafe extern "C" fn hash_empty(
    user: *mut c_void,
    out: *mut u8,
    out_len: usize,
    level: u32,
    index: u64,
) -> c_int {
    // SAFETY: the library passes the `World` that only this call uses, and whole buffers.
    unsafe { hash(user, out, out_len, &[&[2], &level.to_le_bytes(), &index.to_le_bytes()]) }
}

unsafe extern "C" fn hash_commitment(
    user: *mut c_void,
    out: *mut u8,
    out_len: usize,
    root: *const u8,
    context: *const u8,
    context_len: usize,
    size: u64,
) -> c_int {
    assert_eq!(context_len, 32);
    // SAFETY: the library passes the `World` that only this call uses, and whole buffers.
    unsafe {
        let (root, context) =
            (slice::from_raw_parts(root, out_len), slice::from_raw_parts(context, context_len));
        hash(user, out, out_len, &[&[3], root, context, &size.to_le_bytes()])
    }
}

/// Memory aligned to 64 bytes that ends where its allocation ends.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code)] [u8; 64]);

fn lines(len: usize) -> Vec<Line> {
    assert_eq!(len % 64, 0);
    vec![Line([0xcc; 64]); len / 64]
}

fn scratch(lines: &mut [Line]) -> Scratch {
    Scratch { buf: lines.as_mut_ptr().cast(), len: size_of_val(lines) }
}

/// A file and the memory that C provides for it.
struct File<'a> {
    f: &'a Functions,
    algorithm: Algorithm,
    chunk_size: usize,
    key: Buffer,
    world: *mut World,
    ctx: Buffer,
    lines: Vec<Line>,
    nodes: Buffer,
    tree: Option<TreeInput>,
    /// The contents that the file should have.
    model: Vec<u8>,
    /// Whether the tree matches the file.
    known: bool,
}

impl Drop for File<'_> {
    fn drop(&mut self) {
        // SAFETY: it was made by `Box::into_raw`, and no later call uses it.
        drop(unsafe { Box::from_raw(self.world) });
    }
}

/// What a call returned, and the error number if it failed.
type Status = Result<(), c_int>;

fn status(result: c_int) -> Status {
    match result {
        0 => Ok(()),
        -1 => Err(errno::errno().0),
        other => panic!("{other} was returned"),
    }
}

impl<'a> File<'a> {
    fn new(input: &Input, f: &'a Functions, algorithm: Algorithm) -> Self {
        let chunk_size = SIZES[usize::from(input.chunk) % 4];
        // SAFETY: it takes a number.
        let lines = lines(unsafe { (f.scratch_size)(chunk_size) });
        let tree_len = input.tree.map_or(0, |tree| {
            let config = MerkleConfig {
                max_chunks: tree.places(),
                hash_len: tree.hash_len() as u32,
                ..NO_TREE
            };
            // SAFETY: it reads the two numbers.
            unsafe { aegis_raf_merkle_buffer_size(&config) }
        });
        Self {
            f,
            algorithm,
            chunk_size: chunk_size as usize,
            key: Buffer::new(&input.seed.bytes(0, algorithm.key_len()), Offset(7)),
            world: Box::into_raw(Box::default()),
            ctx: Buffer::new(&[0xcc; CTX_LEN], input.at),
            lines,
            nodes: Buffer::new(&vec![0xcc; tree_len], input.at),
            tree: input.tree,
            model: Vec::new(),
            known: false,
        }
    }

    fn world(&mut self) -> &mut World {
        // SAFETY: it lives as long as `self`, and no call that uses it is running.
        unsafe { &mut *self.world }
    }

    fn io(&self) -> Io {
        Io {
            user: self.world.cast(),
            read_at: Some(read_at),
            write_at: Some(write_at),
            get_size: Some(get_size),
            set_size: Some(set_size),
            sync: Some(sync),
        }
    }

    fn rng(&self) -> Rng {
        Rng { user: self.world.cast(), random: Some(random) }
    }

    fn merkle(&mut self) -> Option<MerkleConfig> {
        let (user, nodes) = (self.world.cast(), self.nodes.bytes_mut());
        let (buf, len) = (nodes.as_mut_ptr(), nodes.len());
        self.tree.map(|tree| MerkleConfig {
            hash_leaf: Some(hash_leaf),
            hash_parent: Some(hash_parent),
            hash_empty: Some(hash_empty),
            hash_commitment: Some(hash_commitment),
            user,
            buf,
            len,
            max_chunks: tree.places(),
            hash_len: tree.hash_len() as u32,
        })
    }

    fn ctx(&mut self) -> *mut u8 {
        self.ctx.bytes_mut().as_mut_ptr()
    }

    fn begin(&mut self, how: Begin, flags: u8) -> Status {
        let (io, rng, merkle) = (self.io(), self.rng(), self.merkle());
        let scratch = scratch(&mut self.lines);
        let config = Config {
            scratch: &scratch,
            merkle: merkle.as_ref().map_or(null(), |merkle| merkle),
            chunk_size: self.chunk_size as u32,
            flags,
        };
        let (ctx, key) = (self.ctx(), self.key.bytes().as_ptr());
        // SAFETY: all pointers are valid for as long as the header asks.
        status(unsafe { how(ctx, &io, &rng, &config, key) })
    }

    fn open(&mut self) -> Status {
        let opened = self.begin(self.f.open, 0);
        self.known = self.model.is_empty();
        opened
    }

    fn close(&mut self) {
        let ctx = self.ctx();
        // SAFETY: all pointers are valid for as long as the header asks.
        unsafe { (self.f.close)(ctx) };
        assert!(self.ctx.bytes().iter().all(|byte| *byte == 0), "something is left in the context");
        let Scratch { buf, len } = scratch(&mut self.lines);
        // SAFETY: the memory of the lines, which the closed context no longer uses.
        let wiped = unsafe { slice::from_raw_parts(buf, len) }.iter().all(|byte| *byte == 0);
        assert!(wiped && !plant("wiped"), "something is left in the scratch buffer");
        self.lines.fill(Line([0xcc; 64]));
    }

    fn size(&mut self) -> Result<usize, c_int> {
        let (ctx, mut size) = (self.ctx(), 0);
        // SAFETY: all pointers are valid for as long as the header asks.
        status(unsafe { (self.f.get_size)(ctx, &mut size) }).map(|()| size as usize)
    }

    /// Returns the bytes read. On an error the whole buffer must be zero.
    fn read(&mut self, offset: usize, len: usize) -> Result<Vec<u8>, c_int> {
        let mut out = Buffer::new(&vec![0xee; len], Offset(0));
        let (ctx, mut n) = (self.ctx(), 77);
        let to = if len == 0 { null_mut() } else { out.bytes_mut().as_mut_ptr() };
        // SAFETY: all pointers are valid for as long as the header asks.
        let result = status(unsafe { (self.f.read)(ctx, to, &mut n, len, offset as u64) });
        if let Err(number) = result {
            assert_eq!(n, 0, "nothing was read");
            assert!(
                out.bytes().iter().all(|byte| *byte == 0),
                "unverified bytes were left, error {number}"
            );
            return Err(number);
        }
        assert!(out.bytes()[n..].iter().all(|byte| *byte == 0xee), "written behind the end");
        let mut there = out.bytes()[..n].to_vec();
        planted("bit", &mut there);
        Ok(there)
    }

    fn write(&mut self, data: &[u8], offset: usize) -> Status {
        let data = Buffer::new(data, Offset(0));
        let (ctx, mut n) = (self.ctx(), 77);
        let from = if data.bytes().is_empty() { null() } else { data.bytes().as_ptr() };
        // SAFETY: all pointers are valid for as long as the header asks.
        let result =
            status(unsafe { (self.f.write)(ctx, &mut n, from, data.bytes().len(), offset as u64) });
        assert_eq!(n, if result.is_ok() { data.bytes().len() } else { 0 });
        result
    }

    fn truncate(&mut self, size: usize) -> Status {
        let ctx = self.ctx();
        // SAFETY: all pointers are valid for as long as the header asks.
        status(unsafe { (self.f.truncate)(ctx, size as u64) })
    }

    fn sync(&mut self) -> Status {
        let ctx = self.ctx();
        // SAFETY: all pointers are valid for as long as the header asks.
        status(unsafe { (self.f.sync)(ctx) })
    }

    fn rebuild(&mut self) -> Status {
        let ctx = self.ctx();
        // SAFETY: all pointers are valid for as long as the header asks.
        status(unsafe { (self.f.rebuild)(ctx) })
    }

    /// Returns the reported chunk with the error.
    fn verify(&mut self) -> Result<(), (c_int, Option<u64>)> {
        const UNTOUCHED: u64 = 0x5555_5555;
        let (ctx, mut chunk) = (self.ctx(), UNTOUCHED);
        // SAFETY: all pointers are valid for as long as the header asks.
        let result = status(unsafe { (self.f.verify)(ctx, &mut chunk) });
        assert!(result.is_err() || chunk == UNTOUCHED);
        result.map_err(|number| (number, (chunk != UNTOUCHED).then_some(chunk)))
    }

    fn commitment(&mut self, len: usize) -> Result<Vec<u8>, c_int> {
        let mut out = Buffer::new(&vec![0xee; len], Offset(0));
        let ctx = self.ctx();
        // SAFETY: all pointers are valid for as long as the header asks.
        let result = status(unsafe { (self.f.commitment)(ctx, out.bytes_mut().as_mut_ptr(), len) });
        result.map(|()| out.bytes().to_vec())
    }

    fn chunks(&self) -> usize {
        self.model.len().div_ceil(self.chunk_size)
    }

    fn record_len(&self) -> usize {
        self.chunk_size + self.algorithm.key_len() + 16
    }

    fn header(&mut self) -> reference::Header {
        let (algorithm, chunk_size) = (self.algorithm.id(), self.chunk_size as u32);
        let file_id = self.world().bytes[24..48].try_into().expect("24 bytes");
        reference::Header { algorithm, chunk_size, size: self.model.len() as u64, file_id }
    }

    fn there(&self, offset: usize, len: usize) -> &[u8] {
        let there = self.model.get(offset..).unwrap_or(&[]);
        &there[..len.min(there.len())]
    }

    fn check_contents(&mut self) {
        assert_eq!(self.size(), Ok(self.model.len()));
        let all = self.read(0, self.model.len() + 1);
        assert!(
            all.as_ref() == Ok(&self.model),
            "not what was written: {:?}",
            all.map(|all| all.len())
        );
    }

    /// Returns what went wrong in the last call.
    fn fired(&mut self) -> Option<c_int> {
        self.world().armed = None;
        self.world().fired.take()
    }

    /// Checks a call that makes the file `new` if it succeeds.
    fn changed(&mut self, result: Status, new: Vec<u8>) {
        let fired = self.fired();
        let (lied, halved) = (self.world().lied.take(), self.world().halved.take());
        let full = self
            .tree
            .is_some_and(|tree| new.len().div_ceil(self.chunk_size) as u64 > tree.places());
        match (result, fired) {
            (Err(libc::EOVERFLOW), None) if full => {
                self.check_contents();
                return;
            }
            (Ok(()), None) => {
                assert!(!full, "more chunks than places");
                self.model = new;
                return;
            }
            (Ok(()), Some(libc::EBADMSG)) if lied.is_some() => {
                assert!(!full, "more chunks than places");
                self.model = new;
                self.lied(lied.expect("it has"));
                return;
            }
            (Err(number), Some(expected)) => assert_eq!(number, expected, "another error number"),
            other => panic!("{other:?}, with lied {lied:?}"),
        }
        if let Some((at, bit)) = lied {
            self.world().bytes[at] ^= bit;
        }
        // It can be used further, and closing it leaves it as it is.
        self.recover(new, halved);
        self.close();
        assert_eq!(self.open(), Ok(()), "opened again");
        self.known = self.model.is_empty();
        self.check_contents();
    }

    /// Checks the file after a change that failed in the middle. The size is the old or the new
    /// one, and every chunk has the old or the new contents, except one that was half written.
    fn recover(&mut self, mut new: Vec<u8>, halved: Option<Range<usize>>) {
        let mut old = std::mem::take(&mut self.model);
        let size = self.size().expect("it is open");
        assert!(size == old.len() || size == new.len(), "neither the old nor the new size");
        old.resize(old.len().max(size), 0);
        new.resize(new.len().max(size), 0);
        let mut model = Vec::new();
        for start in (0..size).step_by(self.chunk_size) {
            let range = start..size.min(start + self.chunk_size);
            match self.read(start, range.len()) {
                Ok(there) => {
                    let right = there == old[range.clone()] || there == new[range];
                    assert!(right && !plant("recovery"), "neither the old nor the new chunk");
                    model.extend(there);
                }
                Err(number) => {
                    let record = HEADER_LEN + start / self.chunk_size * self.record_len();
                    assert_eq!(number, libc::EBADMSG);
                    assert!(
                        halved.as_ref().is_some_and(|halved| halved.start == record),
                        "nobody cut it short"
                    );
                    let data = vec![0x33; range.len()];
                    assert_eq!(self.write(&data, start), Ok(()), "it is replaced as a whole");
                    model.extend(data);
                }
            }
        }
        self.model = model;
        self.known = self.model.is_empty();
        self.check_contents();
    }

    /// Checks the file after a bit of a write was flipped: only reads of that chunk fail.
    fn lied(&mut self, (at, bit): (usize, u8)) {
        if let Some(at) = at.checked_sub(HEADER_LEN) {
            let chunk = at / self.record_len();
            assert!(chunk < self.chunks(), "written behind the end");
            let start = chunk * self.chunk_size;
            assert_eq!(self.read(start, 1), Err(libc::EBADMSG));
            let before = self.read(0, start);
            assert!(before.as_deref() == Ok(&self.model[..start]), "not what was written");
        }
        self.world().bytes[at] ^= bit;
        self.check_contents();
    }

    /// Checks that the tree matches the file and the commitment matches the reference.
    fn check_tree(&mut self, tree: TreeInput) {
        assert_eq!(self.verify(), Ok(()), "the tree of this file");
        let commitment = self.commitment(tree.hash_len()).expect("there is a tree");
        if tree.hash_len() == 32 {
            let header = self.header();
            assert_eq!(
                commitment,
                reference::merkle_commitment(&header, tree.places(), &self.model)
            );
        }
    }
}

const NO_TREE: MerkleConfig = MerkleConfig {
    hash_leaf: None,
    hash_parent: None,
    hash_empty: None,
    hash_commitment: None,
    user: null_mut(),
    buf: null_mut(),
    len: 0,
    max_chunks: 0,
    hash_len: 0,
};

fn check(input: &Input) {
    input.backend.set();
    let name = palladion::backend().expect("it was set").name();
    let name = std::ffi::CString::new(name).expect("a name");
    // SAFETY: a name that ends with a zero.
    assert_eq!(unsafe { palladion_set_backend(name.as_ptr()) }, 0);
    let which = usize::from(input.algorithm) % 6;
    let mut file = File::new(input, &FUNCTIONS[which], Algorithm::ALL[which]);
    file.world().random = u64::from(input.algorithm);

    // Nothing is open yet. Creates a file, at the second attempt if necessary.
    assert_eq!(file.size(), Err(libc::EINVAL));
    assert_eq!(file.begin(file.f.create, 0), Err(libc::ENOENT));
    file.world().armed = input.fault;
    let made = file.begin(file.f.create, CREATE);
    let fired = file.fired();
    if file.world().lied.take().is_some() {
        // The header has changed.
        file.close();
        assert!(matches!(file.open(), Err(libc::EBADMSG | libc::EINVAL)), "another header");
    } else {
        assert_eq!(made.err(), fired);
    }
    if fired.is_some() {
        assert_eq!(file.size(), Err(libc::EINVAL));
        assert_eq!(file.begin(file.f.create, CREATE | TRUNCATE), Ok(()));
    }
    assert_eq!(file.begin_other(), Err(libc::EEXIST));
    file.known = true;
    let mut kept: Option<Vec<u8>> = None;
    for (i, (step, fault)) in input.steps.iter().take(24).enumerate() {
        (file.world().armed, file.world().calls) = (*fault, 0);
        file.step(input, i, step, &mut kept);
    }
    file.world().armed = None;
    file.check_contents();
    file.close();
    let bytes = file.world().bytes.clone();
    let (key, model) = (file.key.bytes().to_vec(), file.model.clone());
    let read = reference::read_file(&bytes, &key);
    assert!(read.as_ref() == Ok(&model), "the reference reads something else");
    file.hostile(&input.hostile);
}

impl File<'_> {
    /// Checks that an existing file is not overwritten and that the open file's context does not
    /// change.
    fn begin_other(&mut self) -> Status {
        let mut ctx = Buffer::new(&[0xcc; CTX_LEN], Offset(9));
        std::mem::swap(&mut self.ctx, &mut ctx);
        let result = self.begin(self.f.create, CREATE);
        std::mem::swap(&mut self.ctx, &mut ctx);
        result
    }

    fn step(&mut self, input: &Input, i: usize, step: &Step, kept: &mut Option<Vec<u8>>) {
        let chunk_size = self.chunk_size;
        match step {
            Step::Write { place, len } => {
                if kept.is_none() && !self.model.is_empty() {
                    *kept = Some(self.world().bytes.clone());
                }
                let data = input.seed.bytes(i as u64 + 1, usize::from(*len % 5000));
                let (start, end) = (place.of(chunk_size), place.of(chunk_size) + data.len());
                let mut new = self.model.clone();
                if !data.is_empty() {
                    new.resize(new.len().max(end), 0);
                    new[start..end].copy_from_slice(&data);
                }
                let result = self.write(&data, start);
                self.changed(result, new);
            }
            Step::Truncate(place) => {
                let mut new = self.model.clone();
                new.resize(place.of(chunk_size), 0);
                let result = self.truncate(new.len());
                self.changed(result, new);
            }
            Step::Read { place, len } => {
                let (offset, len) = (place.of(chunk_size), usize::from(*len % 9000));
                let result = self.read(offset, len);
                match self.fired() {
                    Some(number) => assert_eq!(result, Err(number)),
                    None => assert!(
                        result.as_deref() == Ok(self.there(offset, len)),
                        "not what was written"
                    ),
                }
            }
            Step::Sync => {
                let result = self.sync();
                assert_eq!(result.err(), self.fired());
            }
            Step::Rebuild => {
                let result = self.rebuild();
                let Some(tree) = self.tree else {
                    assert_eq!(result, Err(libc::ENOTSUP));
                    self.fired();
                    return;
                };
                if result.is_err() {
                    let new = self.model.clone();
                    return self.changed(result, new);
                }
                assert_eq!(self.fired(), None);
                self.known = true;
                self.check_tree(tree);
            }
            Step::Verify => {
                let result = self.verify();
                let fired = self.fired();
                match (self.tree, result, fired) {
                    (None, Err((libc::ENOTSUP, None)), _) => {}
                    (Some(_), Err((number, _)), Some(expected)) => assert_eq!(number, expected),
                    (Some(tree), Ok(()), None) => self.check_tree(tree),
                    (Some(_), Err((libc::EBADMSG, Some(_))), None) => {
                        assert!(!self.known, "the tree of this file")
                    }
                    other => panic!("verified: {other:?}"),
                }
            }
            Step::Commitment { excess } => {
                let len = self.tree.map_or(32, TreeInput::hash_len);
                let room = len.saturating_add_signed(isize::from(*excess));
                let result = self.commitment(room);
                let fired = self.fired();
                match (result, fired) {
                    (Err(libc::ENOTSUP), _) => assert!(self.tree.is_none()),
                    (Err(libc::EINVAL), _) => assert!(room < len),
                    (Err(number), expected) => assert_eq!(Some(number), expected),
                    (Ok(out), None) => {
                        assert!(out[len..].iter().all(|byte| *byte == 0xee), "more than a hash");
                        if self.known && len == 32 {
                            let (header, tree) = (self.header(), self.tree.expect("there is one"));
                            let expected =
                                reference::merkle_commitment(&header, tree.places(), &self.model);
                            assert_eq!(out[..len], expected);
                        }
                    }
                    (Ok(_), Some(_)) => panic!("a hash function failed"),
                }
            }
            Step::Reopen => {
                let armed = self.world().armed.take();
                self.close();
                assert_eq!(self.size(), Err(libc::EINVAL));
                self.world().armed = armed;
                let result = self.open();
                match (self.fired(), result) {
                    (None, Ok(())) => {}
                    // The error depends on which part of the header was changed.
                    (Some(libc::EBADMSG), Err(libc::EBADMSG | libc::EINVAL)) => {}
                    (Some(number), Err(actual)) => assert_eq!(actual, number),
                    other => panic!("opened: {other:?}"),
                }
                if result.is_err() {
                    assert_eq!(self.read(0, 5), Err(libc::EINVAL));
                    assert_eq!(self.open(), Ok(()));
                }
                assert_eq!(self.size(), Ok(self.model.len()));
            }
            Step::Keep => {
                let bytes = self.world().bytes.clone();
                *kept = Some(bytes);
            }
            Step::Rollback(chunk) => {
                self.world().armed = None;
                if let Some(chunk) =
                    usize::from(*chunk).checked_rem(self.chunks()).filter(|_| kept.is_none())
                {
                    *kept = Some(self.world().bytes.clone());
                    let start = chunk * chunk_size;
                    self.model[start] ^= 1;
                    let byte = [self.model[start]];
                    assert_eq!(self.write(&byte, start), Ok(()));
                }
                if let Some(older) = kept {
                    let chunks = self.chunks().min((older.len() - HEADER_LEN) / self.record_len());
                    if let Some(chunk) = usize::from(*chunk).checked_rem(chunks) {
                        self.rollback(older, chunk);
                    }
                }
            }
            Step::Wrong(what, create) => self.wrong(*what, *create),
            Step::Probe => {
                let (io, mut info) = (self.io(), FileInfo::default());
                // SAFETY: as the header asks.
                let result = status(unsafe { aegis_raf_probe(&io, &mut info) });
                let expected = FileInfo {
                    file_size: self.model.len() as u64,
                    chunk_size: chunk_size as u32,
                    alg_id: self.algorithm.id(),
                };
                match self.fired() {
                    None => assert_eq!((result, info), (Ok(()), expected)),
                    // A bit of the header that nothing verifies.
                    Some(libc::EBADMSG) => {}
                    Some(number) => assert_eq!(result, Err(number)),
                }
            }
            Step::Derive(len) => {
                let context = Buffer::new(&input.seed.bytes(99, usize::from(*len)), Offset(3));
                let mut out = Buffer::new(&vec![0xee; self.key.bytes().len()], Offset(0));
                let key = self.key.bytes();
                let max = if key.len() == 16 { 120 } else { 72 };
                let (to, from) = (out.bytes_mut().as_mut_ptr(), context.bytes().as_ptr());
                let (key_len, context_len) = (key.len(), context.bytes().len());
                // SAFETY: as the header asks.
                let result = status(unsafe {
                    aegis_raf_derive_master_key(
                        to,
                        key_len,
                        key.as_ptr(),
                        key_len,
                        from,
                        context_len,
                    )
                });
                if context_len > max {
                    assert_eq!(result, Err(libc::EINVAL));
                    assert!(
                        out.bytes().iter().all(|byte| *byte == 0xee),
                        "a call that failed wrote"
                    );
                } else {
                    assert_eq!(result, Ok(()));
                    assert_eq!(out.bytes(), reference::derive_master_key(key, context.bytes()));
                }
            }
        }
        self.world().armed = None;
        self.world().fired = None;
    }

    /// Checks that an older version of a chunk is read, since it is authentic, and that the tree
    /// detects it.
    fn rollback(&mut self, older: &[u8], chunk: usize) {
        let record = self.record_len();
        let at = HEADER_LEN + chunk * record..HEADER_LEN + (chunk + 1) * record;
        let header = self.header();
        let opened =
            reference::open_record(&header, self.key.bytes(), chunk as u64, &older[at.clone()]);
        // A half-written record is not authentic, and neither is one of a file with another id.
        let Ok(text) = opened else { return };
        let start = chunk * self.chunk_size;
        let place = start..self.model.len().min(start + self.chunk_size);
        let differs = text[..place.len()] != self.model[place.clone()];
        let now = self.world().bytes[at.clone()].to_vec();
        self.world().bytes[at.clone()].copy_from_slice(&older[at.clone()]);
        let there = self.read(start, place.len());
        assert!(
            there.as_deref() == Ok(&text[..place.len()]),
            "neither the present chunk nor the older one"
        );
        if self.tree.is_some() && self.known {
            let verdict = if plant("rollback") { Ok(()) } else { self.verify() };
            let expected = if differs { Err((libc::EBADMSG, Some(chunk as u64))) } else { Ok(()) };
            assert_eq!(verdict, expected, "an older chunk");
        }
        self.world().bytes[at].copy_from_slice(&now);
        if let Some(tree) = self.tree.filter(|_| self.known) {
            self.check_tree(tree);
        }
    }

    /// Opens another context with a wrong argument. It must stay closed, and no callback may be
    /// called with partly initialised arguments.
    fn wrong(&mut self, what: u8, create: bool) {
        let armed = self.world().armed.take();
        let mut world = Box::new(World::default());
        if !create {
            world.bytes = self.world().bytes.clone();
        }
        let user: *mut World = &mut *world;
        let (mut io, mut rng) = (self.io(), self.rng());
        (io.user, rng.user) = (user.cast(), user.cast());
        let mut room = lines(size_of_val(&self.lines[..]) + 64);
        let mut scratch = Scratch { len: size_of_val(&self.lines[..]), ..scratch(&mut room) };
        let mut nodes = vec![0xcc_u8; 40 * 64];
        let mut merkle = MerkleConfig {
            hash_leaf: Some(hash_leaf),
            hash_parent: Some(hash_parent),
            hash_empty: Some(hash_empty),
            hash_commitment: Some(hash_commitment),
            user: user.cast(),
            buf: nodes.as_mut_ptr(),
            len: nodes.len(),
            max_chunks: 16,
            hash_len: 32,
        };
        let (mut expected, mut valid) = (Err(libc::EINVAL), true);
        match what % 22 {
            0 => io.read_at = None,
            1 => io.write_at = None,
            2 => io.get_size = None,
            3 => io.set_size = None,
            4 => rng.random = None,
            5 => (scratch.buf, valid) = (null_mut(), false),
            6 => (scratch.buf, valid) = (scratch.buf.wrapping_add(32), false),
            7 => (scratch.len, valid) = (scratch.len - 1, false),
            8 => merkle.hash_leaf = None,
            9 => merkle.hash_commitment = None,
            10 => merkle.buf = null_mut(),
            11 => merkle.max_chunks = 0,
            12 => merkle.hash_len = 7,
            13 => merkle.hash_len = 65,
            14 => merkle.max_chunks = 1 << 60,
            15 => (io.sync, expected) = (None, Ok(())),
            _ => {}
        }
        let chunk_size = self.chunk_size as u32;
        let mut config = Config { scratch: &scratch, merkle: &merkle, chunk_size, flags: CREATE };
        if what % 22 == 16 {
            config.scratch = null();
        }
        let mut ctx = Buffer::new(&[0xcc; CTX_LEN], Offset(1));
        let p = ctx.bytes_mut().as_mut_ptr();
        let mut args =
            (p, &raw const io, &raw const rng, &raw const config, self.key.bytes().as_ptr());
        match what % 22 {
            17 => args.0 = null_mut(),
            18 => args.1 = null(),
            19 => args.2 = null(),
            20 => args.3 = null(),
            21 => args.4 = null(),
            _ => {}
        }
        let begin = if create { self.f.create } else { self.f.open };
        // SAFETY: as the header asks, except for arguments that are null or too short, which must
        // be refused before they are used.
        unsafe {
            assert_eq!(status((self.f.scratch_validate)(&scratch, chunk_size)).is_ok(), valid);
            assert!(status((self.f.scratch_validate)(&scratch, chunk_size + 1)).is_err());
            assert_eq!(status(begin(args.0, args.1, args.2, args.3, args.4)), expected, "{what}");
        }
        if expected.is_err() {
            let mut n = 7;
            // SAFETY: a context that is not open.
            unsafe {
                assert_eq!(
                    status((self.f.write)(p, &mut n, b"!".as_ptr(), 1, 0)),
                    Err(libc::EINVAL)
                );
                assert_eq!(status((self.f.sync)(p)), Err(libc::EINVAL));
                assert_eq!(
                    status((self.f.write)(null_mut(), &mut n, b"!".as_ptr(), 1, 0)),
                    Err(libc::EINVAL)
                );
            }
        }
        // SAFETY: open or not.
        unsafe { (self.f.close)(p) };
        self.world().armed = armed;
    }

    /// Checks that any storage gives errors or the bytes that were written.
    fn hostile(&mut self, hostile: &Hostile) {
        let mut header = self.header();
        let key = self.key.bytes().to_vec();
        let mut honest = true;
        match hostile {
            Hostile::Nothing => return,
            Hostile::Bytes(bytes) => self.world().bytes.clone_from(bytes),
            Hostile::Flips(flips) => {
                flips.iter().take(8).for_each(|flip| _ = flip.apply(&mut self.world().bytes));
            }
            Hostile::Cut(n) => {
                let len = self.world().bytes.len();
                self.world().bytes.truncate(len.saturating_sub(usize::from(*n)));
            }
            Hostile::Claims(size) => self.world().claimed = Some(*size),
            Hostile::Header { algorithm, chunk_size, size } => {
                header.algorithm = algorithm % 6 + 1;
                if (key.len() == 16) != (header.algorithm <= 3) {
                    return;
                }
                header.chunk_size = chunk_size % (1 << 20 | 1);
                header.size = *size;
                honest = false;
            }
            Hostile::Size(difference) => {
                header.size = header.size.saturating_add_signed(i64::from(*difference));
                honest = false;
            }
        }
        if !honest {
            let written = header.write(&key);
            self.world().bytes[..HEADER_LEN].copy_from_slice(&written[..HEADER_LEN]);
        }
        let (io, mut info) = (self.io(), FileInfo::default());
        // SAFETY: as the header asks.
        let _ = unsafe { aegis_raf_probe(&io, &mut info) };
        if self.open().is_err() {
            assert_eq!(self.size(), Err(libc::EINVAL));
            return;
        }
        // Someone with the key can claim any size, but the bytes must be those that were written.
        let size = self.size().expect("it is open");
        assert!(!honest || size == self.model.len());
        let step = self.chunk_size / 2 + 1;
        for at in (0..size.min(self.model.len() + 8000)).step_by(step) {
            if let Ok(mut there) = self.read(at, step) {
                let expected = self.there(at, step);
                there.truncate(expected.len());
                planted("hostile", &mut there);
                assert!(
                    there == expected[..there.len()],
                    "something came out that was never written"
                );
                assert!(!honest || there.len() == expected.len());
            }
        }
        if size < 100_000 {
            let _ = self.rebuild();
            let _ = self.verify();
            let _ = self.write(b"new", 5);
            let _ = self.truncate(size / 2);
            let _ = self.verify();
        }
        self.close();
    }
}

fuzz_target!(|input: Input| check(&input));
