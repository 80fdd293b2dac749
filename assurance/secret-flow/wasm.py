#!/usr/bin/env python3
"""Follows secrets through WebAssembly.

    assurance/secret-flow/wasm.py FILE [MODULE...]

FILE has function names in it. Fails unless each MODULE of the crate has a kernel in it. wasm2wat
(Debian's package wabt) turns FILE into text.

The rule: in a kernel, no secret decides a branch, an address, a length, a division or another
instruction whose time varies. The analysis runs each kernel on abstract values, with everything it
calls, along all paths at once. States are joined where paths meet, until nothing changes.

Sources. A kernel's arguments are public: pointers and lengths. What a pointer argument leads to is
secret. There is one exception, POINTERS: an argument that leads to a structure of pointers and
lengths, or to pointers to such structures. Static memory is public. Everything computed from a
secret is secret.

Sinks. A secret must not reach a branch, the address or mask of a memory access, the length of a
memcpy or memset, a division, or floating-point arithmetic; also not a `select`, of which an engine
may make a branch. Kernels may return a secret: whether a tag is right. Only their callers branch on
it, so a comparison that ends early is a branch like any other.

Memory. The stack is tracked word by word. A word that is written in part may still be what it was.
Other memory is not tracked: a load through a public pointer gives a secret. Storing a pointer, a
length or a secret to static memory is an error.

Arrays on the stack. A store to a computed place changes all words around that place, up to the next
word that holds a pointer, a length, a counter or a flag. To find these words, each kernel runs
twice. A load from a computed place gives all that may be there, because a compiler may fold an
offset into the address. An array of lengths just below an array of secrets therefore counts as
secret. Kernels for batches have such a pair at `opt-level = 2`, and none in the release profile.

Calls and loops. A call is followed in the context of its callers, so a function is analysed anew
for each way to it. A function whose name says that it panics ends its path. A loop runs until its
state no longer changes. A number that differs between two rounds becomes PUBLIC, so this ends.

Errors. The analysis never guesses: an unknown instruction, an unknown function, a lost stack
pointer or an indirect call is an error. If a new compiler causes one, read the instruction and add
it to the tables below. Do not exempt the function.

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
"""

import collections
import heapq
import operator
import re
import subprocess
import sys

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
WORD = 4  # bytes
POINTER = "stack pointer"  # its register
# `exact` if it leads to `at`, otherwise to the array there.
Stack = collections.namedtuple("Stack", "at exact")


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


def word_of(value, at):
    """The word of a longer value that begins at its byte `at`."""
    return signed(value >> 8 * at) if type(value) is int else piece(value)


def signed(number):
    """The lowest 32 bits of a number."""
    return (number + 2**31) % 2**32 - 2**31


def join(a, b):
    """A value that is one or the other. None is what nobody wrote."""
    if b is None or type(a) is type(b) and a == b:
        return a
    if a is None:
        return b
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


def masked(a, b):
    """The bits that both have. A pointer that is rounded down still leads to its array."""
    if type(a) is Stack and type(b) is int:
        return PUBLIC if b >= 0 else a._replace(at=a.at & b) if a.exact else a
    return a & b if type(a) is type(b) is int else mix((a, b))

# Instructions that compute a value, by how many operands they take.
OPERATORS = [(count, re.compile(pattern)) for count, pattern in (
    (0, r"(?:i32|i64|f32|f64|v128)\.const|memory\.size"),
    (1, r"memory\.grow|\w+\.(?:eqz|clz|ctz|popcnt|abs|neg|not|sqrt|ceil|floor|trunc|nearest|splat"
        r"|(?:any|all)_true|bitmask|extract_lane(?:_[su])?|extend\d+_s|(?:wrap|extend|convert|trunc"
        r"|relaxed_trunc|demote|promote|reinterpret|extadd_pairwise)_(?!sat_[su]$)\w+)"),
    (2, r"\w+\.(?:(?:add|sub|mul|div|rem|shr|eq|ne|lt|gt|le|ge|min|max|avgr)(?:_sat)?(?:_[su])?|and"
        r"|andnot|or|xor|shl|rotl|rotr|pmin|pmax|copysign|shuffle|replace_lane"
        r"|(?:relaxed_)?(?:swizzle|min|max|(?:narrow|extmul|dot|q15mulr)_\w+))"),
    (3, r"v128\.bitselect|\w+\.relaxed_(?:madd|nmadd|laneselect|dot_\w+_add_s)"),
)]
# Division, and all arithmetic with floating point, take longer for some numbers.
SLOW_FOR_SOME = re.compile(
    r"\w+\.(?:div|rem)_\w+|(?!.*reinterpret)(?:f\d+(?:x\d)?\.(?!const)|.*_f).*")
