//! `speed`.

use std::time::{Duration, Instant};

use aes_gcm::aead::inout::InOutBuf;
use aes_gcm::{AeadInOut, Aes256Gcm, KeyInit};
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
    let load = load();
    let (rates, spread) = measure(Duration::from_secs_f64(args.seconds)).map_err(failed)?;

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
    let names = Algorithm::ALL.iter().map(|algorithm| algorithm.name());
    for (name, rates) in names.chain(["AES-256-GCM"]).zip(&rates) {
        let mut line = format!("{name:11}");
        for operation in rates {
            line.push(' ');
            for rate in operation {
                line += &match rate {
                    0.0 => " ".repeat(7),
                    _ => format!(" {:6.*}", if *rate < 1e10 { 2 } else { 1 }, rate / 1e9),
                };
            }
        }
        text += &format!("\n{}", line.trim_end());
    }
    text += "\n\n";
    text += &wrapped(GCM, 0);
    text += &wrapped(&disturbances(spread, load, cores()), 0);
    streams::print(&text)
}

/// What the table does not say about AES-GCM.
const GCM: &str = "\
    AES-256-GCM is that of the Rust crate aes-gcm (RustCrypto). For long messages, OpenSSL's was \
    1.4 to 3.3 times as fast where we measured both: compare with openssl speed -aead -evp \
    aes-256-gcm.";

/// Says how far the figures can be trusted. `spread` is how much slower the usual round is than the
/// fastest one, and `load` how many programs want a core, without this one.
fn disturbances(spread: f64, load: Option<f64>, cores: usize) -> String {
    let mut text = format!("The usual round was {:.0} % slower than the fastest. ", spread * 100.0);
    let is_full = load.is_some_and(|load| load > cores as f64 - 0.5);
    if let Some(load) = load.filter(|_| is_full) {
        text += &format!("The machine is busy: load {load:.1} on {cores} cores. ");
    } else if spread > 0.1 {
        text += "The machine is busy, or its clock changes. ";
    }
    if is_full || spread > 0.1 {
        text += "When it is idle, the figures may be higher.";
    }
    text
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The average number of programs that want a core, in the last minute. Only Linux says it in a
/// file.
fn load() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

/// Bytes per second for each operation, at each size; 0 for an operation that does not exist.
type Rates = [[f64; SIZES.len()]; OPERATIONS.len()];

/// Measures each variant. The fastest round counts: whatever else the machine does only slows one
/// down. Also returns by how much the usual round was slower.
fn measure(time: Duration) -> std::result::Result<(Vec<Rates>, f64), Error> {
    fn boxed<F: Family, const D: usize>() -> std::result::Result<Box<dyn Measured>, Error> {
        Ok(Box::new(Variant::<F, D>::new()?))
    }
    let variants = Algorithm::ALL.into_iter().map(|algorithm| with_algorithm!(algorithm, boxed()));
    let mut variants = variants.collect::<std::result::Result<Vec<_>, Error>>()?;
    variants.push(Box::new(Gcm::new()));
    let cells = variants.len() * SIZES.len() * OPERATIONS.len();
    let slice = time / (cells as u32 * ROUNDS);
    let mut progress = Progress::of_steps((cells as u32 * ROUNDS).into(), "measuring");
    let mut done = 0;

    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let mut rates = vec![Rates::default(); variants.len()];
        for (variant, rates) in variants.iter_mut().zip(&mut rates) {
            for (at, (size, _)) in SIZES.into_iter().enumerate() {
                variant.prepare(size)?;
                for ((operation, _), rates) in OPERATIONS.iter().zip(rates.iter_mut()) {
                    if variant.does(*operation) {
                        rates[at] = rate(slice, size, || variant.run(*operation))?;
                    }
                    done += 1;
                    progress.set(done);
                }
            }
        }
        rounds.push(rates);
    }
    let mut fastest = vec![Rates::default(); variants.len()];
    let mut slower = Vec::new();
    for (at, fastest) in fastest.iter_mut().enumerate() {
        for (operation, fastest) in fastest.iter_mut().enumerate() {
            for (size, fastest) in fastest.iter_mut().enumerate() {
                let mut rates: Vec<_> =
                    rounds.iter().map(|rates| rates[at][operation][size]).collect();
                rates.sort_by(f64::total_cmp);
                *fastest = rates[rates.len() - 1];
                if *fastest > 0.0 {
                    slower.push(*fastest / rates[rates.len() / 2] - 1.0);
                }
            }
        }
    }
    slower.sort_by(f64::total_cmp);
    Ok((fastest, slower[slower.len() / 2]))
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
    fn does(&self, operation: Operation) -> bool;
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

    fn does(&self, _: Operation) -> bool {
        true
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

/// AES-GCM, to compare with.
struct Gcm {
    cipher: Aes256Gcm,
    message: Vec<u8>,
    ciphertext: Vec<u8>,
    tag: aes_gcm::Tag,
    output: Vec<u8>,
}

impl Gcm {
    fn new() -> Self {
        Self {
            cipher: Aes256Gcm::new(&[7; 32].into()),
            message: Vec::new(),
            ciphertext: Vec::new(),
            tag: aes_gcm::Tag::default(),
            output: Vec::new(),
        }
    }
}

impl Measured for Gcm {
    fn prepare(&mut self, size: usize) -> std::result::Result<(), Error> {
        self.message = vec![1; size];
        self.output = vec![0; size];
        self.run(Operation::Encrypt)?;
        self.ciphertext = self.output.clone();
        Ok(())
    }

    fn does(&self, operation: Operation) -> bool {
        !matches!(operation, Operation::Mac)
    }

    fn run(&mut self, operation: Operation) -> std::result::Result<(), Error> {
        let Self { cipher, message, ciphertext, tag, output } = self;
        let nonce = [0; 12].into();
        let is_encryption = matches!(operation, Operation::Encrypt);
        let input = if is_encryption { message } else { ciphertext };
        let buffers = InOutBuf::new(input, output).expect("both have one length");
        if is_encryption {
            let made = cipher.encrypt_inout_detached(&nonce, &[], buffers);
            *tag = made.expect("the message is short enough");
            return Ok(());
        }
        let opened = cipher.decrypt_inout_detached(&nonce, &[], buffers, tag);
        opened.map_err(|_| Error::VerificationFailed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_machines() {
        let says = |spread, load, cores| disturbances(spread, load, cores);
        assert!(says(0.02, Some(0.3), 2).ends_with("2 % slower than the fastest. "));
        assert!(says(0.02, Some(1.8), 2).contains("busy: load 1.8 on 2 cores"));
        assert!(says(0.02, None, 2).ends_with("fastest. "));
        assert!(says(0.3, Some(0.0), 2).contains("busy, or its clock changes"));
    }
}
