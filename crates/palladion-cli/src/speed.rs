//! `speed`.

use std::time::{Duration, Instant};

use palladion::family::Family;
use palladion::{Aegis, Error, Mac, Tag, with_algorithm};
use palladion_file::Algorithm;

use crate::args::SpeedArgs;
use crate::failure::{Failure, Result};
use crate::progress::Progress;
use crate::streams;
use crate::text::wrapped;

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

    let mut text = wrapped(&format!("Backend {backend}: {}.", backend.description()), 0);
    text += "GB/s on one core, from one buffer to another.\n\n           ";
    for (_, operation) in OPERATIONS {
        text += &format!(" {operation:>21}");
    }
    text += "\n           ";
    for _ in OPERATIONS {
        text.push(' ');
        for (_, size) in SIZES {
            text += &format!(" {size:>6}");
        }
    }
    for (algorithm, rates) in Algorithm::ALL.iter().zip(&rates) {
        text += &format!("\n{algorithm:11}");
        for operation in rates {
            text.push(' ');
            for rate in operation {
                text += &format!(" {:6.*}", if *rate < 1e10 { 2 } else { 1 }, rate / 1e9);
            }
        }
    }
    text.push('\n');
    streams::print(&text)
}

/// Bytes per second for each operation, at each size.
type Rates = [[f64; SIZES.len()]; OPERATIONS.len()];

/// Measures each variant. The fastest round counts: whatever else the machine does only slows one
/// down.
fn measure(time: Duration) -> std::result::Result<Vec<Rates>, Error> {
    fn boxed<F: Family, const D: usize>() -> std::result::Result<Box<dyn Measured>, Error> {
        Ok(Box::new(Variant::<F, D>::new()?))
    }
    let variants = Algorithm::ALL.into_iter().map(|algorithm| with_algorithm!(algorithm, boxed()));
    let mut variants = variants.collect::<std::result::Result<Vec<_>, Error>>()?;
    let cells = variants.len() * SIZES.len() * OPERATIONS.len();
    let slice = time / (cells as u32 * ROUNDS);
    let mut progress = Progress::of_steps((cells as u32 * ROUNDS).into(), "measuring");
    let mut done = 0;

    let mut fastest = vec![Rates::default(); variants.len()];
    for _ in 0..ROUNDS {
        for (variant, fastest) in variants.iter_mut().zip(&mut fastest) {
            for (at, (size, _)) in SIZES.into_iter().enumerate() {
                variant.prepare(size)?;
                for ((operation, _), fastest) in OPERATIONS.iter().zip(fastest.iter_mut()) {
                    let rate = rate(slice, size, || variant.run(*operation))?;
                    fastest[at] = rate.max(fastest[at]);
                    done += 1;
                    progress.set(done);
                }
            }
        }
    }
    Ok(fastest)
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
