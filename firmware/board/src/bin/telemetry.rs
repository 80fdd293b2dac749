//! An example without a heap: a sensor sends its readings, encrypted and authenticated with
//! AEGIS-128L.
//!
//!     scripts/test-firmware.sh telemetry

#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use cortex_m_rt::entry;
use cortex_m_semihosting::{debug, hprintln};
use palladion::{Aegis128L, Error, Key128, Nonce128};
// The firmware decides what a panic does. Here it ends the emulator; a device might reset itself.
// Palladion does not panic; .ci/test-panic-free.sh checks that.
use panic_semihosting as _;

/// The part that is authenticated but not encrypted: the sender and the number of the packet, from
/// which the receiver computes the nonce.
const HEADER: usize = 8;
/// The part that is encrypted.
const RECORD: usize = 14;
/// A short tag adds only 16 bytes to a packet.
const TAG: usize = 16;
const PACKET: usize = HEADER + RECORD + TAG;

/// **The key** is 16 random bytes that only this device and its server have. Write it in the
/// factory, or agree on it when the device is commissioned. Store it where a debugger cannot read
/// it: in one-time-programmable or read-protected flash, or in a secure element. Never put it in
/// the source, as this example does, and never use one key for all devices.
fn key() -> Key128 {
    Key128::from(*b"not a secret key")
}

/// **The nonce** must never be used twice with one key, not even after a reset or a flat battery. A
/// counter of packets that only grows is enough. Store it *before* you use it. To spare the flash,
/// store every thousandth number and continue with the next thousand after a reset. With a good
/// source of random bytes, AEGIS-256 can use random nonces instead.
///
/// Two senders that share a key must not share nonces, so the nonce contains the device's number.
fn nonce(device: u32, packet: u32) -> Nonce128 {
    let mut nonce = Nonce128::default();
    let bytes = nonce.as_mut();
    bytes[..4].copy_from_slice(&device.to_le_bytes());
    bytes[4..8].copy_from_slice(&packet.to_le_bytes());
    nonce
}

/// Writes the packet: header, ciphertext, tag.
fn send(device: u32, packet: u32, record: &[u8; RECORD]) -> Result<[u8; PACKET], Error> {
    let mut out = [0; PACKET];
    let (header, sealed) = out.split_at_mut(HEADER);
    header[..4].copy_from_slice(&device.to_le_bytes());
    header[4..].copy_from_slice(&packet.to_le_bytes());
    // The ciphertext and the tag are written directly to the packet.
    Aegis128L::<TAG>::new(&key()).seal_into(&nonce(device, packet), header, record, sealed)?;
    Ok(out)
}

/// The receiver. If this fails, nothing was decrypted: drop the packet, count it, and do not tell
/// the sender why. The receiver must also refuse a packet number that is not above the last
/// accepted one. Otherwise someone can send an old packet again.
fn receive(packet: &mut [u8; PACKET]) -> Result<&[u8], Error> {
    let (header, sealed) = packet.split_at_mut(HEADER);
    let number = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let nonce = nonce(number(0), number(4));
    let record = Aegis128L::<TAG>::new(&key()).open_in_place(&nonce, header, sealed)?;
    Ok(record)
}

#[entry]
fn main() -> ! {
    // For example temperature, pressure and voltage.
    let record = *b"21.5C 1013 3.1";
    let mut packet = match send(0xa1b2_c3d4, 1, &record) {
        Ok(packet) => packet,
        // Encryption does not fail for this size. If it did, nothing must be sent.
        Err(error) => {
            hprintln!("not sent: {:?}", error);
            debug::exit(debug::EXIT_FAILURE);
            loop {
                cortex_m::asm::wfi();
            }
        }
    };
    hprintln!("header     {:02x?}", &packet[..HEADER]);
    hprintln!("ciphertext {:02x?}", &packet[HEADER..HEADER + RECORD]);
    hprintln!("tag        {:02x?}", &packet[HEADER + RECORD..]);

    let mut forged = packet;
    forged[HEADER] ^= 1;
    let refused = receive(&mut forged) == Err(Error::VerificationFailed);
    // After a failure the output is all zeros.
    let zeroed = forged[HEADER..HEADER + RECORD] == [0; RECORD];
    let received = receive(&mut packet) == Ok(&record[..]);
    let good = received && refused && zeroed;
    hprintln!("received: {}; a changed bit was refused: {}", received, refused && zeroed);
    debug::exit(if good { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE });
    loop {
        cortex_m::asm::wfi();
    }
}
