//! Compares this library's batches with the same messages one after another.
//!
//! Jobs are sealed or opened from one buffer to another, each with its own nonce. The time of a
//! batch includes creating the jobs, because a program must do that too.
//!
//! Packets are in one buffer and processed in place. Their headers are the associated data. A batch
//! derives the nonces from packet numbers. One after another, packets use nonces that were derived
//! before, so a batch does more. A packet can be opened only once: for each measurement, sealed
//! copies are restored until they fill [`PACKET_MEMORY`], and only opening all of them is timed.
//! Packets are sealed in the same memory, but need not be restored. Reading the clock adds a few
//! percent at most, the same in both ways.

use std::hint::black_box;
use std::time::{Duration, Instant};

use palladion::batch::{
    Decryption, Encryption, PacketLayout, decrypt, encrypt, open_packets, seal_packets,
};
use palladion::family::{Aegis128, Aegis256, Family};
use palladion::{Aegis, Backend};

use crate::algorithm::{Algorithm, Operation, Variant};
use crate::measure::{Aligned, message, repeats};
use crate::results::{BatchCell, Times, Together};
use crate::subjects::{Description, KEY, NONCE, TAG_LEN, check};

/// The numbers of messages in a batch.
pub const COUNTS: [usize; 4] = [2, 4, 16, 64];
/// Bytes of each message.
pub const SIZES: [usize; 4] = [64, 256, 512, 1472];
/// Bytes of associated data.
pub const AD: usize = 13;
pub const OPERATIONS: [Operation; 2] = [Operation::Encrypt, Operation::Decrypt];

/// The bytes of packets that are timed together. They and the bytes that they are restored from fit
/// the first-level cache of all CPUs that matter.
const PACKET_MEMORY: usize = 16384;

/// The way in which the messages are processed.
#[derive(Clone, Copy)]
enum Way {
    Batch,
    Alone,
}

const WAYS: [Way; 2] = [Way::Batch, Way::Alone];

/// Some messages, with the cipher and the buffers for the results.
trait Messages {
    /// Processes all messages at least `repeats` times, and returns the nanoseconds that one time
    /// takes. The loop is here so that only the calls are measured.
    fn time(&mut self, way: Way, repeats: u64) -> Result<f64, String>;
    /// The memory with all outputs.
    fn outputs(&mut self) -> &mut [u8];
}

/// Chooses the backend, in the first call, which is not measured.
fn choose(backend: Backend) -> Result<(), String> {
    if palladion::backend() != Ok(backend) {
        check(palladion::set_backend(backend))?;
    }
    Ok(())
}

struct Group<F: Family, const D: usize> {
    backend: Backend,
    operation: Operation,
    size: usize,
    cipher: Aegis<F, D, TAG_LEN>,
    nonces: Vec<F::Nonce>,
    ad: Vec<u8>,
    inputs: Aligned,
    outputs: Aligned,
}

impl<F: Family + 'static, const D: usize> Group<F, D> {
    fn boxed(
        backend: Backend,
        operation: Operation,
        size: usize,
        count: usize,
    ) -> Result<Box<dyn Messages>, String> {
        let key = F::Key::try_from(&KEY[..F::KEY_LEN]).expect("length");
        let nonce = |i| {
            let mut nonce = NONCE;
            nonce[0] ^= i as u8;
            F::Nonce::try_from(&nonce[..F::KEY_LEN]).expect("length")
        };
        let len = count * stride(size);
        let mut group = Self {
            backend,
            operation: Operation::Encrypt,
            size,
            cipher: Aegis::new(&key),
            nonces: (0..count).map(nonce).collect(),
            ad: message(AD),
            inputs: Aligned::new(len, 0),
            outputs: Aligned::new(len, 2048),
        };
        group.inputs.get().copy_from_slice(&message(len));
        if operation == Operation::Decrypt {
            group.time(Way::Alone, 1)?;
            group.inputs.get().copy_from_slice(group.outputs.get());
            group.operation = operation;
        }
        Ok(Box::new(group))
    }
}

