//! Proves that the state machines and everything around them, from the key to the tag, compute the
//! standard's functions for all values of key, nonce, data and message, at the tested lengths.

extern crate std;
use core::array;
use core::mem::MaybeUninit;
use core::ptr;
use std::vec::Vec;

use palladion_reference::{Aegis, Family, State};

use super::terms::{self, Term, input, truncate, xor};
use super::terms::{Ideal, Terms};
use super::{prove, survivors};
use crate::arch::tables::{self, x86, zen};
use crate::driver::Message;
use crate::driver::features::features;
use crate::driver::kernels::{BatchKernels, Data, Kernels, Tables};
use crate::machine::memory::InMemory;
use crate::machine::order::{Compact, Textbook};
use crate::machine::{Aegis128, Aegis256, Work};
use crate::memory::Direction;

/// Returns data of `len` bytes, padded with zeros to blocks.
fn padded(data: &[Term], len: usize) -> Vec<Term> {
    data.iter()
        .enumerate()
        .map(|(at, block)| truncate(*block, len.saturating_sub(16 * at).min(16)))
        .collect()
}

/// Init; keys have one block or two.
fn init(k: &[Term], n: &[Term], degree: usize, ctx: Option<Term>) -> State<Term> {
    let family = if k.len() == 1 { Family::Aegis128 } else { Family::Aegis256 };
    let aegis = Aegis::new(family, degree);
    let ctx = ctx.map_or_else(|| aegis.ctx(), |ctx| std::vec![ctx; degree]);
    State::init_with_ctx(aegis, k, n, &ctx)
}

/// A length in bits.
fn bits(len: usize) -> u64 {
    8 * len as u64
}

/// Returns memory with these blocks, and two more after them.
fn memory(blocks: &[Term]) -> Vec<[u8; 16]> {
    let mut memory = std::vec![[0xee; 16]; blocks.len() + 2];
    for (block, place) in blocks.iter().zip(&mut memory) {
        // SAFETY: each place has 16 bytes.
        unsafe { terms::store(*block, place.as_mut_ptr()) };
    }
    memory
}

/// Tells whether memory starts with these blocks, and nothing after them has changed.
fn holds(memory: &[[u8; 16]], expected: &[Term]) -> bool {
    // SAFETY: each place has 16 bytes.
    let block = |place: &[u8; 16]| unsafe { terms::load(place.as_ptr()) };
    memory.iter().map(block).take(expected.len()).eq(expected.iter().copied())
        && memory[expected.len()..].iter().all(|place| *place == [0xee; 16])
}

/// Memory for a state of any degree tested here.
#[derive(Clone)]
#[repr(align(64))]
struct Memory([MaybeUninit<u8>; 2048]);

impl Memory {
    fn new() -> Self {
        Self([MaybeUninit::zeroed(); 2048])
    }
    fn ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// Looks for a difference between the kernels of a family and degree and the standard, for these
/// lengths of associated data and message, in bytes.
fn flaw(
    kernels: &Kernels,
    key_blocks: usize,
    degree: usize,
    (ad_len, len): (usize, usize),
) -> Option<&'static str> {
    let inputs =
        |first: u32, n: usize| -> Vec<Term> { (0..n as u32).map(|i| input(first + i)).collect() };
    let (k, n) = (inputs(0, key_blocks), inputs(2, key_blocks));
    let (ad, msg) = (inputs(10_000, ad_len.div_ceil(16)), inputs(20_000, len.div_ceil(16)));
    let msg = padded(&msg, len);
    let (key, nonce, ad_memory, msg_memory) = (memory(&k), memory(&n), memory(&ad), memory(&msg));
    let bytes = |memory: &[[u8; 16]]| memory.as_ptr().cast::<u8>();
    let none = || std::vec![[0xee; 16]; msg.len() + 2];
    let mut state = Memory::new();
    let words = if key_blocks == 1 { 8 } else { 6 };

