//! The exported names. The headers in `include/` document the functions and their contracts.

use core::ffi::c_int;
use core::sync::atomic::Ordering;

use palladion::family::{Aegis128, Aegis256};
use palladion::{Error, Tag};

use crate::status::{FAILED, FELL_BACK, OK, invalid_argument, with_backend};
use crate::{aead, mac};

#[unsafe(no_mangle)]
extern "C" fn aegis_init() -> c_int {
    let chosen = with_backend(|| palladion::backend().map_err(Error::from));
    if chosen.is_ok() && !FELL_BACK.load(Ordering::Relaxed) { OK } else { invalid_argument() }
}

/// # Safety
/// Both readable for 16 bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn aegis_verify_16(x: *const u8, y: *const u8) -> c_int {
    // SAFETY: the caller's contract.
    let (x, y) = unsafe { (*x.cast::<[u8; 16]>(), *y.cast::<[u8; 16]>()) };
    if Tag::from(x) == Tag::from(y) { OK } else { FAILED }
}

/// # Safety
/// Both readable for 32 bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn aegis_verify_32(x: *const u8, y: *const u8) -> c_int {
    // SAFETY: the caller's contract.
    let (x, y) = unsafe { (*x.cast::<[u8; 32]>(), *y.cast::<[u8; 32]>()) };
    if Tag::from(x) == Tag::from(y) { OK } else { FAILED }
}

/// Exports functions that call generic ones with the same arguments.
macro_rules! functions {
    (
        $prefix:literal;
        $($name:literal $function:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? = $to:expr;)*
    ) => {
        $(
            #[unsafe(export_name = concat!($prefix, $name))]
            #[allow(clippy::too_many_arguments)] // C's
            pub(crate) unsafe extern "C" fn $function($($arg: $type),*) $(-> $result)? {
                // SAFETY: the caller's contract, which is that of the header.
                unsafe { $to($($arg),*) }
            }
        )*
    };
}

pub(crate) use functions;