/// Messages start at cache lines.
fn stride(size: usize) -> usize {
    (size + TAG_LEN).next_multiple_of(64)
}

impl<F: Family, const D: usize> Messages for Group<F, D> {
    fn time(&mut self, way: Way, repeats: u64) -> Result<f64, String> {
        choose(self.backend)?;
        let start = Instant::now();
        for _ in 0..repeats {
            let Self { operation, size, cipher, nonces, ad, inputs, outputs, .. } =
                black_box(&mut *self);
            let (short, long, stride) = (*size, *size + TAG_LEN, stride(*size));
            let inputs = inputs.get().chunks_exact(stride);
            let outputs = outputs.get().chunks_exact_mut(stride);
            let messages = nonces.iter().zip(inputs).zip(outputs);
            match (way, *operation) {
                (Way::Batch, Operation::Decrypt) => {
                    let jobs = messages.map(|((nonce, input), output)| {
                        Decryption::open_into(
                            cipher,
                            nonce,
                            ad,
                            &input[..long],
                            &mut output[..short],
                        )
                    });
                    check(decrypt(jobs, |_, _| {}))?;
                }
                (Way::Batch, _) => {
                    let jobs = messages.map(|((nonce, input), output)| {
                        Encryption::seal_into(
                            cipher,
                            nonce,
                            ad,
                            &input[..short],
                            &mut output[..long],
                        )
                    });
                    check(encrypt(jobs))?;
                }
                (Way::Alone, Operation::Decrypt) => {
                    for ((nonce, input), output) in messages {
                        check(cipher.open_into(nonce, ad, &input[..long], &mut output[..short]))?;
                    }
                }
                (Way::Alone, _) => {
                    for ((nonce, input), output) in messages {
                        check(cipher.seal_into(nonce, ad, &input[..short], &mut output[..long]))?;
                    }
                }
            }
        }
        Ok(start.elapsed().as_nanos() as f64 / repeats as f64)
    }

    fn outputs(&mut self) -> &mut [u8] {
        self.outputs.get()
    }
}

/// Packets in one buffer.
struct Packets<F: Family, const D: usize> {
    backend: Backend,
    operation: Operation,
    layout: PacketLayout,
    cipher: Aegis<F, D, TAG_LEN>,
    /// The nonces of the packets, as [`seal_packets`] derives them from the first.
    nonces: Vec<F::Nonce>,
    /// The length of all packets.
    len: usize,
    /// Sealed copies of all packets, to restore them from.
    sealed: Aligned,
    work: Aligned,
}

impl<F: Family + 'static, const D: usize> Packets<F, D> {
    fn boxed(
        backend: Backend,
        operation: Operation,
        size: usize,
        count: usize,
    ) -> Result<Box<dyn Messages>, String> {
        let key = F::Key::try_from(&KEY[..F::KEY_LEN]).expect("length");
        let nonce = |number| {
            let mut nonce = NONCE;
            // Numbers are below 256.
            nonce[F::KEY_LEN - 1] ^= number as u8;
            F::Nonce::try_from(&nonce[..F::KEY_LEN]).expect("length")
        };
        let layout = PacketLayout { packet: AD + size + TAG_LEN, header: AD };
        let len = count * layout.packet;
        let memory = len * (PACKET_MEMORY / len).max(1);
        let mut packets = Self {
            backend,
            operation: Operation::Encrypt,
            layout,
            cipher: Aegis::new(&key),
            nonces: (0..count).map(nonce).collect(),
            len,
            sealed: Aligned::new(memory, 0),
            work: Aligned::new(memory, 2048),
        };
        packets.work.get().copy_from_slice(&message(len).repeat(memory / len));
        if operation == Operation::Decrypt {
            packets.time(Way::Alone, 1)?;
            packets.sealed.get().copy_from_slice(packets.work.get());
            packets.operation = operation;
        }
        Ok(Box::new(packets))
    }
}

