//! Shows that nothing secret is left in memory: `assurance/wiping.sh`.
//!
//! `wiping [BACKEND...]`
//!
//! Every call is made twice, with the same arguments at the same addresses, except that key and
//! message have other contents. Whatever memory differs afterwards depends on a secret. Three
//! places are compared (`memory.rs`): the stack below the caller, the memory of an object that was
//! dropped, and heap memory that was freed. For files only the last two. Ciphertexts and tags may
//! stay. Copies that Rust leaves where it moves a value are not looked at; SECURITY.md says so.
//!
//! Three copies of a key are planted first, one for each place, and have to be found.

#![deny(unsafe_code)] // except in `memory`

mod calls;
#[allow(unsafe_code)]
mod memory;

use std::hint::black_box;
use std::process::ExitCode;

use palladion::{Algorithm, Backend, set_backend};
use palladion_raf::{Memory, Options};

use calls::Secrets;
use memory::{Check, after};

/// Compares the heap memory that a file with random access frees, but not the stack.
fn random_access(check: &mut Check, algorithm: Algorithm) {
    let [a, b] = after(
        100,
        |s| (s.key, s.text.clone(), Memory(Vec::with_capacity(1 << 18))),
        |(key, text, storage)| {
            let options = Options::default().algorithm(algorithm).file_id([3; 24]);
            let key = &key[..algorithm.key_len()];
            let mut file = options.create(&mut *storage, key).expect("a file");
            file.write_at(text, 0).expect("written");
            file.read_at(text, 0).expect("read");
        },
        |(.., storage)| storage.0.clone(),
    );
    let what = format!("{algorithm}, a file with random access");
    check.compare(&what, "in freed memory", [&a.freed, &b.freed], [&a.public, &b.public]);
}

/// Leaves copies of a key in all three places.
fn plant(check: &mut Check) {
    let copy = |secrets: &Secrets| {
        let mut copy = [0; 32];
        black_box(&mut copy).copy_from_slice(&secrets.key);
        black_box(&copy);
        copy
    };
    check.call(
        "planted local",
        0,
        |s| s.key,
        |key| _ = black_box([*black_box(&*key); 2]),
        |_| Vec::new(),
    );
    check.object("planted array", copy);
    check.object("planted Vec", |s| copy(s).to_vec());
}

fn main() -> ExitCode {
    let mut planted = Check::default();
    plant(&mut planted);
    for (copy, place) in [
        ("planted local", "on the stack"),
        ("planted array", "in its own memory"),
        ("planted Vec", "in freed memory"),
    ] {
        if !planted.found.iter().any(|found| found.starts_with(copy) && found.contains(place)) {
            println!("{copy}: no copy of a key was found {place}");
            return ExitCode::FAILURE;
        }
    }

    let mut backends: Vec<Backend> =
        std::env::args().skip(1).map(|name| name.parse().expect("the name of a backend")).collect();
    if backends.is_empty() {
        backends = Backend::ALL.iter().copied().filter(|b| b.is_available()).collect();
    }
    let [mut checks, mut secrets] = [0; 2];
    for backend in &backends {
        set_backend(*backend).expect("a backend of this CPU");
        let mut check = Check::default();
        calls::all(&mut check);
        for algorithm in Algorithm::ALL {
            random_access(&mut check, algorithm);
        }
        check.found.iter().for_each(|found| println!("{backend}, {found}"));
        checks += check.count;
        secrets += check.found.len();
    }
    println!("{checks} checks on {} backends found {secrets} secrets left behind", backends.len());
    ExitCode::from(u8::from(secrets > 0))
}
