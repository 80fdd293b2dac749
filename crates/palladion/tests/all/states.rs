//! The kernels of a state compute the same as those of a whole message, also where they get a last
//! step that is not whole: sessions pass only whole steps, but kernels promise more.

use crate::common::erased::Variant;
use crate::common::{Random, for_each_backend, reduced, variants};
use palladion::Error;
use palladion::family::{Aegis128, Aegis256};
use palladion::hazmat::by_state;

type ByState = fn([&[u8]; 3], Option<&[u8]>, &mut [u8], bool, &mut [u8; 32]) -> Result<(), Error>;

/// For each variant of `variants::KERNELS`.
const BY_STATE: [ByState; 8] = [
    by_state::<Aegis128, 1>,
    by_state::<Aegis128, 2>,
    by_state::<Aegis128, 3>,
    by_state::<Aegis128, 4>,
    by_state::<Aegis256, 1>,
    by_state::<Aegis256, 2>,
    by_state::<Aegis256, 3>,
    by_state::<Aegis256, 4>,
];

fn check(variant: &dyn Variant, by_state: ByState) {
    let reference = variant.reference();
    println!("{reference:?}"); // shown if the test fails
    let (rate, key_len) = (reference.rate(), reference.key_len());
    let mut random = Random(1);
    let (key, nonce) = (random.bytes(key_len), random.bytes(key_len));
    let cipher = variant.cipher(32, &key);
    // Fewer lengths under emulation, most of them not whole blocks.
    let (rates, step) = if reduced() { (2, 5) } else { (8, 1) };
    for len in (0..=rates * rate).step_by(step) {
        let (ad, msg) = (random.bytes(len % (2 * rate + 2)), random.bytes(len));
        let mut ct = msg.clone();
        let tag = cipher.encrypt_in_place(&nonce, &ad, &mut ct).unwrap();
        for (decrypt, from, to) in [(false, &msg, &ct), (true, &ct, &msg)] {
            for in_place in [true, false] {
                let mut out = if in_place { from.clone() } else { vec![0xee; len] };
                let src = (!in_place).then_some(&from[..]);
                let mut found = [0; 32];
                by_state([&key, &nonce, &ad], src, &mut out, decrypt, &mut found).unwrap();
                assert!(&out == to && found[..] == tag, "{len} bytes, in place: {in_place}");
            }
        }
    }
}

#[test]
fn kernels_of_a_state_take_parts_of_a_step() {
    for_each_backend(|_| {
        for (variant, by_state) in variants::KERNELS.iter().zip(BY_STATE) {
            check(*variant, by_state);
        }
    });
}
