//! `speed`.

use std::time::{Duration, Instant};

use palladion::family::Family;
use palladion::{Aegis, Error, Mac, Tag, with_algorithm};
use palladion_file::Algorithm;

use crate::args::SpeedArgs;
use crate::failure::{Failure, Result};
use crate::progress::Progress;
use crate::streams;

const SIZES: [(usize, &str); 3] = [(64, "64 B"), (16 << 10, "16 KiB"), (1 << 20, "1 MiB")];
const OPERATIONS: [(Operation, &str); 3] =
    [(Operation::Encrypt, "encrypt"), (Operation::Decrypt, "decrypt"), (Operation::Mac, "MAC")];
/// Interleaved rounds, so that a disturbance affects all variants alike.
const ROUNDS: u32 = 7;
/// Bytes between two readings of the clock.
const BATCH: usize = 256 << 10;

#[derive(Clone, Copy)]
enum Operation {
    Encrypt,
    Decrypt,
    Mac,
}

/// `speed`.
pub fn table(args: &SpeedArgs) -> Result<()> {
    let failed = |error: Error| Failure::new(error.to_string());
    let backend = palladion::backend().map_err(|error| failed(error.into()))?;
    let rates = measure(Duration::from_secs_f64(args.seconds)).map_err(failed)?;

    let mut text = format!(
        "Backend {backend}: {}. GB/s on one core, from one buffer to another.\n\n",
        backend.description()
    );
    text += &format!("{:12}", "");
    for (_, size) in SIZES {
        text += &format!("  {size:^25}");
    }
    text += &format!("\n{:12}", "");
    for _ in SIZES {
        text += "  ";
        for (_, operation) in OPERATIONS {
            text += &format!(" {operation:>7} ");
        }
        text.truncate(text.trim_end().len());
    }
    for (algorithm, rates) in Algorithm::ALL.iter().zip(&rates) {
        text += &format!("\n{algorithm:12}");
        for size in rates.chunks_exact(OPERATIONS.len()) {
            text += "  ";
            for rate in size {
                text += &format!(" {:7.*} ", if *rate < 1e10 { 2 } else { 1 }, rate / 1e9);
            }
            text.truncate(text.trim_end().len());
        }
    }
    text.push('\n');
    streams::print(&text)
}

/// Bytes per second: for each variant, each operation at each size.
fn measure(time: Duration) -> std::result::Result<Vec<Vec<f64>>, Error> {
    fn boxed<F: Family, const D: usize>() -> std::result::Result<Box<dyn Measured>, Error> {
        Ok(Box::new(Variant::<F, D>::new()?))
    }
    let variants = Algorithm::ALL.into_iter().map(|algorithm| with_algorithm!(algorithm, boxed()));
    let mut variants = variants.collect::<std::result::Result<Vec<_>, Error>>()?;
    let cells = variants.len() * SIZES.len() * OPERATIONS.len();
    let slice = time / (cells as u32 * ROUNDS);
    let mut progress = Progress::of_steps((cells as u32 * ROUNDS).into(), "measuring");
    let mut done = 0;

    let mut samples = vec![vec![Vec::new(); SIZES.len() * OPERATIONS.len()]; variants.len()];
    for _ in 0..ROUNDS {
        for (variant, samples) in variants.iter_mut().zip(&mut samples) {
            let mut samples = samples.iter_mut();
            for (size, _) in SIZES {
                variant.prepare(size)?;
                for ((operation, _), samples) in OPERATIONS.iter().zip(samples.by_ref()) {
                    samples.push(rate(slice, size, || variant.run(*operation))?);
                    done += 1;
                    progress.set(done);
                }
            }
        }
    }
    Ok(samples.into_iter().map(|variant| variant.into_iter().map(median).collect()).collect())
}

fn rate(
    slice: Duration,
    size: usize,
    mut run: impl FnMut() -> std::result::Result<(), Error>,
) -> std::result::Result<f64, Error> {
    run()?; // warms up
    let begin = Instant::now();
    let mut bytes = 0;
    loop {
        for _ in 0..(BATCH / size).max(1) {
            run()?;
            bytes += size;
        }
        let elapsed = begin.elapsed();
        if elapsed >= slice {
            return Ok(bytes as f64 / elapsed.as_secs_f64());
        }
    }
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

trait Measured {
    /// Creates a message of this size and its ciphertext.
    fn prepare(&mut self, size: usize) -> std::result::Result<(), Error>;
    fn run(&mut self, operation: Operation) -> std::result::Result<(), Error>;
}

struct Variant<F: Family, const D: usize> {
    key: F::Key,
    nonce: F::Nonce,
    cipher: Aegis<F, D, 32>,
    message: Vec<u8>,
    ciphertext: Vec<u8>,
    tag: Tag<32>,
    output: Vec<u8>,
}

impl<F: Family, const D: usize> Variant<F, D> {
    fn new() -> std::result::Result<Self, Error> {
        let key = F::Key::try_from(&[7; 32][..F::KEY_LEN])?;
        Ok(Self {
            cipher: Aegis::new(&key),
            key,
            nonce: F::Nonce::default(),
            message: Vec::new(),
            ciphertext: Vec::new(),
            tag: [0; 32].into(),
            output: Vec::new(),
        })
    }
}

impl<F: Family, const D: usize> Measured for Variant<F, D> {
    fn prepare(&mut self, size: usize) -> std::result::Result<(), Error> {
        self.message = vec![1; size];
        self.ciphertext = vec![0; size];
        self.output = vec![0; size];
        self.tag =
            self.cipher.encrypt_into(&self.nonce, &[], &self.message, &mut self.ciphertext)?;
        Ok(())
    }

    fn run(&mut self, operation: Operation) -> std::result::Result<(), Error> {
        let Self { key, nonce, cipher, message, ciphertext, tag, output } = self;
        match operation {
            Operation::Encrypt => cipher.encrypt_into(nonce, &[], message, output).map(|_| ()),
            Operation::Decrypt => cipher.decrypt_into(nonce, &[], ciphertext, tag, output),
            Operation::Mac => {
                let _ = std::hint::black_box(Mac::<F, D, 32>::mac(key, nonce, message)?);
                Ok(())
            }
        }
    }
}
