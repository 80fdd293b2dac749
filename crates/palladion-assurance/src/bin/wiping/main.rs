//! Shows what is left of secrets on the stack and in objects: `scripts/check-wiping.sh`.
//!
//! `wiping [--plant] [--verbose] [--only TEXT] [--library PATH] [BACKEND...]`
//!
//! Every operation runs twice on the same stack, full of the same bytes, with the same arguments at the same addresses but for the
//! contents of key and message. A byte below the caller's frame that differs afterwards came from a secret, whatever has become
//! of it on the way: a key, a word of a state, key stream, plaintext. Ciphertexts and tags differ too and may stay: bytes that
//! are found in them, in both runs at the same place, do not count. The same for the memory of an object once it is dropped, and for
//! memory of the heap when it is given back.
//!
//! | file | what it is |
//! |---|---|
//! | `watch.rs` | how that is done |
//! | `variant.rs`, `several.rs` | the core: one variant; several messages in one call |
//! | `chosen.rs` | the core: variants that are chosen at run time, and those of 2023 |
//! | `files.rs` | the crates for files |
//! | `c.rs` | the C library, which is loaded |

#![deny(unsafe_code)] // but where it is said

#[allow(unsafe_code)]
mod c;
mod chosen;
mod files;
mod several;
mod variant;
#[allow(unsafe_code)]
mod watch;

use std::hint::black_box;
use std::process::ExitCode;

use palladion::family::{Aegis128, Aegis256};
use palladion::{Backend, set_backend};

use watch::{Call, Input, Inputs, Life, Place, Report};

/// What does not wipe: it has to be found.
struct Planted(Vec<u8>);

impl Place for Planted {
    fn fill(&mut self, input: &Input) {
        self.0.copy_from_slice(&input.key);
    }
    fn public(&self, _: &mut Vec<u8>) {}
}

fn plant(report: &mut Report) {
    let (mut inputs, mut place) = (Inputs::new(32, 0), Planted(vec![0; 32]));
    let calls: [(_, fn(&mut Planted)); 2] = [
        ("on the stack", |p| {
            let mut copy = [0; 32];
            black_box(&mut copy).copy_from_slice(&p.0);
            black_box(&copy);
        }),
        ("on the heap", |p| drop(black_box(p.0.clone()))),
    ];
    for (what, call) in calls {
        report.call("a planted copy of a key", &mut inputs, &mut place, &Call { what, before: |_| (), call });
    }
    report.life(
        "a planted copy of a key",
        &mut inputs,
        &mut place,
        &Life {
            what: "as an object",
            make: |p| p.0.clone(),
            made: |bytes| <[u8; 32]>::try_from(bytes).expect("32 bytes"),
            work: |_, _| (),
            ends: &[],
        },
    );
}

fn everything(report: &mut Report, backend: Backend) {
    set_backend(backend).expect("a backend that can run here");
    macro_rules! variants {
        ($($family:ident, $degree:literal, $tag:literal;)*) => {
            $(
                variant::variant::<$family, $degree, $tag>(report, backend);
                several::batches::<$family, $degree, $tag>(report, backend);
            )*
        };
    }
    variants! {
        Aegis128, 1, 32;
        Aegis128, 2, 16;
        Aegis128, 4, 32;
        Aegis256, 1, 16;
        Aegis256, 2, 32;
        Aegis256, 3, 32;
        Aegis256, 4, 16;
    }
    chosen::chosen(report, backend);
    chosen::historic(report, backend);
    files::files(report, backend);
}

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut option = |name: &str, values: usize| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.drain(at..=at + values).next_back()
    };
    let mut report = Report { verbose: option("--verbose", 0).is_some(), ..Report::default() };
    report.only = option("--only", 1);
    let library = option("--library", 1);
    if option("--plant", 0).is_some() {
        plant(&mut report);
    } else {
        let backends: Vec<Backend> = if arguments.is_empty() {
            Backend::ALL.iter().copied().filter(|backend| backend.is_available()).collect()
        } else {
            arguments.iter().map(|name| name.parse().expect("the name of a backend")).collect()
        };
        for &backend in &backends {
            everything(&mut report, backend);
        }
        if let Some(path) = library {
            c::library(&mut report, &path, &backends);
        }
    }
    println!("{} checks, {} of them found something", report.checks, report.wrong);
    ExitCode::from(u8::from(report.wrong > 0))
}
