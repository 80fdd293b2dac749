//! Seals a burst of packets as a QUIC server or a VPN does: many packets of one length in one
//! buffer, which goes to the network card in one call. Each has its own packet number.
//!
//! `cargo run --release -p palladion --example quic_burst --features getrandom`

use palladion::batch::{self, PacketLayout};
use palladion::{Aegis128L, Error, Key128, Nonce128};

const BURST: usize = 64;
/// A short header (flags, connection ID, packet number), then a payload with a tag of 16 bytes.
const LAYOUT: PacketLayout = PacketLayout { packet: 1452, header: 13 };

fn main() -> Result<(), Error> {
    // Key and IV come from the handshake.
    let cipher = Aegis128L::<16>::new(&Key128::generate()?);
    let iv = Nonce128::generate()?;

    let mut burst = vec![0; BURST * LAYOUT.packet - 500]; // the last packet may be shorter
    for (number, packet) in burst.chunks_mut(LAYOUT.packet).enumerate() {
        packet[..9].copy_from_slice(b"Cconn-id!");
        packet[9..13].copy_from_slice(&(number as u32).to_be_bytes());
        packet[13..].fill(number as u8); // the last 16 bytes become the tag
    }
    batch::seal_packets(&cipher, &iv, 0, &mut burst, LAYOUT)?;

    // One packet is changed on the way. The receiver drops it; the others are not affected.
    burst[17 * LAYOUT.packet + 100] ^= 1;
    let mut dropped = Vec::new();
    let result = batch::open_packets(&cipher, &iv, 0, &mut burst, LAYOUT, |i| dropped.push(i));
    assert_eq!((result, &dropped[..]), (Err(Error::VerificationFailed), &[17][..]));
    println!("opened {} packets, dropped packet {}", BURST - dropped.len(), dropped[0]);
    for (number, packet) in burst.chunks(LAYOUT.packet).enumerate() {
        let expected = if number == 17 { 0 } else { number as u8 }; // a forgery is zeroed
        assert!(packet[13..packet.len() - 16].iter().all(|byte| *byte == expected));
    }
    Ok(())
}
