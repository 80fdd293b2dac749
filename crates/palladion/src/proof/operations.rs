//! Tests the operations of this CPU's words and vectors against their traits. The proofs run on
//! abstract words; the tests show that a CPU's operations agree with the same abstract words, whose
//! bits are constants here. They try all values of a byte at every place, single bits, and random
//! values.

extern crate std;
use core::fmt::Debug;
use std::vec::Vec;

use palladion_reference::SBOX;

use super::bits::{Abstract, Lanes, Word32, Word64};
use super::{mixed_from, product, with_room};
use crate::block::{Blocks, MAX_LANES, Word};
use crate::soft::bitsliced::Cells;
use crate::soft::byte_planes::Register;
use crate::soft::permute::Permute;
use crate::soft::sliced::tests::random;

type Vector = [u8; 16 * MAX_LANES];

/// Returns vectors with every value of a byte at every place, every single bit, and random ones.
fn values() -> Vec<Vector> {
    let mut random = random();
    let all = (0..=255u8).map(|v| core::array::from_fn(|j| v.wrapping_add((37 * j) as u8)));
    let bits = (0..128)
        .map(|bit| core::array::from_fn(|j| if j % 16 == bit / 8 { 1 << (bit % 8) } else { 0 }));
    let mut values: Vec<Vector> = all.chain(bits).collect();
    values
        .extend((0..100).map(|_| core::array::from_fn::<u8, { 16 * MAX_LANES }, _>(|_| random())));
    values
}

fn assert_same<T: PartialEq + Debug>(real: T, model: T, what: &str) {
    assert_eq!(real, model, "{what}");
}

/// Applies a word's operations to two values. Returns one result after another, as bytes.
fn cells<W: Cells, const N: usize>(x: &Vector, y: &Vector, bits: u32) -> Vec<[u8; 16]> {
    let store = |words: [W; N]| {
        let mut out = [[0; 16]; 2];
        // SAFETY: `out` has room for two blocks.
        unsafe { W::store(words, out.as_mut_ptr().cast()) };
        out
    };
    // SAFETY: each vector has four blocks.
    let (x, y) = unsafe { (W::load::<N>(x.as_ptr()), W::load::<N>(y.as_ptr())) };
    let zip = |f: fn(W, W) -> W| store(core::array::from_fn(|i| f(x[i], y[i])));
    let mut out = std::vec![
        store(x),
        zip(|a, b| a ^ b),
        zip(|a, b| a & b),
        zip(|a, b| a | b),
        zip(|a, _| !a)
    ];
    for by in 0..bits {
        out.extend([
            store(x.map(|a| a << by)),
            store(x.map(|a| a >> by)),
            store(x.map(|a| a.rotate(by))),
        ]);
    }
    out.extend([store(x.map(|a| a.rotate(bits))), store(x.map(|a| a.pin()))]);
    for constant in [0x0123_4567_89ab_cdef, u64::MAX, 0x3030_3030_3030_3030] {
        out.push(store([W::constant(constant); N]));
    }
    out.into_iter().flatten().collect()
}

#[test]
fn words_are_what_they_are_proved_with() {
    with_room(|| {
        let values = values();
        for (x, y) in values.iter().zip(values.iter().rev()) {
            assert_same(cells::<u32, 4>(x, y, 32), cells::<Word32, 4>(x, y, 32), "u32");
            assert_same(cells::<u64, 4>(x, y, 64), cells::<Word64, 4>(x, y, 64), "u64");
            assert_same(cells::<u64, 2>(x, y, 64), cells::<Word64, 2>(x, y, 64), "u64, one block");
        }
    });
}

fn register<R: Register>(x: &Vector, y: &Vector) -> Vec<[u8; 16]> {
    let store = |x: R| {
        let mut out = [0; 16];
        // SAFETY: `out` has room for a block.
        unsafe { x.store(out.as_mut_ptr()) };
        out
    };
    // SAFETY: each vector has at least one block.
    let (x, y) = unsafe { (R::load(x.as_ptr()), R::load(y.as_ptr())) };
    let mut out = std::vec![store(x), store(x ^ y), store(x & y), store(x | y), store(!x)];
    out.extend([store(x.shift_rows()), store(x.next_row()), store(x.second_row())]);
    for constant in [0x0123_4567_89ab_cdef, u64::MAX, 0x0f0f_0f0f_0f0f_0f0f] {
        out.push(store(R::constant(constant)));
    }
    // Shifts may or may not take in bits of neighbouring bytes; those bits are masked.
    for by in 0..8 {
        let inside = |shifted: u8| R::constant(u64::from_le_bytes([shifted; 8]));
        out.extend([store((x << by) & inside(0xff << by)), store((x >> by) & inside(0xff >> by))]);
    }
    out
}

