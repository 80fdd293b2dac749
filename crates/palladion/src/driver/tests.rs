//! Compares the kernels of a state and of a batch with those of a whole message, which
//! `tests/all/lengths.rs` compares with the reference.

extern crate std;
use std::vec::Vec;

use super::message::{Message, open_slices, seal_slices};
use super::{State, table};
use crate::block::{Blocks, Pair, Soft};
use crate::dispatch::{Backend, Chosen, set_backend};
use crate::family::{Aegis128, Aegis256, Family};
use crate::machine::{self, Batched};
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
        seal_slices(variant, [&key, &nonce, &ad], &InOut::in_place(&mut ct), &mut tag);
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
        assert!(
            open_slices(variant, [&key, &nonce, &ad], &InOut::in_place(&mut ct), &tag) && ct == msg
        );
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

/// Tests batch kernels on every machine, even those that no backend uses. They are large and slow
/// to compile, so emulators skip them.
#[cfg(not(palladion_test_reduced))]
mod batches {
    use super::*;

    type Two = Pair<Soft>;
    type Four = Pair<Pair<Soft>>;

    /// Compares a batch kernel with the kernels for one message, on any machine.
    fn check<F: Family, M: Batched, const T: usize>(lens: &[(usize, usize)]) {
        assert_eq!(lens.len(), M::V::LANES);
        let messages: Vec<_> = lens
            .iter()
            .enumerate()
            .map(|(i, &(ad, len))| {
                (bytes(F::KEY_LEN, i), bytes(F::KEY_LEN, i + 9), bytes(ad, i), bytes(len, i + 3))
            })
            .collect();
        let mut outputs: Vec<_> = messages.iter().map(|m| m.3.clone()).collect();
        let mut tags = std::vec![[0; T]; lens.len()];
        let variant = Chosen::<F, 1>::new().unwrap();
        let arguments = |outputs: &mut [Vec<u8>], tags: &mut [[u8; T]]| -> Vec<Message> {
            let each = messages.iter().zip(outputs).zip(tags);
            each.map(|(((key, nonce, ad, _), output), tag)| {
                let io = InOut::in_place(output);
                Message::new::<Chosen<F, 1>>(key, nonce, ad, &io, tag.as_mut_ptr(), T)
            })
            .collect()
        };
        // SAFETY: portable code needs no CPU features; the messages are in place, with valid
        // lengths and the same number of steps.
        let wrong = unsafe { table::seal_batch::<M>(&arguments(&mut outputs, &mut tags)) };
        assert_eq!(wrong, 0);
        for ((message, output), tag) in messages.iter().zip(&outputs).zip(&tags) {
            let (mut expected, mut expected_tag) = (message.3.clone(), [0; T]);
            let io = InOut::in_place(&mut expected);
            seal_slices(variant, [&message.0, &message.1, &message.2], &io, &mut expected_tag);
            assert_eq!((output, tag), (&expected, &expected_tag), "{lens:?}");
        }
        // Wrong in no message, in each message, and in all of them; in the first and the last byte.
        let every = (1 << lens.len()) - 1;
        for forged in (0..lens.len()).map(|i| 1 << i).chain([0, every]) {
            let (mut outputs, mut tags) = (outputs.clone(), tags.clone());
            for (i, tag) in tags.iter_mut().enumerate().filter(|(i, _)| forged >> i & 1 == 1) {
                tag[if i % 2 == 0 { 0 } else { T - 1 }] ^= 0x80;
            }
            // SAFETY: as above.
            let wrong = unsafe { table::open_batch::<M>(&arguments(&mut outputs, &mut tags)) };
            assert_eq!(wrong, forged, "{lens:?}");
            assert!(outputs.iter().eq(messages.iter().map(|m| &m.3)), "{lens:?}");
        }
    }

    fn both_tags<F: Family, M: Batched>(lens: &[(usize, usize)]) {
        check::<F, M, 16>(lens);
        check::<F, M, 32>(lens);
    }

    #[test]
    fn every_lane_has_its_own_message() {
        // Bytes of associated data and message; those of a row have the same number of steps.
        let rows_128 = [
            [(0, 0), (0, 0), (0, 0), (0, 0)],
            [(1, 33), (32, 64), (31, 63), (16, 48)],
            [(64, 1), (33, 32), (48, 16), (49, 17)],
            [(0, 96), (0, 65), (0, 95), (0, 80)],
        ];
        let rows_256 = [
            [(0, 0), (0, 0), (0, 0), (0, 0)],
            [(1, 33), (16, 48), (15, 47), (8, 40)],
            [(32, 1), (17, 16), (24, 15), (31, 8)],
            [(0, 96), (0, 81), (0, 95), (0, 88)],
        ];
        for (row_128, row_256) in rows_128.iter().zip(&rows_256) {
            for turn in 0..4 {
                let (mut row_128, mut row_256) = (*row_128, *row_256);
                row_128.rotate_left(turn);
                row_256.rotate_left(turn);
                both_tags::<Aegis128, machine::Aegis128<Four>>(&row_128);
                both_tags::<Aegis128, machine::Aegis128<Two>>(&row_128[..2]);
                both_tags::<Aegis256, machine::Aegis256<Four>>(&row_256);
                both_tags::<Aegis256, machine::Aegis256<Two>>(&row_256[..2]);
            }
        }
    }
}
