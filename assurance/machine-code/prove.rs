//! Runs kernels on symbols, and compares what they did with the standard and with what they may do.

use palladion_reference::{Aegis, Byte, Family, State, blocks};

use std::sync::Arc;

use crate::kernel::{Kernel, Places, Set};
use crate::memory::{Memory, Region};
use crate::term::Symbol;

/// What runs kernels: the CPU of a library, or WebAssembly.
pub trait Target<'a>: Sized {
    type Byte: Symbol;
    /// The size of a pointer.
    const WORD: usize;

    /// A kernel may run in place of another.
    fn new(set: &'a Set, call: &Call, planted: Option<(usize, &'a Kernel)>) -> Self;
    fn set(&self) -> &'a Set;
    fn memory(&mut self) -> &mut Memory<'a, Self::Byte>;
    /// Calls a function.
    fn call(&mut self, function: usize, arguments: &[u64]) -> Result<(), String>;
    /// Checks that the kernel returned which tags are right.
    fn check_verdict(
        &mut self,
        kernel: &Kernel,
        messages: &Messages<Self::Byte>,
    ) -> Result<(), String>;
    /// Checks that nothing secret is left on the stack, after wiping it as the driver does.
    fn check_stack(&mut self, _: &Kernel) -> Result<(), String> {
        Ok(())
    }
}

/// A call of kernels with public lengths.
#[derive(Clone, Copy, Debug, Default)]
pub struct Call {
    pub degree: usize,
    pub ad_len: usize,
    pub len: usize,
    pub tag_len: usize,
    pub in_place: bool,
}

pub fn symbols<T: Symbol>(name: u8, len: usize) -> Vec<T> {
    (0..len).map(|at| T::symbol(name, at)).collect()
}

/// What kernels for states are given, each what it needs.
#[derive(Default)]
struct Arguments {
    key: u64,
    nonce: u64,
    context: u64,
    work: u64,
    src: u64,
    dst: u64,
    ad_len: u64,
    len: u64,
    tag: u64,
    tag_len: u64,
}

pub struct Run<T>(pub T);

impl<'a, T: Target<'a>> Run<T> {
    /// Adds memory that a kernel may use, and returns its address.
    fn memory(&mut self, name: &'static str, bytes: Vec<T::Byte>, writable: bool) -> u64 {
        let number = self.0.memory().regions.len() as u64;
        // Data can be anywhere; each region has another place in a line of the cache.
        let start = 0x1000_0000 + (number << 20) + (bytes.len() as u64 + 7 * number) % 64;
        self.0.memory().regions.push(Region { name, start, bytes, writable });
        start
    }

    /// The same, aligned.
    fn aligned(&mut self, name: &'static str, bytes: Vec<T::Byte>, writable: bool) -> u64 {
        let start = self.memory(name, bytes, writable) & !63;
        self.0.memory().regions.last_mut().expect("just added").start = start;
        start
    }

    /// Adds a struct of words that a kernel reads.
    fn fields(&mut self, name: &'static str, fields: &[u64]) -> u64 {
        self.aligned(name, numbers(fields, T::WORD), false)
    }

    /// Calls a kernel for a state.
    fn call_kernel(
        &mut self,
        number: usize,
        state: [u64; 2],
        arguments: &Arguments,
    ) -> Result<(), String> {
        let [memory, degree] = state;
        let &Arguments { key, nonce, context, work, src, dst, ad_len, len, tag, tag_len } =
            arguments;
        if self.0.set().image.cpu.go {
            let bits = [8 * ad_len, 8 * len];
            let (data, tag) = ([src, dst, len], [tag, tag_len]);
            let all = [&[memory, degree, key, nonce][..], &data, &bits, &tag, &[work]].concat();
            let fields = self.fields("the arguments", &all);
            return self.0.call(number, &[fields]);
        }
        match &*self.0.set().functions[number].operation {
            "init" => self.0.call(number, &[memory, degree, key, nonce, context]),
            "advance" => {
                let data = self.fields("the arguments", &[src, dst, len]);
                self.0.call(number, &[memory, degree, work, data])
            }
            _ => self.0.call(number, &[memory, degree, ad_len, len, tag, tag_len]),
        }
    }

    fn bytes(&mut self, at: u64, len: usize) -> Vec<T::Byte> {
        let mut bytes = vec![T::Byte::constant(0); len];
        self.0.memory().load(at, &mut bytes).expect("the caller's memory");
        bytes
    }

    fn expect(&mut self, at: u64, what: &str, expected: &[T::Byte]) -> Result<(), String> {
        if expected.is_empty() {
            return Ok(());
        }
        let found = self.bytes(at, expected.len());
        match (0..expected.len()).find(|&n| found[n] != expected[n]) {
            Some(n) => Err(format!("byte {n} of {what} is not what the standard says")),
            None => Ok(()),
        }
    }