impl<F: Family, const D: usize> Messages for Packets<F, D> {
    fn time(&mut self, way: Way, repeats: u64) -> Result<f64, String> {
        choose(self.backend)?;
        let copies = (self.work.get().len() / self.len) as u64;
        let rounds = repeats.div_ceil(copies);
        let mut elapsed = Duration::ZERO;
        for _ in 0..rounds {
            let Self { operation, layout, cipher, nonces, len, sealed, work, .. } =
                black_box(&mut *self);
            let opens = *operation == Operation::Decrypt;
            if opens {
                work.get().copy_from_slice(sealed.get());
            }
            let start = Instant::now();
            for packets in work.get().chunks_exact_mut(*len) {
                match way {
                    Way::Batch if opens => {
                        check(open_packets(cipher, &nonces[0], 0, packets, *layout, |_| ()))?
                    }
                    Way::Batch => check(seal_packets(cipher, &nonces[0], 0, packets, *layout))?,
                    Way::Alone => {
                        for (packet, nonce) in packets.chunks_exact_mut(layout.packet).zip(&*nonces)
                        {
                            let (header, rest) = packet.split_at_mut(layout.header);
                            if opens {
                                check(cipher.open_in_place(nonce, header, rest))?;
                            } else {
                                check(cipher.seal_in_place(nonce, header, rest))?;
                            }
                        }
                    }
                }
            }
            elapsed += start.elapsed();
        }
        Ok(elapsed.as_nanos() as f64 / (rounds * copies) as f64)
    }

    fn outputs(&mut self) -> &mut [u8] {
        self.work.get()
    }
}

/// The variant and the backend, if batches of this subject are measured: those of the backend
/// `ours` and of backends with wide AES instructions.
fn wanted(d: &Description, ours: Backend) -> Option<(Variant, Backend)> {
    let Algorithm::Aegis(variant) = d.algorithm else { return None };
    let backend = if d.is_ours() { d.form.parse().ok()? } else { return None };
    let wide = matches!(backend, Backend::VaesAvx512 | Backend::VaesAvx2);
    (wide || backend == ours).then_some((variant, backend))
}

/// Creates messages of a backend, an operation, a size and a number.
type Make = fn(Backend, Operation, usize, usize) -> Result<Box<dyn Messages>, String>;

/// The functions that create jobs of a variant, and packets if it gains from batches.
fn makers(variant: Variant) -> (Make, Option<Make>) {
    match variant {
        Variant::Aegis128L => (Group::<Aegis128, 1>::boxed, Some(Packets::<Aegis128, 1>::boxed)),
        Variant::Aegis128X2 => (Group::<Aegis128, 2>::boxed, None),
        Variant::Aegis128X4 => (Group::<Aegis128, 4>::boxed, None),
        Variant::Aegis256 => (Group::<Aegis256, 1>::boxed, Some(Packets::<Aegis256, 1>::boxed)),
        Variant::Aegis256X2 => (Group::<Aegis256, 2>::boxed, None),
        Variant::Aegis256X4 => (Group::<Aegis256, 4>::boxed, None),
    }
}

/// One subject with some messages, and its samples so far: first of the batch, then of single
/// messages.
struct Track {
    subject: usize,
    variant: Variant,
    backend: Backend,
    make: Make,
    repeats: [u64; 2],
    samples: [Vec<f64>; 2],
}

impl Track {
    fn new(subject: usize, variant: Variant, backend: Backend, make: Make) -> Self {
        Self { subject, variant, backend, make, repeats: [0; 2], samples: Default::default() }
    }

