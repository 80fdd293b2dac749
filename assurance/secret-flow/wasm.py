#!/usr/bin/env python3
"""Follows secrets through WebAssembly; domain.py describes the model.

    assurance/secret-flow/wasm.py FILE [MODULE...]

FILE has function names in it. Fails unless each MODULE of the crate has a kernel in it.
"""

import operator
import subprocess
import sys

from domain import (
    CONST, DOES_NOT_RETURN, IMAGE, LIST, PUBLIC, SECRET, Flow, Stack, State,
    add, join, masked, mix, secret, subtract, verdict,
)

# Operators, by how many values they take. Those of 0xfc have MORE added, those of 0xfd SIMD.
SIMD, MORE = 0xfd000, 0xfc00
LANES = (21, 22, 24, 25, 27, 29, 31, 33)
ONE = (*range(15, 21), *LANES, 77, 83, *range(94, 101), *range(103, 107), 116, 117, 122,
       *range(124, 130), 131, 132, *range(135, 139), 148, 160, 161, 163, 164, *range(167, 171),
       192, 193, 195, 196, *range(199, 203), 224, 225, 227, 236, 237, 239, *range(248, 256),
       *range(0x101, 0x105))
TAKES = {op: count for count, ops in (
    (2, (*range(0x45, 0xa7), SIMD + 13, SIMD + 14, *range(SIMD + 23, SIMD + 82),
         *range(SIMD + 101, SIMD + 0x113))),
    (3, (SIMD + 82, *range(SIMD + 0x105, SIMD + 0x10d), SIMD + 0x113)),
    (1, (0x45, 0x50, 0x67, 0x68, 0x69, 0x79, 0x7a, 0x7b, *range(0x8b, 0x92), *range(0x99, 0xa0),
         *range(0xa7, 0xc5), *range(MORE, MORE + 8), *(SIMD + n for n in ONE))),
) for op in ops}
LOADS = dict(zip(range(0x28, 0x36), (4, 8, 4, 8, 1, 1, 2, 2, 1, 1, 2, 2, 4, 4)))
LOADS.update({SIMD + n: size for n, size in enumerate((16, 8, 8, 8, 8, 8, 8, 1, 2, 4, 8))})
LOADS.update({SIMD + 92: 4, SIMD + 93: 8})
STORES = {**dict(zip(range(0x36, 0x3f), (4, 8, 4, 8, 1, 2, 1, 2, 4))), SIMD + 11: 16}
LANE_LOADS, LANE_STORES = ({SIMD + at + n: 1 << n for n in range(4)} for at in (84, 88))
STORES.update(LANE_STORES)
# Division, and all arithmetic with floating point, take longer for some numbers.
SLOW_FOR_SOME = {*range(0x6d, 0x71), *range(0x7f, 0x83), *range(0x8b, 0xa7), *range(0xa8, 0xac),
                 *range(0xae, 0xbc), *range(SIMD + 224, SIMD + 256),
                 *range(SIMD + 0x105, SIMD + 0x109)}
UNREACHABLE, NOP, BLOCK, LOOP, IF, ELSE = range(6)
END, BR, BR_IF, BR_TABLE, RETURN, CALL, CALL_INDIRECT = range(0x0b, 0x12)
DROP, SELECT, SELECT_TYPED = 0x1a, 0x1b, 0x1c
LOCAL_GET, LOCAL_SET, LOCAL_TEE, GLOBAL_GET, GLOBAL_SET = range(0x20, 0x25)
I32_CONST, I64_CONST, COPY, FILL = 0x41, 0x42, MORE + 10, MORE + 11
V128_CONST, SHUFFLE = SIMD + 12, SIMD + 13
ADD, SUB, AND, OR, COMPARISONS = 0x6a, 0x6b, 0x71, 0x72, range(0x45, 0x5b)
ARITHMETIC = {0x6c: operator.mul, 0x72: operator.or_, 0x73: operator.xor,
              0x74: lambda a, b: a << b % 32, 0x76: lambda a, b: a % 2**32 >> b % 32}


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

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

    def bytes(self):
        length = self.number()
        self.at += length
        return self.data[self.at - length:self.at]

    def list(self, read):
        return [read() for _ in range(self.number())]


