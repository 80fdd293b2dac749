#!/usr/bin/env python3
"""Follows secrets through WebAssembly; domain.py describes the model.

    assurance/secret-flow/wasm.py FILE [MODULE...]

FILE has function names in it. Fails unless each MODULE of the crate has a kernel in it. wasm2wat
(Debian's package wabt) turns FILE into text. The tables below say what the instructions do.
"""

import operator
import re
import subprocess
import sys

from domain import (
    CONST, DOES_NOT_RETURN, IMAGE, PUBLIC, SECRET, Flow, Stack, State,
    add, join, masked, mix, secret, subtract, verdict,
)

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


class Machine(Flow):
    """Locals and operands are registers (depth of calls, number); locals have negative numbers."""

    WORD, POINTER = 4, "stack pointer"

    @property
    def depth(self):
        return len(self.context)

    def begin(self, start, pointers):
        function = self.file.code[start].function
        arguments = [pointers[n] if n in pointers else PUBLIC if kind in ("i32", "i64") else SECRET
                     for n, kind in enumerate(function.takes)]
        state = State({self.POINTER: Stack(0, True)}, {})
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

    @staticmethod
    def text(i):
        return i.text

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
        if state.registers[self.POINTER] != Stack(pointer, True):
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

    def move(self, i, state, name, arguments):
        """memcpy and the like, which are functions or instructions."""
        to, source, length = arguments
        source = source if name == "memset" else self.place(i, source)
        return self.library(i, state, name, [self.place(i, to), source, length])

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
                self.push(state, registers[self.POINTER])
            else:
                pointer = registers[self.POINTER] = self.pop(state)
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
            return (value + 2**31) % 2**32 - 2**31 if type(value) is int else value
        if kind == "i32" and do in ON_NUMBERS and all(type(value) is int for value in values):
            return (ON_NUMBERS[do](*values) + 2**31) % 2**32 - 2**31
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
        context = self.context + ((i.next, state.registers[self.POINTER].at),)
        return [(self.enter(context, state, function, arguments), state)]


if __name__ == "__main__":
    FILE = File(sys.argv[1])
    sys.exit(verdict(lambda: Machine(FILE), FILE.names, sys.argv[2:]))
