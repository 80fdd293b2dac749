//! Compares circuits of the S-box: gates, the time of one evaluation on words and on vectors, and
//! the speed of AEGIS-128L, bitsliced in general registers, with each circuit. Run it with
//! `cargo bench -p palladion --bench sbox`.
//!
//! A pass evaluates the circuit on eight independent inputs, as many as a state offers, and the
//! next pass depends on their results. Rounds alternate between circuits; the least time of all
//! rounds counts.

#![allow(unsafe_code)] // the modules below have unsafe code
#![allow(dead_code, unused_imports, unused_macros)] // only a part of the modules below is used
#![allow(clippy::duplicate_mod)] // tests in those modules include the circuits as well

#[path = "../src/block/mod.rs"]
mod block;
mod circuits;
#[path = "../src/machine/mod.rs"]
mod machine;
#[path = "../src/memory/mod.rs"]
mod memory;
#[path = "../src/soft/mod.rs"]
mod soft;

use core::ops::{BitAnd, BitOr, BitXor, Not};
use std::hint::black_box;
use std::time::Instant;

use block::Blocks;
use circuits::*;
use machine::{Machine, Rows, Work};
use memory::Direction;
use soft::bitsliced::Bitsliced;
use soft::sbox::{Bits, Circuit, Cost, SBox};

/// Evaluations in a pass, independent of each other.
const GROUPS: usize = 8;
const PASSES: u32 = 16;

/// A function that runs one circuit on one type of word.
type Run<B> = unsafe fn(&mut [B; 8]);

/// Not inlined, so that the compiler neither vectorises words nor moves work between evaluations.
#[inline(never)]
unsafe fn plain<C: Circuit, B: Bits>(planes: &mut [B; 8]) {
    *planes = C::sub_bytes(*planes);
}

/// Measures the least time of one evaluation for each function, in nanoseconds.
///
/// # Safety
///
/// The CPU has the instructions that the functions are compiled for.
unsafe fn measure<B: Bits>(runs: &[Run<B>], rounds: u32, seed: fn(u64) -> B) -> Vec<f64> {
    let mut planes: [[B; 8]; GROUPS] = std::array::from_fn(|g| {
        std::array::from_fn(|p| seed(0x9e37_79b9_7f4a_7c15u64.wrapping_mul((8 * g + p + 1) as u64)))
    });
    let mut least = vec![f64::INFINITY; runs.len()];
    for _ in 0..rounds {
        for (run, least) in runs.iter().zip(&mut least) {
            let start = Instant::now();
            for _ in 0..PASSES {
                for group in black_box(&mut planes) {
                    // SAFETY: the caller promises that the CPU has the function's instructions.
                    unsafe { run(group) };
                }
            }
            let time = start.elapsed().as_nanos() as f64 / f64::from(PASSES) / GROUPS as f64;
            *least = least.min(time);
        }
    }
    least
}

