//! Tests by statistics whether times depend on a key, a message or the right tag (Reparaz, Balasch
//! and Verbauwhede, "Dude, is my code constant time?", 2016): `assurance/timing.sh`.
//!
//! `timing [--samples N] [BACKEND...]`
//!
//! Two classes of inputs take turns at random: a fixed and a random key and message; for forgeries,
//! tags that are wrong in the first byte and in the last. Welch's t-test compares the times of the
//! two classes, all of them and those below several percentiles, because the system makes some
//! times longer. The largest |t| is reported. Beyond 10 the classes certainly differ.
//!
//! The last column is a planted comparison of tags that ends early. Each backend has to show it.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use palladion::{Algorithm, Backend, any, set_backend};

/// |t| beyond this is no chance.
const LIMIT: f64 = 10.0;
const LEN: usize = 256;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Welch's t of two sets of times.
fn t(classes: [&[f64]; 2]) -> f64 {
    let [(n, mean, variance), (m, other_mean, other_variance)] = classes.map(|times| {
        let n = times.len() as f64;
        let mean = times.iter().sum::<f64>() / n;
        (n, mean, times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (n - 1.0))
    });
    if n < 100.0 || m < 100.0 {
        return 0.0;
    }
    (mean - other_mean) / (variance / n + other_variance / m).sqrt().max(f64::MIN_POSITIVE)
}

/// The largest |t| of the times below any of some percentiles.
fn largest_t(
    samples: usize,
    random: &mut Random,
    inputs: &mut Inputs,
    operation: Operation,
) -> f64 {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..samples + samples / 10 {
        let class = random.number() & 1 == 1;
        inputs.prepare(operation, class, random);
        let start = Instant::now();
        inputs.run(operation);
        let time = start.elapsed().as_nanos() as f64;
        if round >= samples / 10 {
            times[usize::from(class)].push(time);
        }
    }
    let mut all: Vec<f64> = times.concat();
    all.sort_by(f64::total_cmp);
    let limits =
        [0.5, 0.75, 0.9, 0.95, 0.99, 1.0].map(|part| all[((all.len() - 1) as f64 * part) as usize]);
    let below = |class: &[f64], limit: f64| {
        class.iter().copied().filter(|time| *time <= limit).collect::<Vec<f64>>()
    };
    limits
        .iter()
        .map(|limit| t([&below(&times[0], *limit), &below(&times[1], *limit)]).abs())
        .fold(0.0, f64::max)
}

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Encrypt,
    Decrypt,
    Forged,
    Mac,
    ForgedMac,
    Planted,
}

const OPERATIONS: [(Operation, &str); 6] = [
    (Operation::Encrypt, "encrypt"),
    (Operation::Decrypt, "decrypt"),
    (Operation::Forged, "forged"),
    (Operation::Mac, "MAC"),
    (Operation::ForgedMac, "forged MAC"),
    (Operation::Planted, "planted"),
];

impl Operation {
    fn is_forgery(self) -> bool {
        matches!(self, Self::Forged | Self::ForgedMac | Self::Planted)
    }
}

/// The arguments of an operation.
struct Inputs {
    algorithm: Algorithm,
    nonce: Vec<u8>,
    key: Vec<u8>,
    buffer: Vec<u8>,
    tag: [u8; 32],
}

impl Inputs {
    fn cipher(&self) -> any::Cipher {
        any::Cipher::new(self.algorithm, &self.key, 32).expect("a key")
    }

    fn mac(&self) -> any::Mac {
        let mut mac = any::Mac::new(self.algorithm, &self.key, &self.nonce).expect("a key");
        mac.update(&self.buffer).expect("data");
        mac
    }

    fn encrypt(&mut self) {
        let cipher = self.cipher();
        cipher
            .encrypt_in_place(&self.nonce, b"ad", &mut self.buffer, &mut self.tag)
            .expect("encrypted");
    }

    fn decrypt(&mut self) -> bool {
        let cipher = self.cipher();
        cipher.decrypt_in_place(&self.nonce, b"ad", &mut self.buffer, &self.tag).is_ok()
    }

