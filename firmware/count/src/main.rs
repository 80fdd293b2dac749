//! Encrypts, decrypts or authenticates without output, so that `firmware/count/run.sh` can count
//! its instructions. Needs no operating system.
//!
//! `count VARIANT OPERATION SIZE TIMES [BACKEND]` Without arguments, it prints the available
//! backends.

#![cfg_attr(not(feature = "std"), no_std, no_main)]
#![deny(unsafe_code)] // except in `cortex_m`

#[cfg(not(feature = "std"))]
#[allow(unsafe_code)]
mod cortex_m;

use core::hint::black_box;

use palladion::family::{Aegis128, Aegis256, Family};
use palladion::{Aegis, Backend, Mac, set_backend};

/// Runs the program with its arguments and two buffers that are at least as long as the message.
fn run<'a>(
    mut arguments: impl Iterator<Item = &'a str>,
    message: &mut [u8],
    ciphertext: &mut [u8],
    print: impl Fn(&str),
) {
    let Some(variant) = arguments.next() else {
        for backend in Backend::ALL.iter().filter(|backend| backend.is_available()) {
            print(backend.name());
            print("\n");
        }
        return;
    };
    let work = match variant {
        "128l" => work::<Aegis128, 1>,
        "128x2" => work::<Aegis128, 2>,
        "128x4" => work::<Aegis128, 4>,
        "256" => work::<Aegis256, 1>,
        "256x2" => work::<Aegis256, 2>,
        "256x4" => work::<Aegis256, 4>,
        _ => panic!("no such variant"),
    };
    let operation = arguments.next().expect("an operation");
    let [size, times] =
        [(); 2].map(|()| arguments.next().expect("a number").parse().expect("a number"));
    if let Some(name) = arguments.next() {
        set_backend(name.parse().unwrap()).unwrap();
    }
    work(operation, &mut message[..size], &mut ciphertext[..size], times);
}

/// Repeats an operation.
fn work<F: Family, const D: usize>(
    operation: &str,
    message: &mut [u8],
    ciphertext: &mut [u8],
    times: usize,
) {
    let Ok(key) = F::Key::try_from(&[0; 32][..F::KEY_LEN]) else { panic!("the length is right") };
    let nonce = F::Nonce::default();
    let cipher = Aegis::<F, D, 16>::new(&key);
    // Do this always, so that it adds the same to every count.
    let tag = cipher.encrypt_into(&nonce, b"", message, ciphertext).unwrap();
    for _ in 0..times {
        match operation {
            "encrypt" => {
                _ = cipher.encrypt_into(&nonce, b"", black_box(message), ciphertext).unwrap()
            }
            "decrypt" => {
                cipher.decrypt_into(&nonce, b"", black_box(ciphertext), &tag, message).unwrap()
            }
            "mac" => _ = black_box(Mac::<F, D, 16>::mac(&key, &nonce, black_box(message)).unwrap()),
            _ => panic!("no such operation"),
        }
        black_box((&mut *message, &mut *ciphertext));
    }
}

#[cfg(feature = "std")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let size = arguments.get(2).map_or(0, |size| size.parse().expect("a number"));
    let arguments = arguments.iter().map(String::as_str);
    run(arguments, &mut vec![0; size], &mut vec![0; size], |text| print!("{text}"));
}