    // SAFETY: the kernels called below need no CPU features. Buffers have whole blocks wherever
    // they have bytes. The memory has room for a state of the numbers of sixteen blocks per lane.
    unsafe {
        let is = |state: &mut Memory, standard: &State<Term>| {
            let mut out = std::vec![[0xee; 16]; words * degree + 2];
            (kernels.state.words)(state.ptr(), degree, out.as_mut_ptr().cast());
            holds(&out, &standard.v.concat())
        };
        if degree == 1 {
            let own = memory(&[input(99)]);
            (kernels.state.init)(state.ptr(), degree, bytes(&key), bytes(&nonce), bytes(&own));
            if !is(&mut state, &init(&k, &n, degree, Some(input(99)))) {
                return Some("init with a context");
            }
        }
        (kernels.state.init)(state.ptr(), degree, bytes(&key), bytes(&nonce), core::ptr::null());
        let mut standard = init(&k, &n, degree, None);
        if !is(&mut state, &standard) {
            return Some("init");
        }
        let data = Data { src: bytes(&ad_memory), dst: core::ptr::null_mut(), len: ad_len };
        (kernels.state.advance)(state.ptr(), degree, Work::Absorb, &data);
        standard.absorb(&padded(&ad, ad_len));
        if !is(&mut state, &standard) {
            return Some("absorb");
        }
        for tag_len in [16, 32] {
            if tag_len == 16 && key_blocks == 1 && degree % 2 == 1 && degree > 1 {
                continue; // this MAC does not exist
            }
            let mut tag = memory(&[]);
            let mut state = state.clone();
            (kernels.state.finalize_mac)(
                state.ptr(),
                degree,
                ad_len as u64,
                tag.as_mut_ptr().cast(),
                tag_len,
            );
            let expected = standard.clone().finalize_mac(bits(ad_len), tag_len);
            if !holds(&tag, &expected) {
                return Some("finalize_mac");
            }
            if let Some([_, _, mac]) =
                kernels.message.map(|kernels| [kernels.seal, kernels.open, kernels.mac])
            {
                let mut tag = memory(&[]);
                mac(&Message {
                    key: bytes(&key),
                    nonce: bytes(&nonce),
                    ad: bytes(&ad_memory),
                    ad_len,
                    src: core::ptr::null(),
                    dst: core::ptr::null_mut(),
                    len: 0,
                    tag: tag.as_mut_ptr().cast(),
                    tag_len,
                });
                if !holds(&tag, &expected) {
                    return Some("mac");
                }
            }
        }
        let mut out = std::vec![[0xee; 16]; words * degree + 2];
        (kernels.state.keystream)(state.ptr(), degree, out.as_mut_ptr().cast());
        if !holds(&out, &standard.z()) {
            return Some("keystream");
        }
        // The same state, rebuilt from its words.
        (kernels.state.words)(state.ptr(), degree, out.as_mut_ptr().cast());
        let mut state = Memory::new();
        (kernels.state.resume)(state.ptr(), degree, bytes(&out));
        let ct = standard.enc(&msg, len);
        let ct_memory = memory(&ct);
        let tags = [16, 32]
            .map(|tag_len| (tag_len, standard.clone().finalize(bits(ad_len), bits(len), tag_len)));

        for in_place in [false, true] {
            for (direction, from, to, what) in [
                (Direction::Encrypt, &msg_memory, &ct, "encrypt"),
                (Direction::Decrypt, &ct_memory, &msg, "decrypt"),
            ] {
                let mut state = state.clone();
                let mut buffer = if in_place { from.clone() } else { none() };
                let dst = buffer.as_mut_ptr().cast::<u8>();
                let data = Data { src: if in_place { dst } else { bytes(from) }, dst, len };
                (kernels.state.advance)(state.ptr(), degree, Work::Crypt(direction), &data);
                if !holds(&buffer, to) || !is(&mut state, &standard) {
                    return Some(what);
                }
                for (tag_len, expected) in &tags {
                    let (mut state, mut tag) = (state.clone(), memory(&[]));
                    let (ad_len, len, tag_at) =
                        (ad_len as u64, len as u64, tag.as_mut_ptr().cast());
                    (kernels.state.finalize)(state.ptr(), degree, ad_len, len, tag_at, *tag_len);
                    if !holds(&tag, expected) {
                        return Some("finalize");
                    }
                }
            }
        }

        for (tag_len, expected) in tags {
            let Some([seal, open, _]) =
                kernels.message.map(|kernels| [kernels.seal, kernels.open, kernels.mac])
            else {
                break;
            };
            let message =
                |src: &[[u8; 16]], buffer: &mut [[u8; 16]], tag: &mut [[u8; 16]]| Message {
                    key: bytes(&key),
                    nonce: bytes(&nonce),
                    ad: bytes(&ad_memory),
                    ad_len,
                    src: bytes(src),
                    dst: buffer.as_mut_ptr().cast(),
                    len,
                    tag: tag.as_mut_ptr().cast(),
                    tag_len,
                };
            let (mut buffer, mut tag) = (none(), memory(&[]));
            if !seal(&message(&msg_memory, &mut buffer, &mut tag))
                || !holds(&buffer, &ct)
                || !holds(&tag, &expected)
            {
                return Some("seal");
            }
            let (mut buffer, mut tag) = (none(), memory(&expected));
            if !open(&message(&ct_memory, &mut buffer, &mut tag)) || !holds(&buffer, &msg) {
                return Some("open");
            }
            // A wrong block in any place of the tag.
            for at in 0..expected.len() {
                let mut other = expected.clone();
                other[at] = xor(other[at], input(98));
                if open(&message(&ct_memory, &mut buffer, &mut memory(&other))) {
                    return Some("open with another tag");
                }
            }
        }
    }
    None
}

