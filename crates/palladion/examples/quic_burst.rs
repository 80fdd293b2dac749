//! Seals a burst of packets as a QUIC server would: many packets of nearly the same size, all of
//! one connection, each with its own packet number. Then opens them again, after one of them was
//! changed.
//!
//! `cargo run --release -p palladion --example quic_burst --features getrandom`

use std::time::{Duration, Instant};

use palladion::batch::{self, Decryption, Encryption};
use palladion::{Aegis128L, Error, Key128, Nonce128, backend};

/// A packet that QUIC protects: a header that everyone can read, and a payload with room for its
/// tag.
struct Packet {
    number: u64,
    header: Vec<u8>,
    payload: Vec<u8>,
}

/// The number of packets in a burst: as many as go to the network card in one call, for example
/// with "generic segmentation offload" on Linux.
const BURST: u64 = 64;
/// The length of a tag in bytes.
const TAG: usize = 16;

impl Packet {
    fn new(number: u64) -> Self {
        // A short header: flags, connection ID, packet number. It is authenticated as associated
        // data.
        let mut header = vec![0x43];
        header.extend(*b"conn-id!");
        header.extend((number as u32).to_be_bytes());
        // Most packets of a burst are full; some are not.
        let len = if number.is_multiple_of(8) {
            1200 + number as usize
        } else {
            1472 - header.len() - TAG
        };
        let mut payload = vec![number as u8; len];
        payload.resize(len + TAG, 0);
        Self { number, header, payload }
    }

    /// Returns a nonce that no other packet has: the connection's IV, XORed with the packet number
    /// (RFC 9001 §5.3).
    fn nonce(&self, iv: &[u8; 16]) -> Nonce128 {
        let mut nonce = *iv;
        for (n, p) in nonce[8..].iter_mut().zip(self.number.to_be_bytes()) {
            *n ^= p;
        }
        nonce.into()
    }
}

fn main() -> Result<(), Error> {
    // Key and IV come from the handshake.
    let cipher = Aegis128L::<TAG>::new(&Key128::generate()?);
    let iv = *Nonce128::generate()?.as_bytes();
    let mut packets: Vec<Packet> = (0..BURST).map(Packet::new).collect();

    // One job for each packet, and one call for all of them.
    let mut jobs: Vec<_> = packets
        .iter_mut()
        .map(|p| {
            let nonce = p.nonce(&iv);
            Encryption::seal_in_place(&cipher, &nonce, &p.header, &mut p.payload)
        })
        .collect();
    batch::encrypt(&mut jobs)?;
    println!("sealed {} packets", jobs.len());

    // One packet is changed on the way.
    packets[17].payload[100] ^= 1;

    // The receiver opens them. A wrong packet does not affect the others.
    let mut jobs: Vec<_> = packets
        .iter_mut()
        .map(|p| {
            let nonce = p.nonce(&iv);
            Decryption::open_in_place(&cipher, &nonce, &p.header, &mut p.payload)
        })
        .collect();
    let failed = batch::decrypt(&mut jobs).expect_err("one packet was changed");
    println!("opened: {failed}");
    assert_eq!((failed.failed, failed.first), (1, 17));
    for (number, job) in jobs.iter().enumerate() {
        match job.message() {
            Ok(message) => assert!(message.iter().all(|byte| *byte == number as u8)),
            Err(e) => assert_eq!((number, e), (17, Error::VerificationFailed)),
        }
    }

    // Measure the time, together and one packet at a time. Only a measurement may encrypt again and
    // again under the same nonces.
    let bytes: usize = packets.iter().map(|p| p.payload.len() - TAG).sum();
    let together = best_of(|| {
        let mut jobs: Vec<_> = packets
            .iter_mut()
            .map(|p| {
                let nonce = p.nonce(&iv);
                Encryption::seal_in_place(&cipher, &nonce, &p.header, &mut p.payload)
            })
            .collect();
        Ok(batch::encrypt(&mut jobs)?)
    })?;
    let alone = best_of(|| {
        packets
            .iter_mut()
            .try_for_each(|p| cipher.seal_in_place(&p.nonce(&iv), &p.header, &mut p.payload))
    })?;
    let speed = |time: Duration| bytes as f64 * 8e-9 / time.as_secs_f64();
    println!(
        "with {}: {:.1} Gbit/s together, {:.1} Gbit/s one at a time",
        backend()?,
        speed(together),
        speed(alone)
    );
    Ok(())
}

/// Returns the shortest time of many runs.
fn best_of(mut work: impl FnMut() -> Result<(), Error>) -> Result<Duration, Error> {
    let mut best = Duration::MAX;
    for _ in 0..1000 {
        let start = Instant::now();
        work()?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}