class Instruction:
    """`target` is where a block, loop, `if` or `else` ends; `other` is the `else` of an `if`."""

    def __init__(self, function, at, code, operand, blocks):
        self.function, self.at, self.code = function, at, code
        self.operand, self.blocks = operand, blocks
        self.meets = code in (END, LOOP)
        self.target = self.other = self.next = self.height = None


class File:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.r = r = Reader(file.read())
        if r.data[:8] != b"\0asm\1\0\0\0":
            sys.exit("%s: not WebAssembly" % path)
        self.imported, self.bodies, self.segments = [], [], []
        self.names, self.globals, self.decoded, self.code = {}, {}, {}, {}
        r.at = 8
        while r.at < len(r.data):
            section, length = r.byte(), r.number()
            end = r.at + length
            if section == 0 and r.bytes() == b"name":
                while r.at < end:
                    kind, length = r.byte(), r.number()
                    last = r.at + length
                    if kind in (1, 7):
                        found = r.list(lambda: (r.number(), r.bytes().decode()))
                        (self.names if kind == 1 else self.globals).update(found)
                    r.at = last
            elif section == 1:
                self.types = r.list(lambda: (r.byte(), r.list(r.byte), r.list(r.byte))[1:])
            elif section == 2:
                self.imported = r.list(lambda: (r.bytes(), r.bytes(), r.byte(), r.number()))
                assert not any(i[2] for i in self.imported), "an import that is not a function"
            elif section == 3:
                self.signatures = [kind for *_, kind in self.imported] + r.list(r.number)
            elif section == 10:
                for _ in range(r.number()):
                    length = r.number()
                    self.bodies.append((r.at, r.at + length))
                    r.at += length
            elif section == 11:
                for _ in range(r.number()):
                    assert r.number() == 0 and r.byte() == I32_CONST, "data without a fixed place"
                    start = r.number(signed=True)
                    r.byte()
                    self.segments.append((start, start + len(r.bytes())))
            r.at = end
        listing = subprocess.check_output(
            ["c++filt", "-s", "rust"], input="\n".join(self.names.values()),
            universal_newlines=True)
        self.names = dict(zip(self.names, listing.splitlines()))

    def image(self, number):
        """A number, or the place of constants."""
        inside = any(start <= number < end for start, end in self.segments)
        return IMAGE if inside else number

    def function(self, function):
        """The number of locals beside the arguments, and the first instruction."""
        if function in self.decoded:
            return self.decoded[function]
        r, (r.at, end) = self.r, self.bodies[function - len(self.imported)]
        local = sum(r.list(lambda: (r.number(), r.byte())[0]))
        start, blocks, last = r.at, [], None
        while r.at < end:
            i = Instruction(function, r.at, *self.instruction(r), tuple(blocks))
            if last:
                last.next = i.at
            self.code[i.at] = last = i
            if i.code in (BLOCK, LOOP, IF):
                blocks.append(i)
            elif i.code == ELSE:
                blocks[-1].other = i
            elif i.code == END and blocks:
                block = blocks.pop()
                block.target = i.at
                if block.other:
                    block.other.target = i.at
        self.decoded[function] = local, self.code[start]
        return self.decoded[function]

    def instruction(self, r):
        op, operand = r.byte(), None
        if op in (0xfc, 0xfd):
            op = (MORE if op == 0xfc else SIMD) + r.number()
        if op in (BLOCK, LOOP, IF):
            kind = r.number(signed=True)
            operand = self.types[kind] if kind >= 0 else ([], [] if kind == -64 else [kind])
        elif op in (BR, BR_IF, CALL, LOCAL_GET, LOCAL_SET, LOCAL_TEE, GLOBAL_GET, GLOBAL_SET):
            operand = r.number()
        elif op == BR_TABLE:
            operand = r.list(r.number) + [r.number()]
        elif op == CALL_INDIRECT:
            operand = r.number(), r.number()
        elif op == SELECT_TYPED:
            r.list(r.byte)
        elif op in LOADS or op in STORES or op in LANE_LOADS:
            assert not r.number() & 0x40, "a second memory"
            operand = r.number()
            r.at += op in LANE_LOADS or op in LANE_STORES
        elif op in (I32_CONST, I64_CONST):
            operand = r.number(signed=True)
        elif op in (0x43, 0x44):
            r.at += 4 if op == 0x43 else 8
        elif op in (V128_CONST, SHUFFLE):
            operand = int.from_bytes(r.data[r.at:r.at + 16], "little")
            r.at += 16
        elif op in (COPY, FILL, 0x3f, 0x40) or SIMD + 21 <= op <= SIMD + 34:
            r.at += 2 if op == COPY else 1
        elif not (op in TAKES or op in (UNREACHABLE, NOP, ELSE, END, RETURN, DROP, SELECT)):
            sys.exit("an unknown instruction: 0x%x at 0x%x" % (op, r.at))
        return op, operand


