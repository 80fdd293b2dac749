//! The functions of the C library, as its headers declare them.

#![allow(unsafe_code)] // declares them

use std::ffi::c_int;
use std::ptr::null;

use palladion::Error;
use palladion_fuzz_capi as _; // its functions have C's names

type In = *const u8;
type Out = *mut u8;

/// Declares a structure of all functions of a variant, and `variant!`, which makes it of those with
/// a prefix. The first token is a dollar sign, for the inner macro.
macro_rules! functions {
    ($d:tt $($name:ident($($type:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions of a variant, and the sizes of its states.
        pub struct Functions {
            pub state_len: usize,
            pub mac_state_len: usize,
            $(pub $name: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
        }

        macro_rules! variant {
            ($d prefix:literal $d state_len:literal $d mac_state_len:literal) => {{
                unsafe extern "C" {
                    $(
                        #[link_name = concat!($d prefix, "_", stringify!($name))]
                        fn $name($(_: $type),*) $(-> $result)?;
                    )*
                }
                let (state_len, mac_state_len) = ($d state_len, $d mac_state_len);
                Functions { state_len, mac_state_len, $($name),* }
            }};
        }
    };
}

functions! { $
    encrypt_detached(Out, Out, usize, In, usize, In, usize, In, In) -> c_int;
    decrypt_detached(Out, In, usize, In, usize, In, usize, In, In) -> c_int;
    encrypt(Out, usize, In, usize, In, usize, In, In) -> c_int;
    decrypt(Out, In, usize, usize, In, usize, In, In) -> c_int;
    state_init(Out, In, usize, In, In);
    state_encrypt_update(Out, Out, In, usize) -> c_int;
    state_encrypt_final(Out, Out, usize) -> c_int;
    state_decrypt_update(Out, Out, In, usize) -> c_int;
    state_decrypt_final(Out, In, usize) -> c_int;
    stream(Out, usize, In, In);
    stream_xor(Out, In, usize, In, In);
    encrypt_unauthenticated(Out, In, usize, In, In);
    decrypt_unauthenticated(Out, In, usize, In, In);
    mac_init(Out, In, In);
    mac_update(Out, In, usize) -> c_int;
    mac_final(Out, Out, usize) -> c_int;
    mac_verify(Out, In, usize) -> c_int;
    mac_reset(Out);
    mac_state_clone(Out, In);
}

/// The variants in the order of [`palladion::Algorithm::ALL`]. The sizes of states are those of the
/// headers.
pub static FUNCTIONS: [Functions; 6] = [
    variant!("aegis128l" 256 384),
    variant!("aegis128x2" 448 704),
    variant!("aegis128x4" 832 1344),
    variant!("aegis256" 192 288),
    variant!("aegis256x2" 320 512),
    variant!("aegis256x4" 576 960),
];

/// C's `palladion_message`.
#[repr(C)]
pub struct Message {
    pub input: In,
    pub out: Out,
    pub len: usize,
    pub mac: Out,
    pub ad: In,
    pub ad_len: usize,
    pub npub: In,
    pub k: In,
    pub result: c_int,
}

// The algorithm's number, the length of tags, and the messages.
unsafe extern "C" {
    pub fn palladion_encrypt_batch(_: c_int, _: usize, _: *mut Message, _: usize) -> c_int;
    pub fn palladion_decrypt_batch(_: c_int, _: usize, _: *mut Message, _: usize) -> c_int;
}

/// A pointer to bytes. To none it is null.
pub fn ptr(bytes: &[u8]) -> In {
    if bytes.is_empty() { null() } else { bytes.as_ptr() }
}

/// A pointer to a nonce. To one of zeros it is null.
pub fn nonce_ptr(nonce: &[u8]) -> In {
    if nonce.iter().all(|byte| *byte == 0) { null() } else { nonce.as_ptr() }
}

/// What a call's result means. Its arguments are right, so what is not right is the tag, or the
/// state has ended.
pub fn result(call: impl FnOnce() -> c_int) -> Result<(), Error> {
    errno::set_errno(errno::Errno(0));
    match (call(), errno::errno().0) {
        (0, 0) => Ok(()),
        (-1, 0) => Err(Error::VerificationFailed),
        (-1, libc::EINVAL) => Err(Error::Finalized),
        other => panic!("a C function returned {other:?}"),
    }
}
