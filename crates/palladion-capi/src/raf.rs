//! Random-access files. `palladion-raf` does the work. This module adapts C's callbacks, memory and
//! error numbers to it, and exports the functions under the names of each variant. The contracts
//! are those of `include/aegis_raf.h`.

use core::ffi::{c_int, c_void};
use core::mem::{MaybeUninit, align_of, size_of};
use core::{ptr, slice};
use std::io;

use palladion_raf::merkle::{self, CONTEXT_LEN, Hasher, Input, Tree};
use palladion_raf::{
    Algorithm, CHUNK_MAX, CHUNK_MIN, Environment, Error, Found, HEADER_LEN, Info, Options, Raf,
    Storage, is_chunk_size, record_len,
};
use zeroize::Zeroize;

use crate::memory::{LONGEST, bytes, bytes_mut};
use crate::number::{self, of_callback};
use crate::status::{FAILED, OK, ensure_backend};

/// Alignment of a scratch buffer in bytes.
const SCRATCH_ALIGN: usize = 64;
/// Bytes in a context, as in libaegis.
const CTX_LEN: usize = 512;
/// Flags for `create`.
const CREATE: u8 = 1;
const TRUNCATE: u8 = 2;

fn fail(number: c_int) -> c_int {
    number::set(number);
    FAILED
}

fn number_of(error: &Error) -> c_int {
    match error {
        Error::Io(e) | Error::NoRandomness(e) => number::of(e).unwrap_or(libc::EIO),
        Error::WrongKey | Error::DamagedChunk { .. } | Error::TreeMismatch { .. } => libc::EBADMSG,
        Error::TooLarge | Error::TreeFull { .. } => libc::EOVERFLOW,
        Error::Exists => libc::EEXIST,
        Error::NoTree => libc::ENOTSUP,
        Error::Poisoned | Error::SyncFailed | Error::Cipher(_) => libc::EIO,
        _ => libc::EINVAL,
    }
}

fn status(result: Result<(), Error>) -> c_int {
    match result {
        Ok(()) => OK,
        Err(e) => fail(number_of(&e)),
    }
}

#[repr(C)]
pub(crate) struct Scratch {
    buf: *mut u8,
    len: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Io {
    user: *mut c_void,
    read_at: Option<unsafe extern "C" fn(*mut c_void, *mut u8, usize, u64) -> c_int>,
    write_at: Option<unsafe extern "C" fn(*mut c_void, *const u8, usize, u64) -> c_int>,
    get_size: Option<unsafe extern "C" fn(*mut c_void, *mut u64) -> c_int>,
    set_size: Option<unsafe extern "C" fn(*mut c_void, u64) -> c_int>,
    sync: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Rng {
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
pub(crate) struct MerkleConfig {
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
pub(crate) struct Config {
    scratch: *const Scratch,
    merkle: *const MerkleConfig,
    chunk_size: u32,
    flags: u8,
}

#[repr(C)]
pub(crate) struct FileInfo {
    file_size: u64,
    chunk_size: u32,
    alg_id: u8,
}

/// Storage behind callbacks. All but `sync` are present, and they do what the header says.
struct Callbacks(Io);

/// The error for a required callback that is missing.
fn absent() -> io::Error {
    number::error(libc::EINVAL)
}

impl Storage for Callbacks {
    fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let read_at = self.0.read_at.ok_or_else(absent)?;
        // SAFETY: by the header's contract it writes to the buffer and to nothing else.
        of_callback(unsafe { read_at(self.0.user, buf.as_mut_ptr(), buf.len(), offset) })
    }
    fn write_at(&mut self, buf: &[u8], offset: u64) -> io::Result<()> {
        let write_at = self.0.write_at.ok_or_else(absent)?;
        // SAFETY: by the header's contract it reads the buffer and nothing else.
        of_callback(unsafe { write_at(self.0.user, buf.as_ptr(), buf.len(), offset) })
    }
    fn size(&mut self) -> io::Result<u64> {
        let get_size = self.0.get_size.ok_or_else(absent)?;
        let mut size = 0;
        // SAFETY: by the header's contract it writes to the size and to nothing else.
        of_callback(unsafe { get_size(self.0.user, &mut size) })?;
        Ok(size)
    }
    fn set_size(&mut self, size: u64) -> io::Result<()> {
        let set_size = self.0.set_size.ok_or_else(absent)?;
        // SAFETY: by the header's contract it can be called with any size.
        of_callback(unsafe { set_size(self.0.user, size) })
    }
    fn sync(&mut self) -> io::Result<()> {
        // SAFETY: by the header's contract it can be called at any time.
        self.0.sync.map_or(Ok(()), |sync| of_callback(unsafe { sync(self.0.user) }))
    }
}

/// Memory that C provides until the context is closed.
struct Memory {
    buf: *mut u8,
    len: usize,
}

impl AsRef<[u8]> for Memory {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: by the header's contract it has `len` bytes, and only the open context uses them.
        unsafe { slice::from_raw_parts(self.buf, self.len) }
    }
}

impl AsMut<[u8]> for Memory {
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: by the header's contract it has `len` bytes, and only the open context uses them.
        unsafe { slice::from_raw_parts_mut(self.buf, self.len) }
    }
}

impl Zeroize for Memory {
    fn zeroize(&mut self) {
        self.as_mut().zeroize();
    }
}

/// The program's own memory, random numbers and hash functions.
struct Program(Rng);

impl Environment for Program {
    type Buffer = Memory;
    type Hasher = MerkleConfig;
    const BULK: bool = false;