/// Exports the functions of a variant, given the sizes of its state and its MAC state in bytes.
macro_rules! variant {
    (
        $module:ident, $prefix:literal, $family:ident $degree:literal, $state:literal,
        $mac_state:literal
    ) => {
        pub(crate) mod $module {
            use super::*;

            type F = $family;
            const D: usize = $degree;
            const KEY_LEN: usize = <F as palladion::family::Family>::KEY_LEN;

            /// Bytes that a step absorbs.
            const RATE: usize = D * if KEY_LEN == 16 { 32 } else { 16 };

            #[unsafe(export_name = concat!($prefix, "_keybytes"))]
            extern "C" fn keybytes() -> usize {
                KEY_LEN
            }
            #[unsafe(export_name = concat!($prefix, "_npubbytes"))]
            extern "C" fn npubbytes() -> usize {
                KEY_LEN
            }
            #[unsafe(export_name = concat!($prefix, "_abytes_min"))]
            extern "C" fn abytes_min() -> usize {
                16
            }
            #[unsafe(export_name = concat!($prefix, "_abytes_max"))]
            extern "C" fn abytes_max() -> usize {
                32
            }
            #[unsafe(export_name = concat!($prefix, "_tailbytes_max"))]
            extern "C" fn tailbytes_max() -> usize {
                RATE - 1
            }

            #[unsafe(export_name = concat!($prefix, "_encrypt"))]
            unsafe extern "C" fn encrypt(
                c: *mut u8,
                maclen: usize,
                m: *const u8,
                mlen: usize,
                ad: *const u8,
                adlen: usize,
                npub: *const u8,
                k: *const u8,
            ) -> c_int {
                let tag = c.wrapping_add(mlen);
                // SAFETY: the caller's contract, which is that of the header.
                unsafe { encrypt_detached(c, tag, maclen, m, mlen, ad, adlen, npub, k) }
            }
            #[unsafe(export_name = concat!($prefix, "_decrypt"))]
            unsafe extern "C" fn decrypt(
                m: *mut u8,
                c: *const u8,
                clen: usize,
                maclen: usize,
                ad: *const u8,
                adlen: usize,
                npub: *const u8,
                k: *const u8,
            ) -> c_int {
                let Some(len) = clen.checked_sub(maclen) else { return FAILED };
                let tag = c.wrapping_add(len);
                // SAFETY: the caller's contract, which is that of the header.
                unsafe { decrypt_detached(m, c, len, tag, maclen, ad, adlen, npub, k) }
            }

            functions! { $prefix;
                "_encrypt_detached" encrypt_detached(
                    c: *mut u8, mac: *mut u8, maclen: usize, m: *const u8, mlen: usize,
                    ad: *const u8, adlen: usize, npub: *const u8, k: *const u8
                ) -> c_int = aead::encrypt_detached::<F, D>;
                "_decrypt_detached" decrypt_detached(
                    m: *mut u8, c: *const u8, clen: usize, mac: *const u8, maclen: usize,
                    ad: *const u8, adlen: usize, npub: *const u8, k: *const u8
                ) -> c_int = aead::decrypt_detached::<F, D>;

                "_state_init" state_init(
                    st: *mut u8, ad: *const u8, adlen: usize, npub: *const u8, k: *const u8
                ) = aead::state_init::<F, D, $state>;
                "_state_encrypt_update" state_encrypt_update(
                    st: *mut u8, c: *mut u8, m: *const u8, mlen: usize
                ) -> c_int = aead::state_update::<F, D, $state, true>;
                "_state_encrypt_final" state_encrypt_final(
                    st: *mut u8, mac: *mut u8, maclen: usize
                ) -> c_int = aead::state_encrypt_final::<F, D, $state>;
                "_state_decrypt_update" state_decrypt_update(
                    st: *mut u8, m: *mut u8, c: *const u8, clen: usize
                ) -> c_int = aead::state_update::<F, D, $state, false>;
                "_state_decrypt_final" state_decrypt_final(
                    st: *mut u8, mac: *const u8, maclen: usize
                ) -> c_int = aead::state_decrypt_final::<F, D, $state>;

                "_stream" stream(out: *mut u8, len: usize, npub: *const u8, k: *const u8)
                    = aead::stream::<F, D>;
                "_stream_xor" stream_xor(
                    out: *mut u8, input: *const u8, len: usize, npub: *const u8, k: *const u8
                ) = aead::stream_xor::<F, D>;
                "_encrypt_unauthenticated" encrypt_unauthenticated(
                    c: *mut u8, m: *const u8, mlen: usize, npub: *const u8, k: *const u8
                ) = aead::unauthenticated::<F, D, true>;
                "_decrypt_unauthenticated" decrypt_unauthenticated(
                    m: *mut u8, c: *const u8, clen: usize, npub: *const u8, k: *const u8
                ) = aead::unauthenticated::<F, D, false>;

                "_mac_init" mac_init(st: *mut u8, k: *const u8, npub: *const u8)
                    = mac::init::<F, D, $mac_state>;
                "_mac_update" mac_update(st: *mut u8, m: *const u8, mlen: usize) -> c_int
                    = mac::update::<F, D>;
                "_mac_final" mac_final(st: *mut u8, tag: *mut u8, maclen: usize) -> c_int
                    = mac::finalize::<F, D>;
                "_mac_verify" mac_verify(st: *mut u8, tag: *const u8, maclen: usize) -> c_int
                    = mac::verify::<F, D>;
                "_mac_reset" mac_reset(st: *mut u8) = mac::reset::<F, D>;
                "_mac_state_clone" mac_state_clone(dst: *mut u8, src: *const u8)
                    = mac::clone::<F, D>;
            }
        }
    };
}

variant!(aegis128l, "aegis128l", Aegis128 1, 256, 384);
variant!(aegis128x2, "aegis128x2", Aegis128 2, 448, 704);
variant!(aegis128x4, "aegis128x4", Aegis128 4, 832, 1344);
variant!(aegis256, "aegis256", Aegis256 1, 192, 288);
variant!(aegis256x2, "aegis256x2", Aegis256 2, 320, 512);
variant!(aegis256x4, "aegis256x4", Aegis256 4, 576, 960);
