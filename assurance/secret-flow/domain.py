"""The model of wasm.py: abstract values, the stack, and the walk over a kernel.

The rule: in a kernel, no secret decides a branch, an address, a length, a division or another
instruction whose time varies. The analysis runs each kernel on abstract values, with everything it
calls, along all paths at once. States are joined where paths meet, until nothing changes.

Sources. A kernel's arguments are public: pointers and lengths. What a pointer argument leads to is
secret. There is one exception, POINTERS: an argument that leads to a structure of pointers and
lengths, or to pointers to such structures. Static memory is public. Everything computed from a
secret is secret.

Sinks. A secret must not reach a branch, the address or mask of a memory access, the length of a
memcpy or memset, a division, or floating-point arithmetic; also not a `select`, of which an engine
may make a branch. Kernels may return a secret: whether a tag is right.
Only their callers branch on it, so a comparison that ends early is a branch like any other.

Memory. The stack is tracked word by word, and byte by byte where words are written in pieces. Other
memory is not tracked: a load through a public pointer gives a secret. Storing a pointer, a length
or a secret to static memory is an error.

Arrays on the stack. A store to a computed place changes all words around that place, up to the next
word that holds a pointer, a length, a counter or a flag. To find these words, each kernel runs
twice. A load from a computed place gives all that may be there, because a compiler may fold an
offset into the address. An array of lengths just below an array of secrets therefore counts as
secret. Kernels for batches have such a pair at `opt-level = 2`, and none in the release profile.

Calls and loops. A call is followed in the context of its callers, so a function is analysed anew
for each way to it. A function whose name says that it panics ends its path. A loop runs until its
state no longer changes. A number that differs between two rounds becomes PUBLIC, so this ends.

Errors. The analysis never guesses: an unknown instruction, an unknown function, a lost stack
pointer or an indirect call with an unknown target is an error. If a new compiler causes one, read
the instruction and add it to the tables of wasm.py. Do not exempt the function.

What is assumed of the compiler:
- Kernels are functions of their own: methods of implementations of the trait `Features`.
- The stack pointer is the global `__stack_pointer`.
- An array on the stack holds secrets, or pointers and lengths, never both. A word that holds one of
  two small numbers is a counter or a flag, not part of an array of secrets.
- The code is memory safe: a pointer that is moved stays inside what it leads to.
- Nothing reads a word of the stack that nothing wrote.

Not covered. Code outside kernels, and kernels that were inlined into it (`init` and `finalize` in
the scalar module; `run.sh wasm-all` has them); whether a comparison is of the whole tag (tests with
forgeries show that); static memory that begins as zeros; what an engine makes of WebAssembly;
speculation.

A value is one of these:

    an int      a number that the code itself contains
    CONST       some other number made from those in the program
    PUBLIC      an argument: a length, or a pointer to secrets; and what is computed from it
    LIST        a pointer to pointers and lengths
    LISTS       a pointer to pointers to pointers and lengths
    IMAGE       a pointer into static memory
    Stack       a pointer into the stack
    ANYWHERE    a pointer that may lead anywhere
    SECRET      what must not reach a sink
    Bytes       only in memory: a word that was written in pieces
"""

import collections
import heapq
import re

# A set of features and a kernel, in the two ways in which Rust demangles them; or a function.
KERNEL = re.compile(
    r"(?:(\w+) as palladion(?:\[\w+\])?::driver::features::Features"
    r"|\bdriver::features::Features for palladion::arch::[\w:]*?(\w+))>::(\w+)"
    r"|^((?:planted|sound|aegis_verify)_\w+)")
DOES_NOT_RETURN = re.compile(r"^(?:core|std|alloc)\b.*(?:panic|fail|unwrap|expect)")

CONST, PUBLIC, LIST, LISTS, IMAGE, ANYWHERE, SECRET = (
    "const", "public", "list", "lists", "image", "anywhere", "secret")