    fn random(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        let random = self.0.random.ok_or_else(absent)?;
        // SAFETY: the header's contract: it fills the buffer, and no more.
        of_callback(unsafe { random(self.0.user, bytes.as_mut_ptr(), bytes.len()) })
    }
}

/// All callbacks are present. By the header's contract they write to their output and read their
/// inputs, and access nothing else.
impl Hasher for MerkleConfig {
    fn hash(&self, out: &mut [u8], input: Input<'_>) -> io::Result<()> {
        let (user, out, out_len) = (self.user, out.as_mut_ptr(), out.len());
        // SAFETY: the callback accesses only these buffers, which have these lengths.
        of_callback(unsafe {
            match input {
                Input::Leaf { chunk, index } => {
                    let hash = self.hash_leaf.ok_or_else(absent)?;
                    hash(user, out, out_len, chunk.as_ptr(), chunk.len(), index)
                }
                Input::Parent { left, right, level, index } => {
                    let hash = self.hash_parent.ok_or_else(absent)?;
                    hash(user, out, out_len, left.as_ptr(), right.as_ptr(), level, index)
                }
                Input::Empty { level, index } => {
                    let hash = self.hash_empty.ok_or_else(absent)?;
                    hash(user, out, out_len, level, index)
                }
                Input::Commitment { root, context, size } => {
                    let hash = self.hash_commitment.ok_or_else(absent)?;
                    let (root, context) = (root.as_ptr(), context.as_ptr());
                    hash(user, out, out_len, root, context, CONTEXT_LEN, size)
                }
            }
        })
    }
}

impl MerkleConfig {
    fn is_valid(&self) -> bool {
        let Self {
            hash_leaf,
            hash_parent,
            hash_empty,
            hash_commitment,
            buf,
            len,
            max_chunks,
            hash_len,
            ..
        } = self;
        let needed = merkle::tree_len(*max_chunks, *hash_len as usize);
        let hashes = hash_leaf.is_some()
            && hash_parent.is_some()
            && hash_empty.is_some()
            && hash_commitment.is_some();
        hashes
            && !buf.is_null()
            && *max_chunks > 0
            && (merkle::HASH_MIN..=merkle::HASH_MAX).contains(&(*hash_len as usize))
            && needed.is_some_and(|needed| (needed..=LONGEST).contains(len))
    }
}

type File = Raf<Callbacks, Program>;

/// The contents of a context, at its first suitably aligned address.
struct Context {
    /// Distinguishes an open context from a closed one, which is all zeros.
    open: u64,
    file: MaybeUninit<File>,
}

const OPEN: u64 = u64::from_le_bytes(*b"RAF open");
const _: () = assert!(size_of::<Context>() + align_of::<Context>() - 1 <= CTX_LEN);

/// # Safety
/// `ctx` is writable for its length.
unsafe fn context(ctx: *mut u8) -> *mut Context {
    // SAFETY: a context has room for the alignment and the contents.
    unsafe { ctx.add(ctx.align_offset(align_of::<Context>())).cast() }
}

/// Calls a function with the file of an open context.
///
/// # Safety
/// `ctx` is null or a context, which is zeros or was written by `create` or `open`, and nothing
/// else accesses it during the call.
unsafe fn with_file(ctx: *mut u8, work: impl FnOnce(&mut File) -> Result<(), Error>) -> c_int {
    if ctx.is_null() {
        return fail(libc::EINVAL);
    }
    // SAFETY: the caller promises this memory; the file is there if the context says so.
    let file = unsafe {
        let context = &mut *context(ctx);
        (context.open == OPEN).then(|| context.file.assume_init_mut())
    };
    file.map_or_else(|| fail(libc::EINVAL), |file| status(work(file)))
}

fn scratch_len(algorithm: Algorithm, chunk_size: u32) -> usize {
    let record = record_len(algorithm, chunk_size).next_multiple_of(SCRATCH_ALIGN);
    record + (chunk_size as usize).next_multiple_of(SCRATCH_ALIGN)
}

/// Returns the scratch buffer if it is valid for the chunk size.
///
/// # Safety
/// `scratch` null or valid.
unsafe fn scratch(
    algorithm: Algorithm,
    scratch: *const Scratch,
    chunk_size: u32,
) -> Result<Memory, Error> {
    let invalid = Error::ChunkSize(chunk_size);
    if !is_chunk_size(chunk_size) || scratch.is_null() {
        return Err(invalid);
    }
    // SAFETY: the caller promises this memory.
    let Scratch { buf, len } = unsafe { scratch.read() };
    let right = !buf.is_null() && buf.addr().is_multiple_of(SCRATCH_ALIGN);
    if right && (scratch_len(algorithm, chunk_size)..=LONGEST).contains(&len) {
        Ok(Memory { buf, len })
    } else {
        Err(invalid)
    }
}

/// Puts a file into its context, which is closed, with a Merkle tree if there is a configuration
/// for one.
///
/// # Safety
/// `ctx` writable for its length, `merkle` null or valid.
unsafe fn begin(ctx: *mut u8, file: Result<File, Error>, merkle: *const MerkleConfig) -> c_int {
    let attached = file.and_then(|mut file| {
        // SAFETY: the caller promises this memory.
        if let Some(merkle) = unsafe { merkle.as_ref() } {
            let nodes = Memory { buf: merkle.buf, len: merkle.len };
            file.attach(Tree::new(*merkle, nodes, merkle.max_chunks, merkle.hash_len as usize)?)?;
        }
        Ok(file)
    });
    match attached {
        Ok(file) => {
            // SAFETY: the caller promises the room.
            unsafe { context(ctx).write(Context { open: OPEN, file: MaybeUninit::new(file) }) };
            OK
        }
        Err(e) => fail(number_of(&e)),
    }
}

/// Returns the arguments of `create` and `open`, or `None` if a required one is missing or the
/// configuration of the Merkle tree is invalid. Closes the context, so that it can be closed again
/// if the file cannot be opened.
///
/// # Safety
/// The pointers null or valid for what they point to; `key` for the algorithm's key.
unsafe fn arguments<'a>(
    algorithm: Algorithm,
    ctx: *mut u8,
    io: *const Io,
    rng: *const Rng,
    config: *const Config,
    key: *const u8,
) -> Option<(Io, Rng, &'a Config, &'a [u8])> {
    if ctx.is_null() {
        return None;
    }
    // SAFETY: the context is not null, and the caller promises its size.
    unsafe { ctx.write_bytes(0, CTX_LEN) };
    // SAFETY: the caller promises these pointers.
    let (io, rng, config) = unsafe { (*io.as_ref()?, *rng.as_ref()?, config.as_ref()?) };
    (io.read_at.and(io.write_at).and(io.get_size).and(io.set_size).and(rng.random))?;
    // SAFETY: the caller promises this pointer.
    let merkle = unsafe { config.merkle.as_ref() };
    if config.scratch.is_null() || merkle.is_some_and(|merkle| !merkle.is_valid()) {
        return None;
    }
    // SAFETY: the caller promises a key of this length, or null.
    let key = unsafe { bytes(key, algorithm.key_len()) }?;
    ensure_backend();
    Some((io, rng, config, key))
}

