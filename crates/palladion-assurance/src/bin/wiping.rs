//! Shows what is left of secrets on the stack and in objects: `scripts/check-wiping.sh`.
//!
//! `wiping [--plant] [--verbose] [BACKEND...]`
//!
//! Every operation runs twice on the same stack, full of the same bytes, with the same arguments at the same addresses but for the
//! contents of key and message. A byte below the caller's frame that differs afterwards came from a secret, whatever has become
//! of it on the way: a key, a word of a state, key stream, plaintext. Ciphertexts and tags differ too and may stay: bytes that
//! are found in them, in both runs at the same place, do not count. The same for the memory of an object once it is dropped.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::process::ExitCode;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use palladion::family::{Aegis128, Aegis256, Family};
use palladion::hazmat::{AeadSession, MacSession};
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
    // What this program itself had in the registers that a function has to save would be found where that saves them. (On x86-64 there
    // are few, and all are in use here.)
    #[cfg(target_arch = "aarch64")]
    // SAFETY: they are said to be written.
    unsafe {
        std::arch::asm!(
            "mov x20, 0", "mov x21, 0", "mov x22, 0", "mov x23, 0", "mov x24, 0", "mov x25, 0", "mov x26, 0", "mov x27, 0", "mov x28, 0",
            out("x20") _, out("x21") _, out("x22") _, out("x23") _, out("x24") _, out("x25") _, out("x26") _, out("x27") _, out("x28") _,
            options(nomem, nostack),
        );
    }
    black_box(work)();
    copy_of_stack!(copy);
}

/// What is left after a run, and what of it everybody may see.
#[derive(Default)]
struct Traces {
    bytes: Vec<u8>,
    public: Vec<u8>,
}

/// Where secrets are left, counted from the upper end.
fn differences([a, b]: &[Traces; 2]) -> Vec<usize> {
    let len = a.bytes.len();
    assert_eq!((len, a.public.len()), (b.bytes.len(), b.public.len()));
    let mut differs: Vec<bool> = a.bytes.iter().zip(&b.bytes).map(|(a, b)| a != b).collect();
    // What a caller had in its registers is saved there too: words that are addresses of the stack or the heap.
    let here = [(&raw const differs).addr(), differs.as_ptr().addr()];
    let is_address = |word: &[u8]| {
        let word = usize::from_ne_bytes(word.try_into().expect("eight bytes"));
        here.iter().any(|here| here.abs_diff(word) < 64 << 20)
    };
    let words = a.bytes.chunks_exact(8).zip(b.bytes.chunks_exact(8));
    for ((a, b), differs) in words.zip(differs.chunks_exact_mut(8)) {
        if is_address(a) && is_address(b) {
            differs.fill(false);
        }
    }
    let mut found = Vec::new();
    let mut at = 0;
    while at < len {
        if !differs[at] {
            at += 1;
            continue;
        }
        // The longest piece from here on that is public.
        let piece = |n: usize| {
            n > 0
                && (0..=a.public.len().saturating_sub(n)).any(|from| {
                    let place = from..from + n;
                    a.public.get(place.clone()) == a.bytes.get(at..at + n)
                        && b.public.get(place) == b.bytes.get(at..at + n)
                })
        };
        let run = (at..len).take_while(|at| differs[*at]).count();
        match (1..=run).rev().find(|n| piece(*n)) {
            Some(n) if n >= 4 || n == run => at += n,
            _ => {
                found.push(len - at);
                at += 1;
            }
        }
    }
    found.reverse();
    found
}

/// The inputs of a run: everything secret differs from one to the other, and nothing else.
struct Input {
    key: Vec<u8>,
    message: Vec<u8>,
    ad: Vec<u8>,
}

struct Inputs(Input);

impl Inputs {
    fn new(key_len: usize, len: usize) -> Self {
        Self(Input { key: vec![0; key_len], message: vec![0; len], ad: vec![7; 21] })
    }
    /// Other secrets at the same places.
    fn set(&mut self, run: usize) {
        for bytes in [&mut self.0.key, &mut self.0.message] {
            let len = bytes.len();
            bytes.copy_from_slice(&secret(len, run));
        }
    }
}

