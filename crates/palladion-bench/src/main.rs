//! Measures this library and crate `aegis` (libaegis, compiled from C) side by side, in place, interleaved in one run.
//!
//!     cargo run --release -p palladion-bench [-- [BYTES] [ROUNDS]]
//!
//! Each figure is the fastest of many single calls, in GB/s (for 0 bytes: ns); the last columns are the speed of the
//! best backend over that of crate `aegis`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use palladion::{Backend, family::Family, set_backend};

/// The library to compare with.
const PEER: &str = "crate aegis";

/// One backend of this library, or the peer, and its best times.
struct Subject {
    backend: Option<Backend>,
    best: [Duration; 3],
}

const OPERATIONS: [&str; 3] = ["encrypt", "decrypt", "MAC"];

fn time(best: &mut Duration, f: impl FnOnce()) {
    let start = Instant::now();
    f();
    *best = (*best).min(start.elapsed());
}

/// Times encryption, decryption and MAC once each, all in place.
fn ours<F: Family, const D: usize>(buf: &mut [u8], best: &mut [Duration; 3]) {
    let key = F::Key::try_from(&[1; 32][..F::KEY_LEN]).expect("length");
    let nonce = F::Nonce::try_from(&[2; 32][..F::KEY_LEN]).expect("length");
    let cipher = palladion::Aegis::<F, D, 16>::new(&key);
    let mut tag = None;
    time(&mut best[0], || tag = cipher.encrypt_in_place(&nonce, b"", black_box(&mut *buf)).ok());
    let tag = tag.expect("encrypts");
    time(&mut best[1], || cipher.decrypt_in_place(&nonce, b"", black_box(&mut *buf), &tag).expect("own tag"));
    time(&mut best[2], || {
        black_box(palladion::Mac::<F, D, 16>::mac(&key, &nonce, black_box(&*buf)).expect("short enough"));
    });
}

macro_rules! variant {
    ($name:literal, $family:ident, $degree:literal, $module:ident, $cipher:ident, $mac:ident, $args:expr) => {{
        let theirs = |buf: &mut [u8], best: &mut [Duration; 3]| {
            use aegis::$module::{$cipher, $mac};
            let (key, nonce) = ([1; _], [2; _]);
            let mut tag = [0; 16];
            time(&mut best[0], || {
                tag = $cipher::<16>::new(&key, &nonce).encrypt_in_place(black_box(&mut *buf), b"");
            });
            time(&mut best[1], || {
                $cipher::<16>::new(&key, &nonce)
                    .decrypt_in_place(black_box(&mut *buf), &tag, b"")
                    .expect("own tag");
            });
            time(&mut best[2], || {
                let mut mac = $mac::<16>::new_with_nonce(&key, &nonce);
                mac.update(black_box(&*buf));
                black_box(mac.finalize());
            });
        };
        report($name, $args, ours::<palladion::family::$family, $degree>, theirs);
    }};
}

fn available() -> impl Iterator<Item = Backend> {
    Backend::ALL.iter().copied().filter(|backend| backend.is_available())
}

type Run<'a> = &'a dyn Fn(&mut [u8], &mut [Duration; 3]);

fn report(
    name: &str,
    (len, rounds): (usize, u32),
    ours: impl Fn(&mut [u8], &mut [Duration; 3]),
    theirs: impl Fn(&mut [u8], &mut [Duration; 3]),
) {
    let mut subjects: Vec<Subject> =
        available().map(|b| Subject { backend: Some(b), best: [Duration::MAX; 3] }).collect();
    subjects.push(Subject { backend: None, best: [Duration::MAX; 3] });
    let mut buf = vec![0x5a; len];
    for round in 0..rounds {
        for s in &mut subjects {
            // The slow backend needs no more rounds to show that it is slow.
            if s.backend == Some(Backend::Portable) && round % 16 != 0 {
                continue;
            }
            let run: Run = match s.backend {
                Some(backend) => {
                    set_backend(backend).expect("available");
                    &ours
                }
                None => &theirs,
            };
            for _ in 0..4 {
                run(&mut buf, &mut s.best);
            }
        }
    }
    let speed = |d: Duration| match len {
        0 => format!("{:8.1} ns", d.as_secs_f64() * 1e9),
        _ => format!("{:8.2}   ", len as f64 / d.as_secs_f64() / 1e9),
    };
    for (i, operation) in OPERATIONS.iter().enumerate() {
        print!("{name:13} {operation:8}");
        for s in &subjects {
            print!("{:>14}", speed(s.best[i]));
        }
        let (peer, own) = subjects.split_last().expect("has a peer");
        let best = own.iter().map(|s| s.best[i]).min().expect("portable at least");
        println!("{:>9.2}", peer.best[i].as_secs_f64() / best.as_secs_f64());
    }
}

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<u64>().expect("a number"));
    let len = args.next().map_or(16384, |n| usize::try_from(n).expect("fits into memory"));
    let rounds = args.next().map_or(2000, |n| u32::try_from(n).expect("rounds fit into 32 bits"));
    println!(
        "{len} bytes, 16-byte tags, no associated data; GB/s, the fastest of {} calls each\n",
        4 * rounds
    );
    print!("{:22}", "");
    available().for_each(|backend| print!("{:>14}", backend.name()));
    println!("{:>14}{:>9}", PEER, "ratio");
    let args = (len, rounds);
    variant!("AEGIS-128L", Aegis128, 1, aegis128l, Aegis128L, Aegis128LMac, args);
    variant!("AEGIS-128X2", Aegis128, 2, aegis128x2, Aegis128X2, Aegis128X2Mac, args);
    variant!("AEGIS-128X4", Aegis128, 4, aegis128x4, Aegis128X4, Aegis128X4Mac, args);
    variant!("AEGIS-256", Aegis256, 1, aegis256, Aegis256, Aegis256Mac, args);
    variant!("AEGIS-256X2", Aegis256, 2, aegis256x2, Aegis256X2, Aegis256X2Mac, args);
    variant!("AEGIS-256X4", Aegis256, 4, aegis256x4, Aegis256X4, Aegis256X4Mac, args);
}
