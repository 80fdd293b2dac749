//! Whether the time that encryption, decryption and MACs take depends on the key or the message, by a statistical test
//! (Reparaz, Balasch and Verbauwhede, "Dude, is my code constant time?", 2016): `scripts/check-timing.sh`.
//!
//! `timing [--plant] [--samples N] [BACKEND...]`
//!
//! Two classes of inputs take turns at random: a fixed key and message, and random ones. Welch's t-test compares the times of the
//! two, all of them and those below several percentiles, as what the system does in between only makes some times longer. Beyond
//! 10 the classes are certainly different; the largest value is reported. The machine should be idle: this is no test for CI.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use palladion::{Algorithm, Backend, any, set_backend};

/// |t| beyond this is no accident.
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
    fn fill(&mut self, bytes: &mut [u8]) {
        bytes.iter_mut().for_each(|byte| *byte = self.number() as u8);
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

/// The largest |t| of the times below any of some percentiles. `run(class, random)` prepares and returns what is timed.
fn largest_t(
    samples: usize,
    random: &mut Random,
    mut prepare: impl FnMut(bool, &mut Random),
    mut run: impl FnMut(bool),
) -> f64 {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..samples + samples / 10 {
        let class = random.number() & 1 == 1;
        prepare(class, random);
        let start = Instant::now();
        run(class);
        let time = start.elapsed().as_nanos() as f64;
        if round >= samples / 10 {
            times[usize::from(class)].push(time);
        }
    }
    let mut all: Vec<f64> = times.concat();
    all.sort_by(f64::total_cmp);
    let limits = [0.5, 0.75, 0.9, 0.95, 0.99, 1.0].map(|part| all[((all.len() - 1) as f64 * part) as usize]);
    let below =
        |class: &[f64], limit: f64| class.iter().copied().filter(|time| *time <= limit).collect::<Vec<f64>>();
    limits
        .iter()
        .map(|limit| t([&below(&times[0], *limit), &below(&times[1], *limit)]).abs())
        .fold(0.0, f64::max)
}

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let planted = arguments.first().is_some_and(|argument| argument == "--plant");
    if planted {
        arguments.remove(0);
    }
    let mut samples = 20_000;
    if arguments.first().is_some_and(|argument| argument == "--samples") {
        samples = arguments[1].parse().expect("a number of samples");
        arguments.drain(..2);
    }
    let mut random = Random(Instant::now().elapsed().as_nanos() as u64 ^ u64::from(std::process::id()));
    if planted {
        // A comparison that ends early, of what is equal in one class: its time tells how much is.
        let fixed = [7; 4 * LEN];
        let mut came = fixed;
        let came = std::cell::RefCell::new(&mut came);
        let largest = largest_t(
            samples,
            &mut random,
            |class, random| {
                if class {
                    came.borrow_mut().copy_from_slice(&fixed)
                } else {
                    random.fill(*came.borrow_mut())
                }
            },
            |_| {
                for _ in 0..20 {
                    black_box(black_box(&fixed).iter().zip(came.borrow().iter()).all(|(a, b)| a == b));
                }
            },
        );
        println!("a planted comparison: |t| = {largest:.1}");
        return ExitCode::from(u8::from(largest > LIMIT));
    }
    let backends: Vec<Backend> = if arguments.is_empty() {
        Backend::ALL.iter().copied().filter(|backend| backend.is_available()).collect()
    } else {
        arguments.iter().map(|name| name.parse().expect("the name of a backend")).collect()
    };
    let mut worst: f64 = 0.0;
    println!("{:<12} {:<12} {:>8} {:>8} {:>8}", "largest |t|", "", "encrypt", "decrypt", "MAC");
    for backend in backends {
        set_backend(backend).expect("a backend that can run here");
        for algorithm in Algorithm::ALL {
            let nonce = vec![9; algorithm.key_len()];
            let found = [0, 1, 2].map(|operation| {
                let key = std::cell::RefCell::new(vec![0; algorithm.key_len()]);
                let buffer = std::cell::RefCell::new([0; LEN]);
                let tag = std::cell::RefCell::new([0; 32]);
                let cipher = || any::Cipher::new(algorithm, &key.borrow(), 32).expect("a key");
                largest_t(
                    samples,
                    &mut random,
                    |class, random| {
                        // (Both classes do the same work here, so that caches are the same.)
                        let (mut random_key, mut random_message) = (vec![0; algorithm.key_len()], [0; LEN]);
                        random.fill(&mut random_key);
                        random.fill(&mut random_message);
                        let fixed = (vec![3; algorithm.key_len()], [5; LEN]);
                        let (new_key, message) = if class { fixed } else { (random_key, random_message) };
                        key.borrow_mut().copy_from_slice(&new_key);
                        buffer.borrow_mut().copy_from_slice(&message);
                        if operation == 1 {
                            cipher()
                                .encrypt_in_place(
                                    &nonce,
                                    b"ad",
                                    &mut *buffer.borrow_mut(),
                                    &mut *tag.borrow_mut(),
                                )
                                .expect("encrypted");
                        }
                    },
                    |_| {
                        let cipher = cipher();
                        let (mut buffer, mut tag) = (buffer.borrow_mut(), tag.borrow_mut());
                        match operation {
                            0 => cipher
                                .encrypt_in_place(&nonce, b"ad", &mut *buffer, &mut *tag)
                                .expect("encrypted"),
                            1 => cipher
                                .decrypt_in_place(&nonce, b"ad", &mut *buffer, &*tag)
                                .expect("authentic"),
                            _ => {
                                let mut mac = any::Mac::new(algorithm, &key.borrow(), &nonce).expect("a key");
                                mac.update(&*buffer).expect("data");
                                mac.finalize(&mut *tag).expect("a tag");
                            }
                        }
                    },
                )
            });
            worst = found.iter().copied().fold(worst, f64::max);
            println!(
                "{:<12} {algorithm:<12} {:>8.1} {:>8.1} {:>8.1}",
                backend.name(),
                found[0],
                found[1],
                found[2]
            );
        }
    }
    println!("the largest: {worst:.1}; what is beyond {LIMIT} depends on secrets");
    ExitCode::from(u8::from(worst > LIMIT))
}