/// Looks for a difference between the batch kernels of a family and degree and the standard, with
/// messages of these lengths.
fn flaw_of_batch(
    kernel: &BatchKernels,
    key_blocks: usize,
    degree: usize,
    lens: &[(usize, usize)],
) -> Option<&'static str> {
    for tag_len in [16, 32] {
        let mut all = Vec::new();
        let mut kept = Vec::new();
        for (i, &(ad_len, len)) in lens.iter().take(kernel.messages).enumerate() {
            let inputs = |first: usize, n: usize| -> Vec<Term> {
                (0..n).map(|j| input((100_000 * (i + 1) + first + j) as u32)).collect()
            };
            let (k, n) = (inputs(0, key_blocks), inputs(2, key_blocks));
            let (ad, msg) = (inputs(10_000, ad_len.div_ceil(16)), inputs(20_000, len.div_ceil(16)));
            let msg = padded(&msg, len);
            let mut standard = init(&k, &n, degree, None);
            standard.absorb(&padded(&ad, ad_len));
            let ct = standard.enc(&msg, len);
            let tag = standard.finalize(bits(ad_len), bits(len), tag_len);
            let inputs = [memory(&k), memory(&n), memory(&ad)];
            kept.push((inputs, memory(&msg), memory(&[]), msg, ct, tag));
            let (inputs, buffer, tag, ..) = kept.last_mut().unwrap();
            let dst = buffer.as_mut_ptr().cast();
            all.push(Message {
                key: inputs[0].as_ptr().cast(),
                nonce: inputs[1].as_ptr().cast(),
                ad: inputs[2].as_ptr().cast(),
                ad_len,
                src: dst,
                dst,
                len,
                tag: tag.as_mut_ptr().cast(),
                tag_len,
            });
        }
        let pointers =
            array::from_fn(|i| all.get(i).map_or(ptr::null(), |message| &raw const *message));
        // SAFETY: no CPU features are needed; there are as many messages as the kernel takes, each
        // in place.
        unsafe { (kernel.seal)(&pointers) };
        if kept
            .iter()
            .any(|(_, buffer, tag, _, ct, expected)| !holds(buffer, ct) || !holds(tag, expected))
        {
            return Some("seal");
        }
        // SAFETY: no CPU features are needed; there are as many messages as the kernel takes, each
        // in place.
        let wrong = unsafe { (kernel.open)(&pointers) };
        if wrong != 0
            || kept.iter().any(|(_, buffer, tag, msg, _, expected)| {
                !holds(buffer, msg) || !holds(tag, expected)
            })
        {
            return Some("open");
        }
    }
    None
}

features! {
    /// No features.
    Plain, scrub 0
}

type T1 = Terms<1>;
type T2 = Terms<2>;
type T4 = Terms<4>;
// Of these a state does not fit into registers.
type S1 = Terms<1, true>;
type S2 = Terms<2, true>;

/// The backends' tables of kernels, with vectors of terms in place of registers. States in memory
/// get the loops of `Terms`: what is proved for POWER, IBM Z, Zvkned and WebAssembly are the driver
/// and `InMemory`, not the loops themselves, which are `asm!` or accesses to volatile memory.
static TABLES: &[(&str, Tables)] = &[
    ("aesni", x86::aesni::<Plain, T1>()),
    ("aesni_avx", x86::aesni_avx::<Plain, T1>()),
    ("aesni_avx for Zen", zen::aesni_avx::<Plain, Plain, T1, T1>()),
    ("vaes_avx2", x86::vaes_avx2::<Plain, T1, T2>()),
    ("vaes_avx2 for Zen", zen::vaes_avx2::<Plain, Plain, Plain, T1, T1, T2>()),
    ("vaes_avx512", x86::vaes_avx512::<Plain, T1, T2, T4>()),
    ("vaes_avx512 for Zen", zen::vaes_avx512::<Plain, T1, T2, T4>()),
    ("ssse3", x86::ssse3::<Plain, S1>()),
    ("avx2", x86::avx2::<Plain, S2, Plain, S1>()),
    ("armv8_aes", tables::adds_first::<Plain, S1>()),
    ("neon", tables::each_degree::<Plain, Aegis128<S1, Compact>, Aegis256<S1, Compact>>()),
    ("textbook", tables::each_degree::<Plain, Aegis128<T1, Textbook>, Aegis256<T1, Textbook>>()),
    ("zkne", tables::scalar::<Plain, S1>()),
    ("zvkned", tables::one_lane::<Plain, InMemory<T1, 8>, InMemory<T1, 6>>()),
    ("power8", tables::in_memory_by_two::<Plain, T1, T2>()),
    ("z13, relaxed_simd", tables::in_memory::<Plain, T1>()),
    (
        "portable",
        Tables {
            aegis128: tables::planes::<Plain, Ideal<1, 2>, Ideal<2, 2>, Ideal<4, 2>>(),
            aegis256: tables::planes::<Plain, Ideal<1, 1>, Ideal<2, 1>, Ideal<4, 1>>(),
        },
    ),
];

