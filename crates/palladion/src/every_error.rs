//! Produces every variant of every error by public calls.

#[path = "../tests/common/child.rs"]
mod child;
#[path = "../tests/common/every_error.rs"]
mod common;

use std::prelude::v1::*;
use std::{println, vec};

use common::{Call, Came, check, variants};

use crate::batch;
use crate::family::Aegis128;
use crate::hazmat;
use crate::{
    Aegis128L, Algorithm, Backend, BackendError, ENVIRONMENT_VARIABLE, Error, Key128, MAX_LEN,
    Nonce128, UnknownAlgorithm, any, backend, set_backend,
};

const PACKETS: batch::PacketLayout = batch::PacketLayout { packet: 16, header: 0 };

type Session = hazmat::Session<Aegis128, 1>;

/// Why `NoRandomness` cannot be produced on most systems.
const NO_RANDOMNESS: &str = "this system has random bytes; .ci/test-no-randomness.sh removes them";

fn cipher() -> Aegis128L<16> {
    Aegis128L::new(&Key128::from([1; 16]))
}

fn nonce() -> Nonce128 {
    Nonce128::from([2; 16])
}

/// Processes one byte more than the standard allows. Nobody has that many bytes, but a restored
/// session can claim to have processed them.
fn too_long() -> Result<(), Error> {
    let mut bytes = [0; Session::BYTES];
    Session::new(&Key128::from([1; 16]), &nonce(), b"")?.to_bytes(&mut bytes)?;
    bytes[Session::BYTES - 16..][..8].copy_from_slice(&(MAX_LEN - 1).to_le_bytes());
    let mut session = Session::from_bytes(&bytes)?;
    session.encrypt_in_place(&mut [0])?; // the last byte that is allowed
    session.encrypt_in_place(&mut [0])
}

/// Adds associated data after the message has begun.
fn too_late() -> Result<(), Error> {
    let mut session = Session::new(&Key128::from([1; 16]), &nonce(), b"in ")?;
    session.absorb(b"pieces")?;
    session.encrypt_in_place(&mut [])?;
    session.absorb(b"")
}

/// Goes on after the tag.
fn finalized() -> Result<(), Error> {
    let mut session = Session::new(&Key128::from([1; 16]), &nonce(), b"")?;
    let _ = session.finalize::<16>()?;
    session.encrypt_in_place(&mut [0])
}

/// Runs `child` with the name of an unknown backend in the environment.
fn in_the_environment(test: &str) -> Came {
    let mut command = child::command(&[], test);
    command.env(ENVIRONMENT_VARIABLE, "nonsense");
    Came::from_child(&child::output(command))
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "no processes there")]
fn every_error() {
    let names = &variants(include_str!("interface/error.rs"), "Error");
    let came = |result: Result<(), Error>| Came::new(&result.unwrap_err());
    let (cipher, nonce) = (cipher(), nonce());

    let calls: &mut Vec<Call<'_>> = &mut vec![
        (
            "VerificationFailed",
            &["verification failed"],
            came(cipher.open(&nonce, b"", &[0; 16]).map(drop)),
        ),
        ("TooLong", &["message", "2305843009213693951"], came(too_long())),
        (
            "TooShort",
            &["ciphertext", "16", "has 3"],
            came(cipher.open(&nonce, b"", &[0; 3]).map(drop)),
        ),
        (
            "WrongLength",
            &["output", "5 bytes", "has 6"],
            came(cipher.encrypt_into(&nonce, b"", &[0; 5], &mut [0; 6]).map(drop)),
        ),
        (
            "UnknownTagLength",
            &["16 or 32", "not 17"],
            came(any::Cipher::new(Algorithm::Aegis128L, &[1; 16], 17).map(drop)),
        ),
        (
            "TooManyPackets",
            &["3 packets", "18446744073709551614"],
            came(batch::seal_packets(&cipher, &nonce, u64::MAX - 1, &mut [0; 48], PACKETS)),
        ),
        ("TooLate", &["associated data", "before the message"], came(too_late())),
        ("Finalized", &["session", "begin a new one"], came(finalized())),
        (
            "Backend",
            &["PALLADION_BACKEND=\"nonsense\"", "portable"],
            in_the_environment("every_error::child"),
        ),
    ];
    let mut not_here: &[(&str, &str)] = &[("NoRandomness", NO_RANDOMNESS)];
    if cfg!(getrandom_backend = "unsupported") {
        not_here = &[];
        for result in [
            Key128::generate().map(drop),
            Nonce128::generate().map(drop),
            cipher.seal_with_random_nonce(b"", b"").map(drop),
        ] {
            calls.push(("NoRandomness", &["no random bytes"], came(result)));
        }
    }
    check(names, calls, not_here);
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "no processes there")]
fn every_backend_error() {
    let names = &variants(include_str!("dispatch/error.rs"), "BackendError");
    let came = |error: BackendError| Came::new(&error);
    // No machine has the instructions of two architectures.
    let unavailable = |backend: &Backend| !backend.is_available() && !backend.is_faulty();
    let elsewhere = Backend::ALL.iter().copied().find(unavailable).unwrap();
    let words = &[elsewhere.name(), "portable"];
    let mut calls: Vec<Call<'_>> = vec![
        (
            "Unknown",
            &["no backend has this name", "portable"],
            came("nonsense".parse::<Backend>().unwrap_err()),
        ),
        ("Unavailable", words, came(set_backend(elsewhere).unwrap_err())),
        (
            "Environment",
            &["\"nonsense\"", "portable"],
            in_the_environment("every_error::child_backend"),
        ),
    ];
    let faulty = Backend::ALL.iter().copied().find(|backend| backend.is_faulty());
    let not_here = match faulty {
        Some(backend) => {
            let words = &["computes wrong results", "portable"];
            calls.push(("Faulty", words, came(set_backend(backend).unwrap_err())));
            None
        }
        None => Some(("Faulty", "this machine computes right; see .ci/test-x86-tiers.sh")),
    };
    check(names, &calls, not_here.as_slice());
}

#[test]
#[ignore = "run by other tests"]
fn child() {
    Came::new(&cipher().seal(&nonce(), b"", b"").unwrap_err()).print();
    println!("<done>");
}

#[test]
#[ignore = "run by other tests"]
fn child_backend() {
    Came::new(&backend().unwrap_err()).print();
    println!("<done>");
}

/// Produces the errors that are structs.
#[test]
fn structures() {
    let (cipher, nonce) = (cipher(), nonce());
    let [mut first, mut second] = [[0; 16], [0; 16]];
    let jobs = [&mut first, &mut second]
        .map(|buf| batch::Decryption::open_in_place(&cipher, &nonce, b"", buf));
    let error = batch::decrypt(jobs, |_, _| {}).unwrap_err();
    assert_eq!((error.failed, error.first, error.error), (2, 0, Error::VerificationFailed));
    assert!(error.to_string().starts_with(
        "2 messages of the batch failed; the first is message 0: verification failed"
    ));
    assert_eq!("AEGIS-512".parse::<Algorithm>(), Err(UnknownAlgorithm));
    assert!(UnknownAlgorithm.to_string().contains("AEGIS-256X2"));
}
