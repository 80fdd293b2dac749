//! Handles secrets in every way that the Rust API has, while valgrind reports each branch and
//! address that depends on one. `assurance/constant-time.sh` runs it, and `c_api.c` for the C API.
//!
//! `constant-time [--plant table|comparison] BACKEND`
//!
//! Keys, nonces, messages, associated data, key streams, states and all that is computed from them
//! are secret, including ciphertexts and tags. Lengths are public, and whether a tag is right.

#![forbid(unsafe_code)]

mod calls;
mod files;
mod other_calls;
mod random_access;

use std::fmt::Debug;
use std::hint::black_box;

use palladion::hazmat::secrecy::{is_watched, public, secret}; // with --cfg palladion_secrecy
use palladion::{Aegis128L, Key128, Nonce128, set_backend};

use calls::Secrets;

/// Makes each call once.
pub struct Check;

impl Check {
    /// Lengths of messages, around a block, a step of `rate` bytes and several steps.
    pub fn lengths(rate: usize) -> Vec<usize> {
        vec![0, 1, 15, 16, rate - 1, rate, rate + 1, 2 * rate + 17, 9 * rate + 3]
    }

    pub fn call<T>(
        &mut self,
        _: &str,
        len: usize,
        make: impl Fn(&Secrets) -> T,
        call: impl Fn(&mut T),
        _: impl Fn(&T) -> Vec<u8>,
    ) {
        call(&mut make(&secrets(len)));
    }

    /// Also prints the object with `Debug`, which must not look at secrets.
    pub fn object<T: Debug>(&mut self, _: &str, make: impl Fn(&Secrets) -> T) {
        shown(&make(&secrets(100)));
    }

    pub fn publish(bytes: &[u8]) {
        public(bytes);
    }
}

/// Secrets, and as many bytes of associated data as take another way than the message.
fn secrets(len: usize) -> Secrets {
    Secrets {
        key: hidden_array(),
        nonce: hidden_array(),
        ad: hidden(len * 7 % 79),
        text: hidden(len),
    }
}

/// Secret bytes.
fn hidden(len: usize) -> Vec<u8> {
    let bytes: Vec<u8> = (0..len).map(|i| (i * i + 3 * i + len) as u8).collect();
    secret(&bytes);
    bytes
}

/// An array of secret bytes.
fn hidden_array<const N: usize>() -> [u8; N] {
    hidden(N).try_into().expect("N bytes")
}

fn shown<Secret: Debug>(secret: &Secret) {
    black_box(format!("{secret:?}"));
}

/// Defects that the tool must find. They depend on a tag, so that the secret has to pass through
/// the backend's kernel.
fn plant(defect: &str) {
    let key = Key128::from(hidden_array());
    let tag = Aegis128L::new(&key)
        .encrypt_in_place(&Nonce128::default(), b"", &mut [])
        .expect("an empty message");
    let tag: &[u8; 16] = tag.as_bytes();
    match defect {
        "table" => {
            static TABLE: [u8; 256] = [7; 256];
            black_box(black_box(&TABLE)[usize::from(tag[3])]);
        }
        "comparison" => {
            // Like a comparison of slices, it stops at the first byte that differs.
            let other = black_box([0; 16]);
            black_box(tag.iter().zip(&other).all(|(a, b)| a == b));
        }
        _ => panic!("unknown defect"),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (planted, backend) = match arguments[..] {
        [backend] => (None, backend),
        ["--plant", defect, backend] => (Some(defect), backend),
        _ => panic!("expected [--plant DEFECT] BACKEND"),
    };
    assert!(is_watched(), "run it under valgrind");
    set_backend(backend.parse().expect("the name of a backend")).expect("a backend of this CPU");
    if let Some(defect) = planted {
        plant(defect);
    } else {
        calls::all(&mut Check);
        other_calls::all().expect("valid messages");
        files::all().expect("valid files");
        random_access::all().expect("valid files");
    }
}
