//! Seals a burst of packets as a QUIC server or a VPN would: many packets of one length in one
//! buffer, which goes to the network card in one call ("generic segmentation offload" on Linux),
//! each under its own packet number. Then opens them again, after one of them was changed.
//!
//! `cargo run --release -p palladion --example quic_burst --features getrandom`

use std::time::{Duration, Instant};

use palladion::batch::{self, PacketLayout};
use palladion::{Aegis128L, Error, Key128, Nonce128, backend};

/// The number of packets in a burst.
const BURST: usize = 64;
/// The length of a tag in bytes.
const TAG: usize = 16;
/// A short header (flags, connection ID, packet number), a payload with its tag.
const LAYOUT: PacketLayout = PacketLayout { packet: 1452, header: 13 };

fn main() -> Result<(), Error> {
    // Key and IV come from the handshake.
    let cipher = Aegis128L::<TAG>::new(&Key128::generate()?);
    let iv = Nonce128::generate()?;

    // The last packet of a burst may be shorter.
    let mut burst = vec![0; BURST * LAYOUT.packet - 500];
    for (number, packet) in burst.chunks_mut(LAYOUT.packet).enumerate() {
        let (header, payload) = packet.split_at_mut(LAYOUT.header);
        header[0] = 0x43;
        header[1..9].copy_from_slice(b"conn-id!");
        header[9..].copy_from_slice(&(number as u32).to_be_bytes());
        payload.fill(number as u8); // its last 16 bytes become the tag
    }
    batch::seal_packets(&cipher, &iv, 0, &mut burst, LAYOUT)?;
    println!("sealed {BURST} packets");

    // One packet is changed on the way. The receiver drops it; the others are not affected.
    burst[17 * LAYOUT.packet + 100] ^= 1;
    let mut dropped = Vec::new();
    let result = batch::open_packets(&cipher, &iv, 0, &mut burst, LAYOUT, |i| dropped.push(i));
    assert_eq!((result, &dropped[..]), (Err(Error::VerificationFailed), &[17][..]));
    println!("opened {} packets, dropped packet {}", BURST - dropped.len(), dropped[0]);
    for (number, packet) in burst.chunks(LAYOUT.packet).enumerate() {
        let payload = &packet[LAYOUT.header..packet.len() - TAG];
        let expected = if number == 17 { 0 } else { number as u8 }; // a forgery is zeroed
        assert!(payload.iter().all(|byte| *byte == expected));
    }

    // Measure the time, together and one packet at a time. Only a measurement may encrypt again and
    // again under the same packet numbers.
    let bytes = burst.len() - BURST * (LAYOUT.header + TAG);
    let together = best_of(|| batch::seal_packets(&cipher, &iv, 0, &mut burst, LAYOUT))?;
    let alone = best_of(|| {
        for (number, packet) in burst.chunks_mut(LAYOUT.packet).enumerate() {
            let mut nonce = *iv.as_bytes();
            nonce[15] ^= number as u8;
            let (header, payload) = packet.split_at_mut(LAYOUT.header);
            cipher.seal_in_place(&nonce.into(), header, payload)?;
        }
        Ok(())
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