unsafe fn create(
    algorithm: Algorithm,
    ctx: *mut u8,
    io: *const Io,
    rng: *const Rng,
    config: *const Config,
    key: *const u8,
) -> c_int {
    // SAFETY: the caller's contract.
    let Some((io, rng, config, key)) = (unsafe { arguments(algorithm, ctx, io, rng, config, key) })
    else {
        return fail(libc::EINVAL);
    };
    if !is_chunk_size(config.chunk_size) {
        return fail(libc::EINVAL);
    }
    let mut storage = Callbacks(io);
    match storage.size() {
        Err(e) => return fail(number::of(&e).unwrap_or(libc::EIO)),
        Ok(1..) if config.flags & TRUNCATE == 0 => return fail(libc::EEXIST),
        Ok(0) if config.flags & CREATE == 0 => return fail(libc::ENOENT),
        Ok(_) => {}
    }
    let options =
        Options::default().algorithm(algorithm).chunk_size(config.chunk_size).overwrite(true);
    let file = options.create_in(storage, key, Program(rng), |info| {
        // SAFETY: the scratch is not null, and the caller promises its buffer.
        unsafe { scratch(algorithm, config.scratch, info.chunk_size) }
    });
    // SAFETY: the context is not null, and the caller promises its size.
    unsafe { begin(ctx, file, config.merkle) }
}