MEMORY = re.compile(r"([ifv]\d+)\.(load|store)(\d*)(?:x(\d))?(?:_[su]|_zero|_splat|(_lane))?")
COMPARISONS = re.compile(r"i(?:32|64)\.(?:eqz|eq|ne|(?:lt|gt|le|ge)_[su])")
ON_NUMBERS = {
    "mul": operator.mul, "or": operator.or_, "xor": operator.xor,
    "shl": lambda a, b: a << b % 32, "shr_u": lambda a, b: a % 2**32 >> b % 32}
LIBRARY = {"memory.copy": "memcpy", "memory.fill": "memset"}


class Instruction:
    """`end` is where a block, loop, `if` or `else` ends; `other` is the `else` of an `if`."""

    def __init__(self, function, at, text, blocks):
        self.function, self.at, self.next, self.blocks = function, at, at + 1, blocks
        self.op, *self.arguments = text.split()
        self.meets = self.op in ("end", "loop")
        self.end = self.other = self.height = None
        self.takes, self.gives = kinds(text, "param"), kinds(text, "result")
        self.memory = MEMORY.fullmatch(self.op)
        if self.memory:
            kind, access, size, parts, lane = self.memory.groups()
            bits = int(size or kind[1:]) * int(parts or 1)
            self.loads, self.lane, self.size = access == "load", lane, bits // 8
            self.offset = max((int(a[7:]) for a in self.arguments if a[:7] == "offset="), default=0)
        self.count = next((n for n, known in OPERATORS if known.fullmatch(self.op)), None)
        self.text = text

    def number(self):
        return int(self.arguments[-1], 0)


class Function:
    def __init__(self, name, text):
        self.name, self.start = name, None
        self.takes, self.gives, self.locals = kinds(text, "param"), kinds(text, "result"), 0


def kinds(text, group):
    return " ".join(re.findall(r"\(%s ([^)]*)\)" % group, text)).split()


class File:
    """The instructions by the number of their line, and the functions by their names."""

    def __init__(self, path):
        text = subprocess.check_output(["wasm2wat", "--enable-all", path], universal_newlines=True)
        self.code, self.functions, self.segments = {}, {}, []
        function, blocks = None, []
        for at, line in enumerate(text.splitlines()):
            data = re.match(r'  \(data \S+ \(i32\.const (-?\d+)\) "(.*)"\)', line)
            if data:
                start = int(data[1])
                length = len(re.findall(r"\\[0-9a-f]{2}|\\.|.", data[2]))
                self.segments.append(range(start, start + length))
                continue
            line = re.sub(r"\(;.*?;\)|;;.*", "", line).strip()
            head = re.match(r"\((?:import .*\()?func (\$\S+)", line)
            if head:
                function = self.functions[head[1]] = Function(head[1], line)
                continue
            if line.startswith("(local "):
                function.locals = len(kinds(line, "local"))
            if line.startswith("("):
                continue
            last = line.count(")") > line.count("(")
            i = self.code[at] = Instruction(function, at, line[:-1] if last else line, (*blocks,))
            function.start = function.start or at
            if i.op in ("block", "loop", "if"):
                blocks.append(i)
            elif i.op == "else":
                blocks[-1].other = i
            elif i.op == "end":
                block = blocks.pop()
                block.end = at
                if block.other:
                    block.other.end = at
            if last:
                i.next = -at  # lines do not have negative numbers
                self.code[-at] = Instruction(function, -at, "return", ())
        listing = subprocess.check_output(
            ["c++filt", "-s", "rust"], input="\n".join(name[1:] for name in self.functions),
            universal_newlines=True)
        for function, name in zip(self.functions.values(), listing.splitlines()):
            function.name = name
        self.names = {f.start: f.name for f in self.functions.values() if f.start}

    def image(self, number):
        """A number, or the place of constants."""
        return IMAGE if any(number in segment for segment in self.segments) else number


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