# What is loaded through a pointer to memory with public values in it.
LOADED = {LISTS: LIST, LIST: PUBLIC, IMAGE: CONST}
# Kernels with an argument that leads to pointers and lengths; which argument; and what it is.
POINTERS = ((re.compile(r"_batch$"), 0, LISTS),
            (re.compile(r"^(?:seal|open|mac)$|_open(?!_batch$)"), 0, LIST),
            (re.compile(r"^advance$"), 3, LIST))
SMALL = 1 << 16  # counters and flags are smaller
# `exact` if it leads to `at`, otherwise to the array there.
Stack = collections.namedtuple("Stack", "at exact")


class Bytes(tuple):
    """The values of the bytes of a word, None where nothing was written."""


def secret(*values):
    return SECRET in values


def is_data(value):
    """Whether this may be part of an array of secrets. None: nothing was written there."""
    return value is None or value in (CONST, SECRET) or type(value) is int


def mix(values):
    """A value that is computed from all of these in some way."""
    values = list(values)
    if SECRET in values:
        return SECRET
    if any(type(value) is Stack or value == ANYWHERE for value in values):
        return ANYWHERE
    return CONST if all(map(is_data, values)) else PUBLIC


def piece(value):
    """Some bytes of a value."""
    return value if value is None or value == 0 else mix((value,))


def part(value, at, size):
    """Some bytes of a value, from the byte `at` on."""
    if type(value) is not int:
        return piece(value)
    return ((value >> 8 * at) + (1 << 8 * size - 1) & (1 << 8 * size) - 1) - (1 << 8 * size - 1)


def parts(value):
    """What is known of a word, apart if it was written in pieces."""
    return value if type(value) is Bytes else (value,)


def whole(pieces):
    """A value of these pieces."""
    found = [one for one in pieces if one is not None]
    return SECRET if not found else found[0] if len(found) == 1 else mix(found)


def join(a, b):
    """A value that is one or the other. None is what nobody wrote."""
    if b is None or type(a) is type(b) and a == b:
        return a
    if a is None:
        return b
    if Bytes in (type(a), type(b)):
        size = len(a if type(a) is Bytes else b)
        return Bytes(map(join, *(v if type(v) is Bytes else (piece(v),) * size for v in (a, b))))
    if type(a) is type(b) is Stack:
        return Stack(min(a.at, b.at), False)
    if type(a) is type(b) is int and max(abs(a), abs(b)) < SMALL:
        return PUBLIC  # a counter or a flag
    return mix((a, b))


def add(a, b):
    if secret(a, b):
        return SECRET
    if type(a) is int and type(b) is int:
        return a + b
    if type(b) is Stack or b in LOADED:
        a, b = b, a
    if ANYWHERE in (a, b) or type(b) is Stack or b in LOADED:
        return ANYWHERE
    if type(a) is Stack:
        return a._replace(at=a.at + b) if a.exact and type(b) is int else a._replace(exact=False)
    return a if a in LOADED else mix((a, b))


def subtract(a, b):
    if type(b) is int:
        return add(a, -b)
    if secret(a, b):
        return SECRET
    if type(b) is Stack or b in LOADED or b == ANYWHERE:
        # The distance of two places. Otherwise the next addition could make a pointer from it.
        alike = type(a) is type(b) and (type(a) is Stack or a == b != ANYWHERE)
        return PUBLIC if alike else ANYWHERE
    return add(a, b if b != CONST else PUBLIC)


def on_numbers(do):
    return lambda a, b: do(a, b) if type(a) is int and type(b) is int else mix((a, b))


def masked(a, b):
    """The bits that both have. A pointer that is rounded down still leads to its array."""
    if type(a) is Stack and type(b) is int:
        return PUBLIC if b >= 0 else a._replace(at=a.at & b) if a.exact else a
    return on_numbers(lambda a, b: a & b)(a, b)