    fn new(algorithm: Algorithm, operation: Operation) -> Self {
        let (nonce, key) = (vec![9; algorithm.key_len()], vec![0; algorithm.key_len()]);
        // Short forgeries: the comparison takes more of their time.
        let buffer = vec![0; if operation.is_forgery() { 16 } else { LEN }];
        Self { algorithm, nonce, key, buffer, tag: [0; 32] }
    }

    /// Both classes do the same work at the same addresses and without a branch, so that caches and
    /// branch predictors are in the same state. The work at the end separates this from what is
    /// timed.
    fn prepare(&mut self, operation: Operation, class: bool, random: &mut Random) {
        let fixed = black_box(u8::from(class && !operation.is_forgery()).wrapping_neg());
        for (bytes, value) in [(&mut self.key, 3), (&mut self.buffer, 5)] {
            bytes
                .iter_mut()
                .for_each(|byte| *byte = random.number() as u8 & !fixed | value & fixed);
        }
        match operation {
            Operation::Encrypt | Operation::Mac => {}
            Operation::Decrypt | Operation::Forged => self.encrypt(),
            Operation::ForgedMac | Operation::Planted => {
                self.mac().finalize(&mut self.tag).expect("a tag");
            }
        }
        if operation.is_forgery() {
            let wrong = if class { 0 } else { self.tag.len() - 1 };
            self.tag
                .iter_mut()
                .enumerate()
                .for_each(|(i, byte)| *byte ^= u8::from(i == wrong) << 4);
        }
        black_box((0..200).fold(0, |sum, _| sum ^ random.number()));
    }

    fn run(&mut self, operation: Operation) {
        match operation {
            Operation::Encrypt => self.encrypt(),
            Operation::Decrypt => assert!(self.decrypt(), "authentic"),
            Operation::Forged => assert!(!self.decrypt(), "not authentic"),
            Operation::Mac => self.mac().finalize(&mut self.tag).expect("a tag"),
            Operation::ForgedMac => assert!(self.mac().verify(&self.tag).is_err(), "not authentic"),
            Operation::Planted => {
                let mut tag = [0; 32];
                self.mac().finalize(&mut tag).expect("a tag");
                assert!(!tag.iter().zip(&self.tag).all(|(a, b)| black_box(a) == b));
            }
        }
    }
}

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut samples = 20_000;
    if arguments.first().is_some_and(|argument| argument == "--samples") {
        samples = arguments[1].parse().expect("a number of samples");
        arguments.drain(..2);
    }
    let backends: Vec<Backend> = if arguments.is_empty() {
        Backend::ALL.iter().copied().filter(|backend| backend.is_available()).collect()
    } else {
        arguments.iter().map(|name| name.parse().expect("the name of a backend")).collect()
    };
    let mut random = Random(u64::from(std::process::id()));
    print!("{:<12} {:<12}", "largest |t|", "");
    OPERATIONS.iter().for_each(|(_, name)| print!(" {name:>10}"));
    println!();
    let mut failed = false;
    let mut worst = 0.0_f64;
    for backend in backends {
        set_backend(backend).expect("a backend of this CPU");
        let mut planted = 0.0_f64;
        for algorithm in Algorithm::ALL {
            print!("{:<12} {algorithm:<12}", backend.name());
            for (operation, _) in OPERATIONS {
                let mut inputs = Inputs::new(algorithm, operation);
                let t = largest_t(samples, &mut random, &mut inputs, operation);
                print!(" {t:>10.1}");
                // The slow variants may hide the comparison: one variant has to show it.
                let largest =
                    if operation == Operation::Planted { &mut planted } else { &mut worst };
                *largest = largest.max(t);
            }
            println!();
        }
        if planted <= LIMIT {
            println!("{}: the planted comparison was not noticed", backend.name());
            failed = true;
        }
    }
    println!("largest |t| {worst:.1}; times depend on secrets beyond {LIMIT}");
    ExitCode::from(u8::from(failed || worst > LIMIT))
}