class Machine:
    """Runs kernels. A context has one (where to return to, the stack pointer) for each call on the
    way from the kernel. A place is a context followed by (number of an instruction, 0).

    Locals and operands are registers (depth of calls, number); locals have negative numbers."""

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
                self.words |= {(self.owner(state, at)[0], at)
                               for at, value in state.slots.items() if not is_data(value)}

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
            self.wrong[i.at, self.kernel] = "%s: %s" % (what, i.text)

    def sink(self, i, what, *values):
        if secret(*values):
            self.report(i, what + " depends on a secret")

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
        first = at & -WORD
        while (context, first) in self.words:
            first += WORD
        found = []
        for at, step in (first, WORD), (first - WORD, -WORD):
            while low <= at < high and (context, at) not in self.words:
                found.append(at)
                at += step
        return found if self.last_run else []

    def load(self, state, place, size):
        if place in LOADED:
            return LOADED[place]
        if type(place) is not Stack:
            return SECRET
        first, end = place.at & -WORD, place.at + size
        if not place.exact:
            at = self.array(state, place.at)
            if (self.owner(state, first)[0], first) in self.words:
                at.append(first)
            found = [state.slots[at] for at in at if at in state.slots]
            return mix(found) if found else SECRET
        found = []
        for at in range(first, end, WORD):
            value = state.slots.get(at)
            if value is not None:
                whole = at >= place.at and at + WORD <= end
                found.append(value if whole or type(value) is int else piece(value))
        return SECRET if not found else found[0] if len(found) == 1 else mix(found)

    def store(self, i, state, place, size, value, exactly=True):
        """Writes; `exactly` unless it may write less, or nothing."""
        if place in LOADED:
            if place != IMAGE or secret(value) or not is_data(value):
                self.report(i, "a store to memory with public values in it")
            return
        slots = state.slots
        if place == ANYWHERE:
            for at in slots:
                slots[at] = join(slots[at], piece(value))
        if type(place) is not Stack:
            return
        if not place.exact or not exactly:
            for at in self.array(state, place.at):
                slots[at] = join(slots.get(at), piece(value))
            return
        for at in range(place.at & -WORD, place.at + size, WORD):
            if at >= place.at and at + WORD <= place.at + size:
                slots[at] = word_of(value, at - place.at) if size > WORD else value
            else:
                slots[at] = join(slots.get(at), piece(value))

    def copy(self, i, state, to, source, length):
        """memcpy"""
        if type(length) is int and type(to) is Stack and to.exact and length <= 1 << 12:
            pieces = [(at, min(WORD, length - at)) for at in range(0, length, WORD)]
            values = [self.load(state, add(source, at), size) for at, size in pieces]
            for (at, size), value in zip(pieces, values):
                self.store(i, state, add(to, at), size, value)
        else:
            self.store(i, state, to, 0, self.load(state, source, 1), False)

    def move(self, i, state, name, arguments):
        """memcpy and the like, which are functions or instructions; their result."""
        to, source, length = arguments
        self.sink(i, "a length", length)
        to = self.place(i, to)
        if name in ("memcpy", "memmove"):
            self.copy(i, state, to, self.place(i, source), length)
        elif name == "memset":
            known = type(length) is int and length <= 1 << 16
            self.store(i, state, to, length if known else 0, piece(source), known)
        else:
            self.report(i, "a call of an unknown function")
        return to

    @property
    def depth(self):
        return len(self.context)

    def begin(self, start, pointers):
        function = self.file.code[start].function
        arguments = [pointers[n] if n in pointers else PUBLIC if kind in ("i32", "i64") else SECRET
                     for n, kind in enumerate(function.takes)]
        state = State({POINTER: Stack(0, True)}, {})
        return state, self.enter((), state, function, arguments)

    @staticmethod
    def enter(context, state, function, arguments):
        """Begins a function; where."""
        values = arguments + [0] * function.locals
        state.registers.update({(len(context), -1 - n): value for n, value in enumerate(values)})
        state.registers[len(context), "height"] = 0
        return context + ((function.start, 0),)

    def push(self, state, value, depth=None):
        depth = self.depth if depth is None else depth
        height = state.registers[depth, "height"]
        state.registers[depth, height] = value
        state.registers[depth, "height"] = height + 1

    def pop(self, state):
        state.registers[self.depth, "height"] -= 1
        return state.registers.pop((self.depth, state.registers[self.depth, "height"]))

    def pops(self, state, count):
        return [self.pop(state) for _ in range(count)][::-1]

    def branch(self, i, depth, state):
        """Leaves as many blocks, or begins a loop again."""
        state = state.copy()
        if depth == len(i.blocks):
            return self.leave(i, state)
        block = i.blocks[-1 - depth]
        again = block.op == "loop"
        values = self.pops(state, len(block.takes if again else block.gives))
        while state.registers[self.depth, "height"] > block.height:
            self.pop(state)
        for value in values:
            self.push(state, value)
        return [(block.next if again else block.end, state)]

    def leave(self, i, state):
        """The end of a function."""
        results = self.pops(state, len(i.function.gives))
        if not self.context:
            return []
        back, pointer = self.context[-1]
        if state.registers[POINTER] != Stack(pointer, True):
            self.report(i, "the stack pointer is not what it was")
        for key in [key for key in state.registers if key[0] == self.depth]:
            del state.registers[key]
        state.slots = {at: value for at, value in state.slots.items() if at >= pointer}
        for value in results:
            self.push(state, value, self.depth - 1)
        return [(self.context[:-1] + ((back, 0),), state)]

    def place(self, i, address, offset=0):
        self.sink(i, "the address", address)
        place = add(address, self.file.image(offset)) if offset else address
        return IMAGE if type(place) is int else PUBLIC if secret(place) else place

    def memory(self, i, state):
        """A load or a store; of one lane of a vector, perhaps."""
        if i.loads and not i.lane:
            place = self.place(i, self.pop(state), i.offset)
            return self.push(state, self.load(state, place, i.size))
        address, value = self.pops(state, 2)
        place = self.place(i, address, i.offset)
        if i.loads:
            return self.push(state, mix((value, self.load(state, place, i.size))))
        return self.store(i, state, place, i.size, value)

    def step(self, i, state):
        op, registers = i.op, state.registers
        if op in ("block", "loop", "if"):
            condition = self.pop(state) if op == "if" else None
            i.height = registers[self.depth, "height"] - len(i.takes)
            if op == "if":
                self.sink(i, "the branch", condition)
                return [(i.next, state), (i.other.next if i.other else i.end, state)]
        elif op == "else":
            return [(i.end, state)]
        elif op == "return":
            return self.leave(i, state)
        elif op == "unreachable":
            return []
        elif op in ("br", "br_if", "br_table"):
            if op != "br":
                self.sink(i, "where it goes", self.pop(state))
            targets = [way for depth in sorted(set(i.arguments))
                       for way in self.branch(i, int(depth), state)]
            return targets + [(i.next, state)] if op == "br_if" else targets
        elif op in ("call", "call_indirect"):
            return self.call(i, state)
        elif op == "local.get":
            self.push(state, registers[self.depth, -1 - i.number()])
        elif op in ("local.set", "local.tee"):
            value = registers[self.depth, -1 - i.number()] = self.pop(state)
            if op == "local.tee":
                self.push(state, value)
        elif op in ("global.get", "global.set"):
            if i.arguments != ["$__stack_pointer"]:
                self.report(i, "a global that is not the stack pointer")
            if op == "global.get":
                self.push(state, registers[POINTER])
            else:
                pointer = registers[POINTER] = self.pop(state)
                if type(pointer) is not Stack or not pointer.exact:
                    self.report(i, "the stack pointer is no longer known")
                    return []
        elif op in ("i32.const", "i64.const"):
            number = i.number()
            self.push(state, self.file.image(number) if op == "i32.const" else number)
        elif op == "v128.const":
            self.push(state, CONST if set(i.arguments[1:]) - {"0x00000000"} else 0)
        elif op == "drop":
            self.pop(state)
        elif op == "select":
            a, b, condition = self.pops(state, 3)
            self.sink(i, "a choice, of which an engine may make a branch,", condition)
            self.push(state, join(a, b))
        elif i.memory:
            self.memory(i, state)
        elif op in LIBRARY:
            self.move(i, state, LIBRARY[op], self.pops(state, 3))
        elif i.count is not None:
            values = self.pops(state, i.count)
            if SLOW_FOR_SOME.fullmatch(op):
                self.sink(i, "the time of a division, or of floating-point arithmetic,", *values)
            self.push(state, SECRET if secret(*values) else self.compute(op, values))
        elif op not in ("nop", "end"):
            self.report(i, "an instruction that this analysis does not know")
            return []
        return None

    @staticmethod
    def compute(op, values):
        kind, do = op.split(".")
        if op in ("i32.add", "i32.sub"):
            value = (add if do == "add" else subtract)(*values)
            return signed(value) if type(value) is int else value
        if kind == "i32" and do in ON_NUMBERS and all(type(value) is int for value in values):
            return signed(ON_NUMBERS[do](*values))
        if op == "i32.or" and type(values[0]) is Stack:
            return add(*values)  # the place is a multiple of more
        if op == "i32.and":
            return masked(*values)
        return PUBLIC if COMPARISONS.fullmatch(op) else mix(values)

    def call(self, i, state):
        function = self.file.functions.get(i.arguments[0])
        if i.op == "call_indirect" or function is None:
            self.report(i, "a call through a table, or of an unknown function")
            return []
        if DOES_NOT_RETURN.search(function.name) and self.file.code[i.next].op == "unreachable":
            return []
        arguments = self.pops(state, len(function.takes))
        if function.name in ("memcpy", "memmove", "memset", "memcmp", "bcmp"):
            self.push(state, self.move(i, state, function.name, arguments))
            return None
        if function.start is None or len(self.context) > 50:
            self.report(i, "a call of an unknown function, or of itself")
            return []
        context = self.context + ((i.next, state.registers[POINTER].at),)
        return [(self.enter(context, state, function, arguments), state)]