class State:
    """What is known at a place: the values of registers, and of the words of the stack."""

    def __init__(self, registers, slots):
        self.registers, self.slots = registers, slots

    def copy(self):
        return State(dict(self.registers), dict(self.slots))

    def merge(self, other):
        """Joins another state into this one and returns whether that changed anything. A register
        missing from one of them was left by a caller; a word missing was not written."""
        changed = False
        for mine, theirs, default in (
                (self.registers, other.registers, SECRET), (self.slots, other.slots, None)):
            for key in mine.keys() | theirs.keys():
                old = mine.get(key, default)
                new = join(old, theirs.get(key, default))
                if key not in mine or type(new) is not type(old) or new != old:
                    mine[key], changed = new, True
        return changed


class Flow:
    """Runs kernels. A context has one (where to return to, the stack pointer) for each call on the
    way from the kernel. A place is a context followed by (address of an instruction, 0).

    A subclass knows the size of a WORD of the stack and the instructions:
    begin(function, pointers) the state in which a kernel begins, and the place; `pointers` are
                              the arguments that are not PUBLIC, by number
    step(instruction, state)  the effect of an instruction: where it goes on, an address or a place,
                              and with what state; None if at the next instruction
    text(instruction)         what it is called
    An instruction has its address (`at`), that of the `next` one, and `meets`: whether it can be
    reached in another way than from the one before. `file.code` has all instructions by address."""

    WORD = 8

    def __init__(self, file):
        self.file, self.wrong, self.kernels, self.read = file, {}, set(), set()

    def run(self, function, module, name):
        """Follows a kernel."""
        self.kernel = "%s::%s at %x" % (module, name, function)
        self.kernels.add(self.kernel)
        self.words = set()  # of frames, with pointers or lengths in them
        for self.last_run in (False, True):
            pointers = {n: value for kernel, n, value in POINTERS if kernel.search(name)}
            state, start = self.begin(function, pointers)
            states, work = {start: state}, [start]
            while work:
                place = heapq.heappop(work)
                if work and work[0] == place:
                    continue
                for target, after in self.follow(place, states[place].copy()):
                    if target not in states:
                        states[target] = after.copy()
                    elif not states[target].merge(after):
                        continue
                    heapq.heappush(work, target)
            for place, state in states.items():
                self.context = place[:-1]
                self.words |= {(self.owner(state, at)[0], at) for at, value in state.slots.items()
                               if not all(map(is_data, parts(value)))}

    def follow(self, place, state):
        """Runs instructions up to the next places where ways meet: these, with their states."""
        self.context, i = place[:-1], self.file.code[place[-1][0]]
        while True:
            self.read.add(i.at)
            targets = self.step(i, state)
            if targets is not None:
                return [(self.context + ((target, 0),) if type(target) is int else target, after)
                        for target, after in targets]
            i = self.file.code[i.next]
            if i.meets:
                return [(self.context + ((i.at, 0),), state)]

    def report(self, i, what):
        if self.last_run:
            self.wrong[i.at, self.kernel] = "%s: %s" % (what, self.text(i))

    def sink(self, i, what, *values):
        if secret(*values):
            self.report(i, what + " depends on a secret")

    # The stack.

    def owner(self, state, at):
        """The context of the function in whose frame this is, and where that begins and ends."""
        high = 0
        for depth, (_, pointer) in enumerate(self.context):
            if pointer <= at:
                return self.context[:depth], pointer, high
            high = pointer
        return self.context, min(state.slots, default=at), high

    def array(self, state, at):
        """The words around a computed place, up to those with pointers or lengths."""
        context, low, high = self.owner(state, at)
        first = at & -self.WORD
        while (context, first) in self.words:
            first += self.WORD
        found = []
        for at, step in (first, self.WORD), (first - self.WORD, -self.WORD):
            while low <= at < high and (context, at) not in self.words:
                found.append(at)
                at += step
        return found if self.last_run else []

    def load(self, state, place, size):
        if place in LOADED:
            return LOADED[place]
        if type(place) is not Stack:
            return SECRET
        word, slots = self.WORD, state.slots
        first, end = place.at & -word, place.at + size
        if not place.exact:
            at = self.array(state, place.at)
            if (self.owner(state, first)[0], first) in self.words:
                at.append(first)
            values = [one for value in map(slots.get, at) for one in parts(value)
                      if one is not None]
            return mix(values) if values else SECRET
        values = []
        for at in range(first, end, word):
            value = slots.get(at)
            if type(value) is Bytes:
                value = whole(value[max(place.at - at, 0):end - at])
            elif at < place.at or at + word > end and type(value) is not int:
                value = piece(value)
            values.append(value)
        return whole(values)

    def store(self, i, state, place, size, value, exactly=True):
        """Writes; `exactly` unless it may write less, or nothing."""
        if place in LOADED:
            if place != IMAGE or secret(value) or not is_data(value):
                self.report(i, "a store to memory with public values in it")
            return
        word, slots = self.WORD, state.slots
        if place == ANYWHERE:
            for at in slots:
                slots[at] = join(slots[at], piece(value))
        if type(place) is not Stack:
            return
        if not place.exact or not exactly:
            for at in self.array(state, place.at):
                slots[at] = join(slots.get(at), piece(value))
            return
        for at in range(place.at & -word, place.at + size, word):
            if at >= place.at and at + word <= place.at + size:
                slots[at] = part(value, at - place.at, word) if size > word else value
            else:
                old = slots.get(at)
                old = old if type(old) is Bytes else (piece(old),) * word
                inside = range(place.at - at, place.at + size - at)
                slots[at] = Bytes(part(value, k - inside[0], 1) if k in inside else old[k]
                                  for k in range(word))

    def copy(self, i, state, to, source, length):
        """memcpy"""
        self.sink(i, "an address or a length", to, source, length)
        if type(length) is int and type(to) is Stack and to.exact and length <= 1 << 12:
            pieces = [(at, min(self.WORD, length - at)) for at in range(0, length, self.WORD)]
            values = [self.load(state, add(source, at), size) for at, size in pieces]
            for (at, size), value in zip(pieces, values):
                self.store(i, state, add(to, at), size, value)
        else:
            self.store(i, state, to, 0, self.load(state, source, 1), False)

    def fill(self, i, state, to, value, length):
        """memset"""
        self.sink(i, "an address or a length", to, length)
        known = type(length) is int and length <= 1 << 16
        self.store(i, state, to, length if known else 0, piece(value), known)

    def library(self, i, state, name, arguments):
        """A call of a function of the C library; its result."""
        to, source, length = arguments
        if name in ("memcpy", "memmove"):
            self.copy(i, state, to, source, length)
        elif name == "memset":
            self.fill(i, state, to, source, length)
        else:
            self.report(i, "a call of an unknown function")
        return to