    /// The argument of a kernel for a message, whose parts are symbols, and what it has to compute.
    fn message(&mut self, kernel: &Kernel, call: &Call, number: u8) -> (u64, Expected<T::Byte>) {
        let name = |letter: u8| letter ^ number << 4 ^ 0x80;
        let (aegis, operation) = (kernel.aegis(call.degree), &*kernel.operation);
        let (open, mac) = (operation.starts_with("open"), operation == "mac");
        let key = symbols(name(b'k'), aegis.key_len());
        let nonce = symbols(name(b'n'), aegis.key_len());
        let (ad, input) = (symbols(name(b'a'), call.ad_len), symbols(name(b'm'), call.len));
        let mut state = State::init(aegis, &blocks(&key), &blocks(&nonce));
        state.absorb(&blocks(&ad));
        let (output, tag) = if mac {
            (Vec::new(), state.finalize_mac(bits(call.ad_len), call.tag_len))
        } else {
            let output = if open { state.decrypt(&input) } else { state.encrypt(&input) };
            (output, state.finalize(bits(call.ad_len), bits(call.len), call.tag_len))
        };
        let tag = tag.concat();
        let given = symbols(name(b't'), call.tag_len);
        let (key, nonce) =
            (self.memory("the key", key, false), self.memory("the nonce", nonce, false));
        let ad = self.memory("the associated data", ad, false);
        let (src, dst) = if mac || call.len == 0 {
            (1, 1) // any value
        } else if call.in_place {
            let at = self.memory("the output", input, true);
            (at, at)
        } else {
            let src = self.memory("the input", input, false);
            (src, self.memory("the output", symbols(name(b'o'), call.len), true))
        };
        let tag_at = self.memory("the tag", given.clone(), !open);
        let lens = [call.ad_len, call.len, call.tag_len].map(|len| len as u64);
        let fields = [key, nonce, ad, lens[0], src, dst, lens[1], tag_at, lens[2]];
        let expected = Expected { output_at: dst, output, tag_at, tag, given };
        (self.fields("the message", &fields), expected)
    }

    /// Proves a kernel for a message, or for several.
    pub fn message_kernel(&mut self, number: usize, calls: &[Call]) -> Result<(), String> {
        let kernel = &self.0.set().functions[number];
        let batch = kernel.operation.ends_with("batch");
        let messages: Vec<_> =
            (0..).zip(calls).map(|(i, call)| self.message(kernel, call, i)).collect();
        let pointers: Vec<u64> = messages.iter().map(|(pointer, _)| *pointer).collect();
        let argument = if batch { self.fields("the pointers", &pointers) } else { pointers[0] };
        self.0.call(number, &[argument])?;
        for (_, expected) in &messages {
            self.expect(expected.output_at, "the output", &expected.output)?;
            if !kernel.operation.starts_with("open") {
                self.expect(expected.tag_at, "the tag", &expected.tag)?;
            }
        }
        self.0.check_verdict(kernel, &messages)?;
        self.0.check_stack(kernel)
    }

    /// Returns where kernels for states keep the words: where `init` writes them.
    fn places(&self, kernel: &Kernel, degree: usize) -> Result<Places, String> {
        let set = self.0.set();
        if set.image.cpu.go && kernel.init.is_none() {
            // They are as the standard has them.
            let len = 16 * word_count(kernel.aegis(degree)) * degree;
            return Ok(Arc::new((0..len).map(|at| Some((at, 0xff, false))).collect()));
        }
        let init = set.related(kernel).ok_or("no init")?;
        if let Some(places) = set.places.lock().expect("no thread panics").get(&(init, degree)) {
            return Ok(places.clone());
        }
        let mut run = Self(T::new(set, &Call::default(), None));
        let aegis = kernel.aegis(degree);
        let (key, nonce) = (symbols(b'k', aegis.key_len()), symbols(b'n', aegis.key_len()));
        let mut state = State::init(aegis, &blocks(&key), &blocks(&nonce));
        let words = to_words(&state);
        state.absorb(&[[T::Byte::constant(0); 16]]);
        let (key, nonce) =
            (run.memory("the key", key, false), run.memory("the nonce", nonce, false));
        let memory = run.aligned("the state", symbols(b'x', 128 * degree), true);
        let arguments = Arguments { key, nonce, ..Arguments::default() };
        run.call_kernel(init, [memory, degree as u64], &arguments)?;
        let found = run.bytes(memory, 128 * degree);
        let places = Arc::new(T::Byte::places(&found, &words));
        // All parts of all words.
        if places.iter().flatten().count() * found.len() < words.len() * places.len() {
            return Err("init makes another state than the standard's".into());
        }
        set.places.lock().expect("no thread panics").insert((init, degree), places.clone());
        Ok(places)
    }

