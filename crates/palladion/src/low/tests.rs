//! The kernels of a state do what those of one call do (which `tests/all/lengths.rs` compares with the reference), also with
//! a last step that is not whole. Callers that work piece by piece give them whole steps alone, but they promise more.

extern crate std;
use std::vec::Vec;

use super::*;
use crate::Backend;
use crate::family::{Aegis128, Aegis256};

fn bytes(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| (i * i + 7 * i * seed + 31 * seed) as u8).collect()
}

fn check<F: Family, const D: usize>() {
    let rate = F::Rate::<D>::LEN;
    let Ok(key) = F::Key::try_from(&bytes(F::KEY_LEN, 1)) else { panic!("a key") };
    let Ok(nonce) = F::Nonce::try_from(&bytes(F::KEY_LEN, 2)) else { panic!("a nonce") };
    // Under emulation fewer lengths, of which most are not whole blocks.
    let reduced = cfg!(palladion_test_reduced) || std::env::var_os("PALLADION_TEST_REDUCED").is_some();
    let (rates, step) = if reduced { (2, 5) } else { (8, 1) };
    for len in (0..=rates * rate).step_by(step) {
        let (ad, msg) = (bytes(len % (2 * rate + 2), 3), bytes(len, 4));
        let (mut ct, mut tag) = (msg.clone(), [0; 32]);
        seal::<F, D, 32>(&key, &nonce, &ad, &InOut::in_place(&mut ct), &mut tag).unwrap();
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            let (from, to) = if direction == Direction::Encrypt { (&msg, &ct) } else { (&ct, &msg) };
            for in_place in [true, false] {
                let mut state = State::<F, D>::init(&key, &nonce, None, ()).unwrap();
                state.absorb(&ad);
                let mut out = if in_place { from.clone() } else { std::vec![0xee; len] };
                let io = if in_place {
                    InOut::in_place(&mut out)
                } else {
                    InOut::separate(from, &mut out).unwrap()
                };
                state.crypt(io, direction);
                let mut found = [0; 32];
                state.finalize(ad.len() as u64, len as u64, &mut found);
                assert!(&out == to && found == tag, "{len} bytes, in place: {in_place}");
            }
        }
    }
}

#[test]
fn kernels_of_a_state_take_parts_of_a_step() {
    for &backend in Backend::ALL.iter().filter(|backend| backend.is_available()) {
        std::println!("on {backend}");
        dispatch::set(backend).unwrap();
        check::<Aegis128, 1>();
        check::<Aegis128, 2>();
        check::<Aegis128, 3>();
        check::<Aegis128, 4>();
        check::<Aegis256, 1>();
        check::<Aegis256, 2>();
        check::<Aegis256, 3>();
        check::<Aegis256, 4>();
    }
}
