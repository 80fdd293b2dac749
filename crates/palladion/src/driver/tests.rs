//! Compares the kernels of a state and of a batch with those of a whole message, which
//! `tests/all/lengths.rs` compares with the reference.

extern crate std;
use std::vec::Vec;

use super::message::{open_slices, seal_slices};
use super::{State, batch, table};
use crate::block::{Pair, Soft};
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

    // Not inlined into each test: they are large and slow to compile.
    #[inline(never)]
    fn seal_all<M: Batched, const D: usize>(messages: &batch::Messages) {
        // SAFETY: portable code needs no CPU features; the messages are in place, with valid
        // lengths.
        unsafe { table::seal_batch::<M, D>(messages) };
    }
    #[inline(never)]
    fn open_all<M: Batched, const D: usize>(messages: &batch::Messages) {
        // SAFETY: portable code needs no CPU features; the messages are in place, with valid
        // lengths.
        unsafe { table::open_batch::<M, D>(messages) };
    }

    /// Compares a batch kernel with the kernels for one message, on any machine.
    fn check<F: Family, M: Batched, const D: usize, const T: usize>(lens: &[(usize, usize)]) {
        assert_eq!(lens.len(), machine::lanes::<M>() / D);
        let messages: Vec<_> = lens
            .iter()
            .enumerate()
            .map(|(i, &(ad, len))| {
                (bytes(F::KEY_LEN, i), bytes(F::KEY_LEN, i + 9), bytes(ad, i), bytes(len, i + 3))
            })
            .collect();
        let mut outputs: Vec<_> = messages.iter().map(|m| m.3.clone()).collect();
        let mut tags = [[0; T]; batch::MOST];
        let pointers = |outputs: &mut [Vec<u8>], tags: &mut [[u8; T]; batch::MOST]| {
            let mut all = batch::Messages::none(T);
            for (i, ((message, output), tag)) in messages.iter().zip(outputs).zip(tags).enumerate()
            {
                (all.key[i], all.nonce[i]) = (message.0.as_ptr(), message.1.as_ptr());
                (all.ad[i], all.ad_len[i]) = (message.2.as_ptr(), message.2.len());
                (all.dst[i], all.len[i]) = (output.as_mut_ptr(), output.len());
                (all.src[i], all.tag[i]) = (all.dst[i], tag.as_mut_ptr());
            }
            all
        };
        seal_all::<M, D>(&pointers(&mut outputs, &mut tags));
        for ((message, output), tag) in messages.iter().zip(&outputs).zip(&tags) {
            let (mut expected, mut expected_tag) = (message.3.clone(), [0; T]);
            let io = InOut::in_place(&mut expected);
            let variant = Chosen::<F, D>::new().unwrap();
            seal_slices(variant, [&message.0, &message.1, &message.2], &io, &mut expected_tag);
            assert_eq!((output, tag), (&expected, &expected_tag), "{lens:?}");
        }
        let sealed = tags;
        open_all::<M, D>(&pointers(&mut outputs, &mut tags));
        assert!(outputs.iter().eq(messages.iter().map(|m| &m.3)) && tags == sealed, "{lens:?}");
    }

    fn both_tags<F: Family, M: Batched, const D: usize>(lens: &[(usize, usize)]) {
        check::<F, M, D, 16>(lens);
        check::<F, M, D, 32>(lens);
    }

    #[test]
    fn every_lane_has_its_own_message() {
        let lens =
            [(0, 0), (1, 33), (64, 64), (31, 65), (16, 15), (48, 160), (100, 16), (32, 96), (0, 1)];
        for (i, &a) in lens.iter().enumerate() {
            for &b in &lens {
                both_tags::<Aegis128, machine::Aegis128<Two>, 1>(&[a, b]);
                both_tags::<Aegis256, machine::Aegis256<Two>, 1>(&[a, b]);
                both_tags::<Aegis128, machine::Aegis128<Four>, 2>(&[a, b]);
                both_tags::<Aegis256, machine::Aegis256<Four>, 2>(&[a, b]);
                let (c, d) = (lens[(i + 1) % lens.len()], lens[(i + 4) % lens.len()]);
                both_tags::<Aegis128, machine::Aegis128<Four>, 1>(&[a, b, c, d]);
                both_tags::<Aegis256, machine::Aegis256<Four>, 1>(&[a, d, c, b]);
            }
        }
    }
}
