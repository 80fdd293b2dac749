//! The calls, and what they share.

mod ciphers;
mod files;
mod random_access;

use std::fmt::Debug;
use std::hint::black_box;
use std::process::ExitCode;

use palladion::hazmat::secrecy::{is_watched, secret};
use palladion::{Aegis128L, Error, Key128, Nonce128, Tag, set_backend};

type Outcome = Result<(), Error>;

pub fn main() -> ExitCode {
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
        ciphers::all().expect("valid messages");
        files::all().expect("valid files");
        random_access::all().expect("valid files");
    }
    ExitCode::SUCCESS
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

/// Prints a secret with `Debug`, which must not look at it.
fn shown<Secret: Debug>(secret: &Secret) {
    black_box(format!("{secret:?}"));
}

/// The tag with one bit changed.
fn forged<const T: usize>(tag: &Tag<T>) -> Tag<T> {
    Tag::from(flipped(tag.as_bytes()).try_into().unwrap_or([0; T]))
}

/// The bytes with one bit of the last one changed.
fn flipped(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    *bytes.last_mut().expect("at least one byte") ^= 0x80;
    bytes
}

fn fails<R>(result: Result<R, Error>) {
    assert_eq!(result.err(), Some(Error::VerificationFailed));
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