    /// Proves a kernel for a state in memory, which is any state.
    pub fn state_kernel(&mut self, number: usize, call: &Call) -> Result<(), String> {
        let kernel = &self.0.set().functions[number];
        let places = self.places(kernel, call.degree)?;
        let (aegis, degree) = (kernel.aegis(call.degree), call.degree);
        let len = 16 * word_count(aegis) * degree;
        let words = blocks(&symbols(b'w', len));
        let mut state = State { aegis, v: words.chunks(degree).map(<[_]>::to_vec).collect() };
        let (d, given, tag_len) = (degree as u64, call.len as u64, call.tag_len as u64);
        let mut bytes = symbols(b'x', 128 * degree);
        if !matches!(&*kernel.operation, "init" | "resume") {
            T::Byte::place(&mut bytes, &places, &to_words(&state));
        }
        let memory = self.aligned("the state", bytes, true);
        // The standard comes first, because bits are functions of what its rounds take.
        match &*kernel.operation {
            "init" => {
                let key = symbols(b'k', aegis.key_len());
                let nonce = symbols(b'n', aegis.key_len());
                let context: [T::Byte; 16] = std::array::from_fn(|at| T::Byte::symbol(b'c', at));
                let own = call.len % 2 == 1 && !self.0.set().image.cpu.go;
                let ctx = if own { vec![context; degree] } else { aegis.ctx() };
                state = State::init_with_ctx(aegis, &blocks(&key), &blocks(&nonce), &ctx);
                let key = self.memory("the key", key, false);
                let nonce = self.memory("the nonce", nonce, false);
                let context =
                    if own { self.memory("the context", context.to_vec(), false) } else { 0 };
                let arguments = Arguments { key, nonce, context, ..Arguments::default() };
                self.call_kernel(number, [memory, d], &arguments)?;
            }
            "advance" => {
                // Encrypts, decrypts, absorbs.
                for work in 0..3 {
                    let input = symbols(b'm' + work, call.len);
                    let in_place = call.in_place && work < 2;
                    let src = self.memory("the data", input.clone(), in_place);
                    let dst = match work {
                        2 => 0,
                        _ if in_place => src,
                        _ => self.memory("the output", symbols(b'o', call.len), true),
                    };
                    let output = match work {
                        0 => state.encrypt(&input),
                        1 => state.decrypt(&input),
                        _ => {
                            state.absorb(&blocks(&input));
                            Vec::new()
                        }
                    };
                    let ends = Arguments { src, dst, len: given, ..Arguments::default() };
                    let arguments = Arguments { work: work.into(), ..ends };
                    self.call_kernel(number, [memory, d], &arguments)?;
                    self.expect(dst, "the output", &output)?;
                }
            }
            "keystream" => {
                let step = self.memory("the key stream", symbols(b'o', aegis.rate()), true);
                state.clone().absorb(&state.z());
                self.0.call(number, &[memory, d, step])?;
                self.expect(step, "the key stream", &state.z().concat())?;
            }
            "finalize" => {
                let tag = self.memory("the tag", symbols(b't', call.tag_len), true);
                let lens =
                    Arguments { ad_len: call.ad_len as u64, len: given, ..Arguments::default() };
                let expected =
                    state.finalize(bits(call.ad_len), bits(call.len), call.tag_len).concat();
                self.call_kernel(number, [memory, d], &Arguments { tag, tag_len, ..lens })?;
                self.expect(tag, "the tag", &expected)?;
            }
            "finalize_mac" => {
                let tag = self.memory("the tag", symbols(b't', call.tag_len), true);
                let expected = state.finalize_mac(bits(call.len), call.tag_len).concat();
                self.0.call(number, &[memory, d, given, tag, tag_len])?;
                self.expect(tag, "the tag", &expected)?;
                for (at, byte) in self.bytes(memory, 128 * degree).into_iter().enumerate() {
                    if byte != T::Byte::constant(0) && byte != T::Byte::symbol(b'x', at) {
                        return Err("does not wipe the state".into());
                    }
                }
                return self.0.check_stack(kernel);
            }
            "words" => {
                let to = self.memory("the output", symbols(b'o', len), true);
                self.0.call(number, &[memory, d, to])?;
                self.expect(to, "the output", &to_words(&state))?;
            }
            "resume" => {
                let from = self.memory("the words", to_words(&state), false);
                self.0.call(number, &[memory, d, from])?;
            }
            other => return Err(format!("unknown: a kernel `{other}`")),
        }
        self.0.check_stack(kernel)?;
        let mut expected = self.bytes(memory, 128 * degree);
        T::Byte::place(&mut expected, &places, &to_words(&state));
        self.expect(memory, "the state", &expected)
    }
}

/// The arguments for messages, and what kernels have to compute.
pub type Messages<T> = [(u64, Expected<T>)];

/// What a kernel for a message has to compute, and where.
pub struct Expected<T> {
    pub output_at: u64,
    pub output: Vec<T>,
    pub tag_at: u64,
    pub tag: Vec<T>,
    /// The tag that the caller gives.
    pub given: Vec<T>,
}

/// The bytes of numbers of so many bytes.
pub fn numbers<T: Symbol>(numbers: &[u64], size: usize) -> Vec<T> {
    let bytes = |number: &u64| number.to_le_bytes().map(T::constant)[..size].to_vec();
    numbers.iter().flat_map(bytes).collect()
}

/// The number of words of a lane.
fn word_count(aegis: Aegis) -> usize {
    if aegis.family == Family::Aegis128 { 8 } else { 6 }
}

/// The words of a state as the kernel `words` writes them.
fn to_words<T: Symbol>(state: &State<[T; 16]>) -> Vec<T> {
    state.v.concat().concat()
}

/// A length in bits.
fn bits(len: usize) -> u64 {
    8 * len as u64
}
