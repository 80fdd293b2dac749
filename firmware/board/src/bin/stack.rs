//! Measures how much stack each operation takes: it paints the memory below the stack, runs the
//! operation and looks how much paint was overwritten. The result includes the cipher with its key,
//! its state and all local variables, but not the caller's buffers for message and associated data.

#![allow(unsafe_code)] // paints the stack and reads it
#![no_std]
#![no_main]

use core::hint::black_box;

use cortex_m::register::msp;
use cortex_m_rt::entry;
use cortex_m_semihosting::{debug, hprintln};
use palladion::family::Family;
use palladion::{Aegis, Mac, Tag};
use palladion_firmware::{Each, for_each_variant};
use panic_semihosting as _;

const WORDS: usize = 16 * 1024;
const PAINT: u32 = 0xa5c3_96f1;

/// Bytes of stack that `f` takes below its caller.
#[inline(never)]
fn depth(f: &mut dyn FnMut()) -> usize {
    let top = msp::read() as usize as *mut u32;
    for i in 1..=WORDS {
        // SAFETY: the address is below the stack, which nothing uses until a function is called,
        // and within the 4 MiB of RAM. No interrupt is enabled.
        unsafe { top.sub(i).write_volatile(PAINT) };
    }
    f();
    let mut deepest = WORDS;
    // SAFETY: the address is below the stack and within the 4 MiB of RAM, and no interrupt is
    // enabled. Any bits are a valid word.
    while deepest > 0 && unsafe { top.sub(deepest).read_volatile() } == PAINT {
        deepest -= 1;
    }
    assert!(deepest < WORDS, "the paint was not enough");
    4 * deepest
}

struct Measure;

impl Each for Measure {
    fn variant<F: Family, const D: usize>(&mut self, name: &'static str) {
        let bytes = black_box([7u8; 32]);
        let (Ok(key), nonce) = (F::Key::try_from(&bytes[..F::KEY_LEN]), F::Nonce::default()) else {
            panic!()
        };
        let cipher = Aegis::<F, D, 16>::new(&key);
        let mut buf = [0u8; 100];
        let ad = black_box([1u8; 20]);
        let tag = Tag::from([0; 16]);

        let encrypt = depth(&mut || _ = black_box(cipher.encrypt_in_place(&nonce, &ad, &mut buf)));
        let decrypt =
            depth(&mut || _ = black_box(cipher.decrypt_in_place(&nonce, &ad, &mut buf, &tag)));
        let mac = depth(&mut || _ = black_box(Mac::<F, D, 16>::mac(&key, &nonce, &ad)));
        let verify = depth(&mut || _ = black_box(cipher.verify(&nonce, &ad, &buf, &tag)));
        let pieces = depth(&mut || {
            let Ok(mut encryptor) = cipher.encryptor(&nonce, &ad) else { panic!() };
            for piece in buf.chunks_mut(7) {
                let _ = black_box(encryptor.update_in_place(piece));
            }
            _ = black_box(encryptor.finalize());
        });
        hprintln!("{:12} {:8} {:8} {:8} {:8} {:8}", name, encrypt, decrypt, mac, verify, pieces);
    }
}

#[entry]
fn main() -> ! {
    let nothing = depth(&mut || {});
    assert!(nothing < 64, "the measurement takes {nothing} bytes itself");
    hprintln!(
        "{:12} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "bytes",
        "encrypt",
        "decrypt",
        "MAC",
        "verify",
        "pieces"
    );
    for_each_variant(Measure);
    debug::exit(debug::EXIT_SUCCESS);
    loop {
        cortex_m::asm::wfi();
    }
}