unsafe fn open(
    algorithm: Algorithm,
    ctx: *mut u8,
    io: *const Io,
    rng: *const Rng,
    config: *const Config,
    key: *const u8,
) -> c_int {
    // SAFETY: the caller's contract.
    let Some((io, rng, config, key)) = (unsafe { arguments(algorithm, ctx, io, rng, config, key) })
    else {
        return fail(libc::EINVAL);
    };
    let file = Found::new(Callbacks(io)).and_then(|found| {
        if found.info().algorithm != algorithm {
            return Err(Error::Unsupported {
                what: "algorithm",
                value: found.info().algorithm.id().into(),
            });
        }
        found.open_in(key, Program(rng), |info| {
            // SAFETY: the scratch is not null, and the caller promises its buffer.
            unsafe { scratch(algorithm, config.scratch, info.chunk_size) }
        })
    });
    // SAFETY: the context is not null, and the caller promises its size.
    unsafe { begin(ctx, file, config.merkle) }
}

unsafe fn read(
    ctx: *mut u8,
    out: *mut u8,
    bytes_read: *mut usize,
    len: usize,
    offset: u64,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe {
        let Some(out) = bytes_mut(out, len) else { return fail(libc::EINVAL) };
        let result = match bytes_read.as_mut() {
            None => fail(libc::EINVAL),
            Some(bytes_read) => {
                *bytes_read = 0;
                with_file(ctx, |file| file.read_at(out, offset).map(|n| *bytes_read = n))
            }
        };
        if result != OK {
            out.fill(0); // also if the file was never asked
        }
        result
    }
}

unsafe fn write(
    ctx: *mut u8,
    written: *mut usize,
    input: *const u8,
    len: usize,
    offset: u64,
) -> c_int {
    if ctx.is_null() || written.is_null() {
        return fail(libc::EINVAL);
    }
    // SAFETY: the caller's contract.
    unsafe {
        let Some(input) = bytes(input, len) else { return fail(libc::EINVAL) };
        *written = 0;
        with_file(ctx, |file| file.write_at(input, offset).map(|()| *written = len))
    }
}

unsafe fn truncate(ctx: *mut u8, size: u64) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { with_file(ctx, |file| file.set_size(size)) }
}