#[test]
fn registers_are_what_they_are_proved_with() {
    with_room(|| {
        let values = values();
        for (x, y) in values.iter().zip(values.iter().rev()) {
            let expected = register::<Abstract<128, 8>>(x, y);
            assert_same(register::<Abstract<128, 64>>(x, y), expected.clone(), "parts of 64 bits");
            #[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), target_feature = "sse2"))]
            assert_same(register::<crate::arch::x86::sse2::Xmm>(x, y), expected, "SSE2");
        }
    });
}

/// # Safety
/// The CPU has the features of the implementation.
#[allow(dead_code)] // unused on CPUs without such vectors
unsafe fn permute<B: Permute>(table: &Vector, index: &Vector, x: &Vector) -> Vec<[u8; 16]> {
    let store = |x: B| {
        let mut out = [[0; 16]; MAX_LANES];
        // SAFETY: `out` is as wide as the widest vector.
        unsafe { x.store(out.as_mut_ptr().cast()) };
        out
    };
    // SAFETY: the caller promises the CPU features; each array is as wide as the widest vector.
    let [table, index, x] = [table, index, x].map(|x| unsafe { B::load(x.as_ptr()) });
    let [low, high] = x.nibbles();
    let out = [
        store(table.lookup(index)),
        store(low),
        store(high),
        store(x.xor(table)),
        store(x.xor3(table, index)),
        store(x.xor_and(table, index)),
        store(x.pin()),
        store(x.after(table)),
    ];
    out.into_iter().flatten().collect()
}

/// Tests all indices that can occur, at every place.
///
/// # Safety
/// The CPU has the features of the implementation.
#[allow(dead_code)] // unused on CPUs without such vectors
unsafe fn permutes<B: Permute, const L: usize>(what: &str) {
    let values = values();
    let allowed: Vec<u8> = (0..16).chain(128..=255).collect();
    for (i, (table, x)) in values.iter().rev().zip(&values).enumerate() {
        let index = core::array::from_fn(|j| allowed[(i + 37 * j) % allowed.len()]);
        // SAFETY: the caller promises the CPU features; the model needs none.
        let (real, model) =
            unsafe { (permute::<B>(table, &index, x), permute::<Lanes<L>>(table, &index, x)) };
        assert_same(real, model, what);
    }
}

/// Tests AES instructions against FIPS 197.
///
/// # Safety
/// The CPU has the features of the implementation.
#[allow(dead_code)] // unused on CPUs without such vectors
unsafe fn aes<W: Word>(what: &str) {
    let s_box = SBOX;
    let values = values();
    for (x, k) in values.iter().zip(values.iter().rev()) {
        let mut out = Vector::from([0; 16 * MAX_LANES]);
        // SAFETY: the caller promises the CPU features; each array is as wide as the widest vector.
        unsafe {
            let word = |x: &Vector| W::new(Blocks::load(x.as_ptr()));
            word(x).aes(word(k)).blocks().store(out.as_mut_ptr());
        }
        for at in 0..16 * W::Blocks::LANES {
            let parts = mixed_from(at % 16);
            let sum = |sum, (factor, from)| {
                sum ^ product(factor, s_box[usize::from(x[at / 16 * 16 + from])])
            };
            assert_eq!(out[at], parts.into_iter().fold(k[at], sum), "{what}");
        }
    }
}

#[cfg(any(target_arch = "x86", all(target_arch = "x86_64", target_feature = "sse2")))]
#[test]
fn registers_of_this_cpu_are_what_they_are_proved_with() {
    with_room(|| {
        use crate::Backend;
        use crate::arch::x86::V1;
        use crate::arch::x86::aesni::X1;
        use crate::arch::x86::ssse3::{P1, P2};
        use crate::arch::x86::vaes::V2;
        use crate::arch::x86::vaes512::{M1, M2, M4};
        let can = |backend: Backend| {
            std::println!("{backend}: {}", backend.is_available());
            backend.is_available()
        };
        // SAFETY: each call runs only if its backend is available.
        unsafe {
            if can(Backend::Ssse3) {
                permutes::<P1, 1>("SSSE3");
            }
            if can(Backend::Avx2) {
                permutes::<P2, 2>("AVX2");
            }
            if can(Backend::AesNi) {
                aes::<X1>("AES-NI");
            }
            if can(Backend::VaesAvx2) {
                aes::<V1>("VAES, one block");
                aes::<V2>("VAES, two blocks");
            }
            if can(Backend::VaesAvx512) {
                aes::<M1>("AVX-512, one block");
                aes::<M2>("AVX-512, two blocks");
                aes::<M4>("AVX-512, four blocks");
            }
        }
    });
}

#[test]
fn a_wrong_operation_is_seen() {
    with_room(|| {
        use super::plant;
        let values = values();
        let run = || {
            (
                register::<Abstract<128, 8>>(&values[1], &values[2]),
                cells::<Word32, 4>(&values[1], &values[2], 32),
            )
        };
        let right = run();
        let mut planted = 0;
        for n in 0.. {
            plant(Some(n));
            let wrong = run();
            if plant(None).is_none() {
                break;
            }
            assert!(wrong != right, "operation {n}");
            planted += 1;
        }
        assert!(planted > 300, "{planted}");
    });
}