/// A vector with the operations of a circuit.
macro_rules! vector {
    ($name:ident($raw:ty), $xor:path, $and:path, $or:path, $ones:expr) => {
        #[derive(Clone, Copy)]
        struct $name($raw);

        vector!($name, BitXor, bitxor, $xor);
        vector!($name, BitAnd, bitand, $and);
        vector!($name, BitOr, bitor, $or);

        impl Not for $name {
            type Output = Self;
            #[inline(always)]
            fn not(self) -> Self {
                // SAFETY: such a vector is created only after the CPU was found to have the
                // instructions.
                self ^ Self(unsafe { $ones })
            }
        }
    };
    ($name:ident, $trait:ident, $method:ident, $intrinsic:path) => {
        impl $trait for $name {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: such a vector is created only after the CPU was found to have the
                // instructions.
                Self(unsafe { $intrinsic(self.0, other.0) })
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod vectors {
    use core::arch::x86_64::*;

    use super::*;

    vector!(Sse2(__m128i), _mm_xor_si128, _mm_and_si128, _mm_or_si128, _mm_set1_epi8(-1));
    vector!(
        Avx2(__m256i),
        _mm256_xor_si256,
        _mm256_and_si256,
        _mm256_or_si256,
        _mm256_set1_epi8(-1)
    );

    #[target_feature(enable = "avx2")]
    #[inline(never)]
    fn avx2<C: Circuit>(planes: &mut [Avx2; 8]) {
        *planes = C::sub_bytes(*planes);
    }

    macro_rules! vectors {
        ($($circuit:ty = $name:literal,)*) => {
            pub(super) fn measure_all(rounds: u32) -> Vec<(&'static str, Vec<f64>)> {
                // SAFETY: all x86-64 machines have SSE2.
                let sse2 = unsafe {
                    measure(
                        &[$(plain::<$circuit, Sse2>),*],
                        rounds,
                        |x| Sse2(_mm_set1_epi64x(x as i64)),
                    )
                };
                let mut columns = vec![("SSE2", sse2)];
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: AVX2 was detected.
                    let avx2 = unsafe {
                        measure(
                            &[$(avx2::<$circuit>),*],
                            rounds,
                            |x| Avx2(_mm256_set1_epi64x(x as i64)),
                        )
                    };
                    columns.push(("AVX2", avx2));
                }
                columns
            }
        };
    }
    circuits!(vectors);
}

#[cfg(target_arch = "aarch64")]
mod vectors {
    use core::arch::aarch64::*;

    use super::*;

    vector!(Neon(uint8x16_t), veorq_u8, vandq_u8, vorrq_u8, vdupq_n_u8(0xff));

    macro_rules! vectors {
        ($($circuit:ty = $name:literal,)*) => {
            pub(super) fn measure_all(rounds: u32) -> Vec<(&'static str, Vec<f64>)> {
                // SAFETY: Rust's aarch64 targets with a standard library have Neon.
                let neon = unsafe {
                    measure(
                        &[$(plain::<$circuit, Neon>),*],
                        rounds,
                        |x| Neon(vreinterpretq_u8_u64(vdupq_n_u64(x))),
                    )
                };
                vec![("Neon", neon)]
            }
        };
    }
    circuits!(vectors);
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod vectors {
    pub(super) fn measure_all(_rounds: u32) -> Vec<(&'static str, Vec<f64>)> {
        Vec::new()
    }
}

/// AEGIS-128L in general registers.
#[cfg(any(target_pointer_width = "64", target_family = "wasm"))]
type Aegis128L<C> = Bitsliced<u64, 2, 2, C>;
#[cfg(not(any(target_pointer_width = "64", target_family = "wasm")))]
type Aegis128L<C> = Bitsliced<u32, 4, 2, C>;

/// Bytes that AEGIS-128L encrypts in a round.
const MESSAGE: usize = 16 << 10;

/// Encrypts a message in place, without a tag.
#[inline(never)]
fn encrypt<C: Circuit>(message: &mut [u8]) {
    let dst = message.as_mut_ptr();
    let (rows, steps) = (Rows { src: dst, dst, row: 16 }, message.len() / 32);
    // SAFETY: no CPU features are needed; the key, the context and all steps lie within their
    // arrays.
    unsafe {
        let key = [1; 16].as_ptr();
        let mut state = Aegis128L::<C>::init(key, key, Blocks::splat([0; 16].as_ptr()));
        state.run_steps(Work::Crypt(Direction::Encrypt), rows, steps);
    }
}

/// Measures the speed of each circuit's cipher, in megabytes per second.
fn measure_aegis(runs: &[fn(&mut [u8])], rounds: u32) -> Vec<f64> {
    let mut message = vec![0; MESSAGE];
    let mut least = vec![f64::INFINITY; runs.len()];
    for _ in 0..rounds {
        for (run, least) in runs.iter().zip(&mut least) {
            let start = Instant::now();
            run(black_box(&mut message));
            *least = least.min(start.elapsed().as_secs_f64());
        }
    }
    least.iter().map(|seconds| MESSAGE as f64 / seconds / 1e9).collect()
}

macro_rules! words {
    ($($circuit:ty = $name:literal,)*) => {
        const CIRCUITS: &[(&str, Cost)] = &[$(($name, <$circuit>::COST)),*];

        fn measure_words(rounds: u32) -> Vec<(&'static str, Vec<f64>)> {
            // SAFETY: operations on words need no CPU features.
            let [u32s, u64s, u128s] = unsafe {[
                measure(&[$(plain::<$circuit, u32>),*], rounds, |x| (x >> 32) as u32),
                measure(&[$(plain::<$circuit, u64>),*], rounds, |x| x),
                measure(
                    &[$(plain::<$circuit, u128>),*],
                    rounds,
                    |x| u128::from(x) << 64 | u128::from(!x),
                ),
            ]};
            vec![("u32", u32s), ("u64", u64s), ("u128", u128s)]
        }

        fn measure_ciphers(rounds: u32) -> Vec<f64> {
            measure_aegis(&[$(encrypt::<$circuit>),*], rounds)
        }
    };
}
circuits!(words);

fn main() {
    // `cargo test --benches` runs this too; one short round is enough there.
    let rounds = if std::env::args().any(|arg| arg == "--bench") { 20_000 } else { 1 };
    let mut columns = measure_words(rounds);
    columns.extend(vectors::measure_all(rounds));
    let ciphers = measure_ciphers(rounds.div_ceil(20));

    println!(
        "Nanoseconds for one evaluation, and in brackets the speed relative to the first circuit."
    );
    println!("Gates: ANDs and ORs + XORs + inversions, without the four of the constant.");
    println!("AEGIS-128L: encryption of 16 KiB in general registers, GB/s.\n");
    print!("| circuit | gates | depth | AND depth |");
    columns.iter().for_each(|(name, _)| print!(" {name} |"));
    print!(" AEGIS-128L |\n|---|---|---:|---:|");
    columns.iter().for_each(|_| print!("---:|"));
    println!("---:|");
    for (i, (name, cost)) in CIRCUITS.iter().enumerate() {
        let Cost { and, or, xor, not, depth, and_depth } = cost;
        print!("| {name} | {} + {xor} + {not} | {depth} | {and_depth} |", and + or);
        columns
            .iter()
            .for_each(|(_, times)| print!(" {:.2} ({:.2}) |", times[i], times[0] / times[i]));
        println!(" {:.3} |", ciphers[i]);
    }
}
