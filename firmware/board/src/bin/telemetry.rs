//! An example: a sensor sends its readings, encrypted and authenticated with AEGIS-128L, without a
//! heap.
//!
//!     scripts/test-firmware.sh telemetry

#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use cortex_m_rt::entry;
use cortex_m_semihosting::{debug, hprintln};
use palladion::{Aegis128L, Error, Key128, Nonce128};
// What a panic does is for the firmware to decide. Here it ends the emulator; a device may rather
// reset itself. Palladion has none: .ci/test-panic-free.sh.
use panic_semihosting as _;

/// What is sent in clear and authenticated: who sends, and the number of the packet, from which the
/// receiver makes the same nonce.
const HEADER: usize = 8;
/// What is encrypted.
const RECORD: usize = 14;
/// A short tag is all that 16 bytes cost on the air.
const TAG: usize = 16;
const PACKET: usize = HEADER + RECORD + TAG;

/// **The key** is 16 random bytes that only this device and its server have. It is written when the
/// device is made, or agreed upon when it is commissioned, and lies where a debugger cannot read
/// it: in one-time-programmable or read-protected flash, or in a secure element. Never in the
/// source, as here, nor the same in all devices.
fn key() -> Key128 {
    Key128::from(*b"not a secret key")
}

/// **The nonce** must never be used twice with one key, also not after a reset or a flat battery. A
/// number of packets that only grows will do. It must be stored *before* it is used; to spare the
/// flash, store every thousandth and go on from there after a reset. (AEGIS-256 takes a random
/// nonce instead, if there is a good source of random bytes.)
///
/// Two senders that share a key must not share nonces: so the device's number is in it too.
fn nonce(device: u32, packet: u32) -> Nonce128 {
    let mut nonce = Nonce128::default();
    let bytes = nonce.as_mut();
    bytes[..4].copy_from_slice(&device.to_le_bytes());
    bytes[4..8].copy_from_slice(&packet.to_le_bytes());
    nonce
}

/// Makes the packet: header, ciphertext, tag.
fn send(device: u32, packet: u32, record: &[u8; RECORD]) -> Result<[u8; PACKET], Error> {
    let mut out = [0; PACKET];
    let (header, sealed) = out.split_at_mut(HEADER);
    header[..4].copy_from_slice(&device.to_le_bytes());
    header[4..].copy_from_slice(&packet.to_le_bytes());
    // Ciphertext and tag go right into the packet; nothing is copied.
    Aegis128L::<TAG>::new(&key()).seal_into(&nonce(device, packet), header, record, sealed)?;
    Ok(out)
}

/// The other side. Where it fails, nothing was decrypted: drop the packet, count it, answer nothing
/// that tells the sender why. The receiver must also refuse a `packet` that is not above the last
/// one it has accepted, or else an old one can be sent again.
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
    // Temperature, pressure and voltage, say.
    let record = *b"21.5C 1013 3.1";
    let mut packet = match send(0xa1b2_c3d4, 1, &record) {
        Ok(packet) => packet,
        // Messages of this size do not fail; but if something does, nothing must be sent.
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
    // Of what was refused nothing is left to look at.
    let zeroed = forged[HEADER..HEADER + RECORD] == [0; RECORD];
    let received = receive(&mut packet) == Ok(&record[..]);
    let good = received && refused && zeroed;
    hprintln!("received: {}; a changed bit was refused: {}", received, refused && zeroed);
    debug::exit(if good { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE });
    loop {
        cortex_m::asm::wfi();
    }
}
