//! Everything is called here.

mod calls;
mod ciphers;
mod files;
mod random_access;

use std::hint::black_box;
use std::process::ExitCode;

use palladion::family::Aegis128;
use palladion::hazmat::secrecy::{is_watched, secret};
use palladion::{Aegis, Backend, Error, Key128, Nonce128, Tag, set_backend};

type Outcome = Result<(), Error>;

pub fn main() -> ExitCode {
    if !is_watched() {
        eprintln!("nobody is watching: run it under valgrind");
        return ExitCode::from(2);
    }
    let mut backends: Vec<String> = std::env::args().skip(1).collect();
    let mut option = |name| {
        let given = backends.first().is_some_and(|first| first == name);
        given.then(|| backends.drain(..2).next_back().unwrap_or_default())
    };
    let (planted, calls) = (option("--plant"), option("--calls"));
    if backends.is_empty() {
        let here = Backend::ALL.iter().filter(|backend| backend.is_available());
        backends = here.map(|backend| backend.name().to_owned()).collect();
    }
    for name in backends {
        set_backend(name.parse().expect("the name of a backend"))
            .expect("a backend that can run here");
        if let Some(defect) = &planted {
            plant(defect);
            continue;
        }
        let messages = ciphers::all().expect("all goes well");
        files::all().expect("sound files");
        random_access::all().expect("sound files");
        println!("{name}: {messages} messages and pieces of data");
    }
    if let Some(file) = calls {
        std::fs::write(file, calls::called()).expect("a file that can be written");
    }
    ExitCode::SUCCESS
}

/// Secret bytes.
fn hidden(len: usize) -> Vec<u8> {
    let bytes: Vec<u8> = (0..len).map(|i| (i * i + 3 * i + len) as u8).collect();
    secret(&bytes);
    bytes
}

/// Secret bytes, as many as there must be.
fn hidden_array<const N: usize>() -> [u8; N] {
    hidden(N).try_into().expect("as many as were asked for")
}

/// A wrong tag: one bit of it.
fn forged<const T: usize>(tag: &Tag<T>) -> Tag<T> {
    Tag::from(flipped(tag.as_bytes()).try_into().unwrap_or([0; T]))
}

/// The same bytes but for one bit of the last.
fn flipped(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    *bytes.last_mut().expect("at least one") ^= 0x80;
    bytes
}

fn fails<R>(result: Result<R, Error>) {
    assert_eq!(result.err(), Some(Error::VerificationFailed));
}

/// Defects that the tool must find: in what depends on a tag, so that the secret has to come
/// through the kernel.
fn plant(defect: &str) {
    let key = hidden(16);
    let tag: [u8; 16] =
        *Aegis::<Aegis128, 1, 16>::new(&Key128::try_from(&key[..]).expect("16 bytes"))
            .encrypt_in_place(&Nonce128::default(), b"", &mut [])
            .expect("an empty message")
            .as_bytes();
    match defect {
        "table" => {
            static TABLE: [u8; 256] = [7; 256];
            black_box(black_box(&TABLE)[usize::from(tag[3])]);
        }
        "comparison" => {
            let came = black_box([0; 16]);
            // Like a comparison of slices: it stops at the first byte that differs.
            black_box(tag.iter().zip(&came).all(|(a, b)| a == b));
        }
        "none" => {}
        _ => panic!("there is no such defect"),
    }
}