def verdict(new_flow, names, modules):
    """Follows all kernels among functions and prints what was found. Returns the exit status: 1 if
    anything is wrong, if a module has no kernel, or if a planted defect was not found."""
    flows = {}
    for function, name in sorted(names.items()):
        kernel = KERNEL.search(name)
        if kernel:
            module = kernel[1] or kernel[2] or "functions"
            flows.setdefault(module, new_flow()).run(function, module, kernel[3] or kernel[4])
    wrong = ["no kernel in %s" % module for module in modules if module not in flows]
    kernels = read = found = 0
    for module, flow in sorted(flows.items()):
        print("%s: %d kernels" % (module, len(flow.kernels)))
        kernels, read = kernels + len(flow.kernels), read + len(flow.read)
        planted = {kernel for kernel in flow.kernels if "planted_" in kernel}
        missed = planted - {kernel for _, kernel in flow.wrong}
        wrong += ["%s: not found" % kernel for kernel in sorted(missed)]
        found += len(planted - missed)
        wrong += ["%x in %s: %s" % (where, kernel, what)
                  for (where, kernel), what in sorted(flow.wrong.items()) if kernel not in planted]
    for line in wrong[:60]:
        print(line)
    if len(wrong) > 60:
        print("and %d more" % (len(wrong) - 60))
    print("%d kernels, %d instructions: %d planted leaks found, %d other findings" % (
        kernels, read, found, len(wrong)))
    return 1 if wrong or not flows else 0
