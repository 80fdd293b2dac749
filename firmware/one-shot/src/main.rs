//! The functions for one call of the variants and kinds that the features name, and nothing else:
//! what the linker puts into this program is what they need. It is linked, measured and never run.
//!
//! If one of them could panic, it would reach the panic handler, and that calls a function that
//! does not exist: the program could not be linked. (What cannot be reached the linker drops before
//! it looks for such functions. And what is reached only for the optimiser not to see that it is
//! not, counts as reached.)

#![allow(unsafe_code)] // names for the linker

#![no_std]
#![no_main]
#![allow(dead_code, unused_imports)] // as many features leave something out

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

/// What a precompiled `core` refers to and nobody calls.
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
