//! Compares the kernels of a state with those of a whole message, which `tests/all/lengths.rs`
//! compares with the reference.

extern crate std;
use std::vec::Vec;

use super::State;
use crate::arch::Backend;
use crate::dispatch::{Chosen, set_backend};
use crate::family::{Aegis128, Aegis256, Family};
use crate::job::Job;
use crate::memory::{Direction, InOut, WipedBytes};

fn bytes(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| (i * i + 7 * i * seed + 31 * seed) as u8).collect()
}

/// Includes a last step that is not whole: sessions pass only whole steps, but kernels promise
/// more.
fn check_state<F: Family, const D: usize>() {
    let rate = F::Step::<D>::LEN;
    let variant = Chosen::<F, D>::new().unwrap();
    let (key, nonce) = (bytes(F::KEY_LEN, 1), bytes(F::KEY_LEN, 2));
    // Fewer lengths under emulation, most of them not whole blocks.
    let reduced =
        cfg!(palladion_test_reduced) || std::env::var_os("PALLADION_TEST_REDUCED").is_some();
    let (rates, step) = if reduced { (2, 5) } else { (8, 1) };
    for len in (0..=rates * rate).step_by(step) {
        let (ad, msg) = (bytes(len % (2 * rate + 2), 3), bytes(len, 4));
        let (mut ct, mut tag) = (msg.clone(), [0; 32]);
        let inputs = [&key[..], &nonce, &ad];
        Job::<F, D>::encrypt(inputs, InOut::in_place(&mut ct), &mut tag).run().unwrap();
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            let (from, to) =
                if direction == Direction::Encrypt { (&msg, &ct) } else { (&ct, &msg) };
            for in_place in [true, false] {
                let mut memory = F::Memory::<D>::zeroed();
                let mut state = State::new(&mut memory, variant);
                state.init(&key, &nonce, None);
                state.absorb(&ad);
                let mut out = if in_place { from.clone() } else { std::vec![0xee; len] };
                let io = if in_place {
                    InOut::in_place(&mut out)
                } else {
                    InOut::separate(from, &mut out).unwrap()
                };
                state.crypt(&io, direction);
                let mut found = [0; 32];
                state.finalize(ad.len() as u64, len as u64, &mut found);
                assert!(&out == to && found == tag, "{len} bytes, in place: {in_place}");
            }
        }
        Job::<F, D>::decrypt(inputs, InOut::in_place(&mut ct), &tag).run().unwrap();
        assert_eq!(ct, msg);
    }
}

#[test]
fn kernels_of_a_state_take_parts_of_a_step() {
    for &backend in Backend::ALL.iter().filter(|backend| backend.is_available()) {
        std::println!("on {backend}");
        set_backend(backend).unwrap();
        check_state::<Aegis128, 1>();
        check_state::<Aegis128, 2>();
        #[cfg(feature = "any-degree")]
        check_state::<Aegis128, 3>();
        check_state::<Aegis128, 4>();
        check_state::<Aegis256, 1>();
        check_state::<Aegis256, 2>();
        #[cfg(feature = "any-degree")]
        check_state::<Aegis256, 3>();
        check_state::<Aegis256, 4>();
    }
}
