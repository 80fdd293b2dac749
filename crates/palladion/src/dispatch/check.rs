//! A check of a backend's kernels before they are chosen.
//!
//! Some emulators, hypervisors and microcode announce instructions and compute them wrong: QEMU
//! before 8.1 fills the upper half of a 256-bit VAESENC from the lower half of its input. What is
//! encrypted there could be decrypted nowhere else, so a backend must first compute known answers.

use core::ptr;

use crate::driver::Message;
use crate::driver::kernels::{Data, Kernels, MessageKernels, StateKernels, Tables};
use crate::machine::Work;
use crate::memory::Direction;

/// The length of the message: at least two whole steps and a part of one, in every variant.
const LEN: usize = 300;
/// The length of the associated data.
const AD_LEN: usize = 21;

/// The answers of AEGIS-128L, AEGIS-128X2 and AEGIS-128X4, then of the same degrees of AEGIS-256: a
/// tag of 16 bytes XOR all blocks of the ciphertext, the last padded with zeros.
const ANSWERS: [[u128; 3]; 2] = [
    [
        0x2bcca967_84564aa8_1e4dec2b_bd0e3a4e,
        0x665fb955_6bde3277_f990f18a_9cae4361,
        0x84b80844_8b620829_d05b31c2_4af032cc,
    ],
    [
        0x9eae8387_449ec17c_c407b71d_703e02b0,
        0x60210c06_c8229418_6b4b2948_6d2b8a18,
        0x06713990_8ba9dea9_8c33d8a6_6acff79c,
    ],
];

/// Returns whether the kernels of both families, for degrees 1, 2 and 4, compute the right answers:
/// those for a state in memory, and those for a whole message. All kernels of a backend use the
/// same instructions.
///
/// # Safety
/// The CPU has the features that the kernels are compiled for.
pub(crate) unsafe fn are_right(tables: &Tables) -> bool {
    ANSWERS.iter().enumerate().all(|(family, answers)| {
        [1, 2, 4].into_iter().zip(answers).all(|(degree, answer)| {
            let key_len = if family == 0 { 16 } else { 32 };
            // SAFETY: the caller promises the CPU features; the kernels are for this degree and
            // this is the family's key length.
            unsafe { is_right(tables.of(family, degree), degree, key_len, *answer) }
        })
    })
}

/// A state of the largest degree that is checked.
#[repr(C, align(64))]
struct State([u8; 8 * 16 * 4]);

/// # Safety
/// The CPU has the kernels' features. They are for this degree, 1, 2 or 4, and this key length.
unsafe fn is_right(kernels: &Kernels, degree: usize, key_len: usize, answer: u128) -> bool {
    // Nothing here is secret.
    let input = input();
    let (key, rest) = input.split_at(key_len);
    let (nonce, rest) = rest.split_at(key_len);
    let (ad, text) = (&rest[..AD_LEN], &rest[AD_LEN..AD_LEN + LEN]);
    let (mut by_state, mut by_message, mut tag, mut other_tag) =
        ([0; LEN], [0; LEN], [0; 16], [0; 16]);
    let mut state = State([0; 8 * 16 * 4]);
    let memory = state.0.as_mut_ptr();
    // SAFETY: the caller promises the CPU features and the degree of the kernels. The memory is
    // aligned and large enough for a state of it, and `init` writes the state first. The slices
    // are valid memory.
    unsafe {
        let StateKernels { init, advance, finalize, .. } = kernels.state;
        init(memory, degree, key.as_ptr(), nonce.as_ptr(), ptr::null());
        let data = Data { src: ad.as_ptr(), dst: ptr::null_mut(), len: AD_LEN };
        advance(memory, degree, Work::Absorb, &data);
        let data = Data { src: text.as_ptr(), dst: by_state.as_mut_ptr(), len: LEN };
        advance(memory, degree, Work::Crypt(Direction::Encrypt), &data);
        finalize(memory, degree, AD_LEN as u64, LEN as u64, tag.as_mut_ptr(), tag.len());
    }
    if sum(&tag) ^ sum(&by_state) != answer {
        return false;
    }
    let Some(MessageKernels { seal, open, .. }) = kernels.message else { return true };
    let message = Message {
        key: key.as_ptr(),
        nonce: nonce.as_ptr(),
        ad: ad.as_ptr(),
        ad_len: AD_LEN,
        src: text.as_ptr(),
        dst: by_message.as_mut_ptr(),
        len: LEN,
        tag: other_tag.as_mut_ptr(),
        tag_len: other_tag.len(),
    };
    // SAFETY: the caller promises the CPU features and the degree; the slices are valid memory.
    unsafe { seal(&message) };
    if by_message != by_state || other_tag != tag {
        return false;
    }
    let message = Message { src: by_state.as_ptr(), tag: tag.as_mut_ptr(), ..message };
    // SAFETY: as before; opening only reads the tag.
    unsafe { open(&message) && by_message == *text }
}

