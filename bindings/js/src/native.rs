//! The addon for Node, Deno and Bun, on Node-API. Besides the functions that take numbers, it has
//! some that take arrays of JavaScript, so that long data need not be copied. Short data is faster
//! through the scratch memory: the engine has to move a short array before it has an address.
//!
//! Each thread that loads the addon (the main thread, a worker) has an instance of its own.
//!
//! # Safety
//!
//! Node-API runs a function on the thread of its instance, one at a time, and no JavaScript while
//! the function runs. So nothing else uses the instance, the scratch memory or the arrays that were
//! passed. A `SharedArrayBuffer` would break this; `ts/native.ts` copies from and to those. What
//! `later` runs on another thread owns all that it uses, and uses no Node-API.

use core::ffi::{CStr, c_void};
use core::ptr::{NonNull, null_mut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use napi_sys as sys;
use palladion::hazmat::{Message, open_any, seal_any};

use crate::failure::Failure;
use crate::memory::{Key, Scratch, answer};
use crate::objects::{Coder, Objects};
use crate::{cipher, file, pieces};

/// Node-API's status for success, and its type of a `Uint8Array`.
const OK: sys::napi_status = sys::Status::napi_ok;
const UINT8_ARRAY: i32 = sys::TypedarrayType::uint8_array;

/// The most arguments of a function.
const MOST: usize = 7;

/// What belongs to one thread of JavaScript.
struct Instance {
    /// The start of an `ArrayBuffer` that is kept until the end of the thread.
    scratch: NonNull<Scratch>,
    objects: Objects,
}

/// The arguments of a call.
struct Arguments {
    env: sys::napi_env,
    values: [sys::napi_value; MOST],
    count: usize,
    scratch: NonNull<Scratch>,
}

impl Arguments {
    fn number(&self, index: usize) -> Result<u32, Failure> {
        let mut number = 0;
        // SAFETY: the environment and the value are those of the running call.
        match unsafe { sys::napi_get_value_uint32(self.env, self.values[index], &mut number) } {
            OK => Ok(number),
            _ => Err(Failure::Argument),
        }
    }

    fn numbers<const N: usize>(&self) -> Result<[u32; N], Failure> {
        let mut numbers = [0; N];
        for (index, number) in numbers.iter_mut().enumerate() {
            *number = self.number(index)?;
        }
        Ok(numbers)
    }

    /// The memory of a `Uint8Array` outside the scratch memory.
    fn array(&self, index: usize) -> Result<Array, Failure> {
        let (mut kind, mut len, mut start) = (-1, 0, null_mut());
        // SAFETY: the environment and the value are those of the running call; Node-API takes null
        // for what is not wanted.
        let status = unsafe {
            sys::napi_get_typedarray_info(
                self.env,
                self.values[index],
                &mut kind,
                &mut len,
                &mut start,
                null_mut(),
                null_mut(),
            )
        };
        if status != OK || kind != UINT8_ARRAY {
            return Err(Failure::Argument);
        }
        let start = NonNull::new(start.cast()).unwrap_or(NonNull::dangling());
        let array = Array { start, len: if start == NonNull::dangling() { 0 } else { len } };
        let scratch = Array { start: self.scratch.cast(), len: size_of::<Scratch>() };
        array.apart(scratch)?;
        Ok(array)
    }
}

/// The memory of a `Uint8Array`, readable and writable until the call returns.
#[derive(Clone, Copy)]
struct Array {
    start: NonNull<u8>,
    len: usize,
}

impl Array {
    /// Checks that two arrays do not overlap.
    fn apart(self, other: Self) -> Result<(), Failure> {
        let (a, b) = (self.start.addr().get(), other.start.addr().get());
        if self.len == 0 || other.len == 0 || a + self.len <= b || b + other.len <= a {
            Ok(())
        } else {
            Err(Failure::Argument)
        }
    }

    /// # Safety
    ///
    /// No overlapping memory is written to while the slice lives.
    unsafe fn read<'a>(self) -> &'a [u8] {
        // SAFETY: the memory is readable, and the caller promises that nobody changes it.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// # Safety
    ///
    /// No overlapping memory is used while the slice lives.
    unsafe fn write<'a>(self) -> &'a mut [u8] {
        // SAFETY: the memory is writable, and the caller promises that nobody else uses it.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

/// Runs a function of the addon.
///
/// # Safety
///
/// Node-API calls this with the environment and the information of a call to a function that
/// `napi_register_module_v1` created.
unsafe fn enter(
    env: sys::napi_env,
    info: sys::napi_callback_info,
    run: impl FnOnce(&mut Scratch, &mut Objects, &Arguments) -> Result<u32, Failure>,
) -> sys::napi_value {
    let mut values = [null_mut(); MOST];
    let (mut count, mut data) = (MOST, null_mut());
    // SAFETY: `values` has room for `count` values. Functions are created with the address of their
    // instance as data. It lives until the environment ends, and only this call uses it.
    let Instance { scratch, objects } = unsafe {
        sys::napi_get_cb_info(env, info, &mut count, values.as_mut_ptr(), null_mut(), &mut data);
        &mut *data.cast::<Instance>()
    };
    let arguments = Arguments { env, values, count: count.min(MOST), scratch: *scratch };
    // SAFETY: only this call uses the scratch memory; `Arguments::array` refuses arrays in it.
    let scratch = unsafe { scratch.as_mut() };
    let result = catch_unwind(AssertUnwindSafe(|| run(scratch, objects, &arguments)));
    let number = answer(&mut scratch.text, result.unwrap_or(Err(Failure::Panic)));
    let mut value = null_mut();
    // SAFETY: the environment is that of the running call. Null means `undefined`.
    unsafe { sys::napi_create_int32(env, number.cast_signed(), &mut value) };
    value
}

type Function = unsafe extern "C" fn(sys::napi_env, sys::napi_callback_info) -> sys::napi_value;

/// Defines a list of functions for Node-API, with their names, and what they call.
macro_rules! define {
    ($list:ident: $($name:ident => $run:expr;)*) => {
        const $list: &[(&CStr, Function)] = &[$((
            match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!(),
            },
            {
                unsafe extern "C" fn $name(
                    env: sys::napi_env,
                    info: sys::napi_callback_info,
                ) -> sys::napi_value {
                    // SAFETY: Node-API is the caller.
                    unsafe { enter(env, info, $run) }
                }
                $name
            },
        )),*];
    };
}

/// Defines a list of functions that take numbers.
macro_rules! export {
    ($list:ident $($name:ident($($number:ident),*) => $run:path;)*) => {
        define! {
            $list:
            $($name => |scratch, objects, arguments| $run(scratch, objects, arguments.numbers()?);)*
        }
    };
}
crate::message_functions!(export, MESSAGES);
crate::file_functions!(export, FILES);

// The functions that take arrays.
define! {
    ARRAYS:
    pld_encrypt_arrays => |scratch, _, arguments| crypt(scratch, arguments, false);
    pld_decrypt_arrays => |scratch, _, arguments| crypt(scratch, arguments, true);
    pld_session_new_array => session_new;
    pld_session_encrypt_arrays => session_encrypt;
    pld_mac_update_array => mac_update;
    pld_coder_push => coder_push;
    pld_coder_take => coder_take;
    pld_reader_give => reader_give;
    pld_reader_open => reader_open;
    pld_encoder_new_later => |scratch, objects, arguments| {
        later(arguments, file::encoder(scratch, objects, arguments.numbers()?)?)
    };
    pld_coder_go_on_later => |_, objects, arguments| {
        later(arguments, file::going_on(objects, arguments.numbers()?)?)
    };
    pld_reader_new_later => |scratch, objects, arguments| {
        later(arguments, file::reader(scratch, objects, arguments.numbers()?)?)
    };
}

/// Encrypts or decrypts. Arguments: algorithm, length of the tag, associated data, input, output.
/// The input may start where the output does. Key, nonce and tag are in the scratch memory.
fn crypt(scratch: &mut Scratch, arguments: &Arguments, open: bool) -> Result<u32, Failure> {
    let key = Key(&mut scratch.key);
    let algorithm = cipher::algorithm(arguments.number(0)?)?;
    let tag = cipher::tag(&mut scratch.tag, arguments.number(1)?)?;
    let (ad, src, dst) = (arguments.array(2)?, arguments.array(3)?, arguments.array(4)?);
    ad.apart(dst)?;
    if src.len != dst.len {
        return Err(Failure::Argument);
    }
    if src.start != dst.start {
        src.apart(dst)?;
    }
    let message = Message {
        key: key.as_ptr(),
        nonce: scratch.nonce.as_ptr(),
        ad: ad.start.as_ptr(),
        ad_len: ad.len,
        src: src.start.as_ptr(),
        dst: dst.start.as_ptr(),
        len: src.len,
        tag: tag.as_mut_ptr(),
        tag_len: tag.len(),
    };
    // SAFETY: key and nonce have 32 bytes, which suffice for each algorithm. The arrays are
    // readable and writable for their lengths. The output is the input or overlaps nothing else.
    unsafe { if open { open_any(algorithm, &message)? } else { seal_any(algorithm, &message)? } }
    Ok(0)
}

/// Starts a message. Arguments: algorithm, associated data.
fn session_new(
    scratch: &mut Scratch,
    objects: &mut Objects,
    arguments: &Arguments,
) -> Result<u32, Failure> {
    let (id, ad) = (arguments.number(0)?, arguments.array(1)?);
    let key = (&mut scratch.key, &scratch.nonce);
    // SAFETY: nothing writes to the associated data, which is not in the scratch memory.
    pieces::begin(&mut objects.sessions, key, id, unsafe { ad.read() })
}

/// Encrypts the next piece. Arguments: session, input, output. The two may be the same array.
fn session_encrypt(
    _: &mut Scratch,
    objects: &mut Objects,
    arguments: &Arguments,
) -> Result<u32, Failure> {
    let session = objects.sessions.get(arguments.number(0)?)?;
    let (src, dst) = (arguments.array(1)?, arguments.array(2)?);
    if src.start == dst.start && src.len == dst.len {
        // SAFETY: only this slice uses the memory.
        session.encrypt_in_place(unsafe { dst.write() })?;
    } else {
        src.apart(dst)?;
        // SAFETY: the slices do not overlap.
        unsafe { session.encrypt_into(src.read(), dst.write())? };
    }
    Ok(0)
}

/// Adds data to a MAC. Arguments: MAC, data.
fn mac_update(
    _: &mut Scratch,
    objects: &mut Objects,
    arguments: &Arguments,
) -> Result<u32, Failure> {
    let mac = objects.macs.get(arguments.number(0)?)?;
    let data = arguments.array(1)?;
    // SAFETY: nothing writes to the data.
    mac.update(unsafe { data.read() }).map(|()| 0)
}

/// Takes the next bytes of a file, and returns how many: as many as it can take before others must
/// be taken from it, or before what takes long. Writes what `pld_coder_ready` returns to where
/// nonces are, because calls take time. Arguments: file, bytes.
fn coder_push(
    scratch: &mut Scratch,
    objects: &mut Objects,
    arguments: &Arguments,
) -> Result<u32, Failure> {
    let (file, bytes) = (objects.coders.get(arguments.number(0)?)?, arguments.array(1)?);
    // SAFETY: nothing writes to the bytes.
    let bytes = unsafe { bytes.read() };
    // The number of bytes is a number of 32 bits for JavaScript.
    let bytes = &bytes[..bytes.len().min(1 << 30)];
    let mut taken = 0;
    while taken < bytes.len() {
        let room = file.room()?;
        let len = room.len().min(bytes.len() - taken);
        if len == 0 {
            break;
        }
        room[..len].copy_from_slice(&bytes[taken..][..len]);
        file.filled(len);
        taken += len;
    }
    scratch.set_long(file.ready()?.into());
    Ok(taken as u32)
}

/// Takes the bytes of a file that are ready. Arguments: file, array for exactly these.
fn coder_take(
    _: &mut Scratch,
    objects: &mut Objects,
    arguments: &Arguments,
) -> Result<u32, Failure> {
    let (file, out) = (objects.coders.get(arguments.number(0)?)?, arguments.array(1)?);
    if file.ready()? as usize != out.len {
        return Err(Failure::Argument);
    }
    // SAFETY: only this slice uses the array.
    let out = unsafe { out.write() };
    match file {
        Coder::Encoder(encoder) => encoder.take_into(out)?,
        Coder::Decoder(decoder) => {
            out.copy_from_slice(decoder.text()?);
            decoder.consume(out.len());
        }
    }
    Ok(0)
}

/// Takes what a file wants before it is open. Arguments: file, length, buffer.
fn reader_give(
    _: &mut Scratch,
    objects: &mut Objects,
    arguments: &Arguments,
) -> Result<u32, Failure> {
    let [file, len] = arguments.numbers()?;
    let (file, buffer) = (objects.readers.get(file)?, arguments.array(2)?);
    // SAFETY: only this slice uses the buffer.
    file::give(&mut file.state, unsafe { buffer.write() }, len)
}

/// Opens the chunk whose number is where nonces are. Arguments: file, length, buffer.
fn reader_open(
    scratch: &mut Scratch,
    objects: &mut Objects,
    arguments: &Arguments,
) -> Result<u32, Failure> {
    let [file, len] = arguments.numbers()?;
    let (file, buffer) = (objects.readers.get(file)?, arguments.array(2)?);
    // SAFETY: only this slice uses the buffer.
    file::open_any(&file.state, scratch.long(), unsafe { buffer.write() }, len)
}

/// A file that another thread creates, because Argon2id takes long.
struct Task {
    create: Option<Box<dyn file::Create>>,
    result: Result<file::New, Failure>,
    work: sys::napi_async_work,
    /// The function to call with the result.
    callback: sys::napi_ref,
}

/// Creates a file on another thread. Then calls the last argument, a function, with the file's
/// number, or -1 after writing an error.
fn later(arguments: &Arguments, create: impl file::Create + 'static) -> Result<u32, Failure> {
    let env = arguments.env;
    let function = arguments.count.checked_sub(1).ok_or(Failure::Argument)?;
    let function = arguments.values[function];
    let task = Box::into_raw(Box::new(Task {
        create: Some(Box::new(create)),
        result: Err(Failure::Panic), // for now
        work: null_mut(),
        callback: null_mut(),
    }));
    let data = task.cast();
    let (name, mut text) = ("palladion", null_mut());
    let len = name.len().cast_signed();
    // SAFETY: the environment and the value are those of the running call. If the work was queued,
    // the task belongs to it; if not, nothing else has its address any more.
    unsafe {
        let Task { work, callback, .. } = &mut *task;
        if sys::napi_create_reference(env, function, 1, callback) == OK
            && sys::napi_create_string_utf8(env, name.as_ptr().cast(), len, &mut text) == OK
            && sys::napi_create_async_work(
                env,
                null_mut(),
                text,
                Some(execute),
                Some(complete),
                data,
                work,
            ) == OK
            && sys::napi_queue_async_work(env, *work) == OK
        {
            return Ok(0);
        }
        Box::from_raw(task).free(env);
    }
    Err(Failure::Argument)
}

impl Task {
    /// # Safety
    ///
    /// The environment is that of the task, and its work does not run.
    unsafe fn free(&self, env: sys::napi_env) {
        // SAFETY: the caller promises that both are valid, or null if they were never created.
        unsafe {
            if !self.work.is_null() {
                sys::napi_delete_async_work(env, self.work);
            }
            if !self.callback.is_null() {
                sys::napi_delete_reference(env, self.callback);
            }
        }
    }
}

/// Node-API calls this on another thread.
unsafe extern "C" fn execute(_: sys::napi_env, task: *mut c_void) {
    // SAFETY: `later` made this pointer of a box, and only this function uses it until it returns.
    let task = unsafe { &mut *task.cast::<Task>() };
    if let Some(create) = task.create.take() {
        task.result = catch_unwind(AssertUnwindSafe(create)).unwrap_or(Err(Failure::Panic));
    }
}

/// Node-API calls this afterwards on the thread of the environment, also if the environment ends.
unsafe extern "C" fn complete(env: sys::napi_env, _: sys::napi_status, task: *mut c_void) {
    // SAFETY: `later` made this pointer of a box, and Node-API is done with it. The environment has
    // the instance that `register` gave it, which nothing else uses now. The callback may use it,
    // so the borrows end before. If the environment ends, the calls fail and do nothing.
    unsafe {
        let mut task = Box::from_raw(task.cast::<Task>());
        let mut instance = null_mut();
        sys::napi_get_instance_data(env, &mut instance);
        if let Some(Instance { scratch, objects }) = instance.cast::<Instance>().as_mut() {
            let scratch = scratch.as_mut();
            let result = core::mem::replace(&mut task.result, Err(Failure::Panic));
            let result = result.map(|new| new.keep(objects));
            let number = answer(&mut scratch.text, result).cast_signed();
            let (mut this, mut callback, mut value) = (null_mut(), null_mut(), null_mut());
            if sys::napi_get_undefined(env, &mut this) == OK
                && sys::napi_get_reference_value(env, task.callback, &mut callback) == OK
                && sys::napi_create_int32(env, number, &mut value) == OK
            {
                sys::napi_call_function(env, this, callback, 1, &value, null_mut());
            }
        }
        task.free(env);
    }
}

/// Sets a property to what `create` creates, if that worked.
///
/// # Safety
///
/// The environment and the object are those of the running call.
unsafe fn set(
    env: sys::napi_env,
    object: sys::napi_value,
    name: &CStr,
    create: impl FnOnce(&mut sys::napi_value) -> sys::napi_status,
) -> Option<sys::napi_value> {
    let mut value = null_mut();
    let good = create(&mut value) == OK
        // SAFETY: the caller promises that environment and object are valid.
        && unsafe { sys::napi_set_named_property(env, object, name.as_ptr(), value) } == OK;
    good.then_some(value)
}

/// Creates an instance and its functions.
///
/// # Safety
///
/// Node-API is the caller, with a new object.
unsafe fn register(env: sys::napi_env, exports: sys::napi_value) -> Option<()> {
    // SAFETY: environment and object are those of the running call. The reference keeps the memory
    // until the environment ends, as long as the instance, which is freed once, by Node-API.
    unsafe {
        let mut start = null_mut();
        let len = size_of::<Scratch>() + align_of::<Scratch>();
        let memory = set(env, exports, c"memory", |value| {
            sys::napi_create_arraybuffer(env, len, &mut start, value)
        })?;
        let mut kept = null_mut();
        if sys::napi_create_reference(env, memory, 1, &mut kept) != OK {
            return None;
        }
        let offset = start.align_offset(align_of::<Scratch>());
        let scratch = NonNull::new(start.byte_add(offset))?.cast::<Scratch>();
        for (name, place) in
            [c"key", c"nonce", c"tag", c"text", c"data"].into_iter().zip(Scratch::PLACES)
        {
            let place = (offset + place) as u32;
            set(env, exports, name, |value| sys::napi_create_uint32(env, place, value))?;
        }
        let room = Scratch::PLACES[5] as u32;
        set(env, exports, c"room", |value| sys::napi_create_uint32(env, room, value))?;
        let version = env!("CARGO_PKG_VERSION");
        set(env, exports, c"version", |value| {
            let len = version.len().cast_signed();
            sys::napi_create_string_utf8(env, version.as_ptr().cast(), len, value)
        })?;

        let instance = Box::into_raw(Box::new(Instance { scratch, objects: Objects::new() }));
        if sys::napi_set_instance_data(env, instance.cast(), Some(free), null_mut()) != OK {
            drop(Box::from_raw(instance));
            return None;
        }
        for (name, function) in MESSAGES.iter().chain(FILES).chain(ARRAYS) {
            set(env, exports, name, |value| {
                let len = name.count_bytes().cast_signed();
                let data = instance.cast();
                sys::napi_create_function(env, name.as_ptr(), len, Some(*function), data, value)
            })?;
        }
    }
    Some(())
}

/// Frees an instance, with all its objects, at the end of a thread.
unsafe extern "C" fn free(_: sys::napi_env, instance: *mut c_void, _: *mut c_void) {
    // SAFETY: `register` made this pointer of a box, and Node-API calls this once, when no function
    // can be called any more.
    drop(unsafe { Box::from_raw(instance.cast::<Instance>()) });
}

/// Node-API calls this when a thread loads the addon. If something fails, the object lacks
/// functions, and JavaScript uses WebAssembly.
#[unsafe(no_mangle)] // the name that Node-API looks for
unsafe extern "C" fn napi_register_module_v1(
    env: sys::napi_env,
    exports: sys::napi_value,
) -> sys::napi_value {
    static LOADED: Once = Once::new();
    // Looks up Node-API's functions in the program, which is never unloaded.
    // SAFETY: the handle is never closed, and no function is called before this.
    LOADED.call_once(|| core::mem::forget(unsafe { sys::setup() }));
    // SAFETY: Node-API is the caller.
    unsafe { register(env, exports) };
    exports
}
