#!/usr/bin/env python3
"""Proves of the kernels as WebAssembly that no branch and no address in them depends on a secret.

    scripts/check-wasm-code.py [--only REGEX] [--expect TABLE] MODULE...

The modules have names (a name section); scripts/check-wasm-code.sh makes them. TABLE says of each module which backends it has, of each
how many kernels at the least, and exactly how many decisions about tags: "scalar.wasm:portable:18:3". Needs binutils' c++filt, which
reads Rust's names.
Prints how much was read; the exit status is 1 if anything is wrong.

Like scripts/check-machine-code.py: every kernel is run on abstract values, along all its paths at once (dataflow analysis to a fixed
point), and so is what it calls, in each place with what is known there. Of a local, of a value on the operand stack, and of a word of
the stack in memory, it is known only whether it is

    a number the compiler wrote there, which may be the address of something
    public   a length, or a pointer whose target is secret: what a kernel gets as arguments
    pointer  the same, where it is known what the secret is
    list     a pointer to public values: a struct of pointers and lengths
    image    a pointer into the module's constants, which are public
    stack    a pointer into the stack in memory, and where to, or no more than that it goes there
    anywhere a pointer that may go into that stack or elsewhere
    secret   whatever was loaded through a public pointer (keys, nonces, messages, states, tags), and all that is made of it

A loop that goes round a fixed number of times, 16 at most, is run so many times, each time on what is known then.

A computed address in a frame may be that of any word there; a kernel that is called through a table may write to all of the stack. What was
written at no known place, but may have been at an unknown one, has a word of its own in each frame.

What must hold of each instruction: no address is secret, nor the condition of a branch, the index of a table of branches or functions,
or the length of a fill or copy; nothing secret is divided, or computed with floating point, or stored where constants or lists are. Nor may
a `select` choose by a secret, which an engine is free to make a branch of.

One thing is made public: whether a tag was right. A secret carries along what it is made of on every path: the expected tag, key and
nonce. A branch is accepted, and counted, where the condition says of a value whether it is zero, or of two whether they are equal, if
that is made of all three, of the tag by nothing but XOR with what is not made of it, and OR of two such; of bytes that were compared one
by one, that all are equal, or that one is not; of two decisions, that both say that all is right, or that one says that something is wrong.
And on no path may there be two, in a function or what it calls: a comparison that ends early has more.

Not seen: whether a decision is about all bytes of a tag (tests with forgeries show that), and what an engine makes of the module.

Assumed: that a kernel's pointers go to memory of their own, and those into a frame stay in it (memory safety); that what it calls through
a table is a kernel; of memcpy, memmove and memset that they do what their names say; that what panics does not return, where that is
followed by `unreachable`.
"""

import bisect
import collections
import operator
import re
import subprocess
import sys

PUBLIC, IMAGE, ANYWHERE = "public", "image", "anywhere"
Secret = collections.namedtuple("Secret", "labels")  # what it is made of on all paths
# What the secrets behind it are made of. (Named tuples are compared as tuples: the second field keeps it from being equal to a Secret.)
Pointer = collections.namedtuple("Pointer", "labels kind", defaults=("pointer",))
List = collections.namedtuple("List", "kind offset")
Number = collections.namedtuple("Number", "value")
# Where in the frame of which function, the base; not exact: from the offset on, or anywhere if that is None.
Stack = collections.namedtuple("Stack", "base offset exact")
# What a decision about a tag is made of. `unwritten` is for what nobody has written: it must not be read, so it takes on what it is joined
# with.
NEEDED = frozenset(("tag", "key", "nonce"))
# What tells of a tag: the decision, one where all is as it should be, or where it is not; before that, which bytes of a register are as
# they should be or are not, a bit for each of these, and `x | -x`, which is negative where `x` is not zero.
RIGHT, WRONG = "right", "wrong"
DECISIONS = frozenset((RIGHT, WRONG))
BYTES, BITS = {RIGHT: "bytes right", WRONG: "bytes wrong"}, {RIGHT: "bits right", WRONG: "bits wrong"}
TELLS = DECISIONS | {*BYTES.values(), *BITS.values(), "sign"}
SPECIAL = TELLS | {"tag"}
SECRET, UNWRITTEN = Secret(frozenset()), Secret(NEEDED | TELLS | {"ad", "message", "unwritten"})
AD, MESSAGE, TAG, KEY, NONCE = (Pointer(frozenset((label,))) for label in ("ad", "message", "tag", "key", "nonce"))
OPEN = [MESSAGE, MESSAGE, PUBLIC, TAG, PUBLIC, AD, PUBLIC, NONCE, KEY]
# `Message` in low/kernels.rs, as the compiler lays it out.
FIELDS = {"message": (KEY, NONCE, AD, PUBLIC, MESSAGE, MESSAGE, PUBLIC, TAG, PUBLIC)}
REST = float("inf")  # in place of an offset: all words that were written at no known place, but may have been at an unknown one