    /// Creates the messages. Fails unless both ways give the same bytes.
    fn prepare(
        &self,
        operation: Operation,
        size: usize,
        count: usize,
    ) -> Result<Box<dyn Messages>, String> {
        let mut results = Vec::new();
        for way in WAYS {
            let mut messages = (self.make)(self.backend, operation, size, count)?;
            messages.time(way, 1)?;
            results.push(messages.outputs().to_vec());
            if results[0] != results[results.len() - 1] {
                return Err(format!("{}: a batch gives different bytes", self.variant.name()));
            }
        }
        (self.make)(self.backend, operation, size, count)
    }

    fn together(self) -> Together {
        let [batch, alone] = self.samples.map(Times::of);
        Together { batch, alone }
    }
}

/// Measures batches of messages of one size like other tasks: a little of everything in turn.
pub fn measure(
    subjects: &[Description],
    ours: Backend,
    (operation, size, count): (Operation, usize, usize),
    rounds: u32,
) -> Result<Vec<BatchCell>, String> {
    let mut tracks = Vec::new();
    for (subject, d) in subjects.iter().enumerate() {
        let Some((variant, backend)) = wanted(d, ours) else { continue };
        let (jobs, packets) = makers(variant);
        for make in [Some(jobs), packets].into_iter().flatten() {
            let mut track = Track::new(subject, variant, backend, make);
            let mut messages = track.prepare(operation, size, count)?;
            for (times, way) in track.repeats.iter_mut().zip(WAYS) {
                *times = repeats(|repeats| messages.time(way, repeats))?.0;
            }
            tracks.push((track, messages));
        }
    }
    for round in 0..rounds {
        for i in 0..tracks.len() {
            // Forwards and backwards in turn.
            let (i, order) =
                if round % 2 == 0 { (i, [0, 1]) } else { (tracks.len() - 1 - i, [1, 0]) };
            let (track, messages) = &mut tracks[i];
            for place in order {
                messages.time(WAYS[place], 1)?;
                let ns = messages.time(WAYS[place], track.repeats[place])?;
                track.samples[place].push(ns / count as f64);
            }
        }
    }
    let mut cells = Vec::new();
    let mut tracks = tracks.into_iter().map(|(track, _)| track).peekable();
    while let Some(jobs) = tracks.next() {
        let subject = jobs.subject;
        let packets = tracks.next_if(|track| track.subject == subject).map(Track::together);
        let jobs = jobs.together();
        cells.push(BatchCell { subject, operation, messages: count, size, ad: AD, jobs, packets });
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subjects;

    #[test]
    fn a_whole_run() {
        let backends: Vec<_> = Backend::ALL.iter().copied().filter(|b| b.is_available()).collect();
        let (entries, _) = subjects::all(&Variant::ALL, &backends, |_| false);
        let subjects: Vec<_> = entries.into_iter().map(|entry| entry.description).collect();
        let mut cells = Vec::new();
        for task in OPERATIONS.iter().flat_map(|&o| [(o, 0, 2), (o, 100, 16)]) {
            cells.extend(measure(&subjects, backends[0], task, 1).unwrap());
        }
        assert!(cells.len() >= 4 * 6);
        assert!(cells.iter().all(|cell| cell.jobs.ratio() > 0.0));
        let packets = cells.iter().filter_map(|cell| cell.packets);
        assert_eq!(packets.clone().count() * 3, cells.len());
        assert!(packets.clone().all(|packets| packets.ratio() > 0.0));
    }

    #[test]
    fn slow_backends_are_left_out() {
        let mut d = Description {
            algorithm: Variant::Aegis256.into(),
            library: "palladion".into(),
            form: "portable".into(),
        };
        assert_eq!(wanted(&d, Backend::AesNi), None);
        assert_eq!(wanted(&d, Backend::Portable), Some((Variant::Aegis256, Backend::Portable)));
        d.form = "vaes-avx2".into();
        assert_eq!(wanted(&d, Backend::AesNi), Some((Variant::Aegis256, Backend::VaesAvx2)));
        d.library = "aegis".into();
        assert_eq!(wanted(&d, Backend::VaesAvx2), None);
    }
}