/// Returns bytes for two keys of 32 bytes, associated data and a message, all different and without
/// a pattern that repeats within 16 bytes.
fn input() -> [u8; 64 + AD_LEN + LEN] {
    core::array::from_fn(|i| (i * i + 7 * i + 3).to_le_bytes()[0] ^ (i >> 4).to_le_bytes()[0])
}

/// Returns the XOR of all blocks, the last padded with zeros.
fn sum(bytes: &[u8]) -> u128 {
    let block = |bytes: &[u8]| {
        let mut block = [0; 16];
        block[..bytes.len()].copy_from_slice(bytes);
        u128::from_le_bytes(block)
    };
    bytes.chunks(16).fold(0, |sum, bytes| sum ^ block(bytes))
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec;

    use palladion_reference::{Aegis, Family};

    use super::super::choice::best;
    use super::*;
    use crate::arch::portable::AnyCpu;
    use crate::soft::bitsliced::Bitsliced;

    #[test]
    fn the_answers_are_those_of_the_reference() {
        for (family, answers) in [Family::Aegis128, Family::Aegis256].into_iter().zip(ANSWERS) {
            for (degree, answer) in [1, 2, 4].into_iter().zip(answers) {
                let aegis = Aegis::new(family, degree);
                let input = input();
                let (key, rest) = input.split_at(aegis.key_len());
                let (nonce, rest) = rest.split_at(aegis.key_len());
                let (ad, text) = rest.split_at(AD_LEN);
                let (ct, tag) = aegis.encrypt(key, nonce, ad, &text[..LEN], 16);
                assert_eq!(answer, sum(&ct) ^ sum(&tag), "{family:?}, degree {degree}");
            }
        }
    }

    /// Returns right kernels to spoil: those of the fastest right backend here.
    fn right() -> &'static Tables {
        &best().unwrap().tables
    }

    /// The kernels to spoil. The stand-ins of unit tests have none for whole messages.
    fn one() -> Kernels {
        right().aegis128.one.with_message::<AnyCpu, Bitsliced<u64, 2, 2>, 1>()
    }

    // Each calls a right kernel and flips one bit of what it wrote.
    unsafe fn encrypt_wrong(state: *mut u8, degree: usize, work: Work, data: &Data) {
        // SAFETY: the caller keeps the contract of the kernel.
        unsafe {
            (one().state.advance)(state, degree, work, data);
            if work != Work::Absorb {
                *data.dst.add(LEN - 1) ^= 0x80;
            }
        }
    }
    unsafe fn absorb_wrong(state: *mut u8, degree: usize, work: Work, data: &Data) {
        // SAFETY: the caller keeps the contract of the kernel.
        unsafe {
            (one().state.advance)(state, degree, work, data);
            if work == Work::Absorb {
                *state ^= 1;
            }
        }
    }
    unsafe fn seal_wrong(message: &Message) -> bool {
        // SAFETY: the caller keeps the contract of the kernel.
        unsafe {
            *message.dst ^= u8::from((one().message.unwrap().seal)(message));
        }
        true
    }
    unsafe fn open_wrong(message: &Message) -> bool {
        // SAFETY: the caller keeps the contract of the kernel.
        unsafe {
            let authentic = (one().message.unwrap().open)(message);
            *message.dst ^= 1;
            authentic
        }
    }

    #[test]
    fn wrong_kernels_are_found() {
        // SAFETY: the CPU has the features.
        let are_right = |tables: &Tables| unsafe { are_right(tables) };
        assert!(are_right(right()));
        let mut unspoilt = *right();
        unspoilt.aegis128.one = one();
        assert!(are_right(&unspoilt));
        let mut wrong = vec![one(); 2];
        wrong[0].state.advance = encrypt_wrong;
        wrong[1].state.advance = absorb_wrong;
        let right_messages = one().message.unwrap();
        let spoilt = [
            MessageKernels { seal: seal_wrong, ..right_messages },
            MessageKernels { open: open_wrong, ..right_messages },
        ];
        wrong.extend(spoilt.map(|message| Kernels { message: Some(message), ..one() }));
        for (i, kernels) in wrong.into_iter().enumerate() {
            let mut tables = *right();
            tables.aegis128.one = kernels;
            assert!(!are_right(&tables), "fault {i}");
        }
    }
}