/// One degree of each class that has its own kernels.
const DEGREES: [usize; 4] = [1, 2, 4, 3];

/// Calls `check` for every set of kernels, with the name, the kernels, the blocks of a key, the
/// degree and the rate.
fn for_each(mut check: impl FnMut(&str, &Kernels, usize, usize, usize)) {
    for (name, table) in TABLES {
        for family in [0, 1] {
            for degree in DEGREES {
                let kernels = table.of(family, degree);
                let rate = 16 * degree * (2 - family);
                check(name, kernels, family + 1, degree, rate);
            }
        }
    }
}

#[test]
fn kernels_are_the_standard_for_all_values() {
    prove(|| {
        for_each(|name, kernels, key_blocks, degree, rate| {
            let lens = [
                (0, 0),
                (1, rate + 1),
                (15, 3 * rate),
                (16, 16),
                (rate - 1, rate - 1),
                (rate, 2 * rate + 17),
                (rate + 1, 1),
                (2 * rate, 15),
                (3 * rate + rate / 2, 4 * rate + 3),
                (4 * rate, rate),
            ];
            // So much data that `Long` takes another form: what AEGIS-128L absorbs on Zen,
            // and whole turns on ARM, of which both families have one here and AEGIS-256 two.
            let much = match name {
                "armv8_aes" => Some((9 * rate + 5, 12 * rate + 1)),
                _ => (degree == 1).then_some((24 * rate + 5, 0)),
            };
            for lens in lens.into_iter().chain(much) {
                let flaw = flaw(kernels, key_blocks, degree, lens);
                assert_eq!(
                    flaw, None,
                    "{name}, {key_blocks} key blocks, degree {degree}, {lens:?}"
                );
            }
        });
    });
}

/// Messages of more than two chunks, where groups take turns. The words of a state are sums of as
/// many terms as there were steps, so this tests one table for each case: one group, several, and a
/// number known only at run time.
#[test]
fn long_messages_are_the_standard_for_all_values() {
    prove(|| {
        for_each(|name, kernels, key_blocks, degree, rate| {
            if degree == 4
                && ["aesni_avx", "vaes_avx2", "vaes_avx2 for Zen", "portable"].contains(&name)
            {
                let flaw = flaw(kernels, key_blocks, degree, (rate, 8192 + 2 * rate + 5));
                assert_eq!(flaw, None, "{name}, {key_blocks} key blocks, degree {degree}");
            }
        });
    });
}

#[test]
fn batches_are_the_standard_for_all_values() {
    prove(|| {
        let mut found = 0;
        for_each(|name, kernels, key_blocks, degree, rate| {
            for kernel in kernels.batch.iter().filter(|kernel| kernel.messages > 0) {
                for lens in [
                    [(0, 0), (0, 0), (0, 0), (0, 0)],
                    [(1, 2 * rate), (rate, rate + 1), (13, 2 * rate - 1), (15, 2 * rate)],
                    [
                        (2 * rate + 5, 1),
                        (3 * rate, rate),
                        (3 * rate - 1, 15),
                        (2 * rate + 1, rate - 1),
                    ],
                ] {
                    let flaw = flaw_of_batch(kernel, key_blocks, degree, &lens);
                    assert_eq!(
                        flaw, None,
                        "{name}, {key_blocks} key blocks, degree {degree}, {lens:?}"
                    );
                }
                found += 1;
            }
        });
        assert!(found >= 9, "{found} kernels");
    });
}

/// Every faulty operation is found: an addition left out, round key and input exchanged, words that
/// do not change places.
#[test]
fn planted_faults_are_found() {
    prove(|| {
        for_each(|name, kernels, key_blocks, degree, rate| {
            if name == "portable" {
                return; // its steps are those of the standard
            }
            let what = std::format!("{name}, {key_blocks}, {degree}");
            // Whole turns of ARM's loops.
            let steps = if name == "armv8_aes" && degree == 1 { 8 } else { 2 };
            let lens = (rate + 1, steps * rate + 1);
            let survivors =
                survivors(&what, 10, || flaw(kernels, key_blocks, degree, lens).is_some());
            assert!(survivors.is_empty(), "{what}: {survivors:?}");
        });
    });
}