class Machine(Flow):
    """Locals and operands are registers (depth of calls, number); locals have negative numbers."""

    WORD, POINTER = 4, "stack pointer"

    @property
    def depth(self):
        return len(self.context)

    def begin(self, function, lists):
        kinds = self.file.types[self.file.signatures[function]][0]
        arguments = [LIST if n in lists else PUBLIC if kind in (0x7f, 0x7e) else SECRET
                     for n, kind in enumerate(kinds)]
        state = State({self.POINTER: Stack(0, True, True)}, {})
        return state, self.enter((), state, function, arguments)

    def enter(self, context, state, function, arguments):
        """Begins a function; where."""
        local, start = self.file.function(function)
        values = arguments + [0] * local
        state.registers.update({(len(context), -1 - n): value for n, value in enumerate(values)})
        state.registers[len(context), "height"] = 0
        return context + ((start.at, 0),)

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

    @staticmethod
    def text(i):
        return "opcode 0x%x" % i.code

    def branch(self, i, depth, state):
        """Leaves as many blocks, or begins a loop again."""
        state = state.copy()
        if depth == len(i.blocks):
            return self.leave(i, state)
        block = i.blocks[-1 - depth]
        values = self.pops(state, len(block.operand[0 if block.code == LOOP else 1]))
        while state.registers[self.depth, "height"] > block.height:
            self.pop(state)
        for value in values:
            self.push(state, value)
        return [(block.next if block.code == LOOP else block.target, state)]

    def leave(self, i, state):
        """The end of a function."""
        results = self.pops(state, len(self.file.types[self.file.signatures[i.function]][1]))
        if not self.context:
            return []
        back, pointer = self.context[-1]
        if state.registers[self.POINTER] != Stack(pointer, True, True):
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

    def memory(self, i, state, name, arguments):
        """memcpy and the like, which are functions or instructions."""
        to, source, length = arguments
        source = source if name == "memset" else self.place(i, source)
        return self.library(i, state, name, [self.place(i, to), source, length])

    def step(self, i, state):
        op, operand = i.code, i.operand
        if op in (BLOCK, LOOP, IF):
            condition = self.pop(state) if op == IF else None
            i.height = state.registers[self.depth, "height"] - len(operand[0])
            if op == IF:
                self.sink(i, "the branch", condition)
                return [(i.next, state), (i.other.next if i.other else i.target, state)]
        elif op == ELSE:
            return [(i.target, state)]
        elif op == RETURN or op == END and i.next is None:
            return self.leave(i, state)
        elif op == BR:
            return self.branch(i, operand, state)
        elif op == BR_IF:
            self.sink(i, "the branch", self.pop(state))
            return [*self.branch(i, operand, state), (i.next, state)]
        elif op == BR_TABLE:
            self.sink(i, "where it goes", self.pop(state))
            return [target for depth in set(operand) for target in self.branch(i, depth, state)]
        elif op == UNREACHABLE:
            return []
        elif op in (LOCAL_GET, LOCAL_SET, LOCAL_TEE):
            if op == LOCAL_GET:
                self.push(state, state.registers[self.depth, -1 - operand])
            else:
                value = state.registers[self.depth, -1 - operand] = self.pop(state)
                if op == LOCAL_TEE:
                    self.push(state, value)
        elif op in (GLOBAL_GET, GLOBAL_SET):
            if self.file.globals.get(operand) != "__stack_pointer":
                self.report(i, "a global that is not the stack pointer")
            if op == GLOBAL_GET:
                self.push(state, state.registers[self.POINTER])
            else:
                pointer = state.registers[self.POINTER] = self.pop(state)
                if type(pointer) is not Stack or not pointer.exact:
                    self.report(i, "the stack pointer is no longer known")
                    return []
        elif op in (I32_CONST, I64_CONST):
            self.push(state, self.file.image(operand) if op == I32_CONST else operand)
        elif op in (0x43, 0x44, 0x3f, V128_CONST):
            self.push(state, 0 if operand == 0 else CONST)
        elif op == DROP:
            self.pop(state)
        elif op in (SELECT, SELECT_TYPED):
            a, b, condition = self.pops(state, 3)
            self.sink(i, "a choice, of which an engine may make a branch,", condition)
            self.push(state, join(a, b))
        elif op in LOADS:
            self.push(state, self.load(state, self.place(i, self.pop(state), operand), LOADS[op]))
        elif op in STORES:
            address, value = self.pops(state, 2)
            self.store(i, state, self.place(i, address, operand), STORES[op], value)
        elif op in LANE_LOADS:
            address, vector = self.pops(state, 2)
            lane = self.load(state, self.place(i, address, operand), LANE_LOADS[op])
            self.push(state, mix((vector, lane)))
        elif op in (COPY, FILL):
            self.memory(i, state, "memcpy" if op == COPY else "memset", self.pops(state, 3))
        elif op in (CALL, CALL_INDIRECT):
            return self.call(i, state)
        elif op not in (NOP, END):
            values = self.pops(state, TAKES.get(op, 2))
            if op in SLOW_FOR_SOME:
                self.sink(i, "the time of a division, or of floating-point arithmetic,", *values)
            self.push(state, SECRET if secret(*values) else self.compute(op, values))
        return None

    @staticmethod
    def compute(op, values):
        if op in (ADD, SUB):
            value = (add if op == ADD else subtract)(*values)
            return (value + 2**31) % 2**32 - 2**31 if type(value) is int else value
        if op in ARITHMETIC and all(type(value) is int for value in values):
            return (ARITHMETIC[op](*values) + 2**31) % 2**32 - 2**31
        if op == OR and type(values[0]) is Stack:
            return add(*values)  # the place is a multiple of more
        if op == AND:
            return masked(*values)
        return PUBLIC if op in COMPARISONS else mix(values)

    def call(self, i, state):
        file, function = self.file, i.operand
        if i.code == CALL_INDIRECT:
            self.report(i, "a call through a table")
            return []
        name = file.names.get(function, "?")
        if DOES_NOT_RETURN.search(name) and file.code[i.next].code == UNREACHABLE:
            return []
        arguments = self.pops(state, len(file.types[file.signatures[function]][0]))
        if name in ("memcpy", "memmove", "memset", "memcmp", "bcmp"):
            self.push(state, self.memory(i, state, name, arguments))
            return None
        if function < len(file.imported) or len(self.context) > 50:
            self.report(i, "a call of an unknown function, or of itself")
            return []
        pointer = state.registers[self.POINTER]
        context = self.context + ((i.next, pointer.at),)
        return [(self.enter(context, state, function, arguments), state)]


if __name__ == "__main__":
    FILE = File(sys.argv[1])
    NAMES = {at: name for at, name in FILE.names.items() if at >= len(FILE.imported)}
    sys.exit(verdict(lambda: Machine(FILE), NAMES, sys.argv[2:]))