/// Bytes of which each differs from one run to the other.
fn secret(len: usize, run: usize) -> Vec<u8> {
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
    fn add(&mut self, what: &str, traces: &[Traces; 2]) {
        let left = differences(traces);
        self.checks += 1;
        if !left.is_empty() {
            self.wrong += 1;
            let (nearest, farthest) = (left[0], left[left.len() - 1]);
            println!(
                "{what}: {} bytes that depend on secrets, {nearest} to {farthest} bytes deep",
                left.len()
            );
            if self.verbose {
                let size = traces[0].bytes.len();
                for traces in traces {
                    let bytes = &traces.bytes[size - farthest..=size - nearest];
                    println!("    {bytes:02x?}");
                }
            }
        } else if self.verbose {
            println!("{what}: nothing");
        }
    }

    /// Runs an operation with two sets of secrets, which lie at the same places: `prepare` overwrites what the operation works on,
    /// before the stack is watched, and `public` copies what everybody may see.
    fn stack<P>(
        &mut self,
        what: &str,
        inputs: &mut Inputs,
        place: &mut P,
        prepare: impl Fn(&mut P, &Input),
        work: impl Fn(&mut P, &Input),
        public: impl Fn(&P, &mut Vec<u8>),
    ) {
        let mut traces = [Traces::default(), Traces::default()];
        // (One copy for both: addresses are on the stack too.)
        let mut copy = vec![0; DEPTH];
        for (run, traces) in traces.iter_mut().enumerate() {
            inputs.set(run);
            for _ in 0..2 {
                // The first time for what is done once, like the choice of a backend.
                prepare(place, &inputs.0);
                stack_after(&mut || work(place, &inputs.0), &mut copy);
            }
            traces.bytes = copy.clone();
            public(place, &mut traces.public);
        }
        self.add(what, &traces);
    }

    /// Looks at the memory of a value after it was dropped.
    fn object<T>(&mut self, what: &str, inputs: &mut Inputs, make: impl Fn(&Input) -> T) {
        let mut memory = Box::new(MaybeUninit::<T>::uninit());
        // The first time for what is done once.
        let traces = [0, 0, 1].map(|run| {
            inputs.set(run);
            paint(); // padding is whatever was there before
            let size = size_of::<T>();
            let bytes = memory.as_mut_ptr().cast::<u8>();
            // SAFETY: as many bytes as there are; the value is made before it is dropped, once. What is looked at afterwards was
            // written before, if only as padding.
            let bytes = unsafe {
                bytes.write_bytes(0xa5, size);
                memory.write(make(&inputs.0));
                memory.assume_init_drop();
                black_box(bytes);
                (0..size).map(|at| bytes.add(at).read_volatile()).collect()
            };
            Traces { bytes, public: Vec::new() }
        });
        let [_, first, second] = traces;
        self.add(what, &[first, second]);
    }
}

/// What an operation works on.
struct Place<F: Family, const D: usize, const T: usize> {
    cipher: Aegis<F, D, T>,
    buffer: Vec<u8>,
    tag: Tag<T>,
    /// What the message becomes.
    ciphertext: Vec<u8>,
    session: Box<MaybeUninit<AeadSession<F, D>>>,
}

fn flipped<const T: usize>(tag: &Tag<T>) -> Tag<T> {
    let mut bytes = *tag.as_bytes();
    bytes[3] ^= 1;
    Tag::from(bytes)
}

