//! The C library, which is loaded.

use std::ffi::{CString, c_char, c_int, c_void};
use std::hint::black_box;
use std::ptr::{null, null_mut};

use libloading::Library;
use palladion::{Algorithm, Backend};

use crate::watch::{Call, Input, Inputs, Place, Report};

/// Functions of C, by name.
macro_rules! functions {
    ($(#[$doc:meta])* $struct:ident: $($name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        $(#[$doc])*
        struct $struct {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }
        impl $struct {
            fn load(library: &Library, prefix: &str) -> Self {
                Self {
                    $($name: {
                        let name = format!("{prefix}_{}", stringify!($name));
                        // SAFETY: it has this type, as the headers say.
                        unsafe { *library.get(&name).expect("a function of that name") }
                    },)*
                }
            }
        }
    };
}

type Bytes = *const u8;
type Room = *mut u8;

functions! {
    /// Those of a variant.
    Functions:
    encrypt(Room, usize, Bytes, usize, Bytes, usize, Bytes, Bytes) -> c_int;
    decrypt(Room, Bytes, usize, usize, Bytes, usize, Bytes, Bytes) -> c_int;
    encrypt_detached(Room, Room, usize, Bytes, usize, Bytes, usize, Bytes, Bytes) -> c_int;
    decrypt_detached(Room, Bytes, usize, Bytes, usize, Bytes, usize, Bytes, Bytes) -> c_int;
    state_init(Room, Bytes, usize, Bytes, Bytes);
    state_encrypt_update(Room, Room, Bytes, usize) -> c_int;
    state_encrypt_final(Room, Room, usize) -> c_int;
    state_decrypt_update(Room, Room, Bytes, usize) -> c_int;
    state_decrypt_final(Room, Bytes, usize) -> c_int;
    stream(Room, usize, Bytes, Bytes);
    stream_xor(Room, Bytes, usize, Bytes, Bytes);
    encrypt_unauthenticated(Room, Bytes, usize, Bytes, Bytes);
    decrypt_unauthenticated(Room, Bytes, usize, Bytes, Bytes);
    mac_init(Room, Bytes, Bytes);
    mac_update(Room, Bytes, usize) -> c_int;
    mac_final(Room, Room, usize) -> c_int;
    mac_verify(Room, Bytes, usize) -> c_int;
    mac_reset(Room);
    mac_state_clone(Room, Bytes);
    raf_create(Room, *const Io, *const Rng, *const Config, Bytes) -> c_int;
    raf_open(Room, *const Io, *const Rng, *const Config, Bytes) -> c_int;
    raf_read(Room, Room, *mut usize, usize, u64) -> c_int;
    raf_write(Room, *mut usize, Bytes, usize, u64) -> c_int;
    raf_truncate(Room, u64) -> c_int;
    raf_close(Room);
}

functions! {
    /// Those for all.
    Common:
    set_backend(*const c_char) -> c_int;
    encrypt_batch(c_int, usize, *mut Message, usize) -> c_int;
    decrypt_batch(c_int, usize, *mut Message, usize) -> c_int;
}

functions! {
    /// The same, under the other prefix.
    Raf:
    raf_derive_master_key(Room, usize, Bytes, usize, Bytes, usize) -> c_int;
}

#[repr(C)]
struct Message {
    input: Bytes,
    output: Room,
    len: usize,
    mac: Room,
    ad: Bytes,
    ad_len: usize,
    nonce: Bytes,
    key: Bytes,
    result: c_int,
}

#[repr(C)]
struct Scratch {
    buf: Room,
    len: usize,
}

#[repr(C)]
struct Config {
    scratch: *const Scratch,
    merkle: *const c_void,
    chunk_size: u32,
    flags: u8,
}

type ReadAt = unsafe extern "C" fn(*mut c_void, Room, usize, u64) -> c_int;
type WriteAt = unsafe extern "C" fn(*mut c_void, Bytes, usize, u64) -> c_int;

#[repr(C)]
struct Io {
    user: *mut c_void,
    read_at: ReadAt,
    write_at: WriteAt,
    get_size: unsafe extern "C" fn(*mut c_void, *mut u64) -> c_int,
    set_size: unsafe extern "C" fn(*mut c_void, u64) -> c_int,
    sync: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
}

#[repr(C)]
struct Rng {
    user: *mut c_void,
    random: unsafe extern "C" fn(*mut c_void, Room, usize) -> c_int,
}

/// What a file of C lies in: `user` is a `Vec`.
mod storage {
    use super::{Bytes, Room, c_int, c_void};

    unsafe fn of<'a>(user: *mut c_void) -> &'a mut Vec<u8> {
        // SAFETY: see above; nobody else uses it during a call.
        unsafe { &mut *user.cast() }
    }
    pub unsafe extern "C" fn read_at(user: *mut c_void, buf: Room, len: usize, at: u64) -> c_int {
        // SAFETY: the buffer is as long as that.
        unsafe { of(user)[at as usize..][..len].as_ptr().copy_to_nonoverlapping(buf, len) };
        0
    }
    pub unsafe extern "C" fn write_at(user: *mut c_void, buf: Bytes, len: usize, at: u64) -> c_int {
        // SAFETY: likewise.
        unsafe { of(user)[at as usize..][..len].as_mut_ptr().copy_from_nonoverlapping(buf, len) };
        0
    }
    pub unsafe extern "C" fn get_size(user: *mut c_void, size: *mut u64) -> c_int {
        // SAFETY: likewise.
        unsafe { *size = of(user).len() as u64 };
        0
    }
    pub unsafe extern "C" fn set_size(user: *mut c_void, size: u64) -> c_int {
        // SAFETY: likewise.
        unsafe { of(user).resize(size as usize, 0) };
        0
    }
    /// Random numbers that are none.
    pub unsafe extern "C" fn random(_: *mut c_void, buf: Room, len: usize) -> c_int {
        // SAFETY: likewise.
        unsafe { buf.write_bytes(0x3c, len) };
        0
    }
}

/// Memory as C programs have it.
#[derive(Clone)]
#[repr(align(64))]
struct Memory([u8; 4096]);

struct Subject {
    functions: Functions,
    common: &'static Common,
    raf: &'static Raf,
    number: c_int,
    key: Vec<u8>,
    nonce: Vec<u8>,
    buffer: Vec<u8>,
    output: Vec<u8>,
    sealed: Vec<u8>,
    tag: [u8; 32],
    tag_len: usize,
    mac: [u8; 32],
    message: Vec<u8>,
    ciphertext: Vec<u8>,
    /// A state, and where in it that begins.
    state: Box<Memory>,
    at: usize,
    other_state: Box<Memory>,
    scratch: Box<Memory>,
    file: Vec<u8>,
    /// What was in the file.
    public: Vec<u8>,
    derived: [u8; 32],
}

const AD: &[u8] = &[7; 21];
const CHUNK: u32 = 1024;

impl Subject {
    fn message(&mut self) {
        self.buffer.copy_from_slice(&self.message);
    }
    fn ciphertext(&mut self) {
        self.buffer.copy_from_slice(&self.ciphertext);
    }
    fn sealed(&mut self) {
        self.sealed[..self.ciphertext.len()].copy_from_slice(&self.ciphertext);
        self.sealed[self.ciphertext.len()..].copy_from_slice(&self.tag[..self.tag_len]);
    }
    fn forgery(&mut self) {
        self.tag[3] ^= 1;
        self.ciphertext();
    }
    fn forged_mac(&mut self) {
        self.mac[3] ^= 1;
    }
    fn state(&mut self) -> Room {
        self.state.0[self.at..].as_mut_ptr()
    }
    fn key(&self) -> Bytes {
        self.key.as_ptr()
    }
    fn nonce(&self) -> Bytes {
        self.nonce.as_ptr()
    }
    /// Whatever is in memory that C knows of: what is given back is looked at.
    fn look_at(memory: &Memory) {
        drop(black_box(Box::new(memory.clone())));
    }

    fn begin(&mut self) {
        // SAFETY: as the header says.
        unsafe { (self.functions.state_init)(self.state(), AD.as_ptr(), AD.len(), self.nonce(), self.key()) };
    }
    fn begin_mac(&mut self) {
        // SAFETY: as the header says.
        unsafe {
            (self.functions.mac_init)(self.state(), self.key(), self.nonce());
            let (first, second) = self.message.split_at(self.message.len() / 3);
            let state = self.state.0[self.at..].as_mut_ptr();
            (self.functions.mac_update)(state, first.as_ptr(), first.len());
            (self.functions.mac_reset)(state);
            (self.functions.mac_update)(state, first.as_ptr(), first.len());
            (self.functions.mac_update)(state, second.as_ptr(), second.len());
        }
    }

    /// Does something with a file: `create` or `open` begins it.
    fn with_file(&mut self, create: bool, work: fn(&mut Self)) {
        let io = Io {
            user: (&raw mut self.file).cast(),
            read_at: storage::read_at,
            write_at: storage::write_at,
            get_size: storage::get_size,
            set_size: storage::set_size,
            sync: None,
        };
        let rng = Rng { user: null_mut(), random: storage::random };
        let scratch = Scratch { buf: self.scratch.0.as_mut_ptr(), len: size_of::<Memory>() };
        let config = Config { scratch: &scratch, merkle: null(), chunk_size: CHUNK, flags: 3 };
        let begin = if create { self.functions.raf_create } else { self.functions.raf_open };
        self.state.0.fill(0);
        let (state, key) = (self.state(), self.key());
        // SAFETY: as the header says.
        unsafe {
            assert_eq!(begin(state, &io, &rng, &config, key), 0);
            work(self);
            self.public.extend_from_slice(&self.file);
            (self.functions.raf_close)(state);
        }
        Self::look_at(&self.state);
        Self::look_at(&self.scratch);
    }

    fn batch(&mut self, encrypt: bool, wrong: Option<usize>) -> c_int {
        let len = self.message.len();
        let mut tags: Vec<Vec<u8>> = vec![self.tag[..self.tag_len].to_vec(); 4];
        if let Some(wrong) = wrong {
            tags[wrong][3] ^= 1;
            self.public.extend_from_slice(&tags[wrong]);
        }
        let mut outputs = vec![vec![0; len]; 4];
        let messages = outputs.iter_mut().zip(&mut tags).map(|(output, tag)| Message {
            input: self.buffer.as_ptr(),
            output: output.as_mut_ptr(),
            len,
            mac: tag.as_mut_ptr(),
            ad: AD.as_ptr(),
            ad_len: AD.len(),
            nonce: self.nonce(),
            key: self.key(),
            result: 1,
        });
        let mut messages: Vec<_> = messages.collect();
        let call = if encrypt { self.common.encrypt_batch } else { self.common.decrypt_batch };
        // SAFETY: as the header says.
        let result = unsafe { call(self.number, self.tag_len, messages.as_mut_ptr(), messages.len()) };
        if !encrypt {
            // Here it is the messages that are secret.
            outputs.iter_mut().for_each(|output| output.fill(0));
        }
        result
    }
}

impl Place for Subject {
    fn fill(&mut self, input: &Input) {
        self.key.copy_from_slice(&input.key);
        self.message.copy_from_slice(&input.message);
        self.output.fill(0);
        self.ciphertext.fill(0);
        let len = self.message.len();
        // SAFETY: as the header says.
        unsafe {
            let f = &self.functions;
            (f.encrypt_detached)(
                self.ciphertext.as_mut_ptr(),
                self.tag.as_mut_ptr(),
                self.tag_len,
                self.message.as_ptr(),
                len,
                AD.as_ptr(),
                AD.len(),
                self.nonce.as_ptr(),
                self.key.as_ptr(),
            );
            self.begin_mac();
            (self.functions.mac_final)(self.state(), self.mac.as_mut_ptr(), self.tag_len);
        }
        self.state.0.fill(0);
        self.other_state.0.fill(0);
        self.scratch.0.fill(0);
        self.file.clear();
        self.public.clear();
        self.message();
        self.with_file(true, |p| {
            let (mut written, state) = (0, p.state());
            // SAFETY: as the header says.
            unsafe { (p.functions.raf_write)(state, &mut written, p.message.as_ptr(), p.message.len(), 900) };
        });
        self.state.0.fill(0);
        self.scratch.0.fill(0);
    }
    fn public(&self, to: &mut Vec<u8>) {
        to.extend([&self.ciphertext[..], &self.tag, &self.mac, &self.public].concat());
    }
}

/// Calls of C's functions. All are safe as the headers say.
macro_rules! calls {
    ($($what:literal $before:expr => |$p:ident| $call:expr;)*) => {
        &[$(Call {
            what: $what,
            before: $before,
            call: |$p: &mut Subject| {
                // SAFETY: as the header says.
                #[allow(unused_unsafe)]
                let result: c_int = unsafe { $call };
                assert_eq!(result, if $what.starts_with("a forge") { -1 } else { 0 });
            },
        },)*]
    };
}

const CALLS: &[Call<Subject>] = calls! {
    "encryption" Subject::message => |p| {
        let (buffer, len) = (p.buffer.as_mut_ptr(), p.buffer.len());
        (p.functions.encrypt_detached)(buffer, p.tag.as_mut_ptr(), p.tag_len, buffer, len, AD.as_ptr(), AD.len(), p.nonce(), p.key())
    };
    "encryption with the nonce of zeros" Subject::message => |p| {
        // Not the ciphertext that is known: it is made public here.
        let (buffer, len) = (p.buffer.as_mut_ptr(), p.buffer.len());
        let result = (p.functions.encrypt_detached)(
            buffer, p.tag.as_mut_ptr(), p.tag_len, buffer, len, AD.as_ptr(), AD.len(), null(), p.key(),
        );
        p.ciphertext.copy_from_slice(&p.buffer);
        result
    };
    "decryption" Subject::ciphertext => |p| {
        let (buffer, len) = (p.buffer.as_mut_ptr(), p.buffer.len());
        (p.functions.decrypt_detached)(buffer, buffer, len, p.tag.as_ptr(), p.tag_len, AD.as_ptr(), AD.len(), p.nonce(), p.key())
    };
    "decryption to nowhere" Subject::ciphertext => |p| {
        let (buffer, len) = (p.buffer.as_ptr(), p.buffer.len());
        (p.functions.decrypt_detached)(null_mut(), buffer, len, p.tag.as_ptr(), p.tag_len, AD.as_ptr(), AD.len(), p.nonce(), p.key())
    };
    "sealing" Subject::message => |p| {
        let (sealed, len) = (p.sealed.as_mut_ptr(), p.buffer.len());
        (p.functions.encrypt)(sealed, p.tag_len, p.buffer.as_ptr(), len, AD.as_ptr(), AD.len(), p.nonce(), p.key())
    };
    "opening" Subject::sealed => |p| {
        let (sealed, len) = (p.sealed.as_mut_ptr(), p.sealed.len());
        (p.functions.decrypt)(sealed, sealed, len, p.tag_len, AD.as_ptr(), AD.len(), p.nonce(), p.key())
    };
    "a forgery" Subject::forgery => |p| {
        let (buffer, len) = (p.buffer.as_mut_ptr(), p.buffer.len());
        (p.functions.decrypt_detached)(buffer, buffer, len, p.tag.as_ptr(), p.tag_len, AD.as_ptr(), AD.len(), p.nonce(), p.key())
    };
    "a state that encrypts" Subject::message => |p| {
        p.begin();
        let (state, buffer, at) = (p.state(), p.buffer.as_mut_ptr(), p.buffer.len() / 3);
        (p.functions.state_encrypt_update)(state, buffer, buffer, at);
        (p.functions.state_encrypt_update)(state, buffer.add(at), buffer.add(at), p.buffer.len() - at);
        let result = (p.functions.state_encrypt_final)(state, p.tag.as_mut_ptr(), p.tag_len);
        Subject::look_at(&p.state);
        result
    };
    "a state that decrypts" Subject::ciphertext => |p| {
        p.begin();
        let (state, buffer, at) = (p.state(), p.buffer.as_mut_ptr(), p.buffer.len() / 3);
        (p.functions.state_decrypt_update)(state, buffer, buffer, at);
        (p.functions.state_decrypt_update)(state, null_mut(), buffer.add(at), p.buffer.len() - at);
        let result = (p.functions.state_decrypt_final)(state, p.tag.as_ptr(), p.tag_len);
        Subject::look_at(&p.state);
        result
    };
    "a forgery in a state" Subject::forgery => |p| {
        p.begin();
        let (state, buffer, at) = (p.state(), p.buffer.as_mut_ptr(), p.buffer.len() / 3);
        (p.functions.state_decrypt_update)(state, buffer, buffer, at);
        (p.functions.state_decrypt_update)(state, buffer.add(at), buffer.add(at), p.buffer.len() - at);
        let result = (p.functions.state_decrypt_final)(state, p.tag.as_ptr(), p.tag_len);
        Subject::look_at(&p.state);
        result
    };
    "key stream" Subject::message => |p| {
        (p.functions.stream)(p.output.as_mut_ptr(), p.output.len(), p.nonce(), p.key());
        0
    };
    "XOR with the key stream" Subject::message => |p| {
        (p.functions.stream_xor)(p.output.as_mut_ptr(), p.buffer.as_ptr(), p.output.len(), p.nonce(), p.key());
        0
    };
    "encryption without a tag" Subject::message => |p| {
        (p.functions.encrypt_unauthenticated)(p.output.as_mut_ptr(), p.buffer.as_ptr(), p.output.len(), p.nonce(), p.key());
        0
    };
    "decryption without a tag" Subject::ciphertext => |p| {
        (p.functions.decrypt_unauthenticated)(p.output.as_mut_ptr(), p.buffer.as_ptr(), p.output.len(), p.nonce(), p.key());
        0
    };
    "MAC" Subject::message => |p| {
        p.begin_mac();
        let (state, copy) = (p.state(), p.other_state.0[p.at..].as_mut_ptr());
        (p.functions.mac_state_clone)(copy, state);
        (p.functions.mac_final)(state, p.mac.as_mut_ptr(), p.tag_len);
        (p.functions.mac_verify)(copy, p.mac.as_ptr(), p.tag_len)
    };
    "a forged MAC" Subject::forged_mac => |p| {
        p.begin_mac();
        (p.functions.mac_verify)(p.state(), p.mac.as_ptr(), p.tag_len)
    };
    "batch" Subject::message => |p| p.batch(true, None);
    "batch, decryption" Subject::ciphertext => |p| p.batch(false, None);
    "a forgery in a batch" Subject::ciphertext => |p| p.batch(false, Some(2));
    "a new file" |_| () => |p| {
        p.with_file(true, |p| {
            let (mut written, state) = (0, p.state());
            // SAFETY: as the header says.
            unsafe { (p.functions.raf_write)(state, &mut written, p.message.as_ptr(), p.message.len(), 900) };
        });
        0
    };
    "a file that is read" |_| () => |p| {
        p.with_file(false, |p| {
            let (mut read, state) = (0, p.state());
            // SAFETY: as the header says.
            unsafe { (p.functions.raf_read)(state, p.output.as_mut_ptr(), &mut read, p.output.len(), 900) };
        });
        0
    };
    "a file that is changed" |_| () => |p| {
        p.with_file(false, |p| {
            let state = p.state();
            // SAFETY: as the header says.
            unsafe { (p.functions.raf_truncate)(state, 950) };
        });
        0
    };
    "a derived key" |_| () => |p| {
        let len = p.key.len();
        (p.raf.raf_derive_master_key)(p.derived.as_mut_ptr(), len, p.key(), len, AD.as_ptr(), AD.len())
    };
};

pub fn library(report: &mut Report, path: &str, backends: &[Backend]) {
    // SAFETY: it does nothing when it is loaded.
    let library = Box::leak(Box::new(unsafe { Library::new(path) }.expect("the C library")));
    let common: &'static Common = Box::leak(Box::new(Common::load(library, "palladion")));
    let raf: &'static Raf = Box::leak(Box::new(Raf::load(library, "aegis")));
    for backend in backends {
        let name = CString::new(backend.name()).expect("a name");
        // SAFETY: as the header says.
        assert_eq!(unsafe { (common.set_backend)(name.as_ptr()) }, 0, "a backend that can run here");
        for (algorithm, number) in Algorithm::ALL.into_iter().zip(1..) {
            let prefix = algorithm.name().to_lowercase().replace('-', "");
            // States may lie anywhere.
            for (tag_len, at) in [(16, 0), (32, 1)] {
                let name = format!("{backend}, C: {prefix} with tags of {tag_len} bytes");
                let len = 333;
                let mut place = Subject {
                    functions: Functions::load(library, &prefix),
                    common,
                    raf,
                    number,
                    key: vec![0; algorithm.key_len()],
                    nonce: vec![9; algorithm.key_len()],
                    buffer: vec![0; len],
                    output: vec![0; len],
                    sealed: vec![0; len + tag_len],
                    tag: [0; 32],
                    tag_len,
                    mac: [0; 32],
                    message: vec![0; len],
                    ciphertext: vec![0; len],
                    state: Box::new(Memory([0; 4096])),
                    at,
                    other_state: Box::new(Memory([0; 4096])),
                    scratch: Box::new(Memory([0; 4096])),
                    file: Vec::with_capacity(8192),
                    public: Vec::with_capacity(1 << 16),
                    derived: [0; 32],
                };
                for call in CALLS {
                    report.call(&name, &mut Inputs::new(algorithm.key_len(), len), &mut place, call);
                }
            }
        }
    }
}