def verdict(file, modules):
    """Follows all kernels among functions and prints what was found. Returns the exit status: 1 if
    anything is wrong, if a module has no kernel, or if a planted defect was not found."""
    machines = {}
    for function, name in sorted(file.names.items()):
        kernel = KERNEL.search(name)
        if kernel:
            module = kernel[1] or kernel[2] or "functions"
            machines.setdefault(module, Machine(file)).run(function, module, kernel[3] or kernel[4])
    wrong = ["no kernel in %s" % module for module in modules if module not in machines]
    kernels = read = found = 0
    for module, machine in sorted(machines.items()):
        print("%s: %d kernels" % (module, len(machine.kernels)))
        kernels, read = kernels + len(machine.kernels), read + len(machine.read)
        planted = {kernel for kernel in machine.kernels if "planted_" in kernel}
        missed = planted - {kernel for _, kernel in machine.wrong}
        wrong += ["%s: not found" % kernel for kernel in sorted(missed)]
        found += len(planted - missed)
        wrong += ["%x in %s: %s" % (*where, what) for where, what in sorted(machine.wrong.items())
                  if where[1] not in planted]
    for line in wrong[:60]:
        print(line)
    if len(wrong) > 60:
        print("and %d more" % (len(wrong) - 60))
    print("%d kernels, %d instructions: %d planted leaks found, %d other findings" % (
        kernels, read, found, len(wrong)))
    return 1 if wrong or not machines else 0


if __name__ == "__main__":
    sys.exit(verdict(File(sys.argv[1]), sys.argv[2:]))