fn variant<F: Family, const D: usize, const T: usize>(report: &mut Report, backend: Backend) {
    let k = F::KEY_LEN;
    let name =
        |what: &str, len: usize| format!("{backend}, {} of degree {D}, {what} of {len} bytes", F::NAME);
    let nonce = || F::Nonce::try_from(&[9; 32][..k]).expect("as long as it must be");
    let key = |input: &Input| F::Key::try_from(&input.key).expect("as long as it must be");
    let cipher = |input: &Input| Aegis::<F, D, T>::new(&key(input));
    let rate = 16 * D * if k == 16 { 2 } else { 1 };
    for len in [5, rate + 3, 4 * rate, 9 * rate + 17] {
        let mut inputs = Inputs::new(k, len);
        let inputs = &mut inputs;
        let mut place = Place {
            cipher: Aegis::new(&key(&inputs.0)),
            buffer: vec![0; len],
            tag: Tag::from([0; T]),
            ciphertext: vec![0; len],
            session: Box::new(MaybeUninit::uninit()),
        };
        let place = &mut place;
        type P<F, const D: usize, const T: usize> = Place<F, D, T>;
        let message = |place: &mut P<F, D, T>, input: &Input| {
            place.cipher = Aegis::new(&key(input));
            place.buffer.copy_from_slice(&input.message);
            place.tag =
                place.cipher.encrypt_in_place(&nonce(), &input.ad, &mut place.buffer).expect("encrypted");
            place.ciphertext.copy_from_slice(&place.buffer);
            place.buffer.copy_from_slice(&input.message);
        };
        let ciphertext = |place: &mut P<F, D, T>, input: &Input| {
            message(place, input);
            place.buffer.copy_from_slice(&place.ciphertext);
        };
        let forgery = |place: &mut P<F, D, T>, input: &Input| {
            ciphertext(place, input);
            place.tag = flipped(&place.tag);
        };
        let public = |place: &P<F, D, T>, to: &mut Vec<u8>| {
            to.extend([&place.ciphertext[..], place.tag.as_bytes()].concat());
        };
        report.stack(
            &name("encryption", len),
            inputs,
            place,
            message,
            |place, input| {
                place.tag =
                    place.cipher.encrypt_in_place(&nonce(), &input.ad, &mut place.buffer).expect("encrypted");
            },
            public,
        );
        report.stack(
            &name("decryption", len),
            inputs,
            place,
            ciphertext,
            |place, input| {
                place
                    .cipher
                    .decrypt_in_place(&nonce(), &input.ad, &mut place.buffer, &place.tag)
                    .expect("authentic");
            },
            public,
        );
        report.stack(
            &name("a forgery", len),
            inputs,
            place,
            forgery,
            |place, input| {
                place
                    .cipher
                    .decrypt_in_place(&nonce(), &input.ad, &mut place.buffer, &place.tag)
                    .expect_err("a forgery");
                assert!(place.buffer.iter().all(|byte| *byte == 0));
            },
            public,
        );
        report.stack(
            &name("verification", len),
            inputs,
            place,
            ciphertext,
            |place, input| {
                place.cipher.verify(&nonce(), &input.ad, &place.buffer, &place.tag).expect("authentic");
            },
            public,
        );
        report.stack(
            &name("pieces", len),
            inputs,
            place,
            message,
            |place, input| {
                let session = AeadSession::begin_in(&mut place.session, &key(input), &nonce(), &input.ad)
                    .expect("a cipher");
                let (first, second) = place.buffer.split_at_mut(len / 3);
                session.encrypt_in_place(first).expect("encrypted");
                session.encrypt_in_place(second).expect("encrypted");
                place.tag = session.finalize();
            },
            public,
        );
        report.stack(
            &name("a forgery in pieces", len),
            inputs,
            place,
            forgery,
            |place, input| {
                let session = AeadSession::begin_in(&mut place.session, &key(input), &nonce(), &input.ad)
                    .expect("a cipher");
                let (first, second) = place.buffer.split_at_mut(len / 3);
                session.decrypt_in_place(first).expect("decrypted");
                session.decrypt_in_place(second).expect("decrypted");
                session.verify(&place.tag).expect_err("a forgery");
            },
            public,
        );
        report.stack(
            &name("MAC", len),
            inputs,
            place,
            |_, _| (),
            |place, input| {
                place.tag =
                    Mac::<F, D, T>::mac(&key(input), &nonce(), &input.message).expect("authenticated");
            },
            |place, to| to.extend(place.tag.as_bytes()),
        );
        report.stack(
            &name("key stream", len),
            inputs,
            place,
            message,
            |place, input| {
                KeyStream::<F, D>::fill(&key(input), &nonce(), &mut place.buffer).expect("a stream");
            },
            |_, _| (),
        );
    }
    report.object(&name("object Aegis", 0), &mut Inputs::new(k, 0), cipher);
    report.object(&name("object Encryptor", 50), &mut Inputs::new(k, 50), |input| {
        let mut encryptor: Encryptor<F, D, T> = cipher(input).encryptor(&nonce(), b"ad").expect("a cipher");
        encryptor.update_in_place(&mut input.message.clone()).expect("encrypted");
        encryptor
    });
    report.object(&name("object AeadSession", 50), &mut Inputs::new(k, 50), |input| {
        let mut session = AeadSession::<F, D>::new(&key(input), &nonce(), b"ad").expect("a cipher");
        session.encrypt_in_place(&mut input.message.clone()).expect("encrypted");
        session
    });
    report.object(&name("object MacSession", 50), &mut Inputs::new(k, 50), |input| {
        let mut session = MacSession::<F, D>::new(&key(input), &nonce()).expect("a cipher");
        session.update(&input.message).expect("data");
        session
    });
    report.object(&name("object Mac", 50), &mut Inputs::new(k, 50), |input| {
        let mut mac = Mac::<F, D, T>::new(&key(input), &nonce()).expect("a cipher");
        mac.update(&input.message).expect("data");
        mac
    });
    report.object(&name("object KeyStream", 50), &mut Inputs::new(k, 50), |input| {
        let mut stream = KeyStream::<F, D>::new(&key(input), &nonce()).expect("a cipher");
        stream.next_bytes(&mut [0; 50]).expect("bytes");
        stream
    });
    report.object(&name("object Decryptor", 50), &mut Inputs::new(k, 50), |input| {
        // (At the same place each time, and empty again when the object is dropped.)
        static OUTPUT: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
        if OUTPUT.load(Relaxed).is_null() {
            OUTPUT.store(Vec::leak(vec![0; 50]).as_mut_ptr(), Relaxed);
        }
        // SAFETY: 50 bytes that are never freed, and that no other object has any more.
        let output = unsafe { std::slice::from_raw_parts_mut(OUTPUT.load(Relaxed), 50) };
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
        let nothing = |_: &(), _: &mut Vec<u8>| ();
        report.stack(
            "a planted copy of the key",
            &mut Inputs::new(32, 64),
            &mut (),
            |(), _| (),
            |(), input| {
                let mut copy = [0; 32];
                black_box(&mut copy).copy_from_slice(&input.key);
                black_box(&copy);
            },
            nothing,
        );
        report.object("a planted key", &mut Inputs::new(32, 0), |input| {
            <[u8; 32]>::try_from(&input.key[..]).expect("32 bytes")
        });
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
