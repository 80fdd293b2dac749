//! The one-shot functions of the variants and operations that the features select, and nothing
//! else. The program is linked and measured, but never run.
//!
//! If one of the functions could panic, it would reach the panic handler. That calls a function
//! that does not exist, so the program could not be linked. The linker drops unreachable code
//! before it looks for such functions. Code counts as reachable if the optimiser cannot prove
//! otherwise.

#![allow(unsafe_code)] // names for the linker
#![no_std]
#![no_main]
#![allow(dead_code, unused_imports)] // many combinations of features leave something unused

use core::hint::black_box;

use palladion::family::{Aegis128, Aegis256, Family};
use palladion::{Aegis, Error, Mac, Tag};

unsafe extern "C" {
    safe fn a_panic_can_be_reached() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    #[cfg(feature = "may-panic")]
    loop {}
    #[cfg(not(feature = "may-panic"))]
    a_panic_can_be_reached()
}

/// A precompiled `core` refers to this function, but nothing calls it.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

type Result<T = ()> = core::result::Result<T, Error>;

fn encrypt<F: Family, const D: usize>(
    key: &F::Key,
    nonce: &F::Nonce,
    ad: &[u8],
    buf: &mut [u8],
) -> Result<Tag<16>> {
    Aegis::<F, D, 16>::new(key).encrypt_in_place(nonce, ad, buf)
}

fn decrypt<F: Family, const D: usize>(
    key: &F::Key,
    nonce: &F::Nonce,
    ad: &[u8],
    buf: &mut [u8],
    tag: &Tag<16>,
) -> Result {
    Aegis::<F, D, 16>::new(key).decrypt_in_place(nonce, ad, buf, tag)
}

fn mac<F: Family, const D: usize>(key: &F::Key, nonce: &F::Nonce, data: &[u8]) -> Result<Tag<16>> {
    Mac::<F, D, 16>::mac(key, nonce, data)
}

fn verify_mac<F: Family, const D: usize>(
    key: &F::Key,
    nonce: &F::Nonce,
    data: &[u8],
    tag: &Tag<16>,
) -> Result {
    Mac::<F, D, 16>::verify_mac(key, nonce, data, tag)
}

fn pieces<F: Family, const D: usize>(
    key: &F::Key,
    nonce: &F::Nonce,
    ad: &[u8],
    pieces: &mut [&mut [u8]],
) -> Result<Tag<16>> {
    let mut encryptor = Aegis::<F, D, 16>::new(key).encryptor(nonce, ad)?;
    for piece in pieces {
        encryptor.update_in_place(piece)?;
    }
    Ok(encryptor.finalize())
}

/// Keeps the functions of one variant.
fn keep<F: Family, const D: usize>() {
    #[cfg(feature = "encrypt")]
    black_box(encrypt::<F, D> as *const ());
    #[cfg(feature = "decrypt")]
    black_box(decrypt::<F, D> as *const ());
    #[cfg(feature = "mac")]
    black_box((mac::<F, D> as *const (), verify_mac::<F, D> as *const ()));
    #[cfg(feature = "pieces")]
    black_box(pieces::<F, D> as *const ());
}

#[unsafe(no_mangle)]
extern "C" fn _start() {
    #[cfg(feature = "aegis-128l")]
    keep::<Aegis128, 1>();
    #[cfg(feature = "aegis-128x2")]
    keep::<Aegis128, 2>();
    #[cfg(feature = "aegis-128x4")]
    keep::<Aegis128, 4>();
    #[cfg(feature = "aegis-256")]
    keep::<Aegis256, 1>();
    #[cfg(feature = "aegis-256x2")]
    keep::<Aegis256, 2>();
    #[cfg(feature = "aegis-256x4")]
    keep::<Aegis256, 4>();
    #[cfg(feature = "planted-panic")]
    black_box((|bytes: &[u8], i: usize| bytes[i]) as fn(&[u8], usize) -> u8 as *const ());
}