unsafe fn get_size(ctx: *const u8, size: *mut u64) -> c_int {
    if size.is_null() {
        return fail(libc::EINVAL);
    }
    // SAFETY: the caller's contract; the context is not changed.
    unsafe {
        with_file(ctx.cast_mut(), |file| {
            *size = file.size();
            Ok(())
        })
    }
}

unsafe fn sync(ctx: *mut u8) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { with_file(ctx, sync_file) }
}

/// Syncs a file. Whether that may succeed after it failed is up to the callback.
fn sync_file(file: &mut File) -> Result<(), Error> {
    file.recover()?;
    Ok(file.storage_mut().sync()?)
}

unsafe fn close(ctx: *mut u8) {
    if ctx.is_null() {
        return;
    }
    // SAFETY: the caller's contract. The dropped file is not used again: the context is zeroed.
    unsafe {
        let context = context(ctx);
        if (*context).open == OPEN {
            let file = (*context).file.assume_init_mut();
            // A caller that needs the results calls `sync`.
            let _ = file.recover();
            let _ = file.storage_mut().sync();
            ptr::drop_in_place(file);
        }
        slice::from_raw_parts_mut(ctx, CTX_LEN).zeroize();
    }
}

unsafe fn merkle_rebuild(ctx: *mut u8) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { with_file(ctx, |file| file.rebuild_tree()) }
}

unsafe fn merkle_verify(ctx: *mut u8, corrupted_chunk: *mut u64) -> c_int {
    let verify = |file: &mut File| {
        file.verify_tree().map_err(|(chunk, error)| {
            let inner = matches!(error, Error::TreeMismatch { chunk: None }).then_some(u64::MAX);
            if let Some(chunk) = chunk.or(inner).filter(|_| !corrupted_chunk.is_null()) {
                // SAFETY: the caller's contract.
                unsafe { *corrupted_chunk = chunk };
            }
            error
        })
    };
    // SAFETY: the caller promises a context of an open file, or null.
    unsafe { with_file(ctx, verify) }
}

unsafe fn merkle_commitment(ctx: *const u8, out: *mut u8, out_len: usize) -> c_int {
    let out_len = if out.is_null() { 0 } else { out_len };
    // SAFETY: the caller's contract; the context is not changed.
    unsafe {
        let Some(out) = bytes_mut(out, out_len) else { return fail(libc::EINVAL) };
        with_file(ctx.cast_mut(), |file| file.commitment_into(out))
    }
}

#[unsafe(no_mangle)]
extern "C" fn aegis_raf_chunk_min() -> usize {
    CHUNK_MIN as usize
}

#[unsafe(no_mangle)]
extern "C" fn aegis_raf_chunk_max() -> usize {
    CHUNK_MAX as usize
}

#[unsafe(no_mangle)]
extern "C" fn aegis_raf_header_size() -> usize {
    HEADER_LEN
}

#[unsafe(no_mangle)]
extern "C" fn aegis_raf_scratch_align() -> usize {
    SCRATCH_ALIGN
}

/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
unsafe extern "C" fn aegis_raf_probe(io: *const Io, info: *mut FileInfo) -> c_int {
    // SAFETY: the caller's contract.
    let Some(io) = (unsafe { io.as_ref() }).filter(|io| io.read_at.is_some() && !info.is_null())
    else {
        return fail(libc::EINVAL);
    };
    let mut header = [0; HEADER_LEN];
    let probed = Callbacks(*io).read_at(&mut header, 0).map_err(Error::from);
    status(probed.and_then(|()| Info::parse(&header)).map(|found| {
        let Info { size: file_size, chunk_size, algorithm, .. } = found;
        // SAFETY: `info` is not null, and the caller promises room for it.
        unsafe { info.write(FileInfo { file_size, chunk_size, alg_id: algorithm.id() }) };
    }))
}

/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
unsafe extern "C" fn aegis_raf_merkle_buffer_size(config: *const MerkleConfig) -> usize {
    // SAFETY: the caller's contract.
    match unsafe { config.as_ref() } {
        Some(config) if config.max_chunks > 0 && config.hash_len > 0 => {
            merkle::tree_len(config.max_chunks, config.hash_len as usize).unwrap_or(usize::MAX)
        }
        _ => 0,
    }
}

