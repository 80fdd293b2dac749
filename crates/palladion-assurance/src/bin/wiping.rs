//! Shows what is left of secrets on the stack and in objects: `scripts/check-wiping.sh`.
//!
//! `wiping [--plant] [--verbose] [BACKEND...]`
//!
//! Every operation runs twice on the same stack, full of the same bytes, with the same arguments but for the key and the message. A
//! byte below the caller's frame that differs afterwards came from a secret, whatever has become of it on the way: a key, a
//! word of a state, key stream, plaintext. The same for the memory of an object once it is dropped.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::process::ExitCode;

use palladion::family::{Aegis128, Aegis256, Family};
use palladion::hazmat::{AeadSession, MacSession, UnverifiedDecryptor};
use palladion::{Aegis, Backend, Decryptor, Encryptor, KeyStream, Mac, Tag, set_backend};

/// How much of the stack is looked at, in bytes.
const DEPTH: usize = 128 << 10;

/// Copies the stack below this frame. (Nothing that is called can do it: it would have a frame there.)
macro_rules! copy_of_stack {
    ($to:expr) => {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the stack is larger, and is only read; as many bytes can be written.
        unsafe {
            std::arch::asm!(
                "lea rsi, [rsp - {depth}]", "mov ecx, {depth}", "rep movsb", depth = const DEPTH,
                inout("rdi") $to.as_mut_ptr() => _, out("rsi") _, out("rcx") _,
            );
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: likewise.
        unsafe {
            std::arch::asm!(
                "sub {from}, sp, {depth}", "2: ldrb {byte:w}, [{from}], #1", "strb {byte:w}, [{to}], #1", "subs {left}, {left}, #1",
                "b.ne 2b", depth = in(reg) DEPTH, left = inout(reg) DEPTH => _, to = inout(reg) $to.as_mut_ptr() => _,
                from = out(reg) _, byte = out(reg) _,
            );
        }
    };
}

/// Fills the stack below.
#[inline(never)]
fn paint() {
    let mut stack = [MaybeUninit::<u8>::uninit(); DEPTH + 4096];
    black_box(&mut stack).fill(MaybeUninit::new(0xa5));
    black_box(&stack);
}

/// What lies below the frame of this function once `work` has returned.
#[inline(never)]
fn stack_after(work: &mut dyn FnMut(), copy: &mut [u8]) {
    assert_eq!(copy.len(), DEPTH);
    paint();
    black_box(work)();
    copy_of_stack!(copy);
}

/// How many bytes are not the same, and the first of them, counted from the upper end.
fn differences(a: &[u8], b: &[u8]) -> Vec<usize> {
    assert_eq!(a.len(), b.len());
    (0..a.len()).rev().filter(|at| a[*at] != b[*at]).map(|at| a.len() - at).collect()
}

/// The inputs of a run: everything secret differs from one to the other, and nothing else.
struct Input {
    key: Vec<u8>,
    message: Vec<u8>,
    ad: Vec<u8>,
}

/// The same number of bytes for everybody, and none in common.
fn secret(len: usize, run: u8) -> Vec<u8> {
    (0..len)
        .map(|i| (i as u8).wrapping_mul(37).wrapping_add(11) ^ if run == 0 { 0x5a } else { 0xc3 })
        .collect()
}

struct Report {
    verbose: bool,
    checks: usize,
    wrong: usize,
}

impl Report {
    fn add(&mut self, what: &str, left: &[usize]) {
        self.checks += 1;
        if !left.is_empty() {
            self.wrong += 1;
            let (nearest, farthest) = (left[0], left[left.len() - 1]);
            println!(
                "{what}: {} bytes that depend on secrets, {nearest} to {farthest} bytes deep",
                left.len()
            );
        } else if self.verbose {
            println!("{what}: nothing");
        }
    }

    /// Runs an operation with two sets of secrets. `prepare` makes what it works on, before the stack is watched.
    fn stack<P>(
        &mut self,
        what: &str,
        len: usize,
        key_len: usize,
        prepare: impl Fn(&Input) -> P,
        work: impl Fn(&mut P, &Input),
    ) {
        let copies = [0, 1].map(|run| {
            let input = Input { key: secret(key_len, run), message: secret(len, run), ad: vec![7; 21] };
            let mut copy = vec![0; DEPTH];
            for _ in 0..2 {
                // The first time for what is done once, like the choice of a backend.
                let mut prepared = prepare(&input);
                stack_after(&mut || work(&mut prepared, &input), &mut copy);
            }
            copy
        });
        self.add(what, &differences(&copies[0], &copies[1]));
    }

    /// Looks at the memory of a value after it was dropped.
    fn object<T>(&mut self, what: &str, len: usize, key_len: usize, make: impl Fn(&Input) -> T) {
        let copies = [0, 1].map(|run| {
            let input = Input { key: secret(key_len, run), message: secret(len, run), ad: vec![7; 21] };
            let mut memory = Box::new(MaybeUninit::<T>::uninit());
            let size = size_of::<T>();
            let bytes = memory.as_mut_ptr().cast::<u8>();
            // SAFETY: as many bytes as there are; the value is made before it is dropped, once. What is looked at afterwards was
            // written before, if only as padding.
            unsafe {
                bytes.write_bytes(0xa5, size);
                memory.write(make(&input));
                memory.assume_init_drop();
                black_box(bytes);
                (0..size).map(|at| bytes.add(at).read_volatile()).collect::<Vec<u8>>()
            }
        });
        self.add(what, &differences(&copies[0], &copies[1]));
    }
}

fn variant<F: Family, const D: usize, const T: usize>(report: &mut Report, backend: Backend) {
    let k = F::KEY_LEN;
    let name =
        |what: &str, len: usize| format!("{backend}, {} of degree {D}, {what} of {len} bytes", F::NAME);
    let nonce = || F::Nonce::try_from(&[9; 32][..k]).expect("as long as it must be");
    let cipher =
        |input: &Input| Aegis::<F, D, T>::new(&F::Key::try_from(&input.key).expect("as long as it must be"));
    let rate = 16 * D * if k == 16 { 2 } else { 1 };
    for len in [5, rate + 3, 4 * rate, 9 * rate + 17] {
        // What goes in and out lies elsewhere: ciphertexts and tags need not be wiped, and would differ.
        type Place<F, const D: usize, const T: usize> = (Box<Aegis<F, D, T>>, Vec<u8>, Box<Tag<T>>);
        let message = |input: &Input| -> Place<F, D, T> {
            (Box::new(cipher(input)), input.message.clone(), Box::new(Tag::from([0; T])))
        };
        let ciphertext = |input: &Input| -> Place<F, D, T> {
            let (cipher, mut buffer, mut tag) = message(input);
            *tag = cipher.encrypt_in_place(&nonce(), &input.ad, &mut buffer).expect("encrypted");
            (cipher, buffer, tag)
        };
        let forgery = |input: &Input| -> Place<F, D, T> {
            let (cipher, buffer, mut tag) = ciphertext(input);
            let mut bytes = *tag.as_bytes();
            bytes[3] ^= 1;
            *tag = Tag::from(bytes);
            (cipher, buffer, tag)
        };
        report.stack(&name("encryption", len), len, k, message, |(cipher, buffer, tag), input| {
            **tag = cipher.encrypt_in_place(&nonce(), &input.ad, buffer).expect("encrypted");
        });
        report.stack(&name("decryption", len), len, k, ciphertext, |(cipher, buffer, tag), input| {
            cipher.decrypt_in_place(&nonce(), &input.ad, buffer, tag).expect("authentic");
        });
        report.stack(&name("a forgery", len), len, k, forgery, |(cipher, buffer, tag), input| {
            cipher.decrypt_in_place(&nonce(), &input.ad, buffer, tag).expect_err("a forgery");
            assert!(buffer.iter().all(|byte| *byte == 0));
        });
        report.stack(&name("verification", len), len, k, ciphertext, |(cipher, buffer, tag), input| {
            cipher.verify(&nonce(), &input.ad, buffer, tag).expect("authentic");
        });
        report.stack(&name("pieces", len), len, k, message, |(cipher, buffer, tag), input| {
            let mut encryptor = cipher.encryptor(&nonce(), &input.ad).expect("a cipher");
            let (first, second) = buffer.split_at_mut(len / 3);
            encryptor.update_in_place(first).expect("encrypted");
            encryptor.update_in_place(second).expect("encrypted");
            **tag = encryptor.finalize();
        });
        report.stack(&name("a forgery in pieces", len), len, k, forgery, |(cipher, buffer, tag), input| {
            let mut unverified = UnverifiedDecryptor::new(cipher, &nonce(), &input.ad).expect("a cipher");
            let (first, second) = buffer.split_at_mut(len / 3);
            unverified.update_in_place(first).expect("decrypted");
            unverified.update_in_place(second).expect("decrypted");
            unverified.verify(tag).expect_err("a forgery");
        });
        report.stack(&name("MAC", len), len, k, message, |(cipher, buffer, tag), _| {
            let _ = cipher;
            let key = F::Key::try_from(&secret(k, buffer[0] & 1)).expect("as long as it must be");
            **tag = Mac::<F, D, T>::mac(&key, &nonce(), buffer).expect("authenticated");
        });
        report.stack(&name("key stream", len), len, k, message, |(_, buffer, _), input| {
            let key = F::Key::try_from(&input.key).expect("as long as it must be");
            KeyStream::<F, D>::fill(&key, &nonce(), buffer).expect("a stream");
        });
    }
    report.object(&name("object Aegis", 0), 0, k, cipher);
    report.object(&name("object Encryptor", 50), 50, k, |input| {
        let mut encryptor: Encryptor<F, D, T> = cipher(input).encryptor(&nonce(), b"ad").expect("a cipher");
        encryptor.update_in_place(&mut input.message.clone()).expect("encrypted");
        encryptor
    });
    report.object(&name("object AeadSession", 50), 50, k, |input| {
        let key = F::Key::try_from(&input.key).expect("as long as it must be");
        let mut session = AeadSession::<F, D>::new(&key, &nonce(), b"ad").expect("a cipher");
        session.encrypt_in_place(&mut input.message.clone()).expect("encrypted");
        session
    });
    report.object(&name("object MacSession", 50), 50, k, |input| {
        let key = F::Key::try_from(&input.key).expect("as long as it must be");
        let mut session = MacSession::<F, D>::new(&key, &nonce()).expect("a cipher");
        session.update(&input.message).expect("data");
        session
    });
    report.object(&name("object Mac", 50), 50, k, |input| {
        let key = F::Key::try_from(&input.key).expect("as long as it must be");
        let mut mac = Mac::<F, D, T>::new(&key, &nonce()).expect("a cipher");
        mac.update(&input.message).expect("data");
        mac
    });
    report.object(&name("object KeyStream", 50), 50, k, |input| {
        let key = F::Key::try_from(&input.key).expect("as long as it must be");
        let mut stream = KeyStream::<F, D>::new(&key, &nonce()).expect("a cipher");
        stream.next_bytes(&mut [0; 50]).expect("bytes");
        stream
    });
    report.object(&name("object Decryptor", 50), 50, k, |input| {
        let output: &'static mut [u8] = Vec::leak(vec![0; 50]);
        let mut decryptor: Decryptor<'static, F, D, T> =
            cipher(input).decryptor(&nonce(), b"ad", output).expect("a cipher");
        decryptor.update(&input.message).expect("taken");
        decryptor
    });
}

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut option = |name: &str| {
        let there = arguments.iter().position(|argument| argument == name);
        there.map(|at| arguments.remove(at)).is_some()
    };
    let (planted, verbose) = (option("--plant"), option("--verbose"));
    let mut report = Report { verbose, checks: 0, wrong: 0 };
    if planted {
        // What a function leaves that does not wipe: it has to be found.
        report.stack(
            "a planted copy of the key",
            64,
            32,
            |_| (),
            |(), input| {
                let mut copy = [0; 32];
                black_box(&mut copy).copy_from_slice(&input.key);
                black_box(&copy);
            },
        );
        report
            .object("a planted key", 0, 32, |input| <[u8; 32]>::try_from(&input.key[..]).expect("32 bytes"));
    } else {
        let backends: Vec<Backend> = if arguments.is_empty() {
            Backend::ALL.iter().copied().filter(|backend| backend.is_available()).collect()
        } else {
            arguments.iter().map(|name| name.parse().expect("the name of a backend")).collect()
        };
        for backend in backends {
            set_backend(backend).expect("a backend that can run here");
            variant::<Aegis128, 1, 32>(&mut report, backend);
            variant::<Aegis128, 2, 16>(&mut report, backend);
            variant::<Aegis128, 4, 32>(&mut report, backend);
            variant::<Aegis256, 1, 16>(&mut report, backend);
            variant::<Aegis256, 2, 32>(&mut report, backend);
            variant::<Aegis256, 3, 32>(&mut report, backend);
            variant::<Aegis256, 4, 16>(&mut report, backend);
        }
    }
    println!("{} checks, {} of them found something", report.checks, report.wrong);
    ExitCode::from(u8::from(report.wrong > 0))
}
