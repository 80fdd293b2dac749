//! The crate `aegis`, compiled from C, or from Rust with the feature `pure-rust`.

use super::RawJob;

/// See [`super::job::Run`].
///
/// # Safety
///
/// The pointers in `job` must be valid for their lengths.
pub unsafe fn run(variant: u32, operation: u32, repeats: u64, job: &RawJob) -> i32 {
    let run = match variant {
        0 => aegis128l::run,
        1 => aegis128x2::run,
        2 => aegis128x4::run,
        3 => aegis256::run,
        4 => aegis256x2::run,
        5 => aegis256x4::run,
        _ => return 2,
    };
    // SAFETY: the caller promises that the job's pointers are valid.
    unsafe { run(operation, repeats, job) }
}

const TAG_LEN: usize = 16;

/// libaegis's C functions. Unlike the crate's own API they can write to another buffer, and they
/// cost no more.
#[cfg(not(feature = "pure-rust"))]
macro_rules! variant {
    ($name:ident, $cipher:ident, $mac:ident, $key_len:literal,
     $encrypt:ident, $decrypt:ident, $mac_init:ident, $mac_update:ident, $mac_final:ident) => {
        mod $name {
            use super::*;

            unsafe extern "C" {
                fn $encrypt(
                    c: *mut u8,
                    mac: *mut u8,
                    maclen: usize,
                    m: *const u8,
                    mlen: usize,
                    ad: *const u8,
                    adlen: usize,
                    npub: *const u8,
                    k: *const u8,
                ) -> i32;
                fn $decrypt(
                    m: *mut u8,
                    c: *const u8,
                    clen: usize,
                    mac: *const u8,
                    maclen: usize,
                    ad: *const u8,
                    adlen: usize,
                    npub: *const u8,
                    k: *const u8,
                ) -> i32;
                fn $mac_init(st: *mut MacState, k: *const u8, npub: *const u8);
                fn $mac_update(st: *mut MacState, m: *const u8, mlen: usize) -> i32;
                fn $mac_final(st: *mut MacState, mac: *mut u8, maclen: usize) -> i32;
            }

            pub unsafe fn run(operation: u32, repeats: u64, j: &RawJob) -> i32 {
                // The crate selects its implementation for this CPU.
                static INIT: std::sync::Once = std::sync::Once::new();
                INIT.call_once(|| drop(aegis::$name::$mac::<TAG_LEN>::new(&[0; $key_len])));
                let mut failed = 0;
                for _ in 0..repeats {
                    let j = std::hint::black_box(j);
                    // SAFETY: the caller's promise; MacState is larger and more aligned than any of
                    // theirs.
                    unsafe {
                        failed |= match operation {
                            0 => $encrypt(
                                j.output, j.tag, TAG_LEN, j.input, j.len, j.ad, j.ad_len, j.nonce,
                                j.key,
                            ),
                            1 => $decrypt(
                                j.output, j.input, j.len, j.tag, TAG_LEN, j.ad, j.ad_len, j.nonce,
                                j.key,
                            ),
                            2 => {
                                let mut state = std::mem::MaybeUninit::uninit();
                                $mac_init(state.as_mut_ptr(), j.key, j.nonce);
                                $mac_update(state.as_mut_ptr(), j.input, j.len)
                                    | $mac_final(state.as_mut_ptr(), j.tag, TAG_LEN)
                            }
                            _ => return 2,
                        };
                    }
                }
                failed
            }
        }
    };
}

/// Memory for libaegis's largest MAC state, which has 1344 bytes.
#[cfg(not(feature = "pure-rust"))]
#[repr(C, align(64))]
struct MacState([u8; 2048]);

/// The crate's own API, which works in place, so it copies the input to another buffer first.
#[cfg(feature = "pure-rust")]
macro_rules! variant {
    ($name:ident, $cipher:ident, $mac:ident, $key_len:literal $(, $c_function:ident)*) => {
        mod $name {
            use super::*;
            use aegis::$name::{$cipher, $mac};

            pub unsafe fn run(operation: u32, repeats: u64, j: &RawJob) -> i32 {
                for _ in 0..repeats {
                    let j = std::hint::black_box(j);
                    // SAFETY: the caller's promise; `copy` allows that input and output are the
                    // same.
                    unsafe {
                        let (key, nonce) =
                            (&*j.key.cast::<[u8; $key_len]>(), &*j.nonce.cast::<[u8; $key_len]>());
                        let ad = std::slice::from_raw_parts(j.ad, j.ad_len);
                        match operation {
                            0 | 1 => {
                                if j.input != j.output.cast_const() {
                                    j.input.copy_to(j.output, j.len);
                                }
                                let buf = std::slice::from_raw_parts_mut(j.output, j.len);
                                let cipher = $cipher::<TAG_LEN>::new(key, nonce);
                                let tag = &mut *j.tag.cast::<[u8; TAG_LEN]>();
                                if operation == 0 {
                                    *tag = cipher.encrypt_in_place(buf, ad);
                                } else if cipher.decrypt_in_place(buf, tag, ad).is_err() {
                                    return 1;
                                }
                            }
                            2 => {
                                let mut mac = $mac::<TAG_LEN>::new_with_nonce(key, nonce);
                                mac.update(std::slice::from_raw_parts(j.input, j.len));
                                j.tag.cast::<[u8; TAG_LEN]>().write(mac.finalize());
                            }
                            _ => return 2,
                        }
                    }
                }
                0
            }
        }
    };
}

variant!(
    aegis128l,
    Aegis128L,
    Aegis128LMac,
    16,
    aegis128l_encrypt_detached,
    aegis128l_decrypt_detached,
    aegis128l_mac_init,
    aegis128l_mac_update,
    aegis128l_mac_final
);
variant!(
    aegis128x2,
    Aegis128X2,
    Aegis128X2Mac,
    16,
    aegis128x2_encrypt_detached,
    aegis128x2_decrypt_detached,
    aegis128x2_mac_init,
    aegis128x2_mac_update,
    aegis128x2_mac_final
);
variant!(
    aegis128x4,
    Aegis128X4,
    Aegis128X4Mac,
    16,
    aegis128x4_encrypt_detached,
    aegis128x4_decrypt_detached,
    aegis128x4_mac_init,
    aegis128x4_mac_update,
    aegis128x4_mac_final
);
variant!(
    aegis256,
    Aegis256,
    Aegis256Mac,
    32,
    aegis256_encrypt_detached,
    aegis256_decrypt_detached,
    aegis256_mac_init,
    aegis256_mac_update,
    aegis256_mac_final
);
variant!(
    aegis256x2,
    Aegis256X2,
    Aegis256X2Mac,
    32,
    aegis256x2_encrypt_detached,
    aegis256x2_decrypt_detached,
    aegis256x2_mac_init,
    aegis256x2_mac_update,
    aegis256x2_mac_final
);
variant!(
    aegis256x4,
    Aegis256X4,
    Aegis256X4Mac,
    32,
    aegis256x4_encrypt_detached,
    aegis256x4_decrypt_detached,
    aegis256x4_mac_init,
    aegis256x4_mac_update,
    aegis256x4_mac_final
);