# Operators, by how many values they take; each gives one. (Those of 0xfc have 0xfc00 added, those of 0xfd 0xfd000.)
SIMD, MORE = 0xfd000, 0xfc00
UNARY = {0x45, 0x50, 0x67, 0x68, 0x69, 0x79, 0x7a, 0x7b, *range(0x8b, 0x92), *range(0x99, 0xa0), *range(0xa7, 0xc5)}
TRIPS = 16  # of a loop, that are looked at one by one
BINARY = {*range(0x46, 0x50), *range(0x51, 0x67), *range(0x6a, 0x79), *range(0x7c, 0x8b), *range(0x92, 0x99), *range(0xa0, 0xa7)}
UNARY |= {MORE + n for n in range(8)}
SIMD_UNARY = {
    *range(15, 21), 77, 83, *range(94, 101), 103, 104, 105, 106, 116, 117, 122, *range(124, 130), 131, 132, *range(135, 139), 148, 160,
    161, 163, 164, *range(167, 171), 192, 193, 195, 196, *range(199, 203), 224, 225, 227, 236, 237, 239, *range(248, 256),
    *range(0x101, 0x105),
}
SIMD_TERNARY = {82, *range(0x105, 0x10d), 0x113}
SIMD_BINARY = (set(range(14, 15)) | set(range(35, 82)) | set(range(101, 248)) | {0x100, *range(0x10d, 0x113)}) - SIMD_UNARY
SIMD_BINARY -= {154, 162, 165, 166, 175, 176, 178, 179, 180, 187, 194, 197, 198, 207, 208, 210, 211, 212, 226, 238}  # there are none
SIMD_UNARY |= set(range(21, 35)) & {21, 22, 24, 25, 27, 29, 31, 33}
SIMD_BINARY |= {23, 26, 28, 30, 32, 34}
LOADS = {0x28: 4, 0x29: 8, 0x2a: 4, 0x2b: 8, 0x2c: 1, 0x2d: 1, 0x2e: 2, 0x2f: 2, 0x30: 1, 0x31: 1, 0x32: 2, 0x33: 2, 0x34: 4, 0x35: 4}
LOADS.update({SIMD: 16, **{SIMD + n: 8 for n in range(1, 7)}, SIMD + 7: 1, SIMD + 8: 2, SIMD + 9: 4, SIMD + 10: 8,
              SIMD + 92: 4, SIMD + 93: 8})
STORES = {0x36: 4, 0x37: 8, 0x38: 4, 0x39: 8, 0x3a: 1, 0x3b: 2, 0x3c: 1, 0x3d: 2, 0x3e: 4, SIMD + 11: 16}
LANE_LOADS = {SIMD + 84 + n: 1 << n for n in range(4)}
LANE_STORES = {SIMD + 88 + n: 1 << n for n in range(4)}
# Division, and all arithmetic with floating point, the time of which may depend on the numbers.
DIVIDES = {*range(0x6d, 0x71), *range(0x7f, 0x83), *range(0x8b, 0xa7), *range(0xa8, 0xac), *range(0xae, 0xbc),
           *range(SIMD + 224, SIMD + 256), *range(SIMD + 0x105, SIMD + 0x109)}
UNREACHABLE, NOP, BLOCK, LOOP, IF, ELSE, END, BR, BR_IF, BR_TABLE, RETURN = 0, 1, 2, 3, 4, 5, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f
CALL, CALL_INDIRECT, DROP, SELECT, SELECT_TYPED = 0x10, 0x11, 0x1a, 0x1b, 0x1c
LOCAL_GET, LOCAL_SET, LOCAL_TEE, GLOBAL_GET, GLOBAL_SET = 0x20, 0x21, 0x22, 0x23, 0x24
I32_CONST, I64_CONST, ADD, SUB, AND, OR, XOR, WRAP, EXTEND = 0x41, 0x42, 0x6a, 0x6b, 0x71, 0x72, 0x73, 0xa7, 0xad
COMPARISONS, INTEGERS = {*range(0x45, 0x5b)}, (0x7f, 0x7e)
# Of numbers, with a sign: whether it is zero, (in)equality, signed and unsigned order, multiplication, AND, OR, XOR, shifts.
FOLDS = {0x45: lambda a: a == 0, 0x46: operator.eq, 0x47: operator.ne, 0x48: operator.lt, 0x4a: operator.gt, 0x4c: operator.le,
         0x4e: operator.ge, 0x49: lambda a, b: a % 2**32 < b % 2**32, 0x4b: lambda a, b: a % 2**32 > b % 2**32,
         0x4d: lambda a, b: a % 2**32 <= b % 2**32, 0x4f: lambda a, b: a % 2**32 >= b % 2**32,
         0x6c: operator.mul, AND: operator.and_, OR: operator.or_, XOR: operator.xor, 0x74: lambda a, b: a << b % 32,
         0x75: lambda a, b: a >> b % 32, 0x76: lambda a, b: a % 2**32 >> b % 32}
COPY, FILL = MORE + 10, MORE + 11
V128_CONST, SHUFFLE = SIMD + 12, SIMD + 13
# What says of a value whether it is zero or of two whether they are equal, and what that means of a tag; `x | -x`, and on which side of it
# which number tells; what is made of a tag.
ANY_TRUE, ALL_BYTES_TRUE, BITMASK = SIMD + 83, SIMD + 99, SIMD + 100
IS_ZERO = {0x45: RIGHT, 0x50: RIGHT, ANY_TRUE: WRONG}
EQUALITIES, BYTES_EQUAL = {0x46: RIGHT, 0x47: WRONG, 0x51: RIGHT, 0x52: WRONG}, {SIMD + 35: RIGHT, SIMD + 36: WRONG}
NEGATIONS, EXTEND8 = {OR: (I32_CONST, SUB), 0x84: (I64_CONST, 0x7d)}, 0xc0
SIGN_TESTS = {(0x48, 0, 0): WRONG, (0x4a, 1, 0): WRONG, (0x4a, 0, -1): RIGHT, (0x48, 1, -1): RIGHT}
XORS, ORS = {XOR, 0x85, SIMD + 81}, {OR, 0x84, SIMD + 80}
JOINS_DECISIONS = {AND: RIGHT, OR: WRONG}
KEEPS_DECISION = {(WRAP, None), (EXTEND, None), (AND, 1), (AND, 255), (0x46, 1), (0x47, 0), (XOR, 0)}
TURNS_DECISION = {(0x45, None), (0x46, 0), (0x47, 1), (XOR, 1)}
KEEPS_LABELS = {WRAP, 0xac, EXTEND, *(SIMD + n for n in (21, 22, 24, 25, 27, 29, 31, 33))}
# What may go before the instruction that aligns a frame: that a new one is made.
MAKES_FRAME = {GLOBAL_GET, LOCAL_GET, LOCAL_SET, LOCAL_TEE, I32_CONST, SUB}

