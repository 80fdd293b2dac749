//! Runs kernels on symbols, and compares what they did with the standard and with what they may do.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use palladion_reference::{Aegis, Family, State, blocks};

use crate::kernel::{Kernel, Set};
use crate::machine::Machine;
use crate::memory::{Memory, Region};
use crate::term::{Block, Term};
use crate::value::{CASES, Value};
use crate::{arm, x86};

/// Where the stack of a kernel ends, and where it returns to.
const STACK: u64 = 0x7000_0000;
const STACK_LEN: usize = 6 << 10;
const RETURN: u64 = 0x6000_0000;
/// Where Go says that the stack ends, and how far from its end functions have to ask for more.
const GOROUTINE: u64 = 0x5100_0000;
const STACK_GUARD: u64 = 928;

/// A call of kernels with public lengths.
#[derive(Clone, Copy, Debug, Default)]
pub struct Call {
    pub degree: usize,
    pub ad_len: usize,
    pub len: usize,
    pub tag_len: usize,
    pub in_place: bool,
}

fn symbols(name: u8, len: usize) -> Vec<Term> {
    (0..len).map(|at| Term::symbol(name, at)).collect()
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

pub struct Run<'a> {
    set: &'a Set,
    /// A kernel in place of another.
    planted: Option<(usize, &'a Kernel)>,
    machine: Machine<'a>,
    /// What the caller had in registers.
    callers: HashSet<Term>,
}

impl<'a> Run<'a> {
    pub fn new(set: &'a Set, call: &Call, planted: Option<(usize, &'a Kernel)>) -> Self {
        let cpu = set.image.cpu;
        let alignment = if cpu.go && cpu.link.is_none() { 8 } else { 16 };
        let stack = Region {
            name: "the stack",
            // Some place between two lines of the cache, as the ABI allows.
            start: STACK - STACK_LEN as u64 - alignment * (call.len as u64 % 4),
            bytes: symbols(b's', STACK_LEN),
            writable: true,
        };
        let guard = [0, 0, stack.start + STACK_GUARD];
        let vector = |n| std::array::from_fn(|at| Term::symbol(b'v', 64 * n + at));
        let general = |n| std::array::from_fn(|at| Term::symbol(b'g', 8 * n + at));
        let mut general: [[Term; 8]; 40] = std::array::from_fn(general);
        if cpu.go && cpu.link.is_some() {
            general[arm::GOROUTINE] = GOROUTINE.to_le_bytes().map(Term::number);
        }
        let vectors: [[Term; 64]; 32] = std::array::from_fn(vector);
        let callers = [general.as_flattened(), vectors[8..16].as_flattened()].concat();
        let memory = Memory { image: Some(&set.image), regions: vec![stack] };
        let general = general.map(|bytes| Value::from_bytes(&bytes));
        let mut run = Self {
            set,
            planted,
            machine: Machine::new(general, vectors, memory),
            callers: callers.into_iter().collect(),
        };
        if cpu.go {
            let regions = [
                ("the argument", 0, Vec::new()),
                ("the thread", x86::THREAD - 8, numbers(&[GOROUTINE])),
                ("the goroutine", GOROUTINE, numbers(&guard)),
            ];
            for (name, start, bytes) in regions {
                run.machine.memory.regions.push(Region { name, start, bytes, writable: false });
            }
        }
        run
    }

    /// Adds memory that a kernel may use, and returns its address.
    fn memory(&mut self, name: &'static str, bytes: Vec<Term>, writable: bool) -> u64 {
        let number = self.machine.memory.regions.len() as u64;
        // Data can be anywhere; each region has another place in a line of the cache.
        let start = 0x1000_0000 + (number << 20) + (bytes.len() as u64 + 7 * number) % 64;
        self.machine.memory.regions.push(Region { name, start, bytes, writable });
        start
    }

    /// The same, aligned.
    fn aligned(&mut self, name: &'static str, bytes: Vec<Term>, writable: bool) -> u64 {
        let start = self.memory(name, bytes, writable) & !63;
        self.machine.memory.regions.last_mut().expect("just added").start = start;
        start
    }

    /// Adds a struct of words that a kernel reads.
    fn fields(&mut self, name: &'static str, fields: &[u64]) -> u64 {
        self.aligned(name, numbers(fields), false)
    }

    /// Calls a function.
    fn call(&mut self, function: usize, arguments: &[u64]) -> Result<(), String> {
        let cpu = self.set.image.cpu;
        let end = self.machine.memory.regions[0].start + STACK_LEN as u64;
        self.machine.general[cpu.stack_pointer] = Value::Number(end);
        if cpu.go {
            // Behind the address to return to, or the place for that of the caller. The result
            // follows.
            let result = usize::from(self.set.functions[function].operation == "open");
            self.machine.memory.regions[1] = Region {
                name: "the argument",
                start: if cpu.link.is_some() { end + 8 } else { end },
                bytes: [numbers(arguments), symbols(b'r', result)].concat(),
                writable: true,
            };
            if cpu.link.is_some() {
                self.machine.general[arm::FRAME] = Value::Number(end - 8);
            }
        } else {
            for (&register, &argument) in cpu.arguments.iter().zip(arguments) {
                self.machine.general[register] = Value::Number(argument);
            }
        }
        let (before, vectors) = (self.machine.general, self.machine.vectors.clone());
        match cpu.link {
            Some(link) => self.machine.general[link] = Value::Number(RETURN),
            None => self.machine.push(Value::Number(RETURN))?,
        }
        self.run(function)?;
        for &register in cpu.saved.iter().chain([&cpu.stack_pointer]) {
            if self.machine.general[register] != before[register] {
                return Err(format!("does not restore register {register}"));
            }
        }
        for register in cpu.saved_vectors.clone() {
            if self.machine.vectors[register][..8] != vectors[register][..8] {
                return Err(format!("does not restore vector {register}"));
            }
        }
        Ok(())
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
        if self.set.image.cpu.go {
            let bits = [8 * ad_len, 8 * len];
            let (data, tag) = ([src, dst, len], [tag, tag_len]);
            let all = [&[memory, degree, key, nonce][..], &data, &bits, &tag, &[work]].concat();
            let fields = self.fields("the arguments", &all);
            return self.call(number, &[fields]);
        }
        match &*self.set.functions[number].operation {
            "init" => self.call(number, &[memory, degree, key, nonce, context]),
            "advance" => {
                let data = self.fields("the arguments", &[src, dst, len]);
                self.call(number, &[memory, degree, work, data])
            }
            _ => self.call(number, &[memory, degree, ad_len, len, tag, tag_len]),
        }
    }

    /// Runs instructions until the function returns.
    fn run(&mut self, function: usize) -> Result<(), String> {
        let planted = self.planted.filter(|(number, _)| *number == function);
        let kernel = planted.map_or(&self.set.functions[function], |(_, kernel)| kernel);
        self.machine.ip = kernel.start;
        for _ in 0..1 << 22 {
            if self.machine.ip == RETURN {
                return Ok(());
            }
            let Ok(at) = kernel.code.binary_search_by_key(&self.machine.ip, |i| i.ip) else {
                self.outside()?;
                continue;
            };
            if planted.is_none() {
                self.set.ran[function][at].store(true, Ordering::Relaxed);
            }
            let i = &kernel.code[at];
            let place = |error| format!("{:#x} {}: {error}", i.ip, i.text());
            i.run(&mut self.machine).map_err(place)?;
        }
        Err("does not end".into())
    }

    /// Code outside of kernels: a function of the C library, or a step on the way to it.
    fn outside(&mut self) -> Result<(), String> {
        let (image, machine) = (&self.set.image, &mut self.machine);
        let Some(name) = image.outside(machine.ip) else {
            let i = image.instruction(machine.ip).ok_or(format!("runs {:#x}", machine.ip))?;
            return i.run(machine).map_err(|error| format!("{}: {error}", i.text()));
        };
        let argument = |n: usize| machine.general[image.cpu.arguments[n]].number("an argument");
        let (to, from, len) = (argument(0)?, argument(1)?, argument(2)?);
        let mut bytes = vec![Term::number(from as u8); len as usize];
        match name {
            "memset" => {}
            _ if len == 0 => {}
            "memcpy" | "memmove" => machine.memory.load(from, &mut bytes)?,
            name => return Err(format!("calls {name}")),
        }
        if len > 0 {
            machine.memory.store(to, &bytes)?;
        }
        // It returns, and leaves something in all registers that it may change.
        let back = match image.cpu.link {
            Some(link) => machine.general[link],
            None => machine.pop()?,
        };
        for n in (0..40).filter(|n| !image.cpu.saved.contains(n)) {
            if n != image.cpu.stack_pointer {
                let unknown = |at| Term::symbol(b'u', 8 * n + at);
                machine.general[n] = Value::Bytes(std::array::from_fn(unknown));
            }
        }
        for n in 0..32 {
            let kept = if image.cpu.saved_vectors.contains(&n) { 8 } else { 0 };
            for at in kept..64 {
                machine.vectors[n][at] = Term::symbol(b'U', 64 * n + at);
            }
        }
        machine.flags = [None; 4];
        machine.ip = back.number("a return address")?;
        Ok(())
    }

    /// Checks that nothing secret is left on the stack, after wiping it as the driver does.
    fn check_stack(&mut self, kernel: &Kernel) -> Result<(), String> {
        if let Some(scrub) = kernel.scrub() {
            // The driver calls it from the same frame.
            self.call(self.set.scrub(scrub).ok_or(format!("no {scrub}"))?, &[])?;
        }
        let stack = &self.machine.memory.regions[0].bytes;
        for (at, byte) in stack.iter().enumerate() {
            let untouched = *byte == Term::symbol(b's', at);
            // What a caller had in registers, verdicts, and the context words of `init`.
            let public = || {
                self.callers.contains(byte)
                    || self.machine.stored.iter().any(|(verdict, _)| verdict == byte)
                    || (0..16).any(|n| *byte == Term::symbol(b'c', n))
            };
            if byte.known().is_none() && !untouched && !public() {
                return Err(format!("leaves a secret {} bytes below", stack.len() - at));
            }
        }
        Ok(())
    }

    fn bytes(&self, at: u64, len: usize) -> Vec<Term> {
        let mut bytes = vec![Term::ZERO; len];
        self.machine.memory.load(at, &mut bytes).expect("the caller's memory");
        bytes
    }

    fn expect(&self, at: u64, what: &str, expected: &[Term]) -> Result<(), String> {
        if expected.is_empty() {
            return Ok(());
        }
        let found = self.bytes(at, expected.len());
        match (0..expected.len()).find(|&n| found[n] != expected[n]) {
            Some(n) => Err(format!("byte {n} of {what} is not what the standard says")),
            None => Ok(()),
        }
    }

    /// Which of the conditions says that a tag is right: that something is zero, in one of the
    /// ways in which kernels compute it.
    fn condition(&self, tag: &[Term], expected: &[Term]) -> Result<u16, String> {
        let differences: Vec<Term> = tag.iter().zip(expected).map(|(a, b)| a.xor(*b)).collect();
        let mut plain = differences[..16].to_vec();
        for (byte, other) in plain.iter_mut().zip(&differences[16..]) {
            *byte = byte.or(*other);
        }
        let equal: Vec<Term> = plain.iter().map(|byte| byte.is_zero()).collect();
        let signs = Term::signs(equal.try_into().expect("16 bytes"));
        let halves = (0..8).map(|at| plain[at].or(plain[at + 8])).collect();
        let ways: [Vec<Term>; 3] = [plain, signs.map(Term::not).to_vec(), halves];
        let found = self.machine.zeros.iter().position(|zeros| ways.contains(zeros));
        found.map(|at| CASES[at]).ok_or("does not compare the tag".into())
    }

    /// The argument of a kernel for a message, whose parts are symbols, and what it has to compute.
    fn message(&mut self, kernel: &Kernel, call: &Call, number: u8) -> (u64, Expected) {
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
        let kernel = &self.set.functions[number];
        let batch = kernel.operation.ends_with("batch");
        let messages: Vec<_> =
            (0..).zip(calls).map(|(i, call)| self.message(kernel, call, i)).collect();
        let pointers: Vec<u64> = messages.iter().map(|(pointer, _)| *pointer).collect();
        let argument = if batch { self.fields("the pointers", &pointers) } else { pointers[0] };
        self.call(number, &[argument])?;
        // The messages whose tags are wrong, by cases.
        let mut wrong = [0; 16];
        for (i, (_, expected)) in messages.iter().enumerate() {
            self.expect(expected.output_at, "the output", &expected.output)?;
            if kernel.operation.starts_with("open") {
                let right = self.condition(&expected.given, &expected.tag)?;
                for (n, wrong) in wrong.iter_mut().enumerate() {
                    *wrong |= u64::from(!right >> n & 1) << i;
                }
            } else {
                self.expect(expected.tag_at, "the tag", &expected.tag)?;
            }
        }
        let (size, verdict) = if batch { (4, wrong) } else { (1, wrong.map(|wrong| 1 - wrong)) };
        let result = match (self.set.image.cpu.go, &*kernel.operation) {
            (true, "open") => self.machine.load(self.machine.memory.regions[1].start + 8, size)?,
            (true, _) => Value::from_cases(verdict), // there is none
            (false, _) => self.machine.low(0, size),
        };
        if result != Value::from_cases(verdict) {
            return Err("returns something else than which tags are right".into());
        }
        self.check_stack(kernel)
    }

    /// Returns where Go's kernels for states keep each byte of the words: where `init` writes them.
    fn places(&self, kernel: &Kernel, degree: usize) -> Result<Vec<usize>, String> {
        let aegis = kernel.aegis(degree);
        let Some(start) = kernel.init else {
            return Ok((0..16 * word_count(aegis) * degree).collect());
        };
        let mut run = Self::new(self.set, &Call::default(), None);
        let is_init = |other: &Kernel| other.operation == "init" && other.start == start;
        let init = self.set.functions.iter().position(is_init).ok_or("no init")?;
        let (key, nonce) = (symbols(b'k', aegis.key_len()), symbols(b'n', aegis.key_len()));
        let words = to_words(&State::init(aegis, &blocks(&key), &blocks(&nonce)));
        let (key, nonce) =
            (run.memory("the key", key, false), run.memory("the nonce", nonce, false));
        let memory = run.aligned("the state", symbols(b'x', 128 * degree), true);
        let arguments = Arguments { key, nonce, ..Arguments::default() };
        run.call_kernel(init, [memory, degree as u64], &arguments)?;
        let state = run.bytes(memory, 128 * degree);
        let place = |word| state.iter().position(|byte| byte == word);
        let places = words.iter().map(place).collect::<Option<_>>();
        places.ok_or("init makes another state than the standard's".into())
    }

    /// Proves a kernel for a state in memory. A state is what `resume` makes of its words, in Go
    /// the words where `init` writes them.
    pub fn state_kernel(&mut self, number: usize, call: &Call) -> Result<(), String> {
        let kernel = &self.set.functions[number];
        let go = self.set.image.cpu.go;
        let related = |operation: &str| match kernel.operation == operation {
            _ if go => Ok(number), // there are none
            true => Ok(number),
            false => self.set.related(kernel, operation).ok_or(format!("no {operation}")),
        };
        let (resume, words) = (related("resume")?, related("words")?);
        let places = if go { self.places(kernel, call.degree)? } else { Vec::new() };
        let (aegis, degree) = (kernel.aegis(call.degree), call.degree);
        let len = 16 * word_count(aegis) * degree;
        let words_given = blocks(&symbols(b'w', len));
        let v = words_given.chunks(degree).map(<[Block]>::to_vec).collect();
        let mut state = State { aegis, v };
        let size = 128 * degree;
        let (d, given, tag_len) = (degree as u64, call.len as u64, call.tag_len as u64);
        let mut bytes = symbols(b'x', size);
        for (&place, word) in places.iter().zip(to_words(&state)) {
            bytes[place] = word;
        }
        let memory = self.aligned("the state", bytes, true);
        if kernel.operation != "init" && !go {
            let from = self.memory("the words", to_words(&state), false);
            self.call(resume, &[memory, d, from])?;
        }
        match &*kernel.operation {
            "init" => {
                let key = symbols(b'k', aegis.key_len());
                let nonce = symbols(b'n', aegis.key_len());
                let context: Block = std::array::from_fn(|at| Term::symbol(b'c', at));
                let own = call.len % 2 == 1 && !go;
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
                    let ends = Arguments { src, dst, len: given, ..Arguments::default() };
                    let arguments = Arguments { work: work.into(), ..ends };
                    self.call_kernel(number, [memory, d], &arguments)?;
                    let output = match work {
                        0 => state.encrypt(&input),
                        1 => state.decrypt(&input),
                        _ => {
                            state.absorb(&blocks(&input));
                            continue;
                        }
                    };
                    self.expect(dst, "the output", &output)?;
                }
            }
            "keystream" => {
                let step = self.memory("the key stream", symbols(b'o', aegis.rate()), true);
                self.call(number, &[memory, d, step])?;
                self.expect(step, "the key stream", &state.z().concat())?;
            }
            "finalize" => {
                let tag = self.memory("the tag", symbols(b't', call.tag_len), true);
                let lens =
                    Arguments { ad_len: call.ad_len as u64, len: given, ..Arguments::default() };
                self.call_kernel(number, [memory, d], &Arguments { tag, tag_len, ..lens })?;
                let expected =
                    state.finalize(bits(call.ad_len), bits(call.len), call.tag_len).concat();
                self.expect(tag, "the tag", &expected)?;
            }
            "finalize_mac" => {
                let tag = self.memory("the tag", symbols(b't', call.tag_len), true);
                self.call(number, &[memory, d, given, tag, tag_len])?;
                let expected = state.finalize_mac(bits(call.len), call.tag_len).concat();
                self.expect(tag, "the tag", &expected)?;
                for (at, byte) in self.bytes(memory, size).into_iter().enumerate() {
                    if byte != Term::ZERO && byte != Term::symbol(b'x', at) {
                        return Err("does not wipe the state".into());
                    }
                }
                return self.check_stack(kernel);
            }
            "words" | "resume" => {
                let to = self.memory("the output", symbols(b'o', len), true);
                self.call(words, &[memory, d, to])?;
                self.expect(to, "the output", &to_words(&state))?;
                return self.check_stack(kernel);
            }
            other => return Err(format!("unknown: a kernel `{other}`")),
        }
        self.check_stack(kernel)?;
        let found = self.bytes(memory, size);
        if go {
            let same = |(&place, word)| found[place] == word;
            let right = places.iter().zip(to_words(&state)).all(same);
            return if right { Ok(()) } else { Err("the state is another".into()) };
        }
        // The state is the one that `resume` makes.
        let from = self.memory("the new words", to_words(&state), false);
        let other = self.aligned("another state", symbols(b'x', size), true);
        self.call(resume, &[other, d, from])?;
        self.expect(other, "the state", &found)
    }
}

/// What a kernel for a message has to compute, and where.
struct Expected {
    output_at: u64,
    output: Vec<Term>,
    tag_at: u64,
    tag: Vec<Term>,
    /// The tag that the caller gives.
    given: Vec<Term>,
}

/// The bytes of numbers.
fn numbers(numbers: &[u64]) -> Vec<Term> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).map(Term::number).collect()
}

/// The number of words of a lane.
fn word_count(aegis: Aegis) -> usize {
    if aegis.family == Family::Aegis128 { 8 } else { 6 }
}

/// The words of a state as the kernel `words` writes them.
fn to_words(state: &State<Block>) -> Vec<Term> {
    state.v.concat().concat()
}

/// A length in bits.
fn bits(len: usize) -> u64 {
    8 * len as u64
}
