//! Files as C has them: with callbacks, and in memory that ends where its allocation ends.

use std::ffi::{c_int, c_void};
use std::io;
use std::ptr::null;
use std::slice::{from_raw_parts, from_raw_parts_mut};

use palladion_raf::merkle::{Hasher, Input};
use palladion_raf::{Environment, Storage};

use super::disk::Disk;
use super::input::{Buffer, Offset};
use super::model::{Fail, Interface, Setup, Status, Tree};

// The declarations of the header. Pointers to functions are pointers to the callbacks below.

const CTX_LEN: usize = 512;
const CREATE: u8 = 1;

#[repr(C)]
struct Scratch {
    buf: *mut u8,
    len: usize,
}

#[repr(C)]
struct Io {
    user: *const c_void,
    /// `read_at`, `write_at`, `get_size`, `set_size`, `sync`.
    callbacks: [*const c_void; 5],
}

#[repr(C)]
struct Rng {
    user: *const c_void,
    random: *const c_void,
}

#[repr(C)]
struct MerkleConfig {
    /// `hash_leaf`, `hash_parent`, `hash_empty`, `hash_commitment`.
    callbacks: [*const c_void; 4],
    user: *const c_void,
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

/// Declares functions and a structure of pointers to those of each variant.
macro_rules! functions {
    ({ $($name:ident $suffix:literal ($($type:ty),*) -> $result:ty;)* }) => {
        struct Functions { $($name: unsafe extern "C" fn($($type),*) -> $result),* }
    };
    ($prefix:literal { $($name:ident $suffix:literal ($($type:ty),*) -> $result:ty;)* }) => {{
        unsafe extern "C" {
            $(#[link_name = concat!($prefix, $suffix)] fn $name($(_: $type),*) -> $result;)*
        }
        Functions { $($name),* }
    }};
    ([$($prefix:literal)*] $functions:tt) => {
        functions!($functions);
        /// In the order of `Algorithm::ALL`.
        static FUNCTIONS: [Functions; 6] = [$(functions!($prefix $functions)),*];
    };
}

functions! { ["aegis128l" "aegis128x2" "aegis128x4" "aegis256" "aegis256x2" "aegis256x4"] {
    scratch_size "_raf_scratch_size" (u32) -> usize;
    create "_raf_create" (*mut u8, *const Io, *const Rng, *const Config, *const u8) -> c_int;
    open "_raf_open" (*mut u8, *const Io, *const Rng, *const Config, *const u8) -> c_int;
    read "_raf_read" (*mut u8, *mut u8, *mut usize, usize, u64) -> c_int;
    write "_raf_write" (*mut u8, *mut usize, *const u8, usize, u64) -> c_int;
    truncate "_raf_truncate" (*mut u8, u64) -> c_int;
    get_size "_raf_get_size" (*const u8, *mut u64) -> c_int;
    sync "_raf_sync" (*mut u8) -> c_int;
    close "_raf_close" (*mut u8) -> ();
    rebuild "_raf_merkle_rebuild" (*mut u8) -> c_int;
    verify "_raf_merkle_verify" (*mut u8, *mut u64) -> c_int;
    commitment "_raf_merkle_commitment" (*const u8, *mut u8, usize) -> c_int;
} }

unsafe extern "C" {
    fn aegis_raf_merkle_buffer_size(config: *const MerkleConfig) -> usize;
}

/// Ends a callback.
fn end(result: io::Result<()>) -> c_int {
    let Err(error) = result else { return 0 };
    errno::set_errno(errno::Errno(error.raw_os_error().unwrap_or(libc::ENODATA)));
    -1
}

/// Callbacks that have a disk do something.
macro_rules! callbacks {
    ($(fn $name:ident($disk:ident $(, $arg:ident: $type:ty)*) { $result:expr })*) => {
        $(unsafe extern "C" fn $name(user: *const c_void $(, $arg: $type)*) -> c_int {
            // SAFETY: the library passes the `Disk` that it was given, and buffers that are as long
            // as it says.
            unsafe {
                let $disk = &mut (*user.cast::<Disk>()).clone();
                end($result)
            }
        })*
    };
}

callbacks! {
    fn read_at(disk, buf: *mut u8, len: usize, off: u64) {
        disk.read_at(from_raw_parts_mut(buf, len), off)
    }
    fn write_at(disk, buf: *const u8, len: usize, off: u64) {
        disk.write_at(from_raw_parts(buf, len), off)
    }
    fn get_size(disk, size: *mut u64) {
        disk.size().inspect_err(|_| *size = 12345).map(|there| *size = there)
    }
    fn set_size(disk, size: u64) {
        disk.set_size(size)
    }
    fn sync(disk) {
        disk.sync()
    }
    fn random(disk, out: *mut u8, len: usize) {
        disk.random(from_raw_parts_mut(out, len))
    }
    fn hash_leaf(disk, out: *mut u8, len: usize, chunk: *const u8, chunk_len: usize, index: u64) {{
        let chunk = from_raw_parts(chunk, chunk_len);
        disk.hash(from_raw_parts_mut(out, len), Input::Leaf { chunk, index })
    }}
    fn hash_parent(
        disk, out: *mut u8, len: usize, left: *const u8, right: *const u8, level: u32, index: u64
    ) {{
        let (left, right) = (from_raw_parts(left, len), from_raw_parts(right, len));
        disk.hash(from_raw_parts_mut(out, len), Input::Parent { left, right, level, index })
    }}
    fn hash_empty(disk, out: *mut u8, len: usize, level: u32, index: u64) {
        disk.hash(from_raw_parts_mut(out, len), Input::Empty { level, index })
    }
    fn hash_commitment(
        disk, out: *mut u8, len: usize, root: *const u8, context: *const u8, context_len: usize,
        size: u64
    ) {{
        let context = from_raw_parts(context, context_len).try_into().expect("32 bytes");
        let root = from_raw_parts(root, len);
        disk.hash(from_raw_parts_mut(out, len), Input::Commitment { root, context, size })
    }}
}

fn merkle(tree: Tree, user: *const c_void, nodes: &mut [u8]) -> MerkleConfig {
    MerkleConfig {
        callbacks: [hash_leaf as _, hash_parent as _, hash_empty as _, hash_commitment as _],
        user,
        buf: nodes.as_mut_ptr(),
        len: nodes.len(),
        max_chunks: tree.places,
        hash_len: tree.hash_len as u32,
    }
}

/// Memory aligned to 64 bytes that ends where its allocation ends.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u8; 64]);

/// A file and the memory that C provides for it.
pub struct File {
    functions: &'static Functions,
    setup: Box<Setup>,
    key: Buffer,
    ctx: Buffer,
    scratch: Vec<Line>,
    nodes: Buffer,
}

/// What a call returned, and the error number if it failed.
fn status(result: c_int) -> Status {
    match result {
        0 => Ok(()),
        -1 => Err(Fail { number: errno::errno().0, chunk: None }),
        other => panic!("{other} was returned"),
    }
}

/// Calls a function with the context of a file.
macro_rules! call {
    ($file:ident.$function:ident($($arg:expr),*)) => {{
        let ctx = $file.ctx.bytes_mut().as_mut_ptr();
        // SAFETY: the context has its size, all pointers are valid, and buffers are as long as the
        // call says.
        status(unsafe { ($file.functions.$function)(ctx, $($arg),*) })
    }};
}

impl File {
    /// Makes one whose context and nodes begin at any address.
    pub fn new(setup: Setup, at: Offset) -> Self {
        let functions = &FUNCTIONS[usize::from(setup.algorithm.id()) - 1];
        // SAFETY: it takes a number.
        let scratch_len = unsafe { (functions.scratch_size)(setup.chunk_size as u32) };
        assert_eq!(scratch_len % 64, 0);
        let nodes_len = setup.tree.map_or(0, |tree| {
            // SAFETY: it reads the two numbers.
            unsafe { aegis_raf_merkle_buffer_size(&merkle(tree, null(), &mut [])) }
        });
        Self {
            functions,
            key: Buffer::new(&setup.key, Offset(7)),
            ctx: Buffer::new(&[0xcc; CTX_LEN], at),
            scratch: vec![Line([0xcc; 64]); scratch_len / 64],
            nodes: Buffer::new(&vec![0xcc; nodes_len], at),
            setup: Box::new(setup),
        }
    }

    /// Creates a file, or opens it if there are no flags.
    fn begin(&mut self, flags: u8) -> Status {
        let user = (&raw const self.setup.disk).cast();
        let callbacks =
            [read_at as _, write_at as _, get_size as _, set_size as _, sync as *const c_void];
        let io = Io { user, callbacks };
        let rng = Rng { user, random: random as _ };
        let merkle = self.setup.tree.map(|tree| merkle(tree, user, self.nodes.bytes_mut()));
        let len = size_of_val(&self.scratch[..]);
        let scratch = Scratch { buf: self.scratch.as_mut_ptr().cast(), len };
        let config = Config {
            scratch: &scratch,
            merkle: merkle.as_ref().map_or(null(), |merkle| merkle),
            chunk_size: self.setup.chunk_size as u32,
            flags,
        };
        let (key, mut size) = (self.key.bytes().as_ptr(), 0);
        let begun = match flags {
            0 => call!(self.open(&io, &rng, &config, key)),
            _ => call!(self.create(&io, &rng, &config, key)),
        };
        let opened = call!(self.get_size(&mut size));
        assert_eq!(opened.err().map(|fail| fail.number), begun.err().map(|_| libc::EINVAL));
        begun
    }
}

impl Interface for File {
    fn create(&mut self) -> Status {
        self.begin(CREATE)
    }
    fn open(&mut self) -> Status {
        self.begin(0)
    }
    fn close(&mut self) {
        // SAFETY: a context that is open, or that `create` or `open` has left closed.
        unsafe { (self.functions.close)(self.ctx.bytes_mut().as_mut_ptr()) };
        assert!(self.ctx.bytes().iter().all(|byte| *byte == 0), "something is left in the context");
        let wiped = self.scratch.iter().all(|line| line.0 == [0; 64]);
        assert!(wiped, "something is left in the scratch buffer");
    }
    fn size(&mut self) -> usize {
        let mut size = 0;
        call!(self.get_size(&mut size)).expect("it is open");
        size as usize
    }
    fn read(&mut self, out: &mut [u8], offset: usize) -> Result<usize, Fail> {
        let mut n = 77;
        let result = call!(self.read(out.as_mut_ptr(), &mut n, out.len(), offset as u64));
        assert!(result.is_ok() || n == 0, "nothing was read");
        result.map(|()| n)
    }
    fn write(&mut self, data: &[u8], offset: usize) -> Status {
        let mut n = 77;
        let result = call!(self.write(&mut n, data.as_ptr(), data.len(), offset as u64));
        assert_eq!(n, if result.is_ok() { data.len() } else { 0 });
        result
    }
    fn set_size(&mut self, size: usize) -> Status {
        call!(self.truncate(size as u64))
    }
    fn sync(&mut self) -> Status {
        call!(self.sync())
    }
    fn rebuild(&mut self) -> Status {
        call!(self.rebuild())
    }
    fn verify_tree(&mut self) -> Result<Vec<u8>, Fail> {
        const UNTOUCHED: u64 = 0x5555_5555;
        let mut chunk = UNTOUCHED;
        let result = call!(self.verify(&mut chunk));
        assert!(result.is_err() || chunk == UNTOUCHED);
        let chunk = Some(chunk).filter(|chunk| ![UNTOUCHED, u64::MAX].contains(chunk));
        result.map_err(|fail| Fail { chunk, ..fail })?;
        // The buffer may be longer than a hash.
        let hash_len = self.setup.tree.expect("it was verified").hash_len;
        let mut out = vec![0xee; hash_len + 3];
        call!(self.commitment(out.as_mut_ptr(), out.len()))?;
        assert_eq!(out.split_off(hash_len), [0xee; 3], "more than a hash");
        Ok(out)
    }
}