PANICS = re.compile(r"panic|unwrap_failed|expect_failed|slice_\w+_fail|len_mismatch|handle_error")
TAKES_LIST = re.compile(r"::message::|_batch\b|_batch::|in_parts")
OPENS = re.compile(r"::entry::open(?:::<|$)|^planted_open")
KERNEL = re.compile(r"palladion\w*(?:\[\w+\])?::low::(?:wasm::(simd128|relaxed)|(portable)|(raw))::(?:entry::|in_parts)|(planted)_")


def secret(*values):
    return any(type(value) is Secret for value in values)


def complete(labels):
    return NEEDED <= labels and "unwritten" not in labels


def join(a, b):
    if a == b:
        return a
    if secret(a, b):
        return Secret(a.labels & b.labels) if secret(a) and secret(b) else a if secret(a) else b
    if isinstance(a, Stack) or isinstance(b, Stack):
        if isinstance(a, Stack) and isinstance(b, Stack) and a.base == b.base:
            return Stack(a.base, None if None in (a.offset, b.offset) else min(a.offset, b.offset), False)
        return ANYWHERE
    if ANYWHERE in (a, b):
        return ANYWHERE
    if type(a) is Pointer or type(b) is Pointer:
        return Pointer(a.labels & b.labels if type(a) is type(b) else frozenset())
    return List(a.kind, None) if type(a) is type(b) is List and a.kind == b.kind else PUBLIC


def made_of(*values):
    return Secret(frozenset().union(*(value.labels for value in values if secret(value))) - SPECIAL)