/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
unsafe extern "C" fn aegis_raf_derive_master_key(
    out: *mut u8,
    out_len: usize,
    key: *const u8,
    key_len: usize,
    context: *const u8,
    context_len: usize,
) -> c_int {
    let lengths = (key_len == 16 || key_len == 32) && out_len == key_len;
    if out.is_null() || !lengths {
        return fail(libc::EINVAL);
    }
    // SAFETY: the caller's contract. The output may overlap the key: it is written last.
    unsafe {
        let (Some(key), Some(context)) = (bytes(key, key_len), bytes(context, context_len)) else {
            return fail(libc::EINVAL);
        };
        let derived = palladion_raf::derive_master_key(key, context);
        status(derived.map(|derived| out.copy_from_nonoverlapping(derived.as_ptr(), derived.len())))
    }
}

/// The functions of a variant.
macro_rules! variant {
    ($module:ident, $prefix:literal, $algorithm:ident) => {
        mod $module {
            use super::*;

            const ALGORITHM: Algorithm = Algorithm::$algorithm;

            #[unsafe(export_name = concat!($prefix, "_raf_scratch_size"))]
            extern "C" fn scratch_size(chunk_size: u32) -> usize {
                scratch_len(ALGORITHM, chunk_size)
            }
            #[unsafe(export_name = concat!($prefix, "_raf_scratch_validate"))]
            unsafe extern "C" fn scratch_validate(
                buffer: *const Scratch,
                chunk_size: u32,
            ) -> c_int {
                // SAFETY: the caller's contract, which is that of the header.
                status(unsafe { scratch(ALGORITHM, buffer, chunk_size) }.map(drop))
            }
            crate::exports::functions! { $prefix;
                "_raf_create" raf_create(
                    ctx: *mut u8, io: *const Io, rng: *const Rng, config: *const Config,
                    key: *const u8
                ) -> c_int
                    = |ctx, io, rng, config, key| create(ALGORITHM, ctx, io, rng, config, key);
                "_raf_open" raf_open(
                    ctx: *mut u8, io: *const Io, rng: *const Rng, config: *const Config,
                    key: *const u8
                ) -> c_int = |ctx, io, rng, config, key| open(ALGORITHM, ctx, io, rng, config, key);
                "_raf_read" raf_read(
                    ctx: *mut u8, out: *mut u8, bytes_read: *mut usize, len: usize, offset: u64
                ) -> c_int = read;
                "_raf_write" raf_write(
                    ctx: *mut u8, bytes_written: *mut usize, input: *const u8, len: usize,
                    offset: u64
                ) -> c_int = write;
                "_raf_truncate" raf_truncate(ctx: *mut u8, size: u64) -> c_int = truncate;
                "_raf_get_size" raf_get_size(ctx: *const u8, size: *mut u64) -> c_int = get_size;
                "_raf_sync" raf_sync(ctx: *mut u8) -> c_int = sync;
                "_raf_close" raf_close(ctx: *mut u8) = close;
                "_raf_merkle_rebuild" raf_merkle_rebuild(ctx: *mut u8) -> c_int = merkle_rebuild;
                "_raf_merkle_verify" raf_merkle_verify(
                    ctx: *mut u8, corrupted_chunk: *mut u64
                ) -> c_int = merkle_verify;
                "_raf_merkle_commitment" raf_merkle_commitment(
                    ctx: *const u8, out: *mut u8, out_len: usize
                ) -> c_int = merkle_commitment;
            }
        }
    };
}

variant!(aegis128l, "aegis128l", Aegis128L);
variant!(aegis128x2, "aegis128x2", Aegis128X2);
variant!(aegis128x4, "aegis128x4", Aegis128X4);
variant!(aegis256, "aegis256", Aegis256);
variant!(aegis256x2, "aegis256x2", Aegis256X2);
variant!(aegis256x4, "aegis256x4", Aegis256X4);