def wrapped(number):
    """In 32 bits, with a sign."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def on_stack(value):
    """Whether it may be a pointer into the stack."""
    return value == ANYWHERE or isinstance(value, Stack)


def without_tells(value):
    return Secret(value.labels - TELLS) if secret(value) else value


def word(words, base, at):
    """What lies there."""
    return words[base, at] if (base, at) in words else words.get((base, REST), UNWRITTEN)


class Reader:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def number(self, signed=False):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value

    def name(self):
        length = self.number()
        self.at += length
        return self.data[self.at - length:self.at].decode()

    def list(self, read):
        return [read() for _ in range(self.number())]


Instruction = collections.namedtuple("Instruction", "at code operand")


class Module:
    def __init__(self, path):
        with open(path, "rb") as file:
            r = Reader(file.read())
        if r.data[:8] != b"\0asm\1\0\0\0":
            sys.exit("%s: not WebAssembly" % path)
        self.types, self.imported, self.declared, self.bodies, self.segments = [], [], [], [], []
        self.names, self.globals = {}, {}
        r.at = 8
        while r.at < len(r.data):
            section, length = r.byte(), r.number()
            end = r.at + length
            if section == 0:
                if r.name() == "name":
                    while r.at < end:
                        kind, length = r.byte(), r.number()
                        last = r.at + length
                        if kind in (1, 7):
                            (self.names if kind == 1 else self.globals).update(r.list(lambda: (r.number(), r.name())))
                        r.at = last
            elif section == 1:
                self.types = r.list(lambda: self.type(r))
            elif section == 2:
                for _ in range(r.number()):
                    r.name(), r.name()
                    if r.byte() != 0:
                        sys.exit("%s: imports what is no function" % path)
                    self.imported.append(r.number())
            elif section == 3:
                self.declared = r.list(r.number)
            elif section == 10:
                for _ in range(r.number()):
                    length = r.number()
                    self.bodies.append((r.at, r.at + length))
                    r.at += length
            elif section == 11:
                for _ in range(r.number()):
                    if r.number() != 0 or r.byte() != I32_CONST:
                        sys.exit("%s: data without a fixed place" % path)
                    start = r.number(signed=True)
                    r.byte()
                    length = r.number()
                    self.segments.append((start, start + length))
                    r.at += length
            r.at = end
        self.data = r.data
        listing = subprocess.run(["c++filt", "-s", "rust"], input="\n".join(self.names.values()), stdout=subprocess.PIPE, check=True,
                                 universal_newlines=True).stdout
        self.names = dict(zip(self.names, listing.splitlines()))
        self.decoded = {}
        self.pointer = [n for n, name in self.globals.items() if name == "__stack_pointer"]
        # A zero that the optimiser must not know to be one: see `keep_unknown` in low/wasm.rs, which could write there. Nobody else.
        for function, name in self.names.items():
            if re.search(r"low::wasm::keep_unknown(?: \(\.llvm\.\d+\))?$", name):
                for i in self.code(function):
                    if i.code == 0x36 and i.operand > 1 << 16:
                        self.segments.append((i.operand, i.operand + 4))

    @staticmethod
    def type(r):
        if r.byte() != 0x60:
            sys.exit("an unknown kind of type")
        return r.list(r.byte), r.list(r.byte)

    def signature(self, function):
        return self.types[(self.imported + self.declared)[function]]

    def code(self, function):
        """The instructions of a function. Branches know where they go to: the instruction, and how many values go there."""
        if function in self.decoded:
            return self.decoded[function]
        start, end = self.bodies[function - len(self.imported)]
        r = Reader(self.data, start)
        for _ in range(r.number()):
            r.number(), r.byte()
        code, open_blocks = [], []
        while r.at < end:
            at, op = r.at, r.byte()
            if op in (0xfc, 0xfd):
                op = (MORE if op == 0xfc else SIMD) + r.number()
            operand = None
            if op in (BLOCK, LOOP, IF):
                kind = r.number(signed=True)
                operand = ([], [] if kind == -64 else [kind]) if kind < 0 else self.types[kind]
            elif op in (BR, BR_IF, CALL, *range(LOCAL_GET, GLOBAL_SET + 1)):
                operand = r.number()
            elif op == BR_TABLE:
                operand = r.list(r.number) + [r.number()]
            elif op == CALL_INDIRECT:
                operand = r.number()
                r.number()
            elif op == SELECT_TYPED:
                r.list(r.byte)
            elif op in LOADS or op in STORES or op in LANE_LOADS or op in LANE_STORES:
                if r.number() & 0x40:
                    sys.exit("a second memory")
                operand = r.number()
                if op in LANE_LOADS or op in LANE_STORES:
                    r.byte()
            elif op in (I32_CONST, I64_CONST):
                operand = r.number(signed=True)
            elif op in (0x43, 0x44):
                r.at += 4 if op == 0x43 else 8
            elif op in (V128_CONST, SHUFFLE):
                operand = int.from_bytes(r.data[r.at:r.at + 16], "little")
                r.at += 16
            elif op == COPY:
                r.at += 2
            elif op in (FILL, 0x3f, 0x40) or SIMD + 21 <= op <= SIMD + 34:
                r.at += 1
            elif not (op in UNARY or op in BINARY or op in (UNREACHABLE, NOP, ELSE, END, RETURN, DROP, SELECT)
                      or op - SIMD in SIMD_UNARY | SIMD_BINARY | SIMD_TERNARY):
                sys.exit("an unknown instruction: 0x%x at 0x%x" % (op, at))
            code.append(Instruction(at, op, operand))
        self.decoded[function] = code
        return code

    def find(self, function, i):
        """The instructions of a function, and which of them this one is."""
        code = self.code(function)
        return code, bisect.bisect_left(code, (i.at,))

    def ends(self, function):
        """Of each instruction that begins a block: where its `else` and its `end` are; of each `else`, its end; of each branch, the
        blocks around it, the innermost last; of each instruction, the loops around it."""
        ends, around, blocks, loops = {}, {}, [], []
        for n, i in enumerate(self.code(function)):
            loops.append(frozenset(block for block in blocks if self.code(function)[block].code == LOOP))
            if i.code in (BLOCK, LOOP, IF):
                blocks.append(n)
                ends[n] = [None, None]
            elif i.code == ELSE:
                ends[blocks[-1]][0] = n
            elif i.code == END and blocks:
                ends[blocks.pop()][1] = n
            elif i.code in (BR, BR_IF, BR_TABLE):
                around[n] = list(blocks)
        for start, (other, end) in list(ends.items()):
            if other is not None:
                ends[other] = [None, end]
        return ends, around, loops


class State:
    """What is known before an instruction: of the locals, the operands, the stack pointer and the stack in memory."""

    def __init__(self, local, operands, pointer, words):
        self.local, self.operands, self.pointer, self.words = local, operands, pointer, words

    def copy(self):
        return State(list(self.local), list(self.operands), self.pointer, dict(self.words))

    def merge(self, other):
        """Takes in what comes from another way; whether that changed anything."""
        before = (self.local, self.operands, self.pointer, self.words)
        assert len(self.operands) == len(other.operands), "operands do not match"
        self.local = [join(a, b) for a, b in zip(self.local, other.local)]
        self.operands = [join(a, b) for a, b in zip(self.operands, other.operands)]
        self.pointer = join(self.pointer, other.pointer)
        self.words = merged(self.words, other.words)
        return before != (self.local, self.operands, self.pointer, self.words)


def merged(a, b):
    """A word of which nothing is known is secret."""
    result = {key: join(value, word(b, *key)) for key, value in a.items()}
    result.update((key, join(word(a, *key), value)) for key, value in b.items() if key not in a)
    return result


class Analysis:
    def __init__(self, module):
        self.module = module
        self.wrong = {}  # (function, place) -> what
        self.read, self.addresses, self.branches, self.decisions, self.kernels = set(), set(), set(), set(), set()
        self.known, self.running = {}, []

    def report(self, function, i, what):
        self.wrong[self.module.names.get(function, "?"), i.at] = "%s (opcode 0x%x)" % (what, i.code)

    def kernel(self, function):
        self.kernels.add(function)
        name = self.module.names[function]
        takes = self.module.signature(function)[0]
        arguments = [PUBLIC if kind in INTEGERS else SECRET for kind in takes]
        if "in_parts" in name:  # the message, and the table of kernels
            arguments = [List("message", 0), List("kernels", 0)]
        elif OPENS.search(name):
            arguments[:len(OPEN)] = OPEN
        elif TAKES_LIST.search(name):
            arguments[0] = List("message" if "::message::" in name else "lists", 0)
        assert len(arguments) == len(takes), "%s takes something else" % name
        self.function(function, tuple(arguments), {})

    def function(self, function, arguments, words):
        """Runs a function. Returns what it gives, the stack in memory afterwards, and whether it decided about a tag, by itself or in what
        it calls; no result if it never returns."""
        key = (function, arguments, frozenset(words.items()))
        if key in self.known:
            return self.known[key]
        if function in self.running:
            self.wrong[self.module.names[function], 0] = "calls itself, which this analysis does not follow"
            return [SECRET for _ in self.module.signature(function)[1]], {}, False
        self.running.append(function)
        code, (ends, around, loops) = self.module.code(function), self.module.ends(function)
        r = Reader(self.module.data, self.module.bodies[function - len(self.module.imported)][0])
        local = list(arguments)
        for _ in range(r.number()):
            local += [Number(0)] * r.number()
            r.byte()
        results = len(self.module.signature(function)[1])
        # A place is an instruction, and how often the loops around it went round before (none that did not).
        start = 0, ()
        # Its frame is new: what callers may have written at unknown places is in theirs.
        frame = "frame %d" % len(self.running)
        states = {start: State(local, [], Stack(frame, 0, True), {**words, (frame, REST): UNWRITTEN})}
        heights, ways, returned = {}, collections.defaultdict(set), []
        work, decisions, left = [start], {}, set()

        def go(source, target, state, trips=None):
            place = target, tuple(trip for trip in (source[1] if trips is None else trips) if trip[0] in loops[target])
            leaves(source, loops[target])
            ways[source].add(place)
            if place not in states:
                states[place] = state
            elif not states[place].merge(state):
                return
            if place not in work:
                work.append(place)

        def leaves(source, inside=frozenset()):
            for loop in loops[source[0]] - inside:
                left.add((loop, trips_of(source[1], loop)))

        def trips_of(trips, loop):
            """Those of a loop and the ones around it."""
            return tuple(trip for trip in trips if trip[0] in loops[loop] or trip[0] == loop)

        def leave(source, state):
            leaves(source)
            returned.append((state.operands[len(state.operands) - results:], state.words))

        def branch(source, depth, state, certain):
            """Leaves as many blocks, or begins a loop again."""
            blocks, state = around[source[0]], state.copy()
            if depth == len(blocks):
                return leave(source, state)
            block = blocks[-1 - depth]
            loop = code[block].code == LOOP
            count = len(code[block].operand[0 if loop else 1])
            state.operands = state.operands[:heights[block]] + state.operands[len(state.operands) - count:]
            if not loop:
                return go(source, ends[block][1] + 1, state)
            trips = dict(trips_of(source[1], block))
            # It may as well have ended: then it is not known how often it goes round.
            if certain and (block, trips_of(source[1], block)) not in left and trips.get(block, 0) < TRIPS:
                trips[block] = trips.get(block, 0) + 1
            go(source, block + 1, state, tuple(sorted(trips.items())))

        while work:
            place = n, trips = work.pop()
            i, state = code[n], states[place].copy()
            self.read.add((function, i.at))
            operands = state.operands
            if i.code in (BLOCK, LOOP, IF):
                condition = operands.pop() if i.code == IF else None
                heights[n] = len(operands) - len(i.operand[0])
                if i.code == IF:
                    other = ends[n][0]
                    holds = self.condition(function, i, condition, place, decisions)
                    if not holds:
                        go(place, (ends[n][1] if other is None else other) + 1, state.copy())
                    if holds is False:
                        continue
                go(place, n + 1, state)
            elif i.code == ELSE:
                go(place, ends[n][1] + 1, state)
            elif i.code == END and n == len(code) - 1 or i.code == RETURN:
                leave(place, state)
            elif i.code == BR:
                branch(place, i.operand, state, True)
            elif i.code == BR_IF:
                holds = self.condition(function, i, operands.pop(), place, decisions)
                if holds is not False:
                    branch(place, i.operand, state, holds is True)
                if not holds:
                    go(place, n + 1, state)
            elif i.code == BR_TABLE:
                self.branches.add((function, i.at))
                if secret(operands.pop()):
                    self.report(function, i, "the index of a table of branches depends on a secret")
                for depth in set(i.operand):
                    branch(place, depth, state, False)
            elif i.code != UNREACHABLE and self.step(function, i, state, place, decisions):
                go(place, n + 1, state)

        for first, i in decisions.items():
            later, work = set(), list(ways[first])
            while work:
                place = work.pop()
                if place not in later:
                    later.add(place)
                    work += ways[place]
            if decisions.keys() & later:
                self.report(function, i, "not the last decision about a secret")

        self.running.pop()
        result = None
        if returned:
            values, after = returned[0]
            for others, more in returned[1:]:
                values, after = [join(a, b) for a, b in zip(values, others)], merged(after, more)
            # What lay in its own frame is over.
            bases = {base for base, _ in words}
            after = {key: value for key, value in after.items() if key[0] in bases}
            result = values, after, bool(decisions)
        self.known[key] = result
        return result

    def condition(self, function, i, value, place, decisions):
        """Looks at what a branch depends on. Returns whether it holds, or nothing where that is not known."""
        self.branches.add((function, i.at))
        if secret(value) and DECISIONS & value.labels and complete(value.labels):
            self.decisions.add((function, i.at))
            decisions[place] = i
        elif secret(value):
            self.report(function, i, "the branch depends on a secret")
        return value.value != 0 if isinstance(value, Number) else None

    # The stack in memory, in words of four bytes.

    def image(self, value):
        return value == IMAGE or isinstance(value, Number) and any(start <= value.value < end for start, end in self.module.segments)

    def add(self, a, b, sign=1):
        if secret(a, b):
            return made_of(a, b)
        if isinstance(a, Number) and isinstance(b, Number):
            return Number(wrapped(a.value + sign * b.value))
        if sign > 0 and (isinstance(b, (Stack, List)) or self.image(b)):
            a, b = b, a
        if ANYWHERE in (a, b):
            return ANYWHERE
        if isinstance(b, Stack):
            # How far two places are apart, if both are in the same frame.
            return PUBLIC if sign < 0 and isinstance(a, Stack) and a.base == b.base else ANYWHERE
        if isinstance(a, Stack):
            if isinstance(b, Number) and a.offset is not None:
                change = b.value * sign
                return Stack(a.base, a.offset + change if a.exact or change >= 0 else None, a.exact)
            return Stack(a.base, None, False)
        # The address of a constant, or of a list, may be taken off another one only: off a secret's address, or off zero, it would make of
        # the next pointer to constants one to that secret.
        off = b if sign < 0 else Number(-b.value) if isinstance(b, Number) else PUBLIC
        if type(off) is List:
            return PUBLIC if type(a) is List and a.kind == b.kind else ANYWHERE
        if self.image(off):
            return PUBLIC if self.image(a) else ANYWHERE
        if type(a) is List:
            if b != PUBLIC and not isinstance(b, Number) or self.image(b):
                return ANYWHERE
            return List(a.kind, a.offset + sign * b.value if isinstance(b, Number) and a.offset is not None else None)
        if self.image(a):
            return ANYWHERE if self.image(b) else IMAGE if b == PUBLIC or isinstance(b, Number) else PUBLIC
        if type(a) is Pointer and type(b) is not Pointer and sign > 0:
            return a
        if type(b) is Pointer and type(a) is not Pointer and sign > 0:
            return b
        if type(a) is Pointer and isinstance(b, Number) or b == PUBLIC and type(a) is Pointer:
            return a
        # Of two, how far they are apart, or the place of neither.
        return Pointer(frozenset()) if Pointer in (type(a), type(b)) else PUBLIC

    def place(self, function, i, address, offset):
        self.addresses.add((function, i.at))
        if secret(address):
            self.report(function, i, "the address depends on a secret")
            return ANYWHERE
        return self.add(address, Number(offset))

    def load(self, state, place, size):
        if type(place) is List:
            fields = FIELDS.get(place.kind)
            if fields is None or place.offset is None or place.offset % 4 or size != 4 or place.offset >= 4 * len(fields):
                return PUBLIC
            return fields[place.offset // 4]
        if type(place) is Pointer:
            return Secret(place.labels)
        if self.image(place):
            return PUBLIC
        if isinstance(place, Stack) and place.exact:
            values = {word(state.words, place.base, at) for at in range(place.offset & -4, place.offset + size, 4)}
            if secret(*values):
                labels = frozenset.intersection(*(value.labels for value in values if secret(value)))
                # A decision is in one word; what says something of each byte of a register is in four.
                return Secret(labels if size <= 4 else labels - TELLS | labels & {*BYTES.values()} if size == 16 else labels - TELLS)
            if size == 4 and place.offset % 4 == 0 or values == {Number(0)}:
                return values.pop()
            # Parts of pointers and numbers, or several.
            return ANYWHERE if any(map(on_stack, values)) else PUBLIC
        if isinstance(place, Stack):
            # Somewhere there: made of what all secrets there are made of.
            labels = [value.labels for (base, at), value in state.words.items()
                      if base == place.base and (place.offset is None or at + 4 > place.offset) and secret(value)]
            labels = [each for each in labels if "unwritten" not in each]
            return Secret(frozenset.intersection(*labels) - TELLS if labels else frozenset())
        return SECRET

    def store(self, function, i, state, place, size, value):
        """Writes as many bytes, or an unknown number if that is None."""
        if type(place) is List or self.image(place) and (secret(value) or on_stack(value)):
            self.report(function, i, "a secret or pointer is stored where constants are, or anything in a list")
        exact = isinstance(place, Stack) and place.exact and size is not None
        if isinstance(value, Number) and value.value:
            # A number that is not zero is one only in a whole word.
            value = Number(wrapped(value.value)) if exact and size == 4 and place.offset % 4 == 0 else PUBLIC
        if exact:
            for at in range(place.offset & -4, place.offset + size, 4):
                old = word(state.words, place.base, at)
                # A byte of a word that was not written before: what reads it reads that byte.
                whole = at >= place.offset and at + 4 <= place.offset + size or old == UNWRITTEN and size < 4
                state.words[place.base, at] = value if whole else without_tells(join(old, value))
        elif on_stack(place):
            # Any word there, also those with pointers and lengths.
            for (base, at), old in state.words.items():
                if place == ANYWHERE or base == place.base and (place.offset is None or at + 4 > place.offset):
                    state.words[base, at] = without_tells(join(old, value))

    def move(self, function, i, state, to, value, size, source=None):
        """memset, or memcpy if there is a source."""
        for what in (to, size) if source is None else (to, size, source):
            if secret(what):
                self.report(function, i, "the address or length depends on a secret")
        self.addresses.add((function, i.at))
        count = size.value if isinstance(size, Number) else None
        if source is None:  # one byte of it, many times
            value = made_of(value) if secret(value) else value if value == Number(0) else PUBLIC
        else:
            if isinstance(source, Stack) and source.exact and isinstance(to, Stack) and to.exact and count is not None \
                    and source.offset % 4 == to.offset % 4 == 0:
                values = [self.load(state, Stack(source.base, source.offset + at, True), 4) for at in range(0, count, 4)]
                for at, value in zip(range(0, count, 4), values):
                    self.store(function, i, state, Stack(to.base, to.offset + at, True), min(4, count - at), value)
                return
            value = PUBLIC if self.image(source) or type(source) is List else Secret(source.labels) if type(source) is Pointer else SECRET
        self.store(function, i, state, ANYWHERE if secret(to) else to, count, value)

    def step(self, function, i, state, place, decisions):
        """The effect of an instruction on the state; whether it goes on."""
        operands, op = state.operands, i.code
        if op == LOCAL_GET:
            operands.append(state.local[i.operand])
        elif op == LOCAL_SET:
            state.local[i.operand] = operands.pop()
        elif op == LOCAL_TEE:
            state.local[i.operand] = operands[-1]
        elif op in (GLOBAL_GET, GLOBAL_SET):
            if [i.operand] != self.module.pointer:
                self.report(function, i, "a global that is not the stack pointer")
            if op == GLOBAL_GET:
                operands.append(state.pointer)
            else:
                state.pointer = operands.pop()
                if not isinstance(state.pointer, Stack) or not state.pointer.exact:
                    self.report(function, i, "the stack pointer is no longer known")
        elif op in (I32_CONST, I64_CONST) or op == V128_CONST and i.operand == 0:
            operands.append(Number(i.operand))
        elif op in (0x43, 0x44, V128_CONST, 0x3f):
            operands.append(PUBLIC)
        elif op == DROP:
            operands.pop()
        elif op in (SELECT, SELECT_TYPED):
            condition, b, a = operands.pop(), operands.pop(), operands.pop()
            if secret(condition):
                self.report(function, i, "a choice by a secret, which an engine may make a branch of")
            operands.append(join(a, b))
        elif op in LOADS:
            operands.append(self.load(state, self.place(function, i, operands.pop(), i.operand), LOADS[op]))
        elif op in STORES:
            value, address = operands.pop(), operands.pop()
            self.store(function, i, state, self.place(function, i, address, i.operand), STORES[op], value)
        elif op in LANE_LOADS:
            vector, address = operands.pop(), operands.pop()
            operands.append(join(vector, self.load(state, self.place(function, i, address, i.operand), LANE_LOADS[op])))
        elif op in LANE_STORES:
            value, address = operands.pop(), operands.pop()
            self.store(function, i, state, self.place(function, i, address, i.operand), LANE_STORES[op], value)
        elif op == COPY:
            size, source, to = operands.pop(), operands.pop(), operands.pop()
            self.move(function, i, state, to, None, size, source)
        elif op == FILL:
            size, value, to = operands.pop(), operands.pop(), operands.pop()
            self.move(function, i, state, to, value, size)
        elif op in (CALL, CALL_INDIRECT):
            return self.call(function, i, state, place, decisions)
        elif op not in (NOP, END):
            operands.append(self.compute(function, i, state))
        return True

    def compute(self, function, i, state):
        op, operands = i.code, state.operands
        if op in UNARY or op - SIMD in SIMD_UNARY:
            values = [operands.pop()]
        elif op in BINARY or op - SIMD in SIMD_BINARY or op == SHUFFLE:
            values = [operands.pop(), operands.pop()][::-1]
        elif op - SIMD in SIMD_TERNARY:
            values = [operands.pop(), operands.pop(), operands.pop()]
        else:
            self.report(function, i, "an instruction that this analysis does not follow")
            values = [SECRET]
        if op in DIVIDES and secret(*values):
            self.report(function, i, "a secret is divided, or is a number with floating point")
        if secret(*values):
            return self.of_secrets(function, i, values)
        if op in (ADD, SUB):
            return self.add(*values, sign=1 if op == ADD else -1)
        if op in FOLDS and all(isinstance(value, Number) for value in values):
            return Number(wrapped(FOLDS[op](*(value.value for value in values))))
        if op in (AND, OR) and any(isinstance(value, Stack) for value in values):
            a, b = values if isinstance(values[0], Stack) else values[::-1]
            if op == AND and a.exact and isinstance(b, Number) and b.value in (-1, -2, -4, -8, -16):
                return Stack(a.base, a.offset & b.value, True)  # the stack pointer is a multiple of 16
            if op == AND and a.exact and isinstance(b, Number) and b.value < 0 and self.makes_frame(function, i, a, state.pointer):
                base = "%s%+d, a multiple of %d" % (a.base, a.offset, -b.value)
                state.words.setdefault((base, REST), UNWRITTEN)
                return Stack(base, 0, True)
            if op == OR and a.exact and isinstance(b, Number) and 0 <= b.value < 16 and not a.offset & b.value:
                return Stack(a.base, a.offset + b.value, True)
        if any(map(on_stack, values)):
            return ANYWHERE
        # Multiplied or inverted it might be the address taken off zero.
        addresses = any(type(value) is List or self.image(value) for value in values)
        return ANYWHERE if addresses and op not in COMPARISONS and op != AND else PUBLIC

    def makes_frame(self, function, i, a, pointer):
        """Whether the value is a place below the stack pointer as the function found it, and nothing goes before that is not part of making
        a frame there."""
        code, n = self.module.find(function, i)
        return a.base == pointer.base and a.offset < pointer.offset and all(before.code in MAKES_FRAME for before in code[:n])

    def either_sign(self, function, i):
        """Which of its values is `x`, where the instruction computes `x | -x`, as compilers write it; none elsewhere."""
        code, n = self.module.find(function, i)
        zero, minus = NEGATIONS[i.code]
        a, b, c, d = window = code[max(n, 4) - 4:max(n, 4)]
        codes = [each.code for each in window]
        if codes[0] in (LOCAL_GET, LOCAL_TEE) and codes[1:] == [zero, LOCAL_GET, minus] and b.operand == 0 and a.operand == c.operand:
            return 0
        return 1 if codes == [zero, LOCAL_GET, minus, LOCAL_GET] and a.operand == 0 and b.operand == d.operand else None

    def of_secrets(self, function, i, values):
        """What is made of secrets, and what it tells of a tag."""
        op, labels = i.code, [value.labels for value in values if secret(value)]
        union, shared = frozenset().union(*labels), frozenset.intersection(*labels)
        number = next((value.value for value in values if isinstance(value, Number)), None)
        # Combined with itself a tag may be gone; with a number it need no longer be zero where it is right.
        once = sum("tag" in each for each in labels) == 1
        plain = all(secret(value) or value == Number(0) for value in values)
        if not complete(union):
            return Secret(labels[0] if op in KEEPS_LABELS else union - TELLS if op in XORS and once and plain else union - SPECIAL)
        tells = self.tells(function, i, values, union, shared, number, once and plain)
        if tells:
            return Secret(union - TELLS | {tells})
        keeps = op in XORS and once and plain or op in ORS and plain and all(map(complete, labels)) or op in KEEPS_LABELS
        return Secret(union - TELLS if keeps and not union & TELLS else union - SPECIAL)

    def tells(self, function, i, values, union, shared, number, compares):
        """What the result of an instruction tells of a tag, if anything."""
        op, two = i.code, len(values) == 2 and secret(values[0]) and secret(values[1])
        for this, opposite in ((RIGHT, WRONG), (WRONG, RIGHT)):
            if this in union:
                # Of two only that all is right, or that something is wrong.
                keeps = this in shared and JOINS_DECISIONS.get(op) == this if two else (op, number) in KEEPS_DECISION
                return this if keeps else opposite if not two and (op, number) in TURNS_DECISION else None
        if "sign" in union:
            return "sign" if op == EXTEND8 else None if two else SIGN_TESTS.get((op, [secret(value) for value in values].index(True), number))
        if BITS[RIGHT] in union:
            return EQUALITIES.get(op) if number == 0xffff else None
        if BITS[WRONG] in union:
            return EQUALITIES.get(op) if number == 0 else IS_ZERO.get(op)
        for this, all_of_them in ((RIGHT, ALL_BYTES_TRUE), (WRONG, ANY_TRUE)):
            if BYTES[this] in union:
                return this if op == all_of_them else BITS[this] if op == BITMASK else None
        if op in NEGATIONS and two:
            x = self.either_sign(function, i)
            return "sign" if x is not None and complete(values[x].labels) else None
        if op in IS_ZERO:
            return IS_ZERO[op]
        if compares and op in EQUALITIES:
            return EQUALITIES[op]
        return BYTES.get(BYTES_EQUAL.get(op)) if compares else None

    def call(self, function, i, state, place, decisions):
        module, operands = self.module, state.operands
        index = operands.pop() if i.code == CALL_INDIRECT else None
        takes, gives = module.types[i.operand] if i.code == CALL_INDIRECT else module.signature(i.operand)
        arguments = tuple(operands[len(operands) - len(takes):])
        del operands[len(operands) - len(takes):]
        if i.code == CALL_INDIRECT:
            # A kernel, which is checked by itself.
            self.branches.add((function, i.at))
            if secret(index):
                self.report(function, i, "which function is called depends on a secret")
            if secret(*arguments):
                self.report(function, i, "an argument of a kernel depends on a secret")
            # What it writes is made of all that it gets. It may write where it is pointed to, and where a pointer that lies there leads to.
            labels = set()
            for argument in arguments:
                if type(argument) is Pointer:
                    labels |= argument.labels
                elif isinstance(argument, Stack) and argument.exact:
                    there = word(state.words, argument.base, argument.offset & -4)
                    labels |= there.labels if secret(there) and "unwritten" not in there.labels else set()
            self.store(function, i, state, ANYWHERE, None, Secret(frozenset(labels) - SPECIAL))
            operands += [SECRET for _ in gives]
            return True
        name = module.names.get(i.operand, "?")
        code, n = module.find(function, i)
        if PANICS.search(name) and code[n + 1].code == UNREACHABLE:
            return False
        if name in ("memcpy", "memmove"):
            self.move(function, i, state, arguments[0], None, arguments[2], arguments[1])
            operands.append(arguments[0])
        elif name == "memset":
            self.move(function, i, state, arguments[0], arguments[1], arguments[2])
            operands.append(arguments[0])
        elif i.operand < len(module.imported):
            self.report(function, i, "calls an unknown function (%s)" % name)
            operands += [SECRET for _ in gives]
        else:
            result = self.function(i.operand, arguments, state.words)
            if result is None:
                return False
            operands += result[0]
            state.words = dict(result[1])
            if result[2]:
                decisions[place] = i
        return True


def main(arguments):
    options = {}
    for option in ("--only", "--expect"):
        if option in arguments:
            at = arguments.index(option)
            options[option] = arguments[at + 1]
            del arguments[at:at + 2]
    only = re.compile(options.get("--only", ""))
    expected = {}
    for entry in options.get("--expect", "").split():
        label, backend, least, decisions = entry.split(":")
        expected[label, backend] = int(least), int(decisions)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 2
    wrong, tables = {}, []
    print("module             backend  kernels instructions addresses branches of which whether a tag was right")
    for path in arguments:
        module, analyses = Module(path), {}
        for function, name in sorted(module.names.items()):
            kernel = KERNEL.search(name)
            if kernel and only.search(name) and function >= len(module.imported):
                backend = kernel[1] or kernel[2] or kernel[3] or kernel[4]
                analyses.setdefault(backend, Analysis(module)).kernel(function)
        label = path.rsplit("/", 1)[-1]
        for backend, a in sorted(analyses.items()):
            counts = [len(found) for found in (a.kernels, a.read, a.addresses, a.branches, a.decisions)]
            print("%-18s %-8s %7d %12d %9d %8d %d" % (label, backend, *counts))
            wrong.update({(label, *key): what for key, what in a.wrong.items()})
            if "--expect" not in options:
                continue
            if (label, backend) not in expected:
                tables.append("%s, backend %s: is not expected" % (label, backend))
                continue
            least, decisions = expected.pop((label, backend))
            if len(a.kernels) < least or len(a.decisions) != decisions:
                tables.append("%s, backend %s: there should be %d kernels and %d decisions about tags" % (label, backend, least, decisions))
        if not analyses:
            tables.append("%s: no kernel was found" % label)
    for (label, name, at), what in sorted(wrong.items()):
        print("%s: %x in %s: %s" % (label, at, name, what))
    tables += ["%s, backend %s: is missing" % key for key in sorted(expected)]
    print("\n".join(tables), end="\n" if tables else "")
    return 1 if wrong or tables else 0


if __name__ == "__main__":
    sys.setrecursionlimit(10000)
    sys.exit(main(sys.argv[1:]))
